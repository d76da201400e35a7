// What host code may write in the place of kernel<<<…>>>, and tensors of wrong sizes that it returns.
#include "kernels/runtime/compile/launch_calls.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

TEST(PlainLaunches, OfArraysOfPointers) {
  EXPECT_EQ(
      with_plain_launches("void* args[] = {(void*)&x, &n,};\n"
                          "AT_CUDA_CHECK(cudaLaunchKernel((const void*)k<3, true>, dim3(a, b), 128,\n args, 0, s));"),
      "void* args[] = {(void*)&x, &n,};\n"
      "AT_CUDA_CHECK(((void)args, k<3, true><<<dim3(a, b), 128, 0, s>>>(x, n), cudaSuccess)\n);");
  EXPECT_EQ(with_plain_launches("void *p[2] = {const_cast<float**>(&x), reinterpret_cast<void*>(&y)};\n"
                                "cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&ns::k), g, b, p);"),
            "void *p[2] = {const_cast<float**>(&x), reinterpret_cast<void*>(&y)};\n"
            "((void)p, ns::k<<<g, b>>>(x, y), cudaSuccess);");
  EXPECT_EQ(with_plain_launches("C10_CUDA_CHECK(cudaLaunchKernelEx(&config, k<3, true>, x,\n  n));"),
            "C10_CUDA_CHECK((k<3, true><<<(*(&config)).gridDim, (*(&config)).blockDim, "
            "(*(&config)).dynamicSmemBytes, (*(&config)).stream>>>(x, n), cudaSuccess)\n);");
  // What is no array of addresses, and comments, stay.
  for (const char* left : {"cudaLaunchKernel(k, g, b, args);", "void* args[] = {p};\ncudaLaunchKernel(k, g, b, args);",
                           "// cudaLaunchKernel(k, g, b, args)\n"})
    EXPECT_EQ(with_plain_launches(left), left);
}

class LaunchCallsCli : public OutsideCli {
 protected:
  static std::string text(const std::string& launch, const std::string& out = "{N, Cout, Lout}") {
    return R"(#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
template <bool plain>
__global__ void up(const float* x, const float* w, const float* b, float* y, int N, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d, int groups) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x, j = e % Lout, co = e / Lout % Cout, n = e / Lout / Cout;
  if (n >= N) return;
  const int cin = Cin / groups, cout = Cout / groups, g = co / cout;
  float sum = b ? b[co] : 0.f;
  for (int c = 0; c < cin; c++)
    for (int k = 0; k < K; k++)
      if (const int t = j + p - k * d; t >= 0 && (plain || t % s == 0) && t / s < L)
        sum += x[(n * Cin + g * cin + c) * L + t / s] * w[((g * cin + c) * cout + co % cout) * K + k];
  y[e] = sum;
}
torch::Tensor forward(torch::Tensor x_, torch::Tensor w_, torch::optional<torch::Tensor> bias, int stride, int padding, int output_padding, int dilation, int groups) {
  int N = x_.size(0), Cin = x_.size(1), Cout = w_.size(1) * groups, K = w_.size(2), L = x_.size(2);
  int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1;
  auto y_ = torch::empty()" +
           out + R"(, x_.options());
  const float *x = x_.data_ptr<float>(), *w = w_.data_ptr<float>(), *b = bias.has_value() ? bias->data_ptr<float>() : nullptr;
  float* y = y_.data_ptr<float>();
  const int blocks = (N * Cout * Lout + 127) / 128;
)" + launch +
           R"(
  return y_;
}
)";
  }
};

constexpr const char* by_call =
    R"(  void* args[] = {&x, &w, &b, &y, &N, &Cin, &Cout, &K, &L, &Lout, &stride, &padding, &dilation, &groups};
  AT_CUDA_CHECK(cudaLaunchKernel((const void*)up<false>, dim3(blocks), dim3(128), args, 0, nullptr));)";
constexpr const char* by_arrows =
    "  up<false><<<blocks, 128>>>(x, w, b, y, N, Cin, Cout, K, L, Lout, stride, padding, dilation, groups);";

TEST_F(LaunchCallsCli, CudaLaunchKernelIsALaunch) {
  auto r = run({"check", file("call.cu", text(by_call)), "--cases", "20"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ right on all 20 problems")) << r.out;
  // Its arguments are those of the array, in its order.
  r = run(Words{"run", changed_text(text(by_call), "&padding, &dilation", "&dilation, &padding")} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "the padding and the dilation are exchanged")) << r.out;
}

TEST_F(LaunchCallsCli, AKernelIsChosenByACondition) {
  const std::string chosen =
      "  auto kernel = stride == 1 ? up<true> : up<false>;\n"
      "  kernel<<<blocks, 128>>>(x, w, b, y, N, Cin, Cout, K, L, Lout, stride, padding, dilation, groups);";
  auto r = run({"check", file("choice.cu", text(chosen)), "--cases", "20"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run(Words{"run", changed_text(text(chosen), "stride == 1 ?", "stride > 0 ?")} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "nothing asks whether the stride divides")) << r.out;
}

// Addresses of kernels in variables, which are assigned, given to functions, and kept in tables.
TEST_F(LaunchCallsCli, AKernelIsLaunchedByItsAddress) {
  const std::string given = "(x, w, b, y, N, Cin, Cout, K, L, Lout, stride, padding, dilation, groups);";
  for (const std::string& launch :
       {"  auto kernel = up<true>;\n  if (stride != 1) kernel = &up<false>;\n  kernel<<<blocks, 128>>>" + given,
        "  void (*f)(const float*, const float*, const float*, float*, int, int, int, int, int, int, int, int, int, "
        "int) = "
        "nullptr;\n  switch (stride) {\n    case 1: f = up<true>; break;\n    default: f = up<false>;\n  }\n  "
        "cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);\n  f<<<blocks, 128, 60000>>>" +
            given,
        "  auto go = [&](auto kernel) { kernel<<<blocks, 128>>>" + given +
            " };\n  if (stride == 1)\n    go(up<true>);\n"
            "  else\n    go(up<false>);",
        "  static constexpr decltype(&up<true>) all[] = {up<false>, up<true>};\n  auto* kernel = all[stride == 1];\n"
        "  kernel<<<blocks, 128>>>" +
            given,
        "  using Kernel = decltype(&up<true>);\n  static constexpr Kernel table[] = {up<false>, up<true>};\n"
        "  const Kernel kernel = table[stride == 1];\n  kernel<<<blocks, 128>>>" +
            given,
        "  up<false><<<{static_cast<unsigned>(blocks), 1}, {128, 1, 1}>>>" + given,
        "  static constexpr decltype(&up<true>) table[] = {up<false>, up<true>};\n"
        "  table[stride == 1]<<<blocks, 128>>>" +
            given,
        "  struct { decltype(&up<true>) any[2]; } table = {{up<false>, up<true>}};\n"
        "  (*table.any[stride == 1])<<<dim3(blocks), 128>>>" +
            given,
        "  cudaLaunchConfig_t config = {};\n  config.gridDim = blocks;\n  config.blockDim = dim3(128);\n"
        "  cudaLaunchAttribute attribute;\n  attribute.id = cudaLaunchAttributeCooperative;\n"
        "  attribute.val.cooperative = 1;\n  config.attrs = &attribute, config.numAttrs = 1;\n"
        "  C10_CUDA_CHECK(cudaLaunchKernelEx(&config, up<false>, " +
            given.substr(1, given.size() - 2) + ");"}) {
    auto r = run({"check", file("address.cu", text(launch)), "--cases", "20"});
    EXPECT_EQ(r.code, 0) << launch << r.out << r.err;
    EXPECT_EQ(r.err, "") << "no warnings";
  }
  // Which of them is wrong is what is judged; none is no launch.
  auto r = run(Words{"run", file("wrong.cu", text("  auto kernel = up<false>;\n  if (stride > 1) kernel = up<true>;\n  "
                                                  "kernel<<<blocks, 128>>>" +
                                                  given))} +
               little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "exactly the bias should stand")) << r.out;
  r = run(
      Words{"run", file("none.cu",
                        text("  auto kernel = up<false>;\n  kernel = nullptr;\n  kernel<<<blocks, 128>>>" + given))} +
      little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "its host code launches a null pointer")) << r.out;
}

// Vector types as a kernel's parameters, alone and in a struct that is passed by value; a tensor's order in memory.
TEST_F(LaunchCallsCli, VectorsArePassedByValue) {
  const std::string by_vectors = R"(#include <torch/extension.h>
struct Sizes {
  int4 channels;  // in, out, of a group each
  uint2 lengths;
};
__global__ void up(const float* x, const float* w, const float* b, float* y, Sizes z, int2 step, float2 scale, int K, int d, int N) {
  const int L = z.lengths.x, Lout = z.lengths.y, Cout = z.channels.y, cin = z.channels.z, cout = z.channels.w;
  const int e = blockIdx.x * blockDim.x + threadIdx.x, j = e % Lout, co = e / Lout % Cout, n = e / Lout / Cout;
  if (n >= N) return;
  float sum = b ? b[co] : scale.y;
  for (int c = 0; c < cin; c++)
    for (int k = 0; k < K; k++)
      if (const int t = j + step.y - k * d, ci = co / cout * cin + c; t >= 0 && t % step.x == 0 && t / step.x < L)
        sum += scale.x * x[(n * z.channels.x + ci) * L + t / step.x] * w[(ci * cout + co % cout) * K + k];
  y[e] = sum;
}
torch::Tensor forward(torch::Tensor x_, torch::Tensor w, torch::optional<torch::Tensor> bias, int stride, int padding, int output_padding, int dilation, int groups) {
  auto x = x_.contiguous(at::MemoryFormat::Contiguous);
  int N = x.size(0), Cin = x.size(1), Cout = w.size(1) * groups, K = w.size(2), L = x.size(2);
  int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1;
  auto y = at::empty({N, Cout, Lout}, x.options(), at::MemoryFormat::Contiguous);
  Sizes z{make_int4(Cin, Cout, Cin / groups, Cout / groups), make_uint2(L, Lout)};
  up<<<(N * Cout * Lout + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.has_value() ? bias->data_ptr<float>() : nullptr,
      y.data_ptr<float>(), z, make_int2(stride, padding), make_float2(1, 0), K, dilation, N);
  return y;
}
)";
  auto r = run({"check", file("vectors.cu", by_vectors), "--cases", "20"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run(Words{"run", changed_text(by_vectors, "make_int2(stride, padding)", "make_int2(padding, stride)")} + little);
  EXPECT_TRUE(holds(r.out, "the stride and the padding are exchanged")) << r.out << r.err;
}

// A tensor of other sizes is no problem that the kernel does not take: it is wrong.
TEST_F(LaunchCallsCli, WhatIsReturnedHasWrongSizes) {
  struct Of {
    const char *sizes, *words;
  };
  const Words problem = little + Words{"--groups", "2"};
  for (const Of& of :
       {Of{"{N, Cout / groups, Lout}", "[1, 2, 81], where [1, 4, 81] belongs: Cout/groups channels"},
        Of{"{N, Lout, Cout}", "[1, 81, 4], where [1, 4, 81] belongs: channels and positions are exchanged"},
        Of{"{N, Cin, Lout}", "[1, 6, 81], where [1, 4, 81] belongs: as many channels as x has"},
        Of{"{N * Cout, Lout}", "[4, 81], where [1, 4, 81] belongs"}}) {
    const std::string path = file("sizes.cu", text(by_arrows, of.sizes));
    auto r = run(Words{"run", path} + problem);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(holds(r.out, std::string("wrong: its output has sizes ") + of.words + "\n")) << r.out;
    EXPECT_FALSE(holds(r.out, "Why: ")) << "it has been said\n" << r.out;
    EXPECT_TRUE(holds(r.out, "✗ shape ")) << r.out;
    if (of.sizes != std::string("{N, Cin, Lout}")) continue;  // what follows does not look at which sizes they are
    r = run({"check", path, "--cases", "20"});
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    const auto document = run(Words{"run", path, "--json"} + problem).document();
    EXPECT_EQ(document["verdict"]["status"], "wrong");
    // Nothing of it is timed, counted or explained.
    for (const Words& other : {Words{"profile", path}, Words{"bench", path}}) {
      r = run(other + problem);
      EXPECT_NE(r.code, 0) << r.out;
      EXPECT_TRUE(holds(r.out + r.err, of.words)) << r.out << r.err;
    }
  }
  // One sequence of several; where there is one alone it is right, and the x-ray knows others.
  const std::string path = file("sequence.cu", text(by_arrows, "{1, Cout, Lout}"));
  auto r = run(Words{"run", path, "--batch", "3"} + little);
  EXPECT_TRUE(holds(r.out, "[1, 4, 81], where [3, 4, 81] belongs: one sequence")) << r.out;
  // The control.
  r = run(Words{"run", file("right.cu", text(by_arrows))} + problem);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

}  // namespace
}  // namespace convscope
