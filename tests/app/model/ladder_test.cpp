// How far kernels are from the floor: by a recording, and by the planner's model where nothing was timed.
#include "app/model/ladder.h"

#include <gtest/gtest.h>
#include <memory>

#include "app/engine/recording.h"
#include "kernels/problem/presets.h"
#include "tests/app/model/benches.h"
#include "tests/support.h"

namespace convscope {
namespace {

using From = LadderRow::From;

TEST(LadderOfTimes, OfARecording) {
  test::Bench bench;
  ASSERT_TRUE(bench.settle()) << "the kernels' list";
  bench->open_recording(std::make_shared<Recording>(
      read_recording(test::project_file("assets/recordings/h200-kernelbench-79.convscope"))));
  Document d;
  d.problem = find_preset("kernelbench-79").problem, d.kernel = "S4", d.accuracy = Accuracy::tf32;
  const Ladder l = ladder_of(*bench, d);
  ASSERT_EQ(l.sources.size(), 1u) << "nothing is predicted beside a recording";
  EXPECT_TRUE(l.sources[0].starts_with("recorded: NVIDIA H200")) << l.sources[0];
  ASSERT_TRUE(l.floor_ms);
  EXPECT_NEAR(*l.floor_ms, 0.315, 0.01);
  EXPECT_TRUE(l.floor_words.starts_with("by bytes of NVIDIA H200, ")) << l.floor_words;
  for (const char* name : {"S0", "S4", "direct", "tiled", "hopper_tf32", "hopper_3xtf32", "cudnn", "cudnn-tf32"}) {
    const LadderRow* r = l.of(name);
    ASSERT_TRUE(r) << name;
    EXPECT_EQ(r->from, From::recorded) << name;
    EXPECT_GT(r->ms, *l.floor_ms) << name;
    EXPECT_FALSE(r->looser) << name;
  }
  EXPECT_EQ(l.of("cudnn")->kind, "reference");
  EXPECT_EQ(l.of("S4")->status, "wrong");
  EXPECT_EQ(l.of("direct")->status, "right") << "judged at a stricter accuracy";
  ASSERT_TRUE(l.fastest());
  EXPECT_EQ(l.fastest()->name, "hopper_tf32");
  const std::string says = ladder_sentence(l, d);
  EXPECT_TRUE(says.starts_with("S4 takes 35.")) << says;
  EXPECT_TRUE(test::holds(says, " times hopper_tf32, the fastest that is accurate enough for tf32, and 11")) << says;
  EXPECT_TRUE(says.ends_with(" times the floor")) << says;
  d.kernel = "hopper_tf32";
  EXPECT_TRUE(test::holds(ladder_sentence(l, d), "the fastest that is accurate enough for tf32: 1."))
      << ladder_sentence(l, d);

  // Strict: who computes in TF32 is no rival, and not called right by a verdict at TF32.
  d.accuracy = Accuracy::strict;
  const Ladder strict = ladder_of(*bench, d);
  EXPECT_TRUE(strict.of("hopper_tf32")->looser && strict.of("cudnn-tf32")->looser);
  EXPECT_EQ(strict.of("hopper_tf32")->status, "");
  ASSERT_TRUE(strict.fastest());
  EXPECT_EQ(strict.fastest()->name, "registers");
}

// Of a recording that has its time and no verdict nobody is to think that it is right.
TEST(LadderOfTimes, TimedAndNotJudgedIsNotRight) {
  LadderRow row;
  row.kind = "specimen";
  EXPECT_FALSE(row.not_judged()) << "it has no time";
  row.from = From::recorded;
  EXPECT_TRUE(row.not_judged());
  row.status = "not-judged";
  EXPECT_TRUE(row.not_judged());
  for (const char* status : {"right", "wrong", "crashed"}) {
    row.status = status;
    EXPECT_FALSE(row.not_judged()) << status;
  }
  row.status = "", row.kind = "reference";
  EXPECT_FALSE(row.not_judged()) << "references are measured beside";
  row.kind = "ladder", row.from = From::measured;
  EXPECT_FALSE(row.not_judged()) << "what runs here is judged first";
}

// One floor for all, whichever is chosen, and none below it: in every recording that comes with the program.
TEST(LadderOfTimes, OfEveryRecordingStandAboveOneFloor) {
  test::Bench bench;
  ASSERT_TRUE(bench.settle()) << "the kernels' list";
  int seen = 0, rows = 0;
  for (const auto& shipped : shipped_recordings()) {
    bench->open_recording(std::make_shared<Recording>(read_recording(shipped.path)));
    std::optional<Document> first = bench->recorded().way_back({});
    ASSERT_TRUE(first) << shipped.name;
    const bool one = first->problem.dtype != DType::f32;
    for (Accuracy a : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32}) {
      if (one && a != Accuracy::strict) continue;
      Document d = *first;
      d.accuracy = a;
      const Ladder l = ladder_of(*bench, d);
      ASSERT_TRUE(l.floor_ms && l.recorded) << shipped.name;
      seen++;
      for (const auto& r : l.rows) {
        if (r.from == From::nothing) continue;
        d.kernel = r.name;
        EXPECT_EQ(ladder_of(*bench, d).floor_ms, l.floor_ms) << shipped.name << ", " << r.name << " chosen";
        if (!r.looser) {
          EXPECT_GT(r.ms, 0.95 * *l.floor_ms) << shipped.name << ", " << r.name << ", " << name_of(a);
          rows++;
        }
      }
    }
  }
  EXPECT_GT(seen, 20);
  EXPECT_GT(rows, 300);
}

TEST(LadderOfTimes, AreForetoldInEveryType) {
  test::Bench bench;
  ASSERT_TRUE(bench.settle());
  for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    Document d;
    d.problem = find_preset("kernelbench-79-small").problem, d.problem.dtype = type, d.kernel = "direct";
    bench->planning().want_times(d);
    ASSERT_TRUE(bench.until([&] { return bench->planning().times(d) != nullptr; })) << name_of(type);
    EXPECT_EQ(bench->planning().times(d)->trouble, "") << name_of(type);
    const Ladder l = ladder_of(*bench, d);
    ASSERT_TRUE(l.of("direct") && l.floor_ms) << name_of(type);
    EXPECT_EQ(l.of("direct")->from, From::predicted) << name_of(type);
    EXPECT_GT(l.of("direct")->ms, *l.floor_ms) << name_of(type);
    EXPECT_EQ(l.of("hopper_16bit")->from == From::predicted, is_half(type)) << name_of(type);
  }
}

TEST(LadderOfTimes, SayWhyTheModelCannotBeAsked) {
  test::Bench bench;
  ASSERT_TRUE(bench.settle());
  Document d;
  d.problem = find_preset("kernelbench-79-small").problem, d.device = "cuda:7";
  bench->planning().want_times(d);
  ASSERT_TRUE(bench.until([&] { return bench->planning().times(d) != nullptr; }));
  EXPECT_NE(bench->planning().times(d)->trouble, "");
  EXPECT_FALSE(ladder_of(*bench, d).any());
  const int waiting = bench->link().waiting();
  bench->planning().want_times(d);
  EXPECT_EQ(bench->link().waiting(), waiting) << "not again and again";
}

TEST(LadderOfTimes, TheSentenceNamesWhoIsFastest) {
  Ladder l;
  auto add = [&](const char* name, const char* kind, From from, double ms) {
    LadderRow r;
    r.name = name, r.kind = kind, r.from = from, r.ms = ms;
    l.rows.push_back(r);
  };
  Document d;
  d.kernel = "/tmp/my.cu";
  add("/tmp/my.cu", "outside", From::measured, 0.3);
  add("tiled", "ladder", From::measured, 4.5);
  add("hopper_tf32", "ladder", From::predicted, 0.2);
  add("S0", "specimen", From::measured, 0.1);
  l.floor_ms = 0.1;
  EXPECT_EQ(ladder_sentence(l, d),
            "my.cu takes 300 µs, the fastest of those that ran here and are accurate enough for strict f32: 3.00 times "
            "the floor; "
            "hopper_tf32 is predicted to take 200 µs");
  d.kernel = "tiled";
  EXPECT_EQ(ladder_sentence(l, d),
            "tiled takes 4.50 ms: 15.0 times my.cu, the fastest of those that ran here and are accurate enough for "
            "strict f32, and 45.0 times the floor; hopper_tf32 is predicted to take 200 µs");
  l.rows[0].status = "wrong", l.rows[2].looser = true;
  EXPECT_EQ(ladder_sentence(l, d),
            "tiled takes 4.50 ms, the fastest of those that ran here and are accurate enough for strict f32: "
            "45.0 times the floor");
  EXPECT_EQ(times_text(4013.2), "4,013");
  EXPECT_EQ(times_text(1.2249), "1.22");
  EXPECT_EQ(times_text(142.3), "142");
}

TEST(LadderOfTimes, AreForetoldWhereNothingWasTimed) {
  test::Bench bench;
  Document d;
  d.problem = find_preset("kernelbench-79-small").problem, d.kernel = "S4";
  ASSERT_TRUE(bench.run(d));
  EXPECT_FALSE(ladder_of(*bench, d).any()) << "the emulator's times are none, and nobody has asked the model";
  bench->planning().want_times(d);
  ASSERT_TRUE(bench.until([&] { return bench->planning().times(d) != nullptr; }));
  const int waiting = bench->link().waiting();
  bench->planning().want_times(d);
  EXPECT_EQ(bench->link().waiting(), waiting) << "asked once";

  const Ladder l = ladder_of(*bench, d);
  ASSERT_EQ(l.sources.size(), 1u);
  EXPECT_EQ(l.sources[0], "predicted by the planner's model for NVIDIA H200, weights packed before");
  ASSERT_TRUE(l.floor_ms) << "by the data sheet of the GPU that the model is of";
  EXPECT_TRUE(test::holds(l.floor_words, "H200")) << l.floor_words;
  for (const char* name : {"direct", "tiled", "hopper_tf32"}) {
    ASSERT_TRUE(l.of(name)) << name;
    EXPECT_EQ(l.of(name)->from, From::predicted) << name;
    EXPECT_GT(l.of(name)->ms, *l.floor_ms) << name;
  }
  EXPECT_GT(l.of("direct")->ms, l.of("tiled")->ms);
  EXPECT_TRUE(l.of("hopper_tf32")->looser);
  EXPECT_EQ(l.of("S4")->from, From::nothing);
  EXPECT_EQ(l.of("S4")->status, "wrong");
  EXPECT_EQ(l.of("S4")->why, "it has not run here on a GPU");
  EXPECT_EQ(l.of("hopper_16bit")->why, "takes f16 and bf16 only");
  const std::string says = ladder_sentence(l, d);
  EXPECT_TRUE(
      test::holds(says, " is predicted to be the fastest here of those that are accurate enough for strict f32: "))
      << says;

  // Of another problem they say nothing.
  Document other = d;
  other.problem.length++;
  EXPECT_EQ(bench->planning().times(other), nullptr);
  EXPECT_FALSE(ladder_of(*bench, other).any());
  EXPECT_EQ(ladder_sentence(ladder_of(*bench, other), other), "");
  bench->planning().want_times(other);
  ASSERT_TRUE(bench.until([&] { return bench->planning().times(other) != nullptr; }));
  EXPECT_EQ(bench->planning().times(d), nullptr);
  EXPECT_GT(*ladder_of(*bench, other).floor_ms, *l.floor_ms) << "one position more";
}

}  // namespace
}  // namespace convscope
