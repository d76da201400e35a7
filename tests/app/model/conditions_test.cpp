// The GPU's clocks while something was timed, there and back: the engine's codec and the window's reader; documents
// that somebody has spoilt; and the recordings of before, which have ranges only.
#include "app/model/conditions.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/engine/profile_codec.h"
#include "app/engine/recording.h"
#include "app/model/profile.h"
#include "tests/app/model/answers.h"
#include "tests/app/model/documents.h"

namespace convscope {
namespace {

using nlohmann::json;

Conditions measured() {
  std::vector<GpuReading> all(3);
  for (size_t i = 0; i < 3; i++) {
    all[i].t_ms = 20.5 * static_cast<double>(i);
    all[i].sm_mhz = 1980, all[i].memory_mhz = 3201, all[i].temperature_c = 41, all[i].power_w = 321.5;
    all[i].slower_because = 0;
  }
  all[1].sm_mhz = 1755, all[1].slower_because = 0x44;
  all[2].power_w.reset(), all[2].slower_because.reset();
  Conditions c = conditions_of(all);
  c.limits.max_sm_mhz = 1980, c.limits.power_limit_w = 700;
  return c;
}

TEST(GpuConditions, ComeBackAsTheyWere) {
  const json j = json::parse(conditions_json(measured()).dump());
  GpuConditions c = conditions_from(j);
  EXPECT_TRUE(c.known());
  EXPECT_EQ(c.reason, "");
  EXPECT_EQ(c.source, "measured by NVML");
  EXPECT_EQ(c.sm_mhz->least, 1755);
  EXPECT_EQ(c.sm_mhz->most, 1980);
  EXPECT_EQ(c.max_sm_mhz, 1980);
  EXPECT_FALSE(c.max_memory_mhz);
  ASSERT_EQ(c.over_time.size(), 3u);
  EXPECT_DOUBLE_EQ(c.over_time[1].t_ms, 20.5);
  EXPECT_EQ(c.over_time[1].sm_mhz, 1755);
  EXPECT_TRUE(c.over_time[1].throttled);
  EXPECT_EQ(c.over_time[1].reasons, (std::vector<std::string>{"power limit", "too hot (hardware)"}));
  EXPECT_FALSE(c.over_time[0].throttled);
  EXPECT_DOUBLE_EQ(c.over_time[0].power_w.value(), 321.5);
  EXPECT_FALSE(c.over_time[2].power_w);
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_NE(c.warnings[0].find("its clock moved between 1755 and 1980 MHz"), std::string::npos);
  EXPECT_EQ(c.line, "SM 1755 to 1980 MHz (limit 1980) · memory 3201 MHz · 41 °C · 322 W (limit 700)");
  EXPECT_EQ(j["readings"], 3);
  EXPECT_EQ(j["readings_for_one"], 1);
  // The last reading told no reasons: that is not the same as none.
  EXPECT_EQ(j["over_time"][0]["throttled"], false);
  EXPECT_TRUE(j["over_time"][2]["throttled"].is_null() && j["over_time"][2]["idle"].is_null());
  Conditions none;
  none.missing = {"no-gpu", "clocks are a GPU's", "use one"};
  c = conditions_from(conditions_json(none));
  EXPECT_FALSE(c.known());
  EXPECT_EQ(c.reason, "clocks are a GPU's; use one");
  EXPECT_EQ(c.source, "");
  EXPECT_EQ(c.line, "");
}

// Before the work and after it the GPU rests: what it reads then is marked, and of neighbours that stand for one those
// that worked are kept.
TEST(GpuConditions, RestIsMarked) {
  std::vector<GpuReading> all(2 * most_kept_readings);
  for (size_t i = 0; i < all.size(); i++) {
    all[i].t_ms = 20.0 * static_cast<double>(i);
    const bool rests = i < 6 || i == 101;
    all[i].sm_mhz = rests ? 345 : 1980, all[i].slower_because = rests ? 1 : 0;
  }
  const json j = json::parse(conditions_json(conditions_of(all)).dump());
  EXPECT_EQ(j["readings_for_one"], 2);
  EXPECT_EQ(j["readings"], static_cast<int>(all.size()) - 7);
  const GpuConditions c = conditions_from(j);
  EXPECT_EQ(c.line, "SM 1980 MHz");
  ASSERT_EQ(c.over_time.size(), most_kept_readings);
  for (size_t i = 0; i < c.over_time.size(); i++) {
    EXPECT_EQ(c.over_time[i].idle, i < 3) << i;
    EXPECT_EQ(c.over_time[i].sm_mhz, i < 3 ? 345 : 1980) << i;
  }
}

TEST(GpuConditions, AnyDocumentIsTaken) {
  test::with_odd_fields(conditions_json(measured()), [](const json& odd) {
    GpuConditions c = conditions_from(odd);
    for (size_t i = 1; i < c.over_time.size(); i++) EXPECT_GE(c.over_time[i].t_ms, c.over_time[i - 1].t_ms);
  });
  json back = conditions_json(measured());
  back["over_time"][2]["t_ms"] = 3;  // time does not go back
  EXPECT_EQ(conditions_from(back).over_time.size(), 2u);
  EXPECT_FALSE(conditions_from(json::array()).known());
}

// The recordings that come with the program were made before readings were kept.
TEST(GpuConditions, RecordingsOfBeforeHaveRanges) {
  size_t profiles = 0;
  for (const auto& shipped : shipped_recordings()) {
    const Recording recording = read_recording(shipped.path);
    for (const auto& a : recording.answers) {
      if (a.type() != "profile") continue;
      Profile p = profile_from(shown_answer(recording, a), test::quick_document(), false);
      EXPECT_TRUE(p.conditions.known()) << shipped.name << " " << a.asked.kernel;
      EXPECT_TRUE(p.host_ms && p.hot_ms);
      EXPECT_TRUE(p.kernel_ms || !p.kernel_reason.empty());
      profiles++;
    }
  }
  EXPECT_GT(profiles, 100u);
}

}  // namespace
}  // namespace convscope
