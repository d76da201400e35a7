// Whether Hopper's rungs take a problem, and in which tiles. Host only.
#pragma once
#include <numeric>

#include "hopper_block.h"

namespace {

constexpr int64_t hopper_multiprocessors = 132;      // one block for each; correct with any number
constexpr int64_t hopper_shared_bytes = 227 * 1024;  // a block's share
constexpr int64_t hopper_stages = 12;                // most stages of x of a warpgroup
constexpr int64_t hopper_deep_stages = 6;            // at least as many when stages are deep
constexpr int64_t hopper_few_rounds = 4;             // with fewer rounds on their way results are not staged

template <class Tiles>
struct HopperPlanOf {
  Tiles tiles{};
  ShiftTable table{};
  int step = 0;  // shifts are u·step, 0: not so
  size_t shared = 0;
  std::string refused;
};
using HopperPlan = HopperPlanOf<HopperTiles>;

// What does not depend on how much fits: shifts, tiles, columns. parts: images of the weights, 1, or 2 for high and low
// halves. channels: of a round, 32 bytes of them: 8 in f32, 16 of the 16-bit types.
inline HopperPlan hopper_geometry(const ConvProblem& p, int64_t width, int parts, int channels = 8) {
  HopperPlan h;
  Phases f = phases_of(p);
  HopperTiles& t = h.tiles;
  t.period = static_cast<int32_t>(f.period), t.gcd = static_cast<int32_t>(f.gcd), t.back = static_cast<int32_t>(f.back);
  if (channels == 8 && p.dtype != DType::f32) return h.refused = "takes f32 only", h;
  if (f.period > width / 4) return h.refused = "takes at most " + std::to_string(width / 4) + " residue classes", h;
  int64_t last = (p.kernel_size - 1) * f.back / f.period;
  std::vector<int64_t> shifts;
  if (last > 112) return h.refused = "takes taps that reach back at most 112 inputs", h;
  for (int64_t k = 0; k < p.kernel_size; k++)
    if (int64_t e = k * f.back / f.period; shifts.empty() || shifts.back() != e) shifts.push_back(e);
  if (shifts.size() > std::size(h.table.shift)) return h.refused = "takes at most 60 different shifts of x", h;
  for (size_t u = 0; u < shifts.size(); u++) h.table.shift[u] = static_cast<int16_t>(shifts[u]);
  h.step = shifts.size() > 1 ? static_cast<int>(shifts[1]) : 1;
  for (size_t u = 0; u < shifts.size(); u++)
    if (shifts[u] != static_cast<int64_t>(u) * h.step) h.step = 0;
  t.shifts = static_cast<int32_t>(shifts.size());
  // A fragment's 4 channels in different banks: 8 modulo 16 floats, 16 modulo 32 values of 16 bits.
  t.box = channels == 8 ? 136 : 144;
  while (t.box - hopper_positions < last) t.box += 2 * channels;
  t.halo = t.box - static_cast<int32_t>(hopper_positions);
  t.rounds = static_cast<int32_t>(ceil_div(p.in_per_group(), channels));
  t.width = static_cast<int32_t>(width);
  t.depth = static_cast<int32_t>(ceil_div(int64_t{t.rounds} * t.shifts, 4) * 32);
  t.lane_channels = static_cast<int32_t>(width / 4 / f.period);
  t.column_tiles = static_cast<int32_t>(ceil_div(p.out_per_group(), 4 * t.lane_channels));
  int64_t first = p.padding / p.stride / 8 * 8;  // whole sectors of x
  int64_t tiles = ceil_div((p.out_length() - 1 + p.padding) / p.stride - first + 1, hopper_positions);
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  if (tiles * p.batch > most / 2 || p.out_length() + p.padding > most - 4096 ||
      ceil_div(p.out_channels, 4) * width > most)
    return h.refused = "takes rows and tiles that 32 bits can count", h;
  t.first = static_cast<int32_t>(first);
  t.tiles = static_cast<int32_t>(tiles), t.by_tiles = divisor_of(tiles);
  t.items = static_cast<int32_t>(tiles * p.batch);
  t.parts = parts;
  return h;
}

// The same where short sequences share a tile: Tiles has `segment` and `segments`.
template <class Tiles>
HopperPlanOf<Tiles> hopper_segments(const ConvProblem& p, int64_t width, int parts, int channels = 8) {
  HopperPlan geometry = hopper_geometry(p, width, parts, channels);
  HopperPlanOf<Tiles> h{{}, geometry.table, geometry.step, 0, geometry.refused};
  static_cast<HopperTiles&>(h.tiles) = geometry.tiles;
  if (!h.refused.empty()) return h;
  Tiles& t = h.tiles;
  int64_t positions = (p.out_length() - 1 + p.padding) / p.stride - t.first + 1;
  t.segment = static_cast<int32_t>(hopper_positions), t.segments = 1;
  if (positions > hopper_positions / 2 || p.batch == 1) return h;
  t.segment = static_cast<int32_t>(ceil_div(positions, 4) * 4);
  t.segments = static_cast<int32_t>(std::min<int64_t>(hopper_positions / t.segment, p.batch));
  t.halo = static_cast<int32_t>(ceil_div(t.halo, 4) * 4);
  // In f32 8 modulo 16, for different banks; 16-bit rows are read by pairs of positions, and fit as they come.
  int64_t box = t.segment + t.halo;
  t.box = static_cast<int32_t>(channels == 8 ? ceil_div(box - 8, 16) * 16 + 8 : ceil_div(box, 8) * 8);
  t.items = static_cast<int32_t>(ceil_div(p.batch, t.segments));
  return h;
}

// x for the copy engine, whose rows begin on 16 bytes: as it lies, or copied once into the workspace, from `at` on.
struct HopperRows {
  const ConvProblem& p;
  size_t at;
  int64_t element = static_cast<int64_t>(convscope::size_of(p.dtype));
  int64_t pitch = ceil_div(p.length, 16 / element) * (16 / element);  // elements from row to row

  bool copied() const { return pitch != p.length; }
  size_t bytes() const { return copied() ? static_cast<size_t>(p.batch * p.in_channels * pitch * element) : 0; }
  template <class Entry>
  void copy(Plan& plan, Entry pad) const {
    if (copied())
      plan.launch(pad, {std::min<int64_t>(p.batch * p.in_channels, 4224)}, {256})
          .early()
          .args(p.args(), pitch, plan.x(), plan.workspace(at));
  }
  // In boxes of positions × channels × sequences.
  TensorView view(Plan& plan, int32_t positions, int32_t channels, int32_t sequences) const {
    TensorView x{copied() ? plan.workspace(at) : plan.x(), 4, {}, {}, {}};
    int64_t row = pitch * element;
    x.sizes = {p.length, p.in_per_group(), p.groups, p.batch, 0};
    x.stride_bytes = {element, row, p.in_per_group() * row, p.in_channels * row, 0};
    x.box = {positions, channels, 1, sequences, 0};
    return x;
  }
};

// Whether the copy engine writes the results (hopper_boxes.h): in the form that is compiled for it, where rows and
// tiles begin on 16 bytes, none before its row, and all of a tile's channels are there.
inline bool box_rows(const ConvProblem& p, const HopperPlan& h) {
  const HopperTiles& t = h.tiles;
  return t.parts == 2 && p.stride == 1 && h.step == 3 && t.shifts == 5 && p.out_length() % 4 == 0 &&
         p.out_length() >= box_positions && t.first == p.padding && p.out_per_group() % (4 * t.lane_channels) == 0;
}
// y for the copy engine: the channels t, t + 4, … of a group are a box's rows.
inline TensorView result_rows(const ConvProblem& p, const HopperTiles& tiles) {
  int64_t row = p.out_length() * 4, cout = p.out_per_group();
  TensorView y{{convscope::Tensor::y}, 5, {}, {}, {}};
  y.sizes = {p.out_length(), 4, cout / 4, p.groups, p.batch};
  y.stride_bytes = {4, row, 4 * row, cout * row, p.out_channels * row};
  y.box = {box_positions, 1, tiles.lane_channels, 1, 1};
  y.swizzled = true;
  return y;
}
template <class Entry>
constexpr bool takes_result_rows = false;
template <class... P, void (*F)(P...)>
constexpr bool takes_result_rows<convscope::TypedEntry<F>> = sizeof...(P) == 9;

// Tiles that overlap by what makes each row's part of them whole sectors; false: rows begin where that is not enough,
// or there is nothing to gain. Sectors that two tiles write a part of took a tenth of the time in which y is written.
inline bool overlap(const ConvProblem& p, HopperTiles& t) {
  constexpr int64_t sector = 8, own = own_positions<Leave::sectors>;  // words, of outputs where stride is 1
  // Rows begin a multiple of `apart` words apart; a tile's first one `after` words behind such.
  const int64_t apart = std::gcd(p.out_length(), sector), first = t.first - p.padding;
  const int64_t after = (first % apart + apart) % apart;
  const int64_t most = after ? sector - after : sector - apart;  // words until a sector begins
  if (p.stride != 1 || own % apart || most == 0 || most > hopper_positions - own) return false;
  const int64_t tiles = ceil_div(p.out_length() - 1 + p.padding - t.first + 1, own);
  t.tiles = static_cast<int32_t>(tiles), t.by_tiles = divisor_of(tiles);
  t.items = static_cast<int32_t>(tiles * p.batch);
  return true;
}

// Tiles that overlap by a block of 256 bytes, a quarter of their outputs; false: there is nothing to gain, or no room.
inline bool in_blocks(const ConvProblem& p, HopperTiles& t, size_t& shared) {
  const int64_t own = block_positions, first = t.first * p.stride - p.padding;
  if (p.stride != 2 || (p.out_length() % block_words == 0 && first % block_words == 0)) return false;
  const int64_t tiles = ceil_div((p.out_length() - 1 + p.padding) / p.stride - t.first + 1 - block_words / 2, own);
  if (tiles < 8) return false;
  const int64_t image = int64_t{t.parts} * t.width * t.depth * 4, rest = 8 + 4 * t.biases, round = 2 * t.box * 32 + 40;
  const int64_t staging = 2 * 4 * t.lane_channels * block_row * 4;
  t.deep = 1, t.staging = static_cast<int32_t>(staging / 2);
  t.stages = static_cast<int32_t>(std::min((hopper_shared_bytes - image - rest - staging) / round, hopper_stages));
  t.tiles = static_cast<int32_t>(tiles), t.by_tiles = divisor_of(tiles);
  t.items = static_cast<int32_t>(tiles * p.batch);
  shared = static_cast<size_t>(image + t.stages * round + staging + rest);
  return t.stages >= hopper_few_rounds;
}

// Where a product is of 16 channels, two rounds of 8 (hopper_scaled.h).
inline void count_pairs(HopperTiles& t) {
  t.rounds += t.rounds % 2;
  t.depth = static_cast<int32_t>(ceil_div(int64_t{t.rounds / 2} * t.shifts, 4) * 32);
}

// With weights that stay in shared memory.
inline HopperPlan hopper_plan_of_width(const ConvProblem& p, int64_t width, int parts, bool scaled = false) {
  HopperPlan h = hopper_geometry(p, width, parts);
  HopperTiles& t = h.tiles;
  if (!h.refused.empty()) return h;
  if (scaled) count_pairs(t);
  t.biases = p.bias ? 4 * t.lane_channels : 0;
  int64_t image = parts * width * t.depth * 4, rest = 8 + 4 * t.biases;
  int64_t room = hopper_shared_bytes - image - rest, round = 2 * t.box * 32;
  int64_t staging = 2 * 4 * t.lane_channels * (hopper_positions * p.stride + 8) * 4;
  // Each warp's boxes, one for each t; and to where they may begin.
  const int64_t of_boxes = 8 * 4 * (t.lane_channels * box_positions + box_words_more) * 4 + 1024;
  const bool boxes = !scaled && box_rows(p, h) && (room - of_boxes) / round >= hopper_few_rounds;
  if (boxes) staging = of_boxes;
  t.boxes = boxes;
  if ((room - staging) / round < hopper_few_rounds || p.stride > 4) staging = 0;
  room -= staging;
  t.staging = static_cast<int32_t>((boxes ? staging - 1024 : staging) / 2);
  // Deep stages need fewer barriers, many stages keep more copies on their way.
  t.deep = scaled ? 2 : 1;
  for (int32_t deep : {2, 4})
    if (t.rounds % deep == 0 && h.step && room / (deep * round + 40) >= hopper_deep_stages) t.deep = deep;
  t.stages = static_cast<int32_t>(std::min(room / (t.deep * round + 40), hopper_stages));
  if (room < 0 || t.stages < 2)
    return h.refused = "takes weights that fit in shared memory, these need " + std::to_string(image) + " bytes", h;
  h.shared = static_cast<size_t>(image + t.stages * (t.deep * round + 40) + staging + rest);
  return h;
}

// Launches a rung's pack kernel and, of its forms, the first that fits: FORMS(F) is F(name, width, step, shifts,
// period, gcd, staged) for each.
struct HopperLaunch {
  const ConvProblem& p;
  Plan& plan;
  const HopperPlan& h;
  int64_t more = 0;  // bytes that packing needs
  int64_t images = int64_t{h.tiles.column_tiles} * p.groups;
  int64_t words = images * h.tiles.parts * h.tiles.width * h.tiles.depth;  // of the packed weights
  // Behind them: who has which item (produce() in hopper_block.h), what packing needs, and rows of x where they are
  // copied.
  size_t turns = static_cast<size_t>(words * 4);
  HopperRows rows{p, static_cast<size_t>(ceil_div(words * 4 + images * 8 + more, 256) * 256)};
  size_t before = 0;  // launches until x and weights are ready

  template <class Entry, class Pad>
  void pack(Entry entry, Pad pad) {
    plan.need_workspace(rows.at + rows.bytes());
    rows.copy(plan, pad);
    plan.launch(entry, {std::min<int64_t>(ceil_div(words, 256), 1056)}, {256})
        .args(p.args(), h.tiles, h.table, plan.w(), plan.workspace(), plan.workspace(turns));
    before = plan.launches().size();
  }
  // The weights' scale comes first (hopper_scaled.h), from what so many blocks find.
  template <class Largest, class Entry, class Pad>
  void pack_scaled(Largest largest, Entry entry, Pad pad, int64_t blocks) {
    const size_t found = turns + static_cast<size_t>(images * 8 + 4);
    plan.need_workspace(rows.at + rows.bytes());
    rows.copy(plan, pad);
    plan.launch(largest, {blocks}, {256}).args(p.args(), plan.w(), plan.workspace(found));
    plan.launch(entry, {std::min<int64_t>(ceil_div(words, 256), 1056)}, {256})
        .args(p.args(), h.tiles, h.table, plan.w(), plan.workspace(found), plan.workspace(), plan.workspace(turns));
    before = plan.launches().size();
  }
  template <class Entry>
  void form(Entry entry, int width, int step, int shifts, int period, int gcd, Leave leave) const {
    HopperTiles t = h.tiles;
    bool fits = width == t.width && (!shifts || (step == h.step && shifts == t.shifts)) &&
                (!period || (period == t.period && gcd == t.gcd)) &&
                (leave == Leave::registers || (t.staging && t.boxes == (leave == Leave::boxes)));
    if (!fits || plan.launches().size() > before) return;  // the first form that fits
    size_t shared = h.shared;
    if (leave == Leave::sectors && !overlap(p, t)) return;
    if (leave == Leave::blocks && !in_blocks(p, t, shared)) return;
    auto launch = plan.launch(entry, {std::clamp<int64_t>(hopper_multiprocessors / images, 1, t.items) * images},
                              {hopper_threads}, shared);
    auto args = [&](const auto&... more) {
      launch.early().args(p.args(), t, h.table, rows.view(plan, t.box, 8 * t.deep, 1), plan.workspace(),
                          plan.workspace(turns), plan.b(), plan.y(), more...);
    };
    if constexpr (takes_result_rows<Entry>)
      args(result_rows(p, t));
    else
      args();
  }
};

}  // namespace
