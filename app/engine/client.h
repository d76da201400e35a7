// The other end of an engine: starts it, talks to it, and lives on when it dies.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace convscope {

struct EngineOptions {
  // Split at blanks, as a shell would ('…' and "…" kept together). Empty: this program itself, with `engine`.
  std::string command = {};
  double start_timeout_s = 20;  // for its greeting
  double cancel_grace_s = 2;    // what a cancelled request may still take; then the engine is ended with it
  double silence_s = 30;        // without a byte from an engine that has something to do: it counts as hung
};

// How a request ended. Handlers are called on the client's own thread, one at a time.
struct Answer {
  enum class Kind {
    result,   // header and payload
    error,    // header has code, …: the engine refused or failed; `missing` also when no engine could be started
    crashed,  // the engine died at it: `message` says of what
    hung,     // it was killed for giving no sign of life in time, or for exceeding the request's limit
  };
  Kind kind = Kind::result;
  std::string header;  // JSON
  std::vector<std::byte> payload;
  std::string message;
};

struct Progress {
  std::string phase;
  uint64_t done = 0, total = 0;
};

struct Handlers {
  std::function<void(Answer)> done = {};  // exactly once
  std::function<void(const Progress&)> progress = {};
  std::function<void(const std::string&)> partial = {};  // header of an early result
};

class EngineClient {
 public:
  explicit EngineClient(EngineOptions options = {});
  ~EngineClient();  // ends the engine; requests under way are answered as cancelled
  EngineClient(const EngineClient&) = delete;

  // Sends a request and returns its id. Starts an engine if none runs. `limit_s` > 0: the engine is killed when the
  // answer has not come by then; waiting behind other requests does not count. Never blocks on the engine's work. When
  // an engine dies at one request, those it had not begun are asked of the next one; the results that a tile, say, asks
  // about are gone with it, and the answer says so. Errors: InputError when the header is no JSON object, or too large
  // for the protocol.
  uint64_t post(const std::string& header, std::vector<std::byte> payload, Handlers handlers, double limit_s = 0);
  // The same, and cancels what was posted last under the same channel: the newest wins.
  uint64_t post_latest(const std::string& channel, const std::string& header, std::vector<std::byte> payload,
                       Handlers handlers, double limit_s = 0);
  // The request is answered as cancelled, or with its result if that was quicker. A launch that cannot be stopped is
  // ended with its engine.
  void cancel(uint64_t id);

  // Waits for the answer. `poll` is called about every 50 ms; when it returns false, the request is cancelled. With
  // `lent`, the name that lend() takes, it is one of its kind.
  Answer request(const std::string& header, std::vector<std::byte> payload = {}, Handlers handlers = {},
                 double limit_s = 0, const std::function<bool()>& poll = {}, const std::string& lent = {});

  // Like post(), of a request that gives the engine what later ones need (a kernel's file): an engine that is started
  // anew is asked it again before all else. Kept by name is the newest that was answered with a result; one that was
  // answered with an error leaves the one before it, which engines still have. Those that wait for their answer are
  // asked again in their turn, after it.
  uint64_t lend(const std::string& name, const std::string& header, std::vector<std::byte> payload, Handlers handlers);

  // Lines of the engine's log as they come, on the client's thread.
  void on_log(std::function<void(const std::string&)> handler);

  int starts() const;  // how many engines have been started so far
  int pid() const;     // of the running engine; 0 when there is none

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace convscope
