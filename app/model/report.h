// A run's answer (what `convscope run --json` prints) as plain values for panels. Immutable once made; absent figures
// are empty, with the reason beside them.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model/conditions.h"
#include "app/model/document.h"
#include "app/model/packed_time.h"

namespace convscope {

struct ReportLayer {
  std::string name, status, evidence;  // status: pass, fail, skipped
  std::vector<std::string> found;      // "race", …: Finding, by name
};
struct ReportGate {
  double atol = 0, rtol = 0;
  std::optional<int64_t> failing;
  std::optional<double> failing_fraction;
};
struct ReportElement {
  int64_t n = 0, co = 0, j = 0;
  double got = 0, expected = 0, bound = 0;
};
struct ReportReference {
  std::string name, what_ran, reason, source;
  std::optional<double> max_abs, max_bound_ratio, median_ms;
};
struct ReportTiming {
  std::optional<double> median_ms, min_ms, noise_pct, cold_median_ms, cold_noise_pct, floor_ms;
  std::optional<double> launch_ms,
      launch_noise_pct;  // of a launch of nothing at least, where the kernel's time is short
  std::vector<double> samples_ms, cold_samples_ms;
  std::string source, reason, cold_reason, floor_from, floor_source, floor_reason;
  std::string newer;  // of a recorded run: that a later profile has another time
  PackedTime packed;
};
struct ReportLaunch {
  std::string entry;
  std::array<int64_t, 3> grid{}, block{};
  int64_t dynamic_shared_bytes = 0;
  bool main = false;  // the engine says that it is the one that counts; older recordings do not say so of any
};
struct ReportPhase {
  std::string name;
  double seconds = 0;
};
struct ValueRange {
  double low = 0, high = 0;
};

struct Report {
  Document document;    // what was asked for
  uint64_t serial = 0;  // counts answers: a later one is larger
  bool final = false;   // else the first comparison only: no verdict, no time yet
  std::string key;      // names its tensors in the engine; "" when there are none
  uint64_t text = 0;    // of a kernel's file that a person opened: which of its texts ran (OpenedFile::texts)

  std::string recorded;  // "NVIDIA H200, 2026-11-22": where and when; "" for what was run now
  std::string kernel, file, device_kind, device_name;
  std::string architecture;  // of the device: "sm_90"
  int64_t multiprocessors = 0;
  int64_t out_length = 0, own_length = 0, structural_zeros = 0;
  double flops = 0, least_bytes = 0;

  std::string status;  // right, wrong, crashed, hung, not-run; "" while not final
  std::string sentence;
  std::vector<std::string> notes;  // to know beside the verdict, of a right one as well
  std::vector<ReportLayer> layers;
  std::string accuracy_allowed, accuracy_ran;

  int64_t elements = 0;
  std::optional<int64_t> failing, nan, unwritten;
  std::optional<double> failing_fraction, max_abs, max_bound_ratio, rms_rel;
  std::optional<ReportElement> first_failing;
  std::vector<ReportGate> gates;
  std::vector<ReportReference> references;
  ReportTiming timing;
  GpuConditions conditions;  // while it was timed
  std::vector<ReportLaunch> launches;
  std::vector<ReportPhase> phases;
  std::array<std::optional<ValueRange>, 4> ranges;  // by Quantity, of all finite elements

  int64_t rows() const { return document.problem.batch * document.problem.out_channels; }
  int64_t columns() const { return out_length; }
  bool right() const { return status == "right"; }
};

// Errors: nlohmann::json::exception when a field has the wrong type.
Report report_from(const nlohmann::json& j, const Document& asked, bool final);

// A report for a run that gave no answer: `status` is crashed, hung or not-run.
Report failed_report(const Document& asked, const std::string& status, const std::string& sentence);

// ---- what else the engine tells -----------------------------------------------------------------------------------

struct SourceText {
  std::string file, text;
};

struct KernelEntry {
  std::string name, kind, idea, file, reason, home_preset;
  std::string accuracy = "strict";  // what it promises
  std::vector<std::string> requires_hardware;
  bool available = true;
};

struct StatisticsBins {
  int low_decade = 0, high_decade = 0, per_decade = 1;
  int count() const { return (high_decade - low_decade) * per_decade; }
  double edge(int i) const;
};
struct Statistics {
  std::string key;  // of the result
  int64_t elements = 0, zero = 0, not_finite = 0;
  std::vector<double> ratio, gate, joint, joint_small;  // counts: see kernels/verify/statistics.h
  StatisticsBins ratio_bins, gate_bins, magnitude_bins, error_bins;
  // Elements with |error| > t·(1 + |reference|), and what is not finite: exact where t is a bin's edge.
  double failing_at(double tolerance) const;
  // The least bin edge below which a share q of all finite elements lies, the highest one when it is beyond; 0 for the
  // exact ones.
  double ratio_quantile(double q) const;
};
Statistics statistics_from(const nlohmann::json& j, const std::string& key);

struct ExplainedTap {
  int64_t k = 0;
  std::string formula, note;
  std::optional<int64_t> expected_i, read_i;
  double count = 0, expected_sum = 0;
  std::optional<double> read_sum;
  std::optional<int64_t> beside_i;  // the input outside of its row that the kernel goes on to
  bool differs() const { return beside_i || !note.empty() || expected_i != read_i; }
};
// Values beside each other, from position `first` on.
struct ValuesNear {
  int64_t first = 0;
  std::vector<double> values;
  std::optional<double> at(int64_t position) const;
};
struct Explained {
  Document document;
  int64_t n = 0, co = 0, j = 0, first_channel = 0, channels = 0;
  double got = 0, expected = 0, bias = 0;
  std::optional<double> read_total;
  bool all_taps = true;
  int launches = 0;
  std::vector<ExplainedTap> taps;
  ValuesNear near_x, near_y;  // around the taps: of the only input channel, and what the kernel wrote
  std::vector<std::string> notes;
  bool differs() const;  // the kernel takes something else for it than the definition
};
Explained explained_from(const nlohmann::json& j, const Document& asked);

struct TracedWriter {
  int64_t block = 0, thread = 0;
  std::string file;
  int line = 0;
};
struct TracedRead {
  char tensor = 'x';
  int64_t index = 0;
  int line = 0;
  std::string file;
};
// A line that reads for the element what the definition does not take for it, or writes there what belongs elsewhere.
struct TracedStray {
  std::string file, words;  // words: "reads x at i = 3, which none of its taps takes"
  int line = 0;
  int64_t stray = 0, reads = 0;  // reads 0: of other threads, not counted
  std::string from_file;  // who brought it to shared memory; "" where that is not known, or where it is not there
  int from_line = 0;
};
struct Traced {
  int64_t n = 0, co = 0, j = 0, writes = 0, reads_total = 0, unknown = 0;
  std::string reason;
  std::vector<TracedWriter> writers;
  std::vector<TracedRead> reads;
  std::vector<TracedStray> strays;
  bool through_shared = false, through_workspace = false;
};
Traced traced_from(const nlohmann::json& j);

}  // namespace convscope
