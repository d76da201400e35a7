// Rungs 6 and 7, mma_tf32 and mma_3xtf32: tensor cores by mma.sync, inputs rounded to TF32 or split into two TF32
// parts.
//
// Idea: a residue class is a sum of matrix products, channels × input channels (a tap's weights) times input channels ×
// positions (x, shifted by the tap). A warp computes 32 channels × 64 positions, 8 input channels at a time: w is
// packed by a launch of its own in the order in which a lane needs it (one 16-byte load a fragment), x is read from its
// tile as it lies, rows 8 banks apart. 3xTF32: v = high + low with high = TF32(v), low = TF32(v − high); of the four
// products the three large ones are summed, each stage's sum is added to the total in f32 (tensor cores cut off, where
// an FFMA rounds to nearest). Results go through shared memory, so that a warp stores 32 neighbours of a row at once.
// Right for: every legal f32 problem; mma_tf32 keeps 11 bits of each input, mma_3xtf32 at least 21.
// Needs: sm_80. Source: PTX ISA, "mma.m16n8k8"; 3xTF32 after Ootomo & Yokota, Recovering single precision accuracy from
// Tensor Cores, 2022.
#include "convscope/activation.h"
#include "convscope/copy.h"
#include "convscope/mma.h"
#include "phases.h"

constexpr int mma_threads = 256;      // 2 warps along channels × 4 along positions
constexpr int mma_channels = 64;      // of a block
constexpr int mma_positions = 256;    // of a block
constexpr int mma_in = 8;             // input channels of a stage
constexpr int fragment = 128;         // words of a packed fragment: 16 channels × 8 input channels
constexpr int mma_buffers = 4;        // stages in shared memory: one is used, the others are on their way
constexpr int mma_staged_pitch = 72;  // of a row of 64 results: eight rows' pairs lie in different banks

struct MmaTiles {
  int64_t classes, outs, positions, items;  // residue classes, channel tiles of a group, position tiles, all of them
  int64_t rounds;                           // of 8 input channels
  int32_t round_taps;                       // most taps of a stage
  int32_t pitch;                            // of a row of x in shared memory
};

// [group][channel tile][round][tap][part][16 channels][lane][4]
template <int parts>
__device__ __forceinline__ void mma_pack(const ConvArgs& c, const MmaTiles& tiles, const float* w, uint32_t* packed) {
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int64_t all = c.groups * tiles.outs * tiles.rounds * c.kernel_size * mma_channels * mma_in;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    int e = static_cast<int>(id % (mma_channels * mma_in)), lane = e / 4 % 32, i = e % 4;
    int64_t rest = id / (mma_channels * mma_in), tap = rest;
    int64_t k = rest % c.kernel_size;
    rest /= c.kernel_size;
    int64_t ci = rest % tiles.rounds * mma_in + lane % 4 + i / 2 * 4;
    rest /= tiles.rounds;
    int64_t co = rest % tiles.outs * mma_channels + e / fragment * 16 + lane / 4 + i % 2 * 8, group = rest / tiles.outs;
    float v = ci < cin && co < cout ? w[((group * cin + ci) * cout + co) * c.kernel_size + k] : 0.0f;
    uint32_t high = to_tf32(v);
    packed[tap * parts * mma_channels * mma_in + e] = high;
    if (parts == 2) packed[(tap * parts + 1) * mma_channels * mma_in + e] = to_tf32(v - __uint_as_float(high));
  }
}

// whole: rows of x begin on 16 bytes, so they are copied in 16-byte pieces.
template <int parts, bool whole>
__device__ __forceinline__ void mma_tiles(const ConvArgs& c, const Phases& f, const MmaTiles& tiles, const float* x,
                                          const uint32_t* packed, const float* b, float* y) {
  CONVSCOPE_DYNAMIC_SHARED(float, shared);
  constexpr int tap_words = parts * mma_channels * mma_in;
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;
  int channel0 = warp % 2 * 32, position0 = warp / 2 * 64;
  int buffer = mma_in * tiles.pitch + tiles.round_taps * tap_words;

  for (int64_t item = blockIdx.x; item < tiles.items; item += gridDim.x) {
    int64_t rest = item;
    int64_t offset = rest % tiles.classes;  // outputs j = offset + m·s
    rest /= tiles.classes;
    int64_t out_tile = rest % tiles.outs;
    rest /= tiles.outs;
    int64_t m0 = rest % tiles.positions * mma_positions;
    rest /= tiles.positions;
    int64_t group = rest % c.groups, n = rest / c.groups;
    int64_t co0 = out_tile * mma_channels + channel0;

    float total[2][8][4], sum[2][8][4];
#pragma unroll
    for (int a = 0; a < 2; a++)
#pragma unroll
      for (int q = 0; q < 8; q++)
#pragma unroll
        for (int i = 0; i < 4; i++) total[a][q][i] = sum[a][q][i] = 0;
    int64_t r = (offset + c.padding) % c.stride;
    int64_t k0 = r % f.gcd == 0 ? (r / f.gcd) * f.inverse % f.period : c.kernel_size;
    int taps = static_cast<int>(k0 < c.kernel_size ? (c.kernel_size - 1 - k0) / f.period + 1 : 0);
    int64_t base = (offset + c.padding - k0 * c.dilation) / c.stride;  // exact: k0·d ≡ r
    // A warp without a channel or a position copies, and does nothing else.
    bool mine = co0 < cout && offset + (m0 + position0) * c.stride < c.out_length;

    const float* xn = x + (n * c.in_channels + group * cin) * c.length;
    const uint32_t* wn = packed + (group * tiles.outs + out_tile) * tiles.rounds * c.kernel_size * tap_words;
    auto taps_from = [&](int u0) { return min(tiles.round_taps, taps - u0); };
    auto advance = [&](int& u0, int& round) {
      if (++round == tiles.rounds) round = 0, u0 += tiles.round_taps;
    };
    // The input position that the stage's last tap reads for m0. A row in shared memory begins there, or up to a piece
    // before it.
    auto left_of = [&](int u0) { return m0 + base - (u0 + taps_from(u0) - 1) * f.back; };
    auto before = [](int64_t left) { return whole ? static_cast<int>(left) & 3 : 0; };
    auto copy = [&](int u0, int round, float* xs) {
      constexpr int n = whole ? 4 : 1;
      float* ws = xs + mma_in * tiles.pitch;
      int64_t left = left_of(u0), ci = round * mma_in + warp;
      left -= before(left);
      // Of the row in shared memory, [first, last) lies inside x.
      auto within = [&](int64_t o) { return static_cast<int>(min(max(o, int64_t{0}), int64_t{tiles.pitch})); };
      int first = within(-left), last = ci < cin ? within(c.length - left) : 0;
      const float* row = xn + ci * c.length + left;
      float* to = xs + warp * tiles.pitch;
#pragma unroll 4
      for (int o = lane * n; o < tiles.pitch; o += 32 * n) copy_async<n * 4>(to + o, row + o, o >= first && o < last);
      const uint32_t* from = wn + (round * c.kernel_size + k0 + u0 * f.period) * tap_words;
      int words = taps_from(u0) * tap_words;
      for (int e = thread * 4; e < words; e += mma_threads * 4)
        copy_async<16>(ws + e, from + e / tap_words * f.period * tap_words + e % tap_words, true);
    };
    int next_u0 = 0, next_round = 0;
    int here = 0, next = 0;  // buffers
    auto copy_next = [&] {
      if (next_u0 < taps) copy(next_u0, next_round, shared + next * buffer);
      copies_commit();
      advance(next_u0, next_round);
      next = (next + 1) % mma_buffers;
    };
    for (int i = 0; i < mma_buffers - 1; i++) copy_next();
    for (int u0 = 0, round = 0; u0 < taps; advance(u0, round)) {
      copies_wait<mma_buffers - 2>();
      __syncthreads();
      copy_next();  // into the buffer everyone has left
      if (mine) {
        int now = taps_from(u0), back = now > 1 ? static_cast<int>(f.back) : 0;
        const float* xs =
            shared + here * buffer + t * tiles.pitch + position0 + g + (now - 1) * back + before(left_of(u0));
        const float* ws = shared + here * buffer + mma_in * tiles.pitch + channel0 * mma_in + lane * 4;
        for (int u = 0; u < now; u++) {
          uint32_t a[2][parts][4], high[8][2], low[8][2];
#pragma unroll
          for (int m = 0; m < 2; m++)
#pragma unroll
            for (int part = 0; part < parts; part++) {
              float4 v = *reinterpret_cast<const float4*>(ws + part * mma_channels * mma_in + m * fragment);
              a[m][part][0] = __float_as_uint(v.x), a[m][part][1] = __float_as_uint(v.y);
              a[m][part][2] = __float_as_uint(v.z), a[m][part][3] = __float_as_uint(v.w);
            }
#pragma unroll
          for (int q = 0; q < 8; q++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
              float v = xs[i * 4 * tiles.pitch + q * 8];
              high[q][i] = to_tf32(v);
              if (parts == 2) low[q][i] = to_tf32(v - __uint_as_float(high[q][i]));
            }
#pragma unroll
          for (int m = 0; m < 2; m++) {
            if constexpr (parts == 2) {
              mma_m16n8k8_tf32(sum[m], a[m][0], low);
              mma_m16n8k8_tf32(sum[m], a[m][1], high);
            }
            mma_m16n8k8_tf32(sum[m], a[m][0], high);
          }
          xs -= back;
          ws += tap_words;
        }
        if constexpr (parts == 2)
#pragma unroll
          for (int m = 0; m < 2; m++)
#pragma unroll
            for (int q = 0; q < 8; q++)
#pragma unroll
              for (int i = 0; i < 4; i++) total[m][q][i] += sum[m][q][i], sum[m][q][i] = 0;
      }
      here = (here + 1) % mma_buffers;
    }
    __syncthreads();  // results overwrite what was copied
    if (mine) {
      // 8 channels × 64 positions at a time through shared memory, so that a warp writes 32 neighbours of a row and not
      // 8 of each of 4 rows: whole sectors where the stride is 1.
      float* staged = shared + warp * 8 * mma_staged_pitch;
#pragma unroll
      for (int m = 0; m < 2; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
          for (int q = 0; q < 8; q++) {
            const float(&d)[4] = parts == 2 ? total[m][q] : sum[m][q];
            *reinterpret_cast<float2*>(staged + g * mma_staged_pitch + q * 8 + 2 * t) =
                make_float2(d[half * 2], d[half * 2 + 1]);
          }
          __syncwarp();
          int64_t co = co0 + m * 16 + half * 8, j = offset + (m0 + position0 + lane) * c.stride;
          float* row = y + (n * c.out_channels + group * cout + co) * c.out_length + j;
          int rows = static_cast<int>(min(int64_t{8}, cout - co));
          bool first = j < c.out_length, second = j + 32 * c.stride < c.out_length;
#pragma unroll 4
          for (int i = 0; i < rows; i++, row += c.out_length) {
            float bias = b ? b[group * cout + co + i] : 0.0f;
            if (first) row[0] = activated(staged[i * mma_staged_pitch + lane] + bias);
            if (second) row[32 * c.stride] = activated(staged[i * mma_staged_pitch + 32 + lane] + bias);
          }
          __syncwarp();
        }
    }
    __syncthreads();  // before the next item's copies
  }
}

extern "C" __global__ void __launch_bounds__(256)
    mma_pack_tf32(const ConvArgs c, const MmaTiles tiles, const float* w, uint32_t* packed) {
  mma_pack<1>(c, tiles, w, packed);
}
extern "C" __global__ void __launch_bounds__(256)
    mma_pack_3xtf32(const ConvArgs c, const MmaTiles tiles, const float* w, uint32_t* packed) {
  mma_pack<2>(c, tiles, w, packed);
}
#define CONVSCOPE_MMA_TILES(name, parts, whole, blocks)                                                    \
  extern "C" __global__ void __launch_bounds__(mma_threads, blocks)                                        \
      name(const ConvArgs c, const Phases f, const MmaTiles tiles, const float* x, const uint32_t* packed, \
           const float* b, float* y) {                                                                     \
    mma_tiles<parts, whole>(c, f, tiles, x, packed, b, y);                                                 \
  }
CONVSCOPE_MMA_TILES(mma_tiles_tf32, 1, true, 2)
CONVSCOPE_MMA_TILES(mma_tiles_tf32_odd, 1, false, 2)
CONVSCOPE_MMA_TILES(mma_tiles_3xtf32, 2, true, 1)
CONVSCOPE_MMA_TILES(mma_tiles_3xtf32_odd, 2, false, 1)

#ifndef __CUDACC__
namespace {

std::string mma_refuses(const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "takes f32 only"; }

template <class Pack, class Main, class Odd>
void mma_plan(const ConvProblem& p, Plan& plan, int64_t parts, int64_t most_taps, Pack pack, Main main, Odd odd) {
  constexpr int64_t halo = 256;  // most extra positions of x in shared memory
  Phases f = phases_of(p);
  MmaTiles t{};
  t.classes = std::min(p.stride, p.out_length());
  t.outs = ceil_div(p.out_per_group(), mma_channels);
  t.positions = ceil_div(ceil_div(p.out_length(), p.stride), mma_positions);
  t.items = t.classes * t.outs * t.positions * p.groups * p.batch;
  t.rounds = ceil_div(p.in_per_group(), mma_in);
  t.round_taps =
      static_cast<int32_t>(std::min<int64_t>({ceil_div(p.kernel_size, f.period), most_taps, 1 + halo / f.back}));
  // Rows 8 banks apart: the 4 × 8 words of a fragment's load lie in 32 different banks.
  t.pitch = static_cast<int32_t>(ceil_div(mma_positions + (t.round_taps - 1) * f.back + 3 - 8, 32) * 32 + 8);
  int64_t words = p.groups * t.outs * t.rounds * p.kernel_size * mma_channels * mma_in;
  plan.need_workspace(static_cast<size_t>(words * parts) * 4);
  plan.launch(pack, {std::min<int64_t>(ceil_div(words, 256), 2048)}, {256})
      .args(p.args(), t, plan.w(), plan.workspace());
  auto shared = static_cast<size_t>(mma_in * t.pitch + t.round_taps * parts * mma_channels * mma_in) * 4 * mma_buffers;
  auto launch = [&](auto entry) {
    plan.launch(entry, {std::min<int64_t>(t.items, (int64_t{1} << 31) - 1)}, {mma_threads}, shared)
        .args(p.args(), f, t, plan.x(), plan.workspace(), plan.b(), plan.y());
  };
  p.length % 4 == 0 ? launch(main) : launch(odd);
}

}  // namespace

CONVSCOPE_KERNEL(mma_tf32) {
  rung(6);
  idea("TF32 on tensor cores by mma.sync, weights packed as fragments, x read as it lies");
  activates();
  accuracy("tf32");
  requires_("sm_80", "mma");
  supports(mma_refuses);
  plan([](const ConvProblem& p, Plan& plan) {
    mma_plan(p, plan, 1, 5, ENTRY(mma_pack_tf32), ENTRY(mma_tiles_tf32), ENTRY(mma_tiles_tf32_odd));
  });
}

CONVSCOPE_KERNEL(mma_3xtf32) {
  rung(7);
  idea("the same with both inputs split into two TF32 parts: nearly f32's accuracy");
  activates();
  accuracy("3xtf32");
  requires_("sm_80", "mma");
  supports(mma_refuses);
  plan([](const ConvProblem& p, Plan& plan) {
    mma_plan(p, plan, 2, 4, ENTRY(mma_pack_3xtf32), ENTRY(mma_tiles_3xtf32), ENTRY(mma_tiles_3xtf32_odd));
  });
}
#endif
