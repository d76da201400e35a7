// Stacks and switches of a block's threads. All fibres of one Fibres object belong to the OS thread that made it.
#pragma once
#include <boost/context/fiber.hpp>
#include <functional>
#include <memory>
#include <vector>

namespace convscope::simt {

class Fibres {
 public:
  // body(): what a fibre does each time it is taken from the idle ones; it must not let an exception out.
  explicit Fibres(std::function<void()> body);
  ~Fibres();  // all must be idle, or lost
  Fibres(const Fibres&) = delete;

  // Runs an idle fibre (made when there is none) until it suspends or its body returns. Returns its number.
  unsigned start();
  // Lets a suspended fibre go on.
  void resume(unsigned fibre);
  // On a fibre: back to whoever started or resumed it.
  void suspend();
  // On a fibre: back for ever. Its stack stays as it is and is not used again: for code that no exception may pass.
  [[noreturn]] void lose();
  bool any_lost() const { return any_lost_; }
  unsigned running() const { return running_; }
  bool contains(const void* p) const;  // does p lie on one of the stacks?

 private:
  struct One;
  void enter(unsigned fibre);
  void leave(One& fibre, bool for_good);

  std::function<void()> body_;
  char* stacks_ = nullptr;
  std::vector<std::unique_ptr<One>> all_;
  std::vector<unsigned> idle_;
  boost::context::fiber home_;
  unsigned running_ = 0;
  bool quit_ = false, any_lost_ = false;
  // For the sanitizers: the stack and identity of the OS thread itself.
  const void* home_stack_ = nullptr;
  size_t home_size_ = 0;
  void* home_fake_ = nullptr;
  void* home_tsan_ = nullptr;
};

}  // namespace convscope::simt
