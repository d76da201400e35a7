#include "kernels/verify/index_formula.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace convscope {
namespace {

// A term's choices, the definition's first. cost: how unlikely a fault is; the cheapest formula that fits is taken.
struct Choice {
  const char* text;
  double cost;
  const char* fault;
  int64_t (*value)(const ConvProblem&);
};
#define OF(expression) [](const ConvProblem& c) -> int64_t { return (void)c, expression; }

// Added to j.
constexpr Choice offsets[] = {
    {" + p", 0, "", OF(c.padding)},
    {"", 1, "the padding is missing", OF(0)},
    {" − p", 1, "the padding has the wrong sign", OF(-c.padding)},
    {" + 2·p", 1.1, "the padding counts twice", OF(2 * c.padding)},
    {" + p + op", 1.3, "output_padding moves the index", OF(c.padding + c.output_padding)},
    {" + p − op", 1.3, "output_padding moves the index", OF(c.padding - c.output_padding)},
    {" + op", 1.4, "output_padding stands where the padding belongs", OF(c.output_padding)},
    {" + p − 1", 1.5, "the padding is one too small", OF(c.padding - 1)},
    {" + p + 1", 1.5, "the padding is one too large", OF(c.padding + 1)},
    {" + p + d", 1.6, "the dilation is added to the position", OF(c.padding + c.dilation)},
    {" + d·(K − 1) − p", 1.6, "the padding is that of a convolution, d·(K − 1) − p",
     OF(c.dilation*(c.kernel_size - 1) - c.padding)},
    {" + p·d", 1.6, "the padding is multiplied by the dilation", OF(c.padding* c.dilation)},
    {" + p·s", 2.1, "the padding is multiplied by the stride", OF(c.padding* c.stride)},
    {" + p/2", 1.7, "half of the padding is taken", OF(c.padding / 2)},
    {" − 1", 1.9, "the padding is missing, and the position is off by one", OF(-1)},
    {" + 1", 1.9, "a 1 stands where the padding belongs", OF(1)},
    {" + s", 1.4, "the stride stands where the padding belongs", OF(c.stride)},
    {" + d", 1.6, "the dilation stands where the padding belongs", OF(c.dilation)},
    {" + d·(K − 1)/2", 1.5, "the padding is d·(K − 1)/2, which keeps the length, whatever p is",
     OF(c.dilation*(c.kernel_size - 1) / 2)},
};
constexpr int no_offset = 1, offset_s = 16, offset_d = 17;
static_assert(std::string_view(offsets[no_offset].text).empty() && std::string_view(offsets[offset_s].text) == " + s" &&
              std::string_view(offsets[offset_d].text) == " + d");
// k times this is taken off.
constexpr Choice tap_steps[] = {
    {" − k·d", 0, "", OF(c.dilation)},
    {" − k", 1, "the dilation is missing", OF(1)},
    {" − k·s", 1.1, "the stride stands where the dilation belongs", OF(c.stride)},
    {" + k·d", 1.1, "taps are added where they are to be taken off", OF(-c.dilation)},
    {" + k", 2, "the dilation is missing, and taps are added where they are to be taken off", OF(-1)},
    {" − k·(d + 1)", 1.4, "the dilation is one too large", OF(c.dilation + 1)},
    {" − k·(d − 1)", 1.4, "the dilation is one too small", OF(c.dilation - 1)},
    {" − k·d·s", 1.5, "the dilation is multiplied by the stride", OF(c.dilation* c.stride)},
    {"", 1.6, "the tap is missing", OF(0)},
    {" − k·p", 1.6, "the padding stands where the dilation belongs", OF(c.padding)},
    {" − k·op", 1.7, "output_padding stands where the dilation belongs", OF(c.output_padding)},
};
constexpr int no_dilation = 1, tap_s = 2, tap_p = 9;
static_assert(std::string_view(tap_steps[no_dilation].text) == " − k" &&
              std::string_view(tap_steps[tap_s].text) == " − k·s" &&
              std::string_view(tap_steps[tap_p].text) == " − k·p");
constexpr Choice divisors[] = {
    {"/s", 0, "", OF(c.stride)},
    {"", 1, "the stride is missing", OF(1)},
    {"/d", 1.1, "the dilation stands where the stride belongs", OF(c.dilation)},
    {"/(s − 1)", 1.4, "the stride is one too small", OF(c.stride - 1)},
    {"/(s + 1)", 1.4, "the stride is one too large", OF(c.stride + 1)},
    {"/p", 1.4, "the padding stands where the stride belongs", OF(c.padding)},
};
constexpr int no_divisor = 1, divisor_d = 2, divisor_p = 5;
static_assert(std::string_view(divisors[no_divisor].text).empty() &&
              std::string_view(divisors[divisor_d].text) == "/d" && std::string_view(divisors[divisor_p].text) == "/p");
// Added after the division.
constexpr Choice outsides[] = {
    {"", 0, "", OF(0)},
    {" − p", 1, "the padding is taken off after the division", OF(-c.padding)},
    {" + p", 1, "the padding is added after the division", OF(c.padding)},
    {" − 1", 1.4, "the input is one too far left", OF(-1)},
    {" + 1", 1.4, "the input is one too far right", OF(1)},
};
// up_above, nearest_above and by_dilation take no numerator below zero.
// by_phase, by_position and by_shifted cut quotients off, and take no numerator below zero, nor does by_first.
enum Rounding {
  exact,
  cut_off,
  down,
  up,
  nearest,
  up_above,
  nearest_above,
  by_bits,
  by_dilation,
  by_phase,
  by_position,
  by_shifted,
  by_first
};
constexpr const char *rounded_up = "nothing asks whether the stride divides: quotients are rounded up",
                     *to_nearest = "nothing asks whether the stride divides: quotients are rounded to the nearest";
constexpr Choice roundings[] = {
    {"", 0, "", nullptr},
    {", quotients cut off", 1, "nothing asks whether the stride divides: quotients are cut off", nullptr},
    {", quotients rounded down", 1.05, "nothing asks whether the stride divides: quotients are rounded down", nullptr},
    {", quotients rounded up", 1.2, rounded_up, nullptr},
    {", quotients rounded to the nearest", 1.3, to_nearest, nullptr},
    {", quotients rounded up", 1.25, rounded_up, nullptr},
    {", quotients rounded to the nearest", 1.35, to_nearest, nullptr},
    {", where the last bits of the numerator are none of s − 1", 1.3,
     "whether the stride divides is asked by & (s − 1): that is right for powers of two only", nullptr},
    {", where d divides the numerator", 1.2, "the dilation is asked whether it divides, and not the stride", nullptr},
    {", for the taps k = (j + p) mod s, + s, + 2·s, …", 1.15,
     "the loop over taps steps by s from (j + p) mod s: that is right where the dilation is 1 (mod s) "
     "alone",
     nullptr},
    {", where s divides j", 1.3, "whether the stride divides is asked of j, where j + p − k·d belongs", nullptr},
    {", where s divides j + p", 1.3, "whether the stride divides is asked of j + p, where j + p − k·d belongs",
     nullptr},
    {", for the first tap that lands and every s-th behind it", 1.25,
     "the loop over taps steps by s from the first that lands: taps between them land as well where stride and "
     "dilation have a common divisor",
     nullptr},
};
constexpr Choice weights[] = {
    {"", 0, "", nullptr},
    {", with w[ci, co, K − 1 − k]", 1, "the taps of w are taken in reverse order", nullptr},
};
constexpr Choice tap_ranges[] = {
    {"", 0, "", nullptr},
    {", k from 1", 1.2, "the first tap is left out", nullptr},
    {", k up to K − 2", 1.2, "the last tap is left out", nullptr},
    {", of the taps that land the last alone", 1.2, only_the_last_tap, nullptr},
    {", up to the first tap that does not land", 1.25,
     "the loop over taps ends at the first that does not land: a break where continue belongs", nullptr},
    {", up to the first tap where the stride does not divide", 1.3,
     "the loop over taps ends at the first where the stride does not divide: a break where continue belongs", nullptr},
    {", up to the first tap where i ≥ L", 1.3,
     "the loop over taps ends at the first where i ≥ L: a break where continue belongs", nullptr},
};
// to_first_…: of loops that end there.
enum TapRange { all_taps, not_first_tap, not_last_tap, last_alone, to_first_off, to_first_rest, to_first_behind };
constexpr Choice input_ranges[] = {
    {"", 0, "", nullptr},
    {", i > 0", 1.2, "the first input is left out", nullptr},
    {", i < L − 1", 1.2, "the last input is left out", nullptr},
    {", also where i ≥ L", 1, "nothing asks whether i < L: what lies behind a row of x is read", nullptr},
    {", also where i < 0", 1, "nothing asks whether i ≥ 0: what lies before a row of x is read", nullptr},
    {", also outside of x", 1.1, "nothing asks whether 0 ≤ i < L: what lies beside a row of x is read", nullptr},
    {", i ≤ L", 1.05, "the test lets i = L pass: what lies behind a row of x is read", nullptr},
    {", i ≥ −1", 1.05, "the test lets i = −1 pass: what lies before a row of x is read", nullptr},
    {", i clamped to 0 … L − 1", 1.1, "inputs outside of x count as its nearest one, where they count as nothing",
     nullptr},
    {", i clamped to 0 from below", 1.2, "inputs before x count as its first one, where they count as nothing",
     nullptr},
    {", i clamped to L − 1 from above", 1.2, "inputs behind x count as its last one, where they count as nothing",
     nullptr},
    {", i % L", 1.15, "inputs behind x are taken from its begin, where they count as nothing: i % L", nullptr},
    {", i modulo L", 1.1, "inputs outside of x are taken from its other end, where they count as nothing", nullptr},
};
enum InputRange {
  all_inputs,
  not_first,
  not_last,
  any_behind,
  any_before,
  any_beside,
  one_behind,
  one_before,
  clamped,
  from_below,
  from_above,
  remainder,
  wrapped
};

// One problem's numbers for a formula.
struct Numbers {
  int64_t offset, tap, divisor, outside;
};
Numbers numbers_of(const IndexFormula& f, const ConvProblem& p) {
  return {f.fixed.offset.value_or(offsets[f.offset].value(p)), f.fixed.tap.value_or(tap_steps[f.tap].value(p)),
          f.fixed.divisor.value_or(divisors[f.divisor].value(p)), outsides[f.outside].value(p)};
}

int64_t input_by(const IndexFormula& f, const Numbers& v, const ConvProblem& p, int64_t k, int64_t j) {
  const int64_t K = p.kernel_size;
  if (f.weight == 1) k = K - 1 - k;  // the tap of w is the loop's from the other end
  if ((f.taps == not_first_tap && k == 0) || (f.taps == not_last_tap && k == K - 1) || v.divisor <= 0)
    return IndexMap::none;
  if (f.fixed.taps && k >= *f.fixed.taps) return IndexMap::none;
  const int64_t t = f.convolution ? j * p.stride - p.padding + k * p.dilation : j + v.offset - k * v.tap;
  if (f.convolution) return t < 0 || t >= p.length ? int64_t{IndexMap::none} : t;
  int64_t i = t / v.divisor;
  const int64_t rest = t % v.divisor;
  switch (f.rounding) {
    case exact:
      if (rest != 0) return IndexMap::none;
      break;
    case cut_off:
      break;
    case by_bits:
      if (t & (v.divisor - 1)) return IndexMap::none;
      break;
    case by_dilation:
      if (t < 0 || t % p.dilation != 0) return IndexMap::none;
      break;
    case by_phase:
      if (t < 0 || (j + v.offset - k) % v.divisor != 0) return IndexMap::none;
      break;
    case by_first: {
      if (t < 0 || rest != 0) return IndexMap::none;
      int64_t first = 0;
      while (first < k && (j + v.offset - first * v.tap) % v.divisor != 0) first++;
      if ((k - first) % v.divisor != 0) return IndexMap::none;
      break;
    }
    case by_position:
      if (t < 0 || j % v.divisor != 0) return IndexMap::none;
      break;
    case by_shifted:
      if (t < 0 || (j + v.offset) % v.divisor != 0) return IndexMap::none;
      break;
    case down:
      i -= rest < 0;
      break;
    case up_above:
      if (t < 0) return IndexMap::none;
      [[fallthrough]];
    case up:  // as it is written in C, where it is cut off towards zero
      i = (t + v.divisor - 1) / v.divisor;
      break;
    case nearest_above:
      if (t < 0) return IndexMap::none;
      [[fallthrough]];
    case nearest:
      i = (t + v.divisor / 2) / v.divisor;
      break;
  }
  i += v.outside;
  const int64_t L = p.length;
  int64_t first = 0, end = L;  // what is let pass
  switch (f.inputs) {
    case not_first:
      first = 1;
      break;
    case not_last:
      end = L - 1;
      break;
    case any_behind:
      end = std::numeric_limits<int64_t>::max();
      break;
    case any_before:
      first = std::numeric_limits<int64_t>::min();
      break;
    case any_beside:
      first = std::numeric_limits<int64_t>::min(), end = std::numeric_limits<int64_t>::max();
      break;
    case one_behind:
      end = L + 1;
      break;
    case one_before:
      first = -1;
      break;
    case clamped:
      return std::clamp(i, int64_t{0}, L - 1);
    case from_below:
      return i >= L ? int64_t{IndexMap::none} : std::max(i, int64_t{0});
    case from_above:
      return i < 0 ? int64_t{IndexMap::none} : std::min(i, L - 1);
    case remainder:  // of an i before x it lies before x, and is read there
      return i % L;
    case wrapped:
      return (i % L + L) % L;
    default:
      break;
  }
  return i < first || i >= end ? int64_t{IndexMap::none} : i;
}

// Whether a tap behind this one brings an input to the same output.
bool another_lands(const IndexFormula& f, const Numbers& v, const ConvProblem& p, int64_t k, int64_t j) {
  while (++k < p.kernel_size)
    if (input_by(f, v, p, k, j) != IndexMap::none) return true;
  return false;
}

// Whether a loop over taps that ends where one does not land, or is not to be divided, has ended before this one.
bool has_ended(const IndexFormula& f, const Numbers& v, const ConvProblem& p, int64_t k, int64_t j) {
  if (f.taps < to_first_off || f.convolution || v.divisor <= 0) return false;
  for (int64_t before = 0; before < k; before++) {
    const int64_t t = j + v.offset - before * v.tap;
    const bool ends = f.taps == to_first_rest     ? t % v.divisor != 0
                      : f.taps == to_first_behind ? t % v.divisor == 0 && t / v.divisor >= p.length
                                                  : input_by(f, v, p, before, j) == IndexMap::none;
    if (ends) return true;
  }
  return false;
}

// Whether the loop over taps leaves it out for what other taps do.
bool is_passed_over(const IndexFormula& f, const Numbers& v, const ConvProblem& p, int64_t k, int64_t j) {
  return has_ended(f, v, p, k, j) || (f.taps == last_alone && another_lands(f, v, p, k, j));
}

// What a map has for it: of rows of x that lie beside each other, none sees what is further away than all of x.
int64_t seen_by(const IndexFormula& f, const Numbers& v, const ConvProblem& p, int64_t k, int64_t j) {
  if (is_passed_over(f, v, p, k, j)) return IndexMap::none;
  const int64_t i = input_by(f, v, p, k, j), others = (p.batch * p.in_channels - 1) * p.length;
  return i < -others || i >= p.length + others ? int64_t{IndexMap::none} : i;
}

bool gives(const IndexFormula& f, const TapMap& m) {
  const Numbers v = numbers_of(f, m.problem);
  for (int64_t k = 0; k < m.problem.kernel_size; k++)
    for (int64_t j = 0; j < m.positions; j++)
      if (seen_by(f, v, m.problem, k, j) != m.at(k, j)) return false;
  return true;
}

// Two that stand in each other's place are one fault: arguments in another order.
struct Exchange {
  const char* fault = nullptr;
  bool offset = false, tap = false, divisor = false;  // whose terms it is
};
Exchange exchange_of(const IndexFormula& f) {
  if (f.offset == offset_s && f.divisor == divisor_p)
    return {"the stride and the padding are exchanged", true, false, true};
  if (f.offset == offset_d && f.tap == tap_p) return {"the padding and the dilation are exchanged", true, true, false};
  if (f.tap == tap_s && f.divisor == divisor_d) return {"the stride and the dilation are exchanged", false, true, true};
  return {};
}

// The first number is unlikelier than a fault with a name of its own; who writes one writes more of them.
double cost_of(const IndexFormula::Fixed& f) {
  constexpr double first = 2.2, another = 0.2;
  const int numbers = f.offset.has_value() + f.tap.has_value() + f.divisor.has_value() + f.taps.has_value();
  return numbers ? first + another * (numbers - 1) : 0;
}

double cost_of(const IndexFormula& f) {
  constexpr double cost_of_exchange = 1.65;
  const Exchange e = exchange_of(f);
  constexpr double cost_of_convolution = 1.2;
  return (f.convolution ? cost_of_convolution : 0) + (e.fault ? cost_of_exchange : 0) +
         (e.offset ? 0 : offsets[f.offset].cost) + (e.tap ? 0 : tap_steps[f.tap].cost) +
         (e.divisor ? 0 : divisors[f.divisor].cost) + roundings[f.rounding].cost + outsides[f.outside].cost +
         weights[f.weight].cost + tap_ranges[f.taps].cost + input_ranges[f.inputs].cost + cost_of(f.fixed);
}

template <size_t N>
constexpr int count(const Choice (&)[N]) {
  return static_cast<int>(N);
}

}  // namespace

int64_t input_of(const IndexFormula& f, const ConvProblem& p, int64_t k, int64_t j) {
  const Numbers v = numbers_of(f, p);
  return is_passed_over(f, v, p, k, j) ? int64_t{IndexMap::none} : input_by(f, v, p, k, j);
}

std::string IndexFormula::text() const {
  auto number = [](const char* before, int64_t v) { return before + std::to_string(v); };
  if (convolution) return std::string("i = j·s − p + k·d") + weights[weight].text + tap_ranges[taps].text;
  std::string inner = "j";
  inner += fixed.offset ? number(*fixed.offset < 0 ? " − " : " + ", std::abs(*fixed.offset)) : offsets[offset].text;
  inner += fixed.tap ? number(" − k·", *fixed.tap) : tap_steps[tap].text;
  const std::string by = fixed.divisor ? number("/", *fixed.divisor) : divisors[divisor].text;
  if (!by.empty()) inner = "(" + inner + ")" + by;
  return "i = " + inner + outsides[outside].text + roundings[rounding].text + weights[weight].text +
         tap_ranges[taps].text + (fixed.taps ? number(", k up to ", *fixed.taps - 1) : "") + input_ranges[inputs].text;
}

std::vector<std::pair<std::string, int64_t>> IndexFormula::fixed_parameters() const {
  std::vector<std::pair<std::string, int64_t>> list;
  if (!fixed.any()) return list;
  auto add = [&](const char* name, std::optional<int64_t> number, bool missing, int64_t as) {
    if (number || missing) list.emplace_back(name, number.value_or(as));
  };
  add("stride", fixed.divisor, divisor == no_divisor, 1);
  add("padding", fixed.offset, offset == no_offset, 0);
  add("dilation", fixed.tap, tap == no_dilation, 1);
  add("kernel_size", fixed.taps, false, 0);
  return list;
}

std::vector<std::string> IndexFormula::faults() const {
  std::vector<std::string> list;
  auto add = [&](const char* fault) {
    if (*fault) list.emplace_back(fault);
  };
  if (convolution) add("it computes a convolution, and not its transpose");
  const Exchange e = exchange_of(*this);
  if (e.fault) add(e.fault);
  const auto numbers_in_it = fixed_parameters();
  std::string words;
  for (size_t i = 0; i < numbers_in_it.size(); i++) {
    const auto& [name, value] = numbers_in_it[i];
    words += i == 0 ? "" : i + 1 == numbers_in_it.size() ? " and " : ", ";
    words += (name == "kernel_size" ? "kernel size" : name) + " " + std::to_string(value);
  }
  const bool numbers = fixed.any();
  if (numbers) add((words + (numbers_in_it.size() == 1 ? " is" : " are") + fixed_in_it).c_str());
  // What stands on the wrong side of the division is one fault, not two.
  if (numbers && (fixed.offset || offset == no_offset))
    add(outsides[outside].fault);
  else if (offset == no_offset && outside == 1)
    add("the padding stands outside of the division, with the wrong sign");
  else if (offset == no_offset && outside == 2)
    add("the padding stands outside of the division");
  else
    add(e.offset ? "" : offsets[offset].fault), add(outsides[outside].fault);
  if (!(numbers && (fixed.tap || tap == no_dilation))) add(e.tap ? "" : tap_steps[tap].fault);
  if (!(numbers && (fixed.divisor || divisor == no_divisor))) add(e.divisor ? "" : divisors[divisor].fault);
  add(roundings[rounding].fault);
  add(weights[weight].fault), add(tap_ranges[taps].fault), add(input_ranges[inputs].fault);
  return list;
}

int64_t flat_input(const ConvProblem& p, int64_t weight, int64_t n, int64_t co, int64_t j) {
  const int64_t a = weight / (p.out_per_group() * p.kernel_size), b = weight / p.kernel_size % p.out_per_group();
  if (co / p.out_per_group() != a / p.in_per_group() || co % p.out_per_group() != b) return IndexMap::none;
  const int64_t i = input_of({}, p, weight % p.kernel_size, j);
  return i < 0 ? int64_t{IndexMap::none} : (n * p.in_channels + a) * p.length + i;
}

namespace {

// Numbers in the place of terms, each where the maps' problems have several values of what belongs there.
// f: the formula that promising() and consider() look at.
template <class Promising, class Consider>
void fit_numbers(const std::vector<TapMap>& maps, IndexFormula& f, Promising promising, Consider consider) {
  constexpr int64_t most = 32, most_taps = 6;
  auto several = [&](int64_t ConvProblem::*field) {
    return std::any_of(maps.begin(), maps.end(),
                       [&](const TapMap& m) { return m.problem.*field != maps[0].problem.*field; });
  };
  const bool strides = several(&ConvProblem::stride), dilations = several(&ConvProblem::dilation),
             paddings = several(&ConvProblem::padding), sizes = several(&ConvProblem::kernel_size);
  // The term's own choices, then numbers; 0 and 1 are choices where something is missing.
  auto each = [&](int& term, int choices, std::optional<int64_t>& number, int64_t from, bool numbers, auto inner) {
    for (term = 0; term < choices; term++)
      if (promising()) inner();
    term = 0;
    for (int64_t v = from; numbers && v <= most; v++)
      if (number = v; v != 0 && promising()) inner();
    number.reset();
  };
  auto others = [&] {
    if (sizes)
      for (f.fixed.taps = 1; *f.fixed.taps <= most_taps; ++*f.fixed.taps) consider();
    f.fixed.taps.reset();
    if (!f.fixed.any()) return;
    for (f.rounding = exact; f.rounding <= down; f.rounding++)
      for (f.inputs = all_inputs; f.inputs <= any_beside; f.inputs++) consider();
    f.rounding = exact, f.inputs = all_inputs;
  };
  each(f.divisor, count(divisors), f.fixed.divisor, 2, strides, [&] {
    each(f.tap, count(tap_steps), f.fixed.tap, 2, dilations,
         [&] { each(f.offset, count(offsets), f.fixed.offset, -2, paddings, others); });
  });
}

}  // namespace

std::optional<IndexFormula> fit(const std::vector<TapMap>& maps) {
  std::optional<IndexFormula> best;
  double least = 1e9;
  IndexFormula f;
  auto consider = [&] {
    const double cost = cost_of(f);
    if (cost >= least) return;
    for (const auto& m : maps)
      if (!gives(f, m)) return;
    least = cost, best = f;
  };
  constexpr double most = 4.7;  // four faults at once: with more, anything can be put into a formula
  auto each = [&](int& term, int choices, auto inner) {
    for (term = 0; term < choices; term++)
      if (const double cost = cost_of(f); cost < least && cost <= most) inner();
    term = 0;
  };
  f.convolution = true;
  each(f.weight, count(weights), [&] { each(f.taps, count(tap_ranges), consider); });
  f.convolution = false;
  each(f.offset, count(offsets), [&] {
    each(f.tap, count(tap_steps), [&] {
      each(f.divisor, count(divisors), [&] {
        each(f.rounding, count(roundings), [&] {
          each(f.outside, count(outsides), [&] {
            each(f.weight, count(weights),
                 [&] { each(f.taps, count(tap_ranges), [&] { each(f.inputs, count(input_ranges), consider); }); });
          });
        });
      });
    });
  });
  fit_numbers(
      maps, f, [&] { return cost_of(f) < least && cost_of(f) <= most; }, consider);
  return best;
}

}  // namespace convscope
