// One floor for a problem, whichever panel holds times against it; and colours that ask the engine for nothing.
#include "app/model/floor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <memory>

#include "app/engine/recording.h"
#include "app/model/compared_figures.h"
#include "app/model/ladder.h"
#include "kernels/problem/presets.h"
#include "profiling/roofline/roofline.h"
#include "tests/app/model/benches.h"
#include "tests/support.h"

namespace convscope {
namespace {

std::shared_ptr<Recording> shipped(const std::string& name) {
  return std::make_shared<Recording>(read_recording(test::project_file("assets/recordings/" + name + ".convscope")));
}

Document on(const std::string& preset, const std::string& kernel, Accuracy accuracy = Accuracy::strict) {
  Document d;
  d.problem = find_preset(preset).problem, d.kernel = kernel, d.accuracy = accuracy;
  return d;
}

TEST(FloorOfAProblem, IsTheSameForEveryPanel) {
  test::Bench bench;
  ASSERT_TRUE(bench.settle()) << "the kernels' list";
  bench->open_recording(shipped("h200-kernelbench-79"));
  int seen = 0, runs_had_others = 0;
  for (const auto& [kernel, accuracy] : {std::pair("direct", Accuracy::strict),
                                         {"polyphase", Accuracy::strict},
                                         {"tiled", Accuracy::strict},
                                         {"registers", Accuracy::strict},
                                         {"hopper_tf32", Accuracy::tf32},
                                         {"hopper_3xtf32", Accuracy::tf32x3}}) {
    const Document d = on("kernelbench-79", kernel, accuracy);
    const Report* r = bench->report_of(d);
    ASSERT_TRUE(r && !r->recorded.empty()) << kernel;
    const Ladder l = ladder_of(*bench, d);
    const auto floor = floor_of(*bench, d, *r);
    ASSERT_TRUE(floor && l.floor_ms) << kernel;
    EXPECT_EQ(floor->ms, *l.floor_ms) << kernel;
    EXPECT_EQ(floor->words, l.floor_words) << kernel;
    const auto roof = floor_under(roof_of(*bench, d, *r), d.problem);  // of the panel Roofline
    ASSERT_TRUE(roof) << kernel;
    EXPECT_EQ(roof->ms, floor->ms) << kernel;
    seen++;
    // What each run said of its own: the data sheet's before ceilings were measured.
    runs_had_others += r->timing.floor_ms && std::fabs(*r->timing.floor_ms / floor->ms - 1) > 0.01;
  }
  EXPECT_EQ(seen, 6);
  EXPECT_GT(runs_had_others, 0) << "else this tests nothing";
}

TEST(FloorOfAProblem, TwoKernelsStandOverOne) {
  test::Bench bench;
  ASSERT_TRUE(bench.settle()) << "the kernels' list";
  bench->open_recording(shipped("h200-kernelbench-79"));
  const Document d = on("kernelbench-79", "hopper_tf32", Accuracy::tf32);
  const KernelComparison* c = bench->comparison_of(d, "tiled");
  ASSERT_TRUE(c);
  auto of = [&](const std::optional<HeldFloor>& held, const std::string& title) {
    for (auto& f : compared_figures(*c, nullptr, nullptr, held))
      if (f.title.starts_with(title)) return f;
    return ComparedFigure{};
  };
  const Ladder l = ladder_of(*bench, d);
  const HeldFloor held{*l.floor_ms, l.floor_words, false, false};
  EXPECT_EQ(of(held, "Floor").a, l.floor_ms);
  EXPECT_EQ(of(held, "Floor").b, l.floor_ms);
  EXPECT_TRUE(test::holds(of(held, "Floor").source_b, l.floor_words));
  EXPECT_NEAR(of(held, "× floor").b.value_or(0), c->second.hot.median_ms.value_or(0) / *l.floor_ms, 1e-9);
  EXPECT_NE(of({}, "Floor").b, l.floor_ms) << "that of its own arithmetic: else this tests nothing";
  const HeldFloor loose{*l.floor_ms, l.floor_words, true, false};
  EXPECT_FALSE(of(loose, "× floor").a) << "its arithmetic is not allowed: the floor is not its own";
  EXPECT_TRUE(test::holds(of(loose, "× floor").a_reason, "less accurately"));
  EXPECT_TRUE(of(loose, "× floor").b);
}

// What is predicted for a GPU stands over the ceilings that were measured on one, while a recording has them.
TEST(FloorOfAProblem, OfASweepFollowsTheRecording) {
  test::Bench bench;
  Document d = on("kernelbench-79-small", "direct");
  ASSERT_TRUE(bench.settle()) << "the kernels' list";
  const SweepSpec spec = sweep_of(d, axis_from("stride=2..3"), {});
  auto floors = [&] {
    bench->sweeps().want_preview(spec);
    std::vector<double> all;
    const Sweeping& s = bench->sweeps().preview();
    if (s.sweep && !s.running)
      for (const auto& p : s.sweep->points()) all.push_back(p.floor_ms.value_or(0));
    return all;
  };
  ASSERT_TRUE(bench.until([&] { return floors().size() == 2; }));
  const auto of_sheet = floors();
  bench->open_recording(shipped("h200-kernelbench-79"));
  const auto measured = floors();
  ASSERT_EQ(measured.size(), 2u);
  for (size_t i = 0; i < 2; i++) {
    EXPECT_GT(measured[i], 1.01 * of_sheet[i]) << "no GPU reaches its data sheet";
    Document at = d;
    at.problem = bench->sweeps().preview().sweep->points()[i].problem;
    EXPECT_EQ(measured[i], floor_under(known_roof(*bench, at, "NVIDIA H200", true), at.problem)->ms);
  }
}

// ---- colours ------------------------------------------------------------------------------------------------------

TileWish whole_of(const Report& r, const Paint& paint) {
  const auto rows = static_cast<double>(r.rows()), columns = static_cast<double>(r.columns());
  return {r.key, Quantity::output, 0, rows, 0, columns, static_cast<int>(columns), static_cast<int>(rows), paint};
}

TEST(ColoursOfTiles, AskTheEngineForNothing) {
  test::Bench bench;
  ASSERT_TRUE(bench.run(test::quick_document()));
  ASSERT_TRUE(bench.until([&] { return bench->runs().picture() != nullptr; }));
  constexpr auto map = Pictures::Map::kernel;
  const Paint first{ColourMap::viridis, -1, 1, false};
  TileWish wish = whole_of(*bench->runs().picture(), first);
  bench->pictures().want_tile(map, wish);
  EXPECT_EQ(bench->link().waiting(), 1);
  ASSERT_TRUE(bench.until([&] { return bench->pictures().tile(map) && bench->link().waiting() == 0; }));
  const std::vector<uint32_t> before = bench->pictures().tile(map)->pixels;
  const uint64_t serial = bench->pictures().tile(map)->serial;
  for (double high = 0.9; high > 0.2; high -= 0.1) {  // an end of the bar is dragged
    wish.paint.high = high;
    bench->pictures().want_tile(map, wish);
    ASSERT_EQ(bench->link().waiting(), 0) << "the same cells";
    const MapTile& t = *bench->pictures().tile(map);
    EXPECT_EQ(t.paint, wish.paint);
    EXPECT_EQ(t.pixels, paint_cells(t.cells, t.width, wish.paint));
  }
  EXPECT_NE(bench->pictures().tile(map)->pixels, before);
  EXPECT_GT(bench->pictures().tile(map)->serial, serial) << "a texture is made of it";
  wish.column1 /= 2;
  bench->pictures().want_tile(map, wish);
  EXPECT_EQ(bench->link().waiting(), 1) << "another window is another request";
  ASSERT_TRUE(bench.until([&] { return bench->link().waiting() == 0; }));
}

TEST(ColoursOfTiles, ThatAreStillToComeComeInTheNewest) {
  test::Bench bench;
  ASSERT_TRUE(bench.run(test::quick_document()));
  ASSERT_TRUE(bench.until([&] { return bench->runs().picture() != nullptr; }));
  constexpr auto map = Pictures::Map::kernel;
  TileWish wish = whole_of(*bench->runs().picture(), {ColourMap::viridis, -1, 1, false});
  bench->pictures().want_tile(map, wish);
  wish.paint.high = 0.25;
  bench->pictures().want_tile(map, wish);
  EXPECT_EQ(bench->link().waiting(), 1) << "asked once";
  ASSERT_TRUE(bench.until([&] { return bench->pictures().tile(map) && bench->link().waiting() == 0; }));
  EXPECT_EQ(bench->pictures().tile(map)->paint, wish.paint);
}

}  // namespace
}  // namespace convscope
