// Tensor-core products of one warp (convscope/mma.h).
#include "convscope/half.h"
#include "convscope/mma.h"

// D[16, 8·n] = A[16, 8] · B[8, 8·n] + D, all row-major; A and B are given as bit patterns.
template <int n>
__device__ __forceinline__ void multiply(const unsigned* a, const unsigned* b, float* d) {
  int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  uint32_t fa[4] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4], a[(g + 8) * 8 + t + 4]}, fb[n][2];
  float fd[n][4];
  for (int i = 0; i < n; i++) {
    fb[i][0] = b[t * 8 * n + 8 * i + g], fb[i][1] = b[(t + 4) * 8 * n + 8 * i + g];
    for (int r = 0; r < 4; r++) fd[i][r] = d[(g + r / 2 * 8) * 8 * n + 8 * i + 2 * t + r % 2];
  }
  mma_m16n8k8_tf32(fd, fa, fb);
  for (int i = 0; i < n; i++)
    for (int r = 0; r < 4; r++) d[(g + r / 2 * 8) * 8 * n + 8 * i + 2 * t + r % 2] = fd[i][r];
}
extern "C" __global__ void multiply_1(const unsigned* a, const unsigned* b, float* d) { multiply<1>(a, b, d); }
extern "C" __global__ void multiply_4(const unsigned* a, const unsigned* b, float* d) { multiply<4>(a, b, d); }

// The same with A[16, 16] and B[16, 8], values of 16 bits.
template <class T>
__device__ __forceinline__ void multiply_16(const uint16_t* a, const uint16_t* b, float* d) {
  int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  auto of_a = [&](int row, int k) { return a[row * 16 + k] | static_cast<uint32_t>(a[row * 16 + k + 1]) << 16; };
  auto of_b = [&](int k) { return b[k * 8 + g] | static_cast<uint32_t>(b[(k + 1) * 8 + g]) << 16; };
  uint32_t fa[4] = {of_a(g, 2 * t), of_a(g + 8, 2 * t), of_a(g, 2 * t + 8), of_a(g + 8, 2 * t + 8)};
  uint32_t fb[1][2] = {{of_b(2 * t), of_b(2 * t + 8)}};
  float fd[1][4];
  for (int r = 0; r < 4; r++) fd[0][r] = d[(g + r / 2 * 8) * 8 + 2 * t + r % 2];
  mma_m16n8k16<T>(fd, fa, fb);
  for (int r = 0; r < 4; r++) d[(g + r / 2 * 8) * 8 + 2 * t + r % 2] = fd[0][r];
}
extern "C" __global__ void multiply_f16(const uint16_t* a, const uint16_t* b, float* d) {
  multiply_16<__half>(a, b, d);
}
extern "C" __global__ void multiply_bf16(const uint16_t* a, const uint16_t* b, float* d) {
  multiply_16<__nv_bfloat16>(a, b, d);
}

extern "C" __global__ void round_tf32(const float* in, unsigned* out) {
  unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  out[id] = to_tf32(in[id]);
}

extern "C" __global__ void multiply_without_lane(unsigned who, float* out) {
  if (threadIdx.x == who) return;
  uint32_t a[4] = {}, b[1][2] = {};
  float d[1][4] = {};
  mma_m16n8k8_tf32(d, a, b);  // FAULT multiply_without_lane
  out[threadIdx.x] = d[0][0];
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_matrix) {
  test_only();
  idea("multiplies matrices on tensor cores");
  requires_("sm_80");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(multiply_1), {1}, {32}).args(plan.x(), plan.w(), plan.y());
    plan.launch(ENTRY(multiply_4), {1}, {32}).args(plan.x(), plan.w(), plan.y());
    plan.launch(ENTRY(multiply_f16), {1}, {32}).args(plan.x(), plan.w(), plan.y());
    plan.launch(ENTRY(multiply_bf16), {1}, {32}).args(plan.x(), plan.w(), plan.y());
    plan.launch(ENTRY(round_tf32), {1}, {32}).args(plan.x(), plan.y());
    plan.launch(ENTRY(multiply_without_lane), {1}, {32}).args(0, plan.y());
  });
}
#endif
