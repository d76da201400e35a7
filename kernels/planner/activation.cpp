#include "kernels/planner/activation.h"

#include <charconv>
#include <fmt/format.h>

#include "kernels/base/error.h"

namespace convscope {

Activation Activation::from(const std::string& text) {
  constexpr std::string_view sloped = "leaky_relu:";
  if (text.empty() || text == "none") return {};
  if (text == "relu") return {Kind::relu, 0};
  if (text == "leaky_relu") return {Kind::leaky_relu, 0.01};
  if (!text.starts_with(sloped))
    throw InputError("activation", text, "must be none, relu, leaky_relu or leaky_relu:SLOPE");
  double slope = 0;
  const char *begin = text.data() + sloped.size(), *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(begin, end, slope);
  if (error != std::errc{} || stop != end || !(slope >= 0 && slope <= 1))
    throw InputError("activation", text, "must have a slope from 0 to 1");
  return {Kind::leaky_relu, slope + 0.0};  // no −0
}

std::string Activation::name() const {
  if (kind == Kind::none) return "none";
  return kind == Kind::relu ? "relu" : fmt::format("leaky_relu:{}", slope);
}

std::string Activation::pytorch() const {
  if (kind == Kind::none) return "y";
  return kind == Kind::relu ? "torch.nn.functional.relu(y)"
                            : fmt::format("torch.nn.functional.leaky_relu(y, {})", slope);
}

std::string Activation::macro() const {
  if (kind == Kind::none) return "";
  return kind == Kind::relu ? "#define CONVSCOPE_RELU\n" : fmt::format("#define CONVSCOPE_LEAKY_RELU {}\n", slope);
}

std::string Activation::refused_by(const KernelDefinition& kernel) const {
  if (kind == Kind::none || kernel.fuses_activation()) return "";
  if (kernel.kind() == KernelKind::specimen)
    return fmt::format("cannot follow in {}, which stays as it was found: take direct, or auto", kernel.name());
  return fmt::format("cannot follow in {}, which adds to its output in many steps: take polyphase, or auto",
                     kernel.name());
}

}  // namespace convscope
