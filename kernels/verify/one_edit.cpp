#include "kernels/verify/one_edit.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "convscope/edits.h"
#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/compile/edited.h"
#include "kernels/runtime/compile/host_code.h"
#include "kernels/runtime/compile/modules.h"
#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/compile/python_edits.h"
#include "kernels/runtime/compile/python_run.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/edit_trial.h"
#include "kernels/verify/judge.h"
#include "kernels/verify/probe_inputs.h"
#include "kernels/verify/xray_problems.h"

namespace convscope {
namespace {

constexpr uint64_t edits_seed = 0xed17;

class Search {
 public:
  Search(const KernelDefinition& kernel, const ConvProblem& p, double seconds, Activity& activity)
      : kernel_(kernel), p_(p), seconds_(seconds), activity_(activity) {}

  OneEditSearch go() {
    activity_.phase("edits of " + kernel_.name());
    cuda_ = cuda_source(kernel_.text(), short_name());
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
    int rank = 0;  // of those that are right on all and as likely: the least is looked at first
  };
  OneEditSearch without(std::string reason) {
    out_.reason = std::move(reason);
    return ended();
  }
  OneEditSearch ended() {
    out_.seconds = spent();
    return std::move(out_);
  }
  double spent() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  static std::string file_of(const KernelDefinition& k) {
    for (const char* end : {".cu:", ".py:"})
      if (const size_t at = k.name().rfind(end); at != std::string::npos) return k.name().substr(0, at + 3);
    return k.name();
  }
  std::string short_name() const { return noted_name(file_of(kernel_)); }
  // A list of the file's own kernels, or of another form of it: the one that is this kernel.
  const KernelDefinition* own_of(const std::vector<const KernelDefinition*>& all, const std::string& file) const {
    const std::string behind = kernel_.name().substr(file_of(kernel_).size());
    for (const auto* k : all)
      if (k->name() == file + behind) return k;
    return nullptr;
  }

  // The small problems that it takes, with their memory.
  void make_trials(const KernelDefinition& kernel) { make_trials(kernel, p_); }
  void make_trials(const KernelDefinition& kernel, const ConvProblem& p) {
    trials_.clear(), wrong_.clear(), right_.clear();
    std::vector<ConvProblem> problems = small_and_longer_problems(kernel_, p);
    // As many channels as it was asked for, since sums may be made in parts; and a number of them that no part divides.
    for (const bool odd : {false, true}) {
      ConvProblem deep = p;
      constexpr int64_t most_inputs = 80;
      deep.groups = std::min<int64_t>(p.groups, 2), deep.batch = odd ? 2 : 1;
      deep.length = std::min<int64_t>(p.length, odd ? 20 : 12);
      deep.in_channels = (odd ? 37 : std::min(p.in_per_group(), most_inputs)) * deep.groups;
      deep.out_channels = std::min<int64_t>(p.out_per_group(), odd ? 7 : 3) * deep.groups;
      if (p.in_per_group() > 1) problems.push_back(deep);
    }
    for (const ConvProblem& q : problems) {
      if (check(q) || !kernel_.unsupported(q).empty()) continue;
      auto in = exact_inputs(q, edits_seed);
      if (!in) continue;
      try {
        trials_.push_back(std::make_unique<EditTrial>(*emulator_, kernel, q, std::move(*in)));
      } catch (const Cancelled&) {
        throw;
      } catch (const MissingError&) {
        throw;
      } catch (const std::exception&) {  // its host code does not take the problem
      }
    }
    for (auto& t : trials_) t->know_cost();
    std::stable_sort(trials_.begin(), trials_.end(),
                     [](const auto& a, const auto& b) { return a->cost() < b->cost(); });
  }

  // ---- barriers: threads that race may bring what is right in every order in which the emulator runs them

  bool lacks_a_barrier() {
    make_trials(kernel_);
    std::vector<size_t> race;
    for (size_t i = 0; i < trials_.size(); i++) {
      activity_.check();
      if (trials_[i]->races(activity_)) race.push_back(i);
    }
    if (race.empty()) return false;
    const std::string name = "with-barriers/" + short_name();
    const Unlisted unlisted{name};
    const EditedFile file = open_edited(name, kernel_.text(), EditsOf::barriers, activity_);
    out_.compiling += file.seconds;
    list_outside(name, file.kernels, file.traced);
    const auto* k = own_of({file.kernels.begin(), file.kernels.end()}, name);
    if (!k || file.traced.empty()) return false;
    make_trials(*k);
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
          if (!right_in_all_orders(*trials_[i], false) || trials_[i]->races(activity_)) return false;
        return std::all_of(trials_.begin(), trials_.end(), [&](auto& t) { return right_in_all_orders(*t, false); });
      }();
      if (!all_right) continue;
      judged++;
      if (verified(file.sites, e, trials_.size())) return true;
    }
    return false;
  }

  // ---- everything else

  OneEditSearch of_everything() {
    file_ = open_edited(file_of(kernel_), kernel_.text(), EditsOf::everything, activity_);
    out_.compiling += file_.seconds;
    const auto* edited = own_of({file_.kernels.begin(), file_.kernels.end()}, file_of(kernel_));
    if (!edited) return without("it could not be found in its file");
    make_trials(*edited);
    look();
    const bool right_like_it =
        std::all_of(wrong_.begin(), wrong_.end(), [&](EditTrial* t) { return !has_more(t->problem()).empty(); });
    if (right_like_it && lacks_an_atomic()) return ended();
    if (wrong_.empty()) {
      out_.right = true;
      return without("it is right on all small problems that edits are tried on");
    }
    if (judged_right(kernel_, {wrong_.front()->problem()})) return another_when_edited();
    if (!right_like_it && is_of_python()) return ended();
    TextEdit so_far, enough;  // enough: for all problems like the asked one
    constexpr int most_edits = 4;
    while (so_far.choices.empty() || so_far.edits < most_edits) {
      const size_t was_right = right_.size();
      std::vector<Kept> kept;
      if (found(so_far, kept)) return ended();
      if (kept.empty() || spent() > seconds_) break;
      // What makes it right on some of the problems is a part of what is to be done.
      so_far = kept.front().edit;
      {
        const MadeEdit made(so_far);
        look();
      }
      if (right_.size() <= was_right) break;
      if (enough.choices.empty() && right_on_all_like_it(so_far)) enough = so_far;
    }
    // What other problems have that the asked one has not may be left.
    if (right_like_it) {
      out_.right = true;
      return without(
          "it is right on the small problems that are like this one, and no edit was found with which it is "
          "on others");
    }
    if (!enough.choices.empty()) {  // what more was tried may do by chance
      {
        const MadeEdit made(enough);
        look();
      }
      if (verified(file_.sites, enough, right_.size())) {
        out_.edit->wrong_with = still_wrong_with();
        return ended();
      }
    }
    const bool no_time = spent() > seconds_;
    const std::string where = right_elsewhere(), it = where.empty() ? "it right" : "it so here";
    return without(where + (no_time ? fmt::format("none of {} edits that were tried makes {}; there was no time for "
                                                  "others",
                                                  grouped(out_.tried), it)
                                    : fmt::format("none of {} edits makes {}", grouped(out_.tried), it)));
  }

  // Made such that edits can be tried the text does something else than before: whether it is right is to be judged.
  OneEditSearch another_when_edited() {
    constexpr size_t most = 6;
    std::vector<ConvProblem> problems;
    for (const EditTrial* t : wrong_)
      if (problems.size() < most && has_more(t->problem()).empty()) problems.push_back(t->problem());
    if (problems.empty()) problems.push_back(wrong_.front()->problem());
    const char* why = "its text, made such that edits can be tried, does something else than before";
    if (!(out_.right = judged_right(kernel_, problems))) return without(why);
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
    std::vector<EditTrial*> first = wrong_;
    std::erase_if(first, [&](EditTrial* t) { return !has_more(t->problem()).empty(); });
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
        if (!std::all_of(first.begin(), first.end(), right) || !std::all_of(right_.begin(), right_.end(), right))
          return false;
        for (auto& t : trials_) right(t.get()) ? problems.push_back(t->problem()) : left.push_back(t.get());
        return true;
      }();
      if (!more_right) continue;
      judged++;
      const size_t right = problems.size();
      if (verified(text, {problems.front(), problems[right / 2], problems.back()}, 1, right)) {
        wrong_ = left;
        out_.edit->wrong_with = still_wrong_with();
        return true;
      }
    }
    return false;
  }

  // Blocks that add to one output, one after the other here: right in every order, and not on a GPU.
  bool lacks_an_atomic() {
    const std::vector<TextEdit> all = edits_at(file_.sites, cuda_, std::vector<bool>(file_.sites.sites.size(), true));
    size_t judged = 0;
    if (right_.empty() || judged_right(kernel_, {right_.back()->problem()})) return false;
    for (const TextEdit& e : all) {
      const EditSite& s = file_.sites.sites[e.choices[0].site];
      if (s.kind != EditSite::Kind::store || s.op != "+=" || e.choices[0].edit != edits::atomically) continue;
      if (spent() > seconds_ || judged++ == most_judged) break;
      out_.tried++;
      if (verified(file_.sites, e, right_.size())) return true;
    }
    return false;
  }

  // Which trials are right as it is, and with the edits that are made.
  void look() {
    wrong_.clear(), right_.clear();
    for (auto& t : trials_) {
      bool right = true;
      for (uint32_t order : thread_orders) {
        if (!right) break;
        right = t->right(edits::state.any, order);
        if (!right) t->wrong_order = order;
      }
      (right ? right_ : wrong_).push_back(t.get());
    }
  }

  // Sites of host code are passed when a plan is made.
  std::vector<bool> reached_sites() {
    edits::State& state = edits::state;
    state.seen.fill(0);
    const auto chosen = state.chosen;
    std::vector<bool> reached(file_.sites.sites.size());
    for (size_t i = 0; i < reached.size(); i++)
      if (!chosen[i] && file_.sites.sites[i].kind != EditSite::Kind::barrier) state.chosen[i] = edits::noted;
    for (EditTrial* t : wrong_) t->right(true, t->wrong_order);
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
    activity_.phase("edits of " + kernel_.name(), all.size());
    std::vector<Kept> complete, longer;  // longer: also where less would do, an array's or a loop's end say
    int cost = 0;
    for (const TextEdit& e : all) {
      if (e.cost != cost && chosen(complete)) return true;
      constexpr int much_less_likely = 3;
      if (!longer.empty() && e.cost > longer.front().edit.cost + much_less_likely && chosen(longer)) return true;
      cost = e.cost;
      if (spent() > seconds_) break;
      out_.tried++;
      activity_.advance(), activity_.check();
      TextEdit together = so_far;
      const bool twice = std::any_of(so_far.choices.begin(), so_far.choices.end(), [&](const auto& c) {
        return std::any_of(e.choices.begin(), e.choices.end(), [&](const auto& o) { return o.site == c.site; });
      });
      if (twice) continue;
      together.choices.insert(together.choices.end(), e.choices.begin(), e.choices.end());
      together.cost = so_far.cost + e.cost + 1, together.edits = so_far.choices.empty() ? 1 : so_far.edits + 1;
      bool does_more = false;
      const size_t right = right_with(together, does_more);
      if (right)
        (right < trials_.size() ? kept : does_more ? longer : complete).push_back({together, right, rank_of(e)});
    }
    if (chosen(complete) || chosen(longer)) return true;
    auto most_first = [](const Kept& a, const Kept& b) { return a.right > b.right; };
    std::stable_sort(kept.begin(), kept.end(), most_first);
    // On a few problems another number may do as well.
    constexpr size_t most_looked_at = 30;
    kept.resize(std::min(kept.size(), most_looked_at));
    for (Kept& k : kept) {
      const MadeEdit made(k.edit);
      k.right = static_cast<size_t>(std::count_if(trials_.begin(), trials_.end(),
                                                  [&](auto& t) { return t->right(plans(k.edit), t->wrong_order); }));
    }
    std::stable_sort(kept.begin(), kept.end(), most_first);
    return false;
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

  static bool right_in_all_orders(EditTrial& t, bool plans) {
    return t.right(plans, t.wrong_order) &&
           std::all_of(thread_orders.begin(), thread_orders.end(), [&](uint32_t o) { return t.right(plans, o); });
  }
  bool plans(const TextEdit& e) const {
    return std::any_of(e.choices.begin(), e.choices.end(),
                       [&](const auto& c) { return file_.sites.sites[c.site].on_host; });
  }
  // On how many of the quick problems it is right, or on all that there are; 0: on no more than before, or not on all
  // that it was right on.
  size_t right_with(const TextEdit& e, bool& does_more) {
    const MadeEdit made(e);
    const bool of_plan = plans(e);
    auto once = [&](EditTrial* t) { return t->right(of_plan, t->wrong_order); };
    constexpr size_t most_first = 4;
    constexpr double much_longer = 4, short_enough = 300'000;
    const double least = wrong_.front()->cost(), from = least < EditTrial::not_run ? 0 : EditTrial::not_run;
    const double most = from + std::max(from > 0 ? 0 : short_enough, much_longer * (least - from));
    size_t first = 0;
    for (bool is = false; !is; first++) {
      if (first == std::min(most_first, wrong_.size()) || wrong_[first]->cost() > most) return 0;
      is = once(wrong_[first]);
    }
    const size_t quick = std::min(quick_trials, trials_.size());
    size_t right = 0;
    for (size_t i = 0; i < quick; i++) {
      EditTrial* t = trials_[i].get();
      const bool is = once(t);
      right += is;
      if (!is && std::find(right_.begin(), right_.end(), t) != right_.end()) return 0;
    }
    if (right < quick) return right;
    int64_t before = 0, now = 0;
    for (size_t i = 0; i < quick; i++) {
      trials_[i]->right(of_plan, 0);
      before += trials_[i]->passed(), now += trials_[i]->passed_last();
    }
    constexpr double more = 1.2;
    does_more = static_cast<double>(now) > more * static_cast<double>(before);
    for (const auto* list : {&wrong_, &right_})
      if (!std::all_of(list->begin(), list->end(), once)) return list == &wrong_ ? right : 0;
    return std::all_of(trials_.begin(), trials_.end(), [&](auto& t) { return right_in_all_orders(*t, of_plan); })
               ? trials_.size()
               : 0;
  }

  // What a problem has that the asked one has not, and a kernel may be made without: what it does there is another
  // question.
  std::vector<std::string> has_more(const ConvProblem& q) const { return has_more(q, p_); }
  static std::vector<std::string> has_more(const ConvProblem& q, const ConvProblem& than) {
    std::vector<std::string> all;
    if (q.output_padding > 0 && than.output_padding == 0) all.emplace_back("an output_padding");
    if (q.dilation > 1 && q.kernel_size > 1 && than.dilation == 1) all.emplace_back("a dilation");
    if (q.stride > 1 && than.stride == 1) all.emplace_back("a stride");
    if (q.padding > 0 && than.padding == 0) all.emplace_back("padding");
    return all;
  }
  struct Less {
    const char* where;
    ConvProblem problem;
  };
  // A right kernel of less than was asked for: where it is right, in words; "": nowhere that was looked at.
  std::string right_elsewhere() {
    std::vector<Less> all;
    auto add = [&](const char* where, auto change) {
      ConvProblem q = p_;
      change(q);
      if (!(q == p_) && !check(q)) all.push_back({where, q});
    };
    if (p_.dtype != DType::f16) add("in f16", [](ConvProblem& q) { q.dtype = DType::f16; });
    if (p_.dilation > 1) add("without a dilation", [](ConvProblem& q) { q.dilation = 1; });
    if (p_.output_padding > 0) add("without an output_padding", [](ConvProblem& q) { q.output_padding = 0; });
    if (p_.dilation > 1 && p_.output_padding > 0)
      add("without a dilation and an output_padding", [](ConvProblem& q) { q.dilation = 1, q.output_padding = 0; });
    for (const Less& less : all) {
      activity_.check();
      make_trials(kernel_, less.problem);
      std::erase_if(trials_, [&](const auto& t) {
        return !has_more(t->problem(), less.problem).empty() || t->problem().dtype != less.problem.dtype;
      });
      // Few of them, or none with as many channels, say little: what is wrong may not be seen there.
      const bool deep =
          std::any_of(trials_.begin(), trials_.end(), [](auto& t) { return t->problem().in_per_group() > 8; });
      if (trials_.size() > 5 && (deep || p_.in_per_group() == 1) &&
          std::all_of(trials_.begin(), trials_.end(), [&](auto& t) { return right_in_all_orders(*t, false); }))
        return fmt::format("it is right {}, on all {} small problems that were tried; ", less.where, trials_.size());
    }
    return "";
  }
  bool right_on_all_like_it(const TextEdit& e) {
    const MadeEdit made(e);
    return std::all_of(trials_.begin(), trials_.end(),
                       [&](auto& t) { return !has_more(t->problem()).empty() || right_in_all_orders(*t, plans(e)); });
  }
  // What all problems have that it is still wrong on.
  std::string still_wrong_with() {
    std::vector<std::string> common;
    bool first = true;
    for (const EditTrial* t : wrong_) {
      const auto more = has_more(t->problem());
      if (std::exchange(first, false)) common = more;
      std::erase_if(common, [&](const auto& c) { return std::find(more.begin(), more.end(), c) == more.end(); });
    }
    return fmt::format("{}", fmt::join(common, " and "));
  }

  // The first of those that are right on all, once it is compiled and judged.
  bool chosen(std::vector<Kept>& complete) {
    std::stable_sort(complete.begin(), complete.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    size_t looked = 0;
    for (const Kept& k : complete) {
      if (looked++ == most_judged) break;
      if (verified(file_.sites, k.edit, k.right)) return true;
    }
    complete.clear();
    return false;
  }

  struct Unlisted {
    std::string name;
    ~Unlisted() { list_outside(name, {}, {}); }
  };

  bool verified(const EditSites& sites, const TextEdit& edit, size_t right) {
    std::vector<ConvProblem> problems;
    for (const EditTrial* t : right_on(edit)) problems.push_back(t->problem());
    return verified(edited_text(kernel_.text(), cuda_, sites, edit), std::move(problems), edit.edits, right);
  }
  // problems: to be judged on, beside the asked one.
  bool verified(std::string text, std::vector<ConvProblem> problems, int edits, size_t right) {
    OneEdit one;
    one.text = std::move(text);
    if (one.text.empty() || one.text == kernel_.text()) return false;
    one.lines = changed_lines(kernel_.text(), one.text);
    one.edits = edits;
    one.problems = static_cast<int>(right), one.left = static_cast<int>(trials_.size() - right);
    const std::string name = "with-an-edit/" + short_name();
    const Unlisted unlisted{name};
    const KernelDefinition* k = nullptr;
    try {
      k = own_of(bring_outside(name, one.text, activity_).kernels, name);
    } catch (const CompileError&) {
    } catch (const InputError&) {
    }
    if (!k) return false;
    constexpr double most_products = 3e7;  // some seconds
    if (walked_products(p_) <= most_products) problems.push_back(p_), one.asked = true;
    if (!judged_right(*k, problems)) return false;
    one.judged = static_cast<int>(problems.size());
    out_.edit = std::move(one);
    return true;
  }
  bool judged_right(const KernelDefinition& kernel, const std::vector<ConvProblem>& problems) {
    std::vector<std::unique_ptr<Reference>> none;
    Judge judge(*emulator_, none);
    return std::all_of(problems.begin(), problems.end(), [&](const ConvProblem& q) {
      RunSpec spec;
      spec.kernel = &kernel, spec.problem = q, spec.references = false, spec.verdict_only = true;
      return judge.run(spec, activity_).verdict.status == Status::right;
    });
  }
  // Those that it is judged on: one of the smallest and one of the largest that it is right on.
  std::vector<const EditTrial*> right_on(const TextEdit& e) {
    const MadeEdit made(e);
    std::vector<const EditTrial*> all;
    for (auto& t : trials_)
      if (t->right(!file_.sites.sites.empty() && plans(e), 0)) all.push_back(t.get());
    if (all.size() > 3) all = {all.front(), all[all.size() / 2], all.back()};
    return all;
  }

  static constexpr size_t most_judged = 4, quick_trials = 6;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const KernelDefinition& kernel_;
  const ConvProblem p_;
  const double seconds_;
  Activity& activity_;
  const std::unique_ptr<Device> emulator_ = open_emulator();
  OneEditSearch out_;
  EditedFile file_;
  std::string cuda_;
  std::vector<std::unique_ptr<EditTrial>> trials_;
  std::vector<EditTrial*> wrong_, right_;
};

}  // namespace

OneEditSearch one_edit(const KernelDefinition& kernel, const ConvProblem& p, double seconds, Activity& activity) {
  return Search(kernel, p, seconds, activity).go();
}

}  // namespace convscope
