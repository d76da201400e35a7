#include "kernels/problem/inputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "kernels/base/text.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/torch_random.h"

namespace convscope {
namespace {

struct Role {
  const char* field;
  std::vector<int64_t> shape;
  double initial_bound;  // of InputKind::initial
};

// 16-bit numbers are those of f32, rounded: what PyTorch's own .half() of a drawn tensor gives.
template <class T>
void fill(T* out, int64_t count, int64_t row, InputKind kind, double bound, TorchRandom& rng,
          const Activity* activity) {
  using Drawn = std::conditional_t<sizeof(T) == 2, float, T>;
  auto draw = [&](auto&& one) {
    for (int64_t e = 0; e < count; e++) {
      if (activity && e % (1 << 20) == 0) activity->check();
      out[e] = static_cast<T>(static_cast<Drawn>(one()));
    }
  };
  auto pattern = [&](auto&& at) {
    WorkerPool::shared().for_chunks(count, 1 << 18, [&](int64_t a, int64_t b) {
      for (int64_t e = a; e < b; e++) out[e] = static_cast<T>(static_cast<Drawn>(at(e)));
    });
  };
  switch (kind) {
    case InputKind::random:
      return draw([&] { return rng.unit(Drawn{}); });
    case InputKind::initial:
      return draw([&] { return rng.uniform(static_cast<Drawn>(-bound), static_cast<Drawn>(bound)); });
    case InputKind::signed_uniform:
      return draw([&] { return rng.uniform(Drawn{-1}, Drawn{1}); });
    case InputKind::integers:
      return draw([&] { return rng.integer(-3, 4); });
    case InputKind::wide:
      return draw([&] {
        double u = rng.uniform(-20.0, 20.0);
        return (rng.bits32() & 1 ? -1 : 1) * std::exp2(u);
      });
    case InputKind::ones:
      return pattern([](int64_t) { return 1; });
    case InputKind::ramp:
      return pattern([&](int64_t e) { return static_cast<double>(e) / static_cast<double>(count); });
    case InputKind::impulse:
      return pattern([&](int64_t e) { return e % row == row / 2 ? 1 : 0; });
    case InputKind::index:
      return pattern([&](int64_t e) { return e % row + 1; });
    case InputKind::file:
      return;
  }
}

// Kinds whose numbers grow beyond what a type holds: infinite inputs have no right output.
void check_range(const char* field, InputKind kind, int64_t row, DType dtype) {
  double largest = kind == InputKind::wide ? 0x1p20 : kind == InputKind::index ? static_cast<double>(row) : 0;
  if (!std::isinf(rounded_to(dtype, largest))) return;
  const char* name = kind == InputKind::wide ? "wide" : "index";
  throw InputError(field, name,
                   fmt::format("has values up to {}, {} holds {} at most: use bf16, f32 or other values", largest,
                               name_of(dtype), traits(dtype).largest));
}

HostTensor make_one(const Role& role, const TensorSource& source, DType dtype, TorchRandom& rng,
                    const Activity* activity) {
  check_range(role.field, source.kind, role.shape.back(), dtype);
  if (source.kind != InputKind::file)
    return make_tensor(dtype, role.shape, [&](auto* out, int64_t count) {
      fill(out, count, std::max<int64_t>(1, role.shape.back()), source.kind, role.initial_bound, rng, activity);
    });
  const HostTensor& t = source.values.value();
  if (t.shape != role.shape)
    throw InputError(
        role.field, source.file,
        fmt::format("has shape [{}], the problem needs [{}]", fmt::join(t.shape, ", "), fmt::join(role.shape, ", ")));
  if (t.dtype != dtype)
    throw InputError(role.field, source.file,
                     fmt::format("holds {}, the problem is {}", name_of(t.dtype), name_of(dtype)));
  for (int64_t e = 0; e < t.elements(); e++)
    if (!std::isfinite(t.at(e)))
      throw InputError(role.field, source.file,
                       fmt::format("holds {} at flat index {}: values must be finite", number_text(t.at(e)), e));
  return t;
}

}  // namespace

TensorSource parse_source(const std::string& field, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& k : input_kinds) {
    if (text == k.name) return {k.kind, {}, {}};
    names.push_back(k.name);
  }
  if (text.ends_with(".npy") || text.ends_with(".npz")) return {InputKind::file, text, {}};
  std::string near = nearest_name(text, names);
  throw InputError(field, text,
                   fmt::format("must be one of {} or a .npy or .npz file{}", fmt::join(names, ", "),
                               near.empty() ? "" : "; did you mean " + near + "?"));
}

double initial_weight_bound(const ConvProblem& p) {
  // The same operations in the same order as PyTorch's Python code, since the last bit matters.
  double fan = static_cast<double>(p.out_per_group() * p.kernel_size), a = std::sqrt(5.0);
  double gain = std::sqrt(2.0 / (1 + a * a));
  return std::sqrt(3.0) * (gain / std::sqrt(fan));
}

Inputs make_inputs(const ConvProblem& p, const InputSpec& spec, const Activity* activity) {
  require_legal(p);
  double bias_bound = 1 / std::sqrt(static_cast<double>(p.out_per_group() * p.kernel_size));
  TorchRandom model(spec.seed);
  Inputs in;
  in.w = make_one({"weight", {p.in_channels, p.out_per_group(), p.kernel_size}, initial_weight_bound(p)}, spec.w,
                  p.dtype, model, activity);
  in.b = p.bias ? make_one({"bias-values", {p.out_channels}, bias_bound}, spec.b, p.dtype, model, activity)
                : HostTensor{p.dtype, {0}, std::make_shared<HostBytes>()};
  TorchRandom data(spec.seed);
  in.x =
      make_one({"input", {p.batch, p.in_channels, p.length}, initial_weight_bound(p)}, spec.x, p.dtype, data, activity);
  return in;
}

}  // namespace convscope
