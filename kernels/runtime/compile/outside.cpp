#include "kernels/runtime/compile/outside.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <future>
#include <link.h>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "kernels/base/run_program.h"
#include "kernels/base/text.h"
#include "kernels/runtime/compile/device_rules.h"
#include "kernels/runtime/compile/dynamic_shared.h"
#include "kernels/runtime/compile/for_layers.h"
#include "kernels/runtime/compile/half_rules.h"
#include "kernels/runtime/compile/host_code.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/include_rules.h"
#include "kernels/runtime/compile/later_calls.h"
#include "kernels/runtime/compile/launch_bounds.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/load_inline.h"
#include "kernels/runtime/compile/modules.h"
#include "kernels/runtime/compile/precompiled.h"
#include "kernels/runtime/compile/ptx_words.h"
#include "kernels/runtime/compile/shared_zones.h"
#include "kernels/runtime/compile/variables.h"
#include "kernels/runtime/compile/workshop.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/static_shared.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/runtime/sources.h"

namespace convscope {
namespace fs = std::filesystem;

const std::vector<std::string>& common_flags() {
  static const std::vector<std::string> flags = {"-std=gnu++20",
                                                 "-g1",
                                                 "-fPIC",
                                                 "-fvisibility=hidden",
                                                 "-fno-gnu-unique",
                                                 "-fdiagnostics-color=never",
                                                 "-isystem",
                                                 "stubs",
                                                 "-isystem",
                                                 "host",
                                                 "-isystem",
                                                 "include",
                                                 "-isystem",
                                                 ".",
                                                 "-isystem",
                                                 "kernels/ladder",
                                                 "-isystem",
                                                 "kernels/specimens",
                                                 "-Wall",
                                                 "-Wextra",
                                                 "-Wvla",
                                                 "-Wno-unknown-pragmas",
                                                 "-Wno-unused-parameter",
                                                 "-Wno-narrowing",
                                                 "-Wno-missing-field-initializers",
                                                 "-Wno-maybe-uninitialized",
                                                 "-Wno-sign-compare",
                                                 "-Wno-psabi",
                                                 pass_switched_off};
  return flags;
}

namespace {

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
    // Of arrays whose size is known: indices beyond it (GCC's manual, "Instrumentation Options"). Files from outside
    // alone: what such an index does to the program's own kernels their tests see.
    "-fsanitize=bounds",
    "-w"
  };
  return flags;
}

// The emulator of programs under ThreadSanitizer traces nothing.
constexpr bool traces() {
#if defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

// What automatic variables begin with: another thing in the plain module than in the traced one, so that results in
// which one is used before anything was put into it differ (GCC's manual, "Optimize Options", from GCC 12 on). Of a
// compiler that does not know it: nothing.
std::vector<std::string> begin_with(const char* what, const std::string& compiler) {
  const std::string flag = "-ftrivial-auto-var-init=";
  static std::mutex mutex;
  static std::map<std::string, bool> known;
  std::lock_guard lock(mutex);
  auto it = known.find(compiler);
  if (it == known.end()) {
    Activity none;
    const ProgramResult r = run_program(compiler, {flag + "zero", "-x", "c++", "-fsyntax-only", "/dev/null"}, 20, none);
    it = known.emplace(compiler, r.started && r.status == 0).first;
  }
  if (!it->second) return {};
  return {flag + what, "-Wno-trivial-auto-var-init"};  // said of what a switch jumps over
}

// Over PTX in asm() the host's compiler and its assembler stumble in many words. The line of it, where that is what an
// error is about; else 0.
int line_of_ptx(const CompileError& e, const std::string& text, const std::string& file) {
  static const std::regex statement(R"(\b(?:asm|__asm__)\s*(?:volatile\s*|__volatile__\s*)*\()");
  const std::string code = code_of(text), said = e.what();
  const bool assembler = e.log().find("Assembler messages:") != std::string::npos;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), statement); it != std::sregex_iterator(); ++it) {
    const auto line = 1 + std::count(code.begin(), code.begin() + it->position(), '\n');
    if (assembler || said.starts_with(fmt::format("{}:{}: ", file, line))) return static_cast<int>(line);
  }
  return 0;
}

// What the compiler stumbled over, where that is a part of CUDA or PyTorch that is not known here: its first message
// may be of what follows from that. "" of anything else.
std::string unknown_part(const CompileError& e) {
  struct Part {
    const char *word, *what;
  };
  constexpr Part parts[] = {{"cudaTextureObject_t", "texture objects are"},
                            {"tex1D", "textures are"},
                            {"cudaGraph", "CUDA graphs are"},
                            {"thrust", "Thrust is"},
                            {"from_blob", "torch::from_blob is"}};
  std::istringstream log(e.log());
  for (std::string line; std::getline(log, line);)
    for (const Part& part : parts)
      if (line.find("error:") != line.npos && line.find(part.word) != line.npos)
        return fmt::format("; {} not known here", part.what);
  return "";
}

constexpr size_t room_around_shared = 8192;  // bytes

}  // namespace

Objects shared_objects(const std::string& compiler, Fingerprint* print) {
  Fingerprint own;
  Fingerprint& all = print ? *print : own;
  all.add_headers(), all.add_compiler(compiler);
  const std::string of_headers = all.text();
  all.add(common_flags()), all.add(traced_flags()), all.add(begin_with("pattern", compiler));
  const fs::path in = shared_by_all(modules_folder());
  return {in / ("hooks-" + of_headers + ".o"), in / ("operations-" + all.text() + ".o"),
          in / ("operations-" + all.text() + "-traced.o")};
}

std::string make_modules(const std::string& source, const std::string& cuda, const std::string& file,
                         const std::string& text, const std::string& compiler, const fs::path& plain,
                         const fs::path& traced, const Objects& objects, Activity& activity) {
  const Workshop in;
  in.write("source.cu", source);
  // Files are known by their place in the workshop: it has another name each time.
  const std::string same_name = "-ffile-prefix-map=" + in.path().string() + "=.";
  auto gcc = [&](std::initializer_list<std::vector<std::string>> arguments, const std::string& name) {
    std::vector<std::string> all = {same_name};
    for (const auto& list : arguments) all.insert(all.end(), list.begin(), list.end());
    return in.compile(compiler, all, name, activity);
  };
  const bool host_code = source.starts_with("#include \"convscope/host_code.h\"");  // includes_before()
  auto of_source = [&](std::vector<std::string> flags, const char* variables, const std::string& name,
                       const std::vector<std::string>& from_and_to) {
    for (const auto& flag : begin_with(variables, compiler)) flags.push_back(flag);
    flags.insert(flags.begin(), common_flags().begin(), common_flags().end());
    const auto first = first_header(in, compiler, flags, host_code, activity);
    try {
      std::string said = gcc({flags, first, {"-Winvalid-pch", "-x", "c++"}, from_and_to}, name);
      return forget_unreadable(first, said) ? "" : said;  // it did without
    } catch (const CompileError& e) {
      if (!forget_unreadable(first, e.log())) throw;
      return gcc({flags, {"-include", "convscope/outside.h", "-x", "c++"}, from_and_to}, name);
    }
  };
  // The object, made where it is not there yet by `make`, which is given where.
  auto once = [&](const fs::path& object, auto make) {
    if (std::error_code error; !fs::exists(object, error)) {
      fs::create_directories(object.parent_path(), error);
      const std::string made = object.filename().string();
      make(made);
      in.put(made.c_str(), object);
    }
    touch(object);
    return object.string();
  };
  auto operations = [&](const fs::path& object, const std::vector<std::string>& flags, const char* variables) {
    if (!host_code) return std::vector<std::string>();
    return std::vector<std::string>{once(object, [&](const std::string& made) {
      of_source(flags, variables, "host_operations.cpp", {"-c", "include/convscope/host_operations.cpp", "-o", made});
    })};
  };
  // Both at once: the second is needed for every verdict (races, lines).
  auto other = std::async(std::launch::async, [&] {
    if (!traces()) return;
    of_source(traced_flags(), "zero", file, {"-S", "source.cu", "-o", "traced.s"});
    in.write("traced.s", with_room_around_shared(read_whole(in.path() / "traced.s"), room_around_shared));
    gcc({{"-c", "traced.s", "-o", "traced.o"}}, file);
    const std::string hooks = once(objects.hooks, [&](const std::string& made) {
      gcc({{"-std=gnu++20", "-O1", "-fPIC", "-fvisibility=hidden", "-Iinclude", "-I.", "-c"},
           {"kernels/runtime/simt/trace_hooks.cpp", "-o", made}},
          "trace_hooks.cpp");
    });
    gcc({{"-shared", "traced.o", hooks},
         operations(objects.traced_operations, traced_flags(), "zero"),
         {"-o", "traced.so"}},
        file);
  });
  const bool by_pytorch = is_built_by_pytorch(text, file);
  const std::string warnings =
      of_source({"-O2"}, "pattern", file,
                {by_pytorch ? warn_of_switched_off : pass_switched_off, "-S", "source.cu", "-o", "plain.s"});
  check_array_sizes(warnings, cuda, file);
  const std::string told = by_pytorch ? check_switched_off(warnings, text, file) : warnings;
  // What leaves an array is told of the traced module; here it must not end the engine before.
  in.write("plain.s", with_room_around_shared(read_whole(in.path() / "plain.s"), room_around_shared, false));
  gcc({{"-shared", "plain.s"}, operations(objects.operations, {"-O2"}, "pattern"), {"-o", "plain.so"}}, file);
  other.get();
  in.put("plain.so", plain);
  if (traces()) in.put("traced.so", traced);
  return told;
}

std::vector<KernelDefinition*> opened(const fs::path& module, bool traced, const std::string& file) {
  Arrivals come;
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    throw CompileError(fmt::format("its module cannot be opened: {}", why ? why : "unknown"), "");
  }
  // Debug information is read now: where a kernel crashes there is little room for it.
  if (link_map* map = nullptr; !dlinfo(handle, RTLD_DI_LINKMAP, &map))
    simt::source_line(reinterpret_cast<uint64_t>(map->l_ld) + 1);
  if (const void* table = dlsym(handle, "convscope_declared_shared")) {
    constexpr uint64_t most_static = 49152;  // CUDA C++ Programming Guide, table "Technical Specifications"
    if (const auto most = simt::most_declared_shared(table); most.bytes > most_static)
      throw CompileError(fmt::format("{}: {} declares {} bytes of __shared__ memory; a GPU's compiler takes up to {}: "
                                     "more must be dynamic (extern __shared__)",
                                     file, most.function, most.bytes, most_static),
                         "");
    simt::know_declared_shared(table);
  }
  const auto& made = traced ? come.traced : come.plain;
  if (!made.empty()) host::know_statics(made.front());
  return made;
}

namespace {

// Kernels of a module and of its traced twin.
struct Kernels {
  std::vector<KernelDefinition*> plain, traced;
};

// By what they were made from; they stay open, since what was made with them may be looked at for as long. Beside them,
// by name and text as well, what is listed of them: other threads read names and texts, so that each has its own
// definitions, and these never change.
struct Modules {
  std::mutex mutex;
  std::map<std::string, Kernels> open, named;
};
Modules& modules() {
  static auto* m = new Modules;
  return *m;
}

}  // namespace

std::vector<KernelDefinition*> named(const std::vector<KernelDefinition*>& all, const std::string& name,
                                     const std::string& text) {
  std::vector<KernelDefinition*> out;
  for (const auto* k : all) {
    out.push_back(new KernelDefinition(*k));
    out.back()->come_from_outside(out.size() == 1 ? name : name + ":" + k->name(), text);
  }
  return out;
}

std::string host_compiler() {
  std::string found = find_program("CONVSCOPE_CXX", {"g++", "c++"}, {});
  if (found.empty())
    throw MissingError("no g++ is in PATH, by which kernel files from outside are compiled for the emulator",
                       "install it (apt-get install g++) or name one in CONVSCOPE_CXX");
  return found;
}

std::string host_body(const std::string& cuda, const std::string& name) {
  // nvcc takes an alignment behind these words, the host's compiler before them.
  static const std::regex aligned(R"(\b(__shared__|__constant__)(\s+)(alignas\s*\((?:[^()]|\([^()]*\))*\)))");
  const std::string plain = with_plain_ptx(cuda);
  const auto body = with_launch_bounds(std::regex_replace(with_dynamic_shared(plain), aligned, "$3$2$1"));
  const bool host = has_host_code(cuda);
  const char* ptx = plain == cuda ? "" : "#include \"convscope/ptx.h\"\n";
  return fmt::format("{}{}#line 1 {}\n{}\n{}", includes_before(cuda), ptx, c_string(name),
                     host ? with_noted_launches(body.text, body.names) : body.text,
                     registration_of_variables(cuda, name, host));
}

namespace {

// Where its host code is not understood: that may be because it is no C++. Errors: CompileError, if so.
void look_for_errors(const std::string& text, const std::string& file, Activity& activity) {
  const std::string cuda = cuda_source(text, file);
  if (!has_host_code(cuda)) return;
  const Workshop in;
  in.write("source.cu", host_body(cuda, file));
  std::vector<std::string> arguments = common_flags();
  for (const char* a : {"-fsyntax-only", "-include", "convscope/outside.h", "-x", "c++", "source.cu"})
    arguments.emplace_back(a);
  in.compile(host_compiler(), arguments, file, activity);
}

}  // namespace

std::string registration_of(const std::string& text, const std::string& cuda, const std::string& name) {
  if (registers_itself(cuda)) return "";
  std::string registration = registration_of_lines(cuda, name);
  if (!registration.empty())
    for (const auto& v : variables_in(cuda))
      if (v.is_constant && !v.is_set)
        throw InputError("kernel", fmt::format("{}:{}", name, v.line),
                         fmt::format("{} is __constant__ memory that no `launch` line fills: keep the host code that "
                                     "does (cudaMemcpyToSymbol) in the file instead of them, or give the kernel a "
                                     "pointer",
                                     last_part(v.name)));
  if (registration.empty() && has_host_code(cuda)) registration = registration_of_host_code(cuda, text, name);
  if (!registration.empty()) return registration;
  const std::string line = suggested_line(cuda);
  throw InputError("kernel", name,
                   line.empty() ? "has no __global__ function"
                                : fmt::format("does not say how it is launched; put this above it, with {} as your "
                                              "kernel has {}: {}",
                                              line.find('?') == line.npos ? "grid and block"
                                                                          : "what stands for ? (and grid and block)",
                                              line.find('?') == line.npos ? "them" : "it", line));
}

std::string for_host(const std::string& text, const std::string& name) {
  if (differs_between_layers(text, name)) return check_load_inline(text, name), registration_for_layers(text, name);
  const std::string cuda = cuda_source(text, name);
  if (name.ends_with(".py")) check_load_inline(text, name);
  check_device_code(cuda, name, !name.ends_with(".py") || inline_extensions(text).size() < 2);
  if (!registers_itself(cuda)) check_includes(cuda, name, name.ends_with(".py"));
  const std::string registration = registration_of(text, cuda, name);
  return host_body(cuda, name) + registration;
}

namespace {

// A file's modules, compiled and opened where they are not yet. print: of what they are made from; warnings and seconds
// of out are told.
const Kernels& modules_of(const std::string& name, const std::string& text, Activity& activity, Fingerprint& print,
                          OutsideFile& out) {
  const std::string file = noted_name(name);
  std::string source;
  try {
    source = for_host(text, file);
  } catch (const InputError&) {
    look_for_errors(text, file, activity);
    throw;
  }
  const std::string compiler = host_compiler();
  const Objects objects = shared_objects(compiler, &print);
  print.add(fmt::format("room around shared memory: {}", room_around_shared)), print.add(source);
  // Of Python: what it takes back of PyTorch's definitions.
  if (is_built_by_pytorch(text, file)) print.add("built by PyTorch"), print.add(text);
  const std::string key = print.text();

  std::lock_guard lock(modules().mutex);
  auto known = modules().open.find(key);
  if (known == modules().open.end()) {
    const fs::path folder = modules_folder(), plain = folder / (key + ".so"), traced = folder / (key + "-traced.so");
    std::error_code error;
    if (!fs::exists(plain, error) || (traces() && !fs::exists(traced, error))) {
      const auto begin = std::chrono::steady_clock::now();
      const std::string cuda = differs_between_layers(text, file) ? "" : cuda_source(text, file);
      try {
        out.warnings = make_modules(source, cuda, file, text, compiler, plain, traced, objects, activity);
      } catch (const CompileError& e) {
        if (const int line = line_of_ptx(e, cuda, file))
          throw CompileError(
              fmt::format("{}:{}: PTX in asm(), which is compiled for a GPU alone; give the emulator plain "
                          "CUDA beside it: #ifdef __CUDA_ARCH__ … #else … #endif",
                          file, line),
              e.log());
        if (const std::string unknown = unknown_part(e); !unknown.empty())
          throw CompileError(e.what() + unknown, e.log());
        throw;
      }
      thin_out(folder);
      out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    touch(plain), touch(traced);
    Kernels made;
    if (traces()) made.traced = opened(traced, true, file);
    made.plain = opened(plain, false, file);
    known = modules().open.emplace(key, made).first;
  }
  if (known->second.plain.empty()) throw InputError("kernel", name, "registers no kernel");
  return known->second;
}

}  // namespace

const KernelDefinition& module_of(const std::string& name, const std::string& text, bool traced) {
  Activity none;
  Fingerprint print;
  OutsideFile unused;
  const Kernels& module = modules_of(name, text, none, print, unused);
  return *(traced ? module.traced : module.plain).at(0);
}

OutsideFile bring_outside(const std::string& name, const std::string& text, Activity& activity) {
  activity.phase("compiling " + name);
  Fingerprint print;
  OutsideFile out;
  const Kernels& module = modules_of(name, text, activity, print, out);
  std::lock_guard lock(modules().mutex);
  print.add(name), print.add(text);
  auto [listed, is_new] = modules().named.try_emplace(print.text());
  if (is_new) listed->second = {named(module.plain, name, text), named(module.traced, name, text)};
  list_outside(name, listed->second.plain, listed->second.traced);
  for (const auto* k : listed->second.plain) out.kernels.push_back(k);
  return out;
}

namespace {

// An array of a function's own that is added to before anything is put into it, which g++ does not see behind an index
// that varies: "acc at file.cu:8"; else the only one that is declared without values, or of several the only one that
// is ever added to, where it is; or "".
std::string array_added_to(const std::string& cuda, const std::string& file) {
  const std::string code = with_short_blanks(code_of(cuda, true), true);
  static const std::regex declared(
      R"((^|[;{}])\s*(?:float|double|half|__half|__half2|__nv_bfloat16|int|unsigned|scalar_t|T|acc_t|float[234])\s+((?:\w+\s*(?:\[[^\];]*\]\s*)+(?:,\s*)?)+);)"),
      one(R"((\w+)\s*\[)");
  std::vector<std::string> candidates, sums;  // sums: those that are ever added to
  auto line_of = [&](std::ptrdiff_t at) { return 1 + std::count(code.begin(), code.begin() + at, '\n'); };
  for (auto it = std::sregex_iterator(code.begin(), code.end(), declared); it != std::sregex_iterator(); ++it) {
    const std::string names = (*it)[2];
    const auto end = static_cast<size_t>(it->position() + it->length());
    for (auto n = std::sregex_iterator(names.begin(), names.end(), one); n != std::sregex_iterator(); ++n) {
      const std::string array = (*n)[1];
      candidates.push_back(fmt::format("{} at {}:{}", array, file, line_of(it->position(2))));
      if (std::regex_search(code, std::regex("\\b" + array + R"(\s*(?:\[[^\];]*\]\s*)+[-+*/]=)")))
        sums.push_back(candidates.back());
      const std::regex first_use("\\b" + array + R"(\s*((?:\[[^\];]*\]\s*)*)([-+*/]?=|[^\w\s]))");
      std::smatch use;
      if (!std::regex_search(code.begin() + static_cast<std::ptrdiff_t>(end), code.end(), use, first_use)) continue;
      if (use[2] != "+=" && use[2] != "-=" && use[2] != "*=") continue;
      const auto at = static_cast<std::ptrdiff_t>(end) + use.position();
      return fmt::format("{} at {}:{}", array, file, line_of(at));
    }
  }
  return candidates.size() == 1 ? candidates.front() : sums.size() == 1 ? sums.front() : "";
}

}  // namespace

std::string unset_variable(const std::string& name, const std::string& given, Activity& activity) {
  const std::string text = last_for_layer(given);
  static std::mutex mutex;
  static std::pair<std::string, std::string> last;  // a file is judged on many problems
  std::lock_guard lock(mutex);
  const std::string key = name + '\n' + text;
  if (last.first == key) return last.second;
  const std::string file = noted_name(name);
  const Workshop in;
  std::string said, found;
  try {
    in.write("source.cu", for_host(text, file));
    std::vector<std::string> arguments = common_flags();
    for (const char* a : {"-O2", "-Wuninitialized", "-Wmaybe-uninitialized", "-include", "convscope/outside.h", "-x",
                          "c++", "-S", "-o", "/dev/null", "source.cu"})
      arguments.emplace_back(a);
    said = in.compile(host_compiler(), arguments, file, activity);
  } catch (const Cancelled&) {
    throw;
  } catch (const std::runtime_error&) {
  }
  static const std::regex warning(
      R"((?:^|\n)([^\n]+):(\d+):\d+: warning: '([^'<]+)' (?:is|may be) used uninitialized)");
  for (auto it = std::sregex_iterator(said.begin(), said.end(), warning); it != std::sregex_iterator(); ++it)
    if (found.empty() && (*it)[1] == file)
      found = fmt::format("{} at {}:{}", (*it)[3].str(), file_name(file), (*it)[2].str());
  try {
    if (found.empty()) found = array_added_to(cuda_source(text, file), file_name(file));
  } catch (const InputError&) {
  }
  last = {key, found};
  return found;
}

}  // namespace convscope
