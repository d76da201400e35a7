// Modules of Python files as wholes: what forward() does around the call is part of what is judged.
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

// Of its host code, in one line: what C++ alone sees of it.
constexpr const char* declared_of_module =
    "torch::Tensor conv(torch::Tensor, torch::Tensor, torch::optional<torch::Tensor>, int, int, int, int); "
    "torch::Tensor reversed(torch::Tensor);";

class PythonCli : public OutsideCli {
 protected:
  // A module whose kernel is right, with weights as PyTorch has them.
  std::string module(const std::string& forward, const std::string& init = "") {
    static int number = 0;
    const std::string text = R"(import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.cpp_extension import load_inline
source = r'''
#include <torch/extension.h>
__global__ void up(const float* x, const float* w, const float* b, float* y, int N, int Cin, int Cout, int K, int L,
                   int Lout, int s, int p, int d) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= N * Cout * Lout) return;
  const int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  float sum = b ? b[co] : 0.f;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / s] * w[(ci * Cout + co) * K + k];
  }
  y[id] = sum;
}
__global__ void turn(const float* w, float* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = w[n - 1 - i];
}
torch::Tensor conv(torch::Tensor x, torch::Tensor w, torch::optional<torch::Tensor> b, int a0, int a1, int a2, int a3) {
  const int N = x.size(0), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * a0 - 2 * a1 + a3 * (K - 1) + a2 + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  up<<<(N * Cout * Lout + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(),
      b.has_value() ? b->data_ptr<float>() : nullptr, y.data_ptr<float>(), N, x.size(1), Cout, K, L, Lout, a0, a1, a3);
  return y;
}
torch::Tensor reversed(torch::Tensor w) {
  auto to = torch::empty_like(w);
  turn<<<(w.numel() + 63) / 64, 64>>>(w.data_ptr<float>(), to.data_ptr<float>(), w.numel());
  return to;
}
'''
ext = load_inline(name='e', cpp_sources=')" +
                             std::string(declared_of_module) +
                             R"(', cuda_sources=source, functions=['conv', 'reversed'])

class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, dilation=1,
                 bias=False):
        super().__init__()
        self.c = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride, padding, output_padding, 1, bias,
                                    dilation)
)" + init + "\n    def forward(self, x):\n        c = self.c\n" +
                             forward;
    return file("m" + std::to_string(number++) + ".py", text);
  }
  std::string checked(const std::string& name, const Words& more = {}) {
    const auto r = run(Words{"check", name, "--cases", "40"} + more);
    return r.out + r.err;
  }
};

TEST_F(PythonCli, WhatForwardDoesIsFollowed) {
  struct Module {
    const char *forward, *init;
  };
  for (const Module& m :
       {Module{"        return ext.conv(x.contiguous(), c.weight, c.bias, c.stride[0], c.padding[0], "
               "c.output_padding[0], c.dilation[0])\n",
               ""},
        // Two of its functions, the weights packed once.
        Module{"        if self.w is None:\n            self.w = ext.reversed(ext.reversed(c.weight))\n"
               "        return ext.conv(x, self.w, c.bias, c.stride[0], c.padding[0], c.output_padding[0], "
               "c.dilation[0])\n",
               "        self.w = None\n"},
        // The bias behind the call; zeros put between, so that the stride is 1; the padding cut off the result.
        Module{"        y = ext.conv(x, c.weight, None, c.stride[0], c.padding[0], c.output_padding[0], "
               "c.dilation[0])\n        return y if c.bias is None else y + c.bias.view(1, -1, 1)\n",
               ""},
        Module{"        N, C, L = x.shape\n        s = c.stride[0]\n"
               "        up = torch.zeros(N, C, (L - 1) * s + 1, device=x.device, dtype=x.dtype)\n"
               "        up[:, :, ::s] = x\n        up = F.pad(up, (0, c.output_padding[0]))\n"
               "        return ext.conv(up, c.weight, c.bias, 1, c.padding[0], 0, c.dilation[0])\n",
               ""},
        Module{"        y = ext.conv(x, c.weight, c.bias, c.stride[0], 0, c.output_padding[0], c.dilation[0])\n"
               "        p = c.padding[0]\n        return y[:, :, p:y.size(2) - p].contiguous()\n",
               ""},
        // Weights in another order, and back.
        Module{"        return ext.conv(x, self.w.permute(1, 0, 2).contiguous(), c.bias, c.stride[0], c.padding[0], "
               "c.output_padding[0], c.dilation[0])\n",
               "        self.w = nn.Parameter(self.c.weight.transpose(0, 1).contiguous())\n"}}) {
    const std::string said = checked(module(m.forward, m.init));
    EXPECT_TRUE(holds(said, "✓ right on all 40 problems")) << m.forward << said;
  }
}

// A module that is made from PyTorch's layer has its weights and numbers.
TEST_F(PythonCli, WhatIsMadeFromTheLayerHasItsNumbers) {
  const std::string source = test::text_file(module("        return x\n"));
  const std::string before = source.substr(0, source.find("class ModelNew"));
  const std::string call =
      "    def forward(self, x, output_size=None):\n        return ext.conv(x, self.weight, self.bias, "
      "self.stride[0], self.padding[0], self.output_padding[0], self.dilation[0])\n";
  const std::string init =
      "    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, "
      "output_padding=0, dilation=1, bias=False):\n        super().__init__(in_channels, "
      "out_channels, kernel_size, stride=stride, padding=padding, output_padding=output_padding, "
      "bias=bias, dilation=dilation)\n";
  const Words one_group = {"--groups", "1"};
  for (const std::string& type :
       {"class ModelNew(nn.ConvTranspose1d):\n" + call, "class ModelNew(torch.nn.ConvTranspose1d):\n" + init + call,
        "class Up(nn.ConvTranspose1d):\n" + call + "class ModelNew(Up):\n    pass\n"}) {
    const std::string said = checked(file("layer.py", before + type), one_group);
    EXPECT_TRUE(holds(said, "✓ right on all 40 problems")) << type << said;
  }
  const std::string said = checked(changed_text(before + "class ModelNew(nn.ConvTranspose1d):\n" + call,
                                                "self.padding[0]", "self.dilation[0]", "wrong.py"),
                                   one_group);
  EXPECT_TRUE(holds(said, "the dilation stands where the padding belongs")) << said;
}

// Weights of its own that the layer's cannot be loaded into; where they are square they are the layer's.
TEST_F(PythonCli, ItsWeightsHaveOtherSizes) {
  std::string text =
      test::text_file(module("        return ext.conv(x, self.weight, None, self.s, self.p, self.o, self.d)\n"));
  const size_t layer = text.find("        self.c = "), end = text.find("dilation)\n", layer) + 10,
               use = text.find("        c = self.c\n");
  text.erase(use, 19);
  auto of = [&](const std::string& sizes) {
    std::string own = text;
    own.replace(layer, end - layer,
                "        self.s, self.p, self.o, self.d = stride, padding, output_padding, dilation\n"
                "        self.weight = nn.Parameter(torch.randn(" +
                    sizes + "))\n");
    return file("own.py", own);
  };
  const Words problem = {"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "40"};
  auto r = run(Words{"run", of("out_channels, in_channels, kernel_size")} + problem);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out,
                    "wrong: its module's weight has sizes [4, 6, 3], where nn.ConvTranspose1d's has [6, 4, 3]: it "
                    "is [Cout, Cin/groups, K], as nn.Conv1d's are, and the layer's is [Cin, Cout/groups, K]"))
      << r.out;
  EXPECT_TRUE(holds(r.out, "its module is followed")) << r.out;
  r = run(Words{"run", of("in_channels, out_channels, kernel_size")} + problem);
  EXPECT_EQ(r.code, 0) << "the control" << r.out << r.err;
}

// What nn.ConvTranspose1d is made with decides the sizes of its weights, and whether there is a bias.
TEST_F(PythonCli, ItsLayerHasOtherSizes) {
  const std::string text = test::text_file(module(
      "        return ext.conv(x, c.weight, c.bias, c.stride[0], c.padding[0], c.output_padding[0], c.dilation[0])\n"));
  const Words problem = {"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "40"};
  struct Fault {
    const char *from, *to, *says;
  };
  for (const Fault& f :
       {Fault{"1d(in_channels, out_channels,", "1d(out_channels, in_channels,",
              "has weights of sizes [4, 6, 3], where the layer's has [6, 4, 3]: in_channels and out_channels are "
              "exchanged"},
        Fault{"out_channels, kernel_size, stride, padding, out", "out_channels, kernel_size + 1, stride, padding, out",
              "of sizes [6, 4, 4], where the layer's has [6, 4, 3]: its kernel_size is 4, where 3 belongs"},
        Fault{"1, bias,\n", "1, True,\n", "has a bias, where none is asked for: it is made with bias=True"}}) {
    const auto r = run(Words{"run", changed_text(text, f.from, f.to, "layer.py")} + problem);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "wrong: its module's nn.ConvTranspose1d ")) << r.out;
    EXPECT_TRUE(holds(r.out, f.says)) << f.says << "\n" << r.out;
    EXPECT_FALSE(holds(r.out, "(on 2 × ")) << "it is said of what was asked\n" << r.out;
  }
  EXPECT_EQ(run(Words{"run", file("layer.py", text)} + problem).code, 0) << "the control";
}

// Zeros in the place of a bias that is not asked for are no bias; values of its own, as weights begin with, are the
// layer's; what is kept beside parameters and buffers stays on the CPU.
TEST_F(PythonCli, WhatInitMakesIsKnown) {
  const std::string call = "c.stride[0], c.padding[0], c.output_padding[0], c.dilation[0])\n";
  for (const auto& [forward, init] :
       {std::pair<std::string, std::string>{"        return ext.conv(x, c.weight, self.b, " + call,
                                            "        self.b = self.c.bias if bias else nn.Parameter(torch.zeros("
                                            "out_channels), requires_grad=False)\n"},
        {"        return ext.conv(x, c.weight, c.bias if c.bias is not None else self.none, " + call,
         "        self.register_buffer('none', torch.zeros(out_channels))\n"},
        {"        return ext.conv(x, self.w, c.bias, " + call,
         "        self.w = nn.Parameter(0.02 * torch.randn(in_channels, out_channels, kernel_size))\n"
         "        fan_in, _ = nn.init._calculate_fan_in_and_fan_out(self.w)\n"
         "        bound = 1 / fan_in ** 0.5 if fan_in > 0 else 0\n        nn.init.uniform_(self.w, -bound, bound)\n"},
        {"        return ext.conv(x, self.w, c.bias, " + call,
         "        self.w = nn.Parameter(torch.empty(in_channels, out_channels, kernel_size).uniform_(-0.1, 0.1))\n"},
        {"        parts = []\n        for n in range(x.size(0)):\n            parts.append(ext.conv(x[n:n + 1], "
         "c.weight, "
         "c.bias, c.stride[0], c.padding[0], c.output_padding[0], c.dilation[0]))\n"
         "        return torch.cat(parts, 0)\n",
         ""}}) {
    const std::string said = checked(module(forward, init));
    EXPECT_TRUE(holds(said, "✓ right on all 40 problems")) << forward << init << said;
  }
  // The class that a class of the file is made from, whose own parent is PyTorch's.
  std::string text = test::text_file(module("        return ext.conv(x, c.weight, c.bias, " + call));
  text.replace(text.find("class ModelNew"), 14, "class Model");
  const std::string said = checked(file("parent.py", text + "class ModelNew(Model):\n"
                                                            "    def __init__(self, *args, **kwargs):\n"
                                                            "        super().__init__(*args, **kwargs)\n"),
                                   {"--groups", "1"});
  EXPECT_TRUE(holds(said, "✓ right on all 40 problems")) << said;
  const auto r = run(Words{"run", module("        return ext.conv(x, self.w, c.bias, " + call,
                                         "        self.w = self.c.weight.data.contiguous().clone()\n")} +
                     little + Words{"--groups", "1"});
  EXPECT_TRUE(holds(r.out + r.err, "is given a tensor on the CPU, which a GPU cannot reach")) << r.out << r.err;
}

// As modules keep their numbers: by name, in classes of their own, by what is written short.
TEST_F(PythonCli, WhatIsKeptByNameIsFollowed) {
  const std::string call = "        return ext.conv(x, c.weight, c.bias, ";
  struct Module {
    const char* before;  // of the class
    std::string init, forward;
  };
  for (const Module& m :
       {Module{"", "        self.n = dict(s=stride, p=padding, o=output_padding, d=dilation)\n",
               "        n = self.n\n" + call + "n['s'], n['p'], n['o'], n['d'])\n"},
        Module{"CACHE = {}\n",
               "        self.n = {'a0': stride, **{'a1': padding, 'a2': output_padding}}\n"
               "        self.n['a3'] = self.n.get('a4', dilation)\n",
               "        if 'e' not in CACHE:\n            CACHE['e'] = ext\n"
               "        a = tuple(v for k, v in self.n.items() if k != 'none')\n"
               "        return CACHE['e'].conv(x, c.weight, c.bias, *a)\n"},
        Module{"from dataclasses import dataclass\n@dataclass\nclass Numbers:\n    s: int\n    p: int = 0\n"
               "    o: int = 0\n    d: int = 1\n",
               "        self.n = Numbers(stride, padding, d=dilation, o=output_padding)\n",
               "        n = self.n\n" + call + "n.s, n.p, n.o, n.d)\n"},
        Module{"",
               "        self.layers = nn.ModuleList([self.c])\n"
               "        for n, v in {'s': stride, 'p': padding, 'no name': 9}.items():\n            if ' ' in n:\n"
               "                break\n            setattr(self, n, v)\n            continue\n",
               "        if not str(x.device).startswith('cuda'):\n            return x\n"
               "        o, d = map(int, (c.output_padding[0], c.dilation[0]))\n        for layer in self.layers:\n"
               "            a = (self.s, self.p, *[o, d])\n            y = ext.conv(x, layer.weight, layer.bias, *a)\n"
               "        return y\n"},
        Module{
            "from math import ceil\n",
            "        self.n = [ceil(v) for v in (stride, padding, output_padding, dilation)]\n"
            "    ONE = 1\n    @property\n    def last(self):\n        return self.n[-1] * self.ONE\n"
            "    @classmethod\n    def whole(cls, v):\n        return v * cls.ONE\n",
            "        get = lambda i: self.whole(self.n[i])\n        if (b := c.bias) is not None:\n"
            "            b = b.contiguous()\n        return ext.conv(x, c.weight, b, get(0), get(1), get(2), self.last)"
            "\n"}}) {
    std::string text = test::text_file(module(m.forward, m.init));
    text.insert(text.find("class ModelNew"), m.before);
    const std::string said = checked(file("kept.py", text));
    EXPECT_TRUE(holds(said, "✓ right on all 40 problems")) << m.init << m.forward << said;
  }
  // **kwargs is one of them; so is what a fault of them is told of.
  std::string text = test::text_file(module(call + "c.padding[0], c.stride[0], c.output_padding[0], c.dilation[0])\n"));
  const size_t init = text.find("in_channels, out_channels, kernel_size, stride=1"), end = text.find("):\n", init);
  text.replace(init, end - init, "in_channels, out_channels, kernel_size, **more");
  const size_t layer = text.find("kernel_size, stride, padding"), behind = text.find(")\n", layer);
  text.replace(layer, behind - layer, "kernel_size, **more");
  const std::string said = checked(file("kwargs.py", text), {"--groups", "1", "--padding", "1"});
  EXPECT_TRUE(holds(said, "the stride and the padding are exchanged")) << said;
}

TEST_F(PythonCli, ItsFaultsAreTold) {
  struct Fault {
    const char *forward, *why;
  };
  for (const Fault& f :
       {Fault{"        return ext.conv(x, c.weight, c.bias, c.stride[0], c.dilation[0], c.output_padding[0], "
              "c.padding[0])\n",
              "the padding and the dilation are exchanged"},
        Fault{"        y = ext.conv(x, c.weight, c.bias, c.stride[0], c.padding[0], c.output_padding[0], "
              "c.dilation[0])\n        return y if c.bias is None else y + c.bias.view(1, -1, 1)\n",
              "the bias is added twice"},
        Fault{"        return ext.conv(x, c.weight, None, c.stride[0], c.padding[0], c.output_padding[0], "
              "c.dilation[0])\n",
              "the bias is missing"},
        Fault{"        return ext.conv(x, c.weight.flip(2), c.bias, c.stride[0], c.padding[0], c.output_padding[0], "
              "c.dilation[0])\n",
              "the taps of w are taken in reverse order"},
        Fault{"        return ext.conv(x, c.weight, c.bias, c.stride[0], c.padding[0], c.output_padding[0], 1)\n",
              "the dilation is missing"}}) {
    const std::string said = checked(module(f.forward));
    EXPECT_TRUE(holds(said, f.why)) << f.forward << said;
  }
}

TEST_F(PythonCli, WhatIsNotFollowedIsRefused) {
  const std::string call =
      "ext.conv(x, c.weight, c.bias, c.stride[0], c.padding[0], c.output_padding[0], c.dilation[0])";
  const std::string name = module("        return torch.sigmoid(" + call + ")\n");
  auto r = run(Words{"run", name} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(
      holds(r.out + r.err, "its forward() does more than call its host code: line 47, return torch.sigmoid(ext.conv("))
      << r.out << r.err;
  EXPECT_EQ(run(Words{"run", name, "--json"} + little).document()["verdict"]["declared"], false);
  EXPECT_EQ(run(Words{"check", name, "--cases", "3"}).code, 1) << "no problem binds";
  // Where that is so of a bias alone, it is right without one, and the rest is not judged.
  const std::string with_bias = "        y = " + call + "\n        return y if c.bias is None else torch.sigmoid(y)\n";
  const auto checked = run({"check", module(with_bias), "--cases", "10"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_TRUE(holds(checked.out, " others were not judged, where its code is not followed (below)")) << checked.out;
  EXPECT_TRUE(holds(
      checked.out,
      "its forward() does more than call its host code: line 48, return y if c.bias is None else torch.sigmoid(y)"))
      << checked.out;
  // The call alone, where that is said.
  const std::string text = "# convscope: call conv args=x,w,b,s,p,op,d supports=g==1\n" + test::text_file(name);
  r = run(Words{"run", file("call.py", text)} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

// Types that it converts to and from: sums are in f32.
TEST_F(PythonCli, ConversionsAreLaunches) {
  const std::string name = module(
      "        y = ext.conv(x.float(), c.weight.float(), None if c.bias is None else c.bias.float(), "
      "c.stride[0], c.padding[0], c.output_padding[0], c.dilation[0])\n        return y.to(x.dtype)\n");
  for (const char* type : {"f16", "bf16", "f32"}) {
    const auto r = run(Words{"run", name, "--dtype", type, "--json"} + little);
    ASSERT_EQ(r.code, 0) << type << r.out << r.err;
    const auto report = nlohmann::json::parse(r.out);
    EXPECT_EQ(report["launches"].size(), std::string(type) == "f32" ? 1u : 5u) << type;
  }
}

}  // namespace
}  // namespace convscope
