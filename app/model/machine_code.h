// The answer to `disassembly` as plain values: instructions with the lines they come from.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace convscope {

struct CodeLine {
  int64_t offset = -1;      // bytes from the function's begin; -1: none (PTX)
  std::string text, label;  // label: of jumps to it
  std::string file;
  int64_t line = 0;  // of the source, from 1; 0: not known
};
struct CodeFunction {
  std::string name;
  int64_t registers = 0, static_shared_bytes = 0, stack_bytes = 0, code_bytes = 0;
  std::vector<CodeLine> sass, ptx;
  std::string sass_source, sass_reason, lines_source, lines_reason, ptx_reason;
  std::string code_hash = {};  // of its bytes, as samples of warps have it
};
struct MachineCode {
  std::string kernel, architecture, reason;  // reason: why there is none
  std::vector<CodeFunction> functions;
};

// Takes any document: what is not as it should be is left out.
MachineCode machine_code_from(const nlohmann::json& j);

}  // namespace convscope
