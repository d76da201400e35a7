// A faster form of a kernel file: changes of its text (kernels/runtime/compile/tuning_changes.h), one knob after the
// other, each compiled, judged, and timed on the GPU in turn with the best one so far.
//
// This asks and keeps, as a sweep does: whoever uses it sends what next() gives and says what came of it, so that a
// form that ends the engine is one that is left out. It is a descent along coordinates: of a knob the fastest right
// value stays where it is FASTER (profiling/statistics/compare.h), until none of the knobs has one. Forms are judged on
// small problems before they are timed, and on the asked one, which takes seconds, before they are kept. Last the file
// and the best form are timed once more, in more samples: of many that are tried the best one looks better than it is.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/engine/codec.h"
#include "kernels/runtime/compile/tuning_changes.h"

namespace convscope {

struct TuningSpec {
  RunRequest request;      // kernel: the file's name; device: a GPU
  std::string text;        // the file's
  bool by_hot = false;     // hot times decide, else cold ones
  bool for_layer = false;  // parameters of the layer may become constants
  int samples = 9;         // of each time while forms are tried; fewer than eight leave every verdict open (compare.h)
};

// One form that was tried.
struct TriedForm {
  enum class State { refused, wrong, crashed, timed } state = State::refused;
  std::string knob, words, reason;    // reason: why it was not timed, or not kept though it is FASTER
  std::vector<std::string> with;      // changes that the best one had by then
  std::optional<double> ms, speedup;  // against the best one by then, in the same turns
  std::string verdict;                // SAME, FASTER, SLOWER, AMBIGUOUS
  bool kept = false;
};

// Small problems that forms are judged on, those of them on which the file is right.
struct TuningProblem {
  ConvProblem problem;
  bool on_emulator;  // where what a kernel does to memory is seen; else on the GPU
};
std::vector<TuningProblem> tuning_problems(const ConvProblem& asked, bool for_layer);

class Tuning {
 public:
  // Errors: InputError of a Python file without a source.
  explicit Tuning(TuningSpec spec);

  struct Request {
    std::string file, text;  // text: not empty: a form that the engine is to be given under this name
    nlohmann::json header;   // else: what is asked
    std::string title;
    const char* kind;  // compiling, small_problems (with compiling for the GPU), asked_problem, timing
  };
  std::optional<Request> next() const;  // the same until it was answered; nothing when it is over
  void took(const nlohmann::json& result);
  // failed: an error answer's code (compile, crashed, hung, bad-input, …). False: it ends the search.
  bool failed(const std::string& code, const std::string& message);
  // No further form is tried: what is judged by now is timed, and what there is then once more.
  void enough();

  const TuningSpec& spec() const { return spec_; }
  const std::vector<TriedForm>& tried() const { return tried_; }
  const std::string& wrong() const { return wrong_; }  // why the file itself is none to be tuned; "": it is right
  double best_speedup() const { return speedup_; }     // so far, of the steps that were kept
  const std::string& best_text() const { return best_.text; }
  bool confirmed() const;  // once it is over: the last comparison says FASTER
  // All of it; `text` null without a change, `before` and `after` null where the last comparison was not made.
  nlohmann::json document() const;

 private:
  enum class Phase { begin, controls, bring, small, times, asked, last, over };
  struct Form {
    std::string kernel, text, knob, words;
    std::vector<std::string> changes, only;  // of the file, in their order; what it is right for alone
  };
  struct Faster {
    size_t form, tried;  // in right_, in tried_
    double speedup;
  };
  void next_knob();
  void next_form();
  void is_right();
  void drop(TriedForm::State state, const std::string& reason);
  void take_times(const nlohmann::json& answer);
  void take_asked(bool right, TriedForm::State state, const std::string& sentence);
  void end_control(bool right);
  nlohmann::json judge(const std::string& kernel, const TuningProblem& p) const;
  nlohmann::json bench(const std::vector<std::string>& kernels, int samples) const;
  std::vector<TuningChange> changes_of(const std::string& text) const;

  TuningSpec spec_;
  Phase phase_ = Phase::begin;
  std::vector<TuningProblem> controls_;
  size_t control_ = 0;
  Form best_;
  std::vector<TuningChange> changes_;  // of the best one
  std::set<std::string> done_, seen_;  // knobs of it; texts
  std::vector<Form> waiting_, right_;  // of a knob: to be tried; judged right on small problems
  std::vector<Faster> faster_;         // of these, the fastest one last
  size_t form_ = 0;
  std::string knob_;           // that is, or was last, turned
  int fails_ = 0, names_ = 0;  // fails_: of the knob, before any was right
  int64_t left_ = 0, skipped_ = 0;
  bool enough_ = false;
  double speedup_ = 1;
  std::string wrong_;
  std::vector<TriedForm> tried_;
  nlohmann::json compared_, device_;
};

}  // namespace convscope
