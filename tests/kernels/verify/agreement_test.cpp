// Random legal problems on which everything that should be right must agree with the oracle within the bound: every
// rung of the ladder on the emulator, and oneDNN. CONVSCOPE_LONG makes it ten thousand problems.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <optional>

#include "kernels/reference/reference.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/guarded.h"
#include "kernels/verify/pyramid.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::Random;

// Runs one problem, with numbers drawn from the seed. Says what is wrong, "" if nothing; nothing when it does not take
// the problem.
using Trial = std::function<std::optional<std::string>(const ConvProblem& p, uint64_t seed)>;

// The tensors of a trial on the emulator, each between red zones; the output never written.
struct OnEmulator {
  GuardedTensor x, w, b, y;
  test::Tensors tensors;

  static size_t bytes(DType t, int64_t elements) { return static_cast<size_t>(elements) * size_of(t); }
  OnEmulator(Device& device, const ConvProblem& p, uint64_t seed)
      : x(device, bytes(p.dtype, p.x_elements())),
        w(device, bytes(p.dtype, p.w_elements())),
        b(device, bytes(p.dtype, p.b_elements())),
        y(device, bytes(p.dtype, p.y_elements())) {
    Random r(seed);
    tensors = test::random_tensors(r, p);
    x.write(tensors.x.data(), tensors.x.size_bytes());
    w.write(tensors.w.data(), tensors.w.size_bytes());
    if (p.bias) b.write(tensors.b.data(), tensors.b.size_bytes());
    y.fill(unwritten_word);
  }
  Bindings bindings(const ConvProblem& p) const {
    return {x.address(), w.address(), p.bias ? b.address() : 0, y.address(), 0};
  }

  std::string verdict(const ConvProblem& p, Accuracy accuracy = Accuracy::strict) const {
    for (auto [name, t] : {std::pair{"x", &x}, {"w", &w}, {"b", &b}, {"y", &y}})
      if (auto damage = t->damage(); !damage.empty()) return fmt::format("writes outside {}: {}", name, damage);
    HostBytes out(bytes(p.dtype, p.y_elements()));
    y.read(0, out.data(), out.size());
    auto oracle = make_cpu_oracle(p, test::inputs_of(tensors));
    CompareOptions options;
    options.accuracy = accuracy;
    auto c = compare(p, *oracle, {p.dtype, out.data(), p.out_length()}, options, nullptr);
    if (!c.failing) return "";
    const auto& e = *c.first_failing;
    return fmt::format("{} of {} elements wrong, first y[{}, {}, {}] = {:.9g} instead of {:.9g}, bound {:.3g}",
                       c.failing, c.elements, e.n, e.co, e.j, e.got, e.expected, e.bound);
  }
};

Trial trial_of(Device& device, const KernelDefinition& kernel) {
  return [&device, &kernel](const ConvProblem& p, uint64_t seed) -> std::optional<std::string> {
    if (!kernel.unsupported(p).empty()) return std::nullopt;
    OnEmulator t(device, p, seed);
    Plan plan = kernel.plan_for(p);
    std::unique_ptr<GuardedTensor> workspace;
    Bindings at = t.bindings(p);
    if (plan.workspace_bytes()) {
      workspace = std::make_unique<GuardedTensor>(device, plan.workspace_bytes());
      at.workspace = workspace->address();
    }
    device.run(kernel, plan, at, {.order_seed = static_cast<uint32_t>(seed % 3 ? seed : 0), .activity = nullptr});
    if (workspace && !workspace->damage().empty()) return "writes outside the workspace: " + workspace->damage();
    return t.verdict(p, *accuracy_from(kernel.accuracy()));
  };
}

Trial trial_of(Device& device, Reference& reference) {
  return [&device, &reference](const ConvProblem& p, uint64_t seed) -> std::optional<std::string> {
    if (!reference.unsupported(p).empty()) return std::nullopt;
    OnEmulator t(device, p, seed);
    reference.run(p, t.bindings(p), nullptr);
    return t.verdict(p);
  };
}

// The smallest problem found that still fails: every parameter is made smaller as long as it does.
ConvProblem shrunk(ConvProblem p, uint64_t seed, const Trial& trial) {
  auto still_fails = [&](const ConvProblem& q) { return !check(q) && trial(q, seed).value_or("") != ""; };
  for (bool smaller = true; smaller;) {
    smaller = false;
    auto take = [&](auto change) {
      auto q = p;
      change(q);
      if (q == p || !still_fails(q)) return;
      p = q;
      smaller = true;
    };
    take([](auto& q) { q.bias = false; });
    take([](auto& q) { q.dtype = DType::f32; });
    // Channels of a group, and groups with their channels.
    for (int64_t less : {p.in_per_group() / 2, p.in_per_group() - 1})
      if (less > 0) take([&](auto& q) { q.in_channels = q.groups * less; });
    for (int64_t less : {p.out_per_group() / 2, p.out_per_group() - 1})
      if (less > 0) take([&](auto& q) { q.out_channels = q.groups * less; });
    take([](auto& q) { q.groups = 1; });
    for (int64_t fewer : {int64_t{1}, p.groups - 1})
      if (fewer > 0 && fewer < p.groups)
        take([&](auto& q) {
          q.in_channels = q.in_per_group() * fewer, q.out_channels = q.out_per_group() * fewer, q.groups = fewer;
        });
    for (const auto& f : problem_fields())
      if (f.value != &ConvProblem::groups && f.value != &ConvProblem::in_channels &&
          f.value != &ConvProblem::out_channels)
        for (int64_t to : {f.minimum, (p.*f.value + f.minimum) / 2, p.*f.value - 1})
          if (to >= f.minimum && to < p.*f.value) take([&](auto& q) { q.*f.value = to; });
  }
  return p;
}

// "" or the first failure with its seed and the smallest problem it was brought down to. `cases` problems that it takes
// are run; those it does not take are passed over, so that all see the same ones.
// `draw`: which problems.
std::string first_failure(
    const std::string& name, const Trial& trial, uint64_t first_seed, int cases,
    ConvProblem (*draw)(Random&) = [](Random& r) { return test::random_problem(r); }) {
  int tried = 0, ran = 0;
  for (; ran < cases && tried < 4 * cases; tried++) {
    uint64_t seed = first_seed + static_cast<uint64_t>(tried);
    Random r(seed);
    auto p = draw(r);
    auto said = trial(p, seed);
    ran += said.has_value();
    if (said.value_or("").empty()) continue;
    auto small = shrunk(p, seed, trial);
    return fmt::format("{}, seed {}, {}: {}\n  smallest: {}: {}", name, seed, describe(p), *said, describe(small),
                       *trial(small, seed));
  }
  if (ran < cases) return fmt::format("{} takes only {} of {} problems", name, ran, tried);
  fmt::print("{}: {} problems, {} it does not take\n", name, ran, tried - ran);
  return "";
}

constexpr uint64_t first_seed = 1000000;

TEST(Agreement, EveryRungWithTheOracle) {
  auto device = open_emulator();
  int rungs = 0;
  for (const auto* k : all_kernels()) {
    if (k->kind() != KernelKind::ladder || !device->unavailable(*k).empty()) continue;
    // These take few numbers of channels and taps: HopperRungs has their problems.
    if (k->name() == "held_16bit" || k->name() == "ordered_16bit" || k->name().ends_with("xf16")) continue;
    bool halves = test::has(k->unsupported({}), "takes f16 and bf16 only");
    auto draw = [](Random& r) { return test::random_problem(r); };
    auto draw_halves = [](Random& r) { return test::random_problem(r, {.halves = true}); };
    const int some = k->requires_hardware().size() < 2 ? 300 : 60;  // a block of Hopper's is hundreds of fibres
    EXPECT_EQ(first_failure(k->name(), trial_of(*device, *k), first_seed, test::cases(some, 10000),
                            halves ? +draw_halves : +draw),
              "");
    rungs++;
  }
  EXPECT_GE(rungs, 14);
}

TEST(Agreement, OneDnnWithTheOracle) {
  auto device = open_emulator();
  auto references = references_for(*device);
  ASSERT_FALSE(references.empty());
  for (auto& reference : references) {
    if (auto why = reference->unavailable(); !why.empty()) GTEST_SKIP() << reference->name() << ": " << why;
    auto name = reference->name() + " " + reference->version();
    EXPECT_EQ(first_failure(name, trial_of(*device, *reference), first_seed, test::cases(300, 10000)), "");
  }
}

// ---- would it see a fault? ------------------------------------------------------------------------------------------

TEST(AgreementControl, FaultsAreFoundAndMadeSmall) {
  auto device = open_emulator();
  auto found = [&](const char* name) {
    auto said = first_failure(name, trial_of(*device, test::kernel(name)), 1, 300);
    EXPECT_NE(said, "") << name << " was not noticed";
    return said;
  };
  EXPECT_EQ(first_failure("faultless", trial_of(*device, test::kernel("faultless")), 1, 300), "");
  // What is left is what the fault needs, and nothing else: two strides for ghosts, two taps for a mirror.
  EXPECT_TRUE(test::has(found("mirrored_taps"), "smallest: 1 × 1→1, K 2, L 1, s 1, p 0, d 1: "));
  EXPECT_TRUE(test::has(found("ghost_taps"), "smallest: 1 × 1→1, K "));
  EXPECT_TRUE(test::has(found("no_bias"), "smallest: 1 × 1→1, K 1, L 1, s 1, p 0, d 1, bias: "));
  EXPECT_TRUE(test::has(found("first_sequence_only"), "smallest: 2 × 1→1, K 1, L 1, s 1, p 0, d 1: "));
  EXPECT_TRUE(test::has(found("exchanged_channels"), "smallest: 1 × 1→2, K 1, L 1, s 1, p 0, d 1: "));
  EXPECT_TRUE(test::has(found("writes_after"), "writes outside y: 4 bytes directly after its end"));
  EXPECT_TRUE(test::has(found("skips_the_last"), "nan instead of"));
  EXPECT_TRUE(test::has(found("tf32"), "elements wrong"));
  EXPECT_TRUE(test::has(found("double_in_float"), "f64"));
}

}  // namespace
}  // namespace convscope
