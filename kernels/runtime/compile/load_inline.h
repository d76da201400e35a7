// What a Python file gives to torch.utils.cpp_extension.load_inline(). PyTorch writes main.cpp, of `cpp_sources` and a
// binding for each of `functions`, for the C++ compiler, and cuda.cu, of `cuda_sources`, for nvcc, and links both to
// one module (its documentation of load_inline). Here both are one text: what would not be built there, or not be
// loaded, is told from the strings. What is put together in ways that are not known here is taken.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace convscope {

struct InlineExtension {
  struct Source {
    std::string text;
    bool exact = true;  // false: a string that is formatted, as it is before
  };
  struct Function {
    std::string name;
    int line;
  };
  int line = 0;
  std::optional<Source> cpp, cuda;  // nothing: not known
  // Of `functions`. Nothing: not known, or not given.
  std::optional<std::vector<Function>> functions;
  bool binds = false, binds_a_tuple = false, has_cpp = false;  // whether they are given, and as what
  bool plain = true;                                           // false: there is more that is not known
};

std::vector<InlineExtension> inline_extensions(const std::string& text);

// Why a module cannot call that function: none of the file's extensions has it. "": one has it, or that is not known.
std::string not_bound_inline(const std::string& text, const std::string& function);

// The parameters of the only declaration of a function outside of braces; nothing: it has none, or several.
std::optional<std::string> declared_with(const std::string& text, const std::string& name);

// Errors: CompileError, with the line in the file `name` and what PyTorch would say.
void check_load_inline(const std::string& text, const std::string& name);

}  // namespace convscope
