// Kernels whose taps are the definition's, and whose channels, rows or positions are not, for xray.
#include "faulty.h"

// y[n, co, j] = b[co] + Σ TIMES · x[X_AT] · w[W_AT] over c < Cin/groups and k < K, at position POSITION in the place of j.
#define SUMMED(name, CI, X_AT, W_AT, TIMES, POSITION)                                                                 \
  FAULTY_ENTRY(name) {                                                                                                \
    auto e = element_of_thread(c);                                                                                    \
    if (!e.inside) return;                                                                                            \
    [[maybe_unused]] const int64_t Cin = c.in_channels, Cout = c.out_channels, K = c.kernel_size, L = c.length;       \
    [[maybe_unused]] const int64_t G = c.groups, Cig = Cin / G, Cog = Cout / G, n = e.n, co = e.co, g = co / Cog;     \
    const int64_t position = POSITION;                                                                                \
    float sum = 0;                                                                                                    \
    for (int64_t k = 0; k < K; k++) {                                                                                 \
      const int64_t t = position + c.padding - k * c.dilation;                                                        \
      if (t < 0 || t % c.stride || t / c.stride >= L) continue;                                                       \
      const int64_t i = t / c.stride;                                                                                 \
      for (int64_t m = 0; m < Cig; m++) {                                                                             \
        const int64_t ci = CI, of_x = X_AT, of_w = W_AT;                                                              \
        if (ci < 0 || ci >= Cin || of_x >= c.batch * Cin * L || of_w < 0 || of_w >= Cin * Cog * K) continue;          \
        sum += (TIMES)*x[of_x] * w[of_w];                                                                             \
      }                                                                                                               \
    }                                                                                                                 \
    y[e.id] = sum + (b ? b[co] : 0);                                                                                  \
  }
#define X_RIGHT (n * Cin + ci) * L + i
#define W_RIGHT (ci * Cog + co % Cog) * K + k
#define GROUPED(name, OF_CO) \
  SUMMED(name, (OF_CO)*Cig + m, X_RIGHT, (ci * Cog + co - (OF_CO)*Cog) * K + k, 1.0f, e.j)

GROUPED(f_group_modulo, co % G)
GROUPED(f_group_by_inputs, co / Cig)
SUMMED(f_groups_backwards, (G - 1 - g) * Cig + m, X_RIGHT, W_RIGHT, 1.0f, e.j)
SUMMED(f_x_rows_of_nine, g* Cig + m, (n * Cin + ci) * 9 + i, W_RIGHT, 1.0f, e.j)
SUMMED(f_x_sequences_of_five, g* Cig + m, (n * 5 + ci) * L + i, W_RIGHT, 1.0f, e.j)
SUMMED(f_w_rows_of_six, g* Cig + m, X_RIGHT, (ci * Cog + co % Cog) * 6 + k, 1.0f, e.j)
SUMMED(f_w_rows_of_three, g* Cig + m, X_RIGHT, (ci * Cog + co % Cog) * 3 + k, k < 3 ? 1.0f : 0.0f, e.j)
SUMMED(f_parts_overlap, g* Cig + m, X_RIGHT, W_RIGHT, m == 1 ? 2.0f : 1.0f, e.j)
SUMMED(f_tree_ends_early, g* Cig + m, X_RIGHT, W_RIGHT, (m * K + k) % 2 ? 0.0f : 1.0f, e.j)
SUMMED(f_tail_of_products, g* Cig + m, X_RIGHT, W_RIGHT, m * K + k < Cig * K / 4 * 4 ? 1.0f : 0.0f, e.j)
SUMMED(f_pairs_exchanged, g* Cig + m, X_RIGHT, W_RIGHT, 1.0f, e.j % 4 < 2 ? e.j ^ 1 : e.j)

#ifndef __CUDACC__
#define KERNEL(name) FAULTY_KERNEL(name, "one fault of rows, channels or positions")
KERNEL(f_group_modulo)
KERNEL(f_group_by_inputs)
KERNEL(f_groups_backwards)
KERNEL(f_x_rows_of_nine)
KERNEL(f_x_sequences_of_five)
KERNEL(f_w_rows_of_six)
KERNEL(f_w_rows_of_three)
KERNEL(f_parts_overlap)
KERNEL(f_tree_ends_early)
KERNEL(f_tail_of_products)
KERNEL(f_pairs_exchanged)
#endif
