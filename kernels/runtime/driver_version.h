// The NVIDIA driver's own version. CUDA's driver API only tells which CUDA a driver speaks, and many drivers speak the
// same one.
#pragma once
#include <string>
#include <string_view>

namespace convscope {

// "580.159.04", as the kernel module says it; "" where no module is to be seen (none is loaded, or the GPU comes
// through Windows). Read anew each time, from the file that $CONVSCOPE_DRIVER_VERSION names, or
// /proc/driver/nvidia/version, or /sys/module/nvidia/version.
std::string driver_version();

// The first word of a text that is a driver's version: a number of three digits, one of up to three, and perhaps a
// third one, so that the compiler's version beside it is none. "" without one.
std::string version_in(std::string_view text);

}  // namespace convscope
