// Rung 8, hopper_tf32: Hopper's tensor cores and copy engine; x is read once, as it lies, and y leaves in full lines.
//
// Idea: the memory is the limit, so nothing but x and y may move. With s' = s/gcd(s, d) and d' = d/gcd(s, d), tap k
// takes x[m − e] to output class ρ, where k·d' = e·s' + ρ: all classes together are one matrix product, positions m ×
// (channels, classes), summed over input channels and shifts e.
// - wgmma takes its A operand from registers. In NCL a fragment (positions × channels) is read from a tile of x just
//   as it lies: no transpose of x exists anywhere. A lane has four neighbouring positions, so that one 16-byte load
//   serves all taps (the shifts are picked from registers), and its outputs are neighbours as well.
// - The weights are packed once, K-major, rounded to TF32 (a launch of its own), and stay in shared memory.
// - Two warpgroups work on tiles of their own, so that one multiplies while the other loads, rounds or writes; for each
//   a thread does nothing but order tiles of x from the copy engine, several ahead (it fills in zeros outside x).
// - Results leave in whole sectors, classes interleaved, outputs no tap reaches included: rows are put together in
//   shared memory, as far from a 32-byte boundary as they are in y, and written 512 bytes at a time; where the weights
//   leave no room for that, lanes hand each other values so that every store is 16 aligned bytes of a row.
// Right for: f32 in TF32 (inputs rounded to 11 bits, sums in f32), finite inputs, rows of x on 16 bytes (L a multiple
// of 4), weights of one tile within shared memory; the rule below says which. Needs: sm_90a (wgmma, TMA).
// Source: PTX ISA 9.0, "Asynchronous warpgroup level matrix instructions" and "Tensor maps"; the producer and consumer
// roles follow CUTLASS's ping-pong kernels (NVIDIA, efficient_gemm.md).
#include "hopper_results.h"
#include "phases.h"

struct HopperTiles {
  int32_t first, tiles, items;   // first position m, tiles of 128 positions in a sequence, items of one column tile
  int32_t shifts, halo, box;     // shifts e; positions of x before a tile; positions of x in a tile
  int32_t rounds, deep, stages;  // rounds of 8 input channels, of one stage; stages of x of a warpgroup
  int32_t period, gcd, back;     // s', gcd(s, d), d'
  int32_t lane_channels, column_tiles;  // output channels a lane has; column tiles of a group
  int32_t width, depth;                 // columns and (padded) rows of the packed weights of a tile
  int32_t staging;                      // bytes of a warpgroup's results in shared memory, 0: they leave from registers
  int32_t zero;                         // 0, which the compiler does not know
};
struct ShiftTable {
  int16_t shift[60];
};

constexpr int hopper_threads = 384;  // two warpgroups that multiply, one whose four warps copy for them

// ---- the weights as the tensor cores read them: a launch of its own
// --------------------------------------------------

#include "convscope/mma.h"

// Element e of a column tile's image: rows of 32 k values (128 bytes) a column, 16-byte pieces exchanged by the
// column's number (the 128-byte swizzle). k counts input channels within (round, shift); columns count as lanes get
// them.
extern "C" __global__ void __launch_bounds__(256)
    hopper_pack(const ConvArgs c, const HopperTiles tiles, const __grid_constant__ ShiftTable table, const float* w,
                uint32_t* packed) {
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int64_t image = static_cast<int64_t>(tiles.width) * tiles.depth, all = image * tiles.column_tiles * c.groups;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    int64_t tile = id / image, group = tile / tiles.column_tiles;
    int e = static_cast<int>(id % image), column = e / 32 % tiles.width;
    int k = e / (32 * tiles.width) * 32 + ((e / 4 % 8) ^ (column % 8)) * 4 + e % 4;
    int64_t ci = static_cast<int64_t>(k / 8 / tiles.shifts) * 8 + k % 8;
    int q = column / 8 * 2 + column % 2, channel = q / tiles.period, rho = q % tiles.period;
    int64_t co = (tile % tiles.column_tiles * tiles.lane_channels + channel) * 4 + column % 8 / 2;
    int64_t along = static_cast<int64_t>(table.shift[k / 8 % tiles.shifts]) * tiles.period + rho;  // k·d'
    float v = 0;
    if (ci < cin && channel < tiles.lane_channels && co < cout && along % tiles.back == 0 &&
        along / tiles.back < c.kernel_size)
      v = w[((group * cin + ci) * cout + co) * c.kernel_size + along / tiles.back];
    packed[id] = to_tf32(v);
  }
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}\n" ::
          "r"(barrier),
      "r"(phase)
      : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// d += A · B for 64 positions, 8 k values and 64 or 128 columns; the first product of a sum overwrites d.
__device__ __forceinline__ void product(float (&d)[32], const uint32_t (&a)[4], uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%0, %1, %2, %3, "
      "%4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, "
      "%27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
__device__ __forceinline__ void product(float (&d)[64], const uint32_t (&a)[4], uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {%0, %1, %2, "
      "%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
      "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p, "
      "1, 1;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// ---- the producer: one thread that orders copies
// ----------------------------------------------------------------------

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

__device__ __forceinline__ void produce(const HopperTiles& tiles, const TensorMap& map, uint32_t xs, Ring ring,
                                        int group, int first_item, int step) {
  uint32_t bytes = static_cast<uint32_t>(tiles.box * tiles.deep) * 32;
  for (int item = first_item; item < tiles.items; item += step) {
    int n = item / tiles.tiles, left = tiles.first + item % tiles.tiles * hopper_positions - tiles.halo;
    for (int round = 0; round < tiles.rounds; round += tiles.deep) {
      barrier_wait(ring.empty(), ring.phase ^ 1);
      barrier_expect(ring.full(), bytes);
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
          "%5}], [%6];" ::"r"(xs + static_cast<uint32_t>(ring.stage) * bytes),
          "l"(&map), "r"(left), "r"(round * 8), "r"(group), "r"(n), "r"(ring.full())
          : "memory");
      ring.advance();
    }
  }
}

// ---- a consumer's sums
// ------------------------------------------------------------------------------------------------

// A step's A operand, for each shift and each of the two 64-row halves. A lane's four positions h are rows g and g + 8
// of the halves; its columns are channels t and t + 4. Neighbouring positions are `near` at a time: 8·near·(h / near) +
// near·g + h % near, so that the outputs of near positions are four neighbours, and those of the lanes g follow them.
template <int shifts>
using Fragments = uint32_t[shifts][2][4];

// Where the tensor cores find 8 k values of the weights: a 128-byte-swizzled, K-major matrix (PTX ISA,
// "Matrix-descriptor").
template <int width>
__device__ __forceinline__ uint64_t weights_at(uint64_t base, int k) {
  return base + static_cast<uint64_t>(static_cast<uint32_t>(k / 4 * width * 8 + k % 4 * 2));
}

// Rounds to TF32 in one instruction, given that the tensor cores cut off the low 13 bits: between a third and two
// thirds of a unit in the last place is added first. What TF32 can hold stays as it is; else the error is at most two
// thirds of a unit, and has no bias.
__device__ __forceinline__ uint32_t rounded(float v) { return __float_as_uint(v * (1 + 0x1p-10f / 3)); }

// What a lane reads of a round, for all shifts u·step: windows of neighbours of its positions in channels t and t + 4.
template <int step, int shifts, int near>
struct Window {
  static constexpr int before = ((shifts - 1) * step + near - 1) / near * near, size = before + near, runs = 4 / near;
  float v[2][runs][size];

  __device__ __forceinline__ void load(const float* x, int box) {
#pragma unroll
    for (int r = 0; r < 2; r++)
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
  __device__ __forceinline__ void round_to(Fragments<shifts>& a) const {
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int run = 0; run < runs; run++)
#pragma unroll
        for (int i = 0; i < near; i++)
#pragma unroll
          for (int u = 0; u < shifts; u++)
            a[u][(run * near + i) / 2][r * 2 + (run * near + i) % 2] = rounded(v[r][run][before + i - u * step]);
  }
};

// d = the sum over all rounds. The next round is loaded before this one's products are issued, and rounded while they
// run: fragments are held twice.
template <int width, int step, int shifts, int near, int columns>
__device__ __forceinline__ void sum_of(float (&d)[2][columns], const HopperTiles& tiles, const float* x,
                                       uint64_t weights, Ring& ring) {
  Fragments<shifts> a[2];
  Window<step, shifts, near> window;
  int sub = 0;  // round of the stage
  const float* from = x;
  auto load = [&] {
    if (sub == 0) {
      barrier_wait(ring.full(), ring.phase);
      from = x + ring.stage * tiles.deep * 8 * tiles.box;
    }
    window.load(from, tiles.box);
    from += 8 * tiles.box;
  };
  auto release = [&] {
    if (++sub < tiles.deep) return;
    sub = 0;
    __syncwarp();
    // The address depends on what was loaded last: until it has left shared memory, nobody is told.
    uint32_t loaded =
        __float_as_uint(window.v[1][window.runs - 1][window.size - 1]) & static_cast<uint32_t>(tiles.zero);
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty() + loaded);
    ring.advance();
  };
  load();
  window.round_to(a[0]);
  release();
  for (int round = 0; round < tiles.rounds; round += 4) {
    uint64_t from_here = weights + static_cast<uint32_t>(round * shifts * width * 2);
#pragma unroll
    for (int i = 0; i < 4; i++) {  // k mod 4 is known here
      if (round + i >= tiles.rounds) break;
      bool more = round + i + 1 < tiles.rounds;
      if (more) load();
      products_begin();
#pragma unroll
      for (int u = 0; u < shifts; u++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          product(d[half], a[i % 2][u][half], weights_at<width>(from_here, i * shifts + u), i + u ? 1 : round > 0);
      products_commit();
      products_wait<1>();
      if (more) {
        window.round_to(a[(i + 1) % 2]);
        release();
      }
    }
  }
  products_wait<0>();
}

// The same for any shifts: each is loaded by itself.
template <int width, int columns>
__device__ __forceinline__ void sum_of_any(float (&d)[2][columns], const HopperTiles& tiles, const ShiftTable& table,
                                           const float* x, uint64_t weights, Ring& ring) {
  for (int round = 0, k = 0, sub = 0; round < tiles.rounds; round++) {
    if (sub == 0) barrier_wait(ring.full(), ring.phase);
    for (int u = 0; u < tiles.shifts; u++, k++) {
      const float* from = x + (ring.stage * tiles.deep + sub) * 8 * tiles.box - table.shift[u];
      uint32_t a[2][4];
#pragma unroll
      for (int half = 0; half < 2; half++)
#pragma unroll
        for (int i = 0; i < 4; i++) a[half][i] = rounded(from[i / 2 * 4 * tiles.box + 2 * half + i % 2]);
      products_begin();
#pragma unroll
      for (int half = 0; half < 2; half++) product(d[half], a[half], weights_at<width>(weights, k), k > 0);
      products_commit();
      products_wait<0>();
    }
    if (++sub < tiles.deep) continue;
    sub = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty());
    ring.advance();
  }
}

// ---- results of any classes: each lane word by word
// ---------------------------------------------------------------------

template <int width, int columns>
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
          int64_t at = j + h * c.stride + rho * tiles.gcd + f;
          if (at >= 0 && at < c.out_length) y[r * c.out_length + at] = f ? b : result_of(d, q, h) + b;
        }
    }
    if (++rho == tiles.period) rho = 0, channel++;
  }
}

// ---- the block
// --------------------------------------------------------------------------------------------------------

template <int width, int step, int shifts, int period, int gcd, bool staged>
__device__ __forceinline__ void hopper(const ConvArgs& c, const HopperTiles& tiles, const ShiftTable& table,
                                       const TensorMap& map, const uint32_t* packed, const float* b, float* y) {
  extern __shared__ __align__(1024) unsigned char hopper_shared[];
  uint32_t image = static_cast<uint32_t>(width * tiles.depth * 4);
  int stages = tiles.stages, ring_floats = stages * tiles.deep * tiles.box * 8;
  float* xs = reinterpret_cast<float*>(hopper_shared + image);  // two rings, then the results
  float* staging = xs + 2 * ring_floats;
  // Two rings' barriers; then one for the weights.
  uint32_t barriers = shared_address(staging) + static_cast<uint32_t>(2 * tiles.staging);
  uint32_t ready = barriers + 32 * static_cast<uint32_t>(stages);
  if (threadIdx.x == 0) {
    auto init = [&](uint32_t barrier, int arrivals) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
    };
    for (int i = 0; i < 2 * stages; i++) init(barriers + 16u * i, 1), init(barriers + 16u * i + 8, 4);
    init(ready, 1);
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  int column_tiles = tiles.column_tiles * static_cast<int>(c.groups);
  int tile = static_cast<int>(blockIdx.x) % column_tiles, group = tile / tiles.column_tiles;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int mine = warp < 8 ? warp / 4 : warp % 2;  // the warpgroup, or the one for which a warp copies
  int step_items = 2 * (static_cast<int>(gridDim.x) / column_tiles);
  int first_item = static_cast<int>(blockIdx.x) / column_tiles + mine * (step_items / 2);
  int cout = static_cast<int>(c.out_channels / c.groups), co0 = tile % tiles.column_tiles * tiles.lane_channels * 4;
  int channels = cout - co0;
  constexpr int near = period ? 4 / (period * gcd) : 4, stride = period * gcd;
  xs += mine * ring_floats;
  staging += mine * (tiles.staging / 4);
  auto place = [&](int item, int64_t& j) {  // where a tile's results go
    int m0 = tiles.first + item % tiles.tiles * hopper_positions;
    j = m0 * c.stride - c.padding;
    return y + (static_cast<int64_t>(item / tiles.tiles) * c.out_channels + group * cout + co0) * c.out_length;
  };
  if (warp >= 8) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    Ring ring{barriers + static_cast<uint32_t>(mine * stages) * 16, stages};
    if (threadIdx.x == 256) {
      barrier_expect(ready, image);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       shared_address(hopper_shared)),
                   "l"(packed + static_cast<int64_t>(tile) * width * tiles.depth), "r"(image), "r"(ready)
                   : "memory");
    }
    if (threadIdx.x == 256 || threadIdx.x == 288)
      produce(tiles, map, shared_address(xs), ring, group, first_item, step_items);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    Ring ring{barriers + static_cast<uint32_t>(mine * stages) * 16, stages};
    uint64_t weights = (shared_address(hopper_shared) & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 |
                       uint64_t{1} << 62;
    const float* x = xs + t * tiles.box + tiles.halo + warp % 4 * 32 + near * g;
    const float* bias = b ? b + group * cout + co0 : nullptr;
    barrier_wait(ready, 0);
    for (int item = first_item; item < tiles.items; item += step_items) {
      float d[2][width / 2];
      if constexpr (shifts > 0)
        sum_of<width, step, shifts, near>(d, tiles, x, weights, ring);
      else
        sum_of_any<width>(d, tiles, table, x, weights, ring);
      int64_t j;
      float* rows = place(item, j);
      if constexpr (period == 0) {
        results_any<width>(d, c, tiles, bias, rows, j + (warp % 4 * 32 + 4 * g) * c.stride, channels, t);
      } else {
        if (bias) add_bias<period>(d, bias, channels, t);
        if constexpr (staged)
          results_staged<period, gcd>(d, bias, rows, staging, c.out_length, j, channels, g, t);
        else
          results_direct<period, gcd>(d, bias, rows, c.out_length, j + warp % 4 * 32 * stride, channels, g, t);
      }
    }
  }
}
#define CONVSCOPE_HOPPER_BODY(...) hopper<__VA_ARGS__>(c, tiles, table, map, packed, b, y);
#else
#define CONVSCOPE_HOPPER_BODY(...) __trap();
#endif

// The forms that are compiled: columns of a tile; shifts u·step and how many (0: any); s' and gcd(s, d) (0: any);
// results through shared memory or from registers.
#define CONVSCOPE_HOPPER(name, ...)                                                                                 \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                                                   \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ HopperTiles tiles,                           \
           const __grid_constant__ ShiftTable table, const __grid_constant__ TensorMap map, const uint32_t* packed, \
           const float* b, float* y) {                                                                              \
    CONVSCOPE_HOPPER_BODY(__VA_ARGS__)                                                                              \
  }
#define CONVSCOPE_HOPPER_FORMS(F)                   \
  F(hopper_64_3_s1_staged, 64, 1, 3, 1, 1, true)    \
  F(hopper_64_5by3_s1_staged, 64, 3, 5, 1, 1, true) \
  F(hopper_64_3_s2_staged, 64, 1, 3, 1, 2, true)    \
  F(hopper_64_2_s2_staged, 64, 1, 2, 2, 1, true)    \
  F(hopper_128_2_s2_staged, 128, 1, 2, 2, 1, true)  \
  F(hopper_128_2_s4_staged, 128, 1, 2, 4, 1, true)  \
  F(hopper_128_3_s1, 128, 1, 3, 1, 1, false)        \
  F(hopper_64_5by3_s1, 64, 3, 5, 1, 1, false)       \
  F(hopper_64_3_s2, 64, 1, 3, 1, 2, false)          \
  F(hopper_128_2_s2, 128, 1, 2, 2, 1, false)        \
  F(hopper_128_2_s4, 128, 1, 2, 4, 1, false)        \
  F(hopper_128_any, 128, 0, 0, 0, 0, false)         \
  F(hopper_64_any, 64, 0, 0, 0, 0, false)
CONVSCOPE_HOPPER_FORMS(CONVSCOPE_HOPPER)

#ifndef __CUDACC__
namespace {

constexpr int64_t hopper_multiprocessors = 132;      // one block for each; correct with any number
constexpr int64_t hopper_shared_bytes = 227 * 1024;  // a block's share
constexpr int64_t hopper_stages = 12;                // most stages of x of a warpgroup
constexpr int64_t hopper_deep_stages = 6;            // at least as many when stages are deep
constexpr int64_t hopper_few_rounds = 4;             // with fewer rounds on their way results are not staged

struct HopperPlan {
  HopperTiles tiles{};
  ShiftTable table{};
  int step = 0;  // shifts are u·step, 0: not so
  size_t shared = 0;
  std::string refused;
};

HopperPlan hopper_plan_of_width(const ConvProblem& p, int64_t width) {
  HopperPlan h;
  Phases f = phases_of(p);
  HopperTiles& t = h.tiles;
  t.period = static_cast<int32_t>(f.period), t.gcd = static_cast<int32_t>(f.gcd), t.back = static_cast<int32_t>(f.back);
  if (p.dtype != DType::f32) return h.refused = "takes f32 only", h;
  if (p.length % 4) return h.refused = "takes lengths that are a multiple of 4 (the copy engine's rows)", h;
  if (f.period > width / 4) return h.refused = "takes at most " + std::to_string(width / 4) + " residue classes", h;
  int64_t last = (p.kernel_size - 1) * f.back / f.period;
  std::vector<int64_t> shifts;
  if (last > 112) return h.refused = "takes taps that reach back at most 112 inputs", h;
  for (int64_t k = 0; k < p.kernel_size; k++)
    if (int64_t e = k * f.back / f.period; shifts.empty() || shifts.back() != e) shifts.push_back(e);
  if (shifts.size() > std::size(h.table.shift)) return h.refused = "takes at most 60 different shifts of x", h;
  for (size_t u = 0; u < shifts.size(); u++) h.table.shift[u] = static_cast<int16_t>(shifts[u]);
  h.step = shifts.size() > 1 ? static_cast<int>(shifts[1]) : 1;
  for (size_t u = 0; u < shifts.size(); u++)
    if (shifts[u] != static_cast<int64_t>(u) * h.step) h.step = 0;
  t.shifts = static_cast<int32_t>(shifts.size());
  t.box = 136;
  while (t.box - hopper_positions < last) t.box += 16;  // 8 modulo 16: a fragment's 4 channels in different banks
  t.halo = t.box - static_cast<int32_t>(hopper_positions);
  t.rounds = static_cast<int32_t>(ceil_div(p.in_per_group(), 8));
  t.width = static_cast<int32_t>(width);
  t.depth = static_cast<int32_t>(ceil_div(int64_t{t.rounds} * t.shifts, 4) * 32);
  t.lane_channels = static_cast<int32_t>(width / 4 / f.period);
  t.column_tiles = static_cast<int32_t>(ceil_div(p.out_per_group(), 4 * t.lane_channels));
  int64_t first = p.padding / p.stride / 8 * 8;  // whole sectors of x
  int64_t tiles = ceil_div((p.out_length() - 1 + p.padding) / p.stride - first + 1, hopper_positions);
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  if (tiles * p.batch > most / 2 || p.out_length() + p.padding > most - 4096 ||
      ceil_div(p.out_channels, 4) * width > most)
    return h.refused = "takes rows and tiles that 32 bits can count", h;
  t.first = static_cast<int32_t>(first);
  t.tiles = static_cast<int32_t>(tiles);
  t.items = static_cast<int32_t>(tiles * p.batch);
  int64_t image = width * t.depth * 4, room = hopper_shared_bytes - image - 8, round = 2 * t.box * 32;
  int64_t staging = 2 * 4 * t.lane_channels * (hopper_positions * p.stride + 8) * 4;
  if ((room - staging) / round < hopper_few_rounds || p.stride > 4) staging = 0;
  room -= staging;
  t.staging = static_cast<int32_t>(staging / 2);
  // Deep stages need fewer barriers, many stages keep more copies on their way.
  t.deep = 1;
  for (int32_t deep : {2, 4})
    if (t.rounds % deep == 0 && h.step && room / (deep * round + 32) >= hopper_deep_stages) t.deep = deep;
  t.stages = static_cast<int32_t>(std::min(room / (t.deep * round + 32), hopper_stages));
  if (room < 0 || t.stages < 2)
    return h.refused = "takes weights that fit in shared memory, these need " + std::to_string(image) + " bytes", h;
  h.shared = static_cast<size_t>(image + t.stages * (t.deep * round + 32) + staging + 8);
  return h;
}

HopperPlan hopper_plan(const ConvProblem& p) {
  int64_t columns = p.out_per_group() * phases_of(p).period;
  HopperPlan narrow = hopper_plan_of_width(p, 64);
  if (columns <= 64 && narrow.refused.empty()) return narrow;
  HopperPlan wide = hopper_plan_of_width(p, 128);
  return wide.refused.empty() ? wide : narrow;
}

}  // namespace

CONVSCOPE_KERNEL(hopper_tf32) {
  rung(8);
  idea("TF32 by wgmma with x from registers as it lies, weights resident, copies by a warp of their own");
  accuracy("tf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return hopper_plan(p).refused; });
  plan([](const ConvProblem& p, Plan& plan) {
    HopperPlan h = hopper_plan(p);
    const HopperTiles& t = h.tiles;
    int64_t images = int64_t{t.column_tiles} * p.groups, words = images * t.width * t.depth;
    plan.need_workspace(static_cast<size_t>(words) * 4);
    plan.launch(ENTRY(hopper_pack), {std::min<int64_t>(ceil_div(words, 256), 1056)}, {256})
        .args(p.args(), t, h.table, plan.w(), plan.workspace());
    TensorView x{plan.x(), 4, {}, {}, {}};
    x.sizes = {p.length, p.in_per_group(), p.groups, p.batch, 0};
    x.stride_bytes = {4, p.length * 4, p.in_per_group() * p.length * 4, p.in_channels * p.length * 4, 0};
    x.box = {t.box, 8 * t.deep, 1, 1, 0};
    Shape grid{std::clamp<int64_t>(hopper_multiprocessors / images, 1, t.items) * images};
    auto form = [&](auto entry, int width, int step, int shifts, int period, int gcd, bool staged) {
      bool fits = width == t.width && (!shifts || (step == h.step && shifts == t.shifts)) &&
                  (!period || (period == t.period && gcd == t.gcd)) && (!staged || t.staging);
      if (!fits || plan.launches().size() > 1) return;
      plan.launch(entry, grid, {hopper_threads}, h.shared)
          .args(p.args(), t, h.table, x, plan.workspace(), plan.b(), plan.y());
    };
#define CONVSCOPE_FORM(name, ...) form(ENTRY(name), __VA_ARGS__);
    CONVSCOPE_HOPPER_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
  });
}
#endif
