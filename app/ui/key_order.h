// Keys in the order they were pressed. Dear ImGui takes in all key events that came since the last frame at once: when
// Ctrl+Q is pressed and Ctrl let go within one (slow) frame, it sees Q without Ctrl, and the chord is lost.
#pragma once
#include <vector>

struct ImGuiInputEvent;

namespace convscope::ui {

class KeyOrder {
 public:
  KeyOrder();
  ~KeyOrder();
  // Before ImGui::NewFrame(): keeps back what comes after a key was pressed and a modifier let go.
  void before_frame();
  // After it: gives that to the next frame.
  void after_frame_has_begun();
  // The next frame should come at once.
  bool waiting() const { return waiting_; }

 private:
  std::vector<ImGuiInputEvent> kept_;
  bool waiting_ = false;
};

}  // namespace convscope::ui
