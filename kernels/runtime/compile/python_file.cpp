#include "kernels/runtime/compile/python_file.h"

#include <algorithm>
#include <mutex>
#include <regex>
#include <set>

#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/load_inline.h"
#include "kernels/runtime/compile/python_run.h"

namespace convscope {
namespace host {

using Expression = PythonExpression;
using Statement = PythonStatement;

namespace {

// a.append(b), a[b] = c
bool changes(const Statement& s) {
  static const std::set<std::string> methods = {"append", "extend", "insert",  "update",     "pop", "remove",
                                                "clear",  "sort",   "reverse", "setdefault", "add", "discard"};
  return s.kind == Statement::expression && s.value.kind == Expression::call &&
         methods.contains(s.value.parts.front().word);
}
void names_changed(const Statement& s, std::set<std::string>& names) {
  if (changes(s)) names.insert(root_of(s.value));
  for (const Expression& to : s.targets)
    if (to.kind == Expression::attribute || to.kind == Expression::subscript) names.insert(root_of(to));
  for (const auto* part : {&s.body, &s.otherwise})
    for (const Statement& inner : *part)
      if (s.kind != Statement::function && s.kind != Statement::type) names_changed(inner, names);
}
void bind(PythonFile& f) {
  for (const Statement& s : f.statements) {
    // Not what is only done where the file is run itself.
    if (s.kind == Statement::branch && s.value.kind == Expression::compare && root_of(s.value.parts[0]) == "__name__")
      continue;
    std::set<std::string> names;
    const std::span<const Statement> one(&s, 1);
    names_bound({one.begin(), one.end()}, names);
    std::set<std::string> changed;
    names_changed(s, changed);
    // What no statement binds is another file's: os.environ.setdefault() changes no value of this one.
    for (const std::string& name : changed)
      if (const auto known = f.bound.find(name);
          known != f.bound.end() && known->second.front()->kind != Statement::none)
        names.insert(name);
    for (const std::string& name : names)
      if (!name.empty()) f.bound[name].push_back(&s);
  }
}

// Of what stands at the outer level, also behind an `if`.
void define(PythonFile& f, const std::vector<Statement>& all) {
  for (const Statement& s : all) {
    if (s.kind == Statement::function || s.kind == Statement::type) f.definitions[s.word] = &s;
    if (s.kind == Statement::none)
      for (const PythonParameter& p : s.parameters) f.imports[p.name] = p.value.word;
    if (s.kind == Statement::tries || s.kind == Statement::with) define(f, s.body);
    if (s.kind == Statement::branch && !(s.value.kind == Expression::compare)) define(f, s.body);
  }
}

}  // namespace

std::string root_of(const Expression& e) {
  const Expression* at = &e;
  while ((at->kind == Expression::attribute || at->kind == Expression::subscript || at->kind == Expression::call) &&
         !at->parts.empty())
    at = &at->parts.front();
  return at->kind == Expression::name ? at->word : "";
}
void names_bound(const Expression& target, std::set<std::string>& names) {
  if (target.kind == Expression::name) names.insert(target.word);
  if (target.kind == Expression::naming) names_bound(target.parts[0], names);
  if (target.kind == Expression::tuple || target.kind == Expression::list || target.kind == Expression::star)
    for (const Expression& part : target.parts) names_bound(part, names);
}
void names_bound(const std::vector<Statement>& all, std::set<std::string>& names) {
  for (const Statement& s : all) {
    if (s.kind == Statement::function || s.kind == Statement::type) {
      names.insert(s.word);
      continue;
    }
    if (s.kind == Statement::none)
      for (const PythonParameter& p : s.parameters) names.insert(p.name);
    if (s.kind != Statement::none)  // a name with a type alone is none
      for (const Expression& target : s.targets) names_bound(target, names);
    names_bound(s.body, names), names_bound(s.otherwise, names);
  }
}

const Statement* method_of(const PythonFile& f, const Statement* type, const std::string& name, int deep) {
  for (auto s = type->body.rbegin(); s != type->body.rend(); ++s)  // the last of them is meant
    if (s->kind == Statement::function && s->word == name && !is_decorated(*s, "setter") &&
        !is_decorated(*s, "deleter"))
      return &*s;
  for (const Expression& base : type->bases)
    if (const auto known = f.definitions.find(base.word); base.kind == Expression::name &&
                                                          known != f.definitions.end() &&
                                                          known->second->kind == Statement::type && deep < 8)
      if (const Statement* found = method_of(f, known->second, name, deep + 1)) return found;
  return nullptr;
}

const Statement* class_of(const PythonFile& f, const Statement* method) {
  for (const auto& [name, s] : f.definitions)
    if (s->kind == Statement::type)
      for (const Statement& own : s->body)
        if (&own == method) return s;
  return nullptr;
}

bool is_decorated(const Statement& s, const char* by) {
  return std::any_of(s.decorators.begin(), s.decorators.end(), [&](const Expression& d) {
    return (d.kind == Expression::call ? d.parts.front() : d).word == by;
  });
}

bool has_fields(const Statement& type) {
  return is_decorated(type, "dataclass") ||
         std::any_of(type.bases.begin(), type.bases.end(), [](const auto& base) { return base.word == "NamedTuple"; });
}

bool is_autograd(const Statement& type) {
  return std::any_of(type.bases.begin(), type.bases.end(),
                     [](const Expression& base) { return base.word == "Function"; });
}

bool is_layer(const PythonFile& f, const Statement& type, int deep) {
  return std::any_of(type.bases.begin(), type.bases.end(), [&](const Expression& base) {
    const auto known = f.definitions.find(base.word);
    if (base.kind == Expression::name && known != f.definitions.end())
      return known->second->kind == Statement::type && deep < 8 && is_layer(f, *known->second, deep + 1);
    return base.word == "ConvTranspose1d";
  });
}

const Statement* module_of(const PythonFile& f) {
  const Statement* found = nullptr;
  for (const Statement& s : f.statements) {
    if (s.kind != Statement::type || is_autograd(s) || !method_of(f, &s, "forward")) continue;
    if (!found || found->word == "Model" || (found->word != "ModelNew" && s.word != "Model")) found = &s;
  }
  return found;
}

std::shared_ptr<const PythonFile> python_file(const std::string& text) {
  constexpr size_t most = 8;
  static std::mutex mutex;
  static auto* all = new std::vector<std::shared_ptr<const PythonFile>>;
  std::lock_guard lock(mutex);
  for (const auto& known : *all)
    if (known->text == text) return known;
  auto f = std::make_shared<PythonFile>();
  f->text = text, f->statements = python_statements(text);
  define(*f, f->statements);
  bind(*f);
  if (all->size() == most) all->erase(all->begin());
  all->push_back(f);
  return f;
}

}  // namespace host

bool has_python_module(const std::string& text) {
  static const std::regex said(R"(#\s*convscope:\s*call\b)");
  return !std::regex_search(text, said) && host::module_of(*host::python_file(text));
}

std::vector<std::string> python_module_numbers(const std::string& text) {
  const auto file = host::python_file(text);
  const PythonStatement* type = host::module_of(*file);
  std::vector<std::string> all;
  const bool as_the_layer = type && !host::method_of(*file, type, "__init__") && host::is_layer(*file, *type);
  if (as_the_layer) all = {"stride", "padding", "output_padding", "dilation", "groups"};
  for (const char* name : {"__init__", "forward"})
    if (const PythonStatement* f = type ? host::method_of(*file, type, name) : nullptr)
      for (const PythonParameter& p : f->parameters) {
        if (p.stars == 2) all.insert(all.end(), {"stride", "padding", "output_padding", "dilation", "groups"});
        if (const std::string m = usual_meaning(p.name, false); !m.empty()) all.push_back(m);
      }
  return all;
}

namespace {

// static_cast<R (*)(A, B)>(&f), py::overload_cast<A, B>(&f): what stands behind the name.
PythonBinding one_of_several(const std::string& text) {
  const size_t open = text.find('<'), close = open == text.npos ? open : closing(text, open, '<', '>');
  static const std::regex function(R"(^\s*\(\s*&?\s*([\w:]+)\s*\))");
  std::smatch m;
  const std::string behind = close == text.npos ? "" : text.substr(close + 1);
  if (!std::regex_search(behind, m, function)) return {"", ""};
  std::string types = text.substr(open + 1, close - open - 1);
  if (const size_t pointer = types.find("(*)"); pointer != types.npos) {
    const size_t from = types.find('(', pointer + 3), to = types.rfind(')');
    if (from == types.npos || to <= from) return {"", ""};
    types = types.substr(from + 1, to - from - 1);
  }
  return {m[1], "", types};
}

// py::arg("x"), "bias"_a = py::none(), … as PythonFunction has them.
std::string names_bound_by(const std::string& rest) {
  static const std::regex named(R"re((?:\barg\(\s*"(\w+)"\s*\)|"(\w+)"_a\b)(?:\s*=\s*([\w.:-]+(?:\(\))?))?)re");
  std::string names;
  for (auto arg = std::sregex_iterator(rest.begin(), rest.end(), named); arg != std::sregex_iterator(); ++arg) {
    std::string value = (*arg)[3];
    if (value.find("none") != value.npos || value.find("nullopt") != value.npos) value = "None";
    if (value == "true" || value == "false") value = value == "true" ? "True" : "False";
    names += (names.empty() ? "" : ",") + (*arg)[1].str() + (*arg)[2].str() + (value.empty() ? "" : "=" + value);
  }
  return names;
}

}  // namespace

namespace {

// "up(Tensor x, Tensor? b=None, *, int stride=1) -> Tensor" → "x,b=None,stride=1"
std::string names_of_schema(const std::string& schema) {
  const size_t open = schema.find('('), close = schema.find("->");
  if (open == schema.npos || close == schema.npos || close < open) return "";
  std::string names;
  for (std::string part : list_parts(schema.substr(open + 1, schema.rfind(')', close) - open - 1))) {
    static const std::regex name(R"((\w+)\s*(?:=\s*([^\s]+))?\s*$)");
    if (std::smatch m; part.find('*') == part.npos && std::regex_search(part, m, name))
      names += (names.empty() ? "" : ",") + m[1].str() + (m[2].matched ? "=" + m[2].str() : "");
  }
  return names;
}

// TORCH_LIBRARY: what torch.ops has by a schema, and the function that is registered for it there or elsewhere.
std::map<std::string, PythonBinding> registered_operators(const std::string& text) {
  std::map<std::string, PythonBinding> all;
  if (text.find("TORCH_LIBRARY") == text.npos) return all;
  static const std::regex defined(
      R"re(\bm\.def\s*\(\s*(?:TORCH_SELECTIVE_SCHEMA\s*\(\s*)?"([\w:]+)(\([^"]*)"\s*\)?\s*(?:,\s*(?:TORCH_FN\s*\()?&?\s*([\w:]+))?)re"),
      registered(
          R"re(\bm\.impl\s*\(\s*"([\w:]+)"\s*,\s*(?:torch::dispatch\s*\([^,]*,\s*)?(?:TORCH_FN\s*\()?&?\s*([\w:]+))re");
  std::map<std::string, std::string> names;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), defined); it != std::sregex_iterator(); ++it) {
    const std::string name = last_part((*it)[1]);
    names[name] = names_of_schema((*it)[2]);
    if ((*it)[3].matched) all[name] = {(*it)[3], names[name]};
  }
  for (auto it = std::sregex_iterator(text.begin(), text.end(), registered); it != std::sregex_iterator(); ++it) {
    const std::string name = last_part((*it)[1]);
    all[name] = {(*it)[2], names[name]};
  }
  return all;
}

}  // namespace

std::map<std::string, PythonBinding> python_bindings(const std::string& text) {
  std::map<std::string, PythonBinding> all;
  static const std::regex list(R"(\bfunctions\s*=\s*\[([^\]]*)\])"), quoted(R"re(["'](\w+)["'])re"),
      bound(R"re(\bm\.def\s*\(\s*"(\w+)"\s*,\s*&?\s*([\w:]+)([^;]*))re");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), list); it != std::sregex_iterator(); ++it) {
    const std::string names = (*it)[1];
    for (auto name = std::sregex_iterator(names.begin(), names.end(), quoted); name != std::sregex_iterator(); ++name)
      all[(*name)[1]] = {(*name)[1], ""};
  }
  for (const InlineExtension& x : inline_extensions(text))  // a string, a dictionary, a name for a list
    if (x.functions)
      for (const auto& f : *x.functions) all[f.name] = {f.name, ""};
  for (auto it = std::sregex_iterator(text.begin(), text.end(), bound); it != std::sregex_iterator(); ++it) {
    PythonBinding b{(*it)[2], ""};
    const std::string rest = (*it)[3];
    if (b.function == "static_cast" || last_part(b.function) == "overload_cast") b = one_of_several(rest);
    if (b.function.empty()) continue;
    b.names = names_bound_by(rest);
    all[(*it)[1]] = std::move(b);
  }
  for (auto& [name, b] : registered_operators(text)) all[name] = std::move(b);
  // A lambda, which has no name.
  static const std::regex nameless(R"re(\bm\.def\s*\(\s*"(\w+)"\s*,\s*\+?\s*\[\s*\])re");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), nameless); it != std::sregex_iterator(); ++it) {
    const size_t behind = static_cast<size_t>(it->position(0) + it->length(0));
    const std::string code = code_of(text.substr(behind));
    const size_t open = code.find('('), close = open == code.npos ? open : closing(code, open, '(', ')'),
                 body = close == code.npos ? close : code.find('{', close),
                 end = body == code.npos ? body : closing(code, body, '{', '}');
    if (end == code.npos) continue;
    PythonBinding b{"+[]" + text.substr(behind, end + 1), ""};
    const std::string rest = text.substr(behind + end + 1, text.find(';', behind + end) - behind - end - 1);
    b.names = names_bound_by(rest);
    all[(*it)[1]] = std::move(b);
  }
  return all;
}

}  // namespace convscope
