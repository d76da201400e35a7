#include <gtest/gtest.h>

#include "tests/app/model/kills.h"

namespace convscope {
namespace {

TEST(WorkbenchKill, AThousandEngines) { test::kill_behind_a_workbench(1000, 2); }

}  // namespace
}  // namespace convscope
