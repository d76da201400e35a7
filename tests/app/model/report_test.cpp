// An engine's answers as values: a real one, each field, and whatever else may stand in their place.
#include "app/model/report.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/app/model/answers.h"
#include "tests/app/model/documents.h"

namespace convscope {
namespace {

using nlohmann::json;

TEST(Report, OfARealRun) {
  json j = test::answer_of(
      "run S4 --length 100 --in-channels 2 --out-channels 3 --kernel-size 3 --stride 2 --padding 1 --dilation 2");
  ASSERT_TRUE(j.is_object());
  Document asked = test::quick_document(100, "S4");
  asked.problem.dilation = 2;
  Report r = report_from(j, asked, true);
  EXPECT_TRUE(r.final);
  EXPECT_EQ(r.document, asked);
  EXPECT_EQ(r.kernel, "S4");
  EXPECT_EQ(r.file, j["kernel"]["file"]);
  EXPECT_EQ(r.device_kind, "emulator");
  EXPECT_EQ(r.status, "wrong");
  EXPECT_FALSE(r.right());
  EXPECT_EQ(r.sentence, j["verdict"]["sentence"]);
  ASSERT_EQ(r.layers.size(), j["verdict"]["layers"].size());
  ASSERT_FALSE(r.layers.empty());
  EXPECT_EQ(r.layers[0].name, j["verdict"]["layers"][0]["name"]);
  EXPECT_EQ(r.layers[0].status, j["verdict"]["layers"][0]["status"]);
  EXPECT_EQ(r.layers[0].evidence, j["verdict"]["layers"][0]["evidence"]);
  EXPECT_EQ(r.out_length, asked.problem.out_length());
  EXPECT_EQ(r.own_length, r.out_length);
  EXPECT_EQ(r.rows(), 3);
  EXPECT_EQ(r.columns(), r.out_length);
  EXPECT_EQ(r.elements, 3 * r.out_length);
  EXPECT_EQ(r.failing, j["error"]["failing"]);
  EXPECT_GT(*r.failing, 0);
  EXPECT_NEAR(*r.failing_fraction, static_cast<double>(*r.failing) / static_cast<double>(r.elements), 1e-12);
  EXPECT_EQ(r.nan, 0);
  ASSERT_TRUE(r.first_failing);
  EXPECT_EQ(r.first_failing->j, j["error"]["first_failing"]["j"]);
  EXPECT_EQ(r.first_failing->got, j["error"]["first_failing"]["got"]);
  ASSERT_FALSE(r.gates.empty());
  EXPECT_EQ(r.gates[0].failing, j["error"]["gates"][0]["failing"]);
  ASSERT_EQ(r.references.size(), j["references"].size());
  EXPECT_EQ(r.references[0].name, "oracle");
  EXPECT_FALSE(r.references[0].median_ms);
  EXPECT_EQ(r.references[0].reason, "the oracle is not timed");
  EXPECT_EQ(r.timing.source, "emulated");
  EXPECT_EQ(r.timing.median_ms, j["timing"]["median_ms"]);
  EXPECT_EQ(r.timing.samples_ms.size(), j["timing"]["samples_ms"].size());
  EXPECT_FALSE(r.timing.cold_median_ms);
  EXPECT_NE(r.timing.cold_reason, "");
  ASSERT_EQ(r.launches.size(), 1u);
  EXPECT_EQ(r.launches[0].entry, "specimen_s4");
  EXPECT_EQ(r.launches[0].block[0], 256);
  EXPECT_EQ(r.launches[0].grid[1], 3);
  EXPECT_EQ(r.accuracy_allowed, "strict");
}

// All fields, with the odd ones among them: null, and what JSON has no number for.
json full() {
  return json::parse(R"({
    "result": "0123456789abcdef", "convscope": "1", "seed": 42, "kernel_out_length": 9,
    "kernel": {"name": "S4", "file": "kernels/specimens/s4.cu", "requires": []},
    "problem": {"out_length": 10, "flops": 1.5e9, "least_bytes": 4096, "structural_zeros": 3},
    "device": {"kind": "cuda", "name": "NVIDIA H200"},
    "verdict": {"status": "wrong", "sentence": "wrong: much", "exit_code": 1, "notes": ["its weights are its own"],
                "layers": [{"name": "shape", "status": "pass", "evidence": "as it should be"}, {"name": "bound", "status": "fail", "evidence": "3"}]},
    "accuracy": {"allowed": "strict", "ran": "strict"},
    "error": {"elements": 30, "failing": 3, "failing_fraction": 0.1, "max_abs": "Infinity", "max_bound_ratio": "NaN", "rms_rel": null, "nan": 1, "inf": 1, "unwritten": 0,
              "first_failing": {"n": 0, "co": 2, "j": 7, "got": "-Infinity", "expected": 0.5, "bound": 1e-6},
              "gates": [{"atol": 0.01, "rtol": 0.02, "failing": 2, "failing_fraction": 0.066}, {"atol": 1e-4, "rtol": 1e-4, "failing": null, "failing_fraction": null}]},
    "references": [{"name": "oracle", "max_abs": 0, "max_bound_ratio": 0, "median_ms": null, "source": "computed", "reason": "not timed"},
                   {"name": "cudnn", "max_abs": 1e-7, "max_bound_ratio": 0.2, "median_ms": 0.5, "source": "measured", "what_ran": "implicit GEMM"}],
    "timing": {"median_ms": 1.25, "min_ms": 1.2, "noise_pct": 0.4, "samples": 2, "samples_ms": [1.2, 1.3], "source": "measured", "floor_ms": 0.25, "floor_from": "memory",
               "launch": {"median_ms": 0.002, "min_ms": 0.0019, "samples": 9, "noise_pct": 0.5},
               "cold": {"median_ms": 2.5, "noise_pct": 1, "samples_ms": [2.4, 2.6]}},
    "launches": [{"entry": "e", "grid": [4, 3, 2], "block": [256, 1, 1], "dynamic_shared_bytes": 1024, "main": true}],
    "phases": [{"name": "oracle", "seconds": 0.5}],
    "ranges": {"output": [-1, 2], "reference": [-1.5, 2.5], "error": [-0.5, 0.5], "ratio": null}
  })");
}

TEST(Report, EveryField) {
  Report r = report_from(full(), {}, false);
  EXPECT_EQ(r.notes, std::vector<std::string>{"its weights are its own"});
  EXPECT_FALSE(r.final);
  EXPECT_EQ(r.key, "0123456789abcdef");
  EXPECT_EQ(r.own_length, 9);
  EXPECT_EQ(r.out_length, 10);
  EXPECT_EQ(r.structural_zeros, 3);
  EXPECT_EQ(r.flops, 1.5e9);
  EXPECT_EQ(r.least_bytes, 4096);
  EXPECT_EQ(r.layers[1].status, "fail");
  EXPECT_TRUE(std::isinf(*r.max_abs));
  EXPECT_TRUE(std::isnan(*r.max_bound_ratio));
  EXPECT_FALSE(r.rms_rel) << "null is no figure, and not 0";
  EXPECT_EQ(r.unwritten, 0);
  EXPECT_EQ(r.first_failing->got, -INFINITY);
  EXPECT_EQ(r.first_failing->bound, 1e-6);
  EXPECT_EQ(r.gates[0].rtol, 0.02);
  EXPECT_FALSE(r.gates[1].failing);
  EXPECT_EQ(r.references[1].what_ran, "implicit GEMM");
  EXPECT_EQ(r.references[1].median_ms, 0.5);
  EXPECT_EQ(r.timing.cold_median_ms, 2.5);
  EXPECT_EQ(r.timing.cold_samples_ms, (std::vector<double>{2.4, 2.6}));
  EXPECT_EQ(r.timing.floor_ms, 0.25);
  EXPECT_EQ(r.timing.launch_ms, 0.0019);
  EXPECT_EQ(r.timing.launch_noise_pct, 0.5);
  EXPECT_EQ(r.timing.floor_from, "memory");
  EXPECT_EQ(r.launches[0].grid, (std::array<int64_t, 3>{4, 3, 2}));
  EXPECT_EQ(r.launches[0].dynamic_shared_bytes, 1024);
  EXPECT_TRUE(r.launches[0].main);
  EXPECT_EQ(r.phases[0].seconds, 0.5);
  EXPECT_EQ(r.ranges[0]->high, 2);
  EXPECT_EQ(r.ranges[1]->low, -1.5);
  EXPECT_FALSE(r.ranges[3]);
}

TEST(Report, NothingIsAReport) {
  Document asked;
  Report r = report_from(json::object(), asked, true);
  EXPECT_EQ(r.key, "");
  EXPECT_EQ(r.status, "");
  EXPECT_FALSE(r.failing || r.timing.median_ms || r.first_failing);
  EXPECT_EQ(r.out_length, asked.problem.out_length());
  EXPECT_EQ(r.own_length, r.out_length);
}

TEST(Report, OfARunWithoutAnAnswer) {
  Document d;
  Report r = failed_report(d, "hung", "hung: for ever");
  EXPECT_TRUE(r.final);
  EXPECT_EQ(r.status, "hung");
  EXPECT_EQ(r.sentence, "hung: for ever");
  EXPECT_EQ(r.key, "");
  EXPECT_EQ(r.kernel, d.kernel);
  EXPECT_FALSE(r.failing);
  EXPECT_NE(r.timing.reason, "");
}

// ---- anything in the place of anything ------------------------------------------------------------------------------

TEST(Report, OddFields) {
  test::with_odd_fields(full(), [](const json& j) {
    Report r = report_from(j, {}, true);
    for (const auto& l : r.layers) EXPECT_LT(l.name.size(), 100u);
  });
}

json statistics_document() {
  json bins = {{"low_decade", -2}, {"high_decade", 1}, {"per_decade", 2}};
  return {{"elements", 21},
          {"zero", 1},
          {"not_finite", 2},
          {"ratio", {1, 2, 3, 4, 5, 6, 0}},
          {"gate", {6, 5, 4, 3, 2, 1, 0}},
          {"joint", std::vector<int>(36, 1)},
          {"joint_small", std::vector<int>(6, 2)},
          {"ratio_bins", bins},
          {"gate_bins", bins},
          {"magnitude_bins", bins},
          {"error_bins", bins}};
}

// Whoever draws counts goes by the bins: there are always as many.
TEST(Report, OddStatistics) {
  test::with_odd_fields(statistics_document(), [](const json& j) {
    Statistics s = statistics_from(j, "key");
    EXPECT_EQ(s.ratio.size(), static_cast<size_t>(s.ratio_bins.count()) + 1);
    EXPECT_EQ(s.gate.size(), static_cast<size_t>(s.gate_bins.count()) + 1);
    EXPECT_EQ(s.joint.size(),
              static_cast<size_t>(s.magnitude_bins.count()) * static_cast<size_t>(s.error_bins.count()));
    EXPECT_EQ(s.joint_small.size(), static_cast<size_t>(s.error_bins.count()));
    for (double t : {0.0, 1e-2, 1e300}) s.failing_at(t);
    for (double q : {0.0, 0.5, 1.0}) s.ratio_quantile(q);
  });
}

TEST(Report, OddExplanationsAndTraces) {
  json explanation = {{"explanation",
                       {{"at", {0, 1, 2}},
                        {"got", 1.5},
                        {"expected", "NaN"},
                        {"bias", 0},
                        {"all_taps", true},
                        {"first_channel", 0},
                        {"channels", 2},
                        {"notes", {"a", "b"}},
                        {"read_total", 1},
                        {"launches", 3},
                        {"near", {{"x", nullptr}, {"y", {{"first", 4}, {"values", {1.5, "NaN"}}}}}},
                        {"taps",
                         {{{"k", 1},
                           {"formula", "f"},
                           {"note", "n"},
                           {"expected_i", 3},
                           {"read_i", nullptr},
                           {"count", 2},
                           {"expected_sum", 1},
                           {"read_sum", 1}}}}}}};
  Explained e = explained_from(explanation, {});
  EXPECT_EQ(e.j, 2);
  EXPECT_TRUE(std::isnan(e.expected));
  EXPECT_EQ(e.taps[0].expected_i, 3);
  EXPECT_FALSE(e.taps[0].read_i);
  EXPECT_EQ(e.notes.size(), 2u);
  EXPECT_TRUE(e.near_x.values.empty());
  EXPECT_EQ(e.near_y.at(4), 1.5);
  EXPECT_TRUE(std::isnan(*e.near_y.at(5)));
  EXPECT_FALSE(e.near_y.at(3) || e.near_y.at(6));
  test::with_odd_fields(explanation, [](const json& j) {
    const Explained odd = explained_from(j, {});
    for (const int64_t position : {int64_t{0}, int64_t{4}, std::numeric_limits<int64_t>::max()})
      odd.near_y.at(position);
  });

  json trace = {{"at", {0, 1, 2}},
                {"reason", ""},
                {"writes", 1},
                {"reads_total", 2},
                {"through_shared", true},
                {"through_workspace", true},
                {"reads", {{"x", 5, 30}, {"w", 6, 31}}},
                {"writers", {{{"block", 4}, {"thread", 7}, {"file", "f.cu"}, {"line", 12}}}}};
  Traced t = traced_from(trace);
  EXPECT_TRUE(t.through_shared && t.through_workspace);
  EXPECT_EQ(t.writers[0].thread, 7);
  EXPECT_EQ(t.reads[1].tensor, 'w');
  EXPECT_EQ(t.reads[1].index, 6);
  test::with_odd_fields(trace, [](const json& j) { traced_from(j); });
}

}  // namespace
}  // namespace convscope
