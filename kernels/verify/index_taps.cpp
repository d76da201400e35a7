// Taps of w that are taken in another order.
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "kernels/verify/index_terms.h"

namespace convscope {
namespace {

// The products where tap k takes w's tap of(k); none where that is below 0. From K on lies the next row of w.
template <class F>
Products with_taps(const TermMap& z, F of) {
  return [&z, of](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
    z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
      if (const int64_t tap = of(k); tap >= 0) add(z.x_at(n, ci, i), z.w_at(ci, co, tap));
    });
  };
}

enum class Within { reversed, next, previous };
enum class End { as_others, own, left_out };  // of a block that is not whole
struct Blocks {
  int64_t from, size;
  Within within;
  End end;
  int64_t tap(int64_t k, int64_t K) const {
    if (k < from) return k;
    const int64_t at = (k - from) % size, first = k - at;
    if (first + size > K && end != End::as_others) return end == End::own ? k : -1;
    return first + (within == Within::reversed ? size - 1 - at
                    : within == Within::next   ? (at + 1) % size
                                               : (at + size - 1) % size);
  }
};

std::string words_of(const Blocks& b) {
  const std::string from = b.from ? fmt::format("from k = {} on ", b.from) : "";
  if (b.size == 2)
    return fmt::format("{}the taps of w are exchanged in pairs, {} and {} first", from, b.from, b.from + 1);
  const char* how = b.within == Within::reversed ? "the taps of w are taken in reverse order"
                    : b.within == Within::next
                        ? "each tap takes the weight of the next one, the last that of the first"
                        : "each tap takes the weight of the one before, the first that of the last";
  return fmt::format("{}in blocks of {} {}", from, b.size, how);
}

// Blocks that come again: one alone may be anything.
TermFault in_blocks(const std::vector<TermMap>& maps) {
  int64_t most = 0;
  for (const TermMap& z : maps) most = std::max(most, z.K);
  for (int64_t from = 0; from + 4 <= most; from++)
    for (int64_t size = 2; from + 2 * size <= most; size++)
      for (const Within within : {Within::reversed, Within::next, Within::previous})
        for (const End end : {End::as_others, End::own, End::left_out}) {
          if (size == 2 && within != Within::reversed) continue;
          const Blocks b{from, size, within, end};
          if (all_made_by(maps, [&](const TermMap& z) {
                return with_taps(z, [b, K = z.K](int64_t k) { return b.tap(k, K); });
              }))
            return {words_of(b), "", "", nullptr};
        }
  return {};
}

// The tap of w that each tap takes on one problem, if that is one for each.
std::optional<std::vector<int64_t>> taps_of(const TermMap& z) {
  constexpr int64_t most = 16;
  if (z.K > most) return {};
  std::vector<int64_t> takes(static_cast<size_t>(z.K), -1);
  for (int64_t k = 0; k < z.K; k++)
    for (int64_t turn = 0; turn < z.K && takes[static_cast<size_t>(k)] < 0; turn++)
      if (const int64_t tap = (k + turn) % z.K; z.may_take(k, tap)) takes[static_cast<size_t>(k)] = tap;
  if (std::count(takes.begin(), takes.end(), -1)) return {};
  if (!z.made_by(with_taps(z, [takes](int64_t k) { return takes[static_cast<size_t>(k)]; }))) return {};
  return takes;
}

std::string words_of(const std::vector<int64_t>& takes) {
  std::string pairs, all;
  bool in_pairs = true;
  for (size_t k = 0; k < takes.size(); k++) {
    const auto own = static_cast<int64_t>(k), tap = takes[k];
    if (tap == own) continue;
    in_pairs &= takes[static_cast<size_t>(tap)] == own;
    if (own < tap) pairs += fmt::format("{}{} and {}", pairs.empty() ? "" : ", ", own, tap);
    all += all.empty() ? fmt::format("tap k = {} takes the weight of {}", own, tap)
                       : fmt::format(", {} that of {}", own, tap);
  }
  return in_pairs ? fmt::format("of {} taps of w {} are exchanged", takes.size(), pairs)
                  : fmt::format("of {} taps of w {}", takes.size(), all);
}

}  // namespace

TermFault wrong_taps(const std::vector<TermMap>& maps) {
  if (TermFault blocks = in_blocks(maps); !blocks.what.empty()) return blocks;
  // Each problem has its own; the one with most taps shows most of it.
  TermFault shown;
  for (const TermMap& z : maps) {
    if (z.right()) continue;
    const auto takes = taps_of(z);
    if (!takes) return {};
    if (!shown.seen_on || z.K > shown.seen_on->K) shown = {words_of(*takes), "", "", &z};
  }
  return shown;
}

}  // namespace convscope
