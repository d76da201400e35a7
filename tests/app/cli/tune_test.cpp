// What `tune` says where it cannot be done. That it is done is seen on a GPU (engine/gpu_tuning_test.cpp).
#include <gtest/gtest.h>

#include "app/cli/verbs.h"
#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::convscope_run;
using test::expect_refused;
using test::holds;
using test::json;
using test::Words;

TEST(TuneCli, NeedsAGpuAndAFileOfItsUsers) {
  const std::string file = test::project_file("assets/kernels/gather.cu");
  auto r = convscope_run({"tune", file, "--trust"});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_TRUE(holds(r.err, "tune measures on a GPU, and there is none here")) << r.err;
  r = convscope_run({"tune", file, "--trust", "--device", "emulator"});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_TRUE(holds(r.err, "tune measures on a GPU, and the emulator is none")) << r.err;
  for (const auto& [words, says] : std::initializer_list<std::pair<Words, const char*>>{
           {{"tune", "S4"}, "kernel S4 is no .cu or .py file: the program's own texts stay as they are"},
           {{"tune", "missing.cu", "--trust"}, "kernel missing.cu is no file that is there"},
           {{"tune", file, "--trust", "--limit", "0"}, "limit 0 must be greater than 0 seconds"},
           {{"tune", file, "--trust", "--limit", "soon"}, "limit soon "},
           {{"tune", file, "--trust", "--samples", "7"}, "samples 7 must be at least 8: of fewer no form is known"},
           {{"tune", file, "--trust", "--stride", "0"}, "stride 0 must"},
           {{"tune"}, "kernel is missing"}}) {
    r = convscope_run(words);
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_TRUE(holds(r.err, says)) << r.err;
    EXPECT_TRUE(r.out.empty()) << r.out;
  }
}

json form(const char* change, const char* status, json ms, json speedup, const char* verdict, bool kept) {
  return {{"knob", "k"},        {"change", change},   {"with", kept ? json::array() : json::array({"the kept one"})},
          {"status", status},   {"kept", kept},       {"median_ms", ms},
          {"speedup", speedup}, {"verdict", verdict}, {"reason", "a reason"}};
}
json found() {
  const auto times = [](double ms, double noise) {
    return json{{"median_ms", ms}, {"noise_pct", noise}, {"samples", 25}};
  };
  return {{"status", "faster"},
          {"by", "cold"},
          {"lines", json::array({{{"line", 6}, {"before", "block=256"}, {"after", "block=64"}},
                                 {{"line", 20}, {"before", ""}, {"after", "#pragma unroll 8"}}})},
          {"before", times(12.5, 0.07)},
          {"after", times(5, 1.2)},
          {"speedup", 2.5},
          {"verdict", "FASTER"},
          {"only_for", json::array({"layers of stride 2"})},
          {"judged_on", json::array({1, 2, 3})},
          {"tried", json::array({form("slow one", "right", 20.0, 0.6, "SLOWER", false),
                                 form("same one", "right", 12.5, 1.0, "SAME", false),
                                 form("wrong one", "wrong", nullptr, nullptr, "", false),
                                 form("the kept one", "right", 5.0, 2.5, "FASTER", true),
                                 form("refused", "not-run", nullptr, nullptr, "", false)})},
          {"not_tried", 1},
          {"ended_by", "finished"}};
}

TEST(TuneText, SaysWhatWasFound) {
  const std::string text = tune_text(found(), "/home/mine.cu");
  EXPECT_TRUE(holds(text, "  mine.cu:6  − block=256\n  mine.cu:6  + block=64\n  mine.cu:20  + #pragma unroll 8\n"))
      << text;
  EXPECT_TRUE(holds(text,
                    "  ✓ 12.5 ms → 5.00 ms, 2.5 times as fast (FASTER; cold, measured, 25 samples of each in turn, "
                    "± 0.07 % and 1.2 %)\n"))
      << text;
  EXPECT_TRUE(holds(text,
                    "judged right on the asked problem and on 3 small ones\n    ! right for layers of stride 2 "
                    "alone\n"))
      << text;
  const size_t kept = text.find("✓  the kept one"), same = text.find("·  same one"),
               slow = text.find("·  slow one (+1)  ");
  ASSERT_NE(slow, text.npos) << text;
  EXPECT_TRUE(kept < same && same < slow) << "what was kept first, then fast ones first\n" << text;
  EXPECT_TRUE(holds(text, "3 forms timed; 1 wrong, 1 not run")) << text;
  EXPECT_TRUE(holds(text, "1 change was not tried: others of the same knob were wrong")) << text;
}

TEST(TuneText, WhereNothingWasFound) {
  json d = found();
  d["status"] = "none", d["lines"] = json::array(), d["before"] = d["after"] = d["speedup"] = d["verdict"] = nullptr;
  d["ended_by"] = "limit", d["not_tried"] = 30;
  const std::string none = tune_text(d, "mine.cu");
  EXPECT_TRUE(holds(none, "no change of the text makes it faster by more than its spread")) << none;
  EXPECT_TRUE(holds(none, "30 changes were not tried: the time was up")) << none;
  // Interrupted: what was kept by then is there.
  json kept = found();
  kept["status"] = "none", kept["before"] = kept["after"] = kept["speedup"] = kept["verdict"] = nullptr;
  kept["steps_speedup"] = 2.6, kept["samples"] = 9;
  EXPECT_TRUE(holds(tune_text(kept, "mine.cu"), "mine.cu:6  + block=64\n")) << tune_text(kept, "mine.cu");
  EXPECT_TRUE(holds(tune_text(kept, "mine.cu"), "2.6 times as fast, by the 9 samples of each step alone"))
      << tune_text(kept, "mine.cu");
  // Found while forms were tried, and not seen in the last comparison.
  json again = found();
  again["status"] = "none", again["verdict"] = "SAME", again["speedup"] = 1.01;
  EXPECT_TRUE(holds(tune_text(again, "mine.cu"), "  · 12.5 ms → 5.00 ms, 1.01 times as fast (SAME;"));
  d["status"] = "wrong", d["reason"] = "wrong: half of it";
  EXPECT_TRUE(
      holds(tune_text(d, "mine.cu"), "✗ wrong: half of it\n    a wrong kernel is not made faster: convscope fix"));
}

}  // namespace
}  // namespace convscope
