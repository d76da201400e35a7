#include "app/cli/delivery.h"
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

// `text` of a recorded answer. Its table is made in every form: whether the recording is damaged must not depend on it.
template <class Text>
std::string recorded_text(const std::string& recording, const json& answer, const std::string& format,
                          std::string (*table)(const json&), Text text) {
  return shown_whole(recording, [&] {
    const std::string shown = table(answer);
    return format == "table" ? recorded_heading(answer) + shown : text();
  });
}

}  // namespace

int verb_profile(const CommonOptions& common, const ProblemOptions& problem, const ProfileOptionsCli& options) {
  RunRequest r = problem.request(options.kernel, common.device);
  require_set(options.set);
  Delivery delivery(common, options.format, options.out, {"table", "json", "csv", "chrome-trace"});
  const bool recorded = !common.recording.empty();
  json answer = recorded ? recorded_answer(common.recording, "profile", r, problem)
                         : asked(common, r, "profile", {{"set", options.set}}, "profile " + r.kernel);
  const std::string& format = delivery.format();
  auto text = [&] {
    return format == "table"          ? profile_text(answer)
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
  const std::string& format = delivery.format();
  auto text = [&] {
    return format == "table" ? bench_text(answer) : format == "csv" ? bench_csv(answer) : json_text(answer);
  };
  delivery.deliver(recorded ? recorded_text(common.recording, answer, format, bench_text, text) : text(), answer);
  return answer.value("interrupted", json()) == json(true) ? interrupted_code : 0;
}

}  // namespace convscope
