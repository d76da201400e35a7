// Taps of w that are taken in another order, and channels that are multiplied with others' weights.
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
            return {words_of(b)};
        }
  return {};
}

// Whose weights each of so many takes on one problem, if that is one for each: its own, or may(own, other).
template <class May>
std::vector<int64_t> others_of(int64_t count, May may) {
  std::vector<int64_t> takes(static_cast<size_t>(count), -1);
  for (int64_t own = 0; own < count; own++)
    for (int64_t turn = 0; turn < count && takes[static_cast<size_t>(own)] < 0; turn++)
      if (const int64_t other = (own + turn) % count; may(own, other)) takes[static_cast<size_t>(own)] = other;
  return takes;
}
constexpr int64_t most_of_one = 16;
bool is_whole(const std::vector<int64_t>& takes) { return !std::count(takes.begin(), takes.end(), -1); }

std::optional<std::vector<int64_t>> taps_of(const TermMap& z) {
  if (z.K > most_of_one) return {};
  const auto takes = others_of(z.K, [&](int64_t own, int64_t other) {
    return z.may_take([&](int64_t ci, int64_t co, int64_t k) { return k == own ? z.w_at(ci, co, other) : -1; });
  });
  if (!is_whole(takes) || !z.made_by(with_taps(z, [&](int64_t k) { return takes[static_cast<size_t>(k)]; }))) return {};
  return takes;
}

// Of a group's channels.
std::optional<std::vector<int64_t>> channels_of(const TermMap& z) {
  if (z.Cig > most_of_one) return {};
  auto weight = [&](int64_t ci, int64_t other, int64_t co, int64_t k) {
    return z.w_at(z.first_of(co) + (other < 0 ? ci - z.first_of(co) : other), co, k);
  };
  const auto takes = others_of(z.Cig, [&](int64_t own, int64_t other) {
    return z.may_take(
        [&](int64_t ci, int64_t co, int64_t k) { return ci - z.first_of(co) == own ? weight(ci, other, co, k) : -1; });
  });
  const Products products = [&](int64_t n, int64_t co, int64_t j, const AddProduct& add) {
    z.each_term(co, j, [&](int64_t ci, int64_t k, int64_t i) {
      add(z.x_at(n, ci, i), weight(ci, takes[static_cast<size_t>(ci - z.first_of(co))], co, k));
    });
  };
  if (!is_whole(takes) || !z.made_by(products)) return {};
  return takes;
}

std::string words_of(const std::vector<int64_t>& takes, const char* of, const char* one) {
  std::string pairs, all;
  bool in_pairs = true;
  for (size_t k = 0; k < takes.size(); k++) {
    const auto own = static_cast<int64_t>(k), other = takes[k];
    if (other == own) continue;
    in_pairs &= takes[static_cast<size_t>(other)] == own;
    if (own < other) pairs += fmt::format("{}{} and {}", pairs.empty() ? "" : ", ", own, other);
    all += all.empty() ? fmt::format("{} {} takes the weight of {}", one, own, other)
                       : fmt::format(", {} that of {}", own, other);
  }
  return in_pairs ? fmt::format("of {} {} {} are exchanged", takes.size(), of, pairs)
                  : fmt::format("of {} {} {}", takes.size(), of, all);
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
    if (!shown.seen_on || z.K > shown.seen_on->K) shown = {words_of(*takes, "taps of w", "tap k ="), "", "", &z};
  }
  return shown;
}

TermFault wrong_channels(const std::vector<TermMap>& maps) {
  TermFault shown;
  for (const TermMap& z : maps) {
    if (z.right()) continue;
    const auto takes = channels_of(z);
    if (!takes) return {};
    if (!shown.seen_on || z.Cig > shown.seen_on->Cig)
      shown = {words_of(*takes, "input channels", "channel"), "", "", &z};
  }
  return shown;
}

}  // namespace convscope
