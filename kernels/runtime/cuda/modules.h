// The device code that is embedded in the program, by kernel file.
#pragma once
#include <cuda.h>
#include <map>
#include <string>
#include <string_view>

namespace convscope::cuda {

// The fatbin of a kernel file ("direct" for kernels/ladder/direct.cu); empty when it was not built.
std::string_view embedded_fatbin(std::string_view name);

// Called by the generated table of embedded fatbins.
void register_fatbin(const char* name, const char* begin, const char* end);

// Loads modules and finds functions of one context, each once.
class Modules {
 public:
  ~Modules();
  // `file` is a kernel file; `function` an extern "C" __global__ function of it. Errors: MissingError, DeviceError.
  CUfunction function(const std::string& file, const std::string& function);

 private:
  std::map<std::string, CUmodule> modules_;
  std::map<std::pair<std::string, std::string>, CUfunction> functions_;
};

}  // namespace convscope::cuda
