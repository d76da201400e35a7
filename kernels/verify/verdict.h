// A verdict in layers, each with its evidence, and the one sentence that says it all.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

enum class Status { right, wrong, crashed, hung, not_run };
constexpr const char* name_of(Status s) {
  constexpr const char* names[] = {"right", "wrong", "crashed", "hung", "not-run"};
  return names[static_cast<int>(s)];
}

// not_run for any other word.
constexpr Status status_named(std::string_view name) {
  for (Status s : {Status::right, Status::wrong, Status::crashed, Status::hung})
    if (name == name_of(s)) return s;
  return Status::not_run;
}

enum class LayerStatus { pass, fail, skipped };
constexpr const char* name_of(LayerStatus s) {
  constexpr const char* names[] = {"pass", "fail", "skipped"};
  return names[static_cast<int>(s)];
}

// What a layer has found that others decide by; to people its evidence says so.
enum class Finding {
  race,             // two threads, blocks or launches use the same memory, and nothing orders them
  unset_variable,   // one is used that nothing was put into
  unset_shared,     // shared memory, likewise
  zeros_unwritten,  // outputs whose sum is 0 are left as they were
  carried_sum,      // sums go on from one output to another
};
inline constexpr std::array all_findings{Finding::race, Finding::unset_variable, Finding::unset_shared,
                                         Finding::zeros_unwritten, Finding::carried_sum};
constexpr const char* name_of(Finding f) {
  constexpr const char* names[] = {"race", "unset-variable", "unset-shared", "zeros-unwritten", "carried-sum"};
  return names[static_cast<int>(f)];
}

struct Layer {
  std::string name;  // compile, binding, shape, memory, mathematics, determinism, speed
  LayerStatus status = LayerStatus::skipped;
  std::string evidence;
  std::vector<Finding> found;
  bool has(Finding f) const { return std::find(found.begin(), found.end(), f) != found.end(); }
};

struct Verdict {
  Status status = Status::not_run;
  int exit_code = 1;  // right 0 · wrong 1 · not-run 1, 2 or 3 · crashed, hung 4
  std::string sentence;
  std::vector<Layer> layers;
  std::vector<std::string> notes;  // what is to be known beside it

  void add(std::string name, LayerStatus status, std::string evidence, std::vector<Finding> found = {}) {
    layers.push_back({std::move(name), status, std::move(evidence), std::move(found)});
  }
  // A layer that was added, of which something else is seen.
  void fail(const std::string& name, const std::string& evidence, Finding found) {
    for (auto& l : layers)
      if (l.name == name) l.status = LayerStatus::fail, l.evidence = evidence, l.found = {found};
  }
  const Layer* find(const std::string& name) const {
    for (const auto& l : layers)
      if (l.name == name) return &l;
    return nullptr;
  }
  bool has(Finding f) const {
    return std::any_of(layers.begin(), layers.end(), [&](const Layer& l) { return l.has(f); });
  }
  // Of shared memory, or a tensor, or a variable is used that nothing was put into, and memory has no other fault.
  bool leaves_arrays = false;
  // All results came out right, and threads are not ordered that should be, or leave an array or a tensor.
  bool results_are_right() const {
    bool beside = false, other = false;
    for (const auto& l : layers)
      (l.name == "determinism" || (l.name == "memory" && leaves_arrays) ? beside : other) |=
          l.status == LayerStatus::fail;
    return beside && !other;
  }
};

}  // namespace convscope
