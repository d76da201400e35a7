// The status bar gives way in an order, and what it cannot show is where the mouse is. Ticks of axes are words of one
// kind, and have room.
#include <gtest/gtest.h>

#include "app/ui/panels/plots.h"
#include "app/ui/panels/sweep_picture.h"
#include "app/ui/status_parts.h"
#include "app/ui/widgets.h"
#include "tests/app/engine/harness.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;
using F = StatusForm;

TEST(StatusBar, GivesWayInItsOrder) {
  // An accuracy, a recording, the verdict, its time.
  const std::vector<StatusWidths> parts = {{100, 40, 5}, {200, 80, 6}, {300, 50, 0}, {150, 0, 1}};
  auto at = [&](float room) { return fit_status(parts, room); };
  EXPECT_EQ(at(750), (std::vector{F::whole, F::whole, F::whole, F::whole}));
  EXPECT_EQ(at(700), (std::vector{F::shorter, F::whole, F::whole, F::whole}));
  EXPECT_EQ(at(600), (std::vector{F::shorter, F::shorter, F::whole, F::whole}));
  EXPECT_EQ(at(500), (std::vector{F::shorter, F::shorter, F::whole, F::gone})) << "the time goes first";
  EXPECT_EQ(at(390), (std::vector{F::gone, F::shorter, F::whole, F::gone}));
  EXPECT_EQ(at(310), (std::vector{F::gone, F::gone, F::whole, F::gone})) << "the verdict stays";
  EXPECT_EQ(at(60), (std::vector{F::gone, F::gone, F::shorter, F::gone}));
  EXPECT_EQ(fit_status({}, 10).size(), 0u);
}

TEST(StatusBar, KeepsTheVerdictInANarrowWindow) {
  test::AppOnScreen a(test::full_engine(), test::quick_document(), false);
  ASSERT_TRUE(a.open_recording("h200-kernelbench-79"));
  a->execute({SetKernel{"hopper_tf32"}, 0});
  auto status = [&](float width) {
    a.screen.resize(width, 700);
    a.screen.frames(*a, 8);
    const std::string text = a.screen.text(*a);
    const size_t at = text.find("idle");
    return at == text.npos ? "" : text.substr(at, 260);
  };
  const std::string wide = status(1600), narrow = status(560);
  for (const char* part : {"tf32 allowed", "recorded: NVIDIA H200", "elements within the bound", "hopper_tf32 356 µs"})
    EXPECT_TRUE(holds(wide, part)) << part << "\n" << wide;
  EXPECT_TRUE(holds(narrow, "elements within the bound")) << narrow;
  EXPECT_TRUE(holds(narrow, "recorded")) << narrow;
  for (const char* part : {"recorded: NVIDIA H200", "hopper_tf32 356 µs", "picture"})
    EXPECT_FALSE(holds(narrow, part)) << part << "\n" << narrow;
}

// What a verdict is asked beside everything else is said where one looks for what is done, and Esc ends it.
TEST(StatusBar, SaysWhatIsLookedForBesideAndEscEndsIt) {
  test::AppOnScreen a("", test::quick_document(60, "S4"));
  ASSERT_TRUE(a.screen.settle(*a));
  auto says = [&](const char* words) { return holds(a.screen.text(*a), words); };
  const Report* r = a->bench().runs().report().get();
  ASSERT_TRUE(r && r->status == "wrong");
  EXPECT_TRUE(says("idle") && !says("Cancel (Esc)"));

  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_F9);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().mending().waits(); }));
  EXPECT_TRUE(says("Cancel (Esc)") && says("looking for an edit")) << a.screen.text(*a);
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 2);
  EXPECT_FALSE(a->bench().mending().waits());
  EXPECT_TRUE(says("idle") && !says("Cancel (Esc)") && says("Look for one"));

  a.screen.press(*a, ImGuiMod_Shift | ImGuiKey_F9);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().checks().now().running; }));
  EXPECT_TRUE(says("Cancel (Esc)") && says("other problems: ")) << a.screen.text(*a);
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 2);
  EXPECT_FALSE(a->bench().checks().now().running);
  EXPECT_TRUE(says("idle") && !says("Cancel (Esc)"));
}

// One that is there at once is not worth a word: with every step of a slider the bar would flicker.
TEST(StatusBar, NamesAnXrayThatTakesLonger) {
  test::AppOnScreen a("", test::quick_document(60, "tiled"));
  ASSERT_TRUE(a.screen.settle(*a));
  Workbench& bench = a->bench();
  bench.causes().want(*bench.runs().report(), true);
  ASSERT_TRUE(bench.causes().waits());
  // Without the engine's answers time passes on the screen alone.
  a.screen.frame(*a, 0.1);
  if (!bench.causes().waits()) GTEST_SKIP() << "it was there at once";
  EXPECT_FALSE(holds(a.screen.text(*a), "x-ray: which index")) << "not yet";
  for (int i = 0; i < 8 && bench.causes().waits(); i++) a.screen.frame(*a, 0.1);
  if (!bench.causes().waits()) GTEST_SKIP() << "it was there at once";
  EXPECT_TRUE(holds(a.screen.text(*a), "x-ray: which index")) << a.screen.text(*a);
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 2);
  EXPECT_FALSE(bench.causes().waits());
}

TEST(Ticks, OfValuesHaveRoom) {
  using plots::round_ticks;
  EXPECT_EQ(round_ticks(-0.5, 0.25, 120, 16).size(), 4u);
  for (float height : {18.0f, 30.0f, 60.0f, 200.0f, 800.0f})
    for (auto [low, high] : {std::pair{-0.5, 0.25}, {-1.2e-7, 3e-7}, {0.001, 900.0}, {-3.0, -2.9}}) {
      const auto at = round_ticks(low, high, height, 16);
      EXPECT_LE(static_cast<float>(at.size()), std::max(2.0f, height / 20));
      EXPECT_GE(at.size(), height < 30 ? 0u : 2u) << low << " to " << high << " on " << height << " pixels";
      for (size_t i = 0; i < at.size(); i++) {
        if (i > 0) {
          EXPECT_GT((at[i] - at[i - 1]) / (high - low) * height, 16) << "a line of text each";
        }
        EXPECT_TRUE(at[i] >= low - 1e-12 && at[i] <= high + 1e-12);
        EXPECT_FALSE(at[i] == 0 && std::signbit(at[i])) << "-0";
      }
    }
  EXPECT_TRUE(round_ticks(1, 1, 100, 16).empty());
  EXPECT_TRUE(round_ticks(0, std::numeric_limits<double>::infinity(), 100, 16).empty());
}

TEST(Words, ANumberKeepsItsUnitWhereTextWraps) {
  EXPECT_EQ(units_kept("the memory 79 % with 1.00 times them"), "the memory 79\u00a0% with 1.00 times them");
  EXPECT_EQ(units_kept("took 12.3 µs; 4 KiB, 41 °C (2 GB/s)"),
            "took 12.3\u00a0µs; 4\u00a0KiB, 41\u00a0°C (2\u00a0GB/s)");
  for (const char* other : {"18 of 76 outputs", "a B 3", "0 Bytes", "channel 3 shifts", "% 3", " %", "s 1, p 0"})
    EXPECT_EQ(units_kept(other), other);
}

TEST(Words, ANameIsNotCutBehindItsDot) {
  test::Screen screen;
  screen.frame([] {
    const std::string words = "it does not compile: mine.cu:12: expected a semicolon before x.y, as in a.b";
    int cut = 0;
    for (float width = 60; width < 700; width += 7) {
      const std::string kept = names_kept(words, width);
      std::string back = kept;
      std::replace(back.begin(), back.end(), '\n', ' ');
      EXPECT_EQ(back, words);
      const char *at = kept.c_str(), *end = at + kept.size();
      auto wraps = [&](const char* from) {
        return ImGui::GetFont()->CalcWordWrapPosition(ImGui::GetFontSize(), from, end, width);
      };
      for (const char* next; at < end; at = next) {
        next = wraps(at);
        if (next >= end || next <= at) break;
        // Where it has a line of its own and no room there, it is cut as every word is.
        const std::string_view line(at, static_cast<size_t>(next - at));
        if (next[-1] == '.' && *next != ' ' && line.find(' ') != line.npos) cut++;
        while (next < end && (*next == ' ' || *next == '\n')) next++;
      }
    }
    EXPECT_EQ(cut, 0);
    EXPECT_EQ(names_kept("short", 10000), "short");
    EXPECT_EQ(names_kept("", 10), "");
  });
}

TEST(Ticks, OfDecadesAreOfOneKind) {
  using namespace plots;
  auto names = [](int low, int high) {
    std::string all;
    for (int d = low; d <= high; d++) all += alike(decade_text, low, high)(d) + " ";
    return all;
  };
  EXPECT_EQ(names(-3, 1), "0.001 0.01 0.1 1 10 ");
  EXPECT_EQ(names(-4, 2), "1e-4 1e-3 1e-2 1e-1 1 1e1 1e2 ");
  EXPECT_EQ(alike(giga_text, -9, 9)(2), "100 G") << "which has prefixes";
}

TEST(Ticks, OfTimesHaveAUnitAndNoNoughts) {
  EXPECT_EQ(time_tick(10), "10 ms");
  EXPECT_EQ(time_tick(0.005), "5 µs");
  EXPECT_EQ(time_tick(2e-7), "0.2 ns");
  EXPECT_EQ(time_tick(100), "100 ms");
  EXPECT_EQ(time_tick(1500), "1.5 s");
  EXPECT_EQ(times_tick(10000), "10,000×");
  EXPECT_EQ(times_tick(0.5), "0.5×");
  // Nor is a floor of nanoseconds nothing.
  EXPECT_EQ(time_text(4e-7), "0.40 ns");
  EXPECT_EQ(time_text(0.000123), "123 ns");
}

// A floor of nanoseconds below kernels of microseconds would press their curves into one line.
TEST(SweepPicture, AFloorFarBelowHasNoPlaceInIt) {
  const auto near = shown_heights(0.01, 0.02, 0.001), far = shown_heights(0.01, 0.02, 1e-7),
             none = shown_heights(0.01, 0.02, std::numeric_limits<double>::infinity());
  ASSERT_TRUE(near && far && none);
  EXPECT_FALSE(near->floor_below);
  EXPECT_LT(near->low, -3);
  EXPECT_TRUE(far->floor_below);
  EXPECT_GT(far->low, -2.2);
  EXPECT_FALSE(none->floor_below);
  EXPECT_EQ(none->low, far->low);
  EXPECT_FALSE(shown_heights(1e300, 0, 0.001)) << "no kernel has a time";
}

}  // namespace
}  // namespace convscope::ui
