#include <gtest/gtest.h>

#include "tests/app/engine/kills.h"

namespace convscope {
namespace {

TEST(Kill, AThousandEngines) { test::kill_engines(1000, 2, 500); }

}  // namespace
}  // namespace convscope
