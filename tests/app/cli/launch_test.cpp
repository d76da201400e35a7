// Kernel files whose launch is wrong, or that do something behind the layer: one sentence says it, whatever else is
// seen of them.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::OutsideCli;
using test::Words;

using LaunchCli = OutsideCli;

const Words small_layer{"--batch",       "2", "--in-channels", "6", "--out-channels", "8",
                        "--kernel-size", "5", "--stride",      "2", "--length",       "70"};

// Positions along x, output channels along y, sequences along z; without the test of the last two it writes far beside
// y where these are others'.
std::string launched(const std::string& grid, bool guarded) {
  return "// convscope: launch k3 grid=" + grid + R"( args=x,w,b,y,N,Cin,Cout,K,L,Lout,s,p,d,g
__global__ void k3(const float* x, const float* w, const float* b, float* y, int N, int Cin, int Cout, int K, int L,
                   int Lout, int s, int p, int d, int g) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout)" +
         (guarded ? " || co >= Cout || n >= N" : "") + R"() return;
  const int in_group = Cin / g, out_group = Cout / g, first = co / out_group * in_group;
  float sum = b ? b[co] : 0.0f;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s != 0 || t / s >= L) continue;
    for (int ci = first; ci < first + in_group; ci++)
      sum += x[(n * Cin + ci) * L + t / s] * w[(ci * out_group + co % out_group) * K + k];
  }
  y[(n * Cout + co) * Lout + j] = sum;
}
)";
}

TEST_F(LaunchCli, SidesThatAreExchangedOrAnotherNumber) {
  for (const auto& [grid, said] :
       {std::pair{"Cout,ceil_div(Lout,64),N block=64", "grid.x and grid.y of its launch are exchanged: "},
        std::pair{"64 block=ceil_div(Lout,64),Cout,N", "the grid and the block of its launch are exchanged: "},
        std::pair{"1,Cout,N block=64", "grid.x of its launch is 1, where ⌈Lout/block.x⌉ belongs: "},
        std::pair{"ceil_div(Lout,64),Cout,1 block=64", "grid.z of its launch is 1, where N belongs: "}})
    for (const bool guarded : {true, false}) {
      const std::string at = this->file("launched.cu", launched(grid, guarded));
      const auto r = run(Words{"run", at, "--json"} + small_layer);
      EXPECT_EQ(r.code, 1) << r.err;
      EXPECT_TRUE(r.document()["verdict"]["cause"].is_string() &&
                  holds(r.document()["verdict"]["cause"].get<std::string>(), said))
          << grid << r.document()["verdict"];
    }
  const auto r =
      run(Words{"run", this->file("launched.cu", launched("ceil_div(Lout,64),Cout,N block=64", false))} + small_layer);
  EXPECT_EQ(r.code, 0) << r.out;
}

// What it launches writes memory of its own: the bias is added behind it, by PyTorch.
TEST_F(LaunchCli, ALaunchWhoseOutputIsNotTheLast) {
  std::string text = test::text_file(test::project_file("assets/kernels/extension.py"));
  for (const auto& [from, to] : {std::pair{"<<<blocks, 128", "<<<128, blocks"},
                                 {"return self.op.conv_transpose1d(x, layer.weight, layer.bias",
                                  "y = self.op.conv_transpose1d(x, layer.weight, None"},
                                 {"layer.groups, layer.dilation[0])",
                                  "layer.groups, layer.dilation[0])\n        return y + layer.bias.view(1, -1, 1)"}})
    text = changed_into(text, from, to);
  const auto r = run(Words{"run", this->file("exchanged.py", text), "--json", "--bias"} + small_layer);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.document()["verdict"]["cause"].dump(), "the grid and the block of its launch are exchanged: "))
      << r.document()["verdict"];
}

// One block for all parts of a sum would be right: it is no launch that is wrong, the parts are not put together.
TEST_F(LaunchCli, PartsThatRaceAreNoWrongNumberOfBlocks) {
  std::string text = launched("ceil_div(Lout,64),Cout,2 block=64", true);
  for (const auto& [from, to] : {std::pair{", n = blockIdx.z", ""},
                                 {" || n >= N", ""},
                                 {"float sum", "for (int n = 0; n < N; n++) {\n  float sum"},
                                 {"ci = first;", "ci = first + blockIdx.z;"},
                                 {"ci++", "ci += gridDim.z"},
                                 {"= sum;", "= sum;\n  }"}})
    text = changed_into(text, from, to);
  const auto r = run(Words{"run", this->file("parts.cu", text), "--json"} + small_layer);
  const json verdict = r.document()["verdict"];
  EXPECT_TRUE(holds(verdict["sentence"].get<std::string>(), "a race between blocks")) << verdict;
  EXPECT_FALSE(verdict["cause"].is_string()) << verdict["cause"];
}

// Channels beside each other, and nothing asks whether there are so many: what lies behind a position is written by the
// next one's threads as well, and by whom last is a matter of order.
TEST_F(LaunchCli, WhatIsRightInOneOrderIsNoOtherLaunch) {
  constexpr const char* text = R"py(import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
// x: [N, L, Cin]; w: [K, Cin, Cout]; y: [N, Lout, Cout]
__global__ void nlc(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* __restrict__ y,
                    int L, int Lout, int Cin, int Cout, int K, int s, int p, int d) {
  int co = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y;
  int n = blockIdx.z;
  float sum = b ? b[co] : 0.f;
  for (int k = 0; k < K; ++k) {
    int t = j + p - k * d;
    if (t < 0 || t % s) continue;
    t /= s;
    if (t >= L) continue;
    const float* xp = x + ((size_t)n * L + t) * Cin;
    const float* wp = w + (size_t)k * Cin * Cout + co;
    for (int c = 0; c < Cin; ++c) sum += xp[c] * wp[(size_t)c * Cout];
  }
  y[((size_t)n * Lout + j) * Cout + co] = sum;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> b, int s, int p, int d) {
  int N = x.size(0), L = x.size(1), Cin = x.size(2), K = w.size(0), Cout = w.size(2);
  int Lout = (L - 1) * s - 2 * p + d * (K - 1) + 1;
  auto y = torch::empty({N, Lout, Cout}, x.options());
  nlc<<<dim3((Cout + 31) / 32, Lout, N), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.has_value() ? b->data_ptr<float>() : nullptr,
      y.data_ptr<float>(), L, Lout, Cin, Cout, K, s, p, d);
  return y;
}
"""

class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        super().__init__()
        self.conv = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, bias=bias)
        self.register_buffer("packed", self.conv.weight.detach().permute(2, 0, 1).contiguous(), persistent=False)
        self.mod = load_inline("nlc_mod", ["torch::Tensor run(torch::Tensor, torch::Tensor, c10::optional<torch::Tensor>, int, int, int);"], [src], ["run"])

    def forward(self, x):
        y = self.mod.run(x.transpose(1, 2).contiguous(), self.packed, self.conv.bias, self.conv.stride[0], self.conv.padding[0], self.conv.dilation[0])
        return y.transpose(1, 2).contiguous()
)py";
  const auto r = run(Words{"run", this->file("channels.py", text), "--json", "--padding", "1"} + small_layer);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_FALSE(holds(r.document()["verdict"]["cause"].dump(), "of its launch")) << r.document()["verdict"]["cause"];
}

TEST_F(LaunchCli, WhatIsDoneBehindTheLayer) {
  const std::string file = changed("gather.cu", "y[id] = sum;", "y[id] = sum / (1 + expf(-sum));");
  const std::string said = "every result goes through a SiLU (Swish), which is not of the layer";
  auto r = run(Words{"run", file, "--bias"} + small_layer);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, said)) << r.out;
  r = run({"check", file, "--cases", "4"});
  EXPECT_TRUE(holds(r.out, "why       " + said)) << r.out;
}

}  // namespace
}  // namespace convscope
