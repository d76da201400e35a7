// Why a wrong kernel is wrong, asked for with its verdict: its products on small problems, and a formula.
#pragma once
#include <memory>
#include <set>
#include <string>

#include "app/model/cause.h"
#include "app/model/engine_link.h"
#include "app/model/inventory.h"
#include "app/model/runs.h"

namespace convscope {

class XrayAgain;
struct CauseBeside;

// Gives way to a run, but not to one that is made again for its pictures, and to a new text of a kernel.
class Causes {
 public:
  Causes(EngineLink& link, const Runs& runs, const Inventory& inventory)
      : link_(link), runs_(runs), inventory_(inventory) {}

  // Which terms of the index are wrong, or would be elsewhere. It comes by itself with the verdict on a wrong kernel,
  // on an exhibit and on a person's file, of which it says nothing while it finds nothing; of other kernels that are
  // right when it is asked for. Of a recorded verdict it is found here.
  void want(const Report& report, bool asked = false);
  // A recorded report's, if nobody has asked yet.
  void want_once(const Report& report) {
    if (waits_for_ != report.serial && cause_.serial != report.serial) want(report);
  }
  void stop();
  void trust_again(const std::string& kernel) { ends_engine_.erase(kernel); }  // its file has been compiled

  bool can_ask() const;  // there is a verdict to ask it of
  // Why a wrong kernel is wrong, or an exhibit would be elsewhere; null until that is known of this report, and of
  // reports of others.
  const Cause* of(const Report& r) const { return r.serial && cause_.serial == r.serial ? &cause_ : nullptr; }
  bool waits() const { return waits_for_ != 0; }
  bool asks_for(const Report& r) const { return r.serial && waits_for_ == r.serial; }

 private:
  // What is asked, and how often an engine has ended on it.
  struct Question {
    Document document;
    uint64_t serial = 0;
    bool right = false;
    bool quiet = false;  // nobody has asked: that nothing was found is not said
  };
  void ask(const Question& q, const CauseBeside& beside, const std::shared_ptr<XrayAgain>& again);
  void ask_emulator(const Document& document, uint64_t serial);

  EngineLink& link_;
  const Runs& runs_;
  const Inventory& inventory_;
  Cause cause_;
  uint64_t waits_for_ = 0, id_ = 0;    // the report's serial; 0: nothing is asked
  std::set<std::string> ends_engine_;  // kernels that ended it when they were asked why: not asked again
};

}  // namespace convscope
