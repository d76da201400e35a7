// oneDNN against the definition, over random legal problems and the corners of every parameter.
#include "kernels/reference/onednn.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

#include "tests/kernels/reference/reference_run.h"
#include "tests/support.h"

namespace convscope {
namespace {

using namespace convscope::test;

ConvProblem problem(int64_t n, int64_t cin, int64_t cout, int64_t k, int64_t l, int64_t s, int64_t p, int64_t op,
                    int64_t d, int64_t g, bool bias) {
  return {n, cin, cout, k, l, s, p, op, d, g, bias, DType::f32};
}

class OneDnnTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto why = reference_->unavailable(); !why.empty()) GTEST_SKIP() << why;
  }

  // Runs p and compares; false, with the reason counted, when oneDNN does not take it.
  bool agrees(const ConvProblem& p) {
    SCOPED_TRACE(describe(p));
    EXPECT_FALSE(check(p)) << check(p)->what();
    if (auto why = reference_->unsupported(p); !why.empty()) {
      refused_[why.substr(0, why.find(" below"))]++;
      EXPECT_THROW(reference_->run(p, {}, nullptr), InputError);
      return false;
    }
    Tensors t = random_tensors(random_, p);
    DeviceTensors on(*device_, p, t);
    reference_->run(p, on.at(), nullptr);
    EXPECT_EQ(on.damage(), "") << reference_->what_ran();
    // The bound of a sum in any order; far below 1e-4 of Σ|x·w| for all problems here.
    EXPECT_EQ(first_wrong(p, t, expected_result(p, t), on.y()), "") << reference_->what_ran();
    auto ran = reference_->what_ran();
    ran_[ran.substr(0, ran.find(','))]++;
    return true;
  }

  std::unique_ptr<Device> device_ = open_emulator();
  std::unique_ptr<Reference> reference_ = make_onednn();
  Random random_{7};
  std::map<std::string, int> refused_, ran_;
};

TEST_F(OneDnnTest, SaysWhatItIs) {
  EXPECT_EQ(reference_->name(), "onednn");
  EXPECT_TRUE(reference_->version().starts_with("2.")) << reference_->version();
  EXPECT_FALSE(reference_->may_use_tf32());
  EXPECT_EQ(reference_->what_ran(), "");
}

TEST_F(OneDnnTest, RandomProblemsAgreeWithTheDefinition) {
  int ran = 0, asymmetric = 0, depthwise = 0, sparse = 0, grouped = 0, biased = 0, dilated = 0, beyond = 0, blocked = 0;
  Ranges wide;
  wide.channels_per_group = 40;
  for (int tried = 0; ran < 300 && tried < 1000; tried++) {
    ConvProblem p = tried % 3 ? random_problem(random_) : random_problem(random_, wide);
    p.dtype = DType::f32;
    if (!agrees(p)) continue;
    ran++;
    asymmetric += p.output_padding > 0;
    beyond += p.output_padding > p.padding;
    depthwise += p.groups > 1 && p.in_per_group() == 1 && p.out_per_group() == 1;
    grouped += p.groups > 1;
    sparse += p.stride > p.kernel_size;
    biased += p.bias;
    dilated += p.dilation > 1;
    blocked += reference_->what_ran().find("reordered") != std::string::npos;
  }
  EXPECT_EQ(ran, 300);
  for (int hit : {asymmetric, depthwise, sparse, grouped, biased, dilated, beyond}) EXPECT_GE(hit, 5);
  std::string text;
  for (auto& [what, count] : ran_) text += fmt::format("{} × {}; ", count, what);
  for (auto& [what, count] : refused_) text += fmt::format("refused {} × {}; ", count, what);
  RecordProperty("summary", text + fmt::format("reordered {}", blocked));
}

TEST_F(OneDnnTest, Corners) {
  for (bool bias : {false, true}) {
    EXPECT_TRUE(agrees(problem(1, 1, 1, 1, 1, 1, 0, 0, 1, 1, bias)));      // everything 1
    EXPECT_TRUE(agrees(problem(2, 5, 3, 1, 20, 1, 0, 0, 1, 1, bias)));     // K 1
    EXPECT_TRUE(agrees(problem(2, 5, 3, 4, 1, 2, 1, 0, 1, 1, bias)));      // L 1
    EXPECT_TRUE(agrees(problem(2, 5, 3, 2, 20, 5, 0, 0, 1, 1, bias)));     // s > K: structural zeros
    EXPECT_TRUE(agrees(problem(2, 5, 3, 3, 20, 4, 1, 3, 1, 1, bias)));     // op > p
    EXPECT_TRUE(agrees(problem(1, 5, 3, 3, 20, 2, 2, 2, 3, 1, bias)));     // op = s
    EXPECT_TRUE(agrees(problem(1, 16, 16, 3, 50, 2, 1, 0, 2, 1, bias)));   // gcd(s, d) > 1
    EXPECT_TRUE(agrees(problem(2, 64, 32, 16, 40, 8, 4, 0, 1, 1, bias)));  // upsampler of a vocoder
    EXPECT_TRUE(agrees(problem(2, 32, 64, 3, 100, 1, 0, 0, 3, 1, bias)));  // channels fill blocks
    EXPECT_TRUE(agrees(problem(2, 48, 48, 4, 30, 2, 1, 0, 1, 48, bias)));  // depthwise
    EXPECT_TRUE(agrees(problem(2, 6, 12, 4, 30, 2, 1, 1, 1, 3, bias)));    // groups, Cin ≠ Cout
    EXPECT_TRUE(agrees(problem(1, 2, 2, 5, 4, 1, 5, 0, 2, 1, bias)));      // p > d·(K − 1)/2
    EXPECT_TRUE(agrees(problem(1, 2, 2, 300, 10, 3, 4, 0, 1, 1, bias)));   // K > L
    EXPECT_TRUE(agrees(problem(1, 2, 2, 3, 10, 1, 0, 0, 1000, 1, bias)));  // d > L
  }
}

// So much work that nothing is tried first. All ones: an output is the number of its terms.
TEST_F(OneDnnTest, LargeProblemCountsItsTerms) {
  auto p = problem(1, 128, 128, 3, 12000, 1, 0, 0, 1, 1, false);
  auto ones = [](std::vector<int64_t> shape) {
    return make_tensor(DType::f32, std::move(shape), [](auto* out, int64_t n) { std::fill(out, out + n, 1); });
  };
  DeviceTensors on(*device_, p, {ones({1, 128, 12000}), ones({128, 128, 3}), ones({0})});
  reference_->run(p, on.at(), nullptr);
  EXPECT_EQ(on.damage(), "");
  HostTensor y = on.y();
  int64_t wrong = 0;
  for (int64_t e = 0; e < y.elements(); e++) {
    int64_t j = e % p.out_length(), taps = std::min<int64_t>({3, j + 1, p.out_length() - j});
    wrong += y.at(e) != static_cast<double>(128 * taps);
  }
  EXPECT_EQ(wrong, 0) << reference_->what_ran();
}

TEST_F(OneDnnTest, RefusalsAreSentences) {
  auto p = problem(1, 2, 2, 3, 10, 1, 0, 1, 3, 1, false);  // op 1 = p 0 + s 1
  EXPECT_NE(reference_->unsupported(p).find("output_padding only below padding + stride = 1"), std::string::npos)
      << reference_->unsupported(p);
  p = problem(1, 2, 2, 3, 10, 1, 0, 0, 1, 1, false);
  p.dtype = DType::f64;
  EXPECT_NE(reference_->unsupported(p).find("only f32"), std::string::npos) << reference_->unsupported(p);
  p = problem(1, 1, 1, 3, 1, 1, max_parameter, 0, max_parameter, 1, false);  // legal: Lout is 1
  EXPECT_FALSE(check(p));
  EXPECT_NE(reference_->unsupported(p).find("32 bits"), std::string::npos) << reference_->unsupported(p);
  p.groups = 2;
  EXPECT_NE(reference_->unsupported(p).find("groups"), std::string::npos) << reference_->unsupported(p);
}

// bf16 by its own kernels where the processor has them, else like f16: in f32, and rounded once.
TEST_F(OneDnnTest, SixteenBitsAgreeWithTheDefinition) {
  for (DType t : {DType::f16, DType::bf16}) {
    int taken = 0;
    for (int i = 0; i < 40; i++) {
      auto p = random_problem(random_, {.halves = true});
      p.dtype = t;
      if (p.bias && t == DType::bf16) p.bias = i % 2;
      taken += agrees(p);
      if (HasFailure()) return;
      std::string ran = reference_->what_ran();
      if (t == DType::f16 && taken) {
        EXPECT_NE(ran.find("in f32 from widened f16, rounded once"), std::string::npos) << ran;
      }
    }
    EXPECT_GE(taken, 20) << name_of(t);
  }
  auto p = problem(2, 32, 32, 4, 500, 2, 1, 0, 1, 1, true);
  for (DType t : {DType::f16, DType::bf16}) {
    p.dtype = t;
    EXPECT_TRUE(agrees(p));
    EXPECT_NE(reference_->what_ran(), "");
  }
}

TEST_F(OneDnnTest, TimesTheSameComputation) {
  auto p = problem(1, 32, 32, 4, 500, 2, 1, 0, 1, 1, true);
  Tensors t = random_tensors(random_, p);
  DeviceTensors on(*device_, p, t);
  Timing timing = reference_->time(p, on.at(), false, {.min_samples = 5, .max_samples = 5}, nullptr);
  EXPECT_EQ(timing.samples_ms.size(), 5u);
  EXPECT_GT(timing.min_ms(), 0);
  EXPECT_TRUE(timing.emulated);
  EXPECT_EQ(first_wrong(p, t, expected_result(p, t), on.y()), "");
  EXPECT_TRUE(reference_->time(p, on.at(), true, {}, nullptr).empty());
  EXPECT_NE(reference_->what_ran(), "");
}

TEST_F(OneDnnTest, SeesNewValuesAtNewAddresses) {
  auto p = problem(1, 16, 16, 3, 64, 1, 1, 0, 1, 1, true);
  for (int turn = 0; turn < 3; turn++) {
    Tensors t = random_tensors(random_, p);
    DeviceTensors on(*device_, p, t);
    reference_->run(p, on.at(), nullptr);
    EXPECT_EQ(first_wrong(p, t, expected_result(p, t), on.y()), "");
  }
}

TEST_F(OneDnnTest, CancelsBeforeItComputes) {
  auto p = problem(1, 2, 2, 3, 10, 1, 0, 0, 1, 1, false);
  Activity activity;
  activity.cancel();
  DeviceTensors on(*device_, p, random_tensors(random_, p));
  EXPECT_THROW(reference_->run(p, on.at(), &activity), Cancelled);
  EXPECT_TRUE(std::isnan(on.y().at(0)));
}

}  // namespace
}  // namespace convscope
