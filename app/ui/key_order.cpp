#include "app/ui/key_order.h"

#include <imgui.h>
#include <imgui_internal.h>

namespace convscope::ui {
namespace {

bool is_modifier(ImGuiKey key) {
  return (key >= ImGuiKey_LeftCtrl && key <= ImGuiKey_RightSuper) || (key & ImGuiMod_Mask_) ||
         (key >= ImGuiKey_ReservedForModCtrl && key <= ImGuiKey_ReservedForModSuper);
}

}  // namespace

KeyOrder::KeyOrder() = default;
KeyOrder::~KeyOrder() = default;

void KeyOrder::before_frame() {
  auto& queue = ImGui::GetCurrentContext()->InputEventsQueue;
  bool pressed = false;
  for (int i = 0; i < queue.Size; i++) {
    const ImGuiInputEvent& e = queue[i];
    if (e.Type != ImGuiInputEventType_Key) continue;
    if (!is_modifier(e.Key.Key)) {
      pressed |= e.Key.Down;
    } else if (pressed && !e.Key.Down) {
      kept_.assign(queue.begin() + i, queue.end());
      queue.resize(i);
      return;
    }
  }
}

void KeyOrder::after_frame_has_begun() {
  auto& queue = ImGui::GetCurrentContext()->InputEventsQueue;
  for (const auto& e : kept_) queue.push_back(e);
  kept_.clear();
  waiting_ = !queue.empty();
}

}  // namespace convscope::ui
