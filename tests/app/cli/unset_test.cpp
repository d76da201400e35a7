// What a wrong kernel file does beside its index, told by how it was compiled or by its values.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::json;
using test::little;
using test::OutsideCli;
using test::Words;

class UnsetCli : public OutsideCli {
 protected:
  std::string said_of(const std::string& file, int code = 1) {
    const auto r = run(Words{"run", file} + little);
    EXPECT_EQ(r.code, code) << r.out << r.err;
    return r.out;
  }
  // A sum in four parts, in rows of 32 positions that are so far apart.
  std::string padded(const std::string& write, const std::string& read) {
    return file(
        "padded.cu",
        R"(// convscope: launch padded grid=ceil_div(Lout,32),Cout,N block=32,4 args=x,w,b,y,Cin,Cout,K,L,Lout,s,p,d
__global__ void padded(const float* x, const float* w, const float* b, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p,
                       int d) {
  __shared__ float part[4 * 36];
  const int lane = threadIdx.x, j = blockIdx.x * 32 + lane, co = blockIdx.y, n = blockIdx.z;
  float sum = 0;
  for (int ci = threadIdx.y; ci < Cin; ci += 4)
    for (int k = 0; k < K; k++) {
      const int t = j + p - k * d;
      if (t >= 0 && t % s == 0 && t / s < L) sum += x[(n * Cin + ci) * L + t / s] * w[(ci * Cout + co) * K + k];
    }
  part[threadIdx.y * )" +
            write + R"( + lane] = sum;
  __syncthreads();
  if (threadIdx.y || j >= Lout) return;
  sum = b[co];
  for (int q = 0; q < 4; q++) sum += part[q * )" +
            read + R"( + lane];
  y[(n * Cout + co) * Lout + j] = sum;
}
)");
  }
};

#if !defined(__SANITIZE_THREAD__)  // which has no traced twin
TEST_F(UnsetCli, AVariableThatNothingWasPutIntoIsNamed) {
  const std::string start = "float sum = b ? b[co] : 0.0f;";
  const std::string file = changed("gather.cu", start, "float sum;\n  if (b) sum += b[co];");
  std::string out = said_of(file);
  EXPECT_TRUE(holds(out, "wrong: uses sum at gather.cu:15 ")) << out << "as other sentences name files";
  EXPECT_TRUE(holds(out, "gather.cu:15 before anything was put into it: what stands there reaches 324 elements"))
      << out;
  const json report = json::parse(run(Words{"run", file, "--json"} + little).out);
  EXPECT_TRUE(holds(report.at("verdict").value("cause_reason", ""), "a variable that nothing was put into is in its"))
      << report.at("verdict");
  // Of an array, where the compiler says nothing.
  out = said_of(
      changed("gather.cu", start, "float part[4], sum = 0;\n  part[co % 4] += 1;\n  for (float v : part) sum += v;"));
  EXPECT_TRUE(holds(out, " before anything was put into it: what stands there reaches 324 elements")) << out;
  // Of several arrays the one that is added to.
  out = said_of(
      changed("gather.cu", start,
              "float part[2][2], other[2], sum = 0;\n  part[0][0] = part[0][1] = 0;\n  other[0] = other[1] = 0;\n"
              "  for (int q = 0; q < 4; q++) part[q / 2][q % 2] += other[co % 2];\n  sum = part[1][co % 2];"));
  EXPECT_TRUE(holds(out, "wrong: uses part at gather.cu:")) << out;
  // Controls: one that is wrong without it, and one whose every element is set before it is used.
  out = said_of(changed("gather.cu", start, "float sum = 0.5f;"));
  EXPECT_FALSE(holds(out, "put into")) << out;
  out = said_of(changed("gather.cu", start, "float sum;\n  if (b) sum = b[co];\n  else sum = 0;"), 0);
  EXPECT_TRUE(holds(out, "right: ")) << out;
}

// Rows that are padded against bank conflicts where they are written, and not where they are read.
TEST_F(UnsetCli, PaddingThatIsLeftOutIsTold) {
  const std::string unset = "wrong: reads shared memory that nobody has written at padded.cu:16, thread ",
                    written = ": what is written at padded.cu:12 lies in ";
  std::string out = said_of(padded("33", "32"));
  EXPECT_TRUE(holds(out, unset)) << out;
  EXPECT_TRUE(holds(out, written + "rows of 32 that begin every 33 elements, and is read as one piece")) << out;
  EXPECT_FALSE(holds(out, "Why: ")) << out;
  out = said_of(padded("32", "33"));
  EXPECT_TRUE(holds(out, written + "one piece, and is read in rows of 32 that begin every 33 elements")) << out;
  out = said_of(padded("33", "36"));
  EXPECT_TRUE(holds(out, "rows of 32 that begin every 33 elements, and is read in rows of 32 that begin every 36"))
      << out;
  const std::string x = run(Words{"xray", padded("33", "32")} + little).out;
  EXPECT_TRUE(holds(x, "✗ reads shared memory that nobody has written at padded.cu:16")) << x;
  said_of(padded("33", "33"), 0);
}

// A GPU's shared memory is whatever was there, often zeros: the emulator's is NaN.
TEST_F(UnsetCli, PaddingThatIsLeftOutIsToldOfAGpuAsWell) {
  if (!test::has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  if (!test::has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  auto on_gpu = [&](const std::string& kernel) {
    return run(Words{"run", kernel, "--device", "cuda"} + little, test::fake_gpu()).out;
  };
  std::string out = on_gpu(padded("33", "32"));
  EXPECT_TRUE(holds(out, "✗ memory       reads shared memory that nobody has written at padded.cu:16, thread ")) << out;
  EXPECT_TRUE(holds(out, "every 33 elements, and is read as one piece (found by the emulator, on 1 × 6→4")) << out;
  out = on_gpu(padded("33", "33"));
  EXPECT_FALSE(holds(out, "nobody has written")) << out;
}
#endif

// An element's taps are told by counts that are read off it: with something beside them in the sum they are counted
// without it, or, where it is so large that counts vanish, not at all.
TEST_F(UnsetCli, WhatIsBesideTheTapsIsNoTap) {
  const std::string start = "float sum = b ? b[co] : 0.0f;";
  auto explained = [&](const std::string& file) { return run(Words{"explain", file, "--at", "0,0,3"} + little).out; };
  std::string out = explained(changed("gather.cu", start, "float sum = b[co] + 0.1f;"));
  EXPECT_TRUE(holds(out, "of zeros alone it is 0.1: something beside x, w and b is added")) << out;
  EXPECT_FALSE(holds(out, " times")) << out;
  EXPECT_FALSE(holds(out, "cannot be told")) << out;
  EXPECT_TRUE(holds(out, " 0         2         2       0.182035       0.182035")) << out;
  out = explained(changed("gather.cu", start, "float sum = b[co] - 1.7e38f;"));
  EXPECT_TRUE(holds(out, "of zeros alone it is -1.7e+38: something beside x, w and b is in it")) << out;
  EXPECT_TRUE(holds(out, "cannot be told")) << out;
  EXPECT_FALSE(holds(out, " times")) << out;
}

TEST_F(UnsetCli, WholeNumbersAreNamed) {
  const std::string whole = "; every result is a whole number: a sum is kept in integers";
  std::string out = said_of(changed("gather.cu", "float sum =", "int sum ="));
  EXPECT_TRUE(holds(out, whole)) << out;
  out = said_of(changed("gather.cu", "y[id] = sum;", "y[id] = sum * 1.0001f;"));
  EXPECT_FALSE(holds(out, whole)) << out;
}

TEST_F(UnsetCli, WhatADivisorIsIsNamed) {
  const std::string out = said_of(changed("gather.cu", "y[id] = sum;", "y[id] = sum / Cin;"));
  EXPECT_TRUE(holds(out, "every value is 0.166667 times the right one: divided by 6, the number of input channels"))
      << out;
}

#if !defined(__SANITIZE_THREAD__)
// What a race leaves looks like a fault of the index on another problem.
TEST_F(UnsetCli, OfThreadsThatRaceNoTermIsBlamed) {
  const std::string file =
      changed("shared_sum.cu", "part[threadIdx.x + half];\n    __syncthreads();", "part[threadIdx.x + half];");
  const json verdict = run(Words{"run", file, "--json"} + little).document()["verdict"];
  EXPECT_TRUE(holds(verdict["sentence"].get<std::string>(), "wrong: a race in block 0: ")) << verdict;
  EXPECT_TRUE(verdict["cause"].is_null()) << verdict["cause"];
  EXPECT_TRUE(holds(verdict["cause_reason"].get<std::string>(), "its threads race: ")) << verdict;
}
#endif

}  // namespace
}  // namespace convscope
