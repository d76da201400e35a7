// Menus, help, theme, layout: what surrounds the panels.
#include <imgui_internal.h>
#include <set>

#include "app/ui/actions.h"
#include "kernels/problem/presets.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

bool popup_open(Gui&, const char* title) {
  return ImGui::IsPopupOpen(title, ImGuiPopupFlags_None) || ImGui::GetTopMostPopupModal() != nullptr;
}

bool there(Gui& g, const char* panel) {  // perhaps behind another tab
  ImGuiWindow* w = g.ctx->GetWindowByRef(fmt::format("//{}", panel).c_str());
  return w && w->WasActive;
}

}  // namespace

SCENARIO(every_action_with_a_menu_is_in_it) {
  for (const char* menu : {"File", "Edit", "Run", "View", "Help"}) {
    g.click(fmt::format("//##MainMenuBar/##MenuBar/{}", menu));
    g.frames(3);
    int seen = 0;
    for (const auto& a : ui::actions()) {
      if (std::string_view(a.menu) != menu) continue;
      std::string ref = fmt::format("//$FOCUSED/###{}", a.id);
      if (!g.exists(ref)) g.fail(fmt::format("{} is not in the menu {}", a.id, menu), __FILE__, __LINE__);
      CHECK_EQ(g.enabled(ref), a.enabled(g.app));
      seen++;
    }
    CHECK(seen >= 3);
    g.ctx->PopupCloseAll();
    g.frames(2);
  }
}

SCENARIO(lessons_come_first_in_help) {
  g.click("//##MainMenuBar/##MenuBar/Help");
  g.frames(3);
  auto top = [&](const char* item) {
    return g.ctx->ItemInfo(fmt::format("//$FOCUSED/{}", item).c_str()).RectFull.Min.y;
  };
  for (const char* item : {"###palette", "###help", "###lesson-next", "###about"}) CHECK(top("Lessons") < top(item));
  CHECK(top("###help") < top("###lesson-next"));
  g.ctx->PopupCloseAll();
  g.frames(2);
}

SCENARIO(every_action_can_be_run) {
  // What each does is checked elsewhere: here none may break the window, in this order or any other.
  for (const auto& a : ui::actions()) {
    if (std::string_view(a.id) == "quit") continue;
    g.app.apply(ui::RunAction{a.id});
    g.frames(3);
    g.ctx->PopupCloseAll();
    while (ImGui::GetTopMostPopupModal()) g.key(ImGuiKey_Escape);
  }
  g.settle();
  g.app.execute({ReplaceDocument{small_document(), "again"}, 0});
  g.app.apply(ui::SetSettings{Settings{}});
  g.frames(5);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
}

SCENARIO(undo_and_redo_by_menu_button_and_key) {
  Document first = g.document();
  g.app.execute({SetKernel{"tiled"}, 0});
  g.app.execute({SetSeed{5}, 0});
  Document last = g.document();
  g.frames();
  g.menu("undo");
  CHECK_EQ(g.document().inputs.seed, first.inputs.seed);
  CHECK_EQ(g.app.toast(), std::string("Undone: seed 5 → 42"));
  g.click("//##MainMenuBar/##MenuBar/Undo");
  CHECK_EQ(g.document().kernel, std::string("S4"));
  g.click("//##MainMenuBar/##MenuBar/Redo");
  g.key(ImGuiMod_Ctrl | ImGuiKey_Y);
  CHECK(g.document() == last);
  CHECK(!g.app.history().can_redo());
  CHECK(!g.enabled("//##MainMenuBar/##MenuBar/Redo"));
  g.settle();
}

SCENARIO(help_opens_and_closes) {
  g.press("help");
  g.popup("Keys and mouse");
  std::string words = g.words();
  for (const auto& a : ui::actions())
    if (*a.menu && a.chord)
      CHECK(words.find(a.label) != std::string::npos && words.find(ui::chord_text(a.chord)) != std::string::npos);
  g.key(ImGuiKey_Escape);
  g.until([&] { return !popup_open(g, "Keys and mouse"); }, "help is closed");
  g.menu("help");
  g.popup("Keys and mouse");
  g.ctx->WindowClose("//Keys and mouse");
  g.until([&] { return !popup_open(g, "Keys and mouse"); }, "help is closed");
}

SCENARIO(about_opens_and_closes) {
  g.menu("about");
  g.popup("About convscope");
  CHECK(g.says("convscope " CONVSCOPE_VERSION));
  CHECK(g.says("MIT licence"));
  g.click("//About convscope/Close");
  g.until([&] { return !popup_open(g, "About convscope"); }, "it is closed");
  g.menu("about");
  g.popup("About convscope");
  g.key(ImGuiKey_Escape);
  g.until([&] { return !popup_open(g, "About convscope"); }, "it is closed");
}

SCENARIO(light_theme_and_back) {
  ImVec4 dark = ImGui::GetStyleColorVec4(ImGuiCol_WindowBg);
  g.press("theme");
  g.frames(3);
  g.settle();
  CHECK(g.app.settings().theme == Settings::Theme::light);
  ImVec4 light = ImGui::GetStyleColorVec4(ImGuiCol_WindowBg);
  CHECK(light.x > dark.x + 0.4f);
  CHECK(g.bench().pictures().tile(Pictures::Map::difference)->paint.light_theme);
  g.press("theme");
  g.frames(3);
  CHECK(!g.app.theme().light);
}

SCENARIO(cividis_instead_of_viridis) {
  g.menu("colours");
  g.settle();
  CHECK_EQ(g.app.settings().value_colours, std::string("cividis"));
  CHECK(g.bench().pictures().tile(Pictures::Map::kernel)->paint.map == ColourMap::cividis);
  g.menu("colours");
  g.settle();
  CHECK(g.bench().pictures().tile(Pictures::Map::kernel)->paint.map == ColourMap::viridis);
}

SCENARIO(larger_and_smaller_stop_at_their_ends) {
  float em = g.app.theme().em;
  g.press("larger");
  g.frames(2);
  CHECK(g.app.theme().em > em * 1.05f);
  for (int i = 0; i < 12; i++) g.press("larger");
  CHECK_EQ(g.app.settings().scale, 2.0);
  g.frames(3);
  CHECK(shown(g, "Maps"));
  for (int i = 0; i < 24; i++) g.press("smaller");
  CHECK_EQ(g.app.settings().scale, 0.75);
  g.frames(2);
  CHECK(g.app.theme().em < em);
  g.settle();
}

SCENARIO(presenter_layout_is_large_and_goes_back) {
  float em = g.app.theme().em;
  g.press("presenter");
  g.frames(5);
  CHECK(g.app.settings().presenter);
  CHECK(g.app.theme().em > em * 1.3f);
  CHECK(shown(g, "Maps") && shown(g, "Verdict"));
  g.settle();
  g.press("presenter");
  g.frames(5);
  CHECK_EQ(g.app.theme().em, em);
  g.settle();
}

// Large type leaves room for fewer cells: the number that was looked at stays one.
SCENARIO(presenter_layout_keeps_the_number_that_was_looked_at) {
  auto cell = [&] {
    const ImVec2 map =
        g.item(fmt::format("//Maps/$${}/map", static_cast<int>(Pictures::Map::kernel))).RectFull.GetSize();
    const View v = g.view();
    const float em = g.app.theme().em;  // of a cell's size below which no number is drawn: map_view.cpp
    return map.x / static_cast<float>(v.column1 - v.column0) >= 2.9f * em &&
           map.y / static_cast<float>(v.row1 - v.row0) >= 1.1f * em;
  };
  Document d = small_document();
  d.problem = find_preset("kernelbench-79-small").problem;  // more rows than have room, and a count of two lines
  g.load(d);
  g.press("next-failing");
  g.settle();
  CHECK(cell());
  const ElementIndex at = *g.view().selected;
  g.press("presenter");
  g.frames(10);
  g.settle();
  CHECK(cell());
  CHECK(g.view().selected == at);
  CHECK(g.view().column0 <= static_cast<double>(at.column) && static_cast<double>(at.column) < g.view().column1);
  CHECK(g.bench().pictures().numbers() && g.bench().pictures().numbers()->at(at.row, at.column));
  g.press("presenter");
  g.frames(8);
  // Who has an element selected, and looks at all of the result, goes on to do so.
  g.press("fit");
  g.press("presenter");
  g.frames(10);
  g.settle();
  CHECK(g.app.views().now().whole());
  g.press("presenter");
  g.frames(8);
  g.settle();
}

// A recording's full problem has no picture here: two of three panels that say so are not for a stage.
SCENARIO(presenter_layout_of_a_recording_has_its_figures_in_front) {
  g.ctx->MenuClick("//##MainMenuBar/File/Recordings/h200-kernelbench-79");
  if (g.ctx->IsError()) throw Failed{};
  g.until([&] { return g.bench().recorded().recording() != nullptr; }, "the recording");
  g.settle();
  g.panel("Maps");
  g.press("presenter");
  g.frames(8);
  for (const char* panel : {"Ladder", "Verdict", "Source"})
    if (!shown(g, panel)) g.fail(fmt::format("{} is not in front", panel), __FILE__, __LINE__);
  CHECK(there(g, "Maps") && !shown(g, "Maps"));
  CHECK(there(g, "Timing") && !shown(g, "Explain"));
  g.press("presenter");
  g.frames(8);
  CHECK(shown(g, "Maps"));  // as it lay before
  g.settle();
}

SCENARIO(presenter_layout_keeps_what_a_lesson_shows) {
  auto open = [&](const char* lesson) {
    g.app.open_lesson(project_file(fmt::format("assets/lessons/{}.lesson", lesson)));
    g.until([&] { return g.app.lesson() && g.app.lesson_shown(); }, "the first step is shown", 60);
    g.settle();
  };
  auto check_shown = [&] {
    const LessonStep& step = g.app.lesson()->steps[g.app.lesson_step()];
    for (const std::string& panel : {step.panel, step.beside})
      if (!panel.empty() && !shown(g, panel.c_str()))
        g.fail(fmt::format("{} of step {} is not in front", panel, g.app.lesson_step() + 1), __FILE__, __LINE__);
  };
  open("1-what-it-is");
  g.press("presenter");
  g.frames(8);
  check_shown();  // Maps with Lines
  g.app.end_lesson();
  // Each step of one brings what it names, a panel as well that the stage has no place for at first.
  open("4-from-naive-to-the-floor");
  while (true) {
    g.frames(8);
    check_shown();
    CHECK(there(g, "Ladder"));
    if (g.app.lesson_step() + 1 == g.app.lesson()->steps.size()) break;
    g.press("lesson-next");
    g.until([&] { return g.app.lesson_shown(); }, "the step is shown", 60);
    g.settle();
  }
  g.app.end_lesson();
  g.press("presenter");
  g.frames(8);
  g.settle();
}

SCENARIO(a_panel_is_closed_and_opened_again) {
  g.ctx->WindowClose("//Verdict");
  g.frames(3);
  CHECK(!there(g, "Verdict"));
  g.ctx->MenuClick("//##MainMenuBar/View/Verdict");
  g.frames(4);
  CHECK(shown(g, "Verdict"));
  g.ctx->MenuClick("//##MainMenuBar/View/Verdict");
  g.frames(4);
  CHECK(!there(g, "Verdict"));
  g.menu("reset-layout");
  g.frames(5);
  CHECK(shown(g, "Verdict"));
}

// A dock's × would close every panel of it; a tab's closes one, and the others stay.
SCENARIO(one_tab_is_closed_at_a_time) {
  g.settle();
  for (const char* panel : {"Maps", "Lines", "Verdict", "Timing"}) {
    const ImGuiWindow* w = g.ctx->GetWindowByRef(fmt::format("//{}", panel).c_str());
    CHECK(w && w->DockNode && w->DockNode->Windows.Size > 1);
    CHECK(w && w->DockNode && (w->DockNode->MergedFlags & ImGuiDockNodeFlags_NoCloseButton) != 0);
  }
  g.ctx->WindowClose("//Verdict");
  g.frames(3);
  CHECK(!there(g, "Verdict") && there(g, "Devices") && there(g, "Log"));
  g.menu("reset-layout");
  g.frames(5);
}

SCENARIO(every_panel_is_shown_by_the_view_menu) {
  for (const auto& p : ui::panels()) {
    g.ctx->WindowFocus(fmt::format("//{}", p.title).c_str());  // the tab in front has the ×
    g.frames(3);
    g.ctx->WindowClose(fmt::format("//{}", p.title).c_str());
    g.frames(3);
    CHECK(!there(g, p.title));
    g.ctx->MenuClick(fmt::format("//##MainMenuBar/View/{}", p.title).c_str());
    g.frames(4);
    CHECK(shown(g, p.title));
  }
  g.settle();
}

SCENARIO(a_panel_can_be_moved_and_reset) {
  g.ctx->UndockWindow("//Verdict");
  g.frames(4);
  ImGuiWindow* w = g.ctx->GetWindowByRef("//Verdict");
  CHECK(w && w->DockNode == nullptr);
  g.menu("reset-layout");
  g.frames(5);
  w = g.ctx->GetWindowByRef("//Verdict");
  CHECK(w && w->DockNode != nullptr);
}

SCENARIO(a_narrow_window_turns_the_right_column_into_tabs) {
  auto node = [&](const char* panel) { return g.ctx->GetWindowByRef(fmt::format("//{}", panel).c_str())->DockNode; };
  CHECK(node("Verdict") != node("Maps"));
  g.stage.size = {1000, 700};
  g.frames(6);
  CHECK(node("Timing") && node("Timing") == node("Maps"));
  for (const auto& p : ui::panels()) CHECK(node(p.title));  // none floats
  CHECK(shown(g, "Maps") && shown(g, "Verdict"));           // one below the other
  g.settle();
  g.panel("Verdict");
  CHECK(g.says("Wrong"));
  g.panel("Maps");
  g.press("next-failing");
  g.settle();
  CHECK(g.view().selected.has_value());
  g.stage.size = {1600, 1000};
  g.frames(6);
  g.settle();
  CHECK(node("Verdict") != node("Maps"));
}

SCENARIO(a_tiny_window_does_no_harm) {
  for (ImVec2 size : {ImVec2{320, 200}, ImVec2{200, 700}, ImVec2{1600, 120}, ImVec2{1, 1}, ImVec2{1600, 1000}}) {
    g.stage.size = size;
    g.frames(8);
    g.settle();
  }
  g.panel("Maps");
  g.press("next-failing");
  g.settle();
  CHECK(g.view().selected.has_value());
}

SCENARIO(ctrl_q_closes) {
  CHECK(!g.app.wants_to_close());
  g.press("quit");
  CHECK(g.app.wants_to_close());
}

SCENARIO(full_screen_is_for_a_real_window) {
  g.press("full-screen");
  CHECK(!g.app.wants_full_screen());
}

SCENARIO(tooltips_say_what_figures_mean) {
  g.ctx->MouseMove("//Problem/##preset");
  g.until([&] { return g.says("Named problems"); }, "the tooltip of the presets", 10);
  g.ctx->MouseMove("//##MainMenuBar/##MenuBar/Run##now");
  g.until([&] { return g.says("Run the kernel and the oracle again (F5)"); }, "the tooltip of Run", 10);
}

// Dear ImGui would draw a warning over both. Hovering everything also draws every tooltip once.
SCENARIO(no_two_controls_share_an_id) {
  g.press("next-failing");
  g.settle();
  auto hover_all = [&](const std::string& window) {
    ImGuiTestItemList list;
    g.ctx->GatherItems(&list, window.c_str(), -1);
    for (const auto& i : list) {
      if (i.RectClipped.GetWidth() < 2 || i.RectClipped.GetHeight() < 2) continue;
      g.ctx->MouseMoveToPos(i.RectClipped.GetCenter());
      g.frames(2);
      if (g.ctx->UiContext->DebugDrawIdConflictsId != 0)
        g.fail(fmt::format("two controls {} in {}", i.DebugLabel, window), __FILE__, __LINE__);
    }
    return list.size();
  };
  // What is in a menu bar is of another layer, which is not gathered: the mouse goes along it.
  ImGuiWindow* bar = g.ctx->GetWindowByRef("//##MainMenuBar");
  CHECK(bar != nullptr);
  std::set<ImGuiID> hovered;
  for (float x = bar->Pos.x + 2; x < bar->Pos.x + bar->Size.x; x += ImGui::GetFontSize() * 0.7f) {
    g.ctx->MouseMoveToPos({x, bar->Pos.y + bar->Size.y / 2});
    g.frames(2);
    if (g.ctx->UiContext->HoveredIdPreviousFrame) hovered.insert(g.ctx->UiContext->HoveredIdPreviousFrame);
    CHECK(g.ctx->UiContext->DebugDrawIdConflictsId == 0);
  }
  CHECK(hovered.size() >= 8);
  for (const auto& p : ui::panels()) {
    g.panel(p.title);
    // (The log may have nothing to say.)
    if (hover_all(fmt::format("//{}", p.title)) == 0 && p.title != std::string_view("Log"))
      g.fail(fmt::format("nothing in {}", p.title), __FILE__, __LINE__);
  }
}

// ---- kept between two starts --------------------------------------------------------------------------------------

static void settings_are_there_again(Gui& g) {
  g.frames(5);
  CHECK(g.app.settings().theme == Settings::Theme::light);
  CHECK(g.app.theme().light);
  CHECK_EQ(g.app.settings().value_colours, std::string("cividis"));
  CHECK(g.app.settings().scale > 1.05);
  CHECK(!g.app.settings().live);
  CHECK_EQ(g.app.settings().recent.size(), 1u);
  g.settle();
  CHECK(g.bench().runs().report() == nullptr);  // not live: nothing runs by itself
  ImGuiWindow* verdict = g.ctx->GetWindowByRef("//Verdict");
  CHECK(verdict && verdict->DockNode == nullptr);
  ImGuiWindow* maps = g.ctx->GetWindowByRef("//Maps");
  CHECK(maps && maps->DockNode != nullptr);
  g.panel("Maps");
  CHECK(g.says("Run the kernel to see its output beside the oracle's."));
  g.click("//Maps/Run (F5)");
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
}

SCENARIO_TWICE(settings_and_layout_are_kept_between_starts, settings_are_there_again) {
  g.press("theme");
  g.menu("colours");
  g.press("larger");
  g.press("live");
  g.write(
      "x.convscope",
      R"({"type": "convscope-session", "version": 1, "problem": {"in_channels": 1, "out_channels": 1, "kernel_size": 1, "length": 4}})");
  g.app.open(g.path("x.convscope"));
  g.ctx->UndockWindow("//Verdict");
  g.frames(5);
  CHECK(g.ctx->GetWindowByRef("//Verdict")->DockNode == nullptr);
}
