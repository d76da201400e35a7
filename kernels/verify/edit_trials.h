// The small problems on which edits of a kernel's text are tried, and which of them it is right on.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/edit_trial.h"

namespace convscope {

// What a problem has that another has not, and a kernel may be made without ("a dilation"): what it does there is
// another question.
std::vector<std::string> has_more(const ConvProblem& q, const ConvProblem& than);

// Right in every order of threads in which problems are tried.
bool right_in_all_orders(EditTrial& t, bool plans);

// Of a kernel, small ones like the asked problem.
class EditTrials {
 public:
  // All must outlive it.
  EditTrials(const KernelDefinition& kernel, Device& emulator, Activity& activity)
      : kernel_(kernel), emulator_(emulator), activity_(activity) {}

  // Those that it takes, the cheapest first. form: the kernel, or its text made such that edits can be tried.
  // Errors: Cancelled, MissingError.
  void make(const KernelDefinition& form, const ConvProblem& like);
  // One of other problems; null: it does not take it.
  std::unique_ptr<EditTrial> trial(const KernelDefinition& form, const ConvProblem& q) const;
  // Which are right as it is, with the edits that are made.
  void look();
  // Of small problems that are drawn at random, with no more than `like` has and with what all of the trials have in
  // common: how many `form` is right on. Errors: Cancelled.
  DrawnProblems drawn(const KernelDefinition& form, const ConvProblem& like) const;

  const std::vector<std::unique_ptr<EditTrial>>& all() const { return all_; }
  const std::vector<EditTrial*>& wrong() const { return wrong_; }
  const std::vector<EditTrial*>& right() const { return right_; }
  // One more, of a problem that `form` is wrong on.
  void add(const KernelDefinition& form, const ConvProblem& q);

 private:
  const KernelDefinition& kernel_;
  Device& emulator_;
  Activity& activity_;
  std::vector<std::unique_ptr<EditTrial>> all_;
  std::vector<EditTrial*> wrong_, right_;
};

// A right kernel of less than was asked for: where it is right, in words ("it is right without a dilation, on …; ");
// "": nowhere that was looked at.
std::string right_of_less(const KernelDefinition& kernel, const ConvProblem& p, Device& emulator, Activity& activity);

}  // namespace convscope
