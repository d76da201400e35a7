#include "kernels/problem/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sys/mman.h>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/host_memory.h"

namespace convscope {
namespace {
constexpr size_t mapped_from = size_t{1} << 20;
}

HostBytes::HostBytes(size_t size) : size_(size) {
  if (size == 0) return;
  void* p = nullptr;
  if (size >= mapped_from) {
    if (size <= available_host_memory()) {
      p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED)
        p = nullptr;
      else
        madvise(p, size, MADV_HUGEPAGE);  // first touch of gigabytes is otherwise dominated by page faults
    }
  } else {
    p = std::aligned_alloc(64, (size + 63) / 64 * 64);
  }
  if (!p) refuse_memory(std::exchange(size_, 0));
  data_ = static_cast<std::byte*>(p);
}

HostBytes::~HostBytes() {
  if (!data_) return;
  if (size_ >= mapped_from)
    munmap(data_, size_);
  else
    std::free(data_);
}

HostTensor convert(const HostTensor& t, DType to) {
  if (t.dtype == to) return t;
  return make_tensor(to, t.shape, [&](auto* out, int64_t count) {
    dispatch(t.dtype, [&](auto zero) {
      const auto* from = t.span<decltype(zero)>().data();
      WorkerPool::shared().for_chunks(count, 1 << 18, [&](int64_t a, int64_t b) {
        for (int64_t e = a; e < b; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(from[e]);
      });
    });
  });
}

void refuse_memory(size_t bytes) {
  uint64_t available = available_host_memory();
  std::string system = "the system has " + bytes_text(available) + " available";
  if (bytes > available) throw InputError("memory", bytes_text(bytes), "needed at once, but " + system);
  throw OwnMemoryError("memory", bytes_text(bytes),
                       "needed at once, but this process has reached its own limit (" + system + ")");
}

uint64_t available_host_memory() {
  uint64_t available = std::numeric_limits<uint64_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  uint64_t value;
  while (meminfo >> key >> value) {
    std::getline(meminfo, unit);
    if (key == "MemAvailable:") available = value * 1024;
  }
  // Control group v2: what is left under the limit. The files are absent outside a group.
  uint64_t limit, used;
  std::ifstream max("/sys/fs/cgroup/memory.max"), now("/sys/fs/cgroup/memory.current");
  if (max >> limit && now >> used) available = std::min(available, limit > used ? limit - used : 0);
  return available;
}

}  // namespace convscope
