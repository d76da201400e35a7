// The accuracy of the rungs that make f32 products of three TF32 ones, held against multiply-adds in f32 (registers):
// on the emulator and on a GPU, by the same problems and the same measure.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "tests/convolution.h"

namespace convscope::test {

// How many times the error of multiply-adds a 3xtf32 rung may have, at most and in the mean.
inline constexpr double accuracy_factor = 4;
inline constexpr const char* three_tf32_rungs[] = {"mma_3xtf32",   "hopper_3xtf32", "stream_3xtf32", "columns_3xtf32",
                                                   "hopper_3xf16", "stream_3xf16",  "ordered_3xf16"};
inline constexpr const char* tf32_rungs[] = {"mma_tf32",     "hopper_tf32",  "stream_tf32",  "columns_tf32",
                                             "hopper_1xf16", "stream_1xf16", "ordered_1xf16"};

// Few channels, many of them, sums of 5120 products, many taps with stride and dilation, groups.
inline std::vector<ConvProblem> accuracy_problems() {
  return {{.batch = 2, .in_channels = 4, .out_channels = 8, .kernel_size = 3, .length = 400, .stride = 2, .bias = true},
          {.in_channels = 128, .out_channels = 64, .kernel_size = 4, .length = 120, .stride = 2, .padding = 1},
          {.in_channels = 1024, .out_channels = 16, .kernel_size = 5, .length = 64},
          {.in_channels = 16, .out_channels = 24, .kernel_size = 11, .length = 200, .stride = 3, .dilation = 2},
          {.batch = 2, .in_channels = 48, .out_channels = 32, .kernel_size = 3, .length = 128, .groups = 2}};
}

struct Errors {
  double largest = 0, rms = 0;  // absolute, over all elements
};
inline Errors errors_of(const Expected& expected, const HostTensor& got) {
  Errors out;
  double squares = 0;
  for (size_t i = 0; i < expected.y.size(); i++) {
    double error = std::fabs(got.at(static_cast<int64_t>(i)) - static_cast<double>(expected.y[i]));
    if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
    out.largest = std::max(out.largest, error), squares += error * error;
  }
  out.rms = std::sqrt(squares / static_cast<double>(expected.y.size()));
  return out;
}

}  // namespace convscope::test
