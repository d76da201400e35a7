#include "kernels/runtime/compile/edit_constants.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/base/trimmed.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

struct Part {
  size_t begin, end;
};

class Constants {
 public:
  explicit Constants(const std::string& text) : text_(text) {}

  std::vector<std::string> all() && {
    layouts();
    for (size_t at = 0; (at = text_.find("convscope: launch", at)) != text_.npos; at++) launch_line(at);
    for (size_t at = 0; (at = text_.find("<<<", at)) != text_.npos; at++) template_arguments(at);
    for (size_t at = 0; (at = text_.find(">(", at)) != text_.npos; at++) template_number(at);
    for (size_t at = 0; (at = text_.find("__launch_bounds__(", at)) != text_.npos; at++)
      numbers({at + std::string_view("__launch_bounds__(").size(), text_.find(')', at)});
    for (const char* word : {"#define ", "constexpr ", "const int "})
      for (size_t at = 0; (at = text_.find(word, at)) != text_.npos; at++) constant(at + std::string_view(word).size());
    constexpr size_t most = 40;
    first_.insert(first_.end(), then_.begin(), then_.end());
    first_.resize(std::min(first_.size(), most));
    return std::move(first_);
  }

 private:
  std::string with(const Part& part, const std::string& other) const {
    return std::string(text_).replace(part.begin, part.end - part.begin, other);
  }
  std::string at(const Part& p) const { return text_.substr(p.begin, p.end - p.begin); }
  size_t line_end(size_t from) const { return std::min(text_.find('\n', from), text_.size()); }

  void layouts() {
    for (const auto& [own, other] : {std::pair("row_major", "col_major"), std::pair("col_major", "row_major")})
      for (size_t p = 0; (p = text_.find(own, p)) != text_.npos; p++)
        first_.push_back(with({p, p + std::string_view(own).size()}, other));
  }

  // What stands between commas, in no brackets.
  std::vector<Part> parts_of(const Part& list) const {
    std::vector<Part> parts;
    int depth = 0;
    size_t begin = list.begin;
    for (size_t i = list.begin; i <= list.end; i++) {
      const char c = i < list.end ? text_[i] : ',';
      depth += c == '(' || c == '[', depth -= c == ')' || c == ']';
      if ((c != ',' || depth) && i < list.end) continue;
      parts.push_back({begin, i}), begin = i + 1;
    }
    return parts;
  }
  void exchanged(const std::vector<Part>& parts) {
    for (size_t i = 0; i < parts.size(); i++)
      for (size_t k = i + 1; k < parts.size(); k++)
        if (const std::string a = at(parts[i]), b = at(parts[k]); a != b) {
          std::string other = text_;
          other.replace(parts[k].begin, b.size(), a).replace(parts[i].begin, a.size(), b);
          first_.push_back(std::move(other));
        }
  }
  // A number, twice and half as large.
  void numbers(const Part& p) {
    const std::string digits = trimmed(at(p));
    constexpr size_t most_digits = 5;
    if (digits.empty() || digits.size() > most_digits || digits.find_first_not_of("0123456789") != digits.npos) return;
    const int n = std::atoi(digits.c_str());
    if (n > 1) then_.push_back(with(p, std::to_string(n * 2))), then_.push_back(with(p, std::to_string(n / 2)));
  }

  void launch_line(size_t from) {
    const size_t end = line_end(from);
    for (const char* word : {" block=", " grid="}) {
      const size_t own = text_.find(word, from);
      if (own >= end) continue;
      const size_t begin = own + std::string_view(word).size();
      const auto parts = parts_of({begin, std::min(text_.find_first_of(" \t\r\n", begin), end)});
      exchanged(parts);
      for (const Part& p : parts) numbers(p);
    }
  }
  // kernel<8, 32><<<…
  void template_arguments(size_t launch) {
    if (!launch || text_[launch - 1] != '>') return;
    const size_t open = text_.rfind('<', launch - 1);
    if (open == text_.npos || open == 0 || !is_word(text_[open - 1]) || text_.find('\n', open) < launch) return;
    const auto parts = parts_of({open + 1, launch - 1});
    exchanged(parts);
    for (const Part& p : parts) numbers(p);
  }
  // wait_prior<1>()
  void template_number(size_t close) {
    size_t begin = close;
    while (begin && std::isdigit(static_cast<unsigned char>(text_[begin - 1]))) begin--;
    if (begin == close || begin < 2 || text_[begin - 1] != '<' || !is_word(text_[begin - 2])) return;
    const int n = std::atoi(at({begin, close}).c_str());
    if (n > 0) first_.push_back(with({begin, close}, std::to_string(n - 1)));
    first_.push_back(with({begin, close}, std::to_string(n + 1)));
  }
  // `#define TILE 64`, `constexpr int TILE = 64;`
  void constant(size_t name) {
    const size_t end = line_end(name), set = text_.find('=', name);
    if (set < end) {
      numbers({text_.find_first_not_of(' ', set + 1), std::min(text_.find(';', set), end)});
    } else if (const size_t blank = text_.find(' ', name); blank < end) {
      numbers({text_.find_first_not_of(' ', blank), end});
    }
  }

  const std::string& text_;
  std::vector<std::string> first_, then_;
};

}  // namespace

std::vector<std::string> texts_with_other_constants(const std::string& text) { return Constants(text).all(); }

}  // namespace convscope
