#include "kernels/runtime/simt/fibres.h"

#include <cstdlib>
#include <functional>
#include <new>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace convscope::simt {
namespace bc = boost::context;
namespace {

// Stacks stand a guard page apart, and their tops are staggered: at equal distances of a power of two they would all
// share a few cache sets, which makes a switch two to three times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t stack_bytes = 256 << 10;
#else
constexpr size_t stack_bytes = 64 << 10;
#endif
constexpr size_t guard_bytes = 4096, most_fibres = 1024, spacing = stack_bytes + guard_bytes;

struct NoAllocator {  // the stacks belong to Fibres
  bc::stack_context allocate() { return {}; }
  void deallocate(bc::stack_context&) {}
};

}  // namespace

struct Fibres::One {
  bc::fiber context;
  const void* stack = nullptr;
  size_t size = 0;
  void* fake = nullptr;  // AddressSanitizer's fake stack while suspended
  void* tsan = nullptr;  // ThreadSanitizer's identity
  bool lost = false;
  alignas(bc::fiber) unsigned char never_ended[sizeof(bc::fiber)];  // the context of a lost one
};

Fibres::Fibres(std::function<void()> body) : body_(std::move(body)) {
  void* p =
      mmap(nullptr, most_fibres * spacing, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<char*>(p);
#if defined(__SANITIZE_THREAD__)
  home_tsan_ = __tsan_get_current_fiber();
#endif
}

Fibres::~Fibres() {
  quit_ = true;
  for (unsigned f : idle_) enter(f);
  // The context of a lost one would throw on its stack to end it.
  for (auto& f : all_)
    if (f->lost) new (f->never_ended) bc::fiber(std::move(f->context));
#if defined(__SANITIZE_THREAD__)
  for (auto& f : all_) __tsan_destroy_fiber(f->tsan);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stacks_, all_.size() * spacing);  // for whoever gets these addresses next
#endif
  munmap(stacks_, most_fibres * spacing);
}

// The two sides of a switch tell the sanitizers which stack comes next and that it has arrived.
void Fibres::enter(unsigned number) {
  One& f = *all_[number];
  running_ = number;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&home_fake_, f.stack, f.size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(f.tsan, 0);
#endif
  f.context = std::move(f.context).resume();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(home_fake_, nullptr, nullptr);
#endif
}

void Fibres::leave([[maybe_unused]] One& f, [[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  // Also for good the fake stack is kept: the frames of the fibre's function lie on it until it has returned.
  __sanitizer_start_switch_fiber(&f.fake, home_stack_, home_size_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(home_tsan_, 0);
#endif
  if (for_good) return;  // the fibre's function returns, which is the switch
  home_ = std::move(home_).resume();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(f.fake, &home_stack_, &home_size_);
#endif
}

unsigned Fibres::start() {
  if (idle_.empty()) {
    if (all_.size() == most_fibres) throw std::bad_alloc();  // some were lost, and nobody has made others
    auto number = static_cast<unsigned>(all_.size());
    char* low = stacks_ + number * spacing;
    mprotect(low, guard_bytes, PROT_NONE);
    auto f = std::make_unique<One>();
    f->stack = low + guard_bytes;
    f->size = stack_bytes - number % 32 * 128;
#if defined(__SANITIZE_THREAD__)
    f->tsan = __tsan_create_fiber(0);
#endif
    bc::stack_context place;
    place.size = f->size;
    place.sp = low + guard_bytes + f->size;
    One* self = f.get();
    // The constructor itself enters the new stack for a moment; AddressSanitizer must know, or the first frame there
    // comes to lie on the fake stack of the one that called. ThreadSanitizer keeps no stacks.
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(f->stack, stack_bytes);  // whoever had these addresses before may have left marks
    __sanitizer_start_switch_fiber(&home_fake_, f->stack, f->size);
#endif
    f->context = bc::fiber(std::allocator_arg, bc::preallocated(place.sp, place.size, place), NoAllocator{},
                           [this, self, number](bc::fiber&& home) {
#if defined(__SANITIZE_ADDRESS__)
                             __sanitizer_finish_switch_fiber(nullptr, &home_stack_, &home_size_);
#endif
                             home_ = std::move(home);
                             while (!quit_) {
                               body_();
                               idle_.push_back(number);
                               leave(*self, false);
                             }
                             leave(*self, true);
                             return std::move(home_);
                           });
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(home_fake_, &home_stack_, &home_size_);  // there …
    __sanitizer_start_switch_fiber(&home_fake_, home_stack_, home_size_);
    __sanitizer_finish_switch_fiber(home_fake_, nullptr, nullptr);  // … and back
#endif
    all_.push_back(std::move(f));
    idle_.push_back(number);
  }
  unsigned number = idle_.back();
  idle_.pop_back();
  enter(number);
  return number;
}

void Fibres::lose() {
  One& f = *all_[running_];
  f.lost = any_lost_ = true;
  leave(f, false);
  std::abort();  // nobody resumes it
}

bool Fibres::contains(const void* p) const {
  return static_cast<size_t>(static_cast<const char*>(p) - stacks_) < most_fibres * spacing;
}

void Fibres::resume(unsigned fibre) { enter(fibre); }

void Fibres::suspend() { leave(*all_[running_], false); }

}  // namespace convscope::simt
