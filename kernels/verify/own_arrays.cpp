#include "kernels/verify/own_arrays.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <sstream>
#include <vector>

#include "kernels/base/text.h"

namespace convscope {
namespace {

std::string line_of(const std::string& text, int number) {
  std::istringstream in(text);
  std::string line;
  for (int i = 0; i < number && std::getline(in, line); i++)
    if (i + 1 == number) return line.substr(0, line.find("//"));
  return "";
}

// Where a name is declared as an array: "float wl[4]".
struct Declared {
  bool found = false, shared = false, rows = false;  // rows: of several dimensions
};
Declared declared(const std::string& text, const std::string& name) {
  Declared d;
  // Words of its type, and what is declared with it before it.
  const std::regex as(
      R"((?:^|[;{}\n])\s*(?:\w+\s*\([^()\n]*\)\s*)?((?:[A-Za-z_][\w:<>]*\s+)+)(?:\w+\s*(?:\[[^\]\n]*\]\s*)*,\s*)*)" +
      name + R"(\s*\[[^\]\n]*\](\s*\[)?)");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), as); it != std::sregex_iterator(); ++it) {
    const std::string words = (*it)[1];
    if (words.starts_with("return ") || words.starts_with("else ")) continue;
    d.found = true;
    d.shared |= words.find("__shared__") != std::string::npos;
    d.rows |= (*it)[2].matched;
  }
  return d;
}

}  // namespace

std::string beyond_words(const simt::Tracing::Beyond& b, const std::string& text) {
  static const std::regex elements(R"(\[(\d+)\]'?$)"), indexed(R"(\b([A-Za-z_]\w*)\s*\[)");
  std::smatch size;
  if (!std::regex_search(b.type, size, elements)) return "";
  const std::string line = line_of(text, b.line);
  std::vector<std::string> names;
  for (auto it = std::sregex_iterator(line.begin(), line.end(), indexed); it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[1];
    const Declared d = declared(text, name);
    if (d.shared || d.rows) return "";  // it may be this one
    if (d.found && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) return "";
  return fmt::format(
      "reaches element {} of {}, which has {}, at {}:{}, thread {} of block {}: another variable lies there", b.index,
      names.size() == 1 ? names.front() : "an array of its own", size[1].str(), file_name(b.file), b.line, b.thread,
      b.block);
}

}  // namespace convscope
