// What another text of a kernel's file has changed: the verdict on the text before, as it stands beside the newest one.
#pragma once
#include <string>

#include "app/model/report.h"

namespace convscope {

struct TextBefore {
  std::string words;        // "wrong, 262,208 of 524,352 elements failing; 1,024 fewer now"
  std::string source;       // what the words rest on
  bool was_better = false;  // the edit has made it worse: wrong where it was right, or more elements fail
};

// Both are final, of one document. Of times only what the rule of `bench` says of both runs' samples, on one GPU.
TextBefore text_before(const Report& before, const Report& now);

}  // namespace convscope
