#include "kernels/runtime/driver_version.h"

#include <cstdlib>

#include "kernels/base/cache.h"

namespace convscope {
namespace {

constexpr size_t most_bytes = 4096;

size_t digits_at(std::string_view text, size_t at) {
  size_t n = 0;
  while (at + n < text.size() && text[at + n] >= '0' && text[at + n] <= '9') n++;
  return n;
}

// Letters of a version that begins here and ends at a space or the text's end; 0: none does.
size_t version_at(std::string_view text, size_t at) {
  size_t major = digits_at(text, at), end = at + major;
  if (major != 3 || end >= text.size() || text[end] != '.') return 0;
  size_t minor = digits_at(text, end + 1);
  if (minor < 1 || minor > 3) return 0;
  end += 1 + minor;
  if (end < text.size() && text[end] == '.') {
    size_t third = digits_at(text, end + 1);
    if (third == 0) return 0;
    end += 1 + third;
  }
  return end == text.size() || text[end] == ' ' || text[end] == '\n' || text[end] == '\t' ? end - at : 0;
}

}  // namespace

std::string version_in(std::string_view text) {
  for (size_t at = 0; at < text.size(); at++) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n' && text[at - 1] != '\t') continue;
    if (size_t n = version_at(text, at)) return std::string(text.substr(at, n));
  }
  return "";
}

std::string driver_version() {
  if (const char* named = std::getenv("CONVSCOPE_DRIVER_VERSION"); named && *named)
    return version_in(cached_text(named, most_bytes));
  for (const char* file : {"/proc/driver/nvidia/version", "/sys/module/nvidia/version"})
    if (auto version = version_in(cached_text(file, most_bytes)); !version.empty()) return version;
  return "";
}

}  // namespace convscope
