#include "kernels/runtime/simt/trace.h"

#include <atomic>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <vector>

#include "kernels/runtime/simt/block.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/simt/trace_hooks.h"

namespace convscope::simt {
namespace {

constexpr size_t buffer_accesses = 1 << 15;

struct Tracer {
  explicit Tracer(TraceSink s) : sink(std::move(s)) {}
  TraceSink sink;
  std::mutex mutex;
  struct Buffer {
    std::vector<Access> list;
  };
  std::vector<std::unique_ptr<Buffer>> buffers;

  Buffer* add() {
    std::lock_guard lock(mutex);
    buffers.push_back(std::make_unique<Buffer>());
    buffers.back()->list.reserve(buffer_accesses);
    return buffers.back().get();
  }
  void flush(Buffer& b) {
    sink(b.list);
    b.list.clear();
  }
};

std::atomic<Tracer*> active{nullptr};
std::atomic<uint64_t> generation{0};

struct PerThread {
  uint64_t generation = 0;
  Tracer::Buffer* buffer = nullptr;
};
constinit thread_local PerThread mine{};

}  // namespace

void record_access(const void* address, unsigned size, uint8_t kind, const void* pc) {
  Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer) return;
  Block* block = Block::current();
  if (!block) return;  // a plan or a static constructor, not a kernel
  auto at = reinterpret_cast<uint64_t>(address);
  auto inside = [at](const auto& variable) { return at - reinterpret_cast<uint64_t>(&variable) < sizeof variable; };
  if (inside(threadIdx) || inside(blockIdx) || inside(blockDim) || inside(gridDim) || block->on_stack(address)) return;
  uint64_t now = generation.load(std::memory_order_relaxed);
  if (mine.generation != now) mine = {now, tracer->add()};
  mine.buffer->list.push_back({at, reinterpret_cast<uint64_t>(pc), block->current_block(),
                               static_cast<uint16_t>(block->current_thread()), static_cast<uint16_t>(size),
                               static_cast<AccessKind>(kind)});
  if (mine.buffer->list.size() == buffer_accesses) tracer->flush(*mine.buffer);
}

void* traced_copy(void* to, const void* from, size_t bytes) {
  const void* pc = __builtin_return_address(0);
  record_access(from, static_cast<unsigned>(bytes), 0, pc);
  record_access(to, static_cast<unsigned>(bytes), 1, pc);
  return std::memcpy(to, from, bytes);
}

Tracing::Tracing(TraceSink sink) {
  auto* tracer = new Tracer(std::move(sink));
  generation.fetch_add(1);
  active.store(tracer, std::memory_order_release);
}

Tracing::~Tracing() {
  std::unique_ptr<Tracer> tracer(active.exchange(nullptr));
  for (auto& b : tracer->buffers) tracer->flush(*b);
}

std::string load_traced_kernels() {
  static std::once_flag once;
  static std::string why;
  std::call_once(once, [] {
    std::error_code error;
    auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    std::vector<std::filesystem::path> places = {folder / "libconvscope_traced.so",
                                                 folder.parent_path() / "lib" / "libconvscope_traced.so"};
    for (const auto& path : places) {
      if (!std::filesystem::exists(path, error)) continue;
      if (!dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        why = fmt::format("traced kernels cannot be opened: {}", dlerror());
      look_for_lines_again();
      return;
    }
    why = fmt::format("{} is not there: it is built beside the program, except in ThreadSanitizer builds",
                      places[0].filename().string());
  });
  return why;
}

}  // namespace convscope::simt
