// Roofline, Compare and Occupancy of a shipped recording, as a person uses them: hover, right click, another launch.
#include <cmath>
#include <imgui_internal.h>
#include <implot.h>
#include <implot_internal.h>

#include "app/model/compared_figures.h"
#include "app/model/roof.h"
#include "kernels/problem/presets.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

void open_recording(Gui& g, const char* kernel = "hopper_tf32", Accuracy accuracy = Accuracy::tf32) {
  g.settle();
  g.ctx->MenuClick("//##MainMenuBar/File/Recordings/h200-kernelbench-79");
  if (g.ctx->IsError()) throw Failed{};
  g.until([&] { return g.bench().recorded().recording() != nullptr; }, "the recording");
  Document d = g.document();
  d.kernel = kernel, d.accuracy = accuracy;
  g.app.execute({ReplaceDocument{d, ""}, 0});
  g.settle();
}

// Where a point of the roofline is on the screen.
ImVec2 place(const RoofPoint& p) {
  ImVec2 at{};
  for (int i = 0; i < ImPlot::GetCurrentContext()->Plots.GetBufSize(); i++)
    if (ImPlotPlot* plot = ImPlot::GetCurrentContext()->Plots.GetByIndex(i);
        plot && ImGui::FindWindowByName("Roofline") &&
        plot->ID == ImHashStr("##roofline", 0, ImGui::FindWindowByName("Roofline")->ID))
      at = {plot->XAxis(0).PlotToPixels(std::log10(p.intensity)), plot->YAxis(0).PlotToPixels(std::log10(p.gflops))};
  return at;
}

}  // namespace

SCENARIO(the_best_of_a_recording_is_the_recorded_one) {
  open_recording(g, "mma_tf32");
  g.press("best-kernel");
  g.settle();
  CHECK_EQ(g.document().kernel, std::string("hopper_tf32"));
  CHECK(g.app.toast().starts_with("hopper_tf32: the fastest of those that were recorded on this problem"));
}

SCENARIO(each_point_under_the_roof_says_what_it_is) {
  open_recording(g);
  g.panel("Roofline");
  g.frames(3);
  const RoofPoints all = roof_points(g.bench(), g.document(), *g.bench().report_of(g.document()));
  int seen = 0;
  for (const auto& p : all.points) {
    if (p.of != RoofPoint::Of::reference || p.bytes != RoofPoint::Bytes::dram) continue;
    const ImVec2 at = place(p);
    CHECK(at.x > 0 && at.y > 0);
    g.ctx->MouseMoveToPos(at);
    g.frames(3);
    std::string words = g.words();
    for (const std::string& said :
         {p.name + ", hot, bytes of DRAM", std::string("FLOP a byte"), std::string("of what the roof allows there"),
          std::string("source: recorded: NVIDIA H200")})
      CHECK(words.find(said) != std::string::npos);
    seen++;
  }
  CHECK_EQ(seen, 2);
  // The values as text: every point with its cache, bytes and share.
  ImRect plot = g.item("//Roofline/##roofline").RectFull;
  g.ctx->MouseMoveToPos({plot.Min.x + plot.GetWidth() * 0.9f, plot.Min.y + plot.GetHeight() * 0.7f});
  g.frames(2);
  g.ctx->MouseClick(ImGuiMouseButton_Right);
  g.frames(3);
  g.ctx->ItemClick("//$FOCUSED/Copy values (CSV)");
  g.frames();
  std::string csv = g.clipboard();
  CHECK(csv.starts_with("name,flop_per_byte,gflops,source,cache,bytes,ms,of_the_roof,packing\n"));
  for (const char* said : {"roof shared memory GB/s,", ",cold,least,", ",hot,dram,", ",hot,l2,"})
    CHECK(csv.find(said) != std::string::npos);
  g.ctx->MouseMoveToPos(place(all.points[*all.own]));
  g.frames(3);
}

SCENARIO(a_comparison_is_copied_with_its_verdicts) {
  open_recording(g);
  g.panel("Compare");
  g.frames(3);
  const Profile* p = g.bench().profile_of(g.document());
  CHECK(p != nullptr);
  // A row's hover: what it is, the difference, the rule, the source.
  g.ctx->MouseMove("//Compare/compare/$$0/Median, hot, packing included");
  g.until([&] { return g.says("Median of samples taken in turn"); }, "the row's tooltip", 10);
  std::string words = g.words();
  for (const char* said : {"Median of samples taken in turn", "better: the intervals are apart", "difference",
                           "source: recorded: NVIDIA H200"})
    CHECK(words.find(said) != std::string::npos);
  g.ctx->MouseClick(ImGuiMouseButton_Right);
  g.frames(3);
  g.ctx->ItemClick("//$FOCUSED/Copy values (CSV)");
  g.frames();
  std::string csv = g.clipboard();
  CHECK(csv.starts_with("group,figure,unit,hopper_tf32,"));
  CHECK(csv.find(",difference,ratio,verdict,rule,") != std::string::npos);
  for (const char* said : {"Time,\"Median, hot, packing included\",ms,", ",better,", ",worse,", ",neutral,"})
    CHECK(csv.find(said) != std::string::npos);
}

SCENARIO(occupancy_is_of_the_main_launch_until_another_is_chosen) {
  open_recording(g);
  g.panel("Occupancy");
  g.frames(3);
  CHECK(g.says("achieved"));
  CHECK(g.says("limited by registers: 168"));
  g.choose("//Occupancy/##launch", "launch 1: hopper_pack");
  g.frames(3);
  CHECK(g.says("limited by registers: 36"));
  // A GPU that was added: less room than on an H200.
  g.choose("//Occupancy/##launch", "launch 2: hopper_64_3_s2_blocks");
  g.choose("//Occupancy/##architecture", "sm_121 (Blackwell, GB10)");
  g.frames(3);
  CHECK(g.says("cannot be launched"));
  CHECK(g.says("achieved on NVIDIA H200, recorded"));
}

// That emulated times say nothing is said once, not of each kernel and each line.
SCENARIO(an_emulated_comparison_says_once_what_it_is_worth) {
  g.press("compare");
  g.panel("Compare");
  g.until([&] { return g.bench().measuring().comparison() != nullptr; }, "it is compared", 60);
  g.settle();
  const std::string words = g.words();
  const auto times = [&](std::string_view what) {
    int n = 0;
    for (size_t at = words.find(what); at != words.npos; at = words.find(what, at + 1)) n++;
    return n;
  };
  CHECK_EQ(times("emulated time, which says nothing of a GPU: "), 1);
  CHECK_EQ(times("who is faster here says nothing"), 0);
  CHECK_EQ(times("Of both, what limits it cannot be seen from emulated time"), 1);
  CHECK_EQ(times("what limits it cannot be seen"), 1);
}
