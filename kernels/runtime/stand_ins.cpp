#include "kernels/runtime/stand_ins.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "convscope/plan.h"

namespace convscope {

std::string stand_in_words(const Plan& plan) {
  const auto named = [&](std::string_view begin) {
    return std::count_if(plan.launches().begin(), plan.launches().end(),
                         [&](const Launch& l) { return std::string_view(l.entry.name).starts_with(begin); });
  };
  const auto products = named("convscope_product_"), all = products + named("convscope_sum") + named("convscope_turn") +
                                                           named("convscope_convert") + named("convscope_clamp") +
                                                           named("convscope_combine");
  if (!all) return "";
  return fmt::format("{} of its launches stand{} for {}", all, all == 1 ? "s" : "",
                     products ? "a library's (PyTorch, cuBLAS), whose matrix products are faster"
                              : "PyTorch's own, whose time may be another");
}

}  // namespace convscope
