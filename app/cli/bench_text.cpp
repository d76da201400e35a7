// Answers to `bench` as tables and as comma-separated values.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "app/cli/forms.h"
#include "app/cli/verbs.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using json_fields::text;
using nlohmann::json;
namespace {

// A field that answers of before packing was timed apart do not have is null.
const json& field(const json& j, const char* name) {
  static const json none;
  auto it = j.find(name);
  return it == j.end() ? none : *it;
}

std::string noise_of(const json& t) {
  return t.is_object() ? fmt::format("{:.1f} %", t.at("noise_pct").get<double>()) : "–";
}

std::string median_of(const json& t) { return t.is_object() ? forms::time_of(t.at("median_ms")) : "–"; }

// What the verdict is about, as numbers: a call with weights packed before, where there are such times and they count.
struct Counted {
  const json& hot;
  const json& cold;
  const json& times_floor;
};
Counted counted(const json& e, bool packed) {
  const json& p = field(e, "packed");
  if (packed && p.is_object()) return {p, field(p, "cold"), field(p, "times_floor")};
  return {e.at("hot"), e.at("cold"), e.at("times_floor")};
}

std::string verdict_words(const json& e) {
  const json &hot = e.at("against").at("hot"), &cold = e.at("against").at("cold");
  const std::string verdict = text(hot, "verdict");
  std::string more = !text(e, "reason").empty() ? text(e, "reason")
                     : verdict.empty()          ? text(hot, "reason")
                     : verdict == "AMBIGUOUS"   ? text(hot, "evidence")
                                                : fmt::format("{:.3g} times as fast", hot.at("speedup").get<double>());
  if (!verdict.empty() && !text(cold, "verdict").empty() && text(cold, "verdict") != verdict)
    more += fmt::format("; cold: {}", text(cold, "verdict"));
  if (verdict.empty() || text(e.at("against"), "of") != "packed") return more;
  const json& whole = field(field(e, "against_whole"), "hot");
  if (const json& by = field(whole, "speedup"); text(whole, "verdict") == verdict && by.is_number())
    return more + fmt::format("; packing included {:.3g}", by.get<double>());
  return more + "; packing included: " + text(whole, "verdict");
}

std::string what_counts(const json& r, bool packs) {
  if (!r.contains("verdicts_of"))
    return "  verdicts are about whole plans, packing included: this recording is older than times with weights packed "
           "before\n";
  if (text(r, "verdicts_of") == "packed")
    return "  verdicts, noise, cold and × floor are about calls with weights packed before, as inference has them, "
           "where "
           "there are such times;\n  packing: the launches that pack, alone; whole: all launches of a plan "
           "(--with-packing holds these against each other)\n";
  return packs ? "  verdicts, noise, cold and × floor are about whole plans, packing included; packed: weights packed "
                 "before, as inference has them\n"
               : "";
}

// Who promises less than the type's own accuracy: faster may be no more than that.
std::string less_accurate(const json& r) {
  std::map<std::string, std::vector<std::string>> by;
  for (const auto& e : r.at("entries")) {
    if (text(e, "name") == "cudnn-tf32") by["tf32"].push_back("cudnn-tf32");
    for (const auto* k : all_kernels())
      if (k->name() == text(e, "name") && k->accuracy() != "strict") by[k->accuracy()].push_back(k->name());
  }
  std::string out;
  for (const auto& [accuracy, names] : by)
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", accuracy, fmt::join(names, ", "));
  return out.empty() ? "" : "  accuracy, where it is not the type's own: " + out + "\n";
}

}  // namespace

std::string bench_text(const json& r) {
  std::string against = text(r, "against");
  std::string out = forms::header(r, against.empty() ? "bench" : "bench against " + against);
  if (r.contains("reason")) out += fmt::format("  {}\n\n", text(r, "reason"));
  const bool packed = text(r, "verdicts_of") == "packed";
  bool packs = false;
  for (const auto& e : r.at("entries")) packs |= field(e, "packed").is_object();
  const std::string columns =
      packs ? fmt::format("{:>10} {:>10} {:>10}", "packed", "packing", "whole") : fmt::format("{:>10}", "hot");
  size_t width = 14;  // files have longer names
  for (const auto& e : r.at("entries")) width = std::max(width, text(e, "name").size());
  out += fmt::format("  {:<{}} {} {:>7} {:>10} {:>8}  {:<10} {}\n", "", width, columns, "noise", "cold", "× floor",
                     "verdict", "");
  for (const auto& e : r.at("entries")) {
    const Counted c = counted(e, packed);
    const std::string verdict = text(e.at("against").at("hot"), "verdict");
    const std::string times = packs ? fmt::format("{:>10} {:>10} {:>10}", median_of(field(e, "packed")),
                                                  forms::time_of(field(e, "packing_ms")), median_of(e.at("hot")))
                                    : fmt::format("{:>10}", median_of(e.at("hot")));
    out += fmt::format("  {:<{}} {} {:>7} {:>10} {:>8}  {:<10} {}\n", text(e, "name"), width, times, noise_of(c.hot),
                       median_of(c.cold), c.times_floor.is_number() ? forms::figure(c.times_floor.get<double>()) : "–",
                       verdict.empty() ? "–" : verdict, verdict_words(e));
    if (!text(e, "doubt").empty()) out += fmt::format("                 ! {}\n", text(e, "doubt"));
  }
  const std::string accuracy = less_accurate(r);
  if (!accuracy.empty()) out += "\n" + accuracy;
  out +=
      fmt::format("\n{}  {} rounds, samples taken in turn; nothing here is judged, `convscope run` says what is right",
                  what_counts(r, packs), r.at("rounds").get<int>());
  if (r.at("floor_ms").is_number())
    out += fmt::format("; floor of what was asked for {} by {}{} ({}), × floor: of each one's own arithmetic",
                       forms::time_of(r.at("floor_ms")), text(r, "floor_from"), forms::floor_rate(r, r),
                       text(r, "floor_source"));
  out += fmt::format("\n  clocks: {}\n", conditions_text(r.at("conditions")));
  out += forms::warnings_beneath(r);
  return out;
}

std::string bench_csv(const json& r) {
  using forms::plain;
  forms::Csv csv(
      "name,kind,cache,median_ms,low_ms,high_ms,min_ms,noise_pct,samples,source,against,verdict,speedup,p,reason,"
      "verdict_of,verdict_median_ms,verdict_against_median_ms,"
      "packed_median_ms,packed_low_ms,packed_high_ms,packed_min_ms,packed_noise_pct,packed_samples,"
      "packing_ms,packing_source,whole_verdict,whole_speedup,whole_p,packed_reason,interrupted");
  const std::string interrupted = r.value("interrupted", false) ? "true" : "false";
  auto of = [](const json& t, const char* name) { return plain(field(t, name)); };
  auto end_of = [](const json& t, size_t end) {
    const json& interval = field(t, "interval_ms");
    return interval.is_array() ? plain(interval.at(end)) : std::string();
  };
  for (const auto& e : r.at("entries"))
    for (const std::string cache : {"hot", "cold"}) {
      const json& t = e.at(cache);
      const json &own = field(e, "packed"), &packed = cache == "hot" ? own : field(own, "cold");
      const json &v = e.at("against").at(cache), &whole = field(field(e, "against_whole"), cache.c_str());
      const bool there = packed.is_object();
      csv.line({text(e, "name"),
                text(e, "kind"),
                cache,
                of(t, "median_ms"),
                end_of(t, 0),
                end_of(t, 1),
                of(t, "min_ms"),
                of(t, "noise_pct"),
                of(t, "samples"),
                t.is_object() ? plain(e.at("source")) : "",
                plain(r.at("against")),
                of(v, "verdict"),
                of(v, "speedup"),
                of(v, "p"),
                t.is_object()                ? of(v, "reason")
                : !text(e, "reason").empty() ? text(e, "reason")
                                             : text(e, "cold_reason"),
                text(e.at("against"), "of"),
                of(v, "median_ms"),
                of(v, "against_median_ms"),
                of(packed, "median_ms"),
                end_of(packed, 0),
                end_of(packed, 1),
                of(packed, "min_ms"),
                of(packed, "noise_pct"),
                of(packed, "samples"),
                cache == "hot" ? of(e, "packing_ms") : "",
                cache == "hot" ? of(e, "packing_source") : "",
                of(whole, "verdict"),
                of(whole, "speedup"),
                of(whole, "p"),
                there                  ? ""
                : e.contains("packed") ? text(e, "packed_reason")
                                       : "not recorded: this recording is older than times with weights packed before",
                interrupted});
    }
  return csv.text();
}

}  // namespace convscope
