// The polyphase view in numbers a kernel can use without a table: which taps reach a residue class.
#pragma once
#include "convscope/kernel.h"

// With g = gcd(s, d): outputs of class r = (j + p) mod s are reached only if g divides r; then by the taps
// k0, k0 + period, k0 + 2·period, … with k0 = (r/g)·inverse mod period, and each next tap reads the input `back`
// positions further left.
struct Phases {
  int64_t gcd;      // g
  int64_t period;   // s/g: distance of two taps of one class
  int64_t back;     // d/g: distance of the inputs they read
  int64_t inverse;  // of d/g modulo s/g
};

#ifndef __CUDACC__
inline Phases phases_of(const ConvProblem& p) {
  Phases f{};
  int64_t a = p.stride, b = p.dilation;
  while (b) {
    int64_t r = a % b;
    a = b, b = r;
  }
  f.gcd = a;
  f.period = p.stride / a;
  f.back = p.dilation / a;
  // Extended Euclid for f.back · inverse ≡ 1 (mod f.period).
  int64_t r0 = f.period, r1 = f.back % f.period, t0 = 0, t1 = 1;
  while (r1) {
    int64_t q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
    r0 = r1, r1 = r, t0 = t1, t1 = t;
  }
  f.inverse = f.period == 1 ? 0 : (t0 % f.period + f.period) % f.period;
  return f;
}
#endif
