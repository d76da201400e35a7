#include "app/engine/codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "app/engine/profile_codec.h"
#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/compile/not_followed.h"
#include "kernels/runtime/stand_ins.h"

namespace convscope {
using nlohmann::json;
namespace {

// Reads a field of a known type, or says which field is wrong.
template <class T>
T take(const json& j, const char* field, const T& otherwise) {
  auto it = j.find(field);
  if (it == j.end() || it->is_null()) return otherwise;
  bool fits = std::is_same_v<T, bool>          ? it->is_boolean()
              : std::is_same_v<T, std::string> ? it->is_string()
                                               : it->is_number_integer();
  if (!fits) throw InputError(field, brief(*it), "has the wrong type");
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    if (it->is_number_unsigned() && it->template get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<T>::max()))
      throw InputError(field, it->dump(), "is too large");
  return it->template get<T>();
}

json optional_number(const std::optional<double>& v) { return v ? number_json(*v) : json(nullptr); }

struct Role {
  const char* field;
  TensorSource InputSpec::*source;
};
constexpr Role roles[] = {{"input", &InputSpec::x}, {"weight", &InputSpec::w}, {"bias_values", &InputSpec::b}};

json timing_json(const Timing& t) {
  if (t.empty()) return nullptr;
  return {{"median_ms", number_json(t.median_ms())},
          {"min_ms", number_json(t.min_ms())},
          {"samples", t.samples_ms.size()},
          {"noise_pct", number_json(t.noise_pct())}};
}

// The launch that a run is about: it reads x, by the most threads. Packing of weights and sums of parts do not. What
// stands for a library's launch is the file's least.
const Launch* main_launch(const Plan& plan) {
  auto weight = [](const Launch& l) {
    return std::tuple(!is_stand_in(l.entry.name), l.is_given(Tensor::x), l.grid.count() * l.block.count());
  };
  const Launch* main = nullptr;
  for (const auto& l : plan.launches())
    if (!main || weight(l) > weight(*main)) main = &l;
  return main;
}

json launches_json(const RunReport& r) {
  json all = json::array();
  if (!r.spec.kernel || !r.spec.kernel->unsupported(r.spec.problem).empty()) return all;
  const Plan plan = r.spec.kernel->plan_for(r.spec.problem);
  const Launch* main = main_launch(plan);
  for (const auto& l : plan.launches())
    all.push_back({{"entry", l.entry.name},
                   {"grid", {l.grid.x, l.grid.y, l.grid.z}},
                   {"block", {l.block.x, l.block.y, l.block.z}},
                   {"dynamic_shared_bytes", l.dynamic_shared_bytes},
                   {"main", &l == main}});
  return all;
}

// What was not compared has no figures: null, never 0.
json comparison_json(const Comparison& c) {
  const bool any = c.elements > 0;
  auto measured = [&](auto v) { return any ? json(v) : json(nullptr); };
  const bool none_finite = any && c.nan + c.inf + c.unwritten >= c.elements;
  auto of_finite = [&](auto v) { return none_finite ? json(nullptr) : measured(v); };
  auto fraction = [&](int64_t n) {
    return any ? json(static_cast<double>(n) / static_cast<double>(c.elements)) : json(nullptr);
  };
  // A bound of 0 (of exact passes, and where no tap lands) has no multiple: an error there is infinitely many of it,
  // also in their mean. Where other elements that fail have a bound, the mean is of these.
  const bool beside_zero = any && c.rms_ratio == 0 && c.failing > c.nan + c.inf + c.unwritten;
  const double rms_ratio = beside_zero ? std::numeric_limits<double>::infinity() : c.rms_ratio;
  constexpr const char* nothing = "there was no output to compare";
  json gates = json::array();
  for (const auto& g : c.gates.empty() ? CompareOptions{}.gates : c.gates)
    gates.push_back({{"atol", g.atol},
                     {"rtol", g.rtol},
                     {"failing", measured(g.failing)},
                     {"failing_fraction", fraction(g.failing)}});
  if (!any)
    for (json& gate : gates) gate["reason"] = nothing;
  auto element = [](const std::optional<ElementReport>& e) -> json {
    if (!e) return nullptr;
    return {{"n", e->n},
            {"co", e->co},
            {"j", e->j},
            {"got", number_json(e->got)},
            {"expected", number_json(e->expected)},
            {"bound", number_json(e->bound)}};
  };
  json j = {{"gates", gates},
            {"elements", c.elements},
            {"failing", measured(c.failing)},
            {"failing_fraction", fraction(c.failing)},
            {"max_abs", of_finite(number_json(c.max_abs))},
            {"max_bound_ratio", measured(number_json(c.max_ratio))},
            {"rms_bound_ratio", of_finite(number_json(rms_ratio))},
            {"rms_rel", of_finite(number_json(c.rms_relative))},
            {"nan", measured(c.nan)},
            {"inf", measured(c.inf)},
            {"unwritten", measured(c.unwritten)},
            {"first_failing", element(c.first_failing)},
            {"worst", element(c.worst)}};
  if (!any)
    j["reason"] = nothing;
  else if (none_finite)
    j["reason"] = "no output is a finite number: there is no largest and no mean error";
  return j;
}

// Does a kernel that does not take a problem say so itself: by its rules, by the checks of its host code, by what that
// throws or returns, or by lacking such a parameter? What is left is code that is not followed here, or does not fit.
bool is_declared(std::string_view why) {
  return !why.starts_with("its host code ") && !why.starts_with(host::not_followed_here);
}

// With those that a kernel which crashed or hung did not come to.
json layers_json(const Verdict& v) {
  json layers = json::array();
  auto add = [&](const std::string& name, LayerStatus status, const std::string& evidence,
                 const std::vector<Finding>& found = {}) {
    json names = json::array();
    for (Finding f : found) names.push_back(name_of(f));
    layers.push_back(
        {{"name", name}, {"status", name_of(status)}, {"evidence", evidence}, {"found", std::move(names)}});
  };
  const bool crashed = v.status == Status::crashed;
  if (!crashed && v.status != Status::hung) {
    for (const auto& l : v.layers) add(l.name, l.status, l.evidence, l.found);
    return layers;
  }
  bool failed = false;  // the layers before it are not known where the report was lost with its engine
  for (const char* name : {"compile", "binding", "shape", "memory", "mathematics", "determinism", "speed"}) {
    const Layer* l = v.find(name);
    if (l)
      add(l->name, l->status, l->evidence, l->found), failed |= l->status == LayerStatus::fail;
    else
      add(name, LayerStatus::skipped,
          std::string(failed    ? "not reached: the kernel "
                      : crashed ? "not known: the engine ended when the kernel "
                                : "not known: the kernel ") +
              (crashed ? "crashed" : "did not come to an end"));
  }
  return layers;
}

json verdict_json(const Verdict& v) {
  json j = {
      {"status", name_of(v.status)}, {"sentence", v.sentence}, {"layers", layers_json(v)}, {"exit_code", v.exit_code}};
  if (!v.notes.empty()) j["notes"] = v.notes;
  const Layer* binding = v.find("binding");
  if (v.status != Status::not_run || v.exit_code != 2 || !binding) return j;
  const bool declared = is_declared(binding->evidence);
  j["declared"] = declared;
  // On a problem on which it raises it is as wrong as if it had run.
  if (!declared || binding->evidence.starts_with(host::fails_in_pytorch)) j["exit_code"] = 1;
  return j;
}

}  // namespace

void require_set(const std::string& set) {
  if (set != "" && set != "live" && set != "memory" && set != "full")
    throw InputError("set", set, "must be live, memory or full");
}

std::string brief(const json& value) {
  if (value.is_object()) return "{…}";
  if (value.is_array()) return "[…]";
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  constexpr size_t most = 60;
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end--;  // not inside a character
  return text.substr(0, end) + "…";
}

json number_json(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
}

json problem_json(const ConvProblem& p) {
  json j;
  for (const auto& f : problem_fields()) j[f.name] = p.*f.value;
  j["bias"] = p.bias;
  j["dtype"] = name_of(p.dtype);
  return j;
}

ConvProblem problem_from(const json& j) {
  if (!j.is_object()) throw InputError("problem", "", "must be an object");
  ConvProblem p;
  for (const auto& f : problem_fields()) p.*f.value = take<int64_t>(j, f.name, p.*f.value);
  p.bias = take(j, "bias", false);
  auto name = take(j, "dtype", std::string("f32"));
  auto dtype = dtype_from(name);
  if (!dtype) throw InputError("dtype", name, "must be " + std::string(dtype_names));
  p.dtype = *dtype;
  return p;
}

json request_json(const RunRequest& r, std::vector<std::byte>& payload) {
  json j = {{"kernel", r.kernel},
            {"problem", problem_json(r.problem)},
            {"device", r.device},
            {"seed", static_cast<int64_t>(r.inputs.seed)},  // all 64 bits: it is read as a signed number, as in torch
            {"accuracy", name_of(r.accuracy)},
            {"samples", r.samples},
            {"references", r.references},
            {"pictures", r.pictures},
            {"files", json::object()}};
  j["tolerance"] = r.tolerance ? json{r.tolerance->atol, r.tolerance->rtol} : json(nullptr);
  for (const auto& role : roles) {
    const TensorSource& s = r.inputs.*role.source;
    if (s.kind == InputKind::file) {
      const HostTensor& t = s.values.value();
      j["files"][role.field] = {
          {"name", s.file}, {"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"offset", payload.size()}};
      payload.insert(payload.end(), t.data(), t.data() + t.size_bytes());
    } else {
      for (const auto& k : input_kinds)
        if (k.kind == s.kind) j[role.field] = k.name;
    }
  }
  return j;
}

RunRequest request_from(const json& j, std::span<const std::byte> payload) {
  RunRequest r;
  r.kernel = take(j, "kernel", std::string());
  r.problem = problem_from(j.value("problem", json::object()));
  r.device = take(j, "device", r.device);
  r.inputs.seed = static_cast<uint64_t>(take<int64_t>(j, "seed", 42));
  auto accuracy = take(j, "accuracy", std::string("strict"));
  auto a = accuracy_from(accuracy);
  if (!a) throw InputError("accuracy", accuracy, "must be strict, 3xtf32 or tf32");
  r.accuracy = *a;
  if (auto e = check_accuracy(r.problem.dtype, r.accuracy)) throw *e;
  if (auto it = j.find("tolerance"); it != j.end() && !it->is_null()) {
    if (!it->is_array() || it->size() != 2 || !(*it)[0].is_number() || !(*it)[1].is_number())
      throw InputError("tolerance", brief(*it), "must be a list of two numbers, or null");
    r.tolerance = Gate{(*it)[0], (*it)[1], 0};
  }
  r.samples = static_cast<int>(std::min<int64_t>(take<int64_t>(j, "samples", 0), 1 << 20));
  r.references = take(j, "references", true);
  r.pictures = take(j, "pictures", false);
  const json files = j.value("files", json::object());
  for (const auto& role : roles) {
    TensorSource& s = r.inputs.*role.source;
    if (files.is_object() && files.contains(role.field)) {
      const json& f = files[role.field];
      if (!f.is_object()) throw InputError("files", "", "must hold an object for each role");
      s = {InputKind::file, take(f, "name", std::string("file")), {}};
      auto dtype = dtype_from(take(f, "dtype", std::string()));
      if (!dtype) throw InputError(role.field, s.file, "must be " + std::string(dtype_names));
      HostTensor t{*dtype, {}, nullptr};
      __int128 elements = 1;
      const json shape = f.value("shape", json::array());
      if (!shape.is_array() || shape.size() > 8) throw InputError(role.field, s.file, "has no shape");
      for (const auto& n : shape) {
        if (!n.is_number_integer() || n.get<int64_t>() < 0)
          throw InputError(role.field, s.file, "has a shape that is no list of sizes");
        t.shape.push_back(n);
        elements *= n.get<int64_t>();
        if (elements > max_elements) throw InputError(role.field, s.file, "has too many elements");
      }
      auto offset = static_cast<uint64_t>(take<int64_t>(f, "offset", 0));
      uint64_t size = static_cast<uint64_t>(elements) * size_of(*dtype);
      if (offset > payload.size() || payload.size() - offset < size)
        throw InputError(role.field, s.file, "is longer than the bytes that came with it");
      auto bytes = std::make_shared<HostBytes>(size);
      if (size) std::memcpy(bytes->data(), payload.data() + offset, size);
      t.bytes = std::move(bytes);
      s.values = std::move(t);
    } else if (auto kind = take(j, role.field, std::string()); !kind.empty()) {
      s = parse_source(role.field, kind);
      if (s.kind == InputKind::file) throw InputError(role.field, kind, "is a file that did not come with the request");
    }
  }
  return r;
}

json statistics_json(const ErrorStatistics& s) {
  using S = ErrorStatistics;
  auto bins = [](LogBins b) {
    return json{{"low_decade", b.low_decade}, {"high_decade", b.high_decade}, {"per_decade", b.per_decade}};
  };
  return {{"elements", s.elements},
          {"zero", s.zero},
          {"not_finite", s.not_finite},
          {"ratio", s.ratio},
          {"gate", s.gate},
          {"joint", s.joint},
          {"joint_small", s.joint_small},
          {"ratio_bins", bins(S::ratio_bins)},
          {"gate_bins", bins(S::gate_bins)},
          {"magnitude_bins", bins(S::joint_magnitude)},
          {"error_bins", bins(S::joint_error)}};
}

json device_json(const DeviceInfo& d) {
  json j = {{"kind", d.kind == DeviceInfo::Kind::cuda ? "cuda" : "emulator"},
            {"name", d.name},
            {"architecture", d.architecture},
            {"memory_bytes", d.memory_bytes},
            {"multiprocessors", d.multiprocessors}};
  if (d.kind == DeviceInfo::Kind::cuda) {
    j["index"] = d.index;
    j["driver"] = d.driver;
    j["l2_bytes"] = d.l2_bytes;
    j["shared_bytes_per_block"] = d.shared_bytes_per_block;
    j["peak_memory_gbs"] = number_json(d.memory_bandwidth_gbs);
    j["peak_fma_gflops"] = number_json(d.fma_gflops);
  }
  return j;
}

json full_problem_json(const ConvProblem& p) {
  json j = problem_json(p);
  j["out_length"] = p.out_length();
  j["flops"] = flops(p);
  j["least_bytes"] = least_bytes(p);
  j["structural_zeros"] = structural_zeros(p);
  return j;
}

json report_json(const RunReport& r) {
  const ConvProblem& p = r.spec.problem;
  json references = json::array();
  bool judged = r.error.elements > 0;
  // The oracle is exact by definition; it is listed so that every reference of a report stands in one place.
  references.push_back({{"name", "oracle"},
                        {"max_abs", judged ? json(0) : json(nullptr)},
                        {"max_bound_ratio", judged ? json(0) : json(nullptr)},
                        {"median_ms", nullptr},
                        {"source", "computed on " + (r.oracle_where.empty() ? "nothing" : r.oracle_where)},
                        {"reason", "the oracle is not timed"}});
  for (const auto& ref : r.references) {
    json j = {{"name", ref.name},
              {"max_abs", optional_number(ref.max_abs)},
              {"max_bound_ratio", optional_number(ref.max_bound_ratio)},
              {"median_ms", ref.hot.empty() ? json(nullptr) : number_json(ref.hot.median_ms())},
              {"source", ref.hot.empty() ? json(nullptr) : json("measured")}};
    if (!ref.what_ran.empty()) j["what_ran"] = ref.what_ran;
    if (!ref.reason.empty()) j["reason"] = ref.reason;
    references.push_back(j);
  }

  const char* no_time = r.verdict.status == Status::crashed ? "the kernel crashed"
                        : r.verdict.status == Status::hung  ? "the kernel did not come to an end"
                                                            : "the kernel did not run";
  json timing = {{"median_ms", nullptr}, {"min_ms", nullptr},           {"samples", 0},
                 {"noise_pct", nullptr}, {"cold", timing_json(r.cold)}, {"source", nullptr}};
  if (!r.hot.empty()) {
    timing.update(timing_json(r.hot));
    timing["source"] = r.hot.emulated ? "emulated" : "measured";
    timing["samples_ms"] = r.hot.samples_ms;
    if (!r.cold.empty()) timing["cold"]["samples_ms"] = r.cold.samples_ms;
  } else {
    timing["reason"] = r.timing_missing.empty() ? no_time : r.timing_missing;
  }
  put_packed(timing, r.packed, r.hot.empty() ? timing["reason"].get<std::string>() : "");
  if (r.cold.empty())
    timing["cold_reason"] = !r.hot.empty() && r.hot.emulated              ? "the emulator has no cache to be cold"
                            : !r.hot.empty() && !r.timing_missing.empty() ? r.timing_missing
                                                                          : std::string(no_time);
  timing["floor_ms"] = optional_number(r.floor_ms);
  timing["floor_from"] = r.floor_ms ? json(r.floor_from) : json(nullptr);
  if (!r.floor_ms) timing["floor_reason"] = r.floor_from.empty() ? no_time : r.floor_from;
  if (!r.launch.empty()) timing["launch"] = timing_json(r.launch);

  json kernel;
  if (const auto* k = r.spec.kernel) {
    kernel = {{"name", k->name()}, {"file", k->file()}, {"requires", k->requires_hardware()}};
    if (!k->not_given().empty()) kernel["not_given"] = k->not_given();
  }

  json out = {{"convscope", CONVSCOPE_VERSION},
              {"kernel", kernel},
              {"problem", full_problem_json(p)},
              {"device", device_json(r.device)},
              {"seed", r.spec.inputs.seed},
              {"verdict", verdict_json(r.verdict)},
              {"accuracy", {{"allowed", name_of(r.spec.accuracy)}, {"ran", r.accuracy_ran}}},
              {"error", comparison_json(r.error)},
              {"references", references},
              {"timing", timing}};
  out["kernel_out_length"] = r.own_length;
  out["launches"] = launches_json(r);
  if (r.exact) out["exact"] = comparison_json(*r.exact);
  if (r.precision) out["precision"] = comparison_json(*r.precision);
  return out;
}

static json stretch_json(const Stretch& s) {
  if (s.values.empty()) return nullptr;
  json values = json::array();
  for (double v : s.values) values.push_back(number_json(v));
  return {{"first", s.first}, {"values", values}};
}

json explanation_json(const Explanation& e, const ConvProblem& p) {
  json taps = json::array();
  for (const auto& t : e.taps) {
    json j = {{"k", t.k},
              {"formula", tap_formula(p, e.j, t.k)},
              {"expected_i", t.expected_i ? json(*t.expected_i) : json(nullptr)},
              {"count", number_json(t.count)},
              {"read_i", t.read_i ? json(*t.read_i) : json(nullptr)},
              {"expected_sum", number_json(t.expected_sum)},
              {"read_sum", optional_number(t.read_sum)}};
    if (t.beside) j["beside_i"] = *t.beside;
    if (!t.strange.empty()) j["note"] = t.strange;
    taps.push_back(j);
  }
  json notes = json::array();
  for (const auto& n : {e.channel_note, e.weight_note, e.batch_note, e.bias_note})
    if (!n.empty()) notes.push_back(n);
  return {{"at", {e.n, e.co, e.j}},
          {"got", number_json(e.got)},
          {"expected", number_json(e.expected)},
          {"bias", number_json(e.bias)},
          {"taps", taps},
          {"all_taps", e.all_taps},
          {"first_channel", e.first_channel},
          {"channels", e.channels},
          {"notes", notes},
          {"read_total", optional_number(e.read_total)},
          {"near", {{"x", stretch_json(e.near_x)}, {"y", stretch_json(e.near_y)}}},
          {"launches", e.launches}};
}

json error_json(const std::exception& e) {
  if (auto* i = dynamic_cast<const InputError*>(&e))
    return {{"code", "bad-input"}, {"field", i->field()}, {"value", i->value()}, {"rule", i->rule()}, {"exit_code", 2}};
  auto plain = [&](const char* code, int exit_code) {
    return json{{"code", code}, {"message", e.what()}, {"exit_code", exit_code}};
  };
  if (dynamic_cast<const MissingError*>(&e)) return plain("missing", 3);
  if (auto* c = dynamic_cast<const CompileError*>(&e)) {
    json j = plain("compile", 1);
    j["log"] = c->log();
    return j;
  }
  if (dynamic_cast<const KernelFault*>(&e) || dynamic_cast<const DeviceError*>(&e)) return plain("crashed", 4);
  if (dynamic_cast<const Cancelled*>(&e)) return plain("cancelled", 130);
  if (dynamic_cast<const std::bad_alloc*>(&e))
    return {{"code", "failed"}, {"message", "out of memory"}, {"exit_code", 4}};
  return plain("failed", 1);
}

}  // namespace convscope
