// Profiles and comparisons as values: real answers, and whatever else may stand in their place.
#include <gtest/gtest.h>

#include "app/model/comparison.h"
#include "app/model/profile.h"
#include "tests/app/model/answers.h"
#include "tests/app/model/documents.h"

namespace convscope {
namespace {

using nlohmann::json;
using test::answer_of;

const std::string small_problem =
    " --length 40 --in-channels 2 --out-channels 3 --kernel-size 3 --stride 2 --padding 1";

TEST(Measurements, AProfileOfTheEmulator) {
  json j = answer_of("profile tiled --samples 3" + small_problem);
  ASSERT_TRUE(j.is_object());
  Document asked = test::quick_document(40, "tiled");
  Profile p = profile_from(j, asked, false), again = profile_from(j, asked, false);
  EXPECT_NE(p.serial, again.serial);
  EXPECT_EQ(p.document, asked);
  EXPECT_EQ(p.kernel, "tiled");
  EXPECT_EQ(p.headlines.size(), 12u);
  EXPECT_EQ(p.hot_ms, j["timing"]["hot"]["median_ms"].get<double>());
  EXPECT_EQ(p.time_source, "emulated");
  ASSERT_EQ(p.lines.size(), j["lines"].size());
  if (p.lines.empty()) {
    EXPECT_FALSE(p.lines_reason.empty());
    return;
  }
  double sectors = 0, counted = 0;
  for (const auto& l : p.lines) {
    EXPECT_TRUE(l.file.ends_with("tiled.cu"));
    EXPECT_GT(l.line, 0);
    sectors += l.value("load_sectors");
    EXPECT_EQ(l.value("no such counter"), 0);
  }
  for (const auto& v : p.values)
    if (v.name == "load_sectors") counted = v.value;
  EXPECT_GT(counted, 0);
  EXPECT_DOUBLE_EQ(sectors, counted);
  test::with_odd_fields(j, [&](const json& odd) { profile_from(odd, asked, false); });
}

TEST(Measurements, AComparisonOnTheEmulator) {
  json j = answer_of("bench direct tiled --against tiled --samples 3" + small_problem);
  ASSERT_TRUE(j.is_object());
  Document asked = test::quick_document(40, "direct");
  KernelComparison c = comparison_from(j, asked, "tiled");
  EXPECT_EQ(c.first.name, "direct");
  EXPECT_EQ(c.second.name, "tiled");
  EXPECT_TRUE(c.first.hot.median_ms && c.second.hot.median_ms);
  EXPECT_LE(*c.first.hot.low_ms, *c.first.hot.median_ms);
  EXPECT_GE(*c.first.hot.high_ms, *c.first.hot.median_ms);
  EXPECT_FALSE(c.first.cold.median_ms);
  EXPECT_FALSE(c.first.hot.verdict.empty());
  EXPECT_FALSE(c.first.hot.evidence.empty());
  EXPECT_TRUE(c.second.hot.verdict.empty()) << "nobody is held against himself";
  EXPECT_EQ(c.source, "emulated");
  EXPECT_FALSE(c.reason.empty());
  // Another order of entries, and one that is not there.
  std::swap(j["entries"][0], j["entries"][1]);
  EXPECT_EQ(comparison_from(j, asked, "tiled").first.hot.median_ms, c.first.hot.median_ms);
  KernelComparison absent = comparison_from(j, asked, "scatter");
  EXPECT_EQ(absent.second.name, "scatter");
  EXPECT_FALSE(absent.second.hot.median_ms);
  test::with_odd_fields(j, [&](const json& odd) { comparison_from(odd, asked, "tiled"); });
}

}  // namespace
}  // namespace convscope
