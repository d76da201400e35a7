// Kernels from outside: their files, compiled for where they are asked to run.
#include <nlohmann/json.hpp>

#include "app/engine/inventory.h"
#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/runtime/compile/for_gpu.h"
#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;
namespace {

// Whose machine code is shown of a file where there is no GPU: the newest that the program's own kernels are for.
constexpr const char* shown_architecture = "sm_90";

}  // namespace

Service::Reply Service::kernel_file(const json& request, std::span<const std::byte> payload, Activity& activity) {
  const std::string name = text_of(request, "kernel");
  if (!names_file(name))
    throw InputError("kernel", name, "must be a file's name, with .cu or .py at its end or a slash in it");
  const std::string text(reinterpret_cast<const char*>(payload.data()), payload.size());
  OutsideFile file = bring_outside(name, text, activity);
  const Device& device = *state_->open(text_of(request, "device")).device;
  json kernels = json::array();
  for (const auto* k : file.kernels) {
    if (!device.is_emulator()) {
      MadeForGpu made = bring_device_code(*k, device.info().architecture, activity);
      file.warnings += made.printed;
      file.seconds += made.seconds;
    }
    kernels.push_back(kernel_json(*k, device));
  }
  return {header_text({{"kernels", kernels}, {"warnings", file.warnings}, {"compiled_in_s", file.seconds}}), {}};
}

// What was opened for the emulator, or for another GPU, is compiled when it is first asked for here. Errors: as
// bring_device_code(). Without a GPU only the request for machine code needs it; a profile has one thing more to say.
void Service::compile_for_device(const json& request, Activity& activity) {
  const std::string type = text_of(request, "type");
  const bool shows = type == "disassembly" || type == "profile";
  if (!shows && type != "run" && type != "judge" && type != "samples" && type != "live" && type != "bench" &&
      type != "explain" && type != "xray")
    return;
  std::vector<const KernelDefinition*> files;
  auto add = [&](const json& name) {
    if (!name.is_string() || !names_file(name.get<std::string>())) return;
    for (const auto* k : all_kernels())
      if (k->name() == name) files.push_back(k);
  };
  for (const char* field : {"kernel", "against"})
    if (auto it = request.find(field); it != request.end()) add(*it);
  if (auto it = request.find("kernels"); it != request.end() && it->is_array())
    for (const auto& name : *it) add(name);
  if (files.empty()) return;
  const std::string named = text_of(request, "device");
  const Device& device = *state_->open(named.empty() ? "auto" : named).device;
  for (const auto* k : files) {
    if (!device.is_emulator()) {
      bring_device_code(*k, device.info().architecture, activity);
    } else if (shows) {
      try {
        bring_device_code(*k, shown_architecture, activity);
      } catch (const Cancelled&) {
        throw;
      } catch (const std::exception&) {
        if (type == "disassembly") throw;
      }
    }
  }
}

}  // namespace convscope
