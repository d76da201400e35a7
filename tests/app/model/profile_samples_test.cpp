// What was sampled, there and back: the engine's codec and the window's reader; and documents that somebody has spoilt.
#include "app/model/profile_samples.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/engine/sampling_codec.h"
#include "app/model/machine_code.h"
#include "app/model/profile.h"
#include "tests/convolution.h"
#include "tests/support.h"

namespace convscope {
namespace {

using nlohmann::json;

PcSamples samples() {
  PcSamples s;
  s.reasons = {stall_reason("smsp__pcsamp_warps_issue_stalled_wait"),
               stall_reason("smsp__pcsamp_warps_issue_stalled_selected"),
               stall_reason("smsp__pcsamp_warps_issue_stalled_barrier")};
  PcInstruction a, b;
  a.offset = 0x10, a.samples = 30, a.reasons = {{"wait", 20}, {"selected", 10}}, a.not_issued = {{"wait", 15}};
  a.at = {"kernels/ladder/direct.cu", 21};
  b.offset = 0x10000, b.samples = 5, b.reasons = {{"wait", 5}};
  s.functions.push_back({"direct_f32", 77, 35, {a, b}, "no lines because", {}, 640, "00c0ffee00c0ffee"});
  s.samples = 35, s.total = 40, s.dropped = 5, s.period_cycles = 2048, s.calls = 3, s.spent_ms = 12.5;
  return s;
}

Timeline timeline() {
  Timeline t;
  t.start_us = {-20, 0, 20.0005, 40}, t.end_us = {0, 20.0005, 40, 60};
  t.lanes = {{"dram_busy", "Memory busy", "%", "about", {0, 61.23456789, 1.0 / 3, 0}}};
  t.launches = {{"direct_f32", 0, 40}};
  t.work_us = 40, t.interval_us = 20, t.calls = 1;
  return t;
}

TEST(ProfileSamples, ComeBackAsTheyWere) {
  // Through text, as a file would keep it.
  ProfileSamples s = samples_from(json::parse(pc_samples_json(samples()).dump()));
  EXPECT_EQ(s.source, "sampled by hardware");
  EXPECT_EQ(s.samples, 35);
  EXPECT_EQ(s.dropped, 5);
  EXPECT_EQ(s.period_cycles, 2048);
  EXPECT_EQ(s.calls, 3);
  ASSERT_EQ(s.reasons.size(), 3u);
  EXPECT_EQ(s.reasons[0].name, "wait") << "most first";
  EXPECT_EQ(s.reasons[0].samples, 25);
  EXPECT_FALSE(s.find("selected")->waiting);
  EXPECT_EQ(s.find("nothing"), nullptr);
  ASSERT_EQ(s.instructions.size(), 2u);
  EXPECT_EQ(s.instructions[1].function, "direct_f32");
  ASSERT_EQ(s.functions.size(), 1u);
  EXPECT_EQ(s.functions[0].code_hash, "00c0ffee00c0ffee");
  EXPECT_EQ(s.functions[0].code_bytes, 640);
  EXPECT_EQ(s.instructions[1].offset, 0x10000);
  EXPECT_EQ(s.instructions[0].reasons.at("selected"), 10);
  EXPECT_FALSE(s.instructions[0].reasons.contains("barrier"));
  ASSERT_EQ(s.lines.size(), 2u);
  EXPECT_EQ(s.lines[0].file, "kernels/ladder/direct.cu");
  EXPECT_EQ(s.lines[0].line, 21);
  EXPECT_EQ(s.lines[1].line, 0);
  PcSamples none;
  none.gap = {"busy", "another program has them", "end it"};
  s = samples_from(json::parse(pc_samples_json(none).dump()));
  EXPECT_EQ(s.source, "");
  EXPECT_EQ(s.reason, "another program has them; end it");
}

TEST(ProfileTimeline, ComesBackAsItWas) {
  ProfileTimeline t = timeline_from(json::parse(timeline_json(timeline()).dump()));
  ASSERT_EQ(t.start_us.size(), 4u);
  EXPECT_NEAR(t.end_us[1], 20.0005, 1e-3) << "nanoseconds are kept";
  ASSERT_EQ(t.lanes.size(), 1u);
  EXPECT_EQ(t.lanes[0].unit, "%");
  EXPECT_NEAR(t.lanes[0].values[1], 61.23456789, 1e-4);
  EXPECT_NEAR(t.lanes[0].values[2], 1.0 / 3, 1e-6);
  EXPECT_NEAR(t.lanes[0].mean, (61.23456789 + 1.0 / 3) / 2, 1e-3);
  ASSERT_EQ(t.launches.size(), 1u);
  EXPECT_EQ(t.launches[0].name, "direct_f32");
  EXPECT_DOUBLE_EQ(t.work_us, 40);
  EXPECT_DOUBLE_EQ(t.kernels_us, 40);
  Timeline shorter = timeline();  // a point in which the kernel ended is no part of a mean
  shorter.launches = {{"direct_f32", 0, 30}};
  t = timeline_from(json::parse(timeline_json(shorter).dump()));
  EXPECT_DOUBLE_EQ(t.kernels_us, 30);
  EXPECT_NEAR(t.lanes[0].mean, 61.23456789, 1e-3);
}

TEST(ProfileTimeline, PointsThatDoNotGoForwardAreNone) {
  json good = timeline_json(timeline());
  json j = good;
  j["start_us"][2] = -100;
  EXPECT_TRUE(timeline_from(j).start_us.empty());
  EXPECT_TRUE(timeline_from(j).lanes.empty());
  j = good;
  j["lanes"][0]["values"].erase(0);
  EXPECT_TRUE(timeline_from(j).lanes.empty()) << "as many values as points";
  j = good;
  j["launches"][0]["end_us"] = -1;
  EXPECT_TRUE(timeline_from(j).launches.empty());
}

// Anything in the place of anything.
void spoil(json& j, test::Random& r) {
  const json values[] = {nullptr, -1, 1e300, "NaN", "word", json::array(), json::object(), true, INT64_MAX, {{"a", 1}}};
  json* at = &j;
  for (int depth = 0; depth < 8 && at->is_structured() && !at->empty(); depth++) {
    auto it = at->begin();
    std::advance(it, static_cast<long>(r() % at->size()));
    at = &*it;
    if (r() % 3 == 0) break;
  }
  *at = values[r() % std::size(values)];
}

TEST(ProfileSamples, AnySpoiltDocumentIsTaken) {
  json code = {{"kernel", "direct"},
               {"architecture", "sm_90"},
               {"functions",
                {{{"name", "direct_f32"},
                  {"registers", 46},
                  {"sass", {{{"offset", 16}, {"text", "NOP"}, {"line", 21}, {"file", "direct.cu"}}}},
                  {"ptx", {{{"text", "ret;"}}}}}}}};
  json whole = {
      {"pc_sampling", pc_samples_json(samples())},
      {"timeline", timeline_json(timeline())},
      {"phases", {{{"name", "running"}, {"seconds", 1}}}},
      {"kernels", {{{"name", "k"}, {"start_ns", 5}, {"duration_ms", 1}, {"grid", {1, 2, 3}}, {"block", {4, 1, 1}}}}}};
  test::Random r(11);
  for (int i = 0; i < 4000; i++) {
    json j = whole, c = code;
    for (int64_t n = test::between(r, 1, 4); n > 0; n--) spoil(j, r), spoil(c, r);
    ASSERT_NO_THROW({
      Profile p = profile_from(j.is_object() ? j : json::object(), Document{}, true);
      for (const auto& lane : p.timeline.lanes) EXPECT_EQ(lane.values.size(), p.timeline.start_us.size());
      machine_code_from(c);
    }) << j;
  }
  EXPECT_EQ(machine_code_from(code).functions[0].sass[0].line, 21);
}

}  // namespace
}  // namespace convscope
