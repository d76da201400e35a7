#include <charconv>
#include <fmt/format.h>

#include "kernels/base/error.h"
#include "kernels/runtime/device.h"

namespace convscope {

std::string shared_memory_fault(const Plan& plan, int64_t most, const std::string& architecture) {
  for (const Launch& l : plan.launches())
    if (most > 0 && l.dynamic_shared_bytes > static_cast<size_t>(most))
      return fmt::format("asks for {} bytes of shared memory a block ({}), {} gives {}", l.dynamic_shared_bytes,
                         l.entry.name, architecture, most);
  return "";
}

std::string Device::unavailable(const KernelDefinition& kernel, const Plan& plan) const {
  std::string why = unavailable(kernel);
  if (why.empty() && !plan.wrong_shape().empty()) return plan.wrong_shape();
  return why.empty() ? shared_memory_fault(plan, info().shared_bytes_per_block, info().architecture) : why;
}

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
    if (error == std::errc::result_out_of_range && stop == end && name[5] != '-')
      throw InputError("device", name, "has a number that is too large for a GPU's");
  }
  throw InputError("device", name, "must be auto, emulator, cuda or cuda:N");
}

}  // namespace convscope
