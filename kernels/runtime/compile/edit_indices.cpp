#include "kernels/runtime/compile/edit_indices.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "kernels/base/trimmed.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope::edits {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

struct Part {
  size_t begin, end;  // without blanks
  bool minus = false;
};

// What stands between `signs` that are in no brackets. A sign in front of the first, or behind another one, is a
// part's.
std::vector<Part> parts_of(std::string_view text, std::string_view signs) {
  std::vector<Part> all;
  int depth = 0;
  size_t from = 0;
  bool minus = false, empty = true;
  auto end_part = [&](size_t to) {
    size_t begin = from;
    while (begin < to && is_blank(text[begin])) begin++;
    while (to > begin && is_blank(text[to - 1])) to--;
    all.push_back({begin, to, minus});
  };
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (depth == 0 && !empty && signs.find(c) != signs.npos) {
      end_part(i);
      from = i + 1, minus = c == '-', empty = true;
      continue;
    }
    empty &= is_blank(c);
  }
  end_part(text.size());
  return all;
}

std::string_view of(std::string_view text, const Part& p) { return text.substr(p.begin, p.end - p.begin); }

bool is_name(std::string_view t) {
  return !t.empty() && !std::isdigit(static_cast<unsigned char>(t.front())) &&
         std::all_of(t.begin(), t.end(), [](char c) { return is_word(c) || c == '.'; });
}
bool in_brackets(std::string_view t) {
  if (t.size() < 2 || t.front() != '(') return false;
  int depth = 0;
  for (size_t i = 0; i < t.size(); i++) {
    depth += t[i] == '(';
    depth -= t[i] == ')';
    if (depth == 0) return i + 1 == t.size();
  }
  return false;
}
// Sums and products of names and numbers alone.
bool is_plain(std::string_view t) {
  if (t.empty() || t.find_first_of("[&?<>=!|\"',;") != t.npos) return false;
  for (size_t i = 1; i < t.size(); i++)
    if (t[i] == '(' && is_word(t[i - 1])) return false;
  return true;
}

void look(std::string_view index, std::vector<Coordinate>& all) {
  auto add = [&](std::string_view text, std::string_view extent) {
    if (in_brackets(text)) text = text.substr(1, text.size() - 2);
    const bool number = std::all_of(text.begin(), text.end(), [](char c) { return !is_word(c) || std::isdigit(c); });
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const auto& c) { return c.text == text && c.extent == extent; });
    if (!known && !number && is_plain(text)) all.push_back({std::string(text), std::string(extent)});
  };
  const std::vector<Part> terms = parts_of(index, "+-");
  bool product = false;
  for (size_t i = 0; i < terms.size(); i++) {
    const std::string_view term = of(index, terms[i]);
    const std::vector<Part> factors = parts_of(term, "*");
    if (factors.size() > 1) {
      const bool is_first = !std::exchange(product, true);
      const std::string_view last = of(term, factors.back()), first = of(term, factors.front());
      if (i + 1 < terms.size() && !terms[i + 1].minus)
        add(index.substr(terms[i + 1].begin, terms.back().end - terms[i + 1].begin), is_name(last) ? last : "");
      else if (is_first && i > 0 && i + 1 == terms.size() && is_name(first))
        add(index.substr(0, terms[i - 1].end), first);
    }
    for (const Part& f : factors)
      if (const std::string_view inner = of(term, f); in_brackets(inner) && factors.size() > 1)
        look(inner.substr(1, inner.size() - 2), all);
  }
  if (!product) add(index, "");
}

}  // namespace

bool is_of_thread(const Coordinate& c) {
  return c.extent == "1" && (c.text == first_of_block || c.text == first_of_warp);
}

std::vector<Coordinate> coordinates_of(std::string_view index) {
  std::vector<Coordinate> all;
  look(index, all);
  return all;
}

std::vector<Pairing> pairings_in(std::string_view sum) {
  std::vector<Pairing> all;
  const std::vector<Part> terms = parts_of(sum, "+-");
  for (size_t i = 0; i + 1 < terms.size(); i++) {
    if (terms[i].minus || terms[i + 1].minus) continue;
    const std::string_view term = of(sum, terms[i]), b = of(sum, terms[i + 1]);
    const std::vector<Part> factors = parts_of(term, "*/%");
    if (factors.size() != 2 || term.find_first_of("/%") != term.npos) continue;
    const std::string_view a = of(term, factors[0]), extent = of(term, factors[1]);
    if (!is_plain(a) || !is_name(extent) || !(is_name(b) || (in_brackets(b) && is_plain(b)))) continue;
    all.push_back({terms[i].begin, terms[i + 1].end, std::string(a), std::string(extent), std::string(b)});
  }
  return all;
}

std::vector<std::string> indices_in(std::string_view code) {
  std::vector<std::string> all;
  auto closing_of = [&](size_t open, char opens, char closes) {
    int depth = 0;
    for (size_t i = open; i < code.size(); i++) {
      depth += code[i] == opens;
      depth -= code[i] == closes;
      if (depth == 0) return i;
    }
    return code.size();
  };
  constexpr std::string_view load = "__ldg(";
  for (size_t i = 0; i < code.size(); i++) {
    if (code[i] == '[' && i && (is_word(code[i - 1]) || code[i - 1] == ']' || code[i - 1] == ')')) {
      const size_t close = closing_of(i, '[', ']');
      all.emplace_back(trimmed(std::string(code.substr(i + 1, close - i - 1))));
    } else if (code.substr(i).starts_with(load)) {
      const size_t open = i + load.size() - 1, close = closing_of(open, '(', ')');
      const std::string_view inside = code.substr(open + 1, close - open - 1);
      const std::vector<Part> terms = parts_of(inside, "+");
      if (terms.size() > 1 && is_name(of(inside, terms[0]))) all.emplace_back(inside.substr(terms[1].begin));
    }
  }
  return all;
}

}  // namespace convscope::edits
