// A run's report as text for a terminal.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/forms.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;
namespace {

std::string number(const json& v) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_number()) return number_text(v.get<double>());
  return "unknown";
}

std::string ratio(const json& v) {
  return v.is_number() ? ratio_text(v.get<double>()) : v.is_string() ? "beyond any multiple of" : "unknown";
}

std::string time_of(const json& v) { return v.is_number() ? time_text(v.get<double>()) : "unknown"; }

std::string element(const json& e) {
  return fmt::format("n {}, co {}, j {}: {} instead of {} (bound {})", e.at("n").get<int64_t>(),
                     e.at("co").get<int64_t>(), e.at("j").get<int64_t>(), number(e.at("got")), number(e.at("expected")),
                     number(e.at("bound")));
}

}  // namespace

std::string report_text(const json& r) {
  std::string out;
  const json& p = r.at("problem");
  ConvProblem problem = problem_from(p);
  out += fmt::format("{} on {} → Lout {}\n", r.at("kernel").at("name").get<std::string>(), describe(problem),
                     problem.out_length());
  if (r.at("device").value("name", json()).is_string())
    out += fmt::format("{}{}\n", r.at("device").at("name").get<std::string>(),
                       r.at("device").at("kind") == "emulator" ? " (times are not GPU times)" : "");
  out += forms::no_problem_words(problem);
  if (auto chosen = r.value("chosen", json()); chosen.is_object())
    out += fmt::format("chosen by auto: {}\n", chosen.at("reason").get<std::string>());
  out += fmt::format("\n  {}\n", r.at("verdict").at("sentence").get<std::string>());
  // Where no term is named it is said what is known of it; nothing twice.
  const std::string said = r.at("verdict").at("sentence");
  for (const char* field : {"cause", "cause_reason"})
    if (auto cause = r.at("verdict").value(field, json()); cause.is_string() &&
                                                           !r.at("verdict").value("cause_elsewhere", false) &&
                                                           said.find(cause.get<std::string>()) == said.npos)
      out += fmt::format("  Why: {}\n", cause.get<std::string>());
  out += "\n";
  for (const auto& l : r.at("verdict").at("layers")) {
    std::string status = l.at("status");
    out += fmt::format("  {} {:<12} {}\n",
                       status == "pass"   ? "✓"
                       : status == "fail" ? "✗"
                                          : "·",
                       l.at("name").get<std::string>(), l.at("evidence").get<std::string>());
  }
  for (const auto& note : r.at("verdict").value("notes", json::array()))
    out += fmt::format("  note        {}\n", note.get<std::string>());
  const json& e = r.at("error");
  if (e.is_object() && e.at("elements").get<int64_t>() > 0) {
    auto elements = e.at("elements").get<int64_t>(), failing = e.at("failing").get<int64_t>();
    out += fmt::format("\n  error       {} element{}, {} beyond the bound ({}); {}\n", grouped(elements),
                       elements == 1 ? "" : "s", grouped(failing),
                       percent_text(static_cast<double>(failing), static_cast<double>(elements)),
                       forms::sizes_of_errors(e, number));
    std::string gates;
    for (const auto& g : e.at("gates"))
      gates += fmt::format("{}atol {:g}, rtol {:g}: {}", gates.empty() ? "" : "; ", g.at("atol").get<double>(),
                           g.at("rtol").get<double>(),
                           percent_text(g.at("failing").get<double>(), static_cast<double>(elements)));
    out += fmt::format("  usual gates {} failing\n", gates);
    for (const char* kind : {"nan", "inf", "unwritten"})
      if (int64_t n = e.at(kind)) out += fmt::format("  {:<11} {} elements\n", kind, grouped(n));
    if (std::string words = forms::not_seen_here(r, problem); !words.empty()) out += "  not seen    " + words + "\n";
    if (e.at("first_failing").is_object()) out += fmt::format("  first       {}\n", element(e.at("first_failing")));
  }
  const json& t = r.at("timing");
  if (t.is_object() && t.at("median_ms").is_number()) {
    out += fmt::format("  time        {} ({}, median of {} hot runs, noise {})", time_of(t.at("median_ms")),
                       t.at("source").get<std::string>(), t.at("samples").get<int64_t>(),
                       noise_text(t.at("noise_pct").get<double>()));
    if (t.at("cold").is_object())
      out += fmt::format("; cold {} (noise {})", time_of(t.at("cold").at("median_ms")),
                         noise_text(t.at("cold").at("noise_pct").get<double>()));
    if (t.at("floor_ms").is_number())
      out +=
          fmt::format("; floor {} by {} (computed{})", time_of(t.at("floor_ms")), t.at("floor_from").get<std::string>(),
                      t.value("floor_source", json()).is_string()
                          ? " with the ceilings of " + t.at("floor_source").get<std::string>()
                          : "");
    if (std::string words = forms::launch_words(t); !words.empty()) out += "; " + words;
    out += "\n";
    if (auto newer = t.find("newer"); newer != t.end()) out += "  ! " + newer->get<std::string>() + "\n";
    if (std::string words = forms::packed_words(r, t); !words.empty()) out += "  packed      " + words + "\n";
  }
  // Of a GPU, and not of a recording of before: what its clocks did meanwhile.
  if (auto c = r.find("conditions"); c != r.end() && r.at("device").value("kind", json()) == "cuda") {
    out += fmt::format("  clocks      {}\n", conditions_text(*c));
    for (const auto& w : c->value("warnings", json::array())) out += fmt::format("  ! {}\n", w.get<std::string>());
  }
  for (const auto& ref : r.at("references")) {
    if (ref.at("name") == "oracle") continue;
    if (ref.at("median_ms").is_number())
      out += fmt::format("  {:<11} {} ({}); largest error {}, worst {} its bound{}\n",
                         ref.at("name").get<std::string>(), time_of(ref.at("median_ms")),
                         json_fields::text(ref, "source").empty() ? "measured" : json_fields::text(ref, "source"),
                         number(ref.at("max_abs")), ratio(ref.at("max_bound_ratio")),
                         ref.contains("what_ran") ? "; " + ref.at("what_ran").get<std::string>() : "");
    else
      out += fmt::format("  {:<11} {}\n", ref.at("name").get<std::string>(), ref.value("reason", "no figure"));
  }
  return out;
}

}  // namespace convscope
