#include "app/model/profile_samples.h"

#include <algorithm>
#include <cmath>

#include "app/engine/json_fields.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

SampledPlace place_from(const json& j) {
  SampledPlace p{text(j, "file"),
                 whole(j, "line").value_or(0),
                 "",
                 whole(j, "offset").value_or(0),
                 std::max<int64_t>(0, whole(j, "samples").value_or(0)),
                 {}};
  const json& reasons = part(j, "reasons");
  if (reasons.is_object())
    for (const auto& [name, n] : reasons.items())
      if (auto count = whole(n); count && *count > 0) p.reasons[name] = *count;
  return p;
}

}  // namespace

ProfileSamples samples_from(const json& j) {
  ProfileSamples s;
  s.source = text(j, "source"), s.reason = text(j, "reason");
  s.samples = whole(j, "samples").value_or(0), s.dropped = whole(j, "dropped").value_or(0);
  s.period_cycles = whole(j, "period_cycles").value_or(0), s.calls = whole(j, "calls").value_or(0);
  for (const auto& r : part(j, "reasons"))
    s.reasons.push_back({text(r, "name"), text(r, "words"), r.is_object() && r.value("waiting", json(true)) != false,
                         whole(r, "samples").value_or(0)});
  for (const auto& l : part(j, "lines")) s.lines.push_back(place_from(l));
  for (const auto& f : part(j, "functions")) {
    s.functions.push_back(
        {text(f, "name"), whole(f, "samples").value_or(0), whole(f, "code_bytes").value_or(0), text(f, "code_hash")});
    for (const auto& i : part(f, "instructions")) {
      s.instructions.push_back(place_from(i));
      s.instructions.back().function = text(f, "name");
    }
  }
  return s;
}

ProfileTimeline timeline_from(const json& j) {
  ProfileTimeline t;
  t.source = text(j, "source"), t.reason = text(j, "reason");
  t.start_us = numbers(j, "start_us"), t.end_us = numbers(j, "end_us");
  t.work_us = number(j, "work_us").value_or(0), t.interval_us = number(j, "interval_us").value_or(0);
  t.calls = whole(j, "calls").value_or(0);
  t.kernels_us = number(j, "kernels_us").value_or(t.work_us);
  // Points whose times do not go forward are no points.
  bool ordered = t.start_us.size() == t.end_us.size();
  for (size_t i = 0; ordered && i < t.start_us.size(); i++)
    ordered = std::isfinite(t.start_us[i]) && std::isfinite(t.end_us[i]) && t.end_us[i] > t.start_us[i] &&
              (i == 0 || t.start_us[i] >= t.start_us[i - 1]);
  if (!ordered) t.start_us.clear(), t.end_us.clear();
  for (const auto& l : part(j, "lanes")) {
    TimelineLane lane{text(l, "name"),
                      text(l, "title"),
                      text(l, "unit"),
                      text(l, "about"),
                      numbers(l, "values"),
                      number(l, "least").value_or(0),
                      number(l, "mean").value_or(0),
                      number(l, "most").value_or(0)};
    for (double& v : lane.values)
      if (!std::isfinite(v)) v = 0;
    if (lane.values.size() == t.start_us.size() && !lane.values.empty()) t.lanes.push_back(std::move(lane));
  }
  for (const auto& l : part(j, "launches")) {
    LaunchSpan span{text(l, "name"), number(l, "start_us").value_or(0), number(l, "end_us").value_or(0)};
    if (std::isfinite(span.start_us) && std::isfinite(span.end_us) && span.end_us >= span.start_us)
      t.launches.push_back(std::move(span));
  }
  return t;
}

}  // namespace convscope
