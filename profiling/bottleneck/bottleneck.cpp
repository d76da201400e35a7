#include "profiling/bottleneck/bottleneck.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace convscope {
namespace {

using Facts = BottleneckFacts;
using Found = std::optional<Bottleneck>;

std::optional<double> get(const Facts& f, std::string_view name) {
  auto it = f.counters.find(name);
  if (it == f.counters.end() || !std::isfinite(it->second)) return std::nullopt;
  return it->second;
}
double or_zero(const Facts& f, std::string_view name) { return get(f, name).value_or(0); }

std::string in_ms(double ms) { return ms < 1 ? fmt::format("{:.3g} µs", ms * 1e3) : fmt::format("{:.3g} ms", ms); }

std::optional<double> dram_bytes(const Facts& f) {
  auto read = get(f, "dram_read_bytes"), write = get(f, "dram_write_bytes");
  if (!read || !write) return std::nullopt;
  return *read + *write;
}

// The stall that warps spend most of their waiting in, and its share of it.
struct TopStall {
  const Stall* stall = nullptr;
  double share = 0;
};
TopStall top_stall(const Facts& f) {
  TopStall top;
  double all = 0, most = 0;
  for (const auto& s : stalls()) {
    if (!s.waiting) continue;
    double v = or_zero(f, s.name);
    all += v;
    if (v > most) most = v, top.stall = &s;
  }
  top.share = all > 0 ? most / all : 0;
  return top;
}
bool waits_for(const Facts& f, std::string_view name, double share) {
  auto top = top_stall(f);
  return top.stall && top.stall->name == name && top.share >= share;
}

double arithmetic_done(const Facts& f) {
  return 2 * or_zero(f, "ffma_threads") + or_zero(f, "fadd_threads") + or_zero(f, "fmul_threads");
}

// Whether the products are made by the tensor cores. Their counter shows up to 3 % where a kernel uses none, so where
// multiply-adds were counted that account for all the work they are believed.
bool on_tensor_cores(const Facts& f) {
  const bool elsewhere = get(f, "ffma_threads") && f.flops > 0 && arithmetic_done(f) >= 0.9 * f.flops;
  return or_zero(f, "tensor_pipe_busy") >= 2 && !elsewhere;
}

// ---- what is nearest to its limit ----------------------------------------------------------------------------------

struct Unit {
  const char* name;   // of its share
  const char* words;  // "the L2 cache"
  bool many;          // "are", not "is"
  double busy = 0;    // %
};

// Those that were counted, the busiest first.
std::vector<Unit> units_of(const Facts& f) {
  std::vector<Unit> units;
  for (Unit u : {Unit{"dram_busy", "the memory", false}, Unit{"l2_busy", "the L2 cache", false},
                 Unit{"l1_busy", "the L1 cache", false}, Unit{"tensor_pipe_busy", "the tensor cores", true},
                 Unit{"fma_pipe_busy", "the multiply-add units", true}})
    if (auto busy = get(f, u.name)) u.busy = *busy, units.push_back(u);
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.busy > b.busy; });
  return units;
}

constexpr double at_its_limit = 80;  // %: a plain copy reaches about 90 % of the bandwidth of a datasheet
constexpr double as_near = 2;        // percentage points: two units that close are as near to their limits

// Whether it is at its limit, or no other that was counted is nearer to its own.
bool is_nearest(const Facts& f, std::string_view name) {
  const double own = or_zero(f, name);
  const auto units = units_of(f);
  return own >= at_its_limit || units.empty() || units.front().busy <= own + as_near;
}

std::string limit_words(const Facts& f, std::string_view name, bool many) {
  if (or_zero(f, name) >= at_its_limit) return many ? "they are at their limit" : "it is at its limit";
  return get(f, "l1_busy") && get(f, "l2_busy") ? "nothing else is nearer to its limit"
                                                : "of what was counted, nothing is nearer to its limit";
}

bool is_reached(const Facts& f, std::string_view rung) {
  return std::find(f.reached.begin(), f.reached.end(), rung) != f.reached.end();
}

// ---- the rules, in the order in which they are asked ---------------------------------------------------------------

Found launch_bound(const Facts& f) {
  if (!f.ms || f.emulated || *f.ms >= 0.008) return {};
  if (!f.floor_ms || *f.floor_ms > 0.25 * *f.ms) return {};
  return Bottleneck{"launch-bound",
                    fmt::format("it is over before the GPU is full: {} a call, of which the work itself needs {}",
                                in_ms(*f.ms), in_ms(*f.floor_ms)),
                    "a larger batch, or several layers in one launch", ""};
}

Found few_blocks(const Facts& f) {
  if (!f.blocks || !f.multiprocessors || *f.blocks >= 0.75 * *f.multiprocessors) return {};
  return Bottleneck{"few-blocks",
                    fmt::format("{} block{} for {} multiprocessors: {:.0f} % of the GPU has nothing to do", *f.blocks,
                                *f.blocks == 1 ? "" : "s", *f.multiprocessors,
                                100.0 * (1 - static_cast<double>(*f.blocks) / *f.multiprocessors)),
                    "smaller tiles, or the sum over channels split between blocks", ""};
}

Found spills(const Facts& f) {
  // Beside units that are busy a spill outside the loop is not what limits.
  bool busy =
      or_zero(f, "tensor_pipe_busy") >= 50 || or_zero(f, "fma_pipe_busy") >= 60 || or_zero(f, "dram_busy") >= 60;
  // What is spilled comes back by loads: in a loop, warps wait for these.
  const bool counted = top_stall(f).stall;
  const bool waits = waits_for(f, "stall_long_scoreboard", 0.25) || waits_for(f, "stall_lg_throttle", 0.25);
  if (f.local_bytes.value_or(0) < 64 || busy || (counted && !waits)) return {};
  return Bottleneck{
      "spills",
      fmt::format("{} bytes a thread are in local memory, beside {} registers: spilled ones, or arrays that "
                  "are indexed at run time",
                  *f.local_bytes, f.registers.value_or(0)),
      "a smaller tile for each thread, or fewer threads a block (launch bounds)", ""};
}

Found refetching(const Facts& f) {
  auto bytes = dram_bytes(f);
  if (or_zero(f, "dram_busy") < 60 || !bytes || f.least_bytes <= 0 || *bytes < 2 * f.least_bytes) return {};
  return Bottleneck{"refetching",
                    fmt::format("the memory is {:.0f} % busy, and carries {:.1f} times the bytes that must move",
                                or_zero(f, "dram_busy"), *bytes / f.least_bytes),
                    is_reached(f, "tiled")
                        ? "what a block has in shared memory for more outputs (longer tiles, all channels of a group), "
                          "and blocks that read the same one after the other"
                        : "keep a tile of the input and the weights in shared memory and use it for all outputs it "
                          "reaches",
                    "tiled"};
}

Found memory_bound(const Facts& f) {
  if (or_zero(f, "dram_busy") < 60 || !is_nearest(f, "dram_busy")) return {};
  auto bytes = dram_bytes(f);
  const bool full = or_zero(f, "dram_busy") >= at_its_limit;
  return Bottleneck{
      "memory-bound",
      fmt::format(
          "the memory is {:.0f} % busy{}: {}", or_zero(f, "dram_busy"),
          bytes && f.least_bytes > 0 ? fmt::format(" with {:.2f} times the least bytes", *bytes / f.least_bytes) : "",
          limit_words(f, "dram_busy", false)),
      full ? "nothing in the kernel: fewer bytes only come from joining it with its neighbours, or a smaller type"
           : "more bytes in flight: deeper buffers and larger copies, and no time in which nothing is loaded",
      ""};
}

Found tensor_bound(const Facts& f) {
  if (or_zero(f, "tensor_pipe_busy") < 50 || !is_nearest(f, "tensor_pipe_busy")) return {};
  return Bottleneck{"tensor-bound",
                    fmt::format("the tensor cores are {:.0f} % busy: {}", or_zero(f, "tensor_pipe_busy"),
                                limit_words(f, "tensor_pipe_busy", true)),
                    or_zero(f, "tensor_pipe_busy") >= at_its_limit
                        ? "nothing but less work: a type the tensor cores take faster"
                        : "no time in which they wait for operands; past that only a type that they take faster",
                    ""};
}

Found wasted_arithmetic(const Facts& f) {
  double done = arithmetic_done(f);
  bool busy = or_zero(f, "fma_pipe_busy") >= 50 || or_zero(f, "issue_busy") >= 70;
  if (!busy || done <= 0 || f.flops <= 0 || f.flops > 0.6 * done) return {};
  return Bottleneck{
      "wasted-arithmetic",
      fmt::format("{:.0f} % of the issue slots are used, and {:.0f} % of the multiply-adds are not needed",
                  or_zero(f, "issue_busy"), 100 * (1 - f.flops / done)),
      "go through the taps that land only, one class of output positions at a time", "polyphase"};
}

Found compute_bound(const Facts& f) {
  if (or_zero(f, "fma_pipe_busy") < 60 || !is_nearest(f, "fma_pipe_busy")) return {};
  return Bottleneck{"compute-bound",
                    fmt::format("the multiply-add units are {:.0f} % busy: {}", or_zero(f, "fma_pipe_busy"),
                                limit_words(f, "fma_pipe_busy", true)),
                    "tensor cores, where the accuracy that was asked for allows TF32 or three TF32 products", ""};
}

Found bank_conflicts(const Facts& f) {
  double all = or_zero(f, "shared_wavefronts"), again = or_zero(f, "shared_conflicts");
  bool shared_matters = waits_for(f, "stall_short_scoreboard", 0.25) || waits_for(f, "stall_mio_throttle", 0.25) ||
                        f.counters.find("stall_mio_throttle") == f.counters.end();
  if (all <= 0 || again / all < 0.3 || !shared_matters) return {};
  return Bottleneck{"bank-conflicts",
                    fmt::format("{:.0f} % of the shared memory cycles are repeats: threads of a warp meet in its banks",
                                100 * again / all),
                    "pad the rows of the tile by one element, or let neighbouring threads read neighbouring words", ""};
}

// Whether loads can be what a kernel waits for.
bool loads_matter(const Facts& f) {
  return f.emulated || waits_for(f, "stall_long_scoreboard", 0.25) || waits_for(f, "stall_lg_throttle", 0.25) ||
         or_zero(f, "l1_busy") > 50 || or_zero(f, "l2_busy") > 50;
}

Found uncoalesced(const Facts& f) {
  double sectors = or_zero(f, "load_sectors"), requests = or_zero(f, "load_requests");
  // 16-byte loads side by side take 16 sectors, and are no fault. How many bytes of them are used is counted by the
  // emulator only.
  auto used = get(f, "load_used_bytes");
  bool wide = used ? 32 * sectors < 2 * *used : sectors <= 16.5 * requests;
  if (requests <= 0 || sectors / requests < 10 || wide) return {};
  // A few loads beside copies by the copy engine, or of a launch that packs weights, limit nothing.
  double all = get(f, "l2_sectors").value_or(sectors + or_zero(f, "store_sectors"));
  if (sectors < 0.25 * all) return {};
  if (!loads_matter(f)) return {};
  return Bottleneck{
      "uncoalesced",
      fmt::format("a load of a warp touches {:.1f} sectors where {} would do{}: neighbouring threads read far "
                  "from each other",
                  sectors / requests, f.element_bytes,
                  used ? fmt::format(", and uses {:.0f} % of their bytes", 100 * *used / (32 * sectors)) : ""),
      "let neighbouring threads take neighbouring positions, or bring the data in rows into shared memory", "tiled"};
}

// A few lines whose loads go far apart, behind an average that looks well.
Found uncoalesced_lines(const Facts& f) {
  double all = 0, loads = 0, requests = 0;
  for (const auto& l : f.lines) all += l.load_sectors + l.store_sectors, loads += l.load_sectors, requests += l.loads;
  std::vector<const Facts::Line*> far;
  for (const auto& l : f.lines) {
    // 16 bytes a thread side by side take 16 sectors, and where they do not begin at a sector 17.
    const bool wide = l.load_used_bytes && 32 * l.load_sectors < 2 * *l.load_used_bytes;
    if (l.loads > 0 && l.load_sectors > 16 * l.loads && l.load_sectors >= 0.1 * all && !wide) far.push_back(&l);
  }
  if (far.empty() || !loads_matter(f)) return {};
  std::stable_sort(far.begin(), far.end(),
                   [](const Facts::Line* a, const Facts::Line* b) { return a->load_sectors > b->load_sectors; });
  std::string which;
  for (size_t i = 0; i < std::min<size_t>(far.size(), 3); i++)
    which += fmt::format("{}{} {:.1f} sectors a load with {:.0f} % of all sectors", i ? ", " : "", far[i]->place,
                         far[i]->load_sectors / far[i]->loads, 100 * far[i]->load_sectors / all);
  return Bottleneck{
      "uncoalesced-lines",
      fmt::format("neighbouring threads read far from each other where {} sectors a load would do: {}{}; the mean of "
                  "all loads, {:.3g} sectors, does not show it",
                  f.element_bytes, which, far.size() > 3 ? fmt::format(" and {} more lines", far.size() - 3) : "",
                  loads / requests),
      "let neighbouring threads take neighbouring positions there, or bring the data in rows into shared memory", ""};
}

// What the memory carries goes through the caches, and they are nearer to their limits.
Found data_path(const Facts& f) {
  const auto units = units_of(f);
  if (or_zero(f, "dram_busy") < 60 || units.empty()) return {};
  const std::string_view first = units.front().name;
  if (is_nearest(f, "dram_busy") || (first != "l1_busy" && first != "l2_busy")) return {};
  std::string caches, memory = fmt::format("the memory {:.0f} %", or_zero(f, "dram_busy"));
  bool both = false;
  for (const auto& u : units) {
    const std::string_view name = u.name;
    if ((name != "l1_busy" && name != "l2_busy") || u.busy < units.front().busy - as_near) continue;
    both = !caches.empty();
    caches +=
        both ? fmt::format(" and {} {:.0f} %", u.words, u.busy) : fmt::format("{} is {:.0f} % busy", u.words, u.busy);
    if (auto sectors = get(f, "l2_sectors"); name == "l2_busy" && sectors && f.least_bytes > 0)
      caches += fmt::format(" with {:.2f} times the least bytes", 32 * *sectors / f.least_bytes);
  }
  if (auto bytes = dram_bytes(f); bytes && f.least_bytes > 0)
    memory += fmt::format(" with {:.2f} times them", *bytes / f.least_bytes);
  const double all = or_zero(f, "shared_wavefronts"), again = all > 0 ? or_zero(f, "shared_conflicts") / all : 0;
  std::string next = both || first == "l2_busy"
                         ? "fewer bytes through the L2 cache: one copy for several multiprocessors (clusters), and no "
                           "edge of a tile loaded twice"
                         : "";
  if (both || first == "l1_busy")
    next += fmt::format(
        "{}fewer reads of shared memory for each product: larger tiles in registers{}", next.empty() ? "" : "; ",
        again >= 0.1 ? fmt::format(", and no bank conflicts ({:.0f} % of its cycles)", 100 * again) : "");
  return Bottleneck{"data-path",
                    fmt::format("{}, {}: the cache{}", caches, memory,
                                both ? "s are nearest to their limits" : " is nearest to its limit"),
                    next, ""};
}

Found cache_bound(const Facts& f) {
  double l1 = or_zero(f, "l1_busy"), l2 = or_zero(f, "l2_busy"), tensor = or_zero(f, "tensor_pipe_busy");
  bool queue = waits_for(f, "stall_lg_throttle", 0.3) || waits_for(f, "stall_mio_throttle", 0.3);
  if (std::max(l1, l2) < 70 && !(queue && std::max(l1, l2) > 40)) return {};
  // Inputs and outputs pass through the L2 cache in any case: less than three times them is no fault of the kernel.
  if (auto sectors = get(f, "l2_sectors"); sectors && l2 > l1 && l2 < 90 && 32 * *sectors < 3 * f.least_bytes)
    return {};
  if (on_tensor_cores(f))
    return Bottleneck{"cache-bound",
                      fmt::format("the {} cache is {:.0f} % busy, while the tensor cores are {:.0f} % busy: each value "
                                  "that is loaded is used too few times",
                                  l2 > l1 ? "L2" : "L1", std::max(l1, l2), tensor),
                      "larger tiles, or one copy for several multiprocessors (clusters): fewer bytes for each product",
                      ""};
  return Bottleneck{
      "cache-bound",
      fmt::format("the {} cache is {:.0f} % busy, while the multiply-add units are {}: each value that is "
                  "loaded is used too few times",
                  l2 > l1 ? "L2" : "L1", std::max(l1, l2),
                  get(f, "fma_pipe_busy") ? fmt::format("{:.0f} % busy", or_zero(f, "fma_pipe_busy")) : "waiting"),
      "a tile of outputs in each thread's registers, so that one load serves many multiply-adds", "tiled"};
}

// Of all instructions, those that multiply and add; nothing when they were not counted.
std::optional<double> arithmetic_share(const Facts& f) {
  auto all = get(f, "instructions"), fma = get(f, "ffma_threads");
  if (!all || !fma || *all <= 0) return std::nullopt;
  constexpr double warp = 32;
  return (*fma + or_zero(f, "fadd_threads") + or_zero(f, "fmul_threads")) / warp / *all;
}

// The same where instructions were not counted: of all that were issued, the multiply-adds that the problem needs. Four
// schedulers a multiprocessor issue one each cycle at most.
std::optional<double> needed_share(const Facts& f) {
  auto issue = get(f, "issue_busy"), cycles = get(f, "sm_cycles_active");
  if (!issue || !cycles || !f.multiprocessors || *issue <= 0 || *cycles <= 0 || f.flops <= 0) return std::nullopt;
  constexpr double schedulers = 4, warp = 32;
  return f.flops / 2 / warp / (*issue / 100 * schedulers * *cycles * *f.multiprocessors);
}

std::string rung_for_overhead(const Facts& f, double share) {
  return share < 0.1 && !is_reached(f, "polyphase") ? "polyphase" : "registers";
}

// Tensor cores whose operands and results take more instructions than their products.
Found tensor_overhead(const Facts& f) {
  const double issue = or_zero(f, "issue_busy"), tensor = or_zero(f, "tensor_pipe_busy");
  if (issue < 50 || !on_tensor_cores(f) || tensor >= issue) return {};
  return Bottleneck{
      "tensor-overhead",
      fmt::format("{:.0f} % of the issue slots are used, while the tensor cores are {:.0f} % busy: most instructions "
                  "bring operands and take results away",
                  issue, tensor),
      "more products for each operand that is loaded: a larger tile a warp, or instructions that read shared memory "
      "themselves (wgmma, from sm_90a on)",
      ""};
}

Found instruction_overhead(const Facts& f) {
  if (or_zero(f, "issue_busy") < 50 || on_tensor_cores(f)) return {};
  auto share = arithmetic_share(f);
  if (auto needed = needed_share(f); !share && needed && *needed <= 0.4)
    return Bottleneck{"instruction-overhead",
                      fmt::format("{:.0f} % of the issue slots are used, and the multiply-adds that the problem needs "
                                  "would take {:.2g} % of these: the rest works out indices, moves data, or is not "
                                  "needed",
                                  or_zero(f, "issue_busy"), 100 * *needed),
                      "go through the taps that land only, and more outputs a thread, so that one index and one load "
                      "serve many multiply-adds",
                      rung_for_overhead(f, *needed)};
  if (!share || *share > 0.4) return {};
  return Bottleneck{
      "instruction-overhead",
      fmt::format("{:.0f} % of the issue slots are used, but {} of the instructions multiply and add: the rest works "
                  "out indices and moves data",
                  or_zero(f, "issue_busy"),
                  *share < 0.01 ? std::string("less than 1 %") : fmt::format("only {:.0f} %", 100 * *share)),
      "more outputs a thread, so that one index and one load serve many multiply-adds, and no division in "
      "the inner loop",
      rung_for_overhead(f, *share)};
}

Found barriers(const Facts& f) {
  if (!waits_for(f, "stall_barrier", 0.3) || or_zero(f, "issue_busy") > 60) return {};
  return Bottleneck{"barriers",
                    fmt::format("warps spend {:.0f} % of their waiting at barriers", 100 * top_stall(f).share),
                    "two buffers in turn, so that loading the next tile does not stop the work on this one", ""};
}

Found unbalanced(const Facts& f) {
  double active = or_zero(f, "sm_cycles_active"), all = or_zero(f, "sm_cycles_elapsed");
  if (active <= 0 || all <= 0 || active / all > 0.75) return {};
  return Bottleneck{
      "unbalanced",
      fmt::format(
          "the average multiprocessor has work {:.0f} % of the time{}", 100 * active / all,
          f.blocks && f.multiprocessors ? fmt::format(": {} blocks on {} of them", *f.blocks, *f.multiprocessors) : ""),
      "smaller or more even blocks, so that none is left alone at the end", ""};
}

Found latency(const Facts& f) {
  auto issue = get(f, "issue_busy");
  // Where more of them are used, a unit must be nearer to its limit than they are, and all must have been counted.
  if (!issue || (*issue > 50 && !(get(f, "l1_busy") && units_of(f).front().busy > *issue))) return {};
  auto top = top_stall(f);
  double occupancy = or_zero(f, "occupancy");
  std::string waiting = top.stall ? fmt::format("; {} {} ({:.0f} % of all waiting)",
                                                top.share >= 0.5 ? "they are mostly" : "most often they are",
                                                top.stall->words, 100 * top.share)
                                  : "";
  bool few_warps = get(f, "occupancy") && occupancy < 25, tensor = on_tensor_cores(f);
  const auto units = units_of(f);
  std::string busy = "no unit that was counted is more than 40 % busy";
  if (!units.empty() && units.front().busy > 40)
    busy = fmt::format("{}{} with {:.0f} % {} nearest",
                       units.front().busy < at_its_limit ? "nothing is at its limit, " : "", units.front().words,
                       units.front().busy, units.front().many ? "are" : "is");
  return Bottleneck{
      "latency-bound",
      fmt::format("{}: {:.0f} % of the issue slots are used with {:.0f} % of the warps there is room for{}", busy,
                  *issue, occupancy, waiting),
      // Kernels of the tensor cores have few warps and large tiles on purpose.
      tensor ? "the next operands made ready while these are multiplied, and results stored by warps of their own"
      : few_warps && !f.occupancy_limit.empty()
          ? "more warps at once (" + f.occupancy_limit + ")"
          : "more independent work in each thread: several outputs, and loads issued before their values are needed",
      few_warps || tensor ? "" : "tiled"};
}

// Nothing is at its limit, and instructions are nearest to theirs.
Found issue_bound(const Facts& f) {
  auto issue = get(f, "issue_busy");
  if (!issue || *issue <= 50 || !get(f, "l1_busy")) return {};
  const Unit first = units_of(f).front();
  const auto share = arithmetic_share(f);
  return Bottleneck{
      "issue-bound",
      fmt::format("{:.0f} % of the issue slots are used: no unit is nearer to its limit ({} with {:.0f} % {} next){}",
                  *issue, first.words, first.busy, first.many ? "are" : "is",
                  share ? fmt::format("; {:.0f} % of the instructions multiply and add", 100 * *share) : ""),
      "fewer instructions for each multiply-add: more outputs a thread, wider loads, addresses that are worked out "
      "once",
      "registers"};
}

// Without counters: how far from the floor, and what would tell more.
Found far_from_floor(const Facts& f) {
  if (!f.ms || !f.floor_ms || *f.floor_ms <= 0 || f.emulated) return {};
  double times = *f.ms / *f.floor_ms;
  if (times < 1.5)
    return Bottleneck{"near-floor",
                      fmt::format("{} is {:.2f} times the floor of {} by {}: little is left", in_ms(*f.ms), times,
                                  in_ms(*f.floor_ms), f.floor_by_bytes ? "bytes" : "arithmetic"),
                      "", ""};
  std::string why = f.counters_missing.empty() ? f.counters.empty() ? "counters would tell: --set full"
                                                                    : "more counters would tell: --set full"
                                               : "why, counters would tell (" + f.counters_missing + ")";
  return Bottleneck{"far-from-floor",
                    fmt::format("{} is {:.1f} times the floor of {} by {}", in_ms(*f.ms), times, in_ms(*f.floor_ms),
                                f.floor_by_bytes ? "bytes" : "arithmetic"),
                    why, ""};
}

struct Rule {
  const char* name;
  Found (*look)(const Facts&);
};
constexpr Rule rules[] = {
    {"launch-bound", launch_bound},
    {"few-blocks", few_blocks},
    {"spills", spills},
    {"refetching", refetching},
    {"memory-bound", memory_bound},
    {"tensor-bound", tensor_bound},
    {"wasted-arithmetic", wasted_arithmetic},
    {"compute-bound", compute_bound},
    {"bank-conflicts", bank_conflicts},
    {"uncoalesced", uncoalesced},
    {"uncoalesced-lines", uncoalesced_lines},
    {"data-path", data_path},
    {"cache-bound", cache_bound},
    {"tensor-overhead", tensor_overhead},
    {"instruction-overhead", instruction_overhead},
    {"barriers", barriers},
    {"unbalanced", unbalanced},
    {"latency-bound", latency},
    {"issue-bound", issue_bound},
    {"far-from-floor", far_from_floor},
};

}  // namespace

std::vector<std::string> bottleneck_rules() {
  std::vector<std::string> names;
  for (const auto& r : rules) names.emplace_back(r.name);
  names.insert(names.end(), {"near-floor", "unknown"});
  return names;
}

Facts::Line bottleneck_line(const std::string& file, int line, const Counters& values) {
  auto value = [&](std::string_view name) -> std::optional<double> {
    auto it = values.find(name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  };
  return {line > 0 ? fmt::format("{}:{}", file.substr(file.rfind('/') + 1), line) : "a line that is not known",
          value("load_requests").value_or(0), value("load_sectors").value_or(0), value("store_sectors").value_or(0),
          value("load_used_bytes")};
}

Bottleneck find_bottleneck(const Facts& f) {
  for (const auto& r : rules)
    if (auto found = r.look(f)) {
      if (is_reached(f, found->rung)) found->rung.clear();
      return *found;
    }
  Bottleneck none;
  none.rule = "unknown";
  none.sentence = f.emulated ? "what limits it cannot be seen from emulated time"
                  : f.ms     ? "no figure that was measured is at its limit"
                             : "nothing was measured";
  none.next = f.emulated ? "run it on a GPU (--device cuda); what is counted from addresses holds for every GPU" : "";
  return none;
}

}  // namespace convscope
