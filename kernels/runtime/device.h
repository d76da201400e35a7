// Where kernels run: the emulator or one GPU, behind one interface.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "convscope/plan.h"
#include "kernels/base/activity.h"
#include "kernels/runtime/timing.h"

namespace convscope {

struct DeviceInfo {
  enum class Kind { emulator, cuda };
  Kind kind = Kind::emulator;
  int index = 0;              // cuda:N
  std::string name;           // "NVIDIA H200", "CPU emulator, 2 workers"
  std::string architecture;   // "sm_90", "x86-64"
  std::string driver;         // its own version and what CUDA it speaks, "580.159.04, CUDA 13.0"; "" on the emulator
  std::string pci_bus;        // "0000:17:00.0": the GPU's name for the system's management; "" on the emulator
  uint64_t memory_bytes = 0;  // all there is
  uint64_t l2_bytes = 0;
  int multiprocessors = 0;             // emulator: workers
  int64_t shared_bytes_per_block = 0;  // the most a block can ask for, by the driver; 0: not known beforehand
  // Theoretical peaks, computed from what the driver says of clocks and widths; 0: unknown.
  double memory_bandwidth_gbs = 0;  // GB/s
  double fma_gflops = 0;            // f32 multiply-adds outside the tensor cores, two operations each
};

// Memory on a device. Freed with the object.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  uint64_t address() const { return address_; }
  size_t size() const { return size_; }

 protected:
  uint64_t address_ = 0;
  size_t size_ = 0;
};

// The addresses that a plan's tensor arguments become. b is 0 without a bias.
struct Bindings {
  uint64_t x = 0, w = 0, b = 0, y = 0, workspace = 0;
  std::vector<uint64_t> variables = {};  // those of the plan: filled in by the device
  // For words about who leaves them: of x, w, b and y; 0: not known.
  std::array<int64_t, 4> elements = {};
  size_t element_bytes = 0;

  uint64_t address(Tensor t) const {
    switch (t) {
      case Tensor::x:
        return x;
      case Tensor::w:
        return w;
      case Tensor::b:
        return b;
      case Tensor::y:
        return y;
      case Tensor::workspace:
        return workspace;
      case Tensor::none:
      case Tensor::variable:
        return 0;
    }
    return 0;
  }
  // null stays null, whatever place in it is meant.
  uint64_t address(const TensorRef& r) const {
    const uint64_t base = r.tensor == Tensor::variable ? variables.at(r.variable) : address(r.tensor);
    return base ? base + static_cast<uint64_t>(r.offset_bytes) : 0;
  }
  // The argument with the addresses that its value holds.
  Argument filled(Argument a) const {
    for (const auto& h : a.held) {
      const uint64_t own = address(h.tensor);
      std::memcpy(a.value.data() + h.at, &own, sizeof own);
    }
    return a;
  }
};

struct RunOptions {
  uint32_t order_seed = 0;  // emulator: shuffles lanes, warps and blocks
  Activity* activity = nullptr;
  // Emulator, for counting: one launch of the plan alone (-1: all), and of its blocks those whose linear index is a
  // multiple of `every`.
  int64_t only_launch = -1;
  uint64_t every = 1;
  // Emulator: of this launch `blocks` blocks from first_block on; all of it where there are none, or -1.
  int64_t part_of = -1;
  uint64_t first_block = 0, blocks = 0;
  bool one_worker = false;  // emulator: blocks one after the other, so that the last of two that write a place stays
};

// What the compiler gave one launch of a plan, as the driver knows it.
struct LaunchFacts {
  std::string entry;
  Shape grid, block;
  int registers = 0;  // of a thread
  int64_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  int64_t local_bytes = 0;  // of a thread: its stack, and registers that were spilled
  std::string binary;       // "sm_90": read from the device code for it; "": as the driver loaded it
  bool output = true;       // it is given y: launches that pack weights or copy inputs are not
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  bool is_emulator() const { return info().kind == DeviceInfo::Kind::emulator; }

  // Why this kernel cannot run here ("needs sm_90a, this is …"), or "".
  virtual std::string unavailable(const KernelDefinition& kernel) const = 0;
  // The same for one of its plans, whose blocks may ask for more shared memory than this device gives.
  std::string unavailable(const KernelDefinition& kernel, const Plan& plan) const;

  virtual uint64_t free_memory() const = 0;
  // 256-byte aligned, not cleared. Errors: InputError("memory", …) when there is not enough, or the driver says so:
  // then nothing was taken.
  virtual std::unique_ptr<DeviceMemory> allocate(size_t bytes) = 0;
  virtual void write(DeviceMemory& to, size_t offset, const void* from, size_t bytes) = 0;
  virtual void read(const DeviceMemory& from, size_t offset, void* to, size_t bytes) = 0;
  // Repeats a 32-bit word; offset and bytes are multiples of 4.
  virtual void fill(DeviceMemory& to, size_t offset, uint32_t word, size_t bytes) = 0;

  // Runs all launches of the plan in order and waits for the end.
  // Errors: KernelFault; DeviceError (poisoned when the device cannot be used again); Cancelled.
  virtual void run(const KernelDefinition& kernel, const Plan& plan, const Bindings& bindings,
                   const RunOptions& options) = 0;

  // The same with all launches issued at once and one wait at the end, as often as said: what a profiler puts between
  // two marks.
  virtual void run_together(const KernelDefinition& kernel, const Plan& plan, const Bindings& bindings, int times) {
    for (int i = 0; i < times; i++) run(kernel, plan, bindings, {});
  }

  // For each launch of the plan; empty on the emulator, whose kernels the host compiler made.
  virtual std::vector<LaunchFacts> launch_facts(const KernelDefinition&, const Plan&) { return {}; }

  // The CUcontext that profilers ask for, made current on this thread; null on the emulator.
  virtual void* native_context() { return nullptr; }

  // Times whole plans. cold: the L2 cache is flushed before each sample. On the emulator only hot, in host time.
  virtual Timing time(const KernelDefinition& kernel, const Plan& plan, const Bindings& bindings, bool cold,
                      const TimingOptions& options, Activity* activity) = 0;

 protected:
  // What is being done with a kernel, and whether that may never end: kernels of the program's own do.
  static void begin_phase(Activity* activity, const char* doing, const KernelDefinition& kernel, uint64_t total = 0) {
    if (!activity) return;
    if (kernel.kind() == KernelKind::internal)
      activity->phase(doing + kernel.name(), total);
    else
      activity->phase_of_kernel(doing + kernel.name(), total);
  }
};

// "asks for 103424 bytes of shared memory a block (mma_tiles_3xtf32), sm_86 gives 101376" where a launch asks for more
// than `most` bytes (0: unknown, no launch does), or "". What a kernel declares itself is not counted: that is in
// its device code, and the driver refuses it at the launch.
std::string shared_memory_fault(const Plan& plan, int64_t most, const std::string& architecture);

// "auto", "emulator", "cuda" or "cuda:N". Errors: InputError for another word; MissingError with how to get what lacks.
std::unique_ptr<Device> open_device(const std::string& name);

std::unique_ptr<Device> open_emulator();

// Every GPU that can be used, without opening one; empty with the reason in `why_none`.
std::vector<DeviceInfo> cuda_devices(std::string& why_none);
// Errors: MissingError.
std::unique_ptr<Device> open_cuda(int index);

}  // namespace convscope
