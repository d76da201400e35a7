// Rung 24, ordered_16bit: f16 and bf16 with x put in the tensor cores' own order before they want it.
//
// Idea: rung 22 for numbers that have 16 bits as they come. Rung 12 makes its operands out of x as it lies, two words a
// number of products; here both come from shared memory, and nothing stands between products.
// - One short launch a call reads x and writes as much (ordered.h has the order).
// - Sums leave by way of shared memory, a warp's rows at a time, 16 bytes a lane.
// Right for: f16 and bf16, the forms that are compiled (below): what fits them has long sums in models of today. Needs:
// sm_90a (wgmma, bulk copies).
#include "ordered.h"

extern "C" __global__ void __launch_bounds__(256)
    ordered_16bit_pack(const ConvArgs c, const OrderedTiles tiles, const __grid_constant__ ShiftTable table,
                       const uint16_t* w, uint32_t* packed, int* ready) {
#if defined(CONVSCOPE_HAS_HOPPER)
  next_launch_may_begin();
  if (blockIdx.x == 0)
    for (int i = threadIdx.x; i < stream_flags; i += blockDim.x) ready[i] = 0;
  pack_stages(c, tiles, table, w,
              [&](auto of, int64_t at, int) { packed[at] = of(0) | static_cast<uint32_t>(of(8)) << 16; });
#else
  __trap();
#endif
}

extern "C" __global__ void __launch_bounds__(ordered_threads)
    ordered_16bit_put(const ConvArgs c, const OrderedTiles tiles, const uint16_t* x, uint4* image) {
#if defined(CONVSCOPE_HAS_HOPPER)
  ordered_write_16(c, tiles, x, image);
#else
  __trap();
#endif
}

#if defined(CONVSCOPE_HAS_HOPPER)
#define CONVSCOPE_ORDERED_BODY(...)                                                                  \
  if (bf16)                                                                                          \
    ordered<Numbers::bf16, __VA_ARGS__>(c, tiles, table, image, nullptr, packed, b, y, sums, ready); \
  else                                                                                               \
    ordered<Numbers::f16, __VA_ARGS__>(c, tiles, table, image, nullptr, packed, b, y, sums, ready);
#else
#define CONVSCOPE_ORDERED_BODY(...) __trap();
#endif
#define CONVSCOPE_ORDERED(name, ...)                                                                                  \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                                                     \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ OrderedTiles tiles,                            \
           const __grid_constant__ ShiftTable table, const uint4* image, const float* scales, const uint32_t* packed, \
           const uint16_t* b, uint16_t* y, float4* sums, int* ready, const int bf16) {                                \
    CONVSCOPE_ORDERED_BODY(__VA_ARGS__)                                                                               \
  }

// The forms that are compiled: columns of a tile, parts of a number, shifts, rounds of 16
// channels in a stage, classes.
#define CONVSCOPE_ORDERED_FORMS(F)                \
  F(ordered_16bit_2_s8, 128, 1, 2, 2, 8, false)   \
  F(ordered_16bit_2_s4, 128, 1, 2, 2, 4, false)   \
  F(ordered_16bit_2_s5, 160, 1, 2, 2, 5, false)   \
  F(ordered_16bit_2_s10, 160, 1, 2, 2, 10, false) \
  F(ordered_16bit_7_s4, 128, 1, 7, 1, 4, false)
CONVSCOPE_ORDERED_FORMS(CONVSCOPE_ORDERED)

#ifndef __CUDACC__
#include "ordered_plan.h"

namespace {

std::string refused(const ConvProblem& p) {
  if (p.dtype != DType::f16 && p.dtype != DType::bf16) return "takes f16 and bf16 only";
  const OrderedPlan h = ordered_plan(p, 1);
  const OrderedTiles& t = h.tiles;
  const bool two = t.shifts == 2 && (t.period == 4 || t.period == 5 || t.period == 8 || t.period == 10);
  if (!h.refused.empty() || (h.step == 1 && (two || (t.shifts == 7 && t.period == 4)))) return h.refused;
  return "takes 4, 5, 8 or 10 residue classes whose taps reach two inputs, or 4 and seven, not " +
         std::to_string(t.period) + " and " + std::to_string(t.shifts);
}

void plan_ordered(const ConvProblem& p, Plan& plan) {
  const OrderedPlan h = ordered_plan(p, 1);
  const OrderedTiles& t = h.tiles;
  const OrderedRoom at(p, h);
  plan.need_workspace(at.all);
  plan.launch(ENTRY(ordered_16bit_pack), {std::min<int64_t>(ceil_div(at.words, 256), 1056)}, {256})
      .args(p.args(), t, h.table, plan.w(), plan.workspace(), plan.workspace(at.ready));
  plan.launch(ENTRY(ordered_16bit_put), {at.tiles, t.blocks_of_x}, {ordered_threads})
      .early()
      .args(p.args(), t, plan.x(), plan.workspace(at.image));
  const OrderedLaunch launch{p, plan, h, at};
#define CONVSCOPE_FORM(name, ...) launch.form(ENTRY(name), __VA_ARGS__);
  CONVSCOPE_ORDERED_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
}

}  // namespace

CONVSCOPE_KERNEL(ordered_16bit) {
  rung(24);
  idea("f16 and bf16 with x in the tensor cores' own order, put there once a call: no instruction between products");
  activates();
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return refused(p); });
  plan([](const ConvProblem& p, Plan& plan) { plan_ordered(p, plan); });
}
#endif
