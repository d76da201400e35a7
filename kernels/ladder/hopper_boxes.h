// How hopper_3xtf32's sums leave where the copy engine can write them: a warp puts its 32 positions of all channels
// into shared memory, one thread orders the boxes to be written, and the products go on.
//
// Worth it where products take longer than the memory (#74 in 3×TF32: 0.74 ms instead of 0.91); where the memory is the
// limit the engine is slower than whole sectors (#74 in TF32: 0.52 instead of 0.50), as it writes rows of 128 bytes.
// The address that it begins to write at must be one of 16 bytes (else: illegal instruction; the guide asks it of the
// tensor only). What lies behind a row's end it leaves out.
// Source: PTX ISA 9.0, "cp.async.bulk.tensor" and "Swizzling modes".
#pragma once
#include "hopper_results.h"

constexpr int box_positions = 32;  // outputs of a box: 128 bytes, as wide as the swizzle

// A box in shared memory, the channels t, t + 4, … of a lane: a row of 128 bytes each. Boxes of neighbouring t begin
// two rows apart in the swizzle's pattern of eight, so that the eight lanes that store at once use all 32 banks.
constexpr int box_words_more = 64;

#if defined(CONVSCOPE_HAS_HOPPER)

// Of a warp's first output: in its row; channels of a lane before it, in its group.
struct BoxPlace {
  int position, channel, group, sequence;
};

// Sums of a layer of stride 1, complete (finish()). staging: the warp's, on 1024 bytes.
template <int columns>
__device__ __forceinline__ void results_boxes(const float (&d)[2][columns], const TensorMap& map, float* staging,
                                              const BoxPlace& at, int g, int t) {
  constexpr int lane_channels = columns / 2, words = lane_channels * box_positions + box_words_more;
  bool first = threadIdx.x % 32 == 0;
  if (first) boxes_read();
  __syncwarp();
  float* to = staging + t * words;
  int piece[8];  // the swizzle: pieces of 16 bytes are exchanged by their row's number
#pragma unroll
  for (int i = 0; i < 8; i++) piece[i] = (g ^ ((i + 2 * t) & 7)) * 4;
#pragma unroll
  for (int channel = 0; channel < lane_channels; channel++) {
    float v[4];
    quad_of<1, 1>(v, d, channel, 0, nullptr, 0);
    *reinterpret_cast<float4*>(to + channel * 32 + piece[channel % 8]) = make_float4(v[0], v[1], v[2], v[3]);
  }
  shared_stores_seen();
  __syncwarp();
  if (!first) return;
  uint32_t from = shared_address(staging);
#pragma unroll
  for (int row = 0; row < 4; row++)
    write_box(map, from + row * words * 4, {at.position, row, at.channel, at.group, at.sequence});
  boxes_ordered();
}
#endif
