// Lessons: steps of text, each with what the window shows to it.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "app/ui/actions.h"
#include "app/ui/app.h"
#include "app/ui/panels/explain_guess.h"
#include "app/ui/panels/map_view.h"
#include "app/ui/panels/source_place.h"

namespace convscope::ui {

void App::open_lesson(const std::string& path) {
  Lesson l = load_lesson(path);
  for (size_t i = 0; i < l.steps.size(); i++) {
    const auto& step = l.steps[i];
    const auto& all = panels();
    for (const std::string& panel : {step.panel, step.beside})
      if (!panel.empty() && std::none_of(all.begin(), all.end(), [&](const Panel& p) { return panel == p.title; }))
        throw InputError("lesson", fmt::format("{}, step {}", path, i + 1),
                         "names a panel that there is not: " + panel);
    for (const auto& action : step.actions)
      if (!find_action(action) || action == "quit" || action == "save" || action.starts_with("lesson-"))
        throw InputError("lesson", fmt::format("{}, step {}", path, i + 1),
                         "names an action that there is not, or is none of a lesson's: " + action);
  }
  lesson_ = std::move(l);
  static uint64_t lessons = 0;
  lesson_gesture_ = (uint64_t{1} << 40) + ++lessons;  // no gesture of the mouse has such a number
  show_step(0);
}

void App::show_step(size_t step) {
  if (!lesson_ || step >= lesson_->steps.size()) return;
  lesson_step_ = step;
  guess().turn(false);  // a step that asks says so
  const LessonStep& s = lesson_->steps[step];
  try {
    const std::string open = bench_->recorded().is_open() ? session_path_ : "";
    if (s.recording.empty()) {
      if (bench_->recorded().is_open()) bench_->open_recording(nullptr);
    } else if (const std::string path = recording_path(s.recording); path != open) {
      SessionFile file = load_session(path);
      bench_->open_recording(file.recording);
      session_path_ = path, saved_ = file.document, session_unknown_ = file.unknown;
      is_recording_ = true;
    }
  } catch (const std::exception& e) {
    say(e.what());
  }
  if (s.recording.empty() && !session_path_.empty()) session_path_.clear(), is_recording_ = false;
  execute({ReplaceDocument{s.document, lesson_->title}, lesson_gesture_});  // one undo takes all of its steps back
  open_kernels_file(s.document);
  View v = s.view.value_or(View{});
  v.selected = s.selected, v.show_classes = s.classes, v.from_input = s.from_input;
  if (s.selected && !s.view)
    v = readable(v,
                 Extent{static_cast<double>(s.document.problem.batch * s.document.problem.out_channels),
                        static_cast<double>(s.document.problem.out_length())},
                 *s.selected, cells_);
  views_.set(v, true);
  if (!s.sweep.empty()) {
    Settings kept = settings_;
    kept.sweep_over = s.sweep;
    set_settings(kept);
  }
  if (!s.panel.empty()) show_panel_ = s.panel;
  show_beside_ = s.beside;
  lesson_line_ = s.line;
  ImGui::SetNavCursorVisible(false);  // or Space would press what the step brings to the front
  lesson_actions_.assign(s.actions.begin(), s.actions.end());
  lesson_waits_ = 3;  // until what was asked for is under way
}

// The next of the step's actions, once nothing is under way any more.
void App::go_on_with_lesson() {
  // The line to look at, once the kernel's text is there.
  if (!lesson_line_.empty())
    if (const std::vector<SourceText>* files = bench_->sources().of(document().kernel)) {
      const std::string wanted = std::exchange(lesson_line_, "");
      for (const SourceText& file : *files) {
        const size_t at = file.text.find(wanted);
        if (at == file.text.npos) continue;
        go_in_source(file.file, static_cast<int>(std::count(
                                    file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
                                    1);
        break;
      }
    }
  if (!lesson_ || (lesson_actions_.empty() && lesson_waits_ == 0)) return;
  // Who has gone on to something else does not want them there.
  if (document().kernel != lesson_->steps[lesson_step_].document.kernel ||
      !(document().problem == lesson_->steps[lesson_step_].document.problem)) {
    lesson_actions_.clear(), lesson_waits_ = 0;
    return;
  }
  const Report* r = bench_->report_of(document());
  const bool ready = settled() && !bench_->explaining().waits() && r && r->final;
  if (!ready) {
    lesson_waits_ = std::max(lesson_waits_, 1);
    return;
  }
  if (lesson_waits_ > 0) {
    lesson_waits_--;
    next_frame_ = 0;
    return;
  }
  const Action* a = find_action(lesson_actions_.front());
  lesson_actions_.pop_front();
  if (a && a->enabled(*this)) a->run(*this);
  lesson_waits_ = 3, next_frame_ = 0;
}

const ShippedLesson* App::next_lesson() const {
  if (!lesson_) return nullptr;
  const auto& all = lessons();
  std::error_code error;
  const auto here = std::find_if(all.begin(), all.end(), [&](const ShippedLesson& l) {
    return std::filesystem::equivalent(l.path, lesson_->path, error);
  });
  return here == all.end() || here + 1 == all.end() ? nullptr : &*(here + 1);
}

const std::vector<ShippedLesson>& App::lessons() {
  static const std::vector<ShippedLesson> all = shipped_lessons();
  return all;
}

bool App::can_go_on() const { return lesson_ && (lesson_step_ + 1 < lesson_->steps.size() || next_lesson()); }

void App::go_on() {
  if (!lesson_) return;
  if (lesson_step_ + 1 < lesson_->steps.size()) return show_step(lesson_step_ + 1);
  if (const ShippedLesson* next = next_lesson()) open(next->path);
}

void App::end_lesson() {
  if (lesson_) say("The lesson has ended; what it showed stays, and undo brings back what was there before");
  lesson_.reset();
  lesson_actions_.clear(), lesson_line_.clear();
  lesson_waits_ = 0;
}

}  // namespace convscope::ui
