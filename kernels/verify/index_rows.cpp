#include "kernels/verify/index_rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kernels/verify/index_formula.h"
#include "kernels/verify/map_sizes.h"
#include "kernels/verify/pattern_values.h"

namespace convscope {
namespace {

using Read = IndexMap::Read;
bool is_once(float times) { return std::fabs(times - 1) <= 1e-3f; }  // nearer ones are roundings

// A map with its sizes, and what belongs into it.
struct RowMap : MapSizes {
  const IndexMap& m;
  explicit RowMap(const IndexMap& map) : MapSizes(map), m(map) {}

  // The flat input that belongs through a weight to an output, or IndexMap::none.
  int64_t right(int64_t e, int64_t o) const { return flat_input(m.problem, e, o / (Cout * J), o / J % Cout, o % J); }
  // Every output has its own bias, once.
  bool biases_right() const {
    for (size_t o = 0; o < m.biases.size(); o++)
      if (m.biases[o].at != static_cast<int64_t>(o) / J % Cout || !is_once(m.biases[o].times)) return false;
    return true;
  }
  // f(weight, output, read) of every place.
  bool all(const std::function<bool(int64_t, int64_t, const Read&)>& f) const {
    for (int64_t e = 0; e < m.problem.w_elements(); e++)
      for (int64_t o = 0; o < m.outputs(); o++)
        if (!f(e, o, m.read(e, o))) return false;
    return true;
  }
  // Whether each product's input is the one that this makes of (sequence, channel, position); nothing lies behind x.
  bool inputs_by(const std::function<int64_t(int64_t, int64_t, int64_t)>& place) const {
    return all([&](int64_t e, int64_t o, const Read& r) {
      int64_t at = right(e, o);
      if (at >= 0) at = place(at / (Cin * L), at / L % Cin, at % L);
      if (at >= m.problem.x_elements()) at = IndexMap::none;
      return r.at == at && (at < 0 || is_once(r.times));
    });
  }
};

// Where the inputs of a channel begin: by the first product that has one.
std::optional<int64_t> begin_of(const RowMap& z, int64_t n, int64_t channel) {
  std::optional<int64_t> begin;
  z.all([&](int64_t e, int64_t o, const Read& r) {
    const int64_t at = z.right(e, o);
    if (at < 0 || r.at < 0 || at / (z.Cin * z.L) != n || at / z.L % z.Cin != channel) return true;
    begin = r.at - at % z.L;
    return false;
  });
  return begin;
}

// Rows of x, as far apart as a number says.
std::string number_of_x(const RowMap& z) {
  const int64_t row = z.Cin > 1 ? begin_of(z, 0, 1).value_or(0) : z.L,
                // The second sequence may lie behind the end of x as a whole.
      sequence = z.N > 1 ? begin_of(z, 1, 0).value_or(z.Cin * row) : z.Cin * row;
  if (row < 1 || sequence < 1 || (row == z.L && sequence == z.Cin * z.L)) return "";
  if (!z.inputs_by([&](int64_t n, int64_t ci, int64_t i) { return n * sequence + ci * row + i; })) return "";
  std::string text;
  if (row != z.L) text = fmt::format("rows of x are taken to be {} apart, and they are L apart", row);
  if (sequence == z.Cin * row) return text;
  return text + (text.empty() ? "" : ", and ") +
         (sequence % row == 0
              ? fmt::format("sequences of x are taken to be {} rows apart, and they are Cin rows apart", sequence / row)
              : fmt::format("sequences of x are taken to be {} apart, and they are Cin·L apart", sequence));
}

// Rows of w, one for each pair of channels: taps from the pitch on would be the next row's, and are not taken.
std::string number_of_w(const RowMap& z) {
  const int64_t weights = z.m.problem.w_elements();
  for (int64_t row = 1; row <= 4 * z.K; row++) {
    if (row == z.K) continue;
    const int64_t taps = std::min(row, z.K);
    std::vector<int64_t> takes(static_cast<size_t>(weights), -1);  // the weight that each is taken for
    for (int64_t e = 0; e < weights; e++)
      if (const int64_t at = e / z.K * row + e % z.K; e % z.K < taps && at < weights)
        takes[static_cast<size_t>(at)] = e;
    if (z.all([&](int64_t e, int64_t o, const Read& r) {
          const int64_t meant = takes[static_cast<size_t>(e)];
          const int64_t at = meant >= 0 ? z.right(meant, o) : int64_t{IndexMap::none};
          return r.at == at && (at < 0 || is_once(r.times));
        }))
      return taps < z.K ? fmt::format(
                              "rows of w are taken to be {} apart, and they are K apart: taps from k = {} on are left "
                              "out",
                              row, taps)
                        : fmt::format("rows of w are taken to be {} apart, and they are K apart", row);
  }
  return "";
}

std::string channels_twice(const RowMap& z) {
  std::map<int64_t, float> times;  // by input channel
  if (!z.all([&](int64_t e, int64_t o, const Read& r) {
        if (r.at != z.right(e, o)) return false;
        return r.at < 0 || is_once(r.times / times.try_emplace(e / (z.Cog * z.K), r.times).first->second);
      }))
    return "";
  std::vector<int64_t> often;
  float first = 0;
  for (const auto& [channel, how] : times)
    if (!is_once(how)) {
      if (often.empty()) first = how;
      if (!is_once(how / first)) return "";
      often.push_back(channel);
    }
  if (often.empty() || often.size() == times.size()) return "";
  return fmt::format("input channel{} {} of {} {} {}", often.size() > 1 ? "s" : "", ranges(often), z.Cin,
                     often.size() > 1 ? "count" : "counts",
                     is_once(first / 2) ? "twice" : fmt::format("{:.4g} times", first));
}

// Products are counted through, as a loop over channels and taps does: the same are missing from every sum.
std::string products_left_out(const RowMap& z) {
  std::set<std::pair<int64_t, int64_t>> lost, kept;  // channel of the group, tap
  if (!z.all([&](int64_t e, int64_t o, const Read& r) {
        const int64_t at = z.right(e, o);
        if (at < 0) return r.at == IndexMap::none;
        (r.at == IndexMap::none ? lost : kept).insert({e / (z.Cog * z.K) % z.Cig, e % z.K});
        return r.at == IndexMap::none || (r.at == at && is_once(r.times));
      }))
    return "";
  std::vector<int64_t> by_channel, by_tap;
  for (const auto& [c, k] : lost) {
    if (kept.contains({c, k})) return "";
    by_channel.push_back(c * z.K + k), by_tap.push_back(k * z.Cig + c);
  }
  std::sort(by_tap.begin(), by_tap.end());
  auto pieces = [](const std::vector<int64_t>& all) {
    size_t count = 1;
    for (size_t i = 1; i < all.size(); i++) count += all[i] != all[i - 1] + 1;
    return count;
  };
  if (kept.empty() || lost.empty()) return "";
  std::vector<int64_t> taps;
  for (int64_t k = 0; k < z.K; k++) {
    auto of_tap = [&](const auto& at) { return at.second == k; };
    if (std::any_of(lost.begin(), lost.end(), of_tap) && std::none_of(kept.begin(), kept.end(), of_tap))
      taps.push_back(k);
  }
  if (std::all_of(lost.begin(), lost.end(),
                  [&](const auto& at) { return std::count(taps.begin(), taps.end(), at.second); }))
    return fmt::format("tap{} k = {} of {} {} left out", taps.size() > 1 ? "s" : "", ranges(taps), z.K,
                       taps.size() > 1 ? "are" : "is");
  constexpr size_t most_pieces = 3;
  const char* channels = z.Cig == z.Cin ? "Cin" : "Cin/groups";
  auto in_words = [&](bool taps_outside) -> std::string {
    const auto& all = taps_outside ? by_tap : by_channel;
    auto named = [](const std::vector<int64_t>& of) {
      return fmt::format("number{} {}", of.size() > 1 ? "s" : "", ranges(of));
    };
    std::string which;
    if (pieces(all) <= most_pieces) which = named(all) + (all.size() > 1 ? " are left out" : " is left out");
    // Again and again, as where a reduction ends too early.
    for (int64_t every = 2; every <= z.Cig * z.K / 2 && which.empty(); every++) {
      std::set<int64_t> rest;
      for (const int64_t r : all) rest.insert(r % every);
      const bool alone = std::none_of(kept.begin(), kept.end(), [&](const auto& at) {
        return rest.contains((taps_outside ? at.second * z.Cig + at.first : at.first * z.K + at.second) % every);
      });
      if (alone)
        which = fmt::format("{} of every {} {} left out", named({rest.begin(), rest.end()}), every,
                            rest.size() > 1 ? "are" : "is");
    }
    if (which.empty()) return "";
    return fmt::format("of the {}·K = {} products of a sum, counted by {}, {}", channels, z.Cig * z.K,
                       taps_outside ? fmt::format("k·{} + c", channels) : "c·K + k", which);
  };
  const bool by_taps = pieces(by_tap) < pieces(by_channel) && pieces(by_tap) <= most_pieces;
  std::string told = in_words(by_taps);
  return told.empty() ? in_words(!by_taps) : told;
}

// Rows of x that are taken to lie where others do: the flat input of a product.
struct RowRule {
  const char* fault;
  int64_t (*flat)(const RowMap& z, int64_t n, int64_t ci, int64_t i);
};
constexpr RowRule row_rules[] = {
    {"sequences of x are taken to be Cout rows apart, and they are Cin rows apart",
     [](const RowMap& z, int64_t n, int64_t ci, int64_t i) { return (n * z.Cout + ci) * z.L + i; }},
    {"sequences of x are taken to be Cin/groups rows apart, and they are Cin rows apart",
     [](const RowMap& z, int64_t n, int64_t ci, int64_t i) { return (n * z.Cig + ci) * z.L + i; }},
    {"rows of x are taken to be Lout apart, and they are L apart",
     [](const RowMap& z, int64_t n, int64_t ci, int64_t i) { return (n * z.Cin + ci) * z.J + i; }},
    {"rows of x are taken to be L − 1 apart, and they are L apart",
     [](const RowMap& z, int64_t n, int64_t ci, int64_t i) { return (n * z.Cin + ci) * (z.L - 1) + i; }},
    {"sequences of x are taken to be Cin·(L − 1) apart, and they are Cin·L apart",
     [](const RowMap& z, int64_t n, int64_t ci, int64_t i) { return n * z.Cin * (z.L - 1) + ci * z.L + i; }},
};

}  // namespace

RowFault wrong_rows(const IndexMap& m) {
  const RowMap z(m);
  for (const auto& rule : row_rules)
    if (z.inputs_by([&](int64_t n, int64_t ci, int64_t i) { return rule.flat(z, n, ci, i); })) return {rule.fault};
  if (!z.biases_right()) return {};
  if (std::string x = number_of_x(z); !x.empty()) return {x};
  return {number_of_w(z)};
}

RowFault wrong_sums(const IndexMap& m) {
  const RowMap z(m);
  if (!z.biases_right()) return {};
  if (std::string twice = channels_twice(z); !twice.empty()) return {twice, true};
  return {products_left_out(z), true};
}

namespace {

// Positions of every so many that hold what belongs to others of them: from[r] at the r-th.
struct Exchange {
  int64_t every = 0;
  std::vector<int64_t> from;
};

bool holds(const RowMap& z, int64_t j, int64_t other) {
  return z.all([&](int64_t e, int64_t o, const Read& r) {
    if (o % z.J != j) return true;
    const int64_t at = z.right(e, o - j + other);
    return r.at == at && (at < 0 || is_once(r.times));
  });
}

std::optional<Exchange> exchange_of(const RowMap& z) {
  std::map<std::pair<int64_t, int64_t>, bool> known;
  auto held = [&](int64_t j, int64_t other) {
    auto [it, is_new] = known.try_emplace({j, other}, false);
    if (is_new) it->second = holds(z, j, other);
    return it->second;
  };
  for (int64_t every = 2; every <= std::min<int64_t>(z.J / 2, 8); every++) {
    Exchange x{every, {}};
    for (int64_t r = 0; r < every; r++)
      for (int64_t turn = 0; turn < every; turn++) {
        const int64_t q = (r + turn) % every;  // its own first
        bool fits = true;
        for (int64_t block = 0; (block + 1) * every <= z.J && fits; block++)
          fits = held(block * every + r, block * every + q);
        if (!fits) continue;
        x.from.push_back(q);
        break;
      }
    if (static_cast<int64_t>(x.from.size()) == every) return x;
  }
  return {};
}

bool exchanged_by(const Exchange& x, const RowMap& z) {
  for (int64_t j = 0; j < z.J; j++)
    if (const int64_t other = j - j % x.every + x.from[static_cast<size_t>(j % x.every)]; other < z.J)
      if (!holds(z, j, other)) return false;
  return z.biases_right();
}

}  // namespace

std::string wrong_positions(const std::vector<const IndexMap*>& maps) {
  for (const IndexMap* m : maps) {
    const auto x = exchange_of(RowMap(*m));
    if (!x) continue;
    std::string moved;
    for (int64_t r = 0; r < x->every; r++)
      if (const int64_t q = x->from[static_cast<size_t>(r)]; q != r)
        moved += fmt::format("{}{} holds what belongs at {}", moved.empty() ? "" : ", ", r, q);
    const bool all =
        std::all_of(maps.begin(), maps.end(), [&](const IndexMap* a) { return exchanged_by(*x, RowMap(*a)); });
    if (!moved.empty() && all) return fmt::format("of every {} positions, {}", x->every, moved);
  }
  return "";
}

}  // namespace convscope
