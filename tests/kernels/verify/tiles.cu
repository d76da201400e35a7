// Kernels that read through shared memory, constants or a workspace, each with one fault: what a trace tells of them.
// Traced only. Stride 1, dilation 1, no groups, up to 8 taps; a block has 64 positions of an output channel.
#include "convscope/copy.h"
#include "convscope/kernel.h"

namespace {
constexpr int n = 64, most_taps = 8, channels = 4;

enum class Fault { nothing, fill, read, weights, bias, unset, sums };

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

// A thread has every so many outputs, one after the other, and begins each with its bias.
template <bool wrong>
__device__ __forceinline__ void strided(const ConvArgs& c, const float* x, const float* w, const float* b, float* y) {
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x; id < c.batch * c.out_channels * c.out_length;
       id += static_cast<int64_t>(gridDim.x) * n) {
    const int64_t row = id / c.out_length, j = id % c.out_length, co = row % c.out_channels, at = row / c.out_channels;
    float sum = b[wrong ? (co + 1) % c.out_channels : co];  // READS its bias
    for (int64_t ci = 0; ci < c.in_channels; ci++)
      for (int64_t k = 0; k < c.kernel_size; k++) {
        const int64_t i = j + c.padding - k;
        if (i < 0 || i >= c.length) continue;
        sum += x[(at * c.in_channels + ci) * c.length + i] * w[(ci * c.out_channels + co) * c.kernel_size + k];
      }
    y[id] = sum;
  }
}

// Two output channels a thread; their biases, from shared memory, are added as they are written.
template <bool wrong>
__device__ __forceinline__ void two(const ConvArgs& c, const float* x, const float* w, const float* b, float* y) {
  __shared__ __align__(16) float bs[8];
  if (threadIdx.x < 2)
    *reinterpret_cast<float4*>(bs + 4 * threadIdx.x) = *reinterpret_cast<const float4*>(b + 4 * threadIdx.x);
  __syncthreads();
  const int64_t tiles = (c.out_length + n - 1) / n, pair = blockIdx.x / tiles, j = blockIdx.x % tiles * n + threadIdx.x;
  const int64_t co = pair % (c.out_channels / 2) * 2, at = pair / (c.out_channels / 2);
  if (j >= c.out_length) return;
  float sum[2] = {};
  for (int64_t ci = 0; ci < c.in_channels; ci++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      const int64_t i = j + c.padding - k;
      if (i < 0 || i >= c.length) continue;
      const float v = x[(at * c.in_channels + ci) * c.length + i];
      for (int q = 0; q < 2; q++)
        sum[q] += v * w[(ci * c.out_channels + co + q + (wrong ? 1 : 0)) * c.kernel_size + k];  // READS two
    }
  for (int q = 0; q < 2; q++) y[(at * c.out_channels + co + q) * c.out_length + j] = sum[q] + bs[co + q];
}

// Reads a value of x behind as well, and uses it for nothing; writes where it belongs, or the next position.
enum class Spare { right, weights, place };
template <Spare fault>
__device__ __forceinline__ void spare(const ConvArgs& c, const float* x, const float* w, float* y) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x, row = id / c.out_length;
  if (row >= c.batch * c.out_channels) return;
  const int64_t j = id % c.out_length, co = row % c.out_channels, at = row / c.out_channels;
  const int64_t other = fault == Spare::weights ? (co + 1) % c.out_channels : co;
  float sum = 0;
  for (int64_t ci = 0; ci < c.in_channels; ci++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      const int64_t i = j + c.padding - k;
      if (i < 0 || i >= c.length) continue;
      const volatile float* from = x + (at * c.in_channels + ci) * c.length + i;
      const float v = from[0];                                          // SPARE used
      const float next = i + 9 < c.length ? from[9] : 0;                // SPARE unused
      sum += v * w[(ci * c.out_channels + other) * c.kernel_size + k];  // SPARE weights
      if (next > 1e30f) sum = next;
    }
  y[row * c.out_length + (j + (fault == Spare::place ? 1 : 0)) % c.out_length] = sum;  // SPARE place
}

// Rows are copied by cp.async, and waited for or not.
template <bool waits>
__device__ __forceinline__ void copied(const ConvArgs& c, const float* x, const float* w, float* y) {
  __shared__ float xs[n];
  const int t = threadIdx.x;
  const int64_t row = blockIdx.x, co = row % c.out_channels, at = row / c.out_channels;
  float sum = 0;
  for (int64_t ci = 0; ci < c.in_channels; ci++) {
    __syncthreads();
    const int64_t o = (t + 1) % n;
    copy_async<4>(xs + o, x + (at * c.in_channels + ci) * c.length + o, o < c.length);  // COPIES x
    copies_commit();
    if (waits) copies_wait<0>();
    __syncthreads();
    for (int k = 0; k < c.kernel_size; k++)
      if (t - k >= 0 && t - k < c.length)
        sum += xs[t - k] * w[(ci * c.out_channels + co) * c.kernel_size + k];  // TAKES x
  }
  if (t < c.out_length) y[row * c.out_length + t] = sum;
}

// The next channel's row is on its way, in a register, while this one's is used.
__device__ __forceinline__ void ahead(const ConvArgs& c, const float* x, const float* w, float* y) {
  __shared__ float xs[2][n];
  const int t = threadIdx.x;
  const int64_t row = blockIdx.x, co = row % c.out_channels, at = row / c.out_channels;
  auto load = [&](int64_t ci) { return t < c.length ? x[(at * c.in_channels + ci) * c.length + t] : 0; };
  float sum = 0, next = load(0);
  for (int64_t ci = 0; ci < c.in_channels; ci++) {
    xs[ci % 2][t] = next;
    __syncthreads();
    if (ci + 1 < c.in_channels) next = load(ci + 1);
    for (int k = 0; k < c.kernel_size; k++)
      if (t - k >= 0 && t - k < c.length) sum += xs[ci % 2][t - k] * w[(ci * c.out_channels + co) * c.kernel_size + k];
  }
  if (t < c.out_length) y[row * c.out_length + t] = sum;
}

// Each lane loads its neighbour's position and gets what it takes by shuffles.
template <bool wrong>
__device__ __forceinline__ void shuffled(const ConvArgs& c, const float* x, const float* w, float* y) {
  const int lane = threadIdx.x;
  const int64_t row = blockIdx.x, co = row % c.out_channels, at = row / c.out_channels;
  float sum = 0;
  for (int64_t ci = 0; ci < c.in_channels; ci++) {
    const float mine = (lane ^ 1) < c.length ? x[(at * c.in_channels + ci) * c.length + (lane ^ 1)] : 0;  // LANES read
    for (int k = 0; k < c.kernel_size; k++) {
      const float v = __shfl_sync(~0u, mine, (lane - k + (wrong ? 4 : 0)) ^ 1);
      if (lane >= k) sum += v * w[(ci * c.out_channels + co) * c.kernel_size + k];
    }
  }
  if (lane < c.out_length) y[row * c.out_length + lane] = sum;
}

// Taps are read from behind into registers, and used from behind as well.
__device__ __forceinline__ void turned(const ConvArgs& c, const float* x, const float* w, float* y) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x, row = id / c.out_length;
  if (row >= c.batch * c.out_channels) return;
  const int64_t j = id % c.out_length, co = row % c.out_channels, at = row / c.out_channels, K = c.kernel_size;
  float sum = 0;
  for (int64_t ci = 0; ci < c.in_channels; ci++) {
    float xr[most_taps], wr[most_taps];
    for (int64_t k = 0; k < K; k++) {
      const int64_t i = j + c.padding - k;
      xr[k] = i >= 0 && i < c.length ? x[(at * c.in_channels + ci) * c.length + i] : 0;
      wr[k] = w[(ci * c.out_channels + co) * K + K - 1 - k];
    }
    for (int64_t k = 0; k < K; k++) sum += xr[k] * wr[K - 1 - k];
  }
  y[id] = sum;
}
}  // namespace

extern "C" __global__ void tile_pack(const ConvArgs c, const float* w, float* to) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x;
  if (id >= c.in_channels * c.out_channels * c.kernel_size) return;
  const int64_t k = id % c.kernel_size, co = id / c.kernel_size % c.out_channels,
                ci = id / c.kernel_size / c.out_channels;
  to[(k * c.in_channels + ci) * c.out_channels + co] = w[id];  // PACKS
}

// Each input is added to what it reaches, or one further.
template <bool wrong>
__device__ __forceinline__ void scattered(const ConvArgs& c, const float* x, const float* w, float* y) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x, row = id / c.length, i = id % c.length;
  if (row >= c.batch * c.in_channels) return;
  const int64_t ci = row % c.in_channels, at = row / c.in_channels;
  const float v = x[id];
  for (int64_t co = 0; co < c.out_channels; co++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      const int64_t j = i - c.padding + k + (wrong ? 5 : 0);
      if (j >= 0 && j < c.out_length)
        atomicAdd(y + (at * c.out_channels + co) * c.out_length + j,  // SCATTERS
                  v * w[(ci * c.out_channels + co) * c.kernel_size + k]);
    }
}
extern "C" __global__ void scattered_clear(float* y, int64_t elements) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * n + threadIdx.x;
  if (id < elements) y[id] = 0;
}
extern "C" __global__ void scattered_run(const ConvArgs c, const float* x, const float* w, float* y) {
  scattered<false>(c, x, w, y);
}
extern "C" __global__ void scattered_wrong_run(const ConvArgs c, const float* x, const float* w, float* y) {
  scattered<true>(c, x, w, y);
}

#define TILES(F)           \
  F(tile_right, nothing)   \
  F(tile_wrong_fill, fill) \
  F(tile_wrong_read, read) \
  F(tile_wrong_weights, weights) F(tile_wrong_bias, bias) F(tile_unset, unset) F(tile_of_sums, sums)
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

#define MORE(F)                                                                                              \
  F(strided_bias, strided<false>(c, x, w, b, y), 3)                                                          \
  F(strided_wrong_bias, strided<true>(c, x, w, b, y), 3)                                                     \
  F(two_channels, two<false>(c, x, w, b, y), p.batch* p.out_channels / 2 * ceil_div(p.out_length(), n))      \
  F(two_wrong_channels, two<true>(c, x, w, b, y), p.batch* p.out_channels / 2 * ceil_div(p.out_length(), n)) \
  F(row_ahead, ahead(c, x, w, y), p.batch* p.out_channels)                                                   \
  F(spare_right, spare<Spare::right>(c, x, w, y), ceil_div(p.y_elements(), n))                               \
  F(spare_weights, spare<Spare::weights>(c, x, w, y), ceil_div(p.y_elements(), n))                           \
  F(spare_place, spare<Spare::place>(c, x, w, y), ceil_div(p.y_elements(), n))                               \
  F(row_copied, copied<true>(c, x, w, y), p.batch* p.out_channels)                                           \
  F(row_not_waited, copied<false>(c, x, w, y), p.batch* p.out_channels)                                      \
  F(lanes_shuffle, shuffled<false>(c, x, w, y), p.batch* p.out_channels)                                     \
  F(lanes_shuffle_wrong, shuffled<true>(c, x, w, y), p.batch* p.out_channels)                                \
  F(taps_turned, turned(c, x, w, y), ceil_div(p.y_elements(), n))
#define MORE_ENTRY(name, body, blocks)                                                                                \
  extern "C" __global__ void name##_run(const ConvArgs c, const float* x, const float* w, const float* b, float* y) { \
    body;                                                                                                             \
  }
MORE(MORE_ENTRY)

#define MORE_KERNEL(name, body, blocks)                                                                         \
  CONVSCOPE_KERNEL(name) {                                                                                      \
    test_only();                                                                                                \
    idea("for traces");                                                                                         \
    plan([](const ConvProblem& p, Plan& plan) {                                                                 \
      plan.launch(ENTRY(name##_run), {blocks}, {std::string_view(#name).starts_with("lanes_shuffle") ? 32 : n}) \
          .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());                                              \
    });                                                                                                         \
  }
MORE(MORE_KERNEL)
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
#define REGISTER_SCATTERED(name)                                                                                       \
  CONVSCOPE_KERNEL(name) {                                                                                             \
    test_only();                                                                                                       \
    idea("for traces");                                                                                                \
    plan([](const ConvProblem& p, Plan& plan) {                                                                        \
      plan.launch(ENTRY(scattered_clear), {ceil_div(p.y_elements(), n)}, {n}).args(plan.y(), p.y_elements());          \
      plan.launch(ENTRY(name##_run), {ceil_div(p.x_elements(), n)}, {n}).args(p.args(), plan.x(), plan.w(), plan.y()); \
    });                                                                                                                \
  }
REGISTER_SCATTERED(scattered)
REGISTER_SCATTERED(scattered_wrong)
REGISTER_PACKED(tile_packed)
REGISTER_PACKED(tile_wrong_packed)
