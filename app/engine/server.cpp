#include "app/engine/server.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/engine/crash.h"
#include "app/engine/frame.h"
#include "app/engine/service.h"
#include "kernels/base/worker_pool.h"

namespace convscope {
using nlohmann::json;
namespace {

struct Request {
  uint64_t id = 0;
  std::string type;
  json header;
  std::vector<std::byte> payload;
  Activity activity;
};

class Server {
 public:
  Server(int in, int out) : in_(in), out_(out) {}

  int run() {
    // Raw marker first: what a login shell printed before it is skipped by the client.
    write_all(hello_marker, sizeof hello_marker - 1);
    send({{"type", "hello"}, {"protocol", protocol_version}, {"version", CONVSCOPE_VERSION}, {"pid", static_cast<int>(getpid())}}, {});
    // Detached: they end with the process, at the latest when stdin ends.
    std::thread([this] { give_thread_a_signal_stack(), work(heavy_); }).detach();
    std::thread([this] { give_thread_a_signal_stack(), work(light_); }).detach();
    std::thread([this] { report_progress(); }).detach();
    return read_requests();
  }

 private:
  struct Queue {
    std::deque<std::shared_ptr<Request>> waiting;
    std::condition_variable filled;
  };

  int read_requests() {
    FrameParser parser;
    std::vector<std::byte> buffer(1 << 20);
    for (;;) {
      ssize_t n = ::read(in_, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return 0;
      try {
        parser.feed({buffer.data(), static_cast<size_t>(n)});
        while (auto frame = parser.next()) take(std::move(*frame));
      } catch (const FrameError& e) {
        std::fprintf(stderr, "engine: %s; closing\n", e.what());
        return 1;
      }
    }
  }

  void take(Frame frame) {
    auto r = std::make_shared<Request>();
    r->header = json::parse(frame.header, nullptr, false);
    r->payload = std::move(frame.payload);
    if (!r->header.is_object() || !r->header.contains("id") || !r->header["id"].is_number_unsigned() || !r->header.contains("type") ||
        !r->header["type"].is_string())
      throw FrameError("a request without type or id");
    r->id = r->header["id"];
    r->type = r->header["type"];
    if (r->type == "cancel") {
      std::lock_guard lock(mutex_);
      auto target = r->header.value("target", json());
      if (target.is_number_unsigned())
        if (auto it = under_way_.find(target.get<uint64_t>()); it != under_way_.end()) it->second->activity.cancel();
      return;
    }
    std::lock_guard lock(mutex_);
    under_way_[r->id] = r;
    Queue& q = Service::is_light(r->type) ? light_ : heavy_;
    q.waiting.push_back(r);
    q.filled.notify_one();
  }

  void work(Queue& q) {
    for (;;) {
      std::shared_ptr<Request> r;
      {
        std::unique_lock lock(mutex_);
        q.filled.wait(lock, [&] { return !q.waiting.empty(); });
        r = q.waiting.front();
        q.waiting.pop_front();
        if (&q == &heavy_) {
          current_ = r;
          patience_s_ = Service::patience_s(r->header);
        }
      }
      answer(*r);
      std::lock_guard lock(mutex_);
      if (current_ == r) current_.reset();
      under_way_.erase(r->id);
    }
  }

  void answer(Request& r) {
    try {
      r.activity.check();
      auto reply = service_.handle(r.header, r.payload, r.activity, [&](const std::string& early) { send_with(early, "partial", r.id, {}); });
      send_with(reply.header, "result", r.id, reply.payload);
    } catch (const std::exception& e) {
      json j = error_json(e);
      send_with(j.dump(-1, ' ', false, json::error_handler_t::replace), "error", r.id, {});
    }
    if (service_.device_lost()) {
      std::fprintf(stderr, "convscope-crash: the GPU's context is lost\n");
      _exit(3);
    }
  }

  // Ten times a second, what the heavy request in hand is doing.
  void report_progress() {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::shared_ptr<Request> r;
      double patience;
      {
        std::lock_guard lock(mutex_);
        r = current_;
        patience = patience_s_;
      }
      if (!r) continue;
      auto s = r->activity.snapshot();
      send({{"type", "progress"}, {"id", r->id}, {"phase", s.phase}, {"done", s.done}, {"total", s.total}, {"beat", s.beat}, {"patience_s", patience}}, {});
    }
  }

  void send_with(const std::string& header, const char* type, uint64_t id, const std::vector<std::byte>& payload) {
    json j = json::parse(header);
    j["type"] = type;
    j["id"] = id;
    send(j, payload);
  }

  void send(const json& header, const std::vector<std::byte>& payload) {
    std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace), prefix = frame_prefix(text.size(), payload.size());
    std::lock_guard lock(write_mutex_);
    write_all(prefix.data(), prefix.size());
    write_all(text.data(), text.size());
    write_all(payload.data(), payload.size());
  }

  void write_all(const void* data, size_t size) {
    const char* p = static_cast<const char*>(data);
    while (size) {
      ssize_t n = ::write(out_, p, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(0);  // nobody listens any more
      p += n, size -= static_cast<size_t>(n);
    }
  }

  int in_, out_;
  Service service_;
  std::mutex mutex_, write_mutex_;
  Queue heavy_, light_;
  std::map<uint64_t, std::shared_ptr<Request>> under_way_;
  std::shared_ptr<Request> current_;
  double patience_s_ = 10;
};

}  // namespace

int serve_engine() {
  int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || out < 0 || nothing < 0) return 1;
  dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // a kernel's printf goes to the log
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C in a terminal is the client's to answer
  if (FILE* f = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("900", f);  // if the system runs out of memory, the engine goes and the window stays
    std::fclose(f);
  }
  install_crash_handlers();
  WorkerPool::on_thread_start(give_thread_a_signal_stack);
  static Server* server = new Server(in, out);  // its threads may still run while the process ends
  int code = server->run();
  std::fflush(stdout);
  _exit(code);
}

}  // namespace convscope
