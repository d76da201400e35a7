// Kernels for the tests of tracing; compiled plain and traced. The marks (TRACE name) are looked up by the tests.
#include "convscope/kernel.h"

extern "C" __global__ void trace_sizes(const float* f, const float4* v, const double* d, const unsigned char* c,
                                       float* out) {
  int n = blockDim.x * gridDim.x, t = (threadIdx.x + blockIdx.x * n) % n;  // none of these four is recorded
  float a = f[t];                                                          // TRACE single
  float4 b = v[t];                                                         // TRACE float4
  double e = d[t];                                                         // TRACE double
  int g = c[t];                                                            // TRACE byte
  out[t] = a + b.x + b.y + b.z + b.w + static_cast<float>(e) + g;          // TRACE out
}

extern "C" __global__ void trace_copy(const float4* in, float4* out) {
  out[threadIdx.x] = in[threadIdx.x];  // TRACE copy
}

// One block's own values in shared memory, on the stack and in a global word.
extern "C" __global__ void trace_places(const int* in, int* out, int* counter) {
  __shared__ int cell[64];
  int local[4];
  int t = threadIdx.x;
  for (int i = 0; i < 4; i++) local[(i + t) % 4] = i;
  cell[t] = in[t] + local[t % 4];  // TRACE shared_write
  __syncthreads();
  out[t] = cell[63 - t];  // TRACE shared_read
  atomicAdd(counter, 1);  // TRACE atomic
}

extern "C" __global__ void trace_memcpy(const int* in, int* out) {
  struct Six {
    int v[6];
  };
  Six six;
  memcpy(&six, in + 6 * threadIdx.x, sizeof six);  // TRACE memcpy
  int sum = 0;
  for (int i = 0; i < 6; i++) sum += six.v[i];
  out[threadIdx.x] = sum;
}

// A thread's own accesses in program order.
extern "C" __global__ void trace_order(int* data) {
  int t = threadIdx.x;
  for (int i = 0; i < 5; i++) data[5 * t + i] = data[5 * t + (4 - i)] + 1;
}

// Functions that are called, and lie where the compiler puts them: before their caller or behind it.
__device__ __attribute__((noinline)) int trace_before(int v) {
  for (int i = 0; i < v % 5; i++) v ^= v << 1;
  return v;
}
__device__ __attribute__((noinline)) inline int trace_behind(int v) {
  for (int i = 0; i < v % 7; i++) v ^= v << 2;
  return v;
}

// One lane calls them, and then all store in the same rounds; each calls one that stores, at two places one after the
// other: lane 5 stores at the second alone.
__device__ __attribute__((noinline)) inline void trace_store(int* out, int v) {
  if (v >= 0) out[threadIdx.x] = v;  // TRACE called
}
extern "C" __global__ void trace_calls(int* out) {
  int t = threadIdx.x, v = t + 3;
  for (int round = 0; round < 3; round++) {
    if (t == 0) v = trace_behind(v);
    if (t == 1) v = trace_before(v);
    for (int i = 0; i < 4; i++) out[32 * i + t] = v;  // TRACE stored
    int first = v | -(t == 5);
    trace_store(out, first);
    trace_store(out + 32, v);
  }
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_traced) {
  test_only();
  idea("makes accesses that are known");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(trace_sizes), {1}, {1}).args(plan.x(), plan.x(), plan.x(), plan.x(), plan.y());
    plan.launch(ENTRY(trace_copy), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(trace_places), {1}, {1}).args(plan.x(), plan.y(), plan.y());
    plan.launch(ENTRY(trace_memcpy), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(trace_order), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(trace_calls), {1}, {1}).args(plan.y());
  });
}
#endif
