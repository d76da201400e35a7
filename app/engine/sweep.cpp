#include "app/engine/sweep.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/json_fields.h"
#include "kernels/base/text.h"
#include "kernels/problem/counts.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

std::string floor_words_of(const json& answer) {
  return fmt::format("by {} of {}", text(answer, "floor_from") == "bytes" ? "bytes" : "operations",
                     text(answer, "floor_source"));
}

}  // namespace

bool same_sweep(const SweepSpec& a, const SweepSpec& b) {
  auto begins = [](const SweepSpec& s) {
    ConvProblem p = s.base;
    for (const auto* f : s.axis.fields) p.*f->value = s.axis.values.front();
    return p;
  };
  return a.axis.fields == b.axis.fields && a.axis.values == b.axis.values && begins(a) == begins(b) &&
         a.kernels == b.kernels && a.inputs == b.inputs && a.accuracy == b.accuracy && a.device == b.device &&
         a.times == b.times && a.verdicts == b.verdicts && a.samples == b.samples;
}

Sweep::Sweep(SweepSpec spec) : spec_(std::move(spec)) {
  if (spec_.kernels.empty()) throw InputError("kernel", "", "is missing: name what is swept");
  for (size_t i = 0; i < spec_.kernels.size(); i++) {
    const std::string& name = spec_.kernels[i];
    if (name == "oracle") throw InputError("kernel", name, "is what all are judged against, and is not timed");
    if (std::find(spec_.kernels.begin(), spec_.kernels.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        spec_.kernels.begin() + static_cast<std::ptrdiff_t>(i))
      throw InputError("kernel", name, "is given more than once");
  }
  for (const auto* s : {&spec_.inputs.x, &spec_.inputs.w, &spec_.inputs.b})
    if (s->kind == InputKind::file)
      throw InputError("input", s->file, "is a file, which has one shape: a sweep draws its inputs");
  std::string rule;
  bool any = false;
  for (const int64_t value : spec_.axis.values) {
    const Axis::Point at = spec_.axis.at(spec_.base, value);
    SweepPoint p;
    p.value = value, p.problem = at.problem, p.note = at.note;
    if (at.wrong) {
      p.refused = at.wrong->what();
      if (rule.empty()) rule = p.refused;
    } else {
      any = true;
      for (const auto& name : spec_.kernels) {
        SweepEntry e;
        e.kernel = e.ran = name;
        p.entries.push_back(std::move(e));
      }
    }
    points_.push_back(std::move(p));
  }
  if (!any) throw InputError("over", spec_.axis.name(), "makes no legal problem: " + rule);
}

bool Sweep::measures() const {
  return spec_.times == SweepSpec::Times::measured || (spec_.times == SweepSpec::Times::automatic && on_gpu_);
}

bool Sweep::judges(const SweepPoint& p, const SweepEntry& e) const {
  if (e.reference || spec_.verdicts == SweepSpec::Verdicts::none || given_up_.contains(e.kernel)) return false;
  return on_gpu_ || spec_.verdicts == SweepSpec::Verdicts::all || walked_products(p.problem) <= most_products;
}

// What can be timed: what crashes would take the others' times along.
std::vector<std::string> Sweep::timeable(const SweepPoint& p) const {
  std::vector<std::string> names;
  for (const auto& e : p.entries) {
    const bool may = e.reference || e.status == Status::right || e.status == Status::wrong ||
                     (!e.status && spec_.verdicts == SweepSpec::Verdicts::none);
    if (may && std::find(names.begin(), names.end(), e.ran) == names.end()) names.push_back(e.ran);
  }
  return names;
}

bool Sweep::timed(const SweepPoint& p) const { return measures() && !timeable(p).empty(); }

// To the next thing that is asked.
void Sweep::skip() {
  if (phase_ == Phase::predict) {
    while (point_ < points_.size() && !points_[point_].refused.empty()) point_++;
    if (point_ < points_.size()) return;
    phase_ = Phase::run, point_ = entry_ = 0;
  }
  if (phase_ == Phase::run && measures() && !std::exchange(measured_alone_, true))
    for (auto& p : points_) {
      // What the model says is no time beside those that are measured.
      for (auto& e : p.entries) e.ms.reset(), e.source.clear();
      if (!on_gpu_) p.floor_ms.reset(), p.floor_words.clear();
    }
  if (phase_ != Phase::run) return;
  for (; point_ < points_.size(); point_++, entry_ = 0) {
    SweepPoint& p = points_[point_];
    for (; entry_ < p.entries.size(); entry_++) {
      SweepEntry& e = p.entries[entry_];
      if (judges(p, e)) return;
      if (e.reference)
        e.sentence = "a reference: it is judged nowhere here";
      else if (auto at = given_up_.find(e.kernel); at != given_up_.end())
        e.sentence = "not tried: it " + at->second, e.no_time = e.sentence;
      else if (spec_.verdicts == SweepSpec::Verdicts::none)
        e.sentence = "not judged: that was not asked for";
      else
        e.sentence = fmt::format("not judged: {:.2g} products are a GPU's work (--verdicts all does it here)",
                                 walked_products(p.problem));
    }
    if (timed(p)) return;
  }
  phase_ = Phase::over;
}

std::optional<Sweep::Request> Sweep::next() const {
  if (phase_ == Phase::over) return {};
  if (phase_ == Phase::references) return Request{{{"type", "list"}, {"what", "references"}}, "sweep"};
  const SweepPoint& p = points_[point_];
  const std::string at = fmt::format("{} {}", spec_.axis.name(), grouped(p.value));
  RunRequest r;
  r.kernel = auto_kernel, r.problem = p.problem, r.inputs = spec_.inputs, r.device = spec_.device;
  r.accuracy = spec_.accuracy, r.references = false;
  std::vector<std::byte> payload;
  if (phase_ == Phase::predict) {
    r.inputs = {};
    json header = request_json(r, payload);
    header["type"] = "choose", header["measure"] = false;
    return Request{std::move(header), "the planner's model, " + at};
  }
  if (entry_ < p.entries.size()) {
    r.kernel = p.entries[entry_].kernel;
    json header = request_json(r, payload);
    header["type"] = "judge";
    return Request{std::move(header), fmt::format("{}: {}", file_name(r.kernel), at)};
  }
  r.samples = spec_.samples;
  json header = request_json(r, payload);
  header.erase("kernel");
  header["type"] = "bench", header["kernels"] = timeable(p);
  return Request{std::move(header), "times, " + at};
}

void Sweep::take_choice(SweepPoint& p, const json& answer) {
  const json &chosen = part(answer, "chosen"), &device = part(answer, "device");
  if (!text(device, "name").empty()) device_ = text(device, "name"), on_gpu_ = text(device, "kind") == "cuda";
  target_ = text(chosen, "target");
  p.floor_ms = number(chosen, "floor_ms");
  if (p.floor_ms) p.floor_words = floor_words_of(chosen);
  for (auto& e : p.entries) {
    if (e.kernel == auto_kernel) e.ran = text(chosen, "kernel").empty() ? e.kernel : text(chosen, "kernel");
    if (spec_.times == SweepSpec::Times::none) continue;
    e.no_time =
        e.reference ? "the planner's model is of this program's rungs" : "the planner's model knows the rungs alone";
    for (const auto& c : part(chosen, "candidates")) {
      if (text(c, "name") != e.ran) continue;
      e.ms = number(c, "predicted_ms"), e.no_time = text(c, "refused");
      if (e.ms) e.source = "predicted";
    }
  }
}

void Sweep::take_verdict(SweepEntry& e, const json& answer) {
  const json &verdict = part(answer, "verdict"), &error = part(answer, "error");
  if (const json& device = part(answer, "device"); !text(device, "name").empty())
    device_ = text(device, "name"), on_gpu_ = text(device, "kind") == "cuda";
  e.status = status_named(text(verdict, "status")), e.sentence = text(verdict, "sentence");
  e.failing = whole(error, "failing").value_or(0), e.elements = whole(error, "elements").value_or(0);
  e.worst = number(error, "max_bound_ratio");
  if (const std::string ran = text(part(answer, "kernel"), "name"); !ran.empty()) e.ran = ran;
}

void Sweep::take_times(SweepPoint& p, const json& answer) {
  if (!on_gpu_)  // a floor of the emulator's times would mean nothing
    p.floor_ms.reset(), p.floor_words.clear();
  else if (auto floor = number(answer, "floor_ms"))
    p.floor_ms = floor, p.floor_words = floor_words_of(answer);
  for (auto& e : p.entries) {
    e.ms.reset(), e.source.clear();
    if (e.status == Status::not_run)
      e.no_time = e.sentence;
    else if (e.status != Status::crashed && e.status != Status::hung && !given_up_.contains(e.kernel))
      e.no_time = "it was not timed";
    for (const auto& b : part(answer, "entries")) {
      if (text(b, "name") != e.ran) continue;
      const json& packed = part(b, "packed");
      const bool has_packed = number(packed, "median_ms").has_value();
      const json &hot = has_packed ? packed : part(b, "hot"), &cold = part(has_packed ? packed : b, "cold");
      e.ms = number(hot, "median_ms"), e.noise_pct = number(hot, "noise_pct"), e.cold_ms = number(cold, "median_ms");
      e.source = text(b, "source");
      e.no_time = e.ms ? "" : text(b, "reason");
    }
  }
}

void Sweep::put_floor(SweepPoint& p) const {
  if (!floor_rule_ || !p.floor_ms) return;
  if (auto floor = floor_rule_(p.problem, on_gpu_ ? device_ : target_))
    p.floor_ms = floor->ms, p.floor_words = floor->words;
}

void Sweep::floors_by(FloorRule rule) {
  floor_rule_ = std::move(rule);
  for (auto& p : points_) put_floor(p);
}

void Sweep::took(const json& result) {
  switch (phase_) {
    case Phase::references: {
      std::vector<std::string> names;
      for (const auto& r : part(result, "references")) names.push_back(text(r, "name"));
      for (auto& p : points_)
        for (auto& e : p.entries) e.reference = std::find(names.begin(), names.end(), e.kernel) != names.end();
      phase_ = Phase::predict;
      break;
    }
    case Phase::predict:
      take_choice(points_[point_], result);
      put_floor(points_[point_++]);
      break;
    case Phase::run: {
      SweepPoint& p = points_[point_];
      if (entry_ < p.entries.size())
        take_verdict(p.entries[entry_++], result);
      else
        take_times(p, result), put_floor(p), point_++, entry_ = 0;
      break;
    }
    case Phase::over:
      break;
  }
  skip();
}

bool Sweep::failed(const std::string& code, const std::string& message) {
  const bool died = code == "crashed" || code == "hung";
  if (phase_ == Phase::predict) {  // no rung takes it, or none is known: no times, and verdicts all the same
    if (died || code == "cancelled" || message.starts_with("device ")) return false;
    for (auto& e : points_[point_].entries) e.no_time = message;
    point_++;
  } else if (phase_ != Phase::run) {
    return false;
  } else if (SweepPoint& p = points_[point_]; entry_ < p.entries.size()) {
    if (code == "bad-input" && message.find(" is a reference") != std::string::npos) {  // that is not here
      for (auto& point : points_)
        for (auto& e : point.entries)
          if (e.kernel == p.entries[entry_].kernel) e.reference = true, e.no_time = "it is not here";
      skip();
      return true;
    }
    SweepEntry& e = p.entries[entry_];
    if (!died && code != "cancelled" && message.starts_with("memory ")) {  // this value alone is too large
      e.status = Status::not_run, e.sentence = e.no_time = message, e.ms.reset();
      entry_++;
      skip();
      return true;
    }
    if (!died) return false;
    entry_++;
    e.status = code == "hung" ? Status::hung : Status::crashed;
    e.sentence = code + ": " + message, e.ms.reset(), e.no_time = "it " + std::string(code);
    constexpr int enough = 3;
    if (code == "hung" || ++crashes_[e.kernel] >= enough)
      given_up_[e.kernel] = fmt::format("{} at {} {}", code, spec_.axis.name(), grouped(p.value));
  } else {
    if (code == "cancelled") return false;
    for (auto& e : p.entries) e.ms.reset(), e.no_time = message;
    point_++, entry_ = 0;
  }
  skip();
  return true;
}

double Sweep::share_done() const {
  if (over()) return 1;
  if (phase_ != Phase::run) return 0;
  const double point = static_cast<double>(point_) +
                       static_cast<double>(entry_) / static_cast<double>(std::max<size_t>(1, spec_.kernels.size() + 1));
  return point / static_cast<double>(points_.size());
}

std::string Sweep::times_words() const {
  for (const auto& p : points_)
    for (const auto& e : p.entries)
      if (e.ms && e.source == "predicted" && !measures())
        return "predicted by the planner's model for " + target_ + ", weights packed before";
      else if (e.ms && e.source != "predicted")
        return e.source == "emulated" ? "emulated on this CPU, which says nothing of a GPU"
                                      : fmt::format("measured on {}, hot, weights packed before", device_);
  return "";
}

}  // namespace convscope
