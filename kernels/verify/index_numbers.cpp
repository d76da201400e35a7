// Numbers and indices that stand where others belong, on all problems or where these are large.
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <vector>

#include "kernels/verify/index_terms.h"

namespace convscope {
namespace {

struct Term {
  const char *name, *letter;
  int64_t ConvProblem::*field;
  int64_t least;  // a smaller number is a term that is missing
};
constexpr Term padding{"padding", "p", &ConvProblem::padding, 1}, stride{"stride", "s", &ConvProblem::stride, 2},
    dilation{"dilation", "d", &ConvProblem::dilation, 2};

// The definition's products where a term has another number.
Products with_number(const TermMap& z, const Term& term, int64_t number) {
  ConvProblem q = z.problem();
  q.*term.field = number;
  return [&z, q](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
    for (int64_t k = 0; k < z.K; k++) {
      const int64_t t = j + q.padding - k * q.dilation;
      if (q.stride < 1 || t < 0 || t % q.stride != 0 || t / q.stride >= z.L) continue;
      for (int64_t ci = z.first_of(co); ci < z.first_of(co) + z.Cig; ci++)
        add(z.x_at(n, ci, t / q.stride), z.w_at(ci, co, k));
    }
  };
}
template <class Value>
bool fits(const std::vector<TermMap>& maps, const Term& term, Value value) {
  return all_made_by(maps, [&](const TermMap& z) { return with_number(z, term, value(z.problem())); });
}

// What stands in a term's place.
struct Other {
  Term term;
  const char* text;
  int64_t (*value)(const ConvProblem& p);
};
constexpr Other others[] = {
    {dilation, "min(d, s)", [](const ConvProblem& p) { return std::min(p.dilation, p.stride); }},
    {dilation, "max(d, s)", [](const ConvProblem& p) { return std::max(p.dilation, p.stride); }},
    {stride, "min(s, d)", [](const ConvProblem& p) { return std::min(p.dilation, p.stride); }},
    {stride, "min(s, K)", [](const ConvProblem& p) { return std::min(p.kernel_size, p.stride); }},
    {stride, "max(s, d)", [](const ConvProblem& p) { return std::max(p.dilation, p.stride); }},
    {padding, "min(p, s − 1)", [](const ConvProblem& p) { return std::min(p.padding, p.stride - 1); }},
    {padding, "min(p, s)", [](const ConvProblem& p) { return std::min(p.padding, p.stride); }},
    {padding, "min(p, K − 1)", [](const ConvProblem& p) { return std::min(p.padding, p.kernel_size - 1); }},
    {padding, "p mod s", [](const ConvProblem& p) { return p.padding % p.stride; }},
    {padding, "p + (d − 1)·(K − 1)",
     [](const ConvProblem& p) { return p.padding + (p.dilation - 1) * (p.kernel_size - 1); }},
    {padding, "p − (d − 1)·(K − 1)",
     [](const ConvProblem& p) { return p.padding - (p.dilation - 1) * (p.kernel_size - 1); }},
};

}  // namespace

TermFault other_numbers(const std::vector<TermMap>& maps) {
  for (const Term& term : {dilation, stride, padding}) {
    // On few problems several may be the same.
    std::vector<std::string> texts;
    for (const Other& o : others)
      if (o.term.field == term.field && fits(maps, term, o.value)) texts.emplace_back(o.text);
    std::set<int64_t> values, beyond;
    for (const TermMap& z : maps) values.insert(z.problem().*term.field);
    for (int64_t most = term.least; most < *values.rbegin(); most++) {
      if (fits(maps, term, [&](const ConvProblem& p) { return std::min(p.*term.field, most); })) {
        texts.push_back(fmt::format("min({}, {})", term.letter, most));
        beyond = {values.upper_bound(most), values.end()};
      }
      if (most > 1 && fits(maps, term, [&](const ConvProblem& p) { return p.*term.field % most; }))
        texts.push_back(fmt::format("{} mod {}", term.letter, most));
    }
    if (texts.empty()) continue;
    const std::string tried = beyond.empty() ? "" : fmt::format(" (with {})", fmt::join(beyond, " and "));
    return {fmt::format("{} stands where the {} belongs{}", fmt::join(texts, " or "), term.name, tried)};
  }
  return {};
}

namespace {

// The places of a product, one of which is taken modulo a number.
struct At {
  int64_t x_channel, i, w_channel, co, k;
};
struct Index {
  const char* text;  // "the input channel of x is ci mod {}, where ci belongs"
  void (*reduce)(At& at, int64_t by);
};
constexpr Index indices[] = {
    {"the input channel of x is ci mod {}, where ci belongs", [](At& at, int64_t by) { at.x_channel %= by; }},
    {"the input channel of w is ci mod {}, where ci belongs", [](At& at, int64_t by) { at.w_channel %= by; }},
    {"the input channel of x and w is ci mod {}, where ci belongs",
     [](At& at, int64_t by) { at.x_channel %= by, at.w_channel %= by; }},
    {"the output channel of w is co mod {}, where co belongs", [](At& at, int64_t by) { at.co %= by; }},
    {"the tap of w is k mod {}, where k belongs", [](At& at, int64_t by) { at.k %= by; }},
    {"the position in x is i mod {}, where i belongs", [](At& at, int64_t by) { at.i %= by; }},
};

}  // namespace

TermFault wrong_modulo(const std::vector<TermMap>& maps) {
  int64_t largest = 0;
  for (const TermMap& z : maps) largest = std::max({largest, z.Cin, z.Cout, z.K, z.L});
  for (const Index& index : indices)
    for (int64_t by = 2; by < largest; by++)
      if (all_made_by(maps, [&](const TermMap& z) -> Products {
            return [&, by](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
              z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
                At at{ci, i, ci, co % z.Cog, k};
                index.reduce(at, by);
                add(z.x_at(n, at.x_channel, at.i), z.w_at(at.w_channel, at.co, at.k));
              });
            };
          }))
        return {fmt::format(fmt::runtime(index.text), by)};
  return {};
}

}  // namespace convscope
