#include "app/engine/xray_codec.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/engine/codec.h"
#include "app/engine/json_fields.h"
#include "kernels/problem/counts.h"

namespace convscope {
using nlohmann::json;
namespace {

constexpr const char* name_of(Xray::Is is) {
  constexpr const char* names[] = {"right", "wrong", "right-here-only", "unclear", "not-mapped"};
  return names[static_cast<int>(is)];
}
constexpr const char* name_of(XrayProblem::Is is) {
  constexpr const char* names[] = {"right", "wrong", "unclear", "not-mapped"};
  return names[static_cast<int>(is)];
}

}  // namespace

json xray_json(const Xray& x) {
  json problems = json::array();
  for (const auto& at : x.problems) {
    json j = {{"problem", problem_json(at.problem)}, {"status", name_of(at.is)}};
    if (!at.why.empty()) j["reason"] = at.why;
    problems.push_back(std::move(j));
  }
  json fixed = json::object();
  for (const auto& [parameter, value] : x.fixed) fixed[parameter] = value;
  return {{"status", name_of(x.is)},
          {"sentence", x.sentence},
          {"formula", x.formula.empty() ? json(nullptr) : json(x.formula)},
          {"right_formula", x.right_formula.empty() ? right_index() : x.right_formula},
          {"faults", x.faults},
          {"without_effect", x.without_effect},
          {"names_index", x.names_index()},
          {"fixed", std::move(fixed)},
          {"example", x.example.empty() ? json(nullptr) : json(x.example)},
          {"problems", std::move(problems)},
          {"launches", x.launches}};
}

XrayLimits xray_limits(const json& request) {
  XrayLimits limits;
  if (auto it = request.find("limit_s"); it != request.end() && it->is_number()) limits.seconds = it->get<double>();
  for (const auto& one : json_fields::part(request, "left_out"))
    if (const auto place = json_fields::whole(one, "place"); place && *place >= 0)
      limits.left_out[static_cast<size_t>(*place)] = json_fields::text(one, "why");
  return limits;
}

std::string XrayAgain::begun(size_t place) { return json{{"maps", place}}.dump(); }

void XrayAgain::heard(const std::string& header) {
  const json j = json::parse(header, nullptr, false);
  if (j.is_object())
    if (const auto place = json_fields::whole(j, "maps"); place && *place >= 0) place_ = static_cast<size_t>(*place);
}

bool XrayAgain::after(const std::string& how) {
  constexpr size_t most = 3;  // with two small problems all are left out, and one more step is tried
  return place_ && left_out_.emplace(*place_, "on it the kernel ended the engine: " + how).second &&
         left_out_.size() <= most;
}

void XrayAgain::put_into(json& header) const {
  json list = json::array();
  for (const auto& [place, why] : left_out_) list.push_back({{"place", place}, {"why", why}});
  if (!list.empty()) header["left_out"] = std::move(list);
}

void CauseBeside::layer(std::string_view name, std::string_view status, const std::vector<std::string>& findings) {
  if (name == "mathematics") sums_right = status == "pass";
  for (Finding f : all_findings)
    if (std::find(findings.begin(), findings.end(), name_of(f)) != findings.end()) found.push_back(f);
}

CauseBeside cause_beside(const json& verdict) {
  using namespace json_fields;
  CauseBeside beside;
  beside.crashed = text(verdict, "status") == "crashed";
  for (const json& l : part(verdict, "layers")) beside.layer(text(l, "name"), text(l, "status"), texts(l, "found"));
  return beside;
}

bool sums_are_right(const json& verdict) { return cause_beside(verdict).sums_right; }

bool ended_by_a_gpu(std::string_view sentence) { return sentence.find("CUDA_ERROR_") != sentence.npos; }

std::optional<ConvProblem> piece_for_the_emulator(ConvProblem p) {
  constexpr double most_products = 2e7;  // a second or so
  p.batch = std::min<int64_t>(p.batch, 2);
  const int64_t all = p.length;
  for (int64_t length : {300, 130, 40, 16}) {
    p.length = std::min(all, length);
    if (!check(p) && walked_products(p) <= most_products) return p;
  }
  return {};
}

std::string cause_seen_by_the_emulator(const json& report, const ConvProblem& piece) {
  const json& verdict = json_fields::part(report, "verdict");
  const std::string status = json_fields::text(verdict, "status"), sentence = json_fields::text(verdict, "sentence");
  if (status != "wrong" && status != "crashed") return "";
  const std::string word = status + ": ";
  return fmt::format("{} (found by the emulator, on {})",
                     sentence.starts_with(word) ? sentence.substr(word.size()) : sentence, describe(piece));
}

CauseWords cause_words(const json& xray, bool right, const CauseBeside& beside) {
  const std::string status = json_fields::text(xray, "status"), sentence = json_fields::text(xray, "sentence");
  // A bound that is not asked makes threads race: they write what others have.
  const bool of_an_index = xray.value("names_index", false);
  if (!right && beside.has(Finding::race) && !of_an_index)
    return {"", "its threads race: as long as they do, what it computes says nothing of its index", true};
  const bool variable = beside.has(Finding::unset_variable);
  if (!right && (variable || beside.has(Finding::unset_shared)) && !of_an_index)
    return {
        "",
        fmt::format("{} that nothing was put into is in its results: as long as it is, they say nothing of its index",
                    variable ? "a variable" : "shared memory"),
        true};
  if (status == (right ? "right-here-only" : "wrong")) return {sentence, "", false};
  if (!right && beside.has(Finding::zeros_unwritten) && beside.sums_right)
    return {"", "an output whose sum is 0 is not written, and keeps what was there: 0 has to be stored as well", true};
  if (!right && beside.has(Finding::carried_sum))
    return {"", "a thread's sum goes on from one output to the next: as long as it does, no term of its index is seen",
            true};
  // Wrong as it was asked for, and right on the small problem of that kind.
  const std::string here = "right here, but not in general: ";
  const std::string elsewhere = "seen on other small problems: ";
  // The x-ray did not get to know what the verdict does.
  if (right && status == "wrong") {
    if (sentence.starts_with(elsewhere)) return {here + sentence.substr(elsewhere.size()), "", false};
    if (sentence.starts_with("right with ") || sentence.starts_with("right where "))
      return {here + sentence, "", false};
  }
  const bool none_here = xray.value("without_effect", false);
  if (!right && status == "right-here-only" && sentence.starts_with(here) && !none_here)
    return {"seen on other small problems: " + sentence.substr(here.size()), "", false};
  if (beside.crashed && status == "not-mapped")  // most likely by what the verdict says
    return {"", "on small problems it crashes as well, so that no term of its index is seen", true};
  if (right || status == "unclear" || status == "not-mapped") return {"", sentence, false};
  if (beside.sums_right) return {"", "its sums are right: no term of its index is to blame", true};
  if (!right && sentence.starts_with("right here, but not on "))
    return {"",
            "on a small problem like the asked one its products are right, on others they are not, and no formula "
            "of the kinds that are tried gives them",
            false};
  return {"",
          "its products on small problems are the definition's: what is wrong depends on sizes, values, rounding or "
          "the order of threads",
          false};
}

}  // namespace convscope
