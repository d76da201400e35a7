// What the panel Timing says of a faster form where there is no GPU: a sentence of a file, and nothing of a kernel of
// the program.
#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

TEST(FasterForm, IsOfAFileAndOfAGpu) {
  test::AppOnScreen a("", test::quick_document(60, "direct"));
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_FALSE(holds(a.said("Timing"), "A faster form of the file"));
  test::ScratchFolder folder;
  const std::string gather = test::text_file(test::project_file("assets/kernels/gather.cu"));
  a->open(folder.write("mine.cu", gather.data(), gather.size()));
  a->trust_file(true);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->document().kernel.ends_with("mine.cu"); }));
  ASSERT_TRUE(a.screen.settle(*a));
  const std::string said = a.said("Timing");
  EXPECT_TRUE(holds(said,
                    "A faster form of the file On a GPU, sizes, unrolling and bounds in its text are tried and "
                    "timed; the emulator's times say nothing of one."))
      << said;
  EXPECT_FALSE(holds(said, "Look for one"));
  EXPECT_FALSE(a->can_tune());
  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_F7);
  a.screen.frames(*a, 2);
  EXPECT_FALSE(a->bench().tunings().now().search);
}

}  // namespace
}  // namespace convscope::ui
