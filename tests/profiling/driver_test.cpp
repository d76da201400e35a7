// The first two steps down: a driver that finds no GPU, and one that is too old for the device code of this build. The
// driver is opened once a process, so each is asked in a process of its own.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/runtime/device.h"
#include "tests/fakes/setting.h"

namespace convscope {
namespace {

std::string fake_driver() { return test::fakes_folder() + "/libfake_cuda.so"; }

// Prints what a person is told, and ends with 3 when a GPU is missing, with 0 when one is there.
[[noreturn]] void open_gpu(const char* variable, const char* value) {
  setenv("CONVSCOPE_LIBCUDA", fake_driver().c_str(), 1);
  if (variable) setenv(variable, value, 1);
  std::string why;
  const size_t gpus = cuda_devices(why).size();
  int code = 0;
  try {
    open_device("cuda:0");
  } catch (const MissingError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    code = 3;
  }
  // Whoever asks for any device gets the emulator, without a word of trouble.
  const bool as_it_should = gpus == (code ? 0u : 1u) && open_device("auto")->is_emulator() == (code != 0);
  if (!as_it_should) std::fprintf(stderr, "and %zu GPUs are listed: %s\n", gpus, why.c_str());
  std::_Exit(as_it_should ? code : 99);
}

class DriverLadder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(fake_driver())) GTEST_SKIP() << "this build has no GPU side";
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process, in which nothing was opened
  }
};

TEST_F(DriverLadder, AGpuIsThere) { EXPECT_EXIT(open_gpu(nullptr, ""), ::testing::ExitedWithCode(0), ""); }

TEST_F(DriverLadder, NoDevice) {
  EXPECT_EXIT(open_gpu("FAKE_CUDA_FAIL", "cuInit:100"), ::testing::ExitedWithCode(3),
              "no CUDA-capable device is detected.*check nvidia-smi and CUDA_VISIBLE_DEVICES");
}

TEST_F(DriverLadder, TooOld) {
  EXPECT_EXIT(open_gpu("FAKE_CUDA_VERSION", "12040"), ::testing::ExitedWithCode(3),
              "the NVIDIA driver is too old: it is for CUDA 12.4, and this program for CUDA 1[3-9].*install");
}

TEST_F(DriverLadder, ALaterOneOfTheSameMajorVersionWillDo) {
  EXPECT_EXIT(open_gpu("FAKE_CUDA_VERSION", "13020"), ::testing::ExitedWithCode(0), "");
}

TEST_F(DriverLadder, AnotherTrouble) {
  EXPECT_EXIT(open_gpu("FAKE_CUDA_FAIL", "cuInit:999"), ::testing::ExitedWithCode(3),
              "the NVIDIA driver does not start: an error of the fake.*check nvidia-smi");
}

// What is free is asked before it is taken, and somebody else may take it in between. That is no fault of the device:
// the next time there may be enough.
TEST(DriverMemory, WhatIsNotGivenIsAMatterOfMemory) {
  setenv("CONVSCOPE_LIBCUDA", fake_driver().c_str(), 1);
  std::unique_ptr<Device> device;
  try {
    device = open_cuda(0);
  } catch (const MissingError& e) {
    GTEST_SKIP() << e.what();  // a build without the toolkit
  }
  {
    test::Setting full("FAKE_CUDA_FAIL", "cuMemAlloc:2");
    try {
      device->allocate(3 << 20);
      FAIL() << "it was given";
    } catch (const InputError& e) {
      EXPECT_EQ(e.field(), "memory");
      EXPECT_EQ(e.value(), "3.00 MiB");
      EXPECT_EQ(e.rule(), "needed at once, but NVIDIA H200 does not give it, although 1.00 GiB were said to be free");
    }
  }
  EXPECT_EQ(device->allocate(3 << 20)->size(), size_t{3} << 20);
  test::Setting broken("FAKE_CUDA_FAIL", "cuMemAlloc:999");
  EXPECT_THROW(device->allocate(3 << 20), DeviceError);
}

// Whatever step it fails at: a GPU that has no pinned memory now may have it at the next request.
TEST(DriverMemory, ADeviceThatCannotBeOpenedHoldsNothing) {
  setenv("CONVSCOPE_LIBCUDA", fake_driver().c_str(), 1);
  try {
    open_cuda(0);
  } catch (const MissingError& e) {
    GTEST_SKIP() << e.what();  // a build without the toolkit
  }
  void* fake = dlopen(fake_driver().c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_TRUE(fake);
  const int* held = static_cast<const int*>(dlsym(fake, "fake_cuda_held"));
  ASSERT_TRUE(held);
  const int before = *held;
  for (const char* step : {"cuDevicePrimaryCtxRetain", "cuStreamCreate", "cuMemAllocHost", "cuEventCreate"}) {
    test::Setting broken("FAKE_CUDA_FAIL", std::string(step) + ":2");
    EXPECT_THROW(open_cuda(0), DeviceError) << step;
    EXPECT_EQ(*held, before) << step;
  }
  {
    auto device = open_cuda(0);
    EXPECT_EQ(*held, before + 6) << "a context, a stream, two buffers and two events";
  }
  EXPECT_EQ(*held, before);
  dlclose(fake);
}

}  // namespace
}  // namespace convscope
