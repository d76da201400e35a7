// Program counter → source line, by libbacktrace (part of GCC) from the program's own debug information.
#include <atomic>
#include <backtrace.h>
#include <string_view>

#include "kernels/runtime/simt/trace.h"

namespace convscope::simt {
namespace {

void ignore_error(void*, const char*, int) {}

// A state knows the modules that were open when it was first asked, so a new one is made when another is opened. The
// old one stays: a crash handler may be reading it, and libbacktrace frees none.
std::atomic<backtrace_state*> current{nullptr};

backtrace_state* state() {
  if (!current) look_for_lines_again();
  return current;
}

}  // namespace

void look_for_lines_again() { current = backtrace_create_state(nullptr, 1, ignore_error, nullptr); }

SourceLine source_line(uint64_t pc) {
  SourceLine out;
  if (!state()) return out;
  // The innermost frame comes first: the first one that is not in a header that kernels include is the kernel's line.
  // pc is a return address, so the call is before it.
  backtrace_pcinfo(
      state(), pc - 1,
      [](void* data, uintptr_t, const char* file, int line, const char* function) {
        if (!file) return 0;
        auto& found = *static_cast<SourceLine*>(data);
        std::string_view name = file;
        if (name.starts_with("./")) name.remove_prefix(2);  // the build maps its own directory to "."
        found = {std::string(name), line, function ? function : ""};
        return name.find("include/convscope/") != name.npos ? 0 : 1;
      },
      ignore_error, &out);
  return out;
}

}  // namespace convscope::simt
