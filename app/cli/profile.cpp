#include <cstdio>
#include <fmt/format.h>

#include "app/cli/delivery.h"
#include "app/cli/fail_on.h"
#include "app/cli/forms.h"
#include "app/cli/recorded.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"

namespace convscope {
using nlohmann::json;

namespace {

json asked(const CommonOptions& common, RunRequest r, const char* type, json more, const std::string& title) {
  Session session(common);
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = type;
  header.update(more);
  json answer = session.ask(header, std::move(payload), title).header;
  for (const char* own : {"id", "type"}) answer.erase(own);
  return answer;
}

// A recorded comparison has the verdicts of whole plans beside those of packed weights; an older one no others.
void hold_whole(json& bench) {
  if (!bench.contains("verdicts_of")) return;
  bench["verdicts_of"] = "whole";
  for (auto& e : bench["entries"]) {
    e["against"] = e.at("against_whole");
    e["against"]["of"] = "whole";
  }
}

// What --fail-on says of the first kernel: `fail_on` of the answer, with a sentence where it is met, or where there is
// nothing to say it of.
json gate_of(const json& bench, const std::string& kernel, const FailOn& fail_on) {
  using json_fields::part, json_fields::text;
  json j = {{"asked", fail_on.words()}, {"kernel", kernel}, {"failed", false}, {"sentence", nullptr}};
  const std::string against = text(bench, "against");
  if (kernel == against) {  // as it turns out: what was measured is told all the same
    j["failed"] = true;
    j["sentence"] = kernel + " is what the others are compared with: name another one with --against";
    return j;
  }
  json held = json::object();
  std::string why = "it was not timed";
  for (const auto& e : part(bench, "entries"))
    if (text(e, "name") == kernel) {
      held = part(part(e, "against"), "hot");
      why = !text(e, "reason").empty() ? text(e, "reason") : text(held, "reason");
    }
  if (text(held, "verdict").empty()) {
    j["failed"] = true;  // a pipeline must not take it for fast enough
    j["sentence"] = fmt::format("{} is not held against {}: {}", kernel, against.empty() ? "anything" : against, why);
  } else if (fail_on.is_met_by(held)) {
    j["failed"] = true;
    j["sentence"] = fmt::format("{} is SLOWER than {}: {}", kernel, against, as_long_words(held));
  }
  return j;
}

// The name of the kernel that ran for the first that was named.
std::string first_of(const json& bench, const std::string& named) {
  using json_fields::part, json_fields::text;
  return named == "auto" ? text(part(bench, "chosen"), "kernel") : named;
}

void warn_of_smallest(const std::string& recording, json& answer) {
  auto put = [&] { forms::put_no_problem_warning(answer); };
  if (recording.empty())
    put();
  else
    shown_whole(recording, put);
}

// `text` of a recorded answer. Its table is made in every form: whether the recording is damaged must not depend on it.
template <class Text>
std::string recorded_text(const std::string& recording, const json& answer, const std::string& format,
                          std::string (*table)(const json&), Text text) {
  return shown_whole(recording, [&] {
    const std::string shown = table(answer);
    return format == "table" ? recorded_heading(answer) + shown : text();
  });
}

// What can be done about it, of a kernel file on a GPU.
std::string tune_hint(const json& profile, const RunRequest& r) {
  const json& device = json_fields::part(profile, "device");
  if (!names_file(r.kernel) || json_fields::text(device, "kind") != "cuda") return "";
  return fmt::format(
      "  {:<11} convscope tune {}{} changes sizes, unrolling and bounds in its text and times what is right\n",
      "faster", r.kernel, forms::problem_options(r));
}

}  // namespace

int verb_profile(const CommonOptions& common, const ProblemOptions& problem, const ProfileOptionsCli& options) {
  RunRequest r = problem.request(options.kernel, common.device);
  require_set(options.set);
  Delivery delivery(common, options.format, options.out, {"table", "json", "csv", "chrome-trace"});
  const bool recorded = !common.recording.empty();
  json answer = recorded ? recorded_answer(common.recording, "profile", r, problem)
                         : asked(common, r, "profile", {{"set", options.set}}, "profile " + r.kernel);
  warn_of_smallest(common.recording, answer);
  const std::string& format = delivery.format();
  auto text = [&] {
    return format == "table"          ? profile_text(answer) + tune_hint(answer, r)
           : format == "csv"          ? profile_csv(answer)
           : format == "chrome-trace" ? json_text(profile_trace(answer))
                                      : json_text(answer);
  };
  delivery.deliver(recorded ? recorded_text(common.recording, answer, format, profile_text, text) : text(), answer);
  return 0;
}

int verb_bench(const CommonOptions& common, const ProblemOptions& problem, const BenchOptionsCli& options) {
  RunRequest r = problem.request("", common.device);
  if (!options.against.empty() && options.kernels == std::vector{options.against})
    throw InputError("against", options.against, "is the only kernel: name another one that is held against it");
  const FailOn fail_on(options.fail_on);
  if (fail_on.is_asked() && options.kernels.empty())
    throw InputError("fail-on", options.fail_on,
                     common.recording.empty()
                         ? "needs a kernel by name: the first one is what it is about"
                         : "is about times that are measured: `convscope compare` holds recordings against each other");
  if (fail_on.is_asked() && options.against == options.kernels.front())
    throw InputError("against", options.against, "is the first kernel, which --fail-on is about: name another one");
  Delivery delivery(common, options.format, options.out, {"table", "json", "csv"});
  const bool recorded = !common.recording.empty();
  if (recorded && (!options.kernels.empty() || !options.against.empty()))
    throw InputError(options.kernels.empty() ? "against" : "kernel",
                     options.kernels.empty() ? options.against : options.kernels.front(),
                     "cannot be chosen: a recorded comparison is of all that were timed in turn; leave the names out");
  json answer = recorded ? recorded_answer(common.recording, "bench", r, problem)
                         : asked(common, r, "bench",
                                 {{"kernels", options.kernels},
                                  {"against", options.against},
                                  {"with_packing", options.with_packing},
                                  {"keep_on_cancel", true}},
                                 "bench");
  if (recorded && options.with_packing) shown_whole(common.recording, [&] { hold_whole(answer); });
  warn_of_smallest(common.recording, answer);
  const bool interrupted = answer.value("interrupted", json()) == json(true);
  json gate;
  if (fail_on.is_asked() && !interrupted)
    gate = answer["fail_on"] = gate_of(answer, first_of(answer, options.kernels.front()), fail_on);
  const std::string& format = delivery.format();
  auto text = [&] {
    return format == "table" ? bench_text(answer) : format == "csv" ? bench_csv(answer) : json_text(answer);
  };
  delivery.deliver(recorded ? recorded_text(common.recording, answer, format, bench_text, text) : text(), answer);
  if (interrupted) return interrupted_code;
  if (!gate.is_object() || gate["failed"] != json(true)) return 0;
  std::fprintf(stderr, "convscope: %s\n", gate["sentence"].get<std::string>().c_str());
  return 1;
}

}  // namespace convscope
