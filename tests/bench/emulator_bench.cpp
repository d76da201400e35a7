// How fast the emulator is. Figures of this machine's CPU; they say nothing of a GPU.
#include <benchmark/benchmark.h>

#include "kernels/base/worker_pool.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/inputs.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

using benchmark::Counter;

// A kernel on kernelbench-79-small, with its tensors on the emulator.
struct Run {
  ConvProblem p = find_preset("kernelbench-79-small").problem;
  std::unique_ptr<Device> device = open_emulator();
  std::unique_ptr<DeviceMemory> x, w, y;
  Run() {
    auto in = make_inputs(p, {});
    x = device->allocate(in.x.size_bytes()), w = device->allocate(in.w.size_bytes());
    y = device->allocate(static_cast<size_t>(p.y_elements()) * 4);
    device->write(*x, 0, in.x.data(), in.x.size_bytes());
    device->write(*w, 0, in.w.data(), in.w.size_bytes());
  }
  void operator()(const KernelDefinition& kernel) {
    device->run(kernel, kernel.plan_for(p), {x->address(), w->address(), 0, y->address(), 0}, {});
  }
  // Every test of a tap, whether it lands or not.
  double inner_iterations() const { return static_cast<double>(p.y_elements() * p.in_channels * p.kernel_size); }
};

void rate(benchmark::State& state, const char* name, double each) {
  state.counters[name] = Counter(each * static_cast<double>(state.iterations()), Counter::kIsRate);
}

void direct(benchmark::State& state) {
  Run run;
  const auto& kernel = find_kernel("direct");
  for (auto _ : state) run(kernel);
  rate(state, "inner_iterations", run.inner_iterations());
}

void direct_traced(benchmark::State& state) {
  Run run;
  auto why = simt::load_traced_kernels();
  const auto* kernel = find_traced("direct");
  if (!kernel) return state.SkipWithError(why.c_str());
  std::atomic<uint64_t> accesses{0};
  simt::Tracing tracing([&](std::span<const simt::Access> part) { accesses += part.size(); });
  for (auto _ : state) run(*kernel);
  rate(state, "inner_iterations", run.inner_iterations());
  state.counters["accesses"] = Counter(static_cast<double>(accesses.load()), Counter::kIsRate);
}

void useful(benchmark::State& state, const char* name) {
  Run run;
  const auto& kernel = find_kernel(name);
  for (auto _ : state) run(kernel);
  rate(state, "useful_taps", static_cast<double>(useful_taps(run.p)));
}

// Nanoseconds a thread for one barrier or one shuffle, on one worker.
template <class... A>
void cost(benchmark::State& state, const char* kernel, A... arguments) {
  const int64_t rounds = 100, blocks = 20, threads = 256;
  auto planned = test::planned_launch(kernel);
  for (auto _ : state)
    test::launch_entry(planned, {blocks}, {threads}, 0, {.workers = 1}, static_cast<int>(rounds), arguments...);
  state.counters["each"] =
      Counter(static_cast<double>(state.iterations() * rounds * blocks * threads), Counter::kIsRate | Counter::kInvert);
}
void barrier(benchmark::State& state) { cost(state, "many_barriers"); }
void shuffle(benchmark::State& state) {
  int nothing = 0;
  cost(state, "many_shuffles", &nothing);
}

BENCHMARK(direct)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(direct_traced)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(useful, scatter, "scatter")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(useful, polyphase, "polyphase")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(useful, tiled, "tiled")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(barrier)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(shuffle)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace convscope

int main(int argc, char** argv) {
  benchmark::AddCustomContext("workers", std::to_string(convscope::WorkerPool::shared().size()));
  benchmark::AddCustomContext("problem", convscope::describe(convscope::find_preset("kernelbench-79-small").problem));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
