// Every rule a kernel can break: the sentence names kernel, block, thread and line, and the next launch works.
#include <cmath>
#include <gtest/gtest.h>

#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/kernels/simt/test_entries.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::fault_of;
using test::launch_entry;
using test::launch_test;
using test::planned_launch;

std::string at(const std::string& mark) {
  const char* file = "tests/kernels/simt/faults.cu";
  return std::string(file) + ":" + std::to_string(test::line_of(file, "// FAULT " + mark));
}

void expect_healthy() {
  for (int threads : {32, 256}) {
    std::vector<int> out(static_cast<size_t>(threads) * 20);
    launch_test("healthy", {20}, {threads}, out.data());
    for (size_t i = 0; i < out.size(); i++) {
      int t = static_cast<int>(i) % threads;
      ASSERT_EQ(out[i], (threads - 1 - t) ^ 1);
    }
  }
}

template <class... A>
std::string fault(std::string_view kernel, Shape block, A... arguments) {
  auto said = fault_of([&] { launch_test(kernel, {1}, block, arguments...); });
  expect_healthy();
  return said;
}

// The same under many orders: other threads may be named, but it is always found, and always with the same end.
template <class... A>
void expect_found_in_any_order(std::string_view kernel, Shape block, const std::string& part, A... arguments) {
  for (uint32_t seed = 1; seed <= 25; seed++) {
    auto said =
        fault_of([&] { launch_entry(planned_launch(kernel), {4}, block, 0, {.order_seed = seed}, arguments...); });
    ASSERT_NE(said.find(part), std::string::npos) << "seed " << seed << ": " << said;
    ASSERT_TRUE(said.starts_with("kernel " + std::string(kernel) + ", block (") ||
                said.starts_with("deadlock in kernel "))
        << said;
  }
  expect_healthy();
}

TEST(Fault, ABarrierWaitsForThoseThatHaveNotEnded) {
  for (unsigned who : {0u, 5u, 31u, 32u, 63u, 64u})
    for (uint32_t seed = 0; seed <= 25; seed++) {
      std::vector<int> out(4 * 64, -1);
      EXPECT_EQ(fault_of([&] {
                  launch_entry(planned_launch("exit_before_barrier"), {4}, {64}, 0, {.order_seed = seed}, who,
                               out.data());
                }),
                "");
      const int left = who < 64 ? 63 : 64, odd = who < 64 && who % 2 ? 31 : 32;
      for (unsigned t = 0; t < out.size(); t++)
        ASSERT_EQ(out[t], t % 64 == who ? -1 : left * 1000 + left + odd) << "thread " << t << ", seed " << seed;
    }
  EXPECT_EQ(fault("warp_exits", {96}), "");
}

TEST(Fault, DifferentBarriers) {
  EXPECT_EQ(fault("two_barriers", {64}, 32),
            "kernel two_barriers, block (0, 0, 0), thread (32, 0, 0), at " + at("second_barrier") +
                ": threads of one block wait at different barriers: 32 of 64 wait at " + at("first_barrier"));
  expect_found_in_any_order("two_barriers", {64}, "threads of one block wait at different barriers", 32);
  expect_found_in_any_order("two_barriers", {64}, "threads of one block wait at different barriers", 1);
  EXPECT_EQ(fault("two_barriers", {64}, 64), "") << "all at the first";
  EXPECT_EQ(fault("two_barriers", {64}, 0), "") << "all at the second";
}

TEST(Fault, MaskNamesALaneThatEnded) {
  std::vector<int> out(4 * 64);
  EXPECT_EQ(fault("mask_of_ended_lane", {64}, out.data(), 3),
            "kernel mask_of_ended_lane, block (0, 0, 0), thread (3, 0, 0), at " + at("mask_of_ended_lane") +
                ": __shfl_sync with mask 0xffffffff names lane 3, which has ended");
  EXPECT_EQ(fault("mask_of_ended_lane", {64}, out.data(), 0),
            "kernel mask_of_ended_lane, block (0, 0, 0), thread (1, 0, 0), at " + at("mask_of_ended_lane") +
                ": __shfl_sync with mask 0xffffffff names lane 0, which has ended");
  expect_found_in_any_order("mask_of_ended_lane", {64}, "names lane 13, which has ended", out.data(), 45);
  EXPECT_EQ(fault("mask_of_ended_lane", {64}, out.data(), 64), "");
}

TEST(Fault, MaskNamesALaneThatDoesNotExist) {
  std::vector<int> out(4 * 64);
  EXPECT_EQ(fault("mask_of_missing_lane", {40}, out.data()),
            "kernel mask_of_missing_lane, block (0, 0, 0), thread (32, 0, 0), at " + at("mask_of_missing_lane") +
                ": __ballot_sync with mask 0xffffffff names lane 8, which does not exist");
  expect_found_in_any_order("mask_of_missing_lane", {33}, "names lane 1, which does not exist", out.data());
  EXPECT_EQ(fault("mask_of_missing_lane", {64}, out.data()), "");
}

TEST(Fault, MaskLeavesOutTheCaller) {
  std::vector<int> out(4 * 32);
  EXPECT_EQ(fault("mask_without_caller", {32}, out.data()),
            "kernel mask_without_caller, block (0, 0, 0), thread (0, 0, 0), at " + at("mask_without_caller") +
                ": __shfl_xor_sync with mask 0x0000fffe leaves out the calling lane 0");
  expect_found_in_any_order("mask_without_caller", {32}, "leaves out the calling lane", out.data());
}

TEST(Fault, DifferentOperationsMeet) {
  std::vector<int> out(4 * 32);
  EXPECT_EQ(fault("different_operations", {32}, out.data()),
            "kernel different_operations, block (0, 0, 0), thread (31, 0, 0), at " + at("shuffle_side") +
                ": lanes 31 and 0 wait for each other in different operations: __shfl_sync with mask 0xffffffff, and "
                "__ballot_sync with mask 0xffffffff at " +
                at("ballot_side"));
  expect_found_in_any_order("different_operations", {32}, "wait for each other in different operations", out.data());
  EXPECT_EQ(
      fault("different_shuffles", {32}, out.data()),
      "kernel different_shuffles, block (0, 0, 0), thread (31, 0, 0), at " + at("up_side") +
          ": lanes 31 and 0 wait for each other in different operations: __shfl_up_sync with mask 0xffffffff, and "
          "__shfl_down_sync with mask 0xffffffff at " +
          at("down_side"));
  EXPECT_EQ(fault("different_masks", {32}, out.data()),
            "kernel different_masks, block (0, 0, 0), thread (31, 0, 0), at " + at("large_mask") +
                ": lanes 31 and 0 wait for each other in different operations: __shfl_sync with mask 0xffffffff, and "
                "__shfl_sync with mask 0x00000003 at " +
                at("small_mask"));
}

TEST(Fault, Deadlock) {
  auto said = fault("circular_wait", {32});
  EXPECT_EQ(said, "deadlock in kernel circular_wait, block (0, 0, 0): 1 threads of warp 0 wait at __syncwarp " +
                      at("waits_for_lane") + ", 31 threads of warp 0 wait at __syncthreads " + at("waits_for_block") +
                      "; none of them can go on");
  expect_found_in_any_order("circular_wait", {64}, "none of them can go on");
}

TEST(Fault, Trap) {
  auto said = fault_of([] { launch_test("trap_at", {5}, {64}, 3, 17); });
  EXPECT_EQ(said, "kernel trap_at, block (3, 0, 0), thread (17, 0, 0), at " + at("trap") + ": __trap()");
  expect_healthy();
  EXPECT_EQ(fault("trap_at", {64}, 3, 17), "") << "no block 3";
  for (Shape block : {Shape{4, 4, 4}, Shape{1, 64}}) {
    auto text = fault_of([&] { launch_entry(planned_launch("trap_at"), {1, 2, 2}, block, 0, {.workers = 1}, 0, 0); });
    EXPECT_EQ(text.substr(0, 58), "kernel trap_at, block (0, 0, 0), thread (0, 0, 0), at test");
  }
}

TEST(Fault, ExceptionsOfAKernel) {
  EXPECT_EQ(fault("throw_at", {64}, 33, 0),
            "kernel throw_at threw an exception in block (0, 0, 0), thread (33, 0, 0): planted in a kernel");
  EXPECT_EQ(fault("throw_at", {64}, 0, 1),
            "kernel throw_at threw something that is no exception in block (0, 0, 0), thread (0, 0, 0)");
  EXPECT_EQ(fault("throw_at", {64}, 64, 0), "");
}

TEST(Fault, LaunchShapes) {
  auto kernel = planned_launch("record_indices").entry;
  auto said = [&](Shape grid, Shape block, size_t shared = 0) {
    auto text = simt::launch_shape_fault(kernel, grid, block, shared);
    // What is impossible is refused by a launch as well, in the same words, and touches nothing.
    if (!text.empty()) {
      EXPECT_EQ(fault_of([&] {
                  void* nothing = nullptr;
                  simt::launch(kernel, grid, block, shared, &nothing, {});
                }),
                text);
    }
    return text;
  };
  EXPECT_EQ(said({1}, {1}), "");
  EXPECT_EQ(said({1}, {1025}), "kernel record_indices: block.x 1025 must be between 1 and 1024");
  EXPECT_EQ(said({1}, {1024}), "");
  EXPECT_EQ(said({1}, {1, 1025}), "kernel record_indices: block.y 1025 must be between 1 and 1024");
  EXPECT_EQ(said({1}, {1, 1, 65}), "kernel record_indices: block.z 65 must be between 1 and 64");
  EXPECT_EQ(said({1}, {1, 1, 64}), "");
  EXPECT_EQ(said({1}, {32, 33}), "kernel record_indices: threads in a block, 1056 must be between 1 and 1024");
  EXPECT_EQ(said({1}, {32, 32}), "");
  EXPECT_EQ(said({1}, {0}), "kernel record_indices: block.x 0 must be between 1 and 1024");
  EXPECT_EQ(said({0}, {1}), "kernel record_indices: grid.x 0 must be between 1 and 2147483647");
  EXPECT_EQ(said({-1}, {1}), "kernel record_indices: grid.x -1 must be between 1 and 2147483647");
  EXPECT_EQ(said({int64_t{1} << 31}, {1}), "kernel record_indices: grid.x 2147483648 must be between 1 and 2147483647");
  EXPECT_EQ(simt::launch_shape_fault(kernel, {(int64_t{1} << 31) - 1}, {1}, 0), "");
  EXPECT_EQ(said({1, 65536}, {1}), "kernel record_indices: grid.y 65536 must be between 1 and 65535");
  EXPECT_EQ(said({1, 1, 65536}, {1}), "kernel record_indices: grid.z 65536 must be between 1 and 65535");
  EXPECT_EQ(simt::launch_shape_fault(kernel, {1, 65535, 65535}, {1}, 0), "");
  EXPECT_EQ(said({1}, {1}, 227 * 1024 + 1),
            "kernel record_indices: 232449 bytes of shared memory are asked for, a block can have 232448");
  EXPECT_EQ(simt::launch_shape_fault(kernel, {1}, {1}, 227 * 1024), "");
}

TEST(Fault, OutsideDynamicSharedMemory) {
  auto said = [](int by) {
    auto text = fault_of([&] { launch_entry(planned_launch("outside_dynamic"), {2}, {64}, 256, {.workers = 1}, by); });
    expect_healthy();
    return text;
  };
  const std::string where = "kernel outside_dynamic, block (1, 0, 0): ";
  EXPECT_EQ(said(64), where + "writes beyond its 256 bytes of dynamic shared memory: from their end on");
  EXPECT_EQ(said(300), where + "writes beyond its 256 bytes of dynamic shared memory: 944 bytes behind their end");
  EXPECT_EQ(said(-1), where + "writes before its dynamic shared memory: 4 bytes before its start");
  EXPECT_EQ(said(63), "");
}

TEST(Fault, DynamicSharedMemoryIsNeverThatOfTheBlockBefore) {
  std::vector<float> out(4 * 32);
  launch_entry(planned_launch("dynamic_not_cleared"), {4}, {32}, 128, {.workers = 1}, out.data());
  for (float v : out) EXPECT_TRUE(std::isnan(v));
}

TEST(Fault, LeavesNoObjectAndNoFibreBehind) {
  int made = 0, gone = 0;
  // More faults than there are fibres, if each kept those it had.
  for (int i = 0; i < 60; i++) {
    auto said = fault_of([] { launch_test("fault_with_objects", {2}, {64}); });
    ASSERT_NE(said.find("__trap()"), std::string::npos);
  }
  launch_test("count_objects", {1}, {1}, &made, &gone);
  EXPECT_GT(made, 60 * 2 * 40);
  EXPECT_EQ(made, gone) << "every thread left the kernel by its destructors";
  expect_healthy();
}

TEST(Fault, TheFirstOneEndsTheGrid) {
  // A million blocks would take long; after the fault in block 0 none is begun.
  auto said =
      fault_of([] { launch_entry(planned_launch("trap_at"), {int64_t{1} << 30}, {32}, 0, {.workers = 2}, 0, 0); });
  EXPECT_NE(said.find("block (0, 0, 0)"), std::string::npos) << said;
}

TEST(Fault, TheDeviceReportsItAndGoesOn) {
  auto device = open_emulator();
  const auto& kernel = find_kernel("test_faults");
  auto memory = device->allocate(4096);
  Bindings at_address{0, 0, 0, memory->address(), 0};
  // One of its launches, with one thread: a full mask names lanes that are not there.
  auto said = fault_of([&] { device->run(kernel, kernel.plan_for({}), at_address, {}); });
  EXPECT_NE(said.find("kernel mask_of_missing_lane"), std::string::npos) << said;
  expect_healthy();

  const auto& needs = find_kernel("test_needs_hardware");
  EXPECT_EQ(device->unavailable(needs), "needs sm_100a, tcgen05, which the emulator does not have: run it on a GPU");
  EXPECT_EQ(test::error_of<MissingError>([&] { device->run(needs, needs.plan_for({}), at_address, {}); }),
            "kernel test_needs_hardware; needs sm_100a, tcgen05, which the emulator does not have: run it on a GPU");
}

}  // namespace
}  // namespace convscope
