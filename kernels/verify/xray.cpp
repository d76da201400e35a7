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
#include "kernels/verify/length_formula.h"
#include "kernels/verify/pattern.h"
#include "kernels/verify/sixteen_bits.h"
#include "kernels/verify/xray_extents.h"
#include "kernels/verify/xray_mapped.h"
#include "kernels/verify/xray_problems.h"
#include "kernels/verify/xray_sizes.h"
#include "kernels/verify/xray_tell.h"
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

// p: of which it is told; a term that is the definition's there comes last.
void tell_program(Xray& x, std::vector<ProgramFault> faults, const ConvProblem& p) {
  auto matters = [&](const ProgramFault& f) { return !same_with(p, f.text, f.right); };
  std::stable_partition(faults.begin(), faults.end(), matters);
  x.formula.clear(), x.right_formula.clear(), x.faults.clear();
  std::vector<std::string> all_names;
  for (const ProgramFault& f : faults)
    for (const std::string& name : f.names)
      if (std::find(all_names.begin(), all_names.end(), name) == all_names.end()) all_names.push_back(name);
  const std::string names = all_names.empty() ? "" : " (" + joined(all_names) + ")";
  const char* here = x.is == Xray::Is::right_here_only ? "right here, but not in general: " : "";
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

// In place of what the maps say of outputs that are not written, which knows less.
void put_extent(std::vector<Mapped>& all, const ExtentFault& f) {
  if (f.too_many) return;
  for (Mapped& m : all)
    if (m.structure)
      for (std::string& fault : m.structure->faults)
        if (fault.find(" never written") != std::string::npos) fault = f.what, m.structure->sized = false;
}

// A bound that is not asked, or a grid that is too small, beside what the products say or in its place.
void tell_extent(Xray& x, const ExtentFault& f, const ConvProblem& p) {
  using enum Xray::Is;
  const bool here = f.matters(p), told = std::find(x.faults.begin(), x.faults.end(), f.what) != x.faults.end();
  if ((told && x.faults.size() == 1) || x.is == right || x.is == unclear || x.is == not_mapped ||
      (x.is == right_here_only && here && !told)) {
    x.is = here ? wrong : right_here_only;
    x.faults = {f.what}, x.formula = f.formula, x.right_formula = f.right;
    x.sentence = here ? f.what : "right here, but not in general: " + f.what;
  } else if (!told) {
    x.faults.push_back(f.what), x.sentence += "; " + f.what;
  }
}

// Of maps in which nothing is: no formula says more of them. "" of others.
std::string nothing_at_all(const std::vector<Mapped>& all) {
  auto in_all = [&](auto is) {
    return std::all_of(all.begin(), all.end(), [&](const Mapped& m) {
      return !m.map.reads.empty() && std::all_of(m.map.reads.begin(), m.map.reads.end(), is);
    });
  };
  if (in_all([](const IndexMap::Read& r) { return r.unwritten(); })) return "no output is ever written";
  if (!in_all([](const IndexMap::Read& r) { return r.at == IndexMap::none; })) return "";
  return "on small problems no product stays in any output: a loop is not entered, each product is left out by a test, "
         "or something else is written in its place";
}

// Of maps in which the first sequence is right and the others have nothing, as where their rows are looked for behind
// the end of x: many formulas of a channel give that as well. "" of others.
std::string first_sequence_alone(const std::vector<Mapped>& all) {
  bool several = false;
  for (const Mapped& m : all) {
    const ConvProblem& p = m.problem;
    if (m.map.reads.empty() || m.map.out_length != p.out_length()) return "";
    several |= p.batch > 1;
    for (int64_t w = 0; w < p.w_elements(); w++)
      for (int64_t o = 0; o < m.map.outputs(); o++) {
        const int64_t j = o % m.map.out_length, co = o / m.map.out_length % p.out_channels,
                      n = o / m.map.out_length / p.out_channels;
        const IndexMap::Read& r = m.map.read(w, o);
        if (r.at != (n ? int64_t{IndexMap::none} : flat_input(p, w, n, co, j)) || (r.at >= 0 && r.times != 1))
          return "";
      }
  }
  return several ? "only the first sequence has its products: those of the others' outputs take nothing that is in x"
                 : "";
}

// What else may be wrong on all problems on which anything is, where no formula gives them all: positions that are
// exchanged, or products that are missing from every sum, of which on one of the problems a formula may say something
// as well. Nothing where it is not so.
std::optional<RowFault> positions_or_sums(const std::vector<Mapped>& all, const Mapped& shown) {
  std::vector<const IndexMap*> wrong{&shown.map};
  for (const Mapped& m : all)
    if (!m.right && &m != &shown) wrong.push_back(&m.map);
  if (std::string positions = wrong_positions(wrong); !positions.empty()) return RowFault{positions};
  for (const IndexMap* m : wrong)
    if (wrong_sums(*m).what.empty()) return {};
  return wrong_sums(shown.map);
}

enum class Told { by_formula, by_program, with_numbers, not_at_all };

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
    x.sentence = (x.is == Xray::Is::right_here_only ? "right here, but not in general: " : "") + nothing;
    return Told::by_program;
  }
  if (const std::string& operation = shown->map.operation; !operation.empty()) {
    x.formula = fmt::format("Σ ({})", operation), x.right_formula = "Σ x·w";
    x.faults = {operation + " is summed where x·w belongs"};
    x.sentence = (x.is == Xray::Is::right_here_only ? "right here, but not in general: " : "") + x.faults.front();
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
    std::vector<const IndexMap*> maps_of_all;
    for (const auto& m : all) maps_of_all.push_back(&m.map);
    const auto program =
        shown->length.empty() ? program_faults(maps_of_all, activity, all_told) : std::vector<ProgramFault>{};
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
    x.sentence = (x.is == Xray::Is::right_here_only ? "right here, but not in general: " : "") + shown->length;
    return Told::by_formula;
  }
  if (!shown->structure || !formula) {
    if (const auto other = positions_or_sums(all, *shown)) {
      x.faults = {other->what};
      x.sentence = (x.is == Xray::Is::right_here_only ? "right here, but not in general: " : "") + other->what +
                   (other->sized ? fmt::format(" (on {})", describe(shown->problem)) : "");
      return Told::by_formula;
    }
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
  if (x.is == Xray::Is::right_here_only) what = "right here, but not in general: " + what;
  if (shown->structure->sized) what += fmt::format(" (on {})", describe(shown->problem));
  if (!another.empty())
    what += fmt::format(" (but on {} something else, so that this may be another term's doing)", another);
  x.sentence = what;
  return formula->fixed.any() ? Told::with_numbers : Told::by_formula;
}

// What is told of small problems is said of them alone where it does not hold for long rows and for many channels as
// well, with what is seen there.
void hold_against_larger(Xray& x, Told told, const Xray& before, const std::vector<Mapped>& mapped,
                         const LengthFormula& lengths, Device& device, const KernelDefinition& kernel,
                         const ConvProblem& p, const std::function<bool()>& over, Activity& activity) {
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
          kind == LargerProblem::one_channel || kind == LargerProblem::as_asked || told == Told::by_program ||
          !one->structure || one->structure->sized ||
          any_of_small([&](const Mapped& m) { return m.structure && m.structure->faults == one->structure->faults; });
      const bool has_structure = one->structure.has_value();
      all.push_back(std::move(*one));
      Xray with = before;
      std::string another;
      const Told now = conclude(with, all, lengths, another, activity);
      all.pop_back();
      holds = alike && now == told && another != describe(q) && (has_structure || told == Told::by_program);
      // Of several that small problems cannot tell apart, the one that is so here as well.
      if (holds && told == Told::by_program && with.sentence != x.sentence) with.launches = x.launches, x = with;
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

// Sizes with which it is wrong where it is right with its own: beside what the products say of numbers in it, or in the
// place of what they do not explain.
void tell_fixed(Xray& x, const FixedSizes& fixed, Told told) {
  if (fixed.faults.empty()) return;
  const bool beside = told == Told::with_numbers && x.is != Xray::Is::right;
  if (!beside) x.faults.clear(), x.formula.clear(), x.right_formula.clear(), x.example.clear();
  const std::string words = words_of_sizes(fixed.faults);
  x.sentence = beside             ? x.sentence + "; " + words
               : fixed.wrong_here ? words
                                  : "right here, but not in general: " + words;
  x.faults.insert(x.faults.end(), fixed.faults.begin(), fixed.faults.end());
  x.fixed.insert(x.fixed.end(), fixed.parameters.begin(), fixed.parameters.end());
  x.is = fixed.wrong_here ? Xray::Is::wrong : Xray::Is::right_here_only, x.without_effect = false;
}

}  // namespace

std::string right_index() { return IndexFormula{}.text(); }

Xray xray(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
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
  // What follows has the places behind the small problems: a kernel that ends the engine there is asked without.
  enum { longer_ones, sizes, other_sizes, judged_ones, larger_ones };
  auto begins = [&](size_t step) {
    const size_t place = problems.size() + step;
    if (limits.left_out.contains(place)) return false;
    if (limits.begins) limits.begins(place);
    return true;
  };
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
      x.sentence = (here ? "" : "right here, but not in general: ") + why;
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
      std::vector<const IndexMap*> maps;
      for (const auto& m : mapped) maps.push_back(&m.map);
      if (fault->odd) maps.push_back(&*fault->odd);
      const auto program = fault->odd ? program_faults(maps, activity, false) : std::vector<ProgramFault>{};
      if (program.empty())
        tell_sizes(x, seen);
      else
        x.is = Xray::Is::wrong, x.without_effect = false, tell_program(x, program, p);
    }
  if (told != Told::by_formula && !sizes_told && begins(other_sizes)) look_at_sizes(told, !mapped.empty());
  return x;
}

}  // namespace convscope
