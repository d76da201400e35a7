// What is drawn, and how what fails becomes small: with made-up kernels, which are right or wrong by a rule that is
// known, so that the smallest problem is known as well.
#include "kernels/verify/fuzz.h"

#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

#include "kernels/problem/presets.h"

namespace convscope {
namespace {

using Rule = std::function<Status(const ConvProblem&)>;

// To the end; every problem that was asked for is legal.
std::vector<ConvProblem> play(Fuzz& fuzz, const Rule& kernel, const std::vector<std::string>& not_given = {}) {
  std::vector<ConvProblem> asked;
  while (auto p = fuzz.next()) {
    EXPECT_FALSE(check(*p)) << describe(*p);
    EXPECT_EQ(fuzz.next(), p) << "the same until it is judged";
    asked.push_back(*p);
    fuzz.judged(kernel(*p), "as it is", false, not_given);
    if (asked.size() > 5000) ADD_FAILURE() << "does not end";
    if (asked.size() > 5000) break;
  }
  EXPECT_FALSE(fuzz.next()) << "over is over";
  return asked;
}

Rule wrong_when(std::function<bool(const ConvProblem&)> rule) {
  return [rule](const ConvProblem& p) { return rule(p) ? Status::wrong : Status::right; };
}
Rule always_right() {
  return wrong_when([](const ConvProblem&) { return false; });
}

// What a kernel has for a warp's lanes, a tile or 16 bits shows where one size goes beyond that: with any seed.
TEST(Fuzz, SomeOfAHundredAreLarge) {
  for (uint64_t seed : {1, 2, 3, 42}) {
    FuzzSpec spec;
    spec.seed = seed;
    Fuzz fuzz(spec);
    int in = 0, out = 0, long_rows = 0;
    for (const auto& p : play(fuzz, always_right()))
      in += p.in_per_group() > 32, out += p.out_per_group() > 32, long_rows += p.length > 1024;
    EXPECT_GE(in, 1) << seed;
    EXPECT_GE(out, 1) << seed;
    EXPECT_GE(long_rows, 1) << seed;
  }
  // What is fixed stays so.
  FuzzSpec spec;
  spec.base.in_channels = 3, spec.base.stride = 3, spec.fixed = {"in_channels", "stride"};
  Fuzz fuzz(spec);
  for (const auto& p : play(fuzz, always_right())) EXPECT_TRUE(p.in_channels == 3 && p.stride == 3) << describe(p);
}

// An array that is long enough for all that is drawn: whole layers are the last of the cases.
TEST(Fuzz, LayersAreTheLastOfTheCases) {
  auto weights = [](const ConvProblem& p) { return p.w_elements() > 16000; };
  EXPECT_EQ(play(*std::make_unique<Fuzz>(FuzzSpec{.cases = 40}), wrong_when(weights)).size(), 40u) << "the control";
  FuzzSpec spec;
  spec.cases = 40, spec.layers = layers_for_the_end(DType::f32);
  ASSERT_GE(spec.layers.size(), 1u);
  Fuzz fuzz(spec);
  const auto asked = play(fuzz, always_right());
  ASSERT_EQ(asked.size(), 40u);
  for (size_t i = 0; i < spec.layers.size(); i++)
    EXPECT_EQ(describe(asked[40 - spec.layers.size() + i]), describe(spec.layers[i]));
  Fuzz other(spec);
  play(other, wrong_when(weights));
  ASSERT_TRUE(other.first());
  EXPECT_EQ(describe(other.first()->problem), describe(spec.layers.front()));
  EXPECT_GT(other.smallest()->problem.w_elements(), 16000);
  // Where something is fixed that they have not, all are drawn.
  spec.base.kernel_size = 1, spec.fixed = {"kernel_size"};
  Fuzz fixed(spec);
  for (const auto& p : play(fixed, always_right())) EXPECT_EQ(p.kernel_size, 1);
}

TEST(Fuzz, DrawsManyDifferentLegalProblems) {
  Fuzz fuzz({.cases = 500});
  const auto asked = play(fuzz, always_right());
  EXPECT_EQ(asked.size(), 500u);
  EXPECT_EQ(fuzz.right(), 500);
  EXPECT_FALSE(fuzz.first());
  EXPECT_EQ(fuzz.ended_early(), "");
  for (size_t i = 0; i < asked.size(); i++)
    for (size_t k = 0; k < i; k++) EXPECT_FALSE(asked[i] == asked[k]) << describe(asked[i]) << " was drawn twice";
  // Of everything that kernels forget there is enough to be met, and not only that.
  for (const auto& part : fuzz.coverage()) {
    EXPECT_GE(part.count, std::string_view(part.what).starts_with("more than") ? 8 : 25) << part.what;
    EXPECT_LE(part.count, 475) << part.what;
    int64_t counted = 0;
    for (const auto& p : asked) counted += part.has(p);
    EXPECT_EQ(counted, part.count) << part.what;
  }
  auto some = [&](auto has) { return std::count_if(asked.begin(), asked.end(), has); };
  EXPECT_GE(some([](const ConvProblem& p) { return p.length > 200; }), 10) << "beyond a tile";
  EXPECT_GE(some([](const ConvProblem& p) { return p.length == 1; }), 10);
  EXPECT_GE(some([](const ConvProblem& p) { return p.in_per_group() >= 32; }), 10);
  EXPECT_GE(some([](const ConvProblem& p) { return p.in_per_group() == 1 && p.out_per_group() == 1 && p.groups > 1; }),
            10)
      << "depthwise";
  for (const auto& p : asked)
    EXPECT_LE(static_cast<double>(p.y_elements() * p.kernel_size * p.in_per_group()), 1e6) << describe(p);
}

TEST(Fuzz, FollowsFromItsSeedAlone) {
  auto drawn = [](uint64_t seed) {
    Fuzz fuzz({.cases = 20, .seed = seed});
    return play(fuzz, always_right());
  };
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

TEST(Fuzz, WhatIsFixedStays) {
  FuzzSpec spec;
  spec.base = find_preset("kernelbench-79").problem;
  spec.fixed = {"kernel_size", "stride", "padding", "output_padding", "dilation", "groups", "bias"};
  spec.cases = 50;
  Fuzz fuzz(spec);
  // Wrong in a way that larger taps, strides and paddings would show as well: they stay.
  const auto asked = play(fuzz, wrong_when([](const ConvProblem& p) { return p.length > 20 && p.in_channels > 2; }));
  for (const auto& p : asked) {
    EXPECT_EQ(p.kernel_size, 3) << describe(p);
    EXPECT_EQ(p.stride, 2);
    EXPECT_EQ(p.padding, 1);
    EXPECT_EQ(p.dilation, 2);
    EXPECT_EQ(p.groups, 1);
    EXPECT_FALSE(p.bias);
  }
  ASSERT_TRUE(fuzz.smallest());
  EXPECT_EQ(fuzz.smallest()->problem.length, 21);
  EXPECT_EQ(fuzz.smallest()->problem.in_channels, 3);
  EXPECT_EQ(fuzz.smallest()->problem.out_channels, 1);
  EXPECT_EQ(fuzz.smallest()->problem.batch, 1);
}

TEST(Fuzz, TheSmallestIsWhatTheFaultNeedsAndNoMore) {
  struct Fault {
    const char* name;
    std::function<bool(const ConvProblem&)> wrong;
    ConvProblem least;
  };
  auto with = [](auto change) {
    ConvProblem p;
    change(p);
    return p;
  };
  const Fault faults[] = {
      {"everywhere", [](const ConvProblem&) { return true; }, {}},
      {"a long sequence", [](const ConvProblem& p) { return p.length > 17; }, with([](auto& p) { p.length = 18; })},
      {"dilation with taps", [](const ConvProblem& p) { return p.dilation > 1 && p.kernel_size > 1; },
       with([](auto& p) { p.dilation = 2, p.kernel_size = 2; })},
      {"groups of several channels", [](const ConvProblem& p) { return p.groups > 1 && p.in_per_group() > 1; },
       with([](auto& p) { p.groups = 2, p.in_channels = 4, p.out_channels = 2; })},
      {"output padding", [](const ConvProblem& p) { return p.output_padding > 0; },
       with([](auto& p) { p.stride = 2, p.output_padding = 1; })},
      {"a bias in a second sequence", [](const ConvProblem& p) { return p.bias && p.batch > 1; },
       with([](auto& p) { p.bias = true, p.batch = 2; })},
      {"padding beyond the stride", [](const ConvProblem& p) { return p.padding > p.stride; },
       with([](auto& p) { p.padding = 2, p.kernel_size = 1, p.length = 5; })},
  };
  for (const auto& f : faults)
    for (uint64_t seed = 1; seed <= 10; seed++) {
      Fuzz fuzz({.cases = 2000, .seed = seed});
      const auto asked = play(fuzz, wrong_when(f.wrong));
      ASSERT_TRUE(fuzz.first()) << f.name;
      EXPECT_TRUE(f.wrong(fuzz.first()->problem) && f.wrong(fuzz.smallest()->problem)) << f.name;
      const ConvProblem& least = fuzz.smallest()->problem;
      if (std::string(f.name) == "padding beyond the stride") {  // taps or positions make room for it
        EXPECT_EQ(least.padding, 2) << describe(least);
        EXPECT_EQ(least.stride, 1) << describe(least);
        EXPECT_EQ(least.out_length(), 1) << describe(least);
      } else if (std::string(f.name) == "output padding") {  // a stride or a dilation does
        EXPECT_EQ(least.output_padding, 1) << describe(least);
        EXPECT_EQ(least.stride + least.dilation, 3) << describe(least);
      } else {
        EXPECT_EQ(describe(least), describe(f.least)) << f.name << ", seed " << seed;
      }
      EXPECT_LE(fuzz.smaller_tried(), 200) << f.name;
    }
}

// A kernel whose launches are not told a parameter has one value of it in it: which one is found out.
TEST(Fuzz, WhatIsInAKernelIsFoundOut) {
  Fuzz fuzz({.cases = 60});
  const auto asked = play(fuzz, wrong_when([](const ConvProblem& p) { return p.dilation != 3 || p.stride != 2; }),
                          {"stride", "dilation"});
  ASSERT_TRUE(fuzz.pins());
  EXPECT_EQ(fuzz.pins()->fields, (std::set<std::string>{"stride", "dilation"}));
  EXPECT_EQ(fuzz.pins()->words, "stride 2 and dilation 3");
  EXPECT_FALSE(fuzz.first()) << "no failure of its own";
  EXPECT_EQ(fuzz.right(), 60);
  for (size_t i = asked.size() - 60; i < asked.size(); i++)
    EXPECT_TRUE(asked[i].stride == 2 && asked[i].dilation == 3) << describe(asked[i]);
}

TEST(Fuzz, WhatIsInAKernelIsNoExcuse) {
  // Wrong at the value that is in it as well: that is what is made smaller.
  Fuzz wrong({.cases = 60});
  play(wrong, wrong_when([](const ConvProblem& p) { return p.dilation != 1 || p.length > 30; }), {"dilation"});
  ASSERT_TRUE(wrong.pins());
  EXPECT_EQ(wrong.pins()->words, "dilation 1");
  ASSERT_TRUE(wrong.smallest());
  EXPECT_EQ(wrong.smallest()->problem.length, 31);
  // No value makes it right, or the parameter has nothing to do with it, or it was told.
  for (const auto& not_given : {std::vector<std::string>{"stride"}, {"padding"}, {}}) {
    Fuzz other({.cases = 60});
    play(other, wrong_when([](const ConvProblem& p) { return p.out_channels > 1; }), not_given);
    EXPECT_FALSE(other.pins());
    ASSERT_TRUE(other.smallest());
    EXPECT_EQ(other.smallest()->problem.out_channels, 2);
  }
  Fuzz never({.cases = 60});
  play(never, wrong_when([](const ConvProblem&) { return true; }), {"stride", "dilation", "padding"});
  EXPECT_FALSE(never.pins());
  EXPECT_TRUE(never.smallest());
}

TEST(Fuzz, WhatIsFixedIsNotLookedFor) {
  FuzzSpec spec;
  spec.base.dilation = 2, spec.fixed = {"dilation"};
  Fuzz fuzz(spec);
  play(fuzz, wrong_when([](const ConvProblem& p) { return p.dilation != 1; }), {"dilation"});
  EXPECT_FALSE(fuzz.pins());
  ASSERT_TRUE(fuzz.smallest());
  EXPECT_EQ(fuzz.smallest()->problem.dilation, 2);
}

// A crash is not a wrong result made smaller.
TEST(Fuzz, OnlyTheSameFailureIsTheSame) {
  Fuzz fuzz({.cases = 500});
  play(fuzz, [](const ConvProblem& p) {
    return p.length > 40 ? Status::wrong : p.length > 10 ? Status::crashed : Status::right;
  });
  ASSERT_TRUE(fuzz.first());
  const bool crashed = fuzz.first()->status == Status::crashed;
  EXPECT_EQ(fuzz.smallest()->status, fuzz.first()->status);
  EXPECT_EQ(fuzz.smallest()->problem.length, crashed ? 11 : 41);
}

// A hang is waited for ten seconds each time.
TEST(Fuzz, HangsAreTriedAFewTimesOnly) {
  Fuzz fuzz({.cases = 500});
  play(fuzz, [](const ConvProblem&) { return Status::hung; });
  EXPECT_LE(fuzz.smaller_tried(), 10);
}

TEST(Fuzz, WhatTheKernelDoesNotTakeIsNoCase) {
  Fuzz odd({.cases = 40});
  auto asked = play(odd, [](const ConvProblem& p) { return p.length % 4 ? Status::not_run : Status::right; });
  EXPECT_EQ(odd.right(), 40);
  EXPECT_EQ(odd.refused(), static_cast<int64_t>(asked.size()) - 40);
  EXPECT_EQ(odd.ended_early(), "");
  Fuzz none({.cases = 40});
  play(none, [](const ConvProblem&) { return Status::not_run; });
  EXPECT_EQ(none.right(), 0);
  EXPECT_EQ(none.ended_early(), "the kernel takes none of 2000 further ones (as it is)");
  Fuzz two({.cases = 40});
  for (int n = 0; two.next(); n++)
    two.judged(Status::not_run, n % 4 == 3 ? "takes no groups" : fmt::format("asks for {} bytes", n));
  EXPECT_TRUE(test::has(two.ended_early(), "the kernel takes none of 2000 further ones (asks for "));
  // Sentences that differ in numbers are one.
  ASSERT_EQ(two.refusals().size(), 2u);
  EXPECT_EQ(two.refusals()[0].count, 1500);
  // What refuses the plainest problem comes first, however seldom that was drawn.
  Fuzz plain({.cases = 40});
  while (const auto p = plain.next())
    plain.judged(Status::not_run, p->groups > 1 ? "takes no groups" : p->bias ? "takes no bias" : "is not followed");
  EXPECT_TRUE(test::has(plain.ended_early(), "(is not followed)"));
  EXPECT_EQ(plain.refusals().front().sentence, "is not followed");
}

TEST(Fuzz, EndsWhereThereAreNoMore) {
  FuzzSpec spec;
  spec.base.stride = 3, spec.base.output_padding = 2;
  for (const auto& f : problem_fields()) spec.fixed.insert(f.name);
  Fuzz fuzz(spec);
  EXPECT_EQ(play(fuzz, always_right()).size(), 2u) << "with a bias and without";
  EXPECT_EQ(fuzz.ended_early(), "there are no further problems of these parameters");
}

TEST(Fuzz, RefusesWhatCannotBeDrawn) {
  auto rule = [](FuzzSpec spec) -> std::string {
    try {
      Fuzz fuzz(spec);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(rule({.cases = 0}), "cases 0 must be between 1 and 100000");
  EXPECT_EQ(rule({.cases = 100001}), "cases 100001 must be between 1 and 100000");
  FuzzSpec spec;
  spec.fixed = {"groups", "in_channels"}, spec.base.groups = 3, spec.base.in_channels = 4;
  EXPECT_EQ(rule(spec), "groups 3 must divide in_channels = 4");
  spec.fixed = {"stride"}, spec.base.stride = 0;
  EXPECT_EQ(rule(spec), "stride 0 must be between 1 and 2147483647");
}

}  // namespace
}  // namespace convscope
