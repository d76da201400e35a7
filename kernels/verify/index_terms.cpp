#include "kernels/verify/index_terms.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace convscope {
namespace {

bool is_exactly(const IndexMap::Read& r, int64_t sum) {
  if (r.at == IndexMap::none || sum == 0) return r.at == IndexMap::none && sum == 0;
  const double value = r.at == IndexMap::unclear ? r.times : double{r.times} * input_code(r.at);
  return std::fabs(value / static_cast<double>(sum) - 1) <= 1e-3;  // NaN is none
}

}  // namespace

TermMap::TermMap(const IndexMap& map) : MapSizes(map), map_(&map) {
  std::vector<int64_t> sums(static_cast<size_t>(map.problem.w_elements()));
  const AddProduct add = [&](int64_t x, int64_t w) { sums[static_cast<size_t>(w)] += input_code(x); };
  const Products definition = [&](int64_t n, int64_t co, int64_t j, const AddProduct& to) {
    each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) { to(x_at(n, ci, i), w_at(ci, co, k)); });
  };
  std::vector<int64_t> given;
  for (int64_t o = 0; o < map.outputs(); o++) (output_made_by(definition, o, sums, add) ? given : order_).push_back(o);
  wrong_outputs_ = static_cast<int64_t>(order_.size());
  order_.insert(order_.end(), given.begin(), given.end());
}

bool TermMap::output_made_by(const Products& products, int64_t o, std::vector<int64_t>& sums,
                             const AddProduct& add) const {
  std::fill(sums.begin(), sums.end(), 0);
  products(o / (Cout * J), o / J % Cout, o % J, add);
  for (size_t w = 0; w < sums.size(); w++)
    if (!is_exactly(map_->read(static_cast<int64_t>(w), o), sums[w])) return false;
  return true;
}

bool TermMap::made_by(const Products& products) const {
  std::vector<int64_t> sums(static_cast<size_t>(problem().w_elements()));
  const int64_t all_of_x = problem().x_elements(), all_of_w = problem().w_elements();
  const AddProduct add = [&](int64_t x, int64_t w) {
    if (x >= 0 && x < all_of_x && w >= 0 && w < all_of_w) sums[static_cast<size_t>(w)] += input_code(x);
  };
  return std::all_of(order_.begin(), order_.end(), [&](int64_t o) { return output_made_by(products, o, sums, add); });
}

bool TermMap::may_take(int64_t tap, int64_t other) const {
  for (int64_t o = 0; o < map_->outputs(); o++) {
    bool may = true;
    each_term(o / J % Cout, o % J, [&](int64_t ci, int64_t k, int64_t i) {
      if (k != tap) return;
      const IndexMap::Read& r = map_->read(w_at(ci, o / J % Cout, other), o);
      const bool one = r.at >= 0 && is_exactly(r, input_code(r.at));
      may &= r.at != IndexMap::none && (!one || r.at == x_at(o / (Cout * J), ci, i));
    });
    if (!may) return false;
  }
  return true;
}

namespace {

struct Term {
  const char* name;
  int64_t ConvProblem::*field;
  int64_t least;  // a smaller number is a term that is missing
};
constexpr Term terms[] = {{"dilation", &ConvProblem::dilation, 2},
                          {"stride", &ConvProblem::stride, 2},
                          {"padding", &ConvProblem::padding, 1}};

// The definition's products where a term has another number.
Products with_number(const TermMap& z, const Term& term, int64_t number) {
  ConvProblem q = z.problem();
  q.*term.field = number;
  return [&z, q](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
    for (int64_t k = 0; k < z.K; k++) {
      const int64_t t = j + q.padding - k * q.dilation;
      if (t < 0 || t % q.stride != 0 || t / q.stride >= z.L) continue;
      for (int64_t ci = z.first_of(co); ci < z.first_of(co) + z.Cig; ci++)
        add(z.x_at(n, ci, t / q.stride), z.w_at(ci, co, k));
    }
  };
}

}  // namespace

TermFault capped_terms(const std::vector<TermMap>& maps) {
  for (const Term& term : terms) {
    int64_t largest = 0;
    for (const TermMap& z : maps) largest = std::max(largest, z.problem().*term.field);
    for (int64_t most = term.least; most < largest; most++) {
      if (!all_made_by(maps,
                       [&](const TermMap& z) { return with_number(z, term, std::min(z.problem().*term.field, most)); }))
        continue;
      std::set<int64_t> beyond;
      for (const TermMap& z : maps)
        if (z.problem().*term.field > most) beyond.insert(z.problem().*term.field);
      return {fmt::format("the {} is taken to be {} where it is more than that ({} {} tried)", term.name, most,
                          fmt::join(beyond, " and "), beyond.size() > 1 ? "were" : "was"),
              "", "", nullptr};
    }
  }
  return {};
}

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

}  // namespace convscope
