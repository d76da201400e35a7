// A real GPU with a judge; without one a test is skipped, with the driver's reason.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "kernels/problem/inputs.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/judge.h"

namespace convscope {

// How many problems a test draws: as many as it says, or CONVSCOPE_PROBLEMS where that is fewer, as for a run under
// compute-sanitizer, which takes seconds for each.
inline int problems(int many) {
  const char* limit = std::getenv("CONVSCOPE_PROBLEMS");
  return limit ? std::min(many, std::atoi(limit)) : many;
}

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_devices(why).empty()) GTEST_SKIP() << "no GPU: " << why;
    device_ = open_cuda(0);
  }
  RunReport judge(const std::string& kernel, const ConvProblem& p, bool references = false) {
    if (!judge_) {
      references_ = references_for(*device_);
      judge_ = std::make_unique<Judge>(*device_, references_);
    }
    RunSpec spec;
    spec.kernel = &find_kernel(kernel);
    spec.problem = p;
    if (p.dtype == DType::f32) spec.accuracy = *accuracy_from(spec.kernel->accuracy());  // what it promises
    spec.samples = 5;
    spec.references = references;
    Activity activity;
    return judge_->run(spec, activity);
  }
  // On a few elements: sums in another order, so a few units of 2^-53 · Σ|x·w| a term at most.
  void expect_device_oracle_agrees(const ConvProblem& p, uint64_t seed) {
    Inputs in = make_inputs(p, {});
    auto put = [&](const HostTensor& t) {
      auto m = device_->allocate(std::max<size_t>(t.size_bytes(), 4));
      device_->write(*m, 0, t.data(), t.size_bytes());
      return m;
    };
    auto x = put(in.x), b = put(in.b);
    auto cpu = make_cpu_oracle(p, in);
    auto gpu = make_device_oracle(p, in, *device_, {x->address(), 0, p.bias ? b->address() : 0, 0, 0});
    EXPECT_LE(oracle_disagreement(p, *cpu, *gpu, 64, seed), 2 + static_cast<double>(p.in_per_group() * p.kernel_size))
        << describe(p);
  }
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Reference>> references_;
  std::unique_ptr<Judge> judge_;
};

}  // namespace convscope
