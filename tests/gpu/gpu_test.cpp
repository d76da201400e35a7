// What must be seen on a real GPU. Without one every test is skipped, with the driver's reason.
//
// The program is its own engine (with the faulty kernels above): gpu_tests engine.
#include "tests/gpu/gpu.h"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "app/engine/client.h"
#include "app/engine/codec.h"
#include "app/engine/server.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/explain.h"
#include "kernels/verify/guarded.h"
#include "kernels/verify/judge.h"
#include "tests/accuracy_problems.h"
#include "tests/convolution.h"
#include "tests/hopper_problems.h"
#include "tests/rung_problems.h"

namespace convscope {
namespace {
using nlohmann::json;

const char* const ladder[] = {"direct",        "scatter",      "polyphase",      "tiled",         "registers",
                              "mma_tf32",      "mma_3xtf32",   "hopper_tf32",    "hopper_3xtf32", "stream_tf32",
                              "stream_3xtf32", "columns_tf32", "columns_3xtf32", "depthwise",     "hopper_1xf16",
                              "hopper_3xf16",  "stream_1xf16", "stream_3xf16",   "ordered_1xf16", "ordered_3xf16"};

TEST_F(Gpu, EveryRungIsRightOnRandomProblems) {
  test::Random random(20261121);
  for (int i = 0; i < problems(60); i++) {
    ConvProblem p = test::random_problem(random);
    for (const char* kernel : ladder) {
      const auto& k = find_kernel(kernel);
      if (!device_->unavailable(k).empty() || !k.unsupported(p).empty()) continue;
      auto r = judge(kernel, p);
      ASSERT_EQ(r.verdict.status, Status::right) << kernel << " on " << describe(p) << ": " << r.verdict.sentence;
    }
  }
}

// The forms of Hopper's rungs.
struct HopperCase {
  const char* name;
  DType dtype;
};
class GpuHopper : public Gpu, public testing::WithParamInterface<HopperCase> {};
INSTANTIATE_TEST_SUITE_P(
    Rungs, GpuHopper,
    testing::Values(HopperCase{"hopper_tf32", DType::f32}, HopperCase{"hopper_3xtf32", DType::f32},
                    HopperCase{"stream_tf32", DType::f32}, HopperCase{"stream_3xtf32", DType::f32},
                    HopperCase{"hopper_1xf16", DType::f32}, HopperCase{"hopper_3xf16", DType::f32},
                    HopperCase{"stream_1xf16", DType::f32}, HopperCase{"stream_3xf16", DType::f32},
                    HopperCase{"ordered_1xf16", DType::f32}, HopperCase{"ordered_3xf16", DType::f32},
                    HopperCase{"hopper_16bit", DType::f16}, HopperCase{"hopper_16bit", DType::bf16},
                    HopperCase{"ordered_16bit", DType::f16}, HopperCase{"ordered_16bit", DType::bf16}),
    [](const auto& info) { return std::string(info.param.name) + "_" + std::string(name_of(info.param.dtype)); });

TEST_P(GpuHopper, IsRightInAllItsForms) {
  auto [name, dtype] = GetParam();
  const auto& k = find_kernel(name);
  if (auto why = device_->unavailable(k); !why.empty()) GTEST_SKIP() << why;
  test::Random r(8);
  for (int i = 0; i < problems(120); i++) {
    ConvProblem p = test::hopper_problem(r, dtype);
    if (check(p) || !k.unsupported(p).empty()) continue;
    auto report = judge(name, p);
    ASSERT_EQ(report.verdict.status, Status::right) << name << " on " << describe(p) << ": " << report.verdict.sentence;
  }
}

TEST_F(Gpu, FormsForSomeLayersAreRight) {
  for (const auto& [name, form, p] : test::form_problems()) {
    const auto& k = find_kernel(name);
    if (auto why = device_->unavailable(k); !why.empty()) GTEST_SKIP() << why;
    EXPECT_STREQ(k.plan_for(p).launches().back().entry.name, form) << describe(p);
    auto report = judge(name, p);
    ASSERT_EQ(report.verdict.status, Status::right) << name << " on " << describe(p) << ": " << report.verdict.sentence;
  }
}

TEST_F(Gpu, DepthwiseIsRightInAllItsForms) {
  test::Random r(61);
  for (const auto& c : test::depthwise_cases)
    for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      ConvProblem p = c.problem(type, r() % 2);
      const std::string form = find_kernel("depthwise").plan_for(p).launches()[0].entry.name;
      EXPECT_TRUE(form.ends_with(c.form)) << c.what << ": " << form;
      auto report = judge("depthwise", p);
      ASSERT_EQ(report.verdict.status, Status::right)
          << c.what << ", " << name_of(type) << ": " << report.verdict.sentence;
    }
}

TEST_F(Gpu, BoxesOfResultsAreRight) {
  const auto& k = find_kernel("hopper_3xtf32");
  if (auto why = device_->unavailable(k); !why.empty()) GTEST_SKIP() << why;
  int boxes = 0;
  for (const ConvProblem& p : test::box_problems()) {
    boxes += std::string(k.plan_for(p).launches().back().entry.name).ends_with("_boxes");
    auto report = judge("hopper_3xtf32", p);
    ASSERT_EQ(report.verdict.status, Status::right) << describe(p) << ": " << report.verdict.sentence;
  }
  EXPECT_GE(boxes, 12);
}

// Forms that random problems of few channels and positions do not reach: wide columns, long sums that blocks share.
TEST_F(Gpu, ColumnsAreRightInAllTheirForms) {
  for (const char* name : {"columns_tf32", "columns_3xtf32"}) {
    const auto& k = find_kernel(name);
    if (auto why = device_->unavailable(k); !why.empty()) GTEST_SKIP() << why;
    test::Random r(9);
    auto any = [&](int64_t low, int64_t high) { return test::between(r, low, high); };
    std::set<std::string> forms;
    int shared = 0;
    for (int i = 0; i < problems(80); i++) {
      ConvProblem p;
      p.groups = any(0, 3) ? 1 : any(1, 3);
      p.in_channels = p.groups * any(1, any(0, 1) ? 12 : 400), p.out_channels = p.groups * any(1, any(0, 1) ? 8 : 200);
      p.batch = any(1, 6), p.length = any(0, 1) ? any(1, 100) : any(1, 3000), p.bias = any(0, 1);
      p.kernel_size = any(1, 24), p.stride = any(0, 2) ? any(1, 6) : any(1, 20), p.dilation = any(0, 1) ? 1 : any(1, 5);
      p.padding = any(0, 9), p.output_padding = any(0, std::max(p.stride, p.dilation) - 1);
      if (check(p) || p.y_elements() > 20'000'000 || flops(p) > 20e9) continue;
      ASSERT_EQ(k.unsupported(p), "") << describe(p);
      Plan plan = k.plan_for(p);
      forms.insert(plan.launches()[1].entry.name), shared += plan.launches().size() == 3;
      auto report = judge(name, p);
      ASSERT_EQ(report.verdict.status, Status::right)
          << name << " on " << describe(p) << ": " << report.verdict.sentence;
    }
    if (problems(80) < 80) continue;
    EXPECT_GE(forms.size(), 4u);
    EXPECT_GE(shared, 10);
  }
}

// On the GPU sums of tensor cores are the hardware's own, which the emulator only takes after.
TEST_F(Gpu, ThreeTf32HasAtMostFourTimesTheErrorOfMultiplyAdds) {
  test::Random random(61);
  for (const ConvProblem& p : test::accuracy_problems()) {
    const test::Tensors t = test::random_tensors(random, p);
    const test::Expected expected = test::expected_result(p, t);
    auto errors = [&](const char* name) {
      const auto& k = find_kernel(name);
      auto put = [&](const HostTensor& from) {
        auto m = device_->allocate(std::max<size_t>(from.size_bytes(), 4));
        device_->write(*m, 0, from.data(), from.size_bytes());
        return m;
      };
      const Plan plan = k.plan_for(p);
      auto x = put(t.x), w = put(t.w), b = put(t.b), y = device_->allocate(static_cast<size_t>(p.y_elements()) * 4);
      auto scratch = device_->allocate(std::max<size_t>(plan.workspace_bytes(), 256));
      device_->run(k, plan, {x->address(), w->address(), p.bias ? b->address() : 0, y->address(), scratch->address()},
                   {});
      return test::errors_of(expected, make_tensor(DType::f32, {p.batch, p.out_channels, p.out_length()},
                                                   [&](auto* out, int64_t) { device_->read(*y, 0, out, y->size()); }));
    };
    const test::Errors registers = errors("registers");
    auto times = [&](const char* name) {
      const test::Errors e = errors(name);
      return std::max(e.largest / registers.largest, e.rms / registers.rms);
    };
    auto here = [&](const char* name) {
      return device_->unavailable(find_kernel(name)).empty() && find_kernel(name).unsupported(p).empty();
    };
    for (const char* name : test::three_tf32_rungs)
      if (here(name)) {
        EXPECT_LE(times(name), test::accuracy_factor) << name << " on " << describe(p);
      }
    for (const char* name : test::tf32_rungs)  // would it be seen?
      if (here(name)) {
        EXPECT_GT(times(name), 10 * test::accuracy_factor) << name << " on " << describe(p);
      }
  }
}

TEST_F(Gpu, GpuAndEmulatorAgreeBitwiseOnIntegers) {
  // The exact pass says so for each; here both tensors are held against each other.
  auto p = find_preset("kernelbench-79-small").problem;
  InputSpec spec;
  spec.x.kind = spec.w.kind = InputKind::integers;
  Inputs in = make_inputs(p, spec);
  auto emulator = open_emulator();
  auto run = [&](Device& d, const char* kernel) {
    auto put = [&](const HostTensor& t) {
      auto m = d.allocate(t.size_bytes());
      d.write(*m, 0, t.data(), t.size_bytes());
      return m;
    };
    auto x = put(in.x), w = put(in.w);
    std::vector<float> y(static_cast<size_t>(p.y_elements()));
    auto out = d.allocate(y.size() * 4);
    d.fill(*out, 0, red_zone_word, y.size() * 4);  // not what the kernel before left there
    const auto& k = find_kernel(kernel);
    Plan plan = k.plan_for(p);
    auto scratch = d.allocate(std::max<size_t>(plan.workspace_bytes(), 256));
    d.run(k, plan, {x->address(), w->address(), 0, out->address(), scratch->address()}, {});
    d.read(*out, 0, y.data(), y.size() * 4);
    return y;
  };
  int compared = 0;
  for (const char* kernel : ladder) {
    if (!device_->unavailable(find_kernel(kernel)).empty() || !find_kernel(kernel).unsupported(p).empty()) continue;
    const auto here = run(*device_, kernel);
    EXPECT_FALSE(std::isnan(here.front()) || std::isnan(here.back())) << kernel << " has written nothing";
    EXPECT_EQ(here, run(*emulator, kernel)) << kernel;
    compared++;
  }
  EXPECT_GE(compared, 8);
}

TEST_F(Gpu, SpecimensFailAsDocumentedAtTheirOwnProblem) {
  struct Case {
    const char* kernel;
    const char* preset;
    double by_bound, by_gate;  // failing fractions; −1: right
  };
  for (const Case& c : {Case{"S0", "kernelbench-79", 0.999, 0.965},
                        {"S1", "kernelbench-64", -1, -1},
                        {"S2", "kernelbench-74", -1, -1},
                        {"S3", "kernelbench-64", -1, -1},
                        {"S4", "kernelbench-79", 0.5, 0.483}}) {
    // Full width and one sequence: minutes less than the full batch, and the fractions are the same.
    ConvProblem p = find_preset(c.preset).problem;
    p.batch = 1;
    auto r = judge(c.kernel, p);
    auto elements = static_cast<double>(r.error.elements);
    if (c.by_bound < 0) {
      EXPECT_EQ(r.verdict.status, Status::right) << c.kernel << ": " << r.verdict.sentence;
    } else {
      EXPECT_EQ(r.verdict.status, Status::wrong) << c.kernel;
      EXPECT_NEAR(static_cast<double>(r.error.failing) / elements, c.by_bound, 0.0012) << c.kernel;
      EXPECT_NEAR(static_cast<double>(r.error.gates[0].failing) / elements, c.by_gate, 0.002) << c.kernel;
    }
  }
}

TEST_F(Gpu, DeviceOracleAgreesWithTheCpuOracle) {
  test::Random random(7);
  for (int i = 0; i < 40; i++) {
    ConvProblem p = test::random_problem(random);
    expect_device_oracle_agrees(p, static_cast<uint64_t>(i));
  }
}

TEST_F(Gpu, CudnnAndOurLaunchesShareOneContext) {
  auto p = find_preset("kernelbench-79-small").problem;
  for (int i = 0; i < 3; i++) {
    auto r = judge("tiled", p, true);
    EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
    for (const auto& ref : r.references) {
      if (!ref.reason.empty()) {
        GTEST_LOG_(INFO) << ref.name << ": " << ref.reason;
        continue;
      }
      ASSERT_TRUE(ref.max_bound_ratio) << ref.name;
      EXPECT_LE(*ref.max_bound_ratio, 1) << ref.name << " " << ref.what_ran;
    }
    judge_.reset();
    references_.clear();
  }
}

TEST_F(Gpu, TimesHaveSpreadAndAFloor) {
  auto r = judge("polyphase", find_preset("kernelbench-74").problem);
  ASSERT_FALSE(r.hot.empty());
  ASSERT_FALSE(r.cold.empty());
  ASSERT_TRUE(r.floor_ms);
  EXPECT_GT(r.cold.median_ms(), 0.9 * *r.floor_ms);
  EXPECT_LT(r.hot.noise_pct(), 20);
  EXPECT_TRUE(r.launch.empty()) << "no part of milliseconds that anybody would look for";
  ConvProblem small;
  small.length = 64;
  // Where the host is slow for a moment both are the host's time, and nothing is said of a launch.
  for (int tries = 0; tries < 3 && r.launch.empty(); tries++) r = judge("polyphase", small);
  ASSERT_FALSE(r.launch.empty());
  EXPECT_GT(r.launch.min_ms(), 0.0005);
  EXPECT_LE(r.launch.min_ms(), r.hot.median_ms());
  std::printf("  a launch of nothing %.3f us, at least %.3f, a small problem %.3f us\n", r.launch.median_ms() * 1e3,
              r.launch.min_ms() * 1e3, r.hot.median_ms() * 1e3);
}

TEST_F(Gpu, ExplainReadsWhatTheSpecimenReads) {
  auto p = find_preset("kernelbench-79-small").problem;
  Activity activity;
  auto e = explain(*device_, find_kernel("S4"), p, {}, 0, 3, 10, activity);
  ASSERT_EQ(e.taps.size(), 3u);
  for (const auto& t : e.taps) {
    EXPECT_FALSE(t.expected_i);
    ASSERT_TRUE(t.read_i);
    EXPECT_EQ(*t.read_i, (10 + 1 - 2 * t.k) / 2);
  }
  ASSERT_TRUE(e.read_total);
  EXPECT_NEAR(*e.read_total, e.got, 1e-5);
}

TEST_F(Gpu, TensorCoreFragmentsAreTheEmulators) {
  constexpr int steps = 4, length = 8 * steps;
  std::mt19937 random(3);
  for (bool integers : {true, false}) {
    std::vector<float> a(16 * length), b(8 * length), on_gpu(128), on_cpu(128);
    for (auto* v : {&a, &b})
      for (float& f : *v)
        f = integers ? static_cast<float>(static_cast<int>(random() % 7) - 3)
                     : static_cast<float>(random()) / 4294967296.0f - 0.5f;
    ConvProblem p;
    p.length = length;
    auto emulator = open_emulator();
    // The emulator has mma.sync: what it lacks is only the architecture's name.
    auto run = [&](Device& d, std::vector<float>& y) {
      auto put = [&](const std::vector<float>& v) {
        auto m = d.allocate(v.size() * 4);
        d.write(*m, 0, v.data(), v.size() * 4);
        return m;
      };
      auto x = put(a), w = put(b), out = d.allocate(512);
      const auto& k = find_kernel("gpu_mma");
      d.run(k, k.plan_for(p), {x->address(), w->address(), 0, out->address(), 0}, {});
      d.read(*out, 0, y.data(), 512);
    };
    run(*device_, on_gpu);
    run(*emulator, on_cpu);
    for (int i = 0; i < 128; i++)
      EXPECT_NEAR(on_gpu[static_cast<size_t>(i)], on_cpu[static_cast<size_t>(i)], integers ? 0 : 1e-5) << i;
  }
}

TEST_F(Gpu, TooMuchMemoryIsRefusedBeforeItIsTaken) {
  uint64_t before = device_->free_memory();
  try {
    device_->allocate(before + (uint64_t{1} << 30));
    FAIL() << "allocated more than there is";
  } catch (const InputError& e) {
    EXPECT_EQ(e.field(), "memory");
  }
}

// ---- a kernel that breaks the GPU costs one engine ----------------------------------------------------------------

class GpuEngine : public Gpu {
 protected:
  json request(const char* kernel) {
    RunRequest r;
    r.kernel = kernel;
    r.problem = find_preset("kernelbench-64-small").problem;
    r.device = "cuda";
    r.references = false;
    std::vector<std::byte> payload;
    json j = request_json(r, payload);
    j["type"] = "run";
    return j;
  }
  EngineClient client_{{.command = "/proc/self/exe engine"}};
};

TEST_F(GpuEngine, AnIllegalAddressIsReportedAndTheNextRunWorks) {
  for (const char* kernel : {"gpu_wild", "gpu_trap"}) {
    Answer a = client_.request(request(kernel).dump());
    // The engine says what happened and ends, since its context is lost.
    std::string what = a.kind == Answer::Kind::error ? json::parse(a.header).value("message", "") : a.message;
    EXPECT_TRUE(a.kind == Answer::Kind::error || a.kind == Answer::Kind::crashed);
    EXPECT_NE(what.find("gpu_test"), std::string::npos) << what;
    Answer next = client_.request(request("tiled").dump());
    ASSERT_EQ(next.kind, Answer::Kind::result) << next.message << next.header;
    EXPECT_EQ(json::parse(next.header)["verdict"]["status"], "right");
  }
}

TEST_F(GpuEngine, AKernelThatNeverEndsIsEnded) {
  Answer a = client_.request(request("gpu_forever").dump(), {}, {}, 5);
  EXPECT_EQ(a.kind, Answer::Kind::hung) << a.message << a.header;
  Answer next = client_.request(request("tiled").dump());
  ASSERT_EQ(next.kind, Answer::Kind::result) << next.message << next.header;
  EXPECT_EQ(json::parse(next.header)["verdict"]["status"], "right");
}

}  // namespace
}  // namespace convscope

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "engine") return convscope::serve_engine();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
