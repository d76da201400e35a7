// Packing of weights apart from calls: `run`, `profile` and `bench`, their documents and their tables.
#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

#include "tests/app/cli/cli.h"
#include "tests/support.h"

namespace convscope::test {
namespace {
using nlohmann::json;

const Words packing_problem = {"--preset", "kernelbench-79-small"};

// Launches of 50 µs, and 20 for those that pack.
Words packing_gpu(const Words& more = {}) {
  return fake_gpu(Words{"FAKE_CUDA_PACK_US=20", "FAKE_CUPTI_KERNELS=registers_pack_f32,registers_f32_16"} + more);
}

bool has_part(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const json& entry_of(const json& bench, const std::string& name) {
  for (const auto& e : bench.at("entries"))
    if (e.at("name") == name) return e;
  static const json none;
  ADD_FAILURE() << "no entry " << name;
  return none;
}

// packed, packing_ms and their source, or null with a reason.
void expect_packed(const json& t, double packed_ms, double packing_ms) {
  EXPECT_EQ(t["packs_weights"], true);
  ASSERT_TRUE(t["packed"].is_object()) << t;
  for (const char* field : {"median_ms", "min_ms"}) EXPECT_NEAR(t["packed"][field].get<double>(), packed_ms, 1e-4);
  for (const char* field : {"noise_pct", "samples"}) EXPECT_TRUE(t["packed"][field].is_number()) << field;
  EXPECT_EQ(t["packed"]["samples_ms"].size(), t["packed"]["samples"].get<size_t>());
  EXPECT_NEAR(t["packed"]["cold"]["median_ms"].get<double>(), packed_ms, 1e-4);
  EXPECT_NEAR(t["packing_ms"].get<double>(), packing_ms, 1e-4);
  EXPECT_EQ(t["packing_source"], "measured, the launches that pack alone");
  EXPECT_FALSE(t.contains("packed_reason"));
}
void expect_none(const json& t, const json& packs, const std::string& reason) {
  EXPECT_EQ(t["packs_weights"], packs);
  for (const char* field : {"packed", "packing_ms", "packing_source"}) {
    ASSERT_TRUE(t.contains(field)) << field;
    EXPECT_EQ(t[field], nullptr) << field;
  }
  EXPECT_TRUE(has_part(t["packed_reason"], reason)) << t["packed_reason"];
}

// What no floor by bytes knows of: of a kernel that takes microseconds, a launch of nothing stands beside its time.
TEST(LaunchOfNothing, StandsBesideShortTimes) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words run = Words{"run", "direct"} + packing_problem;
  const Words quick = fake_gpu({"FAKE_CUDA_KERNEL_US=5", "FAKE_CUDA_NOTHING_US=2"});
  json t = convscope_run(run + Words{"--json"}, quick).document()["timing"];
  EXPECT_NEAR(t["median_ms"].get<double>(), 0.005, 1e-5);
  ASSERT_TRUE(t.contains("launch")) << t;
  EXPECT_NEAR(t["launch"]["median_ms"].get<double>(), 0.002, 1e-5);
  EXPECT_TRUE(t["launch"]["noise_pct"].is_number());
  auto text = convscope_run(run, quick).out;
  EXPECT_TRUE(has_part(text, "; a launch of nothing 2.00 µs at least (measured, noise ")) << text;
  EXPECT_TRUE(has_part(text, "; a launch of nothing takes 2.00 µs at least")) << "in the layer speed: " << text;
  // Of a long one it is no part that anybody would look for; of an emulated time it says nothing.
  for (const auto& env : {fake_gpu(), Words{}})
    EXPECT_FALSE(convscope_run(run + Words{"--json"}, env).document()["timing"].contains("launch"));
}

TEST(PackingCli, ARunAndAProfileHaveBothTimes) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words run = Words{"run", "registers"} + packing_problem,
              profile = Words{"profile", "registers"} + packing_problem;
  json j = convscope_run(run + Words{"--json"}, packing_gpu()).document();
  EXPECT_NEAR(j["timing"]["median_ms"].get<double>(), 0.070, 1e-4) << "the whole plan, as ever";
  expect_packed(j["timing"], 0.050, 0.020);
  for (const auto& layer : j["verdict"]["layers"])
    if (layer["name"] == "speed") {
      EXPECT_TRUE(has_part(layer["evidence"], " of the driver's clock and ")) << "at which rate: " << layer;
    }
  auto table = convscope_run(run, packing_gpu());
  EXPECT_TRUE(has_part(table.out, "packed      50.0 µs with weights packed before, as inference has them"))
      << table.out;
  EXPECT_TRUE(has_part(table.out, "packing 20.0 µs (measured, the launches that pack alone)")) << table.out;
  j = convscope_run(profile + Words{"--json"}, packing_gpu()).document();
  EXPECT_NEAR(j["timing"]["hot"]["median_ms"].get<double>(), 0.070, 1e-4);
  expect_packed(j["timing"], 0.050, 0.020);
  EXPECT_TRUE(has_part(convscope_run(profile, packing_gpu()).out, "packed      50.0 µs with weights packed before"));
  std::string csv = convscope_run(profile + Words{"--format", "csv"}, packing_gpu()).out;
  for (const char* row :
       {"\ntiming,packed_median_ms,0.05", "\ntiming,packed_cold_median_ms,0.05", "\ntiming,packing_ms,0.02"})
    EXPECT_TRUE(has_part(csv, row)) << row << "\n" << csv;
  // A kernel that packs nothing says so, and its table nothing at all.
  j = convscope_run(Words{"run", "direct", "--json"} + packing_problem, packing_gpu()).document();
  expect_none(j["timing"], false, "packs no weights");
  EXPECT_FALSE(has_part(convscope_run(Words{"run", "direct"} + packing_problem, packing_gpu()).out, "packed"));
}

TEST(PackingCli, WorkHiddenInPackingHasNoTime) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words gpu = packing_gpu({"FAKE_CUDA_WORK=hoarded"});
  for (const char* verb : {"run", "profile"}) {
    json j = convscope_run(Words{verb, "registers", "--json"} + packing_problem, gpu).document();
    expect_none(j["timing"], true, "do more than pack");
  }
  json j = convscope_run(
               Words{"bench", "registers", "--against", "direct", "--samples", "12", "--json"} + packing_problem, gpu)
               .document();
  const json& e = entry_of(j, "registers");
  expect_none(e, true, "do more than pack");
  EXPECT_EQ(e["against"]["of"], "whole");
  EXPECT_EQ(e["against"]["hot"]["verdict"], "SLOWER");
  EXPECT_EQ(j["verdicts_of"], "whole");
}

TEST(PackingCli, OnTheEmulatorThereIsAReason) {
  json j = convscope_run(Words{"run", "registers", "--json"} + packing_problem).document();
  expect_none(j["timing"], true, "on the emulator whole plans are timed");
  j = convscope_run(Words{"profile", "registers", "--samples", "2", "--json"} + packing_problem).document();
  expect_none(j["timing"], true, "on the emulator whole plans are timed");
  j = convscope_run(Words{"bench", "registers", "tiled", "--samples", "2", "--json"} + packing_problem).document();
  expect_none(entry_of(j, "registers"), true, "on the emulator whole plans are timed");
  expect_none(entry_of(j, "tiled"), false, "packs no weights");
  EXPECT_EQ(j["verdicts_of"], "whole");
  // What did not run has no time at all.
  j = convscope_run(Words{"run", "hopper_tf32", "--dtype", "f16", "--length", "64", "--json"}).document();
  expect_none(j["timing"], nullptr, "the kernel did not run");
}

TEST(PackingCli, ABenchIsAboutPackedWeights) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words bench = Words{"bench", "registers", "--against", "direct", "--samples", "12"} + packing_problem;
  json j = convscope_run(bench + Words{"--json"}, packing_gpu()).document();
  EXPECT_EQ(j["verdicts_of"], "packed");
  const json& e = entry_of(j, "registers");
  expect_packed(e, 0.050, 0.020);
  EXPECT_NEAR(e["hot"]["median_ms"].get<double>(), 0.070, 1e-4);
  EXPECT_NEAR(e["packed"]["times_floor"].get<double>() * 7, e["times_floor"].get<double>() * 5, 0.1);
  EXPECT_EQ(e["against"]["of"], "packed");
  for (const char* cache : {"hot", "cold"}) {
    EXPECT_EQ(e["against"][cache]["verdict"], "SAME") << e["against"];
    EXPECT_EQ(e["against_whole"][cache]["verdict"], "SLOWER") << e["against_whole"];
  }
  expect_none(entry_of(j, "direct"), false, "packs no weights");

  auto table = convscope_run(bench, packing_gpu());
  for (const char* said :
       {"packed    packing      whole", "50.0 µs    20.0 µs    70.0 µs   0.0 %    50.0 µs", "SAME",
        "packing included: SLOWER", "verdicts, noise, cold and × floor are about calls with weights packed before"})
    EXPECT_TRUE(has_part(table.out, said)) << said << "\n" << table.out;

  // Whole plans against each other.
  const Words whole = bench + Words{"--with-packing"};
  j = convscope_run(whole + Words{"--json"}, packing_gpu()).document();
  EXPECT_EQ(j["verdicts_of"], "whole");
  EXPECT_EQ(entry_of(j, "registers")["against"]["of"], "whole");
  EXPECT_EQ(entry_of(j, "registers")["against"]["hot"]["verdict"], "SLOWER");
  expect_packed(entry_of(j, "registers"), 0.050, 0.020);
  table = convscope_run(whole, packing_gpu());
  for (const char* said :
       {"50.0 µs    20.0 µs    70.0 µs   0.0 %    70.0 µs", "are about whole plans, packing included"})
    EXPECT_TRUE(has_part(table.out, said)) << said << "\n" << table.out;
  EXPECT_FALSE(has_part(table.out, "SAME")) << table.out;
  // Where nothing packs, the table is as it was.
  table = convscope_run(Words{"bench", "polyphase", "--against", "direct", "--samples", "12"} + packing_problem,
                        packing_gpu());
  EXPECT_FALSE(has_part(table.out, "pack")) << table.out;
}

TEST(PackingCli, CommaSeparatedValuesHaveBoth) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  auto csv = convscope_run(
      Words{"bench", "registers", "--against", "direct", "--samples", "12", "--format", "csv"} + packing_problem,
      packing_gpu());
  std::istringstream lines(csv.out);
  auto fields_of = [](const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (char c : line)
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        fields.emplace_back();
      else
        fields.back() += c;
    return fields;
  };
  std::string line;
  std::getline(lines, line);
  const auto names = fields_of(line);
  EXPECT_TRUE(
      line.starts_with("name,kind,cache,median_ms,low_ms,high_ms,min_ms,noise_pct,samples,source,against,"
                       "verdict,speedup,p,reason,"))
      << "what was there before is where it was: " << line;
  int seen = 0;
  while (std::getline(lines, line)) {
    const auto fields = fields_of(line);
    ASSERT_EQ(fields.size(), names.size()) << line;
    auto field = [&](const char* name) {
      return fields[static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
    };
    if (field("name") != "registers") {
      EXPECT_EQ(field("packed_median_ms"), "");
      EXPECT_TRUE(has_part(field("packed_reason"), "packs no weights"));
      continue;
    }
    seen++;
    EXPECT_NEAR(std::stod(field("median_ms")), 0.070, 1e-4);
    EXPECT_NEAR(std::stod(field("packed_median_ms")), 0.050, 1e-4);
    EXPECT_EQ(field("packed_samples"), "12");
    EXPECT_EQ(field("packing_ms").empty(), field("cache") == "cold");
    EXPECT_EQ(field("verdict_of"), "packed");
    EXPECT_EQ(field("verdict"), "SAME");
    EXPECT_EQ(field("whole_verdict"), "SLOWER");
  }
  EXPECT_EQ(seen, 2);
}

TEST(PackingCli, ARecordingKeepsBoth) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  ScratchFolder folder;
  const std::string file = folder.path("r.convscope");
  auto made = convscope_run(
      Words{"record", file, "registers", "direct", "--set", "live", "--samples", "12", "--device", "cuda"} +
          packing_problem,
      packing_gpu());
  ASSERT_EQ(made.code, 0) << made.err;
  json j = convscope_run({"bench", "--recording", file, "--json"}).document();
  EXPECT_EQ(j["verdicts_of"], "packed");
  const std::string source = entry_of(j, "registers")["packing_source"];
  EXPECT_TRUE(source.starts_with("recorded: NVIDIA H200") && has_part(source, "the launches that pack alone"))
      << source;
  j = convscope_run({"bench", "--recording", file, "--with-packing", "--json"}).document();
  EXPECT_EQ(j["verdicts_of"], "whole");
  for (const auto& e : j["entries"]) EXPECT_EQ(e["against"]["of"], "whole") << e["name"];
  EXPECT_TRUE(has_part(convscope_run({"bench", "--recording", file, "--with-packing"}).out, "about whole plans"));
}

// Those that came before packing was timed apart open and say so.
TEST(PackingCli, OldRecordingsSayThatItWasNotRecorded) {
  const Words recording = {"--recording", project_file("tests/data/recordings/before-packing.convscope")};
  const char* said = "packed      not recorded: this recording is older than times with weights packed before";
  for (const char* verb : {"run", "profile"}) {
    auto r = convscope_run(Words{verb, "registers"} + recording);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(has_part(r.out, said)) << r.out;
    EXPECT_FALSE(has_part(convscope_run(Words{verb, "tiled"} + recording).out, "packed")) << "one launch packs nothing";
  }
  EXPECT_FALSE(has_part(convscope_run(Words{"profile", "cudnn-tf32"} + recording).out, said))
      << "a library is timed whole";
  auto bench = convscope_run(Words{"bench"} + recording);
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_TRUE(has_part(bench.out, "verdicts are about whole plans, packing included: this recording is older"))
      << bench.out;
  EXPECT_EQ(convscope_run(Words{"bench", "--with-packing"} + recording).out, bench.out);
  auto csv = convscope_run(Words{"bench", "--format", "csv"} + recording);
  EXPECT_TRUE(has_part(csv.out, "not recorded: this recording is older than times with weights packed before"))
      << csv.out;
}

}  // namespace
}  // namespace convscope::test
