// The document's kernel on many problems that are drawn: the first that fails is made as small as it goes.
#pragma once
#include "app/model/checking.h"
#include "app/model/engine_link.h"
#include "app/model/opened_files.h"

namespace convscope {

// A request for each problem, so that whatever else is wished goes between two of them, and a crash ends one problem
// and not the search.
class Checks {
 public:
  Checks(EngineLink& link, const OpenedFiles& files) : link_(link), files_(files) {}

  void begin(const Document& document);  // on a hundred problems
  void stop();
  void forget_file(const std::string& path);  // it has another text
  const Checking& now() const { return checking_; }

 private:
  void next();
  void took(const Answer& a);

  EngineLink& link_;
  const OpenedFiles& files_;
  Checking checking_;
  uint64_t serial_ = 0, id_ = 0;
};

}  // namespace convscope
