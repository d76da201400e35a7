// Every lesson that comes with the program is played: its steps show what they say, and what they claim is so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope {
static void PrintTo(const ShippedLesson& l, std::ostream* out) { *out << l.name; }
}  // namespace convscope

namespace convscope::ui {
namespace {

using test::holds;

bool step_is_shown(test::AppOnScreen& a) {
  return a.screen.until(
      *a,
      [&] {
        const Report* r = a->bench().report_of(a->document());
        return a->lesson_shown() && a->settled() && r && r->final && !a->bench().sweeps().now().running &&
               !a->bench().causes().asks_for(*r);
      },
      60);
}

class ShippedLessons : public testing::TestWithParam<ShippedLesson> {};

TEST_P(ShippedLessons, ShowWhatTheySay) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  a->open(GetParam().path);
  ASSERT_TRUE(a->lesson()) << a->toast();
  const Lesson lesson = *a->lesson();
  for (size_t i = 0; i < lesson.steps.size(); i++) {
    const LessonStep& s = lesson.steps[i];
    SCOPED_TRACE(fmt::format("step {}: {}", i + 1, s.title));
    EXPECT_EQ(a->lesson_step(), i);
    EXPECT_EQ(a->views().now().from_input, s.from_input);
    ASSERT_TRUE(step_is_shown(a));
    const Report* r = a->bench().report_of(a->document());
    EXPECT_EQ(a->document().kernel, s.document.kernel);
    EXPECT_EQ(a->document().problem, s.document.problem);
    EXPECT_EQ(!r->recorded.empty(), !s.recording.empty());
    if (!s.expect_status.empty()) {
      EXPECT_EQ(r->status, s.expect_status) << r->sentence;
    }
    const Cause* cause = a->bench().causes().of(*r);
    const std::string said = r->sentence + " " + (cause ? cause->sentence : "");
    EXPECT_TRUE(holds(said, s.expect_says)) << said;
    if (s.selected) {
      EXPECT_EQ(a->views().now().selected, s.selected);
    }
    if (!s.sweep.empty()) {
      EXPECT_TRUE(a->bench().sweeps().now().sweep && a->bench().sweeps().now().sweep->over());
    }
    const std::string text = a.screen.text(*a);
    EXPECT_TRUE(holds(text, s.title.c_str())) << text;
    // Its panel is in front.
    if (!s.panel.empty()) {
      const ImGuiWindow* w = ImGui::FindWindowByName(s.panel.c_str());
      ASSERT_TRUE(w);
      EXPECT_FALSE(w->Hidden) << s.panel;
    }
    if (i + 1 < lesson.steps.size()) a.screen.press(*a, ImGuiKey_PageDown);
  }
  // Behind the last step comes the next lesson, and behind the last lesson nothing.
  a.screen.press(*a, ImGuiKey_PageDown);
  const bool is_last = GetParam().name == shipped_lessons().back().name;
  EXPECT_EQ(a->lesson_step(), is_last ? lesson.steps.size() - 1 : 0);
  EXPECT_EQ(a->lesson()->title == lesson.title, is_last) << a->lesson()->title;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedLessons, testing::ValuesIn(shipped_lessons()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ShippedLessons);

TEST(Lessons, ThereAreSome) { EXPECT_GE(shipped_lessons().size(), 5u); }

// Of a lesson that somebody else wrote a kernel's file runs when its person has said so.
TEST(Lessons, ShowKernelsOfFilesBesideThem) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  test::ScratchFolder folder;
  const std::string gather = test::text_file(test::project_file("assets/kernels/gather.cu"));
  const std::string file = folder.write("mine.cu", gather.data(), gather.size());
  const std::string text = R"({"type": "convscope-lesson", "version": 1, "title": "t", "steps": [
    {"title": "first", "kernel": "S4", "problem": {"length": 40}},
    {"title": "second", "kernel": "mine.cu"}, {"title": "third", "problem": {"stride": 3}}]})";
  a->open(folder.write("a.lesson", text.data(), text.size()));
  ASSERT_TRUE(a->lesson()) << a->toast();
  EXPECT_EQ(a->lesson()->steps[2].document.kernel, file);
  ASSERT_TRUE(step_is_shown(a));
  EXPECT_EQ(a->untrusted(), "") << "not before its step";
  a.screen.press(*a, ImGuiKey_PageDown);
  EXPECT_EQ(a->untrusted(), file);
  a->trust_file(true);
  ASSERT_TRUE(step_is_shown(a)) << a->toast();
  EXPECT_EQ(a->bench().report_of(a->document())->status, "right");
  a.screen.press(*a, ImGuiKey_PageDown);
  ASSERT_TRUE(step_is_shown(a));
  EXPECT_EQ(a->untrusted(), "") << "it is there";
  EXPECT_EQ(a->bench().report_of(a->document())->document.kernel, file);
}

TEST(Lessons, GoBackEndAndAreUndone) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  const Document before = a->document();
  a->open(shipped_lessons().at(1).path);
  ASSERT_TRUE(step_is_shown(a));
  const Document first = a->document();
  EXPECT_NE(first, before);
  a->undo();
  EXPECT_EQ(a->document(), before) << "what was there comes back";
  a->apply(RunAction{"lesson-again"});
  EXPECT_EQ(a->document(), first);
  a.screen.press(*a, ImGuiKey_PageDown);
  ASSERT_TRUE(step_is_shown(a));
  const Document second = a->document();
  EXPECT_NE(second, first);
  a->undo();
  EXPECT_EQ(a->document(), second) << "its text would speak of what is not there";
  a.screen.press(*a, ImGuiKey_PageUp);
  EXPECT_EQ(a->document(), first);
  EXPECT_EQ(a->lesson_step(), 0u);
  a->apply(RunAction{"lesson-end"});
  a.screen.frames(*a, 2);
  EXPECT_FALSE(a->lesson());
  EXPECT_EQ(a->document(), first) << "what is shown stays";
  EXPECT_FALSE(holds(a.screen.text(*a), "Why a gather asks"));
}

TEST(Lessons, WhatThereIsNotIsRefused) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.screen.settle(*a));
  test::ScratchFolder folder;
  auto refused = [&](const std::string& step) {
    const std::string text = R"({"type": "convscope-lesson", "version": 1, "title": "t", "steps": [)" + step + "]}";
    a->open(folder.write("a.lesson", text.data(), text.size()));
    EXPECT_FALSE(a->lesson());
    return a->toast();
  };
  EXPECT_TRUE(holds(refused(R"({"title": "s", "panel": "Mapps"})"), "step 1 names a panel that there is not: Mapps"));
  EXPECT_TRUE(holds(refused(R"({"title": "s", "actions": ["fly"]})"),
                    "step 1 names an action that there is not, or is none of a lesson's: fly"));
  EXPECT_TRUE(
      holds(refused(R"({"title": "s", "kernel": "no.cu"})"), "step 1 names a kernel's file that is not there: "));
  EXPECT_TRUE(holds(refused(R"({"title": "s", "problem": {"stride": 0}})"), "stride 0 must be"));
}

// A lesson that asks what a line lacks shows all of it, on a laptop's screen as well.
TEST(Lessons, ALineThatIsAskedForIsWhole) {
  test::AppOnScreen a;
  a.screen.resize(1280, 720);
  a->open(shipped_lessons().at(1).path);
  ASSERT_TRUE(a->lesson()) << a->toast();
  ASSERT_EQ(a->lesson()->steps.front().beside, "Source");
  a.screen.frames(*a, 12);
  const ImGuiWindow* source = ImGui::FindWindowByName("Source");
  ASSERT_TRUE(source && source->DockTabIsVisible);
  // "      int i = (j + p - k * d) / s;" behind the numbers, the letters and the bars of its lines.
  EXPECT_GT(source->Size.x, a->theme().em * 0.5f * (34 + 4 + 2 + 7 + 6));
}

// Its height is of the window, not of what it has left of it: else the strip would have another one in every frame.
TEST(Lessons, AStripKeepsItsHeight) {
  test::AppOnScreen a(test::silent_engine);
  a.screen.resize(420, 260);
  a->open(shipped_lessons().front().path);
  ASSERT_TRUE(a->lesson()) << a->toast();
  a.screen.frames(*a, 6);
  std::set<float> heights;
  for (int i = 0; i < 6; i++) {
    a.screen.frame(*a);
    const ImGuiWindow* strip = ImGui::FindWindowByName("##lesson");
    ASSERT_TRUE(strip);
    heights.insert(strip->Size.y);
  }
  EXPECT_EQ(heights.size(), 1u);
  EXPECT_NEAR(*heights.begin(), 260 * 0.45f, 2) << "it would need more";
}

}  // namespace
}  // namespace convscope::ui
