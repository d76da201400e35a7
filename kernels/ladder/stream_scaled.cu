// Rungs 20 and 21, stream_1xf16 and stream_3xf16: weights of any size as scaled f16 numbers.
//
// Idea: rungs 10 and 11 with the numbers of rungs 18 and 19. What streams is half as many bytes of weights, what the
// tensor cores read of shared memory is as well, and products take half the time.
// - A stage has 16 channels of x or a multiple of them; what a lane reads of 16 is one round.
// - Sums are without scales before another block adds them to its own.
// Right for: f32 at the accuracy of TF32 (stream_1xf16) or f32 (stream_3xf16), finite inputs of any size as in rungs 18
// and 19; layers whose taps reach two inputs (K between s + 1 and 2s, the upsampling layers of audio models) or seven
// (WaveGAN's), and a few others; the rule below says which. Needs: sm_90a (wgmma, TMA).
#include "hopper_scaled.h"
#include "hopper_stream_block.h"

extern "C" __global__ void __launch_bounds__(256)
    stream_largest_scaled(const ConvArgs c, const float* w, float* largest) {
#if defined(CONVSCOPE_HAS_HOPPER)
  scaled_largest(c, w, largest);
#else
  __trap();
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    stream_pack_scaled(const ConvArgs c, const StreamTiles tiles, const __grid_constant__ ShiftTable table,
                       const float* w, const float* largest, uint32_t* packed, int* ready) {
#if defined(CONVSCOPE_HAS_HOPPER)
  pack_scaled_stages(c, tiles, table, w, largest, packed, ready, stream_flags);
#else
  __trap();
#endif
}

CONVSCOPE_HOPPER_PAD(stream_pad_scaled)

#if defined(CONVSCOPE_HAS_HOPPER)

// The ring's rounds of 8 channels two at a time. What the next products need is counted while these run.
template <int shifts, int near, int parts, bool spins>
struct StreamScaled {
  const StreamTiles& tiles;
  StreamReader<spins>& reader;
  ScaledWindow<1, shifts, near, parts> window;
  uint32_t stage, k = 0;  // where the weights of the products' stage begin, in 16 bytes; steps before the round
  uint32_t left = 0;      // the stage that the products of a round are the last to read

  __device__ __forceinline__ void begin() {
    stage = static_cast<uint32_t>(reader.held.stage * (tiles.chunk / 16));
    load();
    window.begin(tiles);
  }
  __device__ __forceinline__ void load() {
    if (reader.loaded == 0) {
      barrier_wait<spins>(reader.ahead.full(), reader.ahead.phase);
      reader.from = reader.x + reader.ahead.stage * (tiles.together * tiles.deep * tiles.box * tiles.segments * 8);
    }
    window.load(reader.from, tiles.box);
    reader.from += 16 * tiles.box;
    if ((reader.loaded += 2) == tiles.deep) reader.loaded = 0, reader.ahead.advance();
  }
  // The round that was loaded last, whose stage is still there.
  __device__ __forceinline__ void load_again() { window.load(reader.from - 16 * tiles.box, tiles.box); }
  template <int width>
  __device__ __forceinline__ uint64_t weights(uint32_t u) const {
    uint32_t at = k + u;
    return reader.weights + (stage + at / 4 * (width * 8) + at % 4 * 2);
  }
  __device__ __forceinline__ void ordered() {
    k += shifts, left = 0;
    if ((reader.used += 2) < tiles.deep) return;
    left = reader.held.empty();
    reader.used = 0, k = 0;
    reader.held.advance();
    stage = static_cast<uint32_t>(reader.held.stage * (tiles.chunk / 16));
  }
  __device__ __forceinline__ void read() const {}
  __device__ __forceinline__ void done() const { reader.give_back(left); }
};

template <int width, int shifts, int near>
struct StreamScaledSum {
  static constexpr bool spins = true;
  __device__ __forceinline__ static void of(float (&d)[2][width / 2], const StreamTiles& tiles, const ShiftTable&,
                                            StreamReader<spins>& reader, int rounds, const int* behind) {
    const float of_weights = *reinterpret_cast<const float*>(behind);
    StreamScaled<shifts, near, 1, spins> x{tiles, reader};
    x.begin();
    if constexpr (shifts > 3)
      scaled_sum_in_turns<width, shifts>(d, x, rounds);
    else
      scaled_sum<width, shifts>(d, x, rounds);
    x.window.unscale(d, of_weights);
  }
};

template <int width, int shifts, int near>
struct StreamScaledSplitSum {
  static constexpr bool spins = false;
  __device__ __forceinline__ static void of(float (&d)[2][width / 2], const StreamTiles& tiles, const ShiftTable&,
                                            StreamReader<spins>& reader, int rounds, const int* behind) {
    const float of_weights = *reinterpret_cast<const float*>(behind);
    StreamScaled<shifts, near, 2, spins> x{tiles, reader};
    x.begin();
    const uint32_t low = static_cast<uint32_t>(tiles.chunk / 2 / 16);
    if constexpr (shifts > 3)
      scaled_split_sum_in_turns<width, shifts>(d, x, rounds, low);
    else
      scaled_split_sum<width, shifts>(d, x, rounds, low);
    x.window.unscale(d, of_weights);
  }
};

#define CONVSCOPE_STREAM_BODY(...) hopper_stream<__VA_ARGS__>(c, tiles, table, map, packed, b, y, sums, ready);
#else
#define CONVSCOPE_STREAM_BODY(...) __trap();
#endif

// The forms that are compiled, as in rung 10: with one product, and with three.
#define CONVSCOPE_STREAM_ONE(name, ...) CONVSCOPE_STREAM(StreamScaledSum, name, __VA_ARGS__)
#define CONVSCOPE_STREAM_THREE(name, ...) CONVSCOPE_STREAM(StreamScaledSplitSum, name, __VA_ARGS__)
#define CONVSCOPE_STREAM_ONE_FORMS(F)          \
  F(stream_1xf16_2_s8, 128, 2, 8)              \
  F(stream_1xf16_2_s4, 128, 2, 4)              \
  F(stream_1xf16_2_s8_halves, 128, 2, 8, true) \
  F(stream_1xf16_2_s4_halves, 128, 2, 4, true) \
  F(stream_1xf16_2_s2, 128, 2, 2)              \
  F(stream_1xf16_2_s5, 160, 2, 5)              \
  F(stream_1xf16_2, 128, 2, 0)                 \
  F(stream_1xf16_7, 128, 7, 0)                 \
  F(stream_1xf16_3_s1, 128, 3, 1)
#define CONVSCOPE_STREAM_THREE_FORMS(F)       \
  F(stream_3xf16_2_s8, 64, 2, 8)              \
  F(stream_3xf16_2_s4, 64, 2, 4)              \
  F(stream_3xf16_2_s8_halves, 64, 2, 8, true) \
  F(stream_3xf16_2_s4_halves, 64, 2, 4, true) \
  F(stream_3xf16_2_s2, 64, 2, 2)              \
  F(stream_3xf16_2, 64, 2, 0)                 \
  F(stream_3xf16_7, 64, 7, 0)                 \
  F(stream_3xf16_3_s1, 64, 3, 1)
CONVSCOPE_STREAM_ONE_FORMS(CONVSCOPE_STREAM_ONE)
CONVSCOPE_STREAM_THREE_FORMS(CONVSCOPE_STREAM_THREE)

#ifndef __CUDACC__
#include "hopper_stream_plan.h"

namespace {

// Refused unless a form is compiled for it: two or seven shifts of any classes, or three of one.
StreamPlan scaled_stream_of_width(const ConvProblem& p, int64_t width, int parts) {
  StreamPlan h = stream_plan_of_width(p, width, parts, true);
  const StreamTiles& t = h.tiles;
  const bool two = t.shifts == 2, three = t.shifts == 3 && t.period == 1 && t.gcd == 1 && t.segments == 1;
  if (h.refused.empty() && !(h.step == 1 && (two || three || t.shifts == 7)))
    h.refused = "takes two or seven neighbouring shifts of x, or three of one class, not " + std::to_string(t.shifts) +
                " and " + std::to_string(t.period * t.gcd) + " classes";
  return h;
}

StreamPlan scaled_stream(const ConvProblem& p, int parts) {
  if (parts == 2) return scaled_stream_of_width(p, 64, parts);
  StreamPlan h = scaled_stream_of_width(p, 128, parts);
  if (h.refused.empty() && h.tiles.shifts == 2 && h.tiles.period == 5 && h.tiles.gcd == 1) {  // rung 10 says why
    StreamPlan wide = scaled_stream_of_width(p, 160, parts);
    if (wide.refused.empty() && wide.tiles.column_tiles * 160 < h.tiles.column_tiles * 128) return wide;
  }
  return h;
}

void plan_scaled_stream(const ConvProblem& p, Plan& plan, int parts) {
  const StreamPlan h = scaled_stream(p, parts);
  StreamLaunch launch{p, plan, h, scaled_blocks * 4 + 4};
  launch.pack_scaled(ENTRY(stream_largest_scaled), ENTRY(stream_pack_scaled), ENTRY(stream_pad_scaled), scaled_blocks);
#define CONVSCOPE_FORM(name, ...) launch.form(ENTRY(name), __VA_ARGS__);
  if (parts == 1) {
    CONVSCOPE_STREAM_ONE_FORMS(CONVSCOPE_FORM)
  } else {
    CONVSCOPE_STREAM_THREE_FORMS(CONVSCOPE_FORM)
  }
#undef CONVSCOPE_FORM
}

}  // namespace

CONVSCOPE_KERNEL(stream_1xf16) {
  rung(20);
  idea(
      "weights of any size at TF32's accuracy as scaled f16 numbers: half the bytes to stream, products twice as fast");
  activates();
  accuracy("tf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return scaled_stream(p, 1).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_scaled_stream(p, plan, 1); });
}

CONVSCOPE_KERNEL(stream_3xf16) {
  rung(21);
  idea("weights of any size at f32's accuracy: three scaled f16 products, high and low halves streamed");
  activates();
  accuracy("3xtf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return scaled_stream(p, 2).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_scaled_stream(p, plan, 2); });
}
#endif
