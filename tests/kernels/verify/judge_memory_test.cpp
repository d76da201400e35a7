// Kernels with right sums and a wrong use of memory: the memory layer fails and says what was touched.
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

#include "kernels/reference/checksum.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/problem_memory.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::evidence;
using test::general;
using test::has;
using test::judged;
using test::layer_status;

RunReport wrong_memory(const std::string& kernel, const std::string& what, ConvProblem p = general) {
  auto r = judged(kernel, p);
  SCOPED_TRACE(kernel + ": " + r.verdict.sentence);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(r.verdict.exit_code, 1);
  EXPECT_EQ(layer_status(r, "memory"), LayerStatus::fail);
  EXPECT_EQ(evidence(r, "memory"), what);
  EXPECT_TRUE(has(r.verdict.sentence, what));
  return r;
}

// ---- never written --------------------------------------------------------------------------------------------------

TEST(JudgeMemory, LastElementUnwritten) {
  auto r = wrong_memory("skips_the_last", "never writes 1 element (0.046 %)");
  EXPECT_EQ(r.error.unwritten, 1);
  EXPECT_EQ(r.error.nan, 0);
  EXPECT_EQ(r.error.failing, 1);
  EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail);
  EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::pass);
  EXPECT_TRUE(has(r.verdict.sentence, "only at the border: the last position; in channel 5; in batch 2"));
  EXPECT_EQ(r.tensors->flags_at(general.y_elements() - 1), flag_unwritten | flag_failing);
  EXPECT_EQ(r.tensors->flags_at(general.y_elements() - 2), 0);
}

TEST(JudgeMemory, ManyUnwritten) {
  auto r = wrong_memory("skips_a_channel", "never writes 360 elements (16.7 %)");
  EXPECT_TRUE(has(r.verdict.sentence, "in channel 1"));
  r = wrong_memory("lane_zero_writes", "never writes 2,092 elements (96.9 %)");
  EXPECT_EQ(r.error.unwritten, r.error.failing);
  r = wrong_memory("skips_later_sequences", "never writes 1,440 elements (66.7 %)");
  EXPECT_TRUE(has(r.verdict.sentence, "in batch 1–2 (all but the first)"));
  r = wrong_memory("launches_nothing", "never writes 2,160 elements (100 %)");
  EXPECT_TRUE(has(evidence(r, "speed"), "launched nothing"));
}

TEST(JudgeMemory, SumsOfZeroLeftOut) {
  auto p = general;
  p.kernel_size = 40, p.dilation = 1;  // taps everywhere: no sum is zero by itself
  wrong_memory("skips_zero_sums", "leaves 2,826 elements unwritten where the sum is 0", p);
}

TEST(JudgeMemory, UnwrittenInDoubleToo) {
  auto p = general;
  p.dtype = DType::f64;
  wrong_memory("launches_nothing", "never writes 2,160 elements (100 %)", p);
}

// ---- what was there before ------------------------------------------------------------------------------------------

TEST(JudgeMemory, Accumulates) {
  auto r =
      wrong_memory("accumulates", "reads its output before it has written it: what was there reaches 2,160 elements");
  EXPECT_EQ(r.verdict.sentence, "wrong: " + evidence(r, "memory"))
      << "on a cleared output there is nothing else to say";
  EXPECT_EQ(r.error.unwritten, 0);
  EXPECT_EQ(r.exact->failing, 0);
  EXPECT_TRUE(has(evidence(r, "mathematics"), "on a cleared output"));
  EXPECT_EQ(layer_status(r, "determinism"), LayerStatus::skipped);
}

TEST(JudgeMemory, DependsOnWhatWasThereWithoutANaN) {
  auto r = judged("keeps_the_larger", general);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_TRUE(
      has(evidence(r, "memory"), "reads its output before it has written it: what was there reaches 2,160 elements"));
}

// ---- outside --------------------------------------------------------------------------------------------------------

TEST(JudgeMemory, WritesOutside) {
  auto r = wrong_memory("writes_before", "writes outside y: 4 bytes directly before its start");
  EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::pass);
  EXPECT_EQ(r.verdict.sentence, "wrong: " + evidence(r, "memory"));
  wrong_memory("writes_after", "writes outside y: 4 bytes directly after its end");
  wrong_memory("writes_far_after", "writes outside y: 8 bytes after its end, the first 4000 bytes away");
  wrong_memory("adds_after", "writes outside y: 4 bytes directly after its end");
  wrong_memory("writes_after_x", "writes outside x: 4 bytes directly after its end");
}

// The commonest fault of a first kernel. A NaN that was read beyond x keeps its bits on the way to what lies beyond y.
TEST(JudgeMemory, SurplusThreadsWriteOutside) {
  wrong_memory("no_guard", "writes outside y: 64 bytes directly after its end");
  // Whose bits a sum of two NaN has is the processor's and the compiler's matter; a number that lies there does change.
  auto r = judged("no_guard_adds", general);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_TRUE(has(evidence(r, "memory"), "writes outside y: ")) << evidence(r, "memory");
}

TEST(JudgeMemory, ReadsOutside) {
  // The last row of the last sequence has no right neighbour: its border outputs get what lies beyond x.
  auto r = judged("reads_beyond_x", general);
  EXPECT_EQ(layer_status(r, "memory"), LayerStatus::fail);
  EXPECT_TRUE(has(evidence(r, "memory"), "reads beyond the end of x: "));
  EXPECT_TRUE(has(r.verdict.sentence, "only at the border: the last position"));
  EXPECT_FALSE(has(r.verdict.sentence, "writes outside"));
  EXPECT_EQ(r.exact->nan, 6) << "one position, of the last sequence, in every channel";
  EXPECT_TRUE(has(evidence(r, "memory"), ": what lies there reaches 6 elements"));

  wrong_memory("reads_beyond_w", "reads beyond the end of w: what lies there reaches 1 element");
  wrong_memory("reads_before_b", "reads before the start of b: what lies there reaches 3 elements");
}

TEST(JudgeMemory, ReadsOutsideAndLeavesOut) {
  auto r = judged("reads_beyond_and_skips", general);
  // Both are true; the one that is named first must be counted right whatever the other does.
  EXPECT_TRUE(has(r.verdict.sentence, "never writes 18 elements"));
  EXPECT_TRUE(has(r.verdict.sentence, "reads beyond the end of x: what lies there reaches 18 elements"));
}

TEST(JudgeMemory, GroupsIgnoredReadBeyondTheWeights) {
  auto p = general;
  p.groups = 2, p.bias = false, p.stride = 1, p.padding = 0, p.output_padding = 0;
  auto r = judged("S1", p);
  EXPECT_TRUE(has(evidence(r, "memory"), "reads beyond the end of w: "));
  EXPECT_FALSE(has(r.verdict.sentence, "writes outside"));
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

TEST(JudgeMemory, ChangesItsInputs) {
  auto r = wrong_memory("writes_into_x", "changes its input x");
  EXPECT_NE(layer_status(r, "determinism"), LayerStatus::fail) << "runs differ because their inputs did";
  wrong_memory("writes_into_w", "changes its input w");
}

TEST(JudgeMemory, OneRunLeavesNothingForTheNext) {
  // A judge that saw a faulty kernel judges the next one on clean memory.
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(*device, none);
  auto status = [&](const char* name) {
    auto spec = test::quick();
    spec.kernel = &test::kernel(name);
    spec.problem = general;
    Activity activity;
    return judge.run(spec, activity).verdict.status;
  };
  for (const char* name : {"writes_into_x", "writes_after", "skips_the_last", "accumulates", "shuffle_after_return"}) {
    EXPECT_NE(status(name), Status::right) << name;
    EXPECT_EQ(status("faultless"), Status::right) << "after " << name;
  }
}

// Those of #64 take a second to draw: once for a problem, whoever asks.
TEST(JudgeInputs, AreDrawnOnceForAProblem) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(*device, none);
  Activity activity;
  InputSpec spec;
  auto first = judge.inputs(general, spec, activity);
  EXPECT_EQ(judge.inputs(general, spec, activity), first);
  auto run = test::quick();
  run.kernel = &test::kernel("faultless");
  run.problem = general, run.inputs = spec;
  EXPECT_EQ(judge.run(run, activity).inputs, first);
  // Others for another seed or problem, and what was given stays whole.
  const std::byte byte = *static_cast<const std::byte*>(first->x.data());
  spec.seed++;
  auto second = judge.inputs(general, spec, activity);
  EXPECT_NE(second, first);
  EXPECT_NE(std::memcmp(second->x.data(), first->x.data(), first->x.size_bytes()), 0);
  EXPECT_EQ(*static_cast<const std::byte*>(first->x.data()), byte);
  ConvProblem longer = general;
  longer.length++;
  EXPECT_NE(judge.inputs(longer, spec, activity), second);
}

// ---- the guard itself -----------------------------------------------------------------------------------------------

TEST(Guarded, SeesEveryByteOfItsZones) {
  auto device = open_emulator();
  for (size_t bytes : {size_t{4}, size_t{100}, size_t{256}, size_t{1000}}) {
    GuardedTensor t(*device, bytes);
    auto* data = reinterpret_cast<unsigned char*>(t.address());
    EXPECT_EQ(t.damage(), "");
    auto poke = [&](std::ptrdiff_t at) {
      auto old = data[at];
      data[at] ^= 0x40;
      auto said = t.damage();
      data[at] = old;
      return said;
    };
    EXPECT_EQ(poke(-1), "1 byte directly before its start");
    EXPECT_EQ(poke(-5), "1 byte before its start, the nearest 4 bytes away");
    EXPECT_EQ(poke(-static_cast<std::ptrdiff_t>(GuardedTensor::least_zone)),
              "1 byte before its start, the nearest 65535 bytes away");
    auto end = static_cast<std::ptrdiff_t>(bytes);
    EXPECT_EQ(poke(end), "1 byte directly after its end");
    EXPECT_EQ(poke(end + 7), "1 byte after its end, the first 7 bytes away");
    EXPECT_NE(poke(end + static_cast<std::ptrdiff_t>(GuardedTensor::least_zone) - 1), "");
    for (std::ptrdiff_t at = 0; at < end; at++) ASSERT_EQ(poke(at), "") << "its own bytes are its own";
    t.lay_zones(0);
    EXPECT_EQ(t.damage(), "") << "zones of another word are whole too";
    EXPECT_NE(poke(end), "");
    EXPECT_NE(poke(-1), "");
  }
}

// What a GPU makes of every NaN has bytes in common with what lies beside results.
TEST(Guarded, CountsElementsAndNotWhatOfThemDiffers) {
  auto device = open_emulator();
  for (size_t bytes : {size_t{8}, size_t{1000}}) {
    GuardedTensor t(*device, bytes, GuardedTensor::least_zone, nullptr, result_zone_word);
    auto end = static_cast<int64_t>(bytes);
    const uint32_t words[3] = {0x7fffffff, 0x7fffffff, 0x7fffffff};
    ASSERT_TRUE(t.put_beside(end, words, 12));
    EXPECT_EQ(t.damage(), "9 bytes directly after its end");
    EXPECT_EQ(t.damage(4), "12 bytes directly after its end");
    EXPECT_EQ(t.damage(8), "16 bytes directly after its end");
    t.restore_zones();
    ASSERT_TRUE(t.put_beside(-12, words, 8));
    EXPECT_EQ(t.damage(4), "8 bytes before its start, the nearest 4 bytes away");
    t.restore_zones();
    EXPECT_EQ(t.damage(4), "");
  }
}

TEST(Guarded, LayingZonesKeepsTheTensor) {
  auto device = open_emulator();
  for (size_t bytes : {size_t{4}, size_t{6}, size_t{1003}}) {
    GuardedTensor t(*device, bytes);
    std::vector<unsigned char> in(bytes), out(bytes);
    for (size_t i = 0; i < bytes; i++) in[i] = static_cast<unsigned char>(i * 7);
    t.write(in.data(), bytes);
    auto sum = t.checksum();
    t.lay_zones(0);
    t.lay_zones(red_zone_word);
    t.read(0, out.data(), bytes);
    EXPECT_EQ(in, out);
    EXPECT_EQ(t.checksum(), sum);
    EXPECT_EQ(t.damage(), "");
  }
}

// Gigabytes are laid, written and read: whoever cancels waits for a part of them, not for all.
TEST(Guarded, LooksWhetherItIsCancelled) {
  auto device = open_emulator();
  constexpr size_t bytes = (100 << 20) + 4;
  Activity activity;
  GuardedTensor t(*device, bytes, GuardedTensor::least_zone, &activity);
  const std::vector<std::byte> in(bytes);
  auto looks_of = [&](auto work) {
    uint64_t before = activity.snapshot().beat;
    work();
    return activity.snapshot().beat - before;
  };
  EXPECT_GE(activity.snapshot().beat, 4u);
  EXPECT_GE(looks_of([&] { t.write(in.data(), bytes, &activity); }), 4u);
  EXPECT_GE(looks_of([&] { t.fill(1, &activity); }), 4u);
  EXPECT_GE(looks_of([&] { t.checksum(&activity); }), 4u);
  activity.cancel();
  EXPECT_THROW(GuardedTensor(*device, bytes, GuardedTensor::least_zone, &activity), Cancelled);
  EXPECT_THROW(t.write(in.data(), bytes, &activity), Cancelled);
  EXPECT_THROW(t.fill(1, &activity), Cancelled);
  EXPECT_THROW(t.checksum(&activity), Cancelled);
}

// The same of a problem's tensors: each is laid, written, filled and summed in looks of its own.
TEST(Guarded, TheTensorsOfAProblemAreLaidInLooks) {
  auto device = open_emulator();
  ConvProblem p = general;
  p.bias = true;
  const Inputs in = make_inputs(p, {}, nullptr);
  Activity activity;
  ProblemMemory memory(*device, p, in, p.out_length(), 256, &activity);
  EXPECT_EQ(activity.snapshot().beat, 8u) << "x, w, b, y and the workspace laid; x, w and b written";
  const uint64_t before = memory.output_checksum(nullptr);
  activity.cancel();
  EXPECT_THROW(memory.fill_output(1, &activity), Cancelled);
  EXPECT_THROW(memory.output_checksum(&activity), Cancelled);
  EXPECT_THROW(memory.change_input(&activity), Cancelled);
  EXPECT_THROW(memory.restore_input(&activity), Cancelled);
  EXPECT_EQ(memory.output_checksum(nullptr), before);
}

// What a GPU sums up where the words are is what the host does, also where threads have none or several of them.
TEST(Guarded, ChecksumOfTheKernelIsTheHosts) {
  auto device = open_emulator();
  for (int64_t words : {int64_t{0}, int64_t{1}, int64_t{1000}, checksum_threads + 5, 3 * checksum_threads - 1}) {
    std::vector<uint64_t> in(static_cast<size_t>(words));
    for (size_t i = 0; i < in.size(); i++) in[i] = i * 0x9e3779b97f4a7c15u >> 7;
    GuardedTensor t(*device, in.size() * 8);
    t.write(in.data(), in.size() * 8);
    auto sums = device->allocate(checksum_threads * 8);
    device->run(find_internal_kernel("checksum"), checksum_plan(words), {t.address(), 0, 0, sums->address(), 0}, {});
    std::vector<uint64_t> out(checksum_threads);
    device->read(*sums, 0, out.data(), out.size() * 8);
    EXPECT_EQ(std::accumulate(out.begin(), out.end(), uint64_t{0}), t.checksum()) << words;
    if (words) {
      in.back() ^= 1;
      t.write(in.data(), in.size() * 8);
      EXPECT_NE(std::accumulate(out.begin(), out.end(), uint64_t{0}), t.checksum()) << words;
    }
  }
}

TEST(Guarded, ChecksumSeesEveryChange) {
  auto device = open_emulator();
  GuardedTensor t(*device, 1003);
  std::vector<unsigned char> in(1003, 1);
  t.write(in.data(), in.size());
  auto sum = t.checksum();
  for (size_t i : {size_t{0}, size_t{7}, size_t{500}, size_t{1000}, size_t{1002}}) {
    auto other = in;
    other[i] ^= 1;
    t.write(other.data(), other.size());
    EXPECT_NE(t.checksum(), sum) << i;
  }
  // Two words that changed places.
  for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<unsigned char>(i);
  t.write(in.data(), in.size());
  sum = t.checksum();
  std::swap_ranges(in.begin(), in.begin() + 8, in.begin() + 64);
  t.write(in.data(), in.size());
  EXPECT_NE(t.checksum(), sum);
}

}  // namespace
}  // namespace convscope
