// The oracle on the CPU: polyphase sums as long vector operations, on all cores.
//
// Compiled with -ffp-contract=off: the error-free transformations of Dot2 must not be fused by the compiler.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/base/worker_pool.h"
#include "kernels/problem/counts.h"
#include "kernels/reference/oracle.h"

namespace convscope {
namespace {

constexpr int64_t strip = 1024;  // positions of one class summed at a time: the sums stay in the first-level cache

// sum[m] += w·x[m], magnitude[m] += |w·x[m]|.
template <bool with_magnitude>
inline __attribute__((always_inline)) void accumulate(double* sum, double* magnitude, const float* x, double w,
                                                      int64_t n) {
  double size = std::fabs(w);
  for (int64_t m = 0; m < n; m++) {
    double v = x[m];
    sum[m] += w * v;
    if constexpr (with_magnitude) magnitude[m] += size * std::fabs(v);
  }
}

// Four channels at once: sum and magnitude are read and written once for all of them. x[c·step + m] is channel c's.
constexpr int together = 4;
template <bool with_magnitude>
inline __attribute__((always_inline)) void accumulate4(double* sum, double* magnitude, const float* x, int64_t step,
                                                       const double* w, int64_t n) {
  const double a = w[0], b = w[1], c = w[2], d = w[3];
  const float *xa = x, *xb = x + step, *xc = xb + step, *xd = xc + step;
  for (int64_t m = 0; m < n; m++) {
    double pa = a * xa[m], pb = b * xb[m], pc = c * xc[m], pd = d * xd[m];
    sum[m] = sum[m] + pa + pb + pc + pd;
    if constexpr (with_magnitude)
      magnitude[m] = magnitude[m] + std::fabs(pa) + std::fabs(pb) + std::fabs(pc) + std::fabs(pd);
  }
}

// The same with the sum in two doubles: sum + low (Dot2).
template <bool with_magnitude>
inline __attribute__((always_inline)) void accumulate2(double* sum, double* low, double* magnitude, const double* x,
                                                       double w, int64_t n) {
  double size = std::fabs(w);
  for (int64_t m = 0; m < n; m++) {
    double v = x[m], product = w * v, error = std::fma(w, v, -product);
    double s = sum[m], t = s + product, z = t - s;
    low[m] += ((s - (t - z)) + (product - z)) + error;
    sum[m] = t;
    if constexpr (with_magnitude) magnitude[m] += size * std::fabs(v);
  }
}

// One copy for every machine and one for those with AVX2 and FMA, chosen once at run time.
#define CONVSCOPE_BOTH(name, template_name, parameters, arguments)  \
  template <bool with_magnitude>                                    \
  void name##_any parameters {                                      \
    template_name<with_magnitude> arguments;                        \
  }                                                                 \
  template <bool with_magnitude>                                    \
  __attribute__((target("avx2,fma"))) void name##_avx2 parameters { \
    template_name<with_magnitude> arguments;                        \
  }
CONVSCOPE_BOTH(add, accumulate, (double* s, double* g, const float* x, double w, int64_t n), (s, g, x, w, n))
CONVSCOPE_BOTH(add4, accumulate4, (double* s, double* g, const float* x, int64_t step, const double* w, int64_t n),
               (s, g, x, step, w, n))
CONVSCOPE_BOTH(add2, accumulate2, (double* s, double* l, double* g, const double* x, double w, int64_t n),
               (s, l, g, x, w, n))
#undef CONVSCOPE_BOTH

bool has_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return yes;
}

void add_row(double* s, double*, double* g, const float* x, double w, int64_t n) {
  if (has_avx2())
    g ? add_avx2<true>(s, g, x, w, n) : add_avx2<false>(s, g, x, w, n);
  else
    g ? add_any<true>(s, g, x, w, n) : add_any<false>(s, g, x, w, n);
}
void add_row(double* s, double* l, double* g, const double* x, double w, int64_t n) {
  if (has_avx2())
    g ? add2_avx2<true>(s, l, g, x, w, n) : add2_avx2<false>(s, l, g, x, w, n);
  else
    g ? add2_any<true>(s, l, g, x, w, n) : add2_any<false>(s, l, g, x, w, n);
}

void add_rows(double* s, double* g, const float* x, int64_t step, const double* w, int64_t n) {
  if (has_avx2())
    g ? add4_avx2<true>(s, g, x, step, w, n) : add4_avx2<false>(s, g, x, step, w, n);
  else
    g ? add4_any<true>(s, g, x, step, w, n) : add4_any<false>(s, g, x, step, w, n);
}

class CpuOracle final : public Oracle {
 public:
  CpuOracle(const ConvProblem& p, const Inputs& in) : p_(p), in_(in), classes_(polyphase_classes(p)) {
    // Widened once: each number is used many times.
    if (is_half(p.dtype)) in_ = {convert(in.x, DType::f32), convert(in.w, DType::f32), convert(in.b, DType::f32)};
  }

  std::string where() const override { return "CPU"; }
  int64_t most_elements() const override { return int64_t{1} << 17; }

  void compute(const OutputBlock& block, double* value, double* magnitude) override {
    // Work items: one row, one stretch of columns. Long enough to pay, short enough to share out.
    int64_t stretch = std::max<int64_t>(strip * std::min<int64_t>(p_.stride, 64), 4096);
    int64_t stretches = (block.columns + stretch - 1) / stretch;
    WorkerPool::shared().for_chunks(block.rows * stretches, 1, [&](int64_t item, int64_t) {
      int64_t row = item / stretches, at = item % stretches * stretch, n = std::min(stretch, block.columns - at);
      double* v = value + row * block.columns + at;
      double* g = magnitude ? magnitude + row * block.columns + at : nullptr;
      if (p_.dtype == DType::f64)
        row_part<double>(block.row + row, block.column + at, n, v, g);
      else
        row_part<float>(block.row + row, block.column + at, n, v, g);
    });
  }

 private:
  // Positions [j0, j0 + n) of one row.
  template <class T>
  void row_part(int64_t row, int64_t j0, int64_t n, double* value, double* magnitude) const {
    int64_t co = row % p_.out_channels, batch = row / p_.out_channels, cout = p_.out_per_group(),
            cin = p_.in_per_group();
    double bias = p_.bias ? in_.b.at(co) : 0;
    std::fill(value, value + n, bias);
    if (magnitude) std::fill(magnitude, magnitude + n, std::fabs(bias));
    const T* x = in_.x.span<T>().data() + (batch * p_.in_channels + co / cout * cin) * p_.length;
    const T* w = in_.w.span<T>().data() + (co / cout * cin * cout + co % cout) * p_.kernel_size;
    double sum[strip], low[strip], size[strip];
    for (const auto& c : classes_) {
      int64_t shift = ((c.residue - (j0 + p_.padding)) % p_.stride + p_.stride) % p_.stride;
      int64_t count = shift < n ? (n - shift - 1) / p_.stride + 1 : 0;  // positions of this class
      for (int64_t m0 = 0; m0 < count; m0 += strip) {
        int64_t now = std::min(strip, count - m0), first = j0 + shift + m0 * p_.stride;
        std::fill(sum, sum + now, bias);
        std::fill(low, low + now, 0.0);
        if (magnitude) std::fill(size, size + now, std::fabs(bias));
        for (int64_t k : c.taps) {
          int64_t i = (first + p_.padding - k * p_.dilation) / p_.stride;  // exact
          int64_t a = std::max<int64_t>(0, -i), b = std::min(now, p_.length - i);
          if (a >= b) continue;
          auto weight = [&](int64_t ci) { return static_cast<double>(w[ci * cout * p_.kernel_size + k]); };
          double* g = magnitude ? size + a : nullptr;
          int64_t ci = 0;
          if constexpr (std::is_same_v<T, float>)
            for (; ci + together <= cin; ci += together) {
              const double four[together] = {weight(ci), weight(ci + 1), weight(ci + 2), weight(ci + 3)};
              add_rows(sum + a, g, x + ci * p_.length + i + a, p_.length, four, b - a);
            }
          for (; ci < cin; ci++) add_row(sum + a, low + a, g, x + ci * p_.length + i + a, weight(ci), b - a);
        }
        for (int64_t m = 0; m < now; m++) {
          int64_t o = shift + (m0 + m) * p_.stride;
          value[o] = sum[m] + low[m];
          if (magnitude) magnitude[o] = size[m];
        }
      }
    }
  }

  ConvProblem p_;
  Inputs in_;
  std::vector<PolyphaseClass> classes_;
};

}  // namespace

std::vector<int64_t> term_counts(const ConvProblem& p, int64_t column, int64_t columns) {
  // Tap k reaches j where j + p − k·d is a multiple of s in [0, (L − 1)·s]: mark those, tap by tap.
  std::vector<int64_t> terms(static_cast<size_t>(columns), p.bias ? 1 : 0);
  for (int64_t k = 0; k < p.kernel_size; k++) {
    int64_t offset = k * p.dilation - p.padding;  // input 0 lands here
    int64_t i = std::max<int64_t>(0, offset >= column ? 0 : (column - offset + p.stride - 1) / p.stride);
    for (; i < p.length; i++) {
      int64_t j = i * p.stride + offset;
      if (j >= column + columns) break;
      terms[static_cast<size_t>(j - column)] += p.in_per_group();
    }
  }
  return terms;
}

std::unique_ptr<Oracle> make_cpu_oracle(const ConvProblem& p, const Inputs& in) {
  return std::make_unique<CpuOracle>(p, in);
}

double oracle_disagreement(const ConvProblem& p, Oracle& a, Oracle& b, int samples, uint64_t seed) {
  std::mt19937_64 rng(seed);
  double worst = 0;
  for (int i = 0; i < samples; i++) {
    OutputBlock block{static_cast<int64_t>(rng() % static_cast<uint64_t>(p.batch * p.out_channels)), 1,
                      static_cast<int64_t>(rng() % static_cast<uint64_t>(p.out_length())), 1};
    double va = 0, vb = 0, ga = 0, gb = 0;
    a.compute(block, &va, &ga);
    b.compute(block, &vb, &gb);
    double unit = 0x1p-53 * std::max(ga, gb);
    double difference = std::max(std::fabs(va - vb), std::fabs(ga - gb));
    if (std::isnan(va - vb) || std::isnan(ga - gb)) return std::numeric_limits<double>::infinity();
    if (difference > 0) worst = std::max(worst, difference / std::max(unit, 0x1p-1074));
  }
  return worst;
}

}  // namespace convscope
