// Many threads on all workers change the same words: nothing is lost.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

using test::launch_test;

constexpr int blocks = 64, threads = 256, all = blocks * threads;

template <class T>
void compare_add(const char* kernel, T start, T each) {
  T sum = start;
  std::vector<T> before(all);
  launch_test(kernel, {blocks}, {threads}, &sum, before.data(), each);
  T want = start;
  std::vector<T> steps;
  for (int i = 0; i < all; i++) {
    steps.push_back(want);
    want = static_cast<T>(want + each);
  }
  EXPECT_EQ(sum, want) << kernel;
  // What the threads found are the steps on the way, each once: no two saw the same old value.
  std::sort(before.begin(), before.end());
  std::sort(steps.begin(), steps.end());
  EXPECT_EQ(before, steps) << kernel;
}

TEST(Atomics, AddEveryType) {
  compare_add<int>("add_int", -5, 3);
  compare_add<unsigned>("add_unsigned", 0xffffff00u, 5);  // wraps around
  compare_add<unsigned long long>("add_long", 0xfffffff0ull, 7);
  compare_add<float>("add_float", 0, 1);
  compare_add<double>("add_double", 0.5, 0.25);
}

template <class T>
void compare_changes(const char* kernel) {
  T words[6] = {static_cast<T>(all + 17), static_cast<T>(1000000), 0, static_cast<T>(~T(0)), 0, 0};
  launch_test(kernel, {blocks}, {threads}, &words[0]);
  T exclusive = 0;
  for (int i = 0; i < all; i++) exclusive = static_cast<T>(exclusive ^ static_cast<T>(i));
  EXPECT_EQ(words[0], static_cast<T>(17)) << kernel;
  EXPECT_EQ(words[1], static_cast<T>(0)) << kernel;
  EXPECT_EQ(words[2], static_cast<T>(all - 1)) << kernel;
  EXPECT_EQ(words[3], static_cast<T>(~T(0) << 16)) << kernel;
  EXPECT_EQ(words[4], static_cast<T>((1 << 24) - 1)) << kernel;
  EXPECT_EQ(words[5], exclusive) << kernel;
}

TEST(Atomics, SubtractMinMaxAndOrXor) {
  compare_changes<int>("change_int");
  compare_changes<unsigned>("change_unsigned");
  compare_changes<unsigned long long>("change_long");
}

TEST(Atomics, ExchangeHandsEachValueOnOnce) {
  unsigned word = 0;
  std::vector<unsigned> got(all);
  launch_test("exchange_all", {blocks}, {threads}, &word, got.data());
  got.push_back(word);
  std::sort(got.begin(), got.end());
  for (unsigned i = 0; i <= all; i++) ASSERT_EQ(got[i], i);
}

TEST(Atomics, CompareAndSwap) {
  unsigned word = 1;
  launch_test("swap_unsigned", {blocks}, {threads}, &word);
  EXPECT_EQ(word, 1u + 3 * all);
  unsigned long long wide = (1ull << 40) + 1;
  launch_test("swap_long", {blocks}, {threads}, &wide);
  EXPECT_EQ(wide, (1ull << 40) + 1 + 3 * all);
}

TEST(Atomics, IncrementGoesRound) {
  for (unsigned limit : {0u, 1u, 6u, 16383u, 16384u, 0xffffffffu}) {
    unsigned word = 0;
    launch_test("count_round", {blocks}, {threads}, &word, limit);
    EXPECT_EQ(word, static_cast<unsigned>(all % (uint64_t{limit} + 1))) << limit;
  }
  unsigned beyond = 9;  // above the limit it starts again
  launch_test("count_round", {1}, {1}, &beyond, 5u);
  EXPECT_EQ(beyond, 0u);
}

TEST(Atomics, HistogramInTwoSteps) {
  std::vector<unsigned char> in(100003);
  std::vector<unsigned> want(256), bins(256);
  for (size_t i = 0; i < in.size(); i++) {
    in[i] = static_cast<unsigned char>(i * i / 7);
    want[in[i]]++;
  }
  launch_test("histogram", {16}, {256}, in.data(), static_cast<int>(in.size()), bins.data());
  EXPECT_EQ(bins, want);
}

}  // namespace
}  // namespace convscope
