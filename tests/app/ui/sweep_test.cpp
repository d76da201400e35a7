// The panel Sweep: what the planner's model says comes by itself and follows every change, verdicts when somebody asks
// (F10); a click on a value sets the parameter to it.
#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

void sweep_over_axis(test::AppOnScreen& a, const std::string& over, std::vector<std::string> with = {"auto"}) {
  Settings s = a->settings();
  s.sweep_over = over, s.sweep_with = std::move(with);
  a->apply(SetSettings{s});
}

bool swept(test::AppOnScreen& a) {
  return a.screen.until(
      *a, [&] { return a->bench().sweeps().now().sweep && !a->bench().sweeps().now().running; }, 60);
}

TEST(SweepPanel, FollowsTheModelAndJudgesWhenAsked) {
  test::AppOnScreen a("", test::quick_document(60, "S4"));
  sweep_over_axis(a, "stride=1..3");
  ASSERT_TRUE(a.screen.settle(*a));
  a->show_only("Sweep");
  ASSERT_TRUE(a.screen.until(*a, [&] {
    const auto& p = a->bench().sweeps().preview();
    return p.sweep && p.sweep->over();
  }));
  std::string text = a.screen.text(*a);
  for (const char* said :
       {"Sweep (F10) judges each kernel", "predicted by the planner's model for NVIDIA H200", "floor", "auto"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
  EXPECT_FALSE(a->bench().sweeps().now().sweep) << "nobody has asked";
  a.screen.press(*a, ImGuiKey_F10);
  ASSERT_TRUE(swept(a));
  text = a.screen.text(*a);
  for (const char* said : {"S4: wrong at stride 2 and 3", "right at 1", "auto: right at all 3 values of stride"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
  // Where the axis stands changes nothing, another problem does, and undo brings it back.
  ConvProblem p = a->document().problem;
  p.stride = 3;
  a->execute({SetProblem{p}, 0});
  a.screen.frames(*a, 2);
  EXPECT_TRUE(holds(a.screen.text(*a), "S4: wrong at stride 2 and 3"));
  p.padding = p.padding ? 0 : 1;
  a->execute({SetProblem{p}, 0});
  a.screen.frames(*a, 2);
  text = a.screen.text(*a);
  EXPECT_FALSE(holds(text, "S4: wrong at stride"));
  EXPECT_TRUE(holds(text, "Verdicts are of another problem or axis")) << text;
  a->undo();
  a.screen.frames(*a, 2);
  EXPECT_TRUE(holds(a.screen.text(*a), "S4: wrong at stride 2 and 3"));
}

TEST(SweepPanel, AClickSetsTheParameter) {
  test::AppOnScreen a("", test::quick_document(60, "S4"));
  sweep_over_axis(a, "dilation=1..4");
  ASSERT_TRUE(a.screen.settle(*a));
  a->show_only("Sweep");
  ASSERT_TRUE(a.screen.until(*a, [&] {
    const auto& p = a->bench().sweeps().preview();
    return p.sweep && p.sweep->over();
  }));
  const ImRect values = a.screen.find(*a, "Sweep", test::Screen::id("Sweep", {"##columns"}), 0.9f);
  ASSERT_GT(values.GetWidth(), 100);
  const float column = values.GetWidth() / 4;
  const ConvProblem before = a->document().problem;
  ASSERT_NE(before.dilation, 3);
  a.screen.click(*a, values.Min.x + 2.5f * column, values.GetCenter().y);
  a.screen.frames(*a, 2);
  EXPECT_EQ(a->document().problem.dilation, 3);
  a->undo();
  EXPECT_EQ(a->document().problem, before);
  // What is pointed at is told.
  a.screen.mouse(values.Min.x + 0.5f * column, values.GetCenter().y);
  a.screen.frames(*a, 2);
  const std::string text = a.screen.text(*a);
  EXPECT_TRUE(holds(text, "dilation 1") && holds(text, "times the floor, predicted") &&
              holds(text, "a click sets the problem"))
      << text;
}

TEST(SweepPanel, WhatIsHalfTypedIsSaid) {
  test::AppOnScreen a("", test::quick_document(60, "S4"));
  ASSERT_TRUE(a.screen.settle(*a));
  sweep_over_axis(a, "stride=1..");
  a->show_only("Sweep");
  a.screen.frames(*a, 2);
  EXPECT_TRUE(holds(a.screen.text(*a), "over 1.. must be a whole number, A..B")) << a.screen.text(*a);
  a.screen.press(*a, ImGuiKey_F10);
  EXPECT_FALSE(a->bench().sweeps().now().sweep);
  EXPECT_TRUE(holds(a->toast(), "must be a whole number")) << a->toast();
  sweep_over_axis(a, "groups=5");
  a.screen.frames(*a, 2);
  EXPECT_TRUE(holds(a.screen.text(*a), "over groups makes no legal problem: groups 5 must divide"))
      << a.screen.text(*a);
}

TEST(SweepPanel, StopsAndGivesWay) {
  test::AppOnScreen a("", test::quick_document(60, "direct"));
  sweep_over_axis(a, "length=60..91");
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.press(*a, ImGuiKey_F10);
  auto judged = [&] {
    int n = 0;
    for (const auto& p : a->bench().sweeps().now().sweep->points())
      n += !p.entries.empty() && p.entries[0].status.has_value();
    return n;
  };
  ASSERT_TRUE(a.screen.until(*a, [&] { return judged() > 0; }));
  // A run goes between two values.
  Document other = a->document();
  other.problem.padding = other.problem.padding ? 0 : 1;
  a->execute({SetProblem{other.problem}, 0});
  ASSERT_TRUE(a.screen.until(*a, [&] {
    return a->bench().runs().report() && a->bench().runs().report()->final &&
           a->bench().runs().report()->document.problem == other.problem;
  }));
  EXPECT_LT(judged(), 32) << "it was not waited for";
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 3);
  EXPECT_FALSE(a->bench().sweeps().now().running);
  EXPECT_EQ(a->bench().sweeps().now().trouble, "stopped");
  const int then = judged();
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_EQ(judged(), then) << "and nothing more comes";
  // Where it was asked, it goes on from there.
  a->undo();
  ASSERT_TRUE(a.screen.settle(*a));
  a->show_only("Sweep");
  EXPECT_TRUE(holds(a.screen.text(*a), "Go on")) << a.screen.text(*a);
  a.screen.press(*a, ImGuiKey_F10);
  EXPECT_TRUE(a->bench().sweeps().now().running);
  EXPECT_EQ(a->bench().sweeps().now().trouble, "");
  EXPECT_GE(judged(), then) << "what had come stays";
  ASSERT_TRUE(swept(a));
  EXPECT_EQ(judged(), 32);
}

TEST(SweepPanel, ACrashEndsOneValue) {
  test::AppOnScreen a(test::test_engine(), test::quick_document(60, "wild_write"));
  sweep_over_axis(a, "stride=1..2", {"direct"});
  ASSERT_TRUE(a.screen.settle(*a));
  a->show_only("Sweep");
  a.screen.press(*a, ImGuiKey_F10);
  ASSERT_TRUE(swept(a));
  const std::string text = a.screen.text(*a);
  EXPECT_TRUE(holds(text, "wild_write: crashed or hung at 1 and 2")) << text;
  EXPECT_TRUE(holds(text, "direct: right at all 2 values of stride")) << text;
}

}  // namespace
}  // namespace convscope::ui
