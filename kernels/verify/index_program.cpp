#include "kernels/verify/index_program.h"

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "kernels/verify/index_loop.h"

namespace convscope {
namespace {
using namespace index_loop;

// How unlikely it is that one stands in another's place; 0: it is not tried.
double cost_of(Operand is, Operand right) {
  auto one_of = [](Operand o, std::initializer_list<Operand> list) {
    for (const Operand l : list)
      if (o == l) return true;
    return false;
  };
  auto both = [&](std::initializer_list<Operand> list) { return one_of(is, list) && one_of(right, list); };
  if (is == right) return 0;
  if (both({L, Lout}) || both({Cin, Cig}) || both({Cout, Cog}) || both({Cin, Cout}) || both({Cig, Cog})) return 1;
  if (both({Cin, Cout, Cig, Cog}) || both({s, d}) || both({ci, first}) || both({t, i}) || both({t, j})) return 1.2;
  if (both({s, p, d, g}) || both({j, t, i}) || both({k, zero}) || both({co, ci, first, n})) return 1.5;
  if (both({N, Cin, Cout, Cig, Cog, K, L, Lout})) return 2;
  if (both({j, t, i, k}) || both({n, e}) || is == one || is == zero) return 2.2;
  return 0;
}

// One thing that may be otherwise: an operand, or an operator (change).
struct Edit {
  int at = no_place;
  Slot slot{};
  const Change* change = nullptr;
  double cost = 0;
  int statement = no_place;  // where it begins; no_place: it is in none alone

  void make(Program& q) const {
    if (change)
      q.changed |= uint64_t{1} << change->is;
    else
      q.slots[static_cast<size_t>(at)] = slot;
  }
};

std::vector<Edit> all_edits(const Loop& loop) {
  std::vector<Edit> all;
  for (int at = 0; at < static_cast<int>(loop.definition.size()); at++) {
    const Operand right = loop.definition[static_cast<size_t>(at)].operand;
    const int statement = loop.statement_of(at).from;
    for (const int8_t add : {int8_t{-1}, int8_t{1}})
      all.push_back({at, {right, add}, nullptr, is_size(right) ? 1.4 : 1.45, statement});  // rather of a size
    for (int o = 0; o < operands; o++) {
      const auto other = static_cast<Operand>(o);
      const double cost = cost_of(other, right);
      // A program that does nothing is none of a kernel that does something.
      if (o == zero && loop.statement_of(at).what.starts_with("the test for the end of ")) continue;
      if (cost > 0 && loop.in_scope(other, at)) all.push_back({at, {other, 0}, nullptr, cost, statement});
    }
  }
  for (const Change& c : loop.operators) all.push_back({no_place, {}, &c, c.cost, c.at});
  return all;
}

// Looks for the faults of a loop that give all maps.
class Search {
 public:
  Search(const Loop& loop, const std::vector<const IndexMap*>& maps)
      : loop_(loop), right_(loop.right()), edits_(all_edits(loop)), maps_(loop.maps(maps)) {
    // Who knows nothing of groups has no statement of them that could be wrong.
    if (std::any_of(maps.begin(), maps.end(), [](const IndexMap* m) { return m->problem.groups > 1; })) return;
    for (Edit& edit : edits_)
      if (edit.statement != no_place && loop.statement_of(edit.statement).what.find("group") != std::string::npos)
        edit.cost += 1;
  }
  void one(bool in_a_statement = false) {
    for (const Edit& edit : edits_)
      if (!in_a_statement || edit.statement != no_place) consider(edit.cost, {&edit});
  }
  // The same, where on one of the problems the program divides by zero, and on the others it gives the maps: a GPU goes
  // on with whatever comes of that.
  void one_but_for(const std::vector<const IndexMap*>& maps) {
    constexpr size_t least = 3;
    for (size_t without = 0; without < maps.size() && maps.size() > least && best_.empty(); without++) {
      std::vector<const IndexMap*> rest = maps;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(without));
      const auto left_out = loop_.maps({maps[without]});
      maps_ = loop_.maps(rest);
      fails_on_ = left_out.get();
      one();
      fails_on_ = nullptr;
    }
  }
  void two(const Activity& activity) {
    for (size_t a = 0; a < edits_.size(); a++, activity.check())
      for (size_t b = a + 1; b < edits_.size(); b++) {
        const Edit &one = edits_[a], &other = edits_[b];
        if (!one.change && !other.change && one.at == other.at) continue;
        const bool same = one.statement == other.statement;
        if (same && one.change && other.change) continue;
        constexpr double likelier = 0.3;  // two in one statement
        consider(one.cost + other.cost - (same ? likelier : 0), {&one, &other});
      }
  }
  bool found() const { return !best_.empty(); }
  double cost() const { return least_; }
  std::vector<ProgramFault> faults() const {
    // In the order of the program.
    std::vector<const Edit*> edits = best_;
    std::stable_sort(edits.begin(), edits.end(),
                     [](const Edit* a, const Edit* b) { return a->statement < b->statement; });
    Program q = right_;
    for (const Edit* edit : edits) edit->make(q);
    std::vector<ProgramFault> all;
    for (const Edit* edit : edits) {
      if (edit->statement == no_place) {
        all.push_back({edit->change->text, edit->change->right, edit->change->what, {}});
        continue;
      }
      const Statement& st = loop_.statement_of(edit->statement);
      const ProgramFault fault{loop_.text(st, q), loop_.text(st, right_), st.what, {}};
      if (all.empty() || all.back().text != fault.text) all.push_back(fault);
    }
    for (ProgramFault& f : all)
      for (const Name& name : loop_.names)
        if ((name.of_what ? f.what : f.text + " " + f.right).find(name.word) != std::string::npos &&
            std::find(f.names.begin(), f.names.end(), name.is) == f.names.end())
          f.names.push_back(name.is);
    return all;
  }

 private:
  void consider(double cost, std::initializer_list<const Edit*> made) {
    for (const uint64_t form : loop_.forms) {
      if (cost >= least_) return;
      Program q = right_;
      q.changed = form;
      for (const Edit* edit : made) edit->make(q);
      if (maps_->fit(q) && (!fails_on_ || fails_on_->fails(q))) best_ = made, least_ = cost;
    }
  }

  const Loop& loop_;
  const Program right_;
  std::vector<Edit> edits_;
  std::unique_ptr<Maps> maps_;
  Maps* fails_on_ = nullptr;  // where only programs are wanted that fail on it
  std::vector<const Edit*> best_;
  double least_ = 1e9;
};

}  // namespace

std::vector<ProgramFault> program_faults(const std::vector<const IndexMap*>& maps, const Activity& activity,
                                         bool one_statement) {
  // What is added to what stood there is another fault.
  if (maps.empty() ||
      std::any_of(maps.begin(), maps.end(), [](const IndexMap* m) { return !m->added.empty() || !m->unset.empty(); }))
    return {};
  Search gathers(gather(), maps), scatters(scatter(), maps);
  auto found = [&] { return gathers.found() || scatters.found(); };
  gathers.one(one_statement), scatters.one(one_statement);
  if (!found() && !one_statement) gathers.two(activity), scatters.two(activity);
  if (!found() && !one_statement) gathers.one_but_for(maps), scatters.one_but_for(maps);
  if (!found()) return {};
  return scatters.cost() < gathers.cost() ? scatters.faults() : gathers.faults();
}

}  // namespace convscope
