// Rungs 22 and 23, ordered_1xf16 and ordered_3xf16: x is put in the tensor cores' own order before they want it.
//
// Idea: rungs 20 and 21 read x as it lies, look for scales, make f16 numbers and put them in registers for each product
// that wants them, in every column tile again; on long sums that took longer than the products. Here launches of their
// own do it once: of each tile of positions a scale, f16 numbers, and an order in which a shift is an address
// (ordered.h). The products' loop is left with nothing but products, both operands from shared memory.
// - It costs two short launches a call, which read x twice and write half of it (all of it, for f32's accuracy).
// - All sequences follow each other in the tiles: where they are short nothing is left empty.
// - Who has which part of which tile, and how sums are put together, is as in rung 10.
// Right for: f32 at the accuracy of TF32 (ordered_1xf16) or f32 (ordered_3xf16), finite inputs of any size, stride and
// dilation without a common factor, taps that reach back at most 16 inputs. As rungs 18 to 21, but scales are of 128
// positions: outputs are as accurate as others are unless all they are made of is smaller than something in x within
// 128 positions by 2^-28 (2^-15, 90 dB, with two halves). Needs: sm_90a (wgmma, bulk copies).
#include "ordered.h"

extern "C" __global__ void __launch_bounds__(256)
    ordered_largest_weight(const ConvArgs c, const float* w, float* largest) {
#if defined(CONVSCOPE_HAS_HOPPER)
  scaled_largest(c, w, largest);
#else
  __trap();
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    ordered_pack(const ConvArgs c, const OrderedTiles tiles, const __grid_constant__ ShiftTable table, const float* w,
                 const float* largest, uint32_t* packed, int* ready) {
#if defined(CONVSCOPE_HAS_HOPPER)
  pack_scaled_stages(c, tiles, table, w, largest, packed, ready, stream_flags);
#else
  __trap();
#endif
}

extern "C" __global__ void __launch_bounds__(ordered_threads)
    ordered_find_scales(const ConvArgs c, const OrderedTiles tiles, const float* x, float* found) {
#if defined(CONVSCOPE_HAS_HOPPER)
  ordered_find(c, tiles, x, found);
#else
  __trap();
#endif
}

extern "C" __global__ void __launch_bounds__(ordered_threads)
    ordered_put(const ConvArgs c, const OrderedTiles tiles, const float* x, const float* found, float* scales,
                uint4* image) {
#if defined(CONVSCOPE_HAS_HOPPER)
  if (tiles.parts == 1)
    ordered_write<1>(c, tiles, x, found, scales, image);
  else
    ordered_write<2>(c, tiles, x, found, scales, image);
#else
  __trap();
#endif
}

#if defined(CONVSCOPE_HAS_HOPPER)
#define CONVSCOPE_ORDERED_BODY(...) \
  ordered<Numbers::scaled, __VA_ARGS__>(c, tiles, table, image, scales, packed, b, y, sums, ready);
#else
#define CONVSCOPE_ORDERED_BODY(...) __trap();
#endif
#define CONVSCOPE_ORDERED(name, ...)                                                                                  \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                                                     \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ OrderedTiles tiles,                            \
           const __grid_constant__ ShiftTable table, const uint4* image, const float* scales, const uint32_t* packed, \
           const float* b, float* y, float4* sums, int* ready, const int) {                                           \
    CONVSCOPE_ORDERED_BODY(__VA_ARGS__)                                                                               \
  }

// The forms that are compiled: columns of a tile, halves of a number, shifts, rounds of 16
// channels in a stage, classes (0: any), whether the copy engine writes results.
#define CONVSCOPE_ORDERED_FORMS(F)                      \
  F(ordered_1xf16_2_s8_copies, 128, 1, 2, 2, 8, true)   \
  F(ordered_1xf16_2_s8, 128, 1, 2, 2, 8, false)         \
  F(ordered_1xf16_2_s4_copies, 128, 1, 2, 2, 4, true)   \
  F(ordered_1xf16_2_s4, 128, 1, 2, 2, 4, false)         \
  F(ordered_1xf16_2_s5_copies, 160, 1, 2, 2, 5, true)   \
  F(ordered_1xf16_2_s5, 160, 1, 2, 2, 5, false)         \
  F(ordered_1xf16_2_s10_copies, 160, 1, 2, 2, 10, true) \
  F(ordered_1xf16_2_s10, 160, 1, 2, 2, 10, false)       \
  F(ordered_1xf16_7_s4, 128, 1, 7, 1, 4, false)         \
  F(ordered_1xf16_any, 128, 1, 0, 0, 0, false)          \
  F(ordered_3xf16_2_s8, 64, 2, 2, 2, 8, false)          \
  F(ordered_3xf16_2_s4, 64, 2, 2, 2, 4, false)          \
  F(ordered_3xf16_2_s5_copies, 80, 2, 2, 2, 5, true)    \
  F(ordered_3xf16_2_s5, 80, 2, 2, 2, 5, false)          \
  F(ordered_3xf16_2_s10_copies, 80, 2, 2, 2, 10, true)  \
  F(ordered_3xf16_2_s10, 80, 2, 2, 2, 10, false)        \
  F(ordered_3xf16_7_s4, 64, 2, 7, 1, 4, false)          \
  F(ordered_3xf16_any, 64, 2, 0, 0, 0, false)
CONVSCOPE_ORDERED_FORMS(CONVSCOPE_ORDERED)

#ifndef __CUDACC__
#include "ordered_plan.h"

namespace {

std::string refused(const ConvProblem& p, int parts) {
  return p.dtype == DType::f32 ? ordered_plan(p, parts).refused : "takes f32 only";
}

void plan_ordered(const ConvProblem& p, Plan& plan, int parts) {
  const OrderedPlan h = ordered_plan(p, parts);
  const OrderedTiles& t = h.tiles;
  const OrderedRoom at(p, h);
  plan.need_workspace(at.all);
  plan.launch(ENTRY(ordered_largest_weight), {scaled_blocks}, {256})
      .args(p.args(), plan.w(), plan.workspace(at.of_weights));
  plan.launch(ENTRY(ordered_pack), {std::min<int64_t>(ceil_div(at.words, 256), 1056)}, {256})
      .args(p.args(), t, h.table, plan.w(), plan.workspace(at.of_weights), plan.workspace(), plan.workspace(at.ready));
  plan.launch(ENTRY(ordered_find_scales), {at.tiles, t.blocks_of_x}, {ordered_threads})
      .early()
      .args(p.args(), t, plan.x(), plan.workspace(at.of_x));
  plan.launch(ENTRY(ordered_put), {at.tiles, t.blocks_of_x}, {ordered_threads})
      .early()
      .args(p.args(), t, plan.x(), plan.workspace(at.of_x), plan.workspace(at.scales), plan.workspace(at.image));
  const OrderedLaunch launch{p, plan, h, at};
#define CONVSCOPE_FORM(name, ...) launch.form(ENTRY(name), __VA_ARGS__);
  CONVSCOPE_ORDERED_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
}

}  // namespace

CONVSCOPE_KERNEL(ordered_1xf16) {
  rung(22);
  idea("x in the tensor cores' own order, put there once a call, at TF32's accuracy: no instruction between products");
  activates();
  accuracy("tf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return refused(p, 1); });
  plan([](const ConvProblem& p, Plan& plan) { plan_ordered(p, plan, 1); });
}

CONVSCOPE_KERNEL(ordered_3xf16) {
  rung(23);
  idea("x in the tensor cores' own order, put there once a call, at f32's accuracy: three products of halves");
  activates();
  accuracy("3xtf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return refused(p, 2); });
  plan([](const ConvProblem& p, Plan& plan) { plan_ordered(p, plan, 2); });
}
#endif
