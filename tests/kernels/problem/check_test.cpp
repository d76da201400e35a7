#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/problem/conv_problem.h"
#include "kernels/problem/counts.h"
#include "tests/convolution.h"

namespace convscope {
namespace {

using test::between;

std::string message(const ConvProblem& p) {
  auto e = check(p);
  return e ? e->what() : "legal";
}

// Legal, and with room around every parameter.
ConvProblem ordinary() {
  ConvProblem p;
  p.batch = 2, p.in_channels = 6, p.out_channels = 4, p.kernel_size = 3, p.length = 10;
  p.stride = 2, p.padding = 1, p.output_padding = 1, p.dilation = 2, p.groups = 2;
  return p;
}

ConvProblem with(int64_t ConvProblem::*field, int64_t value, ConvProblem p = ordinary()) {
  p.*field = value;
  return p;
}

TEST(Check, TheOrdinaryProblemIsLegal) {
  EXPECT_EQ(message(ordinary()), "legal");
  EXPECT_EQ(message(ConvProblem{}), "legal") << "and so is the default, all ones";
  EXPECT_NO_THROW(require_legal(ordinary()));
}

TEST(Check, NamesEveryRuleThatIsBroken) {
  auto rules = [](const ConvProblem& p) {
    std::string all;
    for (const InputError& e : broken_rules(p)) all += (all.empty() ? "" : "; ") + std::string(e.what());
    return all;
  };
  EXPECT_EQ(rules(ordinary()), "");
  ConvProblem p = ordinary();
  p.batch = 0, p.padding = -1, p.output_padding = 5, p.groups = 5;
  EXPECT_EQ(
      rules(p),
      "batch 0 must be at least 1; padding -1 must be at least 0; output_padding 5 must be smaller than max(stride, "
      "dilation) = 2; groups 5 must divide in_channels = 6; groups 5 must divide out_channels = 4");
  EXPECT_EQ(message(p), "batch 0 must be at least 1") << "the first of them";
  // A rule on several numbers is not asked of one that none of them can be.
  p = ordinary(), p.groups = 0, p.stride = 0, p.output_padding = 2;
  EXPECT_EQ(rules(p), "stride 0 must be at least 1; groups 0 must be at least 1");
  p = ordinary(), p.padding = 1000;
  EXPECT_TRUE(rules(p).starts_with("out_length -1976 must be at least 1")) << rules(p);
}

struct Broken {
  const char* what;
  int64_t ConvProblem::*field;
  int64_t value;
  const char* says;
};

TEST(Check, EveryRuleHasItsSentence) {
  using P = ConvProblem;
  const Broken cases[] = {
      {"batch", &P::batch, 0, "batch 0 must be at least 1"},
      {"in_channels", &P::in_channels, 0, "in_channels 0 must be at least 1"},
      {"out_channels", &P::out_channels, -4, "out_channels -4 must be at least 1"},
      {"kernel_size", &P::kernel_size, 0, "kernel_size 0 must be at least 1"},
      {"length", &P::length, 0, "length 0 must be at least 1"},
      {"stride", &P::stride, 0, "stride 0 must be at least 1"},
      {"padding", &P::padding, -1, "padding -1 must be at least 0"},
      {"output_padding", &P::output_padding, -1, "output_padding -1 must be at least 0"},
      {"dilation", &P::dilation, 0, "dilation 0 must be at least 1"},
      {"groups", &P::groups, 0, "groups 0 must be at least 1"},
      {"batch", &P::batch, int64_t{1} << 31, "batch 2147483648 must be at most 2147483647"},
      {"in_channels", &P::in_channels, int64_t{1} << 31, "in_channels 2147483648 must be at most 2147483647"},
      {"out_channels", &P::out_channels, int64_t{1} << 31, "out_channels 2147483648 must be at most 2147483647"},
      {"kernel_size", &P::kernel_size, (int64_t{1} << 20) + 1, "kernel_size 1048577 must be at most 1048576"},
      {"length", &P::length, int64_t{1} << 31, "length 2147483648 must be at most 2147483647"},
      {"stride", &P::stride, int64_t{1} << 31, "stride 2147483648 must be at most 2147483647"},
      {"padding", &P::padding, int64_t{1} << 31, "padding 2147483648 must be at most 2147483647"},
      {"output_padding", &P::output_padding, int64_t{1} << 31, "output_padding 2147483648 must be at most 2147483647"},
      {"dilation", &P::dilation, int64_t{1} << 31, "dilation 2147483648 must be at most 2147483647"},
      {"groups", &P::groups, int64_t{1} << 31, "groups 2147483648 must be at most 2147483647"},
      {"output_padding", &P::output_padding, 2, "output_padding 2 must be smaller than max(stride, dilation) = 2"},
      {"groups", &P::groups, 4, "groups 4 must divide in_channels = 6"},
      {"groups", &P::groups, 3, "groups 3 must divide out_channels = 4"},
      {"out_length", &P::padding, 12,
       "out_length 0 must be at least 1: (L - 1)*s - 2p + d*(K - 1) + op + 1 with L 10, s 2, p 12, d 2, K 3, op 1"},
      {"out_length", &P::padding, 100,
       "out_length -176 must be at least 1: (L - 1)*s - 2p + d*(K - 1) + op + 1 with L 10, s 2, p 100, d 2, K 3, op 1"},
      {"out_length", &P::stride, 238609295,
       "out_length 2147483659 must be at most 2147483647: (L - 1)*s - 2p + d*(K - 1) + op + 1 with L 10, s 238609295, "
       "p 1, d 2, K 3, op 1"},
  };
  for (const auto& c : cases) {
    auto p = with(c.field, c.value);
    EXPECT_EQ(message(p), c.says);
    auto e = check(p);
    ASSERT_TRUE(e) << c.says;
    EXPECT_EQ(e->field(), c.what) << c.says;
    EXPECT_THROW(require_legal(p), InputError);
  }
}

TEST(Check, EveryTypeIsLegalAndCountsItsBytes) {
  auto p = ordinary();
  int64_t elements = p.x_elements() + p.w_elements() + p.b_elements() + p.y_elements();
  for (const auto& t : dtype_table) {
    p.dtype = t.dtype;
    EXPECT_EQ(message(p), "legal") << t.name;
    EXPECT_EQ(least_bytes(p), elements * static_cast<int64_t>(t.size)) << t.name;
    EXPECT_EQ(describe(p).ends_with(", " + std::string(t.name)), t.dtype != DType::f32) << describe(p);
  }
}

TEST(Check, BoundariesAreLegal) {
  using P = ConvProblem;
  EXPECT_EQ(message(with(&P::padding, 11, with(&P::output_padding, 0))), "legal") << "one output is left";
  EXPECT_EQ(with(&P::padding, 11, with(&P::output_padding, 0)).out_length(), 1);
  EXPECT_EQ(message(with(&P::padding, 0)), "legal");
  EXPECT_EQ(message(with(&P::groups, 1)), "legal");
  // output_padding may reach max(s, d) − 1, whichever of the two is larger.
  EXPECT_EQ(message(with(&P::output_padding, 6, with(&P::stride, 7))), "legal");
  EXPECT_NE(message(with(&P::output_padding, 7, with(&P::stride, 7))), "legal");
  EXPECT_EQ(message(with(&P::output_padding, 8, with(&P::dilation, 9))), "legal");
  EXPECT_NE(message(with(&P::output_padding, 9, with(&P::dilation, 9))), "legal");
  // The largest value of each parameter, where nothing else forbids it.
  ConvProblem one;
  for (const auto& f : problem_fields()) {
    if (!std::strcmp(f.name, "output_padding") || !std::strcmp(f.name, "groups") || !std::strcmp(f.name, "padding"))
      continue;
    EXPECT_EQ(message(with(f.value, f.maximum, one)), "legal") << f.name;
  }
  one.in_channels = one.out_channels = one.groups = max_parameter;
  EXPECT_EQ(message(one), "legal") << "as many groups as channels";
  EXPECT_EQ(message(with(&P::length, max_parameter, {})), "legal") << "the longest output";
  auto too_long = with(&P::kernel_size, 2, with(&P::length, max_parameter, {}));
  EXPECT_EQ(check(too_long)->field(), "out_length");
  too_long.padding = 1;
  EXPECT_EQ(message(too_long), "legal");
}

TEST(Check, TheLargestTensorsAreExactlyTwoToThe36) {
  ConvProblem x;  // 2^20 · 2^16 · 1
  x.batch = 1 << 20, x.in_channels = 1 << 16;
  EXPECT_EQ(message(x), "legal");
  x.in_channels++;
  EXPECT_EQ(message(x), "input 68720525312 elements (N*Cin*L) must be at most 68719476736");
  EXPECT_EQ(check(x)->field(), "input");

  ConvProblem w;
  w.in_channels = 1 << 18, w.out_channels = 1 << 18;
  EXPECT_EQ(message(w), "legal");
  w.kernel_size = 2;
  EXPECT_EQ(message(w), "weight 137438953472 elements (Cin*(Cout/groups)*K) must be at most 68719476736");
  w.groups = 2;
  EXPECT_EQ(message(w), "legal") << "groups make the weights fewer";

  ConvProblem y;
  y.batch = 1 << 20, y.out_channels = 1 << 16;
  EXPECT_EQ(message(y), "legal");
  y.stride = 2, y.output_padding = 1;
  EXPECT_EQ(message(y), "output 137438953472 elements (N*Cout*Lout) must be at most 68719476736");
}

TEST(Check, NothingOverflows) {
  // Every parameter at each of its ends, and far outside: an answer, and a number that is not wrapped around.
  const int64_t values[] = {
      std::numeric_limits<int64_t>::min(), -1, 0, 1, 2, max_kernel_size, max_parameter, max_parameter + 1,
      std::numeric_limits<int64_t>::max()};
  int legal = 0;
  test::Random r(1);
  for (int round = 0; round < 20000; round++) {
    ConvProblem p;
    for (const auto& f : problem_fields()) p.*f.value = values[r() % std::size(values)];
    if (auto e = check(p)) {
      if (e->field() == "out_length" && e->rule().starts_with("must be at most")) {
        EXPECT_NE(e->value()[0], '-');
      }
    } else {
      legal++;
      EXPECT_GE(p.out_length(), 1);
      EXPECT_LE(p.x_elements(), max_elements);
      EXPECT_LE(p.y_elements(), max_elements);
    }
  }
  ConvProblem p;  // the longest number there is
  p.length = p.stride = p.dilation = max_parameter;
  p.kernel_size = max_kernel_size;
  EXPECT_NE(message(p).find("out_length 4613937809650089988 must be at most"), std::string::npos) << message(p);
  p = {};
  p.padding = max_parameter;
  EXPECT_NE(message(p).find("out_length -4294967293 must be at least 1"), std::string::npos) << message(p);
}

TEST(Check, AcceptsEveryLegalProblem) {
  test::Random r(2);
  for (int i = 0; i < 20000; i++) {
    auto p = test::random_problem(r);
    ASSERT_EQ(message(p), "legal") << describe(p);
  }
}

// The rules once more, as the notes state them, on problems of which most break some.
bool legal_by_the_notes(const ConvProblem& p) {
  if (p.stride < 1 || p.dilation < 1 || p.kernel_size < 1 || p.groups < 1) return false;
  if (p.batch < 1 || p.in_channels < 1 || p.out_channels < 1 || p.length < 1) return false;
  if (p.padding < 0 || p.output_padding < 0) return false;
  if (!(p.output_padding < p.stride || p.output_padding < p.dilation)) return false;
  if (p.in_channels % p.groups || p.out_channels % p.groups) return false;
  return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + p.output_padding + 1 >= 1;
}

TEST(Check, AgreesWithTheNotesOnSmallProblems) {
  test::Random r(3);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 50000; i++) {
    ConvProblem p;
    p.batch = between(r, 0, 8), p.in_channels = between(r, 0, 8), p.out_channels = between(r, 1, 8);
    p.kernel_size = between(r, 0, 8), p.length = between(r, 0, 8), p.stride = between(r, 0, 8);
    p.padding = between(r, -1, 8), p.output_padding = between(r, -1, 4), p.dilation = between(r, 0, 8);
    p.groups = between(r, 0, 2);
    ASSERT_EQ(!check(p), legal_by_the_notes(p)) << describe(p) << ": " << message(p);
    (check(p) ? refused : accepted)++;
  }
  EXPECT_GT(accepted, 5000);
  EXPECT_GT(refused, 5000);
}

TEST(Problem, OutLengthIsWhereTheLastTapLands) {
  test::Random r(4);
  for (int i = 0; i < 5000; i++) {
    auto p = test::random_problem(r);
    int64_t last = 0;
    for (int64_t x = 0; x < p.length; x++)
      for (int64_t k = 0; k < p.kernel_size; k++) last = std::max(last, x * p.stride + k * p.dilation);
    // All positions from 0 to the last, without p at both ends, and op more at the right.
    ASSERT_EQ(p.out_length(), last + 1 - 2 * p.padding + p.output_padding) << describe(p);
  }
}

TEST(Problem, SizesAndArguments) {
  auto p = ordinary();
  EXPECT_EQ(p.out_length(), 9 * 2 - 2 + 2 * 2 + 1 + 1);
  EXPECT_EQ(p.x_elements(), 2 * 6 * 10);
  EXPECT_EQ(p.w_elements(), 6 * 2 * 3);
  EXPECT_EQ(p.b_elements(), 0);
  EXPECT_EQ(p.y_elements(), 2 * 4 * 22);
  EXPECT_EQ(p.in_per_group(), 3);
  EXPECT_EQ(p.out_per_group(), 2);
  p.bias = true;
  EXPECT_EQ(p.b_elements(), 4);
  // The order of the members is part of the interface, so they are looked at as plain numbers.
  ConvArgs args = p.args();
  int64_t plain[11];
  static_assert(sizeof args == sizeof plain);
  std::memcpy(plain, &args, sizeof plain);
  const int64_t expected[] = {2, 6, 4, 3, 10, 22, 2, 1, 1, 2, 2};
  EXPECT_TRUE(std::equal(plain, plain + 11, expected));
}

TEST(Problem, IsDescribedInOneLine) {
  ConvProblem p;
  p.batch = 16, p.in_channels = 32, p.out_channels = 64, p.kernel_size = 3, p.length = 131072;
  p.stride = 2, p.padding = 1, p.dilation = 2;
  EXPECT_EQ(describe(p), "16 × 32→64, K 3, L 131072, s 2, p 1, d 2");
  p.output_padding = 1, p.groups = 4, p.bias = true, p.dtype = DType::f64;
  EXPECT_EQ(describe(p), "16 × 32→64, K 3, L 131072, s 2, p 1, d 2, op 1, groups 4, bias, f64");
}

TEST(Problem, TypesKnowTheirNumbers) {
  for (const auto& t : dtype_table) {
    EXPECT_EQ(dtype_from(t.name), t.dtype);
    EXPECT_EQ(&traits(t.dtype), &t);
    EXPECT_EQ(t.unit_roundoff, std::ldexp(1.0, -t.significand_bits));
  }
  EXPECT_EQ(dtype_from("float"), std::nullopt);
  EXPECT_EQ(traits(DType::f32).largest, std::numeric_limits<float>::max());
  EXPECT_EQ(traits(DType::f32).smallest, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(traits(DType::f32).unit_roundoff, std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(traits(DType::f64).largest, std::numeric_limits<double>::max());
  EXPECT_EQ(traits(DType::f64).smallest, std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(traits(DType::f64).unit_roundoff, std::numeric_limits<double>::epsilon() / 2);
}

}  // namespace
}  // namespace convscope
