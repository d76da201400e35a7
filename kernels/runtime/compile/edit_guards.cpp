// What may be lacking around an index, a condition say, and what may be the wrong way round in it.
#include <algorithm>
#include <fmt/format.h>

#include "kernels/runtime/compile/edit_parser.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope::edits {
namespace {

// Copied to another place, which must have no more lines for it.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

bool FunctionParser::visible(std::string_view text) const {
  auto known = [&](const std::string& name) {
    for (const char* type : {"int", "long", "unsigned", "size_t", "int64_t"})
      if (name == type) return true;
    if (name.starts_with("threadIdx.") || name.starts_with("blockIdx.") || name.starts_with("blockDim.")) return true;
    if (std::find(members_.begin(), members_.end(), name) != members_.end()) return true;
    return std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& s) {
      return std::find(s.numbers.begin(), s.numbers.end(), name) != s.numbers.end();
    });
  };
  for (size_t i = 0; i < text.size();) {
    size_t to = i;
    while (to < text.size() && (is_word(text[to]) || text[to] == '.')) to++;
    if (to > i && !std::isdigit(static_cast<unsigned char>(text[i])) && !known(std::string(text.substr(i, to - i))))
      return false;
    i = std::max(to, i + 1);
  }
  return true;
}

size_t FunctionParser::end_of_statement(size_t token) const {
  int depth = 0;
  for (size_t i = token; i < tokens_.size(); i++) {
    if (depth == 0 && is_at(i, "{")) return tokens_[closing_token(i)].end;
    depth += is_at(i, "(") || is_at(i, "["), depth -= is_at(i, ")") || is_at(i, "]");
    if (depth == 0 && is_at(i, ";")) return tokens_[i].end;
  }
  throw NotUnderstood();
}

size_t FunctionParser::add_guard(EditSite site, std::string_view guarded, bool writes) {
  constexpr size_t most = 6;
  std::vector<std::string> extents;
  for (const std::string& index : indices_in(guarded))
    for (Coordinate& c : coordinates_of(index)) {
      if (!c.extent.empty() && !visible(c.extent)) c.extent.clear();
      auto& all = site.coordinates;
      const bool twice = std::any_of(all.begin(), all.end(), [&](const Coordinate& o) {
        return o.text == c.text && (o.extent == c.extent || c.extent.empty());
      });
      if (twice || all.size() == most || c.text.size() > 80 || !visible(c.text)) continue;
      c.text = on_one_line(c.text);
      if (!c.extent.empty()) extents.push_back(c.extent);
      all.push_back(std::move(c));
    }
  // Of what threads have added up, one writes the sum: the block's first, or that of each warp.
  if (writes)
    for (const char* one : {first_of_block, first_of_warp}) {
      site.coordinates.push_back({one, "1"});
      extents.push_back("1");
    }
  if (site.coordinates.empty()) return 0;
  site.candidates = candidates("");
  for (const std::string& extent : extents)
    if (std::find(site.candidates.begin(), site.candidates.end(), extent) == site.candidates.end())
      site.candidates.push_back(extent);
  return add(std::move(site));
}

std::string FunctionParser::guard_of(size_t n) const {
  const EditSite& site = all_.sites[n];
  std::string cases;
  for (size_t i = 0; i < site.coordinates.size(); i++)
    cases += fmt::format("case {}: return {}; ", i, site.coordinates[i].text);
  return fmt::format(", [&](unsigned convscope_which) -> int64_t {{ switch (convscope_which) {{ {}}} return 0; }}{})",
                     cases, list_of(site.candidates));
}

void FunctionParser::guard(const Expression& condition, size_t until) {
  if (f_.on_host || until <= condition.end) return;
  EditSite site = EditSite::at(EditSite::Kind::guard, condition.begin, condition.end);
  site.left = condition.binds;
  const size_t n =
      add_guard(std::move(site), std::string_view(code_).substr(condition.end, until - condition.end), false);
  if (!n) return;
  in_.open(condition.begin, fmt::format("convscope::edits::guarded({}, ", n));
  in_.close(condition.end, guard_of(n));
}

// Of one in a block, which is finished.
void FunctionParser::guard_statement(size_t token) {
  if (f_.on_host) return;
  const size_t begin = begin_of(token), end = tokens_[at_ - 1].end;
  const std::string_view text = std::string_view(code_).substr(begin, end - begin);
  const size_t index = text.find('['), equals = text.find('=');
  const bool writes = index < equals && equals != text.npos &&
                      std::string_view(code_).substr(f_.body, f_.end - f_.body).find("threadIdx.x") != text.npos;
  const size_t n = add_guard(EditSite::at(EditSite::Kind::guard, begin, begin), text, writes);
  if (n) in_.put(begin, fmt::format("if (!convscope::edits::guarded({}, true{}) ; else ", n, guard_of(n)));
}

void FunctionParser::pairings(const Expression& sum) {
  if (f_.on_host) return;
  const std::string text = code_.substr(sum.begin, sum.end - sum.begin);
  for (const Pairing& p : pairings_in(text)) {
    if (!visible(p.a) || !visible(p.of) || !visible(p.b)) continue;
    EditSite site = EditSite::at(EditSite::Kind::pairing, sum.begin + p.begin, sum.begin + p.end);
    site.of = on_one_line(p.a), site.by = on_one_line(p.b), site.candidates = {p.of};
    for (const std::string& name : candidates(p.of)) site.candidates.push_back(name);
    const std::string names = list_of(site.candidates), a = site.of, b = site.by;
    const size_t n = add(std::move(site));
    if (!n) return;
    in_.open(sum.begin, fmt::format("convscope::edits::pairing({}, ", n));
    in_.close(sum.end, fmt::format(", [&](int64_t& convscope_a, int64_t& convscope_b) {{ convscope_a = {}, "
                                   "convscope_b = {}; }}{})",
                                   a, b, names));
  }
}

}  // namespace convscope::edits
