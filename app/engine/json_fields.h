// Fields of an engine's answer: absent, null and of another type are the same, and no error.
#pragma once
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace convscope::json_fields {
using nlohmann::json;

// The engine writes what is not finite as a word.
inline std::optional<double> number(const json& j) {
  if (j.is_number()) return j.get<double>();
  if (!j.is_string()) return {};
  const auto& word = j.get_ref<const std::string&>();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return {};
}
inline std::optional<double> number(const json& j, const char* field) {
  auto it = j.find(field);
  return it == j.end() ? std::nullopt : number(*it);
}
inline double number_or_nan(const json& j, const char* field) {
  return number(j, field).value_or(std::numeric_limits<double>::quiet_NaN());
}
inline std::optional<int64_t> whole(const json& j) {
  return j.is_number_integer() ? std::optional(j.get<int64_t>()) : std::nullopt;
}
inline std::optional<int64_t> whole(const json& j, const char* field) {
  auto it = j.find(field);
  return it == j.end() ? std::nullopt : whole(*it);
}
inline std::string text(const json& j, const char* field) {
  auto it = j.find(field);
  return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}
inline const json& part(const json& j, const char* field) {
  static const json nothing = json::object();
  auto it = j.find(field);
  return it != j.end() && it->is_structured() ? *it : nothing;
}
inline std::vector<double> numbers(const json& j, const char* field) {
  std::vector<double> v;
  for (const auto& n : part(j, field)) v.push_back(number(n).value_or(0));
  return v;
}
inline std::vector<std::string> texts(const json& j, const char* field) {
  std::vector<std::string> v;
  for (const auto& t : part(j, field))
    if (t.is_string()) v.push_back(t.get<std::string>());
  return v;
}
inline std::vector<int64_t> wholes(const json& j, const char* field) {
  std::vector<int64_t> v;
  for (const auto& n : part(j, field)) v.push_back(whole(n).value_or(0));
  return v;
}

}  // namespace convscope::json_fields
