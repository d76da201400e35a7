#include "kernels/verify/packed_times.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/problem/tensor.h"

namespace convscope {
namespace {

// The largest difference between two outputs; infinite where one alone is no number.
double apart(const HostBytes& a, const HostBytes& b, DType dtype) {
  double most = 0;
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t e = 0; e < a.size() / sizeof(T); e++) {
      if (a.as<BitsOf<T>>()[e] == b.as<BitsOf<T>>()[e]) continue;
      double d = std::fabs(static_cast<double>(a.as<T>()[e]) - static_cast<double>(b.as<T>()[e]));
      most = std::max(most, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
    }
  });
  return most;
}

}  // namespace

std::string no_packed_times(const Plan& plan, const Device& device) {
  if (!plan.packs_weights()) return "it packs no weights: every launch is part of a call";
  if (device.is_emulator())
    return "on the emulator whole plans are timed, packing included: its times say nothing of a GPU";
  return "";
}

PackedTimes packed_times(Device& device, const KernelDefinition& kernel, const Plan& plan, const Bindings& at,
                         const TimingOptions& options, Activity* activity) {
  PackedTimes t;
  t.packs = plan.packs_weights();
  t.missing = no_packed_times(plan, device);
  if (!t.missing.empty()) return t;
  const Plan packed = plan.without_packing();
  t.packing = device.time(kernel, plan.packing(), at, false, options, activity);
  device.run(kernel, plan, at, {.activity = activity});
  t.hot = device.time(kernel, packed, at, false, options, activity);
  t.cold = device.time(kernel, packed, at, true, options, activity);
  return t;
}

std::string packed_calls_look_honest(GuardedTensor& x, GuardedTensor& y, DType dtype,
                                     const std::function<void()>& whole, const std::function<void()>& packed,
                                     Activity* activity) {
  constexpr uint32_t poison = 0x7fc0babe;  // a NaN
  auto output = [&](const std::function<void()>& call) {
    y.fill(poison, activity);
    call();
  };
  whole();                       // packs, and whatever it may keep beside is of x as it is now
  x.fill(0x3e99999a, activity);  // 0.3
  output(packed);
  uint64_t without = y.checksum(activity);
  output(whole);
  if (y.checksum(activity) == without) return "";
  // Sums in another order each time? Then two whole calls differ as well, and about as much.
  auto kept = [&](const std::function<void()>& call) {
    output(call);
    HostBytes bytes(y.size());
    y.read(0, bytes.data(), bytes.size());
    return bytes;
  };
  // Where all three happen to be alike nothing is explained yet, and other values are looked at.
  constexpr double alike = 8;
  for (uint32_t value : {0xbdcccccdu, 0x3f333333u, 0xbee60000u}) {  // −0.1, 0.7, −0.45
    x.fill(value, activity);
    HostBytes one = kept(packed);
    const HostBytes other = kept(whole);
    const double off = apart(one, other, dtype);
    one = {};
    one = kept(whole);
    const double spread = apart(one, other, dtype);
    if (!std::isfinite(spread) || off > alike * spread) break;
    if (spread > 0) return "";
  }
  return "without the launches that pack its results do not follow the input: they do more than pack, or what they "
         "packed does not stay";
}

}  // namespace convscope
