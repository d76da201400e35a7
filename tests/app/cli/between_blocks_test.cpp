// Kernel files whose blocks use each other's memory within one launch, beside y; and accesses of two halves at a time.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::OutsideCli;
using test::Words;

using BetweenBlocksCli = OutsideCli;

const Words odd_layer{"--batch",       "2", "--in-channels", "6", "--out-channels", "5", "--length",   "101",
                      "--kernel-size", "5", "--stride",      "3", "--padding",      "2", "--dilation", "2"};

// Weights are packed by block 0 of the launch that uses them.
constexpr const char* packs = R"(#include <torch/extension.h>
__global__ void pack(const float* w, float* v, int Cin, int Cout, int K) {
  for (int e = threadIdx.x; e < Cin * Cout * K; e += blockDim.x)
    v[(e % K * Cin + e / K / Cout) * Cout + e / K % Cout] = w[e];
}
__global__ void up(const float* x, const float* w, float* v, float* y, int Cin, int Cout, int K, int L, int Lout, int s,
                   int p, int d) {
  const int j = blockIdx.x * 64 + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (HERE && blockIdx.x == 0 && co == 0 && n == 0)
    for (int e = threadIdx.x; e < Cin * Cout * K; e += 64) v[(e % K * Cin + e / K / Cout) * Cout + e / K % Cout] = w[e];
  __syncthreads();
  if (j >= Lout) return;
  float sum = 0;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / s] * v[(k * Cin + ci) * Cout + co];
  }
  y[(n * Cout + co) * Lout + j] = sum;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> bias, int stride, int padding,
                      int output_padding, int dilation) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options()), v = torch::empty({K, Cin, Cout}, w.options());
  if (!HERE) pack<<<1, 256>>>(w.data_ptr<float>(), v.data_ptr<float>(), Cin, Cout, K);
  up<<<dim3((Lout + 63) / 64, Cout, N), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), v.data_ptr<float>(),
                                              y.data_ptr<float>(), Cin, Cout, K, L, Lout, stride, padding, dilation);
  return y;
}
)";

TEST_F(BetweenBlocksCli, WhatOneBlockWritesOthersReadInALaunchOfItsOwnAlone) {
  auto with = [&](const char* here) {
    return run(Words{"run", file("packs.cu", "#define HERE " + std::string(here) + "\n" + packs)} + odd_layer);
  };
  auto r = with("0");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = with("1");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "a race between blocks over its workspace: thread ")) << r.out;
  EXPECT_TRUE(holds(r.out, "of block 0 writes it at packs.cu:11, and block ")) << r.out;
  EXPECT_TRUE(holds(r.out, " reads it at packs.cu:18, with nothing in this launch that orders them")) << r.out;
  EXPECT_FALSE(holds(r.out, "nothing in it depends on an order")) << r.out;
}

// Each tile is taken once where the counter is atomic. Else results are right here, and by luck on a GPU.
TEST_F(BetweenBlocksCli, ACounterThatIsNotAtomic) {
  const std::string text = R"(#include <torch/extension.h>
__global__ void up(const float* x, const float* w, float* y, int* counter, int tiles, int tj, int Cin, int Cout, int K,
                   int L, int Lout, int s, int p, int d) {
  __shared__ int tile;
  while (true) {
    if (threadIdx.x == 0) tile = atomicAdd(counter, 1);
    __syncthreads();
    const int t = tile;
    __syncthreads();
    if (t >= tiles) break;
    const int co = t / tj % Cout, n = t / tj / Cout, j = t % tj * 64 + threadIdx.x;
    if (j >= Lout) continue;
    float sum = 0;
    for (int k = 0; k < K; k++) {
      const int m = j + p - k * d;
      if (m < 0 || m % s || m / s >= L) continue;
      for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + m / s] * w[(ci * Cout + co) * K + k];
    }
    y[(n * Cout + co) * Lout + j] = sum;
  }
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> bias, int stride, int padding,
                      int output_padding, int dilation) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  auto counter = torch::zeros({1}, x.options().dtype(torch::kInt32));
  const int tj = (Lout + 63) / 64;
  up<<<4, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), counter.data_ptr<int>(), N * Cout * tj,
                tj, Cin, Cout, K, L, Lout, stride, padding, dilation);
  return y;
}
)";
  auto r = run(Words{"run", file("atomic.cu", text)} + odd_layer);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run(Words{"run", changed_text(text, "tile = atomicAdd(counter, 1);", "tile = *counter, *counter = tile + 1;")} +
          odd_layer);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "a race between blocks over its workspace: thread 0 of block ")) << r.out;
  EXPECT_TRUE(holds(r.out, " at changed.cu:6, with nothing in this launch that orders them")) << r.out;
}

// Rows of an odd length begin at an odd half, where a GPU stores no two at once.
TEST_F(BetweenBlocksCli, TwoHalvesAtOnceWhereTheyAreNotAligned) {
  const std::string here = changed_text(gather_of("__half", "f16", "cuda_fp16.h"), "y[id] = __half(sum);",
                                        "const float next = __shfl_down_sync(__activemask(), sum, 1);\n"
                                        "  if (j % 2 == 0 && j + 1 < Lout && threadIdx.x % 32 < 31)\n"
                                        "    *reinterpret_cast<__half2*>(y + id) = __floats2half2_rn(sum, next);\n"
                                        "  else if (j % 2 == 0 || threadIdx.x % 32 == 0) y[id] = __float2half(sum);",
                                        "pairs.cu");
  auto of = [&](const char* length) {
    return run({"run", here, "--dtype", "f16", "--in-channels", "3", "--out-channels", "4", "--length", length});
  };
  auto r = of("32");
  EXPECT_EQ(r.code, 0) << "every row begins at an even half\n" << r.out << r.err;
  r = of("33");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "writes 4 bytes at an address that is a multiple of 2 only at pairs.cu:")) << r.out;
}

}  // namespace
}  // namespace convscope
