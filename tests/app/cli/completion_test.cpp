// `completion`: scripts for shells, of the options that there are.
#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "app/cli/completion_words.h"
#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::convscope_run;
using test::convscope_shell;
using test::expect_refused;
using test::holds;
using test::json;

bool has_shell(const std::string& shell) { return convscope_shell("command -v " + shell).code == 0; }

// What bash offers where the cursor stands behind the last word.
std::set<std::string> offered(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += " '" + word + "'";
  auto r = convscope_shell(
      "convscope completion bash | bash -c '. /dev/stdin; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _convscope; "
      "for word in \"${COMPREPLY[@]}\"; do echo \"$word\"; done' bash" +
      list);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  std::istringstream in(r.out);
  std::set<std::string> all;
  for (std::string word; std::getline(in, word);) all.insert(word);
  return all;
}

TEST(Completion, BashCompletesWords) {
  if (!has_shell("bash")) GTEST_SKIP() << "there is no bash";
  using Offered = std::set<std::string>;
  EXPECT_EQ(offered({"convscope", "xr"}), Offered{"xray"});
  EXPECT_EQ(offered({"convscope", "run", "poly"}), Offered{"polyphase"});
  EXPECT_EQ(offered({"convscope", "run", "tiled", "--out-c"}), Offered{"--out-channels"});
  EXPECT_EQ(offered({"convscope", "run", "tiled", "--preset", "kernelbench-79"}),
            (Offered{"kernelbench-79", "kernelbench-79-small"}));
  EXPECT_EQ(offered({"convscope", "bench", "tiled", "--format", ""}), (Offered{"table", "json", "csv"}));
  // As bash takes --dtype=b apart, and --dtype=.
  EXPECT_EQ(offered({"convscope", "run", "tiled", "--dtype", "=", "b"}), Offered{"bf16"});
  EXPECT_EQ(offered({"convscope", "run", "tiled", "--dtype", "="}), (Offered{"f32", "f64", "f16", "bf16"}));
  EXPECT_EQ(offered({"convscope", "list", ""}), (Offered{"kernels", "presets", "references", "devices", "recordings"}));
  EXPECT_EQ(offered({"convscope", "profile", "cudnn"}), (Offered{"cudnn", "cudnn-tf32"}));
  EXPECT_EQ(offered({"convscope", "run", "cudnn"}), Offered{}) << "a reference is no kernel";
  EXPECT_EQ(offered({"convscope", "help", "comp"}), (Offered{"compare", "completion"}));
  EXPECT_EQ(offered({"convscope", "compare", "h200-kernelbench-64"}),
            (Offered{"h200-kernelbench-64", "h200-kernelbench-64-f16"}));
  // Files: bash itself completes their names where nothing is offered.
  EXPECT_EQ(offered({"convscope", "run", "tiled", "--save", "x"}), Offered{});
  EXPECT_TRUE(holds(convscope_run({"completion", "bash"}).out, "\ncomplete -o bashdefault -o default -F _convscope"));
}

// Of all verbs, and of each all options that its help names: none of them stands in a list of its own here.
TEST(Completion, OffersWhatTheHelpNames) {
  const std::string scripts[] = {convscope_run({"completion", "bash"}).out, convscope_run({"completion", "zsh"}).out,
                                 convscope_run({"completion", "fish"}).out};
  std::istringstream verbs(convscope_run({"help"}).out);
  bool listed = false;
  int count = 0;
  for (std::string line; std::getline(verbs, line);) {
    if (!listed || !line.starts_with("  ")) {
      listed |= line.starts_with("Subcommands:");
      continue;
    }
    const std::string verb = line.substr(2, line.find(' ', 2) - 2);
    count++;
    const size_t bash = scripts[0].find("\n    " + verb + ")\n"), zsh = scripts[1].find("\n        " + verb + ")\n");
    ASSERT_NE(bash, std::string::npos) << verb;
    ASSERT_NE(zsh, std::string::npos) << verb;
    const std::string of_bash = scripts[0].substr(bash, scripts[0].find("\n      words=", bash) - bash) + " ",
                      of_zsh = scripts[1].substr(zsh, scripts[1].find("\n          ;;", zsh) - zsh);
    std::istringstream options(convscope_run({"help", verb}).out);
    for (std::string option; std::getline(options, option);) {
      const size_t at = option.find("--");
      if (!option.starts_with("  -") || at == std::string::npos) continue;
      const std::string name = option.substr(at, option.find(' ', at) - at);
      EXPECT_TRUE(holds(of_bash, " " + name + " ") || holds(of_bash, "\"" + name + " ") ||
                  holds(of_bash, " " + name + "\"") || holds(of_bash, "\"" + name + "\""))
          << verb << " " << name << of_bash;
      EXPECT_TRUE(holds(of_zsh, "'" + name + "[") || holds(of_zsh, "'" + name + "=[") ||
                  holds(of_zsh, "'*" + name + "=["))
          << verb << " " << name;
      EXPECT_TRUE(holds(scripts[2], "__fish_seen_subcommand_from " + verb + "'") &&
                  holds(scripts[2], " -l " + name.substr(2) + " "))
          << verb << " " << name;
    }
  }
  EXPECT_GE(count, 17);
  const auto list = convscope_run({"list", "kernels", "--json"}).document();
  for (const auto& k : list["kernels"])
    for (const auto& script : scripts) EXPECT_TRUE(holds(script, k["name"].get<std::string>() + " ")) << k["name"];
}

TEST(Completion, ScriptsAreWellFormed) {
  test::ScratchFolder folder;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (!has_shell(shell)) continue;
    const std::string file = folder.path("script." + shell);
    auto r = convscope_shell("convscope completion " + shell + " > '" + file + "' && " + shell + " -n '" + file + "'");
    EXPECT_EQ(r.code, 0) << shell << ": " << r.err;
    EXPECT_EQ(r.err, "") << shell;
  }
}

TEST(Completion, WordsOfAHelpText) {
  using List = std::vector<std::string>;
  EXPECT_EQ(words_in_help("table, json or csv [table]"), (List{"table", "json", "csv"}));
  EXPECT_EQ(words_in_help("dark or light"), (List{"dark", "light"}));
  EXPECT_EQ(words_in_help("all, none, or auto: on the emulator none of what is large"), (List{"all", "none", "auto"}));
  EXPECT_EQ(words_in_help("counters: live (one pass), memory (five) or full (all sets)"),
            (List{"live", "memory", "full"}));
  EXPECT_EQ(words_in_help("auto, emulator, cuda or cuda:N"), (List{"auto", "emulator", "cuda"}));
  EXPECT_EQ(words_in_help("slower or slower:PERCENT: exit code 1"), List{"slower"});
  for (const char* none : {"a file for it, instead of the terminal", "weight values, likewise [default]",
                           "the element: n,co,j", "Cin: channels of the input", "folder for x.npy, w.npy, y.npy",
                           "seconds, more than 0, after which the kernel counts as hung", ""})
    EXPECT_EQ(words_in_help(none), List{}) << none;
}

TEST(Completion, JsonAndRefusals) {
  const json j = convscope_run({"completion", "bash", "--json"}).document();
  EXPECT_EQ(j["script"], convscope_run({"completion", "bash"}).out);
  EXPECT_EQ(j["shell"], "bash");
  expect_refused({"completion", "csh"}, "shell", "csh", "must be bash, zsh or fish");
  expect_refused({"completion"}, "shell", "", "is missing: for example `convscope completion bash`");
}

}  // namespace
}  // namespace convscope
