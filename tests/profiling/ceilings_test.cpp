// Measured ceilings on a GPU that is a fake: what is believed, how often it is measured, and what a cache is worth.
#include "kernels/ceilings/ceilings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "kernels/base/cache.h"
#include "profiling/roofline/measure.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

// Times every plan by how long a GPU of these rates would take for it.
class FakeGpu : public test::FakeGpu {
 public:
  FakeGpu(const std::string& driver, double gbs, double gflops)
      : test::FakeGpu("Fake GPU", driver), gbs_(gbs), gflops_(gflops) {}
  std::string unavailable(const KernelDefinition& k) const override {
    for (const auto& need : k.requires_hardware())
      if (need == "wgmma") return "needs wgmma";
    return "";
  }
  double ms_of(const KernelDefinition&, const Plan& plan) const override {
    const Launch& l = plan.launches().front();
    const std::string name = l.entry.name;
    double threads = static_cast<double>(l.grid.x) * 256, ms = 1;
    auto rounds = [&](size_t argument) {
      int n = 0;
      __builtin_memcpy(&n, l.arguments.at(argument).value.data(), sizeof n);
      return static_cast<double>(n);
    };
    if (name == "ceiling_copy") ms = 2 * threads * 64 / (gbs_ * 1e6);
    if (name == "ceiling_stream") ms = 2 * threads * 2 * 16 / (0.9 * gbs_ * 1e6);
    if (name == "ceiling_l2") ms = threads * 64 * rounds(1) / (3 * gbs_ * 1e6);
    if (name == "ceiling_shared") ms = threads * 128 * rounds(0) / (9 * gbs_ * 1e6);
    if (name == "ceiling_ffma") ms = threads * 512 * rounds(2) / (gflops_ * 1e6);
    if (name == "ceiling_dfma") ms = threads * 512 * rounds(2) / (gflops_ / 2 * 1e6);
    if (name == "ceiling_mma_tf32") ms = threads * 512 * rounds(0) / (4 * gflops_ * 1e6);
    if (name == "ceiling_mma_f16") ms = threads * 1024 * rounds(0) / (8 * gflops_ * 1e6);
    return ms;
  }

 private:
  double gbs_, gflops_;
};

Ceilings sheet() {
  Ceilings c;
  c.gpu = "Fake GPU", c.source = "datasheet", c.memory_gbs = 990, c.f32_gflops = 9900, c.tf32_gflops = 1;
  return c;
}

class MeasuredCeilings : public testing::Test {
 protected:
  void TearDown() override { EXPECT_FALSE(std::filesystem::exists(ceilings_file(FakeGpu("", 1, 1).info()))); }
  test::ScratchFolder folder_;
  test::Setting cache_{"CONVSCOPE_CACHE", folder_.path("cache")};
  std::string text_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(MeasuredCeilings, AreTheRatesOfTheDevice) {
  FakeGpu gpu("a", 900, 9000);
  Ceilings c = measure_ceilings(gpu, sheet(), nullptr);
  EXPECT_EQ(c.source, "measured");
  EXPECT_NEAR(c.memory_gbs, 900, 1e-6) << "the faster of the two copies";
  EXPECT_NEAR(c.l2_gbs, 2700, 1e-6);
  EXPECT_NEAR(c.shared_gbs, 8100, 1e-6);
  EXPECT_NEAR(c.f32_gflops, 9000, 1e-6);
  EXPECT_NEAR(c.f64_gflops, 4500, 1e-6);
  EXPECT_NEAR(c.tf32_gflops, 36000, 1e-6);
  EXPECT_NEAR(c.f16_gflops, 72000, 1e-6);
  for (const auto& f : c.facts) {
    if (f.name != "tf32_gflops") continue;
    EXPECT_NE(f.how.find("mma.sync"), std::string::npos) << "which says that it is no wgmma";
  }
}

// A GPU whose clock lies, or a kernel that does not do its work.
TEST_F(MeasuredCeilings, AreNotBelievedAbovePhysics) {
  FakeGpu gpu("b", 1200, 20000);
  Ceilings c = measure_ceilings(gpu, sheet(), nullptr);
  EXPECT_EQ(c.memory_gbs, 990) << "the datasheet's stays";
  EXPECT_EQ(c.f32_gflops, 9900);
  bool said = false;
  for (const auto& f : c.facts) said |= f.value == 0 && f.how.find("not believed") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST_F(MeasuredCeilings, AreMeasuredOnceAndKept) {
  FakeGpu gpu("c", 900, 9000);
  EXPECT_FALSE(known_ceilings(gpu.info()));
  Ceilings first = ceilings_of(gpu, sheet(), nullptr);
  int timed = gpu.timed;
  EXPECT_GT(timed, 5);
  EXPECT_EQ(ceilings_of(gpu, sheet(), nullptr).memory_gbs, first.memory_gbs);
  EXPECT_EQ(gpu.timed, timed) << "not again";
  ASSERT_TRUE(known_ceilings(gpu.info()));
  // What is on disk is the same, and is of this GPU and driver alone.
  std::string text = text_of(ceilings_file(gpu.info()));
  auto kept = read_ceilings(text, gpu.info());
  ASSERT_TRUE(kept) << text;
  EXPECT_NEAR(kept->memory_gbs, first.memory_gbs, 1e-6);
  EXPECT_NEAR(kept->f16_gflops, first.f16_gflops, 1e-3);
  EXPECT_EQ(kept->facts.size(), first.facts.size());
  EXPECT_FALSE(read_ceilings(text, FakeGpu("another driver", 1, 1).info()));
  FakeGpu other("d", 800, 9000);
  EXPECT_NEAR(ceilings_of(other, sheet(), nullptr).memory_gbs, 800, 1e-6);
}

TEST_F(MeasuredCeilings, AreMeasuredAnewWhereTheCacheIsDamaged) {
  FakeGpu gpu("e", 900, 9000);
  const std::string good = ceilings_text(measure_ceilings(gpu, sheet(), nullptr), gpu.info());
  ASSERT_TRUE(read_ceilings(good, gpu.info()));
  for (size_t n = 0; n + 1 < good.size(); n++) EXPECT_FALSE(read_ceilings(good.substr(0, n), gpu.info())) << n;
  auto spoiled = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return read_ceilings(text, gpu.info()).has_value();
  };
  EXPECT_FALSE(spoiled("ceilings 1", "ceilings 2"));
  EXPECT_FALSE(spoiled("memory_gbs 900", "memory_gbs nan"));
  EXPECT_FALSE(spoiled("memory_gbs 900", "memory_gbs -5"));
  EXPECT_FALSE(spoiled("memory_gbs 900", "memory_gbs 1e300"));
  EXPECT_FALSE(spoiled("memory_gbs 900", "memory_gbs 9x"));
  EXPECT_FALSE(spoiled("memory_gbs", "cookies"));
  EXPECT_FALSE(spoiled("end\n", "end\nmore\n"));
  std::filesystem::create_directories(cache_folder());
  std::ofstream(ceilings_file(gpu.info())) << "nonsense";
  EXPECT_NEAR(ceilings_of(gpu, sheet(), nullptr).memory_gbs, 900, 1e-6);
  EXPECT_GT(gpu.timed, 12);
  EXPECT_TRUE(read_ceilings(text_of(ceilings_file(gpu.info())), gpu.info())) << "mended";
}

TEST_F(MeasuredCeilings, WithoutAPlaceToKeepThem) {
  test::Setting nowhere("CONVSCOPE_CACHE", "/proc/nowhere");
  FakeGpu gpu("f", 900, 9000);
  EXPECT_NEAR(ceilings_of(gpu, sheet(), nullptr).memory_gbs, 900, 1e-6);
}

TEST_F(MeasuredCeilings, TheEmulatorHasNone) {
  auto emulator = open_emulator();
  Ceilings c = ceilings_of(*emulator, sheet(), nullptr);
  EXPECT_EQ(c.source, "datasheet");
  EXPECT_FALSE(known_ceilings(emulator->info()));
}

}  // namespace
}  // namespace convscope
