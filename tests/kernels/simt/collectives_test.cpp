// CUB's collectives and <cuda/barrier>'s objects, as files from outside have them, against what they are defined to
// give.
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/kernels/simt/test_entries.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::fault_of;
using test::holds;
using test::launch_entry;
using test::launch_test;
using test::planned_launch;

std::vector<int> odd_numbers(size_t n) {
  std::vector<int> all(n);
  for (size_t i = 0; i < n; i++) all[i] = static_cast<int>(i * i * 7 % 23) - 9;
  return all;
}

void compare_folds(const char* kernel, int threads) {
  const std::vector<int> in = odd_numbers(static_cast<size_t>(threads));
  for (int valid : {1, 31, 32, 33, threads - 1, threads}) {
    std::vector<int> out(static_cast<size_t>(threads) * 5);
    launch_test(kernel, {1}, {threads}, in.data(), out.data(), valid);
    EXPECT_EQ(out[0], std::accumulate(in.begin(), in.begin() + valid, 0)) << kernel << " of the first " << valid;
    EXPECT_EQ(out[1], *std::max_element(in.begin(), in.end())) << kernel;
    int up_to = 0;
    const int all = std::accumulate(in.begin(), in.end(), 0);
    for (size_t t = 0; t < in.size(); t++) {
      EXPECT_EQ(out[t * 5 + 3], up_to) << kernel << " before thread " << t;
      up_to += in[t];
      EXPECT_EQ(out[t * 5 + 2], up_to) << kernel << " up to thread " << t;
      EXPECT_EQ(out[t * 5 + 4], all) << kernel << " thread " << t;
    }
  }
}

TEST(Collectives, OfABlock) {
  compare_folds("folds_of_96", 96);
  compare_folds("folds_of_40", 40);  // whose last warp is not whole
}

TEST(Collectives, OfABlockOfAnotherSizeTheyAreAFault) {
  std::vector<int> in(128), out(128 * 5);
  const std::string said = fault_of([&] { launch_test("folds_of_96", {1}, {128}, in.data(), out.data(), 96); });
  EXPECT_TRUE(holds(said, "cub::BlockReduce is made for 96 threads, and the block has 128")) << said;
}

TEST(Collectives, OfPartsOfAWarpAndOfTiles) {
  const std::vector<int> in = odd_numbers(64), tile = odd_numbers(192);
  std::vector<int> out(192), doubled(192);
  launch_test("parts_of_warps", {1}, {64}, in.data(), out.data(), tile.data(), doubled.data(), 190);
  for (size_t t = 0; t < 64; t++) {
    const size_t first = t / 8 * 8;
    const auto sum = [&](size_t from, size_t to) { return std::accumulate(&in[0] + from, &in[0] + to, 0); };
    if (t == first) {
      EXPECT_EQ(out[t * 3], sum(first, first + 8)) << t;
    }
    EXPECT_EQ(out[t * 3 + 1], sum(first, t + 1)) << t;
    EXPECT_EQ(out[t * 3 + 2], sum(first, t)) << t;
    for (size_t i = 0; i < 3; i++)
      EXPECT_EQ(doubled[i * 64 + t], 2 * (t * 3 + i < 190 ? tile[t * 3 + i] : 7)) << t << " item " << i;
  }
}

TEST(Collectives, BarriersEndAPhaseWhenAllHaveArrived) {
  std::vector<int> seen(9, -1);
  launch_test("arrivals", {1}, {64}, seen.data(), 9);
  for (int i = 0; i < 9; i++) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  std::vector<int> out(1);
  const std::string said = fault_of([&] { launch_test("too_many_arrive", {1}, {64}, out.data()); });
  EXPECT_TRUE(holds(said, "2 arrivals at a cuda::barrier where 1 of 16 are missing")) << said;
}

TEST(Collectives, StagesAreFilledAndReadInTurn) {
  const std::vector<int> in = odd_numbers(7 * 64);
  std::vector<int> out(7 * 64);
  launch_test("stages", {1}, {64}, in.data(), out.data(), 7, 0);
  EXPECT_EQ(out, in);
  launch_test("stages", {1}, {64}, in.data(), out.data(), 7, 16);
  for (size_t i = 0; i < 7; i++)
    for (size_t t = 0; t < 48; t++) EXPECT_EQ(out[i * 64 + t], in[i * 64 + t % 16]) << i << " " << t;
}

// Six ways to order them. Who does not wait reads what was there before, or in another order of the block what is
// there by chance.
TEST(Collectives, CopiesAreThereWhenTheyAreWaitedFor) {
  const std::vector<int> in = odd_numbers(64);
  std::vector<int> turned(64);
  for (size_t t = 0; t < 64; t++) turned[t] = in[t ^ 32];
  for (int way = 0; way < 6; way++)
    for (uint32_t seed : {0u, 1u, 2u}) {
      std::vector<int> out(64);
      const auto launch = [&](int waits) {
        launch_entry(planned_launch("late_copies"), {1}, {64}, 0, {.order_seed = seed}, in.data(), out.data(), way,
                     waits);
      };
      launch(1);
      EXPECT_EQ(out, turned) << "way " << way << ", order " << seed;
      launch(0);
      const auto missing = std::count(out.begin(), out.end(), -1);
      EXPECT_GT(missing, seed ? 8 : 63) << "way " << way << ", order " << seed;
      EXPECT_LT(missing, seed ? 56 : 65) << "way " << way << ", order " << seed << ": some come at once";
    }
}

TEST(Collectives, CopiesComeByGroups) {
  const std::vector<int> in = {7, 8, 9, 10};
  std::vector<int> out(4);
  const auto there = [&](int pending) {
    launch_test("groups_of_copies", {1}, {1}, in.data(), out.data(), pending);
    return out;
  };
  EXPECT_EQ(there(3), (std::vector<int>{-1, -1, -1, -1}));
  EXPECT_EQ(there(2), (std::vector<int>{7, -1, -1, -1}));
  EXPECT_EQ(there(1), (std::vector<int>{7, 0, -1, -1})) << "zeros where nothing is read";
  EXPECT_EQ(there(0), (std::vector<int>{7, 0, 9, -1})) << "what is in no group is not waited for";
  const std::string said = fault_of([&] { launch_test("copy_of_12_bytes", {1}, {1}, in.data(), out.data()); });
  EXPECT_TRUE(holds(said, "__pipeline_memcpy_async copies 4, 8 or 16 bytes")) << said;
}

}  // namespace
}  // namespace convscope
