// Answers out of a recording, in the place of an engine's.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/options.h"

namespace convscope {

// What a recording holds for this question, marked as recorded. Without a problem option it is the recording's problem,
// if it has only one; without an accuracy the one that the kernel was recorded at.
// Errors: InputError that says what the recording does hold.
nlohmann::json recorded_answer(const std::string& recording, const std::string& type, RunRequest asked,
                               const ProblemOptions& given);

// The line that stands over recorded figures: where, when, by which version.
std::string recorded_heading(const nlohmann::json& shown);

// `list recordings`: those that come with the program.
nlohmann::json recordings_json();
std::string recordings_text(const nlohmann::json& list);

}  // namespace convscope
