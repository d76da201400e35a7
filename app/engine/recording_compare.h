// Two recordings beside each other, of two days, drivers, commits or GPUs: verdicts and times of the same questions.
//
// Times are held against each other by the rule of `bench` (profiling/statistics/compare.h), on the samples that both
// recordings kept. These were not taken in turn: whatever else differed between the two is in them, and what is known
// of it (GPU, driver, clocks) is said. A clock that was another one is a reason not to believe the times, as one that
// moves is in a `bench`: what it explains is AMBIGUOUS.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/recording.h"

namespace convscope {

// A clock while something was timed, in MHz.
struct RecordedClock {
  double least = 0, median = 0, most = 0;
};

// Times of one answer, in ms, and under which conditions they were taken.
struct RecordedTimes {
  std::string from;                             // the answer's type: profile, run
  std::vector<double> hot, cold;                // of whole plans
  std::vector<double> packed_hot, packed_cold;  // with weights packed before; empty: none were kept
  std::string source;                           // measured, emulated
  std::string device, driver, date;             // driver "": not known
  bool on_gpu = false;
  std::optional<RecordedClock> sm, memory;
  std::string slowed;  // the GPU held itself back: in its own words
};

// What a recording holds of one question: a kernel or a reference, a problem, its inputs and an accuracy.
struct RecordedFigures {
  RunRequest asked;
  bool is_reference = false;
  std::string status, sentence, verdict_date;  // status "": it was not judged
  std::string text_hash;                       // of a kernel's file; "": a kernel of the program
  std::optional<RecordedTimes> profile, run;   // without: there is no time of it
};

// In the order in which they were recorded. Errors: std::domain_error of times that are none.
std::vector<RecordedFigures> figures_of(const Recording& r);

// Where and when they were recorded: `devices`, `drivers`, `dates` (first and last), `sm_mhz` (the clocks' medians,
// from the least to the most; null: not known).
nlohmann::json origins_of(const std::vector<RecordedFigures>& figures);

// `entries` that both have, `only` those of one, `summary` and `warnings`. with_packing: whole plans are held against
// each other, also where both have times with weights packed before.
nlohmann::json recordings_compared(const Recording& then, const std::vector<RecordedFigures>& of_then,
                                   const Recording& now, const std::vector<RecordedFigures>& of_now, bool with_packing);

}  // namespace convscope
