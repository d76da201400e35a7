// Files whose own host code launches their kernels: PyTorch extensions in Python and in CUDA files.
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

class HostCodeCli : public OutsideCli {};

TEST_F(HostCodeCli, AnExtensionInPythonIsJudged) {
  const std::string sample = test::project_file("assets/kernels/extension.py");
  auto r = run({"check", sample, "--cases", "20"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ right on all 20 problems")) << r.out;
  EXPECT_EQ(r.err, "") << "no warnings";
  // f64 by its own dispatch; 16 bits are refused in words.
  auto f64 = run(Words{"run", sample, "--dtype", "f64"} + little);
  EXPECT_EQ(f64.code, 0) << f64.out;
  auto f16 = run(Words{"run", sample, "--dtype", "f16"} + little);
  EXPECT_TRUE(holds(f16.out, "conv_transpose1d is not compiled here for tensors of type Half")) << f16.out;
}

TEST_F(HostCodeCli, ItsFaultIsToldByName) {
  auto r = run(Words{"run", changed("extension.py", "j + padding - k * dilation", "j + padding - k")} + little);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(
      holds(r.out, "Why: it takes i = (j + p − k)/s, where i = (j + p − k·d)/s belongs: the dilation is missing"))
      << r.out;
  // Of the host code as well: another length.
  r = run(Words{"run", changed("extension.py", "dilation * (taps - 1)", "(taps - 1)")} + little);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "as if dilation were 1")) << r.out;
}

TEST_F(HostCodeCli, MessagesHaveTheLinesOfTheFile) {
  auto r = run(Words{"run", changed("extension.py", "  y[(n * out_channels", "  z[(n * out_channels")} + little);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(holds(r.out, "extension.py:30: 'z' was not declared in this scope")) << r.out;
  // What is PyTorch's work does not compile, and is never done otherwise.
  r = run(Words{"run", changed("extension.py", "weight.size(1) * groups", "weight.cumsum(0).size(1)")} + little);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(holds(r.out, "extension.py:37: ")) << r.out;
  EXPECT_TRUE(holds(r.out, "no member named 'cumsum'")) << r.out;
}

TEST_F(HostCodeCli, ItsOwnChecksRefuse) {
  auto r = run(Words{"run", changed("extension.py", "input.dim() == 3 &&", "stride == 1 &&")} + little);
  EXPECT_EQ(r.code, 2) << r.out;
  EXPECT_TRUE(holds(r.out, "not run: ")) << r.out;
  EXPECT_TRUE(holds(r.out, "input and weight have three dimensions")) << r.out;
}

// As PyTorch writes sizes, types and devices; what its headers bring of the standard library is there.
TEST_F(HostCodeCli, ItsMessagesAreMadeOfWhatPyTorchPrints) {
  const std::string here = file("said.cu", R"(#include <torch/extension.h>
enum Plain { three = 3 };
struct Silent {};
__global__ void k(float* y) { y[threadIdx.x] = 0; }
torch::Tensor up(torch::Tensor x, torch::Tensor w, int stride) {
  const char* none = nullptr;
  std::ostringstream text;
  text << x.sizes() << x.scalar_type() << std::setw(3) << 1;
  std::unique_ptr<float[]> unused(new float[1]);
  TORCH_CHECK(stride != 2, "takes ", x.sizes(), " of ", x.dtype(), " on ", x.device(), ": ", 0.25, ' ', true, 'c',
              size_t(18446744073709551615u), " ", -1, uint8_t('u'), three, " ", none, x.dim() > 2 ? " yes" : " no", " ",
              w, Silent(), std::string(" and "), text.str());
  k<<<1, 1>>>(x.data_ptr<float>());
  return x;
}
)");
  const auto r = run(Words{"run", here} + Words(little.begin(), little.end() - 1));
  EXPECT_TRUE(
      holds(r.out,
            "takes [1, 6, 40] of Float on cuda:0: 0.25 1c18446744073709551615 -1u3 (null) yes a tensor of sizes "
            "[6, 4, 3]… and [1, 6, 40]Float  1"))
      << r.out << r.err;
}

// What it takes besides, what it clears, several launches, and kernels that pack weights.
constexpr const char* with_temporaries = R"(
#include <torch/extension.h>
__global__ void turn(const float* w, float* turned, int Cin, int Cout, int K) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < Cin * Cout * K) turned[(i % K * Cout + i / K % Cout) * Cin + i / K / Cout] = w[i];
}
__global__ void scatter(const float* x, const float* turned, float* y, int Cin, int Cout, int K, int L, int Lout, int s,
                        int p, int d) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y;
  if (i >= L) return;
  for (int k = 0; k < K; k++) {
    const int j = i * s - p + k * d;
    if (j < 0 || j >= Lout) continue;
    for (int co = 0; co < Cout; co++) {
      float sum = 0;
      for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + i] * turned[(k * Cout + co) * Cin + ci];
      atomicAdd(y + (n * Cout + co) * Lout + j, sum);
    }
  }
}
at::Tensor forward(const at::Tensor& x, const at::Tensor& w, int stride, int padding, int output_padding, int dilation) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(-1), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1;
  auto turned = torch::empty({K, Cout, Cin}, w.options());
  auto y = torch::zeros({N, Cout, Lout}, torch::TensorOptions().dtype(torch::kFloat32).device(x.device()));
  turn<<<(Cin * Cout * K + 63) / 64, 64>>>(w.data_ptr<float>(), turned.data_ptr<float>(), Cin, Cout, K);
  dim3 grid((L + 31) / 32, N);
  scatter<<<grid, dim3(32)>>>(x.data_ptr<float>(), turned.data_ptr<float>(), y.data_ptr<float>(), Cin, Cout, K, L, Lout,
                              stride, padding, dilation);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "up", py::arg("x")); }
)";

TEST_F(HostCodeCli, TemporariesAndClearedTensors) {
  const Words problem = {"--batch",  "2",  "--in-channels", "3", "--out-channels", "5", "--kernel-size", "4",
                         "--length", "33", "--stride",      "2", "--padding",      "1", "--dilation",    "3"};
  const std::string here = file("scatter.cu", with_temporaries);
  auto r = run(Words{"run", here} + problem);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ binding      3 launches")) << r.out;
  // It is not there by chance: without zeros, y has what was there before.
  std::string text = with_temporaries;
  text.replace(text.find("torch::zeros"), 12, "torch::empty");
  r = run(Words{"run", file("empty.cu", text)} + problem);
  EXPECT_EQ(r.code, 1) << r.out;
  r = run(Words{"run", here, "--groups", "1", "--bias"} + problem);
  EXPECT_TRUE(holds(r.out, "takes no bias")) << r.out;
}

// As people write them: checks, macros, a switch, names of kernels, shared memory that is asked for, copies, both
// passes.
constexpr const char* of_many_ways = R"(
#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_fp16.h>
#define CHECK_CUDA(t) TORCH_CHECK(t.type().is_cuda(), #t " must be a CUDA tensor")
#define CHECK_INPUT(t) CHECK_CUDA(t); TORCH_CHECK(t.is_contiguous(), #t " must be contiguous")
enum class Mode { plain, other };
namespace {
template <Mode M, typename index_t, int B>
__global__ void up(const float* x, const float* w, float* y, index_t Cin, index_t Cout, index_t K, index_t L, index_t Lout,
                   index_t s, index_t p) {
  extern __shared__ __align__(sizeof(float4)) unsigned char raw[];
  float* kept = reinterpret_cast<float*>(raw);
  const index_t j = blockIdx.x * static_cast<index_t>(B) + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  float sum = 0;
  for (index_t k = 0; k < K && j < Lout; k++) {
    const index_t t = j + p - k;
    if (t < 0 || t % s || t / s >= L) continue;
    for (index_t ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / s] * w[(ci * Cout + co) * K + k];
  }
  kept[threadIdx.x] = sum;
  if (j < Lout) y[(n * Cout + co) * Lout + j] = kept[threadIdx.x];
}
}
#define LAUNCH(B)  \
  cudaFuncSetAttribute(up<Mode::plain, int64_t, B>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);  \
  up<Mode::plain, int64_t, B><<<grid, threads, 65536, at::cuda::getCurrentCUDAStream()>>>(  \
      x.data_ptr<float>(), copy.data_ptr<float>(), y.data_ptr<float>(), Cin, Cout, K, L, Lout, stride_, padding_)
torch::Tensor up_forward(torch::Tensor x, torch::Tensor w, int64_t stride_, int64_t padding_) {
  CHECK_INPUT(x);
  CHECK_INPUT(w);
  TORCH_CHECK(x.device() == w.device(), "one device");
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  const auto sizes = x.sizes().vec();
  const int64_t N = sizes[0], Cin = sizes[1], L = sizes[2], Cout = w.size(1), K = w.size(2);
  const int64_t Lout = (L - 1) * stride_ - 2 * padding_ + K;
  auto y = x.new_empty({N, Cout, Lout}), copy = torch::empty_like(w);
  cudaMemcpyAsync(copy.data_ptr<float>(), w.data_ptr<float>(), w.nbytes(), cudaMemcpyDeviceToDevice);
  dim3 threads = Lout > 64 ? 128 : 64;
  const dim3 grid((Lout + threads.x - 1) / threads.x, Cout, N);
  switch (threads.x) {
    case 64: LAUNCH(64); break;
    default: LAUNCH(128);
  }
  return y;
}
torch::Tensor up_backward(torch::Tensor grad_output, torch::Tensor w) { return torch::zeros_like(grad_output); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &up_forward, py::arg("x"), py::arg("w"), py::arg("stride") = 1, py::arg("padding") = py::none());
  m.def("backward", &up_backward);
}
)";

TEST_F(HostCodeCli, FilesOfManyWays) {
  const std::string here = file("many.cu", of_many_ways);
  for (const char* length : {"20", "70"}) {
    auto r = run({"run", here, "--in-channels", "3", "--out-channels", "4", "--kernel-size", "4", "--length", length,
                  "--stride", "2", "--padding", "1"});
    EXPECT_EQ(r.code, 0) << r.out << r.err;
  }
  auto r = run({"run", here, "--length", "9", "--stride", "2", "--output-padding", "1"});
  EXPECT_TRUE(holds(r.out, "takes no output padding")) << r.out;
  if (!has_nvcc()) return;
  r = run({"disassemble", here, "--device", "emulator", "--length", "9"});
  EXPECT_TRUE(holds(r.out, "_long_64, sm_90: ")) << r.out.substr(0, 300) << r.err;
}

TEST_F(HostCodeCli, WhatCannotBeNotedDownIsRefusedInWords) {
  const std::string begin = R"(#include <cuda_runtime.h>
__global__ void up(const float* x, float* y) { y[0] = x[0]; }
void f(const float* x, const float* w, float* y, int Lout) {
)";
  const std::vector<std::pair<const char*, const char*>> all = {
      {"up<<<1, 1, 65536>>>(x, y);",
       "cannot be launched: kernel up: 65536 bytes of dynamic shared memory; more than 49152 need"},
      {"float h[4]; cudaMemcpy(h, x, 16, cudaMemcpyDeviceToHost); up<<<1, 1>>>(x, y);",
       "copies from the GPU to the host; its tensors have no values there"},
      {"up<<<1, 1>>>(reinterpret_cast<const float*>(64), y);", "gives a kernel a pointer that is no tensor's"},
  };
  for (const auto& [body, says] : all) {
    auto r = run({"run", file("refused.cu", begin + body + "\n}\n"), "--length", "4"});
    EXPECT_NE(r.code, 0) << r.out;
    EXPECT_TRUE(holds(r.out + r.err, says)) << body << "\n" << r.out << r.err;
  }
}

// A GPU starts no block that is larger than its kernel's __launch_bounds__; 70 positions and more make it larger here.
TEST_F(HostCodeCli, ALauncherThatReturnsAStatusAndBlocksLargerThanTheirBounds) {
  const std::string text = R"(#include <cuda_runtime.h>
#include <algorithm>
constexpr int most = 64;
template <int half> __global__ void __launch_bounds__(2 * half, 1) up(const float* x, const float* w, float* y, int Lout) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < Lout) y[j] = x[j] * w[0];
}
extern "C" int f(const float* x, const float* w, float* out, int N, int Cin, int Cout, int K, int L, int Lout, int s) {
  if (N != 1 || Cin != 1 || Cout != 1 || K != 1 || s != 1) return cudaErrorInvalidValue;
  const int threads = std::clamp(L, 32, 128);
  up<most / 2><<<(Lout + threads - 1) / threads, threads>>>(x, w, out, Lout);
  return cudaGetLastError();
}
)";
  const std::string here = file("status.cu", text);
  auto r = run({"run", here, "--length", "60"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run({"run", here, "--length", "70"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(
      holds(r.out, "cannot be launched: kernel up_32: 70 threads in a block, and its __launch_bounds__ allow 64"))
      << r.out;
  r = run({"run", here, "--length", "60", "--stride", "2"});
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  EXPECT_TRUE(holds(r.out + r.err, "is refused by its host code: it returns 1")) << r.out << r.err;
  const std::string line = R"(// convscope: launch k grid=1 block=L args=x,y supports=K==1&&Cin==1&&Cout==1
__launch_bounds__(32) __global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
)";
  r = run({"run", file("line.cu", line), "--length", "33"});
  EXPECT_TRUE(holds(r.out, "33 threads in a block, and its __launch_bounds__ allow 32")) << r.out << r.err;
}

TEST_F(HostCodeCli, ALauncherOfPointersBesideAMain) {
  const std::string text = R"(#include <cuda_runtime.h>
namespace mine {
__global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int s) {
  const int j = blockIdx.x * 32 + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout) return;
  float sum = 0;
  for (int k = 0; k < K; k++)
    if (j - k >= 0 && (j - k) % s == 0 && (j - k) / s < L)
      for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + (j - k) / s] * w[(ci * Cout + co) * K + k];
  y[(n * Cout + co) * Lout + j] = sum;
}
void launch(const float* d_x, const float* d_w, float* d_out, int N, int Cin, int Cout, int K, int L, int Lout, int stride) {
  up<<<dim3((Lout + 31) / 32, Cout, N), 32>>>(d_x, d_w, d_out, Cin, Cout, K, L, Lout, stride);
}
}
int main() {
  float* x;
  cudaMemcpy(x, x, 4, cudaMemcpyHostToDevice);  // of what is not known here
}
)";
  auto r = run({"run", file("launcher.cu", text), "--in-channels", "3", "--out-channels", "4", "--kernel-size", "3",
                "--length", "40", "--stride", "2"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "");
}

TEST_F(HostCodeCli, WhatItIsCalledWithMayHaveToBeSaid) {
  std::string text = with_temporaries;
  text.replace(
      text.find("int stride, int padding, int output_padding, int dilation) {"), 60,
      "int by, int cut, int output_padding, int apart) {\nconst int stride = by, padding = cut, dilation = apart;");
  auto r = run(Words{"run", file("odd.cu", text)} + little);
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "// convscope: call forward args=x,w,?,?,output_padding,?")) << r.err;
  text = "// convscope: call forward args=x,w,s,p,op,d supports=g==1\n" + text;
  r = run({"check", file("odd.cu", text), "--cases", "15", "--no-bias"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

// Its launches are told everything, and it takes numbers of its own: which they are is said, and how to check the rest.
TEST_F(HostCodeCli, CheckTellsTheNumbersThatAreInAKernel) {
  const std::string text = R"(#include <torch/extension.h>
__global__ void up(const float* x, const float* w, float* y, int N, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x, j = e % Lout, co = e / Lout % Cout, n = e / Lout / Cout;
  if (n >= N) return;
  float sum = 0;
  for (int ci = 0; ci < Cin; ci++)
    for (int k = 0; k < K; k++)
      if (const int t = j + 1 - 2 * k; t >= 0 && t % 3 == 0 && t / 3 < L) sum += x[(n * Cin + ci) * L + t / 3] * w[(ci * Cout + co) * K + k];
  y[e] = sum;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, int stride, int padding, int dilation) {
  const int N = x.size(0), Cout = w.size(1), K = w.size(2), L = x.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  up<<<(N * Cout * Lout + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), N, x.size(1), Cout, K, L, Lout, stride, padding, dilation);
  return y;
}
)";
  const std::string path = file("numbers.cu", text);
  auto r = run({"check", path, "--cases", "15"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "stride 3, padding 1 and dilation 2 are fixed in it, whatever is asked")) << r.out;
  EXPECT_TRUE(holds(r.out, "with its own  convscope check " + path + " --trust --dilation 2 --padding 1 --stride 3\n"))
      << r.out;
  r = run({"check", path, "--cases", "15", "--dilation", "2", "--padding", "1", "--stride", "3"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

// Its author has one dilation in mind, which is in the launcher's length and in the kernel.
TEST_F(HostCodeCli, CheckFindsTheDilationThatIsInAKernel) {
  const std::string text = R"(#include <torch/extension.h>
__global__ void up(const float* x, const float* w, float* y, int N, int Cin, int Cout, int K, int L, int Lout, int s, int p) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x, j = e % Lout, co = e / Lout % Cout, n = e / Lout / Cout;
  if (n >= N) return;
  float sum = 0;
  for (int ci = 0; ci < Cin; ci++)
    for (int k = 0; k < K; k++)
      if (const int t = j + p - 2 * k; t >= 0 && t % s == 0 && t / s < L) sum += x[(n * Cin + ci) * L + t / s] * w[(ci * Cout + co) * K + k];
  y[e] = sum;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, int stride, int padding) {
  const int N = x.size(0), Cout = w.size(1), K = w.size(2), L = x.size(2), Lout = (L - 1) * stride - 2 * padding + 2 * (K - 1) + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  up<<<(N * Cout * Lout + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), N, x.size(1), Cout, K, L, Lout, stride, padding);
  return y;
}
)";
  auto r = run({"check", file("two.cu", text), "--cases", "15"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(
      holds(r.out, "Checked with dilation 2 alone: its launches are not told this, and other values are wrong."))
      << r.out;
  EXPECT_TRUE(holds(r.out, "✓ right on all 15 problems")) << r.out;
  const auto document = run({"check", file("two.cu", text), "--cases", "5", "--json"}).document();
  EXPECT_EQ(document["fixed_in_kernel"], test::json({{"dilation", 2}}));
  EXPECT_TRUE(document["first_failing"].is_null());
  // Who asks for another one is told that it is wrong.
  r = run({"check", file("two.cu", text), "--cases", "15", "--dilation", "3"});
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_FALSE(holds(r.out, "Checked with")) << r.out;
}

// Weights that are put in another order by PyTorch's own functions, [Cout, K, Cin] with taps from the last one on.
constexpr const char* with_views = R"(
#include <torch/extension.h>
__global__ void up(const float* x, const float* w, const float* b, float* y, int N, int Cin, int Cout, int K, int L,
                   int Lout, int s, int p, int d) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= N * Cout * Lout) return;
  const int j = e % Lout, co = e / Lout % Cout, n = e / Lout / Cout;
  float sum = b ? b[co] : 0;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / s] * w[(co * K + K - 1 - k) * Cin + ci];
  }
  y[e] = sum;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::optional<torch::Tensor> b, int stride, int padding,
                      int dilation) {
  const int Cin = w.size(0), Cout = w.size(1), K = w.size(2), L = x.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + 1;
  auto turned = w.permute({1, 2, 0}).flip(1);
  TORCH_CHECK(w.transpose(0, 1).size(0) == Cout && turned.is_contiguous());
  auto y = torch::empty({x.size(0), Cout, Lout}, x.options());
  up<<<(y.numel() + 127) / 128, 128>>>(x.clone().data_ptr<float>(), turned.data_ptr<float>(),
                                       b ? b->data_ptr<float>() : nullptr, y.data_ptr<float>(), x.size(0), Cin, Cout, K,
                                       L, Lout, stride, padding, dilation);
  return y.transpose(1, 2).contiguous().transpose(-1, -2);
}
)";

TEST_F(HostCodeCli, ViewsOfTensorsAreCopiedInTheirOrder) {
  auto r = run(Words{"run", file("views.cu", with_views)} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "right: all 324 elements")) << r.out;
  EXPECT_EQ(r.err, "") << "no warnings";
  // A view that nobody copies is memory in its old order, as on a GPU.
  r = run(Words{"run", changed_text(with_views, "w.permute({1, 2, 0}).flip(1)", "w.flip(2).permute({1, 2, 0})")} +
          little);
  EXPECT_EQ(r.code, 2) << r.out;
  EXPECT_TRUE(holds(r.out, "its own check fails")) << "is_contiguous(): " << r.out;
  r = run(Words{"run", changed_text(with_views, ".flip(1);", ".contiguous();")} + little);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "the taps of w are taken in reverse order")) << r.out;
  r = run(Words{"run", changed_text(with_views, ".flip(1);", ".view({-1});")} + little);
  EXPECT_TRUE(holds(r.out, "takes view() of a tensor whose elements are in another order")) << r.out << r.err;
}

// Templates whose arguments follow from what they are given, all of them or the rest.
constexpr const char* with_deduced = R"(
#include <torch/extension.h>
namespace up {
template <class T>
__global__ void add(T* y, const T* bias, int Cout, int Lout);
template <int K = 3, typename T, class... Rest>
__global__ void __launch_bounds__(64)
    gather(const T* __restrict__ x, const T* w, T* y, int Cin, int Cout, int L, int Lout, Rest... rest) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y;
  const int list[] = {rest...}, s = list[0], p = list[1], d = list[2];
  if (j >= Lout) return;
  T sum = 0;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[ci * L + t / s] * w[(ci * Cout + co) * K + k];
  }
  y[co * Lout + j] = sum;
}
}  // namespace up
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor bias, int stride, int padding, int dilation) {
  const int Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  TORCH_CHECK(x.size(0) == 1 && K == 3, "one sequence, three taps");
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + 1;
  auto y = torch::empty({1, Cout, Lout}, x.options());
  const dim3 grid((Lout + 63) / 64, Cout);
  up::gather<<<grid, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),  // the bias comes later
                           Cin, Cout, L, Lout, stride, padding,
                           dilation);
  up::add<<<grid, 64>>>(y.data_ptr<float>(), bias.data_ptr<float>(), Cout, Lout);
  return y;
}
namespace up {
template <class T>
__global__ void add(T* y, const T* bias, int Cout, int Lout) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < Lout) y[blockIdx.y * Lout + j] += bias[blockIdx.y];
}
}  // namespace up
)";

TEST_F(HostCodeCli, ArgumentsOfTemplatesAreDeduced) {
  auto r = run(Words{"run", file("deduced.cu", with_deduced)} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
  r = run(Words{"run", changed_text(with_deduced, "up::gather<<<", "up::gather<3><<<")} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run(Words{"run", changed_text(with_deduced, "up::gather<<<", "up::gather<2><<<")} + little);
  EXPECT_EQ(r.code, 1) << "two taps of three: " << r.out << r.err;
  // Bounds are those of the kernel that is meant; lines are where they were.
  r = run(Words{"run", changed_text(with_deduced, "up::gather<<<grid, 64", "up::gather<<<grid, 96")} + little);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "__launch_bounds__")) << r.out << r.err;
  r = run(Words{"run", changed_text(with_deduced, "  up::add<<<grid, 64>>>(y.data", "  up::add<<<grid, 64>>>(z.data")} +
          little);
  EXPECT_TRUE(holds(r.out, "changed.cu:30: 'z' was not declared in this scope")) << r.out << r.err;
  r = run(Words{"run", changed_text(with_deduced, "(y.data_ptr<float>(), bias.data_ptr<float>(), Cout",
                                    "(y.data_ptr<float>(), bias.data_ptr<double>(), Cout")} +
          little);
  EXPECT_EQ(r.code, 1) << r.out << "T is float and double";
}

// PyTorch's headers bring much of the standard library along, and files name none of it.
TEST_F(HostCodeCli, StandardHeadersComeWithPyTorchs) {
  const std::string uses =
      changed("extension.py", "#include <c10/cuda/CUDAStream.h>", R"(#include <c10/cuda/CUDAStream.h>
static void must(bool is, int code) {
  std::ostringstream text;
  text << "code " << code << std::to_string(std::max(code, 1));
  if (!is) std::cerr << text.str() << std::endl;
  std::vector<int> all(3);
  std::unordered_map<std::string, std::tuple<int, double>> table;
  std::function<float(float)> root = [](float v) { return std::sqrt(v); };
  std::unique_ptr<std::array<int, 2>> two;
  if (!is && all.empty() && table.empty() && !two && root(2) > std::numeric_limits<float>::max())
    throw std::runtime_error(text.str());
})");
  auto r = run(Words{"run", uses} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  if (!has_nvcc()) return;
  r = run({"disassemble", uses, "--device", "emulator"});
  EXPECT_TRUE(holds(r.out, "\nup_float, sm_90: ")) << r.out.substr(0, 300) << r.err;
}

TEST_F(HostCodeCli, NvccFindsItsKernels) {
  if (!has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  auto r = run({"disassemble", test::project_file("assets/kernels/extension.py"), "--device", "emulator"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(holds(r.out, "\nup_float, sm_90: ")) << r.out.substr(0, 300);
  auto two = run({"disassemble", file("scatter.cu", with_temporaries), "--device", "emulator"});
  for (const char* name : {"\nconvscope_clear, sm_90: ", "\nturn, sm_90: ", "\nscatter, sm_90: "})
    EXPECT_TRUE(holds(two.out, name)) << name << two.err;
  auto views = run({"disassemble", file("views.cu", with_views), "--device", "emulator"});
  for (const char* name : {"\nconvscope_turn, sm_90: ", "\nup, sm_90: "})
    EXPECT_TRUE(holds(views.out, name)) << name << views.err;
}

TEST_F(HostCodeCli, PythonWithoutCudaIsRefused) {
  auto r = run({"run", file("model.py", "import torch\n")});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "has no CUDA source: no triple-quoted string with a __global__ function")) << r.err;
}

}  // namespace
}  // namespace convscope
