#include "tests/app/model/documents.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/problem/presets.h"

namespace convscope::test {

std::string why_illegal(const Document& d) {
  if (auto broken = check(d.problem)) return broken->what();
  if (d.kernel.empty()) return "no kernel";
  if (!(d.atol >= 0) || !(d.rtol >= 0) || !std::isfinite(d.atol + d.rtol)) return "a tolerance that none can meet";
  if (d.problem.dtype == DType::f64 && d.accuracy != Accuracy::strict) return "an accuracy that f64 has not";
  const auto& p = d.problem;
  auto fits = [&](const TensorSource& s, const std::vector<int64_t>& shape) {
    return s.kind != InputKind::file || (s.values && s.values->shape == shape && s.values->dtype == p.dtype);
  };
  if (!fits(d.inputs.x, {p.batch, p.in_channels, p.length})) return "an input file of another shape";
  if (!fits(d.inputs.w, {p.in_channels, p.out_per_group(), p.kernel_size})) return "a weight file of another shape";
  if (p.bias && !fits(d.inputs.b, {p.out_channels})) return "a bias file of another shape";
  return "";
}

TensorSource file_source(const std::string& name, std::vector<int64_t> shape, DType dtype) {
  HostTensor t = make_tensor(dtype, std::move(shape), [](auto* data, int64_t count) {
    for (int64_t i = 0; i < count; i++) data[i] = static_cast<std::decay_t<decltype(*data)>>(i % 7);
  });
  return {InputKind::file, name, std::move(t)};
}

namespace {

TensorSource random_source(Random& r, const ConvProblem& p, Role role) {
  if (r() % 2) return {input_kinds[r() % input_kinds.size()].kind, {}, {}};
  if (r() % 8 == 0) return {InputKind::file, "not_read.npy", {}};
  std::vector<int64_t> shape{p.batch, p.in_channels, p.length};
  if (role == Role::weight) shape = {p.in_channels, p.out_per_group(), p.kernel_size};
  if (role == Role::bias) shape = {p.out_channels};
  auto elements = [&] {
    double n = 1;
    for (int64_t v : shape) n *= static_cast<double>(v);
    return n;
  };
  // Of a problem that is not legal, too.
  if (std::any_of(shape.begin(), shape.end(), [](int64_t v) { return v < 1; }) || elements() > 4096)
    shape = role == Role::bias ? std::vector<int64_t>{4} : std::vector<int64_t>{1, 4, 8};
  if (r() % 4 == 0) shape[r() % shape.size()] += between(r, -1, 2);
  if (r() % 16 == 0) shape.push_back(1);
  return file_source("values.npy", shape, r() % 6 ? p.dtype : DType::f64);
}

ConvProblem random_step(Random& r, ConvProblem p) {
  const auto& f = problem_fields()[r() % problem_fields().size()];
  const int64_t odd[] = {0,
                         -1,
                         max_parameter,
                         max_parameter + 1,
                         std::numeric_limits<int64_t>::max(),
                         std::numeric_limits<int64_t>::min()};
  Span span = slider_span(p, f.value);
  switch (r() % 6) {
    case 0:
      p.*f.value = odd[r() % std::size(odd)];
      break;
    case 1:
      p.*f.value = span.low;
      break;
    case 2:
      p.*f.value = span.high;
      break;
    default:
      p.*f.value = between(r, span.low - 1, span.high + 1);
  }
  if (r() % 8 == 0) p.bias = !p.bias;
  if (r() % 8 == 0) p.dtype = r() % 4 ? DType::f32 : DType::f64;
  return p;
}

}  // namespace

Change random_change(Random& r, const Document& now) {
  const char* kernels[] = {"S0", "S1", "S2", "S3", "S4", "direct", "scatter", "polyphase", "tiled", ""};
  const double tolerances[] = {
      0, 1e-2, 1e-4, 1, -1e-9, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  const Accuracy accuracies[] = {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32};
  auto preset = [&] { return presets()[r() % presets().size()].name; };
  auto role = static_cast<Role>(r() % 3);
  switch (r() % 11) {
    case 0:
      return SetProblem{random_problem(r)};
    case 1:
      return SetProblem{random_step(r, now.problem)};
    case 2:
      return LoadPreset{r() % 4 ? preset() : preset() + "-not"};
    case 3:
      return SetKernel{kernels[r() % std::size(kernels)]};
    case 4:
      return SetCompareWith{r() % 4 ? "onednn" : ""};
    case 5:
      return SetSource{role, random_source(r, now.problem, role)};
    case 6:
      return SetSeed{r()};
    case 7:
      return SetTolerance{tolerances[r() % std::size(tolerances)], tolerances[r() % std::size(tolerances)]};
    case 8:
      return SetAccuracy{accuracies[r() % 3]};
    case 9:
      return SetDevice{r() % 2 ? "emulator" : "auto"};
    default: {
      Document d;
      d.problem = r() % 3 ? random_problem(r) : random_step(r, now.problem);
      d.kernel = kernels[r() % std::size(kernels)];
      d.accuracy = accuracies[r() % 3];
      d.atol = tolerances[r() % std::size(tolerances)];
      if (r() % 4 == 0) d.inputs.x = random_source(r, d.problem, Role::input);
      return ReplaceDocument{d, "some.convscope"};
    }
  }
}

Document small_document(Random& r) {
  Document d;
  Ranges small;
  small.batch = 2, small.groups = 2, small.kernel_size = 6, small.length = 24, small.stride = 4, small.dilation = 3;
  d.problem = random_problem(r, small);
  d.problem.dtype = DType::f32;
  const char* kernels[] = {"direct", "scatter", "polyphase"};
  d.kernel = kernels[r() % std::size(kernels)];
  d.inputs.seed = r();
  d.device = "emulator";
  return d;
}

Document quick_document(int64_t length, const std::string& kernel) {
  Document d;
  d.problem = {};
  d.problem.in_channels = 2, d.problem.out_channels = 3, d.problem.kernel_size = 3, d.problem.length = length,
  d.problem.stride = 2, d.problem.padding = 1;
  d.kernel = kernel;
  d.device = "emulator";
  return d;
}

}  // namespace convscope::test
