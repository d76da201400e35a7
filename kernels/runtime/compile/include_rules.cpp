#include "kernels/runtime/compile/include_rules.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

using Headers = std::vector<std::string>;

Headers headers_in(const std::string& text) {
  static const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"])", std::regex::multiline);
  Headers all;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), include); it != std::sregex_iterator(); ++it)
    all.push_back((*it)[1]);
  return all;
}

bool begins(const std::string& header, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return header.starts_with(p); });
}
bool is_pytorchs(const std::string& h) { return begins(h, {"torch/", "ATen/", "c10/"}); }
// Headers of which it is known what they bring: CUDA's, PyTorch's, the standard's (one word, no folder).
bool is_known(const std::string& h) {
  static const std::regex standard(R"([a-z_]+(?:\.h)?)");
  return is_pytorchs(h) || begins(h, {"cuda", "cub/", "thrust/", "cooperative_groups", "pybind11/", "convscope/"}) ||
         std::regex_match(h, standard);
}
bool any(const Headers& all, bool (*is)(const std::string&)) { return std::any_of(all.begin(), all.end(), is); }

bool has_context(const std::string& h) { return begins(h, {"ATen/cuda/", "ATen/native/", "convscope/"}); }
bool has_stream(const std::string& h) {
  return has_context(h) || h == "c10/cuda/CUDAStream.h" || h == "c10/cuda/CUDAGuard.h";
}
bool has_guard(const std::string& h) {
  return h == "c10/cuda/CUDAGuard.h" || h == "ATen/cuda/CUDAEvent.h" || begins(h, {"ATen/native/", "convscope/"});
}
bool has_checks(const std::string& h) { return has_context(h) || h.starts_with("c10/cuda/"); }
bool has_atomics(const std::string& h) {
  return h == "ATen/cuda/Atomic.cuh" || begins(h, {"ATen/native/", "convscope/"});
}
bool has_half(const std::string& h) {
  static const std::regex without(
      R"(cuda(?:_runtime|_runtime_api|_pipeline)?\.h|curand_kernel\.h|device_launch_parameters\.h|[a-z_]+)");
  return !std::regex_match(h, without) && !begins(h, {"std", "math.h", "string.h", "assert.h", "limits.h", "float.h"});
}
bool has_bfloat16(const std::string& h) { return has_half(h) && h != "cuda_fp16.h"; }

struct Rule {
  const char *names, *header;
  bool (*brings)(const std::string&);
  bool in_python;  // it is not there either where PyTorch's types come first
};
constexpr Rule rules[] = {
    {R"(\btorch::\w+|\bat::Tensor\b)", "torch/extension.h", is_pytorchs, false},
    {R"(\b(?:at|c10)::cuda::(?:getCurrentCUDAStream|getDefaultCUDAStream|getStreamFromPool|setCurrentCUDAStream)\b)",
     "ATen/cuda/CUDAContext.h", has_stream, true},
    {R"(\b(?:at|c10)::cuda::(?:Optional)?CUDA(?:Stream)?Guard\b)", "c10/cuda/CUDAGuard.h", has_guard, true},
    {R"(\bat::cuda::getCurrentDeviceProperties\b)", "ATen/cuda/CUDAContext.h", has_context, true},
    {R"(\bAT_CUDA_CHECK\b)", "ATen/cuda/CUDAContext.h", has_context, true},
    {R"(\bC10_CUDA_(?:CHECK|KERNEL_LAUNCH_CHECK)\b)", "c10/cuda/CUDAException.h", has_checks, true},
    {R"(\bgpuAtomicAdd\b)", "ATen/cuda/Atomic.cuh", has_atomics, true},
    {R"(\b__half2?\b|\b__float2half\w*|\b__half2float\b)", "cuda_fp16.h", has_half, false},
    {R"(\b__nv_bfloat162?\b|\b__float2bfloat16\w*|\b__bfloat162float\b)", "cuda_bf16.h", has_bfloat16, false}};

}  // namespace

void check_includes(const std::string& cuda, const std::string& file, bool python) {
  const std::string code = code_of(cuda, true);
  const Headers headers = headers_in(cuda);
  if (!std::all_of(headers.begin(), headers.end(), is_known)) return;
  for (const Rule& rule : rules) {
    if ((python && !rule.in_python) || any(headers, rule.brings)) continue;
    const std::regex used(rule.names);
    std::smatch m;
    if (!std::regex_search(code, m, used)) continue;
    // Its own of that name.
    static const std::regex word(R"(\w+$)");
    const std::string name = m.str();
    std::smatch last;
    std::regex_search(name, last, word);
    const std::regex own("(?:#[ \\t]*define[ \\t]+|\\b(?:struct|class|using|typedef|namespace)\\s+)" + last.str() +
                         "\\b");
    if (std::regex_search(code, own)) continue;
    const auto line = 1 + std::count(code.begin(), code.begin() + m.position(), '\n');
    throw CompileError(fmt::format("{}:{}: {} is not known to {} without its header: #include <{}>", file, line, name,
                                   python || any(headers, is_pytorchs) ? "PyTorch's compiler" : "nvcc", rule.header),
                       "");
  }
}

}  // namespace convscope
