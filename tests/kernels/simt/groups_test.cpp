// What files from outside have beyond simt.h: cooperative groups, matching and reducing lanes, 16-bit arithmetic and
// its atomic additions, conversions, wmma; each against CUDA's definition of it.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "convscope/half_functions.h"
#include "convscope/outside.h"
#include "tests/convolution.h"
#include "tests/kernels/simt/test_entries.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::fault_of;
using test::holds;
using test::launch_test;

void compare_tiles(const char* kernel, int size) {
  for (int operand : {0, 1, 5, 15}) {
    std::vector<int> out(64 * 10, -1);
    launch_test(kernel, {1}, {32, 2}, out.data(), operand);
    for (int t = 0; t < 64; t++) {
      const int first = t / size * size, rank = t % size;
      int sum = 0, ballot = 0;
      for (int i = 0; i < size; i++) sum += first + i, ballot |= ((first + i) % 3 == 0) << i;
      const int want[] = {rank,
                          t / size * 100 + 64 / size,
                          first + operand % size,
                          rank + operand < size ? t + operand : t,
                          rank >= operand ? t - operand : t,
                          first + (rank ^ operand),
                          ballot,
                          sum * 1000 + first + size - 1,
                          (first == 0) * 2 + (first + size <= 40),
                          rank / (size / 2) * 100 + size / 2 + rank % (size / 2)};
      for (int i = 0; i < 10; i++)
        EXPECT_EQ(out[static_cast<size_t>(t * 10 + i)], want[i]) << kernel << " thread " << t << " word " << i;
    }
  }
}

TEST(Groups, TilesKeepToThemselves) {
  compare_tiles("tiles_of_16", 16);
  compare_tiles("tiles_of_32", 32);
}

TEST(Groups, ATileThatIsNotWholeIsAFault) {
  std::vector<int> out(64);
  const std::string said = fault_of([&] { launch_test("one_lane_misses", {1}, {32}, out.data()); });
  EXPECT_TRUE(holds(said, "__shfl_sync with mask 0x0000ffff names lane 3, which has ended")) << said;
}

TEST(Groups, CoalescedThreadsAreNumberedByTheirLanes) {
  std::vector<int> out(32, 0);
  launch_test("odd_lanes", {1}, {32}, out.data());
  for (int t = 0; t < 32; t++)
    EXPECT_EQ(out[static_cast<size_t>(t)], t % 2 ? 16000000 + t / 2 * 10000 + (t < 31 ? t + 2 : t) * 100 + 5 : 0) << t;
}

TEST(Groups, AnyGroup) {
  std::vector<int> out(64, 0);
  launch_test("any_group", {1}, {64}, out.data());
  for (int t = 0; t < 64; t++) EXPECT_EQ(out[static_cast<size_t>(t)], 6400 + t + 800 + t % 8) << t;
}

TEST(Groups, LanesThatGaveTheSame) {
  std::vector<int> in(32);
  for (int t = 0; t < 32; t++) in[static_cast<size_t>(t)] = t * 7 % 5 - 2;
  for (unsigned mask : {0xffffffffu, 0x0000ff13u, 0x80000000u}) {
    std::vector<unsigned> out(32 * 9, 0);
    launch_test("warp_words", {1}, {32}, in.data(), mask, out.data());
    int sum = 0, most = -100, least = 100;
    unsigned any = 0, odd = 0;
    auto of_mask = [&](auto f) {
      for (unsigned t = 0; t < 32; t++)
        if (mask >> t & 1) f(t);
    };
    of_mask([&](unsigned t) {
      const int v = in[t];
      sum += v, most = std::max(most, v), least = std::min(least, v);
      any |= static_cast<unsigned>(v), odd ^= static_cast<unsigned>(v);
    });
    of_mask([&](unsigned t) {
      unsigned same = 0;
      of_mask([&](unsigned u) { same |= static_cast<unsigned>(in[u] == in[t]) << u; });
      const unsigned want[] = {
          same, same, mask, 1u, static_cast<unsigned>(sum), static_cast<unsigned>(most), static_cast<unsigned>(least),
          any,  odd};
      for (unsigned i = 0; i < 9; i++) EXPECT_EQ(out[t * 9 + i], want[i]) << "lane " << t << " word " << i;
    });
  }
}

TEST(Groups, AtomicSumsOf16BitsRoundEachTime) {
  alignas(4) half f16 = half(2040.0f);
  alignas(4) nv_bfloat16 bf16 = nv_bfloat16(250.0f);
  half2 pair = make_half2(half(2000.0f), half(1.0f));
  launch_test("add_halves", {1}, {64}, &f16, &bf16, &pair);
  EXPECT_EQ(static_cast<float>(f16), 2048);
  EXPECT_EQ(static_cast<float>(bf16), 256);
  EXPECT_EQ(static_cast<float>(pair.x), 2048);
  EXPECT_EQ(static_cast<float>(pair.y), 129);
}

TEST(Groups, AnAssertionEndsTheKernel) {
  launch_test("assert_it", {1}, {32}, 32);
  const std::string said = fault_of([&] { launch_test("assert_it", {1}, {32}, 31); });
  EXPECT_TRUE(holds(said, "thread (31, 0, 0)")) << said;
  EXPECT_TRUE(holds(said, "its assertion (static_cast<int>(threadIdx.x) < limit) fails")) << said;
}

TEST(Groups, ProductsOfMatrices) {
  std::vector<half> a(256), b(16 * 24);
  std::vector<float> d(256), want(256);
  test::Random r(71);
  for (auto& v : a) v = half(static_cast<int>(test::between(r, -40, 40)));
  for (auto& v : b) v = half(static_cast<int>(test::between(r, -40, 40)));
  for (auto& v : d) v = static_cast<float>(test::between(r, -900, 900));
  for (size_t i = 0; i < 16; i++)
    for (size_t j = 0; j < 16; j++) {
      float sum = d[j * 16 + i];
      for (size_t k = 0; k < 16; k++) sum += static_cast<float>(a[i * 16 + k]) * static_cast<float>(b[j * 24 + k]);
      want[j * 16 + i] = 2 * sum;
    }
  launch_test("matrix_half", {1}, {32}, a.data(), b.data(), d.data());
  EXPECT_EQ(d, want);
  EXPECT_NE(fault_of([&] { launch_test("matrix_half", {1}, {31}, a.data(), b.data(), d.data()); }), "");
}

// ---- functions of one thread

TEST(HalfFunctions, ComparisonsWithNaN) {
  const half one(1.0f), two(2.0f), nan(NAN);
  EXPECT_TRUE(__hlt(one, two) && __hle(one, one) && __hgt(two, one) && __hge(two, two) && __heq(one, one));
  EXPECT_FALSE(__hlt(two, one) || __hgt(one, two) || __heq(one, two) || __hne(one, one));
  EXPECT_TRUE(__hne(one, two));
  for (half other : {one, nan}) {
    EXPECT_FALSE(__hlt(nan, other) || __hge(nan, other) || __heq(nan, other) || __hne(nan, other)) << "ordered";
    EXPECT_TRUE(__hltu(nan, other) && __hgeu(nan, other) && __hequ(nan, other) && __hneu(nan, other));
  }
  EXPECT_EQ(__hgt2_mask(make_half2(two, one), make_half2(one, two)), 0x0000ffffu);
  EXPECT_EQ(static_cast<float>(__hlt2(make_half2(two, one), make_half2(one, two)).y), 1);
  EXPECT_FALSE(__hbeq2(make_half2(one, one), make_half2(one, two)));
}

TEST(HalfFunctions, ANumberWinsOverNaN) {
  const half one(1.0f), nan(NAN), zero(0.0f), minus(-0.0f);
  for (half v : {__hmax(one, nan), __hmax(nan, one), __hmin(one, nan), __hmin(nan, one)})
    EXPECT_EQ(static_cast<float>(v), 1);
  EXPECT_TRUE(__hisnan(__hmax(nan, nan)) && __hisnan(__hmax_nan(one, nan)) && __hisnan(__hmin_nan(nan, one)));
  EXPECT_FALSE(std::signbit(static_cast<float>(__hmax(minus, zero))));
  EXPECT_FALSE(std::signbit(static_cast<float>(__hmax(zero, minus))));
  EXPECT_TRUE(std::signbit(static_cast<float>(__hmin(minus, zero))));
  EXPECT_TRUE(std::signbit(static_cast<float>(__hmin(zero, minus))));
  EXPECT_EQ(static_cast<float>(__hadd_sat(one, one)), 1);
  EXPECT_EQ(static_cast<float>(__habs(half(-2.5f))), 2.5f);
}

TEST(HalfFunctions, RoundOnceAndConvert) {
  EXPECT_EQ(static_cast<float>(hsqrt(half(2.0f))), 1.4140625f);
  EXPECT_EQ(static_cast<float>(hrcp(half(3.0f))), 0.333251953125f);
  EXPECT_EQ(static_cast<float>(hexp(nv_bfloat16(1.0f))), 2.71875f);
  EXPECT_EQ(__half2int_rn(half(2.5f)), 2);
  EXPECT_EQ(__half2int_rd(half(-2.5f)), -3);
  EXPECT_EQ(__half2uint_rz(half(-2.5f)), 0u);
  EXPECT_EQ(static_cast<float>(__int2half_rn(2049)), 2048) << "a tie, to even";
}

TEST(Conversions, RoundAndSaturate) {
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(-2.7f), -2);
  EXPECT_EQ(__float2int_rd(-2.1f), -3);
  EXPECT_EQ(__float2int_ru(2.1f), 3);
  EXPECT_EQ(__float2int_rn(3e9f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rn(-3e9f), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__float2uint_rn(-1.0f), 0u);
  EXPECT_EQ(__double2ll_rn(1e30), std::numeric_limits<long long>::max());
  EXPECT_EQ(__saturatef(NAN), 0.0f);
  EXPECT_EQ(__saturatef(1.5f), 1.0f);
}

TEST(Integers, PartsOfWords) {
  EXPECT_EQ(__mul24(0x01ffffff, 3), -3) << "24 bits with their sign";
  EXPECT_EQ(__umul24(0x01000002u, 3u), 6u);
  EXPECT_EQ(__mulhi(-1, 1), -1);
  EXPECT_EQ(__mul64hi(-1, 1), -1);
  EXPECT_EQ(__umul64hi(~0ull, 2), 1u);
  EXPECT_EQ(__funnelshift_l(0x80000000u, 1u, 1u), 3u);
  EXPECT_EQ(__dp4a(0x01ff0203, 0x01020304, 5), 1 - 2 + 6 + 12 + 5);
  EXPECT_EQ(__sad(3, -4, 1u), 8u);
  EXPECT_EQ(__brevll(1), 1ull << 63);
  EXPECT_EQ(__ffsll(0), 0);
  EXPECT_EQ(__clzll(1), 63);
  EXPECT_EQ(__hiloint2double(0x3ff00000, 0), 1.0);
}

TEST(Vectors, HaveTheSizesOfCuda) {
  static_assert(sizeof(short4) == 8 && alignof(short4) == 8 && sizeof(float3) == 12 && alignof(float3) == 4);
  static_assert(sizeof(uchar4) == 4 && alignof(uchar4) == 4 && sizeof(char3) == 3 && alignof(longlong2) == 16);
  static_assert(sizeof(double4) == 32 && alignof(double4) == 16 && sizeof(double3) == 24);
  EXPECT_EQ(make_short4(1, 2, 3, 4).w, 4);
}

}  // namespace
}  // namespace convscope
