// What it takes to compare figures: every counter and headline has a title, a place and a direction, and shares of a
// range are put right once for all who show them.
#include "profiling/metrics/figures.h"

#include <gtest/gtest.h>
#include <set>

namespace convscope {
namespace {

TEST(Figures, EveryMetricAndHeadlineIsOne) {
  std::set<std::string_view> known;
  for (const auto& f : figures()) {
    EXPECT_TRUE(known.insert(f.name).second) << f.name << " is there twice";
    EXPECT_STRNE(f.title, "") << f.name;
    EXPECT_TRUE(f.spread >= 0 || f.spread == unknown_spread) << f.name;
    EXPECT_LE(f.spread, most_spread) << f.name;
    EXPECT_TRUE(f.enough == 0 || f.better != Better::neither) << f.name;
    EXPECT_STRNE(title_of(f.group), "");
  }
  auto metric = [&](const Metric& m) {
    EXPECT_TRUE(find_figure(m.name) || !headline_showing(m.name).empty()) << m.name;
  };
  for (auto set : all_counter_sets)
    for (const auto& m : metrics_of(set)) metric(m);
  for (const auto& m : emulated_metrics()) metric(m);
  for (const auto& h : headlines()) {
    const Figure* f = find_figure(h.name);
    ASSERT_TRUE(f) << h.name;
    EXPECT_STREQ(f->title, h.title);
  }
  EXPECT_FALSE(find_figure("no such counter"));
}

// A figure that is shaded by a threshold must not be called better on the other side of it.
TEST(Figures, DirectionsAgreeWithTheShades) {
  const Workload work{1e9, 1e6};
  auto shade = [&](const Counters& c, std::string_view name) {
    for (const auto& v : headline_values(c, work))
      if (v.headline->name == name) return v.shade;
    return Shade::unknown;
  };
  struct Case {
    const char* headline;
    Counters low, high;
  };
  const Case cases[] = {
      {"memory-busy", {{"dram_busy", 5}}, {{"dram_busy", 95}}},
      {"bytes-moved",
       {{"dram_read_bytes", 5e5}, {"dram_write_bytes", 5e5}},
       {{"dram_read_bytes", 5e6}, {"dram_write_bytes", 5e6}}},
      {"l2-traffic", {{"l2_sectors", 1e5}}, {{"l2_sectors", 1e7}}},
      {"bank-conflicts",
       {{"shared_conflicts", 0}, {"shared_wavefronts", 100}},
       {{"shared_conflicts", 90}, {"shared_wavefronts", 100}}},
      {"occupancy", {{"occupancy", 3}}, {{"occupancy", 90}}},
      {"issue-busy", {{"issue_busy", 3}}, {{"issue_busy", 90}}},
      {"sm-balance",
       {{"sm_cycles_active", 10}, {"sm_cycles_elapsed", 100}},
       {{"sm_cycles_active", 99}, {"sm_cycles_elapsed", 100}}},
  };
  for (const auto& c : cases) {
    const Better better = find_figure(c.headline)->better;
    const bool high_is_good = shade(c.high, c.headline) == Shade::good,
               low_is_good = shade(c.low, c.headline) == Shade::good;
    ASSERT_NE(high_is_good, low_is_good) << c.headline;
    EXPECT_EQ(high_is_good, better == Better::higher || better == Better::higher_by_bytes) << c.headline;
    EXPECT_EQ(low_is_good, better == Better::lower) << c.headline;
  }
}

TEST(Figures, SharesAreOfTheKernelsAlone) {
  const Counters counted = {{"duration", 500000},       {"dram_busy", 60},         {"l2_busy", 90},
                            {"sm_cycles_elapsed", 800}, {"sm_cycles_active", 700}, {"l1_busy", 50}};
  Counters c = of_kernels_alone(counted, 0.4);
  EXPECT_DOUBLE_EQ(c.at("duration"), 400000);
  EXPECT_DOUBLE_EQ(c.at("dram_busy"), 75);
  EXPECT_DOUBLE_EQ(c.at("l2_busy"), 100) << "never above all";
  EXPECT_DOUBLE_EQ(c.at("sm_cycles_elapsed"), 700) << "not below those with a block";
  EXPECT_DOUBLE_EQ(c.at("l1_busy"), 50) << "a share of the cycles at work, not of the time";
  EXPECT_EQ(of_kernels_alone(counted, {}), counted);
  EXPECT_EQ(of_kernels_alone(counted, 0.0), counted);
  EXPECT_DOUBLE_EQ(of_kernels_alone(counted, 0.6).at("dram_busy"), 60) << "a range cannot be shorter";
}

}  // namespace
}  // namespace convscope
