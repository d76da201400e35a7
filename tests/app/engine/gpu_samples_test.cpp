// A whole profile of a real GPU through the engine, which samples warps in an engine of its own. Figures are printed as
// name=value. Skipped with the driver's reason where there is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/engine/codec.h"
#include "kernels/problem/presets.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using test::json;

class SamplesGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    json devices = test::result_of(client_, {{"type", "list"}, {"what", "devices"}})["devices"];
    if (devices.empty() || devices[0]["kind"] != "cuda") GTEST_SKIP() << "no GPU: " << devices;
  }
  json request(const char* type, const std::string& kernel, int64_t batch, bool small = false) {
    ConvProblem p = find_preset(small ? "kernelbench-79-small" : "kernelbench-79").problem;
    p.batch = batch;
    return {{"type", type},  {"kernel", kernel},   {"device", "cuda"}, {"problem", problem_json(p)},
            {"set", "full"}, {"accuracy", "tf32"}, {"samples", 5}};
  }
  json profile(const std::string& kernel, int64_t batch) {
    json j = test::result_of(client_, request("profile", kernel, batch));
    const json &s = j["pc_sampling"], &t = j["timeline"];
    fmt::print("profile kernel={} samples={} dropped={} calls={} period={} spent_ms={:.0f} {}\n", kernel,
               s["samples"].dump(), s["dropped"].dump(), s["calls"].dump(), s["period_cycles"].dump(),
               s["spent_ms"].get<double>(), s.value("reason", ""));
    for (size_t i = 0; i < std::min<size_t>(3, s["lines"].size()); i++)
      fmt::print("  line {} {} samples={}\n", s["lines"][i]["file"].dump(), s["lines"][i]["line"].dump(),
                 s["lines"][i]["samples"].dump());
    fmt::print("  timeline points={} interval_us={} calls={} launches={} {}\n", t["start_us"].size(),
               t["interval_us"].dump(), t["calls"].dump(), t["launches"].size(), t.value("reason", ""));
    return j;
  }
  EngineClient client_{{test::program("convscope") + " engine"}};
};

// One after another in one engine: what was counted for one does not hide the functions of the next.
TEST_F(SamplesGpu, EveryProfileHasSamplesAndLanes) {
  for (const char* kernel : {"direct", "tiled", "S4", "mma_tf32", "hopper_tf32", "cudnn", "direct"}) {
    SCOPED_TRACE(kernel);
    json j = profile(kernel, 4);
    const json &s = j["pc_sampling"], &t = j["timeline"];
    ASSERT_EQ(s["source"], "sampled by hardware") << s["reason"];
    EXPECT_GT(s["samples"], 10000);
    EXPECT_EQ(s["unknown"], 0);
    uint64_t by_reason = 0;
    for (const auto& r : s["reasons"]) by_reason += r["samples"].get<uint64_t>();
    EXPECT_EQ(by_reason, s["samples"]);
    ASSERT_EQ(t["source"], "counted by hardware") << t["reason"];
    EXPECT_GE(t["lanes"][0]["points"], 10);
    EXPECT_FALSE(j["kernels"].empty());
    if (std::string(kernel) == "direct") {
      EXPECT_EQ(s["lines"][0]["file"], "kernels/ladder/direct.cu");
      int line = s["lines"][0]["line"];
      EXPECT_TRUE(line >= 18 && line <= 25) << "the hottest line is in the loop, not " << line;
    }
    if (std::string(kernel) == "cudnn") {
      EXPECT_TRUE(s["functions"][0].contains("lines_reason"));
    } else {
      EXPECT_FALSE(s["functions"][0].contains("lines_reason")) << s["functions"][0]["lines_reason"];
    }
  }
}

// The instructions that were sampled are instructions of the listing, and of the same lines.
TEST_F(SamplesGpu, SamplesMeetTheDisassembly) {
  json s = profile("tiled", 4)["pc_sampling"];
  json code = test::result_of(client_, request("disassembly", "tiled", 4));
  ASSERT_EQ(code["functions"].size(), 1u) << code;
  const json& f = code["functions"][0];
  fmt::print("disassembly instructions={} ptx={} source={} lines={} {}\n", f["sass"].size(), f["ptx"].size(),
             f["sass_source"].dump(), f["lines_source"].dump(), f.value("sass_reason", ""));
  EXPECT_EQ(f["name"], s["functions"][0]["name"]);
  EXPECT_EQ(f["code_hash"], s["functions"][0]["code_hash"]) << "the code that ran is the code that is shown";
  EXPECT_TRUE(f["sass_source"].is_string()) << f["sass_reason"];
  std::map<uint64_t, json> by_offset;
  for (const auto& i : f["sass"]) by_offset[i["offset"]] = i;
  size_t same = 0, all = 0;
  for (const auto& i : s["functions"][0]["instructions"]) {
    auto it = by_offset.find(i["offset"].get<uint64_t>());
    ASSERT_NE(it, by_offset.end()) << i["offset"];
    all++;
    same += it->second.value("line", json(nullptr)) == i["line"];
  }
  fmt::print("correlation instructions={} same_line={}\n", all, same);
  EXPECT_GT(all, 100u);
  EXPECT_EQ(same, all);
}

}  // namespace
}  // namespace convscope
