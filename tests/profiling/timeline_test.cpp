// What sampling needs that is plain values: intervals, calls, summaries, the words of stall reasons.
#include "profiling/cupti/timeline.h"

#include <gtest/gtest.h>

#include "profiling/cupti/pc_samples.h"
#include "profiling/metrics/lanes.h"
#include "profiling/metrics/metrics.h"
#include "profiling/metrics/stall_reasons.h"

namespace convscope {
namespace {

TEST(Timeline, IntervalSuitsTheWork) {
  struct Case {
    double work_us;
    uint64_t ns;
  };
  for (const auto& c : {Case{100, 5000},
                        {500, 5000},
                        {501, 10000},
                        {1000, 10000},
                        {1500, 20000},
                        {2000, 20000},
                        {20000, 20000},
                        {20001, 50000},
                        {100000, 100000},
                        {1900000, 2000000}})
    EXPECT_EQ(timeline_interval_ns(c.work_us), c.ns) << c.work_us;
  // At least ten points from a tenth of a millisecond on, and never many more than a thousand.
  for (double us = 100; us < 2e6; us *= 1.07) {
    double points = us * 1000 / static_cast<double>(timeline_interval_ns(us));
    EXPECT_GE(points, 10) << us;
    EXPECT_LE(points, 1001) << us;
  }
}

TEST(Timeline, OnlyShortWorkIsRepeated) {
  EXPECT_EQ(timeline_calls({.call_ms = 5}), 1);
  EXPECT_EQ(timeline_calls({.call_ms = 0.1}), 1);
  EXPECT_EQ(timeline_calls({.call_ms = 0.099}), 11);
  EXPECT_EQ(timeline_calls({.call_ms = 0.02}), 50);
  EXPECT_EQ(timeline_calls({.call_ms = 0.0001}), 200);
  EXPECT_EQ(timeline_calls({.call_ms = 0}), 1) << "not known";
}

// A kernel that is launched early begins before the one ahead of it has ended.
TEST(Timeline, SpansThatOverlapGetRowsOfTheirOwn) {
  using Rows = std::vector<size_t>;
  EXPECT_EQ(rows_of({}), Rows{});
  EXPECT_EQ(rows_of({{0, 10}, {10, 20}, {25, 30}}), (Rows{0, 0, 0})) << "one begins as the other ends";
  EXPECT_EQ(rows_of({{0, 10}, {8, 20}, {19, 30}, {30, 31}}), (Rows{0, 1, 0, 0}));
  EXPECT_EQ(rows_of({{0, 30}, {1, 29}, {2, 28}}), (Rows{0, 1, 2})) << "one within another";
  EXPECT_EQ(rows_of({{20, 30}, {0, 25}}), (Rows{1, 0})) << "the order of begins counts";
  EXPECT_EQ(rows_of({{5, 5}, {5, 5}, {4, 6}}), (Rows{1, 1, 0})) << "spans of no length";
}

TEST(Timeline, SummariesAreOfTheWorkAlone) {
  Timeline t;
  t.start_us = {-10, 0, 10, 20}, t.end_us = {0, 10, 20, 30};
  t.work_us = 20;
  Lane lane{"x", "X", "%", "", {99, 10, 30, 99}};
  LaneSummary s = t.summary(lane);
  EXPECT_EQ(s.points, 2u);
  EXPECT_DOUBLE_EQ(s.least, 10);
  EXPECT_DOUBLE_EQ(s.mean, 20);
  EXPECT_DOUBLE_EQ(s.most, 30);
  // Work shorter than a point: what touches it.
  t.work_us = 5;
  EXPECT_EQ(t.summary(lane).points, 1u);
  EXPECT_DOUBLE_EQ(t.summary(lane).mean, 10);
  EXPECT_EQ(Timeline{}.summary(Lane{}).points, 0u);
}

// Recording each kernel keeps them apart: what lies between is no part of a mean.
TEST(Timeline, SummariesLeaveOutWhatLiesBetweenKernels) {
  Timeline t;
  t.start_us = {0, 10, 20, 30, 40, 50}, t.end_us = {10, 20, 30, 40, 50, 60};
  t.work_us = 60;
  Lane lane{"x", "X", "%", "", {80, 0, 0, 0, 60, 70}};
  EXPECT_DOUBLE_EQ(t.summary(lane).mean, 35) << "nobody knows when kernels ran";
  EXPECT_DOUBLE_EQ(t.kernels_us(), 60);
  t.launches = {{"pack", 0, 10}, {"main", 38, 50}, {"tail", 45, 60}};
  LaneSummary s = t.summary(lane);
  EXPECT_EQ(s.points, 3u);
  EXPECT_DOUBLE_EQ(s.mean, 70);
  EXPECT_DOUBLE_EQ(s.least, 60);
  EXPECT_DOUBLE_EQ(t.kernels_us(), 32) << "those that overlap count once";
  t.launches = {{"pack", 1, 2}};
  EXPECT_DOUBLE_EQ(t.summary(lane).mean, 80) << "shorter than a point: what touches it";
}

TEST(StallReasons, HaveWords) {
  StallReason r = stall_reason("smsp__pcsamp_warps_issue_stalled_long_scoreboard");
  EXPECT_EQ(r.name, "long_scoreboard");
  EXPECT_NE(r.words.find("global"), std::string::npos);
  EXPECT_TRUE(r.waiting && r.known && !r.not_issued);
  r = stall_reason("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued");
  EXPECT_EQ(r.name, "long_scoreboard");
  EXPECT_TRUE(r.not_issued);
  EXPECT_FALSE(stall_reason("smsp__pcsamp_warps_issue_stalled_selected").waiting);
  EXPECT_FALSE(stall_reason("smsp__pcsamp_warps_issue_stalled_not_selected").not_issued) << "its name is no suffix";
  // Hopper's twenty.
  for (const char* name : {"barrier",
                           "branch_resolving",
                           "dispatch_stall",
                           "drain",
                           "gmma",
                           "imc_miss",
                           "lg_throttle",
                           "long_scoreboard",
                           "math_pipe_throttle",
                           "membar",
                           "mio_throttle",
                           "misc",
                           "no_instructions",
                           "not_selected",
                           "selected",
                           "short_scoreboard",
                           "sleeping",
                           "tex_throttle",
                           "wait",
                           "warpgroup_arrive"}) {
    StallReason known = stall_reason(std::string("smsp__pcsamp_warps_issue_stalled_") + name);
    EXPECT_TRUE(known.known) << name;
    EXPECT_NE(known.words, name);
  }
  StallReason later = stall_reason("smsp__pcsamp_warps_issue_stalled_of_the_future");
  EXPECT_EQ(later.words, "of_the_future");
  EXPECT_FALSE(later.known);
  EXPECT_EQ(stall_reason("smsp__pcsamp_sample_buffer_full").name, "") << "no reason";
  EXPECT_EQ(stall_reason("").name, "");
}

TEST(PcSamples, LinesAddUpAndKeepWhatHasNoPlace) {
  PcSamples s;
  PcInstruction a, b, c;
  a.at = b.at = {"k.cu", 7};
  a.samples = 10, a.reasons = {{"wait", 4}, {"selected", 6}}, a.not_issued = {{"wait", 3}};
  b.samples = 5, b.reasons = {{"wait", 5}};
  c.samples = 40, c.reasons = {{"barrier", 40}};
  s.functions.push_back({"f", 0, 55, {a, b, c}, ""});
  auto lines = s.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].samples, 40u);
  EXPECT_EQ(lines[0].at.line, 0);
  EXPECT_EQ(lines[1].samples, 15u) << "parts are not added";
  EXPECT_EQ(lines[1].reasons.at("wait"), 9u);
  EXPECT_EQ(s.by_reason().at("wait"), 9u);
}

}  // namespace
}  // namespace convscope
