// Answers out of a recording, in the place of an engine's.
#pragma once
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "app/cli/options.h"

namespace convscope {

// What a recording holds for this question, marked as recorded. Without a problem option it is the recording's problem,
// if it has only one; without an accuracy the one that the kernel was recorded at.
// Errors: InputError that says what the recording does hold.
nlohmann::json recorded_answer(const std::string& recording, const std::string& type, RunRequest asked,
                               const ProblemOptions& given);

// Errors: InputError where an answer of this type lacks what each has.
void require_whole(const std::string& recording, const std::string& type, const nlohmann::json& answer);

// What `show` makes of a recorded answer. The fields of an answer are the recording's, and may be of any type or not
// there. Errors: InputError that names the recording, and the field where it is known.
[[noreturn]] void refuse_damaged(const std::string& recording, const std::exception& e);
template <class F>
auto shown_whole(const std::string& recording, F&& show) {
  try {
    return show();
  } catch (const nlohmann::json::exception& e) {
    refuse_damaged(recording, e);
  } catch (const std::logic_error& e) {  // out of a list's range
    refuse_damaged(recording, e);
  } catch (const InputError& e) {  // a problem that is none
    refuse_damaged(recording, e);
  }
}

// The line that stands over recorded figures: where, when, by which version.
std::string recorded_heading(const nlohmann::json& shown);

// `list recordings`: those that come with the program.
nlohmann::json recordings_json();
std::string recordings_text(const nlohmann::json& list);

}  // namespace convscope
