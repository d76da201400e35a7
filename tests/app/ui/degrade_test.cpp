// The ladder of what may be missing, step by step, as the window shows it: an engine whose libraries are fakes answers,
// and the panel Counters says what lacks and what to do, beside the figures that remain.
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"
#include "tests/fakes/setting.h"

namespace convscope::ui {
namespace {

struct Step {
  const char* name;
  std::vector<std::pair<const char*, const char*>> set;
  std::vector<const char*> said;  // what lacks, and what to do
  const char* device = "cuda";
  bool gpu = true;  // times are a GPU's all the same
};

std::ostream& operator<<(std::ostream& out, const Step& s) { return out << s.name; }

class DegradeLadder : public ::testing::TestWithParam<Step> {};

TEST_P(DegradeLadder, IsASentenceInTheWindow) {
  auto fakes = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
  if (!std::filesystem::exists(fakes + "/libfake_cuda.so") || !std::filesystem::exists(fakes + "/whole/libcupti.so.13"))
    GTEST_SKIP() << "this build has no GPU side";
  std::vector<std::unique_ptr<test::Setting>> settings;
  auto set = [&](const char* name, const std::string& value) {
    settings.push_back(std::make_unique<test::Setting>(name, value));
  };
  set("CONVSCOPE_LIBCUDA", fakes + "/libfake_cuda.so");
  set("CONVSCOPE_LIBCUPTI", fakes + "/whole/libcupti.so.13");
  set("CONVSCOPE_LIBNVML", fakes + "/libfake_nvml.so");
  set("CONVSCOPE_LIBCUDNN", "/nowhere");
  set("FAKE_CUPTI_KERNELS", "direct_f32");
  const Step& step = GetParam();
  for (const auto& [name, value] : step.set) set(name, value);

  Document d = test::quick_document(64, "direct");
  d.device = step.device;
  test::AppOnScreen a("", d);
  a->show_only("Counters");
  auto answered = [&] {
    const Report* r = a->bench().report_of(a->document());
    const bool failed = r && r->final && r->status == "not-run";
    return !a->bench().runs().running() && !a->bench().measuring().waits() && !a->bench().inventory().info().empty() &&
           (failed || a->bench().profile_of(a->document()));
  };
  ASSERT_TRUE(a.screen.until(*a, answered, 60)) << a->bench().measuring().trouble();
  ASSERT_TRUE(a.screen.settle(*a));
  const std::string counters = a.said("Counters");
  for (const char* said : step.said) EXPECT_TRUE(test::holds(counters, said)) << said << "\n" << counters;
  if (step.gpu) {
    const Profile* p = a->bench().profile_of(a->document());
    ASSERT_TRUE(p);
    EXPECT_EQ(p->device_kind, "cuda");
    EXPECT_TRUE(p->hot_ms.has_value()) << "the rest is there";
    EXPECT_EQ(p->headlines.size(), 12u);
    for (const auto& h : p->headlines) EXPECT_TRUE(h.value || !h.reason.empty()) << h.name;
    EXPECT_TRUE(test::holds(counters, "registers a thread")) << counters;
  }
  for (const char* panel : {"Counters", "Timing", "Roofline", "Occupancy", "Timeline", "Devices", "Verdict"}) {
    const std::string text = a.said(panel);
    for (const char* never : {"N/A", " root", "sudo"})
      EXPECT_FALSE(test::holds(text, never)) << panel << " says " << never << ": " << text;
  }
}

const Step steps[] = {
    {"NoDriver",
     {{"CONVSCOPE_LIBCUDA", "/nowhere/libcuda.so.1"}},
     {"a GPU's counters are not to be had here: no NVIDIA driver", "driver 580 or later", "only a GPU counts it"},
     "auto",
     false},
    {"NoDriverForAGpuThatWasAskedFor",
     {{"CONVSCOPE_LIBCUDA", "/nowhere/libcuda.so.1"}},
     {"no NVIDIA driver", "install the driver for your GPU", "The panel Devices says"},
     "cuda",
     false},
    {"NoDevice",
     {{"FAKE_CUDA_FAIL", "cuInit:100"}},
     {"no CUDA-capable device is detected", "check nvidia-smi and CUDA_VISIBLE_DEVICES"},
     "cuda",
     false},
    {"DriverTooOld",
     {{"FAKE_CUDA_VERSION", "12040"}},
     {"the NVIDIA driver is too old: it is for CUDA 12.4", "install"},
     "cuda",
     false},
    {"NoCupti",
     {{"CONVSCOPE_LIBCUPTI", "/nowhere/libcupti.so.13"}},
     {"CUPTI (/nowhere/libcupti.so.13) cannot be opened", "install CUPTI of the CUDA Toolkit 13"}},
    {"CuptiOfAnotherVersion",
     {{"FAKE_CUPTI_VERSION", "120400"}},
     {"is version 120400", "install CUPTI of that toolkit"}},
    {"PlaceTakenByAnotherTool",
     {{"FAKE_CUPTI_HOLDER", "Nsight Systems"}},
     {"Nsight Systems holds CUPTI in this process", "start convscope without it"}},
    {"CountersNotPermitted",
     {{"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:35"}},
     {"hardware counters are not permitted to this user", "an administrator opens them",
      "NVreg_RestrictProfilingToAdminUsers=0", "a container needs --cap-add=SYS_ADMIN"}},
    {"HardwareBusy",
     {{"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:26"}},
     {"the GPU's counters are in use by another program", "end it (ncu, nsys, DCGM"}},
    {"MetricNotOnThisChip",
     {{"FAKE_CUPTI_LACKS", "dram__"}},
     {"this chip has no counter for it (dram_busy)", "the set live: not on this chip: dram_busy",
      "counted by hardware"}},
    {"NoneOfASetOnThisChip",
     {{"FAKE_CUPTI_LACKS", "_"}},
     {"GH100 has none of the counters of the set live", "other sets may be there"}},
    {"PartOfAGpu",
     {{"FAKE_CUPTI_FAIL", "cuptiProfilerDeviceSupported:43"}, {"FAKE_NVML_MIG", "1"}},
     {"hardware counters do not work on a part of a GPU (MIG)", "profile on a whole GPU",
      "clocks and power are those of the whole card"}},
    {"VirtualGpu",
     {{"FAKE_CUPTI_UNSUPPORTED", "vgpu"}},
     {"this virtual GPU has no hardware counters", "use a GPU that is passed through whole"}},
    {"VirtualGpuThatForbids",
     {{"FAKE_CUPTI_UNSUPPORTED", "vgpu-disabled"}},
     {"not permitted in this virtual machine", "enable_profiling=1"}},
    {"ConfidentialComputing",
     {{"FAKE_CUPTI_UNSUPPORTED", "cc"}},
     {"while the GPU is in confidential computing mode", "profile on a GPU that is not"}},
    {"Mps",
     {{"FAKE_CUPTI_FAIL", "cuptiProfilerDeviceSupported:31"}},
     {"hardware counters do not work under MPS", "profile outside of MPS"}},
    {"NoNvperf",
     {{"FAKE_CUPTI_FAIL", "cuptiProfilerInitialize:15"}},
     {"CUPTI cannot find libnvperf_host.so", "install the whole of CUPTI"}},
};

INSTANTIATE_TEST_SUITE_P(Steps, DegradeLadder, ::testing::ValuesIn(steps),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convscope::ui
