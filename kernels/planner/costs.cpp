#include "kernels/planner/costs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>

#include "kernels/problem/counts.h"

namespace convscope {
namespace {

constexpr double launch_us = 2.8;  // and the gap before it

double pieces(double n, double of) { return std::ceil(n / of); }
double padded(double n, double of) { return pieces(n, of) * of; }

// The problem in numbers. A class is the outputs of one residue modulo the stride, whose taps lie `period` apart and
// read inputs `back` apart (kernels/ladder/phases.h).
struct Layer {
  double sequences, groups, in, out, taps, length, out_length, stride, padding, gcd, period, back;
  double element, x, w, y;  // bytes
  double outputs, products;
  double positions, class_taps;  // of a class; the most taps of one
  double shifts;                 // different ones of x among all taps
  bool f64;

  explicit Layer(const ConvProblem& p) {
    sequences = static_cast<double>(p.batch), groups = static_cast<double>(p.groups);
    in = static_cast<double>(p.in_per_group()), out = static_cast<double>(p.out_per_group());
    taps = static_cast<double>(p.kernel_size), length = static_cast<double>(p.length);
    out_length = static_cast<double>(p.out_length());
    stride = static_cast<double>(p.stride), padding = static_cast<double>(p.padding);
    const int64_t g = std::gcd(p.stride, p.dilation);
    gcd = static_cast<double>(g), period = stride / gcd, back = static_cast<double>(p.dilation) / gcd;
    element = static_cast<double>(size_of(p.dtype)), f64 = p.dtype == DType::f64;
    x = static_cast<double>(p.x_elements()) * element, w = static_cast<double>(p.w_elements()) * element;
    outputs = static_cast<double>(p.y_elements()), y = outputs * element;
    products = flops(p) / 2;
    positions = pieces(out_length, stride), class_taps = pieces(taps, period);
    shifts = back <= period ? std::floor((taps - 1) * back / period) + 1 : taps;
  }
  double in_out() const { return x + w + y; }
  // Of the classes, those that a tap reaches; of these, taps on average.
  double reached() const { return stride <= out_length ? std::min(taps, period) / stride : 1; }
  double mean_taps() const { return taps / std::min(taps, period); }
  // Taps of an output that lie inside the input, at most.
  double landing_taps() const { return std::min(class_taps, pieces(length, back)); }
  // Eighths of a sector (32 bytes, the least that memory is written in) that an output costs whose neighbours in a
  // store lie `stride` apart: up to a whole one.
  double apart() const { return std::min(stride * element / 4, 8.0); }
};

struct Launched {
  std::string form;  // the launch that multiplies
  double blocks = 0, shared = 0;
  int launches = 0;     // without those that pack weights
  bool copies = false;  // one copies x first, into rows that begin on 16 bytes
  bool sums = false;    // one adds the parts of shared sums

  explicit Launched(const Plan& plan) {
    for (const Launch& l : plan.launches()) {
      if (packs(l)) continue;
      launches++;
      const std::string name = l.entry.name;
      const bool pads = name.find("_pad") != std::string::npos, adds = name.find("_sum") != std::string::npos;
      copies |= pads, sums |= adds;
      if (pads || adds || name.find("_round") != std::string::npos) continue;
      form = name, blocks = static_cast<double>(l.grid.count()), shared = static_cast<double>(l.dynamic_shared_bytes);
    }
  }
  bool is(const char* part) const { return form.find(part) != std::string::npos; }
};

// A GPU beside an H200: how many times longer a multiprocessor takes for the same instructions, of which each issues as
// many a clock; for multiply-adds, of which sm_75 and sm_80 have half as many a clock (CUDA Programming Guide,
// "Arithmetic Instructions"); for products of mma.sync, which later GPUs have faster instructions for; for a byte of
// the memory. What is waited for takes as long everywhere.
struct Machine {
  double multiprocessors, instructions, multiply_adds, tensor, f64, memory, bandwidth;

  explicit Machine(const Target& t) {
    const Target h200;
    multiprocessors = t.multiprocessors;
    const double share = multiprocessors / h200.multiprocessors;
    multiply_adds = share * h200.fma_gflops / t.fma_gflops;
    instructions = multiply_adds * (t.architecture == "sm_75" || t.architecture == "sm_80" ? 0.5 : 1);
    tensor = std::max(multiply_adds * h200.tf32_ratio / t.tf32_ratio, instructions);
    f64 = 1 / t.f64_ratio, memory = share * h200.bandwidth_gbs / t.bandwidth_gbs;
    bandwidth = t.bandwidth_gbs * 1e3;  // bytes a microsecond
  }

  double traffic_us(double bytes, double reached = 0.6) const { return bytes / (reached * bandwidth); }
  // busy_us: what a block keeps its multiprocessor from doing for others; alone_us: what it takes where nothing else
  // hides its waiting. The busiest multiprocessor has a whole number of blocks, `resident` of them at once.
  double blocks_us(double blocks, double busy_us, double alone_us, double resident) const {
    const double each = blocks / multiprocessors, turns = each > 4 ? each : std::ceil(each);
    return std::hypot(turns * busy_us, std::max(1.0, each / resident) * alone_us);
  }
};

// ---- one output a thread

// Each tap is tested for whether it lands, which is a division.
double direct_us(const Layer& l, const Launched& a, const Machine& m) {
  const double tests = l.in * l.taps;
  return m.blocks_us(a.blocks, 0.256 * m.instructions * (1.7 + 0.39 * tests), 0.31 * tests, 8);
}

// Its loads wait for each other from channel to channel, since a class mostly has few taps.
double polyphase_us(const Layer& l, const Launched& a, const Machine& m) {
  const double busy =
      (2.7 + 0.42 * l.in * l.reached()) * m.instructions + 0.075 * l.products / l.outputs * m.multiply_adds;
  return m.blocks_us(a.blocks, 0.256 * busy, 0.5 + l.in * (0.27 + 0.039 * l.landing_taps()), 8);
}

// A thread has pieces of a row, one after the other. Weights that stay in registers cost a load each of x; without
// these, up to eight taps are loaded at once, and the next channel waits for them.
double depthwise_us(const Layer& l, const Launched& a, const Machine& m) {
  const bool single = a.is("_single"), held = !single && !a.is("_any");
  const double piece = single ? 1 : 16 / l.element, turns = std::max(1.0, l.outputs / (a.blocks * 128 * piece));
  const double taps = l.landing_taps();
  const double busy = 1.1 + turns * piece * (held ? 0.045 : 0.079) * l.in * l.class_taps;
  const double channel = 0.24 + 0.062 * std::min(taps, 8.0) + 0.009 * std::max(taps - 8, 0.0);
  return m.blocks_us(a.blocks, 0.128 * m.instructions * busy, 0.43 + turns * (held ? 0.04 : l.in * channel), 12);
}

// Atomic additions: a word that lies alone takes a request of its own, and those to one word wait for each other.
double scatter_us(const Layer& l, const Launched& a, const Machine& m) {
  const double chain = l.out * l.taps, additions = l.products / (l.x / l.element);
  const double busy = 0.11 * chain * m.instructions + 1.1 * additions * l.apart() / 8 * m.memory;
  return m.blocks_us(a.blocks, 0.256 * busy, 0.038 * chain, 8) + 0.025 * l.products / l.outputs;
}

// ---- tiles of a class: positions × channels. What a tile's block stores is a class's, so that words lie apart.

double stores_us(const Layer& l, const Launched& a, const Machine& m, double word_ns) {
  return word_ns * 1e-3 * l.outputs / a.blocks * l.apart() * m.memory;
}

double tiled_us(const Layer& l, const Launched& a, const Machine& m) {
  const double round = std::min({l.class_taps, 32.0, 1 + std::floor(256 / l.back)});
  const double stages = pieces(l.class_taps, round) * pieces(l.in, 8);
  const double busy = (0.69 + l.reached() * 0.76 * stages) * m.instructions +
                      l.reached() * 0.034 * l.in * l.mean_taps() * m.multiply_adds;
  return m.blocks_us(a.blocks, busy + stores_us(l, a, m, 0.087), 1.7 * stages + 0.032 * l.in * l.class_taps, 8);
}

// Rows whose length is no multiple of 16 bytes are copied word by word, and not four words at once.
constexpr double by_words = 2.5;

double registers_us(const Layer& l, const Launched& a, const Machine& m) {
  const double thread = l.out == 1 ? 1 : l.f64 || l.out <= 8 ? 8 : 16, along = 32 * (l.f64 ? 4 : 8);
  const double warps = l.out <= thread ? 1 : l.out <= 2 * thread ? 2 : 4;  // along channels, of four
  const double channels = std::max(thread * warps, 4.0), width = 4 / warps * along;
  const double round = std::min({l.class_taps, 16.0, 1 + std::floor(256 / l.back)});
  const double row = width + (round - 1) * l.back, sum = l.f64 ? 8 : 4;
  const double depth = std::clamp(std::floor(65536 / 3.0 / (row * l.element + round * channels * sum)), 1.0,
                                  std::min(l.in, 8.0));  // channels a step
  const double rounds = pieces(l.class_taps, round);
  // A warp without a position or a channel computes nothing.
  const double used = pieces(l.positions, along) / (pieces(l.positions, width) * (4 / warps)) * pieces(l.out, thread) /
                      (pieces(l.out, channels) * warps);
  const double product = (thread + 2) / 18;  // loads of x and w, and multiply-adds for them
  const double copies = 0.027 * (a.is("_odd") ? by_words : 1) * rounds * row / 256 * l.element / 4;
  const double products = 0.084 * l.mean_taps() * used * product * m.multiply_adds * (l.f64 ? m.f64 : 1);
  const double busy = l.reached() * l.in * (copies * m.instructions + products) + stores_us(l, a, m, 0.14);
  return m.blocks_us(a.blocks, busy, 0.33 + 2.1 * rounds * pieces(l.in, depth) + 0.11 * l.in * l.class_taps * product,
                     4);
}

// Microseconds of a block of mma_…: itself, a stage, its copies of x, a tap's products; and of one that waits alone.
struct MmaRates {
  double block, stage, copy, products, stage_alone, products_alone, resident;
  double channels, most_taps;  // of a stage
};
constexpr MmaRates mma_tf32{1.1, 0.26, 0.048, 0.117, 0.43, 0.21, 2, 8, 5},
    mma_3xtf32{1.5, 0.95, 0.084, 0.29, 0.05, 0.4, 1, 8, 4},
    // x is put together in words of two channels on its way to shared memory, by the threads themselves
    mma_16bit{1.1, 0.26, 0.48, 0.06, 0.43, 0.21, 2, 16, 5};

double mma_us(const MmaRates& r, const Layer& l, const Launched& a, const Machine& m) {
  const double round = std::min({l.class_taps, r.most_taps, 1 + std::floor(256 / l.back)});
  const double rounds = pieces(l.in, r.channels), chunks = pieces(l.class_taps, round);
  const double row = padded(256 + (round - 1) * l.back - 5, 32) + 8;
  // A warp of 64 positions and 32 channels that has none copies, and does nothing else.
  const double used =
      pieces(l.positions, 64) / (4 * pieces(l.positions, 256)) * pieces(l.out, 32) / (2 * pieces(l.out, 64));
  const double copies = (r.stage + r.copy * (a.is("_odd") ? by_words : 1) * row / 256) * chunks;
  const double busy = r.block * m.instructions + stores_us(l, a, m, 0.12) +
                      l.reached() * rounds * (copies * m.instructions + r.products * l.mean_taps() * used * m.tensor);
  return m.blocks_us(a.blocks, busy,
                     r.block + r.stage_alone * chunks * rounds + r.products_alone * rounds * l.class_taps, r.resident);
}

// ---- all classes at once

// Blocks of up to 64 columns × 256 positions, of several spans where sequences are short (columns_plan.h). The form's
// name has both sizes.
double columns_us(const std::string& name, const Layer& l, const Launched& a, const Machine& m) {
  const char* sizes = a.form.c_str() + std::min(a.form.size(), name.size() + 1);
  char* end = nullptr;
  const double width = std::max(8l, std::strtol(sizes, &end, 10));
  const double tile = *end ? std::max(64l, std::strtol(end + 1, nullptr, 10)) : 64;
  const bool near = a.is("_near"), chained = a.is("_chained"), three = name.find("3x") != std::string::npos;
  const double parts = three ? 2 : 1, nt = width / 8, mw = tile / 64;
  // Without taps a class is no column.
  const bool few = l.taps < l.period && l.taps <= width;
  const double classes = few ? l.taps : l.period, used = few ? std::floor(width / classes) * classes : width;
  const double tiles = a.blocks / (pieces(l.out * classes, used) * l.groups);

  const double first = std::floor(std::floor(l.padding / l.stride) / 4) * 4;
  const double positions = std::floor((l.out_length - 1 + l.padding) / l.stride) - first + 1;
  const double unit = near ? 8 * mw : 16, span = positions > tile / 2 ? tile : padded(positions, unit);
  const double spans = std::min(std::floor(tile / span), 16.0);
  const double splits =
      a.sums ? std::max(1.0, std::round(tiles / pieces(l.sequences * pieces(positions, span), spans))) : 1;
  // A product is of 8 values: channels, or fewer of them and as many more shifts.
  double products = 0, channels = 8;
  for (double of : {8., 4., 2., 1.}) {
    if (of < 8 && (near || chained || (l.back > l.period && std::fmod(l.back, l.period) != 0))) continue;
    const double n = pieces(l.in, of) * pieces(l.shifts, 8 / of);
    if (products == 0 || n < products) products = n, channels = of;
  }
  products /= splits;
  const double rounds = pieces(l.in, channels) / splits;
  // Clocks of a product: its instructions for the tensor cores, or the loads that feed them.
  const double tensor = 7 * mw * nt * (three ? 3 : 1);
  const double loads = 4 * ((near ? mw : chained ? 4 : 4 * mw) + 2 * nt * parts);
  const double clocks = std::max(tensor * m.tensor, loads * m.instructions) + loads / 8 * m.instructions;
  const double halo = std::min(224.0, l.shifts * std::max(1.0, std::floor(l.back / l.period)));
  const double row_copies = pieces(span + halo, std::fmod(l.length, 4) == 0 ? 128 : 32);  // of a warp, each
  const double copies = rounds * channels * spans * row_copies + products * width * 8 * parts / 128;
  const double results = a.sums ? width * tile : tile * std::min(used / classes, l.out) * l.stride;

  const double room = width * tile >= 64 * 256 ? 2 : width * tile >= 32 * 256 ? 3 : 5;
  const double resident = std::max(1.0, std::min(room, std::floor(227 * 1024 / (a.shared + 2048))));
  const double busy = 0.77 * m.instructions + 0.33e-3 * results * m.memory + 1.2 / 1750 * clocks * products +
                      1e-3 * copies * m.instructions;
  const double alone = 2 + 0.5 * rounds * channels / 8 * pieces(l.shifts * channels, 64) + 0.06 * copies / 4;
  double us = std::hypot(m.blocks_us(a.blocks, busy, alone, resident), m.traffic_us(l.in_out()));
  if (!a.sums) return us;
  double ways = 1;  // threads that add an output's parts
  while (ways < 8 && splits >= 8 * ways) ways *= 2;
  return us + launch_us +
         m.blocks_us(std::ceil(l.outputs * ways / 256), 0.47 * m.instructions, 0.17 * splits / ways, 8) +
         m.traffic_us(a.blocks * width * tile * 4);
}

// ---- Hopper's: tiles of 128 positions × 64 to 160 columns, each of one of the two warpgroups of a block

struct HopperTiles {
  double column_tiles, items;  // of a group; tiles of positions, of all sequences

  // together: short sequences share a tile.
  HopperTiles(const Layer& l, double width, bool together) {
    column_tiles = pieces(l.out, 4 * std::max(1.0, std::floor(width / 4 / l.period)));
    const double first = std::floor(std::floor(l.padding / l.stride) / 8) * 8;
    const double positions = std::floor((l.out_length - 1 + l.padding) / l.stride) - first + 1;
    items = pieces(positions, 128) * l.sequences;
    if (together && positions <= 64 && l.sequences > 1)
      items = pieces(l.sequences, std::min(std::floor(128 / padded(positions, 4)), l.sequences));
  }
  double outputs(const Layer& l) const { return 128 * l.out / column_tiles * l.stride; }  // of a tile
};

// Rows of x are copied by a block each, 256 words at a time.
double copied_us(const Layer& l, const Launched& a, const Machine& m) {
  if (!a.copies) return 0;
  return 2.5 + std::hypot(0.18 * l.length * l.element / 4 / 256, m.traffic_us(2 * l.x));
}

// In the forms for any classes results leave word by word, but in a stream as runs of a position's classes where these
// are neighbours and their number is compiled.
bool leaves_in_runs(const Layer& l) { return l.gcd == 1 && (l.period <= 8 || l.period == 10 || l.period == 16); }

// Floats as scaled f16 numbers: half the bytes of weights, and what is beside the products takes longer.
bool scaled(const std::string& name) { return name.ends_with("xf16"); }

// Weights stay, and come first. Results of the tiles leave while the next ones are summed, but for the first one.
double hopper_us(const std::string& name, const Layer& l, const Launched& a, const Machine& m) {
  const bool three = name.find("3x") != std::string::npos, halves = scaled(name);
  const size_t sizes = std::min<size_t>(a.form.size(), halves ? 13 : 7);
  const double width = three ? 64 : std::max(64, std::atoi(a.form.c_str() + sizes));
  const HopperTiles t(l, width, false);
  const double rounds = pieces(l.in, 8), steps = rounds * l.shifts * width / 128 * (three ? 3 : 1);
  const double each = t.column_tiles * l.groups * t.items / std::min(a.blocks, m.multiprocessors);
  const double turns = std::ceil(std::ceil(each) / 2),
               start_us =
                   copied_us(l, a, m) + 1.2e-5 * rounds * 8 * l.shifts * width * (halves ? 2 : 4) * (three ? 2 : 1);
  // Microseconds of a warpgroup: a step (a shift of 8 channels of 128 columns), and a tile beside its steps.
  if (!a.is("_any")) {
    const double step = halves ? (three ? 0.125 : 0.165) : three ? 0.17 : 0.23;
    const double tile = halves ? (three ? 4 : 3.7) : three ? 2.4 : 1.5, first_us = step * steps * m.tensor;
    const double rate = halves ? 0.68 : a.is("_blocks") ? 0.8 : 0.7;
    return start_us + first_us + std::max(turns * (first_us + tile * m.instructions), m.traffic_us(l.in_out(), rate));
  }
  const double tile_us =
      (three ? 0.27 : 0.49) * steps * m.tensor + 1.1 * m.instructions + 1.6e-3 * t.outputs(l) * m.memory;
  return start_us + std::hypot(turns * tile_us, m.traffic_us(l.y * l.apart(), 0.25) + m.traffic_us(l.x));
}

// Microseconds of a warpgroup: a step, in a form that was made for it or waits less for its products, and in one for
// any shifts; a round of 8 channels, a tile and 1000 of its outputs beside these.
struct StreamRates {
  double step, any_step, round, tile, outputs;
};
constexpr StreamRates stream_tf32{0.11, 0.19, 0.18, 1.9, 0.11}, stream_3xtf32{0.16, 0.21, 0.11, 1.65, 0.08},
    stream_1xf16{0.11, 0.11, 0.02, 3.5, 0.08}, stream_3xf16{0.08, 0.08, 0.18, 1.5, 0.11};

// The weights come through the ring as well. Where tiles do not come out even, several warpgroups share some of them,
// for an exchange of sums.
double stream_us(const std::string& name, const Layer& l, const Launched& a, const Machine& m) {
  const bool three = name.find("3x") != std::string::npos;
  const bool any = a.is("_any") || a.form == "stream_6" || a.form.ends_with("xf16_2") || a.form.ends_with("xf16_7");
  const StreamRates r = scaled(name) ? (three ? stream_3xf16 : stream_1xf16) : three ? stream_3xtf32 : stream_tf32;
  const double width = three || a.is("_any_64") || a.is("_7_s4") ? 64 : a.is("_s5") ? 160 : 128, exchange_us = 22;
  const bool made = !a.is("_any") || l.shifts == 1 || (l.shifts == 2 && l.back <= l.period);
  const HopperTiles t(l, width, true);
  const double steps = l.shifts * width / 128 * (three ? 3 : 1);
  // Forms of seven shifts, by what was measured of two layers (wavegan.d1 0.086 ms in stream_1xf16; wavegan.d4 0.137 in
  // stream_tf32, 0.110 in stream_1xf16).
  const double seven = a.is("_7_s4") ? 1.2 : a.form.ends_with("1xf16_7") ? 0.85 : 1;
  const double sum_us = pieces(l.in, 8) * ((made ? seven * r.step : r.any_step) * steps + r.round) * m.tensor;
  const double outputs_us = !any ? r.outputs : leaves_in_runs(l) ? 0.24 : 1.2;
  const double end_us = r.tile * m.instructions + outputs_us * 1e-3 * t.outputs(l) * m.memory;
  const double units = t.column_tiles * l.groups * t.items, all = 2 * m.multiprocessors;
  const auto unit_us = [&](double workers) { return (workers > m.multiprocessors ? 1 : 0.8) * sum_us + end_us; };
  double best = std::ceil(units / all) * unit_us(units);
  for (double share : {2., 3., 4., 5., 6., 7., 8.}) {
    const double used = std::min(all, units * share);
    best = std::min(best, units / used * unit_us(used) + exchange_us);
  }
  const double traffic = any ? m.traffic_us(l.y * (leaves_in_runs(l) ? 1 : l.apart()), 0.22) + m.traffic_us(l.x)
                             : m.traffic_us(l.in_out());
  return copied_us(l, a, m) + std::hypot(best, traffic);
}

// x is read twice, for scales and to be put in order (16-bit numbers once), and written. Then pairs of tiles of 128
// positions, all sequences' one after the other, or single ones where there are few; a step is of 16 channels and a
// shift. What a pair takes beside its steps are mostly its results, which wait for the memory, as all blocks store at
// the same time (h200-ladder.md, 2026-11-25).
double ordered_us(const std::string& name, const Layer& l, const Launched& a, const Machine& m) {
  const bool three = name.find("3x") != std::string::npos, halves = name.ends_with("16bit"), any = a.is("_any");
  const bool wide = a.is("_s5") || a.is("_s10");
  const double width = (wide ? 160 : 128) / (three ? 2 : 1), halo = l.shifts - 1;
  const double positions = std::floor((l.out_length - 1 + l.padding) / l.stride) - std::floor(l.padding / l.stride) + 1;
  const double tiles = pieces(l.sequences * (positions + (l.padding < l.stride ? 0 : halo)), 128);
  const double columns = HopperTiles(l, width, false).column_tiles * l.groups;
  const double rounds = l.shifts <= 2 ? padded(l.in, 32) / 16 : pieces(l.in, 16);
  const double steps = rounds * l.shifts * width / 128 * (three ? 3 : 1) * (any && !three ? 1.3 : 1);
  const double outputs = 128 * l.outputs / (l.sequences * positions * columns);  // of a tile
  const double warps = 1 + 32 / positions;  // sequences of which a warp has positions: each has a turn
  const double end_us =
      any      ? warps * 2.5 * m.instructions + (0.5 + 0.5 * warps) * (three ? 3 : 3.6) * 1e-3 * outputs * m.memory
      : halves ? (l.period == 4 ? 11 : 7.5) * warps * m.instructions
               : (three ? 2.9 : 5) * warps * m.instructions;
  const double put_us = (halves ? 3 : 5.5) + m.traffic_us((halves ? 2 : three ? 3 : 2.5) * l.x, 0.8);
  const double pairs = std::ceil(tiles / 2) * columns, sum_us = 0.17 * steps * m.tensor;
  double us = std::ceil(pairs / m.multiprocessors) * (sum_us + end_us);
  if (tiles * columns <= m.multiprocessors) us = 0.53 * sum_us + end_us;
  for (double share : {2., 3., 4., 5., 6., 7., 8.}) {  // sums are cut, and exchanged; results are not
    const double used = std::min(m.multiprocessors, pairs * share);
    us = std::min(us, pairs / used * sum_us + std::max(1.0, pairs / used) * end_us + 7 + 3 * (share - 2));
  }
  return put_us + std::max(us, m.traffic_us(l.y + l.w));
}

// Two warpgroups share a multiprocessor, with a tile each; where there are few tiles one of them has it for itself.
// Fitted to 19 layers and three problems (h200-pytorch.md, 2026-11-26): microseconds of a tile, of a step (a shift of
// 16 channels, 128 columns) and of 128 columns' results.
double hopper_16bit_us(const Layer& l, const Launched& a, const Machine& m) {
  const double width = std::max(64, std::atoi(a.form.c_str() + std::min<size_t>(a.form.size(), 5)));
  const HopperTiles t(l, width, true);
  const double units = t.items * t.column_tiles * l.groups, each = units / (2 * m.multiprocessors);
  const double sum_us = (a.is("_any") ? 0.25 : 0.17) * pieces(l.in, 16) * l.shifts * width / 128 * m.tensor;
  const double tile_us = (1 + 2 * width / 128) * m.instructions;
  const double us =
      units <= m.multiprocessors ? tile_us + sum_us / 2 : (each > 4 ? each : std::ceil(each)) * (tile_us + sum_us);
  return copied_us(l, a, m) + std::max(us, m.traffic_us(l.x + l.y, 0.61));
}

// Both warpgroups of a block have a tile at once: the same with 64 columns each, or, of 64 columns or fewer, each its
// own. Fitted to nine problems (h200-ladder.md, 2026-11-27): microseconds of a turn's results, of its stages of 32
// channels, and of what a launch begins and ends with.
double held_16bit_us(const Layer& l, const Launched& a, const Machine& m) {
  const double columns = l.out * l.period, tiles = l.sequences * pieces(l.positions, 128);
  const double images = l.groups * pieces(columns, 128);
  const double turns = std::ceil((columns <= 64 ? pieces(tiles, 2) : tiles) * images / m.multiprocessors);
  const double turn_us = 1.55 + pieces(l.in, 32) * (0.093 + 0.0615 * l.shifts);
  return copied_us(l, a, m) + std::max((2.5 + turns * turn_us) * m.tensor, m.traffic_us(l.x + l.y, 0.7));
}

double cost_us(const std::string& name, const Layer& l, const Launched& a, const Machine& m) {
  const auto with = [&](double blocks_us, double bytes) { return std::hypot(blocks_us, m.traffic_us(bytes)); };
  if (name == "direct") return with(direct_us(l, a, m), l.in_out());
  if (name == "scatter") return with(scatter_us(l, a, m), 4 * l.y + 2 * l.x) + (a.launches - 1) * launch_us;
  if (name == "polyphase") return with(polyphase_us(l, a, m), l.in_out());
  if (name == "tiled") return with(tiled_us(l, a, m), l.in_out());
  if (name == "registers") return with(registers_us(l, a, m), l.in_out());
  if (name == "depthwise") return std::hypot(depthwise_us(l, a, m), m.traffic_us(l.in_out(), 0.78));
  if (name == "mma_tf32") return with(mma_us(mma_tf32, l, a, m), l.in_out());
  if (name == "mma_3xtf32") return with(mma_us(mma_3xtf32, l, a, m), l.in_out());
  if (name == "mma_16bit") return with(mma_us(mma_16bit, l, a, m), l.in_out());
  if (name.starts_with("columns_")) return columns_us(name, l, a, m);
  if (name.starts_with("stream_")) return stream_us(name, l, a, m);
  if (name.starts_with("ordered_")) return ordered_us(name, l, a, m);
  if (name == "hopper_16bit") return hopper_16bit_us(l, a, m);
  if (name == "held_16bit") return held_16bit_us(l, a, m);
  return hopper_us(name, l, a, m);
}

}  // namespace

double predicted_ms(const KernelDefinition& kernel, const Plan& plan, const ConvProblem& p, const Target& target) {
  const Layer l(p);
  const Machine m(target);
  double us = launch_us + cost_us(kernel.name(), l, Launched(plan), m);
  if (l.f64) us = std::max(us, 2 * l.products * m.f64 / target.fma_gflops * 1e-3);  // at its peak
  return us * 1e-3;
}

double predicted_ms(const KernelDefinition& kernel, const ConvProblem& p, const Target& target) {
  return predicted_ms(kernel, kernel.plan_for(p), p, target);
}

}  // namespace convscope
