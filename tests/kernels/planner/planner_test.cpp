#include "kernels/planner/planner.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "kernels/base/error.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/setting.h"
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
  EXPECT_EQ(chosen(find_preset("kernelbench-64").problem, Accuracy::tf32, "sm_80"), "mma_tf32");
  EXPECT_EQ(chosen(p, Accuracy::tf32, "sm_75"), "registers");  // no asynchronous tensor cores before sm_80
  EXPECT_EQ(chosen(find_preset("dac.d1").problem, Accuracy::tf32, "sm_90"), "ordered_1xf16");
  p.dtype = DType::f64;
  EXPECT_EQ(chosen(p, Accuracy::strict, "sm_90"), "registers");
  for (DType t : {DType::f16, DType::bf16}) {
    p.dtype = t;
    for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_120"})
      EXPECT_EQ(chosen(p, Accuracy::strict, architecture), "mma_16bit") << architecture;
    EXPECT_EQ(chosen(p, Accuracy::strict, "sm_75"), "registers");
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
  EXPECT_NE(c.reason.find("predicted for an NVIDIA H200"), std::string::npos) << c.reason;
  c = choose(find_preset("kernelbench-79").problem, Accuracy::strict, {});
  EXPECT_NE(c.reason.find("is asked for"), std::string::npos) << "what a lower accuracy would give: " << c.reason;
}

TEST(Planner, SixteenBitsHaveARungOfTheirOwn) {
  auto p = find_preset("kernelbench-64").problem;
  for (DType t : {DType::f16, DType::bf16}) {
    p.dtype = t;
    EXPECT_EQ(choose(p, Accuracy::strict, {}).kernel->name(), "held_16bit");
    Choice c = choose(p, Accuracy::strict, Target::of_architecture("sm_80"));
    EXPECT_EQ(c.kernel->name(), "mma_16bit") << c.reason;
  }
  p.dtype = DType::f32;
  EXPECT_NE(find_kernel("hopper_16bit").unsupported(p), "");
}

// Random layers 171 and 119, and an anti-aliased upsampling: where writing y is the work.
TEST(Planner, DepthwiseLayersHaveARungOfTheirOwn) {
  ConvProblem zeros, most, twelve;
  zeros.batch = 16, zeros.in_channels = zeros.out_channels = zeros.groups = 16, zeros.length = 2858, zeros.stride = 3,
  zeros.output_padding = 2;
  most.in_channels = most.out_channels = most.groups = 10, most.length = 29749, most.stride = 10,
  most.output_padding = 5;
  twelve.in_channels = twelve.out_channels = twelve.groups = 512, twelve.length = 2000, twelve.kernel_size = 12,
  twelve.stride = 2, twelve.padding = 5;
  zeros.kernel_size = most.kernel_size = 1;
  for (const ConvProblem& p : {zeros, most, twelve})
    for (Accuracy a : {Accuracy::strict, Accuracy::tf32})
      for (const char* architecture : {"sm_75", "sm_80", "sm_90"}) {
        if (p.kernel_size > 1 && a == Accuracy::tf32) continue;  // columns_tf32 may be as good: a GPU measures
        EXPECT_EQ(chosen(p, a, architecture), "depthwise") << describe(p) << " on " << architecture;
      }
  EXPECT_NE(chosen(find_preset("hifigan.u2").problem, Accuracy::strict, "sm_90"), "depthwise");
}

// A layer of length 1: a hundred threads, each of which goes through 8192 taps alone.
TEST(Planner, KnowsThatAFewThreadsAreSlow) {
  ConvProblem p;
  p.in_channels = 100, p.out_channels = 512, p.kernel_size = 16, p.length = 1;
  for (const char* architecture : {"sm_75", "sm_80", "sm_90", "sm_120"}) {
    const Target target = Target::of_architecture(architecture);
    EXPECT_NE(choose(p, Accuracy::strict, target).kernel->name(), "scatter") << architecture;
    EXPECT_GT(predicted_ms(find_kernel("scatter"), p, target), 0.2) << architecture;
  }
  // Many threads hide what one waits for.
  auto large = find_preset("kernelbench-74").problem;
  EXPECT_LT(predicted_ms(find_kernel("scatter"), large, {}), 1.6 * 67.7);
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
  for (const Measured& m : {Measured{"direct", "kernelbench-64", 783}, {"polyphase", "kernelbench-74", 57.1},
                            {"tiled", "kernelbench-79", 4.62},         {"registers", "kernelbench-64", 11.4},
                            {"mma_tf32", "kernelbench-64", 4.07},      {"mma_3xtf32", "kernelbench-79", 1.27},
                            {"columns_tf32", "kernelbench-64", 4.43},  {"columns_tf32", "kernelbench-74", 1.62},
                            {"columns_tf32", "demucs.d", 0.226},       {"columns_3xtf32", "dac.d3", 1.61},
                            {"hopper_tf32", "kernelbench-79", 0.408},  {"hopper_tf32", "kernelbench-64", 1.47},
                            {"hopper_3xtf32", "kernelbench-64", 3.61}, {"hopper_3xtf32", "kernelbench-74", 0.737},
                            {"hopper_tf32", "hifigan.u2", 0.191},  // in the form for any classes, as the next four
                            {"hopper_tf32", "dac.d3", 1.05},           {"stream_tf32", "kernelbench-79", 2.79},
                            {"stream_tf32", "kernelbench-64", 3.15},   {"stream_3xtf32", "kernelbench-74", 1.47},
                            {"stream_tf32", "dac.d1", 0.135},          {"stream_3xtf32", "dac.d2", 0.614}}) {
    double predicted = predicted_ms(find_kernel(m.kernel), find_preset(m.preset).problem, {});
    EXPECT_GT(predicted, m.ms / 1.6) << m.kernel << " on " << m.preset;
    EXPECT_LT(predicted, m.ms * 1.6) << m.kernel << " on " << m.preset;
  }
  // Layers: hot, of twenty calls in a graph (h200-pytorch.md, the last state); problems: notes on rung 12, bench.
  for (auto [preset, us] : {std::pair{"kernelbench-79", 229.0},
                            {"kernelbench-74", 337.0},
                            {"kernelbench-64", 790.0},
                            {"hifigan.u1", 10.4},
                            {"hifigan.u2", 17.1},
                            {"hifigan.u3", 12.4},
                            {"hifigan.u4", 12.7},
                            {"hifigan.u1.b16", 14.9},
                            {"hifigan.u4.b16", 16.7},
                            {"encodec.d1", 12.0},
                            {"encodec.d2", 11.6},
                            {"encodec.d3", 12.5},
                            {"encodec.d4", 13.3},
                            {"dac.d2", 97.4},
                            {"dac.d3", 116.4},
                            {"dac.d4", 76.8},
                            {"oobleck.d1", 52.6},
                            {"oobleck.d5", 108.6},
                            {"wavegan.d1", 83.7},
                            {"wavegan.d4", 55.8}}) {
    auto p = find_preset(preset).problem;
    p.dtype = DType::f16;
    double predicted = predicted_ms(find_kernel("hopper_16bit"), p, {}) * 1e3;
    EXPECT_GT(predicted, us / 1.1) << preset << ": " << predicted;
    EXPECT_LT(predicted, us * 1.25) << preset << ": " << predicted;
  }
  for (auto [preset, us] : {std::pair{"kernelbench-79", 189.0},
                            {"kernelbench-74", 241.0},
                            {"kernelbench-64", 666.0},
                            {"hifigan.u3", 14.0},
                            {"hifigan.u4", 12.3},
                            {"encodec.d3", 13.3},
                            {"dac.d4", 80.1},
                            {"oobleck.d5", 104.0},
                            {"demucs.d", 41.8}}) {
    auto p = find_preset(preset).problem;
    p.dtype = DType::f16;
    double predicted = predicted_ms(find_kernel("held_16bit"), p, {}) * 1e3;
    EXPECT_GT(predicted, us / 1.1) << preset << ": " << predicted;
    EXPECT_LT(predicted, us * 1.15) << preset << ": " << predicted;
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

// Prediction is of one GPU by its data sheet, and says of which.
TEST(Planner, SaysWhichGpuAPredictionIsOf) {
  auto p = find_preset("kernelbench-64").problem;
  for (auto [architecture, words] : {std::pair{"sm_75", "predicted for an NVIDIA T4"},
                                     {"sm_80", "predicted for an NVIDIA A100"},
                                     {"sm_86", "predicted for an NVIDIA A10"},
                                     {"sm_87", "predicted for sm_87 by the figures of an NVIDIA A10"},
                                     {"sm_89", "predicted for an NVIDIA L4"},
                                     {"sm_90a", "predicted for an NVIDIA H200"},
                                     {"sm_100f", "predicted for an NVIDIA B200"},
                                     {"sm_120", "predicted for an NVIDIA GeForce RTX 5090"}}) {
    Choice c = choose(p, Accuracy::tf32, Target::of_architecture(architecture));
    EXPECT_NE(c.reason.find(words), std::string::npos) << c.reason;
  }
  auto emulator = open_emulator();
  Activity activity;
  Choice c = Planner().choose(find_preset("kernelbench-79-small").problem, Accuracy::strict, *emulator, activity);
  EXPECT_NE(c.reason.find("for an NVIDIA H200, the emulator has no time of its own"), std::string::npos) << c.reason;
}

// With f32's rate in TF32 the tensor cores win nothing that registers does not have; with eight times of it they do.
TEST(Planner, KnowsWhoseTensorCoresAreFaster) {
  auto p = find_preset("kernelbench-64").problem;
  for (const char* architecture : {"sm_80", "sm_100", "sm_103"})
    EXPECT_EQ(chosen(p, Accuracy::tf32, architecture), "mma_tf32") << architecture;
  for (const char* architecture : {"sm_75", "sm_120", "sm_121"})
    EXPECT_EQ(chosen(p, Accuracy::tf32, architecture), "registers") << architecture;
  DeviceInfo device;
  device.kind = DeviceInfo::Kind::cuda, device.architecture = "sm_89", device.name = "NVIDIA L40";
  EXPECT_EQ(Target::of(device).tf32_ratio, 2);
  device.name = "NVIDIA GeForce RTX 4090";
  EXPECT_EQ(Target::of(device).tf32_ratio, 1);
}

TEST(Planner, NamesNoRungOfOtherTypes) {
  test::Random random(11);
  int named = 0;
  for (int i = 0; i < 60; i++) {
    ConvProblem p = test::random_problem(random, {.halves = i % 2 == 0});
    if (i % 3 == 0) p.in_channels *= 40;
    for (const auto& a : target_architectures())
      for (Accuracy accuracy : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32}) {
        Choice c = choose(p, accuracy, Target::of_architecture("sm_" + std::to_string(a.sm)));
        named += c.reason.find(';') != std::string::npos;
        EXPECT_EQ(c.reason.find(is_half(p.dtype) ? "tf32" : "16bit"), std::string::npos) << c.reason;
        for (const auto& k : c.candidates)
          if (k.other_types) {
            EXPECT_EQ(k.refused, k.kernel->name().ends_with("16bit") ? "takes f16 and bf16 only" : "takes f32 only");
          }
      }
  }
  EXPECT_GT(named, 0) << "else nothing is seen";
}

TEST(Planner, RefusesWhatAsksForTooMuchSharedMemory) {
  auto p = find_preset("kernelbench-74").problem;
  auto refused = [&](const char* architecture, const char* kernel) {
    Choice c = choose(p, Accuracy::tf32x3, Target::of_architecture(architecture));
    for (const auto& k : c.candidates)
      if (k.kernel->name() == kernel) return k.refused;
    return std::string("no candidate");
  };
  EXPECT_EQ(refused("sm_86", "mma_3xtf32"),
            "asks for 103424 bytes of shared memory a block (mma_tiles_3xtf32), sm_86 gives 101376");
  for (const char* architecture : {"sm_89", "sm_120"}) EXPECT_NE(refused(architecture, "mma_3xtf32"), "");
  for (const char* architecture : {"sm_80", "sm_87", "sm_100"}) EXPECT_EQ(refused(architecture, "mma_3xtf32"), "");
  EXPECT_EQ(refused("sm_86", "mma_tf32"), "computes in tf32, 3xtf32 is asked for");
  // What is chosen can be launched there, whatever the problem.
  test::Random random(12);
  for (int i = 0; i < 100; i++) {
    p = test::random_problem(random, {.channels_per_group = 40, .halves = i % 4 == 0});
    for (const auto& a : target_architectures()) {
      Choice c = choose(p, Accuracy::tf32, Target::of_architecture("sm_" + std::to_string(a.sm)));
      for (const auto& k : c.candidates) {
        if (!k.refused.empty()) continue;
        const Plan plan = k.kernel->plan_for(p);
        for (const auto& l : plan.launches())
          EXPECT_LE(l.dynamic_shared_bytes, static_cast<size_t>(a.shared_bytes_per_block)) << k.kernel->name();
      }
    }
  }
}

// A GPU on which some kernels cannot be run.
class FailingGpu : public test::FakeGpu {
 public:
  FailingGpu() : test::FakeGpu("Failing GPU", "580.1") { info_.shared_bytes_per_block = 227 * 1024; }
  double ms_of(const KernelDefinition& k, const Plan&) const override {
    if (auto it = takes.find(k.name()); it != takes.end()) return it->second;
    return k.name() == "registers" ? 2 : 0.5;
  }
  double cold_more(const KernelDefinition& k) const override {
    auto it = more_when_cold.find(k.name());
    return it == more_when_cold.end() ? 0 : it->second;
  }
  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override {
    if (taking) taking();
    return test::FakeGpu::allocate(bytes);
  }
  void write(DeviceMemory&, size_t, const void*, size_t) override { written++; }
  void run(const KernelDefinition& k, const Plan&, const Bindings&, const RunOptions&) override {
    if (auto it = fails.find(k.name()); it != fails.end() || all) {
      failed++;
      (all ? all : it->second)();
    }
  }
  std::map<std::string, std::function<void()>> fails;
  std::map<std::string, double> takes, more_when_cold;  // ms, of kernels that take other times
  std::function<void()> all, taking;
  int failed = 0, written = 0;
  DeviceInfo& described() { return info_; }
};

class PlannerOnAGpu : public testing::Test {
 protected:
  Choice choice(const ConvProblem& p, Accuracy a = Accuracy::tf32) { return planner_.choose(p, a, gpu_, activity_); }
  const Candidate& of(const Choice& c, const char* kernel) {
    for (const auto& k : c.candidates)
      if (k.kernel->name() == kernel) return k;
    throw std::logic_error(kernel);
  }
  ConvProblem p_ = find_preset("kernelbench-79-small").problem;
  FailingGpu gpu_;
  Planner planner_;
  Activity activity_;

 private:
  test::ScratchFolder folder_;
  test::Setting cache_{"CONVSCOPE_CACHE", folder_.path("cache")};
};

TEST_F(PlannerOnAGpu, WhatFailsIsRefusedAndTheNextIsTaken) {
  gpu_.fails["hopper_tf32"] = [] { throw DeviceError("launching kernel hopper_x failed: invalid argument"); };
  gpu_.fails["stream_tf32"] = [] { throw DeviceError("taking 3.00 GiB of GPU memory failed: out of memory"); };
  gpu_.fails["columns_tf32"] = [] { throw InputError("memory", "3.00 GiB", "needed at once"); };
  gpu_.fails["mma_tf32"] = [] { throw MissingError("no device code of it", "build with it"); };
  gpu_.fails["mma_3xtf32"] = [] { throw KernelFault("kernel mma: grid.x 0 must be between 1 and 9"); };
  Choice c = choice(p_);
  for (const auto& [name, what] : gpu_.fails) {
    EXPECT_TRUE(of(c, name.c_str()).refused.starts_with("cannot be run: ")) << name;
    EXPECT_FALSE(of(c, name.c_str()).measured_ms) << name;
  }
  EXPECT_EQ(of(c, "hopper_tf32").refused, "cannot be run: launching kernel hopper_x failed: invalid argument");
  ASSERT_TRUE(c.candidates[0].measured_ms) << c.reason;
  EXPECT_EQ(c.candidates[0].kernel, c.kernel);
  EXPECT_FALSE(gpu_.fails.contains(c.kernel->name()));
  // What the driver refuses it refuses again; memory may have come free.
  int before = gpu_.failed;
  gpu_.fails.erase("columns_tf32");
  Choice again = choice(p_);
  EXPECT_EQ(gpu_.failed, before);
  EXPECT_TRUE(of(again, "columns_tf32").measured_ms);
  EXPECT_EQ(of(again, "mma_tf32").refused, of(c, "mma_tf32").refused);
}

// In a row of calls ordered_1xf16 is the faster one; alone, behind other work, it is not, or not by what its launches
// cost there.
TEST_F(PlannerOnAGpu, MeasuresCallsThatAreAlone) {
  ConvProblem p = find_preset("hifigan.u2").problem;
  p.length = 400;
  gpu_.takes = {{"stream_1xf16", 0.1}, {"ordered_1xf16", 0.097}};
  gpu_.more_when_cold = {{"stream_1xf16", 0.003}, {"ordered_1xf16", 0.007}};
  Choice c = choice(p);
  EXPECT_EQ(c.kernel->name(), "stream_1xf16");
  EXPECT_NE(c.reason.find("stream_1xf16: 103 µs measured"), std::string::npos) << c.reason;
  EXPECT_NE(c.reason.find("ordered_1xf16 104 µs measured"), std::string::npos) << c.reason;
  p.length = 404;  // measured anew
  gpu_.more_when_cold = {{"stream_1xf16", 0.0085}, {"ordered_1xf16", 0.01}};
  c = choice(p);
  EXPECT_EQ(c.kernel->name(), "stream_1xf16");
  EXPECT_EQ(of(c, "ordered_1xf16").launches, 3);
  EXPECT_NE(c.reason.find("ordered_1xf16 107 µs measured, but 3 launches a call"), std::string::npos) << c.reason;
  p.length = 408;
  gpu_.more_when_cold = {{"stream_1xf16", 0.01}, {"ordered_1xf16", 0.01}};
  EXPECT_EQ(choice(p).kernel->name(), "ordered_1xf16");
}

TEST_F(PlannerOnAGpu, MeasuresFurtherDownUntilOneHasRun) {
  auto p = find_preset("kernelbench-64-small").problem;
  for (const auto* k : all_kernels())
    if (k->kind() == KernelKind::ladder && k->name() != "direct")
      gpu_.fails[k->name()] = [] { throw DeviceError("refused"); };
  Choice c = choice(p, Accuracy::strict);
  EXPECT_EQ(c.kernel->name(), "direct") << "far slower than six times the model's best";
  EXPECT_TRUE(c.candidates[0].measured_ms);
}

TEST_F(PlannerOnAGpu, SaysTheFirstReasonWhereNoneRuns) {
  int n = 0;
  gpu_.all = [&] { throw DeviceError("reason " + std::to_string(++n)); };
  EXPECT_EQ(test::error_of<DeviceError>([&] { choice(p_); }), "reason 1");
  EXPECT_GT(n, 5);
}

// Whoever asks again is told the same, and gets the same exit code: a reason that was kept keeps its kind.
TEST_F(PlannerOnAGpu, SaysTheSameReasonAgain) {
  auto twice = [&]<class Error>(const Error& error, const std::string& says) {
    planner_ = {}, gpu_.failed = 0;
    gpu_.all = [&] { throw error; };
    EXPECT_EQ(test::error_of<Error>([&] { choice(p_); }), says);
    const int tried = gpu_.failed;
    EXPECT_EQ(test::error_of<Error>([&] { choice(p_); }), says);
    EXPECT_EQ(gpu_.failed, tried) << "nothing is tried again";
  };
  twice(DeviceError("launching failed"), "launching failed");
  twice(MissingError("no device code of it", "build with it"), "no device code of it; build with it");
  twice(KernelFault("grid.x 0"), "grid.x 0");
}

// Another process has taken what was free, and gives it back.
TEST_F(PlannerOnAGpu, MemoryThatIsTakenMayComeFree) {
  gpu_.taking = [] { throw InputError("memory", "3.00 GiB", "needed at once"); };
  for (int i = 0; i < 2; i++)
    EXPECT_EQ(test::error_of<InputError>([&] { choice(p_); }), "memory 3.00 GiB needed at once");
  gpu_.taking = nullptr;
  for (const auto& k : choice(p_).candidates) EXPECT_FALSE(k.refused.starts_with("cannot be run")) << k.refused;
}

TEST_F(PlannerOnAGpu, ACancelIsSeenWhileMemoryIsTaken) {
  int taken = 0;
  gpu_.taking = [&] { taken++, activity_.cancel(); };
  EXPECT_THROW(choice(p_), Cancelled);
  EXPECT_EQ(taken, 1) << "no other tensor is laid";
  EXPECT_EQ(gpu_.written, 0);
}

TEST_F(PlannerOnAGpu, ALostContextAndACancelEndTheChoice) {
  int n = 0;
  gpu_.all = [&] { n++, throw DeviceError("an illegal address", true); };
  EXPECT_EQ(test::error_of<DeviceError>([&] { choice(p_); }), "an illegal address");
  EXPECT_EQ(n, 1) << "nothing more was asked of it";
  gpu_.all = [&] { n++, throw Cancelled(); };
  EXPECT_THROW(choice(p_), Cancelled);
  EXPECT_EQ(n, 2);
}

TEST_F(PlannerOnAGpu, KnowsItsSharedMemory) {
  auto p = find_preset("kernelbench-74-small").problem;
  EXPECT_EQ(of(choice(p, Accuracy::tf32x3), "mma_3xtf32").refused, "");
  gpu_.described().shared_bytes_per_block = 99 * 1024, gpu_.described().architecture = "sm_89";
  EXPECT_EQ(of(choice(p, Accuracy::tf32x3), "mma_3xtf32").refused,
            "asks for 103424 bytes of shared memory a block (mma_tiles_3xtf32), sm_89 gives 101376");
  const Device& device = gpu_;
  EXPECT_EQ(device.unavailable(find_kernel("registers"), find_kernel("registers").plan_for(p)), "");
}

// Multiply-adds in f64 are an architecture's own, also where another one's data sheet stands for the rest: B300 and
// Thor have a 64th of f32's, B200 half.
TEST(Target, KnowsItsOwnF64) {
  for (auto [architecture, ratio] : {std::pair{"sm_75", 1. / 32},
                                     {"sm_80", 0.5},
                                     {"sm_86", 1. / 64},
                                     {"sm_87", 1. / 64},
                                     {"sm_88", 1. / 64},
                                     {"sm_89", 1. / 64},
                                     {"sm_90", 0.5},
                                     {"sm_100", 0.5},
                                     {"sm_103", 1. / 64},
                                     {"sm_110", 1. / 64},
                                     {"sm_120", 1. / 64},
                                     {"sm_121", 1. / 64}}) {
    EXPECT_EQ(Target::of_architecture(architecture).f64_ratio, ratio) << architecture;
    DeviceInfo device;
    device.kind = DeviceInfo::Kind::cuda, device.architecture = architecture;
    EXPECT_EQ(Target::of(device).f64_ratio, ratio) << architecture;
  }
  auto p = find_preset("kernelbench-64").problem;
  p.dtype = DType::f64;
  const auto ms = [&](const char* on) {
    return predicted_ms(find_kernel("registers"), p, Target::of_architecture(on));
  };
  EXPECT_GT(ms("sm_103"), 20 * ms("sm_100"));
}

TEST(Target, KnowsTheArchitecturesOfCuda) {
  for (const char* bad : {"",       "90",     "sm_",    "sm_9x",  "sm_30",  "sm_70",     "sm_12345", "hopper",
                          "sm_80x", "sm_80a", "sm_90b", "sm_90f", "sm_91",  "sm_1000",   "sm_100b",  "sm_90aa",
                          "sm_",    "SM_90",  "sm_ 90", "sm_090", "sm_90 ", "compute_90"}) {
    auto said = test::error_of<InputError>([&] { Target::of_architecture(bad); });
    EXPECT_TRUE(said.starts_with("architecture " + std::string(bad))) << bad << ": " << said;
    EXPECT_NE(said.find("must be one of sm_75, sm_80, "), std::string::npos) << said;
  }
  for (const auto& a : target_architectures()) {
    const std::string plain = "sm_" + std::to_string(a.sm);
    EXPECT_EQ(Target::of_architecture(plain).architecture, plain);
    for (const char* letter = a.letters; *letter; letter++)
      EXPECT_EQ(Target::of_architecture(plain + *letter).architecture, plain);
    EXPECT_GT(Target::of_architecture(plain).fma_gflops, 0);
  }
}

}  // namespace
}  // namespace convscope
