#include "kernels/verify/xray.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "kernels/verify/channels_left.h"
#include "kernels/verify/fixed_sizes.h"
#include "kernels/verify/index_channels.h"
#include "kernels/verify/index_program.h"
#include "kernels/verify/index_rows.h"
#include "kernels/verify/launch_shapes.h"
#include "kernels/verify/length_formula.h"
#include "kernels/verify/pattern.h"
#include "kernels/verify/sixteen_bits.h"
#include "kernels/verify/xray_extents.h"
#include "kernels/verify/xray_here.h"
#include "kernels/verify/xray_mapped.h"
#include "kernels/verify/xray_problems.h"
#include "kernels/verify/xray_sizes.h"
#include "kernels/verify/xray_tell.h"
#include "kernels/verify/xray_whole.h"
#include "kernels/verify/xray_words.h"

namespace convscope {
namespace {

// What all lengths have in common, in place of what one of them looks like.
LengthFormula tell_length(std::vector<Mapped>& all, const KernelDefinition& kernel, const Activity& activity) {
  for (const Mapped& m : all) {
    if (m.length.empty()) continue;
    const LengthFormula formula = length_formula(kernel, m.problem, activity);
    for (Mapped& one : all) {
      if (!one.length.empty() && !formula.fault.empty()) one.length = formula.fault;
    }
    return formula;
  }
  return {};
}

// Of what may be wrong with the bias what all problems have in common.
std::string bias_fault(const Mapped& shown, const std::vector<Mapped>& all) {
  if (shown.structure->biases.empty()) return "";
  for (const std::string& fault : shown.structure->biases)
    if (std::all_of(all.begin(), all.end(), [&](const Mapped& m) {
          return !m.structure || m.structure->biases.empty() ||
                 std::find(m.structure->biases.begin(), m.structure->biases.end(), fault) != m.structure->biases.end();
        }))
      return fault;
  return shown.structure->biases.front();
}

// In place of what the maps say of outputs that are not written, which knows less.
void put_extent(std::vector<Mapped>& all, const ExtentFault& f) {
  if (f.too_many) return;
  for (Mapped& m : all)
    if (m.structure)
      for (std::string& fault : m.structure->faults)
        if (fault.find(" never written") != std::string::npos) fault = f.what, m.structure->sized = false;
}

// by_program and by_rule: what is told gives every product of all maps.
enum class Told { by_formula, by_program, by_rule, with_numbers, not_at_all };

bool tell_sequences(Xray& x, const std::vector<Mapped>& all, const LengthFormula& lengths, const Activity& activity);

// What the maps say together. another: the problem on which it does something else; "": none.
Told conclude(Xray& x, const std::vector<Mapped>& all, const LengthFormula& lengths, std::string& another,
              const Activity& activity) {
  std::vector<TapMap> maps;
  for (const auto& m : all)
    if (m.structure) maps.push_back(m.structure->taps);
  const Mapped* asked = x.problems.front().is == XrayProblem::Is::not_mapped ? nullptr : &all.front();
  std::optional<IndexFormula> formula = maps.empty() ? std::nullopt : fit(maps);
  // On one of the others it may do something that no formula has (divide by s − 1 where s is 1). One problem's products
  // many formulas give: a long one says nothing, and one that fits no other is no formula of the kernel's.
  constexpr size_t least = 3, most_faults_of_one = 2;
  if (maps.size() == 1 && formula && formula->faults().size() > most_faults_of_one) formula.reset();
  for (size_t without = maps.size(); !formula && maps.size() > least && without-- > 1;) {
    std::vector<TapMap> rest = maps;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(without));
    if ((formula = fit(rest))) another = describe(maps[without].problem);
    // One number alone that is fixed, and not on all of them, is a coincidence.
    if (formula && formula->fixed.any() && formula->fixed_parameters().size() < 2) formula.reset();
  }

  const Mapped* shown = asked && !asked->right ? asked : nullptr;  // whose faults are told
  for (const auto& m : all)
    if (!shown && !m.right) shown = &m;
  if (!shown) {
    x.is = Xray::Is::right, x.formula = right_index();
    x.sentence =
        fmt::format("every product is the definition's on {} small problem{}", all.size(), all.size() == 1 ? "" : "s");
    bool no_groups = true, no_bias = true;
    for (const Mapped& m : all) no_groups &= m.problem.groups == 1, no_bias &= !m.problem.bias;
    if (no_groups || no_bias)
      x.sentence += fmt::format(", none of which has {}", !no_bias     ? "groups"
                                                          : !no_groups ? "a bias"
                                                                       : "groups or a bias");
    return Told::with_numbers;  // of sizes, if any
  }
  // Its channels and positions are of that problem, which need not be in the asked one.
  x.example = shown->deviation + " (on " + describe(shown->problem) + ")";
  x.is = asked && asked->right ? Xray::Is::right_here_only : Xray::Is::wrong;
  std::string nothing = nothing_at_all(all);
  if (nothing.empty()) nothing = first_sequence_alone(all);
  if (!nothing.empty() && shown->length.empty()) {
    x.formula.clear(), x.faults = {nothing};
    x.sentence = (x.is == Xray::Is::right_here_only ? right_here_but : "") + nothing;
    return Told::by_program;
  }
  if (const std::string& operation = shown->map.operation; !operation.empty()) {
    x.formula = fmt::format("Σ ({})", operation), x.right_formula = "Σ x·w";
    x.faults = {operation + " is summed where x·w belongs"};
    x.sentence = (x.is == Xray::Is::right_here_only ? right_here_but : "") + x.faults.front();
    return Told::by_formula;
  }
  // Channels as they are taken on one problem alone are told of it only where nothing fits all of them.
  const bool alike = shown->structure && std::all_of(all.begin(), all.end(), [&](const Mapped& m) {
                       return m.right || (m.structure && m.structure->faults == shown->structure->faults);
                     });
  // A formula is that of maps with a structure: where one has none, its words are not all that is wrong.
  const bool all_told = formula && another.empty() &&
                        std::all_of(all.begin(), all.end(), [](const Mapped& m) { return m.structure.has_value(); });
  if (!alike || !all_told) {
    // One or two wrong operands or operators anywhere else, where lengths are right.
    const auto program =
        shown->length.empty() ? program_faults(maps_of(all), activity, all_told) : std::vector<ProgramFault>{};
    if (!program.empty()) {
      tell_program(x, program, all.front().problem);
      return Told::by_program;
    }
  }
  if (!shown->structure && !shown->map.unset.empty()) {
    // What was there is part of its sums, whatever else is.
    x.faults = {
        "memory that it takes for itself (torch::empty, cudaMalloc) is read where nothing was written: before all of "
        "it is, or behind its end"};
    x.sentence = fmt::format("{}: {}", x.faults.front(), x.example);
    return Told::by_formula;
  }
  if ((!shown->structure || !formula) && !shown->length.empty() && !lengths.fault.empty()) {
    // What it makes of an output of another length is one thing more.
    x.faults = {shown->length}, x.formula = lengths.text, x.right_formula = lengths.text.empty() ? "" : right_length();
    x.sentence = (x.is == Xray::Is::right_here_only ? right_here_but : "") + shown->length;
    return Told::by_formula;
  }
  if (!shown->structure || !formula) {
    if (const auto other = positions_or_sums(all, *shown)) {
      x.faults = {other->what};
      x.sentence = (x.is == Xray::Is::right_here_only ? right_here_but : "") + other->what +
                   (other->sized ? fmt::format(" (on {})", describe(shown->problem)) : "");
      return Told::by_formula;
    }
  }
  if (!all_told && shown->length.empty()) {
    if (const auto rule = rule_of(all)) {
      x.faults = {rule->what}, x.formula = rule->formula, x.right_formula = rule->right_formula;
      x.sentence = (x.is == Xray::Is::right_here_only ? right_here_but : "") + rule->what;
      another.clear();
      return Told::by_rule;
    }
    if (tell_sequences(x, all, lengths, activity)) {
      another.clear();
      return Told::by_rule;
    }
  }
  if (!shown->structure || !formula) {
    if (x.is == Xray::Is::wrong) x.is = Xray::Is::unclear;
    x.sentence = "no formula of the kinds that are tried gives its products: " + x.example;
    if (x.is == Xray::Is::right_here_only)
      x.sentence = fmt::format("right here, but not on {}: {}", describe(shown->problem), x.example);
    return Told::not_at_all;
  }
  x.formula = formula->text();
  x.faults = formula->faults(), x.fixed = formula->fixed_parameters();
  const std::string bias = bias_fault(*shown, all);
  // With one tap a layout of w has several names: another problem's has one.
  const Mapped* named = shown;
  if (shown->problem.kernel_size == 1 && shown->structure->biases.empty())
    for (const Mapped& m : all)
      if (!m.right && m.structure && m.problem.kernel_size > 1 && !m.structure->sized && named == shown &&
          m.structure->faults.size() == shown->structure->faults.size())
        named = &m;
  for (const auto& fault : named->structure->faults)
    x.faults.push_back(!bias.empty() && fault == shown->structure->biases.front() ? bias : fault);
  one_fault_of_two(x.faults);
  // With fewer taps it is right: their number is no size of its own.
  if (const auto most = formula->fixed.taps; most && formula->fixed_parameters().size() == 1)
    if (std::any_of(all.begin(), all.end(), [&](const Mapped& m) { return m.right && m.problem.kernel_size < *most; }))
      for (auto& fault : x.faults)
        if (fault.find(fixed_in_it) != fault.npos)
          x.fixed.clear(),
              fault = fmt::format("no more than {} taps are taken, whatever kernel size is asked for", *most);
  if (!shown->length.empty()) x.faults.push_back(shown->length);
  if (formula->right() && !shown->length.empty() && x.faults.size() == 1 && !lengths.text.empty())
    x.formula = lengths.text, x.right_formula = right_length();
  if (x.is == Xray::Is::wrong) those_that_matter_first(x.faults, all.front().problem);
  const std::string faults = joined(x.faults);
  std::string what =
      formula->right() ? faults : fmt::format("it takes {}, where {} belongs: {}", x.formula, right_index(), faults);
  if (faults.empty()) what = x.example;
  if (x.is == Xray::Is::right_here_only) what = right_here_but + what;
  if (shown->structure->sized) what += fmt::format(" (on {})", describe(shown->problem));
  // Where the formula is the definition's, what is told is of the problem that it leaves out, and nothing else.
  if (!another.empty() && !(formula->right() && another == describe(shown->problem)))
    what += fmt::format(" (but on {} something else, so that this may be another term's doing)", another);
  x.sentence = what;
  return formula->fixed.any() ? Told::with_numbers : Told::by_formula;
}

// Of sequences that are wrong where others are right: what is wrong with them.
bool tell_sequences(Xray& x, const std::vector<Mapped>& all, const LengthFormula& lengths, const Activity& activity) {
  const auto apart = sequences_apart(all);
  if (!apart) return false;
  Xray with = x;
  std::string another;
  const Told told = conclude(with, apart->maps, lengths, another, activity);
  // In a map of one sequence n is 0 and N is 1, whatever they are in the kernel.
  const bool of_sequences = told == Told::by_program && with.formula.find_first_of("nN") != with.formula.npos;
  if (told == Told::not_at_all || !another.empty() || of_sequences) return false;
  const std::string which = apart->which + ": ";
  const bool here = with.sentence.starts_with(right_here_but);
  with.sentence.insert(here ? right_here_but.size() : 0, which);
  for (std::string& fault : with.faults) fault = which + fault;
  with.example = x.example, x = with;
  return true;
}

// What is told of small problems is said of them alone where it does not hold for long rows and for many channels as
// well, with what is seen there.
void hold_against_larger(Xray& x, Told told, const Xray& before, const std::vector<Mapped>& mapped,
                         const LengthFormula& lengths, Device& device, const KernelDefinition& kernel,
                         const ConvProblem& p, const std::function<bool()>& over, Activity& activity) {
  const bool whole = told == Told::by_program || told == Told::by_rule;
  std::vector<Mapped> all = mapped;
  for (const auto& [kind, q] : larger_problems(kernel, p)) {
    if (over()) return;
    auto one = maybe_mapped_on(device, kernel, q, activity);
    if (!one) continue;
    x.launches += one->map.launches;
    if (one->right) continue;  // what lies beside its rows is nothing's: it contradicts nobody
    const std::string left = channels_left_out(one->map), deviation = one->deviation;
    auto any_of_small = [&](auto is) { return std::any_of(mapped.begin(), mapped.end(), is); };
    if (kind == LargerProblem::one_channel &&
        any_of_small([](const Mapped& m) { return m.structure && m.structure->rows; }))
      continue;
    bool holds = true;
    if (kind == LargerProblem::channels) {
      // What is told of channels may be just that.
      const size_t at = x.sentence.find(last_channel_left_out);
      if (at != x.sentence.npos && x.faults.size() == 1 && left.starts_with("input channel")) {
        x.sentence.replace(at, std::string(last_channel_left_out).size(), left), x.faults = {left};
        continue;
      }
      // Rows that are looked for too far away lie behind the end of x: their channels are missing.
      const bool same = one->structure && one->structure->rows && any_of_small([&](const Mapped& m) {
                          return m.structure && m.structure->faults == one->structure->faults;
                        });
      holds = left.empty() || same || x.sentence.find("channel") != x.sentence.npos;
    } else if (kind == LargerProblem::row || kind == LargerProblem::as_asked ||
               (one->structure && told == Told::by_formula)) {
      // Of layouts, channels and factors a formula says nothing; on one channel all are alike, and other numbers of
      // them, as asked, have other words.
      const bool alike =
          kind == LargerProblem::one_channel || kind == LargerProblem::as_asked || whole || !one->structure ||
          one->structure->sized ||
          any_of_small([&](const Mapped& m) { return m.structure && m.structure->faults == one->structure->faults; });
      const bool has_structure = one->structure.has_value();
      all.push_back(std::move(*one));
      Xray with = before;
      std::string another;
      const Told now = conclude(with, all, lengths, another, activity);
      holds = alike && now == told && another != describe(q) && (has_structure || whole);
      if (!holds || told != Told::by_rule) all.pop_back();  // the next one is to tell no less
      // Of several that small problems cannot tell apart, the one that is so here as well.
      if (holds && whole && with.sentence != x.sentence) with.launches = x.launches, x = with;
    }
    if (holds) continue;
    const std::string seen = left.empty() ? deviation : left;
    if (!left.empty() && (kind == LargerProblem::channels || kind == LargerProblem::as_asked)) {
      // It is nearer to what was asked than what small problems say, and says as much.
      x.sentence = fmt::format("{} (on {}); on small problems alone: {}", seen, describe(q), x.sentence);
      x.faults.insert(x.faults.begin(), fmt::format("{} (on {})", seen, describe(q)));
      x.formula.clear(), x.right_formula.clear();
    } else {
      const std::string there = fmt::format("that is so on small problems; on {}: {}", describe(q), seen);
      x.sentence += "; " + there, x.faults.push_back(there);
    }
    return;
  }
}

// A tile is longer than small problems are: what a rule says of others may be seen of the asked one on a long row.
void look_at_long_rows(Xray& x, const Xray& before, std::vector<Mapped> all, const LengthFormula& lengths,
                       Device& device, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity) {
  for (const auto& [kind, q] : larger_problems(kernel, p)) {
    if (kind != LargerProblem::row && kind != LargerProblem::one_channel) continue;
    auto one = maybe_mapped_on(device, kernel, q, activity);
    if (!one || one->right) continue;
    const XrayProblem at{q, one->structure ? XrayProblem::Is::wrong : XrayProblem::Is::unclear,
                         one->structure ? "" : one->deviation};
    x.launches += one->map.launches;
    all.insert(all.begin(), std::move(*one));
    Xray with = before;
    std::string another;
    if (conclude(with, all, lengths, another, activity) == Told::by_rule) {
      with.launches = x.launches, with.problems.insert(with.problems.begin(), at), x = with;
      return;
    }
    all.erase(all.begin());
  }
}

// Of a kernel that is wrong where sizes are large: what rule gives all maps, on problems that are larger than the
// smallest as well, which many rules give. "" where none does, or no larger one is wrong.
std::string rule_of_larger(std::vector<const IndexMap*> maps, Device& device, const KernelDefinition& kernel,
                           const ConvProblem& p, Activity& activity) {
  std::vector<Mapped> larger;
  for (const auto& [kind, q] : larger_problems(kernel, p))
    if (auto one = maybe_mapped_on(device, kernel, q, activity); one && !one->right) larger.push_back(std::move(*one));
  if (larger.empty()) return "";
  for (const Mapped& m : larger) maps.push_back(&m.map);
  const auto rule = rule_of(maps);
  return rule ? rule->what : "";
}

// Sizes with which it is wrong where it is right with its own: beside what the products say of numbers in it, or in the
// place of what they do not explain.
void tell_fixed(Xray& x, const FixedSizes& fixed, Told told) {
  if (fixed.faults.empty()) return;
  const bool beside = told == Told::with_numbers && x.is != Xray::Is::right;
  if (!beside) x.faults.clear(), x.formula.clear(), x.right_formula.clear(), x.example.clear();
  const std::string words = words_of_sizes(fixed.faults);
  x.sentence = beside ? x.sentence + "; " + words : fixed.wrong_here ? words : right_here_but + words;
  x.faults.insert(x.faults.end(), fixed.faults.begin(), fixed.faults.end());
  x.fixed.insert(x.fixed.end(), fixed.parameters.begin(), fixed.parameters.end());
  x.is = fixed.wrong_here ? Xray::Is::wrong : Xray::Is::right_here_only, x.without_effect = false;
}

}  // namespace

std::string right_index() { return IndexFormula{}.text(); }

Xray xray_by_stand_ins(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                       const XrayLimits& limits, Activity& activity) {
  require_legal(p);
  Xray x;
  const auto problems = small_problems(kernel, p);
  if (problems.empty()) {
    const std::string why = kernel.unsupported(p);
    x.sentence = why.empty() ? "it takes no small problem of this kind, on which its products could be mapped"
                             : "it does not take this problem: " + why;
    return x;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::vector<Mapped> mapped;
  std::vector<Extent> extents;
  constexpr size_t ends_all = 2;  // a kernel that ends the engine on so many small problems is run on none
  for (const auto& q : problems) {
    XrayProblem at{q, XrayProblem::Is::not_mapped, ""};
    const auto left_out = limits.left_out.find(x.problems.size());
    if (left_out != limits.left_out.end()) {
      at.why = left_out->second;
    } else if (mapped.empty() && x.problems.size() >= ends_all && limits.left_out.size() >= ends_all) {
      at.why = limits.left_out.begin()->second;
    } else if (!mapped.empty() && spent() > limits.seconds) {
      at.why = "there was no time left for it";
    } else {
      if (limits.begins) limits.begins(x.problems.size());
      try {
        const Plan plan = kernel.plan_for(q);
        if (!plan.wrong_shape().empty()) {
          at.is = XrayProblem::Is::wrong, at.why = plan.wrong_shape();
          x.problems.push_back(std::move(at));
          continue;
        }
        if (Extent none = extent_of(q, plan); none.no_blocks) extents.push_back(std::move(none));
        Mapped one = mapped_on(device, kernel, q, activity);
        x.launches += one.map.launches;
        if (one.map.out_length == q.out_length()) extents.push_back(extent_of(one.map, plan));
        at.is = one.right ? XrayProblem::Is::right : one.structure ? XrayProblem::Is::wrong : XrayProblem::Is::unclear;
        if (at.is == XrayProblem::Is::unclear) at.why = one.deviation;
        mapped.push_back(std::move(one));
      } catch (const KernelFault& e) {
        at.why = e.what();
      } catch (const MissingError& e) {
        at.why = e.what();
      } catch (const InputError& e) {
        at.why = e.what();
      } catch (const DeviceError& e) {
        if (e.poisoned()) throw;
        at.why = e.what();
      }
    }
    x.problems.push_back(std::move(at));
  }
  // What follows has the places behind the small problems: a kernel that ends the engine there is asked without.
  auto begins = [&](size_t step) {
    const size_t place = problems.size() + step;
    if (limits.left_out.contains(place)) return false;
    if (limits.begins) limits.begins(place);
    return true;
  };
  // What is done to every result hides its products, or leaves them as they are: neither says anything of it.
  if (begins(behind_it) && tell_pointwise(x, mapped, device, kernel, activity)) return x;
  std::string left_of_asked;  // outputs that nobody writes there
  // Where the first, which stands for the asked one, is right and others are not, the asked one may be wrong as well:
  // then it stands for itself, as long as it can be mapped.
  if (!mapped.empty() && mapped.front().right && x.problems.front().is == XrayProblem::Is::right &&
      std::any_of(x.problems.begin(), x.problems.end(),
                  [](const auto& at) { return at.is == XrayProblem::Is::wrong || at.is == XrayProblem::Is::unclear; }))
    for (const auto& [kind, q] : larger_problems(kernel, p)) {
      if (kind != LargerProblem::as_asked || spent() > limits.seconds) continue;
      auto one = maybe_mapped_on(device, kernel, q, activity);
      if (!one || one->right) continue;
      x.launches += one->map.launches;
      if (one->map.out_length == q.out_length()) extents.push_back(extent_of(one->map, kernel.plan_for(q)));
      const bool clear = one->structure.has_value();
      x.problems.insert(x.problems.begin(),
                        {q, clear ? XrayProblem::Is::wrong : XrayProblem::Is::unclear, clear ? "" : one->deviation});
      if (!clear) left_of_asked = outputs_left_on(device, kernel, p, activity);
      mapped.insert(mapped.begin(), std::move(*one));
    }
  auto look_at_sizes = [&](Told told, bool pieces) {
    tell_fixed(x,
               fixed_sizes(device, kernel, p, accuracy,
                           {.all = told == Told::not_at_all, .pieces = pieces, .seconds = limits.seconds}, activity),
               told);
  };
  if (tell_doubt(x, kernel, p)) return x;
  if (tell_shape(x, kernel, p)) {
    if (x.is == Xray::Is::right_here_only && begins(other_sizes)) look_at_sizes(Told::not_at_all, true);
    return x;
  }
  if (mapped.empty() && !extents.empty() && begins(longer_ones))
    extents = extents_of_longer(device, kernel, p, activity);
  auto extent = extent_fault(extents);
  // What is left on small problems may be of more than one kind.
  if (!extent && !mapped.empty() && begins(longer_ones) &&
      std::any_of(extents.begin(), extents.end(), [](const Extent& e) { return !e.missing.empty(); })) {
    for (Extent& e : extents_of_longer(device, kernel, p, activity)) extents.push_back(std::move(e));
    extent = extent_fault(extents);
  }
  if (kernel.kind() == KernelKind::outside && begins(other_launches))
    if (const auto fault = launch_shape_fault(kernel, p, activity)) {
      x.launches += fault->launches;
      // Of a grid that is too small what it leaves is told, and how it was rounded.
      if (fault->right.empty() || !extent || extent->formula.empty()) {
        x.is = Xray::Is::wrong, x.faults = {fault->what}, x.sentence = fault->what;
        x.formula = fault->is, x.right_formula = fault->right;
        return x;
      }
    }
  Told told = Told::not_at_all;
  if (mapped.empty()) {
    const bool no_blocks = std::any_of(extents.begin(), extents.end(), [](const Extent& e) { return e.no_blocks; });
    x.sentence = "its products cannot be mapped: " +
                 (no_blocks ? "on small problems a launch has no blocks, since a size is rounded down to whole blocks"
                            : x.problems.front().why);
  } else {
    if (extent) put_extent(mapped, *extent);
    const LengthFormula lengths = tell_length(mapped, kernel, activity);
    std::string another;
    const Xray before = x;
    told = conclude(x, mapped, lengths, another, activity);
    // Grids have been looked at on longer problems, and another operation has no map.
    const bool no_map =
        extent || std::any_of(mapped.begin(), mapped.end(), [](const Mapped& m) { return !m.map.operation.empty(); });
    if (told != Told::not_at_all && !no_map && x.is == Xray::Is::wrong && begins(larger_ones))
      hold_against_larger(
          x, told, before, mapped, lengths, device, kernel, p, [&] { return spent() > limits.seconds; }, activity);
    if (told == Told::by_rule && !no_map && x.is == Xray::Is::right_here_only && begins(larger_ones))
      look_at_long_rows(x, before, mapped, lengths, device, kernel, p, activity);
    if (told == Told::by_rule) told = Told::by_formula;  // no size is left to be told
  }
  if (told != Told::not_at_all && !extent && !device.is_emulator() && tell_race(x, kernel, p, activity))
    told = Told::by_formula;
  if (told == Told::not_at_all && !left_of_asked.empty() && !extent)
    x.is = Xray::Is::wrong, x.faults = {left_of_asked}, x.sentence = left_of_asked, told = Told::by_formula;
  if (told == Told::not_at_all && !mapped.empty() && !extent && begins(judged_ones)) {
    // Of products that no formula gives: they may be another output's.
    const auto first = std::find_if(mapped.begin(), mapped.end(), [](const Mapped& m) { return !m.right; });
    const SeenBeside beside = seen_beside(device, kernel, first->problem, accuracy, activity);
    std::string why = beside.carried;
    if (!beside.race.empty()) why = threads_race + beside.race;
    if (!beside.unset.empty()) why = beside.unset;
    if (why.empty()) why = seen_beside(device, kernel, p, accuracy, activity).carried;
    if (!why.empty()) {
      const bool here = x.is != Xray::Is::right_here_only;
      x.is = here ? Xray::Is::wrong : Xray::Is::right_here_only, x.faults = {why}, told = Told::by_formula;
      x.sentence = (here ? "" : right_here_but) + why;
    }
  }
  for (auto& fault : x.faults) {
    if (fault != "the bias is added once for each input channel" || !begins(judged_ones)) continue;
    const std::string times = bias_of_more_channels(device, kernel, x.problems.front().problem, accuracy, activity);
    if (times.empty()) continue;
    const std::string parts = "the bias is added once for each part of a sum: " + times;
    if (const size_t at = x.sentence.find(fault); at != x.sentence.npos) x.sentence.replace(at, fault.size(), parts);
    fault = parts;
  }
  if (extent) tell_extent(x, *extent, p);
  // Terms that are wrong elsewhere say nothing of what is wrong here.
  x.without_effect = x.is == Xray::Is::right_here_only && !x.faults.empty() &&
                     std::none_of(x.faults.begin(), x.faults.end(),
                                  [&](const auto& fault) { return without_effect(fault, p).empty(); });
  bool sizes_told = extent.has_value();
  if (x.is == Xray::Is::right && begins(longer_ones))
    if (const auto left = extent_fault(extents_of_longer(device, kernel, p, activity)))
      tell_extent(x, *left, p), sizes_told = true;
  if (x.is == Xray::Is::right && is_half(p.dtype) && begins(judged_ones)) {
    ConvProblem q = problems.front();
    q.dtype = p.dtype;  // products are mapped in f16 for bf16 as well
    if (const std::string rounded = rounded_to_sixteen_bits(device, kernel, q, activity); !rounded.empty()) {
      x.is = Xray::Is::wrong, x.faults = {rounded}, x.sentence = rounded;
      return x;
    }
  }
  if ((x.is == Xray::Is::right || x.without_effect) && begins(sizes))
    if (const auto fault = size_fault(device, kernel, p, accuracy, limits.seconds, activity)) {
      sizes_told = true;
      SizeFault seen = *fault;
      if (seen.what == last_channel_left_out)  // of the smallest; of as many as p has it may be more
        for (const auto& [kind, q] : larger_problems(kernel, p))
          if (const std::string left = kind == LargerProblem::channels ? left_on(device, kernel, q, activity) : "";
              left.starts_with("input channel"))
            seen.what += fmt::format("; on {}: {}", describe(q), left);
      if (seen.what.starts_with("the last outputs in memory "))
        if (const std::string more = outputs_left_on(device, kernel, p, activity); !more.empty()) seen.what = more;
      // What it takes there may be one operand that is another only where sizes are as they are there.
      std::vector<const IndexMap*> maps = maps_of(mapped);
      if (fault->odd) maps.push_back(&*fault->odd);
      const auto program = fault->odd ? program_faults(maps, activity, false) : std::vector<ProgramFault>{};
      if (program.empty() && fault->odd)
        if (const std::string rule = rule_of_larger(maps, device, kernel, p, activity); !rule.empty()) seen.what = rule;
      if (program.empty())
        tell_sizes(x, seen);
      else
        x.is = Xray::Is::wrong, x.without_effect = false, tell_program(x, program, p);
    }
  if (told != Told::by_formula && !sizes_told && begins(other_sizes)) look_at_sizes(told, !mapped.empty());
  return x;
}

}  // namespace convscope
