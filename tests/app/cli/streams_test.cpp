// Kernel files whose launches, or whose blocks, nothing orders: on several streams, or by a counter without a fence.
// Here all run in one order, and their results are right.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::OutsideCli;
using test::Words;

// The weights are turned by a launch of their own, line 5, and read by the next, line 13. Compiling takes longest: this
// file has all ways in which that happens, and the number of sequences picks one.
constexpr const char* streams = R"(#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void turn(const float* w, float* turned, int K, int all) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < all) turned[i / K * K + K - 1 - i % K] = w[i];
}
__global__ void up(const float* x, const float* turned, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int n, int from, int by) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y;
  if (j >= Lout) return;
  float sum = 0;
  for (int ci = from; ci < Cin; ci += by)
    for (int k = 0; k < K; k++) {
      const int at = j + p - k; const float v = turned[(ci * Cout + co) * K + K - 1 - k];
      if (at >= 0 && at % s == 0 && at / s < L) sum += x[(n * Cin + ci) * L + at / s] * v;
    }
  if (by > 1) atomicAdd(&y[(n * Cout + co) * Lout + j], sum); else y[(n * Cout + co) * Lout + j] = sum;
}
torch::Tensor f(torch::Tensor x, torch::Tensor w, int stride, int padding) {
  const int N = x.size(0), Cin = x.size(1), Cout = w.size(1), K = w.size(2), L = x.size(2), Lout = (L - 1) * stride - 2 * padding + K;
  auto turned = torch::empty_like(w);
  auto y = N < 11 ? torch::empty({N, Cout, Lout}, x.options()) : torch::zeros({N, Cout, Lout}, x.options());
  cudaStream_t first = nullptr, second = nullptr;
  const unsigned flags = N <= 3 || N == 8 ? cudaStreamNonBlocking : cudaStreamDefault;
  if (N != 9) cudaStreamCreateWithFlags(&first, flags);
  if (N != 4) cudaStreamCreateWithFlags(&second, flags);
  auto pool = at::cuda::getStreamFromPool();
  if (N == 10) second = pool;
  cudaEvent_t begun, turned_it, done;
  cudaEventCreate(&begun), cudaEventRecord(begun), cudaStreamWaitEvent(first, begun), cudaStreamWaitEvent(second, begun);
  cudaEventCreate(&turned_it), cudaEventCreate(&done);
  turn<<<(w.numel() + 63) / 64, 64, 0, first>>>(w.data_ptr<float>(), turned.data_ptr<float>(), K, w.numel());
  if (N == 2 || N == 8 || N == 10) cudaEventRecord(turned_it, first), cudaStreamWaitEvent(second, turned_it, 0);
  if (N == 3) cudaStreamSynchronize(first);
  if (N == 6 || N == 11) cudaDeviceSynchronize();
  if (N == 7) cudaStreamWaitEvent(second, turned_it, 0), cudaEventRecord(turned_it, first);
  for (int i = 0, n; n = i % N, i < (N < 11 ? N : 2 * N); i++)
    up<<<dim3((Lout + 63) / 64, Cout), 64, 0, N == 6 && n % 2 || i >= N ? first : second>>>(x.data_ptr<float>(), turned.data_ptr<float>(), y.data_ptr<float>(), Cin, Cout, K, L, Lout, stride, padding, n, i / N, N < 11 ? 1 : 2);
  if (N <= 3) cudaEventRecord(done, second), cudaStreamWaitEvent(0, done, 0);
  return y;
}
)";

class StreamsCli : public OutsideCli {
 protected:
  // Of so many sequences: what came out.
  test::Finished with(int batch) {
    return run({"run", file("streams.cu", streams), "--batch", std::to_string(batch), "--in-channels", "2",
                "--out-channels", "2", "--kernel-size", "3", "--length", "9", "--stride", "2", "--padding", "1"});
  }
};

TEST_F(StreamsCli, WhatNothingOrdersIsARace) {
  // Two streams, and no event; two blocking ones; an event that is waited for before it is recorded.
  for (int batch : {1, 5, 7}) {
    const auto r = with(batch);
    EXPECT_EQ(r.code, 1) << batch << r.out << r.err;
    EXPECT_TRUE(holds(r.out,
                      "wrong: a race between launches over its workspace: turn writes at streams.cu:5, and up reads at "
                      "streams.cu:13, on streams that nothing orders: the second waits for no event of the first"))
        << batch << r.out;
  }
}

TEST_F(StreamsCli, EventsTheHostAndTheDefaultStreamOrder) {
  // An event; the host that waits for a stream; a blocking stream before the default one; the host that waits for all,
  // and launches on two streams behind it that touch different rows; the default stream before a blocking one. Two that
  // add to the same by atomics need no order.
  for (int batch : {2, 3, 4, 6, 9, 11}) {
    const auto r = with(batch);
    EXPECT_EQ(r.code, 0) << batch << r.out << r.err;
    EXPECT_FALSE(holds(r.out, "race between launches")) << batch << r.out;
  }
}

TEST_F(StreamsCli, WhoReturnsATensorHasWaitedForIt) {
  // On a stream of its own, and on one of PyTorch's pool.
  for (int batch : {8, 10}) {
    const auto r = with(batch);
    EXPECT_EQ(r.code, 1) << batch << r.out << r.err;
    EXPECT_TRUE(
        holds(r.out,
              "wrong: returns y while up may still run: its stream is one of its own, and the caller's does not "
              "wait for it"))
        << batch << r.out;
  }
}

// What makes x is on the caller's stream, which a stream of the pool does not wait for by itself.
TEST_F(StreamsCli, AStreamOfItsOwnWaitsForItsCallers) {
  const auto own = run(
      {"run",
       changed_text(changed_into(streams, ", cudaStreamWaitEvent(second, begun);", ";"),
                    "turn<<<(w.numel() + 63) / 64, 64, 0, first>>>", "turn<<<(w.numel() + 63) / 64, 64, 0, second>>>"),
       "--batch", "1", "--in-channels", "2", "--out-channels", "2", "--kernel-size", "3", "--length", "9"});
  EXPECT_EQ(own.code, 1) << own.out << own.err;
  EXPECT_TRUE(holds(own.out,
                    "wrong: gives x to up while what makes it may still run: its stream is one of its own, and "
                    "does not wait for the caller's"))
      << own.out;
}

// Each block sums a part of the taps; the last one that is done, by a counter, adds the parts. Line 10 writes them, 15
// tells of it, 23 reads. By the number of sequences: with a fence, without one, with a fence that is too late, with a
// fence of the thread that tells, without one and a counter that the file declares, by libcu++'s relaxed and releasing
// atomics.
constexpr const char* last_block = R"(#include <torch/extension.h>
#include <cuda/atomic>
__device__ unsigned own[64]; __global__ void up(const float* x, const float* w, float* parts, unsigned* counter, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int how) {
  __shared__ bool last;
  const int j = threadIdx.x, co = blockIdx.y % Cout, n = blockIdx.y / Cout, ci = blockIdx.x;
  float sum = 0;
  for (int k = 0; k < K; k++)
    if (const int at = j + p - k; at >= 0 && at % s == 0 && at / s < L) sum += x[(n * Cin + ci) * L + at / s] * w[(ci * Cout + co) * K + k];
  if (j < Lout)
    parts[(blockIdx.y * Cin + ci) * Lout + j] = sum;
  if (how == 1) __threadfence();
  __syncthreads();
  if (j == 0) {
    if (how == 4) __threadfence();
    if (how > 5) last = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(counter[blockIdx.y]).fetch_add(1, how == 6 ? cuda::memory_order_relaxed : cuda::memory_order_acq_rel) == Cin - 1; else
    last = atomicInc(how == 5 ? &own[blockIdx.y] : &counter[blockIdx.y], Cin - 1) == Cin - 1;
    if (how == 3) __threadfence();
  }
  __syncthreads();
  if (!last || j >= Lout) return;
  sum = 0;
  for (int c = 0; c < Cin; c++)
    sum += parts[(blockIdx.y * Cin + c) * Lout + j];
  y[blockIdx.y * Lout + j] = sum;
}
torch::Tensor f(torch::Tensor x, torch::Tensor w, int stride, int padding) {
  const int N = x.size(0), Cin = x.size(1), Cout = w.size(1), K = w.size(2), L = x.size(2), Lout = (L - 1) * stride - 2 * padding + K;
  TORCH_CHECK(Lout <= 64);
  auto parts = torch::empty({N * Cout * Cin * Lout}, x.options());
  auto counter = torch::zeros({N * Cout}, x.options().dtype(torch::kInt32));
  auto y = torch::empty({N, Cout, Lout}, x.options());
  up<<<dim3(Cin, N * Cout), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), parts.data_ptr<float>(), (unsigned*)counter.data_ptr<int>(), y.data_ptr<float>(), Cin, Cout, K, L, Lout, stride, padding, N);
  return y;
}
)";

TEST_F(StreamsCli, ACounterNeedsAFenceBeforeIt) {
  auto with = [&](int how) {
    return run({"run", file("last.cu", last_block), "--batch", std::to_string(how), "--in-channels", "4",
                "--out-channels", "2", "--kernel-size", "3", "--length", "9", "--stride", "2", "--padding", "1"});
  };
  for (int how : {1, 4, 7}) {  // of each thread, of the one that tells, in the order of an atomic
    const auto r = with(how);
    EXPECT_EQ(r.code, 0) << how << r.out << r.err;
  }
  for (int how : {2, 3, 5, 6}) {
    const auto r = with(how);
    EXPECT_EQ(r.code, 1) << how << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "wrong: a race between blocks over its workspace: thread 0 of block ")) << r.out;
    EXPECT_TRUE(holds(r.out, " writes it at last.cu:10, and block ")) << r.out;
    EXPECT_TRUE(holds(r.out,
                      " reads it at last.cu:23, with no __threadfence() between the write and what tells of it: "
                      "on a GPU it may not be there yet"))
        << r.out;
  }
  // Of a problem that is too large for all its reads to be followed, on a short piece.
  const auto r = run({"run", file("last.cu", last_block), "--batch", "2", "--in-channels", "4", "--out-channels", "590",
                      "--kernel-size", "25", "--length", "40", "--padding", "1"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, " reads it at last.cu:23, with no __threadfence()")) << r.out;
  EXPECT_TRUE(holds(r.out, "(found by the emulator, on 2 × 4→590, K 25, L 16, s 1, p 1, d 1)")) << r.out;
}

}  // namespace
}  // namespace convscope
