#include "kernels/verify/xray_here.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "kernels/problem/counts.h"
#include "kernels/verify/xray_problems.h"
#include "kernels/verify/xray_sizes.h"
#include "kernels/verify/xray_tell.h"

namespace convscope {
namespace {

constexpr double most_asked = 1e8, most_standing = 5e7;  // products; a second or two on the emulator

// Halves, as a length that is a multiple of a tile's stays one.
void shorten(ConvProblem& q) {
  constexpr int64_t least_length = 16;
  while (walked_products(q) > most_standing && q.length >= 2 * least_length) q.length /= 2;
}

// p, or, where that takes too long, what together is as large as p as far as that can be: all sequences, and one that
// is long. Channels, taps and steps are always p's. Empty where even that takes too long.
std::vector<ConvProblem> stand_for(const ConvProblem& p) {
  if (walked_products(p) <= most_asked) return {p};
  ConvProblem all = p, one = p;
  one.batch = 1;
  shorten(all), shorten(one);
  if (walked_products(all) > most_asked) return {};
  if (one.length <= all.length) return {all};
  return {all, one};
}

// A piece that is wrong says nothing of p for sure: its length is another.
std::optional<bool> right_here(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                               const std::function<bool()>& over, Activity& activity) {
  const auto all = stand_for(p);
  if (all.empty()) return {};
  for (const ConvProblem& q : all) {
    if (over()) return {};
    const auto is = sums_are_right(device, kernel, q, accuracy, activity);
    if (is != true) return q == p ? is : std::nullopt;
  }
  return true;
}

// What was seen elsewhere, without saying that all is well here.
void not_right_here(Xray& x) {
  const std::string but_on = "right here, but not on ";
  x.is = Xray::Is::wrong;
  if (x.sentence.starts_with(but_on)) {
    x.is = Xray::Is::unclear, x.sentence = "wrong on " + x.sentence.substr(but_on.size());
  } else if (x.sentence.starts_with(right_here_but)) {
    x.sentence.erase(0, right_here_but.size());
    // These are sizes of the asked problem already.
    if (!x.sentence.starts_with("right with ") && !x.sentence.starts_with("right where "))
      x.sentence = seen_elsewhere + x.sentence;
  }
  if (x.without_effect) x.sentence += "; that has no effect here, where something else is wrong";
  x.without_effect = false;
}

}  // namespace

Xray xray(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
          const XrayLimits& limits, Activity& activity) {
  const auto begin = std::chrono::steady_clock::now();
  auto over = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > limits.seconds;
  };
  Xray x = xray_by_stand_ins(device, kernel, p, accuracy, limits, activity);
  if (x.is != Xray::Is::right_here_only) return x;
  const size_t place = small_problems(kernel, p).size() + asked_one;
  std::optional<bool> here;
  if (!limits.left_out.contains(place)) {
    if (limits.begins) limits.begins(place);
    here = right_here(device, kernel, p, accuracy, over, activity);
  }
  // Terms that make no difference here are known to make none, whether or not it could be run.
  if (here == false || (!here && !x.without_effect)) not_right_here(x);
  return x;
}

}  // namespace convscope
