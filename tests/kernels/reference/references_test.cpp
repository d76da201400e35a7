// Which references a device has, and what they say where they cannot run.
#include <gtest/gtest.h>

#include "kernels/reference/cudnn.h"
#include "kernels/reference/reference.h"
#include "tests/support.h"

namespace convscope {
namespace {

TEST(References, TheEmulatorHasOneDnn) {
  auto device = open_emulator();
  auto list = references_for(*device);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]->name(), "onednn");
  EXPECT_NE(list[0]->idea(), "");
}

// Without a GPU, in every build: with the toolkit and without it.
TEST(References, CudnnSaysWhatItLacks) {
  auto device = open_emulator();
  ConvProblem p{1, 2, 2, 3, 10};
  for (bool tf32 : {false, true}) {
    auto reference = make_cudnn(*device, tf32);
    EXPECT_EQ(reference->name(), tf32 ? "cudnn-tf32" : "cudnn");
    EXPECT_EQ(reference->may_use_tf32(), tf32);
    EXPECT_NE(reference->unavailable(), "");
    EXPECT_EQ(reference->unsupported(p), reference->unavailable());
    EXPECT_EQ(test::error_of<MissingError>([&] { reference->run(p, {}, nullptr); }), reference->unavailable());
    EXPECT_EQ(test::error_of<MissingError>([&] { reference->time(p, {}, false, {}, nullptr); }),
              reference->unavailable());
    EXPECT_EQ(reference->what_ran(), "");
  }
}

}  // namespace
}  // namespace convscope
