// What the memory allows #79: x read once and y written once, in the pieces in which a kernel that works in NCL layout
// reads and writes them, and nothing computed.
//
//   nvcc -O3 -std=c++17 -arch=sm_90a -o write_limit tests/bench/write_limit.cu && ./write_limit
//
// y: 16 × 64 rows of 262145 floats (262144: each row on a boundary), x: 16 × 32 rows of 131072 floats. A tile is a
// piece of each of `rows` rows of y and of x's 32; blocks of 512 threads take tiles in turn, neighbours together. A
// piece's ends lie on 32 bytes of y (a sector), so that no sector is written twice, or on 128 or 256. Of 1, 2 and 4
// blocks a multiprocessor the fastest; medians of 7 times 5 launches, by events.
#include <algorithm>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

namespace {
constexpr long batch = 16, rows_y = 64, rows_x = 32, length_x = 131072;

struct Pattern {
  long length;  // floats of a row of y, and from row to row
  int piece;    // floats of a row that a tile writes; it reads half as many of each row of x
  int rows;     // of a tile
  int ends;     // floats of which the ends of pieces are a multiple
  bool read;
};

__global__ void stream(Pattern p, float* y, const float* x, long tiles) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const long pieces = (p.length + p.piece - 1) / p.piece, groups = rows_y / p.rows;
  float sum = 0;  // stored, so that the loads are not left out
  for (long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const long q = tile % pieces, group = tile / pieces % groups, sequence = tile / pieces / groups;
    if (p.read) {
      const long first = q * p.piece / 2, values = min(p.piece / 2L, length_x - first);
      for (int row = warp; row < rows_x; row += warps) {
        auto from = reinterpret_cast<const float4*>(x + (sequence * rows_x + row) * length_x + first);
#pragma unroll 4
        for (long i = lane; i < values / 4; i += 32) {
          float4 v = __ldg(from + i);
          sum += v.x + v.y + v.z + v.w;
        }
      }
    }
    for (int row = warp; row < p.rows; row += warps) {
      const long begin = (sequence * rows_y + group * p.rows + row) * p.length;
      auto end = [&](long at) { return (at + p.ends - 1) / p.ends * p.ends; };
      const long first = end(begin + q * p.piece);
      const long last = min(end(begin + min(p.length, (q + 1) * p.piece)), batch * rows_y * p.length / p.ends * p.ends);
#pragma unroll 4
      for (long i = first + 4 * lane; i < last; i += 128)
        *reinterpret_cast<float4*>(y + i) = make_float4(sum, static_cast<float>(tile), 1, 2);
    }
  }
}

template <class Launch>
float median_ms(Launch launch) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  launch();
  std::vector<float> times;
  for (int sample = 0; sample < 7; ++sample) {
    cudaEventRecord(begin);
    for (int i = 0; i < 5; ++i) launch();
    cudaEventRecord(end), cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    times.push_back(ms / 5);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[3];
}
}  // namespace

int main() {
  cudaDeviceProp gpu;
  float *y = nullptr, *x = nullptr;
  const size_t bytes_y = batch * rows_y * 262145 * 4, bytes_x = batch * rows_x * length_x * 4;
  if (cudaGetDeviceProperties(&gpu, 0) || cudaMalloc(&y, bytes_y) || cudaMalloc(&x, bytes_x) ||
      cudaMemset(x, 0, bytes_x)) {
    std::fprintf(stderr, "write_limit: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 3;
  }
  std::printf("%s\nmemset of y: %.4f ms\n", gpu.name, median_ms([&] { cudaMemsetAsync(y, 0, bytes_y); }));
  for (bool read : {false, true})
    for (long length : {262144, 262145})
      for (int rows : {64, 16})
        for (int piece : {256, 512, 1024, 2048, 4096})
          for (int ends : {8, 32, 64}) {
            const Pattern p{length, piece, rows, ends, read};
            const long tiles = (length + piece - 1) / piece * (rows_y / rows) * batch;
            float best = 1e9f;
            for (int blocks : {1, 2, 4})
              best =
                  std::min(best, median_ms([&] { stream<<<blocks * gpu.multiProcessorCount, 512>>>(p, y, x, tiles); }));
            std::printf("%s, rows of %ld floats, pieces of %5d bytes that end on %3d in %d rows: %.4f ms\n",
                        read ? "x read, y written" : "y written        ", length, piece * 4, ends * 4, rows, best);
          }
  if (cudaError_t e = cudaDeviceSynchronize()) {
    std::fprintf(stderr, "write_limit: %s\n", cudaGetErrorString(e));
    return 1;
  }
}
