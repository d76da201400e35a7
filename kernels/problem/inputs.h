// The numbers a problem is run on: drawn, patterned, or read from files (`convscope help run` has their names).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/base/activity.h"
#include "kernels/problem/conv_problem.h"
#include "kernels/problem/tensor.h"

namespace convscope {

enum class InputKind { random, initial, signed_uniform, integers, ones, ramp, impulse, index, wide, file };

struct InputKindInfo {
  InputKind kind;
  const char* name;  // as on the command line
  const char* meaning;
};
inline constexpr std::array<InputKindInfo, 9> input_kinds = {{
    {InputKind::random, "random", "uniform in [0, 1), as torch.rand"},
    {InputKind::initial, "default", "PyTorch's initialisation: uniform in ±1/sqrt((Cout/groups)·K)"},
    {InputKind::signed_uniform, "signed", "uniform in [−1, 1)"},
    {InputKind::integers, "integers", "integers, uniform in −3…3"},
    {InputKind::ones, "ones", "all one"},
    {InputKind::ramp, "ramp", "e/E: flat index over number of elements"},
    {InputKind::impulse, "impulse", "1 at the middle position of every channel, else 0"},
    {InputKind::index, "index", "position + 1 (weights: tap + 1)"},
    {InputKind::wide, "wide", "sign · 2^u, u uniform in [−20, 20]"},
}};

// Where one tensor's numbers come from. A file's contents come along, since files belong to the client.
struct TensorSource {
  InputKind kind = InputKind::random;
  std::string file;                  // its name, for messages
  std::optional<HostTensor> values;  // kind == file: what was read, already in the problem's dtype

  bool operator==(const TensorSource& o) const {
    auto data = [](const TensorSource& s) { return s.values ? s.values->bytes.get() : nullptr; };
    return kind == o.kind && file == o.file && data(*this) == data(o);
  }
};

struct InputSpec {
  TensorSource x{InputKind::random, {}, {}};
  TensorSource w{InputKind::initial, {}, {}};
  TensorSource b{InputKind::initial, {}, {}};
  uint64_t seed = 42;
  bool operator==(const InputSpec&) const = default;
};

// A kind's name, or a path that ends in .npy or .npz (not opened here). Errors: InputError naming `field`.
TensorSource parse_source(const std::string& field, const std::string& text);

struct Inputs {
  HostTensor x, w, b;  // b has no elements when the problem has no bias
};

// The seed is set, weights and bias are drawn; it is set again and the input is drawn. Those of f16 and bf16 problems
// are the f32 problem's, rounded to nearest: what .half() and .to(torch.bfloat16) make of the drawn tensors in PyTorch.
// Errors: InputError when a file's shape, or a value in it (NaN, infinite), does not fit the problem, or when a kind
// has values beyond the type's largest.
Inputs make_inputs(const ConvProblem& p, const InputSpec& spec, const Activity* activity = nullptr);

// 1/sqrt(fan_in) in the arithmetic of torch.nn.init.kaiming_uniform_(a = sqrt(5)); fan_in = (Cout/groups)·K.
double initial_weight_bound(const ConvProblem& p);

}  // namespace convscope
