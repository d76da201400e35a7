#include "kernels/verify/one_edit.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <tuple>
#include <utility>

#include "convscope/edits.h"
#include "kernels/base/text.h"
#include "kernels/runtime/compile/edit_constants.h"
#include "kernels/runtime/compile/edited.h"
#include "kernels/runtime/compile/host_code.h"
#include "kernels/runtime/compile/modules.h"
#include "kernels/runtime/compile/python_edits.h"
#include "kernels/runtime/compile/python_run.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/edit_judge.h"
#include "kernels/verify/edit_trials.h"
#include "kernels/verify/edit_zeros.h"

namespace convscope {
namespace {

class Search {
 public:
  Search(const KernelDefinition& kernel, const ConvProblem& p, double seconds, Activity& activity)
      : kernel_(kernel), p_(p), seconds_(seconds), activity_(activity) {}

  OneEditSearch go() {
    activity_.phase("edits of " + kernel_.name());
    cuda_ = cuda_source(kernel_.text(), judge_.short_name());
    try {
      if (cuda_.find("__shared__") != cuda_.npos && lacks_a_barrier()) return ended();
      return of_everything();
    } catch (const CompileError& e) {
      return without("its text could not be made such that edits can be tried: " + std::string(e.what()));
    }
  }

 private:
  struct Kept {
    TextEdit edit;
    size_t right = 0;
    int rank = 0;     // of those that are right on all and as likely: the least is looked at first
    double work = 1;  // that it does more than before, in times
  };
  OneEditSearch without(std::string reason) {
    out_.reason = std::move(reason);
    return ended();
  }
  OneEditSearch ended() {
    out_.seconds = spent();
    // Several edits that are right on some problems by chance are none.
    if (out_.edit && out_.edit->edits > 1 && out_.edit->drawn.right * 4 < out_.edit->drawn.of * 3) {
      out_.edit.reset();
      out_.reason = fmt::format(
          "none of {} edits makes it right, nor do several together on others than the problems "
          "that they were tried on",
          grouped(out_.tried));
    }
    return std::move(out_);
  }
  const std::vector<std::unique_ptr<EditTrial>>& all_trials() const { return trials_.all(); }
  const std::vector<EditTrial*>& wrong_ones() const { return trials_.wrong(); }
  const std::vector<EditTrial*>& right_ones() const { return trials_.right(); }
  bool right_like_it() const {
    return std::all_of(wrong_ones().begin(), wrong_ones().end(),
                       [&](const EditTrial* t) { return !has_more(t->problem(), p_).empty(); });
  }
  double spent() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  // ---- barriers: threads that race may bring what is right in every order in which the emulator runs them

  bool lacks_a_barrier() {
    trials_.make(kernel_, p_);
    std::vector<size_t> race;
    for (size_t i = 0; i < all_trials().size(); i++) {
      activity_.check();
      if (all_trials()[i]->races(activity_)) race.push_back(i);
    }
    if (race.empty()) return false;
    const std::string name = "with-barriers/" + judge_.short_name();
    const Unlisted unlisted(name);
    const EditedFile file = open_edited(name, kernel_.text(), EditsOf::barriers, activity_);
    out_.compiling += file.seconds;
    list_outside(name, file.kernels, file.traced);
    const auto* k = judge_.own_of({file.kernels.begin(), file.kernels.end()}, name);
    if (!k || file.traced.empty()) return false;
    trials_.make(*k, p_);
    std::vector<TextEdit> all = edits_at(file.sites, cuda_, std::vector<bool>(file.sites.sites.size(), true));
    // Where it is passed least often, and as late as can be: before what reads, at the end of a loop's body.
    std::stable_sort(all.begin(), all.end(), [&](const TextEdit& a, const TextEdit& b) {
      const EditSite &one = file.sites.sites[a.choices[0].site], &other = file.sites.sites[b.choices[0].site];
      if (a.cost != b.cost) return a.cost < b.cost;
      return one.depth != other.depth ? one.depth < other.depth : one.begin > other.begin;
    });
    size_t judged = 0;
    for (const TextEdit& e : all) {
      if (spent() > seconds_ || judged == most_judged) break;
      out_.tried++;
      activity_.check();
      const bool all_right = [&] {
        const MadeEdit made(e);
        for (size_t i : race)
          if (!right_in_all_orders(*all_trials()[i], false) || all_trials()[i]->races(activity_)) return false;
        return std::all_of(all_trials().begin(), all_trials().end(),
                           [&](auto& t) { return right_in_all_orders(*t, false); });
      }();
      if (!all_right) continue;
      judged++;
      if (verified(file.sites, e, all_trials().size())) return true;
    }
    return out_.edit.has_value();
  }

  // ---- everything else

  OneEditSearch of_everything() {
    file_ = open_edited(judge_.file(), kernel_.text(), EditsOf::everything, activity_);
    out_.compiling += file_.seconds;
    edited_ = judge_.own_of({file_.kernels.begin(), file_.kernels.end()}, judge_.file());
    if (!edited_) return without("it could not be found in its file");
    trials_.make(*edited_, p_);
    trials_.look();
    constants_ = texts_with_other_constants(kernel_.text());
    seconds_ = std::max(seconds_, spent() + seconds_ / 2);  // where compilers have much to do
    if (right_like_it() && lacks_an_atomic()) return ended();
    if (right_like_it())  // what is wrong with it may show on others
      if (const auto others = trials_.drawn(*edited_, p_); others.wrong) trials_.add(*edited_, *others.wrong);
    const bool right_on_these = right_like_it();
    if (wrong_ones().empty()) return right_on_all();
    if (judge_.right(kernel_, {wrong_ones().front()->problem()})) return another_when_edited();
    if (!right_on_these && is_of_python()) return ended();
    TextEdit so_far, enough;  // enough: for all problems like the asked one
    constexpr int most_edits = 4;
    while (so_far.choices.empty() || so_far.edits < most_edits) {
      const size_t was_right = right_ones().size();
      std::vector<Kept> kept;
      if (found(so_far, kept)) return ended();
      if (kept.empty() || spent() > seconds_ - for_constants()) break;
      // What makes it right on some of the problems is a part of what is to be done.
      so_far = kept.front().edit;
      {
        const MadeEdit made(so_far);
        trials_.look();
      }
      if (right_ones().size() <= was_right) break;
      if (enough.choices.empty() && right_on_all_like_it(so_far)) enough = so_far;
    }
    if (!right_on_these && enough.choices.empty() && is_of_constants()) return ended();
    // What other problems have that the asked one has not may be left.
    if (right_on_these) {
      out_.right = true;
      return without(
          "it is right on the small problems that are like this one, and no edit was found with which it is "
          "on others");
    }
    if (!enough.choices.empty()) {  // what more was tried may do by chance
      {
        const MadeEdit made(enough);
        trials_.look();
      }
      if (verified(file_.sites, enough, right_ones().size()) || out_.edit) {
        out_.edit->wrong_with = common_of(wrong_ones());
        return ended();
      }
    }
    const bool no_time = spent() > seconds_ - for_constants();
    const std::string where = spent() > 1.5 * seconds_ ? "" : right_of_less(kernel_, p_, *emulator_, activity_),
                      it = where.empty() ? "it right" : "it so here";
    return without(where + (no_time ? fmt::format("none of {} edits that were tried makes {}; there was no time for "
                                                  "others",
                                                  grouped(out_.tried), it)
                                    : fmt::format("none of {} edits makes {}", grouped(out_.tried), it)));
  }

  // What it computes is right: what it does beside, or what was there by chance, the judge sees.
  OneEditSearch right_on_all() {
    const ConvProblem largest = right_ones().empty() ? p_ : right_ones().back()->problem();
    const std::string why = judge_.wrong(kernel_, {judge_.asked_is_short() ? p_ : largest});
    if (!why.empty() && lacks_a_beginning(largest)) return ended();
    if (!why.empty())
      return without("what it computes is right on all small problems that edits are tried on, and yet " + why);
    out_.right = true;
    return without("it is right on all small problems that edits are tried on");
  }

  // Sums begin with what stood there: nobody has cleared it.
  bool lacks_a_beginning(const ConvProblem& problem) {
    std::vector<std::string> texts = texts_with_zeros(kernel_.text());
    for (const TextEdit& e : edits_at(file_.sites, cuda_, std::vector<bool>(file_.sites.sites.size(), true)))
      if (e.choices.size() == 1 && file_.sites.sites[e.choices[0].site].kind == EditSite::Kind::clear)
        texts.push_back(edited_text(kernel_.text(), cuda_, file_.sites, e));
    constexpr size_t most = 10;
    texts.resize(std::min(texts.size(), most));
    for (std::string& text : texts) {
      if (spent() > seconds_) break;
      out_.tried++;
      if (verified(std::move(text), {problem}, 1, right_ones().size())) return true;
    }
    return out_.edit.has_value();
  }

  // Made such that edits can be tried the text does something else than before: whether it is right is to be judged.
  OneEditSearch another_when_edited() {
    constexpr size_t most = 6;
    std::vector<ConvProblem> problems;
    for (const EditTrial* t : wrong_ones())
      if (problems.size() < most && has_more(t->problem(), p_).empty()) problems.push_back(t->problem());
    if (problems.empty()) problems.push_back(wrong_ones().front()->problem());
    const char* why = "its text, made such that edits can be tried, does something else than before";
    if (!(out_.right = judge_.right(kernel_, problems))) return without(why);
    return without(
        fmt::format("it was judged right on {} small problems; no edits were tried: {}", problems.size(), why));
  }

  // What a Python file's module hands to its host code: tried first, since there are few such edits and each leaves the
  // compiled code as it is.
  bool is_of_python() {
    if (kernel_.text().starts_with(cuda_) || !has_python_module(kernel_.text())) return false;
    const std::vector<PythonEdit> all = python_edits(kernel_.text());
    activity_.phase("edits of " + kernel_.name(), all.size());
    // Those that it must be right on come first: most edits are none.
    std::vector<EditTrial*> first = wrong_ones();
    std::erase_if(first, [&](EditTrial* t) { return !has_more(t->problem(), p_).empty(); });
    size_t judged = 0;
    for (const PythonEdit& e : all) {
      if (spent() > seconds_ || judged == most_judged) break;
      out_.tried++;
      activity_.advance(), activity_.check();
      const std::string text = with_edit(kernel_.text(), e);
      std::vector<EditTrial*> left;
      std::vector<ConvProblem> problems;
      const bool more_right = [&] {
        const PythonTextInstead followed(kernel_.text(), text);
        auto right = [](EditTrial* t) { return t->right(true, t->wrong_order); };
        for (const auto* list : {&std::as_const(first), &right_ones()})
          if (!std::all_of(list->begin(), list->end(), right)) return false;
        for (const auto& t : counterexamples_)
          if (!right(t.get())) return false;
        for (auto& t : all_trials()) right(t.get()) ? problems.push_back(t->problem()) : left.push_back(t.get());
        return true;
      }();
      if (!more_right) continue;
      judged++;
      const size_t right = problems.size();
      const bool done = verified(text, {problems.front(), problems[right / 2], problems.back()}, 1, right);
      if (out_.edit && out_.edit->text == text) out_.edit->wrong_with = common_of(left);
      if (done) return true;
    }
    return out_.edit.has_value();
  }

  // Of the time: a quarter at most, of which each takes one second or two.
  double for_constants() const { return std::min(seconds_ / 4, 1.5 * static_cast<double>(constants_.size())); }

  // What the compiler must know: one second each, so that these come last.
  bool is_of_constants() {
    trials_.look();
    activity_.phase("edits of " + kernel_.name(), constants_.size());
    size_t judged = 0;
    for (const std::string& text : constants_) {
      if (spent() > seconds_ || judged == most_judged) break;
      out_.tried++;
      activity_.advance(), activity_.check();
      if (!judge_.right_on(text, trials_)) continue;
      judged++;
      const auto& all = all_trials();
      if (verified(text, {all.front()->problem(), all[all.size() / 2]->problem(), all.back()->problem()}, 1,
                   all.size()))
        return true;
    }
    return out_.edit.has_value();
  }

  // Blocks that add to one output, one after the other here: right in every order, and not on a GPU.
  bool lacks_an_atomic() {
    const std::vector<TextEdit> all = edits_at(file_.sites, cuda_, std::vector<bool>(file_.sites.sites.size(), true));
    size_t judged = 0;
    if (right_ones().empty() || judge_.right(kernel_, {right_ones().back()->problem()})) return false;
    for (const TextEdit& e : all) {
      const EditSite& s = file_.sites.sites[e.choices[0].site];
      if (s.kind != EditSite::Kind::store || s.op != "+=" || e.choices[0].edit != edits::atomically) continue;
      if (spent() > seconds_ || judged++ == most_judged) break;
      out_.tried++;
      if (verified(file_.sites, e, right_ones().size())) return true;
    }
    return out_.edit.has_value();
  }

  // Sites of host code are passed when a plan is made.
  std::vector<bool> reached_sites() {
    edits::State& state = edits::state;
    state.seen.fill(0);
    const auto chosen = state.chosen;
    std::vector<bool> reached(file_.sites.sites.size());
    for (size_t i = 0; i < reached.size(); i++)
      if (!chosen[i] && file_.sites.sites[i].kind != EditSite::Kind::barrier) state.chosen[i] = edits::noted;
    for (EditTrial* t : wrong_ones()) t->right(true, t->wrong_order);
    state.chosen = chosen;
    for (size_t i = 0; i < reached.size(); i++) reached[i] = state.seen[i];
    return reached;
  }

  // Whether one more edit makes it right on all problems, and is judged so; else `kept` has those that do on more than
  // before, the best one first.
  bool found(const TextEdit& so_far, std::vector<Kept>& kept) {
    std::vector<bool> reached;
    {
      const MadeEdit made(so_far);
      reached = reached_sites();
    }
    const std::vector<TextEdit> all = edits_at(file_.sites, cuda_, reached);
    if (completes(so_far, all)) return true;
    activity_.phase("parts of an edit of " + kernel_.name(), all.size());
    for (const TextEdit& e : all) {
      if (spent() > seconds_ - for_constants()) break;
      activity_.advance(), activity_.check();
      const auto together = with(so_far, e);
      if (!together) continue;
      double work = 1;
      constexpr size_t most_first = 4;
      const size_t right = right_with(*together, work, most_first);
      if (right && right < all_trials().size()) kept.push_back({*together, right, rank_of(e)});
    }
    auto most_first = [](const Kept& a, const Kept& b) { return a.right > b.right; };
    std::stable_sort(kept.begin(), kept.end(), most_first);
    // On a few problems another number may do as well.
    constexpr size_t most_looked_at = 30;
    kept.resize(std::min(kept.size(), most_looked_at));
    for (Kept& k : kept) {
      if (spent() > seconds_) break;
      const MadeEdit made(k.edit);
      k.right = static_cast<size_t>(std::count_if(all_trials().begin(), all_trials().end(),
                                                  [&](auto& t) { return t->right(plans(k.edit), t->wrong_order); }));
    }
    std::stable_sort(kept.begin(), kept.end(), most_first);
    return false;
  }

  // One more edit; nothing where it is of a place that has one.
  static std::optional<TextEdit> with(const TextEdit& so_far, const TextEdit& e) {
    const bool twice = std::any_of(so_far.choices.begin(), so_far.choices.end(), [&](const auto& c) {
      return std::any_of(e.choices.begin(), e.choices.end(), [&](const auto& o) { return o.site == c.site; });
    });
    if (twice) return {};
    TextEdit together = so_far;
    together.choices.insert(together.choices.end(), e.choices.begin(), e.choices.end());
    together.cost = so_far.cost + e.cost + 1, together.edits = so_far.choices.empty() ? 1 : so_far.edits + 1;
    return together;
  }

  // Whether one of them makes it right on all problems, and is judged so. Most are not right on the first one that is
  // wrong, and cost no more than that.
  bool completes(const TextEdit& so_far, const std::vector<TextEdit>& all) {
    activity_.phase("edits of " + kernel_.name(), all.size());
    std::vector<Kept> complete, longer;  // longer: also where less would do, an array's or a loop's end say
    int cost = 0;
    for (const TextEdit& e : all) {
      if (e.cost != cost && chosen(complete)) return true;
      constexpr int much_less_likely = 3;
      if (!longer.empty() && e.cost > longer.front().edit.cost + much_less_likely && chosen(longer)) return true;
      if (out_.edit && e.cost > best_cost_ + much_less_likely) return true;
      cost = e.cost;
      if (spent() > seconds_ - for_constants()) break;
      out_.tried++;
      activity_.advance(), activity_.check();
      const auto together = with(so_far, e);
      if (!together) continue;
      double work = 1;
      if (right_with(*together, work, 1) < all_trials().size() || !right_on_counterexamples(*together)) continue;
      constexpr double more = 1.2;
      const bool does_more = work > more;
      (does_more ? longer : complete).push_back({*together, all_trials().size(), rank_of(e), does_more ? work : 1});
    }
    return chosen(complete) || chosen(longer) || out_.edit;
  }

  // A factor or a rest is seldom right by chance.
  int rank_of(const TextEdit& e) const {
    const EditSite& s = file_.sites.sites[e.choices[0].site];
    const unsigned edit = e.choices[0].edit;
    if (s.kind != EditSite::Kind::name && s.kind != EditSite::Kind::whole) return 0;
    if (edit < edits::first_of_other) return 3;
    const unsigned how = (edit - edits::first_of_other) % edits::others;
    return how == edits::itself ? 0 : how == edits::times || how == edits::rest || how == edits::reversed ? 1 : 2;
  }

  bool plans(const TextEdit& e) const {
    return std::any_of(e.choices.begin(), e.choices.end(),
                       [&](const auto& c) { return file_.sites.sites[c.site].on_host; });
  }
  // most_first: it must be right on one of so many. On how many of the quick problems it is right, or on all that there
  // are; 0: on no more than before, or not on all that it was right on.
  size_t right_with(const TextEdit& e, double& work, size_t most_first) {
    const MadeEdit made(e);
    const bool of_plan = plans(e);
    auto once = [&](EditTrial* t) { return t->right(of_plan, t->wrong_order); };
    constexpr double much_longer = 4, short_enough = 300'000;
    const double least = wrong_ones().front()->cost(), from = least < EditTrial::not_run ? 0 : EditTrial::not_run;
    const double most = from + std::max(from > 0 ? 0 : short_enough, much_longer * (least - from));
    size_t first = 0;
    for (bool is = false; !is; first++) {
      if (first == std::min(most_first, wrong_ones().size()) || wrong_ones()[first]->cost() > most) return 0;
      is = once(wrong_ones()[first]);
    }
    const size_t quick = std::min(quick_trials, all_trials().size());
    size_t right = 0;
    for (size_t i = 0; i < quick; i++) {
      EditTrial* t = all_trials()[i].get();
      const bool is = once(t);
      right += is;
      if (!is && std::find(right_ones().begin(), right_ones().end(), t) != right_ones().end()) return 0;
    }
    if (right < quick) return right;
    for (const auto* list : {&wrong_ones(), &right_ones()})
      if (!std::all_of(list->begin(), list->end(), once)) return list == &wrong_ones() ? right : 0;
    const bool all = std::all_of(all_trials().begin(), all_trials().end(),
                                 [&](auto& t) { return right_in_all_orders(*t, of_plan); });
    if (!all) return 0;
    int64_t before = 0, now = 0;
    for (auto& t : all_trials()) {
      t->right(of_plan, 0);
      before += t->passed(), now += t->passed_last();
    }
    work = static_cast<double>(now) / static_cast<double>(std::max<int64_t>(before, 1));
    return all_trials().size();
  }

  bool right_on_all_like_it(const TextEdit& e) {
    const MadeEdit made(e);
    return std::all_of(all_trials().begin(), all_trials().end(), [&](auto& t) {
      return !has_more(t->problem(), p_).empty() || right_in_all_orders(*t, plans(e));
    });
  }
  bool right_on_counterexamples(const TextEdit& e) {
    const MadeEdit made(e);
    return std::all_of(counterexamples_.begin(), counterexamples_.end(),
                       [&](const auto& t) { return t->right(plans(e), 0); });
  }
  // What all of these problems have that the asked one has not.
  std::string common_of(const std::vector<EditTrial*>& wrong) const {
    std::vector<std::string> common;
    bool first = true;
    for (const EditTrial* t : wrong) {
      const auto more = has_more(t->problem(), p_);
      if (std::exchange(first, false)) common = more;
      std::erase_if(common, [&](const auto& c) { return std::find(more.begin(), more.end(), c) == more.end(); });
    }
    return fmt::format("{}", fmt::join(common, " and "));
  }

  // The first of those that are right on all, once it is compiled and judged.
  bool chosen(std::vector<Kept>& complete) {
    double least = std::numeric_limits<double>::max();
    for (const Kept& k : complete) least = std::min(least, k.work);
    // A loop that goes further than it must is no mended one.
    constexpr double as_much = 1.1;
    auto order = [&](const Kept& k) { return std::tuple(k.work > as_much * least, k.edit.cost, k.rank); };
    std::stable_sort(complete.begin(), complete.end(),
                     [&](const auto& a, const auto& b) { return order(a) < order(b); });
    size_t looked = 0;
    for (const Kept& k : complete) {
      if (looked++ == most_judged) break;
      if (verified(file_.sites, k.edit, k.right)) return true;
    }
    complete.clear();
    return false;
  }

  // What is right on all that are drawn is taken; of what is wrong on some of them, that which is right on most is
  // kept, and others are asked to be right on one of these too.
  bool verified(const EditSites& sites, const TextEdit& edit, size_t right) {
    std::vector<ConvProblem> problems;
    for (const EditTrial* t : right_on(edit)) problems.push_back(t->problem());
    return verified(edited_text(kernel_.text(), cuda_, sites, edit), std::move(problems), edit.edits, right, edit.cost);
  }
  // problems: to be judged on, beside the asked one.
  bool verified(std::string text, std::vector<ConvProblem> problems, int edits, size_t right, int cost = 0) {
    auto one = judge_.judged(std::move(text), std::move(problems), trials_);
    if (!one) return false;
    one->edits = edits;
    one->problems = static_cast<int>(right), one->left = static_cast<int>(all_trials().size() - right);
    const DrawnProblems drawn = one->drawn;
    if (!out_.edit || drawn.right > out_.edit->drawn.right) out_.edit = std::move(one), best_cost_ = cost;
    if (drawn.wrong && edited_)
      if (auto t = trials_.trial(*edited_, *drawn.wrong)) {
        t->know_cost();
        counterexamples_.push_back(std::move(t));
      }
    return !drawn.wrong;
  }

  // Those that it is judged on: one of the smallest and one of the largest that it is right on.
  std::vector<const EditTrial*> right_on(const TextEdit& e) {
    const MadeEdit made(e);
    std::vector<const EditTrial*> all;
    for (auto& t : all_trials())
      if (t->right(!file_.sites.sites.empty() && plans(e), 0)) all.push_back(t.get());
    if (all.size() > 3) all = {all.front(), all[all.size() / 2], all.back()};
    return all;
  }

  static constexpr size_t most_judged = 4, quick_trials = 6;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const KernelDefinition& kernel_;
  const ConvProblem p_;
  double seconds_;
  Activity& activity_;
  const std::unique_ptr<Device> emulator_ = open_emulator();
  OneEditSearch out_;
  EditedFile file_;
  std::string cuda_;
  std::vector<std::string> constants_;  // texts that must be compiled to be tried
  EditTrials trials_{kernel_, *emulator_, activity_};
  EditJudge judge_{kernel_, p_, *emulator_, activity_};
  const KernelDefinition* edited_ = nullptr;                 // made such that edits can be tried
  std::vector<std::unique_ptr<EditTrial>> counterexamples_;  // on which what was right on all trials was wrong
  int best_cost_ = 0;                                        // of the edit that is kept, though it is wrong on such
};

}  // namespace

OneEditSearch one_edit(const KernelDefinition& kernel, const ConvProblem& p, double seconds, Activity& activity) {
  return Search(kernel, p, seconds, activity).go();
}

}  // namespace convscope
