#include "app/model/engine_link.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/frame.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

EngineLink::EngineLink(EngineOptions options, std::function<void()> wake) : wake_(std::move(wake)) {
  client_ = std::make_unique<EngineClient>(std::move(options));
  client_->on_log([this](const std::string& line) { deliver([this, line] { note(line, LogLine::Kind::engine); }); });
}

void EngineLink::close() { client_.reset(); }

void EngineLink::deliver(std::function<void()> f) {
  {
    std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(f));
  }
  if (wake_) wake_();
}

bool EngineLink::drain() {
  std::vector<std::function<void()>> now;
  {
    std::lock_guard lock(mutex_);
    now.swap(inbox_);
  }
  for (auto& f : now) try {
      f();
    } catch (const json::exception& e) {  // an engine of another version, or none at all
      note(std::string("the engine's answer cannot be read: ") + e.what(), LogLine::Kind::trouble);
    } catch (const std::exception& e) {  // a folder that cannot be read any more, say: the others are still to come
      note(e.what(), LogLine::Kind::trouble);
    }
  status_.starts = client_->starts();
  return !now.empty();
}

void EngineLink::note(const std::string& text, LogLine::Kind kind) {
  constexpr size_t most_log_lines = 2000;
  log_.push_back({text, kind});
  if (log_.size() > most_log_lines) log_.pop_front();
}

Handlers EngineLink::prepared(std::function<std::function<void()>(Answer)> prepare) {
  waiting_++;
  Handlers h;
  h.done = [this, prepare = std::move(prepare)](Answer a) {
    deliver([this, then = prepare(std::move(a))] {
      waiting_--;
      then();
    });
  };
  return h;
}

Handlers EngineLink::handlers(Done done) {
  return prepared([done = std::move(done)](Answer a) -> std::function<void()> {
    return [done, answer = std::make_shared<Answer>(std::move(a))] { done(std::move(*answer)); };
  });
}

uint64_t EngineLink::send(const std::string& slot, const std::string& header, std::vector<std::byte> payload,
                          Handlers h) {
  return slot.empty() ? client_->post(header, std::move(payload), std::move(h))
                      : client_->post_latest(slot, header, std::move(payload), std::move(h));
}

uint64_t EngineLink::post(const std::string& slot, const char* type, const Document& document, const json& more,
                          Done done, Meanwhile meanwhile) {
  return post(slot, type, request_of(document), more, std::move(done), std::move(meanwhile));
}

uint64_t EngineLink::post(const std::string& slot, const char* type, const RunRequest& request, const json& more,
                          Done done, Meanwhile meanwhile) {
  std::vector<std::byte> payload;
  json header = request_json(request, payload);
  header.update(more);
  header["type"] = type;
  Handlers h = handlers(std::move(done));
  if (meanwhile.progress)
    h.progress = [this, progress = std::move(meanwhile.progress)](const Progress& p) {
      deliver([progress, p] { progress(p); });
    };
  h.partial = std::move(meanwhile.partial);
  return send(slot, header_text(header), std::move(payload), std::move(h));
}

uint64_t EngineLink::ask(const std::string& slot, const json& header, Done done) {
  return send(slot, header_text(header), {}, handlers(std::move(done)));
}

uint64_t EngineLink::ask_prepared(const std::string& slot, const json& header,
                                  std::function<std::function<void()>(Answer)> prepare) {
  return send(slot, header_text(header), {}, prepared(std::move(prepare)));
}

uint64_t EngineLink::lend(const std::string& name, const std::string& header, std::vector<std::byte> payload,
                          Done done) {
  return client_->lend(name, header, std::move(payload), handlers(std::move(done)));
}

void EngineLink::see_death(Answer::Kind kind, const std::string& how) {
  if (kind != Answer::Kind::crashed && kind != Answer::Kind::hung) return;
  if (status_.last_death == how && status_.deaths >= client_->starts()) return;
  status_.deaths++;
  status_.last_death = how;
  note("engine: " + how, LogLine::Kind::trouble);
  for (const auto& forget : forget_) forget();
}

void EngineLink::works_since(std::chrono::steady_clock::time_point since) {
  status_.since = since;
  status_.state = EngineStatus::State::working;
  status_.phase = "waiting for the engine";
  status_.done = status_.total = 0;
}

void EngineLink::rests() {
  status_.state = EngineStatus::State::idle;
  status_.phase.clear();
}

void EngineLink::came_up() {
  if (status_.state == EngineStatus::State::starting) status_.state = EngineStatus::State::idle;
}

void EngineLink::measures() { status_.since = std::chrono::steady_clock::now(); }

}  // namespace convscope
