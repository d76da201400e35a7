// Three TF32 products are as good as a multiply-add in f32: no 3xtf32 rung has more than four times its error.
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "kernels/problem/conv_problem.h"
#include "kernels/runtime/registry.h"
#include "tests/accuracy_problems.h"

namespace convscope {
namespace {

// Times the error of `registers`, the larger of largest and root mean square.
std::map<std::string, double> times_of_registers(const ConvProblem& p, uint64_t seed) {
  test::Random random(seed);
  const test::Tensors t = test::random_tensors(random, p);
  const test::Expected expected = test::expected_result(p, t);
  auto errors = [&](const char* name) { return test::errors_of(expected, test::run_kernel(find_kernel(name), p, t)); };
  const test::Errors registers = errors("registers");
  EXPECT_GT(registers.rms, 0) << describe(p);
  std::map<std::string, double> times;
  auto add = [&](const auto& rungs) {
    for (const char* name : rungs) {
      if (!find_kernel(name).unsupported(p).empty()) continue;
      const test::Errors e = errors(name);
      times[name] = std::max(e.largest / registers.largest, e.rms / registers.rms);
    }
  };
  add(test::three_tf32_rungs), add(test::tf32_rungs);
  return times;
}

TEST(ThreeTf32, HasAtMostFourTimesTheErrorOfMultiplyAdds) {
  std::map<std::string, double> worst, least;
  uint64_t seed = 60;
  for (const ConvProblem& p : test::accuracy_problems()) {
    ASSERT_FALSE(check(p)) << describe(p);
    for (const auto& [name, times] : times_of_registers(p, seed++)) {
      worst[name] = std::max(worst[name], times);
      if (!least.contains(name) || times < least[name]) least[name] = times;
    }
  }
  for (const char* name : test::three_tf32_rungs) {
    ASSERT_TRUE(worst.contains(name)) << name << " takes none of the problems";
    EXPECT_LE(worst[name], test::accuracy_factor) << name;
    RecordProperty(std::string(name) + "_times", std::to_string(worst[name]));
  }
  // Would it be seen? One TF32 product in the place of three, on every problem.
  for (const char* name : test::tf32_rungs) {
    ASSERT_TRUE(least.contains(name)) << name << " takes none of the problems";
    EXPECT_GT(least[name], 10 * test::accuracy_factor) << name;
  }
}

}  // namespace
}  // namespace convscope
