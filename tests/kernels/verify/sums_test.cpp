// What is told of sums that are wrong where the index is right: by the judge's words and by xray's.
#include <gtest/gtest.h>

#include "kernels/verify/pattern_values.h"
#include "kernels/verify/xray.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using Is = Xray::Is;

constexpr ConvProblem small_layer{.batch = 2,
                                  .in_channels = 6,
                                  .out_channels = 8,
                                  .kernel_size = 3,
                                  .length = 90,
                                  .stride = 2,
                                  .padding = 1,
                                  .dilation = 2,
                                  .groups = 2,
                                  .bias = true};

// The sum of another output of the same thread is in each: which one is told, by the verdict and where products are
// mapped, and the maps' words do not stand beside.
TEST(Sums, ThatGoOn) {
  const std::pair<const char*, std::string> cases[] = {
      {"s_positions", "sums go on from the position before where each is to begin anew"},
      {"s_channels", "sums go on from the channel before where each is to begin anew"},
      {"s_all", "sums go on from 128 elements before in y where each is to begin anew"}};
  for (const auto& [kernel, words] : cases)
    for (const bool bias : {false, true}) {
      ConvProblem p = small_layer;
      p.bias = bias;
      const RunReport r = test::judged(kernel, p);
      EXPECT_TRUE(test::has(r.verdict.sentence, words + ": a thread does not reset its sum between two outputs"));
      EXPECT_TRUE(test::has(test::evidence(r, "mathematics"), "; " + words)) << kernel;
      const Xray x = test::rayed(kernel, p);
      EXPECT_TRUE(test::has(x.sentence, words)) << kernel;
    }
  // The control: a kernel with a fault of another kind, and one with a shift, which is told as such.
  for (const char* kernel : {"f_even_channels", "f_no_padding", "s_added"})
    EXPECT_EQ(test::judged(kernel, small_layer).pattern.carried, "") << kernel;
}

TEST(Sums, OfSomethingElseThanProducts) {
  const std::pair<const char*, const char*> cases[] = {
      {"s_added", "x + w"},
      {"s_taken_off", "x − w"},
      {"s_divided", "x/w"},
      {"s_squared", "x·x"},
      {"s_unweighted", "x without its weight"},
  };
  for (const auto& [kernel, words] : cases) {
    const Xray x = test::rayed(kernel, small_layer);
    EXPECT_EQ(x.is, Is::wrong) << kernel;
    EXPECT_EQ(x.sentence, std::string(words) + " is summed where x·w belongs");
    EXPECT_EQ(x.right_formula, "Σ x·w");
  }
  // The products of positive numbers are right.
  EXPECT_TRUE(test::has(test::rayed("s_without_sign", small_layer).sentence, "values or rounding matter"));
  // Two operations at once are none of these.
  EXPECT_EQ(test::rayed("s_neither", small_layer).sentence.find("is summed where"), std::string::npos);
}

TEST(Sums, ABiasWhereTapsLandAlone) {
  const RunReport r = test::judged("f_bias_where_one_lands", small_layer);
  EXPECT_TRUE(test::has(r.verdict.sentence, "the bias is missing where no tap lands"));
  const Xray x = test::rayed("f_bias_where_one_lands", small_layer);
  EXPECT_EQ(x.sentence, "the bias is missing where no tap lands");
}

// Loops whose rest is left out: of what a size has to be a multiple is told, on a problem with such a size and without.
TEST(Sums, OfChannelsByFours) {
  ConvProblem p = small_layer;
  p.groups = 1, p.in_channels = 1;
  Xray x = test::rayed("s_input_fours", p);
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_EQ(x.sentence,
            "right where the number of input channels is a multiple of 4 (4 and 8 were tried), wrong with 1 and 5");
  EXPECT_TRUE(x.fixed.empty()) << "no number that is to be asked for";
  p.in_channels = 8;
  x = test::rayed("s_input_fours", p);
  EXPECT_EQ(x.is, Is::right_here_only);
  EXPECT_EQ(x.sentence,
            "right here, but not in general: right where the number of input channels is a multiple of 4 (8 and 12 "
            "were tried), wrong with 9");
  p.groups = 2, p.in_channels = 2 * 3, p.out_channels = 2 * 8;
  EXPECT_EQ(test::rayed("s_input_fours", p).sentence,
            "right where the number of input channels of a group is a multiple of 4 (4 and 8 were tried), wrong with 3 "
            "and 5");
  EXPECT_TRUE(test::has(test::rayed("s_output_eights", p).sentence,
                        "right where the number of output channels of a group is a multiple of 8 (8 and 16 were "
                        "tried), wrong with 9"));
  // The control.
  EXPECT_EQ(test::rayed("f_right", p).is, Is::right);
}

// Rows of x that are looked for behind its end: a formula of the outputs' channels would give the same.
TEST(Sums, OfTheFirstSequenceAlone) {
  ConvProblem p = small_layer;
  p.groups = 1;
  const Xray x = test::rayed("s_rows_of_32", p);
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_EQ(x.sentence,
            "only the first sequence has its products: those of the others' outputs take nothing that is in x");
  EXPECT_NE(test::rayed("f_first_sequence", p).sentence, x.sentence) << "which takes the first one's x for all";
}

}  // namespace
}  // namespace convscope
