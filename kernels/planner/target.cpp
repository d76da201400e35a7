#include "kernels/planner/target.h"

#include <algorithm>
#include <fmt/format.h>

#include "kernels/base/error.h"

namespace convscope {
namespace {

constexpr int64_t kib = 1024;

// GB/s, f32 GFLOP/s, multiprocessors: NVIDIA's data sheets of T4, A100 80GB SXM, A10, L4, H200, HGX B200 (a GPU of 1000
// W) and the RTX Blackwell white paper (RTX 5090). TF32: the same sheets, dense (those that give it with sparsity,
// halved), over f32: A100 156/19.5, A10 62.5/31.2, L4 60/30.3, H200 494.5/66.9, B200 1100/80, RTX 5090 104.8/104.8.
// That is the tensor cores' peak by whatever instruction reaches it, on Hopper wgmma, on B200 tcgen05, which no rung
// has; what mma.sync reaches was measured on an H200 alone. f64: each architecture's own, whose figures ever stand for
// it: CUDA Programming Guide, "Compute Capabilities", table "Device and Streaming Multiprocessor (SM) Information",
// "Ratio of FP32 to FP64 Throughput" (sm_88 is not in it, and is taken for what its neighbours are). Published figures
// of B300 agree: 1.25 TFLOP/s in f64, 75 in f32. Shared memory: ibid., "Memory Information".
constexpr TargetArchitecture table[] = {
    {75, "", "NVIDIA T4", 320, 8100, 1, 1. / 32, 40, 64 * kib},
    {80, "", "NVIDIA A100", 2039, 19500, 8, 0.5, 108, 163 * kib},
    {86, "", "NVIDIA A10", 600, 31200, 2, 1. / 64, 72, 99 * kib},
    {87, "", nullptr, 0, 0, 0, 1. / 64, 0, 163 * kib},
    {88, "", nullptr, 0, 0, 0, 1. / 64, 0, 99 * kib},
    {89, "", "NVIDIA L4", 300, 30300, 2, 1. / 64, 58, 99 * kib},
    {90, "a", "NVIDIA H200", 4814, 66908, 7.4, 0.5, 132, 227 * kib},
    {100, "af", "NVIDIA B200", 8000, 80000, 13.75, 0.5, 148, 227 * kib},
    {103, "af", nullptr, 0, 0, 0, 1. / 64, 0, 227 * kib},
    {110, "af", nullptr, 0, 0, 0, 1. / 64, 0, 227 * kib},
    {120, "af", "NVIDIA GeForce RTX 5090", 1792, 104800, 1, 1. / 64, 170, 99 * kib},
    {121, "af", nullptr, 0, 0, 0, 1. / 64, 0, 99 * kib},
};

// The number in "sm_90", "sm_90a"; 0: none.
int capability(const std::string& architecture) {
  int v = 0;
  for (char c : architecture)
    if (c >= '0' && c <= '9' && v < 10000) v = v * 10 + (c - '0');
  return v;
}

const TargetArchitecture* row_of(int sm) {
  auto it = std::find_if(std::begin(table), std::end(table), [&](const TargetArchitecture& a) { return a.sm == sm; });
  return it == std::end(table) ? nullptr : it;
}

// The row whose data sheet stands for it.
const TargetArchitecture& figures_of(const TargetArchitecture& row) {
  const TargetArchitecture* with = &row;
  while (!with->gpu) with--;
  return *with;
}

}  // namespace

std::span<const TargetArchitecture> target_architectures() { return table; }

Target Target::of(const DeviceInfo& d) {
  Target t;
  if (d.kind != DeviceInfo::Kind::cuda) return t;
  t.architecture = d.architecture, t.name = d.name, t.here = true;
  if (d.memory_bandwidth_gbs > 0) t.bandwidth_gbs = d.memory_bandwidth_gbs;
  if (d.fma_gflops > 0) t.fma_gflops = d.fma_gflops;
  if (d.multiprocessors > 0) t.multiprocessors = d.multiprocessors;
  t.shared_bytes_per_block = d.shared_bytes_per_block;
  const TargetArchitecture* row = row_of(capability(d.architecture));
  t.tf32_ratio = row ? figures_of(*row).tf32_ratio : 1, t.f64_ratio = row ? row->f64_ratio : 1. / 64;
  // Of GeForces with the same architecture the tensor cores sum in f32 at half the rate (Ampere GA102 white paper: RTX
  // 3090 35.6 TFLOP/s in TF32 as in f32, A40 74.8 and 37.4).
  if (t.tf32_ratio == 2 && t.name.find("GeForce") != std::string::npos) t.tf32_ratio = 1;
  return t;
}

Target Target::of_architecture(const std::string& name) {
  for (const TargetArchitecture& row : table) {
    const std::string plain = fmt::format("sm_{}", row.sm), letters = row.letters;
    const bool letter = name.size() == plain.size() + 1 && letters.find(name.back()) != std::string::npos;
    if (!name.starts_with(plain) || (name != plain && !letter)) continue;
    const TargetArchitecture& f = figures_of(row);
    Target t;
    t.architecture = plain, t.name = f.gpu, t.stands_for = row.gpu ? "" : plain;
    t.bandwidth_gbs = f.bandwidth_gbs, t.fma_gflops = f.fma_gflops;
    t.tf32_ratio = f.tf32_ratio, t.f64_ratio = row.f64_ratio, t.multiprocessors = f.multiprocessors;
    t.shared_bytes_per_block = row.shared_bytes_per_block;
    return t;
  }
  std::string known;
  for (const TargetArchitecture& row : table) known += fmt::format("{}sm_{}", known.empty() ? "" : ", ", row.sm);
  throw InputError("architecture", name,
                   "must be one of " + known + " (sm_90a as well, and from sm_100 on the letters a and f)");
}

std::string Target::where() const {
  if (here) return "on " + name;
  return stands_for.empty() ? "for an " + name : fmt::format("for {} by the figures of an {}", stands_for, name);
}

std::string Target::unavailable(const KernelDefinition& kernel) const {
  if (kernel.kind() == KernelKind::outside) return "is a file from outside, which is run when it is named";
  const int have = capability(architecture);
  for (const auto& need : kernel.requires_hardware()) {
    bool fits = need == "sm_90a" || need == "wgmma" ? have == 90  // no later GPU has it
                : need == "mma"                     ? true        // for which types, its sm_… says
                : need == "tma"                     ? have >= 90
                : need.starts_with("sm_")           ? have >= capability(need)
                                                    : false;
    if (!fits) return "needs " + need + ", this is " + architecture;
  }
  return "";
}

std::string Target::unavailable(const KernelDefinition& kernel, const Plan& plan) const {
  std::string why = unavailable(kernel);
  return why.empty() ? shared_memory_fault(plan, shared_bytes_per_block, architecture) : why;
}

}  // namespace convscope
