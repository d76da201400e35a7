// Against the toolkit's own calculation, over random configurations of every architecture of the table.
#include <cuda_occupancy.h>
#include <gtest/gtest.h>
#include <random>

#include "profiling/occupancy/occupancy.h"

namespace convscope {

static void PrintTo(const GpuArchitecture& a, std::ostream* out) { *out << a.name; }

namespace {

cudaOccDeviceProp properties_of(const GpuArchitecture& a) {
  cudaOccDeviceProp p;
  p.computeMajor = a.sm / 10, p.computeMinor = a.sm % 10;
  p.maxThreadsPerBlock = a.threads_per_block;
  p.maxThreadsPerMultiprocessor = a.threads_per_sm;
  p.regsPerBlock = a.registers_per_block, p.regsPerMultiprocessor = a.registers_per_sm;
  p.warpSize = a.warp_size;
  p.sharedMemPerBlock = 48 * 1024;
  p.sharedMemPerMultiprocessor = static_cast<size_t>(a.shared_bytes_per_sm);
  p.sharedMemPerBlockOptin = static_cast<size_t>(a.shared_bytes_per_block);
  p.reservedSharedMemPerBlock = static_cast<size_t>(a.reserved_bytes_per_block);
  p.numSms = 1;
  return p;
}

class AgainstTheToolkit : public testing::TestWithParam<GpuArchitecture> {};

TEST_P(AgainstTheToolkit, EveryLimitIsTheSame) {
  const GpuArchitecture& a = GetParam();
  cudaOccDeviceProp properties = properties_of(a);
  cudaOccDeviceState state;
  std::mt19937 random(1);
  auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int launched = 0;
  for (int i = 0; i < 20000; i++) {
    BlockShape block{between(1, 10) == 1 ? between(1025, 1100) : between(1, 1024), between(0, 255), 0};
    if (between(0, 3))
      block.shared_bytes = between(0, 1) ? between(0, 16 * 1024) : between(0, a.shared_bytes_per_block + 4096);
    int statics = between(0, static_cast<int>(std::min<int64_t>(block.shared_bytes, 48 * 1024)));
    auto dynamic = static_cast<size_t>(block.shared_bytes - statics);

    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = INT_MAX;
    function.numRegs = block.registers;
    function.sharedSizeBytes = static_cast<size_t>(statics);
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = dynamic;
    function.numBlockBarriers = 1;
    cudaOccResult theirs{};
    ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&theirs, &properties, &function, &state, block.threads, dynamic),
              CUDA_OCC_SUCCESS);

    Occupancy ours = occupancy(a, block);
    SCOPED_TRACE(testing::Message() << a.name << ": " << block.threads << " threads, " << block.registers
                                    << " registers, " << block.shared_bytes << " bytes");
    ASSERT_EQ(ours.blocks, theirs.activeBlocksPerMultiprocessor);
    ASSERT_EQ(ours.by_warps, theirs.blockLimitWarps);
    ASSERT_EQ(ours.by_blocks, theirs.blockLimitBlocks);
    ASSERT_EQ(ours.by_registers, theirs.blockLimitRegs);
    ASSERT_EQ(ours.by_shared, theirs.blockLimitSharedMem);
    ASSERT_EQ(ours.registers_per_block, theirs.allocatedRegistersPerBlock);
    ASSERT_EQ(static_cast<size_t>(ours.shared_bytes_per_block), theirs.allocatedSharedMemPerBlock);
    if (ours.blocks) {
      ASSERT_EQ(ours.limited_by_warps(), bool(theirs.limitingFactors & OCC_LIMIT_WARPS));
      ASSERT_EQ(ours.limited_by_registers(), bool(theirs.limitingFactors & OCC_LIMIT_REGISTERS));
      ASSERT_EQ(ours.limited_by_shared(), bool(theirs.limitingFactors & OCC_LIMIT_SHARED_MEMORY));
      ASSERT_EQ(ours.limited_by_blocks(), bool(theirs.limitingFactors & OCC_LIMIT_BLOCKS));
    }
    launched += ours.blocks > 0;
  }
  EXPECT_GT(launched, 5000);  // else the draw shows nothing
  EXPECT_LT(launched, 19000);
}

// A comparison that cannot fail would show nothing: with another architecture's numbers it does.
TEST(AgainstTheToolkitControl, AnotherArchitectureDiffers) {
  cudaOccDeviceProp properties = properties_of(*find_architecture("sm_86"));
  cudaOccDeviceState state;
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = INT_MAX, function.numRegs = 32, function.numBlockBarriers = 1;
  cudaOccResult theirs{};
  ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&theirs, &properties, &function, &state, 256, 0), CUDA_OCC_SUCCESS);
  EXPECT_NE(occupancy(*find_architecture("sm_90"), {256, 32, 0}).blocks, theirs.activeBlocksPerMultiprocessor);
}

INSTANTIATE_TEST_SUITE_P(Architectures, AgainstTheToolkit,
                         testing::ValuesIn(gpu_architectures().begin(), gpu_architectures().end()),
                         [](const auto& info) { return "sm_" + std::to_string(info.param.sm); });

}  // namespace
}  // namespace convscope
