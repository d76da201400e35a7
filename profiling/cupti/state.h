// What a Cupti holds. Only for the files of this folder.
#pragma once
#include <functional>
#include <map>

#include "profiling/cupti/library.h"

namespace convscope::cupti {

// A Host object: names metrics for a chip and evaluates what was counted.
class Host {
 public:
  // `availability`: the counters of a context; empty: all that the chip has. Errors: `result`.
  Host(const Library& library, const std::string& chip, const std::vector<uint8_t>& availability,
       CUpti_ProfilerType kind = CUPTI_PROFILER_TYPE_RANGE_PROFILER);
  ~Host();
  Host(const Host&) = delete;
  CUptiResult add(const std::vector<const char*>& metrics);
  CUptiResult config(std::vector<uint8_t>& image);                         // of the metrics that were added
  CUptiResult passes(const std::vector<uint8_t>& config, size_t& passes);  // that the configuration takes
  // `index` of a range or a sample.
  CUptiResult evaluate(const std::vector<uint8_t>& data, const std::vector<const char*>& metrics,
                       std::vector<double>& values, size_t index = 0);
  CUptiResult result = CUPTI_SUCCESS;  // of making it

 private:
  const Library& l_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

// A set as one chip counts it.
struct Prepared {
  std::vector<const char*> ours, theirs;  // names, side by side
  std::vector<std::string> not_here;
  std::vector<uint8_t> config;
  size_t passes = 0;
  Gap gap;
};
Prepared prepare(const Library& library, const std::string& chip, const std::vector<uint8_t>& availability,
                 CounterSet set);

// The counters of a context while they are ours, set up for one set.
class RangeSession {
 public:
  RangeSession(const Library& library, CUcontext context, const Prepared& prepared);
  ~RangeSession();
  RangeSession(const RangeSession&) = delete;
  // Runs `work` once a pass. `broken` afterwards: make another session.
  Gap collect(const std::function<void()>& work, Activity* activity, size_t& passes);
  bool broken = false;
  Gap gap;  // of making it
  const std::vector<uint8_t>& data() const { return data_; }

 private:
  CUptiResult configure();
  void one_pass(const std::function<void()>& work, CUptiResult& result, bool& all_done);
  const Library& l_;
  const Prepared& prepared_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<uint8_t> data_;
  bool configured_ = false;
};

// Does the device have what `api` asks for? `what` goes into the sentence: "PC sampling".
Gap supported(const Library& library, int device, CUpti_Profiler_API api, const std::string& what);

std::vector<SourcePlace> places_of(const Library& library, std::string_view cubin, const std::string& function,
                                   const std::vector<uint64_t>& offsets, Gap& gap);
uint64_t crc_of(const Library& library, std::string_view cubin);  // 0: unknown

}  // namespace convscope::cupti

namespace convscope {

struct Cupti::State {
  struct Context {
    Gap gap;
    std::string chip;
    std::vector<uint8_t> availability;
    std::map<CounterSet, std::unique_ptr<cupti::Prepared>> prepared;
    std::map<CounterSet, std::unique_ptr<cupti::Host>> hosts;
  };
  Context& context(void* context, int device);

  cupti::Library library;
  Gap missing;
  CUpti_SubscriberHandle subscriber = nullptr;
  bool recording_registered = false;
  std::map<void*, Context> contexts;
  // One at a time: they share the hardware.
  std::unique_ptr<cupti::RangeSession> session;
  std::pair<void*, CounterSet> session_of{nullptr, CounterSet::live};
};

}  // namespace convscope
