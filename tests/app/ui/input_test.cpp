// Mouse and keys on the real widgets: sliders, numbers that are typed, maps.
#include <cmath>
#include <gtest/gtest.h>

#include "app/ui/key_order.h"
#include "tests/app/ui/screen.h"

namespace convscope::ui {
namespace {

// ---- parameters -----------------------------------------------------------------------------------------------------

class Parameters : public testing::Test {
 protected:
  Parameters() : a_(test::silent_engine, test::quick_document(), false) {
    a_->show_only("Problem");
    a_.screen.frames(*a_, 3);
    steps_ = undo_steps();
  }
  static ImGuiID slider(const char* field) { return test::Screen::id("Problem", {"parameters", field, "##value"}); }
  ImRect find(ImGuiID id) { return a_.screen.find(*a_, "Problem", id); }
  // By Ctrl+click, in the place of the number that is there; end: the key that ends it.
  void type_into(const char* field, const char* text, ImGuiKey end) {
    const ImRect at = find(slider(field));
    a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, true);
    a_.screen.click(*a_, at.GetCenter().x, at.GetCenter().y);
    a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, false);
    a_.screen.frame(*a_);
    ASSERT_TRUE(a_.screen.io().WantTextInput);
    a_.screen.press(*a_, ImGuiMod_Ctrl | ImGuiKey_A);
    a_.screen.type(*a_, text);
    a_.screen.press(*a_, end);
  }
  // How many undo steps there are; nothing is different afterwards.
  int undo_steps() {
    History h = a_->history();
    int n = 0;
    while (h.undo()) n++;
    return n;
  }
  test::AppOnScreen a_;
  int steps_ = 0;
};

TEST_F(Parameters, ADragIsOneStepOfUndo) {
  for (const char* field : {"stride", "dilation", "kernel_size", "batch", "length", "padding"}) {
    ImRect at = find(slider(field));
    ASSERT_GT(at.GetWidth(), 50) << field;
    Document before = a_->document();
    float y = at.GetCenter().y;
    a_.screen.drag(*a_, {at.Min.x + 8, y}, {at.Max.x - 30, y}, 25);
    EXPECT_NE(a_->document(), before) << field;
    EXPECT_EQ(undo_steps(), ++steps_) << field;
    EXPECT_EQ(test::why_illegal(a_->document()), "");
    a_->undo();
    EXPECT_EQ(a_->document(), before) << field;
    a_->redo();
  }
}

// A double click types a number; its first click has moved nothing when it is over.
TEST_F(Parameters, ADoubleClickTypes) {
  const Document before = a_->document();
  for (const char* field : {"stride", "length"}) {
    const ImRect at = find(slider(field));
    const float x = at.Min.x + at.GetWidth() * 0.8f, y = at.GetCenter().y;
    a_.screen.click(*a_, x, y);
    EXPECT_NE(a_->document(), before) << "one click sets it";
    a_.screen.click(*a_, x, y);
    EXPECT_EQ(a_->document(), before) << field;
    EXPECT_TRUE(a_.screen.io().WantTextInput);
    a_.screen.type(*a_, "7");
    a_.screen.press(*a_, ImGuiKey_Enter);
    a_.screen.frames(*a_, 2);
    const ConvProblem& p = a_->document().problem;
    EXPECT_EQ(std::string_view(field) == "stride" ? p.stride : p.length, 7) << field;
    while (a_->document() != before && undo_steps()) a_->undo();
    EXPECT_EQ(a_->document(), before);
    a_.screen.frames(*a_, 60);  // the next click is no third one
  }
}

TEST_F(Parameters, TwoDragsAreTwoSteps) {
  ImRect at = find(slider("stride"));
  float y = at.GetCenter().y;
  a_.screen.drag(*a_, {at.Min.x + 8, y}, {at.GetCenter().x, y}, 10);
  int64_t between = a_->document().problem.stride;
  a_.screen.drag(*a_, {at.GetCenter().x, y}, {at.Max.x - 4, y}, 10);
  EXPECT_EQ(undo_steps(), steps_ + 2);
  a_->undo();
  EXPECT_EQ(a_->document().problem.stride, between);
}

// In a narrow panel a number has the room that the buttons beside it have in a wide one.
TEST_F(Parameters, ANarrowPanelShowsTheNumber) {
  EXPECT_GT(find(slider("length")).GetWidth(), 5 * ImGui::GetFontSize());
  a_.screen.resize(225, 700);
  a_.screen.frames(*a_, 8);
  const ImRect narrow = a_.screen.find(*a_, "Problem", slider("length"), 0.72f);
  EXPECT_GT(narrow.GetWidth(), 4 * ImGui::GetFontSize());
}

// A slider never leaves what is legal: its range follows the rules.
TEST_F(Parameters, SlidersStayLegal) {
  for (const char* field : {"output_padding", "padding", "stride", "dilation", "kernel_size", "length", "batch"}) {
    ImRect at = find(slider(field));
    float y = at.GetCenter().y;
    for (float to : {at.Max.x + 200, at.Min.x - 200}) {
      a_.screen.drag(*a_, at.GetCenter(), {to, y}, 12);
      std::string text = a_.screen.text(*a_);
      EXPECT_EQ(text.find("The last legal problem stays shown"), std::string::npos) << field;
      EXPECT_EQ(test::why_illegal(a_->document()), "");
    }
  }
}

TEST_F(Parameters, WhatIsTypedAndIllegalSaysItsRule) {
  Document before = a_->document();
  const std::pair<const char*, const char*> typed[] = {{"0", "must be at least 1"},
                                                       {"-3", "must be at least 1"},
                                                       {"99999999999", "must be at most 2147483647"},
                                                       {"9223372036854775807", "must be at most"}};
  for (auto [number, rule] : typed) {
    type_into("stride", number, ImGuiKey_Enter);
    std::string text = a_.screen.text(*a_);
    EXPECT_NE(text.find(rule), std::string::npos) << number;
    EXPECT_NE(text.find("The last legal problem stays shown"), std::string::npos) << number;
    EXPECT_EQ(a_->document(), before) << "the last legal one stays";
  }
  EXPECT_EQ(undo_steps(), steps_);
  // Undo takes the draft away, and nothing else; then what was done before it.
  a_->execute({SetSeed{5}});
  a_->undo();
  EXPECT_EQ(a_.screen.text(*a_).find("The last legal problem stays shown"), std::string::npos);
  EXPECT_EQ(a_->document().inputs.seed, 5u);
  a_->undo();
  EXPECT_EQ(a_->document(), before);
}

// Each of several is named, until it is legal again.
TEST_F(Parameters, EveryIllegalNumberSaysItsRule) {
  const Document before = a_->document();
  type_into("stride", "0", ImGuiKey_Enter);
  type_into("groups", "7", ImGuiKey_Enter);
  type_into("length", "99", ImGuiKey_Enter);
  std::string text = a_.screen.text(*a_);
  for (const char* rule :
       {"stride 0 must be at least 1", "groups 7 must divide in_channels", "groups 7 must divide out"})
    EXPECT_TRUE(test::holds(text, rule)) << rule << "\n" << text;
  EXPECT_FALSE(test::holds(text, "length 99 ")) << "which breaks no rule";
  EXPECT_EQ(a_->document(), before);
  type_into("stride", "2", ImGuiKey_Enter);
  text = a_.screen.text(*a_);
  EXPECT_FALSE(test::holds(text, "stride 0")) << text;
  EXPECT_TRUE(test::holds(text, "groups 7 must divide")) << text;
  type_into("groups", "1", ImGuiKey_Enter);
  EXPECT_EQ(a_->document().problem.length, 99) << "what was typed meanwhile is kept";
  EXPECT_EQ(a_->document().problem.stride, 2);
}

// As people write them: Dear ImGui alone would take the 1 of 1e3.
TEST_F(Parameters, NumbersAreReadWhole) {
  const std::pair<const char*, int64_t> typed[] = {{"1e3", 1000}, {"2^10", 1024}, {"1_500", 1500}, {"77", 77}};
  auto type = [&](const char* text, ImGuiKey end) {
    type_into("length", text, end);
    a_.screen.frames(*a_, 2);
  };
  for (const auto& [text, value] : typed) {
    type(text, ImGuiKey_Enter);
    EXPECT_EQ(a_->document().problem.length, value) << text;
    EXPECT_EQ(undo_steps(), ++steps_) << text;
  }
  for (const char* text : {"1.5", "e", "2^0.5"}) {
    type(text, ImGuiKey_Enter);
    EXPECT_EQ(a_->document().problem.length, 77) << "no whole number: " << text;
    EXPECT_EQ(a_->toast(), std::string("length: ") + text + " is no whole number");
  }
  type("1e3", ImGuiKey_Escape);
  EXPECT_EQ(a_->document().problem.length, 77) << "taken back";
}

// The wheel scrolls a panel: what lies under the mouse by then is not to change. With Ctrl it is a number's.
TEST_F(Parameters, CtrlAndTheWheelStepThem) {
  const ImRect at = find(slider("stride"));
  a_.screen.mouse(at.GetCenter().x, at.GetCenter().y);
  a_.screen.frames(*a_, 2);
  const Document before = a_->document();
  for (int i = 0; i < 3; i++) a_.screen.wheel(*a_, 1);
  EXPECT_EQ(a_->document(), before) << "without Ctrl";
  a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, true);
  for (int i = 0; i < 3; i++) a_.screen.wheel(*a_, 1);
  EXPECT_EQ(a_->document().problem.stride, before.problem.stride + 3);
  a_.screen.io().AddKeyEvent(ImGuiMod_Shift, true);
  a_.screen.wheel(*a_, 1);
  EXPECT_EQ(a_->document().problem.stride, before.problem.stride + 13);
  a_.screen.io().AddKeyEvent(ImGuiMod_Shift, false);
  for (int i = 0; i < 4; i++) a_.screen.wheel(*a_, 0.25f);  // of a touch pad
  EXPECT_EQ(a_->document().problem.stride, before.problem.stride + 14);
  EXPECT_EQ(undo_steps(), steps_ + 1) << "one gesture";
  for (int i = 0; i < 40; i++) a_.screen.wheel(*a_, -1);
  EXPECT_EQ(a_->document().problem.stride, 1) << "and no further";
  EXPECT_EQ(undo_steps(), steps_ + 1);
  a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, false);
  a_.screen.frame(*a_);
  a_->undo();
  EXPECT_EQ(a_->document(), before);
}

TEST_F(Parameters, APauseOrAnotherNumberIsAnotherStep) {
  auto turn = [&](const char* field, int by) {
    const ImRect at = find(slider(field));
    a_.screen.mouse(at.GetCenter().x, at.GetCenter().y);
    a_.screen.frames(*a_, 2);
    a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, true);
    for (int i = 0; i < by; i++) a_.screen.wheel(*a_, 1);
    a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, false);
    a_.screen.frame(*a_);
  };
  const ConvProblem first = a_->document().problem;
  turn("stride", 2);
  turn("dilation", 2);
  EXPECT_EQ(undo_steps(), steps_ + 2);
  a_.screen.frames(*a_, 80);
  turn("dilation", 1);
  EXPECT_EQ(undo_steps(), steps_ + 3);
  // Nor is it a part of the drag before it.
  const ImRect at = find(slider("dilation"));
  a_.screen.drag(*a_, {at.Min.x + 8, at.GetCenter().y}, {at.GetCenter().x, at.GetCenter().y}, 6);
  turn("dilation", 1);
  EXPECT_EQ(undo_steps(), steps_ + 5);
  for (int i = 0; i < 5; i++) a_->undo();
  EXPECT_EQ(a_->document().problem, first);
}

TEST_F(Parameters, TheWheelAloneScrollsThePanel) {
  a_.screen.resize(1600, 420);
  a_.screen.frames(*a_, 4);
  const ImGuiWindow* panel = ImGui::FindWindowByName("Problem");
  ASSERT_GT(panel->ScrollMax.y, 20);
  auto over_a_number = [&] {
    const ImRect at = find(slider("kernel_size"));
    ASSERT_GT(at.GetWidth(), 50);
    a_.screen.mouse(at.GetCenter().x, at.GetCenter().y);
    a_.screen.frames(*a_, 2);
  };
  over_a_number();
  const Document before = a_->document();
  a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, true);
  a_.screen.wheel(*a_, -1);
  a_.screen.io().AddKeyEvent(ImGuiMod_Ctrl, false);
  a_.screen.frames(*a_, 3);
  EXPECT_EQ(panel->Scroll.y, 0);
  EXPECT_EQ(a_->document().problem.kernel_size, before.problem.kernel_size - 1);
  a_.screen.wheel(*a_, -1);
  a_.screen.frames(*a_, 3);
  EXPECT_GT(panel->Scroll.y, 0);
  EXPECT_EQ(a_->document().problem.kernel_size, before.problem.kernel_size - 1);
}

TEST_F(Parameters, TypingIsOneStep) {
  ImGuiID seed = test::Screen::id("Problem", {"inputs", "##seed"});
  ImGui::ActivateItemByID(seed);
  a_.screen.frames(*a_, 3);
  ASSERT_TRUE(a_.screen.io().WantTextInput);
  a_.screen.press(*a_, ImGuiMod_Ctrl | ImGuiKey_A);
  a_.screen.type(*a_, "12345");
  a_.screen.press(*a_, ImGuiKey_Enter);
  a_.screen.frames(*a_, 2);
  EXPECT_EQ(a_->document().inputs.seed, 12345u);
  EXPECT_EQ(undo_steps(), steps_ + 1);
}

// ---- maps -----------------------------------------------------------------------------------------------------------

class MapInput : public testing::Test {
 protected:
  MapInput() : a_("", wrong()) {}
  void SetUp() override {
    ASSERT_TRUE(a_.screen.settle(*a_));
    a_.screen.frames(*a_, 5);
    map_ = a_.screen.find(*a_, "Maps", test::Screen::id("Maps", {"#0", "map"}), 0.15f);
    ASSERT_GT(map_.GetWidth(), 100);
    ASSERT_GT(map_.GetHeight(), 100);
    e_ = {static_cast<double>(a_->bench().runs().picture()->rows()),
          static_cast<double>(a_->bench().runs().picture()->columns())};
  }
  static Document wrong() {
    Document d = test::quick_document(200, "S4");
    d.problem.dilation = 2, d.problem.out_channels = 40;
    return d;
  }
  View now() { return fitted(a_->views().now(), e_); }
  void expect_inside() {
    View v = now();
    EXPECT_TRUE(v.row0 >= 0 && v.column0 >= 0 && v.row1 <= e_.rows + 1e-6 && v.column1 <= e_.columns + 1e-6);
  }
  test::AppOnScreen a_;
  ImRect map_;
  Extent e_;
};

TEST_F(MapInput, WheelZoomsAtTheMouse) {
  ImVec2 at = map_.GetCenter();
  a_.screen.mouse(at.x, at.y);
  a_.screen.frames(*a_, 2);
  View before = now();
  for (int i = 0; i < 5; i++) a_.screen.wheel(*a_, 1);
  View after = now();
  EXPECT_NEAR((before.column1 - before.column0) / (after.column1 - after.column0), std::pow(1.25, 5), 0.01);
  EXPECT_NEAR((before.row1 - before.row0) / (after.row1 - after.row0), std::pow(1.25, 5), 0.01);
  EXPECT_NEAR((after.column0 + after.column1) / 2, (before.column0 + before.column1) / 2, 0.02 * e_.columns)
      << "around the mouse";
  expect_inside();
  for (int i = 0; i < 40; i++) a_.screen.wheel(*a_, -1);
  EXPECT_EQ(now().column1 - now().column0, e_.columns);
  for (int i = 0; i < 200; i++) a_.screen.wheel(*a_, 1);
  expect_inside();
  EXPECT_GE(now().column1 - now().column0, 2 - 1e-9);
}

TEST_F(MapInput, ShiftZoomsPositionsAndCtrlChannels) {
  ImVec2 at = map_.GetCenter();
  a_.screen.mouse(at.x, at.y);
  a_.screen.frames(*a_, 2);
  for (auto [modifier, rows] : {std::pair{ImGuiMod_Shift, false}, std::pair{ImGuiMod_Ctrl, true}}) {
    View before = now();
    a_.screen.io().AddKeyEvent(modifier, true);
    a_.screen.wheel(*a_, 1);
    a_.screen.io().AddKeyEvent(modifier, false);
    a_.screen.frame(*a_);
    View after = now();
    EXPECT_EQ(after.row1 - after.row0 < before.row1 - before.row0 - 1e-9, rows);
    EXPECT_EQ(after.column1 - after.column0 < before.column1 - before.column0 - 1e-9, !rows);
  }
}

TEST_F(MapInput, DragMoves) {
  ImVec2 at = map_.GetCenter();
  a_.screen.mouse(at.x, at.y);
  a_.screen.frames(*a_, 2);
  for (int i = 0; i < 6; i++) a_.screen.wheel(*a_, 1);
  View before = now();
  double per_pixel = (before.column1 - before.column0) / static_cast<double>(map_.GetWidth());
  a_.screen.drag(*a_, at, {at.x - 80, at.y - 40}, 16);
  View after = now();
  EXPECT_NEAR(after.column0 - before.column0, 80 * per_pixel, 0.1 * 80 * per_pixel)
      << "what is under the mouse stays under it";
  EXPECT_GT(after.row0, before.row0);
  EXPECT_NEAR(after.column1 - after.column0, before.column1 - before.column0, 1e-6);
  EXPECT_FALSE(a_->views().now().selected) << "a drag is no click";
  expect_inside();
  a_.screen.frames(*a_, 30);  // else the same place pressed again is a double click
  a_.screen.drag(*a_, at, {at.x + 5000, at.y + 5000}, 8);
  EXPECT_EQ(now().column0, 0);
  expect_inside();
}

TEST_F(MapInput, ClickSelects) {
  ImVec2 at{map_.Min.x + map_.GetWidth() * 0.25f, map_.Min.y + map_.GetHeight() * 0.75f};
  a_.screen.click(*a_, at.x, at.y);
  a_.screen.frame(*a_);
  auto selected = a_->views().now().selected;
  ASSERT_TRUE(selected);
  EXPECT_NEAR(static_cast<double>(selected->column), 0.25 * e_.columns, 0.03 * e_.columns);
  EXPECT_NEAR(static_cast<double>(selected->row), 0.75 * e_.rows, 0.05 * e_.rows);
  // … and is explained.
  a_->apply(ShowPanel{"Explain"});
  ASSERT_TRUE(a_.screen.until(*a_, [&] { return a_->bench().explaining().explained() != nullptr; }));
  EXPECT_EQ(a_->bench().explaining().explained()->j, selected->column);
  EXPECT_EQ(a_->bench().explaining().explained()->co, selected->row);
}

TEST_F(MapInput, DoubleClickZoomsToTheNumber) {
  ImVec2 at = map_.GetCenter();
  a_.screen.click(*a_, at.x, at.y);
  a_.screen.button(true);
  a_.screen.frame(*a_);
  a_.screen.button(false);
  a_.screen.frames(*a_, 2);
  EXPECT_LT(now().column1 - now().column0, 0.2 * e_.columns);
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_TRUE(a_->bench().pictures().numbers()) << "the numbers in the cells are there";
  a_->view_back();
  a_->view_back();
  EXPECT_EQ(now().column1 - now().column0, e_.columns);
}

TEST_F(MapInput, HoverReadsTheElement) {
  ImVec2 at = map_.GetCenter();
  a_.screen.mouse(at.x, at.y);
  ASSERT_TRUE(a_.screen.settle(*a_));
  ASSERT_TRUE(a_->bench().pictures().hover());
  std::string text = a_.screen.text(*a_);
  EXPECT_NE(text.find("|e|/bound"), std::string::npos);
}

// A problem of another shape: what was looked at is elsewhere.
TEST_F(MapInput, AnotherShapeShowsEverything) {
  a_->apply(SetView{focused({}, e_, {30, 300}, 4, 4), true});
  Document d = wrong();
  d.problem.length = 20, d.problem.out_channels = 3;
  a_->execute({ReplaceDocument{d, ""}});
  EXPECT_TRUE(a_->views().now().whole());
  EXPECT_FALSE(a_->views().now().selected);
  ASSERT_TRUE(a_.screen.settle(*a_));
  a_->undo();
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_EQ(a_->bench().runs().picture()->rows(), 40);
}

TEST_F(MapInput, CopiesWhatIsShown) {
  a_->apply(SetView{focused({}, e_, {5, 60}, 4, 4), true});
  ASSERT_TRUE(a_.screen.settle(*a_));
  a_.screen.press(*a_, ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_C);
  ASSERT_TRUE(a_.screen.until(*a_, [&] { return !a_.screen.clipboard.empty(); })) << "the engine has the values";
  EXPECT_TRUE(a_.screen.clipboard.starts_with("n,co,j,output,reference,error,error_over_bound\n"))
      << a_.screen.clipboard.substr(0, 200);
  EXPECT_NE(a_.screen.clipboard.find("\n0,5,60,"), std::string::npos);
}

// ---- keys that come faster than frames -----------------------------------------------------------------------------

class FastKeys : public testing::Test {
 protected:
  FastKeys() : a_(test::silent_engine, test::quick_document(), false) {
    ImGui::GetIO().ConfigInputTrickleEventQueue = true;  // as in the window
  }
  // Ctrl is down; T is pressed, Ctrl let go and then T, all between two frames. How often the chord is seen in the next
  // ones.
  int seen(bool in_order) {
    ImGuiIO& io = ImGui::GetIO();
    io.AddKeyEvent(ImGuiMod_Ctrl, true), io.AddKeyEvent(ImGuiKey_LeftCtrl, true);
    for (int i = 0; i < 3; i++) a_.screen.frame(*a_);
    KeyOrder keys;
    io.AddKeyEvent(ImGuiKey_T, true);
    io.AddKeyEvent(ImGuiMod_Ctrl, false), io.AddKeyEvent(ImGuiKey_LeftCtrl, false);
    io.AddKeyEvent(ImGuiKey_T, false);
    int n = 0;
    for (int i = 0; i < 8; i++) {
      if (in_order) keys.before_frame();
      ImGui::NewFrame();
      if (in_order) keys.after_frame_has_begun();
      n += ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_T);
      ImGui::EndFrame();
    }
    EXPECT_FALSE(keys.waiting());
    EXPECT_FALSE(ImGui::IsKeyDown(ImGuiKey_T));
    EXPECT_EQ(io.KeyMods, ImGuiMod_None);
    return n;
  }
  test::AppOnScreen a_;
};

TEST_F(FastKeys, AChordIsSeenOnce) { EXPECT_EQ(seen(true), 1); }
TEST_F(FastKeys, WithoutOrderItIsLost) { EXPECT_EQ(seen(false), 0); }

}  // namespace
}  // namespace convscope::ui
