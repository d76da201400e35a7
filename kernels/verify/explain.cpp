#include "kernels/verify/explain.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/reference/oracle.h"
#include "kernels/verify/prober.h"

namespace convscope {
namespace {

constexpr int64_t most_taps = 128;

// With all its digits: 1.000001 is not 1.
std::string times_text(double v) { return fmt::format("{:.9g}", v); }

bool whole(double v) { return std::isfinite(v) && v == std::floor(v) && std::fabs(v) < 0x1p53; }

// The numerator of the index divides: the input that a tap points to, inside of x or not.
std::optional<int64_t> pointed_to(const ConvProblem& p, int64_t j, int64_t k) {
  const int64_t t = j + p.padding - k * p.dilation;
  return t % p.stride == 0 ? std::optional(t / p.stride) : std::nullopt;
}

std::string place_in_x(const ConvProblem& p, int64_t at) {
  return fmt::format("x[{}, {}, {}]", at / p.length / p.in_channels, at / p.length % p.in_channels, at % p.length);
}

// What tap k adds when its first channel reads x at this flat index, and the others their rows likewise; nothing where
// that ends beyond x.
std::optional<double> sum_from(const ConvProblem& p, const Inputs& in, const Explanation& out, int64_t k, int64_t at) {
  if (at + (out.channels - 1) * p.length >= p.x_elements()) return std::nullopt;
  double sum = 0;
  for (int64_t c = 0; c < out.channels; c++)
    sum += in.x.at(at + c * p.length) *
           in.w.at(((out.first_channel + c) * p.out_per_group() + out.co % p.out_per_group()) * p.kernel_size + k);
  return sum;
}

// Taps whose input lies beside its row of x, in other rows or beyond all of them: to the counts of one channel's inputs
// that is nothing, or another row's input. True where what lies beyond x reaches the sum, through whatever channel.
bool look_beside_row(Prober& probe, const ConvProblem& p, const Inputs& in, Explanation& out) {
  const int64_t L = p.length, K = p.kernel_size, c0 = out.first_channel, cog = p.out_per_group();
  const int64_t row = (out.n * p.in_channels + c0) * L, all = p.x_elements();
  auto everything = [&](bool beyond) {
    probe.set_x([](int64_t) { return 1; });
    probe.set_beside_x(beyond);
    return probe.element(out.n, out.co, out.j);
  };
  probe.set_w([](int64_t) { return 1; });
  const bool beyond_any = everything(true) != everything(false);
  double counted = 0;
  bool is_clean = false, has_other = false;
  for (const auto& t : out.taps) {
    counted += t.count;
    is_clean |= t.count == 1 && t.read_i && t.expected_i == t.read_i;
    has_other |= t.count != 0 && !t.expected_i && pointed_to(p, out.j, t.k).has_value();
  }
  if (!beyond_any && !has_other) {
    probe.set_w([=](int64_t e) { return e / K / cog == c0 ? 1 : 0; });
    if (out.all_taps && everything(false) == rounded_to(p.dtype, counted)) return false;
  }
  for (auto& t : out.taps) {
    if (!std::isfinite(t.count)) continue;
    const auto own = pointed_to(p, out.j, t.k);
    const bool may = own && !t.expected_i, within = own && row + *own >= 0 && row + *own < all;
    probe.set_w([=](int64_t e) { return e / K / cog == c0 && e % K == t.k ? 1 : 0; });
    const double with = everything(true), without = everything(false);
    if (!std::isfinite(with) || !std::isfinite(without)) continue;
    const bool beyond = with != without;
    if (!beyond && (without == 0 || (without == t.count && !(may && within)))) continue;
    std::optional<int64_t> at;
    const double factor = beyond ? with - without : without;  // how often it counts
    if (!beyond) {
      at = probe.decode([&](auto code) { probe.set_x(code); }, [](int64_t e) { return e; }, all, out.n, out.co, out.j,
                        without);
      if (at && without != 1) {  // several may spell the number of another one
        probe.set_x([&](int64_t e) { return e == *at ? 1 : 0; });
        if (probe.element(out.n, out.co, out.j) != without) at.reset();
      }
    }
    bool is_own = may && at && *at == row + *own;
    if (may && beyond && !within) {  // is it that one, and nothing else?
      probe.set_x([](int64_t) { return 0; });
      is_own = probe.put_beside_x(row + *own) &&
               std::fabs(probe.element(out.n, out.co, out.j) - factor) < 1e-3 * std::fabs(factor);
      probe.set_beside_x(false);
    }
    // Where nothing comes from its own row, another one may be taken for it: that is told of the channels.
    if (!is_own && !beyond && !(is_clean && t.count == 0)) continue;
    t.read_i.reset(), t.read_sum.reset();
    if (is_own) t.beside = own;
    t.strange = is_own ? fmt::format("goes on to i = {} and ", *own) : "";
    t.strange += at       ? "reads " + place_in_x(p, *at) + ", beside its row"
                 : beyond ? "reads what lies beyond x"
                          : "reads other rows of x";
    if (std::fabs(factor - 1) > 1e-3) t.strange += fmt::format(", {} times", times_text(factor));
    if (at)
      if (auto sum = sum_from(p, in, out, t.k, *at)) t.read_sum = factor * *sum;
  }
  return beyond_any;
}

// Through tap k one input of each channel comes: with which weights? Of the first channel that has another's, "" where
// there is none.
std::string other_weights(Prober& probe, const ConvProblem& p, const Explanation& out, int64_t k) {
  constexpr int64_t most_channels = 64;
  const int64_t L = p.length, K = p.kernel_size, cog = p.out_per_group(), mine = out.co % cog;
  auto one = [&](int64_t e) { return e % K == k ? 1 : 0; };
  // All at once first: each weight that is not its own counts 1, and there shall be none.
  probe.set_x([](int64_t) { return 1; });
  probe.set_w([&](int64_t e) {
    const int64_t ci = e / K / cog;
    return one(e) && (e / K % cog != mine || ci < out.first_channel || ci >= out.first_channel + out.channels) ? 1 : 0;
  });
  if (probe.element(out.n, out.co, out.j) == 0) return "";
  for (int64_t ci = out.first_channel; ci < out.first_channel + std::min(out.channels, most_channels); ci++) {
    probe.set_x([&](int64_t e) { return e / L % p.in_channels == ci ? 1 : 0; });
    auto row = probe.decode([&](auto at) { probe.set_w(at); }, [&](int64_t e) { return one(e) ? e / K : -1; },
                            p.in_channels * cog, out.n, out.co, out.j);
    if (row == ci * cog + mine) continue;
    return row ? fmt::format("for input channel {} it reads w[{}, {}, {}] where w[{}, {}, {}] belongs", ci, *row / cog,
                             *row % cog, k, ci, mine, k)
               : fmt::format("for input channel {} it reads no single weight of tap {}", ci, k);
  }
  return out.channels > most_channels
             ? fmt::format("for input channels beyond its first {} it reads other weights", most_channels)
             : "";
}

// Through tap k not all channels come: do the others come with weights of other taps, as many as belong? Of the first
// that does, "" where that is not so. i: the input that they all read.
std::string weights_of_other_taps(Prober& probe, const ConvProblem& p, const Explanation& out, int64_t k, int64_t i) {
  constexpr int64_t most_channels = 64;
  const int64_t L = p.length, K = p.kernel_size, cog = p.out_per_group(), mine = out.co % cog;
  auto input = [&](int64_t ci) { return (out.n * p.in_channels + ci) * L + i; };
  probe.set_w([](int64_t) { return 1; });
  probe.set_x([&](int64_t e) {
    const int64_t ci = e / L % p.in_channels;
    return ci >= out.first_channel && ci < out.first_channel + out.channels && e == input(ci) ? 1 : 0;
  });
  if (probe.element(out.n, out.co, out.j) != rounded_to(p.dtype, static_cast<double>(out.channels))) return "";
  for (int64_t ci = out.first_channel; ci < out.first_channel + std::min(out.channels, most_channels); ci++) {
    probe.set_x([&](int64_t e) { return e == input(ci) ? 1 : 0; });
    const auto at = probe.decode([&](auto w) { probe.set_w(w); }, [](int64_t e) { return e; }, p.w_elements(), out.n,
                                 out.co, out.j);
    if (at && *at % K != k)
      return fmt::format("for input channel {} it reads w[{}, {}, {}] where w[{}, {}, {}] belongs", ci, *at / K / cog,
                         *at / K % cog, *at % K, ci, mine, k);
  }
  return "";
}

}  // namespace

std::string tap_formula(const ConvProblem& p, int64_t j, int64_t k) {
  int64_t t = j + p.padding - k * p.dilation;
  std::string s = fmt::format("({} + {} − {}·{})/{} = {}", j, p.padding, k, p.dilation, p.stride,
                              number_text(static_cast<double>(t) / static_cast<double>(p.stride)));
  if (t % p.stride != 0) return s + ": no whole number, no tap";
  int64_t i = t / p.stride;
  return i < 0 || i >= p.length ? s + fmt::format(": outside 0…{}, no tap", p.length - 1) : s;
}

// What stands around the taps of an element: as far as one of its inputs' products, and a few more.
static void look_around(Explanation& e, const ConvProblem& p, const Inputs& in, Prober& probe) {
  constexpr int64_t few = 3, most = 256;
  const int64_t reach = (p.kernel_size - 1) * p.dilation;
  const int64_t first = std::max<int64_t>(0, (e.j + p.padding - reach) / p.stride - few),
                last = std::min(p.length - 1, (e.j + p.padding) / p.stride + few);
  if (first > last || last - first >= most) return;
  if (e.channels == 1) {
    e.near_x.first = first;
    for (int64_t i = first; i <= last; i++)
      e.near_x.values.push_back(in.x.at((e.n * p.in_channels + e.first_channel) * p.length + i));
  }
  const int64_t begin = std::max<int64_t>(0, first * p.stride - p.padding),
                end = std::min(probe.own_length(), last * p.stride - p.padding + reach + 1);
  if (begin < end && end - begin <= 4 * most) e.near_y = {begin, probe.row(e.n, e.co, begin, end - begin)};
}

Explanation explain(Device& device, const KernelDefinition& kernel, const ConvProblem& p, const InputSpec& spec,
                    int64_t n, int64_t co, int64_t j, Activity& activity) {
  require_legal(p);
  auto within = [](const char* name, int64_t v, int64_t limit) {
    if (v < 0 || v >= limit)
      throw InputError(name, std::to_string(v), fmt::format("must be between 0 and {}", limit - 1));
  };
  within("n", n, p.batch), within("co", co, p.out_channels), within("j", j, p.out_length());
  Prober probe(device, kernel, p, activity);
  Explanation out;
  out.n = n, out.co = co, out.j = j;
  out.first_channel = co / p.out_per_group() * p.in_per_group();
  out.channels = p.in_per_group();
  activity.phase(Prober::phase);

  Inputs in = make_inputs(p, spec, &activity);
  probe.set(in);
  make_cpu_oracle(p, in)->compute({n * p.out_channels + co, 1, j, 1}, &out.expected, nullptr);
  out.bias = p.bias ? in.b.at(co) : 0;
  if (j >= probe.own_length()) {
    out.got = std::numeric_limits<double>::quiet_NaN();
    out.channel_note =
        fmt::format("the kernel's output is only {} long: it does not have this element", probe.own_length());
    return out;
  }
  out.got = probe.element(n, co, j);
  look_around(out, p, in, probe);
  probe.narrow(n, co, j);
  auto left = std::isnan(out.got) ? probe.left(n, co, j) : Prober::Left::written;
  if (left == Prober::Left::added_to) out.got = probe.element(n, co, j);
  // From here on what lies beside x is nothing: as NaN it would reach the sum through every tap.
  probe.set_beside_x(false);
  const bool from_beside = std::isnan(out.got) && !std::isnan(probe.element(n, co, j));

  std::set<int64_t> taps;
  if (p.kernel_size <= most_taps) {
    for (int64_t k = 0; k < p.kernel_size; k++) taps.insert(k);
  } else {
    out.all_taps = false;
    for (const Tap& t : taps_at(p, j))
      for (int64_t k : {t.k - 1, t.k, t.k + 1})
        if (k >= 0 && k < p.kernel_size && taps.size() < most_taps) taps.insert(k);
  }

  // Through one channel of the group: how many inputs each tap brings, and which.
  int64_t c0 = out.first_channel, L = p.length, K = p.kernel_size;
  auto in_channel = [&](int64_t e) { return e / L % p.in_channels == c0; };
  auto sum_at = [&](int64_t k, int64_t i) {
    double sum = 0;
    for (int64_t ci = c0; ci < c0 + out.channels; ci++)
      sum += in.x.at((n * p.in_channels + ci) * L + i) *
             in.w.at((ci * p.out_per_group() + co % p.out_per_group()) * K + k);
    return sum;
  };
  auto set_x = [&](auto at) { probe.set_x(at); };
  auto set_w = [&](auto at) { probe.set_w(at); };
  auto set_b = [&](auto at) { probe.set_b(at); };
  auto only_bias = [&](int64_t channel) {
    probe.set_b([=](int64_t c) { return c == channel ? 1 : 0; });
    return probe.element(n, co, j);
  };
  if (left == Prober::Left::untouched) {
    for (int64_t k : taps) {
      TapRead t{.k = k, .expected_i = {}, .read_i = {}, .read_sum = {}, .beside = {}, .strange = {}};
      if (auto i = pointed_to(p, j, k); i && *i >= 0 && *i < L) t.expected_i = i, t.expected_sum = sum_at(k, *i);
      out.taps.push_back(t);
    }
    out.channel_note = "no thread writes this element: what was there before is still there";
    out.launches = probe.launches();
    return out;
  }
  // What it is of nothing but zeros. If that is no number, or one beside which counts vanish, no tap says anything.
  probe.set_x([](int64_t) { return 0; });
  probe.set_w([](int64_t) { return 0; });
  if (p.bias) probe.set_b([](int64_t) { return 0; });
  const double rest = probe.element(n, co, j);
  const bool by_itself = !(std::fabs(rest) <= std::exp2(traits(p.dtype).significand_bits / 2));
  if (!by_itself) probe.leave_out(rest);
  // Which bias: of nothing but biases.
  out.read_bias = 0;
  if (by_itself) {
    out.read_bias.reset();
  } else if (p.bias) {
    probe.set_x([](int64_t) { return 0; });
    probe.set_w([](int64_t) { return 0; });
    probe.set_b([](int64_t) { return 1; });
    double biases = probe.element(n, co, j);
    if (biases == 0) {
      out.bias_note = fmt::format("adds no bias where b[{}] belongs", co);
    } else if (auto channel = probe.decode(
                   set_b, [](int64_t c) { return c; }, p.out_channels, n, co, j)) {
      out.read_bias = in.b.at(*channel);
      if (*channel != co) out.bias_note = fmt::format("adds b[{}] where b[{}] belongs", *channel, co);
    } else if (auto many = probe.decode(
                   set_b, [](int64_t c) { return c; }, p.out_channels, n, co, j, biases);
               many && std::isfinite(biases) && only_bias(*many) == biases) {
      out.read_bias = biases * in.b.at(*many);
      out.bias_note = fmt::format("adds b[{}] {} times{}", *many, times_text(biases),
                                  *many == co ? "" : fmt::format(" where b[{}] belongs", co));
    } else {
      out.read_bias.reset();
      if (std::isfinite(biases)) out.bias_note = fmt::format("adds no single bias where b[{}] belongs", co);
    }
    probe.set_b([](int64_t) { return 0; });
  }

  for (int64_t k : taps) {
    TapRead t;
    t.k = k;
    int64_t numerator = j + p.padding - k * p.dilation;
    if (numerator >= 0 && numerator % p.stride == 0 && numerator / p.stride < L) {
      t.expected_i = numerator / p.stride;
      t.expected_sum = sum_at(k, *t.expected_i);
    }
    if (by_itself) {
      t.count = std::numeric_limits<double>::quiet_NaN(), t.strange = "cannot be told";
      out.taps.push_back(t);
      continue;
    }
    probe.set_w([&](int64_t e) { return e % K == k ? 1 : 0; });
    probe.set_x([&](int64_t e) { return in_channel(e) ? 1 : 0; });
    t.count = probe.element(n, co, j);
    if (!std::isfinite(t.count)) {
      t.strange = "the count is " + number_text(t.count) + ": it reads what is not its input";
    } else if (t.count != 0) {
      t.read_i = probe.decode(
          set_x, [&](int64_t e) { return in_channel(e) ? e % L : -1; }, L, n, co, j, t.count);
      // Several inputs may spell the number of another one: only a single one brings all alone.
      if (t.read_i && t.count != 1) {
        probe.set_x([&](int64_t e) { return in_channel(e) && e % L == *t.read_i ? 1 : 0; });
        if (probe.element(n, co, j) != t.count) t.read_i.reset();
      }
      if (t.read_i) t.read_sum = t.count * sum_at(k, *t.read_i);
      if (t.read_i && t.count != 1)
        t.strange = fmt::format("takes its input {} times{}", times_text(t.count),
                                whole(t.count) ? "" : ": sums or results are scaled or rounded");
      else if (!t.read_i && t.count == 1)
        t.strange = "reads something that is not x";
      else if (!t.read_i)
        t.strange = whole(t.count) ? fmt::format("takes {} inputs through one tap", number_text(t.count))
                                   : "the count is " + times_text(t.count) + ": it reads what is not its input";
    }
    if (t.count == 0) t.read_sum = 0;
    out.taps.push_back(t);
  }
  if (by_itself)
    out.channel_note =
        std::isfinite(rest)
            ? fmt::format("of zeros alone it is {}: something beside x, w and b is in it", number_text(rest))
            : "of zeros alone it is no number either: something beside x and w is in it";
  const bool adds_beyond = look_beside_row(probe, p, in, out);
  std::optional<int64_t> clean_tap, clean_input;
  bool any_strange = false;
  // What another formula takes may be the end of the row before.
  auto reads_own_row = [&](const TapRead& t) {
    probe.set_w([&](int64_t e) { return e % K == t.k && e / K / p.out_per_group() == c0 ? 1 : 0; });
    probe.set_x([&](int64_t e) { return e == (n * p.in_channels + c0) * L + *t.read_i ? 1 : 0; });
    return probe.element(n, co, j) == 1;
  };
  out.read_total = out.read_bias;
  if (out.read_total) *out.read_total += rest;
  for (auto& t : out.taps) {
    if (t.read_i && t.count == 1 && t.strange.empty()) {
      if (t.read_i == t.expected_i || reads_own_row(t)) {
        clean_tap = t.k, clean_input = t.read_i;
      } else if (auto at = probe.decode(
                     set_x, [](int64_t e) { return e; }, p.x_elements(), n, co, j)) {
        t.strange = "reads " + place_in_x(p, *at) + ", beside its row";
        t.read_i.reset(), t.read_sum = sum_from(p, in, out, t.k, *at);
      }
    }
    any_strange |= !t.strange.empty();
    if (t.read_sum && out.read_total)
      *out.read_total += *t.read_sum;
    else
      out.read_total.reset();
  }
  if (!out.all_taps) out.read_total.reset();

  // Which channels, which weights, which sequence: through a tap that brings exactly one input.
  if (clean_tap) {
    int64_t k = *clean_tap;
    probe.set_w([&](int64_t e) { return e % K == k ? 1 : 0; });
    probe.set_x([&](int64_t) { return 1; });
    double channels = probe.element(n, co, j);
    // Their numbers' sum tells which, where the type holds it; else that nothing comes through any other channel.
    double expected = static_cast<double>(out.channels) * static_cast<double>(2 * c0 + out.channels + 1) / 2;
    const bool exact = expected < std::exp2(traits(p.dtype).significand_bits);
    probe.set_x([&](int64_t e) {
      int64_t ci = e / L % p.in_channels;
      return exact ? ci + 1 : ci < c0 || ci >= c0 + out.channels ? 1 : 0;
    });
    const bool others = probe.element(n, co, j) != (exact ? expected : 0);
    const bool all_come = channels == rounded_to(p.dtype, static_cast<double>(out.channels));
    probe.set_x([&](int64_t e) { return e % L == *clean_input ? 1 : 0; });
    const bool all_from_there = probe.element(n, co, j) == channels;
    if (!all_come || !all_from_there) {
      out.weight_note = weights_of_other_taps(probe, p, out, k, *clean_input);
      probe.set_w([&](int64_t e) { return e % K == k ? 1 : 0; });
      if (out.weight_note.empty() && !all_come)
        out.channel_note = fmt::format("sums {} input channel{}, {} belong{} to this output", number_text(channels),
                                       channels == 1 ? "" : "s", out.channels, out.channels == 1 ? "s" : "");
    }
    if (all_come && others)
      out.channel_note =
          fmt::format("sums {} input channels, but not {} to {}", out.channels, c0, c0 + out.channels - 1);
    probe.set_x([&](int64_t e) { return in_channel(e) ? 1 : 0; });
    auto row = probe.decode(
        set_w, [&](int64_t e) { return e % K == k ? e / K : -1; }, p.in_channels * p.out_per_group(), n, co, j);
    if (out.weight_note.empty() && row != c0 * p.out_per_group() + co % p.out_per_group()) {
      if (row)
        out.weight_note =
            fmt::format("for input channel {} it reads w[{}, {}, {}] where w[{}, {}, {}] belongs", c0,
                        *row / p.out_per_group(), *row % p.out_per_group(), k, c0, co % p.out_per_group(), k);
      else
        out.weight_note = fmt::format("for input channel {} it reads no single weight of tap {}", c0, k);
    }
    if (out.weight_note.empty() && out.channel_note.empty()) out.weight_note = other_weights(probe, p, out, k);
    if (p.batch > 1) {
      probe.set_w([&](int64_t e) { return e % K == k ? 1 : 0; });
      auto batch = probe.decode(
          set_x, [&](int64_t e) { return in_channel(e) ? e / (L * p.in_channels) : -1; }, p.batch, n, co, j);
      if (batch != n)
        out.batch_note = batch ? fmt::format("reads sequence {} where {} belongs", *batch, n)
                               : fmt::format("reads no single sequence where {} belongs", n);
    }
  }
  // Nothing of its first channel came through where something should have: which channel's did?
  bool expected_any = false, came = false;
  for (const auto& t : out.taps) expected_any |= t.expected_i.has_value(), came |= t.count != 0;
  if (expected_any && !came)
    for (const auto& t : out.taps) {
      if (!t.expected_i) continue;
      probe.set_w([&](int64_t e) { return e % K == t.k && e / K / p.out_per_group() == c0 ? 1 : 0; });
      auto channel = probe.decode(
          set_x, [&](int64_t e) { return e / L % p.in_channels; }, p.in_channels, n, co, j);
      if (!channel) continue;
      out.channel_note = fmt::format("with the weights of input channel {} it reads channel {}", c0, *channel);
      break;
    }
  if (from_beside && !any_strange && out.channel_note.empty())
    out.channel_note = adds_beyond ? out.all_taps ? "reads what lies beyond x"
                                                  : "reads what lies beyond x, through a tap that is not listed"
                                   : "what lies beside x reaches the sum times 0: a NaN there is one here";
  // What the taps add is counted with the weights and channels that belong to them.
  if (!out.channel_note.empty() || !out.weight_note.empty() || !out.batch_note.empty())
    for (auto& t : out.taps)
      if (t.read_sum != 0.0) t.read_sum.reset();
  if (!by_itself && rest != 0 && out.channel_note.empty())
    out.channel_note = fmt::format("of zeros alone it is {}: something beside x, w and b is added", number_text(rest));
  if (left == Prober::Left::added_to && out.channel_note.empty())
    out.channel_note = "adds to what is in y, which nobody has cleared: here it began at 0";
  if (!out.channel_note.empty() || !out.weight_note.empty() || !out.batch_note.empty() || !std::isfinite(out.got))
    out.read_total.reset();
  if (out.read_total) {
    // Products cancel: what they are is no measure, but their largest.
    double size = std::fabs(out.bias);
    for (const auto& t : out.taps)
      if (t.read_i)
        for (int64_t ci = c0; ci < c0 + out.channels; ci++)
          size += std::fabs(in.x.at((n * p.in_channels + ci) * L + *t.read_i) *
                            in.w.at((ci * p.out_per_group() + co % p.out_per_group()) * K + t.k));
    if (std::fabs(*out.read_total - out.got) > (is_half(p.dtype) ? 0.02 : 4e-3) * (size + std::fabs(out.got)))
      out.channel_note = "the sum is not that of these inputs, weights and channels: `xray` tells more";
  }
  out.launches = probe.launches();
  return out;
}

}  // namespace convscope
