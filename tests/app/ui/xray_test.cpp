// What the panel Verdict says of the index: under the verdict on a wrong kernel, of an exhibit that looks right, and of
// any other kernel when somebody asks (F9).
#include <gtest/gtest.h>

#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

Document padded(const char* kernel, int64_t padding) {
  Document d = test::quick_document(60, kernel);
  d.problem.stride = 2, d.problem.padding = padding, d.problem.output_padding = 0;
  return d;
}

TEST(XrayPanel, AWrongKernelsTermsAreUnderItsVerdict) {
  test::AppOnScreen a("", padded("S0", 1));
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().report() && a->bench().cause_of(*a->bench().report()); }));
  const std::string text = a.said("Verdict");
  for (const char* said :
       {"Wrong", "the padding is missing", "it takes", "i = (j − k·d)/s", "right is", "i = (j + p − k·d)/s"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
  EXPECT_FALSE(holds(text, "not in general"));
}

TEST(XrayPanel, AnExhibitThatLooksRightIsNot) {
  test::AppOnScreen a("", padded("S0", 0));
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().report() && a->bench().cause_of(*a->bench().report()); }));
  const std::string text = a.said("Verdict");
  for (const char* said : {"Right", "Right here, but not in general:", "the padding is missing"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
}

TEST(XrayPanel, ARightKernelWhenAsked) {
  test::AppOnScreen a("", padded("tiled", 1));
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_FALSE(holds(a.said("Verdict"), "In general"));
  a.screen.press(*a, ImGuiKey_F9);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().cause_of(*a->bench().report()); }));
  EXPECT_TRUE(holds(a.said("Verdict"), "In general: every product is the definition's on 5 small problems"));
}

}  // namespace
}  // namespace convscope::ui
