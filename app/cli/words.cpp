#include "app/cli/words.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/engine/recording.h"
#include "kernels/base/error.h"

namespace convscope {
namespace {

std::vector<std::string>& kept_words() {
  static std::vector<std::string> words;
  return words;
}

// What each word is: an option's value with its name ("--seed=3" and "--seed 3"), else "".
std::vector<std::pair<std::string, std::string>> options_and_values() {
  std::vector<std::pair<std::string, std::string>> all;
  std::string option;
  for (const std::string& word : kept_words()) {
    const size_t equals = word.find('=');
    if (!word.starts_with("--"))
      all.emplace_back(std::exchange(option, ""), word);
    else if (option = ""; equals != word.npos)
      all.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    else
      option = word;
  }
  return all;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void keep_words(std::vector<std::string> words) { kept_words() = std::move(words); }

std::vector<std::string> kernel_files_to_read() {
  std::vector<std::string> files;
  for (const auto& [option, value] : options_and_values())
    if (const std::string file = file_of_kernel(value);
        !one_of(option, {"--out", "--save"}) && (file.ends_with(".cu") || file.ends_with(".py")))
      files.push_back(file);
  return files;
}

std::vector<std::filesystem::path> files_to_read() {
  std::vector<std::filesystem::path> files;
  for (const std::string& kernel : kernel_files_to_read()) files.emplace_back(kernel);
  const auto all = options_and_values();
  for (size_t i = 0; i < all.size(); i++) {
    const auto& [option, value] = all[i];
    const bool compared =
        i > 0 && all.front().second == "compare" && !one_of(option, {"--out", "--format", "--fail-on"});
    if (compared || one_of(option, {"--recording", "--session"})) {
      try {
        files.emplace_back(recording_path(value));
      } catch (const InputError&) {  // said where it is opened
      }
    } else if (one_of(option, {"--input", "--weight", "--bias-values"})) {
      files.emplace_back(value);
    }
  }
  return files;
}

}  // namespace convscope
