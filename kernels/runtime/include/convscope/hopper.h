// Hopper's own instructions (sm_90a) but for its products (wgmma.h), for the GPU and the emulator alike: barriers in
// shared memory at which copies arrive, the copy engine, warps that meet, 8 × 8 matrices. The only place with inline
// PTX for them.
//
// In shared memory things are named by 32-bit addresses, as the instructions take them. In the emulator copies arrive
// at once, or late when the order of threads is shuffled (fences are taken as given); one thread waits for another by
// being set aside, so that a wait without end is reported with kernel, thread and line. Source: PTX ISA 9.0,
// "mbarrier", "cp.async.bulk", "Tensor maps", "bar", "ldmatrix", "stmatrix", "griddepcontrol".
#pragma once
#include "convscope/kernel.h"

// Kernels for Hopper have bodies where this is so; elsewhere nvcc compiles a trap.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDACC__)
#define CONVSCOPE_HAS_HOPPER
#endif

// Launches that are early() in their plan begin while the one before still runs, if it says that they may: their blocks
// are placed and their barriers made meanwhile. They wait before they touch memory that launches before write.
// Who says it waits first, so that what follows finds all done that came before. Only a launch in the middle of a plan
// may say it at once, where the next one of the plan touches nothing before it waits.
__device__ __forceinline__ void next_launch_may_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_launches_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#if defined(__CUDACC__)
#define CONVSCOPE_HOPPER_CALL __device__ __forceinline__
#define CONVSCOPE_AT
// Dynamic shared memory that begins on 1024 bytes, as swizzled boxes and matrices want it.
#define CONVSCOPE_DYNAMIC_SHARED_1024(name) extern __shared__ __align__(1024) unsigned char name[]
#else
#define CONVSCOPE_HOPPER_CALL CONVSCOPE_UNTRACED inline
#define CONVSCOPE_AT , const convscope::simt::Site& at = convscope::simt::Site::current()
#define CONVSCOPE_DYNAMIC_SHARED_1024(name) unsigned char* const name = ::convscope::simt::dynamic_shared()

namespace convscope::simt {
// Of dynamic shared memory only. shared_at: `bytes` from `address` on, which must exist and be aligned to `alignment`.
CONVSCOPE_SIMT_API uint32_t shared_address(const void* p, const Site& at);
CONVSCOPE_SIMT_API unsigned char* shared_at(uint32_t address, uint32_t bytes, uint32_t alignment, const char* what,
                                            const Site& at);
CONVSCOPE_SIMT_API void mbarrier_init(uint32_t barrier, int arrivals, const Site& at);
CONVSCOPE_SIMT_API void mbarrier_arrive(uint32_t barrier, uint32_t expected_bytes, const Site& at);
CONVSCOPE_SIMT_API void mbarrier_wait(uint32_t barrier, uint32_t parity, const Site& at);
CONVSCOPE_SIMT_API void bulk_copy(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier, const Site& at);
// A box of a tensor of `rank` dimensions; place: its first element.
CONVSCOPE_SIMT_API void bulk_load(uint32_t to, const TensorMap& map, const int* place, int rank, uint32_t barrier,
                                  const Site& at);
CONVSCOPE_SIMT_API void bulk_store(const TensorMap& map, const int* place, int rank, uint32_t from, const Site& at);
CONVSCOPE_SIMT_API void bulk_write(void* to, uint32_t from, uint32_t bytes, const Site& at);
CONVSCOPE_SIMT_API void named_barrier(int id, int threads, bool waits, const Site& at);
CONVSCOPE_SIMT_API void bulk_wait_stores();
CONVSCOPE_SIMT_API void tell_word(int* word);
CONVSCOPE_SIMT_API void wait_for_word(const int* word, const Site& at);
}  // namespace convscope::simt
#endif

// ---- warps that meet (any architecture)

// So many threads of a block, whole warps, meet at barrier number id (1 to 15); who only arrives goes on.
template <int threads>
CONVSCOPE_HOPPER_CALL void meet(int id CONVSCOPE_AT) {
  static_assert(threads % 32 == 0 && threads <= 1024, "whole warps of a block");
#if defined(__CUDACC__)
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
#else
  convscope::simt::named_barrier(id, threads, true, at);
#endif
}
template <int threads>
CONVSCOPE_HOPPER_CALL void arrive(int id CONVSCOPE_AT) {
  static_assert(threads % 32 == 0 && threads <= 1024, "whole warps of a block");
#if defined(__CUDACC__)
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(threads) : "memory");
#else
  convscope::simt::named_barrier(id, threads, false, at);
#endif
}

#if defined(CONVSCOPE_HAS_HOPPER)

// All warps of a warpgroup call it: from now on a thread has n registers, of those the block was launched with.
template <int n>
CONVSCOPE_HOPPER_CALL void fewer_registers() {
#if defined(__CUDACC__)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n));
#endif
}
template <int n>
CONVSCOPE_HOPPER_CALL void more_registers() {
#if defined(__CUDACC__)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n));
#endif
}

// A value that the compiler knows nothing of from here on; settled: and that no memory access passes.
CONVSCOPE_HOPPER_CALL void hidden([[maybe_unused]] int& v) {
#if defined(__CUDACC__)
  asm volatile("" : "+r"(v));
#endif
}
template <class T>
CONVSCOPE_HOPPER_CALL void settled([[maybe_unused]] T& v) {
#if defined(__CUDACC__)
  if constexpr (sizeof(T) == 16)
    asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)::"memory");
  else
    asm volatile("" : "+r"(v)::"memory");
#endif
}
CONVSCOPE_HOPPER_CALL void settled([[maybe_unused]] float& v) {
#if defined(__CUDACC__)
  asm volatile("" : "+f"(v)::"memory");
#endif
}

#if defined(__CUDACC__)
__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
#else
CONVSCOPE_UNTRACED inline uint32_t shared_address(const void* p CONVSCOPE_AT) {
  return convscope::simt::shared_address(p, at);
}
#endif

// ---- barriers in shared memory (8 bytes): a phase ends when all have arrived and all expected bytes are there

CONVSCOPE_HOPPER_CALL void barrier_init(uint32_t barrier, int arrivals CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
#else
  convscope::simt::mbarrier_init(barrier, arrivals, at);
#endif
}
// Of the barriers that are initialised: the copy engine sees them.
CONVSCOPE_HOPPER_CALL void barriers_made() {
#if defined(__CUDACC__)
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
#endif
}
CONVSCOPE_HOPPER_CALL void barrier_arrive(uint32_t barrier CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
  convscope::simt::mbarrier_arrive(barrier, 0, at);
#endif
}
CONVSCOPE_HOPPER_CALL void barrier_expect(uint32_t barrier, uint32_t bytes CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#else
  convscope::simt::mbarrier_arrive(barrier, bytes, at);
#endif
}
// Until the phase of this parity has ended.
CONVSCOPE_HOPPER_CALL void barrier_wait(uint32_t barrier, uint32_t phase CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}\n" ::
          "r"(barrier),
      "r"(phase)
      : "memory");
#else
  convscope::simt::mbarrier_wait(barrier, phase, at);
#endif
}
// spins: asks again and again, which ends sooner after the last arrival, and takes turns from other warps meanwhile.
// For those who wait often and not long (stream_tf32 on dac.d3: 0.219 to 0.211 ms; hopper_tf32 on #74: 0.459 to 0.494).
template <bool spins>
CONVSCOPE_HOPPER_CALL void barrier_wait(uint32_t barrier, uint32_t phase CONVSCOPE_AT) {
#if defined(__CUDACC__)
  if constexpr (spins)
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra "
        "again;\n}\n" ::"r"(barrier),
        "r"(phase)
        : "memory");
  else
    barrier_wait(barrier, phase);
#else
  convscope::simt::mbarrier_wait(barrier, phase, at);
#endif
}

// ---- the copy engine

// A tensor's description is fetched before the first copy wants it.
CONVSCOPE_HOPPER_CALL void prefetch_map([[maybe_unused]] const TensorMap& map) {
#if defined(__CUDACC__)
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

// It brings a box of x (position, channel, group, sequence), or neighbouring bytes, and tells the barrier.
CONVSCOPE_HOPPER_CALL void copy_box(uint32_t to, const TensorMap& map, int position, int channel, int group, int n,
                                    uint32_t barrier CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(to),
      "l"(&map), "r"(position), "r"(channel), "r"(group), "r"(n), "r"(barrier)
      : "memory");
#else
  const int place[] = {position, channel, group, n};
  convscope::simt::bulk_load(to, map, place, 4, barrier, at);
#endif
}
CONVSCOPE_HOPPER_CALL void copy_bytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
#else
  convscope::simt::bulk_copy(to, from, bytes, barrier, at);
#endif
}
// It writes neighbouring bytes, or a box, out of shared memory; boxes_ordered(): those of this thread are one group;
// boxes_read(): until shared memory is not read for them any more.
CONVSCOPE_HOPPER_CALL void write_bytes(void* to, uint32_t from, uint32_t bytes CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
#else
  convscope::simt::bulk_write(to, from, bytes, at);
#endif
}
__device__ __forceinline__ void write_box(const TensorMap& map, uint32_t from, const int (&place)[5] CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(&map),
      "r"(place[0]), "r"(place[1]), "r"(place[2]), "r"(place[3]), "r"(place[4]), "r"(from)
      : "memory");
#else
  convscope::simt::bulk_store(map, place, 5, from, at);
#endif
}
CONVSCOPE_HOPPER_CALL void boxes_ordered() {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
CONVSCOPE_HOPPER_CALL void boxes_read() {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#else
  convscope::simt::bulk_wait_stores();
#endif
}
// What this thread has stored to shared memory is seen by the copy engine and the tensor cores.
CONVSCOPE_HOPPER_CALL void shared_stores_seen() {
#if defined(__CUDACC__)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// ---- words by which blocks tell each other something (of a plan's launch that is in_order())

CONVSCOPE_HOPPER_CALL void tell(int* word) {
#if defined(__CUDACC__)
  asm volatile("st.release.gpu.global.b32 [%0], 1;" ::"l"(word) : "memory");
#else
  convscope::simt::tell_word(word);
#endif
}
// Whether it was told: what was done before that is seen from now on. The emulator returns when it was (or
// when only some blocks run, for counting).
CONVSCOPE_HOPPER_CALL int was_told(const int* word CONVSCOPE_AT) {
#if defined(__CUDACC__)
  int there;
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(there) : "l"(word) : "memory");
  return there;
#else
  convscope::simt::wait_for_word(word, at);
  return 1;
#endif
}

// ---- matrices of 8 × 8 16-bit values, four at a time, by a whole warp

// Lane 8m + r gives row r of matrix m (16 bytes); it gets words (row lane / 4, columns 2·(lane % 4) and the next) of
// each.
__device__ __forceinline__ void load_matrices(uint32_t (&v)[4], uint32_t from CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(from)
               : "memory");
#else
  struct Slot {
    uint4 row;
    uint32_t v[4];
  } slot{*reinterpret_cast<const uint4*>(convscope::simt::shared_at(from, 16, 16, "ldmatrix", at)), {}};
  convscope::simt::collective(
      ~0u, &slot,
      [](void* const* lanes, uint32_t) CONVSCOPE_UNTRACED {
        for (int lane = 0; lane < 32; lane++)
          for (int m = 0; m < 4; m++) {
            const uint4& row = static_cast<Slot*>(lanes[8 * m + lane / 4])->row;
            const uint32_t words[] = {row.x, row.y, row.z, row.w};
            static_cast<Slot*>(lanes[lane])->v[m] = words[lane % 4];
          }
      },
      "ldmatrix", at);
  for (int m = 0; m < 4; m++) v[m] = slot.v[m];
#endif
}
// The other way, with rows and columns exchanged.
__device__ __forceinline__ void store_matrices(uint32_t to, const uint32_t (&v)[4] CONVSCOPE_AT) {
#if defined(__CUDACC__)
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v[0]), "r"(v[1]),
               "r"(v[2]), "r"(v[3])
               : "memory");
#else
  struct Slot {
    uint32_t v[4];
    uint16_t row[8];
  } slot{{v[0], v[1], v[2], v[3]}, {}};
  convscope::simt::collective(
      ~0u, &slot,
      [](void* const* lanes, uint32_t) CONVSCOPE_UNTRACED {
        for (int lane = 0; lane < 32; lane++)
          for (int column = 0; column < 8; column++) {  // of the row that this lane stores
            int row = lane % 8;
            uint32_t word = static_cast<Slot*>(lanes[column * 4 + row / 2])->v[lane / 8];
            static_cast<Slot*>(lanes[lane])->row[column] = static_cast<uint16_t>(word >> row % 2 * 16);
          }
      },
      "stmatrix", at);
  uint4 row;
  __builtin_memcpy(&row.whole, slot.row, 16);
  *reinterpret_cast<uint4*>(convscope::simt::shared_at(to, 16, 16, "stmatrix", at)) = row;
#endif
}
#endif
