#include "app/ui/panels/clocks.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/panels/follow_profile.h"
#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

// What is drawn, made once for each measurement.
struct ClockStrip {
  const void* of = nullptr;
  uint64_t serial = 0;
  std::string line;
  std::vector<std::string> warnings;
  // Readings that told the clock, one after the other; the last one once more, where it ends. Those of a resting GPU
  // are apart: the ranges leave them out.
  struct Stretch {
    bool idle;
    std::vector<double> t_ms, sm_mhz;
  };
  std::vector<Stretch> stretches;
  std::vector<ImVec2> held_back;  // stretches in ms, from a throttled reading to the next
  double least_mhz = 0;           // while it worked, if it ever did
  double low_mhz = 0, high_mhz = 1, end_ms = 1;
};

ClockStrip strip_of(const GpuConditions& c) {
  ClockStrip s;
  const auto& all = c.over_time;
  if (all.empty()) return s;
  // A reading holds until the next one; the last as long as one does in the middle.
  const double last = all.back().t_ms, each = all.size() > 1 ? last / static_cast<double>(all.size() - 1) : 20;
  s.end_ms = std::max(1.0, last + each);
  double least = 0, most = c.max_sm_mhz.value_or(0);
  bool any = false, worked = false;
  for (size_t i = 0; i < all.size(); i++) {
    const double until = i + 1 < all.size() ? all[i + 1].t_ms : s.end_ms;
    if (all[i].throttled) {
      const auto from = static_cast<float>(all[i].t_ms), to = static_cast<float>(until);
      if (!s.held_back.empty() && s.held_back.back().y >= from)
        s.held_back.back().y = to;
      else
        s.held_back.push_back({from, to});
    }
    if (!all[i].sm_mhz) continue;
    const double mhz = *all[i].sm_mhz;
    least = any ? std::min(least, mhz) : mhz, most = std::max(most, mhz), any = true;
    if (!all[i].idle) s.least_mhz = worked ? std::min(s.least_mhz, mhz) : mhz, worked = true;
    if (!s.stretches.empty()) {  // the reading before holds until this one
      auto& before = s.stretches.back();
      if (before.idle != all[i].idle) before.t_ms.push_back(all[i].t_ms), before.sm_mhz.push_back(before.sm_mhz.back());
    }
    if (s.stretches.empty() || s.stretches.back().idle != all[i].idle) s.stretches.push_back({all[i].idle, {}, {}});
    s.stretches.back().t_ms.push_back(all[i].t_ms), s.stretches.back().sm_mhz.push_back(mhz);
  }
  if (any)
    s.stretches.back().t_ms.push_back(s.end_ms), s.stretches.back().sm_mhz.push_back(s.stretches.back().sm_mhz.back());
  if (!worked) s.least_mhz = least;
  // A clock that stands still is no full-height story: the axis spans a tenth of it at least.
  s.high_mhz = most + 0.25 * std::max(0.1 * most, most - least);
  s.low_mhz = std::max(0.0, std::min(least, 0.9 * most) - 0.15 * std::max(0.1 * most, most - least));
  return s;
}

std::string reading_text(const ClockReading& r) {
  std::string out = fmt::format("{} after it began", time_text(r.t_ms));
  auto add = [&](const char* name, const std::optional<double>& v, const char* unit) {
    if (v) out += fmt::format("\n{}{:.0f} {}", name, *v, unit);
  };
  add("SM clock ", r.sm_mhz, "MHz"), add("memory clock ", r.memory_mhz, "MHz");
  add("", r.power_w, "W"), add("", r.temperature_c, "°C");
  std::string why;
  for (const auto& w : r.reasons) why += (why.empty() ? "" : ", ") + w;
  if (r.throttled)
    out += "\nheld back: " + why;
  else if (!why.empty())
    out += "\n" + why;
  if (r.idle) out += "\nat rest: left out of the range above";
  return out;
}

std::string conditions_csv(const GpuConditions& c, const std::string& source) {
  std::string out = "# " + source + "\nt_ms,sm_mhz,memory_mhz,power_w,temperature_c,throttled,reasons\n";
  auto cell = [](const std::optional<double>& v) { return v ? fmt::format("{:.6g}", *v) : std::string(); };
  for (const auto& r : c.over_time) {
    std::string why;
    for (const auto& w : r.reasons) why += (why.empty() ? "" : "; ") + w;
    out += fmt::format("{:.6g},{},{},{},{},{},\"{}\"\n", r.t_ms, cell(r.sm_mhz), cell(r.memory_mhz), cell(r.power_w),
                       cell(r.temperature_c), r.throttled ? 1 : 0, why);
  }
  return out;
}

void plot_strip(Frame& f, const GpuConditions& c, const ClockStrip& s, const std::string& source) {
  const Theme& t = f.theme;
  if (!ImPlot::BeginPlot("##clocks", {ImGui::GetContentRegionAvail().x, t.em * 7.5f}, plots::fixed)) return;
  const bool seconds = s.end_ms >= 2000;
  ImPlot::SetupAxes(seconds ? "s" : "ms", "MHz", plots::axis, plots::axis);
  ImPlot::SetupAxesLimits(0, s.end_ms, s.low_mhz, s.high_mhz, ImPlotCond_Always);
  if (seconds)
    ImPlot::SetupAxisFormat(ImAxis_X1, [](double ms, char* out, int size, void*) {
      return plots::write_label(out, size, fmt::format("{:.4g}", ms / 1000));
    });
  double top = c.max_sm_mhz.value_or(0);
  if (!c.max_sm_mhz)
    for (const auto& stretch : s.stretches)
      top = std::max(top, *std::max_element(stretch.sm_mhz.begin(), stretch.sm_mhz.end()));
  const double least = s.least_mhz;
  const bool apart = top - least > 0.3 * (s.high_mhz - s.low_mhz);
  const double ticks[] = {top, least};
  const std::string names[] = {fmt::format("{:.0f}", top), fmt::format("{:.0f}", least)};
  const char* labels[] = {names[0].c_str(), names[1].c_str()};
  ImPlot::SetupAxisTicks(ImAxis_Y1, ticks, apart ? 2 : 1, labels);
  ImPlot::SetupFinish();
  // Where the GPU held itself back: shaded over the whole height, and said in words.
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  for (const auto& h : s.held_back) {
    ImVec2 from = ImPlot::PlotToPixels(h.x, s.high_mhz), to = ImPlot::PlotToPixels(h.y, s.low_mhz);
    to.x = std::max(to.x, from.x + 2);
    draw->AddRectFilled(from, to, packed(t.warning, 0.22f));
    draw->AddRectFilled(from, {to.x, from.y + t.em * 0.2f}, packed(t.warning));
    if (ImGui::CalcTextSize("held back").x + t.em * 0.6f < to.x - from.x)
      draw->AddText({from.x + t.em * 0.3f, from.y + t.em * 1.2f}, packed(t.warning), "held back");
  }
  ImPlot::PopPlotClipRect();
  if (c.max_sm_mhz) {
    const double limit_x[] = {0, s.end_ms}, limit_y[] = {*c.max_sm_mhz, *c.max_sm_mhz};
    ImPlot::PlotLine("##limit", limit_x, limit_y, 2, plots::line(t.dim, 1));
  }
  for (size_t i = 0; i < s.stretches.size(); i++) {
    const auto& stretch = s.stretches[i];
    ImPlot::PlotStairs(fmt::format("##sm{}", i).c_str(), stretch.t_ms.data(), stretch.sm_mhz.data(),
                       static_cast<int>(stretch.t_ms.size()),
                       stretch.idle ? plots::line(t.dim, 1.2f) : plots::line(t.kernel, 1.8f));
  }
  if (ImPlotPoint at; plots::pointed(at) && ImGui::BeginTooltip()) {
    auto after = std::upper_bound(c.over_time.begin(), c.over_time.end(), at.x,
                                  [](double x, const ClockReading& r) { return x < r.t_ms; });
    const ClockReading& reading = after == c.over_time.begin() ? *after : *(after - 1);
    ImGui::PushTextWrapPos(t.em * 24);
    ImGui::TextUnformatted(reading_text(reading).c_str());
    if (c.max_sm_mhz) ImGui::TextDisabled("The thin line is the highest clock, %.0f MHz.", *c.max_sm_mhz);
    if (c.readings_for_one > 1)
      ImGui::TextDisabled("Of %d readings that with the lowest clock, and the reasons of all.", c.readings_for_one);
    ImGui::TextDisabled("source: %s", source.c_str());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-clocks", [&] { return conditions_csv(c, source); });
}

bool in(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Those that the strip draws: of the run; of a run of before, those of its profile.
const GpuConditions& drawn_conditions(const Report& r, const Profile* p) {
  const bool of_run = r.conditions.known() || (!r.conditions.reason.empty() && !(p && p->conditions.known()));
  return of_run || !p ? r.conditions : p->conditions;
}

}  // namespace

void draw_clock_strip(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  const Profile* p = f.bench.profile_of(r.document);
  const GpuConditions& c = drawn_conditions(r, p);
  const bool of_run = &c == &r.conditions;
  heading(t, "Clocks while it was timed");
  const std::string& recorded = of_run ? r.recorded : p->recorded;
  const std::string source = c.source.starts_with("recorded") ? c.source : measured_words(recorded, "measured by NVML");
  if (!c.known()) {
    dim_text(t, !c.reason.empty()    ? c.reason
                : r.recorded.empty() ? "the engine told nothing of clocks, temperature and power"
                                     : "clocks, temperature and power were not kept when this was recorded");
    return;
  }
  wrapped(c.line);
  tooltip(t, fmt::format("Least and most {}; readings of a resting GPU are left out, and drawn dim.\nsource: {}",
                         of_run ? "while the kernel was timed" : "while the kernel was profiled", source));
  static ClockStrip s;
  const uint64_t serial = of_run ? r.serial : p->serial;
  // Another window's report may have the place and the number of one that is gone: what it says tells them apart.
  if (s.of != &c || s.serial != serial || s.line != c.line || s.warnings != c.warnings)
    s = strip_of(c), s.of = &c, s.serial = serial, s.line = c.line, s.warnings = c.warnings;
  if (s.stretches.empty())
    dim_text(t, c.over_time.empty() && !recorded.empty()
                    ? "ranges only: how they changed over time was not kept when this was recorded"
                    : "the GPU did not tell its clock over time");
  else
    plot_strip(f, c, s, source);
  ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
  if (c.throttled_fraction.value_or(0) > 0 && c.warnings.empty())
    wrapped(fmt::format("held back in {:.0f} % of the readings", 100 * *c.throttled_fraction));
  for (const auto& w : c.warnings) wrapped(w);
  ImGui::PopStyleColor();
}

void draw_three_clocks(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  if (r.device_kind != "cuda") return;
  follow_with_profile(f);
  const Profile* p = f.bench.profile_of(r.document);
  heading(t, "One call by three clocks");
  if (!p) {
    dim_text(t, f.bench.measuring().waits() ? "profiling…"
                : r.recorded.empty()
                    ? "CUPTI's time of its kernels and the host's time come with a profile (F6)"
                    : "CUPTI's time of its kernels and the host's time are not in this recording: it has no profile "
                      "of this kernel");
    return;
  }
  ImGui::BeginGroup();
  const std::string measured = measured_words(p->recorded), records = measured_words(p->recorded, "recorded by CUPTI");
  if (begin_figures("three clocks")) {
    auto row = [&](const char* label, const std::optional<double>& ms, const About& about) {
      figure(t, label, ms ? time_text(*ms) : "–", about);
    };
    row("events on the GPU, hot", p->hot_ms,
        {"From before its first launch to after its last, by events in the GPU's stream; the median of the profile's "
         "own samples.",
         "", measured.c_str()});
    row("its kernels alone, CUPTI", p->kernel_ms,
        {"From each kernel's begin to its end, by CUPTI's records of one call, added up. Shorter than by events where "
         "the GPU waits between launches.",
         "sum of its kernels' durations", records.c_str()});
    row("seen from the host", p->host_ms,
        {"From the call to the return of a wait for its end, on the host's clock. All its launches are issued at once, "
         "and waited for together: longer than by events by the way of the first launch to the GPU and of the end "
         "back, and where the GPU waits for launches that the host has not issued yet.",
         "median of the calls, packing included where it packs", measured.c_str()});
    end_figures();
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-three-clocks", [&] {
    auto cell = [](const std::optional<double>& v) { return v ? fmt::format("{:.9g}", *v) : std::string(); };
    return fmt::format("clock,ms\nevents,{}\ncupti kernels,{}\nhost,{}\n", cell(p->hot_ms), cell(p->kernel_ms),
                       cell(p->host_ms));
  });
  if (!p->kernel_ms) dim_text(t, "–: " + (p->kernel_reason.empty() ? "no kernel was recorded" : p->kernel_reason));
  if (!p->host_ms) dim_text(t, "–: " + (p->host_reason.empty() ? "the host's time was not taken" : p->host_reason));
  ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
  // What the strip says of the clocks stands there; it may be of the run, and say nothing of the profile's.
  const GpuConditions& drawn = drawn_conditions(r, p);
  for (const auto& w : p->warnings)
    if (!drawn.known() || !in(drawn.warnings, w))
      wrapped(&drawn != &p->conditions && in(p->conditions.warnings, w) ? "while it was profiled " + w : w);
  ImGui::PopStyleColor();
}

}  // namespace convscope::ui
