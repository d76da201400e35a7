// Program counter → source line, by libbacktrace (part of GCC) from the debug information of the module it lies in.
#include <algorithm>
#include <atomic>
#include <backtrace.h>
#include <link.h>
#include <string_view>
#include <vector>

#include "kernels/runtime/simt/trace.h"

// The loader's own: below it is another (ld's --wrap).
extern "C" int __real_dl_iterate_phdr(int (*callback)(dl_phdr_info*, size_t, void*), void* data);

namespace convscope::simt {
namespace {

void ignore_error(void*, const char*, int) {}

// The program, or what was opened later. libbacktrace frees nothing, and would read what all modules have, the system's
// libraries among them, into every state: so each module has a state of its own, once.
struct Module {
  std::string path;  // "" of the program
  uint64_t base = 0;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // loaded [begin, end)
  backtrace_state* state = nullptr;
  Module* next = nullptr;

  bool has(uint64_t pc) const {
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) { return pc >= r.first && pc < r.second; });
  }
};

// The last that was asked for comes first. No lock: a signal handler may ask where it interrupts one who asks; two that
// do so at once may each make the same state.
std::atomic<Module*> modules{nullptr};

// While libbacktrace is asked: the one module that it is told of.
constinit thread_local const Module* only = nullptr;

Module of(const dl_phdr_info& info) {
  Module m;
  m.path = info.dlpi_name ? info.dlpi_name : "", m.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; i++)
    if (const auto& h = info.dlpi_phdr[i]; h.p_type == PT_LOAD)
      m.ranges.emplace_back(m.base + h.p_vaddr, m.base + h.p_vaddr + h.p_memsz);
  return m;
}

Module* module_at(uint64_t pc) {
  for (Module* m = modules; m; m = m->next)
    if (m->has(pc)) return m;
  struct Search {
    uint64_t pc;
    Module* found;
  } search{pc, nullptr};
  __real_dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        if (Module m = of(*info); m.has(s.pc)) s.found = new Module(std::move(m));
        return s.found ? 1 : 0;
      },
      &search);
  if (!search.found) return nullptr;
  Module& m = *search.found;
  m.state = backtrace_create_state(m.path.empty() ? nullptr : m.path.c_str(), 1, ignore_error, nullptr);
  for (m.next = modules; !modules.compare_exchange_weak(m.next, &m);) {
  }
  return &m;
}

}  // namespace

SourceLine source_line(uint64_t pc) {
  SourceLine out;
  const uint64_t at = pc - 1;  // pc is a return address, so the call is before it
  const Module* m = module_at(at);
  if (!m || !m->state) return out;
  // The innermost frame comes first: the first one that is not in a header that kernels include is the kernel's line.
  const Module* const outer = only;  // of what a signal handler interrupts
  only = m;
  backtrace_pcinfo(
      m->state, at,
      [](void* data, uintptr_t, const char* file, int line, const char* function) {
        if (!file) return 0;
        auto& found = *static_cast<SourceLine*>(data);
        std::string_view name = file;
        if (name.starts_with("./")) name.remove_prefix(2);  // the build maps its own directory to "."
        found = {std::string(name), line, function ? function : ""};
        return name.find("include/convscope/") != name.npos ? 0 : 1;
      },
      ignore_error, &out);
  only = outer;
  return out;
}

}  // namespace convscope::simt

// What this program and libbacktrace in it call instead of dl_iterate_phdr.
extern "C" int __wrap_dl_iterate_phdr(int (*callback)(dl_phdr_info*, size_t, void*), void* data) {
  using convscope::simt::only;
  if (!only) return __real_dl_iterate_phdr(callback, data);
  struct Inner {
    decltype(callback) call;
    void* data;
  } inner{callback, data};
  return __real_dl_iterate_phdr(
      [](dl_phdr_info* info, size_t size, void* all) {
        if (info->dlpi_addr != only->base || only->path != (info->dlpi_name ? info->dlpi_name : "")) return 0;
        const auto& i = *static_cast<Inner*>(all);
        return i.call(info, size, i.data);
      },
      &inner);
}
