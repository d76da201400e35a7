// Words of host code (host_code.h), by which it refuses a problem: put together in the program, not in each file from
// outside. Streams are much to compile, and TORCH_CHECK is in every file.
#pragma once
#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

// What is in the program, not in the module of a file.
#define CONVSCOPE_PROGRAM __attribute__((visibility("default")))

namespace convscope::host {

// One value that a message is made of, written as std::ostream would. Refers to it.
class Word {
 public:
  template <class T>
  Word(const T& value) {
    if constexpr (requires { said(value); }) {
      kind_ = Kind::own, own_ = said(value);
    } else if constexpr (std::is_pointer_v<T> && std::convertible_to<T, const char*>) {
      kind_ = Kind::text, text_ = value ? value : "(null)";
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      kind_ = Kind::text, text_ = value;
    } else if constexpr (sizeof(T) == 1 && std::integral<T> && !std::same_as<T, bool>) {
      kind_ = Kind::letter, number_ = static_cast<char>(value);
    } else if constexpr (std::is_unsigned_v<T>) {
      kind_ = Kind::natural, number_ = static_cast<long long>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::real, real_ = static_cast<double>(value);
    } else if constexpr (std::is_pointer_v<T>) {
      kind_ = Kind::address, other_ = value;
    } else if constexpr (std::convertible_to<T, long long>) {
      kind_ = Kind::number, number_ = static_cast<long long>(value);
    } else if constexpr (requires(std::ostream & out) { out << value; }) {  // once the file has <ostream>
      kind_ = Kind::other, other_ = &value;
      write_ = [](std::ostream& out, const void* v) { out << *static_cast<const T*>(v); };
    } else {
      kind_ = Kind::text, text_ = "…";
    }
  }
  CONVSCOPE_PROGRAM ~Word();
  void write_to(std::ostream& out) const;

 private:
  enum class Kind { number, natural, letter, real, address, text, own, other } kind_;
  union {
    long long number_;
    double real_;
    const void* other_;
  };
  std::string_view text_;
  std::string own_;
  void (*write_)(std::ostream&, const void*) = nullptr;
};

CONVSCOPE_PROGRAM std::string put_together(std::initializer_list<Word> words);
// Why host code does not take a problem. Throws std::runtime_error; without words it says "its own check fails".
[[noreturn]] CONVSCOPE_PROGRAM void refuse_in_words(std::initializer_list<Word> words);

template <class... A>
std::string joined(const A&... words) {
  return put_together({words...});
}
template <class... A>
[[noreturn]] void refuse(const A&... words) {
  refuse_in_words({words...});
}

}  // namespace convscope::host
