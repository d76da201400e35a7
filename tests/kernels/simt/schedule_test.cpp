// A seed shuffles the order of lanes, warps and blocks. A kernel without races must not notice; one with a race must
// show it.
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

using test::launch_entry;
using test::planned_launch;

std::vector<int> race(const char* kernel, uint32_t seed, int threads) {
  std::vector<int> out(static_cast<size_t>(threads) * 3);
  launch_entry(planned_launch(kernel), {3}, {threads}, 0, {.workers = 1, .order_seed = seed}, out.data());
  return out;
}

TEST(Schedule, ARaceGivesDifferentResultsUnderDifferentSeeds) {
  for (int threads : {32, 64, 256}) {
    std::set<std::vector<int>> results;
    for (uint32_t seed = 0; seed < 10; seed++) results.insert(race("race_in_block", seed, threads));
    EXPECT_GE(results.size(), 8u) << threads;
  }
}

TEST(Schedule, WithoutARaceTheyAreTheSame) {
  for (int threads : {32, 64, 256}) {
    std::vector<int> want;
    for (int i = 0; i < 3 * threads; i++) want.push_back((i % threads + 1) % threads);
    for (uint32_t seed = 0; seed < 30; seed++) EXPECT_EQ(race("no_race_in_block", seed, threads), want) << threads;
  }
}

TEST(Schedule, OneSeedIsOneOrder) {
  for (uint32_t seed : {0u, 1u, 123456789u, 0xffffffffu})
    for (int threads : {48, 256}) EXPECT_EQ(race("race_in_block", seed, threads), race("race_in_block", seed, threads));
}

std::vector<unsigned> turns(uint32_t seed, int blocks, int threads) {
  unsigned counter = 0;
  std::vector<unsigned> turn(static_cast<size_t>(blocks * threads));
  launch_entry(planned_launch("turns"), {blocks}, {threads}, 0, {.workers = 1, .order_seed = seed}, &counter,
               turn.data());
  EXPECT_EQ(counter, turn.size());
  return turn;
}

TEST(Schedule, EveryThreadRunsOnceInAnyOrder) {
  for (uint32_t seed = 0; seed < 200; seed++)
    for (auto [blocks, threads] : {std::pair{1, 33}, {2, 64}, {7, 40}, {12, 1}, {30, 32}}) {
      auto turn = turns(seed, blocks, threads);
      std::sort(turn.begin(), turn.end());
      for (unsigned i = 0; i < turn.size(); i++) ASSERT_EQ(turn[i], i) << "seed " << seed;
    }
}

// The order in which groups of `size` threads get their first turn.
std::vector<size_t> order_of(const std::vector<unsigned>& turn, size_t size) {
  std::vector<size_t> groups(turn.size() / size);
  std::iota(groups.begin(), groups.end(), size_t{0});
  auto first = [&](size_t g) { return *std::min_element(&turn[g * size], &turn[g * size] + size); };
  std::sort(groups.begin(), groups.end(), [&](size_t a, size_t b) { return first(a) < first(b); });
  return groups;
}

bool is_rotation(const std::vector<size_t>& order) {
  for (size_t i = 1; i < order.size(); i++)
    if (order[i] != (order[i - 1] + 1) % order.size()) return false;
  return true;
}

TEST(Schedule, SeedsShuffleLanesWarpsAndBlocks) {
  auto straight = turns(0, 10, 128);
  EXPECT_TRUE(std::is_sorted(straight.begin(), straight.end())) << "no seed: in order";
  std::set<std::vector<size_t>> lanes, warps, blocks;
  int rotated = 0;
  for (uint32_t seed = 1; seed <= 30; seed++) {
    auto turn = turns(seed, 11, 128);
    lanes.insert(order_of({turn.begin(), turn.begin() + 32}, 1));
    warps.insert(order_of({turn.begin(), turn.begin() + 128}, 32));
    blocks.insert(order_of(turn, 128));
    rotated += is_rotation(order_of(turn, 128));
  }
  EXPECT_GE(lanes.size(), 25u);
  EXPECT_GE(warps.size(), 10u) << "of 24 orders of four warps";
  EXPECT_GE(blocks.size(), 20u);
  EXPECT_LE(rotated, 8) << "blocks are not only begun at another place";
}

TEST(Schedule, ABusyKernelHasOneResult) {
  int n = 256, grid = 11;
  std::vector<int> in(static_cast<size_t>(n * grid));
  for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<int>(i * i % 1013);
  std::vector<int> first;
  for (uint32_t seed = 0; seed < 40; seed++) {
    std::vector<int> out(in.size());
    unsigned long long total = 0;
    launch_entry(planned_launch("busy"), {grid}, {n}, 0, {.order_seed = seed}, in.data(), out.data(), &total);
    EXPECT_EQ(total, static_cast<unsigned long long>(std::accumulate(in.begin(), in.end(), 0)));
    if (first.empty()) first = out;
    ASSERT_EQ(out, first) << "seed " << seed;
  }
}

TEST(Schedule, LadderKernelsDoNotNotice) {
  test::Random r(20);
  int order_dependent = 0;
  for (int i = 0; i < 12; i++) {
    auto p = test::random_problem(r);
    auto t = test::random_tensors(r, p);
    for (const auto* k : all_kernels()) {
      if (k->kind() != KernelKind::ladder || !k->requires_hardware().empty() || !k->unsupported(p).empty()) continue;
      auto straight = test::run_kernel(*k, p, t, 0);
      for (uint32_t seed : {1u, 2u, 3u}) {
        auto shuffled = test::run_kernel(*k, p, t, seed);
        bool same = std::equal(straight.data(), straight.data() + straight.size_bytes(), shuffled.data());
        // Scatter says of itself that the order of its additions changes the last bits.
        if (k->name() == "scatter")
          order_dependent += !same;
        else
          ASSERT_TRUE(same) << k->name() << " under seed " << seed << " on " << describe(p);
      }
    }
  }
  EXPECT_GT(order_dependent, 0) << "the negative control: this comparison sees a changed order of additions";
}

}  // namespace
}  // namespace convscope
