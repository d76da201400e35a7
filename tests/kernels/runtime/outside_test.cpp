// Files from outside in the list of kernels: under which names they stand there, and that what stands there stays.
#include "kernels/runtime/compile/outside.h"

#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/for_gpu.h"
#include "kernels/runtime/registry.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

class Outside : public testing::Test {
 protected:
  // Other tests of this program go through the list.
  ~Outside() override {
    for (const char* name : {"twice.cu", "./twice.cu", "again.cu"}) list_outside(name, {}, {});
  }
  const KernelDefinition* bring(const std::string& name, const std::string& text) {
    return bring_outside(name, text, activity_).kernels.at(0);
  }
  static std::string sample() { return test::text_file(test::project_file("assets/kernels/gather.cu")); }

  Activity activity_;
  test::ScratchFolder folder_;
  test::Setting cache_{"CONVSCOPE_CACHE", test::own_cache(folder_)};
};

// As in `bench twice.cu ./twice.cu`: one module, two kernels.
TEST_F(Outside, OneFileUnderTwoNamesIsKnownUnderBoth) {
  const auto* first = bring("twice.cu", sample());
  const auto* second = bring("./twice.cu", sample());
  EXPECT_NE(first, second);
  EXPECT_EQ(first->name(), "twice.cu");
  EXPECT_EQ(second->name(), "./twice.cu");
  EXPECT_EQ(&find_kernel("twice.cu"), first);
  EXPECT_EQ(&find_kernel("./twice.cu"), second);
  for (const char* name : {"twice.cu", "./twice.cu"}) {
    if (const KernelDefinition* twin = find_traced(name)) {
      EXPECT_NE(twin, &find_kernel(name));
    }
  }
  ConvProblem p;
  p.length = 7;
  EXPECT_EQ(first->plan_for(p).launches().size(), 1u);
  EXPECT_EQ(second->plan_for(p).launches().size(), 1u);
}

// Others may be reading it, as what shows a source does.
TEST_F(Outside, WhatIsListedDoesNotChange) {
  const auto* k = bring("again.cu", sample());
  const char *name = k->name().data(), *text = k->text().data();
  EXPECT_EQ(k->text(), sample());
  EXPECT_EQ(bring("again.cu", sample()), k) << "the same file: the same kernel";
  EXPECT_EQ(k->name().data(), name);
  EXPECT_EQ(k->text().data(), text);
  // Another text is another kernel.
  const auto* other = bring("again.cu", "\n" + sample());
  EXPECT_NE(other, k);
  EXPECT_EQ(find_kernel("again.cu").text(), "\n" + sample());
  EXPECT_EQ(k->text(), sample());
  EXPECT_EQ(bring("again.cu", sample()), k) << "and back";
  EXPECT_EQ(&find_kernel("again.cu"), k);
}

// Types and functions that the program's own kernels have, too: here they are the file's.
constexpr const char* names_of_its_own = R"(
struct Shape { int channels, length; };
struct Plan { Shape in, out; };
struct TensorView { const float* data; };
struct ConvProblem { int64_t stride, padding; };
enum class DType { whole, half };
using SumType = double;
template <class T>
struct SumOf { T sum; };
typedef struct {
  const float* start;
} TensorMap;
struct ConvArgs {
  Plan plan;
  ConvProblem problem;
};
__host__ __device__ inline int ceil_div(int a, int b, int c) { return (a + b - 1) / b * c; }
template <class T>
__host__ __device__ T ceil_div(T a, T b) { return (a + b - 1) / b; }
__global__ void up(const float* x, const float* w, float* y, long long K, long long Lout) {
  const ConvArgs c{{{1, 1}, {1, static_cast<int>(Lout)}}, {1, 0}};
  const TensorView view{x};
  const TensorMap map{w};
  long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  SumOf<SumType> all{0};
  for (long long k = 0; k < K; k++)
    if (j - k >= 0 && j - k < c.plan.out.length - K + 1) all.sum += view.data[j - k] * map.start[k];
  if (j < Lout) y[j] = all.sum;
}
)";

TEST_F(Outside, NamesOfTheProgramsOwnAreFree) {
  const std::string with_line =
      "// convscope: launch up grid=ceil_div(Lout,32) block=32 args=x,w,y,K,Lout\n" + std::string(names_of_its_own);
  const std::string with_host_code = "#include <torch/extension.h>\n" + std::string(names_of_its_own) + R"(
torch::Tensor forward(torch::Tensor x, torch::Tensor w) {
  const Shape out{1, static_cast<int>(x.size(2) + w.size(2) - 1)};
  auto y = torch::empty({1, 1, out.length}, x.options());
  up<<<ceil_div(out.length, 32), 32 * ceil_div(1, 1, 1)>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), w.size(2), out.length);
  return y;
}
)";
  ConvProblem p;
  p.length = 70, p.kernel_size = 3;
  ASSERT_EQ(p.out_length(), 72);
  for (const auto& [name, text] : {std::pair("twice.cu", with_line), std::pair("again.cu", with_host_code)}) {
    SCOPED_TRACE(name);
    const auto* k = bring(name, text);
    const Plan plan = k->plan_for(p);
    ASSERT_EQ(plan.launches().size(), 1u);
    EXPECT_EQ(plan.launches()[0].grid.x, 3);
    EXPECT_NE(for_device(text, name).find("#define ConvArgs"), std::string::npos) << "nvcc is told as well";
  }
  try {
    device_compiler();
    EXPECT_NO_THROW(bring_device_code(find_kernel("again.cu"), "sm_90", activity_));
  } catch (const MissingError&) {  // where no nvcc is, none is told anything
  }
  // A file that registers itself calls them by the program's names.
  EXPECT_NO_THROW(bring("again.cu", test::text_file(test::project_file("assets/kernels/shared_sum.cu"))));
}

// A launch line names a kernel as it is called from outside of every namespace.
TEST_F(Outside, AKernelInANamespace) {
  const std::string text =
      "// convscope: launch up::fill<4> grid=ceil_div(Lout,32) block=32 args=y,Lout\n"
      "namespace up {\ntemplate <int n> __global__ void fill(float* y, long long all) {\n"
      "  const long long j = blockIdx.x * 32LL + threadIdx.x;\n  if (j < all) y[j] = n;\n}\n}\n";
  ConvProblem p;
  p.length = 33;
  const auto* k = bring("twice.cu", text);
  ASSERT_EQ(k->plan_for(p).launches().size(), 1u);
  EXPECT_STREQ(k->plan_for(p).launches()[0].entry.name, "fill_4") << "as a driver finds it";
}

}  // namespace
}  // namespace convscope
