// Kernels that break the process they run in, each in its own way, in block 2, thread 5 of the first launch. The marks
// (FAULT name) are looked up by the tests. All but the last few are on problems of one channel and one tap: y = x * w.
#include "convscope/kernel.h"

#ifndef __CUDACC__
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include "kernels/base/error.h"

namespace {

// What a kernel may not do on a GPU is plain C++ here.
bool the_one() { return blockIdx.x == 2 && threadIdx.x == 5; }

void compute(const float* x, const float* w, float* y, const ConvArgs& c) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < c.length) y[i] = x[i] * w[0];
}

// Opaque to the compiler, which otherwise uses that none of this may happen.
template <class T>
T unknown(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

__attribute__((noinline)) int dig(int depth) {
  volatile int room[64];
  room[depth % 64] = depth;
  int deeper = unknown(depth) > 1 << 29 ? 0 : dig(depth + 1);  // FAULT stack_overflow
  return room[depth % 64] + deeper;
}

volatile int sink;

using Int = volatile int;

void healthy_does() {}
void wild_write_does() { *unknown(reinterpret_cast<Int*>(0x10)) = 1; }                  // FAULT wild_write
void wild_read_does() { sink = *unknown(reinterpret_cast<Int*>(0x123450)); }            // FAULT wild_read
void wild_nowhere_does() { *unknown(reinterpret_cast<Int*>(0xdead000000000000)) = 1; }  // FAULT wild_nowhere
typedef float Four __attribute__((vector_size(16)));
alignas(16) float room[8];
void misaligned_four_does() { *unknown(reinterpret_cast<Four*>(room + 1)) = Four{1, 2, 3, 4}; }  // FAULT misaligned_four
void stack_overflow_does() { sink = dig(1); }
void divide_by_zero_does() { sink = 7 / unknown(0); }  // FAULT divide_by_zero
void illegal_does() { __builtin_trap(); }              // FAULT illegal
void call_abort_does() { std::abort(); }               // FAULT call_abort
void leave_does() { _exit(9); }
void killed_does() { raise(SIGKILL); }
void wild_copy_does() {
  char* to = unknown(reinterpret_cast<char*>(0x30));
  std::memcpy(to, "12345678", unknown(8));  // FAULT wild_copy
}
void loop_for_ever_does() {
  while (unknown(1)) {
  }
}
void all_loop_for_ever_does() { loop_for_ever_does(); }
void throw_words_does() { throw std::runtime_error("planted in a kernel"); }
void throw_bytes_does() { throw std::runtime_error("not UTF-8: \xff\xfe."); }
void throw_number_does() { throw 7; }

// Takes memory and uses it, as a kernel with a runaway list would.
void use(volatile char* p) {
  for (int i = 0; i < 1 << 20; i += 4096) p[i] = 1;  // FAULT use
}
void allocate_without_end_does() {
  while (unknown(1)) use(new char[1 << 20]);
}
void malloc_without_end_does() {
  while (unknown(1)) use(unknown(static_cast<char*>(std::malloc(1 << 20))));
}

// Frames, and halves of frames, on the way out that a kernel has.
void print_a_lot_does() {
  for (int i = 0; i < 40; i++)
    std::printf("CVS1 %u %u %d: a kernel's own words, not a frame\n", blockIdx.x, threadIdx.x, i);
  const char frame[] = "CVS1\x02\0\0\0\0\0\0\0\0\0\0\0{}";
  sink = static_cast<int>(fwrite(frame, 1, sizeof frame - 1, stdout));
}
void print_for_ever_does() {
  while (unknown(1)) std::printf("on and on and on and on and on and on and on and on\n");
}
void close_descriptors_does() {
  for (int fd = 0; fd <= 20; fd++) close(fd);
}

}  // namespace

#define PLAIN(name, who)                                                                        \
  extern "C" __global__ void run_##name(ConvArgs c, const float* x, const float* w, float* y) { \
    if (who) name##_does();                                                                     \
    compute(x, w, y, c);                                                                        \
  }                                                                                             \
  CONVSCOPE_KERNEL(name) {                                                                      \
    test_only();                                                                                \
    idea("breaks the process");                                                                 \
    plan([](const ConvProblem& p, Plan& plan) {                                                 \
      plan.launch(ENTRY(run_##name), {std::max<int64_t>(4, ceil_div(p.length, 16))}, {16})      \
          .args(p.args(), plan.x(), plan.w(), plan.y());                                        \
    });                                                                                         \
  }

PLAIN(healthy, true)
PLAIN(wild_write, the_one())
PLAIN(wild_read, the_one())
PLAIN(wild_nowhere, the_one())
PLAIN(misaligned_four, the_one())
PLAIN(stack_overflow, the_one())
PLAIN(divide_by_zero, the_one())
PLAIN(illegal, the_one())
PLAIN(call_abort, the_one())
PLAIN(leave, the_one())
PLAIN(killed, the_one())
PLAIN(wild_copy, the_one())
PLAIN(loop_for_ever, the_one())
PLAIN(all_loop_for_ever, true)
PLAIN(throw_words, the_one())
PLAIN(throw_bytes, the_one())
PLAIN(throw_number, the_one())
PLAIN(allocate_without_end, the_one())
PLAIN(malloc_without_end, the_one())
PLAIN(print_a_lot, true)
PLAIN(print_for_ever, the_one())
PLAIN(close_descriptors, the_one())

// One block a position, each of `dilation` milliseconds (a problem of one tap does not use it).
extern "C" __global__ void run_slow(ConvArgs c, const float* x, const float* w, float* y) {
  std::this_thread::sleep_for(std::chrono::milliseconds(c.dilation));
  y[blockIdx.x] = x[blockIdx.x] * w[0];
}
CONVSCOPE_KERNEL(slow) {
  test_only();
  idea("takes its time");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(run_slow), {p.length}, {1}).args(p.args(), plan.x(), plan.w(), plan.y());
  });
}

CONVSCOPE_KERNEL(picky) {
  test_only();
  idea("takes one problem only");
  supports([](const ConvProblem& p) { return p.length == 7 ? "" : "is for length 7"; });
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(run_healthy), {p.length}, {16}).args(p.args(), plan.x(), plan.w(), plan.y());
  });
}

CONVSCOPE_KERNEL(from_the_future) {
  test_only();
  idea("needs what is not here");
  requires_("sm_999x");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(run_healthy), {p.length}, {16}).args(p.args(), plan.x(), plan.w(), plan.y());
  });
}

// As when a launch has left a GPU's context unusable.
CONVSCOPE_KERNEL(lose_device) {
  test_only();
  idea("loses the device");
  plan([](const ConvProblem&, Plan&) { throw convscope::DeviceError("the context is lost: planted", true); });
}

// Every element in the neighbourhood of the right one: a few are far off.
extern "C" __global__ void run_few_wrong(ConvArgs c, const float* x, const float* w, float* y) {
  compute(x, w, y, c);
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < c.length && i % 50 == 13) y[i] = i % 100 == 13 ? NAN : 1e6f;
}
CONVSCOPE_KERNEL(few_wrong) {
  test_only();
  idea("wrong at 13, 63, 113, …");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(run_few_wrong), {ceil_div(p.length, 16)}, {16}).args(p.args(), plan.x(), plan.w(), plan.y());
  });
}

// One channel to many by one tap; a single element is wrong: the one whose flat index is 7/11 of all.
extern "C" __global__ void run_planted(ConvArgs c, const float* x, const float* w, float* y) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, all = int64_t{c.out_channels} * c.length;
  if (i >= all) return;
  y[i] = x[i % c.length] * w[i / c.length];
  if (i == all / 11 * 7) y[i] += 1;
}
CONVSCOPE_KERNEL(planted) {
  test_only();
  idea("wrong in one element");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(run_planted), {ceil_div(p.y_elements(), 1024)}, {1024})
        .args(p.args(), plan.x(), plan.w(), plan.y());
  });
}
#endif
