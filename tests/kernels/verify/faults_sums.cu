// Kernels whose index is right and whose sums are not: sums that go on from one output to the next, other operations
// than products, loops over channels whose rest is left out.
#include "faulty.h"

template <class Term>
__device__ __forceinline__ float sum_of(const ConvArgs& c, int64_t n, int64_t co, int64_t j, Term term) {
  float sum = 0;
  each_product(c, co, j, [&](int64_t ci, int64_t k, int64_t i) { sum += term(x_at(c, n, ci, i), w_at(c, ci, co, k)); });
  return sum;
}

// A thread has four positions of a row, all channels of a position, every 128th output of all.
FAULTY_ENTRY(s_positions) {
  const int64_t parts = (c.out_length + 3) / 4, id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                row = id / parts, co = row % c.out_channels;
  if (row >= c.batch * c.out_channels) return;
  float sum = b ? b[co] : 0;
  for (int64_t j = id % parts * 4; j < id % parts * 4 + 4 && j < c.out_length; j++) {
    sum += sum_of(c, row / c.out_channels, co, j, [&](int64_t at, int64_t by) { return x[at] * w[by]; });
    y[row * c.out_length + j] = sum;
  }
}
FAULTY_ENTRY(s_channels) {
  const int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, n = id / c.out_length,
                j = id % c.out_length;
  if (n >= c.batch) return;
  float sum = 0;
  for (int64_t co = 0; co < c.out_channels; co++) {
    sum += sum_of(c, n, co, j, [&](int64_t at, int64_t by) { return x[at] * w[by]; });
    y[(n * c.out_channels + co) * c.out_length + j] = sum + (b ? b[co] : 0);
  }
}
FAULTY_ENTRY(s_all) {
  constexpr int64_t threads = 128;
  const int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int64_t e = id; id < threads && e < c.batch * c.out_channels * c.out_length; e += threads) {
    const int64_t row = e / c.out_length, co = row % c.out_channels;
    if (b) sum += b[co];
    y[e] = sum +=
        sum_of(c, row / c.out_channels, co, e % c.out_length, [&](int64_t at, int64_t by) { return x[at] * w[by]; });
  }
}
#define OPERATION(name, TERM)                                                                                      \
  FAULTY_ENTRY(name) {                                                                                             \
    auto e = element_of_thread(c);                                                                                 \
    if (!e.inside) return;                                                                                         \
    y[e.id] =                                                                                                      \
        (b ? b[e.co] : 0) +                                                                                        \
        sum_of(c, e.n, e.co, e.j, [&]([[maybe_unused]] int64_t at, [[maybe_unused]] int64_t by) { return TERM; }); \
  }
OPERATION(s_added, x[at] + w[by])
OPERATION(s_taken_off, x[at] - w[by])
OPERATION(s_divided, x[at] / w[by])
OPERATION(s_without_sign, fabsf(x[at] * w[by]))
OPERATION(s_unweighted, x[at])
OPERATION(s_squared, x[at] * x[at])
OPERATION(s_neither, x[at] * w[by] + x[at] * x[at])

// Input channels in fours, output channels in eights.
FAULTY_ENTRY(s_input_fours) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  const int64_t cin = c.in_channels / c.groups, first = e.co / (c.out_channels / c.groups) * cin;
  y[e.id] = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    if (ci - first < cin / 4 * 4) y[e.id] += x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, k)];
  });
}
// The last of a tile of outputs has what belongs to the one before, where the tile is not whole.
FAULTY_ENTRY(s_output_eights) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  const int64_t cout = c.out_channels / c.groups, whole = cout / 8 * 8;
  const bool rest = e.co % cout >= whole;
  y[e.id] =
      (b ? b[e.co] : 0) + sum_of(c, e.n, e.co, e.j, [&](int64_t at, int64_t by) { return rest ? 0 : x[at] * w[by]; });
}

// 32 input channels, whatever there are: a sequence's rows are looked for behind x. (Behind w lies nothing, either.)
FAULTY_ENTRY(s_rows_of_32) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  const int64_t cout = c.out_channels / c.groups;
  float sum = b ? b[e.co] : 0;
  for (int64_t ci = 0; ci < 32; ci++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      const int64_t t = e.j + c.padding - k * c.dilation, at = (e.n * 32 + ci) * c.length + t / c.stride,
                    by = (ci * cout + e.co) * c.kernel_size + k;
      if (t < 0 || t % c.stride || t / c.stride >= c.length) continue;
      if (at < c.batch * c.in_channels * c.length && by < c.in_channels * cout * c.kernel_size) sum += x[at] * w[by];
    }
  y[e.id] = sum;
}

#ifndef __CUDACC__
#define KERNEL(name) FAULTY_KERNEL(name, "a sum that is not the definition's")
KERNEL(s_positions)
KERNEL(s_channels)
KERNEL(s_all)
KERNEL(s_added)
KERNEL(s_taken_off)
KERNEL(s_divided)
KERNEL(s_without_sign)
KERNEL(s_unweighted)
KERNEL(s_squared)
KERNEL(s_neither)
KERNEL(s_input_fours)
KERNEL(s_output_eights)
KERNEL(s_rows_of_32)
#endif
