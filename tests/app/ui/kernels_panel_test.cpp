// The list of kernels is read without a mouse: what each is, and what can be done with the chosen one.
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

// What sets the specimens apart stands at the end of what they are: it is read without a mouse.
TEST(KernelsPanel, DescribesEachWhole) {
  test::AppOnScreen a(test::full_engine(), test::quick_document(60, "S4"), false);
  ASSERT_TRUE(a.screen.until(*a, [&] { return !a->bench().inventory().kernels().empty(); }));
  for (float width : {1280.0f, 1600.0f}) {
    a.screen.resize(width, 2000);
    a.screen.frames(*a, 8);
    const ImRect row = a.screen.find(*a, "Kernels", test::Screen::id("Kernels", {"S1", "##kernel"}));
    EXPECT_GT(row.GetHeight(), 3 * ImGui::GetFontSize()) << "its idea takes lines, " << width;
    const std::string text = a.screen.text(*a);
    EXPECT_TRUE(holds(text, "ignored")) << width;
  }
}

// The chosen one is brought into sight with what can be done with it.
TEST(KernelsPanel, TheChosenOnesButtonsAreInSight) {
  test::AppOnScreen a("", test::quick_document(60, "S0"));
  a.screen.resize(1280, 720);
  ASSERT_TRUE(a.screen.settle(*a));
  a->execute({SetKernel{"S4"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.frames(*a, 8);
  ImRect button;
  for (float across = 0.5f; across < 0.9f && button.GetWidth() <= 0; across += 0.05f)
    button = a.screen.find(*a, "Kernels", test::Screen::id("Kernels", {"S4", "S4", "full size"}), across);
  EXPECT_GT(button.GetHeight(), ImGui::GetFontSize() * 0.8f);  // it is found in steps
}

}  // namespace
}  // namespace convscope::ui
