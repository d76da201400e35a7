// Kernels whose threads all change the same words.
#include "convscope/kernel.h"

// Every thread adds its own amount; `before` gets what it found.
template <class T>
__device__ __forceinline__ void add_all(T* sum, T* before, T each) {
  unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  before[id] = atomicAdd(sum, each);
}
extern "C" __global__ void add_int(int* sum, int* before, int each) { add_all(sum, before, each); }
extern "C" __global__ void add_unsigned(unsigned* sum, unsigned* before, unsigned each) { add_all(sum, before, each); }
extern "C" __global__ void add_long(unsigned long long* sum, unsigned long long* before, unsigned long long each) {
  add_all(sum, before, each);
}
extern "C" __global__ void add_float(float* sum, float* before, float each) { add_all(sum, before, each); }
extern "C" __global__ void add_double(double* sum, double* before, double each) { add_all(sum, before, each); }

// words: 0 subtracted from · 1 least · 2 greatest · 3 and · 4 or · 5 xor
template <class T>
__device__ __forceinline__ void change_all(T* words) {
  T id = static_cast<T>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicSub(reinterpret_cast<unsigned*>(&words[0]), 1u);
  atomicMin(&words[1], id);
  atomicMax(&words[2], id);
  atomicAnd(&words[3], static_cast<T>(~(T(1) << (id % 16))));
  atomicOr(&words[4], static_cast<T>(T(1) << (id % 24)));
  atomicXor(&words[5], id);
}
extern "C" __global__ void change_int(int* words) { change_all(words); }
extern "C" __global__ void change_unsigned(unsigned* words) { change_all(words); }
extern "C" __global__ void change_long(unsigned long long* words) { change_all(words); }

extern "C" __global__ void exchange_all(unsigned* word, unsigned* got) {
  unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  got[id] = atomicExch(word, id + 1);
}

// An addition made of compare-and-swap.
template <class T>
__device__ __forceinline__ void swap_all(T* word) {
  T old = atomicCAS(word, T(0), T(0)), assumed;  // an atomic read
  do {
    assumed = old;
    old = atomicCAS(word, assumed, assumed + 3);
  } while (old != assumed);
}
extern "C" __global__ void swap_unsigned(unsigned* word) { swap_all(word); }
extern "C" __global__ void swap_long(unsigned long long* word) { swap_all(word); }

extern "C" __global__ void count_round(unsigned* word, unsigned limit) { atomicInc(word, limit); }

// The usual histogram: first in shared memory, then added to the whole.
extern "C" __global__ void histogram(const unsigned char* in, int n, unsigned* bins) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&mine[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_atomics) {
  test_only();
  idea("all threads change the same words");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(add_int), {1}, {1}).args(plan.y(), plan.y(), 1);
    plan.launch(ENTRY(add_unsigned), {1}, {1}).args(plan.y(), plan.y(), 1);
    plan.launch(ENTRY(add_long), {1}, {1}).args(plan.y(), plan.y(), 1);
    plan.launch(ENTRY(add_float), {1}, {1}).args(plan.y(), plan.y(), 1);
    plan.launch(ENTRY(add_double), {1}, {1}).args(plan.y(), plan.y(), 1);
    plan.launch(ENTRY(change_int), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(change_unsigned), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(change_long), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(exchange_all), {1}, {1}).args(plan.y(), plan.y());
    plan.launch(ENTRY(swap_unsigned), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(swap_long), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(count_round), {1}, {1}).args(plan.y(), 0);
    plan.launch(ENTRY(histogram), {1}, {1}).args(plan.x(), 0, plan.y());
  });
}
#endif
