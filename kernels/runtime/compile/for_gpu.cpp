#include "kernels/runtime/compile/for_gpu.h"

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>

#include "kernels/base/demangled.h"
#include "kernels/base/error.h"
#include "kernels/runtime/compile/device_rules.h"
#include "kernels/runtime/compile/for_layers.h"
#include "kernels/runtime/compile/host_code.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/workshop.h"
#include "kernels/runtime/device_code.h"

namespace convscope {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string>& nvcc_flags() {
  // host before the toolkit's own folder, which has cuBLAS's headers too.
  static const std::vector<std::string> flags = {"-std=c++20", "-lineinfo",        "-Iinclude",
                                                 "-I.",        "-Ikernels/ladder", "-Ihost"};
  return flags;
}

// "sm_90" → 90
int number_of(const std::string& architecture) {
  return architecture.starts_with("sm_") ? std::atoi(architecture.c_str() + 3) : 0;
}

// The function of a demangled symbol without its result, parameters and namespaces: "void (anonymous namespace)::
// f<2, float>(float const*)" → "f<2, float>".
std::string function_of(std::string symbol) {
  constexpr std::string_view anonymous = "(anonymous namespace)";
  for (size_t at; (at = symbol.find(anonymous)) != symbol.npos;) symbol.replace(at, anonymous.size(), 1, '_');
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < symbol.size(); i++) {
    const char c = symbol[i];
    if (c == '<') depth++;
    if (c == '>') depth--;
    if (depth) continue;
    if (c == ' ' || c == ':') begin = i + 1;
    if (c == '(') return symbol.substr(begin, i - begin);
  }
  return symbol.substr(begin);
}

bool in_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// Images by what they were made from: several kernels of a file share one.
struct Images {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const std::string>> all;
};
Images& images() {
  static auto* i = new Images;
  return *i;
}

}  // namespace

std::string device_compiler() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home && *home) folders.push_back(std::string(home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  std::string found = find_program("CONVSCOPE_NVCC", {"nvcc"}, folders);
  if (found.empty())
    throw MissingError(
        "no nvcc is in PATH, CUDA_HOME or /usr/local/cuda, by which kernel files from outside are "
        "compiled for a GPU",
        "install the CUDA Toolkit, name its nvcc in CONVSCOPE_NVCC, or use --device emulator");
  return found;
}

std::string for_device(const std::string& text, const std::string& name) {
  const std::string cuda = cuda_source(text, name);
  std::string uses;
  std::set<std::string> seen;
  for (const auto& function : launched_functions(cuda, name))
    if (function.find('<') != function.npos && seen.insert(function).second)
      uses += fmt::format(
          "[[maybe_unused]] static const void* const convscope_use_{} = "
          "reinterpret_cast<const void*>(&{});\n",
          device_name(function), function);
  // Host code is seen by nvcc as well: it says which templates are launched.
  return fmt::format("{}#line 1 {}\n{}\n{}", includes_before(cuda), c_string(name), cuda, uses);
}

std::string with_plain_entries(const std::string& ptx) {
  // Variables of the file, too; those of functions (_ZZ…) are nobody else's.
  static const std::regex entry(R"((?:\.visible |\.weak )?\.entry (\w+)\s*\()"),
      variable(
          R"((?:^|\n)(\.visible |\.weak |)(\.(?:const|global) (?:\.align \d+ )?\.\w+ )((?!_ZZ)[A-Za-z_$][\w$]*)([\[;= ]))");
  std::map<std::string, std::string> plain;  // by mangled name
  std::map<std::string, int> times;
  for (const auto* kind : {&entry, &variable})
    for (auto it = std::sregex_iterator(ptx.begin(), ptx.end(), *kind); it != std::sregex_iterator(); ++it) {
      const std::string symbol = (*it)[kind == &entry ? 1 : 3];
      const std::string known = symbol.starts_with("_Z") ? demangled(symbol.c_str()) : "";  // w alone: wchar_t
      // CUDA's own headers declare many, of names that anything has.
      if (kind == &variable && known.find("cuda::") != known.npos) continue;
      const std::string name = known.empty() ? symbol : device_name(function_of(known));
      plain[symbol] = name;
      times[name]++;
    }
  std::erase_if(plain, [&](const auto& p) { return p.first == p.second || times[p.second] > 1; });
  std::string out;
  out.reserve(ptx.size());
  for (size_t at = 0; at < ptx.size();) {
    size_t end = at;
    while (end < ptx.size() && in_identifier(ptx[end])) end++;
    if (end == at) {
      out += ptx[at++];
      continue;
    }
    const std::string word = ptx.substr(at, end - at);
    at = end;
    // Parameters are named after their function.
    const size_t parameter = word.find("_param_");
    auto it = plain.find(word.substr(0, parameter));
    if (it == plain.end()) {
      out += word;
      continue;
    }
    // What only its own file may launch is not to be found by a driver.
    constexpr std::string_view before = ".entry ";
    if (parameter == word.npos && out.ends_with(before) && !out.ends_with(".visible .entry ") &&
        !out.ends_with(".weak .entry "))
      out.insert(out.size() - before.size(), ".visible ");
    out += it->second + (parameter == word.npos ? "" : word.substr(parameter));
  }
  static const std::regex hidden(R"((^|\n)(\.(?:const|global) (?:\.align \d+ )?\.\w+ (?!_ZZ)[A-Za-z_$][\w$]*[\[;= ]))");
  return std::regex_replace(out, hidden, "$1.visible $2");
}

MadeForGpu bring_device_code(const KernelDefinition& kernel, const std::string& architecture, Activity& activity) {
  const int number = number_of(architecture);
  if (kernel.kind() != KernelKind::outside || !kept_image(kernel, number).empty()) return {};
  if (differs_between_layers(kernel.text(), kernel.file()))
    throw InputError("kernel", kernel.file(),
                     "puts values of its layer into its CUDA source, which is then another one for each layer: that is "
                     "followed on the emulator alone, --device emulator");
  activity.phase(fmt::format("compiling {} for {}", kernel.file(), architecture));
  const std::string compiler = device_compiler(), source = for_device(kernel.text(), kernel.file());
  const std::string exact = std::to_string(number) + (number >= 90 ? "a" : "");
  Fingerprint print;
  print.add_headers();
  std::vector<std::string> flags = nvcc_flags();
  if (relaxes_constexpr(kernel.text(), kernel.file())) flags.emplace_back("--expt-relaxed-constexpr");
  print.add(flags), print.add(exact);
  print.add_compiler(compiler), print.add(source);
  const std::string key = print.text();

  std::lock_guard lock(images().mutex);
  auto& image = images().all[key];
  MadeForGpu made;
  if (!image) {
    const fs::path folder = modules_folder(), file = folder / (key + ".cubin");
    std::error_code error;
    if (!fs::exists(file, error)) {
      const auto begin = std::chrono::steady_clock::now();
      const Workshop in;
      in.write("source.cu", source);
      std::vector<std::string> to_ptx = flags, to_cubin = {"-cubin", "-lineinfo", "-arch=sm_" + exact};
      for (const auto& a :
           {std::string("-ptx"), "-arch=compute_" + exact, std::string("-include"), std::string("convscope/kernel.h"),
            std::string("source.cu"), std::string("-o"), std::string("source.ptx")})
        to_ptx.push_back(a);
      for (const char* a : {"entries.ptx", "-o", "image.cubin"}) to_cubin.emplace_back(a);
      made.printed = in.compile(compiler, to_ptx, kernel.file(), activity);
      std::string ptx = with_plain_entries(read_whole(in.path() / "source.ptx"));
      // Lines are those of the file by its own name; nvcc puts the folder that it works in before it.
      const std::string folder_name = in.path().string() + "/";
      for (size_t at; (at = ptx.find(folder_name)) != ptx.npos;) ptx.erase(at, folder_name.size());
      in.write("entries.ptx", ptx);
      made.printed += in.compile(compiler, to_cubin, kernel.file(), activity);
      in.put("image.cubin", file);
      thin_out(folder);
      made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    touch(file);
    auto elf = std::make_shared<const std::string>(read_whole(file));
    if (!elf->starts_with("\177ELF"))
      throw MissingError(file.string() + " is no machine code", "delete it, and it is compiled again");
    image = std::move(elf);
  }
  keep_image(kernel, number, image);
  return made;
}

std::string host::name_in_device_code(const char* tag) {
  constexpr std::string_view begin = "Tag<&";
  std::string own = demangled(tag);
  const size_t at = own.find(begin);
  if (at == own.npos) return "";
  own.erase(0, at + begin.size());
  if (own.ends_with('>')) own.pop_back();
  if (own.starts_with('(')) own.erase(0, 1);  // the other one ends it
  return device_name(function_of(own));
}

}  // namespace convscope
