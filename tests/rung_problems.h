// Problems on which depthwise and mma_16bit take all their forms and ways of reading and writing, for the emulator and
// for a GPU.
#pragma once
#include "kernels/problem/conv_problem.h"

namespace convscope::test {

struct RungCase {
  const char* what;
  int64_t n, cin, cout, k, l, s, p, op, d, g;
  const char* form = "";  // what the main launch's name ends with

  ConvProblem problem(DType type, bool bias) const {
    ConvProblem q;
    q.batch = n, q.in_channels = cin, q.out_channels = cout, q.kernel_size = k, q.length = l, q.stride = s;
    q.padding = p, q.output_padding = op, q.dilation = d, q.groups = g, q.bias = bias, q.dtype = type;
    return q;
  }
};

// Some are larger than 1056 · 128 outputs, so that they leave by 16 bytes.
inline const RungCase depthwise_cases[] = {
    {"K 1, stride 3: random layer 171", 3, 16, 16, 1, 1000, 3, 0, 2, 1, 16, "_1"},
    {"K 1, stride 10: random layer 119", 1, 10, 10, 1, 1500, 10, 0, 5, 1, 10, "_1"},
    {"K 1, stride 1", 2, 24, 24, 1, 3001, 1, 0, 0, 1, 24, "_1"},
    {"K below the stride, padded", 2, 33, 33, 3, 333, 7, 2, 6, 1, 33, "_1"},
    {"gcd 5: four of five outputs are empty", 1, 9, 9, 4, 1601, 10, 7, 3, 5, 9, "_4"},
    {"gcd = stride", 2, 20, 20, 3, 1100, 4, 1, 0, 8, 20, "_4"},
    {"upsampling by 2, K 4", 3, 31, 31, 4, 801, 2, 1, 0, 1, 31, "_4"},
    {"anti-aliased upsampling, K 12", 2, 40, 40, 12, 902, 2, 5, 1, 1, 40, "_8"},
    {"K 8, dilated", 1, 64, 64, 8, 2301, 1, 9, 0, 3, 64, "_8"},
    {"period 3, dilation 2", 2, 17, 17, 20, 1403, 3, 11, 2, 2, 17, "_8"},
    {"depth multiplier 3", 2, 8, 24, 5, 1501, 2, 2, 1, 1, 8, "_4"},
    {"many taps", 1, 70, 70, 25, 2003, 1, 12, 0, 1, 70, "_any"},
    {"two channels of a group", 2, 40, 40, 5, 901, 2, 2, 1, 1, 20, "_any"},
    {"all channels", 2, 3, 40, 7, 871, 2, 3, 1, 1, 1, "_any"},
    {"stride beyond a block", 1, 5, 5, 3, 60, 521, 0, 99, 1, 5, "_1"},
    {"taps beyond the input", 1, 3, 3, 200, 300, 2, 37, 1, 500, 3, "_any"},
    {"rows shorter than a block", 400, 24, 24, 2, 9, 2, 0, 0, 1, 24, "_1"},
    {"rows of one output", 46000, 3, 3, 1, 1, 1, 0, 0, 1, 3, "_1"},
    {"all padding but the middle", 600, 16, 16, 9, 12, 2, 8, 1, 1, 16, "_8"},
    {"small, K 22: random layer 146", 1, 1, 1, 22, 162, 2, 32, 3, 5, 1, "_single"},
    {"one output", 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, "_single"},
    {"small, all channels, groups", 2, 24, 36, 6, 100, 3, 4, 2, 2, 12, "_single"},
};

inline const RungCase mma_16bit_cases[] = {
    {"two tiles of channels and positions", 1, 37, 70, 3, 300, 1, 0, 0, 1, 1},
    {"rows on 8 bytes, even rows of y", 2, 32, 64, 5, 520, 1, 2, 0, 1, 1},
    {"odd rows of y", 2, 16, 20, 4, 259, 1, 1, 0, 1, 1},
    {"more taps than a stage", 1, 40, 33, 13, 280, 1, 6, 0, 1, 1},
    {"taps one a stage: the halo is full", 1, 20, 16, 4, 700, 1, 3, 0, 130, 1},
    {"dilated as #74", 1, 32, 64, 5, 260, 1, 0, 0, 3, 1},
    {"structural zeros as #79", 1, 32, 64, 3, 268, 2, 1, 0, 2, 1},
    {"upsampling by 4", 1, 24, 40, 8, 131, 4, 2, 1, 1, 1},
    {"stride 8, K 16", 2, 48, 17, 16, 77, 8, 4, 0, 1, 1},
    {"groups of 5 and 3", 2, 20, 12, 3, 90, 2, 1, 1, 1, 4},
    {"one channel of each", 3, 1, 1, 9, 300, 1, 4, 0, 1, 1},
    {"K below the stride", 1, 18, 9, 2, 64, 5, 0, 4, 1, 1},
};

}  // namespace convscope::test
