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
#include "hopper_stream.h"

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
__device__ __forceinline__ void stream_sum(float (&d)[2][width / 2], const StreamTiles& tiles, const ShiftTable& table,
                                           StreamReader<true>& reader, int rounds) {
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
__device__ __forceinline__ void stream_sum_split(float (&d)[2][width / 2], const StreamTiles& tiles,
                                                 const ShiftTable& table, StreamReader<false>& reader, int rounds) {
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

// Results of a lane's four neighbouring positions, whatever the classes.
template <int width>
__device__ __forceinline__ void stream_results(const float (&d)[2][width / 2], const ConvArgs& c,
                                               const StreamTiles& tiles, const float* bias, float* y, int64_t j,
                                               int channels, const LanePlace& place, int t) {
  switch (tiles.gcd == 1 ? tiles.period : 0) {
#define CONVSCOPE_PERIOD(period) \
  case period:                   \
    return results_runs<period>(d, c.out_length, bias, y, j, channels, place, t);
    CONVSCOPE_PERIOD(1)
    CONVSCOPE_PERIOD(2)
    CONVSCOPE_PERIOD(3)
    CONVSCOPE_PERIOD(4)
    CONVSCOPE_PERIOD(5)
    CONVSCOPE_PERIOD(6)
    CONVSCOPE_PERIOD(7)
    CONVSCOPE_PERIOD(8)
    CONVSCOPE_PERIOD(10)
#undef CONVSCOPE_PERIOD
    case 16:
      return results_runs<16>(d, c.out_length, bias, y, j, channels, place, t);
    default:
      return results_any<width>(d, c, tiles, bias, y, j, channels, t);
  }
}

template <int parts, int width, int shifts, int period, bool halves = false>
__device__ __forceinline__ void hopper_stream(const ConvArgs& c, const StreamTiles& tiles, const ShiftTable& table,
                                              const TensorMap& map, const uint32_t* packed, const float* b, float* y,
                                              float4* sums, int* ready) {
  CONVSCOPE_DYNAMIC_SHARED_1024(hopper_shared);
  int stages = tiles.stages, tile_floats = tiles.deep * 8 * tiles.box * tiles.segments;  // of a stage
  int rings = 3 - tiles.together;
  uint32_t ring_weights = static_cast<uint32_t>(stages * tiles.chunk);  // bytes of a ring's
  float* xs = reinterpret_cast<float*>(hopper_shared + static_cast<uint32_t>(rings) * ring_weights);
  uint32_t barriers = shared_address(xs + 2 * stages * tile_floats);
  if (threadIdx.x == 0) {
    for (int i = 0; i < rings * stages; i++)
      barrier_init(barriers + 16u * i, 1), barrier_init(barriers + 16u * i + 8, 4 * tiles.together);
    barriers_made();
    prefetch_map(map);
  }
  __syncthreads();
  wait_for_launches_before();

  int warp = warp_of_block(), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int mine = warp < 8 ? warp / 4 : warp % 2;  // the warpgroup, or the one for which a warp copies
  // Classes of a position are neighbours; near: positions of a lane that are.
  constexpr int near = period == 1 || period == 2 ? 4 / period : period == 4 || period == 8 ? 1 : 4;
  int mine_of_rings = rings == 2 ? mine : 0;
  uint32_t weights = shared_address(hopper_shared) + static_cast<uint32_t>(mine_of_rings) * ring_weights;
  xs += mine_of_rings * stages * tile_floats;
  Ring ring{barriers + static_cast<uint32_t>(mine_of_rings * stages) * 16, stages};
  if (warp >= 8) {
    fewer_registers<24>();
    if (threadIdx.x == 256 || (threadIdx.x == 288 && rings == 2))
      stream_produce<parts == 1>(tiles, map, packed, weights, shared_address(xs), ring, mine);
  } else {
    more_registers<240>();
    int cout = static_cast<int>(c.out_channels / c.groups);
    uint64_t descriptor = (weights & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
    LanePlace place(tiles.segment, warp, g);
    bool inside = place.sequence < tiles.segments;
    const float* at = xs + t * tiles.box + tiles.halo + (rings == 2 ? 0 : mine * tile_floats);
    if constexpr (near == 4)
      at += (inside ? place.sequence : 0) * tiles.deep * 8 * tiles.box + place.position;
    else
      at += warp % 4 * 32 + near * g;
    StreamReader<parts == 1> reader(tiles, at, descriptor, ring);
    for (StreamWork work(tiles, mine); work.there(tiles); work.next(tiles)) {
      StreamPlace tile(tiles, work.unit, mine);
      if (!tile.there) {
        reader.pass(work.last - work.first);
        continue;
      }
      float d[2][width / 2];
      int rounds = (work.last - work.first) * tiles.deep;
      auto sum = [&](auto count) {
        if constexpr (parts == 1)
          stream_sum<width, decltype(count)::value, near>(d, tiles, table, reader, rounds);
        else
          stream_sum_split<width, decltype(count)::value, near>(d, tiles, table, reader, rounds);
      };
      if (shifts == 0 && tiles.shifts == 2 && tiles.step == 1)
        sum(Count<2>{});  // the most common ones; they share the code of the results
      else if (shifts == 0 && tiles.shifts == 1)
        sum(Count<1>{});
      else
        sum(Count<shifts>{});
      if (!halves && work.last - work.first < tiles.length)
        if (!add_parts<width>(d, tiles, work, sums, ready, mine)) continue;
      int co = tile.group * cout + tile.group_column * tiles.lane_channels * 4;
      int channels = cout - tile.group_column * tiles.lane_channels * 4;
      int64_t j = int64_t{tile.m} * c.stride - c.padding;
      float* rows = y + (static_cast<int64_t>(tile.n) * c.out_channels + co) * c.out_length;
      const float* bias = b ? b + co : nullptr;
      if constexpr (halves) {
        float sum[2][width / 4];
        auto ring_at = [&](int of) { return reinterpret_cast<float4*>(hopper_shared + of * ring_weights); };
        add_halves<width>(d, sum, ring_at(mine), ring_at(1 - mine), mine);
        int skip = mine * tiles.lane_channels * 2;
        rows += skip * c.out_length, channels -= skip, bias = b ? bias + skip : nullptr;
        if constexpr (period == 4) {
          finish<period>(sum, bias, channels, t);
          results_direct<period, 1>(sum, bias, rows, c.out_length, j + warp % 4 * 32 * period, channels, g, t);
        } else {
          results_sectors(sum, c.out_length, bias, rows, j + (warp % 4 * 32 + g) * period, channels, g, t);
        }
      } else if constexpr (period == 1 || period == 2 || period == 4) {
        finish<period>(d, bias, channels, t);
        results_direct<period, 1>(d, bias, rows, c.out_length, j + warp % 4 * 32 * period, channels, g, t);
      } else if constexpr (period == 8) {
        results_sectors(d, c.out_length, bias, rows, j + (warp % 4 * 32 + g) * period, channels, g, t);
      } else {
        if (!inside || tile.n + place.sequence >= static_cast<int>(c.batch)) channels = 0;
        rows += place.sequence * (c.out_channels * c.out_length), j += place.position * c.stride;
        if constexpr (period)
          results_runs<period>(d, c.out_length, bias, rows, j, channels, place, t);
        else
          stream_results<width>(d, c, tiles, bias, rows, j, channels, place, t);
      }
    }
  }
}
#define CONVSCOPE_STREAM_BODY(...) hopper_stream<__VA_ARGS__>(c, tiles, table, map, packed, b, y, sums, ready);
#else
#define CONVSCOPE_STREAM_BODY(...) __trap();
#endif

// The forms that are compiled: images of the weights; columns of a tile; shifts 0, 1, … (0: any); classes s', all of
// them neighbours (0: any); whether two warpgroups share a unit's stages.
#define CONVSCOPE_STREAM(name, ...)                                                                                 \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                                                   \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ StreamTiles tiles,                           \
           const __grid_constant__ ShiftTable table, const __grid_constant__ TensorMap map, const uint32_t* packed, \
           const float* b, float* y, float4* sums, int* ready) {                                                    \
    CONVSCOPE_STREAM_BODY(__VA_ARGS__)                                                                              \
  }
#define CONVSCOPE_STREAM_FORMS(F)                \
  F(stream_2_s8, 1, 128, 2, 8)                   \
  F(stream_2_s4, 1, 128, 2, 4)                   \
  F(stream_2_s8_halves, 1, 128, 2, 8, true)      \
  F(stream_2_s4_halves, 1, 128, 2, 4, true)      \
  F(stream_2_s2, 1, 128, 2, 2)                   \
  F(stream_2_s5, 1, 160, 2, 5)                   \
  F(stream_7_s4, 1, 64, 7, 4)                    \
  F(stream_6, 1, 128, 6, 0)                      \
  F(stream_any, 1, 128, 0, 0)                    \
  F(stream_any_64, 1, 64, 0, 0)                  \
  F(stream_split_2_s8, 2, 64, 2, 8)              \
  F(stream_split_2_s4, 2, 64, 2, 4)              \
  F(stream_split_2_s8_halves, 2, 64, 2, 8, true) \
  F(stream_split_2_s4_halves, 2, 64, 2, 4, true) \
  F(stream_split_2_s2, 2, 64, 2, 2)              \
  F(stream_split_7_s4, 2, 64, 7, 4)              \
  F(stream_split_any, 2, 64, 0, 0)
CONVSCOPE_STREAM_FORMS(CONVSCOPE_STREAM)

#ifndef __CUDACC__

#include "hopper_plan.h"

namespace {

struct StreamPlan : HopperPlanOf<StreamTiles> {
  int64_t blocks = 0;
};

// Stages: the deepest of which three fit.
void fit_stages(StreamPlan& h, int64_t all_rounds, int parts, int together) {
  StreamTiles& t = h.tiles;
  const int64_t x_round = int64_t{t.box} * t.segments * 32, rings = 3 - together;
  t.together = together;
  for (int64_t deep : {4, 2, 1}) {
    int64_t chunk = ceil_div(deep * t.shifts, 4) * 128 * t.width * parts, stage = chunk + together * deep * x_round;
    int64_t stages = std::min((hopper_shared_bytes - 1024) / (rings * (stage + 16)), hopper_stages);
    t.deep = static_cast<int32_t>(deep), t.chunk = static_cast<int32_t>(chunk), t.stages = static_cast<int32_t>(stages);
    h.shared = static_cast<size_t>(rings * stages * (stage + 16));
    if (stages >= 3 && deep * t.shifts % 4 == 0) break;
  }
  t.rounds = static_cast<int32_t>(ceil_div(all_rounds, t.deep) * t.deep);
  t.length = t.rounds / t.deep;
}

// Who has which units, and how many microseconds that should take. Whole units take ⌈units/warpgroups⌉ turns; cut ones
// as many as there are, and the exchange of sums. What is left after whole turns is cut together with the last of them:
// pieces of at least a unit. The figures are fitted to an H200's times: a step (a shift of 8 channels) of 128 columns
// for both warpgroups of a block, and for one alone; what the L2 cache delivers to a multiprocessor, and how long a
// copy takes to begin, which few stages do not hide; an exchange; results that no product hides, as warpgroups that
// share their weights end at the same time; what two warpgroups give each other when they share one unit.
double share_units(StreamPlan& h, int parts, int64_t columns) {
  StreamTiles& t = h.tiles;
  constexpr double both_us = 0.175, alone_us = 0.16, l2_bytes_a_us = 62e3, latency_us = 1.2, exchange_us = 6,
                   another_us = 3, end_us = 2, given_us = 0.5;
  constexpr int64_t blocks = hopper_multiprocessors;
  const bool shared = t.together == 2;
  t.lots = static_cast<int32_t>(ceil_div(t.items, t.together));
  t.units = static_cast<int32_t>(columns * t.lots);
  const double steps = static_cast<double>(t.deep) * t.shifts * t.width / 128 * (parts == 2 ? 3 : 1);
  const double bytes = (3 - t.together) * t.chunk + 2.0 * t.deep * t.box * t.segments * 32;
  const double copied_us = bytes / l2_bytes_a_us, waited_us = (latency_us + copied_us) / std::max(t.stages - 1, 1);
  const double both = std::max({both_us * steps, copied_us, waited_us}) * t.length, alone = alone_us * steps * t.length;
  const int64_t most = shared ? blocks : 2 * blocks, turns = t.units / most;
  auto unit_us = [&](int64_t workers) { return shared || workers > blocks ? both : alone; };
  auto workers = [&](int64_t n) {
    t.alone = !shared && n <= blocks;
    h.blocks = shared || t.alone ? n : ceil_div(n, 2);
  };
  t.alone = !shared && t.units <= blocks, h.blocks = std::min<int64_t>(blocks, t.units);
  t.whole = static_cast<int32_t>(ceil_div(t.units, most));
  const double end = shared ? end_us : 0;
  double best = t.whole * (unit_us(t.units) + end);
  for (int64_t share = 2; share <= std::min<int64_t>(t.length, 8); share++) {  // workers that have a part of a unit
    int64_t used = std::min(most, t.units * share);
    double us = t.units * (unit_us(used) + end) / static_cast<double>(used) + exchange_us +
                another_us * static_cast<double>(turns ? 0 : share - 2);
    if (us < 0.97 * best) {
      best = us, t.whole = static_cast<int32_t>(std::max<int64_t>(turns - 1, 0));
      workers(used);
    }
    if (used == most) break;
  }
  const bool form = t.shifts == 2 && (t.period == 4 || t.period == 8) && t.width == 128 / parts && t.gcd == 1 &&
                    h.step == 1 && t.segments == 1;  // that can
  const bool can = form && !shared && t.units <= blocks && t.length > 1;
  const double us = both * static_cast<double>(ceil_div(t.length, 2)) / t.length + given_us;
  if (can && us < best) best = us, t.halves = 1, t.alone = 0, t.whole = 1, h.blocks = t.units;
  return best;
}

// What the blocks would divide by, and who has how much of the units that are cut.
void number_units(StreamPlan& h, int64_t columns) {
  StreamTiles& t = h.tiles;
  const int64_t workers = h.blocks * (t.alone || t.halves || t.together == 2 ? 1 : 2);
  const int64_t cut = std::max<int64_t>(0, t.units - t.whole * workers) * t.length;
  t.share = static_cast<int32_t>(cut / workers), t.longer = static_cast<int32_t>(cut % workers);
  t.by_share = divisor_of(std::max(t.share, 1)), t.by_longer_share = divisor_of(t.share + 1);
  t.by_length = divisor_of(t.length), t.by_inner = divisor_of(t.by_columns ? columns : t.lots);
  t.by_column_tiles = divisor_of(t.column_tiles);
}

StreamPlan stream_plan_of_width(const ConvProblem& p, int64_t width, int parts) {
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  StreamPlan h{hopper_segments<StreamTiles>(p, width, parts)};
  if (!h.refused.empty()) return h;
  StreamTiles& t = h.tiles;
  t.step = h.step <= 3 ? h.step : 0;
  if (t.shifts > 16) return h.refused = "takes at most 16 different shifts of x", h;
  const int64_t columns = int64_t{t.column_tiles} * p.groups, all_rounds = t.rounds;
  if (columns * t.items > most / 4) return h.refused = "takes tiles that 32 bits can count", h;
  StreamPlan shared = h;
  fit_stages(h, all_rounds, parts, 1), fit_stages(shared, all_rounds, parts, 2);
  if (t.stages < 2 && shared.tiles.stages < 2)
    return h.refused = "takes stages of weights that fit in shared memory", h;
  const double apart_us = share_units(h, parts, columns), shared_us = share_units(shared, parts, columns);
  if (t.stages < 2 || (shared.tiles.stages >= 2 && shared_us < apart_us)) h = shared;
  if (int64_t{t.units} * t.length > most || int64_t{t.length} * t.chunk / 4 > most)
    return h.refused = "takes weights that 32 bits can count", h;
  // What is larger is better read by neighbours at the same time.
  t.by_columns = p.x_elements() >= columns * t.length * (t.chunk / 4);
  number_units(h, columns);
  return h;
}

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

void plan_stream(const ConvProblem& p, Plan& plan, int parts) {
  StreamPlan h = stream_plan(p, parts);
  const StreamTiles& t = h.tiles;
  const int64_t words = int64_t{t.column_tiles} * p.groups * t.length * (t.chunk / 4);
  auto round = [](int64_t bytes) { return static_cast<size_t>(ceil_div(bytes, 256) * 256); };
  const HopperRows rows{p, round(words * 4)};
  const size_t sums_at = rows.at + round(static_cast<int64_t>(rows.bytes()));
  const bool cut = t.share || t.longer;
  const size_t ready_at = sums_at + (cut ? round(h.blocks * 2 * 128 * t.width * 4) : 0);
  plan.need_workspace(ready_at + stream_flags * 4);
  rows.copy(plan, ENTRY(hopper_pad_stream));
  plan.launch(ENTRY(hopper_pack_stream), {std::min<int64_t>(ceil_div(words, 256), 1056)}, {256})
      .args(p.args(), t, h.table, plan.w(), plan.workspace(), plan.workspace(ready_at));
  bool done = false;
  auto form = [&](auto entry, int form_parts, int width, int shifts, int period, bool halves = false) {
    bool near_four = period == 0 || (period != 1 && period != 2 && period != 4 && period != 8);
    bool fits = !done && form_parts == parts && width == t.width && halves == t.halves &&
                (!shifts || (h.step == 1 && shifts == t.shifts)) && (!period || (period == t.period && t.gcd == 1)) &&
                (near_four || t.segments == 1);
    if (!fits) return;
    done = true;
    plan.launch(entry, {h.blocks}, {hopper_threads}, h.shared)
        .early()
        .in_order()
        .args(p.args(), t, h.table, rows.view(plan, t.box, 8 * t.deep, t.segments), plan.workspace(), plan.b(),
              plan.y(), plan.workspace(sums_at), plan.workspace(ready_at));
  };
#define CONVSCOPE_FORM(name, ...) form(ENTRY(name), __VA_ARGS__);
  CONVSCOPE_STREAM_FORMS(CONVSCOPE_FORM)
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
