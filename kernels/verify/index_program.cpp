#include "kernels/verify/index_program.h"

#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace convscope {
namespace {

// What an operand may be. Sizes first, then what the program computes, in the order in which it does.
enum Operand : uint8_t {
  N,
  Cin,
  Cout,
  K,
  L,
  Lout,
  s,
  p,
  d,
  g,
  Cig,
  Cog,
  e,
  j,
  co,
  n,
  first,
  k,
  t,
  i,
  ci,
  zero,
  one,
  operands
};
constexpr const char* names[operands] = {
    "N", "Cin", "Cout", "K",     "L", "Lout", "s", "p",  "d", "groups", "(Cin/groups)", "(Cout/groups)", "e",
    "j", "co",  "n",    "first", "k", "t",    "i", "ci", "0", "1"};

// Places where one of them stands, in the order of the program:
//   j = e mod Lout;  co = e/Lout mod Cout;  n = e/(Lout·Cout)
//   Cig = Cin/groups;  Cog = Cout/groups;  first = co/Cog·Cig;  b[co]
//   for k from 0 while k < K:  t = j + p − k·d;  if t < 0 or t mod s ≠ 0: none;  i = t/s;  if i ≥ L: none
//     for ci from first while ci < first + Cig:  x[(n·Cin + ci)·L + i] · w[(ci·Cog + co mod Cog)·K + k]
enum Place {
  j_length,
  co_length,
  co_channels,
  n_length,
  n_channels,
  in_all,
  in_groups,
  out_all,
  out_groups,
  first_co,
  first_by,
  first_times,
  bias_of,
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
struct Slot {
  Operand operand;
  int add;  // to it
};
using Slots = std::array<Slot, places>;
constexpr Slots definition = {{{Lout, 0}, {Lout, 0}, {Cout, 0},  {Lout, 0},  {Cout, 0}, {Cin, 0},  {g, 0},   {Cout, 0},
                               {g, 0},    {co, 0},   {Cog, 0},   {Cig, 0},   {co, 0},   {zero, 0}, {K, 0},   {j, 0},
                               {p, 0},    {k, 0},    {d, 0},     {t, 0},     {t, 0},    {s, 0},    {t, 0},   {s, 0},
                               {i, 0},    {L, 0},    {first, 0}, {first, 0}, {Cig, 0},  {n, 0},    {Cin, 0}, {ci, 0},
                               {L, 0},    {i, 0},    {ci, 0},    {Cog, 0},   {co, 0},   {Cog, 0},  {K, 0},   {k, 0}}};

// Operators that may stand in each other's place: which, and what is written there instead.
enum Operator : uint8_t {
  none_changed,
  co_divides,
  w_divides,
  j_divides,
  co_mod,
  first_mod,
  first_adds,
  rest_is,
  rest_divides,
  i_mod,
  i_times,
  low_above,
  end_below,
  n_mod,
  n_rest,
  co_times,
  out_times,
  first_product,
  one_test,
  x_first,  // of an address (a·b + c)·d + e: a + b, − c, + d, − e in their order
  w_first = x_first + 4
};

struct Program {
  Slots slots = definition;
  Operator changed = none_changed;
};

// Statements, with the places that stand in them as {}, and whose they are.
struct Statement {
  Place from;
  int count;
  const char *text, *what;
};
constexpr Statement statements[] = {
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

// Sizes of one problem, and what has been computed so far.
struct Values {
  std::array<int64_t, operands> of{};
  int64_t at(const Slot& slot) const { return of[slot.operand] + slot.add; }
};

// What a program does to one output: reads[weight]. False where it divides by zero, or goes on for ever.
struct Reads {
  std::unordered_map<int64_t, int64_t> through;  // by flat weight: the sum of the inputs' codes
  int32_t bias = IndexMap::none;
};

bool output_of(const Program& q, const ConvProblem& c, int64_t length, int64_t output, Reads& reads) {
  Values v;
  auto& o = v.of;
  o[N] = c.batch, o[Cin] = c.in_channels, o[Cout] = c.out_channels, o[K] = c.kernel_size, o[L] = c.length,
  o[Lout] = length;
  o[s] = c.stride, o[p] = c.padding, o[d] = c.dilation, o[g] = c.groups, o[Cig] = c.in_per_group(),
  o[Cog] = c.out_per_group();
  o[zero] = 0, o[one] = 1, o[e] = output;
  bool fails = false;
  auto value = [&](Place place) { return v.at(q.slots[place]); };
  auto over = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a / b; };
  auto rest = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a % b; };
  o[j] = q.changed == j_divides ? over(output, value(j_length)) : rest(output, value(j_length));
  const int64_t row = q.changed == co_mod     ? rest(output, value(co_length))
                      : q.changed == co_times ? output * value(co_length)
                                              : over(output, value(co_length));
  o[co] = q.changed == co_divides ? over(row, value(co_channels)) : rest(row, value(co_channels));
  o[n] = over(over(output, value(n_length)), value(n_channels));
  if (q.changed == n_mod) o[n] = rest(over(output, value(n_length)), value(n_channels));
  if (q.changed == n_rest) o[n] = over(rest(output, value(n_length)), value(n_channels));
  o[Cig] = over(value(in_all), value(in_groups)), o[Cog] = over(value(out_all), value(out_groups));
  if (q.changed == out_times) o[Cog] = value(out_all) * value(out_groups);
  const int64_t group = q.changed == first_mod       ? rest(value(first_co), value(first_by))
                        : q.changed == first_product ? value(first_co) * value(first_by)
                                                     : over(value(first_co), value(first_by));
  o[first] = q.changed == first_adds ? group + value(first_times) : group * value(first_times);
  if (fails) return false;
  if (const int64_t channel = value(bias_of); channel >= 0 && channel < c.out_channels)
    reads.bias = static_cast<int32_t>(channel);
  constexpr int64_t many = 512;  // more turns than any size of a small problem
  int64_t turns = 0;
  for (o[k] = value(k_begin); o[k] < value(k_end) && turns < many; o[k]++, turns++) {
    o[t] = value(t_j) + value(t_p) - value(t_k) * value(t_d);
    const int64_t low = value(low_t), left = q.changed == rest_divides ? over(value(rest_t), value(rest_s))
                                                                       : rest(value(rest_t), value(rest_s));
    if (fails) return false;
    const bool before = q.changed == low_above ? low > 0 : low < 0,
               between = q.changed == rest_is ? left == 0 : left != 0;
    if (q.changed == one_test ? before && between : before || between) continue;
    o[i] = q.changed == i_mod     ? rest(value(i_t), value(i_s))
           : q.changed == i_times ? value(i_t) * value(i_s)
                                  : over(value(i_t), value(i_s));
    if (fails) return false;
    if (q.changed == end_below ? value(end_i) < value(end_L) : value(end_i) >= value(end_L)) continue;
    for (o[ci] = value(ci_begin); o[ci] < value(ci_from) + value(ci_count) && turns < many; o[ci]++, turns++) {
      const int64_t of_group =
          q.changed == w_divides ? over(value(w_co), value(w_mod)) : rest(value(w_co), value(w_mod));
      auto address = [&](Operator its_first, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
        const int changed = q.changed - its_first;
        const int64_t row = (changed == 0 ? a + b : a * b) + (changed == 1 ? -c : c);
        return (changed == 2 ? row + d : row * d) + (changed == 3 ? -e : e);
      };
      const int64_t x = address(x_first, value(x_n), value(x_channels), value(x_ci), value(x_length), value(x_i));
      const int64_t w = address(w_first, value(w_ci), value(w_channels), of_group, value(w_taps), value(w_k));
      if (fails) return false;
      if (x < 0 || x >= c.x_elements() || w < 0 || w >= c.w_elements()) continue;  // zeros lie there
      reads.through[w] += input_code(x);
    }
  }
  return turns < many;
}

bool gives(const Program& q, const IndexMap& m) {
  if (!m.added.empty()) return false;  // to what stood there: another fault
  const int64_t weights = m.problem.w_elements();
  Reads reads;
  for (int64_t output = 0; output < m.outputs(); output++) {
    reads.through.clear(), reads.bias = IndexMap::none;
    if (!output_of(q, m.problem, m.out_length, output, reads)) return false;
    if (!m.biases.empty()) {
      const IndexMap::Read& b = m.biases[static_cast<size_t>(output)];
      if (b.at != reads.bias || (b.at != IndexMap::none && std::fabs(b.times - 1) > 1e-3f)) return false;
    }
    size_t seen = 0;
    for (int64_t w = 0; w < weights; w++) {
      const IndexMap::Read& r = m.read(w, output);
      if (r.at == IndexMap::none) continue;
      const auto found = reads.through.find(w);
      if (found == reads.through.end()) return false;
      // Several inputs through one weight are read as whatever their sum looks like, or as unclear.
      const auto sum = static_cast<double>(found->second);
      if (r.at == IndexMap::unclear ? !std::isfinite(r.times)
                                    : std::fabs(static_cast<double>(r.times) * input_code(r.at) / sum - 1) > 1e-3)
        return false;
      seen++;
    }
    if (seen != reads.through.size()) return false;
  }
  return true;
}

// How unlikely it is that one stands in another's place; 0: it is not tried.
double cost_of(Operand is, Operand right) {
  auto one_of = [](Operand o, std::initializer_list<Operand> list) {
    for (const Operand l : list)
      if (o == l) return true;
    return false;
  };
  auto both = [&](std::initializer_list<Operand> list) { return one_of(is, list) && one_of(right, list); };
  if (is == right) return 0;
  if (both({L, Lout}) || both({Cin, Cig}) || both({Cout, Cog}) || both({Cin, Cout}) || both({Cig, Cog})) return 1;
  if (both({Cin, Cout, Cig, Cog}) || both({s, d}) || both({ci, first}) || both({t, i}) || both({t, j})) return 1.2;
  if (both({s, p, d, g}) || both({j, t, i}) || both({k, zero}) || both({co, ci, first, n})) return 1.5;
  if (both({N, Cin, Cout, Cig, Cog, K, L, Lout})) return 2;
  if (both({j, t, i, k}) || both({n, e}) || is == one || is == zero) return 2.2;
  return 0;
}

// Whether it has been computed where that place is.
bool in_scope(Operand o, Place at) {
  if (o < e || o >= zero) return (o != Cig && o != Cog) || at >= first_co;
  if (o == e) return true;
  if (o == j || o == co || o == n) return at >= in_all;
  if (o == first) return at >= bias_of;
  if (o == k) return at >= t_j;
  if (o == t) return at >= low_t;
  if (o == i) return at >= end_i;
  return at >= x_n;  // ci
}

std::string filled(const Statement& st, const Program& q) {
  std::string out;
  int next = 0;
  for (std::string_view rest = st.text; !rest.empty();) {
    if (rest.starts_with("{}")) {
      const Slot& slot = q.slots[static_cast<size_t>(st.from + next++)];
      const std::string name = names[slot.operand];
      out += slot.add == 0 ? name : "(" + name + (slot.add > 0 ? " + 1)" : " − 1)");
      rest.remove_prefix(2);
    } else {
      out += rest.front(), rest.remove_prefix(1);
    }
  }
  // As one would write it.
  for (const auto& [as_made, written] : {std::pair{"k < (K + 1)", "k ≤ K"},
                                         {"ci < (first + 1) + (Cin/groups)", "ci ≤ first + Cin/groups"},
                                         {"ci < first + ((Cin/groups) + 1)", "ci ≤ first + Cin/groups"},
                                         {"ci < first + (Cin/groups)", "ci < first + Cin/groups"},
                                         {"Cin/1", "Cin"},
                                         {"Cout/1", "Cout"}})
    if (out == as_made) return written;
  return out;
}

struct Change {
  Operator is;
  const char *text, *right, *what;
};
constexpr const char* right_w = "w[(ci·(Cout/groups) + co mod (Cout/groups))·K + k]";
constexpr Change changes[] = {
    {j_divides, "j = e/Lout", "j = e mod Lout", "the position of an output"},
    {co_divides, "co = e/Lout/Cout", "co = e/Lout mod Cout", "the channel of an output"},
    {w_divides, "w[(ci·(Cout/groups) + co/(Cout/groups))·K + k]", right_w, "the address in w"},
    {x_first, "x[(n + Cin + ci)·L + i]", "x[(n·Cin + ci)·L + i]", "the address in x"},
    {Operator(x_first + 1), "x[(n·Cin − ci)·L + i]", "x[(n·Cin + ci)·L + i]", "the address in x"},
    {Operator(x_first + 2), "x[n·Cin + ci + L + i]", "x[(n·Cin + ci)·L + i]", "the address in x"},
    {Operator(x_first + 3), "x[(n·Cin + ci)·L − i]", "x[(n·Cin + ci)·L + i]", "the address in x"},
    {w_first, "w[(ci + (Cout/groups) + co mod (Cout/groups))·K + k]", right_w, "the address in w"},
    {Operator(w_first + 1), "w[(ci·(Cout/groups) − co mod (Cout/groups))·K + k]", right_w, "the address in w"},
    {Operator(w_first + 2), "w[ci·(Cout/groups) + co mod (Cout/groups) + K + k]", right_w, "the address in w"},
    {Operator(w_first + 3), "w[(ci·(Cout/groups) + co mod (Cout/groups))·K − k]", right_w, "the address in w"},
    {co_mod, "co = e mod Lout mod Cout", "co = e/Lout mod Cout", "the channel of an output"},
    {n_mod, "n = e/Lout mod Cout", "n = e/(Lout·Cout)", "the sequence of an output"},
    {n_rest, "n = (e mod Lout)/Cout", "n = e/(Lout·Cout)", "the sequence of an output"},
    {co_times, "co = e·Lout mod Cout", "co = e/Lout mod Cout", "the channel of an output"},
    {out_times, "Cout·groups", "Cout/groups", "the number of output channels of a group"},
    {first_product, "co·(Cout/groups)·(Cin/groups)", "co/(Cout/groups)·(Cin/groups)",
     "the first input channel of an output's group"},
    {one_test, "t ≥ 0 or t mod s = 0", "t ≥ 0 and t mod s = 0", "the test of the numerator t"},
    {first_mod, "co mod (Cout/groups)·(Cin/groups)", "co/(Cout/groups)·(Cin/groups)",
     "the first input channel of an output's group"},
    {first_adds, "co/(Cout/groups) + (Cin/groups)", "co/(Cout/groups)·(Cin/groups)",
     "the first input channel of an output's group"},
    {rest_is, "t mod s ≠ 0", "t mod s = 0", "the test whether the stride divides the numerator t"},
    {rest_divides, "t/s = 0", "t mod s = 0", "the test whether the stride divides the numerator t"},
    {i_mod, "i = t mod s", "i = t/s", "the division of the numerator t"},
    {i_times, "i = t·s", "i = t/s", "the division of the numerator t"},
    {low_above, "t ≤ 0", "t ≥ 0", "the test that the numerator t is not below 0"},
    {end_below, "i ≥ L", "i < L", "the test for the end of a row of x"},
};

}  // namespace

std::optional<ProgramFault> program_fault(const std::vector<const IndexMap*>& maps) {
  if (maps.empty()) return {};
  std::optional<ProgramFault> best;
  double least = 1e9;
  auto fits = [&](const Program& q) {
    for (const IndexMap* m : maps)
      if (!gives(q, *m)) return false;
    return true;
  };
  for (const Statement& st : statements)
    for (int at = st.from; at < st.from + st.count; at++) {
      const Operand right = definition[static_cast<size_t>(at)].operand;
      auto consider = [&](Slot slot, double cost) {
        Program q;
        q.slots[static_cast<size_t>(at)] = slot;
        if (cost < least && fits(q)) best = ProgramFault{filled(st, q), filled(st, {}), st.what}, least = cost;
      };
      for (const int add : {-1, 1}) consider({right, add}, right < e ? 1.4 : 1.45);  // rather of a size
      for (int o = 0; o < operands; o++) {
        const auto other = static_cast<Operand>(o);
        const double cost = cost_of(other, right);
        if (cost > 0 && in_scope(other, static_cast<Place>(at))) consider({other, 0}, cost);
      }
    }
  for (const Change& c : changes) {
    Program q;
    q.changed = c.is;
    constexpr double cost = 1.6;
    if (cost < least && fits(q)) best = ProgramFault{c.text, c.right, c.what}, least = cost;
  }
  return best;
}

}  // namespace convscope
