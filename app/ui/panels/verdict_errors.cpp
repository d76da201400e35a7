#include "app/ui/panels/verdict_errors.h"

#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

// What the usual gates would have said; the user's own is read off the counted errors, so it follows the slider.
void gates(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  heading(t, "Usual gates, for comparison");
  if (!begin_figures("gates")) return;
  const std::string source = measured_words(r.recorded, "counted over all elements");
  const About about{
      "What allclose with this tolerance would have said. The verdict does not rest on it: a loose gate lets wrong "
      "kernels pass.",
      "|y − oracle| > atol + rtol·|oracle|, or not finite", source.c_str()};
  auto row = [&](const std::string& label, std::optional<double> fraction) {
    if (!fraction) return figure(t, label.c_str(), "not compared", about, &t.dim);
    if (r.own_length != r.out_length) return figure(t, label.c_str(), "fails: other length", about, &t.wrong);
    const bool fooled = *fraction == 0 && r.failing.value_or(0) > 0;
    figure(t, label.c_str(),
           fooled           ? "would let it pass"
           : *fraction == 0 ? "passes"
                            : "fails " + percent_text(*fraction),
           about,
           fooled           ? &t.warning
           : *fraction == 0 ? &t.right
                            : &t.wrong);
  };
  const auto& d = f.document;
  std::optional<double> own;
  bool own_shown = false;
  for (double usual : {1e-2, 1e-4}) {
    auto g = std::find_if(r.gates.begin(), r.gates.end(),
                          [&](const ReportGate& one) { return one.atol == usual && one.rtol == usual; });
    row(usual == 1e-2 ? "gate 1e-2" : "gate 1e-4", g == r.gates.end() ? std::nullopt : g->failing_fraction);
    own_shown |= d.atol == usual && d.rtol == usual;
  }
  if (!own_shown) {
    for (const auto& g : r.gates)
      if (g.atol == d.atol && g.rtol == d.rtol) own = g.failing_fraction;
    const Statistics* s = f.bench.pictures().statistics();
    if (!own && d.atol == d.rtol && s && s->key == r.key && s->elements)
      own = s->failing_at(d.atol) / static_cast<double>(s->elements);
    std::string label = d.atol == d.rtol ? fmt::format("your gate {:.3g}", d.atol)
                                         : fmt::format("your gate {:.3g}, {:.3g}", d.atol, d.rtol);
    if (own)
      row(label, own);
    else
      figure(t, label.c_str(), "not counted yet",
             {"Your own gate. It is counted by the next run, or when Error statistics is shown.", "", "counted"},
             &t.dim);
  }
  end_figures();
}

void errors(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  heading(t, "Error against the oracle");
  if (!r.failing) {
    dim_text(t, r.status == "not-judged" ? "No figures: the kernel has not been run against the oracle."
                : r.layers.empty()       ? "No figures: the run gave no output to compare."
                                   : "No figures: the output was not compared. The first layer that fails says why.");
    return;
  }
  if (!begin_figures("errors")) return;
  const std::string words = measured_words(r.recorded, "counted over all elements");
  const char* counted = words.c_str();
  auto maybe = [&](const char* label, const std::optional<double>& v, const About& about,
                   const ImVec4* colour = nullptr) {
    figure(t, label, v ? value_text(*v) : "none is finite", about, v ? colour : &t.dim);
  };
  const ImVec4* bad = *r.failing ? &t.wrong : &t.right;
  figure(t, "elements", grouped(r.elements),
         {"Elements of the output that were compared.", "N · Cout · Lout", counted});
  figure(t, "failing", fmt::format("{} ({})", grouped(*r.failing), percent_text(r.failing_fraction.value_or(0))),
         {"Elements whose error is beyond their own rounding bound, or that are not finite.",
          "|y − oracle| > λ·√n·u·Σ|x·w| + rounding of y", counted},
         bad);
  maybe("max |error|", r.max_abs, {"The largest absolute error of all finite elements.", "max |y − oracle|", counted});
  const std::optional<double>& worst = r.max_bound_ratio;
  figure(t, "max |error| / bound", worst ? times_bound_text(*worst) : "none is finite",
         {"The largest error as a multiple of its element's bound; above 1 fails. Where exactly 0 should stand the "
          "bound is the smallest number there is, so any error there is a huge multiple.",
          "max |y − oracle| / bound", counted},
         !worst       ? &t.dim
         : *worst > 1 ? &t.wrong
                      : nullptr);
  maybe("RMS relative", r.rms_rel,
        {"Size of the whole error against the size of the whole output.", "√(Σ(y − oracle)² / Σoracle²)", counted});
  auto count = [&](const char* label, const std::optional<int64_t>& v, const About& about) {
    figure(t, label, v ? grouped(*v) : "not counted", about, v && *v ? &t.wrong : v ? nullptr : &t.dim);
  };
  count("NaN", r.nan, {"Elements that are not a number. NaN never passes.", "", counted});
  count("never written", r.unwritten,
        {"Elements that still hold the poison the output was filled with before the run.", "", counted});
  end_figures();
}

}  // namespace

void draw_error_figures(Frame& f, const Report& r) {
  errors(f, r);
  if (r.failing) gates(f, r);
}

}  // namespace convscope::ui
