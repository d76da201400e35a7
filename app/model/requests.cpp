#include "app/model/requests.h"

#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"

namespace convscope {
using nlohmann::json;

bool is_gone(const Answer& a) {
  if (a.kind != Answer::Kind::error) return a.kind != Answer::Kind::result;
  json j = json::parse(a.header, nullptr, false);
  return j.is_object() && j.value("field", json()) == "result";
}

RunRequest request_of(const Document& d) {
  RunRequest r;
  r.kernel = d.kernel;
  r.problem = d.problem;
  r.inputs = d.inputs;
  r.device = d.device;
  r.accuracy = d.accuracy;
  r.tolerance = Gate{d.atol, d.rtol};
  r.pictures = true;
  return r;
}

Refusal refusal_of(const Answer& a) {
  json j = json::parse(a.header, nullptr, false);
  if (!j.is_object()) return {a.message.empty() ? "the engine gave no reason" : a.message, false, 1};
  std::string code = j.value("code", "");
  Refusal r{"", code == "cancelled", j.value("exit_code", 1)};
  if (code == "bad-input")
    r.text = j.value("field", "") + " " + j.value("value", "") + " " + j.value("rule", "");
  else
    r.text = j.value("message", a.message);
  return r;
}

InputSpec without_files(InputSpec inputs) {
  const InputSpec usual;
  if (inputs.x.kind == InputKind::file) inputs.x = usual.x;
  if (inputs.w.kind == InputKind::file) inputs.w = usual.w;
  if (inputs.b.kind == InputKind::file) inputs.b = usual.b;
  return inputs;
}

Failure failure_of(const Answer& a) {
  if (a.kind != Answer::Kind::error) return {a.kind == Answer::Kind::hung ? "hung" : "crashed", a.message};
  const Refusal refusal = refusal_of(a);
  return {refusal.cancelled        ? "cancelled"
          : refusal.exit_code == 4 ? "crashed"
                                   : json_fields::text(json::parse(a.header), "code"),
          refusal.text};
}

std::string trouble_of(const Answer& a) { return a.message.empty() ? refusal_of(a).text : a.message; }

}  // namespace convscope
