// A lesson's file: what its steps show, and what is refused with the step and the rule.
#include "app/model/lesson.h"

#include <gtest/gtest.h>

#include "tests/support.h"

namespace convscope {
namespace {

class LessonFile : public testing::Test {
 protected:
  std::string file(const std::string& text) { return folder_.write("of.lesson", text.data(), text.size()); }
  Lesson of(const std::string& steps) {
    return load_lesson(
        file(R"({"type": "convscope-lesson", "version": 1, "title": "t", "about": "a", "steps": [)" + steps + "]}"));
  }
  std::string refusal(const std::string& steps) {
    try {
      of(steps);
    } catch (const InputError& e) {
      EXPECT_EQ(e.field(), "lesson");
      return e.what();
    }
    return "";
  }
  test::ScratchFolder folder_;
};

TEST_F(LessonFile, EachStepBeginsAsTheOneBefore) {
  const Lesson l = of(R"({"title": "one", "text": ["a", "b"], "preset": "kernelbench-79-small", "kernel": "direct",
                          "problem": {"length": 40}, "input": "ones", "accuracy": "tf32"},
                         {"title": "two", "problem": {"stride": 3, "bias": true}, "select": [0, 5, 7],
                          "panel": "Explain", "actions": ["fit"], "try": "that"})");
  EXPECT_EQ(l.title, "t");
  ASSERT_EQ(l.steps.size(), 2u);
  const LessonStep &one = l.steps[0], &two = l.steps[1];
  EXPECT_EQ(one.text, "a\nb");
  EXPECT_EQ(one.document.problem.out_channels, 64);
  EXPECT_EQ(one.document.problem.length, 40);
  EXPECT_EQ(two.document.problem.length, 40);
  EXPECT_EQ(two.document.problem.stride, 3);
  EXPECT_TRUE(two.document.problem.bias);
  EXPECT_EQ(two.document.kernel, "direct");
  EXPECT_EQ(two.document.inputs.x.kind, InputKind::ones);
  EXPECT_EQ(two.document.accuracy, Accuracy::tf32);
  EXPECT_EQ(two.selected, (ElementIndex{5, 7}));
  EXPECT_EQ(two.actions, std::vector<std::string>{"fit"});
  EXPECT_EQ(two.task, "that");
}

TEST_F(LessonFile, RefusesWithStepAndRule) {
  EXPECT_EQ(refusal(R"({"title": "a"}, {"title": "b", "kernal": "S4"})"),
            "lesson of.lesson, step 2 has a field kernal, which is not known; did you mean kernel?");
  EXPECT_EQ(refusal(R"({"title": "a", "problem": {"stride": 0}})").substr(0, 50),
            std::string("lesson of.lesson, step 1 is refused: stride 0 must be between").substr(0, 50));
  EXPECT_EQ(
      refusal(R"({"title": "a", "select": [0, 0, 99999999]})").substr(0, 70),
      std::string("lesson of.lesson, step 1 selects an element outside of its output [1, 64, 8193]").substr(0, 70));
  EXPECT_EQ(refusal(R"({"text": "a"})"), "lesson of.lesson, step 1 needs a title");
  EXPECT_EQ(refusal(R"({"title": 3})"), "lesson of.lesson, step 1 has a field title that is no text");
  EXPECT_EQ(refusal(R"({"title": "a", "input": "x.npy"})"),
            "lesson of.lesson, step 1 has an input from a file: a lesson is one file");
  EXPECT_NE(refusal("").find("has no steps"), std::string::npos);
  EXPECT_NE(refusal(R"({"title": "a", "preset": "nothing"})").find("is refused: "), std::string::npos);
}

TEST_F(LessonFile, OfOtherKindsOrVersionsIsRefused) {
  auto rule = [&](const std::string& text) -> std::string {
    try {
      load_lesson(file(text));
    } catch (const InputError& e) {
      return e.rule();
    }
    return "";
  };
  EXPECT_EQ(rule(R"({"type": "convscope-session", "version": 1})"), "is no lesson");
  EXPECT_EQ(rule(R"({"type": "convscope-lesson", "version": 9, "steps": [{"title": "a"}]})"),
            "is of another version: this program reads version 1");
  EXPECT_NE(rule("[1, 2"), "");
  EXPECT_NE(rule("3"), "");
}

}  // namespace
}  // namespace convscope
