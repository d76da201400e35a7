// How long the kernel takes, beside what else could have done it and beside what the bytes and operations allow.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <optional>
#include <utility>

#include "app/model/floor.h"
#include "app/model/kernel_times.h"
#include "app/model/roof.h"
#include "app/model/times.h"
#include "app/ui/panel.h"
#include "app/ui/panels/clocks.h"
#include "app/ui/panels/plots.h"
#include "app/ui/panels/tuning.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

// Samples as a histogram, made once a report.
struct Samples {
  uint64_t serial = 0;
  std::vector<double> at, hot, cold;
  double low = 0, high = 1, width = 1, tallest = 1, quarter = 0, three_quarters = 0;
};

Samples samples_of(const Report& r) {
  constexpr int bins = 30;
  Samples s;
  s.serial = r.serial;
  const auto &hot = r.timing.samples_ms, &cold = r.timing.cold_samples_ms;
  if (hot.empty()) return s;
  s.low = *std::min_element(hot.begin(), hot.end()), s.high = *std::max_element(hot.begin(), hot.end());
  for (double v : cold) s.low = std::min(s.low, v), s.high = std::max(s.high, v);
  double margin = std::max((s.high - s.low) * 0.04, s.high * 1e-3);
  s.low -= margin, s.high += margin;
  s.width = (s.high - s.low) / bins;
  s.at.resize(bins), s.hot.resize(bins), s.cold.resize(bins);
  for (int i = 0; i < bins; i++) s.at[static_cast<size_t>(i)] = s.low + (i + 0.5) * s.width;
  auto count = [&](const std::vector<double>& from, std::vector<double>& into) {
    for (double v : from)
      s.tallest = std::max(
          s.tallest, ++into[static_cast<size_t>(std::clamp(static_cast<int>((v - s.low) / s.width), 0, bins - 1))]);
  };
  count(hot, s.hot), count(cold, s.cold);
  std::vector<double> sorted = hot;
  std::sort(sorted.begin(), sorted.end());
  s.quarter = sorted[sorted.size() / 4], s.three_quarters = sorted[sorted.size() * 3 / 4];
  return s;
}

std::string factor_text(double f) {
  return f >= 100 ? fmt::format("{:.0f}×", f) : f >= 10 ? fmt::format("{:.1f}×", f) : fmt::format("{:.2f}×", f);
}

bool emulated(const Report& r) { return r.timing.source == "emulated"; }

std::string source_of(const Report& r) {
  if (!r.recorded.empty()) return "recorded: " + r.recorded + (emulated(r) ? ", emulated" : "");
  return emulated(r) ? "emulated: host time of the CPU emulator, says nothing of a GPU"
                     : "measured on " + (r.device_name.empty() ? "the GPU" : r.device_name);
}

void head(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  const auto& m = r.timing;
  ImGui::PushFont(t.code_font, ImGui::GetStyle().FontSizeBase * 1.7f);
  ImGui::TextColored(emulated(r) ? t.dim : t.kernel, "%s", time_text(*m.median_ms).c_str());
  ImGui::PopFont();
  const std::string source = emulated(r) ? "emulated" : measured_words(r.recorded, "measured with GPU events");
  const About about{
      "Median time of one run of the kernel, launches and nothing else, with its data in the cache from the run "
      "before.",
      "median of the samples", source.c_str()};
  explain_item(t, about);
  ImGui::SameLine(0, t.em * 0.5f);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + t.em * 0.75f);
  const char* of = r.status == "not-judged" ? "hot, of the profile" : "hot, of the run";
  ImGui::TextDisabled("median%s%s%s", m.packed.packs == true ? ", packing included" : "", emulated(r) ? "" : ", ",
                      emulated(r) ? "" : of);
  explain_item(t, about);
  if (emulated(r)) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(source_of(r));
    ImGui::PopStyleColor();
  } else if (r.recorded.empty()) {  // else the strip above says where
    dim_text(t, source_of(r));
  }
}

// The list of kernels, the ladder and the status bar have the newest time of each kernel, which may be another one.
void newest_time(Frame& f, const Report& r) {
  if (r.recorded.empty() || emulated(r)) return;
  const KernelTimes times = kernel_times(f.bench, f.document);
  const KernelTime* newest = times.of(r.kernel);
  if (!newest || time_text(newest->ms) == time_text(*r.timing.median_ms)) return;
  const bool far = std::abs(newest->ms / *r.timing.median_ms - 1) >= 0.05;
  ImGui::PushStyleColor(ImGuiCol_Text, far ? f.theme.warning : f.theme.dim);
  wrapped(fmt::format("The Ladder has {}: {}, which is newer", time_text(newest->ms), newest->of));
  ImGui::PopStyleColor();
  tooltip(
      f.theme,
      "A recording may hold several times of one kernel. This panel has the samples of the run that was judged; the "
      "panels Ladder and Kernels and the status bar have the newest time of each kernel.");
}

// A call of inference, whose weights were packed once, and what packing them takes: both ways beside the whole plan's
// time.
void packed_figures(const Theme& t, const ReportTiming& m, const char* source) {
  const PackedTime& p = m.packed;
  if (p.packs == false) return;
  const char* what =
      "Median of a call whose weights a call before has packed: what inference pays, where weights are constant. Calls "
      "follow each other as in a model: a launch that may begin early does so while the call before it ends. The large "
      "figure above is of the whole plan, which packs them in each call.";
  if (!p.median_ms) {
    if (!p.packs || !p.told) figure(t, "weights packed before", "not recorded", {what, "", p.reason.c_str()}, &t.dim);
    return;
  }
  figure(t, "weights packed before", time_text(*p.median_ms),
         {what, "median of samples without the launches that pack", source});
  if (p.cold_median_ms)
    figure(t, "packed before, cold", time_text(*p.cold_median_ms),
           {"The same with the L2 cache flushed before every sample: packed weights come from memory.",
            "median of the cold samples", source});
  if (p.packing_ms)
    figure(
        t, "packing", time_text(*p.packing_ms),
        {"The launches that pack weights, alone: paid once, when weights change. A call that packs may take less than "
         "both together, since the next launch may begin before packing has ended.",
         "median of samples of these launches", source});
}

void floor_figure(const Theme& t, const ProblemFloor& floor) {
  figure(t, fmt::format("floor ({} at {})", floor.by_bytes ? "bytes" : "operations", floor.rate).c_str(),
         time_text(floor.ms),
         {floor_rule, floor_formula,
          ("computed from the problem and the rates of " + floor.words.substr(floor.words.find(" of ") + 4)).c_str()},
         &t.floor);
}

void figures(Frame& f, const Report& r, const std::optional<ProblemFloor>& floor) {
  const Theme& t = f.theme;
  const auto& m = r.timing;
  const std::string words = emulated(r) ? "emulated" : measured_words(r.recorded);
  const char* source = words.c_str();
  if (begin_figures("times")) {
    if (m.min_ms) figure(t, "shortest", time_text(*m.min_ms), {"The shortest sample.", "min of the samples", source});
    if (m.noise_pct)
      figure(t, "noise", "± " + noise_text(*m.noise_pct),
             {"Half of all samples lie within this of the median.", "(p75 − p25) / 2 / median", source});
    figure(t, "samples", grouped(static_cast<int64_t>(m.samples_ms.size())),
           {"Runs that were timed one by one, until the median was known well enough.", "", source});
    if (m.cold_median_ms)
      figure(t, "cold median", time_text(*m.cold_median_ms),
             {"Median with the L2 cache flushed before every sample.", "median of the cold samples", source});
    packed_figures(t, m, source);
    if (floor) floor_figure(t, *floor);
    if (m.launch_ms)
      figure(
          t, "a launch of nothing, at least",
          time_text(*m.launch_ms) + (m.launch_noise_pct ? " ± " + noise_text(*m.launch_noise_pct) : ""),
          {"One warp that ends at once, timed as the kernel is, hot: no kernel takes less, and of a small problem it "
           "is most of the time.",
           "the shortest sample", source});
    if (!emulated(r)) {
      double s = *m.median_ms * 1e-3;
      const std::string computed =
          r.recorded.empty() ? "computed from the measured time" : "computed from the recorded time";
      const bool packs = m.packed.packs == true;  // the median is of the whole plan
      figure(
          t, packs ? "work, packing included" : "work",
          r.flops / s < 1e13 ? fmt::format("{:.4g} GFLOP/s", r.flops / s * 1e-9)
                             : fmt::format("{:.3g} TFLOP/s", r.flops / s * 1e-12),
          {"Useful operations a second. Taps that fall outside the output or between input elements are not counted.",
           "2 · exact taps / median", computed.c_str()});
      figure(t, packs ? "traffic, packing included" : "traffic", fmt::format("{:.4g} GB/s", r.least_bytes / s * 1e-9),
             {"Least bytes a second: x, w and b read once, y written once. What a kernel really moves may be more.",
              "least bytes / median", computed.c_str()});
    }
    end_figures();
  }
  auto absent = [&](bool there, const char* what, const std::string& reason) {
    if (!there) dim_text(t, fmt::format("no {}: {}", what, reason.empty() ? "no reason was given" : reason));
  };
  absent(m.cold_median_ms.has_value(), "cold median", m.cold_reason);
  absent(m.packed.median_ms || m.packed.packs != true, "time with weights packed before", m.packed.reason);
  absent(floor.has_value(), "floor", m.floor_reason);
  if (emulated(r)) dim_text(t, "no GFLOP/s and GB/s: they would be the emulator's");
}

// Whose arithmetic is less accurate than what is asked for may be below the floor.
bool looser(const Frame& f, const Report& r, const std::string& name) { return is_looser(f.bench, r.document, name); }

// Of a time: how many times the floor it is, as every panel has it; and in the tooltip how many times that of its own
// arithmetic, where it is stricter than what is allowed.
struct TimesFloor {
  std::string factor, about;
};
TimesFloor times_floor(const Frame& f, const Report& r, const ProblemFloor& floor, const std::string& name, double ms) {
  if (looser(f, r, name))
    return {fmt::format("{}, not {}", name_of(promised_by(f.bench, name)), name_of(r.document.accuracy)), ""};
  TimesFloor out{factor_text(ms / floor.ms) + " the floor", ""};
  const Roof roof = roof_of(f.bench, f.document, r);
  if (auto own = own_floor(f.bench, roof, r, name); own && *own > floor.ms)
    out.about = fmt::format("\n{} that of its own arithmetic ({}): {}", factor_text(ms / *own),
                            name_of(promised_by(f.bench, name)), time_text(*own));
  return out;
}

void bars(Frame& f, const Report& r, const std::optional<ProblemFloor>& floor) {
  const Theme& t = f.theme;
  const auto& m = r.timing;
  struct Bar {
    const std::string& name;
    double ms;
    const ImVec4& colour;
    bool chosen;
    std::optional<double> packed_ms = {};  // of it, with weights packed before
  };
  static const std::string floor_name = "floor";
  std::vector<Bar> all;
  const bool comparable = !emulated(r);
  if (comparable) all.push_back({r.kernel, *m.median_ms, t.kernel, true, m.packed.median_ms});
  for (const auto& ref : r.references)
    if (ref.median_ms) all.push_back({ref.name, *ref.median_ms, t.reference, ref.name == f.document.compare_with});
  if (floor) all.push_back({floor_name, floor->ms, t.floor, false});
  heading(t, "Beside references and floor");
  double longest = 0;
  for (const auto& b : all) longest = std::max(longest, b.ms);
  const float em = t.em, width = ImGui::GetContentRegionAvail().x;
  for (const auto& b : all) {
    ImGui::PushID(b.name.c_str());
    ImVec2 at = ImGui::GetCursorScreenPos();
    ImDrawList* draw = ImGui::GetWindowDrawList();
    std::string time = time_text(b.ms), factor;
    std::string about_factor;
    if (floor && &b.name != &floor_name) {
      const TimesFloor times = times_floor(f, r, *floor, b.name, b.ms);
      factor = times.factor, about_factor = times.about;
    }
    ImFont* font = b.chosen ? t.bold_font : t.text_font;
    draw->AddText(font, em, at, packed(b.colour), b.name.c_str());
    float right = at.x + width - t.code_font->CalcTextSizeA(em, FLT_MAX, 0, time.c_str()).x;
    draw->AddText(t.code_font, em, {right, at.y}, packed(t.text), time.c_str());
    float factor_width = ImGui::CalcTextSize(factor.c_str()).x,
          name_width = font->CalcTextSizeA(em, FLT_MAX, 0, b.name.c_str()).x;
    const bool fits = right - em * 1.5f - factor_width > at.x + name_width;
    if (fits) draw->AddText({right - em - factor_width, at.y}, packed(t.dim), factor.c_str());
    float top = at.y + em * 1.35f, length = std::max(2.0f, width * static_cast<float>(b.ms / longest));
    draw->AddRectFilled({at.x, top}, {at.x + width, top + em * 0.45f}, packed(t.raised), em * 0.15f);
    // Packing is the lighter end of its bar.
    float of_call = b.packed_ms ? length * static_cast<float>(std::min(1.0, *b.packed_ms / b.ms)) : length;
    if (of_call < length)
      draw->AddRectFilled({at.x, top}, {at.x + length, top + em * 0.45f}, packed(b.colour, 0.4f), em * 0.15f);
    draw->AddRectFilled({at.x, top}, {at.x + of_call, top + em * 0.45f}, packed(b.colour), em * 0.15f);
    ImGui::Dummy({width, em * 2.1f});
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) {
      std::string words = fmt::format("{}: {}", b.name, time);
      if (!factor.empty()) words += ", " + factor + about_factor;
      if (b.packed_ms)
        words += fmt::format("\nof it {} with weights packed before (dark), the rest is packing (light)",
                             time_text(*b.packed_ms));
      if (comparable && &b.name != &floor_name && b.name != r.kernel)
        words +=
            fmt::format("\n{} takes {} its time{}", file_name(r.kernel),
                        factor_text(m.packed.median_ms.value_or(*m.median_ms) / b.ms),
                        m.packed.median_ms ? fmt::format(" with weights packed before, {} with packing in each call",
                                                         factor_text(*m.median_ms / b.ms))
                                           : "");
      for (const auto& ref : r.references)
        if (ref.name == b.name && !ref.what_ran.empty()) words += "\n" + ref.what_ran;
      words += &b.name == &floor_name ? "\nsource: computed from the problem and the device"
               : comparable           ? "\nsource: " + measured_words(r.recorded, "measured on the same device")
                                      : "\nsource: " + measured_words(r.recorded, "measured on the CPU");
      tooltip(t, words);
    }
    ImGui::PopID();
  }
  if (!comparable) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(fmt::format("{} has no bar: its {} are the emulator's and cannot be compared", file_name(r.kernel),
                        time_text(*m.median_ms)));
    ImGui::PopStyleColor();
  }
  for (const auto& ref : r.references) {
    if (comparable && ref.median_ms && ref.name == f.document.compare_with)
      wrapped(fmt::format("{} takes {} the time of {}{}{}", file_name(r.kernel),
                          factor_text(m.packed.median_ms.value_or(*m.median_ms) / *ref.median_ms), ref.name,
                          looser(f, r, ref.name) ? ", which is less accurate than asked" : "",
                          m.packed.median_ms
                              ? fmt::format(", with its weights packed before; with packing in each call {}",
                                            factor_text(*m.median_ms / *ref.median_ms))
                              : ""));
    if (!ref.median_ms && ref.name != "oracle")
      dim_text(t, fmt::format("{}: {}", ref.name, ref.reason.empty() ? "not timed" : ref.reason));
  }
}

std::string timing_csv(const Report& r, const std::optional<ProblemFloor>& floor = {}) {
  std::string out = "series,index,ms\n";
  if (!r.recorded.empty()) out = "# " + source_of(r) + "\n" + out;
  if (r.timing.median_ms)
    out += fmt::format("{} median,,{:.9g}\n", emulated(r) ? "emulated" : "hot", *r.timing.median_ms);
  if (r.timing.cold_median_ms) out += fmt::format("cold median,,{:.9g}\n", *r.timing.cold_median_ms);
  const PackedTime& packed = r.timing.packed;
  for (auto [name, ms] : {std::pair("hot, weights packed before, median", packed.median_ms),
                          {"cold, weights packed before, median", packed.cold_median_ms},
                          {"packing alone, median", packed.packing_ms}})
    if (ms) out += fmt::format("\"{}\",,{:.9g}\n", name, *ms);
  size_t i = 0;
  for (double v : r.timing.samples_ms) out += fmt::format("{},{},{:.9g}\n", emulated(r) ? "emulated" : "hot", i++, v);
  i = 0;
  for (double v : r.timing.cold_samples_ms) out += fmt::format("cold,{},{:.9g}\n", i++, v);
  for (const auto& ref : r.references)
    if (ref.median_ms) out += fmt::format("{} median,,{:.9g}\n", ref.name, *ref.median_ms);
  if (floor) out += fmt::format("\"floor {}\",,{:.9g}\n", floor->words, floor->ms);
  return out;
}

void histogram(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  static Samples s;
  if (s.serial != r.serial) s = samples_of(r);
  if (s.at.empty()) return;
  heading(t, "Samples");
  auto key = [&](const char* words, const ImVec4& colour, float alpha) {
    ImGui::SameLine(0, t.em);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float high = ImGui::GetTextLineHeight();
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + high * 0.25f}, {at.x + t.em * 0.6f, at.y + high * 0.8f},
                                              packed(colour, alpha));
    ImGui::Dummy({t.em * 0.6f, high});
    ImGui::SameLine(0, t.em * 0.3f);
    dim_text(t, words);
  };
  key(emulated(r) ? "emulated" : "hot", t.kernel, emulated(r) ? 0.5f : 0.9f);
  if (!r.timing.cold_samples_ms.empty()) key("cold (L2 cache flushed)", t.dim, 0.55f);
  if (!ImPlot::BeginPlot("##samples", {ImGui::GetContentRegionAvail().x, t.em * 10}, plots::fixed)) return;
  const bool micro = s.high < 1;
  ImPlot::SetupAxes(micro ? "µs" : "ms", "samples", plots::axis, plots::axis);
  // Above the bars there is room for a line of text.
  const double top = s.tallest * 1.35;
  ImPlot::SetupAxesLimits(s.low, s.high, 0, top, ImPlotCond_Always);
  if (micro) ImPlot::SetupAxisFormat(ImAxis_X1, plots::label_in_us);
  if (s.tallest < 5) ImPlot::SetupAxisTicks(ImAxis_Y1, 0, s.tallest, static_cast<int>(s.tallest) + 1);
  if (s.three_quarters > s.quarter) {
    double x[2] = {s.quarter, s.three_quarters}, y[2] = {top, top};
    ImPlot::PlotShaded("half of all", x, y, 2, 0, plots::fill(t.text, 0.08f));
  }
  if (!r.timing.cold_samples_ms.empty())
    ImPlot::PlotBars("cold", s.at.data(), s.cold.data(), static_cast<int>(s.at.size()), s.width * 0.9,
                     plots::fill(t.dim, 0.55f));
  ImPlot::PlotBars("hot", s.at.data(), s.hot.data(), static_cast<int>(s.at.size()), s.width * 0.9,
                   plots::fill(t.kernel, emulated(r) ? 0.5f : 0.9f));
  plots::mark_x("median", *r.timing.median_ms, t.text, 1.5f);
  ImPlot::Annotation(*r.timing.median_ms, top, t.background, {t.em * 0.3f, t.em * 0.2f}, true, "%s",
                     emulated(r) ? "median" : "median, hot");
  ImPlotPoint p;
  if (plots::pointed(p) && ImGui::BeginTooltip()) {
    auto i = static_cast<size_t>(
        std::clamp(static_cast<int>((p.x - s.low) / s.width), 0, static_cast<int>(s.at.size()) - 1));
    ImGui::PushTextWrapPos(t.em * 22);
    ImGui::Text("%s to %s", time_text(s.at[i] - s.width / 2).c_str(), time_text(s.at[i] + s.width / 2).c_str());
    ImGui::Text("%.0f samples%s", s.hot[i],
                r.timing.cold_samples_ms.empty() ? "" : fmt::format(", {:.0f} cold", s.cold[i]).c_str());
    ImGui::TextDisabled("Every timed run. Half of them lie in the shaded band around the median. %s",
                        source_of(r).c_str());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-samples", [&] { return timing_csv(r); });
}

// A comparison that timed this kernel in turn with another, if there is one.
const KernelComparison* in_turn(const Frame& f, const Report& r) {
  auto with = [&](const std::string& name) -> const KernelComparison* {
    const auto* c = f.bench.comparison_of(f.document, name);
    return c && c->first.name == r.kernel && c->document.problem == r.document.problem ? c : nullptr;
  };
  if (const auto* c = with(f.document.compare_with)) return c;
  for (const auto& ref : r.references)
    if (const auto* c = with(ref.name)) return c;
  return nullptr;
}

void phases(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  if (r.phases.empty()) return;
  double all = 0;
  for (const auto& p : r.phases) all += p.seconds;
  const std::string source = measured_words(r.recorded, "measured on the engine's host");
  if (!ImGui::CollapsingHeader(fmt::format("Where {} went###phases", time_text(all * 1000)).c_str())) return;
  tooltip(t, "What the engine did for this verdict, on the clock on the wall.");
  ImGui::BeginGroup();
  if (!begin_figures("phase-table")) return ImGui::EndGroup();
  for (const auto& p : r.phases)
    figure(t, p.name.c_str(), time_text(p.seconds * 1000), {"Time of the engine in this phase.", "", source.c_str()},
           p.seconds < 0.01 * all ? &t.dim : nullptr);
  end_figures();
  ImGui::EndGroup();
  copy_menu(f, "copy-phases", [&] {
    std::string out = "phase,seconds\n";
    for (const auto& p : r.phases) out += fmt::format("\"{}\",{:.6g}\n", p.name, p.seconds);
    return out;
  });
}

}  // namespace

void draw_timing(Frame& f) {
  const Report* r = f.report();
  if (!r) {
    if (empty_state(f.theme, "No times yet",
                    f.bench.runs().running() ? "Times come when the result is judged."
                                             : "Run a kernel: it is timed after it is judged.",
                    f.bench.runs().running() ? nullptr : "Run"))
      f.act("run");
    return;
  }
  if (waits_for_a_person(f, r, "Not timed yet")) return;
  source_strip(f, r->recorded, r);
  if (r->timing.median_ms) {
    // What is of something else, and stays so, stands back as the maps do.
    const bool old = r->recorded.empty() && out_of_date(f);
    if (old) ImGui::PushStyleVar(ImGuiStyleVar_Alpha, stands_back);
    head(f, *r);
    newest_time(f, *r);
    ImGui::BeginGroup();  // one place to copy from
    const auto floor = floor_of(f.bench, f.document, *r);
    figures(f, *r, floor);
    bars(f, *r, floor);
    ImGui::EndGroup();
    copy_menu(f, "copy-times", [&] { return timing_csv(*r, floor); });
    if (std::string words = times_in_words(r, f.bench.profile_of(r->document), in_turn(f, *r)); !words.empty())
      dim_text(f.theme, words);
    tuning(f);
    histogram(f, *r);
    draw_three_clocks(f, *r);
    draw_clock_strip(f, *r);
    if (old) ImGui::PopStyleVar();
  } else {
    heading(f.theme, "No time");
    wrapped(r->timing.reason.empty() ? "not timed yet" : r->timing.reason);
    const RunOffer offer = refused_offer(f, *r);
    if (offer.action && ImGui::Button(offer.button)) f.act(offer.action);
    if (offer.action) tooltip(f.theme, r->sentence + ". " + offer.why);
  }
  phases(f, *r);
}

}  // namespace convscope::ui
