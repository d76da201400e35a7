// Rung 16, depthwise: few products an output, so that writing y is the work; four neighbours of a row leave at once.
//
// Idea: where an output has a few taps of one input channel (depthwise layers, anti-aliased upsampling) or none (K <
// s), neither tiles nor packed weights pay: y is most of the traffic, and what costs is working out which taps land
// where. That depends on the output's class (j + p) mod s alone. A thread's outputs keep their classes: 16 bytes of a
// row, and then others a multiple of s further on. So classes are worked out once a thread, without a division, and the
// weights of up to eight taps stay in registers. Each row is cut where its addresses are multiples of 16 bytes,
// whatever its length. Right for: rows and strides that 32 bits hold, all channels and groups (long sums are other
// rungs' work). Needs: nothing. Source: polyphase interpolators (Crochiere & Rabiner, Multirate Digital Signal
// Processing, 3.3); wide accesses (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory").
#include "convscope/activation.h"
#include "convscope/half.h"
#include "divisor.h"
#include "phases.h"

constexpr int depthwise_threads = 128;

struct DepthwiseTiles {
  Divisor across;     // threads along a row
  Divisor chunks;     // blocks along a row
  Divisor channels;   // of y
  Divisor per_group;  // channels of y in a group
  Divisor stride, gcd, period;
  int32_t rows;         // of a block
  int32_t all_rows;     // of y
  int32_t in;           // input channels of a group
  int32_t steps;        // pieces of a thread
  int32_t ahead;        // input positions between two pieces of a thread
  int32_t lift;         // input positions added to a place while it is divided, so that it is not negative
  int32_t most, full;   // taps of a class whose first tap is at most `full`; the others have one fewer
  int32_t next, right;  // from a class to the next one that taps reach: its first tap, and where that reads
};

// An address that is worked out once: the compiler would put it together again at every access.
template <class T>
__device__ __forceinline__ T* once(T* p) {
#if defined(__CUDACC__)
  asm volatile("" : "+l"(p));
  __builtin_assume(__isGlobal(p));
#endif
  return p;
}

// Outputs j to j + V − 1 of a row, where they lie in it; together they are 16 bytes at a multiple of 16.
template <class T, int V>
__device__ __forceinline__ void store_piece(T* row, int j, int length, const SumType<T> (&sum)[V]) {
  T v[V];
#pragma unroll
  for (int e = 0; e < V; e++) v[e] = static_cast<T>(activated(sum[e]));
  if (V > 1 && j >= 0 && j + V <= length) {
    unsigned word[4];
    __builtin_memcpy(word, v, V > 1 ? sizeof word : 0);
    *reinterpret_cast<float4*>(row + j) = make_float4(__uint_as_float(word[0]), __uint_as_float(word[1]),
                                                      __uint_as_float(word[2]), __uint_as_float(word[3]));
    return;
  }
#pragma unroll
  for (int e = 0; e < V; e++)
    if (j + e >= 0 && j + e < length) row[j + e] = v[e];
}

// V: outputs of a piece. held: taps whose weights stay in registers, of one input channel a group; 0: any number of
// both.
template <class T, int V, int held>
__device__ __forceinline__ void depthwise(const ConvArgs& c, const Phases& f, const DepthwiseTiles& tiles,
                                          const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ b,
                                          T* __restrict__ y) {
  using S = SumType<T>;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int above = tiles.across.of(thread), tile = tiles.chunks.of(block);
  const int row = tile * tiles.rows + above;
  if (above >= tiles.rows || row >= tiles.all_rows) return;
  const int n = tiles.channels.of(row), co = row - n * tiles.channels.by, group = tiles.per_group.of(co);
  const int cin = held ? 1 : tiles.in, cout = tiles.per_group.by;
  const int length = static_cast<int>(c.length), out_length = static_cast<int>(c.out_length);
  const int stride = tiles.stride.by, back = static_cast<int>(f.back), period = tiles.period.by;

  T* out = once(y + row * c.out_length);
  const T* in = once(x + (n * c.in_channels + group * cin) * c.length);
  const T* weights = once(w + (static_cast<int64_t>(group) * cin * cout + co - group * cout) * c.kernel_size);
  const int step = tiles.across.by * V;
  int j = (block - tile * tiles.chunks.by) * tiles.steps * step + (thread - above * tiles.across.by) * V;
  if constexpr (V > 1) j -= static_cast<int>(reinterpret_cast<uintptr_t>(out) / sizeof(T) % V);

  // Of each output: its first tap, how many follow, and what the first one reads. Those of the first are divided out,
  // its neighbours' follow from them.
  int tap[V], taps[V], at[V];
  const int place = j + static_cast<int>(c.padding) + tiles.lift * stride, q = tiles.stride.of(place);
  const int r = place - q * stride, part = tiles.gcd.of(r), turn = part * tiles.next;
  int beyond = r - part * tiles.gcd.by, k = turn - tiles.period.of(turn) * period;
  int i0 = q - tiles.lift - tiles.stride.of(k * static_cast<int>(c.dilation) - (r - beyond));
#pragma unroll
  for (int e = 0; e < V; e++) {
    tap[e] = k, at[e] = i0, taps[e] = beyond ? 0 : tiles.most - (k > tiles.full);
    if (++beyond == tiles.gcd.by) {
      beyond = 0, k += tiles.next, i0 += tiles.right;
      if (k >= period) k -= period, i0 += back;
    }
  }
  S kept[held ? held : 1][V];
  if constexpr (held > 0)
#pragma unroll
    for (int u = 0; u < held; u++)
#pragma unroll
      for (int e = 0; e < V; e++) kept[u][e] = u < taps[e] ? static_cast<S>(weights[tap[e] + u * period]) : S(0);

  const S start = b ? static_cast<S>(b[co]) : S(0);
  for (int i = 0; i < tiles.steps && j < out_length; i++, j += step) {
    S sum[V];
#pragma unroll
    for (int e = 0; e < V; e++) sum[e] = start;
    if constexpr (held > 0) {
#pragma unroll
      for (int u = 0; u < held; u++)
#pragma unroll
        for (int e = 0; e < V; e++) {
          const int from = at[e] - u * back;
          if (u < taps[e] && static_cast<unsigned>(from) < static_cast<unsigned>(length))
            sum[e] += static_cast<S>(in[from]) * kept[u][e];
        }
    } else {
      const T *xs = in, *ws = weights;
      for (int ci = 0; ci < cin; ci++, xs += c.length, ws += cout * c.kernel_size)
#pragma unroll(V == 1 ? 8 : 2)
        for (int u = 0; u < tiles.most; u++)
#pragma unroll
          for (int e = 0; e < V; e++) {
            const int from = at[e] - u * back;
            if (u < taps[e] && static_cast<unsigned>(from) < static_cast<unsigned>(length))
              sum[e] += static_cast<S>(xs[from]) * static_cast<S>(ws[tap[e] + u * period]);
          }
    }
    store_piece<T, V>(out, j, out_length, sum);
#pragma unroll
    for (int e = 0; e < V; e++) at[e] += tiles.ahead;
  }
}

#define CONVSCOPE_DEPTHWISE(name, T, V, held)                                                                        \
  extern "C" __global__ void __launch_bounds__(depthwise_threads)                                                    \
      name(const ConvArgs c, const Phases f, const DepthwiseTiles tiles, const T* x, const T* w, const T* b, T* y) { \
    depthwise<T, V, held>(c, f, tiles, x, w, b, y);                                                                  \
  }
CONVSCOPE_DEPTHWISE(depthwise_f32_1, float, 4, 1)
CONVSCOPE_DEPTHWISE(depthwise_f32_4, float, 4, 4)
CONVSCOPE_DEPTHWISE(depthwise_f32_8, float, 4, 8)
CONVSCOPE_DEPTHWISE(depthwise_f32_any, float, 4, 0)
CONVSCOPE_DEPTHWISE(depthwise_f32_single, float, 1, 0)
CONVSCOPE_DEPTHWISE(depthwise_f64_1, double, 2, 1)
CONVSCOPE_DEPTHWISE(depthwise_f64_4, double, 2, 4)
CONVSCOPE_DEPTHWISE(depthwise_f64_8, double, 2, 8)
CONVSCOPE_DEPTHWISE(depthwise_f64_any, double, 2, 0)
CONVSCOPE_DEPTHWISE(depthwise_f64_single, double, 1, 0)
CONVSCOPE_DEPTHWISE(depthwise_f16_1, __half, 8, 1)
CONVSCOPE_DEPTHWISE(depthwise_f16_4, __half, 8, 4)
CONVSCOPE_DEPTHWISE(depthwise_f16_8, __half, 8, 8)
CONVSCOPE_DEPTHWISE(depthwise_f16_any, __half, 8, 0)
CONVSCOPE_DEPTHWISE(depthwise_f16_single, __half, 1, 0)
CONVSCOPE_DEPTHWISE(depthwise_bf16_1, __nv_bfloat16, 8, 1)
CONVSCOPE_DEPTHWISE(depthwise_bf16_4, __nv_bfloat16, 8, 4)
CONVSCOPE_DEPTHWISE(depthwise_bf16_8, __nv_bfloat16, 8, 8)
CONVSCOPE_DEPTHWISE(depthwise_bf16_any, __nv_bfloat16, 8, 0)
CONVSCOPE_DEPTHWISE(depthwise_bf16_single, __nv_bfloat16, 1, 0)

#ifndef __CUDACC__
CONVSCOPE_KERNEL(depthwise) {
  rung(16);
  idea("few taps an output: classes worked out once a thread, 16 bytes of a row at a time, weights in registers");
  activates();
  supports([](const ConvProblem& p) -> std::string {
    constexpr int64_t most = int64_t{1} << 30;
    const bool fits = p.length < most && p.out_length() + 2 * p.stride + 16 < most &&
                      p.padding < most - p.out_length() && p.kernel_size <= (most - 1) / p.dilation &&
                      p.stride < (1 << 15) && p.dilation <= (most - 1) / p.stride && p.batch * p.out_channels < most;
    return fits ? "" : "takes rows below 2^30, strides below 2^15, K · dilation and stride · dilation below 2^30";
  });
  plan([](const ConvProblem& p, Plan& plan) {
    const Phases f = phases_of(p);
    // A small result leaves by single elements: more threads, each with less to wait for.
    const bool single = p.y_elements() <= 1056 * depthwise_threads;
    const int64_t v = single ? 1 : 16 / static_cast<int64_t>(convscope::size_of(p.dtype));
    const int64_t pieces = ceil_div(p.out_length() + v - 1, v), all_rows = p.batch * p.out_channels;
    int64_t fit = p.stride;  // threads after which classes repeat: s/gcd(s, v), v a power of two
    for (int64_t w = v; w > 1 && fit % 2 == 0; w /= 2) fit /= 2;
    DepthwiseTiles t{};
    int64_t across = std::min<int64_t>(pieces, depthwise_threads), chunks = 1;
    t.rows = static_cast<int32_t>(depthwise_threads / across), t.steps = 1;
    if (pieces > depthwise_threads) {
      const bool repeats = fit <= depthwise_threads;
      if (repeats) across = depthwise_threads / fit * fit;
      const int64_t turns = ceil_div(pieces, across);
      if (repeats) t.steps = static_cast<int32_t>(std::clamp<int64_t>(turns * all_rows / 2112, 1, 16));
      chunks = ceil_div(turns, t.steps);
    }
    t.across = divisor_of(across), t.chunks = divisor_of(chunks), t.channels = divisor_of(p.out_channels);
    t.per_group = divisor_of(p.out_per_group());
    t.stride = divisor_of(p.stride), t.gcd = divisor_of(f.gcd), t.period = divisor_of(f.period);
    t.all_rows = static_cast<int32_t>(all_rows);
    t.ahead = static_cast<int32_t>(across * v / p.stride);
    t.lift = static_cast<int32_t>(ceil_div(v, p.stride));
    t.in = static_cast<int32_t>(p.in_per_group());
    t.most = static_cast<int32_t>(ceil_div(p.kernel_size, f.period));
    t.full = static_cast<int32_t>((p.kernel_size - 1) % f.period);
    // inverse · back = 1 + a multiple of the period
    t.next = static_cast<int32_t>(f.inverse), t.right = static_cast<int32_t>((1 - f.inverse * f.back) / f.period);
    const Shape grid{ceil_div(all_rows, t.rows) * chunks}, block{depthwise_threads};
    auto launch = [&](auto entry) {
      plan.launch(entry, grid, block).args(p.args(), f, t, plan.x(), plan.w(), plan.b(), plan.y());
    };
    auto any = [&](auto f32, auto f64, auto f16, auto bf16) { for_type(p.dtype, launch, f32, f64, f16, bf16); };
    const int64_t taps = p.in_per_group() == 1 && !single ? t.most : 9;
    if (single)
      any(ENTRY(depthwise_f32_single), ENTRY(depthwise_f64_single), ENTRY(depthwise_f16_single),
          ENTRY(depthwise_bf16_single));
    else if (taps == 1)
      any(ENTRY(depthwise_f32_1), ENTRY(depthwise_f64_1), ENTRY(depthwise_f16_1), ENTRY(depthwise_bf16_1));
    else if (taps <= 4)
      any(ENTRY(depthwise_f32_4), ENTRY(depthwise_f64_4), ENTRY(depthwise_f16_4), ENTRY(depthwise_bf16_4));
    else if (taps <= 8)
      any(ENTRY(depthwise_f32_8), ENTRY(depthwise_f64_8), ENTRY(depthwise_f16_8), ENTRY(depthwise_bf16_8));
    else
      any(ENTRY(depthwise_f32_any), ENTRY(depthwise_f64_any), ENTRY(depthwise_f16_any), ENTRY(depthwise_bf16_any));
  });
}
#endif
