#include "kernels/problem/presets.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "kernels/problem/counts.h"
#include "tests/support.h"

namespace convscope {
namespace {

// The tables of the notes, as published.
struct Bench {
  const char* name;
  int64_t n, cin, cout, k, l, s, p, d, lout;
  double gflop, gigabytes;
  int64_t small_length;
};
const Bench benches[] = {
    {"kernelbench-64", 64, 128, 128, 3, 65536, 1, 0, 1, 65538, 412.3, 4.295, 256},
    {"kernelbench-74", 32, 32, 64, 5, 131072, 1, 0, 3, 131084, 85.9, 1.611, 2048},
    {"kernelbench-79", 16, 32, 64, 3, 131072, 2, 1, 2, 262145, 25.8, 1.342, 4096},
};

TEST(Presets, TheThreeBenchmarkProblems) {
  for (const auto& b : benches) {
    SCOPED_TRACE(b.name);
    const auto& p = find_preset(b.name).problem;
    ConvProblem want;
    want.batch = b.n, want.in_channels = b.cin, want.out_channels = b.cout, want.kernel_size = b.k, want.length = b.l;
    want.stride = b.s, want.padding = b.p, want.dilation = b.d;
    EXPECT_EQ(p, want);
    EXPECT_EQ(p.out_length(), b.lout);
    EXPECT_NEAR(flops(p) / 1e9, b.gflop, 0.05);
    EXPECT_NEAR(static_cast<double>(least_bytes(p)) / 1e9, b.gigabytes, 0.0005);

    want.batch = 1;
    want.length = b.small_length;
    EXPECT_EQ(find_preset(std::string(b.name) + "-small").problem, want);
  }
  const auto& p79 = find_preset("kernelbench-79").problem;
  EXPECT_EQ(structural_zeros(p79), int64_t{16} * 64 * 131073) << "every even output";
}

struct Layer {
  const char* name;
  int64_t n, cin, cout, k, s, p, l;
  double gflop, floor_bytes_us, floor_tf32_us;
};
const Layer layers[] = {
    {"hifigan.u1", 1, 512, 256, 16, 8, 4, 800, 3.35, 3.9, 6.8},
    {"hifigan.u2", 1, 256, 128, 16, 8, 4, 6400, 6.71, 8.2, 13.6},
    {"hifigan.u3", 1, 128, 64, 4, 2, 1, 51200, 3.36, 12.3, 6.8},
    {"hifigan.u4", 1, 64, 32, 4, 2, 1, 102400, 1.68, 12.3, 3.4},
    {"hifigan.u1.b16", 16, 512, 256, 16, 8, 4, 80, 5.34, 5.0, 10.8},
    {"hifigan.u4.b16", 16, 64, 32, 4, 2, 1, 10240, 2.68, 19.7, 5.4},
    {"encodec.d1", 1, 512, 256, 16, 8, 0, 750, 3.15, 3.8, 6.4},
    {"encodec.d2", 1, 256, 128, 10, 5, 0, 6000, 3.93, 5.3, 7.9},
    {"encodec.d3", 1, 128, 64, 8, 4, 0, 30000, 3.93, 10.9, 7.9},
    {"encodec.d4", 1, 64, 32, 4, 2, 0, 120000, 1.97, 14.4, 4.0},
    {"dac.d1", 1, 1536, 768, 16, 8, 4, 860, 32.45, 23.9, 65.6},
    {"dac.d2", 1, 768, 384, 16, 8, 4, 6880, 64.92, 29.2, 131.2},
    {"dac.d3", 1, 384, 192, 8, 4, 2, 55040, 64.93, 60.0, 131.2},
    {"dac.d4", 1, 192, 96, 4, 2, 1, 220160, 32.46, 79.3, 65.6},
    {"oobleck.d1", 1, 2048, 1024, 20, 10, 5, 215, 17.99, 41.8, 36.4},
    {"oobleck.d5", 1, 128, 128, 4, 2, 1, 344000, 45.09, 123.9, 91.1},
    {"demucs.d", 4, 64, 64, 8, 4, 0, 42000, 11.01, 50.4, 22.3},
    {"wavegan.d1", 64, 1024, 512, 25, 4, 11, 16, 24.23, 15.2, 49.0},
    {"wavegan.d4", 64, 128, 64, 25, 4, 11, 1024, 26.80, 23.8, 54.2},
};

TEST(Presets, TheLayersPeopleRun) {
  for (const auto& l : layers) {
    SCOPED_TRACE(l.name);
    const auto& p = find_preset(l.name).problem;
    ConvProblem want;
    want.batch = l.n, want.in_channels = l.cin, want.out_channels = l.cout, want.kernel_size = l.k, want.length = l.l;
    want.stride = l.s, want.padding = l.p;
    want.output_padding = std::string(l.name).starts_with("wavegan") ? 1 : 0;
    EXPECT_EQ(p, want);
    EXPECT_NEAR(flops(p) / 1e9, l.gflop, 0.00501);
    // The floors follow from bytes and FLOPs by the rates the notes give.
    EXPECT_NEAR(static_cast<double>(least_bytes(p)) / 4267e9 * 1e6, l.floor_bytes_us, 0.0501);
    EXPECT_NEAR(flops(p) / 494.7e12 * 1e6, l.floor_tf32_us, 0.0501);
  }
}

TEST(Presets, AreAllListedOnceAndLegal) {
  std::set<std::string> names;
  for (const auto& p : presets()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name << " twice";
    EXPECT_FALSE(check(p.problem)) << p.name;
    EXPECT_FALSE(p.about.empty()) << p.name;
    EXPECT_EQ(&find_preset(p.name), &p);
  }
  EXPECT_EQ(names.size(), 2 * std::size(benches) + std::size(layers));
}

TEST(Presets, AnUnknownNameGetsTheNearest) {
  auto said = [](const char* name) { return test::error_of<InputError>([&] { find_preset(name); }); };
  EXPECT_EQ(said("kernelbench-80"), "preset kernelbench-80 is not known; did you mean kernelbench-64?");
  EXPECT_EQ(said("hifigan-u3"), "preset hifigan-u3 is not known; did you mean hifigan.u3?");
  EXPECT_EQ(said("resnet"), "preset resnet is not known: see `convscope list presets`");
}

TEST(Presets, AreNamedInOtherTypesToo) {
  ConvProblem p = find_preset("kernelbench-74").problem;
  EXPECT_EQ(preset_in_words(p), "kernelbench-74");
  p.dtype = DType::f16;
  EXPECT_EQ(preset_in_words(p), "kernelbench-74, f16");
  p.bias = true;
  EXPECT_EQ(preset_in_words(p), "kernelbench-74, f16, with a bias");
  p.length++;
  EXPECT_EQ(preset_in_words(p), "");
}

}  // namespace
}  // namespace convscope
