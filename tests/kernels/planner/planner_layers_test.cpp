// What the planner's model chooses for layers of real models, beside what `auto` chose by measuring them on an H200
// (tests/bench/results/h200-pytorch.md).
#include <gtest/gtest.h>

#include "kernels/planner/planner.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

struct MeasuredLayer {
  const char *preset, *tf32, *tf32x3, *f16;  // the kernels that were the fastest
};
constexpr MeasuredLayer measured_layers[] = {
    {"kernelbench-79", "hopper_tf32", "hopper_3xtf32", "held_16bit"},
    {"kernelbench-74", "hopper_tf32", "hopper_3xtf32", "held_16bit"},
    {"kernelbench-64", "hopper_1xf16", "stream_3xf16", "held_16bit"},
    {"hifigan.u1", "stream_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"hifigan.u2", "stream_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"hifigan.u3", "stream_1xf16", "stream_3xf16", "hopper_16bit"},
    {"hifigan.u4", "hopper_tf32", "stream_3xf16", "held_16bit"},
    {"hifigan.u1.b16", "stream_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"hifigan.u4.b16", "hopper_tf32", "stream_3xf16", "hopper_16bit"},
    {"encodec.d1", "stream_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"encodec.d2", "ordered_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"encodec.d3", "stream_tf32", "stream_3xf16", "hopper_16bit"},
    {"encodec.d4", "hopper_tf32", "stream_3xf16", "hopper_16bit"},
    {"dac.d1", "ordered_1xf16", "ordered_3xf16", "ordered_16bit"},
    {"dac.d2", "ordered_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"dac.d3", "stream_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"dac.d4", "hopper_tf32", "stream_3xf16", "hopper_16bit"},
    {"oobleck.d1", "ordered_1xf16", "ordered_3xf16", "ordered_16bit"},
    {"oobleck.d5", "hopper_tf32", "stream_3xf16", "held_16bit"},
    {"demucs.d", "hopper_tf32", "stream_3xf16", "held_16bit"},
    {"wavegan.d1", "ordered_1xf16", "ordered_3xf16", "hopper_16bit"},
    {"wavegan.d4", "ordered_1xf16", "ordered_3xf16", "hopper_16bit"},
};

// What was the fastest is chosen, or is predicted within a quarter of what is: two or three rungs are as fast there
// (encodec.d3, demucs.d, hifigan.u4.b16, oobleck.d1).
TEST(PlannerOnLayers, ChoosesWhatMeasuringChose) {
  int other = 0;
  for (const MeasuredLayer& l : measured_layers)
    for (auto [fastest, accuracy, dtype] : {std::tuple{l.tf32, Accuracy::tf32, DType::f32},
                                            {l.tf32x3, Accuracy::tf32x3, DType::f32},
                                            {l.f16, Accuracy::strict, DType::f16}}) {
      ConvProblem p = find_preset(l.preset).problem;
      p.dtype = dtype;
      const Choice c = choose(p, accuracy, Target::of_architecture("sm_90"));
      if (c.kernel->name() == fastest) continue;
      other++;
      EXPECT_LT(predicted_ms(find_kernel(fastest), p, {}), 1.25 * c.candidates[0].predicted_ms)
          << l.preset << ": " << c.reason;
    }
  EXPECT_LE(other, 13) << "of 66";
}

}  // namespace
}  // namespace convscope
