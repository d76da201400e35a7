// What a kernel reads for one output element, found out from outside: by inputs that are zero but for what is asked
// about.
//
// The operator is bilinear, so with w one-hot at tap k, the output spells out which inputs reach it through that tap:
// x = 1 gives how many, and x[i] = 2·i + 1 gives which, in digits where the type does not hold all of i (f32 up to
// 2^24, f16 2^11, bf16 2^8). Works for any kernel on any device.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/problem/inputs.h"
#include "kernels/runtime/device.h"

namespace convscope {

struct TapRead {
  int64_t k = 0;
  std::optional<int64_t> expected_i;  // (j + p − k·d)/s when that is whole and inside
  double count = 0;  // inputs of one channel that the kernel took through this tap; not whole: see `strange`
  std::optional<int64_t> read_i;   // which one, when it is one
  double expected_sum = 0;         // Σ over the group's channels of x·w, on the requested inputs
  std::optional<double> read_sum;  // the same with read_i
  std::optional<int64_t> beside;   // the input outside of its row that it goes on to
  std::string strange;             // when the answer fits no simple reading
};

// Values that stand beside each other in a row, from position `first` on.
struct Stretch {
  int64_t first = 0;
  std::vector<double> values;
};

struct Explanation {
  int64_t n = 0, co = 0, j = 0;
  double got = 0, expected = 0;
  std::vector<TapRead> taps;  // every tap, or those near the expected ones when there are more than 128
  bool all_taps = true;
  int64_t first_channel = 0, channels = 0;                       // input channels that should contribute
  std::string channel_note, weight_note, batch_note, bias_note;  // "" when as expected
  std::optional<double> read_total;  // read_bias + Σ read_sum: equals `got` when the picture is complete
  double bias = 0;                   // that belongs here
  std::optional<double> read_bias;   // that the kernel adds; nothing when it is no single one
  // Around its taps: x[n, first_channel, …], where that is the group's only channel, and what the kernel made of
  // y[n, co, …]. Empty where the taps lie too far apart.
  Stretch near_x, near_y;
  int launches = 0;
};

// Errors: InputError when n, co or j is outside the output, or the kernel does not take the problem; KernelFault;
// DeviceError.
Explanation explain(Device& device, const KernelDefinition& kernel, const ConvProblem& p, const InputSpec& inputs,
                    int64_t n, int64_t co, int64_t j, Activity& activity);

// "i = (10 + 1 − 0·2)/2 = 5.5 is no whole number" — the formula of one tap with its numbers.
std::string tap_formula(const ConvProblem& p, int64_t j, int64_t k);

}  // namespace convscope
