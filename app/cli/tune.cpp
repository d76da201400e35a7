// The verb `tune`: a faster form of a kernel file, found on the GPU by changes of its text.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/options.h"
#include "app/cli/out_file.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "app/engine/kernel_file.h"
#include "app/engine/tuning.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/edit_words.h"
#include "profiling/statistics/compare.h"

namespace convscope {
using json_fields::number;
using json_fields::part;
using json_fields::text;
using json_fields::whole;
using nlohmann::json;
namespace {

constexpr size_t most_lines = 12;  // of forms that were timed; --json has all

double seconds_to_tune(const std::string& limit) {
  if (limit.empty()) return 180;
  const double s = real_number("limit", limit);
  if (s <= 0) throw InputError("limit", limit, "must be greater than 0 seconds");
  return s;
}

// Times of the emulator say nothing of a GPU's. Errors: MissingError.
void require_gpu(Session& session, const std::string& device) {
  const json devices = session.ask({{"type", "list"}, {"what", "devices"}}).header;
  const bool any = std::any_of(devices.at("devices").begin(), devices.at("devices").end(),
                               [](const json& d) { return text(d, "kind") != "emulator"; });
  if (device == "emulator" || !any)
    throw MissingError(device == "emulator" ? "tune measures on a GPU, and the emulator is none"
                                            : "tune measures on a GPU, and there is none here",
                       "what the emulator counts of a kernel: convscope profile");
}

std::string form_line(const json& t) {
  const auto speedup = number(t, "speedup");
  // The same change comes again behind those that were kept.
  const size_t behind = part(t, "with").size();
  const std::string change = text(t, "change") + (behind ? fmt::format(" (+{})", behind) : "");
  return fmt::format("  {}  {:<44} {:>9}  {:>7}  {}\n", t.value("kept", false) ? "✓" : "·", change,
                     time_text(number(t, "median_ms").value_or(0)), speedup ? fmt::format("{:.3g}×", *speedup) : "–",
                     text(t, "verdict"));
}

std::string forms_text(const json& tried) {
  std::vector<json> timed;
  int wrong = 0, other = 0;
  for (const auto& t : tried) {
    if (number(t, "median_ms"))
      timed.push_back(t);
    else
      (text(t, "status") == "wrong" ? wrong : other)++;
  }
  const size_t all = timed.size();
  auto kept = [](const json& t) { return t.value("kept", false); };
  // Those that were kept, in their order; behind them the others, fast ones first.
  std::stable_sort(timed.begin(), timed.end(), [&](const json& a, const json& b) {
    if (kept(a) != kept(b)) return kept(a);
    return !kept(a) && number(a, "speedup").value_or(0) > number(b, "speedup").value_or(0);
  });
  if (timed.size() > most_lines) timed.resize(most_lines);
  std::string out =
      timed.empty() ? "" : "  against the best form by then, in the same turns; (+1): behind a change that was kept:\n";
  for (const auto& t : timed) out += form_line(t);
  if (all > timed.size()) out += fmt::format("     and {} slower ones\n", all - timed.size());
  return out + fmt::format("\n  {} form{} timed; {} wrong, {} not run (--json says why)\n", all, all == 1 ? "" : "s",
                           wrong, other);
}

// Whether it went to its end.
bool search(Tuning& tuning, Session& session, double most_seconds, std::map<std::string, double>& spent) {
  const auto begin = std::chrono::steady_clock::now();
  bool whole_search = true;
  while (auto request = tuning.next()) {
    if (session.interrupted()) return false;
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (s > most_seconds && whole_search) {
      whole_search = false;
      tuning.enough();
      continue;
    }
    struct Spent {
      double& seconds;
      std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
      ~Spent() { seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
    } now{spent[request->kind]};
    session.show(
        fmt::format("tune {:.0f} of {:.0f} s, {:.3g}×: {}", s, most_seconds, tuning.best_speedup(), request->title));
    try {
      if (!request->text.empty()) {
        // Most wrong forms are seen to be wrong on the emulator: nvcc is not asked for them.
        session.bring_text(request->file, request->text, "emulator");
        tuning.took(json::object());
      } else {
        tuning.took(session.ask(request->header, {}, request->title).header);
      }
    } catch (const EngineError& e) {
      if (session.interrupted()) return false;
      if (!tuning.failed(e.error().value("code", "failed"), e.what())) {
        session.show_nothing();
        throw;
      }
    }
  }
  return whole_search;
}

}  // namespace

std::string tune_text(const json& d, const std::string& file) {
  std::string out;
  if (text(d, "status") == "wrong")
    return fmt::format("  ✗ {}\n    a wrong kernel is not made faster: convscope fix, or convscope xray, first\n",
                       text(d, "reason"));
  for (const json& l : part(d, "lines")) {
    const std::string at = fmt::format("{}:{}", file_name(file), whole(l, "line").value_or(0));
    if (const std::string before = text(l, "before"); !before.empty()) out += fmt::format("  {}  − {}\n", at, before);
    if (const std::string after = text(l, "after"); !after.empty()) out += fmt::format("  {}  + {}\n", at, after);
  }
  const auto before = number(part(d, "before"), "median_ms"), after = number(part(d, "after"), "median_ms");
  if (before && after) {
    out += fmt::format(
        "\n  {} {} → {}, {:.3g} times as fast ({}; {}, measured, {} samples of each in turn, ± {} and {})\n",
        text(d, "status") == "faster" ? "✓" : "·", time_text(*before), time_text(*after),
        number(d, "speedup").value_or(1), text(d, "verdict"), text(d, "by"),
        whole(part(d, "after"), "samples").value_or(0), noise_text(number(part(d, "before"), "noise_pct").value_or(0)),
        noise_text(number(part(d, "after"), "noise_pct").value_or(0)));
    out += fmt::format("    judged right on the asked problem and on {} small ones\n", part(d, "judged_on").size());
    for (const json& only : part(d, "only_for"))
      out += fmt::format("    ! right for {} alone\n", only.get<std::string>());
  } else if (!part(d, "lines").empty()) {
    out += fmt::format(
        "\n  · {:.3g} times as fast, by the {} samples of each step alone: the file and this were not timed once "
        "more\n",
        number(d, "steps_speedup").value_or(1), whole(d, "samples").value_or(0));
  } else {
    out += "  · no change of the text makes it faster by more than its spread\n";
  }
  out += "\n" + forms_text(part(d, "tried"));
  if (const auto left = whole(d, "not_tried").value_or(0))
    out += fmt::format("  {} change{} not tried: {}\n", grouped(left), left == 1 ? " was" : "s were",
                       text(d, "ended_by") == "finished" ? "others of the same knob were wrong"
                                                         : "the time was up, or others of the same knob were wrong");
  return out;
}

int verb_tune(const CommonOptions& common, const ProblemOptions& problem, const TuneOptionsCli& options) {
  const double most_seconds = seconds_to_tune(options.limit);
  if (!names_file(options.kernel))
    throw InputError("kernel", options.kernel, "is no .cu or .py file: the program's own texts stay as they are");
  const RunRequest r = problem.request(options.kernel, common.device);
  for (const auto* s : {&r.inputs.x, &r.inputs.w, &r.inputs.b})
    if (s->kind == InputKind::file) throw InputError("input", s->file, "is a file: tune draws its inputs");
  if (const int least = CompareRules{}.least_samples; r.samples > 0 && r.samples < least)
    throw InputError("samples", std::to_string(r.samples),
                     fmt::format("must be at least {}: of fewer no form is known to be faster", least));
  const std::string file = file_of_kernel(r.kernel);
  read_kernel_file(file);  // what is wrong with it is said before what is missing here
  Session session(common);
  require_gpu(session, r.device);
  session.bring(r.kernel);
  TuningSpec spec;
  spec.request = r, spec.text = session.brought_text(r.kernel);
  spec.by_hot = options.hot, spec.for_layer = options.for_layer;
  if (r.samples > 0) spec.samples = r.samples;
  Tuning tuning(spec);
  const auto begin = std::chrono::steady_clock::now();
  std::map<std::string, double> spent;
  const bool finished = search(tuning, session, most_seconds, spent);
  session.show_nothing();
  json d = tuning.document();
  d["convscope"] = CONVSCOPE_VERSION, d["written"] = false, d["reason"] = tuning.wrong();
  d["ended_by"] = session.interrupted() ? "interrupted" : finished ? "finished" : "limit";
  d["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  d["spent_s"] = spent;
  d["lines"] = json::array();
  if (const std::string& best = tuning.best_text(); best != spec.text)
    for (const auto& l : changed_lines(spec.text, best))
      d["lines"].push_back({{"line", l.line}, {"before", l.before}, {"after", l.after}});
  const bool faster = text(d, "status") == "faster";
  if (options.write && faster) {
    write_into_kernel(file, spec.text, tuning.best_text());
    d["written"] = true;
  }
  if (common.json) {
    print_json(d);
  } else {
    fmt::print("{} on {}, {}\n\n{}", file, describe(r.problem), text(part(d, "device"), "name"), tune_text(d, file));
    if (faster) fmt::print("  {}\n", options.write ? file + " is written" : "nothing is written; --write does it");
    if (session.interrupted()) fmt::print("  interrupted: forms that were kept are above\n");
  }
  if (session.interrupted()) return interrupted_code;
  return tuning.wrong().empty() ? 0 : 1;
}

}  // namespace convscope
