// Rung 5, registers: a thread computes up to 16 channels × 8 positions; tiles arrive while the last ones are used.
//
// Idea: what limits the rung before is not arithmetic but the loads that feed it: one number of x for 8 multiply-adds.
// Here a thread keeps 16 × 8 sums in registers, so that a tap costs 8 loads of x (neighbours in a warp: no bank
// conflict) and 4 of w (16 bytes, one address for the warp) for 128 multiply-adds. Tiles of x and w are copied
// asynchronously into the other of two buffers meanwhile. A launch of its own packs w, so that a tile's weights are
// consecutive; no index is divided while a tile is loaded. 16-bit weights are packed as f32, 16-bit x is widened as it
// comes out of shared memory.
// Right for: every legal problem. Needs: nothing (asynchronous copies from sm_80 on).
// Source: register blocking as in matrix products (Volkov & Demmel, Benchmarking GPUs to Tune Dense Linear Algebra,
// 2008); double buffering with cp.async (CUDA C++ Programming Guide, "Asynchronous Data Copies").
#include "convscope/activation.h"
#include "convscope/copy.h"
#include "convscope/half.h"
#include "phases.h"

constexpr int block_warps = 4;  // warps of a block, along channels and positions

struct RegisterTiles {
  int64_t classes, outs, positions, items;  // residue classes, channel tiles of a group, position tiles, all of them
  int32_t channel_warps;                    // warps along channels; the others along positions
  int32_t channels;                         // channels of a block, and of a row of packed weights
  int32_t width;                            // positions of a block
  int32_t round_in, round_taps;             // input channels and taps of a step
  int32_t pitch;                            // of a row of x in shared memory
  int32_t pieces;                           // 16-byte pieces of a row of packed weights, a power of two
};

constexpr int register_buffers = 3;  // steps in shared memory: one is used, the others are on their way

template <class T>
__device__ __forceinline__ void registers_pack(const ConvArgs& c, const RegisterTiles& tiles, const T* w,
                                               SumType<T>* packed) {
  using S = SumType<T>;
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int64_t all = c.groups * tiles.outs * cin * c.kernel_size * tiles.channels;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    int64_t rest = id;  // [group][tile][ci][k][channel]
    int64_t channel = rest % tiles.channels;
    rest /= tiles.channels;
    int64_t k = rest % c.kernel_size;
    rest /= c.kernel_size;
    int64_t ci = rest % cin;
    rest /= cin;
    int64_t co = rest % tiles.outs * tiles.channels + channel, group = rest / tiles.outs;
    packed[id] = co < cout ? static_cast<S>(w[((group * cin + ci) * cout + co) * c.kernel_size + k]) : S(0);
  }
}

// whole: rows of x begin on 16 bytes, so they are copied in 16-byte pieces.
template <class T, int C, int P, bool whole>
__device__ __forceinline__ void registers(const ConvArgs& c, const Phases& f, const RegisterTiles& tiles, const T* x,
                                          const SumType<T>* packed, const T* b, T* y) {
  using S = SumType<T>;
  CONVSCOPE_DYNAMIC_SHARED(S, shared);
  constexpr int piece = static_cast<int>(16 / sizeof(T)), weight_piece = static_cast<int>(16 / sizeof(S));
  constexpr int x_per_sum = static_cast<int>(sizeof(S) / sizeof(T));
  int cin = static_cast<int>(c.in_channels / c.groups), cout = static_cast<int>(c.out_channels / c.groups);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int channel0 = warp % tiles.channel_warps * C, position0 = warp / tiles.channel_warps * 32 * P + lane;
  int thread = threadIdx.x, xs_size = tiles.round_in * tiles.pitch / x_per_sum,
      buffer = xs_size + tiles.round_in * tiles.round_taps * tiles.channels;

  for (int64_t item = blockIdx.x; item < tiles.items; item += gridDim.x) {
    int64_t rest = item;
    int64_t offset = rest % tiles.classes;  // outputs j = offset + m·s
    rest /= tiles.classes;
    int64_t out_tile = rest % tiles.outs;
    rest /= tiles.outs;
    int64_t m0 = rest % tiles.positions * tiles.width;
    rest /= tiles.positions;
    int64_t group = rest % c.groups, n = rest / c.groups;
    int co0 = static_cast<int>(out_tile * tiles.channels) + channel0;

    S sum[C][P];
#pragma unroll
    for (int q = 0; q < C; q++) {
      S start = b && co0 + q < cout ? static_cast<S>(b[group * cout + co0 + q]) : S(0);
#pragma unroll
      for (int i = 0; i < P; i++) sum[q][i] = start;
    }
    int64_t r = (offset + c.padding) % c.stride;
    int64_t k0 = r % f.gcd == 0 ? (r / f.gcd) * f.inverse % f.period : c.kernel_size;
    int taps = static_cast<int>(k0 < c.kernel_size ? (c.kernel_size - 1 - k0) / f.period + 1 : 0);
    int64_t base = (offset + c.padding - k0 * c.dilation) / c.stride;  // exact: k0·d ≡ r
    bool mine = co0 < cout && offset + (m0 + position0) * c.stride < c.out_length;

    const T* xn = x + (n * c.in_channels + group * cin) * c.length;
    const S* wn = packed + (group * tiles.outs + out_tile) * cin * c.kernel_size * tiles.channels;
    // A step: some input channels of some taps.
    auto taps_from = [&](int u0) { return min(tiles.round_taps, taps - u0); };
    auto advance = [&](int& u0, int& ci0) {
      ci0 += tiles.round_in;
      if (ci0 >= cin) ci0 = 0, u0 += tiles.round_taps;
    };
    // The input position that the step's last tap reads for m0. A row in shared memory begins there, or up to a piece
    // before it.
    auto left_of = [&](int u0) { return m0 + base - (u0 + taps_from(u0) - 1) * f.back; };
    auto before = [](int64_t left) { return whole ? static_cast<int>(left) & (piece - 1) : 0; };
    auto copy = [&](int u0, int ci0, S* to) {
      T* xs = reinterpret_cast<T*>(to);
      S* ws = to + xs_size;
      int now = taps_from(u0), channels = min(tiles.round_in, cin - ci0);
      int64_t left = left_of(u0);
      left -= before(left);
      for (int ci = warp; ci < channels; ci += block_warps) {
        const T* row = xn + static_cast<int64_t>(ci0 + ci) * c.length;
        constexpr int n = whole ? piece : 1;
        for (int o = lane * n; o < tiles.pitch; o += 32 * n) {
          bool inside = left + o >= 0 && left + o < c.length;
          if constexpr (n * sizeof(T) >= 4)
            copy_async<n * sizeof(T)>(xs + ci * tiles.pitch + o, inside ? row + left + o : row, inside);
          else  // too small for an asynchronous copy
            xs[ci * tiles.pitch + o] = inside ? row[left + o] : T(0);
        }
      }
      const S* from =
          wn + (ci0 * c.kernel_size + k0 + u0 * f.period) * tiles.channels + thread % tiles.pieces * weight_piece;
      for (int r = thread / tiles.pieces; r < channels * now; r += block_warps * 32 / tiles.pieces) {
        int ci = r / now, u = r - ci * now;
        copy_async<16>(ws + (ci * tiles.round_taps + u) * tiles.channels + thread % tiles.pieces * weight_piece,
                       from + (ci * c.kernel_size + u * f.period) * tiles.channels, true);
      }
    };
    int next_u0 = 0, next_ci0 = 0;
    int here = 0, next = 0;  // buffers
    auto copy_next = [&] {
      if (next_u0 < taps) copy(next_u0, next_ci0, shared + next * buffer);
      copies_commit();
      advance(next_u0, next_ci0);
      if (++next == register_buffers) next = 0;
    };
    for (int i = 0; i < register_buffers - 1; i++) copy_next();
    for (int u0 = 0, ci0 = 0; u0 < taps; advance(u0, ci0)) {
      copies_wait<register_buffers - 2>();
      __syncthreads();
      copy_next();  // into the buffer everyone has left
      if (mine) {
        int now = taps_from(u0), back = now > 1 ? static_cast<int>(f.back) : 0;
        int channels = min(tiles.round_in, cin - ci0);
        const T* line =
            reinterpret_cast<const T*>(shared + here * buffer) + position0 + (now - 1) * back + before(left_of(u0));
        const S* weights = shared + here * buffer + xs_size + channel0;
        for (int ci = 0; ci < channels; ci++) {
          const T* at = line;
          const S* wt = weights;
          for (int u = 0; u < now; u++) {
            S xv[P], wv[C];
#pragma unroll
            for (int p = 0; p < P; p++) xv[p] = static_cast<S>(at[32 * p]);
            if constexpr (C % 4 == 0 && sizeof(S) == 4) {
#pragma unroll
              for (int q = 0; q < C; q += 4) {
                float4 v = *reinterpret_cast<const float4*>(wt + q);
                wv[q] = v.x, wv[q + 1] = v.y, wv[q + 2] = v.z, wv[q + 3] = v.w;
              }
            } else {
#pragma unroll
              for (int q = 0; q < C; q++) wv[q] = wt[q];
            }
#pragma unroll
            for (int q = 0; q < C; q++)
#pragma unroll
              for (int p = 0; p < P; p++) sum[q][p] += xv[p] * wv[q];
            at -= back;
            wt += tiles.channels;
          }
          line += tiles.pitch;
          weights += tiles.round_taps * tiles.channels;
        }
      }
      if (++here == register_buffers) here = 0;
    }
    __syncthreads();  // before the next item's copies
    if (mine)
#pragma unroll
      for (int q = 0; q < C; q++) {
        if (co0 + q >= cout) break;
        T* row = y + (n * c.out_channels + group * cout + co0 + q) * c.out_length;
#pragma unroll
        for (int p = 0; p < P; p++) {
          int64_t j = offset + (m0 + position0 + 32 * p) * c.stride;
          if (j < c.out_length) row[j] = static_cast<T>(activated(sum[q][p]));
        }
      }
  }
}

#define CONVSCOPE_REGISTERS(name, T, C, P, whole, blocks)                                                     \
  extern "C" __global__ void __launch_bounds__(block_warps * 32, blocks)                                      \
      name(const ConvArgs c, const Phases f, const RegisterTiles tiles, const T* x, const SumType<T>* packed, \
           const T* b, T* y) {                                                                                \
    registers<T, C, P, whole>(c, f, tiles, x, packed, b, y);                                                  \
  }
CONVSCOPE_REGISTERS(registers_f32_16, float, 16, 8, true, 3)
CONVSCOPE_REGISTERS(registers_f32_8, float, 8, 8, true, 4)
CONVSCOPE_REGISTERS(registers_f32_1, float, 1, 8, true, 5)
CONVSCOPE_REGISTERS(registers_f32_16_odd, float, 16, 8, false, 3)
CONVSCOPE_REGISTERS(registers_f32_8_odd, float, 8, 8, false, 4)
CONVSCOPE_REGISTERS(registers_f32_1_odd, float, 1, 8, false, 5)
CONVSCOPE_REGISTERS(registers_f16_16, __half, 16, 8, true, 3)
CONVSCOPE_REGISTERS(registers_f16_8, __half, 8, 8, true, 4)
CONVSCOPE_REGISTERS(registers_f16_1, __half, 1, 8, true, 5)
CONVSCOPE_REGISTERS(registers_f16_16_odd, __half, 16, 8, false, 3)
CONVSCOPE_REGISTERS(registers_f16_8_odd, __half, 8, 8, false, 4)
CONVSCOPE_REGISTERS(registers_f16_1_odd, __half, 1, 8, false, 5)
CONVSCOPE_REGISTERS(registers_bf16_16, __nv_bfloat16, 16, 8, true, 3)
CONVSCOPE_REGISTERS(registers_bf16_8, __nv_bfloat16, 8, 8, true, 4)
CONVSCOPE_REGISTERS(registers_bf16_1, __nv_bfloat16, 1, 8, true, 5)
CONVSCOPE_REGISTERS(registers_bf16_16_odd, __nv_bfloat16, 16, 8, false, 3)
CONVSCOPE_REGISTERS(registers_bf16_8_odd, __nv_bfloat16, 8, 8, false, 4)
CONVSCOPE_REGISTERS(registers_bf16_1_odd, __nv_bfloat16, 1, 8, false, 5)
CONVSCOPE_REGISTERS(registers_f64_8, double, 8, 4, false, 3)
CONVSCOPE_REGISTERS(registers_f64_1, double, 1, 4, false, 5)
extern "C" __global__ void __launch_bounds__(256)
    registers_pack_f32(const ConvArgs c, const RegisterTiles tiles, const float* w, float* packed) {
  registers_pack(c, tiles, w, packed);
}
extern "C" __global__ void __launch_bounds__(256)
    registers_pack_f64(const ConvArgs c, const RegisterTiles tiles, const double* w, double* packed) {
  registers_pack(c, tiles, w, packed);
}
extern "C" __global__ void __launch_bounds__(256)
    registers_pack_f16(const ConvArgs c, const RegisterTiles tiles, const __half* w, float* packed) {
  registers_pack(c, tiles, w, packed);
}
extern "C" __global__ void __launch_bounds__(256)
    registers_pack_bf16(const ConvArgs c, const RegisterTiles tiles, const __nv_bfloat16* w, float* packed) {
  registers_pack(c, tiles, w, packed);
}

#ifndef __CUDACC__
constexpr int64_t register_halo = 256;          // most extra positions of x in shared memory
constexpr int64_t register_taps = 16;           // most taps a step
constexpr int64_t register_shared = 64 * 1024;  // bytes of all buffers

CONVSCOPE_KERNEL(registers) {
  rung(5);
  idea("16 channels × 8 positions a thread in registers, copies ahead into a second buffer");
  activates();
  plan([](const ConvProblem& p, Plan& plan) {
    Phases f = phases_of(p);
    bool wide = p.dtype == DType::f64;
    int64_t cout = p.out_per_group(), per_thread = cout == 1 ? 1 : wide || cout <= 8 ? 8 : 16, positions = wide ? 4 : 8;
    RegisterTiles t{};
    t.channel_warps = cout <= per_thread ? 1 : cout <= 2 * per_thread ? 2 : 4;
    t.channels = static_cast<int32_t>(std::max<int64_t>(per_thread * t.channel_warps, 4));  // whole 16-byte pieces
    t.width = static_cast<int32_t>(block_warps / t.channel_warps * 32 * positions);
    t.classes = std::min(p.stride, p.out_length());
    t.outs = ceil_div(cout, t.channels);
    t.positions = ceil_div(ceil_div(p.out_length(), p.stride), t.width);
    t.items = t.classes * t.outs * t.positions * p.groups * p.batch;
    t.round_taps = static_cast<int32_t>(
        std::min<int64_t>({ceil_div(p.kernel_size, f.period), register_taps, 1 + register_halo / f.back}));
    // Elements of a 16-byte piece; a row begins up to one less before what it is read from.
    const int64_t piece = convscope::is_half(p.dtype) ? 8 : 4;
    const size_t element = convscope::size_of(p.dtype), sum = wide ? 8 : 4;
    t.pitch = static_cast<int32_t>(ceil_div(t.width + (t.round_taps - 1) * f.back + piece - 1, piece) * piece);
    t.pieces = static_cast<int32_t>(t.channels * sum / 16);
    size_t one_channel = static_cast<size_t>(t.pitch) * element + static_cast<size_t>(t.round_taps * t.channels) * sum;
    t.round_in =
        static_cast<int32_t>(std::clamp<int64_t>(register_shared / register_buffers / static_cast<int64_t>(one_channel),
                                                 1, std::min<int64_t>(p.in_per_group(), 8)));
    int64_t words = p.groups * t.outs * p.in_per_group() * p.kernel_size * t.channels;
    plan.need_workspace(static_cast<size_t>(words) * sum);
    Shape pack{std::min<int64_t>(ceil_div(words, 256), 2048)}, grid{std::min<int64_t>(t.items, (int64_t{1} << 31) - 1)},
        block{block_warps * 32};
    size_t shared = register_buffers * static_cast<size_t>(t.round_in) * one_channel;
    auto launch = [&](auto entry) {
      plan.launch(entry, grid, block, shared).args(p.args(), f, t, plan.x(), plan.workspace(), plan.b(), plan.y());
    };
    for_type(
        p.dtype, [&](auto entry) { plan.launch(entry, pack, {256}).args(p.args(), t, plan.w(), plan.workspace()); },
        ENTRY(registers_pack_f32), ENTRY(registers_pack_f64), ENTRY(registers_pack_f16), ENTRY(registers_pack_bf16));
    const bool whole = p.length % piece == 0;
    auto any = [&](auto f32, auto f64, auto f16, auto bf16) { for_type(p.dtype, launch, f32, f64, f16, bf16); };
    if (per_thread == 1)
      whole ? any(ENTRY(registers_f32_1), ENTRY(registers_f64_1), ENTRY(registers_f16_1), ENTRY(registers_bf16_1))
            : any(ENTRY(registers_f32_1_odd), ENTRY(registers_f64_1), ENTRY(registers_f16_1_odd),
                  ENTRY(registers_bf16_1_odd));
    else if (per_thread == 8)
      whole ? any(ENTRY(registers_f32_8), ENTRY(registers_f64_8), ENTRY(registers_f16_8), ENTRY(registers_bf16_8))
            : any(ENTRY(registers_f32_8_odd), ENTRY(registers_f64_8), ENTRY(registers_f16_8_odd),
                  ENTRY(registers_bf16_8_odd));
    else  // never f64
      whole ? any(ENTRY(registers_f32_16), ENTRY(registers_f64_8), ENTRY(registers_f16_16), ENTRY(registers_bf16_16))
            : any(ENTRY(registers_f32_16_odd), ENTRY(registers_f64_8), ENTRY(registers_f16_16_odd),
                  ENTRY(registers_bf16_16_odd));
  });
}
#endif
