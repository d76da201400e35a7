// The output of what the document's kernel is compared with, and the difference: asked for when the kernel's own result
// is there.
#pragma once
#include <set>
#include <string>

#include "app/model/beside.h"
#include "app/model/engine_link.h"
#include "app/model/inventory.h"
#include "app/model/runs.h"

namespace convscope {

// Goes after the run that it stands beside; a next run stops it.
class BesideOutput {
 public:
  BesideOutput(EngineLink& link, Runs& runs, const Inventory& inventory);

  void want(const Document& document);  // once the picture is whole
  void stop();                          // and asks anew for the next picture
  void cancel();                        // and says so

  // What stands beside this report's output; null where that is the oracle, or not known yet.
  const Beside* of(const Document& document, const Report& r) const {
    const bool is = document.compare_with != oracle_name && beside_.serial && beside_.serial == r.serial &&
                    beside_.with == document.compare_with;
    return is ? &beside_ : nullptr;
  }
  bool waits() const { return waits_; }

 private:
  void took(uint64_t serial, const std::string& with, uint64_t asked_at, const Answer& a);
  void judge();

  EngineLink& link_;
  Runs& runs_;
  const Inventory& inventory_;
  Beside beside_;
  uint64_t verdict_id_ = 0;
  uint64_t serial_ = 0, id_ = 0;  // of the report that was asked about; 0: none
  std::string with_;
  bool waits_ = false;
  std::set<std::string> ends_engine_;  // not asked again
};

}  // namespace convscope
