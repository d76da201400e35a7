#include "app/engine/crash.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/simt/trace.h"

namespace convscope {
namespace {

constexpr size_t signal_stack_bytes = 64 << 10;

const char* meaning(int signal) {
  switch (signal) {
    case SIGSEGV: return "an address that is not there was used";
    case SIGBUS: return "an address that cannot be used was used";
    case SIGFPE: return "a division by zero";
    case SIGILL: return "an illegal instruction";
    case SIGABRT: return "the kernel called abort";
    default: return "a fatal signal";
  }
}

// Runs on the thread that failed. Formatting into a local buffer and resolving the line are not strictly safe here, but the
// process is dying: an alarm ends it if either gets stuck.
void last_words(int signal, siginfo_t* info, void* context) {
  std::signal(SIGALRM, SIG_DFL);
  alarm(3);
  char text[1024];
  auto pc = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  simt::Position at{};
  int n;
  if (simt::current_position(at)) {
    simt::SourceLine line = simt::source_line(pc + 1);
    char where[512] = "";
    if (!line.file.empty()) std::snprintf(where, sizeof where, ", at %s:%d", line.file.c_str(), line.line);
    n = std::snprintf(text, sizeof text, "convscope-crash: %s (signal %d%s), kernel %s, block (%u, %u, %u), thread (%u, %u, %u)%s\n",
                      meaning(signal), signal, "", at.kernel, at.block.x, at.block.y, at.block.z, at.thread.x, at.thread.y, at.thread.z, where);
  } else {
    n = std::snprintf(text, sizeof text, "convscope-crash: %s (signal %d, address %p) outside any kernel\n", meaning(signal), signal,
                      info->si_addr);
  }
  [[maybe_unused]] auto written = write(STDERR_FILENO, text, static_cast<size_t>(std::min<int>(n, sizeof text)));
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void out_of_memory() {
  static constexpr char text[] = "convscope-crash: out of memory\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, text, sizeof text - 1);
  std::set_new_handler(nullptr);  // the allocation now throws, and the job says so if it can
}

}  // namespace

void give_thread_a_signal_stack() {
  void* p = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  stack_t s{};
  s.ss_sp = p;
  s.ss_size = signal_stack_bytes;
  sigaltstack(&s, nullptr);
}

void install_crash_handlers() {
  give_thread_a_signal_stack();
  simt::source_line(reinterpret_cast<uint64_t>(&install_crash_handlers) + 1);  // reads the debug information while it is safe
  std::set_new_handler(out_of_memory);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these report on their own
  struct sigaction action {};
  action.sa_sigaction = last_words;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(s, &action, nullptr);
#endif
}

}  // namespace convscope
