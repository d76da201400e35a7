#include "app/model/asked_path.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "app/engine/kernel_file.h"

namespace convscope {
namespace fs = std::filesystem;
namespace {

constexpr size_t most_entries = 2000;

std::string ending_for(PathFor what, const std::string& kernel) {
  switch (what) {
    case PathFor::open:
      return "";
    case PathFor::save:
      return ".convscope";
    case PathFor::picture:
      return ".png";
    case PathFor::pytorch:
      return ".py";
    case PathFor::cuda:
      return ".cu";
    case PathFor::copy:
      return file_of_kernel(kernel).ends_with(".py") ? ".py" : ".cu";
  }
  return "";
}

bool is_listed(const std::string& ending, PathFor what) {
  const bool source = ending == ".py" || ending == ".cu";
  if (what == PathFor::open) return source || ending == ".convscope" || ending == ".npy" || ending == ".npz";
  if (what == PathFor::save || what == PathFor::picture) return ending == ending_for(what, "");
  return source;
}

}  // namespace

std::string first_path(PathFor what, const std::string& session, bool is_recording, const std::string& kernel) {
  switch (what) {
    case PathFor::open:
      return "";
    case PathFor::save:
      if (session.empty()) return "experiment.convscope";
      return is_recording ? fs::path(session).stem().string() + "-session.convscope" : session;
    case PathFor::picture:
      return "convscope.png";
    case PathFor::pytorch:
      return "model_new.py";
    case PathFor::cuda:
      return "conv_transpose1d.cu";
    case PathFor::copy:
      return "my_" + fs::path(file_of_kernel(kernel)).stem().string() + ending_for(what, kernel);
  }
  return "";
}

std::vector<FolderEntry> folder_entries(const std::string& folder, PathFor what) {
  std::vector<FolderEntry> entries;
  std::error_code error, none;
  // A disk may fail at any of them: what came before is listed.
  for (fs::directory_iterator e(folder.empty() ? "." : folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && e != end && entries.size() < most_entries; e.increment(error)) {
    const std::string name = e->path().filename().string();
    if (name.starts_with(".")) continue;
    const bool is_folder = e->is_directory(none);
    if (is_folder || is_listed(e->path().extension().string(), what)) entries.push_back({name, is_folder});
  }
  std::sort(entries.begin(), entries.end(), [](const FolderEntry& a, const FolderEntry& b) {
    return std::tuple(!a.is_folder, a.name) < std::tuple(!b.is_folder, b.name);
  });
  return entries;
}

AskedPath asked_path(PathFor what, const std::string& typed, const std::string& kernel) {
  std::error_code none;
  AskedPath asked{typed, false, false, ""};
  if (typed.empty() || fs::is_directory(typed, none)) return asked;  // its files are listed
  if (what == PathFor::open) {
    asked.possible = fs::exists(typed, none);
    if (!asked.possible) asked.words = "There is no such file.";
    return asked;
  }
  const fs::path name = fs::path(typed).filename();
  if (name.empty()) {
    asked.words = "There is no such folder.";
    return asked;
  }
  // A kernel's file is known by its ending.
  const std::string ending = ending_for(what, kernel);
  if (name.extension().empty() || (what == PathFor::copy && name.extension() != ending)) asked.path += ending;
  const std::string called = fs::path(asked.path).filename().string();
  if (fs::is_directory(asked.path, none)) {
    asked.words = called + " is a folder.";
    return asked;
  }
  asked.possible = true;
  asked.replaces = fs::exists(asked.path, none);
  if (asked.path != typed) asked.words = "Saved as " + called;
  return asked;
}

}  // namespace convscope
