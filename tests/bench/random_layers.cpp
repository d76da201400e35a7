// Random layers on a GPU: is what `auto` takes right on all of them, and slower than cuDNN's best on none?
//
//   random_layers [--count 200] [--seed 1] [--accuracy tf32] [--dtype f32] [--bias] [--samples 15] [--limit SECONDS]
//                 [--first N | --only N,…] [--json FILE]
//   random_layers --list      the layers, without a GPU
//
// Channels 1 to 2048, K 1 to 25, ten of the strides up to 16 (1 to 8, 10 and 16, 1 and 2 twice as often; the others are
// never drawn, as drawing them would make other layers of every seed), any p, op, d (1, 2, 3, 5), groups with
// depthwise, N 1 to 64, all tensors together within 4 GB; sizes are drawn evenly in their logarithm. The planner
// chooses as it does for every user; the judge gives the verdict; then both sides are timed in turn, hot, weights
// packed before, and compared as `convscope bench` compares. cuDNN's best: the fastest of the ways its heuristics name,
// measured on this very problem.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "kernels/planner/planner.h"
#include "kernels/problem/counts.h"
#include "kernels/verify/judge.h"
#include "kernels/verify/problem_memory.h"
#include "profiling/statistics/compare.h"

namespace convscope {
namespace {

struct Options {
  int count = 200, samples = 15;
  size_t first = 0;
  std::vector<size_t> only;
  uint64_t seed = 1;
  std::string accuracy = "tf32", dtype = "f32", json;
  bool bias = false, list = false;
  double limit_s = 0;
};

// The standard leaves its distributions to the library; these are the same everywhere.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  int64_t even(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(unit() * static_cast<double>(high - low + 1));
  }
  int64_t even_in_log(int64_t low, int64_t high) {
    double v = static_cast<double>(low) * std::pow(static_cast<double>(high + 1) / static_cast<double>(low), unit());
    return std::min(high, static_cast<int64_t>(v));
  }
  template <size_t n>
  int64_t of(const int64_t (&values)[n]) {
    return values[even(0, n - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

ConvProblem layer(Draw& draw, const Options& options) {
  for (;;) {
    ConvProblem p;
    p.bias = options.bias;
    p.dtype = *dtype_from(options.dtype);
    p.in_channels = draw.even_in_log(1, 2048), p.out_channels = draw.even_in_log(1, 2048);
    double kind = draw.unit();
    if (kind < 0.15) {  // depthwise
      p.out_channels = p.groups = p.in_channels;
    } else if (kind < 0.35) {
      p.groups = draw.even_in_log(2, 16);
      p.in_channels = std::max<int64_t>(1, p.in_channels / p.groups) * p.groups;
      p.out_channels = std::max<int64_t>(1, p.out_channels / p.groups) * p.groups;
    }
    p.kernel_size = draw.even(1, 25);
    p.stride = draw.of({1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 10, 16});
    p.dilation = draw.of({1, 1, 1, 2, 3, 5});
    p.padding = draw.even(0, p.dilation * (p.kernel_size - 1));
    p.output_padding = draw.unit() < 0.3 ? draw.even(0, std::max(p.stride, p.dilation) - 1) : 0;
    p.batch = draw.even_in_log(1, 64), p.length = draw.even_in_log(1, 1 << 18);
    if (check(p)) continue;
    double bytes =
        static_cast<double>(p.x_elements() + p.w_elements() + p.y_elements()) * static_cast<double>(size_of(p.dtype));
    if (bytes <= 4e9 && p.w_elements() <= int64_t{1} << 26 && static_cast<double>(useful_taps(p)) <= 4e12) return p;
  }
}

struct Outcome {
  std::string kernel, against, status, sentence, trouble;
  std::vector<std::pair<std::string, double>> measured_ms;  // of each candidate, when one was chosen
  ComparisonOfTimes times;
};

class Bench {
 public:
  Bench(const Options& options)
      : options_(options),
        device_(open_device("cuda")),
        references_(references_for(*device_)),
        judge_(*device_, references_) {}
  const DeviceInfo& device() const { return device_->info(); }

  Outcome outcome(const ConvProblem& p) {
    Outcome o;
    Activity activity;
    Accuracy accuracy = is_half(p.dtype) ? Accuracy::strict : *accuracy_from(options_.accuracy);
    Choice choice = planner_.choose(p, accuracy, *device_, activity);
    const KernelDefinition* kernel = choice.kernel;
    o.kernel = kernel->name();
    for (const auto& c : choice.candidates)
      if (c.measured_ms) o.measured_ms.emplace_back(c.kernel->name(), *c.measured_ms);
    {
      RunSpec spec;
      spec.kernel = kernel, spec.problem = p, spec.accuracy = accuracy, spec.samples = 1, spec.references = false;
      RunReport r = judge_.run(spec, activity);
      o.status = name_of(r.verdict.status), o.sentence = r.verdict.sentence;
    }
    Reference* best = nullptr;
    for (auto& r : references_)
      if (r->name() == (accuracy == Accuracy::tf32 ? "cudnn-tf32" : "cudnn")) best = r.get();
    o.against = best ? best->unsupported(p) : "cuDNN is not here";
    if (!o.against.empty()) return o;
    o.against = best->name();
    Plan plan = kernel->plan_for(p);
    auto inputs = judge_.inputs(p, {}, activity);
    ProblemMemory memory(*device_, p, *inputs, plan.out_length(), plan.workspace_bytes());
    const TimingOptions once{.min_samples = 1, .max_samples = 1, .time_cap_ms = 0, .target_error = 1};
    device_->run(*kernel, plan, memory.at(), {.activity = &activity});  // packs the weights
    Plan packed = plan.without_packing();
    std::vector<double> ours, theirs;
    for (int i = 0; i < options_.samples + 2; i++) {
      double a = device_->time(*kernel, packed, memory.at(), false, once, &activity).samples_ms.at(0);
      double b = best->time(p, memory.at(), false, once, &activity).samples_ms.at(0);
      if (i >= 2) ours.push_back(a), theirs.push_back(b);
    }
    o.times = compare_times(ours, theirs);
    return o;
  }

 private:
  Options options_;
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Reference>> references_;
  Judge judge_;
  Planner planner_;
};

std::string words(const ConvProblem& p) { return describe(p) + (p.bias ? ", bias" : ""); }

int run(const Options& options) {
  Draw draw(options.seed);
  std::vector<ConvProblem> layers;
  for (int i = 0; i < options.count; i++) layers.push_back(layer(draw, options));
  if (options.list) {
    for (size_t i = 0; i < layers.size(); i++) fmt::print("{:3} {}\n", i, words(layers[i]));
    return 0;
  }
  Bench bench(options);
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  nlohmann::json rows = nlohmann::json::array();
  int right = 0, compared = 0, reached = 0, verdicts[4] = {};
  double logs = 0;
  for (size_t i = options.first; i < layers.size(); i++) {
    if (!options.only.empty() && std::find(options.only.begin(), options.only.end(), i) == options.only.end()) continue;
    const double at = seconds();
    if (options.limit_s > 0 && at > options.limit_s) break;
    reached++;
    Outcome o;
    try {
      o = bench.outcome(layers[i]);
    } catch (const std::exception& e) {
      o.trouble = e.what();
    }
    bool timed = o.times.speedup > 0 && !o.times.evidence.empty();
    right += o.status == "right";
    if (timed) compared++, verdicts[static_cast<int>(o.times.verdict)]++, logs += std::log(o.times.speedup);
    std::string line =
        fmt::format("{:3} {}: {} {}", i, words(layers[i]), o.kernel, o.trouble.empty() ? o.status : o.trouble);
    if (timed)
      line += fmt::format(", {} {:.4g} against {:.4g} ms, {:.2f} times", name_of(o.times.verdict), o.times.a.middle,
                          o.times.b.middle, o.times.speedup);
    else if (o.trouble.empty())
      line += ", no comparison: " + o.against;
    if (!o.status.empty() && o.status != "right") line += "; " + o.sentence;
    fmt::print("{} ({:.1f} s)\n", line, seconds() - at);
    std::fflush(stdout);
    rows.push_back({{"index", i},
                    {"layer", words(layers[i])},
                    {"kernel", o.kernel},
                    {"measured_ms", o.measured_ms},
                    {"status", o.status},
                    {"trouble", o.trouble},
                    {"against", o.against},
                    {"verdict", timed ? name_of(o.times.verdict) : ""},
                    {"speedup", o.times.speedup},
                    {"ours_ms", o.times.a.middle},
                    {"theirs_ms", o.times.b.middle},
                    {"p", o.times.p}});
    if (!options.json.empty()) std::ofstream(options.json) << rows.dump(1);  // each time: a run that is cut keeps them
  }
  int slower = verdicts[static_cast<int>(Comparative::slower)];
  fmt::print(
      "{} of {} layers, seed {}, {}, {}: {} right; {} compared with cuDNN's best: {} FASTER, {} SAME, {} AMBIGUOUS, "
      "{} SLOWER; geometric mean {:.2f} times\n",
      reached, layers.size(), options.seed, options.dtype == "f32" ? options.accuracy : options.dtype,
      bench.device().name, right, compared, verdicts[static_cast<int>(Comparative::faster)],
      verdicts[static_cast<int>(Comparative::same)], verdicts[static_cast<int>(Comparative::ambiguous)], slower,
      compared ? std::exp(logs / compared) : 0);
  return right == reached && !slower ? 0 : 1;
}

}  // namespace
}  // namespace convscope

int main(int argc, char** argv) {
  convscope::Options o;
  CLI::App app("auto against cuDNN's best on random layers");
  app.add_option("--count", o.count)->check(CLI::Range(1, 100000));
  app.add_option("--seed", o.seed);
  app.add_option("--samples", o.samples)->check(CLI::Range(8, 1000));
  app.add_option("--first", o.first, "from this layer on, where a run before was cut");
  app.add_option("--only", o.only, "these layers alone")->delimiter(',');
  app.add_option("--limit", o.limit_s, "seconds after which no layer is begun");
  app.add_option("--accuracy", o.accuracy)->check(CLI::IsMember({"strict", "3xtf32", "tf32"}));
  app.add_option("--dtype", o.dtype)->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--json", o.json);
  app.add_flag("--bias", o.bias);
  app.add_flag("--list", o.list);
  CLI11_PARSE(app, argc, argv);
  try {
    return convscope::run(o);
  } catch (const std::exception& e) {
    fmt::print(stderr, "random_layers: {}\n", e.what());
    return 3;
  }
}
