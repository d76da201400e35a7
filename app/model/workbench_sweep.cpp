// Kernels over one parameter: a request at a time, so that whatever else is wished goes between them, and a crash ends
// one value and not the sweep.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/engine/json_fields.h"
#include "app/model/floor.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"

namespace convscope {
using nlohmann::json;

namespace {
const std::string sweep_stopped = "stopped";
}

SweepSpec sweep_of(const Document& d, const Axis& axis, const std::vector<std::string>& with) {
  SweepSpec spec;
  spec.base = d.problem, spec.axis = axis, spec.accuracy = d.accuracy, spec.device = d.device;
  spec.inputs = d.inputs;
  // Files are of one shape: their place is taken by what is usual.
  const InputSpec usual;
  if (spec.inputs.x.kind == InputKind::file) spec.inputs.x = usual.x;
  if (spec.inputs.w.kind == InputKind::file) spec.inputs.w = usual.w;
  if (spec.inputs.b.kind == InputKind::file) spec.inputs.b = usual.b;
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

std::vector<std::string> Workbench::known_of(const std::vector<std::string>& kernels) const {
  std::vector<std::string> all;
  for (const auto& name : kernels)
    if (name == auto_kernel ||
        std::any_of(kernels_.begin(), kernels_.end(), [&](const KernelEntry& k) { return k.name == name; }))
      all.push_back(name);
  return all;
}

void Workbench::sweep(const SweepSpec& spec) {
  stop_sweep();
  begin_sweep(sweeping_, spec);
}

bool Workbench::can_go_on_with_sweep(const SweepSpec& spec) const {
  return !sweeping_.running && sweeping_.trouble == sweep_stopped && sweeping_.sweep &&
         same_sweep(sweeping_.asked, spec);
}

// From the request whose answer was not waited for.
void Workbench::go_on_with_sweep() {
  if (!can_go_on_with_sweep(sweeping_.asked)) return;
  sweeping_.trouble.clear();
  sweeping_.running = true;
  sweep_next(sweeping_);
}

void Workbench::want_sweep_preview(const SweepSpec& wish) {
  SweepSpec spec = wish;
  spec.times = SweepSpec::Times::predicted, spec.verdicts = SweepSpec::Verdicts::none;
  keep_floors();
  if (preview_.serial && same_sweep(preview_.asked, spec)) return;
  if (preview_.running) link_.cancel(preview_.request);
  begin_sweep(preview_, spec);
}

void Workbench::hold_to_floor(Sweeping& s) {
  if (!s.sweep) return;
  Document d;
  d.accuracy = s.asked.accuracy;
  s.sweep->floors_by([this, d](const ConvProblem& p, const std::string& gpu) -> std::optional<Sweep::Floored> {
    Document own = d;
    own.problem = p;
    const auto floor = floor_under(known_roof(*this, own, gpu, false), p);
    return floor ? std::optional(Sweep::Floored{floor->ms, floor->words}) : std::nullopt;
  });
  s.sentences = s.sweep->sentences();
}

// Another recording, or a profile here, may know other ceilings.
void Workbench::keep_floors() {
  const uint64_t profiled = profile() ? profile()->serial : 0;
  if (floors_of_ == recorded_.recording() && floors_of_profile_ == profiled) return;
  floors_of_ = recorded_.recording(), floors_of_profile_ = profiled;
  for (Sweeping* s : {&sweeping_, &preview_, &preview_shown_}) hold_to_floor(*s);
}

void Workbench::begin_sweep(Sweeping& s, const SweepSpec& spec) {
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
  sweep_next(s);
}

// One of its kernels' files is another now.
void Workbench::forget_sweep() {
  stop_sweep();
  const uint64_t serial = sweeping_.serial + 1;
  sweeping_ = Sweeping();
  sweeping_.serial = serial;
}

void Workbench::stop_sweep() {
  if (!std::exchange(sweeping_.running, false)) return;
  sweeping_.trouble = sweep_stopped;
  sweeping_.serial++;
  link_.cancel(sweeping_.request);
}

void Workbench::sweep_next(Sweeping& s) {
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
    if (serial == s.serial && s.running) took_sweep(s, std::move(a));
  });
}

void Workbench::took_sweep(Sweeping& s, Answer a) {
  if (a.kind == Answer::Kind::result) {
    s.sweep->took(json::parse(a.header));
    return sweep_next(s);
  }
  std::string code = a.kind == Answer::Kind::hung ? "hung" : "crashed", message = a.message;
  if (a.kind == Answer::Kind::error) {
    const Refusal refusal = refusal_of(a);
    message = refusal.text;
    code = refusal.cancelled        ? "cancelled"
           : refusal.exit_code == 4 ? "crashed"
                                    : json_fields::text(json::parse(a.header), "code");
  }
  if (s.sweep->failed(code, message)) return sweep_next(s);
  s.running = false, s.now.clear(), s.serial++;
  s.trouble = code == "cancelled" ? sweep_stopped : message;
}

}  // namespace convscope
