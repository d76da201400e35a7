#include "tests/app/model/answers.h"

#include <cstdio>
#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"

namespace convscope::test {
using nlohmann::json;

json answer_of(const std::string& arguments) {
  std::string text, command = program("convscope") + " " + arguments + " --device emulator --json 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {};
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return json::parse(text, nullptr, false);
}

void with_odd_fields(const json& good, const std::function<void(const json&)>& take) {
  const json odd[] = {nullptr,        true,        -1,  0,     1.5,           1e300,     18446744073709551615u,
                      INT64_MIN,      "",          "x", "NaN", json::array(), {1, 2, 3}, {"NaN", "Infinity", 1e300},
                      json::object(), {{"n", "x"}}};
  std::vector<json::json_pointer> places;
  std::function<void(const json&, const json::json_pointer&)> walk = [&](const json& j, const json::json_pointer& at) {
    if (!at.empty()) places.push_back(at);
    if (j.is_object())
      for (const auto& [name, value] : j.items()) walk(value, at / name);
    if (j.is_array())
      for (size_t i = 0; i < std::min<size_t>(j.size(), 3); i++) walk(j[i], at / i);
  };
  walk(good, json::json_pointer());
  for (const auto& at : places) {
    for (const json& value : odd) {
      json j = good;
      j[at] = value;
      try {
        take(j);
      } catch (const json::exception&) {  // as is promised
      }
    }
    json j = good;
    json& parent = j[at.parent_pointer()];
    if (parent.is_object())
      parent.erase(at.back());
    else
      parent.erase(static_cast<size_t>(std::stoul(at.back())));
    take(j);
  }
  EXPECT_GT(places.size(), 5u);
}

}  // namespace convscope::test
