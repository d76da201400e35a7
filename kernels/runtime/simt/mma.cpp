// The arithmetic of the tensor-core wrappers: the warp's fragments as matrices, multiplied, and put back.
#include "convscope/mma.h"

namespace convscope::simt {

// Products of TF32 values are exact in f32's 24 bits; sums are sequential in f32. The hardware sums in another order
// and cuts instead of rounding, so results agree on integers and to the last bits otherwise.
void mma_m16n8k8_tf32(MmaSlot* const* lanes) {
  float a[16][8], b[8][8], d[16][8];
  auto value = [](uint32_t u) { return std::bit_cast<float>(u & 0xffffe000u); };
  for (int l = 0; l < 32; l++) {
    const MmaSlot& m = *lanes[l];
    int g = l / 4, t = l % 4;
    a[g][t] = value(m.a[0]), a[g + 8][t] = value(m.a[1]), a[g][t + 4] = value(m.a[2]), a[g + 8][t + 4] = value(m.a[3]);
    b[t][g] = value(m.b[0]), b[t + 4][g] = value(m.b[1]);
    d[g][2 * t] = m.d[0], d[g][2 * t + 1] = m.d[1], d[g + 8][2 * t] = m.d[2], d[g + 8][2 * t + 1] = m.d[3];
  }
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < 8; k++)
      for (int j = 0; j < 8; j++) d[i][j] += a[i][k] * b[k][j];
  for (int l = 0; l < 32; l++) {
    MmaSlot& m = *lanes[l];
    int g = l / 4, t = l % 4;
    m.d[0] = d[g][2 * t], m.d[1] = d[g][2 * t + 1], m.d[2] = d[g + 8][2 * t], m.d[3] = d[g + 8][2 * t + 1];
  }
}

}  // namespace convscope::simt
