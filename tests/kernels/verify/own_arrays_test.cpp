#include "kernels/verify/own_arrays.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

constexpr const char* text = R"(__constant__ float taps[8];
__global__ void up(const float* x, float* y, int K) {
  __shared__ float tile[4][33];
  float wl[4], rows[2][4];  // float other[4]
  int at = 0; int last[2] = {0, 0};
  for (int q = 0; q < K; q++) wl[q] = x[q];
  tile[0][threadIdx.x] = wl[at];
  rows[0][K] = taps[K];
  wl[last[K]] += 1;
  for (int q = 0; q < K; q++) wl[q] = x[q] * (K ? wl[at] : x[0]);
}
)";

std::string said(int line, const char* type = "'float [4]'", int64_t index = 4) {
  return beyond_words({"dir/up.cu", type, line, index, 2, 7}, text);
}

TEST(OwnArrays, AreNamed) {
  EXPECT_EQ(said(6),
            "reaches element 4 of wl, which has 4, at up.cu:6, thread 7 of block 2: another variable lies there");
  EXPECT_EQ(said(6, "'float [4]'", -1).substr(0, 39), "reaches element -1 of wl, which has 4, ");
  EXPECT_NE(said(10).find(" of wl, which has 4"), std::string::npos) << "x is no array";
  EXPECT_NE(said(9).find("of an array of its own, which has 4"), std::string::npos) << "wl or last";
}

TEST(OwnArrays, OfOthersNothingIsSaid) {
  EXPECT_EQ(said(7), "") << "shared memory";
  EXPECT_EQ(said(8), "") << "rows lie one behind the other";
  EXPECT_EQ(said(2), "") << "x is no array";
  EXPECT_EQ(said(6, "'float []'"), "");
  EXPECT_EQ(said(99), "");
}

}  // namespace
}  // namespace convscope
