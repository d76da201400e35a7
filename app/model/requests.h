// What the workbench says to the engine, and what an answer that is no result means.
#pragma once
#include <string>

#include "app/engine/client.h"
#include "app/engine/codec.h"
#include "app/model/document.h"
#include "app/model/report.h"

namespace convscope {

RunRequest request_of(const Document& d);

// The sentence of an error answer, and whether it is only a cancel.
struct Refusal {
  std::string text;
  bool cancelled = false;
  int exit_code = 1;
};
Refusal refusal_of(const Answer& a);
// The engine ended at it.
inline bool is_end(const Answer& a) { return a.kind == Answer::Kind::crashed || a.kind == Answer::Kind::hung; }
// The engine has not the result that was asked about: it ended, and another one has taken its place.
bool is_gone(const Answer& a);

// A kernel as the engine's lists have it.
KernelEntry kernel_entry(const nlohmann::json& k);

}  // namespace convscope
