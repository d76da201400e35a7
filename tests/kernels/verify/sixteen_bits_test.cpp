// What is rounded to 16 bits is told by sums of three products.
#include "kernels/verify/sixteen_bits.h"

#include <gtest/gtest.h>

#include "kernels/runtime/registry.h"
#include "kernels/verify/xray.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

ConvProblem problem(DType t) {
  return {.batch = 2,
          .in_channels = 8,
          .out_channels = 4,
          .kernel_size = 3,
          .length = 9,
          .stride = 2,
          .padding = 1,
          .groups = 2,
          .dtype = t};
}

TEST(SixteenBits, IsSaidWhatIsRounded) {
  struct Of {
    const char *kernel, *f16, *bf16;
  };
  for (const Of& of :
       {Of{"half_sums", "sums are kept in f16, where f32 belongs: 2048 + 1 − 2048 comes out as 0",
           "sums are kept in bf16, where f32 belongs: 256 + 1 − 256 comes out as 0"},
        Of{"half_products",
           "products are rounded to f16 before they are added: (1 + 2^−10)² − (1 + 2^−9) comes out as 0, and 2^−20 "
           "belongs",
           "products are rounded to bf16 before they are added: (1 + 2^−7)² − (1 + 2^−6) comes out as 0, and 2^−14 "
           "belongs"},
        Of{"half_cut_off",
           "results are not rounded to the nearest f16: (1 + 0.75·2^−10) comes out as 1, and (1 + 2^−10) belongs",
           "results are not rounded to the nearest bf16: (1 + 0.75·2^−7) comes out as 1, and (1 + 2^−7) belongs"}}) {
    EXPECT_EQ(test::rayed(of.kernel, problem(DType::f16)).sentence, of.f16);
    EXPECT_EQ(test::rayed(of.kernel, problem(DType::bf16)).sentence, of.bf16);
  }
  EXPECT_EQ(test::rayed("half_saturating", problem(DType::f16)).sentence,
            "what is too large for f16 comes out as 65504, and infinity belongs");
}

// Nor is anything said of who sums in f32, however the sum is parted, and of whatever is no 16-bit problem.
TEST(SixteenBits, NothingIsSaidOfOthers) {
  auto device = open_emulator();
  Activity activity;
  int seen = 0;
  for (const KernelDefinition* k : all_kernels()) {
    if (k->kind() != KernelKind::ladder && k->name() != "half_in_float") continue;
    for (const DType t : {DType::f16, DType::bf16})
      for (ConvProblem p : {problem(t), ConvProblem{.in_channels = 64,
                                        .out_channels = 96,
                                        .kernel_size = 4,
                                        .length = 64,
                                        .stride = 2,
                                        .padding = 1,
                                        .dtype = t}}) {
        if (!k->unsupported(p).empty()) continue;
        EXPECT_EQ(rounded_to_sixteen_bits(*device, *k, p, activity), "") << k->name() << " on " << describe(p);
        seen++;
      }
  }
  EXPECT_GT(seen, 20);
  EXPECT_EQ(rounded_to_sixteen_bits(*device, find_kernel("direct"), problem(DType::f32), activity), "");
}

}  // namespace
}  // namespace convscope
