#include "app/model/planning.h"

#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

void Planning::find_best(const Document& document, std::function<void(const BestKernel&)> then) {
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

void Planning::want_export(const Document& document, bool pytorch, const std::string& activation,
                           std::function<void(const std::string& kernel, const std::string& text)> then) {
  json more = {{"format", pytorch ? "pytorch" : "cuda"}};
  if (!activation.empty()) more["activation"] = activation;
  link_.post("export", "export", document, more, [this, then = std::move(then)](Answer a) {
    if (a.kind != Answer::Kind::result) return link_.note("not exported: " + trouble_of(a), LogLine::Kind::trouble);
    json j = json::parse(a.header);
    then(j.at("kernel").get<std::string>(), j.at("text").get<std::string>());
  });
}

void Planning::want_times(const Document& document) {
  const bool same = wish_ && wish_->problem == document.problem && wish_->device == document.device;
  const PredictedTimes* have = times(document);
  // Of an engine that ended the next one is asked, unless it is this question that ends engines.
  constexpr int most_tries = 3;
  if (same && ((have && have->trouble.empty()) || starts_ == link_.status().starts || tries_ >= most_tries)) return;
  tries_ = same ? tries_ + 1 : 1;
  wish_ = PredictedTimes();
  wish_->problem = document.problem, wish_->device = document.device;
  starts_ = link_.status().starts;
  RunRequest asked = request_of(document);
  asked.inputs = {};  // whatever they are
  // Of all rungs: who is accurate enough is known here. Other types have one accuracy.
  asked.accuracy = document.problem.dtype == DType::f32 ? Accuracy::tf32 : Accuracy::strict;
  link_.post("predicted", "choose", asked, {{"kernel", "auto"}, {"measure", false}}, [this, wish = *wish_](Answer a) {
    if (a.kind == Answer::Kind::error && refusal_of(a).cancelled) return;  // a newer one comes
    using namespace json_fields;
    auto came = std::make_shared<PredictedTimes>(wish);
    came->serial = ++serial_;
    if (a.kind == Answer::Kind::result) {
      const json answer = json::parse(a.header), &chosen = part(answer, "chosen");
      came->gpu = text(chosen, "target");
      for (const auto& c : part(chosen, "candidates"))
        came->all.push_back({text(c, "name"), number(c, "predicted_ms"), text(c, "refused")});
    } else {
      came->trouble = trouble_of(a);
    }
    times_ = std::move(came);
  });
}

const PredictedTimes* Planning::times(const Document& document) const {
  const bool of_it = times_ && times_->problem == document.problem && times_->device == document.device;
  return of_it ? times_.get() : nullptr;
}

}  // namespace convscope
