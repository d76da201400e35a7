#include "kernels/problem/inputs.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <map>

#include "kernels/problem/torch_random.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::error_of;
using test::golden;

// "" or the first element whose bits differ.
std::string first_difference(const HostTensor& got, const HostTensor& want) {
  if (got.dtype != want.dtype) return "another type";
  if (got.shape != want.shape) return "another shape";
  for (int64_t e = 0; e < got.elements(); e++) {
    auto size = size_of(got.dtype);
    if (std::memcmp(got.data() + static_cast<size_t>(e) * size, want.data() + static_cast<size_t>(e) * size, size) != 0)
      return "element " + std::to_string(e) + " is " + std::to_string(got.at(e)) + ", PyTorch has " +
             std::to_string(want.at(e));
  }
  return "";
}

ConvProblem problem_of(const std::vector<int64_t>& v, DType dtype) {
  ConvProblem p;
  p.batch = v[0], p.in_channels = v[1], p.out_channels = v[2], p.kernel_size = v[3], p.length = v[4], p.stride = v[5];
  p.padding = v[6], p.output_padding = v[7], p.dilation = v[8], p.groups = v[9], p.bias = v[10] != 0;
  p.dtype = dtype;
  return p;
}

TEST(Inputs, AreBitForBitThoseOfPyTorch) {
  auto archives = test::project_files("tests/data", "golden_inputs_", ".npz");
  ASSERT_EQ(archives.size(), 9u);
  int with_bias = 0, with_double = 0;
  for (const auto& archive : archives) {
    SCOPED_TRACE(archive);
    auto params = test::golden_params(archive);
    auto x = golden(archive, "x"), w = golden(archive, "w");
    auto p = problem_of(params, x.dtype);
    InputSpec spec;
    spec.seed = static_cast<uint64_t>(params[11]) << 32 | static_cast<uint64_t>(params[12]);
    auto in = make_inputs(p, spec);
    EXPECT_EQ(first_difference(in.w, w), "");
    EXPECT_EQ(first_difference(in.x, x), "");
    ASSERT_EQ(test::has_array(archive, "b"), p.bias);
    if (p.bias) {
      EXPECT_EQ(first_difference(in.b, golden(archive, "b")), "");
    } else {
      EXPECT_EQ(in.b.elements(), 0);
    }
    with_bias += p.bias;
    with_double += p.dtype == DType::f64;

    // Negative control: the next seed gives other numbers, and this comparison sees it.
    spec.seed++;
    auto other = make_inputs(p, spec);
    EXPECT_NE(first_difference(other.w, w), "");
    EXPECT_NE(first_difference(other.x, x), "");
  }
  EXPECT_GE(with_bias, 4);
  EXPECT_GE(with_double, 3);
}

TEST(Inputs, TheFirstNumbersAreTheKnownOnes) {
  ConvProblem p;
  p.in_channels = 4, p.out_channels = 6, p.kernel_size = 3, p.length = 10, p.bias = true;
  auto in = make_inputs(p, {});
  EXPECT_FLOAT_EQ(in.w.span<float>()[0], 0.18020345f);
  EXPECT_FLOAT_EQ(in.w.span<float>()[1], 0.19563474f);
  EXPECT_FLOAT_EQ(in.w.span<float>()[2], -0.05521856f);
  EXPECT_NEAR(in.x.at(0), 0.8823, 5e-5);
  EXPECT_NEAR(in.x.at(1), 0.9150, 5e-5);
  EXPECT_NEAR(in.x.at(2), 0.3829, 5e-5);
}

TEST(TorchRandom, DistributionsAreBitForBitThoseOfPyTorch) {
  const char* file = "golden_random.npz";
  for (uint64_t seed : {uint64_t{0}, uint64_t{42}, (uint64_t{1} << 32) + 42, uint64_t{1} << 63}) {
    auto compare = [&](const char* what, auto&& draw) {
      auto want = golden(file, what + std::string("_") + std::to_string(seed));
      TorchRandom rng(seed);
      auto got = make_tensor(want.dtype, want.shape, [&](auto* out, int64_t n) {
        using T = std::remove_pointer_t<decltype(out)>;
        using Drawn = std::conditional_t<sizeof(T) == 2, float, T>;  // what 16-bit numbers are drawn as
        for (int64_t e = 0; e < n; e++) out[e] = static_cast<T>(draw(rng, Drawn{}));
      });
      EXPECT_EQ(first_difference(got, want), "") << what << " under seed " << seed;
    };
    compare("rand_f32", [](TorchRandom& r, auto zero) { return r.unit(zero); });
    compare("rand_f64", [](TorchRandom& r, auto zero) { return r.unit(zero); });
    compare("signed_f32", [](TorchRandom& r, auto zero) { return r.uniform(decltype(zero){-1}, decltype(zero){1}); });
    compare("signed_f64", [](TorchRandom& r, auto zero) { return r.uniform(decltype(zero){-1}, decltype(zero){1}); });
    compare("randint", [](TorchRandom& r, auto) { return r.integer(-3, 4); });
  }
  TorchRandom rng(5);
  for (int i = 0; i < 1990; i++) rng.unit(float{});
  auto tail = golden(file, "tail_5");
  for (float want : tail.span<float>()) EXPECT_EQ(rng.unit(float{}), want);
}

TEST(Inputs, TheInputIsDrawnAfterTheSeedIsSetAgain) {
  ConvProblem p;
  p.in_channels = 3, p.out_channels = 5, p.kernel_size = 7, p.length = 20;
  auto plain = make_inputs(p, {});
  p.bias = true;
  auto biased = make_inputs(p, {});
  EXPECT_EQ(first_difference(plain.x, biased.x), "") << "x does not depend on how much was drawn before";
  EXPECT_EQ(first_difference(plain.w, biased.w), "") << "the weights come first";
  p.kernel_size = 2;
  EXPECT_EQ(first_difference(make_inputs(p, {}).x, plain.x), "");
  InputSpec drawn;
  drawn.w.kind = InputKind::ones;
  EXPECT_EQ(first_difference(make_inputs(p, drawn).x, plain.x), "");
}

TEST(Inputs, TheSameSpecGivesTheSameNumbers) {
  ConvProblem p;
  p.in_channels = 8, p.out_channels = 8, p.kernel_size = 5, p.length = 300, p.bias = true;
  for (const auto& kind : input_kinds) {
    InputSpec spec;
    spec.x.kind = spec.w.kind = spec.b.kind = kind.kind;
    auto a = make_inputs(p, spec), b = make_inputs(p, spec);
    EXPECT_EQ(first_difference(a.x, b.x), "") << kind.name;
    EXPECT_EQ(first_difference(a.w, b.w), "") << kind.name;
    EXPECT_EQ(first_difference(a.b, b.b), "") << kind.name;
    EXPECT_EQ(a.x.shape, (std::vector<int64_t>{1, 8, 300}));
    EXPECT_EQ(a.w.shape, (std::vector<int64_t>{8, 8, 5}));
    EXPECT_EQ(a.b.shape, (std::vector<int64_t>{8}));
  }
}

constexpr DType built_types[] = {DType::f32, DType::f64};

HostTensor make_x(DType type, InputKind kind, int64_t channels, int64_t length) {
  ConvProblem p;
  p.batch = 2, p.in_channels = channels, p.length = length, p.dtype = type;
  InputSpec spec;
  spec.x.kind = kind;
  return make_inputs(p, spec).x;
}

TEST(KindsOfInput, Patterns) {
  for (DType type : built_types) {
    SCOPED_TRACE(name_of(type));
    int64_t length = 7, elements = 2 * 3 * length;
    auto ones = make_x(type, InputKind::ones, 3, length), ramp = make_x(type, InputKind::ramp, 3, length);
    auto impulse = make_x(type, InputKind::impulse, 3, length), index = make_x(type, InputKind::index, 3, length);
    for (int64_t e = 0; e < elements; e++) {
      EXPECT_EQ(ones.at(e), 1);
      double share = static_cast<double>(e) / static_cast<double>(elements);
      EXPECT_EQ(ramp.at(e), type == DType::f64 ? share : static_cast<double>(static_cast<float>(share)));
      EXPECT_EQ(impulse.at(e), e % length == 3 ? 1 : 0);
      EXPECT_EQ(index.at(e), static_cast<double>(e % length + 1));
    }
    EXPECT_EQ(make_x(type, InputKind::impulse, 1, 4).at(2), 1) << "the upper of the two middle positions";
    EXPECT_EQ(make_x(type, InputKind::impulse, 1, 1).at(0), 1);
  }
}

TEST(KindsOfInput, PatternsOfWeights) {
  for (DType type : built_types) {
    SCOPED_TRACE(name_of(type));
    ConvProblem p;
    p.in_channels = 2, p.out_channels = 3, p.kernel_size = 5, p.dtype = type;
    InputSpec spec;
    spec.w.kind = InputKind::index;
    auto w = make_inputs(p, spec).w;
    for (int64_t e = 0; e < w.elements(); e++) EXPECT_EQ(w.at(e), static_cast<double>(e % 5 + 1)) << "the tap + 1";
    spec.w.kind = InputKind::impulse;
    w = make_inputs(p, spec).w;
    for (int64_t e = 0; e < w.elements(); e++) EXPECT_EQ(w.at(e), e % 5 == 2 ? 1 : 0);
  }
}

TEST(KindsOfInput, DrawnKindsKeepTheirRange) {
  for (DType type : built_types) {
    SCOPED_TRACE(name_of(type));
    int64_t length = 20000, elements = 2 * length;
    auto mean = [&](const HostTensor& t) {
      double sum = 0;
      for (int64_t e = 0; e < t.elements(); e++) sum += t.at(e);
      return sum / static_cast<double>(t.elements());
    };
    auto random = make_x(type, InputKind::random, 1, length), sign = make_x(type, InputKind::signed_uniform, 1, length);
    auto integers = make_x(type, InputKind::integers, 1, length), wide = make_x(type, InputKind::wide, 1, length);
    std::map<double, int> counts;
    std::map<int, int> octaves;
    int negative = 0;
    for (int64_t e = 0; e < elements; e++) {
      ASSERT_TRUE(random.at(e) >= 0 && random.at(e) < 1);
      ASSERT_TRUE(sign.at(e) >= -1 && sign.at(e) < 1);
      counts[integers.at(e)]++;
      double size = std::fabs(wide.at(e));
      ASSERT_TRUE(size >= 0x1p-20 * (1 - 1e-6) && size <= 0x1p20 * (1 + 1e-6)) << size;
      octaves[static_cast<int>(std::floor(std::log2(size) / 8))]++;
      negative += wide.at(e) < 0;
    }
    // Five standard deviations of a fair draw.
    EXPECT_NEAR(mean(random), 0.5, 5 * std::sqrt(1.0 / 12 / static_cast<double>(elements)));
    EXPECT_NEAR(mean(sign), 0, 5 * std::sqrt(1.0 / 3 / static_cast<double>(elements)));
    ASSERT_EQ(counts.size(), 7u);
    EXPECT_EQ(counts.begin()->first, -3);
    EXPECT_EQ(counts.rbegin()->first, 3);
    for (auto [value, n] : counts)
      EXPECT_NEAR(n, static_cast<double>(elements) / 7, 5 * std::sqrt(elements / 7.0)) << value;
    EXPECT_NEAR(negative, static_cast<double>(elements) / 2, 5 * std::sqrt(elements / 4.0));
    // The exponent is uniform: as many in each of the five stretches of eight octaves.
    EXPECT_NEAR(octaves[0], static_cast<double>(elements) / 5, 5 * std::sqrt(elements / 5.0));
    EXPECT_NEAR(octaves[-3] + octaves[-2] + octaves[-1], static_cast<double>(elements) / 2,
                5 * std::sqrt(elements / 4.0));
  }
}

TEST(Inputs, TheInitialBoundIsOneOverTheRootOfFanIn) {
  ConvProblem p;
  for (auto [cout, groups, k] :
       {std::tuple<int64_t, int64_t, int64_t>{6, 1, 3}, {64, 1, 3}, {8, 8, 16}, {128, 2, 25}}) {
    p.in_channels = groups, p.out_channels = cout, p.groups = groups, p.kernel_size = k;
    EXPECT_NEAR(initial_weight_bound(p), 1 / std::sqrt(static_cast<double>(cout / groups * k)), 1e-15);
  }
}

TensorSource file_source(HostTensor t) { return {InputKind::file, "a.npy", std::move(t)}; }

TEST(Inputs, FilesAreTakenAsTheyAre) {
  ConvProblem p;
  p.in_channels = 2, p.length = 3;
  auto t = make_tensor(DType::f32, {1, 2, 3}, [](auto* out, int64_t n) {
    for (int64_t e = 0; e < n; e++)
      out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(static_cast<float>(e) - 2.5f);
  });
  InputSpec spec;
  spec.x = file_source(t);
  auto in = make_inputs(p, spec);
  EXPECT_EQ(first_difference(in.x, t), "");
  EXPECT_EQ(in.x.data(), t.data()) << "not copied";
}

// As .half() and .to(torch.bfloat16) of what PyTorch draws in f32.
TEST(Inputs, SixteenBitsAreTheFloatsRounded) {
  ConvProblem p{.batch = 2, .in_channels = 4, .out_channels = 6, .kernel_size = 3, .length = 50, .bias = true};
  for (const auto& kind : input_kinds) {
    InputSpec spec;
    spec.x.kind = spec.w.kind = spec.b.kind = kind.kind;
    p.dtype = DType::f32;
    auto single = make_inputs(p, spec);
    for (DType t : {DType::f16, DType::bf16}) {
      p.dtype = t;
      if (t == DType::f16 && kind.kind == InputKind::wide) continue;
      auto in = make_inputs(p, spec);
      EXPECT_EQ(first_difference(in.x, convert(single.x, t)), "") << kind.name;
      EXPECT_EQ(first_difference(in.w, convert(single.w, t)), "") << kind.name;
      EXPECT_EQ(first_difference(in.b, convert(single.b, t)), "") << kind.name;
      for (int64_t e = 0; e < in.x.elements(); e++) EXPECT_EQ(in.x.at(e), rounded_to(t, single.x.at(e)));
    }
  }
}

TEST(Inputs, KindsBeyondTheTypeAreRefused) {
  ConvProblem p{.length = 65519, .dtype = DType::f16};
  InputSpec spec;
  spec.x.kind = InputKind::index;
  EXPECT_EQ(make_inputs(p, spec).x.at(65518), 65504);
  p.length++;
  EXPECT_EQ(error_of<InputError>([&] { make_inputs(p, spec); }),
            "input index has values up to 65520, f16 holds 65504 at most: use bf16, f32 or other values");
  p.length = 3;
  spec.w.kind = InputKind::wide;
  EXPECT_EQ(error_of<InputError>([&] { make_inputs(p, spec); }),
            "weight wide has values up to 1048576, f16 holds 65504 at most: use bf16, f32 or other values");
  p.dtype = DType::bf16;
  EXPECT_NO_THROW(make_inputs(p, spec));
}

TEST(Inputs, FilesThatDoNotFitAreRefused) {
  ConvProblem p;
  p.in_channels = 2, p.out_channels = 4, p.length = 3, p.kernel_size = 2, p.bias = true;
  auto ones = [](DType type, std::vector<int64_t> shape, int64_t bad = -1, double value = 0) {
    return make_tensor(type, std::move(shape), [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(e == bad ? value : 1);
    });
  };
  auto said = [&](TensorSource InputSpec::*which, HostTensor t) {
    InputSpec spec;
    spec.*which = file_source(std::move(t));
    return error_of<InputError>([&] { make_inputs(p, spec); });
  };
  EXPECT_EQ(said(&InputSpec::x, ones(DType::f32, {1, 2, 3})), "");
  EXPECT_EQ(said(&InputSpec::x, ones(DType::f32, {1, 3, 2})),
            "input a.npy has shape [1, 3, 2], the problem needs [1, 2, 3]");
  EXPECT_EQ(said(&InputSpec::x, ones(DType::f32, {2, 3})), "input a.npy has shape [2, 3], the problem needs [1, 2, 3]");
  EXPECT_EQ(said(&InputSpec::w, ones(DType::f32, {4, 2, 2})),
            "weight a.npy has shape [4, 2, 2], the problem needs [2, 4, 2]");
  EXPECT_EQ(said(&InputSpec::b, ones(DType::f32, {5})), "bias-values a.npy has shape [5], the problem needs [4]");
  EXPECT_EQ(said(&InputSpec::x, ones(DType::f64, {1, 2, 3})), "input a.npy holds f64, the problem is f32");
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(said(&InputSpec::x, ones(DType::f32, {1, 2, 3}, 4, std::nan(""))),
            "input a.npy holds NaN at flat index 4: values must be finite");
  EXPECT_EQ(said(&InputSpec::w, ones(DType::f32, {2, 4, 2}, 0, infinity)),
            "weight a.npy holds Infinity at flat index 0: values must be finite");
  EXPECT_EQ(said(&InputSpec::b, ones(DType::f32, {4}, 3, -infinity)),
            "bias-values a.npy holds -Infinity at flat index 3: values must be finite");
  p.bias = false;
  EXPECT_EQ(said(&InputSpec::b, ones(DType::f32, {99})), "") << "values of a bias that is not there are not looked at";
}

TEST(Inputs, AnIllegalProblemIsRefusedFirst) {
  ConvProblem p;
  p.stride = 0;
  EXPECT_THROW(make_inputs(p, {}), InputError);
}

TEST(Inputs, CancelStopsTheDrawing) {
  ConvProblem p;
  p.length = 1 << 22;
  Activity activity;
  activity.cancel();
  EXPECT_THROW(make_inputs(p, {}, &activity), Cancelled);
}

TEST(Inputs, SourcesAreParsed) {
  for (const auto& k : input_kinds) {
    auto s = parse_source("input", k.name);
    EXPECT_EQ(s.kind, k.kind);
    EXPECT_EQ(s.file, "");
  }
  EXPECT_EQ(parse_source("weight", "w.npy"), (TensorSource{InputKind::file, "w.npy", {}}));
  EXPECT_EQ(parse_source("weight", "deep/all.npz").kind, InputKind::file);
  auto said = [](const char* text) { return error_of<InputError>([&] { parse_source("input", text); }); };
  const std::string list =
      "must be one of random, default, signed, integers, ones, ramp, impulse, index, wide or a .npy or .npz file";
  EXPECT_EQ(said("randm"), "input randm " + list + "; did you mean random?");
  EXPECT_EQ(said("gaussian"), "input gaussian " + list);
  EXPECT_EQ(said("x.txt"), "input x.txt " + list);
}

TEST(Inputs, SpecsCompareByTheDataTheyHold) {
  InputSpec a, b;
  EXPECT_EQ(a, b);
  b.seed = 43;
  EXPECT_NE(a, b);
  b = a;
  auto t = make_tensor(DType::f32, {1}, [](auto* out, int64_t) { out[0] = 1; });
  auto u = make_tensor(DType::f32, {1}, [](auto* out, int64_t) { out[0] = 1; });
  a.x = file_source(t), b.x = file_source(t);
  EXPECT_EQ(a, b);
  b.x = file_source(u);
  EXPECT_NE(a, b) << "another reading of a file of the same name";
}

}  // namespace
}  // namespace convscope
