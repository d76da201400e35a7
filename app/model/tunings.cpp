#include "app/model/tunings.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/engine/kernel_file.h"
#include "app/model/kernel_file.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TuningNow::Result result_of(const Tuning& search, const std::string& before) {
  using namespace json_fields;
  const json d = search.document();
  TuningNow::Result r;
  if (search.best_text() != before) r.lines = changed_lines(before, search.best_text());
  r.before_ms = number(part(d, "before"), "median_ms"), r.after_ms = number(part(d, "after"), "median_ms");
  r.before_noise = number(part(d, "before"), "noise_pct").value_or(0);
  r.after_noise = number(part(d, "after"), "noise_pct").value_or(0);
  r.samples = whole(part(d, "after"), "samples").value_or(0), r.left = whole(d, "not_tried").value_or(0);
  r.speedup = number(d, "speedup"), r.verdict = text(d, "verdict"), r.only_for = texts(d, "only_for");
  r.judged = part(d, "judged_on").size();
  return r;
}

}  // namespace

const TuningNow* Tunings::of(const Document& d) const {
  const Document& own = now_.document;
  const bool same = now_.search && own.kernel == d.kernel && own.problem == d.problem && own.accuracy == d.accuracy &&
                    own.device == d.device;
  return same ? &now_ : nullptr;
}

void Tunings::begin(const Document& document, const std::string& text, TuningChoice choice) {
  stop();
  drain();
  const uint64_t serial = now_.serial + 1;
  now_ = TuningNow();
  now_.serial = serial, now_.document = document, now_.before = text, now_.choice = choice;
  TuningSpec spec;
  spec.request = request_of(document), spec.request.inputs = without_files(document.inputs);
  spec.text = text, spec.for_layer = choice.for_layer, spec.by_hot = choice.by_hot;
  try {
    now_.search = std::make_unique<Tuning>(spec);
  } catch (const InputError& e) {
    now_.trouble = e.what();
    return;
  }
  now_.running = true, now_.begin = std::chrono::steady_clock::now();
  link_ = std::make_unique<EngineLink>(options_, wake_);
  const std::string file = file_of_kernel(document.kernel);
  now_.now = "compile the file";
  link_->lend(file, kernel_file_request(file, document.device), as_payload(text), [this, serial](Answer a) {
    if (serial != now_.serial || !now_.running) return;
    if (a.kind == Answer::Kind::result) return next();
    end(trouble_of(a));
  });
}

void Tunings::next() {
  now_.seconds = seconds_since(now_.begin);
  if (now_.seconds > most_seconds) enough();
  if (now_.ending) now_.search->enough();  // between two answers
  const auto request = now_.search->next();
  if (!request) {
    now_.result = result_of(*now_.search, now_.before);
    return end("");
  }
  now_.now = request->title;
  const bool brings = !request->text.empty();
  auto done = [this, brings, serial = now_.serial](Answer a) {
    if (serial == now_.serial && now_.running) took(a, brings);
  };
  if (brings)
    link_->lend(request->file, kernel_file_request(request->file, "emulator"), as_payload(request->text),
                std::move(done));
  else
    link_->ask("", request->header, std::move(done));
}

void Tunings::took(const Answer& a, bool brought) {
  if (a.kind == Answer::Kind::result) {
    now_.search->took(brought ? json::object() : json::parse(a.header));
    return next();
  }
  const Failure failure = failure_of(a);
  if (now_.search->failed(failure.code, failure.message)) return next();
  end(failure.message);
}

void Tunings::end(std::string trouble) {
  now_.running = now_.ending = false, now_.now.clear();
  now_.trouble = std::move(trouble), now_.seconds = seconds_since(now_.begin);
  over_ = true;
}

void Tunings::enough() {
  if (now_.running) now_.ending = true;
}

void Tunings::stop() {
  if (!now_.running) return;
  end("stopped");
  now_.serial++;
}

void Tunings::forget_file(const std::string& path) {
  if (!now_.search || !is_of_file(now_.document.kernel, path)) return;
  stop();
  const uint64_t serial = now_.serial + 1;
  now_ = TuningNow();
  now_.serial = serial;
}

bool Tunings::drain() {
  if (!link_) return false;
  const bool any = link_->drain();
  if (!std::exchange(over_, false)) return any;
  link_.reset();
  return true;
}

}  // namespace convscope
