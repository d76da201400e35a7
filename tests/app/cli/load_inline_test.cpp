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
  EXPECT_TRUE(holds(r.out + r.err, "gives a function of the host code a number, where a whole number belongs"))
      << r.out;
  r = run_changed({"(x, layer.weight,", "(x, None,"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out + r.err, "None, where a tensor (a torch::optional<torch::Tensor> takes None) belongs"))
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

}  // namespace
}  // namespace convscope
