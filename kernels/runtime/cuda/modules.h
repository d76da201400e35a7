// The device code that is embedded in the program, by kernel file.
#pragma once
#include <cuda.h>
#include <map>
#include <string>
#include <string_view>

#include "convscope/plan.h"

namespace convscope::cuda {

// The fatbin of a kernel file ("direct" for kernels/ladder/direct.cu); empty when it was not built.
std::string_view embedded_fatbin(std::string_view name);

// Called by the generated table of embedded fatbins.
void register_fatbin(const char* name, const char* begin, const char* end);

// Loads modules and finds functions of one context, each once.
class Modules {
 public:
  ~Modules();
  explicit Modules(int architecture) : architecture_(architecture) {}  // 90 of sm_90
  // `function` is a __global__ function of the kernel's file, by its name in the plan. Errors: MissingError,
  // DeviceError.
  CUfunction function(const KernelDefinition& kernel, const std::string& function);
  // Likewise where a variable of the file lies.
  CUdeviceptr variable(const KernelDefinition& kernel, const Plan::Variable& variable);

 private:
  // The module of the kernel's file and, as its key, the place of its image.
  std::pair<const void*, CUmodule> module_of(const KernelDefinition& kernel);

  int architecture_;
  std::map<const void*, CUmodule> modules_;  // by the place of their images
  std::map<std::pair<const void*, std::string>, CUfunction> functions_;
  std::map<std::pair<const void*, std::string>, CUdeviceptr> variables_;
};

}  // namespace convscope::cuda
