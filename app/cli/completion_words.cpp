#include "app/cli/completion_words.h"

#include <algorithm>
#include <cctype>

#include "app/engine/recording.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

using CompletionWords = std::vector<std::string>;

// Shells take other characters for themselves.
bool is_plain_word(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '+');
  });
}

// "a, b, or c": what stands between, in `single` where each is one word. Names in small letters alone are meant as they
// stand; a dot makes a file's name of one.
CompletionWords alternatives(const std::string& text, size_t& single) {
  CompletionWords words;
  std::string word;
  auto end = [&] {
    const auto first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
    word = first == std::string::npos ? "" : word.substr(first, last - first + 1);
    single += !word.empty() && word.find(' ') == std::string::npos;
    const bool capital = std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); });
    if (is_plain_word(word) && !capital && word.find('.') == std::string::npos) words.push_back(word);
    word.clear();
  };
  for (size_t i = 0; i < text.size(); i++) {
    if (text.compare(i, 4, " or ") == 0)
      end(), i += 2;
    else if (text.compare(i, 2, ", ") == 0)
      end();  // its blank may begin an " or "
    else
      word += text[i];
  }
  end();
  return words;
}

CompletionWords kernel_words(bool references) {
  CompletionWords words;
  for (const auto* k : all_kernels()) words.push_back(k->name());
  if (references) words.insert(words.end(), {"cudnn", "cudnn-tf32", "onednn"});
  return words;
}

CompletionWords recording_words() {
  CompletionWords words;
  for (const auto& r : shipped_recordings()) words.push_back(r.name);
  return words;
}

// What is known of a value beside its help: names that the program has.
CompletionWords words_of_value(const std::string& name, const std::string& about) {
  CompletionWords words;
  if (name == "preset")
    for (const auto& p : presets()) words.push_back(p.name);
  else if (name == "input" || name == "weight" || name == "bias-values")
    for (const auto& k : input_kinds) words.emplace_back(k.name);
  else if (name == "recording")
    words = recording_words();
  else if (name == "against" || name == "again")
    words = kernel_words(true);
  else if (name == "KERNEL") {
    words = kernel_words(about.find("reference") != std::string::npos);
    words.emplace_back(about.find("or all ") != std::string::npos ? "all" : "auto");
  } else if (about.find("`convscope list recordings`") != std::string::npos)
    words = recording_words();
  else
    words = words_in_help(about);
  std::erase_if(words, [](const std::string& word) { return !is_plain_word(word); });
  return words;
}

CompletedOption completed(const CLI::Option& o) {
  CompletedOption c;
  for (const auto& name : o.get_lnames()) c.names.push_back("--" + name);
  for (const auto& name : o.get_snames()) c.names.push_back("-" + name);
  c.about = o.get_description(), c.takes_value = o.get_items_expected_max() != 0;
  c.repeated = o.get_items_expected_max() > 1;
  if (c.takes_value && !o.get_lnames().empty()) c.words = words_of_value(o.get_lnames().front(), c.about);
  return c;
}

CompletedVerb completed(const CLI::App& verb, const CompletionWords& verbs) {
  CompletedVerb v;
  v.name = verb.get_name(), v.about = verb.get_description();
  for (const auto* o : verb.get_options()) {
    if (o->get_positional()) {
      CompletionWords words =
          o->get_name(true) == "VERB" ? verbs : words_of_value(o->get_name(true), o->get_description());
      // Where all that may stand there is named, no file may.
      const bool named = o->get_name(true) == "VERB" || !words_in_help(o->get_description()).empty();
      v.files |= !named || o->get_name(true) == "KERNEL";
      for (auto& word : words)
        if (std::find(v.words.begin(), v.words.end(), word) == v.words.end()) v.words.push_back(std::move(word));
    } else if (!o->get_group().empty()) {  // without a group it is not in the help
      v.options.push_back(completed(*o));
    }
  }
  return v;
}

}  // namespace

std::vector<std::string> words_in_help(std::string about) {
  about = about.substr(0, about.find(" ["));  // what it is without
  for (size_t open; (open = about.find(" (")) != std::string::npos;) {
    const size_t close = about.find(')', open);
    about.erase(open, close == std::string::npos ? close : close + 1 - open);
  }
  // "table, json or csv", "what it may do: strict, 3xtf32 or tf32", "all, none, or auto: on the emulator …".
  for (size_t from = 0; from <= about.size();) {
    const size_t end = std::min(about.find(": ", from), about.size());
    size_t single = 0;
    if (auto words = alternatives(about.substr(from, end - from), single); single > 1 && !words.empty()) return words;
    from = end + 2;
  }
  return {};
}

std::vector<CompletedVerb> completed_verbs(const CLI::App& program) {
  CompletionWords names;
  const auto verbs = program.get_subcommands([](const CLI::App*) { return true; });
  for (const auto* v : verbs) names.push_back(v->get_name());
  std::vector<CompletedVerb> all = {completed(program, names)};
  all.front().name.clear(), all.front().words = names, all.front().files = true;
  for (const auto* v : verbs) all.push_back(completed(*v, names));
  return all;
}

}  // namespace convscope
