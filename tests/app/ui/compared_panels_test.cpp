// Roofline, Compare, Occupancy and the heat beside the source: what they say of a shipped recording, and of kernels
// that ran one after the other on a GPU of fakes.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

#include "app/model/recorded.h"
#include "app/model/roof.h"
#include "app/model/sampled_code.h"
#include "app/ui/panel.h"
#include "kernels/problem/presets.h"
#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"
#include "tests/fakes/setting.h"

namespace convscope::ui {
namespace {

class ComparedPanels : public testing::Test {
 protected:
  void open(const std::string& recording, const std::string& kernel, Accuracy accuracy) {
    a_ = std::make_unique<test::AppOnScreen>(test::full_engine(), test::quick_document(), false);
    ASSERT_TRUE(a_->screen.settle(**a_));
    (*a_)->open(test::project_file("assets/recordings/" + recording + ".convscope"));
    show(kernel, accuracy);
  }
  void show(const std::string& kernel, Accuracy accuracy) {
    Document d = (*a_)->document();
    d.kernel = kernel, d.accuracy = accuracy;
    (*a_)->execute({ReplaceDocument{d, ""}, 0});
    ASSERT_TRUE(a_->screen.settle(**a_));
    ASSERT_TRUE((*a_)->bench().shows_recorded((*a_)->document()));
  }
  std::string said(const char* panel) { return a_->said(panel); }
  void expect_said(const char* panel, std::initializer_list<const char*> all) {
    const std::string text = said(panel);
    for (const char* words : all) EXPECT_TRUE(test::holds(text, words)) << words << "\n" << text;
  }
  std::unique_ptr<test::AppOnScreen> a_;
};

TEST_F(ComparedPanels, RooflineOfARecording) {
  open("h200-kernelbench-79", "hopper_tf32", Accuracy::tf32);
  expect_said("Roofline",
              {"limited by memory", "this kernel, hot", "cold", "by bytes of DRAM", "by bytes of L2", "references",
               "the ladder up to this rung, by bytes of DRAM", "hopper_tf32 cold, least bytes",
               "cudnn-tf32 hot, bytes of DRAM", "% of what the roof allows", "roof: NVIDIA H200, recorded"});
  EXPECT_FALSE(test::holds(said("Roofline"), "an earlier profile"));
  // A strict kernel's roof is not that of the tensor cores.
  show("registers", Accuracy::strict);
  expect_said("Roofline", {"limited by arithmetic (f32)"});
}

// A ceiling is not without a name: where the plot has no room for it, the legend has. (What is in the plot is drawn,
// and no text that could be found here.)
TEST_F(ComparedPanels, CeilingsWithoutRoomStandInTheLegend) {
  open("h200-dac.d3", "hopper_1xf16", Accuracy::tf32);
  EXPECT_FALSE(test::holds(said("Roofline"), "f32 65.3 TFLOP/s"));
  a_->screen.resize(300, 430);
  expect_said("Roofline", {"f32 65.3 TFLOP/s", "memory 4.27 TB/s"});
}

TEST_F(ComparedPanels, OccupancyOpensOnTheMainLaunch) {
  open("h200-kernelbench-79", "hopper_tf32", Accuracy::tf32);
  expect_said("Occupancy", {"launch 2: hopper_64_3_s2_blocks", "18.75 % theoretical", "15.5 % achieved",
                            "sm_90 (Hopper)", "NVIDIA H200, recorded", "waves | 1.00"});
  // Another kernel, its own main launch.
  show("registers", Accuracy::strict);
  expect_said("Occupancy", {"launch 2: registers_f32"});
}

TEST_F(ComparedPanels, CompareHasEveryFigureWithItsVerdict) {
  open("h200-kernelbench-79", "hopper_tf32", Accuracy::tf32);
  expect_said("Compare",
              {"difference", "ratio", "first is", "Median, hot", "better", "worse", "neutral", "What limits", "Memory",
               "Instructions", "What warps wait for", "Launch", "Clocks and power", "hopper_64_3_s2_blocks", "SM clock",
               "Local memory a thread", "the L2 cache is 84 % busy with 1.63 times the least bytes, the memory 79 %",
               "each of a measurement of its own", "data from global or local memory (warps)"});
  EXPECT_FALSE(test::holds(said("Compare"), "0.00×"));
  EXPECT_FALSE(test::holds(said("Compare"), "dram busy")) << "a counter that a headline shows";
}

// A recording has several times of one kernel: each says of which measurement it is, and each floor by which rate.
TEST_F(ComparedPanels, TimesSayWhichTheyAre) {
  open("h200-kernelbench-74", "hopper_tf32", Accuracy::tf32);
  expect_said("Timing", {"515 µs median", "hot, of the run", "floor (bytes at 4.27 TB/s) | 377 µs",
                         "515 µs the run (17 samples), 501 µs the profile, 456 µs the comparison (30 rounds",
                         "13 % apart", "its kernels alone in one recorded call 483 µs", "cold (L2 cache flushed)"});
  expect_said("Timeline",
              {"kernels ran for 464 µs of the 634 µs", "mean while kernels ran 99", "in a call of its own"});
  expect_said("Roofline", {"cudnn hot, least bytes | 4.29 ms | 53.33 | 20.0 TFLOP/s | 30.7 %"});
}

// A kernel that was profiled after it was judged has two times: which of them the ladder has is said beside the other.
TEST_F(ComparedPanels, TheOtherTimeIsNamed) {
  open("h200-kernelbench-79", "mma_tf32", Accuracy::tf32);
  expect_said("Timing", {"2.29 ms median", "The Ladder has 1.18 ms: the profile of 2026-11-24, which is newer"});
  expect_said("Ladder", {"mma_tf32 takes 1.18 ms", "the newest of each"});
  // Where both have the same there is nothing to say.
  show("hopper_tf32", Accuracy::tf32);
  expect_said("Timing", {"356 µs median"});
  EXPECT_FALSE(test::holds(said("Timing"), "The Ladder has"));
}

// Why there are no samples of warps, and where there are some.
TEST_F(ComparedPanels, SourceSaysWhatIsNotRecorded) {
  open("h200-kernelbench-74", "hopper_tf32", Accuracy::tf32);
  (*a_)->show_only("Source");
  ASSERT_TRUE(a_->screen.until(**a_, [&] { return (*a_)->bench().sources().of("hopper_tf32") != nullptr; }));
  ASSERT_TRUE(a_->screen.until(**a_, [&] { return recordings_with_samples() != nullptr; }));
  const std::vector<std::string>& some = *recordings_with_samples();  // more may come with new recordings
  for (const char* name : {"h200-dac.d3", "h200-demucs.d", "h200-encodec.d3", "h200-hifigan.u2", "h200-kernelbench-79"})
    EXPECT_TRUE(std::find(some.begin(), some.end(), name) != some.end()) << name;
  EXPECT_TRUE(std::find(some.begin(), some.end(), "h200-kernelbench-74") == some.end());
  EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
  expect_said("Source", {"no samples of warps: ", "recordings that have some: h200-dac.d3, h200-dac.d3-f16"});
  // Where there is less room it takes no more of it: the text's lines are what one came for.
  a_->screen.resize(560, 500);
  const std::string text = a_->said("Source");
  EXPECT_TRUE(test::holds(text, "no samples of warps: ") && test::holds(text, "…")) << text;
  EXPECT_FALSE(test::holds(text, some.back().c_str())) << text;
}

// Samples of a recording are of another build: that is said beside them.
TEST_F(ComparedPanels, RecordedSamplesSayOfWhichBuildTheyAre) {
  open("h200-hifigan.u2", "columns_tf32", Accuracy::tf32);
  (*a_)->show_only("Source");
  ASSERT_TRUE(a_->screen.until(**a_, [&] { return (*a_)->bench().sources().of("columns_tf32") != nullptr; }));
  ASSERT_TRUE(a_->screen.until(**a_, [&] {
    return (*a_)->bench().sources().machine_code() && !(*a_)->bench().sources().machine_code_waiting();
  }));
  ASSERT_TRUE(a_->screen.settle(**a_));
  const Profile* p = (*a_)->bench().profile_of((*a_)->document());
  ASSERT_TRUE(p && p->samples.samples > 0);
  const SampledCode s = sampled_code(*p, (*a_)->bench().sources().machine_code());
  const std::string text = said("Source");
  EXPECT_EQ(test::holds(text, "samples are of the recorded build"), !s.words.empty()) << s.words << text;
  // Of another build they are said to be.
  Profile other = *p;
  for (auto& one : other.samples.functions) one.code_hash = "another";
  EXPECT_TRUE(test::holds(sampled_code(other, (*a_)->bench().sources().machine_code()).words, "recorded build"));
  // Without the instructions there is nothing to tell it by.
  EXPECT_TRUE(test::holds(sampled_code(*p, nullptr).words, "lines may have moved"));
}

// The strip of the clocks draws the run's; what the profile's were is said where they are not the same.
TEST_F(ComparedPanels, AProfileThatWasHeldBackIsNotSilent) {
  const std::string held = "the GPU slowed itself down in 40 % of the readings (power limit)";
  auto said_with = [&](bool run_too) {
    a_.reset();  // there is one window at a time
    open("h200-kernelbench-79", "hopper_tf32", Accuracy::tf32);
    Recording r = read_recording(test::project_file("assets/recordings/h200-kernelbench-79.convscope"));
    nlohmann::json of_profile;
    for (auto& a : r.answers)
      if (a.type() == "profile" && a.asked.kernel == "hopper_tf32") {
        a.answer["conditions"]["warnings"] = {held}, a.answer["warnings"] = {held};
        of_profile = a.answer["conditions"];
      }
    for (auto& a : r.answers)
      if (a.type() == "run" && a.asked.kernel == "hopper_tf32") {
        a.answer["conditions"] = of_profile;
        if (!run_too) a.answer["conditions"]["warnings"] = nlohmann::json::array();
      }
    (*a_)->bench().open_recording(std::make_shared<Recording>(std::move(r)));
    show("hopper_tf32", Accuracy::tf32);
    return said("Timing");
  };
  std::string text = said_with(false);
  EXPECT_TRUE(test::holds(text, "while it was profiled " + held)) << text;
  text = said_with(true);
  EXPECT_TRUE(test::holds(text, held)) << text;
  EXPECT_FALSE(test::holds(text, "while it was profiled " + held)) << "it stands with the strip: " << text;
}

// ---- the history of this window, on a GPU of fakes -----------------------------------------------------------------

TEST(RoofTrail, JoinsProfilesOfOneProblemInOrder) {
  auto fakes = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
  if (!std::filesystem::exists(fakes + "/libfake_cuda.so") || !std::filesystem::exists(fakes + "/whole/libcupti.so.13"))
    GTEST_SKIP() << "this build has no GPU side";
  test::Setting cuda("CONVSCOPE_LIBCUDA", fakes + "/libfake_cuda.so"),
      cupti("CONVSCOPE_LIBCUPTI", fakes + "/whole/libcupti.so.13"),
      nvml("CONVSCOPE_LIBNVML", fakes + "/libfake_nvml.so"), cudnn("CONVSCOPE_LIBCUDNN", "/nowhere"),
      us("FAKE_CUDA_KERNEL_US", "50"),
      values("FAKE_CUPTI_VALUES", "dram__bytes_read.sum:1600000,dram__bytes_write.sum:1600000");
  Document d = test::quick_document(64, "direct");
  d.device = "cuda";
  test::AppOnScreen a("", d, false);
  auto profiled = [&](const std::string& kernel, int64_t length) {
    d.kernel = kernel, d.problem.length = length;
    a->execute({ReplaceDocument{d, ""}, 0});
    a->run();
    ASSERT_TRUE(a.screen.settle(*a));
    a->apply(RunAction{"profile"});
    ASSERT_TRUE(a.screen.until(
        *a, [&] { return a->bench().profile_of(d) && !a->bench().measuring().waits(); }, 60))
        << a->bench().measuring().trouble();
    ASSERT_TRUE(a.screen.settle(*a));
  };
  auto points = [&] { return roof_points(a->bench(), d, *a->bench().report_of(d)); };
  profiled("direct", 64);
  RoofPoints all = points();
  ASSERT_TRUE(all.own);
  EXPECT_TRUE(all.trail.empty()) << "one is no trail";
  for (const auto& p : all.points)
    EXPECT_NE(p.of, RoofPoint::Of::earlier) << "the profile of what is shown is not an earlier one";
  profiled("polyphase", 64);
  profiled("direct", 80);
  EXPECT_TRUE(points().trail.empty()) << "of another problem";
  profiled("tiled", 64);
  all = points();
  std::vector<std::string> names;
  for (size_t i : all.trail) names.push_back(all.points[i].name);
  EXPECT_EQ(names, (std::vector<std::string>{"direct", "polyphase", "tiled"}));
  EXPECT_EQ(all.points[all.trail[0]].of, RoofPoint::Of::earlier);
  EXPECT_EQ(all.points[all.trail[2]].of, RoofPoint::Of::kernel) << "which is not drawn twice";
  for (size_t i : all.trail) EXPECT_EQ(all.points[i].bytes, RoofPoint::Bytes::dram) << "all have them";
  EXPECT_NE(all.trail_words.find("earlier profiles of this problem, in order"), std::string::npos);
  profiled("S4", 64);
  EXPECT_TRUE(points().trail.empty()) << "a specimen is of another family";
  a->show_only("Roofline");
  a.screen.frames(*a, 3);
}

}  // namespace
}  // namespace convscope::ui
