// What follows a layer, fused into its kernel: every finished output value goes through activated() just before it is
// rounded to the output's type and stored. Without one of these macros that is the value itself, and no instruction:
//
//   CONVSCOPE_RELU               torch.nn.functional.relu
//   CONVSCOPE_LEAKY_RELU slope   torch.nn.functional.leaky_relu, negative_slope = slope
//
// An export that is asked for one defines it (kernels/planner/export.h). NaN, infinities and −0 become what they become
// there (ATen/native/cuda: clamp_min of TensorCompare.cu, ActivationLeakyReluKernel.cu). A 16-bit output is rounded
// once, after it; PyTorch's layer and activation round twice.
#pragma once
#include "convscope/kernel.h"

// NaN stays NaN and −0 stays −0; −infinity becomes 0.
template <class T>
__device__ __forceinline__ T relu(T v) {
  return v < T(0) ? T(0) : v;
}

// NaN stays NaN and −0 stays −0; −infinity times a slope of 0 is NaN.
template <class T>
__device__ __forceinline__ T leaky_relu(T v, T slope) {
  return v > T(0) ? v : v * slope;
}

template <class T>
__device__ __forceinline__ T activated(T v) {
#if defined(CONVSCOPE_RELU)
  return relu(v);
#elif defined(CONVSCOPE_LEAKY_RELU)
  return leaky_relu(v, static_cast<T>(CONVSCOPE_LEAKY_RELU));
#else
  return v;
#endif
}
