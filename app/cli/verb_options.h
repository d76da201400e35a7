// What the command line offers: each verb with its options, and what is done when it is chosen.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "app/cli/options.h"

namespace convscope {

struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> run;  // its exit code. Errors: InputError of an operand that is missing; those of the verb
};

// A verb without options, added to the program's.
CLI::App* add_verb(CLI::App& program, const char* name, const char* about);
// All verbs but `engine` and `help`, which ask no engine. `common` is what they share; it is read when one is run.
// command: the whole line, for what keeps it.
std::vector<Verb> add_verbs(CLI::App& program, CommonOptions& common, const std::string& command);

}  // namespace convscope
