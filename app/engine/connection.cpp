#include "app/engine/connection.h"

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace convscope {
using nlohmann::json;
namespace {

// What is read at one go. An engine that talks without end (a kernel that prints in a loop) must not keep the client
// from everything else.
constexpr int most_reads = 16;
constexpr size_t read_bytes = size_t{1} << 18;
constexpr size_t most_log_lines = 50, most_log_line = 4096;
constexpr std::string_view hung_mark = "convscope-hung: ";

double seconds_since(Connection::Clock::time_point t) {
  return std::chrono::duration<double>(Connection::Clock::now() - t).count();
}

}  // namespace

Connection::Connection(const std::vector<std::string>& command) : process_(command), buffer_(read_bytes) {
  for (int fd : {process_.to(), process_.from(), process_.log()}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void Connection::send(const json& header, Payload payload) {
  std::string text = header_text(header);
  size_t bytes = payload ? payload->size() : 0;
  out_.push_back({frame_prefix(text.size(), bytes) + text, std::move(payload), 0});
}

void Connection::describe(pollfd* fds) const {
  fds[0] = {process_.from(), POLLIN, 0};
  fds[1] = {log_open_ ? process_.log() : -1, POLLIN, 0};
  // Nothing is written before the engine has said what it is.
  fds[2] = {said_hello_ && !out_.empty() ? process_.to() : -1, POLLOUT, 0};
}

bool Connection::serve(const pollfd* fds, const std::function<void(Frame)>& on_frame,
                       const std::function<void(const std::string&)>& on_log) {
  if (fds[1].revents) read_log(on_log);
  if (fds[0].revents && !read_answers(on_frame)) return false;
  if (fds[2].revents) write_requests();
  return true;
}

void Connection::write_requests() {
  while (!out_.empty()) {
    Outgoing& o = out_.front();
    size_t payload = o.payload ? o.payload->size() : 0;
    while (o.sent < o.head.size() + payload) {
      bool in_head = o.sent < o.head.size();
      const char* from = in_head ? o.head.data() + o.sent
                                 : reinterpret_cast<const char*>(o.payload->data()) + (o.sent - o.head.size());
      ssize_t n = write(process_.to(), from, in_head ? o.head.size() - o.sent : o.head.size() + payload - o.sent);
      if (n <= 0) return;  // full, or closed: then reading tells
      o.sent += static_cast<size_t>(n);
    }
    out_.pop_front();
  }
}

void Connection::read_log(const std::function<void(const std::string&)>& on_log) {
  for (int i = 0; i < most_reads; i++) {
    ssize_t n = read(process_.log(), buffer_.data(), buffer_.size());
    if (n < 0 && errno == EINTR) continue;
    log_open_ &= n != 0;  // else poll() would say at once, for ever, that its end can be read
    if (n <= 0) return;
    for (ssize_t k = 0; k < n; k++) {
      auto c = static_cast<char>(buffer_[static_cast<size_t>(k)]);
      if (c == '\n')
        log_line_ended(on_log);
      else if (log_line_.size() < most_log_line)
        log_line_ += c;
    }
  }
}

void Connection::log_line_ended(const std::function<void(const std::string&)>& on_log) {
  if (log_line_.starts_with(hung_mark)) {
    hung_words_ = std::exchange(log_line_, {}).substr(hung_mark.size());
    return;
  }
  log_tail_.push_back(std::exchange(log_line_, {}));
  if (log_tail_.size() > most_log_lines) log_tail_.pop_front();
  if (on_log) on_log(log_tail_.back());
}

// False when the engine has closed its end, or speaks no protocol.
bool Connection::read_answers(const std::function<void(Frame)>& on_frame) {
  for (int i = 0; i < most_reads; i++) {
    ssize_t n = read(process_.from(), buffer_.data(), buffer_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    last_read_ = Clock::now();
    std::span<const std::byte> bytes(buffer_.data(), static_cast<size_t>(n));
    try {
      if (greeted_)
        parser_.feed(bytes);
      else
        greet(bytes);
    } catch (const FrameError& e) {
      fault_ = e.what();  // what was whole before it counts
    }
    try {
      while (auto frame = parser_.next()) {
        if (!said_hello_)
          check_hello(*frame), said_hello_ = true;
        else
          on_frame(std::move(*frame));
      }
    } catch (const FrameError& e) {
      fault_ = e.what();
    }
    if (!fault_.empty()) return false;
  }
  return true;
}

// Skips what comes before the marker.
void Connection::greet(std::span<const std::byte> bytes) {
  banner_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t at = ("\n" + banner_).find(hello_marker);
  if (at == std::string::npos) {
    if (banner_.size() > most_banner_bytes) throw FrameError("it does not greet like a convscope engine");
    return;
  }
  size_t after = at + sizeof hello_marker - 1 - 1;
  greeted_ = true;
  parser_.feed(std::as_bytes(std::span(banner_)).subspan(after));
}

void Connection::check_hello(const Frame& frame) const {
  json j = parse_header(frame.header);
  if (j.value("type", json()) != "hello") throw FrameError("it does not greet like a convscope engine");
  if (json theirs = j.value("protocol", json()); theirs != protocol_version)
    throw FrameError("it speaks protocol " + theirs.dump().substr(0, 40) + ", this program speaks " +
                     std::to_string(protocol_version));
}

std::string Connection::end(const std::string& why, const std::function<void(const std::string&)>& on_log) {
  if (fault_.empty()) fault_ = why;
  if (!fault_.empty()) {
    process_.kill();
    process_.wait();
    read_log(on_log);
    return "the engine cannot be used: " + fault_;
  }
  process_.close_input();
  // Its pipe is closed, so it is ending: one that is not is made to. With last words it may take its time to fall.
  auto since = Clock::now();
  while (!process_.ended()) {
    read_log(on_log);
    if (seconds_since(since) > (last_words().empty() ? 0.2 : 4)) process_.kill();
    usleep(1000);
  }
  std::string how = process_.wait();
  read_log(on_log);
  if (!log_line_.empty()) log_line_ended(on_log);
  if (auto words = last_words(); !words.empty()) return words;
  how = how.empty() ? "the engine ended" : "the engine ended with " + how;
  // Before the greeting the last line is the reason; after it only what an engine says of itself.
  if (!log_tail_.empty() && (!said_hello_ || log_tail_.back().starts_with("engine: "))) how += ": " + log_tail_.back();
  return how;
}

std::string Connection::where() {
  constexpr std::string_view line = ", at ", none = ", at no line that is known";
  // On a busy machine both take their time, the line more of it: the first look reads the lines of a whole file's code.
  constexpr double for_words_s = 2, for_the_line_s = 8;
  process_.ask();
  auto since = Clock::now();
  while (log_open_ && seconds_since(since) < (hung_words_.empty() ? for_words_s : for_the_line_s)) {
    bool over = process_.ended();
    read_log({});
    if (over || hung_words_.find(line) != std::string::npos) break;
    usleep(1000);
  }
  return hung_words_.ends_with(none) ? hung_words_.substr(0, hung_words_.size() - none.size()) : hung_words_;
}

std::string Connection::last_words() const {
  constexpr std::string_view mark = "convscope-crash: ";
  for (auto it = log_tail_.rbegin(); it != log_tail_.rend(); ++it)
    if (it->starts_with(mark)) return it->substr(mark.size());
  return "";
}

}  // namespace convscope
