// The problem as a kernel gets it: plain data, by value. The order of the members is part of the interface.
#pragma once
#if defined(__CUDACC_RTC__)
using int64_t = long long;
#else
#include <cstdint>
#endif

struct ConvArgs {
  int64_t batch, in_channels, out_channels, kernel_size, length, out_length;
  int64_t stride, padding, output_padding, dilation, groups;
};

// A kernel's parameter for the bulk-copy engine (sm_90), `const __grid_constant__ TensorMap`: filled in by the runtime
// from a TensorView of the plan.
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};
