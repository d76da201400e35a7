// What can be completed on the command line: verbs, their options and the words these take, read off the options
// themselves, so that what is offered there is offered here.
#pragma once
#include <string>
#include <vector>

#include "app/cli/options.h"

namespace convscope {

struct CompletedOption {
  std::vector<std::string> names;  // "--help", "-h"
  std::string about;
  bool takes_value = false, repeated = false;
  std::vector<std::string> words;  // what its value may be; empty: not known, perhaps a file
};

struct CompletedVerb {
  std::string name, about;
  std::vector<CompletedOption> options;
  std::vector<std::string> words;  // what may stand where no option is
  bool files = false;              // or a file
};

// The program's own options come first, under the name "": its words are the verbs.
std::vector<CompletedVerb> completed_verbs(const CLI::App& program);

// The words that the help text of a value names: "table, json or csv [table]", "what may be: a (why), b, or c: …";
// those that stand for something else (cuda:N, a file) are left out. None: it is no such list.
std::vector<std::string> words_in_help(std::string about);

}  // namespace convscope
