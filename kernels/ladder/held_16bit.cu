// Rung 15, held_16bit: f16 and bf16 with the weights in registers and x as the tensor cores' other operand.
//
// Idea: wgmma takes 16-bit operands from shared memory with either side as neighbours, so that x could go there as it
// lies in NCL. What stands in the way is the shift: a matrix begins on 16 bytes, and x[m − e] does not. So three warps
// put each tile of x in another order first (ldmatrix, stmatrix with rows and columns exchanged): eight channels of a
// position are neighbours, and a shift by one is the next row. One copy in shared memory serves all shifts.
// - The other operand are the weights, which never change: each lane holds its part of 64 columns in registers for as
//   long as the block lives. Nothing but x is read from shared memory, by the tensor cores themselves; between products
//   there are no fragments to make, as in rung 12.
// - Positions are columns of the sums, so that a lane has neighbours in y.
// - 64 columns or fewer: each warpgroup has tiles of its own. More: the two share the tiles, 64 columns each.
// - Everyone does one thing: a thread orders copies of x, three warps put it in order (every third stage each), two
//   warpgroups multiply, and one or two store: sums go to them by way of shared memory, and leave in whole sectors.
//   Those who share their tiles multiply in turn, so that one stages its sums while the other multiplies.
// - Tiles are given to who asks first, as in rung 12.
// - Where a sector is a small part of a row, as in #79, the two warpgroups' tiles are one row of 256 positions, of
//   which each pair stores whole sectors only: a sector's outputs are computed twice, and none is written by two.
// On one H200, f16: #74 0.24 ms, where rung 12 takes 0.34, #64 0.67 (0.84), #79 0.19 (0.23) (h200-ladder.md has the
// steps).
// Right for: f16 and bf16, finite inputs, the numbers of channels, taps and classes whose forms are compiled (below),
// shifts of x up to 16.
// Needs: sm_90a (wgmma, TMA, stmatrix). Source: PTX ISA 9.0, "Asynchronous warpgroup level matrix instructions", the
// canonical layout without swizzle of matrices whose channels (k) are neighbours.
#include "held_16bit.h"

// The packed weights: for each 64 columns and step (16 channels, a shift) the four words of each of 128 threads.
extern "C" __global__ void __launch_bounds__(256)
    held_pack(const ConvArgs c, const HeldTiles tiles, const __grid_constant__ ShiftTable table, const uint16_t* w,
              uint32_t* packed, int* turns) {
  int id0 = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), threads = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = id0; i < 2 * held_images(tiles, static_cast<int>(c.groups)); i += threads) turns[i] = 0;
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int steps = tiles.rounds * tiles.shifts, all = static_cast<int>(c.groups) * tiles.column_tiles * steps * 512;
  for (int id = id0; id < all; id += threads) {
    int i = id % 4, lane = id / 4 % 32, warp = id / 128 % 4, step = id / 512 % steps, tile = id / 512 / steps;
    int64_t group = tile / tiles.column_tiles;
    HeldRow row(tiles.period, warp, lane / 4, i % 2);
    int64_t co = static_cast<int64_t>(tile % tiles.column_tiles) * tiles.channels + row.channel;
    int64_t along = static_cast<int64_t>(table.shift[step % tiles.shifts]) * tiles.period + row.rho;  // k·d'
    bool is =
        row.channel < tiles.channels && co < cout && along % tiles.back == 0 && along / tiles.back < c.kernel_size;
    uint32_t word = 0;
    for (int k = 0; k < 2; k++) {
      int64_t ci = step / tiles.shifts * 16 + lane % 4 * 2 + i / 2 * 8 + k;
      if (is && ci < cin)
        word |= static_cast<uint32_t>(w[((group * cin + ci) * cout + co) * c.kernel_size + along / tiles.back])
                << 16 * k;
    }
    packed[id] = word;
  }
}

// Rows of x for the copy engine, whose rows begin on 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    held_pad(const __grid_constant__ ConvArgs c, const int64_t pitch, const uint16_t* x, uint16_t* padded) {
  hopper_pad_rows(c, pitch, x, padded);
}

#if defined(CONVSCOPE_HAS_HOPPER)

// Where a warpgroup's results go: of its 64 columns the first output channel, of all groups', and how many there are.
struct HeldColumns {
  int tile, co, channels;  // tile: of 64 columns, of all groups'
  __device__ __forceinline__ HeldColumns(const ConvArgs& c, const HeldTiles& tiles, int image, int mine) {
    tile = tiles.together == 2 ? image : 2 * image + mine;
    int cout = channels_of_group(c.out_channels, c), first = tile % tiles.column_tiles * tiles.channels;
    co = tile / tiles.column_tiles * cout + first, channels = min(cout - first, tiles.channels);
  }
};

// The tiles of a warpgroup: sums, then results into shared memory.
template <bool bf16, int rounds, int shifts, int period, int gcd, bool pairs>
__device__ __forceinline__ void held_tiles(const ConvArgs& c, const HeldTiles& tiles, const ShiftTable& table,
                                           const HeldRoom& room, uint32_t x, const uint4* packed, Ring ring,
                                           const int* items, uint32_t turns, uint32_t results, HeldResult* result,
                                           uint16_t* staging, const float* biases, const uint16_t* y, int image) {
  constexpr int steps = rounds * shifts;
  constexpr bool spins = held_spins(rounds, shifts);
  int warp = static_cast<int>(threadIdx.x) / 32 % 4, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int mine = static_cast<int>(threadIdx.x) / 128, leads = lane == 0;
  hidden(leads);
  const HeldColumns columns(c, tiles, image, mine);
  uint32_t a[steps][4];
#pragma unroll
  for (int s = 0; s < steps; s++) {
    uint4 v = __ldg(packed + (static_cast<int64_t>(columns.tile) * steps + s) * 128 + threadIdx.x % 128);
    a[s][0] = v.x, a[s][1] = v.y, a[s][2] = v.z, a[s][3] = v.w;
  }
  float bias[2], nones[2];
#pragma unroll
  for (int side = 0; side < 2; side++) {
    HeldRow row(period, warp, g, side);
    bias[side] = tiles.biases && row.channel < columns.channels ? biases[columns.co + row.channel] : 0.0f;
    nones[side] = activated(bias[side]);
  }
  // In 16 bytes: where a shift's positions begin; from eight channels to the next eight.
  uint32_t begins[shifts];
#pragma unroll
  for (int u = 0; u < shifts; u++) begins[u] = static_cast<uint32_t>(tiles.halo - table.shift[u]);
  const auto octet = static_cast<uint32_t>(tiles.box);
  if (tiles.together == 2) x += static_cast<uint32_t>(mine) * room.tile;
  uint32_t low = (x & 0x3ffff) >> 4 | octet << 16;
  uint32_t stage_size = static_cast<uint32_t>(tiles.together) * room.tile / 16;
  // Values from a 32-byte boundary to the warpgroup's first row in y, modulo 16; the same of a sequence, a tile.
  const uint32_t length = static_cast<uint32_t>(c.out_length);
  uint32_t first_phase = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(y) >> 1) +
                         static_cast<uint32_t>(columns.co) * length - static_cast<uint32_t>(c.padding) +
                         static_cast<uint32_t>(tiles.first * c.stride);
  const HeldMeeting<pairs ? 384 : 256> meeting{{results, mine}};
  using Meeting = HeldMeetings;
  uint32_t turn = 1;  // phase of the first warpgroup's barrier
  for (;; turn ^= 1) {
    barrier_wait<spins>(ring.full(), ring.phase);
    const int number = told(items + ring.stage, leads);
    if (number < 0) break;
    // Where both have the same x they multiply in turn: one stores its sums while the other multiplies.
    if (tiles.together == 1) barrier_wait<spins>(turns + 8u * mine, mine ? turn ^ 1 : turn);
    float d[64];
    uint32_t ended = 0;
#pragma unroll
    for (int round = 0; round < rounds; round += 2) {
      if (round) barrier_wait<spins>(ring.full(), ring.phase);
      products_begin();
      uint32_t at = low + static_cast<uint32_t>(ring.stage) * stage_size;
#pragma unroll
      for (int half = 0; half < 2; half++)
#pragma unroll
        for (int u = 0; u < shifts; u++) {
          uint64_t matrix = uint64_t{128 >> 4} << 32 | (at + begins[u] + static_cast<uint32_t>(half) * 2 * octet);
          if (round + half + u == 0)
            product_held<bf16, false>(d, a[0], matrix);
          else
            product_held<bf16, true>(d, a[(round + half) * shifts + u], matrix);
        }
      products_commit();
      if (round) {
        products_wait<1>();
        if (leads) barrier_arrive(ended);
      }
      ended = ring.empty();
      ring.advance();
    }
    if (leads && tiles.together == 1) barrier_arrive(turns + 8u * (mine ^ 1));
    // While products run: where the rows begin.
    int item = pairs ? number : number * tiles.together + (tiles.together == 2 ? mine : 0), n = item / tiles.tiles;
    int tile = item - n * tiles.tiles;
    uint32_t phase =
        first_phase + static_cast<uint32_t>(n) * static_cast<uint32_t>(c.out_channels) * length +
        static_cast<uint32_t>(tile * (pairs ? HeldPairs<period * gcd>::positions : hopper_positions) * period * gcd);
    meeting.wait(Meeting::read, turn);
    products_wait<0>();
    if (leads) barrier_arrive(ended);
#pragma unroll
    for (int i = 0; i < 64; i++) d[i] = activated(d[i] + bias[i / 2 % 2]);
    if constexpr (pairs) {
      if (mine == 0)
        stage_held<bf16, period, gcd, true>(d, tiles, staging, phase, length, nones, warp, g, t);
      else
        stage_held<bf16, period, gcd, false>(d, tiles, staging, phase, length, nones, warp, g, t);
    } else {
      stage_held<bf16, period, gcd, false>(d, tiles, staging, phase, length, nones, warp, g, t);
    }
    if (threadIdx.x % 128 == 0) *result = {n, tile};
    meeting.arrive(Meeting::staged);
  }
  meeting.wait(Meeting::read, turn);
  if (threadIdx.x % 128 == 0) *result = {-1, 0};
  meeting.arrive(Meeting::staged);
}

// Results from shared memory to y, of warpgroup `only`, or of both in turn (−1).
template <int period, int gcd, int words>
__device__ __forceinline__ void held_store(const ConvArgs& c, const HeldTiles& tiles, uint32_t results,
                                           const HeldResult* result, const uint16_t* staging, uint16_t* y, int image,
                                           int only, int warp, int lane) {
  constexpr int stride = period * gcd;
  using Meeting = HeldMeeting<256>;
  const HeldColumns columns[2] = {{c, tiles, image, 0}, {c, tiles, image, 1}};
  const int64_t sequence = c.out_channels * c.out_length;
  const int64_t first = int64_t{tiles.first} * stride - c.padding;
  bool going[2] = {only != 1, only != 0};
  for (int mine = 0; mine < 2; mine++)  // there is room
    if (going[mine]) Meeting{{results + 16u * mine, mine}}.arrive(Meeting::read, true);
  for (uint32_t phase = 0; going[0] || going[1]; phase ^= 1)
#pragma unroll
    for (int mine = 0; mine < 2; mine++) {
      if (!going[mine]) continue;
      const Meeting meeting{{results + 16u * mine, mine}};
      meeting.wait(Meeting::staged, phase);
      const int n = told(&result[mine].n, 1), tile = told(&result[mine].tile, 1);
      going[mine] = n >= 0;
      if (n < 0) continue;
      auto read = [&] { meeting.arrive(Meeting::read); };
      if (n >= static_cast<int>(c.batch) || columns[mine].channels <= 0) {
        read();
        continue;
      }
      const int64_t j = first + tile * int64_t{hopper_positions * stride};
      const HeldRows<stride, 64 / period, words> rows{staging + mine * (tiles.staging / 2), tiles.pitch,
                                                      y + columns[mine].co * c.out_length + n * sequence + j,
                                                      c.out_length, columns[mine].channels};
      if (j >= 0 && j + rows.positions <= c.out_length) {
        if (gcd == 1 && rows.even())  // of two, registers are spilled
          rows.template store<true>(warp, lane, read);
        else
          rows.template store<false>(warp, lane, read);
      } else {
        rows.store(warp, lane, static_cast<int>(max(int64_t{0}, -j)),
                   static_cast<int>(min(static_cast<int64_t>(rows.positions), c.out_length - j)));
        read();
      }
    }
}

// The same of pairs: both storing warpgroups have every row's part of both tiles, each warp every eighth row.
template <int period, int gcd>
__device__ __forceinline__ void held_store_pairs(const ConvArgs& c, const HeldTiles& tiles, uint32_t results,
                                                 const HeldResult* result, const uint16_t* staging, uint16_t* y,
                                                 int image, int warp, int lane) {
  constexpr int stride = period * gcd;
  using Meeting = HeldMeeting<384>;
  using Pairs = HeldPairs<stride>;
  const HeldColumns columns{c, tiles, image, 0};
  const int64_t sequence = c.out_channels * c.out_length, first = int64_t{tiles.first} * stride - c.padding;
  const Meeting meetings[2] = {{{results, 0}}, {{results + 16u, 1}}};
  for (const Meeting& m : meetings) m.arrive(Meeting::read, true);  // there is room
  for (uint32_t phase = 0;; phase ^= 1) {
    for (const Meeting& m : meetings) m.wait(Meeting::staged, phase);
    const int n = told(&result[0].n, 1), tile = told(&result[0].tile, 1);
    if (n < 0) break;
    const int64_t j = first + tile * int64_t{Pairs::own};
    const HeldPairRows<stride, 64 / period> rows{staging, tiles.pitch, y + columns.co * c.out_length + n * sequence + j,
                                                 c.out_length, columns.channels};
    auto read = [&] {
      for (const Meeting& m : meetings) m.arrive(Meeting::read);
    };
    const bool begins = tile == 0, ends = tile + 1 == tiles.tiles;
    if (!begins && !ends && j + Pairs::all <= c.out_length) {
      rows.store(warp, lane, read);
    } else {
      rows.store(warp, lane, static_cast<int>(max(int64_t{0}, -j)),
                 static_cast<int>(min(static_cast<int64_t>(Pairs::all), c.out_length - j)), begins, ends);
      read();
    }
  }
}

template <int rounds, int shifts, int period, int gcd, int halo, bool pairs>
__device__ __forceinline__ void held(const ConvArgs& c, const HeldTiles& tiles, const ShiftTable& table,
                                     const TensorMap& map, const uint4* packed, int* turns, const uint16_t* b,
                                     uint16_t* y) {
  CONVSCOPE_DYNAMIC_SHARED_1024(held_shared);
  constexpr HeldCrew crew = held_crew(rounds, shifts, period);
  static_assert(crew.taken() <= crew.given(), "who asks for more registers than the launch got waits for ever");
  constexpr bool spins = held_spins(rounds, shifts);
  const HeldRoom room(tiles);
  const uint32_t shared = shared_address(held_shared), barriers = shared + room.barriers;
  const int raws = tiles.raw_stages, stages = tiles.stages;
  int* raw_items = reinterpret_cast<int*>(held_shared + room.items);
  auto* biases = reinterpret_cast<float*>(held_shared + room.biases);
  auto* staging = reinterpret_cast<uint16_t*>(held_shared + room.staging);
  if (threadIdx.x == 0) {
    for (int i = 0; i < raws + stages; i++) {  // x as it lies, in order
      barrier_init(barriers + 16u * i, 1);
      barrier_init(barriers + 16u * i + 8, i < raws ? 1 : 8);
    }
    for (int i = 0; i < 4; i++)  // results, where racecheck is to see them
      barrier_init(barriers + 16u * (raws + stages) + 8u * i, pairs && i % 2 ? 256 : 128);
    for (int i = 0; i < 2; i++) barrier_init(barriers + 16u * (raws + stages + 2) + 8u * i, 4);  // turns
    barriers_made();
    prefetch_map(map);
  }
  if (tiles.biases) {
    wait_for_launches_before();
    for (int i = threadIdx.x; i < tiles.biases; i += crew.threads) biases[i] = widened(tiles.bf16, b[i]);
  }
  __syncthreads();
  int warp = warp_of_block(), lane = threadIdx.x % 32;
  int images = held_images(tiles, static_cast<int>(c.groups)), image = static_cast<int>(blockIdx.x) % images;
  Ring raw{barriers, raws}, ordered{barriers + 16u * raws, stages};
  int* items = raw_items + raws;
  auto* result = reinterpret_cast<HeldResult*>(items + stages);
  const uint32_t results = barriers + 16u * (raws + stages);
  if (warp >= 12) {
    fewer_registers<crew.stores>();
    wait_for_launches_before();
    if constexpr (pairs)
      held_store_pairs<period, gcd>(c, tiles, results, result, staging, y, image, warp - 12, lane);
    else
      held_store<period, gcd, crew.words>(c, tiles, results, result, staging, y, image,
                                          crew.storing == 2 ? warp / 4 - 3 : -1, warp % 4, lane);
  } else if (warp >= 8) {
    fewer_registers<crew.orders>();
    const int groups = static_cast<int>(c.groups), blocks = static_cast<int>(gridDim.x) / images;
    wait_for_launches_before();
    next_launch_may_begin();
    if (threadIdx.x == 256)
      held_produce<spins, pairs ? HeldPairs<period * gcd>::positions : 0>(
          tiles, map, shared + room.raw, room.tile, raw, raw_items, turns + 2 * image, image / (images / groups),
          blocks, static_cast<int>(blockIdx.x) / images);
    else if (warp > 8)
      held_order<halo, spins>(tiles, room, shared, raw, ordered, raw_items, items, warp - 9, lane);
  } else {
    more_registers<crew.products>();
    const int mine = warp / 4;
    wait_for_launches_before();
    staging += mine * (pairs ? hopper_positions * period * gcd : tiles.staging / 2);
    auto run = [&](auto bf16) {
      held_tiles<decltype(bf16)::value, rounds, shifts, period, gcd, pairs>(
          c, tiles, table, room, shared + room.image, packed, ordered, items, results + 32, results + 16u * mine,
          result + mine, staging, biases, y, image);
    };
    if (tiles.bf16)
      run(Count<true>{});
    else
      run(Count<false>{});
  }
}
#define CONVSCOPE_HELD_BODY(...) held<__VA_ARGS__>(c, tiles, table, map, packed, turns, b, y);
#else
#define CONVSCOPE_HELD_BODY(...) __trap();
#endif

// The forms that are compiled: rounds of 16 input channels and shifts; s' and gcd(s, d); positions of the halo; whether
// tiles are paired.
#define CONVSCOPE_HELD(name, ...)                                                                                \
  extern "C" __global__ void __launch_bounds__(held_crew(__VA_ARGS__).threads, 1)                                \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ HeldTiles tiles,                          \
           const __grid_constant__ ShiftTable table, const __grid_constant__ TensorMap map, const uint4* packed, \
           int* turns, const uint16_t* b, uint16_t* y) {                                                         \
    CONVSCOPE_HELD_BODY(__VA_ARGS__)                                                                             \
  }
#define CONVSCOPE_HELD_FORMS(F)              \
  F(held_8by3_s1, 8, 3, 1, 1, 8, false)      \
  F(held_2by5_s1, 2, 5, 1, 1, 16, false)     \
  F(held_2by3_s2, 2, 3, 1, 2, 8, false)      \
  F(held_2by3_s2_pairs, 2, 3, 1, 2, 8, true) \
  F(held_4by2_s2, 4, 2, 2, 1, 8, false)      \
  F(held_8by2_s2, 8, 2, 2, 1, 8, false)      \
  F(held_12by2_s2, 12, 2, 2, 1, 8, false)    \
  F(held_4by2_s4, 4, 2, 4, 1, 8, false)      \
  F(held_8by2_s4, 8, 2, 4, 1, 8, false)
CONVSCOPE_HELD_FORMS(CONVSCOPE_HELD)

#ifndef __CUDACC__
#include "hopper_plan.h"

namespace {

using HeldPlan = HopperPlanOf<HeldTiles>;

struct HeldForm {
  int rounds, shifts, period, gcd, halo;
  bool pairs;
};
constexpr HeldForm held_forms[] = {
#define CONVSCOPE_FORM(name, ...) {__VA_ARGS__},
    CONVSCOPE_HELD_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
};

// Of a warp's store of results into shared memory: how many words lie in the fullest bank, when rows begin `length`
// values apart in y.
int held_conflicts(const HeldTiles& t, int64_t length, int64_t stride) {
  int count[32] = {};
  for (int g = 0; g < 8; g++)
    for (int lane = 0; lane < 4; lane++) {
      HeldRow row(t.period, 0, g, 0);
      const int64_t begin = row.channel * t.pitch + row.channel * length % 16 + row.rho;
      int64_t word = begin / 2 + (stride == 1 ? lane : lane * stride + row.channel % 2 * stride / 2);
      if (stride == 1 && lane + begin / 2 % 4 >= 4) word -= 4;
      count[(word + 32) % 32]++;
    }
  return *std::max_element(count, count + 32);
}

HeldPlan held_plan(const ConvProblem& p) {
  HeldPlan h;
  if (p.dtype != DType::f16 && p.dtype != DType::bf16) return h.refused = "takes f16 and bf16 only", h;
  HopperPlan geometry = hopper_geometry(p, 64, 1, 16);
  h = {{}, geometry.table, geometry.step, 0, geometry.refused};
  if (!h.refused.empty()) return h;
  HeldTiles& t = h.tiles;
  static_cast<HopperTiles&>(t) = geometry.tiles;
  t.rounds += t.rounds % 2;
  t.bf16 = p.dtype == DType::bf16;
  t.halo = static_cast<int32_t>(ceil_div(h.table.shift[t.shifts - 1], 8) * 8);
  bool compiled = false, pairs = false;
  for (const auto& f : held_forms) {
    const bool is =
        f.rounds == t.rounds && f.shifts == t.shifts && f.period == t.period && f.gcd == t.gcd && f.halo == t.halo;
    compiled |= is, pairs |= is && f.pairs;
  }
  if (!compiled)
    return h.refused = "takes the channels, shifts and classes it is compiled for, not " +
                       std::to_string(t.rounds * 16) + " channels with " + std::to_string(t.shifts) +
                       " shifts, up to " + std::to_string(h.table.shift[t.shifts - 1]) + ", and " +
                       std::to_string(t.period * t.gcd) + " classes",
           h;
  if (p.bias && p.out_channels > 4096) return h.refused = "takes a bias of at most 4096 channels", h;
  t.biases = static_cast<int32_t>(p.bias ? p.out_channels : 0);
  t.box = static_cast<int32_t>(hopper_positions) + t.halo;
  t.channels = 64 / t.period;
  t.column_tiles = static_cast<int32_t>(ceil_div(p.out_per_group(), t.channels));
  t.together = t.column_tiles == 1 ? 2 : 1;
  t.pairs = pairs && t.together == 2;
  if (t.together == 1) t.column_tiles += t.column_tiles % 2;
  const int64_t tile = hopper_positions * p.stride;
  if (t.pairs) {
    const int64_t positions = (p.out_length() - 1 + p.padding) / p.stride - t.first + 1, more = 16 / p.stride;
    t.tiles = static_cast<int32_t>(std::max<int64_t>(1, ceil_div(positions - more, 2 * hopper_positions - more)));
    t.items = static_cast<int32_t>(t.tiles * p.batch);
  }
  t.pitch = static_cast<int32_t>((t.pairs ? 2 : 1) * tile + 16);
  HeldTiles best = t;
  for (const int32_t narrow = t.pitch; t.pitch < narrow + 32; t.pitch += 8)
    if (held_conflicts(t, p.out_length(), p.stride) < held_conflicts(best, p.out_length(), p.stride)) best = t;
  t = best;
  t.staging = t.channels * t.pitch * (t.pairs ? 1 : 2);  // HeldRoom has two of it
  // Stages of both kinds in turn, as many as fit; few in #74's form, the one of 32 words (on an H200 0.240 ms, with
  // twice as many of the first kind 0.243).
  t.raw_stages = t.stages = held_orders;
  const int32_t most_stages = held_crew(t.rounds, t.shifts, t.period).words == 32 ? held_orders : 9;
  auto fits = [&] { return HeldRoom(t).all <= hopper_shared_bytes; };
  if (!fits()) return h.refused = "takes results that fit in shared memory", h;
  for (bool more = true; more;) {
    more = false;
    for (int32_t* count : {&t.raw_stages, &t.stages}) {
      *count += held_orders;
      if (*count <= most_stages && fits())
        more = true;
      else
        *count -= held_orders;
    }
  }
  h.shared = HeldRoom(t).all;
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  if (int64_t{t.column_tiles} * p.groups * t.rounds * t.shifts * 512 > most)
    return h.refused = "takes weights that 32 bits can count", h;
  return h;
}

void plan_held(const ConvProblem& p, Plan& plan) {
  HeldPlan h = held_plan(p);
  const HeldTiles& t = h.tiles;
  const int64_t images = held_images(t, static_cast<int>(p.groups));
  const int64_t words = int64_t{t.column_tiles} * p.groups * t.rounds * t.shifts * 512;
  const auto turns = static_cast<size_t>(words * 4);  // behind the weights: who has asked for tiles
  const HopperRows rows{p, static_cast<size_t>(ceil_div(words * 4 + images * 8, 256) * 256)};
  plan.need_workspace(rows.at + rows.bytes());
  rows.copy(plan, ENTRY(held_pad));
  plan.launch(ENTRY(held_pack), {std::min<int64_t>(ceil_div(words, 256), 1056)}, {256})
      .args(p.args(), t, h.table, plan.w(), plan.workspace(), plan.workspace(turns));
  const int64_t items = t.pairs ? t.items : ceil_div(t.items, t.together);
  Shape grid{std::clamp<int64_t>(hopper_multiprocessors / images, 1, items) * images};
  auto form = [&](auto entry, int rounds, int shifts, int period, int gcd, int halo, bool pairs) {
    if (rounds != t.rounds || shifts != t.shifts || period != t.period || gcd != t.gcd || halo != t.halo ||
        pairs != t.pairs)
      return;
    plan.launch(entry, grid, {held_crew(rounds, shifts, period).threads}, h.shared)
        .early()
        .args(p.args(), t, h.table, rows.view(plan, t.box, held_channels, 1), plan.workspace(), plan.workspace(turns),
              plan.b(), plan.y());
  };
#define CONVSCOPE_FORM(name, ...) form(ENTRY(name), __VA_ARGS__);
  CONVSCOPE_HELD_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
}

}  // namespace

CONVSCOPE_KERNEL(held_16bit) {
  rung(15);
  idea(
      "f16 and bf16: weights stay in registers, x goes to the tensor cores in an order in which a shift is an address");
  activates();
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return held_plan(p).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_held(p, plan); });
}
#endif
