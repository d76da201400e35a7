// `profile --format chrome-trace`: what Perfetto draws, and that times nest on each line of it.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "app/cli/verbs.h"
#include "app/engine/recording.h"
#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::fake_gpu;
using test::has_fake_gpu;
using test::json;
using test::Words;

const Words traced_problem = {"--preset", "kernelbench-79-small"};

// Times nest: what begins within an event on its line also ends there. Returns the lines that have events, by process
// and number, and how many lie on each.
std::map<std::pair<int64_t, int64_t>, size_t> expect_nesting(const json& trace) {
  std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<double, double>>> per_line;
  std::set<std::pair<int64_t, int64_t>> named;
  for (const auto& e : trace.at("traceEvents")) {
    if (e["ph"] == "M" && e["name"] == "thread_name") {
      const bool is_new = named.emplace(e["pid"].get<int64_t>(), e["tid"].get<int64_t>()).second;
      EXPECT_TRUE(is_new) << "a line with two names: " << e;
    }
    if (e["ph"] != "X") continue;
    EXPECT_GE(e["dur"].get<double>(), 0) << e;
    per_line[{e["pid"].get<int64_t>(), e["tid"].get<int64_t>()}].emplace_back(
        e["ts"], e["ts"].get<double>() + e["dur"].get<double>());
  }
  std::map<std::pair<int64_t, int64_t>, size_t> counts;
  for (auto& [line, events] : per_line) {
    EXPECT_TRUE(named.contains(line)) << "a line without a name: " << line.second;
    counts[line] = events.size();
    // By begins, the longer first: each must end within those that are open.
    std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open;
    constexpr double rounding = 1e-6;  // µs
    for (const auto& [begin, end] : events) {
      while (!open.empty() && open.back() <= begin + rounding) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end, open.back() + rounding)
            << "process " << line.first << ", line " << line.second << ": from " << begin << " on";
      }
      open.push_back(end);
    }
  }
  return counts;
}

TEST(ProfileCli, ATraceOfTheEmulatorHasItsCalls) {
  test::ScratchFolder folder;
  std::string file = folder.path("trace.json");
  auto trace = convscope_run(Words{"profile", "tiled", "--samples", "3", "--format", "chrome-trace", "--out", file} +
                             traced_problem);
  EXPECT_EQ(trace.code, 0) << trace.err;
  EXPECT_EQ(trace.out, "");
  std::ifstream in(file);
  json j = json::parse(in);
  expect_nesting(j);
  int calls = 0;
  for (const auto& e : j["traceEvents"])
    calls += e["ph"] == "X" && e["name"].get<std::string>().find("emulated call") == 0;
  EXPECT_EQ(calls, 3);
}

TEST(ProfileCli, TracesOfAGpuHaveItsKernels) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  auto r = convscope_run(Words{"profile", "direct", "--samples", "5", "--format", "chrome-trace"} + traced_problem,
                         fake_gpu({"FAKE_CUPTI_KERNELS=direct_f32,other"}));
  json j = json::parse(r.out);
  int kernels = 0;
  for (const auto& e : j["traceEvents"])
    if (e["ph"] == "X" && e["args"].value("source", "") == "recorded by CUPTI") {
      kernels++;
      EXPECT_GE(e["ts"], 0);
      EXPECT_NEAR(e["dur"].get<double>(), 50, 1e-6);
    }
  EXPECT_EQ(kernels, 2);
}

// Kernels that are launched early begin before the one ahead of them has ended: on one line they would not nest.
TEST(ProfileCli, TracesNestWhereKernelsOverlap) {
  if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  auto trace = [](const char* us) {
    auto r = convscope_run(
        Words{"profile", "direct", "--samples", "5", "--set", "full", "--format", "chrome-trace"} + traced_problem,
        fake_gpu({"FAKE_CUPTI_KERNELS=third,second,first", std::string("FAKE_CUPTI_KERNEL_US=") + us}));
    return json::parse(r.out);
  };
  auto names = [](const json& j) {
    std::vector<std::string> all;
    for (const auto& e : j["traceEvents"])
      if (e["ph"] == "M" && e["name"] == "thread_name" && e["pid"] == 1) all.push_back(e["args"]["name"]);
    return all;
  };
  using Names = std::vector<std::string>;
  json apart = trace("90"), early = trace("150"), all_at_once = trace("250");
  expect_nesting(apart);
  EXPECT_EQ(names(apart), (Names{"a call of direct", "stream 0"}));
  auto lines = expect_nesting(early);
  EXPECT_EQ(names(early), (Names{"a call of direct", "stream 0", "stream 0, overlapping"}));
  EXPECT_EQ((lines[{1, 1}]), 2u) << "the first and the third";
  EXPECT_EQ((lines[{1, 2}]), 1u);
  EXPECT_EQ((lines[{2, 2}]), 1u) << "and so where the chip was sampled";
  expect_nesting(all_at_once);
  EXPECT_EQ(names(all_at_once).back(), "stream 0, overlapping (2)");
}

// What was recorded on an H200: kernels of Hopper's rungs are launched early.
TEST(ProfileCli, TracesOfEveryRecordingNest) {
  size_t profiles = 0, overlapping = 0;
  for (const auto& shipped : shipped_recordings()) {
    const Recording recording = read_recording(shipped.path);
    for (const auto& a : recording.answers) {
      if (a.type() != "profile") continue;
      SCOPED_TRACE(shipped.name + " " + a.asked.kernel);
      profiles++;
      auto lines = expect_nesting(profile_trace(shown_answer(recording, a)));
      overlapping += lines.contains({2, 2});
    }
  }
  EXPECT_GE(profiles, 100u);
  EXPECT_GT(overlapping, 0u) << "none of them would tell";
}

}  // namespace
}  // namespace convscope
