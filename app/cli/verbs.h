// The verbs of the command line. Each returns the program's exit code (kernels/base/error.h; of a verdict
// kernels/verify/verdict.h).
#pragma once
#include <string>
#include <vector>

#include "app/cli/options.h"

namespace convscope {

struct RunOptionsCli {
  std::string kernel, save;
};
int verb_run(const CommonOptions& common, const ProblemOptions& problem, const RunOptionsCli& options);
int verb_explain(const CommonOptions& common, const ProblemOptions& problem, const std::string& kernel,
                 const std::string& at);
int verb_fix(const CommonOptions& common, const ProblemOptions& problem, const std::string& kernel, bool write,
             const std::string& limit);
struct TuneOptionsCli {
  std::string kernel, limit;
  bool write = false, hot = false, for_layer = false;
};
// What it found, as a person reads it.
std::string tune_text(const nlohmann::json& document, const std::string& file);
int verb_tune(const CommonOptions& common, const ProblemOptions& problem, const TuneOptionsCli& options);
int verb_xray(const CommonOptions& common, const ProblemOptions& problem, const std::string& kernel);
struct CheckOptionsCli {
  std::string kernel, cases;
};
int verb_check(const CommonOptions& common, const ProblemOptions& problem, const CheckOptionsCli& options);
// Adds verdict.cause to the report of a wrong kernel: which terms of its index are wrong; null, with cause_reason, when
// that cannot be said. right_as_well: also of one that is right on its problem only.
class Session;
void put_cause(Session& session, const RunRequest& r, nlohmann::json& report, bool right_as_well = false);
// What `run` reports, with its result kept in the engine: of a kernel that ended it, or does not compile, as well.
nlohmann::json run_report(Session& session, const RunRequest& r);
// The report of one problem; of one that ended the engine as well. right_only: of one whose results are wrong it says
// no more than that.
nlohmann::json judged_report(Session& session, const RunRequest& r, bool right_only = false);
struct ProfileOptionsCli {
  std::string kernel, set = "live", format, out;
};
int verb_profile(const CommonOptions& common, const ProblemOptions& problem, const ProfileOptionsCli& options);
struct RecordOptionsCli {
  std::string out, set = "full", limit, command;  // command: as it was given, for the recording
  std::vector<std::string> kernels, again;        // again: recorded anew where add keeps the rest
  bool add = false;
};
int verb_record(const CommonOptions& common, const ProblemOptions& problem, const RecordOptionsCli& options);
struct BenchOptionsCli {
  std::vector<std::string> kernels;
  std::string against, format, out;
  bool with_packing = false;
  std::string fail_on;  // "": nothing fails
};
int verb_bench(const CommonOptions& common, const ProblemOptions& problem, const BenchOptionsCli& options);
struct SweepOptionsCli {
  std::vector<std::string> kernels;
  std::string over, times = "auto", verdicts = "auto", format, out;
};
int verb_sweep(const CommonOptions& common, const ProblemOptions& problem, const SweepOptionsCli& options);
struct CompareOptionsCli {
  std::string then, now, fail_on, format, out;  // recordings, by name or path
  bool with_packing = false;
};
int verb_compare(const CommonOptions& common, const CompareOptionsCli& options);
struct ExportOptionsCli {
  std::string kernel, format = "pytorch", out, architecture, activation, function;
};
int verb_export(const CommonOptions& common, const ProblemOptions& problem, const ExportOptionsCli& options);
struct DisassembleOptionsCli {
  std::string kernel, line;  // line: "": all
  bool ptx = false;
};
int verb_disassemble(const CommonOptions& common, const ProblemOptions& problem, const DisassembleOptionsCli& options);
struct ReportOptionsCli {
  std::string out;
  std::vector<std::string> kernels;
};
int verb_report(const CommonOptions& common, const ProblemOptions& problem, const ReportOptionsCli& options);
int verb_demo(const CommonOptions& common, const std::string& folder);
int verb_list(const CommonOptions& common, const std::string& what);
int verb_completion(const CommonOptions& common, const CLI::App& program, const std::string& shell);
int verb_info(const CommonOptions& common);

// A report of `run` as a person reads it.
std::string report_text(const nlohmann::json& report);

// Answers to `profile` and `bench`: as a person reads them, as lines of comma-separated values, and (profile) as a
// trace that Perfetto and chrome://tracing open.
std::string profile_text(const nlohmann::json& profile);
std::string conditions_text(const nlohmann::json& conditions);  // clocks, temperature, power, in one line
std::string ceilings_text(const nlohmann::json& ceilings);      // what a GPU reaches, a line each
std::string profile_csv(const nlohmann::json& profile);
nlohmann::json profile_trace(const nlohmann::json& profile);
std::string bench_text(const nlohmann::json& bench);
std::string bench_csv(const nlohmann::json& bench);

}  // namespace convscope
