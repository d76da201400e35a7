#include "kernels/runtime/compile/python_weights.h"

#include <cmath>
#include <fmt/format.h>
#include <regex>

#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/not_followed.h"
#include "kernels/runtime/compile/noted.h"
#include "kernels/runtime/compile/python_run.h"

namespace convscope::host {

void look_at_sizes(const ConvProblem& p, const Sizes& own) {
  const int64_t in = p.in_channels, out = p.out_channels, K = p.kernel_size;
  struct Other {
    Sizes sizes;
    const char* words;
  };
  for (const Other& o : {Other{{out, in / p.groups, K}, "[Cout, Cin/groups, K], as nn.Conv1d's are"},
                         Other{{in, out, K}, "[Cin, Cout, K], with no groups"},
                         Other{{K, in, p.out_per_group()}, "[K, Cin, Cout/groups]"},
                         Other{{K, p.out_per_group(), in}, "[K, Cout/groups, Cin]"},
                         Other{{in, K, p.out_per_group()}, "[Cin, K, Cout/groups]"},
                         Other{{p.out_per_group(), K, in}, "[Cout/groups, K, Cin]"}})
    if (own == o.sizes)
      throw WrongWeights(fmt::format(
          "its module's weight has sizes [{}], where nn.ConvTranspose1d's has [{}, {}, {}]: it is {}, and the layer's "
          "is [Cin, Cout/groups, K]",
          fmt::join(own, ", "), in, p.out_per_group(), K, o.words));
}

void look_at_layer(const ConvProblem& p, const std::map<std::string, PythonValue>& attributes) {
  auto number = [&](const char* name) -> std::optional<int64_t> {
    PythonValue v = attributes.at(name);
    if (auto list = list_in(v); list && list->size() == 1) v = PythonValue(list->front());
    auto n = std::get_if<int64_t>(&v.is);
    return n ? std::optional(*n) : std::nullopt;
  };
  const auto in = number("in_channels"), out = number("out_channels"), taps = number("kernel_size"),
             groups = number("groups");
  if (!in || !out || !taps || !groups || *groups < 1) return;
  const Sizes own{*in, *out / *groups, *taps}, asked{p.in_channels, p.out_per_group(), p.kernel_size};
  if (own == asked) return;
  struct Number {
    const char* name;
    int64_t own, asked;
  };
  std::string why = "in_channels and out_channels are exchanged";
  if (*in == *out || *in != p.out_channels || *out != p.in_channels)
    for (const Number& n : {Number{"in_channels", *in, p.in_channels}, Number{"out_channels", *out, p.out_channels},
                            Number{"groups", *groups, p.groups}, Number{"kernel_size", *taps, p.kernel_size}})
      if (n.own != n.asked) why = fmt::format("its {} is {}, where {} belongs", n.name, n.own, n.asked);
  throw WrongWeights(
      fmt::format("its module's nn.ConvTranspose1d has weights of sizes [{}], where the layer's has [{}]: {}",
                  fmt::join(own, ", "), fmt::join(asked, ", "), why));
}

namespace {

void look_at_type(ScalarType own, const std::string& how, ScalarType asked) {
  const bool number =
      own == ScalarType::Float || own == ScalarType::Double || own == ScalarType::Half || own == ScalarType::BFloat16;
  if (number && own != asked)
    refuse("is made in ", name_of(own), " (", how, "), and the problem is in ", name_of(asked),
           own == ScalarType::Half       ? " (--dtype f16 asks for it)"
           : own == ScalarType::BFloat16 ? " (--dtype bf16 asks for it)"
           : own == ScalarType::Double   ? " (--dtype f64 asks for it)"
                                         : "");
}

}  // namespace

void look_at_default_type(const std::string& text, ScalarType asked) {
  static const std::regex said(R"((?:^|\n)[ \t]*torch\.set_default_dtype\s*\(\s*torch\.(\w+))");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), said); it != std::sregex_iterator(); ++it) {
    const PythonValue type = value_of_path("torch." + (*it)[1].str());
    if (auto own = std::get_if<ScalarType>(&type.is)) look_at_type(*own, "torch.set_default_dtype()", asked);
  }
}

void look_at_conversion(const std::string& method, const PythonArguments& a, ScalarType asked) {
  const std::pair<const char*, ScalarType> own[] = {{"float", ScalarType::Float},
                                                    {"double", ScalarType::Double},
                                                    {"half", ScalarType::Half},
                                                    {"bfloat16", ScalarType::BFloat16}};
  for (const auto& [name, type] : own)
    if (method == name) look_at_type(type, "." + method + "()", asked);
  if (method != "to" && method != "type") return;
  for (const PythonValue& v : a.by_place)
    if (auto type = std::get_if<ScalarType>(&v.is)) look_at_type(*type, "." + method + "()", asked);
  look_at_dtype(a, "." + method + "()", asked);
}

void look_at_dtype(const PythonArguments& a, const std::string& of, ScalarType asked) {
  if (const auto named = a.by_name.find("dtype"); named != a.by_name.end())
    if (auto type = std::get_if<ScalarType>(&named->second.is)) look_at_type(*type, "dtype= of " + of, asked);
}

std::optional<PythonValue> number_of_layer(const ConvProblem& p, const std::string& name) {
  const std::string m = usual_meaning(name, false);
  const std::pair<const char*, int64_t> all[] = {{"Cin", p.in_channels},   {"in_channels", p.in_channels},
                                                 {"Cout", p.out_channels}, {"out_channels", p.out_channels},
                                                 {"K", p.kernel_size},     {"kernel_size", p.kernel_size},
                                                 {"s", p.stride},          {"stride", p.stride},
                                                 {"p", p.padding},         {"padding", p.padding},
                                                 {"op", p.output_padding}, {"output_padding", p.output_padding},
                                                 {"d", p.dilation},        {"dilation", p.dilation},
                                                 {"g", p.groups},          {"groups", p.groups},
                                                 {"N", p.batch},           {"batch", p.batch},
                                                 {"L", p.length},          {"length", p.length}};
  if (m == "bias" || name == "bias" || name == "use_bias") return PythonValue{p.bias};
  for (const auto& [word, value] : all)
    if (m == word) return PythonValue{value};
  return {};
}

namespace {

void note_values(const std::string& by) {
  note(fmt::format("its module sets its weights by {}: judged is what it computes, with the weights of the layer", by));
}

// Of the functions of torch.nn.init those that are called in it.
void initialisers(const PythonExpression& e, std::vector<std::string>& all) {
  static const std::regex others(
      R"((xavier_|kaiming_normal|orthogonal|trunc_normal|normal|zeros|ones|constant|fill|zero)\w*_)");
  if (e.kind == PythonExpression::call && std::regex_match(e.parts.front().word, others))
    all.push_back(e.parts.front().word);
  for (const PythonExpression& part : e.parts) initialisers(part, all);
}
void initialisers(const std::vector<PythonStatement>& statements, std::vector<std::string>& all) {
  for (const PythonStatement& s : statements) {
    initialisers(s.value, all);
    initialisers(s.body, all), initialisers(s.otherwise, all);
  }
}

}  // namespace

void note_own_values(const PythonStatement& method) {
  std::vector<std::string> all;
  initialisers(method.body, all);
  if (!all.empty()) note_values(fmt::format("{} in {}()", all.front(), method.word));
}

void note_own_values(const std::string& path, const PythonArguments& a) {
  const std::string name = path.substr(path.rfind('.') + 1);
  const PythonValue* of = a.find("tensor", 0);
  const Tensor* t = of ? tensor_in(*of) : nullptr;
  const int what = t ? what_of(t->address()) : 0;
  // As the layer's reset_parameters() does.
  const PythonValue* slope = a.find("a", 1);
  const double* own = slope ? std::get_if<double>(&slope->is) : nullptr;
  const bool usual = (name == "kaiming_uniform_" && own && std::abs(*own - std::sqrt(5.0)) < 1e-6) ||
                     (name == "uniform_" && what == b) || name.starts_with("_");
  if (!usual && (what == w || what == b)) note_values("nn.init." + name);
}

void note_made(const PythonObject& weights) {
  if (weights.name == "torch.randn" || weights.name == "torch.rand" || weights.name == "torch.ones" ||
      weights.name == "torch.zeros")
    note_values(weights.name);
}

void note_normalised() {
  note("its layer is given to weight_norm(): judged is what it computes, with the weights of the layer");
}

void note_packed() {
  if (launches_take(w))
    note("its __init__() works on its weights: what is loaded into the module later, or trained, does not reach that");
}

void refuse_call(const std::string& text, const std::string& name, const PythonFunction& f, size_t by_place,
                 size_t by_name) {
  const std::string gives = fmt::format("its module gives {}() {} values{}; it takes {}", name, by_place + by_name,
                                        by_name ? ", some by name" : "", f.parameters);
  // Of several functions of one name another may be meant.
  const auto bound = python_bindings(text);
  static const auto times = [](const std::string& in, const std::string& what) {
    size_t n = 0;
    for (size_t at = 0; (at = in.find(what, at)) != in.npos; at++) n++;
    return n;
  };
  if (!bound.contains(name) || times(text, "def(\"" + name + "\"") > 1) throw NotFollowedHere(gives);
  const bool names = f.names[0] == '\0' && by_name;
  throw FailsInPyTorch(names ? fmt::format("{}() is called with names of its arguments, of which its binding has none "
                                           "(py::arg)",
                                           name)
                             : gives);
}

}  // namespace convscope::host
