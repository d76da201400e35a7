// What a kernel's file does that is not followed here: no refusal of its own, which would be a problem's or a person's
// to change.
#pragma once
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace convscope::host {

// what(): what it does, in words that follow the prefix.
struct NotFollowedHere : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline constexpr std::string_view not_followed_here = "is not followed here: ";

// A value that no function of the host code takes in that place.
struct WrongArgument : NotFollowedHere {
  std::string kind, wanted;  // "None", "a tensor"
  WrongArgument(std::string what, std::string of_kind, std::string wants)
      : NotFollowedHere(what), kind(std::move(of_kind)), wanted(std::move(wants)) {}
};

// What a kernel's file does that raises in PyTorch as well: on this problem it is wrong, and not merely unknown here.
struct FailsInPyTorch : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline constexpr std::string_view fails_in_pytorch = "fails in PyTorch: ";

// What has been thrown by host code, or where its module is followed, as the reason why a problem is not taken.
std::string refused_as(const std::exception_ptr& thrown);

}  // namespace convscope::host
