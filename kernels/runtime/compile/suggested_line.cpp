// The launch line of a kernel that says nothing of its launch, as far as its text tells it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>
#include <set>

#include "kernels/base/text.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

std::string arguments_of(const std::string& parameters) {
  std::vector<std::string> all;
  std::set<std::string> seen;
  std::vector<size_t> unknown_inputs;
  for (const std::string& parameter : list_parts(parameters)) {
    size_t end = parameter.find_last_not_of(" \t\r\n");
    if (end == parameter.npos) continue;
    size_t begin = end;
    while (begin > 0 && is_word(parameter[begin - 1])) begin--;
    const bool tensor = parameter.find('*') != parameter.npos;
    const std::string meaning = usual_meaning(parameter.substr(begin, end - begin + 1), tensor);
    if (meaning.empty() && tensor && parameter.find("const") != parameter.npos) unknown_inputs.push_back(all.size());
    seen.insert(meaning);
    all.push_back(meaning.empty() ? "?" : meaning);
  }
  // Of a single one that is read it is known what it must be.
  const bool lacks_x = !seen.contains("x");
  if (unknown_inputs.size() == 1 && lacks_x == seen.contains("w")) all[unknown_inputs[0]] = lacks_x ? "x" : "w";
  return fmt::format("{}", fmt::join(all, ","));
}

// What runs along an axis of the grid: by the name of what it is put into.
std::string extent_of(const std::string& variable) {
  static const std::set<std::string> batch = {"n",  "b",  "batch",  "bn",        "nb",
                                              "bi", "ib", "sample", "batch_idx", "batchidx"};
  static const std::set<std::string> channel = {"co",    "oc",   "o",      "c",       "cout",  "ch",
                                                "out_c", "outc", "oc_idx", "channel", "out_ch"};
  const std::string lower = lowered(variable);
  return batch.contains(lower) ? "N" : channel.contains(lower) ? "Cout" : "";
}

}  // namespace

std::string suggested_line(std::string_view text) {
  static const std::regex global(
      R"(__global__\s+(?:__launch_bounds__\s*\(([^)]*)\)\s*)?void\s+(?:__launch_bounds__\s*\(([^)]*)\)\s*)?(\w+)\s*\(([^)]*)\))");
  std::cmatch m;
  if (!std::regex_search(text.data(), text.data() + text.size(), m, global)) return "";
  const std::string rest(text.substr(static_cast<size_t>(m[0].second - text.data())));
  const size_t open = rest.find('{');
  const std::string body = open == rest.npos ? "" : rest.substr(0, closing(rest, open, '{', '}'));
  const auto uses = [&](const char* word) { return body.find(word) != body.npos; };

  // Threads of a block: as its bounds say, which are mostly what it is launched with.
  const std::string bounds = m[1].matched ? m[1].str() : m[2].str();
  const bool number = !bounds.empty() && bounds.find_first_not_of("0123456789 ") == bounds.npos;
  const bool two = uses("threadIdx.y");
  const std::string across = two ? "32" : number ? std::to_string(std::atoi(bounds.c_str())) : "256";
  const std::string block = two ? "32,8" : across;

  std::string y = uses("blockIdx.z") ? "Cout" : "N*Cout", z = "N";
  static const std::regex direct(R"((\w+)\s*=\s*(?:\([^()]*\)\s*)?blockIdx\.([yz])\s*([;,*]))");
  for (auto it = std::sregex_iterator(body.begin(), body.end(), direct); it != std::sregex_iterator(); ++it) {
    const std::string extent = extent_of((*it)[1].str());
    if (extent.empty()) continue;
    if ((*it)[2].str() == "y" && uses("blockIdx.z"))
      y = extent, z = extent == "N" ? "Cout" : "N";
    else if ((*it)[2].str() == "z")
      z = extent, y = extent == "N" ? "Cout" : "N";
  }
  if (two && (uses("blockDim.y") || uses("blockIdx.y * "))) y = fmt::format("ceil_div({},8)", y);
  const std::string grid = uses("blockIdx.z")   ? fmt::format("ceil_div(Lout,{}),{},{}", across, y, z)
                           : uses("blockIdx.y") ? fmt::format("ceil_div(Lout,{}),{}", across, y)
                                                : fmt::format("ceil_div(N*Cout*Lout,{})", across);
  return fmt::format("// convscope: launch {} grid={} block={} args={}", m[3].str(), grid, block,
                     arguments_of(m[4].str()));
}

}  // namespace convscope
