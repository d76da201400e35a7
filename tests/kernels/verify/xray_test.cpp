// The terms of a wrong index by name, from outside: kernels with one fault each, the specimens, and every kernel that
// is right.
#include "kernels/verify/xray.h"

#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/index_channels.h"
#include "kernels/verify/length_formula.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using Is = Xray::Is;

// Stride 3, padding 2, output_padding 1, dilation 2, three groups, a bias.
ConvProblem three_groups() {
  return {.batch = 2,
          .in_channels = 6,
          .out_channels = 12,
          .kernel_size = 5,
          .length = 400,
          .stride = 3,
          .padding = 2,
          .output_padding = 1,
          .dilation = 2,
          .groups = 3,
          .bias = true};
}

struct Fault {
  const char *kernel, *formula;
  std::vector<const char*> faults;
};
std::ostream& operator<<(std::ostream& out, const Fault& f) { return out << f.kernel; }
class XrayFaults : public testing::TestWithParam<Fault> {};

TEST_P(XrayFaults, AreToldByName) {
  const Fault& f = GetParam();
  const Xray x = test::rayed(f.kernel, three_groups());
  EXPECT_EQ(x.is, Is::wrong) << x.sentence;
  EXPECT_EQ(x.formula, f.formula);
  EXPECT_EQ(x.faults, std::vector<std::string>(f.faults.begin(), f.faults.end())) << x.sentence;
  EXPECT_NE(x.example, "");
}

constexpr const char* right = "i = (j + p − k·d)/s";
INSTANTIATE_TEST_SUITE_P(
    OneTerm, XrayFaults,
    testing::Values(
        Fault{"f_no_padding", "i = (j − k·d)/s", {"the padding is missing"}},
        Fault{"f_padding_twice", "i = (j + 2·p − k·d)/s", {"the padding counts twice"}},
        Fault{"f_padding_sign", "i = (j − p − k·d)/s", {"the padding has the wrong sign"}},
        Fault{"f_padding_less_one", "i = (j + p − 1 − k·d)/s", {"the padding is one too small"}},
        Fault{"f_output_padding", "i = (j + p + op − k·d)/s", {"output_padding moves the index"}},
        Fault{"f_no_dilation", "i = (j + p − k)/s", {"the dilation is missing"}},
        Fault{"f_dilation_more_one", "i = (j + p − k·(d + 1))/s", {"the dilation is one too large"}},
        Fault{"f_stride_for_dilation", "i = (j + p − k·s)/s", {"the stride stands where the dilation belongs"}},
        Fault{"f_swapped", "i = (j + p − k·s)/d", {"the stride and the dilation are exchanged"}},
        Fault{"f_stride_and_padding", "i = (j + s − k·d)/p", {"the stride and the padding are exchanged"}},
        Fault{"f_same_length",
              "i = (j + d·(K − 1)/2 − k·d)/s",
              {"the padding is d·(K − 1)/2, which keeps the length, whatever p is"}},
        Fault{"f_by_bits",
              "i = (j + p − k·d)/s, where the last bits of the numerator are none of s − 1",
              {"whether the stride divides is asked by & (s − 1): that is right for powers of two only"}},
        Fault{"f_divides_by_dilation",
              "i = (j + p − k·d)/s, where d divides the numerator",
              {"the dilation is asked whether it divides, and not the stride"}},
        Fault{"f_break",
              "i = (j + p − k·d)/s, up to the first tap that does not land",
              {"the loop over taps ends at the first that does not land: a break where continue belongs"}},
        Fault{"f_break_rest",
              "i = (j + p − k·d)/s, up to the first tap where the stride does not divide",
              {"the loop over taps ends at the first where the stride does not divide: a break where continue "
               "belongs"}},
        Fault{"f_break_behind",
              "i = (j + p − k·d)/s, up to the first tap where i ≥ L",
              {"the loop over taps ends at the first where i ≥ L: a break where continue belongs"}},
        Fault{"f_fixed_stride", "i = (j + p − k·d)/2", {"stride 2 is fixed in it, whatever is asked"}},
        Fault{"f_fixed_padding", "i = (j + 7 − k·d)/s", {"padding 7 is fixed in it, whatever is asked"}},
        Fault{"f_fixed_dilation", "i = (j + p − k·3)/s", {"dilation 3 is fixed in it, whatever is asked"}},
        Fault{"f_fixed_all",
              "i = (j + 1 − k·3)/2",
              {"stride 2, padding 1 and dilation 3 are fixed in it, whatever is asked"}},
        Fault{"f_fixed_and_missing", "i = (j − k·d)/4", {"stride 4 and padding 0 are fixed in it, whatever is asked"}},
        Fault{"f_fixed_taps", "i = (j + p − k·d)/s, k up to 2", {"no more than 3 taps are taken, whatever kernel size is asked for"}},
        Fault{"f_output_padding_for_dilation",
              "i = (j + p − k·op)/s",
              {"output_padding stands where the dilation belongs"}},
        Fault{"f_tap_sign",
              "i = (j − p + k·d)/s",
              {"the padding has the wrong sign", "taps are added where they are to be taken off"}},
        Fault{"f_no_stride", "i = j + p − k·d", {"the stride is missing"}},
        Fault{"f_cut_off",
              "i = (j + p − k·d)/s, quotients cut off",
              {"nothing asks whether the stride divides: quotients are cut off"}},
        Fault{"f_down",
              "i = (j + p − k·d)/s, quotients rounded down",
              {"nothing asks whether the stride divides: quotients are rounded down"}},
        Fault{"f_up",
              "i = (j + p − k·d)/s, quotients rounded up",
              {"nothing asks whether the stride divides: quotients are rounded up"}},
        Fault{"f_outside", "i = (j − k·d)/s + p", {"the padding stands outside of the division"}},
        Fault{"f_reversed",
              "i = (j + p − k·d)/s, with w[ci, co, K − 1 − k]",
              {"the taps of w are taken in reverse order"}},
        Fault{"f_first_tap", "i = (j + p − k·d)/s, k from 1", {"the first tap is left out"}},
        Fault{"f_last_input", "i = (j + p − k·d)/s, i < L − 1", {"the last input is left out"}},
        Fault{"f_not_behind",
              "i = (j + p − k·d)/s, also where i ≥ L",
              {"nothing asks whether i < L: what lies behind a row of x is read"}},
        Fault{"f_not_before",
              "i = (j + p − k·d)/s, also where i < 0",
              {"nothing asks whether i ≥ 0: what lies before a row of x is read"}},
        Fault{"f_not_beside",
              "i = (j + p − k·d)/s, also outside of x",
              {"nothing asks whether 0 ≤ i < L: what lies beside a row of x is read"}},
        Fault{"f_one_behind",
              "i = (j + p − k·d)/s, i ≤ L",
              {"the test lets i = L pass: what lies behind a row of x is read"}},
        Fault{"f_one_before",
              "i = (j + p − k·d)/s, i ≥ −1",
              {"the test lets i = −1 pass: what lies before a row of x is read"}},
        Fault{"f_clamped",
              "i = (j + p − k·d)/s, i clamped to 0 … L − 1",
              {"inputs outside of x count as its nearest one, where they count as nothing"}},
        Fault{"f_from_below",
              "i = (j + p − k·d)/s, i clamped to 0 from below",
              {"inputs before x count as its first one, where they count as nothing"}},
        Fault{"f_from_above",
              "i = (j + p − k·d)/s, i clamped to L − 1 from above",
              {"inputs behind x count as its last one, where they count as nothing"}},
        Fault{"f_remainder",
              "i = (j + p − k·d)/s, i % L",
              {"inputs behind x are taken from its begin, where they count as nothing: i % L"}},
        Fault{"f_wrapped",
              "i = (j + p − k·d)/s, i modulo L",
              {"inputs outside of x are taken from its other end, where they count as nothing"}},
        Fault{"f_two_faults", "i = (j − k)/s", {"the padding is missing", "the dilation is missing"}},
        Fault{"f_w_swapped", right, {"w is read as [Cout/groups, Cin, K], and it is [Cin, Cout/groups, K]"}},
        Fault{"f_w_convolution",
              right,
              {"w is read as a convolution's, [Cout, Cin/groups, K], and it is [Cin, Cout/groups, K]"}},
        Fault{"f_bias_by_channel", right, {"the bias is added once for each input channel"}},
        Fault{
            "f_bias_by_part", right, {"the bias is added once for each part of a sum: 4 times with 16 input channels"}},
        Fault{
            "f_sequence_rows", right, {"sequences of x are taken to be Cout rows apart, and they are Cin rows apart"}},
        Fault{"f_w_taps_first", right, {"w is read as [K, Cin, Cout/groups], and it is [Cin, Cout/groups, K]"}},
        Fault{"f_group_x", right, {"x is read from the first group's channels"}},
        Fault{"f_group_both", right, {"x and w are read from the first group's channels"}},
        Fault{"f_all_channels", right, {"all input channels are summed, not those of the output's group"}},
        Fault{"f_in_turn",
              right,
              {"input channels are dealt to groups in turn, ci = c·groups + g, where g·(Cin/groups) + c belongs"}},
        Fault{"f_last_channel", right, {"the last input channel of a group is left out"}},
        Fault{"f_first_channels", right, {"only input channels 0 of a group's 3 are summed"}},
        Fault{"f_convolution", "i = j·s − p + k·d", {"it computes a convolution, and not its transpose"}},
        Fault{
            "f_by_phase",
            "i = (j + p − k·d)/s, for the taps k = (j + p) mod s, + s, + 2·s, …",
            {"the loop over taps steps by s from (j + p) mod s: that is right where the dilation is 1 (mod s) alone"}},
        Fault{"f_divides_position",
              "i = (j + p − k·d)/s, where s divides j",
              {"whether the stride divides is asked of j, where j + p − k·d belongs"}},
        Fault{"f_divides_shifted",
              "i = (j + p − k·d)/s, where s divides j + p",
              {"whether the stride divides is asked of j + p, where j + p − k·d belongs"}},
        Fault{"f_mean", right, {"sums are divided by K", "the bias is divided by K"}},
        Fault{"f_bias_where_none_lands", right, {"the bias is missing where a tap lands"}},
        Fault{"f_overwrites",
              "i = (j + p − k·d)/s, of the taps that land the last alone",
              {"each product takes the sum's place, and is not added to it", "the bias is missing where a tap lands"}},
        Fault{"f_added_behind",
              right,
              {"the last outputs in memory are added to what stood there, which nobody has cleared"}},
        Fault{"f_added", right, {"sums are added to what stood there, which nobody has cleared"}},
        Fault{"f_added_on_a_gpu", right, {"sums are added to what stood there, which nobody has cleared"}},
        Fault{"f_not_first", right, {"position 0 is never written"}},
        Fault{"f_not_last", right, {"the last position is never written"}},
        Fault{"f_grid_short",
              right,
              {"the last outputs in memory are never written: there are too few threads or blocks"}},
        Fault{"f_not_a_number", right, {"output channels 1, 3 of 4 are NaN whatever x and w are"}},
        Fault{"f_even_channels", right, {"output channels 1, 3 of 4 are never written"}},
        Fault{"f_no_bias", right, {"the bias is missing"}}, Fault{"f_bias_twice", right, {"the bias is added twice"}},
        Fault{"f_bias_by_tap", right, {"the bias is added once for each tap that lands"}},
        Fault{"f_bias_by_position", right, {"the bias is taken by position, b[j mod Cout], where b[co] belongs"}},
        Fault{"f_first_sequence", right, {"every sequence reads the first one's x"}},
        Fault{"f_double_tap", right, {"products of tap k = 1 do not count once"}},
        Fault{"f_taken_off", right, {"products are taken off where they are to be added"}}),
    [](const auto& info) { return std::string(info.param.kernel); });

// Of two channels the next one, the one before, the other of a pair and the first from behind are the same: problems
// of three tell.
TEST(Xray, BiasesOfOtherChannelsAreToldApart) {
  struct Of {
    const char *kernel, *fault;
  };
  for (const int64_t groups : {1, 3})
    for (const Of& of :
         {Of{"f_bias_next", "the bias is the next channel's"},
          Of{"f_bias_before", "the bias is the previous channel's"},
          Of{"f_bias_turned", "the bias is b[Cout − 1 − co] where b[co] belongs"},
          Of{"f_bias_in_pairs", "the bias is b[co ^ 1] where b[co] belongs"},
          Of{"f_bias_by_element", "the bias is taken by the flat index e, b[e mod Cout], where b[co] belongs"}}) {
      ConvProblem p = three_groups();
      p.groups = groups;
      const Xray x = test::rayed(of.kernel, p);
      EXPECT_EQ(x.faults, std::vector<std::string>{of.fault}) << of.kernel << " in " << groups << ": " << x.sentence;
    }
  // What small problems do not show, larger ones do.
  ConvProblem p = three_groups();
  p.groups = 1;
  EXPECT_EQ(test::rayed("f_bias_of_four", p).sentence,
            "its sizes matter: right on small problems, wrong on 1 × 1→5, K 1, L 1, s 1, p 0, d 1, bias: the bias is "
            "another one than b[co]: y[0, 4, 0] has b[0]");
}

// A term that is wrong, and makes no difference where the kernel was asked about, is not what it is wrong by there.
TEST(Xray, WhatMakesNoDifferenceIsNotTheCause) {
  ConvProblem p = three_groups();
  p.dilation = 1, p.in_channels = 3 * 40;
  Xray x = test::rayed("f_no_dilation_sixteen", p);
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_EQ(x.sentence,
            "its sizes matter: right on small problems, wrong on 1 × 17→1, K 1, L 1, s 1, p 0, d 1: the last input "
            "channel of a group is left out; on 1 × 70→4, K 3, L 2, s 3, p 2, d 1, op 1, groups 2, bias: input channels "
            "16–34, 51–69 of 70 are left out; with other values the dilation is missing");
  EXPECT_EQ(x.faults, std::vector<std::string>{x.sentence}) << "and not the term that makes no difference";
  EXPECT_FALSE(x.without_effect);
  // Where its sizes are no fault: right here alone.
  p.in_channels = 3 * 16;
  x = test::rayed("f_no_dilation_sixteen", p);
  EXPECT_EQ(x.is, Is::right_here_only);
  EXPECT_TRUE(x.without_effect);
  EXPECT_EQ(x.faults, std::vector<std::string>{"the dilation is missing"});
  p.dilation = 2;
  EXPECT_EQ(test::rayed("f_no_dilation_sixteen", p).is, Is::wrong);
}

TEST(Xray, PaddingAndDilationThatAreNotTheSame) {
  ConvProblem p = three_groups();
  p.padding = 3;
  const Xray x = test::rayed("f_padding_and_dilation", p);
  EXPECT_EQ(x.formula, "i = (j + d − k·p)/s") << x.sentence;
  EXPECT_EQ(x.faults, (std::vector<std::string>{"the padding and the dilation are exchanged"}));
}

// Seen where the two have a common divisor alone.
TEST(Xray, StepsOverTapsByTheStride) {
  ConvProblem p = three_groups();
  EXPECT_EQ(test::rayed("f_first_and_every_s", p).is, Is::right) << "of stride 3 and dilation 2 every third tap lands";
  p.stride = 4;
  const Xray x = test::rayed("f_first_and_every_s", p);
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_EQ(x.formula, "i = (j + p − k·d)/s, for the first tap that lands and every s-th behind it");
  EXPECT_EQ(x.faults,
            (std::vector<std::string>{
                "the loop over taps steps by s from the first that lands: taps between them land as well where "
                "stride and dilation have a common divisor"}));
}

TEST(Xray, ARightKernelIsRight) {
  const Xray x = test::rayed("f_right", three_groups());
  EXPECT_EQ(x.is, Is::right) << x.sentence;
  EXPECT_EQ(x.problems.size(), 5u);
  for (const auto& at : x.problems) EXPECT_EQ(at.is, XrayProblem::Is::right) << describe(at.problem);
  EXPECT_EQ(x.sentence, "every product is the definition's on 5 small problems");
  EXPECT_TRUE(x.faults.empty() && x.example.empty());
}

// Right on small problems: pieces of the problem itself are judged, and the smallest that fails is told.
TEST(Xray, SizesThatMatterAreFound) {
  ConvProblem p = three_groups();
  p.in_channels = 3 * 40;
  Xray x = test::rayed("f_sixteen_channels", p);
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_EQ(x.sentence,
            "its sizes matter: right on small problems, wrong on 1 × 17→1, K 1, L 1, s 1, p 0, d 1: the last input "
            "channel of a group is left out; on 1 × 70→4, K 3, L 2, s 3, p 2, d 2, op 1, groups 2, bias: input "
            "channels 16–34, 51–69 of 70 are left out");
  EXPECT_EQ(x.faults, (std::vector<std::string>{x.sentence}));
  // Where it sums all there are it is right, and is told to be right there alone.
  p.in_channels = 3 * 16;
  x = test::rayed("f_sixteen_channels", p);
  EXPECT_EQ(x.is, Is::right_here_only);
  EXPECT_EQ(x.sentence, "right here, but not in general: right with 48 input channels, wrong with 51 and 96");
  // The control.
  EXPECT_EQ(test::rayed("f_right", p).is, Is::right);
}

using Parameters = std::vector<std::pair<std::string, int64_t>>;

// What was written for one layer is right on it: its numbers are told, from its products or by other sizes.
TEST(Xray, NumbersOfOneLayer) {
  ConvProblem layer = {.batch = 2,
                       .in_channels = 8,
                       .out_channels = 8,
                       .kernel_size = 3,
                       .length = 200,
                       .stride = 2,
                       .padding = 1,
                       .dilation = 3};
  Xray x = test::rayed("f_fixed_all", layer);
  EXPECT_EQ(x.is, Is::right_here_only);
  EXPECT_EQ(x.fixed, (Parameters{{"stride", 2}, {"padding", 1}, {"dilation", 3}}));
  EXPECT_EQ(x.sentence,
            "right here, but not in general: it takes i = (j + 1 − k·3)/2, where i = (j + p − k·d)/s belongs: stride "
            "2, padding 1 and dilation 3 are fixed in it, whatever is asked");
  // Where strides of 1 are another kernel's, which numbers are fixed in the first one is told all the same.
  x = test::rayed("f_fixed_all_but", layer);
  EXPECT_EQ(x.fixed, (Parameters{{"stride", 2}, {"padding", 1}, {"dilation", 3}})) << x.sentence;
  EXPECT_TRUE(test::has(x.sentence, "are fixed in it, whatever is asked (but on "));
  // One number alone that is not fixed everywhere is none.
  EXPECT_EQ(test::rayed("f_fixed_taps_but", three_groups()).sentence.find("is fixed in it"), std::string::npos);
  // What is wrong beside is no less wrong.
  x = test::rayed("f_fixed_cut_off", layer);
  EXPECT_EQ(x.faults, (std::vector<std::string>{"dilation 2 is fixed in it, whatever is asked",
                                                "nothing asks whether the stride divides: quotients are cut off"}));
  x = test::rayed("f_eight_channels", layer);
  EXPECT_EQ(x.sentence, "right here, but not in general: right with 8 input channels, wrong with 9 and 16");
  EXPECT_EQ(x.fixed, (Parameters{{"in_channels", 8}}));
  EXPECT_TRUE(x.formula.empty());
  // On small problems the address is no other than with the length, which is another number there: nothing is said of
  // that, as with eight channels it is right.
  x = test::rayed("f_eight_outputs", layer);
  EXPECT_EQ(x.sentence, "right here, but not in general: right with 8 output channels, wrong with 9 and 16");
  // Where it is wrong as well there is nothing to compare with.
  layer.out_channels = 7;
  x = test::rayed("f_eight_outputs", layer);
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_TRUE(x.fixed.empty()) << x.sentence;
}

using LengthOf = int64_t (*)(const ConvProblem&);
// A kernel that launches nothing; its plan is a function, which knows of no more than the problem.
struct OfALength final : KernelDefinition {
  static inline LengthOf of = nullptr;
  OfALength() : KernelDefinition("of_a_length", "test") {
    plan([](const ConvProblem& p, Plan& plan) { plan.out_length(of(p)); });
  }
};
struct Long {
  const char* text;
  LengthOf of;
};
// Lengths that host code may give an output, by its plans alone.
TEST(LengthFormulas, AreFoundFromPlans) {
  auto fitted = [](LengthOf of) {
    OfALength::of = of;
    return length_formula(OfALength(), three_groups(), Activity{});
  };
  const std::string belongs = "(L − 1)·s − 2·p + d·(K − 1) + op + 1";
  EXPECT_EQ(right_length(), "Lout = " + belongs);
  for (const Long& l :
       {Long{"(L − 1)·s − p + d·(K − 1) + op + 1", [](const ConvProblem& p) { return p.out_length() + p.padding; }},
        Long{"L·s − 2·p + d·(K − 1) + op + 1", [](const ConvProblem& p) { return p.out_length() + p.stride; }},
        Long{"(L − 1)·s − 2·p + K·d + op + 1", [](const ConvProblem& p) { return p.out_length() + p.dilation; }},
        Long{"L·s", [](const ConvProblem& p) { return p.length * p.stride; }},
        Long{"(L − 1)·s − 2·p + K + op + 1",
             [](const ConvProblem& p) { return p.out_length() - p.dilation * (p.kernel_size - 1) + p.kernel_size; }}}) {
    const LengthFormula f = fitted(l.of);
    EXPECT_EQ(f.text, std::string("Lout = ") + l.text);
    EXPECT_TRUE(f.fault.starts_with(std::string("its output's length is ") + l.text)) << f.fault;
    EXPECT_TRUE(f.fault.ends_with(", where " + belongs + " belongs")) << f.fault;
  }
  EXPECT_EQ(fitted([](const ConvProblem& p) { return 2 * p.length + 2 * p.kernel_size - 5; }).fault,
            "its output's length is 2·L + 2·K − 5, whatever stride, padding, dilation and output_padding are, where " +
                belongs + " belongs");
  // One parameter that is missing has words of its own, what is right has none, nor has what is no such sum.
  const LengthFormula no_dilation = fitted([](const ConvProblem& p) {
    ConvProblem q = p;
    q.dilation = 1;
    return q.out_length();
  });
  EXPECT_EQ(no_dilation.fault, "its output is as long as if dilation were 1");
  EXPECT_EQ(no_dilation.text, "");
  // Nor have arguments in another order.
  EXPECT_EQ(fitted([](const ConvProblem& p) {
              ConvProblem q = p;
              std::swap(q.dilation, q.output_padding);
              return q.out_length();
            }).fault,
            "its output is as long as if dilation and output_padding were exchanged");
  EXPECT_EQ(fitted([](const ConvProblem& p) { return p.out_length(); }).fault, "");
  EXPECT_EQ(fitted([](const ConvProblem& p) { return p.out_length() + p.length % 2; }).fault, "");
}

// Sums of absolute values: no index is wrong, no size is to blame, and nothing is done behind the layer.
TEST(Xray, ValuesThatMatterAreNoSizes) {
  const Xray x = test::rayed("s_without_sign", three_groups());
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_TRUE(
      x.sentence.starts_with("its products are the definition's, and its results are wrong on 1 × 1→1, K 1, L 1"))
      << x.sentence;
  EXPECT_TRUE(x.sentence.ends_with(": values or rounding matter")) << x.sentence;
  EXPECT_TRUE(x.faults.empty());
}

TEST(Xray, WhatNoFormulaGivesIsShown) {
  const Xray x = test::rayed("f_none", three_groups());
  EXPECT_EQ(x.is, Is::unclear);
  EXPECT_TRUE(test::has(x.sentence, "no formula of the kinds that are tried gives its products: y[0, 0, 0]"));
  EXPECT_EQ(x.formula, "");
}

// What gives the products of one problem is no formula of the kernel's: nothing of it is said.
TEST(Xray, AFormulaOfOneProblemAloneNamesNoTerm) {
  Xray x = test::rayed("f_here_alone", three_groups());
  EXPECT_EQ(x.is, Is::unclear);
  EXPECT_TRUE(x.sentence.starts_with("no formula of the kinds that are tried gives its products: y[")) << x.sentence;
  EXPECT_EQ(x.formula, "");
  EXPECT_TRUE(x.faults.empty());
  // On all but one.
  x = test::rayed("f_but_on_one", three_groups());
  EXPECT_EQ(x.faults, (std::vector<std::string>{"the padding is one too small"}));
  EXPECT_TRUE(test::has(x.sentence, "the padding is one too small (but on ")) << x.sentence;
  EXPECT_TRUE(x.sentence.ends_with(" something else, so that this may be another term's doing)") && test::has(x.sentence, ", s 4,")) << x.sentence;
}

// Each specimen's own formula, also on the problem on which it is right.
TEST(Xray, TheSpecimens) {
  struct Of {
    const char *kernel, *preset, *formula;
    Is is;
  };
  for (const Of& of : {Of{"S0", "kernelbench-79", "i = (j − k·d)/s", Is::wrong},
                       Of{"S0", "kernelbench-74", "i = (j − k·d)/s", Is::right_here_only},
                       Of{"S1", "kernelbench-64", "i = (j + p + op − k)/s − p, quotients cut off", Is::right_here_only},
                       Of{"S2", "kernelbench-74", "i = (j − k·d)/s − p, quotients cut off", Is::right_here_only},
                       Of{"S3", "kernelbench-74", "i = (j − p − k)/s, quotients cut off", Is::wrong},
                       Of{"S4", "kernelbench-79", "i = (j + p − k·d)/s, quotients cut off", Is::wrong},
                       Of{"S4", "kernelbench-64", "i = (j + p − k·d)/s, quotients cut off", Is::right_here_only}}) {
    const Xray x = test::rayed(of.kernel, find_preset(of.preset).problem);
    EXPECT_EQ(x.is, of.is) << of.kernel << " " << of.preset << ": " << x.sentence;
    EXPECT_EQ(x.formula, of.formula) << of.kernel << ": " << x.sentence;
  }
}

// What is wrong elsewhere alone comes last and says so; an example says of which problem it is.
TEST(Xray, WhatMakesNoDifferenceHereComesLast) {
  ConvProblem p = find_preset("kernelbench-79").problem;
  Xray x = test::rayed("S1", p);
  ASSERT_GT(x.faults.size(), 2u);
  EXPECT_EQ(x.faults.back(), "output_padding moves the index (without effect here, where output_padding is 0)");
  for (size_t i = 0; i + 1 < x.faults.size(); i++)
    EXPECT_FALSE(test::has(x.faults[i], "without effect")) << x.faults[i];
  EXPECT_TRUE(test::has(x.example, " (on 2 × 4→2, K 3, L 9, s 2, p 1, d 2)"));
  p.output_padding = 1;
  x = test::rayed("S1", p);
  EXPECT_EQ(x.faults.front(), "output_padding moves the index") << x.sentence;
}

// No rung has a fault, on whatever small problem it takes.
TEST(Xray, NoRungHasAFault) {
  int seen = 0, number = 0;
  for (const KernelDefinition* k : all_kernels()) {
    if (k->kind() != KernelKind::ladder) continue;
    number++;
    for (const char* preset : {"kernelbench-79", "hifigan.u2"}) {
      if (!test::long_run() && (number % 2 == 0) != (preset == std::string("hifigan.u2"))) continue;
      ConvProblem p = find_preset(preset).problem;
      p.dtype = k->unsupported(p).empty() ? DType::f32 : DType::f16;
      const Xray x = test::rayed(k->name(), p, accuracy_from(k->accuracy()).value_or(Accuracy::strict));
      EXPECT_TRUE(x.is == Is::right || x.is == Is::not_mapped) << k->name() << " on " << preset << ": " << x.sentence;
      seen += x.is == Is::right;
    }
  }
  EXPECT_GT(seen, 10);
}

// A length of its own may be anything.
TEST(Xray, LengthsThatCannotBe) {
  for (const char* kernel : {"f_no_output", "f_endless_output"}) {
    const Xray x = test::rayed(kernel, three_groups());
    EXPECT_NE(x.is, Is::right) << kernel;
    EXPECT_NE(x.sentence, "") << kernel;
  }
  EXPECT_TRUE(
      test::has(test::rayed("f_endless_output", three_groups()).sentence, "too long for the kernel's products"));
}

TEST(Xray, ACancelEndsIt) {
  auto device = open_emulator();
  Activity activity;
  activity.cancel();
  EXPECT_THROW(xray(*device, test::kernel("f_right"), three_groups(), Accuracy::strict, {}, activity), Cancelled);
}

TEST(IndexFormulas, AreToldApartByTheirMaps) {
  ConvProblem p = three_groups();
  p.length = 9;
  TapMap m;
  m.problem = p, m.positions = p.out_length();
  for (int64_t k = 0; k < p.kernel_size; k++)
    for (int64_t j = 0; j < m.positions; j++)
      m.i.push_back(static_cast<int32_t>(input_of({}, p, k, j))), m.times.push_back(1);
  ASSERT_TRUE(fit({m}));
  EXPECT_TRUE(fit({m})->right());
  m.i[7] = m.i[7] == 3 ? 4 : 3;
  EXPECT_FALSE(fit({m})) << "one product is another one";
}

}  // namespace
}  // namespace convscope
