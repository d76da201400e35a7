#include "kernels/problem/counts.h"

#include <algorithm>
#include <map>

namespace convscope {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

}  // namespace

int64_t landing_pairs(const ConvProblem& p) {
  int64_t lout = p.out_length(), pairs = 0;
  for (int64_t k = 0; k < p.kernel_size; k++) {
    // i·s must lie in [p − k·d, Lout − 1 + p − k·d]
    int64_t low = std::max<int64_t>(0, ceil_div(p.padding - k * p.dilation, p.stride));
    int64_t high = std::min(p.length - 1, floor_div(lout - 1 + p.padding - k * p.dilation, p.stride));
    pairs += std::max<int64_t>(0, high - low + 1);
  }
  return pairs;
}

int64_t useful_taps(const ConvProblem& p) {
  __int128 taps = static_cast<__int128>(p.batch * p.in_channels) * p.out_per_group() * landing_pairs(p);
  return taps > max_taps ? max_taps : static_cast<int64_t>(taps);
}

int64_t least_bytes(const ConvProblem& p) {
  return (p.x_elements() + p.w_elements() + p.b_elements() + p.y_elements()) * static_cast<int64_t>(size_of(p.dtype));
}

std::vector<PolyphaseClass> polyphase_classes(const ConvProblem& p) {
  std::map<int64_t, std::vector<int64_t>> taps;
  for (int64_t k = 0; k < p.kernel_size; k++) taps[k * p.dilation % p.stride].push_back(k);
  std::vector<PolyphaseClass> classes;
  for (auto& [residue, ks] : taps) classes.push_back({residue, std::move(ks)});
  return classes;
}

std::vector<Tap> taps_at(const ConvProblem& p, int64_t j) {
  std::vector<Tap> taps;
  for (int64_t k = 0; k < p.kernel_size; k++) {
    int64_t t = j + p.padding - k * p.dilation;
    if (t < 0) break;
    if (t % p.stride == 0 && t / p.stride < p.length) taps.push_back({k, t / p.stride});
  }
  return taps;
}

int64_t taps_reaching(const ConvProblem& p, int64_t j) {
  int64_t n = 0;
  for (int64_t k = 0; k < p.kernel_size; k++) {
    int64_t t = j + p.padding - k * p.dilation;
    if (t < 0) break;
    n += t % p.stride == 0 && t / p.stride < p.length;
  }
  return n;
}

int64_t structural_zeros(const ConvProblem& p) {
  int64_t lout = p.out_length(), s = p.stride, reached = 0;
  for (const auto& c : polyphase_classes(p)) {
    // j + p = m·s + residue; tap k = with k·d = q·s + residue reaches m in [q, q + L). Intervals come sorted by k.
    int64_t first = ceil_div(p.padding - c.residue, s), last = floor_div(lout - 1 + p.padding - c.residue, s);
    int64_t covered_to = first;  // everything below is counted
    for (int64_t k : c.taps) {
      int64_t q = k * p.dilation / s;
      int64_t low = std::max(q, covered_to), high = std::min(q + p.length - 1, last);
      if (high >= low) {
        reached += high - low + 1;
        covered_to = high + 1;
      }
    }
  }
  return p.batch * p.out_channels * (lout - reached);
}

}  // namespace convscope
