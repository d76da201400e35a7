// Kernels that write down what they see: indices, shared memory, vector types.
#include "convscope/kernel.h"

// 12 numbers a thread, in the order of the linear indices.
extern "C" __global__ void record_indices(unsigned* out) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned* o = out + 12 * (block * (blockDim.x * blockDim.y * blockDim.z) + thread);
  o[0] = threadIdx.x, o[1] = threadIdx.y, o[2] = threadIdx.z;
  o[3] = blockIdx.x, o[4] = blockIdx.y, o[5] = blockIdx.z;
  o[6] = blockDim.x, o[7] = blockDim.y, o[8] = blockDim.z;
  o[9] = gridDim.x, o[10] = gridDim.y, o[11] = gridDim.z;
}

// The last block's index, for grids too large to record.
extern "C" __global__ void count_blocks(unsigned long long* blocks, unsigned* largest) {
  atomicAdd(blocks, 1ull);
  atomicMax(&largest[0], blockIdx.x);
  atomicMax(&largest[1], blockIdx.y);
  atomicMax(&largest[2], blockIdx.z);
}

extern "C" __global__ void reverse_static(const int* in, int* out) {
  __shared__ int line[256];
  __shared__ double squares[256];
  int n = blockDim.x, t = threadIdx.x, at = blockIdx.x * n;
  line[t] = in[at + t];
  squares[t] = static_cast<double>(in[at + t]) * in[at + t];
  __syncthreads();
  out[at + t] =
      line[n - 1 - t] + (squares[n - 1 - t] == static_cast<double>(line[n - 1 - t]) * line[n - 1 - t] ? 0 : 1000000);
}

// Two static arrays and the dynamic one do not overlap.
extern "C" __global__ void separate_shared(int* wrong) {
  __shared__ int a[32][5];
  __shared__ float4 b[32];
  CONVSCOPE_DYNAMIC_SHARED(int, c);
  int t = threadIdx.x;
  for (int i = 0; i < 5; i++) a[t][i] = 1000 + 5 * t + i;
  b[t] = make_float4(t, -t, 2 * t, -2 * t);
  c[t] = 7 * t;
  __syncthreads();
  int u = 31 - t, bad = 0;
  for (int i = 0; i < 5; i++) bad += a[u][i] != 1000 + 5 * u + i;
  bad += b[u].x != u || b[u].y != -u || b[u].z != 2 * u || b[u].w != -2 * u;
  bad += c[u] != 7 * u;
  atomicAdd(wrong, bad);
}

extern "C" __global__ void reverse_dynamic(const float* in, float* out, unsigned long long* alignment) {
  CONVSCOPE_DYNAMIC_SHARED(float, line);
  int n = blockDim.x, t = threadIdx.x, at = blockIdx.x * n;
  if (at + t == 0) *alignment = reinterpret_cast<unsigned long long>(line) % 16;
  line[t] = in[at + t];
  __syncthreads();
  out[at + t] = line[n - 1 - t];
}

// Reads dynamic shared memory that nobody wrote.
extern "C" __global__ void read_unwritten(float* out) {
  CONVSCOPE_DYNAMIC_SHARED(float, line);
  out[threadIdx.x] = line[threadIdx.x];
}

// Uses the whole of a block's shared memory.
extern "C" __global__ void fill_shared(int words, unsigned long long* sum) {
  CONVSCOPE_DYNAMIC_SHARED(int, all);
  for (int i = threadIdx.x; i < words; i += blockDim.x) all[i] = i;
  __syncthreads();
  unsigned long long mine = 0;
  for (int i = words - 1 - static_cast<int>(threadIdx.x); i >= 0; i -= blockDim.x) mine += all[i];
  atomicAdd(sum, mine);
}

extern "C" __global__ void vectors(const float4* in, float4* out, const int2* pairs, int2* swapped) {
  int t = threadIdx.x;
  float4 v = in[t];
  float4 w = make_float4(v.w, v.z, v.y, v.x);
  v = w;
  out[t] = v;
  int2 p = __ldg(&pairs[t]);
  swapped[t] = make_int2(p.y, p.x);
}

extern "C" __global__ void load_and_store(const float* in, float* out) {
  int t = threadIdx.x;
  __stcs(&out[t], __ldg(&in[t]) + __ldcs(&in[t + 1]));
}

template <class T>
__device__ __forceinline__ void by_value(ConvArgs c, T scale, long long* out) {
  const int64_t v[] = {c.batch,  c.in_channels, c.out_channels,   c.kernel_size, c.length, c.out_length,
                       c.stride, c.padding,     c.output_padding, c.dilation,    c.groups};
  for (int i = 0; i < 11; i++) out[i] = static_cast<long long>(v[i] * scale);
}
extern "C" __global__ void arguments(const ConvArgs c, double scale, unsigned char small, long long* out) {
  by_value(c, scale, out);
  out[11] = small;
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_basics) {
  test_only();
  idea("writes down what a kernel sees");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(record_indices), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(count_blocks), {1}, {1}).args(plan.y(), plan.y());
    plan.launch(ENTRY(reverse_static), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(separate_shared), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(reverse_dynamic), {1}, {1}).args(plan.x(), plan.y(), plan.y());
    plan.launch(ENTRY(read_unwritten), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(fill_shared), {1}, {1}).args(0, plan.y());
    plan.launch(ENTRY(vectors), {1}, {1}).args(plan.x(), plan.y(), plan.x(), plan.y());
    plan.launch(ENTRY(load_and_store), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(arguments), {1}, {1}).args(p.args(), 1.0, 0, plan.y());
  });
}
#endif
