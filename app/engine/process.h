// A child process with pipes to its three descriptors.
#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

namespace convscope {

class ChildProcess {
 public:
  // Errors: std::runtime_error when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();  // kills it and waits for it
  ChildProcess(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  int to() const { return to_; }      // its stdin
  int from() const { return from_; }  // its stdout
  int log() const { return log_; }    // its stderr

  void close_input();
  void kill();   // the child and what it has started
  void ask();    // the same, by SIGUSR1 (crash.h): one that does not know it ends
  bool ended();  // without waiting
  // Waits, and says how it ended: "" for exit code 0, "exit code 3", "signal 11 (Segmentation fault)".
  std::string wait();

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  int to_ = -1, from_ = -1, log_ = -1;
};

// Opens /dev/null where stdin, stdout or stderr are closed, so that no file or pipe opened later gets their numbers.
void open_standard_descriptors();

// Splits a command line at blanks; quotes keep words together. Errors: InputError for an unclosed quote.
std::vector<std::string> split_command(const std::string& text);

}  // namespace convscope
