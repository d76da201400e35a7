// The run of a kernel and what came of it: reports, and the pictures that an engine holds for them.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/model/engine_link.h"
#include "app/model/kernel_times.h"
#include "app/model/opened_files.h"
#include "app/model/report.h"

namespace convscope {

// What the others are told of runs.
struct RunNews {
  std::function<void(bool again)> begins = {};             // before it is asked for; again: only for its pictures
  std::function<void(const Report& report)> verdict = {};  // the final report
};

// A run goes before everything but other runs: the newest wins.
class Runs {
 public:
  Runs(EngineLink& link, const OpenedFiles& files) : link_(link), files_(files) {}
  void tell(RunNews news) { news_ = std::move(news); }

  // False where what never compiled is no kernel that could be run: it is wanted all the same.
  bool begin(const Document& document);
  void cancel();
  void stop_for_new_text();  // the same, of a kernel whose file has another text now: it is to be made up for

  // What was asked about a result and not answered is asked again when there is a next one: `forget` makes the window
  // wish it anew. asked_at: how many reports there were when it was asked. gone: the engine has not the result any
  // more.
  void ask_again(uint64_t asked_at, bool gone, std::function<void()> forget);
  uint64_t reports() const { return report_serial_; }

  // The newest report, whatever it says; the newest that has pictures in an engine that lives; never taken back, only
  // replaced.
  std::shared_ptr<const Report> report() const { return report_; }
  std::shared_ptr<const Report> picture() const { return picture_; }
  std::string picture_key() const { return picture_ ? picture_->key : ""; }
  // The verdict on what the kernel's file was before, of the same problem, inputs and device; null: it had no other
  // text since these were chosen.
  std::shared_ptr<const Report> report_of_text_before() const { return before_; }
  bool running() const { return running_; }
  bool cancelled() const { return cancelled_; }
  // The last one, which was of this document, and what is shown is of another.
  bool cancelled(const Document& d, const Report* shown) const {
    return cancelled_ && !needs_run(cancelled_document_, d) &&
           (!shown || (shown->recorded.empty() && needs_run(shown->document, d)));
  }
  const Document& wanted() const { return wanted_; }
  // Whether a run was cut short by a new text, and none has begun since: it is to be made up for.
  bool owes_a_run() const { return was_cut_; }
  // Why the picture, or what was shown of another document, is not what this one asks for: "" when it is.
  std::string stale(const Document& document) const { return picture_ ? stale(*picture_, document) : ""; }
  std::string stale(const Report& shown, const Document& document) const;
  // Milliseconds from the last run's wish to its first picture.
  double last_picture_ms() const { return last_picture_ms_; }

  // Times of the kernels that ran here on a GPU since problem, inputs or device changed, and whether they are of this
  // document's problem and inputs.
  const std::vector<KernelTime>& ran() const { return ran_; }
  const std::string& ran_device() const { return ran_device_; }
  bool ran_on(const Document& document) const;

 private:
  void post(const Document& document);
  void restore();
  void took(uint64_t serial, Answer answer, const Document& document);
  void take(Report r);
  void keep_time(const Report& r);
  void keep_verdict(const std::shared_ptr<const Report>& r);

  EngineLink& link_;
  const OpenedFiles& files_;
  RunNews news_;
  Document wanted_;
  uint64_t serial_ = 0, id_ = 0, text_ = 0, report_serial_ = 0;
  std::chrono::steady_clock::time_point posted_;
  bool running_ = false, restoring_ = false, may_restore_ = true;
  bool was_cut_ = false;    // by a new text of its kernel
  bool cancelled_ = false;  // the last one, before its verdict had come
  Document cancelled_document_;
  std::vector<std::function<void()>> refused_;  // what to forget when the next result comes
  std::shared_ptr<const Report> report_, picture_;
  std::shared_ptr<const Report> judged_, before_;  // the last verdict; that on the text before its
  double last_picture_ms_ = 0;
  std::vector<KernelTime> ran_;
  Document ran_on_;  // whose problem and inputs they are of
  std::string ran_device_;
};

}  // namespace convscope
