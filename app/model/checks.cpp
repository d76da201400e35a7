#include "app/model/checks.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/engine/xray_codec.h"
#include "app/model/kernel_file.h"
#include "app/model/requests.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;

namespace {

constexpr int64_t cases_at_once = 100;

}  // namespace

void Checks::begin(const Document& document) {
  stop();
  FuzzSpec spec;
  spec.base.dtype = document.problem.dtype;
  spec.cases = cases_at_once;
  if (names_file(document.kernel)) spec.layers = layers_for_the_end(spec.base.dtype);
  // Asked again of the same, it draws others.
  spec.seed = checking_.is_about(document) ? checking_.seed + 1 : spec.seed;
  checking_ = {};
  checking_.seed = spec.seed;
  checking_.document = document;
  if (const OpenedFile* file = files_.of(document.kernel)) checking_.text = file->compiled;
  checking_.cases = spec.cases;
  checking_.fuzz = std::make_unique<Fuzz>(spec);
  checking_.running = true;
  next();
}

void Checks::stop() {
  if (!std::exchange(checking_.running, false)) return;
  checking_.trouble = "stopped";
  serial_++;
  link_.cancel(id_);
}

void Checks::forget_file(const std::string& path) {
  if (is_of_file(checking_.document.kernel, path)) stop();
}

void Checks::next() {
  const auto problem = checking_.fuzz->next();
  if (!problem) {
    checking_.running = false;
    return;
  }
  Document one = checking_.document;
  one.problem = *problem;
  one.inputs = {};  // files are of one problem
  id_ = link_.post("judge", "judge", one, json::object(), [this, serial = ++serial_](Answer a) {
    link_.see_death(a);
    if (serial == serial_ && checking_.running) took(a);
  });
}

void Checks::took(const Answer& a) {
  Status status = Status::crashed;
  bool fails = true;
  std::string sentence = "crashed: " + a.message;
  std::vector<std::string> not_given;
  bool sums = false;
  if (a.kind == Answer::Kind::hung) {
    status = Status::hung;
    sentence = "hung: " + a.message;
  } else if (a.kind == Answer::Kind::error) {
    const Refusal refusal = refusal_of(a);
    if (refusal.exit_code != 4) {
      checking_.running = false;
      checking_.trouble = refusal.cancelled ? "stopped" : refusal.text;
      return;
    }
    sentence = "crashed: " + refusal.text;
  } else if (a.kind == Answer::Kind::result) {
    const json report = json::parse(a.header);
    const json& verdict = report.at("verdict");
    status = status_named(json_fields::text(verdict, "status"));
    sentence = json_fields::text(verdict, "sentence");
    sums = sums_are_right(verdict);
    if (const json& kernel = report.at("kernel"); kernel.is_object())
      not_given = kernel.value("not_given", std::vector<std::string>());
    const int code = verdict.value("exit_code", 1);
    fails = code != 2 && verdict.value("declared", true);  // what is not followed here fails on no problem
    if (status == Status::not_run && code == 3) {          // not here, whatever the problem
      checking_.running = false;
      checking_.trouble = sentence;
      return;
    }
  }
  checking_.fuzz->judged(status, std::move(sentence), fails, not_given, sums);
  next();
}

}  // namespace convscope
