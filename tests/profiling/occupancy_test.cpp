#include "profiling/occupancy/occupancy.h"

#include <array>
#include <gtest/gtest.h>

namespace convscope {
namespace {

const GpuArchitecture& hopper() { return *find_architecture("sm_90"); }

TEST(Occupancy, ArchitecturesAreFoundByName) {
  for (const auto& a : gpu_architectures()) {
    EXPECT_EQ(find_architecture("sm_" + std::to_string(a.sm)), &a);
    EXPECT_EQ(find_architecture("sm_" + std::to_string(a.sm) + "a"), &a);
  }
  for (const char* unknown : {"", "sm_", "sm_9", "sm_900", "sm_90ab", "sm_35", "x86-64", "90"})
    EXPECT_EQ(find_architecture(unknown), nullptr) << unknown;
}

// Every GPU that the compiler makes code for is one of them.
TEST(Occupancy, ArchitecturesOfToday) {
  for (const char* name : {"sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110",
                           "sm_120", "sm_121", "sm_103a", "sm_110f", "sm_121a"})
    ASSERT_TRUE(find_architecture(name)) << name;
  auto limits = [](const char* name) {
    const auto& a = *find_architecture(name);
    return std::array{a.warps_per_sm(), a.blocks_per_sm, a.shared_bytes_per_sm / 1024, a.shared_bytes_per_block / 1024};
  };
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
  EXPECT_EQ(limits("sm_87"), (std::array{48, 16, 164, 163}));
  EXPECT_EQ(limits("sm_88"), limits("sm_86"));
  EXPECT_EQ(limits("sm_103"), limits("sm_100"));
  EXPECT_EQ(limits("sm_110"), (std::array{48, 24, 228, 227}));
  EXPECT_EQ(limits("sm_121"), limits("sm_120"));
}

TEST(Occupancy, FullWithFewResources) {
  Occupancy o = occupancy(hopper(), {256, 32, 0});
  EXPECT_EQ(o.blocks, 8);
  EXPECT_EQ(o.warps(), 64);
  EXPECT_DOUBLE_EQ(o.fraction(hopper()), 1);
  EXPECT_TRUE(o.limited_by_warps());
  EXPECT_TRUE(o.limited_by_registers());  // 32 × 2048 is all there are
  EXPECT_FALSE(o.limited_by_shared());
  EXPECT_FALSE(o.limited_by_blocks());
}

TEST(Occupancy, RegistersAreHandedOutInUnitsOfAWarp) {
  // 33 × 32 = 1056 registers take 1280: 12 warps of a partition's 16384, 48 in all, 6 blocks of 8.
  Occupancy o = occupancy(hopper(), {256, 33, 0});
  EXPECT_EQ(o.registers_per_warp, 1280);
  EXPECT_EQ(o.blocks, 6);
  EXPECT_TRUE(o.limited_by_registers());
  EXPECT_EQ(occupancy(hopper(), {256, 40, 0}).blocks, 6);
  EXPECT_EQ(occupancy(hopper(), {256, 41, 0}).blocks, 5);
}

TEST(Occupancy, SharedMemoryCountsWhatIsReserved) {
  // 227 KiB and the reserved one fill the multiprocessor.
  EXPECT_EQ(occupancy(hopper(), {128, 32, 227 * 1024}).blocks, 1);
  EXPECT_EQ(occupancy(hopper(), {128, 32, 113 * 1024}).blocks, 2);
  EXPECT_EQ(occupancy(hopper(), {128, 32, 113 * 1024 + 1}).blocks, 1);
  const auto& turing = *find_architecture("sm_75");
  EXPECT_EQ(occupancy(turing, {128, 32, 32 * 1024}).blocks, 2);
  EXPECT_EQ(occupancy(turing, {128, 32, 0}).by_shared, Occupancy::no_limit);
}

TEST(Occupancy, WhatCannotBeLaunchedSaysWhy) {
  auto words = [](BlockShape b) { return limiter_in_words(hopper(), b, occupancy(hopper(), b)); };
  EXPECT_EQ(words({1056, 32, 0}), "cannot be launched: 1056 threads, a block has at most 1024");
  EXPECT_EQ(words({256, 256, 0}), "cannot be launched: 256 registers a thread, the most is 255");
  EXPECT_EQ(words({1024, 65, 0}), "cannot be launched: 65 registers × 1024 threads need 73728 of 65536");
  EXPECT_EQ(words({256, 32, 227 * 1024 + 1}),
            "cannot be launched: 232449 bytes of shared memory, a block gets at most 232448");
}

TEST(Occupancy, LimitersInWords) {
  auto words = [](BlockShape b) { return limiter_in_words(hopper(), b, occupancy(hopper(), b)); };
  EXPECT_EQ(words({256, 64, 0}), "limited by registers: 64 × 256 threads take 16384 of 65536, room for 4 blocks");
  EXPECT_EQ(words({32, 16, 0}), "limited by blocks: a multiprocessor holds at most 32");
  EXPECT_EQ(words({256, 24, 0}), "full: all 64 warps that a multiprocessor holds, in 8 blocks of 8");
  EXPECT_EQ(words({192, 24, 0}), "limited by warps: 6 a block of 64, room for 10 blocks");
  EXPECT_EQ(
      words({256, 46, 0}),
      "limited by registers: 46 × 256 threads take 12288 (each warp's 1472 rounded up to 1536, a multiple of 256) "
      "of 65536, room for 5 blocks");
  EXPECT_EQ(words({200, 64, 0}),
            "limited by registers: 64 × 200 threads take 14336 (in whole warps) of 65536, room for 4 blocks");
  EXPECT_EQ(words({128, 16, 100 * 1024}),
            "limited by shared memory: 103424 bytes a block (1024 reserved) of 233472, room for 2 blocks");
  EXPECT_EQ(
      words({256, 32, 0}),
      "full: all 64 warps that a multiprocessor holds, in 8 blocks of 8; nor is there room for more by registers: 32 × "
      "256 threads take 8192 of 65536, room for 8 blocks");
}

TEST(Occupancy, MoreOfAnyResourceNeverHelps) {
  for (const auto& a : gpu_architectures()) {
    for (int registers = 1; registers <= 255; registers++)
      EXPECT_LE(occupancy(a, {256, registers, 4096}).blocks, occupancy(a, {256, registers - 1, 4096}).blocks);
    for (int kib = 1; kib <= 227; kib++)
      EXPECT_LE(occupancy(a, {256, 32, kib * 1024}).blocks, occupancy(a, {256, 32, kib * 1024 - 1024}).blocks);
  }
}

}  // namespace
}  // namespace convscope
