// Kernels that compute another sum than they should, each in its own way.
#include "faulty.h"

FAULTY_ENTRY(faultless) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
}

// Output channel 2 leaves out the product of its first input channel and tap 1.
FAULTY_ENTRY(drops_a_tap) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  int64_t first = e.co / (c.out_channels / c.groups) * (c.in_channels / c.groups);
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    if (!(e.co == 2 && ci == first && k == 1)) sum += x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, k)];
  });
  y[e.id] = sum;
}

// i > 0 where i ≥ 0 is right, and i < L − 1 where i < L is.
FAULTY_ENTRY(left_border) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    if (i > 0) sum += x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, k)];
  });
  y[e.id] = sum;
}
FAULTY_ENTRY(right_border) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    if (i < c.length - 1) sum += x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, k)];
  });
  y[e.id] = sum;
}

// Every channel changes places with its neighbour; and only channels 4 and 5 do.
FAULTY_ENTRY(exchanged_channels) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  int64_t id = e.id;
  if ((e.co ^ 1) < c.out_channels) e.co ^= 1;
  y[id] = right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(exchanged_pair) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  int64_t id = e.id;
  if (e.co == 4 || e.co == 5) e.co ^= 1;
  y[id] = right_sum(c, e, x, w, b);
}
// Channel co holds what belongs to co + 1, the last what belongs to the first.
FAULTY_ENTRY(rotated_channels) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  e.co = (e.co + 1) % c.out_channels;
  y[e.id] = right_sum(c, e, x, w, b);
}

FAULTY_ENTRY(bias_by_position) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, static_cast<const float*>(nullptr)) + (b ? b[e.j % c.out_channels] : 0);
}
FAULTY_ENTRY(no_bias) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, static_cast<const float*>(nullptr));
}
FAULTY_ENTRY(doubled) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = 2 * right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(all_zero) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = 0;
}
// One channel twice as large as it should be.
FAULTY_ENTRY(doubled_channel) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = (e.co == 1 ? 2 : 1) * right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(mirrored_taps) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum += x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, c.kernel_size - 1 - k)];
  });
  y[e.id] = sum;
}
// w read as [Cout, Cin, K].
FAULTY_ENTRY(transposed_weights) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum += x[x_at(c, e.n, ci, i)] * w[(e.co * c.in_channels + ci) * c.kernel_size + k];
  });
  y[e.id] = sum;
}
// The group's own number of a channel where the channel's number belongs: every group reads the first group's inputs.
FAULTY_ENTRY(first_group_only) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  int64_t cin = c.in_channels / c.groups;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum += x[x_at(c, e.n, ci % cin, i)] * w[w_at(c, ci, e.co, k)];
  });
  y[e.id] = sum;
}
// Every sequence is computed from the first one.
FAULTY_ENTRY(first_sequence_only) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  e.n = 0;
  y[e.id] = right_sum(c, e, x, w, b);
}
// No test for divisibility: taps that do not land are taken too.
FAULTY_ENTRY(ghost_taps) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  int64_t cin = c.in_channels / c.groups, first = e.co / (c.out_channels / c.groups) * cin;
  for (int64_t ci = first; ci < first + cin; ci++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      int64_t t = e.j + c.padding - k * c.dilation;
      if (t >= 0 && t / c.stride < c.length) sum += x[x_at(c, e.n, ci, t / c.stride)] * w[w_at(c, ci, e.co, k)];
    }
  y[e.id] = sum;
}

// Right where the sum is positive.
FAULTY_ENTRY(cuts_negatives) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = fmax(right_sum(c, e, x, w, b), 0.0f);
}

#ifndef __CUDACC__
FAULTY_KERNEL(faultless, "right")
FAULTY_KERNEL(drops_a_tap, "wrong: channel 2 lacks a product")
FAULTY_KERNEL(left_border, "wrong: never reads the first input")
FAULTY_KERNEL(right_border, "wrong: never reads the last input")
FAULTY_KERNEL(exchanged_channels, "wrong: neighbours exchanged")
FAULTY_KERNEL(exchanged_pair, "wrong: channels 4 and 5 exchanged")
FAULTY_KERNEL(rotated_channels, "wrong: channels rotated by one")
FAULTY_KERNEL(bias_by_position, "wrong: the bias is taken by position")
FAULTY_KERNEL(no_bias, "wrong: no bias")
FAULTY_KERNEL(doubled, "wrong: everything twice")
FAULTY_KERNEL(all_zero, "wrong: zeros")
FAULTY_KERNEL(doubled_channel, "wrong: channel 1 twice")
FAULTY_KERNEL(mirrored_taps, "wrong: the filter backwards")
FAULTY_KERNEL(transposed_weights, "wrong: weights as [Cout, Cin, K]")
FAULTY_KERNEL(first_group_only, "wrong: every group reads the first one's inputs")
FAULTY_KERNEL(first_sequence_only, "wrong: every sequence reads the first one's inputs")
FAULTY_KERNEL(ghost_taps, "wrong: no divisibility test")
FAULTY_KERNEL(cuts_negatives, "wrong: nothing below zero")
#endif
