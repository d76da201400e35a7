#include "kernels/verify/index_loop.h"

#include <cmath>
#include <string_view>

namespace convscope::index_loop {
namespace {

constexpr const char* names[operands] = {
    "N", "Cin", "Cout", "K",     "L", "Lout", "s", "p",  "d", "groups", "(Cin/groups)", "(Cout/groups)", "e",
    "j", "co",  "n",    "first", "k", "t",    "i", "ci", "0", "1"};

// An output as a program makes it.
struct Made {
  int32_t bias = IndexMap::none;
  bool written = true;
};

// sums: by flat weight, of the inputs' codes; touched: those weights. False where it divides by zero, or goes on for
// ever.
bool run(const Program& q, const ConvProblem& problem, const std::array<int64_t, operands>& sizes, int64_t output,
         std::vector<int64_t>& sums, std::vector<int32_t>& touched, Made& made) {
  std::array<int64_t, operands> o = sizes;
  o[e] = output;
  bool fails = false;
  auto value = [&](Place place) { return o[q.slots[place].operand] + q.slots[place].add; };
  auto over = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a / b; };
  auto rest = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a % b; };
  const int64_t a = value(guard_n), b = value(guard_channels), c = value(guard_length);
  if (output >= (q.has(guard_adds) ? a + b * c : q.has(guard_adds_length) ? a * b + c : a * b * c)) {
    made.written = false;
    return true;
  }
  o[j] = q.has(j_divides) ? over(output, value(j_length)) : rest(output, value(j_length));
  const int64_t row = q.has(co_mod)     ? rest(output, value(co_length))
                      : q.has(co_times) ? output * value(co_length)
                                        : over(output, value(co_length));
  o[co] = q.has(co_divides) ? over(row, value(co_channels)) : rest(row, value(co_channels));
  o[n] = q.has(n_mod)    ? rest(over(output, value(n_length)), value(n_channels))
         : q.has(n_rest) ? over(rest(output, value(n_length)), value(n_channels))
                         : over(over(output, value(n_length)), value(n_channels));
  o[Cig] = over(value(in_all), value(in_groups));
  o[Cog] = q.has(out_times) ? value(out_all) * value(out_groups) : over(value(out_all), value(out_groups));
  const int64_t group = q.has(first_mod)       ? rest(value(first_co), value(first_by))
                        : q.has(first_product) ? value(first_co) * value(first_by)
                                               : over(value(first_co), value(first_by));
  o[first] = q.has(first_adds) ? group + value(first_times) : group * value(first_times);
  if (fails) return false;
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
    const bool before = q.has(low_above) ? low > 0 : low < 0, between = q.has(rest_is) ? left == 0 : left != 0;
    if (q.has(one_test) ? before && between : before || between) continue;
    o[i] = q.has(i_mod)     ? rest(value(i_t), value(i_s))
           : q.has(i_times) ? value(i_t) * value(i_s)
                            : over(value(i_t), value(i_s));
    if (fails) return false;
    if (q.has(end_below) ? value(end_i) < value(end_L) : value(end_i) >= value(end_L)) continue;
    for (o[ci] = value(ci_begin); o[ci] < value(ci_from) + value(ci_count) && turns < many; o[ci]++, turns++) {
      const int64_t of_group = q.has(w_divides) ? over(value(w_co), value(w_mod)) : rest(value(w_co), value(w_mod));
      auto address = [&](int its_first, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
        const int64_t row = (q.has(its_first) ? a + b : a * b) + (q.has(its_first + 1) ? -c : c);
        return (q.has(its_first + 2) ? row + d : row * d) + (q.has(its_first + 3) ? -e : e);
      };
      last_x = address(x_first, value(x_n), value(x_channels), value(x_ci), value(x_length), value(x_i));
      last_w = address(w_first, value(w_ci), value(w_channels), of_group, value(w_taps), value(w_k));
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

}  // namespace

const Program definition = {
    {{{N, 0}, {Cout, 0}, {Lout, 0},  {Lout, 0},  {Lout, 0}, {Cout, 0}, {Lout, 0}, {Cout, 0}, {Cin, 0},
      {g, 0}, {Cout, 0}, {g, 0},     {co, 0},    {Cog, 0},  {Cig, 0},  {co, 0},   {zero, 0}, {K, 0},
      {j, 0}, {p, 0},    {k, 0},     {d, 0},     {t, 0},    {t, 0},    {s, 0},    {t, 0},    {s, 0},
      {i, 0}, {L, 0},    {first, 0}, {first, 0}, {Cig, 0},  {n, 0},    {Cin, 0},  {ci, 0},   {L, 0},
      {i, 0}, {ci, 0},   {Cog, 0},   {co, 0},    {Cog, 0},  {K, 0},    {k, 0}}}};

const std::vector<Statement> statements = {
    {guard_n, 3, "e < {}·{}·{}", "the test for the end of y"},
    {j_length, 1, "j = e mod {}", "the position of an output"},
    {co_length, 2, "co = e/{} mod {}", "the channel of an output"},
    {n_length, 2, "n = e/({}·{})", "the sequence of an output"},
    {in_all, 2, "{}/{}", "the number of input channels of a group"},
    {out_all, 2, "{}/{}", "the number of output channels of a group"},
    {first_co, 3, "{}/{}·{}", "the first input channel of an output's group"},
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
    {x_n, 5, "x[({}·{} + {})·{} + {}]", "the address in x"},
    {w_ci, 6, "w[({}·{} + {} mod {})·{} + {}]", "the address in w"},
};

const std::vector<Change> operators = {
    {guard_adds, guard_n, "e < {} + {}·{}"},
    {guard_adds_length, guard_n, "e < {}·{} + {}"},
    {j_divides, j_length, "j = e/{}"},
    {co_divides, co_length, "co = e/{}/{}"},
    {co_mod, co_length, "co = e mod {} mod {}"},
    {co_times, co_length, "co = e·{} mod {}"},
    {n_mod, n_length, "n = e/{} mod {}"},
    {n_rest, n_length, "n = (e mod {})/{}"},
    {out_times, out_all, "{}·{}"},
    {first_mod, first_co, "{} mod {}·{}"},
    {first_product, first_co, "{}·{}·{}"},
    {first_adds, first_co, "{}/{} + {}"},
    {t_minus_p, t_j, "{} − {} − {}·{}"},
    {t_plus_kd, t_j, "{} + {} + {}·{}"},
    {low_above, low_t, "{} ≤ 0"},
    {rest_is, rest_t, "{} mod {} ≠ 0"},
    {rest_divides, rest_t, "{}/{} = 0"},
    {one_test, places, "t ≥ 0 or t mod s = 0", "t ≥ 0 and t mod s = 0", "the test of the numerator t"},
    {i_mod, i_t, "i = {} mod {}"},
    {i_times, i_t, "i = {}·{}"},
    {end_below, end_i, "{} ≥ {}"},
    {x_first, x_n, "x[({} + {} + {})·{} + {}]"},
    {Operator(x_first + 1), x_n, "x[({}·{} − {})·{} + {}]"},
    {Operator(x_first + 2), x_n, "x[{}·{} + {} + {} + {}]"},
    {Operator(x_first + 3), x_n, "x[({}·{} + {})·{} − {}]"},
    {w_first, w_ci, "w[({} + {} + {} mod {})·{} + {}]"},
    {Operator(w_first + 1), w_ci, "w[({}·{} − {} mod {})·{} + {}]"},
    {Operator(w_first + 2), w_ci, "w[{}·{} + {} mod {} + {} + {}]"},
    {Operator(w_first + 3), w_ci, "w[({}·{} + {} mod {})·{} − {}]"},
    {w_divides, w_ci, "w[({}·{} + {}/{})·{} + {}]"},
    {sum_is, places, "sum = x·w", "sum += x·w", "what is done with a product"},
    {sum_minus, places, "sum −= x·w", "sum += x·w", "what is done with a product"},
};

const Statement& statement_of(Place at) {
  size_t found = statements.size();
  while (statements[--found].from > at) {
  }
  return statements[found];
}

std::string Statement::of(const Program& q) const {
  const char* as = text;
  for (const Change& c : operators)
    if (c.at == from && q.has(c.is)) as = c.text;
  std::string out;
  int next = 0;
  for (std::string_view rest = as; !rest.empty();) {
    if (rest.starts_with("{}")) {
      const Slot& slot = q.slots[static_cast<size_t>(from + next++)];
      const std::string name = names[slot.operand];
      out += slot.add == 0 ? name : "(" + name + (slot.add > 0 ? " + 1)" : " − 1)");
      rest.remove_prefix(2);
    } else {
      out += rest.front(), rest.remove_prefix(1);
    }
  }
  for (const auto& [as_made, written] : {std::pair{"k < (K + 1)", "k ≤ K"},
                                         {"ci < (first + 1) + (Cin/groups)", "ci ≤ first + Cin/groups"},
                                         {"ci < first + ((Cin/groups) + 1)", "ci ≤ first + Cin/groups"},
                                         {"ci < first + (Cin/groups)", "ci < first + Cin/groups"},
                                         {"Cin/1", "Cin"},
                                         {"Cout/1", "Cout"}})
    if (out == as_made) return written;
  return out;
}

OutputMap::OutputMap(const IndexMap& m) : map_(&m), sums_(static_cast<size_t>(m.problem.w_elements())) {
  const ConvProblem& c = m.problem;
  sizes_[N] = c.batch, sizes_[Cin] = c.in_channels, sizes_[Cout] = c.out_channels, sizes_[K] = c.kernel_size;
  sizes_[L] = c.length, sizes_[Lout] = m.out_length, sizes_[s] = c.stride, sizes_[p] = c.padding;
  sizes_[d] = c.dilation, sizes_[g] = c.groups, sizes_[Cig] = c.in_per_group(), sizes_[Cog] = c.out_per_group();
  sizes_[one] = 1;
  outputs_.resize(static_cast<size_t>(m.outputs()));
  for (int64_t w = 0; w < c.w_elements(); w++)
    for (int64_t output = 0; output < m.outputs(); output++) {
      const IndexMap::Read& r = m.read(w, output);
      if (r.at == IndexMap::none) continue;
      Output& to = outputs_[static_cast<size_t>(output)];
      to.written &= !(r.at == IndexMap::unclear && std::isinf(r.times));
      to.reads.emplace_back(static_cast<int32_t>(w), r);
    }
  for (size_t output = 0; output < m.biases.size(); output++) outputs_[output].bias = m.biases[output];
}

bool OutputMap::gives(const Program& q, int64_t output) const {
  for (const int32_t w : touched_) sums_[static_cast<size_t>(w)] = 0;
  touched_.clear();
  Made made;
  if (!run(q, map_->problem, sizes_, output, sums_, touched_, made)) return false;
  const Output& seen = outputs_[static_cast<size_t>(output)];
  if (!seen.written || !made.written) return seen.written == made.written;
  if (!map_->biases.empty() &&
      (seen.bias.at != made.bias || (made.bias != IndexMap::none && std::fabs(seen.bias.times - 1) > 1e-3f)))
    return false;
  if (seen.reads.size() != touched_.size()) return false;
  for (const auto& [w, r] : seen.reads) {
    const auto sum = static_cast<double>(sums_[static_cast<size_t>(w)]);
    // Several inputs through one weight are read as whatever their sum looks like, or as unclear.
    if (sum == 0 ||
        (r.at == IndexMap::unclear ? !std::isfinite(r.times)
                                   : std::fabs(static_cast<double>(r.times) * input_code(r.at) / sum - 1) > 1e-3))
      return false;
  }
  return true;
}

}  // namespace convscope::index_loop
