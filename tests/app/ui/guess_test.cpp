// The panel Explain asks before it tells: what is right is the operator's, an answer has its numbers, and nothing on
// the panel gives it away before.
#include <algorithm>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "app/ui/panels/explain_guess.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

ConvProblem layer(int64_t length, int64_t taps, int64_t stride, int64_t padding, int64_t dilation) {
  ConvProblem p;
  p.length = length, p.kernel_size = taps, p.stride = stride, p.padding = padding, p.dilation = dilation;
  return p;
}

TEST(Guess, WhatIsRightIsTheOperators) {
  int none = 0;
  for (const ConvProblem& p : {layer(9, 3, 2, 1, 1), layer(7, 5, 4, 0, 1), layer(6, 3, 2, 1, 2), layer(5, 4, 3, 2, 3),
                               layer(1, 1, 1, 0, 1), layer(8, 2, 5, 0, 1)}) {
    ASSERT_TRUE(can_be_guessed(p));
    std::vector<std::vector<int64_t>> into(static_cast<size_t>(p.out_length()));
    for (int64_t i = 0; i < p.length; i++) {
      std::vector<int64_t> goes;
      for (int64_t k = 0; k < p.kernel_size; k++) {
        const int64_t j = i * p.stride - p.padding + k * p.dilation;
        if (j >= 0 && j < p.out_length()) goes.push_back(j), into[static_cast<size_t>(j)].push_back(i);
      }
      const Question q{p, Direction::scatter, i};
      EXPECT_EQ(right_positions(q), goes) << describe(p) << ", i " << i;
      for (int64_t j : goes) EXPECT_TRUE(j >= asked_range(q).first && j <= asked_range(q).last);
    }
    for (int64_t j = 0; j < p.out_length(); j++) {
      const Question q{p, Direction::gather, j};
      const auto& right = into[static_cast<size_t>(j)];
      none += right.empty();
      EXPECT_EQ(right_positions(q), right) << describe(p) << ", j " << j;
      // What is asked for can be clicked, with others beside it.
      const Range range = asked_range(q);
      for (int64_t i : right) EXPECT_TRUE(i > range.first && i < range.last) << describe(p) << ", j " << j;
      EXPECT_GE(range.last - range.first, 3);
      EXPECT_TRUE(judged(q, right).right);
      auto other = right;
      other.push_back(range.last);
      EXPECT_FALSE(judged(q, other).right);
    }
  }
  EXPECT_GT(none, 0);
  EXPECT_FALSE(can_be_guessed(layer(60, 17, 1, 0, 1)));
  EXPECT_FALSE(can_be_guessed(layer(60, 5, 1, 0, 20)));
}

TEST(Guess, AnAnswerHasItsNumbers) {
  const ConvProblem p = layer(9, 3, 2, 1, 1);
  const Question gather{p, Direction::gather, 7}, empty{layer(6, 3, 2, 1, 2), Direction::gather, 4},
      scatter{p, Direction::scatter, 3};
  using Lines = std::vector<std::string>;
  EXPECT_EQ(judged(gather, {3, 4}).lines,
            (Lines{"i = 3 by k = 2: (7 + 1 − 2·1)/2 = 3", "i = 4 by k = 0: (7 + 1 − 0·1)/2 = 4"}));
  const Judged wrong = judged(gather, {4, 5});
  EXPECT_FALSE(wrong.right);
  EXPECT_EQ(wrong.lines, (Lines{"Not i = 5: it goes to j = 9, 10, 11, and not to 7.",
                                "Missed: i = 3 by k = 2: (7 + 1 − 2·1)/2 = 3"}));
  EXPECT_EQ(judged(empty, {}).lines, (Lines{"None belongs to it: (4 + 1 − k·2)/2 is a whole number from 0 to 5 for no "
                                            "k. It is 0."}));
  EXPECT_EQ(judged(empty, {2}).lines.size(), 2u) << "why this one does not, and that none does";
  EXPECT_EQ(judged(empty, {2}).lines.front(), judged(empty, {}).lines.front());
  EXPECT_EQ(judged(scatter, {5, 6, 8}).lines,
            (Lines{"Not j = 8: i = 3 goes to j = 5, 6, 7.", "Missed: j = 7 by k = 2: 3·2 − 1 + 2·1 = 7"}));
  EXPECT_EQ(judged(scatter, {0, 1, 2, 3, 4, 5, 6, 7}).lines.back(), "and 1 more");
}

TEST(Guess, KeepsCountAndAsksForOthers) {
  Guess g;
  EXPECT_FALSE(g.waits());
  g.turn(true);
  Question q{layer(9, 3, 2, 1, 1), Direction::gather, 7};
  ASSERT_TRUE(g.ask(q));
  EXPECT_TRUE(g.waits() && g.score().empty());
  g.toggle(4), g.toggle(9), g.toggle(3), g.toggle(9);
  EXPECT_EQ(g.chosen(), (std::vector<int64_t>{3, 4}));
  ASSERT_TRUE(g.ask(q));
  EXPECT_TRUE(g.has(4)) << "it is asked for in every frame";
  g.check(), g.check();
  EXPECT_TRUE(!g.waits() && g.answer()->right);
  EXPECT_EQ(g.score(), "1 of 1 right");
  std::set<int64_t> asked;
  for (int i = 0; i < 40; i++) {
    const int64_t at = g.another();
    EXPECT_NE(at, q.at);
    ASSERT_TRUE(at >= 0 && at < q.problem.out_length());
    q.at = at;
    ASSERT_TRUE(g.ask(q));
    EXPECT_TRUE(g.waits() && g.chosen().empty());
    asked.insert(at);
  }
  EXPECT_GT(asked.size(), 8u);
  g.toggle(0), g.toggle(1), g.toggle(2), g.toggle(3);
  g.check();
  EXPECT_EQ(g.score(), "1 of 2 right");
  EXPECT_FALSE(g.ask({layer(60, 17, 1, 0, 1), Direction::gather, 3}));
  g.turn(false);
  EXPECT_FALSE(g.waits());
}

TEST(GuessPanel, NothingGivesTheAnswerAwayUntilItIsChecked) {
  test::AppOnScreen a("", test::quick_document(60, "S0"));
  ASSERT_TRUE(a.screen.settle(*a));
  guess().turn(false);
  a.screen.press(*a, ImGuiKey_G);
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_TRUE(guess().waits());
  ASSERT_TRUE(a->views().now().selected) << "one in the middle, since none was";
  const int64_t j = a->views().now().selected->column;
  EXPECT_EQ(j, a->document().problem.out_length() / 2);
  std::string text = a.said("Explain");
  EXPECT_TRUE(holds(text, "Which inputs i belong to y[0, 0, 59]?") && holds(text, "none chosen")) << text;
  EXPECT_TRUE(holds(text, "stride s = 2, padding p = 1, dilation d = 1, taps k = 0…2")) << text;
  for (const char* later : {"expected", "Who wrote it", "does not belong", "by k ="})
    EXPECT_FALSE(holds(text, later)) << later << "\n" << text;

  // A click on a cell chooses it, another one takes that back; a cell of the outputs is none.
  a->show_only("Explain");
  a.screen.frames(*a, 4);
  const ImGuiWindow* taps = nullptr;
  for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
    if (w->WasActive && std::string_view(w->Name).find("/taps_") != std::string_view::npos) taps = w;
  ASSERT_TRUE(taps);
  const float em = ImGui::GetFontSize(), middle = taps->Pos.x + taps->Size.x / 2 + em * 0.7f,
              inputs = taps->Pos.y + em * 2;
  a.screen.click(*a, middle, inputs);
  a.screen.frames(*a, 2);
  ASSERT_EQ(guess().chosen().size(), 1u);
  const int64_t first = guess().chosen().front();
  a.screen.click(*a, middle, taps->Pos.y + taps->Size.y - em * 2.2f);
  a.screen.frames(*a, 2);
  EXPECT_EQ(guess().chosen(), std::vector<int64_t>{first});
  EXPECT_EQ(a->views().now().selected->column, j);
  a.screen.click(*a, middle, inputs);
  a.screen.frames(*a, 2);
  EXPECT_TRUE(guess().chosen().empty());

  for (int64_t i : {29, 28}) guess().toggle(i);
  const ImRect check = a.screen.find(*a, "Explain", test::Screen::id("Explain", {"Check"}), 0.02f);
  ASSERT_GT(check.GetWidth(), 0);
  a.screen.click(*a, check.GetCenter().x, check.GetCenter().y);
  a.screen.frames(*a, 3);
  text = a.said("Explain");
  for (const char* said : {"Not quite", "0 of 1 right", "Not i = 28: it goes to j = 55, 56, 57, and not to 59.",
                           "Missed: i = 30 by k = 0: (59 + 1 − 0·1)/2 = 30", "expected", "Another"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;

  // Another one is explained, and asked for, and so is the other direction.
  ImRect another;
  for (float across = 0.08f; across < 0.4f && another.GetWidth() <= 0; across += 0.02f)
    another = a.screen.find(*a, "Explain", test::Screen::id("Explain", {"Another"}), across);
  ASSERT_GT(another.GetWidth(), 0);
  a.screen.click(*a, another.GetCenter().x, another.GetCenter().y);
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_TRUE(guess().waits());
  EXPECT_NE(a->views().now().selected->column, j);
  View v = a->views().now();
  v.from_input = true;
  a->apply(SetView{v, false});
  ASSERT_TRUE(a.screen.settle(*a));
  text = a.said("Explain");
  EXPECT_TRUE(holds(text, "To which outputs j does x[0, ci, ")) << text;
  EXPECT_FALSE(holds(text, "expected")) << text;

  // What has no room on the panel is not asked for, and that is said.
  ConvProblem many = a->document().problem;
  many.kernel_size = 20;
  a->execute({SetProblem{many}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  text = a.said("Explain");
  EXPECT_TRUE(guess().is_on() && holds(text, "nothing to be guessed") && holds(text, "expected")) << text;

  a.screen.press(*a, ImGuiKey_G);
  a.screen.frames(*a, 3);
  EXPECT_TRUE(!guess().is_on() && holds(a.said("Explain"), "expected"));
}

}  // namespace
}  // namespace convscope::ui
