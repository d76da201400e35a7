// A sweep asks one thing after the other and keeps what came: played with answers that an engine would give.
#include "app/engine/sweep.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support.h"

namespace convscope {
namespace {

using nlohmann::json;
using test::holds;

SweepSpec spec_of(std::vector<std::string> kernels, const std::string& over) {
  SweepSpec s;
  s.base.in_channels = s.base.out_channels = 2, s.base.kernel_size = 3, s.base.length = 10;
  s.axis = axis_from(over), s.kernels = std::move(kernels);
  return s;
}

// An engine of words.
struct Played {
  bool gpu = false;
  std::vector<std::string> asked;  // "judge S4 2"

  json device() const { return {{"kind", gpu ? "cuda" : "emulator"}, {"name", gpu ? "GPU" : "CPU"}}; }
  static int64_t stride(const json& r) { return r.at("problem").at("stride").get<int64_t>(); }

  // S4 is right at stride 1 alone; "quick" is faster than "slow" beyond stride 2.
  json answer(const json& r) {
    const std::string type = r.at("type");
    if (type == "list") return {{"references", json::array({{{"name", "oracle"}}, {{"name", "library"}}})}};
    const auto s = static_cast<double>(stride(r));
    asked.push_back(type + (r.contains("kernel") ? " " + r["kernel"].get<std::string>() : "") + " " +
                    std::to_string(stride(r)));
    if (type == "choose")
      return {
          {"device", device()},
          {"chosen",
           {{"kernel", s > 2 ? "quick" : "slow"},
            {"target", "GPU"},
            {"floor_ms", 0.5},
            {"floor_from", "bytes"},
            {"floor_source", "GPU, datasheet"},
            {"candidates", json::array({{{"name", "quick"}, {"predicted_ms", 3.0}, {"refused", nullptr}},
                                        {{"name", "slow"}, {"predicted_ms", s}, {"refused", nullptr}},
                                        {{"name", "none"}, {"predicted_ms", nullptr}, {"refused", "too large"}}})}}}};
    if (type == "judge") {
      const std::string kernel = r["kernel"] == "auto" ? (s > 2 ? "quick" : "slow") : r["kernel"].get<std::string>();
      const bool wrong = kernel == "S4" && s > 1;
      return {{"kernel", {{"name", kernel}}},
              {"verdict",
               {{"status", kernel == "picky" && s > 1 ? "not-run"
                           : wrong                    ? "wrong"
                                                      : "right"},
                {"sentence", wrong               ? "wrong: half"
                             : kernel == "picky" ? "takes stride 1 alone"
                                                 : "right: all"}}},
              {"error",
               {{"failing", wrong ? 50 : 0},
                {"elements", 100},
                {"max_bound_ratio", wrong ? json("Infinity") : json(0.1)}}}};
    }
    json entries = json::array();
    for (const auto& k : r.at("kernels"))
      entries.push_back(
          {{"name", k},
           {"source", "measured"},
           {"hot", {{"median_ms", k == "quick" ? 3.0 : 2 * s}, {"noise_pct", 1.5}}},
           {"cold", {{"median_ms", 9.0}}},
           {"packed", k == "quick" ? json{{"median_ms", 2.5}, {"noise_pct", 0.5}, {"cold", {{"median_ms", 8.0}}}}
                                   : json(nullptr)}});
    return {{"entries", entries}, {"floor_ms", 0.25}, {"floor_from", "flops"}, {"floor_source", "GPU, measured"}};
  }
  void play(Sweep& s) {
    while (auto r = s.next()) s.took(answer(r->header));
  }
};

TEST(Sweep, AsksTheModelFirstAndThenJudges) {
  Sweep s(spec_of({"S4", "auto"}, "stride=1..3"));
  Played engine;
  engine.play(s);
  EXPECT_EQ(engine.asked,
            (std::vector<std::string>{"choose auto 1", "choose auto 2", "choose auto 3", "judge S4 1", "judge auto 1",
                                      "judge S4 2", "judge auto 2", "judge S4 3", "judge auto 3"}));
  EXPECT_TRUE(s.over());
  EXPECT_EQ(s.share_done(), 1);
  ASSERT_EQ(s.points().size(), 3u);
  const SweepEntry &specimen = s.points()[1].entries[0], &best = s.points()[2].entries[1];
  EXPECT_EQ(specimen.status, Status::wrong);
  EXPECT_EQ(specimen.failing_fraction(), 0.5);
  EXPECT_FALSE(specimen.ms);
  EXPECT_EQ(specimen.no_time, "the planner's model knows the rungs alone");
  EXPECT_EQ(best.ran, "quick");
  EXPECT_EQ(best.ms, 3.0);
  EXPECT_EQ(best.source, "predicted");
  EXPECT_EQ(s.points()[0].floor_ms, 0.5);
  EXPECT_EQ(s.points()[0].floor_words, "by bytes of GPU, datasheet");
  EXPECT_EQ(s.times_words(), "predicted by the planner's model for GPU, weights packed before");
}

TEST(Sweep, MeasuresOnAGpuWhatWasJudged) {
  Sweep s(spec_of({"S4", "quick", "picky", "library"}, "stride=1..2"));
  Played engine;
  engine.gpu = true;
  engine.play(s);
  EXPECT_EQ(engine.asked,
            (std::vector<std::string>{"choose auto 1", "choose auto 2", "judge S4 1", "judge quick 1", "judge picky 1",
                                      "bench 1", "judge S4 2", "judge quick 2", "judge picky 2", "bench 2"}));
  const auto& at = s.points()[1].entries;
  EXPECT_EQ(at[0].ms, 4.0);
  EXPECT_EQ(at[0].source, "measured");
  EXPECT_EQ(at[1].ms, 2.5) << "weights packed before, where there are such times";
  EXPECT_EQ(at[1].cold_ms, 8.0);
  EXPECT_EQ(at[1].noise_pct, 0.5);
  EXPECT_FALSE(at[2].ms) << "what does not take the problem is not timed";
  EXPECT_EQ(at[2].no_time, "takes stride 1 alone");
  EXPECT_EQ(at[3].ms, 4.0) << "a reference is timed and not judged";
  EXPECT_FALSE(at[3].status);
  EXPECT_EQ(s.points()[1].floor_words, "by operations of GPU, measured");
  EXPECT_EQ(s.times_words(), "measured on GPU, hot, weights packed before");
}

TEST(Sweep, SaysWhereWhoIsRightAndFastest) {
  Sweep s(spec_of({"S4", "slow", "quick", "picky"}, "stride=1..5"));
  Played engine;
  engine.play(s);
  const std::vector<std::string> expected = {"S4: wrong at stride 2 to 5, 50.0 % of its elements; right at 1",
                                             "slow and quick: right at all 5 values of stride",
                                             "picky: right at stride 1; not run at 2 to 5 (takes stride 1 alone)",
                                             "fastest: slow at 1 and 2 (1.5 to 3 times the next); quick at 4 and 5"};
  const auto said = s.sentences();
  ASSERT_GE(said.size(), 4u);
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(said[i], expected[i]);
  // At 3 both take 3 ms: the first that is named.
  EXPECT_EQ(said[3], "fastest: slow at 1 to 3 (1 to 3 times the next); quick at 4 and 5 (1.33 to 1.67 times the next)");
  // A wrong kernel is no rival, however fast.
  Sweep alone(spec_of({"S4", "slow"}, "stride=2,4"));
  engine.play(alone);
  EXPECT_EQ(alone.sentences().back(), "slow: 4 to 8 times the floor");
}

TEST(Sweep, AKernelThatHangsIsNotTriedAgain) {
  Sweep s(spec_of({"bad", "slow"}, "stride=1..3"));
  Played engine;
  int asked = 0;
  while (auto r = s.next()) {
    if (r->header["type"] == "judge" && r->header["kernel"] == "bad") {
      asked++;
      ASSERT_TRUE(s.failed("hung", "no block has finished for 10 s"));
    } else {
      s.took(engine.answer(r->header));
    }
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(s.points()[0].entries[0].status, Status::hung);
  EXPECT_FALSE(s.points()[1].entries[0].status);
  EXPECT_EQ(s.points()[1].entries[0].sentence, "not tried: it hung at stride 1");
  EXPECT_EQ(s.points()[2].entries[1].status, Status::right) << "others go on";
}

TEST(Sweep, AKernelThatCrashesIsTriedThreeTimes) {
  Sweep s(spec_of({"bad"}, "stride=1..6"));
  Played engine;
  int asked = 0;
  while (auto r = s.next()) {
    if (r->header["type"] != "judge") {
      s.took(engine.answer(r->header));
      continue;
    }
    asked++;
    ASSERT_TRUE(s.failed("crashed", "signal 11"));
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(s.sentences(), (std::vector<std::string>{"bad: crashed or hung at 1 to 3; not judged at 4 to 6"}));
}

TEST(Sweep, WhatEndsIt) {
  Sweep s(spec_of({"nobody"}, "stride=1..2"));
  Played engine;
  while (s.next()->header["type"] != "judge") s.took(engine.answer(s.next()->header));
  EXPECT_FALSE(s.failed("bad-input", "kernel nobody is not known"));
  EXPECT_FALSE(s.failed("cancelled", ""));
  // A reference that is not here has no times, and ends nothing.
  ASSERT_TRUE(s.failed("bad-input", "kernel nobody is a reference and no kernel"));
  EXPECT_FALSE(s.next());
  EXPECT_EQ(s.points()[1].entries[0].no_time, "it is not here");
}

// One value that is too large for memory ends itself alone.
TEST(Sweep, WhatDoesNotFitIsOneValue) {
  Sweep s(spec_of({"slow"}, "stride=1..2"));
  Played engine;
  while (auto r = s.next())
    if (r->header["type"] == "judge" && Played::stride(r->header) == 2) {
      ASSERT_TRUE(s.failed("bad-input", "memory 500 GiB is needed"));
    } else {
      s.took(engine.answer(r->header));
    }
  EXPECT_EQ(s.points()[0].entries[0].status, Status::right);
  EXPECT_EQ(s.points()[1].entries[0].status, Status::not_run);
  EXPECT_EQ(s.points()[1].entries[0].sentence, "memory 500 GiB is needed");
  // A device that there is not is none of the model's answers.
  Sweep elsewhere(spec_of({"slow"}, "stride=1"));
  elsewhere.took(engine.answer(elsewhere.next()->header));
  EXPECT_FALSE(elsewhere.failed("bad-input", "device nosuch is not known"));
}

// What is predicted is no time beside those that are measured.
TEST(Sweep, PredictionsGoWhereItMeasures) {
  Sweep s(spec_of({"slow", "quick"}, "stride=1..2"));
  Played engine;
  engine.gpu = true;
  while (s.next()->header["type"] != "judge") s.took(engine.answer(s.next()->header));
  EXPECT_FALSE(s.points()[0].entries[0].ms);
  EXPECT_EQ(s.times_words(), "");
  engine.play(s);
  EXPECT_EQ(s.points()[0].entries[0].source, "measured");
}

TEST(Sweep, LargeProblemsAreAGpusWork) {
  SweepSpec spec = spec_of({"slow"}, "length=10,100000000");
  spec.base.stride = 2;
  Sweep s(spec);
  Played engine;
  engine.play(s);
  EXPECT_EQ(s.points()[0].entries[0].status, Status::right);
  EXPECT_FALSE(s.points()[1].entries[0].status);
  EXPECT_TRUE(holds(s.points()[1].entries[0].sentence, "products are a GPU's work"))
      << s.points()[1].entries[0].sentence;
  EXPECT_EQ(s.sentences()[0], "slow: right at length 10; not judged at 100,000,000");
  spec.verdicts = SweepSpec::Verdicts::all;
  Sweep all(spec);
  engine.play(all);
  EXPECT_EQ(all.points()[1].entries[0].status, Status::right);
  // On a GPU nothing is too large for it.
  spec.verdicts = SweepSpec::Verdicts::automatic;
  Sweep there(spec);
  engine.gpu = true;
  engine.play(there);
  EXPECT_EQ(there.points()[1].entries[0].status, Status::right);
}

TEST(Sweep, EmulatedTimesHaveNeitherFloorNorRivals) {
  SweepSpec spec = spec_of({"slow", "quick"}, "stride=1..2");
  spec.times = SweepSpec::Times::measured;
  Sweep s(spec);
  Played engine;
  engine.play(s);
  EXPECT_EQ(s.points()[0].entries[0].ms, 2.0);
  EXPECT_FALSE(s.points()[0].floor_ms);
  EXPECT_EQ(s.sentences(), (std::vector<std::string>{"slow and quick: right at all 2 values of stride"}));
}

TEST(Sweep, ValuesThatMakeNoProblemAreSaid) {
  Sweep s(spec_of({"slow"}, "groups=1,2,3"));
  Played engine;
  engine.play(s);
  EXPECT_EQ(s.points()[2].refused, "groups 3 must divide in_channels = 2");
  EXPECT_TRUE(s.points()[2].entries.empty());
  EXPECT_EQ(s.points()[1].entries[0].status, Status::right);
  EXPECT_TRUE(holds(s.csv(), "\n3,,,,,,,,,,,,,,groups 3 must divide in_channels = 2\n")) << s.csv();
}

TEST(Sweep, RefusesWhatCannotBeSwept) {
  auto rule = [](const SweepSpec& s) -> std::string {
    try {
      Sweep{s};
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(rule(spec_of({}, "stride=1")), "kernel is missing: name what is swept");
  EXPECT_EQ(rule(spec_of({"S4", "S4"}, "stride=1")), "kernel S4 is given more than once");
  EXPECT_EQ(rule(spec_of({"oracle"}, "stride=1")), "kernel oracle is what all are judged against, and is not timed");
  EXPECT_EQ(rule(spec_of({"S4"}, "groups=3,5")),
            "over groups makes no legal problem: groups 3 must divide in_channels = 2");
  SweepSpec files = spec_of({"S4"}, "stride=1");
  files.inputs.x.kind = InputKind::file, files.inputs.x.file = "x.npy";
  EXPECT_EQ(rule(files), "input x.npy is a file, which has one shape: a sweep draws its inputs");
  EXPECT_EQ(rule(spec_of({"S4"}, "stride=1")), "");
}

TEST(Sweep, IsTheSameWhereverItsAxisStands) {
  SweepSpec a = spec_of({"S4"}, "stride=1..3"), b = a;
  b.base.stride = 3;
  EXPECT_TRUE(same_sweep(a, b));
  b.base.padding = 1;
  EXPECT_FALSE(same_sweep(a, b));
  b = a, a.base.stride = b.base.stride = 3, b.base.output_padding = 1;
  EXPECT_FALSE(same_sweep(a, b)) << "at stride 1 both have none, beyond it not";
  b = a, b.kernels = {"S3"};
  EXPECT_FALSE(same_sweep(a, b));
  b = a, b.axis = axis_from("stride=1..4");
  EXPECT_FALSE(same_sweep(a, b));
}

TEST(Sweep, AsData) {
  Sweep s(spec_of({"S4", "auto"}, "stride=1..2"));
  Played engine;
  engine.play(s);
  const json d = s.document();
  EXPECT_EQ(d["fields"], json({"stride"}));
  EXPECT_EQ(d["values"], json({1, 2}));
  EXPECT_EQ(d["points"][1]["problem"]["stride"], 2);
  EXPECT_EQ(d["points"][1]["entries"][0]["verdict"]["status"], "wrong");
  EXPECT_EQ(d["points"][1]["entries"][0]["verdict"]["max_bound_ratio"], "Infinity");
  EXPECT_TRUE(d["points"][1]["entries"][0]["time"].is_null());
  EXPECT_EQ(d["points"][1]["entries"][0]["time_reason"], "the planner's model knows the rungs alone");
  EXPECT_EQ(d["points"][1]["entries"][1]["ran"], "slow");
  EXPECT_EQ(d["points"][1]["entries"][1]["time"]["median_ms"], 2.0);
  EXPECT_EQ(d["points"][1]["entries"][1]["time"]["source"], "predicted");
  EXPECT_TRUE(holds(s.csv(), "\n2,21,auto,slow,right,0,100,0.1,2,,,predicted,4,0.5,\n")) << s.csv();
}

}  // namespace
}  // namespace convscope
