#include "kernels/runtime/compile/outside.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/cache.h"
#include "kernels/base/run_program.h"
#include "kernels/runtime/compile/headers.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/runtime/sources.h"

namespace convscope {
namespace fs = std::filesystem;
namespace {

constexpr double most_seconds = 300;
constexpr size_t most_modules = 60;  // that the cache keeps

// Two FNV-1a hashes (Fowler, Noll & Vo) from different beginnings: 128 bits, so that no other text has them by chance.
class Fingerprint {
 public:
  void add(std::string_view text) {
    for (unsigned char c : text) a_ = (a_ ^ c) * 0x100000001b3u, b_ = (b_ ^ (c + 0x5bu)) * 0x100000001b3u;
    a_ = (a_ ^ text.size()) * 0x100000001b3u, b_ = (b_ ^ ~text.size()) * 0x100000001b3u;
  }
  std::string text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

 private:
  uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x84222325cbf29ce4u;
};

const std::vector<std::string>& common_flags() {
  static const std::vector<std::string> flags = {"-std=gnu++20",
                                                 "-x",
                                                 "c++",
                                                 "-g1",
                                                 "-fPIC",
                                                 "-fvisibility=hidden",
                                                 "-fno-gnu-unique",
                                                 "-fdiagnostics-color=never",
                                                 "-isystem",
                                                 "stubs",
                                                 "-isystem",
                                                 "include",
                                                 "-isystem",
                                                 ".",
                                                 "-isystem",
                                                 "kernels/ladder",
                                                 "-include",
                                                 "convscope/kernel.h",
                                                 "-Wall",
                                                 "-Wextra",
                                                 "-Wno-unknown-pragmas",
                                                 "-Wno-unused-parameter",
                                                 "-Wno-narrowing",
                                                 "-Wno-missing-field-initializers",
                                                 "-Wno-maybe-uninitialized",
                                                 "-Wno-sign-compare",
                                                 "-Wno-psabi"};
  return flags;
}
// Those of traced_kernels in kernels/CMakeLists.txt, which says why.
const std::vector<std::string>& traced_flags() {
  static const std::vector<std::string> flags = {
    "-O1",
    "-DCONVSCOPE_TRACED",
    "-fsanitize=thread",
    "--param",
    "tsan-instrument-func-entry-exit=1",
    "-fsanitize-coverage=trace-pc",
    "-fno-reorder-blocks",
    "-fno-thread-jumps",
#if !defined(__SANITIZE_ADDRESS__)
    "-fno-weak",
#endif
    "-w"
  };
  return flags;
}

void write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  if (!out.flush()) throw MissingError(path.string() + " cannot be written", "a kernel file is compiled there");
}

// A folder of its own for one compilation, gone with the object.
class Workshop {
 public:
  Workshop() {
    std::error_code error;
    auto folder = fs::temp_directory_path(error);
    std::string name = ((error ? fs::path("/tmp") : folder) / "convscope-kernel-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw MissingError("no folder can be made in " + folder.string(), "a kernel file is compiled there; set TMPDIR");
    path_ = name;
    for (const auto& h : outside_headers()) {
      std::string_view file = h.file;
      constexpr std::string_view public_headers = "kernels/runtime/include/";
      if (file.starts_with(public_headers)) file.remove_prefix(public_headers.size() - 8);  // include/convscope/…
      write_file(path_ / file, h.text);
    }
    // What files include for nvcc's sake: all of it is in kernel.h.
    for (const char* empty : {"cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h"})
      write_file(path_ / "stubs" / empty, "#pragma once\n");
  }
  ~Workshop() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Workshop(const Workshop&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// g++ in the workshop, where it says everything in English. Returns what it printed. Errors: CompileError, …
std::string compile(const Workshop& in, const std::string& compiler, std::vector<std::string> arguments,
                    const std::string& name, Activity& activity) {
  // Files are known by their place in the workshop: it has another name each time.
  std::vector<std::string> all = {"-C", in.path().string(), "LC_ALL=C", compiler,
                                  "-ffile-prefix-map=" + in.path().string() + "=."};
  all.insert(all.end(), arguments.begin(), arguments.end());
  auto r = run_program("/usr/bin/env", all, most_seconds, activity);
  if (!r.started)
    throw MissingError("/usr/bin/env cannot be started", "a kernel file is compiled by it and " + compiler);
  if (r.late) throw CompileError(fmt::format("{}: compiling it takes longer than {:.0f} s", name, most_seconds), r.err);
  if (r.status != 0) throw CompileError(first_error(r.err, name), r.err);
  return r.err;
}

std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> out;
  for (const auto& l : lists) out.insert(out.end(), l.begin(), l.end());
  return out;
}

// The modules that were kept longest unused go.
void thin_out(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  for (const auto& e : fs::directory_iterator(folder, error)) all.emplace_back(e.last_write_time(error), e.path());
  if (all.size() <= most_modules) return;
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i + most_modules < all.size(); i++) fs::remove(all[i].second, error);
}

fs::path modules_folder() {
  std::string cache = cache_folder();
  std::error_code error;
  fs::path folder =
      cache.empty() ? fs::temp_directory_path(error) / fmt::format("convscope-{}", getuid()) : fs::path(cache);
  folder /= "kernels";
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  // What lies there is run: nobody else may have put it there.
  struct stat owner {};
  if (lstat(folder.c_str(), &owner) != 0 || !S_ISDIR(owner.st_mode) || owner.st_uid != geteuid() ||
      (owner.st_mode & 077) != 0)
    throw MissingError(folder.string() + " is no folder of this user's alone",
                       "compiled kernels are kept there; name another place in CONVSCOPE_CACHE");
  return folder;
}

// The emulator of programs under ThreadSanitizer traces nothing.
constexpr bool traces() {
#if defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

// Compiles both modules of a file and puts them there. Returns the compiler's warnings.
std::string make_modules(const std::string& source, const std::string& file, const std::string& compiler,
                         const fs::path& plain, const fs::path& traced, Activity& activity) {
  Workshop in;
  write_file(in.path() / "source.cu", source);
  auto gcc = [&](std::initializer_list<std::vector<std::string>> arguments, const std::string& name) {
    return compile(in, compiler, joined(arguments), name, activity);
  };
  // Both at once: the second is needed for every verdict (races, lines).
  auto other = std::async(std::launch::async, [&] {
    if (!traces()) return;
    gcc({common_flags(), traced_flags(), {"-c", "source.cu", "-o", "traced.o"}}, file);
    gcc({{"-std=gnu++20", "-O1", "-fPIC", "-fvisibility=hidden", "-Iinclude", "-I.", "-c"},
         {"kernels/runtime/simt/trace_hooks.cpp", "-o", "hooks.o"}},
        "trace_hooks.cpp");
    gcc({{"-shared", "traced.o", "hooks.o", "-o", "traced.so"}}, file);
  });
  const std::string warnings = gcc({common_flags(), {"-O2", "-shared", "source.cu", "-o", "plain.so"}}, file);
  other.get();
  // Beside and renamed: another process never opens half of one.
  auto put = [&](const char* from, const fs::path& to) {
    std::error_code error;
    const fs::path beside = to.string() + fmt::format(".{}", getpid());
    fs::copy_file(in.path() / from, beside, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(beside, to, error);
    if (error) throw MissingError(to.string() + " cannot be written", "compiled kernels are kept there");
  };
  put("plain.so", plain);
  if (traces()) put("traced.so", traced);
  return warnings;
}

std::vector<KernelDefinition*> opened(const fs::path& module, bool traced) {
  Arrivals come;
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    throw CompileError(fmt::format("its module cannot be opened: {}", why ? why : "unknown"), "");
  }
  return traced ? come.traced : come.plain;
}

// By what they were made from; they stay open, since what was made with them may be looked at for as long.
struct Modules {
  std::mutex mutex;
  std::map<std::string, std::pair<std::vector<KernelDefinition*>, std::vector<KernelDefinition*>>> open;
};
Modules& modules() {
  static auto* m = new Modules;
  return *m;
}

}  // namespace

std::string host_compiler() {
  if (const char* own = std::getenv("CONVSCOPE_CXX"); own && *own) {
    if (access(own, X_OK) == 0) return own;
    throw MissingError(fmt::format("CONVSCOPE_CXX is {}, which is no program", own),
                       "name a g++ there, with its whole path");
  }
  const char* path = std::getenv("PATH");
  for (const char* name : {"g++", "c++"}) {
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (std::string file = folder + "/" + name; !folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  throw MissingError("no g++ is in PATH, by which kernel files from outside are compiled for the emulator",
                     "install it (apt-get install g++) or name one in CONVSCOPE_CXX");
}

std::string first_error(const std::string& printed, const std::string& name) {
  std::istringstream in(printed);
  std::string last_place;  // the last line of the file itself that was spoken of
  for (std::string line; std::getline(in, line);) {
    std::string here;
    size_t own = line.find(name + ":");
    if (own != line.npos) {
      size_t digits = own + name.size() + 1, end = digits;
      while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end]))) end++;
      if (end > digits) here = line.substr(own, end - own);
    }
    if (!here.empty()) last_place = here;
    for (const char* kind : {" fatal error: ", " error: ", " Error: "}) {
      size_t at = line.find(kind);
      if (at == line.npos) continue;
      std::string what = line.substr(at + std::string_view(kind).size());
      return fmt::format("{}: {}", !here.empty() ? here : !last_place.empty() ? last_place : name, what);
    }
  }
  std::string rest = printed.substr(0, printed.find('\n'));
  return fmt::format("{}: {}", name, rest.empty() ? "the compiler failed and said nothing" : rest);
}

std::string for_host(const std::string& text, const std::string& name) {
  static const std::regex dynamic(
      R"(extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?((?:unsigned\s+|signed\s+|long\s+)*\w+)\s+(\w+)\s*\[\s*\]\s*;)");
  std::string body = std::regex_replace(text, dynamic, "CONVSCOPE_DYNAMIC_SHARED($1, $2);");
  std::string quoted;
  for (char c : name) quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  std::string registration = registers_itself(text) ? "" : registration_of_lines(text, name);
  if (registration.empty() && !registers_itself(text)) {
    const std::string line = suggested_line(text);
    throw InputError("kernel", name,
                     line.empty() ? "has no __global__ function"
                                  : "does not say how it is launched; put this above it, with what stands for ? (and "
                                    "grid and block) as your kernel has it: " +
                                        line);
  }
  return fmt::format("#line 1 \"{}\"\n{}\n{}", quoted, body, registration);
}

OutsideFile bring_outside(const std::string& name, const std::string& text, Activity& activity) {
  activity.phase("compiling " + name);
  std::string file = name;
  while (file.starts_with("./")) file.erase(0, 2);  // as source_line() says it
  const std::string source = for_host(text, file);
  const std::string compiler = host_compiler();
  Fingerprint print;
  for (const auto& h : outside_headers()) print.add(h.file), print.add(h.text);
  for (const auto* flags : {&common_flags(), &traced_flags()})
    for (const auto& f : *flags) print.add(f);
  print.add(compiler), print.add(source);
  {
    std::error_code error;  // another compiler of the same name
    print.add(fmt::format("{}", fs::last_write_time(fs::canonical(compiler, error), error).time_since_epoch().count()));
  }
  const std::string key = print.text();

  OutsideFile out;
  std::lock_guard lock(modules().mutex);
  auto known = modules().open.find(key);
  if (known == modules().open.end()) {
    const fs::path folder = modules_folder(), plain = folder / (key + ".so"), traced = folder / (key + "-traced.so");
    std::error_code error;
    if (!fs::exists(plain, error) || (traces() && !fs::exists(traced, error))) {
      const auto begin = std::chrono::steady_clock::now();
      out.warnings = make_modules(source, file, compiler, plain, traced, activity);
      thin_out(folder);
      out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    for (const auto& used : {plain, traced}) fs::last_write_time(used, fs::file_time_type::clock::now(), error);
    auto& made = modules().open[key];
    made.first = opened(plain, false);
    if (traces()) made.second = opened(traced, true);
    simt::look_for_lines_again();
    // Debug information is read now: where a kernel crashes there is little room for it.
    simt::source_line(reinterpret_cast<uint64_t>(&bring_outside) + 1);
    known = modules().open.find(key);
  }
  auto& [plain, traced] = known->second;
  if (plain.empty()) throw InputError("kernel", name, "registers no kernel");
  for (const auto* list : {&plain, &traced})
    for (size_t i = 0; i < list->size(); i++) {
      KernelDefinition* k = (*list)[i];
      const std::string own = k->kind() == KernelKind::outside ? k->name().substr(k->name().rfind(':') + 1) : k->name();
      k->come_from_outside(i == 0 ? name : name + ":" + own, text);
    }
  list_outside(name, plain, traced);
  for (const auto* k : plain) out.kernels.push_back(k);
  return out;
}

}  // namespace convscope
