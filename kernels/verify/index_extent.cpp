#include "kernels/verify/index_extent.h"

#include <algorithm>
#include <fmt/format.h>

#include "kernels/base/text.h"

namespace convscope {
namespace {

enum BoundUnit : int64_t { positions, channels, channels_of_a_group, all_outputs, sequences };

struct BoundWords {
  const char *bound, *of;  // "j < Lout" without its sign, and the bound's name in a number of blocks
  const char *up_to, *left;
};
constexpr BoundWords bounds[] = {
    {"j {} Lout", "Lout", "rows of y are written up to a multiple of {}",
     "the positions behind the last whole {} are never written"},
    {"co {} Cout", "Cout", "output channels are written up to a multiple of {}",
     "the output channels behind the last whole {} are never written"},
    {"co {} Cout/groups", "(Cout/groups)", "output channels of a group are written up to a multiple of {}",
     "the output channels of a group behind the last whole {} are never written"},
    {"index {} N·Cout·Lout", "(N·Cout·Lout)", "outputs are written up to a multiple of {}",
     "the outputs behind the last whole {} are never written"},
    {"n {} N", "N", "sequences are written up to a multiple of {}",
     "the sequences behind the last whole {} are never written"},
};

// Outputs that belong to one of a unit, in memory one behind the other.
int64_t outputs_of_one(int64_t unit, const ConvProblem& p) {
  if (unit == positions || unit == all_outputs) return 1;
  return unit == sequences ? p.out_channels * p.out_length() : p.out_length();
}

struct Step {
  int64_t by;
  bool strides;
  int64_t of(const ConvProblem& p) const { return strides ? by * p.stride : by; }
  std::string text() const { return !strides ? std::to_string(by) : by == 1 ? "s" : std::to_string(by) + "·s"; }
};

int64_t bound_of(int64_t unit, const ConvProblem& p) {
  switch (unit) {
    case positions:
      return p.out_length();
    case channels:
      return p.out_channels;
    case channels_of_a_group:
      return p.out_per_group();
    case sequences:
      return p.batch;
    default:
      return p.batch * p.out_channels * p.out_length();
  }
}

// What blocks do: `step` of a unit, and in a second direction of another one.
struct Tile {
  int64_t unit;
  Step step;
  bool matters(const ConvProblem& p) const { return bound_of(unit, p) % step.of(p) != 0; }
  int64_t behind(const ConvProblem& p) const {
    const int64_t n = bound_of(unit, p), size = step.of(p);
    return (ceil_div(n, size) * size - n) * outputs_of_one(unit, p);
  }
  // Whether the grid has as many blocks along a side as that makes.
  bool is_of_the_grid(const Extent& e, bool too_many) const {
    const int64_t n = bound_of(unit, e.problem), size = step.of(e.problem);
    return std::find(e.blocks.begin(), e.blocks.end(), too_many ? ceil_div(n, size) : n / size) != e.blocks.end();
  }
  // Whether a number of blocks has it in it rounded down, and not rounded up: of several sides in one, say.
  bool is_in_the_grid(const Extent& e) const {
    const int64_t n = bound_of(unit, e.problem), size = step.of(e.problem), down = n / size, up = ceil_div(n, size);
    return e.no_blocks || down == up || (down > 0 && std::any_of(e.blocks.begin(), e.blocks.end(), [&](int64_t b) {
                                           return b % down == 0 && b % up != 0;
                                         }));
  }
  int64_t begun(const ConvProblem& p) const { return bound_of(unit, p) / step.of(p) * step.of(p); }
  bool leaves(int64_t o, const ConvProblem& p) const {
    const int64_t length = p.out_length(), co = o / length % p.out_channels;
    return (unit == positions             ? o % length
            : unit == channels            ? co
            : unit == channels_of_a_group ? co % p.out_per_group()
            : unit == sequences           ? o / length / p.out_channels
                                          : o) >= begun(p);
  }
};
using Tiles = std::vector<Tile>;

bool goes_beyond(const Extent& e, const Tiles& tiles) {
  int64_t behind = 0;
  for (const Tile& t : tiles) behind += t.behind(e.problem);
  return !e.no_blocks && e.behind == behind;
}

// Whether the outputs that are left are those of which `is` says so.
template <class Is>
bool leaves_just(const Extent& e, Is is) {
  const int64_t all = bound_of(all_outputs, e.problem);
  size_t at = 0;
  for (int64_t o = 0; o < all; o++) {
    const bool missing = at < e.missing.size() && e.missing[at] == o;
    if (missing) at++;
    if (missing != is(o)) return false;
  }
  return true;
}

bool stops_before(const Extent& e, const Tiles& tiles) {
  if (e.no_blocks) return std::any_of(tiles.begin(), tiles.end(), [&](const Tile& t) { return !t.begun(e.problem); });
  return leaves_just(e, [&](int64_t o) {
    return std::any_of(tiles.begin(), tiles.end(), [&](const Tile& t) { return t.leaves(o, e.problem); });
  });
}

// Sizes of blocks that all problems have in common come first, then powers of two, then what goes with the stride.
std::vector<Step> steps(const std::vector<Extent>& all) {
  std::vector<Step> list;
  for (const int64_t n : all.front().together)
    if (n > 1 && std::all_of(all.begin(), all.end(), [&](const Extent& e) {
          return std::find(e.together.begin(), e.together.end(), n) != e.together.end();
        }))
      list.push_back({n, false});
  for (int64_t n = 2; n <= 1024; n *= 2) list.push_back({n, false});
  const size_t plain = list.size();
  list.push_back({1, true});
  for (size_t i = 0; i < plain; i++) list.push_back({list[i].by, true});
  return list;
}

std::string put_in(const char* text, const std::string& what) { return fmt::format(fmt::runtime(text), what); }

// The first tiles that say of all problems what is amiss: those of which the grid has as many; else any, and of too few
// those that the grid may be made of.
template <class Says>
Tiles tiles_that(Says says, bool too_many, const std::vector<Extent>& all) {
  const std::vector<Step> list = steps(all);
  for (const bool of_the_grid : {true, false}) {
    auto of_all = [&](const Tiles& tiles) {
      return std::all_of(all.begin(), all.end(), [&](const Extent& e) {
        return says(e, tiles) &&
               (!of_the_grid || std::all_of(tiles.begin(), tiles.end(),
                                            [&](const Tile& t) { return t.is_of_the_grid(e, too_many); })) &&
               (too_many ||
                std::all_of(tiles.begin(), tiles.end(), [&](const Tile& t) { return t.is_in_the_grid(e); }));
      });
    };
    for (const Step& step : list)
      for (const int64_t unit : {positions, all_outputs, channels, channels_of_a_group, sequences})
        if (Tiles one{{unit, step}}; of_all(one)) return one;
    for (const Step& step : list)
      for (const Step& other : list)
        for (const int64_t unit : {channels, channels_of_a_group})
          if (Tiles two{{positions, step}, {unit, other}}; of_all(two)) return two;
  }
  return {};
}

ExtentFault fault_of(const Tiles& tiles, bool too_many) {
  ExtentFault f;
  f.too_many = too_many;
  auto add = [](std::string& to, const char* between, const std::string& text) {
    to += (to.empty() ? "" : between) + text;
  };
  std::string where;
  for (const Tile& t : tiles) {
    const std::string step = t.step.text(), blocks = fmt::format("{}/{}", bounds[t.unit].of, step);
    if (too_many) {
      add(f.what, ", nor whether ", put_in(bounds[t.unit].bound, "<"));
      add(f.formula, ", ", put_in(bounds[t.unit].bound, "≥")), add(f.right, ", ", put_in(bounds[t.unit].bound, "<"));
      add(where, ", ", put_in(bounds[t.unit].up_to, step));
    } else {
      add(f.what, " and ", blocks);
      add(f.formula, ", ", blocks), add(f.right, ", ", fmt::format("ceil({})", blocks));
      add(where, ", ", put_in(bounds[t.unit].left, step));
    }
  }
  if (too_many)
    f.what = fmt::format("nothing asks whether {}: {}", f.what, where), f.formula += " as well";
  else
    f.what = fmt::format("{} rounded down, where {} to be rounded up: {}", f.what + (tiles.size() > 1 ? " are" : " is"),
                         tiles.size() > 1 ? "they are" : "it is", where),
    f.formula += " rounded down";
  f.matters = [tiles](const ConvProblem& p) {
    return std::any_of(tiles.begin(), tiles.end(), [&](const Tile& t) { return t.matters(p); });
  };
  return f;
}

ExtentFault one_too_many(int64_t unit) {
  ExtentFault f;
  f.formula = put_in(bounds[unit].bound, "≤"), f.right = put_in(bounds[unit].bound, "<");
  f.what = fmt::format("{} is let through, where {} belongs: one {} too many is written", f.formula, f.right,
                       unit == positions     ? "position of each row"
                       : unit == all_outputs ? "output"
                       : unit == sequences   ? "sequence"
                                             : "output channel");
  f.too_many = true, f.matters = [](const ConvProblem&) { return true; };
  return f;
}

// Of a launch whose number of blocks does not grow: so many outputs are written, and no more.
std::optional<ExtentFault> no_more_than(const std::vector<Extent>& all) {
  // A grid that is made for larger blocks grows, and does not on problems that few blocks would do.
  constexpr int64_t larger = 8;
  for (const int64_t n : all.front().in_all) {
    bool seen = false;
    if (std::none_of(all.begin(), all.end(),
                     [&](const Extent& e) { return bound_of(all_outputs, e.problem) >= larger * n; }))
      continue;
    if (!std::all_of(all.begin(), all.end(),
                     [&](const Extent& e) {
                       seen |= !e.missing.empty();
                       return !e.no_blocks && std::find(e.in_all.begin(), e.in_all.end(), n) != e.in_all.end() &&
                              leaves_just(e, [&](int64_t o) { return o >= n; });
                     }) ||
        !seen)
      continue;
    ExtentFault f;
    f.what = fmt::format("the grid does not grow with the problem: {} outputs are written, and no more", grouped(n));
    f.formula = fmt::format("{} of N·Cout·Lout outputs", grouped(n)), f.right = "all N·Cout·Lout outputs";
    f.matters = [n](const ConvProblem& p) { return bound_of(all_outputs, p) > n; };
    return f;
  }
  return {};
}

// Of a grid that is made for blocks of more threads than there are: as many outputs as it has threads.
std::optional<ExtentFault> too_few_blocks(const std::vector<Extent>& all) {
  for (size_t i = 0; i < all.front().in_all.size(); i++) {
    const Extent* worst = nullptr;
    bool grows = false;
    if (!std::all_of(all.begin(), all.end(), [&](const Extent& e) {
          if (e.no_blocks || i >= e.in_all.size()) return false;
          const int64_t n = e.in_all[i];
          grows |= e.in_grid[i] != all.front().in_grid[i];
          if (!e.missing.empty() && (!worst || e.missing.size() > worst->missing.size())) worst = &e;
          return leaves_just(e, [&](int64_t o) { return o >= n; });
        }))
      continue;
    if (!worst || !grows) continue;
    const int64_t blocks = worst->in_grid[i], n = worst->in_all[i];
    ExtentFault f;
    f.what =
        fmt::format("the grid has too few blocks for their size: {} blocks of {} threads write {} of {} outputs",
                    grouped(blocks), grouped(n / blocks), grouped(n), grouped(bound_of(all_outputs, worst->problem)));
    f.formula = fmt::format("{} outputs of each block", grouped(n / blocks)), f.right = "all N·Cout·Lout outputs";
    f.matters = [](const ConvProblem&) { return true; };
    return f;
  }
  return {};
}

}  // namespace

Extent extent_of(const ConvProblem& p, const Plan& plan) {
  Extent e;
  e.problem = p;
  for (const Launch& l : plan.launches()) {
    e.no_blocks |= std::min({l.grid.x, l.grid.y, l.grid.z}) == 0;
    if (!l.is_given(Tensor::y)) continue;
    for (const int64_t n : {l.grid.x, l.grid.y, l.grid.z, l.grid.count()}) e.blocks.push_back(n);
    for (const int64_t each : {1, 2, 4, 8, 16}) {
      for (const int64_t n : {l.block.x, l.block.y, l.block.z, l.block.count()}) e.together.push_back(n * each);
      e.in_all.push_back(l.grid.count() * l.block.count() * each), e.in_grid.push_back(l.grid.count());
    }
  }
  return e;
}

std::optional<ExtentFault> extent_fault(const std::vector<Extent>& all) {
  if (all.empty()) return {};
  auto every = [&](auto is) { return std::all_of(all.begin(), all.end(), is); };
  auto any = [&](auto is) { return std::any_of(all.begin(), all.end(), is); };
  if (any([](const Extent& e) { return e.behind > 0; })) {
    // Behind a row's end there are taps that land, behind the last sequence nothing is but what lies beside x.
    if (every([](const Extent& e) { return e.behind == 1; }))
      return one_too_many(any([](const Extent& e) { return e.products_behind; }) ? positions : all_outputs);
    for (const int64_t unit : {channels, sequences})
      if (every([&](const Extent& e) { return e.behind == outputs_of_one(unit, e.problem); }))
        return one_too_many(unit);
    const Tiles tiles = tiles_that(goes_beyond, true, all);
    return tiles.empty() ? std::nullopt : std::optional(fault_of(tiles, true));
  }
  if (!any([](const Extent& e) { return !e.missing.empty(); })) return {};
  if (auto fault = no_more_than(all)) return fault;
  const Tiles tiles = tiles_that(stops_before, false, all);
  return tiles.empty() ? too_few_blocks(all) : std::optional(fault_of(tiles, false));
}

}  // namespace convscope
