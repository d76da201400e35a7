#include "app/model/explaining.h"

#include <nlohmann/json.hpp>

#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

void Explaining::want(const Document& document, int64_t n, int64_t co, int64_t j) {
  const json at = {{"at", {n, co, j}}};
  uint64_t serial = ++serial_;
  waits_ = true;
  trouble_.clear();
  explain_id_ = link_.post("explain", "explain", document, at, [this, serial, document](Answer a) {
    link_.see_death(a);
    if (serial != serial_) return;
    waits_ = false;
    if (a.kind == Answer::Kind::result)
      explained_ = std::make_shared<Explained>(explained_from(json::parse(a.header), document));
    else if (!refusal_of(a).cancelled)
      trouble_ = trouble_of(a);
  });
  trace_id_ = link_.post("trace", "trace", document, at, [this, serial](Answer a) {
    if (serial != serial_) return;
    if (a.kind == Answer::Kind::result) traced_ = std::make_shared<Traced>(traced_from(json::parse(a.header)));
  });
}

void Explaining::stop() {
  if (!waits_) return;
  link_.cancel(explain_id_), link_.cancel(trace_id_);
  serial_++, waits_ = false;
}

}  // namespace convscope
