// What PyTorch's compilers, its linker and Python's import would say of load_inline(…) (load_inline.h).
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/load_inline.h"

namespace convscope {
namespace {

bool has_as_word(const std::string& code, const std::string& word) {
  for (size_t at = 0; (at = code.find(word, at)) != code.npos; at += word.size())
    if ((at == 0 || !is_word(code[at - 1])) && (at + word.size() >= code.size() || !is_word(code[at + word.size()])))
      return true;
  return false;
}

// Whether names may come from elsewhere: by pasting, from files of its own, from what a raw string hides.
bool hides_names(const std::string& text) {
  static const std::regex own_header(R"re(#\s*include\s*"(?!torch/|ATen/|c10/|cuda|pybind11/))re");
  return text.find("##") != text.npos || text.find("R\"") != text.npos || std::regex_search(text, own_header);
}

// A type as the linker knows it, by words that mean one thing alone; "" where there are others.
std::string linked_type(const std::string& written) {
  static const std::set<std::string> spaces = {"torch", "at", "c10", "std"},
                                     known = {"Tensor",   "optional", "vector", "string", "IntArrayRef",
                                              "ArrayRef", "int",      "long",   "float",  "double",
                                              "bool",     "unsigned", "char",   "short"};
  static const std::map<std::string, std::string> same = {{"int64_t", "long"},
                                                          {"int32_t", "int"},
                                                          {"size_t", "unsigned long"},
                                                          {"uint64_t", "unsigned long"},
                                                          {"IntArrayRef", "ArrayRef<long>"}};
  std::string out;
  bool is_const = false;
  int depth = 0;
  for (size_t i = 0; i < written.size();) {
    if (!is_word(written[i])) {
      depth += (written[i] == '<') - (written[i] == '>');
      if (std::string("<>,&*").find(written[i]) != std::string::npos) out += written[i];
      if (std::string("<>,&*: \t\n").find(written[i]) == std::string::npos) return "";
      i++;
      continue;
    }
    size_t end = i;
    while (end < written.size() && is_word(written[end])) end++;
    const std::string word = written.substr(i, end - i);
    i = end;
    if (word == "int" && (out.ends_with("unsigned") || out.ends_with("long") || out.ends_with("short"))) continue;
    if (word == "const" && depth == 0 && out.ends_with('*')) continue;  // the pointer's own
    if (word == "const" && depth == 0 && !is_const) {
      is_const = true;
    } else if (const auto other = same.find(word); other != same.end()) {
      out += other->second;
    } else if (known.contains(word)) {
      out += (out.empty() || !is_word(out.back()) ? "" : " ") + word;
    } else if (!spaces.contains(word)) {
      return "";
    }
  }
  if (std::count(out.begin(), out.end(), '*') > 1) return "";
  const bool by_value = !out.ends_with('&') && !out.ends_with('*');  // whose const is the function's own affair
  return (is_const && !by_value ? "const " : "") + out;
}

std::vector<std::string> linked_types(const std::string& parameters) {
  static const std::set<std::string> keywords = {"int", "long", "short", "char", "float", "double", "bool", "unsigned"};
  std::vector<std::string> all;
  for (const HostParameter& p : parameters_of({"", parameters, 0, 0, 0, false, false})) {
    const size_t last = p.type.find_last_not_of(" \t\n");
    // A keyword is no name; what a library's type is called may be one.
    const bool unnamed = last == p.type.npos || p.type[last] == ':' || keywords.contains(p.name) ||
                         (linked_type(p.type).empty() && !linked_type(p.name).empty());
    all.push_back(linked_type(unnamed ? p.type + p.name : p.type));
  }
  return all;
}
bool links(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const std::string& x, const std::string& y) { return x.empty() || y.empty() || x == y; });
}

std::string in_one_line(const std::string& s) {
  std::string line = with_short_blanks(s);
  const size_t from = line.find_first_not_of(' '), to = line.find_last_not_of(' ');
  return from == line.npos ? "" : line.substr(from, to + 1 - from);
}

class InlineCheck {
 public:
  InlineCheck(const InlineExtension& x, const std::string& file)
      : x_(x), file_(file), in_cuda_(x.cuda ? functions_in(x.cuda->text) : std::vector<HostFunction>()) {}

  void all() const {
    if (!x_.plain) return;
    if (!x_.has_cpp) fail("load_inline() is called without cpp_sources, which it needs: \"\" where there are none");
    if (x_.binds_a_tuple) fail("functions is a tuple: PyTorch takes a string, a list or a dictionary");
    if (!x_.cpp) return;
    cpp_alone();
    module_once();
    if (!x_.cpp->exact || hides_names(x_.cpp->text)) return;
    if (x_.functions)
      for (const auto& f : *x_.functions) bound(f);
    if (x_.binds) ended();
    bound_by_itself();
    if (!x_.cuda || hides_names(x_.cuda->text)) return;
    // Where what a function is depends on more than its text.
    if ((x_.cpp->text + x_.cuda->text).find("#if") != std::string::npos) return;
    if (x_.functions)
      for (const auto& f : *x_.functions) linked(f.name, f.line);
    for (const std::string& name : used_names()) linked(name, 0);
  }

 private:
  [[noreturn]] void fail(const std::string& what, int line = 0) const {
    throw CompileError(fmt::format("{}:{}: {}", file_, line ? line : x_.line, what), "");
  }

  // What only nvcc takes.
  void cpp_alone() const {
    if (x_.cpp->text.find("#if") != std::string::npos) return;  // it may be for another compiler
    const std::string code = code_of(x_.cpp->text, true);
    static const std::regex cuda_header(R"(#\s*include\s*[<"][^>"\n]*cuda)");
    if (code.find("<<<") != code.npos)
      fail(
          "cpp_sources launches a kernel (<<<…>>>), and PyTorch gives it to the C++ compiler: what launches belongs "
          "into cuda_sources, and its declaration into cpp_sources");
    if (has_as_word(code, "__global__") && !std::regex_search(x_.cpp->text, cuda_header))
      fail(
          "cpp_sources has a __global__ function, and PyTorch gives it to the C++ compiler: it belongs into "
          "cuda_sources");
  }

  void module_once() const {
    if (!x_.cuda) return;
    const std::string both = x_.cpp->text + "\n" + x_.cuda->text, code = code_of(both, true);
    const bool written = has_as_word(code, "PYBIND11_MODULE");
    if (x_.binds && written)
      fail("its module is bound by PYBIND11_MODULE, and once more by functions: leave one of them out");
    static const std::regex python_header(
        R"(torch/extension\.h|torch/torch\.h|torch/python\.h|pybind11/|utils/pybind\.h)");
    if (has_as_word(code_of(x_.cuda->text, true), "PYBIND11_MODULE") && !hides_names(x_.cuda->text) &&
        !std::regex_search(x_.cuda->text, python_header))
      fail("cuda_sources has a PYBIND11_MODULE, and does not include <torch/extension.h>");
    const bool other = both.find("TORCH_LIBRARY") != both.npos || both.find("PyInit") != both.npos;
    if (!x_.binds && !written && !other && x_.cpp->exact && x_.cuda->exact && !hides_names(both))
      fail("nothing of its module is bound: name what Python calls in functions, or in a PYBIND11_MODULE");
  }

  // What PyTorch's own binding names is to be known there.
  void bound(const InlineExtension::Function& f) const {
    if (f.name.empty() || !std::all_of(f.name.begin(), f.name.end(), is_word) || mentions(f.name)) return;
    std::string head;
    if (const HostFunction* defined = only_one(f.name))
      head = in_one_line(x_.cuda->text.substr(defined->begin, defined->body - defined->begin));
    const bool shown = !head.empty() && head.size() < 300 && head.find_first_of("#/{") == head.npos;
    fail(fmt::format("{} is not declared in cpp_sources, where PyTorch binds what functions names{}", f.name,
                     shown ? ": put this there: " + head + ";" : ""),
         f.line);
  }
  // PyTorch writes its binding behind it.
  void ended() const {
    const std::string code = with_short_blanks(code_of(x_.cpp->text, true));
    const size_t last = code.find_last_not_of(' ');
    if (last == code.npos || code[last] != ')' || code.find('#') != code.npos) return;
    size_t open = last;
    for (int depth = 0; open > 0; open--) {
      depth += (code[open] == ')') - (code[open] == '(');
      if (!depth) break;
    }
    const NameAt name = name_before(code, open);
    const size_t before = name.begin ? code.find_last_not_of(' ', name.begin - 1) : code.npos;
    if (before != code.npos && !name.text.empty() && (is_word(code[before]) || code[before] == '&'))  // no macro
      fail(fmt::format("the declaration of {} in cpp_sources ends without a semicolon", name.text));
  }
  // And what its own module binds.
  void bound_by_itself() const {
    static const std::regex name(R"re(\.\s*def\s*\(\s*"[^"]*"\s*,\s*&?\s*([A-Za-z_]\w*)\s*[,)])re");
    const std::string code = code_of(x_.cpp->text);
    const size_t module = code.find("PYBIND11_MODULE"), open = code.find('{', module),
                 end = open == code.npos ? code.npos : closing(code, open, '{', '}');
    if (end == code.npos) return;
    const std::string body = with_short_blanks(code.substr(open, end - open)), whole = code_of(x_.cpp->text, true),
                      around = whole.substr(0, module) + whole.substr(end);
    for (auto it = std::sregex_iterator(body.begin(), body.end(), name); it != std::sregex_iterator(); ++it) {
      const std::string function = (*it)[1];
      if (has_as_word(around, function) || std::regex_search(body, std::regex("\\b" + function + R"(\s*[={])")))
        continue;
      fail(function + " is not declared in cpp_sources, whose PYBIND11_MODULE binds it: its declaration belongs there");
    }
  }

  // What is declared and used there is to be the function that there is.
  void linked(const std::string& name, int line) const {
    const auto declared = declared_with(x_.cpp->text, name);
    const auto own = functions_in(x_.cpp->text);
    if (!declared || std::any_of(own.begin(), own.end(), [&](const auto& f) { return last_part(f.name) == name; }))
      return;
    constexpr const char* then = ": PyTorch could not load the module";
    const std::string& cuda = x_.cuda->text;
    if (x_.cuda->exact && !has_as_word(code_of(cuda, true), name))
      fail(fmt::format("{} is declared in cpp_sources and defined nowhere{}", name, then), line);
    const HostFunction* defined = only_one(name);
    if (!defined || defined->is_template || !x_.cuda->exact) return;
    for (const std::string& parameters : {*declared, defined->parameters})
      if (parameters.find_first_of("{}%/#") != std::string::npos) return;
    const std::string head = code_of(cuda).substr(defined->begin, defined->body - defined->begin);
    if (head.find("extern") != head.npos) return;
    if (has_as_word(head, "static"))
      fail(fmt::format("{} is static in cuda_sources, and is not found from cpp_sources{}", name, then), line);
    if (links(linked_types(*declared), linked_types(defined->parameters))) return;
    fail(fmt::format("{0} is declared in cpp_sources as {0}({1}), and defined as {0}({2}){3}", name,
                     in_one_line(*declared), in_one_line(defined->parameters), then),
         line);
  }
  // Those that are declared outside of braces and stand somewhere else as well.
  std::vector<std::string> used_names() const {
    static const std::regex call(R"(\b([A-Za-z_]\w*)\s*\()");
    const std::string code = with_short_blanks(code_of(x_.cpp->text));
    std::vector<std::string> all;
    std::map<std::string, int> times;
    for (auto it = std::sregex_iterator(code.begin(), code.end(), call); it != std::sregex_iterator(); ++it)
      times[(*it)[1]]++;
    for (const auto& [name, n] : times)
      if (n > 1 || code.find("&" + name) != code.npos) all.push_back(name);
    return all;
  }

  bool mentions(const std::string& name) const { return has_as_word(code_of(x_.cpp->text, true), name); }
  // Of the definitions for nvcc the one of that name; null: there is none, or several.
  const HostFunction* only_one(const std::string& name) const {
    const HostFunction* found = nullptr;
    for (const HostFunction& f : in_cuda_) {
      if (last_part(f.name) != name) continue;
      if (found) return nullptr;
      found = &f;
    }
    return found;
  }

  const InlineExtension& x_;
  const std::string& file_;
  const std::vector<HostFunction> in_cuda_;
};

}  // namespace

std::optional<std::string> declared_with(const std::string& text, const std::string& name) {
  const std::string code = code_of(text);
  std::optional<std::string> found;
  int depth = 0;
  for (size_t at = 0; at < code.size(); at++) {
    depth += (code[at] == '{') - (code[at] == '}');
    if (depth || code.compare(at, name.size(), name) != 0 || (at > 0 && (is_word(code[at - 1]) || code[at - 1] == ':')))
      continue;
    const size_t open = code.find_first_not_of(" \t\n", at + name.size());
    if (open == code.npos || code[open] != '(') continue;
    const size_t close = closing(code, open, '(', ')'),
                 end = close == code.npos ? code.npos : code.find_first_not_of(" \t\n", close + 1);
    if (end == code.npos || code[end] != ';' || found) return {};
    const size_t begin = code.find_last_of(";{}", at);
    const std::string head = code.substr(begin == code.npos ? 0 : begin + 1, at - (begin == code.npos ? 0 : begin + 1));
    // Its result stands before it, and nothing else.
    const bool result = std::any_of(head.begin(), head.end(), is_word) && head.find_first_of("=()#") == head.npos &&
                        head.find("extern") == head.npos && head.find("template") == head.npos &&
                        head.find("typedef") == head.npos;
    if (!result) return {};
    found = code.substr(open + 1, close - open - 1);  // its comments are blanks
  }
  return found;
}

void check_load_inline(const std::string& text, const std::string& name) {
  for (const InlineExtension& x : inline_extensions(text)) InlineCheck(x, name).all();
}

}  // namespace convscope
