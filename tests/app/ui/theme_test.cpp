// Every colour of text can be read on every ground, in both themes.
#include "app/ui/theme.h"

#include <gtest/gtest.h>

namespace convscope::ui {
namespace {

struct Named {
  const char* name;
  ImVec4 Theme::*colour;
};
constexpr Named inks[] = {{"text", &Theme::text},       {"dim", &Theme::dim},
                          {"right", &Theme::right},     {"wrong", &Theme::wrong},
                          {"warning", &Theme::warning}, {"kernel", &Theme::kernel},
                          {"accent", &Theme::accent},   {"reference", &Theme::reference},
                          {"floor", &Theme::floor}};
constexpr Named grounds[] = {{"background", &Theme::background}, {"panel", &Theme::panel}, {"raised", &Theme::raised}};

TEST(Theme, ContrastIsThatOfWcag) {
  EXPECT_NEAR(contrast({0, 0, 0, 1}, {1, 1, 1, 1}), 21, 1e-9);
  EXPECT_NEAR(contrast({1, 1, 1, 1}, {1, 1, 1, 1}), 1, 1e-9);
  // #767676 on white is known as the lightest grey that passes.
  EXPECT_NEAR(contrast({118 / 255.f, 118 / 255.f, 118 / 255.f, 1}, {1, 1, 1, 1}), 4.54, 0.01);
  EXPECT_EQ(contrast({1, 0, 0, 1}, {0, 0, 1, 1}), contrast({0, 0, 1, 1}, {1, 0, 0, 1}));
}

TEST(Theme, EveryInkOnEveryGround) {
  for (const Theme& t : {dark_theme(), light_theme()})
    for (const auto& ink : inks)
      for (const auto& ground : grounds)
        EXPECT_GE(contrast(t.*ink.colour, t.*ground.colour), 4.5)
            << ink.name << " on " << ground.name << (t.light ? ", light" : ", dark");
}

// What is tinted takes contrast away: badges of the menu bar, the chosen row of a list or table, cells of a sweep.
TEST(Theme, InksOnTintedGrounds) {
  for (const Theme& t : {dark_theme(), light_theme()}) {
    const char* theme = t.light ? "light" : "dark";
    for (const auto& ink : inks) {
      EXPECT_GE(contrast(t.*ink.colour, badge_ground(t, t.*ink.colour)), 4.5) << ink.name << ", badge, " << theme;
      EXPECT_GE(contrast(t.*ink.colour, chosen_ground(t)), 4.5) << ink.name << " in the chosen row, " << theme;
    }
    for (float share : {0.0f, 0.5f, 1.0f}) EXPECT_GE(contrast(t.text, failing_ground(t, share)), 4.5) << theme;
  }
}

// The control: the same inks of one theme do fail on the grounds of the other.
TEST(Theme, InksOfTheOtherThemeFail) {
  Theme dark = dark_theme(), light = light_theme();
  for (const auto& ink : inks) EXPECT_LT(contrast(dark.*ink.colour, light.panel), 4.5) << ink.name;
}

TEST(Theme, KernelReferenceAndVerdictsAreToldApart) {
  for (const Theme& t : {dark_theme(), light_theme()}) {
    auto far = [](const ImVec4& a, const ImVec4& b) {
      return std::abs(a.x - b.x) + std::abs(a.y - b.y) + std::abs(a.z - b.z) > 0.3f;
    };
    EXPECT_TRUE(far(t.kernel, t.reference));
    EXPECT_TRUE(far(t.kernel, t.floor));
    EXPECT_TRUE(far(t.reference, t.floor));
    EXPECT_TRUE(far(t.right, t.wrong));
    EXPECT_TRUE(far(t.warning, t.wrong));
  }
}

}  // namespace
}  // namespace convscope::ui
