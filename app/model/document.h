// What a person has set: one plain value. The window shows it, commands make a new one of it, the engine computes it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kernels/problem/inputs.h"
#include "kernels/verify/accuracy.h"
#include "kernels/verify/compare.h"

namespace convscope {

// Always legal: check(problem) passes, and files fit. What a person types may be illegal for a while; that is a Draft.
struct Document {
  ConvProblem problem;
  InputSpec inputs;
  std::string kernel = "S4";
  std::string compare_with = "oracle";  // or a reference: whose figures stand beside the kernel's
  Accuracy accuracy = Accuracy::strict;
  double atol = 1e-2, rtol = 1e-2;  // the gate that is shown beside the verdict
  std::string device = "auto";

  Document();  // the first thing a person sees: S4 on kernelbench-79-small
  bool operator==(const Document&) const = default;
};

// Does a change between two documents need a new run of the kernel, or only another look at its result?
bool needs_run(const Document& from, const Document& to);

// ---- commands: everything that changes a Document -------------------------------------------------------------------

struct SetProblem {
  ConvProblem problem;
};
struct LoadPreset {
  std::string name;
};
struct SetKernel {
  std::string name;
};
struct SetCompareWith {
  std::string name;
};
enum class Role { input, weight, bias };
struct SetSource {
  Role role;
  TensorSource source;
};
struct SetSeed {
  uint64_t seed;
};
struct SetTolerance {
  double atol, rtol;
};
struct SetAccuracy {
  Accuracy accuracy;
};
struct SetDevice {
  std::string name;
};
struct ReplaceDocument {  // a session was opened
  Document document;
  std::string name;
};

using Change = std::variant<SetProblem, LoadPreset, SetKernel, SetCompareWith, SetSource, SetSeed, SetTolerance,
                            SetAccuracy, SetDevice, ReplaceDocument>;

// gesture: changes of one drag or one stretch of typing share a number and are one step of undo; 0 stands alone.
struct Command {
  Change change;
  uint64_t gesture = 0;
};

// The document after a change. Errors: InputError in the words every interface uses; the document stays as it was.
Document apply(const Document& from, const Change& change);

// "stride 2 → 3", "kernel S4 → tiled": for the undo menu and the log.
std::string describe_change(const Document& from, const Document& to);

// What two documents do not share, in the words of each: "batch 1, length 4096" and "batch 16, length 131072". Both are
// empty where they are the same.
struct Difference {
  std::string one, other;
};
Difference describe_difference(const Document& one, const Document& other);
// "of kernel tiled; now: kernel direct": of what is shown, where something else is asked for.
std::string other_document_words(const Document& shown, const Document& asked);

// The problem with one parameter changed. The output padding follows down when stride and dilation leave no room for
// it.
ConvProblem with(ConvProblem p, int64_t ConvProblem::*field, int64_t value);

// One sequence, and so much of it as 60 million operations compute (at least 16 positions): what a large problem looks
// like, and where a wrong kernel is wrong. The problem itself where it is no larger, or where only a file's shape fits.
ConvProblem short_piece(const Document& d);

// How far a slider goes from a legal problem: both ends are legal (by with()), and the present value lies between them.
struct Span {
  int64_t low, high;
};
Span slider_span(const ConvProblem& p, int64_t ConvProblem::*field);

// The value of a parameter that lies so many whole steps on. Where that is not legal (by with()), the next one that is,
// else the last one before it; the present one where there is none.
int64_t stepped(const ConvProblem& p, int64_t ConvProblem::*field, int64_t by);

// Which tensors' values are not those that are usual ("x impulse, w ones", "x mine.npy", "seed 7"), or "".
std::string unusual_inputs(const Document& d);

// The preset whose problem this is, or "".
std::string preset_of(const ConvProblem& p);

}  // namespace convscope
