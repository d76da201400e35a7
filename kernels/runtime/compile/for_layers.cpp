#include "kernels/runtime/compile/for_layers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>

#include "convscope/python_module.h"
#include "kernels/base/error.h"
#include "kernels/runtime/compile/host_code.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/load_inline.h"
#include "kernels/runtime/compile/not_followed.h"
#include "kernels/runtime/compile/one_unit.h"
#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/compile/python_run.h"
#include "kernels/runtime/compile/python_source.h"
#include "kernels/runtime/compile/python_tokens.h"

namespace convscope {
namespace {

constexpr std::string_view behind = "\n#convscope source\n", of_source = "#|";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

// The line in which the string of the file begins that has most lines in common with a source: line by line, since what
// is put into it rarely has several. 0: none.
size_t first_line(const std::string& text, const std::vector<std::string>& source) {
  size_t best = 0, place = 0;
  for (const PythonToken& t : python_tokens(text)) {
    if (t.kind != PythonToken::literal || !t.three) continue;
    const std::vector<std::string> own = lines_of(text.substr(t.from, t.to - t.from));
    // A source without the string's first line, which is often empty (strip, dedent), begins one later.
    for (const size_t skipped : {size_t{0}, size_t{1}}) {
      size_t same = 0;
      for (size_t i = 0; i < source.size() && i + skipped < own.size(); i++)
        same += !own[i + skipped].empty() && source[i] == own[i + skipped];
      if (same <= best) continue;
      best = same;
      place = 1 + skipped +
              static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(t.from), '\n'));
    }
  }
  return place;
}

struct LastTexts {
  std::mutex mutex;
  std::map<std::string, std::string> made;
};
LastTexts& last_texts() {
  static auto* all = new LastTexts;
  return *all;
}

}  // namespace

namespace {

std::atomic<uint64_t> times_asked{0};

// Whether the file's own statements put values into strings: what stands in its strings, CUDA's % among it, is none.
bool formats_strings(const std::string& text) {
  std::string code;
  for (const PythonToken& t : python_tokens(text)) {
    code += t.kind != PythonToken::literal ? text.substr(t.from, t.to - t.from) : t.formatted ? "f\"\"" : "\"\"";
    code += ' ';
  }
  static const std::regex formats(
      R"(\. (?:replace|format|substitute|safe_substitute) \(|f""|"" %|\b\w*(?:src|source|code|cuda|kernel|template)\w* %)",
      std::regex::icase);
  return std::regex_search(code, formats);
}

}  // namespace

uint64_t asked_for_layers() { return times_asked.load(std::memory_order_relaxed); }

bool differs_between_layers(const std::string& text, const std::string& name) {
  if (!name.ends_with(".py") || source_behind(text) || !has_python_module(text)) return false;
  const auto extensions = inline_extensions(text);
  if (extensions.empty()) return false;
  // What is made by a function of the file's own, or formatted in ways that its strings do not tell.
  for (const InlineExtension& x : extensions)
    if (!x.cuda && formats_strings(text)) return true;
  std::string cuda;
  try {
    cuda = cuda_of_python(text, name);
  } catch (const SourceNotKnown&) {
    return true;
  } catch (const InputError&) {
    return false;  // it has none
  }
  static const std::regex defined(R"(["']-D\s*(\w+))");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), defined); it != std::sregex_iterator(); ++it)
    if (std::regex_search(cuda, std::regex("\\b" + (*it)[1].str() + "\\b"))) return true;
  return false;
}

std::string registration_for_layers(const std::string& text, const std::string& name) {
  return fmt::format(
      "#include \"convscope/host_code.h\"\n#include \"convscope/python_module.h\"\n"
      "#line 1 {0}\nnamespace {{\nconst char convscope_text[] = R\"convscope_py({1})convscope_py\";\n"
      "::convscope::host::PythonLayers convscope_layers() {{\n"
      "  return {{convscope_text, {0}, ::convscope::compiled_traced, "
      "::convscope::host::python_operations(false)}};\n}}\n}}\n"
      "CONVSCOPE_KERNEL(of_each_layer) {{\n  idea(\"a source of its own for each layer\");\n{2}"
      "  supports([](const ::convscope::ConvProblem& p) -> std::string {{\n"
      "    return ::convscope::host::refused_for_layer(p, convscope_layers());\n  }});\n"
      "  plan([](const ::convscope::ConvProblem& p, ::convscope::Plan& plan) {{\n"
      "    ::convscope::host::plan_for_layer(p, plan, convscope_layers());\n  }});\n}}\n",
      c_string(name), text, fields_not_in(python_module_numbers(text)));
}

std::string with_source(const std::string& text, const std::string& cuda) {
  std::string out = text + std::string(behind);
  for (const std::string& line : lines_of(cuda)) out += std::string(of_source) + line + "\n";
  return out;
}
std::optional<std::string> source_behind(const std::string& text) {
  const size_t at = text.rfind(behind);
  if (at == text.npos) return {};
  std::string cuda;
  for (const std::string& line : lines_of(text.substr(at + behind.size())))
    cuda += line.substr(std::min(of_source.size(), line.size())) + "\n";
  return cuda;
}

std::string last_for_layer(const std::string& text) {
  std::lock_guard lock(last_texts().mutex);
  const auto known = last_texts().made.find(text);
  return known == last_texts().made.end() ? text : known->second;
}

std::string source_of(const InlineSources& given, const std::string& text) {
  std::vector<std::string> all;
  std::set<std::string> seen;
  std::string before;
  for (const std::string& each : given.cuda) {
    if (!seen.insert(each).second) continue;
    const std::vector<std::string> lines = lines_of(before.empty() ? each : without_doubles(each, before));
    before += each + "\n";
    const size_t begin = std::max(first_line(text, lines_of(each)), size_t{1}) - 1;
    if (all.size() <= begin) all.resize(begin);
    const bool room = std::all_of(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end(),
                                  [](const std::string& line) { return line.empty(); });
    if (!room) {
      all.insert(all.end(), lines.begin(), lines.end());
      continue;
    }
    if (all.size() < begin + lines.size()) all.resize(begin + lines.size());
    std::copy(lines.begin(), lines.end(), all.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  // Of flags: in the file's first lines, which import.
  size_t line = 0;
  for (const std::string& definition : given.definitions) {
    if (line < all.size() && all[line].empty())
      all[line++] = "#define " + definition;
    else
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(line++), "#define " + definition);
  }
  std::string cuda;
  for (const std::string& each : all) cuda += each + "\n";
  return cuda;
}

namespace host {
namespace {

// What is looked for by a walk of the module whose host code is not there yet; a call has no parameter for it.
thread_local const PythonLayers* asked = nullptr;
thread_local InlineSources* found = nullptr;

Tensor look_for_sources(const ConvProblem& p, const Given& given) {
  *found = python_sources(p, given, asked->text, asked->operations);
  return {};
}

// Where the module is not followed to its source, which may be put together of strings all the same; "": it is not.
std::string as_its_strings_say(const PythonLayers& of) {
  try {
    return cuda_of_python(of.text, of.name);
  } catch (const InputError&) {
    return "";
  }
}

const KernelDefinition& definition_for(const ConvProblem& p, const PythonLayers& of) {
  times_asked++;
  InlineSources sources;
  const Variable* none = nullptr;
  asked = &of, found = &sources;
  Plan unused(p);
  std::string cuda;
  try {
    record(p, unused, {&look_for_sources, nullptr, &none});
  } catch (const NotFollowedHere&) {
    cuda = sources.cuda.empty() ? as_its_strings_say(of) : "";
    if (sources.cuda.empty() && cuda.empty()) throw;
  } catch (const std::exception&) {
    if (sources.cuda.empty()) throw;  // else: no tensor is returned
  }
  if (cuda.empty()) cuda = source_of(sources, of.text);
  const std::string text = with_source(of.text, cuda);
  {
    std::lock_guard lock(last_texts().mutex);
    last_texts().made[of.text] = text;
  }
  return module_of(of.name, text, of.traced);
}

// As refused() has it.
std::string in_words(const std::string& why) { return "its host code does not compile for this layer: " + why; }

}  // namespace

std::string refused_for_layer(const ConvProblem& p, const PythonLayers& of) {
  try {
    return definition_for(p, of).unsupported(p);
  } catch (const CompileError& e) {
    return in_words(e.what());
  } catch (const InputError& e) {
    return in_words(e.value() + " " + e.rule());
  } catch (const std::exception& e) {
    return refused_as(std::current_exception());
  }
}

void plan_for_layer(const ConvProblem& p, Plan& plan, const PythonLayers& of) {
  plan = definition_for(p, of).plan_for(p);
}

}  // namespace host
}  // namespace convscope
