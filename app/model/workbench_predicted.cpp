// What the planner's model says of every rung, while somebody looks at the ladder.
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/engine/json_fields.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"

namespace convscope {
using nlohmann::json;

void Workbench::want_predicted_times(const Document& document) {
  if (predicted_wish_ && predicted_wish_->problem == document.problem && predicted_wish_->device == document.device)
    return;
  predicted_wish_ = PredictedTimes{document.problem, document.device, "", {}};
  std::vector<std::byte> payload;
  RunRequest asked = request_of(document);
  asked.accuracy = Accuracy::tf32;  // of all rungs: who is accurate enough is known here
  json header = request_json(asked, payload);
  header["type"] = "choose", header["kernel"] = "auto", header["measure"] = false;
  client_->post_latest("predicted", header_text(header), std::move(payload),
                       handlers([this, wish = *predicted_wish_](Answer a) {
                         if (a.kind != Answer::Kind::result)
                           return;  // superseded, or the engine ended: the next document asks anew
                         using namespace json_fields;
                         const json answer = json::parse(a.header), &chosen = part(answer, "chosen");
                         auto times = std::make_shared<PredictedTimes>(wish);
                         times->gpu = text(chosen, "target");
                         for (const auto& c : part(chosen, "candidates"))
                           times->all.push_back({text(c, "name"), number(c, "predicted_ms"), text(c, "refused")});
                         predicted_ = std::move(times);
                       }));
}

const PredictedTimes* Workbench::predicted_times(const Document& document) const {
  return predicted_ && predicted_->problem == document.problem && predicted_->device == document.device
             ? predicted_.get()
             : nullptr;
}

}  // namespace convscope
