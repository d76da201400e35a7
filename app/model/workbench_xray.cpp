// Why a wrong kernel is wrong, asked for with its verdict: its products on small problems, and a formula.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/engine/json_fields.h"
#include "app/engine/xray_codec.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"

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
  for (const auto& fault : part(x, "faults"))
    if (fault.is_string()) c.faults.push_back(fault.get<std::string>());
  c.launches = whole(x, "launches").value_or(0);
  for (const auto& at : part(x, "problems")) c.problems += text(at, "status") != "not-mapped";
  return c;
}

}  // namespace

// Exhibits are wrong on purpose, also where that cannot be seen.
bool Workbench::is_exhibit(const std::string& kernel) const {
  return std::any_of(kernels_.begin(), kernels_.end(),
                     [&](const KernelEntry& k) { return k.name == kernel && k.kind == "specimen"; });
}

bool Workbench::can_xray() const {
  return report_ && report_->final && !running_ && (report_->status == "right" || report_->status == "wrong");
}

void Workbench::want_cause(const Report& report, bool asked) {
  const bool right = report.status == "right";
  if (report.status != "wrong" && !(right && (asked || is_exhibit(report.document.kernel)))) return;
  CauseBeside beside;
  for (const ReportLayer& l : report.layers) beside.layer(l.name, l.status, l.evidence);
  constexpr double patience_s = 2;  // no further small problem is begun after it
  if (cause_ends_engine_.contains(report.document.kernel)) {
    cause_ = {};
    cause_.serial = report.serial;
    cause_.reason = "its products cannot be mapped: on a small problem it ended the engine";
    return;
  }
  std::vector<std::byte> payload;
  json header = request_json(request_of(report.document), payload);
  header["type"] = "xray", header["limit_s"] = patience_s;
  cause_waits_for_ = report.serial;
  cause_id_ = client_->post_latest(
      "xray", header_text(header), std::move(payload),
      handlers([this, right, beside, serial = report.serial, kernel = report.document.kernel](Answer a) {
        if (a.kind == Answer::Kind::crashed || a.kind == Answer::Kind::hung) {
          died(a.message);
          cause_ends_engine_.insert(kernel);
        }
        if (serial != cause_waits_for_) return;
        cause_waits_for_ = 0;
        if (a.kind == Answer::Kind::result) {
          cause_ = cause_from(json_fields::part(json::parse(a.header), "xray"), serial, right, beside);
        } else if (Refusal r = refusal_of(a); !r.cancelled) {
          cause_ = {};
          cause_.serial = serial;
          cause_.reason = "its products could not be mapped: " + (a.message.empty() ? r.text : a.message);
        }
      }));
}

}  // namespace convscope
