// Every action is one row of one table: menu, toolbar, palette, shortcuts and the help page are drawn from it.
#pragma once
#include <imgui.h>
#include <string>
#include <vector>

namespace convscope::ui {

class App;

struct Action {
  const char* id;
  const char* label;
  const char* menu;      // File, Edit, Run, View, Help; "" for none (1–9 and the like)
  ImGuiKeyChord chord;   // 0: none
  ImGuiKeyChord second;  // another one that does the same
  const char* about;
  bool (*enabled)(const App&);
  void (*run)(App&);
  bool (*checked)(const App&);  // null: no check mark
};

const std::vector<Action>& actions();
const Action* find_action(const std::string& id);
// "Ctrl+Shift+Z", "" for none.
std::string chord_text(ImGuiKeyChord chord);

}  // namespace convscope::ui
