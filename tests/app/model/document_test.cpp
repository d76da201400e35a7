// Every change of a document: what it does, and what it refuses in which words.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"
#include "tests/app/model/documents.h"
#include "tests/support.h"

namespace convscope {
namespace {

using P = ConvProblem;

TEST(Document, TheFirstIsLegalAndShowsTheSpecimen) {
  Document d;
  EXPECT_EQ(test::why_illegal(d), "");
  EXPECT_EQ(d.kernel, "S4");
  EXPECT_EQ(preset_of(d.problem), "kernelbench-79-small");
}

TEST(Document, EveryChange) {
  Document d;
  ConvProblem p = d.problem;
  p.length = 17;
  d = apply(d, SetProblem{p});
  EXPECT_EQ(d.problem, p);
  d = apply(d, LoadPreset{"kernelbench-74-small"});
  EXPECT_EQ(d.problem, find_preset("kernelbench-74-small").problem);
  d = apply(d, SetKernel{"tiled"});
  EXPECT_EQ(d.kernel, "tiled");
  d = apply(d, SetCompareWith{"onednn"});
  EXPECT_EQ(d.compare_with, "onednn");
  d = apply(d, SetSource{Role::input, {InputKind::impulse, {}, {}}});
  d = apply(d, SetSource{Role::weight, {InputKind::ones, {}, {}}});
  d = apply(d, SetSource{Role::bias, {InputKind::ramp, {}, {}}});
  EXPECT_EQ(d.inputs.x.kind, InputKind::impulse);
  EXPECT_EQ(d.inputs.w.kind, InputKind::ones);
  EXPECT_EQ(d.inputs.b.kind, InputKind::ramp);
  d = apply(d, SetSeed{std::numeric_limits<uint64_t>::max()});
  EXPECT_EQ(d.inputs.seed, std::numeric_limits<uint64_t>::max());
  d = apply(d, SetTolerance{0, 1e-3});
  EXPECT_EQ(d.atol, 0);
  EXPECT_EQ(d.rtol, 1e-3);
  d = apply(d, SetAccuracy{Accuracy::tf32});
  EXPECT_EQ(d.accuracy, Accuracy::tf32);
  d = apply(d, SetDevice{"cuda:1"});
  EXPECT_EQ(d.device, "cuda:1");
  Document other;
  EXPECT_EQ(apply(d, ReplaceDocument{other, "x.convscope"}), other);
  EXPECT_EQ(test::why_illegal(d), "");
}

TEST(Document, AFileSetsTheShape) {
  Document d;
  d = apply(d, SetSource{Role::input, test::file_source("x.npy", {2, 6, 11})});
  EXPECT_EQ(d.problem.batch, 2);
  EXPECT_EQ(d.problem.in_channels, 6);
  EXPECT_EQ(d.problem.length, 11);
  d = apply(d, SetSource{Role::weight, test::file_source("w.npy", {6, 5, 7})});
  EXPECT_EQ(d.problem.out_channels, 5);
  EXPECT_EQ(d.problem.kernel_size, 7);
  d = apply(d, SetSource{Role::bias, test::file_source("b.npy", {5})});
  EXPECT_TRUE(d.problem.bias);
  // A preset has another shape: the usual values come back, files and all.
  Document preset = apply(d, LoadPreset{"kernelbench-79-small"});
  EXPECT_EQ(preset.inputs.x, (TensorSource{InputKind::random, {}, {}}));
  EXPECT_EQ(preset.inputs.w, (TensorSource{InputKind::initial, {}, {}}));
  EXPECT_EQ(test::why_illegal(preset), "");
  // What no file fixes may still change.
  ConvProblem p = d.problem;
  p.stride = 3;
  EXPECT_EQ(apply(d, SetProblem{p}).problem.stride, 3);
  // Values of its own: nothing stays of the file.
  EXPECT_EQ(apply(d, SetSource{Role::input, {InputKind::ones, {}, {}}}).inputs.x.file, "");
}

TEST(Document, ABiasFileWaitsWhileThereIsNoBias) {
  Document d = apply({}, SetSource{Role::bias, test::file_source("b.npy", {32})});
  ConvProblem p = d.problem;
  p.bias = false, p.out_channels = 8;
  Document without = apply(d, SetProblem{p});
  p.bias = true;
  EXPECT_EQ(test::error_of<InputError>([&] { apply(without, SetProblem{p}); }),
            "bias-values b.npy has shape [32], the problem needs [8]: change the problem back, or take other values");
}

// ---- what is refused ------------------------------------------------------------------------------------------------

struct Refused {
  const char* name;
  Change change;
  const char *field, *value, *rule;  // rule: a part of it
  friend void PrintTo(const Refused& r, std::ostream* out) { *out << r.field << ' ' << r.value; }
};

ConvProblem problem(int64_t P::*field, int64_t value) {
  ConvProblem p = Document().problem;
  p.*field = value;
  return p;
}

std::vector<Refused> refused() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  Document f64;
  f64.problem.dtype = DType::f64;
  f64.accuracy = Accuracy::tf32;
  Document nameless, negative, unread;
  nameless.kernel.clear();
  negative.rtol = -1;
  unread.inputs.w = {InputKind::file, "w.npy", {}};
  Document half = f64;
  half.problem.dtype = DType::f16;
  return {
      {"Stride", SetProblem{problem(&P::stride, 0)}, "stride", "0", "must be at least 1"},
      {"Batch", SetProblem{problem(&P::batch, -4)}, "batch", "-4", "must be at least 1"},
      {"Length", SetProblem{problem(&P::length, max_parameter + 1)}, "length", "2147483648", "must be at most"},
      {"OutputPadding", SetProblem{problem(&P::output_padding, 2)}, "output_padding", "2",
       "must be smaller than max(stride, dilation) = 2"},
      {"Groups", SetProblem{problem(&P::groups, 3)}, "groups", "3", "must divide in_channels"},
      {"Padding", SetProblem{problem(&P::padding, 100000)}, "out_length", "-", "must be at least 1"},
      {"Preset", LoadPreset{"kernelbench-79-smal"}, "preset", "kernelbench-79-smal", "kernelbench-79-small"},
      {"NoKernel", SetKernel{""}, "kernel", "''", "must have a name"},
      {"NoReference", SetCompareWith{""}, "compare-with", "''", "must have a name"},
      {"InputDimensions", SetSource{Role::input, test::file_source("x.npy", {3, 4})}, "input", "x.npy",
       "has 2 dimensions and must have 3"},
      {"WeightDimensions", SetSource{Role::weight, test::file_source("w.npy", {3})}, "weight", "w.npy",
       "has 1 dimensions and must have 3"},
      {"BiasDimensions", SetSource{Role::bias, test::file_source("b.npy", {1, 2, 3})}, "bias-values", "b.npy",
       "has 3 dimensions and must have 1"},
      {"EmptyInput", SetSource{Role::input, test::file_source("x.npy", {1, 32, 0})}, "length", "0",
       "must be at least 1"},
      {"InputType", SetSource{Role::input, test::file_source("x.npy", {1, 32, 9}, DType::f64)}, "input", "x.npy",
       "holds f64, the problem is f32"},
      {"InputNotRead", SetSource{Role::input, {InputKind::file, "x.npy", {}}}, "input", "x.npy", "was not read"},
      {"WeightNotRead", ReplaceDocument{unread, "s.convscope"}, "weight", "w.npy", "was not read"},
      {"ToleranceNegative", SetTolerance{-1e-9, 1}, "tolerance", "-1e-09", "not negative"},
      {"ToleranceNan", SetTolerance{1, nan}, "tolerance", "nan", "not negative"},
      {"ToleranceInfinite", SetTolerance{inf, 1}, "tolerance", "inf", "not negative"},
      {"SessionTolerance", ReplaceDocument{negative, "s.convscope"}, "tolerance", "-1", "not negative"},
      {"SessionKernel", ReplaceDocument{nameless, "s.convscope"}, "kernel", "''", "must have a name"},
      {"SessionAccuracy", ReplaceDocument{f64, "s.convscope"}, "accuracy", "tf32", "f64 is always strict"},
      {"HalfAccuracy", ReplaceDocument{half, "s.convscope"}, "accuracy", "tf32", "f16 is always strict"},
  };
}

class IllegalChange : public testing::TestWithParam<Refused> {};

TEST_P(IllegalChange, SaysFieldValueAndRuleAndChangesNothing) {
  const Refused& c = GetParam();
  Document before;
  const Document kept = before;
  try {
    convscope::apply(before, c.change);
    FAIL() << "it was taken";
  } catch (const InputError& e) {
    EXPECT_EQ(e.field(), c.field);
    EXPECT_TRUE(e.value().starts_with(c.value)) << e.value();
    EXPECT_NE(e.rule().find(c.rule), std::string::npos) << e.rule();
    EXPECT_NE(std::string(e.what()).find(e.rule()), std::string::npos);
  }
  EXPECT_EQ(before, kept);
}

INSTANTIATE_TEST_SUITE_P(Document, IllegalChange, testing::ValuesIn(refused()),
                         [](const auto& i) { return std::string(i.param.name); });

// A short piece is legal, computed at once, and the same layer.
TEST(Document, AShortPieceIsTheSameLayer) {
  int shortened = 0;
  for (const auto& preset : presets()) {
    Document d;
    d.problem = preset.problem;
    const ConvProblem p = short_piece(d);
    EXPECT_FALSE(check(p)) << preset.name;
    ConvProblem same = p;
    same.batch = d.problem.batch, same.length = d.problem.length;
    EXPECT_EQ(same, d.problem) << preset.name;
    EXPECT_LE(p.length, d.problem.length);
    EXPECT_TRUE(flops(p) <= 60e6 || p.length <= 16) << preset.name << ": " << flops(p);
    EXPECT_TRUE(p == d.problem || !std::string_view(preset.name).ends_with("-small")) << preset.name;
    shortened += !(p == d.problem);
  }
  EXPECT_GE(shortened, 22);
  // What a file holds cannot be shortened.
  Document d = apply({}, SetSource{Role::input, test::file_source("x.npy", {1, 32, 9})});
  d.problem.length = 1 << 20;
  EXPECT_EQ(short_piece(d), d.problem);
}

// A file that is loaded holds the shape: whoever moves away from it is told so.
TEST(Document, AFileHoldsTheShape) {
  Document d = apply({}, SetSource{Role::input, test::file_source("x.npy", {1, 32, 9})});
  for (auto field : {&P::batch, &P::in_channels, &P::length}) {
    ConvProblem p = d.problem;
    p.*field += 1;
    EXPECT_NE(test::error_of<InputError>([&] { apply(d, SetProblem{p}); }).find("change the problem back"),
              std::string::npos);
  }
  ConvProblem wide = d.problem;
  wide.dtype = DType::f64;
  EXPECT_EQ(test::error_of<InputError>([&] { apply(d, SetProblem{wide}); }),
            "input x.npy holds f32, the problem is f64");
}

TEST(Document, F64IsAlwaysStrict) {
  Document d = apply({}, SetAccuracy{Accuracy::tf32});
  ConvProblem p = d.problem;
  p.dtype = DType::f64;
  EXPECT_NE(test::error_of<InputError>([&] { apply(d, SetProblem{p}); }), "");
  EXPECT_EQ(apply(apply(d, SetAccuracy{Accuracy::strict}), SetProblem{p}).problem.dtype, DType::f64);
}

// ---- what a change means --------------------------------------------------------------------------------------------

TEST(Document, WhatNeedsARun) {
  Document d;
  auto after = [&](const Change& c) { return needs_run(d, convscope::apply(d, c)); };
  ConvProblem p = d.problem;
  p.bias = !p.bias;
  EXPECT_TRUE(after(SetProblem{p}));
  EXPECT_TRUE(after(SetKernel{"direct"}));
  EXPECT_TRUE(after(SetSource{Role::input, {InputKind::ones, {}, {}}}));
  EXPECT_TRUE(after(SetSeed{7}));
  EXPECT_TRUE(after(SetAccuracy{Accuracy::tf32}));
  EXPECT_TRUE(after(SetDevice{"emulator"}));
  EXPECT_FALSE(after(SetCompareWith{"onednn"}));
  EXPECT_FALSE(after(SetTolerance{1, 1}));
  EXPECT_FALSE(after(SetSeed{d.inputs.seed}));
}

TEST(Document, AChangeInWords) {
  Document d;
  auto words = [&](const Change& c) { return describe_change(d, convscope::apply(d, c)); };
  EXPECT_EQ(words(SetProblem{problem(&P::stride, 3)}), "stride 2 → 3");
  EXPECT_EQ(words(SetKernel{"tiled"}), "kernel S4 → tiled");
  EXPECT_EQ(words(LoadPreset{"kernelbench-74-small"}), "problem kernelbench-74-small");
  EXPECT_EQ(words(SetSeed{1}), "seed 42 → 1");
  EXPECT_EQ(words(SetTolerance{1, 1}), "tolerance");
  EXPECT_EQ(describe_change(d, d), "");
  EXPECT_EQ(words(SetKernel{"/home/her/mine.cu"}), "kernel S4 → mine.cu") << "as everywhere";
  Document mine = d, yours = d;
  mine.kernel = "/a/mine.cu", yours.kernel = "/b/mine.cu";
  EXPECT_EQ(other_document_words(mine, yours), "of kernel /a/mine.cu; now: kernel /b/mine.cu") << "folders tell them";
  EXPECT_EQ(other_document_words(d, yours), "of kernel S4; now: kernel mine.cu");
}

TEST(Document, ADifferenceInTheWordsOfEach) {
  auto words = [](const Document& one, const Document& other) {
    Difference d = describe_difference(one, other);
    return d.one + " | " + d.other;
  };
  Document whole;
  whole.problem = find_preset("kernelbench-79").problem;
  Document piece = whole;
  piece.problem.batch = 1, piece.problem.length = 4000;
  EXPECT_EQ(words(piece, whole), "batch 1, length 4000 | batch 16, length 131072");
  Document other = piece;
  other.kernel = "tiled", other.problem = find_preset("kernelbench-74").problem;
  EXPECT_TRUE(words(other, whole).ends_with("problem kernelbench-79, kernel S4"));
  EXPECT_EQ(words(whole, other), "problem kernelbench-79, kernel S4 | problem kernelbench-74, kernel tiled");
  other = whole;
  other.inputs.x.kind = InputKind::ones, other.inputs.seed = 7;
  EXPECT_EQ(words(whole, other), "input random, seed 42 | input ones, seed 7");
  EXPECT_EQ(words(whole, whole), " | ");
}

// Whatever differs has words: an entry of the undo menu is never empty.
TEST(Document, EveryChangeHasWords) {
  test::Random r(3);
  Document d;
  for (int i = 0; i < 3000; i++) {
    try {
      Document next = convscope::apply(d, test::random_change(r, d));
      EXPECT_EQ(describe_change(d, next).empty(), next == d);
      const Difference both = describe_difference(d, next);
      EXPECT_EQ(both.one.empty(), next == d);
      EXPECT_EQ(both.one == both.other, next == d) << both.one;
      d = next;
    } catch (const InputError&) {
    }
  }
}

// ---- sliders --------------------------------------------------------------------------------------------------------

TEST(SliderSpan, EndsAreLegalAndThePresentValueLiesBetween) {
  test::Random r(1);
  std::vector<ConvProblem> all;
  for (const auto& p : presets()) all.push_back(p.problem);
  for (int i = 0; i < 2000; i++) all.push_back(test::random_problem(r));
  for (const ConvProblem& p : all)
    for (const auto& f : problem_fields()) {
      Span s = slider_span(p, f.value);
      EXPECT_LE(s.low, p.*f.value) << f.name << " of " << describe(p);
      EXPECT_GE(s.high, p.*f.value) << f.name << " of " << describe(p);
      for (int64_t end : {s.low, s.high})
        EXPECT_EQ(check(with(p, f.value, end)), std::nullopt) << f.name << " " << end << " of " << describe(p);
      // Between the ends everything that divides is legal, too.
      bool channels = f.value == &P::in_channels || f.value == &P::out_channels;
      int64_t between = test::between(r, s.low, s.high);
      if (channels) between -= between % p.groups;
      if (f.value != &P::groups) {
        EXPECT_EQ(check(with(p, f.value, between)), std::nullopt) << f.name << " " << between << " of " << describe(p);
      }
    }
}

TEST(SliderSpan, FollowsTheRules) {
  ConvProblem p = Document().problem;
  p.stride = 5, p.dilation = 3, p.output_padding = 0;
  EXPECT_EQ(slider_span(p, &P::output_padding).high, 4);
  p.in_channels = 12, p.out_channels = 18;
  EXPECT_EQ(slider_span(p, &P::groups).high, 6);
  p.groups = 3;
  EXPECT_EQ(slider_span(p, &P::in_channels).low, 3);
  EXPECT_EQ(slider_span(p, &P::out_channels).high, 510);
  p.length = 1, p.kernel_size = 4, p.stride = 1, p.output_padding = 0;
  // Lout = −2p + 9 + 1
  EXPECT_EQ(slider_span(p, &P::padding).high, 4);
  p.padding = 4;
  EXPECT_EQ(slider_span(p, &P::kernel_size).low, 4);
  EXPECT_EQ(slider_span(p, &P::dilation).low, 3);
}

TEST(SliderSpan, OutputPaddingFollowsStrideAndDilationDown) {
  ConvProblem p = Document().problem;
  p.stride = 6, p.dilation = 2, p.output_padding = 5;
  EXPECT_EQ(with(p, &P::stride, 3).output_padding, 2);
  EXPECT_EQ(with(p, &P::stride, 1).output_padding, 1);
  EXPECT_EQ(with(p, &P::stride, 8).output_padding, 5);
  EXPECT_EQ(with(p, &P::length, 9).output_padding, 5);
  EXPECT_EQ(slider_span(p, &P::stride).low, 1);
}

TEST(Stepped, GoesToTheNextLegalNumber) {
  ConvProblem p = Document().problem;
  p.in_channels = 12, p.out_channels = 18, p.groups = 1, p.stride = 2, p.dilation = 1, p.output_padding = 0;
  EXPECT_EQ(stepped(p, &P::stride, 1), 3);
  EXPECT_EQ(stepped(p, &P::stride, -1), 1);
  EXPECT_EQ(stepped(p, &P::stride, 0), 2);
  EXPECT_EQ(stepped(p, &P::stride, 10), 12);
  EXPECT_EQ(stepped(p, &P::stride, -10), 1) << "as far as it goes";
  EXPECT_EQ(stepped(p, &P::output_padding, 1), 1);
  EXPECT_EQ(stepped(p, &P::output_padding, 10), 1) << "the stride leaves no room";
  // Divisors of 12 and 18: 1, 2, 3, 6.
  p.groups = 3;
  EXPECT_EQ(stepped(p, &P::groups, 1), 6);
  EXPECT_EQ(stepped(p, &P::groups, -1), 2);
  EXPECT_EQ(stepped(p, &P::in_channels, 1), 15);
  p.groups = 6;
  EXPECT_EQ(stepped(p, &P::groups, 1), 6) << "there is none beyond";
  // Further than a slider goes.
  p.length = 100000;
  EXPECT_EQ(stepped(p, &P::length, 1), 100001);
}

TEST(Stepped, StaysLegalOfAnyProblem) {
  test::Random r(11);
  for (int i = 0; i < 300; i++) {
    const ConvProblem p = test::random_problem(r);
    for (const auto& f : problem_fields())
      for (int64_t by : {-10, -1, 1, 10}) {
        const int64_t to = stepped(p, f.value, by);
        EXPECT_FALSE(check(with(p, f.value, to))) << f.name << " " << p.*f.value << " → " << to;
        EXPECT_TRUE(by < 0 ? to <= p.*f.value : to >= p.*f.value) << f.name;
      }
  }
  ConvProblem wild;
  for (int64_t v : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    wild.stride = v;
    EXPECT_EQ(stepped(wild, &P::stride, 1), v) << "nothing legal is near";
  }
}

}  // namespace
}  // namespace convscope
