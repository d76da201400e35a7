// The verb `check`: many problems, one after the other, each judged by the engine, which may die of one.
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <set>

#include "app/cli/forms.h"
#include "app/cli/own_layer.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "app/engine/xray_codec.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/fuzz.h"

namespace convscope {
using json_fields::text;
using nlohmann::json;
namespace {

// The fields that the kernel's launches are not told.
std::vector<std::string> not_given(const json& report) {
  const json& kernel = report.at("kernel");
  return kernel.is_object() ? kernel.value("not_given", std::vector<std::string>()) : std::vector<std::string>();
}

struct Failing {
  json first, smallest;  // reports
  std::optional<OwnLayer> own;
};

// The verdict's sentence of a refusal, less what every one of them says.
std::string reason_of(const Fuzz::Refusal& refusal, const std::string& kernel) {
  std::string_view s = refusal.sentence;
  for (const std::string& words : {std::string("not run: "), kernel + " "})
    if (s.starts_with(words)) s.remove_prefix(words.size());
  return std::string(s);
}

json document_of(const Fuzz& fuzz, const RunRequest& r, const FuzzSpec& spec, const Failing& failing,
                 const json& device, const std::set<std::string>& notes, bool interrupted) {
  auto of = [](const json& report) -> json {
    if (report.is_null()) return nullptr;
    return {{"problem", report.at("problem")}, {"verdict", report.at("verdict")}, {"error", report.at("error")}};
  };
  json coverage = json::object();
  for (const auto& c : fuzz.coverage()) coverage[c.what] = c.count;
  json reasons = json::array();
  for (const auto& refusal : fuzz.refusals())
    reasons.push_back({{"count", refusal.count}, {"reason", reason_of(refusal, r.kernel)}});
  json fixed = json::object();
  const json base = problem_json(r.problem);
  for (const auto& name : spec.fixed) fixed[name] = base.at(name);
  const bool failed = fuzz.first().has_value();
  json in_kernel = json::object();
  if (const auto& pins = fuzz.pins()) {
    const json values = problem_json(pins->problem);
    for (const auto& f : pins->fields) in_kernel[f] = values.at(f);
  }
  return {{"convscope", CONVSCOPE_VERSION},
          {"kernel", r.kernel},
          {"device", device},
          {"seed", spec.seed},
          {"cases", spec.cases},
          {"fixed", fixed},
          {"fixed_in_kernel", in_kernel},
          {"status", failed         ? name_of(fuzz.first()->status)
                     : fuzz.right() ? "right"
                                    : "not-run"},
          {"right", fuzz.right()},
          {"right_with", coverage},
          {"notes", notes},
          {"not_taken", fuzz.refused()},
          {"not_taken_reasons", reasons},
          {"ended_early", interrupted                  ? json("interrupted")
                          : fuzz.ended_early().empty() ? json(nullptr)
                                                       : json(fuzz.ended_early())},
          {"first_failing", of(failing.first)},
          {"smallest_failing", of(failing.smallest)},
          {"smaller_tried", fuzz.smaller_tried()},
          {"right_on", failing.own ? json{{"name", failing.own->name},
                                          {"problem", problem_json(failing.own->problem)},
                                          {"cause", failing.own->verdict.value("cause", json())},
                                          {"cause_fixed", failing.own->verdict.value("cause_fixed", json::object())}}
                                   : json(nullptr)}};
}

// What was drawn and says nothing of the kernel, and why. Code that is not followed is none that refuses.
void print_refusals(const Fuzz& fuzz, const std::string& kernel) {
  if (!fuzz.refused()) return;
  constexpr size_t most = 3;
  const auto all = fuzz.refusals();
  fmt::print("  {} more {} drawn that it does not take", grouped(fuzz.refused()), fuzz.refused() == 1 ? "was" : "were");
  if (all.size() == 1) return fmt::print(": {}.\n", reason_of(all.front(), kernel));
  fmt::print(":\n");
  for (size_t i = 0; i < std::min(all.size(), most); i++)
    fmt::print("    {:>5}  {}\n", grouped(all[i].count), reason_of(all[i], kernel));
  if (all.size() > most) fmt::print("           and {} other reasons\n", all.size() - most);
}

// Of problems that were not judged as something in the kernel's host code is not followed; "" where there are none.
std::string not_followed_words(const Fuzz& fuzz) {
  int64_t n = 0;
  for (const auto& refusal : fuzz.refusals())
    if (refusal.sentence.find(" not followed here") != refusal.sentence.npos) n += refusal.count;
  return n ? fmt::format("; {} others were not judged, where its code is not followed (below)", grouped(n)) : "";
}

void print(const Fuzz& fuzz, const RunRequest& r, const FuzzSpec& spec, const Failing& failing, const json& device,
           const std::set<std::string>& notes, bool interrupted, double seconds) {
  const std::string where = text(device, "name");
  fmt::print("{} on problems drawn with seed {}{}{}\n\n", r.kernel, spec.seed,
             spec.fixed.empty() ? "" : ", some parameters as given", where.empty() ? "" : ", on " + where);
  if (fuzz.pins())
    fmt::print("  Checked with {} alone: its launches are not told {}, and other values are wrong.\n\n",
               fuzz.pins()->words, fuzz.pins()->fields.size() == 1 ? "this" : "these");
  auto amount = [](int64_t n) { return fmt::format("{} problem{}", grouped(n), n == 1 ? "" : "s"); };
  if (!fuzz.first()) {
    if (fuzz.right() == spec.cases)
      fmt::print("  ✓ right on all {}, in {:.1f} s{}\n", amount(fuzz.right()), seconds, not_followed_words(fuzz));
    else
      fmt::print("  {} right on {} of {} asked for, in {:.1f} s: {}\n", fuzz.right() ? "✓" : "✗", grouped(fuzz.right()),
                 grouped(spec.cases), seconds, interrupted ? "interrupted" : fuzz.ended_early());
  } else {
    const auto& first = *fuzz.first();
    fmt::print("  ✗ {} on problem {}{}\n\n", name_of(first.status), grouped(fuzz.right() + 1),
               fuzz.right() ? fmt::format(", after {} right ones", grouped(fuzz.right())) : "");
    fmt::print("  as drawn  {}\n            {}\n", describe(first.problem), first.sentence);
    if (fuzz.smallest()->problem == first.problem)
      fmt::print("            {}\n", interrupted ? "interrupted before a smaller one failed"
                                                 : fmt::format("none of {} smaller ones fails", fuzz.smaller_tried()));
    else
      fmt::print("  smallest  {}   ({} tried{})\n            {}\n", describe(fuzz.smallest()->problem),
                 grouped(fuzz.smaller_tried()), interrupted ? ", interrupted" : "", fuzz.smallest()->sentence);
    // Of a kernel that was written for one layer its verdict there says more.
    const bool own = failing.own && failing.own->verdict.value("cause", json()).is_string();
    const json& verdict = own ? failing.own->verdict : failing.smallest.at("verdict");
    if (failing.own) fmt::print("  right on  {}: {}\n", failing.own->name, describe(failing.own->problem));
    if (verdict.contains("cause"))
      fmt::print("  why       {}\n",
                 verdict["cause"].is_string() ? text(verdict, "cause") : text(verdict, "cause_reason"));
    RunRequest smallest = r;
    smallest.problem = fuzz.smallest()->problem;
    fmt::print("\n  see it    convscope run {}{}\n", r.kernel, forms::problem_options(smallest));
    if (const json& at = failing.smallest.at("error"); at.is_object() && at.value("first_failing", json()).is_object())
      fmt::print("            convscope explain {} --at {},{},{}{}\n", r.kernel,
                 at["first_failing"]["n"].get<int64_t>(), at["first_failing"]["co"].get<int64_t>(),
                 at["first_failing"]["j"].get<int64_t>(), forms::problem_options(smallest));
    // Whoever wrote numbers into it wants to know whether it is right with these.
    if (auto fixed = verdict.find("cause_fixed"); fixed != verdict.end()) {
      std::string with;
      for (const auto& [parameter, value] : fixed->items())
        with += fmt::format(" --{} {}", kebab(parameter), value.get<int64_t>());
      fmt::print("  with its own  convscope check {}{}{}{}\n", r.kernel, names_file(r.kernel) ? " --trust" : "", with,
                 forms::kind_options(r.problem.dtype, name_of(r.accuracy)));
    }
  }
  if (fuzz.right()) {
    std::string with;
    for (const auto& c : fuzz.coverage())
      with += fmt::format("{}{} with {}", with.empty() ? "" : ", ", grouped(c.count), c.what);
    fmt::print(
        "\n  Of the right ones {}. All are of {}; the largest output has {} elements: an index that leaves 32 bits is "
        "not seen.\n",
        with, name_of(r.problem.dtype), grouped(fuzz.largest_right()));
  }
  for (const std::string& note : notes) fmt::print("  Of the right ones to know: {}.\n", note);
  print_refusals(fuzz, r.kernel);
  // What takes 16 bits alone takes none of these.
  const std::string& why = fuzz.ended_early();
  bool of_halves = false;
  for (const char* words : {"half", "Half", "another type than Float", "f16"}) of_halves |= why.find(words) != why.npos;
  if (!fuzz.right() && !fuzz.first() && r.problem.dtype == DType::f32 && of_halves)
    fmt::print("  of f16        convscope check {}{} --dtype f16\n", r.kernel, names_file(r.kernel) ? " --trust" : "");
}

}  // namespace

json judged_report(Session& session, const RunRequest& r, bool right_only) {
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "judge";
  if (right_only) header["right_only"] = true;
  json report;
  try {
    report = session.ask(std::move(header), std::move(payload), "check " + r.kernel).header;
  } catch (const EngineError& e) {
    const std::string code = text(e.error(), "code");
    if (code != "crashed" && code != "hung") throw;
    report = lost_report(session, r, e.error());
  }
  for (const char* own : {"id", "type"}) report.erase(own);
  return report;
}

int verb_check(const CommonOptions& common, const ProblemOptions& problem, const CheckOptionsCli& options) {
  RunRequest r = problem.part_of_request(options.kernel, common.device);
  FuzzSpec spec;
  spec.base = r.problem;
  spec.fixed = problem.given();
  // What a preset's layer is, at other sizes.
  if (!problem.preset.empty())
    for (const char* field : {"kernel_size", "stride", "padding", "output_padding", "dilation", "groups"})
      spec.fixed.insert(field);
  if (!options.cases.empty()) spec.cases = whole_number("cases", options.cases);
  spec.seed = r.inputs.seed;
  if (names_file(r.kernel)) spec.layers = layers_for_the_end(r.problem.dtype);  // of the program's own tests know
  Fuzz fuzz(spec);

  Session session(common);
  const auto begin = std::chrono::steady_clock::now();
  Failing failing;
  json device = nullptr;
  bool interrupted = false, undeclared = false;
  std::set<std::string> notes;  // of right ones
  constexpr size_t most_notes = 4;
  while (auto p = fuzz.next()) {
    // Asked for here as well: most requests are over before anybody looks whether they shall be cancelled.
    if (session.interrupted()) {
      interrupted = true;
      break;
    }
    if (fuzz.looking_for_pins())
      session.show(fmt::format("check {}: looking for parameters that are in it", r.kernel));
    else if (fuzz.shrinking())
      session.show(fmt::format("check {}: problem {} fails; {} smaller ones tried", r.kernel, fuzz.right() + 1,
                               fuzz.smaller_tried()));
    else
      session.show(fmt::format("check {}: {} of {} problems right", r.kernel, fuzz.right(), spec.cases));
    RunRequest one = r;
    one.problem = *p;
    json report;
    try {
      report = judged_report(session, one);
    } catch (const EngineError&) {
      session.show_nothing();
      if (!session.interrupted()) throw;
      interrupted = true;
      break;
    }
    const json& verdict = report.at("verdict");
    const Status status = status_named(text(verdict, "status"));
    // What cannot run here at all is no matter of problems.
    const int code = verdict.value("exit_code", 1);
    if (status == Status::not_run && code == 3) {
      session.show_nothing();
      throw EngineError({{"code", "not-run"}, {"exit_code", code}}, text(verdict, "sentence"));
    }
    // What is not followed here fails on no problem either.
    const bool not_taken = status == Status::not_run && (code == 2 || !verdict.value("declared", true));
    undeclared |= not_taken && code != 2;
    if (report.at("device").value("name", json()).is_string()) device = report["device"];
    const bool had_first = fuzz.first().has_value();
    fuzz.judged(status, text(verdict, "sentence"), !not_taken, not_given(report), sums_are_right(verdict));
    if (status == Status::right)
      for (const auto& note : verdict.value("notes", json::array()))
        if (notes.size() < most_notes) notes.insert(note.get<std::string>());
    if (!had_first && fuzz.first()) failing.first = report;
    if (fuzz.smallest() && fuzz.smallest()->problem == *p) failing.smallest = std::move(report);
  }
  session.show_nothing();
  if (!fuzz.first()) failing = {};  // what failed was no matter of the kernel's
  if (fuzz.first() && !interrupted) {
    RunRequest smallest = r;
    smallest.problem = fuzz.smallest()->problem;
    put_cause(session, smallest, failing.smallest);
    // What fails at once may be right where its author tried it.
    constexpr int64_t hardly_any = 8;
    if (names_file(r.kernel) && !fuzz.pins() && fuzz.right() < hardly_any)
      failing.own = own_layer(session, r, !problem.preset.empty() || !problem.given().empty());
    session.show_nothing();
  }
  if (common.json)
    print_json(document_of(fuzz, r, spec, failing, device, notes, interrupted));
  else
    print(fuzz, r, spec, failing, device, notes, interrupted,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (interrupted) return interrupted_code;
  if (fuzz.first()) return failing.first.at("verdict").value("exit_code", 1);
  return fuzz.right() ? 0 : undeclared ? 1 : 2;
}

}  // namespace convscope
