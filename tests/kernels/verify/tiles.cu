// Kernels that read through shared memory, constants or a workspace, each with one fault: what a trace tells of them.
// Traced only. Stride 1, dilation 1, no groups, up to 8 taps; a block has 64 positions of an output channel.
#include "convscope/kernel.h"

namespace {
constexpr int n = 64, most_taps = 8, channels = 4;

enum class Fault { nothing, fill, read, weights, bias, unset, sums, vectors, reuse };

template <Fault fault>
__device__ __forceinline__ void tile(const ConvArgs& c, const float* x, const float* w, const float* b, float* y) {
  __shared__ __align__(16) float xs[channels][n + most_taps];
  __shared__ float ws[channels * most_taps], bs[n];
  const int t = threadIdx.x, K = static_cast<int>(c.kernel_size), width = n + K - 1;
  const int64_t tiles = (c.out_length + n - 1) / n, row = blockIdx.x / tiles, first = blockIdx.x % tiles * n;
  const int64_t co = row % c.out_channels, at = row / c.out_channels, left = first + c.padding - (K - 1);
  if (b && t < c.out_channels) bs[t] = b[t];
  float sum = 0;
  for (int64_t ci0 = 0; ci0 < c.in_channels; ci0 += channels) {
    __syncthreads();
    for (int e = t; e < channels * width; e += n) {
      const int64_t i = left + e % width + (fault == Fault::fill ? 1 : 0);
      if (fault == Fault::unset && e % width == 5) continue;
      const bool inside = i >= 0 && i < c.length;
      xs[e / width][e % width] = inside ? x[(at * c.in_channels + ci0 + e / width) * c.length + i] : 0;  // FILLS x
    }
    for (int e = t; e < channels * K; e += n) {
      const int64_t channel = fault == Fault::weights ? (co + 1) % c.out_channels : co;
      ws[e] = w[((ci0 + e / K) * c.out_channels + channel) * K + e % K];  // FILLS w
    }
    __syncthreads();
    for (int ci = 0; ci < channels; ci++)
      for (int k = 0; k < K; k++) {
        const float weight = ws[ci * K + k];                                     // READS w
        sum += weight * xs[ci][t + K - 1 - k + (fault == Fault::read ? 1 : 0)];  // READS x
      }
  }
  if (b) sum += bs[fault == Fault::bias ? (co + 1) % c.out_channels : co];  // READS b
  if (fault == Fault::sums) {
    __shared__ float sums[n];
    sums[t] = sum;
    __syncthreads();
    sum = sums[t ^ 1];
  }
  const int64_t j = first + t;
  if (j < c.out_length) y[row * c.out_length + j] = sum;
}

// Four outputs a thread, of 16 bytes of x read at once and the three values before them.
template <bool wrong>
__device__ __forceinline__ void four(const ConvArgs& c, const float* x, const float* w, float* y) {
  __shared__ __align__(16) float xs[n + 4];
  const int t = threadIdx.x;
  const int64_t row = blockIdx.x, co = row % c.out_channels, at = row / c.out_channels;
  float sum[4] = {};
  for (int64_t ci = 0; ci < c.in_channels; ci++) {
    __syncthreads();
    for (int o = t; o < n + 4; o += n) {
      const int64_t i = o - 4;
      xs[o] = i >= 0 && i < c.length ? x[(at * c.in_channels + ci) * c.length + i] : 0;
    }
    __syncthreads();
    if (t >= n / 4) continue;
    const float4 now = *reinterpret_cast<const float4*>(xs + 4 * t + (wrong ? 8 : 4) % n);  // READS four
    const float v[7] = {xs[4 * t + 1], xs[4 * t + 2], xs[4 * t + 3], now.x, now.y, now.z, now.w};
    for (int k = 0; k < c.kernel_size; k++) {
      const float weight = w[(ci * c.out_channels + co) * c.kernel_size + k];
      for (int q = 0; q < 4; q++) sum[q] += weight * v[3 + q - k];
    }
  }
  if (t >= n / 4) return;
  for (int q = 0; q < 4; q++)
    if (4 * t + q < c.out_length) y[row * c.out_length + 4 * t + q] = sum[q];
}

// Weights are put in another order first.
template <bool wrong>
__device__ __forceinline__ void packed(const ConvArgs& c, const float* x, const float* packed, float* y) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x, row = id / c.out_length;
  if (row >= c.batch * c.out_channels) return;
  const int64_t j = id % c.out_length, co = row % c.out_channels, at = row / c.out_channels;
  float sum = 0;
  for (int64_t ci = 0; ci < c.in_channels; ci++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      const int64_t i = j + c.padding - k;
      if (i < 0 || i >= c.length) continue;
      const float weight = packed[(k * c.in_channels + ci) * c.out_channels + (wrong ? 0 : co)];  // READS packed
      sum += weight * x[(at * c.in_channels + ci) * c.length + i];
    }
  y[id] = sum;
}
}  // namespace

extern "C" __global__ void tile_pack(const ConvArgs c, const float* w, float* to) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x;
  if (id >= c.in_channels * c.out_channels * c.kernel_size) return;
  const int64_t k = id % c.kernel_size, co = id / c.kernel_size % c.out_channels,
                ci = id / c.kernel_size / c.out_channels;
  to[(k * c.in_channels + ci) * c.out_channels + co] = w[id];
}

#define TILES(F)                                                                                            \
  F(tile_right, nothing)                                                                                    \
  F(tile_wrong_fill, fill) F(tile_wrong_read, read) F(tile_wrong_weights, weights) F(tile_wrong_bias, bias) \
      F(tile_unset, unset) F(tile_of_sums, sums)
#define TILE(name, fault)                                                                                             \
  extern "C" __global__ void name##_run(const ConvArgs c, const float* x, const float* w, const float* b, float* y) { \
    tile<Fault::fault>(c, x, w, b, y);                                                                                \
  }
TILES(TILE)
extern "C" __global__ void tile_four_run(const ConvArgs c, const float* x, const float* w, float* y) {
  four<false>(c, x, w, y);
}
extern "C" __global__ void tile_wrong_four_run(const ConvArgs c, const float* x, const float* w, float* y) {
  four<true>(c, x, w, y);
}
extern "C" __global__ void tile_packed_run(const ConvArgs c, const float* x, const float* w, float* y) {
  packed<false>(c, x, w, y);
}
extern "C" __global__ void tile_wrong_packed_run(const ConvArgs c, const float* x, const float* w, float* y) {
  packed<true>(c, x, w, y);
}

#define REGISTER(name, fault)                                                                       \
  CONVSCOPE_KERNEL(name) {                                                                          \
    test_only();                                                                                    \
    idea("for traces");                                                                             \
    plan([](const ConvProblem& p, Plan& plan) {                                                     \
      plan.launch(ENTRY(name##_run), {p.batch * p.out_channels * ceil_div(p.out_length(), n)}, {n}) \
          .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());                                  \
    });                                                                                             \
  }
TILES(REGISTER)
#define REGISTER_FOUR(name)                                                                                         \
  CONVSCOPE_KERNEL(name) {                                                                                          \
    test_only();                                                                                                    \
    idea("for traces");                                                                                             \
    plan([](const ConvProblem& p, Plan& plan) {                                                                     \
      plan.launch(ENTRY(name##_run), {p.batch * p.out_channels}, {n}).args(p.args(), plan.x(), plan.w(), plan.y()); \
    });                                                                                                             \
  }
REGISTER_FOUR(tile_four)
REGISTER_FOUR(tile_wrong_four)
#define REGISTER_PACKED(name)                                                                                       \
  CONVSCOPE_KERNEL(name) {                                                                                          \
    test_only();                                                                                                    \
    idea("for traces");                                                                                             \
    plan([](const ConvProblem& p, Plan& plan) {                                                                     \
      plan.need_workspace(static_cast<size_t>(p.w_elements()) * 4);                                                 \
      plan.launch(ENTRY(tile_pack), {ceil_div(p.w_elements(), n)}, {n}).args(p.args(), plan.w(), plan.workspace()); \
      plan.launch(ENTRY(name##_run), {ceil_div(p.y_elements(), n)}, {n})                                            \
          .args(p.args(), plan.x(), plan.workspace(), plan.y());                                                    \
    });                                                                                                             \
  }
REGISTER_PACKED(tile_packed)
REGISTER_PACKED(tile_wrong_packed)
