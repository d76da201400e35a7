// Rungs 13 and 14, columns_tf32 and columns_3xtf32: all residue classes in one matrix product, sums shared among
// blocks.
//
// Idea: with s' = s/gcd(s, d) and d' = d/gcd(s, d), tap k takes x[m − e] to output class ρ, where k·d' = e·s' + ρ. So
// y is one product, positions m × columns (output channel, class), summed over input channels and shifts e. A block has
// up to 64 neighbouring columns, whatever channels they belong to, and up to 256 positions, of several sequences where
// these are short.
// - x is read once for all classes: as it lies in shared memory it is the A operand of mma.sync, shifted by e. Where
//   shifts follow each other a lane has neighbouring positions, and a load serves several shifts (columns_products.h);
//   where d' > s' it has positions d' apart, and a load serves several of every s'-th shift.
// - With few input channels the 8 values of a product are 4, 2 or 1 channels and as many more shifts.
// - Where positions and columns are too few to fill the GPU, several blocks share a sum: each leaves its part in the
//   workspace, and a launch of its own adds the parts, always in the same order.
// - Where K < s' only the classes that a tap reaches are columns.
// Right for: f32 problems with few output channels, long sums and few outputs, or strides so large that writing y is
// the work. With d' > 1 columns have zeros for the shifts that do not reach them. Needs: sm_80.
// Source: PTX ISA, "mma.m16n8k8"; sharing a sum is split-K of CUTLASS (NVIDIA, efficient_gemm.md); 3xTF32 after Ootomo
// & Yokota, Recovering single precision accuracy from Tensor Cores, 2022.
#include "columns_plan.h"
#include "columns_products.h"
#include "convscope/copy.h"

// ---- the weights as lanes need them: a launch of its own

// [group][column tile][channel block][chunk of shifts][round][shift][pair of 8 columns][part][lane][4]; of 8 columns
// alone a lane has its two values of each part.
template <int parts>
__device__ __forceinline__ void columns_pack(const ConvArgs& c, const ColumnTiles& tiles, int nt, const float* w,
                                             uint32_t* packed) {
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups;
  int words = nt * 64;  // of a product and a part
  int64_t all = c.groups * tiles.column_tiles * tiles.channel_blocks * tiles.chunks * tiles.deep * tiles.chunk * words;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    int e = static_cast<int>(id % words), i = nt == 1 ? e % 2 : e % 4, lane = nt == 1 ? e / 2 : e / 4 % 32;
    int64_t rest = id / words, product = rest;
    int64_t u = rest % tiles.chunk;
    rest /= tiles.chunk;
    int64_t ci = rest % tiles.deep;
    rest /= tiles.deep;
    u += rest % tiles.chunks * tiles.chunk;
    rest /= tiles.chunks;
    ci += rest % tiles.channel_blocks * tiles.deep;
    rest /= tiles.channel_blocks;
    int k8 = lane % 4 + i % 2 * 4;
    u = u * tiles.product_shifts + k8 / tiles.product_channels;
    ci = ci * tiles.product_channels + k8 % tiles.product_channels;
    int local = e / 128 * 16 + i / 2 * 8 + lane / 4;
    int64_t column = rest % tiles.column_tiles * tiles.tile_columns + local, group = rest / tiles.column_tiles;
    int64_t co = column / tiles.classes;
    int64_t shift = tiles.back <= tiles.period ? u : u * tiles.back / tiles.period;
    int64_t along = shift * tiles.period + tiles.class_of(static_cast<int>(column % tiles.classes));  // k·d'
    bool is = local < tiles.tile_columns && co < cout && ci < cin && along % tiles.back == 0 &&
              along / tiles.back < c.kernel_size;
    float v = is ? w[((group * cin + ci) * cout + co) * c.kernel_size + along / tiles.back] : 0.0f;
    uint32_t high = to_tf32(v);
    uint32_t* to =
        packed + product * words * parts + (nt == 1 ? lane * 2 * parts + i : e / 128 * 128 * parts + e % 128);
    to[0] = high;
    if (parts == 2) to[nt == 1 ? 2 : 128] = to_tf32(v - __uint_as_float(high));
  }
}

// ---- a block

template <int parts, int NT, int MW, Lanes lanes>
__device__ __forceinline__ void columns(const ConvArgs& c, const ColumnTiles& tiles, const float* x,
                                        const uint32_t* packed, const float* b, float* sums, float* y) {
  CONVSCOPE_DYNAMIC_SHARED(float, shared);
  __shared__ ColumnTable table;
  int cin = static_cast<int>(c.in_channels / c.groups), cout = static_cast<int>(c.out_channels / c.groups);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int rest = static_cast<int>(blockIdx.x);
  int column_tile = rest % tiles.column_tiles;
  rest /= tiles.column_tiles;
  int split = rest % tiles.splits;
  rest /= tiles.splits;
  int group = rest % static_cast<int>(c.groups), tile = rest / static_cast<int>(c.groups);
  int column0 = column_tile * tiles.tile_columns, co0 = column0 / tiles.classes;
  int spans = min(tiles.spans, tiles.all_spans - tile * tiles.spans);

  int id = static_cast<int>(threadIdx.x);
  if (id < tiles.spans) {
    int span = tile * tiles.spans + id, n = span / tiles.pieces;
    table.x[id] = (n * c.in_channels + static_cast<int64_t>(group) * cin) * c.length;
    table.y[id] = (n * c.out_channels + static_cast<int64_t>(group) * cout + co0) * c.out_length;
    // A span beyond the last reads nothing.
    table.m[id] = id < spans ? tiles.first + span % tiles.pieces * tiles.span : -(1 << 30);
  }
  if (id < 8 * NT) {
    int column = column0 + id, co = column / tiles.classes;
    bool is = id < tiles.tile_columns && co < cout;
    table.at[id] = is ? (co - co0) * tiles.row_pitch + tiles.class_of(column % tiles.classes) * tiles.gcd : no_column;
    table.bias[id] = is && b ? b[group * cout + co] : 0.0f;
    table.row_bias[id] = b && co0 + id < cout ? b[group * cout + co0 + id] : 0.0f;
  }
  __syncthreads();

  // Stages: chunks of shifts of blocks of channels.
  int channels = 1 << tiles.channels_log2, x_words = channels * tiles.pitch;
  int weight_words = tiles.deep * tiles.chunk * product_words<parts, NT>, buffer = x_words + weight_words;
  int all = tiles.channel_blocks * tiles.chunks;
  int stage = static_cast<int>(static_cast<int64_t>(all) * split / tiles.splits);
  int end = static_cast<int>(static_cast<int64_t>(all) * (split + 1) / tiles.splits);
  const uint32_t* weights =
      packed + ((static_cast<int64_t>(group) * tiles.column_tiles + column_tile) * all + stage) * weight_words;
  int chunk = stage % tiles.chunks, next_chunk = chunk, next_block = stage / tiles.chunks;
  int here = 0, next = 0, next_stage = stage;  // buffers
  auto copy_next = [&] {
    if (next_stage < end) {
      float* xs = shared + next * buffer;
      int before = ColumnShifts<lanes>(tiles, next_chunk).left;
      for (int row = warp; row < tiles.spans * channels; row += column_warps) {
        int ch = row & (channels - 1), span = row >> tiles.channels_log2, ci = next_block * channels + ch;
        int each = tiles.whole ? 4 : 1, left = table.m[span] - before + lane * each, rest = tiles.box - lane * each;
        const float* from = x + table.x[span] + ci * c.length + left;
        float* to = xs + ch * tiles.pitch + span * tiles.box + lane * each;
        unsigned length = ci < cin ? static_cast<unsigned>(c.length) : 0;
        if (tiles.whole) {
#pragma unroll 2
          for (; rest > 0; rest -= 128, from += 128, to += 128, left += 128)
            copy_async<16>(to, from, static_cast<unsigned>(left) < length);
        } else {
#pragma unroll 4
          for (; rest > 0; rest -= 32, from += 32, to += 32, left += 32)
            copy_async<4>(to, from, static_cast<unsigned>(left) < length);
        }
      }
#pragma unroll 1
      for (int e = id * 4; e < weight_words; e += column_threads * 4)
        copy_async<16>(xs + x_words + e, weights + e, true);
      weights += weight_words;
      if (++next_chunk == tiles.chunks) next_chunk = 0, next_block++;
      if (++next == column_buffers) next = 0;
      next_stage++;
    }
    copies_commit();
  };

  // Where a lane finds its first value in each unit of its positions, and how much further the second value of a
  // product lies.
  int ways = tiles.product_channels;
  auto place = [&](int k8) {
    return lanes == Lanes::apart ? k8 % ways * tiles.pitch - k8 / ways * tiles.jump : k8 * tiles.pitch;
  };
  constexpr int unit = column_unit<MW, lanes>, units = MW * 16 / unit;
  int second = place(t + 4) - place(t), unit_at[units];
  bool mine = false;
#pragma unroll
  for (int i = 0; i < units; i++) {
    int position, span;
    if constexpr (lanes == Lanes::chained) {
      int row = warp * 16 + i * 8 + g;
      mine |= (warp * 16 + i * 8) / tiles.chain < spans;  // the same for all lanes
      span = row / tiles.chain, row %= tiles.chain;
      position = row / tiles.back * MW * tiles.back + row % tiles.back;
    } else {
      position = (warp * units + i) * unit, span = position / tiles.span;
      mine |= span < spans;
      position = position % tiles.span + position_of<MW, lanes>(0, 0, g);
    }
    unit_at[i] = place(t) + (span < spans ? span * tiles.box + position : 0);
  }

  float total[MW][NT][4], sum[MW][NT][4];
#pragma unroll
  for (int m = 0; m < MW; m++)
#pragma unroll
    for (int q = 0; q < NT; q++)
#pragma unroll
      for (int i = 0; i < 4; i++) total[m][q][i] = sum[m][q][i] = 0;

#pragma unroll 1
  for (int i = 0; i < column_buffers - 1; i++) copy_next();
  for (; stage < end; stage++) {
    copies_wait<column_buffers - 2>();
    __syncthreads();
    copy_next();  // into the buffer everyone has left
    if (mine) {
      ColumnShifts<lanes> shifts(tiles, chunk);
      const float* xs = shared + here * buffer + shifts.at;
      const float* ws = shared + here * buffer + x_words + lane * (NT == 1 ? 2 * parts : 4);
      for (int round = 0; round < tiles.deep; round++) {
        if constexpr (lanes == Lanes::near)
          add_near<parts, NT, MW>(sum, xs, unit_at, second, ws, shifts.products);
        else if constexpr (lanes == Lanes::chained)
          add_chained<parts, NT, MW>(sum, xs, unit_at, second, ws, shifts.products, tiles, shifts.remainder);
        else
          add_apart<parts, NT, MW>(sum, xs, unit_at, second, ws, shifts.products, tiles, shifts.remainder);
        xs += ways * tiles.pitch;
        ws += tiles.chunk * product_words<parts, NT>;
      }
      if constexpr (parts == 2)
#pragma unroll
        for (int m = 0; m < MW; m++)
#pragma unroll
          for (int q = 0; q < NT; q++)
#pragma unroll
            for (int i = 0; i < 4; i++) total[m][q][i] += sum[m][q][i], sum[m][q][i] = 0;
    }
    if (++chunk == tiles.chunks) chunk = 0;
    if (++here == column_buffers) here = 0;
  }
  copies_wait<0>();
  __syncthreads();  // before results overwrite what was copied
  if (!mine) return;
  const float(&d)[MW][NT][4] = parts == 2 ? total : sum;
  if constexpr (lanes != Lanes::chained)
    if (tiles.splits == 1)
      return store_columns<NT, MW, lanes>(d, c, tiles, table, spans, column0, shared + warp * tiles.staging, y);
  // [split][group][column][position]
  int64_t positions = static_cast<int64_t>(tiles.position_tiles) * 64 * MW;
  float* to = sums +
              (((static_cast<int64_t>(split) * c.groups + group) * tiles.column_tiles + column_tile) * 8 * NT + 2 * t) *
                  positions +
              tile * 64 * MW + warp * 16 * MW;
#pragma unroll
  for (int q = 0; q < NT; q++)
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        float* at = to + (8 * q + i) * positions + position_of<MW, lanes>(0, half, g);
        if constexpr (lanes != Lanes::apart && MW == 4)
          *reinterpret_cast<float4*>(at) = make_float4(d[0][q][2 * half + i], d[1][q][2 * half + i],
                                                       d[MW - 2][q][2 * half + i], d[MW - 1][q][2 * half + i]);
        else if constexpr (lanes != Lanes::apart)
          *reinterpret_cast<float2*>(at) = make_float2(d[0][q][2 * half + i], d[1][q][2 * half + i]);
        else
#pragma unroll
          for (int m = 0; m < MW; m++) at[position_of<MW, lanes>(m, 0, 0)] = d[m][q][2 * half + i];
      }
}

// ---- the parts of split sums: a launch of its own

// A thread adds every ways-th part of an output; then the sums of its `ways` threads are added in order. Parts are few
// enough for 32 bits.
extern "C" __global__ void __launch_bounds__(256)
    columns_sum(const ConvArgs c, const ColumnTiles tiles, const int width, const int tile_positions, const int ways,
                const float* sums, const float* b, float* y) {
  __shared__ float of_thread[256];
  int thread = static_cast<int>(threadIdx.x), outputs = 256 / ways, way = thread / outputs;
  int id = static_cast<int>(blockIdx.x) * outputs + thread % outputs, length = static_cast<int>(c.out_length);
  int channels = static_cast<int>(c.out_channels), cout = static_cast<int>(c.out_channels / c.groups);
  int j = id % length, row = id / length, channel = row % channels, n = row / channels;
  bool is = id < static_cast<int>(c.batch) * channels * length;
  int along = j + static_cast<int>(c.padding), stride = static_cast<int>(c.stride), r = along % stride;
  int a = r % tiles.gcd ? -1 : tiles.column_of(r / tiles.gcd);
  float sum = 0;
  if (is && a >= 0) {
    int positions = tiles.position_tiles * tile_positions;
    int part = static_cast<int>(c.groups) * tiles.column_tiles * width * positions;
    int column = channel % cout * tiles.classes + a, m = along / stride - tiles.first;
    int span = n * tiles.pieces + m / tiles.span;
    int position = span / tiles.spans * tile_positions, in_span = m % tiles.span;
    if (tiles.chain) {
      int each = tile_positions / 64, block = each * tiles.back,
          row = in_span / block * tiles.back + in_span % tiles.back;
      position += (span % tiles.spans * tiles.chain + row) * each + in_span % block / tiles.back;
    } else {
      position += span % tiles.spans * tiles.span + in_span;
    }
    int tile = channel / cout * tiles.column_tiles + column / tiles.tile_columns;
    const float* from = sums + (tile * width + column % tiles.tile_columns) * positions + position;
#pragma unroll 4
    for (int split = way; split < tiles.splits; split += ways) sum += from[split * part];
  }
  of_thread[thread] = sum;
  __syncthreads();
  if (way > 0 || !is) return;
  for (int i = 1; i < ways; i++) sum += of_thread[i * outputs + thread];
  y[id] = activated(sum + (b ? b[channel] : 0.0f));
}

extern "C" __global__ void __launch_bounds__(256)
    columns_pack_tf32(const ConvArgs c, const ColumnTiles tiles, const int nt, const float* w, uint32_t* packed) {
  columns_pack<1>(c, tiles, nt, w, packed);
}
extern "C" __global__ void __launch_bounds__(256)
    columns_pack_3xtf32(const ConvArgs c, const ColumnTiles tiles, const int nt, const float* w, uint32_t* packed) {
  columns_pack<2>(c, tiles, nt, w, packed);
}
// F(name, parts, 8-column tiles, 16-position tiles of a warp, lanes, blocks a multiprocessor)
#define CONVSCOPE_COLUMNS_TF32(F)                     \
  F(columns_tf32_64x256, 1, 8, 4, apart, 2)           \
  F(columns_tf32_64x256_near, 1, 8, 4, near, 2)       \
  F(columns_tf32_32x256, 1, 4, 4, apart, 4)           \
  F(columns_tf32_32x256_near, 1, 4, 4, near, 3)       \
  F(columns_tf32_16x256, 1, 2, 4, apart, 5)           \
  F(columns_tf32_16x256_near, 1, 2, 4, near, 4)       \
  F(columns_tf32_8x256, 1, 1, 4, apart, 6)            \
  F(columns_tf32_8x256_near, 1, 1, 4, near, 4)        \
  F(columns_tf32_64x128, 1, 8, 2, apart, 4)           \
  F(columns_tf32_64x128_near, 1, 8, 2, near, 3)       \
  F(columns_tf32_32x128, 1, 4, 2, apart, 4)           \
  F(columns_tf32_32x128_near, 1, 4, 2, near, 4)       \
  F(columns_tf32_16x128, 1, 2, 2, apart, 6)           \
  F(columns_tf32_16x128_near, 1, 2, 2, near, 5)       \
  F(columns_tf32_8x128, 1, 1, 2, apart, 7)            \
  F(columns_tf32_8x128_near, 1, 1, 2, near, 6)        \
  F(columns_tf32_32x256_chained, 1, 4, 4, chained, 3) \
  F(columns_tf32_16x256_chained, 1, 2, 4, chained, 4) \
  F(columns_tf32_8x256_chained, 1, 1, 4, chained, 6)
#define CONVSCOPE_COLUMNS_3XTF32(F)                     \
  F(columns_3xtf32_64x128, 2, 8, 2, apart, 2)           \
  F(columns_3xtf32_64x128_near, 2, 8, 2, near, 2)       \
  F(columns_3xtf32_32x128, 2, 4, 2, apart, 4)           \
  F(columns_3xtf32_32x128_near, 2, 4, 2, near, 3)       \
  F(columns_3xtf32_16x128, 2, 2, 2, apart, 5)           \
  F(columns_3xtf32_16x128_near, 2, 2, 2, near, 4)       \
  F(columns_3xtf32_8x128, 2, 1, 2, apart, 5)            \
  F(columns_3xtf32_8x128_near, 2, 1, 2, near, 5)        \
  F(columns_3xtf32_16x256_chained, 2, 2, 4, chained, 3) \
  F(columns_3xtf32_8x256_chained, 2, 1, 4, chained, 3)
#define CONVSCOPE_COLUMNS(name, parts, nt, mw, lanes, blocks)                                                 \
  extern "C" __global__ void __launch_bounds__(column_threads, blocks)                                        \
      name(const ConvArgs c, const ColumnTiles tiles, const float* x, const uint32_t* packed, const float* b, \
           float* sums, float* y) {                                                                           \
    columns<parts, nt, mw, Lanes::lanes>(c, tiles, x, packed, b, sums, y);                                    \
  }
CONVSCOPE_COLUMNS_TF32(CONVSCOPE_COLUMNS)
CONVSCOPE_COLUMNS_3XTF32(CONVSCOPE_COLUMNS)

#ifndef __CUDACC__
namespace {

constexpr ColumnForm tf32_forms[] = {
#define CONVSCOPE_FORM(name, parts, nt, mw, lanes, blocks) {parts, nt, mw, Lanes::lanes, blocks},
    CONVSCOPE_COLUMNS_TF32(CONVSCOPE_FORM)};
constexpr ColumnForm three_forms[] = {CONVSCOPE_COLUMNS_3XTF32(CONVSCOPE_FORM)};

template <class Pack>
void pack_columns(const ConvProblem& p, Plan& plan, const ColumnPlan& h, Pack pack) {
  plan.need_workspace(h.packed_bytes + h.sum_bytes);
  plan.launch(pack, {std::min<int64_t>(ceil_div(static_cast<int64_t>(h.packed_bytes / 4), 256), 2048)}, {256})
      .args(p.args(), h.tiles, h.form.nt, plan.w(), plan.workspace());
}
template <class Main>
void launch_columns(const ConvProblem& p, Plan& plan, const ColumnPlan& h, Main entry) {
  plan.launch(entry, {h.blocks}, {column_threads}, h.shared)
      .args(p.args(), h.tiles, plan.x(), plan.workspace(), plan.b(), plan.workspace(h.packed_bytes), plan.y());
  if (!h.sum_bytes) return;
  int ways = 1;  // threads that add the parts of an output, each at least four
  while (ways < 8 && h.tiles.splits >= 8 * ways) ways *= 2;
  plan.launch(ENTRY(columns_sum), {ceil_div(p.y_elements(), 256 / ways)}, {256})
      .args(p.args(), h.tiles, 8 * h.form.nt, 64 * h.form.mw, ways, plan.workspace(h.packed_bytes), plan.b(), plan.y());
}

}  // namespace

#define CONVSCOPE_LAUNCH(name, parts, nt_, mw_, lanes_, blocks) \
  if (h.form.nt == nt_ && h.form.mw == mw_ && h.form.lanes == Lanes::lanes_) launch_columns(p, plan, h, ENTRY(name));

CONVSCOPE_KERNEL(columns_tf32) {
  rung(13);
  idea("positions × (channel, class) as one product by mma.sync, TF32, long sums shared among blocks");
  activates();
  accuracy("tf32");
  requires_("sm_80", "mma");
  supports([](const ConvProblem& p) { return plan_columns(p, tf32_forms).refused; });
  plan([](const ConvProblem& p, Plan& plan) {
    ColumnPlan h = plan_columns(p, tf32_forms);
    pack_columns(p, plan, h, ENTRY(columns_pack_tf32));
    CONVSCOPE_COLUMNS_TF32(CONVSCOPE_LAUNCH)
  });
}

CONVSCOPE_KERNEL(columns_3xtf32) {
  rung(14);
  idea("the same with both inputs in two TF32 parts: nearly f32's accuracy");
  activates();
  accuracy("3xtf32");
  requires_("sm_80", "mma");
  supports([](const ConvProblem& p) { return plan_columns(p, three_forms).refused; });
  plan([](const ConvProblem& p, Plan& plan) {
    ColumnPlan h = plan_columns(p, three_forms);
    pack_columns(p, plan, h, ENTRY(columns_pack_3xtf32));
    CONVSCOPE_COLUMNS_3XTF32(CONVSCOPE_LAUNCH)
  });
}
#endif
