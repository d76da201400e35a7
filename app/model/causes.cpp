#include "app/model/causes.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/engine/xray_codec.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

namespace {

Cause cause_from(const json& x, uint64_t serial, bool right, const CauseBeside& beside) {
  using namespace json_fields;
  Cause c;
  c.serial = serial;
  const CauseWords words = cause_words(x, right, beside);
  c.sentence = words.sentence, c.reason = words.reason;
  c.formula = text(x, "formula"), c.right_formula = text(x, "right_formula"), c.example = text(x, "example");
  c.faults = texts(x, "faults");
  c.launches = whole(x, "launches").value_or(0);
  for (const auto& at : part(x, "problems")) c.problems += text(at, "status") != "not-mapped";
  return c;
}

}  // namespace

void Causes::stop() {
  if (std::exchange(waits_for_, 0)) link_.cancel(id_);
}

bool Causes::can_ask() const {
  const auto report = runs_.report();
  return report && report->final && !runs_.running() &&
         (report->status == "right" || report->status == "wrong" || report->status == "crashed");
}

void Causes::want(const Report& report, bool asked) {
  const bool right = report.status == "right";
  const bool crashed = report.status == "crashed";  // on small problems it may not
  const std::string& kernel = report.document.kernel;
  const bool quiet = right && !asked && inventory_.is_from_outside(kernel);
  if (report.status != "wrong" && !crashed && !(right && (asked || quiet || inventory_.is_exhibit(kernel)))) return;
  CauseBeside beside;
  beside.crashed = crashed;
  for (const ReportLayer& l : report.layers) beside.layer(l.name, l.status, l.found);
  if (ends_engine_.contains(kernel)) {
    cause_ = {};
    cause_.serial = report.serial;
    cause_.reason = "its products cannot be mapped: on a small problem it ended the engine";
    return;
  }
  waits_for_ = report.serial;
  ask({report.document, report.serial, right, quiet}, beside, std::make_shared<XrayAgain>());
}

void Causes::ask(const Question& q, const CauseBeside& beside, const std::shared_ptr<XrayAgain>& again) {
  constexpr double patience_s = 2;  // no further small problem is begun after it
  json more = {{"limit_s", patience_s}};
  again->put_into(more);
  auto done = [this, q, beside, again](Answer a) {
    link_.see_death(a);
    const bool crashed = a.kind == Answer::Kind::crashed;
    const Refusal refusal = a.kind == Answer::Kind::error ? refusal_of(a) : Refusal{};
    const std::string why = a.message.empty() ? refusal.text : a.message;
    if ((crashed || (a.kind == Answer::Kind::error && refusal.exit_code == 4)) && again->after(why)) {
      if (q.serial == waits_for_) ask(q, beside, again);
      return;
    }
    if (is_end(a)) ends_engine_.insert(q.document.kernel);
    if (q.serial != waits_for_) return;
    waits_for_ = 0;
    if (a.kind == Answer::Kind::result) {
      cause_ = cause_from(json_fields::part(json::parse(a.header), "xray"), q.serial, q.right, beside);
      if (q.quiet) cause_.reason.clear();
    } else if (!refusal.cancelled) {
      cause_ = {};
      cause_.serial = q.serial;
      if (!q.quiet || is_end(a)) cause_.reason = "its products could not be mapped: " + why;
    }
    if (cause_.serial == q.serial && cause_.sentence.empty() && !refusal.cancelled) ask_emulator(q.document, q.serial);
  };
  Meanwhile meanwhile;
  meanwhile.partial = [again](const std::string& early) { again->heard(early); };
  id_ = link_.post("xray", "xray", q.document, more, std::move(done), std::move(meanwhile));
}

// Of a launch that a GPU ended, where its index says nothing.
void Causes::ask_emulator(const Document& document, uint64_t serial) {
  const auto judged = runs_.report();
  if (!judged || judged->serial != serial || judged->status != "crashed" || !ended_by_a_gpu(judged->sentence)) return;
  const auto piece = piece_for_the_emulator(document.problem);
  if (!piece) return;
  RunRequest r = request_of(document);
  r.problem = *piece, r.device = "emulator", r.inputs = InputSpec{};
  link_.post("xray", "judge", r, json::object(), [this, serial, piece](Answer a) {
    json report;
    if (a.kind == Answer::Kind::result) report = json::parse(a.header);
    if (a.kind == Answer::Kind::crashed)
      link_.see_death(a), report = {{"verdict", {{"status", "crashed"}, {"sentence", a.message}}}};
    if (cause_.serial == serial && report.is_object()) cause_.sentence = cause_seen_by_the_emulator(report, *piece);
  });
}

}  // namespace convscope
