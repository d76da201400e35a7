// Cooperative groups of a block and of a warp, for the emulator: what kernel files from outside get as
// <cooperative_groups.h> and its parts (CUDA C++ Programming Guide, "Cooperative Groups"). Tiles have up to 32 threads.
// Waiting for a whole grid does not compile: launches are recorded as ordinary ones, whose blocks run one after
// another.
#pragma once
#include <tuple>

#include "convscope/intrinsics.h"
#include "convscope/late_copies.h"
#include "convscope/vectors.h"

namespace cooperative_groups {

using convscope::simt::Site;

namespace of_convscope {

inline unsigned rank_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
inline unsigned threads_in_block() { return blockDim.x * blockDim.y * blockDim.z; }
// Not by its name: files with host code have another dim3 (recording.h), which is made of this one.
using Dimensions = std::remove_cvref_t<decltype(gridDim)>;

// Values of any size, in the words that shuffles move.
template <class T, class Move>
CONVSCOPE_UNTRACED T moved(const T& value, Move move) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32, "what a group's shuffle can move");
  constexpr size_t n = (sizeof(T) + 3) / 4;
  unsigned words[n] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (unsigned& w : words) w = move(w);
  T result;
  __builtin_memcpy(&result, words, sizeof(T));
  return result;
}

}  // namespace of_convscope

// ---- the block

class thread_block {
 public:
  CONVSCOPE_UNTRACED static void sync(const Site& at = Site::current()) { __syncthreads(at); }
  static unsigned thread_rank() { return of_convscope::rank_in_block(); }
  static unsigned size() { return of_convscope::threads_in_block(); }
  static unsigned num_threads() { return size(); }
  static of_convscope::Dimensions group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static of_convscope::Dimensions thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static of_convscope::Dimensions group_dim() { return blockDim; }
  static of_convscope::Dimensions dim_threads() { return group_dim(); }
};
inline thread_block this_thread_block() { return {}; }

// ---- lanes of one warp: what tiles and coalesced groups have in common

class lanes_of_warp {
 public:
  // Its threads are numbered in the order of their lanes.
  unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << convscope::simt::lane()) - 1))); }
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }
  CONVSCOPE_UNTRACED void sync(const Site& at = Site::current()) const { __syncwarp(mask_, at); }
  CONVSCOPE_UNTRACED int any(int p, const Site& at = Site::current()) const { return __any_sync(mask_, p, at); }
  CONVSCOPE_UNTRACED int all(int p, const Site& at = Site::current()) const { return __all_sync(mask_, p, at); }
  // Bit i is the i-th thread's.
  CONVSCOPE_UNTRACED unsigned ballot(int p, const Site& at = Site::current()) const {
    return packed(__ballot_sync(mask_, p, at));
  }
  template <class T>
  CONVSCOPE_UNTRACED unsigned match_any(T value, const Site& at = Site::current()) const {
    return packed(__match_any_sync(mask_, value, at));
  }
  template <class T>
  CONVSCOPE_UNTRACED unsigned match_all(T value, int& all, const Site& at = Site::current()) const {
    return packed(__match_all_sync(mask_, value, &all, at));
  }

 protected:
  lanes_of_warp(uint32_t mask, unsigned meta_rank, unsigned meta_size)
      : mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  CONVSCOPE_UNTRACED unsigned packed(uint32_t lanes) const {
    unsigned out = 0, i = 0;
    for (uint32_t q = mask_; q; q &= q - 1, i++) out |= (lanes >> std::countr_zero(q) & 1u) << i;
    return out;
  }
  // The lane of the rank-th thread; the own one where there is none.
  CONVSCOPE_UNTRACED int lane_of(unsigned rank) const {
    uint32_t q = mask_;
    for (; q && rank; rank--) q &= q - 1;
    return static_cast<int>(q ? static_cast<unsigned>(std::countr_zero(q)) : convscope::simt::lane());
  }
  uint32_t mask_;

 private:
  unsigned meta_rank_, meta_size_;
};

// Size threads with consecutive ranks. Shuffles stay in it: out of range a thread keeps its own value, and shfl counts
// modulo Size.
template <unsigned Size, class Parent = void>
class thread_block_tile : public lanes_of_warp {
  static_assert(
      Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
      "a tile has 1, 2, 4, 8, 16 or 32 threads here; larger ones, which a GPU makes of several warps by way of "
      "shared memory, are not emulated");

 public:
  thread_block_tile(uint32_t mask, unsigned meta_rank, unsigned meta_size)
      : lanes_of_warp(mask, meta_rank, meta_size) {}
  template <class P>
  thread_block_tile(const thread_block_tile<Size, P>& same) : lanes_of_warp(same) {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned thread_rank() { return convscope::simt::lane() % Size; }
  template <class T>
  CONVSCOPE_UNTRACED T shfl(T value, int rank, const Site& at = Site::current()) const {
    return of_convscope::moved(value,
                               [&](unsigned w) CONVSCOPE_UNTRACED { return __shfl_sync(mask_, w, rank, Size, at); });
  }
  template <class T>
  CONVSCOPE_UNTRACED T shfl_down(T value, unsigned by, const Site& at = Site::current()) const {
    return of_convscope::moved(value,
                               [&](unsigned w) CONVSCOPE_UNTRACED { return __shfl_down_sync(mask_, w, by, Size, at); });
  }
  template <class T>
  CONVSCOPE_UNTRACED T shfl_up(T value, unsigned by, const Site& at = Site::current()) const {
    return of_convscope::moved(value,
                               [&](unsigned w) CONVSCOPE_UNTRACED { return __shfl_up_sync(mask_, w, by, Size, at); });
  }
  template <class T>
  CONVSCOPE_UNTRACED T shfl_xor(T value, unsigned bits, const Site& at = Site::current()) const {
    return of_convscope::moved(value, [&](unsigned w) CONVSCOPE_UNTRACED {
      return __shfl_xor_sync(mask_, w, static_cast<int>(bits), Size, at);
    });
  }
};

template <unsigned Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  const unsigned lane = convscope::simt::lane(), all = of_convscope::threads_in_block();
  const uint32_t lanes = Size >= 32 ? ~0u : ((1u << (Size & 31)) - 1) << lane / Size * Size;
  return {lanes, of_convscope::rank_in_block() / Size, (all + Size - 1) / Size};
}
template <unsigned Size, unsigned Whole, class P>
thread_block_tile<Size, thread_block_tile<Whole, P>> tiled_partition(const thread_block_tile<Whole, P>& tile) {
  static_assert(Size <= Whole, "a part is no larger than the whole");
  const unsigned lane = convscope::simt::lane();
  const uint32_t lanes = Size >= 32 ? ~0u : ((1u << (Size & 31)) - 1) << lane / Size * Size;
  return {lanes, tile.thread_rank() / Size, Whole / Size};
}

// The lanes of a warp that are here together. Which these are the emulator's __activemask says: a legal choice of many.
class coalesced_group : public lanes_of_warp {
 public:
  explicit coalesced_group(uint32_t mask) : lanes_of_warp(mask, 0, 1) {}
  template <class T>
  CONVSCOPE_UNTRACED T shfl(T value, int rank, const Site& at = Site::current()) const {
    const int from = lane_of(static_cast<unsigned>(rank));
    return of_convscope::moved(value,
                               [&](unsigned w) CONVSCOPE_UNTRACED { return __shfl_sync(mask_, w, from, 32, at); });
  }
  template <class T>
  CONVSCOPE_UNTRACED T shfl_down(T value, unsigned by, const Site& at = Site::current()) const {
    const int from = lane_of(thread_rank() + by);
    return of_convscope::moved(value,
                               [&](unsigned w) CONVSCOPE_UNTRACED { return __shfl_sync(mask_, w, from, 32, at); });
  }
  template <class T>
  CONVSCOPE_UNTRACED T shfl_up(T value, unsigned by, const Site& at = Site::current()) const {
    const unsigned own = thread_rank();
    const int from = lane_of(own < by ? own : own - by);
    return of_convscope::moved(value,
                               [&](unsigned w) CONVSCOPE_UNTRACED { return __shfl_sync(mask_, w, from, 32, at); });
  }
};
CONVSCOPE_UNTRACED inline coalesced_group coalesced_threads(const Site& at = Site::current()) {
  return coalesced_group(__activemask(at));
}

// Any of them, its kind known only when it runs.
class thread_group {
 public:
  thread_group(const thread_block&) {}
  thread_group(const coalesced_group& g) : lanes_(g), whole_(false) {}
  template <unsigned Size, class P>
  thread_group(const thread_block_tile<Size, P>& g) : lanes_(g), whole_(false) {}
  unsigned thread_rank() const { return whole_ ? thread_block::thread_rank() : lanes_.thread_rank(); }
  unsigned size() const { return whole_ ? thread_block::size() : lanes_.size(); }
  unsigned num_threads() const { return size(); }
  CONVSCOPE_UNTRACED void sync(const Site& at = Site::current()) const {
    if (whole_)
      thread_block::sync(at);
    else
      lanes_.sync(at);
  }

 private:
  struct Lanes : lanes_of_warp {
    Lanes() : lanes_of_warp(0, 0, 1) {}
    Lanes(const lanes_of_warp& g) : lanes_of_warp(g) {}
  } lanes_;
  bool whole_ = true;
};
// A tile whose size is known only when it runs.
inline thread_group tiled_partition(const thread_block& block, unsigned size, const Site& at = Site::current()) {
  switch (size) {
    case 1:
      return tiled_partition<1>(block);
    case 2:
      return tiled_partition<2>(block);
    case 4:
      return tiled_partition<4>(block);
    case 8:
      return tiled_partition<8>(block);
    case 16:
      return tiled_partition<16>(block);
    case 32:
      return tiled_partition<32>(block);
    default:
      convscope::simt::trap(at, "tiled_partition() takes 1, 2, 4, 8, 16 or 32 threads here");
  }
}

// ---- the grid: its numbers alone

class grid_group {
 public:
  [[gnu::error(
      "the emulator runs a grid's blocks one after another, so none can wait for all: take a second launch instead of "
      "grid.sync()")]] static void
  sync();
  static bool is_valid() { return false; }
  static unsigned long long size() { return num_blocks() * of_convscope::threads_in_block(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long num_blocks() { return uint64_t{gridDim.x} * gridDim.y * gridDim.z; }
  static unsigned long long block_rank() {
    return (uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long thread_rank() {
    return block_rank() * of_convscope::threads_in_block() + of_convscope::rank_in_block();
  }
  static of_convscope::Dimensions group_dim() { return gridDim; }
  static of_convscope::Dimensions dim_blocks() { return group_dim(); }
  static of_convscope::Dimensions block_index() { return thread_block::group_index(); }
};
inline grid_group this_grid() { return {}; }

// ---- functions of groups

template <class Group>
CONVSCOPE_UNTRACED void sync(const Group& g, const Site& at = Site::current()) {
  g.sync(at);
}
__forceinline__ void sync(const grid_group& g) { g.sync(); }

// <cooperative_groups/reduce.h>
#define CONVSCOPE_GROUP_OPERATION(name, expression)        \
  template <class T>                                       \
  struct name {                                            \
    T operator()(T a, T b) const { return T(expression); } \
  };
CONVSCOPE_GROUP_OPERATION(plus, a + b)
CONVSCOPE_GROUP_OPERATION(less, b < a ? b : a)
CONVSCOPE_GROUP_OPERATION(greater, a < b ? b : a)
CONVSCOPE_GROUP_OPERATION(bit_and, a& b)
CONVSCOPE_GROUP_OPERATION(bit_or, a | b)
CONVSCOPE_GROUP_OPERATION(bit_xor, a ^ b)
#undef CONVSCOPE_GROUP_OPERATION

// Every thread gets the fold of all values, in the order of a butterfly of shuffles, as a GPU does it.
template <unsigned Size, class P, class T, class F>
CONVSCOPE_UNTRACED T reduce(const thread_block_tile<Size, P>& tile, T value, F f, const Site& at = Site::current()) {
  for (unsigned bits = Size / 2; bits; bits /= 2) value = f(value, tile.shfl_xor(value, bits, at));
  return value;
}
template <class T, class F>
CONVSCOPE_UNTRACED T reduce(const coalesced_group& g, T value, F f, const Site& at = Site::current()) {
  T all = g.shfl(value, 0, at);
  for (unsigned i = 1; i < g.size(); i++) all = f(all, g.shfl(value, static_cast<int>(i), at));
  return all;
}

// <cooperative_groups/scan.h>: each thread gets the fold of the values of those before it, and of its own.
template <class Group, class T, class F>
CONVSCOPE_UNTRACED T inclusive_scan(const Group& g, T value, F f, const Site& at = Site::current()) {
  T all = g.shfl(value, 0, at);
  for (unsigned i = 1; i < g.size(); i++) {
    const T next = g.shfl(value, static_cast<int>(i), at);
    if (i <= g.thread_rank()) all = f(all, next);
  }
  return all;
}
template <class Group, class T>
CONVSCOPE_UNTRACED T inclusive_scan(const Group& g, T value, const Site& at = Site::current()) {
  return inclusive_scan(g, value, plus<T>(), at);
}
// Without its own: the first one gets T{}, as with plus; of other operations that value is not defined.
template <class Group, class T, class F>
CONVSCOPE_UNTRACED T exclusive_scan(const Group& g, T value, F f, const Site& at = Site::current()) {
  const T all = inclusive_scan(g, value, f, at);
  const T before = g.shfl(all, g.thread_rank() ? static_cast<int>(g.thread_rank()) - 1 : 0, at);
  return g.thread_rank() ? before : T{};
}
template <class Group, class T>
CONVSCOPE_UNTRACED T exclusive_scan(const Group& g, T value, const Site& at = Site::current()) {
  return exclusive_scan(g, value, plus<T>(), at);
}

// <cooperative_groups/memcpy_async.h>: the group's threads copy in turn, each a part that arrives when it waits. Each
// copies what its neighbour would read of a tile: who waits without the group is in a race with it.
namespace of_convscope {
struct OneThread {
  static unsigned thread_rank() { return 0; }
  static unsigned size() { return 1; }
};
template <class Group, class T, class U>
__forceinline__ void copy_in_parts(const Group& g, T* to, const U* from, size_t bytes) {
  using Part = std::conditional_t<std::is_void_v<T> || sizeof(std::conditional_t<std::is_void_v<T>, char, T>) == 1,
                                  char, std::remove_cv_t<T>>;
  const size_t n = bytes / sizeof(Part), all = g.size();
  auto* t = reinterpret_cast<Part*>(to);
  auto* f = reinterpret_cast<const Part*>(from);
  for (size_t i = (g.thread_rank() + 1) % all; i < n; i += all) {
    const Part v = f[i];
    for (size_t at = 0; at < sizeof v; at += 16)
      convscope::simt::late_copy(reinterpret_cast<char*>(t + i) + at, reinterpret_cast<const char*>(&v) + at,
                                 static_cast<unsigned>(sizeof v - at < 16 ? sizeof v - at : 16), 1);
  }
}
}  // namespace of_convscope
template <class Group, class T, class U>
__forceinline__ void memcpy_async(const Group& g, T* to, const U* from, size_t bytes) {
  of_convscope::copy_in_parts(g, to, from, bytes);
  convscope::simt::late_copies_commit();
}
// Of as many elements as both have.
template <class Group, class T>
__forceinline__ void memcpy_async(const Group& g, T* to, size_t room, const T* from, size_t elements) {
  of_convscope::copy_in_parts(g, to, from, (room < elements ? room : elements) * sizeof(T));
  convscope::simt::late_copies_commit();
}
template <class Group>
CONVSCOPE_UNTRACED void wait(const Group& g, const Site& at = Site::current()) {
  convscope::simt::late_copies_wait(0);
  g.sync(at);
}
template <unsigned Stages, class Group>
CONVSCOPE_UNTRACED void wait_prior(const Group& g, const Site& at = Site::current()) {
  convscope::simt::late_copies_wait(Stages);
  g.sync(at);
}

}  // namespace cooperative_groups
