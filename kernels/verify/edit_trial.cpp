#include "kernels/verify/edit_trial.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "convscope/edits.h"
#include "kernels/base/error.h"
#include "kernels/problem/counts.h"
#include "kernels/reference/oracle.h"
#include "kernels/runtime/simt/edited_memory.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/verify/pyramid.h"
#include "kernels/verify/races.h"

namespace convscope {

MadeEdit::MadeEdit(const TextEdit& edit) : edit_(edit) {
  for (const auto& c : edit_.choices) edits::state.chosen[c.site] = c.edit;
  edits::state.any = true;
}

MadeEdit::~MadeEdit() {
  for (const auto& c : edit_.choices) edits::state.chosen[c.site] = 0;
  edits::state.any = false;
}

EditTrial::EditTrial(Device& emulator, const KernelDefinition& kernel, const ConvProblem& p, Inputs in)
    : emulator_(emulator), kernel_(kernel), p_(p), in_(std::move(in)), plan_(kernel.plan_for(p)) {
  const auto oracle = make_cpu_oracle(p_, in_);
  const OutputBlock all{0, p_.batch * p_.out_channels, 0, p_.out_length()};
  expected_.resize(static_cast<size_t>(all.elements()));
  oracle->compute(all, expected_.data(), nullptr);
  take_memory(plan_);
}

bool EditTrial::right(bool plans, uint32_t order) {
  return of_plan(plans, [&](const Plan& plan) { return brings_all(plan, order); });
}

bool EditTrial::races(Activity& activity) {
  bool races = false;
  const bool ran = of_plan(false, [&](const Plan& plan) {
    if (!can_run(plan)) return false;
    races = !find_races(emulator_, kernel_, p_, memory_->at(), activity, false).race.empty();
    return true;
  });
  return ran && races;
}

void EditTrial::know_cost() {
  fuel_ = most_fuel;
  right(false, 0);
  passed_ = passed_last();
  // Where its output is too long, say, it is not run, and says little of edits. In other forms of it no site is passed.
  constexpr double sites_of_a_product = 200;
  if (!ran_ || !passed_) passed_ = static_cast<int64_t>(walked_products(p_) * sites_of_a_product);
  cost_ = static_cast<double>(passed_) + (ran_ ? 0 : not_run);
  constexpr int64_t longer = 4, least = 20'000;
  fuel_ = std::min(most_fuel, std::max(least, passed_ * longer));
}

int64_t EditTrial::passed_last() const { return fuel_ - edits::state.fuel; }

bool EditTrial::of_plan(bool plans, const std::function<bool(const Plan&)>& does) {
  edits::state.fuel = fuel_;
  try {
    if (!plans) return does(plan_);
    std::optional<Plan> plan;
    return simt::survives_host_code([&] { plan = kernel_.plan_for(p_); }) && plan && does(*plan);
  } catch (const Cancelled&) {
    throw;
  } catch (const DeviceError& e) {
    if (e.poisoned()) throw;
  } catch (const std::exception&) {  // whatever an edit leads to
  }
  return false;
}

void EditTrial::take_memory(const Plan& plan) {
  memory_ = std::make_unique<ProblemMemory>(emulator_, p_, in_, plan.out_length(), plan.workspace_bytes());
  own_length_ = plan.out_length(), workspace_ = plan.workspace_bytes();
  ranges_.clear();
  for (const auto& e : memory_->extents()) ranges_.emplace_back(e.address, e.address + e.bytes + e.walked);
}

bool EditTrial::can_run(const Plan& plan) {
  constexpr size_t most_workspace = size_t{1} << 28;
  // Threads beyond an output end without passing a place of an edit: that many of them are no use either.
  constexpr int64_t most_blocks = 1 << 16, many_threads = 200'000, times = 16;
  const auto threads = [](const Plan& p) {
    int64_t n = 0;
    for (const Launch& l : p.launches()) n += l.grid.count() * l.block.count();
    return n;
  };
  if (plan.out_length() != p_.out_length() || plan.launches().empty() || plan.workspace_bytes() > most_workspace)
    return false;
  for (const Launch& l : plan.launches())
    if (!l.refused.empty() || !simt::launch_fault(l).empty() || l.grid.count() > most_blocks) return false;
  if (threads(plan) > std::max(many_threads, times * threads(plan_))) return false;
  if (plan.out_length() > own_length_ || plan.workspace_bytes() > workspace_) take_memory(plan);
  simt::know_edited_memory(ranges_);
  return true;
}

bool EditTrial::brings_all(const Plan& plan, uint32_t order) {
  ran_ = can_run(plan);
  if (!ran_) return false;
  memory_->fill_output(unwritten_word, nullptr);
  // On one thread: the sites that are passed are counted.
  emulator_.run(kernel_, plan, memory_->at(), {.order_seed = order, .one_worker = true});
  const HostBytes y = memory_->output(p_, plan.out_length());
  return dispatch(p_.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* got = y.as<T>();
    for (size_t i = 0; i < expected_.size(); i++)
      if (!(static_cast<double>(got[i]) == static_cast<double>(static_cast<T>(expected_[i])))) return false;
    return true;
  });
}

}  // namespace convscope
