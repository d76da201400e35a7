// The emulator as a device.
#include "kernels/runtime/device.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/support.h"

namespace convscope {
namespace {

TEST(EmulatorDevice, SaysWhatItIs) {
  auto device = open_emulator();
  EXPECT_TRUE(device->is_emulator());
  EXPECT_TRUE(device->info().name.starts_with("CPU emulator, ")) << device->info().name;
  EXPECT_EQ(device->info().architecture, "x86-64");
  EXPECT_GE(device->info().multiprocessors, 1);
  EXPECT_GT(device->info().memory_bytes, uint64_t{1} << 20);
  EXPECT_GT(device->free_memory(), uint64_t{1} << 20);
  for (const auto* k : all_kernels())
    if (k->requires_hardware().empty()) {
      EXPECT_EQ(device->unavailable(*k), "");
    }
}

TEST(EmulatorDevice, MemoryIsAlignedWritableAndFilled) {
  auto device = open_emulator();
  for (size_t size : {size_t{4}, size_t{4096}, size_t{100004}, size_t{5} << 20}) {
    auto m = device->allocate(size);
    EXPECT_EQ(m->size(), size);
    EXPECT_EQ(m->address() % 256, 0u);
    device->fill(*m, 0, 0xdeadbeef, size);
    uint32_t word = 0;
    device->read(*m, size - 4, &word, 4);
    EXPECT_EQ(word, 0xdeadbeefu);
    device->fill(*m, size - 4, 7, 4);
    uint32_t numbers[1] = {1234};
    device->write(*m, 0, numbers, 4);
    device->read(*m, 0, &word, 4);
    EXPECT_EQ(word, 1234u);
    if (size > 8) {
      device->read(*m, size - 8, &word, 4);
      EXPECT_EQ(word, 0xdeadbeefu) << "a fill stays inside what it was given";
    }
  }
  auto none = device->allocate(0);
  EXPECT_EQ(none->size(), 0u);
  EXPECT_NO_THROW(device->write(*none, 0, nullptr, 0));
}

TEST(EmulatorDevice, WhatDoesNotFitIsSaidBeforeItIsTaken) {
  auto device = open_emulator();
  for (size_t size : {size_t{1} << 50, device->free_memory() + (size_t{1} << 30), std::numeric_limits<size_t>::max()}) {
    auto said = test::error_of<InputError>([&] { device->allocate(size); });
    EXPECT_TRUE(said.starts_with("memory ")) << said;
    EXPECT_NE(said.find("needed at once, but the system has"), std::string::npos) << said;
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(EmulatorDeviceDeathTest, PagesAroundMemoryAreForbidden) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto touch = [](int64_t from_begin, int64_t from_end) {
    auto device = open_emulator();
    auto m = device->allocate(8192);
    auto* p = reinterpret_cast<volatile char*>(m->address());
    if (from_begin) p[from_begin] = 1;
    if (from_end) p[8191 + from_end] = 1;
  };
  touch(1, -1);  // inside: nothing happens
  EXPECT_DEATH(touch(-1, 0), "");
  EXPECT_DEATH(touch(-60000, 0), "");
  EXPECT_DEATH(touch(0, 1), "");
  EXPECT_DEATH(touch(0, 60000), "");
}
#endif

TEST(EmulatorDevice, RunsAPlanAndCountsItsBlocks) {
  auto device = open_emulator();
  test::Random r(30);
  ConvProblem p;
  p.in_channels = 3, p.out_channels = 5, p.kernel_size = 4, p.length = 300, p.stride = 2;
  auto t = test::random_tensors(r, p);
  auto x = device->allocate(t.x.size_bytes()), w = device->allocate(t.w.size_bytes());
  auto y = device->allocate(static_cast<size_t>(p.y_elements()) * 4);
  device->write(*x, 0, t.x.data(), t.x.size_bytes());
  device->write(*w, 0, t.w.data(), t.w.size_bytes());
  const auto& kernel = find_kernel("scatter");
  Activity activity;
  device->run(kernel, kernel.plan_for(p), {x->address(), w->address(), 0, y->address(), 0}, {0, &activity});
  auto s = activity.snapshot();
  EXPECT_EQ(s.phase, "running scatter");
  EXPECT_EQ(s.total, static_cast<uint64_t>((p.y_elements() + 255) / 256 + (p.x_elements() + 255) / 256));
  EXPECT_EQ(s.done, s.total);
  auto got =
      make_tensor(DType::f32, {1, 5, p.out_length()}, [&](auto* out, int64_t) { device->read(*y, 0, out, y->size()); });
  EXPECT_EQ(test::first_wrong(p, t, test::expected_result(p, t), got), "");

  activity.cancel();
  EXPECT_THROW(
      device->run(kernel, kernel.plan_for(p), {x->address(), w->address(), 0, y->address(), 0}, {0, &activity}),
      Cancelled);
}

TEST(EmulatorDevice, TimesAreEmulatedAndNeverCold) {
  auto device = open_emulator();
  ConvProblem p;
  p.length = 64;
  auto x = device->allocate(256), w = device->allocate(4), y = device->allocate(256);
  device->fill(*x, 0, 0, 256), device->fill(*w, 0, 0, 4);
  const auto& kernel = find_kernel("direct");
  Bindings at{x->address(), w->address(), 0, y->address(), 0};
  TimingOptions o;
  o.min_samples = 3, o.max_samples = 12, o.time_cap_ms = 50;
  auto hot = device->time(kernel, kernel.plan_for(p), at, false, o, nullptr);
  EXPECT_TRUE(hot.emulated);
  EXPECT_GE(hot.samples_ms.size(), 3u);
  EXPECT_LE(hot.samples_ms.size(), 12u);
  EXPECT_GT(hot.min_ms(), 0);
  auto cold = device->time(kernel, kernel.plan_for(p), at, true, o, nullptr);
  EXPECT_TRUE(cold.empty());
  EXPECT_TRUE(cold.emulated);
}

TEST(OpenDevice, ByItsName) {
  EXPECT_TRUE(open_device("emulator")->is_emulator());
  EXPECT_NO_THROW(open_device("auto"));
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CUDA"})
    EXPECT_EQ(test::error_of<InputError>([&] { open_device(name); }),
              std::string("device ") + name + " must be auto, emulator, cuda or cuda:N");
  EXPECT_EQ(test::error_of<InputError>([] { open_device("cuda:99999999999"); }),
            "device cuda:99999999999 has a number that is too large for a GPU's");
  std::string why;
  if (cuda_devices(why).empty()) {
    EXPECT_FALSE(why.empty());
    EXPECT_NE(test::error_of<MissingError>([] { open_device("cuda"); }), "");
    EXPECT_TRUE(open_device("auto")->is_emulator());
  }
}

}  // namespace
}  // namespace convscope
