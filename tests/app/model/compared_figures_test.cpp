// Two kernels figure by figure: differences, ratios, and the verdict by the way that is good for each figure.
#include "app/model/compared_figures.h"

#include <gtest/gtest.h>
#include <set>

#include "app/engine/recording.h"
#include "app/model/recorded.h"
#include "app/model/times.h"
#include "kernels/problem/presets.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;
using V = FigureVerdict;

Profile profile(const std::string& kernel, const std::map<std::string, double>& counted) {
  Profile p;
  p.kernel = kernel, p.device_kind = "cuda", p.counted_by = "counted by hardware", p.full = true,
  p.floor_from = "bytes";
  for (const auto& [name, value] : counted) {
    const Metric* m = find_metric(name);
    p.values.push_back({"memory", name, m ? m->unit : "", value});
  }
  return p;
}

KernelComparison comparison() {
  KernelComparison c;
  c.document.problem = find_preset("kernelbench-79-small").problem;
  c.first.name = "a", c.second.name = "b";
  c.first.hot = {1.0, 0.9, 1.1, 0.5, "FASTER", "the intervals are apart", 2.0, ""};
  c.second.hot = {2.0, 1.9, 2.1, 0.5, "", "", {}, ""};
  c.source = "measured";
  return c;
}

const ComparedFigure* find(const std::vector<ComparedFigure>& list, const std::string& title) {
  for (const auto& f : list)
    if (f.title == title) return &f;
  return nullptr;
}
V verdict_of(const std::vector<ComparedFigure>& list, const std::string& title) {
  const ComparedFigure* f = find(list, title);
  EXPECT_TRUE(f && f->verdict) << title;
  return f && f->verdict ? *f->verdict : V::ambiguous;
}

TEST(ComparedFigures, VerdictsFollowTheWayThatIsGood) {
  Profile a = profile("a", {{"dram_read_bytes", 100e6},
                            {"store_requests", 50},
                            {"load_requests", 7},
                            {"l2_sectors", 1000},
                            {"shared_conflicts", 104},
                            {"sm_busy", 20},
                            {"threads_per_instruction", 32}});
  Profile b = profile("b", {{"dram_read_bytes", 400e6},
                            {"store_requests", 49},
                            {"load_requests", 7},
                            {"l2_sectors", 1005},
                            {"shared_conflicts", 100},
                            {"sm_busy", 60},
                            {"threads_per_instruction", 16}});
  auto rows = compared_figures(comparison(), &a, &b);
  EXPECT_EQ(verdict_of(rows, "DRAM bytes read"), V::better) << "fewer";
  EXPECT_EQ(verdict_of(rows, "Threads per instruction"), V::better) << "more";
  EXPECT_EQ(verdict_of(rows, "Stores to global memory"), V::worse) << "one more, and counts are exact";
  EXPECT_EQ(verdict_of(rows, "Loads from global memory"), V::same);
  EXPECT_EQ(verdict_of(rows, "L2 sectors"), V::same) << "half a percent, and runs differ by one";
  EXPECT_EQ(verdict_of(rows, "Bank conflicts"), V::same) << "4 %, and they differ by 9 where warps wait";
  EXPECT_EQ(verdict_of(rows, "Multiprocessor busy"), V::neutral) << "it says what limits";
  const ComparedFigure& read = *find(rows, "DRAM bytes read");
  EXPECT_DOUBLE_EQ(*read.difference(), -300e6);
  EXPECT_DOUBLE_EQ(*read.ratio(), 0.25);
  EXPECT_TRUE(holds(read.rule, "less is better")) << read.rule;
  EXPECT_EQ(read.source_a, "counted by hardware");
  // Emulated counts have no noise.
  a.device_kind = b.device_kind = "emulator";
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "L2 sectors"), V::better);
}

TEST(ComparedFigures, TimesHaveTheVerdictOfTheStatistics) {
  KernelComparison c = comparison();
  auto of = [&](const char* word) {
    c.first.hot.verdict = word;
    return verdict_of(compared_figures(c, nullptr, nullptr), "Median, hot");
  };
  EXPECT_EQ(of("FASTER"), V::better);
  EXPECT_EQ(of("SLOWER"), V::worse);
  EXPECT_EQ(of("SAME"), V::same) << "though the medians are apart";
  EXPECT_EQ(of("AMBIGUOUS"), V::ambiguous);
  c.first.hot.verdict = "", c.first.hot.reason = "too few samples";
  auto rows = compared_figures(c, nullptr, nullptr);
  EXPECT_FALSE(find(rows, "Median, hot")->verdict);
  EXPECT_EQ(find(rows, "Median, hot")->rule, "too few samples");
}

// Over one and the same floor the times are compared, and their verdict is the one there is.
TEST(ComparedFigures, TimesOverOneFloorHaveTheVerdictOfTheTimes) {
  KernelComparison c = comparison();
  c.first.hot.verdict = "AMBIGUOUS";
  c.first.floor_ms = c.second.floor_ms = 0.5;
  c.first.times_floor = 2.0, c.second.times_floor = 4.0;
  EXPECT_EQ(verdict_of(compared_figures(c, nullptr, nullptr), "× floor"), V::ambiguous);
  c.second.floor_ms = 0.25, c.second.times_floor = 8.0;  // of other arithmetic
  EXPECT_EQ(verdict_of(compared_figures(c, nullptr, nullptr), "× floor"), V::better);
}

// What two runs of one kernel differ by was not measured of every counter: then a difference that another counter's
// runs had is no verdict.
TEST(ComparedFigures, WithoutASpreadThereIsNoVerdictOnLittle) {
  Profile a = profile("a", {{"instructions", 1900}}), b = profile("b", {{"instructions", 2000}});
  auto rows = compared_figures(comparison(), &a, &b);
  EXPECT_EQ(verdict_of(rows, "Instructions"), V::neutral);
  EXPECT_TRUE(holds(find(rows, "Instructions")->rule, "was not measured")) << find(rows, "Instructions")->rule;
  Profile half = profile("a", {{"instructions", 1000}});
  rows = compared_figures(comparison(), &half, &b);
  EXPECT_EQ(verdict_of(rows, "Instructions"), V::better);
  EXPECT_TRUE(holds(find(rows, "Instructions")->rule, "9 %")) << find(rows, "Instructions")->rule;
  a.device_kind = b.device_kind = "emulator";
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "Instructions"), V::better) << "which has none";
}

// A recording of before does not know packed times; one kernel that could not run is no such thing.
TEST(ComparedFigures, WhatWasNotRecordedIsSaidOfItsSide) {
  KernelComparison c = comparison();
  c.first.packed.told = false, c.second.packed.told = true;
  const ComparedFigure* f = nullptr;
  auto rows = compared_figures(c, nullptr, nullptr);
  for (const auto& r : rows) EXPECT_TRUE(r.a_words.empty() || r.a_words != "not recorded") << r.title;
  c.recorded = "NVIDIA H200, 2026-11-22";
  rows = compared_figures(c, nullptr, nullptr);
  for (const auto& r : rows)
    if (r.a_words == "not recorded") f = &r;
  ASSERT_TRUE(f);
  EXPECT_EQ(f->b_words, "");
}

// More of the memory's bandwidth is better only where bytes set the floor.
TEST(ComparedFigures, MemoryBusyIsGoodWhereBytesLimit) {
  Profile a = profile("a", {}), b = a;
  a.headlines = {{"memory-busy", "Memory busy", "%", "dram_busy", "above 80 %", "how much", "good", "", 80}};
  b.headlines = {{"memory-busy", "Memory busy", "%", "dram_busy", "above 80 %", "how much", "bad", "", 40}};
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "Memory busy"), V::better);
  b.floor_from = "flops";
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "Memory busy"), V::neutral);
  // Above what is enough, more is not better.
  a.headlines = {{"occupancy", "Achieved occupancy", "%", "occupancy", "enough", "warps", "good", "", 95}};
  b.headlines = {{"occupancy", "Achieved occupancy", "%", "occupancy", "enough", "warps", "good", "", 60}};
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "Achieved occupancy"), V::neutral);
  // Nor is less, below it.
  Profile x = a, y = b;
  x.headlines = {{"bank-conflicts", "Shared memory conflicts", "%", "", "below 10 %", "cycles", "good", "", 0.5}};
  y.headlines = {{"bank-conflicts", "Shared memory conflicts", "%", "", "below 10 %", "cycles", "good", "", 0.2}};
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &x, &y), "Shared memory conflicts"), V::neutral);
  x.headlines[0].value = 15;
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &x, &y), "Shared memory conflicts"), V::worse);
  b.headlines[0].value = 20;
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "Achieved occupancy"), V::better);
}

TEST(ComparedFigures, WhatIsMissingSaysWhy) {
  Profile a = profile("a", {{"dram_read_bytes", 5}});
  auto rows = compared_figures(comparison(), &a, nullptr);
  const ComparedFigure* f = find(rows, "DRAM bytes read");
  ASSERT_TRUE(f);
  EXPECT_FALSE(f->verdict || f->difference() || f->ratio());
  EXPECT_EQ(f->b_reason, "no profile of b");
  EXPECT_EQ(value_words(f->b, f->unit), "–");
  Profile b = profile("b", {});
  b.full = false;
  EXPECT_TRUE(holds(find(compared_figures(comparison(), &a, &b), "DRAM bytes read")->b_reason, "full set"));
  b.gap = "counters are not permitted";
  EXPECT_EQ(find(compared_figures(comparison(), &a, &b), "DRAM bytes read")->b_reason, "counters are not permitted");
}

// A counter of two sets is one row; a counter that a headline shows is that headline's, put right by the kernel's time.
TEST(ComparedFigures, NothingIsThereTwice) {
  Profile a = profile("a", {{"dram_busy", 60}, {"duration", 500000}});
  a.values.push_back({"live", "dram_read_bytes", "byte", 7}),
      a.values.push_back({"memory", "dram_read_bytes", "byte", 8});
  a.kernel_ms = 0.4;
  a.headlines = {{"memory-busy", "Memory busy", "%", "dram_busy", "above 80 %", "how much", "fair", "", 75}};
  auto rows = compared_figures(comparison(), &a, &a);
  std::set<std::string> titles;
  for (const auto& f : rows) EXPECT_TRUE(titles.insert(title_of(f.group) + f.title).second) << f.title;
  EXPECT_EQ(*find(rows, "DRAM bytes read")->a, 7) << "the first set's";
  const ComparedFigure* busy = find(rows, "Memory busy");
  ASSERT_TRUE(busy);
  EXPECT_EQ(*busy->a, 75);
  EXPECT_TRUE(holds(busy->about, "60 % over the range that was counted, which is longer than its kernels"))
      << busy->about;
}

TEST(ComparedFigures, TheLaunchIsTheOneThatTakesLongest) {
  Profile a = profile("a", {});
  ProfileLaunch main, sum;
  main.entry = "split", main.registers = 168, main.local_bytes = 64, main.block = {384, 1, 1};
  sum.entry = "add_parts", sum.registers = 20, sum.local_bytes = 0;
  a.launches = {main, sum};
  a.kernels = {{"split", 1.5, 0, {132, 1, 1}, {384, 1, 1}}, {"add_parts", 0.1, 0, {1, 1, 1}, {256, 1, 1}}};
  EXPECT_EQ(main_launch(a)->entry, "split") << "by the records";
  a.kernels.clear();
  EXPECT_EQ(main_launch(a)->entry, "add_parts") << "else the last";
  a.launches[0].main = true;
  EXPECT_EQ(main_launch(a)->entry, "split") << "as the engine says";
  auto rows = compared_figures(comparison(), &a, &a);
  EXPECT_EQ(find(rows, "Function")->a_words, "split");
  EXPECT_EQ(find(rows, "Block")->b_words, "384 × 1 × 1");
  EXPECT_EQ(*find(rows, "Local memory a thread")->a, 64);
  a.launches.clear();
  EXPECT_FALSE(main_launch(a));
  Report r;
  r.launches = {{"pack", {}, {}, 0, false}, {"split", {}, {}, 0, false}, {"add_parts", {}, {}, 0, false}};
  EXPECT_EQ(main_launch(r, nullptr), 2u);
  a.launches = {main}, a.launches[0].main = true;
  EXPECT_EQ(main_launch(r, &a), 1u) << "as its profile has it";
  r.launches[0].main = true;
  EXPECT_EQ(main_launch(r, &a), 0u);
}

TEST(ComparedFigures, Words) {
  auto figure = [](double a, double b, const char* unit) {
    ComparedFigure f;
    f.a = a, f.b = b, f.unit = unit;
    return f;
  };
  EXPECT_EQ(difference_words(figure(0.386, 4.63, "ms")), "−4.24 ms");
  EXPECT_EQ(difference_words(figure(4.63, 0.386, "ms")), "+4.24 ms");
  EXPECT_EQ(difference_words(figure(72.24, 7.24, "%")), "+65 pp");
  EXPECT_EQ(difference_words(figure(5, 5, "%")), "0");
  EXPECT_EQ(difference_words(figure(192, 18619392, "request")), "−18,619,200");
  EXPECT_EQ(difference_words(figure(3 << 20, 1 << 30, "byte")), "−1.00 GiB") << "in the unit of the larger value";
  EXPECT_EQ(difference_words(figure(2097152, 2097152 + 400, "byte")), "−0.39 KiB") << "never −0.00 MiB";
  EXPECT_EQ(difference_words(figure(0, 2097152, "byte")), "−2.00 MiB");
  EXPECT_EQ(value_words(0.0, "byte", 2097152.0), "0.00 MiB");
  EXPECT_EQ(difference_words(figure(3152642.4, 3147264, "request")), "+5,378") << "grouped as all of them";
  EXPECT_EQ(ratio_words(figure(0.386, 4.63, "ms")), "0.083×") << "never 0.00×";
  EXPECT_EQ(ratio_words(figure(192, 18619392, "request")), "1/96,976×");
  EXPECT_EQ(ratio_words(figure(1, 200, "")), "1/200×");
  EXPECT_EQ(ratio_words(figure(2048, 18916864, "request")), "1/9,237×");
  EXPECT_EQ(ratio_words(figure(1, 2, "")), "0.50×");
  EXPECT_EQ(ratio_words(figure(24, 2, "")), "12×");
  EXPECT_EQ(ratio_words(figure(1, 0, "")), "");
  EXPECT_EQ(value_words(1072093440.0, "byte", 2e9), "1.00 GiB");
  EXPECT_EQ(value_words(0.5, "ms"), "500 µs");
  EXPECT_EQ(value_words(66872.0, "GFLOP/s"), "66.9 TFLOP/s");
}

// What the shipped recording says of two kernels: every row is whole, and the file has what the table has.
TEST(ComparedFigures, ANumberWithoutRoomIsShorter) {
  EXPECT_EQ(short_words(2724040448.0, "request"), "2.72 G");
  EXPECT_EQ(short_words(-2724040448.0, "request"), "−2.72 G");
  EXPECT_EQ(short_words(54321.0, "1"), "54.3 k");
  EXPECT_EQ(short_words(999.0, "1"), "");
  EXPECT_EQ(short_words(583420000.0, "byte"), "556 MiB") << "in its own unit";
  EXPECT_EQ(short_words(-12345678.0, "byte"), "−11.7 MiB");
  EXPECT_EQ(short_words(190000.0, "GFLOP/s"), "") << "no count";
}

// What was traced of some blocks is an estimate: within its error nothing is better.
TEST(ComparedFigures, EstimatesHaveNoVerdictWithinTheirError) {
  Profile a = profile("a", {{"load_sectors", 1000}}), b = profile("b", {{"load_sectors", 950}});
  b.device_kind = a.device_kind = "emulator";
  a.counted_by = "emulated, by tracing 100 of 4096 blocks", b.counted_by = "emulated, by tracing every access";
  auto rows = compared_figures(comparison(), &a, &b);
  const ComparedFigure* f = find(rows, "Sectors of loads");
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->estimate_a && !f->estimate_b);
  EXPECT_EQ(f->verdict, V::ambiguous) << f->rule;
  EXPECT_TRUE(holds(f->rule, "may be off by 10 %")) << f->rule;
  b = profile("b", {{"load_sectors", 700}}), b.counted_by = "emulated, by tracing every access";
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "Sectors of loads"), V::worse);
  a.counted_by = b.counted_by, b = profile("b", {{"load_sectors", 950}}), b.counted_by = a.counted_by;
  EXPECT_EQ(verdict_of(compared_figures(comparison(), &a, &b), "Sectors of loads"), V::worse) << "counted in full";
}

TEST(ComparedFigures, EmulatedTimeHasNoFloor) {
  KernelComparison c = comparison();
  c.first.floor_ms = c.second.floor_ms = 0.5, c.floor_source = "NVIDIA H200, measured";
  auto rows = compared_figures(c, nullptr, nullptr);
  ASSERT_TRUE(find(rows, "Floor"));
  EXPECT_EQ(find(rows, "Floor")->source_a, "computed, by the rates of NVIDIA H200, measured");
  c.source = "emulated";
  EXPECT_FALSE(find(compared_figures(c, nullptr, nullptr), "Floor"));
}

// Neither faster nor slower on the emulator is news of a kernel.
TEST(ComparedFigures, EmulatedTimesSayNothing) {
  for (const char* verdict : {"FASTER", "SLOWER", "SAME", "AMBIGUOUS"}) {
    KernelComparison c = comparison();
    c.first.hot.verdict = verdict;
    EXPECT_NE(verdict_of(compared_figures(c, nullptr, nullptr), "Median, hot"), V::emulated) << "measured";
    c.source = "emulated";
    const auto rows = compared_figures(c, nullptr, nullptr);
    EXPECT_EQ(verdict_of(rows, "Median, hot"), V::emulated) << verdict;
    EXPECT_TRUE(holds(csv_of(rows, "a", "b"), ",emulated,")) << csv_of(rows, "a", "b");
  }
}

TEST(ComparedFigures, WaitsAreInPlainWords) {
  Profile a = profile("a", {{"stall_long_scoreboard", 3}, {"stall_wait", 1}}), b = a;
  auto rows = compared_figures(comparison(), &a, &b);
  EXPECT_TRUE(find(rows, "data from global or local memory (warps)"));
  EXPECT_TRUE(find(rows, "its last instruction's fixed latency (warps)"));
  EXPECT_FALSE(find(rows, "long scoreboard"));
}

TEST(TimesInWords, EachIsOfItsMeasurement) {
  Report r;
  r.kernel = "a", r.status = "right", r.timing.median_ms = 0.515, r.timing.source = "measured";
  EXPECT_EQ(times_in_words(&r, nullptr, nullptr), "") << "there is one only";
  Profile p = profile("a", {});
  p.hot_ms = 0.5, p.kernel_ms = 0.48, p.time_source = "measured";
  EXPECT_EQ(times_in_words(&r, &p, nullptr),
            "Whole calls of a, hot, each of a measurement of its own: 515 µs the run, 500 µs the profile (3 % apart: "
            "clocks, heat and what ran before were not the same); its kernels alone in one recorded call 480 µs.");
  r.status = "not-judged";
  EXPECT_FALSE(holds(times_in_words(&r, &p, nullptr), "the run")) << "its time is the profile's";
  r.timing.source = p.time_source = "emulated", p.kernel_ms.reset();
  EXPECT_EQ(times_in_words(&r, &p, nullptr), "");
}

TEST(ComparedFigures, OfARecording) {
  Recorded r;
  r.open(std::make_shared<Recording>(
      read_recording(test::project_file("assets/recordings/h200-kernelbench-79.convscope"))));
  Document d, tiled;
  d.problem = tiled.problem = find_preset("kernelbench-79").problem;
  d.kernel = "hopper_tf32", d.accuracy = Accuracy::tf32, tiled.kernel = "tiled";
  const KernelComparison* c = r.comparison(d, "tiled");
  ASSERT_TRUE(c && r.profile(d) && r.profile(tiled));
  auto rows = compared_figures(*c, r.profile(d), r.profile(tiled));
  EXPECT_GT(rows.size(), 60u);
  std::set<FigureGroup> groups;
  for (const auto& f : rows) {
    groups.insert(f.group);
    EXPECT_FALSE(f.title.empty() || f.about.empty() || f.source_a.empty() || f.source_b.empty()) << f.title;
    EXPECT_TRUE(f.a || !f.a_words.empty() || !f.a_reason.empty()) << f.title;
    EXPECT_TRUE(f.b || !f.b_words.empty() || !f.b_reason.empty()) << f.title;
    EXPECT_EQ(f.verdict.has_value(), f.a && f.b) << f.title;
    EXPECT_EQ(f.verdict.has_value(), !f.rule.empty() && f.a.has_value() && f.b.has_value()) << f.title;
  }
  EXPECT_EQ(groups.size(), 7u);
  EXPECT_EQ(find(rows, "Function")->a_words, "hopper_64_3_s2_blocks") << "not what packs the weights";
  EXPECT_TRUE(find(rows, "SM clock") && find(rows, "Local memory a thread"));
  const std::string csv = csv_of(rows, "hopper_tf32", "tiled");
  EXPECT_EQ(csv.find("group,figure,unit,hopper_tf32,tiled,difference,ratio,verdict,rule,"), 0u);
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), rows.size() + 1);
  EXPECT_TRUE(holds(csv, "\nTime,\"Median, hot, packing included\",ms,0.35"));
  EXPECT_TRUE(holds(csv, ",better,\"the intervals are apart"));
}

}  // namespace
}  // namespace convscope
