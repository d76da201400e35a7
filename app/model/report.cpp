#include "app/model/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"
#include "kernels/verify/pyramid.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;
namespace {

ReportTiming timing_from(const json& t) {
  ReportTiming r;
  r.median_ms = number(t, "median_ms"), r.min_ms = number(t, "min_ms"), r.noise_pct = number(t, "noise_pct");
  r.floor_ms = number(t, "floor_ms");
  r.samples_ms = numbers(t, "samples_ms");
  const json& cold = part(t, "cold");
  r.cold_median_ms = number(cold, "median_ms"), r.cold_noise_pct = number(cold, "noise_pct");
  r.cold_samples_ms = numbers(cold, "samples_ms");
  r.source = text(t, "source"), r.reason = text(t, "reason"), r.cold_reason = text(t, "cold_reason");
  r.newer = text(t, "newer");
  r.floor_from = text(t, "floor_from"), r.floor_reason = text(t, "floor_reason");
  r.floor_source = text(t, "floor_source");
  r.launch_ms = number(part(t, "launch"), "min_ms"), r.launch_noise_pct = number(part(t, "launch"), "noise_pct");
  return r;
}

}  // namespace

Report report_from(const json& j, const Document& asked, bool final) {
  Report r;
  r.document = asked;
  r.final = final;
  r.key = text(j, "result");
  r.kernel = text(part(j, "kernel"), "name"), r.file = text(part(j, "kernel"), "file");
  r.device_kind = text(part(j, "device"), "kind"), r.device_name = text(part(j, "device"), "name");
  r.architecture = text(part(j, "device"), "architecture");
  r.multiprocessors = whole(part(j, "device"), "multiprocessors").value_or(0);
  const json& p = part(j, "problem");
  r.out_length = whole(p, "out_length").value_or(asked.problem.out_length());
  r.own_length = whole(j, "kernel_out_length").value_or(r.out_length);
  r.structural_zeros = whole(p, "structural_zeros").value_or(0);
  r.flops = number(p, "flops").value_or(0), r.least_bytes = number(p, "least_bytes").value_or(0);
  const json& v = part(j, "verdict");
  r.status = text(v, "status"), r.sentence = text(v, "sentence"), r.notes = texts(v, "notes");
  for (const auto& l : part(v, "layers")) {
    std::string said = text(l, "evidence");
    // What a driver names bounds a time from below; the floor of the panels is by what was measured. Recordings of
    // before call both by one name.
    if (const size_t at = said.find(", floor "); at != said.npos && said.find(" of the driver's clock") != said.npos)
      said.replace(at, 8, ", no less than ");
    r.layers.push_back({text(l, "name"), text(l, "status"), std::move(said), texts(l, "found")});
  }
  r.accuracy_allowed = text(part(j, "accuracy"), "allowed"), r.accuracy_ran = text(part(j, "accuracy"), "ran");

  const json& e = part(j, "error");
  r.elements = whole(e, "elements").value_or(0);
  r.failing = whole(e, "failing"), r.nan = whole(e, "nan"), r.unwritten = whole(e, "unwritten");
  r.failing_fraction = number(e, "failing_fraction"), r.max_abs = number(e, "max_abs");
  r.max_bound_ratio = number(e, "max_bound_ratio"), r.rms_rel = number(e, "rms_rel");
  if (const json& f = part(e, "first_failing"); f.contains("n"))
    r.first_failing = ReportElement{whole(f, "n").value_or(0), whole(f, "co").value_or(0),   whole(f, "j").value_or(0),
                                    number_or_nan(f, "got"),   number_or_nan(f, "expected"), number_or_nan(f, "bound")};
  for (const auto& g : part(e, "gates"))
    r.gates.push_back({number(g, "atol").value_or(0), number(g, "rtol").value_or(0), whole(g, "failing"),
                       number(g, "failing_fraction")});
  for (const auto& ref : part(j, "references"))
    r.references.push_back({text(ref, "name"), text(ref, "what_ran"), text(ref, "reason"), text(ref, "source"),
                            number(ref, "max_abs"), number(ref, "max_bound_ratio"), number(ref, "median_ms")});
  r.timing = timing_from(part(j, "timing"));
  r.timing.packed = packed_from(part(j, "timing"), part(j, "launches"));
  r.conditions = conditions_from(part(j, "conditions"));
  for (const auto& l : part(j, "launches")) {
    ReportLaunch launch;
    launch.entry = text(l, "entry");
    auto grid = wholes(l, "grid"), block = wholes(l, "block");
    for (size_t i = 0; i < 3; i++) {
      launch.grid[i] = i < grid.size() ? grid[i] : 1;
      launch.block[i] = i < block.size() ? block[i] : 1;
    }
    launch.dynamic_shared_bytes = whole(l, "dynamic_shared_bytes").value_or(0);
    launch.main = l.is_object() && l.value("main", json(false)) == true;
    r.launches.push_back(launch);
  }
  for (const auto& phase : part(j, "phases"))
    r.phases.push_back({text(phase, "name"), number(phase, "seconds").value_or(0)});
  const json& ranges = part(j, "ranges");
  for (size_t q = 0; q < 4; q++)
    if (auto range = numbers(ranges, quantity_names[q]); range.size() == 2)
      r.ranges[q] = ValueRange{range[0], range[1]};
  return r;
}

Report failed_report(const Document& asked, const std::string& status, const std::string& sentence) {
  Report r;
  r.document = asked;
  r.final = true;
  r.kernel = asked.kernel;
  r.out_length = r.own_length = asked.problem.out_length();
  r.status = status;
  r.sentence = sentence;
  r.timing.reason = status == "crashed" ? "the kernel crashed"
                    : status == "hung"  ? "the kernel did not come to an end"
                                        : "the kernel did not run";
  return r;
}

double StatisticsBins::edge(int i) const { return std::pow(10.0, low_decade + static_cast<double>(i) / per_decade); }

Statistics statistics_from(const json& j, const std::string& key) {
  // Counts that do not fit their bins are none: who draws them goes by the bins.
  auto bins = [&](const char* field) {
    const json& b = part(j, field);
    auto between = [&](const char* name, int64_t otherwise, int64_t low, int64_t high) {
      return static_cast<int>(std::clamp(whole(b, name).value_or(otherwise), low, high));
    };
    int low = between("low_decade", 0, -300, 299);
    return StatisticsBins{low, between("high_decade", low + 1, low + 1, 300), between("per_decade", 1, 1, 100)};
  };
  auto counts = [&](const char* field, int bins) {
    auto v = numbers(j, field);
    v.resize(static_cast<size_t>(bins));
    return v;
  };
  Statistics s;
  s.key = key;
  s.elements = whole(j, "elements").value_or(0), s.zero = whole(j, "zero").value_or(0),
  s.not_finite = whole(j, "not_finite").value_or(0);
  s.ratio_bins = bins("ratio_bins"), s.gate_bins = bins("gate_bins");
  s.magnitude_bins = bins("magnitude_bins"), s.error_bins = bins("error_bins");
  s.ratio = counts("ratio", s.ratio_bins.count() + 1), s.gate = counts("gate", s.gate_bins.count() + 1);
  s.joint = counts("joint", s.magnitude_bins.count() * s.error_bins.count());
  s.joint_small = counts("joint_small", s.error_bins.count());
  return s;
}

double Statistics::failing_at(double tolerance) const {
  double sum = static_cast<double>(not_finite);
  for (int i = 0; i < gate_bins.count() && static_cast<size_t>(i) + 1 < gate.size(); i++)
    if (gate_bins.edge(i) > tolerance * (1 - 1e-9)) sum += gate[static_cast<size_t>(i) + 1];
  return sum;
}

double Statistics::ratio_quantile(double q) const {
  double wanted = q * (static_cast<double>(elements) - static_cast<double>(not_finite)), sum = 0;
  for (size_t i = 0; i < ratio.size(); i++) {
    sum += ratio[i];
    if (sum >= wanted) return i == 0 && static_cast<double>(zero) >= wanted ? 0 : ratio_bins.edge(static_cast<int>(i));
  }
  return ratio_bins.edge(ratio_bins.count());
}

std::optional<double> ValuesNear::at(int64_t position) const {
  if (position < first || position - first >= static_cast<int64_t>(values.size())) return {};
  return values[static_cast<size_t>(position - first)];
}

Explained explained_from(const json& answer, const Document& asked) {
  const json& j = part(answer, "explanation");
  Explained e;
  e.document = asked;
  auto at = wholes(j, "at");
  if (at.size() == 3) e.n = at[0], e.co = at[1], e.j = at[2];
  e.first_channel = whole(j, "first_channel").value_or(0), e.channels = whole(j, "channels").value_or(0);
  e.got = number_or_nan(j, "got"), e.expected = number_or_nan(j, "expected"), e.bias = number(j, "bias").value_or(0);
  e.read_total = number(j, "read_total");
  e.all_taps = !j.contains("all_taps") || !j["all_taps"].is_boolean() || j["all_taps"].get<bool>();
  e.launches = static_cast<int>(whole(j, "launches").value_or(0));
  for (const auto& t : part(j, "taps"))
    e.taps.push_back({whole(t, "k").value_or(0), text(t, "formula"), text(t, "note"), whole(t, "expected_i"),
                      whole(t, "read_i"), number(t, "count").value_or(0), number(t, "expected_sum").value_or(0),
                      number(t, "read_sum"), whole(t, "beside_i")});
  const json& near = part(j, "near");
  for (const auto& [name, values] : {std::pair{"x", &e.near_x}, {"y", &e.near_y}}) {
    const json& stretch = part(near, name);
    values->first = std::max<int64_t>(0, whole(stretch, "first").value_or(0));
    for (const auto& v : part(stretch, "values"))
      values->values.push_back(number(v).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  for (const auto& n : part(j, "notes"))
    if (n.is_string()) e.notes.push_back(n);
  return e;
}

bool Explained::differs() const {
  return std::any_of(notes.begin(), notes.end(), [](const std::string& n) { return !n.empty(); }) ||
         std::any_of(taps.begin(), taps.end(), [](const ExplainedTap& t) { return t.differs(); });
}

Traced traced_from(const json& j) {
  Traced t;
  auto at = wholes(j, "at");
  if (at.size() == 3) t.n = at[0], t.co = at[1], t.j = at[2];
  t.reason = text(j, "reason");
  t.writes = whole(j, "writes").value_or(0), t.reads_total = whole(j, "reads_total").value_or(0);
  t.unknown = whole(j, "reads_unknown").value_or(0);
  t.through_workspace = j.contains("through_workspace") && j["through_workspace"] == true;
  t.through_shared = j.contains("through_shared") && j["through_shared"] == true;
  for (const auto& w : part(j, "writers"))
    t.writers.push_back({whole(w, "block").value_or(0), whole(w, "thread").value_or(0), text(w, "file"),
                         static_cast<int>(whole(w, "line").value_or(0))});
  for (const auto& s : part(j, "stray_reads"))
    t.strays.push_back({text(s, "file"), (text(s, "tensor") == "y" ? "writes " : "reads ") + text(s, "words"),
                        static_cast<int>(whole(s, "line").value_or(0)), whole(s, "stray").value_or(0),
                        whole(s, "reads").value_or(0), text(s, "from_file"),
                        static_cast<int>(whole(s, "from_line").value_or(0))});
  for (const auto& r : part(j, "reads"))
    if (r.is_array() && r.size() >= 3 && r[0].is_string())
      t.reads.push_back({r[0].get_ref<const std::string&>().empty() ? '?' : r[0].get_ref<const std::string&>()[0],
                         whole(r[1]).value_or(-1), static_cast<int>(whole(r[2]).value_or(0)),
                         r.size() > 3 && r[3].is_string() ? r[3].get<std::string>() : ""});
  return t;
}

}  // namespace convscope
