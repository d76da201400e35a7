// The verbs that draw the window: it is a program of its own beside this one.
#pragma once
#include <string>
#include <vector>

namespace convscope {

// The window with a file in it, or with none. Does not return where it is started. Errors: InputError of the file,
// before MissingError of a display.
int verb_window(const std::string& file, bool trust);

struct ScreenshotOptions {
  std::string out, session, panel, size = "1600x1000", theme = "dark", scale = "1", timeout = "120", engine;
  std::vector<std::string> actions;
  bool trust = false;
};
int verb_screenshot(const ScreenshotOptions& options, bool as_json);

}  // namespace convscope
