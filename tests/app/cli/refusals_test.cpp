// Bad input: exit code 2, one line on stderr that names field, value and rule, nothing computed and nothing lost.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "kernels/problem/npy.h"
#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::expect_refused;
using test::Words;

Words run_with(const Words& more) { return Words{"run", "direct"} + more; }

TEST(Refusals, Problems) {
  struct Case {
    Words options;
    std::string field, value, rule;
  };
  const std::string most = "must be at most 2147483647",
                    length = "must be at least 1: (L - 1)*s - 2p + d*(K - 1) + op + 1 with ";
  const Case cases[] = {
      {{"--stride", "0"}, "stride", "0", "must be at least 1"},
      {{"--stride", "-1"}, "stride", "-1", "must be at least 1"},
      {{"--stride", "1000000000000"}, "stride", "1000000000000", most},
      {{"--stride", "9223372036854775808"}, "stride", "9223372036854775808", "does not fit into 64 bits"},
      {{"--batch", "0"}, "batch", "0", "must be at least 1"},
      {{"--in-channels", "0"}, "in_channels", "0", "must be at least 1"},
      {{"--out-channels", "-7"}, "out_channels", "-7", "must be at least 1"},
      {{"--kernel-size", "0"}, "kernel_size", "0", "must be at least 1"},
      {{"--length", "0"}, "length", "0", "must be at least 1"},
      {{"--dilation", "0"}, "dilation", "0", "must be at least 1"},
      {{"--groups", "0"}, "groups", "0", "must be at least 1"},
      {{"--padding", "-1"}, "padding", "-1", "must be at least 0"},
      {{"--output-padding", "-1"}, "output_padding", "-1", "must be at least 0"},
      {{"--stride", "2", "--output-padding", "2"},
       "output_padding",
       "2",
       "must be smaller than max(stride, dilation) = 2"},
      {{"--stride", "2", "--dilation", "5", "--output-padding", "5"},
       "output_padding",
       "5",
       "must be smaller than max(stride, dilation) = 5"},
      {{"--groups", "3", "--in-channels", "4", "--out-channels", "6"}, "groups", "3", "must divide in_channels = 4"},
      {{"--groups", "2", "--in-channels", "4", "--out-channels", "3"}, "groups", "2", "must divide out_channels = 3"},
      {{"--length", "3", "--padding", "2"}, "out_length", "-1", length + "L 3, s 1, p 2, d 1, K 1, op 0"},
      {{"--length", "1", "--kernel-size", "3", "--padding", "1", "--stride", "4"}, "", "", ""},  // Lout 1: the smallest
      {{"--length", "1099511627776"}, "length", "1099511627776", most},                          // 2^40
      {{"--batch", "1048576", "--length", "1048576"},
       "input",
       "1099511627776",
       "elements (N*Cin*L) must be at most 68719476736"},
  };
  for (const auto& c : cases) {
    if (c.field.empty()) {
      EXPECT_EQ(test::convscope_run(run_with(c.options)).code, 0) << "the negative control";
      continue;
    }
    expect_refused(run_with(c.options), c.field, c.value, c.rule);
  }
  // Every verb that takes a problem says the same.
  expect_refused({"explain", "S4", "--at", "0,0,0", "--stride", "0"}, "stride", "0", "must be at least 1");
}

TEST(Refusals, WordsThatAreNoNumbers) {
  for (const char* word : {"x", "1e3", "2.0", "0x10", "3 ", " 3", "+3", "1,000"})
    expect_refused(run_with({"--stride", word}), "stride", word, "must be a whole number");
  expect_refused(run_with({"--stride", ""}), "stride", "", "must be a whole number");
  expect_refused(run_with({"--stride"}), "stride", "", "needs a value");
  expect_refused(run_with({"--stride", "2", "--stride", "3"}), "stride", "", "is given more than once");
}

TEST(Refusals, Options) {
  struct Case {
    Words words;
    std::string field, value, rule;
  };
  const std::string kinds = "random, default, signed, integers, ones, ramp, impulse, index, wide";
  const Case cases[] = {
      {{"--dtype", "f8"}, "dtype", "f8", "must be f32, f64, f16 or bf16"},
      {{"--preset", "kernelbench79"}, "preset", "kernelbench79", "is not known; did you mean kernelbench-79?"},
      {{"--seed", "-1"}, "seed", "-1", "must be at least 0"},
      {{"--seed", "18446744073709551616"}, "seed", "18446744073709551616", "must be at most 18446744073709551615"},
      {{"--seed", "1.5"}, "seed", "1.5", "must be a whole number"},
      {{"--accuracy", "loose"}, "accuracy", "loose", "must be strict, 3xtf32 or tf32"},
      {{"--accuracy", "tf32", "--dtype", "f64"}, "accuracy", "tf32", "is for f32 problems; f64 is always strict"},
      {{"--accuracy", "tf32", "--dtype", "bf16"}, "accuracy", "tf32", "is for f32 problems; bf16 is always strict"},
      {{"--accuracy", "3xtf32", "--dtype", "f16"}, "accuracy", "3xtf32", "is for f32 problems; f16 is always strict"},
      {{"--dtype", "f16", "--input", "wide"},
       "input",
       "wide",
       "has values up to 1048576, f16 holds 65504 at most: use bf16, f32 or other values"},
      {{"--tolerance", "tight"}, "tolerance", "tight", "must be a number"},
      {{"--tolerance", "1e-3,"}, "tolerance", "", "must be a number"},
      {{"--tolerance", "1e-3,1e-3,1e-3"}, "tolerance", "1e-3,1e-3,1e-3", "must be ATOL or ATOL,RTOL"},
      {{"--tolerance", "1e-3,-1"}, "tolerance", "1e-3,-1", "must not be negative"},
      {{"--tolerance", "nan"}, "tolerance", "nan", "must be a number"},
      {{"--samples", "0"}, "samples", "0", "must be between 1 and 100000"},
      {{"--samples", "many"}, "samples", "many", "must be a whole number"},
      {{"--timeout", "soon"}, "timeout", "soon", "must be a number"},
      {{"--timeout", "0"}, "timeout", "0", "must be greater than 0 seconds"},
      {{"--timeout", "-5"}, "timeout", "-5", "must be greater than 0 seconds"},
      {{"--timeout", "nan"}, "timeout", "nan", "must be a number"},
      {{"--timeout", "inf"}, "timeout", "inf", "must be a number"},
      {{"--timeout", "1e999"}, "timeout", "1e999", "must be a number"},
      {{"--timeout", "10 s"}, "timeout", "10 s", "must be a number"},
      {{"--device", "abacus"}, "device", "abacus", "must be auto, emulator, cuda or cuda:N"},
      {{"--device", "cuda:x"}, "device", "cuda:x", "must be auto, emulator, cuda or cuda:N"},
      {{"--device", "cuda:99999999999"}, "device", "cuda:99999999999", "has a number that is too large for a GPU's"},
      {{"--engine", "'x"}, "engine", "'x", "has a quote that is not closed"},
      {{"--engine", " "}, "engine", " ", "must name a command"},
      {{"--input", "bogus"}, "input", "bogus", "must be one of " + kinds + " or a .npy or .npz file"},
      {{"--weight", "bogus"}, "weight", "bogus", "must be one of " + kinds + " or a .npy or .npz file"},
      {{"--strid", "2"}, "option", "--strid", "is not known; did you mean --stride?"},
      {{"--strid=2"}, "option", "--strid", "is not known; did you mean --stride?"},
      {{"--frobnicate"}, "option", "--frobnicate", "is not known: see `convscope help run`"},
      {{"S4"}, "argument", "S4", "is one too many"},
  };
  for (const auto& c : cases) expect_refused(run_with(c.words), c.field, c.value, c.rule);
}

TEST(Refusals, Verbs) {
  expect_refused({"bench", "tiled", "--against", "oracle"}, "against", "oracle",
                 "is not timed: must be a kernel or a reference that is (`convscope list references`)");
  expect_refused({"rum"}, "verb", "rum", "is not known; did you mean run?");
  expect_refused({"frobnicate"}, "verb", "frobnicate", "is not known: see `convscope help`");
  expect_refused({"help", "rum"}, "verb", "rum", "is not known; did you mean run?");
  expect_refused({"--frobnicate"}, "option", "--frobnicate", "is not known: see `convscope help`");
  expect_refused({"run"}, "kernel", "", "is missing: for example `convscope run S4 --preset kernelbench-79-small`");
  expect_refused({"run", ""}, "kernel", "", "is missing: for example `convscope run S4 --preset kernelbench-79-small`");
  expect_refused({"run", "direkt"}, "kernel", "direkt", "is not known; did you mean direct?");
  for (const char* file : {"./mine.cu", "mine.cu", "/tmp/kernels/mine"})
    expect_refused({"run", file, "--trust"}, "kernel", file,
                   std::string(file).ends_with(".cu")
                       ? "is no file that is there"
                       : "is no name of a kernel, and as a file's it must end with .cu or .py");
  expect_refused({"run", "onednn"}, "kernel", "onednn",
                 "is a reference and no kernel: a run of any kernel shows its error and time as well, and "
                 "`convscope bench KERNEL --against onednn` times both");
  expect_refused(
      {"run", "oracle"}, "kernel", "oracle",
      "is a reference and no kernel: every run of a kernel is judged by it, and `convscope run KERNEL --save "
      "DIR` writes it to DIR/oracle.npy");
  expect_refused({"screenshot", "/nonexist/x.png"}, "out", "/nonexist/x.png",
                 "cannot be written: there is no folder /nonexist");
  expect_refused({"run", "nonesuch-kernel"}, "kernel", "nonesuch-kernel", "is not known: see `convscope list kernels`");
  expect_refused({"list"}, "list", "", "is missing: for example `convscope list kernels`");
  expect_refused({"list", "kernel"}, "list", "kernel", "must be kernels, presets, references, devices or recordings");
  expect_refused({"list", "kernels", "presets"}, "argument", "presets", "is one too many");
  const std::string example =
      "is missing: for example `convscope explain S4 --at 0,0,10 --preset kernelbench-79-small`";
  expect_refused({"explain"}, "kernel", "", example);
  expect_refused({"explain", "S4"}, "at", "", example);
  expect_refused({"explain", "S4", "--at", "1,2"}, "at", "1,2", "must be three whole numbers: n,co,j");
  expect_refused({"explain", "S4", "--at", "foo"}, "at", "foo", "must be three whole numbers: n,co,j");
  expect_refused({"explain", "S4", "--at", "1,2,3,4"}, "at", "1,2,3,4", "must be three whole numbers: n,co,j");
  expect_refused({"explain", "S4", "--at", "0,x,0"}, "at", "x", "must be a whole number");
  expect_refused({"explain", "S4", "--at", "0,0,1"}, "j", "1", "must be a whole number between 0 and 0");
  expect_refused({"explain", "S4", "--at", "0,0,99999999999"}, "j", "99999999999",
                 "must be a whole number between 0 and 0");
  expect_refused({"explain", "S4", "--at", "-1,0,0"}, "n", "-1", "must be a whole number between 0 and 0");
}

// Checked before it is taken: it says how much is needed, and how much there is.
TEST(Refusals, WhatDoesNotFitIntoMemory) {
  auto r = test::convscope_run(run_with({"--batch", "1000", "--length", "60000000", "--json"}));
  EXPECT_EQ(r.code, 2);
  auto e = r.document()["error"];
  EXPECT_EQ(e["field"], "memory");
  EXPECT_TRUE(e["value"].get<std::string>().ends_with(" TiB")) << e;
  std::string rule = e["rule"];
  EXPECT_TRUE(rule.starts_with("is needed for this problem, but the host has ") && rule.ends_with("iB free")) << rule;
}

class Files : public testing::Test {
 protected:
  std::string npy(const std::string& name, const std::vector<int64_t>& shape, size_t cut = 0) {
    std::string bytes = npy_header(DType::f32, shape);
    int64_t elements = 1;
    for (int64_t n : shape) elements *= n;
    bytes.append(static_cast<size_t>(elements) * sizeof(float), '\0');
    return folder_.write(name, bytes.data(), bytes.size() - cut);
  }
  // The whole line after "convscope: field path ".
  std::string rule(const std::string& field, const std::string& path, const Words& more = {}) {
    auto r = test::convscope_run(run_with({"--" + field, path}) + more);
    EXPECT_EQ(r.code, 2) << path;
    EXPECT_EQ(r.out, "");
    std::string begin = "convscope: " + field + " " + path + " ";
    EXPECT_TRUE(r.err.starts_with(begin)) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    return r.err.size() > begin.size() ? r.err.substr(begin.size(), r.err.size() - begin.size() - 1) : r.err;
  }

  test::ScratchFolder folder_;
};

TEST_F(Files, ThatAreNone) {
  EXPECT_EQ(rule("input", folder_.path("none.npy")), "cannot be opened: No such file or directory");
  EXPECT_EQ(rule("input", folder_.path("x.npy.txt")).substr(0, 14), "must be one of");
  EXPECT_EQ(rule("input", folder_.path("")).substr(0, 14), "must be one of") << "a folder without an ending";
  std::string folder = folder_.path("folder.npy");
  ASSERT_EQ(test::convscope_shell("mkdir '" + folder + "'").code, 0);
  EXPECT_EQ(rule("input", folder), "is a directory: a .npy or .npz file is needed");
}

TEST_F(Files, ThatAreDamaged) {
  EXPECT_NE(rule("input", npy("cut.npy", {1, 1, 100}, 1)), "");
  EXPECT_NE(rule("input", npy("half.npy", {1, 1, 100}, 200)), "");
  EXPECT_NE(rule("weight", npy("header.npy", {1, 1, 1}, 4 + 100)), "");
  EXPECT_NE(rule("input", folder_.write("empty.npy", "", 0)), "");
  EXPECT_NE(rule("input", folder_.write("text.npy", "hello, world", 12)), "");
  EXPECT_NE(rule("input", folder_.write("text.npz", "hello, world", 12)), "");
}

TEST_F(Files, ThatDoNotAgree) {
  std::string x = npy("x.npy", {2, 3, 10}), w = npy("w.npy", {3, 4, 5}), b = npy("b.npy", {4});
  EXPECT_EQ(test::convscope_run(run_with({"--input", x, "--weight", w, "--bias-values", b})).code, 0)
      << "the negative control";
  EXPECT_EQ(rule("input", npy("flat.npy", {30})), "has 1 dimensions: 3 are needed");
  EXPECT_EQ(rule("bias-values", npy("deep.npy", {1, 4})), "has 2 dimensions: 1 are needed");
  expect_refused(run_with({"--input", x, "--length", "11"}), "length", "11", "does not agree with 10 in " + x);
  expect_refused(run_with({"--input", x, "--batch", "1"}), "batch", "1", "does not agree with 2 in " + x);
  expect_refused(run_with({"--weight", w, "--kernel-size", "4"}), "kernel_size", "4", "does not agree with 5 in " + w);
  expect_refused(run_with({"--input", x, "--preset", "kernelbench-79-small"}), "batch", "1",
                 "does not agree with 2 in " + x);
  std::string other = npy("other.npy", {2, 4, 5});
  expect_refused(run_with({"--input", x, "--weight", other}), "weight", other, "has 2 input channels, the input has 3");
  std::string short_bias = npy("short.npy", {3});
  auto r = test::convscope_run(run_with({"--input", x, "--weight", w, "--bias-values", short_bias}));
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find(short_bias), std::string::npos) << r.err;
  // With nothing in it there is nothing to run.
  r = test::convscope_run(run_with({"--input", npy("nothing.npy", {1, 1, 0})}));
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "convscope: length 0 must be at least 1\n");
}

TEST_F(Files, ThatCannotBeWritten) {
  std::string file = folder_.write("file", "x", 1);
  for (const std::string& place : {file, file + "/below", std::string("/proc/nowhere")}) {
    auto r = test::convscope_run(run_with({"--save", place, "--json"}));
    EXPECT_EQ(r.code, 2) << place;
    auto e = r.document()["error"];
    EXPECT_EQ(e["field"], "save");
    EXPECT_EQ(e["value"], place);
    EXPECT_EQ(e["rule"], "is no folder and cannot be made one");
    expect_refused({"demo", "--out", place}, "out", place, "is no folder and cannot be made one");
  }
  // A folder that takes no files: known before anything is computed.
  expect_refused(run_with({"--save", "/proc/self"}), "save", "/proc/self/y.npy", "cannot be written");
}

TEST(Refusals, ValuesOfABiasThatIsNone) {
  auto r = test::convscope_run({"run", "direct", "--no-bias", "--bias-values", "ones"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "convscope: bias-values ones needs a bias: not with --no-bias\n");
  r = test::convscope_run({"run", "direct", "--no-bias", "--bias"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "convscope: bias cannot be given together with --no-bias\n");
  EXPECT_EQ(test::convscope_run({"run", "direct", "--no-bias"}).code, 0);
  EXPECT_TRUE(test::convscope_run({"run", "direct", "--bias", "--json"}).document()["problem"]["bias"]);
}

}  // namespace
}  // namespace convscope
