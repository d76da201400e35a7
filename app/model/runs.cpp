#include "app/model/runs.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t).count();
}

}  // namespace

bool Runs::begin(const Document& document) {
  wanted_ = document;
  restoring_ = false;
  if (const OpenedFile* file = files_.of(document.kernel); file && !file->ever && !file->trouble.empty()) return false;
  post(document);
  return true;
}

void Runs::cancel() {
  if (running_) link_.cancel(id_);
}

void Runs::stop_for_new_text() {
  if (running_) link_.cancel(id_), was_cut_ = true;
}

// The tensors of the last good run are gone with their engine. They are made again, so that what is shown can be moved
// and zoomed; what is said stays. Once, until a run has come to its end: it may be this one that ends engines.
void Runs::restore() {
  if (!picture_ || running_ || !may_restore_) return;
  may_restore_ = false;
  restoring_ = true;
  post(picture_->document);
}

void Runs::post(const Document& document) {
  if (news_.begins) news_.begins(restoring_);
  running_ = true, was_cut_ = cancelled_ = false;
  posted_ = std::chrono::steady_clock::now();
  link_.works_since(posted_);
  uint64_t serial = ++serial_;
  const OpenedFile* file = files_.of(document.kernel);
  text_ = file ? file->compiled : 0;
  Meanwhile meanwhile;
  meanwhile.partial = [this, serial, document](const std::string& text) {
    auto r = std::make_shared<Report>();
    try {
      *r = report_from(json::parse(text), document, false);
    } catch (const json::exception&) {
      return;  // the final answer will say what is wrong
    }
    link_.deliver([this, serial, r] {
      if (serial == serial_) take(*r);
    });
  };
  meanwhile.progress = [this, serial](const Progress& p) {
    if (serial == serial_) link_.shows(p);
  };
  id_ = link_.post(
      "run", "run", document, json::object(),
      [this, serial, document](Answer a) { took(serial, std::move(a), document); }, std::move(meanwhile));
}

void Runs::took(uint64_t serial, Answer a, const Document& document) {
  link_.see_death(a);
  if (serial != serial_) return;
  running_ = false;
  link_.rests();
  if (a.kind == Answer::Kind::result) {
    try {
      take(report_from(json::parse(a.header), document, true));
    } catch (const json::exception& e) {
      link_.note(std::string("the engine's answer cannot be read: ") + e.what(), LogLine::Kind::trouble);
    }
    return;
  }
  if (a.kind == Answer::Kind::error) {
    Refusal refusal = refusal_of(a);
    if (refusal.cancelled) {
      link_.note("cancelled");
      cancelled_ = true, cancelled_document_ = document;
      if (report_ && !report_->final) report_ = nullptr;  // its verdict will not come
      return;
    }
    link_.note(refusal.text, LogLine::Kind::trouble);
    take(failed_report(document, refusal.exit_code == 4 ? "crashed" : "not-run",
                       (refusal.exit_code == 4 ? "crashed: " : "not run: ") + refusal.text));
    return;
  }
  bool hung = a.kind == Answer::Kind::hung;
  take(failed_report(document, hung ? "hung" : "crashed", (hung ? "hung: " : "crashed: ") + a.message));
  if (!restoring_) restore();
}

void Runs::take(Report r) {
  r.serial = ++report_serial_;
  r.text = text_;
  auto made = std::make_shared<const Report>(std::move(r));
  if (!made->key.empty()) {
    bool first = !picture_ || picture_->key != made->key || !picture_->serial ||
                 made->document.kernel != picture_->document.kernel;
    if (first || !made->final) last_picture_ms_ = milliseconds_since(posted_);
    picture_ = made;
    may_restore_ |= made->final;
    for (const auto& forget : std::exchange(refused_, {})) forget();
  }
  if (restoring_) return;  // the verdict that stands is the crash
  report_ = made;
  if (!made->final) return;
  keep_verdict(made);
  keep_time(*made);
  if (news_.verdict) news_.verdict(*made);
}

// A text that is run again, as by F5, has the same one before it.
void Runs::keep_verdict(const std::shared_ptr<const Report>& r) {
  if (!r->text || !judged_ || !judged_->text || needs_run(judged_->document, r->document))
    before_ = nullptr;
  else if (judged_->text < r->text)
    before_ = judged_;
  judged_ = r;
}

bool Runs::ran_on(const Document& document) const {
  return !ran_.empty() && ran_on_.problem == document.problem && ran_on_.inputs == document.inputs;
}

void Runs::keep_time(const Report& r) {
  if (r.device_kind != "cuda" || !r.timing.median_ms || !(*r.timing.median_ms > 0)) return;
  if (!ran_on(r.document) || ran_device_ != r.device_name)
    ran_.clear(), ran_on_ = r.document, ran_device_ = r.device_name;
  std::erase_if(ran_, [&](const KernelTime& t) { return t.kernel == r.kernel; });  // the newest counts
  ran_.push_back({r.kernel, *r.timing.median_ms, r.timing.packed.packs});
}

void Runs::ask_again(uint64_t asked_at, bool gone, std::function<void()> forget) {
  if (asked_at != report_serial_) return forget();
  refused_.push_back(std::move(forget));
  if (gone) restore();
}

std::string Runs::stale(const Report& shown, const Document& document) const {
  const OpenedFile* file = files_.of(document.kernel);
  const bool other = needs_run(shown.document, document),
             text_changed = !other && files_.is_of_before(shown) && (file->compiling || file->trouble.empty());
  if (!other && !text_changed) return "";
  // What takes longer than a moment is awaited with another thing before one's eyes.
  constexpr double moment_ms = 700;
  const bool computing = running_ && !restoring_, compiling = file && file->compiling;
  if ((computing && milliseconds_since(posted_) < moment_ms) ||
      (compiling && milliseconds_since(file->since) < moment_ms))
    return "computing";
  std::string words = text_changed ? "of the file as it was before" : other_document_words(shown.document, document);
  if (computing || compiling) words += computing ? "; the newest is being computed" : "; the newest is being compiled";
  return words;
}

}  // namespace convscope
