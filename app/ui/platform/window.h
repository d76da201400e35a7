// The real window: GLFW and OpenGL. Sleeps until something happens.
#pragma once
#include <string>

namespace convscope::ui {

struct WindowOptions {
  std::string engine;         // its command; "": convscope beside this program
  std::string open;           // a session, a kernel's or an input file
  bool trust = false;         // kernels' files run without a question
  std::string settings_file;  // "": nothing is kept
  int width = 1600, height = 1000;
  double for_seconds = 0;  // > 0: closes by itself (measurements)
};

// Returns the exit code. Errors: MissingError when no window can be opened.
int run_window(const WindowOptions& options);

}  // namespace convscope::ui
