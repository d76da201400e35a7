// Products that are left out: at the ends of a row of y, or from some number on.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "kernels/verify/index_terms.h"

namespace convscope {

TermFault left_of_outputs(const std::vector<TermMap>& maps) {
  struct Left {
    const char* text;
    bool (*is)(const TermMap& z, int64_t j);
  };
  constexpr Left left[] = {
      {"before position p", [](const TermMap& z, int64_t j) { return j < z.problem().padding; }},
      {"at position 0", [](const TermMap&, int64_t j) { return j == 0; }},
      {"from position Lout − p on", [](const TermMap& z, int64_t j) { return j >= z.J - z.problem().padding; }},
      {"before position p and from position Lout − p on",
       [](const TermMap& z, int64_t j) { return j < z.problem().padding || j >= z.J - z.problem().padding; }},
      {"at the last position", [](const TermMap& z, int64_t j) { return j + 1 == z.J; }},
      {"from position L·s on", [](const TermMap& z, int64_t j) { return j >= z.L * z.stride; }},
      {"from position L on", [](const TermMap& z, int64_t j) { return j >= z.L; }},
  };
  for (const Left& l : left)
    if (all_kept_by(maps, [&](const TermMap& z, const TermPlace& at) { return !l.is(z, at.j); }))
      return {fmt::format("products that land {} are left out", l.text)};
  return {};
}

namespace {

struct Some {
  const char* text;
  bool (*is)(const TermMap& z, const TermPlace& at);
};
constexpr Some subsets[] = {
    {"products", [](const TermMap&, const TermPlace&) { return true; }},
    {"the last input channel's products",
     [](const TermMap& z, const TermPlace& at) { return at.ci % z.Cig == z.Cig - 1; }},
    {"the first input channel's products", [](const TermMap& z, const TermPlace& at) { return at.ci % z.Cig == 0; }},
    {"the last tap's products", [](const TermMap& z, const TermPlace& at) { return at.k == z.K - 1; }},
    {"the first tap's products", [](const TermMap&, const TermPlace& at) { return at.k == 0; }},
};
struct From {
  const char* text;
  int64_t (*of)(const TermPlace& at);
};
constexpr From froms[] = {
    {"input i = {}", [](const TermPlace& at) { return at.i; }},
    {"position j = {}", [](const TermPlace& at) { return at.j; }},
    {"output channel co = {}", [](const TermPlace& at) { return at.co; }},
    {"input channel ci = {}", [](const TermPlace& at) { return at.ci; }},
};

}  // namespace

TermFault left_from(const std::vector<TermMap>& maps) {
  int64_t largest = 0;
  for (const TermMap& z : maps) largest = std::max({largest, z.Cin, z.Cout, z.L, z.J});
  for (const Some& some : subsets)
    for (const From& from : froms)
      for (int64_t first = 1; first < largest; first++)
        if (all_kept_by(maps,
                        [&](const TermMap& z, const TermPlace& at) { return !some.is(z, at) || from.of(at) < first; }))
          return {fmt::format("{} are left out from {} on", some.text, fmt::format(fmt::runtime(from.text), first))};
  return {};
}

}  // namespace convscope
