// What the ordered rungs are made of: x in the order in which the tensor cores read it, written by launches of their
// own; and products whose operands both come from shared memory.
//
// Order of x: all sequences' positions follow each other, and 128 of them are a tile. Of a tile, and `halo` rows before
// it, eight channels of a position are 16 bytes, and positions follow each other. So eight neighbouring positions from
// anywhere on are one of the tensor cores' matrices: a shift by e is an address e rows earlier, and one copy of x in
// shared memory serves all shifts.
// - Rows before a sequence are its halo: its own, or the zeros behind the end of the sequence before.
// - Of 16 channels the first eight are numbers 0, 8, 1, 9, 2, 10, 3, 11, as the packed weights have them
//   (pack_stages).
// - Floats become f16 numbers of the tile's scale (hopper_scaled.h has what that is worth), or high and low halves.
// A lane (g, t) of warp w has the sums of positions 32w + 8h + g for h = 0 … 3, half a wgmma 8 rows from the other.
// Source: PTX ISA 9.0, "Canonical layouts" (k as neighbours, no swizzle).
#pragma once
#include "hopper_scaled.h"
#include "hopper_stream.h"
#include "ordered_results.h"

struct OrderedTiles : StreamTiles {
  int32_t pitch, lead;  // rows from sequence to sequence; the first ones of each that are its halo
  int32_t blocks_of_x;  // of a tile, that put x in order
  int32_t copies;       // results leave by the copy engine (rows_by_copies)
  Divisor by_pitch;
};

constexpr int ordered_rows = 144;  // a tile's and its halo's, at most
constexpr int ordered_threads = 2 * ordered_rows;

// Where row r of a tile (its halo's first) is in x: sequence and position. Such that do not exist hold zeros.
struct OrderedRow {
  int n, m;
  bool there;
  __device__ __forceinline__ OrderedRow(const ConvArgs& c, const OrderedTiles& tiles, int tile, int r) {
    const int row = tile * hopper_positions - tiles.halo + r;
    n = tiles.by_pitch.of(max(row, 0)), m = tiles.first - tiles.lead + row - n * tiles.pitch;
    there = row >= 0 && r < tiles.box && n < static_cast<int>(c.batch) && m >= 0 && m < static_cast<int>(c.length);
  }
};

// A thread of the launches that put x in order: a row of its block's tile, and eight of 16 channels. These launches are
// so short that a division is felt.
struct OrderedThread {
  int group, tile, row, octet;
  OrderedRow at;
  __device__ __forceinline__ OrderedThread(const ConvArgs& c, const OrderedTiles& tiles)
      : group(c.groups == 1 ? 0 : static_cast<int>(blockIdx.x) / tiles.items),
        tile(static_cast<int>(blockIdx.x) - group * tiles.items),
        row(static_cast<int>(threadIdx.x) % ordered_rows),
        octet(static_cast<int>(threadIdx.x) / ordered_rows),
        at(c, tiles, tile, row) {}
  // Channels 16·round + 4·octet + 0 … 3, and eight further on.
  template <class T>
  __device__ __forceinline__ void load(T (&v)[8], const ConvArgs& c, const T* x, int round) const {
    const int cin = channels_of_group(c.in_channels, c), first = round * 16 + octet * 4;
    const T* from = x + (static_cast<int64_t>(at.n) * c.in_channels + group * cin + first) * c.length + at.m;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int further = i / 4 * 8 + i % 4;
      v[i] = at.there && first + further < cin ? __ldg(from + further * c.length) : T(0);
    }
  }
  // Where they go, in 16 bytes: x in order has of each group and tile its rounds of 16 channels, of a round its parts
  // (high halves, low ones), of a part two octets of rows.
  __device__ __forceinline__ int64_t place(const OrderedTiles& tiles, int round) const {
    const int64_t before = (static_cast<int64_t>(blockIdx.x) * (tiles.rounds / 2) + round) * tiles.parts * 2;
    return (before + octet) * tiles.box + row;
  }
};

#if defined(CONVSCOPE_HAS_HOPPER)

// Of a tile and a part of its channels the largest value: a block's.
__device__ __forceinline__ void ordered_find(const ConvArgs& c, const OrderedTiles& tiles, const float* x,
                                             float* found) {
  __shared__ float of_warps[ordered_threads / 32];
  wait_for_launches_before();
  next_launch_may_begin();
  const OrderedThread mine(c, tiles);
  float most = 0;
  for (int round = static_cast<int>(blockIdx.y); round < tiles.rounds / 2; round += tiles.blocks_of_x) {
    float v[8];
    mine.load(v, c, x, round);
#pragma unroll
    for (int i = 0; i < 8; i++) most = fmaxf(most, fabsf(v[i]));
  }
  for (int lanes = 16; lanes; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, lanes));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x) return;
  for (int i = 0; i < ordered_threads / 32; i++) most = fmaxf(most, of_warps[i]);
  found[static_cast<int64_t>(blockIdx.x) * tiles.blocks_of_x + blockIdx.y] = most;
}

// A tile's scale, of all that its blocks have found; 1/scale is left for the products.
__device__ __forceinline__ float ordered_scale(const OrderedTiles& tiles, const float* found, float* scales) {
  const float* of_tile = found + static_cast<int64_t>(blockIdx.x) * tiles.blocks_of_x;
  float most = 0;
  for (int i = threadIdx.x % 32; i < tiles.blocks_of_x; i += 32) most = fmaxf(most, __ldcg(of_tile + i));
  for (int lanes = 16; lanes; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, lanes));
  const float scale = scale_of(most, scaled_split_x);
  if (blockIdx.y == 0 && threadIdx.x == 0) scales[blockIdx.x] = inverse(scale);
  return scale;
}

// Floats in order, as f16 numbers of their tile's scale, or as high and low halves.
template <int parts>
__device__ __forceinline__ void ordered_write(const ConvArgs& c, const OrderedTiles& tiles, const float* x,
                                              const float* found, float* scales, uint4* image) {
  next_launch_may_begin();
  const OrderedThread mine(c, tiles);
  int round = static_cast<int>(blockIdx.y);
  float v[8];
  mine.load(v, c, x, round);  // x is there before what is waited for
  wait_for_launches_before();
  const float scale = ordered_scale(tiles, found, scales);
  for (;;) {
    uint32_t high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float a = v[i] * scale, b = v[i + 4] * scale;
      high[i] = high_pair(a, b);
      if constexpr (parts == 2) low[i] = low_pair(a, b, high[i]);
    }
    if (mine.row < tiles.box) {
      uint4* to = image + mine.place(tiles, round);
      to[0] = make_uint4(high[0], high[1], high[2], high[3]);
      if constexpr (parts == 2) to[2 * tiles.box] = make_uint4(low[0], low[1], low[2], low[3]);
    }
    if ((round += tiles.blocks_of_x) >= tiles.rounds / 2) break;
    mine.load(v, c, x, round);
  }
}

// The same of 16-bit numbers, as they are.
__device__ __forceinline__ void ordered_write_16(const ConvArgs& c, const OrderedTiles& tiles, const uint16_t* x,
                                                 uint4* image) {
  wait_for_launches_before();
  next_launch_may_begin();
  const OrderedThread mine(c, tiles);
  for (int round = static_cast<int>(blockIdx.y); round < tiles.rounds / 2; round += tiles.blocks_of_x) {
    uint16_t v[8];
    mine.load(v, c, x, round);
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; i++) words[i] = v[i] | static_cast<uint32_t>(v[i + 4]) << 16;
    if (mine.row < tiles.box) image[mine.place(tiles, round)] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// ---- the products

// What is multiplied: f16 numbers of some scale, whose sums leave as floats, or 16-bit numbers.
enum class Numbers { scaled, f16, bf16 };
template <Numbers numbers>
struct NumbersOf {
  using Element = uint16_t;
};
template <>
struct NumbersOf<Numbers::scaled> {
  using Element = float;
};

// Bytes of x of a tile and stage.
__device__ __forceinline__ uint32_t ordered_bytes(const OrderedTiles& tiles) {
  return static_cast<uint32_t>(tiles.deep * tiles.box * tiles.parts) * 16;
}

__device__ __forceinline__ void ordered_produce(const OrderedTiles& tiles, const uint4* image, const uint32_t* packed,
                                                uint32_t weights, uint32_t xs, Ring ring, int mine) {
  const uint32_t bytes = ordered_bytes(tiles), chunk = static_cast<uint32_t>(tiles.chunk);
  for (StreamWork work(tiles, mine); work.there(tiles); work.next(tiles)) {
    StreamPlace at(tiles, work.unit, 0), second(tiles, work.unit, 1);
    const bool two = tiles.together == 2 && second.there;
    auto tile_of = [&](const StreamPlace& place) {
      const int64_t tile = static_cast<int64_t>(place.group) * tiles.items + (place.m - tiles.first) / hopper_positions;
      return image + (tile * tiles.length + work.first) * (bytes / 16);
    };
    const uint32_t* from = packed + (static_cast<int64_t>(at.column) * tiles.length + work.first) * (chunk / 4);
    const uint4 *x = tile_of(at), *second_x = tile_of(second);
    for (int stage = work.first; stage < work.last;
         stage++, from += chunk / 4, x += bytes / 16, second_x += bytes / 16) {
      barrier_wait<true>(ring.empty(), ring.phase ^ 1);
      barrier_expect(ring.full(), chunk + (two ? 2 : 1) * bytes);
      const uint32_t to = xs + static_cast<uint32_t>(ring.stage * tiles.together) * bytes;
      copy_bytes(to, x, bytes, ring.full());
      if (two) copy_bytes(to + bytes, second_x, bytes, ring.full());
      copy_bytes(weights + static_cast<uint32_t>(ring.stage) * chunk, from, chunk, ring.full());
      ring.advance();
    }
  }
}

// A warpgroup's stages as it multiplies them. rounds: of 16 channels, of a stage, and shifts, where they are known when
// it is compiled: a stage's products are then one group without a branch. (In a loop each turn's products are a group
// of their own to the compiler, and waiting for all but one of them is waiting for all of a stage.) Else 0: each step
// of 16 channels and a shift is a group.
template <bool bf16, int width, int parts, int shifts, int rounds>
struct OrderedStages {
  const OrderedTiles& tiles;
  const ShiftTable& table;
  uint64_t x, weights;  // descriptors of the first stage's: of the halo's first row, of the first step
  Ring ring;
  uint32_t ended = 0;  // a stage whose products are ordered, 0: none

  static __device__ __forceinline__ void give_back(uint32_t stage) {
    if (stage && threadIdx.x % 32 == 0) barrier_arrive(stage);
  }
  __device__ __forceinline__ void advance() { ended = ring.empty(), ring.advance(); }
  // Stages of which the other warpgroup alone has a tile.
  __device__ __forceinline__ void pass(int stages) {
    for (; stages > 0; stages--, ring.advance()) {
      barrier_wait<true>(ring.full(), ring.phase);
      __syncwarp();
      give_back(ring.empty());
    }
  }
  // Orders the products of a step: of part `of_x` of x and part `of_w` of the weights. add: to what is in d.
  __device__ __forceinline__ void step(float (&d)[2][width / 2], int of_x, int of_w, int round, int u, int add) const {
    const auto octet = static_cast<uint32_t>(tiles.box), chunk = static_cast<uint32_t>(tiles.chunk) / 16;
    const uint32_t first = static_cast<uint32_t>(ring.stage * tiles.together * tiles.deep * parts) * octet;
    const uint32_t rows = first + static_cast<uint32_t>((round * parts + of_x) * 2) * octet +
                          static_cast<uint32_t>(tiles.halo - (shifts ? u : table.shift[u]));
    const auto k = static_cast<uint32_t>(round * (shifts ? shifts : tiles.shifts) + u);
    const uint64_t w = weights + (static_cast<uint32_t>(ring.stage) * chunk +
                                  static_cast<uint32_t>(of_w) * (chunk / parts) + k / 4 * (width * 8) + k % 4 * 2);
    product_from<bf16>(d[0], x + rows, w, add);
    product_from<bf16>(d[1], x + rows + 8, w, add);
  }
  __device__ __forceinline__ void order(float (&d)[2][width / 2], int of_x, int of_w, bool first) const {
#pragma unroll
    for (int i = 0; i < rounds * shifts; i++) step(d, of_x, of_w, i / shifts, i % shifts, !first || i);
  }
  // meanwhile() is called when the last products are on their way.
  template <class Meanwhile>
  __device__ __forceinline__ void sum(float (&d)[2][width / 2], int stages, Meanwhile meanwhile) {
#pragma unroll
    for (int i = 0; i < width / 2; i++) d[0][i] = d[1][i] = 0;
    if constexpr (parts == 1 && shifts) {
      for (int stage = 0; stage < stages; stage++) {
        barrier_wait<true>(ring.full(), ring.phase);
        products_begin();
        order(d, 0, 0, false);
        products_commit();
        products_wait<1>();
        give_back(ended);
        advance();
      }
    } else if constexpr (parts == 1) {
      for (int stage = 0; stage < stages; stage++) {
        barrier_wait<true>(ring.full(), ring.phase);
#pragma unroll 1
        for (int round = 0; round < tiles.deep / 2; round++)
#pragma unroll 1
          for (int u = 0; u < tiles.shifts; u++) {
            products_begin();
            step(d, 0, 0, round, u, 1);
            products_commit();
          }
        products_wait<1>();  // the last step's may still run
        give_back(ended);
        advance();
      }
    } else {  // sums of a stage are added in f32 (hopper_3xtf32 says why)
      float of_stage[2][width / 2];
      for (int stage = 0; stage < stages; stage++) {
        barrier_wait<true>(ring.full(), ring.phase);
        if constexpr (shifts) {
          products_begin();
          order(of_stage, 1, 0, true);
          order(of_stage, 0, 1, false);
          order(of_stage, 0, 0, false);
          products_commit();
        } else {
#pragma unroll 1
          for (int round = 0; round < tiles.deep / 2; round++)
#pragma unroll 1
            for (int u = 0; u < tiles.shifts; u++) {
              products_begin();
              step(of_stage, 1, 0, round, u, round + u);
              step(of_stage, 0, 1, round, u, 1);
              step(of_stage, 0, 0, round, u, 1);
              products_commit();
            }
        }
        products_wait<0>();
        advance();
        give_back(ended);
        add_sum(d, of_stage);
      }
      ended = 0;
      meanwhile();
      return;
    }
    meanwhile();
    products_wait<0>();
    give_back(ended), ended = 0;
  }
};

// ---- the block

// The four positions of a lane in their order: wgmma has the second and the third of them the other way round.
template <int columns>
__device__ __forceinline__ void in_order(float (&to)[2][columns], const float (&d)[2][columns]) {
#pragma unroll
  for (int i = 0; i < columns; i++)
    to[i / 2 % 2][i / 4 * 4 + i % 2] = d[0][i], to[i / 2 % 2][i / 4 * 4 + 2 + i % 2] = d[1][i];
}

template <Numbers numbers, int width, int parts, int shifts, int rounds, int period, bool copies>
__device__ __forceinline__ void ordered(const ConvArgs& c, const OrderedTiles& tiles, const ShiftTable& table,
                                        const uint4* image, [[maybe_unused]] const float* scales,
                                        const uint32_t* packed, const typename NumbersOf<numbers>::Element* b,
                                        typename NumbersOf<numbers>::Element* y, float4* sums, int* ready) {
  using Element = typename NumbersOf<numbers>::Element;
  constexpr bool bf16 = numbers == Numbers::bf16;
  CONVSCOPE_DYNAMIC_SHARED_1024(ordered_shared);
  const int stages = tiles.stages, rings = 3 - tiles.together;
  const uint32_t bytes = ordered_bytes(tiles), ring_weights = static_cast<uint32_t>(stages * tiles.chunk);
  const uint32_t shared = shared_address(ordered_shared), xs = shared + static_cast<uint32_t>(rings) * ring_weights;
  const uint32_t all_x = 2 * static_cast<uint32_t>(stages) * bytes, barriers = xs + all_x;
  if (threadIdx.x == 0) {
    for (int i = 0; i < rings * stages; i++)
      barrier_init(barriers + 16u * i, 1), barrier_init(barriers + 16u * i + 8, 4 * tiles.together);
    barriers_made();
  }
  __syncthreads();

  const int warp = warp_of_block(), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int mine = warp < 8 ? warp / 4 : warp % 2;  // the warpgroup, or the one for which a warp copies
  const int of_ring = rings == 2 ? mine : 0;
  const uint32_t weights = shared + static_cast<uint32_t>(of_ring) * ring_weights;
  const uint32_t x = xs + static_cast<uint32_t>(of_ring * stages) * bytes;
  const Ring ring{barriers + static_cast<uint32_t>(of_ring * stages) * 16, stages};
  if (warp >= 8) {
    fewer_registers<24>();
    wait_for_launches_before();
    next_launch_may_begin();
    if (threadIdx.x == 256 || (threadIdx.x == 288 && rings == 2))
      ordered_produce(tiles, image, packed, weights, x, ring, mine);
  } else {
    more_registers<240>();
    const int cout = channels_of_group(c.out_channels, c);
    const uint64_t of_weights =
        (weights & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
    const uint32_t first = x + (rings == 2 ? 0 : static_cast<uint32_t>(mine) * bytes);
    const uint64_t of_x = (first & 0x3ffff) >> 4 | static_cast<uint64_t>(tiles.box) << 16 | uint64_t{256 >> 4} << 32;
    auto* staging =
        reinterpret_cast<Element*>(ordered_shared + (barriers - shared) + rings * stages * 16 + warp * tiles.staging);
    OrderedStages<bf16, width, parts, shifts, rounds> reader{tiles, table, of_x, of_weights, ring};
    wait_for_launches_before();
    for (StreamWork work(tiles, mine); work.there(tiles); work.next(tiles)) {
      const StreamPlace place(tiles, work.unit, mine);
      if (!place.there) {
        reader.pass(work.last - work.first);
        continue;
      }
      const int tile = (place.m - tiles.first) / hopper_positions;
      float d[2][width / 2], of_x = 1, of_w = 1;
      reader.sum(d, work.last - work.first, [&] {
        if constexpr (numbers == Numbers::scaled) {
          of_x = __ldcg(scales + static_cast<int64_t>(place.group) * tiles.items + tile);
          of_w = __ldcg(reinterpret_cast<const float*>(ready + stream_flags));
        }
      });
      if constexpr (numbers == Numbers::scaled) unscale_sums(d, of_x, of_w);
      if (work.last - work.first < tiles.length)
        if (!add_parts<width>(d, tiles, work, sums, ready, mine)) continue;
      float v[2][width / 2];
      in_order(v, d);
      const int skipped = place.group_column * tiles.lane_channels * 4;
      const int channels = cout - skipped, co = place.group * cout + skipped;
      const Element* bias = b ? b + co : nullptr;
      if constexpr (copies) {
        const int row = tile * hopper_positions, n = tiles.by_pitch.of(row), m = row - n * tiles.pitch;
        const int64_t j = static_cast<int64_t>(tiles.first - tiles.lead + m) * c.stride - c.padding;
        if (n < static_cast<int>(c.batch) && m + hopper_positions <= tiles.pitch && j >= 0 &&
            j + hopper_positions * period <= c.out_length) {
          float* to = y + (static_cast<int64_t>(n) * c.out_channels + co) * c.out_length + j;
          float half[2][2][width / 4];  // two turns, so that there is room for stages
#pragma unroll
          for (int i = 0; i < width / 2; i++)
            half[i / (width / 4)][0][i % (width / 4)] = v[0][i], half[i / (width / 4)][1][i % (width / 4)] = v[1][i];
          float* of_warpgroup = staging - warp % 4 * (tiles.staging / 4);
          const int skip = tiles.lane_channels * 2;
          rows_by_copies<period>(half[0], c.out_length, bias, to, channels, of_warpgroup, g, t);
          rows_by_copies<period>(half[1], c.out_length, bias ? bias + skip : nullptr, to + skip * c.out_length,
                                 channels - skip, of_warpgroup, g, t);
          continue;
        }
      }
      if constexpr (copies && period != 4 && period != 8) {
        boxes_read();  // rows go through the memory that copies may still read
        warpgroup_barrier();
      }
      if constexpr (period == 4 && numbers == Numbers::scaled) finish<period>(v, bias, channels, t);
      // The warp's rows may be of several sequences.
      const int row = tile * hopper_positions + warp % 4 * 32;
      int n = tiles.by_pitch.of(row);
      for (int m = row - n * tiles.pitch; m > -32 && n < static_cast<int>(c.batch); n++, m -= tiles.pitch) {
        const int64_t j = static_cast<int64_t>(tiles.first - tiles.lead + m) * c.stride - c.padding;
        Element* rows = y + (static_cast<int64_t>(n) * c.out_channels + co) * c.out_length;
        if constexpr (numbers != Numbers::scaled)
          results_by_rows<bf16, period>(v, c.out_length, bias, rows, j, channels, staging, g, t);
        else if constexpr (period == 4)
          results_direct<period, 1>(v, bias, rows, c.out_length, j, channels, g, t);
        else if constexpr (period == 8) {
          const int after = words_after_boundary(rows + j);
          const bool even_rows = c.out_length % 8 == 0 && after % 4 == 0;
          if (even_rows && j >= 8 && j + 32 * 8 + 8 <= c.out_length) {
            if (after == 0)
              inner_sectors<true>(v, c.out_length, bias, rows + j + g * period, channels, g, t);
            else
              inner_sectors<false>(v, c.out_length, bias, rows + j + g * period, channels, g, t);
          } else {
            results_sectors(v, c.out_length, bias, rows, j + g * period, channels, g, t);
          }
        } else if constexpr (period)
          results_by_rows<period>(v, c.out_length, bias, rows, j, channels, staging, g, t);
        else
          results_any<width, 8>(v, c, tiles, bias, rows, j + g * c.stride, channels, t);
      }
    }
    if constexpr (copies) boxes_read();  // shared memory is read until then
  }
}
#endif
