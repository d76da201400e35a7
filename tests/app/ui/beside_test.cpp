// Another kernel in the oracle's place: maps, lines, numbers, places, keys.
#include <gtest/gtest.h>

#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

Document wrong_document() {
  Document d = test::quick_document(60, "S4");
  d.problem.stride = 2, d.problem.padding = 1, d.problem.output_padding = 0;
  return d;
}
bool has_beside(test::AppOnScreen& a) {
  return a.screen.until(*a, [&] {
    const Report* r = a->picture();
    return r && a->bench().beside().of(a->document(), *r);
  });
}

TEST(BesidePanel, AltAndANumberPutAKernelThere) {
  test::AppOnScreen a("", wrong_document());
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_TRUE(holds(a.said("Maps"), "oracle (double precision)"));
  const auto& kernels = a->bench().inventory().kernels();
  size_t direct = 0;
  while (direct < kernels.size() && kernels[direct].name != "direct") direct++;
  ASSERT_LT(direct, 9u);
  const auto chord = static_cast<ImGuiKeyChord>(ImGuiMod_Alt | (ImGuiKey_1 + static_cast<int>(direct)));
  a.screen.press(*a, chord);
  EXPECT_EQ(a->document().compare_with, "direct");
  ASSERT_TRUE(has_beside(a));
  ASSERT_TRUE(a.screen.settle(*a));
  const int64_t apart = a->bench().beside().of(a->document(), *a->picture())->beyond;
  ASSERT_GT(apart, 0);
  std::string text = a.said("Maps");
  EXPECT_TRUE(holds(text, "|S4 − direct| / bounds")) << text;
  EXPECT_TRUE(holds(text, std::to_string(apart) + " of ")) << text;
  EXPECT_TRUE(holds(text, "differ")) << text;
  EXPECT_FALSE(holds(text, "oracle")) << text;
  a.said("Lines");
  ASSERT_TRUE(a.screen.settle(*a));
  const MapTile* line = a->bench().pictures().tile(Pictures::Map::lines_reference);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->key, a->bench().beside().of(a->document(), *a->picture())->output);
  EXPECT_TRUE(holds(a.said("Kernels"), "a kernel: "));
  // The next place is one of the difference, and is shown with both numbers.
  a.screen.press(*a, ImGuiKey_N);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->views().now().selected.has_value(); }));
  a.said("Maps");
  const std::string& key = a->bench().beside().of(a->document(), *a->picture())->difference;
  EXPECT_TRUE(a.screen.until(
      *a, [&] { return a->bench().pictures().numbers() && a->bench().pictures().numbers()->key == key; }));
  // The same once more brings the oracle back, and both are steps of undo.
  a.screen.press(*a, chord);
  EXPECT_EQ(a->document().compare_with, "oracle");
  a->undo();
  EXPECT_EQ(a->document().compare_with, "direct");
}

TEST(BesidePanel, TheTwoAreExchanged) {
  Document d = wrong_document();
  d.compare_with = "polyphase";
  test::AppOnScreen a("", d);
  ASSERT_TRUE(has_beside(a));
  a.screen.press(*a, ImGuiKey_X);
  EXPECT_EQ(a->document().kernel, "polyphase");
  EXPECT_EQ(a->document().compare_with, "S4");
  ASSERT_TRUE(has_beside(a));
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_TRUE(holds(a.said("Maps"), "|polyphase − S4| / bounds"));
  a->undo();
  EXPECT_EQ(a->document().kernel, "S4") << "one step";
  EXPECT_EQ(a->document().compare_with, "polyphase");
  a->execute({SetCompareWith{"oracle"}, 0});
  a.screen.press(*a, ImGuiKey_X);
  EXPECT_EQ(a->document().kernel, "S4") << "the oracle is no kernel";
}

TEST(BesidePanel, WhatCannotStandThereSaysWhy) {
  Document d = wrong_document();
  d.compare_with = "held_16bit";
  test::AppOnScreen a("", d);
  ASSERT_TRUE(has_beside(a));
  ASSERT_TRUE(a.screen.settle(*a));
  const std::string text = a.said("Maps");
  EXPECT_TRUE(holds(text, "takes f16 and bf16 only")) << text;
  EXPECT_TRUE(holds(text, "|error| / bound")) << "the third map has the oracle's: " << text;
}

// Two that are the same may both be wrong: what stands beside is judged as well.
TEST(BesidePanel, WhatStandsThereHasAVerdict) {
  test::AppOnScreen a("", wrong_document());
  ASSERT_TRUE(a.screen.settle(*a));
  for (const auto& [with, said] : {std::pair{"S2", "✗ S2 is wrong"}, {"direct", "✓ direct is right"}}) {
    a->execute({SetCompareWith{with}, 0});
    ASSERT_TRUE(has_beside(a));
    ASSERT_TRUE(a.screen.until(*a, [&] {
      const Beside* b = a->bench().beside().of(a->document(), *a->picture());
      return b && !b->status.empty();
    }));
    EXPECT_TRUE(holds(a.said("Maps"), said)) << a.said("Maps");
  }
  // A reference has none.
  a->execute({SetCompareWith{"onednn"}, 0});
  ASSERT_TRUE(has_beside(a));
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_FALSE(holds(a.said("Maps"), "onednn is")) << a.said("Maps");
}

}  // namespace
}  // namespace convscope::ui
