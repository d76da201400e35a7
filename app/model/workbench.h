// What stands between the window and the engine: asks for what the window wants to see, and holds the answers as
// values.
//
// Used by one thread (the window's). Answers come on the client's thread into an inbox; drain() takes them in at the
// start of a frame, so nothing is locked while drawing. `wake` is called from the client's thread when there is
// something to drain.
#pragma once
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/client.h"
#include "app/engine/file_watch.h"
#include "app/model/beside.h"
#include "app/model/cause.h"
#include "app/model/checking.h"
#include "app/model/comparison.h"
#include "app/model/document.h"
#include "app/model/engine_link.h"
#include "app/model/kernel_file.h"
#include "app/model/kernel_times.h"
#include "app/model/ladder.h"
#include "app/model/machine_code.h"
#include "app/model/monitor.h"
#include "app/model/paint.h"
#include "app/model/profile.h"
#include "app/model/recorded.h"
#include "app/model/report.h"
#include "app/model/sweeping.h"
#include "app/model/view.h"

namespace convscope {

class XrayAgain;
struct CauseBeside;

// What a tile shall show; two equal wishes need one request.
struct TileWish {
  std::string key;  // of the result
  Quantity quantity = Quantity::output;
  double row0 = 0, row1 = 0, column0 = 0, column1 = 0;
  int width = 0, height = 0;
  Paint paint;
  bool operator==(const TileWish&) const = default;
  bool same_cells(const TileWish& other) const;  // whatever their colours
};

// A window of a result, cut into cells and painted.
struct MapTile : TileWish {
  std::vector<Cell> cells;
  std::vector<uint32_t> pixels;
  uint64_t serial = 0;    // a new one for each tile: textures are made anew when it changes
  double latency_ms = 0;  // from the wish to the picture
};

// Every element of a small window: output, reference, error, |error|/bound.
struct NumberBlock {
  std::string key;
  int64_t row0 = 0, row1 = 0, column0 = 0, column1 = 0;
  std::vector<double> values;  // [row][column][4]
  const double* at(int64_t row, int64_t column) const {
    if (row < row0 || row >= row1 || column < column0 || column >= column1) return nullptr;
    return &values[static_cast<size_t>(((row - row0) * (column1 - column0) + column - column0) * 4)];
  }
};

// What the planner chose, and why, in a sentence with times.
struct BestKernel {
  std::string kernel, reason;
};

class Workbench {
 public:
  Workbench(EngineOptions options, std::function<void()> wake);

  bool drain() { return link_.drain(); }

  // ---- wishes -----------------------------------------------------------------------------------------------------
  void run(const Document& document);  // the newest wins
  void cancel();                       // what runs, and what waits
  enum class Map { kernel, reference, difference, minimap, lines_output, lines_reference, lines_error, count };
  void want_tile(Map map, const TileWish& wish);  // other colours alone ask the engine for nothing
  // key: of the picture's result, which it is where none is given, or of a difference (Beside).
  void want_numbers(const std::string& key, int64_t row0, int64_t row1, int64_t column0, int64_t column1);
  void want_hover(const std::string& key, ElementIndex at);
  void want_numbers(int64_t row0, int64_t row1, int64_t column0, int64_t column1) {
    want_numbers(picture_key(), row0, row1, column0, column1);
  }
  void want_hover(ElementIndex at) { want_hover(picture_key(), at); }
  // The output of what the document's kernel is compared with, and the difference, once the picture is whole.
  void want_beside(const Document& document);
  void want_statistics();
  void want_explanation(const Document& document, int64_t n, int64_t co, int64_t j);
  // Which terms of the index are wrong, or would be elsewhere. It comes by itself with the verdict on a wrong kernel
  // and on an exhibit; of other kernels that are right when it is asked for. Of a recorded verdict it is found here.
  void want_cause(const Report& report, bool asked = false);
  bool can_xray() const;  // there is a verdict to ask it of
  // A recorded report's, if nobody has asked yet.
  void want_cause_once(const Report& report) {
    if (cause_waits_for_ != report.serial && cause_.serial != report.serial) want_cause(report);
  }
  // The document's kernel on a hundred problems that are drawn; the first that fails is made as small as it goes.
  // Everything else that is wished goes between two of them.
  void check_others(const Document& document);
  void stop_checking();
  const Checking& checking() const { return checking_; }
  // Kernels over one parameter. What the planner's model says of it is asked at once and anew at every change;
  // verdicts, and times where there is a GPU, when somebody wants them. Everything else that is wished goes between two
  // requests.
  void want_sweep_preview(const SweepSpec& spec);
  void sweep(const SweepSpec& spec);
  void stop_sweep();
  // One of this that was stopped, and what it lacks.
  bool can_go_on_with_sweep(const SweepSpec& spec) const;
  void go_on_with_sweep();
  // Of these kernels those that the engine here has: a file may not have been opened since.
  std::vector<std::string> known_of(const std::vector<std::string>& kernels) const;
  const Sweeping& sweeping() const { return sweeping_; }
  // The newest that is whole: it stays until the next one is.
  const Sweeping& sweep_preview() const { return preview_shown_.sweep ? preview_shown_ : preview_; }
  // `then` is called when the engine knows: not when a newer question or the engine's end came between.
  void find_failing(const std::string& key, ElementIndex from, bool forward,
                    std::function<void(std::optional<ElementIndex>)> then);
  void find_failing(ElementIndex from, bool forward, std::function<void(std::optional<ElementIndex>)> then) {
    find_failing(picture_key(), from, forward, std::move(then));
  }
  // Counters and what limits it; a run that is asked for meanwhile goes first, and the wish is forgotten. full: all
  // sets.
  void want_profile(const Document& document, bool full);
  // The same for a report that has come, once for each, by its serial.
  void follow_with_profile(const Document& document, uint64_t serial) {
    if (serial == followed_) return;
    followed_ = serial;
    want_profile(document, false);
  }
  uint64_t followed() const { return followed_; }
  // The document's kernel and another, or a reference, timed in turn. Like a profile: one measurement at a time.
  void want_comparison(const Document& document, const std::string& with);
  // Again and again, one call and the live set of counters, until it is stopped; for another document it begins anew.
  // To be wished at every frame while it is on: runs, profiles and comparisons go before it.
  void keep_measuring(const Document& document);
  void stop_measuring();
  const Monitor& monitor() const { return monitor_; }
  // The planner's choice for the document's problem, accuracy and device; on a GPU the first candidates are timed. When
  // there is none the log says why, and `then` is not called.
  void find_best(const Document& document, std::function<void(const BestKernel&)> then);
  // What the planner's model says that each rung takes; asked once for a problem and a device.
  void want_predicted_times(const Document& document);
  const PredictedTimes* predicted_times(const Document& document) const;  // null: not known (yet)
  // The document's kernel as a PyTorch module, or as CUDA C++ with a C function; activation: "", or what is fused into
  // it (relu, leaky_relu:0.1). When it cannot be, the log says why.
  void want_export(const Document& document, bool pytorch, const std::string& activation,
                   std::function<void(const std::string& kernel, const std::string& text)> then);
  void want_source(const std::string& kernel);
  void want_machine_code(const Document& document);  // of its kernel's launches; asked once for each document
  void want_info();  // devices, libraries, kernels: asked once at the start, and again with Refresh

  // ---- kernels from outside ---------------------------------------------------------------------------------------
  // Gives the engine a kernel's file, which a person trusts, and from then on again whenever it changes on disk: the
  // kernel is called by its path. Errors: InputError when it cannot be read.
  void bring_file(const std::string& path, const std::string& device);
  // Called when a file that was brought has become a kernel, or not: then with the trouble in a line.
  void on_file(std::function<void(const std::string& path, const std::string& trouble)> came) {
    file_came_ = std::move(came);
  }
  // A file that was brought gets this text, and is compiled. False, and the file stays as it is, where it has another
  // text than `before`: somebody else has written it. Throws std::runtime_error where it cannot be written.
  bool rewrite_file(const std::string& path, const std::string& text, const std::string& before);
  // Whether a run was cut short by a new text, and none has begun since: it is to be made up for.
  bool owes_a_run() const { return run_was_cut_; }
  const OpenedFile* file_of(const std::string& kernel) const;  // null: of no file that was brought

  // ---- recordings -------------------------------------------------------------------------------------------------
  // While a recording is open, its figures are shown for the documents that it holds, until somebody wants to see what
  // runs now. Null closes it.
  void open_recording(std::shared_ptr<const Recording> recording);
  void show_live(bool live) { live_shown_ = live; }
  bool live_shown() const { return live_shown_; }
  const Recorded& recorded() const { return recorded_; }
  bool shows_recorded(const Document& document) const { return !live_shown_ && recorded_.holds(document); }
  // It is recorded, and running it here as well would take long: it runs when a person says so.
  bool rests_on_recording(const Document& document) const;
  // It is that, or all of the problem takes long on the emulator: nothing runs by itself then.
  bool waits_for_a_person(const Document& document) const;
  bool runs_on_a_gpu(const Document& document) const;
  bool knows_devices() const;
  // The report that stands for this document: the recorded one, else the newest.
  const Report* report_of(const Document& document) const {
    const Report* r = live_shown_ ? nullptr : recorded_.report(document);
    return r ? r : report_.get();
  }
  const KernelComparison* comparison_of(const Document& document, const std::string& with) const {
    const KernelComparison* c = live_shown_ ? nullptr : recorded_.comparison(document, with);
    return c ? c : comparison_.get();
  }

  // ---- what is known ----------------------------------------------------------------------------------------------
  // The newest report, whatever it says; the newest that has pictures in an engine that lives; never taken back, only
  // replaced.
  std::shared_ptr<const Report> report() const { return report_; }
  std::shared_ptr<const Report> picture() const { return picture_; }
  // What stands beside this report's output; null where that is the oracle, or not known yet.
  const Beside* beside(const Document& document, const Report& r) const {
    const bool is = document.compare_with != oracle_name && beside_.serial && beside_.serial == r.serial &&
                    beside_.with == document.compare_with;
    return is ? &beside_ : nullptr;
  }
  bool asks_beside() const { return beside_waits_; }
  bool running() const { return running_; }
  const Document& wanted() const { return wanted_; }
  // Why the picture, or what was shown of another document, is not what this one asks for: "" when it is.
  std::string stale(const Document& document) const { return picture_ ? stale(*picture_, document) : ""; }
  std::string stale(const Report& shown, const Document& document) const;
  // Of a text that its kernel's file does not have any more.
  bool is_of_before(const Report& r) const { return is_of_before(r.document.kernel, r.text); }
  bool is_of_before(const std::string& kernel, uint64_t text) const {
    const OpenedFile* file = file_of(kernel);
    return file && text > 0 && text < file->texts;
  }
  const MapTile* tile(Map map) const { return tiles_[static_cast<size_t>(map)].get(); }
  // Values of a window of at most so many elements, asked for once: null when the result is gone.
  static constexpr int64_t most_numbers = 65536;
  void fetch_numbers(const std::string& key, const std::array<int64_t, 4>& window,
                     std::function<void(const NumberBlock*)> then);
  const NumberBlock* numbers() const { return numbers_.get(); }
  const NumberBlock* hover() const { return hover_.get(); }
  const Statistics* statistics() const { return statistics_.get(); }
  const Explained* explanation() const { return explanation_.get(); }
  const Traced* traced() const { return traced_.get(); }
  // Why a wrong kernel is wrong, or an exhibit would be elsewhere; null until that is known of this report, and of
  // reports of others.
  const Cause* cause_of(const Report& r) const { return r.serial && cause_.serial == r.serial ? &cause_ : nullptr; }
  bool asks_for_cause_of(const Report& r) const { return r.serial && cause_waits_for_ == r.serial; }
  const std::string& explanation_trouble() const { return explanation_trouble_; }
  bool explaining() const { return explaining_; }
  // The newest profile, and those before it (the newest last, at most 12): the trail of the roofline.
  const Profile* profile() const { return trail_.empty() ? nullptr : trail_.back().get(); }
  const std::vector<std::shared_ptr<const Profile>>& trail() const { return trail_; }
  const Profile* profile_of(const Document& document) const;  // the newest of this document, or null
  const KernelComparison* comparison() const { return comparison_.get(); }
  // Times of the kernels that ran here on a GPU since problem, inputs or device changed, and whether they are of this
  // document's problem and inputs.
  const std::vector<KernelTime>& ran() const { return ran_; }
  const std::string& ran_device() const { return ran_device_; }
  bool ran_on(const Document& document) const;
  bool profiling() const { return profiling_; }  // or comparing
  const std::string& profile_trouble() const { return profile_trouble_; }
  // The kernel's file, and the headers it includes; null until they have come.
  const std::vector<SourceText>* source(const std::string& kernel) const;
  const MachineCode* machine_code() const { return machine_code_.get(); }  // the newest that came, or null
  bool machine_code_waiting() const { return machine_code_waiting_; }
  const std::vector<KernelEntry>& kernels() const { return kernels_; }
  const nlohmann::json& info() const { return *info_; }
  EngineLink& link() { return link_; }
  const EngineLink& link() const { return link_; }
  // Milliseconds from the last run's wish to its first picture.
  double last_picture_ms() const { return last_picture_ms_; }

 private:
  void post_run(const Document& document);
  void restore();
  void refused(uint64_t asked_at, bool gone, std::function<void()> forget);
  void took_run(uint64_t serial, Answer answer, const Document& document);
  void take_report(Report r);
  void took_file(const std::string& path, uint64_t serial, bool again, Answer answer);
  void read_again(const std::string& path);
  void keep_time(const Report& r);
  bool is_exhibit(const std::string& kernel) const;
  void forget_results();
  void measure(const char* type, const Document& document, const nlohmann::json& more,
               std::function<void(const nlohmann::json&)> took);
  void measure_once_more();
  void forget_readings();
  void make_way();
  void stop_for_new_text();
  std::string picture_key() const { return picture_ ? picture_->key : ""; }
  void stop_beside() {
    if (std::exchange(beside_waits_, false)) link_.cancel(beside_id_), beside_serial_ = 0;
    if (const uint64_t id = std::exchange(beside_verdict_id_, 0)) link_.cancel(id);
  }
  void judge_beside();
  void ask_cause(const Document& document, uint64_t serial, bool right, const CauseBeside& beside,
                 const std::shared_ptr<XrayAgain>& again);
  void ask_emulator(const Document& document, uint64_t serial);
  void check_next();
  void forget_sweep();
  void begin_sweep(Sweeping& s, const SweepSpec& spec);
  void repaint(size_t map);
  void hold_to_floor(Sweeping& s);
  void keep_floors();
  void sweep_next(Sweeping& s);
  void took_sweep(Sweeping& s, Answer answer);
  void took_judged(Answer answer);
  void take_reading(const nlohmann::json& answer);

  EngineLink link_;  // first: what it owes is thrown away when the rest has gone

  Document wanted_;
  uint64_t run_serial_ = 0, run_id_ = 0, run_text_ = 0, report_serial_ = 0, tile_serial_ = 0;
  std::chrono::steady_clock::time_point run_posted_;
  bool running_ = false, restoring_ = false, may_restore_ = true;
  std::vector<std::function<void()>> refused_;  // what to forget when the next result comes
  std::shared_ptr<const Report> report_, picture_;
  std::vector<KernelTime> ran_;
  Document ran_on_;  // whose problem and inputs they are of
  std::string ran_device_;
  std::optional<PredictedTimes> predicted_wish_;    // what was asked for last
  int predicted_starts_ = 0, predicted_tries_ = 0;  // of the engine, then; for this problem
  uint64_t predicted_serial_ = 0;
  std::shared_ptr<const PredictedTimes> predicted_;
  static constexpr size_t maps = static_cast<size_t>(Map::count);
  std::array<std::shared_ptr<const MapTile>, maps> tiles_;
  std::array<TileWish, maps> tile_wishes_;
  std::shared_ptr<const NumberBlock> numbers_, hover_;
  std::array<int64_t, 4> numbers_wish_{}, hover_wish_{};
  std::string numbers_key_, hover_key_, statistics_key_;
  std::shared_ptr<const Statistics> statistics_;
  std::shared_ptr<const Explained> explanation_;
  std::shared_ptr<const Traced> traced_;
  std::string explanation_trouble_;
  uint64_t explain_serial_ = 0, explain_id_ = 0, trace_id_ = 0;
  Cause cause_;
  uint64_t cause_waits_for_ = 0, cause_id_ = 0;  // the report's serial; 0: nothing is asked
  std::set<std::string> cause_ends_engine_;      // kernels that ended it when they were asked why: not asked again
  Beside beside_;
  uint64_t beside_verdict_id_ = 0;
  uint64_t beside_serial_ = 0, beside_id_ = 0;  // of the report that was asked about; 0: none
  std::string beside_with_;
  bool beside_waits_ = false;
  std::set<std::string> beside_ends_engine_;  // not asked again
  Sweeping sweeping_, preview_, preview_shown_;
  std::shared_ptr<const Recording> floors_of_;  // what their floors rest on: this, and the profile
  uint64_t floors_of_profile_ = 0;
  Checking checking_;
  uint64_t checking_serial_ = 0, checking_id_ = 0;
  bool explaining_ = false;
  Recorded recorded_;
  bool live_shown_ = false;
  std::vector<std::shared_ptr<const Profile>> trail_;
  std::shared_ptr<const KernelComparison> comparison_;
  std::string profile_trouble_;
  uint64_t profile_serial_ = 0, profile_id_ = 0, followed_ = 0;
  bool profiling_ = false;
  Monitor monitor_;
  uint64_t monitor_serial_ = 0, monitor_id_ = 0;
  bool monitor_waits_ = false;
  std::chrono::steady_clock::time_point monitor_began_;
  struct SourceWish {
    std::vector<SourceText> files;  // none until they have come
    bool waiting = false;
    int starts = -1;  // of the engine, when it was asked last: one that dies is asked once
  };
  std::map<std::string, SourceWish> sources_;
  std::shared_ptr<const MachineCode> machine_code_;
  std::string machine_code_key_;
  bool machine_code_waiting_ = false, machine_code_cut_ = false;  // cut: a new text of its file is on its way
  uint64_t machine_code_id_ = 0;
  bool run_was_cut_ = false;  // by a new text of its kernel
  std::vector<KernelEntry> kernels_;
  std::map<std::string, OpenedFile> files_;  // by path
  std::function<void(const std::string&, const std::string&)> file_came_;
  std::unique_ptr<FileWatch> watch_;
  std::unique_ptr<nlohmann::json> info_;
  double last_picture_ms_ = 0;
};

}  // namespace convscope
