// Rungs 10 and 11, stream_tf32 and stream_3xtf32: weights too large for shared memory.
//
// Idea: layers of many channels have weights of megabytes and short sequences: there the weights are what must move.
// They come through the ring of stages together with x, each stage the channels of x and the weights that meet them.
// The weights of all layers people run stay in the L2 cache, from where every tile reads them anew.
// - The packed weights lie stage by stage, so that a stage is one tensor copy and one copy of contiguous bytes. Each
//   warpgroup has a ring of its own: one stores while the other multiplies. Or both share a ring's weights, for two
//   tiles of positions: a third to a half less to read from the L2 cache, but both end together. Layers of long sums
//   took 4 to 8 % less so (dac.d2, oobleck.d1), short ones 10 to 30 % more, 11 shifts of 631 channels the same. A model
//   of both chooses.
// - Where tiles do not fill the GPU evenly they are cut along the input channels: each warpgroup has the same number of
//   stages, whichever tiles they are of, and of a tile that several have the last one adds the sums of the others, in
//   their order (Osama et al., Stream-K, 2023).
// - Short sequences share a tile.
// - A stage is given back when the products that read its weights are done, one round after its x was loaded.
// - With a stride of 8 a lane has a whole sector of a row, all classes of a position; lanes of neighbours store in an
//   order in which a sector is written at once.
// Right for: what rungs 8 and 9 take, without their limit on weights; up to 16 shifts of x. Needs: sm_90a (wgmma, TMA).
#include "hopper_stream_block.h"

// The packed weights: for each column tile its stages, each with its images (high and low halves for 3×TF32).
extern "C" __global__ void __launch_bounds__(256)
    hopper_pack_stream(const ConvArgs c, const StreamTiles tiles, const __grid_constant__ ShiftTable table,
                       const float* w, uint32_t* packed, int* ready) {
  next_launch_may_begin();
  if (blockIdx.x == 0)
    for (int i = threadIdx.x; i < stream_flags; i += blockDim.x) ready[i] = 0;
  int image = tiles.chunk / 4 / tiles.parts, stages = tiles.rounds / tiles.deep;
  int64_t all = static_cast<int64_t>(image) * stages * tiles.column_tiles * c.groups;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    int64_t stage = id / image;  // of all tiles
    int e = static_cast<int>(id % image);
    ImagePlace at = image_place(e, tiles.width);
    int step = at.k / 8, round = static_cast<int>(stage % stages) * tiles.deep + step / tiles.shifts;
    float v = 0;
    if (step < tiles.deep * tiles.shifts)
      v = hopper_weight_of(c, tiles, table, w, stage / stages, at.column, static_cast<int64_t>(round) * 8 + at.k % 8,
                           step % tiles.shifts);
    uint32_t high = to_tf32(v), *to = packed + stage * tiles.parts * image + e;
    to[0] = high;
    if (tiles.parts == 2) to[image] = to_tf32(v - __uint_as_float(high));
  }
}

CONVSCOPE_HOPPER_PAD(hopper_pad_stream)

#if defined(CONVSCOPE_HAS_HOPPER)

// Products of n shifts, of both halves of a lane's positions, with the weights from k on.
template <int width, int n>
__device__ __forceinline__ void stream_products(float (&d)[2][width / 2], const uint32_t (&a)[n][2][4],
                                                const StreamReader<true>& reader, int k, int add) {
  products_begin();
#pragma unroll
  for (int u = 0; u < n; u++)
#pragma unroll
    for (int half = 0; half < 2; half++)
      product(d[half], a[u][half], weights_at<width>(reader.stage_weights(), k + u), u ? 1 : add);
  products_commit();
}

// d = the products of a tile in TF32, all rounds. shifts 0: any. Many shifts are two turns of a round, with fragments
// that are held twice: what comes next is loaded and rounded while products run (wavegan.d4: 0.145 to 0.135 ms). Of two
// shifts a stage is then given back later, and it took 1 to 6 % longer.
template <int width, int shifts, int near>
struct StreamSum {
  static constexpr bool spins = true;
  __device__ __forceinline__ static void of(float (&d)[2][width / 2], const StreamTiles& tiles, const ShiftTable& table,
                                            StreamReader<spins>& reader, int rounds, const int*) {
    if constexpr (shifts > 3) {
      constexpr int most = (shifts + 1) / 2, others = shifts - most;
      Window<1, shifts, near> window;
      Fragments<most> a;
      Fragments<others> b;
      window.load(reader.next_round(), tiles.box);
      round_window(a, window);
      uint32_t left = 0;  // the stage that the round before had
      for (int round = 0; round < rounds; round++) {
        const bool more = round + 1 < rounds;
        stream_products<width>(d, a, reader, reader.used * shifts, round > 0);
        products_wait<1>();
        reader.give_back(left);
        round_window(b, window, most);
        stream_products<width>(d, b, reader, reader.used * shifts + most, 1);
        left = reader.leave();
        if (more) window.load(reader.next_round(), tiles.box);
        products_wait<1>();
        if (more) round_window(a, window);
      }
      products_wait<0>();
      reader.give_back(left);
    } else if constexpr (shifts > 0) {
      Window<1, shifts, near> window;
      window.load(reader.next_round(), tiles.box);
      for (int round = 0; round < rounds; round++) {
        Fragments<shifts> a;
        round_window(a, window);
        stream_products<width>(d, a, reader, reader.used * shifts, round > 0);
        if (round + 1 < rounds) window.load(reader.next_round(), tiles.box);
        products_wait<0>();
        reader.done();
      }
    } else {
      AnyShifts some(tiles, table, reader, rounds);
      for (int round = 0; round < rounds; round++) {
        some.each([&](auto count, int u) {
          constexpr int n = decltype(count)::value;
          Fragments<n> a;
          some.template turn<n>();
          round_window(a, some);
          stream_products<width>(d, a, reader, reader.k_of(u), round + u > 0);
          some.next(n);
          products_wait<0>();
        });
        reader.done();
      }
    }
  }
};

// The same by 3×TF32, each round summed in f32 (rung 9): some shifts, with the weights from k on. While the products
// of the second half of the positions run, the next are loaded.
template <int width, int n, class AnyWindow, class Next>
__device__ __forceinline__ void stream_split_products(float (&d)[2][width / 2], const StreamTiles& tiles,
                                                      const StreamReader<false>& reader, const AnyWindow& window, int k,
                                                      Next next) {
  const uint64_t low = static_cast<uint32_t>(tiles.chunk / 2 / 16);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    Halves<n> a;
#pragma unroll
    for (int u = 0; u < n; u++)
#pragma unroll
      for (int i = 0; i < 4; i++) split_tf32(window.at(i / 2, 2 * half + i % 2, u), a.high[u][i], a.low[u][i]);
    float sum[width / 2];
    add_products<width>(sum, a, reader.stage_weights(), low, k);
    if (half == 1) next();
    products_wait<0>();
#pragma unroll
    for (int i = 0; i < width / 2; i++) {
      settled(sum[i]);  // is not read before it is waited for
      d[half][i] += sum[i];
    }
  }
}

template <int width, int shifts, int near>
struct StreamSplitSum {
  static constexpr bool spins = false;
  __device__ __forceinline__ static void of(float (&d)[2][width / 2], const StreamTiles& tiles, const ShiftTable& table,
                                            StreamReader<spins>& reader, int rounds, const int*) {
#pragma unroll
    for (int i = 0; i < width / 2; i++) d[0][i] = d[1][i] = 0;
    if constexpr (shifts > 0) {
      Window<1, shifts, near> window;
      window.load(reader.next_round(), tiles.box);
      for (int round = 0; round < rounds; round++) {
        stream_split_products<width, shifts>(d, tiles, reader, window, reader.used * shifts, [&] {
          if (round + 1 < rounds) window.load(reader.next_round(), tiles.box);
        });
        reader.done();
      }
    } else {
      AnyShifts some(tiles, table, reader, rounds);
      for (int round = 0; round < rounds; round++) {
        some.each([&](auto count, int u) {
          constexpr int n = decltype(count)::value;
          some.template turn<n>();
          stream_split_products<width, n>(d, tiles, reader, some, reader.k_of(u), [&] { some.next(n); });
        });
        reader.done();
      }
    }
  }
};

#define CONVSCOPE_STREAM_BODY(...) hopper_stream<__VA_ARGS__>(c, tiles, table, map, packed, b, y, sums, ready);
#else
#define CONVSCOPE_STREAM_BODY(...) __trap();
#endif

// The forms that are compiled: columns of a tile; shifts 0, 1, … (0: any); classes s', all of them neighbours (0: any);
// whether two warpgroups share a unit's stages.
#define CONVSCOPE_STREAM_TF32(name, ...) CONVSCOPE_STREAM(StreamSum, name, __VA_ARGS__)
#define CONVSCOPE_STREAM_SPLIT(name, ...) CONVSCOPE_STREAM(StreamSplitSum, name, __VA_ARGS__)
#define CONVSCOPE_STREAM_TF32_FORMS(F)   \
  F(stream_2_s8, 128, 2, 8)              \
  F(stream_2_s4, 128, 2, 4)              \
  F(stream_2_s8_halves, 128, 2, 8, true) \
  F(stream_2_s4_halves, 128, 2, 4, true) \
  F(stream_2_s2, 128, 2, 2)              \
  F(stream_2_s5, 160, 2, 5)              \
  F(stream_7_s4, 64, 7, 4)               \
  F(stream_6, 128, 6, 0)                 \
  F(stream_any, 128, 0, 0)               \
  F(stream_any_64, 64, 0, 0)
#define CONVSCOPE_STREAM_SPLIT_FORMS(F)       \
  F(stream_split_2_s8, 64, 2, 8)              \
  F(stream_split_2_s4, 64, 2, 4)              \
  F(stream_split_2_s8_halves, 64, 2, 8, true) \
  F(stream_split_2_s4_halves, 64, 2, 4, true) \
  F(stream_split_2_s2, 64, 2, 2)              \
  F(stream_split_7_s4, 64, 7, 4)              \
  F(stream_split_any, 64, 0, 0)
CONVSCOPE_STREAM_TF32_FORMS(CONVSCOPE_STREAM_TF32)
CONVSCOPE_STREAM_SPLIT_FORMS(CONVSCOPE_STREAM_SPLIT)

#ifndef __CUDACC__
#include "hopper_stream_plan.h"

namespace {

StreamPlan stream_plan(const ConvProblem& p, int parts) {
  if (parts == 2) return stream_plan_of_width(p, 64, parts);
  StreamPlan h = stream_plan_of_width(p, 128, parts);
  const StreamTiles& t = h.tiles;
  // Of 128 columns five classes leave eight unused, and channels rarely fill them.
  if (h.refused.empty() && t.shifts == 2 && h.step == 1 && t.period == 5 && t.gcd == 1) {
    StreamPlan wide = stream_plan_of_width(p, 160, parts);
    if (wide.refused.empty() && wide.tiles.column_tiles * 160 < t.column_tiles * 128) return wide;
  }
  bool seven = t.shifts == 7 && h.step == 1 && t.period == 4 && t.gcd == 1 && t.segments == 1;
  bool narrow = p.out_per_group() * t.period <= 64;
  if (!h.refused.empty() || seven || narrow) {
    StreamPlan half = stream_plan_of_width(p, 64, parts);
    if (half.refused.empty()) return half;
  }
  return h;
}

// Launches a form of one of both.
void plan_stream(const ConvProblem& p, Plan& plan, int parts) {
  const StreamPlan h = stream_plan(p, parts);
  StreamLaunch launch{p, plan, h};
  launch.pack(ENTRY(hopper_pack_stream), ENTRY(hopper_pad_stream));
#define CONVSCOPE_FORM(name, ...) launch.form(ENTRY(name), __VA_ARGS__);
  if (parts == 1) {
    CONVSCOPE_STREAM_TF32_FORMS(CONVSCOPE_FORM)
  } else {
    CONVSCOPE_STREAM_SPLIT_FORMS(CONVSCOPE_FORM)
  }
#undef CONVSCOPE_FORM
}

}  // namespace

CONVSCOPE_KERNEL(stream_tf32) {
  rung(10);
  idea("the same for weights of any size: they come through the ring beside x, out of the L2 cache");
  activates();
  accuracy("tf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return stream_plan(p, 1).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_stream(p, plan, 1); });
}

CONVSCOPE_KERNEL(stream_3xtf32) {
  rung(11);
  idea("weights of any size with f32's accuracy: three TF32 products, high and low halves streamed");
  activates();
  accuracy("3xtf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return stream_plan(p, 2).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_stream(p, plan, 2); });
}
#endif
