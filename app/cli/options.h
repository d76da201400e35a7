// What the command line says, as values; every fault is an InputError that names field, value and rule.
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/engine/codec.h"

namespace convscope {

struct CommonOptions {
  std::string device = "auto", engine, timeout;
  std::string recording;  // verbs that look at figures: where they come from instead of an engine
  bool json = false, trust = false, watch = false;

  // runs_files: verbs that may be given a kernel's file, whose code is somebody's.
  void add_to(CLI::App& app, bool runs_files = true);
  void add_watch_to(CLI::App& app);
  void add_recording_to(CLI::App& app);
  double timeout_s() const;  // 0: none given
};

// What a verb that takes a problem makes use of beside it. What would have no effect is not offered.
struct Uses {
  enum class Values { all, accepted, none };  // accepted: interface.md has them with every problem, the help does not
  Values values = Values::all;
  bool seed = true, tolerance = true, samples = true;
};

// --preset first, then single parameters; inputs and accuracy.
struct ProblemOptions {
  std::string preset, dtype, input, weight, bias_values, seed, accuracy, tolerance, samples;
  std::map<std::string, std::string> parameters;  // by ConvProblem field
  bool bias = false, no_bias = false;

  void add_to(CLI::App& app, const Uses& uses = {});
  // Reads files, lets their shapes set the problem, and checks everything. `kernel` and `device` are put in as they
  // are.
  RunRequest request(const std::string& kernel, const std::string& device) const;
  // The same of values that need not be a problem yet: others are drawn. No files.
  RunRequest part_of_request(const std::string& kernel, const std::string& device) const;
  std::set<std::string> given() const;  // names of parameters
  // Whether `p` has all parameters that were given, as they are in `asked` (a request's problem).
  bool agrees_with(const ConvProblem& asked, const ConvProblem& p) const;

 private:
  std::map<std::string, CLI::Option*> given_;
};

std::string kebab(std::string name);  // in_channels → in-channels
// Errors: InputError ("must be a, b or c") when the word is none of these.
void require_one_of(const std::string& field, const std::string& word, const std::vector<std::string>& words);
int64_t whole_number(const std::string& field, const std::string& text);
uint64_t seed_number(const std::string& text);  // as torch.manual_seed takes it: 64 bits without a sign
double real_number(const std::string& field, const std::string& text);

// A file that is to be written must not be a folder. Errors: InputError.
void require_no_folder(const std::string& field, const std::string& file);

// Before the library parses: a flag that is given a value. (It takes --bias=no for a no, and --json=yes for nothing.)
void refuse_values_of_flags(const CLI::App& app, const std::vector<std::string>& words);
// An option whose value is empty, which would look as if it were not there.
void refuse_empty_values(const CLI::App& app);
// Unknown options and words that CLI11 leaves over: named, with the nearest known one.
void refuse_leftovers(const CLI::App& app);

}  // namespace convscope
