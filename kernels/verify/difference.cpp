#include "kernels/verify/difference.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/worker_pool.h"
#include "kernels/verify/pattern.h"

namespace convscope {
namespace {

// Another output in the oracle's place: its values, with the oracle's magnitudes.
class InPlaceOf : public Oracle {
 public:
  InPlaceOf(Oracle& oracle, const ResultTensors& other) : oracle_(oracle), other_(other) {}
  void compute(const OutputBlock& block, double* value, double* magnitude) override {
    oracle_.compute(block, value, magnitude);
    WorkerPool::shared().for_chunks(block.rows, 1, [&](int64_t a, int64_t b) {
      for (int64_t r = a; r < b; r++)
        for (int64_t c = 0; c < block.columns; c++)
          value[r * block.columns + c] = other_.output_at((block.row + r) * other_.columns + block.column + c);
    });
  }
  std::string where() const override { return oracle_.where(); }
  int64_t most_elements() const override { return oracle_.most_elements(); }

 private:
  Oracle& oracle_;
  const ResultTensors& other_;
};

}  // namespace

OutputDifference output_difference(const ConvProblem& p, Oracle& oracle, const ResultTensors& one,
                                   const ResultTensors& other, Accuracy accuracy, ResultTensors& apart,
                                   Activity* activity) {
  const auto all = static_cast<size_t>(p.y_elements());
  apart.rows = one.rows, apart.columns = one.columns, apart.dtype = one.dtype;
  apart.output = HostBytes(one.output.size());
  std::memcpy(apart.output.data(), one.output.data(), one.output.size());
  apart.error = HostBytes(all * sizeof(float)), apart.ratio = HostBytes(all * sizeof(float));

  InPlaceOf in_place(oracle, other);
  CompareOptions o;
  o.accuracy = accuracy;
  o.gates.clear();
  o.bounds = 2;
  o.sink = {apart.error.as<float>(), apart.ratio.as<float>()};
  const Comparison c = compare(p, in_place, {p.dtype, one.output.data(), p.out_length()}, o, activity);

  // Where one of the two is no number, the comparison with an oracle, which always is one, says too little.
  OutputDifference d;
  d.elements = c.elements, d.max_abs = c.max_abs;
  std::atomic<int64_t> identical = 0, beyond = 0;
  dispatch(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T *a = one.output.as<T>(), *b = other.output.as<T>();
    auto *error = apart.error.as<float>(), *ratio = apart.ratio.as<float>();
    WorkerPool::shared().for_chunks(static_cast<int64_t>(all), int64_t{1} << 18, [&](int64_t from, int64_t to) {
      int64_t same = 0, wrong = 0;
      for (int64_t e = from; e < to; e++) {
        const auto va = static_cast<double>(a[e]), vb = static_cast<double>(b[e]);
        const bool equal = std::memcmp(a + e, b + e, sizeof(T)) == 0 || (std::isnan(va) && std::isnan(vb));
        if (!std::isfinite(va) || !std::isfinite(vb)) {
          error[e] = static_cast<float>(std::isfinite(va) ? va - vb : vb);
          ratio[e] = equal ? 0 : std::numeric_limits<float>::infinity();
        }
        same += equal, wrong += !(std::fabs(ratio[e]) <= 1);
      }
      identical += same, beyond += wrong;
    });
  });
  d.identical = identical, d.beyond = beyond;
  if (d.beyond == 0) return d;
  d.first = c.first_failing;
  // Pairs without a number were counted as wrong there: what they have in common would be said of too many.
  if (c.failing != d.beyond) return d;
  d.where = find_pattern(p, c, {}, {}, nullptr).where;
  // Without stretches of rows to try them on, shifts were not looked for.
  if (size_t at = d.where.find(", and no shift explains it"); at != std::string::npos) d.where.resize(at);
  return d;
}

uint64_t difference_bytes(const ConvProblem& p) {
  return static_cast<uint64_t>(p.y_elements()) * (size_of(p.dtype) + 2 * sizeof(float)) +
         Pyramid::predicted_bytes(p.batch * p.out_channels, p.out_length());
}

}  // namespace convscope
