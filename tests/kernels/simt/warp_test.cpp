// Shuffles against PTX's definition of shfl.sync, votes, masks and __activemask.
#include <bit>
#include <gtest/gtest.h>
#include <numeric>

#include "kernels/runtime/simt/executor.h"
#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

using test::launch_entry;
using test::launch_test;
using test::planned_launch;

enum Mode { indexed, up, down, butterfly };

// The source lane, from the PTX ISA's description of shfl.sync: c holds the segment mask and the clamp.
unsigned source_lane(unsigned lane, Mode mode, int operand, int width) {
  unsigned bval = static_cast<unsigned>(operand) & 0x1f, segment = static_cast<unsigned>(32 - width) & 0x1f;
  unsigned cval = mode == up ? 0 : 0x1f;
  unsigned max_lane = (lane & segment) | (cval & ~segment & 0x1f), min_lane = lane & segment;
  unsigned j = 0;
  bool inside = false;
  switch (mode) {
    case up:
      j = lane - bval, inside = static_cast<int>(j) >= static_cast<int>(max_lane);
      break;
    case down:
      j = lane + bval, inside = j <= max_lane;
      break;
    case butterfly:
      j = lane ^ bval, inside = j <= max_lane;
      break;
    case indexed:
      j = min_lane | (bval & ~segment), inside = j <= max_lane;
      break;
  }
  return inside ? j : lane;
}

template <class T>
void compare_shuffles(const char* kernel) {
  std::vector<T> in(64);
  for (size_t t = 0; t < 64; t++)
    in[t] = static_cast<T>(3) * static_cast<T>(t) + static_cast<T>(sizeof(T) == 8 ? 1e10 : 0.25);
  for (Mode mode : {indexed, up, down, butterfly})
    for (int width : {2, 4, 8, 16, 32})
      for (int operand : {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 30, 31, 32, 33, 63, 64, -1, -2, 1000}) {
        std::vector<T> out(64, T(-1));
        launch_test(kernel, {1}, {64}, in.data(), out.data(), 0xffffffffu, static_cast<int>(mode), operand, width);
        for (unsigned t = 0; t < 64; t++)
          ASSERT_EQ(out[t], in[(t & ~31u) + source_lane(t % 32, mode, operand, width)])
              << kernel << ": lane " << t % 32 << ", mode " << mode << ", operand " << operand << ", width " << width;
      }
}

TEST(Shuffle, IntegersOfFourBytes) {
  compare_shuffles<int>("shuffle_int");
  compare_shuffles<unsigned>("shuffle_unsigned");
}
TEST(Shuffle, Floats) { compare_shuffles<float>("shuffle_float"); }
TEST(Shuffle, EightBytes) {
  compare_shuffles<double>("shuffle_double");
  compare_shuffles<long long>("shuffle_long");
}

TEST(Shuffle, OnlyLanesOfTheMaskTakePart) {
  std::vector<int> in(32);
  std::iota(in.begin(), in.end(), 100);
  for (unsigned mask : {0x55555555u, 0x0000ffffu, 0x80000001u, 0x00010000u, 0xf0f0f0f0u})
    for (int operand = 0; operand < 32; operand++) {
      std::vector<int> out(32, -1);
      launch_test("shuffle_int", {1}, {32}, in.data(), out.data(), mask, 0, operand, 32);
      for (unsigned t = 0; t < 32; t++) {
        if (!(mask >> t & 1)) {
          EXPECT_EQ(out[t], -1);
        } else if (mask >> operand & 1) {
          EXPECT_EQ(out[t], in[static_cast<size_t>(operand)]);
        } else {
          EXPECT_EQ(out[t], in[t]) << "from a lane that is not there: anything is legal, here its own";
        }
      }
    }
}

TEST(Shuffle, EachLaneMayNameItsOwnSource) {
  std::vector<int> in(32), from(32), out(32);
  for (int t = 0; t < 32; t++) in[static_cast<size_t>(t)] = t * t, from[static_cast<size_t>(t)] = (t * 7 + 3) % 32;
  launch_test("gather_lanes", {1}, {32}, in.data(), from.data(), out.data());
  for (int t = 0; t < 32; t++) EXPECT_EQ(out[static_cast<size_t>(t)], in[static_cast<size_t>((t * 7 + 3) % 32)]);
}

TEST(Shuffle, SumsWarpsAlsoShortOnes) {
  for (uint32_t seed : {0u, 3u})
    for (int n : {1, 5, 32, 40, 63, 64, 100}) {
      std::vector<float> in(static_cast<size_t>(n)), out(static_cast<size_t>(n + 31) / 32, -1);
      std::iota(in.begin(), in.end(), 1.0f);
      launch_entry(planned_launch("warp_sum"), {1}, {n}, 0, {.order_seed = seed}, in.data(), out.data());
      for (size_t w = 0; w < out.size(); w++) {
        float sum = 0;
        for (size_t t = 32 * w; t < std::min(in.size(), 32 * w + 32); t++) sum += in[t];
        EXPECT_EQ(out[w], sum) << n << " threads, warp " << w;
      }
    }
}

TEST(Shuffle, HalvesOfAWarpGoTheirOwnWays) {
  for (uint32_t seed = 0; seed < 20; seed++) {
    std::vector<int> out(32);
    int rounds = 5;
    launch_entry(planned_launch("two_halves"), {1}, {32}, 0, {.order_seed = seed}, out.data(), rounds);
    for (int t = 0; t < 16; t++) ASSERT_EQ(out[static_cast<size_t>(t)], (t + rounds) % 16);
    for (int t = 16; t < 32; t++) ASSERT_EQ(out[static_cast<size_t>(t)], 16 + (t - 16 + 16 - 2 * rounds % 16) % 16);
  }
}

TEST(Shuffle, MasksMayOverlap) {
  for (uint32_t seed = 0; seed < 20; seed++) {
    std::vector<int> out(32);
    launch_entry(planned_launch("overlapping_masks"), {1}, {32}, 0, {.order_seed = seed}, out.data());
    for (int t = 0; t < 32; t++) {
      auto first = [](int l) { return l < 20 ? 19 - l : l; };
      ASSERT_EQ(out[static_cast<size_t>(t)], t >= 10 ? first(41 - t) : first(t));
    }
  }
}

TEST(Votes, BallotAnyAll) {
  for (unsigned mask : {0xffffffffu, 0x0000ffffu, 0x10000001u})
    for (unsigned set : {0u, 0xffffffffu, 0x12345678u, 0x00000001u}) {
      std::vector<int> predicate(32);
      for (unsigned t = 0; t < 32; t++) predicate[t] = set >> t & 1 ? static_cast<int>(t) + 1 : 0;
      std::vector<unsigned> ballot(32, 0xabcdef);
      std::vector<int> any(32, -1), all(32, -1);
      launch_test("votes", {1}, {32}, predicate.data(), mask, ballot.data(), any.data(), all.data());
      for (unsigned t = 0; t < 32; t++) {
        if (!(mask >> t & 1)) {
          EXPECT_EQ(ballot[t], 0xabcdefu);
          continue;
        }
        EXPECT_EQ(ballot[t], mask & set);
        EXPECT_EQ(any[t] != 0, (mask & set) != 0);
        EXPECT_EQ(all[t] != 0, (mask & set) == mask);
      }
    }
}

TEST(Votes, ShortWarps) {
  std::vector<int> predicate(40, 1), any(40), all(40);
  std::vector<unsigned> ballot(40);
  launch_test("votes", {1}, {8}, predicate.data(), 0xffu, ballot.data(), any.data(), all.data());
  for (size_t t = 0; t < 8; t++) EXPECT_EQ(ballot[t], 0xffu);
}

// Legal: the caller is in it, only lanes that stand at the same place are, and all of them got the same answer.
void expect_legal(const std::vector<unsigned>& masks, unsigned lanes, auto&& same_place) {
  for (unsigned t = 0; t < lanes; t++) {
    ASSERT_TRUE(masks[t] >> t % 32 & 1) << "lane " << t << " leaves itself out";
    for (unsigned u = t & ~31u; u < std::min(lanes, (t & ~31u) + 32); u++)
      if (masks[t] >> u % 32 & 1) {
        ASSERT_TRUE(same_place(t, u)) << "lanes " << t << " and " << u << " are not in one place";
        ASSERT_EQ(masks[t], masks[u]);
      }
    if (lanes % 32 && t / 32 == lanes / 32) {
      ASSERT_EQ(masks[t] >> lanes % 32, 0u) << "lanes that do not exist";
    }
  }
}

TEST(ActiveMask, IsLegalInDivergentCode) {
  for (uint32_t seed = 0; seed < 20; seed++)
    for (unsigned n : {32u, 45u, 64u, 7u}) {
      std::vector<unsigned> straight(n), branch(n), loop(n);
      launch_entry(planned_launch("active_lanes"), {1}, {n}, 0, {.order_seed = seed}, straight.data(), branch.data());
      expect_legal(straight, n, [](unsigned, unsigned) { return true; });
      expect_legal(branch, n, [](unsigned t, unsigned u) { return t % 3 == u % 3; });
      launch_entry(planned_launch("active_in_loop"), {1}, {n}, 0, {.order_seed = seed}, loop.data());
      for (unsigned t = 0; t < n; t++) {
        ASSERT_TRUE(loop[t] >> t % 32 & 1);
        for (unsigned l = 0; l < 32; l++)
          if (loop[t] >> l & 1) {
            ASSERT_LT((t & ~31u) + l, n);
            ASSERT_GE(l % 8, t % 8) << "lane " << l << " has left the loop";
          }
      }
    }
}

TEST(ActiveMask, FindsAllWhereNothingDiverges) {
  // What the hardware gives, and what code that uses the answer as a mask relies on.
  std::vector<unsigned> straight(45), branch(45);
  launch_test("active_lanes", {1}, {45}, straight.data(), branch.data());
  for (unsigned t = 0; t < 45; t++) {
    unsigned all = t < 32 ? 0xffffffffu : (1u << 13) - 1, third = 0;
    for (unsigned l = 0; l < 32; l++)
      if (all >> l & 1 && ((t & ~31u) + l) % 3 == t % 3) third |= 1u << l;
    EXPECT_EQ(straight[t], all);
    EXPECT_EQ(branch[t], third);
  }
}

TEST(SyncWarp, OrdersMemory) {
  for (uint32_t seed = 0; seed < 20; seed++) {
    std::vector<int> out(32);
    launch_entry(planned_launch("warp_memory"), {1}, {32}, 0, {.order_seed = seed}, out.data());
    for (int t = 0; t < 32; t++) ASSERT_EQ(out[static_cast<size_t>(t)], (t + 40) % 32);
  }
}

}  // namespace
}  // namespace convscope
