// Problems on which Hopper's rungs take all their forms: general random ones rarely have lengths that they take, or
// channels enough for a tile.
#pragma once
#include <algorithm>
#include <iterator>
#include <vector>

#include "tests/convolution.h"

namespace convscope::test {

// May break a rule, or be refused by the kernel: ask. The same numbers on every machine.
inline ConvProblem hopper_problem(Random& r, DType dtype) {
  constexpr int64_t strides[] = {1, 2, 4, 8, 5, 10, 16};
  auto any = [&](int64_t low, int64_t high) { return between(r, low, high); };
  ConvProblem p;
  p.groups = any(0, 3) ? 1 : any(1, 3);
  p.in_channels = p.groups * any(1, any(0, 1) ? 20 : 140), p.out_channels = p.groups * any(1, any(0, 1) ? 20 : 150);
  p.batch = any(1, 3), p.length = any(0, 2) ? 4 * any(1, 500) : any(1, 2000), p.bias = any(0, 1);
  switch (any(0, 5)) {
    case 0:
      p.kernel_size = 3;
      break;
    case 1:
      p.kernel_size = 5, p.dilation = 3;
      break;
    case 2:
      p.kernel_size = 3, p.stride = p.dilation = 2;
      break;
    case 3:
      p.stride = strides[any(0, 6)], p.kernel_size = 2 * p.stride;
      break;
    default:
      p.kernel_size = any(1, 14), p.stride = any(1, 9), p.dilation = any(1, 6);
  }
  p.padding = any(0, 12), p.output_padding = any(0, std::max(p.stride, p.dilation) - 1);
  p.dtype = dtype;
  if (any(0, 3) == 0) p.batch = any(4, 13), p.length = any(1, 60);  // these share tiles
  if (any(0, 5) == 0) p.in_channels = p.groups * any(300, 1500);    // of few tiles, blocks have parts
  return p;
}

// Products of a launch with those of a tile's channels and of taps that are not there: what the emulator's time goes by.
inline double padded_products(const ConvProblem& p) {
  const int64_t channels = p.groups * ceil_div(p.out_per_group(), int64_t{128}) * 128;
  return static_cast<double>(p.batch * p.out_length() * channels) *
         static_cast<double>(p.in_per_group() * ceil_div(p.kernel_size, p.stride));
}

// For held_16bit, which takes the channels and taps it is compiled for: its i-th form, with all kinds of rows and ends.
constexpr int held_form_count = 8, held_entries = 9;  // of one form tiles are paired or not
inline ConvProblem held_problem(Random& r, int i) {
  struct Form {
    int64_t channels, kernel_size, stride, dilation;
  };
  constexpr Form forms[held_form_count] = {{128, 3, 1, 1}, {32, 5, 1, 3},  {32, 3, 2, 2}, {64, 4, 2, 1},
                                           {128, 4, 2, 1}, {192, 4, 2, 1}, {64, 8, 4, 1}, {128, 8, 4, 1}};
  auto any = [&](int64_t low, int64_t high) { return between(r, low, high); };
  const Form& f = forms[i % held_form_count];
  ConvProblem p;
  p.groups = any(0, 3) ? 1 : 2;
  p.in_channels = p.groups * (f.channels - any(0, 1) * any(0, 20)), p.out_channels = p.groups * any(1, 150);
  p.kernel_size = f.kernel_size, p.stride = f.stride, p.dilation = f.dilation;
  p.batch = any(1, 3), p.length = any(0, 2) ? 8 * any(1, 250) : any(1, 4000), p.bias = any(0, 1);
  p.padding = any(0, 12), p.output_padding = any(0, std::max(p.stride, p.dilation) - 1);
  p.dtype = any(0, 1) ? DType::f16 : DType::bf16;
  return p;
}

// Results that hopper_3xtf32 lets the copy engine write: of whole tiles of channels only.
inline std::vector<ConvProblem> box_problems() {
  std::vector<ConvProblem> out;
  for (int64_t length : {20, 52, 116, 244, 1000, 4096, 20000})
    for (int64_t padding : {0, 8}) {
      ConvProblem p;
      p.groups = length % 3 == 1 ? 2 : 1, p.batch = length < 1000 ? 5 : 2, p.bias = padding == 0;
      p.in_channels = p.groups * (length % 7 + 6), p.out_channels = p.groups * (padding ? 64 : 128);
      p.kernel_size = 5, p.dilation = 3, p.length = length, p.padding = padding;
      out.push_back(p);
    }
  return out;
}

// Forms that random problems rarely reach.
struct FormProblem {
  const char *kernel, *form;
  ConvProblem problem;
};
inline std::vector<FormProblem> form_problems() {
  auto of = [](int64_t in, int64_t out, int64_t kernel_size, int64_t stride, int64_t padding, int64_t length,
               int64_t batch, DType dtype = DType::f32, int64_t dilation = 1) {
    ConvProblem p;
    p.in_channels = in, p.out_channels = out, p.kernel_size = kernel_size, p.stride = stride, p.padding = padding;
    p.length = length, p.batch = batch, p.bias = length % 8 == 0, p.dtype = dtype, p.dilation = dilation;
    return p;
  };
  return {{"hopper_tf32", "hopper_96_2_s2", of(20, 96, 4, 2, 1, 1000, 2)},
          {"hopper_tf32", "hopper_96_2_s2", of(9, 48, 4, 2, 3, 301, 2)},
          {"hopper_tf32", "hopper_64_3_s2_blocks", of(32, 64, 3, 2, 1, 1701, 3, DType::f32, 2)},
          {"hopper_tf32", "hopper_64_3_s2_blocks", of(9, 41, 3, 2, 5, 1600, 4, DType::f32, 2)},
          {"hopper_tf32", "hopper_64_3_s2_blocks", of(17, 50, 3, 2, 0, 2500, 2, DType::f32, 2)},
          {"hopper_tf32", "hopper_64_3_s2_blocks", of(64, 64, 3, 2, 1, 1700, 2, DType::f32, 2)},
          // Too few tiles.
          {"hopper_tf32", "hopper_64_3_s2_staged", of(32, 64, 3, 2, 1, 700, 3, DType::f32, 2)},
          {"stream_tf32", "stream_2_s5", of(70, 64, 10, 5, 0, 300, 1)},
          {"stream_tf32", "stream_2_s5", of(41, 90, 9, 5, 3, 20, 7)},
          {"stream_tf32", "stream_7_s4", of(30, 20, 25, 4, 11, 296, 2)},
          {"stream_tf32", "stream_6", of(30, 70, 6, 1, 2, 301, 2)},
          {"stream_tf32", "stream_2_s8_halves", of(150, 30, 16, 8, 4, 296, 1)},
          {"stream_tf32", "stream_2_s4_halves", of(300, 40, 8, 4, 1, 301, 1)},
          {"stream_3xtf32", "stream_split_2_s8_halves", of(150, 13, 16, 8, 0, 296, 1)},
          {"stream_3xtf32", "stream_split_2_s4_halves", of(100, 21, 8, 4, 2, 301, 1)},
          {"hopper_16bit", "half_96_2_s2", of(40, 48, 4, 2, 3, 301, 2, DType::f16)},
          {"hopper_16bit", "half_96_2_s2", of(150, 96, 4, 2, 1, 1000, 2, DType::bf16)},
          {"hopper_16bit", "half_160_2_s5", of(41, 90, 9, 5, 3, 20, 7, DType::f16)},
          {"hopper_16bit", "half_160_2_s5", of(70, 64, 10, 5, 0, 300, 1, DType::bf16)},
          {"hopper_1xf16", "hopper_1xf16_96_2_s2", of(9, 48, 4, 2, 3, 301, 2)},
          {"hopper_1xf16", "hopper_1xf16_128_3_s1", of(130, 100, 3, 1, 1, 301, 2)},
          {"stream_1xf16", "stream_1xf16_2_s5", of(70, 64, 10, 5, 0, 300, 1)},
          {"stream_1xf16", "stream_1xf16_2_s8_halves", of(310, 30, 16, 8, 4, 296, 1)},
          {"stream_1xf16", "stream_1xf16_2_s4_halves", of(300, 40, 8, 4, 1, 301, 1)},
          {"stream_3xf16", "stream_3xf16_2_s8_halves", of(310, 13, 16, 8, 0, 296, 1)},
          {"stream_3xf16", "stream_3xf16_2_s4_halves", of(200, 21, 8, 4, 2, 301, 1)},
          {"stream_1xf16", "stream_1xf16_7", of(40, 40, 25, 4, 11, 296, 2)},
          {"stream_1xf16", "stream_1xf16_7", of(150, 20, 25, 4, 11, 16, 9)},
          {"stream_1xf16", "stream_1xf16_7", of(20, 30, 14, 2, 3, 301, 1)},
          {"stream_3xf16", "stream_3xf16_7", of(70, 20, 25, 4, 11, 296, 2)},
          {"stream_3xf16", "stream_3xf16_7", of(150, 13, 25, 4, 11, 16, 9)},
          {"ordered_1xf16", "ordered_1xf16_2_s8", of(310, 30, 16, 8, 4, 96, 1)},
          {"ordered_1xf16", "ordered_1xf16_2_s8_copies", of(40, 70, 16, 8, 4, 20, 9)},
          {"ordered_1xf16", "ordered_1xf16_2_s8_copies", of(17, 10, 10, 8, 8, 216, 1)},
          {"ordered_1xf16", "ordered_1xf16_2_s4_copies", of(29, 4, 7, 4, 7, 1701, 3)},
          {"ordered_1xf16", "ordered_1xf16_2_s4_copies", of(29, 4, 8, 4, 7, 1700, 3)},
          {"ordered_3xf16", "ordered_3xf16_2_s8", of(30, 40, 16, 8, 0, 501, 1)},
          {"ordered_1xf16", "ordered_1xf16_2_s4", of(300, 40, 8, 4, 1, 31, 5)},
          {"ordered_1xf16", "ordered_1xf16_2_s5_copies", of(70, 64, 10, 5, 0, 300, 2)},
          {"ordered_1xf16", "ordered_1xf16_2_s5", of(400, 20, 10, 5, 0, 100, 1)},
          {"ordered_3xf16", "ordered_3xf16_2_s5", of(300, 20, 10, 5, 3, 101, 1)},
          {"ordered_1xf16", "ordered_1xf16_2_s10_copies", of(70, 30, 20, 10, 5, 215, 2)},
          // A block has a tile that leaves by copies, and then one at its row's end.
          {"ordered_1xf16", "ordered_1xf16_2_s5_copies", of(16, 448, 10, 5, 3, 2500, 1)},
          {"ordered_1xf16", "ordered_1xf16_7_s4", of(150, 20, 25, 4, 11, 16, 9)},
          {"ordered_1xf16", "ordered_1xf16_any", of(40, 70, 6, 1, 2, 301, 3)},
          {"ordered_1xf16", "ordered_1xf16_any", of(500, 140, 3, 2, 5, 40, 4)},
          {"ordered_3xf16", "ordered_3xf16_2_s8", of(310, 13, 16, 8, 0, 296, 1)},
          {"ordered_3xf16", "ordered_3xf16_2_s4", of(200, 21, 8, 4, 2, 31, 5)},
          {"ordered_3xf16", "ordered_3xf16_2_s5_copies", of(70, 64, 10, 5, 3, 300, 1)},
          {"ordered_3xf16", "ordered_3xf16_2_s10_copies", of(70, 30, 20, 10, 5, 215, 1)},
          {"ordered_3xf16", "ordered_3xf16_2_s10_copies", of(19, 59, 20, 10, 7, 59, 5)},
          {"ordered_3xf16", "ordered_3xf16_7_s4", of(70, 20, 25, 4, 11, 296, 2)},
          {"ordered_3xf16", "ordered_3xf16_any", of(60, 40, 5, 1, 4, 301, 3)},
          {"ordered_16bit", "ordered_16bit_2_s8", of(310, 30, 16, 8, 4, 96, 1, DType::f16)},
          {"ordered_16bit", "ordered_16bit_2_s8", of(40, 70, 16, 8, 3, 20, 9, DType::bf16)},
          {"ordered_16bit", "ordered_16bit_2_s4", of(300, 40, 8, 4, 1, 31, 5, DType::bf16)},
          {"ordered_16bit", "ordered_16bit_2_s5", of(70, 64, 10, 5, 0, 300, 2, DType::f16)},
          {"ordered_16bit", "ordered_16bit_2_s10", of(70, 30, 20, 10, 5, 215, 2, DType::f16)},
          {"ordered_16bit", "ordered_16bit_7_s4", of(150, 20, 25, 4, 11, 16, 9, DType::f16)},
          {"held_16bit", "held_2by3_s2", of(32, 70, 3, 2, 1, 304, 2, DType::f16, 2)},
          {"held_16bit", "held_2by3_s2_pairs", of(32, 64, 3, 2, 1, 1000, 2, DType::f16, 2)},
          {"held_16bit", "held_2by3_s2_pairs", of(30, 33, 3, 2, 0, 512, 3, DType::bf16, 2)},
          {"held_16bit", "held_2by3_s2_pairs", of(32, 50, 3, 2, 7, 1248, 2, DType::bf16, 2)}};
}

}  // namespace convscope::test
