#include "tests/support.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

#include "kernels/problem/npy.h"

namespace convscope::test {
namespace fs = std::filesystem;

// oneDNN's threads sleep while they wait: spinning, they take ten times as long where other programs have the cores.
// Before the library is opened, and for the engines that tests start.
[[maybe_unused]] static const int sleeping_threads = ::setenv("OMP_WAIT_POLICY", "passive", 0);

// Figures of fake GPUs never reach a person's cache.
[[maybe_unused]] static const int tests_cache =
    ::setenv("CONVSCOPE_CACHE", ("/tmp/convscope-tests-" + std::to_string(::getuid())).c_str(), 0);

std::string project_file(std::string_view place) {
  static const fs::path root =
      (fs::read_symlink("/proc/self/exe").parent_path() / CONVSCOPE_TO_PROJECT).lexically_normal();
  return (root / place).string();
}

std::string open_module(const char* name) {
  const auto path = fs::read_symlink("/proc/self/exe").parent_path() / name;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) ? "" : dlerror();
}

std::vector<std::byte> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("a test needs " + path);
  std::vector<char> text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string text_file(const std::string& path) {
  auto bytes = file_bytes(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> project_files(std::string_view folder, std::string_view begin, std::string_view end) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(project_file(folder))) {
    auto name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(end)) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

HostTensor golden(const std::string& archive, const std::string& array) {
  auto path = archive.starts_with("/") ? archive : project_file("tests/data/" + archive);
  return read_array_file(path, array, "golden");
}

bool has_array(const std::string& archive, const std::string& array) {
  return error_of<InputError>([&] { golden(archive, array); }).find("has no array") == std::string::npos;
}

std::vector<int64_t> golden_params(const std::string& archive) {
  auto t = golden(archive, "params");
  std::vector<int64_t> out;
  for (double v : t.span<double>()) out.push_back(static_cast<int64_t>(v));
  return out;
}

namespace {
std::vector<std::string> lines_of(std::string_view place) {
  std::ifstream in(project_file(place));
  if (!in) throw std::runtime_error("a test needs " + std::string(place));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
}  // namespace

int line_of(std::string_view place, std::string_view mark) {
  int found = 0, number = 0;
  for (const auto& line : lines_of(place)) {
    number++;
    if (line.find(mark) == std::string::npos) continue;
    if (found) throw std::runtime_error("more than one line holds " + std::string(mark));
    found = number;
  }
  if (!found) throw std::runtime_error("no line holds " + std::string(mark));
  return found;
}

std::string text_of_line(std::string_view place, int line) {
  auto lines = lines_of(place);
  return line >= 1 && static_cast<size_t>(line) <= lines.size() ? lines[static_cast<size_t>(line) - 1] : "";
}

std::string text_of_process(int pid, const std::string& file) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();  // catches what a failed read throws
  return text.str();
}

ScratchFolder::ScratchFolder() {
  auto pattern = (fs::temp_directory_path() / "convscope-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const void* data, size_t bytes) const {
  std::ofstream(path(name), std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  return path(name);
}

bool long_run() {
  const char* set = std::getenv("CONVSCOPE_LONG");
  return set && *set;
}

std::string own_cache(const ScratchFolder& folder) {
  const fs::path cache = folder.path("cache"), of_all = fs::path(std::getenv("CONVSCOPE_CACHE")) / "kernels/headers";
  std::error_code error;
  fs::create_directories(cache / "kernels", error);
  fs::create_directories(of_all, error);
  fs::create_directory_symlink(of_all, cache / "kernels/headers", error);  // nothing to do the second time
  return cache.string();
}

}  // namespace convscope::test
