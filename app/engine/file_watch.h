// Tells when files change on disk. A thread of its own looks at them several times a second, for as long as there are
// any: what draws the window sleeps meanwhile.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace convscope {

class FileWatch {
 public:
  // Called on the watch's thread, once a file that changed has stayed as it is from one look to the next: an editor may
  // write it in pieces. One that is gone and comes back (written beside and renamed) has changed; one that stays away
  // for half a second has as well.
  explicit FileWatch(std::function<void(const std::string& path)> changed) : changed_(std::move(changed)) {}
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;

  void watch(const std::string& path);  // from how it is now on

 private:
  struct State {
    std::filesystem::file_time_type time{};
    uintmax_t size = 0;
    bool operator==(const State&) const = default;
  };
  static State state_of(const std::string& path);
  void look();

  std::function<void(const std::string&)> changed_;
  std::mutex mutex_;
  std::condition_variable stop_wakes_;
  bool stop_ = false;
  struct Watched {
    State known, last;  // that was told, or begun with; that was seen at the last look
    int missing = 0;    // looks in a row at which it was not there
  };
  std::map<std::string, Watched> files_;
  std::thread thread_;
};

}  // namespace convscope
