// The built programs, started as a person starts them.
#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

namespace convscope::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double program_slowness = 10;
#else
inline constexpr double program_slowness = 1;
#endif

// A program of the build, beside the running test.
std::string built(const std::string& name);
bool on_path(const std::string& program);

// A program in the background; killed and waited for when the object goes. Its two outputs go to files of `folder`.
class Started {
 public:
  // words: "NAME=value" before the program's name sets a variable, "NAME=" takes it away.
  Started(const std::string& folder, std::vector<std::string> words);
  ~Started();
  Started(const Started&) = delete;

  pid_t pid() const { return pid_; }
  bool ended();
  int wait(double seconds);  // exit code as a shell gives it; -1: it still runs
  void signal(int number) const;
  std::string out() const;
  std::string err() const;

 private:
  pid_t pid_ = -1;
  int code_ = -1;
  std::string out_, err_;
};

// Processor time that a process has taken, user and system, in seconds; 0 when it is gone.
double cpu_seconds(pid_t pid);
std::vector<pid_t> children_of(pid_t parent);

// Lines of a text, without the empty one after the last newline.
size_t lines_of(const std::string& text);

}  // namespace convscope::test
