#include "app/ui/app.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <limits>

#include "app/engine/kernel_file.h"
#include "app/ui/actions.h"
#include "app/ui/chrome.h"
#include "app/ui/panels/map_view.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope::ui {

App::App(AppOptions options) : options_(std::move(options)) {
  std::string trouble;
  if (!options_.settings_file.empty()) settings_ = load_settings(options_.settings_file, trouble);
  theme_ = settings_.theme == Settings::Theme::light ? light_theme() : dark_theme();
  load_fonts(theme_);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.MouseDoubleClickTime = 0.45f;  // as desktops have it; frames may take a tenth of a second
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable | ImGuiConfigFlags_NavEnableKeyboard;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  if (!settings_.layout.empty()) {
    ImGui::LoadIniSettingsFromMemory(settings_.layout.c_str(), settings_.layout.size());
    layout_pending_ = false;
  }
  for (const auto& p : panels()) open_.push_back(p.open_at_first);
  ImGuiContextHook before_frame;
  before_frame.Type = ImGuiContextHookType_NewFramePre;
  before_frame.UserData = this;
  before_frame.Callback = [](ImGuiContext*, ImGuiContextHook* hook) {
    auto& layout = static_cast<App*>(hook->UserData)->next_layout_;
    if (layout) ImGui::LoadIniSettingsFromMemory(layout->text.c_str(), layout->text.size());
    layout.reset();
  };
  hook_ = ImGui::AddContextHook(ImGui::GetCurrentContext(), &before_frame);
  bench_ = std::make_unique<Workbench>(options_.engine, options_.wake);
  bench_->files().on_came([this](const std::string& path, const std::string& trouble) { kernel_came(path, trouble); });
  if (!trouble.empty()) bench_->link().note(trouble, LogLine::Kind::trouble);
  run_by_itself();
}

App::~App() {
  const auto typed = source_edit().last_words();
  source_edit().end();
  if (typed) write_kernel(*typed);
  ImGui::RemoveContextHook(ImGui::GetCurrentContext(), hook_);
  if (!options_.settings_file.empty()) {
    // The next window may be wide, and begins without a lesson.
    const bool squeezed = (narrow_ || staged_.value_or(false)) && kept_layout_ && !settings_.presenter;
    if (only_panel_.empty()) settings_.layout = squeezed ? kept_layout_->text : ImGui::SaveIniSettingsToMemory();
    save_settings(options_.settings_file, settings_);
    keep_last_session();
  }
  bench_.reset();
}

Extent App::extent() const {
  const Report* r = picture();
  return r ? Extent{static_cast<double>(r->rows()), static_cast<double>(r->columns())} : Extent{};
}

void App::say(const std::string& text) {
  toasts_.push_back({text, ImGui::GetTime() + 4 + 0.04 * static_cast<double>(text.size())});
  const auto oldest = std::find_if(toasts_.begin(), toasts_.end(), [](const Note& n) { return !n.stays(); });
  if (toasts_.size() > 4 && oldest != toasts_.end()) toasts_.erase(oldest);
}

// ---- changes: the only place where anything becomes different -----------------------------------------------------

void App::execute(const Command& command) {
  Document before = document();
  try {
    // A kernel is recorded at the accuracy it promises: choosing the one chooses the other.
    Command c = command;
    if (bench_->recorded().is_open() && !std::holds_alternative<SetAccuracy>(c.change)) {
      Document next = convscope::apply(before, c.change), recorded = bench_->recorded().nearest(next);
      if (!(next == recorded)) c.change = ReplaceDocument{recorded, ""};
    }
    if (history_.apply(c)) document_changed(before);
  } catch (const InputError& e) {
    say(e.what());
  }
}

void App::document_changed(const Document& before) {
  const Document& now = document();
  if (before.problem.y_elements() != now.problem.y_elements() ||
      before.problem.out_channels != now.problem.out_channels) {
    // Another shape: what was selected may be gone. Who turns one parameter goes on looking at the same place, of
    // another problem everything is shown.
    View v = views_.now();
    int64_t turned = 0;
    for (const auto& field : problem_fields()) turned += before.problem.*field.value != now.problem.*field.value;
    const bool elsewhere = v.row0 >= static_cast<double>(now.problem.batch * now.problem.out_channels) ||
                           v.column0 >= static_cast<double>(now.problem.out_length());
    if (v.selected && (v.selected->row >= now.problem.batch * now.problem.out_channels ||
                       v.selected->column >= now.problem.out_length()))
      v.selected.reset();
    const bool whole = turned > 1 || elsewhere, drops = whole && !(v.colours == OwnColours{});
    if (whole) v.row0 = v.row1 = v.column0 = v.column1 = 0, v.colours = {};
    views_.set(v, drops);  // what somebody has set is a place to come back to
  }
  if (before.kernel != now.kernel) kernel_before_ = before.kernel;
  if (!needs_run(before, now)) return;
  bench_->show_live(false);  // what is recorded of the new document is shown at once
  // A file is compiled for another device first, and then run.
  if (before.device != now.device && bench_->files().of(now.kernel)) try {
      return bench_->files().bring(file_of_kernel(now.kernel), now.device);
    } catch (const InputError& e) {  // it is not there any more
      return say(e.what());
    }
  run_by_itself();
}

void App::run_by_itself() {
  if (!settings_.live) return;
  // Whether there is a GPU is known a moment after the start.
  run_when_known_ = !bench_->inventory().knows_devices();
  if (!bench_->waits_for_a_person(document()))
    bench_->run(document()), run_when_known_ = false;
  else if (bench_->runs().running())
    bench_->cancel();
}

void App::apply(const Event& event) {
  if (auto* c = std::get_if<Command>(&event))
    execute(*c);
  else if (auto* v = std::get_if<SetView>(&event))
    views_.set(v->view, v->keep);
  else if (auto* w = std::get_if<Wish>(&event))
    w->ask(*bench_);
  else if (auto* s = std::get_if<SetSettings>(&event))
    set_settings(s->settings);
  else if (auto* t = std::get_if<Toast>(&event))
    say(t->text);
  else if (auto* o = std::get_if<OpenFile>(&event))
    open(o->path);
  else if (auto* p = std::get_if<ShowPanel>(&event))
    show_panel_ = p->title;
  else if (auto* q = std::get_if<AskPicture>(&event))
    ask_picture(q->area, q->file);
  else if (auto* k = std::get_if<WriteFile>(&event))
    write_kernel(*k);
  else if (auto* a = std::get_if<RunAction>(&event)) {
    const Action* action = find_action(a->id);
    if (action && action->enabled(*this)) action->run(*this);
  }
}

void App::set_settings(const Settings& s) {
  if (s.theme != settings_.theme) {
    Theme fresh = s.theme == Settings::Theme::light ? light_theme() : dark_theme();
    fresh.text_font = theme_.text_font, fresh.bold_font = theme_.bold_font, fresh.code_font = theme_.code_font;
    theme_ = fresh;
  }
  const bool other = s.presenter != settings_.presenter;
  bool now_live = s.live && !settings_.live;
  settings_ = s;
  if (other && settings_.presenter && shows_number_of_selected()) readable_in_ = 5;
  if (now_live && (!bench_->runs().picture() || !bench_->runs().stale(document()).empty())) run_by_itself();
  if (!options_.settings_file.empty()) save_settings(options_.settings_file, settings_);
}

void App::undo() {
  if (draft_.problem) {  // the newest thing that was done
    say("Taken back: " + draft_.field);
    draft_ = {};
    return;
  }
  // A lesson is one step of undo: in the middle of it that would leave its text without what it speaks of.
  if (lesson_ && lesson_step_ > 0 && document() == lesson_->steps[lesson_step_].document)
    return say("This is as the step begins: Page Up goes to the one before, End leaves the lesson");
  Document before = document();
  if (!history_.undo()) return;
  draft_ = {};
  document_changed(before);
  say("Undone: " + describe_change(before, document()));
}

void App::redo() {
  Document before = document();
  if (!history_.redo()) return;
  draft_ = {};
  document_changed(before);
  say("Done again: " + describe_change(before, document()));
}

void App::run() {
  if (const std::string file = file_of_kernel(document().kernel);
      names_file(file) && !bench_->files().of(file) && coming_kernel_ != file)
    return open(file);  // nobody has trusted it yet
  // A key that is hit by chance is not to take a recording away and keep the emulator busy for minutes.
  constexpr double again_s = 6;
  if (bench_->shows_recorded(document()) && !(ImGui::GetTime() - run_asked_at_ < again_s)) {
    run_asked_at_ = ImGui::GetTime();
    return say("What was recorded is shown: Run (F5) once more runs it here");
  }
  run_asked_at_ = -again_s;
  bench_->show_live(true);  // whoever runs it wants to see it
  bench_->run(document());
}

void App::toggle_recorded() {
  bench_->show_live(!bench_->live_shown());
  if (bench_->live_shown() && settings_.live && !bench_->runs().running() &&
      (!bench_->runs().picture() || !bench_->runs().stale(document()).empty()))
    bench_->run(document());
}

void App::back_to_recorded() {
  if (auto back = bench_->recorded().way_back(document())) execute({ReplaceDocument{*back, ""}, 0});
}

void App::shorten() {
  const ConvProblem piece = short_piece(document());
  if (piece == document().problem) return say("The problem is no larger than a short piece of it");
  execute({SetProblem{piece}, 0});
  show_panel_ = "Maps";  // where its pictures are
  if (!settings_.live) run();
}

void App::close_recording() {
  bench_->open_recording(nullptr);
  if (std::exchange(is_recording_, false)) session_path_.clear();
  if (!bench_->runs().picture() || !bench_->runs().stale(document()).empty()) run_by_itself();
  say("The recording is closed");
}

void App::profile(bool full) {
  bench_->show_live(true);
  bench_->measuring().want_profile(document(), full);
  show_panel_ = "Counters";
}

void App::xray() {
  bench_->show_live(true);
  if (const Report* r = bench_->runs().report().get(); bench_->causes().of(*r) && r->status == "wrong")
    say("The index was looked at with the verdict: what was found stands below it");
  bench_->causes().want(*bench_->runs().report(), true);
  show_panel_ = "Verdict";
}

bool App::can_mend() const {
  const auto report = bench_->runs().report();
  return report && report->final && !bench_->runs().running() &&
         (report->status == "wrong" || report->status == "crashed") &&
         (bench_->files().of(file_of_kernel(report->document.kernel)) ||
          bench_->inventory().is_exhibit(report->document.kernel));
}

void App::mend() {
  bench_->show_live(true);
  bench_->mending().want(*bench_->runs().report());
  show_panel_ = "Verdict";
}

void App::check_others() {
  if (bench_->checks().now().running) return bench_->checks().stop();
  bench_->show_live(true);
  bench_->checks().begin(document());
  show_panel_ = "Verdict";
}

void App::keep_measuring() {
  if (bench_->measuring().monitor().on) return bench_->measuring().stop_monitor();
  bench_->show_live(true);
  bench_->measuring().keep_on(document());
  show_panel_ = "Counters";
}

void App::compare() {
  if (bench_->runs().running()) say("It is compared when the run is over");
  compare_ = true;
  show_panel_ = "Compare";
}

void App::sweep() {
  if (bench_->sweeps().now().running) return bench_->sweeps().stop();
  show_panel_ = "Sweep";
  try {
    const SweepSpec spec =
        sweep_of(document(), axis_from(settings_.sweep_over), bench_->inventory().known_of(settings_.sweep_with));
    bench_->sweeps().can_go_on(spec) ? bench_->sweeps().go_on() : bench_->sweeps().begin(spec);
  } catch (const InputError& e) {
    say(e.what());
  }
}

void App::cancel() {
  // Who stops what was to be seen in the place of a recording has the recording again.
  const bool back = bench_->runs().running() && bench_->live_shown() && bench_->recorded().holds(document());
  bench_->cancel();
  bench_->measuring().stop_monitor();
  if (back) bench_->show_live(false), say("Cancelled: what was recorded is shown again");
}

void App::refresh() { bench_->inventory().ask(); }

void App::toggle_live() {
  Settings s = settings_;
  s.live = !s.live;
  set_settings(s);
}

// ---- view ---------------------------------------------------------------------------------------------------------

void App::fit() {
  View v = views_.now();
  v.row0 = v.row1 = v.column0 = v.column1 = 0;
  views_.set(v, true);
}

void App::zoom(double factor) {
  View v = fitted(views_.now(), extent());
  double row = 0.5, column = 0.5;
  if (v.selected) {
    double r = (static_cast<double>(v.selected->row) + 0.5 - v.row0) / (v.row1 - v.row0),
           c = (static_cast<double>(v.selected->column) + 0.5 - v.column0) / (v.column1 - v.column0);
    if (r >= 0 && r <= 1 && c >= 0 && c <= 1) row = r, column = c;
  }
  views_.set(zoomed(v, extent(), factor, factor, row, column), true);
}

// Of the selected element's, as far as the room goes that the maps have had until now.
bool App::shows_number_of_selected() const {
  const View v = fitted(views_.now(), extent());
  if (!v.selected || !picture()) return false;
  const auto row = static_cast<double>(v.selected->row), column = static_cast<double>(v.selected->column);
  return v.row1 - v.row0 <= cells_.rows + 1 && v.column1 - v.column0 <= cells_.columns + 1 && row >= v.row0 &&
         row < v.row1 && column >= v.column0 && column < v.column1;
}

void App::view_back() { views_.back(); }
void App::view_forward() { views_.forward(); }

void App::find_failing(bool forward) {
  ElementIndex from = views_.now().selected.value_or(
      forward ? ElementIndex{0, -1}
              : ElementIndex{static_cast<int64_t>(extent().rows) - 1, static_cast<int64_t>(extent().columns)});
  const Report* shown = picture();
  if (!shown) return;
  const Beside* other = beside_of(*bench_, document());
  const bool apart = other;  // the next difference, then
  bench_->pictures().find_failing(
      apart ? other->difference : shown->key, from, forward, [this, forward, apart](std::optional<ElementIndex> at) {
        if (!at) {
          const Report* r = picture();
          const Beside* now = beside_of(*bench_, document());
          const bool none = apart ? now && now->beyond == 0 : r && r->failing.value_or(0) == 0;
          const char* what = apart ? "differing" : "failing";
          say(none ? (apart ? "No element differs" : "No element fails")
                   : fmt::format("No {} element {} this one", what, forward ? "after" : "before"));
          return;
        }
        views_.set(readable(views_.now(), extent(), *at, cells_), true);
        show_panel_ = "Explain";
      });
}

void App::move_selection(int rows, int columns) {
  View v = views_.now();
  Extent e = extent();
  ElementIndex at = v.selected.value_or(ElementIndex{0, 0});
  if (v.selected) {
    at.row = std::clamp<int64_t>(at.row + rows, 0, static_cast<int64_t>(e.rows) - 1);
    at.column = std::clamp<int64_t>(at.column + columns, 0, static_cast<int64_t>(e.columns) - 1);
  }
  v.selected = at;
  // It stays in sight.
  View shown = fitted(v, e);
  auto row = static_cast<double>(at.row), column = static_cast<double>(at.column);
  double dr = row < shown.row0 ? row - shown.row0 : row + 1 > shown.row1 ? row + 1 - shown.row1 : 0;
  double dc = column < shown.column0       ? column - shown.column0
              : column + 1 > shown.column1 ? column + 1 - shown.column1
                                           : 0;
  views_.set(dr != 0 || dc != 0 ? moved(v, e, dr, dc) : v, false);
}

void App::toggle_classes() {
  View v = views_.now();
  v.show_classes = !v.show_classes;
  views_.set(v, false);
}

void App::turn_explanation() {
  View v = views_.now();
  v.from_input = !v.from_input;
  views_.set(v, false);
}

void App::toggle_presenter() {
  Settings s = settings_;
  s.presenter = !s.presenter;
  set_settings(s);
}
void App::toggle_theme() {
  Settings s = settings_;
  s.theme = s.theme == Settings::Theme::light ? Settings::Theme::dark : Settings::Theme::light;
  set_settings(s);
}
void App::toggle_colours() {
  Settings s = settings_;
  s.value_colours = s.value_colours == "viridis" ? "cividis" : "viridis";
  set_settings(s);
}
void App::scale_by(double factor) {
  Settings s = settings_;
  s.scale = std::clamp(s.scale * factor, 0.75, 2.0);
  set_settings(s);
}

const std::vector<ShippedRecording>& App::recordings() {
  static const std::vector<ShippedRecording> all = shipped_recordings();
  return all;
}

void App::show_only(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& p : panels()) {
    if (name == p.title) {
      only_panel_ = name;
      return;
    }
    names.push_back(p.title);
  }
  throw InputError("panel", name, "is not a panel: " + fmt::format("{}", fmt::join(names, ", ")));
}

// ---- a frame ------------------------------------------------------------------------------------------------------

void App::restyle(float display_scale) {
  float scale = display_scale * static_cast<float>(settings_.scale) * (settings_.presenter ? 1.35f : 1);
  if (scale == style_scale_ && theme_.light == style_light_) return;
  style_scale_ = scale, style_light_ = theme_.light;
  apply_theme(theme_, scale);
}

void App::shortcuts() {
  ImGuiIO& io = ImGui::GetIO();
  if (path_for_ || !untrusted_.empty() || palette_open_ || help_open_ || about_open_ || preferences_open_) return;
  // Arrows and Space also walk through menus and controls: they do that while a menu is open or a walk has begun (Tab).
  bool walking =
      io.NavVisible || ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  // The Esc that has closed a menu is spent: the menu was open when this frame began.
  const bool popup = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel),
             closes_popup = std::exchange(popup_was_open_, popup) || popup;
  const bool reads = source_edit().is_read();
  for (const auto& a : actions())
    for (ImGuiKeyChord chord : {a.chord, a.second}) {
      if (!chord || (chord == ImGuiKey_Escape && closes_popup)) continue;
      // Who types in the source has the keys of an editor: all but those of functions, and of what no editor has.
      if (ImGuiKeyChord key = chord & ~ImGuiMod_Mask_;
          source_edit().has_keys() && (key < ImGuiKey_F1 || key > ImGuiKey_F24) &&
          (!(chord & (ImGuiMod_Ctrl | ImGuiMod_Alt)) || key == ImGuiKey_S || key == ImGuiKey_Z || key == ImGuiKey_Y))
        continue;
      // Nor are signs commands where one believes to type.
      if (reads && is_sign(chord)) continue;
      const bool page = chord == ImGuiKey_PageUp || chord == ImGuiKey_PageDown;
      if (page || chord == ImGuiKey_Space || (chord >= ImGuiKey_LeftArrow && chord <= ImGuiKey_DownArrow)) {
        if (page && (!lesson() || io.WantTextInput)) continue;  // where there is none they turn pages
        // A route keeps the key from starting a walk.
        const bool once = page || chord == ImGuiKey_Space;
        ImGuiInputFlags how = ImGuiInputFlags_RouteGlobal | (once ? 0 : ImGuiInputFlags_Repeat);
        if (page) how |= ImGuiInputFlags_RouteOverFocused;  // a kernel's text that is only read turns its pages by them
        if ((page || !walking) && a.enabled(*this) && ImGui::Shortcut(chord, how)) events_.push_back(RunAction{a.id});
        continue;
      }
      // A text field has its own undo.
      if (ImGuiKeyChord key = chord & ~ImGuiMod_Mask_; io.WantTextInput && (key == ImGuiKey_Z || key == ImGuiKey_Y))
        continue;
      // Plain keys belong to a text field while one is edited.
      if (io.WantTextInput && !(chord & (ImGuiMod_Ctrl | ImGuiMod_Alt)) && (chord & ~ImGuiMod_Mask_) < ImGuiKey_F1)
        continue;
      if (io.WantTextInput && !(chord & (ImGuiMod_Ctrl | ImGuiMod_Alt)) && (chord & ~ImGuiMod_Mask_) > ImGuiKey_F24)
        continue;
      // On many keyboards + is = with Shift.
      const bool plus = (chord & ~ImGuiMod_Mask_) == ImGuiKey_Equal && ImGui::IsKeyChordPressed(chord | ImGuiMod_Shift);
      if ((plus || ImGui::IsKeyChordPressed(chord)) && a.enabled(*this)) events_.push_back(RunAction{a.id});
    }
}

void App::frame(float display_scale) {
  auto start = std::chrono::steady_clock::now();
  // Tables and windows that appear with what has come know their widths one or two frames later.
  if (bench_->drain()) settling_ = 3;
  if (run_when_known_ && bench_->inventory().knows_devices()) run_when_known_ = false, run_by_itself();
  if (bench_->measuring().monitor().on) bench_->measuring().keep_on(document());
  restyle(display_scale);
  theme_.em = ImGui::GetFontSize();
  textures_.collect();
  std::erase_if(toasts_, [](const Note& n) { return n.until < ImGui::GetTime(); });
  shortcuts();
  next_frame_ = std::numeric_limits<double>::infinity();
  for (const auto& n : toasts_) next_frame_ = std::min(next_frame_, n.until - ImGui::GetTime());
  if (bench_->runs().running()) next_frame_ = std::min(next_frame_, 0.25);
  go_on_with_lesson();
  tooltips_of_focus(!lesson_);
  Frame f{document(), *bench_, views_.now(), settings_,      theme_,      textures_, draft_,
          gesture_,   events_, compare_,     kernel_before_, next_frame_, cells_};
  Chrome chrome(*this, f);
  source_edit().keep(f);
  if (only_panel_.empty()) chrome.bars();
  draw_panels(f);
  if (only_panel_.empty()) chrome.overlays();
  // The stage's layout has larger type and less room: who looked at a number looks at it there.
  if (readable_in_ > 0 && --readable_in_ == 0)
    if (const auto at = views_.now().selected) views_.set(readable(views_.now(), extent(), *at, cells_), false);
  auto events = std::exchange(events_, {});
  // What is dragged or typed without a pause is one gesture. It begins in the frame in which its control becomes
  // active, which may already change the value.
  if (unsigned active = ImGui::GetActiveID(); active != gesture_item_) {
    if (active) gesture_++;
    gesture_item_ = active;
  }
  for (auto& e : events)
    if (auto* c = std::get_if<Command>(&e); c && c->gesture) c->gesture = gesture_;
  bool changes =
      std::any_of(events.begin(), events.end(), [](const Event& e) { return !std::holds_alternative<Wish>(e); });
  if (changes || layout_pending_ || shot_ || !show_panel_.empty() || readable_in_ > 0 ||
      (settling_ > 0 && --settling_ > 0))
    next_frame_ = 0;
  for (const auto& e : events) apply(e);
  if (draft_.problem && (!check(*draft_.problem) || !(draft_.of == document().problem))) draft_ = {};
  frame_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace convscope::ui
