// Kernel files whose host code fills memory that the file declares: __constant__ weights, as textbooks have them.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::has_nvcc;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

class ConstantMemoryCli : public OutsideCli {};

constexpr const char* weights_in_constants = R"(
#include <torch/extension.h>
__constant__ float c_weight[1024];
__global__ void up(const float* x, const float* b, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout) return;
  float sum = b ? b[co] : 0.f;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / s] * c_weight[(ci * Cout + co) * K + k];
  }
  y[(n * Cout + co) * Lout + j] = sum;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::optional<torch::Tensor> bias, int stride, int padding,
                      int dilation) {
  const int Lout = (x.size(2) - 1) * stride - 2 * padding + dilation * (w.size(2) - 1) + 1;
  auto y = torch::empty({x.size(0), w.size(1), Lout}, x.options());
  cudaMemcpyToSymbol(c_weight, w.data_ptr<float>(), w.numel() * sizeof(float), 0, cudaMemcpyDeviceToDevice);
  up<<<dim3((Lout + 63) / 64, w.size(1), x.size(0)), 64>>>(
      x.data_ptr<float>(), bias ? bias->data_ptr<float>() : nullptr, y.data_ptr<float>(), x.size(1), w.size(1),
      w.size(2), x.size(2), Lout, stride, padding, dilation);
  return y;
}
)";

TEST_F(ConstantMemoryCli, WeightsAreThoseOfEachRun) {
  const std::string here = file("weights.cu", weights_in_constants);
  auto r = run(Words{"run", here} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ binding      2 launches")) << r.out;
  EXPECT_TRUE(holds(r.out, "no race between the threads")) << "traced, from its own copy" << r.out;
  EXPECT_EQ(r.err, "") << "no warnings";
  r = run({"check", here, "--cases", "10"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  if (!has_nvcc()) return;
  r = run({"disassemble", here, "--device", "emulator"});
  for (const char* name : {"\nconvscope_fill, sm_90: ", "\nup, sm_90: "}) EXPECT_TRUE(holds(r.out, name)) << r.err;
}

TEST_F(ConstantMemoryCli, ItsFaultIsToldByName) {
  const std::string reversed = changed_text(weights_in_constants, "co) * K + k]", "co) * K + K - 1 - k]");
  auto r = run(Words{"run", reversed} + little);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "the taps of w are taken in reverse order")) << r.out;
  r = run(Words{"explain", reversed, "--at", "0,1,3"} + little);
  EXPECT_TRUE(holds(r.out, "i = (j + p − k·d)/s")) << r.out << r.err;
  r = run(Words{"run", changed_text(weights_in_constants, "w.data_ptr<float>(), w.numel()",
                                    "x.data_ptr<float>(), w.numel()")} +
          little);
  EXPECT_EQ(r.code, 1) << "what lies in it is what was copied" << r.out;
}

TEST_F(ConstantMemoryCli, WhatDoesNotFitIsSaidInOneLine) {
  const std::string here = file("small.cu", weights_in_constants);
  auto r = run({"run", here, "--in-channels", "40", "--out-channels", "9", "--kernel-size", "3", "--length", "9"});
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "its host code copies 4320 bytes into c_weight, which has 4096")) << r.out;
  r = run(Words{"run", changed_text(weights_in_constants, "w.numel() * sizeof(float)", "sizeof(c_weight)")} + little);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "its host code copies 4096 bytes out of w, which has 288")) << r.out;
  r = run(Words{"run", changed_text(weights_in_constants, "c_weight[1024]", "c_weight[16385]")} + little);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "changed.cu:3: ")) << r.out;
  EXPECT_TRUE(holds(r.out, "its __constant__ memory is more than the 65536 bytes that a GPU has")) << r.out;
  r = run(Words{"run", changed_text(weights_in_constants, "float c_weight[1024]", "const float c_weight[1024] = {1}")} +
          little);
  EXPECT_TRUE(holds(r.out, "fills c_weight, which is declared const")) << r.out;
  r = run(Words{"run", changed_text(weights_in_constants, "up<<<",
                                    "float here[9];\n  cudaMemcpyToSymbol(here, "
                                    "w.data_ptr<float>(), 36);\n  up<<<")} +
          little);
  EXPECT_TRUE(holds(r.out, "that is no __constant__ or __device__ memory of the file")) << r.out;
}

// A struct that holds an address, numbers, an offset, an address of a symbol, several variables, and weights one output
// channel at a time out of a temporary.
constexpr const char* constants_of_all_kinds = R"(
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
namespace up {
struct Params { int Cin, Cout, K, L, Lout, s, p, d; const float* x; };
__constant__ Params c_params;
namespace { __constant__ alignas(16) float c_w[256]; }
__device__ float kept[32];
}
static __constant__ float c_bias[32], c_scale[2];
__constant__ int c_order[2] = {1, 2};
__global__ void one_channel(float* y, const float* again, int co) {
  const up::Params& q = up::c_params;
  const int j = blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y;
  if (j >= q.Lout) return;
  float sum = c_bias[co] + up::kept[co] - again[co];
  for (int k = 0; k < q.K; k++) {
    const int t = j + q.p - k * q.d;
    if (t < 0 || t % q.s || t / q.s >= q.L) continue;
    for (int ci = 0; ci < q.Cin; ci++) sum += q.x[(n * q.Cin + ci) * q.L + t / q.s] * up::c_w[ci * q.K + k];
  }
  y[(n * q.Cout + co) * q.Lout + j] = sum * c_scale[1] * c_order[0];
}
__global__ void turn(const float* w, float* t, int Cin, int Cout, int K) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < Cin * Cout * K) t[(i / K % Cout * Cin + i / K / Cout) * K + i % K] = w[i];
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor bias, int stride, int padding, int dilation) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  auto turned = torch::empty({Cout, Cin, K}, w.options());
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  turn<<<(Cin * Cout * K + 127) / 128, 128, 0, stream>>>(w.data_ptr<float>(), turned.data_ptr<float>(), Cin, Cout, K);
  const up::Params params{Cin, Cout, K, L, Lout, stride, padding, dilation, x.data_ptr<float>()};
  C10_CUDA_CHECK(cudaMemcpyToSymbolAsync(up::c_params, &params, sizeof(params), 0, cudaMemcpyHostToDevice, stream));
  const float one = 1;
  C10_CUDA_CHECK(cudaMemcpyToSymbol(c_scale, &one, sizeof one, sizeof(float)));
  void *at, *kept;
  size_t bytes;
  cudaGetSymbolAddress(&at, c_bias), cudaGetSymbolSize(&bytes, c_bias), cudaGetSymbolAddress(&kept, up::kept);
  cudaMemsetAsync(at, 0, bytes, stream);
  if (bias.defined()) cudaMemcpyToSymbol((const void*)&c_bias, bias.data_ptr(), bias.nbytes(), 0, cudaMemcpyDefault);
  cudaMemcpyAsync(kept, turned.data_ptr<float>(), Cout * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  for (int co = 0; co < Cout; co++) {
    cudaMemcpyToSymbolAsync(up::c_w, turned.data_ptr<float>() + co * Cin * K, Cin * K * sizeof(float), 0,
                            cudaMemcpyDeviceToDevice, stream);
    one_channel<<<dim3((Lout + 127) / 128, N), 128, 0, stream>>>(y.data_ptr<float>(), turned.data_ptr<float>(), co);
  }
  return y;
}
)";

TEST_F(ConstantMemoryCli, StructsNumbersOffsetsAndAddresses) {
  const std::string here = file("kinds.cu", constants_of_all_kinds);
  auto r = run(Words{"run", here} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
  // Traced, one launch alone: it needs what others have filled.
  r = run(Words{"profile", here} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "kinds.cu:20 ")) << r.out;
  // A number where it does not belong; of each channel the first one's weights.
  for (const auto& [from, to] :
       {std::pair{"sizeof one, sizeof(float)", "sizeof one, 0"}, {"+ co * Cin * K, Cin", "+ 0 * Cin * K, Cin"}}) {
    r = run(Words{"run", changed_text(constants_of_all_kinds, from, to)} + little);
    EXPECT_EQ(r.code, 1) << from << r.out;
  }
  if (!has_nvcc()) return;
  r = run({"disassemble", here, "--device", "emulator", "--no-bias"});
  for (const char* name : {"\nconvscope_set, sm_90: ", "\none_channel, sm_90: "})
    EXPECT_TRUE(holds(r.out, name)) << r.out.substr(0, 200) << r.err;
}

// A function of the host's arrays, that takes its own memory and copies both ways.
constexpr const char* of_a_textbook = R"(
#include <cuda_runtime.h>
#define MAX_MASK 1024
__constant__ float M[MAX_MASK];
__global__ void up(const float* N, float* P, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout) return;
  float v = 0;
  for (int ci = 0; ci < Cin; ci++)
    for (int k = 0; k < K; k++) {
      const int t = j + p - k * d;
      if (t >= 0 && t % s == 0 && t / s < L) v += N[(n * Cin + ci) * L + t / s] * M[(ci * Cout + co) * K + k];
    }
  P[(n * Cout + co) * Lout + j] = v;
}
void conv_transpose1d(const float* h_input, const float* h_weight, float* h_output, int batch, int in_channels,
                      int out_channels, int kernel_size, int length, int out_length, int stride, int padding, int dilation) {
  float *d_N, *d_P;
  const size_t in = sizeof(float) * batch * in_channels * length, out = sizeof(float) * batch * out_channels * out_length;
  cudaMalloc((void**)&d_N, in);
  cudaMalloc((void**)&d_P, out);
  cudaMemcpy(d_N, h_input, in, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(M, h_weight, sizeof(float) * in_channels * out_channels * kernel_size);
  up<<<dim3((out_length + 127) / 128, out_channels, batch), 128>>>(d_N, d_P, in_channels, out_channels, kernel_size,
                                                                    length, out_length, stride, padding, dilation);
  cudaMemcpy(h_output, d_P, out, cudaMemcpyDeviceToHost);
  cudaFree(d_N), cudaFree(d_P);
}
)";

TEST_F(ConstantMemoryCli, AFunctionOfTheHostsArrays) {
  auto r = run({"check", file("textbook.cu", of_a_textbook), "--cases", "10"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  const Words no_bias = {"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "40"};
  r = run(
      Words{"run", changed_text(of_a_textbook, "cudaMemcpy(h_output, d_P, out", "cudaMemcpy(h_output, d_P, out - 4")} +
      no_bias);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "never writes 1 element")) << r.out;
  r = run(
      Words{"run", changed_text(of_a_textbook, "cudaMemcpy(d_N, h_input, in,", "cudaMemcpy(d_N, h_input, 2 * in,")} +
      no_bias);
  EXPECT_TRUE(holds(r.out, "bytes into memory that it took, which has ")) << r.out;
}

// Elements are counted where bytes belong: of results that are wrong by it that is the cause.
TEST_F(ConstantMemoryCli, ElementsThatAreTakenForBytesAreTold) {
  const Words no_bias = {"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "40"};
  const std::string rest = " have 4 bytes each: the rest of it is not reached";
  struct Of {
    const char *from, *to, *says;
  };
  for (const Of& of :
       {Of{"h_weight, sizeof(float) * in", "h_weight, in", "copies 72 bytes of w, whose 72 elements"},
        Of{"cudaMemcpy(d_N, h_input, in,", "cudaMemcpy(d_N, h_input, in / 4,",
           "copies 240 bytes of x, whose 240 elements"},
        Of{"h_output, d_P, out,", "h_output, d_P, out / 4,", "fills 168 bytes of y, whose 168 elements"}}) {
    const std::string changed = changed_text(of_a_textbook, of.from, of.to);
    auto r = run(Words{"run", changed} + no_bias);
    EXPECT_EQ(r.code, 1) << r.out;
    EXPECT_TRUE(holds(r.out, std::string("wrong: its host code ") + of.says + rest)) << r.out;
    r = run(Words{"xray", changed} + no_bias);
    EXPECT_TRUE(holds(r.out, "✗ its host code ")) << r.out;
  }
  // Half of it is none of these.
  const auto r =
      run(Words{"run", changed_text(of_a_textbook, "h_output, d_P, out,", "h_output, d_P, out / 2,")} + no_bias);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_FALSE(holds(r.out, "the rest of it is not reached")) << r.out;
}

TEST_F(ConstantMemoryCli, WhatALaunchLineCannotFillIsSaid) {
  const std::string text =
      "// convscope: launch k grid=1 block=1 args=x,y\n__constant__ float c_w[64];\n"
      "__constant__ float table[2] = {1, 2};\n__global__ void k(const float* x, float* y) { y[0] = x[0] * c_w[0] * "
      "table[1]; }\n";
  auto r = run({"run", file("line.cu", text), "--length", "4"});
  EXPECT_EQ(r.code, 2) << r.out;
  EXPECT_TRUE(holds(r.err, "c_w is __constant__ memory that no `launch` line fills")) << r.err;
}

}  // namespace
}  // namespace convscope
