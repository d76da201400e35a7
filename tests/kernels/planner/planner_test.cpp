#include "kernels/planner/planner.h"

#include <gtest/gtest.h>

#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/support.h"

namespace convscope {
namespace {

std::string chosen(const ConvProblem& p, Accuracy allowed, const char* architecture) {
  return choose(p, allowed, Target::of_architecture(architecture)).kernel->name();
}

TEST(Planner, TakesTheBestThatIsAllowedAndThere) {
  auto p = find_preset("kernelbench-79").problem;
  EXPECT_EQ(chosen(p, Accuracy::tf32, "sm_90"), "hopper_tf32");
  EXPECT_EQ(chosen(p, Accuracy::tf32x3, "sm_90"), "hopper_3xtf32");
  EXPECT_EQ(chosen(p, Accuracy::strict, "sm_90"), "registers");
  EXPECT_EQ(chosen(find_preset("kernelbench-64").problem, Accuracy::tf32, "sm_80"), "columns_tf32");
  EXPECT_EQ(chosen(p, Accuracy::tf32, "sm_75"), "registers");  // no asynchronous tensor cores before sm_80
  EXPECT_EQ(chosen(find_preset("dac.d1").problem, Accuracy::tf32, "sm_90"), "stream_tf32");
  p.dtype = DType::f64;
  EXPECT_EQ(chosen(p, Accuracy::strict, "sm_90"), "registers");
  for (DType t : {DType::f16, DType::bf16}) {
    p.dtype = t;
    EXPECT_EQ(chosen(p, Accuracy::strict, "sm_80"), "registers");
    Choice c = choose(p, Accuracy::strict, Target::of_architecture("sm_90"));
    EXPECT_EQ(c.kernel->unsupported(p), "") << "whatever is chosen takes it";
  }
}

TEST(Planner, TakesSomethingForEveryLegalProblem) {
  test::Random random(7);
  for (int i = 0; i < 300; i++) {
    ConvProblem p = test::random_problem(random, {.halves = i % 3 == 0});
    for (const char* architecture : {"sm_75", "sm_80", "sm_90", "sm_100"})
      for (Accuracy a : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32}) {
        Choice c = choose(p, a, Target::of_architecture(architecture));
        ASSERT_NE(c.kernel, nullptr);
        EXPECT_EQ(c.kernel->unsupported(p), "") << describe(p);
        if (p.dtype == DType::f32) {
          EXPECT_LE(*accuracy_from(c.kernel->accuracy()), a) << "no silent downgrade";
        }
        // The model's own order, refused ones last, each with its reason.
        bool refused = false;
        double before = 0;
        for (const auto& k : c.candidates) {
          EXPECT_TRUE(!refused || !k.refused.empty());
          refused = !k.refused.empty();
          if (refused) continue;
          EXPECT_GE(k.predicted_ms, before) << describe(p);
          EXPECT_TRUE(std::isfinite(k.predicted_ms) && k.predicted_ms > 0);
          before = k.predicted_ms;
        }
      }
  }
}

TEST(Planner, SaysWhy) {
  Choice c = choose(find_preset("hifigan.u1").problem, Accuracy::tf32, {});
  EXPECT_NE(c.reason.find(c.kernel->name() + ": "), std::string::npos) << c.reason;
  EXPECT_NE(c.reason.find("predicted on NVIDIA H200"), std::string::npos) << c.reason;
  c = choose(find_preset("kernelbench-79").problem, Accuracy::strict, {});
  EXPECT_NE(c.reason.find("is asked for"), std::string::npos) << "what a lower accuracy would give: " << c.reason;
}

TEST(Planner, SixteenBitsHaveARungOfTheirOwn) {
  auto p = find_preset("kernelbench-64").problem;
  for (DType t : {DType::f16, DType::bf16}) {
    p.dtype = t;
    EXPECT_EQ(choose(p, Accuracy::strict, {}).kernel->name(), "held_16bit");
    Choice c = choose(p, Accuracy::strict, Target::of_architecture("sm_80"));
    EXPECT_EQ(c.kernel->name(), "registers") << c.reason;
  }
  p.dtype = DType::f32;
  EXPECT_NE(find_kernel("hopper_16bit").unsupported(p), "");
}

TEST(Planner, LeavesOutWhatCannotFuseTheActivation) {
  const Activation relu = Activation::from("relu");
  for (const char* architecture : {"sm_75", "sm_90"}) {
    auto p = find_preset("kernelbench-79").problem;
    Choice c = choose(p, Accuracy::tf32, Target::of_architecture(architecture), relu);
    EXPECT_TRUE(c.kernel->fuses_activation());
    EXPECT_EQ(c.kernel, choose(p, Accuracy::tf32, Target::of_architecture(architecture)).kernel);
    int left_out = 0;
    for (const auto& k : c.candidates) {
      EXPECT_TRUE(k.kernel->fuses_activation() || !k.refused.empty()) << k.kernel->name();
      left_out += k.refused == "cannot fuse relu";
    }
    EXPECT_EQ(left_out, 1) << "scatter";
  }
}

// Medians on an H200, with weights packed or next to nothing to pack (h200-core.md, h200-ladder.md).
TEST(Planner, PredictsWhatWasMeasured) {
  struct Measured {
    const char *kernel, *preset;
    double ms;
  };
  for (const Measured& m : {Measured{"direct", "kernelbench-64", 783},
                            {"polyphase", "kernelbench-74", 57.1},
                            {"tiled", "kernelbench-79", 4.62},
                            {"registers", "kernelbench-64", 11.4},
                            {"mma_tf32", "kernelbench-64", 4.07},
                            {"mma_3xtf32", "kernelbench-79", 1.27},
                            {"hopper_tf32", "kernelbench-79", 0.408},
                            {"hopper_tf32", "kernelbench-64", 1.47},
                            {"hopper_3xtf32", "kernelbench-64", 3.61},
                            {"hopper_3xtf32", "kernelbench-74", 0.737},
                            {"stream_tf32", "dac.d1", 0.135},
                            {"stream_3xtf32", "dac.d2", 0.614}}) {
    double predicted = predicted_ms(find_kernel(m.kernel), find_preset(m.preset).problem, {});
    EXPECT_GT(predicted, m.ms / 1.6) << m.kernel << " on " << m.preset;
    EXPECT_LT(predicted, m.ms * 1.6) << m.kernel << " on " << m.preset;
  }
  for (auto [preset, ms] :
       {std::pair{"kernelbench-79", 0.242}, {"kernelbench-74", 0.330}, {"kernelbench-64", 0.855}, {"dac.d2", 0.152}}) {
    auto p = find_preset(preset).problem;
    p.dtype = DType::f16;
    double predicted = predicted_ms(find_kernel("hopper_16bit"), p, {});
    EXPECT_GT(predicted, ms / 1.4) << preset;
    EXPECT_LT(predicted, ms * 1.4) << preset;
  }
  for (auto [preset, ms] : {std::pair{"kernelbench-79", 0.232},
                            {"kernelbench-74", 0.251},
                            {"kernelbench-64", 0.733},
                            {"dac.d4", 0.114},
                            {"oobleck.d5", 0.143}}) {
    auto p = find_preset(preset).problem;
    p.dtype = DType::f16;
    double predicted = predicted_ms(find_kernel("held_16bit"), p, {});
    EXPECT_GT(predicted, ms / 1.3) << preset << ": " << predicted;
    EXPECT_LT(predicted, ms * 1.3) << preset << ": " << predicted;
  }
}

TEST(Planner, ChoosesOnTheEmulatorWhatRunsThere) {
  auto emulator = open_emulator();
  Planner planner;
  Activity activity;
  Choice c = planner.choose(find_preset("kernelbench-79-small").problem, Accuracy::tf32, *emulator, activity);
  EXPECT_EQ(emulator->unavailable(*c.kernel), "");
  EXPECT_FALSE(c.kernel->requires_hardware().empty()) << c.kernel->name() << ": the emulator has what Hopper's need";
}

TEST(Target, RefusesWhatIsNoArchitecture) {
  for (const char* bad : {"", "90", "sm_", "sm_9x", "sm_30", "sm_12345", "hopper"})
    EXPECT_THROW(Target::of_architecture(bad), InputError) << bad;
  EXPECT_EQ(Target::of_architecture("sm_90a").architecture, "sm_90");
}

}  // namespace
}  // namespace convscope
