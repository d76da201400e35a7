// The functions that g++ -fsanitize=thread calls before each access. Compiled without that flag, into the module of
// traced kernels only. An atomic operation that the instrumentation takes over must be carried out here.
#include "kernels/runtime/simt/trace_hooks.h"

using convscope::simt::record_access;

#define PC __builtin_return_address(0)
#define HOOK(name, bytes, kind) \
  extern "C" void __tsan_##name##bytes(void* p) { record_access(p, bytes, kind, PC); }
// The compiler takes these where the type says that it is aligned.
#define ALIGNED_HOOK(name, bytes, kind)                                                                 \
  extern "C" void __tsan_##name##bytes(void* p) {                                                       \
    if (reinterpret_cast<uintptr_t>(p) % bytes) convscope::simt::record_misaligned(p, bytes, kind, PC); \
    record_access(p, bytes, kind, PC);                                                                  \
  }
// clang-format off
#define HOOKS(bytes)                       \
  ALIGNED_HOOK(read, bytes, 0)             \
  ALIGNED_HOOK(write, bytes, 1)            \
  HOOK(unaligned_read, bytes, 0)           \
  HOOK(unaligned_write, bytes, 1)          \
  ALIGNED_HOOK(volatile_read, bytes, 0)    \
  ALIGNED_HOOK(volatile_write, bytes, 1)   \
  HOOK(unaligned_volatile_read, bytes, 0)  \
  HOOK(unaligned_volatile_write, bytes, 1)
// clang-format on
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

// Of -fsanitize=bounds, which kernel files from outside are compiled with. What is handed over is laid out as in
// UndefinedBehaviorSanitizer's runtime (LLVM, compiler-rt/lib/ubsan: SourceLocation, TypeDescriptor, OutOfBoundsData).
namespace {
struct Type {
  uint16_t kind, info;  // of an integer: whether it has a sign, and above that the logarithm of its bits
  char name[1];         // and more
};
struct OutOfBounds {
  const char* file;
  uint32_t line, column;
  const Type *array, *index;
};
}  // namespace
extern "C" void __ubsan_handle_out_of_bounds(const OutOfBounds* at, uintptr_t value) {
  auto index = static_cast<int64_t>(value);
  const int bits = 1 << (at->index->info >> 1);
  if ((at->index->info & 1) && bits < 64) index = static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
  convscope::simt::record_beyond(at->file, at->line, at->array->name, index);
}

// Of -fsanitize-coverage=trace-pc: before each piece of straight code.
extern "C" void __sanitizer_cov_trace_pc() { convscope::simt::record_step(PC); }

extern "C" {
void __tsan_read_range(void* p, unsigned long n) { record_access(p, static_cast<unsigned>(n), 0, PC); }
void __tsan_write_range(void* p, unsigned long n) { record_access(p, static_cast<unsigned>(n), 1, PC); }
void __tsan_init() {}
void __tsan_func_entry(void* from) { convscope::simt::record_call(from); }
void __tsan_func_exit() { convscope::simt::record_return(); }
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

// The emulator's atomicAdd and its kin come down to these (simt.h, atomic_update; half_functions.h).
uint16_t __tsan_atomic16_load(const volatile uint16_t* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
int __tsan_atomic16_compare_exchange_weak(volatile uint16_t* p, uint16_t* old, uint16_t v, int, int) {
  bool done = __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  if (done) record_access(const_cast<uint16_t*>(p), 2, 2, PC);
  return done;
}
uint32_t __tsan_atomic32_load(const volatile uint32_t* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
void __tsan_atomic32_store(volatile uint32_t* p, uint32_t v, int) {
  record_access(const_cast<uint32_t*>(p), 4, 1, PC);
  __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
uint64_t __tsan_atomic64_load(const volatile uint64_t* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
int __tsan_atomic32_compare_exchange_weak(volatile uint32_t* p, uint32_t* old, uint32_t v, int, int) {
  bool done = __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  if (done) record_access(const_cast<uint32_t*>(p), 4, 2, PC);
  return done;
}
int __tsan_atomic64_compare_exchange_weak(volatile uint64_t* p, uint64_t* old, uint64_t v, int, int) {
  bool done = __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  if (done) record_access(const_cast<uint64_t*>(p), 8, 2, PC);
  return done;
}
// What std:: code inlined into a kernel file may use; not accesses of a kernel.
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t* p, uint32_t v, int) {
  return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
uint64_t __tsan_atomic64_fetch_add(volatile uint64_t* p, uint64_t v, int) {
  return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
uint8_t __tsan_atomic8_load(const volatile uint8_t* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
void __tsan_atomic8_store(volatile uint8_t* p, uint8_t v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
}
