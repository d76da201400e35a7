#include "kernels/reference/onednn_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

#include "kernels/base/error.h"
#include "kernels/base/worker_pool.h"

namespace convscope::onednn {
namespace {

Library open() {
  Library o;
  o.how = "install oneDNN 2 (Debian and Ubuntu: package libdnnl2), or name the library in CONVSCOPE_LIBDNNL";
  const char* set = std::getenv("CONVSCOPE_LIBDNNL");
  const std::string name = set && *set ? set : "libdnnl.so.2";
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    o.missing = "oneDNN (" + name + ") cannot be opened";
    return o;
  }
#define CONVSCOPE_LOAD(function)                                                  \
  o.function = reinterpret_cast<decltype(&::function)>(dlsym(handle, #function)); \
  if (!o.function && o.missing.empty()) o.missing = fmt::format("{} is no oneDNN 2: it lacks {}", name, #function);
  CONVSCOPE_ONEDNN_FUNCTIONS(CONVSCOPE_LOAD)
#undef CONVSCOPE_LOAD
  if (!o.missing.empty()) return o;
  const dnnl_version_t* v = o.dnnl_version();
  o.version = fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
  // Within a major version the descriptors, which we fill, only grow: a newer library reads an older program's.
  if (v->major != DNNL_VERSION_MAJOR || v->minor < DNNL_VERSION_MINOR)
    o.missing = fmt::format("{} is oneDNN {}, this build needs {}.{} or a later {}.x", name, o.version,
                            DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_MAJOR);
  // A handle finds what its library depends on too, so this is the runtime oneDNN itself uses.
  o.omp_get_max_threads = reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_max_threads"));
  o.omp_set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  o.omp_pause_resource_all = reinterpret_cast<int (*)(int)>(dlsym(handle, "omp_pause_resource_all"));
  return o;
}

}  // namespace

const Library& library() {
  static const Library o = open();
  return o;
}

std::string status_text(dnnl_status_t status) {
  switch (status) {
    case dnnl_success:
      return "success";
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "this oneDNN cannot do it";
    case dnnl_iterator_ends:
      return "nothing more to try";
    case dnnl_runtime_error:
      return "run-time error";
    case dnnl_not_required:
      return "not required";
  }
  return fmt::format("status {}", static_cast<int>(status));
}

void check(dnnl_status_t status, const std::string& doing) {
  if (status == dnnl_success) return;
  throw DeviceError(fmt::format("oneDNN failed at {}: {}", doing, status_text(status)));
}

void end_threads() {
  constexpr int omp_pause_hard = 2;  // OpenMP 5.0, omp_pause_resource_t
  if (library().omp_pause_resource_all) library().omp_pause_resource_all(omp_pause_hard);
}

Threads::Threads() {
#ifdef __SANITIZE_THREAD__
  constexpr int most = 1;  // the sanitizer does not see how OpenMP's threads hand over to each other
#else
  const int most = WorkerPool::shared().size();
#endif
  if (!library().omp_set_num_threads || !library().omp_get_max_threads) return;
  before_ = library().omp_get_max_threads();
  library().omp_set_num_threads(most);
}

Threads::~Threads() {
  if (before_) library().omp_set_num_threads(before_);
}

Engine make_engine() {
  dnnl_engine_t e = nullptr;
  check(library().dnnl_engine_create(&e, dnnl_cpu, 0), "starting its CPU engine");
  return {e, library().dnnl_engine_destroy};
}

Stream make_stream(dnnl_engine_t engine) {
  dnnl_stream_t s = nullptr;
  check(library().dnnl_stream_create(&s, engine, dnnl_stream_default_flags), "making a stream");
  return {s, library().dnnl_stream_destroy};
}

Memory make_memory(const dnnl_memory_desc_t& layout, dnnl_engine_t engine, void* data) {
  dnnl_memory_t m = nullptr;
  check(library().dnnl_memory_create(&m, &layout, engine, data), "describing memory");
  return {m, library().dnnl_memory_destroy};
}

Attributes make_attributes() {
  dnnl_primitive_attr_t a = nullptr;
  check(library().dnnl_primitive_attr_create(&a), "making attributes");
  Attributes owned{a, library().dnnl_primitive_attr_destroy};
  check(library().dnnl_primitive_attr_set_fpmath_mode(a, dnnl_fpmath_mode_strict), "asking for strict arithmetic");
  check(library().dnnl_primitive_attr_set_scratchpad_mode(a, dnnl_scratchpad_mode_user),
        "asking for our own workspace");
  return owned;
}

Primitive make_primitive(const Description& of, const std::string& what) {
  dnnl_primitive_t p = nullptr;
  check(library().dnnl_primitive_create(&p, of.get()), "compiling " + what);
  return {p, library().dnnl_primitive_destroy};
}

const dnnl_memory_desc_t& layout_of(const Description& d, dnnl_query_t what) {
  const dnnl_memory_desc_t* layout = library().dnnl_primitive_desc_query_md(d.get(), what, 0);
  if (!layout) throw DeviceError("oneDNN does not say which layout it wants");
  return *layout;
}

}  // namespace convscope::onednn
