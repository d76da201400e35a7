// Times with weights packed before as values: of runs, of comparisons, of recordings, and of answers that know none.
#include "app/model/packed_time.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/model/comparison.h"
#include "app/model/recorded.h"
#include "app/model/report.h"
#include "kernels/problem/presets.h"
#include "tests/app/model/answers.h"

namespace convscope {
namespace {
using nlohmann::json;

json times_of(double ms) {
  json samples = json::array();
  for (int i = 0; i < 12; i++) samples.push_back(ms * (1 + 1e-4 * i));
  return {{"median_ms", ms}, {"interval_ms", {ms * 0.99, ms * 1.01}},
          {"min_ms", ms},    {"noise_pct", 0.1},
          {"samples", 12},   {"samples_ms", samples}};
}

// One that packs: 3 ms, of which 1 is packing; it is 4 ms from a cold cache.
json packing_entry(const char* name) {
  json j = {{"name", name},          {"hot", times_of(3)}, {"cold", times_of(4)},
            {"packs_weights", true}, {"packing_ms", 1.25}, {"packing_source", "measured, the launches that pack alone"},
            {"packed", times_of(2)}};
  j["packed"]["cold"] = times_of(2.5);
  return j;
}
json plain_entry(const char* name) {
  return {{"name", name},
          {"hot", times_of(2.2)},
          {"cold", times_of(2.8)},
          {"packs_weights", false},
          {"packed", nullptr},
          {"packing_ms", nullptr},
          {"packed_reason", "it packs no weights"}};
}
json verdict(const char* of, const char* word) {
  json v = {{"verdict", word}, {"evidence", std::string(word) + " by " + of}, {"speedup", 1.1}};
  return {{"hot", v}, {"cold", v}, {"of", of}};
}
json bench() {
  json a = packing_entry("registers"), b = plain_entry("cudnn");
  a["against"] = verdict("packed", "FASTER"), a["against_whole"] = verdict("whole", "SLOWER");
  return {{"source", "measured"}, {"verdicts_of", "packed"}, {"against", "cudnn"}, {"rounds", 12}, {"entries", {a, b}}};
}
Document asked() {
  Document d;
  d.kernel = "registers", d.problem = find_preset("kernelbench-79").problem;
  return d;
}

json launched(std::initializer_list<const char*> entries) {
  json all = json::array();
  for (const char* e : entries) all.push_back({{"entry", e}});
  return all;
}

TEST(PackedTimes, OfAnAnswer) {
  PackedTime t = packed_from(packing_entry("x"), launched({"x_pack", "x"}));
  EXPECT_EQ(t.packs, true);
  EXPECT_EQ(t.median_ms, 2);
  EXPECT_EQ(t.low_ms, 2 * 0.99);
  EXPECT_EQ(t.cold_median_ms, 2.5);
  EXPECT_EQ(t.packing_ms, 1.25);
  EXPECT_EQ(t.packing_source, "measured, the launches that pack alone");
  EXPECT_EQ(t.samples_ms.size(), 12u);
  EXPECT_EQ(t.cold_samples_ms.size(), 12u);
  EXPECT_EQ(t.reason, "");
  t = packed_from(plain_entry("x"), launched({"x"}));
  EXPECT_EQ(t.packs, false);
  EXPECT_FALSE(t.median_ms || t.packing_ms);
  EXPECT_EQ(t.reason, "it packs no weights");
  test::with_odd_fields(packing_entry("x"), [](const json& odd) { packed_from(odd, launched({"x_pack", "x"})); });
}

// Older answers: one launch packs nothing, several do if one of them is called so; without launches nobody knows.
TEST(PackedTimes, OfAnAnswerThatKnowsNone) {
  const json old = {{"hot", times_of(3)}};
  EXPECT_EQ(packed_from(old, launched({"main"})).packs, false);
  for (const auto& [launches, packs] : {std::pair{json(nullptr), std::optional<bool>{}},
                                        {launched({"mma_pack_tf32", "mma_tiles_tf32"}), true},
                                        {launched({"scatter_fill_f32", "scatter_f32"}), false}}) {
    PackedTime t = packed_from(old, launches);
    EXPECT_EQ(t.packs, packs) << launches;
    EXPECT_FALSE(t.median_ms);
    EXPECT_NE(t.reason.find("not recorded"), std::string::npos) << t.reason;
  }
}

TEST(PackedTimes, OfARun) {
  json j = {{"timing", times_of(3)}, {"launches", {{{"entry", "x_pack"}}, {{"entry", "x"}}}}};
  EXPECT_EQ(report_from(j, asked(), true).timing.packed.packs, true);
  j["timing"].update(packing_entry("x"));
  Report r = report_from(j, asked(), true);
  EXPECT_EQ(r.timing.median_ms, 3);
  EXPECT_EQ(r.timing.packed.median_ms, 2);
  EXPECT_EQ(r.timing.packed.packing_ms, 1.25);
}

TEST(PackedTimes, AComparisonIsAboutThem) {
  KernelComparison c = comparison_from(bench(), asked(), "cudnn");
  EXPECT_TRUE(c.packed);
  EXPECT_EQ(c.counted().verdict, "FASTER");
  EXPECT_EQ(c.first.packed_hot.median_ms, 2);
  EXPECT_EQ(c.first.packed_cold.median_ms, 2.5);
  EXPECT_EQ(c.first.packed_cold.verdict, "FASTER");
  EXPECT_EQ(c.first.hot.median_ms, 3);
  EXPECT_EQ(c.first.hot.verdict, "SLOWER") << "of whole plans";
  EXPECT_EQ(c.second.packed_hot.median_ms, 2.2) << "its only time stands beside";
  EXPECT_EQ(c.second.packed_cold.median_ms, 2.8);
  EXPECT_EQ(c.second.packed.packing_ms, std::nullopt);
  // Where neither packs there is the one verdict.
  json none = bench();
  none["entries"][0] = plain_entry("registers");
  none["entries"][0]["against"] = none["entries"][0]["against_whole"] = verdict("whole", "SAME");
  c = comparison_from(none, asked(), "cudnn");
  EXPECT_FALSE(c.packed || c.first.packed_hot.median_ms || c.second.packed_hot.median_ms);
  EXPECT_EQ(c.counted().verdict, "SAME");
  // An older answer: one verdict, of whole plans, and times that are not there.
  json old = bench();
  for (auto& e : old["entries"])
    for (const char* field : {"packed", "packs_weights", "packing_ms", "packed_reason", "against_whole"})
      e.erase(field);
  old["entries"][0]["against"] = verdict("", "SLOWER");
  old["entries"][0]["against"].erase("of"), old.erase("verdicts_of");
  c = comparison_from(old, asked(), "cudnn");
  EXPECT_FALSE(c.packed);
  EXPECT_EQ(c.counted().verdict, "SLOWER");
  EXPECT_FALSE(c.first.packed_hot.median_ms || c.second.packed_hot.median_ms);
  EXPECT_NE(c.first.packed_hot.reason.find("not recorded"), std::string::npos);
  test::with_odd_fields(bench(), [](const json& odd) { comparison_from(odd, asked(), "cudnn"); });
}

// Of a recording any two are compared, by their samples: packed ones where there are some.
TEST(PackedTimes, RecordedOnesAreJudgedAgain) {
  auto comparison = [](const json& answer, const char* kernel, const char* with) {
    auto r = std::make_shared<Recording>();
    r->about = {{"device", {{"name", "NVIDIA H200"}}}, {"date", "2026-11-24"}};
    RunRequest question;
    question.problem = asked().problem;
    std::vector<std::byte> none;
    json request = request_json(question, none);
    request["type"] = "bench";
    r->add(request, answer, {}, "2026-11-24");
    Recorded recorded;
    recorded.open(r);
    Document d = asked();
    d.kernel = kernel;
    const KernelComparison* c = recorded.comparison(d, with);
    return c ? *c : KernelComparison{};
  };
  KernelComparison c = comparison(bench(), "registers", "cudnn");
  EXPECT_TRUE(c.packed);
  EXPECT_EQ(c.first.packed_hot.verdict, "FASTER");
  EXPECT_NEAR(*c.first.packed_hot.speedup, 1.1, 1e-9);
  EXPECT_EQ(c.first.packed_cold.verdict, "FASTER");
  EXPECT_EQ(c.first.hot.verdict, "SLOWER");
  EXPECT_NEAR(*c.first.hot.speedup, 2.2 / 3, 1e-9);
  c = comparison(bench(), "cudnn", "registers");
  EXPECT_TRUE(c.packed);
  EXPECT_EQ(c.counted().verdict, "SLOWER");
  EXPECT_EQ(c.first.hot.verdict, "FASTER");
  // One whose packed times are none, since it hides work in packing: with its only ones.
  json hidden = bench();
  json& e = hidden["entries"][1] = packing_entry("cudnn");
  e["packed"] = nullptr, e["packing_ms"] = nullptr, e["packed_reason"] = "they do more than pack";
  c = comparison(hidden, "registers", "cudnn");
  EXPECT_TRUE(c.packed);
  EXPECT_EQ(c.second.packed_hot.median_ms, 3);
  EXPECT_NEAR(*c.counted().speedup, 3.0 / 2, 1e-9);
  json old = bench();
  for (auto& each : old["entries"])
    for (const char* field : {"packed", "packs_weights", "packing_ms", "packed_reason", "against_whole", "against"})
      each.erase(field);
  c = comparison(old, "registers", "cudnn");
  EXPECT_FALSE(c.packed);
  EXPECT_EQ(c.counted().verdict, "SLOWER");
  EXPECT_EQ(c.first.packed_hot.verdict, "");
}

}  // namespace
}  // namespace convscope
