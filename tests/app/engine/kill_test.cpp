#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"
#include "tests/app/engine/kills.h"

namespace convscope {
namespace {

TEST(Kill, EnginesAtRandomMoments) { test::kill_engines(test::under_sanitizer ? 25 : 60, 1, 20); }

// The other direction: one engine that lives long does not grow.
TEST(Kill, AnEngineThatLivesStaysTheSame) {
  test::NothingLeft nothing_left;
  EngineClient client({.command = test::test_engine()});
  test::json request = test::run_request("healthy", {{"length", 20000}});
  request["pictures"] = true;
  auto run = [&](int times) {
    for (int i = 0; i < times; i++) {
      request["seed"] = i;
      test::result_of(client, request);
    }
  };
  run(20);
  pid_t pid = client.pid();
  double before = test::resident_mib(pid);
  run(test::under_sanitizer ? 20 : 80);
  EXPECT_EQ(client.pid(), pid);
  if (!test::under_sanitizer) {
    EXPECT_LT(test::resident_mib(pid), before * 1.05) << "it was " << before << " MiB";
  }
}

}  // namespace
}  // namespace convscope
