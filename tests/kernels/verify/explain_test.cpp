// What a kernel is said to read is what it reads: the definition for right kernels, its own formula for each specimen,
// and mistakes of layout, channel, bias and sequence in words.
#include "kernels/verify/explain.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "kernels/problem/counts.h"
#include "kernels/problem/inputs.h"
#include "kernels/reference/oracle.h"
#include "kernels/runtime/registry.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/kernels/verify/judging.h"
#include "tests/kernels/verify/specimen_model.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::between;
using test::has;

Explanation explained(const std::string& kernel, const ConvProblem& p, int64_t n, int64_t co, int64_t j) {
  auto device = open_emulator();
  Activity activity;
  InputSpec spec;
  spec.x.kind = InputKind::signed_uniform;
  return explain(*device, test::kernel(kernel), p, spec, n, co, j, activity);
}

// Elements that matter: both borders, next to them, and some between.
std::vector<int64_t> positions(test::Random& r, int64_t lout) {
  std::vector<int64_t> list = {0, lout - 1, std::min<int64_t>(1, lout - 1), std::max<int64_t>(0, lout - 2)};
  for (int i = 0; i < 3; i++) list.push_back(between(r, 0, lout - 1));
  return list;
}

void expect_no_notes(const Explanation& e) {
  EXPECT_EQ(e.channel_note + e.weight_note + e.batch_note + e.bias_note, "");
}

// The picture is complete: what it reads adds up to what it gives.
void expect_totals_agree(const Explanation& e, DType dtype, const std::string& accuracy = "strict") {
  ASSERT_TRUE(e.read_total);
  // Inputs and weights are no larger than 1.
  double size = std::fabs(e.bias) + static_cast<double>(e.taps.size()) * static_cast<double>(e.channels);
  double unit = accuracy == "tf32" ? 0x1p-11 : accuracy == "3xtf32" ? 0x1p-22 : traits(dtype).unit_roundoff;
  EXPECT_NEAR(*e.read_total, e.got, 8 * size * unit);
}

// The emulator, with how many blocks of a launch it was asked for, run by run; 0: all. whole: they all run.
class Watched final : public Device {
 public:
  explicit Watched(bool whole = false) : whole_(whole) {}
  const DeviceInfo& info() const override { return own_->info(); }
  std::string unavailable(const KernelDefinition& k) const override { return own_->unavailable(k); }
  uint64_t free_memory() const override { return own_->free_memory(); }
  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override { return own_->allocate(bytes); }
  void write(DeviceMemory& to, size_t at, const void* from, size_t n) override { own_->write(to, at, from, n); }
  void read(const DeviceMemory& from, size_t at, void* to, size_t n) override { own_->read(from, at, to, n); }
  void fill(DeviceMemory& to, size_t at, uint32_t word, size_t n) override { own_->fill(to, at, word, n); }
  void run(const KernelDefinition& k, const Plan& plan, const Bindings& at, const RunOptions& options) override {
    blocks.push_back(options.blocks);
    RunOptions asked = options;
    if (whole_) asked.blocks = 0;
    own_->run(k, plan, at, asked);
  }
  Timing time(const KernelDefinition& k, const Plan& plan, const Bindings& at, bool cold, const TimingOptions& options,
              Activity* activity) override {
    return own_->time(k, plan, at, cold, options, activity);
  }
  std::vector<uint64_t> blocks;

 private:
  std::unique_ptr<Device> own_ = open_emulator();
  bool whole_;
};

ConvProblem of_many_blocks() {
  ConvProblem p;
  p.batch = 3, p.in_channels = 2, p.out_channels = 4, p.kernel_size = 3, p.length = 3000, p.stride = 2;
  return p;
}

// All but the first few runs are of the one block that has the element, and what is found is the same.
TEST(Explain, RunsTheBlockOfTheElementAlone) {
  const ConvProblem p = of_many_blocks();
  Activity activity;
  for (const char* kernel : {"direct", "tiled", "S4", "numbered_by_turns"})
    for (const int64_t j : {int64_t{0}, int64_t{100}, p.out_length() - 1}) {
      Watched part, whole(true);
      const Explanation a = explain(part, test::kernel(kernel), p, {}, 2, 3, j, activity);
      const auto ones = std::count(part.blocks.begin(), part.blocks.end(), uint64_t{1});
      if (std::string(kernel) == "numbered_by_turns") {  // its blocks alone leave something else
        EXPECT_LE(ones, 3);
        EXPECT_GT(part.blocks.size(), 12u);
        continue;
      }
      const Explanation b = explain(whole, test::kernel(kernel), p, {}, 2, 3, j, activity);
      EXPECT_GT(ones, static_cast<int64_t>(part.blocks.size()) - 13) << kernel << ", of " << part.blocks.size();
      EXPECT_GE(ones, a.launches - 1) << kernel;
      EXPECT_EQ(part.blocks[0], 0u) << "first it runs whole";
      EXPECT_EQ(a.got, b.got);
      ASSERT_EQ(a.taps.size(), b.taps.size());
      for (size_t k = 0; k < a.taps.size(); k++) {
        EXPECT_EQ(a.taps[k].count, b.taps[k].count) << kernel << ' ' << j;
        EXPECT_EQ(a.taps[k].read_i, b.taps[k].read_i) << kernel << ' ' << j;
      }
      EXPECT_EQ(a.launches, b.launches);
    }
  // Of what is no number as well; not so of what nobody writes.
  for (const char* kernel : {"f_not_a_number", "f_even_channels"}) {
    Watched part;
    const Explanation e = explain(part, test::kernel(kernel), p, {}, 2, 3, 100, activity);
    EXPECT_TRUE(std::isnan(e.got));
    const auto ones = std::count(part.blocks.begin(), part.blocks.end(), uint64_t{1});
    const bool is_written = std::string(kernel) == "f_not_a_number";
    EXPECT_EQ(e.channel_note == "no thread writes this element: what was there before is still there", !is_written);
    if (is_written)
      EXPECT_GE(ones, e.launches - 1);
    else
      EXPECT_EQ(ones, 0);
  }
  // What has a workspace, or waits for other blocks, runs whole.
  Watched packs;
  explain(packs, test::kernel("mma_tf32"), p, {}, 2, 3, 100, activity);
  EXPECT_EQ(std::count(packs.blocks.begin(), packs.blocks.end(), uint64_t{0}),
            static_cast<int64_t>(packs.blocks.size()));
}

TEST(Explain, RightKernelsReadTheDefinition) {
  test::Random r(70);
  int outside = 0, inside = 0;
  std::map<std::string, int> ran;
  auto emulator = open_emulator();
  const int problems = test::cases(6, 24);
  for (int i = 0; i < problems; i++) {
    auto p = test::random_problem(r, {.kernel_size = 8, .length = 20});
    for (const auto* k : all_kernels()) {
      if (k->kind() != KernelKind::ladder || !k->unsupported(p).empty() || !emulator->unavailable(*k).empty()) continue;
      if (k->requires_hardware().size() > 1 && i % 4) continue;  // a block of Hopper's is hundreds of fibres
      ran[k->name()]++;
      for (int64_t j : positions(r, p.out_length())) {
        int64_t n = between(r, 0, p.batch - 1), co = between(r, 0, p.out_channels - 1);
        auto e = explained(k->name(), p, n, co, j);
        SCOPED_TRACE(k->name() + " on " + describe(p) + " at " + std::to_string(co) + ", " + std::to_string(j));
        expect_no_notes(e);
        EXPECT_TRUE(e.all_taps);
        ASSERT_EQ(static_cast<int64_t>(e.taps.size()), p.kernel_size);
        EXPECT_EQ(e.channels, p.in_per_group());
        EXPECT_EQ(e.first_channel, co / p.out_per_group() * p.in_per_group());
        for (const auto& t : e.taps) {
          EXPECT_EQ(t.expected_i, test::should_read(p, j, t.k));
          EXPECT_EQ(t.read_i, t.expected_i);
          EXPECT_EQ(t.count, t.expected_i ? 1 : 0);
          EXPECT_EQ(t.strange, "");
          EXPECT_EQ(t.read_sum, t.expected_sum);
          (t.expected_i ? inside : outside)++;
        }
        expect_totals_agree(e, p.dtype, k->accuracy());
        EXPECT_NEAR(e.expected, e.got,
                    (k->accuracy() == "tf32" ? 1e-3 : 1e-5) * static_cast<double>(e.channels * p.kernel_size + 1));
        EXPECT_GT(e.launches, 0);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(inside, 30 * problems);
  EXPECT_GT(outside, 40 * problems);
  for (const char* name : {"hopper_tf32", "hopper_3xtf32", "stream_tf32", "stream_3xtf32"})
    if (emulator->unavailable(find_kernel(name)).empty()) {
      EXPECT_GT(ran[name], 0) << name;
    }
}

TEST(Explain, SpecimensReadTheirOwnFormula) {
  test::Random r(71);
  int differ = 0, short_of = 0;
  for (int i = 0; i < 60 / test::fewer; i++) {
    auto p = test::random_problem(r, {.groups = 2, .kernel_size = 6, .length = 16, .stride = 4, .dilation = 3});
    for (const auto& m : test::specimen_models) {
      auto q = p;
      if (!m.groups) q.groups = 1;  // without them they read beyond the weights
      if (!m.doubles) q.dtype = DType::f32;
      for (int64_t j : positions(r, q.out_length())) {
        int64_t n = between(r, 0, q.batch - 1), co = between(r, 0, q.out_channels - 1);
        auto e = explained(m.name, q, n, co, j);
        SCOPED_TRACE(std::string(m.name) + " on " + describe(q) + " at " + std::to_string(j));
        if (j >= m.out_length(q)) {
          EXPECT_TRUE(has(e.channel_note, "output is only " + std::to_string(m.out_length(q)) + " long"));
          EXPECT_TRUE(std::isnan(e.got));
          short_of++;
          continue;
        }
        for (const auto& t : e.taps) {
          EXPECT_EQ(t.read_i, test::reads(m, q, j, t.k)) << "tap " << t.k;
          EXPECT_EQ(t.expected_i, test::should_read(q, j, t.k)) << "tap " << t.k;
          differ += t.read_i != t.expected_i;
        }
        EXPECT_EQ(e.channel_note + e.weight_note + e.batch_note, "");
        EXPECT_EQ(e.bias_note, q.bias && !m.bias ? "adds no bias where b[" + std::to_string(co) + "] belongs" : "");
        expect_totals_agree(e, q.dtype);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(differ, 500 / test::fewer);
  EXPECT_GT(short_of, 20 / test::fewer);
}

// ---- mistakes in words ----------------------------------------------------------------------------------------------

const ConvProblem general{.batch = 3,
                          .in_channels = 4,
                          .out_channels = 6,
                          .kernel_size = 3,
                          .length = 20,
                          .stride = 2,
                          .padding = 1,
                          .output_padding = 1,
                          .bias = true};

TEST(Explain, NamesTheWrongWeights) {
  // [Cout, Cin, K]: channel 2 of the output starts at flat filter 2·4.
  auto e = explained("transposed_weights", general, 1, 2, 10);
  EXPECT_EQ(e.weight_note, "for input channel 0 it reads w[1, 2, 1] where w[0, 2, 1] belongs");
  EXPECT_EQ(e.channel_note + e.batch_note + e.bias_note, "");
  EXPECT_FALSE(e.read_total) << "the table does not add up, and says so";
  // Its first channel's is right there, the second one's is not.
  e = explained("transposed_weights", general, 1, 0, 10);
  EXPECT_EQ(e.weight_note, "for input channel 1 it reads w[0, 1, 1] where w[1, 0, 1] belongs");
  for (const auto& t : e.taps) EXPECT_FALSE(t.read_sum && *t.read_sum != 0) << "by weights that it does not read";
  e = explained("exchanged_channels", general, 1, 2, 10);
  EXPECT_EQ(e.weight_note, "for input channel 0 it reads w[0, 3, 1] where w[0, 2, 1] belongs");
  EXPECT_EQ(e.bias_note, "adds b[3] where b[2] belongs");
}

TEST(Explain, NamesTheWrongChannels) {
  auto p = general;
  p.groups = 2;
  auto e = explained("first_group_only", p, 1, 4, 10);
  EXPECT_EQ(e.channel_note, "with the weights of input channel 2 it reads channel 0");
  expect_no_notes(explained("first_group_only", p, 1, 1, 10));
  // One product less: the channels it sums are too few at that tap.
  e = explained("drops_a_tap", general, 0, 2, 10);
  for (const auto& t : e.taps) EXPECT_EQ(t.count, 0);
}

TEST(Explain, KnowsWhatIsNotWritten) {
  auto e = explained("skips_a_channel", general, 0, 1, 10);
  EXPECT_EQ(e.channel_note, "no thread writes this element: what was there before is still there");
  EXPECT_FALSE(e.read_total);
  EXPECT_EQ(e.taps.size(), static_cast<size_t>(general.kernel_size)) << "what belongs there is shown";
  for (const auto& t : e.taps) EXPECT_EQ(t.strange, "") << t.k;
  expect_no_notes(explained("skips_a_channel", general, 0, 2, 10));
  // A sum that goes on from what is there.
  e = explained("accumulates", general, 1, 2, 10);
  EXPECT_EQ(e.channel_note, "adds to what is in y, which nobody has cleared: here it began at 0");
  for (const auto& t : e.taps) EXPECT_EQ(t.read_i, t.expected_i) << t.k;
}

TEST(Explain, NamesTheWrongSequence) {
  EXPECT_EQ(explained("first_sequence_only", general, 2, 1, 10).batch_note, "reads sequence 0 where 2 belongs");
  expect_no_notes(explained("first_sequence_only", general, 0, 1, 10));
}

TEST(Explain, NamesTheWrongBias) {
  EXPECT_EQ(explained("no_bias", general, 0, 3, 10).bias_note, "adds no bias where b[3] belongs");
  auto e = explained("bias_by_position", general, 0, 3, 10);
  EXPECT_EQ(e.bias_note, "adds b[4] where b[3] belongs");
  expect_totals_agree(e, DType::f32);
  expect_no_notes(explained("bias_by_position", general, 0, 3, 9));
  for (int64_t co = 0; co < 6; co++)
    EXPECT_EQ(explained("doubled", general, 0, co, 10).bias_note, "adds b[" + std::to_string(co) + "] 2 times");
}

TEST(Explain, ShowsMirroredTaps) {
  auto e = explained("mirrored_taps", general, 0, 0, 9);
  ASSERT_EQ(e.taps.size(), 3u);
  // Taps 0 and 2 land on odd outputs; each weight meets the other one's input.
  EXPECT_EQ(e.taps[0].expected_i, 5);
  EXPECT_EQ(e.taps[0].read_i, 4);
  EXPECT_EQ(e.taps[2].expected_i, 4);
  EXPECT_EQ(e.taps[2].read_i, 5);
  EXPECT_FALSE(e.taps[1].read_i);
  expect_no_notes(e);
  expect_totals_agree(e, DType::f32);
}

// Not all channels come through a tap: some with another tap's weights, or not at all.
TEST(Explain, TellsWeightsOfOtherTapsFromChannelsThatAreMissing) {
  auto p = general;
  p.bias = false;
  auto e = explained("f_later_taps_reversed", p, 0, 1, 9);
  EXPECT_EQ(e.channel_note, "");
  EXPECT_EQ(e.weight_note, "for input channel 1 it reads w[1, 1, 0] where w[1, 1, 2] belongs")
      << "tap 2 is the last that is clean";
  e = explained("f_last_channel", p, 0, 1, 9);
  EXPECT_EQ(e.channel_note, "sums 3 input channels, 4 belong to this output");
  EXPECT_EQ(e.weight_note, "");
}

TEST(Explain, SaysWhatFitsNoReading) {
  // Ignoring groups it reads beyond the weights: what lies there is in the sum whatever the weights are.
  auto p = general;
  p.groups = 2, p.bias = false;
  auto e = explained("S4", p, 0, 5, 10);
  bool said = false;
  for (const auto& t : e.taps) said |= t.strange == "cannot be told";
  EXPECT_TRUE(said);
  EXPECT_EQ(e.channel_note, "of zeros alone it is no number either: something beside x and w is in it");
  EXPECT_FALSE(e.read_total);
  e = explained("doubled", general, 0, 0, 10);
  EXPECT_EQ(e.taps[1].strange, "takes its input 2 times");
  EXPECT_EQ(e.taps[1].read_i, e.taps[1].expected_i);
  e = explained("scaled_a_little", general, 0, 0, 10);
  EXPECT_TRUE(has(e.taps[1].strange, "takes its input 1.00000"));
  EXPECT_TRUE(has(e.taps[1].strange, " times: sums or results are scaled or rounded"));
}

// Right taps stay right; the one that goes on is told, with what it finds there.
TEST(Explain, TellsWhatLiesBesideARow) {
  auto e = explained("f_not_behind", general, 0, 0, 39);
  ASSERT_EQ(e.taps.size(), 3u);
  EXPECT_EQ(e.taps[0].strange, "goes on to i = 20 and reads x[0, 1, 0], beside its row");
  EXPECT_FALSE(e.taps[0].expected_i || e.taps[0].read_i);
  EXPECT_EQ(e.taps[2].read_i, 19);
  EXPECT_EQ(e.taps[2].strange + e.taps[1].strange, "");
  expect_no_notes(e);
  expect_totals_agree(e, DType::f32);
  // In the last sequence the last channel's row ends with x.
  e = explained("f_not_behind", general, 2, 0, 39);
  EXPECT_TRUE(std::isnan(e.got));
  EXPECT_EQ(e.taps[0].strange, "goes on to i = 20 and reads x[2, 1, 0], beside its row");
  EXPECT_EQ(e.taps[2].read_i, 19);
  EXPECT_FALSE(e.read_total);
  e = explained("f_not_before", {.in_channels = 2, .kernel_size = 3, .length = 5}, 0, 0, 0);
  EXPECT_EQ(e.taps[0].read_i, 0);
  EXPECT_EQ(e.taps[1].strange, "goes on to i = -1 and reads what lies beyond x");
  EXPECT_EQ(e.taps[2].strange, "goes on to i = -2 and reads what lies beyond x");
  // Rows of one channel lie beside each other: the next sequence's is no other input of this one's.
  e = explained("f_not_beside", {.batch = 2, .kernel_size = 3, .length = 5}, 0, 0, 6);
  EXPECT_EQ(e.taps[0].strange, "goes on to i = 6 and reads x[1, 0, 1], beside its row");
  EXPECT_EQ(e.taps[1].strange, "goes on to i = 5 and reads x[1, 0, 0], beside its row");
  EXPECT_EQ(e.taps[2].read_i, 4);
  expect_no_notes(e);
  expect_totals_agree(e, DType::f32);
  // Not where the definition points to: no index is named that was not seen.
  e = explained("f_no_padding_no_test", {.kernel_size = 3, .length = 5, .padding = 1}, 0, 0, 0);
  EXPECT_EQ(e.taps[0].read_i, 0);
  for (size_t k : {1, 2}) {
    EXPECT_EQ(e.taps[k].strange, "reads what lies beyond x") << k;
    EXPECT_FALSE(e.taps[k].beside) << k;
  }
  expect_no_notes(e);
  // Inputs of its own row, twice: nothing of what lies beside.
  e = explained("f_clamped_twice", {.kernel_size = 3, .length = 5}, 0, 0, 6);
  for (size_t k : {0, 1, 2}) {
    EXPECT_EQ(e.taps[k].strange, "takes its input 2 times") << k;
    EXPECT_EQ(e.taps[k].read_i, 4) << k;
  }
  // The end of another row, twice; with a right tap beside it no channel, weight or sequence is called wrong.
  e = explained("f_not_before_twice", {.batch = 2, .in_channels = 4, .out_channels = 4, .kernel_size = 3, .length = 9},
                1, 1, 1);
  EXPECT_EQ(e.taps[2].strange, "goes on to i = -1 and reads x[0, 3, 8], beside its row, 2 times");
  EXPECT_EQ(e.taps[0].read_i, 1);
  EXPECT_EQ(e.channel_note + e.weight_note + e.batch_note, "");
  expect_totals_agree(e, DType::f32);
  // No tap is right, and the one that reads the next row tells nothing of weights and sequences.
  e = explained(
      "f_not_behind_reversed",
      {.batch = 2, .in_channels = 4, .out_channels = 4, .kernel_size = 4, .length = 9, .stride = 2, .padding = 1}, 0, 1,
      17);
  EXPECT_EQ(e.channel_note + e.weight_note + e.batch_note, "");
  EXPECT_TRUE(std::any_of(e.taps.begin(), e.taps.end(),
                          [](const auto& t) { return has(t.strange, "reads x[0, 1, 0], beside its row"); }));
  expect_totals_agree(e, DType::f32);
  // Of a long filter the tap is not among those that are listed.
  e = explained("f_not_behind", {.kernel_size = 300, .length = 10, .stride = 7, .padding = 50}, 0, 0, 150);
  EXPECT_EQ(e.channel_note, "reads what lies beyond x, through a tap that is not listed");
  for (const auto& t : e.taps) EXPECT_EQ(t.strange, "") << t.k;
}

TEST(Explain, TellsWhatReachesTheSumTimesNothing) {
  auto e = explained("beside_times_zero", general, 2, 0, 39);
  EXPECT_TRUE(std::isnan(e.got));
  EXPECT_EQ(e.channel_note, "what lies beside x reaches the sum times 0: a NaN there is one here");
  for (const auto& t : e.taps) EXPECT_EQ(t.read_i, t.expected_i);
  expect_no_notes(explained("beside_times_zero", general, 2, 0, 20));
}

// In every type: what stands for 1 beside x is 1, or nearly.
TEST(Explain, TellsWhatLiesBesideARowInEveryType) {
  for (auto [kernel, type] :
       {std::pair{"h_not_beside", DType::f16}, {"h_not_beside", DType::bf16}, {"d_not_beside", DType::f64}}) {
    ConvProblem p{.kernel_size = 3, .length = 5};
    p.dtype = type;
    ASSERT_EQ(test::kernel(kernel).unsupported(p), "") << kernel;
    const auto e = explained(kernel, p, 0, 0, 6);
    EXPECT_EQ(e.taps[0].strange, "goes on to i = 6 and reads what lies beyond x") << kernel;
    EXPECT_EQ(e.taps[0].beside, 6) << kernel;
    EXPECT_EQ(e.taps[1].beside, 5) << kernel;
    EXPECT_EQ(e.taps[2].read_i, 4) << kernel;
    EXPECT_EQ(e.taps[2].strange, "") << kernel;
    expect_no_notes(e);
  }
}

TEST(Explain, LongFiltersAreShownAroundTheirTaps) {
  ConvProblem p{.in_channels = 2, .out_channels = 2, .kernel_size = 300, .length = 10, .stride = 7, .padding = 50};
  auto e = explained("direct", p, 0, 1, 100);
  EXPECT_FALSE(e.all_taps);
  EXPECT_LE(e.taps.size(), 128u);
  size_t expected = 0;
  for (const auto& t : e.taps) {
    expected += t.expected_i.has_value();
    EXPECT_EQ(t.read_i, t.expected_i);
  }
  EXPECT_EQ(expected, taps_at(p, 100).size());
  EXPECT_FALSE(e.read_total) << "not all taps were asked";
}

// What stands around the taps: of x where one channel is all there is, of y what the kernel made of it.
TEST(Explain, ShowsWhatStandsAroundTheTaps) {
  ConvProblem p{.batch = 2,
                .in_channels = 3,
                .out_channels = 3,
                .kernel_size = 3,
                .length = 20,
                .stride = 2,
                .padding = 1,
                .groups = 3};
  InputSpec spec;
  spec.x.kind = InputKind::signed_uniform;  // as explained() has it
  const Inputs in = make_inputs(p, spec);
  std::vector<double> y(static_cast<size_t>(p.out_length()));
  make_cpu_oracle(p, in)->compute({p.out_channels + 2, 1, 0, p.out_length()}, y.data(), nullptr);
  auto e = explained("direct", p, 1, 2, 20);
  EXPECT_EQ(e.near_x.first, 6) << "(20 + 1 − 2)/2 − 3";
  ASSERT_EQ(e.near_x.values.size(), 8u) << "to 21/2 + 3";
  for (size_t i = 0; i < 8; i++) EXPECT_EQ(e.near_x.values[i], in.x.at((3 + 2) * 20 + 6 + static_cast<int64_t>(i)));
  EXPECT_EQ(e.near_y.first, 11);
  ASSERT_EQ(e.near_y.values.size(), 17u);
  for (size_t j = 0; j < 17; j++) EXPECT_NEAR(e.near_y.values[j], y[11 + j], 1e-5);
  p.groups = 1;
  e = explained("direct", p, 1, 2, 20);
  EXPECT_TRUE(e.near_x.values.empty()) << "three channels add up";
  EXPECT_EQ(e.near_y.values.size(), 17u);
  // It is the kernel's, also where that is wrong; at an end of the row what is there.
  const auto wrong = explained("S4", p, 1, 2, 0);
  EXPECT_EQ(wrong.near_y.first, 0);
  ASSERT_FALSE(wrong.near_y.values.empty());
  EXPECT_EQ(wrong.near_y.values[0], wrong.got);
  EXPECT_NE(wrong.got, wrong.expected);
  p.kernel_size = 300, p.dilation = 9;
  EXPECT_EQ(explained("direct", p, 1, 2, 20).near_x.values.size(), 0u);
}

TEST(Explain, RefusesWhatIsNotThere) {
  for (auto [n, co, j, field] : {std::tuple{3, 0, 0, "n 3 must be between 0 and 2"},
                                 {0, 6, 0, "co 6 must be between 0 and 5"},
                                 {0, 0, 40, "j 40 must be between 0 and 39"},
                                 {-1, 0, 0, "n -1 must be between 0 and 2"}}) {
    ASSERT_EQ(general.out_length(), 40);
    EXPECT_EQ(test::error_of<InputError>([&, n = n, co = co, j = j] { explained("direct", general, n, co, j); }),
              field);
  }
  auto p = general;
  p.groups = 2;
  EXPECT_EQ(test::error_of<InputError>([&] { explained("no_groups", p, 0, 0, 0); }),
            "kernel no_groups takes one group only");
  EXPECT_THROW(explained("needs_blackwell", general, 0, 0, 0), MissingError);
  // A grid of 6·40 threads has a block with some to spare.
  p = general;
  p.batch = 1;
  EXPECT_THROW(explained("shuffle_after_return", p, 0, 0, 0), KernelFault);
}

TEST(TapFormula, HasItsNumbers) {
  ConvProblem p{.kernel_size = 5, .length = 6, .stride = 2, .padding = 1, .dilation = 3};
  EXPECT_EQ(tap_formula(p, 9, 0), "(9 + 1 − 0·3)/2 = 5");
  EXPECT_EQ(tap_formula(p, 9, 1), "(9 + 1 − 1·3)/2 = 3.5: no whole number, no tap");
  EXPECT_EQ(tap_formula(p, 9, 4), "(9 + 1 − 4·3)/2 = -1: outside 0…5, no tap");
  EXPECT_EQ(tap_formula(p, 11, 0), "(11 + 1 − 0·3)/2 = 6: outside 0…5, no tap");
  EXPECT_EQ(tap_formula(p, 0, 1), "(0 + 1 − 1·3)/2 = -1: outside 0…5, no tap");
}

// A GPU on which a person cancels at a write or a fill.
class CancellingGpu : public test::FakeGpu {
 public:
  CancellingGpu() : test::FakeGpu("Cancelling GPU", "580.1") {}
  double ms_of(const KernelDefinition&, const Plan&) const override { return 1; }
  void write(DeviceMemory&, size_t, const void*, size_t bytes) override { step(bytes); }
  void fill(DeviceMemory&, size_t, uint32_t, size_t) override { step(1); }
  void step(size_t bytes) {
    steps += bytes > 0;
    if (bytes && steps == cancel_at) activity.cancel();
  }
  Activity activity;
  int steps = 0, cancel_at = 0;
};

// Tensors may be gigabytes, and are written for every launch.
TEST(Explain, ACancelIsSeenBetweenTensors) {
  auto steps_until = [](int cancel_at) {
    CancellingGpu gpu;
    gpu.cancel_at = cancel_at;
    ConvProblem p;
    p.bias = true, p.length = 9;
    EXPECT_THROW(explain(gpu, find_kernel("direct"), p, {}, 0, 0, 3, gpu.activity), Cancelled) << cancel_at;
    return gpu.steps;
  };
  // x, w, y and b are laid, x, w and b written; y is filled before each launch, and what probes it then written.
  // What lies beside x, small, is laid in two steps at once: the ninth and the tenth.
  for (int at = 1; at <= 14; at++) EXPECT_EQ(steps_until(at), at == 9 ? 10 : at);
}

}  // namespace
}  // namespace convscope
