// Reductions and scans of a block and of a warp, for the emulator: what kernel files from outside get as <cub/cub.cuh>
// and its parts (CUB's documentation, "Block-wide" and "Warp-wide collectives"). As there, warps fold by shuffles, meet
// once by way of the temporary storage, and the result of a reduction is the first thread's alone: the others get what
// they have. Two uses of one storage need a barrier between them.
#pragma once
#include <cstdio>
#include <functional>

#include "convscope/cooperative_groups.h"

namespace cub {

using convscope::simt::Site;

#define CONVSCOPE_CUB_OPERATION(name, expression)                \
  struct name {                                                  \
    template <class T>                                           \
    __forceinline__ T operator()(const T& a, const T& b) {       \
      return expression;                                         \
    }                                                            \
    template <class T>                                           \
    __forceinline__ T operator()(const T& a, const T& b) const { \
      return expression;                                         \
    }                                                            \
  };
CONVSCOPE_CUB_OPERATION(Sum, T(a + b))
CONVSCOPE_CUB_OPERATION(Max, a < b ? b : a)
CONVSCOPE_CUB_OPERATION(Min, b < a ? b : a)
#undef CONVSCOPE_CUB_OPERATION

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE
};

namespace of_convscope {

using cooperative_groups::of_convscope::moved, cooperative_groups::of_convscope::rank_in_block,
    cooperative_groups::of_convscope::threads_in_block;

// Lanes of `width` that belong together and exist: the last warp of a block may have fewer.
struct Lanes {
  unsigned width, rank, there;
  uint32_t mask;
  explicit Lanes(unsigned of) : width(of) {
    const unsigned lane = convscope::simt::lane(), own = rank_in_block(), first = lane / of * of;
    rank = lane - first;
    there = min(of, threads_in_block() - (own - rank));
    mask = (there >= 32 ? ~0u : (1u << there) - 1) << first;
  }
};

// Neighbours first. The first lane gets the fold of the first `valid`.
template <class T, class F>
CONVSCOPE_UNTRACED T folded(T value, F f, unsigned valid, const Lanes& lanes, const Site& at) {
  for (unsigned by = 1; by < lanes.width; by *= 2) {
    const T other = moved(value, [&](unsigned w) CONVSCOPE_UNTRACED {
      return __shfl_down_sync(lanes.mask, w, by, static_cast<int>(lanes.width), at);
    });
    if (lanes.rank + by < valid) value = f(value, other);
  }
  return value;
}
// Of each lane the fold up to it; `before` is that of the lane before (of the first: nothing that is meant).
template <class T, class F>
CONVSCOPE_UNTRACED T scanned(T value, F f, T& before, const Lanes& lanes, const Site& at) {
  auto from_below = [&](unsigned by) CONVSCOPE_UNTRACED {
    return moved(value, [&](unsigned w) CONVSCOPE_UNTRACED {
      return __shfl_up_sync(lanes.mask, w, by, static_cast<int>(lanes.width), at);
    });
  };
  for (unsigned by = 1; by < lanes.width; by *= 2) {
    const T other = from_below(by);
    if (lanes.rank >= by) value = f(other, value);
  }
  before = from_below(1);
  return value;
}

// A block of another size reads what nobody has written, or leaves threads out.
CONVSCOPE_UNTRACED inline void check_threads(const char* what, int threads, const Site& at) {
  if (static_cast<unsigned>(threads) == threads_in_block()) return;
  char why[96];
  std::snprintf(why, sizeof why, "cub::%s is made for %d threads, and the block has %u", what, threads,
                threads_in_block());
  convscope::simt::trap(at, why);
}

// What each warp has, in shared memory.
template <class T, int threads>
struct OfWarps {
  static constexpr int warps = (threads + 31) / 32;
  alignas(T) unsigned char bytes[sizeof(T) * warps];
  __forceinline__ T& operator[](unsigned warp) { return reinterpret_cast<T*>(bytes)[warp]; }
};

template <class Storage>
class Collective {
 public:
  using TempStorage = Storage;
  Collective() : storage_(own()) {}
  explicit Collective(TempStorage& storage) : storage_(storage) {}

 protected:
  TempStorage& storage_;

 private:
  static TempStorage& own() {
    __shared__ TempStorage storage;
    return storage;
  }
};

template <class T, int n, class F>
__forceinline__ T fold_of(const T (&items)[n], F& f) {
  T all = items[0];
  for (int i = 1; i < n; i++) all = f(all, items[i]);
  return all;
}

}  // namespace of_convscope

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce : public of_convscope::Collective<of_convscope::OfWarps<T, X * Y * Z>> {
  using Base = of_convscope::Collective<of_convscope::OfWarps<T, X * Y * Z>>;

 public:
  using Base::Base;
  template <class F>
  __forceinline__ T Reduce(T value, F f, int valid, const Site& at = Site::current()) {
    of_convscope::check_threads("BlockReduce", X * Y * Z, at);
    const unsigned rank = of_convscope::rank_in_block(), warp = rank / 32;
    const of_convscope::Lanes lanes(32);
    const int rest = valid - static_cast<int>(warp * 32);
    T all = of_convscope::folded(value, f, static_cast<unsigned>(max(rest, 0)), lanes, at);
    if (lanes.rank == 0) this->storage_[warp] = all;
    __syncthreads(at);
    if (rank == 0)
      for (unsigned w = 1; static_cast<int>(w * 32) < valid; w++) all = f(all, this->storage_[w]);
    return all;
  }
  template <class F>
  __forceinline__ T Reduce(T value, F f, const Site& at = Site::current()) {
    return Reduce(value, f, X * Y * Z, at);
  }
  template <int n, class F>
  __forceinline__ T Reduce(T (&items)[n], F f, const Site& at = Site::current()) {
    return Reduce(of_convscope::fold_of(items, f), f, X * Y * Z, at);
  }
  __forceinline__ T Sum(T value, const Site& at = Site::current()) { return Reduce(value, cub::Sum(), at); }
  __forceinline__ T Sum(T value, int valid, const Site& at = Site::current()) {
    return Reduce(value, cub::Sum(), valid, at);
  }
  template <int n>
  __forceinline__ T Sum(T (&items)[n], const Site& at = Site::current()) {
    return Reduce(items, cub::Sum(), at);
  }
};

// Shuffles alone: its storage is none.
struct NoStorage {
  char nothing;
};
template <class T, int width = 32, int = 0>
class WarpReduce : public of_convscope::Collective<NoStorage> {
  static_assert(width >= 1 && width <= 32 && (width & (width - 1)) == 0, "a part of a warp has 1, 2, 4, 8, 16 or 32");

 public:
  using Collective::Collective;
  template <class F>
  CONVSCOPE_UNTRACED T Reduce(T value, F f, int valid, const Site& at = Site::current()) {
    const of_convscope::Lanes lanes(width);
    return of_convscope::folded(value, f, min(static_cast<unsigned>(max(valid, 0)), lanes.there), lanes, at);
  }
  template <class F>
  CONVSCOPE_UNTRACED T Reduce(T value, F f, const Site& at = Site::current()) {
    return Reduce(value, f, width, at);
  }
  CONVSCOPE_UNTRACED T Sum(T value, const Site& at = Site::current()) { return Reduce(value, cub::Sum(), width, at); }
  CONVSCOPE_UNTRACED T Sum(T value, int valid, const Site& at = Site::current()) {
    return Reduce(value, cub::Sum(), valid, at);
  }
};

template <class T, int width = 32, int = 0>
class WarpScan : public of_convscope::Collective<NoStorage> {
  static_assert(width >= 1 && width <= 32 && (width & (width - 1)) == 0, "a part of a warp has 1, 2, 4, 8, 16 or 32");

 public:
  using Collective::Collective;
  template <class F>
  CONVSCOPE_UNTRACED void InclusiveScan(T value, T& out, F f, const Site& at = Site::current()) {
    T before;
    out = of_convscope::scanned(value, f, before, of_convscope::Lanes(width), at);
  }
  CONVSCOPE_UNTRACED void InclusiveSum(T value, T& out, const Site& at = Site::current()) {
    InclusiveScan(value, out, cub::Sum(), at);
  }
  CONVSCOPE_UNTRACED void ExclusiveSum(T value, T& out, const Site& at = Site::current()) {
    T before;
    const of_convscope::Lanes lanes(width);
    of_convscope::scanned(value, cub::Sum(), before, lanes, at);
    out = lanes.rank ? before : T();
  }
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan : public of_convscope::Collective<of_convscope::OfWarps<T, X * Y * Z>> {
  using Base = of_convscope::Collective<of_convscope::OfWarps<T, X * Y * Z>>;

 public:
  using Base::Base;
  template <class F>
  __forceinline__ void InclusiveScan(T value, T& out, F f, T& all, const Site& at = Site::current()) {
    const Parts p = parts(value, f, at);
    out = p.warp ? f(p.warps_before, p.own) : p.own;
    all = p.all;
  }
  template <class F>
  __forceinline__ void InclusiveScan(T value, T& out, F f, const Site& at = Site::current()) {
    T all;
    InclusiveScan(value, out, f, all, at);
  }
  template <class F>
  __forceinline__ void ExclusiveScan(T value, T& out, T first, F f, T& all, const Site& at = Site::current()) {
    const Parts p = parts(value, f, at);
    T before = first;
    if (p.warp) before = f(before, p.warps_before);
    if (p.lane) before = f(before, p.before);
    out = before, all = p.all;
  }
  template <class F>
  __forceinline__ void ExclusiveScan(T value, T& out, T first, F f, const Site& at = Site::current()) {
    T all;
    ExclusiveScan(value, out, first, f, all, at);
  }
  __forceinline__ void InclusiveSum(T value, T& out, const Site& at = Site::current()) {
    InclusiveScan(value, out, cub::Sum(), at);
  }
  __forceinline__ void InclusiveSum(T value, T& out, T& all, const Site& at = Site::current()) {
    InclusiveScan(value, out, cub::Sum(), all, at);
  }
  __forceinline__ void ExclusiveSum(T value, T& out, const Site& at = Site::current()) {
    ExclusiveScan(value, out, T(), cub::Sum(), at);
  }
  __forceinline__ void ExclusiveSum(T value, T& out, T& all, const Site& at = Site::current()) {
    ExclusiveScan(value, out, T(), cub::Sum(), all, at);
  }
  // Of several neighbouring values of each thread.
  template <int n>
  __forceinline__ void InclusiveSum(T (&in)[n], T (&out)[n], const Site& at = Site::current()) {
    cub::Sum f;
    T before;
    ExclusiveSum(of_convscope::fold_of(in, f), before, at);
    for (int i = 0; i < n; i++) out[i] = before = before + in[i];
  }
  template <int n>
  __forceinline__ void ExclusiveSum(T (&in)[n], T (&out)[n], const Site& at = Site::current()) {
    cub::Sum f;
    T before;
    ExclusiveSum(of_convscope::fold_of(in, f), before, at);
    for (int i = 0; i < n; i++) {
      const T own = in[i];  // both may be the same
      out[i] = before;
      before = before + own;
    }
  }

 private:
  struct Parts {
    unsigned warp, lane;
    T own, before, warps_before, all;  // own: the fold of this warp up to this lane; before: to the one before
  };
  template <class F>
  __forceinline__ Parts parts(T value, F& f, const Site& at) {
    of_convscope::check_threads("BlockScan", X * Y * Z, at);
    const of_convscope::Lanes lanes(32);
    Parts p{of_convscope::rank_in_block() / 32, lanes.rank, {}, {}, {}, {}};
    p.own = of_convscope::scanned(value, f, p.before, lanes, at);
    if (lanes.rank + 1 == lanes.there) this->storage_[p.warp] = p.own;
    __syncthreads(at);
    p.all = this->storage_[0];
    for (unsigned w = 1; w < static_cast<unsigned>(Base::TempStorage::warps); w++) {
      if (w == p.warp) p.warps_before = p.all;
      p.all = f(p.all, this->storage_[w]);
    }
    return p;
  }
};

// ---- a tile of neighbouring values: several of each thread

namespace of_convscope {
template <int X, bool striped>
__forceinline__ int place_of(int i, int n) {
  const int rank = static_cast<int>(rank_in_block());
  return striped ? i * X + rank : rank * n + i;
}
}  // namespace of_convscope

template <class T, int X, int n, BlockLoadAlgorithm how = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad : public of_convscope::Collective<NoStorage> {
 public:
  using Collective::Collective;
  __forceinline__ void Load(const T* from, T (&items)[n]) { load(from, items, X * Y * Z * n); }
  __forceinline__ void Load(const T* from, T (&items)[n], int valid) { load(from, items, valid); }
  template <class U>
  __forceinline__ void Load(const T* from, T (&items)[n], int valid, U other) {
    for (T& item : items) item = static_cast<T>(other);
    load(from, items, valid);
  }

 private:
  __forceinline__ void load(const T* from, T (&items)[n], int valid) {
    for (int i = 0; i < n; i++) {
      const int at = of_convscope::place_of<X * Y * Z, how == BLOCK_LOAD_STRIPED>(i, n);
      if (at < valid) items[i] = from[at];
    }
  }
};
template <class T, int X, int n, BlockStoreAlgorithm how = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore : public of_convscope::Collective<NoStorage> {
 public:
  using Collective::Collective;
  __forceinline__ void Store(T* to, T (&items)[n], int valid = X * Y * Z * n) {
    for (int i = 0; i < n; i++) {
      const int at = of_convscope::place_of<X * Y * Z, how == BLOCK_STORE_STRIPED>(i, n);
      if (at < valid) to[at] = items[i];
    }
  }
};

}  // namespace cub

// What CUB of CUDA 13 takes in the place of cub::Sum and its like.
namespace cuda {
namespace std {
using ::std::plus, ::std::multiplies, ::std::minus;
}  // namespace std
template <class T = void>
struct maximum : cub::Max {};
template <class T = void>
struct minimum : cub::Min {};
}  // namespace cuda
