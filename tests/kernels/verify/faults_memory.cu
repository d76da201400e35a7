// Kernels that do the right sums and the wrong thing with memory.
#include "faulty.h"

// ---- what is never written ------------------------------------------------------------------------------------------

FAULTY_ENTRY(skips_the_last) {
  auto e = element_of_thread(c);
  if (e.inside && e.id != c.batch * c.out_channels * c.out_length - 1) y[e.id] = right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(skips_a_channel) {
  auto e = element_of_thread(c);
  if (e.inside && e.co != 1) y[e.id] = right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(lane_zero_writes) {
  auto e = element_of_thread(c);
  if (e.inside && threadIdx.x % 32 == 0) y[e.id] = right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(skips_later_sequences) {
  auto e = element_of_thread(c);
  if (e.inside && e.n == 0) y[e.id] = right_sum(c, e, x, w, b);
}

// Sums of zero are taken for nothing to write.
FAULTY_ENTRY(skips_zero_sums) {
  auto e = element_of_thread(c);
  float sum = e.inside ? right_sum(c, e, x, w, b) : 0;
  if (sum != 0) y[e.id] = sum;
}

// ---- what was there before ------------------------------------------------------------------------------------------

FAULTY_ENTRY(accumulates) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] += right_sum(c, e, x, w, b);
}
// The largest of what is there and the sum: no NaN comes out of a NaN.
FAULTY_ENTRY(keeps_the_larger) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = fmax(y[e.id], right_sum(c, e, x, w, b));
}

// ---- what is outside ------------------------------------------------------------------------------------------------

FAULTY_ENTRY(writes_before) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == 0) y[-1] = 1;
}
FAULTY_ENTRY(writes_after) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == 0) y[c.batch * c.out_channels * c.out_length] = 1;
}
// What lies behind y is added to, by no more than an input's value: a NaN that lies there keeps its bits.
FAULTY_ENTRY(adds_after) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == 0) atomicAdd(y + c.batch * c.out_channels * c.out_length, x[c.length / 2]);
}
// Nothing sends surplus threads home: what they read beyond x is a NaN, and that is what they write beyond y; or they
// add it to what lies there.
FAULTY_ENTRY(no_guard) {
  auto e = element_of_thread(c);
  y[e.id] = right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(no_guard_adds) {
  auto e = element_of_thread(c);
  if (e.inside)
    y[e.id] = right_sum(c, e, x, w, b);
  else
    y[e.id] += right_sum(c, e, x, w, b);
}
FAULTY_ENTRY(writes_far_after) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == 0)
    y[c.batch * c.out_channels * c.out_length + 1000] = y[c.batch * c.out_channels * c.out_length + 1007] = 1;
}
FAULTY_ENTRY(writes_after_x) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == 0) const_cast<float*>(x)[c.batch * c.in_channels * c.length] = 1;
}
// One past the end of a row of x: in the last row of the last sequence that is one past the end of x.
FAULTY_ENTRY(reads_beyond_x) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  int64_t cin = c.in_channels / c.groups, first = e.co / (c.out_channels / c.groups) * cin;
  for (int64_t ci = first; ci < first + cin; ci++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      int64_t t = e.j + c.padding - k * c.dilation;
      if (t >= 0 && t % c.stride == 0 && t / c.stride <= c.length)
        sum += x[x_at(c, e.n, ci, t / c.stride)] * w[w_at(c, ci, e.co, k)];
    }
  y[e.id] = sum;
}
// The last element takes part of what lies beyond w, and the first of what lies before b.
FAULTY_ENTRY(reads_beyond_w) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == c.batch * c.out_channels * c.out_length - 1)
    y[e.id] += w[c.in_channels * (c.out_channels / c.groups) * c.kernel_size + 5];
}
FAULTY_ENTRY(reads_before_b) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b) + (b && e.id < 3 ? b[-1] : 0);
}
// Beyond x everywhere, and the last element is never written.
FAULTY_ENTRY(reads_beyond_and_skips) {
  auto e = element_of_thread(c);
  if (e.inside && e.j != c.out_length - 1)
    y[e.id] = right_sum(c, e, x, w, b) + (e.j == 0 ? x[c.batch * c.in_channels * c.length] : 0);
}

// ---- what is not its own --------------------------------------------------------------------------------------------

FAULTY_ENTRY(writes_into_x) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == 0) const_cast<float*>(x)[c.batch * c.in_channels * c.length - 1] = 0.5f;
}
FAULTY_ENTRY(writes_into_w) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
  if (e.id == 0) const_cast<float*>(w)[0] += 1;
}

#ifndef __CUDACC__
FAULTY_KERNEL(skips_zero_sums, "wrong: writes no zero")
FAULTY_KERNEL(skips_the_last, "wrong: the last element is never written")
FAULTY_KERNEL(skips_a_channel, "wrong: channel 1 is never written")
FAULTY_KERNEL(lane_zero_writes, "wrong: one lane of each warp writes")
FAULTY_KERNEL(skips_later_sequences, "wrong: only the first sequence is written")
FAULTY_KERNEL(accumulates, "wrong: adds to what is in the output")
FAULTY_KERNEL(keeps_the_larger, "wrong: compares with what is in the output")
FAULTY_KERNEL(writes_before, "wrong: writes one element before the output")
FAULTY_KERNEL(writes_after, "wrong: writes one element after the output")
FAULTY_KERNEL(adds_after, "wrong: adds to what lies after the output")
FAULTY_KERNEL(no_guard, "wrong: threads beyond the output write")
FAULTY_KERNEL(no_guard_adds, "wrong: threads beyond the output add")
FAULTY_KERNEL(writes_far_after, "wrong: writes far after the output")
FAULTY_KERNEL(writes_after_x, "wrong: writes after an input")
FAULTY_KERNEL(reads_beyond_x, "wrong: i ≤ L")
FAULTY_KERNEL(reads_beyond_w, "wrong: adds what lies beyond w")
FAULTY_KERNEL(reads_before_b, "wrong: adds what lies before b")
FAULTY_KERNEL(reads_beyond_and_skips, "wrong: reads beyond x and leaves elements out")
FAULTY_KERNEL(writes_into_x, "wrong: changes x")
FAULTY_KERNEL(writes_into_w, "wrong: changes w")
#endif
