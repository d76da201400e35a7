// Which changes of a text may make it faster: found in it, put into it, and nowhere else.
#include "kernels/runtime/compile/tuning_changes.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;

std::string with_change(const std::string& text, const std::string& words, const std::string& name = "mine.cu",
                        const ConvProblem* layer = nullptr) {
  std::string all;
  for (const auto& c : tuning_changes(text, name, layer)) {
    if (c.words == words) return c.text;
    all += c.words + "\n";
  }
  return "none of:\n" + all;
}
bool has_knob(const std::string& text, const std::string& knob, const std::string& name = "mine.cu") {
  const auto all = tuning_changes(text, name);
  return std::any_of(all.begin(), all.end(), [&](const auto& c) { return c.knob == knob; });
}

TEST(TuningChanges, ASizeIsChangedWhereverItStands) {
  const std::string line = "// convscope: launch up grid=ceil_div(Lout,128),Cout,N block=128 args=x,y\n";
  const std::string text = line + R"(// 128 threads of a block.
__global__ void up(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float row[128];
  const int j = blockIdx.x * 128 + threadIdx.x;
  y[j] = row[threadIdx.x % 32] + 1280 + 128.0f + x128;
}
)";
  EXPECT_EQ(with_change(text, "every 128 → 64"),
            "// convscope: launch up grid=ceil_div(Lout,64),Cout,N block=64 args=x,y\n"
            "// 128 threads of a block.\n"
            "__global__ void up(const float* __restrict__ x, float* __restrict__ y) {\n"
            "  __shared__ float row[64];\n"
            "  const int j = blockIdx.x * 64 + threadIdx.x;\n"
            "  y[j] = row[threadIdx.x % 32] + 1280 + 128.0f + x128;\n}\n");
  EXPECT_TRUE(holds(with_change(text, "128 of the launch → 64"), "block=64 args")) << "and the kernel as it is:";
  EXPECT_TRUE(holds(with_change(text, "128 of the launch → 64"), "row[128]"));
  EXPECT_FALSE(has_knob(text, "every 32")) << "nothing is launched with it";
}

TEST(TuningChanges, OfHostCode) {
  const std::string text = R"(__global__ void up(const float* x, float* y, int n) { }
void launch(const float* x, float* y, int n) {
  dim3 block(32, 8);
  up<<<(n + 255) / 256, 256>>>(x, y, n);
  up<<<n, block>>>(x, y, n);
}
)";
  EXPECT_TRUE(holds(with_change(text, "every 256 → 512"), "up<<<(n + 511) / 512, 512>>>"));
  EXPECT_TRUE(holds(with_change(text, "every 8 → 16"), "dim3 block(32, 16);")) << with_change(text, "every 8 → 16");
  EXPECT_TRUE(holds(with_change(text, "every 32 → 64"), "dim3 block(64, 8);"));
  EXPECT_FALSE(has_knob(text, "every 255")) << "it is 256 less one";
  EXPECT_TRUE(holds(with_change(text, "every 8, 32, 256: each 2 times").substr(0, 7), "none of"))
      << "8 has too many meanings for that";
}

TEST(TuningChanges, ANameIsAKnob) {
  const std::string text = R"(// convscope: launch up grid=ceil_div(Lout,256),N block=64 args=y
#define STAGES 2
constexpr int P = 4, T = 64;
__global__ void up(float* y) {
  int k = 3;
  const int tile = 48;
  y[0] = P * T + tile + k;
}
)";
  EXPECT_TRUE(holds(with_change(text, "P 4 → 8"), "P = 8, T = 64;"));
  EXPECT_TRUE(holds(with_change(text, "STAGES 2 → 4"), "#define STAGES 4\n"));
  EXPECT_TRUE(holds(with_change(text, "tile 48 → 24"), "tile = 24;"));
  EXPECT_FALSE(has_knob(text, "k")) << "a small variable is no size";
  // What a block does is a product.
  EXPECT_TRUE(holds(with_change(text, "P 4 → 8, 256 → 512"), "ceil_div(Lout,512),N block=64"));
  EXPECT_TRUE(holds(with_change(text, "P 4 → 8, 256 → 512"), "P = 8, T = 64;"));
  EXPECT_TRUE(holds(with_change(text, "every 64, 256: each 2 times"), "ceil_div(Lout,512),N block=128"));
  EXPECT_TRUE(holds(with_change(text, "every 64, 256: each 2 times"), "P = 4, T = 128;"));
}

TEST(TuningChanges, PointersLoopsAndBounds) {
  const std::string text = R"(// convscope: launch up grid=N block=128 args=x,y,K
__global__ void up(const float* x, float *y, int K) {
  float sum = 0;
  for (int q = 0; q < 4; q++) {
    for (int k = 0; k < K; k++) sum += x[k];
    #pragma unroll 2
    for (int k = 0; k < K; k++) { sum += x[k]; }
  }
  y[0] = sum;
}
void on_the_host() {
  for (int i = 0; i < 9; i++) work();
}
)";
  EXPECT_TRUE(holds(with_change(text, "__restrict__ on every pointer of a kernel"),
                    "up(const float* __restrict__ x, float * __restrict__ y, int K)"));
  EXPECT_TRUE(holds(with_change(text, "the loop at line 5 unrolled 4 times"),
                    "q++) {\n    #pragma unroll 4\n    for (int k = 0; k < K; k++) sum"));
  EXPECT_TRUE(holds(with_change(text, "the loop at line 7 unrolled 8 times"), "    #pragma unroll 8\n    for (int k"));
  EXPECT_FALSE(holds(with_change(text, "the loop at line 7 unrolled 8 times"), "unroll 2"));
  EXPECT_TRUE(has_knob(text, "unroll of the loop at line 7"));
  EXPECT_FALSE(has_knob(text, "unroll of the loop at line 4")) << "it has loops in it";
  EXPECT_FALSE(has_knob(text, "unroll of the loop at line 12")) << "on the host";
  EXPECT_TRUE(
      holds(with_change(text, "__launch_bounds__(128) on every kernel"), "__global__ __launch_bounds__(128) void up"));
  const std::string bounded = "__global__ void __launch_bounds__(256, 2) up(float* __restrict__ y) { }\n";
  EXPECT_TRUE(
      holds(with_change(bounded, "bounds at line 1: at least 4 blocks a multiprocessor"), "__launch_bounds__(256, 4)"))
      << with_change(bounded, "");
  EXPECT_FALSE(has_knob(bounded, "every 2")) << "the second number is of blocks";
  EXPECT_FALSE(has_knob(bounded, "__restrict__"));
  EXPECT_FALSE(has_knob(bounded, "__launch_bounds__"));
}

TEST(TuningChanges, IndicesAndConstantsSayWhatTheyAreRightFor) {
  const std::string text =
      R"(__global__ void up(const float* x, float* y, int64_t L, const int stride, int pad, int K) {
  const int64_t j = static_cast<long long>(blockIdx.x) * 8;
  y[j] = x[j / stride];
}
)";
  std::string only;
  for (const auto& c : tuning_changes(text, "mine.cu"))
    if (c.knob == "indices") only = c.only_for;
  EXPECT_TRUE(holds(only, "fewer than 2³¹ elements")) << only;
  EXPECT_TRUE(holds(with_change(text, "indices of 32 bits"), "const int j = static_cast<int>(blockIdx.x)"));
  EXPECT_TRUE(holds(with_change(text, "indices of 32 bits"), "int64_t L, const int"))
      << "arguments are as they are given";
  ConvProblem layer;
  layer.stride = 4, layer.kernel_size = 9, layer.padding = 3;
  const std::string words = "the layer's parameters as constants";
  const std::string constants = with_change(text, words, "mine.cu", &layer);
  EXPECT_TRUE(holds(constants, "int64_t L, int stride, int pad, int K) { stride = 4; pad = 3; K = 9;\n")) << constants;
  EXPECT_TRUE(holds(with_change(constants, words, "mine.cu", &layer), "none of")) << "they are there";
  EXPECT_TRUE(holds(with_change(text, words), "none of")) << "not unless it is asked for";
  const std::string arguments = "__global__ void up(const ConvArgs c, float* y) { y[0] = c.stride; }\n";
  EXPECT_TRUE(holds(with_change(arguments, words, "mine.cu", &layer),
                    "up(ConvArgs c, float* y) { c.stride = 4; c.kernel_size = 9;"));
}

// Only the CUDA of a Python file, and numbers that it gives names.
TEST(TuningChanges, OfAPythonFile) {
  const std::string text = R"(from torch.utils.cpp_extension import load_inline
BLOCK = 128  # threads
layers = [128, 64]
SOURCE = """
__global__ void up(const float* x, float* y, int n) {
  y[threadIdx.x] = x[threadIdx.x];  // 128 of them
}
torch::Tensor go(torch::Tensor x) {
  up<<<(n + 127) / 128, 128>>>(x, y, n);
}
"""
m = load_inline(name="up", cpp_sources="torch::Tensor go(torch::Tensor x);", cuda_sources=SOURCE, functions=["go"])
)";
  const std::string half = with_change(text, "every 128 → 64", "mine.py");
  EXPECT_TRUE(holds(half, "up<<<(n + 63) / 64, 64>>>")) << half;
  EXPECT_TRUE(holds(half, "BLOCK = 64  # threads")) << half;
  EXPECT_TRUE(holds(half, "layers = [128, 64]")) << half;
  EXPECT_TRUE(holds(half, "// 128 of them")) << half;
  EXPECT_TRUE(holds(with_change(text, "BLOCK 128 → 64", "mine.py"), "(n + 127) / 128, 128>>>"));
}

// The samples and the words of the window's lesson: whatever is found, the text has as many lines or one more.
TEST(TuningChanges, OfTheSamples) {
  for (const char* sample : {"gather.cu", "scatter.cu", "shared_sum.cu", "extension.py", "col2im.py"}) {
    const std::string text = test::text_file(test::project_file(std::string("assets/kernels/") + sample));
    const auto all = tuning_changes(text, sample);
    EXPECT_GE(all.size(), 6u) << sample;
    const auto lines = std::count(text.begin(), text.end(), '\n');
    for (const auto& c : all) {
      EXPECT_NE(c.text, text) << c.words;
      EXPECT_LE(std::count(c.text.begin(), c.text.end(), '\n') - lines, 1) << sample << c.words;
    }
  }
}

}  // namespace
}  // namespace convscope
