// Every kernel's time on one problem beside the floor: how far each rung is from what is possible.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/model/document.h"

namespace convscope {

class Workbench;

// What the planner's model says that the rungs take on a GPU, weights packed before.
struct PredictedTimes {
  uint64_t serial = 0;  // counts answers
  ConvProblem problem;
  std::string device;   // the document's
  std::string gpu;      // of which the model speaks
  std::string trouble;  // why there are none
  struct One {
    std::string kernel;
    std::optional<double> ms;
    std::string refused;  // why it is out of the question
  };
  std::vector<One> all;
};

struct LadderRow {
  enum class From { nothing, recorded, measured, predicted };
  std::string name, kind, idea;  // kind: outside, specimen, ladder, reference
  From from = From::nothing;
  double ms = 0;
  std::optional<bool> packs;  // the time has the packing of weights in it; empty: nobody said
  std::string of;             // of which measurement of a recording: "the profile of 2026-11-24"
  bool looser = false;        // by arithmetic that the document's accuracy does not allow
  bool can_choose = false;    // it runs here, or is recorded
  std::string status;         // right, wrong, …: a verdict on this problem at the document's accuracy; "" without one
  std::string why;            // why it has no time
  // It was timed and recorded without a verdict that counts here: nobody has said that it is right.
  bool not_judged() const {
    return from == From::recorded && kind != "reference" && (status.empty() || status == "not-judged");
  }
};

struct Ladder {
  std::vector<LadderRow> rows;       // files, specimens, rungs, references
  bool recorded = false;             // times are those of the open recording
  std::vector<std::string> sources;  // "recorded: NVIDIA H200, 2026-11-24", one for each kind of time
  std::optional<double> floor_ms;    // by the arithmetic that the document's accuracy allows, whatever its kernel
  std::string floor_words;           // "by bytes of NVIDIA H200, datasheet"
  const LadderRow* of(const std::string& name) const;  // null: none
  // Of those whose arithmetic is allowed and that are not known to be wrong, with a time from there; null: none.
  const LadderRow* fastest(LadderRow::From from) const;
  const LadderRow* fastest() const;  // of all that was timed, else of what is predicted
  bool any() const;                  // some row has a time
};

// Times of the open recording while it is shown; else those that ran here on a GPU, and for rungs that did not what the
// planner's model predicts for the same GPU. Emulated times are none.
Ladder ladder_of(const Workbench& bench, const Document& document);

// "S4 takes 35.5 ms: 93.4 times hopper_tf32, the fastest that is accurate enough, and 113 times the floor": what a
// ladder says of the document's kernel; "" where it says nothing.
std::string ladder_sentence(const Ladder& ladder, const Document& document);
// "1.22", "25.0", "142", "4,013": three digits, or all of them.
std::string times_text(double times);

}  // namespace convscope
