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
  ASSERT_TRUE(a.screen.until(
      *a, [&] { return a->bench().runs().report() && a->bench().causes().of(*a->bench().runs().report()); }));
  const std::string text = a.said("Verdict");
  for (const char* said :
       {"Wrong", "the padding is missing", "it takes", "i = (j − k·d)/s", "right is", "i = (j + p − k·d)/s"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
  EXPECT_FALSE(holds(text, "not in general"));
}

TEST(XrayPanel, AnExhibitThatLooksRightIsNot) {
  test::AppOnScreen a("", padded("S0", 0));
  ASSERT_TRUE(a.screen.until(
      *a, [&] { return a->bench().runs().report() && a->bench().causes().of(*a->bench().runs().report()); }));
  const std::string text = a.said("Verdict");
  for (const char* said : {"Right here", "Not in general:", "the padding is missing"})
    EXPECT_TRUE(holds(text, said)) << said << "\n" << text;
}

TEST(XrayPanel, ARightKernelWhenAsked) {
  test::AppOnScreen a("", padded("tiled", 1));
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_FALSE(holds(a.said("Verdict"), "In general"));
  a.screen.press(*a, ImGuiKey_F9);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().causes().of(*a->bench().runs().report()); }));
  EXPECT_TRUE(holds(a.said("Verdict"), "In general: every product is the definition's on 5 small problems"));
}

// A recording has the verdict; which term is wrong is found here, on whatever machine it is looked at.
TEST(XrayPanel, OfARecordedVerdictIsFoundHere) {
  test::AppOnScreen a;
  ASSERT_TRUE(a.open_recording("h200-kernelbench-79"));
  a->execute({SetKernel{"S4"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  const Report* r = a->bench().report_of(a->document());
  ASSERT_TRUE(r && !r->recorded.empty() && r->status == "wrong");
  a->show_only("Verdict");
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().causes().of(*r) != nullptr; }));
  const std::string text = a.said("Verdict");
  EXPECT_TRUE(holds(text, "nothing asks whether the stride divides: quotients are cut off")) << text;
  EXPECT_TRUE(holds(text, "recorded")) << text;
  // Of a right kernel there is nothing to be found.
  a->execute({SetKernel{"registers"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  r = a->bench().report_of(a->document());
  ASSERT_TRUE(r && !r->recorded.empty());
  EXPECT_FALSE(a->bench().causes().of(*r));
}

}  // namespace
}  // namespace convscope::ui
