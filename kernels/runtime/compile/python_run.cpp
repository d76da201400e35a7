#include "kernels/runtime/compile/python_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>

#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/load_inline.h"
#include "kernels/runtime/compile/not_followed.h"
#include "kernels/runtime/compile/noted.h"
#include "kernels/runtime/compile/python_edits.h"
#include "kernels/runtime/compile/python_walk.h"
#include "kernels/runtime/compile/python_weights.h"

namespace convscope {
namespace host {
namespace {

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

  InlineSources sources() {
    InlineSources all;
    sought_ = &all;
    try {
      result();
    } catch (const Sought&) {
    } catch (const std::exception&) {
      if (all.cuda.empty()) throw;
    }
    return all;
  }
  Tensor result() {
    const Statement* type = module_of(file_);
    auto self = std::make_shared<Object>();
    self->kind = Object::instance, self->statement = type;
    look_at_class(*type, *self);
    // A method that is kept in one would keep its module, whether this returns or is refused.
    struct Cleared {
      Object& module;
      ~Cleared() { module.attributes.clear(); }
    } cleared{*self};
    const Statement* init = method_of(file_, type, "__init__");
    ops_.made_on = kCPU;
    look_at_default_type(file_.text, type_);
    if (init) {
      makes_ = true;
      call_function(*init, self, of_the_layer(*init));
      makes_ = false;
      if (!own_parameters_) note_packed();
    } else if (is_layer(file_, *type)) {
      PythonArguments all;
      takes_bias_ = true;
      for (const char* name : of_a_layer) all.by_name[name] = *number_of_layer(p_, name);
      self->attributes = object_in(layer(all))->attributes;
    }
    const Statement& forward = *method_of(file_, type, "forward");
    const PythonArguments given = of_the_call(forward);
    allow(init);
    const Value y = call_function(forward, self, given);
    if (const Tensor* t = tensor_in(y)) return *t;
    if (auto list = list_in(y); list && !list->empty() && tensor_in(list->front())) return *tensor_in(list->front());
    throw FailsInPyTorch(fmt::format("its forward() returns {}, where a tensor belongs", kind_of(y)));
  }

 private:
  // ---- what is given

  PythonArguments of_the_layer(const Statement& init) {
    PythonArguments a;
    for (size_t i = 1; i < init.parameters.size(); i++) {
      const PythonParameter& p = init.parameters[i];
      if (p.stars == 2)  // as nn.ConvTranspose1d is made
        for (const char* name : of_a_layer)
          if (takes_bias_ = true; !a.by_name.contains(name) && !is_left_out(name))
            a.by_name[name] = *number_of_layer(p_, name), asked_.push_back(name);
      if (p.stars) continue;
      if (auto v = number_of_layer(p_, p.name))
        a.by_name[p.name] = *v, asked_.push_back(usual_meaning(p.name, false)), takes_bias_ |= v->is.index() == 1;
      else if (p.value.kind == Expression::nothing)
        throw NotFollowedHere(fmt::format(
            "its module is made with `{}`, of which its name does not tell what it is. {}", p.name, instead));
    }
    return a;
  }
  // What nobody writes who has no need of it, and not every layer takes.
  bool is_left_out(std::string_view name) const {
    return (name == "groups" && p_.groups == 1) || (name == "output_padding" && p_.output_padding == 0) ||
           (name == "dilation" && p_.dilation == 1);
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
      else if (auto v = number_of_layer(p_, p.name))
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
    if (p_.bias && !has_bias_ && takes_bias_) throw WrongWeights("its module is asked for a bias and makes none");
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
  static Value extension() {
    auto o = std::make_shared<Object>();
    o->kind = Object::extension;
    return {o};
  }
  Value global(const std::string& name) override {
    if (const auto known = global_value(name)) return *known;
    if (name == "__file__") return unknown_text();
    const auto import = file_.imports.find(name);
    const std::string path = import == file_.imports.end() ? "" : import->second;
    if (path.starts_with("torch.") || path.starts_with("math.")) return value_of_path(path);
    if (functions_.contains(name)) return host_function(name);
    if (!path.empty()) return value_of_path(path);
    static const std::map<std::string, std::string> short_names = {
        {"F", "torch.nn.functional"}, {"nn", "torch.nn"}, {"functional", "torch.nn.functional"}};
    const auto known = short_names.find(name);
    Value v = python_path(known == short_names.end() ? name : known->second);
    object_in(v)->bare = import == file_.imports.end() && known == short_names.end() && !is_pythons(name);
    return v;
  }
  Value attribute(const Value& of, const std::string& name) override {
    if (auto t = tensor_in(of)) return stays(tensor_attribute(*t, name));
    const PythonObjectPointer o = object_in(of);
    if (o && o->kind == Object::unknown && is_of_a_file(name)) return unknown_text();
    if (!o || o->kind == Object::unknown) throw NotFollowed{};
    if (auto own = o->attributes.find(name); own != o->attributes.end()) return own->second;
    if (o->kind == Object::stream || o->kind == Object::event) return stream_attribute(*o, name);
    if (functions_.contains(name) && o->kind != Object::instance) return host_function(name);
    switch (o->kind) {
      case Object::path:
        return value_of_path(o->name + "." + name);
      case Object::host_function:  // an overload of torch.ops
        return name == "default" ? of : throw NotFollowed{};
      case Object::extension:
        return host_function(name);  // one that there is not: said where it is called
      case Object::layer:
      case Object::instance: {
        if (name == "training") return {false};
        const Statement* m = o->statement ? method_of(file_, o->statement, name) : nullptr;
        if (!m && o->statement)
          if (auto v = class_attribute(*o->statement, name)) return *v;
        if (!m && name != "__class__" && !is_known_method(name)) throw NotFollowed{};
        if (m && (is_decorated(*m, "property") || is_decorated(*m, "cached_property"))) return call_function(*m, o, {});
        auto made = std::make_shared<Object>();
        made->kind = Object::method, made->name = name, made->statement = m, made->self = o;
        if (m && is_decorated(*m, "classmethod")) made->self = object_in(global(o->statement->word));
        if (name == "__class__" && o->statement) return global(o->statement->word);
        return {made};
      }
      case Object::type:
        if (name == "__name__" || name == "__qualname__") return {o->statement->word};
        if (name == "apply" && is_autograd(*o->statement))
          if (const Statement* forward = method_of(file_, o->statement, "forward")) {
            auto made = std::make_shared<Object>();
            made->kind = Object::method, made->name = name, made->statement = forward;
            made->self = std::make_shared<Object>();  // ctx
            made->self->kind = Object::layer;
            return {made};
          }
        if (const Statement* m = method_of(file_, o->statement, name)) {
          if (!is_decorated(*m, "classmethod")) return function_value(*m);
          auto made = std::make_shared<Object>();
          made->kind = Object::method, made->name = name, made->statement = m, made->self = o;
          return {made};
        }
        if (auto v = class_attribute(*o->statement, name)) return *v;
        throw NotFollowed{};
      default:
        throw NotFollowed{};
    }
  }
  bool has_attribute(const Object& o, const std::string& name) {
    if (o.kind == Object::extension || o.kind == Object::path) return functions_.contains(name);
    return o.attributes.contains(name) ||
           (o.statement && o.kind != Object::layer &&
            (method_of(file_, o.statement, name) || class_attribute(*o.statement, name)));
  }

  // ---- calls

  Value call_host(const std::string& name, const PythonArguments& a) {
    const auto known = functions_.find(name);
    if (known == functions_.end()) {
      if (sought_ && !sought_->cuda.empty()) throw Sought{};
      const std::string why = not_bound_inline(file_.text, name);
      if (why.empty()) throw NotFollowed{};
      throw std::runtime_error(why);
    }
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
      refuse_call(file_.text, name, f, a.by_place.size(), a.by_name.size());
    try {
      return f.call(given);
    } catch (const WrongArgument& e) {
      auto like = [&](const Value& v) { return kind_of(v) == e.kind; };
      // Of several alike nobody knows which.
      const bool known = std::count_if(given.begin(), given.end(), like) == 1;
      const auto place = std::find_if(given.begin(), given.end(), like) - given.begin() + 1;
      throw FailsInPyTorch(fmt::format("{}() is given {}{}, where {} belongs", name, e.kind,
                                       known ? fmt::format(" as its argument {}", place) : "", e.wanted));
    }
  }
  // nn.ConvTranspose1d(…): its weights are the problem's, its numbers what it is given.
  Value layer(const PythonArguments& a) {
    auto o = std::make_shared<Object>();
    o->kind = Object::layer;
    look_at_dtype(a, "nn.ConvTranspose1d", type_);
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
      o->attributes[name] = one && !list_in(value) ? python_tuple({value}) : value;
      if (std::string_view(name) == "bias") {
        const bool has = truth_of(value);
        has_bias_ |= has;
        o->attributes[name] = has ? bias() : Value{};
      }
    }
    const Value* mode = a.find("padding_mode", 9);
    o->attributes["padding_mode"] = mode ? *mode : Value{std::string("zeros")};
    o->attributes["transposed"] = {true};
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
    if (o->sizes == weights) return note_made(*o), has_weights_ = true, Value{given_.tensor(w)};
    if (o->sizes == Sizes{p_.out_channels} && p_.bias) return has_bias_ = true, bias();
    // Where none is asked for it stands in for one: zeros, which is what initialising leaves of empty memory too.
    if (o->sizes == Sizes{p_.out_channels} && o->name == "torch.empty") o->name = "torch.zeros";
    const bool whole = o->sizes == Sizes{p_.in_channels, p_.out_channels, p_.kernel_size};
    if (whole && p_.groups != 1 && !has_weights_ && !takes({"g", "groups"})) refuse("takes no groups");
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
        if (callee.word == "load_inline") note_sources(e, l);
        return extension();
      }
      if (callee.word == "super") {
        auto self = l.find("self");
        auto o = std::make_shared<Object>();
        o->kind = Object::parent, o->self = self == l.end() ? nullptr : object_in(self->second);
        // The parent of the class whose method this is, which need not be the object's.
        if (!running_.empty()) o->statement = class_of(file_, running_.back());
        return {o};
      }
      if (callee.word == "setattr" && e.parts.size() == 4) {
        const auto o = object_in(value_of(e.parts[1], l));
        if (!o) throw NotFollowed{};
        o->attributes[string_of(value_of(e.parts[2], l))] = settled(value_of(e.parts[3], l));
        return {};
      }
      if (callee.word == "next" && e.parts.size() > 1) return first_of(e, l);
      if (callee.word == "update" && callee.kind == Expression::attribute && callee.parts[0].word == "__dict__" &&
          callee.parts[0].kind == Expression::attribute)
        return update_attributes(value_of(callee.parts[0].parts[0], l), arguments(e, l));
      if (callee.word == "isinstance" && e.parts.size() == 3) return {is_instance(value_of(e.parts[1], l), e.parts[2])};
      if ((callee.word == "hasattr" || callee.word == "getattr") && e.parts.size() > 2)
        if (auto name = value_of(e.parts[2], l); std::holds_alternative<std::string>(name.is))
          if (const Value of = value_of(e.parts[1], l); object_in(of)) {
            const bool has = has_attribute(*object_in(of), std::get<std::string>(name.is));
            if (callee.word == "hasattr") return {has};
            return has || e.parts.size() == 3 ? attribute(of, std::get<std::string>(name.is)) : value_of(e.parts[3], l);
          }
    }
    if (callee.kind == Expression::attribute) {
      const Value of = value_of(callee.parts.front(), l);
      if (auto o = object_in(of); o && o->kind == Object::made) return made_anew(*o, callee.word, arguments(e, l));
      if (auto s = std::get_if<std::string>(&of.is)) return string_method(*s, callee.word, arguments(e, l));
      if (auto names = names_in(of)) return names_method(*names, callee.word, arguments(e, l));
      if (auto list = std::get_if<std::shared_ptr<Value::List>>(&of.is))
        return list_method(**list, callee.word, arguments(e, l));
      if (auto o = object_in(of); o && (o->kind == Object::stream || o->kind == Object::event))
        return stream_method(*o, callee.word, arguments(e, l));
      if (auto o = object_in(of); o && o->kind == Object::sequence && callee.word == "append")
        return list_method(*o->elements, callee.word, arguments(e, l));
      if (auto o = object_in(of); o && o->kind == Object::instance && o->elements)
        if (auto v = record_method(o, callee.word, arguments(e, l))) return *v;
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
    // Before its arguments: an extension's sources are of no matter, nor what weights are to begin with; what is
    // written for people is not written here.
    static const std::regex values_alone(R"(^_?(reset|init)\w*(param|weight)\w*$)");
    if (o->kind == Object::method && o->statement && makes_ && std::regex_match(o->name, values_alone))
      return note_own_values(*o->statement), Value{};
    if (o->kind == Object::path) {
      if (only_says(o->name) && !calls_something(e)) return {};
    }
    return called(f, arguments(e, l));
  }
  Value called(const Value& f, const PythonArguments& a) override {
    const PythonObjectPointer o = object_in(f);
    if (!o) throw NotFollowed{};
    switch (o->kind) {
      case Object::host_function:
        return call_host(o->name, a);
      case Object::function:
        return call_function(*o->statement, nullptr, a, o->around.get());
      case Object::method:
        return call_method(*o, a);
      case Object::instance:
        for (const char* name : {"__call__", "forward"})
          if (const Statement* m = o->statement ? method_of(file_, o->statement, name) : nullptr)
            return call_function(*m, o, a);
        throw NotFollowed{};
      case Object::partial: {
        PythonArguments all = a;
        all.by_place.insert(all.by_place.begin(), o->elements->begin(), o->elements->end());
        for (const auto& [name, v] : o->entries) all.by_name.emplace(string_of(name), v);
        return called(o->attributes.at("func"), all);
      }
      case Object::sequence: {
        if (a.by_place.size() != 1 || !a.by_name.empty()) throw NotFollowed{};
        Value v = a.by_place.front();
        for (const Value& each : Value::List(*o->elements)) v = called(each, {{v}, {}});
        return v;
      }
      case Object::tuples:
        return named_tuple(*o, a);
      case Object::type:
        return made_of(*o->statement, a);
      case Object::path:
        return called_by_path(o->name, a);
      default:
        throw NotFollowed{};
    }
  }
  Value made_of(const Statement& type, const PythonArguments& a) {
    if (is_enumeration(type)) {
      const auto found = a.by_place.size() == 1 ? member(type, "", &a.by_place.front()) : std::nullopt;
      return found ? *found : throw NotFollowed{};
    }
    auto made = std::make_shared<Object>();
    made->kind = Object::instance, made->statement = &type;
    const bool own_init = std::any_of(type.body.begin(), type.body.end(), [](const Statement& s) {
      return s.kind == Statement::function && s.word == "__init__";
    });
    look_at_class(type, *made);
    if (has_fields(type) && !own_init)
      fields(made, a);
    else if (const Statement* init = method_of(file_, &type, "__init__"))
      call_function(*init, made, a);
    else if (is_record(type))
      fields(made, a);
    else if (is_layer(file_, type))
      made->attributes = object_in(layer(a))->attributes;
    else if (!a.by_place.empty() || !a.by_name.empty())
      throw NotFollowed{};  // they are for what it is made from, which is not known
    return {made};
  }
  Value called_by_path(const std::string& path, const PythonArguments& a) {
    if (path == "torch.nn.ConvTranspose1d") return layer(a);
    if (path == "torch.nn.Module.__init__") return {};
    if (path.ends_with(".weight_norm") && !a.by_place.empty()) return note_normalised(), a.by_place.front();
    if (path.starts_with("torch.nn.init.")) note_own_values(path, a);
    if (path == "torch.nn.Parameter" || path == "torch.nn.parameter.Parameter") {
      own_parameters_ |= !a.by_place.empty() && tensor_in(a.by_place.front());  // to which what is loaded goes
      return parameter(a.find("data", 0) ? *a.find("data", 0) : Value{});
    }
    if (path == "pathlib.Path") return unknown_text();
    if (path == "type" && a.by_place.size() == 1) return type_of(a.by_place.front());
    if (auto v = calling_function(path, a)) return *v;
    static const std::vector<std::string> of_values = {"torch.randn", "torch.rand", "torch.Tensor",
                                                       "torch.FloatTensor"},
                                          in_init = {"torch.empty", "torch.zeros", "torch.ones"};
    if (path == "torch.Tensor" && a.by_place.empty()) return {empty({0}, TensorOptions(ScalarType::Float, kCPU))};
    auto is_of = [&](const auto& list) { return std::find(list.begin(), list.end(), path) != list.end(); };
    if (is_of(of_values) || (makes_ && is_of(in_init))) {
      auto made = std::make_shared<Object>();
      look_at_dtype(a, path, type_);
      made->kind = Object::made, made->name = path, made->sizes = sizes_in(a.by_place);
      return {made};
    }
    return call_of_path(ops_, path, a);
  }
  Value call_method(const Object& o, const PythonArguments& a) {
    if (o.statement) {
      const bool itself = o.statement->parameters.empty() || o.statement->parameters[0].name == "self" ||
                          o.statement->parameters[0].name == "ctx" || is_decorated(*o.statement, "classmethod");
      return call_function(*o.statement, itself ? o.self : nullptr, a);
    }
    if (!is_known_method(o.name)) throw NotFollowed{};
    if (o.name == "reset_parameters") {  // of a layer, whose values are the problem's before it and behind it
      if (!makes_ || o.self->kind != Object::layer || launches_so_far()) throw NotFollowed{};
      return {};
    }
    if (o.name == "register_buffer" || o.name == "register_parameter") {
      const Value *name = a.find("name", 0), *v = a.find(o.name == "register_buffer" ? "tensor" : "param", 1);
      if (!name || !v || !std::holds_alternative<std::string>(name->is)) throw NotFollowed{};
      o.self->attributes[std::get<std::string>(name->is)] = parameter(*v);
      return {};
    }
    if (o.name == "_output_padding") {  // of nn.ConvTranspose1d, for an output of the usual length
      const Value* asked = a.find("output_size", 1);
      return !asked || is_none(*asked) ? o.self->attributes.at("output_padding") : throw NotFollowed{};
    }
    look_at_conversion(o.name, a, type_);
    return {o.self};
  }
  const ConvProblem& p_;
  const Given& given_;
  const ScalarType type_ = given_.tensor(x).scalar_type();  // of the problem's tensors
  std::map<std::string, const PythonFunction*> functions_;
  std::vector<std::string> asked_;  // what the module's __init__() is given, in the usual names
  bool makes_ = false, has_bias_ = false, has_weights_ = false;  // of the layer's sizes
  bool own_parameters_ = false;                                  // that __init__() computes
  bool takes_bias_ = false;                                      // __init__() is told whether there is one
};

}  // namespace

InlineSources python_sources(const ConvProblem& p, const Given& given, const char* text, const PythonOperations& ops) {
  const auto file = python_file(text);
  return Module(*file, p, given, {}, ops).sources();
}

Tensor python_module(const ConvProblem& p, const Given& given, const char* text,
                     std::span<const PythonFunction> functions, const PythonOperations& operations) {
  const auto file = python_file(followed_text(text));
  return Module(*file, p, given, functions, operations).result();
}

}  // namespace host

}  // namespace convscope
