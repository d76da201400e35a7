// Kernels whose sums go through an activation before they are stored: the sources of the ladder compiled once more, as
// an export that asks for one is (tests/CMakeLists.txt). Each against activation(definition); and the kernels without
// it against the same, which must fail.
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>

#include "convscope/activation.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

// The kernels of a module of the tests, for as long as the object lives.
class Activated {
 public:
  explicit Activated(const char* module) {
    auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / module;
    plain_ = all_kernels();
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
    for (const auto* k : all_kernels())
      if (std::find(plain_.begin(), plain_.end(), k) == plain_.end()) kernels_.push_back(k);
  }
  ~Activated() {
    if (handle_) dlclose(handle_);
  }
  Activated(const Activated&) = delete;
  const std::vector<const KernelDefinition*>& kernels() const { return kernels_; }
  const KernelDefinition& find(std::string_view name) const { return find(kernels_, name); }
  // The program's own kernel: find_kernel() might give either.
  const KernelDefinition& plain(std::string_view name) const { return find(plain_, name); }

 private:
  static const KernelDefinition& find(const std::vector<const KernelDefinition*>& all, std::string_view name) {
    for (const auto* k : all)
      if (k->name() == name) return *k;
    throw std::logic_error("no kernel of that name");
  }
  void* handle_ = nullptr;
  std::vector<const KernelDefinition*> plain_, kernels_;
};

// A power of two: what is times it is rounded nowhere, so the bounds of the sums hold for the results as they are.
constexpr float slope = 0.25f;  // of the module (tests/CMakeLists.txt)

// What should come out, and how much of it the activation changes.
int64_t activate(test::Expected& e, long double of_negatives) {
  int64_t changed = 0;
  for (auto& y : e.y)
    if (y < 0) y *= of_negatives, changed++;
  return changed;
}

TEST(Ladder, EveryRungThatFusesIsInTheModuleOfTheTests) {
  auto emulator = open_emulator();
  std::vector<std::string> here, there;
  for (const auto* k : all_kernels())
    if (k->fuses_activation() && emulator->unavailable(*k).empty()) here.push_back(k->name());
  Activated module("libtest_leaky_relu.so");
  for (const auto* k : module.kernels())
    if (k->kind() == KernelKind::ladder) there.push_back(k->name());
  EXPECT_EQ(here, there);
  EXPECT_GE(here.size(), 6u);
}

TEST(Ladder, GoesThroughTheActivationBeforeItStores) {
  Activated module("libtest_leaky_relu.so");
  test::Random r(50);
  int with_bias = 0, grouped = 0, with_op = 0, halves = 0, ran = 0;
  for (int i = 0; i < 60; i++) {
    auto p = test::random_problem(r, {.halves = i % 3 == 0});
    auto t = test::random_tensors(r, p);
    auto plain = test::expected_result(p, t), expected = plain;
    // Integers for all: their sums are exact in TF32 as well. As random numbers for those that promise f32's accuracy.
    auto whole = test::integer_tensors(r, p);
    auto exact = test::expected_result(p, whole), exact_plain = exact;
    int64_t changed = activate(expected, slope), exact_changed = activate(exact, slope);
    for (const auto* k : module.kernels()) {
      if (k->kind() != KernelKind::ladder || !k->unsupported(p).empty()) continue;
      ran++;
      if (k->accuracy() == "strict") {
        auto got = test::run_kernel(*k, p, t);
        ASSERT_EQ(test::first_wrong(p, t, expected, got), "") << k->name();
        if (changed) {
          ASSERT_NE(test::first_wrong(p, t, plain, got), "") << k->name() << " has no activation";
        }
      }
      auto got = test::run_kernel(*k, p, whole);
      for (int64_t e = 0; e < got.elements(); e++)
        ASSERT_EQ(got.at(e), static_cast<double>(exact.y[static_cast<size_t>(e)])) << k->name() << describe(p);
      // The control: the same kernel without it.
      if (!exact_changed) continue;
      auto without = test::run_kernel(module.plain(k->name()), p, whole);
      ASSERT_NE(test::first_wrong(p, whole, exact, without), "") << k->name() << describe(p);
      ASSERT_EQ(test::first_wrong(p, whole, exact_plain, without), "") << k->name() << describe(p);
    }
    with_bias += p.bias, grouped += p.groups > 1, with_op += p.output_padding > 0, halves += is_half(p.dtype);
  }
  EXPECT_GE(with_bias, 15);
  EXPECT_GE(grouped, 10);
  EXPECT_GE(with_op, 10);
  EXPECT_GE(halves, 15);
  EXPECT_GE(ran, 240);
}

TEST(Ladder, ReluIsAnotherMacro) {
  Activated module("libtest_relu.so");
  const auto& relu = module.find("direct");
  test::Random r(51);
  for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    ConvProblem p{.batch = 2, .in_channels = 4, .out_channels = 6, .kernel_size = 4, .length = 30, .stride = 2};
    p.groups = 2, p.output_padding = 1, p.bias = true, p.dtype = type;
    auto t = test::random_tensors(r, p);
    auto expected = test::expected_result(p, t);
    EXPECT_GT(activate(expected, 0), 50);
    EXPECT_EQ(test::first_wrong(p, t, expected, test::run_kernel(relu, p, t)), "");
    EXPECT_NE(test::first_wrong(p, t, expected, test::run_kernel(module.plain("direct"), p, t)), "");
  }
}

// What PyTorch gives for numbers that are none.
TEST(Ladder, ActivationsKeepWhatIsNoNumber) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto same = [](float a, float b) { return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, sizeof a) == 0; };
  struct Case {
    float v, relu, leaky;  // with a slope of 0.1
  };
  for (const Case& c : {Case{nan, nan, nan},
                        {inf, inf, inf},
                        {-inf, 0, -inf},
                        {0.0f, 0.0f, 0.0f},
                        {-0.0f, -0.0f, -0.0f},
                        {2, 2, 2},
                        {-2, 0, -2 * 0.1f},
                        {-1e-45f, 0, -0.0f},
                        {1e-45f, 1e-45f, 1e-45f}}) {
    EXPECT_TRUE(same(relu(c.v), c.relu)) << c.v << " gives " << relu(c.v);
    EXPECT_TRUE(same(leaky_relu(c.v, 0.1f), c.leaky)) << c.v << " gives " << leaky_relu(c.v, 0.1f);
    EXPECT_TRUE(same(activated(c.v), c.v)) << "here no activation is asked for";
  }
  EXPECT_TRUE(std::isnan(leaky_relu(-inf, 0.0f)));
  EXPECT_EQ(leaky_relu(-3.0, 1.0), -3.0);
}

// How the results of Hopper's rungs leave, at any alignment: every value as without an activation,
// and then through it.
TEST(HopperResults, GoThroughTheActivation) {
  Activated module("libtest_leaky_relu.so");
  const auto& twin = module.find("test_results");
  Plan plan = twin.plan_for({}), without = module.plain("test_results").plan_for({});
  ASSERT_EQ(plan.launches().size(), 12u);
  for (size_t at = 0; at < plan.launches().size(); at++) {
    const Launch& l = plan.launches()[at];
    const std::string name = l.entry.name;
    int stride = name.starts_with("results_s1") ? 1 : name.starts_with("results_s4") ? 4 : 2, tile = 128 * stride;
    int channels = stride == 1 || name.find("_d2") != std::string::npos ? 64 : 32, cases = 0;
    int64_t negatives = 0;
    for (int64_t length : {3 * tile, 3 * tile + 1, 3 * tile + 2, tile / 2 + 3})
      for (int64_t j : {0, 1, -3, tile, 2 * tile + 5}) {
        if (j >= length) continue;
        cases++;
        std::vector<float> bias(static_cast<size_t>(channels));
        for (int r = 0; r < channels; r++) bias[static_cast<size_t>(r)] = static_cast<float>(-100 - 2048 * r);
        auto run = [&](const Launch& launch) {
          std::vector<float> memory(static_cast<size_t>(channels * length + 8), 7.0f);
          auto word = reinterpret_cast<uintptr_t>(memory.data()) / 4;
          float* y = memory.data() + (8 - word % 8) % 8;  // both on a boundary of 32 bytes
          test::launch_entry(launch, {1}, {128}, static_cast<size_t>(channels * (tile + 8)) * sizeof(float), {},
                             static_cast<const float*>(bias.data()), y, length, j, channels);
          return std::vector<float>(y, y + channels * length);
        };
        auto expected = run(without.launches()[at]), got = run(l);
        for (size_t i = 0; i < got.size(); i++) {
          negatives += expected[i] < 0;
          ASSERT_EQ(got[i], expected[i] < 0 ? expected[i] * slope : expected[i]) << name << " word " << i;
        }
      }
    EXPECT_GT(cases, 10);
    EXPECT_GT(negatives, 1000) << name;
  }
}

}  // namespace
}  // namespace convscope
