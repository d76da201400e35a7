// Last words: what an engine says when a kernel kills it.
#pragma once

namespace convscope {

// Handlers for fatal signals that write one line, "convscope-crash: …", with the kernel, block, thread and line that
// ran, to stderr, and then let the process die of the signal. Call once, before other threads start.
void install_crash_handlers();

// A stack for the calling thread's signal handlers: a fibre's own may be what overflowed.
void give_thread_a_signal_stack();

}  // namespace convscope
