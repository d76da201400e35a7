// The dialog of what is kept between starts: each control does what its action does.
#include "tests/gui/gui.h"

using namespace convscope;

SCENARIO(preferences_are_in_one_place) {
  g.write(
      "p.convscope",
      R"({"type": "convscope-session", "version": 1, "problem": {"in_channels": 1, "out_channels": 1, "kernel_size": 1, "length": 4}})");
  g.app.open(g.path("p.convscope"));
  g.settle();
  CHECK_EQ(g.app.settings().recent.size(), 1u);
  g.press("preferences");
  g.popup("Preferences");
  g.click("//Preferences/preferences/light");
  CHECK(g.app.settings().theme == Settings::Theme::light);
  CHECK(g.read("settings.json").find("\"light\"") != std::string::npos);  // at once, not at the end
  g.click("//Preferences/preferences/cividis");
  CHECK_EQ(g.app.settings().value_colours, std::string("cividis"));
  g.click("//Preferences/preferences/run at every change");
  CHECK(!g.app.settings().live);
  const float em = g.app.theme().em;
  g.type("//Preferences/preferences/##size", "125");
  CHECK_EQ(g.app.settings().scale, 1.25);
  g.frames(3);
  CHECK(g.app.theme().em > em * 1.2f);
  g.click("//Preferences/preferences/###forget");
  CHECK(g.app.settings().recent.empty());
  g.click("//Preferences/Defaults");
  CHECK(g.app.settings().theme == Settings::Theme::dark);
  CHECK_EQ(g.app.settings().value_colours, std::string("viridis"));
  CHECK_EQ(g.app.settings().scale, 1.0);
  CHECK(g.app.settings().live);
  g.frames(3);
  CHECK(!g.enabled("//Preferences/Defaults"));
  g.key(ImGuiKey_Escape);
  g.frames(3);
  CHECK(!g.exists("//Preferences/Defaults"));
  g.menu("preferences");
  g.popup("Preferences");
  g.click("//Preferences/Close");
  g.frames(3);
  CHECK(!g.exists("//Preferences/Defaults"));
  g.settle();
}
