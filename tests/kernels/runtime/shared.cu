// Kernels with and without shared memory of their own, for the test that reads device code.
extern "C" __global__ void with_shared(float* y) {
  __shared__ float all[300];
  all[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = all[299 - threadIdx.x];
}

extern "C" __global__ void without_shared(float* y) { y[threadIdx.x] *= 2; }
