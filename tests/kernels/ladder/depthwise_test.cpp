// The rung depthwise where it is meant to be used: each of its forms in each type, rows at every place of 16 bytes,
// classes that repeat from piece to piece and such that cannot, classes that no tap reaches.
#include <gtest/gtest.h>
#include <set>

#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/rung_problems.h"

namespace convscope {
namespace {

using test::RungCase;

TEST(Depthwise, EachFormIsRightInEachType) {
  test::Random r(61);
  const auto& k = find_kernel("depthwise");
  std::set<std::string> forms;
  for (const RungCase& c : test::depthwise_cases)
    for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      ConvProblem p = c.problem(type, r() % 2);
      ASSERT_FALSE(check(p)) << c.what;
      ASSERT_EQ(k.unsupported(p), "") << c.what;
      Plan plan = k.plan_for(p);
      ASSERT_EQ(plan.launches().size(), 1u);
      const std::string form = plan.launches()[0].entry.name;
      EXPECT_TRUE(form.ends_with(c.form)) << c.what << ": " << form;
      forms.insert(form);
      auto t = test::random_tensors(r, p);
      auto expected = test::expected_result(p, t);
      EXPECT_EQ(test::first_wrong(p, t, expected, test::run_kernel(k, p, t, r() % 2 ? 0x5eed : 0)), "")
          << c.what << ", " << name_of(type);
    }
  EXPECT_EQ(forms.size(), 20u) << "five forms of four types";
}

// Rows of odd lengths begin at every place of 16 bytes; what lies before and after them belongs to others.
TEST(Depthwise, IsRightWhereverRowsBegin) {
  test::Random r(62);
  const auto& k = find_kernel("depthwise");
  for (int64_t length = 40; length < 57; length++)
    for (DType type : {DType::f32, DType::bf16}) {
      const int64_t channels = 9000 / length * 20;
      ConvProblem p = RungCase{"", 1, channels, channels, 3, length, 1, 1, 0, 1, channels}.problem(type, true);
      auto t = test::random_tensors(r, p);
      EXPECT_FALSE(std::string(k.plan_for(p).launches()[0].entry.name).ends_with("_single"));
      EXPECT_EQ(test::first_wrong(p, t, test::expected_result(p, t), test::run_kernel(k, p, t, 0)), "") << length;
    }
}

TEST(Depthwise, SaysWhatItDoesNotTake) {
  const auto& k = find_kernel("depthwise");
  ConvProblem p;
  p.in_channels = p.out_channels = p.groups = 2, p.kernel_size = 2, p.stride = 2;
  p.length = int64_t{1} << 28;
  EXPECT_EQ(k.unsupported(p), "");
  p.length = int64_t{1} << 29;
  EXPECT_NE(k.unsupported(p), "") << "rows of 2^30 outputs";
  p.length = 10, p.stride = (1 << 15) - 1;
  EXPECT_EQ(k.unsupported(p), "");
  p.stride++;
  EXPECT_NE(k.unsupported(p), "");
  p.stride = 1 << 10, p.dilation = (1 << 20) - 1;
  EXPECT_EQ(k.unsupported(p), "");
  p.dilation++;
  EXPECT_NE(k.unsupported(p), "") << "stride · dilation is 2^30";
  p.stride = 1, p.dilation = (1 << 29) - 100;
  EXPECT_EQ(k.unsupported(p), "") << "K · dilation is just below 2^30";
  p.dilation = 1 << 29;
  EXPECT_NE(k.unsupported(p), "");
}

}  // namespace
}  // namespace convscope
