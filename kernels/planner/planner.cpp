#include "kernels/planner/planner.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <numeric>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/inputs.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/problem_memory.h"

namespace convscope {
namespace {

constexpr double launch_ms = 0.004;  // and the gap before it
constexpr size_t most_measured = 8;

// Rungs whose costs below are by their instructions alone, as no GPU has run them yet.
constexpr std::initializer_list<const char*> never_run = {"depthwise", "mma_16bit"};
constexpr double unseen_margin = 1.25;

// Whether a kernel refuses a problem for its element type: then the least problem of that type is refused in the same
// words.
bool refuses_type(const KernelDefinition& k, const ConvProblem& p) {
  ConvProblem least;
  least.dtype = p.dtype;
  const std::string why = k.unsupported(p);
  return !why.empty() && k.unsupported(least) == why;
}

double padded(int64_t n, int64_t unit) { return static_cast<double>((n + unit - 1) / unit * unit); }

struct Shape1d {
  double sequences, in, out, groups, taps, positions, classes, shifts;
  explicit Shape1d(const ConvProblem& p) {
    int64_t g = std::gcd(p.stride, p.dilation), period = p.stride / g, back = p.dilation / g, last = -1, distinct = 0;
    for (int64_t k = 0; k < std::min<int64_t>(p.kernel_size, 4096); k++)
      if (int64_t e = k * back / period; e != last) last = e, distinct++;
    sequences = static_cast<double>(p.batch), groups = static_cast<double>(p.groups);
    in = static_cast<double>(p.in_per_group()), out = static_cast<double>(p.out_per_group());
    taps = static_cast<double>(p.kernel_size), classes = static_cast<double>(period);
    positions = static_cast<double>((p.out_length() + p.stride - 1) / p.stride);
    shifts = static_cast<double>(distinct);
  }
};

struct Cost {
  double gflop, rate;   // arithmetic with padding, GFLOP/s reached
  double bytes, speed;  // traffic, GB/s reached
  int launches = 1;
  double blocks = 0;    // of the grid, 0: many
  double chain_us = 0;  // what a block does one after the other, however few blocks there are
};

// GB/s, as a part of the memory's, of results that leave word by word, `apart` words from each other: hopper_64_any
// took 0.191 ms on hifigan.u2 (8 apart) and 1.05 on dac.d3 (4), stream_any_64 2.8 ms on #79 (2).
double word_by_word(double apart) { return apart > 2 ? 0.03 : apart > 1 ? 0.08 : 0.21; }

// Hopper's f32 rungs in the form that takes any shifts and classes. One that was made for a layer waits for a product
// behind the next one's operands, and its results leave in whole sectors; this one does neither, and where it was
// measured it took two to seven times as long. `gflop`: with padding; y: bytes.
Cost cost_of_any_form(bool streamed, bool three, double gflop, double y, double blocks, const Shape1d& s,
                      const ConvProblem& p, const Target& t) {
  // A stream's results are runs of a row where classes are neighbours: #64 3.15 ms, #74 1.07 (3×TF32 6.3 and 1.47).
  const bool runs =
      streamed && std::gcd(p.stride, p.dilation) == 1 && (s.classes <= 8 || s.classes == 10 || s.classes == 16);
  const double tensor = t.fma_gflops * t.tf32_ratio;
  // A stream has one and two neighbouring shifts compiled for any classes (oobleck.d1: 0.089 ms), and reads many behind
  // each other's products (random layer 193, 11 of them: 0.57).
  const bool compiled = streamed && (s.shifts == 1 || (s.shifts == 2 && p.dilation <= p.stride));
  const double rate = compiled ? (three ? 0.55 : 0.62) : three ? 0.4 : s.shifts >= 6 && streamed ? 0.57 : 0.27;
  return {gflop, rate * tensor, y, (runs ? 0.21 : word_by_word(static_cast<double>(p.stride))) * t.bandwidth_gbs,
          2,     blocks};
}

// Rates are fractions of the target's peaks, as measured on the H200 (h200-core.md, h200-ladder.md, and the recordings
// that come with the program). form: the launch that multiplies, as a rung may have several.
Cost cost_of(const std::string& name, const std::string& form, const ConvProblem& p, const Target& t) {
  Shape1d s(p);
  double useful = flops(p) / 1e9, x = static_cast<double>(p.x_elements()) * size_of(p.dtype),
         y = static_cast<double>(p.y_elements()) * size_of(p.dtype), least = static_cast<double>(least_bytes(p));
  double f = t.fma_gflops * (p.dtype == DType::f64 ? t.f64_ratio : 1), bw = t.bandwidth_gbs;
  // Loads that wait for each other: microseconds a tap or a stage of a chain, as random layers took on an H200
  // (h200-random.md); those of registers and mma_3xtf32 are guessed after them.
  double class_taps = std::ceil(s.taps / s.classes), chain = s.in * class_taps;
  // What an output costs beside its taps (divisions; a tile that is filled for little work) counts where these are few:
  // random layer 171, of one tap, took direct 32.5 µs, and only registers was faster; on 119 tiled was not, at 27.
  const double outputs = static_cast<double>(p.y_elements());
  if (name == "direct")
    return {2e-9 * outputs * (s.in * s.taps + 2.5), 0.008 * f, least, 0.6 * bw, 1, 0, 0.03 * s.in * s.taps};
  // A thread for each input, which goes through all taps of all its outputs one after the other; how long one of them
  // takes in a chain was not measured: as polyphase's, and an atomic addition.
  if (name == "scatter")
    return {useful,
            (p.stride > 1 ? 0.0085 : 0.019) * f,
            2 * y + x,
            0.3 * bw,
            2,
            std::ceil(static_cast<double>(p.x_elements()) / 256),
            0.04 * s.out * s.taps};
  if (name == "polyphase")
    return {useful + 8e-9 * outputs, (p.stride > 1 ? 0.010 : 0.022) * f, least, 0.5 * bw, 1, 0, 0.03 * chain};
  if (name == "tiled")
    return {(useful + 16e-9 * outputs) * padded(p.out_per_group(), 4) / s.out,
            (p.stride > 1 ? 0.085 : 0.11) * f,
            least,
            0.5 * bw,
            1,
            0,
            0.045 * chain};
  if (name == "registers")
    return {
        useful * padded(p.out_per_group(), 16) / s.out * padded(static_cast<int64_t>(s.positions), 256) / s.positions,
        (p.stride > 1 ? 0.31 : 0.54) * f,
        p.stride > 1 ? std::max(least, 3.2 * y) : least,  // outputs that lie apart leave as those of mma do
        0.6 * bw,
        2,
        0,
        0.02 * chain};
  // Not timed yet: by its instructions, some eight for a product that may land, stores of 16 bytes.
  if (name == "depthwise")
    return {2e-9 * static_cast<double>(p.y_elements()) * chain, 0.06 * f, least, 0.6 * bw, 1, 0, 0.01 * chain};
  double tensor = t.fma_gflops * t.tf32_ratio;
  bool three = name.find("3x") != std::string::npos;
  if (name == "mma_16bit") {  // not timed yet: guessed after mma_tf32, at twice its products and half its bytes
    double gflop = useful * padded(p.in_per_group(), 16) / s.in * padded(p.out_per_group(), 32) / s.out *
                   padded(static_cast<int64_t>(s.positions), 64) / s.positions;
    return {gflop,
            0.4 * tensor,
            y,
            (p.stride > 1 ? 0.19 : 0.26) * bw,
            2,
            0,
            std::ceil(s.in / 16) * std::ceil(class_taps / 5) * 1.1};
  }
  if (name.starts_with("mma_")) {
    double gflop = useful * padded(p.in_per_group(), 8) / s.in * padded(p.out_per_group(), 32) / s.out *
                   padded(static_cast<int64_t>(s.positions), 64) / s.positions;
    return {gflop,
            (three ? 0.078 : 0.2) * tensor,
            y,
            (p.stride > 1 ? 0.19 : 0.26) * bw,
            2,
            0,
            std::ceil(s.in / 8) * std::ceil(class_taps / 5) * (three ? 1.6 : 1.1)};
  }
  if (name.starts_with("columns_")) {
    double columns = padded(static_cast<int64_t>(s.out * std::min(s.classes, s.taps)), 8), sum = 1e300;
    for (int64_t channels : {8, 4, 2, 1})
      sum = std::min(sum, padded(p.in_per_group(), channels) * padded(static_cast<int64_t>(s.shifts), 8 / channels));
    double outputs = s.sequences * padded(static_cast<int64_t>(s.positions), 16) * columns * s.groups;
    double blocks = std::ceil(outputs / (256 * 64)) * std::max(sum / 64, 1.0);  // those that share sums, too
    // A result that leaves costs as much as 150 products: so it is on all eight recorded layers, and nearly on random
    // layers 119 and 171, which have one product an output.
    return {
        2e-9 * outputs * (sum * (three ? 3 : 1) + 150),   0.22 * tensor, x + y + 4 * columns * sum * s.groups, 0.5 * bw,
        outputs / (256 * 64) < t.multiprocessors ? 2 : 1, blocks};
  }
  bool streamed = name.find("stream") != std::string::npos, any = form.find("_any") != std::string::npos;
  int64_t width = three || (s.out * s.classes <= 64 && !streamed) ? 64 : 128;
  double columns = padded(static_cast<int64_t>(s.out * s.classes), width),
         column_tiles = columns / static_cast<double>(width);
  double tiles = std::ceil(s.positions / 128);
  double gflop = 2e-9 * s.sequences * tiles * 128 * columns * s.groups *
                 padded(p.in_per_group(), is_half(p.dtype) ? 16 : 8) * s.shifts * (three ? 3 : 1);
  double blocks = s.sequences * tiles * column_tiles * s.groups;  // one warpgroup each, two share a multiprocessor
  if (name == "held_16bit") {  // a stage of 32 channels of a tile takes about as long whatever its shifts
    double stages = s.sequences * tiles * std::ceil(columns / 128) * s.groups * std::ceil(s.in / 32);
    return {stages, t.multiprocessors / 0.75e-6, x + y, 0.65 * bw, 2, blocks / 2};
  }
  if (is_half(p.dtype)) return {gflop, 1.2 * tensor, x + y, 0.52 * bw, 2, blocks / 2};  // twice the rate of TF32
  if (streamed) {
    // Two tiles a block, which short sequences share; blocks share the tiles' rounds where there are few tiles.
    double shared =
        s.positions <= 64 ? std::min(std::floor(128 / padded(static_cast<int64_t>(s.positions), 4)), s.sequences) : 1;
    double units = std::ceil(std::ceil(s.sequences / shared) * tiles / 2) * column_tiles * s.groups;
    if (any) return cost_of_any_form(true, three, gflop / shared, y, units * 4, s, p, t);
    return {gflop / shared, (three ? 0.55 : 0.62) * tensor, x + y, 0.5 * bw, 2, units * 4};
  }
  if (any) return cost_of_any_form(false, three, gflop, y, blocks / 2, s, p, t);
  return {gflop,     (three ? 0.62 : 0.75) * tensor, x * std::sqrt(column_tiles) + y, (three ? 0.5 : 0.65) * bw, 2,
          blocks / 2};
}

std::string milliseconds(double ms) {
  return ms < 1 ? fmt::format("{:.3g} µs", ms * 1e3) : fmt::format("{:.3g} ms", ms);
}

bool is_never_run(const KernelDefinition& k) {
  return std::find(never_run.begin(), never_run.end(), k.name()) != never_run.end();
}

// By what predictions are held against each other.
double ranked_ms(const Candidate& k) { return k.predicted_ms * prediction_margin(*k.kernel); }

void sort_candidates(std::vector<Candidate>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    if (a.refused.empty() != b.refused.empty()) return a.refused.empty();
    if (a.measured_ms.has_value() != b.measured_ms.has_value()) return a.measured_ms.has_value();
    return a.measured_ms ? *a.measured_ms < *b.measured_ms : ranked_ms(a) < ranked_ms(b);
  });
}

void decide(Choice& c, const std::string& where) {
  sort_candidates(c.candidates);
  const Candidate &best = c.candidates[0],
                  *next = c.candidates.size() > 1 && c.candidates[1].refused.empty() ? &c.candidates[1] : nullptr;
  c.kernel = best.kernel;
  auto time = [](const Candidate& k) {
    std::string ms = milliseconds(k.measured_ms.value_or(k.predicted_ms));
    if (!k.measured_ms) return ms + " predicted";
    return ms + " measured" + (k.measured_on.empty() ? "" : " " + k.measured_on);
  };
  auto unseen = [](const Candidate& k) {
    return is_never_run(*k.kernel) && !k.measured_ms ? " (no GPU has run it yet)" : "";
  };
  c.reason = fmt::format("{}: {} {}{}", best.kernel->name(), time(best), where, unseen(best));
  if (next) c.reason += fmt::format(", {} {}{}", next->kernel->name(), time(*next), unseen(*next));
  for (const auto& k : c.candidates)  // the one above it on the ladder that cannot be had
    if (!k.refused.empty() && !k.other_types && k.kernel->rung() > best.kernel->rung()) {
      c.reason += fmt::format("; {} {}", k.kernel->name(), k.refused);
      break;
    }
}

}  // namespace

double prediction_margin(const KernelDefinition& kernel) { return is_never_run(kernel) ? unseen_margin : 1; }

double predicted_ms(const KernelDefinition& kernel, const ConvProblem& p, const Target& target) {
  return predicted_ms(kernel, kernel.plan_for(p), p, target);
}

double predicted_ms(const KernelDefinition& kernel, const Plan& plan, const ConvProblem& p, const Target& target) {
  Cost c = cost_of(kernel.name(), plan.launches().back().entry.name, p, target);
  double arithmetic = c.gflop / c.rate * 1e3, traffic = c.bytes / 1e9 / c.speed * 1e3;
  // A grid that does not fill the machine, or its last round, takes as long as a full one.
  double rounds = c.blocks / target.multiprocessors, stretch = rounds > 0 ? std::ceil(rounds) / rounds : 1;
  return std::max(
             {arithmetic * std::min(stretch, static_cast<double>(target.multiprocessors)), traffic, c.chain_us / 1e3}) +
         c.launches * launch_ms;
}

Choice choose(const ConvProblem& p, Accuracy allowed, const Target& target, const Activation& then) {
  Choice c;
  for (const auto* k : all_kernels()) {
    if (k->kind() != KernelKind::ladder) continue;
    Candidate one;
    one.kernel = k, one.other_types = refuses_type(*k, p);
    one.refused = one.other_types ? k->unsupported(p) : target.unavailable(*k);
    auto promised = accuracy_from(k->accuracy());
    if (one.refused.empty() && p.dtype == DType::f32 && promised && *promised > allowed)
      one.refused = fmt::format("computes in {}, {} is asked for", k->accuracy(), name_of(allowed));
    if (one.refused.empty()) one.refused = k->unsupported(p);
    std::optional<Plan> plan;
    if (one.refused.empty()) one.refused = target.unavailable(*k, plan.emplace(k->plan_for(p)));
    if (one.refused.empty() && then && !k->fuses_activation()) one.refused = "cannot fuse " + then.name();
    if (one.refused.empty()) one.predicted_ms = predicted_ms(*k, *plan, p, target);
    c.candidates.push_back(std::move(one));
  }
  decide(c, target.where());
  return c;
}

namespace {

// Where the candidates of one choice are measured: with the same tensors, and the largest workspace of those so far.
class Measurement {
 public:
  Measurement(Device& device, const ConvProblem& p, Activity& activity)
      : device_(device), p_(p), activity_(activity), inputs_(make_inputs(p, {}, &activity)) {}

  // None: nothing was timed. Errors: as of Device.
  std::optional<double> ms(const KernelDefinition& kernel) {
    Plan plan = kernel.plan_for(p_);
    if (!memory_ || plan.workspace_bytes() > workspace_) {
      workspace_ = plan.workspace_bytes(), memory_.reset();
      memory_ = std::make_unique<ProblemMemory>(device_, p_, inputs_, plan.out_length(), workspace_, &activity_);
    }
    TimingOptions options;
    options.max_samples = 7, options.time_cap_ms = 200;
    device_.run(kernel, plan, memory_->at(), {.activity = &activity_});  // packs the weights
    Timing t = device_.time(kernel, plan.without_packing(), memory_->at(), false, options, &activity_);
    return t.empty() ? std::nullopt : std::optional(t.median_ms());
  }

 private:
  Device& device_;
  const ConvProblem& p_;
  Activity& activity_;
  Inputs inputs_;
  std::unique_ptr<ProblemMemory> memory_;
  size_t workspace_ = 0;
};

}  // namespace

Choice Planner::choose(const ConvProblem& p, Accuracy allowed, Device& device, Activity& activity,
                       const Activation& then) {
  Target target = Target::of(device.info());
  Choice c = convscope::choose(p, allowed, target, then);
  if (device.is_emulator()) {
    for (auto& k : c.candidates)
      if (k.refused.empty()) k.refused = device.unavailable(*k.kernel);
    decide(c, target.where() + ", the emulator has no time of its own");
    return c;
  }
  std::optional<Measurement> measurement;
  std::exception_ptr first;  // what the first met that could not be measured
  double worst_ms = 0;
  size_t done = 0;
  for (Candidate& k : c.candidates) {
    if (!k.refused.empty() || done == most_measured) break;
    if (done == 0) worst_ms = std::max(6 * k.predicted_ms, k.predicted_ms + 0.02);
    if (ranked_ms(k) > worst_ms) break;
    const std::string here = k.kernel->name() + " " + describe(p) + " " + device.info().pci_bus;
    if (auto failed = failed_.find(here); failed != failed_.end()) {
      k.refused = failed->second.refused;
      if (!first) first = failed->second.why;
      continue;
    }
    auto it = measured_.find(here);
    std::string key;  // only now: it takes an export's text
    if (it == measured_.end())
      if (auto kept = kept_time(key = time_key(device.info(), *k.kernel, p)))
        it = measured_.emplace(here, std::move(*kept)).first;
    if (it != measured_.end()) {
      k.measured_ms = it->second.ms, k.measured_on = it->second.date, done++;
      continue;
    }
    activity.phase("choosing a kernel");
    if (!measurement) measurement.emplace(device, p, activity);
    auto refuse = [&](const std::exception& e) {
      k.refused = fmt::format("cannot be run: {}", e.what());
      if (!first) first = std::current_exception();
    };
    try {
      k.measured_ms = measurement->ms(*k.kernel);
      done++;
    } catch (const InputError& e) {  // memory: there may be more of it the next time
      refuse(e);
    } catch (const MissingError& e) {
      refuse(e), failed_[here] = {k.refused, std::current_exception()};
    } catch (const KernelFault& e) {
      refuse(e), failed_[here] = {k.refused, std::current_exception()};
    } catch (const DeviceError& e) {
      if (e.poisoned()) throw;
      refuse(e), failed_[here] = {k.refused, std::current_exception()};
    }
    if (!k.measured_ms) continue;
    measured_[here] = {key, *k.measured_ms, ""};  // of this process: its day is not worth a word
    keep_time({key, *k.measured_ms, today()});
  }
  if (done == 0 && first) std::rethrow_exception(first);
  decide(c, target.where());
  return c;
}

}  // namespace convscope
