// What kernel files begin with, precompiled and kept: whether it is still what was kept. That files are compiled with
// it is tested through the command line (tests/app/cli/outside_test.cpp).
#include "kernels/runtime/compile/precompiled.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "kernels/runtime/compile/outside.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

TEST(Precompiled, IsForgottenWhereACompilerFailsOverASpoiltOne) {
  const test::ScratchFolder folder;
  const test::Setting cache("CONVSCOPE_CACHE", folder.path("cache"));
  const Workshop in;
  Activity activity;
  auto header = [&] {
    return first_header(in, host_compiler(), {"-std=gnu++20", "-isystem", "stubs", "-isystem", "include", "-I.", "-w"},
                        false, activity);
  };
  const auto first = header();
  ASSERT_EQ(first.front(), "-include");
  const std::string precompiled = first.back() + ".gch", error = "mine.cu:6: error: 'summe' was not declared";
  ASSERT_TRUE(std::filesystem::exists(precompiled)) << "made and kept";
  EXPECT_FALSE(forget_unreadable(first, error)) << "the file's own fault";
  EXPECT_TRUE(std::filesystem::exists(precompiled));
  // One byte, while this program thinks it whole.
  std::fstream(precompiled, std::ios::in | std::ios::out | std::ios::binary).seekp(5000) << '\x5a';
  EXPECT_FALSE(forget_unreadable(first, "")) << "what was compiled without a word is not looked at again";
  EXPECT_TRUE(forget_unreadable(first, error));
  EXPECT_FALSE(std::filesystem::exists(precompiled));
  EXPECT_EQ(header(), first) << "made anew";
  EXPECT_FALSE(forget_unreadable(first, error));
  EXPECT_TRUE(forget_unreadable(first, "warning: " + first.back() + ".gch: not used because `x' not defined"));
}

}  // namespace
}  // namespace convscope
