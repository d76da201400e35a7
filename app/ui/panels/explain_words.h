// An explanation and a trace as the words and sums that the panel shows: made once for each, not each frame.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/ui/panels/explain_picture.h"

namespace convscope::ui {

struct TapWords {
  int64_t k = 0;
  TapState state = TapState::idle;
  std::string name, formula, note;
  std::string expected, expected_sum, kernel, kernel_sum;  // which input, and what it adds
  double expected_so_far = 0;                              // bias and all taps up to this one
  std::optional<double> kernel_so_far;                     // the same of what the kernel reads, while that is known
};

struct ExplainWords {
  uint64_t serial = 0;  // a new one for each explanation
  std::string place, got, expected, error, sentence, forward, inverse, expected_total, kernel_total, check;
  std::string bias_name, bias, kernel_bias;  // bias: "" when there is none
  std::vector<std::string> notes;            // as sentences
  std::vector<int> order;                    // of taps: those worth showing
  std::vector<TapWords> taps;                // in that order
  size_t idle = 0;                           // how many were left out: no tap, and none taken
  bool differs = false;
};
ExplainWords words_of(const Explained& e);
std::string csv_of(const Explained& e);

struct TraceWords {
  std::vector<std::string> writers;
  struct Stray {  // a line that reads for it what does not belong
    std::string place, words, file;
    int line = 0;
    std::string from_file;  // who brought it to shared memory, where that is known
    int from_line = 0;
  };
  std::vector<Stray> strays;
  std::string reads, outside, file;  // outside: reads beyond a tensor's ends, "" when there are none
  int line = 0;                      // that wrote it; 0: unknown
};
TraceWords words_of(const Traced& t, const Report& r);
// What a read is of: "x", "unset shared memory".
std::string read_name(char tensor);

std::string signed_text(double v);

}  // namespace convscope::ui
