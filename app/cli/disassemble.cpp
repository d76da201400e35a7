// `convscope disassemble`: a kernel's source, and under each line the instructions that it became.
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <sstream>

#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "kernels/base/text.h"

namespace convscope {
using json_fields::text;
using nlohmann::json;
namespace {

std::string instruction(const json& i) {
  std::string out = "        ";
  if (i.contains("offset")) out += fmt::format("{:6x}  ", i.at("offset").get<int64_t>());
  if (i.contains("label")) out += text(i, "label") + ":  ";
  return out + text(i, "text") + "\n";
}

// Of one function: its lines in order, each with its instructions; then those of other files and of no line.
std::string function_text(const json& f, const json& j, const std::vector<std::string>& source, bool ptx,
                          int64_t line) {
  std::string out =
      fmt::format("{}, {}: {} registers, {} of static shared memory, {} of stack, {} of code\n", text(f, "name"),
                  text(j, "architecture"), f.at("registers").get<int64_t>(),
                  bytes_text(f.at("static_shared_bytes").get<uint64_t>()),
                  bytes_text(f.at("stack_bytes").get<uint64_t>()), bytes_text(f.at("code_bytes").get<uint64_t>()));
  auto from = [&](const char* what, const std::string& source_of) {
    if (!source_of.empty()) out += fmt::format("  {}: {}\n", what, source_of);
  };
  from(ptx ? "PTX" : "instructions", ptx ? "as ptxas was given it" : text(f, "sass_source"));
  if (!ptx) from("lines", text(f, "lines_source"));
  for (const char* reason : {ptx ? "ptx_reason" : "sass_reason", "lines_reason"})
    if (!text(f, reason).empty()) out += "  ! " + text(f, reason) + "\n";
  std::map<int64_t, std::string> here;
  std::map<std::string, std::string> elsewhere;
  for (const auto& i : f.at(ptx ? "ptx" : "sass")) {
    const int64_t at = i.value("line", int64_t{0});
    if (at > 0 && file_name(text(i, "file")) == file_name(text(j, "file")))
      here[at] += instruction(i);
    else
      elsewhere[at > 0 ? fmt::format("{}:{}", text(i, "file"), at) : "of no line"] += instruction(i);
  }
  for (const auto& [at, instructions] : here) {
    if (line > 0 && at != line) continue;
    const auto index = static_cast<size_t>(at - 1);
    out += fmt::format("{:5} | {}\n{}", at, index < source.size() ? source[index] : "", instructions);
  }
  if (line > 0) {
    if (here.contains(line)) return out;
    // The PTX that a program carries has no line table: of a line nothing can be said then.
    const bool no_table = here.empty() && elsewhere.size() == 1 && elsewhere.contains("of no line");
    out += no_table ? fmt::format("  ! its {} names no lines: {}\n", ptx ? "PTX" : "code",
                                  ptx ? "leave --ptx out for the instructions of a line" : "leave --line out")
                    : fmt::format("{:5} | no instruction comes from this line\n", line);
    return out;
  }
  for (const auto& [where, instructions] : elsewhere) out += fmt::format("      | {}\n{}", where, instructions);
  return out;
}

// Of each function what one line became, as the text shows it.
void keep_line(json& j, int64_t line) {
  const std::string file = file_name(text(j, "file"));
  j["line"] = line;
  for (json& f : j["functions"]) {
    bool lines = false, any = false;
    for (const char* form : {"sass", "ptx"}) {
      json kept = json::array();
      for (const json& i : f.value(form, json::array())) {
        const int64_t at = i.value("line", int64_t{0});
        lines |= at > 0;
        if (at == line && file_name(text(i, "file")) == file) kept.push_back(i);
      }
      any |= !kept.empty();
      if (f.contains(form)) f[form] = std::move(kept);
    }
    if (!any) f["line_reason"] = lines ? "no instruction comes from this line" : "its code names no lines";
  }
}

// Errors: InputError.
int64_t line_of(const std::string& word) {
  if (word.empty()) return 0;  // all
  const int64_t line = whole_number("line", word);
  if (line < 1) throw InputError("line", word, "must be at least 1");
  return line;
}

}  // namespace

int verb_disassemble(const CommonOptions& common, const ProblemOptions& problem, const DisassembleOptionsCli& options) {
  RunRequest r = problem.request(options.kernel, common.device);
  const int64_t line = line_of(options.line);
  Session session(common);
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "disassembly";
  json j = session.ask(header, std::move(payload), "disassemble " + r.kernel).header;
  for (const char* own : {"id", "type"}) j.erase(own);
  j["convscope"] = CONVSCOPE_VERSION;
  if (j.at("functions").empty()) {
    const std::string why = text(j, "reason");
    if (!common.json) throw EngineError({{"code", "missing"}, {"message", why}, {"exit_code", 3}}, why);
    j["error"] = {{"code", "missing"}, {"field", nullptr}, {"value", nullptr}, {"rule", why}, {"message", why}};
    print_json(j);
    std::fprintf(stderr, "convscope: %s\n", why.c_str());
    return 3;
  }
  if (common.json && !line) {
    print_json(j);
    return 0;
  }
  std::vector<std::string> source;
  std::istringstream whole(text(session.ask({{"type", "source"}, {"kernel", r.kernel}}).header, "text"));
  for (std::string each; std::getline(whole, each);) source.push_back(each);
  if (line > static_cast<int64_t>(source.size()))
    throw InputError("line", options.line, fmt::format("is beyond the file's {} lines", source.size()));
  if (common.json) {
    keep_line(j, line);
    print_json(j);
    return 0;
  }
  std::string out = fmt::format("{}\n", text(j, "file"));
  for (const auto& f : j.at("functions")) out += "\n" + function_text(f, j, source, options.ptx, line);
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace convscope
