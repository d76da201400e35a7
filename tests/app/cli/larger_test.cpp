// Kernel files that are wrong in another way on long rows, or on many channels, than on the small problems that are
// mapped; and files that take no problem as small as those.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::OutsideCli;
using test::Words;

using LargerCli = OutsideCli;

// A warp passes x on by shuffles: what lies before its first position comes from a second value. For stride and
// dilation 1.
constexpr const char* shuffles = R"(
// convscope: launch up grid=ceil_div(Lout,128),Cout,N block=128 args=x,w,y,Cin,Cout,K,L,Lout,p supports=s==1&&d==1&&g==1&&K<=32
__global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int p) {
  const int lane = threadIdx.x % 32, j = blockIdx.x * blockDim.x + threadIdx.x, i0 = j + p, i1 = i0 - 32;
  float sum = 0;
  for (int ci = 0; ci < Cin; ci++) {
    const float* row = x + (static_cast<size_t>(blockIdx.z) * Cin + ci) * L;
    const float now = i0 < L ? row[i0] : 0, before = i1 >= 0 && i1 < L ? row[i1] : 0;
    for (int k = 0; k < K; k++) {
      const float a = __shfl_sync(0xffffffffu, now, (lane - k) & 31), b = __shfl_sync(0xffffffffu, before, (lane - k) & 31);
      sum += w[(static_cast<size_t>(ci) * Cout + blockIdx.y) * K + k] * (lane >= k ? a : b);
    }
  }
  if (j < Lout) y[(static_cast<size_t>(blockIdx.z) * Cout + blockIdx.y) * Lout + j] = sum;
}
)";

TEST_F(LargerCli, WhatIsToldOfSmallProblemsIsHeldAgainstALongRow) {
  const Words layer{"--batch",  "2",   "--in-channels", "5", "--out-channels", "3",
                    "--length", "301", "--kernel-size", "5", "--padding",      "2"};
  auto r = run(Words{"run", file("right.cu", shuffles)} + layer);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run(Words{"xray", changed_text(shuffles, "? a : b)", "? a : 0)")} + layer);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "; that is so on small problems; on 1 × ")) << r.out;
  // Where the same holds there nothing is said of it.
  r = run({"xray", changed("gather.cu", "j + p - k * d", "j - k * d"), "--preset", "kernelbench-79-small"});
  EXPECT_TRUE(holds(r.out, "the padding is missing")) << r.out;
  EXPECT_FALSE(holds(r.out, "on small problems")) << r.out;
}

// Of a sum in parts only the first is there: of a few channels one, of as many as were asked for most.
TEST_F(LargerCli, ChannelsThatAreLeftOutAreNamed) {
  const std::string first = changed("gather.cu", "ci < first + in_group", "ci < first + min(in_group, 8)");
  const auto r = run({"run", first, "--in-channels", "32", "--out-channels", "4", "--length", "40"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, ": input channels 8–31 of 32 are left out")) << r.out;
}

// What is asked has other sizes than small problems have: causes are held against it.
TEST_F(LargerCli, CausesAreThoseOfTheAskedProblem) {
  struct Fault {
    const char *from, *to, *says;
    const char *batch = "2", *kernel_size = "3";
  };
  for (const Fault& f :
       {Fault{"sum += x[", "if (ci % 4 != 3) sum += x[", ": input channel 3 of 6 is left out"},
        Fault{"ci < first + in_group", "ci < first + in_group - (in_group > 5 ? 2 : 1)",
              "input channels 4–5 of 6 are left out"},
        Fault{"k < K", "k < min(K, 5)", "no more than 5 taps are taken, whatever kernel size is asked for", "2", "7"},
        Fault{"y[id] = sum", "if (co % 4 != 3) y[id] = sum", ": output channel 3 of 5 is never written"},
        Fault{"y[id] = sum", "if (n != 1 || N < 3) y[id] = sum", "sequences 1 of 4 are never written", "4"},
        Fault{"sum = b ? b[co]", "sum = b ? b[co & 1]", ": the bias is another one than b[co]"}}) {
    const Words layer{"--batch",       f.batch,       "--in-channels", "6", "--out-channels", "5", "--length", "101",
                      "--kernel-size", f.kernel_size, "--stride",      "2", "--padding",      "1", "--bias"};
    const auto r = run(Words{"run", changed("gather.cu", f.from, f.to)} + layer);
    EXPECT_EQ(r.code, 1) << r.err;
    EXPECT_TRUE(holds(r.out, f.says)) << f.says << "\n" << r.out;
    EXPECT_FALSE(holds(r.out, "fixed in it")) << r.out;
    EXPECT_FALSE(holds(r.out, "the last outputs in memory")) << r.out;
  }
}

// Of two faults the one that makes a difference on what is asked comes first.
TEST_F(LargerCli, ATermWithoutEffectComesLast) {
  const std::string end = changed("scatter.cu", "j >= Lout", "j >= Lout - 1");
  const auto r =
      run({"run", changed_text(test::text_file(end), "k * d", "k", "both.cu"), "--in-channels", "6", "--out-channels",
           "4", "--length", "50", "--kernel-size", "3", "--stride", "2", "--padding", "1"});
  EXPECT_EQ(r.code, 1) << r.err;
  const size_t bound = r.out.find("Lout − 1"),
               dilation = r.out.find("k·d belongs (without effect here, where both are one)");
  EXPECT_NE(bound, r.out.npos) << r.out;
  EXPECT_NE(dilation, r.out.npos) << r.out;
  EXPECT_LT(bound, dilation) << r.out;
}

TEST_F(LargerCli, AKernelOfOneKernelSizeIsMapped) {
  const std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
  auto only = [&](const std::string& sum) {
    return run({"xray",
                changed_text(changed_into(text, "args=x,w,b,y,N,Cin,Cout,K,L,Lout,s,p,d,g",
                                          "args=x,w,b,y,N,Cin,Cout,K,L,Lout,s,p,d,g supports=K==16"),
                             "+= x[", sum),
                "--kernel-size", "16", "--stride", "8", "--padding", "4", "--in-channels", "64", "--length", "100"});
  };
  auto r = only("+= x[");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✓ 2 × 3→2, K 16, L 9, s 8, p 4, d 1")) << r.out;
  r = only("-= x[");
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "✗ 2 × 3→2, K 16, L 9, s 8, p 4, d 1")) << r.out;
}

TEST_F(LargerCli, AKernelOfBfloat16AloneIsMapped) {
  const std::string text = gather_of("__nv_bfloat16", "bf16", "cuda_bf16.h");
  const Words of{"--dtype", "bf16", "--padding", "1", "--kernel-size", "3", "--length", "20"};
  auto r = run(Words{"xray", file("bf.cu", text)} + of);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, ", bf16\n")) << "on a problem of that type\n" << r.out;
  r = run(Words{"xray", changed_text(text, "j + p - k * d", "j - k * d")} + of);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(holds(r.out, "the padding is missing")) << r.out;
}

}  // namespace
}  // namespace convscope
