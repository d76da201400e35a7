#include "app/engine/sampling_codec.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/engine/codec.h"

namespace convscope {
using nlohmann::json;
namespace {

// Six digits are more than an interval of microseconds is worth, and a third of the characters.
json rounded(double v) {
  if (!std::isfinite(v) || v == 0) return number_json(v);
  double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(v))));
  return number_json(std::round(v * scale) / scale);
}
json rounded(const std::vector<double>& values) {
  json list = json::array();
  for (double v : values) list.push_back(rounded(v));
  return list;
}
json nanoseconds(const std::vector<double>& us) {
  json list = json::array();
  for (double v : us) list.push_back(std::round(v * 1000) / 1000);
  return list;
}

void put_place(json& j, const SourcePlace& at) {
  j["file"] = at.file.empty() ? json(nullptr) : json(at.file);
  j["line"] = at.line > 0 ? json(at.line) : json(nullptr);
}

json function_json(const PcFunction& f) {
  json instructions = json::array();
  for (const auto& i : f.instructions) {
    json j = {{"offset", i.offset}, {"samples", i.samples}, {"reasons", i.reasons}, {"not_issued", i.not_issued}};
    put_place(j, i.at);
    instructions.push_back(std::move(j));
  }
  json j = {{"name", f.name},
            {"samples", f.samples},
            {"code_bytes", f.code_hash.empty() ? json(nullptr) : json(f.code_bytes)},
            {"code_hash", f.code_hash.empty() ? json(nullptr) : json(f.code_hash)},
            {"instructions", std::move(instructions)}};
  if (!f.no_lines.empty()) j["lines_reason"] = f.no_lines;
  return j;
}

}  // namespace

json gap_json(const Gap& g) { return g ? json{{"code", g.code}, {"what", g.what}, {"how", g.how}} : json(nullptr); }

json pc_samples_json(const PcSamples& s) {
  json reasons = json::array(), lines = json::array(), functions = json::array();
  StallSamples sums = s.by_reason();
  for (const auto& r : s.reasons) {
    auto it = sums.find(r.name);
    reasons.push_back({{"name", r.name},
                       {"words", r.words},
                       {"waiting", r.waiting},
                       {"samples", it == sums.end() ? uint64_t{0} : it->second}});
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const json& a, const json& b) { return a["samples"] > b["samples"]; });
  for (const auto& l : s.lines()) {
    json j = {{"samples", l.samples}, {"reasons", l.reasons}};
    put_place(j, l.at);
    lines.push_back(std::move(j));
  }
  for (const auto& f : s.functions) functions.push_back(function_json(f));
  json j = {{"source", s.gap ? json(nullptr) : json("sampled by hardware")},
            {"gap", gap_json(s.gap)},
            {"samples", s.samples},
            {"total", s.total},
            {"dropped", s.dropped},
            {"unknown", s.unknown},
            {"buffer_full", s.buffer_full},
            {"period_cycles", s.period_cycles ? json(s.period_cycles) : json(nullptr)},
            {"calls", s.calls},
            {"spent_ms", number_json(s.spent_ms)},
            {"reasons", std::move(reasons)},
            {"lines", std::move(lines)},
            {"functions", std::move(functions)}};
  if (s.gap) j["reason"] = s.gap.sentence();
  return j;
}

json timeline_json(const Timeline& t) {
  json lanes = json::array(), launches = json::array();
  for (const auto& lane : t.lanes) {
    LaneSummary s = t.summary(lane);
    lanes.push_back({{"name", lane.name},
                     {"title", lane.title},
                     {"unit", lane.unit},
                     {"about", lane.about},
                     {"least", rounded(s.least)},
                     {"mean", rounded(s.mean)},
                     {"most", rounded(s.most)},
                     {"points", s.points},
                     {"values", rounded(lane.values)}});
  }
  for (const auto& l : t.launches)
    launches.push_back({{"name", l.name}, {"start_us", l.start_us}, {"end_us", l.end_us}});
  json j = {{"source", t.gap ? json(nullptr) : json("counted by hardware")},
            {"gap", gap_json(t.gap)},
            {"interval_us", number_json(t.interval_us)},
            {"calls", t.calls},
            {"work_us", number_json(t.work_us)},
            {"kernels_us", number_json(t.kernels_us())},
            {"longer", t.longer},
            {"not_on_this_chip", t.not_here},
            {"spent_ms", number_json(t.spent_ms)},
            {"start_us", nanoseconds(t.start_us)},
            {"end_us", nanoseconds(t.end_us)},
            {"lanes", std::move(lanes)},
            {"launches", std::move(launches)}};
  if (t.gap) j["reason"] = t.gap.sentence();
  return j;
}

}  // namespace convscope
