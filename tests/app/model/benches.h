// A Workbench with an engine, driven as a window drives it.
#pragma once
#include <functional>

#include "app/model/workbench.h"
#include "tests/app/engine/harness.h"
#include "tests/app/model/documents.h"

namespace convscope::test {

inline std::string full_engine() { return program("convscope") + " engine"; }
// Without oneDNN, whose start takes longer than a small run.
inline std::string real_engine() { return "env CONVSCOPE_LIBDNNL=none " + full_engine(); }

class Bench {
 public:
  explicit Bench(const std::string& command = real_engine());

  Workbench& operator*() { return bench_; }
  Workbench* operator->() { return &bench_; }

  // Frames until the condition holds; false when it did not come to that in time.
  bool until(const std::function<bool()>& condition, double seconds = 30 * slowness);
  // Until everything that was asked for has come.
  bool settle(double seconds = 30 * slowness);
  // Runs to the end; null when there is no report of it in time.
  std::shared_ptr<const Report> run(const Document& d);
  // The tile of a whole result, asked for anew until it comes; null when it does not.
  const MapTile* whole_tile(Pictures::Map map, Quantity quantity);

 private:
  NothingLeft nothing_left_;
  Workbench bench_;
};

}  // namespace convscope::test
