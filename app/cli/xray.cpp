#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "app/engine/xray_codec.h"

namespace convscope {
using json_fields::text;
using nlohmann::json;
namespace {

// crashed: whether the kernel ended the engine on some of the small problems.
json asked(Session& session, const RunRequest& r, double limit_s, bool* crashed = nullptr) {
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "xray";
  if (limit_s > 0) header["limit_s"] = limit_s;
  XrayAgain again;
  json answer;
  while (answer.is_null()) try {
      again.put_into(header);
      answer = session.ask(header, payload, "xray " + r.kernel, [&](const std::string& early) { again.heard(early); })
                   .header;
    } catch (const EngineError& e) {
      if (text(e.error(), "code") != "crashed" || !again.after(e.what())) throw;
      if (crashed) *crashed = true;
    }
  for (const char* own : {"id", "type"}) answer.erase(own);
  return answer;
}

void print(const json& answer, const ConvProblem& p) {
  const json& x = answer.at("xray");
  const std::string status = text(x, "status");
  fmt::print("{} on {}\n\n  {} {}\n\n", text(answer, "kernel"), describe(p),
             status == "right"        ? "✓"
             : status == "not-mapped" ? "·"
                                      : "✗",
             text(x, "sentence"));
  if (x.at("faults").size() > 1) {
    for (const auto& fault : x.at("faults")) fmt::print("    • {}\n", fault.get<std::string>());
    fmt::print("\n");
  }
  if (x.at("formula").is_string()) fmt::print("  it takes     {}\n", text(x, "formula"));
  fmt::print("  definition   {}\n", text(x, "right_formula"));
  if (x.at("example").is_string()) fmt::print("  for example  {}\n", text(x, "example"));
  fmt::print("\n");
  for (const auto& at : x.at("problems")) {
    const std::string is = text(at, "status");
    fmt::print("  {} {}{}\n",
               is == "right"        ? "✓"
               : is == "not-mapped" ? "·"
                                    : "✗",
               describe(problem_from(at.at("problem"))), is == "not-mapped" ? ": " + text(at, "reason") : "");
  }
  // Of the index alone: who reads ✓ may take it for more.
  if (status == "right")
    fmt::print("\n  Races, memory and rounding are not looked at here: `convscope run` judges them on this problem.\n");
  fmt::print("\n  Found from outside by {} launches with one weight each, on {}.\n", x.at("launches").get<int>(),
             text(answer.at("device"), "name"));
}

}  // namespace

int verb_xray(const CommonOptions& common, const ProblemOptions& problem, const std::string& kernel) {
  RunRequest r = problem.request(kernel, common.device);
  Session session(common);
  bool crashed = false;
  json answer = asked(session, r, 0, &crashed);
  answer["convscope"] = CONVSCOPE_VERSION, answer["seed"] = r.inputs.seed;
  if (common.json)
    print_json(answer);
  else
    print(answer, r.problem);
  if (crashed) return 4;
  const json& x = answer.at("xray");
  if (text(x, "status") == "not-mapped" && x.at("problems").empty()) return 2;  // it takes none of these problems
  return text(x, "status") == "right" ? 0 : 1;
}

namespace {

// Of a launch that a GPU ended, where its index says nothing.
std::string seen_by_the_emulator(Session& session, RunRequest r) {
  const auto piece = piece_for_the_emulator(r.problem);
  if (!piece) return "";
  r.problem = *piece, r.device = "emulator", r.inputs = InputSpec{};
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "judge";
  try {
    return cause_seen_by_the_emulator(session.ask(std::move(header), std::move(payload), "emulate " + r.kernel).header,
                                      *piece);
  } catch (const EngineError& e) {
    if (text(e.error(), "code") != "crashed") return "";
    return cause_seen_by_the_emulator({{"verdict", {{"status", "crashed"}, {"sentence", e.what()}}}}, *piece);
  }
}

}  // namespace

void put_cause(Session& session, const RunRequest& r, json& report, bool right_as_well) {
  json& verdict = report.at("verdict");
  const bool right = text(verdict, "status") == "right" && right_as_well;
  const bool crashed = text(verdict, "status") == "crashed";  // on small problems it may not
  if (text(verdict, "status") != "wrong" && !crashed && !right) return;
  verdict["cause"] = nullptr;
  try {
    constexpr double patience_s = 2;
    const CauseBeside beside = cause_beside(verdict);
    const json answer = asked(session, r, patience_s);
    const CauseWords words = cause_words(answer.at("xray"), right, beside);
    if (words.sentence.empty())
      verdict["cause_reason"] = words.reason, verdict["cause_elsewhere"] = words.elsewhere;
    else
      verdict["cause"] = words.sentence;
    if (const json& fixed = answer["xray"].at("fixed"); !words.sentence.empty() && !fixed.empty())
      verdict["cause_fixed"] = fixed;
  } catch (const EngineError& e) {
    verdict["cause_reason"] = "its products could not be mapped: " + std::string(e.what());
    verdict["cause_elsewhere"] = crashed;
  }
  if (!crashed || verdict["cause"].is_string() || !ended_by_a_gpu(text(verdict, "sentence"))) return;
  if (const std::string cause = seen_by_the_emulator(session, r); !cause.empty()) {
    verdict["cause"] = cause;
    verdict.erase("cause_reason"), verdict.erase("cause_elsewhere");
  }
}

}  // namespace convscope
