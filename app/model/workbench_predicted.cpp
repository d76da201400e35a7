// What the planner's model says of every rung, while somebody looks at the ladder.
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/engine/json_fields.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"

namespace convscope {
using nlohmann::json;

void Workbench::want_predicted_times(const Document& document) {
  const bool same =
      predicted_wish_ && predicted_wish_->problem == document.problem && predicted_wish_->device == document.device;
  const PredictedTimes* have = predicted_times(document);
  // Of an engine that ended the next one is asked, unless it is this question that ends engines.
  constexpr int most_tries = 3;
  if (same &&
      ((have && have->trouble.empty()) || predicted_starts_ == link_.status().starts || predicted_tries_ >= most_tries))
    return;
  predicted_tries_ = same ? predicted_tries_ + 1 : 1;
  predicted_wish_ = PredictedTimes();
  predicted_wish_->problem = document.problem, predicted_wish_->device = document.device;
  predicted_starts_ = link_.status().starts;
  RunRequest asked = request_of(document);
  asked.inputs = {};  // whatever they are
  // Of all rungs: who is accurate enough is known here. Other types have one accuracy.
  asked.accuracy = document.problem.dtype == DType::f32 ? Accuracy::tf32 : Accuracy::strict;
  link_.post("predicted", "choose", asked, {{"kernel", "auto"}, {"measure", false}},
             [this, wish = *predicted_wish_](Answer a) {
               if (a.kind == Answer::Kind::error && refusal_of(a).cancelled) return;  // a newer one comes
               using namespace json_fields;
               auto times = std::make_shared<PredictedTimes>(wish);
               times->serial = ++predicted_serial_;
               if (a.kind == Answer::Kind::result) {
                 const json answer = json::parse(a.header), &chosen = part(answer, "chosen");
                 times->gpu = text(chosen, "target");
                 for (const auto& c : part(chosen, "candidates"))
                   times->all.push_back({text(c, "name"), number(c, "predicted_ms"), text(c, "refused")});
               } else {
                 times->trouble = a.message.empty() ? refusal_of(a).text : a.message;
               }
               predicted_ = std::move(times);
             });
}

const PredictedTimes* Workbench::predicted_times(const Document& document) const {
  const bool of_it = predicted_ && predicted_->problem == document.problem && predicted_->device == document.device;
  return of_it ? predicted_.get() : nullptr;
}

}  // namespace convscope
