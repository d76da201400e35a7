// The request `beside`: another kernel's output, or a reference's, on the inputs of the kept result, and the difference
// of the two. And what that has in common with `run`.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/difference.h"

namespace convscope {
using nlohmann::json;

std::string key_of(const RunRequest& r, const std::string& device) {
  std::vector<std::byte> files;
  json j = request_json(r, files);
  for (const char* unimportant : {"samples", "references", "pictures", "tolerance"}) j.erase(unimportant);
  for (auto& file : j["files"]) file.erase("name");  // its contents count
  j["device"] = device;
  j["version"] = CONVSCOPE_VERSION;
  uint64_t h = 0xcbf29ce484222325u;
  auto add = [&](const void* data, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3u;
  };
  std::string text = j.dump();
  add(text.data(), text.size());
  add(files.data(), files.size());
  if (r.kernel != auto_kernel)
    for (const auto* k : all_kernels())
      if (k->name() == r.kernel) add(k->text().data(), k->text().size());
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
  return out;
}

RunSpec run_spec_of(const RunRequest& r) {
  RunSpec spec;
  spec.kernel = &find_kernel(r.kernel);
  spec.problem = r.problem;
  spec.inputs = r.inputs;
  spec.accuracy = r.accuracy;
  spec.tolerance = r.tolerance;
  require_legal(spec.problem);
  return spec;
}

void add_ranges(json& j, const Pyramid& pyramid, const ResultTensors& tensors) {
  for (int q = 0; q < 4; q++) {
    auto rows = static_cast<double>(tensors.rows), columns = static_cast<double>(tensors.columns);
    Cell all = pyramid.tile({static_cast<Quantity>(q), 0, rows, 0, columns, 1, 1}).front();
    j["ranges"][quantity_names[q]] =
        all.minimum <= all.maximum ? json{number_json(all.minimum), number_json(all.maximum)} : json(nullptr);
  }
}

namespace {

std::shared_ptr<KeptResult> with_pictures(const std::string& key, const KeptResult& of,
                                          std::shared_ptr<const ResultTensors> tensors, Activity& activity) {
  auto k = std::make_shared<KeptResult>();
  k->key = key;
  k->pyramid = std::make_shared<Pyramid>(*tensors, &activity);
  k->tensors = std::move(tensors);
  k->inputs = of.inputs, k->problem = of.problem, k->spec = of.spec, k->own_length = of.problem.out_length();
  return k;
}

}  // namespace

Service::Reply Service::beside(const json& request, std::span<const std::byte> payload, Activity& activity) {
  const RunRequest r = request_from(request, payload);
  auto& o = state_->open(r.device);
  Reference* reference = nullptr;
  for (const auto& ref : o.references)
    if (ref->name() == r.kernel) reference = ref.get();
  // A reference has no plan; the plainest kernel's tensors are what it needs.
  RunRequest plain = r;
  if (reference) plain.kernel = "direct";
  const RunSpec spec = run_spec_of(plain);
  const auto kept = state_->result(request);
  if (!kept->pyramid) throw InputError("result", kept->key, "was made without pictures");
  if (!(kept->problem == r.problem)) throw InputError("result", kept->key, "is of another problem");
  if (!(kept->spec == r.inputs)) throw InputError("result", kept->key, "is of other inputs");

  if (const uint64_t need = difference_bytes(r.problem); need > available_host_memory())
    throw InputError("memory", bytes_text(need),
                     "is needed to keep the difference of two outputs, but the host has " +
                         bytes_text(available_host_memory()) + " free");
  json j = {{"with", r.kernel}, {"result", nullptr}};
  const std::string key = key_of(r, o.device->info().name);
  std::shared_ptr<const KeptResult> other;
  {
    std::lock_guard lock(state_->mutex);
    state_->beside.difference.reset();
    if (state_->beside.output && state_->beside.output->key == key)
      other = state_->beside.output;
    else
      state_->beside.output.reset();
  }
  if (!other) {
    const RunReport report = o.judge->output(spec, reference, activity);
    if (!report.tensors) {
      j["reason"] = report.verdict.sentence;
      return {header_text(j), {}};
    }
    other = with_pictures(key, *kept, report.tensors, activity);
  }
  auto apart = std::make_shared<ResultTensors>();
  RunSpec looser = spec;
  if (reference && reference->may_use_tf32()) looser.accuracy = Accuracy::tf32;
  const OutputDifference d = o.judge->difference(looser, *kept->tensors, *other->tensors, *apart, activity);
  auto difference = with_pictures(kept->key + "-" + key, *kept, apart, activity);
  difference->reference = other->tensors;
  j["output"] = other->key, j["result"] = difference->key;
  j["elements"] = d.elements, j["identical"] = d.identical, j["beyond"] = d.beyond,
  j["max_abs"] = number_json(d.max_abs);
  j["where"] = d.where;
  j["first"] = d.first ? json{d.first->n, d.first->co, d.first->j} : json(nullptr);
  add_ranges(j, *difference->pyramid, *difference->tensors);
  std::lock_guard lock(state_->mutex);
  state_->beside = {other, difference};
  return {header_text(j), {}};
}

}  // namespace convscope
