// The verb `sweep`: kernels over one parameter, at each value judged and timed.
#include "app/engine/sweep.h"

#include <algorithm>
#include <fmt/format.h>

#include "app/cli/delivery.h"
#include "app/cli/forms.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;
namespace {

template <class T>
T one_of(const char* option, const std::string& word, const std::vector<std::pair<const char*, T>>& all) {
  std::vector<std::string> words;
  for (const auto& [name, value] : all) words.emplace_back(name);
  require_one_of(option, word, words);
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return word == one.first; })->second;
}

size_t columns_of(const std::string& text) {  // on a terminal: a character each
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}
std::string padded(const std::string& text, size_t width, bool right) {
  const std::string room(width - std::min(width, columns_of(text)), ' ');
  return right ? room + text : text + room;
}

// "✓ 20.1 µs 27×", "✗ 50 %", "–".
std::string cell(const SweepPoint& p, const SweepEntry& e) {
  std::string out = e.reference ? "" : !e.status ? "·" : e.status == Status::right ? "✓" : "✗";
  if (e.status == Status::wrong && e.failing) out += " " + percent_text(e.failing_fraction(), 1);
  if (e.wrong() && e.status != Status::wrong) out += " " + std::string(name_of(*e.status));
  if (e.status == Status::not_run) return "not run";
  if (e.ms) {
    out += (out.empty() ? "" : " ") + time_text(*e.ms);
    if (e.noise_pct && *e.noise_pct >= 3) out += " ± " + noise_text(*e.noise_pct);
    if (p.floor_ms && *p.floor_ms > 0) out += " " + forms::figure(*e.ms / *p.floor_ms) + "×";
  }
  if (e.ran != e.kernel) out += " " + file_name(e.ran);
  return out.empty() ? "–" : out;
}

std::string table(const Sweep& s, bool interrupted) {
  const SweepSpec& spec = s.spec();
  std::vector<std::vector<std::string>> rows{{spec.axis.name(), "Lout", "floor"}};
  for (const auto& k : spec.kernels) rows[0].push_back(file_name(k));
  for (const auto& p : s.points()) {
    rows.push_back({grouped(p.value)});
    auto& row = rows.back();
    if (!p.refused.empty()) {
      row.push_back("–");
      continue;
    }
    row.push_back(grouped(p.problem.out_length()));
    row.push_back(p.floor_ms ? time_text(*p.floor_ms) : "–");
    for (const auto& e : p.entries) row.push_back(cell(p, e));
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string values;
  for (const int64_t v : {spec.axis.values.front(), spec.axis.values.back()})
    values += (values.empty() ? "" : " to ") + grouped(v);
  std::string out = fmt::format("{} {} on {}{}\n\n", spec.axis.name(), values, describe(spec.base),
                                s.device().empty() ? "" : ", " + s.device());
  for (size_t r = 0; r < rows.size(); r++) {
    std::string line = " ";
    for (size_t i = 0; i < rows[r].size(); i++) line += (i < 1 ? " " : "   ") + padded(rows[r][i], widths[i], i < 3);
    if (r && !s.points()[r - 1].refused.empty()) line += "   no problem: " + s.points()[r - 1].refused;
    if (r && !s.points()[r - 1].note.empty()) line += "   " + s.points()[r - 1].note;
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += "\n";
  for (const auto& sentence : s.sentences()) out += "  " + sentence + "\n";
  const std::string times = s.times_words();
  out += fmt::format("\n  ✓ right, ✗ wrong and the share of wrong elements, · not judged{}\n",
                     times.empty() ? "; no times" : "; times " + times + ", beside them how often the floor");
  std::string floor;
  for (const auto& p : s.points())
    if (floor.empty()) floor = p.floor_words;
  if (!floor.empty()) out += "  floor " + floor + "\n";
  if (interrupted) out += "  interrupted: what is missing was not asked any more\n";
  return out;
}

// An absent measurement has its reason beside it.
void put_reasons(json& document) {
  for (json& point : document.at("points")) {
    const bool refused = !point.at("refused").is_null();
    if (point.at("floor_ms").is_null())
      point["floor_reason"] =
          refused ? "these values make no legal problem" : "times here are not held against a floor";
    for (json& entry : point.at("entries")) {
      if (json& time = entry.at("time"); time.is_object()) {
        const std::string source = json_fields::text(time, "source");
        const char* why = source == "predicted"  ? "the planner's model predicts one time, of a warm cache"
                          : source == "emulated" ? "the emulator has no cache to be cold"
                                                 : "it was not measured";
        if (time.at("cold_ms").is_null()) time["cold_reason"] = why;
        if (time.at("noise_pct").is_null())
          time["noise_reason"] = source == "predicted" ? "a predicted time has no samples" : why;
      } else if (entry.at("time_reason").is_null()) {
        entry["time_reason"] = "it was not timed";
      }
      json& verdict = entry.at("verdict");
      if (verdict.is_object() && verdict.at("max_bound_ratio").is_null())
        verdict["max_bound_ratio_reason"] = "there was no output to compare";
      if (verdict.is_null() && entry.at("verdict_reason").is_null()) entry["verdict_reason"] = "it was not judged";
    }
  }
}

}  // namespace

int verb_sweep(const CommonOptions& common, const ProblemOptions& problem, const SweepOptionsCli& options) {
  using Times = SweepSpec::Times;
  using Verdicts = SweepSpec::Verdicts;
  SweepSpec spec;
  spec.axis = axis_from(options.over);
  for (const std::string& field : problem.given())
    if (spec.axis.varies(field))
      throw InputError(field, problem.parameters.at(field), "is what --over varies: leave it out");
  const RunRequest r = problem.part_of_request("", common.device);
  spec.base = r.problem, spec.inputs = r.inputs, spec.accuracy = r.accuracy, spec.device = r.device;
  const std::pair<const std::string*, TensorSource*> sources[] = {
      {&problem.input, &spec.inputs.x}, {&problem.weight, &spec.inputs.w}, {&problem.bias_values, &spec.inputs.b}};
  const char* names[] = {"input", "weight", "bias-values"};
  for (size_t i = 0; i < 3; i++)
    if (!sources[i].first->empty()) *sources[i].second = parse_source(names[i], *sources[i].first);
  spec.kernels = options.kernels;
  spec.times = one_of<Times>("times", options.times,
                             {{"auto", Times::automatic},
                              {"predicted", Times::predicted},
                              {"measured", Times::measured},
                              {"none", Times::none}});
  spec.verdicts = one_of<Verdicts>("verdicts", options.verdicts,
                                   {{"auto", Verdicts::automatic}, {"all", Verdicts::all}, {"none", Verdicts::none}});
  if (r.samples > 0) spec.samples = r.samples;
  Delivery delivery(common, options.format, options.out, {"table", "json", "csv"});
  Sweep sweep(std::move(spec));

  Session session(common);
  bool interrupted = false;
  while (auto request = sweep.next()) {
    if (session.interrupted()) {
      interrupted = true;
      break;
    }
    session.show(fmt::format("sweep {:.0f} %: {}", 100 * sweep.share_done(), request->title));
    try {
      sweep.took(session.ask(std::move(request->header), {}, request->title).header);
    } catch (const EngineError& e) {
      if (session.interrupted()) {
        interrupted = true;
        break;
      }
      if (!sweep.failed(e.error().value("code", "failed"), e.error().value("message", std::string(e.what())))) {
        session.show_nothing();
        throw;
      }
    }
  }
  session.show_nothing();
  json document = sweep.document();
  put_reasons(document);
  document["convscope"] = CONVSCOPE_VERSION, document["interrupted"] = interrupted;
  delivery.deliver(delivery.format() == "table" ? table(sweep, interrupted)
                   : delivery.format() == "csv" ? sweep.csv()
                                                : json_text(document),
                   document);
  if (interrupted) return interrupted_code;
  bool died = false, wrong = false, right = false;
  for (const auto& p : sweep.points())
    for (const auto& e : p.entries) {
      died |= e.status == Status::crashed || e.status == Status::hung;
      wrong |= e.status == Status::wrong;
      right |= e.status == Status::right || !e.status;
    }
  return died ? 4 : wrong ? 1 : right ? 0 : 2;
}

}  // namespace convscope
