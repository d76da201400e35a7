// Starts the built convscope with pipes and looks at what it answers and leaves behind.
#pragma once
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/engine/process.h"
#include "tests/app/engine/harness.h"

namespace convscope::test {

using Words = std::vector<std::string>;

struct Finished {
  int code = -1;  // as a shell gives it: 128 + n for signal n
  bool by_signal = false;
  std::string out, err;
  double seconds = 0;

  // stdout as the one document that --json promises; a test failure and null when it is anything else.
  json document() const;
};

// One run of convscope. It sees no display and no GPU, and is killed when it takes far too long.
class Cli {
 public:
  explicit Cli(const Words& arguments, const Words& variables = {});
  ~Cli();  // expects that nothing it started is left

  pid_t pid() const { return process_->pid(); }
  void signal(int number) const { kill(process_->pid(), number); }
  // Waits until stderr holds the text, so many times.
  bool says(const std::string& text, int times = 1);
  // Processes it has started, and what they have started, itself included.
  std::vector<pid_t> processes() const;
  // Waits for its end.
  const Finished& finish();

 private:
  // Reads what there is, waiting for at most some milliseconds; false at the end of both streams.
  bool read_some(int wait_ms);

  Finished result_;
  Stopwatch watch_;
  std::string mark_;  // in the environment of all that belongs to this run
  std::unique_ptr<ChildProcess> process_;
  bool out_open_ = true, err_open_ = true, finished_ = false;
};

Finished convscope_run(const Words& arguments, const Words& variables = {});
// The same through a shell; `convscope` in the script is the built program.
Finished convscope_shell(const std::string& script, const Words& variables = {});

// Expects exit code 2, nothing on stdout, this one line on stderr, and the same with --json as a document.
void expect_refused(const Words& arguments, const std::string& field, const std::string& value,
                    const std::string& rule);

// "--engine" and the engine with the faulty kernels.
Words with_test_engine(Words arguments);

Words operator+(Words a, const Words& b);

// The variables that make a GPU of the fakes (tests/fakes); false where the build has no GPU side.
Words fake_gpu(const Words& more = {});
bool has_fake_gpu();

}  // namespace convscope::test
