#include "app/engine/client.h"

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include "app/engine/codec.h"
#include "app/engine/connection.h"
#include "app/engine/stillness.h"

namespace convscope {
using nlohmann::json;
using Clock = Connection::Clock;
namespace {

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Pending {
  json header;
  Connection::Payload payload;
  Handlers handlers;
  double limit_s = 0;
  Clock::time_point clock = Clock::now();  // of the limit: stands still while the engine does other things
  bool begun = false;                      // a progress frame has come: silence now means something
  uint64_t beat = 0;
  Clock::time_point last_beat = Clock::now();
  std::optional<double> still_s;  // since then, as the engine counts it: of the time it had a processor
  double patience_s = 10;
  std::string phase;
  std::optional<Clock::time_point> cancelled;
};

std::string short_number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

Answer cancelled_answer(const std::string& why) {
  return {
      Answer::Kind::error, json{{"code", "cancelled"}, {"message", why}, {"exit_code", 130}}.dump(), {}, "cancelled"};
}

// There was never an engine to talk to: a matter of its command, and of no request.
Answer missing_answer(const std::string& what) {
  std::string text = what + "; its command must start `convscope engine`, here or as `ssh box convscope engine`";
  return {Answer::Kind::error, json{{"code", "missing"}, {"message", text}, {"exit_code", 3}}.dump(), {}, text};
}

}  // namespace

// One thread does all reading, writing and waiting; callers only queue. An engine that does not read cannot block
// anyone.
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

  uint64_t post(const std::string& text, std::vector<std::byte> payload, Handlers handlers, double limit_s,
                const std::string& channel, const std::string& lent = "") {
    if (text.size() > most_header_bytes / 2)  // it may grow when it is written out again
      throw InputError("request", std::to_string(text.size()) + " bytes", "is too long");
    json header;
    try {
      header = parse_header(text);
    } catch (const FrameError& e) {
      throw InputError("request", "", e.what());
    }
    Order order{Order::send,         0,
                std::move(header),   std::make_shared<const std::vector<std::byte>>(std::move(payload)),
                std::move(handlers), limit_s, lent};
    std::lock_guard lock(mutex_);
    order.id = ++last_id_;
    if (!channel.empty()) {
      if (auto it = channels_.find(channel); it != channels_.end()) orders_.push_back({Order::cancel, it->second});
      channels_[channel] = order.id;
    }
    orders_.push_back(std::move(order));
    wake();
    return last_id_;
  }

  void cancel(uint64_t id) {
    std::lock_guard lock(mutex_);
    orders_.push_back({Order::cancel, id});
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
    json header = {};
    Connection::Payload payload = {};
    Handlers handlers = {};
    double limit_s = 0;
    std::string lent = {};  // the name under which it is asked of every engine
  };
  struct Version {
    json header;
    Connection::Payload payload;
  };
  // What is lent under one name: the newest version that an engine has taken, and those that were asked since, by id.
  struct Lent {
    std::optional<Version> taken;
    std::map<uint64_t, Version> asked;
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
    pid_ = 0;
    Answer ended = cancelled_answer("the client ended");
    fail_all(ended);
    std::deque<Order> rest;  // what was only queued is answered too
    {
      std::lock_guard lock(mutex_);
      rest.swap(orders_);
    }
    for (auto& o : rest)
      if (o.kind == Order::send && o.handlers.done) o.handlers.done(ended);
  }

  void obey(Order& o) {
    if (o.kind == Order::cancel) {
      auto it = pending_.find(o.id);
      if (it == pending_.end() || it->second.cancelled) return;
      it->second.cancelled = Clock::now();
      if (engine_)
        engine_->send({{"type", "cancel"}, {"id", ++cancel_id_ + (uint64_t{1} << 62)}, {"target", o.id}}, {});
      return;
    }
    o.header["id"] = o.id;
    Pending& p = pending_[o.id];
    p.header = std::move(o.header);
    p.payload = std::move(o.payload);
    p.handlers = std::move(o.handlers);
    p.limit_s = o.limit_s;
    if (!o.lent.empty()) {
      lent_[o.lent].asked[o.id] = {p.header, p.payload};
      keep_when_taken(p, o.lent, o.id);
    }
    if (engine_)
      engine_->send(p.header, p.payload);
    else
      start();
  }

  // What an engine did not take is not given to the next, which gets the version before it, as this one still has it.
  void keep_when_taken(Pending& p, const std::string& name, uint64_t id) {
    p.handlers.done = [this, name, id, done = std::move(p.handlers.done)](Answer a) {
      Lent& lent = lent_[name];
      auto asked = lent.asked.extract(id);
      if (a.kind == Answer::Kind::result && asked)
        lent.taken = std::move(asked.mapped());
      else if (a.kind != Answer::Kind::result && lent.taken && lent.taken->header["id"] == id)
        lent.taken.reset();
      if (done) done(std::move(a));
    };
  }

  // Before all else, what engines before it have taken; what still waits for its first answer is asked after that.
  // Returns the ids of what was sent.
  std::set<uint64_t> give_again() {
    std::set<uint64_t> given;
    for (auto& [name, lent] : lent_) {
      if (!lent.taken) continue;
      uint64_t id = lent.taken->header["id"];
      if (!pending_.contains(id)) {  // else the engine before this one did not come to it
        id = ++again_id_ + (uint64_t{1} << 61);
        lent.taken->header["id"] = id;
        Pending& p = pending_[id];
        p.header = lent.taken->header, p.payload = lent.taken->payload;
        keep_when_taken(p, name, id);
      }
      Pending& p = pending_[id];
      p.begun = false;
      p.clock = Clock::now();
      engine_->send(p.header, p.payload);
      given.insert(id);
    }
    return given;
  }

  // Starts an engine and asks it everything that is wanted.
  void start() {
    try {
      engine_ = std::make_unique<Connection>(command_);
    } catch (const std::exception& e) {
      return fail_all(missing_answer(e.what()));
    }
    starts_++;
    pid_ = engine_->pid();
    answered_ = false;
    std::vector<uint64_t> wanted;
    for (const auto& [id, p] : pending_) wanted.push_back(id);
    const std::set<uint64_t> given = give_again();
    for (uint64_t id : wanted) {
      auto here = pending_.find(id);
      if (here == pending_.end() || given.contains(id)) continue;
      if (here->second.cancelled) {
        finish(here, cancelled_answer("cancelled"));
        continue;
      }
      here->second.begun = false;
      here->second.clock = Clock::now();
      engine_->send(here->second.header, here->second.payload);
    }
  }

  void wait_for_something() {
    pollfd fds[1 + Connection::descriptors] = {{wake_, POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}};
    if (engine_) engine_->describe(fds + 1);
    poll(fds, std::size(fds), pending_.empty() ? -1 : 50);
    if (fds[0].revents) {
      uint64_t n;
      [[maybe_unused]] auto r = read(wake_, &n, sizeof n);
    }
    if (!engine_) return;
    leaving_ = false;
    bool open = engine_->serve(
        fds + 1, [this](Frame f) { take(std::move(f)); }, log_handler());
    if (leaving_)
      replace();
    else if (!open)
      bury("");
  }

  // The engine answered and said that it goes with that, as one whose GPU context is lost must: nobody is to blame.
  void replace() {
    engine_.reset();
    pid_ = 0;
    if (!pending_.empty()) start();
  }

  std::function<void(const std::string&)> log_handler() {
    std::lock_guard lock(mutex_);
    return log_handler_;
  }

  // Errors: FrameError when it makes no sense. What handlers throw is not caught.
  void take(Frame frame) {
    std::string type;
    uint64_t id = 0, beat = 0;
    double patience_s = 0;
    std::optional<double> still_s;
    bool engine_ends = false;
    Progress now;
    try {
      json j = parse_header(frame.header);
      type = j.at("type").get<std::string>();
      engine_ends = j.value("engine_ends", false);
      if (!j.at("id").is_number_unsigned()) throw FrameError("it sent an answer without an id");
      id = j["id"];
      if (type == "progress") {
        beat = j.value("beat", uint64_t{0});
        patience_s = j.value("patience_s", 10.0);
        if (j.contains("still_s")) still_s = j["still_s"].get<double>();
        now = {j.value("phase", ""), j.value("done", uint64_t{0}), j.value("total", uint64_t{0})};
      } else if (type != "partial" && type != "result" && type != "error") {
        throw FrameError("it sent an answer of unknown type");
      }
    } catch (const json::exception&) {
      throw FrameError("it sent an answer with a field missing, or of the wrong type");
    }
    auto it = pending_.find(id);
    if (it == pending_.end()) return;
    Pending& p = it->second;
    if (type == "progress") {
      if (!p.begun || beat != p.beat) p.last_beat = Clock::now();
      if (!p.begun) p.clock = Clock::now();
      p.begun = true;
      p.beat = beat;
      p.patience_s = patience_s;
      p.still_s = still_s;
      p.phase = now.phase;
      if (p.handlers.progress) p.handlers.progress(now);
    } else if (type == "partial") {
      if (p.handlers.partial) p.handlers.partial(frame.header);
    } else {
      leaving_ |= engine_ends;
      answered_ = true;
      finish(it, {type == "result" ? Answer::Kind::result : Answer::Kind::error, std::move(frame.header),
                  std::move(frame.payload), ""});
    }
  }

  // Requests that take too long, engines that give no sign of life.
  void watch() {
    if (!engine_) return;
    if (!engine_->greeted() && seconds_since(engine_->started()) > options_.start_timeout_s)
      return bury("it did not greet within " + short_number(options_.start_timeout_s) + " s");
    bool busy = false;
    for (auto& [id, p] : pending_) busy |= p.begun;
    for (auto it = pending_.begin(); it != pending_.end(); ++it) {
      Pending& p = it->second;
      if (!p.begun && (busy || !engine_->greeted())) p.clock = Clock::now();
      const double still_s = seconds_since(p.last_beat);
      if (p.begun && (p.still_s.value_or(still_s) > p.patience_s || still_s * Stillness::least_share > p.patience_s))
        return end_engine(it,
                          {Answer::Kind::hung,
                           "",
                           {},
                           "nothing has finished for " + short_number(p.patience_s) + " s" + during(p) + standing()});
      if (p.limit_s > 0 && seconds_since(p.clock) > p.limit_s)
        return end_engine(it, {Answer::Kind::hung,
                               "",
                               {},
                               "no answer within the " + short_number(p.limit_s) + " s it was given" + during(p) +
                                   (p.begun ? standing() : "")});
      if (p.cancelled && seconds_since(*p.cancelled) > options_.cancel_grace_s) {
        if (p.begun) return end_engine(it, cancelled_answer("cancelled: the engine was ended with it"));
        return finish(it, cancelled_answer("cancelled"));
      }
      if (engine_->greeted() && engine_->all_sent() &&
          seconds_since(std::max(engine_->last_read(), p.clock)) > options_.silence_s)
        return end_engine(it, {Answer::Kind::hung,
                               "",
                               {},
                               "the engine has given no sign of life for " + short_number(options_.silence_s) + " s"});
    }
  }

  static std::string during(const Pending& p) { return p.phase.empty() ? "" : " while " + p.phase; }

  // ": kernel k, block …" of an engine that is going to be ended.
  std::string standing() {
    std::string where = engine_->where();
    return where.empty() ? "" : ": " + where;
  }

  static std::string subject(const Pending& p) {
    auto it = p.header.find("kernel");
    return it != p.header.end() && it->is_string() ? it->get<std::string>()
                                                   : p.header.value("type", json("a request")).dump();
  }

  using Place = std::map<uint64_t, Pending>::iterator;

  void finish(Place it, Answer answer) {
    auto done = std::move(it->second.handlers.done);
    pending_.erase(it);
    if (done) done(std::move(answer));
  }

  // Ends the engine for one request's sake, and asks the next one the others.
  void end_engine(Place culprit, const Answer& answer) {
    engine_.reset();
    pid_ = 0;
    finish(culprit, answer);
    if (!pending_.empty()) start();
  }

  // The engine is gone, or has to go (for `why`). What it had begun died with it, and no other: that is asked again. So
  // is everything when it had begun nothing but answered before: it died idle, and that was not yet known here. One
  // that never answered would perhaps die of the same thing for ever.
  void bury(const std::string& why) {
    std::string how = engine_->end(why, log_handler());
    // What was killed before it greeted, or left last words, is an engine still.
    bool none =
        !engine_->said_hello() && how.starts_with("the engine ") && !how.starts_with("the engine ended with signal");
    engine_.reset();
    pid_ = 0;
    if (none) return fail_all(missing_answer(how));
    bool any = false;
    for (auto it = pending_.begin(); it != pending_.end();) {
      auto here = it++;
      if (!here->second.begun) continue;
      any = true;
      // Last words say more. The phase that was heard of last may be over.
      bool riddle = how.starts_with("the engine ended");
      finish(here,
             {Answer::Kind::crashed, "", {}, riddle ? how + " while it worked on " + subject(here->second) : how});
    }
    if (!any && !answered_)
      fail_all({Answer::Kind::crashed, "", {}, how});
    else if (!pending_.empty())
      start();
  }

  void fail_all(const Answer& answer) {
    auto all = std::exchange(pending_, {});
    for (auto& [id, p] : all)
      if (p.handlers.done) p.handlers.done(answer);
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
  std::unique_ptr<Connection> engine_;
  bool leaving_ = false;   // the engine said that it ends
  bool answered_ = false;  // something, since it was started
  std::map<uint64_t, Pending> pending_;
  std::map<std::string, Lent> lent_;
  uint64_t cancel_id_ = 0, again_id_ = 0;
};

EngineClient::EngineClient(EngineOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
EngineClient::~EngineClient() = default;

uint64_t EngineClient::post(const std::string& header, std::vector<std::byte> payload, Handlers handlers,
                            double limit_s) {
  return impl_->post(header, std::move(payload), std::move(handlers), limit_s, "");
}
uint64_t EngineClient::lend(const std::string& name, const std::string& header, std::vector<std::byte> payload,
                            Handlers handlers) {
  return impl_->post(header, std::move(payload), std::move(handlers), 0, "", name);
}
uint64_t EngineClient::post_latest(const std::string& channel, const std::string& header,
                                   std::vector<std::byte> payload, Handlers handlers, double limit_s) {
  return impl_->post(header, std::move(payload), std::move(handlers), limit_s, channel);
}
void EngineClient::cancel(uint64_t id) { impl_->cancel(id); }
void EngineClient::on_log(std::function<void(const std::string&)> handler) { impl_->on_log(std::move(handler)); }
int EngineClient::starts() const { return impl_->starts(); }
int EngineClient::pid() const { return impl_->pid(); }

Answer EngineClient::request(const std::string& header, std::vector<std::byte> payload, Handlers handlers,
                             double limit_s, const std::function<bool()>& poll, const std::string& lent) {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<Answer> answer;
  handlers.done = [&](Answer a) {
    std::lock_guard lock(mutex);
    answer = std::move(a);
    ready.notify_one();
  };
  uint64_t id = impl_->post(header, std::move(payload), std::move(handlers), limit_s, "", lent);
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
