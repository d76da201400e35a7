#include "kernels/runtime/cuda/modules.h"

#include <filesystem>

#include "kernels/base/error.h"
#include "kernels/runtime/binary.h"
#include "kernels/runtime/cuda/driver.h"

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
  for (auto& [name, module] : modules_) driver().cuModuleUnload(module);  // fails harmlessly in a poisoned context
}

CUfunction Modules::function(const std::string& file, const std::string& function) {
  auto key = std::pair(file, function);
  if (auto it = functions_.find(key); it != functions_.end()) return it->second;
  std::string name = std::filesystem::path(file).stem().string();
  CUmodule& module = modules_[name];
  if (!module) {
    auto image = embedded_fatbin(name);
    if (image.empty())
      throw MissingError("no device code of " + file + " is in this build",
                         "build with the CUDA Toolkit, or use --device emulator");
    CUresult r = driver().cuModuleLoadData(&module, image.data());
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
      throw MissingError("the device code of " + file + " in this build is not for this GPU",
                         "build with CONVSCOPE_CUDA_ARCHITECTURES for it");
    check(r, "loading the device code of " + file);
  }
  CUfunction f = nullptr;
  check(driver().cuModuleGetFunction(&f, module, function.c_str()), "finding " + function + " in " + file);
  return functions_[key] = f;
}

}  // namespace cuda
}  // namespace convscope
