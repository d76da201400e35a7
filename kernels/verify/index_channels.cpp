#include "kernels/verify/index_channels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>

#include "kernels/verify/index_outputs.h"
#include "kernels/verify/index_places.h"
#include "kernels/verify/index_rows.h"
#include "kernels/verify/map_sizes.h"
#include "kernels/verify/pattern_values.h"

namespace convscope {
namespace {

using Read = IndexMap::Read;
constexpr double a_little = 1e-3;  // factors nearer to 1 are roundings

using Sizes = MapSizes;

using Three = std::array<int64_t, 3>;

// Where the three indices of a tensor lie when its dimensions are stored in another order: order[0] outermost.
struct Order {
  std::array<int, 3> dims;
  const char* text;
};
int64_t flat(const Three& at, const Three& size, const Order& o) {
  return (at[o.dims[0]] * size[o.dims[1]] + at[o.dims[1]]) * size[o.dims[2]] + at[o.dims[2]];
}
Three from_flat(int64_t e, const Three& size, const Order& o) {
  Three at;
  at[o.dims[2]] = e % size[o.dims[2]], e /= size[o.dims[2]];
  at[o.dims[1]] = e % size[o.dims[1]], at[o.dims[0]] = e / size[o.dims[1]];
  return at;
}
constexpr Order of_w[] = {{{0, 1, 2}, ""},
                          {{1, 0, 2}, "w is read as [Cout/groups, Cin, K], and it is [Cin, Cout/groups, K]"},
                          {{0, 2, 1}, "w is read as [Cin, K, Cout/groups], and it is [Cin, Cout/groups, K]"},
                          {{2, 0, 1}, "w is read as [K, Cin, Cout/groups], and it is [Cin, Cout/groups, K]"},
                          {{1, 2, 0}, "w is read as [Cout/groups, K, Cin], and it is [Cin, Cout/groups, K]"},
                          {{2, 1, 0}, "w is read as [K, Cout/groups, Cin], and it is [Cin, Cout/groups, K]"}};
constexpr Order of_x[] = {{{0, 1, 2}, ""},
                          {{0, 2, 1}, "x is read as [N, L, Cin], and it is [N, Cin, L]"},
                          {{1, 0, 2}, "x is read as [Cin, N, L], and it is [N, Cin, L]"}};
constexpr Order of_y[] = {{{0, 1, 2}, ""},
                          {{0, 2, 1}, "y is written as [N, Lout, Cout], and it is [N, Cout, Lout]"},
                          {{1, 0, 2}, "y is written as [Cout, N, Lout], and it is [N, Cout, Lout]"}};

// (output channel, weight's first two indices) → the input channel that it is multiplied with.
using Channels = std::map<Three, int64_t>;

struct Taken {
  TapMap taps;
  Channels channels;
  std::vector<int64_t> sequences;  // of x, for each of y; -1: none was seen
};

// The map in these orders, if its products are the same for all channels and sequences.
std::optional<Taken> take(const IndexMap& m, const Order& w, const Three& wsize, const Order& x, const Order& y) {
  const Sizes z(m);
  Taken t;
  t.taps.problem = m.problem, t.taps.positions = z.J;
  const auto cells = static_cast<size_t>(z.K * z.J);
  t.taps.i.assign(cells, IndexMap::none), t.taps.times.assign(cells, 0);
  t.sequences.assign(static_cast<size_t>(z.N), -1);
  const Three xsize{z.N, z.Cin, z.L}, ysize{z.N, z.Cout, z.J};
  // First what there is, then that it is everywhere.
  for (int64_t e = 0; e < m.problem.w_elements(); e++) {
    const auto [a, b, k] = from_flat(e, wsize, w);
    for (int64_t o = 0; o < m.outputs(); o++) {
      const Read& r = m.read(e, o);
      if (r.at == IndexMap::none) continue;
      if (r.at == IndexMap::unclear) return {};
      const auto [n, co, j] = from_flat(o, ysize, y);
      const auto [from_n, ci, i] = from_flat(r.at, xsize, x);
      auto& cell = t.taps.i[static_cast<size_t>(k * z.J + j)];
      auto& times = t.taps.times[static_cast<size_t>(k * z.J + j)];
      auto& sequence = t.sequences[static_cast<size_t>(n)];
      auto [channel, is_new] = t.channels.try_emplace({co, a, b}, ci);
      if (cell == IndexMap::none) cell = static_cast<int32_t>(i), times = r.times;
      if (sequence < 0) sequence = from_n;
      if (cell != i || std::fabs(times - r.times) > a_little || sequence != from_n || channel->second != ci) return {};
    }
  }
  for (const auto& [key, ci] : t.channels)
    for (int64_t n = 0; n < z.N; n++)
      for (int64_t k = 0; k < z.K; k++)
        for (int64_t j = 0; j < z.J; j++) {
          const bool is =
              m.read(flat({key[1], key[2], k}, wsize, w), flat({n, key[0], j}, ysize, y)).at != IndexMap::none;
          const bool should = t.taps.at(k, j) != IndexMap::none && t.sequences[static_cast<size_t>(n)] >= 0;
          if (is != should) return {};
        }
  return t;
}

// A weight's row is its first two indices, a·Cout/groups + b. f(c, g, co) of the c-th channel of group g.
struct ChannelRule {
  const char* fault;
  bool all;  // c runs over all input channels, not over those of a group
  int64_t (*row)(const Sizes& z, int64_t c, int64_t g, int64_t co);
  int64_t (*channel)(const Sizes& z, int64_t c, int64_t g, int64_t co);
};
#define ROW(expression)                                             \
  [](const Sizes& z, int64_t c, int64_t g, int64_t co) -> int64_t { \
    return (void)z, (void)c, (void)g, (void)co, expression;         \
  }
constexpr ChannelRule channel_rules[] = {
    {"", false, ROW((g * z.Cig + c) * z.Cog + co % z.Cog), ROW(g* z.Cig + c)},
    {"groups are ignored: channels of x and rows of w are taken as if there were none", true, ROW(c* z.Cout + co),
     ROW(c)},
    {"all input channels are summed, not those of the output's group", true, ROW(c* z.Cog + co % z.Cog), ROW(c)},
    {"all input channels are summed, and the weight's row is of co where co mod (Cout/groups) belongs", true,
     ROW(c* z.Cog + co), ROW(c)},
    {"x and w are read from the first group's channels", false, ROW(c* z.Cog + co % z.Cog), ROW(c)},
    {"x is read from the first group's channels", false, ROW((g * z.Cig + c) * z.Cog + co % z.Cog), ROW(c)},
    {"w is read from the first group's channels", false, ROW(c* z.Cog + co % z.Cog), ROW(g* z.Cig + c)},
    {"the weight's row is of co where co mod (Cout/groups) belongs", false, ROW((g * z.Cig + c) * z.Cog + co),
     ROW(g* z.Cig + c)},
    {"input channels are dealt to groups in turn, ci = c·groups + g, where g·(Cin/groups) + c belongs", false,
     ROW((c * z.G + g) * z.Cog + co % z.Cog), ROW(c* z.G + g)},
    {"input channels of x are dealt to groups in turn, ci = c·groups + g, where g·(Cin/groups) + c belongs", false,
     ROW((g * z.Cig + c) * z.Cog + co % z.Cog), ROW(c* z.G + g)},
    {"the group is co mod groups where co/(Cout/groups) belongs", false,
     ROW((co % z.G * z.Cig + c) * z.Cog + co % z.Cog), ROW(co % z.G * z.Cig + c)},
    {"the group is co mod groups where co/(Cout/groups) belongs", false,
     ROW((co % z.G * z.Cig + c) * z.Cog + co - co % z.G * z.Cog), ROW(co % z.G * z.Cig + c)},
    {"the group is co mod groups where co/(Cout/groups) belongs", false, ROW((co % z.G * z.Cig + c) * z.Cog + co / z.G),
     ROW(co % z.G * z.Cig + c)},
    {"the group is co/(Cin/groups) where co/(Cout/groups) belongs", false,
     ROW((co / z.Cig * z.Cig + c) * z.Cog + co - co / z.Cig * z.Cog), ROW(co / z.Cig * z.Cig + c)},
    {"the group is co/(Cin/groups) where co/(Cout/groups) belongs", false,
     ROW((co / z.Cig * z.Cig + c) * z.Cog + co % z.Cog), ROW(co / z.Cig * z.Cig + c)},
    {"groups are taken in reverse order", false, ROW(((z.G - 1 - g) * z.Cig + c) * z.Cog + co % z.Cog),
     ROW((z.G - 1 - g) * z.Cig + c)},
    {"the first input channel of a group is left out", false, ROW(c == 0 ? -1 : (g * z.Cig + c) * z.Cog + co % z.Cog),
     ROW(g* z.Cig + c)},
    {last_channel_left_out, false, ROW(c == z.Cig - 1 ? -1 : (g * z.Cig + c) * z.Cog + co % z.Cog), ROW(g* z.Cig + c)},
    {"the next output channel's weights are taken", false, ROW((g * z.Cig + c) * z.Cog + (co % z.Cog + 1) % z.Cog),
     ROW(g* z.Cig + c)},
};

Channels channels_by(const ChannelRule& rule, const Sizes& z) {
  Channels all;
  for (int64_t co = 0; co < z.Cout; co++)
    for (int64_t c = 0; c < (rule.all ? z.Cin : z.Cig); c++) {
      const int64_t g = co / z.Cog, row = rule.row(z, c, g, co), channel = rule.channel(z, c, g, co);
      if (row >= 0 && row < z.Cin * z.Cog && channel < z.Cin) all[{co, row / z.Cog, row % z.Cog}] = channel;
    }
  return all;
}

std::optional<std::string> fault_of(const Channels& seen, const Sizes& z, bool& sized) {
  for (const auto& rule : channel_rules)
    if (channels_by(rule, z) == seen) return rule.fault;
  // Some of the channels that belong, the same for every output channel.
  std::set<int64_t> summed;
  for (const auto& [key, ci] : seen) summed.insert(ci % z.Cig);
  const Channels all = channels_by(channel_rules[0], z);
  Channels some;
  for (const auto& [key, ci] : all)
    if (summed.contains(ci % z.Cig)) some[key] = ci;
  if (some != seen) return {};
  if (summed == std::set<int64_t>{z.Cig - 1}) return only_the_last_channel;
  sized = true;
  return fmt::format("only input channels {} of {}{} are summed", ranges({summed.begin(), summed.end()}),
                     z.G > 1 ? "a group's " : "", z.Cig);
}

// A factor by which sums are divided, where it is one of the sizes.
std::string divided_words(double times, const ConvProblem& p) {
  const auto K = static_cast<double>(p.kernel_size), inputs = static_cast<double>(p.in_per_group());
  std::string all;
  for (const auto& [by, name] : {std::pair{K, "K"},
                                 {inputs, "the number of input channels"},
                                 {K * inputs, "K times the number of input channels"},
                                 {static_cast<double>(p.stride), "s"}})
    if (by > 1 && std::fabs(times * by - 1) <= a_little)
      all += fmt::format("{}{}", all.empty() ? "sums are divided by " : " or ", name);  // as large here
  return all;
}

// The factor of products that are counted otherwise than once: of all, or of which taps.
std::string fault_of_factors(const TapMap& t) {
  std::map<int64_t, float> of_tap;
  bool of_taps = true;
  for (int64_t k = 0; k < t.problem.kernel_size; k++)
    for (int64_t j = 0; j < t.positions; j++) {
      if (t.at(k, j) == IndexMap::none) continue;
      const float times = t.times[static_cast<size_t>(k * t.positions + j)];
      of_taps &= std::fabs(of_tap.try_emplace(k, times).first->second - times) <= a_little;
    }
  std::string odd;
  bool all_alike = true;
  for (const auto& [k, times] : of_tap) {
    all_alike &= std::fabs(times - of_tap.begin()->second) <= a_little;
    if (std::fabs(times - 1) > a_little) odd += fmt::format("{}{}", odd.empty() ? "" : ", ", k);
  }
  if (!of_taps) return "products count otherwise than once";
  if (odd.empty()) return "";
  const float times = of_tap.begin()->second;
  if (all_alike)
    if (std::string divided = divided_words(times, t.problem); !divided.empty()) return divided;
  if (all_alike)
    return times == -1 ? "products are taken off where they are to be added"
                       : fmt::format("each product counts {:.4g} times", times);
  return fmt::format("products of tap k = {} do not count once", odd);
}

// sized: what it says is of this problem alone.
std::vector<std::string> faults_of_bias(const IndexMap& m, const TapMap& taps, const Order& y, bool& sized) {
  if (m.biases.empty()) return {};
  const Sizes z(m);
  struct Rule {
    const char* fault;
    int64_t (*channel)(const Sizes& z, int64_t co, int64_t j);
    double (*times)(const Sizes& z, int64_t landing);
  };
  using I = int64_t;
  constexpr Rule rules[] = {
      {"", [](const Sizes&, I co, I) { return co; }, [](const Sizes&, I) { return 1.0; }},
      {"the bias is missing", [](const Sizes&, I, I) { return I{-1}; }, [](const Sizes&, I) { return 0.0; }},
      {"the bias is added twice", [](const Sizes&, I co, I) { return co; }, [](const Sizes&, I) { return 2.0; }},
      {"the bias is taken off", [](const Sizes&, I co, I) { return co; }, [](const Sizes&, I) { return -1.0; }},
      {"the bias is missing where a tap lands", [](const Sizes&, I co, I) { return co; },
       [](const Sizes&, I landing) { return landing ? 0.0 : 1.0; }},
      {"the bias is missing where no tap lands", [](const Sizes&, I co, I) { return co; },
       [](const Sizes&, I landing) { return landing ? 1.0 : 0.0; }},
      {"the bias is divided by K", [](const Sizes&, I co, I) { return co; },
       [](const Sizes& z, I) { return 1.0 / static_cast<double>(z.K); }},
      {"the bias is divided by s", [](const Sizes&, I co, I) { return co; },
       [](const Sizes& z, I) { return 1.0 / static_cast<double>(z.stride); }},
      {"the bias is divided by the number of input channels", [](const Sizes&, I co, I) { return co; },
       [](const Sizes& z, I) { return 1.0 / static_cast<double>(z.Cig); }},
      {"the bias is added once for each tap that lands", [](const Sizes&, I co, I) { return co; },
       [](const Sizes&, I landing) { return static_cast<double>(landing); }},
      {"the bias is added once for each tap", [](const Sizes&, I co, I) { return co; },
       [](const Sizes& z, I) { return static_cast<double>(z.K); }},
      {"the bias is added once for each input channel", [](const Sizes&, I co, I) { return co; },
       [](const Sizes& z, I) { return static_cast<double>(z.Cig); }},
      {"the bias is added once for each input channel and tap that lands", [](const Sizes&, I co, I) { return co; },
       [](const Sizes& z, I landing) { return static_cast<double>(z.Cig * landing); }},
      {"the bias is b[co mod (Cout/groups)] where b[co] belongs", [](const Sizes& z, I co, I) { return co % z.Cog; },
       [](const Sizes&, I) { return 1.0; }},
      {"the bias is taken by position, b[j mod Cout], where b[co] belongs",
       [](const Sizes& z, I, I j) { return j % z.Cout; }, [](const Sizes&, I) { return 1.0; }},
      {"the bias is taken by the flat index e, b[e mod Cout], where b[co] belongs",
       [](const Sizes& z, I co, I j) { return (co * z.J + j) % z.Cout; }, [](const Sizes&, I) { return 1.0; }},
      {"the bias is the next channel's", [](const Sizes& z, I co, I) { return (co + 1) % z.Cout; },
       [](const Sizes&, I) { return 1.0; }},
      {"the bias is the previous channel's", [](const Sizes& z, I co, I) { return (co + z.Cout - 1) % z.Cout; },
       [](const Sizes&, I) { return 1.0; }},
      {"the bias is b[Cout − 1 − co] where b[co] belongs", [](const Sizes& z, I co, I) { return z.Cout - 1 - co; },
       [](const Sizes&, I) { return 1.0; }},
      {"the bias is b[co ^ 1] where b[co] belongs", [](const Sizes&, I co, I) { return co ^ 1; },
       [](const Sizes&, I) { return 1.0; }},
      {"the bias is the first channel's everywhere", [](const Sizes&, I, I) { return I{0}; },
       [](const Sizes&, I) { return 1.0; }},
  };
  std::vector<int64_t> landing(static_cast<size_t>(z.J), 0);
  for (int64_t k = 0; k < z.K; k++)
    for (int64_t j = 0; j < z.J; j++) landing[static_cast<size_t>(j)] += taps.at(k, j) != IndexMap::none;
  std::vector<std::string> all;
  for (const auto& rule : rules) {
    bool fits = true;
    for (int64_t o = 0; o < m.outputs() && fits; o++) {
      const auto [n, co, j] = from_flat(o, {z.N, z.Cout, z.J}, y);
      const double times = rule.times(z, landing[static_cast<size_t>(j)]);
      const int64_t channel = rule.channel(z, co, j);
      const Read& r = m.biases[static_cast<size_t>(o)];
      fits = times == 0 || channel >= z.Cout  // nothing lies behind b here
                 ? r.at == IndexMap::none
                 : r.at == channel && std::fabs(r.times - times) <= a_little * std::fabs(times);
    }
    if (fits) all.push_back(rule.fault);
  }
  // By as many as add it to their part of a sum.
  const float first = m.biases.empty() ? 0 : m.biases.front().times;
  bool each = first > 2 && first == std::floor(first);
  for (int64_t o = 0; o < m.outputs() && each; o++) {
    const Read& r = m.biases[static_cast<size_t>(o)];
    const auto [n, co, j] = from_flat(o, {z.N, z.Cout, z.J}, y);
    each = r.at == co && r.times == first;
  }
  if (each) all.push_back(fmt::format("the bias is added {:g} times", first));
  for (int64_t o = 0; o < m.outputs() && all.empty(); o++) {
    const auto [n, co, j] = from_flat(o, {z.N, z.Cout, z.J}, y);
    const Read& r = m.biases[static_cast<size_t>(o)];
    if (r.at == co && std::fabs(r.times - 1) <= a_little) continue;
    const std::string place = fmt::format("y[{}, {}, {}]", n, co, j);
    all.push_back(r.at < 0 ? fmt::format("the bias is not b[co], taken once: {} has none, or several", place)
                           : fmt::format("the bias is another one than b[co]: {} has b[{}]", place, r.at));
    sized = true;
  }
  return all;
}

// As of a convolution's weights: [Cout, Cin/groups, K].
constexpr const char* of_convolution =
    "w is read as a convolution's, [Cout, Cin/groups, K], and it is [Cin, Cout/groups, K]";
bool reads_as_convolution(const Channels& seen, const Sizes& z) {
  Channels right;
  for (int64_t co = 0; co < z.Cout; co++)
    for (int64_t c = 0; c < z.Cig; c++) right[{co, co, c}] = co / z.Cog * z.Cig + c;
  return seen == right;
}

// layout: what is wrong with w's, when its channels are not looked at beyond that.
std::optional<Structure> in_words(const IndexMap& m, const Taken& t, const char* layout, const Order& w, const Order& x,
                                  const Order& y) {
  const Sizes z(m);
  Structure s;
  s.taps = t.taps;
  auto add = [&](const std::string& fault) {
    if (!fault.empty()) s.faults.push_back(fault);
  };
  for (const char* text : {layout, w.text, x.text, y.text}) add(text);
  if (!*layout) {
    auto channels = fault_of(t.channels, z, s.sized);
    if (!channels) return {};
    add(*channels);
  }
  bool first_only = z.N > 1, own = true;
  for (int64_t n = 0; n < z.N; n++) {
    const int64_t from = t.sequences[static_cast<size_t>(n)];
    first_only &= from == 0, own &= from == n;
  }
  if (!own) {
    if (!first_only) return {};
    add("every sequence reads the first one's x");
  }
  add(fault_of_factors(t.taps));
  s.biases = faults_of_bias(m, t.taps, y, s.sized);
  if (!s.biases.empty()) add(s.biases.front());
  return s;
}

// A kernel that goes on beside a row of x reads the rows that lie there, and nothing beyond the first and the last of
// them: the same taps for all once indices are counted from the row that belongs.
std::optional<Structure> beside_rows(const IndexMap& m, const ChannelRule& rule) {
  const Sizes z(m);
  const Channels channels = channels_by(rule, z);
  Structure s;
  s.taps.problem = m.problem, s.taps.positions = z.J;
  const auto cells = static_cast<size_t>(z.K * z.J);
  s.taps.i.assign(cells, IndexMap::none), s.taps.times.assign(cells, 0);
  // f(read, first of its row, cell): of all that belong together; false where others bring something.
  auto each = [&](auto f) {
    for (int64_t e = 0; e < m.problem.w_elements(); e++) {
      const int64_t a = e / (z.Cog * z.K), b = e / z.K % z.Cog, k = e % z.K;
      for (int64_t o = 0; o < m.outputs(); o++) {
        const int64_t n = o / (z.Cout * z.J), co = o / z.J % z.Cout, j = o % z.J;
        const Read& r = m.read(e, o);
        const auto channel = channels.find({co, a, b});
        const bool fits = channel == channels.end()
                              ? r.at == IndexMap::none
                              : f(r, (n * z.Cin + channel->second) * z.L, static_cast<size_t>(k * z.J + j));
        if (!fits || r.at == IndexMap::unclear) return false;
      }
    }
    return true;
  };
  bool beside = false;
  const bool alike = each([&](const Read& r, int64_t row, size_t cell) {
    if (r.at == IndexMap::none) return true;
    const auto i = static_cast<int32_t>(r.at - row);
    beside |= i < 0 || i >= z.L;
    if (s.taps.i[cell] == IndexMap::none) s.taps.i[cell] = i, s.taps.times[cell] = r.times;
    return s.taps.i[cell] == i && std::fabs(s.taps.times[cell] - r.times) <= a_little;
  });
  if (!alike || !beside) return {};
  const bool everywhere = each([&](const Read& r, int64_t row, size_t cell) {
    const int64_t i = s.taps.i[cell], at = row + i;
    return (r.at != IndexMap::none) == (i != IndexMap::none && at >= 0 && at < m.problem.x_elements());
  });
  if (!everywhere) return {};
  s.biases = faults_of_bias(m, s.taps, of_y[0], s.sized);
  for (const auto& fault :
       {std::string(rule.fault), fault_of_factors(s.taps), s.biases.empty() ? std::string() : s.biases.front()})
    if (!fault.empty()) s.faults.push_back(fault);
  return s;
}
TapMap right_taps(const IndexMap& m) {
  TapMap t;
  t.problem = m.problem, t.positions = m.out_length;
  for (int64_t k = 0; k < m.problem.kernel_size; k++)
    for (int64_t j = 0; j < m.out_length; j++)
      t.i.push_back(static_cast<int32_t>(input_of({}, m.problem, k, j))), t.times.push_back(1);
  return t;
}

// What belongs through a weight to an output: the flat input, or none.
int64_t definition(const Sizes& z, const ConvProblem& p, int64_t weight, int64_t output) {
  return flat_input(p, weight, output / (z.Cout * z.J), output / z.J % z.Cout, output % z.J);
}

// Outputs that no launch wrote, or that are no numbers whatever the inputs are.
std::vector<int64_t> without_number(const IndexMap& m) {
  auto nothing = [](const Read& r) { return r.at == IndexMap::unclear && !std::isfinite(r.times); };
  std::vector<int64_t> all;
  for (int64_t o = 0; o < m.outputs(); o++) {
    bool none = m.biases.empty() || nothing(m.biases[static_cast<size_t>(o)]);
    for (int64_t e = 0; e < m.problem.w_elements() && none; e++) none = nothing(m.read(e, o));
    if (none) all.push_back(o);
  }
  return all;
}

std::optional<Structure> structure_of_written(const IndexMap& m);

// What was not written, or is no number, is taken to be right: the others say what the index is.
std::optional<Structure> structure_of_numbers(const IndexMap& m) {
  const std::vector<int64_t> missing = without_number(m);
  const Sizes z(m);
  if (missing.empty() || static_cast<int64_t>(missing.size()) == m.outputs()) return structure_of_written(m);
  IndexMap filled = m;
  for (const int64_t o : missing) {
    for (int64_t e = 0; e < m.problem.w_elements(); e++) {
      const int64_t at = definition(z, m.problem, e, o);
      filled.reads[static_cast<size_t>(e * m.outputs() + o)] = {static_cast<int32_t>(at), at >= 0 ? 1.0f : 0.0f};
    }
    if (!m.biases.empty()) filled.biases[static_cast<size_t>(o)] = {static_cast<int32_t>(o / z.J % z.Cout), 1};
  }
  auto s = structure_of_written(filled);
  const bool written =
      std::any_of(missing.begin(), missing.end(), [&](int64_t o) { return std::isnan(m.read(0, o).times); });
  if (s) s->faults.push_back(outputs_in_words(m, missing, written ? no_number : never_written, s->sized));
  return s;
}

}  // namespace

std::optional<Structure> structure_of(const IndexMap& m) {
  if (const std::string places = wrong_places(m); !places.empty()) return Structure{right_taps(m), {places}, false};
  auto s = structure_of_numbers(m);
  if (!s) return s;
  auto tell = [&](const std::vector<int64_t>& outputs, const OutputWords& words) {
    if (outputs.empty()) return;
    s->faults.push_back(static_cast<int64_t>(outputs.size()) == m.outputs()
                            ? fmt::format("sums {}", words.are)
                            : outputs_in_words(m, outputs, words, s->sized));
  };
  tell(m.added, added_to), tell(m.unset, of_unset);
  return s;
}

namespace {

std::optional<Structure> structure_of_written(const IndexMap& m) {
  const Sizes z(m);
  auto with = [&](const Order& w, const Order& x, const Order& y) -> std::optional<Structure> {
    auto taken = take(m, w, {z.Cin, z.Cog, z.K}, x, y);
    return taken && !taken->channels.empty() ? in_words(m, *taken, "", w, x, y) : std::nullopt;
  };
  if (auto s = with(of_w[0], of_x[0], of_y[0])) return s;
  if (auto taken = take(m, of_w[0], {z.Cout, z.Cig, z.K}, of_x[0], of_y[0]))
    if (reads_as_convolution(taken->channels, z)) return in_words(m, *taken, of_convolution, of_w[0], of_x[0], of_y[0]);
  for (const Order& w : of_w)
    if (auto s = with(w, of_x[0], of_y[0])) return s;
  for (const Order& x : of_x)
    if (auto s = with(of_w[0], x, of_y[0])) return s;
  for (const Order& y : of_y)
    if (auto s = with(of_w[0], of_x[0], y)) return s;
  if (const RowFault rows = wrong_rows(m); !rows.what.empty())
    return Structure{right_taps(m), {rows.what}, rows.sized, true};
  for (const auto& rule : channel_rules)
    if (auto s = beside_rows(m, rule)) return s;
  if (const RowFault sums = wrong_sums(m); !sums.what.empty())
    return Structure{right_taps(m), {sums.what}, sums.sized, true};
  return {};
}

}  // namespace

std::string first_deviation(const IndexMap& m) {
  const Sizes z(m);
  auto y = [&](int64_t o) { return fmt::format("y[{}, {}, {}]", o / (z.Cout * z.J), o / z.J % z.Cout, o % z.J); };
  auto product = [&](int64_t e, int64_t x) {
    return fmt::format("x[{}, {}, {}]·w[{}, {}, {}]", x / (z.Cin * z.L), x / z.L % z.Cin, x % z.L, e / (z.Cog * z.K),
                       e / z.K % z.Cog, e % z.K);
  };
  if (!m.unset.empty()) return fmt::format("{} {}", y(m.unset.front()), of_unset.is);
  for (int64_t o = 0; o < m.outputs(); o++)
    for (int64_t e = 0; e < m.problem.w_elements(); e++) {
      const Read& r = m.read(e, o);
      const int64_t right = definition(z, m.problem, e, o);
      if (r.unwritten()) return y(o) + " is never written";
      if (r.at == IndexMap::unclear && std::isnan(r.times)) return y(o) + " is no number";
      if (r.at == IndexMap::unclear)
        return fmt::format("{} takes something else than one input through w[{}, {}, {}]", y(o), e / (z.Cog * z.K),
                           e / z.K % z.Cog, e % z.K);
      if (r.at == right) {
        if (r.at != IndexMap::none && std::fabs(r.times - 1) > a_little)
          return fmt::format("{} takes {} {:.4g} times", y(o), product(e, right), r.times);
        continue;
      }
      if (right == IndexMap::none)
        return fmt::format("{} takes {}, which does not belong there", y(o), product(e, r.at));
      if (r.at == IndexMap::none) return fmt::format("{} lacks {}", y(o), product(e, right));
      return fmt::format("{} takes {} where {} belongs", y(o), product(e, r.at), product(e, right));
    }
  for (size_t o = 0; o < m.biases.size(); o++) {
    const Read& r = m.biases[o];
    const int64_t co = static_cast<int64_t>(o) / z.J % z.Cout;
    if (r.at == co && std::fabs(r.times - 1) <= a_little) continue;
    return r.at == IndexMap::none ? fmt::format("{} lacks its bias", y(static_cast<int64_t>(o)))
                                  : fmt::format("{} has another bias than b[{}] once", y(static_cast<int64_t>(o)), co);
  }
  if (!m.added.empty()) return fmt::format("{} {}", y(m.added.front()), added_to.is);
  return "";
}

}  // namespace convscope
