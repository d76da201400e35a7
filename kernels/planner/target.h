// The GPU that a kernel is chosen for: this machine's, or one of an architecture by its data sheet.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "kernels/runtime/device.h"

namespace convscope {

// What the model knows of a GPU. Without more, an H200 by its data sheet.
struct Target {
  std::string architecture = "sm_90";  // a compute capability
  std::string name = "NVIDIA H200";
  bool here = false;            // a GPU of this machine, by its driver; else a data sheet stands for the architecture
  std::string stands_for = "";  // another architecture's data sheet stands for this one: which one is asked for
  double bandwidth_gbs = 4814;
  double fma_gflops = 66908;  // f32 multiply-adds, two operations each
  double tf32_ratio = 7.4;    // of the tensor cores in TF32, dense, to fma_gflops
  double f64_ratio = 0.5;     // of f64 multiply-adds to fma_gflops
  int multiprocessors = 132;
  int64_t shared_bytes_per_block = 227 * 1024;  // the most that a block can ask for; 0: not known

  // Of the device; where it is the emulator, an H200 by its data sheet.
  static Target of(const DeviceInfo& device);
  // A GPU of that architecture (target_architectures()), "sm_80", "sm_90a", "sm_120f": the letter is left out.
  // Errors: InputError("architecture", …) for another name.
  static Target of_architecture(const std::string& name);

  // "on NVIDIA H200", "for an NVIDIA A100", "for sm_87 by the figures of an NVIDIA A10".
  std::string where() const;
  // Why a kernel, or one of its plans, cannot run there: "needs sm_90a, this is sm_80", "asks for 103424 bytes of …";
  // or "".
  std::string unavailable(const KernelDefinition& kernel) const;
  std::string unavailable(const KernelDefinition& kernel, const Plan& plan) const;
};

// What CUDA 13 compiles for (nvcc --list-gpu-code). Figures: the data sheet of one GPU that is usual for it; f64_ratio
// and shared memory are always its own.
struct TargetArchitecture {
  int sm;               // 90 for sm_90
  const char* letters;  // suffixes that it has: "a", "af"
  const char* gpu;      // null: the row before, which is the nearest whose figures are here, stands for it
  double bandwidth_gbs, fma_gflops, tf32_ratio, f64_ratio;
  int multiprocessors;
  int64_t shared_bytes_per_block;
};
std::span<const TargetArchitecture> target_architectures();

}  // namespace convscope
