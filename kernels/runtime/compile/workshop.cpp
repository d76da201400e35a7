#include "kernels/runtime/compile/workshop.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/cache.h"
#include "kernels/base/error.h"
#include "kernels/base/run_program.h"
#include "kernels/runtime/compile/headers.h"

namespace convscope {
namespace fs = std::filesystem;
namespace {

constexpr double most_seconds = 300;
constexpr size_t most_kept = 90;  // files in the cache: two for the emulator and one for a GPU of each kernel file

void write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  if (!out.flush()) throw MissingError(path.string() + " cannot be written", "a kernel file is compiled there");
}

}  // namespace

Workshop::Workshop() {
  std::error_code error;
  if (path().empty())
    throw MissingError("no folder can be made in " + fs::temp_directory_path(error).string(),
                       "a kernel file is compiled there; set TMPDIR");
  for (const auto& h : outside_headers()) {
    std::string_view file = h.file;
    constexpr std::string_view public_headers = "kernels/runtime/include/";
    if (file.starts_with(public_headers)) file.remove_prefix(public_headers.size() - 8);  // include/convscope/…
    write_file(path() / file, h.text);
  }
  // All of it is there before the file begins (convscope/outside.h), and for host code in host_code.h.
  for (const char* empty : {"cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h",
                            "vector_types.h", "vector_functions.h", "device_functions.h", "sm_20_intrinsics.h",
                            "device_atomic_functions.h", "math_functions.h"})
    write_file(path() / "stubs" / empty, "#pragma once\n");
  // A failed assertion ends the kernel, not the process. Like the system's own these may be included again.
  for (const char* assertions : {"assert.h", "cassert"})
    write_file(path() / "stubs" / assertions,
               "#include \"convscope/intrinsics.h\"\n#undef assert\n#ifdef NDEBUG\n"
               "#define assert(...) static_cast<void>(0)\n#else\n"
               "#define assert(...) CONVSCOPE_ASSERT((__VA_ARGS__))\n#endif\n");
  const std::pair<const char*, std::vector<const char*>> of_cuda[] = {
      {"half_functions.h", {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp16.hpp", "cuda_bf16.hpp"}},
      {"wmma.h", {"mma.h"}},
      {"pipeline.h", {"cuda_pipeline.h", "cuda_pipeline_primitives.h"}},
      {"cooperative_groups.h",
       {"cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h",
        "cooperative_groups/memcpy_async.h"}},
      {"block_barrier.h", {"cuda/barrier", "cuda/pipeline"}},
      {"cuda_atomic.h", {"cuda/atomic"}},
      {"cub.h",
       {"cub/cub.cuh", "cub/block/block_reduce.cuh", "cub/block/block_scan.cuh", "cub/block/block_load.cuh",
        "cub/block/block_store.cuh", "cub/warp/warp_reduce.cuh", "cub/warp/warp_scan.cuh", "cuda/functional",
        "cuda/std/functional"}},
  };
  for (const auto& [own, names] : of_cuda)
    for (const char* name : names) write_file(path() / "stubs" / name, fmt::format("#include \"convscope/{}\"\n", own));
  // libcu++'s names of the standard library are the host's own.
  for (const char* standard : {"array", "bit", "climits", "cmath", "cstddef", "cstdint", "cstring", "initializer_list",
                               "limits", "tuple", "type_traits", "utility"})
    write_file(
        path() / "stubs/cuda/std" / standard,
        fmt::format("#pragma once\n#include <{}>\nnamespace cuda::std {{\nusing namespace ::std;\n}}\n", standard));
  for (const char* pytorch : {"torch/extension.h",
                              "torch/torch.h",
                              "torch/types.h",
                              "torch/all.h",
                              "torch/library.h",
                              "torch/python.h",
                              "torch/script.h",
                              "ATen/ATen.h",
                              "ATen/AccumulateType.h",
                              "ATen/Dispatch.h",
                              "ATen/Dispatch_v2.h",
                              "ATen/OpMathType.h",
                              "ATen/TensorUtils.h",
                              "ATen/ceil_div.h",
                              "ATen/core/Tensor.h",
                              "ATen/core/TensorAccessor.h",
                              "ATen/cuda/ApplyGridUtils.cuh",
                              "ATen/cuda/Atomic.cuh",
                              "ATen/cuda/CUDAContext.h",
                              "ATen/cuda/CUDAContextLight.h",
                              "ATen/cuda/CUDAEvent.h",
                              "ATen/cuda/Exceptions.h",
                              "ATen/native/cuda/KernelUtils.cuh",
                              "c10/core/ScalarType.h",
                              "c10/cuda/CUDAException.h",
                              "c10/cuda/CUDAFunctions.h",
                              "c10/cuda/CUDAGuard.h",
                              "c10/cuda/CUDAMacros.h",
                              "c10/cuda/CUDAStream.h",
                              "c10/macros/Macros.h",
                              "c10/util/BFloat16.h",
                              "c10/util/Exception.h",
                              "c10/util/Half.h",
                              "c10/util/Optional.h",
                              "pybind11/pybind11.h"})
    write_file(path() / "host" / pytorch, "#include \"convscope/host_code.h\"\n");
  for (const char* cublas : {"cublas_v2.h", "ATen/cuda/CUDABlas.h"})
    write_file(path() / "host" / cublas, "#include \"convscope/products.h\"\n");
}

void Workshop::write(const char* file, std::string_view text) const { write_file(path() / file, text); }

std::string Workshop::compile(const std::string& compiler, const std::vector<std::string>& arguments,
                              const std::string& name, Activity& activity) const {
  std::vector<std::string> all = {"-C", path().string(), "LC_ALL=C", compiler};
  all.insert(all.end(), arguments.begin(), arguments.end());
  auto r = run_program("/usr/bin/env", all, most_seconds, activity);
  if (!r.started)
    throw MissingError("/usr/bin/env cannot be started", "a kernel file is compiled by it and " + compiler);
  const std::string printed = r.err + r.out;  // nvcc's front end speaks on the one, its other parts on the other
  if (r.late)
    throw CompileError(fmt::format("{}: compiling it takes longer than {:.0f} s", name, most_seconds), printed);
  if (r.status != 0) throw CompileError(first_error(printed, name), printed);
  return printed;
}

void Workshop::put(const char* from, const fs::path& to) const {
  std::error_code error;
  const fs::path beside = to.string() + fmt::format(".{}", getpid());
  fs::copy_file(path() / from, beside, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(beside, to, error);
  if (error) {
    std::error_code gone;
    fs::remove(beside, gone);
    throw MissingError(to.string() + " cannot be written", "compiled kernels are kept there");
  }
}

void Fingerprint::add(std::string_view text) {
  for (unsigned char c : text) a_ = (a_ ^ c) * 0x100000001b3u, b_ = (b_ ^ (c + 0x5bu)) * 0x100000001b3u;
  a_ = (a_ ^ text.size()) * 0x100000001b3u, b_ = (b_ ^ ~text.size()) * 0x100000001b3u;
}

void Fingerprint::add(const std::vector<std::string>& texts) {
  for (const auto& t : texts) add(t);
}

void Fingerprint::add_headers() {
  for (const auto& h : outside_headers()) add(h.file), add(h.text);
}

void Fingerprint::add_compiler(const std::string& program) {
  std::error_code error;
  add(program);
  add(fmt::format("{}", fs::last_write_time(fs::canonical(program, error), error).time_since_epoch().count()));
}

std::string Fingerprint::text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

fs::path modules_folder() {
  // Nobody else may have put it there.
  auto of_this_user_alone = [](const fs::path& folder) {
    struct stat owner {};
    return lstat(folder.c_str(), &owner) == 0 && S_ISDIR(owner.st_mode) && owner.st_uid == geteuid() &&
           (owner.st_mode & 077) == 0;
  };
  auto made = [](const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    fs::permissions(folder, fs::perms::owner_all, error);
    struct stat there {};  // whatever it is
    return lstat(folder.c_str(), &there) == 0 && (!S_ISDIR(there.st_mode) || access(folder.c_str(), W_OK | X_OK) == 0);
  };
  auto checked = [&](const fs::path& folder) {
    if (of_this_user_alone(folder)) return folder;
    throw MissingError(folder.string() + " is no folder of this user's alone",
                       "compiled kernels are kept there; name another place in CONVSCOPE_CACHE");
  };
  const std::string cache = cache_folder();
  const fs::path kept = fs::path(cache) / "kernels";
  if (!cache.empty() && made(kept)) return checked(kept);
  if (const char* own = std::getenv("CONVSCOPE_CACHE"); own && *own)
    throw MissingError(kept.string() + " cannot be created or written", "CONVSCOPE_CACHE names its place");
  // Without a home compiled kernels are kept all the same, as long as the machine keeps such files. Everybody writes
  // there: the folder around them must be this user's as well.
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) throw MissingError("TMPDIR names no folder", "compiled kernels are kept there where there is no home");
  const fs::path around = temporary / fmt::format("convscope-{}", geteuid()), folder = around / "kernels";
  mkdir(around.c_str(), 0700);
  checked(around);
  if (!made(folder))
    throw MissingError(folder.string() + " cannot be created or written", "name another place in CONVSCOPE_CACHE");
  static std::once_flag said;
  if (!cache.empty())
    std::call_once(said, [&] {
      std::fprintf(stderr, "convscope: %s cannot be created: compiled kernels are kept in %s\n", kept.c_str(),
                   folder.c_str());
    });
  return checked(folder);
}

void thin_out(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  for (const auto& e : fs::directory_iterator(folder, error))
    if (e.is_regular_file(error)) all.emplace_back(e.last_write_time(error), e.path());
  if (all.size() <= most_kept) return;
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i + most_kept < all.size(); i++) fs::remove(all[i].second, error);
}

std::string read_whole(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return in ? text.str() : "";
}

void touch(const fs::path& file) {
  std::error_code error;
  fs::last_write_time(file, fs::file_time_type::clock::now(), error);
}

std::string find_program(const char* variable, const std::vector<std::string>& names,
                         const std::vector<std::string>& folders) {
  if (const char* own = std::getenv(variable); own && *own) {
    if (access(own, X_OK) == 0) return own;
    throw MissingError(fmt::format("{} is {}, which is no program", variable, own),
                       fmt::format("name a {} there, with its whole path", names.front()));
  }
  std::vector<std::string> all;
  const char* path = std::getenv("PATH");
  std::istringstream in(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(in, folder, ':');)
    if (!folder.empty()) all.push_back(folder);
  all.insert(all.end(), folders.begin(), folders.end());
  for (const auto& name : names)
    for (const auto& folder : all)
      if (std::string file = folder + "/" + name; access(file.c_str(), X_OK) == 0) return file;
  return "";
}

std::string first_error(const std::string& printed, const std::string& name) {
  // g++: "mine.cu:12:5: error: …"; nvcc: "mine.cu(12): error: …"; ptxas: "ptxas error   : …", "ptxas fatal   : …".
  static const std::regex kind(R"((?:^|[ ;])(?:fatal error|[Ee]rror|fatal)\s*: (.*))");
  std::istringstream in(printed);
  std::string last_place;  // the last line of the file itself that was spoken of
  for (std::string line; std::getline(in, line);) {
    std::string here;
    if (size_t own = line.find(name); own != line.npos && own + name.size() < line.size()) {
      const size_t digits = own + name.size() + 1;
      size_t end = digits;
      while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end]))) end++;
      const char before = line[digits - 1];
      if (end > digits && (before == ':' || before == '(')) here = name + ":" + line.substr(digits, end - digits);
    }
    if (!here.empty()) last_place = here;
    if (std::smatch m; std::regex_search(line, m, kind)) {
      std::string what = m[1];
      // The error of a function that is there to say so: its own words alone.
      constexpr std::string_view declared = " declared with attribute error: ";
      if (const size_t at = what.find(declared); at != what.npos) what.erase(0, at + declared.size());
      const std::string own_tensor = "class convscope::host::Tensor";
      if (const size_t at = what.find(own_tensor); at != what.npos) {
        what.replace(at, own_tensor.size(), "torch::Tensor");
        if (what.find("no member named") != what.npos)
          what +=
              " here: its host code is called with tensors that have no values, and what PyTorch would compute of them "
              "belongs into a kernel";
      }
      static const std::regex counted(R"(reduces to '\((\d+) == (\d+)\)')");
      if (std::smatch n; what.find("a launch gives one argument for each parameter") != what.npos &&
                         std::regex_search(printed, n, counted))
        what = fmt::format("a launch gives {} argument{}, and its kernel has {} parameter{}", n[1].str(),
                           n[1] == "1" ? "" : "s", n[2].str(), n[2] == "1" ? "" : "s");
      return fmt::format("{}: {}", !here.empty() ? here : !last_place.empty() ? last_place : name, what);
    }
  }
  std::string rest = printed.substr(0, printed.find('\n'));
  return fmt::format("{}: {}", name, rest.empty() ? "the compiler failed and said nothing" : rest);
}

}  // namespace convscope
