// Measuring again and again: it goes on by itself, gives way, begins anew for another document, and ends.
#include <gtest/gtest.h>

#include "tests/app/model/benches.h"

namespace convscope {
namespace {

TEST(Monitor, MeasuresUntilItIsStopped) {
  test::Bench bench;
  Document d = test::quick_document(40, "tiled");
  EXPECT_FALSE(bench->monitor().on);
  bench->keep_measuring(d);
  ASSERT_TRUE(bench.until([&] { return bench->monitor().calls >= 6; })) << bench->monitor().trouble;
  const Monitor& m = bench->monitor();
  EXPECT_TRUE(m.on);
  EXPECT_EQ(m.readings.size(), m.calls);
  EXPECT_EQ(m.source, "emulated");
  EXPECT_EQ(m.packed_reason.empty(), m.readings.back().packed_ms.has_value());
  ASSERT_TRUE(m.latest);
  EXPECT_EQ(m.latest->headlines.size(), 12u);
  EXPECT_EQ(m.latest->kernel, "tiled");
  EXPECT_FALSE(m.latest->gap.empty()) << "the emulator has no hardware counters, and says so";
  EXPECT_GT(m.per_second(), 0);
  double before = -1;
  for (const auto& r : m.readings) {
    EXPECT_GT(r.ms, 0);
    EXPECT_GE(r.at_s, before);
    before = r.at_s;
  }
  // Another document begins anew, the same one goes on.
  const uint64_t calls = m.calls;
  bench->keep_measuring(d);
  EXPECT_GE(bench->monitor().calls, calls);
  d.problem.length++;
  bench->keep_measuring(d);
  EXPECT_EQ(bench->monitor().calls, 0u);
  ASSERT_TRUE(bench.until([&] { return bench->monitor().calls >= 2; }));
  EXPECT_EQ(bench->monitor().document, d);
  bench->stop_measuring();
  const uint64_t last = bench->monitor().calls;
  ASSERT_TRUE(bench.settle());
  EXPECT_EQ(bench->monitor().calls, last) << "no answer after the end";
  EXPECT_FALSE(bench->monitor().on);
  EXPECT_TRUE(bench->monitor().trouble.empty());
}

TEST(Monitor, GivesWayToARun) {
  test::Bench bench;
  const Document d = test::quick_document(40, "direct");
  bench->keep_measuring(d);
  ASSERT_TRUE(bench.until([&] { return bench->monitor().calls >= 2; }));
  ASSERT_TRUE(bench.run(d));
  const uint64_t during = bench->monitor().calls;
  bench->keep_measuring(d);
  EXPECT_TRUE(bench.until([&] { return bench->monitor().calls > during + 2; })) << "and goes on after it";
  bench->stop_measuring();
}

TEST(Monitor, SaysWhyItEnds) {
  test::Bench bench;
  Document d = test::quick_document(40, "hopper_16bit");  // it takes no f32
  bench->keep_measuring(d);
  ASSERT_TRUE(bench.until([&] { return !bench->monitor().on; }));
  EXPECT_NE(bench->monitor().trouble.find("f16"), std::string::npos) << bench->monitor().trouble;
  EXPECT_EQ(bench->monitor().calls, 0u);
}

TEST(Monitor, ItsFiguresAreOfWhatIsKept) {
  Monitor m;
  EXPECT_EQ(m.per_second(), 0);
  EXPECT_EQ(m.median_ms(), 0);
  for (int i = 0; i < 5; i++) m.readings.push_back({10.0 * i, 1.0 + i, {}});
  EXPECT_EQ(m.median_ms(), 3);
  EXPECT_DOUBLE_EQ(m.spread_pct(), 50 * 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.per_second(), 0.1) << "slower than the two seconds it looks back";
  m.readings.clear();
  for (int i = 0; i < 200; i++) m.readings.push_back({0.05 * i, 1, {}});
  EXPECT_NEAR(m.per_second(), 20, 1e-6);
}

}  // namespace
}  // namespace convscope
