// A kernel on many problems that are drawn, asked for beside everything else: what has come of it so far.
#pragma once
#include <memory>
#include <string>

#include "app/model/document.h"
#include "kernels/verify/fuzz.h"

namespace convscope {

struct Checking {
  Document document;           // whose kernel, dtype, accuracy and device it is about; its problem is not
  std::unique_ptr<Fuzz> fuzz;  // null: nobody has asked
  uint64_t text = 0;           // of a kernel's file: which of its texts (OpenedFile::texts)
  int64_t cases = 0;
  uint64_t seed = FuzzSpec{}.seed;
  bool running = false;
  std::string trouble;  // why it ended before it was over: a refusal, or that it was stopped

  bool is_about(const Document& d) const {
    return fuzz && d.kernel == document.kernel && d.problem.dtype == document.problem.dtype &&
           d.accuracy == document.accuracy && d.device == document.device;
  }
};

}  // namespace convscope
