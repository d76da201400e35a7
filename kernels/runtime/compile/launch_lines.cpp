#include "kernels/runtime/compile/launch_lines.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/problem/dtype.h"
#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_bounds.h"

namespace convscope {
namespace {

// What expressions may name, each with the problem's value (p is a ConvProblem).
struct Parameter {
  const char* name;
  const char* value;
};
constexpr Parameter parameters[] = {{"N", "p.batch"},
                                    {"Cin", "p.in_channels"},
                                    {"Cout", "p.out_channels"},
                                    {"K", "p.kernel_size"},
                                    {"L", "p.length"},
                                    {"Lout", "p.out_length()"},
                                    {"s", "p.stride"},
                                    {"p", "p.padding"},
                                    {"op", "p.output_padding"},
                                    {"d", "p.dilation"},
                                    {"g", "p.groups"},
                                    {"batch", "p.batch"},
                                    {"in_channels", "p.in_channels"},
                                    {"out_channels", "p.out_channels"},
                                    {"kernel_size", "p.kernel_size"},
                                    {"length", "p.length"},
                                    {"out_length", "p.out_length()"},
                                    {"stride", "p.stride"},
                                    {"padding", "p.padding"},
                                    {"output_padding", "p.output_padding"},
                                    {"dilation", "p.dilation"},
                                    {"groups", "p.groups"},
                                    {"bias", "int64_t{p.bias}"}};
constexpr std::string_view functions[] = {"ceil_div", "min", "max"};
constexpr std::string_view tensors[] = {"x", "w", "b", "y"};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : std::string(text) + " ") {
    if (!std::isspace(static_cast<unsigned char>(c)))
      word += c;
    else if (!word.empty())
      words.push_back(std::exchange(word, ""));
  }
  return words;
}

// What parameters of kernels are usually called besides, in small letters and without underscores (in_len and inLen are
// one).
const std::map<std::string, std::string, std::less<>>& usual_names() {
  static const auto all = [] {
    const std::pair<const char*, const char*> names[] = {
        {"x", "input in inp"},
        {"w", "weight weights wt kernel filter"},
        {"y", "output out"},
        {"b", "biasptr"},
        {"N", "n batchsize bsize bs bsz batches nbatch"},
        {"Cin", "cin inch inchannels inputchannels channelsin inc ic"},
        {"Cout", "cout outch outchannels outputchannels channelsout outc oc"},
        {"K", "k ksize ks ker kernelsize kernellength kernellen klen kernelwidth kernelw kwidth kw"},
        {"L",
         "l lin inlength inputlength lengthin inputsize insize inlen inputlen lenin seqlen inwidth "
         "inputwidth widthin win inw iw tin"},
        {"Lout",
         "lout outlength outputlength lengthout outputsize outsize outlen outputlen lenout outwidth "
         "outputwidth widthout wout outw ow tout"},
        {"s", "str strd"},
        {"p", "pad"},
        {"op", "outpadding outputpadding outpad outputpad opad"},
        {"d", "dil"},
        {"g", "group"},
        {"bias", "hasbias usebias withbias"},
        {"c", "c"}};
    std::map<std::string, std::string, std::less<>> map;
    for (const auto& [meaning, list] : names)
      for (const auto& name : words_of(list)) map.emplace(name, meaning);
    return map;
  }();
  return all;
}

std::string without(std::string text, char c) {
  std::erase(text, c);
  return text;
}

struct Line {
  int number = 0;
  std::string function;
  std::map<std::string, std::string> values;  // of grid, block, …
};

[[noreturn]] void refuse(const std::string& name, int line, const std::string& word, const std::string& rule) {
  throw InputError("kernel", fmt::format("{}:{}", name, line), fmt::format("`{}` {}", word, rule));
}

std::optional<Line> line_of(std::string_view text, int number, const std::string& name) {
  constexpr std::string_view mark = "// convscope:";
  const size_t at = text.find_first_not_of(" \t");
  if (at == text.npos || text.substr(at, mark.size()) != mark) return {};
  const auto words = words_of(text.substr(at + mark.size()));
  Line line;
  line.number = number;
  if (!words.empty() && words[0] == "call") return {};  // of host code (host_code.h)
  if (words.empty() || words[0] != "launch")
    refuse(name, number, words.empty() ? "convscope:" : words[0], "is no word of such a line: `launch FUNCTION …`");
  if (words.size() < 2 || words[1].find('=') != words[1].npos)
    refuse(name, number, "launch", "needs the name of a __global__ function after it");
  line.function = words[1];
  static const std::regex function_name(R"((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*(<[\w,:]*>)?)");
  if (!std::regex_match(line.function, function_name)) refuse(name, number, line.function, "is no function's name");
  const std::vector<std::string> keys = {"grid", "block", "shared", "args", "supports", "type", "accuracy"};
  for (size_t i = 2; i < words.size(); i++) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    if (equals == words[i].npos || std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse(name, number, words[i],
             "is none of grid=, block=, shared=, args=, supports=, type=, accuracy=; "
             "values have no blanks in them");
    if (!line.values.emplace(key, words[i].substr(equals + 1)).second)
      refuse(name, number, words[i], "is given a second time");
  }
  for (const char* needed : {"grid", "block", "args"})
    if (!line.values.contains(needed))
      refuse(name, number, "launch " + line.function, fmt::format("needs {}=", needed));
  for (const char* shape : {"grid", "block"}) {
    const auto parts = list_parts(line.values[shape]);
    if (parts.size() > 3)
      refuse(name, number, std::string(shape) + "=" + line.values[shape], "has more than three sizes");
    for (const auto& part : parts) check_expression(name, line.number, shape, part);
  }
  for (const char* one : {"shared", "supports"})
    if (line.values.contains(one)) check_expression(name, line.number, one, line.values[one]);
  for (const auto& part : list_parts(line.values["args"])) {
    const bool tensor = part == "c" || std::find(std::begin(tensors), std::end(tensors), part) != std::end(tensors);
    if (!tensor) check_expression(name, line.number, "args", part);
  }
  if (line.values.contains("type") && !dtype_from(line.values["type"]))
    refuse(name, number, "type=" + line.values["type"], "must be " + std::string(dtype_names));
  if (auto a = line.values.find("accuracy");
      a != line.values.end() && a->second != "strict" && a->second != "3xtf32" && a->second != "tf32")
    refuse(name, number, "accuracy=" + a->second, "must be strict, 3xtf32 or tf32");
  return line;
}

std::vector<Line> lines_of(std::string_view text, const std::string& name) {
  std::vector<Line> lines;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (auto line = line_of(text.substr(at, end - at), ++number, name)) lines.push_back(*line);
    at = end + 1;
  }
  return lines;
}

}  // namespace

// At the commas that no bracket holds.
std::vector<std::string> list_parts(const std::string& list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : list) {
    depth += c == '(' || c == '<';
    depth -= c == ')' || c == '>';
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// Of an expression: only what is known stands in it, so that it is C++ that means what it says.
void check_expression(const std::string& name, int number, const std::string& key, const std::string& text) {
  const std::string word = key + "=" + text;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (std::isalpha(c) || c == '_') {
      size_t end = i;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) end++;
      const std::string found = text.substr(i, end - i);
      const bool known =
          std::any_of(std::begin(parameters), std::end(parameters), [&](const auto& p) { return found == p.name; }) ||
          std::find(std::begin(functions), std::end(functions), found) != std::end(functions);
      if (!known) {
        std::vector<std::string> all(std::begin(functions), std::end(functions));
        for (const auto& p : parameters) all.emplace_back(p.name);
        std::string near = nearest_name(found, all), list = key == "args" ? "c, x, w, b, y" : "";
        for (const auto& p : parameters) list += std::string(list.empty() ? "" : ", ") + p.name;
        refuse(name, number, word,
               fmt::format("names {}, which is none of {}{}", found, list,
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)));
      }
      i = end;
      continue;
    }
    if (c == '(') depth++;
    if (c == ')' && --depth < 0) refuse(name, number, word, "has a bracket too many");
    if (!std::isdigit(c) && std::string_view("+-*/%()<>=!&|,").find(text[i]) == std::string_view::npos)
      refuse(name, number, word,
             fmt::format("has a '{}': expressions are of numbers, parameters, + - * / % ( )", text[i]));
    i++;
  }
  if (depth != 0) refuse(name, number, word, "lacks a bracket");
  if (text.empty()) refuse(name, number, word, "is empty");
}

std::string names_of_problem() {
  std::string out =
      "    const ::convscope::ConvProblem& convscope_problem = *convscope_given;\n    using ::convscope::ceil_div;\n";
  for (const auto& p : parameters) {
    std::string value = p.value;
    value.replace(value.find("p."), 2, "convscope_problem.");
    out += fmt::format("    [[maybe_unused]] const int64_t {} = {};\n", p.name, value);
  }
  return out;
}

std::string undefined_names() {
  std::string out;
  for (const auto& p : parameters) out += fmt::format("#undef {}\n", p.name);
  for (const char* type : {"ConvArgs", "TensorMap"}) out += fmt::format("#undef {}\n", type);  // includes_before()
  return out;
}

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + "\"";
}

// The first sentence of a file's head comment.
std::string idea_of(std::string_view text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("//") || line.find("convscope:") != line.npos) break;
    line.remove_prefix(2);
    while (line.starts_with(" ")) line.remove_prefix(1);
    if (line.empty()) break;
    if (!out.empty()) out += ' ';
    out += line;
    if (const size_t stop = out.find(". "); stop != out.npos) return out.substr(0, stop);
  }
  while (out.ends_with(".") || out.ends_with("\r")) out.pop_back();
  return out.size() > 160 ? out.substr(0, 157) + "…" : out;
}

std::string fields_not_in(const std::vector<std::string>& expressions) {
  static const std::pair<const char*, std::set<std::string>> fields[] = {
      {"stride", {"s", "stride"}},
      {"padding", {"p", "padding"}},
      {"output_padding", {"op", "output_padding", "Lout", "out_length"}},
      {"dilation", {"d", "dilation"}},
      {"groups", {"g", "groups"}},
  };
  std::set<std::string> names;
  static const std::regex word(R"([A-Za-z_]\w*)");
  for (const auto& e : expressions)
    for (auto it = std::sregex_iterator(e.begin(), e.end(), word); it != std::sregex_iterator(); ++it)
      names.insert(it->str());
  if (names.contains("c")) return "";  // a ConvArgs, which has all
  std::string list;
  for (const auto& [field, known_as] : fields)
    if (std::none_of(known_as.begin(), known_as.end(), [&](const auto& n) { return names.contains(n); }))
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", field);
  return list.empty() ? "" : fmt::format("  not_given({{{}}});\n", list);
}

// up::k<up::T> is k<up::T>: a driver knows it by its last name (for_gpu.h).
static std::string_view without_namespaces(std::string_view function) {
  const size_t end = std::min(function.find('<'), function.size()), at = function.substr(0, end).rfind("::");
  return at == function.npos ? function : function.substr(at + 2);
}

// With the namespaces of the only kernel of that name, where the line leaves them out.
static std::string qualified(const std::string& function, const std::string& code) {
  const std::string name = function.substr(0, function.find('<'));
  if (name.find("::") != name.npos) return function;
  std::set<std::string> around;
  for (const GlobalFunction& f : global_functions(code))
    if (f.name == name) around.insert(namespaces_at(code, f.begin));
  return around.size() == 1 ? *around.begin() + function : function;
}

std::string registration_of_lines(std::string_view text, const std::string& name) {
  std::vector<Line> lines = lines_of(text, name);
  if (lines.empty()) return "";
  const std::string code = with_short_blanks(code_of(text), true);
  for (Line& line : lines) line.function = qualified(line.function, code);
  const auto bounded = with_launch_bounds(std::string(text)).names;
  const Line& first = lines.front();
  const std::string at_file = c_string(name);
  auto value = [&](const char* key, const char* otherwise) {
    auto it = first.values.find(key);
    return it == first.values.end() ? std::string(otherwise) : it->second;
  };
  const std::string type = value("type", "f32");
  std::string idea = idea_of(text);
  if (idea.empty()) idea = first.function;
  std::string identifier = last_part(first.function.substr(0, first.function.find('<')));
  // Of the comment's line a compiler's message shall speak, wherever the error is in what follows.
  auto line_is = [&](int n) { return fmt::format("#line {} {}\n", n, at_file); };
  std::string out = "\n" + undefined_names();  // the file's own may be macros
  out += line_is(first.number) + fmt::format("CONVSCOPE_KERNEL({}) {{\n  idea({});\n", identifier, c_string(idea));
  if (const std::string accuracy = value("accuracy", "strict"); accuracy != "strict")
    out += fmt::format("  accuracy(\"{}\");\n", accuracy);
  std::vector<std::string> expressions;
  for (const auto& line : lines)
    for (const auto& [key, text] : line.values) expressions.push_back(text);
  out += fields_not_in(expressions);
  out +=
      "  supports([](const ::convscope::ConvProblem& convscope_p) -> std::string {\n    const "
      "::convscope::ConvProblem* convscope_given = "
      "&convscope_p;\n" +
      names_of_problem();
  out += fmt::format("    if (convscope_problem.dtype != ::convscope::DType::{}) return \"is written for {} only\";\n",
                     type, type);
  for (const auto& line : lines)
    if (auto it = line.values.find("supports"); it != line.values.end())
      out += line_is(line.number) +
             fmt::format("    if (!({})) return {};\n", it->second, c_string("takes only problems with " + it->second));
  out +=
      "    return \"\";\n  });\n  plan([](const ::convscope::ConvProblem& convscope_p, ::convscope::Plan& "
      "convscope_plan) {\n    const "
      "::convscope::ConvProblem* convscope_given = &convscope_p;\n" +
      names_of_problem() + "    [[maybe_unused]] const ::ConvArgs c = convscope_p.args();\n";
  for (const char* t : {"x", "w", "b", "y"})
    out += fmt::format("    [[maybe_unused]] const auto {} = convscope_plan.{}();\n", t, t);
  for (const auto& line : lines) {
    auto shape = [&](const char* key) {
      std::string sizes;
      for (const auto& part : list_parts(line.values.at(key)))
        sizes += fmt::format("{}static_cast<int64_t>({})", sizes.empty() ? "" : ", ", part);
      return sizes;
    };
    const auto shared = line.values.find("shared");
    const std::string bounds = bounds_of(line.function, bounded);
    out +=
        line_is(line.number) + fmt::format(
                                   "    convscope_plan.launch(::convscope::TypedEntry<&::{}>{{{}}}, {{{}}}, {{{}}}, "
                                   "static_cast<size_t>({})){}.args({});\n",
                                   line.function, c_string(device_name(without_namespaces(line.function))),
                                   shape("grid"), shape("block"), shared == line.values.end() ? "0" : shared->second,
                                   bounds.empty() ? "" : fmt::format(".bounded(::{})", bounds), line.values.at("args"));
  }
  return out + "  });\n}\n";
}

std::vector<std::string> launched_functions(std::string_view text, const std::string& name) {
  std::vector<std::string> list;
  const std::string code = with_short_blanks(code_of(text), true);
  for (const auto& line : lines_of(text, name)) list.push_back(qualified(line.function, code));
  return list;
}

std::string device_name(std::string_view function) {
  static const std::regex typed_number(R"(\b(\d+)u?l*\b)");  // 4u and 4 are one
  std::string out;
  for (char c : std::regex_replace(std::string(function), typed_number, "$1")) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      out += c;
    else if (c == '-')  // −1 is not 1
      out += out.ends_with('_') ? "m" : "_m";
    else if (!out.ends_with('_'))
      out += '_';
  }
  while (out.size() > 1 && out.ends_with('_')) out.pop_back();
  return out;
}

bool registers_itself(std::string_view text) { return text.find("CONVSCOPE_KERNEL(") != text.npos; }

std::string usual_meaning(const std::string& parameter, bool tensor) {
  std::string lower = lowered(parameter);
  for (const char* before : {"d_", "dev_", "p_"})  // as pointers of the GPU's are often called
    if (tensor && lower.starts_with(before)) lower.erase(0, std::string_view(before).size());
  for (const char* behind : {"_ptr", "_data", "_dev", "_d", "_tensor"})
    if (tensor && lower.ends_with(behind)) lower.erase(lower.size() - std::string_view(behind).size());
  while (lower.size() > 1 && lower.ends_with('_')) lower.pop_back();
  auto has = [&](const char* part) { return lower.find(part) != lower.npos; };
  if (has("grad")) return "";
  const bool role = std::find(std::begin(tensors), std::end(tensors), lower) != std::end(tensors);
  if (tensor) {
    if (role) return lower;
    if (lower == "bias") return "b";
    const auto it = usual_names().find(without(lower, '_'));
    if (it != usual_names().end() && std::find(std::begin(tensors), std::end(tensors), it->second) != std::end(tensors))
      return it->second;
    return has("weight") || has("filter") || has("kernel") || lower == "ker" ? "w"
           : has("bias")                                                     ? "b"
           : has("in")                                                       ? "x"
           : has("out")                                                      ? "y"
                                                                             : "";
  }
  if (std::any_of(std::begin(parameters), std::end(parameters), [&](const auto& p) { return parameter == p.name; }))
    return parameter;
  // stride_val, numGroups, conv_pad: what is before and behind says no more than the name between.
  for (const char* before : {"", "conv_", "num_", "n_", "num"})
    for (const char* behind : {"", "_val", "_value", "_arg", "_param", "_size", "_1d", "1d", "val", "value"}) {
      const std::string_view b = before, e = behind;
      if (!lower.starts_with(b) || !lower.ends_with(e) || lower.size() <= b.size() + e.size()) continue;
      const bool whole = b.empty() && e.empty();
      const std::string name = without(lower.substr(b.size(), lower.size() - b.size() - e.size()), '_');
      std::string meaning;
      for (const auto& p : parameters)
        if (name == p.name) meaning = p.name;
      if (auto it = usual_names().find(name); meaning.empty() && it != usual_names().end()) meaning = it->second;
      if (meaning == "w") meaning = "K";  // `int kernel`
      // A group's or a bias' size is another number, and n_p may be anything.
      if (!whole &&
          (meaning == "c" || (meaning == "bias" && b != "conv_") || (name.starts_with("group") && e == "_size")))
        continue;
      if (b.starts_with("n") && name.size() == 1) continue;
      if (!meaning.empty() && std::find(std::begin(tensors), std::end(tensors), meaning) == std::end(tensors))
        return meaning;
    }
  return "";
}

}  // namespace convscope
