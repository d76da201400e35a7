#include "kernels/reference/cudnn_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <vector>

#include "kernels/base/error.h"

namespace convscope::cudnn {
namespace {

constexpr const char* soname = "libcudnn.so.9";

void* open_any(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
  return nullptr;
}

std::vector<std::string> names_to_try() {
  if (const char* set = std::getenv("CONVSCOPE_LIBCUDNN"); set && *set) return {set};
  std::vector<std::string> names{soname};
  if (const char* home = std::getenv("CUDA_HOME"); home && *home)
    names.push_back(fmt::format("{}/lib64/{}", home, soname));
  names.push_back(fmt::format("/usr/local/cuda/lib64/{}", soname));
  return names;
}

// The folder a library was loaded from, with a slash; "" when the loader does not say.
std::string folder_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name) return "";
  std::string path = map->l_name;
  auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// libcudnn.so.9 only passes calls on, and opens the part that a call needs when it comes; a part that is not there is
// better found now. Kept open for good, so that cuDNN finds them loaded. The parts with its kernels are not tried: they
// take 0.3 s to open, and calls that need one fail with a status that says so.
std::string missing_part(void* handle) {
  std::string folder = folder_of(handle);
  for (const char* part : {"ops", "graph", "cnn"}) {
    std::string name = fmt::format("libcudnn_{}.so.9", part);
    if (!open_any({folder + name, name})) return name;
  }
  return "";
}

Library open() {
  Library o;
  o.state.how =
      "install cuDNN 9 for your CUDA Toolkit (NVIDIA's package cudnn9), or name its libcudnn.so.9 in "
      "CONVSCOPE_LIBCUDNN";
  auto names = names_to_try();
  void* handle = open_any(names);
  if (!handle) {
    o.state.missing = fmt::format("cuDNN ({}) cannot be opened", names[0]);
    return o;
  }
#define CONVSCOPE_LOAD(function)                                                  \
  o.function = reinterpret_cast<decltype(&::function)>(dlsym(handle, #function)); \
  if (!o.function && o.state.missing.empty())                                     \
    o.state.missing = fmt::format("{} is no cuDNN 9: it lacks {}", names[0], #function);
  CONVSCOPE_CUDNN_FUNCTIONS(CONVSCOPE_LOAD)
#undef CONVSCOPE_LOAD
  if (!o.state.missing.empty()) return o;
  if (auto part = missing_part(handle); !part.empty()) {
    o.state.missing = fmt::format("cuDNN is incomplete: {} cannot be opened", part);
    return o;
  }
  size_t v = o.cudnnGetVersion();
  o.state.version = fmt::format("{}.{}.{}", v / 10000, v % 10000 / 100, v % 100);
  if (v / 10000 != 9) o.state.missing = fmt::format("{} is cuDNN {}, this build needs 9", names[0], o.state.version);
  return o;
}

}  // namespace

const Library& library() {
  static const Library o = open();
  return o;
}

const LibraryState& library_state() { return library().state; }

Handle make_handle(void* stream) {
  cudnnHandle_t h = nullptr;
  check(library().cudnnCreate(&h), "starting on this GPU");
  Handle handle{h, [](cudnnContext* it) { library().cudnnDestroy(it); }};
  check(library().cudnnSetStream(h, static_cast<cudaStream_t>(stream)), "taking our stream");
  return handle;
}

std::string status_text(cudnnStatus_t status) {
  std::string text = library().cudnnGetErrorString(status);
  char more[512] = {};
  library().cudnnGetLastErrorString(more, sizeof more);
  more[sizeof more - 1] = 0;
  std::string first = more;  // its first line; the rest traces cuDNN's own calls
  if (auto end = first.find_first_of("\r\n"); end != std::string::npos) first.resize(end);
  while (!first.empty() && first.back() == ' ') first.pop_back();
  return first.empty() || first == text ? text : fmt::format("{} ({})", text, first);
}

void check(cudnnStatus_t status, const std::string& doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("cuDNN failed at {}: {}", doing, status_text(status)));
}

TensorDescriptor make_tensor_descriptor() {
  cudnnTensorDescriptor_t d = nullptr;
  check(library().cudnnCreateTensorDescriptor(&d), "making a tensor descriptor");
  return {d, library().cudnnDestroyTensorDescriptor};
}

FilterDescriptor make_filter_descriptor() {
  cudnnFilterDescriptor_t d = nullptr;
  check(library().cudnnCreateFilterDescriptor(&d), "making a filter descriptor");
  return {d, library().cudnnDestroyFilterDescriptor};
}

ConvolutionDescriptor make_convolution_descriptor() {
  cudnnConvolutionDescriptor_t d = nullptr;
  check(library().cudnnCreateConvolutionDescriptor(&d), "making a convolution descriptor");
  return {d, library().cudnnDestroyConvolutionDescriptor};
}

BackendDescriptor make_backend_descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t d = nullptr;
  check(library().cudnnBackendCreateDescriptor(type, &d), "making a graph descriptor");
  return {d, library().cudnnBackendDestroyDescriptor};
}

}  // namespace convscope::cudnn
