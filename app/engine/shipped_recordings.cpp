#include <algorithm>
#include <filesystem>

#include "app/engine/recording.h"
#include "kernels/base/text.h"

namespace convscope {
namespace fs = std::filesystem;
namespace {

constexpr const char* ending = ".convscope";

// Installed: PREFIX/bin beside PREFIX/share. In a build tree, the folders above it are the project's.
fs::path folder_of(const std::string& what) {
  std::error_code error;
  fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (fs::path installed = here / "../share/convscope" / what; fs::is_directory(installed, error))
    return installed.lexically_normal();
  for (fs::path up = here; up.has_relative_path(); up = up.parent_path())
    if (fs::path own = up / "assets" / what; fs::is_directory(own, error)) return own;
  return {};
}

}  // namespace

std::string shipped_folder(const std::string& what) { return folder_of(what).string(); }

std::vector<ShippedRecording> shipped_recordings() {
  std::vector<ShippedRecording> list;
  std::error_code error;
  fs::path folder = folder_of("recordings");
  if (folder.empty()) return list;
  for (const auto& e : fs::directory_iterator(folder, error))
    if (e.path().extension() == ending) list.push_back({e.path().stem().string(), e.path().string()});
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return list;
}

std::string recording_path(const std::string& name_or_path) {
  std::error_code error;
  if (fs::exists(name_or_path, error)) return name_or_path;
  std::vector<std::string> names;
  for (const auto& r : shipped_recordings()) {
    if (r.name == name_or_path) return r.path;
    names.push_back(r.name);
  }
  std::string near = nearest_name(name_or_path, names);
  throw InputError("recording", name_or_path,
                   near.empty() ? "is no file, and none of that name comes with the program (see `convscope list "
                                  "recordings`)"
                                : "is not known; did you mean " + near + "?");
}

}  // namespace convscope
