#include "app/model/document.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"

namespace convscope {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

const char* field_of(Role r) { return r == Role::input ? "input" : r == Role::weight ? "weight" : "bias-values"; }

// A file sets the shape of its tensor: with one loaded, these parameters cannot move away from it.
void check_source(const ConvProblem& p, Role role, const TensorSource& s, const std::vector<int64_t>& shape) {
  const char* field = field_of(role);
  if (s.kind != InputKind::file) return;
  if (!s.values) throw InputError(field, s.file, "was not read");
  if (s.values->dtype != p.dtype)
    throw InputError(field, s.file,
                     fmt::format("holds {}, the problem is {}", name_of(s.values->dtype), name_of(p.dtype)));
  if (s.values->shape != shape)
    throw InputError(
        field, s.file,
        fmt::format("has shape [{}], the problem needs [{}]: change the problem back, or take other values",
                    fmt::join(s.values->shape, ", "), fmt::join(shape, ", ")));
}

void require_whole(const Document& d) {
  require_legal(d.problem);
  if (d.kernel.empty()) throw InputError("kernel", "''", "must have a name");
  if (d.compare_with.empty()) throw InputError("compare-with", "''", "must have a name");
  for (double t : {d.atol, d.rtol})
    if (!(t >= 0) || !std::isfinite(t))
      throw InputError("tolerance", fmt::format("{}", t), "must be a number that is not negative");
  const auto& p = d.problem;
  check_source(p, Role::input, d.inputs.x, {p.batch, p.in_channels, p.length});
  check_source(p, Role::weight, d.inputs.w, {p.in_channels, p.out_per_group(), p.kernel_size});
  if (p.bias) check_source(p, Role::bias, d.inputs.b, {p.out_channels});
  if (auto e = check_accuracy(p.dtype, d.accuracy)) throw *e;
}

}  // namespace

Document::Document() : problem(find_preset("kernelbench-79-small").problem) {}

bool needs_run(const Document& from, const Document& to) {
  return !(from.problem == to.problem && from.inputs == to.inputs && from.kernel == to.kernel &&
           from.accuracy == to.accuracy && from.device == to.device);
}

Document apply(const Document& from, const Change& change) {
  Document d = from;
  std::visit(
      Overload{
          [&](const SetProblem& c) { d.problem = c.problem; },
          [&](const LoadPreset& c) {
            d.problem = find_preset(c.name).problem;
            // Files fit one shape: with another problem the usual values come back.
            for (auto* s : {&d.inputs.x, &d.inputs.w, &d.inputs.b})
              if (s->kind == InputKind::file) *s = {s == &d.inputs.x ? InputKind::random : InputKind::initial, {}, {}};
            if (d.problem.dtype != DType::f32) d.accuracy = Accuracy::strict;
          },
          [&](const SetKernel& c) {
            d.kernel = c.name;
            if (d.compare_with == d.kernel) d.compare_with = Document().compare_with;  // beside itself says nothing
          },
          [&](const SetCompareWith& c) { d.compare_with = c.name; },
          [&](const SetSource& c) {
            TensorSource& s = c.role == Role::input ? d.inputs.x : c.role == Role::weight ? d.inputs.w : d.inputs.b;
            s = c.source;
            if (!s.values) return;
            // Its shape sets the problem, as on the command line.
            const auto& shape = s.values->shape;
            auto& p = d.problem;
            size_t dimensions = c.role == Role::bias ? 1 : 3;
            if (shape.size() != dimensions)
              throw InputError(field_of(c.role), s.file,
                               fmt::format("has {} dimensions and must have {}", shape.size(), dimensions));
            if (c.role == Role::input) p.batch = shape[0], p.in_channels = shape[1], p.length = shape[2];
            if (c.role == Role::weight)
              p.in_channels = shape[0], p.out_channels = shape[1] * p.groups, p.kernel_size = shape[2];
            if (c.role == Role::bias) p.out_channels = shape[0], p.bias = true;
          },
          [&](const SetSeed& c) { d.inputs.seed = c.seed; },
          [&](const SetTolerance& c) { d.atol = c.atol, d.rtol = c.rtol; },
          [&](const SetAccuracy& c) { d.accuracy = c.accuracy; },
          [&](const SetDevice& c) { d.device = c.name; },
          [&](const ReplaceDocument& c) { d = c.document; },
      },
      change);
  require_whole(d);
  return d;
}

ConvProblem short_piece(const Document& d) {
  constexpr double work = 60e6;          // operations: somewhat more than #79-small has
  constexpr int64_t elements = 1 << 20;  // of the output
  const ConvProblem whole = d.problem;
  auto large = [](const ConvProblem& p) { return flops(p) > work || p.y_elements() > elements; };
  if (!large(whole) || d.inputs.x.kind == InputKind::file) return whole;
  ConvProblem p = whole;
  p.batch = 1;
  while (large(p) && p.length > 16) {
    ConvProblem shorter = p;
    shorter.length = std::max<int64_t>(16, p.length / 2 / 16 * 16);
    if (check(shorter)) break;
    p = shorter;
  }
  return p;
}

// Of files the names, as everywhere; where two of one name differ by their folders, these as well.
static std::pair<std::string, std::string> kernels_named(const Document& one, const Document& other) {
  const std::string a = file_name(one.kernel), b = file_name(other.kernel);
  return a == b ? std::pair(one.kernel, other.kernel) : std::pair(a, b);
}

std::string describe_change(const Document& from, const Document& to) {
  std::vector<std::string> parts;
  for (const auto& f : problem_fields())
    if (from.problem.*f.value != to.problem.*f.value)
      parts.push_back(fmt::format("{} {} → {}", f.name, from.problem.*f.value, to.problem.*f.value));
  if (from.problem.bias != to.problem.bias) parts.push_back(to.problem.bias ? "bias on" : "bias off");
  if (from.problem.dtype != to.problem.dtype)
    parts.push_back(fmt::format("dtype {} → {}", name_of(from.problem.dtype), name_of(to.problem.dtype)));
  if (parts.size() > 2) {
    std::string preset = preset_in_words(to.problem);
    parts = {preset.empty() ? "problem" : "problem " + preset};
  }
  const auto [before, after] = kernels_named(from, to);
  if (from.kernel != to.kernel) parts.push_back(fmt::format("kernel {} → {}", before, after));
  if (from.compare_with != to.compare_with) parts.push_back("compare with " + to.compare_with);
  if (!(from.inputs.x == to.inputs.x)) parts.push_back("input values");
  if (!(from.inputs.w == to.inputs.w)) parts.push_back("weight values");
  if (!(from.inputs.b == to.inputs.b)) parts.push_back("bias values");
  if (from.inputs.seed != to.inputs.seed)
    parts.push_back(fmt::format("seed {} → {}", from.inputs.seed, to.inputs.seed));
  if (from.atol != to.atol || from.rtol != to.rtol) parts.push_back("tolerance");
  if (from.accuracy != to.accuracy) parts.push_back(fmt::format("accuracy {}", name_of(to.accuracy)));
  if (from.device != to.device) parts.push_back("device " + to.device);
  return fmt::format("{}", fmt::join(parts, ", "));
}

Difference describe_difference(const Document& one, const Document& other) {
  std::vector<std::string> a, b;
  auto add = [&](bool differs, std::string of_one, std::string of_other) {
    if (differs) a.push_back(std::move(of_one)), b.push_back(std::move(of_other));
  };
  const ConvProblem &p = one.problem, &q = other.problem;
  for (const auto& f : problem_fields())
    add(p.*f.value != q.*f.value, fmt::format("{} {}", f.name, p.*f.value), fmt::format("{} {}", f.name, q.*f.value));
  add(p.bias != q.bias, p.bias ? "bias on" : "bias off", q.bias ? "bias on" : "bias off");
  add(p.dtype != q.dtype, fmt::format("dtype {}", name_of(p.dtype)), fmt::format("dtype {}", name_of(q.dtype)));
  // A name says more than many parameters.
  if (a.size() > 2)
    for (auto [parts, preset] : {std::pair{&a, preset_in_words(p)}, {&b, preset_in_words(q)}})
      if (!preset.empty()) *parts = {"problem " + preset};
  const auto [kernel, other_kernel] = kernels_named(one, other);
  add(one.kernel != other.kernel, "kernel " + kernel, "kernel " + other_kernel);
  add(one.compare_with != other.compare_with, "compared with " + one.compare_with,
      "compared with " + other.compare_with);
  auto values = [](const char* name, const TensorSource& s) {
    auto info = std::find_if(input_kinds.begin(), input_kinds.end(), [&](const auto& i) { return i.kind == s.kind; });
    return fmt::format("{} {}", name, info == input_kinds.end() ? std::string_view(s.file) : info->name);
  };
  auto source = [&](const char* name, const TensorSource& s, const TensorSource& t) {
    const std::string u = values(name, s), v = values(name, t);
    add(!(s == t), u, u == v ? fmt::format("other {} values", name) : v);  // a file of that name that has changed
  };
  source("input", one.inputs.x, other.inputs.x);
  source("weight", one.inputs.w, other.inputs.w);
  source("bias", one.inputs.b, other.inputs.b);
  add(one.inputs.seed != other.inputs.seed, fmt::format("seed {}", one.inputs.seed),
      fmt::format("seed {}", other.inputs.seed));
  add(one.atol != other.atol || one.rtol != other.rtol, fmt::format("tolerance {:g}, {:g}", one.atol, one.rtol),
      fmt::format("tolerance {:g}, {:g}", other.atol, other.rtol));
  add(one.accuracy != other.accuracy, fmt::format("accuracy {}", name_of(one.accuracy)),
      fmt::format("accuracy {}", name_of(other.accuracy)));
  add(one.device != other.device, "device " + one.device, "device " + other.device);
  return {fmt::format("{}", fmt::join(a, ", ")), fmt::format("{}", fmt::join(b, ", "))};
}

std::string other_document_words(const Document& shown, const Document& asked) {
  const Difference d = describe_difference(shown, asked);
  return "of " + d.one + "; now: " + d.other;
}

ConvProblem with(ConvProblem p, int64_t ConvProblem::*field, int64_t value) {
  using P = ConvProblem;
  p.*field = value;
  if (field == &P::stride || field == &P::dilation)
    p.output_padding = std::min(p.output_padding, std::max<int64_t>(0, std::max(p.stride, p.dilation) - 1));
  return p;
}

Span slider_span(const ConvProblem& p, int64_t ConvProblem::*field) {
  using P = ConvProblem;
  auto legal = [&](int64_t v) { return !check(with(p, field, v)); };
  const int64_t value = p.*field;
  if (field == &P::groups) {
    int64_t most = std::gcd(p.in_channels, p.out_channels);
    return {legal(1) ? 1 : value, legal(most) ? most : value};
  }
  // As far as the sizes people look at go; a typed number may go further.
  Span span{1, 512};  // channels
  if (field == &P::stride || field == &P::dilation) span = {1, 16};
  if (field == &P::kernel_size) span = {1, 32};
  if (field == &P::batch) span = {1, 64};
  if (field == &P::length) span = {1, 8192};
  if (field == &P::padding) span = {0, 32};
  if (field == &P::output_padding) span = {0, std::max(p.stride, p.dilation) - 1};
  // Legal values are the whole steps of one interval around the present one: bisect for either end.
  int64_t step = field == &P::in_channels || field == &P::out_channels ? p.groups : 1;
  auto reach = [&](int64_t end) {
    int64_t way = end < value ? -step : step, good = 0, bad = std::abs(end - value) / step + 1;
    while (bad - good > 1) {
      int64_t middle = good + (bad - good) / 2;
      (legal(value + way * middle) ? good : bad) = middle;
    }
    return value + way * good;
  };
  return {reach(std::min(span.low, value)), reach(std::max(span.high, value))};
}

int64_t stepped(const ConvProblem& p, int64_t ConvProblem::*field, int64_t by) {
  using P = ConvProblem;
  constexpr int64_t furthest = 4096;
  auto legal = [&](int64_t v) { return !check(with(p, field, v)); };
  const int64_t value = p.*field, way = by < 0 ? -1 : 1, most = std::numeric_limits<int64_t>::max() / 2;
  const int64_t steps = std::abs(std::clamp(by, -furthest, furthest)),
                aim = std::clamp(value, -most, most) + way * steps;
  // So far may two legal numbers be from each other: divisors of channels, multiples of groups.
  const int64_t apart = field == &P::groups ? std::min(p.in_channels, p.out_channels)
                        : field == &P::in_channels || field == &P::out_channels ? p.groups
                                                                                : 1;
  for (int64_t i = 0; steps > 0 && i < std::clamp(apart, int64_t{1}, furthest); i++)
    if (legal(aim + way * i)) return aim + way * i;
  for (int64_t i = 1; i < steps; i++)
    if (legal(aim - way * i)) return aim - way * i;
  return value;
}

std::string preset_of(const ConvProblem& p) {
  for (const auto& preset : presets())
    if (preset.problem == p) return preset.name;
  return "";
}

std::string unusual_inputs(const Document& d) {
  const InputSpec usual;
  std::string words;
  auto add = [&](const std::string& name, const std::string& value) {
    words += (words.empty() ? "" : ", ") + name + " " + value;
  };
  auto tensor = [&](const char* name, const TensorSource& own, const TensorSource& before) {
    if (own == before) return;
    const auto* kind = std::find_if(input_kinds.begin(), input_kinds.end(),
                                    [&](const InputKindInfo& k) { return k.kind == own.kind; });
    add(name, kind == input_kinds.end() ? file_name(own.file) : kind->name);
  };
  tensor("x", d.inputs.x, usual.x), tensor("w", d.inputs.w, usual.w);
  if (d.problem.bias) tensor("b", d.inputs.b, usual.b);
  if (d.inputs.seed != usual.seed) add("seed", std::to_string(d.inputs.seed));
  return words;
}

}  // namespace convscope
