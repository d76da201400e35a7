// A GPU's ceilings, measured on it by kernels that do one thing (kernels/ceilings), once for each GPU and driver, and
// kept on disk.
#pragma once
#include <optional>
#include <string>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "profiling/roofline/roofline.h"

namespace convscope {

// Runs each kernel for some tens of milliseconds, about a second in all, and takes medians. What cannot be is not
// believed: more than the driver's clocks and widths allow (a fact with value 0 says so), and takes the datasheet's
// place. What lacks (a GPU without TF32, too little memory) stays as it is in `otherwise`.
// Errors: DeviceError; Cancelled.
Ceilings measure_ceilings(Device& device, const Ceilings& otherwise, Activity* activity);

// Those of this GPU: of this process, else of the cache on disk, else measured now and kept in both. The emulator has
// none. `otherwise`: what is known without measuring.
Ceilings ceilings_of(Device& device, const Ceilings& otherwise, Activity* activity);
// The same without measuring; nothing when they were not measured yet.
std::optional<Ceilings> known_ceilings(const DeviceInfo& device);

// The file of a GPU in the user's cache (kernels/base/cache.h): by its name, its place in the machine and its driver.
std::string ceilings_file(const DeviceInfo& device);
// As text: one line each. Nothing when it is of another version or GPU, or damaged in any way.
std::optional<Ceilings> read_ceilings(const std::string& text, const DeviceInfo& device);
std::string ceilings_text(const Ceilings& c, const DeviceInfo& device);

}  // namespace convscope
