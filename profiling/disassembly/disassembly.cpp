#include "profiling/disassembly/disassembly.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

#include "kernels/runtime/sources.h"
#include "kernels/base/run_program.h"

namespace convscope {
namespace {

constexpr double patience_s = 60;
constexpr uint64_t instruction_bytes = 16;  // from sm_70 on

bool runs(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// "nvdisasm V13.0.85" of what it prints about itself; "" when it is something else.
std::string version_of(const std::string& nvdisasm, Activity& activity) {
  auto r = run_program(nvdisasm, {"--version"}, 10, activity);
  size_t at = r.out.find(", V");
  if (r.status != 0 || at == std::string::npos || r.out.find("nvdisasm") == std::string::npos) return "";
  size_t end = std::min(r.out.find_first_of(" \n", at + 2), r.out.size());
  return "nvdisasm " + r.out.substr(at + 2, end - at - 2);
}

std::vector<SassInstruction> bare_code(std::string_view code) {
  std::vector<SassInstruction> list;
  for (uint64_t at = 0; at + instruction_bytes <= code.size(); at += instruction_bytes) {
    uint64_t words[2];
    std::memcpy(words, code.data() + at, sizeof words);
    list.push_back({at, fmt::format("{:016x} {:016x}", words[0], words[1]), "", {}});
  }
  return list;
}

void add_text(FunctionCode& f, std::string_view elf, const std::string& nvdisasm, const std::string& version,
              Activity& activity) {
  TemporaryFile cubin(elf);
  if (cubin.path().empty()) {
    f.no_text = {"no-room", "the device code could not be written to a temporary file", "make room, or set TMPDIR"};
    return;
  }
  auto r = run_program(nvdisasm, {"-c", "-g", "-fun", std::to_string(symbol_of(elf, f.name)), cubin.path()}, patience_s,
                       activity);
  auto parsed = parse_sass(r.out, f.name);
  if (r.status != 0 || parsed.empty()) {
    std::string why =
        r.late ? fmt::format("it took more than {:.0f} s", patience_s) : r.err.substr(0, r.err.find('\n'));
    f.no_text = {"nvdisasm-fails", fmt::format("{} gave no instructions of {}: {}", version, f.name, why),
                 "try the nvdisasm of a newer CUDA Toolkit: set CONVSCOPE_NVDISASM"};
    return;
  }
  f.sass = std::move(parsed);
  f.sass_source = version;
  f.lines_source = "its line table, by " + version;
}

// Without nvdisasm's comments the line table is asked for each instruction.
void add_places(FunctionCode& f, std::string_view elf, const Cupti& cupti) {
  bool any = false;
  for (const auto& i : f.sass) any |= i.at.line > 0;
  if (any) return;
  f.lines_source.clear();
  std::vector<uint64_t> offsets;
  for (const auto& i : f.sass) offsets.push_back(i.offset);
  auto places = cupti.source_places(elf, f.name, offsets, f.no_lines);
  for (size_t i = 0; i < places.size(); i++) f.sass[i].at = places[i];
  if (!f.no_lines) f.lines_source = "its line table, by CUPTI";
}

}  // namespace

std::string find_nvdisasm(Gap& gap) {
  gap = {};
  constexpr const char* how =
      "install nvdisasm of the CUDA Toolkit (NVIDIA's package cuda-nvdisasm-13-0, or nvidia-cuda-nvdisasm for pip), or "
      "name it in CONVSCOPE_NVDISASM";
  if (const char* named = std::getenv("CONVSCOPE_NVDISASM"); named && *named) {
    if (runs(named)) return named;
    gap = {"no-nvdisasm", fmt::format("instructions have no text: {} cannot be run", named), how};
    return "";
  }
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) {
    std::istringstream all(path);
    for (std::string folder; std::getline(all, folder, ':');)
      if (!folder.empty() && folder.front() == '/') folders.push_back(folder);
  }
  if (const char* home = std::getenv("CUDA_HOME"); home && *home) folders.push_back(std::string(home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  for (const auto& folder : folders)
    if (std::string path = folder + "/nvdisasm"; runs(path)) return path;
  gap = {"no-nvdisasm", "instructions have no text: there is no nvdisasm", how};
  return "";
}

std::vector<FunctionCode> disassemble(const std::vector<DeviceImage>& images, const std::string& architecture,
                                      const std::vector<std::string>& functions, const Cupti& cupti,
                                      Activity& activity) {
  std::vector<FunctionCode> list;
  int wanted = architecture.starts_with("sm_") ? std::atoi(architecture.c_str() + 3) : 0;
  const DeviceImage* image = nullptr;
  // What a driver would load: the newest that is not newer than the GPU.
  for (const auto& i : images)
    if ((!wanted || i.architecture <= wanted) && (!image || i.architecture > image->architecture)) image = &i;
  if (!image) return list;
  Gap no_tool;
  std::string nvdisasm = find_nvdisasm(no_tool), version;
  if (!nvdisasm.empty() && (version = version_of(nvdisasm, activity)).empty())
    no_tool = {"no-nvdisasm", fmt::format("instructions have no text: {} is no nvdisasm", nvdisasm),
               "install nvdisasm of the CUDA Toolkit, or name it in CONVSCOPE_NVDISASM"};
  auto facts = image_facts(*image);
  std::string ptx = ptx_of(image->elf);
  for (const auto& name : functions) {
    activity.check();
    std::string_view code = code_of(image->elf, name);
    if (code.empty()) continue;
    FunctionCode f;
    f.name = name;
    f.code_bytes = code.size(), f.code_hash = code_hash(code);
    for (const auto& each : facts)
      if (each.entry == name) f.facts = each;
    f.facts.architecture = image->architecture;
    f.no_text = no_tool;
    if (!no_tool) add_text(f, image->elf, nvdisasm, version, activity);
    if (f.sass.empty()) f.sass = bare_code(code);
    add_places(f, image->elf, cupti);
    f.ptx = parse_ptx(ptx, name);
    if (f.ptx.empty())
      f.no_ptx = {"no-ptx", "the device code of " + name + " does not carry its PTX",
                  "ptxas keeps it when code is compiled with -lineinfo"};
    for (auto& i : f.sass) i.at.file = carried_name(i.at.file);
    for (auto& l : f.ptx) l.at.file = carried_name(l.at.file);
    list.push_back(std::move(f));
  }
  return list;
}

}  // namespace convscope
