// Python files that are put together in more ways than one: sources with numbers in them, what two compilers are given,
// functions of one name, values that PyTorch limits.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

constexpr const char* in_many_ways = R"py(import math
from functools import partial
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
THREADS = 32
BLOCK = THREADS * 4
cpp = '''
static inline int64_t out_len(int64_t L, int64_t s, int64_t p, int64_t d, int64_t K) {
  return (L - 1) * s - 2 * p + d * (K - 1) + 1;
}
struct Numbers { int64_t s, p, d; };
void fill(torch::Tensor x, torch::Tensor w, torch::Tensor y, std::tuple<int64_t, int64_t, int64_t> how);
torch::Tensor conv(torch::Tensor x, torch::Tensor w, std::tuple<int64_t, int64_t, int64_t> how) {
  const auto [s, p, d] = how;
  auto y = torch::empty({x.size(0), w.size(1), out_len(x.size(2), s, p, d, w.size(2))}, x.options());
  fill(x, w, y, how);
  return y;
}
'''
cuda = f'''
#include <torch/extension.h>
static inline int64_t out_len(int64_t L, int64_t s, int64_t p, int64_t d, int64_t K) {{
  return (L - 1) * s - 2 * p + d * (K - 1) + 1;
}}
struct Numbers {{ int64_t s, p, d; }};
#define HALF {BLOCK // 2}
__global__ void up(const float* x, const float* w, float* y, int N, int Cin, int Cout, int K, int L, int Lout, Numbers c) {{
  const int id = blockIdx.x * (2 * HALF) + threadIdx.x;
  if (id >= N * Cout * Lout) return;
  const int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  float sum = 0;
  for (int k = 0; k < K; k++) {{
    const int t = j + c.p - k * c.d;
    if (t < 0 || t % c.s || t / c.s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / c.s] * w[(ci * Cout + co) * K + k];
  }}
  y[id] = sum;
}}
void fill(torch::Tensor x, torch::Tensor w, torch::Tensor y) {{ y.zero_(); }}
void fill(torch::Tensor x, torch::Tensor w, torch::Tensor y, std::tuple<int64_t, int64_t, int64_t> how) {{
  const auto [s, p, d] = how;
  up<<<(y.numel() + {BLOCK} - 1) / {BLOCK}, {BLOCK}>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),
    x.size(0), x.size(1), w.size(1), w.size(2), x.size(2), out_len(x.size(2), s, p, d, w.size(2)), Numbers{{s, p, d}});
}}
'''
ext = load_inline(name='e', cpp_sources=cpp, cuda_sources=cuda, functions=['conv', 'fill'])

class ModelNew(nn.Module):
    LIMIT = 1e30
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        super().__init__()
        self.c = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, bias=bias)
        self.how = (stride, padding, dilation)

    def forward(self, x):
        conv = partial(ext.conv, w=self.c.weight) if False else ext.conv
        y = conv(x.contiguous(), self.c.weight, self.how)
        return y.clamp(max=self.LIMIT) if self.c.bias is None else torch.clamp(y, -self.LIMIT) + self.c.bias[None, :, None]
)py";

class PythonMoreCli : public OutsideCli {
 protected:
  std::string said_of(const std::string& name, const Words& more) {
    const auto r = run(more + Words{name});
    return r.out + r.err;
  }
};

TEST_F(PythonMoreCli, WhatIsPutTogetherInManyWaysIsRight) {
  const Words check = {"check", "--cases", "20"};
  std::string said = said_of(file("ways.py", in_many_ways), check);
  EXPECT_TRUE(holds(said, "✓ right on all 20 problems")) << said;
  // The same with one thing other than it is.
  said = said_of(changed_text(in_many_ways, "LIMIT = 1e30", "LIMIT = 0.125", "limit.py"), check);
  EXPECT_TRUE(holds(said, "✗ wrong on problem")) << said;
  said = said_of(changed_text(in_many_ways, "BLOCK // 2", "BLOCK // 4", "half.py"), check);
  EXPECT_TRUE(holds(said, "✗ wrong on problem")) << said;
}

TEST_F(PythonMoreCli, WhatIsNotKnownOrNotEqualIsRefused) {
  const Words run_it = Words{"run"} + little;
  // What a compiler is given may be there twice only if it is the same.
  std::string said = said_of(
      changed_text(in_many_ways, "  return (L - 1) * s - 2 * p + d", "  return (L - 1) * s - p - p + d", "a.py"),
      run_it);
  EXPECT_TRUE(holds(said, "a.py:22:23: error: redefinition of")) << said;
  // Nor is a function twice in one.
  said = said_of(changed_text(in_many_ways, "struct Numbers {{ int64_t s, p, d; }};",
                              "struct Numbers {{ int64_t s, p, d; }};\nstruct Numbers {{ int64_t s, p, d; }};", "b.py"),
                 run_it);
  EXPECT_TRUE(holds(said, "b.py:26:8: error: redefinition of")) << said;
  said = said_of(changed_text(in_many_ways, "{BLOCK // 2}", "{BLOCK // math.gamma(3)}", "c.py"), run_it);
  EXPECT_TRUE(holds(said,
                    "is not followed here: puts {BLOCK // math.gamma(3)} into its CUDA source in line 20, whose value "
                    "is not known here"))
      << said;
  said = said_of(changed_text(in_many_ways, "{BLOCK // 2}", "{BLOCK // math.prod([2])}", "d.py"), run_it);
  EXPECT_TRUE(holds(said, "right: all ")) << said;
}

// Names of namespaces, generators, PyTorch's own words around functions, lambdas in launches.
TEST_F(PythonMoreCli, WhatStandsAroundACall) {
  const std::string right = test::text_file(test::project_file("assets/kernels/extension.py")),
                    model = "class ModelNew(torch.nn.Module):", call = "        return self.op.conv_transpose1d(x,",
                    numbers =
                        "layer.stride[0], layer.padding[0],\n                                        "
                        "layer.output_padding[0], layer.groups, layer.dilation[0]";
  const Words run_it = Words{"run"} + little;
  auto said = [&](const std::string& name, const std::string& text) { return said_of(file(name, text), run_it); };
  const std::string walks =
      "def numbers_of(layer, *names):\n    for name in names:\n        if name == 'groups':\n"
      "            yield layer.groups\n            continue\n        yield from getattr(layer, name)\n\n";
  auto with_numbers = [&](const std::string& names) {
    return changed_into(changed_into(right, model, walks + "\n" + model), numbers, "*numbers_of(layer, " + names + ")");
  };
  std::string words = said("g.py", with_numbers("'stride', 'padding', 'output_padding', 'groups', 'dilation'"));
  EXPECT_TRUE(holds(words, "right: all ")) << words;
  words = said("h.py", with_numbers("'padding', 'stride', 'output_padding', 'groups', 'dilation'"));
  EXPECT_TRUE(holds(words, "wrong: ")) << words;

  const std::string own =
      "@torch.library.custom_op('up::conv', mutates_args=())\ndef conv(x: torch.Tensor, layer_stride: int) -> "
      "torch.Tensor:\n    return x\n\n@conv.register_fake\ndef _(x, layer_stride):\n    return "
      "torch.empty_like(x)\n\n";
  words = said("o.py", changed_into(changed_into(right, model, own + model), call,
                                    "        x = conv(x, layer.stride[0])\n" + call));
  EXPECT_TRUE(holds(words, "right: all ")) << words;

  const std::string asks =
      "        op = layer._output_padding(x, None, list(layer.stride), list(layer.padding), "
      "list(layer.kernel_size), 1, list(layer.dilation))\n";
  words = said("p.py", changed_into(changed_into(right, call, asks + call), "layer.output_padding[0]", "op[0]"));
  EXPECT_TRUE(holds(words, "right: all ")) << words;

  // A kernel of whatever it is given.
  const std::string each =
      "template <class F>\n__global__ void for_each(int64_t n, float* y, F value) {\n"
      "  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;\n  if (i < n) y[i] = value(y[i]);\n}\n\n"
      "torch::Tensor conv_transpose1d(torch::Tensor input, torch::Tensor weight, c10::optional<torch::Tensor> bias,\n"
      "                               int64_t stride, int64_t padding, int64_t output_padding, int64_t groups,\n";
  const std::string begins = each.substr(each.find("torch::Tensor conv"));
  auto launches = [&](const std::string& value) {
    return changed_into(changed_into(right, begins, each), "  return output;\n",
                        "  const float twice = 2;\n  for_each<<<(output.numel() + 255) / 256, 256>>>(output.numel(), "
                        "output.data_ptr<float>(), [=] __device__ (float v) { return " +
                            value + "; });\n  return output;\n");
  };
  words = said("l.py", launches("v * twice / 2"));
  EXPECT_TRUE(holds(words, "right: all ")) << words;
  words = said("m.py", launches("v * twice"));
  EXPECT_TRUE(holds(words, "wrong: ") && holds(words, "2")) << words;

  words = said("v.py", changed_into(right, call,
                                    "        assert torch.cuda.is_bf16_supported() and torch.cuda.device_count() > "
                                    "torch.cuda.current_device()\n" +
                                        call));
  EXPECT_TRUE(holds(words, "right: all ")) << words;

  // What torch.ops has is called as the module calls it.
  const std::string functions = ", functions=[\"conv_transpose1d\"])";
  auto registers = [&](const std::string& how, const std::string& asks, const std::string& dilation) {
    std::string text = changed_into(right, "  return output;\n}\n", "  return output;\n}\n" + how);
    text = changed_into(text, functions, ", functions=[], is_python_module=False)");
    return changed_into(changed_into(text, "self.op.conv_transpose1d(", asks), "layer.dilation[0])", dilation);
  };
  const std::string schema = "(Tensor x, Tensor w, Tensor? b, int s, int p, int op, int g, int d=1) -> Tensor\"",
                    apart = "TORCH_LIBRARY(ups, m) { m.def(\"conv" + schema +
                            "); }\nTORCH_LIBRARY_IMPL(ups, CUDA, m) { m.impl(\"conv\", &conv_transpose1d); }\n",
                    at_once = "TORCH_LIBRARY(ups, m) { m.def(\"conv" + schema + ", &conv_transpose1d); }\n";
  for (const std::string& how : {apart, at_once}) {
    words = said("q.py", registers(how, "torch.ops.ups.conv(", "layer.dilation[0])"));
    EXPECT_TRUE(holds(words, "right: all ")) << how << words;
    words = said("r.py", registers(how, "torch.ops.ups.conv.default(", "d=layer.dilation[0])"));
    EXPECT_TRUE(holds(words, "right: all ")) << how << words;
    words = said("s.py", registers(how, "torch.ops.ups.conv(", "1)"));
    EXPECT_TRUE(holds(words, "as if dilation were 1")) << how << words;
  }

  // The kernel's namespaces may be left out of its line.
  const std::string gather = test::text_file(test::project_file("assets/kernels/gather.cu"));
  const size_t kernel = gather.find("__global__");
  words = said("n.cu", gather.substr(0, kernel) + "namespace a::b { namespace {\n" + gather.substr(kernel) + "}}\n");
  EXPECT_TRUE(holds(words, "right: all ")) << words;
}

// A module of another type than the problem's, and what raises in PyTorch: neither is followed as if it were right.
TEST_F(PythonMoreCli, WhatRaisesInPyTorchIsNoRightKernel) {
  const Words run_it = Words{"run"} + little;
  const std::string right = test::text_file(test::project_file("assets/kernels/extension.py"));
  int n = 0;
  auto said = [&](const std::string& from, const std::string& to, const Words& how) {
    return said_of(changed_text(right, from, to, "m" + std::to_string(n++) + ".py"), how);
  };
  const std::string made = "groups, bias, dilation)";
  for (const std::string how : {".half()", ".to(torch.float64)", ".cuda().to(dtype=torch.bfloat16)"}) {
    const std::string words = said(made, made + how, run_it);
    EXPECT_TRUE(holds(words, " is made in ") && holds(words, "and the problem is in Float")) << words;
  }
  std::string words = said(made, "groups, bias, dilation, dtype=torch.float16)", run_it);
  EXPECT_TRUE(holds(words, " is made in Half (dtype= of nn.ConvTranspose1d), and the problem is in Float")) << words;
  words = said("import torch\n", "import torch\ntorch.set_default_dtype(torch.float64)\n", run_it);
  EXPECT_TRUE(holds(words, " is made in Double (torch.set_default_dtype()), and")) << words;
  words = said(made, made + ".float().cuda()", run_it);
  EXPECT_TRUE(holds(words, "right: all ")) << words;
  // A bias that is asked for where there is none.
  std::string text = changed_into(right, "c10::optional<torch::Tensor> bias,", "torch::Tensor bias,");
  text = changed_into(text, "bias ? bias->data_ptr<scalar_t>() : nullptr", "bias.data_ptr<scalar_t>()");
  text = changed_into(text, "c10::optional<torch::Tensor>, int64_t", "torch::Tensor, int64_t");
  const std::string required = file("required.py", text);
  words = said_of(required, run_it);
  EXPECT_TRUE(holds(words, "right: all ")) << words;
  const auto r = run({"run", required, "--in-channels", "2", "--out-channels", "3", "--length", "9"});
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(holds(r.out, "fails in PyTorch: conv_transpose1d() is given None as its argument 3, where a tensor"))
      << r.out;
  const auto checked = run(Words{"check", required, "--cases", "20"});
  EXPECT_EQ(checked.code, 1) << checked.out;
  EXPECT_TRUE(holds(checked.out, "fails in PyTorch: ")) << checked.out;
}

TEST_F(PythonMoreCli, PartsOfTensorsAreFollowed) {
  const std::string right = test::text_file(test::project_file("assets/kernels/extension.py")),
                    call = "        return self.op.conv_transpose1d(x,";
  const Words run_it = Words{"run"} + little + Words{"--batch", "3", "--bias"};
  int n = 0;
  auto said = [&](const std::string& before) {
    return said_of(changed_text(right, call, before + call, "p" + std::to_string(n++) + ".py"), run_it);
  };
  for (const char* same :
       {"        x = torch.cat(x.split(1, dim=0))\n", "        x = torch.cat(torch.chunk(x, 2, dim=0), dim=0)\n",
        "        x = torch.cat([part.unsqueeze(0) for part in x.unbind()])\n",
        "        first, rest = x.split([1, 2])\n        x = torch.cat((first, rest))\n",
        "        x = x.flatten(1).unflatten(1, (-1, x.size(2)))\n",
        "        x = x.movedim(1, 2).contiguous().movedim(2, 1).contiguous()\n"}) {
    const std::string words = said(same);
    EXPECT_TRUE(holds(words, "right: all ")) << same << words;
  }
  for (const char* other : {"        first, rest = x.split([1, 2])\n        x = torch.cat((rest, first))\n",
                            "        x = x[:1].repeat(3, 1, 1)\n",
                            "        x = x.flatten(1).unflatten(1, (x.size(2), -1)).transpose(1, 2).contiguous()\n"}) {
    const std::string words = said(other);
    EXPECT_TRUE(holds(words, "wrong: ")) << other << words;
  }
}

}  // namespace
}  // namespace convscope
