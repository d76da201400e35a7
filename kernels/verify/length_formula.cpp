#include "kernels/verify/length_formula.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

#include "kernels/verify/if_it_runs.h"
#include "kernels/verify/pattern.h"

namespace convscope {
namespace {

// What a length may be a sum of, in the order in which it is written.
enum Monomial {
  of_Ls,
  of_L,
  of_s,
  of_Ld,
  of_p,
  of_ps,
  of_pd,
  of_Kd,
  of_K,
  of_d,
  of_Ks,
  of_sd,
  of_ss,
  of_op,
  of_one,
  monomials
};
constexpr const char* names[monomials] = {"L·s", "L", "s",   "L·d", "p",   "p·s", "p·d", "K·d",
                                          "K",   "d", "K·s", "s·d", "s·s", "op",  ""};
using Terms = std::array<int64_t, monomials>;

Terms terms_of(const ConvProblem& q) {
  const int64_t L = q.length, s = q.stride, p = q.padding, d = q.dilation, K = q.kernel_size;
  return {L * s, L, s, L * d, p, p * s, p * d, K * d, K, d, K * s, s * d, s * s, q.output_padding, 1};
}

int64_t value_of(const Terms& factors, const Terms& terms) {
  int64_t sum = 0;
  for (size_t i = 0; i < factors.size(); i++) sum += factors[i] * terms[i];
  return sum;
}

struct Sample {
  ConvProblem problem;
  int64_t own = 0;
};

// Problems with small numbers of every kind that the kernel takes.
std::vector<Sample> samples_near(const KernelDefinition& kernel, ConvProblem p, const Activity& activity) {
  constexpr size_t enough = 48;
  constexpr int most_tried = 1000;
  std::vector<Sample> all;
  uint32_t random = 1;
  auto draw = [&](int64_t from, int64_t to) {
    random = random * 1664525u + 1013904223u;
    return from + static_cast<int64_t>(random >> 16) % (to - from + 1);
  };
  for (int i = 0; i < most_tried && all.size() < enough; i++) {
    activity.check();
    p.length = draw(5, 15), p.stride = draw(1, 5), p.padding = draw(0, 4), p.dilation = draw(1, 4);
    p.kernel_size = draw(1, 6), p.output_padding = draw(0, 4);
    if (p.out_length() <= 0 || check(p) || !kernel.unsupported(p).empty()) continue;
    if (const auto length = if_it_runs([&] { return kernel.plan_for(p).out_length(); })) all.push_back({p, *length});
  }
  return all;
}

// The whole numbers by which the terms give every length; nothing where no such numbers do, or many.
std::optional<Terms> factors_of(const std::vector<Sample>& samples) {
  constexpr size_t n = monomials;
  std::array<std::array<long double, n + 1>, n> a{};  // the normal equations
  for (const Sample& one : samples) {
    const Terms t = terms_of(one.problem);
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < n; j++) a[i][j] += static_cast<long double>(t[i] * t[j]);
      a[i][n] += static_cast<long double>(t[i] * one.own);
    }
  }
  for (size_t c = 0; c < n; c++) {
    size_t pivot = c;
    for (size_t r = c + 1; r < n; r++)
      if (std::fabs(a[r][c]) > std::fabs(a[pivot][c])) pivot = r;
    if (std::fabs(a[pivot][c]) < 1e-6L) return std::nullopt;
    std::swap(a[c], a[pivot]);
    for (size_t r = 0; r < n; r++) {
      if (r == c) continue;
      const long double f = a[r][c] / a[c][c];
      for (size_t k = c; k <= n; k++) a[r][k] -= f * a[c][k];
    }
  }
  Terms factors{};
  for (size_t i = 0; i < n; i++) {
    const long double v = a[i][n] / a[i][i];
    constexpr long double most = 1000;
    if (!(std::fabs(v) < most)) return std::nullopt;
    factors[i] = std::llround(v);
  }
  for (const Sample& one : samples)
    if (value_of(factors, terms_of(one.problem)) != one.own) return std::nullopt;
  return factors;
}

// "(L − 1)·s − 2·p + d·(K − 1) + op + 1"
std::string text_of(Terms f) {
  std::string text;
  auto put = [&](int64_t factor, std::string_view name) {
    if (factor == 0) return;
    text += text.empty() ? (factor < 0 ? "−" : "") : factor < 0 ? " − " : " + ";
    if (name.empty() || std::llabs(factor) != 1) text += std::to_string(std::llabs(factor)) + (name.empty() ? "" : "·");
    text += name;
  };
  // A product with what is one less, or one more.
  auto pair = [&](Monomial product, Monomial alone, const char* less, const char* more) {
    if (f[product] != 1 || std::llabs(f[alone]) != 1) return;
    put(1, f[alone] < 0 ? less : more);
    f[product] = f[alone] = 0;
  };
  pair(of_Ls, of_s, "(L − 1)·s", "(L + 1)·s");
  for (int i = of_Ls; i < of_Kd; i++) put(f[static_cast<size_t>(i)], names[i]);
  pair(of_Kd, of_d, "d·(K − 1)", "d·(K + 1)");
  for (int i = of_Kd; i < monomials; i++) put(f[static_cast<size_t>(i)], names[i]);
  return text.empty() ? "0" : text;
}

constexpr Terms right = [] {
  Terms t{};
  t[of_Ls] = 1, t[of_s] = -1, t[of_p] = -2, t[of_Kd] = 1, t[of_d] = -1, t[of_op] = 1, t[of_one] = 1;
  return t;
}();

// ", whatever stride and padding are": parameters of which nothing is in it.
std::string without(const Terms& f) {
  struct Parameter {
    const char* name;
    std::initializer_list<Monomial> in;
  };
  const Parameter parameters[] = {{"stride", {of_Ls, of_s, of_ps, of_Ks, of_sd, of_ss}},
                                  {"padding", {of_p, of_ps, of_pd}},
                                  {"dilation", {of_Ld, of_pd, of_Kd, of_d, of_sd}},
                                  {"output_padding", {of_op}},
                                  {"kernel size", {of_Kd, of_K, of_Ks}},
                                  {"L", {of_Ls, of_L, of_Ld}}};
  std::vector<std::string> list;
  for (const Parameter& one : parameters) {
    bool any = false;
    for (const Monomial m : one.in) any |= f[m] != 0;
    if (!any) list.emplace_back(one.name);
  }
  std::string text;
  for (size_t i = 0; i < list.size(); i++)
    text += (i == 0 ? ", whatever " : i + 1 == list.size() ? " and " : ", ") + list[i];
  return list.empty() ? "" : text + (list.size() == 1 ? " is" : " are");
}

// "as if dilation and output_padding were exchanged": arguments in another order. "" of lengths that are of none such.
std::string as_if_exchanged(const std::vector<Sample>& samples) {
  using Field = int64_t ConvProblem::*;
  constexpr std::pair<const char*, Field> fields[] = {{"stride", &ConvProblem::stride},
                                                      {"padding", &ConvProblem::padding},
                                                      {"dilation", &ConvProblem::dilation},
                                                      {"output_padding", &ConvProblem::output_padding}};
  for (size_t a = 0; a < std::size(fields); a++)
    for (size_t b = a + 1; b < std::size(fields); b++)
      if (std::all_of(samples.begin(), samples.end(), [&](const Sample& one) {
            ConvProblem q = one.problem;
            std::swap(q.*fields[a].second, q.*fields[b].second);
            return q.out_length() == one.own;
          }))
        return fmt::format("as if {} and {} were exchanged", fields[a].first, fields[b].first);
  return "";
}

}  // namespace

std::string right_length() { return "Lout = " + text_of(right); }

LengthFormula length_formula(const KernelDefinition& kernel, const ConvProblem& p, const Activity& activity) {
  const std::vector<Sample> samples = samples_near(kernel, p, activity);
  constexpr size_t least = monomials + 6;  // with fewer, anything is a sum of so many terms
  if (samples.size() < least) return {};
  std::vector<std::pair<ConvProblem, int64_t>> lengths;
  bool all_right = true;
  for (const Sample& one : samples) {
    lengths.emplace_back(one.problem, one.own);
    all_right &= one.own == one.problem.out_length();
  }
  if (all_right) return {};
  if (const std::string as_if = explain_lengths(lengths); !as_if.empty()) return {"", "its output is as long " + as_if};
  if (const std::string as_if = as_if_exchanged(samples); !as_if.empty()) return {"", "its output is as long " + as_if};
  const auto factors = factors_of(samples);
  if (!factors) return {};
  const std::string text = text_of(*factors);
  return {"Lout = " + text,
          fmt::format("its output's length is {}{}, where {} belongs", text, without(*factors), text_of(right))};
}

}  // namespace convscope
