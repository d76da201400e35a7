// PTX that kernel files say in asm(): followed where the emulator has it in other words, refused with its line where
// not.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

// What each warp brings to shared memory by cp.async, reads by ldmatrix and multiplies, against what it is to be; then
// the convolution itself, each input read by ld.global.nc.
constexpr const char* with_ptx = R"cu(#include <cuda_fp16.h>
#define COMMIT() asm volatile("cp.async.commit_group;\n" ::)
__device__ unsigned shared_of(const void* p) {
  unsigned a;
  asm volatile("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }\n" : "=r"(a) : "l"(p));
  return a;
}
__device__ float read(const float* p) {
  float v;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}
__device__ void copy16(void* to, const void* from, bool there) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.b32 p, %0, 0;\n"
      "  @p cp.async.cg.shared.global [%1], [%2], 16;\n"
      "}\n" ::"r"((int)there), "r"(at), "l"(from));
}
// convscope: launch up grid=ceil_div(N*Cout*Lout,32) block=32 args=x,w,b,y,N,Cin,Cout,K,L,Lout,s,p,d,g
__global__ void up(const float* x, const float* w, const float* b, float* y, int N, int Cin, int Cout, int K, int L,
                   int Lout, int s, int p, int d, int g) {
  __shared__ __align__(16) float taken[128];
  __shared__ __align__(16) __half rows[16 * 16];
  const int lane = threadIdx.x;
  bool ok = true;
  taken[lane] = taken[lane + 32] = taken[lane + 64] = taken[lane + 96] = -1;
  __syncwarp();
  copy16(taken + 4 * lane, x, lane < 16);
  COMMIT();
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  __syncwarp();
  float four[4];
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four[0]), "=f"(four[1]), "=f"(four[2]), "=f"(four[3])
               : "r"(shared_of(taken + 4 * lane)));
  for (int i = 0; i < 4; i++) ok &= four[i] == (lane < 16 ? x[i] : -1.f);
  // A of 16 × 16 halves, times B with a one at [2][3] and a two at [9][3].
  for (int e = lane; e < 256; e += 32) rows[e] = __float2half(float(e % 16 + e / 16 * 3));
  __syncwarp();
  unsigned a[4], turned[2], bv[2] = {0, 0};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(shared_of(rows + lane % 16 * 16 + lane / 16 * 8)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(turned[0]), "=r"(turned[1])
               : "r"(shared_of(rows + lane % 16 * 16)));
  const __half low = *reinterpret_cast<__half*>(&turned[0]);
  ok &= __half2float(low) == float(lane / 4 + lane % 4 * 2 * 3);
  if (lane / 4 == 3 && lane % 4 == 1) bv[0] = 0x3c00;        // k = 2
  if (lane / 4 == 3 && lane % 4 == 0) bv[1] = 0x4000u << 16;  // k = 9
  float c[4] = {1, 1, 1, 1};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(bv[0]), "r"(bv[1]));
  for (int i = 0; i < 4; i++) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    ok &= c[i] == 1.f + (column == 3 ? (2 + row * 3) + 2 * (9 + row * 3) : 0);
  }
  unsigned ones;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(ones) : "f"(1.0001f));
  const unsigned all_a[4] = {ones, ones, ones, ones}, all_b[2] = {ones, ones};
  float t[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"
      : "=f"(t[0]), "=f"(t[1]), "=f"(t[2]), "=f"(t[3])
      : "r"(all_a[0]), "r"(all_a[1]), "r"(all_a[2]), "r"(all_a[3]), "r"(all_b[0]), "r"(all_b[1]), "f"(2.f), "f"(2.f),
        "f"(2.f), "f"(2.f));
  for (int i = 0; i < 4; i++) ok &= t[i] == 10.f;

  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= N * Cout * Lout) return;
  const int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  float sum = ok ? (b ? b[co] : 0.f) : 1e9f;
  for (int k = 0; k < K; k++) {
    const int at = j + p - k * d;
    if (at < 0 || at % s != 0 || at / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++)
      asm("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum)
          : "f"(read(x + (n * Cin + ci) * L + at / s)), "f"(w[(ci * Cout + co) * K + k]));
  }
  asm volatile("st.global.f32 [%0 + 0], %1;" ::"l"(y + id), "f"(sum) : "memory");
}
)cu";

class PtxCli : public OutsideCli {
 protected:
  test::Finished with(const std::string& from, const std::string& to) {
    return run(Words{"run", from.empty() ? file("ptx.cu", with_ptx) : changed_text(with_ptx, from, to, "ptx.cu")} +
               little);
  }
};

TEST_F(PtxCli, WhatTheEmulatorHasIsFollowed) {
  auto r = with("", "");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "right: all ")) << r.out;
  // And what is wrong in it seen.
  r = with("wait_group %0;\\n\" ::\"n\"(0)", "wait_group %0;\\n\" ::\"n\"(1)");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "which nobody has waited for")) << r.out;
  r = with("j + p - k * d", "j + p - k");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  r = with("[%0 + 0], %1;", "[%0 + 4], %1;");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
}

TEST_F(PtxCli, WhatItHasNotIsRefusedWithItsLine) {
  const auto r = with("ld.global.nc.f32 %0, [%1];", "tex.1d.v4.f32.s32 %0, [%1];");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "ptx.cu:10: PTX in asm(), which is compiled for a GPU alone")) << r.out;
}

}  // namespace
}  // namespace convscope
