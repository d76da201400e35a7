// An activation that follows the layer and is fused into its kernel (convscope/activation.h).
#pragma once
#include <string>

#include "convscope/plan.h"

namespace convscope {

struct Activation {
  enum class Kind : uint8_t { none, relu, leaky_relu };
  Kind kind = Kind::none;
  double slope = 0;  // of leaky_relu, where the sum is below 0

  // "", "none", "relu", "leaky_relu" (slope 0.01, as PyTorch) or "leaky_relu:SLOPE". Errors: InputError("activation",
  // …).
  static Activation from(const std::string& text);
  explicit operator bool() const { return kind != Kind::none; }
  bool operator==(const Activation&) const = default;

  std::string name() const;     // as from() takes it: "leaky_relu:0.1"
  std::string pytorch() const;  // torch.nn.functional.leaky_relu(y, 0.1)
  std::string macro() const;    // #define CONVSCOPE_LEAKY_RELU 0.1; with no activation nothing
  // Why a kernel cannot have it, and which one can; "" if it can.
  std::string refused_by(const KernelDefinition& kernel) const;
};

}  // namespace convscope
