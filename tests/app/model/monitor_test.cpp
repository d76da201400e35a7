// Measuring again and again: it goes on by itself, gives way, begins anew for another document, and ends.
#include <gtest/gtest.h>

#include "tests/app/model/benches.h"

namespace convscope {
namespace {

TEST(Monitor, MeasuresUntilItIsStopped) {
  test::Bench bench;
  Document d = test::quick_document(40, "tiled");
  EXPECT_FALSE(bench->measuring().monitor().on);
  bench->measuring().keep_on(d);
  ASSERT_TRUE(bench.until([&] { return bench->measuring().monitor().calls >= 6; }))
      << bench->measuring().monitor().trouble;
  const Monitor& m = bench->measuring().monitor();
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
  bench->measuring().keep_on(d);
  EXPECT_GE(bench->measuring().monitor().calls, calls);
  d.problem.length++;
  bench->measuring().keep_on(d);
  EXPECT_EQ(bench->measuring().monitor().calls, 0u);
  ASSERT_TRUE(bench.until([&] { return bench->measuring().monitor().calls >= 2; }));
  EXPECT_EQ(bench->measuring().monitor().document, d);
  bench->measuring().stop_monitor();
  const uint64_t last = bench->measuring().monitor().calls;
  ASSERT_TRUE(bench.settle());
  EXPECT_EQ(bench->measuring().monitor().calls, last) << "no answer after the end";
  EXPECT_FALSE(bench->measuring().monitor().on);
  EXPECT_TRUE(bench->measuring().monitor().trouble.empty());
}

TEST(Monitor, GivesWayToARun) {
  test::Bench bench;
  const Document d = test::quick_document(40, "direct");
  bench->measuring().keep_on(d);
  ASSERT_TRUE(bench.until([&] { return bench->measuring().monitor().calls >= 2; }));
  ASSERT_TRUE(bench.run(d));
  const uint64_t during = bench->measuring().monitor().calls;
  bench->measuring().keep_on(d);
  EXPECT_TRUE(bench.until([&] { return bench->measuring().monitor().calls > during + 2; })) << "and goes on after it";
  bench->measuring().stop_monitor();
}

TEST(Monitor, SaysWhyItEnds) {
  test::Bench bench;
  Document d = test::quick_document(40, "hopper_16bit");  // it takes no f32
  bench->measuring().keep_on(d);
  ASSERT_TRUE(bench.until([&] { return !bench->measuring().monitor().on; }));
  EXPECT_NE(bench->measuring().monitor().trouble.find("f16"), std::string::npos)
      << bench->measuring().monitor().trouble;
  EXPECT_EQ(bench->measuring().monitor().calls, 0u);
}

// The run does not wait for the call in hand, which takes two minutes here.
TEST(Monitor, ACallInHandIsGivenUpForARun) {
  test::Bench bench(test::test_engine_with("CONVSCOPE_LIBDNNL=none"));
  Document slow = test::quick_document(8000, "slow"), good = test::quick_document(64, "healthy");
  slow.problem = {}, good.problem = {};
  slow.problem.length = 8000, slow.problem.dilation = 60, good.problem.length = 64;
  bench->measuring().keep_on(slow);
  bench.until([] { return false; }, 0.5);
  ASSERT_TRUE(bench->measuring().monitor().on) << bench->measuring().monitor().trouble;
  ASSERT_EQ(bench->measuring().monitor().calls, 0u) << "it is in hand";
  EXPECT_TRUE(bench.run(good));
  EXPECT_TRUE(bench->measuring().monitor().on) << bench->measuring().monitor().trouble;
  bench->measuring().keep_on(slow);
  bench.until([] { return false; }, 0.5);
  ASSERT_EQ(bench->measuring().monitor().calls, 0u);
  bench->measuring().want_profile(good, false);
  EXPECT_TRUE(bench.until([&] { return bench->profile_of(good) != nullptr; })) << bench->measuring().trouble();
  EXPECT_TRUE(bench->measuring().monitor().trouble.empty()) << bench->measuring().monitor().trouble;
  bench->measuring().stop_monitor();
}

TEST(Monitor, ItsFiguresAreOfWhatIsKept) {
  Monitor m;
  EXPECT_EQ(m.per_second(), 0);
  EXPECT_EQ(m.median_ms, 0);
  for (int i = 0; i < 5; i++) m.add({10.0 * i, 1.0 + i, {}});
  EXPECT_EQ(m.median_ms, 3);
  EXPECT_DOUBLE_EQ(m.spread_pct, 50 * 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.per_second(), 0.1) << "slower than the two seconds it looks back";
  m = {};
  for (int i = 0; i < 200; i++) m.add({0.05 * i, 1, {}});
  EXPECT_NEAR(m.per_second(), 20, 1e-6);
  for (size_t i = 0; i < Monitor::most_readings; i++) m.add({10 + 0.05 * static_cast<double>(i), 7, {}});
  EXPECT_EQ(m.readings.size(), Monitor::most_readings);
  EXPECT_EQ(m.calls, 200 + Monitor::most_readings);
  EXPECT_EQ(m.median_ms, 7) << "the first ones are no longer kept";
}

}  // namespace
}  // namespace convscope
