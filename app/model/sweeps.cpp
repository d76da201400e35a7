#include "app/model/sweeps.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/model/kernel_file.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

namespace {
const std::string sweep_stopped = "stopped";
}

SweepSpec sweep_of(const Document& d, const Axis& axis, const std::vector<std::string>& with) {
  SweepSpec spec;
  spec.base = d.problem, spec.axis = axis, spec.accuracy = d.accuracy, spec.device = d.device;
  spec.inputs = without_files(d.inputs);
  spec.kernels = {d.kernel};
  for (const auto& k : with)
    if (std::find(spec.kernels.begin(), spec.kernels.end(), k) == spec.kernels.end()) spec.kernels.push_back(k);
  return spec;
}

std::string usual_values(const std::string& field) {
  if (field == "length") return "256..131072";
  if (field == "batch" || field == "groups") return "1..64*2";
  if (field.starts_with("in_channels") || field == "out_channels") return "8..512*2";
  if (field == "kernel_size") return "1..16";
  if (field == "padding") return "0..8";
  if (field == "output_padding") return "0..7";
  return "1..8";
}

void Sweeps::begin(const SweepSpec& spec) {
  stop();
  begin(now_, spec);
}

bool Sweeps::can_go_on(const SweepSpec& spec) const {
  return !now_.running && now_.trouble == sweep_stopped && now_.sweep && same_sweep(now_.asked, spec);
}

// From the request whose answer was not waited for.
void Sweeps::go_on() {
  if (!can_go_on(now_.asked)) return;
  now_.trouble.clear();
  now_.running = true;
  next(now_);
}

void Sweeps::want_preview(const SweepSpec& wish) {
  SweepSpec spec = wish;
  spec.times = SweepSpec::Times::predicted, spec.verdicts = SweepSpec::Verdicts::none;
  keep_floors();
  if (preview_.serial && same_sweep(preview_.asked, spec)) return;
  if (preview_.running) link_.cancel(preview_.request);
  begin(preview_, spec);
}

void Sweeps::hold_to_floor(Sweeping& s) {
  if (!s.sweep) return;
  Document d;
  d.accuracy = s.asked.accuracy;
  s.sweep->floors_by([this, d](const ConvProblem& p, const std::string& gpu) {
    Document own = d;
    own.problem = p;
    return floor_of_(own, gpu);
  });
  s.sentences = s.sweep->sentences();
}

// Another recording, or a profile here, may know other ceilings.
void Sweeps::keep_floors() {
  const uint64_t profiled = measuring_.profile() ? measuring_.profile()->serial : 0;
  if (floors_of_ == recorded_.recording() && floors_of_profile_ == profiled) return;
  floors_of_ = recorded_.recording(), floors_of_profile_ = profiled;
  for (Sweeping* s : {&now_, &preview_, &preview_shown_}) hold_to_floor(*s);
}

void Sweeps::begin(Sweeping& s, const SweepSpec& spec) {
  const uint64_t serial = s.serial + 1;
  s = Sweeping();
  s.asked = spec, s.serial = serial;
  try {
    s.sweep = std::make_unique<Sweep>(spec);
  } catch (const InputError& e) {
    s.trouble = e.what();
    return;
  }
  s.running = true;
  hold_to_floor(s);
  next(s);
}

void Sweeps::forget_file(const std::string& path) {
  const auto& swept = now_.asked.kernels;
  if (!now_.sweep || std::none_of(swept.begin(), swept.end(), [&](const auto& k) { return is_of_file(k, path); }))
    return;
  stop();
  const uint64_t serial = now_.serial + 1;
  now_ = Sweeping();
  now_.serial = serial;
}

void Sweeps::stop() {
  if (!std::exchange(now_.running, false)) return;
  now_.trouble = sweep_stopped;
  now_.serial++;
  link_.cancel(now_.request);
}

void Sweeps::next(Sweeping& s) {
  s.serial++;
  s.sentences = s.sweep->sentences(), s.times = s.sweep->times_words();
  auto request = s.sweep->next();
  if (!request) {
    s.running = false, s.now.clear();
    if (&s != &preview_) return;
    preview_shown_ = std::move(preview_);
    preview_ = Sweeping();
    preview_.asked = preview_shown_.asked, preview_.serial = preview_shown_.serial;
    return;
  }
  s.now = request->title;
  s.request = link_.ask("", request->header, [this, &s, serial = s.serial](Answer a) {
    link_.see_death(a);
    if (serial == s.serial && s.running) took(s, a);
  });
}

void Sweeps::took(Sweeping& s, const Answer& a) {
  if (a.kind == Answer::Kind::result) {
    s.sweep->took(json::parse(a.header));
    return next(s);
  }
  const Failure failure = failure_of(a);
  if (s.sweep->failed(failure.code, failure.message)) return next(s);
  s.running = false, s.now.clear(), s.serial++;
  s.trouble = failure.code == "cancelled" ? sweep_stopped : failure.message;
}

}  // namespace convscope
