// Kernels that are right as they are meant to be launched (positions along x, output channels along y, sequences along
// z), and whose launches are other ones.
#include "faulty.h"

template <bool wrong_index = false>
__device__ __forceinline__ void by_sides(const ConvArgs& c, const float* x, const float* w, const float* b, float* y) {
  const int64_t j = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= c.out_length || co >= c.out_channels || n >= c.batch) return;
  const Element e{(n * c.out_channels + co) * c.out_length + j, n, co, wrong_index && j > 0 ? j - 1 : j, true};
  y[e.id] = right_sum(c, e, x, w, b);
}

#define LAUNCHED(name) \
  FAULTY_ENTRY(name) { by_sides(c, x, w, b, y); }
LAUNCHED(l_right)
LAUNCHED(l_xy)
LAUNCHED(l_yz)
LAUNCHED(l_xz)
LAUNCHED(l_grid_block)
LAUNCHED(l_block)
LAUNCHED(l_turned)
LAUNCHED(l_one)
LAUNCHED(l_inputs)
LAUNCHED(l_length)
LAUNCHED(l_half)
FAULTY_ENTRY(l_index) { by_sides<true>(c, x, w, b, y); }

#ifndef __CUDACC__
#define KERNEL(name, GRID, BLOCK)                                                                              \
  CONVSCOPE_KERNEL(name) {                                                                                     \
    test_only();                                                                                               \
    idea("a launch of its own");                                                                               \
    plan([](const ConvProblem& p, Plan& plan) {                                                                \
      [[maybe_unused]] const int64_t N = p.batch, Cout = p.out_channels, tiles = ceil_div(p.out_length(), 64); \
      plan.launch(ENTRY(name##_f32), GRID, BLOCK).args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());      \
    });                                                                                                        \
    supports([](const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "is written for f32 only"; });     \
  }
KERNEL(l_right, (Shape{tiles, Cout, N}), (Shape{64}))
KERNEL(l_index, (Shape{tiles, Cout, N}), (Shape{64}))
KERNEL(l_xy, (Shape{Cout, tiles, N}), (Shape{64}))
KERNEL(l_yz, (Shape{tiles, N, Cout}), (Shape{64}))
KERNEL(l_xz, (Shape{N, Cout, tiles}), (Shape{64}))
KERNEL(l_grid_block, (Shape{64}), (Shape{tiles, Cout, N}))
KERNEL(l_block, (Shape{tiles, Cout, N}), (Shape{1, 64}))
KERNEL(l_turned, (Shape{Cout, N, tiles}), (Shape{64}))
KERNEL(l_one, (Shape{tiles, Cout, 1}), (Shape{64}))
KERNEL(l_inputs, (Shape{tiles, p.in_channels, N}), (Shape{64}))
KERNEL(l_length, (Shape{ceil_div(p.length, 64), Cout, N}), (Shape{64}))
KERNEL(l_half, (Shape{tiles, Cout, N}), (Shape{32}))
#endif
