// What a GPU's driver says of it, and what follows: whose times are kept, and which launches are not tried.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/planner/kept_times.h"
#include "kernels/planner/target.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/driver_version.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/judge.h"
#include "profiling/occupancy/occupancy.h"
#include "profiling/profile/subject.h"
#include "profiling/roofline/measure.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

class DescribedGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("CONVSCOPE_LIBCUDA", (test::fakes_folder() + "/libfake_cuda.so").c_str(), 1);
    setenv("CONVSCOPE_LIBCUDNN", "/nowhere/libcudnn.so.9", 1);
  }
  void SetUp() override {
    std::string why;
    if (cuda_devices(why).empty()) GTEST_SKIP() << why;  // a build without the toolkit
  }
  // As the kernel module of that version would write it.
  void module_of(const std::string& version) {
    const std::string text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version +
                             "  Release Build  (build@host)\nGCC version:  gcc version 12.2.0 (Debian)\n";
    module_.emplace("CONVSCOPE_DRIVER_VERSION", folder_.write("version", text.data(), text.size()));
  }
  static DeviceInfo described() {
    std::string why;
    return cuda_devices(why).at(0);
  }

  test::ScratchFolder folder_;
  test::Setting cache_{"CONVSCOPE_CACHE", folder_.path("cache")};
  std::optional<test::Setting> module_;
};

TEST_F(DescribedGpu, ItsDriverIsNamedByItsOwnVersion) {
  module_of("580.159.04");
  EXPECT_EQ(described().driver, "580.159.04, CUDA 13.0");
  module_.reset();
  module_.emplace("CONVSCOPE_DRIVER_VERSION", "/nowhere/version");
  EXPECT_EQ(described().driver, "CUDA 13.0") << "no module is to be seen";
}

// Two drivers that speak the same CUDA.
TEST_F(DescribedGpu, WhatWasMeasuredIsOfOneDriver) {
  auto p = find_preset("kernelbench-79-small").problem;
  module_of("580.65.06");
  const DeviceInfo before = described();
  keep_time({time_key(before, find_kernel("direct"), p), 1, "2026-11-24"});
  EXPECT_TRUE(kept_time(time_key(described(), find_kernel("direct"), p)));
  module_.reset();
  module_of("580.159.04");
  EXPECT_FALSE(kept_time(time_key(described(), find_kernel("direct"), p)));
  EXPECT_NE(ceilings_file(described()), ceilings_file(before));
}

TEST(DriverVersion, IsFoundInWhatModulesWrite) {
  EXPECT_EQ(version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:09:31 UTC 2026\n"),
            "580.65.06");
  EXPECT_EQ(version_in("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build\n"),
            "540.4.0");
  EXPECT_EQ(version_in("580.159.04\n"), "580.159.04") << "/sys/module/nvidia/version";
  EXPECT_EQ(version_in("590.12"), "590.12");
  for (const char* none : {"", "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)", "580", "580.", "580.x",
                           "v580.65.06", "580.65.", "580.65.06-rc", "1580.65.06", "580.6543.06"})
    EXPECT_EQ(version_in(none), "") << none;
}

TEST_F(DescribedGpu, WhatAsksForTooMuchSharedMemoryIsNotTried) {
  auto p = find_preset("kernelbench-74-small").problem;
  const auto& kernel = find_kernel("mma_3xtf32");
  const Plan plan = kernel.plan_for(p);
  const Bindings at{256, 512, 0, 768, 1024};
  {
    auto device = open_cuda(0);
    EXPECT_EQ(device->info().shared_bytes_per_block, 227 * 1024);
    EXPECT_EQ(device->unavailable(kernel, plan), "");
  }
  test::Setting small("FAKE_CUDA_SHARED", "101376");
  auto device = open_cuda(0);
  const std::string why = "asks for 103424 bytes of shared memory a block (mma_tiles_3xtf32), sm_90 gives 101376";
  EXPECT_EQ(device->unavailable(kernel), "");
  EXPECT_EQ(device->unavailable(kernel, plan), why);
  EXPECT_EQ(device->unavailable(find_kernel("tiled"), find_kernel("tiled").plan_for(p)), "");
  auto refused = [&](auto call) { EXPECT_EQ(test::error_of<MissingError>(call), "kernel mma_3xtf32; " + why); };
  refused([&] { device->run(kernel, plan, at, {}); });
  refused([&] { device->run_together(kernel, plan, at, 1); });
  refused([&] { device->time(kernel, plan, at, false, {}, nullptr); });
  std::vector<std::unique_ptr<Reference>> none;
  refused([&] { make_subject("mma_3xtf32", *device, none, p); });
  // As `convscope run` says it.
  RunSpec spec;
  spec.kernel = &kernel, spec.problem = p, spec.accuracy = Accuracy::tf32x3, spec.references = false;
  Activity activity;
  RunReport r = Judge(*device, none).run(spec, activity);
  EXPECT_EQ(r.verdict.status, Status::not_run);
  EXPECT_EQ(r.verdict.exit_code, 3);
  EXPECT_EQ(r.verdict.sentence, "not run: mma_3xtf32 " + why);
}

// The planner may not include the profiler: each has a table of its own.
TEST(TargetArchitectures, HaveTheSharedMemoryThatOccupancyCountsWith) {
  int both = 0;
  for (const auto& a : target_architectures())
    if (const auto* o = find_architecture("sm_" + std::to_string(a.sm))) {
      EXPECT_EQ(a.shared_bytes_per_block, o->shared_bytes_per_block) << o->name;
      both++;
    }
  EXPECT_GE(both, 7);
  for (const auto& o : gpu_architectures())
    EXPECT_NO_THROW(Target::of_architecture("sm_" + std::to_string(o.sm))) << o.name;
}

}  // namespace
}  // namespace convscope
