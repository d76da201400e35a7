// What is kept between starts, in one dialog.
#include <gtest/gtest.h>

#include "app/model/settings.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

using test::holds;

TEST(Preferences, SayWhereTheyAreKept) {
  test::ScratchFolder folder;
  const std::string file = folder.path("settings.json");
  auto said = [&] {
    test::AppWithSettings start_of(file);
    start_of.screen.frames(start_of.app, 3);
    start_of.screen.press(start_of.app, ImGuiMod_Ctrl | ImGuiKey_Comma);
    start_of.screen.frames(start_of.app, 3);
    std::string text = start_of.screen.text(start_of.app);
    start_of.screen.press(start_of.app, ImGuiKey_Escape);
    start_of.screen.frames(start_of.app, 3);
    EXPECT_FALSE(holds(start_of.screen.text(start_of.app), "colours of values")) << "it is closed";
    return text;
  };
  const std::string text = said();
  for (const char* row : {"theme", "colours of values", "size", "presenter layout", "live", "recent files"})
    EXPECT_TRUE(holds(text, row)) << row;
  for (const char* keys : {"Ctrl+T", "Ctrl+P", "Space"}) EXPECT_TRUE(holds(text, keys)) << keys;
  EXPECT_TRUE(holds(text, "Kept in " + file)) << text;
  // A later version's file is left alone, and nothing is promised.
  const std::string later = R"({"version": 999})";
  folder.write("settings.json", later.data(), later.size());
  EXPECT_TRUE(holds(said(), "is of a later version, and is left alone"));
}

TEST(Preferences, WithoutAFolderTheyLastAsLongAsTheWindow) {
  test::AppOnScreen a(test::silent_engine, test::quick_document(), false);
  a.screen.frames(*a, 3);
  a.screen.press(*a, ImGuiMod_Ctrl | ImGuiKey_Comma);
  a.screen.frames(*a, 3);
  EXPECT_TRUE(holds(a.screen.text(*a), "Kept until the window is closed: there is no folder for it."));
}

}  // namespace
}  // namespace convscope::ui
