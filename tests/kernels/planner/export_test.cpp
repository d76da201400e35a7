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
  EXPECT_EQ(times(text, "if (int e = launch("), 3u);
  EXPECT_EQ(times(text, ", stream, true)"), 1u) << "the products alone wait for the launches before them";
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
  EXPECT_EQ(times(text, "if (int e = launch("), 3u);
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
  // A list of one form, on the macro's own line.
  const auto& split = find_kernel("hopper_3xtf32");
  EXPECT_EQ(times(exported_cuda(split, find_preset("kernelbench-74").problem), "F(hopper_split_5by3_s1_boxes,"), 1u);
  EXPECT_EQ(times(exported_cuda(split, find_preset("kernelbench-79").problem), "F(hopper_split_5by3_s1_boxes,"), 0u);
}

TEST(Export, AnActivationIsNamedAndDefined) {
  auto p = find_preset("hifigan.u1").problem;
  const Activation leaky = Activation::from("leaky_relu:0.1"), relu = Activation::from("relu");
  std::string text = exported_cuda(find_kernel("registers"), p, leaky);
  size_t defined = text.find("\n#define CONVSCOPE_LEAKY_RELU 0.1\n");
  ASSERT_NE(defined, std::string::npos);
  EXPECT_LT(defined, text.find("T activated(T v)")) << "before it is looked at";
  EXPECT_NE(text.substr(0, text.find('\n')).find(", and then leaky_relu:0.1, fused"), std::string::npos);
  EXPECT_EQ(times(exported_cuda(find_kernel("registers"), p, relu), "\n#define CONVSCOPE_RELU\n"), 1u);
  text = exported_pytorch(find_kernel("hopper_tf32"), p, leaky);
  for (const char* said : {", and then leaky_relu:0.1.\n",
                           "    y = self.conv1d_transpose(x)\n    y = torch.nn.functional.leaky_relu(y, 0.1)\n",
                           "forward(x) ends with the activation, fused: leaky_relu:0.1."})
    EXPECT_EQ(times(text, said), 1u) << said;
  EXPECT_EQ(times(exported_pytorch(find_kernel("hopper_tf32"), p, relu), "    y = torch.nn.functional.relu(y)\n"), 1u);
  // Without one nothing is said of one, and nothing defined.
  text = exported_pytorch(find_kernel("hopper_tf32"), p);
  for (const char* word :
       {"#define CONVSCOPE_LEAKY_RELU", "#define CONVSCOPE_RELU", "and then", "leaky_relu(y", "activation,"})
    EXPECT_EQ(times(text, word), 0u) << word;
  for (const char* mark : {"@THEN@", "@FUSED@", "@APPLIES@"}) EXPECT_EQ(times(text, mark), 0u) << mark;
}

TEST(Export, WhoFusesAnActivationCallsIt) {
  int fusing = 0;
  const Activation relu = Activation::from("relu");
  for (const auto* k : all_kernels()) {
    if (k->kind() == KernelKind::test) continue;
    // Its definition is there once where it is included; calls come after it.
    size_t calls = times(flattened(k->file()), "activated(");
    EXPECT_EQ(calls > 1, k->fuses_activation()) << k->name();
    EXPECT_EQ(relu.refused_by(*k).empty(), k->fuses_activation());
    EXPECT_EQ(Activation().refused_by(*k), "");
    fusing += k->fuses_activation();
  }
  EXPECT_EQ(fusing, 14) << "the ladder but for scatter";
  EXPECT_NE(relu.refused_by(find_kernel("scatter")).find("take polyphase"), std::string::npos);
  EXPECT_NE(relu.refused_by(find_kernel("S4")).find("take direct"), std::string::npos);
}

TEST(Activation, IsReadAsItIsWritten) {
  using Kind = Activation::Kind;
  EXPECT_EQ(Activation::from(""), Activation());
  EXPECT_EQ(Activation::from("none"), Activation());
  EXPECT_EQ(Activation::from("relu"), (Activation{Kind::relu, 0}));
  EXPECT_EQ(Activation::from("leaky_relu"), (Activation{Kind::leaky_relu, 0.01})) << "PyTorch's";
  EXPECT_EQ(Activation::from("leaky_relu:0"), (Activation{Kind::leaky_relu, 0}));
  EXPECT_EQ(Activation::from("leaky_relu:1").macro(), "#define CONVSCOPE_LEAKY_RELU 1\n");
  EXPECT_EQ(Activation::from("leaky_relu:-0").name(), "leaky_relu:0");
  for (const char* name : {"none", "relu", "leaky_relu:0.01", "leaky_relu:0.1", "leaky_relu:1e-05"})
    EXPECT_EQ(Activation::from(name).name(), name);
  for (const char* bad :
       {"gelu", "ReLU", "relu:0.1", "leaky", "leaky_relu:", "leaky_relu:x", "leaky_relu:0.1x", "leaky_relu:-0.1",
        "leaky_relu:1.0001", "leaky_relu:nan", "leaky_relu:inf", "leaky_relu: 0.1"})
    try {
      Activation::from(bad);
      ADD_FAILURE() << bad << " is taken";
    } catch (const InputError& e) {
      EXPECT_EQ(e.field(), "activation");
      EXPECT_EQ(e.value(), bad);
    }
}

// With nvcc here: what is exported compiles. On a GPU tests/bench/compare_pytorch.py runs it.
void expect_compiles(const char* kernel, DType dtype, const char* activation = "") {
  if (std::system("command -v nvcc >/dev/null 2>&1")) GTEST_SKIP() << "no nvcc here";
  test::ScratchFolder folder;
  auto p = find_preset("kernelbench-79").problem;
  p.dtype = dtype;
  std::string text = exported_cuda(find_kernel(kernel), p, Activation::from(activation));
  std::string file = folder.write("k.cu", text.data(), text.size());
  std::string command = "nvcc -std=c++20 -arch=sm_90a -shared -Xcompiler -fPIC -o " + folder.path("k.so") + " " + file +
                        " >" + folder.path("log") + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << kernel << ": " << std::ifstream(folder.path("log")).rdbuf();
}

TEST(Export, CompilesForHopper) { expect_compiles("hopper_3xtf32", DType::f32); }
TEST(Export, CompilesForAnyGpu) { expect_compiles("registers", DType::f32); }
TEST(Export, CompilesForTensorCoresOfAnyGpu) { expect_compiles("columns_tf32", DType::f32); }
TEST(Export, CompilesASpecimen) { expect_compiles("S4", DType::f32); }
TEST(Export, CompilesInSixteenBits) {
  expect_compiles("scatter", DType::f16);
  expect_compiles("tiled", DType::bf16);
}
TEST(Export, CompilesWithAnActivation) {
  expect_compiles("hopper_tf32", DType::f32, "leaky_relu:0.1");
  expect_compiles("hopper_16bit", DType::f16, "relu");
  expect_compiles("held_16bit", DType::bf16, "relu");
  expect_compiles("polyphase", DType::f64, "leaky_relu:1");
}

}  // namespace
}  // namespace convscope
