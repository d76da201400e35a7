// oneDNN against a plain loop in double precision, over random legal problems and the corners of every parameter.
#include "kernels/reference/onednn.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "kernels/reference/reference.h"

namespace convscope {
namespace {

struct Data {
  std::vector<float> x, w, b, y;
  Bindings at() {
    auto address = [](std::vector<float>& v) { return v.empty() ? 0 : reinterpret_cast<uint64_t>(v.data()); };
    return {address(x), address(w), address(b), address(y), 0};
  }
};

constexpr float sentinel = 12345.0f;  // before y and after it, and what y holds before a run
constexpr size_t margin = 64;

Data random_data(const ConvProblem& p, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  auto draw = [&](int64_t n) {
    std::vector<float> v(static_cast<size_t>(n));
    for (auto& e : v) e = uniform(random);
    return v;
  };
  Data d{draw(p.x_elements()), draw(p.w_elements()), draw(p.b_elements()), {}};
  d.y.assign(static_cast<size_t>(p.y_elements()) + 2 * margin, sentinel);
  return d;
}

// The largest |y − exact| / (|b| + Σ|x·w|) over all outputs; infinite where an output without terms is not exactly right.
double worst_error(const ConvProblem& p, const Data& d, const float* y) {
  double worst = 0;
  int64_t in = p.in_per_group(), out = p.out_per_group(), lout = p.out_length();
  std::vector<double> sum(static_cast<size_t>(lout)), reach(static_cast<size_t>(lout));
  for (int64_t n = 0; n < p.batch; n++)
    for (int64_t co = 0; co < p.out_channels; co++) {
      double bias = p.bias ? d.b[static_cast<size_t>(co)] : 0;
      sum.assign(sum.size(), bias);
      reach.assign(reach.size(), std::fabs(bias));
      for (int64_t c = 0; c < in; c++) {
        int64_t ci = co / out * in + c;
        const float* x = &d.x[static_cast<size_t>((n * p.in_channels + ci) * p.length)];
        const float* w = &d.w[static_cast<size_t>((ci * out + co % out) * p.kernel_size)];
        for (int64_t i = 0; i < p.length; i++)
          for (int64_t k = 0; k < p.kernel_size; k++) {
            int64_t j = i * p.stride - p.padding + k * p.dilation;
            if (j < 0 || j >= lout) continue;
            double term = static_cast<double>(x[i]) * w[k];
            sum[static_cast<size_t>(j)] += term;
            reach[static_cast<size_t>(j)] += std::fabs(term);
          }
      }
      const float* row = y + (n * p.out_channels + co) * lout;
      for (size_t j = 0; j < sum.size(); j++) {
        double off = std::fabs(row[j] - sum[j]);
        double error = reach[j] > 0 ? off / reach[j] : off == 0 ? 0 : INFINITY;
        if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
      }
    }
  return worst;
}

class OneDnnTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto why = reference_->unavailable(); !why.empty()) GTEST_SKIP() << why;
  }

  // Runs p and compares; 0 when oneDNN does not take it.
  bool agrees(const ConvProblem& p) {
    SCOPED_TRACE(describe(p));
    EXPECT_FALSE(check(p)) << check(p)->what();
    if (auto why = reference_->unsupported(p); !why.empty()) {
      refused_[why.substr(0, 60)]++;
      EXPECT_THROW(reference_->run(p, {}, nullptr), InputError);
      return false;
    }
    Data d = random_data(p, random_);
    auto x = d.x, w = d.w;
    Bindings at = d.at();
    at.y += margin * sizeof(float);
    reference_->run(p, at, nullptr);
    EXPECT_LE(worst_error(p, d, d.y.data() + margin), 1e-4) << reference_->what_ran();
    EXPECT_TRUE(x == d.x && w == d.w) << "inputs were changed";
    for (size_t e = 0; e < margin; e++) {
      EXPECT_EQ(d.y[e], sentinel) << "written before y";
      EXPECT_EQ(d.y[d.y.size() - 1 - e], sentinel) << "written after y";
    }
    auto ran = reference_->what_ran();
    ran_[ran.substr(0, ran.find(','))]++;
    return true;
  }

  std::unique_ptr<Reference> reference_ = make_onednn();
  std::mt19937 random_{7};
  std::map<std::string, int> refused_, ran_;
};

ConvProblem problem(int64_t n, int64_t cin, int64_t cout, int64_t k, int64_t l, int64_t s, int64_t p, int64_t op, int64_t d,
                    int64_t g, bool bias) {
  return {n, cin, cout, k, l, s, p, op, d, g, bias, DType::f32};
}

TEST_F(OneDnnTest, SaysWhatItIs) {
  EXPECT_EQ(reference_->name(), "onednn");
  EXPECT_TRUE(reference_->version().starts_with("2.")) << reference_->version();
  EXPECT_FALSE(reference_->may_use_tf32());
  EXPECT_EQ(reference_->what_ran(), "");
}

TEST_F(OneDnnTest, RandomProblemsAgreeWithALoop) {
  auto draw = [&](int64_t a, int64_t b) { return std::uniform_int_distribution<int64_t>(a, b)(random_); };
  int ran = 0, asymmetric = 0, depthwise = 0, sparse = 0, grouped = 0, biased = 0, dilated = 0, beyond = 0;
  for (int tried = 0; ran < 200 && tried < 2000; tried++) {
    ConvProblem p;
    p.batch = draw(1, 3);
    p.groups = draw(0, 2) ? 1 : draw(1, 6);
    bool one_each = draw(0, 3) == 0;
    p.in_channels = p.groups * (one_each ? 1 : draw(1, draw(0, 3) ? 7 : 40));
    p.out_channels = p.groups * (one_each ? 1 : draw(1, draw(0, 3) ? 7 : 40));
    p.kernel_size = draw(1, 7);
    p.length = draw(1, draw(0, 1) ? 12 : 150);
    p.stride = draw(1, 5);
    p.dilation = draw(1, 4);
    p.padding = draw(0, 8);
    p.output_padding = draw(0, std::max(p.stride, p.dilation) - 1);
    p.bias = draw(0, 1) == 1;
    if (check(p)) continue;
    if (!agrees(p)) continue;
    ran++;
    asymmetric += p.output_padding > 0;
    beyond += p.output_padding > p.padding;
    depthwise += p.groups > 1 && p.in_per_group() == 1 && p.out_per_group() == 1;
    grouped += p.groups > 1;
    sparse += p.stride > p.kernel_size;
    biased += p.bias;
    dilated += p.dilation > 1;
  }
  EXPECT_EQ(ran, 200);
  for (int hit : {asymmetric, depthwise, sparse, grouped, biased, dilated, beyond}) EXPECT_GE(hit, 10);
  std::string text;
  for (auto& [what, count] : ran_) text += fmt::format("{} × {}; ", count, what);
  for (auto& [what, count] : refused_) text += fmt::format("refused {} × {}; ", count, what);
  RecordProperty("summary", text);
  std::printf("%s\n", text.c_str());
}

TEST_F(OneDnnTest, Corners) {
  for (bool bias : {false, true}) {
    EXPECT_TRUE(agrees(problem(1, 1, 1, 1, 1, 1, 0, 0, 1, 1, bias)));       // everything 1
    EXPECT_TRUE(agrees(problem(2, 5, 3, 1, 20, 1, 0, 0, 1, 1, bias)));      // K 1
    EXPECT_TRUE(agrees(problem(2, 5, 3, 4, 1, 2, 1, 0, 1, 1, bias)));       // L 1
    EXPECT_TRUE(agrees(problem(2, 5, 3, 2, 20, 5, 0, 0, 1, 1, bias)));      // s > K: structural zeros
    EXPECT_TRUE(agrees(problem(2, 5, 3, 3, 20, 4, 1, 3, 1, 1, bias)));      // op > p
    EXPECT_TRUE(agrees(problem(1, 5, 3, 3, 20, 2, 2, 2, 3, 1, bias)));      // op = s
    EXPECT_TRUE(agrees(problem(1, 16, 16, 3, 50, 2, 1, 0, 2, 1, bias)));    // gcd(s, d) > 1
    EXPECT_TRUE(agrees(problem(2, 64, 32, 16, 40, 8, 4, 0, 1, 1, bias)));   // upsampler of a vocoder
    EXPECT_TRUE(agrees(problem(2, 32, 64, 3, 100, 1, 0, 0, 3, 1, bias)));   // blocked layouts
    EXPECT_TRUE(agrees(problem(2, 48, 48, 4, 30, 2, 1, 0, 1, 48, bias)));   // depthwise
    EXPECT_TRUE(agrees(problem(2, 6, 12, 4, 30, 2, 1, 1, 1, 3, bias)));     // groups, Cin ≠ Cout
    EXPECT_TRUE(agrees(problem(1, 2, 2, 5, 4, 1, 5, 0, 2, 1, bias)));       // p > d·(K − 1)/2
    EXPECT_TRUE(agrees(problem(1, 2, 2, 300, 10, 3, 4, 0, 1, 1, bias)));    // K > L
    EXPECT_TRUE(agrees(problem(1, 2, 2, 3, 10, 1, 0, 0, 1000, 1, bias)));   // d > L
  }
}

TEST_F(OneDnnTest, RefusalsAreSentences) {
  auto p = problem(1, 2, 2, 3, 10, 1, 0, 2, 3, 1, false);  // op 2 > p 0 + s 1
  EXPECT_NE(reference_->unsupported(p).find("output_padding"), std::string::npos) << reference_->unsupported(p);
  p = problem(1, 2, 2, 3, 10, 1, 0, 0, 1, 1, false);
  p.dtype = DType::f64;
  EXPECT_NE(reference_->unsupported(p).find("f32"), std::string::npos) << reference_->unsupported(p);
  p = problem(1, 1, 1, 3, 1, 1, max_parameter, 0, max_parameter, 1, false);  // legal: Lout is 1
  EXPECT_FALSE(check(p));
  EXPECT_NE(reference_->unsupported(p).find("32 bits"), std::string::npos) << reference_->unsupported(p);
  p.groups = 2;
  EXPECT_NE(reference_->unsupported(p).find("groups"), std::string::npos) << reference_->unsupported(p);
}

TEST_F(OneDnnTest, TimesTheSameComputation) {
  auto p = problem(1, 32, 32, 4, 500, 2, 1, 0, 1, 1, true);
  Data d = random_data(p, random_);
  Timing t = reference_->time(p, d.at(), false, {.min_samples = 5, .max_samples = 5}, nullptr);
  EXPECT_EQ(t.samples_ms.size(), 5u);
  EXPECT_GT(t.min_ms(), 0);
  EXPECT_TRUE(t.emulated);
  EXPECT_LE(worst_error(p, d, d.y.data()), 1e-4);
  EXPECT_TRUE(reference_->time(p, d.at(), true, {}, nullptr).empty());
  EXPECT_NE(reference_->what_ran(), "");
}

TEST_F(OneDnnTest, NewWeightsAndAddressesAreSeen) {
  auto p = problem(1, 16, 16, 3, 64, 1, 1, 0, 1, 1, false);
  for (int turn = 0; turn < 2; turn++) {
    Data d = random_data(p, random_);
    reference_->run(p, d.at(), nullptr);
    EXPECT_LE(worst_error(p, d, d.y.data()), 1e-4);
    for (auto& v : d.w) v = -v;
    reference_->run(p, d.at(), nullptr);
    EXPECT_LE(worst_error(p, d, d.y.data()), 1e-4);
  }
}

TEST_F(OneDnnTest, CancelsBeforeItComputes) {
  auto p = problem(1, 2, 2, 3, 10, 1, 0, 0, 1, 1, false);
  Data d = random_data(p, random_);
  Activity activity;
  activity.cancel();
  EXPECT_THROW(reference_->run(p, d.at(), &activity), Cancelled);
}

}  // namespace
}  // namespace convscope
