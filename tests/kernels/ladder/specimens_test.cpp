// The five specimens against the table of the notes, written down a second time: index, order of loops, output length.
// Their float sums are the same operations in the same order, so they must agree to the last bit.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>

#include "kernels/problem/inputs.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"

namespace convscope {
namespace {

struct Row {
  const char* name;
  bool taps_first;  // loops: k, ci instead of ci, k
  bool bias, groups;
  int64_t (*out_length)(const ConvProblem& p);
  std::optional<int64_t> (*index)(const ConvProblem& p, int64_t j, int64_t k);
};

const Row rows[] = {
    {"S0", false, true, false,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       int64_t t = j - k * p.dilation;
       if (t % p.stride) return std::nullopt;
       return t / p.stride;
     }},
    {"S1", true, false, false,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.kernel_size - 1 + p.output_padding + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j + p.padding - k + p.output_padding) / p.stride - p.padding;
     }},
    {"S2", false, false, false,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j - k * p.dilation) / p.stride - p.padding;
     }},
    {"S3", false, false, true,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.kernel_size - 1 + p.output_padding + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j - k - p.padding) / p.stride;
     }},
    {"S4", false, false, false,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j + p.padding - k * p.dilation) / p.stride;
     }},
};

// By the table, in the type of the problem.
template <class T>
std::vector<T> by_the_table(const Row& row, const ConvProblem& p, const test::Tensors& t, int64_t lout) {
  int64_t in_group = row.groups ? p.in_channels / p.groups : p.in_channels;
  int64_t out_group = row.groups ? p.out_channels / p.groups : p.out_channels;
  std::vector<T> y;
  for (int64_t n = 0; n < p.batch; n++)
    for (int64_t co = 0; co < p.out_channels; co++)
      for (int64_t j = 0; j < lout; j++) {
        T sum = row.bias && p.bias ? t.b.span<T>()[static_cast<size_t>(co)] : T(0);
        auto add = [&](int64_t ci, int64_t k) {
          auto i = row.index(p, j, k);
          if (!i || *i < 0 || *i >= p.length) return;
          int64_t channel = co / out_group * in_group + ci;
          sum += t.x.span<T>()[static_cast<size_t>((n * p.in_channels + channel) * p.length + *i)] *
                 t.w.span<T>()[static_cast<size_t>((channel * out_group + co % out_group) * p.kernel_size + k)];
        };
        if (row.taps_first)
          for (int64_t k = 0; k < p.kernel_size; k++)
            for (int64_t ci = 0; ci < in_group; ci++) add(ci, k);
        else
          for (int64_t ci = 0; ci < in_group; ci++)
            for (int64_t k = 0; k < p.kernel_size; k++) add(ci, k);
        y.push_back(sum);
      }
  return y;
}

template <class T>
void compare(const Row& row, const ConvProblem& p, test::Random& r) {
  SCOPED_TRACE(std::string(row.name) + " on " + describe(p));
  auto t = test::random_tensors(r, p);
  // Those that ignore groups read weights as if there were none: they get as many as they ask for.
  if (!row.groups) t.w = test::random_tensor(r, p.dtype, {p.in_channels, p.out_channels, p.kernel_size});
  int64_t lout = std::max<int64_t>(0, row.out_length(p));
  auto got = test::run_kernel(find_kernel(row.name), p, t);
  ASSERT_EQ(got.shape, (std::vector<int64_t>{p.batch, p.out_channels, lout}));
  auto want = by_the_table<T>(row, p, t, lout);
  ASSERT_EQ(static_cast<size_t>(got.elements()), want.size());
  for (size_t e = 0; e < want.size(); e++)
    ASSERT_EQ(std::memcmp(&got.span<T>()[e], &want[e], sizeof(T)), 0)
        << "element " << e << ": " << got.span<T>()[e] << ", by the table " << want[e];
}

TEST(Specimens, FollowTheTable) {
  test::Random r(50);
  int no_output = 0, other_length = 0;
  for (int i = 0; i < 60; i++) {
    auto p = test::random_problem(r);
    for (const auto& row : rows) {
      p.dtype = DType::f32;
      compare<float>(row, p, r);
      if (HasFatalFailure()) return;
      no_output += row.out_length(p) <= 0;
      other_length += row.out_length(p) != p.out_length();
      p.dtype = DType::f64;
      if (find_kernel(row.name).unsupported(p).empty()) compare<double>(row, p, r);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(no_output, 0) << "lengths that vanish came up";
  EXPECT_GT(other_length, 50);
}

TEST(Specimens, FollowTheTableOnLargerGrids) {
  // More than one block of 256 in each direction, so that the two ways of numbering threads both matter.
  test::Random r(51);
  ConvProblem p;
  p.batch = 2, p.in_channels = 3, p.out_channels = 5, p.kernel_size = 4, p.length = 400;
  p.stride = 2, p.padding = 3, p.dilation = 3, p.output_padding = 2, p.bias = true;
  for (const auto& row : rows) compare<float>(row, p, r);
}

TEST(Specimens, TheirMistakesAreDifferent) {
  // The negative control of the comparison: no specimen follows another's row.
  test::Random r(52);
  ConvProblem p;
  p.in_channels = 2, p.out_channels = 2, p.kernel_size = 3, p.length = 20, p.stride = 3, p.padding = 2, p.dilation = 2;
  p.output_padding = 1;
  auto t = test::random_tensors(r, p);
  for (const auto& a : rows)
    for (const auto& b : rows) {
      auto got = test::run_kernel(find_kernel(a.name), p, t);
      int64_t lout = a.out_length(p);
      auto want = by_the_table<float>(b, p, t, lout);
      EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size_bytes()) == 0, a.name == b.name) << a.name << b.name;
    }
}

// What each says of itself: where its wrong index happens to be right.
TEST(Specimens, AreRightWhereTheySayTheyAre) {
  test::Random r(53);
  int right[5] = {}, wrong[5] = {};
  for (int i = 0; i < 300; i++) {
    auto p = test::random_problem(r, {.batch = 1, .kernel_size = 5, .length = 12, .stride = 3, .dilation = 3});
    // Most of them where there is a chance of it.
    if (r() % 2) p.stride = 1, p.output_padding = 0;
    if (r() % 2) p.padding = 0;
    if (r() % 2) p.dilation = 1, p.output_padding = 0;
    if (r() % 2) p.bias = false;
    if (check(p)) continue;
    for (int s = 0; s < 5; s++) {
      const auto& kernel = find_kernel(rows[s].name);
      if (!kernel.unsupported(p).empty()) continue;
      if (!kernel.known_right(p)) {
        wrong[s]++;
        continue;
      }
      auto t = test::random_tensors(r, p);
      EXPECT_EQ(test::first_wrong(p, t, test::expected_result(p, t), test::run_kernel(kernel, p, t)), "")
          << kernel.name();
      right[s]++;
    }
  }
  for (int s = 0; s < 5; s++) {
    EXPECT_GE(right[s], 3) << s;
    EXPECT_GE(wrong[s], 50) << s;
  }
}

// The fractions the notes give, by the usual gate and for every even or odd output, at L = 4096 and one channel fewer
// work.
TEST(Specimens, AreWrongAsOftenAsTheNotesSay) {
  auto p = find_preset("kernelbench-79-small").problem;
  p.out_channels = 4;  // the fractions do not depend on it
  auto in = make_inputs(find_preset("kernelbench-79-small").problem, {});
  test::Tensors t{
      in.x,
      make_tensor(DType::f32, {32, 4, 3},
                  [&](auto* out, int64_t n) {
                    for (int64_t e = 0; e < n; e++)
                      out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(in.w.at(e / 12 * 64 * 3 + e % 12));
                  }),
      make_tensor(DType::f32, {0}, [](auto*, int64_t) {})};
  auto expected = test::expected_result(p, t);
  auto failing = [&](const char* name, double atol, double rtol, int parity) {
    auto got = test::run_kernel(find_kernel(name), p, t);
    int64_t failures = 0, all = 0;
    for (int64_t e = 0; e < got.elements(); e++) {
      if (parity >= 0 && e % p.out_length() % 2 != parity) continue;
      auto want = static_cast<double>(expected.y[static_cast<size_t>(e)]);
      all++;
      failures += !(std::fabs(got.at(e) - want) <= atol + rtol * std::fabs(want));
    }
    return 100 * static_cast<double>(failures) / static_cast<double>(all);
  };
  EXPECT_NEAR(failing("S0", 1e-2, 1e-2, -1), 96.5, 1.5);
  EXPECT_NEAR(failing("S4", 1e-2, 1e-2, -1), 48.3, 1.0);
  EXPECT_GE(failing("S0", 1e-6, 1e-6, -1), 99.9);
  EXPECT_NEAR(failing("S4", 1e-5, 1e-5, -1), 50.0, 0.1);
  EXPECT_EQ(failing("S4", 1e-4, 1e-4, 1), 0) << "no odd output";
  EXPECT_GE(failing("S4", 1e-5, 1e-5, 0), 99.9) << "every even one";
}

}  // namespace
}  // namespace convscope
