#include "app/engine/service.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/resource.h>
#include <thread>

#include "app/engine/inventory.h"
#include "app/engine/profile_codec.h"
#include "app/engine/service_state.h"
#include "kernels/base/text.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/sources.h"
#include "kernels/verify/element_trace.h"
#include "kernels/verify/statistics.h"
#include "kernels/verify/stray_reads.h"
#include "profiling/cupti/cupti.h"
#include "profiling/profile/profile.h"
#include "profiling/roofline/measure.h"

namespace convscope {
using nlohmann::json;
namespace {

// What RLIMIT_DATA counts: private writable memory, also what was never touched.
[[maybe_unused]] uint64_t data_bytes() {
  uint64_t kilobytes = 0;
  if (FILE* f = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f))
      if (std::strncmp(line, "VmData:", 7) == 0) kilobytes = std::strtoull(line + 7, nullptr, 10);
    std::fclose(f);
  }
  return kilobytes << 10;
}

// A kernel on the emulator is ordinary code: it shall run into a limit before the machine runs out of memory. Not with
// CUDA, which reserves address space freely, nor with the sanitizers.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr uint64_t spare = uint64_t{256} << 20;
  uint64_t available = available_host_memory();
  struct rlimit limit {};
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && available > 2 * spare) {
    // What the process already has is not part of what is available. The stacks of a worker's fibres are room that is
    // hardly ever used.
    uint64_t stacks = static_cast<uint64_t>(WorkerPool::shared().size()) * (uint64_t{72} << 20);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, data_bytes() + stacks + available - spare);
    setrlimit(RLIMIT_DATA, &limit);
  }
#endif
}

[[noreturn]] void bad(const char* field, const std::string& value, const std::string& rule) {
  throw InputError(field, value, rule);
}

std::vector<double> numbers_of(const json& request, const char* field, size_t count) {
  auto it = request.find(field);
  if (it == request.end() || !it->is_array() || it->size() != count)
    bad(field, "", "must be a list of " + std::to_string(count) + " numbers");
  std::vector<double> v;
  for (const auto& n : *it) {
    if (!n.is_number()) bad(field, brief(n), "must be a number");
    v.push_back(n);
  }
  return v;
}

// Whole numbers within a size; anything else is refused before it is converted.
int64_t index_of(double v, int64_t limit, const char* field) {
  if (!(v >= 0) || v > static_cast<double>(limit) || v != std::floor(v))
    bad(field, number_text(v), "must be a whole number between 0 and " + std::to_string(limit));
  return static_cast<int64_t>(v);
}

}  // namespace

std::string key_of(const RunRequest& r, const std::string& device) {
  std::vector<std::byte> files;
  json j = request_json(r, files);
  for (const char* unimportant : {"samples", "references", "pictures", "tolerance"}) j.erase(unimportant);
  for (auto& file : j["files"]) file.erase("name");  // its contents count
  j["device"] = device;
  j["version"] = CONVSCOPE_VERSION;
  uint64_t h = 0xcbf29ce484222325u;
  auto add = [&](const void* data, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3u;
  };
  std::string text = j.dump();
  add(text.data(), text.size());
  add(files.data(), files.size());
  if (r.kernel != auto_kernel)
    for (const auto* k : all_kernels())
      if (k->name() == r.kernel) add(k->text().data(), k->text().size());
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
  return out;
}

void add_ranges(json& j, const Pyramid& pyramid, const ResultTensors& tensors) {
  for (int q = 0; q < 4; q++) {
    auto rows = static_cast<double>(tensors.rows), columns = static_cast<double>(tensors.columns);
    Cell all = pyramid.tile({static_cast<Quantity>(q), 0, rows, 0, columns, 1, 1}).front();
    j["ranges"][quantity_names[q]] =
        all.minimum <= all.maximum ? json{number_json(all.minimum), number_json(all.maximum)} : json(nullptr);
  }
}

std::string text_of(const json& request, const char* field) {
  auto it = request.find(field);
  if (it == request.end()) return "";
  if (!it->is_string()) bad(field, brief(*it), "must be text");
  return *it;
}

// The floor of a GPU whose ceilings have been measured rests on those, as a profile's does.
static void add_floor(json& j, const RunReport& report) {
  auto ceilings = known_ceilings(report.device);
  if (!ceilings || report.hot.empty()) return;
  const ConvProblem& p = report.spec.problem;
  auto floor =
      floor_of(*ceilings, arithmetic_of(p, report.spec.accuracy, true), flops(p), static_cast<double>(least_bytes(p)));
  if (!floor) return;
  j["timing"]["floor_ms"] = floor->ms;
  j["timing"]["floor_from"] = floor->by_bytes ? "bytes" : "flops";
  j["timing"]["floor_source"] = ceilings->gpu + ", " + ceilings->source;
}

Service::State::Opened& Service::State::open(const std::string& name) {
  // One device under all its names, and no entry for what cannot be opened.
  std::string why, key = name;
  if (name.empty() || name == "auto") key = cuda_devices(why).empty() ? "emulator" : "cuda:0";
  if (name == "cuda") key = "cuda:0";
  if (auto it = devices.find(key); it != devices.end()) return it->second;
  auto device = open_device(key);
  if (device->is_emulator() && devices.empty()) limit_memory();
  auto references = references_for(*device);
  Opened& o = devices[key];
  o.device = std::move(device);
  o.references = std::move(references);
  o.judge = std::make_unique<Judge>(*o.device, o.references);  // it keeps references to both
  return o;
}

std::shared_ptr<const KeptResult> Service::State::result(const json& request) {
  std::lock_guard lock(mutex);
  auto it = request.find("result");
  std::string key = it != request.end() && it->is_string() ? it->get<std::string>() : "";
  for (const auto& of : {kept, beside.output, beside.difference})
    if (of && of->key == key) return of;
  bad("result", key, "is not kept any more: run it again");
}

QuickLooks::Now::Now(QuickLooks& of) : of_(of) {
  std::lock_guard lock(of_.mutex_);
  of_.running_++;
}
QuickLooks::Now::~Now() {
  std::lock_guard lock(of_.mutex_);
  of_.running_--;
  of_.answered_++;
  of_.last_ = std::chrono::steady_clock::now();
}

void QuickLooks::let_pass(const Activity& activity) {
  using namespace std::chrono_literals;
  constexpr auto for_the_first = 25ms, for_the_next = 5ms, at_most = 80ms;
  auto start = std::chrono::steady_clock::now();
  uint64_t before = 0;
  {
    std::lock_guard lock(mutex_);
    before = answered_;
  }
  while (!activity.cancelled()) {
    auto now = std::chrono::steady_clock::now();
    {
      std::lock_guard lock(mutex_);
      bool over = answered_ > before && now - last_ > for_the_next,
           none = answered_ == before && now - start > for_the_first;
      if (now - start > at_most || (!running_ && (over || none))) return;
    }
    std::this_thread::sleep_for(1ms);
  }
}

Service::Service() : state_(std::make_unique<State>()) {}
Service::~Service() {
  if (state_->profiled) Cupti::shared().release();  // before the contexts go
}

bool Service::is_light(const std::string& type) {
  return type == "tile" || type == "find" || type == "numbers" || type == "source";
}

double Service::patience_s(const json& request, bool kernel_runs) {
  double least = 10;
  if (const char* text = std::getenv("CONVSCOPE_PATIENCE_S"))
    if (double s = std::atof(text); s > 0) least = s;
  // What is not the kernel is this program's own, which does come to an end: gigabytes take it long, without a beat.
  if (!kernel_runs) return std::max(least, 600.0);
  try {
    RunSpec spec;
    spec.problem = problem_from(request.at("problem"));
    if (check(spec.problem)) return least;
    std::string why;
    bool emulated = text_of(request, "device") == "emulator" || cuda_devices(why).empty();
    // On the emulator a beat is a finished block. A GPU gives no sign before a launch has ended: twenty times what a
    // slow kernel would take, by 0.5 TFLOP/s (the slowest exhibit reaches 1.4 on an H200). The kernel's phase includes
    // that its output is looked through: at 250 MB/s this shows only where there are gigabytes.
    double launch_s = emulated ? 0 : 20 * flops(spec.problem) / 0.5e12;
    double copies_s = static_cast<double>(Judge::predict(spec, emulated).host) / 250e6;
    return std::max({least, launch_s, copies_s > 10 ? copies_s : 0});
  } catch (const std::exception&) {
    return least;
  }
}

Service::Reply Service::answer(const json& request, std::span<const std::byte> payload, Activity& activity,
                               const std::function<void(const std::string&)>& partial) {
  std::string type = text_of(request, "type");
  std::optional<QuickLooks::Now> look;
  if (is_light(type))
    look.emplace(state_->looks);
  else if (state_->ending.valid())
    state_->ending.get();
  compile_for_device(request, activity);
  if (type == "run") return run(request, payload, activity, partial);
  if (type == "beside") return beside(request, payload, activity);
  if (type == "judge") return judge(request, payload, activity);
  if (type == "profile") return profile_one(request, payload, activity);
  if (type == "draw") return draw(request, payload, activity);
  if (type == "samples") return sample(request, payload, activity);
  if (type == "disassembly") return disassemble_one(request, payload, activity);
  if (type == "live") return live(request, payload, activity);
  if (type == "bench") return bench_several(request, payload, activity);
  if (type == "explain") return explain_one(request, payload, activity);
  if (type == "xray") return xray_one(request, payload, activity, partial);
  if (type == "fix") return fix(request, payload, activity);
  if (type == "tile") return tile(request);
  if (type == "find") return find(request);
  if (type == "numbers") return numbers(request);
  if (type == "tensor") return tensor(request);
  if (type == "statistics") return statistics(request, activity);
  if (type == "trace") return trace(request, payload, activity);
  if (type == "source") return source(request);
  if (type == "kernel_file") return kernel_file(request, payload, activity);
  if (type == "list") return list(request);
  if (type == "info") return info();
  bad("type", type, "is no request of this protocol");
}

RunSpec run_spec_of(const RunRequest& r) {
  RunSpec spec;
  spec.kernel = &find_kernel(r.kernel);
  spec.problem = r.problem;
  spec.inputs = r.inputs;
  spec.accuracy = r.accuracy;
  spec.tolerance = r.tolerance;
  require_legal(spec.problem);
  return spec;
}

Service::Reply Service::run(const json& request, std::span<const std::byte> payload, Activity& activity,
                            const std::function<void(const std::string&)>& partial) {
  RunRequest r = request_from(request, payload);
  RunSpec spec = run_spec_of(r);
  spec.samples = r.samples;
  spec.references = r.references;
  spec.pictures = r.pictures;
  auto& o = state_->open(r.device);
  std::string key = key_of(r, o.device->info().name);
  state_->live.reset();
  {
    std::lock_guard lock(state_->mutex);  // one large result at a time: the old one goes first
    state_->kept.reset();
    state_->beside.difference.reset();
    // Another's output is what the next result stands beside, too, but not where memory is scarce.
    constexpr size_t small = size_t{512} << 20;
    if (auto& output = state_->beside.output; output && output->tensors->bytes() > small) output.reset();
  }
  std::shared_ptr<ResultTensors> pictured;  // whose pyramid there is
  std::shared_ptr<Pyramid> pyramid;
  auto keep = [&](const RunReport& report) {
    if (!report.tensors) return;
    if (spec.pictures && report.tensors != pictured) {
      pyramid = std::make_shared<Pyramid>(*report.tensors, &activity);
      pictured = report.tensors;
    }
    auto k = std::make_shared<KeptResult>();
    k->key = key;
    k->tensors = report.tensors;
    k->pyramid = pyramid;
    k->inputs = report.inputs;
    k->problem = report.spec.problem, k->spec = report.spec.inputs;
    k->own_length = report.own_length;
    std::lock_guard lock(state_->mutex);
    state_->kept = k;
  };
  auto add_phases = [&](json& j) {
    j["phases"] = json::array();
    for (const auto& phase : activity.phases())
      j["phases"].push_back({{"name", phase.name}, {"seconds", phase.seconds}});
  };
  // Clocks, temperature and power while the kernel is timed, and nothing else.
  std::unique_ptr<ConditionsWatch> watch;
  std::optional<Conditions> conditions;
  auto timing = [&](bool begins) {
    if (begins)
      watch = std::make_unique<ConditionsWatch>(o.device->info().pci_bus);
    else if (watch)
      conditions = watch->finish();
  };
  auto header = [&](const RunReport& report) {
    json j = report_json(report);
    j["conditions"] = conditions ? conditions_json(*conditions) : json{{"reason", "the kernel was not timed"}};
    j["result"] = report.tensors ? json(key) : json(nullptr);
    if (pyramid && report.tensors) add_ranges(j, *pyramid, *report.tensors);
    add_phases(j);
    add_floor(j, report);
    return header_text(j);
  };
  // Before the end there is no verdict and no time; the pictures can be looked at already.
  auto early_header = [&](const RunReport& report) {
    json j = report_json(report);
    j["result"] = spec.pictures && report.tensors ? json(key) : json(nullptr);
    if (pyramid && report.tensors) add_ranges(j, *pyramid, *report.tensors);
    for (const char* field : {"status", "sentence", "exit_code"}) j["verdict"][field] = nullptr;
    for (const char* field : {"reason", "cold_reason", "floor_reason", "packed_reason"})
      j["timing"][field] = "not timed yet";
    j["conditions"] = {{"reason", "not timed yet"}};
    add_phases(j);
    return header_text(j);
  };
  auto early = [&](const RunReport& first) {
    if (spec.pictures) keep(first);
    if (partial) partial(early_header(first));
    if (partial && spec.pictures) state_->looks.let_pass(activity);
  };
  RunReport report = o.judge->run(spec, activity, early, timing);
  keep(report);
  return {header(report), {}};
}

// The verdict alone, of one problem among many: what `run` has kept stays.
Service::Reply Service::judge(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  RunSpec spec = run_spec_of(r);
  spec.verdict_only = true;
  spec.right_only = request.value("right_only", json(false)) == json(true);
  return {header_text(report_json(state_->open(r.device).judge->run(spec, activity))), {}};
}

Service::Reply Service::explain_one(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  const KernelDefinition& kernel = find_kernel(r.kernel);
  require_legal(r.problem);
  auto at = numbers_of(request, "at", 3);
  auto& o = state_->open(r.device);
  auto whole = [&](size_t i, const char* name, int64_t limit) { return index_of(at[i], limit - 1, name); };
  Explanation e = explain(*o.device, kernel, r.problem, r.inputs, whole(0, "n", r.problem.batch),
                          whole(1, "co", r.problem.out_channels), whole(2, "j", r.problem.out_length()), activity);
  json j = {{"kernel", kernel.name()},
            {"problem", problem_json(r.problem)},
            {"device", device_json(o.device->info())},
            {"explanation", explanation_json(e, r.problem)}};
  return {header_text(j), {}};
}

Service::Reply Service::tile(const json& request) {
  auto kept = state_->result(request);
  if (!kept->pyramid) bad("result", kept->key, "was made without pictures");
  auto window = numbers_of(request, "window", 4);
  auto size = numbers_of(request, "size", 2);
  std::string quantity = text_of(request, "quantity");
  TileRequest t;
  bool known = false;
  for (int q = 0; q < 4; q++)
    if (quantity == quantity_names[q]) t.quantity = static_cast<Quantity>(q), known = true;
  if (!known) bad("quantity", quantity, "must be output, reference, error or ratio");
  t.width = static_cast<int>(index_of(size[0], 4096, "size")),
  t.height = static_cast<int>(index_of(size[1], 4096, "size"));
  if (t.width < 1 || t.height < 1) bad("size", "0", "must be at least 1");
  t.row0 = window[0], t.row1 = window[1], t.column0 = window[2], t.column1 = window[3];
  auto rows = static_cast<double>(kept->tensors->rows), columns = static_cast<double>(kept->tensors->columns);
  if (!(t.row0 >= 0 && t.row0 < t.row1 && t.row1 <= rows && t.column0 >= 0 && t.column0 < t.column1 &&
        t.column1 <= columns))
    bad("window", "",
        "must lie within 0 to " + number_text(rows) + " rows and 0 to " + number_text(columns) + " columns");
  auto cells = kept->pyramid->tile(t);
  Reply reply{"{}", std::vector<std::byte>(cells.size() * sizeof(Cell))};
  std::memcpy(reply.payload.data(), cells.data(), reply.payload.size());
  return reply;
}

Service::Reply Service::find(const json& request) {
  auto kept = state_->result(request);
  if (!kept->pyramid) bad("result", kept->key, "was made without pictures");
  auto from = numbers_of(request, "from", 2);
  // One step outside is where a search from the very beginning starts.
  auto place = [&](double v, int64_t limit) { return v == -1 ? int64_t{-1} : index_of(v, limit, "from"); };
  auto direction = request.find("forward");
  if (direction != request.end() && !direction->is_boolean())
    bad("forward", brief(*direction), "must be true or false");
  bool forward = direction == request.end() || direction->get<bool>();
  auto found = kept->pyramid->next_failing(
      {std::max<int64_t>(0, place(from[0], kept->tensors->rows - 1)), place(from[1], kept->tensors->columns)}, forward);
  json j = {{"place", nullptr}};
  if (found) j["place"] = {found->row, found->column};
  return {j.dump(), {}};
}

Service::Reply Service::numbers(const json& request) {
  auto kept = state_->result(request);
  const auto& t = *kept->tensors;
  auto w = numbers_of(request, "window", 4);
  int64_t row0 = index_of(w[0], t.rows, "window"), row1 = index_of(w[1], t.rows, "window"),
          column0 = index_of(w[2], t.columns, "window"), column1 = index_of(w[3], t.columns, "window");
  if (row0 >= row1 || column0 >= column1 || (row1 - row0) * (column1 - column0) > 65536)
    bad("window", "", "must hold 1 to 65536 elements");
  Reply reply{"{}", {}};
  reply.payload.resize(static_cast<size_t>((row1 - row0) * (column1 - column0)) * 32);
  auto* out = reinterpret_cast<double*>(reply.payload.data());
  for (int64_t r = row0; r < row1; r++)
    for (int64_t c = column0; c < column1; c++) {
      int64_t e = r * t.columns + c;
      const double reference = kept->reference ? kept->reference->output_at(e) : t.reference_at(e);
      for (double v : {t.output_at(e), reference, t.error_at(e), static_cast<double>(t.ratio_at(e))}) *out++ = v;
    }
  return reply;
}

Service::Reply Service::tensor(const json& request) {
  auto kept = state_->result(request);
  std::string what = text_of(request, "what");
  const ConvProblem& p = kept->problem;
  std::vector<int64_t> shape;
  DType dtype = p.dtype;
  const std::byte* data = nullptr;
  if (what == "x" || what == "w" || what == "b") {
    const HostTensor& t = what == "x" ? kept->inputs->x : what == "w" ? kept->inputs->w : kept->inputs->b;
    shape = t.shape, data = t.data();
  } else if (what == "y" || what == "oracle") {
    shape = {p.batch, p.out_channels, p.out_length()};
    if (what == "y")
      data = kept->tensors->output.data();
    else
      dtype = DType::f64;
  } else {
    bad("what", what, "must be x, w, b, y or oracle");
  }
  int64_t elements = 1;
  for (int64_t n : shape) elements *= n;
  constexpr int64_t most = int64_t{1} << 23;
  auto range = [&](const char* field, int64_t otherwise) {
    auto it = request.find(field);
    if (it == request.end()) return otherwise;
    if (!it->is_number()) bad(field, brief(*it), "must be a number");
    return index_of(*it, elements, field);
  };
  int64_t first = range("first", 0), count = std::min({range("count", elements), elements - first, most});
  Reply reply;
  reply.payload.resize(static_cast<size_t>(count) * size_of(dtype));
  if (count == 0) {
    // nothing to copy
  } else if (data) {
    std::memcpy(reply.payload.data(), data + static_cast<size_t>(first) * size_of(dtype), reply.payload.size());
  } else {
    // The oracle is not kept: it is worked out again, row by row.
    auto oracle = make_cpu_oracle(p, *kept->inputs);
    int64_t columns = p.out_length();
    auto* out = reinterpret_cast<double*>(reply.payload.data());
    for (int64_t at = first; at < first + count;) {
      int64_t row = at / columns, column = at % columns, n = std::min(columns - column, first + count - at);
      int64_t rows = column == 0 ? std::max<int64_t>(1, (first + count - at) / columns) : 1;
      if (rows > 1) n = columns;
      oracle->compute({row, rows, column, n}, out + (at - first), nullptr);
      at += rows * n;
    }
  }
  reply.header = json{{"dtype", name_of(dtype)}, {"shape", shape}, {"first", first}, {"count", count}}.dump();
  return reply;
}

Service::Reply Service::statistics(const json& request, Activity& activity) {
  auto kept = state_->result(request);
  return {header_text(statistics_json(error_statistics(*kept->tensors, activity))), {}};
}

Service::Reply Service::trace(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  require_legal(r.problem);
  auto at = numbers_of(request, "at", 3);
  auto whole = [&](size_t i, const char* name, int64_t limit) { return index_of(at[i], limit - 1, name); };
  const int64_t at_n = whole(0, "n", r.problem.batch), at_co = whole(1, "co", r.problem.out_channels),
                at_j = whole(2, "j", r.problem.out_length());
  ElementTrace t = trace_element(find_kernel(r.kernel), r.problem, r.inputs, at_n, at_co, at_j, activity);
  json writers = json::array(), reads = json::array();
  for (const auto& w : t.writers)
    writers.push_back({{"block", w.block}, {"thread", w.thread}, {"file", w.file}, {"line", w.line}});
  for (const auto& read : t.reads) reads.push_back({std::string(1, read.tensor), read.index, read.line, read.file});
  json strays = json::array();
  for (const auto& s : stray_reads(t, r.problem, at_n, at_co, at_j))
    strays.push_back({{"tensor", std::string(1, s.tensor)},
                      {"file", s.file},
                      {"line", s.line},
                      {"stray", s.stray},
                      {"reads", s.all},
                      {"words", s.words},
                      {"from_file", s.from_file},
                      {"from_line", s.from_line}});
  json j = {{"at", request.at("at")},
            {"stray_reads", strays},
            {"reason", t.reason},
            {"writers", writers},
            {"writes", t.writes},
            {"reads", reads},
            {"reads_total", t.reads_total},
            {"reads_unknown", t.unknown},
            {"through_shared", t.through_shared},
            {"through_workspace", t.through_workspace}};
  return {header_text(j), {}};
}

Service::Reply Service::source(const json& request) {
  const KernelDefinition& kernel = find_kernel(text_of(request, "kernel"));
  const auto files = kernel.text().empty() ? with_headers(kernel.file()) : with_headers({kernel.file(), kernel.text()});
  if (files.empty()) bad("kernel", kernel.name(), "was linked in without its text");
  json headers = json::array();
  for (size_t i = 1; i < files.size(); i++) headers.push_back({{"file", files[i].file}, {"text", files[i].text}});
  return {header_text({{"file", files[0].file}, {"text", files[0].text}, {"headers", headers}}), {}};
}

Service::Reply Service::list(const json& request) {
  std::string what = text_of(request, "what");
  std::string device = text_of(request, "device");
  return {header_text(inventory_list(what, device.empty() ? "auto" : device)), {}};
}

Service::Reply Service::info() { return {header_text(inventory_info()), {}}; }

}  // namespace convscope
