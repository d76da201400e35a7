// The layer that a kernel's file was written for. Where its sizes are other than asked, numbers in it look like faults
// of its index, or reach beside its tensors; what is to be said of them is seen where it is right.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/cli/session.h"

namespace convscope {

struct OwnLayer {
  std::string name;  // "kernelbench-79-small", "the layer that was given"
  ConvProblem problem;
  nlohmann::json verdict;  // that it is right there, and with its cause what it is wrong by elsewhere
};

// The first of the problem that was asked with (given; shorter where it is long) and the three KernelBench layers,
// small, on which it is right. Nothing where there is none. Errors: EngineError, but for what the kernel does to its
// engine.
std::optional<OwnLayer> own_layer(Session& session, const RunRequest& asked, bool given);

}  // namespace convscope
