// Products that a rule gives, all of them: by name, and what looks much like
// them is not called so.
#include <gtest/gtest.h>

#include "kernels/verify/xray.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

struct WholeFault {
  const char *kernel, *sentence;
  int64_t kernel_size = 3, stride = 2, dilation = 2, padding = 1;
};
std::ostream& operator<<(std::ostream& out, const WholeFault& f) { return out << f.kernel; }
Xray ray_of(const WholeFault& f) {
  return test::rayed(f.kernel, {.batch = 2,
                                .in_channels = 6,
                                .out_channels = 5,
                                .kernel_size = f.kernel_size,
                                .length = 101,
                                .stride = f.stride,
                                .padding = f.padding,
                                .dilation = f.dilation,
                                .bias = true});
}
constexpr auto by_kernel = [](const auto& info) { return std::string(info.param.kernel); };

class XrayWhole : public testing::TestWithParam<WholeFault> {};
TEST_P(XrayWhole, IsToldByName) {
  const Xray x = ray_of(GetParam());
  EXPECT_EQ(x.is, Xray::Is::wrong);
  EXPECT_EQ(x.sentence, GetParam().sentence);
  EXPECT_EQ(x.example.empty(), x.sentence.starts_with("its sizes matter"));
}
INSTANTIATE_TEST_SUITE_P(
    All, XrayWhole,
    testing::Values(
        WholeFault{"f_later_channel", "in sequences after the first: the last input channel of a group is left out"},
        WholeFault{"f_last_sequence_channel", "in the last sequence: the last input channel of a group is left out"},
        WholeFault{"f_tile_of_x", "input channel and position are exchanged within tiles of x of 4 × 4"},
        WholeFault{"f_tile_of_w", "input channel and row (co·K + k) are exchanged within tiles of w of 8 × 8"},
        WholeFault{"f_tile_of_columns",
                   "row (co·K + k) and position are exchanged within tiles of the product of w and x of 4 × 4"},
        WholeFault{"f_pairs_of_taps", "from k = 4 on the taps of w are exchanged in pairs, 4 and 5 first", 8},
        WholeFault{"f_one_pair_of_taps",
                   "of 8 taps of w 4 and 5 are exchanged (on 2 × 6→5, K 8, L 11, s 2, p 1, d 2, bias)", 8},
        WholeFault{"f_taps_in_threes", "in blocks of 3 the taps of w are taken in reverse order", 6},
        WholeFault{"f_columns_of_another_order",
                   "the sums of one tap and input each, w·x before it is folded, are written as [N, Cout, K, L] and "
                   "read as [N, Cout, L, K]"},
        WholeFault{"f_parts_of_another_order",
                   "the sums of parts of the input channels are written as [N, parts, Cout, Lout] and read as [parts, "
                   "N, Cout, Lout]"},
        WholeFault{
            "f_no_halo",
            "inputs before i = ⌊(j0 + p)/s⌋ are left out, j0 the first output of a tile of 16: it has no halo on "
            "its left"},
        WholeFault{"f_halo_without_dilation",
                   "inputs before i = ⌊(j0 + p − (K − 1))/s⌋ are left out, j0 the first output of a tile of 16: it has "
                   "a halo of K − 1 on its left, where d·(K − 1) belongs",
                   3, 2, 3},
        WholeFault{"f_tile_of_inputs",
                   "products that land behind the outputs of their input's tile are left out: a tile of 4 inputs has "
                   "outputs from i0·s − p up to the next tile's first"},
        WholeFault{"f_step_of_one",
                   "for the taps that land it takes i = ⌊(j + p)/s⌋ − k, where i = ⌊(j + p)/s⌋ − ⌊k·d/s⌋ belongs", 3, 2,
                   4},
        WholeFault{"f_dilation_of_two_at_most", "min(d, 2) stands where the dilation belongs (with 3 and 4)", 3, 3, 4},
        WholeFault{"f_dilation_of_stride_at_most", "min(d, s) stands where the dilation belongs", 3, 3, 5},
        WholeFault{"f_stride_of_three_at_most", "min(s, 3) stands where the stride belongs (with 4 and 5)", 3, 5, 2},
        WholeFault{"f_padding_below_stride", "min(p, s − 1) stands where the padding belongs", 5, 3, 2, 4},
        WholeFault{"f_padding_modulo", "p mod 2 stands where the padding belongs", 3, 2, 2, 2},
        WholeFault{"f_margin_without_dilation", "p + (d − 1)·(K − 1) stands where the padding belongs"},
        WholeFault{"f_class_without_padding",
                   "a tap is taken where k·d mod s is j mod s, and (j + p) mod s belongs there"},
        WholeFault{
            "f_tap_by_channels",
            "a sum that is counted by r takes x at channel ⌊r/K⌋ and tap ⌊r/Cin⌋, and w at channel ⌊r/K⌋ and tap "
            "r mod K: these are not the same products"},
        WholeFault{"f_none_before_padding", "products that land before position p are left out", 3, 2, 2, 2},
        WholeFault{"f_channels_of_x_modulo",
                   "its sizes matter: right on small problems, wrong on 1 × 5→1, K 1, L 1, s 1, p 0, d 1: the input "
                   "channel of x is ci mod 4, where ci belongs"},
        WholeFault{"f_output_channels_of_w_modulo",
                   "its sizes matter: right on small problems, wrong on 1 × 1→5, K 1, L 1, s 1, p 0, d 1: the output "
                   "channel of w is co mod 4, where co belongs"},
        WholeFault{"f_weights_of_another_channel",
                   "of 6 input channels channel 3 takes the weight of 2 (on 2 × 6→5, K 3, L 11, s 2, p 1, d 2, bias)"},
        WholeFault{
            "f_last_channel_of_few",
            "its sizes matter: right on small problems, wrong on 1 × 1→4, K 1, L 1, s 1, p 0, d 1: the last input "
            "channel's products are left out from output channel co = 3 on"}),
    by_kernel);

// sentence: words of the fault that it is not.
class XrayAlmost : public testing::TestWithParam<WholeFault> {};
TEST_P(XrayAlmost, IsNotCalledSo) {
  const Xray x = ray_of(GetParam());
  EXPECT_NE(x.is, Xray::Is::right);
  EXPECT_EQ(x.sentence.find(GetParam().sentence), std::string::npos) << x.sentence;
  EXPECT_NE(x.sentence, "");
}
INSTANTIATE_TEST_SUITE_P(
    All, XrayAlmost,
    testing::Values(WholeFault{"f_channel_by_sequence", "sequence"}, WholeFault{"f_first_tile_of_x", "tiles"},
                    WholeFault{"f_column_shifted", "tiles"}, WholeFault{"f_one_pair_of_taps", "in pairs", 8},
                    WholeFault{"f_columns_one_on", "written as"}, WholeFault{"f_parts_in_turn", "written as"},
                    WholeFault{"f_less_than_no_halo", "halo"},
                    WholeFault{"f_step_of_two_more", "it takes i = ⌊(j + p)/s⌋"},
                    WholeFault{"f_dilation_less_one_from_three", "stands where", 3, 2, 4},
                    WholeFault{"f_class_of_next", "mod s"}, WholeFault{"f_tap_by_channels_one_on", "counted by r"},
                    WholeFault{"f_none_before_padding_but_one", "before position p", 3, 2, 2, 3},
                    WholeFault{"f_first_channel_from_four", "mod 4"},
                    WholeFault{"f_last_channel_of_one", "from output channel"}),
    by_kernel);

ConvProblem few_channels(int64_t batch) {
  return {.batch = batch, .in_channels = 4, .out_channels = 4, .kernel_size = 5, .length = 50, .padding = 1};
}
// Too many weights to be mapped itself.
ConvProblem many_channels(int64_t batch) {
  return {.batch = batch,
          .in_channels = 24,
          .out_channels = 20,
          .kernel_size = 15,
          .length = 301,
          .stride = 2,
          .padding = 1};
}

// One sequence is cut from a map: the problem that is named is the one that was mapped.
TEST(XraySequences, TheProblemIsNamedThatWasMapped) {
  EXPECT_EQ(test::rayed("f_later_taps", few_channels(4)).sentence,
            "in sequences after the first: of 5 taps of w 0 and 1 are exchanged (on 2 × 3→2, K 5, L 9, s 1, p 1, d 1)");
  // The control: the map is of one sequence itself.
  const Xray x =
      test::rayed("f_one_pair_of_taps", {.in_channels = 6, .out_channels = 5, .kernel_size = 8, .length = 101});
  EXPECT_TRUE(test::has(x.sentence, "4 and 5 are exchanged (on 1 × ")) << x.sentence;
}

// Which sequences are wrong is said only as far as maps tell it.
TEST(XraySequences, TheLastOrAllFromOneOn) {
  auto said = [](const char* kernel, const ConvProblem& p) { return test::rayed(kernel, p).sentence; };
  EXPECT_TRUE(said("f_third_on_taps", few_channels(4)).starts_with("in sequences from n = 2 on: "))
      << said("f_third_on_taps", few_channels(4));
  const std::string three = said("f_third_on_taps", many_channels(3));
  EXPECT_TRUE(test::has(three, "in the last of 3 sequences: ")) << three;
  // The controls.
  EXPECT_TRUE(said("f_last_sequence_taps", few_channels(4)).starts_with("in the last sequence: "))
      << said("f_last_sequence_taps", few_channels(4));
  const std::string alone = said("f_third_alone_taps", few_channels(4));
  EXPECT_FALSE(test::has(alone, " on: ") || test::has(alone, "the last")) << alone;
}

// What stands for the asked problem has two sequences: that it is right says nothing of a third.
TEST(XraySequences, RightHereIsSaidOfWhatIsRightThere) {
  for (const ConvProblem& p : {few_channels(4), few_channels(3), many_channels(3)})
    for (const char* kernel : {"f_third_on_taps", "f_third_alone_taps"}) {
      const Xray x = test::rayed(kernel, p);
      EXPECT_NE(x.is, Xray::Is::right_here_only) << kernel << ": " << x.sentence;
      EXPECT_FALSE(test::has(x.sentence, "right here")) << kernel;
    }
  // The controls: of two sequences none is the third.
  for (const ConvProblem& p : {few_channels(2), many_channels(2)}) {
    const Xray x = test::rayed("f_third_on_taps", p);
    EXPECT_EQ(x.is, Xray::Is::right_here_only);
    EXPECT_TRUE(x.sentence.starts_with("right here, but not in general: ")) << x.sentence;
  }
}

}  // namespace
}  // namespace convscope
