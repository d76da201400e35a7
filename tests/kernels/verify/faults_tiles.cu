// Kernels that take other terms than the definition's in whole tiles, blocks of taps, sequences or arrays of their own,
// for xray. Beside each fault stands one that looks much like it and is another.
#include "faulty.h"

// y[n, co, j] = b[co] + Σ x[n', ci', i'] · w[ci'', co', k'] over the terms (ci, k, i) of the definition; what
// they are made into is taken as far as it lies within the tensors.
struct Taken {
  int64_t n, x_channel, i, w_channel, co, k;
  bool is = true;
};
template <class F>
__device__ __forceinline__ float sum_of(const ConvArgs& c, const Element& e, const float* x, const float* w,
                                        const float* b, F taken) {
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    Taken t{e.n, ci, i, ci, e.co, k};
    taken(t);
    const bool inside = t.n < c.batch && t.x_channel < c.in_channels && t.i >= 0 && t.i < c.length &&
                        t.w_channel < c.in_channels && t.co < c.out_channels && t.k < c.kernel_size;
    if (t.is && inside) sum += x[x_at(c, t.n, t.x_channel, t.i)] * w[w_at(c, t.w_channel, t.co, t.k)];
  });
  return sum;
}
#define TERMS(name, ...)                                             \
  FAULTY_ENTRY(name) {                                               \
    auto e = element_of_thread(c);                                   \
    if (!e.inside) return;                                           \
    [[maybe_unused]] const int64_t K = c.kernel_size, L = c.length;  \
    [[maybe_unused]] const int64_t last = c.in_channels - 1;         \
    y[e.id] = sum_of(c, e, x, w, b, [&](Taken& t) { __VA_ARGS__; }); \
  }

TERMS(f_later_channel, t.is = e.n == 0 || t.w_channel < last)
TERMS(f_last_sequence_channel, t.is = e.n + 1 < c.batch || t.w_channel < last)
TERMS(f_channel_by_sequence, t.is = t.w_channel != e.n - 1)
TERMS(f_later_taps, if (e.n > 0 && t.k < 2 && K > 1) t.k = 1 - t.k)
TERMS(f_third_on_taps, if (e.n > 1) t.k = K - 1 - t.k)
TERMS(f_third_alone_taps, if (e.n == 2) t.k = K - 1 - t.k)
TERMS(f_last_sequence_taps, if (e.n + 1 == c.batch) t.k = K - 1 - t.k)

// Exchanged in tiles of T × T.
__device__ __forceinline__ void exchange(int64_t& a, int64_t& b, int64_t T) {
  const int64_t other = a - a % T + b % T;
  b = b - b % T + a % T, a = other;
}
TERMS(f_tile_of_x, exchange(t.x_channel, t.i, 4))
TERMS(f_first_tile_of_x, if (t.i < 4) exchange(t.x_channel, t.i, 4))
TERMS(f_tile_of_w, int64_t row = t.co * K + t.k; exchange(row, t.w_channel, 8); t.co = row / K, t.k = row % K)
TERMS(f_tile_of_columns, int64_t row = t.co * K + t.k; exchange(row, t.i, 4); t.co = row / K, t.k = row % K)
TERMS(f_column_shifted, int64_t row = t.co * K + t.k; exchange(row, t.i, 4); t.co = row / K, t.k = (row + 1) % K)

TERMS(f_pairs_of_taps, if (t.k >= 4 && (t.k ^ 1) < K) t.k ^= 1)
TERMS(f_one_pair_of_taps, if (t.k / 2 == 2 && (t.k ^ 1) < K) t.k ^= 1)
TERMS(f_taps_in_threes, if (t.k - t.k % 3 + 3 <= K) t.k = t.k - t.k % 3 + 2 - t.k % 3)

// w·x kept as [N, Cout, K, L], read as if it were [N, Cout, L, K]; one element further on.
TERMS(f_columns_of_another_order, const int64_t at = t.i * K + t.k; t.k = at / L, t.i = at % L)
TERMS(f_columns_one_on, const int64_t at = t.i * K + t.k + 1; t.k = at / L, t.i = at % L)
// Two parts of the channels, kept as [N, parts], read as if it were [parts, N].
FAULTY_ENTRY(f_parts_of_another_order) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  constexpr int64_t parts = 2;
  const int64_t of_part = (c.in_channels + parts - 1) / parts;
  float sum = b ? b[e.co] : 0;
  for (int64_t part = 0; part < parts; part++) {
    const int64_t at = part * c.batch + e.n;
    each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
      if (ci / of_part == at % parts) sum += x[x_at(c, at / parts, ci, i)] * w[w_at(c, ci, e.co, k)];
    });
  }
  y[e.id] = sum;
}
// Each channel of another sequence, in turn.
TERMS(f_parts_in_turn, t.n = (e.n + t.w_channel) % c.batch)

// Tiles of 16 outputs; the near one lacks one input more than a tile without a halo does.
__device__ __forceinline__ int64_t first_input(const ConvArgs& c, int64_t j, int64_t halo) {
  const int64_t t = j / 16 * 16 + c.padding - halo;
  return t / c.stride - (t % c.stride < 0);
}
TERMS(f_no_halo, t.is = t.i >= first_input(c, e.j, 0))
TERMS(f_halo_without_dilation, t.is = t.i >= first_input(c, e.j, K - 1))
TERMS(f_less_than_no_halo, t.is = t.i >= first_input(c, e.j, 0) + (e.j % 16 < 8))
TERMS(f_tile_of_inputs, t.is = (e.j + c.padding) / (4 * c.stride) == t.i / 4)

// Products that land at the begin of a row; the near one keeps one more.
TERMS(f_none_before_padding, t.is = e.j >= c.padding)
TERMS(f_none_before_padding_but_one, t.is = e.j >= c.padding || e.j == 1)
// Channels from 4 on: those of the first four again, and the first one for all of them.
TERMS(f_channels_of_x_modulo, t.x_channel %= 4)
TERMS(f_first_channel_from_four, if (t.x_channel >= 4) t.x_channel = 0)
TERMS(f_weights_of_another_channel, if (t.w_channel == 3) t.w_channel = 2)
// The last channel of all output channels from the fourth on; of the fourth alone.
TERMS(f_last_channel_of_few, t.is = t.w_channel < last || t.co < 3)
TERMS(f_last_channel_of_one, t.is = t.w_channel < last || t.co != 3)
TERMS(f_output_channels_of_w_modulo, t.co %= 4)

// A sum counted by r; x's tap is made of it by the number of channels. The near one's is one further on as well.
#define COUNTED(name, TAP)                                                                                 \
  FAULTY_ENTRY(name) {                                                                                     \
    auto e = element_of_thread(c);                                                                         \
    if (!e.inside) return;                                                                                 \
    float sum = b ? b[e.co] : 0;                                                                           \
    for (int64_t r = 0; r < c.in_channels * c.kernel_size; r++) {                                          \
      const int64_t k = r % c.kernel_size, ci = r / c.kernel_size, t = e.j + c.padding - (TAP)*c.dilation; \
      if (t < 0 || t % c.stride || t / c.stride >= c.length) continue;                                     \
      sum += x[x_at(c, e.n, ci, t / c.stride)] * w[w_at(c, ci, e.co, k)];                                  \
    }                                                                                                      \
    y[e.id] = sum;                                                                                         \
  }
COUNTED(f_tap_by_channels, r / c.in_channels)
COUNTED(f_tap_by_channels_one_on, (r + 1) / c.in_channels)

// Every tap of a residue class; quotients are exact in the right one.
#define CLASSES(name, OF_J)                                                                              \
  FAULTY_ENTRY(name) {                                                                                   \
    auto e = element_of_thread(c);                                                                       \
    if (!e.inside) return;                                                                               \
    float sum = b ? b[e.co] : 0;                                                                         \
    for (int64_t k = 0; k < c.kernel_size; k++) {                                                        \
      const int64_t t = e.j + c.padding - k * c.dilation;                                                \
      if (t < 0 || k * c.dilation % c.stride != (OF_J) % c.stride || t / c.stride >= c.length) continue; \
      for (int64_t ci = 0; ci < c.in_channels; ci++)                                                     \
        sum += x[x_at(c, e.n, ci, t / c.stride)] * w[w_at(c, ci, e.co, k)];                              \
    }                                                                                                    \
    y[e.id] = sum;                                                                                       \
  }
CLASSES(f_class_without_padding, e.j)
CLASSES(f_class_of_next, e.j + 3)

// Every tap that s divides, with an input that F says.
#define STEPS(name, F)                                                         \
  FAULTY_ENTRY(name) {                                                         \
    auto e = element_of_thread(c);                                             \
    if (!e.inside) return;                                                     \
    float sum = b ? b[e.co] : 0;                                               \
    for (int64_t k = 0; k < c.kernel_size; k++) {                              \
      if ((e.j + c.padding - k * c.dilation) % c.stride) continue;             \
      const int64_t i = (e.j + c.padding) / c.stride - (F);                    \
      for (int64_t ci = 0; ci < c.in_channels && i >= 0 && i < c.length; ci++) \
        sum += x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, k)];               \
    }                                                                          \
    y[e.id] = sum;                                                             \
  }
STEPS(f_step_of_one, k)
STEPS(f_step_of_two_more, k* c.dilation / c.stride + (k > 1 ? 2 : 0))

// A term whose number is another one.
#define NUMBERS(name, SETS)                           \
  FAULTY_ENTRY(name) {                                \
    auto e = element_of_thread(c);                    \
    ConvArgs q = c;                                   \
    SETS;                                             \
    if (e.inside) y[e.id] = right_sum(q, e, x, w, b); \
  }
NUMBERS(f_dilation_of_two_at_most, if (q.dilation > 2) q.dilation = 2)
NUMBERS(f_dilation_less_one_from_three, if (q.dilation > 2) q.dilation--)
NUMBERS(f_dilation_of_stride_at_most, if (q.dilation > q.stride) q.dilation = q.stride)
NUMBERS(f_padding_below_stride, if (q.padding >= q.stride) q.padding = q.stride - 1)
NUMBERS(f_padding_modulo, q.padding %= 2)
NUMBERS(f_margin_without_dilation, q.padding += (q.dilation - 1) * (q.kernel_size - 1))
NUMBERS(f_stride_of_three_at_most, if (q.stride > 3) q.stride = 3)

#ifndef __CUDACC__
#define KERNEL(name) FAULTY_KERNEL(name, "other terms than the definition's")
KERNEL(f_later_channel)
KERNEL(f_last_sequence_channel)
KERNEL(f_channel_by_sequence)
KERNEL(f_later_taps)
KERNEL(f_third_on_taps)
KERNEL(f_third_alone_taps)
KERNEL(f_last_sequence_taps)
KERNEL(f_tile_of_x)
KERNEL(f_first_tile_of_x)
KERNEL(f_tile_of_w)
KERNEL(f_tile_of_columns)
KERNEL(f_column_shifted)
KERNEL(f_pairs_of_taps)
KERNEL(f_one_pair_of_taps)
KERNEL(f_taps_in_threes)
KERNEL(f_columns_of_another_order)
KERNEL(f_columns_one_on)
KERNEL(f_parts_of_another_order)
KERNEL(f_parts_in_turn)
KERNEL(f_no_halo)
KERNEL(f_halo_without_dilation)
KERNEL(f_less_than_no_halo)
KERNEL(f_tile_of_inputs)
KERNEL(f_step_of_one)
KERNEL(f_step_of_two_more)
KERNEL(f_dilation_of_two_at_most)
KERNEL(f_dilation_less_one_from_three)
KERNEL(f_stride_of_three_at_most)
KERNEL(f_none_before_padding)
KERNEL(f_none_before_padding_but_one)
KERNEL(f_channels_of_x_modulo)
KERNEL(f_first_channel_from_four)
KERNEL(f_output_channels_of_w_modulo)
KERNEL(f_tap_by_channels)
KERNEL(f_tap_by_channels_one_on)
KERNEL(f_class_without_padding)
KERNEL(f_class_of_next)
KERNEL(f_dilation_of_stride_at_most)
KERNEL(f_padding_below_stride)
KERNEL(f_padding_modulo)
KERNEL(f_margin_without_dilation)
KERNEL(f_weights_of_another_channel)
KERNEL(f_last_channel_of_few)
KERNEL(f_last_channel_of_one)
#endif
