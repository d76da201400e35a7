// The block of the stream rungs: whose pieces of which tiles, their sums (each rung brings how), their results.
#pragma once
#include "hopper_stream.h"

#if defined(CONVSCOPE_HAS_HOPPER)

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

// Sum<width, shifts, near>::of(d, tiles, table, reader, rounds, behind): d = the products of a tile, so many rounds of
// 8 channels. behind: what packing has left behind the flags. Sum::spins: how it waits.
template <template <int, int, int> class Sum, int width, int shifts, int period, bool halves = false>
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

  int warp = warp_of_block(), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int mine = warp < 8 ? warp / 4 : warp % 2;  // the warpgroup, or the one for which a warp copies
  // Classes of a position are neighbours; near: positions of a lane that are.
  constexpr int near = period == 1 || period == 2 ? 4 / period : period == 4 || period == 8 ? 1 : 4;
  constexpr bool spins = Sum<width, shifts, near>::spins;
  int mine_of_rings = rings == 2 ? mine : 0;
  uint32_t weights = shared_address(hopper_shared) + static_cast<uint32_t>(mine_of_rings) * ring_weights;
  xs += mine_of_rings * stages * tile_floats;
  Ring ring{barriers + static_cast<uint32_t>(mine_of_rings * stages) * 16, stages};
  if (warp >= 8) {
    fewer_registers<24>();
    wait_for_launches_before();
    next_launch_may_begin();
    if (threadIdx.x == 256 || (threadIdx.x == 288 && rings == 2))
      stream_produce<spins>(tiles, map, packed, weights, shared_address(xs), ring, mine);
  } else {
    more_registers<240>();
    int cout = channels_of_group(c.out_channels, c);
    uint64_t descriptor = (weights & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
    LanePlace place(tiles.segment, warp, g);
    bool inside = place.sequence < tiles.segments;
    const float* at = xs + t * tiles.box + tiles.halo + (rings == 2 ? 0 : mine * tile_floats);
    if constexpr (near == 4)
      at += (inside ? place.sequence : 0) * tiles.deep * 8 * tiles.box + place.position;
    else
      at += warp % 4 * 32 + near * g;
    StreamReader<spins> reader(tiles, at, descriptor, ring);
    wait_for_launches_before();
    for (StreamWork work(tiles, mine); work.there(tiles); work.next(tiles)) {
      StreamPlace tile(tiles, work.unit, mine);
      if (!tile.there) {
        reader.pass(work.last - work.first);
        continue;
      }
      float d[2][width / 2];
      int rounds = (work.last - work.first) * tiles.deep;
      auto sum = [&](auto count) {
        Sum<width, decltype(count)::value, near>::of(d, tiles, table, reader, rounds, ready + stream_flags);
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
#endif

// A form of a stream rung: its sum, and what is known of it when it is compiled.
#define CONVSCOPE_STREAM(sum, name, ...)                                                                            \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                                                   \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ StreamTiles tiles,                           \
           const __grid_constant__ ShiftTable table, const __grid_constant__ TensorMap map, const uint32_t* packed, \
           const float* b, float* y, float4* sums, int* ready) {                                                    \
    CONVSCOPE_STREAM_BODY(sum, __VA_ARGS__)                                                                         \
  }
