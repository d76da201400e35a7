// For how long an engine has finished nothing although it could: a machine that is busy with other things makes no
// kernel hang.
#pragma once
#include <cstdint>
#include <optional>

namespace convscope {

// Of all threads of a process, since they began: on a processor, and ready for one while others had it.
struct ThreadTimes {
  double ran_s = 0, waited_s = 0;
};
// Of this process (Linux, "Scheduler Statistics": /proc/…/schedstat); nothing where the system does not count them.
std::optional<ThreadTimes> thread_times();

class Stillness {
 public:
  // Seconds since a beat was first seen, where time counts as little as this process had of the processors it was ready
  // for; but never less than an eighth, so that what hangs is told on any machine. To be asked some times a second:
  // longer gaps count as `longest_gap_s`, since then nobody here had a processor. A new request begins anew.
  static constexpr double least_share = 1.0 / 8, longest_gap_s = 0.5;
  double at(uint64_t request, uint64_t beat, double now_s, const std::optional<ThreadTimes>& times);

 private:
  bool begun_ = false;
  uint64_t request_ = 0, beat_ = 0;
  double last_s_ = 0, still_s_ = 0;
  std::optional<ThreadTimes> before_;
};

}  // namespace convscope
