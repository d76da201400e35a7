// CUPTI in a build that found none of its headers.
#include <functional>

#include "profiling/cupti/cupti.h"

namespace convscope {

struct Cupti::State {
  Gap missing{"not-built", "this build has no CUPTI: its headers were not found when it was built",
              "install the CUDA Toolkit 13 with CUPTI and build again"};
};

Cupti::Places Cupti::usual_places() { return {}; }
Cupti& Cupti::shared() {
  static Cupti cupti{Places{}};
  return cupti;
}
Cupti::Cupti(const Places&) : state_(std::make_unique<State>()) {}
Cupti::~Cupti() = default;
const Gap& Cupti::missing() const { return state_->missing; }
std::string Cupti::version() const { return ""; }
std::string Cupti::path() const { return ""; }
std::vector<KernelRecord> Cupti::trace(const std::function<void()>& work, Gap& gap) {
  work();
  gap = missing();
  return {};
}
Gap Cupti::counters_gap(void*, int) { return missing(); }
std::string Cupti::chip(void*, int) { return ""; }
CounterReading Cupti::count(void*, int, CounterSet set, const std::function<void()>&, Activity*) {
  CounterReading r;
  r.set = set;
  r.gap = missing();
  return r;
}
PcSamples Cupti::sample_pcs(void*, int, const SamplingOptions&, const std::function<void()>&, Activity*) {
  PcSamples s;
  s.gap = missing();
  return s;
}
Timeline Cupti::sample_timeline(void*, int, const TimelineOptions&, const std::function<void(int)>&, Activity*) {
  Timeline t;
  t.gap = missing();
  return t;
}
std::vector<SourcePlace> Cupti::source_places(std::string_view, const std::string&, const std::vector<uint64_t>&,
                                              Gap& gap) const {
  gap = missing();
  return {};
}
void Cupti::release() {}
void Cupti::forget(void*) {}
std::vector<std::string> Cupti::chips() { return {}; }
size_t Cupti::passes(const std::string&, CounterSet, std::vector<std::string>&, Gap& gap) {
  gap = missing();
  return 0;
}

}  // namespace convscope
