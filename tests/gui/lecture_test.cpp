// What a lecturer does: recordings that stay, values that are copied, numbers that are refused, windows that are low.
#include <algorithm>
#include <imgui_internal.h>

#include "tests/gui/gui.h"

namespace convscope::test {
namespace {

void open_recording(Gui& g, const char* name) {
  g.ctx->MenuClick(fmt::format("//##MainMenuBar/File/Recordings/{}", name).c_str());
  if (g.ctx->IsError()) throw Failed{};
  g.until([&] { return g.bench().recorded().recording() != nullptr; }, "the recording");
  g.settle();
}

bool in_front(const char* panel) {
  const ImGuiWindow* w = ImGui::FindWindowByName(panel);
  return w && w->DockTabIsVisible;
}

}  // namespace

// A key that is hit by chance takes no recording away.
SCENARIO(run_takes_a_recording_away_at_its_second_press) {
  open_recording(g, "h200-hifigan.u2");
  g.press("run");
  g.frames(5);
  CHECK(!g.bench().live_shown());
  CHECK(!g.bench().runs().running());
  CHECK(g.says("once more runs it here"));
  g.press("run");
  g.until([&] { return g.bench().runs().running(); }, "it runs");
  CHECK(g.bench().live_shown());
  g.press("cancel");
  g.until([&] { return !g.bench().runs().running(); }, "it has been cancelled");
  g.frames(3);
  CHECK(!g.bench().live_shown());
  CHECK(g.says("what was recorded is shown again"));
  g.settle();
}

// All that the maps show is copied, whether numbers stand in its cells or not; of too much nothing.
SCENARIO(values_are_copied_as_the_maps_show_them) {
  g.settle();
  auto copied = [&] {
    g.ctx->Clipboard.clear();
    g.press("copy-window");
    g.until([&] { return *g.clipboard() || g.says("zoom in first"); }, "the values, or why not");
    return std::string(g.clipboard());
  };
  g.press("fit");
  const std::string all = copied();
  const ConvProblem p = g.problem();
  const auto lines = static_cast<int64_t>(std::count(all.begin(), all.end(), '\n'));
  CHECK_EQ(lines, p.y_elements() <= 65536 ? p.y_elements() + 1 : 0);
  g.press("next-failing");
  g.settle();
  const std::string before = copied();
  CHECK(before.starts_with("n,co,j,output,reference,error,error_over_bound\n"));
  // Another kernel: nothing of the one before is left.
  g.app.execute({SetKernel{"direct"}, 0});
  g.settle();
  const std::string after = copied();
  CHECK_EQ(std::count(after.begin(), after.end(), '\n'), std::count(before.begin(), before.end(), '\n'));
  CHECK(after != before);
  g.settle();
}

SCENARIO(a_preset_by_its_name_is_the_preset) {
  g.press("palette");
  g.frames(3);
  g.ctx->KeyChars("kernelbench-79-small");
  g.frames(2);
  g.key(ImGuiKey_Enter);
  g.settle();
  CHECK(!g.bench().recorded().is_open());
  CHECK_EQ(g.problem().length, 4096);
  CHECK(!ImGui::GetIO().NavVisible);  // or Space would press what has the keyboard now
}

// In a low window a lesson has its two panels beside each other; the layout before comes back behind it.
SCENARIO(a_lesson_fills_a_low_window) {
  g.stage.size = {1280, 720};
  g.settle();
  const bool kernels = in_front("Kernels");
  g.app.open_lesson(project_file("assets/lessons/2-the-divisibility-test.lesson"));
  g.until([&] { return g.app.lesson() && g.app.lesson_shown(); }, "the first step is shown", 60);
  g.settle();
  g.press("lesson-next");
  g.until([&] { return g.app.lesson_shown(); }, "the second step", 60);
  g.settle();
  CHECK(in_front("Maps") && in_front("Verdict"));
  const ImGuiWindow *maps = ImGui::FindWindowByName("Maps"), *verdict = ImGui::FindWindowByName("Verdict");
  const float height = ImGui::GetMainViewport()->WorkSize.y;
  CHECK(maps->Size.y > 0.85f * height && verdict->Size.y > 0.85f * height);
  g.app.end_lesson();
  g.settle();
  CHECK_EQ(in_front("Kernels"), kernels);
  CHECK(ImGui::FindWindowByName("Maps")->Size.y < 0.7f * ImGui::GetMainViewport()->WorkSize.y);
  g.stage.size = {1600, 1000};
  g.settle();
}

// At a large scale every screen is low: a stage without a lesson has its verdict in sight then, beside the maps.
SCENARIO(a_low_stage_has_its_verdict_beside_the_maps) {
  g.stage.size = {1920, 1080};
  Settings s = g.app.settings();
  s.presenter = true, s.scale = 2;
  g.app.apply(ui::SetSettings{s});
  g.frames(5);
  g.settle();
  CHECK(in_front("Maps") && in_front("Verdict"));
  const ImGuiWindow *maps = ImGui::FindWindowByName("Maps"), *verdict = ImGui::FindWindowByName("Verdict");
  const float height = ImGui::GetMainViewport()->WorkSize.y;
  CHECK(maps->Size.y > 0.85f * height && verdict->Size.y > 0.85f * height);
  CHECK(verdict->Pos.x > maps->Pos.x);
  // Where there is room, it lies below them.
  s.scale = 1;
  g.app.apply(ui::SetSettings{s});
  g.frames(5);
  g.settle();
  CHECK(in_front("Verdict") && in_front("Explain") && verdict->Pos.y > maps->Pos.y);
  s.presenter = false;
  g.app.apply(ui::SetSettings{s});
  g.stage.size = {1600, 1000};
  g.settle();
}

}  // namespace convscope::test
