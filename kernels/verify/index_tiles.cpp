// Tiles of a matrix product that are taken transposed, and products whose inputs lie beside a tile.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "kernels/verify/index_terms.h"

namespace convscope {
namespace {

// Two indices, exchanged within their tile.
struct Pair {
  int64_t a, b;
};
Pair exchanged(int64_t a, int64_t b, int64_t tile) { return {a - a % tile + b % tile, b - b % tile + a % tile}; }

// A matrix product has W (rows: output channel and tap; columns: input channels of a group) and x (channels,
// positions). A tile of it that is staged holds zeros beside a matrix.
struct Transposed {
  const char* what;
  void (*products)(const TermMap& z, int64_t tile, int64_t n, int64_t co, int64_t j, const AddProduct& add);
};
constexpr Transposed transposed[] = {
    {"input channel and position are exchanged within tiles of x",
     [](const TermMap& z, int64_t tile, int64_t n, int64_t co, int64_t j, const AddProduct& add) {
       z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
         const auto [c, at] = exchanged(ci - z.first_of(co), i, tile);
         if (c < z.Cig && at < z.L) add(z.x_at(n, z.first_of(co) + c, at), z.w_at(ci, co, k));
       });
     }},
    {"input channel and row (co·K + k) are exchanged within tiles of w",
     [](const TermMap& z, int64_t tile, int64_t n, int64_t co, int64_t j, const AddProduct& add) {
       z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
         const auto [row, c] = exchanged(co % z.Cog * z.K + k, ci - z.first_of(co), tile);
         if (c < z.Cig && row < z.Cog * z.K) add(z.x_at(n, ci, i), z.w_at(z.first_of(co) + c, row / z.K, row % z.K));
       });
     }},
    {"input channel and row (k·Cout + co) are exchanged within tiles of w",
     [](const TermMap& z, int64_t tile, int64_t n, int64_t co, int64_t j, const AddProduct& add) {
       z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
         const auto [row, c] = exchanged(k * z.Cog + co % z.Cog, ci - z.first_of(co), tile);
         if (c < z.Cig && row < z.Cog * z.K)
           add(z.x_at(n, ci, i), z.w_at(z.first_of(co) + c, row % z.Cog, row / z.Cog));
       });
     }},
    {"row (co·K + k) and position are exchanged within tiles of the product of w and x",
     [](const TermMap& z, int64_t tile, int64_t n, int64_t co, int64_t j, const AddProduct& add) {
       z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
         const auto [row, at] = exchanged(co % z.Cog * z.K + k, i, tile);
         if (row < z.Cog * z.K && at < z.L) add(z.x_at(n, ci, at), z.w_at(ci, row / z.K, row % z.K));
       });
     }},
    {"row (k·Cout + co) and position are exchanged within tiles of the product of w and x",
     [](const TermMap& z, int64_t tile, int64_t n, int64_t co, int64_t j, const AddProduct& add) {
       z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
         const auto [row, at] = exchanged(k * z.Cog + co % z.Cog, i, tile);
         if (row < z.Cog * z.K && at < z.L) add(z.x_at(n, ci, at), z.w_at(ci, row % z.Cog, row / z.Cog));
       });
     }},
    {"output channel and position are exchanged within tiles of y",
     [](const TermMap& z, int64_t tile, int64_t n, int64_t co, int64_t j, const AddProduct& add) {
       const auto [of_group, at] = exchanged(co % z.Cog, j, tile);
       if (of_group >= z.Cog) return;
       const int64_t other = co - co % z.Cog + of_group;
       z.each_term(other, at, [&](int64_t ci, int64_t k, int64_t i) { add(z.x_at(n, ci, i), z.w_at(ci, other, k)); });
     }},
};

}  // namespace

TermFault transposed_tiles(const std::vector<TermMap>& maps) {
  constexpr int64_t largest = 64;
  for (const Transposed& t : transposed) {
    auto fits = [&](int64_t tile) {
      return all_made_by(maps, [&](const TermMap& z) -> Products {
        return
            [&, tile](int64_t n, int64_t co, int64_t j, const AddProduct& add) { t.products(z, tile, n, co, j, add); };
      });
    };
    for (int64_t tile = 2; tile <= largest; tile *= 2)
      if (fits(tile))
        return {fmt::format("{} of {} × {}{}", t.what, tile, tile, fits(2 * tile) ? " or larger ones" : "")};
  }
  return {};
}

namespace {

int64_t divided_down(int64_t a, int64_t by) { return a / by - (a % by < 0); }

// A tile of outputs that begins at j0 has inputs from the first one on that reaches it, if it knows which that is.
struct FirstInput {
  const char *text, *why;
  int64_t (*of)(const TermMap& z, int64_t j0);
};
#define FIRST(expression)                       \
  [](const TermMap& z, int64_t j0) -> int64_t { \
    const ConvProblem& c = z.problem();         \
    return expression;                          \
  }
constexpr FirstInput first_inputs[] = {
    {"⌊({} + p)/s⌋", "no halo on its left", FIRST(divided_down(j0 + c.padding, c.stride))},
    {"⌈({} + p)/s⌉", "no halo on its left", FIRST(-divided_down(-(j0 + c.padding), c.stride))},
    {"⌊({} + p − (K − 1))/s⌋", "a halo of K − 1 on its left, where d·(K − 1) belongs",
     FIRST(divided_down(j0 + c.padding - (c.kernel_size - 1), c.stride))},
    {"⌊({} + p − d·(K − 2))/s⌋", "a halo on its left that is one tap too small",
     FIRST(divided_down(j0 + c.padding - c.dilation * (c.kernel_size - 2), c.stride))},
};
#undef FIRST

// The tiles that fit, of those of which a map has more than one.
template <class Fits>
std::vector<int64_t> tiles_that_fit(int64_t longest, Fits fits) {
  constexpr int64_t largest = 256;
  std::vector<int64_t> all;
  for (int64_t tile = 2; tile <= largest && tile < longest; tile++)
    if (fits(tile)) all.push_back(tile);
  return all;
}
std::string of_size(const std::vector<int64_t>& tiles) {
  return tiles.size() == 1 ? fmt::format(" of {}", tiles.front()) : "";
}

}  // namespace

TermFault beside_tiles(const std::vector<TermMap>& maps) {
  int64_t outputs = 0, inputs = 0;
  for (const TermMap& z : maps) outputs = std::max(outputs, z.J), inputs = std::max(inputs, z.L);
  for (const FirstInput& first : first_inputs) {
    if (all_kept_by(maps, [&](const TermMap& z, const TermPlace& at) { return at.i >= first.of(z, 0); }))
      return {fmt::format("inputs before i = {} are left out, as by a tile that has {}",
                          fmt::format(fmt::runtime(first.text), "0"), first.why)};
    const auto tiles = tiles_that_fit(outputs, [&](int64_t tile) {
      return all_kept_by(
          maps, [&](const TermMap& z, const TermPlace& at) { return at.i >= first.of(z, at.j - at.j % tile); });
    });
    if (!tiles.empty())
      return {fmt::format("inputs before i = {} are left out, j0 the first output of a tile{}: it has {}",
                          fmt::format(fmt::runtime(first.text), "j0"), of_size(tiles), first.why)};
  }
  const auto tiles = tiles_that_fit(inputs, [&](int64_t tile) {
    return all_kept_by(maps, [&](const TermMap& z, const TermPlace& at) {
      return (at.j + z.problem().padding) / (tile * z.stride) == at.i / tile;
    });
  });
  if (!tiles.empty())
    return {
        fmt::format("products that land behind the outputs of their input's tile are left out: a tile{} has "
                    "outputs from i0·s − p up to the next tile's first",
                    tiles.size() == 1 ? fmt::format(" of {} inputs", tiles.front()) : "")};
  return {};
}

}  // namespace convscope
