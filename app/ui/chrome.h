// What surrounds the panels: menu bar, status bar, palette, help, dialogs, toasts.
#pragma once
#include "app/ui/app.h"

namespace convscope::ui {

class Chrome {
 public:
  Chrome(App& app, Frame& frame) : app_(app), f_(frame) {}
  void bars();
  void overlays();

 private:
  void menu_bar();
  void recordings_menu();
  void lessons_menu();
  void lesson_strip();  // above the status bar, while a lesson is open
  void status_bar();
  void engine_part();  // of it: what the engine does
  void palette();
  void help();
  void about();
  void preferences();
  void path_dialog();
  void trust_dialog();
  void toasts();

  App& app_;
  Frame& f_;
  std::string path_open_later_;
};

}  // namespace convscope::ui
