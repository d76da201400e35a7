// Which panels there are, and where they are docked at first.
#include <algorithm>
#include <imgui.h>
#include <imgui_internal.h>
#include <string_view>
#include <utility>

#include "app/ui/app.h"
#include "app/ui/panel.h"

namespace convscope::ui {

const std::vector<Panel>& panels() {
  static const std::vector<Panel> all = {
      {"Problem", "Parameters of the convolution, and the numbers it runs on", draw_problem, true},
      {"Kernels", "Which kernel, and what it is compared with", draw_kernels, true},
      {"Maps", "Kernel, oracle and difference as pictures", draw_maps, true},
      {"Ladder", "Every kernel's time beside the floor of the problem", draw_ladder, true},
      {"Sweep", "Kernels over one parameter: where they are right, and how fast", draw_sweep, true},
      {"Lines", "Channels as curves, error below", draw_lines, true},
      {"Error statistics", "How errors are spread; tolerance", draw_statistics, true},
      {"Explain", "One element: its taps, and what the kernel read", draw_explain, true},
      {"Source", "The kernel's own text", draw_source, true},
      {"Verdict", "Right or wrong, and by what evidence", draw_verdict, true},
      {"Timing", "Samples, references and floor", draw_timing, true},
      {"Counters", "What was counted while it ran, and what limits it", draw_counters, true},
      {"Compare", "Two kernels side by side: times with a verdict, every counter", draw_compare, true},
      {"Roofline", "What the GPU allows, and where the kernel stands below it", draw_roofline, true},
      {"Timeline", "Launches over time, and what the chip did while they ran", draw_timeline, true},
      {"Occupancy", "Theoretical occupancy and what limits it", draw_occupancy, true},
      {"Devices", "What this machine has, and what is missing", draw_devices, true},
      {"Log", "What the engine says", draw_log, true},
  };
  return all;
}

namespace {

void dock(const char* panel, ImGuiID where) { ImGui::DockBuilderDockWindow(panel, where); }

// The panel of a dock that is in front at first; its tab has no other name before it has been drawn.
void in_front(const char* panel, ImGuiID where) {
  if (ImGuiDockNode* node = ImGui::DockBuilderGetNode(where))
    node->SelectedTabId = ImHashStr("#TAB", 0, ImHashStr(panel));
}

// The tab in front is in sight whenever it, its neighbours or its bar have changed; who scrolls away from it meanwhile
// is left alone.
void front_tab_in_sight(const Frame& f, ImGuiTabBar& bar) {
  struct Seen {
    ImGuiID front = 0;
    int tabs = 0;
    float width = 0, tabs_width = 0;
    int frames = 0;  // in which it is still brought there: a layout moves tabs for some
  };
  static std::map<ImGuiID, Seen> seen;
  constexpr int frames_until_it_lies = 4;
  Seen& s = seen[bar.ID];
  const float width = bar.BarRect.GetWidth();
  if (s.front != bar.VisibleTabId || s.tabs != bar.Tabs.Size || s.width != width || s.tabs_width != bar.WidthAllTabs)
    s = {bar.VisibleTabId, bar.Tabs.Size, width, bar.WidthAllTabs, frames_until_it_lies};
  if (s.frames <= 0) return;
  s.frames--;
  bar.NextScrollToTabId = bar.VisibleTabId;
  f.again_in(0);
}

// A tab that the edge of its bar cuts would show half a word: in the place of what is left of it stand dots. A click on
// them brings it in sight, as one on the tab does.
void cover_cut_tabs(const Frame& f, const ImGuiDockNode& node) {
  const Theme& t = f.theme;
  ImGuiTabBar* bar = node.TabBar;
  if (!bar || !bar->ScrollButtonEnabled || !node.HostWindow) return;
  front_tab_in_sight(f, *bar);
  ImDrawList* draw = node.HostWindow->DrawList;
  for (const ImGuiTabItem& tab : bar->Tabs) {
    const float from = bar->BarRect.Min.x + tab.Offset - bar->ScrollingAnim, to = from + tab.Width,
                low = std::max(from, bar->ScrollingRectMinX), high = std::min(to, bar->ScrollingRectMaxX);
    if (high <= low || (from >= bar->ScrollingRectMinX && to <= bar->ScrollingRectMaxX)) continue;
    if (tab.ID == bar->VisibleTabId) continue;
    draw->PushClipRect({low, bar->BarRect.Min.y}, {high, bar->BarRect.Max.y}, false);
    draw->AddRectFilled({low, bar->BarRect.Min.y}, {high, bar->BarRect.Max.y - 1}, packed(t.background));
    const ImVec2 dots = ImGui::CalcTextSize("…");
    if (high - low > dots.x)
      draw->AddText({(low + high - dots.x) / 2, bar->BarRect.Min.y + ImGui::GetStyle().FramePadding.y}, packed(t.dim),
                    "…");
    draw->PopClipRect();
  }
}

// For a stage: where it is wrong, that it is, and why, in sight together. The rest is a tab away, or in the menu View.
// In a low window what says that it is wrong becomes a tab of why, or the maps would have no room. In a wide one the
// parameters stand beside the maps: who turns one on a stage wants to see what it does. A lesson asks what a line
// lacks: that it is seen whole needs some more room beside them.
std::vector<const char*> stage_layout(ImGuiID space, ImVec2 size, float em, bool is_low, bool lesson) {
  ImGuiID maps = space, right = 0, low = 0, left = 0;
  constexpr float wide = 85, column = 15;  // in ems
  const bool is_wide = size.x > wide * em;
  if (is_wide) ImGui::DockBuilderSplitNode(maps, ImGuiDir_Left, column * em / size.x, &left, &maps);
  const float share = std::clamp((lesson ? 29 : 25) * em / std::max(size.x, 1.0f), 0.3f, 0.42f);
  ImGui::DockBuilderSplitNode(maps, ImGuiDir_Right, share, &right, &maps);
  if (is_low)
    low = right;
  else
    ImGui::DockBuilderSplitNode(maps, ImGuiDir_Down, 0.35f, &low, &maps);
  for (const auto& p : panels()) dock(p.title, right);
  // Lines lie at the right, beside the maps: lessons show both.
  for (const char* panel : {"Maps", "Ladder", "Sweep"}) dock(panel, maps);
  for (const char* panel : {"Problem", "Kernels"}) dock(panel, is_wide ? left : maps);
  for (const char* panel : {"Verdict", "Timing", "Devices", "Log"}) dock(panel, low);
  in_front("Maps", maps), in_front("Explain", right), in_front("Verdict", low);
  return {"Maps", "Ladder", "Problem", "Kernels", "Verdict", "Timing", "Explain", "Source"};
}

}  // namespace

void App::default_layout(ImGuiID space) {
  ImGui::DockBuilderRemoveNode(space);
  ImGui::DockBuilderAddNode(space, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodeSize(space, ImGui::GetMainViewport()->WorkSize);
  ImGuiID centre = space, left = 0, right = 0, low_right = 0, low_left = 0, bottom = 0;
  ImVec2 size = ImGui::GetMainViewport()->WorkSize;
  float em = ImGui::GetFontSize();
  if (staged_.value_or(false)) {
    const auto shown = stage_layout(space, size, em, low_, lesson_.has_value());
    ImGui::DockBuilderFinish(space);
    for (size_t i = 0; i < open_.size(); i++)
      open_[i] = std::find_if(shown.begin(), shown.end(), [&](std::string_view s) { return s == panels()[i].title; }) !=
                 shown.end();
    return;
  }
  auto share = [&](float ems, float of, float least, float most) {
    return std::clamp(ems * em / std::max(of, 1.0f), least, most);
  };
  float left_share = share(20, size.x, 0.15f, 0.4f);
  ImGui::DockBuilderSplitNode(centre, ImGuiDir_Left, left_share, &left, &centre);
  // Narrow: the right column becomes tabs of the middle.
  if (!narrow_) {
    ImGui::DockBuilderSplitNode(centre, ImGuiDir_Right, share(24, size.x * (1 - left_share), 0.2f, 0.42f), &right,
                                &centre);
    ImGui::DockBuilderSplitNode(right, ImGuiDir_Down, 0.48f, &low_right, &right);
  }
  ImGui::DockBuilderSplitNode(left, ImGuiDir_Down, 0.32f, &low_left, &left);
  ImGui::DockBuilderSplitNode(centre, ImGuiDir_Down, 0.42f, &bottom, &centre);
  if (narrow_) right = low_right = centre;  // what the splits have left of it
  dock("Problem", left);
  dock("Kernels", low_left);
  dock("Maps", centre);
  dock("Ladder", centre);
  dock("Sweep", centre);
  dock("Explain", bottom);
  dock("Lines", bottom);
  dock("Error statistics", bottom);
  dock("Source", bottom);
  dock("Compare", bottom);
  dock("Timeline", bottom);
  dock("Occupancy", bottom);                  // the column at the right has no room for four tabs
  dock("Verdict", narrow_ ? bottom : right);  // in sight below the maps
  dock("Timing", low_right);
  dock("Counters", low_right);
  dock("Roofline", low_right);
  dock("Devices", right);
  dock("Log", right);
  if (narrow_) in_front("Verdict", bottom);
  ImGui::DockBuilderFinish(space);
  for (size_t i = 0; i < open_.size(); i++) open_[i] = true;
}

// What a layout that has just been made has in front besides: what was there before; on a stage that has figures of a
// recording and no picture, those; what a lesson's step names, above all.
void App::front_of_layout() {
  const Report* r = bench_->report_of(document());
  const bool figures_alone = settings_.presenter && r && !r->recorded.empty() && !picture();
  std::string panel = figures_alone ? "Ladder" : "Maps", beside = figures_alone ? "Source" : "";
  for (const std::string& title : std::exchange(were_in_front_, {})) {
    const auto at = std::find_if(panels().begin(), panels().end(), [&](const Panel& p) { return title == p.title; });
    const ImGuiWindow* w = ImGui::FindWindowByName(title.c_str());
    if (figures_alone || at == panels().end() || !open_[static_cast<size_t>(at - panels().begin())] || !w) continue;
    if (ImGuiDockNode* node = ImGui::DockBuilderGetNode(w->DockId)) node->SelectedTabId = w->TabId, panel = title;
  }
  if (lesson_) {
    const LessonStep& step = lesson_->steps[lesson_step_];
    if (!step.panel.empty()) panel = step.panel;
    if (!step.beside.empty()) beside = step.beside;
  }
  if (show_panel_.empty()) show_panel_ = panel;
  if (show_beside_.empty()) show_beside_ = beside;
}

void App::keep_layout() {
  if (!kept_layout_ && !layout_pending_) kept_layout_ = Layout{ImGui::SaveIniSettingsToMemory(), open_};
}

void App::other_layout(bool usual) {
  if (!usual) keep_layout();
  were_in_front_.clear();
  if (!usual || !kept_layout_)  // the layout that comes back has its own
    for (const ImGuiWindow* w : ImGui::GetCurrentContext()->WindowsFocusOrder)
      if (w->DockIsActive && w->DockTabIsVisible) were_in_front_.push_back(w->Name);
  if (!usual || !kept_layout_) {
    layout_pending_ = true;
    return;
  }
  open_ = kept_layout_->open;
  next_layout_ = std::exchange(kept_layout_, std::nullopt);
  layout_pending_ = false;
  calm_until_ = ImGui::GetFrameCount() + 3;
  ImGui::SetWindowFocus(nullptr);  // its dock would bring it to the front
}

// Whether it has trouble that nobody has seen: its tab has a dot until it has been in front.
bool App::log_has_news() {
  const auto& log = bench_->link().log();
  if (log.empty() || &log.back() == newest_in_log_) return unread_trouble_;
  for (auto it = log.rbegin(); it != log.rend() && &*it != newest_in_log_; ++it)
    unread_trouble_ |= it->kind == LogLine::Kind::trouble;
  newest_in_log_ = &log.back();
  return unread_trouble_;
}

void App::draw_panels(Frame& f) {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  if (!only_panel_.empty()) {
    ImGui::SetNextWindowPos(viewport->Pos);
    ImGui::SetNextWindowSize(viewport->Size);
    for (const auto& p : panels())
      if (only_panel_ == p.title) {
        ImGui::Begin(p.title, nullptr,
                     ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoSavedSettings |
                         ImGuiWindowFlags_NoMove);
        p.draw(f);
        ImGui::End();
      }
    return;
  }
  ImGuiID space = ImGui::DockSpaceOverViewport(0, viewport);
  // So low that a lesson's panels have no room in four docks, or a map none above another dock: at a large scale most
  // screens are, also without a lesson's text.
  constexpr float lesson_ems = 52;
  const float low_ems = !lesson_ ? 32 : settings_.presenter ? 42 : 46, ems = viewport->Size.y / ImGui::GetFontSize();
  const bool narrow = viewport->WorkSize.x < 1100 * style_scale_,
             staged = settings_.presenter || (lesson_ && ems < lesson_ems), low = staged && ems < low_ems,
             starts_so = !staged_ && staged == settings_.presenter;
  const bool other =
      narrow != narrow_ || (!starts_so && (staged != staged_.value_or(false) || (staged && low != low_)));
  const bool other_stage = staged != staged_.value_or(false);
  narrow_ = narrow, staged_ = staged, low_ = low;
  if (other) other_layout(!narrow && !staged);
  if (other_stage) were_in_front_.clear();  // a stage has panels of its own in front
  if (layout_pending_ && viewport->WorkSize.x > 0) {
    default_layout(space);
    layout_pending_ = false;
    front_of_layout();
    calm_until_ = std::max(calm_until_, ImGui::GetFrameCount() + 3);
  }
  // A dock's own × would close all of its tabs, and the one in front has its own. Others are named in less room
  // without.
  ImGuiWindowClass of_panels;
  of_panels.DockNodeFlagsOverrideSet = ImGuiDockNodeFlags_NoCloseButton;
  for (size_t i = 0; i < panels().size(); i++) {
    // What stands beside is opened as well where no person has closed it, but the stage's layout.
    if (show_panel_ == panels()[i].title || (*staged_ && show_beside_ == panels()[i].title)) open_[i] = true;
    if (!open_[i]) continue;
    bool open = true;
    // The tabs that were in front stay there: whoever appears last would take the keyboard and its dock.
    const bool starts = ImGui::GetFrameCount() <= calm_until_;
    ImGui::SetNextWindowClass(&of_panels);
    const bool log = panels()[i].draw == draw_log, news = log && log_has_news();
    const ImGuiWindowFlags flags = (starts ? ImGuiWindowFlags_NoFocusOnAppearing : ImGuiWindowFlags_None) |
                                   (news ? ImGuiWindowFlags_UnsavedDocument : ImGuiWindowFlags_None);
    const ImGuiWindow* before = ImGui::FindWindowByName(panels()[i].title);
    const bool in_front = !before || !before->DockIsActive || before->DockTabIsVisible;
    if (ImGui::Begin(panels()[i].title, in_front ? &open : nullptr, flags)) {
      panels()[i].draw(f);
      // In the first frames all panels of a dock are in front.
      constexpr int frames_until_docked = 10;
      if (log && ImGui::GetFrameCount() > frames_until_docked) unread_trouble_ = false;
    }
    ImGui::End();
    open_[i] = open;
  }
  std::vector<const ImGuiDockNode*> covered;
  for (const auto& p : panels()) {
    const ImGuiWindow* w = ImGui::FindWindowByName(p.title);
    if (!w || !w->DockIsActive || !w->DockNode || !w->WasActive) continue;
    if (std::find(covered.begin(), covered.end(), w->DockNode) != covered.end()) continue;
    cover_cut_tabs(f, *w->DockNode);
    covered.push_back(w->DockNode);
  }
  // Its tab, without the keyboard: once its dock has tabs.
  if (!show_beside_.empty()) {
    const ImGuiWindow* w = ImGui::FindWindowByName(show_beside_.c_str());
    if (w && w->DockNode && w->DockNode->TabBar) w->DockNode->TabBar->NextSelectedTabId = w->TabId;
    if (!w || !w->DockId || (w->DockNode && w->DockNode->TabBar)) show_beside_.clear();
  }
  if (!show_panel_.empty()) ImGui::SetWindowFocus(show_panel_.c_str()), show_panel_.clear();
  // Where no panel has the keyboard, a popup that closes gives it to the last of them all, and its tab comes to the
  // front.
  if (ImGui::GetFrameCount() == calm_until_ + 1 && !ImGui::GetCurrentContext()->NavWindow)
    for (const char* panel : {"Maps", "Ladder", "Sweep", "Verdict", "Problem"}) {
      ImGuiWindow* w = ImGui::FindWindowByName(panel);
      if (!w || !w->DockIsActive || !w->DockTabIsVisible) continue;
      ImGui::FocusWindow(w);
      break;
    }
}

}  // namespace convscope::ui
