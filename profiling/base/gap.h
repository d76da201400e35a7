// What is missing, and what to do about it: every step down of the profiler is one of these, never a bare "N/A".
#pragma once
#include <string>

namespace convscope {

struct Gap {
  std::string code;  // one word for programs: "no-library", "not-permitted", …
  std::string what;  // "hardware counters are not permitted to this user"
  std::string how;   // what a person can do about it; may be empty

  explicit operator bool() const { return !what.empty(); }
  std::string sentence() const { return how.empty() ? what : what + "; " + how; }
};

}  // namespace convscope
