// Maps held against rules that say of each output which products it sums: all of them have to be there, and no others
// (private to the rules).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kernels/verify/map_sizes.h"

namespace convscope {

// A product by its places, flat in x and w. What lies outside of a tensor counts as 0.
using AddProduct = std::function<void(int64_t x, int64_t w)>;
using Products = std::function<void(int64_t n, int64_t co, int64_t j, const AddProduct& add)>;

class TermMap : public MapSizes {
 public:
  explicit TermMap(const IndexMap& map);
  const ConvProblem& problem() const { return map_->problem; }
  bool right() const { return wrong_outputs_ == 0; }
  bool made_by(const Products& products) const;
  // Whether the input of each term that has another weight by this may have been multiplied by it: there is that
  // product, or a sum of several. Below 0: it has none.
  bool may_take(const std::function<int64_t(int64_t ci, int64_t co, int64_t k)>& weight) const;

  int64_t x_at(int64_t n, int64_t ci, int64_t i) const { return (n * Cin + ci) * L + i; }
  int64_t w_at(int64_t ci, int64_t co, int64_t k) const { return (ci * Cog + co % Cog) * K + k; }
  int64_t first_of(int64_t co) const { return co / Cog * Cig; }  // input channel of its group
  // f(k, i) of each tap that the definition lets land.
  template <class F>
  void each_tap(int64_t j, F f) const {
    const ConvProblem& p = problem();
    for (int64_t k = 0; k < K; k++)
      if (const int64_t t = j + p.padding - k * p.dilation; t >= 0 && t % p.stride == 0 && t / p.stride < L)
        f(k, t / p.stride);
  }
  // f(ci, k, i) of each term of the definition.
  template <class F>
  void each_term(int64_t co, int64_t j, F f) const {
    each_tap(j, [&](int64_t k, int64_t i) {
      for (int64_t ci = first_of(co); ci < first_of(co) + Cig; ci++) f(ci, k, i);
    });
  }

 private:
  bool output_made_by(const Products& products, int64_t o, std::vector<int64_t>& sums, const AddProduct& add) const;

  const IndexMap* map_;
  std::vector<int64_t> order_;  // of outputs: what the definition does not give first, as it tells rules apart
  int64_t wrong_outputs_ = 0;
};

// What a rule says of maps; what: "" where none fits them.
struct TermFault {
  std::string what = {}, formula = {}, right_formula = {};
  const TermMap* seen_on = nullptr;  // of numbers that are one map's
};
// Whether a rule gives all of them; of(map): its products.
template <class Of>
bool all_made_by(const std::vector<TermMap>& maps, Of of) {
  for (const TermMap& z : maps)
    if (!z.made_by(of(z))) return false;
  return true;
}

// Where a term of the definition stands.
struct TermPlace {
  int64_t ci, co, k, i, j;
};
// Whether a map has of the definition's products those that kept(map, place) keeps, and no others.
template <class Kept>
bool all_kept_by(const std::vector<TermMap>& maps, Kept kept) {
  return all_made_by(maps, [&](const TermMap& z) -> Products {
    return [&](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
      z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
        if (kept(z, TermPlace{ci, co, k, i, j})) add(z.x_at(n, ci, i), z.w_at(ci, co, k));
      });
    };
  });
}

// A number that stands where the dilation, the stride or the padding belongs: min(d, s), or what it does not go beyond.
TermFault other_numbers(const std::vector<TermMap>& maps);
// An index of a product that is taken modulo a number.
TermFault wrong_modulo(const std::vector<TermMap>& maps);
// The input that a tap of a residue class takes, by its distance from the first one's.
TermFault wrong_steps(const std::vector<TermMap>& maps);
// Taps that are taken by another residue class than (j + p) mod s.
TermFault wrong_classes(const std::vector<TermMap>& maps);
// Outputs at the ends of a row that have no products.
TermFault left_of_outputs(const std::vector<TermMap>& maps);
// Products, or those of the first or last channel or tap, that are left out from some place on.
TermFault left_from(const std::vector<TermMap>& maps);
// A sum that is counted by one number, of which x and w make different channels and taps.
TermFault wrong_count(const std::vector<TermMap>& maps);
// Taps of w that are taken in another order, in blocks of them or as they are on one problem.
TermFault wrong_taps(const std::vector<TermMap>& maps);
// Input channels that are multiplied with others' weights, as they are on one problem.
TermFault wrong_channels(const std::vector<TermMap>& maps);
// Tiles of a matrix product that are taken transposed.
TermFault transposed_tiles(const std::vector<TermMap>& maps);
// Products whose inputs lie beside a tile.
TermFault beside_tiles(const std::vector<TermMap>& maps);
// Arrays of the kernel's own that are written in one order of their dimensions and read in another.
TermFault other_orders(const std::vector<TermMap>& maps);

}  // namespace convscope
