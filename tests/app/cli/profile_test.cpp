// `profile` and `bench`: their documents, their forms, their exit codes, on the emulator and on a GPU of fakes.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::expect_refused;
using test::fake_gpu;
using test::has_fake_gpu;
using test::json;
using test::Words;

const Words small = {"--preset", "kernelbench-79-small"};

bool text(const json& v) { return v.is_string() && !v.get<std::string>().empty(); }

// A number, or null with a reason beside it.
void expect_number_or_reason(const json& of, const char* field, const char* reason) {
  EXPECT_TRUE(of[field].is_number() || (of[field].is_null() && text(of[reason]))) << field << " " << of;
}

void expect_times(const json& t) {
  for (const char* field : {"median_ms", "min_ms", "noise_pct"}) EXPECT_TRUE(t[field].is_number()) << field;
  EXPECT_TRUE(t["samples"].is_number_integer());
  EXPECT_EQ(t["samples_ms"].size(), t["samples"].get<size_t>());
  ASSERT_EQ(t["interval_ms"].size(), 2u);
  EXPECT_LE(t["interval_ms"][0], t["median_ms"]);
  EXPECT_GE(t["interval_ms"][1], t["median_ms"]);
}

// The stable part of an answer to `profile`: these fields, of these types, and null only with a reason.
void expect_profile(const json& j) {
  EXPECT_EQ(j["convscope"], CONVSCOPE_VERSION);
  EXPECT_TRUE(text(j["kernel"]["name"]));
  EXPECT_TRUE(j["kernel"]["kind"] == "kernel" || j["kernel"]["kind"] == "reference");
  EXPECT_TRUE(j["problem"]["flops"].is_number());
  EXPECT_TRUE(text(j["device"]["name"]));
  EXPECT_TRUE(j["set"] == "live" || j["set"] == "memory" || j["set"] == "full");
  const json& t = j["timing"];
  expect_times(t["hot"]);
  if (t["cold"].is_object())
    expect_times(t["cold"]);
  else
    EXPECT_TRUE(text(t["cold_reason"]));
  EXPECT_TRUE(t["source"] == "measured" || t["source"] == "emulated");
  if (t["packed"].is_object())
    expect_times(t["packed"]);
  else
    EXPECT_TRUE(text(t["packed_reason"])) << t;
  expect_number_or_reason(t, "packing_ms", "packed_reason");
  expect_number_or_reason(t, "host_ms", "host_reason");
  expect_number_or_reason(t, "kernel_ms", "kernel_reason");
  expect_number_or_reason(t, "floor_ms", "floor_reason");
  const json& c = j["conditions"];
  EXPECT_TRUE(c["sm_mhz"].is_object() || text(c["reason"])) << c;
  EXPECT_TRUE(!j["launches"].empty() || text(j["launches_reason"]));
  EXPECT_TRUE(!j["kernels"].empty() || text(j["kernels_reason"]));
  int main_launches = 0;
  for (const auto& l : j["launches"]) main_launches += l["main"].get<bool>();
  EXPECT_EQ(main_launches, j["launches"].empty() ? 0 : 1);
  for (const auto& p : j["roofline"]["points"])
    EXPECT_EQ(p["cache"], p["name"] == "least bytes, cold" ? "cold" : "hot") << p;
  for (const auto& l : j["launches"]) {
    EXPECT_TRUE(text(l["entry"]) && l["registers"].is_number_integer()) << l;
    EXPECT_TRUE(l["occupancy"].is_object() ? text(l["occupancy"]["limit"]) : text(l["occupancy_reason"])) << l;
  }
  const json& counters = j["counters"];
  EXPECT_TRUE(counters["sets"].is_array());
  if (counters["source"].is_null()) {
    EXPECT_TRUE(text(counters["reason"]) && text(counters["gap"]["code"])) << counters;
  }
  for (const auto& set : counters["sets"]) {
    EXPECT_TRUE(text(set["set"]) && set["passes"].is_number_integer()) << set;
    EXPECT_TRUE(!set["values"].empty() || text(set["reason"])) << set;
  }
  ASSERT_EQ(j["headlines"].size(), 12u);
  for (const auto& h : j["headlines"]) {
    for (const char* field : {"name", "title", "unit", "formula", "good", "meaning", "shade"})
      EXPECT_TRUE(text(h[field])) << h;
    expect_number_or_reason(h, "value", "reason");
  }
  EXPECT_TRUE(!j["lines"].empty() ? text(j["lines_source"]) : text(j["lines_reason"])) << j["lines"];
  for (const auto& l : j["lines"]) {
    EXPECT_TRUE(text(l["file"]) && l["line"].is_number_integer()) << l;
    EXPECT_TRUE(text(l["values"]["load_sectors"]["unit"])) << l;
  }
  const json &samples = j["pc_sampling"], &timeline = j["timeline"];
  for (const json* part : {&samples, &timeline}) {
    EXPECT_TRUE(text((*part)["source"]) || (text((*part)["reason"]) && text((*part)["gap"]["code"]))) << *part;
    EXPECT_TRUE((*part)["calls"].is_number_integer() && (*part)["spent_ms"].is_number()) << *part;
  }
  for (const char* list : {"reasons", "lines", "functions"}) EXPECT_TRUE(samples[list].is_array()) << list;
  uint64_t by_line = 0, by_reason = 0;
  for (const auto& l : samples["lines"]) by_line += l["samples"].get<uint64_t>();
  for (const auto& reason : samples["reasons"]) {
    EXPECT_TRUE(text(reason["name"]) && text(reason["words"])) << reason;
    by_reason += reason["samples"].get<uint64_t>();
  }
  EXPECT_EQ(by_line, samples["samples"]);
  EXPECT_EQ(by_reason, samples["samples"]);
  for (const auto& f : samples["functions"])
    for (const auto& i : f["instructions"])
      EXPECT_TRUE(i["offset"].is_number_integer() && i["reasons"].is_object() && i["not_issued"].is_object()) << i;
  EXPECT_EQ(timeline["start_us"].size(), timeline["end_us"].size());
  for (const auto& lane : timeline["lanes"]) {
    EXPECT_EQ(lane["values"].size(), timeline["start_us"].size()) << lane["name"];
    for (const char* field : {"name", "title", "unit", "about"}) EXPECT_TRUE(text(lane[field])) << lane["name"];
    EXPECT_LE(lane["least"], lane["mean"]);
    EXPECT_LE(lane["mean"], lane["most"]);
  }
  EXPECT_TRUE(text(j["roofline"]["ceilings"]["source"]));
  EXPECT_TRUE(!j["roofline"]["points"].empty() || text(j["roofline"]["reason"]));
  EXPECT_TRUE(text(j["bottleneck"]["rule"]) && text(j["bottleneck"]["sentence"]));
  EXPECT_TRUE(j["warnings"].is_array());
  for (const char* own : {"id", "type"}) EXPECT_FALSE(j.contains(own));
}

TEST(ProfileCli, EmulatedTimeIsNamedSo) {
  auto r = convscope_run(Words{"profile", "tiled", "--samples", "3", "--json"} + small);
  EXPECT_EQ(r.code, 0) << r.err;
  json j = r.document();
  expect_profile(j);
  EXPECT_EQ(j["timing"]["source"], "emulated");
  EXPECT_TRUE(text(j["timing"]["reason"]));
  EXPECT_EQ(j["conditions"]["sm_mhz"], nullptr);
  EXPECT_EQ(j["bottleneck"]["rule"], "unknown");
  EXPECT_NE(j["roofline"]["ceilings"]["source"].get<std::string>().find("another machine"), std::string::npos);
  if (!j["lines"].empty()) {
    EXPECT_TRUE(j["lines"][0]["file"].get<std::string>().ends_with("tiled.cu"));
    auto plain = convscope_run(Words{"profile", "tiled", "--samples", "1"} + small);
    EXPECT_NE(plain.out.find("% of shared memory's cycles"), std::string::npos) << plain.out;
  }
  // What would have to be there, and how to get it.
  auto plain = convscope_run(Words{"profile", "tiled", "--samples", "3"} + small);
  EXPECT_EQ(plain.code, 0);
  EXPECT_NE(plain.out.find("says nothing of a GPU"), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("with --device cuda"), std::string::npos) << plain.out;
  EXPECT_EQ(plain.out.find("N/A"), std::string::npos);
}

TEST(ProfileCli, OnAGpu) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  auto r = convscope_run(Words{"profile", "direct", "--set", "full", "--json"} + small,
                         fake_gpu({"FAKE_CUPTI_VALUES=dram__throughput.avg.pct_of_peak_sustained_elapsed:91"}));
  EXPECT_EQ(r.code, 0) << r.err;
  json j = r.document();
  expect_profile(j);
  EXPECT_EQ(j["timing"]["source"], "measured");
  EXPECT_EQ(j["set"], "full");
  EXPECT_EQ(j["counters"]["source"], "counted by hardware");
  EXPECT_EQ(j["counters"]["sets"].size(), 5u);
  EXPECT_EQ(j["kernels"][0]["name"], "direct_f32");
  EXPECT_EQ(j["conditions"]["driver"], "580.1.2");
  EXPECT_EQ(j["launches"][0]["registers"], 40);
  EXPECT_EQ(j["bottleneck"]["rule"], "memory-bound");
  // Lines are the emulator's, and named so beside the hardware's counters.
  if (!j["lines"].empty()) {
    EXPECT_TRUE(j["lines_source"].get<std::string>().starts_with("emulated"));
  }
  auto live = convscope_run(Words{"profile", "direct", "--json"} + small, fake_gpu()).document();
  EXPECT_NE(live["lines_reason"].get<std::string>().find("full set"), std::string::npos) << live["lines_reason"];
  EXPECT_FALSE(j["waiting"].empty());
}

// Each step down: a sentence with what to do, exit code 0, and the rest is there.
TEST(ProfileCli, WhatIsMissingIsSaid) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  struct Step {
    Words set;
    const char* code;
    const char* how;
  };
  const Step steps[] = {
      {{"CONVSCOPE_LIBCUPTI=/nowhere/libcupti.so.13"}, "no-cupti", "CONVSCOPE_LIBCUPTI"},
      {{"FAKE_CUPTI_VERSION=120400"}, "cupti-version", "install CUPTI"},
      {{"FAKE_CUPTI_HOLDER=Nsight Systems"}, "taken", "start convscope without it"},
      {{"FAKE_CUPTI_FAIL=cuptiProfilerGetCounterAvailability:35"},
       "not-permitted",
       "NVreg_RestrictProfilingToAdminUsers"},
      {{"FAKE_CUPTI_FAIL=cuptiProfilerGetCounterAvailability:26"}, "busy", "try again"},
      {{"FAKE_CUPTI_FAIL=cuptiProfilerDeviceSupported:43"}, "mig", "whole GPU"},
      {{"FAKE_CUPTI_UNSUPPORTED=vgpu"}, "vgpu", "passed through"},
      {{"FAKE_CUPTI_UNSUPPORTED=cc"}, "confidential", "GPU that is not"},
      {{"FAKE_CUPTI_FAIL=cuptiProfilerDeviceSupported:31"}, "mps", "outside of MPS"},
      {{"FAKE_CUPTI_FAIL=cuptiProfilerInitialize:15"}, "no-nvperf", "whole of CUPTI"},
      {{"FAKE_CUPTI_LACKS=_"}, "not-on-this-chip", ""},
  };
  for (const auto& s : steps) {
    SCOPED_TRACE(s.code);
    auto r = convscope_run(Words{"profile", "direct", "--samples", "5", "--json"} + small, fake_gpu(s.set));
    EXPECT_EQ(r.code, 0) << r.err;
    json j = r.document();
    expect_profile(j);
    EXPECT_EQ(j["counters"]["gap"]["code"], s.code);
    EXPECT_NE(j["counters"]["reason"].get<std::string>().find(s.how), std::string::npos) << j["counters"];
    EXPECT_EQ(j["timing"]["source"], "measured");
  }
  auto r = convscope_run(Words{"profile", "direct", "--samples", "5", "--json"} + small,
                         fake_gpu({"CONVSCOPE_LIBNVML=/nowhere/libnvidia-ml.so.1"}));
  EXPECT_NE(r.document()["conditions"]["reason"].get<std::string>().find("comes with the NVIDIA driver"),
            std::string::npos);
}

TEST(ProfileCli, InfoSaysWhatProfilesNeed) {
  auto piece = [](const json& j, const std::string& name) {
    for (const auto& p : j["pieces"])
      if (p["name"] == name) return p;
    ADD_FAILURE() << "no piece " << name;
    return json();
  };
  json j = convscope_run({"info", "--json"}, {"CONVSCOPE_LIBCUPTI=/nowhere/libcupti.so.13"}).document();
  for (const char* name : {"CUPTI", "hardware counters", "NVML"}) {
    json p = piece(j, name);
    EXPECT_EQ(p["available"], false) << p;
    EXPECT_TRUE(text(p["detail"]) && text(p["without_it"]) && text(p["how_to_get_it"])) << p;
  }
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  j = convscope_run({"info", "--json"}, fake_gpu()).document();
  for (const char* name : {"CUPTI", "hardware counters", "NVML"}) EXPECT_EQ(piece(j, name)["available"], true) << name;
  j = convscope_run({"info", "--json"}, fake_gpu({"FAKE_CUPTI_FAIL=cuptiProfilerGetCounterAvailability:35"}))
          .document();
  EXPECT_EQ(piece(j, "CUPTI")["available"], true);
  EXPECT_NE(piece(j, "hardware counters")["how_to_get_it"].get<std::string>().find("NVreg_"), std::string::npos);
}

TEST(ProfileCli, NoDriverIsExitCode3) {
  auto r = convscope_run(Words{"profile", "direct", "--device", "cuda", "--json"} + small,
                         {"CONVSCOPE_LIBCUDA=/nowhere/libcuda.so.1"});
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.document()["error"]["code"], "missing");
  EXPECT_EQ(convscope_run(Words{"profile", "cudnn"} + small).code, 3);
  EXPECT_EQ(convscope_run(Words{"bench", "direct", "--against", "cudnn"} + small).code, 3);
}

TEST(ProfileCli, OtherForms) {
  auto csv = convscope_run(Words{"profile", "tiled", "--samples", "3", "--format", "csv"} + small);
  EXPECT_EQ(csv.code, 0);
  std::istringstream lines(csv.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "section,name,value,unit,source");
  int count = 0;
  while (std::getline(lines, line)) count++;
  EXPECT_GE(count, 15);

  test::ScratchFolder folder;
  std::string file = folder.path("profile.csv");
  // With --json stdout is the document, and the file has its own form.
  auto both =
      convscope_run(Words{"profile", "tiled", "--samples", "3", "--format", "csv", "--out", file, "--json"} + small);
  expect_profile(both.document());
  std::ifstream again(file);
  std::getline(again, line);
  EXPECT_EQ(line, "section,name,value,unit,source");
}

// The table says of each set what lacks, and never that one was not counted which was.
TEST(ProfileCli, WhatIsMissingOfEachSetIsSaid) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words full = Words{"profile", "direct", "--set", "full", "--samples", "5"} + small;
  auto table = convscope_run(full, fake_gpu({"FAKE_CUPTI_LACKS=dram__"}));
  for (const char* said : {"this chip has no counter for it (dram_busy)",
                           "live: not on this chip: dram_busy, dram_read_bytes, dram_write_bytes",
                           "memory: not on this chip: dram_read_bytes, dram_write_bytes"})
    EXPECT_NE(table.out.find(said), std::string::npos) << said << "\n" << table.out;
  EXPECT_EQ(table.out.find("it is in the set"), std::string::npos) << table.out;
  // A set of which the chip has nothing, beside others that it has.
  table = convscope_run(full, fake_gpu({"FAKE_CUPTI_LACKS=stalled"}));
  EXPECT_NE(table.out.find("stalls: GH100 has none of the counters of the set stalls"), std::string::npos) << table.out;
  // What stands in the way of all of them is said once.
  table = convscope_run(full, fake_gpu({"FAKE_CUPTI_FAIL=cuptiRangeProfilerEnable:26"}));
  const std::string busy = "counters are in use by another program";
  EXPECT_EQ(table.out.find(busy), table.out.rfind(busy, table.out.find("launch"))) << table.out;
}

// The two steps before a GPU is there: the driver finds none, and the driver is too old for the device code.
TEST(ProfileCli, ADriverThatDoesNotDo) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  struct Step {
    const char *set, *what, *how;
  };
  for (const auto& s :
       {Step{"FAKE_CUDA_FAIL=cuInit:100", "no CUDA-capable device is detected", "CUDA_VISIBLE_DEVICES"},
        Step{"FAKE_CUDA_VERSION=12040", "the NVIDIA driver is too old: it is for CUDA 12.4", "install"}}) {
    SCOPED_TRACE(s.set);
    auto asked = convscope_run(Words{"profile", "direct", "--device", "cuda", "--json"} + small, fake_gpu({s.set}));
    EXPECT_EQ(asked.code, 3);
    const json error = asked.document()["error"];
    EXPECT_EQ(error["code"], "missing");
    for (const char* said : {s.what, s.how})
      EXPECT_NE(error["message"].get<std::string>().find(said), std::string::npos) << error;
    // Without being asked for, it is the emulator, and `info` says why.
    json any =
        convscope_run(Words{"profile", "direct", "--samples", "3", "--json"} + small, fake_gpu({s.set})).document();
    expect_profile(any);
    EXPECT_EQ(any["device"]["kind"], "emulator");
    for (const auto& piece : convscope_run({"info", "--json"}, fake_gpu({s.set})).document()["pieces"])
      if (piece["name"] == "NVIDIA driver and GPU") {
        EXPECT_EQ(piece["available"], false);
        EXPECT_NE(piece["detail"].get<std::string>().find(s.what), std::string::npos) << piece;
        EXPECT_TRUE(text(piece["how_to_get_it"]));
      }
  }
}

// A run looks at the clocks as a profile does.
TEST(ProfileCli, ARunSaysItsClocks) {
  json emulated = convscope_run(Words{"run", "tiled", "--json"} + small).document();
  EXPECT_NE(emulated["conditions"]["reason"].get<std::string>().find("a GPU's, and none is used"), std::string::npos)
      << emulated["conditions"];
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words run = Words{"run", "direct"} + small;
  json c = convscope_run(run + Words{"--json"}, fake_gpu({"FAKE_NVML_THROTTLE=0x4"})).document()["conditions"];
  EXPECT_EQ(c["source"], "measured by NVML");
  EXPECT_EQ(c["sm_mhz"]["median"], 1980);
  EXPECT_EQ(c["mig"], false);
  ASSERT_FALSE(c["over_time"].empty());
  double last = -1;
  for (const auto& r : c["over_time"]) {
    EXPECT_GE(r["t_ms"].get<double>(), last);
    last = r["t_ms"];
    EXPECT_EQ(r["sm_mhz"], 1980);
    EXPECT_EQ(r["memory_mhz"], 3201);
    EXPECT_EQ(r["power_w"], 321.5);
    EXPECT_EQ(r["temperature_c"], 41);
    EXPECT_EQ(r["reasons"], json{"power limit"});
    EXPECT_EQ(r["throttled"], true);
  }
  EXPECT_NE(c["warnings"][0].get<std::string>().find("slowed itself down"), std::string::npos) << c["warnings"];
  auto table = convscope_run(run, fake_gpu({"FAKE_NVML_THROTTLE=0x4", "FAKE_NVML_MIG=1"}));
  for (const char* said : {"clocks      SM 1980 MHz (limit 1980)", "slowed itself down", "split into instances (MIG)"})
    EXPECT_NE(table.out.find(said), std::string::npos) << said << "\n" << table.out;
  json none = convscope_run(run + Words{"--json"}, fake_gpu({"CONVSCOPE_LIBNVML=/nowhere/libnvidia-ml.so.1"}))
                  .document()["conditions"];
  EXPECT_NE(none["reason"].get<std::string>().find("comes with the NVIDIA driver"), std::string::npos) << none;
}

TEST(ProfileCli, SamplesOfAGpu) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words found = {"FAKE_CUDA_KERNEL_US=2000",
                       "FAKE_CUPTI_PC=direct_f32:256:long_scoreboard:60,direct_f32:256:long_scoreboard_not_issued:50,"
                       "direct_f32:272:selected:30,direct_f32:512:wait:10",
                       "FAKE_CUPTI_VALUES=dram__throughput.avg.pct_of_peak_sustained_elapsed:61"};
  const Words full = Words{"profile", "direct", "--set", "full", "--samples", "5"} + small;
  json j = convscope_run(full + Words{"--json"}, fake_gpu(found)).document();
  expect_profile(j);
  const json& s = j["pc_sampling"];
  ASSERT_EQ(s["source"], "sampled by hardware") << s;
  EXPECT_EQ(s["reasons"][0]["name"], "long_scoreboard");
  EXPECT_EQ(s["reasons"][0]["samples"].get<uint64_t>() * 10, s["samples"].get<uint64_t>() * 6);
  EXPECT_EQ(s["lines"][0]["file"], "kernels/ladder/direct.cu") << "by the name of the source that the program carries";
  EXPECT_EQ(s["lines"][0]["line"], 26);
  EXPECT_EQ(s["functions"][0]["instructions"][0]["offset"], 256);
  // By which a recording knows later whether it is of the same build.
  EXPECT_EQ(s["functions"][0]["code_hash"].get<std::string>().size(), 16u) << s["functions"][0];
  EXPECT_GT(s["functions"][0]["code_bytes"], 0);
  EXPECT_EQ(s["period_cycles"], 2048);
  const json& t = j["timeline"];
  ASSERT_EQ(t["source"], "counted by hardware") << t;
  EXPECT_EQ(t["calls"], 20) << "50 µs are repeated";
  EXPECT_EQ(t["interval_us"], 10);
  EXPECT_EQ(t["lanes"].size(), 5u);
  EXPECT_EQ(t["lanes"][0]["mean"], 61);

  auto table = convscope_run(full, fake_gpu(found));
  for (const char* said : {"sampled by hardware", "60 %  direct.cu:26", "long_scoreboard 100 %",
                           "waiting for data from global or local memory", "over time, counted by hardware",
                           "Memory busy                      61"})
    EXPECT_NE(table.out.find(said), std::string::npos) << said << "\n" << table.out;
  auto csv = convscope_run(full + Words{"--format", "csv"}, fake_gpu(found));
  for (const char* said : {"\nstall,long_scoreboard,", "\nline kernels/ladder/direct.cu:26,samples,",
                           "\ntimeline,dram_busy_mean,61.0,%,counted by hardware"})
    EXPECT_NE(csv.out.find(said), std::string::npos) << said;
  // Counters' tracks beside the launches, in a process of their own.
  json trace = json::parse(convscope_run(full + Words{"--format", "chrome-trace"}, fake_gpu(found)).out);
  std::map<std::string, std::pair<int, double>> tracks;
  for (const auto& e : trace["traceEvents"]) {
    if (e["ph"] != "C") continue;
    EXPECT_EQ(e["pid"], 2);
    EXPECT_GE(e["ts"], 0);
    auto& [count, last] = tracks[e["name"]];
    EXPECT_GE(e["ts"].get<double>(), last) << e;
    EXPECT_TRUE(e["args"]["value"].is_number());
    count++, last = e["ts"];
  }
  ASSERT_EQ(tracks.size(), 5u);
  EXPECT_GE(tracks.at("Memory busy (%)").first, 50);
  // Without the full set nothing is sampled, and that is said.
  json live = convscope_run(Words{"profile", "direct", "--samples", "5", "--json"} + small, fake_gpu(found)).document();
  for (const char* part : {"pc_sampling", "timeline"}) {
    EXPECT_EQ(live[part]["source"], nullptr);
    EXPECT_EQ(live[part]["gap"]["code"], "not-asked");
  }
}

// Between the one pass and all sets: what a slow kernel is worth waiting for.
TEST(ProfileCli, TheSetOfTheMemory) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  for (auto [set, sets] : {std::pair{"live", 1u}, {"memory", 2u}, {"full", 5u}}) {
    json j = convscope_run(Words{"profile", "direct", "--set", set, "--samples", "5", "--json"} + small, fake_gpu())
                 .document();
    expect_profile(j);
    EXPECT_EQ(j["set"], set);
    EXPECT_EQ(j["counters"]["sets"].size(), sets);
  }
}

TEST(ProfileCli, WhatCannotBeSampledIsSaid) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  const Words full = Words{"profile", "direct", "--set", "full", "--samples", "5"} + small;
  for (auto [set, part, code] : {std::array{"FAKE_CUPTI_FAIL=cuptiPCSamplingEnable:35", "pc_sampling", "not-permitted"},
                                 {"FAKE_CUPTI_FAIL=cuptiPmSamplingEnable:26", "timeline", "busy"},
                                 {"FAKE_CUPTI_UNSUPPORTED_API=pm", "timeline", "not-supported"}}) {
    SCOPED_TRACE(set);
    auto r = convscope_run(full + Words{"--json"}, fake_gpu({set}));
    EXPECT_EQ(r.code, 0);
    json j = r.document();
    expect_profile(j);
    EXPECT_EQ(j[part]["gap"]["code"], code);
    auto table = convscope_run(full, fake_gpu({set}));
    EXPECT_NE(table.out.find(j[part]["reason"].get<std::string>()), std::string::npos) << table.out;
    EXPECT_EQ(j["counters"]["source"], "counted by hardware") << "the rest is there";
  }
}

TEST(ProfileCli, BenchOnTheEmulator) {
  auto r = convscope_run(Words{"bench", "direct", "tiled", "--json"} + small);
  EXPECT_EQ(r.code, 0) << r.err;
  json j = r.document();
  EXPECT_EQ(j["against"], "direct");
  EXPECT_EQ(j["source"], "emulated");
  EXPECT_TRUE(text(j["reason"]));
  ASSERT_EQ(j["entries"].size(), 2u);
  for (const auto& e : j["entries"]) {
    expect_times(e["hot"]);
    EXPECT_EQ(e["cold"], nullptr);
    EXPECT_TRUE(text(e["cold_reason"]));
    EXPECT_EQ(e["times_floor"], nullptr) << "emulated time has no floor";
  }
  EXPECT_EQ(j["entries"][0]["against"]["hot"]["verdict"], nullptr);
  EXPECT_TRUE(text(j["entries"][0]["against"]["hot"]["reason"]));
#if !defined(__SANITIZE_THREAD__)
  // Six times as fast or more, whatever else this machine does.
  EXPECT_NE(j["entries"][1]["against"]["hot"]["verdict"], "SLOWER");
#endif
  EXPECT_TRUE(text(j["entries"][1]["against"]["hot"]["evidence"]));
  auto csv = convscope_run(Words{"bench", "direct", "tiled", "--samples", "3", "--format", "csv"} + small);
  EXPECT_TRUE(csv.out.starts_with("name,kind,cache,median_ms")) << csv.out;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 5);
  auto table = convscope_run(Words{"bench", "direct", "tiled", "--samples", "3"} + small);
  EXPECT_NE(table.out.find("AMBIGUOUS"), std::string::npos) << "three samples are too few\n" << table.out;
  EXPECT_NE(table.out.find("says nothing of a GPU"), std::string::npos);
}

TEST(ProfileCli, BenchOnAGpu) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  auto r = convscope_run(
      Words{"bench", "direct", "polyphase", "cudnn", "--against", "direct", "--samples", "12", "--json"} + small,
      fake_gpu());
  EXPECT_EQ(r.code, 0) << r.err;
  json j = r.document();
  EXPECT_EQ(j["source"], "measured");
  EXPECT_EQ(j["entries"][1]["against"]["hot"]["verdict"], "SAME") << j["entries"][1];
  EXPECT_EQ(j["entries"][1]["against"]["cold"]["verdict"], "SAME");
  EXPECT_TRUE(j["entries"][1]["times_floor"].is_number());
  EXPECT_TRUE(text(j["entries"][2]["reason"])) << "cuDNN is not here, and says so";
  EXPECT_EQ(j["entries"][2]["hot"], nullptr);
  EXPECT_EQ(j["conditions"]["sm_mhz"]["median"], 1980);
}

TEST(ProfileCli, Refusals) {
  expect_refused({"profile"}, "kernel", "",
                 "is missing: for example `convscope profile tiled --preset kernelbench-79-small`");
  expect_refused({"profile", "direkt"}, "kernel", "direkt", "is not known; did you mean direct?");
  expect_refused({"profile", "direct", "--set", "some"}, "set", "some", "must be live, memory or full");
  expect_refused({"profile", "direct", "--format", "xml"}, "format", "xml", "must be table, json, csv or chrome-trace");
  expect_refused({"profile", "direct", "--out", "/nowhere/x"}, "out", "/nowhere/x", "cannot be written");
  expect_refused({"profile", "direct", "--stride", "0"}, "stride", "0", "must be at least 1");
  expect_refused({"bench", "direct", "--format", "chrome-trace"}, "format", "chrome-trace",
                 "must be table, json or csv");
  expect_refused({"bench", "direct", "--against", "direct"}, "against", "direct",
                 "is the only kernel: name another one that is held against it");
  expect_refused({"bench", "direct", "direct"}, "kernel", "direct", "is given more than once");
  expect_refused({"bench", "direct", "direkt"}, "kernel", "direkt", "is not known; did you mean direct?");
  expect_refused({"bench", "--against", "direkt"}, "against", "direkt", "is not known; did you mean direct?");
  auto r = convscope_run({"profile", "direct", "--format", "csv", "--json"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.document()["error"]["field"], "format");
}

TEST(ProfileCli, AKernelThatCrashesIsExitCode4) {
  auto r = convscope_run(test::with_test_engine({"profile", "wild_write", "--length", "64", "--json"}));
  EXPECT_EQ(r.code, 4);
  EXPECT_EQ(r.document()["error"]["code"], "crashed");
}

// Blocks of 20 ms: rounds take a while, and each is over soon after it is cancelled.
TEST(ProfileCli, CtrlCKeepsWhatIsSampled) {
  const Words slow =
      test::with_test_engine({"bench", "slow", "direct", "--length", "4", "--dilation", "2", "--samples", "5000"});
  for (const Words& form : {Words{"--json"}, Words{}, Words{"--format", "csv"}}) {
    test::Cli cli(slow + form);
    EXPECT_TRUE(test::wait_until([&] { return cli.processes().size() >= 2; }, 10 * test::slowness));
    usleep(test::under_sanitizer ? 8000000 : 2000000);
    cli.signal(SIGINT);
    const auto& r = cli.finish();
    EXPECT_EQ(r.code, 130) << r.out << r.err;
    if (form == Words{"--json"}) {
      const json j = r.document();
      EXPECT_EQ(j["interrupted"], true);
      EXPECT_GT(j["entries"][0]["hot"]["samples"], 0) << j["entries"];
      EXPECT_LT(j["rounds"], 5000);
    } else if (form.empty()) {
      EXPECT_NE(r.out.find("! interrupted: what had been sampled by then is compared"), std::string::npos) << r.out;
    } else {
      EXPECT_NE(r.out.find(",interrupted\n"), std::string::npos) << r.out;
      EXPECT_NE(r.out.find(",true\n"), std::string::npos) << r.out;
    }
  }
}

TEST(ProfileCli, CtrlCStops) {
  test::Cli cli(Words{"profile", "direct", "--preset", "kernelbench-79", "--json"});
  usleep(1500000);
  cli.signal(SIGINT);
  EXPECT_EQ(cli.finish().code, 130);
}

}  // namespace
}  // namespace convscope
