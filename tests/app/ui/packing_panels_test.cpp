// Times with weights packed before, on a GPU of fakes and from recordings: the panels Timing and Compare.
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "app/ui/theme.h"
#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::Setting;

// How far the last frame has this colour with this transparency, from left to right; 0: nowhere.
float width_of(ImU32 colour) {
  float left = FLT_MAX, right = -FLT_MAX;
  for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
    for (const ImDrawVert& v : list->VtxBuffer)
      if (v.col == colour) left = std::min(left, v.pos.x), right = std::max(right, v.pos.x);
  return std::max(0.0f, right - left);
}

// Launches take 50 µs, those that pack 20.
class PackingPanels : public ::testing::Test {
 protected:
  void SetUp() override {
    auto fakes = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
    if (!std::filesystem::exists(fakes + "/libfake_cuda.so")) GTEST_SKIP() << "this build has no GPU side";
    for (const auto& [name, value] : {std::pair("CONVSCOPE_LIBCUDA", fakes + "/libfake_cuda.so"),
                                      {"CONVSCOPE_LIBCUPTI", fakes + "/whole/libcupti.so.13"},
                                      {"CONVSCOPE_LIBNVML", fakes + "/libfake_nvml.so"},
                                      {"CONVSCOPE_LIBCUDNN", "/nowhere"},
                                      {"FAKE_CUDA_KERNEL_US", "50"},
                                      {"FAKE_CUDA_PACK_US", "20"}})
      set_.push_back(std::make_unique<Setting>(name, value));
  }
  static std::unique_ptr<test::AppOnScreen> run(const char* kernel) {
    Document d = test::quick_document(64, kernel);
    d.device = "cuda";
    auto a = std::make_unique<test::AppOnScreen>("", d);
    EXPECT_TRUE(a->screen.settle(**a));
    return a;
  }
  std::vector<std::unique_ptr<Setting>> set_;
};

TEST_F(PackingPanels, TimingShowsBothWays) {
  auto a = run("registers");
  ASSERT_TRUE((*a)->bench().runs().report()->timing.packed.median_ms)
      << (*a)->bench().runs().report()->timing.packed.reason;
  std::string text = a->said("Timing");
  for (const char* said : {"70.0 µs median, packing included", "weights packed before | 50.0 µs",
                           "packed before, cold | 50.0 µs", "packing | 20.0 µs"})
    EXPECT_TRUE(test::holds(text, said)) << said << "\n" << text;
  // The lighter end of its bar: the whole of it shows what is dark and what is light.
  const ImVec4 colour = (*a)->theme().kernel;
  const float light = width_of(packed(colour, 0.4f));
  ASSERT_GT(light, 100);
  // One that packs nothing has neither row nor lighter end.
  a.reset();
  a = run("direct");
  text = a->said("Timing");
  EXPECT_FALSE(test::holds(text, "packed before") || test::holds(text, "packing")) << text;
  EXPECT_EQ(width_of(packed(colour, 0.4f)), 0);
}

TEST_F(PackingPanels, TimingSaysWhyThereIsNone) {
  Setting hoarded("FAKE_CUDA_WORK", "hoarded");
  auto a = run("registers");
  std::string text = a->said("Timing");
  EXPECT_TRUE(test::holds(text,
                          "no time with weights packed before: without the launches that pack its results do not "
                          "follow the input"))
      << text;
  EXPECT_FALSE(test::holds(text, "50.0 µs")) << text;
}

TEST_F(PackingPanels, CompareIsAboutPackedWeights) {
  auto a = run("registers");
  (*a)->bench().measuring().want_comparison((*a)->document(), "direct");
  ASSERT_TRUE(a->screen.until(
      **a,
      [&] { return (*a)->bench().comparison_of((*a)->document(), "direct") && !(*a)->bench().measuring().waits(); },
      60));
  std::string text = a->said("Compare");
  for (const char* said : {"take the same time, weights packed before", "with packing in every call, SLOWER", "70.0 µs",
                           "weights packed", "Packing of weights"})
    EXPECT_TRUE(test::holds(text, said)) << said << "\n" << text;
}

// The list of kernels has the times of those that ran on this problem, and how far each is from the fastest.
TEST_F(PackingPanels, KernelsStandBesideTheFastest) {
  auto a = run("registers");
  (*a)->execute({SetKernel{"direct"}, 0});
  ASSERT_TRUE(a->screen.settle(**a));
  const std::string text = a->said("Kernels"), gpu = (*a)->bench().runs().report()->device_name;
  for (const std::string& said : {"hot times, measured: " + gpu, std::string("50.0 µs"), std::string("70.0 µs")})
    EXPECT_TRUE(test::holds(text, said)) << said << "\n" << text;
  const float whole = width_of(packed((*a)->theme().dim, 0.25f)), bar = width_of(packed((*a)->theme().accent, 0.75f));
  ASSERT_GT(whole, 30);
  // Logarithmic, a decade from just below the fastest (50/1.25) on: the longer the slower.
  EXPECT_NEAR(bar / whole, std::log10(70 / 40.0), 0.02) << "of registers beside direct";
  // One that ran on another problem has none there.
  ConvProblem p = (*a)->document().problem;
  p.length++;
  (*a)->execute({SetProblem{p}, 0});
  ASSERT_TRUE(a->screen.settle(**a));
  EXPECT_TRUE(test::holds(a->said("Kernels"), "50.0 µs")) << a->said("Kernels");
  EXPECT_FALSE(test::holds(a->said("Kernels"), "70.0 µs")) << a->said("Kernels");
  EXPECT_EQ(width_of(packed((*a)->theme().accent, 0.75f)), 0) << "there is nothing to stand beside";
}

TEST(PackingOfRecordings, WasNotRecorded) {
  test::AppOnScreen a(test::full_engine(), test::quick_document(), false);
  ASSERT_TRUE(a.screen.settle(*a));
  a->open(test::project_file("tests/data/recordings/before-packing.convscope"));
  ASSERT_TRUE(a.screen.settle(*a));
  a->execute({SetKernel{"registers"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_TRUE(test::holds(a.said("Timing"), "weights packed before | not recorded")) << a.said("Timing");
  a->execute({SetKernel{"tiled"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_FALSE(test::holds(a.said("Timing"), "packed before")) << "one launch packs nothing";
}

}  // namespace
}  // namespace convscope::ui
