#include "app/model/mending.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/codec.h"
#include "app/engine/json_fields.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;
namespace {

Mend mend_from(const json& answer, uint64_t serial) {
  using namespace json_fields;
  Mend m;
  m.serial = serial;
  m.reason = text(answer, "reason"), m.right = text(answer, "status") == "right";
  m.tried = whole(answer, "tried").value_or(0), m.seconds = answer.value("seconds", 0.0);
  const json& fix = part(answer, "fix");
  if (!fix.is_object()) return m;
  m.text = text(fix, "text"), m.wrong_with = text(fix, "wrong_with");
  m.edits = whole(fix, "edits").value_or(1), m.problems = whole(fix, "problems").value_or(0);
  m.judged = whole(fix, "judged").value_or(0), m.asked = fix.value("asked", false);
  const json& drawn = part(fix, "drawn");
  m.drawn = whole(drawn, "of").value_or(0), m.drawn_right = whole(drawn, "right").value_or(0);
  if (const json& wrong = part(drawn, "wrong"); wrong.is_object()) m.drawn_wrong = describe(problem_from(wrong));
  for (const json& l : part(fix, "lines"))
    m.lines.push_back({static_cast<int>(whole(l, "line").value_or(0)), text(l, "before"), text(l, "after")});
  return m;
}

}  // namespace

void Mending::stop() {
  if (std::exchange(waits_for_, 0)) link_.cancel(id_);
}

void Mending::want(const Report& report) {
  if (asks_for(report)) return;
  stop();
  waits_for_ = report.serial, done_ = total_ = 0, phase_.clear();
  auto done = [this, serial = report.serial](Answer a) {
    link_.see_death(a);
    if (serial != waits_for_) return;
    waits_for_ = 0;
    if (a.kind == Answer::Kind::result) {
      mend_ = mend_from(json::parse(a.header), serial);
      return;
    }
    const Refusal refusal = a.kind == Answer::Kind::error ? refusal_of(a) : Refusal{};
    if (refusal.cancelled) return;
    mend_ = {};
    mend_.serial = serial;
    mend_.reason = "no edit could be looked for: " + (a.message.empty() ? refusal.text : a.message);
  };
  Meanwhile meanwhile;
  // Between them files are compiled and judged, whose blocks are counted as well.
  meanwhile.progress = [this](const Progress& p) {
    const bool tries = p.phase.starts_with("edits of ");
    done_ = tries ? p.done : 0, total_ = tries ? p.total : 0, phase_ = tries ? "" : p.phase;
  };
  constexpr double most_seconds = 60;
  id_ = link_.post("fix", "fix", report.document, {{"limit_s", most_seconds}}, std::move(done), std::move(meanwhile));
}

}  // namespace convscope
