#include "app/cli/recorded.h"

#include <algorithm>
#include <fmt/format.h>

#include "app/engine/json_fields.h"
#include "app/engine/recording.h"
#include "kernels/base/text.h"
#include "kernels/problem/presets.h"

namespace convscope {
using json_fields::part;
using json_fields::text;
using nlohmann::json;
namespace {

std::string name_of_problem(const ConvProblem& p) {
  std::string words = preset_in_words(p);
  return words.empty() ? describe(p) : words;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::vector<std::string> names_of_problems(const Recording& r) {
  std::vector<std::string> names;
  for (const auto& p : r.problems()) names.push_back(name_of_problem(p));
  return names;
}

// Which of the recorded problems is meant: with a preset this one, without it the only one that has what was given
// (none, a type, a stride, …).
ConvProblem problem_meant(const Recording& r, const ConvProblem& asked, const ProblemOptions& given) {
  std::vector<ConvProblem> fitting;
  for (const auto& p : r.problems())
    if (given.preset.empty() ? given.agrees_with(asked, p) : p == asked) fitting.push_back(p);
  if (fitting.size() == 1) return fitting.front();
  const std::string held = "the recording holds " + joined(names_of_problems(r));
  if (fitting.empty()) throw InputError("problem", name_of_problem(asked), "is not recorded: " + held);
  throw InputError("problem", "", "is missing: " + held);
}

// What every answer of a type has: a field of it that is not so can be named.
struct Needed {
  const char *type, *field;
  json::value_t is;
};
constexpr json::value_t an_object = json::value_t::object, a_list = json::value_t::array,
                        a_text = json::value_t::string;
constexpr Needed needed[] = {{"", "/problem", an_object},           {"", "/device", an_object},
                             {"run", "/kernel", an_object},         {"run", "/verdict", an_object},
                             {"run", "/verdict/status", a_text},    {"run", "/verdict/layers", a_list},
                             {"run", "/references", a_list},        {"profile", "/kernel", an_object},
                             {"profile", "/timing", an_object},     {"profile", "/counters", an_object},
                             {"profile", "/conditions", an_object}, {"profile", "/roofline", an_object},
                             {"profile", "/warnings", a_list},      {"bench", "/entries", a_list},
                             {"bench", "/warnings", a_list},        {"bench", "/conditions", an_object}};

}  // namespace

void require_whole(const std::string& recording, const std::string& type, const json& answer) {
  for (const Needed& n : needed)
    if (const json::json_pointer at(n.field);
        (!*n.type || type == n.type) && (!answer.contains(at) || answer.at(at).type() != n.is))
      throw InputError("recording", recording,
                       fmt::format("is damaged: its {} has no field {} that is {}", type, n.field + 1,
                                   n.is == a_list   ? "a list"
                                   : n.is == a_text ? "a text"
                                                    : "an object"));
}

void refuse_damaged(const std::string& recording, const std::exception& e) {
  // "[json.exception.type_error.302] type must be string, but is null": the library's name for it is of no use.
  std::string why = e.what();
  if (dynamic_cast<const json::exception*>(&e)) why.erase(0, std::min(why.size(), why.find("] ") + 2));
  throw InputError("recording", recording, "is damaged: a field of its answer is missing or of another type: " + why);
}

json recorded_answer(const std::string& recording, const std::string& type, RunRequest asked,
                     const ProblemOptions& given) {
  Recording r = read_recording(recording_path(recording));
  asked.problem = problem_meant(r, asked.problem, given);
  const RecordedAnswer* found = r.find(type, asked);
  if (!found && given.accuracy.empty())
    for (Accuracy a : {Accuracy::tf32x3, Accuracy::tf32}) {
      asked.accuracy = a;
      if (!found) found = r.find(type, asked);
    }
  if (!found) {
    auto kernels = r.kernels(type, asked.problem);
    bool known = std::find(kernels.begin(), kernels.end(), asked.kernel) != kernels.end();
    if (type == "bench")
      throw InputError("recording", recording, "holds no comparison of this problem with these inputs");
    if (known)
      throw InputError("kernel", asked.kernel, "was recorded with other inputs, another seed or another accuracy");
    throw InputError("kernel", asked.kernel,
                     "has no " + type + " in the recording" +
                         (kernels.empty() ? " of this problem" : ": it holds " + joined(kernels)));
  }
  require_whole(recording, type, found->answer);
  return shown_whole(recording, [&] { return shown_answer(r, *found); });
}

std::string recorded_heading(const json& shown) {
  const json none = json::object();
  auto it = shown.find("recorded");
  const json& r = it != shown.end() && it->is_object() ? *it : none;
  std::string by = text(r, "convscope");
  const bool changed = r.value("text_changed", json()) == json(true);
  return fmt::format("{}{}\n{}", text(r, "source"), by.empty() ? "" : " (convscope " + by + ")",
                     changed ? "! of another text than " + text(part(shown, "kernel"), "name") + " holds now\n" : "");
}

json recordings_json() {
  json list = json::array();
  for (const auto& shipped : shipped_recordings()) {
    json j = {{"name", shipped.name}, {"path", shipped.path}};
    try {
      Recording r = read_recording(shipped.path);
      j["device"] = r.device_name();
      for (const char* fact : {"date", "convscope", "command"}) j[fact] = r.about.value(fact, json(nullptr));
      j["left_out"] = r.about.value("left_out", json::array());
      j["source"] = "recorded: " + r.source();
      j["problems"] = names_of_problems(r);
      json& kernels = j["kernels"] = json::object();
      for (const auto& p : r.problems())
        kernels[name_of_problem(p)] = {{"run", r.kernels("run", p)}, {"profile", r.kernels("profile", p)}};
    } catch (const InputError& e) {
      j["reason"] = e.what();
    }
    list.push_back(std::move(j));
  }
  return {{"recordings", list}};
}

std::string recordings_text(const json& list) {
  std::string out;
  for (const auto& j : list.at("recordings")) {
    if (j.contains("reason")) {
      out += fmt::format("{:<28} cannot be read: {}\n", text(j, "name"), text(j, "reason"));
      continue;
    }
    size_t runs = 0, profiles = 0;
    for (const auto& [problem, kernels] : j.at("kernels").items())
      runs += kernels.at("run").size(), profiles += kernels.at("profile").size();
    out += fmt::format("{:<28} {}: {} verdict{}, {} profile{} on {}\n", text(j, "name"), text(j, "source"), runs,
                       runs == 1 ? "" : "s", profiles, profiles == 1 ? "" : "s",
                       fmt::join(j.at("problems").get<std::vector<std::string>>(), ", "));
  }
  return out.empty() ? "none came with this program; `convscope record` makes one on a GPU\n" : out;
}

}  // namespace convscope
