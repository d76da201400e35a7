#include "kernels/runtime/simt/static_shared.h"

#include <cstdint>
#include <link.h>

// The C library's: the calling thread's copy of a module's variable, made when it is asked for first (Drepper, ELF
// Handling For Thread-Local Storage, section 3.4).
struct TlsIndex {
  size_t module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex* index);

namespace convscope::simt {

StaticShared static_shared_of(const void* code) {
  struct Search {
    uintptr_t code;
    size_t module = 0, bytes = 0;
  } search{reinterpret_cast<uintptr_t>(code)};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        bool here = false;
        size_t bytes = 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type == PT_LOAD) here |= s.code - (info->dlpi_addr + part.p_vaddr) < part.p_memsz;
          if (part.p_type == PT_TLS) bytes = part.p_memsz;
        }
        if (!here) return 0;
        const bool program = !info->dlpi_name || !*info->dlpi_name;
        if (!program) s.module = info->dlpi_tls_modid, s.bytes = bytes;
        return 1;
      },
      &search);
  if (!search.module || !search.bytes) return {};
  TlsIndex index{search.module, 0};
  return {static_cast<unsigned char*>(__tls_get_addr(&index)), search.bytes};
}

}  // namespace convscope::simt
