// Samples of a recording beside the code of this build: drawn at its instructions only where nothing speaks against it.
#include "app/model/sampled_code.h"

#include <gtest/gtest.h>

#include "tests/support.h"

namespace convscope {
namespace {

using Is = SampledCode::Is;
using test::holds;

CodeFunction code(int lines_later = 0) {
  CodeFunction c;
  c.name = "tiled_f32", c.registers = 40, c.code_bytes = 320;
  for (int i = 0; i < 20; i++)
    c.sass.push_back({16 * i, "NOP", "", "kernels/ladder/tiled.cu", 30 + i / 2 + lines_later});
  return c;
}

Profile profile(const std::string& hash = "") {
  Profile p;
  p.kernel = "tiled", p.architecture = "sm_90", p.recorded = "NVIDIA H200, 2026-11-22";
  ProfileLaunch l;
  l.entry = "tiled_f32", l.registers = 40;
  p.launches.push_back(l);
  p.samples.samples = 100;
  p.samples.functions.push_back({"tiled_f32", 100, hash.empty() ? 0 : 320, hash});
  for (const auto& i : code().sass) p.samples.instructions.push_back({i.file, i.line, "tiled_f32", i.offset, 5, {}});
  return p;
}

SampledCode held(const Profile& p, const CodeFunction& c) { return sampled_code(p, &c, "sm_90"); }

TEST(SampledCode, TheSameByItsHash) {
  CodeFunction c = code();
  c.code_hash = "0123456789abcdef";
  SampledCode s = held(profile("0123456789abcdef"), c);
  EXPECT_EQ(s.code, Is::same);
  EXPECT_FALSE(s.lines_moved);
  EXPECT_EQ(s.words, "");
  EXPECT_EQ(s.code_words, "");
  // A comment that was added moves lines and leaves the code.
  CodeFunction moved = code(3);
  moved.code_hash = c.code_hash;
  s = held(profile("0123456789abcdef"), moved);
  EXPECT_EQ(s.code, Is::same);
  EXPECT_TRUE(s.lines_moved);
  EXPECT_TRUE(holds(s.words, "lines have moved since")) << s.words;
  EXPECT_EQ(s.code_words, "") << "instructions are where they were";
  // Another hash, though all else agrees.
  s = held(profile("fedcba9876543210"), c);
  EXPECT_EQ(s.code, Is::other);
  EXPECT_TRUE(holds(s.code_words, "not drawn here")) << s.code_words;
  EXPECT_TRUE(holds(s.words, "NVIDIA H200, 2026-11-22")) << s.words;
}

TEST(SampledCode, WithoutAHashByWhatWasRecorded) {
  SampledCode s = held(profile(), code());
  EXPECT_EQ(s.code, Is::alike);
  EXPECT_EQ(s.words, "");
  EXPECT_TRUE(holds(s.evidence, "all 20 sampled instructions")) << s.evidence;
  auto other = [&](auto change, const char* why) {
    Profile p = profile();
    CodeFunction c = code();
    change(p, c);
    SampledCode now = held(p, c);
    EXPECT_EQ(now.code, Is::other) << why;
    EXPECT_TRUE(holds(now.evidence, why)) << now.evidence;
    EXPECT_TRUE(holds(now.words, "lines may have moved")) << now.words;
  };
  other([](Profile&, CodeFunction& c) { c.registers = 48; }, "40 registers then, and has 48");
  other([](Profile&, CodeFunction& c) { c.code_bytes = 160; }, "which has 160");
  other(
      [](Profile&, CodeFunction& c) {
        for (size_t i = 0; i < 5; i++) c.sass[3 * i].line += 40;
      },
      "5 of 20 sampled instructions");
  other([](Profile& p, CodeFunction&) { p.architecture = "sm_80"; }, "taken on sm_80");
}

// Lines that were put in above move all others: the code is as it was.
TEST(SampledCode, LinesThatMovedTogether) {
  SampledCode s = held(profile(), code(7));
  EXPECT_EQ(s.code, Is::alike);
  EXPECT_TRUE(s.lines_moved);
  EXPECT_TRUE(holds(s.words, "lines have moved since")) << s.words;
  EXPECT_EQ(s.code_words, "");
  // One instruction is no proof, and no agreement either.
  CodeFunction c = code();
  c.sass[7].line = 99;
  s = held(profile(), c);
  EXPECT_EQ(s.code, Is::unknown);
  EXPECT_TRUE(holds(s.evidence, "1 of 20 sampled instructions")) << s.evidence;
  EXPECT_TRUE(holds(s.words, "lines may have moved")) << s.words;
}

TEST(SampledCode, WithNothingToTellItBy) {
  CodeFunction c = code();
  for (auto& l : c.sass) l.line = 0;  // no line table
  SampledCode s = held(profile(), c);
  EXPECT_EQ(s.code, Is::unknown);
  EXPECT_EQ(s.words, "samples are of the recorded build (NVIDIA H200, 2026-11-22); lines may have moved");
  EXPECT_EQ(sampled_code(profile(), nullptr).words, s.words) << "no machine code has come";
  // What was sampled now is of this program.
  Profile live = profile();
  live.recorded = "";
  EXPECT_EQ(sampled_code(live, nullptr).words, "");
}

TEST(SampledCode, OfAllFunctionsTheWorst) {
  MachineCode m{"tiled", "sm_90", "", {code()}};
  EXPECT_EQ(sampled_code(profile(), &m).code, Is::alike);
  Profile p = profile();
  p.samples.functions.push_back({"tiled_pack", 3, 0, ""});
  SampledCode s = sampled_code(p, &m);
  EXPECT_EQ(s.code, Is::unknown);
  EXPECT_TRUE(holds(s.evidence, "no function tiled_pack")) << s.evidence;
  m.kernel = "direct";
  EXPECT_EQ(sampled_code(profile(), &m).code, Is::unknown) << "of another kernel";
}

}  // namespace
}  // namespace convscope
