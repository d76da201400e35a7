#include "kernels/runtime/compile/python_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>

#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/not_followed.h"
#include "kernels/runtime/compile/python_walk.h"
#include "kernels/runtime/compile/python_weights.h"

namespace convscope {
namespace host {
namespace {

using Object = PythonObject;

// What nn.ConvTranspose1d is made with, in its order.
constexpr const char* of_a_layer[] = {"in_channels",    "out_channels", "kernel_size", "stride",  "padding",
                                      "output_padding", "groups",       "bias",        "dilation"};

class Module : PythonWalk {
 public:
  Module(const PythonFile& f, const ConvProblem& p, const Given& given, std::span<const PythonFunction> functions,
         const PythonOperations& ops)
      : PythonWalk(f, ops), p_(p), given_(given) {
    for (const PythonFunction& each : functions) functions_[each.name] = &each;
  }

  Tensor result() {
    const Statement* type = module_of(file_);
    auto self = std::make_shared<Object>();
    self->kind = Object::instance, self->statement = type;
    // A method that is kept in one would keep its module, whether this returns or is refused.
    struct Cleared {
      Object& module;
      ~Cleared() { module.attributes.clear(); }
    } cleared{*self};
    const Statement* init = method_of(file_, type, "__init__");
    ops_.made_on = kCPU;
    if (init) {
      makes_ = true;
      call_function(*init, self, of_the_layer(*init));
      makes_ = false;
    } else if (is_layer(file_, *type)) {
      PythonArguments all;
      takes_bias_ = true;
      for (const char* name : of_a_layer) all.by_name[name] = *number_of_layer(name);
      self->attributes = object_in(layer(all))->attributes;
    }
    const Statement& forward = *method_of(file_, type, "forward");
    const PythonArguments given = of_the_call(forward);
    allow(init);
    const Value y = call_function(forward, self, given);
    if (const Tensor* t = tensor_in(y)) return *t;
    if (auto list = list_in(y); list && !list->empty() && tensor_in(list->front())) return *tensor_in(list->front());
    throw NotFollowedHere(fmt::format("its forward() returns {}, where a tensor belongs", kind_of(y)));
  }

 private:
  // ---- what is given

  std::optional<Value> number_of_layer(const std::string& name) const {
    const std::string m = usual_meaning(name, false);
    const std::pair<const char*, int64_t> all[] = {{"Cin", p_.in_channels},   {"in_channels", p_.in_channels},
                                                   {"Cout", p_.out_channels}, {"out_channels", p_.out_channels},
                                                   {"K", p_.kernel_size},     {"kernel_size", p_.kernel_size},
                                                   {"s", p_.stride},          {"stride", p_.stride},
                                                   {"p", p_.padding},         {"padding", p_.padding},
                                                   {"op", p_.output_padding}, {"output_padding", p_.output_padding},
                                                   {"d", p_.dilation},        {"dilation", p_.dilation},
                                                   {"g", p_.groups},          {"groups", p_.groups},
                                                   {"N", p_.batch},           {"batch", p_.batch},
                                                   {"L", p_.length},          {"length", p_.length}};
    if (m == "bias" || name == "bias" || name == "use_bias") return Value{p_.bias};
    for (const auto& [word, value] : all)
      if (m == word) return Value{value};
    return {};
  }
  PythonArguments of_the_layer(const Statement& init) {
    PythonArguments a;
    for (size_t i = 1; i < init.parameters.size(); i++) {
      const PythonParameter& p = init.parameters[i];
      if (p.stars == 2)  // as nn.ConvTranspose1d is made
        for (const char* name : of_a_layer)
          if (takes_bias_ = true; !a.by_name.contains(name))
            a.by_name[name] = *number_of_layer(name), asked_.push_back(name);
      if (p.stars) continue;
      if (auto v = number_of_layer(p.name))
        a.by_name[p.name] = *v, asked_.push_back(usual_meaning(p.name, false)), takes_bias_ |= v->is.index() == 1;
      else if (p.value.kind == Expression::nothing)
        throw NotFollowedHere(fmt::format(
            "its module is made with `{}`, of which its name does not tell what it is. {}", p.name, instead));
    }
    return a;
  }
  PythonArguments of_the_call(const Statement& forward) {
    PythonArguments a;
    for (size_t i = 1; i < forward.parameters.size(); i++) {
      const PythonParameter& p = forward.parameters[i];
      if (p.stars) continue;
      const std::string role = usual_meaning(p.name, true);
      if (i == 1 || role == "x")
        a.by_name[p.name] = {given_.tensor(x)};
      else if (role == "w" && p.value.kind == Expression::nothing)
        a.by_name[p.name] = {given_.tensor(w)};
      else if (role == "b")
        a.by_name[p.name] = bias(), has_bias_ = true;
      else if (auto v = number_of_layer(p.name))
        a.by_name[p.name] = *v, asked_.push_back(usual_meaning(p.name, false));
      else if (p.value.kind == Expression::nothing)
        throw NotFollowedHere(fmt::format("its forward() is given `{}`, of which its name does not tell what it is. {}",
                                          p.name, instead));
    }
    return a;
  }
  Value bias() const { return p_.bias ? Value{given_.tensor(b)} : Value{}; }
  bool takes(std::initializer_list<const char*> words) const {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return std::find(asked_.begin(), asked_.end(), word) != asked_.end(); });
  }
  // What a module without such a parameter has no way to be asked for.
  void allow(const Statement* init) {
    if (p_.bias && !has_bias_) refuse("takes no bias");
    if (!init) return;
    if (p_.output_padding && !takes({"op", "output_padding"})) refuse("takes no output padding");
    if (p_.groups != 1 && !takes({"g", "groups"})) refuse("takes no groups");
  }

  // ---- names

  Value host_function(const std::string& name) const {
    auto o = std::make_shared<Object>();
    o->kind = Object::host_function, o->name = name;
    return {o};
  }
  Value global(const std::string& name) override {
    if (auto known = made_.find(name); known != made_.end()) return known->second;
    if (auto d = file_.definitions.find(name); d != file_.definitions.end()) return function_value(*d->second);
    if (auto g = file_.global_names.find(name); g != file_.global_names.end() && walking_.insert(name).second) {
      Locals none;
      Value v = value_of(*g->second, none);
      walking_.erase(name);
      return made_[name] = v;
    }
    if (functions_.contains(name)) return host_function(name);
    static const std::map<std::string, std::string> short_names = {
        {"F", "torch.nn.functional"}, {"nn", "torch.nn"}, {"functional", "torch.nn.functional"}};
    const auto known = short_names.find(name);
    return python_path(known == short_names.end() ? name : known->second);
  }
  Value attribute(const Value& of, const std::string& name) override {
    if (auto t = tensor_in(of)) return stays(tensor_attribute(*t, name));
    const PythonObjectPointer o = object_in(of);
    if (!o) throw NotFollowed{};
    if (auto own = o->attributes.find(name); own != o->attributes.end()) return own->second;
    if (functions_.contains(name) && o->kind != Object::instance) return host_function(name);
    switch (o->kind) {
      case Object::path:
        return value_of_path(o->name + "." + name);
      case Object::extension:
        return host_function(name);  // one that there is not: said where it is called
      case Object::layer:
      case Object::instance: {
        if (name == "training") return {false};
        const Statement* m = o->statement ? method_of(file_, o->statement, name) : nullptr;
        auto made = std::make_shared<Object>();
        made->kind = Object::method, made->name = name, made->statement = m, made->self = o;
        return {made};
      }
      case Object::type:
        if (name == "apply" && is_autograd(*o->statement))
          if (const Statement* forward = method_of(file_, o->statement, "forward")) {
            auto made = std::make_shared<Object>();
            made->kind = Object::method, made->name = name, made->statement = forward;
            made->self = std::make_shared<Object>();  // ctx
            made->self->kind = Object::layer;
            return {made};
          }
        if (const Statement* m = method_of(file_, o->statement, name)) return function_value(*m);
        throw NotFollowed{};
      default:
        throw NotFollowed{};
    }
  }

  // ---- calls

  PythonArguments arguments(const Expression& call, Locals& l) {
    PythonArguments a;
    for (size_t i = 1; i < call.parts.size(); i++) {
      const Expression& part = call.parts[i];
      if (part.kind != Expression::star) {
        a.by_place.push_back(value_of(part, l));
        continue;
      }
      const Value v = value_of(part.parts[0], l);
      const auto names = object_in(v);
      if (const auto* list = list_in(v); list && part.word == "*")
        a.by_place.insert(a.by_place.end(), list->begin(), list->end());
      else if (names && names->kind == Object::names)
        a.by_name.insert(names->attributes.begin(), names->attributes.end());
      else
        throw NotFollowed{};
    }
    for (const auto& [name, e] : call.named) a.by_name[name] = value_of(e, l);
    return a;
  }
  Value call_function(const Statement& f, const PythonObjectPointer& self, const PythonArguments& given) {
    if (++deep_ > 24) throw NotFollowed{};
    Locals l;
    size_t place = 0;
    for (size_t i = 0; i < f.parameters.size(); i++) {
      const PythonParameter& p = f.parameters[i];
      if (p.stars) {
        Value::List rest;
        auto others = std::make_shared<Object>();
        others->kind = Object::names;
        for (const auto& [name, v] : given.by_name)
          if (std::none_of(f.parameters.begin(), f.parameters.end(), [&](const auto& own) { return own.name == name; }))
            others->attributes[name] = v;
        while (p.stars == 1 && place < given.by_place.size()) rest.push_back(given.by_place[place++]);
        l[p.name] = p.stars == 1 ? python_list(std::move(rest)) : Value{others};
      } else if (self && i == 0)
        l[p.name] = {self};
      else if (place < given.by_place.size())
        l[p.name] = given.by_place[place++];
      else if (auto named = given.by_name.find(p.name); named != given.by_name.end())
        l[p.name] = named->second;
      else if (p.value.kind != Expression::nothing)
        l[p.name] = value_of(p.value, l);
    }
    Value result;
    running_.push_back(&f);
    try {
      run(f.body, l);
    } catch (Returned& r) {
      result = std::move(r.value);
    }
    running_.pop_back();
    deep_--;
    return result;
  }
  Value call_host(const std::string& name, const PythonArguments& a) {
    const auto known = functions_.find(name);
    if (known == functions_.end()) throw NotFollowed{};
    const PythonFunction& f = *known->second;
    Value::List given = a.by_place;
    // What is given by name, or left to be what the binding says.
    const std::vector<std::string> names = list_parts(f.names);
    size_t used = 0;
    for (size_t i = given.size(); i < std::min(names.size(), f.parameters); i++) {
      const size_t equals = names[i].find('=');
      const auto own = a.by_name.find(names[i].substr(0, equals));
      if (own == a.by_name.end() && equals == names[i].npos) break;
      Locals none;
      if (own != a.by_name.end())
        given.push_back(own->second), used++;
      else if (const auto value = python_statements(names[i].substr(equals + 1)); value.size() == 1)
        given.push_back(value_of(value.front().value, none));
    }
    if (used != a.by_name.size() || given.size() != f.parameters)
      throw NotFollowedHere(fmt::format("its module gives {}() {} values{}; it takes {}", name,
                                        a.by_place.size() + a.by_name.size(), a.by_name.empty() ? "" : ", some by name",
                                        f.parameters));
    return f.call(given);
  }
  // nn.ConvTranspose1d(…): its weights are the problem's, its numbers what it is given.
  Value layer(const PythonArguments& a) {
    auto o = std::make_shared<Object>();
    o->kind = Object::layer;
    const std::pair<const char*, Value> fields[] = {
        {"in_channels", {}},      {"out_channels", {}},      {"kernel_size", {}},
        {"stride", {int64_t{1}}}, {"padding", {int64_t{0}}}, {"output_padding", {int64_t{0}}},
        {"groups", {int64_t{1}}}, {"bias", {true}},          {"dilation", {int64_t{1}}}};
    for (size_t i = 0; i < std::size(fields); i++) {
      const auto& [name, otherwise] = fields[i];
      const Value* v = a.find(name, i);
      Value value = v ? *v : otherwise;
      const bool one =
          std::string_view(name) != "groups" && std::string_view(name).find("channels") == std::string_view::npos;
      // As PyTorch keeps them: (2,).
      o->attributes[name] = one && !list_in(value) ? python_list({value}) : value;
      if (std::string_view(name) == "bias") {
        const bool has = truth_of(value);
        has_bias_ |= has;
        o->attributes[name] = has ? bias() : Value{};
      }
    }
    const Value* bias = a.find("bias", 7);
    if (!p_.bias && (!bias || truth_of(*bias))) {
      if (!takes_bias_) refuse("always has a bias");
      throw WrongWeights(
          std::string("its module's nn.ConvTranspose1d has a bias, where none is asked for: ") +
          (bias ? "it is made with bias=True" : "bias=False does not reach it, and PyTorch's default is True"));
    }
    const Value& groups = o->attributes["groups"];
    if (p_.groups != 1 && !takes({"g", "groups"}) && same_values(groups, {int64_t{1}})) refuse("takes no groups");
    look_at_layer(p_, o->attributes);
    o->attributes["weight"] = {given_.tensor(w)}, has_weights_ = true;
    return {o};
  }
  // Parameters of a module of its own: what has the weights' sizes, or the bias', is one of them.
  Value parameter(const Value& v) {
    const PythonObjectPointer o = object_in(v);
    if (!o || o->kind != Object::made) return moves_along(v);
    const Sizes weights{p_.in_channels, p_.out_per_group(), p_.kernel_size};
    if (o->sizes == weights) return has_weights_ = true, Value{given_.tensor(w)};
    if (o->sizes == Sizes{p_.out_channels} && p_.bias) return has_bias_ = true, bias();
    // Where none is asked for it stands in for one: zeros, which is what initialising leaves of empty memory too.
    if (o->sizes == Sizes{p_.out_channels} && o->name == "torch.empty") o->name = "torch.zeros";
    if (!has_weights_) look_at_sizes(p_, o->sizes);  // else it may be what they are packed into
    return moves_along(settled(v));
  }
  // Parameters and buffers go to the GPU with their module; what is kept beside them stays where it was made.
  static Value moves_along(const Value& v) {
    const Tensor* t = tensor_in(v);
    return t ? Value{t->to(kCUDA)} : v;
  }
  Value stays(const Value& v) const {
    const Tensor* t = tensor_in(v);
    return t && makes_ ? Value{t->to(kCPU)} : v;
  }
  // Memory that is no parameter; random values are none that could be known.
  Value settled(const Value& v) const override {
    const PythonObjectPointer o = object_in(v);
    if (!o || o->kind != Object::made) return v;
    if (o->name != "torch.empty" && o->name != "torch.zeros" && o->name != "torch.ones") throw NotFollowed{};
    PythonArguments a;
    for (const int64_t n : o->sizes) a.by_place.push_back({n});
    return call_of_path(ops_, o->name, a);
  }
  Value call(const Expression& e, Locals& l) override {
    const Expression& callee = e.parts.front();
    // Before its arguments: sources of an extension are of no matter.
    if (callee.kind == Expression::attribute || callee.kind == Expression::name) {
      if (callee.word == "load_inline" || (callee.word == "load" && callee.kind == Expression::name) ||
          callee.word == "CUDAExtension") {
        auto o = std::make_shared<Object>();
        o->kind = Object::extension;
        return {o};
      }
      if (callee.word == "super") {
        auto self = l.find("self");
        auto o = std::make_shared<Object>();
        o->kind = Object::parent, o->self = self == l.end() ? nullptr : object_in(self->second);
        // The parent of the class whose method this is, which need not be the object's.
        if (!running_.empty()) o->statement = class_of(file_, running_.back());
        return {o};
      }
      if (callee.word == "isinstance" && e.parts.size() == 3) return {is_instance(value_of(e.parts[1], l), e.parts[2])};
      if ((callee.word == "hasattr" || callee.word == "getattr") && e.parts.size() > 2)
        if (auto name = value_of(e.parts[2], l); std::holds_alternative<std::string>(name.is))
          if (const auto o = object_in(value_of(e.parts[1], l))) {
            const auto found = o->attributes.find(std::get<std::string>(name.is));
            if (callee.word == "hasattr") return {found != o->attributes.end()};
            if (found != o->attributes.end()) return found->second;
            if (e.parts.size() > 3) return value_of(e.parts[3], l);
          }
    }
    if (callee.kind == Expression::attribute) {
      const Value of = value_of(callee.parts.front(), l);
      if (auto o = object_in(of); o && o->kind == Object::made) return filled_anew(*o, callee.word, arguments(e, l));
      if (list_in(of) && callee.word == "append") {
        std::get<std::shared_ptr<Value::List>>(of.is)->push_back(arguments(e, l).by_place.at(0));
        return {};
      }
      if (auto t = tensor_in(of)) {
        const Value made = tensor_method(ops_, *t, callee.word, arguments(e, l));
        const bool itself = callee.word.ends_with('_') || callee.word == "cuda" || callee.word == "to";
        return itself ? made : stays(made);
      }
      if (auto o = object_in(of); o && o->kind == Object::parent) return call_of_parent(*o, callee.word, e, l);
      return call_value(attribute(of, callee.word), e, l);
    }
    return call_value(value_of(callee, l), e, l);
  }
  // torch.empty(…).uniform_(-a, a): still values of its own.
  static Value filled_anew(const Object& was, const std::string& method, const PythonArguments& a) {
    static const std::set<std::string> random = {"uniform_", "normal_", "random_", "mul_", "div_"},
                                       same = {"to",         "cuda",  "cpu",    "float",
                                               "contiguous", "clone", "detach", "requires_grad_"};
    auto o = std::make_shared<Object>(was);
    if (random.contains(method))
      o->name = "torch.randn";
    else if (method == "zero_" || (method == "fill_" && !a.by_place.empty() && real_number(a.by_place[0]) == 0))
      o->name = "torch.zeros";
    else if (!same.contains(method))
      throw NotFollowed{};
    return {o};
  }
  Value call_of_parent(const Object& o, const std::string& name, const Expression& e, Locals& l) {
    if (!o.self || !o.self->statement) return {};
    const Statement* type = o.statement ? o.statement : o.self->statement;
    for (const Expression& base : type->bases)
      if (auto known = file_.definitions.find(base.word); known != file_.definitions.end())
        if (const Statement* m = method_of(file_, known->second, name))
          return call_function(*m, o.self, arguments(e, l));
    // nn.ConvTranspose1d's own: weights and numbers.
    if (name == "__init__" && is_layer(file_, *type)) {
      const Value made = layer(arguments(e, l));
      for (const auto& [known_as, v] : object_in(made)->attributes) o.self->attributes[known_as] = v;
    }
    return {};
  }
  Value call_value(const Value& f, const Expression& e, Locals& l) {
    const PythonObjectPointer o = object_in(f);
    if (!o) throw NotFollowed{};
    switch (o->kind) {
      case Object::host_function:
        return call_host(o->name, arguments(e, l));
      case Object::function:
        return call_function(*o->statement, nullptr, arguments(e, l));
      case Object::method:
        return call_method(*o, e, l);
      case Object::instance:
        if (const Statement* m = method_of(file_, o->statement, "forward"))
          return call_function(*m, o, arguments(e, l));
        throw NotFollowed{};
      case Object::type: {
        auto made = std::make_shared<Object>();
        made->kind = Object::instance, made->statement = o->statement;
        if (const Statement* init = method_of(file_, o->statement, "__init__"))
          call_function(*init, made, arguments(e, l));
        else if (is_layer(file_, *o->statement))
          made->attributes = object_in(layer(arguments(e, l)))->attributes;
        return {made};
      }
      case Object::path:
        break;
      default:
        throw NotFollowed{};
    }
    const std::string& path = o->name;
    if (path == "torch.nn.ConvTranspose1d") return layer(arguments(e, l));
    if (path == "torch.nn.Parameter" || path == "torch.nn.parameter.Parameter") {
      const PythonArguments a = arguments(e, l);
      return parameter(a.find("data", 0) ? *a.find("data", 0) : Value{});
    }
    static const std::vector<std::string> of_values = {"torch.randn", "torch.rand", "torch.Tensor",
                                                       "torch.FloatTensor"},
                                          in_init = {"torch.empty", "torch.zeros", "torch.ones"};
    auto is_of = [&](const auto& list) { return std::find(list.begin(), list.end(), path) != list.end(); };
    if (is_of(of_values) || (makes_ && is_of(in_init))) {
      auto made = std::make_shared<Object>();
      made->kind = Object::made, made->name = path, made->sizes = sizes_in(arguments(e, l).by_place);
      return {made};
    }
    return call_of_path(ops_, path, arguments(e, l));
  }
  Value call_method(const Object& o, const Expression& e, Locals& l) {
    if (o.statement) {
      const bool itself = o.statement->parameters.empty() || o.statement->parameters[0].name == "self" ||
                          o.statement->parameters[0].name == "ctx";
      static const std::regex values_alone(R"(^_?(reset|init)\w*(param|weight)\w*$)");
      if (makes_ && std::regex_match(o.name, values_alone)) return {};
      return call_function(*o.statement, itself ? o.self : nullptr, arguments(e, l));
    }
    if (o.name == "register_buffer" || o.name == "register_parameter") {
      const PythonArguments a = arguments(e, l);
      const Value *name = a.find("name", 0), *v = a.find(o.name == "register_buffer" ? "tensor" : "param", 1);
      if (!name || !v || !std::holds_alternative<std::string>(name->is)) throw NotFollowed{};
      o.self->attributes[std::get<std::string>(name->is)] = parameter(*v);
      return {};
    }
    for (const char* quiet : {"eval", "train", "to", "cuda", "float", "half", "bfloat16", "double", "save_for_backward",
                              "mark_non_differentiable", "set_materialize_grads"})
      if (o.name == quiet) return {o.self};
    throw NotFollowed{};
  }
  bool is_instance(const Value& v, const Expression& types) const {
    std::vector<const Expression*> all;
    if (types.kind == Expression::tuple)
      for (const Expression& each : types.parts) all.push_back(&each);
    else
      all.push_back(&types);
    return std::any_of(all.begin(), all.end(), [&](const Expression* t) {
      return t->word == "int"     ? std::holds_alternative<int64_t>(v.is)
             : t->word == "float" ? std::holds_alternative<double>(v.is)
             : t->word == "bool"  ? std::holds_alternative<bool>(v.is)
             : t->word == "str"   ? std::holds_alternative<std::string>(v.is)
             : t->word == "tuple" || t->word == "list" || t->word == "Iterable" ? list_in(v) != nullptr
             : t->word == "Tensor"                                              ? tensor_in(v) != nullptr
                                                                                : throw NotFollowed{};
    });
  }

  const ConvProblem& p_;
  const Given& given_;
  std::map<std::string, const PythonFunction*> functions_;
  std::set<std::string> walking_;
  std::vector<const Statement*> running_;  // functions, the innermost last
  std::vector<std::string> asked_;         // what the module's __init__() is given, in the usual names
  bool makes_ = false, has_bias_ = false, has_weights_ = false;  // of the layer's sizes
  bool takes_bias_ = false;                                      // __init__() is told whether there is one
  int deep_ = 0;
};

}  // namespace

Tensor python_module(const ConvProblem& p, const Given& given, const char* text,
                     std::span<const PythonFunction> functions, const PythonOperations& operations) {
  const auto file = python_file(text);
  return Module(*file, p, given, functions, operations).result();
}

}  // namespace host

}  // namespace convscope
