// Rungs 10 and 11, stream_tf32 and stream_3xtf32: weights too large for shared memory.
//
// Idea: layers of many channels have weights of megabytes and short sequences: there the weights are what must move.
// They come through the ring of stages together with x, each stage the channels of x and the weights that meet them.
// The weights of all layers people run stay in the L2 cache, from where every tile reads them anew.
// - The packed weights lie stage by stage, so that a stage is one tensor copy and one copy of contiguous bytes.
// - A stage is given back when the products that read its weights are done, one round after its x was loaded.
// - Tiles of all columns and positions are dealt out evenly: the first to one warpgroup of each block, so that few
//   tiles spread over the whole GPU, then to the second.
// - With a stride of 8 a lane has a whole sector of a row, all classes of a position; lanes of neighbours store in an
//   order in which a sector is written at once.
// Right for: what rungs 8 and 9 take, without their limit on weights; up to 16 shifts of x. Needs: sm_90a (wgmma, TMA).
#include "hopper_split.h"

// The packed weights: for each column tile its stages, each with its images (high and low halves for 3×TF32).
extern "C" __global__ void __launch_bounds__(256)
    hopper_pack_stream(const ConvArgs c, const HopperTiles tiles, const __grid_constant__ ShiftTable table,
                       const float* w, uint32_t* packed) {
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

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Which tiles a warpgroup has: numbers first, first + step, … of all; column tiles vary fastest.
struct StreamShare {
  int number, step, all, column_tiles;
  __device__ __forceinline__ StreamShare(const ConvArgs& c, const HopperTiles& tiles, int mine)
      : number(static_cast<int>(blockIdx.x) + mine * static_cast<int>(gridDim.x)),
        step(2 * static_cast<int>(gridDim.x)),
        column_tiles(tiles.column_tiles * static_cast<int>(c.groups)) {
    all = tiles.items * column_tiles;
  }
  __device__ __forceinline__ bool there() const { return number < all; }
  __device__ __forceinline__ void next() { number += step; }
  __device__ __forceinline__ int item() const { return number / column_tiles; }
  __device__ __forceinline__ int tile() const { return number % column_tiles; }
};

__device__ __forceinline__ void stream_produce(const ConvArgs& c, const HopperTiles& tiles, const TensorMap& map,
                                               const uint32_t* packed, uint32_t weights, uint32_t xs, Ring ring,
                                               int mine) {
  uint32_t bytes = static_cast<uint32_t>(tiles.box * tiles.deep) * 32, chunk = static_cast<uint32_t>(tiles.chunk);
  int stages = tiles.rounds / tiles.deep;
  for (StreamShare share(c, tiles, mine); share.there(); share.next()) {
    int n = share.item() / tiles.tiles, left = tiles.first + share.item() % tiles.tiles * hopper_positions - tiles.halo;
    const uint32_t* from = packed + static_cast<int64_t>(share.tile()) * stages * (chunk / 4);
    for (int stage = 0; stage < stages; stage++, from += chunk / 4) {
      barrier_wait(ring.empty(), ring.phase ^ 1);
      barrier_expect(ring.full(), bytes + chunk);
      copy_box(xs + static_cast<uint32_t>(ring.stage) * bytes, map, left, stage * tiles.deep * 8,
               share.tile() / tiles.column_tiles, n, ring.full());
      copy_bytes(weights + static_cast<uint32_t>(ring.stage) * chunk, from, chunk, ring.full());
      ring.advance();
    }
  }
}

// The ring as a consumer goes through it: x is loaded one round ahead of the products, which keep their stage.
struct StreamReader {
  const HopperTiles& tiles;
  const float* x;    // the lane's place in the first stage
  uint64_t weights;  // descriptor of the first stage's
  Ring ahead, held;
  const float* from;
  int loaded, used;  // rounds of their stages

  __device__ __forceinline__ StreamReader(const HopperTiles& t, const float* at, uint64_t w, const Ring& ring)
      : tiles(t), x(at), weights(w), ahead(ring), held(ring), from(at), loaded(0), used(0) {}
  __device__ __forceinline__ const float* next_round() {
    if (loaded == 0) {
      barrier_wait(ahead.full(), ahead.phase);
      from = x + ahead.stage * tiles.deep * 8 * tiles.box;
    }
    const float* now = from;
    from += 8 * tiles.box;
    if (++loaded == tiles.deep) loaded = 0, ahead.advance();
    return now;
  }
  // Where shift 0 of the round whose products are issued now has its weights, in steps of k.
  __device__ __forceinline__ uint64_t stage_weights() const {
    return weights + static_cast<uint32_t>(held.stage * (tiles.chunk / 16));
  }
  // The products of a round are done.
  __device__ __forceinline__ void done() {
    if (++used < tiles.deep) return;
    used = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(held.empty());
    held.advance();
  }
};

// d = the products of a tile in TF32, all rounds. shifts 0: any, loaded one by one.
template <int width, int shifts, int near>
__device__ __forceinline__ void stream_sum(float (&d)[2][width / 2], const HopperTiles& tiles, const ShiftTable& table,
                                           StreamReader& reader) {
  if constexpr (shifts > 0) {
    Fragments<shifts> a;
    Window<1, shifts, near> window;
    window.load(reader.next_round(), tiles.box);
    for (int round = 0; round < tiles.rounds; round++) {
#pragma unroll
      for (int r = 0; r < 2; r++)
#pragma unroll
        for (int h = 0; h < 4; h++)
#pragma unroll
          for (int u = 0; u < shifts; u++) a[u][h / 2][r * 2 + h % 2] = rounded(window.at(r, h, u));
      products_begin();
#pragma unroll
      for (int u = 0; u < shifts; u++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          product(d[half], a[u][half], weights_at<width>(reader.stage_weights(), reader.used * shifts + u),
                  u ? 1 : round > 0);
      products_commit();
      if (round + 1 < tiles.rounds) window.load(reader.next_round(), tiles.box);
      products_wait<0>();
      reader.done();
    }
  } else {
    for (int round = 0; round < tiles.rounds; round++) {
      const float* x = reader.next_round();
      for (int u = 0; u < tiles.shifts; u++) {
        uint32_t a[2][4];
        const float* from = x - table.shift[u];
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
          for (int i = 0; i < 4; i++) a[half][i] = rounded(from[i / 2 * 4 * tiles.box + 2 * half + i % 2]);
        products_begin();
#pragma unroll
        for (int half = 0; half < 2; half++)
          product(d[half], a[half], weights_at<width>(reader.stage_weights(), reader.used * tiles.shifts + u),
                  round + u > 0);
        products_commit();
        products_wait<0>();
      }
      reader.done();
    }
  }
}

// The same by 3×TF32, each round summed in f32 (rung 9).
template <int width, int shifts, int near>
__device__ __forceinline__ void stream_sum_split(float (&d)[2][width / 2], const HopperTiles& tiles,
                                                 const ShiftTable& table, StreamReader& reader) {
  const uint64_t low = static_cast<uint32_t>(tiles.chunk / 2 / 16);
#pragma unroll
  for (int i = 0; i < width / 2; i++) d[0][i] = d[1][i] = 0;
  auto begin = [&](float(&sum)[width / 2], const auto& a, int k) {
    add_products<width>(sum, a, reader.stage_weights(), low, k);
  };
  auto end = [&](float(&to)[width / 2], const float(&sum)[width / 2]) {
    products_wait<0>();
#pragma unroll
    for (int i = 0; i < width / 2; i++) to[i] += sum[i];
  };
  if constexpr (shifts > 0) {
    Window<1, shifts, near> window;
    window.load(reader.next_round(), tiles.box);
    for (int round = 0; round < tiles.rounds; round++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        Halves<shifts> a;
#pragma unroll
        for (int u = 0; u < shifts; u++)
#pragma unroll
          for (int i = 0; i < 4; i++) split(window.at(i / 2, 2 * half + i % 2, u), a.high[u][i], a.low[u][i]);
        float sum[width / 2];
        begin(sum, a, reader.used * shifts);
        if (half == 1 && round + 1 < tiles.rounds) window.load(reader.next_round(), tiles.box);
        end(d[half], sum);
      }
      reader.done();
    }
  } else {
    for (int round = 0; round < tiles.rounds; round++) {
      const float* x = reader.next_round();
      for (int u = 0; u < tiles.shifts; u++) {
        const float* from = x - table.shift[u];
#pragma unroll
        for (int half = 0; half < 2; half++) {
          Halves<1> a;
#pragma unroll
          for (int i = 0; i < 4; i++) split(from[i / 2 * 4 * tiles.box + 2 * half + i % 2], a.high[0][i], a.low[0][i]);
          float sum[width / 2];
          begin(sum, a, reader.used * tiles.shifts + u);
          end(d[half], sum);
        }
      }
      reader.done();
    }
  }
}

// Four neighbouring outputs from `at` on, of a row of `length`.
__device__ __forceinline__ void store_quad(float* row, int64_t at, int64_t length, bool aligned, const float (&v)[4]) {
  if (aligned && at >= 0 && at + 4 <= length) {
    store_16(row + at, v[0], v[1], v[2], v[3]);
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (at + k >= 0 && at + k < length) store_4(row + at + k, v[k]);
  }
}

// Results of eight classes, all of them neighbours: a position's are 32 bytes, those of lanes g and g + 1 follow each
// other. Each store of a warp writes whole sectors. Where sectors are positions, two lanes exchange halves; where a
// sector ends in the middle of a position (a padding of 4), one stores its second half when the next stores its first.
template <int width>
__device__ __forceinline__ void results_sectors(const float (&d)[2][width / 2], const ConvArgs& c, const float* bias,
                                                float* y, int64_t j, int channels, int g, int t) {
  bool odd = g % 2;
#pragma unroll
  for (int channel = 0; channel < width / 32; channel++) {
    int r = channel * 4 + t;
    float* row = y + r * c.out_length;
    bool mine = r < channels;
    float b = bias && mine ? bias[r] : 0.0f;
    bool aligned = (reinterpret_cast<uintptr_t>(row + j) & 15) == 0;
    bool positions = !__any_sync(~0u, words_after_boundary(row + j));
#pragma unroll
    for (int h = 0; h < 4; h++) {
      int64_t at = j + h * 64;
      float v[2][4];
#pragma unroll
      for (int k = 0; k < 8; k++) v[k / 4][k % 4] = result_of(d, channel * 8 + k, h) + b;
      float first[4], second[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        float own = odd ? v[1][k] : v[0][k], other = odd ? v[0][k] : v[1][k];
        if (positions) other = __shfl_xor_sync(~0u, other, 4);
        // positions: the even lane's sector, then the odd lane's. Else: what meets in the middle of the two, the rest.
        first[k] = positions ? (odd ? other : own) : other;
        second[k] = positions ? (odd ? own : other) : own;
      }
      if (!mine) continue;
      store_quad(row, positions ? (odd ? at - 4 : at) : (odd ? at : at + 4), c.out_length, aligned, first);
      store_quad(row, positions ? (odd ? at + 4 : at + 8) : (odd ? at + 4 : at), c.out_length, aligned, second);
    }
  }
}

// Results of any number of classes, all of them neighbours: a lane's four positions are one run of a row, which the
// next lane's goes on. Stored by 16 bytes: what lies before the next 16-byte boundary a lane has from the next one.
template <int width, int period>
__device__ __forceinline__ void results_runs(const float (&d)[2][width / 2], const ConvArgs& c, const float* bias,
                                             float* y, int64_t j, int channels, int g, int t) {
  constexpr int run = 4 * period;
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int channel = 0; channel < width / 4 / period; channel++) {
    int r = channel * 4 + t;
    float* row = y + r * c.out_length;
    bool mine = r < channels;
    float b = bias && mine ? bias[r] : 0.0f;
    float x[run + 3];
#pragma unroll
    for (int i = 0; i < run; i++) x[i] = result_of(d, channel * period + i % period, i / period) + b;
#pragma unroll
    for (int i = 0; i < 3; i++) x[run + i] = __shfl_sync(~0u, x[i], (lane + 4) % 32);
    int skip = -words_after_boundary(row + j) & 3;
    auto one = [&](int64_t at, float v) {
      if (at >= 0 && at < c.out_length) store_4(row + at, v);
    };
    if (mine && g == 0)
#pragma unroll
      for (int i = 0; i < 3; i++)
        if (i < skip) one(j + i, x[i]);
#pragma unroll
    for (int i = 0; i < run + 2; i++) x[i] = skip & 1 ? x[i + 1] : x[i];
#pragma unroll
    for (int i = 0; i < run; i++) x[i] = skip & 2 ? x[i + 2] : x[i];
    if (!mine) continue;
#pragma unroll
    for (int i = 0; i < run; i += 4) {
      int64_t at = j + skip + i;
      bool cut = i + 4 == run && g == 7 && skip > 0;  // the next lane is of another warp
      if (at >= 0 && at + 4 <= c.out_length && !cut)
        store_16(row + at, x[i], x[i + 1], x[i + 2], x[i + 3]);
      else
#pragma unroll
        for (int k = 0; k < 4; k++)
          if (!cut || k < 4 - skip) one(at + k, x[i + k]);
    }
  }
}

template <int parts, int width, int shifts, int period>
__device__ __forceinline__ void hopper_stream(const ConvArgs& c, const HopperTiles& tiles, const ShiftTable& table,
                                              const TensorMap& map, const uint32_t* packed, const float* b, float* y) {
  extern __shared__ __align__(1024) unsigned char hopper_shared[];
  int stages = tiles.stages, ring_floats = stages * tiles.deep * tiles.box * 8;
  uint32_t ring_weights = static_cast<uint32_t>(stages * tiles.chunk);  // bytes of a warpgroup's
  float* xs = reinterpret_cast<float*>(hopper_shared + 2 * ring_weights);
  uint32_t barriers = shared_address(xs + 2 * ring_floats);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4 * stages; i++)  // full: one arrival; empty: four warps
      barrier_init(barriers + 8u * i, i % 2 ? 4 : 1);
    barriers_made();
  }
  __syncthreads();

  int warp = warp_of_block(), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int mine = warp < 8 ? warp / 4 : warp % 2;
  // Classes of a position are neighbours; near: positions of a lane that are.
  constexpr int near = period == 1 || period == 2 ? 4 / period : period == 4 || period == 8 ? 1 : 4;
  uint32_t weights = shared_address(hopper_shared) + static_cast<uint32_t>(mine) * ring_weights;
  xs += mine * ring_floats;
  Ring ring{barriers + static_cast<uint32_t>(mine * stages) * 16, stages};
  if (warp >= 8) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 256 || threadIdx.x == 288)
      stream_produce(c, tiles, map, packed, weights, shared_address(xs), ring, mine);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    uint64_t descriptor = (weights & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
    int cout = static_cast<int>(c.out_channels / c.groups);
    StreamReader reader(tiles, xs + t * tiles.box + tiles.halo + warp % 4 * 32 + near * g, descriptor, ring);
    for (StreamShare share(c, tiles, mine); share.there(); share.next()) {
      float d[2][width / 2];
      if constexpr (parts == 1)
        stream_sum<width, shifts, near>(d, tiles, table, reader);
      else
        stream_sum_split<width, shifts, near>(d, tiles, table, reader);
      int group = share.tile() / tiles.column_tiles, co0 = share.tile() % tiles.column_tiles * tiles.lane_channels * 4;
      int64_t j = (tiles.first + share.item() % tiles.tiles * int64_t{hopper_positions}) * c.stride - c.padding;
      float* rows =
          y + (static_cast<int64_t>(share.item() / tiles.tiles) * c.out_channels + group * cout + co0) * c.out_length;
      const float* bias = b ? b + group * cout + co0 : nullptr;
      int channels = cout - co0;
      if constexpr (period == 1 || period == 2 || period == 4) {
        if (bias) add_bias<period>(d, bias, channels, t);
        results_direct<period, 1>(d, bias, rows, c.out_length, j + warp % 4 * 32 * period, channels, g, t);
      } else if constexpr (period == 8) {
        results_sectors<width>(d, c, bias, rows, j + (warp % 4 * 32 + g) * period, channels, g, t);
      } else if constexpr (period > 0) {
        results_runs<width, period>(d, c, bias, rows, j + (warp % 4 * 32 + 4 * g) * period, channels, g, t);
      } else {
        results_any<width>(d, c, tiles, bias, rows, j + (warp % 4 * 32 + 4 * g) * c.stride, channels, t);
      }
    }
  }
}
#define CONVSCOPE_STREAM_BODY(...) hopper_stream<__VA_ARGS__>(c, tiles, table, map, packed, b, y);
#else
#define CONVSCOPE_STREAM_BODY(...) __trap();
#endif

// The forms that are compiled: images of the weights; columns of a tile; shifts 0, 1, … (0: any); classes s', all of
// them neighbours (0: any).
#define CONVSCOPE_STREAM(name, ...)                                                                                 \
  extern "C" __global__ void __launch_bounds__(hopper_threads, 1)                                                   \
      name(const __grid_constant__ ConvArgs c, const __grid_constant__ HopperTiles tiles,                           \
           const __grid_constant__ ShiftTable table, const __grid_constant__ TensorMap map, const uint32_t* packed, \
           const float* b, float* y) {                                                                              \
    CONVSCOPE_STREAM_BODY(__VA_ARGS__)                                                                              \
  }
#define CONVSCOPE_STREAM_FORMS(F)     \
  F(stream_2_s8, 1, 128, 2, 8)        \
  F(stream_2_s4, 1, 128, 2, 4)        \
  F(stream_2_s2, 1, 128, 2, 2)        \
  F(stream_2_s5, 1, 128, 2, 5)        \
  F(stream_2_s10, 1, 128, 2, 10)      \
  F(stream_2_any, 1, 128, 2, 0)       \
  F(stream_7_s4, 1, 64, 7, 4)         \
  F(stream_any, 1, 128, 0, 0)         \
  F(stream_split_2_s8, 2, 64, 2, 8)   \
  F(stream_split_2_s4, 2, 64, 2, 4)   \
  F(stream_split_2_s2, 2, 64, 2, 2)   \
  F(stream_split_2_s5, 2, 64, 2, 5)   \
  F(stream_split_2_s10, 2, 64, 2, 10) \
  F(stream_split_2_any, 2, 64, 2, 0)  \
  F(stream_split_7_s4, 2, 64, 7, 4)   \
  F(stream_split_any, 2, 64, 0, 0)
CONVSCOPE_STREAM_FORMS(CONVSCOPE_STREAM)

#ifndef __CUDACC__
#include "hopper_plan.h"

namespace {

HopperPlan stream_plan(const ConvProblem& p, int parts) {
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  HopperPlan h = hopper_geometry(p, parts == 1 ? 128 : 64, parts);
  if (h.refused.empty() && h.tiles.shifts == 7 && h.step == 1 && h.tiles.period == 4) h = hopper_geometry(p, 64, parts);
  HopperTiles& t = h.tiles;
  if (!h.refused.empty()) return h;
  if (t.shifts > 16) return h.refused = "takes at most 16 different shifts of x", h;
  if (int64_t{t.items} * t.column_tiles * p.groups > most / 4)
    return h.refused = "takes rows and tiles that 32 bits can count", h;
  const int64_t all_rounds = t.rounds;
  for (int64_t deep : {4, 2, 1}) {  // the deepest stages of which three fit
    int64_t chunk = ceil_div(deep * t.shifts, 4) * 128 * t.width * parts, stage = chunk + deep * t.box * 32;
    int64_t stages = std::min((hopper_shared_bytes - 1024) / (2 * (stage + 16)), hopper_stages);
    t.deep = static_cast<int32_t>(deep), t.chunk = static_cast<int32_t>(chunk), t.stages = static_cast<int32_t>(stages);
    h.shared = static_cast<size_t>(2 * stages * (stage + 16));
    if (stages >= 3 && deep * t.shifts % 4 == 0) break;
  }
  if (t.stages < 2) return h.refused = "takes stages of weights that fit in shared memory", h;
  t.rounds = static_cast<int32_t>(ceil_div(all_rounds, t.deep) * t.deep);
  if (ceil_div(t.rounds, t.deep) * t.chunk / 4 > most) return h.refused = "takes weights that 32 bits can count", h;
  return h;
}

void plan_stream(const ConvProblem& p, Plan& plan, int parts) {
  HopperPlan h = stream_plan(p, parts);
  const HopperTiles& t = h.tiles;
  int64_t images = int64_t{t.column_tiles} * p.groups;
  HopperLaunch launch{p, plan, h};
  launch.pack(ENTRY(hopper_pack_stream), ENTRY(hopper_pad_stream), images * (t.rounds / t.deep) * (t.chunk / 4));
  Shape grid{std::min<int64_t>(hopper_multiprocessors, images * t.items)};
  auto form = [&](auto entry, int form_parts, int width, int shifts, int period) {
    bool fits = form_parts == parts && width == t.width && (!shifts || (h.step == 1 && shifts == t.shifts)) &&
                (!period || (period == t.period && t.gcd == 1));
    if (fits) launch.main(entry, grid);
  };
#define CONVSCOPE_FORM(name, ...) form(ENTRY(name), __VA_ARGS__);
  CONVSCOPE_STREAM_FORMS(CONVSCOPE_FORM)
#undef CONVSCOPE_FORM
}

}  // namespace

CONVSCOPE_KERNEL(stream_tf32) {
  rung(10);
  idea("the same for weights of any size: they come through the ring beside x, out of the L2 cache");
  accuracy("tf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return stream_plan(p, 1).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_stream(p, plan, 1); });
}

CONVSCOPE_KERNEL(stream_3xtf32) {
  rung(11);
  idea("weights of any size with f32's accuracy: three TF32 products, high and low halves streamed");
  accuracy("3xtf32");
  requires_("sm_90a", "wgmma", "tma");
  supports([](const ConvProblem& p) { return stream_plan(p, 2).refused; });
  plan([](const ConvProblem& p, Plan& plan) { plan_stream(p, plan, 2); });
}
#endif
