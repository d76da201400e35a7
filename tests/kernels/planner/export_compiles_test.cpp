// What is exported, through nvcc: where there is none these tests are skipped. On a GPU tests/bench/compare_pytorch.py
// runs it.
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "kernels/planner/export.h"
#include "kernels/planner/planner.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/support.h"

namespace convscope {
namespace {

bool no_nvcc() { return std::system("command -v nvcc >/dev/null 2>&1") != 0; }
#define SKIP_WITHOUT_NVCC() \
  if (no_nvcc()) GTEST_SKIP() << "no nvcc here"

ConvProblem problem_79(DType dtype = DType::f32) {
  auto p = find_preset("kernelbench-79").problem;
  p.dtype = dtype;
  return p;
}

// nvcc on a file of that text: "" or what it says, warnings as well. The result is `out` in the folder. Machine code is
// made with little optimisation, which is quick, but that of wgmma: of its products ptxas says what makes them slow
// only as it optimises them.
std::string compiled(const test::ScratchFolder& folder, const std::string& text, const std::string& options,
                     const std::string& out) {
  std::string file = folder.write(out + ".cu", text.data(), text.size()), log = folder.path(out + ".log");
  const std::string quick = text.find("wgmma") == std::string::npos ? "-Xptxas -O1 " : "";
  std::string command =
      "nvcc -std=c++20 " + quick + options + " -o " + folder.path(out) + " " + file + " >" + log + " 2>&1";
  const bool done = std::system(command.c_str()) == 0;
  std::ostringstream said;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) said << line << '\n';
  return done && said.str().empty() ? "" : "nvcc " + options + ": " + said.str();
}

void expect_compiles(const char* kernel, DType dtype, const char* activation = "") {
  test::ScratchFolder folder;
  std::string text = exported_cuda(find_kernel(kernel), problem_79(dtype), Activation::from(activation));
  EXPECT_EQ(compiled(folder, text, "-arch=sm_90a -shared -Xcompiler -fPIC", "k.so"), "") << kernel;
}

TEST(Export, CompilesForHopper) {
  SKIP_WITHOUT_NVCC();
  expect_compiles("hopper_3xtf32", DType::f32);
  expect_compiles("hopper_3xf16", DType::f32);
}
TEST(Export, CompilesASpecimen) {
  SKIP_WITHOUT_NVCC();
  expect_compiles("S4", DType::f32);
}
TEST(Export, CompilesInSixteenBits) {
  SKIP_WITHOUT_NVCC();
  expect_compiles("scatter", DType::f16);
  expect_compiles("tiled", DType::bf16);
  expect_compiles("depthwise", DType::f16);
}
TEST(Export, CompilesWithAnActivation) {
  SKIP_WITHOUT_NVCC();
  expect_compiles("hopper_tf32", DType::f32, "leaky_relu:0.1");
  expect_compiles("hopper_16bit", DType::f16, "relu");
  expect_compiles("held_16bit", DType::bf16, "relu");
  expect_compiles("polyphase", DType::f64, "leaky_relu:1");
}

// Two files of one kernel in one program: nothing of theirs has the same name, and each function is its own.
TEST(Export, CompilesTwoForOneProgram) {
  SKIP_WITHOUT_NVCC();
  test::ScratchFolder folder;
  auto other = problem_79();
  other.batch = 1;
  const auto& k = find_kernel("registers");
  EXPECT_EQ(compiled(folder, exported_cuda(k, problem_79(), {}, {.function = "up1"}), "-c -arch=sm_80", "up1.o"), "");
  EXPECT_EQ(compiled(folder, exported_cuda(k, other, {}, {.function = "up2"}), "-c -arch=sm_80", "up2.o"), "");
  const std::string main =
      "extern \"C\" int up1(const void*, const void*, const void*, void*, void*, int, void*);\n"
      "extern \"C\" int up2(const void*, const void*, const void*, void*, void*, int, void*);\n"
      "int main() { return up1(0, 0, 0, 0, 0, 1, 0) == 1 && up2(0, 0, 0, 0, 0, 1, 0) == 1 ? 0 : 1; }\n";
  const std::string options = "-arch=sm_80 " + folder.path("up1.o") + " " + folder.path("up2.o");
  EXPECT_EQ(compiled(folder, main, options, "program"), "");
  EXPECT_EQ(std::system(folder.path("program").c_str()), 0);
}

// Device code for every generation: of kernels that any GPU runs, of those that need sm_80, and of what auto takes.
void expect_compiles_on(const std::string& architecture) {
  SKIP_WITHOUT_NVCC();
  const Target target = Target::of_architecture(architecture);
  test::ScratchFolder folder;
  std::vector<const KernelDefinition*> kernels = {&find_kernel("registers")};
  if (target.unavailable(find_kernel("columns_tf32")).empty()) kernels.push_back(&find_kernel("columns_tf32"));
  for (Accuracy allowed : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32}) {
    const auto* chosen = choose(problem_79(), allowed, target).kernel;
    if (std::find(kernels.begin(), kernels.end(), chosen) == kernels.end()) kernels.push_back(chosen);
  }
  for (const auto* k : kernels)
    EXPECT_EQ(compiled(folder, exported_cuda(*k, problem_79()), "-cubin -arch=" + architecture, k->name()), "")
        << k->name();
}
TEST(Export, CompilesOnSm75) { expect_compiles_on("sm_75"); }
TEST(Export, CompilesOnSm80) { expect_compiles_on("sm_80"); }
TEST(Export, CompilesOnSm86) { expect_compiles_on("sm_86"); }
TEST(Export, CompilesOnSm89) { expect_compiles_on("sm_89"); }
TEST(Export, CompilesOnSm100) { expect_compiles_on("sm_100"); }
TEST(Export, CompilesOnSm120) { expect_compiles_on("sm_120"); }

// The control: what one generation has and another has not is seen.
TEST(Export, CompilesNotWhereAnInstructionIsMissing) {
  SKIP_WITHOUT_NVCC();
  test::ScratchFolder folder;
  std::string text = exported_cuda(find_kernel("direct"), problem_79()) +
                     "__global__ void later() { asm volatile(\"cp.async.commit_group;\"); }\n";
  EXPECT_TRUE(test::holds(compiled(folder, text, "-cubin -arch=sm_75", "k"), "nvcc -cubin -arch=sm_75: "));
  EXPECT_EQ(compiled(folder, text, "-cubin -arch=sm_80", "k"), "");
}

// A library of the C function, and its address.
class Library {
 public:
  using Function = int (*)(const void*, const void*, const void*, void*, void*, int, void*);
  Library(const test::ScratchFolder& folder, const std::string& text) {
    EXPECT_EQ(compiled(folder, text, "-arch=sm_80 -shared -Xcompiler -fPIC", "k.so"), "");
    handle_ = dlopen(folder.path("k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) call = reinterpret_cast<Function>(dlsym(handle_, "conv_transpose1d"));
  }
  ~Library() {
    if (handle_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Function call = nullptr;

 private:
  void* handle_ = nullptr;
};

// Addresses that are null or not aligned are refused before anything is launched. What is right is not tried where
// there is a GPU: the addresses are of nothing.
TEST(Export, CompilesToAFunctionThatLooksAtItsAddresses) {
  SKIP_WITHOUT_NVCC();
  constexpr int invalid = 1;  // cudaErrorInvalidValue
  const bool gpu = std::system("nvidia-smi -L >/dev/null 2>&1") == 0;
  struct Case {
    size_t x, w, b, y, workspace;
    int pack;
    bool refused;
  };
  auto expect = [&](const char* kernel, bool bias, std::initializer_list<Case> cases) {
    test::ScratchFolder folder;
    auto p = problem_79();
    p.bias = bias;
    Library library(folder, exported_cuda(find_kernel(kernel), p));
    ASSERT_NE(library.call, nullptr) << kernel;
    for (const Case& c : cases) {
      if (gpu && !c.refused) continue;
      auto at = [](size_t address) { return reinterpret_cast<void*>(address); };
      int error = library.call(at(c.x), at(c.w), at(c.b), at(c.y), at(c.workspace), c.pack, nullptr);
      EXPECT_EQ(error == invalid, c.refused) << fmt::format("{} x {} w {} b {} y {} workspace {} pack {}: {}", kernel,
                                                            c.x, c.w, c.b, c.y, c.workspace, c.pack, error);
    }
  };
  expect("registers", true,
         {{4096, 4100, 4100, 4096, 4096, 1, false},  // w and b on their elements are enough
          {0, 4096, 4096, 4096, 4096, 1, true},
          {4104, 4096, 4096, 4096, 4096, 0, true},
          {4096, 0, 4096, 4096, 4096, 1, true},
          {4096, 4098, 4096, 4096, 4096, 1, true},
          {4096, 0, 4096, 4096, 4096, 0, false},  // packed before
          {4096, 4096, 0, 4096, 4096, 0, true},
          {4096, 4096, 4096, 0, 4096, 0, true},
          {4096, 4096, 4096, 4104, 4096, 0, true},
          {4096, 4096, 4096, 4096, 0, 0, true},
          {4096, 4096, 4096, 4096, 4112, 0, true},
          {0, 4096, 0, 0, 4096, 2, false},  // packs only
          {0, 0, 0, 0, 4096, 2, true},
          {0, 4096, 0, 0, 0, 2, true}});
  expect("direct", false,
         {{4096, 4096, 0, 4096, 0, 0, false},  // neither a bias nor a workspace is needed
          {4096, 0, 0, 4096, 0, 0, true},
          {4096, 4096, 0, 4100, 0, 1, true}});
}

}  // namespace
}  // namespace convscope
