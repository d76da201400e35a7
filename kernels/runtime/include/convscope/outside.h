// First include of kernel files from outside on the host compiler: what CUDA has without an #include, of which the
// program's own kernels need less (kernel.h).
#pragma once
#define CONVSCOPE_OUTSIDE
#include <climits>

#include "convscope/intrinsics.h"
#include "convscope/kernel.h"
#include "convscope/vectors.h"

using std::isfinite, std::isinf, std::isnan, std::signbit;

// Not static, as the program's own are: a file may say so itself, and each is a module of its own.
#undef __constant__
#define __constant__ __attribute__((unused))
