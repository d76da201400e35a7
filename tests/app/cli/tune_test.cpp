// What `tune` says where it cannot be done. That it is done is seen on a GPU (engine/gpu_tuning_test.cpp).
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::convscope_run;
using test::expect_refused;
using test::holds;
using test::Words;

TEST(TuneCli, NeedsAGpuAndAFileOfItsUsers) {
  const std::string file = test::project_file("assets/kernels/gather.cu");
  auto r = convscope_run({"tune", file, "--trust"});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_TRUE(holds(r.err, "tune measures on a GPU, and there is none here")) << r.err;
  r = convscope_run({"tune", file, "--trust", "--device", "emulator"});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_TRUE(holds(r.err, "tune measures on a GPU, and the emulator is none")) << r.err;
  for (const auto& [words, says] : std::initializer_list<std::pair<Words, const char*>>{
           {{"tune", "S4"}, "kernel S4 is no .cu or .py file: the program's own texts stay as they are"},
           {{"tune", "missing.cu", "--trust"}, "kernel missing.cu is no file that is there"},
           {{"tune", file, "--trust", "--limit", "0"}, "limit 0 must be greater than 0 seconds"},
           {{"tune", file, "--trust", "--limit", "soon"}, "limit soon "},
           {{"tune", file, "--trust", "--stride", "0"}, "stride 0 must"},
           {{"tune"}, "kernel is missing"}}) {
    r = convscope_run(words);
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_TRUE(holds(r.err, says)) << r.err;
    EXPECT_TRUE(r.out.empty()) << r.out;
  }
}

}  // namespace
}  // namespace convscope
