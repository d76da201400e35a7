// Kernels whose index is the definition's but for one term or two, for xray: each must be told by name.
#include "faulty.h"

// y[n, co, j] = b[co] + Σ x[n, ci, i] · w[at], over c < CHANNELS and k < K where WHOLE holds for the numerator t.
#define INDEXED_AT(name, CHANNELS, T, WHOLE, I, N_OF_X, CI, AT, BIAS, TIMES)                                    \
  FAULTY_ENTRY(name) {                                                                                          \
    auto e = element_of_thread(c);                                                                              \
    if (!e.inside) return;                                                                                      \
    [[maybe_unused]] const int64_t Cin = c.in_channels, Cout = c.out_channels, K = c.kernel_size, L = c.length; \
    [[maybe_unused]] const int64_t s = c.stride, p = c.padding, op = c.output_padding, d = c.dilation;          \
    [[maybe_unused]] const int64_t G = c.groups, Cig = Cin / G, Cog = Cout / G, n = e.n, co = e.co, j = e.j;    \
    [[maybe_unused]] const int64_t g = co / Cog;                                                                \
    float sum = 0;                                                                                              \
    [[maybe_unused]] int64_t landing = 0;                                                                       \
    for (int64_t k = 0; k < K; k++) {                                                                           \
      const int64_t t = T;                                                                                      \
      if (!(WHOLE)) continue;                                                                                   \
      const int64_t i = I;                                                                                      \
      if (i < 0 || i >= L) continue;                                                                            \
      landing++;                                                                                                \
      for (int64_t m = 0; m < (CHANNELS); m++) {                                                                \
        const int64_t ci = CI, at = AT;                                                                         \
        if (at < 0 || at >= Cin * Cog * K) continue;                                                            \
        sum += (TIMES)*x[((N_OF_X)*Cin + ci) * L + i] * w[at];                                                  \
      }                                                                                                         \
    }                                                                                                           \
    y[e.id] = sum + (b ? BIAS : 0);                                                                             \
  }
#define INDEXED(name, T, WHOLE, I) \
  INDEXED_AT(name, Cig, T, WHOLE, I, n, g* Cig + m, (ci * Cog + co % Cog) * K + k, b[co], 1)
#define CHANNELLED(name, CHANNELS, CI, AT) \
  INDEXED_AT(name, CHANNELS, j + p - k * d, t % s == 0, t / s, n, CI, AT, b[co], 1)
#define BIASED(name, BIAS) \
  INDEXED_AT(name, Cig, j + p - k * d, t % s == 0, t / s, n, g * Cig + m, (ci * Cog + co % Cog) * K + k, BIAS, 1)

INDEXED(f_right, j + p - k * d, t % s == 0, t / s)
INDEXED(f_no_padding, j - k * d, t % s == 0, t / s)
INDEXED(f_padding_twice, j + 2 * p - k * d, t % s == 0, t / s)
INDEXED(f_padding_sign, j - p - k * d, t % s == 0, t / s)
INDEXED(f_padding_less_one, j + p - 1 - k * d, t % s == 0, t / s)
INDEXED(f_output_padding, j + p + op - k * d, t % s == 0, t / s)
INDEXED(f_no_dilation, j + p - k, t % s == 0, t / s)
INDEXED(f_dilation_more_one, j + p - k * (d + 1), t % s == 0, t / s)
INDEXED(f_stride_for_dilation, j + p - k * s, t % s == 0, t / s)
INDEXED(f_swapped, j + p - k * s, t % d == 0, t / d)
INDEXED(f_stride_and_padding, j + s - k * d, p > 0 && t % p == 0, t / p)
INDEXED(f_padding_and_dilation, j + d - k * p, t % s == 0, t / s)
INDEXED(f_same_length, j + d * (K - 1) / 2 - k * d, t % s == 0, t / s)
INDEXED(f_by_bits, j + p - k * d, (t & (s - 1)) == 0, t / s)
INDEXED(f_divides_by_dilation, j + p - k * d, t >= 0 && t % d == 0, t / s)
INDEXED(f_convolution, j* s - p + k * d, true, t)
INDEXED(f_by_phase, j + p - k * d, t >= 0 && (j + p - k) % s == 0, t / s)
INDEXED(f_divides_position, j + p - k * d, t >= 0 && j % s == 0, t / s)
INDEXED(f_divides_shifted, j + p - k * d, t >= 0 && (j + p) % s == 0, t / s)
INDEXED(f_here_alone, j + p + (s == 3 && p == 2 ? 1 : j * j % 7) - k * d, t % s == 0, t / s)
INDEXED(f_but_on_one, j + p - (s == 4 ? j * j % 7 : 1) - k * d, t % s == 0, t / s)
// Loops over taps that a break ends where continue belongs: `landing` counts those that landed so far.
INDEXED(f_break, j + p - k * d, t % s == 0 && landing == k, t / s)
INDEXED(f_break_rest, j + p - k * d, t % s == 0 && (k == 0 || d % s == 0), t / s)
__device__ inline bool was_behind(const ConvArgs& c, int64_t j, int64_t k) {
  for (int64_t q = 0; q < k; q++)
    if (const int64_t t = j + c.padding - q * c.dilation; t % c.stride == 0 && t / c.stride >= c.length) return true;
  return false;
}
INDEXED(f_break_behind, j + p - k * d, t % s == 0 && !was_behind(c, j, k), t / s)
// Of kernels that were written for one layer, with its numbers.
INDEXED(f_fixed_stride, j + p - k * d, t % 2 == 0, t / 2)
INDEXED(f_fixed_padding, j + 7 - k * d, t % s == 0, t / s)
INDEXED(f_fixed_dilation, j + p - k * 3, t % s == 0, t / s)
INDEXED(f_fixed_all, j + 1 - k * 3, t % 2 == 0, t / 2)
INDEXED(f_fixed_and_missing, j - k * d, t % 4 == 0, t / 4)
INDEXED(f_fixed_cut_off, j + p - k * 2, true, t / s)
INDEXED(f_fixed_all_but, j + 1 - k * 3, s == 1 || t % 2 == 0, t / 2)
INDEXED(f_fixed_taps_but, j + p - k * d, (s == 1 || k < 3) && t % s == 0, t / s)
INDEXED(f_fixed_taps, j + p - k * d, k < 3 && t % s == 0, t / s)
INDEXED(f_output_padding_for_dilation, j + p - k * op, t % s == 0, t / s)
// From the first tap on for which the stride divides, every s-th.
__device__ inline bool is_nth(const ConvArgs& c, int64_t j, int64_t k) {
  int64_t first = 0;
  while (first < k && (j + c.padding - first * c.dilation) % c.stride != 0) first++;
  return (k - first) % c.stride == 0;
}
INDEXED(f_first_and_every_s, j + p - k * d, t >= 0 && t % s == 0 && is_nth(c, j, k), t / s)
INDEXED(f_tap_sign, j - p + k * d, t % s == 0, t / s)
INDEXED(f_no_stride, j + p - k * d, true, t)
INDEXED(f_cut_off, j + p - k * d, true, t / s)
INDEXED(f_down, j + p - k * d, true, (t - (t % s + s) % s) / s)
INDEXED(f_up, j + p - k * d, t >= 0, (t + s - 1) / s)
INDEXED(f_outside, j - k * d, t % s == 0, t / s + p)
INDEXED(f_reversed, j + p - (K - 1 - k) * d, t % s == 0, t / s)
INDEXED(f_first_tap, j + p - k * d, k > 0 && t % s == 0, t / s)
INDEXED(f_last_input, j + p - k * d, t % s == 0 && t / s < L - 1, t / s)
INDEXED(f_two_faults, j - k, t % s == 0, t / s)
CHANNELLED(f_eight_channels, 8, g* Cig + m, (ci * Cog + co % Cog) * K + k)
CHANNELLED(f_eight_outputs, Cig, g* Cig + m, (ci * 8 + co % Cog) * K + k)
CHANNELLED(f_w_swapped, Cig, g* Cig + m, (co % Cog * Cin + ci) * K + k)
CHANNELLED(f_w_convolution, Cig, g* Cig + m, (co * Cig + m) * K + k)
CHANNELLED(f_w_taps_first, Cig, g* Cig + m, (k * Cin + ci) * Cog + co % Cog)
CHANNELLED(f_group_x, Cig, m, ((g * Cig + m) * Cog + co % Cog) * K + k)
CHANNELLED(f_group_both, Cig, m, (ci * Cog + co % Cog) * K + k)
CHANNELLED(f_all_channels, Cin, m, (ci * Cog + co % Cog) * K + k)
CHANNELLED(f_in_turn, Cig, m* G + g, (ci * Cog + co % Cog) * K + k)
CHANNELLED(f_sixteen_channels, Cig < 16 ? Cig : 16, g* Cig + m, (ci * Cog + co % Cog) * K + k)
CHANNELLED(f_first_channels, Cig / 2, g* Cig + m, (ci * Cog + co % Cog) * K + k)
CHANNELLED(f_last_channel, Cig - 1, g* Cig + m, (ci * Cog + co % Cog) * K + k)
CHANNELLED(f_later_taps_reversed, Cig, g* Cig + m, (ci * Cog + co % Cog) * K + (m ? K - 1 - k : k))
BIASED(f_bias_by_channel, b[co] * Cig)
BIASED(f_bias_by_part, b[co] * (Cig < 4 ? Cig : 4))
BIASED(f_bias_where_none_lands, (landing ? 0 : b[co]))
BIASED(f_bias_where_one_lands, (landing ? b[co] : 0))
INDEXED_AT(f_mean, Cig, j + p - k * d, t % s == 0, t / s, n, g* Cig + m, (ci * Cog + co % Cog) * K + k, b[co] / K,
           1.0f / K)
BIASED(f_no_bias, 0)
BIASED(f_bias_twice, 2 * b[co])
BIASED(f_bias_by_tap, b[co] * landing)
BIASED(f_bias_by_position, b[j % Cout])
BIASED(f_bias_by_element, b[e.id % Cout])
BIASED(f_bias_next, b[(co + 1) % Cout])
BIASED(f_bias_before, b[(co + Cout - 1) % Cout])
BIASED(f_bias_turned, b[Cout - 1 - co])
BIASED(f_bias_in_pairs, b[co ^ 1])
BIASED(f_bias_of_four, b[co % 4])
INDEXED_AT(f_no_dilation_sixteen, Cig < 16 ? Cig : 16, j + p - k, t % s == 0, t / s, n, g* Cig + m,
           (ci * Cog + co % Cog) * K + k, b[co], 1)
// What is not asked of the input: rows beside are read, and zones beside x.
#define ASKED_AT(name, T, LET_PASS, I, TIMES)                                                    \
  FAULTY_ENTRY(name) {                                                                           \
    auto e = element_of_thread(c);                                                               \
    if (!e.inside) return;                                                                       \
    const int64_t L = c.length, Cig = c.in_channels / c.groups, Cog = c.out_channels / c.groups; \
    float sum = b ? b[e.co] : 0;                                                                 \
    for (int64_t k = 0; k < c.kernel_size; k++) {                                                \
      const int64_t t = T;                                                                       \
      if (t % c.stride) continue;                                                                \
      const int64_t i = t / c.stride;                                                            \
      if (!(LET_PASS)) continue;                                                                 \
      for (int64_t ci = e.co / Cog * Cig; ci < (e.co / Cog + 1) * Cig; ci++)                     \
        sum += (TIMES)*x[(e.n * c.in_channels + ci) * L + (I)] * w[w_at(c, ci, e.co, k)];        \
    }                                                                                            \
    y[e.id] = sum;                                                                               \
  }
#define ASKED(name, LET_PASS, I, TIMES) ASKED_AT(name, e.j + c.padding - k * c.dilation, LET_PASS, I, TIMES)
ASKED(f_not_behind, i >= 0, i, 1)
ASKED(f_not_before, i < L, i, 1)
ASKED(f_not_beside, true, i, 1)
ASKED(f_one_behind, i >= 0 && i <= L, i, 1)
ASKED(f_one_before, i >= -1 && i < L, i, 1)
ASKED(f_clamped, true, i < 0 ? 0 : i < L ? i : L - 1, 1)
ASKED(f_from_below, i < L, i < 0 ? 0 : i, 1)
ASKED(f_from_above, i >= 0, i < L ? i : L - 1, 1)
ASKED(f_remainder, true, i % L, 1)
ASKED(f_wrapped, true, (i % L + L) % L, 1)
// And with another fault: the padding is missing, products count twice, taps are in reverse order.
ASKED_AT(f_no_padding_no_test, e.j - k * c.dilation, i < 2 * L, i, 1)
ASKED_AT(f_not_before_twice, e.j + c.padding - k * c.dilation, i < L, i, 2)
ASKED_AT(f_not_behind_reversed, e.j + c.padding - (c.kernel_size - 1 - k) * c.dilation, t >= 0 && i < 2 * L, i, 1)
ASKED_AT(f_clamped_twice, e.j + c.padding - k * c.dilation, i < 2 * L, i < 0 ? 0 : i < L ? i : L - 1, 2)
// As f_not_behind, but what it reads there is multiplied by 0: right where that is a number.
ASKED(beside_times_zero, i >= 0, i, float(i < L))
INDEXED_AT(f_first_sequence, Cig, j + p - k * d, t % s == 0, t / s, 0, g* Cig + m, (ci * Cog + co % Cog) * K + k, b[co],
           1)
INDEXED_AT(f_double_tap, Cig, j + p - k * d, t % s == 0, t / s, n, g* Cig + m, (ci * Cog + co % Cog) * K + k, b[co],
           (k == 1 ? 2.0f : 1.0f))
INDEXED_AT(f_taken_off, Cig, j + p - k * d, t % s == 0, t / s, n, g* Cig + m, (ci * Cog + co % Cog) * K + k, b[co],
           -1.0f)
// Sequences of x are taken to be Cout rows apart.
FAULTY_ENTRY(f_sequence_rows) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    int64_t at = (e.n * c.out_channels + ci) * c.length + i;
    if (at < c.batch * c.in_channels * c.length) sum += x[at] * w[w_at(c, ci, e.co, k)];
  });
  y[e.id] = sum;
}
// No formula: two inputs through every tap.
// Each product takes the sum's place.
FAULTY_ENTRY(f_overwrites) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  const int64_t Cig = c.in_channels / c.groups, Cog = c.out_channels / c.groups, g = e.co / Cog;
  float sum = b ? b[e.co] : 0;
  for (int64_t m = 0; m < Cig; m++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      const int64_t t = e.j + c.padding - k * c.dilation, ci = g * Cig + m;
      if (t < 0 || t % c.stride != 0 || t / c.stride >= c.length) continue;
      sum = x[(e.n * c.in_channels + ci) * c.length + t / c.stride] * w[(ci * Cog + e.co % Cog) * c.kernel_size + k];
    }
  y[e.id] = sum;
}
// Right where it writes.
#define WRITES(name, WHERE, VALUE)                                                                                    \
  FAULTY_ENTRY(name) {                                                                                                \
    auto e = element_of_thread(c);                                                                                    \
    if (!e.inside) return;                                                                                            \
    [[maybe_unused]] const int64_t all = c.batch * c.out_channels * c.out_length, last = c.out_length - 1;            \
    if (!(WHERE)) return;                                                                                             \
    const int64_t Cig = c.in_channels / c.groups, Cog = c.out_channels / c.groups, g = e.co / Cog;                    \
    float sum = b ? b[e.co] : 0;                                                                                      \
    for (int64_t m = 0; m < Cig; m++)                                                                                 \
      for (int64_t k = 0; k < c.kernel_size; k++) {                                                                   \
        const int64_t t = e.j + c.padding - k * c.dilation, ci = g * Cig + m;                                         \
        if (t < 0 || t % c.stride != 0 || t / c.stride >= c.length) continue;                                         \
        sum +=                                                                                                        \
            x[(e.n * c.in_channels + ci) * c.length + t / c.stride] * w[(ci * Cog + e.co % Cog) * c.kernel_size + k]; \
      }                                                                                                               \
    y[e.id] = VALUE;                                                                                                  \
  }
#define WRITES_WHERE(name, WHERE) WRITES(name, WHERE, sum)
WRITES(f_relu, true, sum > 0 ? sum : 0)
WRITES(f_gelu, true, 0.5f * sum * (1 + erff(sum * 0.70710678f)))
WRITES(f_tanh, true, tanhf(sum))
WRITES(f_added_behind, true, e.id >= all - 5 ? y[e.id] + sum : sum)
WRITES(f_added, true, y[e.id] + sum)
// A GPU's additions give a NaN of their own where one goes in.
__device__ float as_on_a_gpu(float v) { return v != v ? __uint_as_float(0x7fffffffu) : v; }
WRITES(f_added_on_a_gpu, true, as_on_a_gpu(y[e.id] + sum))
WRITES_WHERE(f_not_first, e.j > 0)
WRITES_WHERE(f_not_last, e.j < last)
WRITES_WHERE(f_grid_short, e.id < all / 8 * 8 && e.id < all - 5)
WRITES_WHERE(f_even_channels, e.co % 2 == 0)
WRITES(f_not_a_number, true, e.co % 2 == 1 ? sum * __uint_as_float(0x7fffffffu) : sum)
FAULTY_ENTRY(f_none) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum += (x[x_at(c, e.n, ci, i)] + x[x_at(c, e.n, ci, (i * i + 1) % c.length)]) * w[w_at(c, ci, e.co, k)];
  });
  y[e.id] = sum + (b ? b[e.co] : 0);
}

#ifndef __CUDACC__
// Lengths of their own that no output has.
CONVSCOPE_KERNEL(f_no_output) {
  test_only();
  idea("its output is shorter than nothing");
  plan([](const ConvProblem&, Plan& plan) { plan.out_length(-3); });
}
CONVSCOPE_KERNEL(f_endless_output) {
  test_only();
  idea("its output is longer than any memory");
  plan([](const ConvProblem&, Plan& plan) { plan.out_length(int64_t{1} << 50); });
}
#define KERNEL(name) FAULTY_KERNEL(name, "one term of the index")
KERNEL(f_right)
KERNEL(f_no_padding)
KERNEL(f_padding_twice)
KERNEL(f_padding_sign)
KERNEL(f_padding_less_one)
KERNEL(f_output_padding)
KERNEL(f_no_dilation)
KERNEL(f_dilation_more_one)
KERNEL(f_stride_for_dilation)
KERNEL(f_swapped)
KERNEL(f_stride_and_padding)
KERNEL(f_padding_and_dilation)
KERNEL(f_same_length)
KERNEL(f_by_bits)
KERNEL(f_divides_by_dilation)
KERNEL(f_here_alone)
KERNEL(f_but_on_one)
KERNEL(f_break)
KERNEL(f_break_rest)
KERNEL(f_break_behind)
KERNEL(f_fixed_stride)
KERNEL(f_fixed_padding)
KERNEL(f_fixed_dilation)
KERNEL(f_fixed_all)
KERNEL(f_fixed_and_missing)
KERNEL(f_fixed_cut_off)
KERNEL(f_fixed_all_but)
KERNEL(f_fixed_taps_but)
KERNEL(f_fixed_taps)
KERNEL(f_eight_channels)
KERNEL(f_eight_outputs)
KERNEL(f_output_padding_for_dilation)
KERNEL(f_first_and_every_s)
KERNEL(f_tap_sign)
KERNEL(f_no_stride)
KERNEL(f_cut_off)
KERNEL(f_down)
KERNEL(f_up)
KERNEL(f_outside)
KERNEL(f_reversed)
KERNEL(f_first_tap)
KERNEL(f_last_input)
KERNEL(f_two_faults)
KERNEL(f_w_swapped)
KERNEL(f_w_convolution)
KERNEL(f_w_taps_first)
KERNEL(f_group_x)
KERNEL(f_group_both)
KERNEL(f_all_channels)
KERNEL(f_in_turn)
KERNEL(f_last_channel)
KERNEL(f_later_taps_reversed)
KERNEL(f_bias_by_channel)
KERNEL(f_bias_by_part)
KERNEL(f_no_bias)
KERNEL(f_bias_twice)
KERNEL(f_bias_by_tap)
KERNEL(f_bias_by_position)
KERNEL(f_bias_by_element)
KERNEL(f_bias_next)
KERNEL(f_bias_before)
KERNEL(f_bias_turned)
KERNEL(f_bias_in_pairs)
KERNEL(f_bias_of_four)
KERNEL(f_no_dilation_sixteen)
KERNEL(f_not_a_number)
KERNEL(f_first_sequence)
KERNEL(f_double_tap)
KERNEL(f_taken_off)
KERNEL(f_sequence_rows)
KERNEL(f_not_behind)
KERNEL(f_not_before)
KERNEL(f_not_beside)
KERNEL(f_one_behind)
KERNEL(f_no_padding_no_test)
KERNEL(f_not_before_twice)
KERNEL(f_not_behind_reversed)
KERNEL(f_clamped_twice)
KERNEL(f_one_before)
KERNEL(f_clamped)
KERNEL(f_from_below)
KERNEL(f_from_above)
KERNEL(f_remainder)
KERNEL(f_wrapped)
KERNEL(beside_times_zero)
KERNEL(f_first_channels)
KERNEL(f_sixteen_channels)
KERNEL(f_convolution)
KERNEL(f_by_phase)
KERNEL(f_divides_position)
KERNEL(f_divides_shifted)
KERNEL(f_mean)
KERNEL(f_bias_where_none_lands)
KERNEL(f_bias_where_one_lands)
KERNEL(f_overwrites)
KERNEL(f_added_behind)
KERNEL(f_added)
KERNEL(f_added_on_a_gpu)
KERNEL(f_not_first)
KERNEL(f_not_last)
KERNEL(f_grid_short)
KERNEL(f_even_channels)
KERNEL(f_relu)
KERNEL(f_gelu)
KERNEL(f_tanh)
KERNEL(f_none)
#endif
