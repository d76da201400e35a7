// What differs from run to run, what ends a run, what never starts, and other lengths.
#include <gtest/gtest.h>

#include "kernels/base/text.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/kernels/verify/judging.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::evidence;
using test::general;
using test::has;
using test::judged;
using test::layer_status;

RunReport judged_anew(const std::string& kernel, const ConvProblem& p = general) {
  test::forget_launches();
  return judged(kernel, p);
}

// ---- determinism ----------------------------------------------------------------------------------------------------

TEST(JudgeRuns, HarmlessOrderDependencePasses) {
  ConvProblem p{
      .batch = 2, .in_channels = 64, .out_channels = 4, .kernel_size = 8, .length = 40, .stride = 2, .padding = 3};
  auto r = judged("scatter", p);
  EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
  EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::pass);
  EXPECT_TRUE(has(evidence(r, "determinism"), "order-dependent, spread "));
  EXPECT_TRUE(has(evidence(r, "determinism"), "within the bound"));
  EXPECT_FALSE(has(evidence(r, "determinism"), "spread 0 "));
  // Each element is counted once, however many runs it differs in.
  auto text = evidence(r, "determinism");
  auto at = text.find(" in ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LE(std::stoll(text.substr(at + 4)), p.y_elements());
  EXPECT_TRUE(
      has(evidence(judged("direct", p), "determinism"), "3 runs bitwise the same, one of them in a shuffled order"));
}

TEST(JudgeRuns, OrderDependenceBeyondTheBoundFails) {
  auto r = judged("order_decides", general);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::fail) << evidence(r, "determinism");
  EXPECT_TRUE(has(evidence(r, "determinism"), "beyond the bound"));
  EXPECT_TRUE(has(r.verdict.sentence, "results differ between runs by up to "));
}

TEST(JudgeRuns, AMissingBarrierIsNoDependenceOnTheOutput) {
  auto r = judged("no_barrier", general);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::fail) << r.verdict.sentence;
  EXPECT_EQ(layer_status(r, "memory"), LayerStatus::pass) << evidence(r, "memory");
  EXPECT_TRUE(has(r.verdict.sentence, "results differ between runs"));
  EXPECT_FALSE(has(r.verdict.sentence, "reads its output"));
}

TEST(JudgeRuns, RightTheFirstTimeOnly) {
  auto r = judged_anew("right_once");
  EXPECT_EQ(r.error.failing, 0) << "the run that is shown is right";
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::fail);
  EXPECT_TRUE(has(r.verdict.sentence, "results differ between runs by up to "));
  EXPECT_TRUE(has(r.verdict.sentence, "zeros instead of the result"));
}

TEST(JudgeRuns, WrongInOneRun) {
  // Off by one at one element, in the first run or in the second: neither may pass for order dependence within the
  // bound.
  for (const char* kernel : {"wrong_once", "wrong_twice"}) {
    auto r = judged_anew(kernel);
    EXPECT_EQ(r.verdict.status, Status::wrong) << kernel;
    EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::fail) << kernel << ": " << evidence(r, "determinism");
    EXPECT_TRUE(has(r.verdict.sentence, "results differ between runs by up to 1")) << kernel;
    EXPECT_TRUE(has(evidence(r, "determinism"), " in 1 element over 3 runs"));
    EXPECT_FALSE(has(r.verdict.sentence, "reads its output")) << kernel;
  }
}

TEST(JudgeRuns, NaNInOneRunIsNoDependenceOnTheOutput) {
  for (const char* kernel : {"nan_once", "skips_once"}) {
    auto r = judged_anew(kernel);
    EXPECT_EQ(r.verdict.status, Status::wrong) << kernel;
    EXPECT_EQ(r.verdict.sentence,
              "wrong: results differ between runs: some are not finite; 1 element beyond the rounding "
              "bound, worst over a million times the bound, first at n 0, co 0, j 7: NaN instead of " +
                  number_text(r.error.first_failing->expected))
        << kernel;
    EXPECT_EQ(evidence(r, "determinism"),
              "order-dependent, some not finite in 1 element over 3 runs, beyond the bound");
    EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::fail) << kernel;
    EXPECT_EQ(layer_status(r, "memory"), LayerStatus::pass) << evidence(r, "memory");
  }
}

TEST(JudgeRuns, CachedByPointer) {
  auto r = judged_anew("cached_by_pointer");
  EXPECT_EQ(r.error.failing, 0);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(layer_status(r, "memory"), LayerStatus::fail);
  EXPECT_TRUE(has(r.verdict.sentence, "leaves 2,160 elements unwritten when it is run again"));
  EXPECT_FALSE(has(r.verdict.sentence, "reads its output"));
}

// ---- crashes --------------------------------------------------------------------------------------------------------

void expect_crash(const RunReport& r, const std::string& what) {
  EXPECT_EQ(r.verdict.status, Status::crashed);
  EXPECT_EQ(r.verdict.exit_code, 4);
  EXPECT_TRUE(has(r.verdict.sentence, "crashed: "));
  EXPECT_TRUE(has(r.verdict.sentence, what));
  EXPECT_EQ(layer_status(r, "binding"), LayerStatus::pass);
  EXPECT_EQ(layer_status(r, "memory"), LayerStatus::fail);
  int memory_layers = 0;
  for (const auto& l : r.verdict.layers) memory_layers += l.name == "memory";
  EXPECT_EQ(memory_layers, 1);
}

std::string line(const std::string& mark) {
  const char* file = "tests/kernels/verify/faults_machine.cu";
  return std::string(file) + ":" + std::to_string(test::line_of(file, "// FAULT " + mark));
}

TEST(JudgeRuns, MachineFaultsSayWhere) {
  auto p = general;
  p.batch = 1, p.length = 15;  // 6·30 elements: the last block has threads to spare
  ASSERT_NE(p.y_elements() % 64, 0);
  auto r = judged("shuffle_after_return", p);
  expect_crash(r, line("shuffle"));
  EXPECT_TRUE(has(r.verdict.sentence, "__shfl_xor_sync with mask 0xffffffff names lane"));
  EXPECT_TRUE(has(r.verdict.sentence, "kernel shuffle_after_return_f32, block ("));
  EXPECT_EQ(judged("barrier_in_branch", p).verdict.status, Status::right) << "who has exited is not waited for";
  // The control: where all threads have an element there is no fault.
  p.length = 16;
  p.out_channels = 2;
  ASSERT_EQ(p.y_elements() % 64, 0);
  EXPECT_EQ(judged("shuffle_after_return", p).verdict.status, Status::right);
  EXPECT_EQ(judged("barrier_in_branch", p).verdict.status, Status::right);
}

TEST(JudgeRuns, AGridThatCannotBeLaunched) {
  // No fault of the kernel's code: it never ran.
  auto expect_not_bound = [](const RunReport& r, const std::string& why) {
    SCOPED_TRACE(r.verdict.sentence);
    EXPECT_EQ(r.verdict.status, Status::not_run);
    EXPECT_EQ(r.verdict.exit_code, 1);
    EXPECT_EQ(layer_status(r, "binding"), LayerStatus::fail);
    EXPECT_TRUE(has(evidence(r, "binding"), why));
    EXPECT_EQ(r.verdict.find("memory"), nullptr);
  };
  const std::string wide = "cannot be launched: kernel too_wide_f32: grid.y 70000 must be between 1 and 65535";
  expect_not_bound(judged("too_wide", general), wide);
  // A specimen whose channels are in grid.y.
  ConvProblem p{.out_channels = 70000, .kernel_size = 1, .length = 2};
  expect_not_bound(judged("S2", p), "grid.y 70000 must be between 1 and 65535");
}

TEST(JudgeRuns, ALaterCrashIsAVerdictToo) {
  auto r = judged_anew("traps_later");
  expect_crash(r, "__trap()");
}

TEST(JudgeRuns, TileIndexedByGlobalPosition) {
  ConvProblem p{.batch = 2, .in_channels = 3, .out_channels = 4, .kernel_size = 5, .length = 1000};
  auto r = judged("tile_by_global_position", p);
  EXPECT_EQ(r.verdict.status, Status::wrong) << r.verdict.sentence;
  EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail);
  EXPECT_EQ(r.exact->places.first_column, 64) << "the first tile is right";
  EXPECT_TRUE(has(r.verdict.sentence, "from position 64 on"));
  p.length = 60;
  EXPECT_EQ(judged("tile_by_global_position", p).verdict.status, Status::right) << "one tile";
}

// ---- not run --------------------------------------------------------------------------------------------------------

TEST(JudgeRuns, NotSupportedAndNotThere) {
  auto p = general;
  p.groups = 2;
  auto r = judged("no_groups", p);
  EXPECT_EQ(r.verdict.status, Status::not_run);
  EXPECT_EQ(r.verdict.exit_code, 2);
  EXPECT_EQ(r.verdict.sentence, "not run: no_groups takes one group only");
  EXPECT_EQ(layer_status(r, "binding"), LayerStatus::fail);
  EXPECT_FALSE(r.tensors);
  EXPECT_EQ(judged("no_groups", general).verdict.status, Status::right);

  r = judged("needs_blackwell", general);
  EXPECT_EQ(r.verdict.status, Status::not_run);
  EXPECT_EQ(r.verdict.exit_code, 3);
  EXPECT_TRUE(has(r.verdict.sentence, "needs sm_100a, tcgen05"));
  EXPECT_TRUE(has(r.verdict.sentence, "run it on a GPU"));
}

// Its plan may divide by what only such problems have: it is not asked for one. (Two rungs did.)
TEST(JudgeRuns, WhatIsNotTakenIsNotPlanned) {
  int refused = 0;
  for (const auto* k : all_kernels())
    for (const auto& preset : k->kind() == KernelKind::ladder ? presets() : std::vector<Preset>{})
      for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        ConvProblem p = preset.problem;
        p.dtype = type;
        const bool taken = k->unsupported(p).empty();
        EXPECT_EQ(k->plan_for(p).launches().empty(), !taken) << k->name() << " on " << describe(p);
        refused += !taken;
      }
  EXPECT_GT(refused, 500);
  for (const char* kernel : {"hopper_16bit", "held_16bit"}) {
    auto r = judged(kernel, general);
    EXPECT_EQ(r.verdict.status, Status::not_run);
    EXPECT_EQ(r.verdict.sentence, std::string("not run: ") + kernel + " takes f16 and bf16 only");
  }
}

TEST(JudgeRuns, IllegalProblemsAreRefused) {
  auto p = general;
  p.output_padding = 3;
  EXPECT_THROW(judged("faultless", p), InputError);
  p = general;
  p.batch = 60000, p.out_channels = 60000, p.length = 1;  // legal, and 40 GB of output
  EXPECT_FALSE(check(p));
  EXPECT_NE(test::error_of<InputError>([&] { judged("faultless", p); }).find("memory"), std::string::npos);
}

// ---- lengths --------------------------------------------------------------------------------------------------------

TEST(JudgeRuns, OtherLengths) {
  for (auto [kernel, own] : {std::pair{"one_longer", int64_t{121}}, {"one_shorter", int64_t{119}}}) {
    auto r = judged(kernel, general);
    EXPECT_EQ(r.verdict.status, Status::wrong);
    EXPECT_EQ(r.verdict.exit_code, 1);
    EXPECT_EQ(r.own_length, own);
    EXPECT_EQ(layer_status(r, "shape"), LayerStatus::fail);
    EXPECT_TRUE(has(r.verdict.sentence, "its output is " + std::to_string(own) + " long, the problem's 120"));
    EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::pass)
        << "right on the overlap: " << evidence(r, "mathematics");
    EXPECT_EQ(layer_status(r, "memory"), LayerStatus::pass) << evidence(r, "memory");
    EXPECT_TRUE(
        has(evidence(r, "shape"), "judged on the first " + std::to_string(std::min<int64_t>(own, 120)) + " positions"));
    EXPECT_EQ(r.error.elements, 18 * std::min<int64_t>(own, 120));
  }
  // One short is the length without output_padding.
  EXPECT_TRUE(has(judged("one_shorter", general).verdict.sentence, "as if output_padding were 0"));
}

TEST(JudgeRuns, MissingPositionsAreShownAsUnwritten) {
  auto r = judged("one_shorter", general);
  ASSERT_TRUE(r.tensors);
  EXPECT_EQ(r.tensors->columns, 120);
  auto oracle = make_cpu_oracle(general, *r.inputs);
  for (int64_t row = 0; row < 18; row++) {
    EXPECT_EQ(r.tensors->flags_at(row * 120 + 119), flag_unwritten | flag_failing);
    EXPECT_EQ(r.tensors->flags_at(row * 120 + 118), 0);
    double expected;
    oracle->compute({row, 1, 119, 1}, &expected, nullptr);
    EXPECT_EQ(static_cast<float>(r.tensors->reference_at(row * 120 + 119)), static_cast<float>(expected));
  }
}

TEST(JudgeRuns, NoOutputAtAll) {
  auto r = judged("much_shorter", general);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(layer_status(r, "shape"), LayerStatus::fail);
  for (const char* layer : {"memory", "mathematics", "determinism"})
    EXPECT_EQ(layer_status(r, layer), LayerStatus::skipped) << layer;
  EXPECT_TRUE(has(r.verdict.sentence, "its output is -999880 long, the problem's 120"));
  EXPECT_EQ(r.error.elements, 0);
}

}  // namespace
}  // namespace convscope
