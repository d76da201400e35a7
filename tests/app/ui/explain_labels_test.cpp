// Arrows of the picture of a tap lie side by side, and no label over another.
#include "app/ui/panels/explain_labels.h"

#include <gtest/gtest.h>

#include "app/ui/panels/explain_layout.h"
#include "app/ui/panels/explain_picture.h"
#include "app/ui/panels/explain_words.h"
#include "tests/convolution.h"

namespace convscope::ui {
namespace {

TEST(ExplainLabels, NoneOverAnother) {
  test::Random r(11);
  for (int round = 0; round < 300; round++) {
    std::vector<TapLabel> labels;
    std::vector<ImVec2> sizes;
    const auto count = static_cast<size_t>(test::between(r, 1, 24));
    const auto current = static_cast<size_t>(test::between(r, 0, static_cast<int64_t>(count) - 1));
    for (size_t i = 0; i < count; i++) {
      auto start = static_cast<float>(test::between(r, 0, 200)), end = static_cast<float>(test::between(r, 90, 110));
      labels.push_back({Curve({start, 0}, {end, 100}), 0.2f, "k", 0, 1, TapLabel::Mark::none, i == current});
      sizes.push_back({static_cast<float>(test::between(r, 20, 40)), 14});
    }
    auto at = place_labels(labels, sizes, 1);
    ASSERT_EQ(at.size(), count);
    EXPECT_TRUE(at[current]) << "the one that is walked through always has its name";
    for (size_t i = 0; i < count; i++)
      for (size_t j = 0; j < i; j++) {
        if (!at[i] || !at[j]) continue;
        const bool apart = std::fabs(at[i]->x - at[j]->x) >= (sizes[i].x + sizes[j].x) / 2 ||
                           std::fabs(at[i]->y - at[j]->y) >= (sizes[i].y + sizes[j].y) / 2;
        EXPECT_TRUE(apart) << i << " and " << j;
      }
  }
}

// A few taps at the same input, as in a small kernel that forgets the divisibility test: all have their names.
TEST(ExplainLabels, AFewAllFindAPlace) {
  std::vector<TapLabel> labels;
  std::vector<ImVec2> sizes;
  for (int i = 0; i < 6; i++) {
    const float x = 100 + 6.0f * static_cast<float>(i);
    labels.push_back({Curve({x, 0}, {x - 60, 90}), i % 2 ? 0.42f : 0.2f, "k", 0, 1, TapLabel::Mark::cross, false});
    sizes.push_back({36, 13});
  }
  for (const auto& at : place_labels(labels, sizes, 1)) EXPECT_TRUE(at);
}

ExplainedTap tap(int64_t k, std::optional<int64_t> expected, std::optional<int64_t> read) {
  ExplainedTap t;
  t.k = k, t.expected_i = expected, t.read_i = read;
  return t;
}

// A kernel that does not ask whether i ≥ 0: the arrow comes from the place beside the row.
TEST(ExplainArrows, WhatGoesOnBesideItsRowIsTaken) {
  Explained e;
  e.document.problem = {};
  e.document.problem.stride = 2, e.document.problem.padding = 1, e.document.problem.dilation = 2;
  e.document.problem.kernel_size = 3, e.document.problem.length = 16;
  e.j = 1;
  e.taps = {tap(0, 1, 1), tap(1, 0, 0), tap(2, {}, {})};
  auto sentence = [&] { return words_of(e).sentence; };
  auto nowhere = [&] {
    std::vector<int> order = {0, 1, 2};
    const TapPicture picture{e, 1, order, Direction::gather, 0, {}, false};
    return arrows_of(picture).front();
  };
  EXPECT_EQ(nowhere().kind, TapArrow::Kind::nowhere);
  EXPECT_EQ(tap_state(e.taps[2]), TapState::idle);
  EXPECT_EQ(sentence(), "Every tap takes the input it should.");
  e.taps[2].beside_i = -1, e.taps[2].note = "goes on to i = -1 and reads what lies beyond x";
  EXPECT_EQ(nowhere().kind, TapArrow::Kind::taken);
  EXPECT_EQ(nowhere().place, -1);
  EXPECT_EQ(tap_state(e.taps[2]), TapState::beside);
  EXPECT_EQ(sentence(), "1 tap goes on to what lies beside its row of x.");
  EXPECT_EQ(words_of(e).taps[2].kernel, "i = -1, beside its row");
}

// Values stand in the cells where all of the picture has room for them.
TEST(ExplainCells, HoldValuesWhereTheyFit) {
  Explained e;
  e.document.problem = {};
  e.document.problem.kernel_size = 3, e.document.problem.length = 16;
  e.j = 8;
  e.taps = {tap(0, 8, 8), tap(1, 7, 7), tap(2, 6, 6)};
  e.near_x = {5, {0.5, -0.012345, 1, 2, 3}}, e.near_y = {5, {-1.25e-7, 0, 1, 2, 3, 4, 5}};
  EXPECT_EQ(cell_value(e.near_x, 5), "0.5");
  EXPECT_EQ(cell_value(e.near_x, 6), "-0.012");
  EXPECT_EQ(cell_value(e.near_x, 4), "");
  EXPECT_EQ(cell_value(e.near_x, 10), "");
  EXPECT_EQ(cell_value(e.near_y, 5), "-1e-07");
  std::vector<int> order = {0, 1, 2};
  const TapPicture picture{e, 1, order, Direction::gather, 0, {}, false};
  TapLayout layout;
  make_layout(layout, picture, 16, 600);
  EXPECT_TRUE(layout.values);
  const float cell = layout.top.cell;
  make_layout(layout, picture, 16, 300);
  EXPECT_FALSE(layout.values);
  EXPECT_LT(layout.top.cell, cell);
  EXPECT_LE(layout.bottom.width, 300);
  e.near_x = {}, e.near_y = {};
  make_layout(layout, picture, 16, 600);
  EXPECT_FALSE(layout.values) << "nothing is known";
}

// S4 at position 0 of kernelbench-79: taps 0 and 1 take input 0, where none belongs.
TEST(ExplainArrows, NeitherCrossNorCoverEachOther) {
  Explained e;
  e.document.problem = {};
  e.document.problem.stride = 2, e.document.problem.padding = 1, e.document.problem.dilation = 2;
  e.document.problem.kernel_size = 4, e.document.problem.length = 16;
  e.j = 0;
  e.taps = {tap(0, {}, 0), tap(1, {}, 0), tap(2, {}, {}), tap(3, 2, 2)};
  std::vector<int> order = {0, 1, 2, 3};
  TapPicture picture{e, 1, order, Direction::gather, 0, {}, false};
  auto arrows = arrows_of(picture);
  ASSERT_EQ(arrows.size(), 6u) << "four places, and two that were taken";
  for (size_t i = 1; i < arrows.size(); i++) {
    EXPECT_LE(arrows[i - 1].place, arrows[i].place);
    EXPECT_LT(arrows[i - 1].end, arrows[i].end);
    if (arrows[i - 1].place == arrows[i].place) {
      EXPECT_LT(arrows[i - 1].start, arrows[i].start);
    }
  }
  EXPECT_GT(arrows.front().end, -0.5f);
  EXPECT_LT(arrows.back().end, 0.5f);
}

}  // namespace
}  // namespace convscope::ui
