// Bounds that are not asked and grids that are too small, by name: of kernels whose products are right.
#include "kernels/verify/index_extent.h"

#include <gtest/gtest.h>

#include "kernels/verify/xray.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using Is = Xray::Is;

// Neither 5 channels nor 1,207 positions are a multiple of what blocks do.
ConvProblem odd_sizes() {
  return {.batch = 2,
          .in_channels = 4,
          .out_channels = 5,
          .kernel_size = 5,
          .length = 401,
          .stride = 3,
          .padding = 2,
          .output_padding = 2,
          .dilation = 2,
          .bias = true};
}

struct OfExtent {
  const char *kernel, *what, *formula, *right;
};
std::ostream& operator<<(std::ostream& out, const OfExtent& f) { return out << f.kernel; }
class ExtentFaults : public testing::TestWithParam<OfExtent> {};

TEST_P(ExtentFaults, AreToldByName) {
  const OfExtent& f = GetParam();
  const Xray x = test::rayed(f.kernel, odd_sizes());
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_EQ(x.sentence, f.what);
  EXPECT_EQ(x.faults, std::vector<std::string>{f.what});
  EXPECT_EQ(x.formula, f.formula);
  EXPECT_EQ(x.right_formula, f.right);
  // What a row's last threads write over the next row is not taken for a fault of the index.
  for (const auto& at : x.problems)
    if (at.is == XrayProblem::Is::unclear) ADD_FAILURE() << describe(at.problem) << ": " << at.why;
}

INSTANTIATE_TEST_SUITE_P(
    Extent, ExtentFaults,
    testing::Values(
        OfExtent{"e_row", "nothing asks whether j < Lout: rows of y are written up to a multiple of 32",
                 "j ≥ Lout as well", "j < Lout"},
        OfExtent{"e_row_equal",
                 "j ≤ Lout is let through, where j < Lout belongs: one position of each row too many is written",
                 "j ≤ Lout", "j < Lout"},
        OfExtent{"e_channel", "nothing asks whether co < Cout: output channels are written up to a multiple of 4",
                 "co ≥ Cout as well", "co < Cout"},
        OfExtent{"e_channel_equal",
                 "co ≤ Cout is let through, where co < Cout belongs: one output channel too many is written",
                 "co ≤ Cout", "co < Cout"},
        OfExtent{"e_both",
                 "nothing asks whether j < Lout, nor whether co < Cout: rows of y are written up to a multiple of 32, "
                 "output channels are written up to a multiple of 4",
                 "j ≥ Lout, co ≥ Cout as well", "j < Lout, co < Cout"},
        OfExtent{"e_four", "nothing asks whether j < Lout: rows of y are written up to a multiple of 4",
                 "j ≥ Lout as well", "j < Lout"},
        OfExtent{"e_phases", "nothing asks whether j < Lout: rows of y are written up to a multiple of s",
                 "j ≥ Lout as well", "j < Lout"},
        OfExtent{"e_flat", "nothing asks whether index < N·Cout·Lout: outputs are written up to a multiple of 96",
                 "index ≥ N·Cout·Lout as well", "index < N·Cout·Lout"},
        OfExtent{
            "e_flat_equal",
            "index ≤ N·Cout·Lout is let through, where index < N·Cout·Lout belongs: one output too many is written",
            "index ≤ N·Cout·Lout", "index < N·Cout·Lout"},
        OfExtent{"e_row_down",
                 "Lout/32 is rounded down, where it is to be rounded up: the positions behind the last whole 32 are "
                 "never written",
                 "Lout/32 rounded down", "ceil(Lout/32)"},
        OfExtent{"e_channel_down",
                 "Cout/4 is rounded down, where it is to be rounded up: the output channels behind the last whole 4 "
                 "are never written",
                 "Cout/4 rounded down", "ceil(Cout/4)"},
        OfExtent{"e_both_down",
                 "Lout/32 and Cout/4 are rounded down, where they are to be rounded up: the positions behind the last "
                 "whole 32 are never written, the output channels behind the last whole 4 are never written",
                 "Lout/32, Cout/4 rounded down", "ceil(Lout/32), ceil(Cout/4)"},
        OfExtent{"e_flat_down",
                 "(N·Cout·Lout)/96 is rounded down, where it is to be rounded up: the outputs behind the last whole 96 "
                 "are never written",
                 "(N·Cout·Lout)/96 rounded down", "ceil((N·Cout·Lout)/96)"},
        OfExtent{"e_fixed", "the grid does not grow with the problem: 2,560 outputs are written, and no more",
                 "2,560 of N·Cout·Lout outputs", "all N·Cout·Lout outputs"}));

TEST(ExtentFaults, WhatAsksEverythingHasNone) {
  const Xray x = test::rayed("e_right", odd_sizes());
  EXPECT_EQ(x.is, Is::right) << x.sentence;
  EXPECT_TRUE(x.faults.empty());
}

// Beside a fault of the index both are told; a row's own value stays where the row before writes into it.
TEST(ExtentFaults, StandBesideThoseOfTheIndex) {
  const Xray x = test::rayed("e_row_and_padding", odd_sizes());
  EXPECT_EQ(x.is, Is::wrong);
  EXPECT_EQ(x.faults,
            (std::vector<std::string>{"the padding is missing",
                                      "nothing asks whether j < Lout: rows of y are written up to a multiple of 32"}))
      << x.sentence;
  EXPECT_EQ(x.formula, "i = (j − k·d)/s");
}

// Sums that are right, in other places.
TEST(Places, OfRowsAndSequencesByName) {
  for (const auto& [kernel, what] :
       {std::pair{"e_rows_by_stride", "rows of y are taken to be L·s apart, and they are Lout apart"},
        {"e_rows_less_one", "rows of y are taken to be Lout − 1 apart, and they are Lout apart"},
        {"e_sequences_by_inputs", "sequences of y are taken to be Cin rows apart, and they are Cout rows apart"},
        {"e_sequences_by_stride", "sequences of y are taken to be Cout·L·s apart, and they are Cout·Lout apart"}}) {
    const Xray x = test::rayed(kernel, odd_sizes());
    EXPECT_EQ(x.is, Is::wrong) << kernel;
    EXPECT_EQ(x.faults, std::vector<std::string>{what}) << kernel << ": " << x.sentence;
  }
}

// Where the bound is a multiple of what blocks do nothing is wrong on the problem itself.
TEST(ExtentFaults, WithoutEffectHere) {
  ConvProblem p = odd_sizes();
  p.out_channels = 8;
  for (const char* kernel : {"e_channel", "e_channel_down"}) {
    const Xray x = test::rayed(kernel, p);
    EXPECT_EQ(x.is, Is::right_here_only) << kernel << ": " << x.sentence;
    EXPECT_TRUE(x.sentence.starts_with("right here, but not in general: ") && test::has(x.sentence, "Cout"))
        << x.sentence;
  }
  // One too many is so everywhere.
  EXPECT_EQ(test::rayed("e_channel_equal", p).is, Is::wrong);
}

}  // namespace
}  // namespace convscope
