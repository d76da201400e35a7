#include "kernels/runtime/compile/device_rules.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

struct DeviceFunction {
  std::string name, head;
  size_t body, end;   // its braces; both npos where it is declared alone
  bool host_as_well;  // what it does wrong on a GPU is a warning to nvcc
};

std::vector<DeviceFunction> device_functions(const std::string& code) {
  static const std::regex marks(R"(\b__(?:global|device)__\b)"), host(R"(\b__host__\b)");
  std::vector<DeviceFunction> all;
  size_t done = 0;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), marks); it != std::sregex_iterator(); ++it) {
    const auto at = static_cast<size_t>(it->position());
    if (at < done) continue;
    const size_t before = code.find_last_of(";{}", at), begin = before == code.npos ? 0 : before + 1;
    const size_t stop = code.find_first_of(";{=", at), open = code.find('(', at);
    // A variable; attributes with brackets, operators and defaults of parameters are behind the first bracket.
    if (open == code.npos || (stop != code.npos && stop < open)) continue;
    const size_t after = code.find_first_of(";{", closing(code, open, '(', ')'));
    if (after == code.npos) continue;
    DeviceFunction f{"", code.substr(begin, after - begin), code.npos, code.npos, false};
    f.host_as_well = std::regex_search(f.head, host);
    static const std::regex bounds(
        R"(__launch_bounds__\s*\([^()]*\)|(?:__align__|alignas|__attribute__)\s*\([^()]*\))");
    const std::string plain = std::regex_replace(f.head, bounds, "");
    f.name = name_before(plain, plain.find('(')).text;
    done = after;
    if (code[after] == '{') f.body = after, f.end = closing(code, after, '{', '}');
    if (f.body != code.npos && f.end == code.npos) continue;
    all.push_back(std::move(f));
  }
  return all;
}

class DeviceRules {
 public:
  DeviceRules(const std::string& cuda, const std::string& file)
      : cuda_(cuda), file_(file), code_(code_of(cuda)), functions_(device_functions(code_)) {}

  // one_unit: it is compiled as one text.
  void all(bool one_unit) const {
    // Code that is not there for nvcc, or there in another form.
    static const std::regex conditions(R"((?:^|\n)[ \t]*#[ \t]*if)");
    if (std::regex_search(cuda_, conditions)) return;
    initial_values();
    if (one_unit) dynamic_types();
    for (const DeviceFunction& f : functions_)
      if (f.body != code_.npos && !f.host_as_well) of_the_host(f);
    if (one_unit) calls();
    if (!relaxes_constexpr(cuda_, file_)) constexpr_calls();
  }

  void array_sizes(const std::string& printed) const {
    static const std::regex warning(R"((?:^|\n)([^\n]+):(\d+):\d+: warning: [^\n]*'(\w+)'[^\n]*\[-Wvla\])");
    for (auto it = std::sregex_iterator(printed.begin(), printed.end(), warning); it != std::sregex_iterator(); ++it) {
      if ((*it)[1] != file_) continue;
      const int there = std::stoi((*it)[2]);
      for (const DeviceFunction& f : functions_)
        if (f.body != code_.npos && line(f.body) <= there && there <= line(f.end))
          throw CompileError(
              fmt::format("{}:{}: {} is an array whose size is not known when it is compiled, which device "
                          "code cannot have",
                          file_, there, (*it)[3].str()),
              printed);
    }
  }

 private:
  int line(size_t at) const {
    return static_cast<int>(1 + std::count(code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  [[noreturn]] void fail(size_t at, const std::string& what) const {
    throw CompileError(fmt::format("{}:{}: {}", file_, line(at), what), "");
  }

  // __shared__ float sum = 0;
  void initial_values() const {
    constexpr std::string_view word = "__shared__";
    for (size_t at = 0; (at = code_.find(word, at)) != code_.npos; at += word.size()) {
      int depth = 0;
      for (size_t i = at; i < code_.size() && code_[i] != ';' && depth >= 0; i++) {
        depth += (code_[i] == '(' || code_[i] == '[' || code_[i] == '{') -
                 (code_[i] == ')' || code_[i] == ']' || code_[i] == '}');
        constexpr std::string_view beside = "=<>!";  // of ==, <= and so on
        if (code_[i] == '=' && depth == 0 && beside.find(code_[i + 1]) == beside.npos &&
            beside.find(code_[i - 1]) == beside.npos)
          fail(at, "__shared__ memory has no initial value: let a thread store it, and the others wait");
      }
    }
  }

  void dynamic_types() const {
    static const std::regex declared(
        R"(\bextern\s+__shared__\s+(?:(?:__align__|alignas)\s*\([^()]*\)\s*)?((?:unsigned\s+)?\w+)\s+(\w+)\s*\[)"),
        space(R"(\bnamespace\s+\w+\s*\{|\bnamespace\s*\{)");
    static const std::set<std::string> known = {"float",         "double",       "int",    "char",         "unsigned",
                                                "unsigned char", "half",         "__half", "float2",       "float4",
                                                "double2",       "unsigned int", "int4",   "__nv_bfloat16"};
    if (std::regex_search(code_, space)) return;  // they may be two
    std::map<std::string, std::string> types;
    for (auto it = std::sregex_iterator(code_.begin(), code_.end(), declared); it != std::sregex_iterator(); ++it) {
      std::string type = (*it)[1];
      const std::string name = (*it)[2];
      if (!known.contains(type)) continue;
      if (type == "unsigned int") type = "unsigned";
      if (type == "__half") type = "half";
      const auto [first, is_new] = types.emplace(name, type);
      if (!is_new && first->second != type)
        fail(static_cast<size_t>(it->position()),
             fmt::format(
                 "extern __shared__ {0} {1}[] is declared before as {2} {1}[]: give one of them another name, or "
                 "both one type",
                 type, name, first->second));
    }
  }

  // What there is no code for on a GPU.
  void of_the_host(const DeviceFunction& f) const {
    static const std::regex exception(R"(\bthrow\b|\btry\s*\{)"),
        library(  // what makes an object: a type alone may be asked about
            R"(\bstd\s*::\s*(?:(cout|cerr)\b|(vector|map|unordered_map|set)\s*<[^;{}()]*>\s*\w+\s*[;({=]|(string)\s+\w+\s*[;({=]))");
    const auto begin = code_.begin() + static_cast<std::ptrdiff_t>(f.body),
               end = code_.begin() + static_cast<std::ptrdiff_t>(f.end);
    std::smatch m;
    if (std::regex_search(begin, end, m, exception))
      fail(f.body + static_cast<size_t>(m.position()), "device code has no exceptions");
    if (std::regex_search(begin, end, m, library))
      fail(f.body + static_cast<size_t>(m.position()),
           fmt::format("std::{} is the host's, and is used in device code", m[1].str() + m[2].str() + m[3].str()));
  }

  // What nvcc takes in device code neither as a call nor where its value is known (an array's size, static_assert).
  void constexpr_calls() const {
    static const std::regex known(R"(\bconstexpr\b)"), both(R"(\b__(?:host|device)__\b|\b[A-Z][A-Z0-9_]{3,}\b)");
    for (const HostFunction& host : functions_in(cuda_)) {
      const std::string head = code_.substr(host.begin, host.body - host.begin), name = last_part(host.name);
      const bool overloaded =
          std::any_of(functions_.begin(), functions_.end(), [&](auto& f) { return f.name == name; });
      if (!overloaded && std::regex_search(head, known) && !std::regex_search(head, both))
        not_called(name, name, "Make it __host__ __device__");
    }
    for (const char* name : {"min", "max"})
      not_called(std::string(R"(std\s*::\s*)") + name, std::string("std::") + name,
                 fmt::format("CUDA's own {}() is meant", name));
  }
  void not_called(const std::string& pattern, const std::string& name, const std::string& instead) const {
    const std::regex call("\\b" + pattern + R"(\s*(?:<[^<>;(){}]*>\s*)?\()");
    for (const DeviceFunction& f : functions_) {
      if (f.body == code_.npos || f.host_as_well || has_word(f.head, "constexpr")) continue;
      const std::string body = code_.substr(f.body, f.end - f.body);
      for (auto it = std::sregex_iterator(body.begin(), body.end(), call); it != std::sregex_iterator(); ++it) {
        const auto at = static_cast<size_t>(it->position());
        const size_t last = body.find_last_not_of(" \t\n", at - 1);
        // A member's, another space's, or declared there.
        constexpr std::string_view others = ".:>";
        if (others.find(body[last]) != others.npos) continue;
        const std::string before = is_word(body[last]) ? name_before(body, last + 1).text : "";
        if (!before.empty() && before != "return" && before != "else" && before != "case") continue;
        fail(f.body + at,
             fmt::format("{}() is a constexpr function of the host, and device code calls it: nvcc refuses that "
                         "without --expt-relaxed-constexpr (where that is given, say so in a comment). {}",
                         name, instead));
      }
    }
  }
  static bool has_word(const std::string& text, const char* word) {
    return std::regex_search(text, std::regex(std::string("\\b") + word + "\\b"));
  }

  // Functions of the file that are the host's alone.
  std::set<std::string> of_the_host_alone() const {
    static const std::set<std::string> of_cuda = {"min", "max",  "abs", "fabs",  "floor", "ceil",  "pow",
                                                  "exp", "sqrt", "log", "round", "fma",   "clamp", "main"};
    static const std::regex define(R"(#\s*define\s+(\w+))"),
        may_be_both(R"(\bconstexpr\b|\bconsteval\b|\b[A-Z][A-Z0-9_]{3,}\b)");
    std::set<std::string> macros, names, others;
    const std::string with_macros = code_of(cuda_, true);
    for (auto it = std::sregex_iterator(with_macros.begin(), with_macros.end(), define); it != std::sregex_iterator();
         ++it)
      macros.insert((*it)[1]);
    static const std::regex word(R"(\w+)");
    for (const DeviceFunction& f : functions_) others.insert(f.name);
    // A macro that writes device functions: the words that it is given may be their names.
    static const std::regex writes(R"(#\s*define\s+(\w+)\([^\n]*(?:\\\n[^\n]*)*__device__)");
    for (auto it = std::sregex_iterator(with_macros.begin(), with_macros.end(), writes); it != std::sregex_iterator();
         ++it) {
      const std::string use = (*it)[1].str() + "(";
      for (size_t at = 0; (at = code_.find(use, at)) != code_.npos; at += use.size()) {
        const size_t close = closing(code_, at + use.size() - 1, '(', ')');
        const std::string given = close == code_.npos ? std::string() : code_.substr(at, close - at);
        for (auto w = std::sregex_iterator(given.begin(), given.end(), word); w != std::sregex_iterator(); ++w)
          others.insert(w->str());
      }
    }
    for (const HostFunction& f : functions_in(cuda_)) {
      const std::string head = code_.substr(f.begin, f.body - f.begin);
      // One for tensors is never what device code means.
      bool plain = !std::regex_search(head, may_be_both) && f.name.find("::") == f.name.npos &&
                   f.parameters.find("Tensor") == f.parameters.npos;
      for (auto it = std::sregex_iterator(head.begin(), head.end(), word); plain && it != std::sregex_iterator(); ++it)
        plain = !macros.contains(it->str());
      (plain ? names : others).insert(last_part(f.name));
    }
    std::erase_if(
        names, [&](const std::string& n) { return others.contains(n) || of_cuda.contains(n) || macros.contains(n); });
    return names;
  }
  void calls() const {
    const std::set<std::string> names = of_the_host_alone();
    if (names.empty()) return;
    for (const DeviceFunction& f : functions_) {
      if (f.body == code_.npos || f.host_as_well) continue;
      const std::string text = code_.substr(f.body, f.end - f.body);
      if (text.find("decltype") != text.npos) continue;
      for (size_t at = 0; at < text.size();) {
        if (!is_word(text[at])) {
          at++;
          continue;
        }
        const size_t begin = at;
        while (at < text.size() && is_word(text[at])) at++;
        const std::string name = text.substr(begin, at - begin);
        const size_t next = text.find_first_not_of(" \t\n", at);
        if (!names.contains(name) || next == text.npos || text[next] != '(') continue;
        // A member's, another space's; what has the name in this function is its own.
        const size_t before = text.find_last_not_of(" \t\n", begin - 1);
        const std::string word = is_word(text[before]) ? name_before(text, before + 1).text : "";
        // Behind > stands a member, or an object of Type<…>.
        if (text[before] == '.' || text[before] == ':' || text[before] == '>') continue;
        if (!word.empty() && word != "return" && word != "else" && word != "do" && word != "case") continue;
        const std::regex own("\\b" + name + R"(\s*(=|\{|\[|;|,|\)))");
        if (std::regex_search(text, own) || std::regex_search(f.head, std::regex("\\b" + name + "\\b"))) continue;
        // What is declared anywhere by that name may be a member.
        if (std::regex_search(code_, std::regex("\\w[>&*]*\\s+[&*]*" + name + "\\s*(?:;|=|\\{)"))) continue;
        fail(f.body + begin,
             fmt::format("{}() is a function of the host, and device code calls it: make it __device__, "
                         "or __host__ __device__",
                         name));
      }
    }
  }

  const std::string &cuda_, &file_;
  const std::string code_;
  const std::vector<DeviceFunction> functions_;
};

}  // namespace

bool relaxes_constexpr(const std::string& cuda, const std::string& file) {
  static const std::regex header(R"(#\s*include\s*[<"](?:torch|ATen|c10|pybind11)/)");
  return file.ends_with(".py") || cuda.find("expt-relaxed-constexpr") != cuda.npos || std::regex_search(cuda, header);
}

void check_device_code(const std::string& cuda, const std::string& file, bool one_unit) {
  DeviceRules(cuda, file).all(one_unit);
}

void check_array_sizes(const std::string& printed, const std::string& cuda, const std::string& file) {
  if (printed.find("[-Wvla]") != printed.npos) DeviceRules(cuda, file).array_sizes(printed);
}

}  // namespace convscope
