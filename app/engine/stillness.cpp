#include "app/engine/stillness.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace convscope {

std::optional<ThreadTimes> thread_times() {
  ThreadTimes all;
  bool any = false;
  std::error_code error;
  std::filesystem::directory_iterator it("/proc/self/task", error), end;
  for (; !error && it != end; it.increment(error)) {
    std::ifstream in(it->path() / "schedstat");  // a thread may have ended meanwhile
    double ran_ns = 0, waited_ns = 0;
    if (!(in >> ran_ns >> waited_ns)) continue;
    all.ran_s += ran_ns * 1e-9, all.waited_s += waited_ns * 1e-9, any = true;
  }
  return any ? std::optional(all) : std::nullopt;
}

double Stillness::at(uint64_t request, uint64_t beat, double now_s, const std::optional<ThreadTimes>& times) {
  const bool same = begun_ && request == request_ && beat == beat_;
  if (same) {
    double share = 1;
    if (times && before_) {
      // Sums go back where a thread has ended.
      const double ran = std::max(0.0, times->ran_s - before_->ran_s),
                   waited = std::max(0.0, times->waited_s - before_->waited_s);
      if (waited > 0) share = std::max(least_share, ran / (ran + waited));
    }
    still_s_ += share * std::clamp(now_s - last_s_, 0.0, longest_gap_s);
  } else {
    still_s_ = 0;
  }
  begun_ = true, request_ = request, beat_ = beat, last_s_ = now_s, before_ = times;
  return still_s_;
}

}  // namespace convscope
