#include "app/engine/kernel_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/engine/frame.h"
#include "kernels/base/error.h"

namespace convscope {

std::string file_of_kernel(const std::string& kernel) {
  size_t at = kernel.rfind(".cu:");
  if (at == kernel.npos) at = kernel.rfind(".py:");
  return at == kernel.npos ? kernel : kernel.substr(0, at + 3);
}

std::string read_kernel_file(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto refuse = [&](const std::string& rule) { throw InputError("kernel", file, rule); };
  if (std::any_of(file.begin(), file.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    refuse("has a control character in its name");
  if (!file.ends_with(".cu") && !file.ends_with(".py"))
    refuse("is no name of a kernel, and as a file's it must end with .cu or .py");
  if (fs::is_directory(file, error)) refuse("is a folder");
  if (!fs::is_regular_file(file, error)) refuse("is no file that is there");
  constexpr uintmax_t most = 1 << 20;
  if (auto size = fs::file_size(file, error); error || size > most)
    refuse("is larger than 1 MiB, the most that a kernel's file may have");
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty()) refuse("cannot be read, or is empty");
  if (text.str().find('\0') != std::string::npos) refuse("is no text");
  return text.str();
}

std::string kernel_file_request(const std::string& file, const std::string& device) {
  return header_text({{"type", "kernel_file"}, {"kernel", file}, {"device", device}});
}

std::vector<std::byte> as_payload(const std::string& text) {
  std::vector<std::byte> out(text.size());
  if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
  return out;
}

}  // namespace convscope
