// Drawing with no display: an OpenGL 3.3 context through EGL and a framebuffer to read pictures from.
#pragma once
#include <memory>
#include <string>

#include "app/ui/picture_file.h"

namespace convscope::ui {

class Offscreen {
 public:
  // Mesa's surfaceless platform first, then a GPU's own EGL device. Errors: MissingError that says what was tried.
  Offscreen(int width, int height);
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;

  const std::string& renderer() const;  // "llvmpipe (LLVM 15.0.6, 256 bits)", "NVIDIA H200/PCIe/SSE2"
  void begin_frame(double seconds);     // starts an ImGui frame of this size
  void end_frame();                     // draws it
  Picture read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convscope::ui
