// The program's own answers, and ones in which something is odd.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace convscope::test {

// What `convscope ARGUMENTS --device emulator --json` prints; null when it prints no document.
nlohmann::json answer_of(const std::string& arguments);

// Calls `take` with the document in which each value, one after the other, is missing or something else; it may throw
// nlohmann::json::exception.
void with_odd_fields(const nlohmann::json& good, const std::function<void(const nlohmann::json&)>& take);

}  // namespace convscope::test
