// Kernels whose launch is wrong and nothing else: told from outside, by launching them in another way.
#include "kernels/verify/launch_shapes.h"

#include <gtest/gtest.h>

#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

ConvProblem launched_layer() {
  return {.batch = 2, .in_channels = 6, .out_channels = 8, .kernel_size = 5, .length = 70, .stride = 2};
}

std::string fault_of(const std::string& kernel) {
  Activity activity;
  const auto fault = launch_shape_fault(test::kernel(kernel), launched_layer(), activity);
  return fault ? fault->what : "";
}

TEST(LaunchShapes, SidesThatAreExchanged) {
  const std::string round = ": the other way round it is right on 15 small problems";
  EXPECT_EQ(fault_of("l_xy"), "grid.x and grid.y of its launch are exchanged" + round);
  EXPECT_EQ(fault_of("l_yz"), "grid.y and grid.z of its launch are exchanged" + round);
  EXPECT_EQ(fault_of("l_xz"), "grid.x and grid.z of its launch are exchanged" + round);
  EXPECT_EQ(fault_of("l_grid_block"), "the grid and the block of its launch are exchanged" + round);
  EXPECT_EQ(fault_of("l_block"), "block.x and block.y of its launch are exchanged" + round);
  EXPECT_EQ(fault_of("l_turned"),
            "the sides of the grid of its launch are in a wrong order: with its (z, x, y) for (x, y, z) it is right on "
            "15 small problems");
}

TEST(LaunchShapes, SidesThatAreAnotherNumber) {
  const std::string with = ": with that it is right on 15 small problems";
  EXPECT_EQ(fault_of("l_one"), "grid.z of its launch is 1, where N belongs" + with);
  EXPECT_EQ(fault_of("l_inputs"), "grid.y of its launch is Cin, where Cout belongs" + with);
  EXPECT_EQ(fault_of("l_length"), "grid.x of its launch is ⌈L/block.x⌉, where ⌈Lout/block.x⌉ belongs" + with);
  EXPECT_EQ(fault_of("l_half"), "grid.x of its launch is ⌈Lout/(2·block.x)⌉, where ⌈Lout/block.x⌉ belongs" + with);
}

// Controls: one that is right, and one whose index is wrong, which no launch mends.
TEST(LaunchShapes, NothingOfOthers) {
  EXPECT_EQ(fault_of("l_right"), "");
  EXPECT_EQ(fault_of("l_index"), "");
}

}  // namespace
}  // namespace convscope
