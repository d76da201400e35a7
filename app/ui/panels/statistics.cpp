// How the errors are spread: against each element's bound, against any tolerance, against the size of the value.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/model/paint.h"
#include "app/ui/panel.h"
#include "app/ui/panels/error_spread.h"
#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"
#include "kernels/problem/dtype.h"

namespace convscope::ui {
namespace {

const Spread& spread(const Statistics& s) {
  static Spread made;
  if (made.key != s.key) made = spread_of(s);
  return made;
}

std::string elements(double n) { return grouped(static_cast<int64_t>(n)) + (n == 1 ? " element" : " elements"); }
double share_of(double n, const Statistics& s) { return n / std::max<double>(1, static_cast<double>(s.elements)); }

// What is under the mouse, then what the plot is.
void read_out(const Theme& t, const std::string& here, const char* about) {
  if (!ImGui::BeginTooltip()) return;
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 24);
  ImGui::PushFont(t.code_font, 0);
  ImGui::TextUnformatted(here.c_str());
  ImGui::PopFont();
  ImGui::TextDisabled("%s", about);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

void ratio_plot(Frame& f, const Statistics& s, const Spread& d, ImVec2 size) {
  const Theme& t = f.theme;
  if (!ImPlot::BeginPlot("##ratio", size, plots::fixed)) return;
  const double top = std::log10(d.tallest) + 0.6, width = 0.9 * merged / s.ratio_bins.per_decade;
  ImPlot::SetupAxes("|error| / bound", "elements", plots::axis, plots::axis);
  ImPlot::SetupAxesLimits(d.low - 0.2, d.high + 0.2, 0, top, ImPlotCond_Always);
  plots::decades(ImAxis_X1, d.low, d.high, size.x - t.em * 4);
  static constexpr double at[] = {0.3, 1.3, 2.3, 3.3, 4.3, 5.3, 6.3, 7.3, 8.3, 9.3};
  static constexpr const char* names[] = {"1", "10", "100", "1 k", "10 k", "100 k", "1 M", "10 M", "100 M", "1 G"};
  ImPlot::SetupAxisTicks(ImAxis_Y1, at, std::min(10, static_cast<int>(top - 0.3) + 1), names);
  if (!d.within.empty())
    ImPlot::PlotBars("within", d.within_at.data(), d.within.data(), static_cast<int>(d.within.size()), width,
                     plots::fill(t.right, 0.85f));
  if (!d.above.empty())
    ImPlot::PlotBars("above", d.above_at.data(), d.above.data(), static_cast<int>(d.above.size()), width,
                     plots::fill(t.wrong, 0.85f));
  plots::mark_x("bound", 0, t.text, 1.5f);
  ImPlot::Annotation(0, top, t.background, {t.em * 0.3f, t.em * 0.2f}, true, "at the bound");
  if (d.high == s.ratio_bins.high_decade && s.ratio.back() > 0)
    ImPlot::Annotation(d.high, top / 2, t.background, {-t.em * 0.6f, 0}, true, "and beyond");
  ImPlotPoint p;
  if (plots::pointed(p)) {
    int bar = static_cast<int>(std::floor((p.x - s.ratio_bins.low_decade) * s.ratio_bins.per_decade / merged)) * merged;
    if (bar >= 0 && bar + merged <= s.ratio_bins.count()) {
      double n = 0;
      for (int k = 0; k < merged; k++) n += s.ratio[static_cast<size_t>(bar + k) + 1];
      const bool last = bar + merged == s.ratio_bins.count();
      read_out(t,
               fmt::format("{} ({})\nabove {:.2g}{}", elements(n), percent_text(share_of(n, s)), s.ratio_bins.edge(bar),
                           last ? ", and all beyond" : fmt::format(", to {:.2g}", s.ratio_bins.edge(bar + merged))),
               "Error of each element as a multiple of its own rounding bound, on logarithmic axes. Above 1 an element "
               "fails. Counted over all elements.");
    }
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-ratio", [&] { return bins_csv("error_over_bound", s.ratio, s.ratio_bins); });
}

void ratio_figures(Frame& f, const Statistics& s, const Spread& d) {
  const Theme& t = f.theme;
  ImGui::BeginGroup();
  if (!begin_figures("spread")) return ImGui::EndGroup();
  const char* counted = "counted over all elements, in bins of 1/20 decade";
  for (size_t q = 0; q < 5; q++) {
    double v = d.quantiles[q];
    // The largest is known better than by its bin, and the verdict says the same.
    const Report* r = f.picture();
    const bool exact = q == 4 && r && r->key == s.key && r->max_bound_ratio && v > 0;
    if (exact) v = *r->max_bound_ratio;
    const About about{q < 4 ? "This share of all finite elements has an error of at most so many bounds."
                            : "No finite element has an error of more bounds than this.",
                      "|y − oracle| / bound", exact ? "of all elements" : counted};
    figure(t, quantile_name[q],
           v == 0    ? "exact"
           : v > 1e6 ? times_bound_text(v)
                     : fmt::format("{:.2g}", v),
           about, v > 1 ? &t.wrong : &t.right);
  }
  figure(t, "exact", fmt::format("{} ({})", grouped(s.zero), percent_text(share_of(static_cast<double>(s.zero), s))),
         {"Elements that equal the oracle rounded to the output's type. They have no place on a logarithmic axis.",
          "y = oracle", counted});
  if (d.below > 0)
    figure(t, "at most 1e-8", grouped(static_cast<int64_t>(d.below)),
           {"Elements whose error is not zero, but left of the plot.", "0 < |y − oracle| / bound ≤ 1e-8", counted});
  figure(t, "not finite", grouped(s.not_finite), {"NaN, infinite or never written. They fail every gate.", "", counted},
         s.not_finite ? &t.wrong : nullptr);
  end_figures();
  ImGui::EndGroup();
  copy_menu(f, "copy-figures", [&] {
    std::string out = "what,value\n";
    for (size_t q = 0; q < 5; q++) out += fmt::format("{},{:g}\n", quantile_name[q], d.quantiles[q]);
    return out + fmt::format("exact,{}\nnot finite,{}\nelements,{}\n", s.zero, s.not_finite, s.elements);
  });
}

void set_tolerance(Frame& f, const Statistics& s, int step) {
  double v = s.gate_bins.edge(std::clamp(step, 0, s.gate_bins.count()));
  if (v != f.document.atol || v != f.document.rtol) f.command(SetTolerance{v, v}, true);
}

void gate_part(Frame& f, const Statistics& s, const Spread& d, ImVec2 size) {
  const Theme& t = f.theme;
  const auto& b = s.gate_bins;
  const double tolerance = f.document.atol > 0 ? f.document.atol : b.edge(0);
  int step =
      std::clamp(static_cast<int>(std::lround((std::log10(tolerance) - b.low_decade) * b.per_decade)), 0, b.count());
  const double fails = s.failing_at(tolerance);
  ImGui::PushStyleColor(ImGuiCol_Text, fails > 0 ? t.wrong : t.right);
  wrapped(fails > 0 ? fmt::format("t = {:.3g}: {} of {} ({}) {}", tolerance, grouped(static_cast<int64_t>(fails)),
                                  elements(static_cast<double>(s.elements)), percent_text(share_of(fails, s)),
                                  fails == 1 ? "fails" : "fail")
                    : fmt::format("t = {:.3g}: no element of {} fails", tolerance, grouped(s.elements)));
  ImGui::PopStyleColor();
  const Report* r = f.picture();
  if (r && r->key == s.key && r->own_length != r->out_length)
    dim_text(t, fmt::format("Its output is {} long, not {}: shares here are of all {} that there should be, those of "
                            "the verdict of the {} that were compared.",
                            grouped(r->own_length), grouped(r->out_length), grouped(s.elements), grouped(r->elements)));
  // Over the same decades as the plot below it, and in its place, once that is known.
  double at = std::log10(tolerance);
  const int low = std::min(d.share_low, static_cast<int>(std::floor(at))),
            high = std::max(d.share_high, static_cast<int>(std::ceil(at)));
  static float plot_left = 0, plot_width = 0;
  if (plot_width > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + plot_left);
  ImGui::SetNextItemWidth(plot_width > 0 ? plot_width : -FLT_MIN);
  if (ImGui::SliderInt("##tolerance", &step, (low - b.low_decade) * b.per_decade, (high - b.low_decade) * b.per_decade,
                       "", ImGuiSliderFlags_NoInput))
    set_tolerance(f, s, step);
  explain_item(t, {"Tolerance of the gate that stands beside the verdict; it never replaces it. Twenty steps a decade, "
                   "at which counts are exact.",
                   "|y − oracle| > t·(1 + |oracle|)", "set by hand; one step of undo a drag"});
  if (f.document.atol != f.document.rtol)
    dim_text(t, fmt::format("Your gate has atol {} and rtol {}; the slider sets both.", value_text(f.document.atol),
                            value_text(f.document.rtol)));

  size.y = std::max(size.y - ImGui::GetFrameHeightWithSpacing() - ImGui::GetTextLineHeightWithSpacing(), t.em * 8);
  if (!ImPlot::BeginPlot("##gate", size, plots::fixed)) return;
  ImPlot::SetupAxes("tolerance t", "fail, %", plots::axis, plots::axis);
  ImPlot::SetupAxesLimits(low - 0.1, high + 0.1, 0, 105, ImPlotCond_Always);
  plots::decades(ImAxis_X1, low, high, size.x - t.em * 4);
  ImPlot::SetupFinish();
  plot_left = ImPlot::GetPlotPos().x - ImGui::GetWindowPos().x - ImGui::GetStyle().WindowPadding.x,
  plot_width = ImPlot::GetPlotSize().x;
  const int first = std::clamp(step, 0, b.count());
  ImPlot::PlotShaded("fails at t", d.tolerance.data() + first, d.share.data() + first, b.count() - first + 1, 0,
                     plots::fill(t.wrong, 0.3f));
  ImPlot::PlotLine("fails", d.tolerance.data(), d.share.data(), static_cast<int>(d.share.size()),
                   plots::line(t.kernel, 2));
  plots::mark_x("##2", -2, t.dim);
  plots::mark_x("##4", -4, t.dim);
  ImPlot::Annotation(-2, 105, t.background, {t.em * 0.2f, t.em * 1.6f}, true, "1e-2");
  ImPlot::Annotation(-4, 105, t.background, {t.em * 0.2f, t.em * 0.2f}, true, "1e-4");
  if (ImPlot::DragLineX(0, &at, t.accent, 2, ImPlotDragToolFlags_NoFit))
    set_tolerance(f, s, static_cast<int>(std::lround((at - b.low_decade) * b.per_decade)));
  ImPlotPoint p;
  if (plots::pointed(p)) {
    int i = std::clamp(static_cast<int>(std::lround((p.x - b.low_decade) * b.per_decade)), 0, b.count());
    read_out(t, fmt::format("t = {:.3g}: {} fail", b.edge(i), percent_text(d.share[static_cast<size_t>(i)] / 100)),
             "Share of all elements that a gate atol = rtol = t rejects, and what is not finite. Drag the line to set "
             "t. The usual gates are marked.");
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-gate", [&] {
    std::string out = "tolerance,failing,failing_percent\n";
    for (int i = 0; i <= b.count(); i++)
      out += fmt::format("{:g},{:.0f},{:g}\n", b.edge(i), s.failing_at(b.edge(i)), d.share[static_cast<size_t>(i)]);
    return out;
  });
}

double not_in_joint_plot(const Statistics& s, const Spread& d) {
  return static_cast<double>(s.elements - s.zero - s.not_finite) - d.joint_sum;
}

// A name of a line, readable over whatever lies there.
void name_over_data(const Theme& t, ImVec2 at, const ImVec4& colour, const char* name) {
  const ImVec2 size = ImGui::CalcTextSize(name);
  const float edge = t.em * 0.2f;
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  draw->AddRectFilled({at.x - edge, at.y}, {at.x + size.x + edge, at.y + size.y}, packed(t.background, 0.85f), edge);
  draw->AddText(at, packed(colour), name);
}

// Where the colour of so many elements lies on the scale, on which the densest cell is at the end.
double place_of_count(double n, double densest) {
  return (std::log10(n) + 0.3) / std::max(1e-9, std::log10(densest) + 0.3);
}

// Above the plot, in a line: what its colours say.
void scale_of_counts(Frame& f, ColourMap map, double densest) {
  const Theme& t = f.theme;
  dim_text(t, "elements: 1");
  ImGui::SameLine(0, t.em * 0.4f);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = t.em * 7, low = at.y + t.em * 0.25f, high = at.y + t.em * 0.85f;
  constexpr int steps = 32;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const double first = place_of_count(1, densest);
  for (int i = 0; i < steps; i++)
    draw->AddRectFilled({at.x + width * static_cast<float>(i) / steps, low},
                        {at.x + width * static_cast<float>(i + 1) / steps, high},
                        colour(map, first + (1 - first) * (i + 0.5) / steps, t.light));
  ImGui::Dummy({width, ImGui::GetTextLineHeight()});
  tooltip(t, "The colour of a cell of the plot is the logarithm of the number of elements in it.");
  ImGui::SameLine(0, t.em * 0.4f);
  dim_text(t, fmt::format("{} a cell, logarithmic", grouped(static_cast<int64_t>(densest))));
}

void joint_plot(Frame& f, const Statistics& s, const Spread& d, ImVec2 size) {
  const Theme& t = f.theme;
  if (d.densest <= 0) {
    dim_text(t,
             "No element has both an error and an oracle's value between 1e-6 and 1e6: nothing to plot error against "
             "magnitude.");
    return;
  }
  const ColourMap map = f.settings.value_colours == "cividis" ? ColourMap::cividis : ColourMap::viridis;
  scale_of_counts(f, map, d.densest);
  size.y = std::max(size.y - ImGui::GetTextLineHeightWithSpacing(), t.em * 8);
  if (!ImPlot::BeginPlot("##joint", size, plots::fixed)) return;
  const auto &mb = s.magnitude_bins, &eb = s.error_bins;
  auto place = [](const StatisticsBins& b, int i) { return b.low_decade + static_cast<double>(i) / b.per_decade; };
  const double x0 = std::floor(place(mb, d.magnitude_low)), x1 = std::ceil(place(mb, d.magnitude_high));
  const double y0 = std::floor(place(eb, d.error_low)), y1 = std::ceil(place(eb, d.error_high));
  ImPlot::SetupAxes("|oracle|", "|error|", plots::bare, plots::bare);
  // What has no place on a logarithmic axis stands beside it: outputs that should be 0.
  const bool zeros = d.small_sum > 0;
  const double span = x1 - x0, zeros_at = x0 - span * 0.06, zeros_to = x0 - span * 0.02;
  ImPlot::SetupAxesLimits(zeros ? zeros_at - span * 0.02 : x0 - 0.25, x1 + 0.25, y0 - 0.25, y1 + 0.25,
                          ImPlotCond_Always);
  plots::decades(ImAxis_X1, static_cast<int>(x0), static_cast<int>(x1), size.x - t.em * 5);
  plots::decades(ImAxis_Y1, static_cast<int>(y0), static_cast<int>(y1), size.y - t.em * 3);
  ImPlot::SetupFinish();
  ImPlot::PushPlotClipRect();
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  auto cell = [&](double left, double right, int e, double n) {
    if (n <= 0) return;
    const ImVec2 a = ImPlot::PlotToPixels(left, place(eb, e + 1)), z = ImPlot::PlotToPixels(right, place(eb, e));
    draw->AddRectFilled({std::floor(a.x), std::floor(a.y)}, {std::floor(z.x), std::floor(z.y)},
                        colour(map, place_of_count(n, d.densest), t.light));
  };
  for (int e = d.error_low; e < d.error_high; e++) {
    for (int m = d.magnitude_low; m < d.magnitude_high; m++)
      cell(place(mb, m), place(mb, m + 1), e, s.joint[static_cast<size_t>(m * eb.count() + e)]);
    if (zeros) cell(zeros_at, zeros_to, e, s.joint_small[static_cast<size_t>(e)]);
  }
  ImPlot::PopPlotClipRect();
  // The gate t·(1 + |oracle|), and half a unit in the last place of the oracle's value.
  double gx[25], gy[25], ux[2] = {x0 - 1, x1 + 1}, uy[2];
  for (int i = 0; i < 25; i++) {
    gx[i] = x0 - 1 + (x1 - x0 + 2) * i / 24;
    gy[i] = std::log10(std::max(f.document.atol + f.document.rtol * std::pow(10, gx[i]), 1e-300));
  }
  const Report* r = f.picture();
  const double u = std::log10(traits(r ? r->document.problem.dtype : f.document.problem.dtype).unit_roundoff);
  uy[0] = ux[0] + u, uy[1] = ux[1] + u;
  ImPlot::PlotLine("gate", gx, gy, 25, plots::line(t.accent, 1.5f));
  ImPlot::PlotLine("roundoff", ux, uy, 2, plots::line(t.dim, 1));
  const ImVec2 corner = ImPlot::GetPlotPos(), room = ImPlot::GetPlotSize();
  const float line = ImGui::GetTextLineHeight(), margin = t.em * 0.5f;
  if (gy[1] > y0 && gy[1] < y1) {
    const ImVec2 at = ImPlot::PlotToPixels(x0, gy[1]);
    name_over_data(t, {at.x + margin, std::max(at.y - line - margin * 0.3f, corner.y)}, t.accent, "your gate");
  }
  // Left of where its line goes out of the plot, above it.
  const double leaves = std::min(x1 + 0.25, y1 + 0.25 - u);
  if (leaves > x0 && leaves + u > y0) {
    const char* name = "u·|oracle|";
    const ImVec2 at = ImPlot::PlotToPixels(leaves, leaves + u);
    const float left = at.x - ImGui::CalcTextSize(name).x - margin,
                top = std::clamp(at.y - line - margin * 0.3f, corner.y, corner.y + room.y - line);
    if (left > corner.x) name_over_data(t, {left, top}, t.dim, name);
  }
  if (zeros) {
    const double middle = (zeros_at + zeros_to) / 2;
    ImPlot::PlotText("0", middle, y0 - 0.25, {0, -t.em * 0.7f});
    const double edge[2] = {x0 - span * 0.01, x0 - span * 0.01}, ends[2] = {y0 - 1, y1 + 1};
    ImPlot::PlotLine("##zeros", edge, ends, 2, plots::line(t.border, 1));
  }
  ImPlotPoint p;
  if (plots::pointed(p) && zeros && p.x < x0 - span * 0.01) {
    const int e = static_cast<int>(std::floor((p.y - eb.low_decade) * eb.per_decade));
    const double n = e >= 0 && e < eb.count() ? s.joint_small[static_cast<size_t>(e)] : 0;
    read_out(t,
             fmt::format("{}\n|oracle| 0, or at most {:.2g}\n|error| {:.2g} to {:.2g}", elements(n), mb.edge(0),
                         eb.edge(e), eb.edge(e + 1)),
             "Elements that should be 0, which has no place on a logarithmic axis.");
  } else if (plots::pointed(p)) {
    int m = static_cast<int>(std::floor((p.x - mb.low_decade) * mb.per_decade)),
        e = static_cast<int>(std::floor((p.y - eb.low_decade) * eb.per_decade));
    double n =
        m >= 0 && m < mb.count() && e >= 0 && e < eb.count() ? s.joint[static_cast<size_t>(m * eb.count() + e)] : 0;
    read_out(
        t,
        fmt::format("{}\n|oracle| {:.2g} to {:.2g}\n|error| {:.2g} to {:.2g}", elements(n), mb.edge(m), mb.edge(m + 1),
                    eb.edge(e), eb.edge(e + 1)),
        "Finite elements with an error, by the size of the oracle's value; colour is the logarithm of their number. "
        "Blue line: your gate. Grey line: u·|oracle|, half a unit in the last place.");
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-joint", [&] {
    std::string out = "reference_above,error_above,elements\n";
    for (int m = 0; m < mb.count(); m++)
      for (int e = 0; e < eb.count(); e++)
        if (double n = s.joint[static_cast<size_t>(m * eb.count() + e)]; n > 0)
          out += fmt::format("{:g},{:g},{:.0f}\n", mb.edge(m), eb.edge(e), n);
    for (int e = 0; e < eb.count(); e++)
      if (double n = s.joint_small[static_cast<size_t>(e)]; n > 0) out += fmt::format("0,{:g},{:.0f}\n", eb.edge(e), n);
    return out;
  });
  if (const double apart = not_in_joint_plot(s, d); apart > 0)
    dim_text(
        t, fmt::format("{} with an error not in the plot: {}an error below {:.0e} or above {:.0e}, or a value "
                       "of the oracle that small or large.",
                       elements(apart), d.small_sum > 0 ? "" : "the oracle has 0, ", eb.edge(0), eb.edge(eb.count())));
}

}  // namespace

void draw_statistics(Frame& f) {
  const Theme& t = f.theme;
  const Report* r = f.picture();
  const Statistics* s = f.bench.pictures().statistics();
  if (!r) {
    no_output_state(f, "to see how its errors are spread");
    return;
  }
  if (r->final && (!s || s->key != r->key)) f.wish([](Workbench& b) { b.pictures().want_statistics(); });
  if (!s) {
    empty_state(t, "Counting errors",
                "Every element of the result is counted once; then any tolerance can be read off at once.");
    return;
  }
  if (!whole(*s) || s->elements == 0) {
    empty_state(t, "Nothing was counted", "The engine gave no counts for this result.");
    return;
  }
  stale_strip(f);
  if (s->key != r->key) dim_text(t, "Counts of the result before; those of this one come when it is judged.");

  const Spread& d = spread(*s);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float em = t.em;
  auto spread_part = [&](ImVec2 size) {
    if (size.x > em * 38) {  // figures beside the plot
      ratio_plot(f, *s, d, {size.x - em * 15, size.y});
      ImGui::SameLine();
      ImGui::BeginChild("##figures", {0, size.y});
      ratio_figures(f, *s, d);
      ImGui::EndChild();
      return;
    }
    ratio_plot(f, *s, d, size);
    ratio_figures(f, *s, d);
  };
  if (room.y < em * 42) {
    if (!ImGui::BeginTabBar("parts")) return;
    auto tab = [&](const char* name, auto draw) {
      if (!ImGui::BeginTabItem(name)) return;
      ImVec2 left = ImGui::GetContentRegionAvail();
      draw(ImVec2{left.x, std::max(left.y, em * 10)});
      ImGui::EndTabItem();
    };
    const bool beside = room.x > em * 38;
    tab("Spread", [&](ImVec2 size) { spread_part({size.x, beside ? size.y : std::max(em * 9, size.y - em * 12)}); });
    tab("Tolerance", [&](ImVec2 size) { gate_part(f, *s, d, size); });
    tab("By magnitude", [&](ImVec2 size) { joint_plot(f, *s, d, {size.x, size.y - em * 3.2f}); });
    ImGui::EndTabBar();
    return;
  }
  const float each = std::max(em * 11, (room.y - em * (room.x > em * 38 ? 8 : 20)) / 3);
  heading(t, "Error as a multiple of its bound");
  spread_part({room.x, each});
  heading(t, "What a tolerance would say");
  gate_part(f, *s, d, {room.x, each + em * 2});
  heading(t, "Error against magnitude");
  // Whole in sight, with what is said under it.
  const float said = not_in_joint_plot(*s, d) > 0 ? 2 * ImGui::GetTextLineHeightWithSpacing() : 0;
  joint_plot(f, *s, d, {room.x, std::max(em * 9, std::min(each, ImGui::GetContentRegionAvail().y - said))});
}

}  // namespace convscope::ui
