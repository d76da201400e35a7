// Kernel files that leave something out, or reach far beyond what is there: what is said of them, and what is not.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::OutsideCli;
using test::Words;

using LeftOutCli = OutsideCli;

const Words small_layer{"--batch",       "2", "--in-channels", "3", "--out-channels",   "4", "--length",  "9",
                        "--kernel-size", "3", "--stride",      "2", "--output-padding", "1", "--padding", "3"};

TEST_F(LeftOutCli, TestsThatAreNotThereAreSaidToBeMissing) {
  const std::string text = test::text_file(test::project_file("assets/kernels/scatter.cu"));
  for (const auto& [is, said] :
       {std::pair{"j < 0 || ", "the test that the position is not below 0 is missing: j ≥ 0 belongs there"},
        std::pair{" || j >= Lout", "the test for the end of a row of y is missing: j < Lout belongs there"}}) {
    const auto r = run(Words{"run", changed_text(text, is, ""), "--trust"} + small_layer);
    EXPECT_EQ(r.code, 1) << r.err;
    EXPECT_TRUE(holds(r.out, said)) << r.out;
  }
}

TEST_F(LeftOutCli, ANumeratorWithoutASign) {
  const std::string here = changed("gather.cu", "const int t = j + p", "const unsigned t = j + p");
  auto on = [&](const char* stride) {
    return run({"run", here, "--trust", "--batch", "2", "--in-channels", "2", "--out-channels", "3", "--kernel-size",
                "4", "--length", "20", "--stride", stride});
  };
  auto r = on("1");
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "it takes t as an unsigned number, which is never below 0, where t ≥ 0 belongs")) << r.out;
  r = on("2");
  EXPECT_EQ(r.code, 0) << "what is below 0 is beyond the end there\n" << r.out;
}

TEST_F(LeftOutCli, AGridForLargerBlocks) {
  auto r = run(Words{"run", changed("gather.cu", "block=256", "block=128"), "--trust", "--batch", "2", "--length",
                     "300", "--kernel-size", "3"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "the grid has too few blocks for their size: ")) << r.out;
  EXPECT_TRUE(holds(r.out, " blocks of 128 threads write ")) << r.out;
  r = run(Words{"run", changed("gather.cu", "ceil_div(N*Cout*Lout,256)", "N*Cout*Lout/256"), "--trust", "--batch", "2",
                "--length", "300", "--kernel-size", "3"});
  EXPECT_TRUE(holds(r.out, "(N·Cout·Lout)/256 is rounded down")) << r.out;
}

TEST_F(LeftOutCli, ZerosThatAreNotStored) {
  const auto r =
      run(Words{"run", changed("gather.cu", "y[id] = sum;", "if (sum != 0) y[id] = sum;"), "--trust", "--json"} +
          small_layer);
  EXPECT_EQ(r.code, 1) << r.err;
  const json verdict = r.document()["verdict"];
  EXPECT_EQ(verdict["cause_reason"],
            "an output whose sum is 0 is not written, and keeps what was there: 0 has to be stored as well")
      << verdict;
}

// Where no tap lands its outputs are those before them, as if a sum went on; where taps land none does.
TEST(LeftOut, ACopyOfTheOutputBeforeIsNoSumThatGoesOn) {
  const auto r = test::convscope_run({"run", "S4", "--in-channels", "4", "--out-channels", "4", "--kernel-size", "3",
                                      "--length", "200", "--stride", "2", "--padding", "2", "--dilation", "2"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "nothing asks whether the stride divides")) << r.out;
  EXPECT_FALSE(holds(r.out, "sums go on")) << r.out;
}

// So far that nothing of what is there is read in its place.
TEST_F(LeftOutCli, WhoIsFarBeyondATensorIsToldWhichElement) {
  if (test::under_sanitizer) GTEST_SKIP() << "it is the sanitizer's report that ends the engine";
  const auto r = run(Words{"run", changed("gather.cu", "* L + i] *", "* L + i + 100000] *"), "--trust"} + small_layer);
  EXPECT_EQ(r.code, 4) << r.out;
  EXPECT_TRUE(holds(r.out, "crashed: kernel gather, block (")) << r.out;
  EXPECT_TRUE(holds(r.out, ": reads element 1000")) << "by whichever thread is first\n" << r.out;
  EXPECT_TRUE(holds(r.out, " of x, which has 54\n")) << r.out;
  EXPECT_FALSE(holds(r.out, "Why:")) << "small problems crash as well, and say nothing more\n" << r.out;
}

// Of a GPU's: a tensor that is made without a device, or moved off, is on the CPU.
TEST_F(LeftOutCli, ADeviceThatIsNotGiven) {
  const std::string text = test::text_file(test::project_file("assets/kernels/extension.py")),
                    made = "torch::empty({input.size(0), out_channels, out_length}, input.options())";
  ASSERT_NE(text.find(made), std::string::npos);
  auto with = [&](const std::string& is, const std::string& other) {
    return run(Words{"run", changed_text(text, is, other, "up.py"), "--trust"} + small_layer);
  };
  auto r = with(made, "torch::empty({input.size(0), out_channels, out_length}, torch::kFloat32)");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "on the CPU")) << r.out;
  r = with("layer.weight,", "layer.weight.cpu(),");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_TRUE(holds(r.out, "is given a tensor on the CPU, which a GPU cannot reach")) << r.out;
  r = with(
      made,
      "torch::empty({input.size(0), out_channels, out_length}, torch::dtype(torch::kFloat32).device(torch::kCUDA))");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = with(made, "torch::zeros({input.size(0), out_channels, out_length}).to(input.device())");
  EXPECT_EQ(r.code, 0) << "it is moved there\n" << r.out << r.err;
}

}  // namespace
}  // namespace convscope
