// A small problem on which edits of a kernel's text are tried (convscope/edits.h): one at a time in a process.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/problem/inputs.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/edit_words.h"
#include "kernels/verify/problem_memory.h"

namespace convscope {

// Of threads: those that race are right in some.
inline constexpr std::array<uint32_t, 4> thread_orders = {0, 0x5eed5, 0x1cafe, 0xb10c5};

// How many of some problems that were drawn a kernel is right on.
struct DrawnProblems {
  int right = 0, of = 0;
  std::optional<ConvProblem> wrong;  // the first that it is wrong on
};

// The edits that are made while it lives.
class MadeEdit {
 public:
  explicit MadeEdit(const TextEdit& edit);
  ~MadeEdit();
  MadeEdit(const MadeEdit&) = delete;

 private:
  const TextEdit& edit_;
};

// A problem, where it lies, and what its output is.
class EditTrial {
 public:
  // in: integers whose sums are exact. Both must outlive it. Errors: those of the kernel's plan; InputError.
  EditTrial(Device& emulator, const KernelDefinition& kernel, const ConvProblem& p, Inputs in);
  const ConvProblem& problem() const { return p_; }
  uint32_t wrong_order = 0;  // in which it is wrong as it is

  // Whether every output is what it should be, with the edits that are made. plans: whether they may change the plan.
  bool right(bool plans, uint32_t order);
  // Whether its threads race; of the kernel that is listed under its name. Errors: Cancelled.
  bool races(Activity& activity);

  // How much it does as it is: the places of edits that it passes. From then on edits may pass some times as many.
  void know_cost();
  double cost() const { return cost_; }
  static constexpr double not_run = 1e12;  // more than any: of one that it is not run on
  int64_t passed() const { return passed_; }
  int64_t passed_last() const;  // in the last run

 private:
  bool of_plan(bool plans, const std::function<bool(const Plan&)>& does);
  void take_memory(const Plan& plan);
  bool can_run(const Plan& plan);
  bool brings_all(const Plan& plan, uint32_t order);

  static constexpr int64_t most_fuel = 400'000'000;
  Device& emulator_;
  const KernelDefinition& kernel_;
  const ConvProblem p_;
  const Inputs in_;
  const Plan plan_;
  std::vector<double> expected_;
  std::unique_ptr<ProblemMemory> memory_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
  int64_t own_length_ = 0, fuel_ = most_fuel, passed_ = 0;
  double cost_ = 0;
  bool ran_ = false;
  size_t workspace_ = 0;
};

}  // namespace convscope
