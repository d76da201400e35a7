#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <tuple>

#include "app/cli/explained.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"

namespace convscope {
using nlohmann::json;
namespace {

void print(const json& r, const ConvProblem& p) {
  const json& e = r["explanation"];
  auto n = e["at"][0].get<int64_t>(), co = e["at"][1].get<int64_t>(), j = e["at"][2].get<int64_t>();
  fmt::print("y[{}, {}, {}] of {} on {}\n\n", n, co, j, r["kernel"].get<std::string>(), describe(p));
  fmt::print("  it should be  {}\n  the kernel    {}\n\n", explained_number(e["expected"]), explained_number(e["got"]));
  fmt::print(
      "  A tap k reaches it from i = (j + p − k·d)/s when that is whole and inside 0…{}. Summed over input channels "
      "{}–{}:\n\n",
      p.length - 1, e["first_channel"].get<int64_t>(),
      e["first_channel"].get<int64_t>() + e["channels"].get<int64_t>() - 1);
  fmt::print("    {:>4}  {:>8}  {:>8}  {:>13}  {:>13}  {}\n", "k", "should i", "reads i", "should add", "adds", "");
  const TapRows taps = tap_rows(e);
  for (const TapRow& t : taps.rows)
    fmt::print("  {} {:>4}  {:>8}  {:>8}  {:>13}  {:>13}  {}\n", t.same ? " " : "✗", t.k, t.should_i, t.reads_i,
               t.should_add, t.adds, t.note);
  if (taps.idle) fmt::print("    and {} taps that reach nothing, as they should\n", taps.idle);
  if (p.bias) fmt::print("    bias {}\n", explained_number(e["bias"]));
  fmt::print("\n");
  for (const auto& note : e["notes"]) fmt::print("  ✗ {}\n", note.get<std::string>());
  if (e["read_total"].is_number())
    fmt::print("  What it reads adds up to {}; it wrote {}.\n", explained_number(e["read_total"]),
               explained_number(e["got"]));
  fmt::print("  Found from outside by {} runs on one-hot inputs.\n", e["launches"].get<int>());
  for (const auto& words : stray_words(r.value("stray_reads", json::array()))) fmt::print("  ✗ {}\n", words);
}

bool differs(const json& explanation) {
  return !explanation["notes"].empty() ||
         std::any_of(explanation["taps"].begin(), explanation["taps"].end(),
                     [](const json& t) { return t.contains("note") || t["expected_i"] != t["read_i"]; });
}

// Which lines read what does not belong to the element; nothing where the kernel cannot be traced.
json strays_of(Session& session, const RunRequest& r, const std::vector<int64_t>& place) {
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "trace", header["at"] = place;
  try {
    return session.ask(header, std::move(payload), "trace " + r.kernel).header.value("stray_reads", json::array());
  } catch (const EngineError&) {
    return json::array();
  }
}

}  // namespace

int verb_explain(const CommonOptions& common, const ProblemOptions& problem, const std::string& kernel,
                 const std::string& at) {
  RunRequest r = problem.request(kernel, common.device);
  if (std::count(at.begin(), at.end(), ',') != 2) throw InputError("at", at, "must be three whole numbers: n,co,j");
  std::vector<int64_t> place;
  for (size_t from = 0; from <= at.size();) {
    size_t comma = std::min(at.find(',', from), at.size());
    place.push_back(whole_number("at", at.substr(from, comma - from)));
    from = comma + 1;
  }
  // Here, with the numbers as they were typed.
  const std::tuple<const char*, int64_t> ends[] = {
      {"n", r.problem.batch}, {"co", r.problem.out_channels}, {"j", r.problem.out_length()}};
  for (size_t i = 0; i < place.size(); i++)
    if (const auto& [name, end] = ends[i]; place[i] < 0 || place[i] >= end)
      throw InputError(name, std::to_string(place[i]), fmt::format("must be a whole number between 0 and {}", end - 1));
  Session session(common);
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "explain";
  header["at"] = place;
  json answer = session.ask(header, std::move(payload), "explain " + kernel).header;
  for (const char* own : {"id", "type"}) answer.erase(own);
  answer["convscope"] = CONVSCOPE_VERSION, answer["seed"] = r.inputs.seed;
  answer["stray_reads"] = differs(answer["explanation"]) ? strays_of(session, r, place) : json::array();
  if (common.json)
    print_json(answer);
  else
    print(answer, r.problem);
  return 0;
}

}  // namespace convscope
