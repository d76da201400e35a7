// A library of this CPU beside kernels on the emulator: its time is measured, and no verdict comes of it.
#include <gtest/gtest.h>

#include "profiling/profile/bench.h"

namespace convscope {
namespace {

// As oneDNN is one: host time.
class CpuLibrary : public Reference {
 public:
  std::string name() const override { return "onednn"; }
  std::string idea() const override { return "a library"; }
  std::string version() const override { return "1"; }
  std::string unavailable() const override { return ""; }
  std::string unsupported(const ConvProblem&) const override { return ""; }
  void run(const ConvProblem&, const Bindings&, Activity*) override {}
  Timing time(const ConvProblem&, const Bindings&, bool cold, const TimingOptions&, Activity*) override {
    Timing t;
    t.emulated = true;
    if (!cold) t.samples_ms = {0.5};
    return t;
  }
};

TEST(BenchOnTheEmulator, ALibraryOfThisCpuIsMeasuredAndHeldAgainstNobody) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> references;
  references.push_back(std::make_unique<CpuLibrary>());
  Cupti::Places nowhere;
  nowhere.folders = {"/nowhere"}, nowhere.by_name = false;
  Cupti cupti(nowhere);
  Nvml clocks("/nowhere/libnvidia-ml.so.1");
  Activity activity;
  BenchSpec spec;
  spec.kernels = {"tiled", "direct", "onednn"};
  spec.problem.length = 32, spec.samples = 8;
  for (const char* against : {"onednn", "tiled"}) {
    spec.against = against;
    const auto r = bench({*device, references, cupti, clocks}, spec, activity);
    ASSERT_EQ(r.entries.size(), 3u);
    for (const auto& e : r.entries) {
      EXPECT_EQ(e.emulated, e.name != "onednn") << e.name;
      if (e.name == against) continue;
      const bool apart = (e.name == "onednn") != (spec.against == "onednn");
      EXPECT_EQ(e.verdict.hot.has_value(), !apart) << e.name << " against " << against;
      if (apart) {
        EXPECT_EQ(e.no_verdict, "emulated time and the time of a library on this CPU say nothing of each other");
      }
      EXPECT_FALSE(e.name == "onednn" && e.floor) << "a GPU's floor";
    }
  }
}

}  // namespace
}  // namespace convscope
