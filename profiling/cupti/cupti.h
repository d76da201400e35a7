// CUPTI, opened at run time: records of the kernels that ran, hardware counters of a piece of work, samples of where
// its warps were and of what the chip did meanwhile.
//
// Nothing here needs CUPTI's headers; a build without them has the same interface, which then says what is missing
// (none.cpp). All calls come from one thread, the one that uses the GPU.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "profiling/base/gap.h"
#include "profiling/cupti/pc_samples.h"
#include "profiling/cupti/timeline.h"
#include "profiling/metrics/metrics.h"

namespace convscope {

// One kernel as the GPU ran it.
struct KernelRecord {
  std::string name;  // demangled
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t grid[3] = {}, block[3] = {};
  int registers = 0;  // of a thread
  int64_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  int64_t local_bytes = 0;  // of a thread
  uint32_t stream = 0;
  double ms() const { return static_cast<double>(end_ns - start_ns) / 1e6; }
};

// What was counted of a set.
struct CounterReading {
  CounterSet set = CounterSet::live;
  Counters values;                    // by our names
  std::vector<std::string> not_here;  // our names of metrics this chip does not have
  size_t passes = 0;                  // how often the work ran for it
  double spent_ms = 0;                // host time, all passes together
  Gap gap;                            // why there is nothing
};

class Cupti {
 public:
  // Where the library is looked for, in this order; empty paths are left out.
  struct Places {
    std::string named;                 // and nothing else, when it is given
    std::vector<std::string> folders;  // beside the program, the toolkit's
    bool by_name = true;               // as the system's loader finds it, and what it needs likewise
  };
  static Places
  usual_places();  // CONVSCOPE_LIBCUPTI, the program's folder and lib beside it, CUDA_HOME, /usr/local/cuda

  // The one of this process. It takes the subscriber's slot when it is first asked for, and keeps it.
  static Cupti& shared();
  explicit Cupti(const Places& places);
  ~Cupti();
  Cupti(const Cupti&) = delete;

  // What stands in the way of everything: no library, another version, the slot taken by another tool.
  const Gap& missing() const;
  std::string version() const;  // "CUPTI 130001", "" without one
  std::string path() const;     // of the library that was opened

  // Runs `work`, which must wait for its end, and returns a record of every kernel that ran meanwhile in this process.
  std::vector<KernelRecord> trace(const std::function<void()>& work, Gap& gap);

  // Are counters to be had on this device (CUcontext, CUDA's number of the device)? Asked once a context.
  Gap counters_gap(void* context, int device);
  std::string chip(void* context, int device);  // "GH100"

  // Counts a set over `work`, which is run once a pass and must wait for its end. What an earlier call prepared for the
  // same set is used again. Errors: Cancelled between passes, and what `work` throws.
  CounterReading count(void* context, int device, CounterSet set, const std::function<void()>& work,
                       Activity* activity);

  // Runs `work`, which must wait for its end, until there are enough samples of where its warps are. The counters of
  // count() are let go meanwhile: they share the hardware. CUPTI notes which modules there are when ranges or samples
  // first begin in a process, and never again: after a count(), and for kernels that are loaded after a first sampling,
  // it does not know the functions (seen with CUDA 13.0 on an H200; cuptiFinalize brings them back, and takes kernel
  // records and timelines away). So: once a process, before anything is counted, after the kernels have been loaded.
  // Errors: Cancelled between calls, and what `work` throws.
  PcSamples sample_pcs(void* context, int device, const SamplingOptions& options, const std::function<void()>& work,
                       Activity* activity);
  // What the chip did, at equal intervals while `work` ran. It is given how often to call, back to back, and waits for
  // the end. Errors: likewise.
  Timeline sample_timeline(void* context, int device, const TimelineOptions& options,
                           const std::function<void(int calls)>& work, Activity* activity);
  // The places that instructions of a function come from, one for each offset, by the line table of its cubin. Needs
  // the library, no GPU and no place for a tool.
  std::vector<SourcePlace> source_places(std::string_view cubin, const std::string& function,
                                         const std::vector<uint64_t>& offsets, Gap& gap) const;

  // Lets go of the hardware's counters, for other tools; the next count() takes them again.
  void release();
  // Must be called before a context that was given to count() is destroyed.
  void forget(void* context);

  // Without a GPU, for the tests: which chips there are, and how many passes a set takes on one (0 with the names that
  // it does not have in `unknown`).
  std::vector<std::string> chips();
  size_t passes(const std::string& chip, CounterSet set, std::vector<std::string>& not_here, Gap& gap);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convscope
