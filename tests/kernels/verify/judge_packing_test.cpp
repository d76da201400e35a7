// Times with weights packed before, and what keeps a kernel from hiding a call's work in packing.
#include <gtest/gtest.h>
#include <set>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/packed_times.h"
#include "kernels/verify/problem_memory.h"
#include "tests/fakes/emulated_gpu.h"
#include "tests/hopper_problems.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::EmulatedGpu;
using test::evidence;
using test::general;
using test::has;

RunReport judged_on(Device& device, const std::string& kernel, const ConvProblem& p = general) {
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(device, none);
  RunSpec spec = test::quick();
  spec.kernel = &find_kernel(kernel), spec.problem = p;
  Activity activity;
  return judge.run(spec, activity);
}

// Packing takes as long as a test says, everything else 2 ms.
EmulatedGpu gpu(double packing_ms) {
  return EmulatedGpu([packing_ms](const Launch& l) { return l.packs ? packing_ms : 2.0; });
}

TEST(JudgePacking, BothTimesOfAKernelThatPacks) {
  for (double packing_ms : {0.5, 40.0}) {  // one that is long is no shorter for it: both ways are there
    auto device = gpu(packing_ms);
    auto r = judged_on(device, "registers");
    EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
    EXPECT_EQ(r.hot.median_ms(), 2 + packing_ms) << "the whole plan, as before";
    EXPECT_EQ(r.cold.median_ms(), 2 + packing_ms + EmulatedGpu::cold_more);
    EXPECT_TRUE(r.packed.packs);
    EXPECT_EQ(r.packed.missing, "");
    ASSERT_FALSE(r.packed.hot.empty() || r.packed.cold.empty() || r.packed.packing.empty());
    EXPECT_EQ(r.packed.hot.median_ms(), 2);
    EXPECT_EQ(r.packed.cold.median_ms(), 2 + EmulatedGpu::cold_more);
    EXPECT_EQ(r.packed.packing.median_ms(), packing_ms);
    EXPECT_TRUE(has(evidence(r, "speed"), "with weights packed before")) << evidence(r, "speed");
  }
}

// What empties the cache finds no room beside the tensors.
class FullGpu final : public EmulatedGpu {
 public:
  using EmulatedGpu::EmulatedGpu;
  Timing time(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, bool cold, const TimingOptions& o,
              Activity* activity) override {
    if (cold) throw InputError("memory", "120 MiB", "needed at once, but the GPU has 7 MiB free");
    return EmulatedGpu::time(kernel, plan, at, cold, o, activity);
  }
};

TEST(JudgePacking, NoRoomForAColdTimeIsAReasonAndTheVerdictStands) {
  for (const char* kernel : {"direct", "registers"}) {
    FullGpu device([](const Launch&) { return 2.0; });
    auto r = judged_on(device, kernel);
    EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
    EXPECT_FALSE(r.hot.empty());
    EXPECT_TRUE(r.cold.empty());
    const std::string why = "not timed cold: memory 120 MiB needed at once, but the GPU has 7 MiB free";
    EXPECT_EQ(r.timing_missing, why);
    EXPECT_TRUE(has(evidence(r, "speed"), why)) << evidence(r, "speed");
    EXPECT_FALSE(has(evidence(r, "speed"), " cold, ")) << evidence(r, "speed");
    EXPECT_EQ(r.packed.missing, r.packed.packs ? why : "it packs no weights: every launch is part of a call");
    EXPECT_TRUE(r.packed.hot.empty());
  }
}

TEST(JudgePacking, NoneIsAReason) {
  auto device = gpu(1);
  auto r = judged_on(device, "direct");
  EXPECT_FALSE(r.packed.packs);
  EXPECT_TRUE(r.packed.hot.empty());
  EXPECT_EQ(r.packed.missing, "it packs no weights: every launch is part of a call");
  EXPECT_FALSE(has(evidence(r, "speed"), "packed"));
  r = test::judged("registers", general);
  EXPECT_TRUE(r.packed.packs);
  EXPECT_TRUE(r.packed.hot.empty());
  EXPECT_TRUE(has(r.packed.missing, "on the emulator whole plans are timed"));
}

// By its arguments hoards packs, in a launch that works out all of the result. Its results are right; the time without
// that launch is none.
TEST(JudgePacking, AKernelThatHidesItsWorkInPackingHasNoPackedTime) {
  ASSERT_TRUE(find_kernel("hoards").plan_for(general).packs_weights());
  auto device = gpu(100);
  auto r = judged_on(device, "hoards");
  EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
  EXPECT_EQ(r.hot.median_ms(), 104);
  EXPECT_TRUE(r.packed.hot.empty() && r.packed.cold.empty() && r.packed.packing.empty());
  EXPECT_TRUE(has(r.packed.missing, "its results do not follow the input")) << r.packed.missing;
  EXPECT_FALSE(has(evidence(r, "speed"), "packed"));
}

// A call without packing is right for the input of that call, whatever the one before was of: for every rung that
// packs, on problems of all its forms.
TEST(JudgePacking, CallsOfEveryRungFollowTheirInput) {
  auto device = open_emulator();
  test::Random random(1407);
  std::set<std::string> seen;
  for (const auto* k : all_kernels()) {
    if (k->kind() != KernelKind::ladder || !device->unavailable(*k).empty()) continue;
    int problems = 0;
    for (int tries = 0; tries < 300 && problems < (test::fewer > 1 ? 2 : 4); tries++) {
      ConvProblem p = test::hopper_problem(random, tries % 2 ? DType::f16 : DType::f32);
      if (check(p) || !k->unsupported(p).empty() || useful_taps(p) > 20'000'000) continue;
      const Plan plan = k->plan_for(p), packed = plan.without_packing();
      if (!plan.packs_weights()) break;
      Inputs in = make_inputs(p, {}, nullptr);
      ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes());
      auto call = [&](const Plan& of) {
        return [&] { device->run(*k, of, memory.at(), {.order_seed = static_cast<uint32_t>(tries + 1)}); };
      };
      EXPECT_EQ(memory.packed_calls_look_honest(call(plan), call(packed), nullptr), "")
          << k->name() << " on " << describe(p);
      seen.insert(k->name());
      problems++;
    }
  }
  for (const char* rung :
       {"registers", "mma_tf32", "mma_3xtf32", "mma_16bit", "columns_tf32", "columns_3xtf32", "hopper_tf32",
        "hopper_3xtf32", "stream_tf32", "stream_3xtf32", "hopper_16bit", "held_16bit", "hopper_1xf16", "hopper_3xf16",
        "stream_1xf16", "stream_3xf16", "ordered_1xf16", "ordered_3xf16", "ordered_16bit"})
    EXPECT_TRUE(seen.contains(rung)) << rung;
}

}  // namespace
}  // namespace convscope
