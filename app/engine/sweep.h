// Kernels over one parameter of the problem: at each value a verdict and a time.
//
// This asks and keeps, and has no engine of its own: whoever uses it sends what next() gives and says what came of it,
// one request after the other, so that others go between two of them and a kernel that crashes ends one value, not the
// sweep. First of all values what the planner's model says (milliseconds each), then the verdicts, and on a GPU the
// times, samples of all kernels at a value taken in turn (nvbench calls such a parameter an axis,
// https://github.com/NVIDIA/nvbench).
#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/codec.h"
#include "kernels/problem/axis.h"
#include "kernels/verify/verdict.h"

namespace convscope {

struct SweepSpec {
  ConvProblem base;
  Axis axis;
  std::vector<std::string> kernels = {};  // also references, and auto: the planner's choice at each value
  InputSpec inputs = {};                  // kinds and seed; files are of one shape
  Accuracy accuracy = Accuracy::strict;
  std::string device = "auto";
  // automatic: measured on a GPU, else what the planner's model predicts. measured on the emulator are its own times.
  enum class Times { automatic, predicted, measured, none } times = Times::automatic;
  // automatic: on the emulator none where a run computes more than most_products.
  enum class Verdicts { automatic, all, none } verdicts = Verdicts::automatic;
  int samples = 25;  // of each time
};

// Whether two ask for the same: where the axis stands in the problem that they begin with is no matter.
bool same_sweep(const SweepSpec& a, const SweepSpec& b);

struct SweepEntry {
  std::string kernel, ran;       // as asked for; what `auto` is here
  bool reference = false;        // it is judged nowhere here
  std::optional<Status> status;  // empty: not judged (yet)
  std::string sentence;          // of the verdict, or why there is none
  int64_t failing = 0, elements = 0;
  std::optional<double> worst;  // error to its bound; empty: none was worked out
  std::optional<double> ms;     // hot, weights packed before where they are
  std::optional<double> cold_ms, noise_pct;
  std::string source, no_time;  // measured, emulated, predicted; why there is no time
  double failing_fraction() const {
    return elements > 0 ? static_cast<double>(failing) / static_cast<double>(elements) : 0;
  }
  bool wrong() const { return status == Status::wrong || status == Status::crashed || status == Status::hung; }
};

struct SweepPoint {
  int64_t value = 0;
  ConvProblem problem;
  std::string note, refused;  // what was changed beside the value; the rule that the problem breaks
  std::optional<double> floor_ms;
  std::string floor_words;          // "by bytes of NVIDIA H200, datasheet"
  std::vector<SweepEntry> entries;  // of each kernel; none where the problem is refused
};

class Sweep {
 public:
  // Products (walked_products) of a run on the emulator that is judged without being asked: a second or two.
  static constexpr double most_products = 3e8;

  // Errors: InputError: no kernel, one given twice, the oracle, files, or no value that makes a legal problem.
  explicit Sweep(SweepSpec spec);

  struct Request {
    nlohmann::json header;
    std::string title;  // what is done now
  };
  std::optional<Request> next() const;  // the same until it was answered; nothing when it is over
  // What became of it. failed: an error answer's code (crashed, hung, bad-input, …); false: it ends the sweep.
  void took(const nlohmann::json& result);
  bool failed(const std::string& code, const std::string& message);

  // The floors of those who know more of a GPU (its driver's name) than the answers do, which have the data sheet's of
  // one that is not here: of all points, and of those that come. Where it gives nothing, the answer's stays.
  struct Floored {
    double ms;
    std::string words;  // "by bytes of NVIDIA H200, recorded …"
  };
  using FloorRule = std::function<std::optional<Floored>(const ConvProblem&, const std::string& gpu)>;
  void floors_by(FloorRule rule);

  const SweepSpec& spec() const { return spec_; }
  const std::vector<SweepPoint>& points() const { return points_; }
  bool over() const { return phase_ == Phase::over; }
  double share_done() const;                             // 0 to 1
  const std::string& device() const { return device_; }  // its name, when an answer has said it
  bool on_gpu() const { return on_gpu_; }
  bool measures() const;  // times come from running, not from the model
  // What all times here are: "measured on NVIDIA H200", "predicted by the planner's model for NVIDIA H200"; "": none.
  std::string times_words() const;
  // What it shows, in words: of each kernel where it is right, and who is the fastest where.
  std::vector<std::string> sentences() const;
  std::string csv() const;
  nlohmann::json document() const;  // all of it, with the names of interface.md

 private:
  enum class Phase { references, predict, run, over };
  void skip();
  bool judges(const SweepPoint& p, const SweepEntry& e) const;
  bool timed(const SweepPoint& p) const;
  std::vector<std::string> timeable(const SweepPoint& p) const;
  void take_choice(SweepPoint& p, const nlohmann::json& answer);
  void take_verdict(SweepEntry& e, const nlohmann::json& answer);
  void take_times(SweepPoint& p, const nlohmann::json& answer);
  void give_up_on(const std::string& kernel);
  void put_floor(SweepPoint& p) const;

  SweepSpec spec_;
  std::vector<SweepPoint> points_;
  std::string device_, target_;
  FloorRule floor_rule_;
  bool on_gpu_ = false, measured_alone_ = false;  // what was predicted has been put away
  Phase phase_ = Phase::references;
  size_t point_ = 0, entry_ = 0;  // in Phase::run: entry_ == entries.size() is the point's times
  std::map<std::string, int> crashes_;
  std::map<std::string, std::string> given_up_;  // kernels that hung, or crashed again and again: where
};

}  // namespace convscope
