#include "app/ui/panels/monitor.h"

#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

std::string monitor_source(const Monitor& m) {
  return m.source == "recorded"   ? "recorded by CUPTI, one call each"
         : m.source == "measured" ? "measured by events on the GPU, one call each"
                                  : "emulated: host time of the CPU emulator, says nothing of a GPU";
}

std::string calls_csv(const Monitor& m) {
  std::string out = "# " + monitor_source(m) + "\nseconds,ms,packed_ms\n";
  for (const auto& r : m.readings)
    out += fmt::format("{:.6g},{:.9g},{}\n", r.at_s, r.ms, r.packed_ms ? fmt::format("{:.9g}", *r.packed_ms) : "");
  return out;
}

void calls_strip(Frame& f, const Monitor& m) {
  const Theme& t = f.theme;
  if (m.readings.size() < 2) return;
  static std::vector<double> seconds, ms;
  seconds.clear(), ms.clear();
  for (const auto& r : m.readings) seconds.push_back(r.at_s), ms.push_back(r.ms);
  const auto [least, most] = std::minmax_element(ms.begin(), ms.end());
  // A kernel that takes the same time is no full-height story.
  const double room = std::max(*most - *least, 0.05 * *most);
  if (!ImPlot::BeginPlot("##calls", {ImGui::GetContentRegionAvail().x, t.em * 7.5f}, plots::fixed)) return;
  const bool micro = *most < 1;
  ImPlot::SetupAxes("s", micro ? "µs" : "ms", plots::axis, plots::axis);
  ImPlot::SetupAxesLimits(seconds.front(), std::max(seconds.back(), seconds.front() + 1), std::max(0.0, *least - room),
                          *most + room, ImPlotCond_Always);
  if (micro) ImPlot::SetupAxisFormat(ImAxis_Y1, plots::label_in_us);
  ImPlot::PlotLine("##ms", seconds.data(), ms.data(), static_cast<int>(ms.size()), plots::line(t.kernel, 1.4f));
  if (ImPlotPoint at; plots::pointed(at) && ImGui::BeginTooltip()) {
    auto after = std::lower_bound(seconds.begin(), seconds.end(), at.x);
    const size_t i = after == seconds.end() ? seconds.size() - 1 : static_cast<size_t>(after - seconds.begin());
    ImGui::Text("%s, %.1f s after the first", time_text(ms[i]).c_str(), seconds[i]);
    ImGui::TextDisabled("source: %s", monitor_source(m).c_str());
    ImGui::EndTooltip();
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-readings", [&] { return calls_csv(m); });
}

}  // namespace

void draw_monitor(Frame& f, const Monitor& m) {
  const Theme& t = f.theme;
  if (ImGui::Button("Stop measuring")) f.act("keep-measuring");
  tooltip(t,
          "One call after the other, each with its time and the counters of one pass, until it is stopped (F8, Esc)");
  if (!m.calls) {
    ImGui::SameLine();
    ImGui::TextColored(t.accent, "the first call…");
    return f.again_in(0.25);
  }
  ImGui::SameLine();
  ImGui::TextColored(t.accent, "%.3g a second", m.per_second());
  tooltip(t, fmt::format("Calls that were measured in the last two seconds; {} in all.\nsource: this window's clock",
                         grouped(static_cast<int64_t>(m.calls))));
  if (begin_figures("monitor")) {
    const std::string source = monitor_source(m);
    figure(t, "last call", time_text(m.readings.back().ms), {"The time of the last call.", "", source.c_str()});
    figure(t, "median", time_text(m.median_ms),
           {"The middle of the calls that are kept, 600 at most.", "median of the calls", source.c_str()});
    figure(t, "spread", "± " + noise_text(m.spread_pct),
           {"Half of these calls lie within this of the median.", "(p75 − p25) / 2 / median", source.c_str()});
    if (m.readings.back().packed_ms)
      figure(
          t, "without packing", time_text(*m.readings.back().packed_ms),
          {"Of the last call, which packed its weights: what its other launches took. A call that does not pack may "
           "take less or more: the panel Timing has that time.",
           "sum of its other kernels' durations", m.packed_source.empty() ? source.c_str() : m.packed_source.c_str()});
    end_figures();
  }
  if (m.source == "emulated") {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(monitor_source(m));
    ImGui::PopStyleColor();
  } else {
    dim_text(t, monitor_source(m));
  }
  if (!m.readings.back().packed_ms && !m.packed_reason.empty()) dim_text(t, m.packed_reason);
  calls_strip(f, m);
}

}  // namespace convscope::ui
