// The finder of patterns on outputs made for it: each pattern is found, with its size, and none where there is none.
#include "kernels/verify/pattern.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/problem/counts.h"
#include "tests/kernels/verify/judging.h"
#include "tests/kernels/verify/pattern_signal.h"

namespace convscope {
namespace {

using test::has;
using test::Signal;

const ConvProblem usual{.batch = 2,
                        .in_channels = 2,
                        .out_channels = 6,
                        .kernel_size = 5,
                        .length = 150,
                        .stride = 1,
                        .padding = 4,
                        .dilation = 3};

void expect_no_explanation(const Pattern& p) {
  EXPECT_FALSE(p.shift) << p.where;
  EXPECT_FALSE(p.factor) << p.where;
  EXPECT_FALSE(p.bias_missing) << p.where;
  EXPECT_FALSE(p.bias_of_others) << p.where;
  EXPECT_FALSE(p.channel_offset) << p.where;
  EXPECT_TRUE(p.exchanged.empty()) << p.where;
}

TEST(Pattern, NothingWrongIsNothingToSay) {
  Signal s(usual);
  auto p = s.find([&](int64_t r, int64_t j) { return s.value(r, j); });
  expect_no_explanation(p);
  EXPECT_EQ(p.where, "");
}

TEST(Pattern, Shifts) {
  for (bool bias : {false, true})
    for (int64_t stride : {1, 2, 3}) {
      auto q = usual;
      q.bias = bias, q.stride = stride;
      Signal s(q);
      for (int64_t shift : {1, -1, 2, -3, 4, -4, 8, -8, 11}) {
        auto p = s.find([&](int64_t r, int64_t j) { return s.value(r, j - shift); });
        ASSERT_EQ(p.shift, shift) << p.where;
        EXPECT_FALSE(p.factor || p.bias_missing || p.channel_offset);
        std::string size = std::to_string(std::abs(shift)), sign = shift > 0 ? "+" : "−", other = shift > 0 ? "−" : "+";
        EXPECT_TRUE(has(p.where, "the right values, shifted by " + sign + size +
                                     (std::abs(shift) == 1 ? " position" : " positions")));
        EXPECT_TRUE(has(p.where, "(y[j] holds what belongs at j " + other + " " + size + ")"));
        EXPECT_EQ(has(p.where, " = padding"), std::abs(shift) == 4);
        EXPECT_EQ(has(p.where, " = 2 · padding"), std::abs(shift) == 8);
      }
    }
  auto q = usual;
  q.output_padding = 2;
  Signal s(q);
  EXPECT_TRUE(has(s.find([&](int64_t r, int64_t j) { return s.value(r, j + 2); }).where,
                  "shifted by −2 positions = output_padding"));
}

TEST(Pattern, ShiftWithoutTheBias) {
  auto q = usual;
  q.bias = true;
  Signal s(q);
  auto p = s.find([&](int64_t r, int64_t j) { return s.value(r, j - 4) - s.bias(r); });
  EXPECT_EQ(p.shift, 4);
  EXPECT_TRUE(p.bias_missing);
}

TEST(Pattern, NearlyAShiftIsNone) {
  Signal s(usual);
  // Every twentieth value is another one.
  auto p = s.find([&](int64_t r, int64_t j) { return s.value(r, j - 4) + (j % 20 == 0); });
  EXPECT_FALSE(p.shift) << p.where;
  // A shift of another size in each row is no shift of the signal.
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j - 1 - r); });
  EXPECT_FALSE(p.shift) << p.where;
}

// Outputs that no tap reaches hold the bias wherever they stand: they must not pass for a shift.
TEST(Pattern, BiasIsNoEvidenceOfAShift) {
  ConvProblem q{.in_channels = 1, .out_channels = 4, .kernel_size = 2, .length = 5, .stride = 200, .bias = true};
  Signal s(q);
  ASSERT_LT(q.out_length() - structural_zeros(q) / 4, q.out_length() / 50) << "nearly all outputs are the bias";
  auto p = s.find([&](int64_t r, int64_t j) { return taps_reaching(q, j) ? s.value(r, j) + 1 : s.bias(r); });
  expect_no_explanation(p);
}

TEST(Pattern, WhatFollowsTheLayer) {
  Signal s(usual);
  auto with = [&](auto f) { return s.find([&](int64_t r, int64_t j) { return f(s.value(r, j)); }); };
  EXPECT_EQ(with([](double v) { return v > 0 ? v : 0; }).activation,
            "negative values are 0, as behind a ReLU, which is not of the layer");
  EXPECT_EQ(with([](double v) { return v > 0 ? v : 0.1 * v; }).activation,
            "negative values are 0.1 times the right ones, as behind a LeakyReLU, which is not of the layer");
  EXPECT_EQ(with([](double v) { return std::fabs(v); }).activation, "negative values have lost their sign");
  // Controls: of positive values as well, or of some negative ones alone.
  EXPECT_EQ(with([](double v) { return 0.1 * v; }).activation, "");
  EXPECT_EQ(with([](double v) { return v > 0 ? 2 * v : 0; }).activation, "");
  EXPECT_EQ(s.find([&](int64_t r, int64_t j) { return j % 2 && s.value(r, j) < 0 ? 0.0 : s.value(r, j); }).activation,
            "");
}

// Where no tap lands the sum is 0, and right behind most functions: which class that is says nothing more.
TEST(Pattern, WhatFollowsTheLayerIsNamedAlone) {
  auto q = usual;
  q.stride = 2, q.dilation = 2;
  Signal s(q);
  ASSERT_GT(structural_zeros(q), 0);
  EXPECT_EQ(s.find([&](int64_t r, int64_t j) { return std::max(s.value(r, j), 0.0); }).where,
            "negative values are 0, as behind a ReLU, which is not of the layer");
  // Control: of what has no such name its class is told.
  EXPECT_TRUE(has(s.find([&](int64_t r, int64_t j) { return 1.5 * s.value(r, j); }).where, "(j mod 2 = 0)"));
}

TEST(Pattern, Factors) {
  Signal s(usual);
  for (double f : {2.0, 0.5, -1.0, 3.0}) {
    auto p = s.find([&](int64_t r, int64_t j) { return f * s.value(r, j); });
    EXPECT_EQ(p.factor, f);
    EXPECT_FALSE(p.shift);
  }
  EXPECT_TRUE(
      has(s.find([&](int64_t r, int64_t j) { return -s.value(r, j); }).where, "every value is -1 times the right one"));
  // Of no binary fraction, rounded; and no near one.
  auto third = s.find([&](int64_t r, int64_t j) { return double(float(s.value(r, j) / double(usual.kernel_size))); });
  EXPECT_TRUE(has(third.where, fmt::format("the right one: divided by {}, ", usual.kernel_size))) << third.where;
  EXPECT_TRUE(has(third.where, "the number of taps")) << third.where;
  EXPECT_FALSE(s.find([&](int64_t r, int64_t j) { return s.value(r, j) * (j % 2 ? 0.3 : 0.3001); }).factor);
  auto zeros = s.find([](int64_t, int64_t) { return 0.0; });
  EXPECT_EQ(zeros.factor, 0.0);
  EXPECT_TRUE(has(zeros.where, "zeros instead of the result"));
  auto other = s.find([&](int64_t r, int64_t j) { return (j % 2 ? 2 : 3) * s.value(r, j); });
  EXPECT_FALSE(other.factor);
  auto in_one = s.find([&](int64_t r, int64_t j) { return (r % 6 == 4 ? 2 : 1) * s.value(r, j); });
  EXPECT_EQ(in_one.factor, 2.0);
  EXPECT_TRUE(has(in_one.where, "; in channel 4"));
}

TEST(Pattern, Bias) {
  auto q = usual;
  q.bias = true;
  Signal s(q);
  auto p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) - s.bias(r); });
  EXPECT_TRUE(p.bias_missing);
  EXPECT_TRUE(has(p.where, "the bias is missing"));
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) - s.bias(r) + s.bias(j); });
  EXPECT_TRUE(p.bias_of_others);
  EXPECT_TRUE(has(p.where, "right but for the bias: that of other channels is added"));
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) + s.bias(r); });
  EXPECT_FALSE(p.bias_missing || p.bias_of_others) << "added twice is neither: " << p.where;
  EXPECT_TRUE(has(p.where, "the bias is added twice"));
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) - 2 * s.bias(r); });
  EXPECT_TRUE(has(p.where, "the bias is subtracted"));
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) + 4 * s.bias(r); });
  EXPECT_TRUE(has(p.where, "the bias is added 5 times"));
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) + (2 * taps_reaching(q, j) - 1.0) * s.bias(r); });
  EXPECT_TRUE(has(p.where, "the bias is added once a tap and input channel"));
  p = s.find([&](int64_t r, int64_t j) { return 2 * s.bias(r) - s.value(r, j); });
  EXPECT_TRUE(has(p.where, "every sum is -1 times the right one, and the bias right"));
  p = s.find([&](int64_t r, int64_t) { return s.bias(r); });
  EXPECT_TRUE(has(p.where, "the bias alone, without any sum"));
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) + static_cast<double>(r % 6 + 1); });
  EXPECT_EQ(p.bias_times, "") << "another number than the bias";
  EXPECT_TRUE(has(p.where, "off by a number that is the same all along a channel"));
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) - (r ? s.bias(r) : 0); });
  EXPECT_TRUE(p.bias_missing);
  EXPECT_TRUE(has(p.where, "in channels 1–5") || has(p.where, "in all") || has(p.where, "bias is missing"));
}

TEST(Pattern, Channels) {
  Signal s(usual);
  auto in_channel = [&](int64_t c, double other) {
    return s.find([&, c, other](int64_t r, int64_t j) {
      return r % 6 == c ? s.value(r, j) + other * static_cast<double>(1 + j % 3) : s.value(r, j);
    });
  };
  EXPECT_TRUE(has(in_channel(0, 1).where, "in channel 0"));
  EXPECT_TRUE(has(in_channel(5, 1).where, "in channel 5"));
  auto several = s.find([&](int64_t r, int64_t j) {
    return r % 6 == 1 || r % 6 >= 4 ? s.value(r, j) + static_cast<double>(1 + j % 3) : s.value(r, j);
  });
  EXPECT_TRUE(has(several.where, "in channels 1, 4–5"));
  expect_no_explanation(several);
  auto q = usual;
  q.groups = 2;
  Signal g(q);
  auto later = g.find([&](int64_t r, int64_t j) {
    return r % 6 >= 3 ? g.value(r, j) + static_cast<double>(1 + j % 3) : g.value(r, j);
  });
  EXPECT_TRUE(has(later.where, "in channels 3–5 (every group but the first)"));
  auto part = g.find([&](int64_t r, int64_t j) {
    return r % 6 >= 4 ? g.value(r, j) + static_cast<double>(1 + j % 3) : g.value(r, j);
  });
  EXPECT_FALSE(has(part.where, "every group"));
}

TEST(Pattern, ExchangedChannels) {
  Signal s(usual);
  auto from = [&](auto source) {
    return s.find([&, source](int64_t r, int64_t j) { return s.value(r / 6 * 6 + source(r % 6), j); });
  };
  auto p = from([](int64_t c) { return c ^ 1; });
  EXPECT_EQ(p.exchanged, (std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_TRUE(has(p.where, "channels exchanged: 0 and 1, 2 and 3, 4 and 5"));
  p = from([](int64_t c) { return c == 1 ? 4 : c == 4 ? 1 : c; });
  EXPECT_EQ(p.exchanged, (std::vector<std::pair<int64_t, int64_t>>{{1, 4}}));
  EXPECT_TRUE(has(p.where, "in channels 1, 4"));
  p = from([](int64_t c) { return (c + 2) % 6; });
  EXPECT_EQ(p.channel_offset, 2);
  EXPECT_TRUE(has(p.where, "a channel holds what belongs 2 channels later"));
  p = from([](int64_t c) { return (c + 5) % 6; });
  EXPECT_EQ(p.channel_offset, -1);
  EXPECT_TRUE(has(p.where, "a channel holds what belongs 1 channel earlier"));
  // Another exchange in each batch is none of channels.
  p = s.find([&](int64_t r, int64_t j) { return s.value(r / 6 * 6 + (r % 6 + 1 + r / 6) % 6, j); });
  expect_no_explanation(p);
  // One row that fits no exchange speaks against it.
  p = s.find([&](int64_t r, int64_t j) {
    return r % 6 == 2 ? s.value(r, j) + static_cast<double>(1 + j % 3) : s.value(r / 6 * 6 + (r % 6 + 1) % 6, j);
  });
  EXPECT_FALSE(p.channel_offset) << p.where;
}

TEST(Pattern, Residues) {
  for (int64_t stride : {2, 3, 8}) {
    ConvProblem q{.in_channels = 2, .out_channels = 3, .kernel_size = 12, .length = 60, .stride = stride};
    Signal s(q);
    auto wrong_in = [&](auto hit) {
      return s.find([&, hit](int64_t r, int64_t j) {
        return hit(j % stride, j) ? s.value(r, j) + static_cast<double>(1 + j % 5) : s.value(r, j);
      });
    };
    auto p = wrong_in([](int64_t c, int64_t) { return c == 1; });
    EXPECT_TRUE(has(p.where, stride == 2
                                 ? "every odd output (j mod 2 = 1), and no even one"
                                 : "every output with j mod " + std::to_string(stride) + " in {1}, and no other"));
    expect_no_explanation(p);
    p = wrong_in([](int64_t c, int64_t j) { return c == 0 && j % 7 == 0; });
    EXPECT_TRUE(has(
        p.where, stride == 2 ? "some of the even outputs (j mod 2 = 0), and no odd one"
                             : "some of the outputs with j mod " + std::to_string(stride) + " in {0}, and no other"));
    p = wrong_in([](int64_t, int64_t) { return true; });
    EXPECT_TRUE(has(p.where, "in all residues of j mod " + std::to_string(stride)));
  }
  ConvProblem q{.in_channels = 2, .out_channels = 3, .kernel_size = 12, .length = 60, .stride = 8};
  Signal s(q);
  auto p = s.find([&](int64_t r, int64_t j) {
    return j % 8 >= 2 && j % 8 != 5 ? s.value(r, j) + static_cast<double>(1 + j % 5) : s.value(r, j);
  });
  EXPECT_TRUE(has(p.where, "j mod 8 in {2–4, 6–7}, and no other"));
}

TEST(Pattern, ResiduesThatNoTapReaches) {
  for (bool bias : {false, true}) {
    ConvProblem q{
        .in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = 80, .stride = 4, .dilation = 2, .bias = bias};
    Signal s(q);
    auto p = s.find([&](int64_t r, int64_t j) {
      return taps_reaching(q, j) ? s.value(r, j) : s.value(r, j) + static_cast<double>(1 + j % 5);
    });
    EXPECT_TRUE(has(p.where, std::string("every output with j mod 4 in {1, 3}, where no tap lands and ") +
                                 (bias ? "exactly the bias" : "exactly 0") + " should stand"));
    p = s.find([&](int64_t r, int64_t j) {
      return j % 4 == 1 || j % 4 == 2 ? s.value(r, j) + static_cast<double>(1 + j % 5) : s.value(r, j);
    });
    EXPECT_FALSE(has(p.where, "no tap lands")) << "of the wrong ones taps reach half";
  }
}

TEST(Pattern, Batches) {
  ConvProblem q{.batch = 4, .in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = 100};
  Signal s(q);
  auto wrong_in = [&](auto hit) {
    return s
        .find([&, hit](int64_t r, int64_t j) {
          return hit(r / 3) ? s.value(r, j) + static_cast<double>(1 + j % 3) : s.value(r, j);
        })
        .where;
  };
  EXPECT_TRUE(has(wrong_in([](int64_t n) { return n > 0; }), "in batch 1–3 (all but the first)"));
  EXPECT_TRUE(has(wrong_in([](int64_t n) { return n == 2; }), "in batch 2"));
  EXPECT_FALSE(has(wrong_in([](int64_t n) { return n == 2; }), "all but"));
  EXPECT_TRUE(has(wrong_in([](int64_t) { return true; }), "in all channels and batches"));
}

TEST(Pattern, GhostEnergy) {
  ConvProblem q{.in_channels = 2, .out_channels = 3, .kernel_size = 12, .length = 100, .stride = 3};
  Signal s(q);
  // Three values of about the right one's size where there should be one.
  auto p =
      s.find([&](int64_t r, int64_t j) { return s.value(r, j) + s.value(r + 1, j + 40) + s.value(r + 2, j + 80); });
  ASSERT_TRUE(p.energy);
  EXPECT_NEAR(*p.energy, 3, 0.6);
  EXPECT_TRUE(has(p.where, "times the energy that belongs there: taps are added that do not land (stride 3)"));
  EXPECT_FALSE(s.find([&](int64_t r, int64_t j) { return s.value(r + 1, j + 40); }).energy)
      << "other values, no more energy";
  q.stride = 1;
  Signal one(q);
  EXPECT_FALSE(one.find([&](int64_t r, int64_t j) { return one.value(r, j) + one.value(r + 1, j + 40); }).energy);
}

// More channels than the group's own bring as much energy as taps that do not land.
TEST(Pattern, EnergyOfOtherChannelsIsNoGhost) {
  ConvProblem q{.in_channels = 9, .out_channels = 3, .kernel_size = 12, .length = 100, .stride = 3, .groups = 3};
  auto three = [](Signal& s) {
    return s.find([&](int64_t r, int64_t j) {
      return s.value(r, j) + (taps_reaching(s.p, j) ? s.value(r + 1, j + 39) + s.value(r + 2, j + 81) : 0);
    });
  };
  Signal grouped(q);
  EXPECT_FALSE(three(grouped).energy) << "no place without a tap, so nothing tells the two apart";
  // Here such places are, and are right.
  q.groups = 1, q.kernel_size = 4, q.stride = 3, q.dilation = 3;
  Signal empty(q);
  EXPECT_FALSE(three(empty).energy);
}

TEST(Pattern, SizesOfAShiftThatSeveralHave) {
  auto q = usual;
  q.padding = 1, q.stride = 2, q.dilation = 2;
  Signal s(q);
  auto shifted = [&](int64_t by) { return s.find([&](int64_t r, int64_t j) { return s.value(r, j - by); }).where; };
  EXPECT_TRUE(has(shifted(2), "shifted by +2 positions = 2 · padding or stride or dilation ("));
  EXPECT_TRUE(has(shifted(1), "shifted by +1 position, off by one or by padding ("));
  q.padding = 4, q.output_padding = 1;
  Signal other(q);
  EXPECT_TRUE(has(other.find([&](int64_t r, int64_t j) { return other.value(r, j - 1); }).where,
                  "shifted by +1 position, off by one ("));
}

TEST(Pattern, NearTheRightValue) {
  Signal s(usual);
  auto p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) * (1 + 0x1p-12); });
  EXPECT_FALSE(p.nearness) << "a factor, which says more: " << p.where;
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) * (1 + ((r + j) % 2 ? 0x1p-11 : -0x1p-11)); });
  ASSERT_TRUE(p.nearness) << p.where;
  EXPECT_EQ(p.where,
            "every value is near the right one (largest difference 2^-11 of a value's usual size): sums or results are "
            "rounded or "
            "scaled");
  expect_no_explanation(p);
  // Integers that are none any more, few as they are (where a little is added, large ones round it away).
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) + (j == 40 ? 0x1p-10 : 0); });
  EXPECT_TRUE(p.nearness) << p.where;
  // One term more is not near, however small a part of the sum it is.
  p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) + ((r + j) % 3 ? 1 : -1); });
  EXPECT_FALSE(p.nearness) << p.where;
  p = s.find([&](int64_t r, int64_t j) { return r == 2 && j == 70 ? s.value(r, j) * 1.001 : s.value(r, j); });
  EXPECT_FALSE(p.nearness) << "one of them is no habit";
}

TEST(Pattern, Periods) {
  ConvProblem q{.batch = 2, .in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = 700, .stride = 2};
  Signal s(q);
  auto wrong_at = [&](auto hit) {
    return s
        .find([&, hit](int64_t r, int64_t j) {
          return hit(j) ? s.value(r, j) + static_cast<double>(1 + (r + j) % 3) : s.value(r, j);
        })
        .where;
  };
  EXPECT_TRUE(has(wrong_at([](int64_t j) { return j % 64 == 63; }), "where j mod 64 = 63"));
  EXPECT_TRUE(has(wrong_at([](int64_t j) { return j % 100 < 2; }), "where j mod 100 in {0–1}"));
  EXPECT_FALSE(has(wrong_at([](int64_t j) { return j * j % 101 == 4; }), "where j mod 64"));
  EXPECT_FALSE(has(wrong_at([](int64_t j) { return j % 2 == 1; }), "where j mod")) << "the stride's own classes say it";
}

TEST(Pattern, OnePlaceIsNoStretch) {
  ConvProblem q{.batch = 2, .in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = 400};
  Signal s(q);
  auto wrong_at = [&](std::vector<int64_t> places) {
    return s
        .find([&, places](int64_t r, int64_t j) {
          return std::count(places.begin(), places.end(), j) ? s.value(r, j) + 1 : s.value(r, j);
        })
        .where;
  };
  EXPECT_TRUE(has(wrong_at({17}), "only at position 17"));
  EXPECT_TRUE(has(wrong_at({200}), "only at position 200"));
  EXPECT_TRUE(has(wrong_at({2, 3, 9, 398}), "only at positions 2–3, 9, 398"));
}

// A grid that is too small leaves over the end of y in memory.
TEST(Pattern, TheLastElementsInMemory) {
  ConvProblem q{.batch = 2, .in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = 400};
  Signal s(q);
  int64_t lout = q.out_length();
  auto left_over = [&](int64_t n) {
    return s.find([&, n](int64_t r, int64_t j) { return r * lout + j < 6 * lout - n ? s.value(r, j) : NAN; }).where;
  };
  EXPECT_EQ(left_over(200), "the last 200 elements of y in memory, from n 1, co 2, j 202 on; all of them NaN");
  EXPECT_EQ(left_over(600), "the last 600 elements of y in memory, from n 1, co 1, j 204 on; all of them NaN");
  EXPECT_FALSE(has(left_over(3 * lout), "in memory")) << "whole sequences";
}

TEST(Pattern, NothingInCommon) {
  for (int64_t stride : {1, 2}) {
    ConvProblem q{.batch = 2,
                  .in_channels = 2,
                  .out_channels = 6,
                  .kernel_size = 5,
                  .length = 200,
                  .stride = stride,
                  .padding = 2};
    Signal s(q);
    auto p = s.find([&](int64_t r, int64_t j) { return s.value(r * 7 + 3, j * 3 + r); });
    expect_no_explanation(p);
    EXPECT_TRUE(has(p.where, "in all channels and batches, and no shift explains it"));
    EXPECT_EQ(has(p.where, "in all residues of j mod 2"), stride == 2);
    EXPECT_FALSE(has(p.where, "border"));
    // A few wrong ones all over.
    p = s.find([&](int64_t r, int64_t j) { return s.value(r, j) + ((r * 31 + j * 17) % 23 == 0); });
    expect_no_explanation(p);
    EXPECT_EQ(p.where, std::string(stride == 2 ? "in all residues of j mod 2, " : "") + "in all channels and batches");
  }
}

TEST(Pattern, NaN) {
  Signal s(usual);
  EXPECT_EQ(s.find([](int64_t, int64_t) { return NAN; }).where, "NaN everywhere");
  auto p = s.find([&](int64_t r, int64_t j) { return j == 40 && r == 3 ? NAN : s.value(r, j); });
  EXPECT_TRUE(has(p.where, "only at position 40; in channel 3; in batch 0; 1 of them NaN"));
  EXPECT_EQ(s.find([](int64_t, int64_t) { return INFINITY; }).where, "Inf everywhere");
  EXPECT_EQ(s.find([](int64_t, int64_t j) { return j % 2 ? INFINITY : NAN; }).where, "NaN or Inf everywhere");
  auto one = s.find([&](int64_t r, int64_t j) { return j == 40 ? INFINITY : s.value(r, j); });
  EXPECT_TRUE(has(one.where, "only at position 40; all of them Inf"));
  expect_no_explanation(p);
}

// Few places are no evidence: a row of two positions fits many shifts.
TEST(Pattern, FewPlacesProveNothing) {
  ConvProblem q{.in_channels = 1, .out_channels = 2, .kernel_size = 1, .length = 3, .padding = 0};
  Signal s(q);
  expect_no_explanation(s.find([&](int64_t r, int64_t j) { return s.value(r, j - 1); }));
  expect_no_explanation(s.find([&](int64_t r, int64_t j) { return 2 * s.value(r, j); }));
}

// Integers may cancel where reals do not: the second comparison has a say in what is clean.
TEST(Pattern, WhatIsCleanIsCleanInBothComparisons) {
  ConvProblem q{.in_channels = 2, .out_channels = 3, .kernel_size = 12, .length = 60, .stride = 4};
  test::MadeUpOracle oracle(
      q, [](int64_t r, int64_t j) { return static_cast<double>(r * 1000 + j); }, [](int64_t, int64_t) { return 1.0; });
  auto compared = [&](auto hit) {
    auto y = make_tensor(DType::f32, {1, 3, q.out_length()}, [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++) {
        int64_t r = e / q.out_length(), j = e % q.out_length();
        out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(r * 1000 + j + (hit(r, j) ? 1 + j % 5 : 0));
      }
    });
    return compare(q, oracle, {DType::f32, y.data(), q.out_length()}, {}, nullptr);
  };
  auto exact = compared([](int64_t, int64_t j) { return j % 4 == 1; });
  auto requested = compared([](int64_t, int64_t j) { return j % 4 == 1 || j % 4 == 2; });
  EXPECT_TRUE(has(find_pattern(q, exact, {}, {}, nullptr).where, "j mod 4 in {1}, and no other"));
  EXPECT_TRUE(has(find_pattern(q, exact, {}, {}, &requested).where, "j mod 4 in {1–2}, and no other"));
  exact = compared([](int64_t r, int64_t j) { return r == 1 && j < 3; });
  requested = compared([](int64_t r, int64_t j) { return r > 0 && j < 4; });
  EXPECT_TRUE(
      has(find_pattern(q, exact, {}, {}, &requested).where, "only at the border: positions 0–3; in channels 1–2"));
}

TEST(ExplainLength, NamesTheParameter) {
  ConvProblem p{.kernel_size = 5, .length = 40, .stride = 3, .padding = 2, .output_padding = 1, .dilation = 2};
  auto length = [&](auto change) {
    auto q = p;
    change(q);
    return q.out_length();
  };
  EXPECT_EQ(explain_length(p, length([](auto& q) { q.output_padding = 0; })), "as if output_padding were 0");
  EXPECT_EQ(explain_length(p, length([](auto& q) { q.dilation = 1; })), "as if dilation were 1");
  EXPECT_EQ(explain_length(p, length([](auto& q) { q.stride = 1; })), "as if stride were 1");
  EXPECT_EQ(explain_length(p, length([](auto& q) { q.stride = 1, q.dilation = 1; })),
            "as if dilation were 1 and stride were 1");
  EXPECT_EQ(explain_length(p, 1), "");
  EXPECT_EQ(explain_length(p, -7), "");
}

}  // namespace
}  // namespace convscope
