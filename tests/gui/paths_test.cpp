// The dialogs that ask for a file: what they list, and what becomes of it when it cannot be written.
#include <filesystem>

#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

// Where nothing could be written, the next save goes to where the last one went.
SCENARIO(a_save_that_fails_changes_no_place) {
  g.press("save");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("good.convscope"), false);
  g.click("//Save session/Save");
  g.settle();
  g.app.execute({SetKernel{"tiled"}, 0});
  g.menu("save-as");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("no/such/bad.convscope"), false);
  g.click("//Save session/Save");
  g.settle();
  CHECK(g.app.toast().find("cannot be written") != std::string::npos);
  CHECK_EQ(g.app.title(), std::string("good.convscope • – tiled – convscope"));
  g.press("save");
  g.settle();
  CHECK_EQ(g.app.toast(), "Saved " + g.path("good.convscope"));
  CHECK(g.read("good.convscope").find("\"tiled\"") != std::string::npos);
}

// Nor does it make a session of a recording, into which the next one would be saved.
SCENARIO(a_save_that_fails_leaves_a_recording_one) {
  const std::string own = g.path("h200-kernelbench-79.convscope");
  std::filesystem::copy_file(project_file("assets/recordings/h200-kernelbench-79.convscope"), own,
                             std::filesystem::copy_options::overwrite_existing);
  g.app.open(own);
  g.settle();
  g.press("save");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("no/such/bad.convscope"), false);
  g.click("//Save session/Save");
  g.settle();
  CHECK(g.app.toast().find("cannot be written") != std::string::npos);
  g.press("save");
  g.popup("Save session");
  CHECK(g.says("h200-kernelbench-79-session.convscope"));
  g.click("//Save session/Cancel");
  g.settle();
}

SCENARIO(what_is_saved_is_listed_with_its_kind) {
  for (const char* name : {"a.convscope", "b.png", "c.npy", "d.cu"}) g.write(name, "kept");
  g.menu("save-picture");
  g.popup("Save picture");
  g.type("//Save picture/##path", g.stage.home + "/", false);
  g.frames(2);
  CHECK(g.exists("//Save picture/**/b.png"));
  CHECK(!g.exists("//Save picture/**/a.convscope") && !g.exists("//Save picture/**/c.npy"));
  CHECK(!g.enabled("//Save picture/Save"));
  g.click("//Save picture/**/b.png");
  CHECK(g.says("There is such a file"));
  g.click("//Save picture/Cancel");
  g.settle();
  CHECK_EQ(g.read("b.png"), std::string("kept"));
  // What one dialog has written the next one lists.
  for (const char* name : {"new.convscope", "other.convscope"}) {
    g.menu("save-as");
    g.popup("Save session");
    g.type("//Save session/##path", g.path(name), false);
    g.frames(2);
    CHECK(g.exists("//Save session/**/a.convscope") && !g.exists("//Save session/**/b.png"));
    CHECK_EQ(g.exists("//Save session/**/new.convscope"), std::string(name) != "new.convscope");
    g.click("//Save session/Save");
    g.settle();
  }
}
