#include "kernels/runtime/sources.h"

#include <algorithm>

namespace convscope {

std::vector<KernelSource> with_headers(const std::string& file) {
  const auto& all = kernel_sources();
  auto it = std::find_if(all.begin(), all.end(), [&](const KernelSource& s) { return s.file == file; });
  return it == all.end() ? std::vector<KernelSource>() : with_headers(*it);
}

std::vector<KernelSource> with_headers(const KernelSource& first) {
  std::vector<KernelSource> out = {first};
  auto add = [&out](const std::string& name) {
    auto is = [&](const KernelSource& s) { return s.file == name; };
    if (std::any_of(out.begin(), out.end(), is)) return;
    const auto& all = kernel_sources();
    if (auto it = std::find_if(all.begin(), all.end(), is); it != all.end()) out.push_back(*it);
  };
  constexpr std::string_view include = "#include \"";
  for (size_t i = 0; i < out.size(); i++) {  // grows
    const KernelSource here = out[i];
    for (size_t at = here.text.find(include); at != here.text.npos; at = here.text.find(include, at + 1)) {
      if (at > 0 && here.text[at - 1] != '\n') continue;
      const size_t begin = at + include.size();
      const std::string name(here.text.substr(begin, here.text.find('"', begin) - begin));
      add(name.starts_with("convscope/") ? "kernels/runtime/include/" + name
                                         : here.file.substr(0, here.file.rfind('/') + 1) + name);
    }
  }
  return out;
}

}  // namespace convscope
