#include "app/model/roof.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "app/model/floor.h"
#include "profiling/roofline/roofline.h"

namespace convscope {
namespace {

constexpr double sector_bytes = 32;

template <class C>
void take_ceilings(Roof& roof, const C& c, const std::string& source, const Document& d) {
  const DType type = d.problem.dtype;
  roof.gpu = c.gpu, roof.source = source, roof.memory_gbs = c.memory_gbs;
  roof.l2_gbs = c.l2_gbs, roof.shared_gbs = c.shared_gbs;
  auto flat = [&](const char* name, double gflops) {
    if (gflops > 0) roof.flats.push_back({name, gflops, false});
  };
  if (type == DType::f64) {
    flat("f64", c.f64_gflops);
  } else {
    flat("f32", c.f32_gflops);
    if (is_half(type)) {
      flat("f16 and bf16 tensor cores", c.f16_gflops);
    } else {
      // f16 numbers with a scale are as accurate as TF32 (kernels/ladder/hopper_scaled.h).
      if (d.accuracy == Accuracy::tf32x3) {
        flat("3×TF32 tensor cores", c.tf32_gflops / 3);
        flat("3×f16 tensor cores, scaled", c.f16_gflops / 3);
      }
      flat("TF32 tensor cores", c.tf32_gflops);
      if (d.accuracy == Accuracy::tf32) flat("f16 tensor cores, scaled", c.f16_gflops);
    }
  }
  const double tensor = std::max(c.tf32_gflops, c.f16_gflops);
  if (type == DType::f32) roof.by_accuracy = {c.f32_gflops, tensor / 3, tensor};
  if (roof.flats.empty()) return;
  // The last one that the accuracy allows: strict products are made outside of the tensor cores.
  size_t allowed = roof.flats.size() - 1;
  if (type == DType::f32 && d.accuracy != Accuracy::tf32)
    for (; allowed > 0; allowed--)
      if (roof.flats[allowed].name.starts_with(d.accuracy == Accuracy::strict ? "f32" : "3×")) break;
  roof.flats[allowed].allowed = true;
  std::stable_sort(roof.flats.begin(), roof.flats.end(),
                   [](const Roof::Flat& a, const Roof::Flat& b) { return a.gflops < b.gflops; });
}

bool on_a_gpu(const Profile* p) { return p && p->device_kind == "cuda"; }

std::string kind_of(const Workbench& bench, const std::string& kernel) {
  for (const auto& k : bench.inventory().kernels())
    if (k.name == kernel) return k.kind;
  return "";
}

// Bytes of DRAM and of the L2 cache in one call, where they were counted.
struct Moved {
  std::optional<double> dram, l2;
};
Moved moved_by(const Profile& p) {
  const Counters c = counters_of(p);
  Moved m;
  if (auto bytes = dram_bytes(c); bytes && *bytes > 0) m.dram = bytes;
  if (auto it = c.find("l2_sectors"); it != c.end() && it->second > 0) m.l2 = sector_bytes * it->second;
  return m;
}

class Points {
 public:
  Points(const Workbench& bench, const Document& d, const Report& r) : bench_(bench), document_(d), report_(r) {}

  RoofPoints all() {
    if (report_.device_kind != "cuda" || report_.least_bytes <= 0 || report_.flops <= 0) return std::move(out_);
    const Profile* profile = bench_.profile_of(document_);
    own_ = on_a_gpu(profile) ? profile : nullptr;
    others();
    for (const auto& ref : report_.references) reference(ref);
    kernel();
    trail();
    return std::move(out_);
  }

 private:
  double least() const { return report_.flops / report_.least_bytes; }

  // A call that was timed, whole.
  struct Run {
    RoofPoint::Of of;
    std::string name;
    double ms;
    std::string source;  // of the time
    std::optional<bool> packs = {};
    bool cold = false;
  };
  std::optional<size_t> add(const Run& run, double intensity, RoofPoint::Bytes bytes = RoofPoint::Bytes::least,
                            const std::string& counted_by = "") {
    if (!(run.ms > 0) || !(intensity > 0) || !std::isfinite(run.ms) || !std::isfinite(intensity)) return {};
    out_.points.push_back({run.of, bytes, run.cold, run.name, intensity, report_.flops / run.ms * 1e-6, run.ms,
                           bytes == RoofPoint::Bytes::least ? run.source : run.source + "; bytes " + counted_by,
                           run.packs, promised_by(bench_, run.name), is_looser(bench_, document_, run.name)});
    return out_.points.size() - 1;
  }
  // The same run by what its profile counted. The point of the DRAM's bytes, if there is one.
  std::optional<size_t> add_moved(std::optional<size_t> at, const Run& run, const Profile* p, bool l2) {
    if (!at || !on_a_gpu(p)) return {};
    const Moved m = moved_by(*p);
    std::optional<size_t> dram, last = at;
    if (m.dram) dram = add(run, report_.flops / *m.dram, RoofPoint::Bytes::dram, p->counted_by);
    if (dram) out_.joined.emplace_back(*last, *dram), last = dram;
    if (l2 && m.l2)
      if (auto of_l2 = add(run, report_.flops / *m.l2, RoofPoint::Bytes::l2, p->counted_by))
        out_.joined.emplace_back(*last, *of_l2);
    return dram;
  }

  std::string timed() const { return report_.recorded.empty() ? "measured" : "recorded: " + report_.recorded; }

  // Other kernels of the same recording.
  void others() {
    if (report_.recorded.empty()) return;
    for (const auto& p : bench_.recorded().points(document_))
      if (p.kind != "reference" && p.kernel != document_.kernel)
        add({RoofPoint::Of::other, p.kernel, p.ms, timed(), p.packs}, p.intensity);
  }

  void reference(const ReportReference& ref) {
    if (!ref.median_ms) return;
    const Run run{RoofPoint::Of::reference, ref.name, *ref.median_ms, timed(), false};
    auto at = add(run, least());
    Document d = document_;
    d.kernel = ref.name;
    const Profile* p = bench_.profile_of(d);
    if (!p && bench_.recorded().is_open()) p = bench_.profile_of(bench_.recorded().nearest(d));
    add_moved(at, run, p, false);
  }

  void kernel() {
    std::optional<double> hot = report_.timing.median_ms, cold = report_.timing.cold_median_ms;
    if (!hot && own_) hot = own_->hot_ms;
    if (!cold && own_) cold = own_->cold_ms;
    const auto packs = report_.timing.packed.packs;
    if (cold && *cold > 0)
      add({RoofPoint::Of::kernel, report_.kernel, *cold, timed(), packs, true}, least());
    else if (hot)
      out_.missing.push_back("no cold time: " + (report_.timing.cold_reason.empty() ? std::string("it was not taken")
                                                                                    : report_.timing.cold_reason));
    if (!hot) return;
    const Run run{RoofPoint::Of::kernel, report_.kernel, *hot, timed(), packs};
    out_.own = add(run, least());
    own_dram_ = add_moved(out_.own, run, own_, true);
    if (own_dram_ || !out_.own) return;
    std::string why = !own_                ? "it was not profiled"
                      : !own_->gap.empty() ? own_->gap
                                           : "its profile did not count bytes of DRAM: profile it with the full set";
    out_.missing.push_back(fmt::format("no bytes of DRAM of {}: {}", report_.kernel, why));
  }

  // One step of the trail: by its least bytes, and by those that moved.
  struct Step {
    std::string name;
    double ms;
    std::optional<double> dram_intensity;
    std::string source, counted_by;  // of the time, of the bytes
    std::optional<bool> packs;
    bool is_own;
  };

  void trail() {
    if (!out_.own) return;
    std::vector<Step> steps = report_.recorded.empty() ? earlier() : rungs();
    if (steps.size() < 2) return;
    const bool moved = std::all_of(steps.begin(), steps.end(), [&](const Step& s) {
      return s.is_own ? own_dram_.has_value() : s.dram_intensity.has_value();
    });
    for (const auto& s : steps) {
      if (s.is_own) {
        out_.trail.push_back(moved ? *own_dram_ : *out_.own);
        continue;
      }
      const RoofPoint::Of of = report_.recorded.empty() ? RoofPoint::Of::earlier : RoofPoint::Of::other;
      // A recording's other kernels have their point by the least bytes already.
      std::optional<size_t> at;
      if (of == RoofPoint::Of::other && !moved)
        for (size_t i = 0; i < out_.points.size(); i++)
          if (out_.points[i].of == of && out_.points[i].name == s.name) at = i;
      if (!at)
        at = add({of, s.name, s.ms, s.source, s.packs}, moved ? *s.dram_intensity : least(),
                 moved ? RoofPoint::Bytes::dram : RoofPoint::Bytes::least, s.counted_by);
      if (at) out_.trail.push_back(*at);
    }
    out_.trail_words =
        report_.recorded.empty() ? "earlier profiles of this problem, in order" : "the ladder up to this rung";
    out_.trail_words += moved ? ", by bytes of DRAM" : ", by least bytes";
  }

  // What was profiled in this window on this problem, by kernels of the same kind; this one where it was.
  std::vector<Step> earlier() const {
    const std::string kind = kind_of(bench_, document_.kernel);
    std::vector<Step> steps;
    bool seen = false;
    for (const auto& p : bench_.measuring().trail()) {
      if (!on_a_gpu(p.get()) || !(p->document.problem == document_.problem)) continue;
      const bool own = p.get() == own_;
      // The same kernel again may be another text of it, or another accuracy.
      const bool family = p->kernel == document_.kernel || (!kind.empty() && kind_of(bench_, p->kernel) == kind);
      if (!own && !family) continue;
      if (!p->hot_ms) continue;
      const Moved m = moved_by(*p);
      seen |= own;
      steps.push_back({p->kernel, *p->hot_ms, m.dram ? std::optional(report_.flops / *m.dram) : std::nullopt,
                       "measured, an earlier profile", p->counted_by, p->packs_weights, own});
    }
    if (!seen) steps.push_back({document_.kernel, 0, {}, "", "", {}, true});
    return steps;
  }

  // The way up to this rung in a recording: those before it that promise as much, or are strict.
  std::vector<Step> rungs() const {
    std::vector<Step> steps;
    const auto& kernels = bench_.inventory().kernels();
    auto own = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == document_.kernel; });
    if (own == kernels.end() || own->kind != "ladder") return steps;
    const auto& recorded = bench_.recorded().points(document_);
    for (const auto& k : kernels) {
      if (k.name == document_.kernel) {
        steps.push_back({k.name, 0, {}, "", "", {}, true});
        break;
      }
      if (k.kind != "ladder" || (k.accuracy != "strict" && k.accuracy != own->accuracy)) continue;
      auto it = std::find_if(recorded.begin(), recorded.end(), [&](const auto& p) { return p.kernel == k.name; });
      if (it == recorded.end()) continue;
      steps.push_back({k.name, it->ms, it->dram_intensity, timed(), "counted by hardware", it->packs, false});
    }
    return steps;
  }

  const Workbench& bench_;
  const Document& document_;
  const Report& report_;
  const Profile* own_ = nullptr;
  std::optional<size_t> own_dram_;
  RoofPoints out_;
};

}  // namespace

double Roof::peak() const {
  for (const auto& f : flats)
    if (f.allowed) return f.gflops;
  return flats.empty() ? 0 : flats.back().gflops;
}

double Roof::peak(Accuracy promised) const {
  const double own = by_accuracy[static_cast<size_t>(promised)];
  return own > 0 ? own : peak();
}

double Roof::allowed(double intensity) const { return std::min(peak(), intensity * memory_gbs); }

std::string Roof::how(const std::string& ceiling) const {
  for (const auto& f : facts)
    if (f.starts_with(ceiling + ": ")) return f.substr(ceiling.size() + 2);
  return "";
}

Roof roof_of(const ProfileCeilings& ceilings, const Document& d) {
  Roof roof;
  take_ceilings(roof, ceilings, ceilings.source, d);
  roof.facts = ceilings.facts;
  return roof;
}

Roof datasheet_roof(const std::string& gpu, const Document& d) {
  Roof roof;
  if (const Ceilings* sheet = find_datasheet(gpu)) take_ceilings(roof, *sheet, sheet->source, d);
  return roof;
}

Roof roof_of(const Workbench& bench, const Document& d, const Report& r) {
  const bool gpu = r.device_kind == "cuda";
  Roof roof = gpu ? known_roof(bench, d, r.device_name, !r.recorded.empty()) : Roof();
  if (!roof.gpu.empty()) return roof;
  if (const ProfileCeilings* c = gpu ? nullptr : bench.recorded().ceilings()) return roof_of(*c, d);
  if (const Ceilings* other = find_datasheet("H200")) {
    take_ceilings(roof, *other,
                  !gpu ? "datasheet of another machine: this one has no GPU"
                       : "datasheet of another GPU: there is none here of " +
                             (r.device_name.empty() ? "this one" : r.device_name) +
                             ", whose own ceilings a profile (F6) measures",
                  d);
  }
  return roof;
}

std::string place_words(const RoofPoint& p) {
  constexpr const char* bytes[] = {"least bytes", "bytes of DRAM", "bytes of L2"};
  return fmt::format("{}, {}{}", p.cold ? "cold" : "hot", bytes[static_cast<int>(p.bytes)],
                     p.packs == true ? ", packing included" : "");
}

std::optional<double> reached(const Roof& roof, const RoofPoint& p) {
  const bool l2 = p.bytes == RoofPoint::Bytes::l2;
  const double allowed = std::min(roof.peak(p.promised), p.intensity * (l2 ? roof.l2_gbs : roof.memory_gbs));
  return allowed > 0 && !p.looser ? std::optional(p.gflops / allowed) : std::nullopt;
}

Accuracy promised_by(const Workbench& bench, const std::string& name) {
  auto promised = name.ends_with("3xtf32") ? Accuracy::tf32x3
                  : name.ends_with("tf32") ? Accuracy::tf32
                                           : Accuracy::strict;
  for (const auto& k : bench.inventory().kernels())
    if (k.name == name && k.kind != "reference") promised = accuracy_from(k.accuracy).value_or(promised);
  return promised;
}

bool is_looser(const Workbench& bench, const Document& d, const std::string& name) {
  return d.problem.dtype == DType::f32 && promised_by(bench, name) > d.accuracy;
}

std::optional<double> own_floor(const Workbench& bench, const Roof& roof, const Report& r, const std::string& name) {
  const Accuracy promised = promised_by(bench, name);
  const double rate = roof.by_accuracy[static_cast<size_t>(promised)];
  if (promised == r.document.accuracy || !roof.known() || rate <= 0) return {};
  return std::max(r.least_bytes / (roof.memory_gbs * 1e6), r.flops / (rate * 1e6));
}

RoofPoints roof_points(const Workbench& bench, const Document& d, const Report& r) { return Points(bench, d, r).all(); }

}  // namespace convscope
