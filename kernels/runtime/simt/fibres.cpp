#include "kernels/runtime/simt/fibres.h"

#include <cstdlib>
#include <functional>
#include <new>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
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

Fibres::Fibres(std::function<void()> body) : body_(std::move(body)) {
  void* p =
      mmap(nullptr, most_fibres * spacing, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<char*>(p);
#if defined(__SANITIZE_THREAD__)
  outside_.tsan = __tsan_get_current_fiber();
#endif
}

Fibres::~Fibres() {
  quit_ = true;
  for (unsigned f : idle_) enter(*all_[f]);
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

unsigned Fibres::start() {
  if (idle_.empty()) {
    if (all_.size() == most_fibres) throw std::bad_alloc();  // some were lost, and nobody has made others
    auto number = static_cast<unsigned>(all_.size());
    char* low = stacks_ + number * spacing;
    mprotect(low, guard_bytes, PROT_NONE);
    auto f = std::make_unique<One>();
    f->number = number;
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
    __sanitizer_start_switch_fiber(&outside_.fake, f->stack, f->size);
#endif
    f->context = bc::fiber(std::allocator_arg, bc::preallocated(place.sp, place.size, place), NoAllocator{},
                           [this, self](bc::fiber&& came) {
    // It is entered for the first time from outside.
#if defined(__SANITIZE_ADDRESS__)
                             __sanitizer_finish_switch_fiber(nullptr, &outside_.stack, &outside_.size);
#endif
                             from_->context = std::move(came);
                             while (!quit_) {
                               body_();
                               idle_.push_back(self->number);
                               enter(outside_);
                             }
                             // The last switch is this function's return. AddressSanitizer keeps the fake stack: the
                             // frames of the function lie on it until then.
                             from_ = self, here_ = &outside_;
#if defined(__SANITIZE_ADDRESS__)
                             __sanitizer_start_switch_fiber(&self->fake, outside_.stack, outside_.size);
#endif
#if defined(__SANITIZE_THREAD__)
                             __tsan_switch_to_fiber(outside_.tsan, 0);
#endif
                             return std::move(outside_.context);
                           });
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(outside_.fake, &outside_.stack, &outside_.size);  // there …
    __sanitizer_start_switch_fiber(&outside_.fake, outside_.stack, outside_.size);
    __sanitizer_finish_switch_fiber(outside_.fake, nullptr, nullptr);  // … and back
#endif
    all_.push_back(std::move(f));
    idle_.push_back(number);
  }
  unsigned number = idle_.back();
  idle_.pop_back();
  enter(*all_[number]);
  return number;
}

void Fibres::lose() {
  here_->lost = any_lost_ = true;
  enter(outside_);
  std::abort();  // nobody resumes it
}

bool Fibres::has_room(const void* sp) const {
  constexpr size_t enough = 16 << 10;
  return contains(sp) && static_cast<size_t>(static_cast<const char*>(sp) - stacks_) % spacing > guard_bytes + enough;
}

bool Fibres::contains(const void* p) const {
  return static_cast<size_t>(static_cast<const char*>(p) - stacks_) < most_fibres * spacing;
}

}  // namespace convscope::simt
