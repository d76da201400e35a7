// What is said to the engine of a document, and what an answer that is no result means.
#pragma once
#include <string>

#include "app/engine/client.h"
#include "app/engine/codec.h"
#include "app/model/document.h"

namespace convscope {

RunRequest request_of(const Document& d);
// Files are of one shape: where other problems are asked as well, their place is taken by what is usual.
InputSpec without_files(InputSpec inputs);

// The sentence of an error answer, and whether it is only a cancel.
struct Refusal {
  std::string text;
  bool cancelled = false;
  int exit_code = 1;
};
Refusal refusal_of(const Answer& a);
// Why there is no result, whether the engine refused or ended.
std::string trouble_of(const Answer& a);
// The same with a code, as a Sweep and a Tuning ask for it: crashed, hung, cancelled, or an error answer's.
struct Failure {
  std::string code, message;
};
Failure failure_of(const Answer& a);
// The engine ended at it.
inline bool is_end(const Answer& a) { return a.kind == Answer::Kind::crashed || a.kind == Answer::Kind::hung; }
// The engine has not the result that was asked about: it ended, and another one has taken its place.
bool is_gone(const Answer& a);

}  // namespace convscope
