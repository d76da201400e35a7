#include "kernels/runtime/compile/python_tokens.h"

#include <algorithm>
#include <cctype>

namespace convscope {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool goes_on(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::vector<PythonToken> python_tokens(std::string_view text) {
  using Token = PythonToken;
  std::vector<Token> all;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (starts_name(c) || c == '"' || c == '\'') {
      size_t quote = i;
      while (quote < text.size() && goes_on(text[quote])) quote++;
      const bool prefix = quote - i <= 2 && quote < text.size() && (text[quote] == '"' || text[quote] == '\'');
      if (!prefix) {
        all.push_back({Token::name, i, quote});
        i = quote;
        continue;
      }
      Token t{Token::literal, 0, 0};
      for (size_t p = i; p < quote; p++) t.raw |= (text[p] | 32) == 'r', t.formatted |= (text[p] | 32) == 'f';
      const std::string_view mark = text.substr(quote, 3);
      t.three = mark == "\"\"\"" || mark == "'''";
      const std::string_view closes = text.substr(quote, t.three ? 3 : 1);
      t.from = t.to = quote + closes.size();
      while (t.to < text.size() && text.substr(t.to, closes.size()) != closes && (t.three || text[t.to] != '\n'))
        t.to += text[t.to] == '\\' ? 2 : 1;
      if (t.to > text.size()) t.to = text.size();
      all.push_back(t);
      i = t.to + closes.size();
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      size_t end = i;
      auto exponent = [&](size_t at) {  // 1e-5
        return (text[at] == '-' || text[at] == '+') && (text[at - 1] | 32) == 'e' && text.substr(i, 2) != "0x" &&
               at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 1]));
      };
      while (end < text.size() && (goes_on(text[end]) || text[end] == '.' || exponent(end))) end++;
      all.push_back({Token::number, i, end});
      i = end;
    } else if (c == '\n') {
      if (depth <= 0 && !(i > 0 && text[i - 1] == '\\')) all.push_back({Token::line_end, i, i + 1});
      i++;
    } else {
      if (!std::isspace(static_cast<unsigned char>(c))) {
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        all.push_back({Token::sign, i, i + 1});
      }
      i++;
    }
  }
  all.push_back({Token::line_end, text.size(), text.size()});
  return all;
}

}  // namespace convscope
