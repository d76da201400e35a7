// How hopper_tf32's sums leave a warpgroup, with sums that say which output they belong to: row · 2048 + class's
// output.
#include "../../../kernels/ladder/hopper_results.h"

// own: outputs until the next tile begins; 0: straight from registers.
template <int width, int period, int gcd, int own>
__device__ __forceinline__ void results(const float* bias, float* y, int64_t length, int64_t j, int channels) {
  CONVSCOPE_DYNAMIC_SHARED(float, staging);
  constexpr int stride = period * gcd, near = 4 / stride;
  int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  float d[2][width / 2];
  for (int q = 0; q < width / 4; q++)
    for (int h = 0; h < 4; h++) {
      int m = 32 * warp + 8 * near * (h / near) + near * g + h % near;
      d[h / 2][q / 2 * 4 + h % 2 * 2 + q % 2] = (q / period * 4 + t) * 2048 + m * period + q % period;
    }
  finish<period>(d, bias, channels, t);
  // Twice, as a warpgroup that has two tiles does.
  for (int turn = 0; turn < 2; turn++)
    if constexpr (own > 0)
      results_staged<period, gcd, own>(d, bias, y, staging, length, j, channels, g, t, y);
    else
      results_direct<period, gcd>(d, bias, y, length, j + warp * 32 * stride, channels, g, t);
}

#define CONVSCOPE_RESULTS(name, ...)                                                                      \
  extern "C" __global__ void name(const float* bias, float* y, int64_t length, int64_t j, int channels) { \
    results<__VA_ARGS__>(bias, y, length, j, channels);                                                   \
  }
#define CONVSCOPE_RESULTS_FORMS(F)        \
  F(results_s1, 64, 1, 1, 0)              \
  F(results_s1_staged, 64, 1, 1, 128)     \
  F(results_s1_sectors, 64, 1, 1, 124)    \
  F(results_s2_d2, 64, 1, 2, 0)           \
  F(results_s2_d2_staged, 64, 1, 2, 256)  \
  F(results_s2_d2_sectors, 64, 1, 2, 248) \
  F(results_s2, 64, 2, 1, 0)              \
  F(results_s2_staged, 64, 2, 1, 256)     \
  F(results_s4, 128, 4, 1, 0)             \
  F(results_s4_staged, 128, 4, 1, 512)
CONVSCOPE_RESULTS_FORMS(CONVSCOPE_RESULTS)

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_results) {
  test_only();
  idea("stores sums that say where they belong");
  plan([](const ConvProblem&, Plan& plan) {
#define CONVSCOPE_PLAN(name, ...) plan.launch(ENTRY(name), {1}, {1}).args(plan.b(), plan.y(), 0, 0, 0);
    CONVSCOPE_RESULTS_FORMS(CONVSCOPE_PLAN)
#undef CONVSCOPE_PLAN
  });
}
#endif
