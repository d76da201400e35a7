// What a kernel's file does that is not followed here: no refusal of its own, which would be a problem's or a person's
// to change.
#pragma once
#include <stdexcept>
#include <string_view>

namespace convscope::host {

// what(): what it does, in words that follow the prefix.
struct NotFollowedHere : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline constexpr std::string_view not_followed_here = "is not followed here: ";

}  // namespace convscope::host
