#include "kernels/runtime/compile/host_code.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/deduced.h"
#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_bounds.h"
#include "kernels/runtime/compile/launch_calls.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/load_inline.h"
#include "kernels/runtime/compile/python_run.h"
#include "kernels/runtime/compile/python_source.h"

namespace convscope {
namespace {

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
std::string argument_for(const HostParameter& p, const std::string& meaning) {
  const bool role = meaning == "x" || meaning == "w" || meaning == "b" || meaning == "y";
  if (role && (p.is_tensor() || p.is_pointer())) {
    const char* form = p.is_pointer() ? "pointer" : p.type.find("optional") != p.type.npos ? "maybe" : "tensor";
    return fmt::format("convscope_call.{}(::convscope::host::Role::{})", form, meaning);
  }
  return p.is_list() ? fmt::format("{{{}}}", meaning) : meaning;
}

bool has_lambda(const std::string& arguments) {
  static const std::regex lambda(R"([(,]\s*\[[^\[\]]*\]\s*(?:__\w+__\s*)*[({m])");
  return std::regex_search(arguments, lambda);
}

// (…) that stands there, with its brackets.
std::string arguments_behind(const std::string& code, size_t at) {
  const size_t open = code.find('(', at), close = closing(code, open, '(', ')');
  return close == code.npos ? "()" : code.substr(open, close + 1 - open);
}

}  // namespace

bool has_host_code(std::string_view text) { return code_of(text, true).find("<<<") != std::string::npos; }

namespace {

// Whether a name is one of a variable or a parameter that holds a kernel's address, as far as its declaration tells; an
// element of a table, or *pointer in brackets, holds one.
bool holds_a_kernel(const std::string& name, const std::string& code) {
  if (name.ends_with("]") || name.ends_with(")")) return true;
  if (!std::all_of(name.begin(), name.end(), is_word)) return false;
  const std::regex declared("\\bauto\\s*(?:const\\s*)?[*&]*\\s*(?:const\\s*)?" + name +
                            "\\b|\\(\\s*\\*\\s*(?:const\\s*)?" + name + "\\s*\\)|\\b[A-Z]\\w*\\s*[*&]*\\s+" + name +
                            "\\s*[,)]|\\b\\w+\\s*[*&]*\\s*(?:const\\s+)?\\b" + name + "\\s*=[^=]");
  return std::regex_search(code, declared);
}

// Kernels' names where they stand for their addresses: known<k<3>>() in the place of k<3> or &k<3>.
std::string with_known_kernels(const std::string& text, const std::set<std::string>& kernels,
                               const std::set<std::string>& bounded) {
  const std::string code = code_of(text, true), own = code_of(text);
  std::string out;
  size_t done = 0;
  for (size_t at = 0; at < code.size();) {
    if (!is_word(code[at])) {
      at++;
      continue;
    }
    size_t end = at;
    while (end < code.size() && (is_word(code[end]) || (code[end] == ':' && code.substr(end, 2) == "::") ||
                                 (code[end] == ':' && code[end - 1] == ':')))
      end++;
    const size_t begin = at;
    at = end;
    if (!kernels.contains(last_part(code.substr(begin, end - begin)))) continue;
    std::string_view left(code.data(), begin);
    if (left.ends_with("&")) left.remove_suffix(1);
    if (left.ends_with("Launching<") || left.ends_with("Bounded<")) continue;
    if (const size_t open = code.find_first_not_of(" \t\n", end); open != code.npos && code[open] == '<') {
      const size_t close = closing(code, open, '<', '>');
      if (close == code.npos) continue;
      end = close + 1;
    }
    const size_t next = code.find_first_not_of(" \t\n", end);
    if (next == code.npos || code[next] == '(' || code[next] == '<') continue;  // it is declared, or launched
    size_t before = begin;
    while (before > done && std::isspace(static_cast<unsigned char>(code[before - 1]))) before--;
    if (before > done && (code[before - 1] == '.' || code[before - 1] == '>')) continue;
    // In a macro only what it gives to a function: else it may stand for the kernel's name.
    if (own[begin] != code[begin] && (!before || (code[before - 1] != '(' && code[before - 1] != ','))) continue;
    const bool address = before > done && code[before - 1] == '&' && (before < 2 || code[before - 2] != '&');
    const std::string kernel = text.substr(begin, end - begin), bounds = bounds_of(kernel, bounded);
    out += text.substr(done, (address ? before - 1 : begin) - done) + "::convscope::host::known<" + kernel +
           (bounds.empty() ? "" : ", " + bounds) + ">()";
    done = at = end;
  }
  return out + text.substr(done);
}

}  // namespace

std::string with_noted_launches(const std::string& plain, const std::set<std::string>& bounded) {
  const DeducedText deduced = with_deducers(plain, bounded);
  const std::string &text = deduced.text, code = code_of(text, true);
  std::set<std::string> kernels;
  for (const auto& k : global_functions(code_of(text))) kernels.insert(last_part(k.name));
  bool by_pointer = false;
  std::string out;
  size_t at = 0;
  for (const auto& l : launches_in(code)) {
    if (l.callee < at) continue;
    std::string callee = text.substr(l.callee, l.arrows - l.callee);
    while (std::isspace(static_cast<unsigned char>(callee.back()))) callee.pop_back();
    const std::string config = "(" + text.substr(l.arrows + 3, l.config_end - l.arrows - 3) + ")";
    out += text.substr(at, l.callee - at);
    if (!kernels.empty() && !kernels.contains(callee) && holds_a_kernel(callee, code)) {
      out += "::convscope::host::launching(" + callee + ", " + config.substr(1);
      by_pointer = true;
    } else if (const std::string arguments = arguments_behind(code, l.config_end + 3); has_lambda(arguments)) {
      // Each lambda has a type of its own, wherever it is written again: here once.
      const std::string type = deduced_launch(callee, "(convscope_given...)", deduced);
      out += "[&](const auto&... convscope_given) { " +
             (type.empty() ? "::convscope::host::Launching<" + callee + ">" : type) + config +
             "(convscope_given...); }";
    } else if (const std::string type = deduced_launch(callee, arguments, deduced); !type.empty()) {
      out += type + config;
    } else {
      out += "::convscope::host::Launching<" + callee + ">" + config;
      if (const std::string bounds = bounds_of(callee, bounded); !bounds.empty()) out += ".bounded(" + bounds + ")";
    }
    at = l.config_end + 3;
  }
  out += text.substr(at);
  if (by_pointer) return with_known_kernels(out, kernels, bounded);
  // Where the kernels stand in another file, another name of one is known when it is compiled.
  static const std::regex by_name(R"(Launching<(\w+)>\()");
  std::set<std::string> names;
  for (auto it = std::sregex_iterator(out.begin(), out.end(), by_name); kernels.empty() && it != std::sregex_iterator();
       ++it)
    names.insert((*it)[1]);
  for (const auto& name : names)
    out = std::regex_replace(out, std::regex("\\b(?:const\\s+)?auto\\s*\\*?\\s*(?:const\\s+)?" + name + "\\s*="),
                             "constexpr auto " + name + " =");
  return out;
}

namespace {

// The types of parameters, which may have no names where they are declared or bound. between: "" for comparing.
std::string types_in(const std::string& parameters, const std::string& between = "") {
  static const std::regex no_type(R"(^\s*(?:const\s*)?$|:\s*$)"),
      keyword(R"(^(?:int|long|float|double|bool|char|short|unsigned)$)"), blank(R"(\s+)"), ends(R"(^\s+|\s+$)");
  std::string all;
  for (const HostParameter& p : parameters_of({"", parameters, 0, 0, 0, false, false})) {
    const bool unnamed = std::regex_search(p.type, no_type) || std::regex_match(p.name, keyword);
    const std::string type = std::regex_replace(unnamed ? p.type + p.name : p.type, ends, "");
    all += (all.empty()       ? ""
            : between.empty() ? ","
                              : between) +
           (between.empty() ? std::regex_replace(type, blank, "") : type);
  }
  return all;
}
// Which of several functions of one name is bound: as the binding says, or as cpp_sources declares it alone.
std::string types_of_bound(const PythonBinding& bound, const std::string& original) {
  if (!bound.types.empty()) return types_in(bound.types);
  for (const InlineExtension& x : inline_extensions(original))
    if (x.cpp)
      if (const auto declared = declared_with(x.cpp->text, bound.function)) return types_in(*declared);
  return "";
}

// A Python file whose module is followed: it calls what it calls. "" where it has none, or calls none of the functions.
std::string registration_of_module(const std::vector<HostFunction>& functions, const std::string& text,
                                   const std::string& original, const std::string& name) {
  if (!name.ends_with(".py") || !has_python_module(original)) return "";
  std::string table, first, lambdas;
  auto add = [&](const std::string& known_as, const PythonBinding& bound) {
    if (bound.function.starts_with("+[")) {
      // (…) {…}, as a function with a name
      lambdas += fmt::format("auto convscope_bound_{}{}\n", known_as, bound.function.substr(3));
      table += fmt::format("    ::convscope::host::python_function<&convscope_bound_{}>({}, {}),\n", known_as,
                           c_string(known_as), c_string(bound.names));
      first = first.empty() ? known_as : first;
      return;
    }
    std::vector<const HostFunction*> all;
    for (const auto& each : functions)
      if (last_part(each.name) == last_part(bound.function)) all.push_back(&each);
    const bool several = all.size() > 1;
    if (several)
      std::erase_if(all, [types = types_of_bound(bound, original)](const HostFunction* each) {
        return types.empty() || types_in(each->parameters) != types;
      });
    if (all.size() != 1 || all.front()->is_template) return;
    const HostFunction* f = all.front();
    std::string address = "&" + f->name;
    if (several)
      address = fmt::format("::convscope::host::Overload<{}>{{}}({})", types_in(f->parameters, ", "), address);
    table += fmt::format("    ::convscope::host::python_function<{}>({}, {}),\n", address, c_string(known_as),
                         c_string(bound.names));
    if (first.empty()) first = known_as;
  };
  for (const auto& [known_as, bound] : python_bindings(original)) add(known_as, bound);
  // Where no binding can be read: by their own names.
  for (const auto& f : functions)
    if (const std::string own = last_part(f.name); table.empty() && original.find("." + own + "(") != original.npos)
      add(own, {own, ""});
  if (table.empty()) return "";
  const HostFunction* entry = entry_of(functions, text, original);
  const std::string called = entry ? last_part(entry->name) : first;
  std::string idea = idea_of(text);
  if (idea.empty()) idea = fmt::format("what {}() launches", called);
  return fmt::format(
      "\n#include \"convscope/python_module.h\"\n{}namespace {{\n"
      "#if defined(CONVSCOPE_PRODUCTS)\nconstexpr bool convscope_products = true;\n"
      "#else\nconstexpr bool convscope_products = false;\n#endif\n{}"
      "auto convscope_called(const ::convscope::ConvProblem& "
      "convscope_p, const ::convscope::host::Given& convscope_call) {{\n"
      "  static const ::convscope::host::PythonFunction functions[] = {{\n{}  }};\n"
      "  static const char text[] = R\"convscope_py({})convscope_py\";\n"
      "  return ::convscope::host::python_module(convscope_p, convscope_call, text, functions, "
      "::convscope::host::python_operations(convscope_products));\n}}\n}}\n"
      "CONVSCOPE_KERNEL({}) {{\n  idea({});\n{}"
      "  supports([](const ::convscope::ConvProblem& convscope_p) -> std::string {{\n"
      "    return ::convscope::host::refused(convscope_p, ::convscope::host::called<convscope_called>());\n  }});\n"
      "  plan([](const ::convscope::ConvProblem& convscope_p, ::convscope::Plan& convscope_plan) {{\n"
      "    ::convscope::host::record(convscope_p, convscope_plan, ::convscope::host::called<convscope_called>());\n  "
      "}});\n}}\n",
      undefined_names(), lambdas, table, original, called, c_string(idea),
      fields_not_in(python_module_numbers(original)));
}

}  // namespace

std::string registration_of_host_code(const std::string& text, const std::string& original, const std::string& name) {
  const auto functions = functions_in(text);
  if (const std::string module = registration_of_module(functions, text, original, name); !module.empty())
    return module;
  const auto said = call_line(text, name);
  const HostFunction* f = nullptr;
  if (said) {
    for (const auto& each : functions)
      if (each.name == said->function || last_part(each.name) == said->function) f = &each;
    if (!f)
      throw InputError("kernel", fmt::format("{}:{}", name, said->number),
                       fmt::format("`call {}` names no function of its host code", said->function));
  } else {
    f = entry_of(functions, text, original);
  }
  if (!f)
    throw InputError("kernel", name,
                     fmt::format("launches kernels in {}, which no function outside of classes and templates calls; "
                                 "write one that does, and name it in a line: // convscope: call FUNCTION "
                                 "args=x,w,b,s,p,op,d,g",
                                 where_it_launches(text)));
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
    std::string list, unknown;
    for (const auto& p : parameters) {
      std::string m = p.type.find("cudaStream_t") != p.type.npos
                          ? "nullptr"
                          : usual_meaning(p.name, p.is_tensor() || p.is_pointer());
      if (m.empty() && p.has_default) break;  // as are all behind it
      whole &= !m.empty();
      if (m.empty()) unknown += (unknown.empty() ? "`" : ", `") + p.name + "`";
      if (!list.empty()) list += ',';
      list += m.empty() ? "?" : m;
      meanings.push_back(m);
    }
    if (!whole)
      throw InputError("kernel", name,
                       fmt::format("its host code is called with what its parameters' names do not tell, {}; put this "
                                   "in it, with values for ?: // convscope: call {} args={}",
                                   unknown, f->name, list));
  }
  std::string args;
  bool takes_bias = false, knows_length = false;  // of y, by its own sizes
  for (size_t i = 0; i < meanings.size(); i++) {
    if (i) args += ", ";
    args += argument_for(parameters[i], meanings[i]);
    takes_bias |= meanings[i] == "b";
    knows_length |= meanings[i] == "y" && !parameters[i].is_pointer();
  }
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(f->body), '\n');
  std::string rules;
  auto means = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* n) { return std::find(meanings.begin(), meanings.end(), n) != meanings.end(); });
  };
  if (!takes_bias) rules += "    if (convscope_problem.bias) return \"takes no bias\";\n";
  // Without such a parameter it cannot be asked for them. (Others may be written into it.)
  if (!said && !knows_length && !means({"Lout", "out_length", "op", "output_padding"}))
    rules += "    if (convscope_problem.output_padding) return \"takes no output padding\";\n";
  if (!said && !means({"g", "groups"})) rules += "    if (convscope_problem.groups != 1) return \"takes no groups\";\n";
  if (said && !said->supports.empty())
    rules += fmt::format("    if (!({})) return {};\n", said->supports,
                         c_string("takes only problems with " + said->supports));
  std::string idea = idea_of(text);
  if (idea.empty()) idea = fmt::format("what {}() launches", last_part(f->name));
  // One function for both: what calls it is compiled once.
  return fmt::format(
      "\n{}#line {} {}\nnamespace {{\nauto convscope_called([[maybe_unused]] const ::convscope::ConvProblem& "
      "convscope_p, "
      "[[maybe_unused]] const ::convscope::host::Given& convscope_call) {{\n"
      "  const ::convscope::ConvProblem* convscope_given = &convscope_p;\n{}  return {}({});\n}}\n}}\n"
      "CONVSCOPE_KERNEL({}) {{\n  idea({});\n{}"
      "  supports([](const ::convscope::ConvProblem& convscope_p) -> std::string {{\n{}"
      "    return ::convscope::host::refused(convscope_p, ::convscope::host::called<convscope_called>());\n  }});\n"
      "  plan([](const ::convscope::ConvProblem& convscope_p, ::convscope::Plan& convscope_plan) {{\n"
      "    ::convscope::host::record(convscope_p, convscope_plan, ::convscope::host::called<convscope_called>());\n  "
      "}});\n}}\n",
      undefined_names(), line, c_string(name), names_of_problem(), f->name, args, last_part(f->name), c_string(idea),
      fields_not_in(meanings),
      rules.empty()
          ? ""
          : "    const ::convscope::ConvProblem* convscope_given = &convscope_p;\n" + names_of_problem() + rules);
}

namespace {

// What the standard library and PyTorch's headers give host code that names it.
std::string includes_for_host_code(std::string_view cuda) {
  static const std::pair<const char*, std::vector<const char*>> of_headers[] = {
      {"algorithm",
       {"all_of",      "any_of",         "clamp",       "copy",        "copy_n",    "count",         "count_if",
        "equal",       "fill",           "fill_n",      "find",        "find_if",   "for_each",      "generate",
        "max_element", "min_element",    "minmax",      "none_of",     "partition", "remove_if",     "reverse",
        "rotate",      "sort",           "stable_sort", "swap_ranges", "transform", "unique",        "lower_bound",
        "upper_bound", "minmax_element", "nth_element", "copy_if",     "is_sorted", "binary_search", "partial_sort",
        "equal_range", "includes",       "merge",       "mismatch",    "search"}},
      {"numeric", {"accumulate", "gcd", "inner_product", "iota", "lcm", "partial_sum", "reduce"}},
      {"functional",
       {"bind",       "bit_and",       "bit_or",       "equal_to",    "function",   "greater", "hash",    "invoke",
        "less",       "multiplies",    "plus",         "ref",         "minus",      "divides", "modulus", "negate",
        "less_equal", "greater_equal", "not_equal_to", "logical_and", "logical_or", "not_fn"}},
      {"map", {"map", "multimap"}},
      {"array", {"array", "to_array"}},
      {"tuple", {"make_tuple", "tie", "tuple"}},
      {"cstring", {"memcmp", "memcpy", "memset", "strcmp", "strlen"}},
      {"stdexcept",
       {"runtime_error", "invalid_argument", "logic_error", "out_of_range", "length_error", "domain_error",
        "overflow_error", "range_error"}},
      {"limits", {"numeric_limits"}},
      {"sstream", {"ostringstream", "istringstream", "stringstream"}},
      {"iostream", {"cout", "cerr", "clog"}},
      {"iomanip", {"setw", "setprecision"}},
      {"chrono", {"chrono"}},
      {"memory", {"unique_ptr", "shared_ptr", "make_unique", "make_shared"}},
      {"mutex", {"mutex", "lock_guard", "unique_lock", "scoped_lock", "once_flag", "call_once"}},
      {"atomic", {"atomic"}},
      {"thread", {"thread"}},
      {"set", {"set"}},
      {"unordered_map", {"unordered_map"}},
      {"unordered_set", {"unordered_set"}},
      {"deque", {"deque"}},
      {"list", {"list"}}};
  const std::string code = code_of(cuda, true);
  std::set<std::string_view> used;
  for (size_t at = 0; (at = code.find("std::", at)) != code.npos;) {
    const size_t begin = at += 5;
    while (at < code.size() && (std::isalnum(static_cast<unsigned char>(code[at])) || code[at] == '_')) at++;
    used.insert(std::string_view(code).substr(begin, at - begin));
  }
  // Of a list: what is in <algorithm> alone.
  if (code.find("max({") != code.npos || code.find("min({") != code.npos) used.insert("minmax");
  const bool all = code.find("using namespace std") != code.npos;  // names are then not told from the file's own
  std::string out = "#include \"convscope/host_code.h\"\n";
  for (const auto& [header, names] : of_headers)
    if (all || std::any_of(names.begin(), names.end(), [&](const char* n) { return used.contains(n); }))
      out += fmt::format("#include <{}>\n", header);
  // Macros that a file defines itself are its own: PyTorch's of that name it does not include (CUDA_KERNEL_LOOP).
  static const std::regex define(R"(^[ \t]*#[ \t]*define[ \t]+([A-Z][A-Z0-9_]*)\b)", std::regex::multiline);
  std::set<std::string> defined;
  for (auto it = std::cregex_iterator(cuda.data(), cuda.data() + cuda.size(), define); it != std::cregex_iterator();
       ++it)
    defined.insert((*it)[1]);
  static const std::regex product(R"(\b(?:matmul|mm|bmm)\s*\(|\bcublas|\bgetCurrentCUDABlasHandle\b)");
  if (std::regex_search(code, product) || cuda.find(products_mark) != cuda.npos)
    out += "#include \"convscope/products.h\"\n";
  for (const std::string& own : defined) out += "#undef " + own + "\n";
  return out;
}

// What every kernel file has before it begins (conv_args.h), under another name where the file has its own.
std::string renamed_types(std::string_view cuda) {
  std::string out;
  for (const char* type : {"ConvArgs", "TensorMap"}) {
    if (cuda.find(type) == cuda.npos) continue;
    const std::regex own(fmt::format(R"((?:\b(?:struct|class|union|enum)\s+(?:\w+\s*\([^()]*\)\s*)?{0}\s*[{{:;])"
                                     R"(|\busing\s+{0}\s*=|\}}\s*{0}\s*;|\btypedef\b[^;{{}}]*\b{0}\s*;))",
                                     type));
    if (std::regex_search(code_of(cuda, true), own)) out += fmt::format("#define {0} {0}_of_file\n", type);
  }
  return out;
}

}  // namespace

std::string includes_before(std::string_view cuda) {
  // As the program's own have it before they begin (convscope/kernel.h).
  constexpr const char* short_names =
      "#if defined(__CUDACC__)\n#include \"convscope/sum_type.h\"\n#else\n#include \"convscope/names.h\"\n#endif\n";
  if (registers_itself(cuda)) return std::string("#include <algorithm>\n") + short_names;
  // Written against headers of ours.
  static const std::regex ours(R"re(#[ \t]*include[ \t]*"(?:convscope/|\w+\.h"))re");
  const bool named = std::regex_search(cuda.begin(), cuda.end(), ours);
  return (has_host_code(cuda) ? includes_for_host_code(cuda) : "") + (named ? short_names : renamed_types(cuda));
}

std::string cuda_source(const std::string& text, const std::string& name) {
  if (text.find("_workspace(void);") != text.npos && text.find(" of convscope") != text.npos)  // export.cpp
    throw InputError("kernel", name,
                     "is an export: it is for programs of yours; a file of the kernel to be changed and run here is "
                     "what `convscope export KERNEL --format source` writes");
  std::string cuda = name.ends_with(".py") ? cuda_of_python(text, name) : text;
  for (const auto& f : functions_in(cuda))
    if (last_part(f.name) == "main")
      for (size_t i = f.begin; i <= f.end; i++)
        if (cuda[i] != '\n') cuda[i] = ' ';
  return with_plain_launches(cuda);
}

}  // namespace convscope
