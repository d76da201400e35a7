// Kernels whose products are right and whose threads are too many or too few, for xray: a bound that is not asked, or
// asked with the wrong sign, a grid that is rounded down or does not grow.
#include "faulty.h"

// A thread a position and channel, or `each` positions one behind the other.
#define TILED(name, each, ASKS, T)                                                        \
  FAULTY_ENTRY(name) {                                                                    \
    const int64_t Lout = c.out_length, Cout = c.out_channels, L = c.length;               \
    const int64_t co = int64_t{blockIdx.y} * blockDim.y + threadIdx.y, n = blockIdx.z;    \
    for (int64_t q = 0; q < (each); q++) {                                                \
      const int64_t j = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * (each) + q;    \
      if (!(ASKS)) continue;                                                              \
      const int64_t cin = c.in_channels / c.groups, first = co / (Cout / c.groups) * cin; \
      float sum = b ? b[co] : 0;                                                          \
      for (int64_t k = 0; k < c.kernel_size; k++) {                                       \
        const int64_t t = T;                                                              \
        if (t < 0 || t % c.stride != 0 || t / c.stride >= L) continue;                    \
        for (int64_t ci = first; ci < first + cin; ci++)                                  \
          sum += x[x_at(c, n, ci, t / c.stride)] * w[w_at(c, ci, co, k)];                 \
      }                                                                                   \
      y[(n * Cout + co) * Lout + j] = sum;                                                \
    }                                                                                     \
  }
#define USUAL j + c.padding - k* c.dilation
// A thread an output, in order.
#define FLAT(name, ASKS)                                         \
  FAULTY_ENTRY(name) {                                           \
    const auto e = element_of_thread(c);                         \
    const int64_t all = c.batch * c.out_channels * c.out_length; \
    if (ASKS) y[e.id] = right_sum(c, e, x, w, b);                \
    (void)all;                                                   \
  }

// Rows, and sequences, stored as far apart as something else is long.
#define STORED(name, ROW, SEQUENCE)                                                       \
  FAULTY_ENTRY(name) {                                                                    \
    const auto e = element_of_thread(c);                                                  \
    const int64_t Cin = c.in_channels, Cout = c.out_channels, L = c.length, s = c.stride; \
    const int64_t Lout = c.out_length;                                                    \
    (void)Cin, (void)Cout, (void)L, (void)s, (void)Lout;                                  \
    if (e.inside) y[e.n * (SEQUENCE) + e.co * (ROW) + e.j] = right_sum(c, e, x, w, b);    \
  }
STORED(e_rows_by_stride, L* s, Cout* L* s)
STORED(e_rows_less_one, Lout - 1, Cout*(Lout - 1))
STORED(e_sequences_by_inputs, Lout, Cin* Lout)
STORED(e_sequences_by_stride, Lout, Cout* L* s)
TILED(e_right, 1, j < Lout && co < Cout, USUAL)
TILED(e_row, 1, co < Cout, USUAL)
TILED(e_row_equal, 1, j <= Lout && co < Cout, USUAL)
TILED(e_channel, 1, j < Lout, USUAL)
TILED(e_channel_equal, 1, j < Lout && co <= Cout, USUAL)
TILED(e_both, 1, true, USUAL)
TILED(e_four, 4, (j & ~int64_t{3}) < Lout && co < Cout, USUAL)
TILED(e_phases, c.stride, j - q < Lout && co < Cout, USUAL)
TILED(e_row_and_padding, 1, co < Cout, j - k * c.dilation)
FLAT(e_flat, true)
FLAT(e_flat_equal, e.id <= all)
FLAT(e_flat_right, e.inside)

#ifndef __CUDACC__
#define GRID(name, entry, X, Y, Z, ...)                                                                    \
  CONVSCOPE_KERNEL(name) {                                                                                 \
    test_only();                                                                                           \
    idea("threads are too many, or too few");                                                              \
    plan([](const ConvProblem& p, Plan& plan) {                                                            \
      plan.launch(ENTRY(entry##_f32), {X, Y, Z}, {__VA_ARGS__})                                            \
          .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());                                         \
    });                                                                                                    \
    supports([](const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "is written for f32 only"; }); \
  }
#define TILES(name) GRID(name, name, ceil_div(p.out_length(), 32), ceil_div(p.out_channels, 4), p.batch, 32, 4)
TILES(e_right)
TILES(e_row)
TILES(e_row_equal)
TILES(e_channel)
TILES(e_channel_equal)
TILES(e_both)
TILES(e_row_and_padding)
GRID(e_four, e_four, ceil_div(p.out_length(), 64 * 4), p.out_channels, p.batch, 64)
GRID(e_phases, e_phases, ceil_div(p.out_length(), 16 * p.stride), p.out_channels, p.batch, 16)
GRID(e_rows_by_stride, e_rows_by_stride, ceil_div(p.y_elements(), 64), 1, 1, 64)
GRID(e_rows_less_one, e_rows_less_one, ceil_div(p.y_elements(), 64), 1, 1, 64)
GRID(e_sequences_by_inputs, e_sequences_by_inputs, ceil_div(p.y_elements(), 64), 1, 1, 64)
GRID(e_sequences_by_stride, e_sequences_by_stride, ceil_div(p.y_elements(), 64), 1, 1, 64)
GRID(e_flat, e_flat, ceil_div(p.y_elements(), 96), 1, 1, 96)
GRID(e_flat_equal, e_flat_equal, ceil_div(p.y_elements() + 1, 96), 1, 1, 96)
GRID(e_row_down, e_right, p.out_length() / 32, ceil_div(p.out_channels, 4), p.batch, 32, 4)
GRID(e_channel_down, e_right, ceil_div(p.out_length(), 32), p.out_channels / 4, p.batch, 32, 4)
GRID(e_both_down, e_right, p.out_length() / 32, p.out_channels / 4, p.batch, 32, 4)
GRID(e_flat_down, e_flat_right, p.y_elements() / 96, 1, 1, 96)
GRID(e_fixed, e_flat_right, 40, 1, 1, 64)
#endif
