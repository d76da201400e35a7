#include "app/model/machine_code.h"

#include "app/engine/codec.h"
#include "app/engine/json_fields.h"
#include "app/model/workbench.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

std::vector<CodeLine> code_from(const json& list) {
  std::vector<CodeLine> all;
  for (const auto& l : list)
    all.push_back({whole(l, "offset").value_or(-1), text(l, "text"), text(l, "label"), text(l, "file"),
                   whole(l, "line").value_or(0)});
  return all;
}

}  // namespace

MachineCode machine_code_from(const json& j) {
  MachineCode m{text(j, "kernel"), text(j, "architecture"), text(j, "reason"), {}};
  for (const auto& f : part(j, "functions"))
    m.functions.push_back({text(f, "name"), whole(f, "registers").value_or(0),
                           whole(f, "static_shared_bytes").value_or(0), whole(f, "stack_bytes").value_or(0),
                           whole(f, "code_bytes").value_or(0), code_from(part(f, "sass")), code_from(part(f, "ptx")),
                           text(f, "sass_source"), text(f, "sass_reason"), text(f, "lines_source"),
                           text(f, "lines_reason"), text(f, "ptx_reason"), text(f, "code_hash")});
  return m;
}

// ---- asking for it: one at a time, each document once --------------------------------------------------------------

void Workbench::want_machine_code(const Document& document) {
  if (document.kernel.empty()) return;
  RunRequest r;  // inputs do not change the code
  r.kernel = document.kernel, r.problem = document.problem;
  r.device = document.device, r.accuracy = document.accuracy;
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "disassembly";
  std::string key = header.dump() + std::to_string(link_.status().starts);
  if (key == machine_code_key_) return;
  machine_code_key_ = key;
  machine_code_waiting_ = true;
  machine_code_id_ = link_.ask("disassembly", header, [this, key](Answer a) {
    if (key != machine_code_key_ || machine_code_cut_) return;
    machine_code_waiting_ = false;
    MachineCode m;
    json answer = json::parse(a.header, nullptr, false);
    if (a.kind == Answer::Kind::result && answer.is_object())
      m = machine_code_from(answer);
    else
      m.reason = answer.is_object() && answer.contains("rule")
                     ? text(answer, "field") + " " + text(answer, "value") + " " + text(answer, "rule")
                 : answer.is_object() && answer.contains("message") ? text(answer, "message")
                                                                    : a.message;
    machine_code_ = std::make_shared<MachineCode>(std::move(m));
  });
}

}  // namespace convscope
