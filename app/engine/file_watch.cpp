#include "app/engine/file_watch.h"

#include <chrono>
#include <vector>

namespace convscope {

FileWatch::~FileWatch() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

FileWatch::State FileWatch::state_of(const std::string& path) {
  std::error_code error;
  State s;
  s.size = std::filesystem::file_size(path, error);
  if (error) return {};
  s.time = std::filesystem::last_write_time(path, error);
  return error ? State{} : s;
}

void FileWatch::watch(const std::string& path) {
  std::lock_guard lock(mutex_);
  const State now = state_of(path);
  files_[path] = {now, now, 0};
  if (!thread_.joinable()) thread_ = std::thread([this] { look(); });
}

void FileWatch::look() {
  std::unique_lock lock(mutex_);
  while (!stop_wakes_.wait_for(lock, std::chrono::milliseconds(150), [&] { return stop_; })) {
    std::vector<std::string> changed;
    for (auto& [path, file] : files_) {
      const State now = state_of(path);
      const bool rests = now == file.last;
      file.last = now;
      constexpr int enough = 4;
      file.missing = now == State{} ? file.missing + 1 : 0;
      if (!rests || now == file.known || (file.missing && file.missing < enough)) continue;
      file.known = now;
      changed.push_back(path);
    }
    lock.unlock();
    for (const auto& path : changed) changed_(path);
    lock.lock();
  }
}

}  // namespace convscope
