// First include of every kernel file. One source, three lives: nvcc and NVRTC see CUDA and next to nothing from here;
// the host compiler sees the same names implemented by the emulator (simt.h) and the registration of the kernel
// (plan.h).
#pragma once
#include "convscope/conv_args.h"

#if defined(__CUDACC__)

// Dynamic shared memory, 16-byte aligned: T* name, as many elements as the launch gave bytes for.
#define CONVSCOPE_DYNAMIC_SHARED(T, name)                             \
  extern __shared__ __align__(16) unsigned char convscope_dynamic_[]; \
  T* name = reinterpret_cast<T*>(convscope_dynamic_)

#else

#if !defined(CONVSCOPE_OUTSIDE)  // which is compiled while its writer waits, and is given what it names
#include <algorithm>
#endif

#include "convscope/plan.h"
#include "convscope/simt.h"
#if !defined(CONVSCOPE_OUTSIDE)
#include "convscope/names.h"
#endif

#define CONVSCOPE_DYNAMIC_SHARED(T, name) T* name = reinterpret_cast<T*>(::convscope::simt::dynamic_shared())

#endif
