#include "kernels/planner/export.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/support.h"

namespace convscope {
namespace {

size_t times(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) n++;
  return n;
}

TEST(Export, ATextStandsAlone) {
  for (const auto* k : all_kernels()) {
    if (k->kind() == KernelKind::test) continue;
    std::string text = flattened(k->file());
    EXPECT_EQ(times(text, "#include \""), 0u) << k->file();
    for (const char* of_the_host : {"CONVSCOPE_KERNEL(", "ConvProblem", "namespace convscope", "ENTRY("})
      EXPECT_EQ(text.find(of_the_host), std::string::npos) << k->file() << " still has " << of_the_host;
    EXPECT_EQ(times(text, "struct ConvArgs"), 1u) << "once, however often it is included";
    EXPECT_EQ(times(text, "#if"), times(text, "#endif")) << k->file();
  }
  EXPECT_THROW(flattened("kernels/ladder/none.cu"), std::logic_error);
}

TEST(Export, OnlyWhatWorksOnWeightsAloneIsPacking) {
  auto p = find_preset("encodec.d1").problem;  // a length that is no multiple of 4: x is copied as well
  const auto& k = find_kernel("stream_tf32");
  Plan plan = k.plan_for(p);
  ASSERT_EQ(plan.launches().size(), 3u);
  EXPECT_EQ(plan.without_packing().launches().size(), 2u);
  std::string text = exported_cuda(k, p);
  EXPECT_EQ(times(text, "if (pack)"), 1u);
  EXPECT_EQ(times(text, "cudaLaunchKernel("), 3u);
  EXPECT_NE(text.find("return " + std::to_string(plan.workspace_bytes()) + ";"), std::string::npos);
  EXPECT_EQ(times(exported_cuda(find_kernel("direct"), p), "if (pack)"), 0u);
}

TEST(Export, BiasIsGivenOrNull) {
  auto p = find_preset("kernelbench-79-small").problem;
  EXPECT_NE(exported_cuda(find_kernel("tiled"), p).find("= nullptr;"), std::string::npos);
  p.bias = true;
  EXPECT_EQ(exported_cuda(find_kernel("tiled"), p).find("= nullptr;"), std::string::npos);
}

TEST(Export, ThePythonFileSaysItsProblem) {
  auto p = find_preset("kernelbench-79").problem;
  std::string text = exported_pytorch(find_kernel("hopper_3xtf32"), p);
  for (const char* said : {"class ModelNew(nn.Module)", "in_channels=32, out_channels=64, kernel_size=3, stride=2",
                           "INPUT_SHAPE = (16, 32, 131072)", "OUTPUT_SHAPE = (16, 64, 262145)", "NEEDS = \"sm_90a\"",
                           "torch.float32", "3xtf32 accuracy"})
    EXPECT_NE(text.find(said), std::string::npos) << said;
  EXPECT_EQ(text.find('@' + std::string("CUDA@")), std::string::npos);
  for (const char* mark : {"@IN@", "@ARCH@", "@ARCHWORDS@", "@LOUT@", "@KERNEL@"})
    EXPECT_EQ(text.find(mark), std::string::npos) << mark << " is left";
}

TEST(Export, SixteenBitsHaveTheirTypes) {
  auto p = find_preset("kernelbench-79").problem;
  p.dtype = DType::f16;
  std::string text = exported_pytorch(find_kernel("scatter"), p);
  EXPECT_NE(text.find("DTYPE = torch.float16"), std::string::npos);
  EXPECT_NE(text.find("#include <cuda_fp16.h>"), std::string::npos);
  // The launch that fills the sums reads the bias and no weights: it runs at every call.
  EXPECT_EQ(times(text, "if (pack)"), 0u);
  EXPECT_EQ(times(text, "cudaLaunchKernel("), 3u);
  p.dtype = DType::bf16;
  EXPECT_NE(exported_pytorch(find_kernel("tiled"), p).find("DTYPE = torch.bfloat16"), std::string::npos);
}

TEST(Export, HoldsTheFormThatIsLaunchedAndNoOther) {
  auto p = find_preset("kernelbench-64").problem;
  p.dtype = DType::f16;
  std::string text = exported_cuda(find_kernel("hopper_16bit"), p);
  EXPECT_EQ(times(text, "F(half_128_3_s1,"), 1u);
  EXPECT_EQ(times(text, "F(half_64_any,"), 0u);
  EXPECT_GT(times(flattened(find_kernel("hopper_16bit").file()), "F(half_64_any,"), 0u);
  p.stride = 3;
  EXPECT_EQ(times(exported_cuda(find_kernel("hopper_16bit"), p), "F(half_128_any,"), 1u);
}

// With nvcc here: what is exported compiles. On a GPU tests/bench/compare_pytorch.py runs it.
void expect_compiles(const char* kernel, DType dtype) {
  if (std::system("command -v nvcc >/dev/null 2>&1")) GTEST_SKIP() << "no nvcc here";
  test::ScratchFolder folder;
  auto p = find_preset("kernelbench-79").problem;
  p.dtype = dtype;
  std::string text = exported_cuda(find_kernel(kernel), p);
  std::string file = folder.write("k.cu", text.data(), text.size());
  std::string command = "nvcc -std=c++20 -arch=sm_90a -shared -Xcompiler -fPIC -o " + folder.path("k.so") + " " + file +
                        " >" + folder.path("log") + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << kernel << ": " << std::ifstream(folder.path("log")).rdbuf();
}

TEST(Export, CompilesForHopper) { expect_compiles("hopper_3xtf32", DType::f32); }
TEST(Export, CompilesForAnyGpu) {
  expect_compiles("registers", DType::f32);
  expect_compiles("columns_tf32", DType::f32);
}
TEST(Export, CompilesASpecimen) { expect_compiles("S4", DType::f32); }
TEST(Export, CompilesInSixteenBits) {
  expect_compiles("scatter", DType::f16);
  expect_compiles("tiled", DType::bf16);
}

}  // namespace
}  // namespace convscope
