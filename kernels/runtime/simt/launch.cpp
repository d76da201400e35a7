// A grid over the worker pool: blocks are handed out in order (or shuffled), each runs whole on one OS thread.
#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <numeric>

#include "kernels/base/error.h"
#include "kernels/base/worker_pool.h"
#include "kernels/runtime/simt/block.h"
#include "kernels/runtime/simt/executor.h"

namespace convscope::simt {
namespace {

// One Block an OS thread, for the thread's life, since its fibres cannot move; or until it has lost one of them.
Block& own_block() {
  static thread_local std::unique_ptr<Block> own;
  if (own && own->lost_a_fibre()) own.reset();
  if (!own) own = std::make_unique<Block>();
  return *own;
}

struct Known {
  std::atomic<const char*> name{nullptr};
  std::atomic<uint64_t> begin{0};
  std::atomic<int64_t> elements{0};
  std::atomic<size_t> element_bytes{0};
};
std::array<Known, most_known_tensors> known;

struct CurrentBlock {  // marks this OS thread as running kernel code
  explicit CurrentBlock(Block& b) { Block::current() = &b; }
  ~CurrentBlock() { Block::current() = nullptr; }
};

}  // namespace

void know_tensors(std::span<const KnownTensor> all) {
  for (size_t i = 0; i < known.size(); i++) {
    const KnownTensor t = i < all.size() ? all[i] : KnownTensor{};
    known[i].name = t.name, known[i].begin = t.begin, known[i].elements = t.elements;
    known[i].element_bytes = t.element_bytes;
  }
}

bool nearest_tensor(uint64_t address, KnownTensor& out) {
  uint64_t least = room_around_tensors;
  for (const auto& k : known) {
    const uint64_t begin = k.begin, bytes = static_cast<uint64_t>(k.elements.load()) * k.element_bytes;
    if (!k.name || !begin || !bytes) continue;
    const uint64_t distance = address < begin ? begin - address : address - std::min(address, begin + bytes);
    if (distance >= least) continue;
    least = distance;
    out = {k.name, begin, k.elements, k.element_bytes};
  }
  return least < room_around_tensors;
}

std::string launch_shape_fault(const Entry& kernel, Shape grid, Shape block, size_t dynamic_shared_bytes) {
  auto is = [&](const char* what, int64_t value, int64_t most) {
    return fmt::format("kernel {}: {} {} must be between 1 and {}", kernel.name, what, value, most);
  };
  auto in = [](int64_t v, int64_t most) { return v >= 1 && v <= most; };
  if (!in(grid.x, max_grid_x)) return is("grid.x", grid.x, max_grid_x);
  if (!in(grid.y, max_grid_yz)) return is("grid.y", grid.y, max_grid_yz);
  if (!in(grid.z, max_grid_yz)) return is("grid.z", grid.z, max_grid_yz);
  if (!in(block.x, max_threads_per_block)) return is("block.x", block.x, max_threads_per_block);
  if (!in(block.y, max_threads_per_block)) return is("block.y", block.y, max_threads_per_block);
  if (!in(block.z, max_block_z)) return is("block.z", block.z, max_block_z);
  if (!in(block.count(), max_threads_per_block)) return is("threads in a block,", block.count(), max_threads_per_block);
  if (dynamic_shared_bytes > max_dynamic_shared)
    return fmt::format("kernel {}: {} bytes of shared memory are asked for, a block can have {}", kernel.name,
                       dynamic_shared_bytes, max_dynamic_shared);
  return "";
}

std::string launch_fault(const Launch& l) {
  return l.refused.empty() ? launch_shape_fault(l.entry, l.grid, l.block, l.dynamic_shared_bytes)
                           : fmt::format("kernel {}: {}", l.entry.name, l.refused);
}

void launch(const Entry& kernel, Shape grid, Shape block, size_t dynamic_shared_bytes, void* const* args,
            const LaunchOptions& options) {
  if (auto why = launch_shape_fault(kernel, grid, block, dynamic_shared_bytes); !why.empty()) throw KernelFault(why);
  auto narrow = [](Shape s) {
    return dim3{static_cast<unsigned>(s.x), static_cast<unsigned>(s.y), static_cast<unsigned>(s.z)};
  };
  dim3 g = narrow(grid), b = narrow(block);
  uint64_t every = std::max<uint64_t>(options.every, 1);
  const auto all = static_cast<uint64_t>(grid.count());
  const uint64_t first = std::min(options.first, all);
  const uint64_t asked = options.count ? std::min(options.count, all - first) : all - first;
  uint64_t blocks = (asked + every - 1) / every;  // that run
  if (blocks == 0) return;

  auto& pool = WorkerPool::shared();
  int workers = options.workers > 0 ? options.workers : pool.size();
  workers = static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(workers), blocks));
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr fault;
  std::atomic<bool> given_up{false};  // blocks that wait for others' words need not
  // A shuffled order is a walk with a step that shares no factor with the number of blocks.
  uint64_t step = 1, offset = 0;
  if (options.order_seed && blocks > 2 && !options.in_order) {
    uint64_t random = scrambled(options.order_seed);
    offset = random % blocks;
    step = scrambled(random) % blocks;
    while (std::gcd(step, blocks) != 1) step++;
  }

  pool.run(workers, [&](int) {
    Block& self = own_block();
    CurrentBlock mark(self);
    self.prepare(kernel, g, b, dynamic_shared_bytes, args, options.order_seed, given_up, blocks == all,
                 options.activity);
    struct Finish {
      Block& block;
      ~Finish() { block.finish(); }
    } finish{self};
    for (uint64_t taken; (taken = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) {
      if (options.activity && options.activity->cancelled()) {
        given_up = true;
        return;
      }
      uint64_t i =
          first + every * static_cast<uint64_t>((static_cast<unsigned __int128>(taken) * step + offset) % blocks);
      blockIdx = {static_cast<unsigned>(i % g.x), static_cast<unsigned>(i / g.x % g.y),
                  static_cast<unsigned>(i / (uint64_t{g.x} * g.y))};
      try {
        self.run(i);
      } catch (const KernelFault&) {
        std::lock_guard lock(mutex);
        if (!fault) fault = std::current_exception();
        given_up = true;
        next = blocks;
        return;
      }
      if (options.activity) options.activity->advance();
    }
  });
  if (options.activity) options.activity->check();
  if (fault) std::rethrow_exception(fault);
}

}  // namespace convscope::simt
