// What ran when, on one axis of time: the launches, and below them what the chip did meanwhile.
#include "profiling/cupti/timeline.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/panel.h"
#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

struct Bar {
  std::string name, about;
  double start_us, end_us;
  size_t row = 0;  // those that overlap lie below each other
};

// What is drawn, made once a profile.
struct TimelineState {
  uint64_t serial = 0;
  std::vector<Bar> bars;
  size_t rows = 1;
  std::string bars_source;
  double x0 = 0, x1 = 1, low = 0, high = 1;  // seen now; all there is
  void fit() { x0 = low, x1 = high; }
};

std::string span_text(double us) { return time_text(us / 1000); }

// The launches on the lanes' own clock where they were recorded there, else those of the recorded call.
void make_bars(TimelineState& s, const Profile& p) {
  s.bars.clear();
  auto shape = [](const std::array<int64_t, 3>& v) { return fmt::format("{}×{}×{}", v[0], v[1], v[2]); };
  auto facts = [&](const std::string& name) {
    for (const auto& k : p.kernels)
      if (k.name == name)
        return fmt::format("\ngrid {}, {} threads a block", shape(k.grid), k.block[0] * k.block[1] * k.block[2]);
    return std::string();
  };
  s.bars_source = "recorded by CUPTI";
  for (const auto& l : p.timeline.launches)
    s.bars.push_back({l.name, span_text(l.end_us - l.start_us) + facts(l.name), l.start_us, l.end_us});
  if (s.bars.empty())
    for (const auto& k : p.kernels)
      s.bars.push_back({k.name, span_text(k.ms * 1000) + facts(k.name), k.start_us, k.start_us + k.ms * 1000});
  if (s.bars.empty()) {
    // The engine's own phases, of the same name taken together, one behind the other.
    s.bars_source = "measured on the engine's host";
    double at = 0;
    for (const auto& phase : p.phases) {
      double us = phase.seconds * 1e6;
      s.bars.push_back({phase.name, span_text(us), at, at + us});
      at += us;
    }
  }
  std::vector<TimeSpan> spans;
  for (const auto& b : s.bars) spans.push_back({b.start_us, b.end_us});
  const std::vector<size_t> rows = rows_of(spans);
  s.rows = 1;
  for (size_t i = 0; i < rows.size(); i++) s.bars[i].row = rows[i], s.rows = std::max(s.rows, rows[i] + 1);
  s.low = 0, s.high = 0;
  for (const auto& b : s.bars) s.high = std::max(s.high, b.end_us);
  if (!p.timeline.lanes.empty())
    s.low = std::min(0.0, p.timeline.start_us.front()), s.high = std::max(s.high, p.timeline.end_us.back());
  if (s.high <= s.low) s.high = s.low + 1;
  double margin = (s.high - s.low) * 0.01;
  s.low -= margin, s.high += margin;
  s.fit();
}

constexpr ImPlotFlags plot_flags = ImPlotFlags_CanvasOnly | ImPlotFlags_NoFrame;
constexpr ImPlotAxisFlags still = plots::axis | ImPlotAxisFlags_Lock;

// An axis of time that all plots share: dragged and zoomed in one, moved in all.
void time_axis(TimelineState& s, bool labels) {
  ImPlot::SetupAxis(ImAxis_X1, nullptr, plots::axis | (labels ? 0 : ImPlotAxisFlags_NoTickLabels));
  ImPlot::SetupAxisLinks(ImAxis_X1, &s.x0, &s.x1);
  ImPlot::SetupAxisLimitsConstraints(ImAxis_X1, s.low, s.high);
  ImPlot::SetupAxisZoomConstraints(ImAxis_X1, (s.high - s.low) * 1e-4, s.high - s.low);
  ImPlot::SetupAxisFormat(ImAxis_X1, [](double v, char* out, int size, void*) {
    std::string text = std::abs(v) < 1e-9 ? "0" : (v < 0 ? "−" : "") + span_text(std::abs(v));
    return plots::write_label(out, size, text);
  });
}

std::string csv_of(const TimelineState& s, const Profile& p) {
  std::string out = "kind,name,start_us,end_us,value,unit\n";
  for (const auto& b : s.bars) out += fmt::format("span,\"{}\",{:.9g},{:.9g},,\n", b.name, b.start_us, b.end_us);
  for (const auto& lane : p.timeline.lanes)
    for (size_t i = 0; i < lane.values.size(); i++)
      out += fmt::format("lane,{},{:.9g},{:.9g},{:.6g},{}\n", lane.name, p.timeline.start_us[i], p.timeline.end_us[i],
                         lane.values[i], lane.unit);
  return out;
}

void draw_bars(Frame& f, TimelineState& s, const Profile& p) {
  const Theme& t = f.theme;
  // A kernel that is launched early begins before the one ahead of it has ended.
  const float high = t.em * (4.2f + 1.8f * static_cast<float>(std::min<size_t>(s.rows, 4) - 1));
  const auto all_rows = static_cast<double>(s.rows);
  if (!ImPlot::BeginPlot("##launches", {ImGui::GetContentRegionAvail().x, high}, plot_flags)) return;
  time_axis(s, true);
  ImPlot::SetupAxis(ImAxis_Y1, nullptr, still | ImPlotAxisFlags_NoDecorations);
  ImPlot::SetupAxisLimits(ImAxis_Y1, 0, all_rows, ImPlotCond_Always);
  ImPlot::SetupFinish();
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  const Bar* pointed = nullptr;
  ImPlotPoint at;
  const bool inside = plots::pointed(at);
  ImPlot::PushPlotClipRect();
  for (size_t i = 0; i < s.bars.size(); i++) {
    const Bar& b = s.bars[i];
    const double top = all_rows - static_cast<double>(b.row);
    ImVec2 low = ImPlot::PlotToPixels(b.start_us, top - 0.1), end = ImPlot::PlotToPixels(b.end_us, top - 0.9);
    end.x = std::max(end.x, low.x + 1);
    if (inside && at.x >= b.start_us && at.x <= b.end_us && at.y <= top && at.y > top - 1) pointed = &b;
    draw->AddRectFilled(low, end, packed(i % 2 ? t.accent : t.kernel, &b == pointed ? 0.75f : 0.45f), t.em * 0.15f);
    float text_left = std::max(low.x, ImPlot::GetPlotPos().x) + t.em * 0.4f;
    std::string label = fmt::format("{}  {}", b.name, b.about.substr(0, b.about.find('\n')));
    if (ImGui::CalcTextSize(label.c_str()).x < end.x - text_left)
      draw->AddText({text_left, (low.y + end.y - t.em) / 2}, packed(t.text), label.c_str());
  }
  ImPlot::PopPlotClipRect();
  if (pointed) {
    std::string words = fmt::format("{}: {}\nfrom {} on\nsource: {}", pointed->name, pointed->about,
                                    span_text(pointed->start_us), s.bars_source);
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(t.em * 26);
    ImGui::TextUnformatted(words.c_str());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-launches", [&] { return csv_of(s, p); });
}

// Three digits, and no exponent where a person would write none.
std::string plain_figure(double v) {
  double size = std::abs(v);
  return size >= 100 && size < 1e7 ? fmt::format("{:.0f}", v) : fmt::format("{:.3g}", v);
}

std::string lane_value(double v, const std::string& unit) {
  return fmt::format("{}{}{}", plain_figure(v), unit.empty() ? "" : " ",
                     unit == "instruction/cycle" ? "a cycle" : unit);
}

bool runs_at(const ProfileTimeline& line, double us) {
  if (line.launches.empty()) return us >= 0 && us <= line.work_us;
  return std::any_of(line.launches.begin(), line.launches.end(),
                     [&](const LaunchSpan& l) { return us >= l.start_us && us <= l.end_us; });
}

void draw_lane(Frame& f, TimelineState& s, const Profile& p, size_t index) {
  const Theme& t = f.theme;
  const ProfileTimeline& line = p.timeline;
  const TimelineLane& lane = line.lanes[index];
  ImGui::TextUnformatted(lane.unit.empty() ? lane.title.c_str() : (lane.title + ", " + lane.unit).c_str());
  tooltip(t, fmt::format("{}\nmean {}, from {} to {} while kernels ran\nsource: {}", lane.about,
                         lane_value(lane.mean, lane.unit), lane_value(lane.least, lane.unit),
                         lane_value(lane.most, lane.unit), line.source));
  ImGui::SameLine();
  right_aligned("mean while kernels ran " + lane_value(lane.mean, lane.unit), t.dim);
  ImGui::PushID(lane.name.c_str());
  if (ImPlot::BeginPlot("##lane", {ImGui::GetContentRegionAvail().x, t.em * 4.6f}, plot_flags)) {
    const bool percent = lane.unit == "%";
    // The axis ends at one, two or five times a power of ten.
    double top = 100;
    if (!percent) {
      double most = std::max(1e-9, *std::max_element(lane.values.begin(), lane.values.end()));
      double decade = std::pow(10.0, std::floor(std::log10(most)));
      top = most <= decade * (1 + 1e-9) ? decade
            : most <= 2 * decade        ? 2 * decade
            : most <= 5 * decade        ? 5 * decade
                                        : 10 * decade;
    }
    time_axis(s, false);
    ImPlot::SetupAxis(ImAxis_Y1, nullptr, still);
    ImPlot::SetupAxisLimits(ImAxis_Y1, 0, top * 1.08, ImPlotCond_Always);
    const double ticks[] = {0, top};
    const std::string highest = plain_figure(top);
    const char* labels[] = {"0", highest.c_str()};
    ImPlot::SetupAxisTicks(ImAxis_Y1, ticks, 2, labels);
    ImPlot::SetupFinish();
    const int n = static_cast<int>(lane.values.size());
    // Stairs: a point holds for its whole interval.
    ImPlot::PlotStairs("##value", line.start_us.data(), lane.values.data(), n, plots::line(t.kernel));
    double ends[] = {0, line.work_us};
    ImPlot::PlotInfLines("##work", ends, 2, plots::line(t.dim, 1));
    if (ImPlotPoint at; plots::pointed(at)) {
      auto after = std::upper_bound(line.start_us.begin(), line.start_us.end(), at.x);
      size_t i = after == line.start_us.begin() ? 0 : static_cast<size_t>(after - line.start_us.begin()) - 1;
      ImGui::BeginTooltip();
      ImGui::Text("%s to %s", span_text(std::max(0.0, line.start_us[i])).c_str(),
                  span_text(std::max(0.0, line.end_us[i])).c_str());
      for (const auto& other : line.lanes)
        ImGui::TextColored(&other == &lane ? t.text : t.dim, "%s: %s", other.title.c_str(),
                           lane_value(other.values[i], other.unit).c_str());
      ImGui::TextDisabled("%s\nsource: %s", !runs_at(line, at.x) ? "no kernel runs here" : lane.about.c_str(),
                          line.source.c_str());
      ImGui::EndTooltip();
    }
    ImPlot::EndPlot();
    copy_menu(f, "copy-lane", [&] { return csv_of(s, p); });
  }
  ImGui::PopID();
}

void head(Frame& f, TimelineState& s, const Profile& p) {
  const Theme& t = f.theme;
  const ProfileTimeline& line = p.timeline;
  if (ImGui::Button("Fit")) s.fit();
  tooltip(t, "Show all of it. Drag to move, turn the wheel to zoom, double-click to see all.");
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  std::string words = p.kernel;
  if (!line.lanes.empty()) {
    words += fmt::format(": kernels ran for {}", span_text(line.kernels_us));
    if (line.work_us > 1.02 * line.kernels_us)
      words += fmt::format(
          " of the {} from the first one's begin to the last one's end; what lies between is no part of a "
          "mean (recording kernels keeps them apart)",
          span_text(line.work_us));
    words += fmt::format("; a point each {}", span_text(line.interval_us));
    if (line.calls > 1) words += fmt::format("; {} calls back to back, since one is short", line.calls);
  }
  wrapped(words);
  if (!line.lanes.empty())
    dim_text(t, line.source + ", in a call of its own: sampled calls take longer than timed ones");
}

}  // namespace

void draw_timeline(Frame& f) {
  static TimelineState s;
  const Theme& t = f.theme;
  const Profile *now = f.bench.profile_of(f.document), *p = now ? now : f.bench.measuring().profile();
  if (f.bench.measuring().waits()) {
    ImGui::TextColored(t.accent, "counting…");
    f.again_in(0.25);
  }
  if (!p) {
    if (!f.bench.measuring().waits() &&
        empty_state(t, "No timeline yet",
                    "Profile a kernel with all counters: its launches, and on a GPU what the chip did while they ran.",
                    "All counters"))
      f.act("profile-full");
    return;
  }
  if (s.serial != p->serial) s.serial = p->serial, make_bars(s, *p);
  if (!now) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(other_document_words(p->document, f.document));
    ImGui::PopStyleColor();
  }
  head(f, s, *p);
  const bool aligned = ImPlot::BeginAlignedPlots("timeline");  // one axis of time, whatever stands beside it
  if (!s.bars.empty()) {
    const bool phases = p->timeline.launches.empty() && p->kernels.empty();
    heading(t, phases ? "What the engine did for this profile" : "Launches");
    draw_bars(f, s, *p);
  }
  for (size_t i = 0; i < p->timeline.lanes.size(); i++) draw_lane(f, s, *p, i);
  if (aligned) ImPlot::EndAlignedPlots();
  if (p->timeline.lanes.empty()) {
    heading(t, "What the chip did meanwhile");
    wrapped(p->timeline.reason.empty() ? "no lanes were sampled" : p->timeline.reason);
    dim_text(t, "Here would be memory, multiprocessors, warps, instructions and L2 traffic over time.");
    if (p->device_kind == "cuda" && !p->full && !f.bench.measuring().waits() && ImGui::Button("All counters"))
      f.act("profile-full");
  }
}

}  // namespace convscope::ui
