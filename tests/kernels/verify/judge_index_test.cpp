// Kernels with a wrong index: the mathematics fails, nothing else does, and the sentence says what is wrong and where.
#include <gtest/gtest.h>

#include "kernels/problem/counts.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::evidence;
using test::general;
using test::has;
using test::judged;
using test::layer_status;

const ConvProblem grouped{.batch = 2,
                          .in_channels = 6,
                          .out_channels = 9,
                          .kernel_size = 4,
                          .length = 80,
                          .stride = 1,
                          .padding = 2,
                          .groups = 3};

// Wrong by its mathematics and by nothing else.
RunReport wrong_sums(const std::string& kernel, const ConvProblem& p) {
  auto r = judged(kernel, p);
  SCOPED_TRACE(kernel + ": " + r.verdict.sentence);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(r.verdict.exit_code, 1);
  for (const char* layer : {"compile", "binding", "shape", "memory", "determinism"})
    EXPECT_EQ(layer_status(r, layer), LayerStatus::pass) << layer << ": " << evidence(r, layer);
  EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail);
  EXPECT_EQ(layer_status(r, "speed"), LayerStatus::skipped);
  EXPECT_TRUE(has(r.verdict.sentence, "wrong: "));
  EXPECT_TRUE(has(evidence(r, "mathematics"), "not bitwise right, first at n"));
  EXPECT_TRUE(r.exact && r.exact->failing > 0);
  EXPECT_FALSE(r.precision);
  EXPECT_EQ(r.precision_skipped, "sums of smaller integers are not right already");
  EXPECT_EQ(r.accuracy_ran, "unknown");
  return r;
}

TEST(JudgeIndex, ARightKernelIsRight) {
  for (const auto& p : {general, grouped}) {
    auto r = judged("faultless", p);
    EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
    EXPECT_EQ(r.verdict.exit_code, 0);
    EXPECT_TRUE(has(r.verdict.sentence, "bitwise on integers"));
    for (const char* layer : {"compile", "binding", "shape", "memory", "mathematics", "determinism"})
      EXPECT_EQ(layer_status(r, layer), LayerStatus::pass) << layer << ": " << evidence(r, layer);
    EXPECT_TRUE(has(evidence(r, "determinism"), "3 runs bitwise the same, one of them in a shuffled order"));
    EXPECT_EQ(r.error.failing, 0);
    EXPECT_EQ(r.exact->failing, 0);
    EXPECT_EQ(r.precision->failing, 0);
    EXPECT_EQ(r.accuracy_ran, "strict");
  }
}

TEST(JudgeIndex, OneTapOfOneChannel) {
  auto r = wrong_sums("drops_a_tap", general);
  EXPECT_EQ(r.exact->failing, 3 * 60) << "tap 1 reaches each even output";
  EXPECT_EQ(r.exact->first_failing->co, 2);
  EXPECT_TRUE(has(r.pattern.where, "in channel 2"));
  EXPECT_TRUE(has(r.pattern.where, "even outputs (j mod 2 = 0)"));
  EXPECT_TRUE(has(r.pattern.where, "no odd one"));
  EXPECT_TRUE(has(r.verdict.sentence, "8.3 % of the elements"));
}

// One product of 6400 or so, where rounding hides it: the requested inputs need not show it, the integers must.
TEST(JudgeIndex, OneTapOf6400Terms) {
  ConvProblem p{.in_channels = 1024,
                .out_channels = 4,
                .kernel_size = 25,
                .length = 16,
                .stride = 4,
                .padding = 11,
                .output_padding = 1};
  auto r = wrong_sums("drops_a_tap", p);
  int64_t reached = 0;
  for (int64_t j = 0; j < p.out_length(); j++)
    for (const Tap& t : taps_at(p, j)) reached += t.k == 1;
  EXPECT_GT(reached, 10);
  EXPECT_EQ(r.exact->failing, reached) << "every element that the dropped product belongs to, and no other";
  EXPECT_LT(r.error.gates[0].failing, reached / 2) << "the gate of 1e-2 lets most pass";
  EXPECT_TRUE(has(r.pattern.where, "in channel 2"));
  EXPECT_EQ(judged("faultless", p).verdict.status, Status::right);
}

TEST(JudgeIndex, Borders) {
  for (int64_t length : {60, 500}) {
    auto p = general;
    p.length = length;
    // Input 0 lands on k − p, so on 0 and 1; the last one on the last three.
    auto left = wrong_sums("left_border", p);
    EXPECT_TRUE(has(left.verdict.sentence, "only at the border: positions 0–1"));
    EXPECT_EQ(left.error.failing, 3 * 6 * 2);
    auto right = wrong_sums("right_border", p);
    EXPECT_TRUE(has(right.verdict.sentence, "only at the border: the last 3 positions"));
    EXPECT_EQ(right.error.failing, 3 * 6 * 3);
  }
  // The control: a fault that is also elsewhere is none of the border.
  EXPECT_FALSE(has(judged("drops_a_tap", general).verdict.sentence, "border"));
}

TEST(JudgeIndex, ExchangedChannels) {
  auto r = wrong_sums("exchanged_channels", general);
  EXPECT_TRUE(has(r.verdict.sentence, "channels exchanged: 0 and 1, 2 and 3, 4 and 5"));
  auto wide = general;
  wide.out_channels = 40;
  r = wrong_sums("exchanged_channels", wide);
  EXPECT_TRUE(has(r.verdict.sentence, "channels exchanged: 0 and 1, "));
  r = wrong_sums("exchanged_pair", wide);
  EXPECT_TRUE(has(r.verdict.sentence, "channels exchanged: 4 and 5"));
  EXPECT_TRUE(has(r.verdict.sentence, "in channels 4–5"));
  r = wrong_sums("rotated_channels", general);
  EXPECT_TRUE(has(r.verdict.sentence, "a channel holds what belongs 1 channel later"));
}

TEST(JudgeIndex, Bias) {
  auto r = wrong_sums("no_bias", general);
  EXPECT_TRUE(has(r.verdict.sentence, "the bias is missing"));
  EXPECT_TRUE(r.pattern.bias_missing);
  r = wrong_sums("bias_by_position", general);
  EXPECT_TRUE(has(r.verdict.sentence, "right but for the bias: that of other channels is added"));
  EXPECT_FALSE(r.pattern.bias_missing);
  // Without a bias neither has a fault.
  auto p = general;
  p.bias = false;
  EXPECT_EQ(judged("no_bias", p).verdict.status, Status::right);
  EXPECT_EQ(judged("bias_by_position", p).verdict.status, Status::right);
}

TEST(JudgeIndex, Factors) {
  auto r = wrong_sums("doubled", general);
  EXPECT_TRUE(has(r.verdict.sentence, "every value is 2 times the right one"));
  EXPECT_EQ(r.pattern.factor, 2.0);
  r = wrong_sums("all_zero", general);
  EXPECT_TRUE(has(r.verdict.sentence, "zeros instead of the result"));
  EXPECT_EQ(r.pattern.factor, 0.0);
  EXPECT_EQ(r.error.failing, r.error.elements);
  r = wrong_sums("doubled_channel", general);
  EXPECT_TRUE(has(r.verdict.sentence, "every value is 2 times the right one; in channel 1"));
}

TEST(JudgeIndex, MirroredTaps) {
  auto r = wrong_sums("mirrored_taps", general);
  // With three taps at stride 2 the middle one stays where it is.
  EXPECT_TRUE(has(r.verdict.sentence, "every odd output (j mod 2 = 1), and no even one"));
  auto p = general;
  p.kernel_size = 4;
  r = wrong_sums("mirrored_taps", p);
  EXPECT_TRUE(
      has(r.verdict.sentence, "in all residues of j mod 2, in all channels and batches, and no shift explains it"));
}

TEST(JudgeIndex, WeightLayout) {
  auto r = wrong_sums("transposed_weights", general);
  EXPECT_GT(r.exact->failing, r.exact->elements * 7 / 10);
  EXPECT_TRUE(has(r.verdict.sentence, "no shift explains it"));
  EXPECT_FALSE(has(r.verdict.sentence, "border"));
  // One channel each: no layout to be wrong.
  auto p = general;
  p.in_channels = p.out_channels = 1;
  EXPECT_EQ(judged("transposed_weights", p).verdict.status, Status::right);
}

TEST(JudgeIndex, GroupsAndSequences) {
  auto r = wrong_sums("first_group_only", grouped);
  EXPECT_TRUE(has(r.verdict.sentence, "in channels 3–8 (every group but the first)"));
  r = wrong_sums("first_sequence_only", general);
  EXPECT_TRUE(has(r.verdict.sentence, "in batch 1–2 (all but the first)"));
  auto p = general;
  p.batch = 1;
  EXPECT_EQ(judged("first_sequence_only", p).verdict.status, Status::right);
}

TEST(JudgeIndex, GhostTaps) {
  auto r = wrong_sums("ghost_taps", general);
  EXPECT_TRUE(
      has(r.verdict.sentence, "times the energy that belongs there: taps are added that do not land (stride 2)"));
  auto p = general;
  p.stride = 1, p.output_padding = 0;
  EXPECT_EQ(judged("ghost_taps", p).verdict.status, Status::right);
}

// Whatever the requested inputs hide, the judge's own do not.
TEST(JudgeIndex, InputsThatHideTheFault) {
  auto spec = test::quick();
  spec.inputs.x.kind = InputKind::ones, spec.inputs.w.kind = InputKind::ones, spec.inputs.b.kind = InputKind::ones;
  for (const char* kernel :
       {"transposed_weights", "exchanged_channels", "mirrored_taps", "first_sequence_only", "bias_by_position"}) {
    auto r = judged(kernel, general, spec);
    EXPECT_EQ(r.error.failing, 0) << "nothing shows on ones";
    EXPECT_EQ(r.verdict.status, Status::wrong) << kernel;
    EXPECT_GT(r.exact->failing, 0);
  }
  EXPECT_EQ(judged("faultless", general, spec).verdict.status, Status::right);
}

// A single element is right by accident half of the time: few elements are looked at several times.
TEST(JudgeIndex, FewElementsAreNotRightByAccident) {
  auto spec = test::quick();
  spec.inputs.x.kind = InputKind::ones, spec.inputs.w.kind = InputKind::ones;
  int found = 0, problems = 24;
  for (int64_t channels = 1; channels <= problems; channels++) {
    ConvProblem p{.in_channels = channels, .out_channels = 1, .kernel_size = 1, .length = 1};
    auto r = judged("cuts_negatives", p, spec);
    EXPECT_EQ(r.error.failing, 0) << "nothing shows on ones";
    found += r.exact->failing > 0;
    EXPECT_EQ(judged("faultless", p, spec).verdict.status, Status::right);
  }
  EXPECT_GE(found, problems * 5 / 6) << "one look finds a half, four find 15 of 16";
}

// A gate is shown and does not decide, in either direction.
TEST(JudgeIndex, GatesDoNotDecide) {
  auto spec = test::quick();
  spec.tolerance = Gate{100, 0, 0};
  auto r = judged("all_zero", general, spec);
  ASSERT_EQ(r.error.gates.size(), 3u);
  EXPECT_EQ(r.error.gates[2].failing, 0);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  spec.tolerance = Gate{0, 0, 0};
  r = judged("faultless", general, spec);
  EXPECT_GT(r.error.gates[2].failing, 0);
  EXPECT_EQ(r.verdict.status, Status::right);
}

}  // namespace
}  // namespace convscope
