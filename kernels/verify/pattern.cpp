#include "kernels/verify/pattern.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "kernels/base/text.h"
#include "kernels/verify/pattern_values.h"
#include "kernels/verify/pointwise.h"

namespace convscope {
namespace {

// How well an explanation fits: of the places that say something, the fraction where it holds. Where both sides are
// what stands there without any tap (0, or the bias), they agree with anything and prove nothing.
struct Fit {
  int64_t agree = 0, places = 0;
  void add(double a, double b, double empty = 0) {
    if ((a == 0 && b == 0) || (a == empty && b == empty)) return;
    places++;
    agree += a == b;
  }
  double score() const { return places >= 8 ? static_cast<double>(agree) / static_cast<double>(places) : 0; }
};
constexpr double fits = 0.99;
constexpr double a_rounding = 1e-6;  // of a product by a factor that is no binary fraction

bool differs(const SampleRow& s) {
  for (size_t j = 0; j < s.got.size(); j++)
    if (s.got[j] != s.expected[j]) return true;
  return false;
}

std::optional<int64_t> find_shift(const ConvProblem& p, const std::vector<SampleRow>& samples, bool without_bias) {
  int64_t reach =
      std::min<int64_t>(4096, 2 * p.padding + p.output_padding + p.stride + p.dilation * (p.kernel_size - 1) + 1);
  std::optional<int64_t> best;
  double best_score = fits;
  for (int64_t size = 1; size <= reach; size++)
    for (int64_t shift : {size, -size}) {
      Fit f;
      for (const auto& s : samples) {
        auto n = static_cast<int64_t>(s.got.size());
        // Off the ends the neighbours decide, and they are not in the sample.
        for (int64_t j = std::max<int64_t>(0, shift); j < std::min(n, n + shift); j++)
          f.add(s.got[static_cast<size_t>(j)], s.expected[static_cast<size_t>(j - shift)] - (without_bias ? s.bias : 0),
                without_bias ? 0 : s.bias);
        if (f.places > 256 && f.score() < 0.5) break;
      }
      if (f.score() >= best_score) {
        best_score = f.score() + 1e-12;  // the smallest shift among equals
        best = shift;
      }
    }
  return best;
}

// sums: of the values less their bias.
std::optional<double> find_factor(const std::vector<SampleRow>& samples, bool sums) {
  double factor = 0;
  int64_t zeros = 0, others = 0;  // where something belongs, and what is not zero anywhere
  Fit f;
  for (const auto& s : samples)
    for (size_t j = 0; j < s.got.size(); j++) {
      const double bias = sums ? s.bias : 0, got = s.got[j] - bias, expected = s.expected[j] - bias;
      zeros += expected != 0 && got == 0;
      others += got != 0;
      if (factor == 0 && expected != 0) factor = got / expected;
      // Near 1 a factor is one of rounding (find_nearness()).
      const double slack = std::fabs(factor - 1) > 1e-2 ? a_rounding : 0;
      if (factor != 0)
        f.add(std::fabs(got - factor * expected) <= slack * std::fabs(got) ? factor * expected : got,
              factor * expected);
    }
  if (zeros >= 8 && others == 0) return 0;
  if (f.score() < fits || factor == 1 || !std::isfinite(factor)) return std::nullopt;
  return factor;
}

bool find_missing_bias(const std::vector<SampleRow>& samples) {
  Fit f;
  bool any = false;
  for (const auto& s : samples) {
    any |= s.bias != 0;
    for (size_t j = 0; j < s.got.size(); j++) f.add(s.got[j], s.expected[j] - s.bias);
  }
  return any && f.score() >= fits;
}

// Right but for the bias, which is that of another channel.
bool find_exchanged_bias(const std::vector<SampleRow>& samples, const std::vector<double>& biases) {
  int64_t places = 0, fit = 0, off = 0;
  for (const auto& s : samples)
    for (size_t j = 0; j < s.got.size(); j++) {
      double added = s.got[j] - (s.expected[j] - s.bias);
      places++;
      fit += std::find(biases.begin(), biases.end(), added) != biases.end();
      off += added != s.bias;
    }
  // Small integers meet by chance, but not so often.
  return off >= 32 && fit == places;
}

// More energy than there should be: taps that do not land are added too. About s times when all of them are. They
// would be added as well where none lands at all; without such places, more input channels than a group's own give as
// much.
std::optional<double> find_ghost_energy(const ConvProblem& p, const Comparison& exact,
                                        const std::vector<SampleRow>& samples) {
  const Places& at = exact.places;
  if (at.unreached_total ? 2 * at.unreached_wrong < at.unreached_total : p.groups > 1) return std::nullopt;
  double got = 0, expected = 0;
  for (const auto& s : samples)
    for (size_t j = 0; j < s.got.size(); j++) {
      if (!std::isfinite(s.got[j])) return std::nullopt;
      got += s.got[j] * s.got[j], expected += s.expected[j] * s.expected[j];
    }
  auto stride = static_cast<double>(p.stride);
  if (p.stride == 1 || expected == 0 || got < 1.3 * expected || got < 0.7 * stride * expected ||
      got > 1.4 * stride * expected)
    return std::nullopt;
  return got / expected;
}

// Rows that hold what belongs to another sampled row of their batch: pairs, or all of them the same number of channels
// off.
void find_exchange(const ConvProblem& p, const std::vector<SampleRow>& samples, Pattern& out) {
  std::map<int64_t, int64_t> source;  // of a channel
  for (const auto& a : samples) {
    if (!differs(a)) continue;
    for (const auto& b : samples) {
      if (a.row / p.out_channels != b.row / p.out_channels || a.row == b.row || a.column != b.column) continue;
      Fit f;
      for (size_t j = 0; j < std::min(a.got.size(), b.expected.size()); j++) f.add(a.got[j], b.expected[j], b.bias);
      if (f.score() < fits) continue;
      auto [at, fresh] = source.emplace(a.row % p.out_channels, b.row % p.out_channels);
      if (!fresh && at->second != b.row % p.out_channels) return;  // another one in another batch, or more than one
    }
  }
  for (auto [channel, from] : source)
    if (auto back = source.find(from); back != source.end() && back->second == channel && channel < from)
      out.exchanged.push_back({channel, from});
  if (source.empty() || !out.exchanged.empty()) return;
  std::optional<int64_t> offset;
  for (auto [channel, from] : source) {
    int64_t around = (from - channel + p.out_channels) % p.out_channels;
    if (offset && *offset != around) return;
    offset = around;
  }
  // A wrong row whose source was looked at and does not fit speaks against it.
  for (const auto& a : samples) {
    int64_t channel = a.row % p.out_channels, from = (channel + *offset) % p.out_channels;
    bool looked_at =
        std::any_of(samples.begin(), samples.end(), [&](const auto& b) { return b.row == a.row - channel + from; });
    if (differs(a) && looked_at && !source.contains(channel)) return;
  }
  out.channel_offset = *offset > p.out_channels / 2 ? *offset - p.out_channels : *offset;
}

// The places of two comparisons of the same outputs together: what is clean must be clean in both.
Comparison both(Comparison a, const Comparison& b) {
  auto add = [](std::vector<int64_t>& to, const std::vector<int64_t>& from) {
    for (size_t i = 0; i < std::min(to.size(), from.size()); i++) to[i] += from[i];
  };
  Places& p = a.places;
  const Places& q = b.places;
  a.elements += b.elements, a.failing += b.failing;
  add(p.residue_wrong, q.residue_wrong), add(p.residue_total, q.residue_total), add(p.channel_wrong, q.channel_wrong);
  add(p.batch_wrong, q.batch_wrong), add(p.left_wrong, q.left_wrong), add(p.right_wrong, q.right_wrong);
  p.unreached_wrong += q.unreached_wrong, p.unreached_total += q.unreached_total;
  if (q.first_column >= 0)
    p.first_column = std::min(p.first_column, q.first_column), p.last_column = std::max(p.last_column, q.last_column);
  return a;
}

std::vector<int64_t> nonzero(const std::vector<int64_t>& v) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < v.size(); i++)
    if (v[i]) out.push_back(static_cast<int64_t>(i));
  return out;
}

// "every even output (j mod 2 = 0), where no tap lands, and no odd one" — or "" when all classes are hit alike.
std::string residues(const ConvProblem& p, const Comparison& c) {
  const auto &wrong = c.places.residue_wrong, &total = c.places.residue_total;
  if (wrong.empty()) return "";
  std::vector<int64_t> hit, clean;
  bool whole = true;
  for (size_t r = 0; r < wrong.size(); r++) {
    if (!total[r]) continue;
    (wrong[r] ? hit : clean).push_back(static_cast<int64_t>(r));
    // Small integers meet by chance: a class counts as wrong throughout from 80 % on.
    if (wrong[r]) whole &= wrong[r] >= 0.8 * static_cast<double>(total[r]);
  }
  if (clean.empty() || hit.empty()) return "";
  bool unreached = c.places.unreached_wrong == c.failing;
  std::string zero =
      unreached ? fmt::format(", where no tap lands and {} should stand", p.bias ? "exactly the bias" : "exactly 0")
                : "";
  std::string how = whole ? "" : "some of ";
  if (p.stride == 2)
    return fmt::format("{}{} {} output{} (j mod 2 = {}){}, and no {} one", how, whole ? "every" : "the",
                       hit[0] == 0 ? "even" : "odd", whole ? "" : "s", hit[0], zero, hit[0] == 0 ? "odd" : "even");
  return fmt::format("{}{} output{} with j mod {} in {{{}}}{}, and no other", how, whole ? "every" : "the",
                     whole ? "" : "s", p.stride, ranges(hit), zero);
}

// Wrong only near the ends, within an eighth of the length each: up to the ends themselves, or at some places there.
std::string borders(const Comparison& c, int64_t compared_columns) {
  auto width = static_cast<size_t>(std::min(Places::border, compared_columns / 8));
  auto end = [&](std::vector<int64_t> v) {
    v.resize(width);
    return v;
  };
  auto left = end(c.places.left_wrong), right = end(c.places.right_wrong);
  int64_t at_ends = 0;
  for (size_t i = 0; i < width; i++) at_ends += left[i] + right[i];
  if (at_ends != c.failing) return "";
  auto far_left = nonzero(left), far_right = nonzero(right);
  auto to_the_end = [](const std::vector<int64_t>& v) {
    return v.empty() || v.back() + 1 == static_cast<int64_t>(v.size());
  };
  if (!to_the_end(far_left) || !to_the_end(far_right)) {
    auto all = far_left;
    for (auto from_end = far_right.rbegin(); from_end != far_right.rend(); ++from_end)
      all.push_back(compared_columns - 1 - *from_end);
    return fmt::format("only at position{} {}", all.size() == 1 ? "" : "s", ranges(all));
  }
  std::string out = "only at the border: ";
  if (!far_left.empty()) out += far_left.back() == 0 ? "position 0" : fmt::format("positions 0–{}", far_left.back());
  if (!far_right.empty())
    out += (far_left.empty() ? "" : " and ") + (far_right.back()
                                                    ? fmt::format("the last {} positions", far_right.back() + 1)
                                                    : std::string("the last position"));
  return out;
}

// "from position 64 on": a start or an end that is right, where much of the rest is wrong (a first tile, say).
std::string stretch(const Comparison& c, int64_t compared_columns) {
  constexpr int64_t noticeable = 16;
  if (c.places.first_column == c.places.last_column && compared_columns > 1)
    return fmt::format("only at position {}", c.places.first_column);
  if (c.failing * 10 < c.elements) {
    // Few, and one piece of each row that is longer than borders() looks at.
    const int64_t hit = c.places.last_column - c.places.first_column + 1;
    const auto rows =
        static_cast<int64_t>(nonzero(c.places.channel_wrong).size() * nonzero(c.places.batch_wrong).size());
    if (hit == compared_columns || c.failing != hit * rows) return "";
    if (c.places.last_column == compared_columns - 1) return fmt::format("only the last {} positions", grouped(hit));
    return c.places.first_column == 0
               ? fmt::format("only the first {} positions", grouped(hit))
               : fmt::format("only positions {}–{}", c.places.first_column, c.places.last_column);
  }
  std::string out;
  if (c.places.first_column >= noticeable) out = fmt::format("from position {} on", c.places.first_column);
  if (compared_columns - 1 - c.places.last_column >= noticeable)
    out += fmt::format("{}up to position {}", out.empty() ? "" : " and ", c.places.last_column);
  return out;
}

// "the last 200 elements of y": what a grid that is too small leaves over. Not where it is whole rows, or in one row:
// these have names of their own.
std::string tail(const ConvProblem& p, const Comparison& c) {
  if (!c.first_failing || c.failing < 2 || c.elements != p.y_elements()) return "";
  const ElementReport& f = *c.first_failing;
  if (f.j == 0 || p.batch * p.out_channels == 1) return "";
  int64_t first = (f.n * p.out_channels + f.co) * p.out_length() + f.j;
  if (c.failing != c.elements - first) return "";
  return fmt::format("the last {} elements of y in memory, from n {}, co {}, j {} on", grouped(c.failing), f.n, f.co,
                     f.j);
}

// "in channels 8–15 (every group but the first)"; "" when all channels are hit.
std::string channels(const ConvProblem& p, const Comparison& c) {
  auto hit = nonzero(c.places.channel_wrong);
  if (hit.empty() || static_cast<int64_t>(hit.size()) == p.out_channels) return "";
  std::string note;
  if (p.groups > 1 && hit.front() >= p.out_per_group() &&
      static_cast<int64_t>(hit.size()) == p.out_channels - p.out_per_group())
    note = " (every group but the first)";
  return fmt::format("in channel{} {}{}", hit.size() == 1 ? "" : "s", ranges(hit), note);
}

std::string batches(const ConvProblem& p, const Comparison& c) {
  auto hit = nonzero(c.places.batch_wrong);
  if (p.batch == 1 || hit.empty() || static_cast<int64_t>(hit.size()) == p.batch) return "";
  std::string note = c.failing > 1 && hit.front() == 1 && static_cast<int64_t>(hit.size()) == p.batch - 1
                         ? " (all but the first)"
                         : "";
  return fmt::format("in batch {}{}", ranges(hit), note);
}

// Named after the parameters that have that size: all of them, since any may be the cause. One position may be off by
// anything.
std::string shift_words(const ConvProblem& p, int64_t shift) {
  int64_t size = std::abs(shift);
  std::string name = p.padding == 1 ? ", off by one or by padding" : ", off by one";
  if (size > 1) {
    name.clear();
    for (auto [parameter, value] : {std::pair{"padding", p.padding},
                                    {"2 · padding", 2 * p.padding},
                                    {"output_padding", p.output_padding},
                                    {"stride", p.stride},
                                    {"dilation", p.dilation}})
      if (value == size) name += (name.empty() ? " = " : " or ") + std::string(parameter);
  }
  return fmt::format("the right values, shifted by {}{} position{}{} (y[j] holds what belongs at j {} {})",
                     shift > 0 ? "+" : "−", size, size == 1 ? "" : "s", name, shift > 0 ? "−" : "+", size);
}

// ": divided by 6, the number of input channels": which sizes of the problem a factor is one part of.
std::string divisor_words(const ConvProblem& p, double factor) {
  const double by = 1 / factor;
  if (by < 1.5 || std::fabs(by - std::round(by)) > 1e-4 * by) return "";
  const auto whole = static_cast<int64_t>(std::round(by));
  std::string names;
  for (auto [name, size] : {std::pair{"the number of input channels", p.in_channels},
                            {"the number of input channels of a group", p.groups > 1 ? p.in_per_group() : 0},
                            {"the number of taps", p.kernel_size},
                            {"the number of input channels and taps", p.in_per_group() * p.kernel_size},
                            {"the number of output channels", p.out_channels},
                            {"the stride", p.stride},
                            {"the batch size", p.batch},
                            {"the length", p.length}})
    if (size == whole) names += (names.empty() ? ", " : " or ") + std::string(name);
  return fmt::format(": divided by {}{}", whole, names);
}

// "channels exchanged: 0 and 1, 4 and 5"
std::string exchange_words(const Comparison& c, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  std::string out = "channels exchanged: ";
  constexpr size_t most = 6;
  for (size_t i = 0; i < std::min(pairs.size(), most); i++)
    out += fmt::format("{}{} and {}", i ? ", " : "", pairs[i].first, pairs[i].second);
  // Not all channels were looked at closely.
  if (nonzero(c.places.channel_wrong).size() > 2 * std::min(pairs.size(), most)) out += " and more";
  return out;
}

}  // namespace

Pattern find_pattern(const ConvProblem& p, const Comparison& exact, const std::vector<SampleRow>& samples,
                     const std::vector<double>& biases, const Comparison* requested, const WholeOutput* y,
                     const std::function<std::string()>& behind) {
  Pattern out;
  if (exact.failing == 0) return out;
  if (exact.nan + exact.inf == exact.elements) {
    out.where = !exact.inf ? "NaN everywhere" : !exact.nan ? "Inf everywhere" : "NaN or Inf everywhere";
    return out;
  }
  if (exact.unwritten == exact.elements) {
    out.where = "nothing is written";
    return out;
  }
  const Comparison seen = requested ? both(exact, *requested) : exact;
  int64_t columns = exact.elements / std::max<int64_t>(1, p.batch * p.out_channels);

  // Rows that are right have nothing to explain.
  std::vector<SampleRow> wrong;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(wrong), differs);
  out.activation = find_activation(wrong);
  out.bias_missing = out.activation.empty() && find_missing_bias(wrong);
  if (out.activation.empty() && !out.bias_missing && p.bias) out.bias_times = find_bias_times(p, wrong);
  bool explained = out.bias_missing || !out.bias_times.empty() || !out.activation.empty();
  if (!explained) out.factor = find_factor(wrong, false);
  if (!explained && !out.factor && p.bias) out.factor_of_sums = (out.factor = find_factor(wrong, true)).has_value();
  if (!explained && !out.factor) out.shift = find_shift(p, wrong, false);
  if (!explained && !out.factor && !out.shift && p.bias)
    if ((out.shift = find_shift(p, wrong, true))) out.bias_missing = true;
  explained |= out.factor || out.shift;
  if (!explained) find_exchange(p, samples, out);
  explained |= out.channel_offset || !out.exchanged.empty();
  if (!explained) explained = out.bias_of_others = find_exchanged_bias(wrong, biases);
  if (!explained && y && exact.first_failing) {
    const ElementReport& f = *exact.first_failing;
    out.carried = find_carried_sum(p, wrong, biases, (f.n * p.out_channels + f.co) * y->length + f.j, *y);
    explained = !out.carried.empty();
  }
  if (behind && (!explained || !out.activation.empty()) && exact.nan + exact.inf + exact.unwritten == 0)
    if (std::string words = behind(); !words.empty()) out.activation = words, explained = true;
  if (!explained) explained = out.constant_added = find_added_constant(wrong);
  if (!explained) out.nearness = find_nearness(p, exact, wrong);
  explained |= out.nearness.has_value();
  if (!explained) out.energy = find_ghost_energy(p, exact, wrong);

  std::vector<std::string> parts;
  if (out.shift) parts.push_back(shift_words(p, *out.shift));
  if (!out.activation.empty()) parts.push_back(out.activation);
  if (out.bias_missing) parts.push_back("the bias is missing");
  if (!out.bias_times.empty()) parts.push_back(out.bias_times);
  if (out.bias_of_others) parts.push_back("right but for the bias: that of other channels is added");
  if (!out.carried.empty()) parts.push_back(out.carried);
  if (out.constant_added) parts.push_back("off by a number that is the same all along a channel");
  if (out.nearness)
    parts.push_back(
        fmt::format("every value is near the right one (largest difference 2^{:.0f} of a value's usual size): sums or "
                    "results are rounded or scaled",
                    std::round(std::log2(*out.nearness))));
  if (out.factor)
    parts.push_back(*out.factor == 0
                        ? (out.factor_of_sums ? "the bias alone, without any sum" : "zeros instead of the result")
                        : fmt::format("every {} is {} times the right one{}{}", out.factor_of_sums ? "sum" : "value",
                                      number_text(*out.factor), divisor_words(p, *out.factor),
                                      out.factor_of_sums ? ", and the bias right" : ""));
  if (out.channel_offset)
    parts.push_back(fmt::format("channels exchanged: a channel holds what belongs {} channel{} {}",
                                std::abs(*out.channel_offset), std::abs(*out.channel_offset) == 1 ? "" : "s",
                                *out.channel_offset > 0 ? "later" : "earlier"));
  if (!out.exchanged.empty()) parts.push_back(exchange_words(seen, out.exchanged));
  if (auto last = tail(p, exact); !last.empty()) {
    parts.push_back(last);
  } else {
    // Which values are hit by rounding depends on the values.
    std::string ends = out.nearness ? "" : borders(seen, columns), classes, again, part_of;
    if (!out.nearness && ends.empty()) {  // one place alone says more than its class
      part_of = stretch(seen, columns);
      // Most of what is done to results leaves a 0 one: which have no tap is all that their class would tell.
      if (!part_of.starts_with("only") && out.activation.empty()) classes = residues(p, seen);
      if (!explained && (classes.empty() || classes.starts_with("some of"))) again = find_period(p, wrong);
    }
    if (!classes.empty()) out.energy.reset();  // which outputs are hit says more
    for (auto& part : {classes, again, ends, part_of, channels(p, seen), batches(p, seen)})
      if (!part.empty()) parts.push_back(part);
  }
  if (parts.empty()) {
    // Nothing sets the wrong ones apart: say over what they are spread.
    std::string spread;
    if (p.stride > 1 && !seen.places.residue_wrong.empty())
      spread += fmt::format("in all residues of j mod {}, ", p.stride);
    spread += p.batch > 1 ? "in all channels and batches" : "in all channels";
    if (static_cast<double>(seen.failing) > 0.5 * static_cast<double>(seen.elements))
      spread += ", and no shift explains it";
    parts.push_back(spread);
  }
  if (out.energy)
    parts.push_back(
        fmt::format("with {:.1f} times the energy that belongs there: taps are added that do not land (stride {})",
                    *out.energy, p.stride));
  for (auto [count, what] : {std::pair{exact.nan, "NaN"}, {exact.inf, "Inf"}})
    if (count) parts.push_back((count == exact.failing && count > 1 ? "all" : grouped(count)) + " of them " + what);
  for (size_t i = 0; i < parts.size(); i++) out.where += (i ? "; " : "") + parts[i];
  return out;
}

std::string explain_length(const ConvProblem& p, int64_t own_length) { return explain_lengths({{p, own_length}}); }

std::string explain_lengths(const std::vector<std::pair<ConvProblem, int64_t>>& lengths) {
  // Each change of one parameter on its own, then each two of them.
  struct Change {
    const char* words;
    int64_t ConvProblem::*field;
    int64_t to;
  };
  constexpr Change changes[] = {{"output_padding were 0", &ConvProblem::output_padding, 0},
                                {"dilation were 1", &ConvProblem::dilation, 1},
                                {"padding were 0", &ConvProblem::padding, 0},
                                {"stride were 1", &ConvProblem::stride, 1}};
  auto explain_all = [&](std::initializer_list<const Change*> made) {
    return std::all_of(lengths.begin(), lengths.end(), [&](const auto& one) {
      ConvProblem p = one.first;
      for (const Change* change : made) p.*change->field = change->to;
      return p.out_length() == one.second;
    });
  };
  for (const Change& c : changes)
    if (explain_all({&c})) return fmt::format("as if {}", c.words);
  for (size_t a = 0; a < std::size(changes); a++)
    for (size_t b = a + 1; b < std::size(changes); b++)
      if (explain_all({&changes[a], &changes[b]}))
        return fmt::format("as if {} and {}", changes[a].words, changes[b].words);
  return "";
}

}  // namespace convscope
