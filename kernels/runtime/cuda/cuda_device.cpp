#include "kernels/runtime/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <fmt/format.h>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/worker_pool.h"
#include "kernels/runtime/cuda/driver.h"
#include "kernels/runtime/device_code.h"
#include "kernels/runtime/driver_version.h"
#include "kernels/runtime/simt/executor.h"

namespace convscope::cuda {
namespace {

constexpr size_t staging_bytes = size_t{32} << 20;

class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(const CudaDevice& device, size_t bytes, uint64_t free) : device_(device) {
    const CUresult result = driver().cuMemAlloc(&pointer_, std::max<size_t>(bytes, 256));
    // Another process may have taken what was free, or no piece of it is as long: the next time there may be one.
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
      throw InputError("memory", bytes_text(bytes),
                       fmt::format("needed at once, but {} does not give it, although {} were said to be free",
                                   device.info().name, bytes_text(free)));
    check(result, "taking " + bytes_text(bytes) + " of GPU memory");
    address_ = pointer_;
    size_ = bytes;
  }
  ~CudaMemory() override { driver().cuMemFree(pointer_); }

 private:
  const CudaDevice& device_;
  CUdeviceptr pointer_ = 0;
};

int attribute(CUdevice d, CUdevice_attribute a) {
  int v = 0;
  check(driver().cuDeviceGetAttribute(&v, a, d), "asking the GPU for an attribute");
  return v;
}

DeviceInfo describe_device(CUdevice d, int index) {
  DeviceInfo info;
  info.kind = DeviceInfo::Kind::cuda;
  info.index = index;
  char name[256] = {};
  check(driver().cuDeviceGetName(name, sizeof name, d), "asking the GPU for its name");
  info.name = name;
  char bus[32] = {};
  if (driver().cuDeviceGetPCIBusId(bus, sizeof bus, d) == CUDA_SUCCESS) info.pci_bus = bus;
  info.architecture = fmt::format("sm_{}{}", attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                  attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  int version = 0;
  check(driver().cuDriverGetVersion(&version), "asking for the driver's version");
  const std::string own = driver_version();
  info.driver = fmt::format("{}CUDA {}.{}", own.empty() ? "" : own + ", ", version / 1000, version % 1000 / 10);
  size_t memory = 0;
  check(driver().cuDeviceTotalMem(&memory, d), "asking the GPU for its memory");
  info.memory_bytes = memory;
  info.l2_bytes = static_cast<uint64_t>(attribute(d, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  info.multiprocessors = attribute(d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.shared_bytes_per_block = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  // Two transfers a clock; the clock is in kHz, the bus in bits.
  info.memory_bandwidth_gbs = 2.0 * attribute(d, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                              attribute(d, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e6;
  // FP32 lanes of a multiprocessor (CUDA C++ Programming Guide, table "Throughput of Native Arithmetic Instructions").
  int major = attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
      minor = attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  int lanes = major == 7 || (major == 8 && minor == 0) ? 64 : 128;
  info.fma_gflops = 2.0 * lanes * info.multiprocessors * attribute(d, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e6;
  return info;
}

CUtensorMap encoded(const TensorView& v, uint64_t address) {
  cuuint64_t sizes[5], strides[5];
  cuuint32_t box[5], steps[5];
  for (size_t i = 0; i < static_cast<size_t>(v.rank); i++) {
    sizes[i] = static_cast<cuuint64_t>(v.sizes[i]);
    if (i) strides[i - 1] = static_cast<cuuint64_t>(v.stride_bytes[i]);
    box[i] = static_cast<cuuint32_t>(v.box[i]);
    steps[i] = 1;
  }
  // Elements are moved, not computed with: of 2 bytes, one type stands for both.
  CUtensorMapDataType type =
      v.stride_bytes[0] == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  CUtensorMap map;
  // Lines as a whole: boxes begin and end within some, and their neighbours want the rest (up to 0.8 %).
  check(driver().cuTensorMapEncodeTiled(&map, type, static_cast<cuuint32_t>(v.rank), reinterpret_cast<void*>(address),
                                        sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                        v.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                                        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "describing a tensor to the copy engine");
  return map;
}

}  // namespace

// Counts as made before its first line: where a later one fails, the destructor gives back what there is by then.
CudaDevice::CudaDevice(int index) : CudaDevice() {
  const Driver& d = driver();
  int count = 0;
  check(d.cuDeviceGetCount(&count), "counting the GPUs");
  if (index >= count)
    throw MissingError(fmt::format("there is no GPU {}", index),
                       count ? fmt::format("use cuda:0 to cuda:{}", count - 1) : "use --device emulator");
  check(d.cuDeviceGet(&device_, index), "opening the GPU");
  info_ = describe_device(device_, index);
  major_ = attribute(device_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  minor_ = attribute(device_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  // What a call that failed has put there is nothing to give back.
  auto take = [](auto& member, const char* doing, auto make) {
    auto made = member;
    check(make(&made), doing);
    member = made;
  };
  take(context_, "opening the GPU's context", [&](auto* c) { return d.cuDevicePrimaryCtxRetain(c, device_); });
  make_current();
  take(stream_, "making a stream", [&](auto* s) { return d.cuStreamCreate(s, CU_STREAM_NON_BLOCKING); });
  for (int i = 0; i < 2; i++) {
    take(staging_[i], "taking pinned memory", [&](auto* p) { return d.cuMemAllocHost(p, staging_bytes); });
    take(staging_done_[i], "making an event", [&](auto* e) { return d.cuEventCreate(e, CU_EVENT_DISABLE_TIMING); });
  }
  modules_ = std::make_unique<Modules>(major_ * 10 + minor_);
}

CudaDevice::~CudaDevice() {
  if (!context_) return;
  const Driver& d = driver();
  d.cuCtxSetCurrent(context_);
  modules_.reset();
  for (int i = 0; i < 2; i++) {
    if (staging_done_[i]) d.cuEventDestroy(staging_done_[i]);
    if (staging_[i]) d.cuMemFreeHost(staging_[i]);
  }
  if (stream_) d.cuStreamDestroy(stream_);
  d.cuDevicePrimaryCtxRelease(device_);
}

void CudaDevice::make_current() const { check(driver().cuCtxSetCurrent(context_), "making the GPU's context current"); }

std::string CudaDevice::unavailable(const KernelDefinition& kernel) const {
  if (kernel.kind() == KernelKind::outside && kept_image(kernel, major_ * 10 + minor_).empty())
    return fmt::format("is a file from outside, and not compiled for {}", info_.architecture);
  std::string lacking;
  for (const auto& need : kernel.requires_hardware()) {
    int capability = 0;
    bool exact = need == "sm_90a" || need == "wgmma";  // architecture-specific: no later GPU has it
    bool have = exact           ? major_ == 9
                : need == "mma" ? true  // every GPU that CUDA 13 knows; for which types, its sm_… says
                : need == "tma" ? major_ >= 9
                : std::sscanf(need.c_str(), "sm_%d", &capability) == 1 && capability
                    ? major_ * 10 + minor_ >= capability
                    : false;
    if (!have) lacking += (lacking.empty() ? "" : ", ") + need;
  }
  return lacking.empty() ? "" : fmt::format("needs {}, this GPU is {}", lacking, info_.architecture);
}

uint64_t CudaDevice::free_memory() const {
  size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "asking for free GPU memory");
  return free;
}

std::unique_ptr<DeviceMemory> CudaDevice::allocate(size_t bytes) {
  uint64_t free = free_memory();
  if (bytes > free)
    throw InputError("memory", bytes_text(bytes),
                     fmt::format("needed at once, but {} has {} free", info_.name, bytes_text(free)));
  return std::make_unique<CudaMemory>(*this, bytes, free);
}

// Through two pinned buffers in turn: while one is on its way, the workers copy the other.
void CudaDevice::staged_copy(CUdeviceptr device, void* host, size_t bytes, bool to_device) {
  const Driver& d = driver();
  auto copy = [](void* to, const void* from, size_t n) {
    WorkerPool::shared().for_chunks(static_cast<int64_t>(n), 4 << 20, [&](int64_t a, int64_t b) {
      std::memcpy(static_cast<char*>(to) + a, static_cast<const char*>(from) + a, static_cast<size_t>(b - a));
    });
  };
  size_t chunks = (bytes + staging_bytes - 1) / staging_bytes;
  auto part = [&](size_t c) { return std::min(staging_bytes, bytes - c * staging_bytes); };
  const char* doing = to_device ? "copying to the GPU" : "copying from the GPU";
  for (size_t c = 0; c < chunks + (to_device ? 0 : 1); c++) {
    int slot = static_cast<int>(c % 2);
    char* place = static_cast<char*>(host) + c * staging_bytes;
    if (to_device) {
      if (c >= 2) check(d.cuEventSynchronize(staging_done_[slot]), doing);
      copy(staging_[slot], place, part(c));
      check(d.cuMemcpyHtoDAsync(device + c * staging_bytes, staging_[slot], part(c), stream_), doing);
      check(d.cuEventRecord(staging_done_[slot], stream_), doing);
    } else {
      if (c < chunks) {
        check(d.cuMemcpyDtoHAsync(staging_[slot], device + c * staging_bytes, part(c), stream_), doing);
        check(d.cuEventRecord(staging_done_[slot], stream_), doing);
      }
      if (c >= 1) {
        check(d.cuEventSynchronize(staging_done_[1 - slot]), doing);
        copy(place - staging_bytes, staging_[1 - slot], part(c - 1));
      }
    }
  }
  check(d.cuStreamSynchronize(stream_), doing);
}

void CudaDevice::write(DeviceMemory& to, size_t offset, const void* from, size_t bytes) {
  if (bytes) staged_copy(to.address() + offset, const_cast<void*>(from), bytes, true);
}

void CudaDevice::read(const DeviceMemory& from, size_t offset, void* to, size_t bytes) {
  if (bytes) staged_copy(from.address() + offset, to, bytes, false);
}

void CudaDevice::fill(DeviceMemory& to, size_t offset, uint32_t word, size_t bytes) {
  if (bytes < 4) return;
  check(driver().cuMemsetD32Async(to.address() + offset, word, bytes / 4, stream_), "filling GPU memory");
  check(driver().cuStreamSynchronize(stream_), "filling GPU memory");
}

void CudaDevice::launch(const KernelDefinition& kernel, const Launch& l, const Bindings& at) {
  const Driver& d = driver();
  if (auto why = simt::launch_fault(l); !why.empty()) throw KernelFault(why);
  CUfunction f = modules_->function(kernel, l.entry.name);
  auto shared = static_cast<int>(l.dynamic_shared_bytes);
  if (shared > 0)  // what a kernel gets unasked, 48 KiB, holds its static shared memory as well
    check(d.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared),
          fmt::format("giving kernel {} {} bytes of shared memory", l.entry.name, shared));
  std::vector<uint64_t> pointers(l.arguments.size());
  std::deque<Argument> filled;
  std::vector<CUtensorMap> maps;
  maps.reserve(l.arguments.size());
  std::vector<void*> args;
  for (size_t i = 0; i < l.arguments.size(); i++) {
    const Argument& a = l.arguments[i];
    if (a.is_view) {
      maps.push_back(encoded(a.view, at.address(a.view.tensor)));
      args.push_back(&maps.back());
    } else if (a.is_tensor) {
      pointers[i] = at.address(a.tensor);
      args.push_back(&pointers[i]);
    } else if (!a.held.empty()) {
      args.push_back(filled.emplace_back(at.filled(a)).value.data());
    } else {
      args.push_back(const_cast<std::byte*>(a.value.data()));
    }
  }
  auto u = [](int64_t v) { return static_cast<unsigned>(v); };
  CUlaunchAttribute early{};
  early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  early.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = u(l.grid.x), config.gridDimY = u(l.grid.y), config.gridDimZ = u(l.grid.z);
  config.blockDimX = u(l.block.x), config.blockDimY = u(l.block.y), config.blockDimZ = u(l.block.z);
  config.sharedMemBytes = static_cast<unsigned>(shared);
  config.hStream = stream_;
  config.attrs = &early;
  config.numAttrs = l.early;
  check(d.cuLaunchKernelEx(&config, f, args.data(), nullptr), fmt::format("launching kernel {}", l.entry.name));
}

Bindings CudaDevice::with_variables(const KernelDefinition& kernel, const Plan& plan, const Bindings& at) {
  Bindings own = at;
  for (const auto& v : plan.variables()) own.variables.push_back(modules_->variable(kernel, v));
  return own;
}

void CudaDevice::issue(const KernelDefinition& kernel, const Plan& plan, const Bindings& at) {
  const Bindings own = with_variables(kernel, plan, at);
  for (const auto& l : plan.launches()) launch(kernel, l, own);
}

void CudaDevice::run(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, const RunOptions& options) {
  if (auto why = Device::unavailable(kernel, plan); !why.empty()) throw MissingError("kernel " + kernel.name(), why);
  make_current();
  begin_phase(options.activity, "running ", kernel);
  const Bindings own = with_variables(kernel, plan, at);
  for (const auto& l : plan.launches()) {
    launch(kernel, l, own);
    check(driver().cuStreamSynchronize(stream_), fmt::format("kernel {}", l.entry.name));
    if (options.activity) {
      options.activity->advance();
      options.activity->check();
    }
  }
}

void CudaDevice::run_together(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, int times) {
  if (auto why = Device::unavailable(kernel, plan); !why.empty()) throw MissingError("kernel " + kernel.name(), why);
  make_current();
  for (int i = 0; i < times; i++) issue(kernel, plan, at);
  check(driver().cuStreamSynchronize(stream_), "kernel " + kernel.name());
}

std::vector<LaunchFacts> CudaDevice::launch_facts(const KernelDefinition& kernel, const Plan& plan) {
  make_current();
  std::vector<LaunchFacts> list;
  for (const auto& l : plan.launches()) {
    CUfunction f = modules_->function(kernel, l.entry.name);
    auto ask = [&](CUfunction_attribute a) {
      int v = 0;
      check(driver().cuFuncGetAttribute(&v, a, f), "asking what the compiler gave " + std::string(l.entry.name));
      return v;
    };
    list.push_back({l.entry.name, l.grid, l.block, ask(CU_FUNC_ATTRIBUTE_NUM_REGS),
                    ask(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), static_cast<int64_t>(l.dynamic_shared_bytes),
                    ask(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), ""});
  }
  return list;
}

void* CudaDevice::native_context() {
  make_current();
  return context_;
}

Timing CudaDevice::time(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, bool cold,
                        const TimingOptions& options, Activity* activity) {
  if (auto why = Device::unavailable(kernel, plan); !why.empty()) throw MissingError("kernel " + kernel.name(), why);
  make_current();
  begin_phase(activity, "timing ", kernel);
  return time_work([&] { issue(kernel, plan, at); }, cold, options, activity);
}

}  // namespace convscope::cuda

namespace convscope {

std::vector<DeviceInfo> cuda_devices(std::string& why_none) {
  std::vector<DeviceInfo> list;
  try {
    const auto& d = cuda::driver();
    int count = 0;
    cuda::check(d.cuDeviceGetCount(&count), "counting the GPUs");
    for (int i = 0; i < count; i++) {
      CUdevice device = 0;
      cuda::check(d.cuDeviceGet(&device, i), "opening the GPU");
      list.push_back(cuda::describe_device(device, i));
    }
    if (list.empty()) why_none = "the driver sees no GPU";
  } catch (const std::exception& e) {
    why_none = e.what();
  }
  return list;
}

std::unique_ptr<Device> open_cuda(int index) { return std::make_unique<cuda::CudaDevice>(index); }

}  // namespace convscope
