// What PyTorch would not build, or Python not import, of a file's load_inline(): one line, before anything is compiled.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

constexpr const char* inline_call = "load_inline(\"conv_transpose1d\", CPP, CUDA, functions=[\"conv_transpose1d\"])";
constexpr const char* inline_declaration = "torch::Tensor conv_transpose1d(torch::Tensor, torch::Tensor, c10::optional";
constexpr const char* inline_definition = "torch::Tensor conv_transpose1d(torch::Tensor input";

struct InlineChange {
  std::string from, to, says = "";
};

class LoadInlineCli : public OutsideCli {
 protected:
  test::Finished run_changed(const InlineChange& c) {
    return run(Words{"run", changed("extension.py", c.from, c.to)} + little);
  }
};

TEST_F(LoadInlineCli, WhatPyTorchWouldNotBuildIsRefused) {
  for (const InlineChange& c :
       {InlineChange{
            "CPP, CUDA,", "\"\", CUDA,",
            "extension.py:63: conv_transpose1d is not declared in cpp_sources, where PyTorch binds what functions "
            "names: put this there: torch::Tensor conv_transpose1d(torch::Tensor input, torch::Tensor weight, "},
        InlineChange{"[\"conv_transpose1d\"]", "[\"conv_transpose1d\", \"conv_transposed1d\"]",
                     "conv_transposed1d is not declared in cpp_sources"},
        InlineChange{inline_call, "load_inline(name=\"c\", cuda_sources=CUDA, functions=\"conv_transpose1d\")",
                     "is called without cpp_sources"},
        InlineChange{"[\"conv_transpose1d\"]", "(\"conv_transpose1d\",)", "functions is a tuple"},
        InlineChange{", functions=[\"conv_transpose1d\"]", "", "nothing of its module is bound"},
        InlineChange{"CPP, CUDA,", "CUDA, CUDA,", "cpp_sources launches a kernel (<<<…>>>)"},
        InlineChange{inline_declaration, std::string("__global__ void up(float*);\n") + inline_declaration,
                     "cpp_sources has a __global__ function"},
        InlineChange{
            "  return output;\n}\n",
            "  return output;\n}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"c\", &conv_transpose1d); }\n",
            "bound by PYBIND11_MODULE, and once more by functions"},
        InlineChange{"int64_t, int64_t, int64_t);", "int64_t, int64_t, int64_t)",
                     "the declaration of conv_transpose1d in cpp_sources ends without a semicolon"},
        // What does not link.
        InlineChange{"c10::optional<torch::Tensor>, int64_t, int64_t,", "c10::optional<torch::Tensor>, int, int64_t,",
                     "conv_transpose1d is declared in cpp_sources as conv_transpose1d(torch::Tensor, torch::Tensor, "
                     "c10::optional<torch::Tensor>, int, "},
        InlineChange{inline_definition, std::string("static ") + inline_definition, "is static in cuda_sources"},
        InlineChange{inline_call,
                     "load_inline(\"c\", CPP + \"torch::Tensor pack(torch::Tensor);\", CUDA, "
                     "functions={\"conv_transpose1d\": \"it\", \"pack\": \"w\"})",
                     "pack is declared in cpp_sources and defined nowhere"}}) {
    const auto r = run_changed(c);
    EXPECT_EQ(r.code, 1) << c.to << r.out << r.err;
    EXPECT_TRUE(holds(r.out, c.says)) << c.to << "\n" << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "✗ compile")) << c.to << "\n" << r.out << r.err;
  }
  EXPECT_EQ(modules(), 0u) << "nothing is compiled for it";
}

// A module of its own binds what C++ knows where it stands.
TEST_F(LoadInlineCli, ItsOwnModuleBindsWhatIsDeclared) {
  const std::string text = test::text_file(test::project_file("assets/kernels/extension.py")),
                    bound = changed_into(text, ", functions=[\"conv_transpose1d\"]", "");
  const std::string module =
      "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"conv_transpose1d\", &conv_transpose1d); }";
  auto r =
      run(Words{"run", changed_text(bound, "CPP, CUDA)", "\"\"\"" + module + "\"\"\", CUDA)", "module.py")} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(
      holds(r.out, "module.py:63: conv_transpose1d is not declared in cpp_sources, whose PYBIND11_MODULE binds"))
      << r.out << r.err;
  const std::string in_cuda = changed_into(bound, "  return output;\n}\n", "  return output;\n}\n" + module + "\n");
  r = run(Words{"run", changed_text(in_cuda, "#include <torch/extension.h>", "#include <torch/types.h>", "header.py")} +
          little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "cuda_sources has a PYBIND11_MODULE, and does not include <torch/extension.h>")) << r.out;
  EXPECT_EQ(modules(), 0u) << "nothing is compiled for it";
  r = run(Words{"run", changed_text(in_cuda, "CPP, CUDA", "\"\", CUDA", "bound.py")} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(LoadInlineCli, WhatPythonCannotCallIsSaid) {
  auto r = run_changed({"self.op.conv_transpose1d(x", "self.op.forward(x"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out + r.err,
                    "its host code has no forward() for its module, which calls it: functions names conv_transpose1d"))
      << r.out << r.err;
  // As pybind11 converts.
  r = run_changed({"layer.stride[0]", "layer.stride[0] / 1"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(
      holds(r.out + r.err,
            "fails in PyTorch: conv_transpose1d() is given a number as its argument 4, where a whole number belongs"))
      << r.out;
  r = run_changed({"(x, layer.weight,", "(x, None,"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(
      holds(r.out + r.err,
            "is given None as its argument 2, where a tensor (a torch::optional<torch::Tensor> takes None) belongs"))
      << r.out;
}

// Whatever way it is put together: what PyTorch builds is run, and what is not known here is taken.
TEST_F(LoadInlineCli, WhatPyTorchBuildsIsRun) {
  const std::string begins = "CPP = \"\"\"torch::Tensor conv_transpose1d(";
  for (const InlineChange& c :
       {InlineChange{inline_call,
                     "load_inline(name=\"c\", cpp_sources=[CPP], cuda_sources=[CUDA], functions={\"conv_transpose1d\": "
                     "\"it\"}, extra_cuda_cflags=[\"-O3\"])"},
        InlineChange{inline_call,
                     "load_inline(\"c\", \"\\n\".join([CPP]), CUDA, functions=list((\"conv_transpose1d\",)))"},
        InlineChange{begins + "torch::Tensor, torch::Tensor, c10::optional<torch::Tensor>, int64_t, int64_t,",
                     "CPP = \"\"\"at::Tensor conv_transpose1d(const at::Tensor input, torch::Tensor, "
                     "std::optional<at::Tensor>, long stride, std::int64_t,"},
        InlineChange{begins, "CPP = \"\"\"#define TWO(a, b) a##b\ntorch::Tensor TWO(conv_trans, pose1d)("}}) {
    const auto r = run_changed(c);
    EXPECT_EQ(r.code, 0) << c.to << r.out << r.err;
  }
}

constexpr const char* of_halves = R"py(import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
CUDA = """
#include <torch/extension.h>
#include <cuda_fp16.h>
__global__ void up(const __half* x, const __half* w, __half* y, int Cin, int Cout, int L, int Lout, int K, int s, int p, int d) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout) return;
  float sum = 0;
  for (int c = 0; c < Cin; c++)
    for (int k = 0; k < K; k++) {
      int t = j + p - k * d;
      if (t < 0 || t % s || t / s >= L) continue;
      sum += __half2float(x[(n * Cin + c) * L + t / s]) * __half2float(w[(c * Cout + co) * K + k]);
    }
  y[(n * Cout + co) * Lout + j] = __float2half(sum);
}
torch::Tensor fwd(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t d) {
  int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  int Lout = (L - 1) * s - 2 * p + d * (K - 1) + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  up<<<dim3((Lout + 127) / 128, Cout, N), 128>>>(reinterpret_cast<const __half*>(x.data_ptr<at::Half>()), reinterpret_cast<const __half*>(w.data_ptr<at::Half>()), reinterpret_cast<__half*>(y.data_ptr<at::Half>()), Cin, Cout, L, Lout, K, s, p, d);
  return y;
}
"""
ext = load_inline("half_up", "torch::Tensor fwd(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t d);", CUDA, functions=["fwd"])

class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        super().__init__()
        self.conv = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=bias)
        self.s, self.p, self.d = stride, padding, dilation

    def forward(self, x):
        return ext.fwd(x.contiguous(), self.conv.weight.contiguous(), self.s, self.p, self.d)
)py";

// -D__CUDA_NO_HALF_OPERATORS__ and its like stand in every command of PyTorch's.
TEST_F(LoadInlineCli, WhatPyTorchSwitchesOffIsNotThere) {
  struct Case {
    const char *from, *to, *says;
  };
  const std::string sum = "__half2float(x[(n * Cin + c) * L + t / s]) * __half2float(";
  for (const Case& c :
       {Case{
            sum.c_str(), "__half2float(x[(n * Cin + c) * L + t / s] * ",
            "halves.py:15: __half has no operator * where PyTorch builds it, with -D__CUDA_NO_HALF_OPERATORS__: take "},
        Case{"= __float2half(sum)", "= sum",
             "halves.py:17: __half has no conversion from and to other numbers where PyTorch builds it, with "
             "-D__CUDA_NO_HALF_CONVERSIONS__: take __half2float() and __float2half(), or "},
        Case{"= __float2half(sum)", "= sum", ""}}) {
    std::string text = of_halves;
    if (const std::string names = "[\"fwd\"]"; !*c.says)
      text.insert(text.find(names) + names.size(), ", extra_cuda_cflags=[\"-U__CUDA_NO_HALF_CONVERSIONS__\"]");
    const auto r = run(Words{"run", changed_text(text, c.from, c.to, "halves.py"), "--dtype", "f16"} + little);
    EXPECT_TRUE(holds(r.out, c.says)) << r.out << r.err;
    EXPECT_TRUE(holds(r.out, *c.says ? "✗ compile" : "✓ compile")) << r.out << r.err;
    EXPECT_FALSE(holds(r.err, "switched off by")) << "the program's own words: " << r.err;
  }
}

}  // namespace
}  // namespace convscope
