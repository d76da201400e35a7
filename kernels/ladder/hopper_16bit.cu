// Rung 12, hopper_16bit: f16 and bf16 on Hopper's tensor cores, sums in f32.
//
// Idea: half the bytes, so half the time, if nothing but x and y moves. As rungs 8 and 10, with three differences.
// - wgmma wants two neighbouring channels in one register, but in NCL neighbours in memory are positions. A lane reads
//   four positions of four channels as they lie, and one byte permutation makes a word of two channels: no transpose of
//   x exists anywhere, and all taps share what was read.
// - Weights that leave room stay in shared memory (once for both warpgroups); others come through the ring beside x:
//   where sums are long once for both warpgroups, which then have two tiles of positions together.
// - Rows of 16-bit values begin anywhere between two sectors. All results go through shared memory, 16 bytes a store as
//   if each row began on a boundary; who reads them shifts, so that they leave in whole sectors, 16 bytes a lane, and
//   the few values at a row's ends one by one.
// - Between two products there is as little as can be: no counter is multiplied out, descriptors come from uniform
//   registers, and the next round is read while products run.
// - Of a short layer the beginning is a large part. A call begins while the one before ends, and when that has ended it
//   has nothing left to do before it orders its first copy: no division, no answer of an atomic to wait for.
// Short sequences share a tile of 128 positions.
// Tried, in f16 on one H200: a third warpgroup, for 64 columns (#74 0.36 ms, #79 0.28; two: 0.33, 0.24); one warpgroup
// multiplies at a time, by a lock (#64 0.94 ms, #74 0.34); runs of neighbouring tiles for a warpgroup, which keeps what
// is beyond a row's last sector for the next (#79 0.25; 0.24 so); fragments of the next round made while products run:
// the compiler then spills 1700 bytes, for reasons not understood; weights copied before the launch before has ended
// (hifigan.u3 1 %, hifigan.u4 1.5 %, others nothing: more than that they would have to be waited for by rule); one
// warpgroup beginning half a tile later than the other (−2 to +2 %); 96 columns for wavegan.d1, which then has a tile for
// each warpgroup (79 to 90 µs).
// Right for: f16 and bf16, finite inputs, up to 60 shifts of x, 128 output values at most of a position and a channel.
// Needs: sm_90a (wgmma, TMA). Source: PTX ISA 9.0, "Asynchronous warpgroup level matrix instructions", fragments of
// wgmma.m64nNk16.
#include "hopper_16bit.h"

// The packed weights: for each column tile its image, or its stages one after the other. Word k of a round holds
// channels k and k + 8.
extern "C" __global__ void __launch_bounds__(256)
    half_pack(const ConvArgs c, const HalfTiles tiles, const __grid_constant__ ShiftTable table, const uint16_t* w,
              uint32_t* packed, int* turns) {
  hopper_no_turns(c, tiles, turns);
  int stages = tiles.chunk ? tiles.rounds / tiles.deep : 1;
  int image = tiles.chunk ? tiles.chunk / 4 : tiles.width * tiles.depth;
  int rounds = tiles.chunk ? tiles.deep : tiles.rounds;
  int64_t all = static_cast<int64_t>(image) * stages * tiles.column_tiles * c.groups;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    int64_t stage = id / image;  // of all tiles
    ImagePlace at = image_place(static_cast<int>(id % image), tiles.width);
    int step = at.k / 8, round = static_cast<int>(stage % stages) * tiles.deep + step / tiles.shifts;
    uint32_t word = 0;
    if (step < rounds * tiles.shifts) {
      int64_t ci = static_cast<int64_t>(round) * 16 + at.k % 8;
      auto of = [&](int64_t channel) {
        return static_cast<uint32_t>(
            hopper_weight_of(c, tiles, table, w, stage / stages, at.column, channel, step % tiles.shifts));
      };
      word = of(ci) | of(ci + 8) << 16;
    }
    packed[id] = word;
  }
}

// Rows of x for the copy engine, whose rows begin on 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    half_pad(const __grid_constant__ ConvArgs c, const int64_t pitch, const uint16_t* x, uint16_t* padded) {
  hopper_pad_rows(c, pitch, x, padded);
}

#if defined(CONVSCOPE_HAS_HOPPER)

// The tiles of one column tile are given to who asks first (produce() in hopper_block.h says why); with weights that
// come in stages, those of all column tiles, which vary fastest, one by one or two of neighbouring positions together.
struct HalfTile {
  int column_tile, item;  // of all groups' column tiles; of its items. After the last one: a sequence that is not there
  __device__ __forceinline__ HalfTile(const HalfTiles& tiles, int number, int mine) {
    const int of_columns = tiles.chunk ? number : static_cast<int>(blockIdx.x);
    const int before = tiles.by_all_columns.of(of_columns);
    column_tile = of_columns - before * tiles.all_columns;
    item = tiles.chunk ? before : number;
    if (tiles.together == 2) item = item * 2 + mine;
  }
  __device__ __forceinline__ HalfTile(int column, int of_column) : column_tile(column), item(of_column) {}
  __device__ __forceinline__ int group(const HalfTiles& tiles) const { return tiles.by_column_tiles.of(column_tile); }
  // Its first position, and the sequence that this is of.
  __device__ __forceinline__ int position(const HalfTiles& tiles) const {
    return tiles.first + (item - tiles.by_tiles.of(item) * tiles.tiles) * hopper_positions;
  }
  __device__ __forceinline__ int sequence(const HalfTiles& tiles) const {
    return tiles.by_tiles.of(item) * tiles.segments;
  }
};

// ready, image: of weights that stay, the barrier at which they arrive, and their bytes.
__device__ __forceinline__ void half_produce(const HalfTiles& tiles, const TensorMap& map, const uint32_t* packed,
                                             uint32_t weights, uint32_t xs, Ring ring, int* items, int mine, int* turns,
                                             uint32_t ready, uint32_t image) {
  uint32_t bytes = static_cast<uint32_t>(tiles.box * tiles.deep * tiles.segments) * 32;
  uint32_t chunk = static_cast<uint32_t>(tiles.chunk);
  const int stages = tiles.all_stages;
  int blocks = static_cast<int>(gridDim.x), number = static_cast<int>(blockIdx.x);
  if (!chunk) {  // a block has one column tile
    const int before = tiles.by_all_columns.of(number);
    turns += (number - before * tiles.all_columns) * 2, number = before, blocks = tiles.by_all_columns.of(blocks);
  }
  const int together = tiles.together, producers = together == 2 ? blocks : 2 * blocks;
  number += mine * blocks;
  HalfTile tile(tiles, number, 0);
  int left = tile.position(tiles) - tiles.halo, n = tile.sequence(tiles), group = tile.group(tiles);
  wait_for_launches_before();
  next_launch_may_begin();
  if (image && mine == 0) {
    barrier_expect(ready, image);
    copy_bytes(weights, packed + static_cast<int64_t>(tile.column_tile) * (image / 4), image, ready);
  }
  while (tile.item < tiles.items) {
    int asked = 0;
    const uint32_t* from = packed + static_cast<int64_t>(tile.column_tile) * stages * (chunk / 4);
    for (int stage = 0; stage < stages; stage++, from += chunk / 4) {
      barrier_wait(ring.empty(), ring.phase ^ 1);
      if (stage == 0) items[ring.stage] = number;
      barrier_expect(ring.full(), together * bytes + chunk);
      const uint32_t to = xs + static_cast<uint32_t>(ring.stage * together) * bytes;
      copy_box(to, map, left, stage * tiles.deep * 16, group, n, ring.full());
      if (together == 2) {
        const HalfTile second{tile.column_tile, tile.item + 1};
        copy_box(to + bytes, map, second.position(tiles) - tiles.halo, stage * tiles.deep * 16, group,
                 second.sequence(tiles), ring.full());
      }
      if (chunk) copy_bytes(weights + static_cast<uint32_t>(ring.stage) * chunk, from, chunk, ring.full());
      if (stage == 0) asked = atomicAdd(turns, 1);  // behind the copies, which are waited for; on its way meanwhile
      ring.advance();
    }
    number = producers + asked;
    tile = HalfTile(tiles, number, 0);
    left = tile.position(tiles) - tiles.halo, n = tile.sequence(tiles), group = tile.group(tiles);
  }
  no_more_items(ring, items + ring.stage, producers, turns);
}

// The tiles of a warpgroup: sums, then results.
template <bool bf16, int width, int step, int shifts, int period, int gcd>
__device__ __forceinline__ void half_tiles(const ConvArgs& c, const HalfTiles& tiles, const ShiftTable& table,
                                           HalfReader& reader, const HalfPlace& place, uint16_t* staging,
                                           const float* biases, uint16_t* y, const int* items, int mine) {
  int warp = static_cast<int>(threadIdx.x) / 32 % 4, t = threadIdx.x % 4;
  HalfResults to;
  to.length = c.out_length, to.sequence = c.out_channels * c.out_length;
  to.staging = staging, to.pitch = tiles.pitch;
  for (;;) {
    // Read by the lane that gives stages back (racecheck does not see that the others have read before), and one value
    // of the warp's, as in hopper_block.h.
    const int* told = items + reader.wait();
    const int number = __reduce_min_sync(~0u, reader.leads ? *told : 0x7fffffff);
    if (number < 0) break;
    float d[2][width / 2];
    half_sum<bf16, width, step, shifts>(d, tiles, table, reader);
    warpgroup_barrier();  // all have written what was in the staging
    const HalfTile tile(tiles, number, mine);
    const int n = tile.sequence(tiles), group = tile.group(tiles);
    const int first_channel = (tile.column_tile - group * tiles.column_tiles) * tiles.lane_channels * 4;
    const int co = group * tiles.cout + first_channel;
    to.bias = tiles.biases ? biases + co : nullptr, to.channels = tiles.cout - first_channel;
    to.y = y + (static_cast<int64_t>(n) * c.out_channels + co) * c.out_length;
    to.j = int64_t{tile.position(tiles)} * c.stride - c.padding;
    to.sequences = min(tiles.segments, static_cast<int>(c.batch) - n);
    if constexpr (period > 0) finish<period>(d, to.bias, to.channels, t);
    if constexpr (period == 0)
      if (tiles.staging == 0) {
        write_half_any<bf16>(d, tiles, to, place, t);
        continue;
      }
    int rows = tiles.lane_channels * 4, positions = tiles.segment * static_cast<int>(c.stride);
    if constexpr (period > 0)
      stage_half<bf16, period, gcd>(d, to, place, t);
    else
      stage_half_any<bf16>(d, tiles, to, place, t);
    warpgroup_barrier();
    write_half<period * gcd>(to, positions, rows, warp);
  }
}

template <int width, int step, int shifts, int period, int gcd>
__device__ __forceinline__ void hopper_half(const ConvArgs& c, const HalfTiles& tiles, const ShiftTable& table,
                                            const TensorMap& map, const uint32_t* packed, int* turns, const uint16_t* b,
                                            uint16_t* y) {
  CONVSCOPE_DYNAMIC_SHARED_1024(hopper_shared);
  int stages = tiles.stages;
  uint32_t image = tiles.chunk ? 0 : static_cast<uint32_t>(width * tiles.depth * 4);  // bytes that stay
  uint32_t ring_weights = static_cast<uint32_t>(stages * tiles.chunk);
  int ring_values = stages * tiles.deep * tiles.box * tiles.segments * 16;
  const int rings = 3 - tiles.together;
  uint16_t* xs = reinterpret_cast<uint16_t*>(hopper_shared + image + static_cast<uint32_t>(rings) * ring_weights);
  uint16_t* staging = xs + 2 * ring_values;
  uint32_t barriers = shared_address(staging) + static_cast<uint32_t>(2 * tiles.staging);
  uint32_t ready = barriers + 32 * static_cast<uint32_t>(stages);
  int* items = reinterpret_cast<int*>(staging + tiles.staging) + 8 * stages + 4;
  auto* biases = reinterpret_cast<float*>(items + 2 * stages);
  if (threadIdx.x == 0) {
    for (int i = 0; i < rings * stages; i++)
      barrier_init(barriers + 16u * i, 1), barrier_init(barriers + 16u * i + 8, 4 * tiles.together);
    barrier_init(ready, 1);
    barriers_made();
    prefetch_map(map);
  }
  __syncthreads();

  int warp = warp_of_block(), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int mine = warp < 8 ? warp / 4 : warp % 4;  // the warpgroup, or the one for which a warp copies
  const int mine_of_rings = rings == 2 ? mine : 0;
  uint32_t weights = shared_address(hopper_shared) + static_cast<uint32_t>(mine_of_rings) * ring_weights;
  xs += mine_of_rings * ring_values;
  staging += mine * (tiles.staging / 2);
  items += mine_of_rings * stages;
  Ring ring{barriers + static_cast<uint32_t>(mine_of_rings * stages) * 16, stages};
  if (warp >= 8) {
    fewer_registers<40>();
    if (mine < rings && lane == 0)
      half_produce(tiles, map, packed, weights, shared_address(xs), ring, items, mine, turns, ready, image);
  } else {
    more_registers<232>();
    HalfPlace place(tiles, warp, g);
    int s = place.sequence < tiles.segments ? place.sequence : 0;
    const int second = rings == 2 ? 0 : mine * tiles.segments * 16 * tiles.deep * tiles.box;  // tile of the stage
    HalfReader reader(tiles, xs + second + (s * 16 * tiles.deep + t) * tiles.box + tiles.halo + place.position,
                      (weights & 0x3ffff) >> 4 | 1u << 16, ring, lane);
    wait_for_launches_before();
    for (int i = threadIdx.x; i < tiles.biases; i += 256) biases[i] = widened(tiles.bf16, b[i]);
    if (tiles.biases) meet<256>(3);
    if (image) barrier_wait(ready, 0);
    if (tiles.bf16)
      half_tiles<true, width, step, shifts, period, gcd>(c, tiles, table, reader, place, staging, biases, y, items,
                                                         mine);
    else
      half_tiles<false, width, step, shifts, period, gcd>(c, tiles, table, reader, place, staging, biases, y, items,
                                                          mine);
  }
}
#define CONVSCOPE_HALF_BODY(...) hopper_half<__VA_ARGS__>(c, tiles, table, map, packed, turns, b, y);
#else
#define CONVSCOPE_HALF_BODY(...) __trap();
#endif

// The forms that are compiled: columns of a tile; shifts u·step and how many (0: any); s' and gcd(s, d) (0: any).
#define CONVSCOPE_HALF(name, ...)                                                                                   \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                                                   \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ HalfTiles tiles,                             \
           const __grid_constant__ ShiftTable table, const __grid_constant__ TensorMap map, const uint32_t* packed, \
           int* turns, const uint16_t* b, uint16_t* y) {                                                            \
    CONVSCOPE_HALF_BODY(__VA_ARGS__)                                                                                \
  }
#define CONVSCOPE_HALF_FORMS(F)       \
  F(half_128_3_s1, 128, 1, 3, 1, 1)   \
  F(half_64_5by3_s1, 64, 3, 5, 1, 1)  \
  F(half_64_3_s2, 64, 1, 3, 1, 2)     \
  F(half_64_2_s2, 64, 1, 2, 2, 1)     \
  F(half_96_2_s2, 96, 1, 2, 2, 1)     \
  F(half_128_2_s2, 128, 1, 2, 2, 1)   \
  F(half_128_2_s4, 128, 1, 2, 4, 1)   \
  F(half_128_2_s5, 128, 1, 2, 5, 1)   \
  F(half_160_2_s5, 160, 1, 2, 5, 1)   \
  F(half_128_2_s8, 128, 1, 2, 8, 1)   \
  F(half_128_2_s10, 128, 1, 2, 10, 1) \
  F(half_128_7_s4, 128, 1, 7, 4, 1)   \
  F(half_64_7_s4, 64, 1, 7, 4, 1)     \
  F(half_128_any, 128, 0, 0, 0, 0)    \
  F(half_64_any, 64, 0, 0, 0, 0)
CONVSCOPE_HALF_FORMS(CONVSCOPE_HALF)

#ifndef __CUDACC__
#include "hopper_plan.h"

namespace {

using HalfPlan = HopperPlanOf<HalfTiles>;

// Whether a block's warpgroups share stages of weights: where sums are long, so that the L2 cache is asked for most,
// and no block has one tile only. (H200, f16, hot: wavegan.d1 0.125 to 0.085 ms, oobleck.d1 0.065 to 0.058,
// hifigan.u1.b16, dac.d2 and dac.d1 6 to 2 % less, dac.d3 and hifigan.u2 the same; encodec.d2, of 32 steps, 2 % more,
// and hifigan.u1 and encodec.d1, where a block has one tile, 26 to 33 %.)
bool shares_weights(const ConvProblem& p, const HalfTiles& t) {
  constexpr int64_t steps_of_long_sums = 64;
  const int64_t columns = t.column_tiles * p.groups, units = t.items * columns;
  const int64_t turns = ceil_div(units, 2 * hopper_multiprocessors);
  return int64_t{t.rounds} * t.shifts >= steps_of_long_sums && units > hopper_multiprocessors &&
         ceil_div(ceil_div(t.items, 2) * columns, hopper_multiprocessors) <= turns;
}

// Stages, staging and whether the weights stay, with what is left of shared memory.
void half_room(const ConvProblem& p, HalfPlan& h) {
  HalfTiles& t = h.tiles;
  const int64_t all_rounds = t.rounds, x_round = int64_t{t.box} * t.segments * 32;
  const int64_t rows = int64_t{t.segments} * t.lane_channels * 4;
  t.pitch = static_cast<int32_t>(half_pitch(t.segment * p.stride, p.stride));
  int64_t staging = rows * t.pitch * 2;
  if (staging > 72 * 1024) staging = 0;  // many outputs that no tap reaches: value by value
  const int64_t image = int64_t{t.width} * t.depth * 4;
  if (p.bias && p.out_channels > 8192) h.refused = "takes a bias of at most 8192 channels";
  t.biases = static_cast<int32_t>(p.bias ? p.out_channels : 0);
  const int64_t rest = 16 + 4 * t.biases;  // a barrier, the bias
  constexpr int64_t of_a_stage = 20;       // its barriers; which tile begins there
  auto stages_of = [&](int64_t fixed, int64_t stage, int rings = 2) {
    return std::min((hopper_shared_bytes - rest - fixed - 2 * staging) / (rings * stage + 2 * of_a_stage),
                    hopper_stages);
  };
  t.staging = static_cast<int32_t>(staging);
  t.chunk = 0, t.together = 1;
  if (stages_of(image, x_round) >= hopper_few_rounds) {
    // Where a sum is few rounds its first one is waited for, not barriers (H100, f16, hot: hifigan.u4.b16 21.1 µs with
    // four rounds a stage, 19.7 with one; of twelve rounds dac.d4 83.4 and 86.1).
    const bool long_enough = t.rounds > 4 && h.step;
    t.deep = 1;
    for (int32_t deep : {2, 4})
      if (long_enough && t.rounds % deep == 0 && stages_of(image, deep * x_round) >= hopper_few_rounds) t.deep = deep;
    t.stages = static_cast<int32_t>(stages_of(image, t.deep * x_round));
    h.shared = static_cast<size_t>(image + 2 * (t.stages * (t.deep * x_round + of_a_stage) + staging) + rest);
    return;
  }
  auto in_stages = [&](int32_t together) {
    HalfPlan one = h;
    HalfTiles& u = one.tiles;
    u.together = together;
    for (int64_t deep : {4, 2, 1}) {  // the deepest stages of which three fit
      int64_t chunk = ceil_div(deep * u.shifts, 4) * 128 * u.width, stage = chunk + together * deep * x_round;
      u.deep = static_cast<int32_t>(deep), u.chunk = static_cast<int32_t>(chunk);
      u.stages = static_cast<int32_t>(std::max<int64_t>(stages_of(0, stage, 3 - together), 0));
      one.shared =
          static_cast<size_t>((3 - together) * u.stages * stage + 2 * (u.stages * of_a_stage + staging) + rest);
      if (u.stages >= 3 && deep * u.shifts % 4 == 0) break;
    }
    u.rounds = static_cast<int32_t>(ceil_div(all_rounds, u.deep) * u.deep);
    return one;
  };
  const HalfPlan shared = in_stages(2), alone = in_stages(1);
  const bool fits = shared.tiles.stages >= 2;
  h = fits && (t.width > 128 || shares_weights(p, t)) ? shared : alone;
  if (h.tiles.stages < 2) h.refused = "takes stages of weights that fit in shared memory";
}

HalfPlan half_plan_of_width(const ConvProblem& p, int64_t width) {
  if (p.dtype != DType::f16 && p.dtype != DType::bf16) {
    HalfPlan h;
    h.refused = "takes f16 and bf16 only";
    return h;
  }
  HalfPlan h = hopper_segments<HalfTiles>(p, width, 1, 16);
  if (!h.refused.empty()) return h;
  HalfTiles& t = h.tiles;
  t.bf16 = p.dtype == DType::bf16;
  half_room(p, h);
  t.cout = static_cast<int32_t>(p.out_per_group()), t.all_stages = t.rounds / t.deep;
  t.all_columns = static_cast<int32_t>(t.column_tiles * p.groups);
  t.by_all_columns = divisor_of(t.all_columns), t.by_column_tiles = divisor_of(t.column_tiles);
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  if (int64_t{t.items} * t.column_tiles * p.groups > most / 4 || int64_t{t.rounds} * t.shifts * width * 8 > most)
    h.refused = "takes tiles and weights that 32 bits can count";
  return h;
}

HalfPlan half_plan(const ConvProblem& p) {
  int64_t columns = p.out_per_group() * phases_of(p).period;
  HalfPlan narrow = half_plan_of_width(p, 64);
  if (columns <= 64 && narrow.refused.empty()) return narrow;
  const HalfPlan wide = half_plan_of_width(p, 128);
  if (!wide.refused.empty()) return narrow;
  const HalfTiles& t = wide.tiles;
  auto is = [&](int shifts, int period) {
    return wide.step == 1 && t.gcd == 1 && t.shifts == shifts && t.period == period;
  };
  // Of 128 columns five classes leave eight unused, and channels rarely fill them (encodec.d2); 96 channels of two
  // classes are two tiles of 96 columns, or one of 128 and a half empty one (dac.d4).
  const int64_t other = is(2, 5) ? 160 : is(2, 2) ? 96 : 128;
  if (other == 128) return wide;
  const HalfPlan fitting = half_plan_of_width(p, other);
  return fitting.refused.empty() && fitting.tiles.column_tiles * other < t.column_tiles * 128 ? fitting : wide;
}

void plan_half(const ConvProblem& p, Plan& plan) {
  HalfPlan h = half_plan(p);
  HalfTiles& t = h.tiles;
  int64_t images = int64_t{t.column_tiles} * p.groups, words = images * t.width * t.depth;
  if (t.chunk) words = images * (t.rounds / t.deep) * (t.chunk / 4);
  const auto turns = static_cast<size_t>(words * 4);  // behind the weights: who has asked for tiles
  const HopperRows rows{p, static_cast<size_t>(ceil_div(words * 4 + images * 8, 256) * 256)};
  plan.need_workspace(rows.at + rows.bytes());
  rows.copy(plan, ENTRY(half_pad));
  plan.launch(ENTRY(half_pack), {std::min<int64_t>(ceil_div(words, 256), 1056)}, {256})
      .args(p.args(), t, h.table, plan.w(), plan.workspace(), plan.workspace(turns));
  // With weights that stay, a block has one column tile.
  Shape grid{t.chunk ? std::min<int64_t>(hopper_multiprocessors, images * t.items)
                     : std::clamp<int64_t>(hopper_multiprocessors / images, 1, t.items) * images};
  bool done = false;
  auto form = [&](auto entry, int width, int step, int shifts, int period, int gcd) {
    bool fits = !done && width == t.width && (!shifts || (step == h.step && shifts == t.shifts)) &&
                (!period || (period == t.period && gcd == t.gcd && t.staging));
    if (!fits) return;
    done = true;
    plan.launch(entry, grid, {hopper_threads}, h.shared)
        .early()
        .args(p.args(), t, h.table, rows.view(plan, t.box, 16 * t.deep, t.segments), plan.workspace(),
              plan.workspace(turns), plan.b(), plan.y());
  };
#define CONVSCOPE_FORM(name, ...) form(ENTRY(name), __VA_ARGS__);
  CONVSCOPE_HALF_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
}

}  // namespace

CONVSCOPE_KERNEL(hopper_16bit) {
  rung(12);
  idea("f16 and bf16 by wgmma with sums in f32: x as it lies, two channels a word, results in whole sectors");
  activates();
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return half_plan(p).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_half(p, plan); });
}
#endif
