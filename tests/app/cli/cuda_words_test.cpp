// Words of CUDA and PyTorch that kernel files from outside use: each file is right only if what it names does what it
// does on a GPU. What is not emulated is said in one line.
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

class CudaWordsCli : public OutsideCli {};

// PyTorch's tutorial: accessors by value, of 32 and 64 bits, one of them of a temporary; a bias as a pointer in a
// struct.
constexpr const char* with_accessors = R"(
#include <torch/extension.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/ceil_div.h>
struct Sums { int groups; const float* bias; };
template <typename scalar_t>
__global__ void turn(const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> w,
                     torch::PackedTensorAccessor64<scalar_t, 3> turned) {
  const int k = blockIdx.x, co = blockIdx.y, ci = threadIdx.x;
  turned[k][co][ci] = w[ci][co][k];
}
template <typename scalar_t>
__global__ void up(const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> x,
                   const torch::PackedTensorAccessor64<scalar_t, 3> turned,
                   torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> y, Sums sums, int s, int p, int d) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= y.size(2)) return;
  scalar_t sum = sums.bias ? sums.bias[co] : 0;
  auto row = turned[0];
  for (int k = 0; k < turned.size(0); k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= x.size(2)) continue;
    for (int ci = 0; ci < x.size(1); ci++)
      sum += x[n][ci][t / s] * row[co].data()[k * turned.stride(0) + ci * turned.stride(2)];
  }
  if (isnan(sum) || isinf(sum) || !isfinite(sum) || sum > FLT_MAX) sum = INT_MAX;
  y[n][co][j] = sum * sums.groups;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::optional<torch::Tensor> bias, int stride, int padding,
                      int dilation) {
  const int64_t Lout = (x.size(2) - 1) * stride - 2 * padding + dilation * (w.size(2) - 1) + 1;
  auto y = torch::empty({x.size(0), w.size(1), Lout}, x.options());
  auto turned = torch::empty({w.size(2), w.size(1), w.size(0)}, w.options());
  int size, grid;
  cudaOccupancyMaxPotentialBlockSize(&grid, &size, up<float>);
  cudaEvent_t begin;
  cudaEventCreate(&begin), cudaEventRecord(begin);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", ([&] {
    turn<scalar_t><<<dim3(w.size(2), w.size(1)), w.size(0)>>>(
        w.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(), turned.packed_accessor64<scalar_t, 3>());
    up<scalar_t><<<dim3(at::ceil_div(Lout, (int64_t)64), w.size(1), x.size(0)), 64>>>(
        x.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(), turned.packed_accessor64<scalar_t, 3>(),
        y.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
        Sums{1, bias ? bias->data_ptr<float>() : nullptr}, stride, padding, dilation);
  }));
  return y;
}
)";

TEST_F(CudaWordsCli, AccessorsAndStructsOfPointers) {
  const std::string here = file("accessors.cu", with_accessors);
  auto r = run(Words{"run", here} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ binding      2 launches")) << r.out;
  EXPECT_EQ(r.err, "") << "no warnings";
  std::string text = with_accessors;
  const std::string plain = "w.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>()";
  auto changed_to = [&](const std::string& other) {
    std::string all = text;
    all.replace(all.find("        " + plain) + 8, plain.size(), other);
    return run(Words{"run", file("changed.cu", all)} + little);
  };
  r = changed_to("x.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>()");
  EXPECT_EQ(r.code, 1) << "another tensor is another one" << r.out;
  r = changed_to("w.view({-1}).packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>()");
  EXPECT_TRUE(holds(r.out, "its host code expects 3 dimensions of a tensor that has 1")) << r.out;
  if (!has_nvcc()) return;
  r = run({"disassemble", here, "--device", "emulator"});
  for (const char* kernel : {"\nturn_float, sm_90: ", "\nup_float, sm_90: "})
    EXPECT_TRUE(holds(r.out, kernel)) << r.out.substr(0, 300) << r.err;
}

constexpr const char* of_a_class = R"(
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cassert>
namespace cg = cooperative_groups;
// One warp for each output, whose lanes take the channels.
__global__ void up(const half* x, const half* w, half* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int id = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  assert(blockDim.x % 32 == 0);
  const int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  float sum = 0;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = warp.thread_rank(); ci < Cin; ci += warp.size())
      sum += __half2float(__ldca(x + (n * Cin + ci) * L + t / s)) * __half2float(w[(ci * Cout + co) * K + k]);
  }
  sum = cg::reduce(warp, sum, cg::plus<float>());
  if (warp.thread_rank() == 0) y[id] = __float2half(sum);
}
struct Up {
  int s, p, d;
  template <int threads>
  void go(const torch::Tensor& x, const torch::Tensor& w, torch::Tensor& y) const {
    up<<<y.numel() * 32 / threads, threads>>>((const half*)x.data_ptr<at::Half>(), (const half*)w.data_ptr<at::Half>(),
        (half*)y.data_ptr<at::Half>(), x.size(1), y.size(1), w.size(2), x.size(2), y.size(2), s, p, d);
  }
};
#define CASE(threads) if (y.numel() * 32 % threads == 0) return launcher.go<threads>(x, w, y), y
torch::Tensor forward(torch::Tensor x, torch::Tensor w, int stride, int padding, int dilation) {
  auto y = torch::empty({x.size(0), w.size(1), (x.size(2) - 1) * stride - 2 * padding + dilation * (w.size(2) - 1) + 1},
                        x.options());
  const Up launcher{stride, padding, dilation};
  CASE(128);
  CASE(32);
  return y;
}
)";
const Words little_f16 = {"--dtype",  "f16", "--in-channels", "6", "--out-channels", "4", "--kernel-size", "3",
                          "--length", "40",  "--stride",      "2", "--padding",      "1", "--dilation",    "2"};

TEST_F(CudaWordsCli, ALauncherInAClassWithGroupsAndHalves) {
  const std::string here = file("class.cu", of_a_class);
  auto r = run(Words{"run", here} + little_f16);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "");
  std::string text = of_a_class;
  text.replace(text.find("blockDim.x % 32 == 0"), 20, "blockDim.x % 32 == 1");
  r = run(Words{"run", file("assert.cu", text)} + little_f16);
  EXPECT_EQ(r.code, 4) << r.out;
  EXPECT_TRUE(holds(r.out, "/assert.cu:13: its assertion (blockDim.x % 32 == 1) fails")) << r.out;
  if (!has_nvcc()) return;
  r = run({"disassemble", here, "--device", "emulator", "--dtype", "f16"});
  EXPECT_TRUE(holds(r.out, "\nup, sm_90: ")) << r.out.substr(0, 300) << r.err;
}

// Dispatch on the type of the elements, to PyTorch's own types of 16 bits; sums in the type that PyTorch takes for
// them.
constexpr const char* with_dispatch = R"(
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
template <typename scalar_t>
__global__ void up(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w, const scalar_t* __restrict__ b, scalar_t* __restrict__ y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d, int total) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= total) return;
  int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  using acc_t = at::opmath_type<scalar_t>;
  acc_t sum = b ? static_cast<acc_t>(b[co]) : acc_t(0);
  for (int c = 0; c < Cin; c++)
    for (int k = 0; k < K; k++) {
      int t = j + p - k * d;
      if (t < 0 || t % s || t / s >= L) continue;
      sum += static_cast<acc_t>(x[(n * Cin + c) * L + t / s]) * static_cast<acc_t>(w[(c * Cout + co) * K + k]);
    }
  y[id] = sum;
}
torch::Tensor conv_transpose1d(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> b, int stride, int padding, int output_padding, int dilation) {
  int Lout = (x.size(2) - 1) * stride - 2 * padding + dilation * (w.size(2) - 1) + output_padding + 1;
  auto y = torch::empty({x.size(0), w.size(1), Lout}, x.options());
  int total = y.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::kBFloat16, x.scalar_type(), "up", ([&] {
    up<scalar_t><<<(total + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), b ? b->data_ptr<scalar_t>() : nullptr, y.data_ptr<scalar_t>(), x.size(1), w.size(1), w.size(2), x.size(2), Lout, stride, padding, dilation, total);
  }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
)";

TEST_F(CudaWordsCli, DispatchGoesToSixteenBits) {
  const std::string text = with_dispatch, here = file("dispatch.cu", text);
  for (const char* type : {"f32", "f16", "bf16", "f64"}) {
    Words words = little_f16;
    words[1] = type;
    const auto r = run(Words{"run", here} + words);
    EXPECT_EQ(r.code, 0) << type << "\n" << r.out << r.err;
  }
  // at::Half rounds each sum: what the verdict is there to see. With a float beside it, it does not.
  auto changed_sums = [&](const char* sum, const char* product) {
    std::string other = text;
    const std::string was = "acc_t sum = b ? static_cast<acc_t>(b[co]) : acc_t(0);",
                      added = "static_cast<acc_t>(x[(n * Cin + c) * L + t / s]) * static_cast<acc_t>(w[";
    other.replace(other.find(was), was.size(), sum);
    const size_t at = other.find(added), end = other.find(";", at);
    other.replace(at, end - at, product);
    return file("sums.cu", other);
  };
  Words words = little_f16;
  words.insert(words.end(), {"--in-channels", "64"});
  words.erase(words.begin() + 2, words.begin() + 4);
  auto r = run(Words{"run", changed_sums("scalar_t sum = b ? b[co] : scalar_t(0); (void)sizeof(acc_t);",
                                         "x[(n * Cin + c) * L + t / s] * w[(c * Cout + co) * K + k]")} +
               words);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  r = run(Words{"run", changed_sums("float sum = b ? b[co] : scalar_t(0); (void)sizeof(acc_t);",
                                    "1.0f * x[(n * Cin + c) * L + t / s] * w[(c * Cout + co) * K + k]")} +
          words);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  // A type that it is not compiled for is said.
  std::string without = text;
  const std::string also = "_AND2(at::ScalarType::Half, at::kBFloat16, ";
  without.replace(without.find(also), also.size(), "_AND_HALF(");
  words = little_f16;
  words[1] = "bf16";
  r = run(Words{"run", file("half.cu", without)} + words);
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  EXPECT_TRUE(holds(r.out + r.err, "up is not compiled here for tensors of type BFloat16")) << r.out << r.err;
  if (!has_nvcc()) return;
  r = run({"disassemble", here, "--device", "emulator", "--dtype", "bf16"});
  EXPECT_TRUE(holds(r.out, "sm_90: ")) << r.out.substr(0, 300) << r.err;
}

TEST_F(CudaWordsCli, WhatIsNotEmulatedIsSaidInOneLine) {
  const std::string text = of_a_class;
  auto with = [&](const std::string& statement) {
    std::string all = text;
    const std::string before = "  float sum = 0;\n";
    all.replace(all.find(before), before.size(), statement + before);
    const std::string here = file("not.cu", all);
    const auto r = run(Words{"run", here} + little_f16);
    EXPECT_EQ(r.code, 1) << r.out;
    return r.out;
  };
  std::string said = with("  cg::this_grid().sync();\n");
  EXPECT_TRUE(holds(said, "not.cu:15: the emulator runs a grid's blocks one after another, so none can wait for all"))
      << said;
  said = with("  cudaTextureObject_t t = 0;\n");
  EXPECT_TRUE(holds(said, "not.cu:15: 'cudaTextureObject_t' was not declared in this scope")) << said;
  EXPECT_TRUE(holds(said, "; texture objects are not known here")) << said;
  for (const char* ptx : {"  asm volatile(\"bar.sync 0;\");\n",
                          "  float v; asm volatile(\"ex2.approx.f32 %0, %1;\" : \"=f\"(v) : \"f\"(2.f));\n"}) {
    said = with(ptx);
    EXPECT_TRUE(holds(said, "not.cu:15: PTX in asm(), which is compiled for a GPU alone; give the emulator plain CUDA"))
        << said;
  }
}

// Also where the function that launches is not found for it.
TEST_F(CudaWordsCli, WhatIsNoCppTheCompilerSays) {
  std::string text = of_a_class;
  auto says = [&](const std::string& all, const std::string& what) {
    auto r = run(Words{"run", file("open.cu", all)} + little_f16);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(holds(r.out, what)) << r.out << r.err;
  };
  says(text.substr(0, text.size() - 2), "open.cu:40: expected '}' at end of input");
  text.erase(text.find("int dilation) {") + 12, 1);
  says(text, "open.cu:34: expected ')' before");
  // Nothing is wrong with it but that no function can be called.
  text = of_a_class;
  text.replace(text.find("torch::Tensor forward("), 22, "template <int>\ntorch::Tensor forward(");
  auto r = run(Words{"run", file("template.cu", text)} + little_f16);
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  EXPECT_TRUE(
      holds(r.err, "which no function outside of classes and templates calls; write one that does, and name it"))
      << r.err;
}

}  // namespace
}  // namespace convscope
