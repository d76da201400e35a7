#include "app/model/recorded.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"
#include "profiling/metrics/figures.h"
#include "profiling/statistics/compare.h"

namespace convscope {
using nlohmann::json;
namespace {

uint64_t next_serial() {
  static uint64_t serial = uint64_t{1} << 40;  // beside those of the workbench's own reports
  return ++serial;
}

RunRequest question(const Document& d) {
  RunRequest r;
  r.kernel = d.kernel, r.problem = d.problem, r.inputs = d.inputs, r.accuracy = d.accuracy;
  return r;
}

// The document that this answer is of, with what does not need a run as it is in `like`.
Document document_of(const RecordedAnswer& a, Document like) {
  like.problem = a.asked.problem, like.inputs = a.asked.inputs;
  like.accuracy = a.asked.accuracy;
  if (!a.asked.kernel.empty()) like.kernel = a.asked.kernel;
  return like;
}

// An answer of another program or a later version: what cannot be read is as if it were not there.
template <class F>
auto readable(F&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const json::exception&) {
    return nullptr;
  }
}

// Who is faster, from the samples of both: they were taken in turn.
void judge_again(KernelComparison& c, const json& bench, const std::string& recorded) {
  using namespace json_fields;
  const std::string doubt = c.first.doubt.empty() ? c.second.doubt : c.first.doubt;
  auto samples = [&](const ComparedKernel& k, bool cold, bool packed) {
    if (packed && k.packed.median_ms) return cold ? k.packed.cold_samples_ms : k.packed.samples_ms;
    for (const auto& e : part(bench, "entries"))
      if (text(e, "name") == k.name && (!packed || k.packed.packs))
        return numbers(part(e, cold ? "cold" : "hot"), "samples_ms");
    return std::vector<double>();
  };
  auto held = [&](ComparedTime& time, bool cold, bool packed) {
    const auto a = samples(c.first, cold, packed), b = samples(c.second, cold, packed);
    if (a.empty() || b.empty()) return false;
    ComparisonOfTimes v = compare_times(a, b, doubt);
    time.verdict = name_of(v.verdict), time.speedup = v.speedup, time.evidence = v.evidence, time.reason.clear();
    return true;
  };
  if (!held(c.first.hot, false, false)) c.first.hot.reason = "it was not timed in turn with the other";
  held(c.first.cold, true, false);
  c.packed = (c.first.packed.median_ms || c.second.packed.median_ms) && held(c.first.packed_hot, false, true);
  if (c.packed) held(c.first.packed_cold, true, true);
  c.source = "recorded: " + recorded;
}

// What a run would have said, from a profile of a kernel that was not judged: times beside those of the references that
// were profiled as well, and launches.
json run_of_profile(const Recording& recording, const RecordedAnswer& a) {
  using namespace json_fields;
  json j = shown_answer(recording, a);
  const json timing = part(j, "timing");
  json own = part(timing, "hot");
  if (!own.is_object()) own = json::object();
  for (const char* field : {"cold", "source", "floor_ms", "floor_from", "floor_source", "floor_reason", "packs_weights",
                            "packed", "packed_reason", "packing_ms", "packing_noise_pct", "packing_source"})
    if (timing.contains(field)) own[field] = timing[field];
  if (!own.contains("packs_weights") && text(part(j, "kernel"), "kind") == "reference") own["packs_weights"] = false;
  json references = json::array();
  for (const auto& other : recording.answers)
    if (other.type() == "profile" && other.asked.problem == a.asked.problem &&
        text(part(other.answer, "kernel"), "kind") == "reference" && other.asked.kernel != a.asked.kernel) {
      auto ms = number(part(part(other.answer, "timing"), "hot"), "median_ms");
      references.push_back({{"name", other.asked.kernel},
                            {"median_ms", ms ? json(*ms) : json()},
                            {"what_ran", text(part(other.answer, "kernel"), "what_ran")}});
    }
  j["timing"] = own, j["references"] = references;
  j["verdict"] = {
      {"status", "not-judged"},
      {"sentence", "the recording holds times and counters of this kernel, no verdict: run it to have it judged"}};
  return j;
}

// Bytes that went to the GPU's memory and came from it in one call, of a profile's answer.
std::optional<double> dram_bytes_of(const json& profile) {
  using namespace json_fields;
  Counters c;
  for (const auto& set : part(part(profile, "counters"), "sets"))
    for (const char* name : {"dram_read_bytes", "dram_write_bytes"})
      if (auto v = number(part(part(set, "values"), name), "value")) c.emplace(name, *v);  // the first set's counts
  const auto bytes = dram_bytes(c);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

}  // namespace

void Recorded::open(std::shared_ptr<const Recording> recording) {
  close();
  recording_ = std::move(recording);
}

void Recorded::close() {
  recording_ = nullptr;
  reports_.clear(), profiles_.clear(), comparisons_.clear(), points_.clear(), seen_.clear();
  points_of_.reset(), ceilings_.reset();
}

void Recorded::texts_changed() {
  comparisons_.clear(), seen_.clear();
  points_of_.reset();
}

const RecordedAnswer* Recorded::find(const char* type, const Document& document) const {
  if (!recording_) return nullptr;
  auto [at, is_new] = seen_.try_emplace(std::string(type) + '\n' + document.kernel);
  Seen& seen = at->second;
  if (!is_new && seen.document == document) return seen.answer;
  seen = {document, recording_->find(type, question(document))};
  // What a reference may use is its own.
  for (auto a = recording_->answers.rbegin(); !seen.answer && a != recording_->answers.rend(); ++a)
    if (a->type() == type && a->asked.kernel == document.kernel && a->asked.problem == document.problem &&
        a->asked.inputs == document.inputs &&
        json_fields::text(json_fields::part(a->answer, "kernel"), "kind") == "reference")
      seen.answer = &*a;
  // Of a kernel's file that holds something else by now, what was recorded is another kernel's.
  if (seen.answer && is_of_another_text(*seen.answer)) seen.answer = nullptr;
  return seen.answer;
}

const Report* Recorded::report(const Document& document) const {
  const RecordedAnswer* a = find("run", document);
  const bool judged = a;
  if (!a) a = find("profile", document);
  if (!a) return nullptr;
  auto [it, is_new] = reports_.try_emplace(a);
  if (is_new)
    it->second = readable([&]() -> std::unique_ptr<Report> {
      auto r = std::make_unique<Report>(report_from(
          judged ? shown_answer(*recording_, *a) : run_of_profile(*recording_, *a), document_of(*a, document), true));
      r->serial = next_serial();
      r->recorded = recording_->source(*a);
      return r;
    });
  return it->second.get();
}

const Profile* Recorded::profile(const Document& document) const {
  const RecordedAnswer* a = find("profile", document);
  if (!a) return nullptr;
  auto [it, is_new] = profiles_.try_emplace(a);
  if (is_new)
    it->second = readable([&]() -> std::unique_ptr<Profile> {
      auto p = std::make_unique<Profile>(profile_from(shown_answer(*recording_, *a), document_of(*a, document),
                                                      json_fields::text(a->answer, "set") == "full"));
      p->recorded = recording_->source(*a);
      return p;
    });
  return it->second.get();
}

const KernelComparison* Recorded::comparison(const Document& document, const std::string& with) const {
  const RecordedAnswer* a = find("bench", document);
  if (!a || document.kernel == with) return nullptr;
  auto [it, is_new] = comparisons_.try_emplace({a, document.kernel + "\n" + with});
  if (is_new)
    it->second = readable([&]() -> std::unique_ptr<KernelComparison> {
      int there = 0;
      for (const auto& e : json_fields::part(a->answer, "entries")) {
        std::string name = json_fields::text(e, "name");
        there +=
            (name == document.kernel || name == with) && !is_of_another_text(name, json_fields::text(e, "text_hash"));
      }
      if (there < 2) return nullptr;
      json shown = shown_answer(*recording_, *a);
      auto c = std::make_unique<KernelComparison>(comparison_from(shown, document, with));
      c->recorded = recording_->source(*a);
      judge_again(*c, a->answer, c->recorded);
      return c;
    });
  return it->second.get();
}

const std::vector<RecordedPoint>& Recorded::points(const Document& document) const {
  if (points_of_ && points_of_->problem == document.problem && points_of_->inputs == document.inputs) return points_;
  points_of_ = document;
  points_.clear();
  if (!recording_) return points_;
  using namespace json_fields;
  for (const auto& a : recording_->answers) {
    if (!(a.asked.problem == document.problem) || !(a.asked.inputs == document.inputs)) continue;
    // A run's time, or else that of the profile: of a profile that is newer, as the kernel may have changed between.
    const bool run = a.type() == "run";
    if (!run && a.type() != "profile") continue;
    const RecordedAnswer* other = recording_->find(run ? "profile" : "run", a.asked);
    if (other && (run ? other->date > a.date : a.date <= other->date)) continue;
    const json &p = part(a.answer, "problem"), &timing = part(a.answer, "timing");
    auto flops = number(p, "flops"), bytes = number(p, "least_bytes"),
         ms = number(run ? timing : part(timing, "hot"), "median_ms");
    if (!flops || !bytes || !ms || !(*bytes > 0) || !(*ms > 0) || text(part(a.answer, "device"), "kind") != "cuda" ||
        is_of_another_text(a))
      continue;
    const std::string kind = text(part(a.answer, "kernel"), "kind");
    RecordedPoint at{a.asked.kernel, kind, *ms, *flops / *bytes, *flops / *ms * 1e-6, {}, {}, {}};
    at.packs = kind == "reference" ? false : packed_from(timing, part(a.answer, "launches")).packs;
    at.of = fmt::format("the {} of {}", run ? "run" : "profile", a.date);
    const RecordedAnswer* profile = run ? recording_->find("profile", a.asked) : &a;
    if (auto moved = profile ? dram_bytes_of(profile->answer) : std::nullopt) at.dram_intensity = *flops / *moved;
    points_.push_back(std::move(at));
  }
  return points_;
}

const ProfileCeilings* Recorded::ceilings() const {
  using namespace json_fields;
  if (!ceilings_ && recording_) {
    auto of = [](const json& answer) -> const json& { return part(part(answer, "roofline"), "ceilings"); };
    // Measured ones before those of a data sheet, which know nothing of the L2 cache; of these the fastest memory.
    using Order = std::pair<bool, double>;
    auto order = [&](const RecordedAnswer& a) {
      return Order(number(of(a.answer), "l2_gbs").value_or(0) > 0, number(of(a.answer), "memory_gbs").value_or(0));
    };
    std::vector<const RecordedAnswer*> all;
    for (const auto& a : recording_->answers)
      if (a.type() == "profile" && text(part(a.answer, "device"), "kind") == "cuda") all.push_back(&a);
    const auto best = std::max_element(all.begin(), all.end(), [&](auto* a, auto* b) { return order(*a) < order(*b); });
    ceilings_ = best != all.end() ? ceilings_from(of(shown_answer(*recording_, **best))) : ProfileCeilings{};
    // A rate that was measured can be reached: of each the highest, whichever profile has it.
    for (const RecordedAnswer* a : all) {
      if (order(*a).first != order(**best).first) continue;
      const ProfileCeilings other = ceilings_from(of(a->answer));
      for (const auto rate : {&ProfileCeilings::f32_gflops, &ProfileCeilings::tf32_gflops, &ProfileCeilings::f16_gflops,
                              &ProfileCeilings::f64_gflops, &ProfileCeilings::l2_gbs, &ProfileCeilings::shared_gbs})
        (*ceilings_).*rate = std::max((*ceilings_).*rate, other.*rate);
    }
  }
  return ceilings_ && ceilings_->memory_gbs > 0 ? &*ceilings_ : nullptr;
}

bool Recorded::holds_kernel(const Document& document, const std::string& kernel) const {
  if (!recording_) return false;
  return std::any_of(recording_->answers.begin(), recording_->answers.end(), [&](const RecordedAnswer& a) {
    return a.asked.kernel == kernel && a.asked.problem == document.problem && a.asked.inputs == document.inputs &&
           a.type() != "bench";
  });
}

Document Recorded::nearest(const Document& document) const {
  if (!recording_ || holds(document)) return document;
  for (const auto& a : recording_->answers)
    if (a.asked.kernel == document.kernel && a.asked.problem == document.problem && a.asked.inputs == document.inputs &&
        a.type() != "bench") {
      Document d = document;
      d.accuracy = a.asked.accuracy;
      return d;
    }
  return document;
}

std::optional<Document> Recorded::way_back(const Document& document) const {
  if (!recording_) return {};
  const RecordedAnswer* best = nullptr;
  int most = -1;
  for (const auto& a : recording_->answers) {
    if (a.type() != "run" && a.type() != "profile") continue;
    int alike = 4 * (a.asked.kernel == document.kernel) + 2 * (a.asked.problem == document.problem) +
                (a.asked.accuracy == document.accuracy);
    if (alike > most) best = &a, most = alike;
  }
  if (!best) return {};
  return document_of(*best, document);
}

const std::vector<std::string>* recordings_with_samples() {
  static std::future<std::vector<std::string>> reading = std::async(std::launch::async, [] {
    std::vector<std::string> names;
    for (const auto& shipped : shipped_recordings()) try {
        const Recording r = read_recording(shipped.path);
        if (std::any_of(r.answers.begin(), r.answers.end(), [](const RecordedAnswer& a) {
              return json_fields::number(json_fields::part(a.answer, "pc_sampling"), "samples").value_or(0) > 0;
            }))
          names.push_back(shipped.name);
      } catch (const InputError&) {  // what cannot be read holds none
      }
    return names;
  });
  static std::optional<std::vector<std::string>> read;
  if (!read && reading.wait_for(std::chrono::seconds(0)) == std::future_status::ready) read = reading.get();
  return read ? &*read : nullptr;
}

}  // namespace convscope
