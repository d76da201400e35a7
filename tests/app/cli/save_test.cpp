// run --save, and what is saved as the input of another run.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

#include "kernels/problem/npy.h"
#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::json;
using test::Words;

class Save : public testing::Test {
 protected:
  static json run(const Words& words, int code = 0) {
    auto r = convscope_run(Words{"run"} + words + Words{"--json"});
    EXPECT_EQ(r.code, code) << r.err;
    return r.document();
  }
  static HostTensor load(const std::string& folder, const std::string& name) {
    return read_array_file(folder + "/" + name + ".npy", name, name);
  }
  static bool same(const HostTensor& a, const HostTensor& b) {
    return a.dtype == b.dtype && a.shape == b.shape && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }
  static std::vector<std::string> names(const std::string& folder) {
    std::vector<std::string> all;
    for (const auto& f : std::filesystem::directory_iterator(folder)) all.push_back(f.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  Words from(const std::string& folder, bool bias = true) {
    Words w = {"--input", folder + "/x.npy", "--weight", folder + "/w.npy"};
    return bias ? w + Words{"--bias-values", folder + "/b.npy"} : w;
  }

  test::ScratchFolder folder_;
  const Words shape_ = {"--batch",       "2", "--in-channels", "4",  "--out-channels", "6",
                        "--kernel-size", "3", "--length",      "33", "--groups",       "2"};
  const Words rest_ = {"--stride", "3", "--padding", "1", "--output-padding", "2", "--dilation", "2", "--groups", "2"};
  const Words moves_ = {"--stride", "3", "--padding", "1", "--output-padding", "2", "--dilation", "2"};
};

TEST_F(Save, RoundTrip) {
  for (const Words& dtype : {Words{}, Words{"--dtype", "f64"}, Words{"--dtype", "f16"}, Words{"--dtype", "bf16"}}) {
    std::string name = dtype.empty() ? "f32" : dtype[1], first = folder_.path("first_" + name) + "/deeper",
                second = folder_.path("second_" + name);
    json a = run(Words{"tiled"} + shape_ + moves_ + dtype + Words{"--bias", "--input", "signed", "--save", first});
    EXPECT_EQ(names(first), (Words{"b.npy", "oracle.npy", "w.npy", "x.npy", "y.npy"})) << "and no unfinished ones";
    auto x = load(first, "x"), y = load(first, "y"), oracle = load(first, "oracle");
    DType type = npy_type(*dtype_from(name));  // NumPy has no bf16: f32 holds it
    EXPECT_EQ(x.dtype, type);
    EXPECT_EQ(x.shape, (std::vector<int64_t>{2, 4, 33}));
    EXPECT_EQ(load(first, "w").shape, (std::vector<int64_t>{4, 3, 3}));
    EXPECT_EQ(load(first, "b").shape, (std::vector<int64_t>{6}));
    EXPECT_EQ(y.dtype, type);
    EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 6, 101}));
    EXPECT_EQ(oracle.dtype, DType::f64);
    EXPECT_EQ(oracle.shape, y.shape);
    double largest = 0;
    for (int64_t e = 0; e < y.elements(); e++) largest = std::max(largest, std::fabs(y.at(e) - oracle.at(e)));
    EXPECT_LE(largest, a["error"]["max_abs"].get<double>() * (1 + 1e-6)) << "the same figures as in the report";
    EXPECT_GE(largest, a["error"]["max_abs"].get<double>() * (1 - 1e-6));

    json b = run(Words{"tiled"} + from(first) + rest_ + dtype + Words{"--save", second});
    EXPECT_EQ(b["problem"], a["problem"]) << "the files' shapes set the rest";
    EXPECT_EQ(b["error"], a["error"]);
    EXPECT_EQ(b["verdict"], a["verdict"]);
    for (const char* name : {"x", "w", "b", "y", "oracle"})
      EXPECT_TRUE(same(load(first, name), load(second, name))) << name;
  }
}

TEST_F(Save, OfAWrongKernelToo) {
  // S1 works out another length: what it did not write is NaN.
  std::string folder = folder_.path("s1");
  json r = run({"S1", "--kernel-size", "3", "--length", "20", "--stride", "2", "--padding", "1", "--dilation", "2",
                "--save", folder},
               1);
  ASSERT_NE(r["kernel_out_length"], r["problem"]["out_length"]);
  auto y = load(folder, "y");
  EXPECT_EQ(y.shape[2], r["problem"]["out_length"]);
  EXPECT_TRUE(std::isnan(y.at(y.elements() - 1)));
  EXPECT_EQ(names(folder), (Words{"oracle.npy", "w.npy", "x.npy", "y.npy"})) << "without a bias no b.npy";
}

TEST_F(Save, OverwritesWhatWasThere) {
  std::string folder = folder_.path("again");
  run({"direct", "--length", "20", "--seed", "1", "--save", folder});
  auto before = load(folder, "y");
  run({"direct", "--length", "20", "--seed", "2", "--save", folder});
  EXPECT_FALSE(same(load(folder, "y"), before));
}

TEST_F(Save, NothingWhenThereIsNoOutput) {
  std::string folder = folder_.path("none");
  auto r = convscope_run(test::with_test_engine({"run", "picky", "--length", "8", "--save", folder}));
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "convscope: nothing is saved in " + folder + ": the kernel gave no output\n");
  EXPECT_TRUE(names(folder).empty());
}

// More than one piece of the protocol's `tensor`.
TEST_F(Save, LargeTensors) {
  std::string folder = folder_.path("large");
  constexpr int64_t n = (1 << 23) + 12345;
  run(Words({"polyphase", "--length", std::to_string(n), "--weight", "ones", "--samples", "1", "--save", folder}));
  auto x = load(folder, "x"), y = load(folder, "y");
  EXPECT_EQ(y.elements(), n);
  EXPECT_TRUE(same(x, y));
}

// Archives that PyTorch's own results came in: x, w and b are taken from one file, and y comes out.
TEST_F(Save, AgreesWithPyTorch) {
  for (const std::string name : {"output_padding", "groups", "depthwise", "kb79", "double"}) {
    std::string archive = "golden_conv_" + name + ".npz", folder = folder_.path(name),
                file = test::project_file("tests/data/" + archive);
    auto params = test::golden_params(archive);  // stride, padding, output_padding, dilation, groups
    auto expected = test::golden(archive, "y");
    Words words = {"direct", "--input", file, "--weight", file, "--save", folder};
    const char* options[] = {"--stride", "--padding", "--output-padding", "--dilation", "--groups"};
    for (size_t i = 0; i < 5; i++) words = words + Words{options[i], std::to_string(params[i])};
    if (test::has_array(archive, "b")) words = words + Words{"--bias-values", file};
    if (expected.dtype == DType::f64) words = words + Words{"--dtype", "f64"};
    run(words);
    auto y = load(folder, "y");
    ASSERT_EQ(y.shape, expected.shape) << name;
    double largest = 0, scale = 0;
    for (int64_t e = 0; e < y.elements(); e++) {
      largest = std::max(largest, std::fabs(y.at(e) - expected.at(e)));
      scale = std::max(scale, std::fabs(expected.at(e)));
    }
    EXPECT_LE(largest, 1e-5 * scale) << name;
  }
}

}  // namespace
}  // namespace convscope
