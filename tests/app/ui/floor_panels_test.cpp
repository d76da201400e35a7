// The same floor in every panel, times that say whether packing is in them, and a text that has the room of its panel.
#include <gtest/gtest.h>
#include <memory>

#include "app/model/floor.h"
#include "app/model/ladder.h"
#include "app/ui/panels/map_classes.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

class RecordedLayer : public testing::Test {
 protected:
  void show(const std::string& kernel, Accuracy accuracy) {
    if (!a_) {
      a_ = std::make_unique<test::AppOnScreen>(test::full_engine(), test::quick_document(), false);
      ASSERT_TRUE(a_->open_recording("h200-kernelbench-79"));
    }
    Document d = (*a_)->document();
    d.kernel = kernel, d.accuracy = accuracy;
    (*a_)->execute({ReplaceDocument{d, ""}, 0});
    ASSERT_TRUE(a_->screen.settle(**a_));
  }
  void expect(const char* panel, std::initializer_list<std::string> all, bool said = true) {
    const std::string text = a_->said(panel);
    for (const auto& words : all) EXPECT_EQ(test::holds(text, words), said) << words << "\n" << text;
  }
  std::unique_ptr<test::AppOnScreen> a_;
};

TEST_F(RecordedLayer, HasOneFloorInEveryPanel) {
  show("polyphase", Accuracy::strict);  // whose run was before ceilings were measured
  const auto floor = floor_of((*a_)->bench(), (*a_)->document(), *(*a_)->bench().report_of((*a_)->document()));
  ASSERT_TRUE(floor);
  const std::string time = time_text(floor->ms);
  expect("Ladder", {"floor " + time, "97.6 times the floor"});
  expect("Timing", {"floor (operations at " + floor->rate + ") | " + time});
  expect("Timing", {"385 µs"}, false);  // of the data sheet, as the run itself had it
  expect("Roofline", {floor->rate, "of its roof"});
  // A strict library or kernel beside one that may use TF32 stands over the same floor.
  show("hopper_tf32", Accuracy::tf32);
  expect("Compare", {"Floor | 314 µs | 314 µs"});
}

TEST_F(RecordedLayer, SaysAtEachTimeWhetherPackingIsInIt) {
  show("hopper_tf32", Accuracy::tf32);
  expect("Ladder", {"+p packing included"});
  expect("Ladder", {"+p?"}, false);  // older recordings as well: what packs is among the launches by its name
  expect("Compare", {"hot, weights packed before, FASTER", "cold, weights packed before, FASTER",
                     "with packing in every call, FASTER"});
}

// Where a recording is from stands once at the head of a panel, with what goes back beside it.
TEST_F(RecordedLayer, SaysOnceWhereItIsFrom) {
  show("hopper_tf32", Accuracy::tf32);
  const std::string text = a_->said("Timing");
  const size_t first = text.find("recorded: NVIDIA H200"), second = text.find("recorded: NVIDIA H200", first + 1);
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(second, std::string::npos) << text;
}

// On a bright value a tint is hardly seen: the classes stand at the edge of a map in the colours of the legend.
TEST(ClassesOfAMap, HaveTheColoursOfTheLegend) {
  Document d = test::quick_document(20, "direct");
  d.problem.stride = 2, d.problem.kernel_size = 4;
  test::AppOnScreen a("", d);
  ASSERT_TRUE(a.screen.settle(*a));
  a->show_only("Maps");
  a.screen.frames(*a, 4);
  auto in_colour = [&](int64_t j) {
    int n = 0;
    for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
      for (const ImDrawVert& v : list->VtxBuffer) n += v.col == packed(class_tint(a->document().problem, j));
    return n;
  };
  EXPECT_EQ(in_colour(4) + in_colour(5), 0);
  a.screen.press(*a, ImGuiKey_C);
  a.screen.frames(*a, 4);
  EXPECT_GT(in_colour(4), 0);
  EXPECT_GT(in_colour(5), 0);
}

// What the emulator cannot count stands in a line and not in a row each.
TEST(CountersOfTheEmulator, NameWhatOnlyAGpuCounts) {
  test::AppOnScreen a("", test::quick_document(64, "direct"));
  ASSERT_TRUE(a.screen.settle(*a));
  a->apply(RunAction{"profile"});
  ASSERT_TRUE(a.screen.until(
      *a, [&] { return a->bench().measuring().profile() && !a->bench().measuring().waits(); }, 60));
  const std::string text = a.said("Counters");
  EXPECT_TRUE(test::holds(text, "Kernel time · Memory busy · ")) << text;
  EXPECT_TRUE(test::holds(text, "Useful arithmetic: only a GPU counts it")) << text;
  EXPECT_FALSE(test::holds(text, "| –")) << text;
}

// A panel of the usual width is the text's; instructions come when they are asked for, or where there is room for both.
TEST(SourcePanel, LeavesTheRoomToTheText) {
  test::AppOnScreen a("", test::quick_document(64, "direct"));
  ASSERT_TRUE(a.screen.settle(*a));
  auto beside = [&](float width) {
    a.screen.resize(width, 800);
    a->show_only("Source");
    a.screen.frames(*a, 4);
    const ImGuiWindow* source = ImGui::FindWindowByName("Source");
    for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
      if (w->ParentWindow == source && w->Active && std::string(w->Name).find("instructions") != std::string::npos)
        return true;
    return false;
  };
  a->show_only("Source");
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().sources().of("direct") != nullptr; }));
  EXPECT_FALSE(beside(900));
  EXPECT_TRUE(beside(2000));
  EXPECT_FALSE(beside(900));
}

}  // namespace
}  // namespace convscope::ui
