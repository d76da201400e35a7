#include "kernels/verify/sixteen_bits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/verify/if_it_runs.h"
#include "kernels/verify/prober.h"

namespace convscope {
namespace {

struct Product {
  double x = 0, w = 1;
};
using Products = std::array<Product, 3>;

// An output of sequence 0 and channel 0 that one position of x reaches, whatever else does.
struct Place {
  int64_t j, i;
};
std::optional<Place> some_place(const ConvProblem& p) {
  for (int64_t j = 0; j < p.out_length(); j++)
    for (int64_t k = 0; k < p.kernel_size; k++)
      if (const int64_t t = j + p.padding - k * p.dilation; t >= 0 && t % p.stride == 0 && t / p.stride < p.length)
        return Place{j, t / p.stride};
  return {};
}

class Sums {
 public:
  Sums(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Place at, Activity& activity)
      : p_(p), at_(at), prober_(device, kernel, p, activity) {}

  double of(const Products& products) {
    const auto count = static_cast<int64_t>(products.size());
    prober_.set_x([&](int64_t e) {
      const int64_t ci = e / p_.length % p_.in_channels;
      return ci < count && e % p_.length == at_.i ? products[static_cast<size_t>(ci)].x : 0.0;
    });
    prober_.set_w([&](int64_t e) {
      const int64_t ci = e / (p_.out_per_group() * p_.kernel_size);
      return ci < count ? products[static_cast<size_t>(ci)].w : 1.0;
    });
    return prober_.element(0, 0, at_.j);
  }
  // The first result that is another, of the products in all orders: channels need not be summed in theirs.
  std::optional<double> other_than(double expected, Products products) {
    std::array<size_t, 3> order = {0, 1, 2};
    do {
      const double got = of({products[order[0]], products[order[1]], products[order[2]]});
      if (got != expected && !std::isnan(got)) return got;
    } while (std::next_permutation(order.begin(), order.end()));
    return {};
  }

 private:
  const ConvProblem p_;
  const Place at_;
  Prober prober_;
};

std::string fault(Sums& sums, DType type) {
  const std::string_view name = name_of(type);
  const int bits = traits(type).significand_bits;
  const double large = std::ldexp(1, bits), step = std::ldexp(1, 1 - bits), most = traits(type).largest;
  if (const auto got = sums.other_than(1, {{{large, 1}, {1, 1}, {-large, 1}}}))
    return fmt::format("sums are kept in {}, where f32 belongs: {:g} + 1 − {:g} comes out as {}", name, large, large,
                       number_text(*got));
  if (const auto got = sums.other_than(step * step, {{{1 + step, 1 + step}, {-1 - 2 * step, 1}, {}}}))
    return fmt::format(
        "products are rounded to {} before they are added: (1 + 2^−{})² − (1 + 2^−{}) comes out as {}, and "
        "2^−{} belongs",
        name, bits - 1, bits - 2, number_text(*got), 2 * (bits - 1));
  for (const double sign : {1.0, -1.0})
    for (const double part : {0.75, 0.25}) {
      const double right = part > 0.5 ? 1 + step : 1;
      if (const auto got = sums.other_than(sign * right, {{{sign, 1}, {sign * part * step, 1}, {}}}))
        return fmt::format(
            "results are not rounded to the nearest {}: {}(1 + {:g}·2^−{}) comes out as {}, and {} belongs", name,
            sign < 0 ? "−" : "", part, bits - 1, number_text(*got),
            right == 1 ? fmt::format("{:g}", sign) : fmt::format("{}(1 + 2^−{})", sign < 0 ? "−" : "", bits - 1));
    }
  if (const auto got = sums.other_than(std::numeric_limits<double>::infinity(), {{{most, 1}, {most, 1}, {}}}))
    return fmt::format("what is too large for {} comes out as {}, and infinity belongs", name, number_text(*got));
  return "";
}

}  // namespace

std::string rounded_to_sixteen_bits(Device& device, const KernelDefinition& kernel, ConvProblem p, Activity& activity) {
  if (!is_half(p.dtype)) return "";
  p.bias = false;
  if (p.in_per_group() < 3) p.in_channels = 4 * p.groups;
  const auto place = check(p) ? std::nullopt : some_place(p);
  if (!place || !kernel.unsupported(p).empty()) return "";
  return if_it_runs([&] {
           Sums sums(device, kernel, p, *place, activity);
           return fault(sums, p.dtype);
         })
      .value_or("");
}

}  // namespace convscope
