// Whole numbers as people type them.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace convscope {

// "65536", "65_536", "-3", "1e9", "1.5e6", "2^16". Nothing: it is none of these, no whole number, or beyond
// 2^53, where such forms are not exact; plain digits go as far as the type does.
inline std::optional<int64_t> typed_number(std::string_view typed) {
  std::string s;
  for (char c : typed)
    if (c != '_' && c != '\'' && c != ' ') s += c;
  if (s.empty() || s.find_first_not_of("0123456789+-.eE^") != std::string::npos) return {};
  if (s.find_first_not_of("0123456789", s[0] == '-' || s[0] == '+' ? 1 : 0) == std::string::npos) {
    char* end = nullptr;
    const long long v =
        std::strtoll(s.c_str(), &end, 10);  // the nearest there is where it is too large: a rule says so
    return *end || end == s.c_str() ? std::nullopt : std::optional<int64_t>(v);
  }
  auto number = [](const std::string& text) -> std::optional<double> {
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    return text.empty() || *end ? std::nullopt : std::optional(v);
  };
  const size_t power = s.find('^');
  auto v = number(s.substr(0, power));
  if (power != std::string::npos) {
    const auto e = number(s.substr(power + 1));
    v = v && e ? std::optional(std::pow(*v, *e)) : std::nullopt;
  }
  if (!v || !(std::fabs(*v) <= 0x1p53) || *v != std::floor(*v)) return {};
  return static_cast<int64_t>(*v);
}

}  // namespace convscope
