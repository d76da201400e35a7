// One engine that runs, and the stream of frames to and from it.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <poll.h>
#include <string>
#include <vector>

#include "app/engine/frame.h"
#include "app/engine/process.h"

namespace convscope {

// Used by one thread. Nothing here waits for the engine, but for end().
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  using Payload = std::shared_ptr<const std::vector<std::byte>>;

  // Errors: std::runtime_error when it cannot be started.
  explicit Connection(const std::vector<std::string>& command);

  int pid() const { return process_.pid(); }
  bool greeted() const { return greeted_; }
  bool said_hello() const { return said_hello_; }  // in this program's protocol
  Clock::time_point started() const { return started_; }
  Clock::time_point last_read() const { return last_read_; }
  bool all_sent() const { return out_.empty(); }

  // Queues a frame.
  void send(const nlohmann::json& header, Payload payload);

  // What poll() shall wait for: answers, log, and room for requests.
  static constexpr size_t descriptors = 3;
  void describe(pollfd* fds) const;
  // Reads and writes what poll() found ready. False when the engine has closed its end or cannot be used.
  bool serve(const pollfd* fds, const std::function<void(Frame)>& on_frame,
             const std::function<void(const std::string&)>& on_log);

  // Where its kernel stands ("kernel k, block (2, 0, 0), thread (5, 0, 0), at k.cu:84"), or "" when it does not say so
  // within a second. For an engine that is to be ended: it may not survive being asked.
  std::string where();

  // The engine has ended or shall end: waits for that, and says of what.
  std::string end(const std::string& why, const std::function<void(const std::string&)>& on_log);

 private:
  struct Outgoing {
    std::string head;  // prefix and header
    Payload payload;
    size_t sent = 0;
  };

  void write_requests();
  void read_log(const std::function<void(const std::string&)>& on_log);
  void log_line_ended(const std::function<void(const std::string&)>& on_log);
  bool read_answers(const std::function<void(Frame)>& on_frame);
  void greet(std::span<const std::byte> bytes);
  void check_hello(const Frame& frame) const;
  std::string last_words() const;

  ChildProcess process_;
  FrameParser parser_;
  std::deque<Outgoing> out_;
  std::vector<std::byte> buffer_;
  std::string banner_, log_line_, fault_;
  std::string hung_words_;  // apart: a kernel that prints without end would push them out of the log's tail
  std::deque<std::string> log_tail_;
  bool greeted_ = false, said_hello_ = false, log_open_ = true;
  Clock::time_point started_ = Clock::now(), last_read_ = started_;
};

}  // namespace convscope
