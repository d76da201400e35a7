// f16 and bf16 on a real GPU: the same bits as on the host, rungs and cuDNN right, a sum in 16 bits wrong.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/judge.h"
#include "tests/convolution.h"
#include "tests/gpu/gpu.h"
#include "tests/hopper_problems.h"
#include "tests/rung_problems.h"

namespace convscope {
namespace {

class GpuHalf : public Gpu {};

// Every pattern widened and rounded back, every tie and its neighbours, and random floats: the GPU's and the host's.
TEST_F(GpuHalf, ConversionsAreTheHosts) {
  std::vector<float> floats;
  auto add_all = [&](auto zero) {
    using T = decltype(zero);
    for (int bits = 0; bits < 65536; bits++) {
      float f = std::bit_cast<T>(static_cast<uint16_t>(bits)), next = std::bit_cast<T>(static_cast<uint16_t>(bits + 1));
      float middle = f + (next - f) / 2;
      for (float v : {f, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)}) floats.push_back(v);
    }
  };
  add_all(__half{}), add_all(__nv_bfloat16{});
  std::mt19937 random(6);
  for (int i = 0; i < 500000; i++) floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));

  ConvProblem p;
  p.length = static_cast<int64_t>(floats.size());
  for (const char* kernel : {"gpu_round_f16", "gpu_round_bf16"}) {
    auto run = [&](Device& d) {
      auto x = d.allocate(floats.size() * 4), y = d.allocate(floats.size() * 4);
      d.write(*x, 0, floats.data(), floats.size() * 4);
      const auto& k = find_kernel(kernel);
      d.run(k, k.plan_for(p), {x->address(), 0, 0, y->address(), 0}, {});
      std::vector<uint32_t> out(floats.size());
      d.read(*y, 0, out.data(), out.size() * 4);
      return out;
    };
    auto emulator = open_emulator();
    auto on_gpu = run(*device_), on_cpu = run(*emulator);
    int64_t different = 0, nan = 0;
    for (size_t i = 0; i < floats.size(); i++) {
      bool both_nan = std::isnan(std::bit_cast<float>(on_gpu[i])) && std::isnan(std::bit_cast<float>(on_cpu[i]));
      nan += both_nan;
      if (on_gpu[i] != on_cpu[i] && !both_nan && different++ < 3)
        ADD_FAILURE() << kernel << " of " << floats[i] << ": " << std::hex << on_gpu[i] << " and " << on_cpu[i];
    }
    EXPECT_EQ(different, 0) << kernel;
    EXPECT_GT(nan, 1000);
  }
}

TEST_F(GpuHalf, EveryRungIsRightOnRandomProblems) {
  test::Random random(20261122);
  int ran = 0;
  for (int i = 0; i < 40; i++) {
    ConvProblem p = test::random_problem(random, {.channels_per_group = 20, .halves = true});
    for (const auto* k : all_kernels()) {
      if (k->kind() != KernelKind::ladder || !device_->unavailable(*k).empty() || !k->unsupported(p).empty()) continue;
      auto r = judge(k->name(), p);
      ASSERT_EQ(r.verdict.status, Status::right) << k->name() << " on " << describe(p) << ": " << r.verdict.sentence;
      ran++;
    }
  }
  EXPECT_GE(ran, 200);
}

TEST_F(GpuHalf, MmaIsRightInAllItsForms) {
  const auto& k = find_kernel("mma_16bit");
  if (auto why = device_->unavailable(k); !why.empty()) GTEST_SKIP() << why;
  test::Random r(63);
  for (const auto& c : test::mma_16bit_cases)
    for (DType type : {DType::f16, DType::bf16})
      for (int64_t more : {0, 1}) {
        ConvProblem p = c.problem(type, r() % 2);
        p.length += more;
        auto report = judge("mma_16bit", p);
        ASSERT_EQ(report.verdict.status, Status::right)
            << c.what << ", " << name_of(type) << ": " << report.verdict.sentence;
      }
}

TEST_F(GpuHalf, HeldIsRightInAllItsForms) {
  const auto& k = find_kernel("held_16bit");
  if (auto why = device_->unavailable(k); !why.empty()) GTEST_SKIP() << why;
  test::Random r(15);
  std::set<std::string> ran;
  for (int i = 0; i < problems(120); i++) {
    ConvProblem p = test::held_problem(r, i);
    if (check(p) || !k.unsupported(p).empty()) continue;
    ran.insert(k.plan_for(p).launches().back().entry.name);
    auto report = judge("held_16bit", p);
    ASSERT_EQ(report.verdict.status, Status::right) << describe(p) << ": " << report.verdict.sentence;
  }
  if (problems(120) == 120) {
    EXPECT_EQ(ran.size(), size_t{test::held_entries});
  }
}

TEST_F(GpuHalf, SumsInSixteenBitsAreWrong) {
  for (DType t : {DType::f16, DType::bf16}) {
    auto p = find_preset("kernelbench-79-small").problem;
    p.dtype = t;
    EXPECT_EQ(judge("half_in_float", p).verdict.status, Status::right);
    for (const char* kernel : {"half_sums", "half_products", "half_cut_off"}) {
      auto r = judge(kernel, p);
      EXPECT_EQ(r.verdict.status, Status::wrong) << kernel << ": " << r.verdict.sentence;
    }
    EXPECT_EQ(judge("half_unwritten", p).error.unwritten, (p.y_elements() + 6) / 7);
  }
}

TEST_F(GpuHalf, DeviceOracleAgreesWithTheCpuOracle) {
  test::Random random(8);
  for (int i = 0; i < 20; i++) {
    ConvProblem p = test::random_problem(random, {.halves = true});
    expect_device_oracle_agrees(p, static_cast<uint64_t>(i));
  }
}

// Large enough for the oracle of the GPU, and cuDNN beside it on the same tensors.
TEST_F(GpuHalf, CudnnIsRightOnTheBenchmarks) {
  for (DType t : {DType::f16, DType::bf16})
    for (const char* name : {"kernelbench-64", "kernelbench-74", "kernelbench-79"})
      for (bool bias : {false, true}) {
        ConvProblem p = find_preset(name).problem;
        p.batch = 2, p.dtype = t, p.bias = bias;
        auto r = judge("registers", p, true);
        EXPECT_EQ(r.verdict.status, Status::right) << describe(p) << ": " << r.verdict.sentence;
        for (const auto& ref : r.references) {
          if (ref.name == "cudnn-tf32") {
            EXPECT_NE(ref.reason.find("f32 only"), std::string::npos) << ref.reason;
            continue;
          }
          ASSERT_TRUE(ref.max_bound_ratio) << ref.reason;
          std::printf("  %s: registers %.3f ms, %s %.3f ms, %.3g of the bound, %s\n", describe(p).c_str(),
                      r.hot.median_ms(), ref.name.c_str(), ref.hot.median_ms(), *ref.max_bound_ratio,
                      ref.what_ran.c_str());
          // With a bias cuDNN rounds twice: the product's sum, and what the bias makes of it.
          if (!bias) {
            EXPECT_LE(*ref.max_bound_ratio, 1) << ref.what_ran;
          }
        }
      }
}

}  // namespace
}  // namespace convscope
