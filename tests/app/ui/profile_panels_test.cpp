// Panels of a profile's figures: that they come by themselves, what colour says, labels of axes, and the clocks.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"
#include "profiling/metrics/metrics.h"
#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"
#include "tests/fakes/setting.h"

namespace convscope::ui {
namespace {

using test::holds;
using test::Setting;

// How often the last frame has this colour, whatever its transparency.
int vertices_of(const ImVec4& colour) {
  const ImU32 mask = IM_COL32(255, 255, 255, 0), wanted = packed(colour) & mask;
  int n = 0;
  for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
    for (const ImDrawVert& v : list->VtxBuffer) n += (v.col & mask) == wanted;
  return n;
}

// How often it has it half transparent, as no text has.
int shaded_in(const ImVec4& colour) {
  const ImU32 mask = IM_COL32(255, 255, 255, 0), wanted = packed(colour) & mask;
  int n = 0;
  for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
    for (const ImDrawVert& v : list->VtxBuffer) n += (v.col & mask) == wanted && v.col >> IM_COL32_A_SHIFT < 128;
  return n;
}

// A GPU of fakes; skipped where the build has none.
class ProfilePanels : public ::testing::Test {
 protected:
  void SetUp() override {
    fakes_ = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
    if (!std::filesystem::exists(fakes_ + "/libfake_cuda.so") ||
        !std::filesystem::exists(fakes_ + "/whole/libcupti.so.13"))
      GTEST_SKIP() << "this build has no GPU side";
    set("CONVSCOPE_LIBCUDA", fakes_ + "/libfake_cuda.so");
    set("CONVSCOPE_LIBCUPTI", fakes_ + "/whole/libcupti.so.13");
    set("CONVSCOPE_LIBNVML", fakes_ + "/libfake_nvml.so");
    set("CONVSCOPE_LIBCUDNN", "/nowhere");
    set("FAKE_CUPTI_KERNELS", "direct_f32");
    set("FAKE_CUDA_KERNEL_US", "50");
  }
  void set(const char* name, const std::string& value) { set_.push_back(std::make_unique<Setting>(name, value)); }
  // On the fake GPU, profiled; shown: the panel alone.
  std::unique_ptr<test::AppOnScreen> profiled(const char* panel) {
    Document d = test::quick_document(64, "direct");
    d.device = "cuda";
    auto a = std::make_unique<test::AppOnScreen>("", d);
    (*a)->show_only(panel);
    EXPECT_TRUE(a->screen.until(
        **a, [&] { return (*a)->bench().profile_of((*a)->document()) && !(*a)->bench().measuring().waits(); }, 60));
    EXPECT_TRUE(a->screen.settle(**a));
    return a;
  }
  std::string fakes_;
  std::vector<std::unique_ptr<Setting>> set_;
};

// ---- shades and labels ----------------------------------------------------------------------------------------------

// By the engine's own words for them.
TEST(Shades, EachHasItsColour) {
  const Theme t = dark_theme();
  auto same = [](const ImVec4& a, const ImVec4& b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  EXPECT_TRUE(same(shade_colour(t, name_of(Shade::good)), t.right));
  EXPECT_TRUE(same(shade_colour(t, name_of(Shade::fair)), t.warning));
  EXPECT_TRUE(same(shade_colour(t, name_of(Shade::bad)), t.wrong));
  EXPECT_TRUE(same(shade_colour(t, name_of(Shade::unknown)), t.text));
}

TEST_F(ProfilePanels, ABadFigureIsRed) {
  auto a = profiled("Counters");
  auto p = (*a)->bench().measuring().profile();
  ASSERT_TRUE(std::any_of(p->headlines.begin(), p->headlines.end(), [](const auto& h) { return h.shade == "bad"; }));
  a->screen.frames(**a, 2);
  EXPECT_GT(vertices_of((*a)->theme().wrong), 0);
}

// ImPlot reads a label up to its 0, and hands out memory with what was there before.
TEST(AxisLabels, EndWhereTheyEnd) {
  for (int size : {1, 2, 4, 16, 64}) {
    std::string memory(64, 'x');
    const int n = plots::label_in_us(0.0123, memory.data(), size, nullptr);
    EXPECT_EQ(n, std::min(size - 1, 4)) << size;
    EXPECT_EQ(std::string(memory.c_str()), std::string("12.3").substr(0, static_cast<size_t>(n))) << size;
    EXPECT_EQ(memory.substr(static_cast<size_t>(size)), std::string(64 - static_cast<size_t>(size), 'x')) << size;
  }
  char none = 'x';
  EXPECT_EQ(plots::write_label(&none, 0, "y"), 0);
  EXPECT_EQ(none, 'x');
}

// ---- profiles that come by themselves -------------------------------------------------------------------------------

class FollowsWithProfile : public ::testing::TestWithParam<const char*> {};

// Whichever panel of its figures is alone on the screen: another stride, and they are those of that one.
TEST_P(FollowsWithProfile, OnEachPanelThatShowsIts) {
  test::AppOnScreen a("", test::quick_document(64, "tiled"));
  a->show_only(GetParam());
  auto here = [&] { return a->bench().profile_of(a->document()) && !a->bench().measuring().waits(); };
  ASSERT_TRUE(a.screen.until(*a, here, 60)) << "the first one";
  auto requests = [&] {
    for (const auto& v : a->bench().profile_of(a->document())->values)
      if (v.name == "load_requests") return v.value;
    return 0.0;
  };
  const double before = requests();
  ConvProblem p = a->document().problem;
  p.stride += 2;
  a->execute({SetProblem{p}, 0});
  ASSERT_FALSE(a->bench().profile_of(a->document())) << "that would be another problem's";
  ASSERT_TRUE(a.screen.until(*a, here, 60)) << "that of the new stride";
  if (before > 0) {
    EXPECT_NE(requests(), before);
  }
  // Once: what is there is not asked for again.
  const size_t had = a->bench().measuring().trail().size();
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.frames(*a, 30);
  EXPECT_FALSE(a->bench().measuring().waits());
  EXPECT_EQ(a->bench().measuring().trail().size(), had);
  // Not while the window is not live.
  a->apply(RunAction{"live"});
  p.stride += 1;
  a->execute({SetProblem{p}, 0});
  a->apply(RunAction{"run"});
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.frames(*a, 10);
  EXPECT_FALSE(a->bench().measuring().waits());
  EXPECT_FALSE(a->bench().profile_of(a->document()));
}

INSTANTIATE_TEST_SUITE_P(Panels, FollowsWithProfile, ::testing::Values("Counters", "Source", "Occupancy", "Roofline"),
                         [](const auto& info) { return std::string(info.param); });

// ---- clocks ---------------------------------------------------------------------------------------------------------

TEST_F(ProfilePanels, TimingHasTheClocksOverTime) {
  auto a = profiled("Timing");
  ASSERT_FALSE((*a)->bench().runs().report()->conditions.over_time.empty());
  std::string text = a->said("Timing");
  for (const char* said : {"Clocks while it was timed", "SM 1980 MHz (limit 1980)", "322 W (limit 700)",
                           "One call by three clocks", "its kernels alone, CUPTI", "seen from the host"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
  EXPECT_FALSE(holds(text, "slowed itself down"));
  EXPECT_EQ(vertices_of((*a)->theme().warning), 0) << "nothing was held back";
  // Somewhere over the strip is what one reading told.
  a->screen.resize(1600, 1800);
  bool hovered = false;
  for (float y = 100; y < 1790 && !hovered; y += 25) {
    a->screen.mouse(800, y);
    a->screen.frames(**a, 2);
    const std::string now = a->screen.text(**a);
    hovered = holds(now, "after it began") && holds(now, "SM clock 1980 MHz") && holds(now, "322 W") &&
              holds(now, "41 °C") && holds(now, "measured by NVML");
  }
  EXPECT_TRUE(hovered);
}

TEST_F(ProfilePanels, AStretchThatWasHeldBackIsMarked) {
  set("FAKE_NVML_THROTTLE", "0x4");
  auto a = profiled("Timing");
  a->screen.resize(1600, 2400);  // all of the panel is in sight
  std::string text = a->said("Timing");
  EXPECT_TRUE(holds(text, "the GPU slowed itself down in 100 % of the readings (power limit)")) << text;
  EXPECT_GE(shaded_in((*a)->theme().warning), 4) << "a rectangle";
}

// Two looks in the middle: those are marked, and no others.
TEST_F(ProfilePanels, OnlyWhereItWasHeldBackIsMarked) {
  set("FAKE_NVML_SERIES", "1980:0,1980:0,1410:4,1605:4,1980:0");
  set("FAKE_CUDA_NAP_US", "5000");  // a look each 20 ms
  Document d = test::quick_document(64, "direct");
  d.device = "cuda";
  test::AppOnScreen a("", d);
  ASSERT_TRUE(a.screen.settle(*a));
  const auto& over_time = a->bench().runs().report()->conditions.over_time;
  ASSERT_GE(over_time.size(), 5u) << "timing was over before";
  EXPECT_EQ(over_time[2].sm_mhz, 1410);
  a.screen.resize(1600, 2400);  // all of the panel is in sight, however much stands above the plot
  std::string text = a.said("Timing");
  EXPECT_TRUE(holds(text, "SM 1410 to 1980 MHz (limit 1980)")) << text;
  EXPECT_TRUE(holds(text, "its clock moved between 1410 and 1980 MHz")) << text;
  // Shaded from the third look to the fifth, in the place of the plot's width that these have. The plot is nearly as
  // wide as the screen; what other plots draw may lie far beside it, where nothing is seen of it.
  float left = FLT_MAX, right = 0;
  const ImU32 mask = IM_COL32(255, 255, 255, 0), shade = packed(a->theme().warning) & mask;
  // Half transparent: the edge of a mark has no opacity at all, and a text all of it.
  auto is_shade = [&](ImU32 c) {
    const ImU32 alpha = c >> IM_COL32_A_SHIFT;
    return (c & mask) == shade && alpha > 0 && alpha < 128;
  };
  for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
    for (const ImDrawVert& v : list->VtxBuffer)
      if (is_shade(v.col)) left = std::min(left, v.pos.x), right = std::max(right, v.pos.x);
  ASSERT_LT(left, right) << "nothing is shaded";
  const double all = over_time.back().t_ms;
  const double part = (over_time[4].t_ms - over_time[2].t_ms) / all;
  EXPECT_NEAR((right - left) / ImGui::GetIO().DisplaySize.x, part, 0.35 * part);
}

// Events say 90 µs a call, the records 50.
TEST_F(ProfilePanels, ClocksThatDoNotAgreeAreSaid) {
  set("FAKE_CUDA_KERNEL_US", "90");
  auto a = profiled("Timing");
  std::string text = a->said("Timing");
  for (const char* said : {"90.0 µs", "50.0 µs", "kernels ran for 50.0 µs of the 90.0 µs of a call"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
}

TEST_F(ProfilePanels, WithoutRecordsAndClocksTheReasonsAreThere) {
  set("CONVSCOPE_LIBCUPTI", "/nowhere/libcupti.so.13");
  set("CONVSCOPE_LIBNVML", "/nowhere/libnvidia-ml.so.1");
  auto a = profiled("Timing");
  std::string text = a->said("Timing");
  for (const char* said : {"no kernel records and no hardware counters", "install CUPTI",
                           "clocks, temperature and power are unknown", "comes with the NVIDIA driver"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
}

TEST(TimingPanel, OnTheEmulatorThereAreNoClocks) {
  test::AppOnScreen a("", test::quick_document(64, "direct"));
  ASSERT_TRUE(a.screen.settle(*a));
  std::string text = a.said("Timing");
  EXPECT_TRUE(holds(text, "clocks, temperature and power are a GPU's, and none is used")) << text;
  EXPECT_FALSE(holds(text, "One call by three clocks"));
}

// A recording of before has ranges, and a CUPTI time beside the events'.
TEST(TimingPanel, ARecordingOfBeforeHasRanges) {
  test::AppOnScreen a(test::full_engine(), test::quick_document(), false);
  ASSERT_TRUE(a.open_recording("h200-kernelbench-74"));
  std::string text = a.said("Timing");
  for (const char* said : {"MHz (limit 1980)", "ranges only: how they changed over time was not kept",
                           "its kernels alone, CUPTI", "seen from the host"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
  EXPECT_FALSE(holds(text, "N/A"));
}

}  // namespace
}  // namespace convscope::ui
