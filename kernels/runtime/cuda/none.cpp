// The GPU side of a build without the CUDA Toolkit.
#include "kernels/base/error.h"
#include "kernels/runtime/binary.h"
#include "kernels/runtime/device.h"

namespace convscope {

std::vector<DeviceInfo> cuda_devices(std::string& why_none) {
  why_none = "this build has no GPU side: no nvcc was found when it was built";
  return {};
}

std::unique_ptr<Device> open_cuda(int) {
  throw MissingError("this build has no GPU side",
                     "install the CUDA Toolkit 13 and build again, or use --device emulator");
}

std::vector<BinaryFacts> compiled_facts(const std::string&) { return {}; }
std::vector<DeviceImage> compiled_images(const std::string&) { return {}; }

}  // namespace convscope
