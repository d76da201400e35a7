// Taps of residue classes, and sums that are counted through by one number.
#include <fmt/format.h>
#include <vector>

#include "kernels/verify/index_terms.h"

namespace convscope {

TermFault wrong_steps(const std::vector<TermMap>& maps) {
  struct Step {
    const char* text;
    int64_t (*of)(const TermMap& z, int64_t k, int64_t j);
  };
  constexpr Step steps[] = {
      {"k", [](const TermMap&, int64_t k, int64_t) { return k; }},
      {"k·d", [](const TermMap& z, int64_t k, int64_t) { return k * z.problem().dilation; }},
      {"⌊k/s⌋", [](const TermMap& z, int64_t k, int64_t) { return k / z.stride; }},
      {"⌈k·d/s⌉",
       [](const TermMap& z, int64_t k, int64_t) { return (k * z.problem().dilation + z.stride - 1) / z.stride; }},
      {"(the taps of its residue class before k)",
       [](const TermMap& z, int64_t k, int64_t j) {
         const ConvProblem& p = z.problem();
         int64_t before = 0;
         for (int64_t other = 0; other < k; other++) before += (j + p.padding - other * p.dilation) % p.stride == 0;
         return before;
       }},
  };
  for (const Step& step : steps) {
    auto of = [&](const TermMap& z) -> Products {
      return [&](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
        const ConvProblem& p = z.problem();
        for (int64_t k = 0; k < z.K; k++) {
          if ((j + p.padding - k * p.dilation) % p.stride != 0) continue;
          const int64_t i = (j + p.padding) / p.stride - step.of(z, k, j);
          for (int64_t ci = z.first_of(co); ci < z.first_of(co) + z.Cig && i >= 0 && i < z.L; ci++)
            add(z.x_at(n, ci, i), z.w_at(ci, co, k));
        }
      };
    };
    if (!all_made_by(maps, of)) continue;
    TermFault f{"", fmt::format("i = ⌊(j + p)/s⌋ − {}", step.text), "i = ⌊(j + p)/s⌋ − ⌊k·d/s⌋"};
    f.what = fmt::format("for the taps that land it takes {}, where {} belongs", f.formula, f.right_formula);
    return f;
  }
  return {};
}

TermFault wrong_classes(const std::vector<TermMap>& maps) {
  struct Class {
    const char *text, *right;
    bool (*takes)(const ConvProblem& p, int64_t k, int64_t j);
  };
  constexpr Class classes[] = {
      {"k·d mod s is j mod s", "(j + p) mod s",
       [](const ConvProblem& p, int64_t k, int64_t j) { return k * p.dilation % p.stride == j % p.stride; }},
      {"k mod s is (j + p) mod s", "k·d mod s",
       [](const ConvProblem& p, int64_t k, int64_t j) { return k % p.stride == (j + p.padding) % p.stride; }},
      {"k mod s is j mod s", "k·d mod s and (j + p) mod s",
       [](const ConvProblem& p, int64_t k, int64_t j) { return k % p.stride == j % p.stride; }},
  };
  for (const Class& c : classes) {
    auto of = [&](const TermMap& z) -> Products {
      return [&](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
        const ConvProblem& p = z.problem();
        for (int64_t k = 0; k < z.K; k++) {
          const int64_t t = j + p.padding - k * p.dilation;
          if (t < 0 || t / p.stride >= z.L || !c.takes(p, k, j)) continue;
          for (int64_t ci = z.first_of(co); ci < z.first_of(co) + z.Cig; ci++)
            add(z.x_at(n, ci, t / p.stride), z.w_at(ci, co, k));
        }
      };
    };
    if (all_made_by(maps, of)) return {fmt::format("a tap is taken where {}, and {} belongs there", c.text, c.right)};
  }
  return {};
}

namespace {

// A sum over r < Cin/groups·K, whose channel and tap are made of r for x and for w: by the definition's K or,
// otherwise, by the number of channels.
struct Counted {
  bool x_channel, x_tap, w_channel, w_tap;  // by the number of channels
};
Products counted_by(const TermMap& z, const Counted& by) {
  return [&z, by](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
    const ConvProblem& p = z.problem();
    for (int64_t r = 0; r < z.Cig * z.K; r++) {
      const int64_t tap = by.x_tap ? r / z.Cig : r % z.K, t = j + p.padding - tap * p.dilation;
      if (t < 0 || t % p.stride != 0 || t / p.stride >= z.L) continue;
      const int64_t first = z.first_of(co);
      add(z.x_at(n, first + (by.x_channel ? r % z.Cig : r / z.K), t / p.stride),
          z.w_at(first + (by.w_channel ? r % z.Cig : r / z.K), co, by.w_tap ? r / z.Cig : r % z.K));
    }
  };
}

}  // namespace

TermFault wrong_count(const std::vector<TermMap>& maps) {
  for (int choice = 1; choice < 15; choice++) {  // 0 and 15: all by the same
    const Counted by{(choice & 1) != 0, (choice & 2) != 0, (choice & 4) != 0, (choice & 8) != 0};
    if (!all_made_by(maps, [&](const TermMap& z) { return counted_by(z, by); })) continue;
    auto channel = [](bool other) { return other ? "r mod Cin" : "⌊r/K⌋"; };
    auto tap = [](bool other) { return other ? "⌊r/Cin⌋" : "r mod K"; };
    return {
        fmt::format("a sum that is counted by r takes x at channel {} and tap {}, and w at channel {} and tap {}: "
                    "these are not the same products",
                    channel(by.x_channel), tap(by.x_tap), channel(by.w_channel), tap(by.w_tap))};
  }
  return {};
}

}  // namespace convscope
