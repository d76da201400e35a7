#include "kernels/verify/launch_shapes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/stand_ins.h"
#include "kernels/verify/compare.h"
#include "kernels/verify/if_it_runs.h"
#include "kernels/verify/probe_inputs.h"
#include "kernels/verify/problem_memory.h"
#include "kernels/verify/pyramid.h"
#include "kernels/verify/races.h"
#include "kernels/verify/xray_problems.h"

namespace convscope {
namespace {

constexpr uint64_t shapes_seed = 0x10c4;
constexpr size_t fewest_cases = 3;
constexpr uint32_t other_order = 0x5eed5;

using Sides = std::array<int64_t, 3>;
Sides sides_of(const Shape& s) { return {s.x, s.y, s.z}; }
Shape shape_of(const Sides& s) { return {s[0], s[1], s[2]}; }
constexpr const char* side_names[] = {"x", "y", "z"};

struct Launched {
  Sides grid, block;
  bool operator==(const Launched&) const = default;
};

int64_t rounded_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What the sides of a grid are made of. per: a side of the block, or a small multiple of it, by which it is divided.
struct Quantity {
  const char* name;
  int64_t (*of)(const ConvProblem& p);
  bool in_blocks;  // divided by the threads of a block, rounded up
};
constexpr Quantity quantities[] = {
    {"1", [](const ConvProblem&) { return int64_t{1}; }, false},
    {"N", [](const ConvProblem& p) { return p.batch; }, false},
    {"Cout", [](const ConvProblem& p) { return p.out_channels; }, false},
    {"Cin", [](const ConvProblem& p) { return p.in_channels; }, false},
    {"Cout/groups", [](const ConvProblem& p) { return p.out_per_group(); }, false},
    {"Cin/groups", [](const ConvProblem& p) { return p.in_per_group(); }, false},
    {"groups", [](const ConvProblem& p) { return p.groups; }, false},
    {"K", [](const ConvProblem& p) { return p.kernel_size; }, false},
    {"s", [](const ConvProblem& p) { return p.stride; }, false},
    {"N·Cout", [](const ConvProblem& p) { return p.batch * p.out_channels; }, false},
    {"N·groups", [](const ConvProblem& p) { return p.batch * p.groups; }, false},
    {"Lout", [](const ConvProblem& p) { return p.out_length(); }, true},
    {"L", [](const ConvProblem& p) { return p.length; }, true},
    {"Cout·Lout", [](const ConvProblem& p) { return p.out_channels * p.out_length(); }, true},
    {"N·Lout", [](const ConvProblem& p) { return p.batch * p.out_length(); }, true},
    {"N·Cout·Lout", [](const ConvProblem& p) { return p.y_elements(); }, true},
    {"N·Cin·L", [](const ConvProblem& p) { return p.x_elements(); }, true},
};

// By how many threads of a block a side of the grid is divided, in words.
std::string threads_of(size_t side, int64_t multiple) {
  return multiple == 1 ? fmt::format("block.{}", side_names[side])
                       : fmt::format("({}·block.{})", multiple, side_names[side]);
}

// One change of a launch, and its words.
struct Change {
  std::string what;  // without its end: that it is right with it
  std::function<Launched(const ConvProblem&, const Launched&)> of;
  // A side of the grid that is to be this; "": sides that are exchanged.
  std::string right = {};
  size_t side = 0;
};

std::vector<Change> changes() {
  std::vector<Change> all{{"the grid and the block of its launch are exchanged: the other way round",
                           [](const ConvProblem&, const Launched& l) {
                             return Launched{l.block, l.grid};
                           }}};
  for (const auto& [whose, sides] : {std::pair{"grid", &Launched::grid}, {"block", &Launched::block}}) {
    for (const auto& [a, b] : {std::pair<size_t, size_t>{0, 1}, {0, 2}, {1, 2}})
      all.push_back({fmt::format("{0}.{1} and {0}.{2} of its launch are exchanged: the other way round", whose,
                                 side_names[a], side_names[b]),
                     [sides = sides, a = a, b = b](const ConvProblem&, Launched l) {
                       std::swap((l.*sides)[a], (l.*sides)[b]);
                       return l;
                     }});
    for (const bool left : {true, false})
      all.push_back({fmt::format("the sides of the {} of its launch are in a wrong order: with its ({}) for (x, y, z)",
                                 whose, left ? "y, z, x" : "z, x, y"),
                     [sides = sides, left](const ConvProblem&, Launched l) {
                       Sides& s = l.*sides;
                       s = left ? Sides{s[1], s[2], s[0]} : Sides{s[2], s[0], s[1]};
                       return l;
                     }});
  }
  for (size_t side = 0; side < 3; side++)
    for (const Quantity& q : quantities)
      for (const int64_t multiple : {1, 2, 4, 8}) {
        if (!q.in_blocks && multiple > 1) continue;
        all.push_back({fmt::format("grid.{} of its launch", side_names[side]),
                       [&q, side, multiple](const ConvProblem& p, Launched l) {
                         l.grid[side] = q.in_blocks ? rounded_up(q.of(p), multiple * l.block[side]) : q.of(p);
                         return l;
                       },
                       q.in_blocks ? fmt::format("⌈{}/{}⌉", q.name, threads_of(side, multiple)) : std::string(q.name),
                       side});
      }
  return all;
}

// A problem, what its output is, and whether the kernel as it is brings that.
class Case {
 public:
  Case(const KernelDefinition& kernel, const ConvProblem& p, Inputs in, Activity& activity)
      : kernel_(kernel), p_(p), in_(std::move(in)), activity_(activity), plan_(kernel.plan_for(p)) {
    oracle_ = make_cpu_oracle(p_, in_);
  }
  const ConvProblem& problem() const { return p_; }
  const Plan& plan() const { return plan_; }

  bool right(Device& emulator, const Plan& plan, uint32_t order_seed = 0) const {
    if (plan.out_length() != p_.out_length()) return false;
    for (const Launch& l : plan.launches())
      if (!l.refused.empty() || !simt::launch_fault(l).empty()) return false;
    activity_.check();
    return on_memory(emulator, plan, [&](const ProblemMemory& memory) {
      emulator.run(kernel_, plan, memory.at(), {.order_seed = order_seed, .activity = &activity_});
      const HostBytes y = memory.output(p_, plan.out_length());
      CompareOptions o;
      o.exactness = Exactness::bitwise;
      return compare(p_, *oracle_, {p_.dtype, y.data(), plan.out_length()}, o, &activity_).failing == 0;
    });
  }

  // Fewer blocks are right as well where all of them write the same outputs, each its part of the sums.
  bool races(Device& emulator) const {
    return on_memory(emulator, plan_, [&](const ProblemMemory& memory) {
      return !find_races(emulator, kernel_, p_, memory.at(), activity_).race.empty();
    });
  }

 private:
  template <class Is>
  bool on_memory(Device& emulator, const Plan& plan, Is is) const {
    return if_it_runs([&] {
             ProblemMemory memory(emulator, p_, in_, plan.out_length(), plan.workspace_bytes(), &activity_);
             memory.fill_output(unwritten_word, &activity_);
             return is(memory);
           }) == true;
  }

  const KernelDefinition& kernel_;
  const ConvProblem p_;
  const Inputs in_;
  Activity& activity_;
  const Plan plan_;
  std::unique_ptr<Oracle> oracle_;
};

std::vector<std::unique_ptr<Case>> cases_for(const KernelDefinition& kernel, const ConvProblem& p, Activity& activity) {
  std::vector<std::unique_ptr<Case>> all;
  for (const ConvProblem& q : small_and_longer_problems(kernel, p)) {
    if (check(q) || !kernel.unsupported(q).empty()) continue;
    auto in = exact_inputs(q, shapes_seed);
    if (!in) continue;
    auto one = if_it_runs([&] { return std::make_unique<Case>(kernel, q, std::move(*in), activity); });
    if (one) all.push_back(std::move(*one));
  }
  return all;
}

// Whether the text of a file asks for all sides that another launch has and its own has not: threads that do not know
// their place all do the same, which makes a race of them right as well. Of other kernels there is no text.
bool asked_for(const std::string& text, const Launched& now, const Launched& then) {
  auto asks = [&](std::initializer_list<const char*> words, size_t side) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) {
      return text.find(std::string(word) + "." + side_names[side]) != text.npos;
    });
  };
  for (size_t side = 0; side < 3 && !text.empty(); side++) {
    if (then.block[side] > now.block[side] && !asks({"threadIdx", "thread_index()"}, side)) return false;
    if (then.grid[side] > now.grid[side] && !asks({"blockIdx", "group_index()", "block_index()"}, side)) return false;
  }
  return true;
}

Launched launched(const Launch& l) { return {sides_of(l.grid), sides_of(l.block)}; }

// What a side of the grid is on all problems; "" where it is nothing that is known here.
std::string known_as(const std::vector<std::unique_ptr<Case>>& cases, size_t launch, size_t side) {
  auto always = [&](auto is) {
    return std::all_of(cases.begin(), cases.end(), [&](const auto& c) {
      const Launch& l = c->plan().launches()[launch];
      return sides_of(l.grid)[side] == is(c->problem(), sides_of(l.block)[side]);
    });
  };
  for (const Quantity& q : quantities) {
    if (!q.in_blocks && always([&](const ConvProblem& p, int64_t) { return q.of(p); })) return q.name;
    if (!q.in_blocks) continue;
    for (const int64_t multiple : {1, 2, 4, 8, 16, 32}) {
      const std::string by = threads_of(side, multiple);
      if (always([&](const ConvProblem& p, int64_t t) { return rounded_up(q.of(p), multiple * t); }))
        return fmt::format("⌈{}/{}⌉", q.name, by);
      if (always([&](const ConvProblem& p, int64_t t) { return q.of(p) / (multiple * t); }))
        return fmt::format("⌊{}/{}⌋", q.name, by);
    }
  }
  return "";
}

}  // namespace

std::optional<LaunchShapeFault> launch_shape_fault(const KernelDefinition& kernel, const ConvProblem& p,
                                                   Activity& activity) {
  const auto cases = cases_for(kernel, p, activity);
  if (cases.size() < fewest_cases) return {};
  const auto emulator = open_emulator();
  int runs = 0;
  std::vector<const Case*> wrong, right;
  for (const auto& c : cases) (++runs, c->right(*emulator, c->plan()) ? right : wrong).push_back(c.get());
  if (wrong.empty()) return {};
  // Wrong ones first: most changes are seen to be none there.
  std::vector<const Case*> order = wrong;
  order.insert(order.end(), right.begin(), right.end());
  const size_t launches = order.front()->plan().launches().size();
  for (const Case* c : order)
    if (c->plan().launches().size() != launches) return {};
  const std::vector<Change> all_changes = changes();
  for (size_t launch = 0; launch < launches; launch++) {
    // Its sums may go through memory of its own, from which PyTorch's launches make the output.
    const Launch& own = order.front()->plan().launches()[launch];
    if (own.fills_bytes || own.packs || is_stand_in(own.entry.name)) continue;
    // Of grids that do it the one of fewest blocks: where a kernel knows its end more of them do no harm.
    const Change* best = nullptr;
    int64_t fewest = 0;
    for (const Change& change : all_changes) {
      auto shaped = [&](const Case& c) {
        const Launched then = change.of(c.problem(), launched(c.plan().launches()[launch]));
        Plan plan = c.plan();
        plan.reshape_launch(launch, shape_of(then.grid), shape_of(then.block));
        return plan;
      };
      int64_t blocks = 0;
      for (const Case* c : order)
        blocks += shape_of(change.of(c->problem(), launched(c->plan().launches()[launch])).grid).count();
      if (best && (change.right.empty() || blocks >= fewest)) continue;
      const bool all = std::all_of(order.begin(), order.end(), [&](const Case* const& c) {
        const Launched now = launched(c->plan().launches()[launch]), then = change.of(c->problem(), now);
        if (now == then) return static_cast<size_t>(&c - order.data()) >= wrong.size();
        if (!asked_for(kernel.text(), now, then)) return false;
        return runs++, c->right(*emulator, shaped(*c));
      });
      // Threads that write what is others' are right in some order.
      if (!all || !std::all_of(order.begin(), order.end(),
                               [&](const Case* c) { return c->right(*emulator, shaped(*c), other_order); }))
        continue;
      if (!change.right.empty() && wrong.front()->races(*emulator)) continue;
      best = &change, fewest = blocks;
      if (change.right.empty()) break;
    }
    if (!best) continue;
    LaunchShapeFault fault{best->what, "", "", runs};
    if (!best->right.empty()) {
      const std::string now = known_as(cases, launch, best->side),
                        side = fmt::format("grid.{} = ", side_names[best->side]);
      fault.right = side + best->right, fault.is = now.empty() ? "" : side + now;
      fault.what += now.empty() ? fmt::format(" is another number than {}: with that", best->right)
                                : fmt::format(" is {}, where {} belongs: with that", now, best->right);
    }
    fault.what += fmt::format(" it is right on {} small problems", cases.size());
    return fault;
  }
  return {};
}

}  // namespace convscope
