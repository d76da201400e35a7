// Points under the roof, of a shipped recording and without a GPU: hot and cold, by least bytes and by those that
// moved, joined, with the way up the ladder.
#include "app/model/roof.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "app/engine/recording.h"
#include "kernels/problem/presets.h"
#include "profiling/roofline/roofline.h"
#include "tests/app/model/benches.h"

namespace convscope {
namespace {

using Of = RoofPoint::Of;
using Bytes = RoofPoint::Bytes;

class RoofOfARecording : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(bench_.settle()) << "the kernels' list";
    bench_->open_recording(std::make_shared<Recording>(
        read_recording(test::project_file("assets/recordings/h200-kernelbench-79.convscope"))));
  }
  Document document(const std::string& kernel, Accuracy accuracy = Accuracy::strict) {
    Document d;
    d.problem = find_preset("kernelbench-79").problem, d.kernel = kernel, d.accuracy = accuracy;
    return d;
  }
  RoofPoints points(const Document& d) {
    const Report* r = bench_->report_of(d);
    EXPECT_TRUE(r);
    return r ? roof_points(*bench_, d, *r) : RoofPoints{};
  }
  Roof roof(const Document& d) { return roof_of(*bench_, d, *bench_->report_of(d)); }
  static const RoofPoint* find(const RoofPoints& all, Of of, Bytes bytes, bool cold, const std::string& name) {
    for (const auto& p : all.points)
      if (p.of == of && p.bytes == bytes && p.cold == cold && p.name == name) return &p;
    return nullptr;
  }
  test::Bench bench_;
};

TEST_F(RoofOfARecording, HotAndColdComputedAndMeasured) {
  const Document d = document("hopper_tf32", Accuracy::tf32);
  const RoofPoints all = points(d);
  const RoofPoint *hot = find(all, Of::kernel, Bytes::least, false, "hopper_tf32"),
                  *cold = find(all, Of::kernel, Bytes::least, true, "hopper_tf32"),
                  *dram = find(all, Of::kernel, Bytes::dram, false, "hopper_tf32"),
                  *l2 = find(all, Of::kernel, Bytes::l2, false, "hopper_tf32");
  ASSERT_TRUE(hot && cold && dram && l2);
  EXPECT_EQ(&all.points[*all.own], hot);
  const Report& r = *bench_->report_of(d);
  const Profile& p = *bench_->profile_of(d);
  EXPECT_DOUBLE_EQ(hot->intensity, r.flops / r.least_bytes);
  EXPECT_DOUBLE_EQ(hot->gflops, r.flops / *r.timing.median_ms * 1e-6);
  EXPECT_DOUBLE_EQ(cold->gflops, r.flops / *r.timing.cold_median_ms * 1e-6);
  EXPECT_DOUBLE_EQ(cold->intensity, hot->intensity);
  EXPECT_DOUBLE_EQ(dram->gflops, hot->gflops) << "the same run";
  const Counters c = counters_of(p);
  EXPECT_DOUBLE_EQ(dram->intensity, r.flops / (c.at("dram_read_bytes") + c.at("dram_write_bytes")));
  EXPECT_DOUBLE_EQ(l2->intensity, r.flops / (32 * c.at("l2_sectors")));
  // Joined: least bytes to DRAM, DRAM to L2; of the references too.
  auto index = [&](const RoofPoint* at) { return static_cast<size_t>(at - all.points.data()); };
  auto joined = [&](const RoofPoint* a, const RoofPoint* b) {
    return std::find(all.joined.begin(), all.joined.end(), std::pair(index(a), index(b))) != all.joined.end();
  };
  EXPECT_TRUE(joined(hot, dram) && joined(dram, l2));
  const RoofPoint *ref = find(all, Of::reference, Bytes::least, false, "cudnn-tf32"),
                  *moved = find(all, Of::reference, Bytes::dram, false, "cudnn-tf32");
  ASSERT_TRUE(ref && moved);
  EXPECT_TRUE(joined(ref, moved));
  EXPECT_LT(moved->intensity, ref->intensity / 2) << "it turns the layout around, and so moves more than twice as much";
  for (const auto& point : all.points) {
    EXPECT_NE(point.source.find("recorded: NVIDIA H200"), std::string::npos) << point.source;
    EXPECT_FALSE(point.bytes != Bytes::least && point.source.find("counted") == std::string::npos) << point.source;
    EXPECT_NE(point.of, Of::earlier) << "a recording has no history of this window";
  }
  EXPECT_TRUE(all.missing.empty());
}

TEST_F(RoofOfARecording, TheWayUpTheLadder) {
  const RoofPoints all = points(document("hopper_tf32", Accuracy::tf32));
  ASSERT_GT(all.trail.size(), 4u);
  EXPECT_EQ(all.points[all.trail.front()].name, "direct");
  EXPECT_EQ(all.points[all.trail.back()].name, "hopper_tf32") << "it ends here";
  std::vector<std::string> names;
  for (size_t i : all.trail) names.push_back(all.points[i].name);
  EXPECT_EQ(std::count(names.begin(), names.end(), "hopper_tf32"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "mma_3xtf32"), 0) << "another accuracy is another family";
  EXPECT_EQ(std::count(names.begin(), names.end(), "S0"), 0) << "and so are the specimens";
  auto at = [&](const char* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  EXPECT_LT(at("direct"), at("tiled"));
  EXPECT_LT(at("tiled"), at("registers"));
  for (size_t i : all.trail) EXPECT_EQ(all.points[i].bytes, Bytes::dram) << "all have them";
  EXPECT_TRUE(points(document("S0")).trail.empty());
}

TEST_F(RoofOfARecording, CeilingsOfWhatIsAllowed) {
  const Roof tf32 = roof(document("hopper_tf32", Accuracy::tf32)), strict = roof(document("registers"));
  ASSERT_TRUE(tf32.known());
  const ProfileCeilings* all = bench_->recorded().ceilings();
  ASSERT_TRUE(all);
  EXPECT_EQ(tf32.peak(), all->f16_gflops) << "f16 numbers with a scale are as accurate";
  EXPECT_NEAR(tf32.peak(), 921427, 1000);
  EXPECT_EQ(strict.peak(), all->f32_gflops) << "strict products are made outside of the tensor cores";
  EXPECT_EQ(strict.flats.size(), 2u) << "which are shown all the same";
  EXPECT_FALSE(strict.by_bytes(19.2));
  EXPECT_TRUE(tf32.by_bytes(19.2));
  EXPECT_GT(tf32.shared_gbs, tf32.l2_gbs);
  EXPECT_GT(tf32.l2_gbs, tf32.memory_gbs);
  EXPECT_EQ(tf32.how("shared_gbs"), "loads of 16 bytes from shared memory");
  const Roof thrice = roof(document("hopper_3xtf32", Accuracy::tf32x3));
  EXPECT_EQ(thrice.peak(), all->f16_gflops / 3) << "one roof for the whole recording";
  EXPECT_TRUE(std::is_sorted(thrice.flats.begin(), thrice.flats.end(),
                             [](const auto& a, const auto& b) { return a.gflops < b.gflops; }));
}

// What may use looser arithmetic than was asked for has no share of this roof.
TEST_F(RoofOfARecording, LooserArithmeticHasNoShare) {
  const Document strict = document("registers"), tf32 = document("hopper_tf32", Accuracy::tf32);
  const RoofPoints of_strict = points(strict), of_tf32 = points(tf32);
  const RoofPoint* loose = find(of_strict, Of::reference, Bytes::least, false, "cudnn-tf32");
  const RoofPoint* allowed = find(of_tf32, Of::reference, Bytes::least, false, "cudnn-tf32");
  const RoofPoint* own = find(of_strict, Of::kernel, Bytes::least, false, "registers");
  ASSERT_TRUE(loose && allowed && own);
  EXPECT_TRUE(loose->looser && !allowed->looser && !own->looser);
  EXPECT_FALSE(reached(roof(strict), *loose));
  EXPECT_GT(reached(roof(tf32), *allowed).value_or(0), 0);
  EXPECT_GT(reached(roof(strict), *own).value_or(0), 0);
}

// A strict library beside a kernel that may use TF32 has a lower roof: its own.
TEST_F(RoofOfARecording, EachIsHeldAgainstItsOwnArithmetic) {
  const Document tf32 = document("hopper_tf32", Accuracy::tf32);
  const RoofPoints of_tf32 = points(tf32);
  const Roof above = roof(tf32);
  const RoofPoint* strict = find(of_tf32, Of::reference, Bytes::least, false, "cudnn");
  const RoofPoint* own = find(of_tf32, Of::kernel, Bytes::least, false, "hopper_tf32");
  ASSERT_TRUE(strict && own);
  EXPECT_EQ(strict->promised, Accuracy::strict);
  EXPECT_EQ(above.peak(Accuracy::strict), above.flats.front().gflops);
  ASSERT_LT(above.peak(Accuracy::strict), above.allowed(strict->intensity)) << "else this tests nothing";
  EXPECT_DOUBLE_EQ(reached(above, *strict).value_or(0), strict->gflops / above.peak(Accuracy::strict));
  // So is its floor; that of a library in TF32 is the report's.
  const Report& r = *bench_->report_of(tf32);
  EXPECT_DOUBLE_EQ(own_floor(*bench_, above, r, "cudnn").value_or(0), r.flops / (above.peak(Accuracy::strict) * 1e6));
  EXPECT_FALSE(own_floor(*bench_, above, r, "cudnn-tf32"));
  EXPECT_DOUBLE_EQ(reached(above, *own).value_or(0), own->gflops / above.allowed(own->intensity));
}

TEST(Roof, PlacesAreInWords) {
  RoofPoint p;
  EXPECT_EQ(place_words(p), "hot, least bytes");
  p.cold = true, p.packs = true;
  EXPECT_EQ(place_words(p), "cold, least bytes, packing included");
}

// What is not there is said.
TEST_F(RoofOfARecording, WhatIsMissingIsSaid) {
  Recording poor = read_recording(test::project_file("assets/recordings/h200-kernelbench-79.convscope"));
  std::erase_if(poor.answers, [](const RecordedAnswer& a) { return a.type() == "profile"; });
  for (auto& a : poor.answers)
    if (a.type() == "run" && a.asked.kernel == "tiled") a.answer["timing"].erase("cold");
  bench_->open_recording(std::make_shared<Recording>(poor));
  const RoofPoints all = points(document("tiled"));
  ASSERT_TRUE(all.own);
  ASSERT_EQ(all.missing.size(), 2u);
  EXPECT_NE(all.missing[0].find("no cold time"), std::string::npos);
  EXPECT_NE(all.missing[1].find("no bytes of DRAM of tiled: it was not profiled"), std::string::npos) << all.missing[1];
  for (size_t i : all.trail) EXPECT_EQ(all.points[i].bytes, Bytes::least) << "not all have others";
  const Roof sheet = roof(document("tiled"));
  EXPECT_EQ(sheet.source, "datasheet");
  EXPECT_EQ(sheet.shared_gbs, 0) << "which datasheets do not have";
}

TEST(Roof, WithoutAGpuItIsADatasheets) {
  Report r;
  r.device_kind = "emulator", r.device_name = "CPU emulator", r.flops = 1e9, r.least_bytes = 1e7;
  test::Bench b;
  Document d;
  const Roof roof = roof_of(*b, d, r);
  EXPECT_EQ(roof.gpu, "H200");
  EXPECT_EQ(roof.source, "datasheet of another machine: this one has no GPU");
  EXPECT_TRUE(roof_points(*b, d, r).points.empty()) << "emulated time is no point";
  r.device_kind = "cuda", r.device_name = "NVIDIA Nobody Knows";
  EXPECT_EQ(roof_of(*b, d, r).source,
            "datasheet of another GPU: there is none here of NVIDIA Nobody Knows, whose own ceilings a profile (F6) "
            "measures");
  d.problem.dtype = DType::f64;
  EXPECT_EQ(roof_of(*b, d, r).peak(), find_datasheet("H200")->f64_gflops);
  d.problem.dtype = DType::f16;
  EXPECT_EQ(roof_of(*b, d, r).peak(), find_datasheet("H200")->f16_gflops);
}

}  // namespace
}  // namespace convscope
