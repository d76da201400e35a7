// Parameters that a kernel's launches are not told: its author has one value of each in mind, and a failure at another
// tells nobody anything. Which values they are, small problems show: those that are right where others are wrong.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"
#include "kernels/verify/verdict.h"

namespace convscope {

// What was found.
struct Pins {
  std::set<std::string> fields;  // names of problem_fields()
  ConvProblem problem;           // with their values
  std::string words;             // "stride 2 and dilation 1"
};

// Asks for problems, as Fuzz does.
class PinSearch {
 public:
  // failing: a problem whose result was wrong. not_given: fields that the launches are not told. fixed: fields that
  // stay as they are in `failing`.
  PinSearch(const ConvProblem& failing, const std::vector<std::string>& not_given, const std::set<std::string>& fixed);

  std::optional<ConvProblem> next();  // to be judged; nothing when it is over
  void judged(Status status);
  // When it is over: nothing where the failure is no matter of such a value (no value is right, or the failing problem
  // has the right ones).
  std::optional<Pins> found() const;

 private:
  ConvProblem with(const std::vector<size_t>& choice) const;
  ConvProblem longer(ConvProblem p) const;
  void ask_next_other();

  ConvProblem failing_, begin_;
  bool length_is_fixed_;
  std::vector<std::string> open_;
  std::vector<std::vector<size_t>> choices_;  // of each open field the number of a likely value; the likeliest first
  size_t choice_ = 0;
  bool is_longer_ = false;             // right by chance at one length is not right at another: both are asked for
  std::optional<ConvProblem> chosen_;  // then: whether other values are as right, field by field
  size_t field_ = 0, other_ = 0;
  std::vector<bool> as_right_, wrong_;  // of each open field: whether another value is, or was seen to be wrong
  bool over_ = false;
  int tried_ = 0, crashes_ = 0;  // of kernels that are wrong everywhere nobody waits for all choices
};

}  // namespace convscope
