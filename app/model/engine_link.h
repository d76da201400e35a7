// The window's end of an engine: asks it, and takes in what it answers on the window's own thread.
//
// Used by one thread. Answers come on the client's thread into an inbox; drain() takes them in at the start of a frame,
// so nothing is locked while drawing. `wake` is called from the client's thread when there is something to drain.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/engine/client.h"
#include "app/engine/codec.h"
#include "app/model/document.h"

namespace convscope {

struct EngineStatus {
  enum class State { starting, idle, working } state = State::starting;
  std::string phase;
  uint64_t done = 0, total = 0;
  std::chrono::steady_clock::time_point since;  // of the work in hand
  int starts = 0, deaths = 0;
  std::string last_death;
};

struct LogLine {
  std::string text;
  enum class Kind { note, engine, trouble, heading } kind = Kind::note;  // heading: what follows begins with it
};

// What comes of a request before its answer.
struct Meanwhile {
  std::function<void(const Progress&)> progress = {};    // in drain()
  std::function<void(const std::string&)> partial = {};  // an early result's header; on the client's thread
};

class EngineLink {
 public:
  EngineLink(EngineOptions options, std::function<void()> wake);
  void close();  // ends the engine and the client's thread; nothing may be asked afterwards

  bool drain();                           // true work of a frame's start: takes in what has come; whether anything has
  void deliver(std::function<void()> f);  // from any thread: f runs in drain()

  // ---- asking -----------------------------------------------------------------------------------------------------
  // Each gives the request's id. `done` runs in drain(), once. slot: what was asked last under the same is cancelled,
  // so that the newest wins; "": it stands by itself.
  using Done = std::function<void(Answer)>;
  // A request (PROTOCOL.md) of a document, or of what was made of one; `more` are its further fields.
  uint64_t post(const std::string& slot, const char* type, const Document& document, const nlohmann::json& more,
                Done done, Meanwhile meanwhile = {});
  uint64_t post(const std::string& slot, const char* type, const RunRequest& request, const nlohmann::json& more,
                Done done, Meanwhile meanwhile = {});
  // One that is of no document.
  uint64_t ask(const std::string& slot, const nlohmann::json& header, Done done);
  // `prepare` runs on the client's thread, and what it gives in drain().
  uint64_t ask_prepared(const std::string& slot, const nlohmann::json& header,
                        std::function<std::function<void()>(Answer)> prepare);
  // A file that later requests need (EngineClient::lend).
  uint64_t lend(const std::string& name, const std::string& header, std::vector<std::byte> payload, Done done);
  void cancel(uint64_t id) { client_->cancel(id); }
  // How many were not answered yet: 0 when everything asked for has come.
  int waiting() const { return waiting_; }

  // ---- the engine's life --------------------------------------------------------------------------------------------
  // Whoever asked for what may end an engine says how it was answered: each death counts once.
  void see_death(const Answer& a) { see_death(a.kind, a.message); }
  void see_death(Answer::Kind kind, const std::string& how);
  // Called then: what the engine kept is gone.
  void on_death(std::function<void()> forget) { forget_.push_back(std::move(forget)); }

  const EngineStatus& status() const { return status_; }
  void works_since(std::chrono::steady_clock::time_point since);  // a run begins
  void rests();                                                   // it is over
  void came_up();                                                 // the first answer is here
  void measures();                                                // beside runs: the state stays
  void shows(const Progress& p) { status_.phase = p.phase, status_.done = p.done, status_.total = p.total; }
  void forget_phase() { status_.phase.clear(); }
  int pid() const { return client_->pid(); }

  const std::deque<LogLine>& log() const { return log_; }
  void note(const std::string& text, LogLine::Kind kind = LogLine::Kind::note);

 private:
  Handlers prepared(std::function<std::function<void()>(Answer)> prepare);
  Handlers handlers(Done done);
  uint64_t send(const std::string& slot, const std::string& header, std::vector<std::byte> payload, Handlers h);

  std::function<void()> wake_;
  std::mutex mutex_;  // of inbox_
  std::vector<std::function<void()>> inbox_;
  std::vector<std::function<void()>> forget_;
  EngineStatus status_;
  std::deque<LogLine> log_;
  int waiting_ = 0;
  std::unique_ptr<EngineClient> client_;  // last: its thread ends before the rest goes
};

}  // namespace convscope
