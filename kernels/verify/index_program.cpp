#include "kernels/verify/index_program.h"

#include <algorithm>
#include <random>

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

// Whether it has been computed where that place is.
bool in_scope(Operand o, Place at) {
  if (o < e || o >= zero) return (o != Cig && o != Cog) || at >= first_co;
  if (o == e) return true;
  if (o == j || o == co || o == n) return at >= in_all;
  if (o == first) return at >= bias_of;
  if (o == k) return at >= t_j;
  if (o == t) return at >= low_t;
  if (o == i) return at >= end_i;
  return at >= x_n;  // ci
}

// One thing that may be otherwise: an operand, or (at: places) an operator.
struct Edit {
  Place at = places;
  Slot slot{};
  const Change* change = nullptr;
  double cost = 0;

  void make(Program& q) const {
    if (change)
      q.changed |= 1u << change->is;
    else
      q.slots[at] = slot;
  }
  // Where the statement begins in which it stands; places: in none alone.
  Place statement() const { return change ? change->at : statement_of(at).from; }
};

std::vector<Edit> all_edits() {
  std::vector<Edit> all;
  for (int at = 0; at < places; at++) {
    const auto place = static_cast<Place>(at);
    const Operand right = definition.slots[place].operand;
    for (const int8_t add : {int8_t{-1}, int8_t{1}})
      all.push_back({place, {right, add}, nullptr, right < e ? 1.4 : 1.45});  // rather of a size
    for (int o = 0; o < operands; o++) {
      const auto other = static_cast<Operand>(o);
      const double cost = cost_of(other, right);
      if (cost > 0 && in_scope(other, place)) all.push_back({place, {other, 0}, nullptr, cost});
    }
  }
  for (const Change& c : operators) all.push_back({places, {}, &c, 1.6});
  return all;
}

// Maps, and in which order their outputs tell most programs apart.
class Maps {
 public:
  explicit Maps(const std::vector<const IndexMap*>& maps) {
    std::mt19937 random(1);
    size_t most = 0;
    std::vector<std::vector<int64_t>> of_each;
    for (const IndexMap* m : maps) {
      maps_.emplace_back(*m);
      // What the definition does not give first: it is what a program has to explain.
      std::vector<int64_t> order(static_cast<size_t>(maps_.back().size()));
      for (size_t o = 0; o < order.size(); o++) order[o] = static_cast<int64_t>(o);
      std::shuffle(order.begin(), order.end(), random);
      std::stable_partition(order.begin(), order.end(),
                            [&](int64_t output) { return !maps_.back().gives(definition, output); });
      most = std::max(most, order.size());
      of_each.push_back(std::move(order));
    }
    for (size_t turn = 0; turn < most; turn++)
      for (size_t m = 0; m < maps_.size(); m++)
        if (turn < of_each[m].size()) order_.emplace_back(m, of_each[m][turn]);
  }
  bool fit(const Program& q) const {
    return std::all_of(order_.begin(), order_.end(),
                       [&](const auto& at) { return maps_[at.first].gives(q, at.second); });
  }

 private:
  std::vector<OutputMap> maps_;
  std::vector<std::pair<size_t, int64_t>> order_;
};

std::vector<ProgramFault> told(const Program& q, std::vector<const Edit*> edits) {
  // In the order of the program.
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit* a, const Edit* b) { return a->statement() < b->statement(); });
  std::vector<ProgramFault> all;
  for (const Edit* edit : edits) {
    const Place from = edit->statement();
    if (from == places) {
      all.push_back({edit->change->text, edit->change->right, edit->change->what});
      continue;
    }
    const Statement& st = statement_of(from);
    const ProgramFault fault{st.of(q), st.of(definition), st.what};
    if (all.empty() || all.back().text != fault.text) all.push_back(fault);
  }
  return all;
}

}  // namespace

std::vector<ProgramFault> program_faults(const std::vector<const IndexMap*>& maps) {
  // What is added to what stood there is another fault.
  if (maps.empty() || std::any_of(maps.begin(), maps.end(), [](const IndexMap* m) { return !m->added.empty(); }))
    return {};
  static const std::vector<Edit> edits = all_edits();
  const Maps all(maps);
  std::vector<const Edit*> best;
  double least = 1e9;
  auto consider = [&](double cost, std::initializer_list<const Edit*> made) {
    if (cost >= least) return;
    Program q = definition;
    for (const Edit* edit : made) edit->make(q);
    if (all.fit(q)) best = made, least = cost;
  };
  for (const Edit& edit : edits) consider(edit.cost, {&edit});
  if (best.empty())
    for (size_t a = 0; a < edits.size(); a++)
      for (size_t b = a + 1; b < edits.size(); b++) {
        const Edit &one_of_them = edits[a], &other = edits[b];
        if (!one_of_them.change && !other.change && one_of_them.at == other.at) continue;
        const bool same = one_of_them.statement() == other.statement();
        if (same && one_of_them.change && other.change) continue;
        constexpr double likelier = 0.3;  // two in one statement
        consider(one_of_them.cost + other.cost - (same ? likelier : 0), {&one_of_them, &other});
      }
  Program q = definition;
  for (const Edit* edit : best) edit->make(q);
  return told(q, best);
}

}  // namespace convscope
