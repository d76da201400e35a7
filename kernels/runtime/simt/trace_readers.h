// One reader of a trace for each thread that delivers it. A block's accesses are delivered by one thread, in parts;
// what threads still hold when they are done, one alone delivers for all of them, each one's rest in one part.
//
// Reader: take(Access), in_hand() (the block whose accesses came last; ~0 at the beginning).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "kernels/runtime/simt/trace.h"

namespace convscope::simt {

template <class Reader>
class TraceReaders {
 public:
  explicit TraceReaders(std::function<std::unique_ptr<Reader>()> make) : make_(std::move(make)) {}

  void take(std::span<const Access> part) {  // from any thread
    if (part.empty()) return;
    Reader* mine = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (rests_) {
        // Who has this block open goes on with it. A rest that begins with a new block is nobody's: whoever took it
        // would close the block that it has open, whose own rest may still come.
        for (const auto& one : all_)
          if (one->in_hand() == part.front().block) mine = one.get();
        if (!mine) mine = &new_one();
      } else {
        auto& slot = of_thread_[std::this_thread::get_id()];
        if (!slot) slot = &new_one();
        mine = slot;
      }
    }
    for (const auto& a : part) mine->take(a);
  }
  void only_rests_follow() { rests_ = true; }  // no other thread may be in take()
  const std::vector<std::unique_ptr<Reader>>& all() const { return all_; }

 private:
  Reader& new_one() { return *all_.emplace_back(make_()); }

  std::function<std::unique_ptr<Reader>()> make_;
  bool rests_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> all_;
  std::map<std::thread::id, Reader*> of_thread_;
};

}  // namespace convscope::simt
