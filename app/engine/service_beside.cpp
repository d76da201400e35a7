// The request `beside`: another kernel's output, or a reference's, on the inputs of the kept result, and the difference
// of the two.
#include <nlohmann/json.hpp>

#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/difference.h"

namespace convscope {
using nlohmann::json;

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
