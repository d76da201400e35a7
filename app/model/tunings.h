// The search for a faster form of a kernel file (app/engine/tuning.h), when a person wishes it: in an engine of its
// own, so that the window's goes on answering and a form that ends one takes nothing along.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/tuning.h"
#include "app/model/engine_link.h"
#include "kernels/verify/edit_words.h"

namespace convscope {

// What a person may choose of it (TuningSpec).
struct TuningChoice {
  bool for_layer = false, by_hot = false;
};

struct TuningNow {
  uint64_t serial = 0;  // of what is shown: another one when it has changed
  Document document;    // that it is of
  std::string before;   // the file's text
  TuningChoice choice;
  bool running = false, ending = false;  // ending: no further form is tried
  std::unique_ptr<Tuning> search;
  std::string now, trouble;  // what is done; why it has ended early
  double seconds = 0;
  std::chrono::steady_clock::time_point begin;

  // Once it is over, of the file and its best form.
  struct Result {
    std::vector<ChangedLine> lines;
    std::optional<double> before_ms, after_ms, speedup;
    double before_noise = 0, after_noise = 0;  // percent
    int64_t samples = 0, left = 0;
    std::string verdict;
    std::vector<std::string> only_for;
    size_t judged = 0;  // small problems
  };
  std::optional<Result> result;
};

class Tunings {
 public:
  static constexpr double most_seconds = 180;  // that forms are tried for

  Tunings(EngineOptions options, std::function<void()> wake) : options_(std::move(options)), wake_(std::move(wake)) {}

  void begin(const Document& document, const std::string& text, TuningChoice choice);
  void enough();                              // what is judged by now is timed, then it is over
  void stop();                                // at once
  void forget_file(const std::string& path);  // it has another text
  bool drain();
  void close() { link_.reset(); }

  const TuningNow& now() const { return now_; }
  // Of this document's kernel and problem, or null.
  const TuningNow* of(const Document& d) const;

 private:
  void next();
  void took(const Answer& a, bool brought);
  void end(std::string trouble);

  EngineOptions options_;
  std::function<void()> wake_;
  std::unique_ptr<EngineLink> link_;
  bool over_ = false;  // the engine is to go, when its answer has been taken in
  TuningNow now_;
};

}  // namespace convscope
