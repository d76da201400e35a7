#include "app/engine/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "app/engine/frame.h"
#include "app/engine/process.h"

namespace convscope {
using nlohmann::json;
using Clock = std::chrono::steady_clock;
namespace {

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Pending {
  Handlers handlers;
  double limit_s = 0;
  Clock::time_point posted = Clock::now();
  uint64_t beat = 0;
  Clock::time_point last_beat = Clock::now();
  bool heard = false;  // a progress frame has come: silence now means something
  double patience_s = 10;
};

}  // namespace

// One thread does all reading, writing and waiting; callers only queue. An engine that does not read cannot block anyone.
class EngineClient::Impl {
 public:
  explicit Impl(EngineOptions options) : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    std::signal(SIGPIPE, SIG_IGN);
    if (options_.command.empty()) {
      std::error_code error;
      command_ = {std::filesystem::read_symlink("/proc/self/exe", error).string(), "engine"};
    } else {
      command_ = split_command(options_.command);
    }
    thread_ = std::thread([this] { loop(); });
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake();
    thread_.join();
    close(wake_);
  }

  uint64_t post(const std::string& header, std::vector<std::byte> payload, Handlers handlers, double limit_s, const std::string& channel) {
    std::lock_guard lock(mutex_);
    uint64_t id = ++last_id_;
    if (!channel.empty()) {
      if (auto it = channels_.find(channel); it != channels_.end()) orders_.push_back({Order::cancel, it->second, {}, {}, {}, 0});
      channels_[channel] = id;
    }
    orders_.push_back({Order::send, id, header, std::move(payload), std::move(handlers), limit_s});
    wake();
    return id;
  }

  void cancel(uint64_t id) {
    std::lock_guard lock(mutex_);
    orders_.push_back({Order::cancel, id, {}, {}, {}, 0});
    wake();
  }

  void on_log(std::function<void(const std::string&)> handler) {
    std::lock_guard lock(mutex_);
    log_handler_ = std::move(handler);
  }

  int starts() const { return starts_; }
  int pid() const { return pid_; }

 private:
  struct Order {
    enum Kind { send, cancel } kind;
    uint64_t id;
    std::string header;
    std::vector<std::byte> payload;
    Handlers handlers;
    double limit_s;
  };

  void wake() {
    uint64_t one = 1;
    [[maybe_unused]] auto n = write(wake_, &one, sizeof one);
  }

  void loop() {
    for (;;) {
      std::deque<Order> orders;
      {
        std::lock_guard lock(mutex_);
        if (stop_) break;
        orders.swap(orders_);
      }
      for (auto& o : orders) obey(o);
      wait_for_something();
      watch();
    }
    engine_.reset();
    fail_all({Answer::Kind::error, json{{"code", "cancelled"}, {"message", "the client ended"}, {"exit_code", 130}}.dump(), {}, "cancelled"});
  }

  void obey(Order& o) {
    if (o.kind == Order::cancel) {
      if (pending_.count(o.id)) queue_frame({{"type", "cancel"}, {"id", ++cancel_id_ + (uint64_t{1} << 62)}, {"target", o.id}}, {});
      return;
    }
    if (!engine_ && !start()) {
      if (o.handlers.done) o.handlers.done({Answer::Kind::crashed, "", {}, start_failure_});
      return;
    }
    json header = json::parse(o.header);
    header["id"] = o.id;
    auto& p = pending_[o.id];
    p.handlers = std::move(o.handlers);
    p.limit_s = o.limit_s;
    queue_frame(header, o.payload);
  }

  bool start() {
    try {
      engine_ = std::make_unique<ChildProcess>(command_);
    } catch (const std::exception& e) {
      start_failure_ = e.what();
      return false;
    }
    for (int fd : {engine_->to(), engine_->from(), engine_->log()}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    starts_++;
    pid_ = engine_->pid();
    parser_.emplace();
    banner_.clear();
    greeted_ = false;
    started_ = Clock::now();
    log_tail_.clear();
    log_line_.clear();
    out_.clear();
    return true;
  }

  void queue_frame(const json& header, const std::vector<std::byte>& payload) {
    std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace), prefix = frame_prefix(text.size(), payload.size());
    for (auto part : {std::string_view(prefix), std::string_view(text)})
      out_.insert(out_.end(), reinterpret_cast<const std::byte*>(part.data()), reinterpret_cast<const std::byte*>(part.data()) + part.size());
    out_.insert(out_.end(), payload.begin(), payload.end());
  }

  void wait_for_something() {
    pollfd fds[4] = {{wake_, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLOUT, 0}};
    if (engine_) {
      fds[1].fd = engine_->from();
      fds[2].fd = engine_->log();
      // Nothing is written before the engine has said what it is.
      if (greeted_ && sent_ < out_.size()) fds[3].fd = engine_->to();
    }
    poll(fds, 4, pending_.empty() ? -1 : 50);
    if (fds[0].revents) {
      uint64_t n;
      [[maybe_unused]] auto r = read(wake_, &n, sizeof n);
    }
    if (!engine_) return;
    if (fds[2].revents) read_log();
    if (fds[1].revents && !read_answers()) return bury();
    if (fds[3].revents && engine_) write_requests();
  }

  void write_requests() {
    while (sent_ < out_.size()) {
      ssize_t n = write(engine_->to(), out_.data() + sent_, out_.size() - sent_);
      if (n <= 0) break;  // full, or closed: then reading tells
      sent_ += static_cast<size_t>(n);
    }
    if (sent_ == out_.size()) out_.clear(), sent_ = 0;
  }

  void read_log() {
    char buffer[4096];
    ssize_t n;
    while ((n = read(engine_->log(), buffer, sizeof buffer)) > 0)
      for (ssize_t i = 0; i < n; i++) {
        if (buffer[i] != '\n') {
          if (log_line_.size() < 4096) log_line_ += buffer[i];
          continue;
        }
        log_tail_.push_back(log_line_);
        if (log_tail_.size() > 50) log_tail_.pop_front();
        std::function<void(const std::string&)> handler;
        {
          std::lock_guard lock(mutex_);
          handler = log_handler_;
        }
        if (handler) handler(log_line_);
        log_line_.clear();
      }
  }

  // False when the engine has closed its end, or speaks no protocol.
  bool read_answers() {
    std::vector<std::byte> buffer(1 << 18);
    for (;;) {
      ssize_t n = read(engine_->from(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return true;
      if (n <= 0) return false;
      std::span<const std::byte> bytes(buffer.data(), static_cast<size_t>(n));
      try {
        if (!greeted_) {
          banner_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          size_t at = ("\n" + banner_).find(hello_marker);
          if (at == std::string::npos) {
            if (banner_.size() > most_banner_bytes) throw FrameError("it does not greet like a convscope engine");
            continue;
          }
          size_t after = at + sizeof hello_marker - 1 - 1;
          parser_->feed({reinterpret_cast<const std::byte*>(banner_.data()) + after, banner_.size() - after});
          greeted_ = true;
        } else {
          parser_->feed(bytes);
        }
        while (auto frame = parser_->next()) take(std::move(*frame));
        if (!engine_) return true;
      } catch (const FrameError& e) {
        protocol_fault_ = e.what();
        return false;
      }
    }
  }

  void take(Frame frame) {
    json j = json::parse(frame.header, nullptr, false);
    if (!j.is_object() || !j.contains("type") || !j["type"].is_string()) throw FrameError("it sent an answer without a type");
    std::string type = j["type"];
    if (type == "hello") {
      if (j.value("protocol", json()) != protocol_version)
        throw FrameError("it speaks protocol " + j.value("protocol", json()).dump() + ", this program speaks " + std::to_string(protocol_version));
      return;
    }
    if (!j.contains("id") || !j["id"].is_number_unsigned()) throw FrameError("it sent an answer without an id");
    auto it = pending_.find(j["id"].get<uint64_t>());
    if (it == pending_.end()) return;
    Pending& p = it->second;
    if (type == "progress") {
      auto beat = j.value("beat", uint64_t{0});
      if (!p.heard || beat != p.beat) p.last_beat = Clock::now();
      p.heard = true;
      p.beat = beat;
      p.patience_s = j.value("patience_s", 10.0);
      if (p.handlers.progress) p.handlers.progress({j.value("phase", ""), j.value("done", uint64_t{0}), j.value("total", uint64_t{0})});
    } else if (type == "partial") {
      if (p.handlers.partial) p.handlers.partial(frame.header);
    } else if (type == "result" || type == "error") {
      auto done = std::move(p.handlers.done);
      pending_.erase(it);
      if (done) done({type == "result" ? Answer::Kind::result : Answer::Kind::error, std::move(frame.header), std::move(frame.payload), ""});
    } else {
      throw FrameError("it sent an answer of unknown type");
    }
  }

  // Requests that take too long, engines that give no sign of life.
  void watch() {
    if (!engine_) return;
    if (!greeted_ && seconds_since(started_) > options_.start_timeout_s) {
      protocol_fault_ = "it did not greet within " + std::to_string(static_cast<int>(options_.start_timeout_s)) + " s";
      return bury();
    }
    for (auto& [id, p] : pending_) {
      std::string why;
      char text[160];
      if (p.limit_s > 0 && seconds_since(p.posted) > p.limit_s) {
        std::snprintf(text, sizeof text, "no answer within the %g s it was given", p.limit_s);
        why = text;
      } else if (p.heard && seconds_since(p.last_beat) > p.patience_s) {
        std::snprintf(text, sizeof text, "nothing has finished for %.3g s", p.patience_s);
        why = text;
      }
      if (why.empty()) continue;
      auto done = std::move(p.handlers.done);
      pending_.erase(id);
      kill_engine();
      if (done) done({Answer::Kind::hung, "", {}, why});
      // What else it had in hand dies with it.
      return fail_all({Answer::Kind::crashed, "", {}, "its engine was ended with a hung request"});
    }
  }

  void kill_engine() {
    if (!engine_) return;
    engine_->kill();
    engine_.reset();
    pid_ = 0;
  }

  // The engine is gone, or has to go: says of what it died.
  void bury() {
    std::string why;
    if (!protocol_fault_.empty()) {
      engine_->kill();
      engine_->wait();
      read_log();
      why = "the engine cannot be used: " + std::exchange(protocol_fault_, {});
    } else {
      engine_->close_input();
      // Its pipe is closed, so it is ending; an engine that is not is made to.
      for (int i = 0; i < 200 && ::kill(engine_->pid(), 0) == 0; i++) {
        read_log();
        if (!last_words().empty()) break;
        usleep(1000);
        if (i == 100) engine_->kill();
      }
      std::string how = engine_->wait();
      read_log();
      why = last_words();
      if (why.empty()) why = how.empty() ? "the engine ended" : "the engine ended with " + how;
      if (why.starts_with("the engine ended") && !log_tail_.empty() && !greeted_) why += ": " + log_tail_.back();
    }
    engine_.reset();
    pid_ = 0;
    fail_all({Answer::Kind::crashed, "", {}, why});
  }

  std::string last_words() const {
    constexpr std::string_view mark = "convscope-crash: ";
    for (auto it = log_tail_.rbegin(); it != log_tail_.rend(); ++it)
      if (it->starts_with(mark)) return it->substr(mark.size());
    return "";
  }

  void fail_all(const Answer& answer) {
    auto all = std::move(pending_);
    pending_.clear();
    out_.clear();
    sent_ = 0;
    for (auto& [id, p] : all)
      if (p.handlers.done) p.handlers.done(answer);
    std::deque<Order> rest;
    if (answer.kind == Answer::Kind::error) {  // the client ends: what was queued is answered too
      std::lock_guard lock(mutex_);
      rest.swap(orders_);
    }
    for (auto& o : rest)
      if (o.kind == Order::send && o.handlers.done) o.handlers.done(answer);
  }

  EngineOptions options_;
  std::vector<std::string> command_;
  int wake_;
  std::thread thread_;

  std::mutex mutex_;  // of what callers touch
  std::deque<Order> orders_;
  std::map<std::string, uint64_t> channels_;
  std::function<void(const std::string&)> log_handler_;
  uint64_t last_id_ = 0;
  bool stop_ = false;
  std::atomic<int> starts_{0}, pid_{0};

  // Of the loop's thread alone.
  std::unique_ptr<ChildProcess> engine_;
  std::optional<FrameParser> parser_;
  std::map<uint64_t, Pending> pending_;
  std::vector<std::byte> out_;
  size_t sent_ = 0;
  std::string banner_, log_line_, protocol_fault_, start_failure_;
  std::deque<std::string> log_tail_;
  bool greeted_ = false;
  Clock::time_point started_;
  uint64_t cancel_id_ = 0;
};

EngineClient::EngineClient(EngineOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
EngineClient::~EngineClient() = default;

uint64_t EngineClient::post(const std::string& header, std::vector<std::byte> payload, Handlers handlers, double limit_s) {
  return impl_->post(header, std::move(payload), std::move(handlers), limit_s, "");
}
uint64_t EngineClient::post_latest(const std::string& channel, const std::string& header, std::vector<std::byte> payload, Handlers handlers,
                                   double limit_s) {
  return impl_->post(header, std::move(payload), std::move(handlers), limit_s, channel);
}
void EngineClient::cancel(uint64_t id) { impl_->cancel(id); }
void EngineClient::on_log(std::function<void(const std::string&)> handler) { impl_->on_log(std::move(handler)); }
int EngineClient::starts() const { return impl_->starts(); }
int EngineClient::pid() const { return impl_->pid(); }

Answer EngineClient::request(const std::string& header, std::vector<std::byte> payload, Handlers handlers, double limit_s,
                             const std::function<bool()>& poll) {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<Answer> answer;
  handlers.done = [&](Answer a) {
    std::lock_guard lock(mutex);
    answer = std::move(a);
    ready.notify_one();
  };
  uint64_t id = post(header, std::move(payload), std::move(handlers), limit_s);
  bool cancelled = false;
  std::unique_lock lock(mutex);
  while (!ready.wait_for(lock, std::chrono::milliseconds(50), [&] { return answer.has_value(); }))
    if (poll && !cancelled) {
      lock.unlock();
      if (!poll()) cancelled = true, cancel(id);
      lock.lock();
    }
  return std::move(*answer);
}

}  // namespace convscope
