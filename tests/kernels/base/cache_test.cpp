#include "kernels/base/cache.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

TEST(Cache, IsWhereTheUserWantsIt) {
  test::Setting home("HOME", "/home/u"), no_xdg("XDG_CACHE_HOME", ""), no_own("CONVSCOPE_CACHE", "");
  EXPECT_EQ(cache_folder(), "/home/u/.cache/convscope");
  {
    test::Setting xdg("XDG_CACHE_HOME", "/xdg");
    EXPECT_EQ(cache_folder(), "/xdg/convscope");
    test::Setting own("CONVSCOPE_CACHE", "/own");
    EXPECT_EQ(cache_folder(), "/own");
    EXPECT_EQ(cache_file("a b/../ü-1.2"), "/own/a_b_..___-1.2") << "one file of that folder, whatever the name";
  }
  test::Setting nowhere("HOME", "");
  EXPECT_EQ(cache_folder(), "");
  EXPECT_EQ(cache_file("a"), "");
}

TEST(Cache, KeepsTexts) {
  test::ScratchFolder folder;
  std::string file = folder.path("new/folder/a.txt");
  EXPECT_EQ(cached_text(file, 100), "");
  cache_text(file, "one\n");
  cache_text(file, "two\n");
  EXPECT_EQ(cached_text(file, 100), "two\n");
  EXPECT_EQ(cached_text(file, 2), "tw");
  int files = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(folder.path("new/folder"))) files++;
  EXPECT_EQ(files, 1) << "nothing is left beside it";
  // Where nothing can be kept nothing happens.
  cache_text("", "x");
  cache_text("/proc/nowhere/a.txt", "x");
  cache_text(folder.path("new/folder"), "x");
  EXPECT_EQ(cached_text(folder.path("new/folder"), 100), "");
  EXPECT_EQ(cached_text(file, 100), "two\n");
}

TEST(Cache, ALockIsHeldByOne) {
  test::ScratchFolder folder;
  std::string file = folder.path("a.txt");
  std::optional<CacheLock> first(std::in_place, file);
  std::atomic<bool> inside = false;
  std::thread other([&] {
    CacheLock second(file);
    inside = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(inside) << "it waits";
  first.reset();
  other.join();
  EXPECT_TRUE(inside);
  CacheLock nowhere("/proc/nowhere/a.txt"), nothing("");  // goes on without
}

}  // namespace
}  // namespace convscope
