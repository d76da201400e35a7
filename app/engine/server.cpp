#include "app/engine/server.h"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "app/engine/crash.h"
#include "app/engine/frame.h"
#include "app/engine/process.h"
#include "app/engine/service.h"
#include "app/engine/stillness.h"
#include "kernels/base/error.h"
#include "kernels/base/run_program.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/host_memory.h"
#include "kernels/runtime/compile/for_layers.h"

namespace convscope {
using nlohmann::json;
namespace {

// Without destructors, since threads may be at work: but no compiler goes on, and no folder of it stays.
[[noreturn]] void leave(int code) {
  end_programs_for_good();
  remove_temporary_for_good();
  _exit(code);
}

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
    send({{"type", "hello"},
          {"protocol", protocol_version},
          {"version", CONVSCOPE_VERSION},
          {"pid", static_cast<int>(getpid())}},
         {});
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
    r->header = parse_header(frame.header);
    r->payload = std::move(frame.payload);
    auto id = r->header.find("id"), type = r->header.find("type");
    if (id == r->header.end() || !id->is_number_unsigned() || type == r->header.end() || !type->is_string())
      throw FrameError("a request without type or id");
    r->id = *id;
    r->type = *type;
    if (r->type == "cancel") {
      auto target = r->header.find("target");
      if (target != r->header.end() && target->is_number_unsigned()) cancel(target->get<uint64_t>());
      return;
    }
    std::lock_guard lock(mutex_);
    under_way_[r->id] = r;
    Queue& q = Service::is_light(r->type) ? light_ : heavy_;
    q.waiting.push_back(r);
    q.filled.notify_one();
  }

  // What still waits is answered here: what is before it in its queue may take long.
  void cancel(uint64_t id) {
    std::shared_ptr<Request> waited;
    {
      std::lock_guard lock(mutex_);
      auto it = under_way_.find(id);
      if (it == under_way_.end()) return;
      it->second->activity.cancel();
      for (Queue* q : {&heavy_, &light_})
        if (std::erase(q->waiting, it->second)) waited = it->second;
      if (waited) under_way_.erase(it);
    }
    if (waited) send_error(id, Cancelled());
  }

  void work(Queue& q) {
    for (;;) {
      std::shared_ptr<Request> r;
      {
        std::unique_lock lock(mutex_);
        q.filled.wait(lock, [&] { return !q.waiting.empty(); });
        r = q.waiting.front();
        q.waiting.pop_front();
      }
      if (&q == &heavy_) {
        {
          std::lock_guard lock(mutex_);
          current_ = r;
        }
        // Before it is begun: should it end the process, the client knows at which request that was.
        send_progress(*r);
      }
      answer(*r);
      std::lock_guard lock(mutex_);
      if (current_ == r) current_.reset();
      if (auto it = under_way_.find(r->id); it != under_way_.end() && it->second == r) under_way_.erase(it);
    }
  }

  void answer(Request& r) {
    bool ends = false;
    try {
      r.activity.check();
      auto reply = service_.handle(r.header, r.payload, r.activity,
                                   [&](const std::string& early) { send_with(early, "partial", r.id, {}); });
      send_with(reply.header, "result", r.id, reply.payload);
    } catch (const std::exception& e) {
      auto* device = dynamic_cast<const DeviceError*>(&e);
      // With the device lost, or all memory taken that it may have, nothing would work in this process any more.
      ends = (device && device->poisoned()) || dynamic_cast<const OwnMemoryError*>(&e);
      send_error(r.id, e, ends);
    }
    // By the thread whose answer said so: another would end the process before that is written.
    if (ends) leave(3);
  }

  void send_error(uint64_t id, const std::exception& e, bool engine_ends = false) {
    json j = error_json(e);
    j["type"] = "error";
    j["id"] = id;
    if (engine_ends) j["engine_ends"] = true;
    send(j, {});
  }

  // Ten times a second, what the heavy request in hand is doing.
  void report_progress() {
    Stillness still;
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::shared_ptr<Request> r;
      {
        std::lock_guard lock(mutex_);
        r = current_;
      }
      if (!r) continue;
      const double now_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
      send_progress(*r, still.at(r->id, beat_of(r->activity.snapshot()), now_s, thread_times()));
    }
  }

  // Compilers that run while plans are made are no part of the request's own activity.
  static uint64_t beat_of(const Activity::Snapshot& s) { return s.beat + asked_for_layers(); }
  void send_progress(const Request& r, double still_s = 0) {
    auto s = r.activity.snapshot();
    send({{"type", "progress"},
          {"id", r.id},
          {"phase", s.phase},
          {"done", s.done},
          {"total", s.total},
          {"beat", beat_of(s)},
          {"still_s", still_s},
          {"patience_s", Service::patience_s(r.header, s.of_kernel)}},
         {});
  }

  void send_with(const std::string& header, const char* type, uint64_t id, const std::vector<std::byte>& payload) {
    json j = json::parse(header);
    j["type"] = type;
    j["id"] = id;
    send(j, payload);
  }

  void send(const json& header, const std::vector<std::byte>& payload) {
    std::string text = header_text(header), prefix = frame_prefix(text.size(), payload.size());
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
      if (n <= 0) leave(0);  // nobody listens any more
      p += n, size -= static_cast<size_t>(n);
    }
  }

  int in_, out_;
  Service service_;
  std::mutex mutex_, write_mutex_;
  Queue heavy_, light_;
  std::map<uint64_t, std::shared_ptr<Request>> under_way_;
  std::shared_ptr<Request> current_;
};

}  // namespace

int serve_engine() {
  open_standard_descriptors();
  // Out of the way of code that closes or guesses low numbers.
  auto move = [](int fd) {
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 200);
    return high >= 0 ? high : fcntl(fd, F_DUPFD_CLOEXEC, 3);
  };
  int in = move(STDIN_FILENO), out = move(STDOUT_FILENO), nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || out < 0 || nothing < 0) return 1;
  dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // a kernel's printf goes to the log
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C in a terminal is the client's to answer
  struct rlimit core {};
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = 0;  // a kernel's crash is reported, and its gigabytes are not written to disk first
  setrlimit(RLIMIT_CORE, &core);
  if (FILE* f = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("900", f);  // if the system runs out of memory, the engine goes and the window stays
    std::fclose(f);
  }
  install_crash_handlers();
  WorkerPool::on_thread_start(give_thread_a_signal_stack);
  static Server* server = new Server(in, out);  // its threads may still run while the process ends
  int code = server->run();
  std::fflush(stdout);
  leave(code);
}

}  // namespace convscope
