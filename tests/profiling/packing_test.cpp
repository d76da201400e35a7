// Packing of weights apart from calls, on a GPU of fakes: profiles, live readings, comparisons.
#include <algorithm>
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/problem/presets.h"
#include "profiling/profile/bench.h"
#include "profiling/profile/live.h"
#include "tests/fakes/on_fake_gpu.h"
#include "tests/fakes/setting.h"

namespace convscope {
namespace {

using test::Setting;

bool any_says(const std::vector<std::string>& list, const std::string& words) {
  return std::any_of(list.begin(), list.end(), [&](const auto& line) { return line.find(words) != line.npos; });
}

// Launches take 50 µs, and those that pack 20.
class Packing : public test::OnFakeGpu {
 protected:
  void SetUp() override {
    test::OnFakeGpu::SetUp();
    Cupti::Places places;
    places.folders = {test::fakes_folder() + "/whole"};
    places.by_name = false;
    cupti_ = std::make_unique<Cupti>(places);
  }
  ProfileTools tools() { return {*device_, references_, *cupti_, clocks_}; }
  ProfileSpec spec(const std::string& kernel) const {
    ProfileSpec s;
    s.kernel = kernel, s.problem = find_preset("kernelbench-79-small").problem;
    return s;
  }
  ProfileReport profiled(const std::string& kernel) {
    Activity activity;
    return profile(tools(), spec(kernel), activity);
  }
  // registers, which packs, against direct, which does not.
  BenchReport race(bool with_packing, const std::string& kernel = "registers", const std::string& against = "direct") {
    BenchSpec s;
    s.kernels = {against, kernel}, s.against = against, s.samples = 12;
    s.problem = find_preset("kernelbench-79-small").problem;
    s.with_packing = with_packing;
    Activity activity;
    return bench(tools(), s, activity);
  }
  Setting kernel_{"FAKE_CUDA_KERNEL_US", "50"}, pack_{"FAKE_CUDA_PACK_US", "20"};
  Setting kernels_{"FAKE_CUPTI_KERNELS", "registers_pack_f32,registers_f32_16"};
  std::unique_ptr<Cupti> cupti_;
  Nvml clocks_{test::fakes_folder() + "/libfake_nvml.so"};
};

TEST_F(Packing, AProfileHasBothTimes) {
  auto r = profiled("registers");
  EXPECT_NEAR(r.hot.median_ms(), 0.070, 1e-4);
  EXPECT_NEAR(r.cold.median_ms(), 0.070, 1e-4);
  EXPECT_TRUE(r.packed.packs);
  ASSERT_EQ(r.packed.missing, "");
  EXPECT_NEAR(r.packed.hot.median_ms(), 0.050, 1e-4);
  EXPECT_NEAR(r.packed.cold.median_ms(), 0.050, 1e-4);
  EXPECT_NEAR(r.packed.packing.median_ms(), 0.020, 1e-4);
  EXPECT_FALSE(any_says(r.warnings, "pack")) << r.warnings.front();
  auto other = profiled("direct");
  EXPECT_FALSE(other.packed.packs);
  EXPECT_TRUE(other.packed.hot.empty());
  EXPECT_NE(other.packed.missing, "");
}

// Its timed calls are honest as long as they are whole.
TEST_F(Packing, WorkHiddenInPackingIsSeen) {
  Setting hoarded("FAKE_CUDA_WORK", "hoarded");
  auto r = profiled("registers");
  EXPECT_TRUE(r.packed.hot.empty() && r.packed.cold.empty() && r.packed.packing.empty());
  EXPECT_NE(r.packed.missing.find("do more than pack"), std::string::npos) << r.packed.missing;
  EXPECT_TRUE(any_says(r.warnings, "do more than pack"));
  EXPECT_FALSE(any_says(r.warnings, "whatever the input is"));
  auto b = race(false);
  ASSERT_EQ(b.entries.size(), 2u);
  EXPECT_TRUE(b.entries[1].packed.hot.empty());
  EXPECT_FALSE(b.entries[1].verdict.packed);
  EXPECT_EQ(b.entries[1].verdict.hot->verdict, Comparative::slower) << "with its packing";
  EXPECT_TRUE(any_says(b.warnings, "registers is held with its packing")) << b.warnings.size();
}

// Sums in another order in each call are no such thing.
TEST_F(Packing, OtherRoundingsFromCallToCallAreNot) {
  Setting unsteady("FAKE_CUDA_WORK", "unsteady");
  auto r = profiled("registers");
  ASSERT_EQ(r.packed.missing, "");
  EXPECT_NEAR(r.packed.hot.median_ms(), 0.050, 1e-4);
}

// A launch that may begin early does so behind the packing of its own call, and behind the call before it in the same
// sample; it does not pass the event that a sample begins with.
TEST_F(Packing, NoLaunchPassesTheBeginOfASample) {
  Setting early("FAKE_CUDA_EARLY_US", "15");
  ProfileSpec s = spec("hopper_tf32");
  s.accuracy = Accuracy::tf32;
  Activity activity;
  auto r = profile(tools(), s, activity);
  ASSERT_EQ(r.packed.missing, "");
  EXPECT_NEAR(r.cold.median_ms(), 0.020 + 0.050 - 0.015, 2e-4);
  EXPECT_NEAR(r.packed.cold.median_ms(), 0.050, 2e-4) << "one call a sample";
  EXPECT_GT(r.packed.hot.median_ms(), 0.035 - 2e-4);
  EXPECT_LE(r.packed.hot.median_ms(), 0.050 + 2e-4);
}

TEST_F(Packing, VerdictsAreAboutPackedWeights) {
  auto r = race(false);
  ASSERT_EQ(r.entries.size(), 2u);
  const BenchEntry &direct = r.entries[0], &registers = r.entries[1];
  EXPECT_TRUE(direct.packed.hot.empty());
  EXPECT_EQ(registers.hot.samples_ms.size(), 12u);
  for (const Timing* t : {&registers.packed.hot, &registers.packed.cold, &registers.packed.packing})
    EXPECT_EQ(t->samples_ms.size(), 12u) << "in the same turns";
  EXPECT_NEAR(registers.packed.hot.median_ms(), 0.050, 1e-4);
  EXPECT_NEAR(registers.hot.median_ms(), 0.070, 1e-4);
  EXPECT_NEAR(registers.packed.packing.median_ms(), 0.020, 1e-4);
  EXPECT_TRUE(registers.verdict.packed);
  EXPECT_EQ(registers.verdict.hot->verdict, Comparative::same) << registers.verdict.hot->evidence;
  EXPECT_EQ(registers.verdict.cold->verdict, Comparative::same);
  EXPECT_EQ(registers.whole_verdict.hot->verdict, Comparative::slower) << registers.whole_verdict.hot->evidence;
  EXPECT_EQ(registers.whole_verdict.cold->verdict, Comparative::slower);
  // From the other side too: who packs nothing is held against packed calls.
  auto other = race(false, "direct", "registers");
  EXPECT_TRUE(other.entries[1].verdict.packed);
  EXPECT_EQ(other.entries[1].verdict.hot->verdict, Comparative::same);
  EXPECT_EQ(other.entries[1].whole_verdict.hot->verdict, Comparative::faster);
  // Between two that pack nothing there is one verdict.
  auto none = race(false, "polyphase");
  EXPECT_FALSE(none.entries[1].verdict.packed);
  EXPECT_EQ(none.entries[1].verdict.hot->p, none.entries[1].whole_verdict.hot->p);
}

TEST_F(Packing, WholePlansAgainstEachOther) {
  auto r = race(true);
  const BenchEntry& registers = r.entries[1];
  EXPECT_FALSE(registers.verdict.packed);
  EXPECT_EQ(registers.verdict.hot->verdict, Comparative::slower);
  EXPECT_EQ(registers.verdict.cold->verdict, Comparative::slower);
  EXPECT_NEAR(registers.packed.hot.median_ms(), 0.050, 1e-4) << "shown all the same";
}

TEST_F(Packing, LiveReadingsTellThemApart) {
  Activity activity;
  LiveProfile live(tools(), spec("registers"), activity);
  auto r = live.read(tools(), activity);
  EXPECT_EQ(r.source, "recorded");
  EXPECT_NEAR(r.ms, 0.1, 1e-9) << "the fake's records say 50 µs of each";
  ASSERT_TRUE(r.packed_ms) << r.packed_missing;
  EXPECT_NEAR(*r.packed_ms, 0.05, 1e-9);
  Cupti::Places nowhere;
  nowhere.folders = {test::fakes_folder() + "/no-such-folder"}, nowhere.by_name = false;
  Cupti none(nowhere);
  ProfileTools without{*device_, references_, none, clocks_};
  r = live.read(without, activity);
  EXPECT_FALSE(r.packed_ms);
  EXPECT_NE(r.packed_missing, "");
  LiveProfile other(tools(), spec("direct"), activity);
  r = other.read(tools(), activity);
  EXPECT_FALSE(r.packed_ms);
  EXPECT_NE(r.packed_missing.find("packs no weights"), std::string::npos) << r.packed_missing;
}

// A packed call that is faster than the memory can be read has left work out as much as a whole one.
TEST(PackingWarnings, FasterThanTheMemory) {
  ProfileReport r;
  r.hot.samples_ms = r.cold.samples_ms = std::vector<double>(10, 1.2);
  r.packed.packs = true;
  r.packed.hot.samples_ms = r.packed.cold.samples_ms = std::vector<double>(10, 1.1);
  r.floor = Floor{1, true};
  r.work.least_bytes = 1e9;
  r.device.l2_bytes = 50 << 20;
  EXPECT_TRUE(timing_warnings(r).empty()) << timing_warnings(r).front();
  r.packed.cold.samples_ms = std::vector<double>(10, 0.5);
  EXPECT_TRUE(any_says(timing_warnings(r), "the work cannot all have been done"));
}

// A cancel is seen between the timed calls of an honesty check: what they wrote is gigabytes.
TEST(TimedCalls, ACancelIsSeenBetweenThem) {
  class Cancels : public Subject {
   public:
    std::string name() const override { return "cancels"; }
    bool is_reference() const override { return false; }
    int64_t out_length() const override { return 8; }
    void run(const Bindings&, Activity*) override {}
    Timing time(const Bindings&, bool, const TimingOptions&, Activity* activity) override {
      return calls++, activity->cancel(), Timing{};
    }
    Accuracy accuracy() const override { return Accuracy::strict; }
    int calls = 0;
  } subject;
  auto device = open_emulator();
  ConvProblem p;
  p.length = 8;
  const Inputs inputs = make_inputs(p, {}, nullptr);
  ProblemMemory memory(*device, p, inputs, p.out_length(), 0);
  Activity activity;
  EXPECT_THROW(timed_calls_look_honest(subject, memory, &activity), Cancelled);
  EXPECT_EQ(subject.calls, 1);
}

TEST(PackingOnTheEmulator, IsNotTimedApart) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> references;
  Cupti::Places nowhere;
  nowhere.folders = {"/nowhere"}, nowhere.by_name = false;
  Cupti cupti(nowhere);
  Nvml clocks("/nowhere/libnvidia-ml.so.1");
  Activity activity;
  BenchSpec s;
  s.kernels = {"registers", "tiled"}, s.samples = 2;
  s.problem.length = 40, s.problem.in_channels = s.problem.out_channels = 4, s.problem.kernel_size = 3;
  auto r = bench({*device, references, cupti, clocks}, s, activity);
  EXPECT_TRUE(r.entries[0].packed.packs);
  EXPECT_TRUE(r.entries[0].packed.hot.empty());
  EXPECT_NE(r.entries[0].packed.missing.find("on the emulator"), std::string::npos);
  EXPECT_FALSE(r.entries[1].verdict.packed);
}

}  // namespace
}  // namespace convscope
