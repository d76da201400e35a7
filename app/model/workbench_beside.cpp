// What stands beside the kernel's output where that is not the oracle: asked for when the kernel's own result is there.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/engine/json_fields.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"
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

Beside none(uint64_t serial, const std::string& with, const std::string& why) {
  Beside b;
  b.serial = serial, b.with = with, b.trouble = why;
  return b;
}

}  // namespace

void Workbench::want_beside(const Document& document) {
  const std::string& with = document.compare_with;
  if (with == oracle_name || !picture_ || !picture_->final || running_ || picture_->key.empty()) return;
  if (beside_serial_ == picture_->serial && beside_with_ == with) return;
  beside_serial_ = picture_->serial, beside_with_ = with;
  if (beside_ends_engine_.contains(with)) {
    beside_ = none(beside_serial_, with, "it ended the engine when it ran here");
    return;
  }
  Document other = picture_->document;
  other.kernel = with;
  beside_waits_ = true;
  beside_id_ = link_.post("beside", "beside", other, {{"result", picture_->key}},
                          [this, with, serial = beside_serial_, asked_at = report_serial_](Answer a) {
                            link_.see_death(a);
                            if (is_end(a)) beside_ends_engine_.insert(with);
                            if (serial != beside_serial_ || with != beside_with_) return;
                            beside_waits_ = false;
                            if (a.kind == Answer::Kind::result) {
                              beside_ = beside_from(json::parse(a.header), serial, with);
                              judge_beside();
                            } else if (Refusal r = refusal_of(a); r.cancelled) {
                              beside_ = none(serial, with, "cancelled: run again to see it");
                            } else if (is_gone(a)) {
                              refused(asked_at, true, [this] { beside_serial_ = 0; });
                            } else {
                              beside_ = none(serial, with, a.message.empty() ? r.text : a.message);
                            }
                          });
}

// Two that are the same may both be wrong: what stands beside has its own verdict. After everything else that it is
// wanted for, since it takes as long as a run.
void Workbench::judge_beside() {
  const bool kernel = std::any_of(kernels_.begin(), kernels_.end(), [&](const KernelEntry& k) {
    return k.name == beside_.with && k.kind != "reference";
  });
  if (!kernel || !picture_ || !beside_.trouble.empty()) return;
  Document other = picture_->document;
  other.kernel = beside_.with;
  beside_verdict_id_ =
      link_.post("beside's verdict", "judge", other, json::object(),
                 [this, serial = beside_.serial, with = beside_.with](Answer a) {
                   link_.see_death(a);
                   if (is_end(a)) beside_ends_engine_.insert(with);
                   if (a.kind != Answer::Kind::result || beside_.serial != serial || beside_.with != with) return;
                   const json answer = json::parse(a.header), &verdict = json_fields::part(answer, "verdict");
                   beside_.status = json_fields::text(verdict, "status");
                   beside_.sentence = json_fields::text(verdict, "sentence");
                 });
}

}  // namespace convscope
