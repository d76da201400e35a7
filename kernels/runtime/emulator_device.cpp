// The emulator as a device: memory of the host between guard pages, launches through simt/.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <sys/mman.h>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/host_memory.h"
#include "kernels/problem/tensor.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/simt/hopper.h"

namespace convscope {
namespace {

constexpr size_t page = 4096;

// Inaccessible pages on both sides: what runs past the red zones faults instead of corrupting the engine.
class HostMemory final : public DeviceMemory {
 public:
  explicit HostMemory(size_t bytes) {
    size_t inner = (bytes + page - 1) / page * page;
    if (bytes <= available_host_memory()) {
      for (const size_t guard : {wide_guard, guard_at_least}) {
        guard_ = guard, mapped_ = inner + 2 * guard;
        base_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base_ != MAP_FAILED) break;
      }
      if (base_ != MAP_FAILED && inner &&
          mprotect(static_cast<char*>(base_) + guard_, inner, PROT_READ | PROT_WRITE) != 0) {
        munmap(base_, mapped_);
        base_ = MAP_FAILED;
      }
    }
    if (base_ == MAP_FAILED) refuse_memory(bytes);
    if (inner >= (size_t{1} << 21)) madvise(static_cast<char*>(base_) + guard_, inner, MADV_HUGEPAGE);
    address_ = reinterpret_cast<uint64_t>(base_) + guard_;
    size_ = bytes;
  }
  ~HostMemory() override { munmap(base_, mapped_); }
  char* data() const { return reinterpret_cast<char*>(address_); }

 private:
  static constexpr size_t guard_at_least = 16 * page;
#if defined(__SANITIZE_THREAD__)  // keeps records of what is mapped
  static constexpr size_t wide_guard = guard_at_least;
#else
  static constexpr size_t wide_guard = simt::room_around_tensors;  // of addresses alone; where these are short, little
#endif
  size_t guard_ = wide_guard;
  void* base_ = MAP_FAILED;
  size_t mapped_ = 0;
};

char* host(const DeviceMemory& m) { return static_cast<const HostMemory&>(m).data(); }

class EmulatorDevice final : public Device {
 public:
  EmulatorDevice() {
    info_.kind = DeviceInfo::Kind::emulator;
    info_.multiprocessors = WorkerPool::shared().size();
    info_.name = fmt::format("CPU emulator, {} worker{}", info_.multiprocessors, info_.multiprocessors == 1 ? "" : "s");
    info_.architecture = "x86-64";
    info_.memory_bytes = available_host_memory();
  }

  const DeviceInfo& info() const override { return info_; }

  // What a kernel file names and the host compiler accepts, the emulator has, mma.sync and Hopper's instructions
  // (hopper.h, wgmma.h) among it. Instructions of other architectures it has not.
  std::string unavailable(const KernelDefinition& kernel) const override {
    std::string list;
    for (const auto& r : kernel.requires_hardware()) {
      bool plain = r.starts_with("sm_") && r.find_first_not_of("0123456789", 3) == std::string::npos;
      bool known = r == "mma" || r == "sm_90a" || r == "wgmma" || r == "tma";
      if (!plain && !known) list += (list.empty() ? "" : ", ") + r;
    }
    return list.empty() ? "" : "needs " + list + ", which the emulator does not have: run it on a GPU";
  }

  uint64_t free_memory() const override { return available_host_memory(); }
  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override { return std::make_unique<HostMemory>(bytes); }
  void write(DeviceMemory& to, size_t offset, const void* from, size_t bytes) override {
    if (bytes) std::memcpy(host(to) + offset, from, bytes);
  }
  void read(const DeviceMemory& from, size_t offset, void* to, size_t bytes) override {
    if (bytes) std::memcpy(to, host(from) + offset, bytes);
  }
  void fill(DeviceMemory& to, size_t offset, uint32_t word, size_t bytes) override {
    auto* p = reinterpret_cast<uint32_t*>(host(to) + offset);
    WorkerPool::shared().for_chunks(static_cast<int64_t>(bytes / 4), 1 << 20,
                                    [&](int64_t a, int64_t b) { std::fill(p + a, p + b, word); });
  }

  void run(const KernelDefinition& kernel, const Plan& plan, const Bindings& given,
           const RunOptions& options) override {
    if (auto why = unavailable(kernel); !why.empty()) throw MissingError("kernel " + kernel.name(), why);
    auto runs = [&](size_t launch) {
      return options.only_launch < 0 || launch == static_cast<size_t>(options.only_launch);
    };
    auto part = [&](size_t launch) { return options.blocks && launch == static_cast<size_t>(options.part_of); };
    if (options.activity) {
      uint64_t blocks = 0;
      for (size_t i = 0; i < plan.launches().size(); i++)
        if (runs(i))
          blocks += ((part(i) ? options.blocks : static_cast<uint64_t>(plan.launches()[i].grid.count())) +
                     options.every - 1) /
                    options.every;
      begin_phase(options.activity, "running ", kernel, blocks);
    }
    Bindings at = given;
    const simt::KnownTensor tensors[] = {{"x", at.x, at.elements[0], at.element_bytes},
                                         {"w", at.w, at.elements[1], at.element_bytes},
                                         {"b", at.b, at.elements[2], at.element_bytes},
                                         {"y", at.y, at.elements[3], at.element_bytes}};
    simt::know_tensors(tensors);
    for (const auto& v : plan.variables()) at.variables.push_back(reinterpret_cast<uint64_t>(v.on_host));
    for (size_t launch = 0; launch < plan.launches().size(); launch++) {
      const auto& l = plan.launches()[launch];
      if (!runs(launch)) {
        if (l.fills_bytes && static_cast<int64_t>(launch) < options.only_launch) fill_variable(l, at);
        continue;
      }
      if (auto why = simt::launch_fault(l); !why.empty()) throw KernelFault(why);
      std::vector<uint64_t> pointers(l.arguments.size());
      std::vector<TensorMap> maps(l.arguments.size());
      std::deque<Argument> filled;
      std::vector<void*> args;
      for (size_t i = 0; i < l.arguments.size(); i++) {
        const Argument& a = l.arguments[i];
        if (a.is_tensor) {
          pointers[i] = at.address(a.tensor);
          args.push_back(&pointers[i]);
        } else if (a.is_view) {
          maps[i] = simt::encoded(a.view, at.address(a.view.tensor));
          args.push_back(&maps[i]);
        } else if (!a.held.empty()) {
          args.push_back(filled.emplace_back(at.filled(a)).value.data());
        } else {
          args.push_back(const_cast<std::byte*>(a.value.data()));
        }
      }
      simt::launch(l.entry, l.grid, l.block, l.dynamic_shared_bytes, args.data(),
                   {.workers = options.one_worker ? 1 : 0,
                    .every = options.every,
                    .first = part(launch) ? options.first_block : 0,
                    .count = part(launch) ? options.blocks : 0,
                    .order_seed = options.order_seed,
                    .in_order = l.in_order,
                    .activity = options.activity});
    }
  }

  Timing time(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, bool cold,
              const TimingOptions& options, Activity* activity) override {
    Timing t;
    t.emulated = true;
    if (cold) return t;
    using Clock = std::chrono::steady_clock;
    auto ms = [](auto d) { return std::chrono::duration<double, std::milli>(d).count(); };
    auto begin = Clock::now();
    do {
      auto start = Clock::now();
      run(kernel, plan, at, {0, activity});
      t.samples_ms.push_back(ms(Clock::now() - start));
    } while (!t.enough(options, ms(Clock::now() - begin)));
    return t;
  }

 private:
  // What a launch that is left out would have copied: variables are those of the module that is run, plain or traced.
  static void fill_variable(const Launch& l, const Bindings& at) {
    auto* to = reinterpret_cast<void*>(at.address(l.arguments[0].tensor));
    const Argument& from = l.arguments[1];
    const auto bytes = static_cast<size_t>(l.fills_bytes);
    if (!from.is_tensor)
      std::memcpy(to, at.filled(from).value.data(), bytes);
    else if (const uint64_t address = at.address(from.tensor))
      std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
    else
      std::memset(to, 0, bytes);
  }

  DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> open_emulator() { return std::make_unique<EmulatorDevice>(); }

}  // namespace convscope
