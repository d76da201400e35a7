// Dear ImGui with no backend: frames, input events, and what was drawn as text. Texture requests are answered as a
// backend does, so that nothing waits for a GPU.
#pragma once
#include <functional>
#include <imgui.h>
#include <imgui_internal.h>
#include <set>
#include <string>

#include "app/ui/app.h"
#include "tests/app/model/documents.h"

namespace convscope::test {

class Screen {
 public:
  explicit Screen(float width = 1600, float height = 1000);
  ~Screen();
  Screen(const Screen&) = delete;

  void resize(float width, float height);
  void frame(const std::function<void()>& draw, double seconds = 1.0 / 60);
  void frame(ui::App& app, double seconds = 1.0 / 60) {
    frame([&] { app.frame(scale); }, seconds);
  }
  void frames(ui::App& app, int n) {
    for (int i = 0; i < n; i++) frame(app);
  }
  // Frames until the condition holds; false when it did not come to that in time.
  bool until(ui::App& app, const std::function<bool()>& condition, double seconds = 30);
  bool settle(ui::App& app);

  // All text of a frame, also what is scrolled away.
  std::string text(ui::App& app);

  // Input; each is seen by the frames that follow.
  void mouse(float x, float y) { io().AddMousePosEvent(x, y); }
  void button(bool down, int which = 0) { io().AddMouseButtonEvent(which, down); }
  void click(ui::App& app, float x, float y, int which = 0);
  void drag(ui::App& app, ImVec2 from, ImVec2 to, int steps);
  void wheel(ui::App& app, float by);
  void press(ui::App& app, ImGuiKeyChord chord);
  void type(ui::App& app, const std::string& text);

  // The rectangle in which the mouse hovers an item, found by trying down a line at this part of the window's width;
  // empty when it is not met there.
  ImRect find(ui::App& app, const std::string& window, ImGuiID item, float across = 0.5f);
  // The id of an item by the ids on the way to it, from its window on.
  static ImGuiID id(const std::string& window, const std::vector<std::string>& path);

  ImGuiIO& io() { return ImGui::GetIO(); }
  std::string clipboard;
  std::vector<std::string> errors;  // that Dear ImGui has found in how it is used
  float scale = 1;

 private:
  void answer_textures();
  void check_drawing();
  std::set<ImTextureID> made_;
  ImTextureID next_texture_ = 1000;
};

// An App on a screen, with the real engine unless another one is named.
struct AppOnScreen {
  explicit AppOnScreen(const std::string& engine = "", const Document& first = quick_document(), bool live = true);
  Screen screen;
  std::unique_ptr<ui::App> app;

  ui::App* operator->() { return app.get(); }
  ui::App& operator*() { return *app; }
  // What a panel says when it is shown alone, from its top, with every run of blanks and line breaks as one blank:
  // where lines break is up to its width.
  std::string said(const char* panel);
  // Opens a recording that comes with the program; false when there is none of this name, or it does not settle.
  bool open_recording(const std::string& name);
};

// An engine that starts and never says a word.
inline constexpr const char* silent_engine = "sleep 1000";

// One start of the window with a file of settings, beside that engine.
struct AppWithSettings {
  explicit AppWithSettings(const std::string& settings_file)
      : app({.engine = {.command = silent_engine}, .settings_file = settings_file, .wake = {}}) {}
  Screen screen;  // before the app
  ui::App app;
};

}  // namespace convscope::test
