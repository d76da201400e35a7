// What tables and comma-separated values of the command line are made of.
#pragma once
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/engine/codec.h"
#include "app/engine/json_fields.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope::forms {
using nlohmann::json;

inline std::string time_of(const json& ms) { return ms.is_number() ? time_text(ms.get<double>()) : "–"; }

// Three significant digits, and no exponent below a million.
inline std::string figure(double v) {
  double size = std::abs(v);
  if (size >= 1e6) return fmt::format("{:.3g}", v);
  if (size >= 100 || size == 0) return fmt::format("{:.0f}", v);
  return fmt::format("{:.3g}", v);
}

// The largest errors in a report's `error`. Values that are no numbers have none: what is said is of the others then.
inline std::string sizes_of_errors(const json& e, std::string (*number)(const json&)) {
  int64_t not_finite = 0;
  for (const char* kind : {"nan", "inf", "unwritten"})
    if (auto n = e.find(kind); n != e.end() && n->is_number()) not_finite += n->get<int64_t>();
  const json &largest = e.at("max_abs"), &worst = e.at("max_bound_ratio");
  if (!largest.is_number() && not_finite) return "none of them is a finite number";
  if (not_finite) return "largest error of those that are finite " + number(largest);
  return fmt::format("largest error {}, {}", number(largest),
                     worst.is_number()   ? "worst " + ratio_text(worst.get<double>()) + " its bound"
                     : worst.is_string() ? "something where exactly 0 should be"
                                         : "its bound unknown");
}

// What asks for a type and an accuracy on the command line.
inline std::string kind_options(DType type, std::string_view accuracy) {
  std::string out;
  if (type != DType::f32) out += fmt::format(" --dtype {}", name_of(type));
  if (!accuracy.empty() && accuracy != name_of(Accuracy::strict)) out += fmt::format(" --accuracy {}", accuracy);
  return out;
}

// What asks for this problem of this kernel: " --trust --stride 2".
inline std::string problem_options(const RunRequest& r) {
  const ConvProblem none, &p = r.problem;
  std::string out = names_file(r.kernel) ? " --trust" : "";
  for (const auto& f : problem_fields())
    if (p.*f.value != none.*f.value) out += fmt::format(" --{} {}", kebab(f.name), p.*f.value);
  if (p.bias) out += " --bias";
  out += kind_options(p.dtype, name_of(r.accuracy));
  if (r.inputs.seed != InputSpec{}.seed) out += fmt::format(" --seed {}", r.inputs.seed);
  return out;
}

// What a right verdict on a kernel of the user's says nothing of, as the problem has none of it; "" of other reports.
inline std::string not_seen_here(const json& report, const ConvProblem& p) {
  const std::string name = json_fields::text(report.at("kernel"), "name");
  if (!names_file(name) || json_fields::text(report.at("verdict"), "status") != "right") return "";
  std::vector<std::string> missing;
  if (p.batch == 1) missing.push_back("a second sequence");
  if (p.groups == 1) missing.push_back("groups");
  if (!p.bias) missing.push_back("a bias");
  if (p.stride == 1) missing.push_back("a stride");
  if (p.dilation == 1) missing.push_back("a dilation");
  if (p.stride > 1 && p.stride == p.dilation) missing.push_back("a dilation other than its stride");
  if (p.padding == 0) missing.push_back("padding");
  if (p.output_padding == 0 && std::max(p.stride, p.dilation) > 1) missing.push_back("output padding");
  if (p.kernel_size == 1) missing.push_back("more than one tap");
  if (missing.empty()) return "";
  return fmt::format("{}: this problem has none; `convscope check {} --trust{}` draws problems that have",
                     fmt::join(missing, ", "), name,
                     kind_options(p.dtype, json_fields::text(json_fields::part(report, "accuracy"), "allowed")));
}

// Nearly every kernel is right on the problem that nobody has asked for. A line, or "".
inline std::string no_problem_words(const ConvProblem& p) {
  ConvProblem smallest;
  smallest.dtype = p.dtype;
  if (!(p == smallest)) return "";
  return "On the smallest problem, which is taken where none is given, next to nothing shows: --preset "
         "kernelbench-79-small says more\n";
}

// The same as a list, for documents: empty where there is nothing to warn of.
inline json no_problem_warnings(const ConvProblem& p) {
  std::string words = no_problem_words(p);
  if (words.empty()) return json::array();
  words.pop_back();
  return json::array({words});
}

// What a report of `run` warns of: that, and what its right verdict says nothing of.
inline json report_warnings(const json& report, const ConvProblem& p) {
  json warnings = no_problem_warnings(p);
  if (const std::string words = not_seen_here(report, p); !words.empty()) warnings.push_back("not seen: " + words);
  return warnings;
}

// Puts it among the warnings of an answer that has some of its own: what the table says, documents and comma-separated
// values say.
inline void put_no_problem_warning(json& answer) {
  for (const json& words : no_problem_warnings(problem_from(answer.at("problem"))))
    answer.at("warnings").push_back(words);
}

// What a table says beneath its figures: all but that, which stands above them.
inline std::string warnings_beneath(const json& answer) {
  const json above = no_problem_warnings(problem_from(answer.at("problem")));
  std::string out;
  for (const auto& w : answer.at("warnings"))
    if (above.empty() || w != above.front()) out += fmt::format("  ! {}\n", w.get<std::string>());
  return out;
}

// What was measured, on which problem and device.
inline std::string header(const json& answer, const std::string& what) {
  ConvProblem p = problem_from(answer.at("problem"));
  return fmt::format("{} on {} → Lout {}\n{}\n{}\n", what, describe(p), p.out_length(),
                     json_fields::text(answer.at("device"), "name"), no_problem_words(p));
}

// What a call takes with weights packed before, and packing; why that is not known; "" of a kernel that packs nothing.
// times: `timing` of an answer.
inline std::string packed_words(const json& answer, const json& times) {
  using json_fields::part, json_fields::text;
  auto packs = times.find("packs_weights");
  const bool library = text(part(answer, "kernel"), "kind") == "reference";
  if (packs == times.end() && !library && part(answer, "launches").size() > 1)
    return "not recorded: this recording is older than times with weights packed before";
  if (packs == times.end() || *packs != json(true)) return "";
  const json& packed = part(times, "packed");
  if (!packed.contains("median_ms")) return text(times, "packed_reason");
  return fmt::format("{} with weights packed before, as inference has them (noise {}); cold {}; packing {} ({})",
                     time_of(packed.at("median_ms")), noise_text(packed.at("noise_pct").get<double>()),
                     time_of(part(packed, "cold").value("median_ms", json())), time_of(times.at("packing_ms")),
                     text(times, "packing_source"));
}

// "a launch of nothing 1.9 µs at least (measured, noise 0.2 %)", where the kernel's time is not much more; else "". The
// shortest: what comes on top is the host's, on some machines a tenth.
inline std::string launch_words(const json& timing) {
  const json& launch = json_fields::part(timing, "launch");
  auto ms = json_fields::number(launch, "min_ms"), noise = json_fields::number(launch, "noise_pct");
  return ms && noise
             ? fmt::format("a launch of nothing {} at least (measured, noise {})", time_text(*ms), noise_text(*noise))
             : std::string();
}

// At which rate a floor is: what bytes or operations over it come to. "" where there is none.
inline std::string floor_rate(const json& answer, const json& floor) {
  const bool bytes = json_fields::text(floor, "floor_from") == "bytes";
  auto ms = json_fields::number(floor, "floor_ms"),
       work = json_fields::number(json_fields::part(answer, "problem"), bytes ? "least_bytes" : "flops");
  if (!ms || !work || !(*ms > 0)) return "";
  const double rate = *work / *ms * 1e-6;  // of thousands of millions a second
  return bytes ? fmt::format(" at {:.0f} GB/s", rate) : fmt::format(" at {:.4g} TFLOP/s", rate * 1e-3);
}

// A value as a field: null is empty.
inline std::string plain(const json& v) { return v.is_null() ? "" : v.is_string() ? v.get<std::string>() : v.dump(); }

// RFC 4180.
class Csv {
 public:
  explicit Csv(const std::string& head) : text_(head + "\n") {}
  void line(const std::vector<std::string>& fields) {
    for (size_t i = 0; i < fields.size(); i++) text_ += (i ? "," : "") + csv_field(fields[i]);
    text_ += "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace convscope::forms
