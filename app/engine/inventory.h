// What this program has and what this machine offers: kernels, presets, references, devices, libraries.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kernels/runtime/device.h"

namespace convscope {

// One kernel as lists have it; availability is for `device`.
nlohmann::json kernel_json(const KernelDefinition& k, const Device& device);


// {"kernels": […]}, {"presets": […]}, {"references": […]} or {"devices": […]}; availability is for `device`.
// Errors: InputError for another word.
nlohmann::json inventory_list(const std::string& what, const std::string& device);

// Devices, libraries with versions and paths, and for each missing piece what it costs and how to get it.
nlohmann::json inventory_info();

}  // namespace convscope
