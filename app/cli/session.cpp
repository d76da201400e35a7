#include "app/cli/session.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <mutex>
#include <unistd.h>
#include <utility>

#include "app/engine/frame.h"
#include "app/engine/kernel_file.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;
namespace {

// Lock-free, so a handler may touch them. A signal's number, 0 before it; and when it came.
std::atomic<int> first_signal{0};
std::atomic<int64_t> first_signal_ms{0};
std::atomic<bool> called_off{false};

// `timeout` of coreutils signals its child and the child's process group: what comes within a second is the same.
void on_interrupt(int number) {
  constexpr int64_t same_ms = 1000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t ms = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  int64_t none = 0;
  if (first_signal_ms.compare_exchange_strong(none, ms))
    first_signal = number;
  else if (ms - none > same_ms)
    _exit(128 + number);
}

// One line on stderr that is drawn over; gone when it ends.
class ProgressBar {
 public:
  ProgressBar(bool on, std::string title) : on_(on), title_(std::move(title)) {}
  ~ProgressBar() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  void draw(const Progress& p) {
    if (!on_) return;
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (seconds < 0.3) return;
    std::string text = fmt::format("\r\033[K{}: {}", title_, p.phase);
    if (p.total) {
      double part = std::min(1.0, static_cast<double>(p.done) / static_cast<double>(p.total));
      int full = static_cast<int>(part * 20);
      text += fmt::format(" [{}{}] {:.0f} %", std::string(static_cast<size_t>(full), '#'),
                          std::string(static_cast<size_t>(20 - full), '.'), 100 * part);
    }
    text += fmt::format("  {:.0f} s, Ctrl-C stops", seconds);
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
  }

 private:
  bool on_, drawn_ = false;
  std::string title_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

void print_json(const json& document) {
  std::puts(document.dump(2, ' ', false, json::error_handler_t::replace).c_str());
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool signalled() { return first_signal > 0; }
void call_off() { called_off = true; }
void begin_again() { called_off = false; }
bool interrupted() { return signalled() || called_off; }

int ended_by(int code) { return code == interrupted_code && first_signal == SIGTERM ? 128 + SIGTERM : code; }

Session::Session(const CommonOptions& options)
    : options_(options), client_(EngineOptions{options.engine, 20}), terminal_(isatty(STDERR_FILENO) != 0) {
  client_.on_log([this](const std::string& line) {
    if (!answer_tells_ || !line.starts_with("convscope-crash: ")) std::fprintf(stderr, "%s\n", line.c_str());
  });
}

void Session::show(const std::string& line) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K%s  Ctrl-C stops", line.c_str());
  shown_ = true;
}

void Session::show_nothing() {
  if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
}

bool Session::interrupted() const { return convscope::interrupted(); }

void Session::bring(const std::string& kernel) {
  if (!names_file(kernel) || brought_.contains(file_of_kernel(kernel))) return;
  const std::string file = file_of_kernel(kernel), text = read_kernel_file(file);
  if (!options_.trust) throw InputError("kernel", file, untrusted_file);
  try {
    std::fputs(bring_text(file, text, options_.device).c_str(), stderr);
  } catch (const EngineError& e) {
    if (!options_.json) std::fputs(e.error().value("log", "").c_str(), stderr);
    throw;
  }
}

std::string Session::bring_text(const std::string& file, const std::string& text, const std::string& device) {
  const json answer =
      waited(json::parse(kernel_file_request(file, device)), as_payload(text), "compile " + file, file).header;
  brought_[file] = text;
  return answer.value("warnings", "");
}

std::string Session::brought_text(const std::string& kernel) const {
  auto it = brought_.find(file_of_kernel(kernel));
  return it == brought_.end() ? "" : it->second;
}

Received Session::ask(json header, std::vector<std::byte> payload, const std::string& title,
                      std::function<void(const std::string&)> partial) {
  if (auto k = header.find("kernel"); k != header.end() && k->is_string()) bring(*k);
  if (auto k = header.find("against"); k != header.end() && k->is_string()) bring(*k);
  if (auto all = header.find("kernels"); all != header.end() && all->is_array())
    for (const auto& k : *all) bring(k.get<std::string>());
  return waited(std::move(header), std::move(payload), title, "", std::move(partial));
}

Received Session::waited(json header, std::vector<std::byte> payload, const std::string& title, const std::string& lent,
                         std::function<void(const std::string&)> partial) {
  std::mutex mutex;
  Progress now;
  bool heard = false;
  ProgressBar bar(terminal_, title);
  Handlers handlers;
  handlers.partial = std::move(partial);
  handlers.progress = [&](const Progress& p) {
    std::lock_guard lock(mutex);
    now = p;
    heard = true;
  };
  // --timeout is for a kernel: what else is asked says what became of it.
  std::string type = header.value("type", "");
  answer_tells_ = type == "xray" || type == "judge";
  bool kernel =
      type == "run" || type == "explain" || type == "xray" || type == "judge" || type == "profile" || type == "bench";
  Answer a = client_.request(
      header_text(header), std::move(payload), std::move(handlers), kernel ? options_.timeout_s() : 0,
      [&] {
        std::lock_guard lock(mutex);
        if (heard) bar.draw(now);
        return !interrupted();
      },
      lent);
  switch (a.kind) {
    case Answer::Kind::result:
      return {json::parse(a.header), std::move(a.payload)};
    case Answer::Kind::error: {
      json e = json::parse(a.header);
      e.erase("id"), e.erase("type");
      std::string text = e.value("message", "");
      if (e.value("code", "") == "bad-input")
        text = InputError(e.value("field", ""), e.value("value", ""), e.value("rule", "")).what();
      throw EngineError(e, text);
    }
    case Answer::Kind::crashed:
      throw EngineError({{"code", "crashed"}, {"message", a.message}, {"exit_code", 4}}, a.message);
    case Answer::Kind::hung:
      throw EngineError({{"code", "hung"}, {"message", a.message}, {"exit_code", 4}}, a.message);
  }
  throw std::logic_error("unreachable");
}

json lost_report(Session& session, const RunRequest& r, const json& error) {
  const std::string code = error.value("code", "crashed");
  bool hung = code == "hung", uncompiled = code == "compile";
  std::string why = error.value("message", "");
  RunReport report;
  report.spec.problem = r.problem;
  report.spec.inputs.seed = r.inputs.seed;
  report.spec.accuracy = r.accuracy;
  report.accuracy_ran = "unknown";
  report.verdict.status = hung ? Status::hung : uncompiled ? Status::not_run : Status::crashed;
  report.verdict.sentence = (hung ? "hung: " : uncompiled ? "not run: it does not compile: " : "crashed: ") + why;
  report.verdict.exit_code = uncompiled ? 1 : 4;
  report.verdict.add(hung ? "speed" : uncompiled ? "compile" : "memory", LayerStatus::fail, why);
  json out = report_json(report);
  out["kernel_out_length"] = nullptr;
  out["kernel_out_length_reason"] = uncompiled ? "the kernel does not compile" : "the engine is gone";
  // A file is what it is without an engine.
  out["kernel"] = {{"name", r.kernel},
                   {"file", names_file(r.kernel) ? json(file_of_kernel(r.kernel)) : json(nullptr)},
                   {"requires", json::array()}};
  if (!names_file(r.kernel)) out["kernel"]["file_reason"] = "the engine is gone";
  out["device"] = {{"kind", nullptr}, {"name", nullptr}, {"reason", "the engine is gone"}};
  try {
    const json kernels = session.ask({{"type", "list"}, {"what", "kernels"}, {"device", r.device}}).header;
    for (const auto& k : kernels.at("kernels"))
      if (k.at("name") == r.kernel)
        out["kernel"] = {{"name", r.kernel}, {"file", k.at("file")}, {"requires", k.at("requires")}};
    const json devices = session.ask({{"type", "list"}, {"what", "devices"}}).header;
    for (const auto& d : devices.at("devices")) {
      bool emulator = d.at("kind") == "emulator";
      std::string name = emulator ? "emulator" : "cuda:" + std::to_string(d.value("index", 0));
      // The best comes first, which is what auto means.
      if (r.device != "auto" && r.device != name && !(r.device == "cuda" && name == "cuda:0")) continue;
      out["device"] = d;
      break;
    }
  } catch (const EngineError&) {
  } catch (const json::exception&) {  // another program's engine
  }
  return out;
}

}  // namespace convscope
