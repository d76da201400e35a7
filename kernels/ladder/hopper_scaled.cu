// Rungs 18 and 19, hopper_1xf16 and hopper_3xf16: floats by the tensor cores' f16 products, of a common scale.
//
// Idea: rungs 8 and 9 wait for TF32 products. The tensor cores multiply f16 twice as fast and read half the bytes for
// it, and f16 has as many significant bits as TF32; what it lacks is range, which scales make up for
// (hopper_scaled.h). One product of halves that are rounded to nearest has TF32's accuracy, three have f32's, as in
// rung 9. All else is rungs 8 and 9: x once and as it lies, 16 channels of it a round; weights that stay.
// - What a lane has read becomes words of two channels once, for all shifts, while products run.
// Right for: f32 at the accuracy of TF32 (hopper_1xf16) or f32 (hopper_3xf16), finite inputs, of any size: those of one
// output far smaller than their neighbours lose bits, hopper_scaled.h says from where on. Weights of one tile within
// shared memory; the rule below says which. Needs: sm_90a (wgmma, TMA).
#include "hopper_scaled.h"

extern "C" __global__ void __launch_bounds__(256)
    hopper_largest_scaled(const ConvArgs c, const float* w, float* largest) {
#if defined(CONVSCOPE_HAS_HOPPER)
  scaled_largest(c, w, largest);
#else
  __trap();
#endif
}

// A tile's image, or two, one after the other. Words count two channels each.
extern "C" __global__ void __launch_bounds__(256)
    hopper_pack_scaled(const ConvArgs c, const HopperTiles tiles, const __grid_constant__ ShiftTable table,
                       const float* w, const float* largest, uint32_t* packed, int* turns) {
#if defined(CONVSCOPE_HAS_HOPPER)
  const float scale =
      scale_of_weights(largest, reinterpret_cast<float*>(turns + 2 * tiles.column_tiles * static_cast<int>(c.groups)));
  const int64_t image = static_cast<int64_t>(tiles.width) * tiles.depth, all = image * tiles.column_tiles * c.groups;
  hopper_no_turns(c, tiles, turns);
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t tile = id / image;
    const ImagePlace at = image_place(static_cast<int>(id % image), tiles.width);
    const int step = at.k / 8;
    auto of = [&](int further) {
      return hopper_weight_of(c, tiles, table, w, tile, at.column,
                              static_cast<int64_t>(step / tiles.shifts) * 16 + at.k % 8 + further, step % tiles.shifts);
    };
    pack_scaled(of(0), of(8), scale, packed + tile * tiles.parts * image + id % image, tiles.parts == 2 ? image : 0);
  }
#else
  __trap();
#endif
}

CONVSCOPE_HOPPER_PAD(hopper_pad_scaled)

#if defined(CONVSCOPE_HAS_HOPPER)

template <int width, int step, int shifts, int near>
struct ScaledSum {
  template <int columns>
  __device__ __forceinline__ static void of(float (&d)[2][columns], const HopperTiles& tiles, const ShiftTable&,
                                            const float* x, uint64_t weights, Ring& ring, const int* behind) {
    const float of_weights = *reinterpret_cast<const float*>(behind);
    ScaledRounds<step, shifts, near, 1> rounds{tiles, x, weights, ring};
    rounds.begin();
    scaled_sum<width, shifts>(d, rounds, tiles.rounds);
    rounds.window.unscale(d, of_weights);
  }
};

template <int width, int step, int shifts, int near>
struct ScaledSplitSum {
  template <int columns>
  __device__ __forceinline__ static void of(float (&d)[2][columns], const HopperTiles& tiles, const ShiftTable&,
                                            const float* x, uint64_t weights, Ring& ring, const int* behind) {
    const float of_weights = *reinterpret_cast<const float*>(behind);
    ScaledRounds<step, shifts, near, 2> rounds{tiles, x, weights, ring};
    rounds.begin();
    scaled_split_sum<width, shifts>(d, rounds, tiles.rounds, static_cast<uint32_t>(width * tiles.depth / 4));
    rounds.window.unscale(d, of_weights);
  }
};

#define CONVSCOPE_HOPPER_BODY(...) hopper<__VA_ARGS__>(c, tiles, table, map, packed, turns, b, y)
#else
#define CONVSCOPE_HOPPER_BODY(...) __trap()
#endif

// The forms that are compiled, as in rung 8: with one product, and with three.
#define CONVSCOPE_HOPPER_SCALED(sum, name, ...)                                                       \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1) name(CONVSCOPE_HOPPER_PARAMETERS) { \
    CONVSCOPE_HOPPER_BODY(sum, __VA_ARGS__);                                                          \
  }
#define CONVSCOPE_HOPPER_ONE(...) CONVSCOPE_HOPPER_SCALED(ScaledSum, __VA_ARGS__)
#define CONVSCOPE_HOPPER_THREE(...) CONVSCOPE_HOPPER_SCALED(ScaledSplitSum, __VA_ARGS__)
#define CONVSCOPE_HOPPER_ONE_FORMS(F)                              \
  F(hopper_1xf16_64_3_s1_staged, 64, 1, 3, 1, 1, Leave::staged)    \
  F(hopper_1xf16_64_5by3_s1_staged, 64, 3, 5, 1, 1, Leave::staged) \
  F(hopper_1xf16_64_3_s2_staged, 64, 1, 3, 1, 2, Leave::staged)    \
  F(hopper_1xf16_64_2_s2_staged, 64, 1, 2, 2, 1, Leave::staged)    \
  F(hopper_1xf16_128_2_s2_staged, 128, 1, 2, 2, 1, Leave::staged)  \
  F(hopper_1xf16_128_2_s4_staged, 128, 1, 2, 4, 1, Leave::staged)  \
  F(hopper_1xf16_96_2_s2, 96, 1, 2, 2, 1, Leave::registers)        \
  F(hopper_1xf16_128_3_s1, 128, 1, 3, 1, 1, Leave::registers)      \
  F(hopper_1xf16_64_5by3_s1, 64, 3, 5, 1, 1, Leave::registers)     \
  F(hopper_1xf16_64_3_s2, 64, 1, 3, 1, 2, Leave::registers)        \
  F(hopper_1xf16_128_2_s2, 128, 1, 2, 2, 1, Leave::registers)      \
  F(hopper_1xf16_128_2_s4, 128, 1, 2, 4, 1, Leave::registers)
#define CONVSCOPE_HOPPER_THREE_FORMS(F)                      \
  F(hopper_3xf16_2_s2_staged, 64, 1, 2, 2, 1, Leave::staged) \
  F(hopper_3xf16_2_s4_staged, 64, 1, 2, 4, 1, Leave::staged) \
  F(hopper_3xf16_3_s1, 64, 1, 3, 1, 1, Leave::registers)     \
  F(hopper_3xf16_2_s2, 64, 1, 2, 2, 1, Leave::registers)     \
  F(hopper_3xf16_2_s4, 64, 1, 2, 4, 1, Leave::registers)
CONVSCOPE_HOPPER_ONE_FORMS(CONVSCOPE_HOPPER_ONE)
CONVSCOPE_HOPPER_THREE_FORMS(CONVSCOPE_HOPPER_THREE)

#ifndef __CUDACC__
#include "hopper_plan.h"

namespace {

struct HopperForm {
  int width, step, shifts, period, gcd;
  Leave leave;
};
constexpr HopperForm one_forms[] = {
#define CONVSCOPE_FORM(name, ...) {__VA_ARGS__},
    CONVSCOPE_HOPPER_ONE_FORMS(CONVSCOPE_FORM)};
constexpr HopperForm three_forms[] = {CONVSCOPE_HOPPER_THREE_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
};

// Refused unless a form is compiled for it.
template <size_t n>
HopperPlan scaled_plan_of_width(const ConvProblem& p, int64_t width, int parts, const HopperForm (&forms)[n]) {
  HopperPlan h = hopper_plan_of_width(p, width, parts, true);
  const HopperTiles& t = h.tiles;
  if (h.refused.empty() && std::none_of(std::begin(forms), std::end(forms), [&](const HopperForm& f) {
        return f.width == t.width && f.step == h.step && f.shifts == t.shifts && f.period == t.period &&
               f.gcd == t.gcd && (f.leave == Leave::registers || t.staging);
      }))
    h.refused = "takes the shifts and classes it is compiled for, not " + std::to_string(t.shifts) + " shifts and " +
                std::to_string(t.period * t.gcd) + " classes of this many channels";
  return h;
}

HopperPlan one_plan(const ConvProblem& p) {
  const int64_t columns = p.out_per_group() * phases_of(p).period;
  HopperPlan narrow = scaled_plan_of_width(p, 64, 1, one_forms);
  if (columns <= 64 && narrow.refused.empty()) return narrow;
  if (columns % 96 == 0 && columns % 128)  // rung 8 says why
    if (HopperPlan even = scaled_plan_of_width(p, 96, 1, one_forms); even.refused.empty()) return even;
  HopperPlan wide = scaled_plan_of_width(p, 128, 1, one_forms);
  return wide.refused.empty() ? wide : narrow;
}
HopperPlan three_plan(const ConvProblem& p) { return scaled_plan_of_width(p, 64, 2, three_forms); }

HopperLaunch scaled_launch(const ConvProblem& p, Plan& plan, const HopperPlan& h) {
  HopperLaunch launch{p, plan, h, scaled_blocks * 4 + 4};
  launch.pack_scaled(ENTRY(hopper_largest_scaled), ENTRY(hopper_pack_scaled), ENTRY(hopper_pad_scaled), scaled_blocks);
  return launch;
}

}  // namespace

CONVSCOPE_KERNEL(hopper_1xf16) {
  rung(18);
  idea("TF32's accuracy from f16 products, twice as fast: a scale for each four positions makes up for f16's range");
  activates();
  accuracy("tf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return one_plan(p).refused; });
  plan([](const ConvProblem& p, Plan& plan) {
    HopperPlan h = one_plan(p);
    HopperLaunch launch = scaled_launch(p, plan, h);
#define CONVSCOPE_FORM(name, ...) launch.form(ENTRY(name), __VA_ARGS__);
    CONVSCOPE_HOPPER_ONE_FORMS(CONVSCOPE_FORM)
  });
}

CONVSCOPE_KERNEL(hopper_3xf16) {
  rung(19);
  idea("f32's accuracy from three f16 products: high halves and low ones, scaled, summed in f32 every 32 channels");
  activates();
  accuracy("3xtf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return three_plan(p).refused; });
  plan([](const ConvProblem& p, Plan& plan) {
    HopperPlan h = three_plan(p);
    HopperLaunch launch = scaled_launch(p, plan, h);
    CONVSCOPE_HOPPER_THREE_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
  });
}
#endif
