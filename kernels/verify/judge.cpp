#include "kernels/verify/judge.h"

#include <functional>

#include "kernels/base/text.h"
#include "kernels/verify/judge_run.h"

namespace convscope {

Judge::Judge(Device& device, std::vector<std::unique_ptr<Reference>>& references)
    : device_(device), references_(references), cache_(std::make_unique<Cache>()) {}

Judge::~Judge() = default;

std::shared_ptr<const Inputs> Judge::inputs(const ConvProblem& p, const InputSpec& spec, Activity& activity) {
  Cache& c = *cache_;
  if (!c.inputs || !(c.problem == p) || !(c.spec == spec)) {
    c = {};
    c.inputs = std::make_shared<Inputs>(make_inputs(p, spec, &activity));
    c.problem = p;
    c.spec = spec;
  }
  return c.inputs;
}

Judge::Need Judge::predict(const RunSpec& spec, bool on_emulator) {
  const ConvProblem& p = spec.problem;
  auto size = [&](int64_t elements) { return static_cast<uint64_t>(elements) * size_of(p.dtype); };
  uint64_t inputs = size(p.x_elements() + p.w_elements() + p.b_elements()), y = size(p.y_elements());
  auto rows = p.batch * p.out_channels;
  Need n;
  n.device = inputs + y + size(p.w_elements()) * static_cast<uint64_t>(p.groups - 1);
  // The shown output with its errors and ratios, the pyramid, a second output to compare with, inputs of two passes.
  n.host = 2 * inputs + 2 * y + 2 * static_cast<uint64_t>(p.y_elements()) * sizeof(float) + (uint64_t{128} << 20);
  if (is_half(p.dtype)) n.host += 2 * inputs;  // the oracle's f32 copies
  if (spec.pictures) n.host += Pyramid::predicted_bytes(rows, p.out_length());
  if (on_emulator)
    n.host += n.device, n.device = 0;
  else
    n.device += uint64_t{64} << 20;  // the oracle's blocks
  return n;
}

void Judge::require_memory(const RunSpec& spec) const {
  require_legal(spec.problem);
  Need need = predict(spec, device_.is_emulator());
  auto refuse = [](uint64_t needed, uint64_t there, const std::string& where) {
    if (needed > there)
      throw InputError("memory", bytes_text(needed),
                       "is needed for this problem, but " + where + " has " + bytes_text(there) + " free");
  };
  refuse(need.host, available_host_memory(), "the host");
  if (need.device) refuse(need.device, device_.free_memory(), device_.info().name);
}

RunReport Judge::run(const RunSpec& spec, Activity& activity, const std::function<void(const RunReport&)>& partial,
                     const std::function<void(bool begins)>& timing) {
  require_memory(spec);
  Run run(*this, spec, activity, partial);
  return run.go(timing);
}

RunReport Judge::output(const RunSpec& spec, Reference* reference, Activity& activity) {
  require_memory(spec);
  if (reference) {
    std::string why = reference->unavailable();
    if (why.empty()) why = reference->unsupported(spec.problem);
    if (!why.empty()) throw InputError("kernel", reference->name(), why);
  }
  Run run(*this, spec, activity, {});
  return run.output_alone(reference);
}

OutputDifference Judge::difference(const RunSpec& spec, const ResultTensors& one, const ResultTensors& other,
                                   ResultTensors& apart, Activity& activity) {
  require_memory(spec);
  Run run(*this, spec, activity, {});
  return run.difference(one, other, apart);
}

}  // namespace convscope
