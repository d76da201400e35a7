#include "kernels/runtime/compile/streams.h"

#include <algorithm>
#include <atomic>

namespace convscope::host {
namespace {
// Multiples of 4; the bit of 2 says that a stream is not a blocking one.
constexpr uintptr_t step = 4, not_blocking = 2;
std::atomic<uintptr_t> last_handle = 64;
}  // namespace

uintptr_t new_stream(bool blocking) { return (last_handle += step) + (blocking ? 0 : not_blocking); }
uintptr_t new_event() { return last_handle += step; }

void Streams::join(Clocks& to, const Clocks& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); i++) to[i] = std::max(to[i], from[i]);
}

size_t Streams::number_of(uintptr_t stream) {
  if (stream <= 1) return 0;
  const auto [it, is_new] = numbers_.try_emplace(stream, streams_.size());
  if (is_new) streams_.push_back({stream == 2 || !(stream & not_blocking), {}, 0});
  return it->second;
}

Streams::Clocks& Streams::reached(size_t stream) {
  Clocks& c = streams_[stream].clocks;
  join(c, host_);
  if (stream == 0) {
    for (const Stream& s : streams_)
      if (s.blocking) join(c, s.clocks);
  } else if (streams_[stream].blocking) {
    join(c, streams_[0].clocks);
  }
  return c;
}

void Streams::launch(uintptr_t stream) {
  const size_t s = number_of(stream);
  Clocks& c = reached(s);
  launches_.push_back({s, ++streams_[s].launches, c});
  if (c.size() <= s) c.resize(s + 1);
  c[s] = streams_[s].launches;
}

void Streams::record(uintptr_t event, uintptr_t stream) { events_[event] = reached(number_of(stream)); }

void Streams::wait_event(uintptr_t stream, uintptr_t event) {
  if (const auto it = events_.find(event); it != events_.end()) join(streams_[number_of(stream)].clocks, it->second);
}

void Streams::synchronize(uintptr_t stream) { join(host_, reached(number_of(stream))); }

void Streams::synchronize_event(uintptr_t event) {
  if (const auto it = events_.find(event); it != events_.end()) join(host_, it->second);
}

void Streams::synchronize_all() {
  for (const Stream& s : streams_) join(host_, s.clocks);
}

std::vector<uint32_t> Streams::beside(size_t launch) const {
  std::vector<uint32_t> all;
  for (size_t i = 0; i < launch; i++)
    if (!holds(launches_[launch].before, launches_[i])) all.push_back(static_cast<uint32_t>(i));
  return all;
}

bool Streams::ended_for(uintptr_t stream, size_t launch) {
  return holds(reached(number_of(stream)), launches_[launch]);
}

}  // namespace convscope::host
