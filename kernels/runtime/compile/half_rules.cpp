#include "kernels/runtime/compile/half_rules.h"

#include <fmt/format.h>
#include <regex>
#include <sstream>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/load_inline.h"

namespace convscope {

bool is_built_by_pytorch(const std::string& text, const std::string& name) {
  return name.ends_with(".py") && !inline_extensions(text).empty();
}

std::string check_switched_off(const std::string& printed, const std::string& text, const std::string& file) {
  if (printed.find("switched off by -D") == printed.npos) return printed;
  static const std::regex use(R"(^.*:(\d+):\d+: warning: (.*)switched off by -D(__CUDA_NO_(\w+?)_(\w+)__))"),
      sign(R"(operator ?([^\s(]+)\()");
  static const std::regex put_together(R"(-U(?:__CUDA_NO_\w*)?(?:[{%"']|\s*\+))");  // by code
  std::istringstream lines(printed);
  std::smatch m;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, m, use)) continue;
    const std::string said = m[2], definition = m[3], type = m[4];
    if (text.find("-U" + definition) != text.npos || std::regex_search(text, put_together)) continue;
    const bool conversion = m[5] == "CONVERSIONS";
    std::smatch of;
    const std::string operation = std::regex_search(said, of, sign) ? " " + of[1].str() : "s";
    const char* named = type == "HALF" ? "__half" : type == "HALF2" ? "__half2" : "__nv_bfloat16";
    throw CompileError(
        fmt::format("{}:{}: {} has no {} where PyTorch builds it, with -D{}: {}, or give load_inline "
                    "extra_cuda_cflags=['-U{}']",
                    file, m[1].str(), named,
                    conversion ? "conversion from and to other numbers" : "operator" + operation, definition,
                    type == "BFLOAT16" ? "take __bfloat162float() and __float2bfloat16()"
                    : conversion       ? "take __half2float() and __float2half()"
                    : type == "HALF2"  ? "take __hadd2(), __hmul2() and the like"
                                       : "take __hadd(), __hmul() and the like, or sum in float",
                    definition),
        "");
  }
  // With the lines that g++ shows of each.
  static const std::regex begins(R"(^[^\s|][^|]*:\d+:\d+: (?:warning|error): |^[^\s|][^|]*: In )");
  std::string rest;
  bool shown = true;
  lines.clear(), lines.str(printed);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, begins)) shown = line.find("switched off by -D") == line.npos;
    if (shown) rest += line + "\n";
  }
  return rest.find("warning: ") == rest.npos ? "" : rest;
}

}  // namespace convscope
