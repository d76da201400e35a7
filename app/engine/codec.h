// Problems, requests and reports as JSON, with the names of interface.md.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/verify/explain.h"
#include "kernels/verify/judge.h"
#include "kernels/verify/statistics.h"

namespace convscope {

// The kernel that stands for the planner's choice.
inline constexpr const char* auto_kernel = "auto";

// A value as text for a message: short, and without looking inside lists and objects.
std::string brief(const nlohmann::json& value);

// A set of counters. Errors: InputError.
void require_set(const std::string& set);

// Non-finite numbers become the strings "NaN", "Infinity", "-Infinity".
nlohmann::json number_json(double v);

nlohmann::json problem_json(const ConvProblem& p);       // parameters only
nlohmann::json full_problem_json(const ConvProblem& p);  // and what follows from them: out_length, flops, …
// Errors: InputError for a missing or mistyped field; the rules are check()'s.
ConvProblem problem_from(const nlohmann::json& j);

// A `run` or `explain` request but for kernel pointers: what a client asks for.
struct RunRequest {
  std::string kernel;
  ConvProblem problem;
  InputSpec inputs;
  std::string device = "auto";
  Accuracy accuracy = Accuracy::strict;
  std::optional<Gate> tolerance;
  int samples = 0;
  bool references = true, pictures = false;
};
// The header without type and id; files' elements are appended to `payload`.
nlohmann::json request_json(const RunRequest& r, std::vector<std::byte>& payload);
// Errors: InputError.
RunRequest request_from(const nlohmann::json& j, std::span<const std::byte> payload);

// A report without a kernel (one that only its engine knew) has null in its place.
nlohmann::json report_json(const RunReport& r);
nlohmann::json explanation_json(const Explanation& e, const ConvProblem& p);
nlohmann::json statistics_json(const ErrorStatistics& s);
nlohmann::json device_json(const DeviceInfo& d);

// {"code", "field", "value", "rule"} or {"code", "message"}, with "exit_code".
nlohmann::json error_json(const std::exception& e);

}  // namespace convscope
