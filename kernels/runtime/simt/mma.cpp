// The arithmetic of the tensor-core wrappers: the warp's fragments as matrices, multiplied, and put back.
#include "convscope/mma.h"

#include "convscope/half.h"

namespace convscope::simt {

namespace {

// Products of TF32 and of 16-bit values are exact in f32's 24 bits; sums are sequential in f32. The hardware sums in
// another order and cuts instead of rounding, so results agree on integers and to the last bits otherwise.
// value(word, i): the i-th of a word's values, of which there are `each`.
template <int each, class Value>
void multiply(MmaSlot* const* lanes, Value value) {
  constexpr int depth = 8 * each;
  float a[16][depth], b[depth][8], d[16][8];
  for (int l = 0; l < 32; l++) {
    const MmaSlot& m = *lanes[l];
    int g = l / 4, t = l % 4;
    for (int i = 0; i < each; i++) {
      int k = each * t + i, far = k + 4 * each;
      a[g][k] = value(m.a[0], i), a[g + 8][k] = value(m.a[1], i);
      a[g][far] = value(m.a[2], i), a[g + 8][far] = value(m.a[3], i);
      b[k][g] = value(m.b[0], i), b[far][g] = value(m.b[1], i);
    }
    d[g][2 * t] = m.d[0], d[g][2 * t + 1] = m.d[1], d[g + 8][2 * t] = m.d[2], d[g + 8][2 * t + 1] = m.d[3];
  }
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < depth; k++)
      for (int j = 0; j < 8; j++) d[i][j] += a[i][k] * b[k][j];
  for (int l = 0; l < 32; l++) {
    MmaSlot& m = *lanes[l];
    int g = l / 4, t = l % 4;
    m.d[0] = d[g][2 * t], m.d[1] = d[g][2 * t + 1], m.d[2] = d[g + 8][2 * t], m.d[3] = d[g + 8][2 * t + 1];
  }
}

}  // namespace

void mma_m16n8k8_tf32(MmaSlot* const* lanes) {
  multiply<1>(lanes, [](uint32_t u, int) { return std::bit_cast<float>(u & 0xffffe000u); });
}

void mma_m16n8k16(MmaSlot* const* lanes, bool bf16) {
  auto bits = [](uint32_t u, int i) { return static_cast<uint16_t>(u >> 16 * i); };
  if (bf16)
    multiply<2>(lanes, [&](uint32_t u, int i) { return halves::from_bf16(bits(u, i)); });
  else
    multiply<2>(lanes, [&](uint32_t u, int i) { return halves::from_f16(bits(u, i)); });
}

}  // namespace convscope::simt
