// How hopper_tf32's sums leave a warpgroup, with sums that say which output they belong to: row · 2048 + class's
// output.
#include "../../../kernels/ladder/hopper_blocks.h"

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

// In blocks: tiles that begin at j, 192 outputs on and so on before `until`, one after the other as a warpgroup takes
// them. The sums say row · 8192 + how many outputs that taps reach lie between j and theirs.
__device__ __forceinline__ void results_in_tiles(const float* bias, float* y, int64_t length, int64_t j, int channels,
                                                 int64_t until) {
  CONVSCOPE_DYNAMIC_SHARED(float, staging);
  int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, put = -1;
  WaitingRows waiting;
  for (int number = 0; j + number * 192 < until; number++) {
    float d[2][32];
    for (int q = 0; q < 16; q++)
      for (int h = 0; h < 4; h++)
        d[h / 2][q / 2 * 4 + h % 2 * 2 + q % 2] =
            (q * 4 + t) * 8192 + number * 96 + 32 * warp + 16 * (h / 2) + 2 * g + h % 2;
    finish<1>(d, bias, channels, t);
    waiting.two(length);  // as while products run
    waiting.all(length);
    results_in_blocks<1, 2>(waiting, put, d, bias, y, staging, length, j + number * 192, channels, g, t);
  }
  waiting.all(length);
}
extern "C" __global__ void results_s2_d2_blocks(const float* bias, float* y, int64_t length, int64_t j, int channels) {
  results_in_tiles(bias, y, length, j, channels, j + 1);
}
extern "C" __global__ void results_s2_d2_all_blocks(const float* bias, float* y, int64_t length, int64_t j,
                                                    int channels) {
  results_in_tiles(bias, y, length, j, channels, length > 64 ? length - 64 : 1);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_results) {
  test_only();
  idea("stores sums that say where they belong");
  plan([](const ConvProblem&, Plan& plan) {
#define CONVSCOPE_PLAN(name, ...) plan.launch(ENTRY(name), {1}, {1}).args(plan.b(), plan.y(), 0, 0, 0);
    CONVSCOPE_RESULTS_FORMS(CONVSCOPE_PLAN)
#undef CONVSCOPE_PLAN
    plan.launch(ENTRY(results_s2_d2_blocks), {1}, {1}).args(plan.b(), plan.y(), 0, 0, 0);
    plan.launch(ENTRY(results_s2_d2_all_blocks), {1}, {1}).args(plan.b(), plan.y(), 0, 0, 0);
  });
}
#endif
