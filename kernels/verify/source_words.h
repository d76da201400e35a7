// Source lines in sentences.
#pragma once
#include <fmt/format.h>
#include <string>

#include "kernels/base/text.h"
#include "kernels/runtime/simt/trace.h"

namespace convscope {

// " at u4.cu:16", or "" where the line is not known.
inline std::string at_line(const simt::SourceLine& at) {
  return at.file.empty() ? std::string() : fmt::format(" at {}:{}", file_name(at.file), at.line);
}

}  // namespace convscope
