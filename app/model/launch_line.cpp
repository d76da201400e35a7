#include <algorithm>

#include "app/model/kernel_file.h"
#include "kernels/base/trimmed.h"

namespace convscope {

std::string with_launch_line(const OpenedFile& file) {
  const size_t line = file.trouble.find("// convscope: launch "), kernel = file.text.find("__global__");
  if (line == file.trouble.npos || kernel == file.text.npos) return "";
  const auto begin_of = [&](size_t at) {
    const size_t before = at ? file.text.rfind('\n', at - 1) : file.text.npos;
    return before == file.text.npos ? 0 : before + 1;
  };
  size_t at = begin_of(kernel);
  // What a kernel begins with may stand on lines of its own.
  while (at) {
    const size_t above = begin_of(at - 1);
    const std::string text = trimmed(file.text.substr(above, at - above));
    if (!text.starts_with("template") && text != "extern \"C\"") break;
    at = above;
  }
  // In a Python file the first line may begin with what opens the string.
  const std::string head = file.text.substr(at, kernel - at);
  const size_t quotes = std::max(head.rfind("\"\"\"") + 1, head.rfind("'''") + 1);
  if (quotes)
    return file.text.substr(0, at + quotes + 2) + "\n" + file.trouble.substr(line) + "\n" +
           file.text.substr(at + quotes + 2);
  return file.text.substr(0, at) + file.trouble.substr(line) + "\n" + file.text.substr(at);
}

}  // namespace convscope
