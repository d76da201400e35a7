// Where panels lie at first, at the sizes of a screen, a laptop and a projector; numbers at a failing element.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "app/ui/panels/map_view.h"
#include "app/ui/panels/source_place.h"
#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"

namespace convscope::ui {
namespace {

struct Size {
  float width, height;
};

Document wrong() {
  Document d = test::quick_document(600, "S4");
  d.problem.dilation = 2, d.problem.out_channels = 32;
  return d;
}

bool in_sight(const char* panel) {
  ImGuiWindow* w = ImGui::FindWindowByName(panel);
  return w && w->WasActive && !w->Hidden && (!w->DockIsActive || w->DockTabIsVisible);
}

TEST(Layout, TabsHaveRoomForTheirNames) {
  for (bool presenter : {false, true})
    for (Size size : {Size{1600, 1000}, {1920, 1080}, {1280, 720}}) {
      test::AppOnScreen a(test::silent_engine);
      a.screen.resize(size.width, size.height);
      if (presenter) a->toggle_presenter();
      a.screen.frames(*a, 8);
      // A laptop's screen is less than the usual layout asks for.
      if (!presenter && size.width < 1600) continue;
      int docks = 0;
      for (const auto& p : panels()) {
        ImGuiWindow* w = ImGui::FindWindowByName(p.title);
        if (!w || !w->DockNode || !w->DockNode->TabBar) continue;
        const ImGuiTabBar& bar = *w->DockNode->TabBar;
        EXPECT_LE(bar.WidthAllTabsIdeal, bar.BarRect.GetWidth())
            << p.title << " at " << size.width << (presenter ? ", presenter" : "");
        docks++;
      }
      EXPECT_GE(docks, 5);
    }
}

// Where they have none the bar scrolls: no name is cut to make all of them fit, and only the tab in front has a ×.
TEST(Layout, NamesOfTabsAreWholeInNarrowWindows) {
  const std::tuple<float, float, float> all[] = {{1600, 1000, 2}, {1000, 700, 1}, {800, 600, 1}, {1280, 800, 1.5f}};
  for (auto [width, height, scale] : all) {
    test::AppOnScreen a(test::silent_engine);
    a.screen.scale = scale;
    a.screen.resize(width, height);
    a.screen.frames(*a, 12);
    for (const auto& p : panels()) {
      const ImGuiWindow* w = ImGui::FindWindowByName(p.title);
      ASSERT_TRUE(w && w->DockNode && w->DockNode->TabBar) << p.title;
      const ImGuiTabBar& bar = *w->DockNode->TabBar;
      const ImGuiTabItem* tab = ImGui::TabBarFindTabByID(w->DockNode->TabBar, w->TabId);
      ASSERT_TRUE(tab) << p.title;
      const float own = ImGui::TabItemCalcSize(p.title, w->HasCloseButton).x;
      EXPECT_GE(tab->Width, own - 1) << p.title << " at " << width << ", scale " << scale;
      EXPECT_EQ(w->HasCloseButton, w->DockTabIsVisible) << p.title;
      if (!w->DockTabIsVisible) continue;
      const float from = bar.BarRect.Min.x + tab->Offset - bar.ScrollingAnim;
      EXPECT_GE(from, bar.ScrollingRectMinX - 1) << p.title << " at " << width;
      EXPECT_LE(from + tab->Width, bar.ScrollingRectMaxX + 1) << p.title << " at " << width;
    }
  }
}

// Nor is the tab in front out of sight where its bar has become narrower, or one beside it has come in front.
TEST(Layout, TheTabInFrontIsInSight) {
  test::AppOnScreen a(test::silent_engine);
  a.screen.resize(1600, 1000);
  a.screen.frames(*a, 12);
  auto all_in_sight = [&](const std::string& when) {
    a.screen.frames(*a, 40);  // a bar moves slowly to where it is wanted
    for (const auto& p : panels()) {
      const ImGuiWindow* w = ImGui::FindWindowByName(p.title);
      if (!w || !w->DockNode || !w->DockNode->TabBar || !w->DockTabIsVisible) continue;
      const ImGuiTabBar& bar = *w->DockNode->TabBar;
      const ImGuiTabItem* tab = ImGui::TabBarFindTabByID(w->DockNode->TabBar, w->TabId);
      ASSERT_TRUE(tab) << p.title;
      const float from = bar.BarRect.Min.x + tab->Offset - bar.ScrollingAnim;
      if (tab->Width > bar.ScrollingRectMaxX - bar.ScrollingRectMinX) continue;
      EXPECT_GE(from, bar.ScrollingRectMinX - 1) << p.title << ", " << when;
      EXPECT_LE(from + tab->Width, bar.ScrollingRectMaxX + 1) << p.title << ", " << when;
    }
  };
  for (const char* panel : {"Occupancy", "Roofline", "Log", "Timeline"}) {
    ImGui::SetWindowFocus(panel);
    all_in_sight(std::string(panel) + " at 1600");
    for (float scale : {1.0f, 1.5f, 2.0f, 1.0f})
      for (float width : {1600.0f, 1280.0f, 1000.0f, 1600.0f}) {
        a.screen.scale = scale;
        a.screen.resize(width, 900);
        all_in_sight(fmt::format("{} at {}, scale {}", panel, width, scale));
      }
  }
}

// A stage has less room for a text than a desk: the line that one was led to stays in sight.
TEST(Layout, TheLineThatOneWasLedToStaysInSight) {
  test::AppOnScreen a("", wrong());
  a.screen.resize(1280, 720);
  a->show_only("Source");
  ASSERT_TRUE(a.screen.settle(*a));
  View v = a->views().now();
  v.selected = ElementIndex{0, 0};
  a->apply(SetView{v, false});
  ASSERT_TRUE(a.screen.settle(*a));
  // Beside it and the one that reads stand marks, which are drawn of lines that are in sight.
  auto marked = [&] {
    a.screen.frames(*a, 4);
    return a.screen.text(*a).find("!\nW") != std::string::npos;
  };
  go_in_source("s4.cu", 22);  // that writes it
  EXPECT_TRUE(marked());
  for (float height : {500.0f, 300.0f, 260.0f}) {
    a.screen.resize(1280, height);
    EXPECT_TRUE(marked()) << height;
  }
}

// At the next start the same tabs are in front: the last panel that appears is no one's choice.
TEST(Layout, TabsInFrontComeBack) {
  test::ScratchFolder folder;
  for (int start = 0; start < 3; start++) {
    test::AppWithSettings start_of(folder.path("settings.json"));
    auto& [screen, app] = start_of;
    screen.resize(1600, 1000);
    screen.frames(app, 8);
    if (start < 2) {
      EXPECT_TRUE(in_sight("Verdict")) << "start " << start;
      EXPECT_FALSE(in_sight("Log") || in_sight("Devices")) << "start " << start;
    } else {
      EXPECT_TRUE(in_sight("Devices")) << "the one that was chosen";
    }
    EXPECT_TRUE(in_sight("Maps") && in_sight("Problem"));
    if (start == 1) {
      ImGui::SetWindowFocus("Devices");
      screen.frames(app, 4);
      EXPECT_TRUE(in_sight("Devices"));
    }
  }
}

// Where it is wrong, that it is, and why, in sight together.
TEST(Layout, OfAStage) {
  for (Size size : {Size{1280, 720}, {1600, 1000}, {1920, 1080}}) {
    test::AppOnScreen a("", wrong());
    a.screen.resize(size.width, size.height);
    ASSERT_TRUE(a.screen.settle(*a));
    a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_P);
    a.screen.frames(*a, 8);
    a.screen.press(*a, ImGuiKey_N);
    ASSERT_TRUE(a.screen.settle(*a));
    a.screen.frames(*a, 8);
    for (const char* panel : {"Maps", "Verdict", "Explain"}) EXPECT_TRUE(in_sight(panel)) << panel << size.width;
    for (const char* panel : {"Compare", "Timeline", "Occupancy", "Roofline"})
      EXPECT_EQ(ImGui::FindWindowByName(panel) && ImGui::FindWindowByName(panel)->WasActive, false) << panel;
    const ImVec2 maps = ImGui::FindWindowByName("Maps")->Size;
    EXPECT_GT(maps.x * maps.y, 0.33f * size.width * size.height) << "the maps are the largest";
    // … and the usual layout comes back.
    a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_P);
    a.screen.frames(*a, 8);
    EXPECT_TRUE(in_sight("Problem") && in_sight("Kernels") && in_sight("Maps"));
  }
}

// Who turns a parameter on a stage sees what it does, where there is room for both.
TEST(Layout, ParametersStandBesideTheMapsOfAWideStage) {
  for (Size size : {Size{1600, 1000}, {1920, 1080}, {2560, 1440}}) {
    test::AppOnScreen a(test::silent_engine);
    a.screen.resize(size.width, size.height);
    a->toggle_presenter();
    a.screen.frames(*a, 8);
    EXPECT_TRUE(in_sight("Maps")) << size.width;
    EXPECT_EQ(in_sight("Problem"), size.width >= 1920) << size.width;
  }
}

// N promises a number: it stands in the cell, on a small screen as well.
TEST(Layout, AFailingElementShowsItsNumber) {
  for (bool presenter : {false, true})
    for (Size size : {Size{1280, 720}, {1366, 768}, {1600, 1000}, {2560, 1440}}) {
      test::AppOnScreen a("", wrong());
      a.screen.resize(size.width, size.height);
      if (presenter) a->toggle_presenter();
      ASSERT_TRUE(a.screen.settle(*a));
      a.screen.frames(*a, 8);
      a.screen.press(*a, ImGuiKey_N);
      ASSERT_TRUE(a.screen.settle(*a));
      const View v = a->views().now();
      ASSERT_TRUE(v.selected);
      const NumberBlock* numbers = a->bench().pictures().numbers();
      ASSERT_TRUE(numbers) << size.width << ", " << presenter;
      EXPECT_TRUE(numbers->at(v.selected->row, v.selected->column)) << size.width << ", " << presenter;
      EXPECT_EQ(v.column0, std::floor(v.column0)) << "whole cells";
      EXPECT_GE(v.column1 - v.column0, 3) << size.width << ", " << presenter;
      EXPECT_GE(v.row1 - v.row0, 3) << size.width << ", " << presenter;
      // All of the maps is in sight.
      ImGuiWindow* maps = ImGui::FindWindowByName("Maps");
      EXPECT_LE(maps->ScrollMax.y, 0) << size.width << ", " << presenter;
    }
}

TEST(Layout, ReadableCellsLieAroundTheElement) {
  test::Random r(5);
  for (int i = 0; i < 2000; i++) {
    Extent e{static_cast<double>(test::between(r, 1, 60)), static_cast<double>(test::between(r, 1, 900))};
    ElementIndex at{test::between(r, 0, static_cast<int64_t>(e.rows) - 1),
                    test::between(r, 0, static_cast<int64_t>(e.columns) - 1)};
    CellRoom room{static_cast<int>(test::between(r, 1, 20)), static_cast<int>(test::between(r, 1, 20))};
    View v = readable({}, e, at, room);
    EXPECT_EQ(v.selected, at);
    EXPECT_LE(v.column0, static_cast<double>(at.column));
    EXPECT_GE(v.column1, static_cast<double>(at.column) + 1);
    EXPECT_LE(v.row0, static_cast<double>(at.row));
    EXPECT_GE(v.row1, static_cast<double>(at.row) + 1);
    EXPECT_LE(v.column1 - v.column0, std::max(2, room.columns));
    EXPECT_EQ(v.column0, std::floor(v.column0));
    EXPECT_EQ(v.row0, std::floor(v.row0));
  }
}

struct Place {
  ImVec2 at, size;
  bool in_front = false;
};
std::vector<Place> places() {
  std::vector<Place> all;
  for (const auto& p : panels()) {
    const ImGuiWindow* w = ImGui::FindWindowByName(p.title);
    all.push_back(w ? Place{w->Pos, w->Size, w->DockTabIsVisible} : Place{});
  }
  return all;
}
void expect_places(const std::vector<Place>& before, const char* after) {
  const auto now = places();
  for (size_t i = 0; i < before.size(); i++) {
    EXPECT_EQ(now[i].in_front, before[i].in_front) << panels()[i].title << " after " << after;
    if (!before[i].in_front) continue;
    EXPECT_NEAR(now[i].at.x, before[i].at.x, 2) << panels()[i].title << " after " << after;
    EXPECT_NEAR(now[i].at.y, before[i].at.y, 2) << panels()[i].title << " after " << after;
    EXPECT_NEAR(now[i].size.x, before[i].size.x, 2) << panels()[i].title << " after " << after;
    EXPECT_NEAR(now[i].size.y, before[i].size.y, 2) << panels()[i].title << " after " << after;
  }
}

TEST(Layout, PanelsGoBackToTheirPlaces) {
  test::AppOnScreen a;
  a.screen.resize(1600, 1000);
  ASSERT_TRUE(a.screen.settle(*a));
  for (const char* panel : {"Source", "Roofline", "Ladder"})
    a.screen.frame([&] {
      a->frame(1);
      ImGui::SetWindowFocus(panel);
    });
  a.screen.frames(*a, 6);
  const auto before = places();
  for (const char* panel : {"Source", "Roofline", "Ladder"})
    ASSERT_TRUE(ImGui::FindWindowByName(panel)->DockTabIsVisible) << panel;
  a->toggle_presenter();
  a.screen.frames(*a, 6);
  EXPECT_TRUE(ImGui::FindWindowByName("Maps")->DockTabIsVisible) << "the presenter's own";
  a->toggle_presenter();
  a.screen.frames(*a, 6);
  expect_places(before, "the presenter's layout");
  a.screen.resize(1000, 700);
  a.screen.frames(*a, 6);
  a.screen.resize(1600, 1000);
  a.screen.frames(*a, 6);
  expect_places(before, "a narrow window");
  a->reset_layout();
  a.screen.frames(*a, 6);
  EXPECT_TRUE(ImGui::FindWindowByName("Maps")->DockTabIsVisible) << "as at first";
}

}  // namespace
}  // namespace convscope::ui
