// Words in a text that is shown by lines: where they stand, which of them comes next, and others in their place.
#pragma once
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

// As editors count: the line, and the character (of UTF-8, not the byte) in it, both from 0.
struct TextPlace {
  size_t line = 0, at = 0;
  auto operator<=>(const TextPlace&) const = default;
};
struct TextMatch {
  TextPlace begin, end;
  bool operator==(const TextMatch&) const = default;
};

struct TextQuery {
  std::string words;         // of one line; "": nothing is found
  bool match_case = false;   // else a letter of ASCII stands for both cases
  bool whole_words = false;  // what stands within a longer identifier is not found
  bool operator==(const TextQuery&) const = default;
};

// In their order; none overlaps the one before it.
std::vector<TextMatch> matches_in(std::string_view text, const TextQuery& query);
// The first that begins at `from` or behind it, and the last that begins before it. Where the text ends they go on at
// its other end; nothing where there is no match at all.
std::optional<size_t> match_from(const std::vector<TextMatch>& matches, TextPlace from);
std::optional<size_t> match_before(const std::vector<TextMatch>& matches, TextPlace from);
// A line with other words in the place of every match.
std::string replaced_in(std::string_view line, const TextQuery& query, std::string_view with);
// The identifier that this character of a line is in, or stands behind: where it begins, and itself; "": in none.
struct WordHere {
  size_t begin = 0;
  std::string word;
};
WordHere word_at(std::string_view line, size_t at);

}  // namespace convscope
