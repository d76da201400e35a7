// The CUDA source of a Python file: the strings that it hands to load_inline, as the file puts them together.
#pragma once
#include <string>

#include "kernels/base/error.h"

namespace convscope {

// A value in a source that nothing at the file's outer level says.
struct SourceNotKnown : InputError {
  using InputError::InputError;
};

// The triple-quoted strings with kernels or host code in them, and all that is in what `cuda_sources` is set to,
// through names and sums; all else as empty lines, so that lines keep their numbers (comments with `# convscope:`
// become the source's own). Numbers and strings that names stand for are put in where a string is formatted (f"…", %,
// .format(), .replace()). Errors: InputError where there is no source, and where a value is not known.
// Behind the source where its module multiplies matrices (python_run.h): the kernel for it is to be there as well.
inline constexpr const char* products_mark = "// convscope_products";

std::string cuda_of_python(const std::string& text, const std::string& name);

}  // namespace convscope
