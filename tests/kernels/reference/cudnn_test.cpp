// cuDNN on a GPU against the definition. Every test is skipped, with the reason, where there is no GPU or no cuDNN.
#include "kernels/reference/cudnn.h"

#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

#include "kernels/runtime/registry.h"
#include "tests/kernels/reference/reference_run.h"
#include "tests/support.h"

namespace convscope {
namespace {

using namespace convscope::test;

ConvProblem problem(int64_t n, int64_t cin, int64_t cout, int64_t k, int64_t l, int64_t s, int64_t p, int64_t op,
                    int64_t d, int64_t g, bool bias, DType dtype = DType::f32) {
  return {n, cin, cout, k, l, s, p, op, d, g, bias, dtype};
}

// Products of two rounded factors: twice 2^-10 (a factor may be cut to 11 bits), and something for the sums.
constexpr double tf32_bound = 2.2e-3;

class CudnnTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (cuda_devices(why_none).empty()) return;
    device = open_cuda(0);
    strict = make_cudnn(*device, false);
    tf32 = make_cudnn(*device, true);
    if (why_none.empty()) why_none = strict->unavailable();
  }
  static void TearDownTestSuite() {
    strict.reset();
    tf32.reset();
    device.reset();
  }
  void SetUp() override {
    if (!why_none.empty() || !device) GTEST_SKIP() << (why_none.empty() ? "no GPU" : why_none);
  }

  // Runs p and compares; false, with the reason counted, when cuDNN does not take it.
  bool agrees(Reference& reference, const ConvProblem& p) {
    SCOPED_TRACE(reference.name() + ": " + describe(p));
    EXPECT_FALSE(check(p)) << check(p)->what();
    if (auto why = reference.unsupported(p); !why.empty()) {
      refused_[why]++;
      EXPECT_THROW(reference.run(p, {}, nullptr), InputError);
      return false;
    }
    Tensors t = random_tensors(random_, p);
    DeviceTensors on(*device, p, t);
    reference.run(p, on.at(), nullptr);
    EXPECT_EQ(on.damage(), "") << reference.what_ran();
    Expected e = expected_result(p, t);
    std::string ran = reference.what_ran();
    bool transforms = ran.find("FFT") != std::string::npos || ran.find("WINOGRAD") != std::string::npos;
    if (reference.may_use_tf32()) {
      EXPECT_LE(worst_error(p, t, e, on.y()), tf32_bound) << ran;
    } else if (transforms) {
      EXPECT_LE(worst_error(p, t, e, on.y()), 1e-4) << ran;
    } else {
      EXPECT_EQ(first_wrong(p, t, e, on.y()), "") << ran;  // a sum in any order, in full precision
    }
    ran_[reference.name() + " " + ran]++;
    return true;
  }

  void TearDown() override {
    std::string text;
    for (auto& [what, count] : ran_) text += fmt::format("  {} × {}\n", count, what);
    for (auto& [what, count] : refused_) text += fmt::format("  refused {} × {}\n", count, what);
    if (!text.empty()) std::printf("%s", text.c_str());
  }

  static inline std::string why_none;
  static inline std::unique_ptr<Device> device;
  static inline std::unique_ptr<Reference> strict, tf32;
  Random random_{11};
  std::map<std::string, int> ran_, refused_;
};

TEST_F(CudnnTest, SaysWhatItIs) {
  EXPECT_TRUE(strict->version().starts_with("9.")) << strict->version();
  EXPECT_EQ(strict->name(), "cudnn");
  EXPECT_EQ(tf32->name(), "cudnn-tf32");
  EXPECT_FALSE(strict->may_use_tf32());
  EXPECT_TRUE(tf32->may_use_tf32());
  EXPECT_EQ(tf32->unavailable(), "");
}

TEST_F(CudnnTest, RandomProblemsAgreeWithTheDefinition) {
  int ran = 0, tried = 0;
  for (; tried < 120; tried++) ran += agrees(*strict, random_problem(random_));
  // What cuDNN refuses differs between its versions; it must take most, and say of the others why not.
  EXPECT_GE(ran, tried / 2);
  for (auto& [why, count] : refused_) EXPECT_GE(why.size(), 20u) << why;
}

TEST_F(CudnnTest, RandomProblemsAgreeInTf32) {
  int ran = 0, tried = 0;
  Ranges wide;
  wide.channels_per_group = 40;
  for (; tried < 60; tried++) {
    ConvProblem p = random_problem(random_, wide);
    p.dtype = DType::f32;
    ran += agrees(*tf32, p);
  }
  EXPECT_GE(ran, tried / 2);
}

TEST_F(CudnnTest, Corners) {
  for (DType dtype : {DType::f32, DType::f64})
    for (bool bias : {false, true}) {
      EXPECT_TRUE(agrees(*strict, problem(1, 1, 1, 1, 1, 1, 0, 0, 1, 1, bias, dtype)));      // everything 1
      EXPECT_TRUE(agrees(*strict, problem(2, 5, 3, 1, 20, 1, 0, 0, 1, 1, bias, dtype)));     // K 1
      EXPECT_TRUE(agrees(*strict, problem(2, 5, 3, 4, 1, 2, 1, 0, 1, 1, bias, dtype)));      // L 1
      EXPECT_TRUE(agrees(*strict, problem(2, 5, 3, 2, 20, 5, 0, 0, 1, 1, bias, dtype)));     // s > K: structural zeros
      EXPECT_TRUE(agrees(*strict, problem(2, 5, 3, 3, 20, 4, 1, 3, 1, 1, bias, dtype)));     // op > p, below s
      EXPECT_TRUE(agrees(*strict, problem(1, 16, 16, 3, 50, 2, 1, 0, 2, 1, bias, dtype)));   // gcd(s, d) > 1
      EXPECT_TRUE(agrees(*strict, problem(2, 64, 32, 16, 40, 8, 4, 0, 1, 1, bias, dtype)));  // upsampler of a vocoder
      EXPECT_TRUE(agrees(*strict, problem(2, 32, 64, 3, 100, 1, 0, 0, 3, 1, bias, dtype)));
    }
  for (bool bias : {false, true}) {
    agrees(*strict, problem(2, 48, 48, 4, 30, 2, 1, 0, 1, 48, bias));    // depthwise
    agrees(*strict, problem(2, 6, 12, 4, 30, 2, 1, 1, 1, 3, bias));      // groups, Cin ≠ Cout
    agrees(*tf32, problem(2, 64, 64, 4, 300, 2, 1, 0, 1, 4, bias));      // groups on tensor cores
    agrees(*strict, problem(1, 2, 2, 5, 4, 1, 5, 0, 2, 1, bias));        // p > d·(K − 1)/2
    agrees(*strict, problem(1, 2, 2, 300, 10, 3, 4, 0, 1, 1, bias));     // K > L
    agrees(*strict, problem(1, 2, 2, 3, 10, 1, 0, 0, 1000, 1, bias));    // d > L
    agrees(*strict, problem(4, 128, 64, 25, 16, 4, 11, 1, 1, 1, bias));  // a layer of WaveGAN
  }
}

TEST_F(CudnnTest, SixteenBits) {
  int ran = 0, tried = 0;
  for (; tried < 60; tried++) {
    ConvProblem p = random_problem(random_, {.channels_per_group = 40, .halves = true});
    p.bias = false;  // with one, y is rounded twice
    ran += agrees(*strict, p);
  }
  EXPECT_GE(ran, tried / 4);
  for (DType t : {DType::f16, DType::bf16}) {
    EXPECT_TRUE(agrees(*strict, problem(2, 64, 32, 16, 40, 8, 4, 0, 1, 1, false, t)));
    EXPECT_TRUE(agrees(*strict, problem(2, 32, 64, 3, 100, 1, 0, 0, 3, 1, false, t)));
    agrees(*strict, problem(1, 16, 16, 3, 50, 1, 2, 2, 3, 1, false, t));  // by the graph
    EXPECT_NE(tf32->unsupported(problem(2, 5, 3, 1, 20, 1, 0, 0, 1, 1, false, t)), "");
    auto p = problem(2, 64, 32, 16, 40, 8, 4, 0, 1, 1, true, t);
    Tensors tensors = random_tensors(random_, p);
    DeviceTensors on(*device, p, tensors);
    strict->run(p, on.at(), nullptr);
    EXPECT_LE(worst_error(p, tensors, expected_result(p, tensors), on.y()), 2.1 * traits(t).unit_roundoff);
    EXPECT_NE(strict->what_ran().find("rounded twice"), std::string::npos) << strict->what_ran();
  }
}

// cuDNN's legacy call derives L from Lout and cannot say these; its graph API can, up to op = p.
TEST_F(CudnnTest, OutputPaddingBeyondStrideTakesTheGraph) {
  for (auto [s, p, op, d] : {std::array<int64_t, 4>{1, 2, 2, 3}, {2, 4, 3, 5}, {1, 1, 1, 2}, {3, 6, 5, 6}})
    for (Reference* reference : {strict.get(), tf32.get()})
      for (bool bias : {false, true}) {
        bool taken = agrees(*reference, problem(2, 16, 8, 5, 40, s, p, op, d, 1, bias));
        EXPECT_TRUE(!taken || reference->what_ran().find("graph engine") != std::string::npos) << reference->what_ran();
      }
  auto q = problem(1, 8, 8, 3, 40, 1, 0, 1, 4, 1, false);  // op 1 > p 0
  EXPECT_NE(strict->unsupported(q).find("padding = 0"), std::string::npos) << strict->unsupported(q);
}

// 1 + 2^-12 has no room in TF32: exact results show that tensor cores stayed away.
TEST_F(CudnnTest, StrictKeepsAllBits) {
  for (auto p : {problem(4, 64, 64, 4, 1000, 2, 1, 0, 1, 1, false), problem(4, 128, 128, 3, 1000, 1, 0, 0, 1, 1, false),
                 problem(2, 64, 64, 3, 500, 1, 2, 2, 3, 1, false)}) {
    SCOPED_TRACE(describe(p));
    auto filled = [](std::vector<int64_t> shape, float value) {
      return make_tensor(DType::f32, std::move(shape), [&](auto* out, int64_t n) { std::fill(out, out + n, value); });
    };
    Tensors t{filled({p.batch, p.in_channels, p.length}, 1 + 0x1p-12f),
              filled({p.in_channels, p.out_per_group(), p.kernel_size}, 1), filled({0}, 0)};
    auto wrong = [&](Reference& reference) {
      if (auto why = reference.unsupported(p); !why.empty()) {
        std::printf("  %s: %s\n", reference.name().c_str(), why.c_str());
        return std::pair{int64_t{0}, int64_t{1}};
      }
      DeviceTensors on(*device, p, t);
      reference.run(p, on.at(), nullptr);
      HostTensor y = on.y();
      int64_t count = 0;
      // Terms of an output are equal, so it is their number times 1 + 2^-12, exact in float32 up to 4096 terms.
      for (int64_t e = 0; e < y.elements(); e++) {
        double terms = std::round(y.at(e) / (1 + 0x1p-12));
        count += y.at(e) != terms * (1 + 0x1p-12) || terms < 1;
      }
      return std::pair{count, y.elements()};
    };
    EXPECT_EQ(wrong(*strict).first, 0) << strict->what_ran();
    auto [rounded, all] = wrong(*tf32);
    std::printf("  %s: TF32 shows in %.1f %% of the outputs (%s)\n", describe(p).c_str(),
                100.0 * static_cast<double>(rounded) / static_cast<double>(all), tf32->what_ran().c_str());
  }
}

TEST_F(CudnnTest, RefusalsAreSentences) {
  auto p = problem(1, 4, 4, 3, 10, 1, 0, 0, 1, 1, false, DType::f64);
  EXPECT_NE(tf32->unsupported(p).find("TF32 stands in for f32 only"), std::string::npos) << tf32->unsupported(p);
  p = problem(int64_t{1} << 20, 64, 64, 3, 64, 1, 0, 0, 1, 1, false);
  EXPECT_FALSE(check(p));
  EXPECT_NE(strict->unsupported(p).find("32 bits"), std::string::npos) << strict->unsupported(p);
  p = problem(1, 1, 1, 3, 1, 1, max_parameter, 0, max_parameter, 1, false);
  EXPECT_NE(strict->unsupported(p).find("32 bits"), std::string::npos) << strict->unsupported(p);
  p.groups = 2;
  EXPECT_NE(strict->unsupported(p).find("groups"), std::string::npos) << strict->unsupported(p);
  EXPECT_THROW(strict->run(p, {}, nullptr), InputError);
  p = problem(1, 4, 4, 3, 10, 1, 0, 0, 1, 1, false);
  DeviceTensors on(*device, p, random_tensors(random_, p));
  Bindings at = on.at();
  at.y += 4;
  EXPECT_THROW(strict->run(p, at, nullptr), DeviceError);
  EXPECT_TRUE(agrees(*strict, p));  // and the GPU is none the worse
}

// Sizes at the edge of what cuDNN can say: it may refuse, with a sentence, but nothing may break.
TEST_F(CudnnTest, StrangeProblemsDoNotBreakIt) {
  for (auto p :
       {problem(1, 1, 1, 100000, 2, 1, 0, 0, 1, 1, false), problem(1, 1, 1, 2, 2, 1000000, 0, 0, 1, 1, false),
        problem(1, 1, 1, 3, 2, 1, 0, 0, 1000000, 1, false), problem(1, 1, 1, 3, 2, 1, 999000, 0, 1000000, 1, false),
        problem(70000, 1, 1, 3, 2, 2, 0, 0, 1, 1, true), problem(1, 70000, 1, 1, 2, 1, 0, 0, 1, 1, true),
        problem(1, 70000, 70000, 1, 2, 1, 0, 0, 1, 70000, true), problem(1, 1, 1, 2, 10, 3, 5, 0, 1, 1, false)}) {
    SCOPED_TRACE(describe(p));
    ASSERT_FALSE(check(p)) << check(p)->what();
    for (Reference* reference : {strict.get(), tf32.get()}) try {
        agrees(*reference, p);
      } catch (const DeviceError& e) {
        EXPECT_FALSE(e.poisoned()) << e.what();
        std::printf("  %s, %s: %s\n", reference->name().c_str(), describe(p).c_str(), e.what());
      }
  }
  EXPECT_TRUE(agrees(*strict, problem(1, 4, 4, 3, 10, 1, 0, 0, 1, 1, false)));
}

TEST_F(CudnnTest, TimesTheSameComputation) {
  auto p = problem(4, 64, 64, 4, 200, 2, 1, 0, 1, 1, true);
  Tensors t = random_tensors(random_, p);
  Expected e = expected_result(p, t);
  for (Reference* reference : {strict.get(), tf32.get()}) {
    DeviceTensors on(*device, p, t);
    for (bool cold : {false, true}) {
      Timing timing = reference->time(p, on.at(), cold, {.min_samples = 5, .max_samples = 20}, nullptr);
      EXPECT_GE(timing.samples_ms.size(), 5u);
      EXPECT_GT(timing.min_ms(), 1e-4);
      EXPECT_LT(timing.median_ms(), 100);
      EXPECT_FALSE(timing.emulated);
    }
    EXPECT_NE(reference->what_ran(), "");
    EXPECT_LE(worst_error(p, t, e, on.y()), reference->may_use_tf32() ? tf32_bound : 1e-5);
    EXPECT_EQ(on.damage(), "");
  }
}

TEST_F(CudnnTest, SeesNewValuesAtNewAddresses) {
  for (auto p : {problem(1, 16, 16, 3, 64, 1, 1, 0, 1, 1, true), problem(1, 16, 16, 3, 64, 1, 2, 2, 3, 1, true)})
    for (int turn = 0; turn < 3; turn++) agrees(*strict, p);
}

TEST_F(CudnnTest, GoesBackAndForthBetweenProblems) {
  auto a = problem(2, 16, 16, 3, 64, 1, 1, 0, 1, 1, false),
       b = problem(1, 8, 24, 8, 100, 4, 2, 0, 1, 1, true, DType::f64);
  for (int turn = 0; turn < 3; turn++) {
    EXPECT_TRUE(agrees(*strict, a));
    EXPECT_EQ(strict->unsupported(b), "");  // asking for another problem in between changes nothing
    EXPECT_TRUE(agrees(*strict, a));
    EXPECT_TRUE(agrees(*strict, b));
  }
}

// Both live in the primary context and on one stream.
TEST_F(CudnnTest, SharesTheGpuWithOurKernels) {
  auto p = problem(2, 8, 8, 4, 200, 2, 1, 0, 1, 1, false);
  Tensors t = random_tensors(random_, p);
  Expected e = expected_result(p, t);
  const KernelDefinition& kernel = find_kernel("polyphase");
  Plan plan = kernel.plan_for(p);
  for (int turn = 0; turn < 3; turn++) {
    DeviceTensors ours(*device, p, t), theirs(*device, p, t);
    Bindings at = ours.at();
    auto workspace = plan.workspace_bytes() ? device->allocate(plan.workspace_bytes()) : nullptr;
    if (workspace) at.workspace = workspace->address();
    device->run(kernel, plan, at, {});
    strict->run(p, theirs.at(), nullptr);
    EXPECT_EQ(first_wrong(p, t, e, ours.y()), "");
    EXPECT_EQ(first_wrong(p, t, e, theirs.y()), "");
  }
}

TEST_F(CudnnTest, CancelsBeforeItComputes) {
  auto p = problem(1, 2, 2, 3, 33, 1, 0, 0, 1, 1, false);
  Activity activity;
  activity.cancel();
  DeviceTensors on(*device, p, random_tensors(random_, p));
  EXPECT_THROW(strict->run(p, on.at(), &activity), Cancelled);
  EXPECT_TRUE(agrees(*strict, p));
}

}  // namespace
}  // namespace convscope
