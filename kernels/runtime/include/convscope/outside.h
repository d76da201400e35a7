// First include of kernel files from outside on the host compiler: what CUDA has without an #include, of which the
// program's own kernels need less (kernel.h).
#pragma once
#define CONVSCOPE_OUTSIDE
// g++ is asked to say so of files that PyTorch compiles, which gives that definition (compile/half_rules.h).
#ifndef CONVSCOPE_SWITCHED_OFF_BY
#define CONVSCOPE_SWITCHED_OFF_BY(definition) [[deprecated("switched off by -D" definition)]]
#endif
#include <climits>

#include "convscope/intrinsics.h"
#include "convscope/kernel.h"
#include "convscope/vectors.h"

using std::isfinite, std::isinf, std::isnan, std::signbit;

// Not static, as the program's own are: a file may say so itself, and each is a module of its own.
#undef __constant__
#define __constant__ __attribute__((unused))
