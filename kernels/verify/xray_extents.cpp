#include "kernels/verify/xray_extents.h"

#include <algorithm>
#include <chrono>

#include "kernels/problem/counts.h"

namespace convscope {

Extent extent_of(const IndexMap& m, const Plan& plan) {
  Extent e = extent_of(m.problem, plan);
  e.behind = m.behind, e.products_behind = m.products_behind;
  for (int64_t o = 0; o < m.outputs(); o++) {
    bool written = false;
    for (int64_t w = 0; w < m.problem.w_elements() && !written; w++) written = !m.read(w, o).unwritten();
    if (!written) e.missing.push_back(o);
  }
  return e;
}

std::vector<Extent> extents_of_longer(Device& device, const KernelDefinition& kernel, const ConvProblem& p,
                                      Activity& activity) {
  std::vector<Extent> all;
  using Clock = std::chrono::steady_clock;
  double seconds_a_product = 0;  // of the longest so far: what takes long on the emulator is not run larger
  auto add = [&](const ConvProblem& q, double most) {
    constexpr double patience_s = 1;
    const double products = walked_products(q);
    if (check(q) || !kernel.unsupported(q).empty() || products > most || products * seconds_a_product > patience_s)
      return;
    const auto begin = Clock::now();
    const Plan plan = kernel.plan_for(q);
    if (plan.out_length() != q.out_length()) return;
    Extent e = extent_of(q, plan);
    try {
      if (!e.no_blocks) e.missing = outputs_left(device, kernel, q, activity);
    } catch (const KernelFault&) {
      return;
    } catch (const MissingError&) {
      return;
    } catch (const DeviceError& failed) {
      if (failed.poisoned()) throw;
      return;
    }
    all.push_back(std::move(e));
    seconds_a_product = std::chrono::duration<double>(Clock::now() - begin).count() / products;
  };
  for (const int64_t outputs : {std::min<int64_t>(p.out_per_group(), 3), p.out_per_group(), p.out_per_group() + 3}) {
    for (const int64_t length : {97, 517, 2101, 4099}) {
      ConvProblem q = p;
      q.length = length, q.batch = std::min<int64_t>(p.batch, 2);
      q.in_channels = p.groups * std::min<int64_t>(p.in_per_group(), 2), q.out_channels = p.groups * outputs;
      add(q, 5e6);
    }
    if (std::any_of(all.begin(), all.end(), [](const Extent& e) { return !e.missing.empty(); })) break;
  }
  add(p, 1e8);
  return all;
}

}  // namespace convscope
