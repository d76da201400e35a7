// The best kernel for a problem, and a kernel as a file of its own: what the planner chooses and what `export` writes.
#include <functional>
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"

namespace convscope {
using nlohmann::json;
namespace {

std::string trouble_of(const Answer& a) { return a.message.empty() ? refusal_of(a).text : a.message; }

}  // namespace

void Workbench::find_best(const Document& document, std::function<void(const BestKernel&)> then) {
  link_.post("choose", "choose", document, {{"kernel", "auto"}}, [this, then = std::move(then)](Answer a) {
    if (a.kind != Answer::Kind::result)
      return link_.note("no kernel was chosen: " + trouble_of(a), LogLine::Kind::trouble);
    json j = json::parse(a.header);
    const json& chosen = j.at("chosen");
    BestKernel best{chosen.at("kernel").get<std::string>(), chosen.at("reason").get<std::string>()};
    link_.note("the best kernel: " + best.reason);
    then(best);
  });
}

void Workbench::want_export(const Document& document, bool pytorch, const std::string& activation,
                            std::function<void(const std::string& kernel, const std::string& text)> then) {
  json more = {{"format", pytorch ? "pytorch" : "cuda"}};
  if (!activation.empty()) more["activation"] = activation;
  link_.post("export", "export", document, more, [this, then = std::move(then)](Answer a) {
    if (a.kind != Answer::Kind::result) return link_.note("not exported: " + trouble_of(a), LogLine::Kind::trouble);
    json j = json::parse(a.header);
    then(j.at("kernel").get<std::string>(), j.at("text").get<std::string>());
  });
}

}  // namespace convscope
