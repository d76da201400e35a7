// Kernels over one parameter: verdicts, times where there is a GPU, and what the planner's model says.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/model/engine_link.h"
#include "app/model/measuring.h"
#include "app/model/recorded.h"
#include "app/model/sweeping.h"

namespace convscope {

// The floor of a document's problem on a GPU, by the driver's name of it.
using FloorOf = std::function<std::optional<Sweep::Floored>(const Document& document, const std::string& gpu)>;

// A request at a time, so that whatever else is wished goes between two of them, and a crash ends one value and not the
// sweep.
class Sweeps {
 public:
  // Floors rest on the open recording and the newest profile.
  Sweeps(EngineLink& link, const Recorded& recorded, const Measuring& measuring, FloorOf floor_of)
      : link_(link), recorded_(recorded), measuring_(measuring), floor_of_(std::move(floor_of)) {}

  // What the planner's model says: asked at once and anew at every change.
  void want_preview(const SweepSpec& spec);
  // Verdicts and times, when somebody wants them.
  void begin(const SweepSpec& spec);
  void stop();
  // One of this that was stopped, and what it lacks.
  bool can_go_on(const SweepSpec& spec) const;
  void go_on();
  void forget_file(const std::string& path);  // it has another text

  const Sweeping& now() const { return now_; }
  // The newest that is whole: it stays until the next one is.
  const Sweeping& preview() const { return preview_shown_.sweep ? preview_shown_ : preview_; }

 private:
  void begin(Sweeping& s, const SweepSpec& spec);
  void next(Sweeping& s);
  void took(Sweeping& s, const Answer& a);
  void hold_to_floor(Sweeping& s);
  void keep_floors();

  EngineLink& link_;
  const Recorded& recorded_;
  const Measuring& measuring_;
  FloorOf floor_of_;
  Sweeping now_, preview_, preview_shown_;
  std::shared_ptr<const Recording> floors_of_;  // what their floors rest on: this, and the profile
  uint64_t floors_of_profile_ = 0;
};

}  // namespace convscope
