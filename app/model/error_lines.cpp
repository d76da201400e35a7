#include "app/model/error_lines.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "kernels/base/text.h"

namespace convscope {
namespace {

// Where the number ends behind a name and ':' or '(' at `at`, and the number; 0: there is none.
int number_behind(std::string_view text, size_t at, size_t& end) {
  if (at >= text.size() || (text[at] != ':' && text[at] != '(')) return 0;
  constexpr size_t most_digits = 7;
  int number = 0;
  for (end = at + 1; end < text.size() && end <= at + most_digits; end++) {
    if (!std::isdigit(static_cast<unsigned char>(text[end]))) break;
    number = number * 10 + (text[end] - '0');
  }
  return number;
}

// Where a line says "error: " or, as some nvcc do, "error #20: "; `what`: where its words begin. npos: nowhere.
size_t error_in(std::string_view line, size_t& what) {
  constexpr std::string_view word = "error";
  for (size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    if (at > 0 && line[at - 1] != ' ' && line[at - 1] != ':') continue;
    size_t end = at + word.size();
    if (line.substr(end).starts_with(" #")) end = std::min(line.find(':', end), line.size());
    if (!line.substr(end).starts_with(": ")) continue;
    what = end + 2;
    return at;
  }
  return line.npos;
}

}  // namespace

int line_named(std::string_view text, std::string_view file, int* column) {
  if (column) *column = 0;
  const std::string name = file_name(std::string(file));
  if (name.empty()) return 0;
  auto of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'; };
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    if (at > 0 && of_name(text[at - 1])) continue;  // the end of a longer name
    size_t end = 0;
    const int line = number_behind(text, at + name.size(), end);
    if (!line) continue;
    if (size_t behind = 0; column && end < text.size() && text[end] == ':') *column = number_behind(text, end, behind);
    return line;
  }
  return 0;
}

std::vector<ErrorLine> error_lines(const std::string& log, const std::string& file, const std::string& first) {
  std::vector<ErrorLine> all;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    size_t what = 0;
    const size_t at = error_in(line, what);
    if (at == line.npos) continue;
    // The place comes before the word: what a message quotes is none.
    int column = 0;
    const int number = line_named(std::string_view(line).substr(0, at), file, &column);
    if (!number) continue;
    const ErrorLine error{number, line.substr(what), column};
    if (std::none_of(all.begin(), all.end(),
                     [&](const ErrorLine& e) { return e.line == error.line && e.text == error.text; }))
      all.push_back(error);
  }
  // What is said first may be of a line that only led to an error in a header.
  const size_t words = first.find(": ");
  const int number = words == first.npos ? 0 : line_named(std::string_view(first).substr(0, words), file);
  if (!number) return all;
  const std::string text = first.substr(words + 2);
  auto it = std::find_if(all.begin(), all.end(), [&](const ErrorLine& e) { return e.line == number; });
  if (it == all.end())
    all.insert(all.begin(), {number, text});
  else
    it->text = text;
  return all;
}

}  // namespace convscope
