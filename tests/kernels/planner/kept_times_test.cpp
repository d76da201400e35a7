// What the planner measured, kept on disk: how often a fake GPU is timed, and what a damaged, old or full file is
// worth.
#include "kernels/planner/kept_times.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/cache.h"
#include "kernels/base/text.h"
#include "kernels/planner/planner.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

// stream_tf32 is the fastest there, whatever the model says.
class FakeGpu : public test::FakeGpu {
 public:
  explicit FakeGpu(const std::string& driver = "580.1", const std::string& name = "Fake GPU")
      : test::FakeGpu(name, driver) {}
  double ms_of(const KernelDefinition& k, const Plan&) const override { return k.name() == "stream_tf32" ? 0.25 : 0.5; }
};

class KeptTimes : public testing::Test {
 protected:
  static ConvProblem problem() { return find_preset("kernelbench-79-small").problem; }
  // By an object that has measured nothing itself; how many plans it had to time.
  static Choice choice(FakeGpu& gpu, const ConvProblem& p, int& timed) {
    Planner planner;
    Activity activity;
    int before = gpu.timed;
    Choice c = planner.choose(p, Accuracy::tf32, gpu, activity);
    timed = gpu.timed - before;
    return c;
  }
  static int timed(FakeGpu& gpu, const ConvProblem& p) {
    int n = 0;
    choice(gpu, p, n);
    return n;
  }
  static std::vector<KeptTime> kept() { return read_times(cached_text(kept_times_file(), 4 << 20)); }

 private:
  test::ScratchFolder folder_;
  test::Setting cache_{"CONVSCOPE_CACHE", folder_.path("cache")};
};

TEST_F(KeptTimes, AreMeasuredOnce) {
  FakeGpu gpu;
  int n = 0;
  Choice first = choice(gpu, problem(), n);
  EXPECT_GE(n, 2);
  EXPECT_EQ(first.kernel->name(), "stream_tf32");
  EXPECT_NE(first.reason.find("stream_tf32: 250 µs measured on Fake GPU"), std::string::npos) << first.reason;
  EXPECT_EQ(kept().size(), static_cast<size_t>(n));
  Choice second = choice(gpu, problem(), n);
  EXPECT_EQ(n, 0);
  EXPECT_EQ(second.kernel, first.kernel);
  EXPECT_NE(second.reason.find("stream_tf32: 250 µs measured " + today() + " on Fake GPU"), std::string::npos)
      << second.reason;
  EXPECT_NE(second.reason.find(" 500 µs measured " + today()), std::string::npos) << second.reason;
}

// Somebody else uses the GPU for the first so many timings.
class BusyGpu : public FakeGpu {
 public:
  explicit BusyGpu(int busy) : busy_(busy) {}
  Timing time(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, bool cold,
              const TimingOptions& options, Activity* activity) override {
    Timing t = FakeGpu::time(kernel, plan, at, cold, options, activity);
    if (timed <= busy_) t.samples_ms[2] *= 2, t.samples_ms[3] *= 3, t.samples_ms[4] *= 3;
    return t;
  }

 private:
  int busy_;
};

TEST_F(KeptTimes, AreSteady) {
  int n = 0;
  BusyGpu busy(1000);
  Choice c = choice(busy, problem(), n);
  EXPECT_EQ(n % 3, 0) << "each three times";
  EXPECT_EQ(c.kernel->name(), "stream_tf32") << "the best that is known";
  EXPECT_TRUE(kept().empty());
  BusyGpu at_first(2);  // the first candidate is steady the third time
  choice(at_first, problem(), n);
  ASSERT_EQ(kept().size(), static_cast<size_t>(n - 2));
  for (const KeptTime& time : kept()) EXPECT_TRUE(time.ms == 0.25 || time.ms == 0.5) << time.ms;
}

TEST_F(KeptTimes, SayTheirDay) {
  FakeGpu gpu;
  timed(gpu, problem());
  auto times = kept();
  for (auto& t : times) t.date = "2026-11-20";
  cache_text(kept_times_file(), times_text(times));
  int n = 0;
  Choice c = choice(gpu, problem(), n);
  EXPECT_EQ(n, 0);
  EXPECT_NE(c.reason.find("measured 2026-11-20 on Fake GPU"), std::string::npos) << c.reason;
  EXPECT_EQ(c.candidates[0].measured_on, "2026-11-20");
}

TEST_F(KeptTimes, AreOfOneGpuDriverAndProblem) {
  FakeGpu gpu;
  const ConvProblem p = problem();
  EXPECT_GT(timed(gpu, p), 0);
  EXPECT_EQ(timed(gpu, p), 0);
  FakeGpu other_driver("590.2"), other_name("580.1", "Other GPU");
  EXPECT_GT(timed(other_driver, p), 0);
  EXPECT_GT(timed(other_name, p), 0);
  for (const auto& field : problem_fields()) {
    ConvProblem q = p;
    if (std::string_view(field.name) == "groups")
      q.groups = 2;
    else if (std::string_view(field.name) == "output_padding")
      q.output_padding = 1;
    else
      q.*field.value += field.name == std::string_view("in_channels") ? 8 : 1;
    ASSERT_FALSE(check(q)) << field.name;
    EXPECT_NE(time_key(gpu.info(), find_kernel("direct"), q), time_key(gpu.info(), find_kernel("direct"), p))
        << field.name;
    EXPECT_GT(timed(gpu, q), 0) << field.name;
  }
  ConvProblem q = p;
  q.bias = true;
  EXPECT_GT(timed(gpu, q), 0);
  q.dtype = DType::f16;
  EXPECT_GT(timed(gpu, q), 0);
  EXPECT_EQ(timed(gpu, q), 0);
  EXPECT_EQ(timed(gpu, p), 0) << "all of them are kept";
}

// A kernel of the name `direct` whose code or launches are another's.
struct Changed : KernelDefinition {
  Changed(const char* file, void (*launches)(const ConvProblem&, Plan&)) : KernelDefinition("direct", file) {
    plan(launches);
  }
};

TEST_F(KeptTimes, AreOfOneVersionOfAKernel) {
  FakeGpu gpu;
  const std::string now = time_key(gpu.info(), find_kernel("direct"), problem());
  EXPECT_EQ(time_key(gpu.info(), find_kernel("direct"), problem()), now);
  auto words = [](const KernelDefinition& k) { return k.name() + " in " + k.file(); };
  Changed code("kernels/ladder/polyphase.cu",
               [](const ConvProblem& p, Plan& plan) { plan = find_kernel("direct").plan_for(p); });
  Changed launches("kernels/ladder/direct.cu",
                   [](const ConvProblem& p, Plan& plan) { plan = find_kernel("polyphase").plan_for(p); });
  EXPECT_NE(time_key(gpu.info(), code, problem()), now) << words(code);
  EXPECT_NE(time_key(gpu.info(), launches, problem()), now) << words(launches);
  // As the planner meets it: times of other code are no times of this kernel.
  EXPECT_GT(timed(gpu, problem()), 0);
  auto times = kept();
  size_t changed = 0;
  for (auto& t : times)
    if (size_t at = t.key.find("stream_tf32 "); at != std::string::npos) {
      char& digit = t.key[at + 12];  // of the hash
      digit = digit == '0' ? '1' : '0', changed++;
    }
  ASSERT_EQ(changed, 1u);
  cache_text(kept_times_file(), times_text(times));
  EXPECT_EQ(timed(gpu, problem()), 1) << "the changed one alone";
}

TEST_F(KeptTimes, ADamagedFileIsNone) {
  const std::vector<KeptTime> times = {{"G | 1 | direct 00 | p", 0.125, "2026-11-20"},
                                       {"H, ü | 2", 3e-3, "2026-11-21"}};
  const std::string good = times_text(times);
  EXPECT_EQ(read_times(good), times);
  EXPECT_EQ(read_times(times_text({})), std::vector<KeptTime>());
  for (size_t n = 0; n < good.size(); n++) EXPECT_TRUE(read_times(good.substr(0, n)).empty()) << n;
  for (size_t n = 0; n < good.size(); n++)
    for (char c : {' ', '\n', '9', '\0'}) {
      std::string bad = good;
      bad[n] = c;
      if (bad == good) continue;
      EXPECT_TRUE(read_times(bad).empty()) << n << " " << int{c};
    }
  EXPECT_TRUE(read_times(good + "more\n").empty());
  // Its sum is right, what it says is not.
  for (const KeptTime& t : {KeptTime{"k", -1, "2026-11-20"},
                            {"k", 0, "2026-11-20"},
                            {"k", INFINITY, "2026-11-20"},
                            {"k", NAN, "2026-11-20"},
                            {"", 1, "2026-11-20"},
                            {"k", 1, "yesterday"},
                            {"k", 1, ""}})
    EXPECT_TRUE(read_times(times_text({t})).empty()) << t.ms << t.key << t.date;
  std::string newer = good;
  newer[newer.find('1')] = '2';
  EXPECT_TRUE(read_times(newer).empty()) << "of a version to come";
}

TEST_F(KeptTimes, ADamagedFileIsMeasuredAnewAndMended) {
  FakeGpu gpu;
  int n = timed(gpu, problem());
  const auto times = kept();
  std::string text = times_text(times);
  text[text.size() / 2] ^= 1;
  cache_text(kept_times_file(), text);
  EXPECT_EQ(timed(gpu, problem()), n);
  EXPECT_EQ(kept().size(), times.size()) << "mended";
  EXPECT_EQ(timed(gpu, problem()), 0);
}

TEST_F(KeptTimes, OnlyTheLastStay) {
  std::vector<KeptTime> times;
  for (size_t i = 0; i < most_kept_times; i++) times.push_back({fmt::format("key {}", i), 1, "2026-11-20"});
  cache_text(kept_times_file(), times_text(times));
  keep_time({"new", 2, "2026-11-21"});
  keep_time({"key 1", 3, "2026-11-21"});  // takes its own place, and the last
  keep_time({"newer", 4, "2026-11-21"});
  auto now = kept();
  ASSERT_EQ(now.size(), most_kept_times);
  EXPECT_FALSE(kept_time("key 0"));
  EXPECT_FALSE(kept_time("key 2"));
  ASSERT_TRUE(kept_time("key 3"));
  EXPECT_EQ(now.front().key, "key 3");
  EXPECT_EQ(now[most_kept_times - 2], (KeptTime{"key 1", 3, "2026-11-21"}));
  EXPECT_EQ(now.back().key, "newer");
}

TEST_F(KeptTimes, OfTwoProcessesAreAllThere) {
  constexpr int processes = 4, each = 30;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; i++)
    if (pid_t child = fork(); child == 0) {
      for (int k = 0; k < each; k++) keep_time({fmt::format("process {} time {}", i, k), 1, "2026-11-20"});
      _exit(0);
    } else {
      children.push_back(child);
    }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(kept().size(), static_cast<size_t>(processes * each));
}

TEST_F(KeptTimes, WithoutAPlaceToKeepThem) {
  test::Setting nowhere("CONVSCOPE_CACHE", "/proc/nowhere");
  FakeGpu gpu;
  int n = timed(gpu, problem());
  EXPECT_GT(n, 0);
  EXPECT_EQ(timed(gpu, problem()), n) << "anew each time";
  // One object remembers what it measured, and gives no day for it.
  Planner planner;
  Activity activity;
  planner.choose(problem(), Accuracy::tf32, gpu, activity);
  n = gpu.timed;
  Choice c = planner.choose(problem(), Accuracy::tf32, gpu, activity);
  EXPECT_EQ(gpu.timed, n);
  EXPECT_NE(c.reason.find("measured on Fake GPU"), std::string::npos) << c.reason;
}

TEST_F(KeptTimes, TheEmulatorHasNone) {
  auto emulator = open_emulator();
  Planner planner;
  Activity activity;
  planner.choose(problem(), Accuracy::tf32, *emulator, activity);
  EXPECT_FALSE(std::filesystem::exists(kept_times_file()));
}

}  // namespace
}  // namespace convscope
