#include "app/model/machine_code.h"

#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"

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

}  // namespace convscope
