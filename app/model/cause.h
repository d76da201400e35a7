// Which terms of a wrong kernel's index are wrong (`xray` of PROTOCOL.md), for one report.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace convscope {

struct Cause {
  uint64_t serial = 0;  // of the report that it is of
  std::string
      sentence;  // "it takes i = (j − k·d)/s, where i = (j + p − k·d)/s belongs: the padding is missing"; "": unknown
  std::string formula, right_formula, example;
  std::vector<std::string> faults;
  std::string reason;    // why there is no sentence
  int64_t problems = 0;  // small ones that were mapped
  int64_t launches = 0;
};

}  // namespace convscope
