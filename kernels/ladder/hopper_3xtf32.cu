// Rung 9, hopper_3xtf32: the accuracy of f32 at the tensor cores' speed.
//
// Idea: a float is the sum of two TF32 numbers, high + low, but for its last bit or two. Three products of the tensor
// cores, high·high + high·low + low·high, then replace one in f32; what is left out, low·low, is below 2^-22 of a
// product. The rest is rung 8: x once and as it lies, the weights (now two images, high and low) in shared memory.
// - The tensor cores cut sums off instead of rounding them, always towards zero. So only 8 channels at a time, all
//   their taps, are summed there, the small products first; those sums are added in f32, rounded to nearest. (Without
//   that the error grows with the number of channels in one direction: Ootomo & Yokota, Recovering single precision
//   accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance, IJHPCA 36, 2022.)
// - A lane splits what it loads with four instructions a value, while the other warpgroup multiplies.
// - Where rows begin on 16 bytes the copy engine writes the results (hopper_boxes.h), and the products go on.
// Right for: f32, finite inputs below 2^127, both images of the weights of
// one tile within shared memory; the rule below says which. Needs: sm_90a (wgmma, TMA).
#include "hopper_split.h"

// A tile's two images, one after the other.
extern "C" __global__ void __launch_bounds__(256)
    hopper_pack_split(const ConvArgs c, const HopperTiles tiles, const __grid_constant__ ShiftTable table,
                      const float* w, uint32_t* packed, int* turns) {
  int64_t image = static_cast<int64_t>(tiles.width) * tiles.depth, all = image * tiles.column_tiles * c.groups;
  hopper_no_turns(c, tiles, turns);
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    float v = hopper_weight(c, tiles, table, w, id / image, static_cast<int>(id % image));
    uint32_t high = to_tf32(v), *to = packed + id / image * 2 * image + id % image;
    to[0] = high;
    to[image] = to_tf32(v - __uint_as_float(high));
  }
}

CONVSCOPE_HOPPER_PAD(hopper_pad_split)

#if defined(CONVSCOPE_HAS_HOPPER)

template <int width, int step, int shifts, int near>
struct SplitSum {
  template <int columns>
  __device__ __forceinline__ static void of(float (&d)[2][columns], const HopperTiles& tiles, const ShiftTable&,
                                            const float* x, uint64_t weights, Ring& ring, const int*) {
    const uint64_t low = static_cast<uint32_t>(width * tiles.depth / 4);
    Rounds<step, shifts, near> rounds{tiles, x, ring};
    rounds.load();
#pragma unroll
    for (int i = 0; i < columns; i++) d[0][i] = d[1][i] = 0;
    for (int round = 0; round < tiles.rounds; round++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        Halves<shifts> a;
        float sum[columns];
#pragma unroll
        for (int u = 0; u < shifts; u++)
#pragma unroll
          for (int i = 0; i < 4; i++)
            split_tf32(rounds.window.at(i / 2, 2 * half + i % 2, u), a.high[u][i], a.low[u][i]);
        add_products<width>(sum, a, weights, low, round * shifts);
        if (half == 1) {
          rounds.release();
          if (round + 1 < tiles.rounds) rounds.load();
        }
        products_wait<0>();
#pragma unroll
        for (int i = 0; i < columns; i++) d[half][i] += sum[i];
      }
    }
  }
};

// The same for any shifts: each is loaded by itself.
template <int width, int step, int near>
struct SplitSum<width, step, 0, near> {
  template <int columns>
  __device__ __forceinline__ static void of(float (&d)[2][columns], const HopperTiles& tiles, const ShiftTable& table,
                                            const float* x, uint64_t weights, Ring& ring, const int*) {
    const uint64_t low = static_cast<uint32_t>(width * tiles.depth / 4);
#pragma unroll
    for (int i = 0; i < columns; i++) d[0][i] = d[1][i] = 0;
    for (int round = 0, k = 0, sub = 0; round < tiles.rounds; round++) {
      if (sub == 0) barrier_wait(ring.full(), ring.phase);
      for (int u = 0; u < tiles.shifts; u++, k++) {
        const float* from = x + (ring.stage * tiles.deep + sub) * 8 * tiles.box - table.shift[u];
#pragma unroll
        for (int half = 0; half < 2; half++) {
          Halves<1> a;
          float sum[columns];
#pragma unroll
          for (int i = 0; i < 4; i++)
            split_tf32(from[i / 2 * 4 * tiles.box + 2 * half + i % 2], a.high[0][i], a.low[0][i]);
          add_products<width>(sum, a, weights, low, k);
          products_wait<0>();
#pragma unroll
          for (int i = 0; i < columns; i++) d[half][i] += sum[i];
        }
      }
      if (++sub < tiles.deep) continue;
      sub = 0;
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty());
      ring.advance();
    }
  }
};

#define CONVSCOPE_HOPPER_BODY(rows_of_y, ...) \
  hopper<SplitSum, __VA_ARGS__>(c, tiles, table, map, packed, turns, b, y, rows_of_y)
#else
#define CONVSCOPE_HOPPER_BODY(...) __trap()
#endif

// The forms that are compiled, as in rung 8.
#define CONVSCOPE_HOPPER_SPLIT(name, ...)                                                             \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1) name(CONVSCOPE_HOPPER_PARAMETERS) { \
    CONVSCOPE_HOPPER_BODY(nullptr, __VA_ARGS__);                                                      \
  }
#define CONVSCOPE_HOPPER_SPLIT_BOXES(name, ...)                                        \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                      \
      name(CONVSCOPE_HOPPER_PARAMETERS, const __grid_constant__ TensorMap rows_of_y) { \
    CONVSCOPE_HOPPER_BODY(&rows_of_y, __VA_ARGS__);                                    \
  }
#define CONVSCOPE_HOPPER_SPLIT_BOXES_FORMS(F) F(hopper_split_5by3_s1_boxes, 64, 3, 5, 1, 1, Leave::boxes)
#define CONVSCOPE_HOPPER_SPLIT_FORMS(F)                         \
  F(hopper_split_5by3_s1_staged, 64, 3, 5, 1, 1, Leave::staged) \
  F(hopper_split_3_s2_staged, 64, 1, 3, 1, 2, Leave::staged)    \
  F(hopper_split_2_s2_staged, 64, 1, 2, 2, 1, Leave::staged)    \
  F(hopper_split_3_s1, 64, 1, 3, 1, 1, Leave::registers)        \
  F(hopper_split_2_s2, 64, 1, 2, 2, 1, Leave::registers)        \
  F(hopper_split_2_s4, 64, 1, 2, 4, 1, Leave::registers)        \
  F(hopper_split_any, 64, 0, 0, 0, 0, Leave::registers)
CONVSCOPE_HOPPER_SPLIT_BOXES_FORMS(CONVSCOPE_HOPPER_SPLIT_BOXES)
CONVSCOPE_HOPPER_SPLIT_FORMS(CONVSCOPE_HOPPER_SPLIT)

#ifndef __CUDACC__
#include "hopper_plan.h"

CONVSCOPE_KERNEL(hopper_3xtf32) {
  rung(9);
  idea("f32's accuracy from three TF32 products of the tensor cores, summed in f32 every 8 channels");
  activates();
  accuracy("3xtf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return hopper_plan_of_width(p, 64, 2).refused; });
  plan([](const ConvProblem& p, Plan& plan) {
    HopperPlan h = hopper_plan_of_width(p, 64, 2);
    HopperLaunch launch{p, plan, h};
    launch.pack(ENTRY(hopper_pack_split), ENTRY(hopper_pad_split));
#define CONVSCOPE_FORM(name, ...) launch.form(ENTRY(name), __VA_ARGS__);
    CONVSCOPE_HOPPER_SPLIT_BOXES_FORMS(CONVSCOPE_FORM)
    CONVSCOPE_HOPPER_SPLIT_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
  });
}
#endif
