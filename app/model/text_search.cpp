#include "app/model/text_search.h"

#include <algorithm>
#include <functional>

namespace convscope {
namespace {

bool of_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A byte of UTF-8 that begins no character.
bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t characters(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), goes_on));
}

// Where in a line each match begins, in bytes.
void for_each_in_line(std::string_view line, const TextQuery& query, const std::function<void(size_t)>& met) {
  const std::string_view words = query.words;
  auto same = [&](char a, char b) { return query.match_case ? a == b : folded(a) == folded(b); };
  // An end of the match lies within an identifier where both sides of it could be in one.
  auto within = [&](size_t at) {
    return at > 0 && at < line.size() && of_identifier(line[at - 1]) && of_identifier(line[at]);
  };
  for (size_t at = 0; at + words.size() <= line.size();) {
    const auto found =
        std::search(line.begin() + static_cast<std::ptrdiff_t>(at), line.end(), words.begin(), words.end(), same);
    if (found == line.end()) return;
    at = static_cast<size_t>(found - line.begin());
    if (query.whole_words && (within(at) || within(at + words.size()))) {
      at++;
      continue;
    }
    met(at);
    at += words.size();
  }
}

}  // namespace

std::vector<TextMatch> matches_in(std::string_view text, const TextQuery& query) {
  std::vector<TextMatch> all;
  if (query.words.empty()) return all;
  const size_t length = characters(query.words);
  for (size_t line = 0, begin = 0; begin <= text.size(); line++) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view here = text.substr(begin, end - begin);
    for_each_in_line(here, query, [&](size_t byte) {
      const size_t at = characters(here.substr(0, byte));
      all.push_back({{line, at}, {line, at + length}});
    });
    begin = end + 1;
  }
  return all;
}

std::optional<size_t> match_from(const std::vector<TextMatch>& matches, TextPlace from) {
  if (matches.empty()) return {};
  const auto it = std::lower_bound(matches.begin(), matches.end(), from,
                                   [](const TextMatch& m, const TextPlace& p) { return m.begin < p; });
  return it == matches.end() ? 0 : static_cast<size_t>(it - matches.begin());
}

std::optional<size_t> match_before(const std::vector<TextMatch>& matches, TextPlace from) {
  if (matches.empty()) return {};
  const auto it = std::lower_bound(matches.begin(), matches.end(), from,
                                   [](const TextMatch& m, const TextPlace& p) { return m.begin < p; });
  return it == matches.begin() ? matches.size() - 1 : static_cast<size_t>(it - matches.begin()) - 1;
}

std::string replaced_in(std::string_view line, const TextQuery& query, std::string_view with) {
  std::string out;
  if (query.words.empty()) return std::string(line);
  size_t copied = 0;
  for_each_in_line(line, query, [&](size_t byte) {
    out += line.substr(copied, byte - copied);
    out += with;
    copied = byte + query.words.size();
  });
  out += line.substr(copied);
  return out;
}

WordHere word_at(std::string_view line, size_t at) {
  size_t byte = 0;
  for (size_t seen = 0; byte < line.size(); byte++)
    if (!goes_on(line[byte]) && seen++ == at) break;
  size_t begin = byte, end = byte;
  while (begin > 0 && of_identifier(line[begin - 1])) begin--;
  while (end < line.size() && of_identifier(line[end])) end++;
  return {characters(line.substr(0, begin)), std::string(line.substr(begin, end - begin))};
}

}  // namespace convscope
