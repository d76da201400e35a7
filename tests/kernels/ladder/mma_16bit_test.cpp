// mma_16bit where it has several stages, tiles and ways of reading and writing; small problems are ladder_test's.
#include <gtest/gtest.h>
#include <set>

#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/rung_problems.h"

namespace convscope {
namespace {

TEST(Mma16Bit, IsRightInAllItsForms) {
  test::Random r(63);
  const auto& k = find_kernel("mma_16bit");
  std::set<std::string> forms;
  for (const test::RungCase& c : test::mma_16bit_cases)
    for (DType type : {DType::f16, DType::bf16})
      for (int64_t more : {0, 1}) {  // rows that begin on 8 bytes, and not
        ConvProblem p = c.problem(type, r() % 2);
        p.length += more;
        ASSERT_FALSE(check(p)) << c.what;
        ASSERT_EQ(k.unsupported(p), "");
        forms.insert(k.plan_for(p).launches().back().entry.name);
        auto t = test::random_tensors(r, p);
        EXPECT_EQ(test::first_wrong(p, t, test::expected_result(p, t), test::run_kernel(k, p, t, r() % 2 ? 0x5eed : 0)),
                  "")
            << c.what << ", " << name_of(type) << ", length " << p.length;
        auto whole = test::integer_tensors(r, p);
        EXPECT_EQ(test::first_wrong(p, whole, test::expected_result(p, whole), test::run_kernel(k, p, whole)), "")
            << c.what << ", integers";
      }
  EXPECT_EQ(forms.size(), 4u);
  ConvProblem p;
  p.dtype = DType::f32;
  EXPECT_NE(k.unsupported(p), "");
}

}  // namespace
}  // namespace convscope
