#include "app/model/comparison.h"

#include <utility>

#include "app/engine/json_fields.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

void put_verdict(ComparedTime& t, const json& v) {
  t.verdict = text(v, "verdict"), t.evidence = text(v, "evidence"), t.speedup = number(v, "speedup");
  t.reason = text(v, "reason");
}

ComparedTime time_from(const json& entry, const char* cache) {
  ComparedTime t;
  const json& time = part(entry, cache);
  t.median_ms = number(time, "median_ms"), t.noise_pct = number(time, "noise_pct");
  if (auto interval = numbers(time, "interval_ms"); interval.size() == 2)
    t.low_ms = interval[0], t.high_ms = interval[1];
  // Answers of before packing was timed apart have this verdict alone.
  put_verdict(t, part(part(entry, entry.contains("against_whole") ? "against_whole" : "against"), cache));
  return t;
}

ComparedKernel kernel_from(const json& entry) {
  ComparedKernel k;
  k.name = text(entry, "name");
  k.hot = time_from(entry, "hot"), k.cold = time_from(entry, "cold");
  k.packed = packed_from(entry, nullptr);
  const PackedTime& p = k.packed;
  k.packed_hot = {p.median_ms, p.low_ms, p.high_ms, p.noise_pct, "", "", {}, p.reason};
  k.packed_cold = {p.cold_median_ms, p.cold_low_ms, p.cold_high_ms, p.cold_noise_pct, "", "", {}, p.reason};
  k.floor_ms = number(entry, "floor_ms"), k.times_floor = number(entry, "times_floor");
  k.reason = text(entry, "reason"), k.doubt = text(entry, "doubt");
  return k;
}

// Who has no packed times (packs nothing, or more than weights) stands with its only ones beside who does.
void pair_packed(KernelComparison& c) {
  auto alone = [](const PackedTime& p) { return p.packs && !p.median_ms; };
  auto as_it_is = [](ComparedTime& packed, const ComparedTime& whole) {
    packed = {whole.median_ms, whole.low_ms, whole.high_ms, whole.noise_pct, "", "", {}, ""};
  };
  ComparedKernel &a = c.first, &b = c.second;
  for (auto [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (alone(one->packed) && other->packed.median_ms)
      as_it_is(one->packed_hot, one->hot), as_it_is(one->packed_cold, one->cold);
}

}  // namespace

KernelComparison comparison_from(const json& j, const Document& asked, const std::string& second) {
  static uint64_t serial = 0;
  KernelComparison c;
  c.serial = ++serial;
  c.document = asked;
  c.first.name = asked.kernel, c.second.name = second;
  json verdicts;
  for (const auto& e : part(j, "entries")) {
    ComparedKernel k = kernel_from(e);
    if (k.name == asked.kernel) {
      c.first = k;
      const json& against = part(e, "against");
      c.packed = text(against, "of") == "packed";
      if (c.packed) verdicts = against;
    } else if (k.name == second)
      c.second = k;
  }
  pair_packed(c);
  if (c.packed)
    put_verdict(c.first.packed_hot, part(verdicts, "hot")), put_verdict(c.first.packed_cold, part(verdicts, "cold"));
  c.floor_source = text(j, "floor_source");
  c.source = text(j, "source"), c.reason = text(j, "reason");
  c.rounds = whole(j, "rounds").value_or(0);
  for (const auto& w : part(j, "warnings"))
    if (w.is_string()) c.warnings.push_back(w.get<std::string>());
  return c;
}

}  // namespace convscope
