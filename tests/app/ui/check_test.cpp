// What the panel Verdict says of other problems: a hundred that are drawn when somebody asks (Shift+F9), and the
// smallest that fails, which can be opened.
#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

constexpr ImGuiKeyChord check_key = ImGuiMod_Shift | ImGuiKey_F9;

bool over(test::AppOnScreen& a) {
  return a.screen.until(
      *a, [&] { return a->bench().checks().now().fuzz && !a->bench().checks().now().running; }, 60);
}

TEST(CheckPanel, ARightKernelIsRightOnAHundred) {
  test::AppOnScreen a("", test::quick_document(60, "polyphase"));
  ASSERT_TRUE(a.screen.settle(*a));
  for (const char* said : {"On other problems", "Check 100 others"})
    EXPECT_TRUE(holds(a.said("Verdict"), said)) << said;
  a.screen.press(*a, check_key);
  ASSERT_TRUE(over(a));
  EXPECT_TRUE(holds(a.said("Verdict"), "right on all 100 that were drawn")) << a.said("Verdict");
  const ConvProblem before = a->document().problem;
  ConvProblem other = before;
  other.bias = !other.bias;
  a->execute({SetProblem{other}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_TRUE(holds(a.said("Verdict"), "asked before the problem was changed")) << a.said("Verdict");
  a->execute({SetProblem{before}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_FALSE(holds(a.said("Verdict"), "asked before the problem was changed"));
  // Again: others.
  const uint64_t seed = a->bench().checks().now().seed;
  a.screen.press(*a, check_key);
  ASSERT_TRUE(over(a));
  EXPECT_NE(a->bench().checks().now().seed, seed);
  // Of another kernel nothing is known yet.
  a->execute({SetKernel{"tiled"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_FALSE(holds(a.said("Verdict"), "right on all 100"));
}

TEST(CheckPanel, TheSmallestThatFailsCanBeOpened) {
  Document d = test::quick_document(60, "S4");
  d.problem.stride = 1, d.problem.output_padding = 0;  // right here
  test::AppOnScreen a("", d);
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_EQ(a->bench().runs().report()->status, "right");
  a.screen.press(*a, check_key);
  ASSERT_TRUE(over(a));
  const std::string text = a.said("Verdict");
  EXPECT_TRUE(holds(text, "1 × 1→1, K 2, L 1, s 2, p 0, d 1: wrong: ")) << text;
  EXPECT_TRUE(holds(text, "Open this problem"));
  const ConvProblem smallest = a->bench().checks().now().fuzz->smallest()->problem, before = a->document().problem;
  a->execute({SetProblem{smallest}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_EQ(a->bench().runs().report()->status, "wrong");
  EXPECT_FALSE(holds(a.said("Verdict"), "Open this problem")) << "it is open";
  a->undo();
  EXPECT_EQ(a->document().problem, before);
}

// Who asks sees what comes of it, on a laptop's screen as well.
TEST(CheckPanel, WhatWasAskedForComesIntoSight) {
  test::AppOnScreen a("", test::quick_document(60, "S4"));
  a.screen.resize(1280, 720);
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.frames(*a, 8);
  auto scroll = [] { return ImGui::FindWindowByName("Verdict")->Scroll.y; };
  EXPECT_EQ(scroll(), 0) << "nobody has asked for anything";
  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_F9);
  const Report r = *a->bench().runs().report();
  ASSERT_TRUE(a.screen.until(
      *a, [&] { return a->bench().mending().of(r); }, 60));
  a.screen.frames(*a, 8);
  EXPECT_GT(scroll(), 0) << "the edit";
  ImGui::SetScrollY(ImGui::FindWindowByName("Verdict"), 0);
  a.screen.frames(*a, 8);
  EXPECT_EQ(scroll(), 0) << "it is left where a person has put it";
  a.screen.press(*a, check_key);
  ASSERT_TRUE(over(a));
  a.screen.frames(*a, 8);
  EXPECT_GT(scroll(), 0) << "the other problems";
}

TEST(CheckPanel, StopsAndGivesWay) {
  test::AppOnScreen a("", test::quick_document(60, "direct"));
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.press(*a, check_key);
  ASSERT_TRUE(a.screen.until(
      *a, [&] { return a->bench().checks().now().fuzz && a->bench().checks().now().fuzz->right() > 0; }));
  // A run goes between two problems, and the search goes on.
  Document other = a->document();
  other.problem.length = 61;
  a->execute({SetProblem{other.problem}, 0});
  ASSERT_TRUE(a.screen.until(*a, [&] {
    return a->bench().runs().report() && a->bench().runs().report()->final &&
           a->bench().runs().report()->document.problem == other.problem;
  }));
  EXPECT_LT(a->bench().checks().now().fuzz->right(), 100) << "it was not waited for";
  ASSERT_TRUE(over(a));
  EXPECT_EQ(a->bench().checks().now().fuzz->right(), 100);
  a.screen.press(*a, check_key);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().checks().now().fuzz->right() > 0; }));
  a.screen.press(*a, check_key);
  a.screen.frames(*a, 3);
  EXPECT_FALSE(a->bench().checks().now().running);
  EXPECT_TRUE(holds(a.said("Verdict"), "of 100: stopped")) << a.said("Verdict");
}

// A file's values are of the problem that is shown: others are drawn.
TEST(CheckPanel, WithInputsFromAFile) {
  Document d = test::quick_document(60, "polyphase");
  d.inputs.x.kind = InputKind::file, d.inputs.x.file = "x.npy";
  d.inputs.x.values =
      make_tensor(DType::f32, {d.problem.batch, d.problem.in_channels, d.problem.length}, [](auto* out, int64_t count) {
        for (int64_t e = 0; e < count; e++) out[e] = 0.5f;
      });
  test::AppOnScreen a("", d);
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_EQ(a->bench().runs().report()->status, "right") << a->bench().runs().report()->sentence;
  a.screen.press(*a, check_key);
  ASSERT_TRUE(over(a));
  EXPECT_TRUE(holds(a.said("Verdict"), "right on all 100 that were drawn")) << a.said("Verdict");
}

// Each crash takes the engine with it: the search goes on with another one, and so does the window.
TEST(CheckPanel, ACrashEndsNoSearch) {
  test::AppOnScreen a(test::test_engine(), test::quick_document(60, "healthy"));
  ASSERT_TRUE(a.screen.settle(*a));
  a->execute({SetKernel{"divide_by_zero"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.press(*a, check_key);
  ASSERT_TRUE(over(a));
  EXPECT_EQ(a->bench().checks().now().fuzz->first()->status, Status::crashed);
  EXPECT_TRUE(holds(a.said("Verdict"), "crashed: ")) << a.said("Verdict");
}

}  // namespace
}  // namespace convscope::ui
