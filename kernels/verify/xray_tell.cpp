#include "kernels/verify/xray_tell.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>

#include "kernels/verify/if_it_runs.h"
#include "kernels/verify/pointwise.h"
#include "kernels/verify/races.h"
#include "kernels/verify/xray_words.h"

namespace convscope {
namespace {

// What is wrong with it on p itself; nothing where that is not known.
std::optional<std::string> wrong_shape_of(const KernelDefinition& kernel, const ConvProblem& p) {
  return if_it_runs([&] { return kernel.plan_for(p).wrong_shape(); });
}

}  // namespace

void tell_program(Xray& x, std::vector<ProgramFault> faults, const ConvProblem& p) {
  auto matters = [&](const ProgramFault& f) { return !same_with(p, f.text, f.right); };
  std::stable_partition(faults.begin(), faults.end(), matters);
  x.formula.clear(), x.right_formula.clear(), x.faults.clear();
  std::vector<std::string> all_names;
  for (const ProgramFault& f : faults)
    for (const std::string& name : f.names)
      if (std::find(all_names.begin(), all_names.end(), name) == all_names.end()) all_names.push_back(name);
  const std::string names = all_names.empty() ? "" : " (" + joined(all_names) + ")";
  const std::string here = x.is == Xray::Is::right_here_only ? right_here_but : "";
  std::string sentence;
  for (const ProgramFault& f : faults) {
    const char* next = sentence.empty() ? "" : "; ";
    const bool none = f.text.empty();
    x.formula += next + (none ? "nothing" : f.text), x.right_formula += next + f.right;
    x.faults.push_back(f.what + (none ? " is missing" : " is wrong"));
    sentence += none ? fmt::format("{}{} is missing: {} belongs there", next, f.what, f.right)
                     : fmt::format("{}{} is wrong: it takes {}, where {} belongs{}", next, f.what, f.text, f.right,
                                   matters(f) ? "" : " (without effect here, where both are one)");
  }
  x.sentence = here + sentence + names, x.faults.back() += names;
}

void tell_extent(Xray& x, const ExtentFault& f, const ConvProblem& p) {
  using enum Xray::Is;
  const bool here = f.matters(p), told = std::find(x.faults.begin(), x.faults.end(), f.what) != x.faults.end();
  if ((told && x.faults.size() == 1) || x.is == right || x.is == unclear || x.is == not_mapped ||
      (x.is == right_here_only && here && !told)) {
    x.is = here ? wrong : right_here_only;
    x.faults = {f.what}, x.formula = f.formula, x.right_formula = f.right;
    x.sentence = here ? f.what : right_here_but + f.what;
  } else if (!told) {
    x.faults.push_back(f.what), x.sentence += "; " + f.what;
  }
}

void tell_sizes(Xray& x, const SizeFault& fault) {
  const std::string elsewhere = x.without_effect ? fmt::format("; with other values {}", joined(x.faults)) : "";
  x.is = Xray::Is::wrong, x.launches += fault.launches, x.without_effect = false;
  x.formula = right_index(), x.right_formula.clear(), x.example.clear(), x.faults.clear();
  const std::string where =
      fmt::format("{}{}", describe(fault.smallest), fault.least ? "" : ", and maybe on smaller ones");
  if (fault.what.empty() && !fault.beside.empty()) {
    // "reads beside x", but "its host code launches 2 …", "a race between …".
    const bool whole = fault.beside.starts_with("its ") || fault.beside.starts_with("a race ");
    x.sentence = fmt::format("its products are the definition's; on {} {}{}{}", where, whole ? "" : "it ", fault.beside,
                             elsewhere);
    return;
  }
  if (fault.what.empty() && fault.mapped) {
    x.sentence =
        fmt::format("its products are the definition's, and its results are wrong on {}: values or rounding matter{}",
                    where, elsewhere);
    return;
  }
  x.sentence = fmt::format("its sizes matter: right on small problems, wrong on {}{}{}{}", where,
                           fault.what.empty() ? "" : ": ", fault.what, elsewhere);
  // Without where it is so it would be read as of the problem that was asked about.
  if (!fault.what.empty()) x.faults = {x.sentence};
}

bool tell_shape(Xray& x, const KernelDefinition& kernel, const ConvProblem& p) {
  for (const XrayProblem& at : x.problems) {
    if (at.is != XrayProblem::Is::wrong || at.why.empty()) continue;
    const auto own = wrong_shape_of(kernel, p);
    // Where p is not known, nobody has seen it right.
    const bool here = &at == &x.problems.front() && (!own || !own->empty());
    x.is = here ? Xray::Is::wrong : Xray::Is::right_here_only;
    x.faults = {here && own ? *own : fmt::format("{} (on {})", at.why, describe(at.problem))};
    x.sentence = (here ? "" : right_here_but) + x.faults.front();
    return true;
  }
  return false;
}

bool tell_doubt(Xray& x, const KernelDefinition& kernel, const ConvProblem& p) {
  auto doubt = [&](const ConvProblem& q) {
    try {
      const Plan plan = kernel.plan_for(q);
      return plan.fault().empty() ? plan.doubt() : plan.fault();
    } catch (const std::runtime_error&) {
      return std::string();
    }
  };
  for (const XrayProblem& at : x.problems) {
    if (at.is == XrayProblem::Is::right || doubt(at.problem).empty()) continue;
    const std::string here = doubt(p);
    x.is = here.empty() ? Xray::Is::right_here_only : Xray::Is::wrong;
    x.faults = {here.empty() ? fmt::format("{} (on {})", doubt(at.problem), describe(at.problem)) : here};
    x.sentence = (here.empty() ? right_here_but : "") + x.faults.front();
    return true;
  }
  return false;
}

bool tell_pointwise(Xray& x, const std::vector<Mapped>& mapped, Device& device, const KernelDefinition& kernel,
                    Activity& activity) {
  constexpr size_t enough = 3;
  std::string words;
  for (size_t i = 0; i < std::min(mapped.size(), enough); i++) {
    const std::string here = behind_the_layer(device, kernel, mapped[i].problem, activity);
    x.launches++;
    if (here.empty()) return false;
    if (!i) words = here;
  }
  if (words.empty()) return false;
  x.is = Xray::Is::wrong, x.faults = {words}, x.sentence = words;
  for (XrayProblem& at : x.problems)
    if (at.is == XrayProblem::Is::right || at.is == XrayProblem::Is::unclear)
      at.is = XrayProblem::Is::wrong, at.why.clear();
  return true;
}

bool tell_race(Xray& x, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity) {
  const bool of_inputs = x.sentence.find("it takes i = ") != x.sentence.npos || !x.names_index();
  if (kernel.kind() != KernelKind::outside || x.is == Xray::Is::right || !of_inputs) return false;
  const std::string race = find_races_of_piece(kernel, p, activity).race;
  if (race.empty()) return false;
  x.faults = {threads_race + race};
  x.sentence = (x.is == Xray::Is::wrong ? "" : right_here_but) + x.faults.front();
  x.formula.clear(), x.right_formula.clear(), x.fixed.clear();
  return true;
}

}  // namespace convscope
