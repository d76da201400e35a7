// Where warps were found, and why they were not issuing: what PC sampling says of the kernels that ran.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/base/gap.h"
#include "profiling/metrics/stall_reasons.h"

namespace convscope {

// A place in the source, from the line table of the device code: of code that was put in from elsewhere, the innermost.
struct SourcePlace {
  std::string file;  // as the compiler was given it; "": not known
  int line = 0;      // from 1; 0: not known
};

// Samples by the reasons' short names.
using StallSamples = std::map<std::string, uint64_t, std::less<>>;

// One instruction of a kernel.
struct PcInstruction {
  uint64_t offset = 0;   // bytes from the function's begin
  uint64_t samples = 0;  // of all reasons; those of `not_issued` are among them
  StallSamples reasons, not_issued;
  SourcePlace at;
};
struct PcFunction {
  std::string name;
  uint64_t cubin_crc = 0;
  uint64_t samples = 0;
  std::vector<PcInstruction> instructions;  // by offset
  std::string no_lines;                     // why places are not known
  // Which of SamplingOptions::cubins it is in; none of them: what follows is not known.
  std::optional<size_t> cubin = {};
  uint64_t code_bytes = 0;     // of its machine code, and hash_of() that: put in by sample_pcs() of profiling/profile
  std::string code_hash = {};  // 16 hexadecimal digits
};
struct PcLine {
  SourcePlace at;
  uint64_t samples = 0;
  StallSamples reasons;
};

struct PcSamples {
  std::vector<StallReason> reasons;   // all that this GPU tells apart, without the parts
  std::vector<PcFunction> functions;  // the one with most samples first
  uint64_t samples = 0;               // of the functions
  uint64_t total = 0, dropped = 0;    // as CUPTI counts: also those that were dropped, and the next
  uint64_t unknown = 0;               // of kernels that CUPTI does not know
  uint64_t period_cycles = 0;         // a multiprocessor is looked at this often
  int calls = 0;                      // of the work
  double spent_ms = 0;                // host time
  bool buffer_full = false;           // the hardware's buffer: samples were lost
  Gap gap;                            // why there is nothing

  std::vector<PcLine> lines() const;  // most samples first; one without a place for what has none
  StallSamples by_reason() const;
};

struct SamplingOptions {
  uint64_t enough = 50000;   // samples
  double time_cap_ms = 400;  // no further call is begun after it
  double call_ms = 0;        // of a call, about; 0: unknown
  int multiprocessors = 0;   // of the device; 0: unknown
  double clock_mhz = 0;      // of a multiprocessor, about; 0: unknown
  // Device code that may have run: line tables are looked for here.
  std::vector<std::string_view> cubins;
};

}  // namespace convscope
