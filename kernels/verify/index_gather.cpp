// The definition as a loop of one thread an output:
//
//   if e ≥ N·Cout·Lout: nothing is written
//   j = e mod Lout;  co = e/Lout mod Cout;  n = e/(Lout·Cout)
//   Cig = Cin/groups;  Cog = Cout/groups;  first = co/Cog·Cig;  sum = b[co]
//   for k from 0 while k < K:  t = j + p − k·d;  if t < 0 or t mod s ≠ 0: none;  i = t/s;  if i ≥ L: none
//     for ci from first while ci < first + Cig:  sum += x[(n·Cin + ci)·L + i] · w[(ci·Cog + co mod Cog)·K + k]
//
// (e: an output's place in memory.)
#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/verify/index_head.h"
#include "kernels/verify/index_loop.h"

namespace convscope::index_loop {
namespace gathering {
namespace {

// Places where one of them stands, in the order of the program.
enum Place {
  bias_of = head::places,
  k_begin,
  k_end,
  t_j,
  t_p,
  t_k,
  t_d,
  low_t,
  rest_t,
  rest_s,
  i_t,
  i_s,
  end_i,
  end_L,
  ci_begin,
  ci_from,
  ci_count,
  x_n,
  x_channels,
  x_ci,
  x_length,
  x_i,
  w_ci,
  w_channels,
  w_co,
  w_mod,
  w_taps,
  w_k,
  places
};

// Operators that may stand in the definition's place; what each makes of its statement stands below.
enum Operator {
  t_minus_p = head::operators,
  t_plus_kd,
  low_above,
  low_none,
  low_wraps,
  rest_is,
  rest_divides,
  one_test,
  i_mod,
  i_times,
  end_below,
  end_none,
  x_first,  // of an address (a·b + c)·d + e: a + b, − c, + d, − e in their order
  w_first = x_first + 4,
  w_divides = w_first + 4,
  sum_is,
  sum_minus,
  changes
};

// Whether it has been computed where that place is.
bool in_scope(Operand o, int at) {
  if (o == k) return at >= t_j;
  if (o == t) return at >= low_t;
  if (o == i) return at >= end_i;
  if (o == ci) return at >= x_n;
  return head::in_scope(o, head::outputs, at);
}

// An output as a program makes it.
struct Made {
  int32_t bias = IndexMap::none;
  bool written = true;
};

// sums: by flat weight, of the inputs' codes; touched: those weights. False where it divides by zero, or goes on for
// ever.
bool run(const Program& q, const ConvProblem& problem, const Values& sizes, int64_t output, std::vector<int64_t>& sums,
         std::vector<int32_t>& touched, Made& made) {
  Values o = sizes;
  o[e] = output;
  bool fails = false;
  auto value = [&](Place place) { return o[q.slots[place].operand] + q.slots[place].add; };
  auto over = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a / b; };
  auto rest = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a % b; };
  const head::Begins begins = head::begin(q, head::outputs, o);
  made.written = begins != head::Begins::no;
  if (begins != head::Begins::yes) return !made.written;
  if (const int64_t channel = value(bias_of); channel >= 0 && channel < problem.out_channels)
    made.bias = static_cast<int32_t>(channel);
  constexpr int64_t many = 512;  // more turns than any size of a small problem
  int64_t turns = 0, last_x = -1, last_w = -1;
  const int64_t x_elements = problem.x_elements(), w_elements = problem.w_elements();
  auto add = [&](int64_t x, int64_t w) {
    if (x < 0 || x >= x_elements || w < 0 || w >= w_elements) return;  // zeros lie there
    if (sums[static_cast<size_t>(w)] == 0) touched.push_back(static_cast<int32_t>(w));
    sums[static_cast<size_t>(w)] += q.has(sum_minus) ? -input_code(x) : input_code(x);
  };
  for (o[k] = value(k_begin); o[k] < value(k_end) && turns < many; o[k]++, turns++) {
    const int64_t padded = q.has(t_minus_p) ? value(t_j) - value(t_p) : value(t_j) + value(t_p),
                  of_tap = value(t_k) * value(t_d);
    o[t] = q.has(t_plus_kd) ? padded + of_tap : padded - of_tap;
    const int64_t low = value(low_t),
                  left = q.has(rest_divides) ? over(value(rest_t), value(rest_s)) : rest(value(rest_t), value(rest_s));
    if (fails) return false;
    // What is below 0 is very large in unsigned numbers: for a stride of 1 the position is below 0 again, else beyond.
    const bool wraps = q.has(low_wraps) && low < 0;
    if (wraps && o[s] != 1) continue;
    const bool before = q.has(low_none) || wraps ? false : q.has(low_above) ? low > 0 : low < 0, between = q.has(rest_is) ? left == 0 : left != 0;
    if (q.has(one_test) ? before && between : before || between) continue;
    o[i] = q.has(i_mod)     ? rest(value(i_t), value(i_s))
           : q.has(i_times) ? value(i_t) * value(i_s)
                            : over(value(i_t), value(i_s));
    if (fails) return false;
    if (!q.has(end_none) && (q.has(end_below) ? value(end_i) < value(end_L) : value(end_i) >= value(end_L))) continue;
    for (o[ci] = value(ci_begin); o[ci] < value(ci_from) + value(ci_count) && turns < many; o[ci]++, turns++) {
      const int64_t of_group = q.has(w_divides) ? over(value(w_co), value(w_mod)) : rest(value(w_co), value(w_mod));
      last_x = address(q, x_first, value(x_n), value(x_channels), value(x_ci), value(x_length), value(x_i));
      last_w = address(q, w_first, value(w_ci), value(w_channels), of_group, value(w_taps), value(w_k));
      if (fails) return false;
      if (q.has(sum_is))
        made.bias = IndexMap::none;  // a product takes its place
      else
        add(last_x, last_w);
    }
  }
  if (q.has(sum_is)) add(last_x, last_w);
  return turns < many;
}

// What one output of a map is made of: the weights whose products reach it, in rising order.
struct Output {
  std::vector<std::pair<int32_t, IndexMap::Read>> reads;
  IndexMap::Read bias;
  bool written = true;
};

// A map, an output at a time.
class OutputMap {
 public:
  explicit OutputMap(const IndexMap& m) : map_(&m), sizes_(sizes_of(m)) {
    sums_.resize(static_cast<size_t>(m.problem.w_elements()));
    outputs_.resize(static_cast<size_t>(m.outputs()));
    for (int64_t w = 0; w < m.problem.w_elements(); w++)
      for (int64_t output = 0; output < m.outputs(); output++) {
        const IndexMap::Read& r = m.read(w, output);
        if (r.at == IndexMap::none) continue;
        Output& to = outputs_[static_cast<size_t>(output)];
        to.written &= !r.unwritten();
        to.reads.emplace_back(static_cast<int32_t>(w), r);
      }
    for (size_t output = 0; output < m.biases.size(); output++) outputs_[output].bias = m.biases[output];
  }
  int64_t size() const { return static_cast<int64_t>(outputs_.size()); }
  bool fails(const Program& q) {
    for (int64_t output = 0; output < size(); output++) {
      Made made;
      if (!made_by(q, output, made)) return true;
    }
    return false;
  }
  // Whether the program does with an output what the kernel did; not where it divides by zero or goes on for ever.
  bool gives(const Program& q, int64_t output) {
    Made made;
    if (!made_by(q, output, made)) return false;
    const Output& seen = outputs_[static_cast<size_t>(output)];
    if (!seen.written || !made.written) return seen.written == made.written;
    if (!map_->biases.empty() &&
        (seen.bias.at != made.bias || (made.bias != IndexMap::none && std::fabs(seen.bias.times - 1) > 1e-3f)))
      return false;
    return seen.reads.size() == touched_.size() &&
           std::all_of(seen.reads.begin(), seen.reads.end(),
                       [&](const auto& r) { return is_sum(r.second, sums_[static_cast<size_t>(r.first)]); });
  }

 private:
  bool made_by(const Program& q, int64_t output, Made& made) {
    for (const int32_t w : touched_) sums_[static_cast<size_t>(w)] = 0;
    touched_.clear();
    return run(q, map_->problem, sizes_, output, sums_, touched_, made);
  }

  const IndexMap* map_;
  Values sizes_;
  std::vector<Output> outputs_;
  std::vector<int64_t> sums_;  // by weight: of the inputs' codes; 0 but for those that are touched
  std::vector<int32_t> touched_;
};

// In which order outputs of all maps tell most programs apart.
class OutputMaps : public Maps {
 public:
  explicit OutputMaps(const std::vector<const IndexMap*>& maps) {
    std::mt19937 random(1);
    size_t most = 0;
    std::vector<std::vector<int64_t>> of_each;
    const Program right = gather().right();
    for (const IndexMap* m : maps) {
      maps_.emplace_back(*m);
      // What the definition does not give first: it is what a program has to explain.
      std::vector<int64_t> order(static_cast<size_t>(maps_.back().size()));
      for (size_t o = 0; o < order.size(); o++) order[o] = static_cast<int64_t>(o);
      std::shuffle(order.begin(), order.end(), random);
      std::stable_partition(order.begin(), order.end(),
                            [&](int64_t output) { return !maps_.back().gives(right, output); });
      most = std::max(most, order.size());
      of_each.push_back(std::move(order));
    }
    for (size_t turn = 0; turn < most; turn++)
      for (size_t m = 0; m < maps_.size(); m++)
        if (turn < of_each[m].size()) order_.emplace_back(m, of_each[m][turn]);
  }
  bool fit(const Program& q) override {
    return std::all_of(order_.begin(), order_.end(),
                       [&](const auto& at) { return maps_[at.first].gives(q, at.second); });
  }
  bool fails(const Program& q) override {
    return std::any_of(maps_.begin(), maps_.end(), [&](OutputMap& m) { return m.fails(q); });
  }

 private:
  std::vector<OutputMap> maps_;
  std::vector<std::pair<size_t, int64_t>> order_;
};

Loop made() {
  Loop l = head::loop_of(head::outputs);
  l.definition.insert(l.definition.end(),
                      {{co},    {zero},  {K},   {j}, {p},   {k},  {d}, {t}, {t},  {s},   {t},  {s},   {i}, {L},
                       {first}, {first}, {Cig}, {n}, {Cin}, {ci}, {L}, {i}, {ci}, {Cog}, {co}, {Cog}, {K}, {k}});
  l.statements.insert(l.statements.end(),
                      {
                          {bias_of, 1, "b[{}]", "the bias"},
                          {k_begin, 1, "k from {}", "the first tap"},
                          {k_end, 1, "k < {}", "the last tap"},
                          {t_j, 4, "{} + {} − {}·{}", "the numerator t of the index"},
                          {low_t, 1, "{} ≥ 0", "the test that the numerator t is not below 0"},
                          {rest_t, 2, "{} mod {} = 0", "the test whether the stride divides the numerator t"},
                          {i_t, 2, "i = {}/{}", "the division of the numerator t"},
                          {end_i, 2, "{} < {}", "the test for the end of a row of x"},
                          {ci_begin, 1, "ci from {}", "the first input channel of the sum"},
                          {ci_from, 2, "ci < {} + {}", "the last input channel of the sum"},
                      });
  add_address(l, "x", x_n, x_first);
  l.statements.push_back({w_ci, 6, "w[({}·{} + {} mod {})·{} + {}]", "the address in w"});
  l.operators.insert(
      l.operators.end(),
      {
          {t_minus_p, t_j, "{} − {} − {}·{}"},
          {t_plus_kd, t_j, "{} + {} + {}·{}"},
          {low_above, low_t, "{} ≤ 0"},
          {low_none, low_t, "", {}, {}, left_out},
          {low_wraps, low_t, "{} as an unsigned number, which is never below 0", {}, {}, 1.4},
          {rest_is, rest_t, "{} mod {} ≠ 0"},
          {rest_divides, rest_t, "{}/{} = 0"},
          {one_test, no_place, "t ≥ 0 or t mod s = 0", "t ≥ 0 and t mod s = 0", "the test of the numerator t"},
          {i_mod, i_t, "i = {} mod {}"},
          {i_times, i_t, "i = {}·{}"},
          {end_below, end_i, "{} ≥ {}"},
          {end_none, end_i, "", {}, {}, left_out},
          {w_first, w_ci, "w[({} + {} + {} mod {})·{} + {}]"},
          {(w_first + 1), w_ci, "w[({}·{} − {} mod {})·{} + {}]"},
          {(w_first + 2), w_ci, "w[{}·{} + {} mod {} + {} + {}]"},
          {(w_first + 3), w_ci, "w[({}·{} + {} mod {})·{} − {}]"},
          {w_divides, w_ci, "w[({}·{} + {}/{})·{} + {}]"},
          {sum_is, no_place, "sum = x·w", "sum += x·w", "what is done with a product"},
          {sum_minus, no_place, "sum −= x·w", "sum += x·w", "what is done with a product"},
      });
  l.in_scope = in_scope;
  l.names.push_back({"numerator t", "t = j + p − k·d", true});
  l.maps = maps_of<OutputMaps>;
  return l;
}

}  // namespace
}  // namespace gathering

const Loop& gather() {
  static const Loop loop = gathering::made();
  return loop;
}

}  // namespace convscope::index_loop
