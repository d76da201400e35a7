#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"
#include "tests/app/model/kills.h"

namespace convscope {
namespace {

TEST(WorkbenchKill, EnginesAtRandomMoments) { test::kill_behind_a_workbench(test::under_sanitizer ? 15 : 30, 1); }

}  // namespace
}  // namespace convscope
