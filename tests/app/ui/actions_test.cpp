// The table of actions, and what is drawn from it: palette, help, shortcuts.
#include "app/ui/actions.h"

#include <gtest/gtest.h>
#include <map>

#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"

namespace convscope::ui {
namespace {

using test::holds;

// The chords that two of the actions share.
std::vector<std::string> shared_chords(const std::vector<Action>& all) {
  std::map<ImGuiKeyChord, std::string> owner;
  std::vector<std::string> shared;
  for (const auto& a : all)
    for (ImGuiKeyChord c : {a.chord, a.second}) {
      if (!c) continue;
      auto [it, isnew] = owner.try_emplace(c, a.id);
      if (!isnew) shared.push_back(it->second + " and " + a.id + ": " + chord_text(c));
    }
  return shared;
}

TEST(Actions, NoTwoShareAChord) {
  EXPECT_EQ(shared_chords(actions()), std::vector<std::string>{});
  // The control: one more that does.
  auto all = actions();
  all.push_back(*find_action("run"));
  all.back().id = "again", all.back().second = ImGuiMod_Ctrl | ImGuiKey_Y;
  EXPECT_EQ(shared_chords(all), (std::vector<std::string>{"run and again: F5", "redo and again: Ctrl+Y"}));
}

TEST(Actions, EachIsWhole) {
  std::set<std::string> ids, menus = {"", "File", "Edit", "Run", "View", "Help"};
  for (const auto& a : actions()) {
    EXPECT_TRUE(ids.insert(a.id).second) << a.id;
    EXPECT_STRNE(a.id, "");
    EXPECT_STRNE(a.label, "") << a.id;
    EXPECT_STRNE(a.about, "") << a.id;
    EXPECT_TRUE(menus.count(a.menu)) << a.id;
    EXPECT_TRUE(a.enabled && a.run) << a.id;
    EXPECT_TRUE(*a.menu || a.chord) << a.id << " can be reached";
    EXPECT_EQ(find_action(a.id), &a);
  }
  EXPECT_EQ(find_action("no such"), nullptr);
}

// The keys that the design names.
TEST(Actions, Keys) {
  const std::map<std::string, std::string> expected = {{"open", "Ctrl+O"},
                                                       {"save", "Ctrl+S"},
                                                       {"undo", "Ctrl+Z"},
                                                       {"redo", "Ctrl+Shift+Z"},
                                                       {"quit", "Ctrl+Q"},
                                                       {"run", "F5"},
                                                       {"live", "Space"},
                                                       {"cancel", "Esc"},
                                                       {"fit", "F"},
                                                       {"zoom-in", "+"},
                                                       {"zoom-out", "-"},
                                                       {"next-failing", "N"},
                                                       {"previous-failing", "Shift+N"},
                                                       {"kernel-1", "1"},
                                                       {"kernel-9", "9"},
                                                       {"compare-1", "Shift+1"},
                                                       {"compare-9", "Shift+9"},
                                                       {"help", "F1"},
                                                       {"full-screen", "F11"},
                                                       {"palette", "Ctrl+Shift+P"},
                                                       {"view-back", "Alt+Left"}};
  for (const auto& [id, chord] : expected) {
    const Action* a = find_action(id);
    ASSERT_TRUE(a) << id;
    EXPECT_EQ(chord_text(a->chord), chord);
  }
  EXPECT_EQ(chord_text(find_action("zoom-in")->second), "Keypad +");
  EXPECT_EQ(chord_text(find_action("smaller")->second), "Ctrl+Keypad -");
  EXPECT_EQ(chord_text(0), "");
}

// ---- palette and help -----------------------------------------------------------------------------------------------

TEST(Palette, ListsAllThatCanBeDone) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_P);
  std::string text = a.screen.text(*a);
  for (const auto& action : actions()) {
    if (!*action.menu || !action.enabled(*a)) continue;
    EXPECT_TRUE(holds(text, action.label)) << action.label;
  }
  for (const auto& p : panels()) EXPECT_TRUE(holds(text, std::string("Panel: ") + p.title)) << p.title;
  EXPECT_TRUE(holds(text, "Kernel: tiled"));
  EXPECT_TRUE(holds(text, "Preset: kernelbench-79-small"));
  // What cannot be done now is not there.
  EXPECT_FALSE(find_action("redo")->enabled(*a));
  EXPECT_FALSE(holds(text, "Do it again"));
}

TEST(Palette, FiltersByEveryWordAndRunsWithEnter) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_K);
  a.screen.frames(*a, 2);
  a.screen.type(*a, "poly kernel");
  std::string text = a.screen.text(*a);
  EXPECT_TRUE(holds(text, "Kernel: polyphase"));
  EXPECT_FALSE(holds(text, "Preset: kernelbench"));
  a.screen.press(*a, ImGuiKey_Enter);
  a.screen.frames(*a, 2);
  EXPECT_EQ(a->document().kernel, "polyphase");
  EXPECT_FALSE(holds(a.screen.text(*a), "Panel: Maps")) << "it is closed";
  // Escape closes it and does nothing.
  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_K);
  a.screen.frames(*a, 2);
  a.screen.type(*a, "no such thing");
  EXPECT_TRUE(holds(a.screen.text(*a), "nothing of that name"));
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 2);
  EXPECT_FALSE(holds(a.screen.text(*a), "nothing of that name"));
}

TEST(Palette, ArrowsChoose) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_K);
  a.screen.frames(*a, 2);
  a.screen.type(*a, "Kernel: S");
  a.screen.press(*a, ImGuiKey_DownArrow);
  a.screen.press(*a, ImGuiKey_DownArrow);
  a.screen.press(*a, ImGuiKey_UpArrow);
  a.screen.press(*a, ImGuiKey_Enter);
  a.screen.frames(*a, 2);
  EXPECT_EQ(a->document().kernel, "S1");
}

TEST(Help, ListsEveryKey) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.press(*a, ImGuiKey_F1);
  a.screen.frames(*a, 2);
  std::string text = a.screen.text(*a);
  for (const auto& action : actions()) {
    if (!action.chord) continue;
    EXPECT_TRUE(holds(text, action.label)) << action.label;
    EXPECT_TRUE(holds(text, action.about)) << action.label;
    EXPECT_TRUE(holds(text, chord_text(action.chord))) << action.label;
  }
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 3);
  EXPECT_FALSE(holds(a.screen.text(*a), "MOUSE ON A MAP"));
}

// ---- shortcuts ------------------------------------------------------------------------------------------------------

class Shortcuts : public testing::Test {
 protected:
  Shortcuts() : a_("", wrong()) {}
  void SetUp() override { ASSERT_TRUE(a_.screen.settle(*a_)); }
  // S4 is wrong on it.
  static Document wrong() {
    Document d = test::quick_document(60, "S4");
    d.problem.dilation = 2;
    return d;
  }
  void press(ImGuiKeyChord c) { a_.screen.press(*a_, c); }
  test::AppOnScreen a_;
};

TEST_F(Shortcuts, UndoAndRedo) {
  Document first = a_->document();
  a_->execute({SetSeed{7}});
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(a_->document(), first);
  EXPECT_NE(a_->toast().find("Undone: seed 7 → 42"), std::string::npos) << a_->toast();
  press(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z);
  EXPECT_EQ(a_->document().inputs.seed, 7u);
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  press(ImGuiMod_Ctrl | ImGuiKey_Y);
  EXPECT_EQ(a_->document().inputs.seed, 7u);
}

TEST_F(Shortcuts, RunAndLive) {
  uint64_t serial = a_->bench().runs().report()->serial;
  press(ImGuiKey_F5);
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_GT(a_->bench().runs().report()->serial, serial);
  EXPECT_TRUE(a_->settings().live);
  press(ImGuiKey_Space);
  EXPECT_FALSE(a_->settings().live);
  // Nothing runs by itself now; the picture is marked instead.
  serial = a_->bench().runs().report()->serial;
  a_->execute({SetSeed{8}});
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_EQ(a_->bench().runs().report()->serial, serial);
  EXPECT_EQ(a_->bench().runs().stale(a_->document()), "of seed 42; now: seed 8");
  // … and live again takes it up.
  press(ImGuiKey_Space);
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_EQ(a_->bench().runs().report()->document.inputs.seed, 8u);
}

TEST_F(Shortcuts, NextFailing) {
  auto report = a_->bench().runs().report();
  ASSERT_GT(report->failing.value_or(0), 2);
  press(ImGuiKey_N);
  ASSERT_TRUE(a_.screen.settle(*a_));
  auto first = a_->views().now().selected;
  ASSERT_TRUE(first);
  EXPECT_EQ(first->column, report->first_failing->j);
  press(ImGuiKey_N);
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_NE(a_->views().now().selected, first);
  press(ImGuiMod_Shift | ImGuiKey_N);
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_EQ(a_->views().now().selected, first);
  press(ImGuiMod_Shift | ImGuiKey_N);
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_EQ(a_->views().now().selected, first) << "there is none before";
  EXPECT_EQ(a_->toast(), "No failing element before this one");
}

// Pressed faster than the engine answers: no false "none fails".
TEST_F(Shortcuts, NextFailingInAHurry) {
  for (int i = 0; i < 10; i++) {
    a_.screen.io().AddKeyEvent(ImGuiKey_N, true);
    a_.screen.frame(*a_);
    a_.screen.io().AddKeyEvent(ImGuiKey_N, false);
    a_.screen.frame(*a_);
  }
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_TRUE(a_->views().now().selected);
  EXPECT_EQ(a_->toast(), "");
}

TEST_F(Shortcuts, FitAndZoom) {
  press(ImGuiKey_Equal);
  View v = a_->views().now();
  EXPECT_FALSE(v.whole());
  EXPECT_LT(v.column1 - v.column0, static_cast<double>(a_->bench().runs().picture()->columns()));
  press(ImGuiKey_Minus);
  EXPECT_GT(a_->views().now().column1 - a_->views().now().column0, v.column1 - v.column0);
  press(ImGuiKey_F);
  EXPECT_TRUE(a_->views().now().whole());
  press(ImGuiMod_Alt | ImGuiKey_LeftArrow);
  press(ImGuiMod_Alt | ImGuiKey_LeftArrow);
  EXPECT_EQ(a_->views().now(), v);
  press(ImGuiMod_Alt | ImGuiKey_RightArrow);
  EXPECT_NE(a_->views().now(), v);
}

TEST_F(Shortcuts, KernelsAndReferencesByNumber) {
  ASSERT_GE(a_->bench().inventory().kernels().size(), 9u);
  for (int i = 0; i < 9; i++) {
    press(static_cast<ImGuiKeyChord>(ImGuiKey_1 + i));
    EXPECT_EQ(a_->document().kernel, a_->bench().inventory().kernels()[static_cast<size_t>(i)].name);
  }
  ASSERT_TRUE(a_.screen.settle(*a_));
  auto references = a_->bench().runs().report()->references;
  ASSERT_GE(references.size(), 2u);
  for (size_t i : {1, 0}) {
    press(static_cast<ImGuiKeyChord>(ImGuiMod_Shift | (ImGuiKey_1 + static_cast<int>(i))));
    EXPECT_EQ(a_->document().compare_with, references[i].name);
  }
  press(ImGuiMod_Shift | ImGuiKey_9);
  EXPECT_EQ(a_->document().compare_with, references[0].name) << "there are not so many";
}

TEST_F(Shortcuts, ArrowsMoveTheSelection) {
  View v = a_->views().now();
  v.selected = ElementIndex{1, 5};
  a_->apply(SetView{v, true});
  for (int i = 0; i < 3; i++) press(ImGuiKey_RightArrow);
  press(ImGuiKey_DownArrow);
  EXPECT_EQ(a_->views().now().selected, (ElementIndex{2, 8}));
  for (int i = 0; i < 20; i++) press(ImGuiKey_LeftArrow), press(ImGuiKey_UpArrow);
  EXPECT_EQ(a_->views().now().selected, (ElementIndex{0, 0}));
}

TEST(ShortcutCancel, EscapeStopsWhatRuns) {
  Document slow = test::quick_document(4000, "slow");
  slow.problem = {};
  slow.problem.length = 4000, slow.problem.dilation = 3;
  test::AppOnScreen a(test::test_engine_with("CONVSCOPE_LIBDNNL=none"), slow);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().link().status().phase == "running slow"; }));
  // A menu that is open takes the key for itself.
  auto open = [] { return ImGui::GetCurrentContext()->OpenPopupStack.Size; };
  a.screen.click(*a, 138, 12);
  a.screen.frames(*a, 2);
  ASSERT_EQ(open(), 1) << "no menu is at this place";
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 2);
  EXPECT_EQ(open(), 0);
  // Who is cancelled answers in a moment.
  EXPECT_FALSE(a.screen.until(
      *a, [&] { return !a->bench().runs().running(); }, 1));
  a.screen.press(*a, ImGuiKey_Escape);
  ASSERT_TRUE(a.screen.until(
      *a, [&] { return !a->bench().runs().running(); }, 5));
  EXPECT_EQ(a->document().kernel, "slow") << "the document stays";
  EXPECT_TRUE(a->bench().runs().cancelled()) << "and nobody takes it for a run that was not made";
}

TEST_F(Shortcuts, Others) {
  press(ImGuiMod_Ctrl | ImGuiKey_T);
  EXPECT_EQ(a_->settings().theme, Settings::Theme::light);
  EXPECT_TRUE(a_->theme().light);
  press(ImGuiKey_C);
  EXPECT_TRUE(a_->views().now().show_classes);
  press(ImGuiMod_Ctrl | ImGuiKey_Equal);
  EXPECT_GT(a_->settings().scale, 1);
  press(ImGuiMod_Ctrl | ImGuiKey_Minus);
  EXPECT_NEAR(a_->settings().scale, 1, 1e-9);
  press(ImGuiMod_Ctrl | ImGuiKey_P);
  EXPECT_TRUE(a_->settings().presenter);
  press(ImGuiKey_F11);
  EXPECT_FALSE(a_->wants_full_screen()) << "there is no window";
  EXPECT_FALSE(a_->wants_to_close());
  press(ImGuiMod_Ctrl | ImGuiKey_Q);
  EXPECT_TRUE(a_->wants_to_close());
}

// While a number is typed, keys are its own.
TEST_F(Shortcuts, PlainKeysBelongToATextField) {
  ImGui::FocusWindow(ImGui::FindWindowByName("Problem"));
  a_.screen.frame(*a_);
  ImGui::ActivateItemByID(test::Screen::id("Problem", {"inputs", "##seed"}));
  a_.screen.frames(*a_, 3);
  ASSERT_TRUE(a_.screen.io().WantTextInput);
  Document before = a_->document();
  View view = a_->views().now();
  Settings settings = a_->settings();
  for (ImGuiKeyChord c :
       {ImGuiKeyChord{ImGuiKey_N}, ImGuiKeyChord{ImGuiKey_F}, ImGuiKeyChord{ImGuiKey_C}, ImGuiKeyChord{ImGuiKey_3},
        ImGuiKeyChord{ImGuiKey_Space}, ImGuiKeyChord{ImGuiKey_Equal}, ImGuiKeyChord{ImGuiKey_Minus},
        ImGuiKeyChord{ImGuiKey_LeftArrow}, ImGuiMod_Shift | ImGuiKey_2})
    press(c);
  EXPECT_TRUE(a_.screen.io().WantTextInput);
  EXPECT_EQ(a_->document(), before);
  EXPECT_EQ(a_->views().now(), view);
  EXPECT_EQ(a_->settings(), settings);
  // Undo is the text's own, too.
  a_->execute({SetKernel{"direct"}});
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(a_->document().kernel, "direct");
  Document now = a_->document();
  // What is no text still works.
  press(ImGuiMod_Ctrl | ImGuiKey_T);
  EXPECT_EQ(a_->settings().theme, Settings::Theme::light);
  // The control: without the field the same keys act.
  press(ImGuiKey_Escape);
  ImGui::ClearActiveID();
  ImGui::SetNavCursorVisible(false);  // the walk by keyboard that reached the field is over
  a_.screen.frames(*a_, 2);
  ASSERT_FALSE(a_.screen.io().WantTextInput);
  press(ImGuiKey_Space);
  EXPECT_FALSE(a_->settings().live);
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_NE(a_->document(), now);
}

}  // namespace
}  // namespace convscope::ui
