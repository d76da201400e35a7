// Rung 8, hopper_tf32: Hopper's tensor cores and copy engine; x is read once, as it lies, and y leaves in full lines.
//
// Idea: the memory is the limit, so nothing but x and y may move. The problem is one matrix product (hopper_block.h).
// - wgmma takes its A operand from registers. In NCL a fragment (positions × channels) is read from a tile of x just
//   as it lies: no transpose of x exists anywhere. A lane has four neighbouring positions, so that one 16-byte load
//   serves all taps (the shifts are picked from registers), and its outputs are neighbours as well.
// - The weights are packed once, K-major, rounded to TF32 (a launch of its own), and stay in shared memory.
// - Two warpgroups work on tiles of their own, so that one multiplies while the other loads, rounds or writes; for each
//   a thread does nothing but order tiles of x from the copy engine, several ahead (it fills in zeros outside x). Who
//   is ready first gets the next tile.
// - Results leave in whole sectors, classes interleaved, outputs no tap reaches included: rows are put together in
//   shared memory, as far from a 32-byte boundary as they are in y, and written 512 bytes at a time; where the weights
//   leave no room for that, lanes hand each other values so that every store is 16 aligned bytes of a row.
// - Rows begin anywhere between two boundaries of y. Two forms let tiles overlap, so that what lies between two is
//   written at once: sectors of 32 bytes where a block would be half a tile, blocks of 256 where it is a quarter of one
//   (hopper_blocks.h; #79 takes 8 % less time so, a quarter more products included).
// Right for: f32 in TF32 (inputs rounded to 11 bits, sums in f32), finite inputs, weights of one tile within shared
// memory; the rule below says which. Needs: sm_90a (wgmma, TMA). Source: PTX ISA 9.0, "Asynchronous warpgroup level
// matrix instructions" and "Tensor maps"; the producer and consumer roles follow CUTLASS's ping-pong kernels (NVIDIA,
// efficient_gemm.md).
#include "hopper_block.h"

extern "C" __global__ void __launch_bounds__(256)
    hopper_pack(const ConvArgs c, const HopperTiles tiles, const __grid_constant__ ShiftTable table, const float* w,
                uint32_t* packed, int* turns) {
  int64_t image = static_cast<int64_t>(tiles.width) * tiles.depth, all = image * tiles.column_tiles * c.groups;
  hopper_no_turns(c, tiles, turns);
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x)
    packed[id] = to_tf32(hopper_weight(c, tiles, table, w, id / image, static_cast<int>(id % image)));
}

CONVSCOPE_HOPPER_PAD(hopper_pad)

#if defined(CONVSCOPE_HAS_HOPPER)

struct Nothing {
  __device__ __forceinline__ void operator()() const {}
};

// d = the sum over all rounds. The next round is loaded before this one's products are issued, and rounded while they
// run: fragments are held twice. Where a round has many products it is loaded behind them: what is ready does not wait
// for what is on its way (#64: 1.49 ms against 1.51; #74, of 10 short products, is slower so: 0.57 against 0.54).
// meanwhile(): what else is done while a round's products run.
template <int width, int step, int shifts, int near>
struct Tf32Sum {
  template <int columns, class Meanwhile = Nothing>
  __device__ __forceinline__ static void of(float (&d)[2][columns], const HopperTiles& tiles, const ShiftTable&,
                                            const float* x, uint64_t weights, Ring& ring, const int*,
                                            Meanwhile meanwhile = {}) {
    constexpr bool late = width == 128 && shifts == 3;
    Fragments<shifts> a[2];
    Rounds<step, shifts, near> rounds{tiles, x, ring};
    rounds.load();
    round_window(a[0], rounds.window);
    rounds.release();
    for (int round = 0; round < tiles.rounds; round += 4) {
      uint64_t from_here = weights + static_cast<uint32_t>(round * shifts * width * 2);
#pragma unroll
      for (int i = 0; i < 4; i++) {  // k mod 4 is known here
        if (round + i >= tiles.rounds) break;
        bool more = round + i + 1 < tiles.rounds;
        if (more && !late) rounds.load();
        products_begin();
#pragma unroll
        for (int u = 0; u < shifts; u++)
#pragma unroll
          for (int half = 0; half < 2; half++)
            product(d[half], a[i % 2][u][half], weights_at<width>(from_here, i * shifts + u), i + u ? 1 : round > 0);
        products_commit();
        if (more && late) rounds.load();
        meanwhile();
        products_wait<1>();
        if (more) {
          round_window(a[(i + 1) % 2], rounds.window);
          rounds.release();
        }
      }
    }
    products_wait<0>();
  }
};

// The same for any shifts: each is loaded by itself.
template <int width, int step, int near>
struct Tf32Sum<width, step, 0, near> {
  template <int columns>
  __device__ __forceinline__ static void of(float (&d)[2][columns], const HopperTiles& tiles, const ShiftTable& table,
                                            const float* x, uint64_t weights, Ring& ring, const int*) {
    for (int round = 0, k = 0, sub = 0; round < tiles.rounds; round++) {
      if (sub == 0) barrier_wait(ring.full(), ring.phase);
      for (int u = 0; u < tiles.shifts; u++, k++) {
        const float* from = x + (ring.stage * tiles.deep + sub) * 8 * tiles.box - table.shift[u];
        uint32_t a[2][4];
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
          for (int i = 0; i < 4; i++) a[half][i] = nearly_tf32(from[i / 2 * 4 * tiles.box + 2 * half + i % 2]);
        products_begin();
#pragma unroll
        for (int half = 0; half < 2; half++) product(d[half], a[half], weights_at<width>(weights, k), k > 0);
        products_commit();
        products_wait<0>();
      }
      if (++sub < tiles.deep) continue;
      sub = 0;
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty());
      ring.advance();
    }
  }
};

#define CONVSCOPE_HOPPER_BODY(...) hopper<Tf32Sum, __VA_ARGS__>(c, tiles, table, map, packed, turns, b, y)
#else
#define CONVSCOPE_HOPPER_BODY(...) __trap()
#endif

// The forms that are compiled: columns of a tile; shifts u·step and how many (0: any); s' and gcd(s, d) (0: any);
// results through shared memory or from registers.
#define CONVSCOPE_HOPPER(name, ...)                                                                   \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1) name(CONVSCOPE_HOPPER_PARAMETERS) { \
    CONVSCOPE_HOPPER_BODY(__VA_ARGS__);                                                               \
  }
#define CONVSCOPE_HOPPER_FORMS(F)                              \
  F(hopper_64_3_s2_blocks, 64, 1, 3, 1, 2, Leave::blocks)      \
  F(hopper_64_5by3_s1_sectors, 64, 3, 5, 1, 1, Leave::sectors) \
  F(hopper_64_3_s1_staged, 64, 1, 3, 1, 1, Leave::staged)      \
  F(hopper_64_5by3_s1_staged, 64, 3, 5, 1, 1, Leave::staged)   \
  F(hopper_64_3_s2_staged, 64, 1, 3, 1, 2, Leave::staged)      \
  F(hopper_64_2_s2_staged, 64, 1, 2, 2, 1, Leave::staged)      \
  F(hopper_128_2_s2_staged, 128, 1, 2, 2, 1, Leave::staged)    \
  F(hopper_128_2_s4_staged, 128, 1, 2, 4, 1, Leave::staged)    \
  F(hopper_96_2_s2, 96, 1, 2, 2, 1, Leave::registers)          \
  F(hopper_128_3_s1, 128, 1, 3, 1, 1, Leave::registers)        \
  F(hopper_64_5by3_s1, 64, 3, 5, 1, 1, Leave::registers)       \
  F(hopper_64_3_s2, 64, 1, 3, 1, 2, Leave::registers)          \
  F(hopper_128_2_s2, 128, 1, 2, 2, 1, Leave::registers)        \
  F(hopper_128_2_s4, 128, 1, 2, 4, 1, Leave::registers)        \
  F(hopper_128_any, 128, 0, 0, 0, 0, Leave::registers)         \
  F(hopper_64_any, 64, 0, 0, 0, 0, Leave::registers)
CONVSCOPE_HOPPER_FORMS(CONVSCOPE_HOPPER)

#ifndef __CUDACC__
#include "hopper_plan.h"

namespace {

HopperPlan hopper_plan(const ConvProblem& p) {
  int64_t columns = p.out_per_group() * phases_of(p).period;
  HopperPlan narrow = hopper_plan_of_width(p, 64, 1);
  if (columns <= 64 && narrow.refused.empty()) return narrow;
  HopperPlan wide = hopper_plan_of_width(p, 128, 1);
  // 192 columns are two tiles of 96: of two of 128 a quarter would be padding (dac.d4).
  if (columns % 96 == 0 && columns % 128 && wide.tiles.shifts == 2 && wide.tiles.period == 2 && wide.step == 1) {
    HopperPlan even = hopper_plan_of_width(p, 96, 1);
    if (even.refused.empty()) return even;
  }
  return wide.refused.empty() ? wide : narrow;
}

}  // namespace

CONVSCOPE_KERNEL(hopper_tf32) {
  rung(8);
  idea("TF32 by wgmma with x from registers as it lies, weights resident, copies by a warp of their own");
  activates();
  accuracy("tf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return hopper_plan(p).refused; });
  plan([](const ConvProblem& p, Plan& plan) {
    HopperPlan h = hopper_plan(p);
    HopperLaunch launch{p, plan, h};
    launch.pack(ENTRY(hopper_pack), ENTRY(hopper_pad));
#define CONVSCOPE_FORM(name, ...) launch.form(ENTRY(name), __VA_ARGS__);
    CONVSCOPE_HOPPER_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
  });
}
#endif
