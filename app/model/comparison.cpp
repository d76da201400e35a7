#include "app/model/comparison.h"

#include "app/engine/json_fields.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

ComparedTime time_from(const json& entry, const char* cache) {
  ComparedTime t;
  const json& time = part(entry, cache);
  t.median_ms = number(time, "median_ms"), t.noise_pct = number(time, "noise_pct");
  if (auto interval = numbers(time, "interval_ms"); interval.size() == 2)
    t.low_ms = interval[0], t.high_ms = interval[1];
  const json& v = part(part(entry, "against"), cache);
  t.verdict = text(v, "verdict"), t.evidence = text(v, "evidence"), t.speedup = number(v, "speedup");
  t.reason = text(v, "reason");
  return t;
}

ComparedKernel kernel_from(const json& entry) {
  ComparedKernel k;
  k.name = text(entry, "name");
  k.hot = time_from(entry, "hot"), k.cold = time_from(entry, "cold");
  k.floor_ms = number(entry, "floor_ms"), k.times_floor = number(entry, "times_floor");
  k.reason = text(entry, "reason"), k.doubt = text(entry, "doubt");
  return k;
}

}  // namespace

KernelComparison comparison_from(const json& j, const Document& asked, const std::string& second) {
  static uint64_t serial = 0;
  KernelComparison c;
  c.serial = ++serial;
  c.document = asked;
  c.first.name = asked.kernel, c.second.name = second;
  for (const auto& e : part(j, "entries")) {
    ComparedKernel k = kernel_from(e);
    if (k.name == asked.kernel)
      c.first = k;
    else if (k.name == second)
      c.second = k;
  }
  c.source = text(j, "source"), c.reason = text(j, "reason");
  c.rounds = whole(j, "rounds").value_or(0);
  for (const auto& w : part(j, "warnings"))
    if (w.is_string()) c.warnings.push_back(w.get<std::string>());
  return c;
}

}  // namespace convscope
