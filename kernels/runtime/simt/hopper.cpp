// Barriers in shared memory, the copy engine and named barriers, as PTX ISA 9.0 has them.
#include "kernels/runtime/simt/hopper.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "kernels/runtime/simt/block.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/runtime/simt/trace_hooks.h"

namespace convscope::simt {
namespace {

// The 8 bytes of a barrier: which phase it is in, how many have still to arrive and how many do in each phase, bytes
// that are expected and have not come. The mark tells it from memory that was never initialised.
struct Barrier {
  static constexpr uint64_t mark = 0x5a;
  uint64_t phase : 1, pending : 12, arrivals : 12;
  int64_t bytes : 31;
  uint64_t marked : 8;
};
static_assert(sizeof(Barrier) == 8);

// What encoded() puts into a TensorMap.
struct Map {
  uint64_t address;
  std::array<int64_t, 5> sizes, stride_bytes;
  std::array<int32_t, 5> box;
  int8_t rank, swizzled;
};
static_assert(sizeof(Map) <= sizeof(TensorMap));

Map decoded(const TensorMap& map) {
  Map m;
  std::memcpy(&m, map.opaque, sizeof m);
  return m;
}

uint32_t box_bytes(const Map& m) {
  int64_t bytes = m.stride_bytes[0];
  for (int i = 0; i < m.rank; i++) bytes *= m.box[static_cast<size_t>(i)];
  return static_cast<uint32_t>(bytes);
}

// Calls row(offset in the box in bytes, address of the row's first element inside, bytes before it, bytes of it) for
// each row of a box: what lies outside the tensor is cut off.
template <class Row>
void each_row(const Map& m, const std::array<int, 5>& place, Row row) {
  const int64_t element = m.stride_bytes[0], width = m.box[0];
  const int64_t first = std::clamp<int64_t>(-int64_t{place[0]}, 0, width);
  const int64_t end = std::clamp<int64_t>(m.sizes[0] - place[0], first, width);
  int64_t rows = 1;
  for (int i = 1; i < m.rank; i++) rows *= m.box[static_cast<size_t>(i)];
  for (int64_t r = 0; r < rows; r++) {
    uint64_t at = m.address + static_cast<uint64_t>((place[0] + first) * element);
    bool inside = true;
    int64_t rest = r;
    for (size_t i = 1; i < static_cast<size_t>(m.rank); i++) {
      int64_t index = place[i] + rest % m.box[i];
      rest /= m.box[i];
      inside &= index >= 0 && index < m.sizes[i];
      at += static_cast<uint64_t>(index * m.stride_bytes[i]);
    }
    row(r * width * element, at, inside ? first * element : 0, inside ? (end - first) * element : 0);
  }
}

// Pieces of 16 bytes are exchanged by the number of their 128 bytes, both counted from an address of 1024 bytes.
uint32_t swizzled(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

void check_swizzle(Block& block, const Map& m, const Site& at) {
  if (m.swizzled && m.box[0] * m.stride_bytes[0] != 128)
    block.fault("the 128-byte swizzle is emulated for boxes whose rows are 128 bytes", at);
}

}  // namespace

TensorMap encoded(const TensorView& view, uint64_t address) {
  Map m{address, view.sizes, view.stride_bytes, view.box, static_cast<int8_t>(view.rank), view.swizzled};
  TensorMap map{};
  std::memcpy(map.opaque, &m, sizeof m);
  return map;
}

void Hopper::begin() {
  named_ = {};
  copies_.clear(), stores_.clear();
  if (!multiplies_) return;
  multiplies_ = false;
  for (Queue& q : queues_) q.products.clear(), q.groups.clear(), q.done = 0, q.fenced = false;
  warpgroups_ = {};
}

unsigned char* Hopper::shared_at(uint32_t address, uint32_t bytes, uint32_t alignment, const char* what,
                                 const Site& at) {
  if (address % alignment)
    block_.fault(
        fmt::format("{} at byte {} of shared memory, which must be a multiple of {}", what, address, alignment), at);
  if (uint64_t{address} + bytes > block_.dynamic_shared_bytes())
    block_.fault(fmt::format("{} at bytes {} to {} of shared memory, the launch has {}", what, address,
                             uint64_t{address} + bytes - 1, block_.dynamic_shared_bytes()),
                 at);
  return block_.dynamic_shared() + address;
}

// ---- barriers in shared memory

void Hopper::init(uint32_t barrier, int arrivals, const Site& at) {
  if (arrivals < 1 || arrivals > static_cast<int>(max_threads_per_block))
    block_.fault(
        fmt::format("mbarrier.init: {} arrivals, which must be between 1 and {}", arrivals, max_threads_per_block), at);
  const auto n = static_cast<unsigned>(arrivals);
  const Barrier b{0, n, n, 0, Barrier::mark};
  std::memcpy(shared_at(barrier, 8, 8, "mbarrier.init", at), &b, sizeof b);
}

// arrivals and bytes (negative: that have come) are counted; the phase ends when nothing is missing.
void Hopper::complete(uint32_t barrier, int arrivals, int64_t bytes, const Site& at) {
  unsigned char* where = shared_at(barrier, 8, 8, "mbarrier", at);
  Barrier b;
  std::memcpy(&b, where, sizeof b);
  if (b.marked != Barrier::mark)
    block_.fault(fmt::format("the mbarrier at byte {} of shared memory was not initialised", barrier), at);
  if (arrivals > static_cast<int>(b.pending))
    block_.fault(fmt::format("more threads arrive at the mbarrier at byte {} of shared memory than the {} of a phase",
                             barrier, static_cast<unsigned>(b.arrivals)),
                 at);
  b.pending -= static_cast<unsigned>(arrivals) & 0xfff;
  b.bytes += bytes;
  const bool ends = b.pending == 0 && b.bytes == 0;
  if (ends) b.phase ^= 1, b.pending = b.arrivals;
  std::memcpy(where, &b, sizeof b);
  if (!ends) return;
  block_.wake(where);
  block_.beat(at);
}

void Hopper::arrive(uint32_t barrier, uint32_t expected_bytes, const Site& at) {
  arrives_for(barrier, block_.current_thread(), at);
  complete(barrier, 1, expected_bytes, at);
}

// For the tracer: who arrives for the next phase is nothing to those who wait for this one.
void Hopper::arrives_for(uint32_t barrier, unsigned thread, const Site& at) {
  unsigned char* where = shared_at(barrier, 8, 8, "mbarrier", at);
  Barrier b;
  std::memcpy(&b, where, sizeof b);
  record_meeting(where + b.phase, false, thread);
}

void Hopper::wait(uint32_t barrier, uint32_t parity, const Site& at) {
  unsigned char* where = shared_at(barrier, 8, 8, "mbarrier.try_wait", at);
  for (;;) {
    Barrier b;
    std::memcpy(&b, where, sizeof b);
    if (b.marked != Barrier::mark)
      block_.fault(fmt::format("the mbarrier at byte {} of shared memory was not initialised", barrier), at);
    if (b.phase != (parity & 1)) return record_meeting(where + (parity & 1), true, block_.current_thread());
    block_.park(where, "an mbarrier", at);
  }
}

// ---- the copy engine

void Hopper::copy(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier, const void* pc, const Site& at) {
  shared_at(to, bytes, 16, "cp.async.bulk", at);
  if (!from) block_.fault("cp.async.bulk from a null pointer", at);
  if (bytes % 16 || reinterpret_cast<uintptr_t>(from) % 16)
    block_.fault(fmt::format("cp.async.bulk of {} bytes from an address that is {} after a multiple of 16: both must "
                             "be multiples of 16",
                             bytes, reinterpret_cast<uintptr_t>(from) % 16),
                 at);
  ordered({to, bytes, barrier, false, from, {}, {}, block_.current_thread(), pc, at});
}

void Hopper::load(uint32_t to, const TensorMap& map, const int* place, int rank, uint32_t barrier, const void* pc,
                  const Site& at) {
  const Map m = decoded(map);
  if (m.rank != rank)
    block_.fault(fmt::format("a copy of {} dimensions out of a tensor of {}", rank, static_cast<int>(m.rank)), at);
  check_swizzle(block_, m, at);
  const uint32_t bytes = box_bytes(m);
  shared_at(to, bytes, 128, "cp.async.bulk.tensor", at);
  Copy copy{to, bytes, barrier, true, nullptr, map, {}, block_.current_thread(), pc, at};
  std::copy_n(place, rank, copy.place.begin());
  ordered(copy);
}

void Hopper::arrive_copy(const Copy& copy) {
  record_engine_write(block_.dynamic_shared() + copy.to, copy.bytes, copy.thread, copy.pc);
  if (!copy.box) {
    std::memcpy(block_.dynamic_shared() + copy.to, copy.from, copy.bytes);
  } else {
    const Map m = decoded(copy.map);
    const auto row_bytes = static_cast<size_t>(m.box[0] * m.stride_bytes[0]);
    each_row(m, copy.place, [&](int64_t offset, uint64_t from, int64_t before, int64_t bytes) {
      const auto to = copy.to + static_cast<uint32_t>(offset);
      auto fill = [&](unsigned char* row) {
        std::memset(row, 0, row_bytes);
        if (bytes) std::memcpy(row + before, reinterpret_cast<const void*>(from), static_cast<size_t>(bytes));
      };
      if (!m.swizzled) return fill(block_.dynamic_shared() + to);
      std::array<unsigned char, 128> row;
      fill(row.data());
      for (uint32_t i = 0; i < row.size(); i += 16)
        std::memcpy(block_.dynamic_shared() + swizzled(to + i), &row[i], 16);
    });
  }
  arrives_for(copy.barrier, copy.thread, copy.at);
  complete(copy.barrier, 0, -int64_t{copy.bytes}, copy.at);
}

// In a shuffled order copies come late: who reads too early reads what was there before.
void Hopper::ordered(const Copy& copy) {
  if (block_.shuffles())
    copies_.push_back(copy);
  else
    arrive_copy(copy);
}

bool Hopper::deliver() {
  if (copies_.empty() && stores_.empty()) return false;
  end();
  std::vector<Copy> now;
  now.swap(copies_);
  for (const Copy& copy : now) block_.in_place_of(copy.thread, [&] { arrive_copy(copy); });
  return true;
}

// In a shuffled order a box leaves when its thread waits until it was read: what has been overwritten before shows.
void Hopper::store(const TensorMap& map, const int* place, int rank, uint32_t from, const void* pc, const Site& at) {
  const Map m = decoded(map);
  if (m.rank != rank)
    block_.fault(fmt::format("a copy of {} dimensions into a tensor of {}", rank, static_cast<int>(m.rank)), at);
  shared_at(from, box_bytes(m), 128, "cp.async.bulk.tensor", at);
  check_swizzle(block_, m, at);
  if (place[0] * m.stride_bytes[0] % 16)  // seen on an H200: illegal instruction
    block_.fault(
        fmt::format("a box is written from element {} of its row on: that must be a multiple of 16 bytes", place[0]),
        at);
  Store s{from, map, {}, block_.current_thread(), pc, at};
  std::copy_n(place, rank, s.place.begin());
  if (block_.shuffles())
    stores_.push_back(s);
  else
    leave(s);
}

void Hopper::write(void* to, uint32_t from, uint32_t bytes, const void* pc, const Site& at) {
  shared_at(from, bytes, 16, "cp.async.bulk", at);
  if (bytes % 16 || reinterpret_cast<uintptr_t>(to) % 16)
    block_.fault(fmt::format("cp.async.bulk of {} bytes to an address that is {} after a multiple of 16: both must be "
                             "multiples of 16",
                             bytes, reinterpret_cast<uintptr_t>(to) % 16),
                 at);
  Store s{from, {}, {}, block_.current_thread(), pc, at, to, bytes};
  if (block_.shuffles())
    stores_.push_back(s);
  else
    leave(s);
}

void Hopper::leave(const Store& s) {
  if (s.bytes) {
    record_access(s.to, s.bytes, static_cast<uint8_t>(AccessKind::bulk_write), s.pc);
    std::memcpy(s.to, block_.dynamic_shared() + s.from, s.bytes);
    return;
  }
  const Map m = decoded(s.map);
  const int64_t element = m.stride_bytes[0];
  each_row(m, s.place, [&](int64_t offset, uint64_t to, int64_t before, int64_t bytes) {
    if (bytes)
      record_access(reinterpret_cast<const void*>(to), static_cast<unsigned>(bytes),
                    static_cast<uint8_t>(AccessKind::bulk_write), s.pc);
    for (int64_t i = 0; i < bytes; i += element) {
      auto address = s.from + static_cast<uint32_t>(offset + before + i);
      std::memcpy(reinterpret_cast<void*>(to + static_cast<uint64_t>(i)),
                  block_.dynamic_shared() + (m.swizzled ? swizzled(address) : address), static_cast<size_t>(element));
    }
  });
}

void Hopper::wait_stores() {
  const unsigned self = block_.current_thread();
  for (const Store& s : stores_)
    if (s.thread == self) leave(s);
  std::erase_if(stores_, [&](const Store& s) { return s.thread == self; });
}

void Hopper::end() {
  for (const Store& s : stores_) block_.in_place_of(s.thread, [&] { leave(s); });
  stores_.clear();
}

// ---- named barriers

void Hopper::meet(int id, int threads, bool waits, const Site& at) {
  if (id < 1 || id > 15) block_.fault(fmt::format("barrier {}: named barriers are 1 to 15", id), at);
  Named& n = named_[static_cast<size_t>(id)];
  if (n.arrived && n.threads != threads)
    block_.fault(fmt::format("barrier {} of {} threads: others wait there for {}", id, threads, n.threads), at);
  n.threads = threads;
  record_meeting(&n, false, block_.current_thread());
  if (++n.arrived == threads) {
    n.arrived = 0;
    if (waits) record_meeting(&n, true, block_.current_thread());
    block_.each_parked(&n, [&](unsigned thread) { record_meeting(&n, true, thread); });
    block_.wake(&n);
  } else if (waits) {
    block_.park(&n, "bar.sync", at);
  }
}

// ---- the calls of convscope/hopper.h

namespace {
Hopper& hopper() { return Block::current()->hopper(); }
}  // namespace

uint32_t shared_address(const void* p, const Site& at) {
  Block& b = *Block::current();
  auto offset = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(b.dynamic_shared());
  if (offset > b.dynamic_shared_bytes()) b.fault("this is no address of dynamic shared memory", at);
  return static_cast<uint32_t>(offset);
}
unsigned char* shared_at(uint32_t address, uint32_t bytes, uint32_t alignment, const char* what, const Site& at) {
  return hopper().shared_at(address, bytes, alignment, what, at);
}
void mbarrier_init(uint32_t barrier, int arrivals, const Site& at) { hopper().init(barrier, arrivals, at); }
void mbarrier_arrive(uint32_t barrier, uint32_t bytes, const Site& at) { hopper().arrive(barrier, bytes, at); }
void mbarrier_wait(uint32_t barrier, uint32_t parity, const Site& at) { hopper().wait(barrier, parity, at); }
void bulk_copy(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier, const Site& at) {
  hopper().copy(to, from, bytes, barrier, __builtin_return_address(0), at);
}
void bulk_load(uint32_t to, const TensorMap& map, const int* place, int rank, uint32_t barrier, const Site& at) {
  hopper().load(to, map, place, rank, barrier, __builtin_return_address(0), at);
}
void bulk_store(const TensorMap& map, const int* place, int rank, uint32_t from, const Site& at) {
  hopper().store(map, place, rank, from, __builtin_return_address(0), at);
}
void bulk_write(void* to, uint32_t from, uint32_t bytes, const Site& at) {
  hopper().write(to, from, bytes, __builtin_return_address(0), at);
}
void named_barrier(int id, int threads, bool waits, const Site& at) { hopper().meet(id, threads, waits, at); }

void bulk_wait_stores() { hopper().wait_stores(); }

void tell_word(int* word) {
  record_meeting(word, false, Block::current()->current_thread());
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

// Another block tells it, or another warpgroup of this one.
void wait_for_word(const int* word, const Site& at) {
  Block& b = *Block::current();
  while (!__atomic_load_n(word, __ATOMIC_ACQUIRE)) {
    if (!b.all_blocks_run()) return;  // for counting: nobody may tell
    b.poll("a word of another block", at);
  }
  record_meeting(word, true, b.current_thread());
}

}  // namespace convscope::simt
