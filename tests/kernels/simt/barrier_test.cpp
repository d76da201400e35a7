#include <gtest/gtest.h>
#include <numeric>

#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

using test::launch_entry;
using test::launch_test;
using test::planned_launch;

TEST(Barrier, HoldsABlockTogether) {
  for (uint32_t seed : {0u, 1u, 77u})
    for (Shape block : {Shape{1}, Shape{2}, Shape{31}, Shape{32}, Shape{33}, Shape{255}, Shape{1024}, Shape{7, 5, 3}}) {
      auto n = static_cast<size_t>(block.count());
      std::vector<int> in(n * 9), out(9);
      std::iota(in.begin(), in.end(), 3);
      launch_entry(planned_launch("block_sum"), {9}, block, 0, {.order_seed = seed}, in.data(), out.data());
      for (size_t b = 0; b < 9; b++)
        ASSERT_EQ(out[b], std::accumulate(in.begin() + static_cast<long>(b * n),
                                          in.begin() + static_cast<long>((b + 1) * n), 0))
            << n << " threads, block " << b << ", seed " << seed;
    }
}

TEST(Barrier, ManyInALoop) {
  for (uint32_t seed : {0u, 5u})
    for (int n : {2, 33, 100, 1024}) {
      std::vector<int> values(static_cast<size_t>(n) * 4);
      std::iota(values.begin(), values.end(), 0);
      auto want = values;
      int rounds = 50;
      for (int b = 0; b < 4; b++)
        for (int t = 0; t < n; t++)
          want[static_cast<size_t>(b * n + (t + rounds) % n)] = values[static_cast<size_t>(b * n + t)];
      launch_entry(planned_launch("rotate"), {4}, {n}, 0, {.order_seed = seed}, values.data(), rounds);
      ASSERT_EQ(values, want) << n;
    }
}

TEST(Barrier, CountsAndVotes) {
  for (int n : {1, 32, 45, 256})
    for (int kind = 0; kind < 4; kind++) {
      std::vector<int> predicate(static_cast<size_t>(n));
      int sum = 0;
      for (int t = 0; t < n; t++) {
        // None, all, every third, and only the last; true is anything but 0.
        int p = kind == 0 ? 0 : kind == 1 ? 5 : kind == 2 ? (t % 3 == 0) * -2 : (t == n - 1) * 0x10000;
        predicate[static_cast<size_t>(t)] = p;
        sum += p != 0;
      }
      std::vector<int> count(predicate.size(), -1), all(predicate.size(), -1), any(predicate.size(), -1);
      launch_test("vote_block", {1}, {n}, predicate.data(), count.data(), all.data(), any.data());
      for (size_t t = 0; t < predicate.size(); t++) {
        EXPECT_EQ(count[t], sum);
        EXPECT_EQ(all[t] != 0, sum == n);
        EXPECT_EQ(any[t] != 0, sum != 0);
      }
    }
}

TEST(Barrier, OneResultIsNotTheNext) {
  int wrong = 0;
  launch_test("vote_often", {8}, {96}, 120, &wrong);
  EXPECT_EQ(wrong, 0);
}

TEST(Barrier, StandsInAFunctionThatIsCalledTwice) {
  std::vector<int> out(128);
  launch_test("barrier_in_function", {1}, {128}, out.data());
  // Mirrored, doubled, mirrored back.
  for (int t = 0; t < 128; t++) EXPECT_EQ(out[static_cast<size_t>(t)], 2 * t);
}

}  // namespace
}  // namespace convscope
