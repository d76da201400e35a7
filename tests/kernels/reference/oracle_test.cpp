// The oracle against PyTorch's own float64 results, against the definition in long double, and, where double is not
// enough, against quadruple precision.
#include "kernels/reference/oracle.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/convolution.h"
#include "tests/kernels/verify/judging.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::between;
using test::Tensors;

struct Computed {
  std::vector<double> value, magnitude;
};

OutputBlock everything(const ConvProblem& p) { return {0, p.batch * p.out_channels, 0, p.out_length()}; }

Computed compute(Oracle& oracle, const OutputBlock& block) {
  auto n = static_cast<size_t>(block.elements());
  Computed c{std::vector<double>(n, NAN), std::vector<double>(n, NAN)};
  oracle.compute(block, c.value.data(), c.magnitude.data());
  return c;
}

// Of a sum of n terms in any order in double (Higham, Accuracy and Stability, 3.1).
double double_bound(int64_t terms, double magnitude) { return static_cast<double>(terms + 2) * 0x1p-53 * magnitude; }

// ---- against PyTorch ------------------------------------------------------------------------------------------------

struct Golden {
  ConvProblem problem;
  Tensors tensors;
  HostTensor y;
};

Golden read_golden(const std::string& path) {
  Golden g;
  g.tensors = {test::golden(path, "x"), test::golden(path, "w"), {}};
  g.y = test::golden(path, "y");
  auto& p = g.problem;
  auto params = test::golden_params(path);
  p.dtype = g.tensors.x.dtype;
  p.stride = params[0], p.padding = params[1], p.output_padding = params[2], p.dilation = params[3],
  p.groups = params[4];
  p.batch = g.tensors.x.shape[0], p.in_channels = g.tensors.x.shape[1], p.length = g.tensors.x.shape[2];
  p.out_channels = g.tensors.w.shape[1] * p.groups, p.kernel_size = g.tensors.w.shape[2];
  p.bias = test::has_array(path, "b");
  g.tensors.b = p.bias ? test::golden(path, "b") : test::make_empty(p.dtype);
  return g;
}

// How many elements differ from PyTorch's by more than rounding in double explains.
int64_t far_from_torch(const Golden& g, const Tensors& t) {
  auto oracle = make_cpu_oracle(g.problem, test::inputs_of(t));
  auto c = compute(*oracle, everything(g.problem));
  auto terms = term_counts(g.problem, 0, g.problem.out_length());
  int64_t far = 0;
  for (int64_t e = 0; e < g.y.elements(); e++) {
    auto at = static_cast<size_t>(e);
    double bound = 2 * double_bound(terms[at % terms.size()], c.magnitude[at]);
    far += !(std::fabs(c.value[at] - g.y.at(e)) <= bound);
  }
  return far;
}

TEST(Oracle, AgreesWithPyTorch) {
  auto files = test::project_files("tests/data", "golden_conv_", ".npz");
  ASSERT_GE(files.size(), 20u);
  int doubles = 0, grouped = 0, with_bias = 0;
  for (const auto& path : files) {
    SCOPED_TRACE(std::filesystem::path(path).filename().string());
    auto g = read_golden(path);
    ASSERT_FALSE(check(g.problem));
    ASSERT_EQ(g.y.shape, (std::vector<int64_t>{g.problem.batch, g.problem.out_channels, g.problem.out_length()}));
    EXPECT_EQ(far_from_torch(g, g.tensors), 0);
    doubles += g.problem.dtype == DType::f64, grouped += g.problem.groups > 1, with_bias += g.problem.bias;
  }
  EXPECT_GE(doubles, 4);
  EXPECT_GE(grouped, 3);
  EXPECT_GE(with_bias, 10);
}

TEST(OracleControl, OneChangedFilterIsFarFromPyTorch) {
  for (const auto& path : test::project_files("tests/data", "golden_conv_", ".npz")) {
    auto g = read_golden(path);
    auto t = g.tensors;
    // The first filter, by a millionth: of a single tap all that it gives may be cut off by the padding.
    std::vector<std::pair<int64_t, double>> change;
    for (int64_t k = 0; k < g.problem.kernel_size; k++) change.push_back({k, t.w.at(k) + 1e-6});
    t.w = test::changed(t.w, change);
    EXPECT_GT(far_from_torch(g, t), 0) << path;
  }
}

// ---- against the definition -----------------------------------------------------------------------------------------

// "" or what is wrong with the oracle on a problem: values to `ulps` units of 2^-53 of what a sum in double may be off.
std::string first_fault(const ConvProblem& p, const Tensors& t, const Computed& c) {
  auto e = test::expected_result(p, t);
  auto terms = term_counts(p, 0, p.out_length());
  for (size_t at = 0; at < e.y.size(); at++) {
    int64_t j = static_cast<int64_t>(at) % p.out_length(),
            co = static_cast<int64_t>(at) / p.out_length() % p.out_channels;
    long double bias = p.bias ? std::fabs(t.b.at(co)) : 0, size = e.magnitude[at] + bias;
    auto n = e.terms[at] + p.bias;
    auto where = [&](const std::string& what) {
      return what + " of element " + std::to_string(at) + " of " + describe(p);
    };
    if (terms[static_cast<size_t>(j)] != n) return where("term count");
    long double off = std::fabs(c.value[at] - e.y[at]), unit = 0x1p-53L;
    // f64: as if in 106 bits and rounded once; what long double itself may be off comes on top.
    long double bound = p.dtype == DType::f64
                            ? unit * std::fabs(e.y[at]) + static_cast<long double>(n + 2) * 0x1p-64L * size
                            : static_cast<long double>(n + 2) * unit * size;
    if (!(off <= bound)) return where("value");
    if (!(std::fabs(c.magnitude[at] - size) <= static_cast<long double>(n + 2) * unit * size))
      return where("magnitude");
  }
  return "";
}

TEST(Oracle, AgreesWithTheDefinition) {
  test::Random r(1);
  int doubles = 0;
  for (int i = 0; i < 400; i++) {
    auto p = test::random_problem(r);
    auto t = test::random_tensors(r, p);
    auto oracle = make_cpu_oracle(p, test::inputs_of(t));
    ASSERT_EQ(first_fault(p, t, compute(*oracle, everything(p))), "");
    doubles += p.dtype == DType::f64;
  }
  EXPECT_GE(doubles, 100);
}

TEST(OracleControl, TheDefinitionSeesAFault) {
  test::Random r(2);
  ConvProblem p{
      .batch = 2, .in_channels = 3, .out_channels = 4, .kernel_size = 5, .length = 20, .stride = 2, .bias = true};
  for (auto dtype : {DType::f32, DType::f64}) {
    p.dtype = dtype;
    auto t = test::random_tensors(r, p);
    auto right = compute(*make_cpu_oracle(p, test::inputs_of(t)), everything(p));
    ASSERT_EQ(first_fault(p, t, right), "");
    auto wrong = right;
    wrong.value[17] = std::nextafter(std::nextafter(wrong.value[17], INFINITY), INFINITY);
    EXPECT_EQ(first_fault(p, t, wrong).empty(), dtype == DType::f32)
        << "in f64 two units in the last place are a fault";
    wrong = right;
    wrong.value[17] += 1e-12;
    EXPECT_NE(first_fault(p, t, wrong), "");
    wrong = right;
    wrong.magnitude[3] *= 1 + 1e-13;
    EXPECT_NE(first_fault(p, t, wrong), "");
    wrong = right;
    wrong.value[0] = NAN;
    EXPECT_NE(first_fault(p, t, wrong), "");
  }
}

TEST(Oracle, CountsTermsOfAnyStretch) {
  test::Random r(3);
  for (int i = 0; i < 200; i++) {
    auto p = test::random_problem(r);
    auto all = term_counts(p, 0, p.out_length());
    int64_t from = between(r, 0, p.out_length() - 1), n = between(r, 1, p.out_length() - from);
    auto some = term_counts(p, from, n);
    ASSERT_EQ(some, std::vector<int64_t>(all.begin() + from, all.begin() + from + n)) << describe(p);
  }
}

// ---- f64: right where double is not ---------------------------------------------------------------------------------

// Channels come in pairs that cancel but for one part in 2^30, so a sum in double has 20 wrong bits.
Tensors ill_conditioned(test::Random& r, const ConvProblem& p) {
  auto t = test::random_tensors(r, p);
  int64_t row = p.out_per_group() * p.kernel_size;
  t.x = make_tensor(p.dtype, t.x.shape, [&](auto* x, int64_t n) {
    for (int64_t e = 0; e < n; e++)
      x[e] = static_cast<std::remove_pointer_t<decltype(x)>>(t.x.at(e / p.length % 2 ? e - p.length : e));
  });
  t.w = make_tensor(p.dtype, t.w.shape, [&](auto* w, int64_t n) {
    for (int64_t e = 0; e < n; e++)
      w[e] = static_cast<std::remove_pointer_t<decltype(w)>>(e / row % 2 ? -t.w.at(e - row) * (1 + t.w.at(e) * 0x1p-30)
                                                                         : t.w.at(e));
  });
  return t;
}

struct Sums {
  std::vector<double> plain;        // one rounding after the other
  std::vector<__float128> precise;  // products are exact, sums to 113 bits
};
Sums sums_of(const ConvProblem& p, const Tensors& t) {
  auto count = static_cast<size_t>(p.y_elements());
  Sums s{std::vector<double>(count), std::vector<__float128>(count)};
  auto y = test::computed(p, t, [&](const test::Product& q) {
    auto at = static_cast<size_t>((q.n * p.out_channels + q.co) * p.out_length() + q.j);
    s.precise[at] += static_cast<__float128>(q.x) * q.w;
    return q.x * q.w;
  });
  for (size_t e = 0; e < count; e++) s.plain[e] = y.at(static_cast<int64_t>(e));
  return s;
}

// How many are farther from the precise sum than one rounding.
int64_t not_rounded_once(const std::vector<double>& got, const std::vector<__float128>& precise) {
  int64_t bad = 0;
  for (size_t e = 0; e < got.size(); e++) {
    __float128 off = got[e] - precise[e], size = precise[e] < 0 ? -precise[e] : precise[e];
    bad += !((off < 0 ? -off : off) <= size * 0x1.01p-53);
  }
  return bad;
}

TEST(Oracle, IsRightToTheLastBitWhereDoubleIsNot) {
  test::Random r(4);
  for (ConvProblem p :
       {ConvProblem{.in_channels = 64, .out_channels = 3, .kernel_size = 5, .length = 200, .stride = 2, .padding = 3},
        ConvProblem{.batch = 2, .in_channels = 130, .out_channels = 2, .kernel_size = 3, .length = 40, .dilation = 4},
        ConvProblem{
            .in_channels = 16, .out_channels = 4, .kernel_size = 9, .length = 3000, .stride = 3, .groups = 2}}) {
    p.dtype = DType::f64;
    auto t = ill_conditioned(r, p);
    auto sums = sums_of(p, t);
    auto c = compute(*make_cpu_oracle(p, test::inputs_of(t)), everything(p));
    EXPECT_EQ(not_rounded_once(c.value, sums.precise), 0) << describe(p);
    // The control: a plain sum fails the same test nearly everywhere.
    EXPECT_GT(not_rounded_once(sums.plain, sums.precise), p.y_elements() * 9 / 10) << describe(p);
  }
}

// ---- any block ------------------------------------------------------------------------------------------------------

TEST(Oracle, GivesTheSameInAnyBlock) {
  test::Random r(5);
  std::vector<ConvProblem> problems;
  for (int i = 0; i < 60; i++) problems.push_back(test::random_problem(r));
  // Longer than the stretches that the rows are worked on in, with and without a stride.
  problems.push_back(
      {.batch = 2, .in_channels = 3, .out_channels = 2, .kernel_size = 4, .length = 9000, .padding = 2, .bias = true});
  problems.push_back({.in_channels = 2,
                      .out_channels = 3,
                      .kernel_size = 5,
                      .length = 5000,
                      .stride = 7,
                      .padding = 5,
                      .dilation = 3});
  problems.push_back({.in_channels = 2,
                      .out_channels = 2,
                      .kernel_size = 3,
                      .length = 300,
                      .stride = 100,
                      .output_padding = 99,
                      .bias = true});
  problems.back().dtype = DType::f64;
  for (const auto& p : problems) {
    auto t = test::random_tensors(r, p);
    auto oracle = make_cpu_oracle(p, test::inputs_of(t));
    auto whole = compute(*oracle, everything(p));
    int64_t looked_at = 0, shifted_alike = 0;
    for (int b = 0; b < 8; b++) {
      OutputBlock block;
      block.row = between(r, 0, p.batch * p.out_channels - 1),
      block.rows = between(r, 1, p.batch * p.out_channels - block.row);
      block.column = between(r, 0, p.out_length() - 1), block.columns = between(r, 1, p.out_length() - block.column);
      auto part = compute(*oracle, block);
      std::vector<double> alone(part.value.size());
      oracle->compute(block, alone.data(), nullptr);
      EXPECT_EQ(alone, part.value) << "without magnitudes";
      for (int64_t row = 0; row < block.rows; row++)
        for (int64_t j = 0; j < block.columns; j++) {
          auto in_part = static_cast<size_t>(row * block.columns + j);
          auto in_whole = static_cast<size_t>((block.row + row) * p.out_length() + block.column + j);
          ASSERT_EQ(part.value[in_part], whole.value[in_whole]) << describe(p);
          ASSERT_EQ(part.magnitude[in_part], whole.magnitude[in_whole]) << describe(p);
          looked_at++;
          shifted_alike += in_whole > 0 && part.value[in_part] == whole.value[in_whole - 1];
        }
    }
    // The control: one position further the same comparison fails where outputs are not mostly the bias.
    if (p.length > 1000) {
      EXPECT_LT(shifted_alike, looked_at / 100) << describe(p);
    }
  }
}

// ---- the oracle on a device -----------------------------------------------------------------------------------------

struct OnDevice {
  std::unique_ptr<Device> device = open_emulator();
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::unique_ptr<Oracle> oracle;

  OnDevice(const ConvProblem& p, const Inputs& in) {
    auto upload = [&](const HostTensor& t) -> uint64_t {
      if (!t.elements()) return 0;
      memory.push_back(device->allocate(t.size_bytes()));
      device->write(*memory.back(), 0, t.data(), t.size_bytes());
      return memory.back()->address();
    };
    // w is given from the host in double precision, so it is not among the bindings.
    oracle = make_device_oracle(p, in, *device, {.x = upload(in.x), .w = 0, .b = upload(in.b)});
  }
};

TEST(DeviceOracle, AgreesWithTheCpu) {
  test::Random r(6);
  for (int i = 0; i < 60; i++) {
    auto p = test::random_problem(r);
    auto in = test::inputs_of(test::random_tensors(r, p));
    auto cpu = make_cpu_oracle(p, in);
    OnDevice other(p, in);
    EXPECT_LE(oracle_disagreement(p, *cpu, *other.oracle, 40, static_cast<uint64_t>(i)), 8) << describe(p);
    if (i % 4) continue;
    // And whole, with and without magnitudes.
    auto a = compute(*cpu, everything(p)), b = compute(*other.oracle, everything(p));
    std::vector<double> alone(a.value.size());
    other.oracle->compute(everything(p), alone.data(), nullptr);
    EXPECT_EQ(alone, b.value);
    for (size_t e = 0; e < a.value.size(); e++)
      ASSERT_LE(std::fabs(a.value[e] - b.value[e]), 8 * 0x1p-53 * a.magnitude[e]) << describe(p);
  }
}

TEST(DeviceOracle, AgreesOnIllConditionedSums) {
  test::Random r(7);
  ConvProblem p{.in_channels = 64,
                .out_channels = 3,
                .kernel_size = 5,
                .length = 60,
                .stride = 2,
                .padding = 3,
                .dtype = DType::f64};
  auto t = ill_conditioned(r, p);
  OnDevice other(p, test::inputs_of(t));
  EXPECT_EQ(not_rounded_once(compute(*other.oracle, everything(p)).value, sums_of(p, t).precise), 0);
}

// More rows than a grid has, and more positions than the device keeps at a time.
TEST(DeviceOracle, TakesLargeOutputsInParts) {
  test::Random r(8);
  for (const ConvProblem& p :
       {ConvProblem{.batch = 500, .in_channels = 1, .out_channels = 140, .kernel_size = 2, .length = 2},
        ConvProblem{.batch = 1, .in_channels = 1, .out_channels = 2, .kernel_size = 2, .length = (1 << 22) + 500}}) {
    auto in = test::inputs_of(test::random_tensors(r, p));
    OnDevice other(p, in);
    auto a = compute(*make_cpu_oracle(p, in), everything(p)), b = compute(*other.oracle, everything(p));
    for (size_t e = 0; e < a.value.size(); e++) {
      ASSERT_EQ(a.value[e], b.value[e]) << e << " of " << describe(p) << ": two exact products, one rounding";
      ASSERT_NEAR(a.magnitude[e], b.magnitude[e], 0x1p-52 * a.magnitude[e]);
    }
  }
}

// Says something else than the oracle it hides.
class Altered final : public Oracle {
 public:
  Altered(Oracle& real, std::function<double(int64_t row, double value, double magnitude)> alter)
      : real_(real), alter_(std::move(alter)) {}
  void compute(const OutputBlock& block, double* value, double* magnitude) override {
    real_.compute(block, value, magnitude);
    for (int64_t e = 0; e < block.elements(); e++)
      value[e] = alter_(block.row + e / block.columns, value[e], magnitude[e]);
  }
  std::string where() const override { return "altered"; }

 private:
  Oracle& real_;
  std::function<double(int64_t, double, double)> alter_;
};

TEST(DeviceOracleControl, APlantedFaultIsNoticed) {
  test::Random r(9);
  ConvProblem p{.batch = 2,
                .in_channels = 8,
                .out_channels = 6,
                .kernel_size = 7,
                .length = 50,
                .stride = 3,
                .padding = 2,
                .bias = true};
  for (auto dtype : {DType::f32, DType::f64}) {
    p.dtype = dtype;
    auto in = test::inputs_of(test::random_tensors(r, p));
    auto cpu = make_cpu_oracle(p, in);
    auto against = [&](auto alter, int samples) {
      Altered other(*cpu, alter);
      return oracle_disagreement(p, *cpu, other, samples, 1);
    };
    EXPECT_EQ(against([](int64_t, double v, double) { return v; }, 50), 0);
    EXPECT_NEAR(against([](int64_t, double v, double g) { return v + 100 * 0x1p-53 * g; }, 50), 100, 3);
    EXPECT_GT(against([](int64_t row, double v, double) { return row == 5 ? -v : v; }, 200), 1e10)
        << "one row of twelve";
    EXPECT_GT(against([](int64_t, double, double) { return 0.0; }, 50), 1e10);
    // As if computed from other weights: one of 336 is wrong.
    auto t = test::tensors_of(in);
    t.w = test::changed(t.w, {{100, 0}});
    OnDevice other(p, test::inputs_of(t));
    EXPECT_GT(oracle_disagreement(p, *cpu, *other.oracle, 200, 2), 1e10);
    EXPECT_TRUE(against([](int64_t, double, double) { return NAN; }, 50) > 1e10) << "NaN is no agreement";
  }
}

}  // namespace
}  // namespace convscope
