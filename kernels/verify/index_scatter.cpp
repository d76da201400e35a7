// The definition as a loop of one thread an input, which adds its products to outputs that begin with the bias:
//
//   if e ≥ N·Cin·L: nothing is done
//   i = e mod L;  ci = e/L mod Cin;  n = e/(L·Cin)
//   Cig = Cin/groups;  Cog = Cout/groups;  first = ci/Cig·Cog
//   for k from 0 while k < K:  j = i·s − p + k·d;  if j < 0 or j ≥ Lout: none
//     for co from 0 while co < Cog:  y[(n·Cout + first + co)·Lout + j] += x[(n·Cin + ci)·L + i] · w[(ci·Cog + co)·K +
//     k]
//
// (e: an input's place in memory. x may be read at e instead: that is the other of two forms.)
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/verify/index_head.h"
#include "kernels/verify/index_loop.h"

namespace convscope::index_loop {
namespace scattering {
namespace {

// Places where operands stand, in the order of the program.
enum Place {
  k_begin = head::places,
  k_end,
  j_i,
  j_s,
  j_p,
  j_k,
  j_d,
  low_j,
  end_j,
  end_Lout,
  co_begin,
  co_count,
  y_n,
  y_channels,
  y_first,
  y_co,
  y_length,
  y_j,
  x_n,
  x_channels,
  x_ci,
  x_length,
  x_i,
  w_ci,
  w_channels,
  w_co,
  w_taps,
  w_k
};

// Operators that may stand in the definition's place; what each makes of its statement stands below.
enum Operator {
  j_adds_s = head::operators,
  j_plus_p,
  j_minus_kd,
  j_adds_d,
  low_above,
  low_none,
  end_below,
  end_none,
  one_test,
  y_adds_channels,
  y_minus_first,
  y_minus_co,
  y_adds_length,
  y_minus_j,
  x_adds_channels,
  x_minus_ci,
  x_adds_length,
  x_minus_i,
  w_adds_channels,
  w_minus_co,
  w_adds_taps,
  w_minus_k,
  sum_minus,
  x_at_parts  // no fault: x is read where n, ci and i say, and not at e
};

bool in_scope(Operand o, int at) {
  if (o == k) return at >= j_i;
  if (o == j) return at >= low_j;
  if (o == co) return at >= y_n;
  return head::in_scope(o, head::inputs, at);
}

// add(address in y, in x, in w) of each product of one input. False where it divides by zero, or goes on for ever.
template <class Add>
bool run(const Program& q, const Values& sizes, int64_t input, Add add) {
  Values o = sizes;
  o[e] = input;
  if (const head::Begins begins = head::begin(q, head::inputs, o); begins != head::Begins::yes)
    return begins == head::Begins::no;
  auto value = [&](Place place) { return o[q.slots[place].operand] + q.slots[place].add; };
  constexpr int64_t many = 512;  // more turns than any size of a small problem
  int64_t turns = 0;
  for (o[k] = value(k_begin); o[k] < value(k_end) && turns < many; o[k]++, turns++) {
    const int64_t begin = q.has(j_adds_s) ? value(j_i) + value(j_s) : value(j_i) * value(j_s),
                  of_tap = q.has(j_adds_d) ? value(j_k) + value(j_d) : value(j_k) * value(j_d),
                  padded = q.has(j_plus_p) ? begin + value(j_p) : begin - value(j_p);
    o[j] = q.has(j_minus_kd) ? padded - of_tap : padded + of_tap;
    const bool before = !q.has(low_none) && (q.has(low_above) ? value(low_j) > 0 : value(low_j) < 0),
               behind = !q.has(end_none) &&
                        (q.has(end_below) ? value(end_j) < value(end_Lout) : value(end_j) >= value(end_Lout));
    if (q.has(one_test) ? before && behind : before || behind) continue;
    for (o[co] = value(co_begin); o[co] < value(co_count) && turns < many; o[co]++, turns++) {
      const int64_t y_row = q.has(y_adds_channels) ? value(y_n) + value(y_channels) : value(y_n) * value(y_channels),
                    y_channel = y_row + (q.has(y_minus_first) ? -value(y_first) : value(y_first)) +
                                (q.has(y_minus_co) ? -value(y_co) : value(y_co)),
                    y_at = (q.has(y_adds_length) ? y_channel + value(y_length) : y_channel * value(y_length)) +
                           (q.has(y_minus_j) ? -value(y_j) : value(y_j));
      add(y_at,
          q.has(x_at_parts)
              ? address(q, x_adds_channels, value(x_n), value(x_channels), value(x_ci), value(x_length), value(x_i))
              : input,
          address(q, w_adds_channels, value(w_ci), value(w_channels), value(w_co), value(w_taps), value(w_k)));
    }
  }
  return turns < many;
}

class InputMap {
 public:
  explicit InputMap(const IndexMap& m) : map_(&m), sizes_(sizes_of(m)), sums_(m.reads.size()) {
    for (const IndexMap::Read& r : m.reads) {
      there_ += r.at != IndexMap::none;
      possible_ &= !(r.at == IndexMap::unclear && !std::isfinite(r.times));  // all outputs begin with something
    }
    for (size_t output = 0; output < m.biases.size(); output++) {
      const IndexMap::Read& b = m.biases[output];
      const int64_t co = static_cast<int64_t>(output) / m.out_length % m.problem.out_channels;
      possible_ &= b.at == co && std::fabs(b.times - 1) <= 1e-3f;
    }
    order_.resize(static_cast<size_t>(m.problem.x_elements()));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937(1));
  }
  bool fails(const Program& q) const {
    return std::any_of(order_.begin(), order_.end(),
                       [&](int64_t input) { return !run(q, sizes_, input, [](int64_t, int64_t, int64_t) {}); });
  }
  bool gives(const Program& q) {
    for (const size_t cell : touched_) sums_[cell] = 0;
    touched_.clear();
    if (!possible_) return false;
    const ConvProblem& c = map_->problem;
    const int64_t outputs = map_->outputs(), inputs = c.x_elements(), weights = c.w_elements();
    const int sign = q.has(sum_minus) ? -1 : 1;
    for (const int64_t input : order_) {
      bool all_there = true;
      const bool ends = run(q, sizes_, input, [&](int64_t y, int64_t x, int64_t w) {
        if (y < 0 || y >= outputs || x < 0 || x >= inputs || w < 0 || w >= weights) return;  // zeros, or nobody's
        const auto cell = static_cast<size_t>(w * outputs + y);
        if (sums_[cell] == 0) touched_.push_back(cell);
        sums_[cell] += sign * input_code(x);
        all_there &= map_->reads[cell].at != IndexMap::none;
      });
      if (!ends || !all_there) return false;
    }
    return touched_.size() == there_ && std::all_of(touched_.begin(), touched_.end(), [&](size_t cell) {
             return is_sum(map_->reads[cell], sums_[cell]);
           });
  }

 private:
  const IndexMap* map_;
  Values sizes_;
  std::vector<int64_t> sums_;  // by cell: of the inputs' codes; 0 but for those that are touched
  std::vector<size_t> touched_;
  std::vector<int64_t> order_;  // of inputs
  size_t there_ = 0;            // cells of the map in which something is
  bool possible_ = true;
};

class InputMaps : public Maps {
 public:
  explicit InputMaps(const std::vector<const IndexMap*>& maps) {
    for (const IndexMap* m : maps) maps_.emplace_back(*m);
  }
  bool fit(const Program& q) override {
    return std::all_of(maps_.begin(), maps_.end(), [&](InputMap& m) { return m.gives(q); });
  }
  bool fails(const Program& q) override {
    return std::any_of(maps_.begin(), maps_.end(), [&](InputMap& m) { return m.fails(q); });
  }

 private:
  std::vector<InputMap> maps_;
};

Loop made() {
  Loop l = head::loop_of(head::inputs);
  l.definition.insert(l.definition.end(),
                      {{zero},  {K},  {i},    {s}, {p}, {k},   {d},  {j}, {j}, {Lout}, {zero}, {Cog}, {n}, {Cout},
                       {first}, {co}, {Lout}, {j}, {n}, {Cin}, {ci}, {L}, {i}, {ci},   {Cog},  {co},  {K}, {k}});
  l.statements.insert(l.statements.end(),
                      {
                          {k_begin, 1, "k from {}", "the first tap"},
                          {k_end, 1, "k < {}", "the last tap"},
                          {j_i, 5, "j = {}·{} − {} + {}·{}", "the position that a product is added to"},
                          {low_j, 1, "{} ≥ 0", "the test that the position is not below 0"},
                          {end_j, 2, "{} < {}", "the test for the end of a row of y"},
                          {co_begin, 1, "co from {}", "the first output channel of the loop"},
                          {co_count, 1, "co < {}", "the last output channel of the loop"},
                          {y_n, 6, "y[({}·{} + {} + {})·{} + {}]", "the address in y"},
                      });
  add_address(l, "x", x_n, x_adds_channels);
  add_address(l, "w", w_ci, w_adds_channels);
  l.operators.insert(l.operators.end(),
                     {
                         {j_adds_s, j_i, "j = {} + {} − {} + {}·{}"},
                         {j_plus_p, j_i, "j = {}·{} + {} + {}·{}"},
                         {j_minus_kd, j_i, "j = {}·{} − {} − {}·{}"},
                         {j_adds_d, j_i, "j = {}·{} − {} + {} + {}"},
                         {low_above, low_j, "{} ≤ 0"},
                         {low_none, low_j, "", {}, {}, left_out},
                         {end_below, end_j, "{} ≥ {}"},
                         {end_none, end_j, "", {}, {}, left_out},
                         {one_test, no_place, "j ≥ 0 or j < Lout", "j ≥ 0 and j < Lout", "the test of the position"},
                         {y_adds_channels, y_n, "y[({} + {} + {} + {})·{} + {}]"},
                         {y_minus_first, y_n, "y[({}·{} − {} + {})·{} + {}]"},
                         {y_minus_co, y_n, "y[({}·{} + {} − {})·{} + {}]"},
                         {y_adds_length, y_n, "y[{}·{} + {} + {} + {} + {}]"},
                         {y_minus_j, y_n, "y[({}·{} + {} + {})·{} − {}]"},
                         {sum_minus, no_place, "y −= x·w", "y += x·w", "what is done with a product"},
                     });
  l.in_scope = in_scope;
  l.forms = {0, uint64_t{1} << x_at_parts};
  l.names.push_back({"co", "co: an output channel, counted in its group"});
  l.maps = maps_of<InputMaps>;
  return l;
}

}  // namespace
}  // namespace scattering

const Loop& scatter() {
  static const Loop loop = scattering::made();
  return loop;
}

}  // namespace convscope::index_loop
