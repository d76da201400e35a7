// Which file: to open, to save to, to export to. The rules are the model's (asked_path.h).
#include <algorithm>
#include <cfloat>
#include <filesystem>
#include <imgui.h>
#include <misc/cpp/imgui_stdlib.h>
#include <utility>

#include "app/model/asked_path.h"
#include "app/ui/chrome.h"

namespace convscope::ui {
namespace {

// The folder that is named so far, so that nobody has to know the path by heart. True when a file was clicked twice.
bool list_folder(PathFor what, std::string& text, bool begins) {
  namespace fs = std::filesystem;
  static std::string listed;
  static std::vector<FolderEntry> entries;
  std::error_code error;
  fs::path folder = text;
  if (!fs::is_directory(folder, error)) folder = folder.parent_path();
  // Read once a folder, and anew by each dialog: what the last one saved is there now.
  if (begins || listed != folder.string()) {
    listed = folder.string();
    entries = folder_entries(listed, what);
  }
  ImGui::TextDisabled("in %s", fs::absolute(folder.empty() ? fs::path(".") : folder, error).lexically_normal().c_str());
  bool twice = false;
  if (ImGui::BeginChild("entries", {0, ImGui::GetFontSize() * 12}, ImGuiChildFlags_Borders)) {
    if (ImGui::Selectable("..")) text = (folder.empty() ? fs::path("..") : folder / "..").lexically_normal().string();
    for (const auto& [name, is_folder] : entries)
      if (ImGui::Selectable((name + (is_folder ? "/" : "")).c_str(), false, ImGuiSelectableFlags_AllowDoubleClick)) {
        const std::string chosen = (folder / name).string() + (is_folder ? "/" : "");
        // Both clicks on it: the first on a folder puts another list under the mouse.
        const bool again = std::exchange(text, chosen) == chosen;
        twice |= again && !is_folder && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
      }
  }
  ImGui::EndChild();
  return twice;
}

}  // namespace

void Chrome::path_dialog() {
  const char* titles[] = {"Open",
                          "Save session",
                          "Save picture",
                          "Export as a PyTorch module",
                          "Export as CUDA C++",
                          "Edit a copy of the kernel"};
  if (!app_.path_for_) return;
  const PathFor what = *app_.path_for_;
  const char* title = titles[static_cast<int>(what)];
  if (!ImGui::IsPopupOpen(title)) ImGui::OpenPopup(title);
  float em = ImGui::GetFontSize();
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetCenter(), ImGuiCond_Appearing, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({std::min(em * 36, ImGui::GetMainViewport()->WorkSize.x * 0.9f), 0});
  bool open = true;
  if (!ImGui::BeginPopupModal(title, &open, ImGuiWindowFlags_NoResize)) {
    app_.path_for_.reset();
    return;
  }
  const bool opening = what == PathFor::open, begins = ImGui::IsWindowAppearing();
  static std::string replaced;      // by the next Enter
  static bool asked_again = false;  // where the first one was pressed
  if (begins) replaced.clear();
  if (begins || std::exchange(asked_again, false)) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-FLT_MIN);
  bool enter =
      ImGui::InputTextWithHint("##path", "path of a file", &app_.path_text_, ImGuiInputTextFlags_EnterReturnsTrue);
  // Of what is saved the first click has said that it will be replaced: the second is no answer to that.
  const bool twice = list_folder(what, app_.path_text_, begins);
  enter |= twice && opening;
  if (what == PathFor::pytorch || what == PathFor::cuda) app_.ask_activation();
  const AskedPath asked = asked_path(what, app_.path_text_, app_.document().kernel);
  // Enter alone replaces nothing: it has to be pressed again.
  if (enter && !asked.possible) asked_again = true;  // typing goes on
  if (asked.replaces && enter && replaced != asked.path) replaced = asked.path, enter = false, asked_again = true;
  if (asked.replaces)
    ImGui::TextColored(f_.theme.warning, replaced == asked.path ? "There is such a file: Enter once more replaces it."
                                                                : "There is such a file: it will be replaced.");
  else if (!asked.possible && !asked.words.empty())
    ImGui::TextColored(f_.theme.warning, "%s", asked.words.c_str());
  else if (!asked.words.empty())
    ImGui::TextDisabled("%s", asked.words.c_str());
  ImGui::BeginDisabled(!asked.possible);
  bool go = ImGui::Button(opening ? "Open" : asked.replaces ? "Replace" : "Save") || (enter && asked.possible);
  ImGui::EndDisabled();
  ImGui::SameLine();
  bool stop = ImGui::Button("Cancel") || ImGui::IsKeyPressed(ImGuiKey_Escape) || !open;
  if (go || stop) {
    app_.path_for_.reset();
    ImGui::CloseCurrentPopup();
    if (go) app_.take_path(what, asked.path);
  }
  ImGui::EndPopup();
}

}  // namespace convscope::ui
