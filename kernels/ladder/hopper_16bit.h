// What hopper_16bit is made of: how 16-bit operands reach the tensor cores, and how 16-bit results leave in whole
// sectors.
//
// A word is two 16-bit values. A round is 16 input channels; word k of its 8 holds channels k and k + 8, in the weights
// as in x. A lane (g, t) = (lane / 4, lane % 4) of warp w has four neighbouring positions 32w + 4g … + 3 of a tile of
// 128, of output channels t, t + 4, …, all classes: its outputs of a channel are one run of 4·stride neighbours in y.
// Short sequences share a tile: `segments` of them, `segment` positions each.
#pragma once
#include "half_products.h"

struct HalfTiles : HopperTiles {
  int32_t segment, segments;  // positions of a sequence in a tile; sequences in a tile
  int32_t bf16;               // 0: f16
  int32_t pitch;              // values from row to row of the results in shared memory
  int32_t together;           // 1; or 2: a block's warpgroups have two tiles of positions and share stages of weights
  int32_t all_columns, all_stages, cout;  // column tiles of all groups; stages of a sum; output channels of a group
  Divisor by_all_columns, by_column_tiles;
};

// The tile as a lane sees it: where its positions are.
struct HalfPlace {
  int sequence;  // in the tile; tiles.segments or more: the lane has no positions
  int position;  // the first of four, in the sequence's segment
  __device__ __forceinline__ HalfPlace(const HalfTiles& tiles, int warp, int g) {
    int at = warp % 4 * 32 + 4 * g;
    sequence = at / tiles.segment, position = at % tiles.segment;
  }
};

#if defined(CONVSCOPE_HAS_HOPPER)

// ---- x: from shared memory, as it lies, to fragments

// What a lane reads of a round for all shifts u·step: its four positions and those before them, in channels t, t + 4,
// t + 8, t + 12.
template <int step, int shifts>
struct HalfWindow {
  static constexpr int before = ((shifts - 1) * step + 3) / 4 * 4, pairs = (before + 4) / 2;
  uint32_t v[4][pairs];

  __device__ __forceinline__ void load(const uint16_t* x, int box) {
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int i = 0; i < pairs; i += 2) {
        uint2 two = *reinterpret_cast<const uint2*>(x + 4 * r * box - before + 2 * i);
        v[r][i] = two.x, v[r][i + 1] = two.y;
      }
  }
  // Two channels at position h and shift u: word t of the round (second = 0) or word t + 4.
  __device__ __forceinline__ uint32_t word(int second, int h, int u) const {
    int at = before + h - u * step;
    return __byte_perm(v[second][at / 2], v[second + 2][at / 2], at % 2 ? 0x7632 : 0x5410);
  }
};

// The ring as a consumer goes through it: a round is read, its products are done, the next one follows. The other
// warpgroup multiplies meanwhile. All of it is the same for a whole warp (uniform registers, which descriptors want)
// and is counted on, not multiplied out: what is saved here is saved every 16 channels.
struct HalfReader {
  const HalfTiles& tiles;
  const uint16_t* place;                     // the lane's, in the first stage
  uint32_t barriers, all_barriers, weights;  // of the first stage: full and empty, and where its weights begin
  int leads;                                 // its warp
  uint32_t stage, phase = 0;                 // its barriers
  int round = 0, from = 0;                   // of the stage; values from the first stage's first round
  uint32_t now, at = 0;                      // where the stage's weights begin; the round's first step in them

  __device__ __forceinline__ HalfReader(const HalfTiles& t, const uint16_t* lane_place, uint32_t w, const Ring& ring,
                                        int lane)
      : tiles(t),
        place(lane_place),
        barriers(ring.barriers),
        all_barriers(ring.barriers + 16 * static_cast<uint32_t>(ring.stages)),
        weights(w),
        leads(lane == 0),
        stage(ring.barriers),
        now(w) {
    hidden(leads);
  }
  __device__ __forceinline__ void begin_tile() { at = 0; }
  // For the stage with which a tile begins: its number.
  __device__ __forceinline__ uint32_t wait() const {
    barrier_wait(stage, phase);
    return (stage - barriers) / 16;
  }
  __device__ __forceinline__ const uint16_t* this_round() {
    if (round == 0) barrier_wait(stage, phase);
    return place + from;
  }
  // Where the weights of the round's step u begin: a matrix descriptor.
  template <int width>
  __device__ __forceinline__ uint64_t weights_of(int u) const {
    uint32_t step = at + static_cast<uint32_t>(u), low = now + step / 4 * (width * 8) + step % 4 * 2;
    return uint64_t{1024 >> 4 | 1u << 30} << 32 | low;
  }
  // To the next round: the stage that has ended, 0: none. It is given back when its products are done.
  __device__ __forceinline__ uint32_t next(int shifts) {
    at += static_cast<uint32_t>(shifts), from += 16 * tiles.box;
    if (++round < tiles.deep) return 0;
    uint32_t ended = stage;
    round = 0;
    stage += 16, from += tiles.deep * 16 * tiles.box * (tiles.together * tiles.segments - 1);
    if (tiles.chunk) at = 0, now += static_cast<uint32_t>(tiles.chunk) / 16;
    if (stage == all_barriers) stage = barriers, from = 0, phase ^= 1, now = weights;
    return ended;
  }
  __device__ __forceinline__ void give_back(uint32_t ended) const {
    if (!ended) return;
    __syncwarp();
    if (leads) barrier_arrive(ended + 8);
  }
};

// d = the products of a tile, all rounds. It begins with zeros: were it the first product that overwrites it, the
// compiler would take it for the last tile's sums, and keep their registers while results are written (128 columns: 700
// bytes were spilled).
template <bool bf16, int width, int step, int shifts>
__device__ __forceinline__ void half_sum(float (&d)[2][width / 2], const HalfTiles& tiles, const ShiftTable& table,
                                         HalfReader& reader) {
  reader.begin_tile();
#pragma unroll
  for (int i = 0; i < width / 2; i++) d[0][i] = d[1][i] = 0;
  // The next round is read while products run, if there are registers for it.
  constexpr bool ahead = width + 16 * shifts <= 208;
  HalfWindow<step, shifts ? shifts : 1> window;
  if (shifts && ahead) window.load(reader.this_round(), tiles.box);
  for (int round = 0; round < tiles.rounds; round++) {
    uint32_t ended;
    if constexpr (shifts > 0) {
      if (!ahead) window.load(reader.this_round(), tiles.box);
      // All fragments before the first product: what products read is not touched any more.
      Fragments<shifts> a;
#pragma unroll
      for (int u = 0; u < shifts; u++)
#pragma unroll
        for (int i = 0; i < 8; i++) {
          a[u][i / 4][i % 4] = window.word(i / 2 % 2, i / 4 * 2 + i % 2, u);
          settled(a[u][i / 4][i % 4]);
        }
      products_begin();
#pragma unroll
      for (int u = 0; u < shifts; u++)
#pragma unroll
        for (int half = 0; half < 2; half++) product_16<bf16>(d[half], a[u][half], reader.weights_of<width>(u));
      products_commit();
      ended = reader.next(shifts);
      if (ahead && round + 1 < tiles.rounds) window.load(reader.this_round(), tiles.box);
      products_wait<0>();
    } else {
      const uint16_t* x = reader.this_round();
      for (int u = 0; u < tiles.shifts; u++) {
        const uint16_t* from = x - table.shift[u];
        uint32_t a[2][4];
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
            const uint16_t* one = from + i / 2 * 4 * tiles.box + 2 * half + i % 2;
            a[half][i] = one[0] | static_cast<uint32_t>(one[8 * tiles.box]) << 16;
          }
        products_begin();
#pragma unroll
        for (int half = 0; half < 2; half++) product_16<bf16>(d[half], a[half], reader.weights_of<width>(u));
        products_commit();
        products_wait<0>();
      }
      ended = reader.next(tiles.shifts);
    }
    reader.give_back(ended);
  }
}

// ---- results

// Where a tile's results go and come through.
struct HalfResults {
  uint16_t* y;               // channel 0 of the column tile, of the tile's first sequence
  const float* bias;         // of channel 0, in shared memory; null: none
  int64_t length, sequence;  // values from row to row, and from sequence to sequence
  int64_t j;                 // the tile's first output in its rows
  int channels, sequences;   // that exist
  uint16_t* staging;
  int pitch;
  // Values after a 32-byte boundary at which a row begins in y.
  __device__ __forceinline__ int phase(int s, int r) const {
    return static_cast<int>(reinterpret_cast<uintptr_t>(y + s * sequence + r * length + j) >> 1 & 15);
  }
};

// Values from row to row in shared memory, of so many each: rows begin on 16 bytes, behind each there are 8 values to
// read, and the four lanes t of a position begin in different banks.
constexpr __host__ __device__ int64_t half_pitch(int64_t values, int64_t stride) {
  return (values + 7) / 8 * 8 + (stride > 2 ? 8 : 16);
}

// Words into shared memory as one store: the compiler makes four of it where they are not in neighbouring registers, and
// each of these finds four lanes in a bank.
__device__ __forceinline__ void put(uint16_t* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
#if defined(__CUDACC__)
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(to)), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
#else
  *reinterpret_cast<uint4*>(to) = make_uint4(a, b, c, d);
#endif
}
__device__ __forceinline__ void put(uint16_t* to, uint32_t a, uint32_t b) {
#if defined(__CUDACC__)
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(shared_address(to)), "r"(a), "r"(b) : "memory");
#else
  *reinterpret_cast<uint2*>(to) = make_uint2(a, b);
#endif
}

// A lane's results (finish()) into shared memory, 16 or 8 bytes at a time. Rows lie there as if each began on a
// boundary, which few do in y: who reads them shifts (write_half()). As far from a boundary as in y, word by word, they
// took more time than the products where sums are short, since up to eight lanes wanted a bank, and since it was much
// more code, which short layers run once (dac.d3: 4900 of a tile's 22,700 clocks).
template <bool bf16, int period, int gcd, int columns>
__device__ __forceinline__ void stage_half(const float (&d)[2][columns], const HalfResults& to, const HalfPlace& place,
                                           int t) {
  constexpr int stride = period * gcd, words = 2 * stride, all = columns / 2 / period;
  const bool there = place.sequence < to.sequences;
  uint16_t* row = to.staging + ((there ? place.sequence : 0) * all * 4 + t) * to.pitch + place.position * stride;
#pragma unroll
  for (int channel = 0; channel < all; channel++) {  // rows of channels that do not exist as well: nobody reads them
    float untouched = 0.0f;
    if (gcd > 1) untouched = activated(to.bias && channel * 4 < to.channels - t ? (to.bias + t)[channel * 4] : 0.0f);
    uint32_t w[words];
#pragma unroll
    for (int i = 0; i < words; i++) {
      float e[2];
#pragma unroll
      for (int k = 0; k < 2; k++) {
        int o = 2 * i + k;
        e[k] = o % gcd ? untouched : result_of(d, channel * period + o % stride / gcd, o / stride);
      }
      w[i] = rounded_pair(bf16, e[0], e[1]);
    }
    uint16_t* at = row + channel * 4 * to.pitch;
    if (there) {
      if constexpr (words % 4 == 0)
#pragma unroll
        for (int i = 0; i < words; i += 4)
          put(at + 2 * i, w[i], w[i + 1], w[i + 2], w[i + 3]);
      else
#pragma unroll
        for (int i = 0; i < words; i += 2) put(at + 2 * i, w[i], w[i + 1]);
    }
  }
}

// The same for any classes, value by value; outputs that no tap reaches included.
template <bool bf16, int columns>
__device__ __forceinline__ void stage_half_any(const float (&d)[2][columns], const HalfTiles& tiles,
                                               const HalfResults& to, const HalfPlace& place, int t) {
  bool there = place.sequence < to.sequences;
  int s = there ? place.sequence : 0, stride = tiles.period * tiles.gcd;
  int channel = 0, rho = 0;
#pragma unroll
  for (int q = 0; q < columns / 2; q++) {
    int r = channel * 4 + t;
    if (there && channel < tiles.lane_channels && r < to.channels) {
      float b = to.bias ? to.bias[r] : 0.0f;
      uint16_t* at = to.staging + static_cast<int64_t>(s * tiles.lane_channels * 4 + r) * to.pitch +
                     place.position * stride + rho * tiles.gcd;
      uint16_t none = static_cast<uint16_t>(rounded_pair(bf16, activated(b), 0));
#pragma unroll
      for (int h = 0; h < 4; h++)
        for (int f = 0; f < tiles.gcd; f++)
          at[h * stride + f] =
              f ? none : static_cast<uint16_t>(rounded_pair(bf16, activated(result_of(d, q, h) + b), 0));
    }
    if (++rho == tiles.period) rho = 0, channel++;
  }
}

// Results without shared memory, value by value.
template <bool bf16, int columns>
__device__ __forceinline__ void write_half_any(const float (&d)[2][columns], const HalfTiles& tiles,
                                               const HalfResults& to, const HalfPlace& place, int t) {
  int64_t stride = int64_t{tiles.period} * tiles.gcd;
  int channel = 0, rho = 0;
#pragma unroll
  for (int q = 0; q < columns / 2; q++) {
    int r = channel * 4 + t;
    if (place.sequence < to.sequences && channel < tiles.lane_channels && r < to.channels) {
      float b = to.bias ? to.bias[r] : 0.0f;
      uint16_t* row = to.y + place.sequence * to.sequence + r * to.length;
      for (int h = 0; h < 4; h++)
        for (int f = 0; f < tiles.gcd; f++) {
          int64_t at = to.j + (place.position + h) * stride + rho * tiles.gcd + f;
          if (at >= 0 && at < to.length)
            row[at] = static_cast<uint16_t>(rounded_pair(bf16, activated(f ? b : result_of(d, q, h) + b), 0));
        }
    }
    if (++rho == tiles.period) rho = 0, channel++;
  }
}

// Where a lane reads a row's values in shared memory and stores them in y, for a row that begins `phase` values after a
// 32-byte boundary in y: whole sectors, 16 bytes a lane, and the few values at its ends one by one. Of the row
// [low, high) is written.
struct HalfRowPlace {
  int to, left;       // values from the row's first output, and from there to the last whole sector's end
  int front, fronts;  // the same of the values before the first whole sector: how many from the lane's on
  int back, backs;    // and of those behind the last one
  int shift;          // values that what is read on 16 bytes begins before what is stored
  __device__ __forceinline__ HalfRowPlace(int phase, int low, int high, int l) {
    int begin = low + (-(phase + low) & 15), end = high - ((phase + high) & 15);
    if (end < begin) end = begin = min(begin, high);
    to = begin + 8 * l, left = end - to, shift = begin & 7;
    front = low + l, fronts = begin - front;
    back = end + l, backs = high - back;
  }
  // What a row has from place `to` + i on, on 16 bytes; behind the last value (last: eight before the end) it is
  // something else. No branch: all loads are on their way at once.
  __device__ __forceinline__ const uint4* read(const char* row, int i, int last) const {
    return reinterpret_cast<const uint4*>(row + min(to - shift + i, last) * 2);
  }
  // Eight values from `shift` on.
  __device__ __forceinline__ uint4 shifted(const uint4& a, const uint4& b) const {
    uint32_t v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
    for (int k = 0; k < 6; k++) v[k] = shift & 4 ? v[k + 2] : v[k];
#pragma unroll
    for (int k = 0; k < 5; k++) v[k] = shift & 2 ? v[k + 1] : v[k];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = __funnelshift_r(v[k], v[k + 1], shift & 1 ? 16 : 0);
    return make_uint4(v[0], v[1], v[2], v[3]);
  }
};

// Rows from shared memory to y: `left` of them for this half of a warp, every eighth one. Two of these are a whole
// number of sectors apart, so that there are two places. whole: all of each is whole sectors, none is shifted. stride 0:
// any.
template <int stride, int together, bool whole>
__device__ __forceinline__ void write_rows(const HalfRowPlace (&places)[2], const char* row, int pitch, uint16_t* to,
                                           int64_t further, int left) {
  constexpr int parts = stride ? stride : 1;
  auto some = [&](auto count, int parity) {
    constexpr int n = decltype(count)::value;
    uint4 v[n][parts], next[n][parts];
    uint16_t first[n], last[n];
#pragma unroll
    for (int k = 0; k < n; k++, row += 16 * pitch) {
      const HalfRowPlace& at = places[(k + parity) % 2];
      if (stride) {
#pragma unroll
        for (int i = 0; i < parts; i++) {
          const uint4* from = at.read(row, 128 * i, pitch - 16);
          v[k][i] = from[0];
          if (!whole) next[k][i] = from[1];
        }
      } else {
        for (int i = 0; i < at.left; i += 128) {
          const uint4* from = at.read(row, i, pitch - 16);
          *reinterpret_cast<uint4*>(to + k * further + at.to + i) = at.shifted(from[0], from[1]);
        }
      }
      if (!whole && at.fronts > 0) first[k] = reinterpret_cast<const uint16_t*>(row)[at.front];
      if (!whole && at.backs > 0) last[k] = reinterpret_cast<const uint16_t*>(row)[at.back];
    }
#pragma unroll
    for (int k = 0; k < n; k++, to += further) {
      const HalfRowPlace& at = places[(k + parity) % 2];
      if (stride)
#pragma unroll
        for (int i = 0; i < parts; i++) {
          if (!whole) v[k][i] = at.shifted(v[k][i], next[k][i]);
          if (128 * i < at.left) *reinterpret_cast<uint4*>(to + at.to + 128 * i) = v[k][i];
        }
      if (!whole && at.fronts > 0) to[at.front] = first[k];
      if (!whole && at.backs > 0) to[at.back] = last[k];
    }
  };
  if constexpr (together > 1)
#pragma unroll 1
    for (; left >= together; left -= together) some(Count<together>{}, 0);
#pragma unroll 1
  for (; left > 0; left -= 2) {
    some(Count<1>{}, 0);
    if (left > 1) some(Count<1>{}, 1);
  }
}

// From shared memory to y: half a warp a row.
template <int stride>
__device__ __forceinline__ void write_half(const HalfResults& from, int positions, int all_rows, int warp) {
  constexpr int together = stride == 0 || stride > 4 ? 1 : 8 / stride;  // rows that are loaded before any is stored
  int side = threadIdx.x % 32 / 16, l = threadIdx.x % 16;
  int low = static_cast<int>(max(int64_t{0}, -from.j));
  int high = static_cast<int>(min(static_cast<int64_t>(positions), from.length - from.j));
  int rows = min(from.channels, all_rows), left = (rows - warp * 2 - side + 7) / 8;
  const int64_t further = 8 * from.length;
  for (int s = 0; s < from.sequences; s++) {
    auto* staged = reinterpret_cast<char*>(from.staging + s * all_rows * from.pitch);
    const char* row = staged + (warp * 2 + side) * from.pitch * 2;
    uint16_t* to = from.y + s * from.sequence + from.j + (warp * 2 + side) * from.length;
    int phase = from.phase(s, warp * 2 + side);
    const HalfRowPlace places[2] = {{phase, low, high, l}, {(phase + static_cast<int>(further)) & 15, low, high, l}};
    bool whole = true;
    for (const HalfRowPlace& at : places) whole &= at.fronts <= 0 && at.backs <= 0 && at.shift == 0;
    if (__all_sync(~0u, whole))
      write_rows<stride, together, true>(places, row, from.pitch, to, further, left);
    else
      write_rows<stride, (together > 4 ? 4 : together), false>(places, row, from.pitch, to, further, left);
  }
}
#endif
