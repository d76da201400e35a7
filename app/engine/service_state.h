// What a Service holds between requests. Only for the files of Service.
#pragma once
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/engine/codec.h"
#include "app/engine/service.h"
#include "kernels/planner/planner.h"
#include "kernels/verify/judge.h"
#include "profiling/profile/live.h"

namespace convscope {

// A word, or "" when it is not given. Errors: InputError.
std::string text_of(const nlohmann::json& request, const char* field);

// The result a client can ask tiles of: everything here is immutable.
struct KeptResult {
  std::string key;
  std::shared_ptr<const ResultTensors> tensors;
  std::shared_ptr<const Pyramid> pyramid;
  std::shared_ptr<const Inputs> inputs;
  ConvProblem problem;
  InputSpec spec;  // of the inputs
  int64_t own_length = 0;
  std::shared_ptr<const ResultTensors> reference;  // whose output stands in the oracle's place; null: the oracle does
};

// What was asked for beside the kept result: another's output, and the difference of the two.
struct KeptBeside {
  std::shared_ptr<const KeptResult> output, difference;
};

// Requests that are answered at once. A run lets those for its first pictures pass before it goes on and takes their
// cores.
class QuickLooks {
 public:
  class Now {  // while one is being answered
   public:
    explicit Now(QuickLooks& of);
    ~Now();
    Now(const Now&) = delete;

   private:
    QuickLooks& of_;
  };
  // Returns when those that came have been answered and no other follows; soon when none comes, or on a cancel.
  void let_pass(const Activity& activity);

 private:
  std::mutex mutex_;
  int running_ = 0;
  uint64_t answered_ = 0;
  std::chrono::steady_clock::time_point last_;  // when one was answered
};

struct Service::State {
  struct Opened {
    std::unique_ptr<Device> device;
    std::vector<std::unique_ptr<Reference>> references;
    std::unique_ptr<Judge> judge;
  };
  std::map<std::string, Opened> devices;  // used by heavy requests only
  std::unique_ptr<LiveProfile> live;      // of the last `live` request, and what it was asked for; goes before devices
  std::string live_key;
  struct Drawn {
    ConvProblem problem;
    InputSpec spec;
    std::shared_ptr<const Inputs> inputs;
  } drawn;                   // of the last `draw`, until `samples` takes it
  std::future<void> ending;  // of an engine that sampled: until it has ended, it holds the GPU's memory
  bool profiled = false;     // CUPTI may hold counters of their contexts
  std::mutex mutex;          // of `kept` and `beside`
  std::shared_ptr<const KeptResult> kept;
  KeptBeside beside;

  QuickLooks looks;
  Planner planner;  // used by heavy requests only

  Opened& open(const std::string& name);
  std::shared_ptr<const KeptResult> result(const nlohmann::json& request);
};

// FNV-1a (Fowler, Noll & Vo) over all that decides a result.
std::string key_of(const RunRequest& r, const std::string& device);
// What to judge and on what. Errors: InputError.
RunSpec run_spec_of(const RunRequest& r);
// Of all finite elements: what colours shall span.
void add_ranges(nlohmann::json& j, const Pyramid& pyramid, const ResultTensors& tensors);

}  // namespace convscope
