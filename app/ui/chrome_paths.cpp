// Which file: to open, to save to, to export to.
#include <algorithm>
#include <cfloat>
#include <filesystem>
#include <imgui.h>
#include <misc/cpp/imgui_stdlib.h>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/ui/chrome.h"

namespace convscope::ui {

void Chrome::path_dialog() {
  const char* titles[] = {"Open",
                          "Save session",
                          "Save picture",
                          "Export as a PyTorch module",
                          "Export as CUDA C++",
                          "Edit a copy of the kernel"};
  if (!app_.path_for_) return;
  const char* title = titles[static_cast<int>(*app_.path_for_)];
  if (!ImGui::IsPopupOpen(title)) ImGui::OpenPopup(title);
  float em = ImGui::GetFontSize();
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetCenter(), ImGuiCond_Appearing, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({std::min(em * 36, ImGui::GetMainViewport()->WorkSize.x * 0.9f), 0});
  bool open = true;
  if (!ImGui::BeginPopupModal(title, &open, ImGuiWindowFlags_NoResize)) {
    app_.path_for_.reset();
    return;
  }
  namespace fs = std::filesystem;
  bool opening = *app_.path_for_ == App::PathFor::open;
  const bool exporting = *app_.path_for_ == App::PathFor::pytorch || *app_.path_for_ == App::PathFor::cuda;
  const bool source = exporting || *app_.path_for_ == App::PathFor::copy;
  static std::string replaced;      // by the next Enter
  static bool asked_again = false;  // where the first one was pressed
  if (ImGui::IsWindowAppearing()) replaced.clear();
  if (ImGui::IsWindowAppearing() || std::exchange(asked_again, false)) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-FLT_MIN);
  bool enter =
      ImGui::InputTextWithHint("##path", "path of a file", &app_.path_text_, ImGuiInputTextFlags_EnterReturnsTrue);
  // The folder that is named so far, so that nobody has to know the path by heart. Read once a text.
  static std::string listed_for = "\n";
  static std::vector<std::pair<std::string, bool>> entries;
  fs::path folder = fs::path(app_.path_text_);
  std::error_code error;
  if (!fs::is_directory(folder, error)) folder = folder.parent_path();
  std::string key = folder.string() + "|" + title;
  if (listed_for != key) {
    listed_for = key;
    entries.clear();
    for (const auto& e : fs::directory_iterator(folder.empty() ? fs::path(".") : folder,
                                                fs::directory_options::skip_permission_denied, error)) {
      std::string name = e.path().filename().string(), ending = e.path().extension().string();
      bool is_folder = e.is_directory(error);
      if (name.starts_with(".")) continue;
      if (is_folder || (source ? ending == ".py" || ending == ".cu"
                               : ending == ".convscope" || ending == ".npy" || ending == ".npz" || ending == ".cu" ||
                                     ending == ".py"))
        entries.push_back({name, is_folder});
      if (entries.size() > 2000) break;
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.second != b.second ? a.second : a.first < b.first; });
  }
  ImGui::TextDisabled("in %s", fs::absolute(folder.empty() ? fs::path(".") : folder, error).lexically_normal().c_str());
  if (ImGui::BeginChild("entries", {0, em * 12}, ImGuiChildFlags_Borders)) {
    if (ImGui::Selectable(".."))
      app_.path_text_ = (folder.empty() ? fs::path("..") : folder / "..").lexically_normal().string();
    for (const auto& [name, is_folder] : entries)
      if (ImGui::Selectable((name + (is_folder ? "/" : "")).c_str(), false, ImGuiSelectableFlags_AllowDoubleClick)) {
        const std::string chosen = (folder / name).string() + (is_folder ? "/" : "");
        // Both clicks on it: the first on a folder puts another list under the mouse.
        const bool again = std::exchange(app_.path_text_, chosen) == chosen;
        enter |= again && opening && !is_folder && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
      }
  }
  ImGui::EndChild();
  if (exporting) app_.ask_activation();
  // A name without an ending gets the one by which the file is found again.
  std::string path = app_.path_text_;
  const bool copying = *app_.path_for_ == App::PathFor::copy;
  const char* ending = *app_.path_for_ == App::PathFor::save                                ? ".convscope"
                       : *app_.path_for_ == App::PathFor::picture                           ? ".png"
                       : *app_.path_for_ == App::PathFor::pytorch                           ? ".py"
                       : copying && file_of_kernel(app_.document().kernel).ends_with(".py") ? ".py"
                                                                                            : ".cu";
  // A kernel's file is known by its ending.
  if (!opening && !fs::path(path).filename().empty() && !fs::is_directory(path, error) &&
      (fs::path(path).extension().empty() || (copying && fs::path(path).extension() != ending)))
    path += ending;
  bool exists = fs::exists(path, error) && !fs::is_directory(path, error);
  // Enter alone replaces nothing: it has to be pressed again.
  const bool replaces = !opening && exists;
  if (replaces && enter && replaced != path) {
    replaced = path, enter = false, asked_again = true;
  }
  if (replaces)
    ImGui::TextColored(f_.theme.warning, replaced == path ? "There is such a file: Enter once more replaces it."
                                                          : "There is such a file: it will be replaced.");
  else if (opening && !exists && !app_.path_text_.empty() && !fs::is_directory(path, error))
    ImGui::TextColored(f_.theme.warning, "There is no such file.");
  else if (path != app_.path_text_)
    ImGui::TextDisabled("Saved as %s", fs::path(path).filename().c_str());
  bool possible = opening ? exists : !app_.path_text_.empty() && !fs::is_directory(app_.path_text_, error);
  ImGui::BeginDisabled(!possible);
  bool go = ImGui::Button(opening ? "Open" : replaces ? "Replace" : "Save") || (enter && possible);
  ImGui::EndDisabled();
  ImGui::SameLine();
  bool stop = ImGui::Button("Cancel") || ImGui::IsKeyPressed(ImGuiKey_Escape) || !open;
  if (go || stop) {
    auto what = *app_.path_for_;
    app_.path_for_.reset();
    ImGui::CloseCurrentPopup();
    if (go && what == App::PathFor::open) app_.open(path);
    if (go && what == App::PathFor::save) app_.session_path_ = path, app_.is_recording_ = false, app_.save(false);
    if (go && what == App::PathFor::picture) app_.shot_ = {path};
    if (go && what == App::PathFor::pytorch) app_.export_kernel(path, true);
    if (go && what == App::PathFor::cuda) app_.export_kernel(path, false);
    if (go && what == App::PathFor::copy) app_.copy_kernel(path);
  }
  ImGui::EndPopup();
}

}  // namespace convscope::ui
