// Verification over many problems: problems are drawn, and the first that fails is made as small as it goes.
//
// This draws and shrinks, and judges nothing: whoever uses it asks for the next problem, has it judged where kernels
// may crash, and says what came of it. What is drawn follows from the seed alone. Half of all problems are small and
// odd (a tap, a position, a stride longer than the taps, groups of one channel), the others have sizes that tiles are
// made of, and sizes beside them; of a dozen one has a size that is large. The shrinking is a greedy descent over the
// parameters, as delta debugging does over inputs (Zeller & Hildebrandt, Simplifying and Isolating Failure-Inducing
// Input, 2002).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"
#include "kernels/verify/fuzz_pins.h"
#include "kernels/verify/verdict.h"

namespace convscope {

struct FuzzSpec {
  ConvProblem base = {};             // what is fixed is taken from it; its dtype always is
  std::set<std::string> fixed = {};  // names of problem_fields(), and "bias"
  int64_t cases = 100;               // that are to be judged: a problem that the kernel does not take is none
  uint64_t seed = 42;
  // Output elements × taps × channels of a group: what the plainest kernel does for a problem that is drawn.
  double most_products = 1e6;
  // Whole layers that are the last of the cases, where they have what is fixed: what is drawn has few channels, and what
  // fills an array of fixed length is seen on none of it.
  std::vector<ConvProblem> layers = {};
  // Instead of drawing: what is known to fail, to be made smaller. It is the first problem that next() gives.
  std::optional<ConvProblem> start = {};
};

// The KernelBench layers, small, that the emulator judges in about a second.
std::vector<ConvProblem> layers_for_the_end(DType dtype);

class Fuzz {
 public:
  struct Case {
    ConvProblem problem;
    Status status = Status::right;
    std::string sentence;         // of the verdict
    bool sums_are_right = false;  // wrong by what it does beside: to memory, by a race
  };

  // Of the problems that were judged and found right, how many had what.
  struct Coverage {
    const char* what;
    bool (*has)(const ConvProblem&);
    int64_t count = 0;
  };

  // Errors: InputError when cases is not in 1 … 100,000, or when no legal problem has the fixed values.
  explicit Fuzz(const FuzzSpec& spec);

  // The problem to be judged next, the same until judged() was called; nothing when it is over.
  std::optional<ConvProblem> next();
  // not_run: the kernel does not take it; with `fails` it does, and cannot be launched (a grid of no blocks).
  // not_given: fields that its launches are not told (KernelDefinition). Where the first failure comes of the value of
  // one, that is found out first, and problems are drawn anew with the value that is in the kernel.
  void judged(Status status, std::string sentence, bool fails = false, const std::vector<std::string>& not_given = {},
              bool sums_are_right = false);

  int64_t right() const { return right_; }                   // judged and found right
  int64_t refused() const { return refused_; }               // that the kernel does not take
  // Why not, in the verdicts' words (one for all that differ in numbers alone), and how often; what refused the plainest
  // problem first: a kernel that takes nothing refuses groups as well.
  struct Refusal {
    std::string sentence;
    int64_t count = 0, features = 0;  // of the plainest: groups, a bias, several sequences, …
  };
  std::vector<Refusal> refusals() const;
  const std::optional<Pins>& pins() const { return pins_; }  // values that are in the kernel: others are not drawn
  int64_t largest_right() const { return largest_right_; }   // output elements of those that were right
  bool looking_for_pins() const { return pin_search_.has_value(); }
  const std::vector<Coverage>& coverage() const { return coverage_; }
  bool shrinking() const { return first_.has_value() && !pin_search_; }
  const std::optional<Case>& first() const { return first_; }        // that failed, as drawn
  const std::optional<Case>& smallest() const { return smallest_; }  // so far; no smaller one fails once it is over
  int64_t smaller_tried() const { return steps_; }
  // Why fewer were judged than asked for: "" when none are missing.
  const std::string& ended_early() const { return ended_early_; }

 private:
  std::optional<ConvProblem> draw();
  std::optional<ConvProblem> layer();  // the next of spec_.layers
  ConvProblem drawn_once();
  ConvProblem large_once();
  std::optional<ConvProblem> smaller();
  void begin_drawing();
  void end_pin_search();
  void list_smaller_values();
  bool is_fixed(const char* field) const { return spec_.fixed.contains(field); }
  int64_t between(int64_t low, int64_t high);
  bool chance(int percent) { return between(1, 100) <= percent; }

  FuzzSpec spec_;
  std::mt19937_64 random_, random_of_large_;
  int64_t draws_ = 0;
  size_t layer_ = 0;
  std::set<std::string> seen_;
  std::optional<ConvProblem> asked_;
  std::map<std::string, Refusal> refusals_;
  int64_t right_ = 0, refused_ = 0, refused_in_a_row_ = 0, steps_ = 0, largest_right_ = 0;
  std::vector<Coverage> coverage_;
  std::optional<Case> first_, smallest_;
  std::optional<PinSearch> pin_search_;
  std::optional<Pins> pins_;
  bool looked_for_pins_ = false;
  std::string ended_early_;
  // Of the descent: the parameter that is being made smaller, values of it that are still to be tried, whether this
  // round over the parameters has made anything smaller.
  size_t parameter_ = 0;
  std::vector<int64_t> values_;
  bool listed_ = false, progress_ = false, least_ = false;  // least_: nothing is left to be tried
};

}  // namespace convscope
