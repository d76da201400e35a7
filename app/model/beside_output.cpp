#include "app/model/beside_output.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/model/requests.h"
#include "kernels/verify/pyramid.h"

namespace convscope {
using nlohmann::json;

Beside beside_from(const json& answer, uint64_t serial, const std::string& with) {
  using namespace json_fields;
  Beside b;
  b.serial = serial, b.with = with;
  b.difference = text(answer, "result"), b.output = text(answer, "output"), b.trouble = text(answer, "reason");
  b.elements = whole(answer, "elements").value_or(0), b.identical = whole(answer, "identical").value_or(0);
  b.beyond = whole(answer, "beyond").value_or(0), b.max_abs = number(answer, "max_abs").value_or(0);
  b.where = text(answer, "where");
  const json& ranges = part(answer, "ranges");
  for (size_t q = 0; q < b.ranges.size(); q++)
    if (auto range = numbers(ranges, quantity_names[q]); range.size() == 2)
      b.ranges[q] = ValueRange{range[0], range[1]};
  if ((b.difference.empty() || b.output.empty()) && b.trouble.empty()) b.trouble = "the engine's answer has no result";
  return b;
}

namespace {

Beside nothing_beside(uint64_t serial, const std::string& with, const std::string& why) {
  Beside b;
  b.serial = serial, b.with = with, b.trouble = why;
  return b;
}

}  // namespace

BesideOutput::BesideOutput(EngineLink& link, Runs& runs, const Inventory& inventory)
    : link_(link), runs_(runs), inventory_(inventory) {
  link_.on_death([this] { serial_ = 0, waits_ = false; });
}

void BesideOutput::stop() {
  if (std::exchange(waits_, false)) link_.cancel(id_), serial_ = 0;
  if (const uint64_t id = std::exchange(verdict_id_, 0)) link_.cancel(id);
}

void BesideOutput::cancel() {
  if (waits_) link_.cancel(id_);
  if (const uint64_t id = std::exchange(verdict_id_, 0)) link_.cancel(id);
}

void BesideOutput::want(const Document& document) {
  const std::string& with = document.compare_with;
  const auto picture = runs_.picture();
  if (with == oracle_name || !picture || !picture->final || runs_.running() || picture->key.empty()) return;
  if (serial_ == picture->serial && with_ == with) return;
  serial_ = picture->serial, with_ = with;
  if (ends_engine_.contains(with)) {
    beside_ = nothing_beside(serial_, with, "it ended the engine when it ran here");
    return;
  }
  Document other = picture->document;
  other.kernel = with;
  waits_ = true;
  id_ = link_.post(
      "beside", "beside", other, {{"result", picture->key}},
      [this, with, serial = serial_, asked_at = runs_.reports()](Answer a) { took(serial, with, asked_at, a); });
}

void BesideOutput::took(uint64_t serial, const std::string& with, uint64_t asked_at, const Answer& a) {
  link_.see_death(a);
  if (is_end(a)) ends_engine_.insert(with);
  if (serial != serial_ || with != with_) return;
  waits_ = false;
  if (a.kind == Answer::Kind::result) {
    beside_ = beside_from(json::parse(a.header), serial, with);
    judge();
  } else if (Refusal r = refusal_of(a); r.cancelled) {
    beside_ = nothing_beside(serial, with, "cancelled: run again to see it");
  } else if (is_gone(a)) {
    runs_.ask_again(asked_at, true, [this] { serial_ = 0; });
  } else {
    beside_ = nothing_beside(serial, with, trouble_of(a));
  }
}

// Two that are the same may both be wrong: what stands beside has its own verdict. After everything else that it is
// wanted for, since it takes as long as a run.
void BesideOutput::judge() {
  if (!inventory_.is_kernel(beside_.with) || !runs_.picture() || !beside_.trouble.empty()) return;
  Document other = runs_.picture()->document;
  other.kernel = beside_.with;
  verdict_id_ = link_.post("beside's verdict", "judge", other, json::object(),
                           [this, serial = beside_.serial, with = beside_.with](Answer a) {
                             link_.see_death(a);
                             if (is_end(a)) ends_engine_.insert(with);
                             if (a.kind != Answer::Kind::result || beside_.serial != serial || beside_.with != with)
                               return;
                             const json answer = json::parse(a.header), &verdict = json_fields::part(answer, "verdict");
                             beside_.status = json_fields::text(verdict, "status");
                             beside_.sentence = json_fields::text(verdict, "sentence");
                           });
}

}  // namespace convscope
