// Which one edit of its text makes a wrong kernel right (`fix` of PROTOCOL.md): looked for when a person wishes it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/model/engine_link.h"
#include "app/model/runs.h"

namespace convscope {

struct Mend {
  uint64_t serial = 0;  // of the report that it is of
  struct Line {
    int line = 0;
    std::string before, after;  // before: "" of one that is put in
  };
  std::vector<Line> lines;
  std::string text;    // the file's with it; "": none was found
  std::string reason;  // why not
  bool right = false;  // nothing is wrong with it on the problems that edits are tried on
  int64_t edits = 0, problems = 0, judged = 0, tried = 0;
  bool asked = false;                  // the document's problem is among those that are judged
  int64_t drawn = 0, drawn_right = 0;  // others, drawn once it was chosen, and on how many of them it is right
  std::string drawn_wrong;             // the first on which it is not, in words
  std::string wrong_with;              // what other problems have that it is wrong on as before
  double seconds = 0;
};

// Gives way to a run, and to a new text.
class Mending {
 public:
  explicit Mending(EngineLink& link) : link_(link) {}

  void want(const Report& report);
  void stop();
  const Mend* of(const Report& r) const { return r.serial && mend_.serial == r.serial ? &mend_ : nullptr; }
  bool waits() const { return waits_for_ != 0; }
  bool asks_for(const Report& r) const { return r.serial && waits_for_ == r.serial; }
  // Edits that were tried so far of those that there are; 0 of 0 while something else is done, which phase() says.
  uint64_t done() const { return done_; }
  uint64_t total() const { return total_; }
  const std::string& phase() const { return phase_; }

 private:
  EngineLink& link_;
  Mend mend_;
  uint64_t waits_for_ = 0, id_ = 0, done_ = 0, total_ = 0;
  std::string phase_;
};

}  // namespace convscope
