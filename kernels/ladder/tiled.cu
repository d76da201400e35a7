// Rung 4, tiled: a block keeps a stretch of x and the weights it needs in shared memory; a thread computes eight
// channels.
//
// Idea: outputs of one residue class are an ordinary convolution of x: its m-th output reads x[m + base − u·back] for
// its taps u. A block takes 256 consecutive m of one class and 8 output channels; it loads x (with its halo) and w once
// for 8 input channels at a time, and every loaded x is used for 8 channels and all taps. Device memory is read about
// 1/8 as often. Right for: every legal problem (taps that lie too far apart for one halo are taken in several rounds).
// Needs: nothing. Source: shared-memory tiling with halo (Kirk & Hwu, Programming Massively Parallel Processors, ch.
// 7).
#include "convscope/activation.h"
#include "convscope/half.h"
#include "phases.h"

constexpr int tile_positions = 256;  // threads of a block
constexpr int tile_out = 8;          // output channels of a thread
constexpr int tile_in = 8;           // input channels a round
constexpr int tile_halo = 256;       // most extra positions of x in shared memory
constexpr int tile_taps = 32;        // most taps a round

struct Tiles {
  int64_t classes;      // residue classes that have an output: min(s, Lout)
  int64_t positions;    // tiles of 256 positions in a class
  int64_t outs;         // tiles of 8 channels in a group
  int64_t items;        // work items in all
  int64_t round_taps;   // taps a round: as many as halo and table hold
  int64_t round_width;  // positions of x a round: 256 + halo
};

template <class T>
__device__ __forceinline__ void tiled(const ConvArgs& c, const Phases& f, const Tiles& tiles, const T* x, const T* w,
                                      const T* b, T* y) {
  using S = SumType<T>;  // 16-bit numbers are widened once, on their way to shared memory
  CONVSCOPE_DYNAMIC_SHARED(S, shared);
  S* xs = shared;                                // [tile_in][round_width]
  S* ws = shared + tile_in * tiles.round_width;  // [tile_in][round_taps][tile_out]
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int t = threadIdx.x;

  for (int64_t item = blockIdx.x; item < tiles.items; item += gridDim.x) {
    int64_t rest = item;
    int64_t offset = rest % tiles.classes;  // outputs j = offset + m·s
    rest /= tiles.classes;
    int64_t m0 = rest % tiles.positions * tile_positions;
    rest /= tiles.positions;
    int64_t co0 = rest % tiles.outs * tile_out;
    rest /= tiles.outs;
    int64_t group = rest % c.groups, n = rest / c.groups;

    S sum[tile_out];
#pragma unroll
    for (int q = 0; q < tile_out; q++) {
      int64_t co = co0 + q;
      sum[q] = b && co < cout ? static_cast<S>(b[group * cout + co]) : S(0);
    }
    int64_t r = (offset + c.padding) % c.stride;
    int64_t k0 = r % f.gcd == 0 ? (r / f.gcd) * f.inverse % f.period : c.kernel_size;
    int64_t taps = k0 < c.kernel_size ? (c.kernel_size - 1 - k0) / f.period + 1 : 0;
    int64_t base = (offset + c.padding - k0 * c.dilation) / c.stride;  // exact: k0·d ≡ r

    for (int64_t u0 = 0; u0 < taps; u0 += tiles.round_taps) {
      int now = static_cast<int>(min(tiles.round_taps, taps - u0));
      int back = static_cast<int>(now > 1 ? f.back : 0), halo = (now - 1) * back, width = tile_positions + halo;
      int64_t left = m0 + base - (u0 + now - 1) * f.back;  // input position of xs[·][0]
      for (int64_t ci0 = 0; ci0 < cin; ci0 += tile_in) {
        int channels = static_cast<int>(min(static_cast<int64_t>(tile_in), cin - ci0));
        __syncthreads();
        for (int e = t; e < channels * width; e += tile_positions) {
          int ci = e / width, o = e % width;
          int64_t i = left + o;
          int64_t at = (n * c.in_channels + group * cin + ci0 + ci) * c.length + i;
          xs[ci * tiles.round_width + o] = i >= 0 && i < c.length ? static_cast<S>(x[at]) : S(0);
        }
        for (int e = t; e < channels * now * tile_out; e += tile_positions) {
          int ci = e / (now * tile_out), u = e / tile_out % now, q = e % tile_out;
          int64_t at = ((group * cin + ci0 + ci) * cout + co0 + q) * c.kernel_size + k0 + (u0 + u) * f.period;
          ws[(ci * tiles.round_taps + u) * tile_out + q] = co0 + q < cout ? static_cast<S>(w[at]) : S(0);
        }
        __syncthreads();
        for (int ci = 0; ci < channels; ci++) {
          const S* line = xs + ci * tiles.round_width + t + halo;
          const S* weights = ws + ci * tiles.round_taps * tile_out;
          for (int u = 0; u < now; u++) {
            S v = line[-u * back];
#pragma unroll
            for (int q = 0; q < tile_out; q++) sum[q] += v * weights[u * tile_out + q];
          }
        }
      }
    }
    int64_t j = offset + (m0 + t) * c.stride;
    if (j < c.out_length)
#pragma unroll
      for (int q = 0; q < tile_out; q++)
        if (co0 + q < cout)
          y[(n * c.out_channels + group * cout + co0 + q) * c.out_length + j] = static_cast<T>(activated(sum[q]));
  }
}

extern "C" __global__ void __launch_bounds__(tile_positions)
    tiled_f32(const ConvArgs c, const Phases f, const Tiles tiles, const float* x, const float* w, const float* b,
              float* y) {
  tiled(c, f, tiles, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(tile_positions)
    tiled_f64(const ConvArgs c, const Phases f, const Tiles tiles, const double* x, const double* w, const double* b,
              double* y) {
  tiled(c, f, tiles, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(tile_positions)
    tiled_f16(const ConvArgs c, const Phases f, const Tiles tiles, const __half* x, const __half* w, const __half* b,
              __half* y) {
  tiled(c, f, tiles, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(tile_positions)
    tiled_bf16(const ConvArgs c, const Phases f, const Tiles tiles, const __nv_bfloat16* x, const __nv_bfloat16* w,
               const __nv_bfloat16* b, __nv_bfloat16* y) {
  tiled(c, f, tiles, x, w, b, y);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(tiled) {
  rung(4);
  idea("tiles of x with halo and of w in shared memory, eight output channels a thread");
  activates();
  plan([](const ConvProblem& p, Plan& plan) {
    Phases f = phases_of(p);
    Tiles t{};
    t.classes = std::min(p.stride, p.out_length());
    t.positions = ceil_div(ceil_div(p.out_length(), p.stride), tile_positions);
    t.outs = ceil_div(p.out_per_group(), tile_out);
    t.items = t.classes * t.positions * t.outs * p.groups * p.batch;
    int64_t most_taps = ceil_div(p.kernel_size, f.period);
    t.round_taps = std::min<int64_t>({most_taps, tile_taps, 1 + tile_halo / f.back});
    t.round_width = tile_positions + (t.round_taps - 1) * f.back;
    size_t shared =
        static_cast<size_t>(tile_in * (t.round_width + t.round_taps * tile_out)) * (p.dtype == DType::f64 ? 8 : 4);
    int64_t grid = std::min<int64_t>(t.items, (int64_t{1} << 31) - 1);
    for_type(
        p.dtype,
        [&](auto entry) {
          plan.launch(entry, {grid}, {tile_positions}, shared)
              .args(p.args(), f, t, plan.x(), plan.w(), plan.b(), plan.y());
        },
        ENTRY(tiled_f32), ENTRY(tiled_f64), ENTRY(tiled_f16), ENTRY(tiled_bf16));
  });
}
#endif
