// Arrays of the kernel's own that are written in one order of their dimensions and read in another.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <vector>

#include "kernels/verify/index_terms.h"

namespace convscope {
namespace {

using Four = std::array<int64_t, 4>;
using Order = std::array<int, 4>;  // [0]: outermost

int64_t flat(const Four& at, const Four& size, const Order& o) {
  int64_t e = 0;
  for (const int dim : o) e = e * size[static_cast<size_t>(dim)] + at[static_cast<size_t>(dim)];
  return e;
}
Four from_flat(int64_t e, const Four& size, const Order& o) {
  Four at{};
  for (size_t d = o.size(); d-- > 0;) {
    const auto dim = static_cast<size_t>(o[d]);
    at[dim] = e % size[dim], e /= size[dim];
  }
  return at;
}

// The simplest first: those whose dimensions stand as they are named, and of others those that move fewest.
std::vector<Order> orders() {
  std::vector<Order> all;
  Order o{0, 1, 2, 3};
  do all.push_back(o);
  while (std::next_permutation(o.begin(), o.end()));
  auto moved = [](const Order& a) {
    int count = 0;
    for (int d = 0; d < 4; d++) count += a[static_cast<size_t>(d)] != d;
    return count;
  };
  std::stable_sort(all.begin(), all.end(), [&](const Order& a, const Order& b) { return moved(a) < moved(b); });
  return all;
}

std::string words_of(const Order& o, const std::array<const char*, 4>& names) {
  std::string text;
  for (const int dim : o) text += (text.empty() ? "" : ", ") + std::string(names[static_cast<size_t>(dim)]);
  return "[" + text + "]";
}

// One sum over the input channels for each output channel, tap and input: W·x, before it is folded.
constexpr std::array<const char*, 4> columns{"N", "Cout", "K", "L"};
Products of_columns(const TermMap& z, const Order& written, const Order& read) {
  return [&z, written, read](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
    const Four size{z.N, z.Cout, z.K, z.L};
    z.each_tap(j, [&](int64_t k, int64_t i) {
      const auto [m, channel, tap, at] = from_flat(flat({n, co, k, i}, size, read), size, written);
      for (int64_t ci = z.first_of(channel); ci < z.first_of(channel) + z.Cig; ci++)
        add(z.x_at(m, ci, at), z.w_at(ci, channel, tap));
    });
  };
}

// A part of each output's sum, of some of its input channels or taps.
constexpr std::array<const char*, 4> part_names{"N", "parts", "Cout", "Lout"};
enum class Part { channels, channels_in_turn, taps, taps_in_turn };
constexpr Part kinds_of_parts[] = {Part::channels, Part::channels_in_turn, Part::taps, Part::taps_in_turn};
Products of_parts(const TermMap& z, Part kind, int64_t parts, const Order& written, const Order& read) {
  return [&z, kind, parts, written, read](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
    const Four size{z.N, parts, z.Cout, z.J};
    const bool of_channels = kind == Part::channels || kind == Part::channels_in_turn;
    const bool in_turn = kind == Part::channels_in_turn || kind == Part::taps_in_turn;
    const int64_t chunk = ((of_channels ? z.Cig : z.K) + parts - 1) / parts;
    for (int64_t part = 0; part < parts; part++) {
      const auto [m, taken, channel, position] = from_flat(flat({n, part, co, j}, size, read), size, written);
      z.each_term(channel, position, [&, m = m, taken = taken, channel = channel](int64_t ci, int64_t k, int64_t i) {
        const int64_t at = of_channels ? ci - z.first_of(channel) : k;
        if ((in_turn ? at % parts : at / chunk) == taken) add(z.x_at(m, ci, i), z.w_at(ci, channel, k));
      });
    }
  };
}

// How many parts there are depends on the problem.
bool fits_some_parts(const TermMap& z, Part kind, const Order& written, const Order& read) {
  constexpr int64_t most = 16;
  for (int64_t parts = 2; parts <= most; parts++)
    if (z.made_by(of_parts(z, kind, parts, written, read))) return true;
  return false;
}

}  // namespace

TermFault other_orders(const std::vector<TermMap>& maps) {
  const auto all = orders();
  for (const Order& written : all)
    for (const Order& read : all)
      if (read != written && all_made_by(maps, [&](const TermMap& z) { return of_columns(z, written, read); }))
        return {
            fmt::format("the sums of one tap and input each, w·x before it is folded, are written as {} and read "
                        "as {}",
                        words_of(written, columns), words_of(read, columns))};
  for (const Part kind : kinds_of_parts)
    for (const Order& written : all)
      for (const Order& read : all) {
        // Positions stay innermost, and the problems that are right have one part.
        if (written[3] != 3 || read[3] != 3 || written == read) continue;
        if (std::all_of(maps.begin(), maps.end(),
                        [&](const TermMap& z) { return z.right() || fits_some_parts(z, kind, written, read); }))
          return {fmt::format("the sums of parts of the {} are written as {} and read as {}",
                              kind == Part::channels || kind == Part::channels_in_turn ? "input channels" : "taps",
                              words_of(written, part_names), words_of(read, part_names))};
      }
  return {};
}

}  // namespace convscope
