#include "profiling/cupti/cupti.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <mutex>

#include "profiling/cupti/state.h"

namespace convscope {
namespace {

using cupti::block;

std::string demangled(const char* name) {
  if (!name) return "?";
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

void no_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// Takes the one place there is for a tool in this process; the tool that has it is named.
Gap subscribe(const cupti::Library& l, CUpti_SubscriberHandle& subscriber) {
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = {};
  CUpti_SubscriberParams p{};
  p.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  p.subscriberName = "convscope";
  p.oldSubscriberName = holder;
  p.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN;
  CUptiResult r = l.cuptiSubscribe_v2(&subscriber, no_callback, nullptr, &p);
  if (r == CUPTI_SUCCESS) return {};
  if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return {
        "taken",
        fmt::format("no kernel records and no hardware counters: {} holds CUPTI in this process",
                    *holder ? holder : "another tool (ncu, nsys, cuda-gdb, compute-sanitizer, a framework's profiler)"),
        "start convscope without it; times are still measured with CUDA events"};
  if (!dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL))
    return {"no-driver", "no kernel records and no hardware counters: there is no NVIDIA driver for CUPTI to work with",
            "install the driver for your GPU"};
  return cupti::gap_of(l, r, "taking CUPTI's place for a tool");
}

// ---- kernel records: CUPTI hands buffers to two functions that know of no object -----------------------------------

struct Recording {
  std::mutex mutex;
  std::vector<KernelRecord> kernels;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
};
Recording& recording() {
  static auto* r = new Recording;  // CUPTI's thread may outlive everything else
  return *r;
}

constexpr size_t buffer_bytes = size_t{1} << 20;

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = *buffer ? buffer_bytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  Recording& r = recording();
  std::lock_guard lock(r.mutex);
  CUpti_Activity* record = nullptr;
  while (valid && r.next(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && record->kind != CUPTI_ACTIVITY_KIND_KERNEL) continue;
    const auto* k = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    KernelRecord out;
    out.name = demangled(k->name);
    out.start_ns = k->start, out.end_ns = k->end;
    const int32_t grid[3] = {k->gridX, k->gridY, k->gridZ}, threads[3] = {k->blockX, k->blockY, k->blockZ};
    for (int i = 0; i < 3; i++)
      out.grid[i] = static_cast<uint32_t>(grid[i]), out.block[i] = static_cast<uint32_t>(threads[i]);
    out.registers = k->registersPerThread;
    out.static_shared_bytes = k->staticSharedMemory, out.dynamic_shared_bytes = k->dynamicSharedMemory;
    out.local_bytes = k->localMemoryPerThread;
    out.stream = k->streamId;
    r.kernels.push_back(std::move(out));
  }
  std::free(buffer);
}

}  // namespace

Cupti::Places Cupti::usual_places() {
  Places p;
  if (const char* named = std::getenv("CONVSCOPE_LIBCUPTI"); named && *named) p.named = named;
  std::error_code error;
  auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  p.folders = {program.string(), (program.parent_path() / "lib").string()};
  std::vector<std::string> toolkits;
  if (const char* home = std::getenv("CUDA_HOME"); home && *home) toolkits.emplace_back(home);
  toolkits.emplace_back("/usr/local/cuda");
  for (const auto& t : toolkits)
    for (const char* inside : {"/extras/CUPTI/lib64", "/lib64", "/targets/x86_64-linux/lib"})
      p.folders.push_back(t + inside);
  return p;
}

Cupti& Cupti::shared() {
  static auto* cupti = new Cupti(usual_places());  // never taken down: CUPTI's own threads may still call back
  return *cupti;
}

Cupti::Cupti(const Places& places) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.library = cupti::open_library(places);
  s.missing = s.library.missing;
  if (!s.missing) s.missing = subscribe(s.library, s.subscriber);
}

Cupti::~Cupti() {
  release();
  if (state_->subscriber) state_->library.cuptiUnsubscribe(state_->subscriber);
}

const Gap& Cupti::missing() const { return state_->missing; }
std::string Cupti::version() const { return state_->library.version; }
std::string Cupti::path() const { return state_->library.path; }

std::vector<KernelRecord> Cupti::trace(const std::function<void()>& work, Gap& gap) {
  State& s = *state_;
  const auto& l = s.library;
  gap = s.missing;
  CUptiResult r = CUPTI_SUCCESS;
  if (!gap && !s.recording_registered) {
    recording().next = l.cuptiActivityGetNextRecord;
    r = l.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    s.recording_registered = r == CUPTI_SUCCESS;
  }
  if (!gap && r == CUPTI_SUCCESS) r = l.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (!gap && r != CUPTI_SUCCESS) gap = cupti::gap_of(l, r, "recording kernels");
  if (gap) {
    work();
    return {};
  }
  l.cuptiActivityFlushAll(0);  // what an earlier section left
  {
    std::lock_guard lock(recording().mutex);
    recording().kernels.clear();
  }
  auto stop = [&] {
    l.cuptiActivityFlushAll(0);
    l.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  };
  try {
    work();
  } catch (...) {
    stop();
    throw;
  }
  stop();
  std::lock_guard lock(recording().mutex);
  auto kernels = std::exchange(recording().kernels, {});
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return kernels;
}

}  // namespace convscope
