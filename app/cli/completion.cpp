// `convscope completion`: a script that completes the command line in a shell.
#include <cstdio>
#include <fmt/format.h>
#include <string_view>

#include "app/cli/completion_words.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"

namespace convscope {
namespace {

std::string joined_words(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// The text with a character in the place of another, or before it.
std::string with_escapes(std::string_view text, const char* special, const std::string& before) {
  std::string out;
  for (char c : text) {
    if (std::string_view(special).find(c) != std::string_view::npos) out += before;
    out += c;
  }
  return out;
}

// Of a help text what stands beside a word in a list.
std::string in_a_list(const std::string& about) {
  std::string out = brief(about);
  for (char& c : out)
    if (c == '\n') c = ' ';
  return out;
}

// ---- bash
// -------------------------------------------------------------------------------------------------------------

std::string bash_script(const std::vector<CompletedVerb>& verbs) {
  std::string out = R"(# Completion of convscope in bash, as `convscope completion bash` writes it:
#   source <(convscope completion bash)
# or as a file: ~/.local/share/bash-completion/completions/convscope
_convscope() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" verb="" options="" words="" i
  # --preset=NAME comes as three words.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $before == "=" ]] && ((COMP_CWORD > 2)); then
    before="${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      verb="${COMP_WORDS[i]}"
      break
    fi
  done
  case "$verb" in
)";
  for (const auto& v : verbs) {
    std::vector<std::string> options;
    for (const auto& o : v.options) options.insert(options.end(), o.names.begin(), o.names.end());
    out += fmt::format("    {})\n      options=\"{}\"\n      words=\"{}\"\n", v.name.empty() ? "\"\"" : v.name,
                       joined_words(options), joined_words(v.words));
    std::string values;
    for (const auto& o : v.options)
      if (o.takes_value)
        values += fmt::format("        {}) words=\"{}\" ;;\n", fmt::join(o.names, "|"), joined_words(o.words));
    if (!values.empty()) out += "      case \"$before\" in\n" + values + "      esac\n";
    out += "      ;;\n";
  }
  // Where nothing fits, bash itself completes the name of a file.
  return out + R"(  esac
  COMPREPLY=()
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}
complete -o bashdefault -o default -F _convscope convscope
)";
}

// ---- zsh
// --------------------------------------------------------------------------------------------------------------

// Inside of single quotes, in a specification of _arguments or an entry of _describe.
std::string zsh_text(const std::string& about) {
  std::string out;
  for (char c : with_escapes(in_a_list(about), "\\[]:$`", "\\"))
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

std::string zsh_script(const std::vector<CompletedVerb>& verbs) {
  std::string out = R"(#compdef convscope
# Completion of convscope in zsh, as `convscope completion zsh` writes it: a file _convscope in a folder of $fpath.
_convscope_words_or_files() {
  compadd -- "$@"
  _files
}
_convscope() {
  local context state line
  typeset -A opt_args
  local -a verbs
  verbs=(
)";
  for (const auto& v : verbs)
    if (!v.name.empty()) out += fmt::format("    '{}:{}'\n", v.name, zsh_text(v.about));
  out += "  )\n  _arguments -C \\\n";
  auto options_of = [](const CompletedVerb& v, const char* indent) {
    std::string lines;
    for (const auto& o : v.options)
      for (const auto& name : o.names) {
        const std::string value = !o.takes_value    ? ""
                                  : o.words.empty() ? ":value:_files"
                                                    : fmt::format(":value:({})", joined_words(o.words));
        const char* sign = !o.takes_value ? "" : name.starts_with("--") ? "=" : "+";
        lines +=
            fmt::format("{}'{}{}{}[{}]{}' \\\n", indent, o.repeated ? "*" : "", name, sign, zsh_text(o.about), value);
      }
    return lines;
  };
  out += options_of(verbs.front(), "    ") + R"(    '1: :->verb' '*:: :->rest'
  case $state in
    verb)
      _describe -t verbs verb verbs
      _files
      ;;
    rest)
      case $line[1] in
)";
  for (const auto& v : verbs) {
    if (v.name.empty()) continue;
    out += fmt::format("        {})\n          _arguments \\\n{}", v.name, options_of(v, "            "));
    if (v.files)
      out += fmt::format("            '*:word: _convscope_words_or_files {}'\n", joined_words(v.words));
    else
      out += fmt::format("            '*:word:({})'\n", joined_words(v.words));
    out += "          ;;\n";
  }
  return out + R"(      esac
      ;;
  esac
}
if [[ $funcstack[1] == _convscope ]]; then
  _convscope "$@"
else
  compdef _convscope convscope
fi
)";
}

// ---- fish
// -------------------------------------------------------------------------------------------------------------

std::string fish_text(const std::string& about) { return "'" + with_escapes(in_a_list(about), "\\'", "\\") + "'"; }

std::string fish_script(const std::vector<CompletedVerb>& verbs) {
  std::string out =
      "# Completion of convscope in fish, as `convscope completion fish` writes it:\n"
      "#   ~/.config/fish/completions/convscope.fish\n";
  for (const auto& v : verbs) {
    const std::string when = v.name.empty() ? "__fish_use_subcommand" : "'__fish_seen_subcommand_from " + v.name + "'",
                      begin = "complete -c convscope -n " + when;
    if (!v.name.empty())
      out += fmt::format("complete -c convscope -n __fish_use_subcommand -a {} -d {}\n", v.name, fish_text(v.about));
    if (!v.name.empty() && !v.words.empty())
      out += fmt::format("{}{} -a '{}'\n", begin, v.files ? "" : " -f", joined_words(v.words));
    for (const auto& o : v.options) {
      std::string names;
      for (const auto& name : o.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::string value = !o.takes_value    ? ""
                                : o.words.empty() ? " -r -F"
                                                  : fmt::format(" -x -a '{}'", joined_words(o.words));
      out += begin + names + value + " -d " + fish_text(o.about) + "\n";
    }
  }
  return out;
}

}  // namespace

int verb_completion(const CommonOptions& common, const CLI::App& program, const std::string& shell) {
  require_one_of("shell", shell, {"bash", "zsh", "fish"});
  const auto verbs = completed_verbs(program);
  const std::string script = shell == "bash"  ? bash_script(verbs)
                             : shell == "zsh" ? zsh_script(verbs)
                                              : fish_script(verbs);
  if (common.json)
    print_json({{"convscope", CONVSCOPE_VERSION}, {"shell", shell}, {"script", script}});
  else
    std::fputs(script.c_str(), stdout);
  return 0;
}

}  // namespace convscope
