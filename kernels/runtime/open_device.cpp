#include <charconv>

#include "kernels/base/error.h"
#include "kernels/runtime/device.h"

namespace convscope {

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "emulator") return open_emulator();
  if (name == "auto" || name.empty()) {
    std::string why;
    return cuda_devices(why).empty() ? open_emulator() : open_cuda(0);
  }
  if (name == "cuda") return open_cuda(0);
  if (name.starts_with("cuda:")) {
    int index = 0;
    const char* end = name.data() + name.size();
    auto [stop, error] = std::from_chars(name.data() + 5, end, index);
    if (error == std::errc{} && stop == end && index >= 0) return open_cuda(index);
  }
  throw InputError("device", name, "must be auto, emulator, cuda or cuda:N");
}

}  // namespace convscope
