// Matrix products in host code: what PyTorch or cuBLAS multiplies, before a kernel puts it together (col2im).
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::has_nvcc;
using test::holds;
using test::OutsideCli;
using test::Words;

class ProductsCli : public OutsideCli {};

const Words products_layer = {"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "40",
                              "--stride",      "2", "--padding",      "1", "--dilation",    "2", "--bias"};
const Words two = {"--batch", "2"};

constexpr const char* col2im_and_forward = R"(
template <class T>
__global__ void col2im(const T* col, const T* bias, T* y, int Cout, int K, int L, int Lout, int s, int p, int d) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout) return;
  float sum = bias ? static_cast<float>(bias[co]) : 0.f;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t >= 0 && t % s == 0 && t / s < L) sum += static_cast<float>(col[((n * Cout + co) * K + k) * L + t / s]);
  }
  y[(n * Cout + co) * Lout + j] = static_cast<T>(sum);
}
torch::Tensor forward(torch::Tensor x, torch::Tensor weight, std::optional<torch::Tensor> bias, int stride, int padding,
                      int dilation) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = weight.size(1), K = weight.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  const dim3 grid((Lout + 63) / 64, Cout, N);
)";

std::string with_torch(const std::string& product) {
  return std::string("#include <torch/extension.h>\n") + col2im_and_forward + "  auto col = " + product + R"(;
  col2im<<<grid, 64>>>(col.data_ptr<float>(), bias ? bias->data_ptr<float>() : nullptr, y.data_ptr<float>(), Cout, K, L,
                       Lout, stride, padding, dilation);
  return y;
}
)";
}

std::string with_cublas(const std::string& calls) {
  return std::string("#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n#include <cublas_v2.h>\n") +
         col2im_and_forward +
         R"(  auto col = torch::empty({N, Cout * K, L}, x.options());
  const float one = 1.f, zero = 0.f;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  const float *xs = x.data_ptr<float>(), *ws = weight.data_ptr<float>();
  float* cols = col.data_ptr<float>();
)" + calls +
         R"(
  col2im<<<grid, 64, 0, at::cuda::getCurrentCUDAStream()>>>(cols, bias ? bias->data_ptr<float>() : nullptr,
      y.data_ptr<float>(), Cout, K, L, Lout, stride, padding, dilation);
  return y;
}
)";
}
constexpr const char* each_sequence =
    "for (int n = 0; n < N; n++)\n"
    "  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, L, Cout * K, Cin, &one, xs + n * Cin * L, L, ws, Cout * K, "
    "&zero,\n"
    "              cols + n * Cout * K * L, L);";

TEST_F(ProductsCli, OfPyTorchAreComputed) {
  for (const char* product :
       {"at::matmul(weight.view({Cin, Cout * K}).t(), x)", "weight.view({Cin, -1}).t().matmul(x)",
        "torch::bmm(weight.view({1, Cin, Cout * K}).transpose(1, 2).contiguous(), x)",
        "torch::matmul(x.transpose(1, 2), weight.view({Cin, Cout * K})).transpose(1, 2).contiguous()"}) {
    // bmm broadcasts nothing.
    const bool one = std::string(product).find("bmm") != std::string::npos;
    const auto r =
        run(Words{"run", file("matmul.cu", with_torch(product))} + products_layer + Words{"--batch", one ? "1" : "2"});
    EXPECT_EQ(r.code, 0) << product << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "  right: ")) << r.out;
    EXPECT_TRUE(holds(r.out, "launches stand")) << r.out;
    EXPECT_TRUE(holds(r.out, " for a library's (PyTorch, cuBLAS), whose matrix products are faster"))
        << "that its time is not theirs: " << r.out;
  }
  const auto sample = run(Words{"check", test::project_file("assets/kernels/col2im.py"), "--cases", "20"});
  EXPECT_TRUE(holds(sample.out, "✓ right on all 20 problems")) << sample.out << sample.err;
  const auto none = run(Words{"run", test::project_file("assets/kernels/extension.py")} + products_layer);
  EXPECT_FALSE(holds(none.out, "matrix product")) << none.out;
}

// What is looked at first is the file's own kernel, however long the product is.
TEST_F(ProductsCli, TheMainLaunchIsTheFilesOwn) {
  const auto r = run(Words{"run", file("own.cu", with_cublas(each_sequence)), "--json"} + products_layer + two);
  const auto launches = nlohmann::json::parse(r.out)["launches"];
  ASSERT_EQ(launches.size(), 3u) << launches;
  for (const auto& l : launches) EXPECT_EQ(l["main"], l["entry"] == "col2im_float") << l;
}

TEST_F(ProductsCli, OfCublasAreComputed) {
  auto r = run(Words{"check", file("sgemm.cu", with_cublas(each_sequence)), "--cases", "12"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ right on all 12 problems")) << r.out;
  const std::string strided =
      "cublasSetStream(handle, at::cuda::getCurrentCUDAStream());\n"
      "cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, L, Cout * K, Cin, &one, xs, L, Cin * L, ws, Cout * "
      "K,\n"
      "                          0, &zero, cols, L, Cout * K * L, N);";
  r = run(Words{"run", file("strided.cu", with_cublas(strided))} + products_layer + two);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  std::string ex =
      "cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, L, Cout * K, Cin, &one, xs, CUDA_R_16F, L, Cin * "
      "L,\n"
      "    ws, CUDA_R_16F, Cout * K, 0, &zero, cols, CUDA_R_16F, L, Cout * K * L, N, CUBLAS_COMPUTE_32F,\n"
      "    CUBLAS_GEMM_DEFAULT);";
  std::string text = with_cublas(ex);
  for (const auto& [from, to] : {std::pair{"data_ptr<float>()", "data_ptr<at::Half>()"},
                                 {"const float *xs", "const at::Half *xs"},
                                 {"float* cols", "at::Half* cols"}})
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += std::string(to).size())
      text.replace(at, std::string(from).size(), to);
  // Products rounded to f16 before they are summed: one tap, whose only product is the output.
  r = run(Words{"run", file("ex.cu", text), "--dtype", "f16", "--in-channels", "6", "--out-channels", "4",
                "--kernel-size", "1", "--length", "40"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(ProductsCli, ItsFaultsAreTold) {
  auto why = [&](const std::string& text) { return run(Words{"run", file("wrong.cu", text)} + products_layer + two); };
  const std::string right = with_torch("at::matmul(weight.view({Cin, Cout * K}).t(), x)");
  auto r = why(with_torch("at::matmul(weight.view({Cout * K, Cin}), x)"));
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(holds(r.out, "Why: w is read as [Cout/groups, K, Cin], and it is [Cin, Cout/groups, K]")) << r.out;
  std::string text = right;
  text.replace(text.find("- k * d"), 7, "- k");
  EXPECT_TRUE(holds(why(text).out, "the dilation is missing"));
  // Sums that are added to what stood in memory of its own; of one sequence, and of the next to the one before.
  text = with_cublas(each_sequence);
  text.replace(text.find("&zero"), 5, "&one");
  r = why(text);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(holds(r.out, " take memory that the kernel has for itself and nobody has written")) << r.out;
  EXPECT_FALSE(holds(r.out, "never written")) << r.out;
  text.replace(text.find("cols + n * Cout * K * L"), 23, "cols");
  EXPECT_TRUE(holds(why(text).out,
                    "Why: memory that it takes for itself (torch::empty, cudaMalloc) is read where nothing was written: "
                    "before all of it is, or behind its end: y[0, 0, "));
  // Cleared memory is none of that.
  text = with_cublas("cudaMemsetAsync(cols, 0, col.nbytes());\n" + std::string(each_sequence));
  text.replace(text.find("&zero"), 5, "&one");
  EXPECT_EQ(why(text).code, 0);
}

TEST_F(ProductsCli, WhatIsNotMultipliedIsRefused) {
  auto refused = [&](const std::string& text, const char* words) {
    const auto r = run(Words{"run", file("refused.cu", text)} + products_layer + two);
    EXPECT_EQ(r.code, 1) << r.out;
    EXPECT_TRUE(holds(r.out, words)) << r.out << r.err;
  };
  refused(with_torch("at::matmul(x, weight.view({Cin, Cout * K}).t())"),
          "its host code calls matmul for sizes [2, 6, 40] and [12, 6], which do not fit");
  refused(with_torch("torch::bmm(weight.view({1, Cin, Cout * K}).transpose(1, 2), x)"),
          "calls bmm for sizes [1, 12, 6] and [2, 6, 40], whose batches do not fit");
  refused(with_torch("torch::mm(weight.view({Cin, Cout * K}).t(), x)"),
          "calls mm for a tensor of sizes [2, 6, 40]: 2 dimensions are multiplied here");
  std::string text = with_cublas(each_sequence);
  text.replace(text.find("ws, Cout * K"), 12, "ws, Cin");
  refused(text, "calls cublasSgemm with ldb of 6, where the matrix has 12 rows (cuBLAS: invalid value)");
  refused(with_cublas(std::string("cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);\n") + each_sequence),
          "asks cuBLAS for products in TF32");
  text = with_cublas(each_sequence);
  text.replace(text.find("&one"), 4, "xs");
  refused(text, "gives cublasSgemm a factor that is not in the host's memory");
}

TEST_F(ProductsCli, NvccFindsItsKernels) {
  if (!has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  for (const auto& text : {with_torch("at::matmul(weight.view({Cin, Cout * K}).t(), x)"), with_cublas(each_sequence)}) {
    const auto r = run({"disassemble", file("products.cu", text), "--device", "emulator"});
    for (const char* name : {"\nconvscope_product_f32, sm_90: ", "\ncol2im_float, sm_90: "})
      EXPECT_TRUE(holds(r.out, name)) << name << r.out.substr(0, 300) << r.err;
  }
}

}  // namespace
}  // namespace convscope
