#include "kernels/runtime/compile/python_weights.h"

#include <fmt/format.h>
#include <regex>

#include "kernels/runtime/compile/launch_lines.h"
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
    refuse("is made in ", name_of(own), " (", how, "), and the problem is in ", name_of(asked));
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

}  // namespace convscope::host
