#include "kernels/runtime/compile/load_inline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <regex>
#include <set>

#include "kernels/runtime/compile/python_file.h"

namespace convscope {
namespace {

using InlineSource = InlineExtension::Source;

// The strings of a file by the names that are set once.
class InlineCalls {
 public:
  explicit InlineCalls(const host::PythonFile& file) {
    if (file.definitions.contains("load_inline")) return;  // one of its own
    all_of(file.statements);
    for (const PythonExpression* call : calls_) extensions.push_back(extension(*call));
  }

  std::vector<InlineExtension> extensions;

 private:
  using Expression = PythonExpression;
  using Statement = PythonStatement;

  // ---- what is there

  void all_of(const std::vector<Statement>& statements) {
    for (const Statement& s : statements) {
      if (s.kind == Statement::unknown) set_[s.word.substr(0, s.word.find_first_of(" =+.[(:"))].push_back(nullptr);
      for (const PythonParameter& p : s.parameters) set_[p.name].push_back(nullptr);
      for (const Expression& to : s.targets) {
        if (to.kind == Expression::name && s.kind != Statement::globals && s.kind != Statement::none)
          set_[to.word].push_back(s.kind == Statement::assignment ? &s.value : nullptr);
        for (const Expression& part : to.parts) set_[part.word].push_back(nullptr);
      }
      calls_in(s.value);
      all_of(s.body), all_of(s.otherwise);
    }
  }
  void calls_in(const Expression& e) {
    if (e.kind == Expression::call && e.parts.front().word == "load_inline") calls_.push_back(&e);
    // A list that grows is another one than was written first.
    static const std::set<std::string> changes = {"append", "extend", "insert",     "remove", "pop",
                                                  "clear",  "update", "setdefault", "reverse"};
    if (e.kind == Expression::call && e.parts.front().kind == Expression::attribute &&
        changes.contains(e.parts.front().word) && e.parts.front().parts.front().kind == Expression::name)
      set_[e.parts.front().parts.front().word].push_back(nullptr);
    if (e.kind == Expression::naming) set_[e.parts.front().word].push_back(nullptr);
    for (const Expression& part : e.parts) calls_in(part);
    for (const auto& [name, part] : e.named) calls_in(part);
    if (e.function) all_of(e.function->body);
  }

  // ---- what it is

  const Expression& meant(const Expression& e, int deep = 0) const {
    const auto found = e.kind == Expression::name ? set_.find(e.word) : set_.end();
    if (found == set_.end() || found->second.size() != 1 || !found->second.front() || deep > 8) return e;
    return meant(*found->second.front(), deep + 1);
  }
  static bool is_nothing(const Expression& e) { return e.kind == Expression::name && e.word == "None"; }

  // Of a string, and of several what stands in their lines one behind the other.
  std::optional<InlineSource> source(const Expression& given, int deep = 0) const {
    const Expression& e = meant(given);
    if (deep > 30) return {};
    if (is_nothing(e)) return InlineSource{};
    if (e.kind == Expression::text) return InlineSource{e.word, !e.formatted};
    if (e.kind == Expression::list || (e.kind == Expression::binary && e.word == "+")) {
      InlineSource all;
      for (const Expression& part : e.parts) {
        const auto one = source(part, deep + 1);
        if (!one) return {};
        all.text += one->text + (e.kind == Expression::list ? "\n" : ""), all.exact &= one->exact;
      }
      return all;
    }
    // source % …; source.replace(…), textwrap.dedent(source)
    // A value by a name may be any.
    if (e.kind == Expression::binary && e.word == "%" &&
        (e.parts[1].kind == Expression::names || e.parts[1].kind == Expression::call))
      return formatted(e.parts[0], deep);
    if (e.kind != Expression::call) return {};
    const Expression& callee = e.parts.front();
    if (callee.word == "dedent" && e.parts.size() == 2) return source(e.parts[1], deep + 1);
    if (callee.kind != Expression::attribute) return {};
    if (callee.word == "strip" || callee.word == "lstrip") return source(callee.parts[0], deep + 1);
    if (callee.word == "replace" || callee.word == "format" || callee.word == "substitute")
      return formatted(callee.parts[0], deep);
    return {};
  }
  std::optional<InlineSource> formatted(const Expression& e, int deep) const {
    auto of = source(e, deep + 1);
    if (of) of->exact = false;
    return of;
  }

  void bind(InlineExtension& x, const Expression& given) const {
    const Expression& e = meant(given);
    if (is_nothing(e)) return;
    if (e.kind == Expression::name || e.kind == Expression::conditional || e.kind == Expression::either ||
        e.kind == Expression::both || e.kind == Expression::attribute || e.kind == Expression::subscript) {
      x.plain = false;  // it may be None
      return;
    }
    x.binds = true, x.binds_a_tuple = e.kind == Expression::tuple;
    std::vector<InlineExtension::Function> all;
    auto add = [&](const Expression& name) {
      const Expression& one = meant(name);
      if (one.kind == Expression::text && !one.formatted) all.push_back({one.word, name.line});
      return one.kind == Expression::text && !one.formatted;
    };
    bool known = e.kind == Expression::list || e.kind == Expression::names || e.kind == Expression::text;
    if (e.kind == Expression::text) known = add(e);
    if (e.kind == Expression::list)
      for (const Expression& part : e.parts) known &= add(part);
    if (e.kind == Expression::names)
      for (size_t i = 0; i < e.parts.size(); i += 2) known &= add(e.parts[i]);
    if (known) x.functions = std::move(all);
  }

  InlineExtension extension(const Expression& call) const {
    InlineExtension x;
    x.line = call.line, x.cuda = InlineSource{};
    for (size_t i = 1; i < call.parts.size(); i++) {
      // What the fourth is depends on PyTorch's version.
      if (call.parts[i].kind == Expression::star || i > 3) x.plain = false;
      if (i == 2) x.cpp = source(call.parts[i]), x.has_cpp = true;
      if (i == 3) x.cuda = source(call.parts[i]);
    }
    for (const auto& [name, e] : call.named) {
      if (name == "cpp_sources") x.cpp = source(e), x.has_cpp = true;
      if (name == "cuda_sources") x.cuda = source(e);
      if (name == "functions") bind(x, e);
      if (name == "is_python_module" || name == "no_implicit_headers" || name == "sycl_sources" ||
          name == "extra_include_paths")
        x.plain = false;
    }
    return x;
  }

  std::map<std::string, std::vector<const Expression*>> set_;  // null: to something else
  std::vector<const Expression*> calls_;
};

}  // namespace

std::vector<InlineExtension> inline_extensions(const std::string& text) {
  return InlineCalls(*host::python_file(text)).extensions;
}

std::string not_bound_inline(const std::string& text, const std::string& function) {
  const auto all = inline_extensions(text);
  static const std::regex others(R"(\b(PYBIND11_MODULE|TORCH_LIBRARY|CUDAExtension|torch\.ops)\b|\bload\s*\()");
  if (all.empty() || std::regex_search(text, others)) return "";
  std::set<std::string> names;
  for (const InlineExtension& x : all) {
    if (!x.functions || !x.plain) return "";
    for (const auto& f : *x.functions) names.insert(f.name);
  }
  if (names.contains(function)) return "";
  return fmt::format(
      "its host code has no {}() for its module, which calls it: functions names {} (in PyTorch an AttributeError)",
      function, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace convscope
