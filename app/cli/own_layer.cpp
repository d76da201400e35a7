#include "app/cli/own_layer.h"

#include <algorithm>
#include <vector>

#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"

namespace convscope {
namespace {

// A second of the emulator, about.
constexpr double most_products = 1e8;

ConvProblem shortened(ConvProblem p) {
  if (walked_products(p) > most_products) p.batch = std::min<int64_t>(p.batch, 2);
  while (walked_products(p) > most_products && p.length > 1) p.length = (p.length + 1) / 2;
  return p;
}

}  // namespace

std::optional<OwnLayer> own_layer(Session& session, const RunRequest& asked, bool given) {
  std::vector<std::pair<std::string, ConvProblem>> layers;
  if (given) layers.emplace_back("the layer that was given", shortened(asked.problem));
  for (const char* name : {"kernelbench-64-small", "kernelbench-74-small", "kernelbench-79-small"}) {
    ConvProblem p = find_preset(name).problem;
    p.dtype = asked.problem.dtype;
    layers.emplace_back(name, p);
  }
  for (const auto& [name, problem] : layers) {
    if (session.interrupted() || check(problem)) break;
    RunRequest r = asked;
    r.problem = problem;
    session.show("check " + r.kernel + ": looking whether it was written for " + name);
    nlohmann::json report = judged_report(session, r, true);
    if (json_fields::text(report.at("verdict"), "status") != "right") continue;
    put_cause(session, r, report, true);
    nlohmann::json& verdict = report.at("verdict");
    // It is told of elsewhere.
    constexpr std::string_view here = "right here, ";
    if (std::string cause = json_fields::text(verdict, "cause"); cause.starts_with(here))
      verdict["cause"] = "right there, " + cause.substr(here.size());
    return OwnLayer{name, problem, verdict};
  }
  return {};
}

}  // namespace convscope
