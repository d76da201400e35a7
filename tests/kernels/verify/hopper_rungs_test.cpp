// Hopper's rungs on the emulator, in all their forms, as the judge sees them: bitwise on integers, in shuffled orders.
#include <gtest/gtest.h>
#include <ostream>
#include <set>

#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/element_trace.h"
#include "tests/hopper_problems.h"
#include "tests/kernels/verify/judging.h"
#include "tests/support.h"

namespace convscope {
namespace {

RunReport judged_as_promised(const char* name, const ConvProblem& p) {
  RunSpec spec = test::quick();
  spec.verdict_only = true;
  if (p.dtype == DType::f32) spec.accuracy = *accuracy_from(find_kernel(name).accuracy());
  return test::judged(name, p, spec);
}

struct Case {
  const char* name;
  DType dtype;
  size_t forms;  // that its problems reach
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name << " in " << name_of(c.dtype); }
};
class HopperRungs : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Emulated, HopperRungs,
                         testing::Values(Case{"hopper_tf32", DType::f32, 6}, Case{"hopper_3xtf32", DType::f32, 4},
                                         Case{"hopper_1xf16", DType::f32, 6}, Case{"hopper_3xf16", DType::f32, 4},
                                         Case{"stream_1xf16", DType::f32, 5}, Case{"stream_3xf16", DType::f32, 5},
                                         Case{"ordered_1xf16", DType::f32, 5}, Case{"ordered_3xf16", DType::f32, 5},
                                         Case{"stream_tf32", DType::f32, 2}, Case{"stream_3xtf32", DType::f32, 2},
                                         Case{"hopper_16bit", DType::f16, 7}, Case{"hopper_16bit", DType::bf16, 7},
                                         Case{"ordered_16bit", DType::f16, 4}, Case{"ordered_16bit", DType::bf16, 4}),
                         [](const auto& info) {
                           return std::string(info.param.name) + "_" + std::string(name_of(info.param.dtype));
                         });

TEST_P(HopperRungs, AreRightInAllTheirForms) {
  const Case& c = GetParam();
  const auto& k = find_kernel(c.name);
  test::Random r(8);
  std::set<std::string> forms;
  const int few = test::cases(10, 300);
  const double most = 1e8 * test::cases(1, 10) / test::fewer;
  for (int ran = 0, drawn = 0; ran < few || forms.size() < c.forms;) {
    ASSERT_LT(drawn++, 10000) << "only " << forms.size() << " forms";
    ConvProblem p = test::hopper_problem(r, c.dtype);
    if (check(p) || !k.unsupported(p).empty() || p.y_elements() > 500'000) continue;
    const std::string form = k.plan_for(p).launches().back().entry.name;
    const bool another = !forms.contains(form);
    if ((ran >= few && !another) || test::padded_products(p) > (another ? 2 : 1) * most) continue;
    forms.insert(form);
    auto report = judged_as_promised(c.name, p);
    ASSERT_EQ(report.verdict.status, Status::right) << describe(p) << ": " << report.verdict.sentence;
    ran++;
  }
}

TEST(HopperRung, FormsForSomeLayersAreRight) {
  for (const auto& [name, form, p] : test::form_problems()) {
    EXPECT_STREQ(find_kernel(name).plan_for(p).launches().back().entry.name, form) << describe(p);
    if (flops(p) > (test::fewer > 1 ? 8e6 : test::long_run() ? 1e12 : 2.5e7)) continue;
    auto report = judged_as_promised(name, p);
    ASSERT_EQ(report.verdict.status, Status::right) << name << " on " << describe(p) << ": " << report.verdict.sentence;
  }
}

// Two warpgroups share the weights of long sums where there is more than one tile for each block; of an odd number of
// tiles the last one has no second.
TEST(HopperRung, WarpgroupsShareWeightsInSixteenBits) {
  ConvProblem p{.batch = 135,
                .in_channels = 512,
                .out_channels = 16,
                .kernel_size = 16,
                .length = 100,
                .stride = 8,
                .padding = 4};
  p.dtype = DType::f16;
  auto shared_bytes = [](const ConvProblem& of) {
    return find_kernel("hopper_16bit").plan_for(of).launches().back().dynamic_shared_bytes;
  };
  ConvProblem fewer = p;
  fewer.batch = 132;
  EXPECT_NE(shared_bytes(p), shared_bytes(fewer)) << "one ring, and two";
  auto report = judged_as_promised("hopper_16bit", p);
  EXPECT_EQ(report.verdict.status, Status::right) << report.verdict.sentence;
}

TEST(HopperRung, HeldIsRightInAllItsForms) {
  const auto& k = find_kernel("held_16bit");
  test::Random r(15);
  std::set<std::string> forms;
  const int few = test::cases(12, 200);
  for (int i = 0, ran = 0; ran < few || forms.size() < size_t{test::held_entries}; i++) {
    ASSERT_LT(i, 10000) << "only " << forms.size() << " forms";
    ConvProblem p = test::held_problem(r, i);
    if (check(p) || !k.unsupported(p).empty() || flops(p) > 2e8 / test::fewer) continue;
    const bool another = forms.insert(k.plan_for(p).launches().back().entry.name).second;
    if (ran >= few && !another) continue;
    auto report = judged_as_promised("held_16bit", p);
    ASSERT_EQ(report.verdict.status, Status::right) << describe(p) << ": " << report.verdict.sentence;
    ran++;
  }
  EXPECT_EQ(forms.size(), size_t{test::held_entries});
}

TEST(HopperRung, BoxesOfResultsAreRight) {
  int boxes = 0;
  for (const ConvProblem& p : test::box_problems()) {
    if (flops(p) > 1e8 / test::fewer) continue;
    boxes += std::string(find_kernel("hopper_3xtf32").plan_for(p).launches().back().entry.name).ends_with("_boxes");
    auto report = judged_as_promised("hopper_3xtf32", p);
    ASSERT_EQ(report.verdict.status, Status::right) << describe(p) << ": " << report.verdict.sentence;
  }
  EXPECT_GE(boxes, test::fewer > 1 ? 4 : 8);
}

// Work that is cut: blocks wait for what blocks of lower numbers tell them.
TEST(HopperRung, LongSumsAreSharedAmongBlocks) {
  ConvProblem p;
  const bool small = test::fewer > 1;
  p.in_channels = small ? 512 : 1024, p.out_channels = 24, p.kernel_size = 3, p.bias = true;
  p.length = small ? 100 : 200;
  const Plan plan = find_kernel("stream_tf32").plan_for(p);
  EXPECT_TRUE(plan.launches().back().in_order);
  EXPECT_GT(plan.launches().back().grid.count(), small ? 1 : 2) << "more blocks than tiles of results";
  for (const char* name : {"stream_tf32", "stream_3xtf32"}) {
    auto report = judged_as_promised(name, p);
    EXPECT_EQ(report.verdict.status, Status::right) << report.verdict.sentence;
  }
  // A warpgroup waits for the other one of its own block.
  p = {};
  p.in_channels = 64, p.kernel_size = 8, p.length = small ? 3000 : 10000;
  EXPECT_GT(find_kernel("stream_3xtf32").plan_for(p).launches().back().grid.count(), small ? 12 : 40);
  auto report = judged_as_promised("stream_3xtf32", p);
  EXPECT_EQ(report.verdict.status, Status::right) << report.verdict.sentence;
}

// What the copy engine writes is written by the thread that orders it.
TEST(HopperRung, BoxesAreTraced) {
  auto p = find_preset("kernelbench-74-small").problem;
  Activity activity;
  ElementTrace t = trace_element(find_kernel("hopper_3xtf32"), p, {}, 0, 5, 777, activity);
  if (!t.reason.empty()) GTEST_SKIP() << t.reason;
  ASSERT_EQ(t.writes, 1);
  EXPECT_TRUE(t.writers[0].file.ends_with("hopper_boxes.h")) << t.writers[0].file;
  EXPECT_GT(t.writers[0].line, 0);
}

}  // namespace
}  // namespace convscope
