#include "kernels/runtime/simt/trace.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>
#include <vector>

#include "kernels/runtime/simt/block.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/simt/trace_hooks.h"

namespace convscope::simt {
namespace {

constexpr size_t buffer_accesses = 1 << 15;

struct Tracer {
  Tracer(TraceSink s, TraceWish w) : sink(std::move(s)), wish(w) {}
  TraceSink sink;
  const TraceWish wish;
  std::mutex mutex;
  struct Buffer {
    std::vector<Access> list;
  };
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::optional<Access> misaligned;
  std::optional<Tracing::LeavesShared> leaves_shared;
  std::optional<Tracing::Beyond> beyond;

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

// The loops that a thread of the kernel is in, from the steps it takes. Code lies in the order of the source
// (-fno-reorder-blocks, -fno-thread-jumps), so a step back begins another round of the loop whose head it goes to, and
// a step beyond a loop's last piece leaves it. A function that is called, and not put in its place, lies elsewhere: its
// steps say nothing of its caller's loops.
class Loops {
 public:
  void step(uint64_t pc) {
    if (pc <= last_) {
      while (depth_ > own_ && loops_[depth_ - 1].head > pc) depth_--;
      if (depth_ > own_ && loops_[depth_ - 1].head == pc) {
        loops_[depth_ - 1].rounds++;
        loops_[depth_ - 1].end = std::max(loops_[depth_ - 1].end, last_);
      } else if (depth_ < deepest) {
        loops_[depth_++] = {pc, last_, 1};
      }
    } else {
      while (depth_ > own_ && pc > loops_[depth_ - 1].end) depth_--;
    }
    last_ = pc;
  }
  // from: where it is called.
  void enter_function(uint64_t from) {
    if (called_++ >= deepest) return;
    calls_[called_ - 1] = {from, last_, depth_, own_};
    own_ = depth_, last_ = 0;
  }
  void leave_function() {
    if (called_ == 0 || called_-- > deepest) return;
    const Call& c = calls_[called_];
    last_ = c.last, depth_ = c.depth, own_ = c.own;
  }
  // FNV-1a (Fowler, Noll & Vo), a word at a time.
  uint64_t round() const {
    uint64_t h = 0xcbf29ce484222325u;
    auto add = [&h](uint64_t word) { h = (h ^ word) * 0x100000001b3u; };
    for (size_t i = 0; i < depth_; i++) add(loops_[i].head), add(loops_[i].rounds);
    for (size_t i = 1; i < std::min(called_, deepest); i++) add(calls_[i].from);  // the first is the kernel itself
    return depth_ || called_ > 1 ? h ^ h >> 32 : 0;
  }

 private:
  static constexpr size_t deepest = 12;
  struct Loop {
    uint64_t head = 0, end = 0, rounds = 0;
  };
  struct Call {
    uint64_t from = 0, last = 0;
    size_t depth = 0, own = 0;
  };
  std::array<Loop, deepest> loops_{};
  size_t depth_ = 0, own_ = 0;  // own_: loops of its callers
  uint64_t last_ = 0;
  std::array<Call, deepest> calls_{};
  size_t called_ = 0;  // functions that it is in
};

// Those of the threads of the block that this OS thread runs.
struct BlockLoops {
  uint64_t generation = 0, block = ~uint64_t{0};
  std::vector<Loops> threads;
};
thread_local BlockLoops loops;

Loops& loops_of(const Block& block) {
  uint64_t now = generation.load(std::memory_order_relaxed);
  if (loops.generation != now || loops.block != block.current_block())
    loops.generation = now, loops.block = block.current_block(), loops.threads.clear();
  size_t thread = block.current_thread();
  if (loops.threads.size() <= thread) loops.threads.resize(thread + 1);
  return loops.threads[thread];
}

}  // namespace

namespace {

constinit thread_local AccessInHand in_hand{};

// What stands there may be read before the kernel does so: where nothing is, it is the kernel's fault.
uint64_t value_at(const void* address, unsigned size, const void* pc, bool writes) {
  uint64_t v = 0;
  if (size > sizeof v) return v;
  in_hand = {reinterpret_cast<uint64_t>(pc), writes};
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(&v, address, size);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  in_hand.pc = 0;
  return v;
}

void put(Tracer& tracer, const Access& a) {
  uint64_t now = generation.load(std::memory_order_relaxed);
  if (mine.generation != now) mine = {now, tracer.add()};
  mine.buffer->list.push_back(a);
  if (mine.buffer->list.size() == buffer_accesses) tracer.flush(*mine.buffer);
}

// What is no access of the kernel's own code.
void record_beside(const void* address, unsigned thread, size_t size, AccessKind kind, const void* pc) {
  Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer || !tracer->wish.meetings) return;
  if (const Block* block = Block::current())
    put(*tracer, {reinterpret_cast<uint64_t>(address), reinterpret_cast<uint64_t>(pc), block->current_block(),
                  static_cast<uint16_t>(thread), static_cast<uint16_t>(size), kind});
}

void look_whether_it_leaves(Tracer& tracer, const Block& block, const void* address, unsigned size, uint8_t kind,
                            const void* pc) {
  std::string words = block.leaves_shared(address, size);
  if (words.empty()) return;
  std::lock_guard lock(tracer.mutex);
  // The same one, whichever worker is the first to meet one.
  if (tracer.leaves_shared && tracer.leaves_shared->access.block <= block.current_block()) return;
  tracer.leaves_shared = {
      {reinterpret_cast<uint64_t>(address), reinterpret_cast<uint64_t>(pc), block.current_block(),
       static_cast<uint16_t>(block.current_thread()), static_cast<uint16_t>(size), static_cast<AccessKind>(kind)},
      std::move(words)};
}

// stands: what stands there, where that is wanted.
void record(const void* address, unsigned size, uint8_t kind, const void* pc, const void* stands) {
  Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer || (kind == 0 && !tracer->wish.reads)) return;
  Block* block = Block::current();
  if (!block) return;  // a plan or a static constructor, not a kernel
  if (tracer->wish.block >= 0 && block->current_block() != static_cast<uint64_t>(tracer->wish.block)) return;
  auto at = reinterpret_cast<uint64_t>(address);
  auto inside = [at](const auto& variable) { return at - reinterpret_cast<uint64_t>(&variable) < sizeof variable; };
  if (inside(threadIdx) || inside(blockIdx) || inside(blockDim) || inside(gridDim) || block->on_stack(address)) return;
  const bool looks = tracer->wish.meetings && tracer->wish.reads,
             shared = (looks || (tracer->wish.meetings && static_cast<AccessKind>(kind) == AccessKind::atomic)) &&
                      block->is_shared(address);
  if (looks) look_whether_it_leaves(*tracer, *block, address, size, kind, pc);
  const unsigned part = tracer->wish.meetings && size == 16 ? 8 : size;
  for (unsigned from = 0; from < size; from += part)
    put(*tracer, {at + from, reinterpret_cast<uint64_t>(pc), block->current_block(),
                  static_cast<uint16_t>(block->current_thread()), static_cast<uint16_t>(part),
                  static_cast<AccessKind>(kind), shared,
                  tracer->wish.rounds     ? loops_of(*block).round()
                  : tracer->wish.meetings ? value_at(static_cast<const char*>(stands) + from, part, pc, kind != 0)
                                          : 0});
}

// Who wants to know of this block; null: nobody, or it is none.
Tracer* tracer_of(const Block* block) {
  Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer || !block) return nullptr;
  const int64_t wanted = tracer->wish.block;
  return wanted < 0 || block->current_block() == static_cast<uint64_t>(wanted) ? tracer : nullptr;
}

}  // namespace

void record_access(const void* address, unsigned size, uint8_t kind, const void* pc) {
  record(address, size, kind, pc, address);
}

void record_misaligned(const void* address, unsigned size, uint8_t kind, const void* pc) {
  const Block* block = Block::current();
  Tracer* tracer = tracer_of(block);
  if (!tracer) return;
  std::lock_guard lock(tracer->mutex);
  // The same one, whichever worker is the first to meet one.
  if (tracer->misaligned && tracer->misaligned->block <= block->current_block()) return;
  tracer->misaligned = {reinterpret_cast<uint64_t>(address),
                        reinterpret_cast<uint64_t>(pc),
                        block->current_block(),
                        static_cast<uint16_t>(block->current_thread()),
                        static_cast<uint16_t>(size),
                        static_cast<AccessKind>(kind)};
}

void record_beyond(const char* file, unsigned line, const char* type, int64_t index) {
  const Block* block = Block::current();
  Tracer* tracer = tracer_of(block);
  if (!tracer) return;
  std::lock_guard lock(tracer->mutex);
  if (tracer->beyond && tracer->beyond->block <= block->current_block()) return;
  tracer->beyond = {file, type, static_cast<int>(line), index, block->current_block(), block->current_thread()};
}

void record_copy(const void* address, unsigned size, const void* bytes, bool is_there, const void* pc) {
  const Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer || (is_there && !tracer->wish.meetings)) return;
  const auto kind = is_there ? AccessKind::arrival : tracer->wish.meetings ? AccessKind::ordered : AccessKind::write;
  record(address, size, static_cast<uint8_t>(kind), pc, is_there ? address : bytes);
}

void record_meeting(const void* object, bool goes_on, unsigned thread) {
  record_beside(object, thread, 0, goes_on ? AccessKind::acquire : AccessKind::release, nullptr);
}

void record_exchange(unsigned thread) { record_beside(nullptr, thread, 0, AccessKind::exchange, nullptr); }

void fence() {
  if (const Block* block = Block::current())
    record_beside(nullptr, block->current_thread(), 0, AccessKind::fence, nullptr);
}

void record_engine_write(const void* address, size_t bytes, unsigned thread, const void* pc) {
  constexpr size_t most = 1 << 15;  // of an access
  for (size_t at = 0; at < bytes; at += most)
    record_beside(static_cast<const char*>(address) + at, thread, std::min(most, bytes - at), AccessKind::bulk_write,
                  pc);
}

void record_step(const void* pc) {
  const Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer) return;
  // A loop without end (blocks that wait for others, which run one after the other here) must not outlive its cancel.
  static constinit thread_local unsigned steps = 0;
  if (++steps % 65536 == 0)
    if (Block* block = Block::current()) block->look_for_cancel();
  if (!tracer->wish.rounds) return;
  if (Block* block = Block::current()) loops_of(*block).step(reinterpret_cast<uint64_t>(pc));
}

void record_call(const void* from) {
  const Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer || !tracer->wish.rounds) return;
  if (Block* block = Block::current()) loops_of(*block).enter_function(reinterpret_cast<uint64_t>(from));
}

void record_return() {
  const Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer || !tracer->wish.rounds) return;
  if (Block* block = Block::current()) loops_of(*block).leave_function();
}

void* traced_copy(void* to, const void* from, size_t bytes) {
  const void* pc = __builtin_return_address(0);
  record_access(from, static_cast<unsigned>(bytes), 0, pc);
  record_access(to, static_cast<unsigned>(bytes), 1, pc);
  return std::memcpy(to, from, bytes);
}

Tracing::Tracing(TraceSink sink, TraceWish wish) {
  auto* tracer = new Tracer(std::move(sink), wish);
  generation.fetch_add(1);
  active.store(tracer, std::memory_order_release);
  traced = true;
}

Tracing::~Tracing() {
  traced = false;
  std::unique_ptr<Tracer> tracer(active.exchange(nullptr));
  for (auto& b : tracer->buffers) tracer->flush(*b);
}

std::optional<Access> Tracing::misaligned() {
  Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer) return {};
  std::lock_guard lock(tracer->mutex);
  return tracer->misaligned;
}

std::optional<Tracing::LeavesShared> Tracing::leaves_shared() {
  Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer) return {};
  std::lock_guard lock(tracer->mutex);
  return tracer->leaves_shared;
}

std::optional<Tracing::Beyond> Tracing::beyond() {
  Tracer* tracer = active.load(std::memory_order_acquire);
  if (!tracer) return {};
  std::lock_guard lock(tracer->mutex);
  return tracer->beyond;
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
      return;
    }
    why = fmt::format("{} is not there: it is built beside the program, except in ThreadSanitizer builds",
                      places[0].filename().string());
  });
  return why;
}

AccessInHand take_access_in_hand() { return std::exchange(in_hand, {}); }

}  // namespace convscope::simt
