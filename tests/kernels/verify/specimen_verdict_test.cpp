// The five standing exhibits before the judge: the fractions that were measured, right where they are right, and
// sentences that are true of what the notes say they compute.
#include <cmath>
#include <gtest/gtest.h>
#include <regex>

#include "kernels/base/text.h"
#include "kernels/problem/presets.h"
#include "kernels/verify/pattern.h"
#include "tests/kernels/verify/judging.h"
#include "tests/kernels/verify/specimen_model.h"

namespace convscope {
namespace {

using test::evidence;
using test::has;
using test::judged;
using test::layer_status;

double percent(int64_t part, int64_t whole) { return 100 * static_cast<double>(part) / static_cast<double>(whole); }

// ---- on the problem each was written for ----------------------------------------------------------------------------

TEST(Specimens, S0OnItsOwnProblem) {
  auto r = judged("S0", find_preset("kernelbench-79-small").problem);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_GE(percent(r.error.failing, r.error.elements), 99.9);
  EXPECT_NEAR(percent(r.error.gates[0].failing, r.error.elements), 96.5, 0.2);
  EXPECT_TRUE(
      has(r.verdict.sentence,
          "the right values, shifted by +1 position, off by one or by padding (y[j] holds what belongs at j − 1)"));
  EXPECT_EQ(layer_status(r, "shape"), LayerStatus::pass);
  EXPECT_EQ(layer_status(r, "memory"), LayerStatus::pass);
  EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::pass);
  EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail);
}

TEST(Specimens, S4OnItsOwnProblem) {
  auto r = judged("S4", find_preset("kernelbench-79-small").problem);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_NEAR(percent(r.error.failing, r.error.elements), 50.0, 0.05);
  EXPECT_NEAR(percent(r.error.gates[0].failing, r.error.elements), 48.3, 0.2);
  EXPECT_EQ(r.error.places.residue_wrong[1], 0) << "no odd one";
  EXPECT_GE(percent(r.error.places.residue_wrong[0], r.error.places.residue_total[0]), 99.9) << "every even one";
  EXPECT_EQ(r.error.places.unreached_wrong, r.error.failing);
  EXPECT_TRUE(has(r.verdict.sentence,
                  "50.0 % of the elements: every even output (j mod 2 = 0), where no tap lands and exactly 0 should "
                  "stand, and no odd one"));
}

TEST(Specimens, S1S2S3AreRightOnTheirOwnProblems) {
  for (auto [name, preset] :
       {std::pair{"S1", "kernelbench-64-small"}, {"S3", "kernelbench-64-small"}, {"S2", "kernelbench-74-small"}}) {
    ASSERT_EQ(test::kernel(name).home_preset() + "-small", preset);
    auto r = judged(name, find_preset(preset).problem);
    EXPECT_EQ(r.verdict.status, Status::right) << name << ": " << r.verdict.sentence;
    EXPECT_EQ(r.error.failing, 0);
    EXPECT_EQ(r.exact->failing, 0);
  }
}

// ---- on a general one -----------------------------------------------------------------------------------------------

const ConvProblem general{.batch = 2,
                          .in_channels = 4,
                          .out_channels = 6,
                          .kernel_size = 4,
                          .length = 50,
                          .stride = 2,
                          .padding = 1,
                          .output_padding = 1,
                          .dilation = 3};

TEST(Specimens, AllAreWrongOnAGeneralProblem) {
  auto grouped = general;
  grouped.groups = 2;
  for (const auto& p : {general, grouped})
    for (const auto& m : test::specimen_models) {
      auto r = judged(m.name, p);
      EXPECT_EQ(r.verdict.status, Status::wrong) << m.name << " on " << describe(p);
      EXPECT_EQ(r.verdict.exit_code, 1);
      EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail) << m.name;
      EXPECT_EQ(r.own_length, m.out_length(p));
      EXPECT_EQ(layer_status(r, "shape") == LayerStatus::pass, m.out_length(p) == p.out_length());
    }
}

// ---- sentences ------------------------------------------------------------------------------------------------------

struct Expectation {
  const char* name;
  ConvProblem p;
  const char* says;
};

TEST(Specimens, SentencesSayWhatIsWrong) {
  const ConvProblem plain{.batch = 2, .in_channels = 4, .out_channels = 5, .kernel_size = 4, .length = 90};
  auto with = [&](auto change) {
    auto p = plain;
    change(p);
    return p;
  };
  const Expectation list[] = {
      {"S0", with([](auto& p) { p.stride = 3, p.padding = 5; }), "shifted by +5 positions = padding"},
      {"S0", with([](auto& p) { p.padding = 2, p.dilation = 4, p.bias = true; }), "shifted by +2 positions = padding"},
      {"S0", with([](auto& p) { p.stride = 2, p.output_padding = 1; }),
       "its output is 182 long, the problem's 183, as if output_padding were 0"},
      {"S1", with([](auto& p) { p.padding = 4; }), "shifted by +4 positions = padding"},
      {"S1", with([](auto& p) { p.dilation = 3; }), "its output is 93 long, the problem's 99, as if dilation were 1"},
      {"S1", with([](auto& p) { p.bias = true; }), "the bias is missing"},
      {"S1", with([](auto& p) { p.bias = true, p.padding = 4; }),
       "shifted by +4 positions = padding (y[j] holds what belongs at j − 4); the bias is missing"},
      {"S2", with([](auto& p) { p.padding = 3, p.dilation = 2; }), "shifted by +6 positions = 2 · padding"},
      {"S3", with([](auto& p) { p.padding = 3; }), "shifted by +6 positions = 2 · padding"},
      {"S4", with([](auto& p) { p.stride = 3, p.kernel_size = 1; }),
       "where no tap lands and exactly 0 should stand, and no other"},
      {"S4", with([](auto& p) { p.stride = 3, p.kernel_size = 6; }),
       "times the energy that belongs there: taps are added that do not land (stride 3)"},
      {"S4", with([](auto& p) { p.stride = 4, p.dilation = 4; }),
       "every output with j mod 4 in {1–3}, where no tap lands and exactly 0 should stand, and no other"},
      {"S1", with([](auto& p) { p.in_channels = 6, p.out_channels = 4, p.groups = 2; }), "reads beyond the end of w"},
      {"S4", with([](auto& p) { p.bias = true; }), "the bias is missing"},
  };
  for (const auto& e : list) {
    auto r = judged(e.name, e.p);
    EXPECT_EQ(r.verdict.status, Status::wrong);
    EXPECT_TRUE(has(r.verdict.sentence, e.says)) << e.name << " on " << describe(e.p);
  }
}

// The first claim of a sentence that is not true of the specimen, or "".
std::string first_untruth(const test::SpecimenModel& m, const RunReport& r) {
  const ConvProblem& p = r.spec.problem;
  std::string text = r.verdict.sentence;
  std::smatch found;
  auto number = [&](size_t i) { return std::stoll(found[i].str()); };
  if (std::regex_search(text, found, std::regex("output is (-?\\d+) long, the problem's (\\d+)")))
    if (number(1) != m.out_length(p) || number(2) != p.out_length()) return found[0];
  if (m.out_length(p) != p.out_length() && !has(text, "long, the problem's")) return "no word of the length";
  if (std::regex_search(text, found, std::regex("as if ([a-z_]+) were (\\d)( and ([a-z_]+) were (\\d))?"))) {
    auto q = p;
    for (size_t i : {1, 4})
      for (const auto& f : problem_fields())
        if (found[i] == f.name) q.*f.value = number(i + 1);
    if (q.out_length() != m.out_length(p)) return found[0];
  }
  if (std::regex_search(text, found, std::regex("shifted by (\\+|−)(\\d+) position"))) {
    int64_t shift = (found[1] == "+" ? 1 : -1) * number(2);
    for (int64_t j = std::max<int64_t>(shift, p.padding + 1);
         j < std::min(p.out_length(), m.out_length(p)) + std::min<int64_t>(shift, 0); j++)
      for (int64_t k = 0; k < p.kernel_size; k++)
        if (j - shift >= 0 && test::reads(m, p, j, k) != test::should_read(p, j - shift, k)) return found[0];
    if (has(text, " = padding (") && std::abs(shift) != p.padding) return "= padding";
    if (has(text, " = 2 · padding (") && std::abs(shift) != 2 * p.padding) return "= 2 · padding";
    if (has(text, " = output_padding (") && std::abs(shift) != p.output_padding) return "= output_padding";
  }
  if (has(text, "the bias is missing") && (m.bias || !p.bias)) return "the bias is missing";
  // Which outputs the model gets wrong, by residue.
  std::vector<bool> hit(static_cast<size_t>(p.stride));
  bool reached_wrong = false, border_only = true;
  int64_t overlap = std::min(p.out_length(), m.out_length(p));
  for (int64_t j = 0; j < overlap; j++) {
    bool wrong = p.bias && !m.bias, reached = false;
    for (int64_t k = 0; k < p.kernel_size; k++) {
      wrong |= test::reads(m, p, j, k) != test::should_read(p, j, k) ||
               (p.groups > 1 && !m.groups && test::reads(m, p, j, k));
      reached |= test::should_read(p, j, k).has_value();
    }
    if (wrong) hit[static_cast<size_t>(j % p.stride)] = true;
    reached_wrong |= wrong && reached;
    border_only &= !wrong || j < overlap / 4 || j >= overlap - overlap / 4;
  }
  if (has(text, "where no tap lands") && reached_wrong) return "where no tap lands";
  if (has(text, "only at the border") && !border_only) return "only at the border";
  if ((has(text, "and no odd one") && hit[1]) || (has(text, "and no even one") && hit[0])) return "no odd or even one";
  if (std::regex_search(text, found, std::regex("j mod \\d+ in \\{([^}]*)\\}"))) {
    std::string list = found[1];
    std::vector<bool> said(static_cast<size_t>(p.stride));
    for (std::regex range("(\\d+)(–(\\d+))?"); std::regex_search(list, found, range); list = found.suffix())
      for (int64_t i = number(1); i <= (found[3].length() ? number(3) : number(1)); i++)
        said[static_cast<size_t>(i)] = true;
    if (!has(list, "…") && said != hit) return "j mod s in {…}";
  }
  if (std::regex_search(text, found, std::regex("in all residues of j mod")) &&
      std::find(hit.begin(), hit.end(), false) != hit.end() && overlap >= p.stride)
    return found[0];
  if (has(text, "taps are added that do not land") && p.stride == 1) return "taps are added that do not land";
  if (has(text, "reads beyond the end of w") && (m.groups || p.groups == 1)) return "reads beyond the end of w";
  for (const char* never : {"writes outside", "reads its output", "differ between runs", "never writes",
                            "changes its input", "less accurate", "unwritten when", "before the start",
                            "beyond the end of x", "beyond the end of b", "channels exchanged"})
    if (has(text, never)) return never;
  return "";
}

TEST(Specimens, SentencesAreTrue) {
  test::Random r(60);
  int shifts = 0, lengths = 0, residues = 0, energies = 0, cases = test::cases(100, 3000);
  for (int i = 0; i < cases; i++) {
    auto p = test::random_problem(r, {.kernel_size = 6, .length = 60, .stride = 5, .dilation = 4});
    p.dtype = DType::f32;
    for (const auto& m : test::specimen_models) {
      auto report = judged(m.name, p);
      if (report.verdict.status != Status::wrong) continue;
      EXPECT_EQ(first_untruth(m, report), "") << m.name << " on " << describe(p) << ": " << report.verdict.sentence;
      shifts += has(report.verdict.sentence, "shifted by") ? 1 : 0;
      lengths += has(report.verdict.sentence, "as if") ? 1 : 0;
      residues += has(report.verdict.sentence, " mod ") ? 1 : 0;
      energies += has(report.verdict.sentence, "energy") ? 1 : 0;
    }
  }
  EXPECT_GT(shifts, cases / 5);
  EXPECT_GT(lengths, cases / 2);
  EXPECT_GT(residues, cases / 2);
  EXPECT_GT(energies, cases / 5);
}

// The control: the check of sentences sees a lie.
TEST(SpecimensControl, LiesAreSeen) {
  ConvProblem p{
      .in_channels = 4, .out_channels = 5, .kernel_size = 4, .length = 90, .stride = 3, .padding = 5, .bias = true};
  const auto& s0 = test::specimen_models[0];
  auto r = judged("S0", p);
  ASSERT_EQ(first_untruth(s0, r), "");
  for (const char* lie :
       {"wrong: shifted by +4 positions", "wrong: shifted by −5 positions", "wrong: the bias is missing",
        "wrong: every output with j mod 3 in {1}, and no other", "wrong: only at the border: position 0",
        "wrong: writes outside y", "wrong: its output is 7 long, the problem's 9",
        "wrong: every output with j mod 3 in {0–2}, where no tap lands",
        "wrong: reads beyond the end of w: what lies there reaches 1 element"}) {
    r.verdict.sentence = lie;
    EXPECT_NE(first_untruth(s0, r), "") << lie;
  }
}

// ---- what each says of itself ---------------------------------------------------------------------------------------

TEST(Specimens, KnowWhereTheyAreRight) {
  test::Random r(61);
  int right[5] = {}, wrong[5] = {}, by_accident = 0, cases = test::cases(220, 3000);
  for (int i = 0; i < cases; i++) {
    auto p = test::random_problem(r, {.batch = 2, .kernel_size = 5, .length = 20, .stride = 4, .dilation = 3});
    // Most of them where there is a chance of it.
    if (r() % 2) p.stride = 1, p.output_padding = 0;
    if (r() % 2) p.padding = 0;
    if (r() % 2) p.dilation = 1, p.output_padding = 0;
    if (r() % 2) p.bias = false;
    if (r() % 2) p.groups = 1;
    if (r() % 4 == 0) p.kernel_size = 1, p.length = r() % 2 ? 1 : p.length;
    if (check(p)) continue;
    for (int s = 0; s < 5; s++) {
      const auto& m = test::specimen_models[s];
      auto q = p;
      if (!m.doubles) q.dtype = DType::f32;
      bool known = test::kernel(m.name).known_right(q);
      EXPECT_EQ(known, test::right_by_model(m, q)) << m.name << " on " << describe(q);
      auto report = judged(m.name, q);
      EXPECT_EQ(report.verdict.status, known ? Status::right : Status::wrong)
          << m.name << " on " << describe(q) << ": " << report.verdict.sentence;
      (known ? right : wrong)[s]++;
      by_accident +=
          known && (q.stride > 1 || (q.padding > 0 && m.name != std::string("S4"))) && m.name != std::string("S0");
    }
  }
  for (int s = 0; s < 5; s++) {
    EXPECT_GE(right[s], cases / 44) << s;
    EXPECT_GE(wrong[s], cases / 5) << s;
  }
  EXPECT_GE(by_accident, cases / 44);
}

// Many more, without running anything.
TEST(Specimens, RulesAreThoseOfTheModel) {
  test::Random r(62);
  int right = 0;
  for (int i = 0; i < 20000 / test::fewer; i++) {
    auto p = test::random_problem(r, {.kernel_size = 8, .length = 12});
    for (const auto& m : test::specimen_models) {
      bool known = test::kernel(m.name).known_right(p);
      ASSERT_EQ(known, test::right_by_model(m, p)) << m.name << " on " << describe(p);
      right += known;
    }
  }
  EXPECT_GT(right, 1000 / test::fewer);
}

}  // namespace
}  // namespace convscope
