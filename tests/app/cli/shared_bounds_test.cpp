// Kernel files that leave an array of shared memory: the next one lies behind it, or nothing that matters, and what
// comes out may be right.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

// A tile of x with its halo, and the weights of a channel. Line 4 declares them, 11 fills, 16 reads. Compiling a file
// takes longest: this one has all faults, and the number of sequences picks one. 1 has none, nor has 6, whose tile is
// dynamic shared memory.
constexpr const char* tile = R"(#include <torch/extension.h>
enum Fault { none = 1, short_tile, reads_before_it, beyond_x, beyond_y, dynamic_tile, short_dynamic, reads_behind_it, of_no_use };
template <int T, int KM, int F> __global__ void up(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int p) {
  __shared__ float fixed[T + KM - 1 - (F == short_tile)]; __shared__ float ws[KM]; extern __shared__ float dynamic[];
  const int t = threadIdx.x, j = blockIdx.x * T + t, co = blockIdx.y, n = blockIdx.z;
  float sum = 0; float* const xs = F >= dynamic_tile && F <= reads_behind_it ? dynamic : fixed;
  if (F == of_no_use && x[Cin * L * gridDim.z + 3] == 1.25f) return;
  for (int ci = 0; ci < Cin; ci++) {
    __syncthreads();
    for (int i = t, from; i < T + K - 1; i += T) from = blockIdx.x * T + i + p - (K - 1),
      xs[i] = from >= 0 && (from < L || F == beyond_x) ? x[(n * Cin + ci) * L + from] : 0;
    if (t < K) ws[t] = w[(ci * Cout + co) * K + t];
    __syncthreads();
    if (j < Lout)
      for (int k = 0; k < K; k++)
        sum += xs[t + K - 1 - k - (F == reads_before_it) + (F == reads_behind_it)] * ws[k];
  }
  if (j < Lout || F == beyond_y)
    y[(n * Cout + co) * Lout + j] = sum;
}
template <int F> void launch(torch::Tensor x, torch::Tensor w, torch::Tensor y, int p) {
  const int K = w.size(2), Lout = y.size(2), dynamic = 32 + K - 1 - (F == short_dynamic);
  up<32, 4, F><<<dim3((Lout + 31) / 32, w.size(1), x.size(0)), 32, 4 * dynamic>>>(x.data_ptr<float>(), w.data_ptr<float>(),
      y.data_ptr<float>(), x.size(1), w.size(1), K, x.size(2), Lout, p);
}
torch::Tensor f(torch::Tensor x, torch::Tensor w, int s, int p, int d) {
  TORCH_CHECK(s == 1 && d == 1 && w.size(2) <= 4);
  auto y = torch::empty({x.size(0), w.size(1), x.size(2) - 1 - 2 * p + w.size(2)}, x.options());
  if (x.size(0) == 1) launch<none>(x, w, y, p);
  if (x.size(0) == 2) launch<short_tile>(x, w, y, p);
  if (x.size(0) == 3) launch<reads_before_it>(x, w, y, p);
  if (x.size(0) == 4) launch<beyond_x>(x, w, y, p);
  if (x.size(0) == 5) launch<beyond_y>(x, w, y, p);
  if (x.size(0) == 6) launch<dynamic_tile>(x, w, y, p);
  if (x.size(0) == 7) launch<short_dynamic>(x, w, y, p);
  if (x.size(0) == 8) launch<reads_behind_it>(x, w, y, p);
  if (x.size(0) == 9) launch<of_no_use>(x, w, y, p);
  return y;
}
)";
enum Fault {
  none = 1,
  short_tile,
  reads_before_it,
  beyond_x,
  beyond_y,
  dynamic_tile,
  short_dynamic,
  reads_behind_it,
  of_no_use
};

class SharedBoundsCli : public OutsideCli {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "no kernel is traced in a ThreadSanitizer build";
#elif !defined(__x86_64__)
    GTEST_SKIP() << "assembly of another architecture is left alone";
#endif
  }
  test::Finished judged(Fault fault, const std::string& taps = "4", const Words& more = {}) {
    return run(more + Words{"run", file("tile.cu", tile), "--batch", std::to_string(fault), "--in-channels", "3",
                            "--out-channels", "2", "--kernel-size", taps, "--length", "70", "--padding", "1",
                            "--samples", "2"});
  }
};

TEST_F(SharedBoundsCli, WhatLeavesAnArrayIsToldWithItsLine) {
  auto r = judged(none);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
  r = judged(dynamic_tile);
  EXPECT_EQ(r.code, 0) << r.out << r.err;

  // Behind it lies a gap, or one that is filled later: all sums are right.
  r = judged(short_tile);
  EXPECT_EQ(r.code, 1) << r.out;
  std::string words =
      "writes element 34 of fixed, which has 34 of 4 bytes each, at tile.cu:11, thread 2 of block 0: a GPU overwrites "
      "whatever lies there";
  EXPECT_TRUE(holds(r.out, "✗ memory       " + words)) << r.out;
  EXPECT_TRUE(holds(r.out, "wrong: " + words + "\n")) << "the sums are not to blame\n" << r.out;
  EXPECT_FALSE(holds(r.out, "Why: ")) << r.out;
  const auto verdict = judged(short_tile, "4", {"--json"}).document()["verdict"];
  EXPECT_EQ(verdict["cause_reason"], "its sums are right: no term of its index is to blame");
  r = judged(short_tile, "3");
  EXPECT_EQ(r.code, 0) << "of three taps it is long enough\n" << r.out;

  r = judged(reads_before_it);
  EXPECT_EQ(r.code, 1) << r.out;
  words =
      "reads element -1 of fixed, which has 35 of 4 bytes each, at tile.cu:16, thread 0 of block 0: a GPU gives it "
      "whatever lies there";
  EXPECT_TRUE(holds(r.out, words)) << r.out;

  r = judged(short_dynamic);
  EXPECT_EQ(r.code, 4) << r.out;
  words =
      "from their end on; it writes element 34 of its dynamic shared memory, which has 34 of 4 bytes each, at "
      "tile.cu:11, thread 2 of block 0";
  EXPECT_TRUE(holds(r.out, words)) << r.out;
  r = judged(reads_behind_it);
  EXPECT_EQ(r.code, 1) << r.out;
  words = "reads element 35 of its dynamic shared memory, which has 35 of 4 bytes each, at tile.cu:16";
  EXPECT_TRUE(holds(r.out, words)) << r.out;

  // Tensors lie between red zones; what is read there and used makes results NaN. The line is told in any case.
  r = judged(beyond_x);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "reads element 840 of x, which has 840, at tile.cu:11, thread ")) << r.out;
  r = judged(beyond_y);
  EXPECT_TRUE(holds(r.out, "writes outside y: ")) << r.out;
  EXPECT_TRUE(holds(r.out, "; it writes element 710 of y, which has 710, at tile.cu:19, thread ")) << r.out;
  r = judged(of_no_use);  // the sums are right
  words =
      "wrong: reads element 1893 of x, which has 1890, at tile.cu:7, thread 0 of block 0: a GPU may end the launch "
      "there\n";
  EXPECT_TRUE(holds(r.out, words)) << r.out;
  EXPECT_EQ(modules(), 2u) << "compiled once";
}

// So far beside it that without room there the engine would end before anything is told.
// A load by __ldg() is where it stands, whether its value is taken or not.
TEST_F(SharedBoundsCli, ALoadWhoseValueIsNotTakenIsALoad) {
  const std::string right = test::text_file(test::project_file("assets/kernels/gather.cu"));
  std::string text = changed_into(right, "if (t < 0 || t % s != 0) continue;", "const bool lands = t % s == 0;");
  text = changed_into(text, "if (i >= L) continue;", "const bool is = lands && t >= 0 && i < L;");
  text = changed_into(text, "sum += x[(static_cast<long long>(n) * Cin + ci) * L + i] *", "sum += (is ? v : 0) *");
  text = changed_into(text, "for (int ci = first; ci < first + in_group; ci++)",
                      "for (int ci = first; ci < first + in_group; ci++) {\n"
                      "const float v = __ldg(&x[(static_cast<long long>(n) * Cin + ci) * L + i]);");
  text = changed_into(text, "* K + k];", "* K + k]; }");
  const auto r = run(Words{"run", file("masked.cu", text)} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, " of x, which has ") && holds(r.out, "at masked.cu:2")) << r.out;
}

TEST_F(SharedBoundsCli, WhatIsWrittenFarBesideAnArraySpoilsNothing) {
  const auto r =
      run(Words{"run", changed("gather.cu", "  float sum = b ? b[co] : 0.0f;",
                               "  __shared__ float part[16];\n  for (int q = 0; q < 1200; q++) part[q] = x[0];\n"
                               "  float sum = (b ? b[co] : 0.0f) + 0 * part[0];")} +
          little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "writes element 16")) << r.out;
  EXPECT_TRUE(holds(r.out, " of part, which has 16 of 4 bytes each, at ")) << r.out;
}

// The compiler knows how many elements it has; what lies behind it is another variable, and results may be right.
TEST_F(SharedBoundsCli, AThreadsOwnArrayIsTold) {
  const std::string here = changed("gather.cu", "  float sum = b ? b[co] : 0.0f;",
                                   "  float own[4];\n  for (int q = 0; q < K; q++) own[q] = w[q];\n"
                                   "  float sum = (b ? b[co] : 0.0f) + (own[K - 1] == 7.5f ? 1 : 0);");
  auto taps = [&](const char* K) { return run({"run", here, "--kernel-size", K, "--length", "20", "--samples", "2"}); };
  auto r = taps("4");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = taps("5");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "reaches element 4 of own, which has 4, at ")) << r.out;
}

TEST_F(SharedBoundsCli, AGpusCompilerTakesSoManyBytes) {
  // 140 and 16 bytes are there already.
  auto with = [&](int more) {
    return run({"run",
                changed_text(tile, "  float sum = 0;",
                             "  __shared__ float rest[" + std::to_string(more) + "]; rest[t] = 0; float sum = rest[t];",
                             "tile.cu"),
                "--kernel-size", "4", "--length", "70", "--samples", "2"});
  };
  auto r = with((49152 - 156) / 4);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (int again = 0; again < 2; again++) {
    r = with((49152 - 156) / 4 + 1);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(holds(r.out,
                      "declares 49156 bytes of __shared__ memory; a GPU's compiler takes up to 49152: more must "
                      "be dynamic"))
        << r.out << r.err;
  }
}

// Outside of functions, as well as in them; what is meant is each thread's own block's.
TEST_F(SharedBoundsCli, DynamicSharedMemoryIsDeclaredOutsideOfFunctionsToo) {
  std::string text = tile;
  auto change = [&](const std::string& from, const std::string& to) { text.replace(text.find(from), from.size(), to); };
  change("template <int T, int KM, int F>",
         "extern __shared__ __align__(16) unsigned char raw[];\n"
         "__device__ float* tile_of(unsigned char* raw) { return (float*)raw; }\n"
         "__device__ float* first() { return reinterpret_cast<float*>(raw); }\n"
         "template <int T, int KM, int F>");
  change("extern __shared__ float dynamic[];", "float* dynamic = tile_of(raw); if (dynamic != first()) return;");
  const auto r = run({"run", file("tile.cu", text), "--batch", "6", "--kernel-size", "4", "--length", "70"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "") << "no warnings";
}

// A driver of fakes launches nothing; where arrays are left is found by the emulator.
TEST_F(SharedBoundsCli, OnAGpuItIsLookedForAsWell) {
  if (!test::has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  if (!test::has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  auto on_gpu = [&](Fault fault) {
    return run({"run", file("tile.cu", tile), "--device", "cuda", "--batch", std::to_string(fault), "--kernel-size",
                "4", "--length", "70"},
               test::fake_gpu());
  };
  auto r = on_gpu(short_tile);
  const std::string words =
      "memory       writes element 34 of fixed, which has 34 of 4 bytes each, at tile.cu:11, thread 2 of "
      "block 0: a GPU overwrites whatever lies there (found by the emulator, on 2 × 1→1, K 4, L 70";
  EXPECT_TRUE(holds(r.out, words)) << r.out;
  r = on_gpu(none);
  EXPECT_FALSE(holds(r.out, "writes element")) << r.out;
}

}  // namespace
}  // namespace convscope
