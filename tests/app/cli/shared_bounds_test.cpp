// Kernel files that leave an array of shared memory: the next one lies behind it, or nothing that matters, and what
// comes out may be right.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::OutsideCli;
using test::Words;

// A tile of x with its halo, and the weights of a channel. Line 3 declares them, 10 fills, 15 reads.
constexpr const char* tile = R"(#include <torch/extension.h>
template <int T, int KM> __global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int p) {
  __shared__ float xs[T + KM - 1]; __shared__ float ws[KM];
  const int t = threadIdx.x, j = blockIdx.x * T + t, co = blockIdx.y, n = blockIdx.z;
  float sum = 0;
  for (int ci = 0; ci < Cin; ci++) {
    __syncthreads();
    for (int i = t; i < T + K - 1; i += T) {
      const int from = blockIdx.x * T + i + p - (K - 1);
      xs[i] = from >= 0 && from < L ? x[(n * Cin + ci) * L + from] : 0;
    }
    if (t < K) ws[t] = w[(ci * Cout + co) * K + t];
    __syncthreads();
    if (j < Lout)
      for (int k = 0; k < K; k++) sum += xs[t + K - 1 - k] * ws[k];
  }
  if (j < Lout) y[(n * Cout + co) * Lout + j] = sum;
}
torch::Tensor f(torch::Tensor x, torch::Tensor w, int s, int p, int d) {
  TORCH_CHECK(s == 1 && d == 1 && w.size(2) <= 4);
  const int K = w.size(2), Lout = x.size(2) - 1 - 2 * p + K, dynamic = 32 + K - 1;
  auto y = torch::empty({x.size(0), w.size(1), Lout}, x.options());
  up<32, 4><<<dim3((Lout + 31) / 32, w.size(1), x.size(0)), 32, 4 * dynamic>>>(x.data_ptr<float>(), w.data_ptr<float>(),
      y.data_ptr<float>(), x.size(1), w.size(1), K, x.size(2), Lout, p);
  return y;
}
)";

class SharedBoundsCli : public OutsideCli {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "no kernel is traced in a ThreadSanitizer build";
#elif !defined(__x86_64__)
    GTEST_SKIP() << "assembly of another architecture is left alone";
#endif
  }
  test::Finished judged(const std::string& from = "", const std::string& to = "", const std::string& taps = "4",
                        const Words& more = {}) {
    return run(more + Words{"run", from.empty() ? file("tile.cu", tile) : changed_text(tile, from, to, "tile.cu"),
                            "--in-channels", "3", "--out-channels", "2", "--kernel-size", taps, "--length", "70",
                            "--padding", "1", "--samples", "2"});
  }
};

TEST_F(SharedBoundsCli, AnArrayThatIsLongEnoughIsNotLeft) {
  const auto r = judged();
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
}

// Behind it lies a gap, or one that is filled later: all sums are right.
TEST_F(SharedBoundsCli, OneThatIsTooShortIsLeftByAWrite) {
  auto r = judged("xs[T + KM - 1]", "xs[T + KM - 2]");
  EXPECT_EQ(r.code, 1) << r.out;
  const std::string words =
      "writes element 34 of xs, which has 34 of 4 bytes each, at tile.cu:10, thread 2 of block 0: a GPU overwrites "
      "whatever lies there";
  EXPECT_TRUE(holds(r.out, "✗ memory       " + words)) << r.out;
  EXPECT_TRUE(holds(r.out, "wrong: " + words + "\n")) << "the sums are not to blame\n" << r.out;
  EXPECT_FALSE(holds(r.out, "Why: ")) << r.out;
  const auto verdict = judged("xs[T + KM - 1]", "xs[T + KM - 2]", "4", {"--json"}).document()["verdict"];
  EXPECT_EQ(verdict["cause_reason"], "its sums are right: no term of its index is to blame");
  r = judged("xs[T + KM - 1]", "xs[T + KM - 2]", "3");
  EXPECT_EQ(r.code, 0) << "of three taps it is long enough\n" << r.out;
}

TEST_F(SharedBoundsCli, AGpusCompilerTakesSoManyBytes) {
  // 140 and 16 bytes are there already.
  auto with = [&](int more) {
    return judged("  float sum = 0;\n", "  __shared__ float rest[" + std::to_string(more) +
                                            "];\n  rest[t] = 0;\n"
                                            "  float sum = rest[t];\n");
  };
  auto r = with((49152 - 156) / 4);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (int again = 0; again < 2; again++) {
    r = with((49152 - 156) / 4 + 1);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(holds(r.out,
                      "tile.cu: up<32, 4> declares 49156 bytes of __shared__ memory; a GPU's compiler takes up to "
                      "49152: more must be dynamic"))
        << r.out << r.err;
  }
}

TEST_F(SharedBoundsCli, ItIsLeftByReadsToo) {
  auto r = judged("sum += xs[t + K - 1 - k]", "sum += xs[t + K - 2 - k]");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out,
                    "reads element -1 of xs, which has 35 of 4 bytes each, at tile.cu:15, thread 0 of block 0: a "
                    "GPU gives it whatever lies there"))
      << r.out;
}

TEST_F(SharedBoundsCli, DynamicSharedMemoryHasAnEndAsWell) {
  const std::string declared = "__shared__ float xs[T + KM - 1];", dynamic = "extern __shared__ float xs[];";
  EXPECT_EQ(judged(declared, dynamic).code, 0);
  std::string text = tile;
  text.replace(text.find(declared), declared.size(), dynamic);
  auto shorter = [&](const std::string& from, const std::string& to) {
    return run(Words{"run", changed_text(text, from, to, "tile.cu"), "--kernel-size", "4", "--length", "70"});
  };
  auto r = shorter("32 + K - 1;", "32 + K - 2;");
  EXPECT_EQ(r.code, 4) << r.out;
  EXPECT_TRUE(holds(r.out,
                    "0 bytes behind their end; it writes element 34 of its dynamic shared memory, which has 34 of "
                    "4 bytes each, at tile.cu:10, thread 2 of block 0"))
      << r.out;
  r = shorter("sum += xs[t + K - 1 - k] * ws[k];", "sum += xs[t + K - k] * ws[k];");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(
      holds(r.out, "reads element 35 of its dynamic shared memory, which has 35 of 4 bytes each, at tile.cu:15"))
      << r.out;
}

// Tensors lie between red zones; what is read there and used makes results NaN. The line is told in any case.
TEST_F(SharedBoundsCli, TensorsAreNotLeftEither) {
  auto r = judged("from >= 0 && from < L ?", "from >= 0 ?");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "reads element 210 of x, which has 210, at tile.cu:10, thread ")) << r.out;
  r = judged("  if (j < Lout) y[", "  y[");
  EXPECT_TRUE(holds(r.out, "writes outside y: ")) << r.out;
  EXPECT_TRUE(holds(r.out, "; it writes element 142 of y, which has 142, at tile.cu:17, thread ")) << r.out;
  // Of no use: the sums are right.
  r = judged("  float sum = 0;\n", "  float sum = 0;\n  if (x[Cin * L + 3] == 1.25f) return;\n");
  EXPECT_TRUE(holds(r.out,
                    "wrong: reads element 213 of x, which has 210, at tile.cu:6, thread 0 of block 0: a GPU may "
                    "end the launch there\n"))
      << r.out;
}

// Outside of functions, as well as in them; what is meant is each thread's own block's.
TEST_F(SharedBoundsCli, DynamicSharedMemoryIsDeclaredOutsideOfFunctionsToo) {
  std::string text = tile;
  auto change = [&](const std::string& from, const std::string& to) { text.replace(text.find(from), from.size(), to); };
  change("template <int T, int KM>",
         "extern __shared__ __align__(16) unsigned char raw[];\n"
         "__device__ float* tile_of(unsigned char* raw) { return (float*)raw; }\n"
         "__device__ float* first() { return reinterpret_cast<float*>(raw); }\n"
         "template <int T, int KM>");
  change("__shared__ float xs[T + KM - 1];", "float* xs = tile_of(raw); if (xs != first()) return;");
  const auto r = run(Words{"run", file("tile.cu", text), "--kernel-size", "4", "--length", "70"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
}

// A driver of fakes launches nothing; where arrays are left is found by the emulator.
TEST_F(SharedBoundsCli, OnAGpuItIsLookedForAsWell) {
  if (!test::has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  if (!test::has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  auto on_gpu = [&](const std::string& to) {
    return run(Words{"run", changed_text(tile, "xs[T + KM - 1]", to, "tile.cu"), "--device", "cuda", "--kernel-size",
                     "4", "--length", "70"},
               test::fake_gpu());
  };
  const std::string words =
      "memory       writes element 34 of xs, which has 34 of 4 bytes each, at tile.cu:10, thread 2 of "
      "block 0: a GPU overwrites whatever lies there (found by the emulator, on 1 × 1→1, K 4, L 70";
  auto r = on_gpu("xs[T + KM - 2]");
  EXPECT_TRUE(holds(r.out, words)) << r.out;
  r = on_gpu("xs[T + KM]");
  EXPECT_FALSE(holds(r.out, "writes element")) << r.out;
}

}  // namespace
}  // namespace convscope
