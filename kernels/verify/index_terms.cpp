#include "kernels/verify/index_terms.h"

#include <algorithm>
#include <cmath>

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

bool TermMap::may_take(const std::function<int64_t(int64_t ci, int64_t co, int64_t k)>& weight) const {
  bool may = true;
  for (int64_t o = 0; o < map_->outputs() && may; o++)
    each_term(o / J % Cout, o % J, [&](int64_t ci, int64_t k, int64_t i) {
      const int64_t other = weight(ci, o / J % Cout, k);
      if (other < 0 || !may) return;
      const IndexMap::Read& r = map_->read(other, o);
      const bool one = r.at >= 0 && is_exactly(r, input_code(r.at));
      may = r.at != IndexMap::none && (!one || r.at == x_at(o / (Cout * J), ci, i));
    });
  return may;
}

}  // namespace convscope
