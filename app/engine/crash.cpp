#include "app/engine/crash.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "kernels/runtime/simt/edited_memory.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/simt/trace.h"

namespace convscope {
namespace {

constexpr size_t signal_stack_bytes = 64 << 10;
constexpr size_t reserve_bytes = 16 << 20;
constexpr uint64_t stack_reach = 16 << 10;  // a fault this near to the stack pointer is the stack's end

// Whether the instruction moves 16 bytes, to or from where they must be aligned (MOVAPS, MOVAPD, MOVDQA, and their
// forms with a VEX prefix; Intel's manual, volume 2). Its other fault has an address, so that this is the reason where
// there is none.
bool moves_aligned(const uint8_t* code) {
  bool wide = false;  // 66: MOVAPD, MOVDQA
  if (*code == 0x66) wide = true, code++;
  if ((*code & 0xf0) == 0x40) code++;  // REX
  uint8_t op = 0;
  if (code[0] == 0x0f)
    op = code[1];
  else if (code[0] == 0xc5)
    op = code[2], wide = (code[1] & 3) == 1;
  else if (code[0] == 0xc4 && (code[1] & 31) == 1)
    op = code[3], wide = (code[2] & 3) == 1;
  return op == 0x28 || op == 0x29 || (wide && (op == 0x6f || op == 0x7f));
}

const char* meaning(int signal, bool in_kernel, bool at_stack_end, bool misaligned) {
  switch (signal) {
    case SIGSEGV:
      return at_stack_end ? "the stack overflowed"
             : misaligned ? "16 bytes were moved at an address that is no multiple of 16"
                          : "an address that is not there was used";
    case SIGBUS:
      return "an address that cannot be used was used";
    case SIGFPE:
      return "a division by zero, or one whose result does not fit";
    case SIGILL:
      return "an illegal instruction";
    case SIGABRT:
      return in_kernel ? "the kernel called abort" : "the engine called abort";
    default:
      return "a fatal signal";
  }
}

// Where the libraries lie that were loaded with the program: a fault in memcpy or abort is its caller's.
struct Range {
  uint64_t begin, end;
};
std::vector<Range>& libraries() {
  static std::vector<Range> ranges;
  return ranges;
}

// And the program itself: what is in neither was opened later, as kernel files are.
std::vector<Range>& program() {
  static std::vector<Range> ranges;
  return ranges;
}

void note_libraries() {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        auto& ranges = info->dlpi_name && *info->dlpi_name ? libraries() : program();
        for (int i = 0; i < info->dlpi_phnum; i++)
          if (const auto& h = info->dlpi_phdr[i]; h.p_type == PT_LOAD && h.p_flags & PF_X)
            ranges.push_back({info->dlpi_addr + h.p_vaddr, info->dlpi_addr + h.p_vaddr + h.p_memsz});
        return 0;
      },
      nullptr);
}

bool in_any(const std::vector<Range>& ranges, uint64_t pc) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return pc >= r.begin && pc < r.end; });
}
bool in_library(uint64_t pc) { return in_any(libraries(), pc); }

// The return address into the first code up the stack, past this file's own, that is in no library; 0 if there is none.
uint64_t caller_outside_libraries() {
  void* frames[32];
  int n = backtrace(frames, 32);
  bool past_signal = false;  // first come this file's functions, then the signal's frame in libc
  for (int i = 0; i < n; i++) {
    auto pc = reinterpret_cast<uint64_t>(frames[i]);
    if (in_library(pc))
      past_signal = true;
    else if (past_signal)
      return pc;
  }
  return 0;
}

// Given back when the process dies, since it may die of having no memory, and resolving a line takes some.
void* reserve = MAP_FAILED;

// What the processor says of the instruction that failed.
struct Failed {
  int signal;
  uint64_t pc, sp, address;
  simt::Position at{};  // of a kernel
  simt::AccessInHand hand = simt::take_access_in_hand();
  bool named;  // it has an address: kill(2) has none, and beyond the canonical ones it says 0
  bool at_stack_end, misaligned, in_kernel;
  char element[128] = "";  // the element of a tensor that it would be: "reads element 100 of x, which has 54"

  Failed(int number, const siginfo_t& info, const ucontext_t& context)
      : signal(number),
        pc(static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP])),
        sp(static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP])),
        address(reinterpret_cast<uint64_t>(info.si_addr)),
        named((signal == SIGSEGV || signal == SIGBUS) && info.si_code > 0 && info.si_code != SI_KERNEL),
        at_stack_end(named && address - (sp - stack_reach) < 2 * stack_reach),
        misaligned(signal == SIGSEGV && info.si_code == SI_KERNEL &&
                   moves_aligned(reinterpret_cast<const uint8_t*>(pc))),
        in_kernel(simt::current_position(at)) {
    if (simt::KnownTensor t{}; in_kernel && named && !at_stack_end && simt::nearest_tensor(address, t)) {
      const auto index = static_cast<int64_t>(address - t.begin) / static_cast<int64_t>(t.element_bytes);
      std::snprintf(element, sizeof element, "%s element %lld of %s, which has %lld",
                    (hand.pc ? hand.writes : (context.uc_mcontext.gregs[REG_ERR] & 2) != 0) ? "writes" : "reads",
                    static_cast<long long>(index), t.name, static_cast<long long>(t.elements));
    }
  }
  const char* words() const { return *element ? element : meaning(signal, in_kernel, at_stack_end, misaligned); }
};

// Of an instruction of a kernel file's, on a thread of the emulator's: nothing has come of it, no lock is held there
// and nothing half done, so that the thread can be left as it stands. The engine lives on.
struct Left {
  char why[160];
  bool access;
  uint64_t pc;
};
constinit thread_local Left left{};

void go_on_there() { simt::leave_kernel(left.why, left.access, left.pc); }

bool leaves(const Failed& f, ucontext_t& context) {
  const bool own = f.hand.pc || !(in_library(f.pc) || in_any(program(), f.pc));  // or the trace's look at its memory
  if (!f.in_kernel || f.at_stack_end || f.signal == SIGABRT || !own ||
      !simt::can_leave_kernel(reinterpret_cast<const void*>(f.sp)))
    return false;
  std::snprintf(left.why, sizeof left.why, "%s", f.words());
  left.access = *f.element, left.pc = f.hand.pc ? f.hand.pc - 1 : f.pc;
  // As if it were called there: below what a function may use under its stack pointer (System V ABI, AMD64, "The Stack
  // Frame"), and 8 bytes from a multiple of 16.
  constexpr uint64_t red_zone = 128;
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(((f.sp - red_zone) & ~uint64_t{15}) - 8);
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&go_on_there);
  return true;
}

// Runs on the thread that failed. Formatting into a local buffer and resolving the line are not strictly safe here, but
// the process is dying: an alarm ends it if either gets stuck. (Not used where a sanitizer has the signals; the next
// one neither.)
[[maybe_unused]] void last_words(int signal, siginfo_t* info, void* context) {
  if (signal != SIGABRT) simt::leave_edited_host_code();
  const Failed f(signal, *info, *static_cast<ucontext_t*>(context));
  if (leaves(f, *static_cast<ucontext_t*>(context))) return;
  // Blocks of a kernel run on several threads, and what is wrong with one is wrong with others at the same time: the
  // first says so, and the others must not end the process meanwhile. One that fails in here does.
  static std::atomic<pid_t> first{0};
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  if (pid_t none = 0; !first.compare_exchange_strong(none, self)) {
    if (none == self) {
      std::signal(signal, SIG_DFL);
      raise(signal);
    }
    for (;;) pause();
  }
  std::signal(SIGALRM, SIG_DFL);
  alarm(3);
  if (reserve != MAP_FAILED) munmap(reserve, reserve_bytes);
  char where[64] = "", text[1024], line_text[512] = "";
  if (f.named && !f.at_stack_end)
    std::snprintf(where, sizeof where, ", address 0x%lx", static_cast<unsigned long>(f.address));
  auto say = [&] {
    int n = std::snprintf(text, sizeof text, "convscope-crash: %s (signal %d%s)", f.words(), signal, where);
    if (f.in_kernel)
      n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n),
                         ", kernel %s, block (%u, %u, %u), thread (%u, %u, %u)%s\n", f.at.kernel, f.at.block.x,
                         f.at.block.y, f.at.block.z, f.at.thread.x, f.at.thread.y, f.at.thread.z, line_text);
    else
      n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n), " outside any kernel\n");
    size_t length = std::min<size_t>(static_cast<size_t>(n), sizeof text - 1);
    text[length - 1] = '\n';
    [[maybe_unused]] auto written = write(STDERR_FILENO, text, length);
  };
  uint64_t place = f.pc + 1;  // the instruction that faulted: source_line() looks before what it is given
  if (f.in_kernel && in_library(f.pc)) {
    say();  // looking for the caller may fail in its turn
    place = caller_outside_libraries();
  }
  if (f.in_kernel && place) {
    simt::SourceLine line = simt::source_line(place);
    if (!line.file.empty()) std::snprintf(line_text, sizeof line_text, ", at %s:%d", line.file.c_str(), line.line);
  }
  say();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// ---- a kernel that does not come to an end
// ----------------------------------------------------------------------------

// The threads that may run kernels, so that each can be asked.
std::array<std::atomic<pid_t>, 1024> threads;
std::atomic<size_t> thread_count{0};

// Of the code at `pc`, or of its first caller that is neither a library's nor the emulator's (a loop around a barrier
// is mostly there).
simt::SourceLine kernel_line(uint64_t pc) {
  auto of_kernel = [](const simt::SourceLine& l) {
    return !l.file.empty() && !l.file.starts_with('/') && !l.file.starts_with("kernels/runtime/");
  };
  if (!in_library(pc))
    if (auto line = simt::source_line(pc + 1); of_kernel(line)) return line;
  void* frames[32];
  int n = backtrace(frames, 32);
  bool past_signal = false;
  for (int i = 0; i < n; i++) {
    auto frame = reinterpret_cast<uint64_t>(frames[i]);
    if (in_library(frame)) {
      past_signal = true;
    } else if (past_signal) {
      if (auto line = simt::source_line(frame); of_kernel(line)) return line;
    }
  }
  return {};
}

// The client takes the engine for hung, asks where it is, and ends it whatever it answers. The first thread that is in
// a kernel says so: once without the line, since looking for that may get stuck where the kernel stands in malloc.
[[maybe_unused]] void say_where([[maybe_unused]] int signal, siginfo_t* info, void* context) {
  static std::atomic_flag said;
  if (info->si_code == SI_USER) {  // from outside, to any thread: ask the others
    auto self = static_cast<pid_t>(syscall(SYS_gettid));
    for (size_t i = 0; i < std::min(thread_count.load(), threads.size()); i++)
      if (pid_t thread = threads[i]; thread && thread != self) syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
  }
  simt::Position at{};
  if (!simt::current_position(at)) return;
  if (said.test_and_set()) {
    // The processors are left to the one that says it. Not for ever: this thread may hold a lock that the line waits
    // for.
    const timespec a_second{1, 0};
    nanosleep(&a_second, nullptr);
    return;
  }
  auto say = [&](const char* line) {
    char text[1024];
    int n = std::snprintf(text, sizeof text, "convscope-hung: kernel %s, block (%u, %u, %u), thread (%u, %u, %u)%s\n",
                          at.kernel, at.block.x, at.block.y, at.block.z, at.thread.x, at.thread.y, at.thread.z, line);
    [[maybe_unused]] auto written = write(STDERR_FILENO, text, std::min<size_t>(static_cast<size_t>(n), sizeof text));
  };
  say("");
  char line_text[512] = "";
  auto line = kernel_line(static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]));
  if (!line.file.empty()) std::snprintf(line_text, sizeof line_text, ", at %s:%d", line.file.c_str(), line.line);
  say(line_text[0] ? line_text : ", at no line that is known");
}

}  // namespace

void give_thread_a_signal_stack() {
  if (size_t i = thread_count++; i < threads.size()) threads[i] = static_cast<pid_t>(syscall(SYS_gettid));
  void* p = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  stack_t s{};
  s.ss_sp = p;
  s.ss_size = signal_stack_bytes;
  sigaltstack(&s, nullptr);
}

void install_crash_handlers() {
  give_thread_a_signal_stack();
  // What takes memory or opens files is done while it is safe: the debug information is read, the unwinder loaded.
  simt::source_line(reinterpret_cast<uint64_t>(&install_crash_handlers) + 1);
  void* frame;
  backtrace(&frame, 1);
  note_libraries();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these report on their own
  reserve = mmap(nullptr, reserve_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action {};
  action.sa_sigaction = last_words;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(s, &action, nullptr);
  action.sa_sigaction = say_where;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
#endif
}

}  // namespace convscope
