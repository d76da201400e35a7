#include "kernels/runtime/compile/host_code.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)); }

// The text with comments, literals and preprocessor lines as blanks (of #define lines only where `macros` does not say
// otherwise): what is found there is code, at the same places.
std::string code_of(std::string_view text, bool macros = false) {
  std::string out(text);
  auto hide = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, out.size()); i++)
      if (out[i] != '\n') out[i] = ' ';
  };
  bool line_begins = true;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (text.substr(i, 2) == "//") {
      const size_t end = std::min(text.find('\n', i), text.size());
      hide(i, end), i = end;
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      hide(i, end), i = end;
    } else if (c == '"' || (c == '\'' && (i == 0 || !word(text[i - 1])))) {
      size_t end = i + 1;
      while (end < text.size() && text[end] != c && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      hide(i + 1, end), i = end + 1;
    } else if (c == '#' && line_begins) {
      size_t end = i;
      do end = std::min(text.find('\n', end + 1), text.size());
      while (end < text.size() && text[end - 1] == '\\');
      if (macros && text.substr(i + 1).substr(0, 6) == "define") {
        i += 7;
        continue;
      }
      hide(i, end), i = end;
    } else {
      if (c == '\n')
        line_begins = true;
      else if (!blank(c))
        line_begins = false;
      i++;
      continue;
    }
    line_begins = false;
  }
  return out;
}

// The bracket that closes the one at `open`, or npos.
size_t closing(std::string_view code, size_t open, char opens, char closes) {
  int depth = 0;
  for (size_t i = open; i < code.size(); i++) {
    depth += code[i] == opens;
    if (code[i] == closes && --depth == 0) return i;
  }
  return code.npos;
}

struct LaunchSite {
  size_t callee, arrows, config_end;  // of kernel<<<…>>>: where the kernel's name begins, <<<, >>>
};

std::vector<LaunchSite> launches_in(std::string_view code) {
  std::vector<LaunchSite> all;
  for (size_t at = 0; (at = code.find("<<<", at)) != code.npos; at += 3) {
    size_t begin = at;
    while (begin > 0 && blank(code[begin - 1])) begin--;
    if (begin > 0 && code[begin - 1] == '>') {
      int depth = 0;
      do {
        begin--;
        depth += code[begin] == '>';
        depth -= code[begin] == '<';
      } while (depth && begin > 0);
    }
    while (begin > 0 && (word(code[begin - 1]) || code[begin - 1] == ':')) begin--;
    int depth = 0;
    size_t end = at + 3;
    for (; end < code.size(); end++) {
      depth += code[end] == '(' || code[end] == '{';
      depth -= code[end] == ')' || code[end] == '}';
      if (!depth && code.substr(end, 3) == ">>>") break;
    }
    if (begin < at && end < code.size()) all.push_back({begin, at, end});
  }
  return all;
}

struct HostFunction {
  std::string name, parameters;
  size_t begin, body, end;  // of its text; of its braces
  bool is_template, launches;
};

// Functions with a body that run on the host, at any depth of namespaces.
std::vector<HostFunction> functions_in(const std::string& text, const std::string& code) {
  std::vector<HostFunction> all;
  std::vector<std::string> spaces;
  size_t from = 0;
  for (size_t i = 0; i < code.size(); i++) {
    if (code[i] == ';') from = i + 1;
    if (code[i] == '}') {
      if (!spaces.empty()) spaces.pop_back();
      from = i + 1;
    }
    if (code[i] != '{') continue;
    const std::string head = code.substr(from, i - from);
    static const std::regex space(R"(^\s*(?:inline\s+)?namespace\b\s*([\w:]*)\s*$)"),
        linkage(R"(^\s*extern\s*"\s*"\s*$)");
    std::smatch m;
    if (std::regex_match(head, m, space) || std::regex_match(head, linkage)) {
      spaces.push_back(m.size() > 1 && m[1].length() ? m[1].str() + "::" : "");
      from = i + 1;
      continue;
    }
    const size_t end = closing(code, i, '{', '}');
    if (end == code.npos) break;
    const size_t close = head.rfind(')');
    static const std::regex on_device(
        R"(\b(__global__|__device__|PYBIND11_MODULE|TORCH_LIBRARY|TORCH_LIBRARY_IMPL)\b)");
    if (close != head.npos && !std::regex_search(head, on_device)) {
      size_t open = close;
      for (int depth = 0; open < head.size(); open--) {
        depth += head[open] == ')';
        if (head[open] == '(' && --depth == 0) break;
        if (!open) break;
      }
      size_t name_end = open;
      while (name_end > 0 && blank(head[name_end - 1])) name_end--;
      size_t name = name_end;
      while (name > 0 && word(head[name - 1])) name--;
      if (name < name_end && open < close) {
        std::string path;
        for (const auto& s : spaces) path += s;
        static const std::regex templated(R"(^\s*template\b)");
        all.push_back({path + head.substr(name, name_end - name), text.substr(from + open + 1, close - open - 1), from,
                       i, end, std::regex_search(head, templated), code.substr(i, end - i).find("<<<") != code.npos});
      }
    }
    i = end, from = end + 1;
  }
  return all;
}

// Names of macros that launch, of a text with its #define lines.
std::vector<std::string> launching_macros(const std::string& with_macros) {
  std::vector<std::string> names;
  static const std::regex define(R"(#define\s+(\w+))");
  for (auto it = std::sregex_iterator(with_macros.begin(), with_macros.end(), define); it != std::sregex_iterator();
       ++it) {
    size_t end = static_cast<size_t>(it->position());
    do end = std::min(with_macros.find('\n', end + 1), with_macros.size());
    while (end < with_macros.size() && with_macros[end - 1] == '\\');
    const size_t begin = static_cast<size_t>(it->position());
    if (with_macros.substr(begin, end - begin).find("<<<") != std::string::npos) names.push_back((*it)[1]);
  }
  return names;
}

std::string last_part(const std::string& name) {
  const size_t colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

bool calls(const std::string& code, const HostFunction& f, const std::string& other) {
  const std::regex call("\\b" + other + R"(\s*(<[^;{}]*>)?\s*\()");
  return std::regex_search(code.begin() + static_cast<std::ptrdiff_t>(f.body),
                           code.begin() + static_cast<std::ptrdiff_t>(f.end), call);
}

struct Parameter {
  std::string type, name;
  bool has_default;
  bool is_tensor() const { return type.find("Tensor") != type.npos && type.find("Options") == type.npos; }
  bool is_pointer() const { return type.find('*') != type.npos; }
  bool is_list() const {
    return type.find("vector") != type.npos || type.find("ArrayRef") != type.npos || type.find("List") != type.npos;
  }
};

std::vector<Parameter> parameters_of(const HostFunction& f) {
  std::vector<Parameter> list;
  for (std::string part : list_parts(f.parameters)) {
    const size_t equals = part.find('=');
    const bool has_default = equals != part.npos;
    part = part.substr(0, equals);
    while (!part.empty() && blank(part.back())) part.pop_back();
    if (part.empty() || part == "void") continue;
    size_t name = part.size();
    while (name > 0 && word(part[name - 1])) name--;
    list.push_back({part.substr(0, name), part.substr(name), has_default});
  }
  return list;
}

// Whether its parameters' names tell an input and weights.
bool takes_a_layer(const HostFunction& f) {
  bool x = false, w = false;
  for (const auto& p : parameters_of(f)) {
    const std::string m = usual_meaning(p.name, p.is_tensor() || p.is_pointer());
    x |= m == "x", w |= m == "w";
  }
  return x && w;
}

// Which of them a caller would call: it launches, itself or by others, and none of these calls it. Python files name
// theirs (functions=[…]).
const HostFunction* entry_of(const std::vector<HostFunction>& all, const std::string& code,
                             const std::string& original) {
  std::set<const HostFunction*> launching;
  for (const auto& f : all)
    if (f.launches && last_part(f.name) != "main") launching.insert(&f);
  for (bool more = true; more;) {
    more = false;
    for (const auto& f : all) {
      if (launching.contains(&f) || last_part(f.name) == "main") continue;
      for (const auto* other : launching)
        if (calls(code, f, last_part(other->name))) {
          launching.insert(&f);
          more = true;
          break;
        }
    }
  }
  const HostFunction* last = nullptr;
  bool last_known = false;
  static const std::regex named(R"re(functions\s*=\s*\[\s*["'](\w+)["'])re");
  std::smatch m;
  const std::string wanted = std::regex_search(original, m, named) ? m[1].str() : "";
  for (const auto& f : all) {
    if (!launching.contains(&f) || f.is_template) continue;
    if (!wanted.empty() && last_part(f.name) == wanted) return &f;
    const bool called = std::any_of(launching.begin(), launching.end(), [&](const auto* other) {
      return other != &f && calls(code, *other, last_part(f.name));
    });
    static const std::regex gradient(R"(grad|backward|bwd)", std::regex::icase);
    if (called || std::regex_search(last_part(f.name), gradient)) continue;
    const bool known = takes_a_layer(f);
    if (!last || known || !last_known) last = &f, last_known = known;
  }
  return last;
}

struct CallLine {
  int number;
  std::string function, supports;
  std::vector<std::string> args;
};

std::optional<CallLine> call_line(const std::string& text, const std::string& name) {
  static const std::regex line(R"(^[ \t]*// convscope:[ \t]*call[ \t]+([\w:]+)([^\n\r]*))", std::regex::multiline);
  std::smatch m;
  if (!std::regex_search(text, m, line)) return {};
  CallLine call{static_cast<int>(std::count(text.begin(), text.begin() + m.position(0), '\n')) + 1, m[1], "", {}};
  static const std::regex value(R"(^(args|supports)=(\S+)$)");
  bool given = false;
  const std::string rest = m[2];
  static const std::regex blanks(R"(\S+)");
  for (auto it = std::sregex_iterator(rest.begin(), rest.end(), blanks); it != std::sregex_iterator(); ++it) {
    const std::string part = it->str();
    std::smatch v;
    if (!std::regex_match(part, v, value))
      throw InputError("kernel", fmt::format("{}:{}", name, call.number),
                       fmt::format("`{}` is none of args=, supports=; values have no blanks in them", part));
    if (v[1] == "args")
      call.args = list_parts(v[2]), given = true;
    else
      call.supports = v[2];
  }
  if (!given)
    throw InputError("kernel", fmt::format("{}:{}", name, call.number), "`call " + call.function + "` needs args=");
  return call;
}

// What stands for a parameter in the call.
std::string argument_for(const Parameter& p, const std::string& meaning) {
  const bool role = meaning == "x" || meaning == "w" || meaning == "b" || meaning == "y";
  if (role && (p.is_tensor() || p.is_pointer())) {
    const char* form = p.is_pointer() ? "pointer" : p.type.find("optional") != p.type.npos ? "maybe" : "tensor";
    return fmt::format("convscope_call.{}(::convscope::host::Role::{})", form, meaning);
  }
  return p.is_list() ? fmt::format("{{{}}}", meaning) : meaning;
}

}  // namespace

bool has_host_code(std::string_view text) { return code_of(text, true).find("<<<") != std::string::npos; }

std::string with_noted_launches(const std::string& text) {
  std::string out;
  size_t at = 0;
  for (const auto& l : launches_in(code_of(text, true))) {
    if (l.callee < at) continue;
    std::string callee = text.substr(l.callee, l.arrows - l.callee);
    while (blank(callee.back())) callee.pop_back();
    out += text.substr(at, l.callee - at) + "::convscope::host::Launching<" + callee + ">(" +
           text.substr(l.arrows + 3, l.config_end - l.arrows - 3) + ")";
    at = l.config_end + 3;
  }
  out += text.substr(at);
  // A kernel that is launched by another name of it: one that is known when it is compiled.
  static const std::regex by_name(R"(Launching<(\w+)>\()");
  std::set<std::string> names;
  for (auto it = std::sregex_iterator(out.begin(), out.end(), by_name); it != std::sregex_iterator(); ++it)
    names.insert((*it)[1]);
  for (const auto& name : names)
    out = std::regex_replace(out, std::regex("\\b(?:const\\s+)?auto\\s*\\*?\\s*(?:const\\s+)?" + name + "\\s*="),
                             "constexpr auto " + name + " =");
  return out;
}

std::string registration_of_host_code(const std::string& text, const std::string& original, const std::string& name) {
  const std::string code = code_of(text);
  auto functions = functions_in(text, code);
  for (const auto& macro : launching_macros(code_of(text, true)))
    for (auto& each : functions) each.launches |= calls(code, each, macro);
  const auto said = call_line(text, name);
  const HostFunction* f = nullptr;
  if (said) {
    for (const auto& each : functions)
      if (each.name == said->function || last_part(each.name) == said->function) f = &each;
    if (!f)
      throw InputError("kernel", fmt::format("{}:{}", name, said->number),
                       fmt::format("`call {}` names no function of its host code", said->function));
  } else {
    f = entry_of(functions, code, original);
  }
  if (!f) throw InputError("kernel", name, "launches kernels, but has no function of its own that does");
  const auto parameters = parameters_of(*f);
  std::vector<std::string> meanings;
  if (said) {
    meanings = said->args;
    const std::vector<std::string> known = {"x", "w", "b", "y", "nullptr"};
    for (const auto& m : meanings)
      if (std::find(known.begin(), known.end(), m) == known.end()) check_expression(name, said->number, "args", m);
    if (!said->supports.empty()) check_expression(name, said->number, "supports", said->supports);
    if (meanings.size() > parameters.size())
      throw InputError(
          "kernel", fmt::format("{}:{}", name, said->number),
          fmt::format("`args=` gives {} values, {} takes {}", meanings.size(), f->name, parameters.size()));
  } else {
    bool whole = true;
    std::string list;
    for (const auto& p : parameters) {
      std::string m = p.type.find("cudaStream_t") != p.type.npos
                          ? "nullptr"
                          : usual_meaning(p.name, p.is_tensor() || p.is_pointer());
      if (m.empty() && p.has_default) break;  // as are all behind it
      whole &= !m.empty();
      if (!list.empty()) list += ',';
      list += m.empty() ? "?" : m;
      meanings.push_back(m);
    }
    if (!whole)
      throw InputError("kernel", name,
                       fmt::format("its host code is called with what its parameters' names do not tell; put this in "
                                   "it, with values for ?: // convscope: call {} args={}",
                                   f->name, list));
  }
  std::string args;
  bool takes_bias = false;
  for (size_t i = 0; i < meanings.size(); i++) {
    if (i) args += ", ";
    args += argument_for(parameters[i], meanings[i]);
    takes_bias |= meanings[i] == "b";
  }
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(f->body), '\n');
  const std::string call = fmt::format(
      "[&]([[maybe_unused]] const ::convscope::host::Given& convscope_call) {{ return {}({}); }}", f->name, args);
  std::string rules;
  auto means = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* n) { return std::find(meanings.begin(), meanings.end(), n) != meanings.end(); });
  };
  if (!takes_bias) rules += "    if (convscope_problem.bias) return \"takes no bias\";\n";
  // Without such a parameter it cannot be asked for them. (Others may be written into it.)
  if (!said && !means({"y", "Lout", "out_length", "op", "output_padding"}))
    rules += "    if (convscope_problem.output_padding) return \"takes no output padding\";\n";
  if (!said && !means({"g", "groups"})) rules += "    if (convscope_problem.groups != 1) return \"takes no groups\";\n";
  if (said && !said->supports.empty())
    rules += fmt::format("    if (!({})) return {};\n", said->supports,
                         c_string("takes only problems with " + said->supports));
  std::string idea = idea_of(text);
  if (idea.empty()) idea = fmt::format("what {}() launches", last_part(f->name));
  return fmt::format(
      "\n{}#line {} {}\nCONVSCOPE_KERNEL({}) {{\n  idea({});\n"
      "  supports([](const ConvProblem& convscope_p) -> std::string {{\n"
      "    const ConvProblem* convscope_given = &convscope_p;\n{}{}"
      "    return ::convscope::host::refused(convscope_p, {});\n  }});\n"
      "  plan([](const ConvProblem& convscope_p, Plan& convscope_plan) {{\n"
      "    const ConvProblem* convscope_given = &convscope_p;\n{}"
      "    ::convscope::host::record(convscope_p, convscope_plan, {});\n  }});\n}}\n",
      undefined_names(), line, c_string(name), last_part(f->name), c_string(idea), names_of_problem(), rules, call,
      names_of_problem(), call);
}

namespace {

// A kernel or a function with a body: not what only speaks of them, nor declarations.
bool defines_something(std::string_view body) {
  const std::string code = code_of(body);
  for (size_t at = 0; (at = code.find("__global__", at)) != code.npos; at++) {
    const size_t next = code.find_first_of(";{", at);
    if (next != code.npos && code[next] == '{') return true;
  }
  for (const auto& f : functions_in(std::string(body), code))
    if (f.launches || f.parameters.find("Tensor") != f.parameters.npos) return true;
  return false;
}

}  // namespace

// ---- Python
// -----------------------------------------------------------------------------------------------------------

std::string cuda_of_python(const std::string& text, const std::string& name) {
  std::string out = text;
  for (char& c : out)
    if (c != '\n') c = ' ';
  bool any = false;
  auto keep = [&](size_t from, size_t to, bool raw) {
    for (size_t i = from; i < to; i++) {
      out[i] = text[i];
      if (raw || text[i] != '\\' || i + 1 == to || (text[i + 1] != '\\' && text[i + 1] != '"')) continue;
      out[i] = ' ', i++, out[i] = text[i];  // \" is a quotation mark, \\ one backslash
    }
  };
  for (size_t i = 0; i < text.size();) {
    const std::string_view three = std::string_view(text).substr(i, 3);
    if (three == "\"\"\"" || three == "'''") {
      const size_t end = text.find(three, i + 3);
      if (end == text.npos) break;
      const std::string_view body = std::string_view(text).substr(i + 3, end - i - 3);
      const bool raw = i > 0 && (text[i - 1] == 'r' || text[i - 1] == 'R');
      if (defines_something(body)) {
        if (i > 0 && (text[i - 1] == 'f' || text[i - 1] == 'F') && body.find("{{") != body.npos)
          throw InputError("kernel", name, "has its CUDA source in an f-string, whose values are not known here");
        keep(i + 3, end, raw), any = true;
      }
      i = end + 3;
    } else if (text[i] == '#') {
      const size_t end = std::min(text.find('\n', i), text.size());
      constexpr std::string_view mark = "# convscope:";
      // One character more than the comment has: the mark takes the blank behind it.
      if (std::string_view(text).substr(i, mark.size()) == mark) {
        const std::string own = "// convscope:" + text.substr(i + mark.size() + 1, end - i - mark.size() - 1);
        out.replace(i, end - i, own.substr(0, end - i));
      }
      i = end;
    } else if (text[i] == '"' || text[i] == '\'') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != text[i] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      i = end + 1;
    } else {
      i++;
    }
  }
  if (!any) throw InputError("kernel", name, "has no CUDA source: no triple-quoted string with a __global__ function");
  return out;
}

std::string cuda_source(const std::string& text, const std::string& name) {
  std::string cuda = name.ends_with(".py") ? cuda_of_python(text, name) : text;
  const std::string code = code_of(cuda);
  for (const auto& f : functions_in(cuda, code))
    if (last_part(f.name) == "main")
      for (size_t i = f.begin; i <= f.end; i++)
        if (cuda[i] != '\n') cuda[i] = ' ';
  return cuda;
}

}  // namespace convscope
