// The catalogue: its names for every chip, by CUPTI's Host API, which needs no GPU; and what the headline figures say.
#include "profiling/metrics/metrics.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

#include "profiling/cupti/cupti.h"

namespace convscope {
namespace {

TEST(MetricNames, OnEveryChipThatCuptiKnows) {
  Cupti& cupti = Cupti::shared();
  auto chips = cupti.chips();
  if (chips.empty()) {
    std::vector<std::string> none;
    Gap gap;
    cupti.passes("GH100", CounterSet::live, none, gap);
    GTEST_SKIP() << "no Host API here: " << gap.sentence();
  }
  // Their memory is the CPU's, and is not counted as a GPU's own.
  const std::set<std::string> integrated = {"GA10B", "GB10B", "GB20B"};
  int checked = 0;
  for (const auto& chip : chips) {
    if (chip.starts_with("GV")) continue;  // Volta: not for CUDA 13
    checked++;
    for (auto set : all_counter_sets) {
      std::vector<std::string> not_here;
      Gap gap;
      size_t passes = cupti.passes(chip, set, not_here, gap);
      EXPECT_FALSE(gap) << chip << " " << name_of(set) << ": " << gap.sentence();
      EXPECT_GT(passes, 0u) << chip << " " << name_of(set);
      if (set == CounterSet::live)
        EXPECT_EQ(passes, chip.starts_with("TU") ? 2u : 1u) << chip;
      else
        EXPECT_LE(passes, 16u) << chip << " " << name_of(set);
      for (const auto& name : not_here) {
        const Metric* m = find_metric(name);
        ASSERT_TRUE(m) << name;
        bool memory = name.starts_with("dram_");
        EXPECT_TRUE(m->optional && (!memory || integrated.contains(chip))) << chip << " lacks " << name;
      }
    }
  }
  EXPECT_GE(checked, 25);
}

// Can that test fail? A name that is wrong must be found.
TEST(MetricNames, AWrongNameIsFound) {
  Cupti& cupti = Cupti::shared();
  std::vector<std::string> not_here;
  Gap gap;
  if (cupti.chips().empty()) GTEST_SKIP() << "no Host API here";
  EXPECT_EQ(cupti.passes("GX999", CounterSet::live, not_here, gap), 0u);
  EXPECT_TRUE(gap);
}

TEST(Metrics, NamesAreTheirOwn) {
  for (auto set : all_counter_sets) {
    std::set<std::string> names;
    for (const auto& m : metrics_of(set)) {
      EXPECT_TRUE(names.insert(m.name).second) << m.name;
      EXPECT_FALSE(m.spellings.empty()) << m.name;
      EXPECT_TRUE(find_metric(m.name)) << m.name;
      EXPECT_GT(std::strlen(m.unit), 0u) << m.name;
    }
    EXPECT_GT(std::strlen(about(set)), 0u);
  }
  EXPECT_EQ(find_metric("no_such"), nullptr);
  for (const auto& m : metrics_of(CounterSet::stalls)) {
    bool known = false;
    for (const auto& s : stalls()) known |= std::strcmp(s.name, m.name) == 0;
    EXPECT_TRUE(known) << m.name << " has no words";
  }
}

TEST(Headlines, ThereAreTwelveWithWordsOfTheirOwn) {
  ASSERT_EQ(headlines().size(), 12u);
  for (const auto& h : headlines()) {
    for (const char* text : {h.name, h.title, h.formula, h.unit, h.good, h.meaning})
      EXPECT_GT(std::strlen(text), 0u) << h.name;
    // A headline's set has the counters that its formula names.
    for (auto set : all_counter_sets)
      for (const auto& m : metrics_of(set))
        if (std::string(h.formula) == m.name) {
          bool in_set = false;
          for (const auto& own : metrics_of(h.from)) in_set |= std::strcmp(own.name, m.name) == 0;
          EXPECT_TRUE(in_set) << h.name;
        }
  }
}

double value(const std::vector<HeadlineValue>& all, const std::string& name) {
  for (const auto& v : all)
    if (v.headline->name == name) return v.value.value_or(NAN);
  return NAN;
}
Shade shade(const std::vector<HeadlineValue>& all, const std::string& name) {
  for (const auto& v : all)
    if (v.headline->name == name) return v.shade;
  return Shade::unknown;
}
std::string missing(const std::vector<HeadlineValue>& all, const std::string& name) {
  for (const auto& v : all)
    if (v.headline->name == name) return v.missing;
  return "?";
}

TEST(Headlines, TheirFormulas) {
  Counters c = {{"duration", 2.5e6},         {"dram_busy", 91},         {"dram_read_bytes", 6e9},
                {"dram_write_bytes", 2e9},   {"l2_sectors", 1e9},       {"l2_hit_rate", 60},
                {"l1_hit_rate", 70},         {"load_sectors", 1600},    {"load_requests", 100},
                {"shared_wavefronts", 1000}, {"shared_conflicts", 500}, {"occupancy", 10},
                {"issue_busy", 45},          {"sm_cycles_active", 90},  {"sm_cycles_elapsed", 100},
                {"ffma_threads", 4e11},      {"fadd_threads", 1e11},    {"fmul_threads", 1e11}};
  auto v = headline_values(c, {8e11, 4e9});
  EXPECT_DOUBLE_EQ(value(v, "duration"), 2.5);
  EXPECT_DOUBLE_EQ(value(v, "bytes-moved"), 2);
  EXPECT_DOUBLE_EQ(value(v, "l2-traffic"), 8);
  EXPECT_DOUBLE_EQ(value(v, "sectors-per-load"), 16);
  EXPECT_DOUBLE_EQ(value(v, "bank-conflicts"), 50);
  EXPECT_DOUBLE_EQ(value(v, "sm-balance"), 90);
  EXPECT_DOUBLE_EQ(value(v, "useful-arithmetic"), 80);
  EXPECT_EQ(shade(v, "memory-busy"), Shade::good);
  EXPECT_EQ(shade(v, "bytes-moved"), Shade::fair);
  EXPECT_EQ(shade(v, "bank-conflicts"), Shade::bad);
  EXPECT_EQ(shade(v, "occupancy"), Shade::bad);
  EXPECT_EQ(shade(v, "sectors-per-load"), Shade::unknown) << "next to nothing of what moves";
  EXPECT_EQ(shade(v, "l2-hits"), Shade::unknown) << "high or low is neither good nor bad by itself";
  c["load_sectors"] = 4e8, c["load_requests"] = 2e7;
  EXPECT_EQ(shade(headline_values(c, {8e11, 4e9}), "sectors-per-load"), Shade::bad);
}

// Traffic that little else would mind is not good where the L2 cache is what limits the kernel.
TEST(Headlines, L2TrafficIsNotGoodWhereTheL2CacheIsTheLimit) {
  Counters c{{"l2_sectors", 1.63e9 / 32}, {"l2_busy", 40}};
  EXPECT_EQ(shade(headline_values(c, {1e9, 1e9}), "l2-traffic"), Shade::good);
  c["l2_busy"] = 84;
  EXPECT_EQ(shade(headline_values(c, {1e9, 1e9}), "l2-traffic"), Shade::fair);
  c["l2_sectors"] = 1.1e9 / 32;
  EXPECT_EQ(shade(headline_values(c, {1e9, 1e9}), "l2-traffic"), Shade::good) << "no more than must be";
}

// What is low because it need not be high is not bad.
TEST(Headlines, ShadesKnowWhatSetsTheFloor) {
  const Counters idle{{"dram_busy", 30}, {"issue_busy", 20}}, busy{{"dram_busy", 90}, {"issue_busy", 70}};
  EXPECT_EQ(shade(headline_values(idle, {1e9, 1e6}), "memory-busy"), Shade::bad);
  EXPECT_EQ(shade(headline_values(idle, {1e9, 1e6, true}), "memory-busy"), Shade::unknown);
  EXPECT_EQ(shade(headline_values(busy, {1e9, 1e6, true}), "memory-busy"), Shade::good);
  EXPECT_EQ(shade(headline_values(idle, {1e9, 1e6}), "issue-busy"), Shade::bad);
  Counters tensor = idle;
  tensor["tensor_pipe_busy"] = 60;
  EXPECT_EQ(shade(headline_values(tensor, {1e9, 1e6}), "issue-busy"), Shade::unknown);
  tensor["tensor_pipe_busy"] = 0;
  EXPECT_EQ(shade(headline_values(tensor, {1e9, 1e6}), "issue-busy"), Shade::bad);
}

TEST(Headlines, WhatIsMissingSaysWhere) {
  auto v = headline_values({}, {1, 1});
  ASSERT_EQ(v.size(), 12u);
  for (const auto& h : v) {
    EXPECT_FALSE(h.value) << h.headline->name;
    EXPECT_EQ(h.shade, Shade::unknown);
    EXPECT_NE(h.missing.find(name_of(h.headline->from)), std::string::npos) << h.missing;
  }
  v = headline_values({{"shared_wavefronts", 0}, {"shared_conflicts", 0}, {"load_requests", 0}, {"load_sectors", 0}},
                      {});
  EXPECT_EQ(missing(v, "bank-conflicts"), "no shared memory was accessed");
  EXPECT_EQ(missing(v, "sectors-per-load"), "no global load was executed");
  v = headline_values({{"ffma_threads", 10}, {"fadd_threads", 0}, {"fmul_threads", 0}}, {1e6, 1});
  EXPECT_NE(missing(v, "useful-arithmetic").find("tensor cores"), std::string::npos);
  v = headline_values({{"ffma_threads", 10}, {"fadd_threads", 0}, {"fmul_threads", 0}}, {0, 1});
  EXPECT_EQ(missing(v, "useful-arithmetic"), "no tap lands in this output, so no arithmetic is useful");
  // A counter that is not finite is none.
  EXPECT_TRUE(std::isnan(value(headline_values({{"dram_busy", NAN}}, {}), "memory-busy")));
}

// A set that was counted is not named as the one to count: what lacks is said instead.
TEST(Headlines, WhatWasAskedForSaysWhatLacks) {
  std::vector<std::string> names;
  for (const Metric* m : counters_in(headlines()[2])) names.emplace_back(m->name);
  EXPECT_EQ(names, (std::vector<std::string>{"dram_read_bytes", "dram_write_bytes"}));
  for (const auto& h : headlines()) EXPECT_FALSE(counters_in(h).empty()) << h.name;

  const Counters c = {{"occupancy", 50}, {"l2_sectors", 100}, {"sm_cycles_active", 5}, {"sm_cycles_elapsed", 0}};
  std::vector<AskedSet> asked = {{CounterSet::live, {"dram_busy", "dram_read_bytes"}, ""},
                                 {CounterSet::memory, {}, "the GPU's counters are in use by another program"}};
  auto v = headline_values(c, {1, 1}, asked);
  EXPECT_EQ(missing(v, "memory-busy"), "this chip has no counter for it (dram_busy)");
  EXPECT_EQ(missing(v, "bytes-moved"), "this chip has no counter for it (dram_read_bytes)");
  EXPECT_EQ(missing(v, "l2-hits"),
            "the set memory could not be counted: the GPU's counters are in use by another program");
  EXPECT_EQ(missing(v, "sm-balance"), "what it is divided by is 0");
  EXPECT_EQ(missing(v, "useful-arithmetic"), "not counted: it is in the set arithmetic") << "nobody asked for it";
  EXPECT_EQ(missing(v, "occupancy"), "");
  // That a chip lacks something is what remains true when the set fails as well.
  asked[1].not_here = {"l2_hit_rate"};
  EXPECT_EQ(missing(headline_values(c, {1, 1}, asked), "l2-hits"), "this chip has no counter for it (l2_hit_rate)");
  EXPECT_EQ(missing(headline_values({{"dram_busy", NAN}}, {1, 1}, {}), "memory-busy"), "what was counted is no number");
}

TEST(Metrics, OfTheEmulatorAreNobodyElses) {
  for (const auto& m : emulated_metrics()) {
    EXPECT_EQ(find_metric(m.name), &m) << m.name << " is in a set as well";
    EXPECT_GT(std::strlen(m.unit), 0u) << m.name;
  }
}

}  // namespace
}  // namespace convscope
