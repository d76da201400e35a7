// What orders the launches of a call that uses several streams, as CUDA does: launches of one stream, events, the host
// that waits, and the default stream, before and behind which all blocking streams stand (CUDA C++ Programming Guide,
// "Asynchronous Concurrent Execution"; the runtime API's "Stream synchronization behavior"). Vector clocks, as for
// threads (kernels/verify/races.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace convscope::host {

// Handles are the values of cudaStream_t and cudaEvent_t: a stream is the default one (0, 1), the thread's (2), or of
// new_stream(). Any other is taken for a blocking one.
uintptr_t new_stream(bool blocking);
uintptr_t new_event();

class Streams {
 public:
  void launch(uintptr_t stream);
  void record(uintptr_t event, uintptr_t stream);
  void wait_event(uintptr_t stream, uintptr_t event);
  // The host waits: for a stream, an event, all.
  void synchronize(uintptr_t stream);
  void synchronize_event(uintptr_t event);
  void synchronize_all();

  size_t launches() const { return launches_.size(); }
  // Whether it comes behind what its caller had put on the default stream: what made x.
  bool follows_caller(size_t launch) const { return holds(launches_[launch].before, {0, 1, {}}); }
  // Of a launch, those before it that nothing orders before it.
  std::vector<uint32_t> beside(size_t launch) const;
  // Whether what follows on a stream follows a launch.
  bool ended_for(uintptr_t stream, size_t launch);

 private:
  using Clocks = std::vector<uint32_t>;  // of each stream, how many of its launches are over
  struct Launch {
    size_t stream;
    uint32_t number;  // in its stream, from 1
    Clocks before;
  };
  size_t number_of(uintptr_t stream);
  Clocks& reached(size_t stream);  // what the next work on it follows
  static void join(Clocks& to, const Clocks& from);
  static bool holds(const Clocks& c, const Launch& l) { return l.stream < c.size() && c[l.stream] >= l.number; }

  struct Stream {
    bool blocking;
    Clocks clocks;
    uint32_t launches = 0;
  };
  std::map<uintptr_t, size_t> numbers_;
  std::vector<Stream> streams_{{true, {1}, 1}};  // the first is the default one, with what its caller did
  std::map<uintptr_t, Clocks> events_;           // recorded in this call
  Clocks host_;
  std::vector<Launch> launches_;
};

}  // namespace convscope::host
