// One engine and one terminal: how every verb talks to both.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/engine/client.h"

namespace convscope {

// What is said of a kernel's file where --trust is not given.
inline constexpr const char* untrusted_file =
    "is code from outside that would run with your rights: look through it, then add --trust";

// An engine's refusal or failure, with the exit code it stands for.
class EngineError : public std::runtime_error {
 public:
  EngineError(const nlohmann::json& error, const std::string& text) : std::runtime_error(text), error_(error) {}
  const nlohmann::json& error() const { return error_; }
  int exit_code() const { return error_.value("exit_code", 1); }

 private:
  nlohmann::json error_;
};

struct Received {
  nlohmann::json header;
  std::vector<std::byte> payload;
};

class Session {
 public:
  explicit Session(const CommonOptions& options);

  // Sends a request and waits, with a progress bar where stderr is a terminal; Ctrl-C cancels it.
  // Errors: EngineError; a crashed or hung engine is one too, with code "crashed" or "hung" and exit code 4.
  // partial: of an early answer's header, on another thread.
  Received ask(nlohmann::json header, std::vector<std::byte> payload = {}, const std::string& title = "",
               std::function<void(const std::string&)> partial = {});
  // Gives the engine the file of a kernel that is one; else does nothing. Every request that names it does this itself.
  // Errors: InputError without --trust; EngineError, with code "compile" when it does not compile.
  void bring(const std::string& kernel);
  // The same of a text that lies in no file, under a name as a file's: what the compiler printed. device: that it is
  // compiled for now; for others it is when it is asked for there. Errors: EngineError.
  std::string bring_text(const std::string& file, const std::string& text, const std::string& device);
  // The text that it was given of a kernel's file; "": none.
  std::string brought_text(const std::string& kernel) const;
  bool interrupted() const;
  // Of work that takes many short requests: a line on stderr that is drawn over, where it is a terminal.
  void show(const std::string& line);
  void show_nothing();

 private:
  Received waited(nlohmann::json header, std::vector<std::byte> payload, const std::string& title,
                  const std::string& lent, std::function<void(const std::string&)> partial = {});

  CommonOptions options_;
  std::atomic<bool> answer_tells_{false};  // of what ended an engine on a problem the answer tells
  EngineClient client_;
  std::map<std::string, std::string> brought_;  // texts by the names of their files
  bool terminal_, shown_ = false;
};

// The one document of --json. Text that is no UTF-8 (a file's name) is replaced.
void print_json(const nlohmann::json& document);

inline constexpr int interrupted_code = 130;  // Ctrl-C, as shells have it

// From now on Ctrl-C and SIGTERM are remembered instead of ending the program; a second one, more than a second after
// the first, ends it.
void catch_interrupts();
bool signalled();
// What is asked is out of date, and ends as by Ctrl-C, until it is begun again.
void call_off();
void begin_again();
bool interrupted();  // by either
// The program's exit code, where it would be `code`: SIGTERM keeps what is done as Ctrl-C does, and has a code of its
// own, as every program's.
int ended_by(int code);

// The report of a run whose engine died or hung, or whose kernel's file does not compile, in the shape of a report:
// what is known, or what another engine says of kernel and device, is filled in.
nlohmann::json lost_report(Session& session, const RunRequest& r, const nlohmann::json& error);

}  // namespace convscope
