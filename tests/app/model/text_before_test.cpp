// What is said of the text that a kernel's file had before.
#include "app/model/text_before.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

Report judged(const char* status, int64_t failing) {
  Report r;
  r.final = true, r.status = status, r.elements = 524352, r.failing = failing;
  r.device_kind = "emulator";
  return r;
}

Report timed(double ms) {
  Report r = judged("right", 0);
  r.device_kind = "cuda", r.device_name = "NVIDIA H200", r.timing.median_ms = ms;
  for (int i = 0; i < 20; i++) r.timing.samples_ms.push_back(ms * (1 + 0.0005 * (i % 4)));
  return r;
}

TEST(TextBefore, SaysHowManyFailedAndWhatBecameOfThem) {
  TextBefore was = text_before(judged("wrong", 262208), judged("wrong", 1024));
  EXPECT_EQ(was.words, "wrong, 262,208 of 524,352 elements failing; 261,184 fewer now");
  EXPECT_FALSE(was.was_better);
  was = text_before(judged("wrong", 1024), judged("wrong", 262208));
  EXPECT_EQ(was.words, "wrong, 1,024 of 524,352 elements failing; 261,184 more now");
  EXPECT_TRUE(was.was_better);
  EXPECT_EQ(text_before(judged("wrong", 7), judged("wrong", 7)).words,
            "wrong, 7 of 524,352 elements failing; as many now");
  EXPECT_EQ(text_before(judged("wrong", 7), judged("right", 0)).words, "wrong, 7 of 524,352 elements failing");
  EXPECT_EQ(text_before(judged("wrong", 0), judged("right", 0)).words, "wrong, with no element failing");
}

TEST(TextBefore, IsBetterWhereItWasRight) {
  EXPECT_TRUE(text_before(judged("right", 0), judged("wrong", 7)).was_better);
  EXPECT_TRUE(text_before(judged("right", 0), judged("crashed", 0)).was_better);
  EXPECT_FALSE(text_before(judged("right", 0), judged("right", 0)).was_better);
  Report crashed = judged("crashed", 0);
  crashed.failing = {};
  EXPECT_EQ(text_before(crashed, judged("right", 0)).words, "crashed");
}

TEST(TextBefore, TimesAreHeldByTheRuleOfBench) {
  EXPECT_EQ(text_before(timed(2), timed(1)).words, "right; 2.00 ms, now 1.00 ms: 2 times as fast");
  EXPECT_EQ(text_before(timed(1), timed(2)).words, "right; 1.00 ms, now 2.00 ms: 2 times as long");
  EXPECT_EQ(text_before(timed(1), timed(1.0001)).words, "right; 1.00 ms, now 1.00 ms: as fast");
  Report few = timed(1);
  few.timing.samples_ms.resize(2);
  EXPECT_EQ(text_before(timed(2), few).words, "right; 2.00 ms, now 1.00 ms: which is faster is not certain");
  // Controls: of the emulator, and of another GPU, nothing is said.
  Report other = timed(1);
  other.device_name = "NVIDIA L4";
  EXPECT_EQ(text_before(other, timed(2)).words, "right");
  EXPECT_EQ(text_before(judged("right", 0), judged("right", 0)).words, "right");
}

}  // namespace
}  // namespace convscope
