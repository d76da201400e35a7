// What PyTorch and nvcc take is not refused: the controls of load_inline.h and device_rules.h, with nothing compiled.
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/device_rules.h"
#include "kernels/runtime/compile/include_rules.h"
#include "kernels/runtime/compile/load_inline.h"
#include "tests/support.h"

namespace convscope {
namespace {

using Changes = std::vector<std::pair<const char*, const char*>>;

std::string sample_with(const Changes& changes) {
  std::string text = test::text_file(test::project_file("assets/kernels/extension.py"));
  for (const auto& [from, to] : changes) {
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    if (at != text.npos) text.replace(at, std::string(from).size(), to);
  }
  return text;
}

// "" or what it is refused for.
std::string refused_by_pytorch(const std::string& text) {
  try {
    check_load_inline(text, "f.py");
  } catch (const CompileError& e) {
    return e.what();
  }
  return "";
}
std::string refused_by_nvcc(const std::string& cuda, bool one_unit = true) {
  try {
    check_device_code(cuda, "f.cu", one_unit);
  } catch (const CompileError& e) {
    return e.what();
  }
  return "";
}

constexpr const char* declared = "torch::Tensor conv_transpose1d(torch::Tensor, torch::Tensor, c10::optional<";
constexpr const char* defined = "torch::Tensor conv_transpose1d(torch::Tensor input,";
constexpr const char* called = "CPP, CUDA, functions=[\"conv_transpose1d\"]";

TEST(FileRules, WhatPyTorchBuildsIsTaken) {
  EXPECT_EQ(refused_by_pytorch(sample_with({})), "");
  const std::vector<Changes> taken = {
      {{defined, "// The sizes are not static, nor extern.\ntorch::Tensor conv_transpose1d(torch::Tensor input,"}},
      {{declared, "torch::Tensor conv_transpose1d(torch::Tensor /* N, Cin, L */, torch::Tensor, c10::optional<"}},
      {{declared, "torch::Tensor conv_transpose1d(torch::Tensor vector, torch::Tensor, c10::optional<"}},
      {{"int64_t, int64_t);", "int64_t, long int);"}},
      {{called, "CPP, CUDA.replace(\"int64_t dilation)\", \"int dilation)\"), functions=[\"conv_transpose1d\"]"}},
      {{"class ModelNew", "SOURCES = []\nSOURCES.append(CPP)\n\n\nclass ModelNew"},
       {called, "SOURCES, CUDA, functions=[\"conv_transpose1d\"]"}},
      {{"class ModelNew", "NAMES = [\"pack\"]\nNAMES.append(\"conv_transpose1d\")\n\n\nclass ModelNew"},
       {called, "CPP, CUDA, functions=NAMES"}},
      {{"CPP = \"\"\"", "CPP = \"\"\"\n#ifdef __CUDACC__\ninline void go() { k<<<1, 1>>>(); }\n#endif\n"}},
      {{"  return output;\n}\n",
        "  return output;\n}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"conv_transpose1d\", "
        "&conv_transpose1d); }\n"},
       {"<torch/extension.h>", "<torch/torch.h>"},
       {called, "\"\", CUDA"}},
  };
  for (const auto& changes : taken) EXPECT_EQ(refused_by_pytorch(sample_with(changes)), "") << changes.front().second;
  // Without what makes each of them right.
  EXPECT_NE(refused_by_pytorch(sample_with({{defined, "static torch::Tensor conv_transpose1d(torch::Tensor input,"}})),
            "");
  EXPECT_NE(refused_by_pytorch(sample_with({{"int64_t, int64_t);", "int64_t, int);"}})), "");
  EXPECT_NE(refused_by_pytorch(sample_with({{called, "\"\", CUDA, functions=[\"conv_transpose1d\"]"}})), "");
}

TEST(FileRules, WhatNvccBuildsIsTaken) {
  const auto in_kernel = [](const std::string& before, const std::string& body) {
    return before + "\n__global__ void k(float* y, float v) {\n" + body + "\n}\n";
  };
  for (const std::string& cuda : {
           in_kernel("torch::Tensor tanh(torch::Tensor x) { return x; }", "y[0] = tanh(v);"),
           in_kernel("#define UNARY(name, e) __device__ float name(float v) { return e; }\nUNARY(relu, v > 0 ? v : 0)\n"
                     "float relu(double x) { return x; }",
                     "y[0] = relu(v);"),
           in_kernel("float act(float v) { return v; }\ntemplate <class F> struct Op { F act; __device__ float "
                     "operator()(float v) const { return act(v); } };",
                     "y[0] = v;"),
           in_kernel("int tile(int n) { return n; }\ntemplate <class T> struct Acc { T v; };", "Acc<float> tile(v);"),
           in_kernel("", "extern __shared__ unsigned room[];") +
               "__global__ void l() { extern __shared__ unsigned int room[]; }\n",
           in_kernel("#include <string>", "static_assert(!std::is_same<float, std::string>::value, \"\");"),
           in_kernel("std::vector<int> sizes(int n) { throw n; }", "y[0] = v;"),
       })
    EXPECT_EQ(refused_by_nvcc(cuda), "") << cuda;
  const std::string two =
      in_kernel("", "extern __shared__ float room[];") + "__global__ void l() { extern __shared__ double room[]; }\n";
  EXPECT_EQ(refused_by_nvcc(two, false), "") << "two modules";
  EXPECT_NE(refused_by_nvcc(two), "");
  EXPECT_NE(refused_by_nvcc(in_kernel("float act(float v) { return v; }", "y[0] = act(v);")), "");
  EXPECT_NE(refused_by_nvcc(in_kernel("#include <vector>", "std::vector<float> all(3); y[0] = all[0];")), "");
  EXPECT_NE(refused_by_nvcc(in_kernel("", "if (v < 0) throw 1;")), "");
}

// As nvcc 13.0 with PyTorch 2.11 takes them, each tried there.
TEST(FileRules, NamesNeedTheirHeaders) {
  auto refused = [](const std::string& cuda, bool python = false) -> std::string {
    try {
      check_includes(cuda, "f.cu", python);
    } catch (const CompileError& e) {
      return e.what();
    }
    return "";
  };
  const std::string torch = "#include <torch/extension.h>\n", context = "#include <ATen/cuda/CUDAContext.h>\n",
                    guard = "#include <c10/cuda/CUDAGuard.h>\n", stream = "auto s = at::cuda::getCurrentCUDAStream();",
                    guarded = "at::cuda::CUDAGuard g(0);", half = "__half h;", bf16 = "__nv_bfloat16 h;";
  EXPECT_EQ(refused(torch + "\n" + stream),
            "f.cu:3: at::cuda::getCurrentCUDAStream is not known to PyTorch's compiler without its header: #include "
            "<ATen/cuda/CUDAContext.h>");
  EXPECT_EQ(refused(stream, true),
            "f.cu:1: at::cuda::getCurrentCUDAStream is not known to PyTorch's compiler without its header: #include "
            "<ATen/cuda/CUDAContext.h>");
  EXPECT_EQ(refused(half), "f.cu:1: __half is not known to nvcc without its header: #include <cuda_fp16.h>");
  for (const std::string& cuda :
       {torch + context + guarded, torch + "#include <ATen/cuda/Exceptions.h>\n" + guarded,
        torch + "#include <c10/cuda/CUDAException.h>\n" + stream, torch + "AT_CUDA_CHECK(e);",
        torch + "C10_CUDA_KERNEL_LAUNCH_CHECK();", torch + "at::cuda::getCurrentDeviceProperties();",
        torch + "gpuAtomicAdd(p, v);", std::string("torch::Tensor f();"), "#include <cuda_pipeline.h>\n" + half,
        "#include <curand_kernel.h>\n" + half, "#include <cstdio>\n" + half, "#include <cuda_fp16.h>\n" + bf16})
    EXPECT_NE(refused(cuda), "") << cuda;
  for (const std::string& cuda :
       {torch + context + stream, torch + guard + stream, torch + guard + guarded,
        torch + "#include <c10/cuda/CUDAStream.h>\n" + stream, torch + "#include <ATen/cuda/CUDAEvent.h>\n" + guarded,
        torch + context + "C10_CUDA_KERNEL_LAUNCH_CHECK();", torch + half, torch + bf16, "#include <mma.h>\n" + half,
        "#include <mma.h>\n" + bf16, "#include <cooperative_groups.h>\n" + half, "#include <cub/cub.cuh>\n" + bf16,
        "#include <cuda_bf16.h>\n" + half, "#include <cublas_v2.h>\n" + half, "struct __half { short v; };" + half,
        "// " + half, "#include <my/own.h>\n" + half})
    EXPECT_EQ(refused(cuda), "") << cuda;
  EXPECT_EQ(refused(half, true), "") << "PyTorch's types bring it";
}

}  // namespace
}  // namespace convscope
