// Python files whose CUDA source holds values of their layer, f"#define K {kernel_size}" or -DK=3 among the compiler's
// flags: each layer has a source of its own. The file's own module says what source that is (python_run.h), which is
// compiled when a plan for such a layer is asked for, and kept.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"

namespace convscope {

// Whether a file's source is another one for each layer, as far as its text tells.
bool differs_between_layers(const std::string& text, const std::string& name);

// C++ that registers a kernel whose plans are those of the modules that are compiled for their layers.
std::string registration_for_layers(const std::string& text, const std::string& name);

// The file with such a source: in comments behind it, with the file's lines. Else what its strings are stands there.
std::string with_source(const std::string& text, const std::string& cuda);
// That source; nothing: the text has none.
std::optional<std::string> source_behind(const std::string& text);

// The file as it was compiled last for a layer; itself, where it was not.
std::string last_for_layer(const std::string& text);

// How often a layer's plan was asked for so far, each of which may take a compiler's time: a sign of life of what asks
// for many.
uint64_t asked_for_layers();

// What a module gives to load_inline().
struct InlineSources {
  std::vector<std::string> cuda;         // whole sources
  std::vector<std::string> definitions;  // "K 3", of flags
};
// A CUDA source of them, whose lines are those of the file's strings where these are known.
std::string source_of(const InlineSources& given, const std::string& text);

namespace host {
class Given;
struct PythonOperations;
// Those that the file's module gives until it calls what is made of them, or ends. Errors: refused, as python_module().
InlineSources python_sources(const ConvProblem& p, const Given& given, const char* text, const PythonOperations& ops);
}  // namespace host

}  // namespace convscope
