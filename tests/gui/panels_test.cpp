// Verdict, timing, occupancy, devices, log.
#include <imgui_internal.h>
#include <nlohmann/json.hpp>

#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

SCENARIO(verdict_has_a_sentence_and_its_layers) {
  auto r = g.bench().runs().report();
  CHECK_EQ(r->status, std::string("wrong"));
  CHECK_EQ(r->layers.size(), 7u);
  std::string words = g.words();
  CHECK(words.find("Wrong") != std::string::npos);
  for (const auto& l : r->layers) CHECK(words.find(l.name) != std::string::npos);
  std::string sentence = r->sentence.substr(r->sentence.find(": ") + 2);
  CHECK(words.find(sentence) != std::string::npos);
  CHECK(words.find("gate 1e-2") != std::string::npos && words.find("gate 1e-4") != std::string::npos);
  g.app.execute({SetKernel{"tiled"}, 0});
  g.frames();
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  CHECK(g.says("all 774 elements within the bound"));
}

SCENARIO(verdict_is_copied_as_text) {
  g.until([&] { return g.bench().causes().of(*g.bench().runs().report()) != nullptr; }, "its cause");
  g.menu("copy-verdict");
  std::string text = g.clipboard();
  auto r = g.bench().runs().report();
  CHECK(text.starts_with("S4 on 1 × 4→6, K 3, L 64, s 2, p 1, d 2: wrong"));
  for (const auto& l : r->layers) CHECK(text.find(l.name + ": " + l.status) != std::string::npos);
  const Cause* cause = g.bench().causes().of(*r);
  CHECK(!cause->sentence.empty());
  CHECK(text.find("cause: " + cause->sentence) != std::string::npos);
  if (cause->formula != cause->right_formula) {
    CHECK(text.find("it takes: " + cause->formula) != std::string::npos);
    CHECK(text.find("right is: " + cause->right_formula) != std::string::npos);
  }
  CHECK_EQ(g.app.toast(), std::string("Verdict copied"));
}

SCENARIO(times_of_the_emulator_are_called_so) {
  g.panel("Timing");
  auto r = g.bench().runs().report();
  CHECK_EQ(r->timing.source, std::string("emulated"));
  CHECK(!r->timing.samples_ms.empty());
  std::string words = g.words();
  CHECK(words.find("emulated: host time of the CPU emulator, says nothing of a GPU") != std::string::npos);
  CHECK(words.find("GFLOP/s and GB/s: they would be the emulator's") != std::string::npos);
}

// Packing weights is a launch of its own: of a kernel that packs both times are there, or why there is but one.
SCENARIO(timing_says_what_became_of_packing) {
  g.load(small_document("registers"));
  g.panel("Timing");
  CHECK_EQ(g.bench().runs().report()->launches.size(), 2u);
  CHECK(g.says("no time with weights packed before: on the emulator whole plans are timed, packing included"));
  g.load(small_document("direct"));
  g.panel("Timing");
  CHECK(!g.says("weights packed before"));
  // A recording that is older than these times has the row, and its hover says why it is empty.
  g.ctx->MenuClick("//##MainMenuBar/File/Recordings/h200-kernelbench-79");
  if (g.ctx->IsError()) throw Failed{};
  g.until([&] { return g.bench().recorded().recording() != nullptr; }, "the recording");
  g.app.execute({SetKernel{"registers"}, 0});
  g.settle();
  g.panel("Timing");
  std::string words = g.words();
  CHECK(words.find("weights packed before") != std::string::npos);
  CHECK(words.find("not recorded") != std::string::npos);
}

SCENARIO(timing_shows_where_the_engine_spent_its_time) {
  g.panel("Timing");
  auto phases = g.bench().runs().report()->phases;
  CHECK(!phases.empty());
  g.click("//Timing/###phases");
  for (const auto& p : phases) CHECK(g.says(p.name));
}

SCENARIO(occupancy_follows_the_sliders) {
  g.load(small_document("tiled"));
  g.app.show_only("Occupancy");
  g.frames(3);
  CHECK(!g.bench().runs().report()->launches.empty());
  std::string before = g.words();
  CHECK(before.find("theoretical") != std::string::npos);
  CHECK(!g.enabled("//Occupancy/**/Back to the launch"));
  g.type("//Occupancy/**/##registers a thread", "255");
  g.frames(2);
  CHECK(g.says("what if"));
  CHECK(g.enabled("//Occupancy/**/Back to the launch"));
  g.type("//Occupancy/**/##threads a block", "1024");
  g.frames(2);
  CHECK(g.says("0 of 64 warps"));  // 1024 threads of 255 registers do not fit
  g.click("//Occupancy/**/Back to the launch");
  g.frames(2);
  CHECK(!g.says("what if") || g.says("theoretical"));
}

SCENARIO(devices_are_listed_and_asked_again) {
  g.panel("Devices");
  const auto* before = &g.bench().inventory().info()["devices"];
  CHECK(g.bench().inventory().info()["devices"].size() >= 1);
  CHECK(g.says("Run on"));
  g.click("//Devices/Refresh");
  g.settle();
  CHECK(&g.bench().inventory().info()["devices"] != before || g.bench().inventory().info()["devices"].size() >= 1);
  g.menu("refresh-devices");
  g.settle();
  CHECK(g.bench().inventory().info().contains("pieces"));
}

SCENARIO(a_device_is_chosen_and_undone) {
  g.panel("Devices");
  CHECK_EQ(g.document().device, std::string("auto"));
  uint64_t before = g.serial();
  g.click("//Devices/**/emulator");
  CHECK_EQ(g.document().device, std::string("emulator"));
  g.settle();
  CHECK(g.serial() > before);
  CHECK_EQ(g.bench().runs().report()->device_kind, std::string("emulator"));
  g.press("undo");
  CHECK_EQ(g.document().device, std::string("auto"));
  g.settle();
}

SCENARIO(log_is_filtered_and_copied) {
  g.app.bench().link().note("a line about apples", LogLine::Kind::note);
  g.app.bench().link().note("a line about pears", LogLine::Kind::trouble);
  g.panel("Log");
  g.click("//Log/Copy all");
  std::string all = g.clipboard();
  CHECK(all.find("apples") != std::string::npos && all.find("pears") != std::string::npos);
  g.type("//Log/##filter", "pears", false);
  g.click("//Log/Copy all");
  CHECK_EQ(std::string(g.clipboard()), std::string("a line about pears\n"));
  g.type("//Log/##filter", "nothing has this", false);
  CHECK(g.says("no line passes the filter"));
  g.type("//Log/##filter", "-apples", false);
  g.click("//Log/Copy all");
  CHECK(std::string(g.clipboard()).find("apples") == std::string::npos);
  CHECK(std::string(g.clipboard()).find("pears") != std::string::npos);
}
