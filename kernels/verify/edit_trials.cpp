#include "kernels/verify/edit_trials.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "convscope/edits.h"
#include "kernels/base/error.h"
#include "kernels/verify/fuzz.h"
#include "kernels/verify/probe_inputs.h"
#include "kernels/verify/xray_problems.h"

namespace convscope {
namespace {

constexpr uint64_t edits_seed = 0xed17;

struct Less {
  const char* where;
  ConvProblem problem;
};

}  // namespace

std::vector<std::string> has_more(const ConvProblem& q, const ConvProblem& than) {
  std::vector<std::string> all;
  if (q.output_padding > 0 && than.output_padding == 0) all.emplace_back("an output_padding");
  if (q.dilation > 1 && q.kernel_size > 1 && than.dilation == 1) all.emplace_back("a dilation");
  if (q.stride > 1 && than.stride == 1) all.emplace_back("a stride");
  if (q.padding > 0 && than.padding == 0) all.emplace_back("padding");
  return all;
}

bool right_in_all_orders(EditTrial& t, bool plans) {
  return t.right(plans, t.wrong_order) &&
         std::all_of(thread_orders.begin(), thread_orders.end(), [&](uint32_t o) { return t.right(plans, o); });
}

std::unique_ptr<EditTrial> EditTrials::trial(const KernelDefinition& form, const ConvProblem& q) const {
  if (check(q) || !kernel_.unsupported(q).empty()) return nullptr;
  auto in = exact_inputs(q, edits_seed);
  if (!in) return nullptr;
  try {
    return std::make_unique<EditTrial>(emulator_, form, q, std::move(*in));
  } catch (const Cancelled&) {
    throw;
  } catch (const MissingError&) {
    throw;
  } catch (const std::exception&) {  // its host code does not take the problem
    return nullptr;
  }
}

void EditTrials::make(const KernelDefinition& form, const ConvProblem& like) {
  all_.clear(), wrong_.clear(), right_.clear();
  std::vector<ConvProblem> problems = small_and_longer_problems(kernel_, like);
  // As many channels as it was asked for, since sums may be made in parts; and a number of them that no part divides.
  for (const bool odd : {false, true}) {
    ConvProblem deep = like;
    constexpr int64_t most_inputs = 80;
    deep.groups = std::min<int64_t>(like.groups, 2), deep.batch = odd ? 2 : 1;
    deep.length = std::min<int64_t>(like.length, odd ? 20 : 12);
    deep.in_channels = (odd ? 37 : std::min(like.in_per_group(), most_inputs)) * deep.groups;
    deep.out_channels = std::min<int64_t>(like.out_per_group(), odd ? 7 : 3) * deep.groups;
    if (like.in_per_group() > 1) problems.push_back(deep);
  }
  // One that is as short as can be: most edits are none, which is seen on it first.
  ConvProblem least = like;
  least.batch = 1, least.out_channels = like.groups;
  least.in_channels = std::min<int64_t>(like.in_per_group(), 2) * like.groups;
  for (least.length = 3; check(least) && least.length < 12;) least.length++;
  problems.push_back(least);
  for (const ConvProblem& q : problems)
    if (auto t = trial(form, q)) all_.push_back(std::move(t));
  for (auto& t : all_) t->know_cost();
  std::stable_sort(all_.begin(), all_.end(), [](const auto& a, const auto& b) { return a->cost() < b->cost(); });
}

void EditTrials::add(const KernelDefinition& form, const ConvProblem& q) {
  auto t = trial(form, q);
  if (!t) return;
  t->know_cost();
  all_.push_back(std::move(t));
  look();
}

void EditTrials::look() {
  wrong_.clear(), right_.clear();
  for (auto& t : all_) {
    bool right = true;
    for (uint32_t order : thread_orders) {
      if (!right) break;
      right = t->right(edits::state.any, order);
      if (!right) t->wrong_order = order;
    }
    (right ? right_ : wrong_).push_back(t.get());
  }
}

DrawnProblems EditTrials::drawn(const KernelDefinition& form, const ConvProblem& like) const {
  DrawnProblems out;
  FuzzSpec spec;
  spec.base = like, spec.cases = 40, spec.most_products = 1e5;
  // A kernel may be made for one value: where the trials have no other, nor have these.
  std::vector<ConvProblem> tried;
  for (const auto& t : all_)
    if (has_more(t->problem(), like).empty()) tried.push_back(t->problem());
  if (tried.empty()) return out;
  for (const ProblemField& f : problem_fields())
    if (std::all_of(tried.begin(), tried.end(), [&](const auto& q) { return q.*f.value == tried[0].*f.value; }))
      spec.fixed.insert(f.name), spec.base.*f.value = tried[0].*f.value;
  if (std::all_of(tried.begin(), tried.end(), [&](const auto& q) { return q.bias == tried[0].bias; }))
    spec.fixed.insert("bias"), spec.base.bias = tried[0].bias;
  std::optional<Fuzz> fuzz;
  try {
    fuzz.emplace(spec);
  } catch (const InputError&) {  // none is legal and small
    return out;
  }
  while (const auto q = fuzz->next()) {
    activity_.check();
    constexpr int64_t longest = 4096;  // a kernel may walk all of x for each output
    const auto t = has_more(*q, like).empty() && q->length <= longest ? trial(form, *q) : nullptr;
    // To the drawing they are all right: it would look for a smaller one of what is wrong.
    fuzz->judged(t ? Status::right : Status::not_run, t ? "" : "not taken");
    if (!t) continue;
    out.of++;
    if (t->right(false, 0))
      out.right++;
    else if (!out.wrong)
      out.wrong = q;
  }
  return out;
}

std::string right_of_less(const KernelDefinition& kernel, const ConvProblem& p, Device& emulator, Activity& activity) {
  std::vector<Less> all;
  auto add = [&](const char* where, auto change) {
    ConvProblem q = p;
    change(q);
    if (!(q == p) && !check(q)) all.push_back({where, q});
  };
  if (p.dtype != DType::f16) add("in f16", [](ConvProblem& q) { q.dtype = DType::f16; });
  if (p.dilation > 1) add("without a dilation", [](ConvProblem& q) { q.dilation = 1; });
  if (p.output_padding > 0) add("without an output_padding", [](ConvProblem& q) { q.output_padding = 0; });
  if (p.dilation > 1 && p.output_padding > 0)
    add("without a dilation and an output_padding", [](ConvProblem& q) { q.dilation = 1, q.output_padding = 0; });
  for (const Less& less : all) {
    activity.check();
    EditTrials trials(kernel, emulator, activity);
    trials.make(kernel, less.problem);
    std::vector<EditTrial*> like;
    for (const auto& t : trials.all())
      if (has_more(t->problem(), less.problem).empty() && t->problem().dtype == less.problem.dtype)
        like.push_back(t.get());
    // Few of them, or none with as many channels, say little: what is wrong may not be seen there.
    const bool deep =
        std::any_of(like.begin(), like.end(), [](const EditTrial* t) { return t->problem().in_per_group() > 8; });
    if (like.size() > 5 && (deep || p.in_per_group() == 1) &&
        std::all_of(like.begin(), like.end(), [](EditTrial* t) { return right_in_all_orders(*t, false); }))
      return fmt::format("it is right {}, on all {} small problems that were tried; ", less.where, like.size());
  }
  return "";
}

}  // namespace convscope
