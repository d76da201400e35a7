#include "app/cli/watch.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <unistd.h>
#include <utility>

#include "app/cli/session.h"
#include "app/cli/words.h"
#include "app/engine/file_watch.h"
#include "kernels/base/error.h"

namespace convscope {
namespace {

// What has changed since somebody asked. Files are told on a thread of their own.
class Changes {
 public:
  explicit Changes(const std::vector<std::string>& files) : watch_([this](const std::string& path) { tell(path); }) {
    for (const std::string& f : files) watch_.watch(f);
  }
  // The file that changed; "" where Ctrl-C came first.
  std::string next() {
    constexpr std::chrono::milliseconds look{100};  // a signal wakes nobody
    std::unique_lock lock(mutex_);
    while (changed_.empty() && !signalled()) told_.wait_for(lock, look);
    begin_again();
    return std::exchange(changed_, "");
  }

 private:
  void tell(const std::string& path) {
    std::lock_guard lock(mutex_);
    changed_ = path;
    call_off();
    told_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable told_;
  std::string changed_;
  FileWatch watch_;  // last: what it tells is there before it
};

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

}  // namespace

int watch(const CommonOptions& common, const std::function<int()>& run) {
  std::vector<std::string> files = kernel_files_to_read();
  std::erase_if(files, [](const std::string& f) { return !std::filesystem::is_regular_file(f); });
  if (files.empty())
    throw InputError("watch", "", "needs a kernel's file that is there: `convscope run mine.cu --trust --watch`");
  if (!common.trust) throw InputError("kernel", files.front(), untrusted_file);
  if (common.json) throw InputError("watch", "", "cannot be together with --json, which is one document");
  Changes changes(files);
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (;;) {
    const int code = run();
    std::fflush(stdout);
    if (signalled()) return code;
    fmt::print(stderr, "convscope: waiting for {} to change; Ctrl-C ends\n", fmt::join(files, ", "));
    const std::string changed = changes.next();
    if (changed.empty()) return code;
    // On a terminal what was said of the text before is out of sight.
    if (terminal) std::fputs("\033[2J\033[H", stdout), std::fflush(stdout);
    fmt::print(stderr, "convscope: {} changed at {}\n", changed, time_of_day());
  }
}

}  // namespace convscope
