// How fast this problem could run, and where the kernel and the references stand below that.
#include "profiling/roofline/roofline.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/panel.h"
#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

struct Roof {
  std::string gpu, source;
  double memory_gbs = 0, l2_gbs = 0;  // l2_gbs 0: not measured
  std::string facts;                  // how they were measured
  struct Flat {
    const char* name;
    double gflops;
  };
  std::vector<Flat> flats;  // from the lowest
};

struct Point {
  std::string name, source;
  double intensity, gflops;
  ImVec4 colour;
  bool kernel;
};

// The GPU's own ceilings where a profile told them, else a datasheet's, labelled so.
Roof roof_of(Frame& f, const Report& r) {
  Roof roof;
  const DType type = r.document.problem.dtype;
  auto take = [&](const auto& c, const std::string& source) {
    roof.gpu = c.gpu, roof.source = source, roof.memory_gbs = c.memory_gbs;
    if (type == DType::f64) {
      if (c.f64_gflops > 0) roof.flats.push_back({"f64", c.f64_gflops});
      return;
    }
    if (c.f32_gflops > 0) roof.flats.push_back({"f32", c.f32_gflops});
    if (is_half(type)) {
      if (c.f16_gflops > 0) roof.flats.push_back({"f16 and bf16 tensor cores", c.f16_gflops});
      return;
    }
    if (c.tf32_gflops > 0) roof.flats.push_back({"TF32 tensor cores", c.tf32_gflops});
  };
  const Profile* own = f.bench.profile_of(f.document);
  if (const Profile* p = own ? own : f.bench.profile();
      p && p->device_name == r.device_name && p->ceilings.memory_gbs > 0) {
    take(p->ceilings, p->ceilings.source);
    roof.l2_gbs = p->ceilings.l2_gbs;
    for (const auto& fact : p->ceilings.facts) roof.facts += (roof.facts.empty() ? "" : "\n") + fact;
  } else if (const Ceilings* sheet = find_datasheet(r.device_name)) {
    take(*sheet, sheet->source);
  } else if (const Ceilings* other = find_datasheet("H200")) {
    take(*other, "datasheet of another machine: this one has no GPU");
  }
  return roof;
}

double allowed(const Roof& roof, double intensity) {
  double top = roof.flats.empty() ? 0 : roof.flats.back().gflops;
  return std::min(top, intensity * roof.memory_gbs);
}

std::string rate_text(double gflops) {
  return gflops >= 1000 ? fmt::format("{:.3g} TFLOP/s", gflops / 1000) : fmt::format("{:.3g} GFLOP/s", gflops);
}

std::vector<Point> points_of(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  std::vector<Point> all;
  if (r.device_kind != "cuda" || r.least_bytes <= 0) return all;
  const double intensity = r.flops / r.least_bytes;
  const std::string source = measured_words(r.recorded) + ", hot; least bytes";
  if (!r.recorded.empty()) {
    for (const auto& p : f.bench.recorded().points(r.document))
      all.push_back({p.kernel, source, p.intensity, p.gflops, t.dim, false});
  }
  // Earlier profiles of whatever problem, the oldest first; then this run, which stands on top.
  for (const auto& p : r.recorded.empty() ? f.bench.trail() : std::vector<std::shared_ptr<const Profile>>{})
    for (const auto& at : p->points)
      all.push_back({p->kernel + ", " + at.name, "an earlier profile", at.intensity, at.gflops, t.dim, false});
  for (const auto& ref : r.references)
    if (ref.median_ms && *ref.median_ms > 0)
      all.push_back({ref.name, source, intensity, r.flops / *ref.median_ms * 1e-6, t.reference, false});
  if (r.timing.median_ms)
    all.push_back({r.kernel, source, intensity, r.flops / *r.timing.median_ms * 1e-6, t.kernel, true});
  return all;
}

void plot(Frame& f, const Report& r, const Roof& roof, const std::vector<Point>& points) {
  const Theme& t = f.theme;
  const double intensity = r.flops / r.least_bytes, top = roof.flats.back().gflops;
  double x0 = std::floor(std::log10(std::max(intensity, 1e-3) / 20)),
         x1 = std::ceil(std::log10(top / roof.memory_gbs * 8));
  x1 = std::max(x1, std::ceil(std::log10(intensity * 3)));
  double y1 = std::log10(top) + 0.35, y0 = std::log10(top) - 4;
  for (const auto& p : points)
    if (p.gflops > 0) y0 = std::min(y0, std::floor(std::log10(p.gflops)));
  ImVec2 size{ImGui::GetContentRegionAvail().x,
              std::clamp(ImGui::GetContentRegionAvail().y - t.em * 7, t.em * 11, t.em * 26)};
  if (!ImPlot::BeginPlot("##roofline", size, plots::fixed)) return;
  ImPlot::SetupAxes("FLOP a byte", "GFLOP/s", plots::axis, plots::axis);
  ImPlot::SetupAxesLimits(x0, x1, y0, y1, ImPlotCond_Always);
  plots::decades(ImAxis_X1, static_cast<int>(x0), static_cast<int>(x1), size.x - t.em * 5);
  plots::decades(ImAxis_Y1, static_cast<int>(std::floor(y0)), static_cast<int>(std::ceil(y1)), size.y - t.em * 3);
  int n = 0;
  for (const auto& flat : roof.flats) {
    const double knee = std::log10(flat.gflops / roof.memory_gbs), height = std::log10(flat.gflops);
    const double xs[] = {x0, knee, x1}, ys[] = {x0 + std::log10(roof.memory_gbs), height, height};
    ImPlot::PlotLine(fmt::format("##roof{}", n++).c_str(), xs, ys, 3,
                     plots::line(t.floor, flat.gflops == top ? 2 : 1.2f));
    ImPlot::Annotation(x1, height, {0, 0, 0, 0}, {-t.em * 0.3f, -t.em * 0.7f}, true, "%s %s", flat.name,
                       rate_text(flat.gflops).c_str());
  }
  if (roof.l2_gbs > roof.memory_gbs) {
    const double knee = std::min(std::log10(top / roof.l2_gbs), x1), at_x[] = {x0, knee},
                 at_y[] = {x0 + std::log10(roof.l2_gbs), knee + std::log10(roof.l2_gbs)};
    ImPlot::PlotLine("##l2", at_x, at_y, 2, plots::line(t.dim, 1));
    const double on = x0 + 0.55 * (knee - x0);
    ImPlot::Annotation(on, on + std::log10(roof.l2_gbs), {0, 0, 0, 0}, {-t.em * 0.6f, -t.em * 0.9f}, true,
                       "L2 cache %.0f GB/s", roof.l2_gbs);
  }
  const double left = x0 + (std::min(std::log10(roof.flats.front().gflops / roof.memory_gbs), x1) - x0) * 0.06;
  ImPlot::Annotation(left, left + std::log10(roof.memory_gbs), {0, 0, 0, 0}, {t.em * 0.6f, t.em * 0.9f}, true,
                     "memory %.0f GB/s", roof.memory_gbs);
  plots::mark_x("##problem", std::log10(intensity), t.accent);
  double at[] = {std::log10(intensity), std::log10(allowed(roof, intensity))};
  ImPlotSpec mark = plots::fill(t.floor);
  mark.Marker = ImPlotMarker_Diamond, mark.MarkerSize = t.em * 0.35f,
  mark.MarkerFillColor = mark.MarkerLineColor = t.floor;
  ImPlot::PlotScatter("##allowed", &at[0], &at[1], 1, mark);
  const Point* near = nullptr;
  ImVec2 mouse = ImGui::GetMousePos();
  float nearest = t.em;
  for (size_t i = 0; i < points.size(); i++) {
    const Point& p = points[i];
    if (p.gflops <= 0 || p.intensity <= 0) continue;
    double x = std::log10(p.intensity), y = std::log10(p.gflops);
    ImPlotSpec dot = plots::fill(p.colour);
    dot.Marker = p.kernel ? ImPlotMarker_Circle : ImPlotMarker_Square;
    dot.MarkerSize = t.em * (p.kernel ? 0.4f : 0.28f), dot.MarkerFillColor = dot.MarkerLineColor = p.colour;
    ImPlot::PlotScatter(fmt::format("##p{}", i).c_str(), &x, &y, 1, dot);
    ImVec2 on = ImPlot::PlotToPixels(x, y);
    if (float d = std::hypot(on.x - mouse.x, on.y - mouse.y); d < nearest) nearest = d, near = &p;
  }
  if (ImPlotPoint p; plots::pointed(p) && ImGui::BeginTooltip()) {
    ImGui::PushTextWrapPos(t.em * 24);
    if (near) {
      ImGui::Text("%s: %s, %.3g of what the roof allows", near->name.c_str(), rate_text(near->gflops).c_str(),
                  near->gflops / allowed(roof, near->intensity));
      ImGui::TextDisabled("at %.3g FLOP a byte; source: %s", near->intensity, near->source.c_str());
    } else {
      double i = std::pow(10.0, p.x);
      ImGui::Text("at %.3g FLOP a byte the roof allows %s", i, rate_text(allowed(roof, i)).c_str());
      ImGui::TextDisabled("min(peak, bytes a second × FLOP a byte); source: %s, %s", roof.gpu.c_str(),
                          roof.source.c_str());
    }
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }
  ImPlot::EndPlot();
  copy_menu(f, "copy-roofline", [&] {
    std::string out = "name,flop_per_byte,gflops,source\n";
    for (const auto& flat : roof.flats) out += fmt::format("roof {},,{:.9g},{}\n", flat.name, flat.gflops, roof.source);
    out += fmt::format("roof memory GB/s,,{:.9g},{}\n", roof.memory_gbs, roof.source);
    for (const auto& p : points) out += fmt::format("{},{:.9g},{:.9g},{}\n", p.name, p.intensity, p.gflops, p.source);
    return out;
  });
}

}  // namespace

void draw_roofline(Frame& f) {
  const Theme& t = f.theme;
  const Report* r = f.report();
  if (!r) {
    if (empty_state(t, "No roof yet", "Run a kernel: the problem's place under the roof follows from it.", "Run"))
      f.act("run");
    return;
  }
  source_strip(f, r->recorded);
  const Roof roof = roof_of(f, *r);
  if (roof.flats.empty() || roof.memory_gbs <= 0 || r->flops <= 0 || r->least_bytes <= 0) {
    empty_state(t, "No roof",
                r->flops <= 0 ? "No tap lands in this output: there is no arithmetic to draw."
                              : "The peaks of this GPU are not known.");
    return;
  }
  const double intensity = r->flops / r->least_bytes, most = allowed(roof, intensity);
  const bool by_bytes = intensity * roof.memory_gbs < roof.flats.back().gflops;
  wrapped(fmt::format("{:.3g} FLOP a byte: at most {}, limited by {}", intensity, rate_text(most),
                      by_bytes ? "memory" : "arithmetic"));
  tooltip(
      t, "Exact operations over least bytes: x, w and b read once, y written once.\nsource: computed from the problem");
  const auto points = points_of(f, *r);
  plot(f, *r, roof, points);
  dim_text(t, fmt::format("roof: {}, {}", roof.gpu, roof.source));
  tooltip(t, roof.facts);
  if (points.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("No kernel under it: emulated time is no point under a GPU's roof.");
    ImGui::PopStyleColor();
    return;
  }
  const Point& own = points.back();
  if (own.kernel)
    wrapped(fmt::format("{} reaches {}: {:.3g} of what the roof allows", own.name, rate_text(own.gflops),
                        own.gflops / most));
}

}  // namespace convscope::ui
