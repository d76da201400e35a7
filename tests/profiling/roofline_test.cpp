// The roof, its table, and where a kernel stands.
#include "profiling/roofline/roofline.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

const Ceilings small{"small", "measured", 100, 1000, 4000, 8000, 500};

TEST(Roofline, PointsUnderTheRoof) {
  // 1e9 operations on 1e7 bytes: 100 a byte, beyond the ridge of 10.
  auto p = roofline_points(small, Arithmetic::f32, {1e9, 1e7, 4e8, 2});
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[0].name, "least bytes");
  EXPECT_DOUBLE_EQ(p[0].intensity, 100);
  EXPECT_DOUBLE_EQ(p[0].gflops, 500);
  EXPECT_DOUBLE_EQ(p[0].ceiling, 1000);
  EXPECT_FALSE(p[0].memory_bound);
  EXPECT_DOUBLE_EQ(p[0].fraction(), 0.5);
  // The bytes that moved put it under the slanted part: 2.5 operations a byte allow 250.
  EXPECT_EQ(p[1].name, "measured bytes");
  EXPECT_DOUBLE_EQ(p[1].ceiling, 250);
  EXPECT_TRUE(p[1].memory_bound);
  EXPECT_DOUBLE_EQ(small.ridge(Arithmetic::f32), 10);
  EXPECT_DOUBLE_EQ(small.ridge(Arithmetic::f16), 80);
}

// The cold time has a point of its own, by the least bytes: what was counted is not of such calls.
TEST(Roofline, ColdBesideHot) {
  auto p = roofline_points(small, Arithmetic::f32, {1e9, 1e7, 4e8, 2, 4});
  ASSERT_EQ(p.size(), 3u);
  EXPECT_FALSE(p[0].cold || p[1].cold);
  EXPECT_TRUE(p[2].cold);
  EXPECT_EQ(p[2].name, "least bytes, cold");
  EXPECT_DOUBLE_EQ(p[2].intensity, p[0].intensity);
  EXPECT_DOUBLE_EQ(p[2].gflops, p[0].gflops / 2);
  EXPECT_EQ(roofline_points(small, Arithmetic::f32, {1e9, 1e7, {}, 2, 0.0}).size(), 1u) << "no cold time";
}

TEST(Roofline, NothingFromNothing) {
  EXPECT_TRUE(roofline_points(small, Arithmetic::f32, {1e9, 1e7, {}, 0}).empty()) << "no time";
  EXPECT_TRUE(roofline_points({}, Arithmetic::f32, {1e9, 1e7, {}, 1}).empty()) << "no ceilings";
  EXPECT_EQ(roofline_points(small, Arithmetic::f32, {1e9, 1e7, {}, 1}).size(), 1u) << "no counted bytes";
  EXPECT_FALSE(floor_of({}, Arithmetic::f32, 1, 1));
}

TEST(Roofline, TheFloorIsTheLaterOfTheTwo) {
  auto by_bytes = floor_of(small, Arithmetic::f32, 1e6, 1e8);
  EXPECT_DOUBLE_EQ(by_bytes->ms, 1);
  EXPECT_TRUE(by_bytes->by_bytes);
  auto by_flops = floor_of(small, Arithmetic::f32, 5e9, 1e8);
  EXPECT_DOUBLE_EQ(by_flops->ms, 5);
  EXPECT_FALSE(by_flops->by_bytes);
}

TEST(Roofline, DatasheetsByTheDriversNames) {
  auto bandwidth = [](const char* name) {
    auto* c = find_datasheet(name);
    return c ? c->memory_gbs : 0;
  };
  EXPECT_EQ(bandwidth("NVIDIA H200"), 4800);
  EXPECT_EQ(bandwidth("NVIDIA H100 80GB HBM3"), 3350);
  EXPECT_EQ(bandwidth("NVIDIA H100 PCIe"), 2000);
  EXPECT_EQ(bandwidth("NVIDIA A100-SXM4-80GB"), 2039);
  EXPECT_EQ(bandwidth("NVIDIA A100-SXM4-40GB"), 1555);
  EXPECT_EQ(bandwidth("NVIDIA A100-PCIE-40GB"), 1555);
  EXPECT_EQ(bandwidth("NVIDIA L4"), 300);
  EXPECT_EQ(bandwidth("NVIDIA L40S"), 864);
  EXPECT_EQ(bandwidth("NVIDIA GeForce RTX 4090"), 1008);
  EXPECT_EQ(bandwidth("Tesla T4"), 320);
  for (const char* unknown : {"NVIDIA L40", "NVIDIA GeForce RTX 2080", "CPU emulator, 2 workers", ""})
    EXPECT_FALSE(find_datasheet(unknown)) << unknown;
  for (const auto& c : datasheets()) {
    EXPECT_EQ(c.source, "datasheet");
    EXPECT_GT(c.memory_gbs, 0) << c.gpu;
    EXPECT_GT(c.f32_gflops, 0) << c.gpu;
    EXPECT_GE(c.f16_gflops, c.tf32_gflops) << c.gpu;
  }
}

}  // namespace
}  // namespace convscope
