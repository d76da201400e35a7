#include "app/model/workbench.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/model/requests.h"
#include "kernels/problem/counts.h"

namespace convscope {
using nlohmann::json;
using Clock = std::chrono::steady_clock;
namespace {

double ms_since(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

}  // namespace

bool is_gone(const Answer& a) {
  if (a.kind != Answer::Kind::error) return a.kind != Answer::Kind::result;
  json j = json::parse(a.header, nullptr, false);
  return j.is_object() && j.value("field", json()) == "result";
}

RunRequest request_of(const Document& d) {
  RunRequest r;
  r.kernel = d.kernel;
  r.problem = d.problem;
  r.inputs = d.inputs;
  r.device = d.device;
  r.accuracy = d.accuracy;
  r.tolerance = Gate{d.atol, d.rtol};
  r.pictures = true;
  return r;
}

Refusal refusal_of(const Answer& a) {
  json j = json::parse(a.header, nullptr, false);
  if (!j.is_object()) return {a.message.empty() ? "the engine gave no reason" : a.message, false, 1};
  std::string code = j.value("code", "");
  Refusal r{"", code == "cancelled", j.value("exit_code", 1)};
  if (code == "bad-input")
    r.text = j.value("field", "") + " " + j.value("value", "") + " " + j.value("rule", "");
  else
    r.text = j.value("message", a.message);
  return r;
}

KernelEntry kernel_entry(const json& k) {
  KernelEntry e;
  auto text = [&](const char* field) {
    return k.contains(field) && k[field].is_string() ? k[field].get<std::string>() : "";
  };
  e.name = text("name"), e.kind = text("kind"), e.idea = text("idea"), e.file = text("file"), e.reason = text("reason");
  e.home_preset = text("written_for");
  if (auto promised = text("accuracy"); accuracy_from(promised)) e.accuracy = promised;
  e.available = k.value("available", true);
  if (k.contains("requires") && k["requires"].is_array())
    for (const auto& r : k["requires"]) e.requires_hardware.push_back(r.get<std::string>());
  return e;
}

Workbench::Workbench(EngineOptions options, std::function<void()> wake)
    : link_(std::move(options), std::move(wake)), info_(std::make_unique<json>(json::object())) {
  link_.on_death([this] { forget_results(); });
  want_info();
}

// ---- the run ------------------------------------------------------------------------------------------------------

void Workbench::run(const Document& document) {
  wanted_ = document;
  restoring_ = false;
  // What never compiled is no kernel that could be run.
  if (const OpenedFile* file = file_of(document.kernel); file && !file->ever && !file->trouble.empty()) return cancel();
  post_run(document);
}

// The tensors of the last good run are gone with their engine. They are made again, so that what is shown can be moved
// and zoomed; what is said stays. Once, until a run has come to its end: it may be this one that ends engines.
void Workbench::restore() {
  if (!picture_ || running_ || !may_restore_) return;
  may_restore_ = false;
  restoring_ = true;
  post_run(picture_->document);
}

void Workbench::post_run(const Document& document) {
  if (profiling_) link_.cancel(profile_id_), profile_serial_++, profiling_ = false;
  make_way();
  // What is made again stands behind the question that its engine died of.
  if (!restoring_ && std::exchange(cause_waits_for_, 0)) link_.cancel(cause_id_);
  stop_beside();
  running_ = true, run_was_cut_ = false;
  run_posted_ = Clock::now();
  link_.works_since(run_posted_);
  uint64_t serial = ++run_serial_;
  const OpenedFile* file = file_of(document.kernel);
  run_text_ = file ? file->compiled : 0;
  Meanwhile meanwhile;
  meanwhile.partial = [this, serial, document](const std::string& text) {
    auto r = std::make_shared<Report>();
    try {
      *r = report_from(json::parse(text), document, false);
    } catch (const json::exception&) {
      return;  // the final answer will say what is wrong
    }
    link_.deliver([this, serial, r] {
      if (serial == run_serial_) take_report(*r);
    });
  };
  meanwhile.progress = [this, serial](const Progress& p) {
    if (serial == run_serial_) link_.shows(p);
  };
  run_id_ = link_.post(
      "run", "run", document, json::object(),
      [this, serial, document](Answer a) { took_run(serial, std::move(a), document); }, std::move(meanwhile));
}

void Workbench::took_run(uint64_t serial, Answer a, const Document& document) {
  link_.see_death(a);
  if (serial != run_serial_) return;
  running_ = false;
  link_.rests();
  if (a.kind == Answer::Kind::result) {
    try {
      take_report(report_from(json::parse(a.header), document, true));
    } catch (const json::exception& e) {
      link_.note(std::string("the engine's answer cannot be read: ") + e.what(), LogLine::Kind::trouble);
    }
    return;
  }
  if (a.kind == Answer::Kind::error) {
    Refusal refusal = refusal_of(a);
    if (refusal.cancelled) {
      link_.note("cancelled");
      if (report_ && !report_->final) report_ = nullptr;  // its verdict will not come
      return;
    }
    link_.note(refusal.text, LogLine::Kind::trouble);
    take_report(failed_report(document, refusal.exit_code == 4 ? "crashed" : "not-run",
                              (refusal.exit_code == 4 ? "crashed: " : "not run: ") + refusal.text));
    return;
  }
  bool hung = a.kind == Answer::Kind::hung;
  take_report(failed_report(document, hung ? "hung" : "crashed", (hung ? "hung: " : "crashed: ") + a.message));
  if (!restoring_) restore();
}

void Workbench::take_report(Report r) {
  r.serial = ++report_serial_;
  r.text = run_text_;
  auto made = std::make_shared<const Report>(std::move(r));
  if (!made->key.empty()) {
    bool first = !picture_ || picture_->key != made->key || !picture_->serial ||
                 made->document.kernel != picture_->document.kernel;
    if (first || !made->final) last_picture_ms_ = ms_since(run_posted_);
    picture_ = made;
    may_restore_ |= made->final;
    for (const auto& forget : std::exchange(refused_, {})) forget();
  }
  if (restoring_) return;  // the verdict that stands is the crash
  report_ = made;
  if (!made->final) return;
  keep_time(*made);
  want_cause(*made);
}

bool Workbench::ran_on(const Document& document) const {
  return !ran_.empty() && ran_on_.problem == document.problem && ran_on_.inputs == document.inputs;
}

void Workbench::keep_time(const Report& r) {
  if (r.device_kind != "cuda" || !r.timing.median_ms || !(*r.timing.median_ms > 0)) return;
  if (!ran_on(r.document) || ran_device_ != r.device_name)
    ran_.clear(), ran_on_ = r.document, ran_device_ = r.device_name;
  std::erase_if(ran_, [&](const KernelTime& t) { return t.kernel == r.kernel; });  // the newest counts
  ran_.push_back({r.kernel, *r.timing.median_ms, r.timing.packed.packs});
}

void Workbench::cancel() {
  if (running_) link_.cancel(run_id_);
  if (profiling_) link_.cancel(profile_id_), profile_serial_++, profiling_ = false;
  stop_checking();
  stop_sweep();
  if (beside_waits_) link_.cancel(beside_id_);
  if (const uint64_t id = std::exchange(beside_verdict_id_, 0)) link_.cancel(id);
  if (!explaining_) return;
  link_.cancel(explain_id_), link_.cancel(trace_id_);
  explain_serial_++, explaining_ = false;
}

// What was asked about a result and not answered is asked again when there is a next one: `forget` makes the window
// wish it anew. asked_at: how many reports there were when it was asked. gone: the engine has not the result any more.
void Workbench::refused(uint64_t asked_at, bool gone, std::function<void()> forget) {
  if (asked_at != report_serial_) return forget();
  refused_.push_back(std::move(forget));
  if (gone) restore();
}

// What it kept is gone: wishes are sent again for the next result.
void Workbench::forget_results() {
  for (auto& w : tile_wishes_) w = {};
  numbers_key_.clear(), hover_key_.clear(), statistics_key_.clear();
  beside_serial_ = 0, beside_waits_ = false;
}

std::string Workbench::stale(const Report& shown, const Document& document) const {
  const OpenedFile* file = file_of(document.kernel);
  const bool other = needs_run(shown.document, document),
             text_changed = !other && is_of_before(shown) && (file->compiling || file->trouble.empty());
  if (!other && !text_changed) return "";
  // What takes longer than a moment is awaited with another thing before one's eyes.
  constexpr double moment_ms = 700;
  const bool computing = running_ && !restoring_, compiling = file && file->compiling;
  if ((computing && ms_since(run_posted_) < moment_ms) || (compiling && ms_since(file->since) < moment_ms))
    return "computing";
  std::string words = text_changed ? "of the file as it was before" : other_document_words(shown.document, document);
  if (computing || compiling) words += computing ? "; the newest is being computed" : "; the newest is being compiled";
  return words;
}

// ---- pictures -----------------------------------------------------------------------------------------------------

namespace {

std::shared_ptr<NumberBlock> block_from(const Answer& a, const std::string& key, const std::array<int64_t, 4>& window) {
  auto b = std::make_shared<NumberBlock>();
  b->key = key;
  b->row0 = window[0], b->row1 = window[1], b->column0 = window[2], b->column1 = window[3];
  auto count = static_cast<size_t>((window[1] - window[0]) * (window[3] - window[2]) * 4);
  if (a.kind != Answer::Kind::result || a.payload.size() != count * sizeof(double)) return nullptr;
  b->values.resize(count);
  std::memcpy(b->values.data(), a.payload.data(), a.payload.size());
  return b;
}

}  // namespace

void Workbench::want_numbers(const std::string& key, int64_t row0, int64_t row1, int64_t column0, int64_t column1) {
  if (!picture_ || (row1 - row0) * (column1 - column0) > most_numbers || row1 <= row0 || column1 <= column0) return;
  std::array<int64_t, 4> window{row0, row1, column0, column1};
  if (numbers_key_ == key && window == numbers_wish_) return;
  numbers_key_ = key, numbers_wish_ = window;
  json header = {{"type", "numbers"}, {"result", numbers_key_}, {"window", window}};
  link_.ask("numbers", header, [this, key, window, asked_at = report_serial_](Answer a) {
    if (auto b = block_from(a, key, window))
      numbers_ = b;
    else if (numbers_key_ == key && numbers_wish_ == window)
      refused(asked_at, is_gone(a), [this] { numbers_key_.clear(); });
  });
}

void Workbench::fetch_numbers(const std::string& key, const std::array<int64_t, 4>& window,
                              std::function<void(const NumberBlock*)> then) {
  const json header = {{"type", "numbers"}, {"result", key}, {"window", window}};
  link_.ask("values to copy", header, [key, window, then = std::move(then)](Answer a) {
    // Who has asked again waits for that answer.
    if (a.kind == Answer::Kind::error && refusal_of(a).cancelled) return;
    then(block_from(a, key, window).get());
  });
}

void Workbench::want_hover(const std::string& key, ElementIndex at) {
  if (!picture_) return;
  std::array<int64_t, 4> window{at.row, at.row + 1, at.column, at.column + 1};
  if (hover_key_ == key && window == hover_wish_) return;
  hover_key_ = key, hover_wish_ = window;
  json header = {{"type", "numbers"}, {"result", hover_key_}, {"window", window}};
  link_.ask("hover", header, [this, key, window, asked_at = report_serial_](Answer a) {
    if (auto b = block_from(a, key, window))
      hover_ = b;
    else if (hover_key_ == key && hover_wish_ == window)
      refused(asked_at, is_gone(a), [this] { hover_key_.clear(); });
  });
}

void Workbench::find_failing(const std::string& key, ElementIndex from, bool forward,
                             std::function<void(std::optional<ElementIndex>)> then) {
  if (!picture_) return then({});
  json header = {{"type", "find"}, {"result", key}, {"from", {from.row, from.column}}, {"forward", forward}};
  link_.ask("find", header, [this, then = std::move(then), asked_at = report_serial_](Answer a) {
    // No answer is not "none fails": another question has taken its place, or the result is gone.
    if (a.kind != Answer::Kind::result) {
      if (is_gone(a)) refused(asked_at, true, [] {});
      return;
    }
    json j = json::parse(a.header);
    if (!j.contains("place") || !j["place"].is_array() || j["place"].size() != 2) return then({});
    then(ElementIndex{j["place"][0].get<int64_t>(), j["place"][1].get<int64_t>()});
  });
}

void Workbench::want_statistics() {
  if (!picture_ || !picture_->final || running_ || statistics_key_ == picture_->key) return;
  statistics_key_ = picture_->key;
  json header = {{"type", "statistics"}, {"result", statistics_key_}};
  link_.ask("statistics", header, [this, key = statistics_key_, asked_at = report_serial_](Answer a) {
    if (a.kind != Answer::Kind::result) {
      if (statistics_key_ == key) refused(asked_at, is_gone(a), [this] { statistics_key_.clear(); });
      return;
    }
    statistics_ = std::make_shared<Statistics>(statistics_from(json::parse(a.header), key));
  });
}

// ---- one element, sources, inventory ------------------------------------------------------------------------------

void Workbench::want_explanation(const Document& document, int64_t n, int64_t co, int64_t j) {
  const json at = {{"at", {n, co, j}}};
  uint64_t serial = ++explain_serial_;
  explaining_ = true;
  explanation_trouble_.clear();
  explain_id_ = link_.post("explain", "explain", document, at, [this, serial, document](Answer a) {
    link_.see_death(a);
    if (serial != explain_serial_) return;
    explaining_ = false;
    if (a.kind == Answer::Kind::result)
      explanation_ = std::make_shared<Explained>(explained_from(json::parse(a.header), document));
    else if (Refusal r = refusal_of(a); !r.cancelled)
      explanation_trouble_ = a.message.empty() ? r.text : a.message;
  });
  trace_id_ = link_.post("trace", "trace", document, at, [this, serial](Answer a) {
    if (serial != explain_serial_) return;
    if (a.kind == Answer::Kind::result) traced_ = std::make_shared<Traced>(traced_from(json::parse(a.header)));
  });
}

// Profiles and comparisons: a newer one takes the place of an older one, and a run goes before both.
void Workbench::measure(const char* type, const Document& document, const json& more,
                        std::function<void(const json&)> took) {
  if (running_) return;
  make_way();
  uint64_t serial = ++profile_serial_;
  profiling_ = true;
  profile_trouble_.clear();
  link_.measures();
  Meanwhile meanwhile;
  meanwhile.progress = [this, serial](const Progress& p) {
    if (serial == profile_serial_ && !running_) link_.shows(p);
  };
  auto done = [this, serial, took](Answer a) {
    link_.see_death(a);
    if (serial != profile_serial_) return;
    profiling_ = false;
    if (!running_) link_.forget_phase();
    if (a.kind == Answer::Kind::result)
      took(json::parse(a.header));
    else if (Refusal r = refusal_of(a); !r.cancelled)
      profile_trouble_ = a.message.empty() ? r.text : a.message;
  };
  profile_id_ = link_.post("profile", type, document, more, std::move(done), std::move(meanwhile));
}

void Workbench::want_profile(const Document& document, bool full) {
  measure("profile", document, {{"set", full ? "full" : "live"}}, [this, document, full](const json& answer) {
    constexpr size_t most_in_trail = 12;
    trail_.push_back(std::make_shared<Profile>(profile_from(answer, document, full)));
    if (trail_.size() > most_in_trail) trail_.erase(trail_.begin());
  });
}

void Workbench::want_comparison(const Document& document, const std::string& with) {
  measure("bench", document, {{"kernels", {document.kernel, with}}, {"against", with}},
          [this, document, with](const json& answer) {
            comparison_ = std::make_shared<KernelComparison>(comparison_from(answer, document, with));
          });
}

void Workbench::want_source(const std::string& kernel) {
  if (kernel.empty()) return;
  SourceWish& wish = sources_[kernel];
  if (wish.waiting || !wish.files.empty() || wish.starts == link_.status().starts) return;
  wish.waiting = true, wish.starts = link_.status().starts;
  link_.ask("", {{"type", "source"}, {"kernel", kernel}}, [this, kernel](Answer a) {
    SourceWish& answered = sources_[kernel];
    answered.waiting = false;
    if (a.kind == Answer::Kind::error) answered.files = {{"", "// " + refusal_of(a).text}};
    if (a.kind != Answer::Kind::result) return;
    const json j = json::parse(a.header);
    auto add = [&](const json& f) { answered.files.push_back({f.value("file", ""), f.value("text", "")}); };
    add(j);
    for (const json& header : j.value("headers", json::array())) add(header);
  });
}

const std::vector<SourceText>* Workbench::source(const std::string& kernel) const {
  auto it = sources_.find(kernel);
  return it == sources_.end() || it->second.files.empty() ? nullptr : &it->second.files;
}

void Workbench::want_info() {
  link_.ask("", {{"type", "list"}, {"what", "kernels"}}, [this](Answer a) {
    link_.came_up();
    if (a.kind != Answer::Kind::result) {
      link_.note("the engine does not start: " + (a.message.empty() ? refusal_of(a).text : a.message),
                 LogLine::Kind::trouble);
      return;
    }
    kernels_.clear();
    json all = json::parse(a.header).value("kernels", json::array());
    for (const auto& k : all) kernels_.push_back(kernel_entry(k));
  });
  link_.ask("", {{"type", "info"}}, [this](Answer a) {
    if (a.kind == Answer::Kind::result) *info_ = json::parse(a.header);
  });
}

}  // namespace convscope
