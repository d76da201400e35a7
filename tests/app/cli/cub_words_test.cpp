// Words of CUB, <cuda/barrier> and <cuda/pipeline> in kernel files from outside: right ones, and what is missing in
// wrong ones.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::has_nvcc;
using test::holds;
using test::OutsideCli;
using test::Words;
using test::operator+;

const Words few_channels = {"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "70",
                            "--stride",      "2", "--padding",      "1", "--dilation",    "2"};

class CubWordsCli : public OutsideCli {
 protected:
  // Of a text whose `from` is `to`.
  test::Finished judged(std::string text, const std::string& from = "", const std::string& to = "") {
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    if (at != text.npos) text.replace(at, from.size(), to);
    return run(Words{"run", file("words.cu", text)} + few_channels);
  }
  void compiles_for_a_gpu(const std::string& text) {
    if (!has_nvcc()) return;
    auto r = run(Words{"disassemble", file("words.cu", text), "--device", "emulator"} + few_channels);
    EXPECT_TRUE(holds(r.out, "\nup, sm_90: ")) << r.out.substr(0, 200) << r.err;
  }
};

// Host code that launches up() for tiles of 128 positions, or as `launch` says.
std::string with_host(const std::string& kernel, const std::string& launch = "dim3((Lout + 127) / 128, Cout, N), 128") {
  return "#include <torch/extension.h>\n" + kernel + R"(
torch::Tensor forward(torch::Tensor x, torch::Tensor w, int stride, int padding, int dilation) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + 1;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  up<<<)" +
         launch +
         R"(>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), Cin, Cout, K, L, Lout, stride, padding, dilation);
  return y;
}
)";
}

// Two outputs by each block, one after the other, whose channels and taps the threads take in turn.
const std::string two_reductions = with_host(R"(
#include <cub/cub.cuh>
__global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  using BlockReduce = cub::BlockReduce<float, 64>;
  __shared__ typename BlockReduce::TempStorage temp;
  const int co = blockIdx.y, n = blockIdx.z;
  for (int j = 2 * blockIdx.x; j < min(Lout, 2 * (int)blockIdx.x + 2); j++) {
    float sum = 0;
    for (int e = threadIdx.x; e < Cin * K; e += blockDim.x) {
      const int ci = e / K, k = e % K, t = j + p - k * d;
      if (t >= 0 && t % s == 0 && t / s < L) sum += x[(n * Cin + ci) * L + t / s] * w[(ci * Cout + co) * K + k];
    }
    sum = BlockReduce(temp).Sum(sum);
    if (threadIdx.x == 0) y[(n * Cout + co) * Lout + j] = sum;
    __syncthreads();
  }
}
)",
                                             "dim3((Lout + 1) / 2, Cout, N), 64");

TEST_F(CubWordsCli, ABlocksReduction) {
  auto r = judged(two_reductions);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
  compiles_for_a_gpu(two_reductions);
}

TEST_F(CubWordsCli, OneStorageUsedTwiceWithoutABarrierIsARace) {
  auto r = judged(two_reductions, "    __syncthreads();\n", "");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "a race in block 0: thread 32 writes at words.cu:14, and thread 0 reads at words.cu:14"))
      << r.out;
}

TEST_F(CubWordsCli, TheSumIsTheFirstThreadsAlone) {
  auto r = judged(two_reductions, "threadIdx.x == 0) y", "threadIdx.x == 33) y");
  EXPECT_EQ(r.code, 1) << r.out;
  r = judged(two_reductions, "BlockReduce<float, 64>", "BlockReduce<float, 128>");
  EXPECT_EQ(r.code, 4) << r.out;
  EXPECT_TRUE(holds(r.out, "words.cu:14: cub::BlockReduce is made for 128 threads, and the block has 64")) << r.out;
}

// A row of x at a time, brought by all threads, that arrives at a barrier.
const std::string rows_at_a_barrier = with_host(R"(
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  __shared__ alignas(16) float row[512];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  const int j = blockIdx.x * 128 + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  float sum = 0;
  for (int ci = 0; ci < Cin; ci++) {
    cuda::memcpy_async(block, row, x + (n * Cin + ci) * L, sizeof(float) * L, bar);
    bar.arrive_and_wait();
    for (int k = 0; k < K; k++) {
      const int t = j + p - k * d;
      if (t >= 0 && t % s == 0 && t / s < L) sum += row[t / s] * w[(ci * Cout + co) * K + k];
    }
    block.sync();
  }
  if (j < Lout) y[(n * Cout + co) * Lout + j] = sum;
}
)");

TEST_F(CubWordsCli, ABarrierThatIsAnObject) {
  auto r = judged(rows_at_a_barrier);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
  r = judged(rows_at_a_barrier, "bar.arrive_and_wait();", "bar.arrive();");
  EXPECT_TRUE(holds(r.out, "thread 0's copy writes at words.cu:16, and thread 1 reads at words.cu:20 the same memory"))
      << r.out;
  r = judged(rows_at_a_barrier, "    block.sync();\n  }", "  }");
  EXPECT_TRUE(holds(r.out, "a race in block 0: ")) << r.out;
  r = judged(rows_at_a_barrier, "init(&bar, block.size())", "init(&bar, block.size() + 1)");
  EXPECT_TRUE(holds(r.out, "deadlock in kernel up")) << r.out;
  EXPECT_TRUE(holds(r.out, "words.cu:17")) << r.out;
  r = judged(rows_at_a_barrier, "if (block.thread_rank() == 0) init(&bar, block.size());", "");
  EXPECT_TRUE(holds(r.out, "words.cu:16: ") || holds(r.out, "a cuda::barrier is used that nobody has initialised"))
      << r.out;
  compiles_for_a_gpu(rows_at_a_barrier);
}

// The next row is on its way while one is used.
const std::string rows_in_stages = with_host(R"(
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
__global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  __shared__ float row[2][512];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int j = blockIdx.x * 128 + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  float sum = 0;
  for (int ci = 0, next = 0; ci < Cin; ci++) {
    for (; next < Cin && next < ci + 2; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, row[next % 2], x + (n * Cin + next) * L, sizeof(float) * L, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    for (int k = 0; k < K; k++) {
      const int t = j + p - k * d;
      if (t >= 0 && t % s == 0 && t / s < L) sum += row[ci % 2][t / s] * w[(ci * Cout + co) * K + k];
    }
    pipe.consumer_release();
  }
  if (j < Lout) y[(n * Cout + co) * Lout + j] = sum;
}
)");

TEST_F(CubWordsCli, APipelineOfStages) {
  auto r = judged(rows_in_stages);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
  for (const char* missing : {"      pipe.producer_acquire();\n", "    pipe.consumer_wait();\n"}) {
    r = judged(rows_in_stages, missing, "\n");
    EXPECT_TRUE(holds(r.out, "a race in block 0: ")) << missing << r.out;
  }
  r = judged(rows_in_stages, "    pipe.consumer_release();\n", "");
  EXPECT_TRUE(holds(r.out, "deadlock in kernel up")) << r.out;
  compiles_for_a_gpu(rows_in_stages);
}

TEST_F(CubWordsCli, AGroupsCopiesAreWaitedFor) {
  const std::string text = with_host(R"(
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {
  __shared__ float own[64];
  auto block = cg::this_thread_block();
  const int j = blockIdx.x * 128 + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  for (int ci = 0; ci < Cin; ci++) cg::memcpy_async(block, own + ci * K, w + (ci * Cout + co) * K, sizeof(float) * K);
  cg::wait(block);
  float sum = 0;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s || t / s >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / s] * own[ci * K + k];
  }
  if (j < Lout) y[(n * Cout + co) * Lout + j] = sum;
}
)");
  auto r = judged(text);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = judged(text, "  cg::wait(block);\n", "");
  EXPECT_TRUE(holds(r.out, "a race in block 0: ")) << r.out;
  r = judged(text, "  cg::wait(block);\n", "  auto tile = cg::tiled_partition<64>(block);\n  tile.sync();\n");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "a tile has 1, 2, 4, 8, 16 or 32 threads here; larger ones")) << r.out;
  compiles_for_a_gpu(text);
}

}  // namespace
}  // namespace convscope
