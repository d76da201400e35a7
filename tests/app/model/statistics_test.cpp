// What is read off the counts of a result, against counting its elements one by one.
#include "kernels/verify/statistics.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/engine/codec.h"
#include "app/model/report.h"
#include "tests/convolution.h"

namespace convscope {
namespace {

// A result in which errors and ratios of all sizes occur, and those that lie exactly on an edge of a bin.
struct Result {
  ResultTensors t;
  std::vector<float> gate, ratio;  // of the finite elements: |error|/(1 + |reference|), |error|/bound
  int64_t not_finite = 0, zero = 0;

  explicit Result(uint64_t seed, int64_t rows = 7, int64_t columns = 3001) {
    test::Random r(seed);
    auto elements = static_cast<size_t>(rows * columns);
    t.rows = rows, t.columns = columns;
    t.output = HostBytes(elements * 4), t.error = HostBytes(elements * 4), t.ratio = HostBytes(elements * 4);
    const LogBins gates = ErrorStatistics::gate_bins, ratios = ErrorStatistics::ratio_bins;
    auto pick = [&](LogBins b) {
      return static_cast<float>(b.edge(static_cast<int>(r() % static_cast<uint64_t>(b.count() + 1))));
    };
    auto any = [&](double low, double high) {
      return static_cast<float>(std::pow(10, low + (high - low) * static_cast<double>(r() % 1000001) / 1e6));
    };
    for (size_t e = 0; e < elements; e++) {
      float &output = t.output.as<float>()[e], &error = t.error.as<float>()[e], &ratio = t.ratio.as<float>()[e];
      // On an edge: the reference is 0, so that nothing is rounded.
      bool edge = r() % 4 == 0;
      error = r() % 16 == 0 ? 0 : edge ? pick(gates) : any(-14, 8);
      ratio = error == 0 ? 0 : edge ? pick(ratios) : any(-10, 12);
      if (r() % 2) error = -error;
      output = edge ? error : error + any(-5, 3);
      if (r() % 50 == 0) output = r() % 2 ? NAN : INFINITY, error = 0, ratio = INFINITY;
      auto i = static_cast<int64_t>(e);
      if (!std::isfinite(t.error_at(i))) {
        not_finite++;
        continue;
      }
      zero += error == 0;
      gate.push_back(std::fabs(error) / (1 + static_cast<float>(std::fabs(t.reference_at(i)))));
      this->ratio.push_back(ratio);
    }
  }

  // As the engine sends it.
  Statistics statistics() const {
    Activity activity;
    return statistics_from(statistics_json(error_statistics(t, activity)), "key");
  }
};

TEST(Statistics, Counts) {
  Result result(1);
  Statistics s = result.statistics();
  EXPECT_EQ(s.key, "key");
  EXPECT_EQ(s.elements, 7 * 3001);
  EXPECT_EQ(s.not_finite, result.not_finite);
  EXPECT_EQ(s.zero, result.zero);
  EXPECT_GT(s.not_finite, 100);
  auto sum = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
  EXPECT_EQ(sum(s.ratio), static_cast<double>(s.elements - s.not_finite));
  EXPECT_EQ(sum(s.gate), static_cast<double>(s.elements - s.not_finite));
  for (int i = 0; i <= s.gate_bins.count(); i++) EXPECT_EQ(s.gate_bins.edge(i), ErrorStatistics::gate_bins.edge(i));
}

TEST(Statistics, FailingIsExactAtEveryEdge) {
  for (uint64_t seed : {1, 2, 3}) {
    Result result(seed);
    Statistics s = result.statistics();
    for (int i = 0; i < s.gate_bins.count(); i++) {
      double t = s.gate_bins.edge(i);
      auto expected =
          std::count_if(result.gate.begin(), result.gate.end(), [&](float v) { return v > static_cast<float>(t); }) +
          result.not_finite;
      ASSERT_EQ(s.failing_at(t), static_cast<double>(expected)) << "tolerance " << t;
    }
    // The usual ones, as a person writes them.
    for (double t : {1e-2, 1e-4, 1e-6, 1.0}) {
      auto expected =
          std::count_if(result.gate.begin(), result.gate.end(), [&](float v) { return v > static_cast<float>(t); }) +
          result.not_finite;
      EXPECT_EQ(s.failing_at(t), static_cast<double>(expected)) << "tolerance " << t;
    }
  }
}

TEST(Statistics, FailingBetweenEdgesLiesBetween) {
  Result result(4);
  Statistics s = result.statistics();
  for (int i = 0; i + 1 < s.gate_bins.count(); i++) {
    double between = std::sqrt(s.gate_bins.edge(i) * s.gate_bins.edge(i + 1));
    EXPECT_LE(s.failing_at(between), s.failing_at(s.gate_bins.edge(i)));
    EXPECT_GE(s.failing_at(between), s.failing_at(s.gate_bins.edge(i + 1)));
  }
  EXPECT_EQ(s.failing_at(INFINITY), static_cast<double>(result.not_finite));
}

TEST(Statistics, Quantiles) {
  for (uint64_t seed : {5, 6, 7}) {
    Result result(seed);
    Statistics s = result.statistics();
    auto below = [&](double edge) {
      return std::count_if(result.ratio.begin(), result.ratio.end(),
                           [&](float v) { return v <= static_cast<float>(edge); });
    };
    auto all = static_cast<double>(result.ratio.size());
    for (double q : {0.001, 0.1, 0.25, 0.5, 0.9, 0.99}) {
      double at = s.ratio_quantile(q);
      if (at == 0) {
        EXPECT_GE(static_cast<double>(result.zero), q * all);
        continue;
      }
      if (at == s.ratio_bins.edge(s.ratio_bins.count())) continue;  // or beyond it
      EXPECT_GE(static_cast<double>(below(at)), q * all) << q;
      // … and the edge before is not enough.
      if (at == s.ratio_bins.edge(0)) continue;
      EXPECT_LT(static_cast<double>(below(at / std::pow(10, 1.0 / s.ratio_bins.per_decade) * 1.000001)), q * all) << q;
    }
  }
}

TEST(Statistics, OfAnExactResult) {
  Result result(8, 1, 100);
  for (int i = 0; i < 100; i++)
    result.t.output.as<float>()[i] = 1, result.t.error.as<float>()[i] = 0, result.t.ratio.as<float>()[i] = 0;
  Statistics s = result.statistics();
  EXPECT_EQ(s.zero, 100);
  for (double q : {0.0, 0.5, 1.0}) EXPECT_EQ(s.ratio_quantile(q), 0);
  EXPECT_EQ(s.failing_at(0), 0);
  // A control: one wrong element is seen.
  result.t.error.as<float>()[17] = 1, result.t.ratio.as<float>()[17] = 1e5f, result.t.output.as<float>()[17] = 2;
  s = result.statistics();
  EXPECT_EQ(s.failing_at(1e-2), 1);
  EXPECT_GE(s.ratio_quantile(1), 1e5);
  EXPECT_EQ(s.ratio_quantile(0.99), 0);
}

TEST(Statistics, OfNothingFinite) {
  Result result(9, 1, 10);
  for (int i = 0; i < 10; i++) result.t.output.as<float>()[i] = NAN;
  Statistics s = result.statistics();
  EXPECT_EQ(s.not_finite, 10);
  EXPECT_EQ(s.failing_at(1e6), 10);
  EXPECT_EQ(s.ratio_quantile(0.5), 0);
}

}  // namespace
}  // namespace convscope
