// Last words: what an engine says when a kernel kills it.
#pragma once

namespace convscope {

// Handlers for fatal signals that write one line, "convscope-crash: …", with the kernel, block, thread and line that
// ran, to stderr, and then let the process die of the signal. An instruction of a kernel file's, opened later, ends its
// launch with a KernelFault instead (simt::leave_kernel). And one for SIGUSR1, which asks where a kernel stands
// that does not come to an end: it writes "convscope-hung: …" with the same, twice, the line being in the second. Call
// once, before other threads start.
void install_crash_handlers();

// A stack for the calling thread's signal handlers: a fibre's own may be what overflowed. The thread is then one of
// those that may run kernels.
void give_thread_a_signal_stack();

}  // namespace convscope
