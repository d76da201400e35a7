// The requests `profile` and `bench`.
#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/client.h"
#include "app/engine/kernel_file.h"
#include "app/engine/profile_codec.h"
#include "app/engine/sampling_codec.h"
#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;
namespace {

std::vector<std::string> names_of(const json& request, const char* field) {
  auto it = request.find(field);
  if (it == request.end() || it->is_null()) return {};
  if (!it->is_array()) throw InputError(field, brief(*it), "must be a list of names");
  if (it->size() > 64) throw InputError(field, std::to_string(it->size()), "names are too many: at most 64");
  std::vector<std::string> names;
  for (const auto& n : *it) {
    if (!n.is_string()) throw InputError(field, brief(n), "must be text");
    names.push_back(n);
  }
  return names;
}

ProfileSpec spec_of(const RunRequest& r) {
  ProfileSpec spec;
  spec.kernel = r.kernel;
  spec.problem = r.problem;
  spec.inputs = r.inputs;
  spec.accuracy = r.accuracy;
  spec.samples = r.samples;
  return spec;
}

}  // namespace

// Where warps are is sampled in an engine of its own: in one that has counted, CUPTI does not know the functions
// (profiling/cupti/cupti.h). Whatever becomes of that engine, the profile is there. It draws the inputs while this one
// counts, and ends while the answer is read.
class Service::Sampler {
 public:
  Sampler(State& state, const RunRequest& r) : state_(state), request_(r) {}

  // Starts the engine, which keeps away from the GPU until it is asked for samples.
  void draw() {
    std::vector<std::byte> payload;
    json request = request_json(request_, payload);
    if (!payload.empty()) return;  // values of files need no drawing
    request["type"] = "draw";
    start();
    engine_->post(request.dump(), {}, {.done = [](Answer) {}}, limit_s);
  }

  json samples(Activity& activity) {
    std::vector<std::byte> payload;
    json request = request_json(request_, payload);
    request["type"] = "samples";
    activity.phase("sampling where warps are, in an engine of its own");
    if (!engine_) start();
    Handlers handlers;
    handlers.progress = [&](const Progress&) { activity.advance(); };
    Answer a =
        engine_->request(request.dump(), std::move(payload), handlers, limit_s, [&] { return !activity.cancelled(); });
    activity.check();
    state_.ending = std::async(std::launch::async, [engine = std::move(engine_)]() mutable { engine.reset(); });
    json header = json::parse(a.header, nullptr, false);
    if (a.kind == Answer::Kind::result && header.is_object() && header.contains("pc_sampling"))
      return header["pc_sampling"];
    PcSamples none;
    std::string why = a.kind == Answer::Kind::error && header.is_object()
                          ? header.value("message", header.value("rule", ""))
                          : a.message;
    none.gap = {a.kind == Answer::Kind::crashed ? "crashed"
                : a.kind == Answer::Kind::hung  ? "hung"
                                                : "sampler-fails",
                "the engine that samples warps did not answer: " + why, "try again; the rest of the profile is whole"};
    return pc_samples_json(none);
  }

 private:
  void start() {
    engine_ = std::make_unique<EngineClient>();
    if (!names_file(request_.kernel)) return;
    const std::string file = file_of_kernel(request_.kernel);
    engine_->lend(file, kernel_file_request(file, request_.device), as_payload(find_kernel(request_.kernel).text()),
                  {.done = [](Answer) {}});
  }

  static constexpr double limit_s = 180;
  State& state_;
  const RunRequest& request_;
  std::unique_ptr<EngineClient> engine_;
};

// The inputs of a request to come, with no device.
Service::Reply Service::draw(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  require_legal(r.problem);
  activity.phase("drawing inputs");
  state_->drawn = {r.problem, r.inputs, std::make_shared<Inputs>(make_inputs(r.problem, r.inputs, &activity))};
  return {"{}", {}};
}

// For an engine that does nothing else: answers to `profile` are made of it.
Service::Reply Service::sample(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  require_legal(r.problem);
  auto& o = state_->open(r.device);
  state_->profiled = true;
  state_->live.reset();
  const State::Drawn drawn = std::exchange(state_->drawn, {});
  ProfileTools tools{*o.device, o.references, Cupti::shared(), Nvml::shared()};
  if (drawn.inputs && drawn.problem == r.problem && drawn.spec == r.inputs)
    tools.inputs = [&](const ConvProblem&, const InputSpec&, Activity&) { return drawn.inputs; };
  PcSamples samples = sample_pcs(tools, spec_of(r), activity);
  return {header_text({{"pc_sampling", pc_samples_json(samples)}}), {}};
}

Service::Reply Service::profile_one(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  std::string set = text_of(request, "set");
  require_set(set);
  require_legal(r.problem);
  auto& o = state_->open(r.device);
  ProfileSpec spec = spec_of(r);
  spec.full = set == "full", spec.memory = set == "memory";
  if (auto slow = request.find("slow_ms"); slow != request.end() && !slow->is_null()) {
    if (!slow->is_number() || slow->get<double>() < 0)
      throw InputError("slow_ms", brief(*slow), "must be a number of milliseconds");
    spec.slow_ms = *slow;
  }
  const json apart = request.value("pc_sampling", json(true));
  if (!apart.is_boolean()) throw InputError("pc_sampling", brief(apart), "must be true or false");
  state_->profiled = true;
  state_->live.reset();  // one set of tensors at a time
  auto drawn = [&](const ConvProblem& p, const InputSpec& in, Activity& a) { return o.judge->inputs(p, in, a); };
  Sampler sampler(*state_, r);
  auto before_counting = [&] {
    if (apart == true && !Cupti::shared().counters_gap(o.device->native_context(), o.device->info().index))
      sampler.draw();
  };
  json j = profile_json(
      profile({*o.device, o.references, Cupti::shared(), Nvml::shared(), drawn, before_counting}, spec, activity));
  if (j["set"] == "full" && !o.device->is_emulator() && apart == true) {
    const json& missing = j["counters"]["gap"];
    if (missing.is_null() || missing["code"] == "not-on-this-chip") {  // that is said of counters alone
      j["pc_sampling"] = sampler.samples(activity);
    } else {  // what stands in the way of counters does so of samples
      PcSamples none;
      none.gap = {missing["code"], missing["what"], missing["how"]};
      j["pc_sampling"] = pc_samples_json(none);
    }
  }
  j["phases"] = json::array();
  for (const auto& phase : activity.phases()) j["phases"].push_back({{"name", phase.name}, {"seconds", phase.seconds}});
  return {header_text(j), {}};
}

// One call, its time and the live set. What was prepared for a request is kept for the next one like it.
Service::Reply Service::live(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  require_legal(r.problem);
  auto& o = state_->open(r.device);
  ProfileTools tools{*o.device, o.references, Cupti::shared(), Nvml::shared()};
  state_->profiled = true;
  // By the device as it was asked for: two GPUs may have one name. A kernel's file may have another text by now.
  const std::string key = key_of(r, r.device) + " " + std::to_string(r.samples);
  if (!state_->live || state_->live_key != key) {
    state_->live.reset();  // its memory goes first
    state_->live = std::make_unique<LiveProfile>(tools, spec_of(r), activity);
    state_->live_key = key;
  }
  json j = live_json(state_->live->read(tools, activity));
  j["device"] = device_json(o.device->info());
  return {header_text(j), {}};
}

Service::Reply Service::bench_several(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  BenchSpec spec;
  spec.kernels = names_of(request, "kernels");
  spec.against = text_of(request, "against");
  const json with_packing = request.value("with_packing", json(false));
  if (!with_packing.is_boolean()) throw InputError("with_packing", brief(with_packing), "must be true or false");
  spec.with_packing = with_packing;
  const json keep = request.value("keep_on_cancel", json(false));
  if (!keep.is_boolean()) throw InputError("keep_on_cancel", brief(keep), "must be true or false");
  spec.keep_on_cancel = keep;
  require_legal(r.problem);
  auto& o = state_->open(r.device);
  spec.problem = r.problem;
  spec.inputs = r.inputs;
  spec.accuracy = r.accuracy;
  spec.samples = r.samples;
  bool reference =
      std::any_of(o.references.begin(), o.references.end(), [&](const auto& r) { return r->name() == spec.against; });
  if (spec.against == "oracle")
    throw InputError("against", "oracle",
                     "is not timed: must be a kernel or a reference that is (`convscope list references`)");
  if (!spec.against.empty() && !reference) {
    try {
      find_kernel(spec.against);
    } catch (const InputError& e) {
      // A reference that is not here is missing, which is said with how to get it.
      if (!e.rule().starts_with("is a reference")) throw InputError("against", e.value(), e.rule());
    }
  }
  state_->live.reset();
  json j = bench_json(bench({*o.device, o.references, Cupti::shared(), Nvml::shared()}, spec, activity));
  return {header_text(j), {}};
}

}  // namespace convscope
