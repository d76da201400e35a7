#include "kernels/runtime/device_code.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/sources.h"
#include "profiling/profile/profile.h"

namespace convscope {

PcSamples sample_pcs(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity) {
  require_legal(spec.problem);
  PcSamples none;
  if (tools.device.is_emulator()) {
    none.gap = {"no-gpu", "warps are sampled on a GPU only, and none is used", "run with --device cuda"};
    return none;
  }
  DeviceInfo device = tools.device.info();
  auto subject = make_subject(spec.kernel, tools.device, tools.references, spec.problem);
  activity.phase("drawing inputs");
  const std::shared_ptr<const Inputs> inputs = inputs_for(tools, spec, activity);
  activity.phase("taking memory");
  ProblemMemory memory(tools.device, spec.problem, *inputs, subject->out_length(), subject->workspace_bytes(),
                       &activity);
  subject->begin_phase(activity, "running ");
  // Loads code, before CUPTI is asked for anything of this context: what is loaded later is not known to the sampler.
  subject->run(memory.at(), &activity);
  SamplingOptions o;
  constexpr TimingOptions quick{.min_samples = 1, .max_samples = 3, .time_cap_ms = 50, .target_error = 1};
  o.call_ms = subject->time(memory.at(), false, quick, &activity).median_ms();
  o.multiprocessors = device.multiprocessors;
  Gap no_clock;
  if (uint64_t gpu = tools.nvml.find(device.pci_bus, no_clock)) {
    auto reading = tools.nvml.read(gpu);
    if (reading.sm_mhz) o.clock_mhz = static_cast<double>(*reading.sm_mhz);
  }
  if (!subject->is_reference())
    for (const auto& image : compiled_images(find_kernel(subject->name()))) o.cubins.push_back(image.elf);
  PcSamples samples = tools.cupti.sample_pcs(
      tools.device.native_context(), device.index, o, [&] { subject->run(memory.at(), nullptr); }, &activity);
  for (auto& f : samples.functions) {
    for (auto& i : f.instructions) i.at.file = carried_name(i.at.file);
    const std::string_view code = f.cubin ? code_of(o.cubins[*f.cubin], f.name) : std::string_view();
    if (!code.empty()) f.code_bytes = code.size(), f.code_hash = code_hash(code);
  }
  return samples;
}

}  // namespace convscope
