#include "kernels/runtime/stand_ins.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "convscope/plan.h"

namespace convscope {

std::string stand_in_words(const Plan& plan) {
  const auto n = std::count_if(plan.launches().begin(), plan.launches().end(), [](const Launch& l) {
    return std::string_view(l.entry.name).starts_with("convscope_product_");
  });
  if (!n) return "";
  return fmt::format(
      "{} of its launches {} a plain matrix product in the place of PyTorch's or cuBLAS's, which {} faster", n,
      n == 1 ? "is" : "are each", n == 1 ? "is" : "are");
}

}  // namespace convscope
