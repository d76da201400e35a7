// Rung 17, mma_16bit: f16 and bf16 on the tensor cores of any GPU from sm_80 on, by mma.sync, sums in f32.
//
// Idea: as mma_tf32, a residue class is a sum of matrix products. A product of 16 bits wants two input channels in one
// register, but in NCL neighbours in memory are positions. Which two channels make a word is free, as long as weights
// and x agree: k and k + 8. So x becomes words of two channels on its way to shared memory, once for all taps,
// positions in a row as they lie; a tap is then another address, as in mma_tf32, and eight words do for 16 channels.
// The next stage's x is on its way to registers while this one's products run. Results go through shared memory, and
// where outputs are neighbours two leave in one word. Right for: every legal f16 or bf16 problem. Needs: sm_80. Source:
// PTX ISA, "mma.m16n8k16"; choosing k's order freely as in CUTLASS (NVIDIA, efficient_gemm.md).
#include "convscope/activation.h"
#include "convscope/copy.h"
#include "convscope/half.h"
#include "convscope/mma.h"
#include "phases.h"

constexpr int half_threads = 256;      // 2 warps along channels × 4 along positions
constexpr int half_channels = 64;      // of a block
constexpr int half_positions = 256;    // of a block
constexpr int half_in = 16;            // input channels of a stage
constexpr int half_words = 8;          // rows of words of a stage: channels k and k + 8
constexpr int half_fragment = 128;     // words of a packed fragment: 16 channels × 16 input channels
constexpr int half_buffers = 2;        // stages in shared memory
constexpr int half_pieces = 3;         // of four positions of a row that a lane brings at most
constexpr int half_row = 384;          // so many positions a row has at most
constexpr int half_staged_pitch = 72;  // of a row of 64 results

struct HalfMmaTiles {
  int64_t classes, outs, positions, items;  // residue classes, channel tiles of a group, position tiles, all of them
  int64_t rounds;                           // of 16 input channels
  int32_t round_taps;                       // most taps of a stage
  int32_t pitch;                            // words of a row of x in shared memory
};

// Bits, whatever the type.
__device__ __forceinline__ uint32_t pair_of(uint16_t low, uint16_t high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

// [group][channel tile][round][tap][16 channels][lane][4]
extern "C" __global__ void __launch_bounds__(256)
    mma_pack_16bit(const ConvArgs c, const HalfMmaTiles tiles, const uint16_t* w, uint32_t* packed) {
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  constexpr int words = half_channels * half_words;  // of a tap
  int64_t all = c.groups * tiles.outs * tiles.rounds * c.kernel_size * words;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    int e = static_cast<int>(id % words), lane = e / 4 % 32, i = e % 4;
    int64_t rest = id / words;
    int64_t k = rest % c.kernel_size;
    rest /= c.kernel_size;
    int64_t ci = rest % tiles.rounds * half_in + lane % 4 + i / 2 * 4;
    rest /= tiles.rounds;
    int64_t co = rest % tiles.outs * half_channels + e / half_fragment * 16 + lane / 4 + i % 2 * 8;
    int64_t group = rest / tiles.outs;
    auto of = [&](int64_t channel) {
      bool is = channel < cin && co < cout;
      return is ? w[((group * cin + channel) * cout + co) * c.kernel_size + k] : uint16_t{0};
    };
    packed[id] = pair_of(of(ci), of(ci + half_words));
  }
}

// A warp's row of words of a stage: channels k and k + 8, four positions of both in a piece.
template <bool whole>
struct HalfRow {
  uint2 low[half_pieces], high[half_pieces];

  // from: position 0 of channel k's piece 0 may be read where `first` ≤ position < `last` (of the row).
  __device__ __forceinline__ void load(const uint16_t* from, int64_t length, int first, int last, int last_high,
                                       int pitch, int lane) {
#pragma unroll
    for (int i = 0; i < half_pieces; i++) {
      const int o = (32 * i + lane) * 4;
      low[i] = high[i] = uint2{0, 0};
      if (o >= pitch) continue;
      low[i] = piece(from, o, first, last);
      high[i] = piece(from + half_words * length, o, first, last_high);
    }
  }
  __device__ __forceinline__ void store(uint32_t* to, int pitch, int lane) const {
#pragma unroll
    for (int i = 0; i < half_pieces; i++) {
      const int o = (32 * i + lane) * 4;
      if (o >= pitch) continue;
      auto word = [](uint32_t a, uint32_t b, bool second) {
        return __uint_as_float(second ? a >> 16 | (b & 0xffff0000u) : (a & 0xffffu) | b << 16);
      };
      *reinterpret_cast<float4*>(to + o) =
          make_float4(word(low[i].x, high[i].x, false), word(low[i].x, high[i].x, true),
                      word(low[i].y, high[i].y, false), word(low[i].y, high[i].y, true));
    }
  }

 private:
  __device__ __forceinline__ static uint2 piece(const uint16_t* from, int o, int first, int last) {
    if constexpr (whole) {
      if (o < first || o >= last) return {0, 0};
      return *reinterpret_cast<const uint2*>(from + o);
    } else {
      auto one = [&](int at) { return at >= first && at < last ? from[at] : uint16_t{0}; };
      return {pair_of(one(o), one(o + 1)), pair_of(one(o + 2), one(o + 3))};
    }
  }
};

// whole: rows of x begin on 8 bytes.
template <class T, bool whole>
__device__ __forceinline__ void mma_half(const ConvArgs& c, const Phases& f, const HalfMmaTiles& tiles,
                                         const uint16_t* x, const uint32_t* packed, const T* b, T* y) {
  CONVSCOPE_DYNAMIC_SHARED(uint32_t, shared);
  constexpr int tap_words = half_channels * half_words;
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;
  int channel0 = warp % 2 * 32, position0 = warp / 2 * 64;
  int buffer = half_words * tiles.pitch + tiles.round_taps * tap_words;

  for (int64_t item = blockIdx.x; item < tiles.items; item += gridDim.x) {
    int64_t rest = item;
    int64_t offset = rest % tiles.classes;  // outputs j = offset + m·s
    rest /= tiles.classes;
    int64_t out_tile = rest % tiles.outs;
    rest /= tiles.outs;
    int64_t m0 = rest % tiles.positions * half_positions;
    rest /= tiles.positions;
    int64_t group = rest % c.groups, n = rest / c.groups;
    int64_t co0 = out_tile * half_channels + channel0;

    float sum[2][8][4];
#pragma unroll
    for (int a = 0; a < 2; a++)
#pragma unroll
      for (int q = 0; q < 8; q++)
#pragma unroll
        for (int i = 0; i < 4; i++) sum[a][q][i] = 0;
    int64_t r = (offset + c.padding) % c.stride;
    int64_t k0 = r % f.gcd == 0 ? (r / f.gcd) * f.inverse % f.period : c.kernel_size;
    int taps = static_cast<int>(k0 < c.kernel_size ? (c.kernel_size - 1 - k0) / f.period + 1 : 0);
    int64_t base = (offset + c.padding - k0 * c.dilation) / c.stride;  // exact: k0·d ≡ r
    // A warp without a channel or a position copies, and does nothing else.
    bool mine = co0 < cout && offset + (m0 + position0) * c.stride < c.out_length;

    const uint16_t* xn = x + (n * c.in_channels + group * cin) * c.length;
    const uint32_t* wn = packed + (group * tiles.outs + out_tile) * tiles.rounds * c.kernel_size * tap_words;
    auto taps_from = [&](int u0) { return min(tiles.round_taps, taps - u0); };
    auto advance = [&](int& u0, int& round) {
      if (++round == tiles.rounds) round = 0, u0 += tiles.round_taps;
    };
    // The input position that the stage's last tap reads for m0. A row in shared memory begins there, or up to a piece
    // before it.
    auto left_of = [&](int u0) { return m0 + base - (u0 + taps_from(u0) - 1) * f.back; };
    auto before = [](int64_t left) { return whole ? static_cast<int>(left) & 3 : 0; };
    HalfRow<whole> row;
    auto load = [&](int u0, int round) {
      int64_t left = left_of(u0), ci = round * half_in + warp;
      left -= before(left);
      auto within = [&](int64_t o) { return static_cast<int>(min(max(o, int64_t{0}), int64_t{tiles.pitch})); };
      int first = within(-left), last = within(c.length - left);
      row.load(xn + ci * c.length + left, c.length, first, ci < cin ? last : 0, ci + half_words < cin ? last : 0,
               tiles.pitch, lane);
    };
    auto copy_weights = [&](int u0, int round, uint32_t* to) {
      const uint32_t* from = wn + (round * c.kernel_size + k0 + u0 * f.period) * tap_words;
      int words = taps_from(u0) * tap_words;
      for (int e = thread * 4; e < words; e += half_threads * 4)
        copy_async<16>(to + e, from + e / tap_words * f.period * tap_words + e % tap_words, true);
      copies_commit();
    };
    auto x_of = [&](int which) { return shared + which * buffer; };
    auto weights_of = [&](int which) { return x_of(which) + half_words * tiles.pitch; };
    if (taps > 0) {
      load(0, 0);
      copy_weights(0, 0, weights_of(0));
      row.store(x_of(0) + warp * tiles.pitch, tiles.pitch, lane);
    }
    for (int u0 = 0, round = 0, here = 0; u0 < taps; here ^= 1) {
      int next_u0 = u0, next_round = round;
      advance(next_u0, next_round);
      copies_wait<0>();
      __syncthreads();  // this stage is there, and everyone has left the other one
      const bool more = next_u0 < taps;
      if (more) {
        copy_weights(next_u0, next_round, weights_of(here ^ 1));
        load(next_u0, next_round);
      }
      if (mine) {
        int now = taps_from(u0), back = now > 1 ? static_cast<int>(f.back) : 0;
        const uint32_t* xs = x_of(here) + t * tiles.pitch + position0 + g + (now - 1) * back + before(left_of(u0));
        const uint32_t* ws = weights_of(here) + channel0 * half_words + lane * 4;
        for (int u = 0; u < now; u++) {
          uint32_t a[2][4], p[8][2];
#pragma unroll
          for (int m = 0; m < 2; m++) {
            float4 v = *reinterpret_cast<const float4*>(ws + m * half_fragment);
            a[m][0] = __float_as_uint(v.x), a[m][1] = __float_as_uint(v.y);
            a[m][2] = __float_as_uint(v.z), a[m][3] = __float_as_uint(v.w);
          }
#pragma unroll
          for (int q = 0; q < 8; q++)
#pragma unroll
            for (int i = 0; i < 2; i++) p[q][i] = xs[i * 4 * tiles.pitch + q * 8];
#pragma unroll
          for (int m = 0; m < 2; m++) mma_m16n8k16<T>(sum[m], a[m], p);
          xs -= back;
          ws += tap_words;
        }
      }
      if (more) row.store(x_of(here ^ 1) + warp * tiles.pitch, tiles.pitch, lane);
      u0 = next_u0, round = next_round;
    }
    __syncthreads();  // results overwrite what was copied
    if (mine) {
      // 8 channels × 64 positions at a time through shared memory; a lane has two neighbours of each row.
      float* staged = reinterpret_cast<float*>(shared) + warp * 8 * half_staged_pitch;
      const int64_t j = offset + (m0 + position0 + 2 * lane) * c.stride;
      const bool first = j < c.out_length, second = j + c.stride < c.out_length;
#pragma unroll
      for (int m = 0; m < 2; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
          for (int q = 0; q < 8; q++)
            *reinterpret_cast<float2*>(staged + g * half_staged_pitch + q * 8 + 2 * t) =
                make_float2(sum[m][q][half * 2], sum[m][q][half * 2 + 1]);
          __syncwarp();
          int64_t co = co0 + m * 16 + half * 8;
          T* to = y + (n * c.out_channels + group * cout + co) * c.out_length + j;
          int rows = static_cast<int>(min(int64_t{8}, cout - co));
#pragma unroll 4
          for (int i = 0; i < rows; i++, to += c.out_length) {
            float bias = b ? static_cast<float>(b[group * cout + co + i]) : 0.0f;
            float2 v = *reinterpret_cast<const float2*>(staged + i * half_staged_pitch + 2 * lane);
            T both[2] = {static_cast<T>(activated(v.x + bias)), static_cast<T>(activated(v.y + bias))};
            if (c.stride == 1 && second && reinterpret_cast<uintptr_t>(to) % 4 == 0) {
              uint32_t word;
              __builtin_memcpy(&word, both, sizeof word);
              *reinterpret_cast<uint32_t*>(to) = word;
            } else {
              if (first) to[0] = both[0];
              if (second) to[c.stride] = both[1];
            }
          }
          __syncwarp();
        }
    }
    __syncthreads();  // before the next item's copies
  }
}

#define CONVSCOPE_MMA_HALF(name, T, whole)                                                                        \
  extern "C" __global__ void __launch_bounds__(half_threads, 2)                                                   \
      name(const ConvArgs c, const Phases f, const HalfMmaTiles tiles, const uint16_t* x, const uint32_t* packed, \
           const T* b, T* y) {                                                                                    \
    mma_half<T, whole>(c, f, tiles, x, packed, b, y);                                                             \
  }
CONVSCOPE_MMA_HALF(mma_tiles_f16, __half, true)
CONVSCOPE_MMA_HALF(mma_tiles_f16_odd, __half, false)
CONVSCOPE_MMA_HALF(mma_tiles_bf16, __nv_bfloat16, true)
CONVSCOPE_MMA_HALF(mma_tiles_bf16_odd, __nv_bfloat16, false)

#ifndef __CUDACC__
CONVSCOPE_KERNEL(mma_16bit) {
  rung(17);
  idea("f16 and bf16 on tensor cores by mma.sync, x in words of two channels, sums in f32");
  activates();
  requires_("sm_80", "mma");
  supports([](const ConvProblem& p) { return convscope::is_half(p.dtype) ? "" : "takes f16 and bf16 only"; });
  plan([](const ConvProblem& p, Plan& plan) {
    constexpr int64_t most_taps = 5;
    Phases f = phases_of(p);
    HalfMmaTiles t{};
    t.classes = std::min(p.stride, p.out_length());
    t.outs = ceil_div(p.out_per_group(), half_channels);
    t.positions = ceil_div(ceil_div(p.out_length(), p.stride), half_positions);
    t.items = t.classes * t.outs * t.positions * p.groups * p.batch;
    t.rounds = ceil_div(p.in_per_group(), half_in);
    // A row holds a tile's positions, its halo and up to three positions before, in steps of 32 and 8 more: the 4 × 8
    // words of a fragment's load then lie in different banks.
    constexpr int64_t halo = half_row - 24 - 3 - half_positions;
    t.round_taps =
        static_cast<int32_t>(std::min<int64_t>({ceil_div(p.kernel_size, f.period), most_taps, 1 + halo / f.back}));
    t.pitch = static_cast<int32_t>(ceil_div(half_positions + (t.round_taps - 1) * f.back + 3 - 8, 32) * 32 + 8);
    int64_t words = p.groups * t.outs * t.rounds * p.kernel_size * half_channels * half_words;
    plan.need_workspace(static_cast<size_t>(words) * 4);
    plan.launch(ENTRY(mma_pack_16bit), {std::min<int64_t>(ceil_div(words, 256), 2048)}, {256})
        .args(p.args(), t, plan.w(), plan.workspace());
    auto shared =
        static_cast<size_t>(half_words * t.pitch + t.round_taps * half_channels * half_words) * 4 * half_buffers;
    shared = std::max(shared, size_t{8 * 8 * half_staged_pitch} * 4);
    auto launch = [&](auto entry) {
      plan.launch(entry, {std::min<int64_t>(t.items, (int64_t{1} << 31) - 1)}, {half_threads}, shared)
          .args(p.args(), f, t, plan.x(), plan.workspace(), plan.b(), plan.y());
    };
    const bool whole = p.length % 4 == 0;
    if (p.dtype == DType::f16)
      whole ? launch(ENTRY(mma_tiles_f16)) : launch(ENTRY(mma_tiles_f16_odd));
    else
      whole ? launch(ENTRY(mma_tiles_bf16)) : launch(ENTRY(mma_tiles_bf16_odd));
  });
}
#endif
