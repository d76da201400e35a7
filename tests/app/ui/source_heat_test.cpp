// Shares of source lines: they are of the whole, elsewhere included, and each measure has its own.
#include "app/ui/panels/source_heat.h"

#include <gtest/gtest.h>
#include <string>

#include "app/ui/panels/source_place.h"

namespace convscope::ui {
namespace {

HeatMeasure measure(std::string_view name, const Profile* p = nullptr) {
  for (const auto& m : heat_measures(p))
    if (m.name == name) return m;
  throw std::out_of_range("no such measure");
}

Profile counted() {
  Profile p;
  p.lines_source = "emulated, by tracing every access";
  p.lines = {{"kernels/ladder/tiled.cu",
              10,
              {{"load_requests", 8}, {"load_sectors", 32}, {"load_bytes", 1024}, {"accesses", 256}}},
             {"./kernels/ladder/tiled.cu",
              12,
              {{"store_requests", 2}, {"store_sectors", 64}, {"store_bytes", 256}, {"accesses", 64}}},
             {"kernels/ladder/tiled.cu", 20, {{"shared_wavefronts", 40}, {"shared_conflicts", 10}, {"accesses", 960}}},
             {"kernels/ladder/other.h", 12, {{"load_requests", 1}, {"load_sectors", 4}, {"accesses", 32}}},
             {"", 0, {{"load_requests", 7}, {"load_sectors", 28}, {"accesses", 224}}}};
  return p;
}

TEST(SourceHeat, SharesAreOfEverything) {
  Profile p = counted();
  Heat h = heat_of(p, "/somewhere/else/tiled.cu", measure("sectors"));
  ASSERT_EQ(h.lines.size(), 3u);
  EXPECT_DOUBLE_EQ(h.lines.at(9).share, 0.25);
  EXPECT_DOUBLE_EQ(h.lines.at(11).share, 0.5);
  EXPECT_DOUBLE_EQ(h.elsewhere, 0.25);
  EXPECT_EQ(h.hottest, 11);
  EXPECT_EQ(heat_of(p, "tiled.cu", measure("requests")).hottest, 9);
  EXPECT_EQ(heat_of(p, "tiled.cu", measure("shared")).hottest, 19);
  EXPECT_DOUBLE_EQ(heat_of(p, "tiled.cu", measure("accesses")).lines.at(19).share, 0.625);
}

TEST(SourceHeat, TheHottestLineOfAllFiles) {
  Profile p = counted();
  const std::vector<std::string> files{"tiled.cu", "other.h", "phases.h"};
  HeatOfFiles all = heat_of_files(p, measure("sectors"), files);
  double sum = 0;
  for (const auto& [file, share] : all.shares) sum += share;
  EXPECT_DOUBLE_EQ(sum, 100.0 / 128) << "all but where the line is not known";
  EXPECT_EQ(all.hottest_file, "tiled.cu");
  EXPECT_EQ(all.hottest, heat_of(p, "tiled.cu", measure("sectors")).hottest);
  // A header of which one line asks for more than all others.
  p.lines.push_back(p.lines[0]);
  p.lines.back().file = "kernels/ladder/phases.h", p.lines.back().line = 7;
  for (auto& [name, v] : p.lines.back().values) v *= 1000;
  EXPECT_EQ(heat_of_files(p, measure("sectors"), {"tiled.cu"}).hottest_file, "tiled.cu") << "of these alone";
  all = heat_of_files(p, measure("sectors"), files);
  EXPECT_EQ(all.hottest_file, "phases.h");
  EXPECT_EQ(all.hottest, 6);
  EXPECT_GT(all.shares.at("phases.h"), 0.9);
  EXPECT_EQ(heat_of_files(Profile{}, measure("sectors"), files).hottest, -1);
}

TEST(SourceHeat, SaysWhatTheLineDoes) {
  Heat h = heat_of(counted(), "tiled.cu", measure("sectors"));
  EXPECT_NE(h.lines.at(9).about.find("8 loads of a warp, 4 sectors each; threads ask for 100 % of the bytes"),
            std::string::npos)
      << h.lines.at(9).about;
  EXPECT_NE(h.lines.at(11).about.find("2 stores of a warp, 32 sectors each; threads ask for 12 % of the bytes"),
            std::string::npos)
      << h.lines.at(11).about;
  EXPECT_NE(h.lines.at(19).about.find("25 % of them because threads met in a bank"), std::string::npos);
  for (const auto& [line, l] : h.lines) EXPECT_NE(l.about.find("source: emulated"), std::string::npos);
  EXPECT_EQ(h.csv().find("line,"), 0u);
  EXPECT_NE(h.csv().find("\n12,0,0,0,2,64,256,0,0,64,0,0,0,0,0,0\n"), std::string::npos) << h.csv();
}

// What threads share is used once, and who stands aside is seen; recordings of before know neither.
TEST(SourceHeat, SaysWhatIsUsedAndWhoTakesPart) {
  Profile p = counted();
  EXPECT_NE(heat_of(p, "tiled.cu", measure("sectors")).lines.at(9).about.find("threads ask for 100 % of the bytes"),
            std::string::npos);
  p.lines[0].values["load_used_bytes"] = 256, p.lines[0].values["load_lanes"] = 128;
  p.lines[2].values["shared_requests"] = 30, p.lines[2].values["shared_lanes"] = 960;
  Heat h = heat_of(p, "tiled.cu", measure("sectors"));
  EXPECT_NE(
      h.lines.at(9).about.find("8 loads of a warp, 4 sectors each; 25 % of the bytes they touch are used; 16 of 32 "
                               "threads take part"),
      std::string::npos)
      << h.lines.at(9).about;
  EXPECT_NE(h.lines.at(19).about.find("met in a bank; 32 of 32 threads take part"), std::string::npos)
      << h.lines.at(19).about;
  EXPECT_NE(h.csv().find("accesses,load_used_bytes,load_lanes,"), std::string::npos);
}

Profile sampled() {
  Profile p;
  p.samples.source = "sampled by hardware";
  p.samples.samples = 100;
  p.samples.reasons = {
      {"wait", "waiting for a latency", true, 60}, {"selected", "issuing", false, 40}, {"barrier", "b", true, 0}};
  p.samples.lines = {{"kernels/ladder/tiled.cu", 10, "", 0, 70, {{"wait", 60}, {"selected", 10}}},
                     {"kernels/ladder/tiled.cu", 12, "", 0, 20, {{"selected", 20}}},
                     {"", 0, "", 0, 10, {{"selected", 10}}}};
  return p;
}

TEST(SourceHeat, SamplesByReason) {
  Profile p = sampled();
  Heat all = heat_of(p, "tiled.cu", measure("samples", &p));
  EXPECT_EQ(all.hottest, 9);
  EXPECT_DOUBLE_EQ(all.lines.at(9).share, 0.7);
  EXPECT_DOUBLE_EQ(all.elsewhere, 0.1);
  EXPECT_NE(all.lines.at(9).about.find("86 %  waiting for a latency"), std::string::npos) << all.lines.at(9).about;
  EXPECT_NE(all.lines.at(9).about.find("source: sampled by hardware"), std::string::npos);
  EXPECT_EQ(all.csv(), "line,samples,wait,selected,barrier\n10,70,60,10,0\n12,20,0,20,0\n");
  Heat issuing = heat_of(p, "tiled.cu", measure("stall selected", &p));
  EXPECT_EQ(issuing.hottest, 11);
  EXPECT_DOUBLE_EQ(issuing.lines.at(11).share, 0.5);
  EXPECT_THROW(measure("stall barrier", &p), std::out_of_range) << "a reason that nobody had is no choice";
  EXPECT_THROW(measure("sectors", &p), std::out_of_range) << "nor what was not counted";
  p.lines = counted().lines;
  EXPECT_NO_THROW(measure("sectors", &p));
}

// Nothing counted, or nothing of what is asked for: no lines, not lines of 0 %.
TEST(SourceHeat, NothingIsNothing) {
  EXPECT_TRUE(heat_of(Profile{}, "tiled.cu", measure("sectors")).lines.empty());
  Profile p = counted();
  p.lines.erase(p.lines.begin() + 2);
  EXPECT_TRUE(heat_of(p, "tiled.cu", measure("shared")).lines.empty());
  EXPECT_EQ(heat_of(p, "tiled.cu", measure("shared")).hottest, -1);
}

TEST(SourcePlace, AreFoundInSentences) {
  auto found = [](const char* words) {
    std::string all;
    for (const auto& p : places_in(words)) all += p.file + " " + std::to_string(p.line) + ";";
    return all;
  };
  EXPECT_EQ(found("a race in block 0: thread 0 writes at my-up.2.cu:14, and thread 2 reads at tile.h:12 the same; "
                  "thread 3 at my-up.2.cu:14"),
            "my-up.2.cu 14;tile.h 12;");
  EXPECT_EQ(found("crashed: kernel up, block (0, 0, 0): /home/u/a.py:7:"), "a.py 7;");
  for (const char* none : {"", ":", "wrong: 3 of 4", "a.cu", "a.cu:", "a.cu:x", ".cu:3", "a.cpp:3", "i:3"})
    EXPECT_EQ(found(none), "") << none;
}

}  // namespace
}  // namespace convscope::ui
