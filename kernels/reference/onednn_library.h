// oneDNN 2 through its C API, opened at run time, and owners for its objects.
#pragma once
#include <dnnl.h>
#include <memory>
#include <string>
#include <type_traits>

namespace convscope::onednn {

// The functions this project calls, by their names in dnnl.h.
// clang-format off
#define CONVSCOPE_ONEDNN_FUNCTIONS(F)                                                                            \
  F(dnnl_version) F(dnnl_engine_create) F(dnnl_engine_destroy) F(dnnl_stream_create) F(dnnl_stream_destroy)      \
  F(dnnl_stream_wait) F(dnnl_memory_desc_init_by_tag) F(dnnl_memory_desc_init_by_strides)                        \
  F(dnnl_memory_desc_equal) F(dnnl_memory_desc_get_size) F(dnnl_memory_create) F(dnnl_memory_destroy)            \
  F(dnnl_memory_set_data_handle) F(dnnl_primitive_attr_create) F(dnnl_primitive_attr_destroy)                    \
  F(dnnl_primitive_attr_set_fpmath_mode) F(dnnl_primitive_attr_set_scratchpad_mode)                              \
  F(dnnl_dilated_deconvolution_forward_desc_init) F(dnnl_reorder_primitive_desc_create)                          \
  F(dnnl_primitive_desc_create) F(dnnl_primitive_desc_destroy) F(dnnl_primitive_desc_query)                      \
  F(dnnl_primitive_desc_query_md) F(dnnl_primitive_create) F(dnnl_primitive_destroy) F(dnnl_primitive_execute)
// clang-format on

struct Library {
#define CONVSCOPE_MEMBER(name) decltype(&::name) name = nullptr;
  CONVSCOPE_ONEDNN_FUNCTIONS(CONVSCOPE_MEMBER)
#undef CONVSCOPE_MEMBER
  // Of the OpenMP runtime the library is linked with; null when it has another one.
  int (*omp_get_max_threads)() = nullptr;
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_pause_resource_all)(int) = nullptr;

  std::string version;       // "2.6.3"; "" when nothing was opened
  std::string missing, how;  // why it cannot be used, and what to do about it; "" when it can
};

// Opened at the first call: libdnnl.so.2, or what CONVSCOPE_LIBDNNL names. Its functions may be called only when
// nothing is missing.
const Library& library();

std::string status_text(dnnl_status_t status);
// Turns a failed call into a DeviceError.
void check(dnnl_status_t status, const std::string& doing);

// Ends the OpenMP threads that this thread's calls have started; the next call starts new ones. Idle they would live to
// the end of the process, where the leak checker of sanitizers stumbles over what they hold.
void end_threads();

// As many OpenMP threads as the emulator has workers, for one scope. oneDNN sizes its buffers by the number of threads
// when a primitive is made, so making and executing must both be in such a scope.
class Threads {
 public:
  Threads();
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = 0;
};

template <class Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, dnnl_status_t (*)(Pointer)>;
using Engine = Owned<dnnl_engine_t>;
using Stream = Owned<dnnl_stream_t>;
using Memory = Owned<dnnl_memory_t>;
using Attributes = Owned<dnnl_primitive_attr_t>;
using Description = Owned<dnnl_primitive_desc_t>;
using Primitive = Owned<dnnl_primitive_t>;

Engine make_engine();
Stream make_stream(dnnl_engine_t engine);
// `data` stays the caller's; DNNL_MEMORY_NONE: set before each use.
Memory make_memory(const dnnl_memory_desc_t& layout, dnnl_engine_t engine, void* data);
// Workspace in the caller's hands, and products of 24 bits whatever DNNL_DEFAULT_FPMATH_MODE says.
Attributes make_attributes();
// `what` is for the message of a failure.
Primitive make_primitive(const Description& of, const std::string& what);

// The layout that a description wants for one of its tensors (dnnl_query_src_md, …).
const dnnl_memory_desc_t& layout_of(const Description& d, dnnl_query_t what);

}  // namespace convscope::onednn
