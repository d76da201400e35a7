// Lines of a kernel file that say how it is launched: what they become, what is refused, what is suggested.
#include "kernels/runtime/compile/launch_lines.h"

#include <gtest/gtest.h>

#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/compile/workshop.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;

std::string refused(const std::string& line) {
  return test::error_of<InputError>([&] { registration_of_lines("\n" + line + "\n", "m.cu"); });
}

TEST(LaunchLines, BecomeARegistration) {
  const std::string code = registration_of_lines(
      "// Adds things up. Slowly.\n// convscope: launch k<64> grid=ceil_div(N*Cout,4),2 block=32,4 shared=4*K "
      "args=c,x,w,b,y,K+1 "
      "supports=groups==1&&s<=K type=f16 accuracy=tf32\n",
      "m.cu");
  for (const char* part :
       {"#line 2 \"m.cu\"\nCONVSCOPE_KERNEL(k) {", "idea(\"Adds things up\")", "accuracy(\"tf32\")",
        "if (!(groups==1&&s<=K)) return \"takes only problems with groups==1&&s<=K\"",
        "dtype != ::convscope::DType::f16) return \"is written for f16 only\"", "TypedEntry<&::k<64>>{\"k_64\"}",
        "{static_cast<int64_t>(ceil_div(N*Cout,4)), static_cast<int64_t>(2)}, {static_cast<int64_t>(32), "
        "static_cast<int64_t>(4)}, static_cast<size_t>(4*K)).args(c,x,w,b,y,K+1);"})
    EXPECT_TRUE(holds(code, part)) << part << "\n" << code;
  EXPECT_EQ(registration_of_lines("// convscope is a program\n__global__ void k() {}\n", "m.cu"), "");
}

TEST(LaunchLines, AreRefusedWithTheirPlace) {
  const std::string good = "// convscope: launch k grid=1 block=1 args=y";
  EXPECT_EQ(refused(good), "");
  EXPECT_EQ(refused("// convscope: start k"), "kernel m.cu:2 `start` is no word of such a line: `launch FUNCTION …`");
  EXPECT_EQ(refused("// convscope: launch grid=1"),
            "kernel m.cu:2 `launch` needs the name of a __global__ function after it");
  EXPECT_EQ(refused("// convscope: launch k block=1 args=y"), "kernel m.cu:2 `launch k` needs grid=");
  EXPECT_EQ(refused(good + " block=2"), "kernel m.cu:2 `block=2` is given a second time");
  EXPECT_TRUE(holds(refused(good + " gird=2"), "`gird=2` is none of grid=, block=")) << refused(good + " gird=2");
  EXPECT_TRUE(holds(refused("// convscope: launch k grid=Lot block=1 args=y"), "names Lot, which is none of N, Cin, "));
  EXPECT_TRUE(holds(refused("// convscope: launch k grid=Lot block=1 args=y"), "; did you mean Lout?"));
  EXPECT_TRUE(holds(refused("// convscope: launch k grid=(N block=1 args=y"), "lacks a bracket"));
  EXPECT_TRUE(holds(refused("// convscope: launch k grid=N) block=1 args=y"), "has a bracket too many"));
  EXPECT_TRUE(holds(refused("// convscope: launch k grid=1,1,1,1 block=1 args=y"), "has more than three sizes"));
  EXPECT_TRUE(holds(refused("// convscope: launch k grid=1;exit(0) block=1 args=y"), "has a ';'"))
      << "nothing but expressions";
  EXPECT_TRUE(holds(refused("// convscope: launch k grid=system(1) block=1 args=y"), "names system, which is none of"));
  EXPECT_TRUE(holds(refused(good + " type=int"), "must be f32, f64, f16 or bf16"));
  EXPECT_TRUE(holds(refused(good + " accuracy=bad"), "must be strict, 3xtf32 or tf32"));
}

TEST(LaunchLines, AreSuggestedFromParametersNames) {
  EXPECT_EQ(
      suggested_line("template<int T>\n__global__ void __launch_bounds__(256) conv_t(const float* __restrict__ input,\n"
                     "  const float* weight, const float* bias, float* output, int batch_size, int C_in, int L_out, "
                     "int stride, int mystery) {"),
      "// convscope: launch conv_t grid=ceil_div(N*Cout*Lout,256) block=256 args=x,w,b,y,N,Cin,Lout,stride,?");
  EXPECT_EQ(suggested_line("int main() {}"), "");
  // How the grid lies, by what its coordinates are put into; one tensor whose name says nothing is the one that lacks.
  const std::string head = "__global__ void k(const float* in, const float* filt, float* out, int oc, int weird) {\n";
  auto grid = [&](const std::string& body) {
    const std::string line = suggested_line(head + body + "}\n__global__ void other() { blockIdx.z; }\n");
    EXPECT_TRUE(line.ends_with(" args=x,w,y,Cout,?")) << line;
    return line.substr(0, line.find(" args"));
  };
  const std::string x = "int j = blockIdx.x * blockDim.x + threadIdx.x; ";
  EXPECT_EQ(grid(x + "int co = blockIdx.y, n = blockIdx.z;"),
            "// convscope: launch k grid=ceil_div(Lout,256),Cout,N block=256");
  EXPECT_EQ(grid(x + "int n = blockIdx.y; int co = blockIdx.z;"),
            "// convscope: launch k grid=ceil_div(Lout,256),N,Cout block=256");
  EXPECT_EQ(grid(x + "int r = blockIdx.y;"), "// convscope: launch k grid=ceil_div(Lout,256),N*Cout block=256");
  EXPECT_EQ(grid(x + "int co = blockIdx.y * blockDim.y + threadIdx.y, n = blockIdx.z;"),
            "// convscope: launch k grid=ceil_div(Lout,32),ceil_div(Cout,8),N block=32,8");
  EXPECT_EQ(grid(x), "// convscope: launch k grid=ceil_div(N*Cout*Lout,256) block=256");
}

TEST(OutsideFile, AsTheHostCompilerGetsIt) {
  const std::string text =
      "// convscope: launch k grid=1 block=1 args=y\n__global__ void k(float* y) {\n  extern __shared__ float "
      "part[];\n}\n";
  const std::string code = for_host(text, "m.cu");
  EXPECT_TRUE(code.starts_with("#line 1 \"m.cu\"\n// convscope: launch k")) << code;
  EXPECT_TRUE(holds(code, "{\n  CONVSCOPE_DYNAMIC_SHARED(float, part);\n}")) << code;
  EXPECT_TRUE(holds(test::error_of<InputError>([&] { for_host("__global__ void k(float* y) {}", "m.cu"); }),
                    "does not say how it is launched; put this above it"));
  EXPECT_TRUE(holds(test::error_of<InputError>([&] { for_host("int x;", "m.cu"); }), "has no __global__ function"));
}

TEST(OutsideFile, TheFirstErrorInOneLine) {
  EXPECT_EQ(first_error(
                "m.cu: In function 'void k()':\nm.cu:7:3: error: 'a' was not declared\n  7 | a;\nm.cu:9:1: error: b\n",
                "m.cu"),
            "m.cu:7: 'a' was not declared");
  // Where it is in a header: the line of the file that it came from.
  EXPECT_EQ(
      first_error("In file included from <command-line>:\nplan.h: In instantiation:\nm.cu:2:10:   required from here\n"
                  "include/convscope/plan.h:213:7: error: static assertion failed: too few\n",
                  "m.cu"),
      "m.cu:2: static assertion failed: too few");
  const std::string counts =
      "m.cu:2:10:   required from here\ninclude/convscope/plan.h:164:34: error: static assertion failed: a launch "
      "gives "
      "one argument for each parameter of its kernel\n";
  EXPECT_EQ(
      first_error(counts + "include/convscope/plan.h:164:34: note: the comparison reduces to '(13 == 14)'\n", "m.cu"),
      "m.cu:2: a launch gives 13 arguments, and its kernel has 14 parameters");
  EXPECT_EQ(first_error(counts, "m.cu"),
            "m.cu:2: static assertion failed: a launch gives one argument for each parameter of its kernel");
  EXPECT_EQ(first_error("", "m.cu"), "m.cu: the compiler failed and said nothing");
}

}  // namespace
}  // namespace convscope
