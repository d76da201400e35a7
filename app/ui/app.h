// The window's content, whatever it is drawn on: owns what a person has made, draws one frame, applies what the panels
// answer.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "app/model/asked_path.h"
#include "app/model/history.h"
#include "app/model/lesson.h"
#include "app/model/session_file.h"
#include "app/model/settings.h"
#include "app/model/view.h"
#include "app/model/workbench.h"
#include "app/ui/map_textures.h"
#include "app/ui/panel.h"
#include "app/ui/picture_file.h"

namespace convscope::ui {

struct AppOptions {
  EngineOptions engine;
  std::string settings_file;   // "": nothing is kept
  std::function<void()> wake;  // from any thread: draw a frame soon
  bool has_window = false;     // full screen and the like make sense
  bool trust = false;          // kernels' files that are opened run without a question
};

class App {
 public:
  explicit App(AppOptions options);  // an ImGui and an ImPlot context are current
  ~App();                            // keeps the settings
  App(const App&) = delete;

  // One frame, between ImGui::NewFrame() and ImGui::Render().
  void frame(float display_scale);
  // Seconds after which the next frame differs from this one although nobody has touched anything; infinite when idle.
  double next_frame_in() const { return next_frame_; }
  // The session, marked where it has changed since it was saved, and the kernel: what a list of windows shows.
  std::string title() const;
  bool wants_to_close() const { return closing_; }
  bool wants_full_screen() const { return full_screen_; }
  // Everything that was asked for has come.
  bool settled() const { return !bench_->runs().running() && bench_->link().waiting() == 0; }
  // Seconds to build the last frame.
  double frame_seconds() const { return frame_seconds_; }

  // The one way in for a path: drop, dialog, command line, recent files. What cannot be opened is said in a toast.
  void open(const std::string& path);
  // The same of what was named when the program was started: why it is not what is shown stands there until somebody
  // has closed it.
  void open_first(const std::string& path);
  // What comes with the program, looked for once.
  static const std::vector<ShippedRecording>& recordings();
  // One panel alone fills the window, for pictures. Errors: InputError with the nearest name.
  void show_only(const std::string& panel);
  // After a frame is on the screen: saves the picture that somebody asked for. `read` gives the frame's pixels.
  void after_drawing(const std::function<Picture()>& read);
  bool picture_pending() const { return shot_.has_value(); }

  void apply(const Event& event);
  void execute(const Command& command);

  const Document& document() const { return history_.now(); }
  const History& history() const { return history_; }
  const ViewHistory& views() const { return views_; }
  const Settings& settings() const { return settings_; }
  const Workbench& bench() const { return *bench_; }
  const Report* picture() const { return picture_of(*bench_, document()); }  // that is shown
  Workbench& bench() { return *bench_; }
  const Theme& theme() const { return theme_; }
  bool has_window() const { return options_.has_window; }
  const std::string& toast() const { return toasts_.empty() ? no_text_ : toasts_.back().text; }

  // What the action table runs.
  using PathFor = convscope::PathFor;
  void ask_path(PathFor what);
  void ask_picture(const PictureArea& area, const std::string& file);
  void save(bool as);
  // What was on the screen when the window was closed the last time, whether it had been saved or not; "": not known.
  std::string last_session() const;
  void keep_last_session() const;
  void quit() { closing_ = true; }
  void undo();
  void redo();
  void run();
  void toggle_recorded();
  void back_to_recorded();
  void shorten();
  void run_by_itself();  // where results are live, and all of the problem is soon run
  void close_recording();
  void profile(bool full);
  void keep_measuring();  // or no more
  void xray();
  bool can_mend() const;  // the verdict is of a wrong kernel with a text of its own
  void mend();
  bool can_tune() const;  // of a file on a GPU, or one that is tuned now
  void tune();            // or no further
  void check_others();    // or no more
  void compare();
  void sweep();  // or no more
  void choose_best();
  void export_kernel(const std::string& path, bool pytorch);
  void ask_activation();  // a line of the export's dialog
  // The kernel's own text as a file of the person's, which becomes the kernel and is typed in.
  bool can_copy_kernel() const;
  void copy_kernel(const std::string& path);
  void write_kernel(const WriteFile& w);
  // The lesson that is open, and where it stands; null: none.
  const Lesson* lesson() const { return lesson_ ? &*lesson_ : nullptr; }
  size_t lesson_step() const { return lesson_step_; }
  void open_lesson(const std::string& path);
  static const std::vector<ShippedLesson>& lessons();  // that come with the program
  // The next step, or the lesson behind the last one.
  bool can_go_on() const;
  void go_on();
  void show_step(size_t step);  // its problem, kernel, view and panels; undo brings back what was there
  void end_lesson();
  // What the lesson shows is there, and its actions have run.
  bool lesson_shown() const { return lesson_actions_.empty() && lesson_waits_ == 0; }
  void cancel();
  void refresh();
  void toggle_live();
  void fit();
  void zoom(double factor);
  void view_back();
  void view_forward();
  void find_failing(bool forward);
  void move_selection(int rows, int columns);
  void toggle_classes();
  void turn_explanation();  // from the output's side to the input's, or back
  void toggle_presenter();
  void toggle_theme();
  void toggle_colours();
  void scale_by(double factor);
  void toggle_full_screen() { full_screen_ = !full_screen_; }
  void reset_layout() { layout_pending_ = true, kept_layout_.reset(), were_in_front_.clear(); }
  void open_palette() { palette_open_ = true; }
  void open_help() { help_open_ = true; }
  void open_about() { about_open_ = true; }
  void open_preferences() { preferences_open_ = true; }
  void open_kernels_file(const Document& d);
  void trust_file(bool yes);  // the answer to the question whether untrusted() shall run
  const std::string& untrusted() const { return untrusted_; }
  const std::string& coming_kernel() const { return coming_kernel_; }  // a kernel's file that is compiled; "": none
  void choose_kernel(int number);
  void choose_reference(int number);
  void choose_beside(int number);
  bool stands_beside(const std::string& name) const;  // a kernel, neither the oracle nor a reference
  void exchange();
  bool can_undo() const { return draft_.problem || history_.can_undo(); }
  // What undo would take back.
  std::string undo_text() const { return draft_.problem ? draft_.field + ", which is refused" : history_.undo_text(); }
  void copy_window();
  void copy_verdict();

 private:
  friend class Chrome;
  struct Note {
    std::string text;
    double until;  // infinity: until somebody closes it
    bool stays() const { return until > 1e300; }
  };
  void document_changed(const Document& before);
  void save_to(const std::string& path);
  void take_path(PathFor what, const std::string& path);  // that the dialog was answered with
  void bring_kernel(const std::string& path);
  void kernel_came(const std::string& path, const std::string& trouble);
  void shortcuts();
  void default_layout(unsigned dockspace);
  void draw_panels(Frame& f);
  void say(const std::string& text);
  bool log_has_news();
  void set_settings(const Settings& s);
  void restyle(float display_scale);
  Extent extent() const;

  AppOptions options_;
  Settings settings_;
  Theme theme_;
  History history_;
  ViewHistory views_;
  Draft draft_;
  std::unique_ptr<Workbench> bench_;
  MapTextures textures_;
  std::vector<Event> events_;
  std::vector<bool> open_;  // by panel
  // As panels lay before the presenter's layout or a narrow window's took their place: they go back there. And a layout
  // that is to be taken before the next frame begins.
  struct Layout {
    std::string text;
    std::vector<bool> open;
  };
  std::optional<Layout> kept_layout_, next_layout_;
  unsigned hook_ = 0;
  int calm_until_ = 2;  // the frame, while panels appear that a layout brings back
  void keep_layout();
  void front_of_layout();
  void other_layout(bool usual);  // usual: neither a stage's nor a narrow window's
  // Panels that were in front before another layout, the one that had the keyboard last at the end.
  std::vector<std::string> were_in_front_;
  CellRoom cells_;
  int readable_in_ = 0;  // frames, until the stage's layout lies and the selected element's number is brought back
  bool shows_number_of_selected() const;
  // A kernel's file that waits for its person's trust, and its text; one that shall be the kernel when it has come.
  std::string untrusted_, untrusted_text_, coming_kernel_;
  double run_asked_at_ = -1e9;  // Run was pressed while a recording is shown
  std::set<std::string> trusted_;
  std::string session_path_, only_panel_, no_text_;
  Document saved_;               // as session_path_ has it
  bool run_when_known_ = false;  // which devices there are
  bool is_recording_ = false;    // what session_path_ names is a recording: nothing is saved into it
  nlohmann::json session_unknown_;
  std::deque<Note> toasts_;
  bool opens_first_ = false;
  const LogLine* newest_in_log_ = nullptr;  // that was looked at; a line keeps its place
  bool unread_trouble_ = false;             // is in the log, behind another tab
  uint64_t gesture_ = 1;
  unsigned gesture_item_ = 0;
  bool closing_ = false, full_screen_ = false, layout_pending_ = true, narrow_ = false;
  // The stage's layout is shown: the presenter's, or a lesson's in a window that is low. nothing: not known yet.
  std::optional<bool> staged_;
  bool low_ = false;
  bool palette_open_ = false, help_open_ = false, about_open_ = false, preferences_open_ = false;
  std::optional<PathFor> path_for_;
  std::string path_text_, palette_text_;
  std::string show_panel_, show_beside_;  // to the front; the second of another dock, where it is open
  int activation_ = 0;                    // of the next export
  std::string kernel_before_;             // the one that was chosen before this one
  bool popup_was_open_ = false;           // when the last frame began
  bool compare_ = false;                  // asked for, not begun
  int palette_at_ = 0;
  struct Shot {
    std::string path;
    int frames = 3;  // until the dialog has gone
  };
  std::optional<Shot> shot_;
  PictureArea picture_area_;
  float style_scale_ = 0;
  bool style_light_ = false;
  std::optional<Lesson> lesson_;
  size_t lesson_step_ = 0;
  uint64_t lesson_gesture_ = 0;
  std::deque<std::string> lesson_actions_;  // that wait for the run to be over
  int lesson_waits_ = 0;                    // frames until the next may begin
  std::string lesson_line_;                 // a part of the line that the panel Source goes to, until it has the text
  void go_on_with_lesson();
  const ShippedLesson* next_lesson() const;  // after the one that is open; null: none
  double frame_seconds_ = 0, next_frame_ = 0;
  int settling_ = 0;  // frames until what has come lies where it belongs
};

}  // namespace convscope::ui
