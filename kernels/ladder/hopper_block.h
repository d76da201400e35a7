// What Hopper's rungs share: copies, tensor-core products, the block with its roles. Each rung brings how it sums.
//
// With s' = s/gcd(s, d) and d' = d/gcd(s, d), tap k takes x[m − e] to output class ρ, where k·d' = e·s' + ρ: all
// classes together are one matrix product, positions m × (channels, classes), summed over input channels and shifts e.
// Source: PTX ISA 9.0, "Asynchronous warpgroup level matrix instructions" and "Tensor maps"; the producer and consumer
// roles follow CUTLASS's ping-pong kernels (NVIDIA, efficient_gemm.md).
#pragma once
#include "convscope/wgmma.h"
#include "divisor.h"
#include "hopper_blocks.h"
#include "hopper_boxes.h"
#include "phases.h"

struct HopperTiles {
  int32_t first, tiles, items;   // first position m, tiles of 128 positions in a sequence, items of one column tile
  int32_t shifts, halo, box;     // shifts e; positions of x before a tile; positions of x in a tile
  int32_t rounds, deep, stages;  // rounds of 8 input channels, of one stage; stages of x of a warpgroup
  int32_t period, gcd, back;     // s', gcd(s, d), d'
  int32_t lane_channels, column_tiles;  // output channels a lane has; column tiles of a group
  int32_t width, depth;                 // columns and (padded) rows of the packed weights of a tile
  int32_t parts;                        // images of the weights: one, or high and low halves
  int32_t chunk;                        // bytes of the weights of a stage, 0: they are resident
  int32_t staging;                      // bytes of a warpgroup's results in shared memory, 0: they leave from registers
  int32_t zero;                         // 0, which the compiler does not know
  int32_t boxes;                        // whether the copy engine writes the results
  Divisor by_tiles;
  int32_t biases;  // kept in shared memory as floats (rungs 8, 9: of a column tile); 0: none
};
struct ShiftTable {
  int16_t shift[60];
};

// How results leave: from registers; by way of shared memory, stored by warps or written by the copy engine. sectors:
// staged, and tiles overlap so that no sector is written by two of them. blocks: likewise, no 256 bytes, and stored
// while the next tile's products run (hopper_blocks.h).
enum class Leave { registers, staged, boxes, sectors, blocks };

// Positions of a tile until the next one begins.
template <Leave leave>
constexpr int own_positions = leave == Leave::blocks    ? block_positions
                              : leave == Leave::sectors ? 124
                                                        : hopper_positions;

constexpr int hopper_threads = 384;  // two warpgroups that multiply, one whose four warps copy for them

// What the products of rungs 8 and 9 are given.
#define CONVSCOPE_HOPPER_PARAMETERS                                                                            \
  const __grid_constant__ ConvArgs c, const __grid_constant__ HopperTiles tiles,                               \
      const __grid_constant__ ShiftTable table, const __grid_constant__ TensorMap map, const uint32_t *packed, \
      int *turns, const float *b, float *y

// Rows of x with `pitch` floats each, for the copy engine, whose rows begin on 16 bytes: where L is no multiple of 4.
template <class T>
__device__ __forceinline__ void hopper_pad_rows(const ConvArgs& c, int64_t pitch, const T* x, T* padded) {
  wait_for_launches_before();
  next_launch_may_begin();
  for (int64_t row = blockIdx.x; row < c.batch * c.in_channels; row += gridDim.x)
    for (int64_t i = threadIdx.x; i < pitch; i += blockDim.x)
      padded[row * pitch + i] = i < c.length ? x[row * c.length + i] : T(0);
}
#define CONVSCOPE_HOPPER_PAD(name)                                                                   \
  extern "C" __global__ void __launch_bounds__(256)                                                  \
      name(const __grid_constant__ ConvArgs c, const int64_t pitch, const float* x, float* padded) { \
    hopper_pad_rows(c, pitch, x, padded);                                                            \
  }

// ---- the weights as the tensor cores read them: a launch of its own

#include "convscope/mma.h"

// The weight of input channel ci (of its group), shift number u and column `column` of a column tile; 0 where there is
// none. Columns count as lanes get them.
template <class T>
__device__ __forceinline__ T hopper_weight_of(const ConvArgs& c, const HopperTiles& tiles, const ShiftTable& table,
                                              const T* w, int64_t tile, int column, int64_t ci, int u) {
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups, group = tile / tiles.column_tiles;
  int q = column / 8 * 2 + column % 2, channel = q / tiles.period, rho = q % tiles.period;
  int64_t co = (tile % tiles.column_tiles * tiles.lane_channels + channel) * 4 + column % 8 / 2;
  int64_t along = static_cast<int64_t>(table.shift[u]) * tiles.period + rho;  // k·d'
  bool is = ci < cin && channel < tiles.lane_channels && co < cout && along % tiles.back == 0 &&
            along / tiles.back < c.kernel_size;
  return is ? w[((group * cin + ci) * cout + co) * c.kernel_size + along / tiles.back] : T(0);
}

// Element e of an image as the tensor cores read it: rows of 32 k values (128 bytes) a column, 16-byte pieces exchanged
// by the column's number (the 128-byte swizzle).
struct ImagePlace {
  int column, k;
};
__device__ __forceinline__ ImagePlace image_place(int e, int width) {
  int column = e / 32 % width;
  return {column, e / (32 * width) * 32 + ((e / 4 % 8) ^ (column % 8)) * 4 + e % 4};
}

// Of a column tile's resident image: k counts input channels within (round, shift).
__device__ __forceinline__ float hopper_weight(const ConvArgs& c, const HopperTiles& tiles, const ShiftTable& table,
                                               const float* w, int64_t tile, int e) {
  ImagePlace at = image_place(e, tiles.width);
  return hopper_weight_of(c, tiles, table, w, tile, at.column,
                          static_cast<int64_t>(at.k / 8 / tiles.shifts) * 8 + at.k % 8, at.k / 8 % tiles.shifts);
}

// Of so many channels those of a group: a 64-bit division is a call of a hundred instructions, before anything begins.
__device__ __forceinline__ int channels_of_group(int64_t all, const ConvArgs& c) {
  return c.groups == 1 ? static_cast<int>(all) : static_cast<int>(all) / static_cast<int>(c.groups);
}

// Nobody has asked for an item yet (produce()): what packing does first; every launch leaves it so for the next.
__device__ __forceinline__ void hopper_no_turns(const ConvArgs& c, const HopperTiles& tiles, int* turns) {
  next_launch_may_begin();
  int all = 2 * tiles.column_tiles * static_cast<int>(c.groups);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < all; i += gridDim.x * blockDim.x)
    turns[i] = 0;
}

#if defined(CONVSCOPE_HAS_HOPPER)

// As one value for the warp: what follows from it is kept in uniform registers, where descriptors have to be anyway.
__device__ __forceinline__ int warp_of_block() { return __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0); }

// ---- the producer: one thread that orders copies

// A warpgroup's stages of x: which is next, and in which of its two phases. Each has two barriers, full (copied) and
// empty (read by the four warps).
struct Ring {
  uint32_t barriers;
  int stages, stage = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ uint32_t full() const { return barriers + 16 * static_cast<uint32_t>(stage); }
  __device__ __forceinline__ uint32_t empty() const { return full() + 8; }
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, phase ^= 1;
  }
};

// Nobody asks any more: zeros for the next launch.
__device__ __forceinline__ void forget_turns(int* turns) {
#if defined(__CUDACC__)
  turns[0] = turns[1] = 0;
#else  // the emulator's blocks run on threads whose additions were atomic, and ordered nothing
  __atomic_store_n(turns, 0, __ATOMIC_RELAXED), __atomic_store_n(turns + 1, 0, __ATOMIC_RELAXED);
#endif
}

// After the last item: the consumer is told so, in *item.
__device__ __forceinline__ void no_more_items(const Ring& ring, int* item, int producers, int* turns) {
  barrier_wait(ring.empty(), ring.phase ^ 1);
  *item = -1;
  barrier_arrive(ring.full());
  if (atomicAdd(turns + 1, 1) == producers - 1) forget_turns(turns);
}
// Which item is whose: the first ones by number, each further one to who asks first. Multiprocessors do not get the
// memory evenly, and who is ahead would wait at the end (#74: 19 % of the time) and drift from its neighbours, whose
// halos of x it shares in the L2 cache. turns: asked so far, and how many have been told that there is none left; the
// last of them leaves zeros for the next launch.
template <int own = hopper_positions>
__device__ __forceinline__ void produce(const HopperTiles& tiles, const TensorMap& map, uint32_t xs, Ring ring,
                                        int* items, int group, int item, int producers, int* turns) {
  uint32_t bytes = static_cast<uint32_t>(tiles.box * tiles.deep) * 32;
  while (item < tiles.items) {
    int asked = 0, n = tiles.by_tiles.of(item), left = tiles.first + (item - n * tiles.tiles) * own - tiles.halo;
    for (int round = 0; round < tiles.rounds; round += tiles.deep) {
      barrier_wait(ring.empty(), ring.phase ^ 1);
      if (round == 0) items[ring.stage] = item;
      barrier_expect(ring.full(), bytes);
      copy_box(xs + static_cast<uint32_t>(ring.stage) * bytes, map, left, round * 8, group, n, ring.full());
      if (round == 0) asked = atomicAdd(turns, 1);  // behind the copy, which is waited for; on its way during this item
      ring.advance();
    }
    item = producers + asked;
  }
  no_more_items(ring, items + ring.stage, producers, turns);
}

// ---- what a consumer reads

// Where the tensor cores find 8 k values of the weights: a 128-byte-swizzled, K-major matrix (PTX ISA,
// "Matrix-descriptor").
template <int width>
__device__ __forceinline__ uint64_t weights_at(uint64_t base, int k) {
  return base + static_cast<uint64_t>(static_cast<uint32_t>(k / 4 * width * 8 + k % 4 * 2));
}

// A round's A operand, for each shift and each of the two 64-row halves.
template <int shifts>
using Fragments = uint32_t[shifts][2][4];

// What a lane reads of a round, for all shifts u·step: windows of neighbours of its positions in channels t and t + 4
// (and so on, `rows` of them).
// A lane has four positions h, rows g and g + 8 of the two 64-row halves. Neighbouring positions are `near` at a time:
// 8·near·(h / near) + near·g + h % near, so that the outputs of near positions are four neighbours, and those of the
// lanes g follow them.
template <int step, int shifts, int near, int rows = 2>
struct Window {
  static constexpr int before = ((shifts - 1) * step + near - 1) / near * near, size = before + near, runs = 4 / near;
  float v[rows][runs][size];

  // Position h of the lane, shift u, of the first (r = 0) or second channel.
  __device__ __forceinline__ float at(int r, int h, int u) const {
    return v[r][h / near][before + h % near - u * step];
  }

  __device__ __forceinline__ void load(const float* x, int box) {
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
      for (int run = 0; run < runs; run++)
#pragma unroll
        for (int i = 0; i < size; i += near) {
          const float* from = x + r * 4 * box + 8 * near * run - before + i;
          if constexpr (near == 4) {
            float4 p = *reinterpret_cast<const float4*>(from);
            v[r][run][i] = p.x, v[r][run][i + 1] = p.y, v[r][run][i + 2] = p.z, v[r][run][i + 3] = p.w;
          } else if constexpr (near == 2) {
            float2 p = *reinterpret_cast<const float2*>(from);
            v[r][run][i] = p.x, v[r][run][i + 1] = p.y;
          } else {
            v[r][run][i] = *from;
          }
        }
  }
};

// What a window holds of n shifts from `first` on, as the products take it in TF32.
template <int n, class AnyWindow>
__device__ __forceinline__ void round_window(uint32_t (&a)[n][2][4], const AnyWindow& window, int first = 0) {
#pragma unroll
  for (int r = 0; r < 2; r++)
#pragma unroll
    for (int h = 0; h < 4; h++)
#pragma unroll
      for (int u = 0; u < n; u++) a[u][h / 2][r * 2 + h % 2] = nearly_tf32(window.at(r, h, first + u));
}

// Rounds of 8 input channels one after the other, out of the ring's stages.
template <int step, int shifts, int near>
struct Rounds {
  const HopperTiles& tiles;
  const float* x;  // the lane's place in the first stage
  Ring& ring;
  Window<step, shifts, near> window;
  const float* from = nullptr;
  int sub = 0;  // round of the stage

  __device__ __forceinline__ void load() {
    if (sub == 0) {
      barrier_wait(ring.full(), ring.phase);
      from = x + ring.stage * tiles.deep * 8 * tiles.box;
    }
    window.load(from, tiles.box);
    from += 8 * tiles.box;
  }
  __device__ __forceinline__ void release() {
    if (++sub < tiles.deep) return;
    sub = 0;
    __syncwarp();
    // The address depends on what was loaded last: until it has left shared memory, nobody is told.
    uint32_t loaded =
        __float_as_uint(window.v[1][window.runs - 1][window.size - 1]) & static_cast<uint32_t>(tiles.zero);
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty() + loaded);
    ring.advance();
  }
};

// ---- results of any classes: each lane word by word; its four positions are `apart` from each other

template <int width, int apart = 1, int columns>
__device__ __forceinline__ void results_any(const float (&d)[2][columns], const ConvArgs& c, const HopperTiles& tiles,
                                            const float* bias, float* y, int64_t j, int channels, int t) {
  int channel = 0, rho = 0;
#pragma unroll
  for (int q = 0; q < width / 4; q++) {
    int r = channel * 4 + t;
    if (channel < tiles.lane_channels && r < channels) {
      float b = bias ? bias[r] : 0.0f;
#pragma unroll
      for (int h = 0; h < 4; h++)
        for (int f = 0; f < tiles.gcd; f++) {
          int64_t at = j + h * apart * c.stride + rho * tiles.gcd + f;
          if (at >= 0 && at < c.out_length) y[r * c.out_length + at] = activated(f ? b : result_of(d, q, h) + b);
        }
    }
    if (++rho == tiles.period) rho = 0, channel++;
  }
}

// ---- the block

// Sum<width, step, shifts, near>::of(d, tiles, table, x, weights, ring, behind): d = the products of one tile, all
// rounds. behind: what packing has left behind the numbers of turns.
template <template <int, int, int, int> class Sum, int width, int step, int shifts, int period, int gcd, Leave leave>
__device__ __forceinline__ void hopper(const ConvArgs& c, const HopperTiles& tiles, const ShiftTable& table,
                                       const TensorMap& map, const uint32_t* packed, int* turns, const float* b,
                                       float* y, const TensorMap* rows_of_y = nullptr) {
  CONVSCOPE_DYNAMIC_SHARED_1024(hopper_shared);
  uint32_t image = static_cast<uint32_t>(tiles.parts * width * tiles.depth * 4);
  int stages = tiles.stages, ring_floats = stages * tiles.deep * tiles.box * 8;
  float* xs = reinterpret_cast<float*>(hopper_shared + image);  // two rings, then the results
  float* staging = xs + 2 * ring_floats;
  if (leave == Leave::boxes)  // the swizzle's pattern is one of addresses
    staging += -static_cast<int>(shared_address(staging) >> 2) & 255;
  // Two rings' barriers; one for the weights; which item begins in which stage.
  uint32_t barriers = shared_address(staging) + static_cast<uint32_t>(2 * tiles.staging);
  uint32_t ready = barriers + 32 * static_cast<uint32_t>(stages);
  int* items = reinterpret_cast<int*>(staging + tiles.staging / 2) + 8 * stages + 2;
  int column_tiles = tiles.column_tiles * static_cast<int>(c.groups);
  int tile = static_cast<int>(blockIdx.x) % column_tiles, group = tile / tiles.column_tiles;
  int cout = channels_of_group(c.out_channels, c), co0 = tile % tiles.column_tiles * tiles.lane_channels * 4;
  int channels = cout - co0;
  float* biases = reinterpret_cast<float*>(items + 2 * stages);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2 * stages; i++) barrier_init(barriers + 16u * i, 1), barrier_init(barriers + 16u * i + 8, 4);
    barrier_init(ready, 1);
    barriers_made();
    prefetch_map(map);
  }
  __syncthreads();

  int warp = warp_of_block(), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int mine = warp < 8 ? warp / 4 : warp % 2;                // the warpgroup, or the one for which a warp copies
  int blocks = static_cast<int>(gridDim.x) / column_tiles;  // of the column tile
  constexpr int near = period ? 4 / (period * gcd) : 4, stride = period * gcd, own = own_positions<leave>;
  xs += mine * ring_floats, items += mine * stages;
  staging += mine * (tiles.staging / 4);
  auto place = [&](int item, int64_t& j) {  // where a tile's results go
    int n = tiles.by_tiles.of(item), m0 = tiles.first + (item - n * tiles.tiles) * own;
    j = m0 * c.stride - c.padding;
    return y + (static_cast<int64_t>(n) * c.out_channels + group * cout + co0) * c.out_length;
  };
  if (warp >= 8) {
    fewer_registers<24>();
    Ring ring{barriers + static_cast<uint32_t>(mine * stages) * 16, stages};
    wait_for_launches_before();
    next_launch_may_begin();
    if (threadIdx.x == 256) {
      barrier_expect(ready, image);
      copy_bytes(shared_address(hopper_shared), packed + static_cast<int64_t>(tile) * (image / 4), image, ready);
    }
    if (threadIdx.x == 256 || threadIdx.x == 288)
      produce<own>(tiles, map, shared_address(xs), ring, items, group,
                   static_cast<int>(blockIdx.x) / column_tiles + mine * blocks, 2 * blocks, turns + 2 * tile);
  } else {
    more_registers<240>();
    Ring ring{barriers + static_cast<uint32_t>(mine * stages) * 16, stages};
    uint64_t weights = (shared_address(hopper_shared) & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 |
                       uint64_t{1} << 62;
    const float* x = xs + t * tiles.box + tiles.halo + warp % 4 * 32 + near * g;
    const float* bias = tiles.biases ? biases : nullptr;
    wait_for_launches_before();
    // Fetched for each tile from global memory a bias cost a quarter of the time and more (#79: 0.54, not 0.40 ms).
    for (int i = threadIdx.x; i < min(tiles.biases, channels); i += 256) biases[i] = b[group * cout + co0 + i];
    if (bias) meet<256>(3);
    barrier_wait(ready, 0);
    [[maybe_unused]] WaitingRows waiting;
    [[maybe_unused]] int put = -1;
    for (;;) {
      barrier_wait(ring.full(), ring.phase);
      // The same in all lanes. A minimum is one register of the warp's, so that descriptors stay in such as well (a
      // shuffled value is not: #64 had 332 instead of 234 instructions in its loop; read by one lane only, #74 takes
      // 0.50 ms instead of 0.46).
#if defined(CONVSCOPE_RACECHECK)  // which does not see that all have read when one tells for them
      const int item = __reduce_min_sync(~0u, lane == 0 ? items[ring.stage] : 0x7fffffff);
#else
      const int item = __reduce_min_sync(~0u, items[ring.stage]);
#endif
      if (item < 0) break;
      float d[2][width / 2];
      if constexpr (leave == Leave::blocks) {
        Sum<width, step, shifts, near>::of(d, tiles, table, x, weights, ring, turns + 2 * column_tiles,
                                           [&] { waiting.some(c.out_length); });
        waiting.all(c.out_length);
      } else {
        Sum<width, step, shifts, near>::of(d, tiles, table, x, weights, ring, turns + 2 * column_tiles);
      }
      int64_t j;
      float* rows = place(item, j);
      if constexpr (period == 0) {
        results_any<width>(d, c, tiles, bias, rows, j + (warp % 4 * 32 + 4 * g) * c.stride, channels, t);
      } else {
        finish<period>(d, bias, channels, t);
        if constexpr (leave == Leave::boxes) {
          BoxPlace at{static_cast<int>(j) + warp % 4 * box_positions, co0 / 4, group, tiles.by_tiles.of(item)};
          static_assert(stride == 1, "the one that is compiled");
          results_boxes(d, *rows_of_y, staging + warp % 4 * (tiles.staging / 16), at, g, t);
        } else if constexpr (leave == Leave::blocks) {
          results_in_blocks<period, gcd>(waiting, put, d, bias, rows, staging, c.out_length, j, channels, g, t);
        } else if constexpr (leave == Leave::staged || leave == Leave::sectors)
          results_staged<period, gcd, own * stride>(d, bias, rows, staging, c.out_length, j, channels, g, t, y);
        else
          results_direct<period, gcd>(d, bias, rows, c.out_length, j + warp % 4 * 32 * stride, channels, g, t);
      }
    }
    if constexpr (leave == Leave::blocks) waiting.all(c.out_length);
    if (leave == Leave::boxes && lane == 0) boxes_read();  // shared memory is read until then
  }
}
#endif
