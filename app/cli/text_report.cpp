// A run's report as text for a terminal.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/verbs.h"
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
  return v.is_number() ? ratio_text(v.get<double>()) : v.is_string() ? "infinitely" : "unknown";
}

std::string time_of(const json& v) { return v.is_number() ? time_text(v.get<double>()) : "unknown"; }

std::string element(const json& e) {
  return fmt::format("n {}, co {}, j {}: {} instead of {} (bound {})", e["n"].get<int64_t>(), e["co"].get<int64_t>(),
                     e["j"].get<int64_t>(), number(e["got"]), number(e["expected"]), number(e["bound"]));
}

}  // namespace

std::string report_text(const json& r) {
  std::string out;
  const json& p = r["problem"];
  ConvProblem problem = problem_from(p);
  out += fmt::format("{} on {} → Lout {}\n", r["kernel"]["name"].get<std::string>(), describe(problem),
                     problem.out_length());
  if (r["device"].value("name", json()).is_string())
    out += fmt::format("{}{}\n", r["device"]["name"].get<std::string>(),
                       r["device"]["kind"] == "emulator" ? " (times are not GPU times)" : "");
  if (auto chosen = r.value("chosen", json()); chosen.is_object())
    out += fmt::format("chosen by auto: {}\n", chosen["reason"].get<std::string>());
  out += fmt::format("\n  {}\n\n", r["verdict"]["sentence"].get<std::string>());
  for (const auto& l : r["verdict"]["layers"]) {
    std::string status = l["status"];
    out += fmt::format("  {} {:<12} {}\n",
                       status == "pass"   ? "✓"
                       : status == "fail" ? "✗"
                                          : "·",
                       l["name"].get<std::string>(), l["evidence"].get<std::string>());
  }
  const json& e = r["error"];
  if (e.is_object() && e["elements"].get<int64_t>() > 0) {
    auto elements = e["elements"].get<int64_t>(), failing = e["failing"].get<int64_t>();
    out += fmt::format("\n  error       {} elements, {} beyond the bound ({}); largest error {}, worst {} its bound\n",
                       grouped(elements), grouped(failing),
                       percent_text(static_cast<double>(failing), static_cast<double>(elements)), number(e["max_abs"]),
                       ratio(e["max_bound_ratio"]));
    std::string gates;
    for (const auto& g : e["gates"])
      gates +=
          fmt::format("{}atol {:g}, rtol {:g}: {}", gates.empty() ? "" : "; ", g["atol"].get<double>(),
                      g["rtol"].get<double>(), percent_text(g["failing"].get<double>(), static_cast<double>(elements)));
    out += fmt::format("  usual gates {} failing\n", gates);
    for (const char* kind : {"nan", "inf", "unwritten"})
      if (int64_t n = e[kind]) out += fmt::format("  {:<11} {} elements\n", kind, grouped(n));
    if (e["first_failing"].is_object()) out += fmt::format("  first       {}\n", element(e["first_failing"]));
  }
  const json& t = r["timing"];
  if (t.is_object() && t["median_ms"].is_number()) {
    out += fmt::format("  time        {} ({}, median of {} hot runs, noise {:.1f} %)", time_of(t["median_ms"]),
                       t["source"].get<std::string>(), t["samples"].get<int64_t>(), t["noise_pct"].get<double>());
    if (t["cold"].is_object())
      out += fmt::format("; cold {} (noise {:.1f} %)", time_of(t["cold"]["median_ms"]),
                         t["cold"]["noise_pct"].get<double>());
    if (t["floor_ms"].is_number())
      out += fmt::format("; floor {} by {} (computed)", time_of(t["floor_ms"]), t["floor_from"].get<std::string>());
    out += "\n";
  }
  for (const auto& ref : r["references"]) {
    if (ref["name"] == "oracle") continue;
    if (ref["median_ms"].is_number())
      out += fmt::format("  {:<11} {} (measured); largest error {}, worst {} its bound{}\n",
                         ref["name"].get<std::string>(), time_of(ref["median_ms"]), number(ref["max_abs"]),
                         ratio(ref["max_bound_ratio"]),
                         ref.contains("what_ran") ? "; " + ref["what_ran"].get<std::string>() : "");
    else
      out += fmt::format("  {:<11} {}\n", ref["name"].get<std::string>(), ref.value("reason", "no figure"));
  }
  return out;
}

}  // namespace convscope
