// What a thread sees: its indices, its arguments, shared memory, vector types.
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

using test::launch_entry;
using test::launch_test;
using test::planned_launch;

struct Dims {
  unsigned gx, gy, gz, bx, by, bz;
};

TEST(Basics, IndicesInThreeDimensions) {
  for (Dims d : {Dims{1, 1, 1, 1, 1, 1}, Dims{3, 1, 1, 64, 1, 1}, Dims{2, 3, 4, 5, 6, 7}, Dims{1, 7, 2, 1, 33, 1},
                 Dims{4, 1, 3, 2, 2, 64}, Dims{1, 1, 2, 1024, 1, 1}, Dims{2, 1, 1, 16, 64, 1}}) {
    unsigned blocks = d.gx * d.gy * d.gz, threads = d.bx * d.by * d.bz;
    std::vector<unsigned> out(12u * blocks * threads, 0xdeadbeef);
    launch_test("record_indices", {d.gx, d.gy, d.gz}, {d.bx, d.by, d.bz}, out.data());
    for (unsigned b = 0; b < blocks; b++)
      for (unsigned t = 0; t < threads; t++) {
        const unsigned* o = &out[12u * (b * threads + t)];
        const unsigned want[] = {t % d.bx,
                                 t / d.bx % d.by,
                                 t / d.bx / d.by,
                                 b % d.gx,
                                 b / d.gx % d.gy,
                                 b / d.gx / d.gy,
                                 d.bx,
                                 d.by,
                                 d.bz,
                                 d.gx,
                                 d.gy,
                                 d.gz};
        for (int i = 0; i < 12; i++)
          ASSERT_EQ(o[i], want[i]) << "number " << i << " of block " << b << ", thread " << t;
      }
  }
}

TEST(Basics, GridsReachTheirLimits) {
  for (auto [x, y, z] :
       {std::tuple<int64_t, int64_t, int64_t>{300000, 1, 1}, {1, 65535, 1}, {1, 1, 65535}, {3, 101, 77}}) {
    unsigned long long blocks = 0;
    unsigned largest[3] = {};
    launch_test("count_blocks", {x, y, z}, {1}, &blocks, &largest[0]);
    EXPECT_EQ(blocks, static_cast<unsigned long long>(x * y * z));
    EXPECT_EQ(largest[0], x - 1);
    EXPECT_EQ(largest[1], y - 1);
    EXPECT_EQ(largest[2], z - 1);
  }
}

TEST(Basics, ArgumentsArriveByValue) {
  ConvArgs c{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<long long> out(12);
  launch_test("arguments", {1}, {1}, c, 0.5 * 4, static_cast<unsigned char>(200), out.data());
  for (int i = 0; i < 11; i++) EXPECT_EQ(out[static_cast<size_t>(i)], 2 * (i + 1));
  EXPECT_EQ(out[11], 200);
}

TEST(Basics, TheHelperRefusesWrongArguments) {
  std::vector<long long> out(12);
  EXPECT_THROW(launch_test("arguments", {1}, {1}, ConvArgs{}, 1.0f, static_cast<unsigned char>(0), out.data()),
               std::logic_error);
  EXPECT_THROW(launch_test("arguments", {1}, {1}, out.data()), std::logic_error);
  EXPECT_THROW(launch_test("nothing of this name", {1}, {1}), std::logic_error);
}

TEST(Basics, StaticSharedMemoryBelongsToTheBlock) {
  for (int threads : {1, 31, 32, 33, 256})
    for (int blocks : {1, 2, 37}) {
      std::vector<int> in(static_cast<size_t>(threads * blocks)), out(in.size(), -1);
      std::iota(in.begin(), in.end(), 5);
      launch_test("reverse_static", {blocks}, {threads}, in.data(), out.data());
      for (int b = 0; b < blocks; b++)
        for (int t = 0; t < threads; t++)
          ASSERT_EQ(out[static_cast<size_t>(b * threads + t)], in[static_cast<size_t>(b * threads + threads - 1 - t)]);
    }
}

TEST(Basics, SharedArraysDoNotOverlap) {
  int wrong = 0;
  launch_entry(planned_launch("separate_shared"), {50}, {32}, 32 * sizeof(int), {}, &wrong);
  EXPECT_EQ(wrong, 0);
}

TEST(Basics, DynamicSharedMemoryIsAligned) {
  for (int threads : {1, 100, 1024}) {
    std::vector<float> in(static_cast<size_t>(threads) * 5), out(in.size());
    std::iota(in.begin(), in.end(), 1.0f);
    unsigned long long alignment = 99;
    launch_entry(planned_launch("reverse_dynamic"), {5}, {threads}, sizeof(float) * static_cast<size_t>(threads), {},
                 in.data(), out.data(), &alignment);
    EXPECT_EQ(alignment, 0u);
    for (int i = 0; i < threads * 5; i++) {
      int b = i / threads, t = i % threads;
      ASSERT_EQ(out[static_cast<size_t>(i)], in[static_cast<size_t>(b * threads + threads - 1 - t)]);
    }
  }
}

TEST(Basics, UnwrittenSharedMemoryIsNoNumber) {
  // Yesterday's values would hide a kernel that reads before it writes, also in every block but the first.
  for (int round = 0; round < 3; round++) {
    std::vector<float> in(256, 1), out(256);
    unsigned long long alignment;
    launch_entry(planned_launch("reverse_dynamic"), {1}, {256}, 1024, {.workers = 1}, in.data(), out.data(),
                 &alignment);
    launch_entry(planned_launch("read_unwritten"), {1}, {256}, 1024, {.workers = 1}, out.data());
    for (float v : out) ASSERT_TRUE(std::isnan(v));
  }
}

TEST(Basics, ABlockMayUseAllOfSharedMemory) {
  size_t bytes = simt::max_dynamic_shared;
  int words = static_cast<int>(bytes / 4);
  unsigned long long sum = 0;
  launch_entry(planned_launch("fill_shared"), {3}, {256}, bytes, {}, words, &sum);
  EXPECT_EQ(sum, 3ull * static_cast<unsigned>(words) * static_cast<unsigned>(words - 1) / 2);
}

TEST(Basics, VectorTypes) {
  static_assert(sizeof(float2) == 8 && alignof(float2) == 8);
  static_assert(sizeof(float4) == 16 && alignof(float4) == 16);
  static_assert(sizeof(int2) == 8 && alignof(int2) == 8);
  static_assert(sizeof(int4) == 16 && alignof(int4) == 16);
  static_assert(sizeof(uint2) == 8 && alignof(uint2) == 8);
  static_assert(sizeof(uint4) == 16 && alignof(uint4) == 16);
  static_assert(sizeof(double2) == 16 && alignof(double2) == 16);
  static_assert(offsetof(float4, w) == 12 && offsetof(double2, y) == 8);
  float4 a = make_float4(1, 2, 3, 4), b = a;
  b.y = 7;
  EXPECT_EQ(a.y, 2) << "a copy is a copy";
  EXPECT_EQ(b.x + b.y + b.z + b.w, 15);
  uint4 u = make_uint4(1, 2, 3, 0xffffffff);
  EXPECT_EQ(u.w, 0xffffffffu);
  double2 d = make_double2(0.1, 0.2);
  EXPECT_EQ(d.x + d.y, 0.1 + 0.2);

  std::vector<float4> in(100), out(100);
  std::vector<int2> pairs(100), swapped(100);
  for (int i = 0; i < 100; i++) {
    auto f = static_cast<float>(i);
    in[static_cast<size_t>(i)] = make_float4(f, f + 0.25f, f + 0.5f, -f);
    pairs[static_cast<size_t>(i)] = make_int2(i, 1000 - i);
  }
  launch_test("vectors", {1}, {100}, in.data(), out.data(), pairs.data(), swapped.data());
  for (size_t i = 0; i < 100; i++) {
    EXPECT_EQ(out[i].x, in[i].w);
    EXPECT_EQ(out[i].y, in[i].z);
    EXPECT_EQ(out[i].z, in[i].y);
    EXPECT_EQ(out[i].w, in[i].x);
    EXPECT_EQ(swapped[i].x, pairs[i].y);
    EXPECT_EQ(swapped[i].y, pairs[i].x);
  }
}

TEST(Basics, CachedLoadsAndStores) {
  std::vector<float> in{1, 2, 4, 8, 16}, out(4);
  launch_test("load_and_store", {1}, {4}, in.data(), out.data());
  EXPECT_EQ(out, (std::vector<float>{3, 6, 12, 24}));
}

}  // namespace
}  // namespace convscope
