// The parts of the status bar, and which of them give way where it has no room for all.
#pragma once
#include <imgui.h>
#include <string>
#include <vector>

namespace convscope::ui {

struct StatusPart {
  std::string mark = {};           // of status_mark(); "?": its ring; "": none
  std::string text, shorter = {};  // "": it has no shorter form
  std::string about = {};          // for its tooltip
  ImVec4 colour = {};
  int goes = 0;  // when it gives way: 1 is the first; 0 stays, and is cut where nothing else helps
};

struct StatusWidths {
  float whole = 0, shorter = 0;  // 0: no shorter form
  int goes = 0;
};

enum class StatusForm { whole, shorter, gone };

// One by one, in the order in which they give way, parts become shorter until all fit; then, in the same order, they
// go. What stays becomes shorter after all others have gone.
std::vector<StatusForm> fit_status(const std::vector<StatusWidths>& parts, float room);

}  // namespace convscope::ui
