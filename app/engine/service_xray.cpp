// The request `xray`: what is wrong with a kernel's index, in words, from outside.
#include <nlohmann/json.hpp>

#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "app/engine/xray_codec.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;
Service::Reply Service::xray_one(const json& request, std::span<const std::byte> payload, Activity& activity,
                                 const std::function<void(const std::string&)>& partial) {
  RunRequest r = request_from(request, payload);
  const KernelDefinition& kernel = find_kernel(r.kernel);
  XrayLimits limits = xray_limits(request);
  if (partial) limits.begins = [&](size_t place) { partial(XrayAgain::begun(place)); };
  auto& o = state_->open(r.device);
  json j = {{"kernel", kernel.name()},
            {"problem", problem_json(r.problem)},
            {"device", device_json(o.device->info())},
            {"xray", xray_json(xray(*o.device, kernel, r.problem, r.accuracy, limits, activity))}};
  return {header_text(j), {}};
}

}  // namespace convscope
