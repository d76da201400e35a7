// Views, copies and sums of tensors in host code: a kernel that writes more than the output, which is then cut out of
// it, or less, to which a bias is added afterwards.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

class TensorsCli : public OutsideCli {};

// All outputs of a layer without padding, [N, Cout, (L − 1)·s + d·(K − 1) + 1 + op].
std::string of_whole_layer(const std::string& rest) {
  return R"(#include <torch/extension.h>
template <class T>
__global__ void up(const T* x, const T* w, T* y, int Cin, int Cout, int K, int L, int Lfull, int s, int d) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lfull) return;
  T sum = 0;
  for (int k = 0; k < K; k++) {
    const int t = j - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / s] * w[(ci * Cout + co) * K + k];
  }
  y[(n * Cout + co) * Lfull + j] = sum;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, std::optional<torch::Tensor> bias, int stride, int padding,
                      int output_padding, int dilation) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lfull = (L - 1) * stride + dilation * (K - 1) + 1 + output_padding;
  [[maybe_unused]] const int Lout = Lfull - 2 * padding;
  auto full = torch::empty({N, Cout, Lfull}, x.options());
  const dim3 grid((Lfull + 63) / 64, Cout, N);
  up<<<grid, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), full.data_ptr<float>(), Cin, Cout, K, L, Lfull, stride,
                   dilation);
)" + rest +
         "\n}\n";
}
const Words batch = {"--batch", "2"};

TEST_F(TensorsCli, TheOutputIsCutOutOfMore) {
  for (const char* rest :
       {"auto y = full.narrow(2, padding, Lout);\nif (bias) return y + bias->view({1, -1, 1});\nreturn y;",
        "auto y = full.slice(2, padding, padding + Lout).contiguous();\nif (bias) y.add_(bias->view({1, Cout, 1}));\n"
        "return y;",
        "auto y = torch::constant_pad_nd(full, {-padding, -padding});\nif (bias) y += bias->unsqueeze(1);\nreturn y;",
        "auto y = torch::zeros({N, Cout, Lout}, x.options());\n"
        "for (int n = 0; n < N; n++) y.select(0, n).copy_(full.select(0, n).slice(1, padding, padding + Lout));\n"
        "if (bias) return torch::add(y, bias->view({Cout, 1}).expand({Cout, Lout}));\nreturn y;"}) {
    const std::string here = file("cut.cu", of_whole_layer(rest));
    const auto r = run(Words{"run", here} + little + batch);
    EXPECT_EQ(r.code, 0) << rest << r.out << r.err;
    EXPECT_EQ(r.err, "") << "no warnings";
    EXPECT_TRUE(holds(r.out, " for PyTorch's own, whose time may be another")) << r.out;
    const auto all = run(Words{"check", here, "--cases", "12"});
    EXPECT_TRUE(holds(all.out, "✓ right on all 12 problems")) << rest << all.out << all.err;
  }
}

// A result that is a part of what was taken is not where it would be alone.
TEST_F(TensorsCli, APartThatIsContiguousIsTakenOut) {
  const std::string first = of_whole_layer(
      "auto all = torch::empty({3, Cout, Lfull}, x.options());\nall.select(0, 1).copy_(full.select(0, 0));\n"
      "TORCH_CHECK(!bias, \"none\");\nreturn all.narrow(0, 1, 1);");
  const Words layer = {"--in-channels", "6",  "--out-channels", "4", "--kernel-size", "3",
                       "--length",      "40", "--stride",       "2"};
  const auto r = run(Words{"run", file("part.cu", first)} + layer);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ memory")) << r.out;
}

TEST_F(TensorsCli, ItsFaultsAreTold) {
  auto r = run(Words{"run", file("late.cu", of_whole_layer("auto y = full.narrow(2, padding + 1, Lout - 1);\n"
                                                           "return torch::constant_pad_nd(y, {0, 1});"))} +
               Words(little.begin(), little.end() - 1));
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "it takes j = i·s − (p + 1) + k·d, where j = i·s − p + k·d belongs")) << r.out;
  r = run(Words{"run", file("ones.cu", of_whole_layer("auto y = full.narrow(2, padding, Lout) + torch::ones({1}, "
                                                      "x.options());\nreturn y;"))} +
          Words(little.begin(), little.end() - 1));
  EXPECT_EQ(r.code, 1) << "one is added to all: " << r.out;
}

TEST_F(TensorsCli, WhatDoesNotFitIsRefused) {
  for (const auto& [rest, words] :
       {std::pair{"return full.narrow(2, 1, Lfull);",
                  "its host code narrows dimension 2 of a tensor of sizes [2, 4, 83] "
                  "to 83 from 1 on"},
        {"return full + bias->view({1, 1, -1});", "its host code expands a tensor of sizes [1, 1, 4] to [2, 4, 83]"},
        {"return full.select(1, 4);", "selects index 4 of dimension 1 of a tensor of sizes [2, 4, 83]"},
        {"return full + torch::Tensor();", "adds or copies a tensor that is not there"},
        {"return torch::constant_pad_nd(full, {1, 1, 0, 0, 0, 0, 0, 0});",
         "pads a tensor of sizes [2, 4, 83] by 8 numbers: two for each of its dimensions at most"},
        {"return torch::constant_pad_nd(full, {-80, -4});", "cuts 84 off dimension 2 of a tensor of sizes [2, 4, 83]"},
        {"auto y = bias->view({4, 1}).expand({4, 83});\ny.add_(full.select(0, 0));\nreturn full;",
         "writes to a tensor of sizes [4, 83] that expand() made"},
        {"return full.slice(2, 0, Lout, 0);", "takes a slice with a step of 0"},
        {"full.add_(torch::zeros({1}, torch::kDouble));\nreturn full;",
         "adds or copies a tensor of type Double to one of type Float"}}) {
    const auto r = run(Words{"run", file("refused.cu", of_whole_layer(rest))} + little + batch);
    EXPECT_EQ(r.code, 1) << r.out;
    EXPECT_TRUE(holds(r.out, words)) << r.out << r.err;
  }
}

}  // namespace
}  // namespace convscope
