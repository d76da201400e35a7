// The verbs of the command line. Each returns the program's exit code (interface.md).
#pragma once
#include <string>

#include "app/cli/options.h"

namespace convscope {

struct RunOptionsCli {
  std::string kernel, save;
};
int verb_run(const CommonOptions& common, const ProblemOptions& problem, const RunOptionsCli& options);
int verb_explain(const CommonOptions& common, const ProblemOptions& problem, const std::string& kernel,
                 const std::string& at);
int verb_demo(const CommonOptions& common, const std::string& folder);
int verb_list(const CommonOptions& common, const std::string& what);
int verb_info(const CommonOptions& common);

// A report of `run` as a person reads it.
std::string report_text(const nlohmann::json& report);

}  // namespace convscope
