// What cuDNN's descriptors take, which it says without a GPU; only for builds that have cuDNN's header.
#include <gtest/gtest.h>

#include "kernels/reference/cudnn_ways.h"
#include "tests/convolution.h"

namespace convscope {
namespace {

using namespace convscope::test;

class CudnnDescriptorsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto& state = cudnn::library_state(); !state.missing.empty())
      GTEST_SKIP() << state.missing << "; " << state.how;
  }
};

TEST_F(CudnnDescriptorsTest, LibraryIsVersionNine) {
  EXPECT_TRUE(cudnn::library_state().version.starts_with("9.")) << cudnn::library_state().version;
}

// output_padding below the stride is what a division loses; beyond it, a right padding that is smaller but not
// negative.
TEST_F(CudnnDescriptorsTest, TakeEveryProblemWithinTheRules) {
  Random random(3);
  int legacy = 0, graph = 0, neither = 0;
  for (int i = 0; i < 600; i++) {
    ConvProblem p = random_problem(random);
    SCOPED_TRACE(describe(p));
    bool below_stride = p.output_padding < p.stride, within_padding = p.output_padding <= p.padding;
    EXPECT_EQ(cudnn::beyond_limits(p).empty(), below_stride || within_padding) << cudnn::beyond_limits(p);
    EXPECT_EQ(cudnn::legacy_descriptors_refused(p).empty(), below_stride) << cudnn::legacy_descriptors_refused(p);
    EXPECT_EQ(cudnn::graph_descriptors_refused(p).empty(), below_stride || within_padding)
        << cudnn::graph_descriptors_refused(p);
    if (below_stride)
      legacy++;
    else if (within_padding)
      graph++;
    else
      neither++;
  }
  for (int hit : {legacy, graph, neither}) EXPECT_GE(hit, 5);
}

TEST_F(CudnnDescriptorsTest, TheirLimitOfElementsIsTheOneWeSay) {
  ConvProblem p{1, 2, 1, 1, (int64_t{1} << 30) - 1};
  EXPECT_EQ(cudnn::beyond_limits(p), "");
  EXPECT_EQ(cudnn::legacy_descriptors_refused(p), "");
  p.length++;
  EXPECT_NE(cudnn::beyond_limits(p).find("32 bits: the input's N·Cin·L = 2,147,483,648"), std::string::npos)
      << cudnn::beyond_limits(p);
  EXPECT_NE(cudnn::legacy_descriptors_refused(p), "");
}

TEST_F(CudnnDescriptorsTest, LimitsNameTheSize) {
  ConvProblem p{1, 1, 1, 3, 1, 1, max_parameter, 0, max_parameter};  // Lout is 1
  ASSERT_FALSE(check(p));
  EXPECT_NE(cudnn::beyond_limits(p).find("dilation·(kernel_size − 1) + 1"), std::string::npos);
  p = {2, 1, 1, 1, 1, 1, 0, 0, 1};
  p.batch = max_parameter, p.out_channels = 2;
  ASSERT_FALSE(check(p));
  EXPECT_NE(cudnn::beyond_limits(p).find("the output's N·Cout·Lout"), std::string::npos);
  p = {1, 1, 1, 3, 10, 1, 0, 2, 3};
  ASSERT_FALSE(check(p));
  EXPECT_NE(cudnn::beyond_limits(p).find("padding = 0: this one is 2"), std::string::npos) << cudnn::beyond_limits(p);
}

}  // namespace
}  // namespace convscope
