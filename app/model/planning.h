// What the planner says of a problem: the best kernel, and the times of all rungs by its model; and a kernel as a file
// of its own.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/model/engine_link.h"
#include "app/model/ladder.h"

namespace convscope {

// What the planner chose, and why, in a sentence with times.
struct BestKernel {
  std::string kernel, reason;
};

// The newest question of a kind wins; nobody else gives way.
class Planning {
 public:
  explicit Planning(EngineLink& link) : link_(link) {}

  // The planner's choice for the document's problem, accuracy and device; on a GPU the first candidates are timed. When
  // there is none the log says why, and `then` is not called.
  void find_best(const Document& document, std::function<void(const BestKernel&)> then);
  // What the planner's model says that each rung takes, while somebody looks at the ladder; asked once for a problem
  // and a device.
  void want_times(const Document& document);
  const PredictedTimes* times(const Document& document) const;  // null: not known (yet)
  // The document's kernel as a PyTorch module, or as CUDA C++ with a C function; activation: "", or what is fused into
  // it (relu, leaky_relu:0.1). When it cannot be, the log says why.
  void want_export(const Document& document, bool pytorch, const std::string& activation,
                   std::function<void(const std::string& kernel, const std::string& text)> then);

 private:
  EngineLink& link_;
  std::optional<PredictedTimes> wish_;  // what was asked for last
  int starts_ = 0, tries_ = 0;          // of the engine, then; for this problem
  uint64_t serial_ = 0;
  std::shared_ptr<const PredictedTimes> times_;
};

}  // namespace convscope
