#include "kernels/verify/edit_judge.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/judge.h"

namespace convscope {
namespace {

std::string file_of(const KernelDefinition& k) {
  for (const char* end : {".cu:", ".py:"})
    if (const size_t at = k.name().rfind(end); at != std::string::npos) return k.name().substr(0, at + 3);
  return k.name();
}

}  // namespace

Unlisted::~Unlisted() { list_outside(name, {}, {}); }

EditJudge::EditJudge(const KernelDefinition& kernel, const ConvProblem& p, Device& emulator, Activity& activity)
    : kernel_(kernel), p_(p), emulator_(emulator), activity_(activity), file_(file_of(kernel)) {}

std::string EditJudge::short_name() const { return noted_name(file_); }

const KernelDefinition* EditJudge::own_of(const std::vector<const KernelDefinition*>& all,
                                          const std::string& file) const {
  const std::string behind = kernel_.name().substr(file_.size());
  for (const auto* k : all)
    if (k->name() == file + behind) return k;
  return nullptr;
}

bool EditJudge::asked_is_short() const {
  constexpr double most_products = 3e7;
  return walked_products(p_) <= most_products;
}

std::string EditJudge::wrong(const KernelDefinition& kernel, const std::vector<ConvProblem>& problems) {
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(emulator_, none);
  for (const ConvProblem& q : problems) {
    RunSpec spec;
    spec.kernel = &kernel, spec.problem = q, spec.references = false, spec.verdict_only = true;
    const Verdict verdict = judge.run(spec, activity_).verdict;
    if (verdict.status != Status::right) return verdict.sentence;
  }
  return "";
}

const KernelDefinition* EditJudge::brought(const std::string& name, const std::string& text) {
  try {
    return own_of(bring_outside(name, text, activity_).kernels, name);
  } catch (const CompileError&) {
  } catch (const InputError&) {
  }
  return nullptr;
}

bool EditJudge::right_on(const std::string& text, const EditTrials& trials) {
  const Unlisted unlisted("with-an-edit/" + short_name());
  const KernelDefinition* k = brought(unlisted.name, text);
  if (!k) return false;
  const auto right = [&](const EditTrial* t) {
    activity_.check();
    const auto own = trials.trial(*k, t->problem());
    return own && right_in_all_orders(*own, false);
  };
  return std::all_of(trials.wrong().begin(), trials.wrong().end(), right) &&
         std::all_of(trials.right().begin(), trials.right().end(), right);
}

std::optional<OneEdit> EditJudge::judged(std::string text, std::vector<ConvProblem> problems,
                                         const EditTrials& trials) {
  if (text.empty() || text == kernel_.text()) return {};
  OneEdit one;
  one.text = std::move(text);
  one.lines = changed_lines(kernel_.text(), one.text);
  const Unlisted unlisted("with-an-edit/" + short_name());
  const KernelDefinition* k = brought(unlisted.name, one.text);
  if (!k) return {};
  if (asked_is_short()) problems.push_back(p_), one.asked = true;
  if (!right(*k, problems)) return {};
  one.judged = static_cast<int>(problems.size());
  one.drawn = trials.drawn(*k, p_);
  return one;
}

}  // namespace convscope
