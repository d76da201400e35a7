#include "kernels/runtime/cuda/modules.h"

#include <filesystem>
#include <fmt/format.h>
#include <functional>

#include "kernels/base/error.h"
#include "kernels/runtime/binary.h"
#include "kernels/runtime/cuda/driver.h"
#include "kernels/runtime/device_code.h"

namespace convscope {
namespace cuda {
namespace {

std::map<std::string, std::string_view, std::less<>>& table() {
  static auto* t = new std::map<std::string, std::string_view, std::less<>>;
  return *t;
}

}  // namespace

void register_fatbin(const char* name, const char* begin, const char* end) {
  table()[name] = std::string_view(begin, static_cast<size_t>(end - begin));
}

std::string_view embedded_fatbin(std::string_view name) {
  auto it = table().find(name);
  return it == table().end() ? std::string_view() : it->second;
}

}  // namespace cuda

std::vector<BinaryFacts> compiled_facts(const std::string& kernel_file) {
  return binary_facts(cuda::embedded_fatbin(std::filesystem::path(kernel_file).stem().string()));
}

std::vector<DeviceImage> compiled_images(const std::string& kernel_file) {
  return device_images(cuda::embedded_fatbin(std::filesystem::path(kernel_file).stem().string()));
}

namespace cuda {

Modules::~Modules() {
  for (auto& [image, module] : modules_) driver().cuModuleUnload(module);  // fails harmlessly in a poisoned context
}

std::pair<const void*, CUmodule> Modules::module_of(const KernelDefinition& kernel) {
  const std::string& file = kernel.file();
  const bool outside = kernel.kind() == KernelKind::outside;
  const std::string_view image =
      outside ? kept_image(kernel, architecture_) : embedded_fatbin(std::filesystem::path(file).stem().string());
  if (image.empty())
    throw MissingError(
        outside ? fmt::format("{} is not compiled for sm_{}", file, architecture_)
                : "no device code of " + file + " is in this build",
        outside ? "open it again, or use --device emulator" : "build with the CUDA Toolkit, or use --device emulator");
  CUmodule& module = modules_[image.data()];
  if (!module) {
    CUresult r = driver().cuModuleLoadData(&module, image.data());
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
      throw MissingError("the device code of " + file + (outside ? "" : " in this build") + " is not for this GPU",
                         "build with CONVSCOPE_CUDA_ARCHITECTURES for it");
    check(r, "loading the device code of " + file);
  }
  return {image.data(), module};
}

CUfunction Modules::function(const KernelDefinition& kernel, const std::string& function) {
  const auto [image, module] = module_of(kernel);
  CUfunction& f = functions_[{image, function}];
  if (!f)
    check(driver().cuModuleGetFunction(&f, module, function.c_str()), "finding " + function + " in " + kernel.file());
  return f;
}

CUdeviceptr Modules::variable(const KernelDefinition& kernel, const Plan::Variable& variable) {
  const auto [image, module] = module_of(kernel);
  CUdeviceptr& at = variables_[{image, variable.name}];
  if (at) return at;
  size_t bytes = 0;
  const CUresult r = driver().cuModuleGetGlobal(&at, &bytes, module, variable.name.c_str());
  if (r != CUDA_SUCCESS) at = 0;
  check(r, "finding " + variable.name + " in " + kernel.file());
  // It was noted down by the size that the host's compiler gives it.
  if (bytes != static_cast<size_t>(variable.bytes)) {
    at = 0;
    throw InputError(
        "kernel", kernel.file(),
        fmt::format("{} has {} bytes on the host and {} on the GPU", variable.name, variable.bytes, bytes));
  }
  return at;
}

}  // namespace cuda
}  // namespace convscope
