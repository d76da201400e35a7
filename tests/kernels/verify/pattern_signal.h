// Outputs that are made for the finder of patterns.
#pragma once
#include <functional>
#include <vector>

#include "kernels/problem/counts.h"
#include "kernels/verify/pattern.h"
#include "tests/kernels/verify/judging.h"

namespace convscope::test {

// Integers as the exact pass has them: mostly different, not zero where a tap lands.
struct Signal {
  ConvProblem p;
  std::vector<double> biases;
  MadeUpOracle oracle;

  double bias(int64_t row) const { return biases.empty() ? 0 : biases[static_cast<size_t>(row % p.out_channels)]; }
  double value(int64_t row, int64_t j) const {
    if (taps_reaching(p, j) == 0) return bias(row);
    auto h = static_cast<uint64_t>(row * 1000003 + j + 7) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9u;
    return static_cast<double>(h >> 40 & 31) - 15.5 + bias(row);
  }
  explicit Signal(const ConvProblem& problem)
      : p(problem),
        oracle(
            problem, [this](int64_t r, int64_t j) { return value(r, j); }, [](int64_t, int64_t) { return 100.0; }) {
    for (int64_t c = 0; c < p.b_elements(); c++)
      biases.push_back(static_cast<double>(c % 5 + 1) * (c % 2 ? -0.25 : 0.25));
  }

  // The pattern of an output that is got(row, j).
  Pattern find(const std::function<double(int64_t, int64_t)>& got) {
    int64_t lout = p.out_length(), rows = p.batch * p.out_channels;
    auto y = make_tensor(DType::f32, {p.batch, p.out_channels, lout}, [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++)
        out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(got(e / lout, e % lout));
    });
    CompareOptions o;
    o.exactness = Exactness::bitwise;
    auto c = compare(p, oracle, {DType::f32, y.data(), lout}, o, nullptr);
    std::vector<SampleRow> samples;
    for (int64_t row = 0; row < rows; row++) {
      SampleRow s{row, 0, {}, {}, bias(row)};
      for (int64_t j = 0; j < lout; j++) s.got.push_back(y.at(row * lout + j)), s.expected.push_back(value(row, j));
      samples.push_back(s);
    }
    return find_pattern(p, c, samples, biases, nullptr);
  }
};

}  // namespace convscope::test
