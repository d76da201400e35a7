// Stacks and switches of a block's threads. All fibres of one Fibres object belong to the OS thread that made it.
#pragma once
#include <boost/context/fiber.hpp>
#include <functional>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace convscope::simt {

class Fibres {
 public:
  // body(): what a fibre does each time it is taken from the idle ones; it must not let an exception out.
  explicit Fibres(std::function<void()> body);
  ~Fibres();  // all must be idle, or lost
  Fibres(const Fibres&) = delete;

  // Runs an idle fibre (made when there is none) until a fibre suspends or the body of one returns. Returns its number.
  unsigned start();
  // Lets a suspended fibre go on, until the same.
  void resume(unsigned fibre) { enter(*all_[fibre]); }
  // On a fibre: back to where the last one was started or resumed from outside.
  void suspend() { enter(outside_); }
  // On a fibre: suspends it and lets another one go on in its place. One switch where suspend() and resume() are two.
  void pass(unsigned fibre) { enter(*all_[fibre]); }
  // On a fibre: back for ever. Its stack stays as it is and is not used again: for code that no exception may pass.
  [[noreturn]] void lose();
  bool any_lost() const { return any_lost_; }
  unsigned running() const { return here_->number; }
  bool contains(const void* p) const;  // does p lie on one of the stacks?
  // Of the fibre that runs: where the frames of what it calls begin, and whether p lies in one of them (of those that
  // called the one that asks). What is written above them harms the fibre itself.
  void frames_begin_at(const void* sp) { here_->frames = sp; }
  [[gnu::noinline]] bool in_frames(const void* p) const {
    return p >= __builtin_frame_address(0) && p < here_->frames;
  }
  bool has_room(const void* sp) const;  // and are some KiB left below it? For signal handlers.

 private:
  struct One {
    boost::context::fiber context;  // while it is not running
    unsigned number = 0;
    const void *stack = nullptr, *frames = nullptr;
    size_t size = 0;
    void* fake = nullptr;  // AddressSanitizer's fake stack while suspended
    void* tsan = nullptr;  // ThreadSanitizer's identity
    bool lost = false;
    alignas(
        boost::context::fiber) unsigned char never_ended[sizeof(boost::context::fiber)];  // the context of a lost one
  };

  // Each function between a switch and the kernel returns where the processor does not expect it: so this is inlined.
  // The two sides of a switch tell the sanitizers which stack comes next and that it has arrived.
  [[gnu::always_inline]] void enter(One& next) {
    One& self = *here_;
    from_ = &self, here_ = &next;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&self.fake, next.stack, next.size);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(next.tsan, 0);
#endif
    boost::context::fiber came = std::move(next.context).resume();
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(self.fake, nullptr, nullptr);
#endif
    from_->context = std::move(came);
  }

  std::function<void()> body_;
  char* stacks_ = nullptr;
  std::vector<std::unique_ptr<One>> all_;
  std::vector<unsigned> idle_;
  One outside_;  // the OS thread itself
  One *here_ = &outside_, *from_ = nullptr;
  bool quit_ = false, any_lost_ = false;
};

}  // namespace convscope::simt
