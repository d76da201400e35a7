// A recording in the window's model, with an engine that has no GPU: its figures stand for its documents, marked.
#include "app/model/recorded.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/model/session_file.h"
#include "kernels/problem/presets.h"
#include "tests/app/model/answers.h"
#include "tests/app/model/benches.h"
#include "tests/app/model/sessions.h"

namespace convscope {
namespace {
using nlohmann::json;

Document document(const std::string& kernel, const std::string& preset) {
  Document d;
  d.kernel = kernel, d.problem = find_preset(preset).problem;
  return d;
}

// An answer as a GPU would give it: the emulator's own, with a GPU's name and sources.
void add(Recording& r, const char* type, const Document& d, json answer, const char* date = "2026-11-22") {
  RunRequest asked;
  asked.kernel = d.kernel, asked.problem = d.problem, asked.accuracy = d.accuracy;
  std::vector<std::byte> none;
  json request = request_json(asked, none);
  request["type"] = type;
  answer["device"] = {{"kind", "cuda"}, {"name", "NVIDIA H200"}};
  if (answer.contains("timing")) answer["timing"]["source"] = "measured";
  r.add(request, answer, {}, date);
}

class RecordedModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    run_ = new json(test::answer_of("run tiled --preset kernelbench-79-small --length 400"));
    profile_ = new json(test::answer_of("profile tiled --preset kernelbench-79-small --length 400"));
    bench_ = new json(test::answer_of("bench tiled direct --preset kernelbench-79-small --length 400 --samples 12"));
  }
  void SetUp() override {
    ASSERT_TRUE(run_->is_object() && profile_->is_object() && bench_->is_object());
    auto r = std::make_shared<Recording>();
    r->about = {{"device", {{"name", "NVIDIA H200"}}}, {"date", "2026-11-22"}};
    add(*r, "run", full_, *run_);
    add(*r, "profile", full_, *profile_);
    Document tf32 = document("hopper_tf32", "kernelbench-79");
    tf32.accuracy = Accuracy::tf32;
    add(*r, "run", tf32, *run_);
    add(*r, "bench", full_, *bench_);
    recording_ = r;
  }
  Document full_ = document("tiled", "kernelbench-79");
  std::shared_ptr<const Recording> recording_;
  static inline json *run_, *profile_, *bench_;
};

TEST_F(RecordedModel, StandsForItsDocumentsAlone) {
  Recorded r;
  EXPECT_FALSE(r.holds(full_));
  r.open(recording_);
  const Report* report = r.report(full_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->recorded, "NVIDIA H200, 2026-11-22");
  EXPECT_EQ(report->timing.source, "recorded: NVIDIA H200, 2026-11-22");
  EXPECT_EQ(report->status, "right");
  EXPECT_EQ(report->key, "") << "its tensors are nowhere";
  EXPECT_TRUE(report->final);
  EXPECT_EQ(r.report(full_), report) << "read once";
  ASSERT_TRUE(r.profile(full_));
  EXPECT_EQ(r.profile(full_)->recorded, "NVIDIA H200, 2026-11-22");
  Document other = full_;
  other.problem.length = 4096;
  EXPECT_FALSE(r.holds(other));
  EXPECT_FALSE(r.report(other));
  EXPECT_EQ(r.way_back(other), full_);
  EXPECT_EQ(describe_change(other, *r.way_back(other)), "length 4096 → 131072");
  other = full_, other.device = "emulator", other.atol = 1e-4;
  EXPECT_TRUE(r.holds(other)) << "neither changes what was measured";
  r.close();
  EXPECT_FALSE(r.holds(full_));
}

// Counters without a verdict: times and launches are there, and that nobody judged it is said.
TEST_F(RecordedModel, AProfileAloneIsNotAVerdict) {
  Recording only = *recording_;
  Document reference = full_, other = document("direct", "kernelbench-79");
  reference.kernel = "cudnn";
  json of_reference = *profile_;
  of_reference["kernel"] = {{"name", "cudnn"}, {"kind", "reference"}};
  add(only, "profile", reference, of_reference);
  json of_other = *profile_;  // a build without the GPU side knows no launches
  of_other["launches"] = {{{"entry", "direct_f32"}, {"grid", {7, 1, 1}}, {"block", {256, 1, 1}}}};
  add(only, "profile", other, of_other);
  Recorded r;
  r.open(std::make_shared<Recording>(only));
  const Report* report = r.report(other);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, "not-judged");
  EXPECT_FALSE(report->failing);
  EXPECT_EQ(report->recorded, "NVIDIA H200, 2026-11-22");
  EXPECT_EQ(report->timing.median_ms, r.profile(other)->hot_ms);
  ASSERT_EQ(report->launches.size(), 1u);
  EXPECT_EQ(report->launches[0].grid[0], 7);
  ASSERT_EQ(report->references.size(), 1u);
  EXPECT_EQ(report->references[0].name, "cudnn");
  EXPECT_EQ(report->references[0].median_ms, r.profile(reference)->hot_ms);
  EXPECT_EQ(r.report(full_)->status, "right") << "a verdict, where there is one";
  other.accuracy = Accuracy::tf32;
  EXPECT_FALSE(r.report(other));
  EXPECT_EQ(r.nearest(other).accuracy, Accuracy::strict);
}

TEST_F(RecordedModel, TakesTheAccuracyAtWhichAKernelWasRecorded) {
  Recorded r;
  r.open(recording_);
  Document strict = document("hopper_tf32", "kernelbench-79"), nearest = r.nearest(strict);
  EXPECT_FALSE(r.holds(strict));
  EXPECT_EQ(nearest.accuracy, Accuracy::tf32);
  EXPECT_TRUE(r.holds(nearest));
  EXPECT_EQ(r.nearest(full_), full_);
  EXPECT_EQ(r.nearest(document("S1", "kernelbench-79")), document("S1", "kernelbench-79")) << "which is not there";
  EXPECT_TRUE(r.holds_kernel(strict, "hopper_tf32"));
  EXPECT_FALSE(r.holds_kernel(strict, "S1"));
}

TEST_F(RecordedModel, ComparesAnyTwoThatWereTimedInTurn) {
  Recorded r;
  r.open(recording_);
  const KernelComparison* c = r.comparison(full_, "direct");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->recorded, "NVIDIA H200, 2026-11-22");
  EXPECT_EQ(c->source, "recorded: NVIDIA H200, 2026-11-22");
  EXPECT_NE(c->first.hot.verdict, "");
  EXPECT_TRUE(c->first.hot.speedup);
  // The other way round it is the inverse.
  Document direct = full_;
  direct.kernel = "direct";
  ASSERT_TRUE(r.comparison(direct, "tiled"));
  EXPECT_NEAR(*r.comparison(direct, "tiled")->first.hot.speedup, 1 / *c->first.hot.speedup, 1e-9);
  EXPECT_FALSE(r.comparison(full_, "S3"));
  EXPECT_FALSE(r.comparison(full_, "tiled"));
}

TEST_F(RecordedModel, WorkbenchShowsItUntilSomebodyWantsToSeeWhatRunsHere) {
  test::Bench b;
  b->open_recording(recording_);
  EXPECT_TRUE(b->shows_recorded(full_));
  EXPECT_TRUE(b->rests_on_recording(full_)) << "25 GFLOP are too many for the emulator";
  ASSERT_TRUE(b->report_of(full_));
  EXPECT_EQ(b->report_of(full_)->recorded, "NVIDIA H200, 2026-11-22");
  EXPECT_TRUE(b->profile_of(full_));
  b->show_live(true);
  EXPECT_FALSE(b->report_of(full_));
  EXPECT_FALSE(b->profile_of(full_));
  b->show_live(false);
  // Another document, live beside it.
  Document small = document("tiled", "kernelbench-79-small");
  EXPECT_FALSE(b->rests_on_recording(small));
  auto run = b.run(small);
  ASSERT_TRUE(run);
  EXPECT_EQ(b->report_of(small), run.get());
  EXPECT_EQ(run->recorded, "") << "nothing that ran here is marked";
  EXPECT_EQ(b->report_of(full_)->recorded, "NVIDIA H200, 2026-11-22");
  b->open_recording(nullptr);
  EXPECT_EQ(b->report_of(full_), run.get());
}

TEST_F(RecordedModel, SessionKeepsItAndWhatIsUnknown) {
  test::ScratchFolder folder;
  SessionFile s{full_, {}, {{"from later", 1}}, recording_};
  save_session(folder.path("a.convscope"), s);
  EXPECT_EQ(test::text_of(folder.path("a.convscope")).substr(0, 2), "\x1f\x8b") << "packed";
  SessionFile back = load_session(folder.path("a.convscope"));
  EXPECT_EQ(back.document, full_);
  EXPECT_EQ(back.unknown, json({{"from later", 1}}));
  ASSERT_TRUE(back.recording);
  EXPECT_EQ(recording_json(*back.recording), recording_json(*recording_));
  // Without one it is plain text, as before.
  s.recording = nullptr;
  save_session(folder.path("b.convscope"), s);
  EXPECT_EQ(test::text_of(folder.path("b.convscope")).substr(0, 1), "{");
  EXPECT_FALSE(load_session(folder.path("b.convscope")).recording);
}

// A kernel's time in lists and in the roofline is its newest one.
TEST_F(RecordedModel, TheNewerTimeIsTheKernels) {
  auto time_with = [&](const char* profiled) {
    auto r = std::make_shared<Recording>();
    json run = *run_, profile = *profile_;
    run["timing"]["median_ms"] = 2.0, profile["timing"]["hot"]["median_ms"] = 1.25;
    add(*r, "run", full_, run), add(*r, "profile", full_, profile, profiled);
    Recorded recorded;
    recorded.open(r);
    EXPECT_EQ(recorded.points(full_).size(), 1u);
    return recorded.points(full_).empty() ? 0 : recorded.points(full_).front().ms;
  };
  EXPECT_EQ(time_with("2026-11-24"), 1.25);
  EXPECT_EQ(time_with("2026-11-22"), 2);
  EXPECT_EQ(time_with("2026-11-21"), 2);
}

// Whatever is odd in an answer: a report, or none.
TEST_F(RecordedModel, OddAnswersAreNone) {
  int odd = 0;
  test::with_odd_fields(*run_, [&](const json& answer) {
    auto r = std::make_shared<Recording>();
    add(*r, "run", full_, answer.is_object() ? answer : json::object());
    Recorded recorded;
    recorded.open(r);
    odd += recorded.report(full_) != nullptr;
    recorded.points(full_);
  });
  EXPECT_GT(odd, 0);
}

}  // namespace
}  // namespace convscope
