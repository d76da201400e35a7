// What held_16bit is made of: x in an order in which a shift is another address, products with weights that stay in
// registers, and results by way of shared memory.
//
// Order of x: eight channels of a position are 16 bytes, and positions follow each other, the halo's first. So eight
// neighbouring positions from anywhere on are one of the tensor cores' matrices, and a shift by e is an address e rows
// earlier (as in the ordered rungs, here within shared memory).
// A lane (g, t) = (lane / 4, lane % 4) of warp w has the sums of rows g and g + 8 of its warp's 16, at positions 8j +
// 2t and 8j + 2t + 1 for j = 0 … 15.
#pragma once
#include "half_products.h"

constexpr int held_channels = 32;  // of x in a stage: two rounds of 16
constexpr int held_orders = 3;     // warps that put x in order; numbers of stages are multiples of it

// How a block's threads share its registers. Two warpgroups multiply, one brings x, and one or two store results: two
// where there are registers for it and results are most of what is moved.
struct HeldCrew {
  int products, orders, stores;  // registers of a thread
  int storing;                   // warpgroups
  int words;                     // of results that a thread that stores has at a time
  int threads;
  // Registers of a block: what its launch gets, eight a thread at once, and what its threads ask for.
  __host__ __device__ constexpr int given() const { return 65536 / threads / 8 * 8 * threads; }
  __host__ __device__ constexpr int taken() const { return 128 * (2 * products + orders + storing * stores); }
};
__host__ __device__ constexpr HeldCrew held_crew(int rounds, int shifts, int period, int = 0, int = 0, bool = false) {
  const int steps = rounds * shifts;
  if (period == 1 && steps <= 6) return {120, 48, 96, 2, 64, 640};
  if (period == 1 && steps <= 10) return {136, 56, 72, 2, 32, 640};
  return steps > 16 ? HeldCrew{192, 48, 80, 1, 64, 512} : HeldCrew{160, 72, 120, 1, 64, 512};
}

// Pairs of tiles: 256 positions of a sequence, of which the pair's own are a sector's less, so that each row's part is
// whole sectors from its first boundary on, and none is written twice.
template <int stride>
struct HeldPairs {
  static constexpr int all = 2 * hopper_positions * stride, own = all - 16;  // outputs
  static constexpr int positions = own / stride;
};

// Few products: barriers are waited for often, and not long (#79: 0.222 to 0.216 ms; #64: 0.716 to 0.731).
__host__ __device__ constexpr bool held_spins(int rounds, int shifts) { return rounds * shifts <= 6; }

struct HeldTiles : HopperTiles {
  int32_t bf16;   // 0: f16
  int32_t pitch;  // values from row to row of the results in shared memory
  int32_t
      together;  // tiles of positions in a stage: 2, one for each warpgroup; or 1, both have it with 64 columns each
  int32_t raw_stages;  // stages of x as it lies
  int32_t pairs;       // items are pairs of neighbouring tiles that share their rows of results (HeldPairs)
  int32_t channels;    // output channels of 64 columns
};

// Which output channel (of its 64 columns) and class is row g + 8·side of warp w. Two classes of a channel are a lane's
// where their number is even: neighbours in y.
struct HeldRow {
  int channel, rho;
  __host__ __device__ __forceinline__ HeldRow(int period, int warp, int g, int side) {
    if (period % 2 == 0) {
      int pair = 8 * warp + g, of = period / 2;
      channel = pair / of, rho = pair % of * 2 + side;
    } else {
      int row = 16 * warp + g + 8 * side;
      channel = row / period, rho = row % period;
    }
  }
};

// The blocks' different column tiles.
__host__ __device__ __forceinline__ int held_images(const HeldTiles& tiles, int groups) {
  return groups * (tiles.together == 2 ? tiles.column_tiles : tiles.column_tiles / 2);
}

// Where things are in shared memory, and how large: computed alike on both sides.
struct HeldRoom {
  uint32_t raw, image, staging, barriers, items, biases;  // bytes from the beginning
  uint32_t tile;                                          // bytes of a tile of x, as it lies and in order
  uint32_t all;
  static constexpr int more = 3;  // barriers: of the two warpgroups' results, and of their turns; pairs of numbers
  __host__ __device__ __forceinline__ explicit HeldRoom(const HeldTiles& t) {
    tile = static_cast<uint32_t>(held_channels * t.box * 2);
    raw = 0;
    image = raw + static_cast<uint32_t>(t.raw_stages * t.together) * tile;
    staging = image + static_cast<uint32_t>(t.stages * t.together) * tile;
    barriers = staging + 2 * static_cast<uint32_t>(t.staging);
    items = barriers + 16 * static_cast<uint32_t>(t.raw_stages + t.stages + more);
    biases = items + 4 * static_cast<uint32_t>(t.raw_stages + t.stages + 2 * more);
    all = biases + 4 * static_cast<uint32_t>(t.biases);
  }
};

#if defined(CONVSCOPE_HAS_HOPPER)

// ---- the warpgroup that brings x

// What the lane that gives a stage back reads of it, as one value of the warp's. (Were it read by all lanes, racecheck
// would not see that the others have read before.)
__device__ __forceinline__ int told(const int* item, int leads) {
  return __reduce_min_sync(~0u, leads ? *item : 0x7fffffff);
}

// One thread orders the copies of x, stage by stage, ahead of those who put it in order. With each stage they are told
// its item, and at the end −1, each of them.
// own: positions from pair to pair, 0: there are none.
template <bool spins, int own>
__device__ __forceinline__ void held_produce(const HeldTiles& tiles, const TensorMap& map, uint32_t raw, uint32_t bytes,
                                             Ring ring, int* items, int* turns, int group, int blocks, int next) {
  const int of_item = own ? 1 : tiles.together;  // numbers of tiles
  const int all = (tiles.items + of_item - 1) / of_item, left = tiles.first - tiles.halo;
  for (int asked = 0; next < all; next = blocks + asked) {
    const int item = next;
    const int first = item * of_item, n = first / tiles.tiles, tile = first - n * tiles.tiles;
    const bool two = own || (tiles.together == 2 && first + 1 < tiles.items);
    const bool another = !own && tile + 1 == tiles.tiles;  // sequence
    const int at = left + tile * (own ? own : hopper_positions);
    for (int round = 0; round < tiles.rounds; round += 2, ring.advance()) {
      barrier_wait<spins>(ring.empty(), ring.phase ^ 1);
      items[ring.stage] = item;
      barrier_expect(ring.full(), two ? 2 * bytes : bytes);
      uint32_t to = raw + static_cast<uint32_t>(ring.stage * tiles.together) * bytes;
      copy_box(to, map, at, round * 16, group, n, ring.full());
      if (two)
        copy_box(to + bytes, map, another ? left : at + hopper_positions, round * 16, group, n + another, ring.full());
      if (round == 0) asked = atomicAdd(turns, 1);  // behind the copies, which are waited for; on its way meanwhile
    }
  }
  for (int i = 0; i < held_orders; i++, ring.advance()) {
    barrier_wait<spins>(ring.empty(), ring.phase ^ 1);
    items[ring.stage] = -1;
    barrier_arrive(ring.full());
  }
  if (atomicAdd(turns + 1, 1) == blocks - 1) forget_turns(turns);
}

// A warp puts every third stage of x in order. Each has its stages to itself, so that one reads while another waits.
template <int halo, bool spins>
__device__ __forceinline__ void held_order(const HeldTiles& tiles, const HeldRoom& room, uint32_t shared, Ring raw,
                                           Ring image, const int* raw_items, int* items, int which, int lane) {
  constexpr int many = 4;  // 8 × 8 matrices that a lane has at a time, of each of 4 × 8 channels
  const int leads = lane == 0;
  const uint32_t from = shared + room.raw + static_cast<uint32_t>(lane * tiles.box) * 2;  // a row: a channel
  const uint32_t to = shared + room.image + static_cast<uint32_t>(lane / 8 * tiles.box + lane % 8) * 16;
  raw.stage = image.stage = which;
  auto advance = [](Ring& ring) {
    if ((ring.stage += held_orders) >= ring.stages) ring.stage -= ring.stages, ring.phase ^= 1;
  };
  for (;; advance(raw), advance(image)) {
    barrier_wait<spins>(raw.full(), raw.phase);
    const int item = told(raw_items + raw.stage, leads);
    barrier_wait<spins>(image.empty(), image.phase ^ 1);
    if (leads) items[image.stage] = item;
    if (item < 0) break;
    for (int i = 0; i < tiles.together; i++) {
      uint32_t in = from + static_cast<uint32_t>(raw.stage * tiles.together + i) * room.tile;
      uint32_t out = to + static_cast<uint32_t>(image.stage * tiles.together + i) * room.tile;
      auto turn = [&](auto count) {
        uint32_t v[decltype(count)::value][4];
#pragma unroll
        for (int k = 0; k < decltype(count)::value; k++) load_matrices(v[k], in + k * 16);
#pragma unroll
        for (int k = 0; k < decltype(count)::value; k++) store_matrices(out + k * 128, v[k]);
        in += decltype(count)::value * 16, out += decltype(count)::value * 128;
      };
#pragma unroll 1
      for (int k = 0; k < hopper_positions / 8; k += many) turn(Count<many>{});
      turn(Count<halo / 8>{});
    }
    shared_stores_seen();
    __syncwarp();
    if (leads) barrier_arrive(raw.empty()), barrier_arrive(image.full());
  }
  __syncwarp();
  if (leads) barrier_arrive(image.full());
}

// ---- results

// A lane's results (biases added) into shared memory: words of two neighbours where there are any. Row r begins
// (phase + r·length) % 16 values after a 32-byte boundary in y, and so it does there. goes_on: another tile's results
// follow in the same rows. Behind a row one value may be anything.
template <bool bf16, int period, int gcd, bool goes_on>
__device__ __forceinline__ void stage_held(const float (&d)[64], const HeldTiles& tiles, uint16_t* staging,
                                           uint32_t phase, uint32_t length, const float (&nones)[2], int warp, int g,
                                           int t) {
  static_assert(period % 2 == 0 ? gcd == 1 : period == 1 && gcd <= 2, "no other form is compiled");
  constexpr int stride = period * gcd;
  auto row_of = [&](const HeldRow& row) {
    return staging + row.channel * tiles.pitch + ((phase + static_cast<uint32_t>(row.channel) * length) & 15);
  };
  auto store_word = [](uint16_t* at, uint32_t w) { *reinterpret_cast<uint32_t*>(at) = w; };
  auto half_of = [](float v) { return static_cast<uint16_t>(rounded_pair(bf16, v, 0)); };
  // Which of two neighbouring positions comes first, so that lanes of odd channels use the banks between.
  auto swapped = [](const HeldRow& row, int r) { return r ^ row.channel % 2; };
  if constexpr (period % 2 == 0) {
    HeldRow row(period, warp, g, 0);
    if (row.channel >= tiles.channels) return;
    uint16_t* at = row_of(row) + 2 * t * stride + row.rho;
    const bool odd = reinterpret_cast<uintptr_t>(at) & 2;
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const int j = i / 2, r = swapped(row, i % 2);
      const uint32_t w = rounded_pair(bf16, r ? d[4 * j + 1] : d[4 * j], r ? d[4 * j + 3] : d[4 * j + 2]);
      uint16_t* to = at + (8 * j + r) * stride;
      if (!odd)
        store_word(to, w);
      else
        to[0] = static_cast<uint16_t>(w), to[1] = static_cast<uint16_t>(w >> 16);
    }
  } else {
#pragma unroll
    for (int side = 0; side < 2; side++) {
      HeldRow row(period, warp, g, side);
      uint16_t* at = row_of(row);
      const bool odd = reinterpret_cast<uintptr_t>(at) & 2;
      if constexpr (gcd == 2) {
        const float none = nones[side];
        uint16_t* words = at - odd + 4 * t;  // odd: the value before is one that no tap reaches, too
#pragma unroll
        for (int i = 0; i < 32; i++) {
          const int j = i / 2, r = swapped(row, i % 2);
          const float v = r ? d[4 * j + 2 * side + 1] : d[4 * j + 2 * side];
          store_word(words + 16 * j + 2 * r, rounded_pair(bf16, odd ? none : v, odd ? v : none));
        }
        if (!goes_on && odd && t == 3) at[2 * hopper_positions - 1] = half_of(none);
      } else {
        uint32_t w[16];
#pragma unroll
        for (int j = 0; j < 16; j++) w[j] = rounded_pair(bf16, d[4 * j + 2 * side], d[4 * j + 2 * side + 1]);
        if (__any_sync(~0u, odd)) {  // words of a lane's second value and the next lane's first
          if (odd && t == 0) at[0] = static_cast<uint16_t>(w[0]);
#pragma unroll
          for (int j = 0; j < 16; j++) {
            const uint32_t next = __shfl_sync(~0u, t == 0 && j < 15 ? w[(j + 1) % 16] : w[j], (t + 1) % 4, 4);
            if (odd) w[j] = w[j] >> 16 | next << 16;  // the last one's upper half is nobody's
          }
        }
        uint16_t* words = at + odd + 2 * t;
        // Rows begin on any word: lanes whose word is past a 16-byte boundary store the one before, so that the eight
        // rows of a warp are in different banks.
        const bool lags = t + static_cast<int>(reinterpret_cast<uintptr_t>(at + odd) >> 2 & 3) >= 4;
        if (!lags) store_word(words, w[0]);
#pragma unroll
        for (int j = 1; j < 16; j++) store_word(words + 8 * (j - lags), lags ? w[j - 1] : w[j]);
        if (lags) store_word(words + 8 * 15, w[15]);
      }
    }
  }
}

// Which tile a warpgroup's results in shared memory are: its sequence (−1: there are no more) and number in it.
struct HeldResult {
  int n, tile;
};

// Those who multiply and those who store their results meet, 128 threads each: results are staged, or are read. By
// named barriers: by mbarriers #79 takes 0.233 instead of 0.222 ms. compute-sanitizer's racecheck does not follow
// bar.arrive (a program of 20 lines with nothing else in it is told of races); with CONVSCOPE_RACECHECK defined all
// threads arrive at an mbarrier as well, which it follows. threads: that meet, 384 where two warpgroups store each row.
struct HeldMeetings {
  enum Which { staged, read };
  uint32_t barrier;
  int mine;  // warpgroup
};
template <int threads>
struct HeldMeeting : HeldMeetings {
  // first: there is room, nothing has been read yet.
  __device__ __forceinline__ void arrive(Which which, bool first = false) const {
#if defined(CONVSCOPE_RACECHECK)
    if (!first) barrier_arrive(barrier + 8u * which);
#endif
    ::arrive<threads>(1 + 2 * which + mine);
  }
  __device__ __forceinline__ void wait(Which which, uint32_t phase) const {
    meet<threads>(1 + 2 * which + mine);
#if defined(CONVSCOPE_RACECHECK)
    barrier_wait(barrier + 8u * which, phase);
#endif
  }
};

// Stores without a branch: branches would keep the next rows' addresses waiting.
__device__ __forceinline__ void store_if(bool is, uint16_t* to, const uint4& v) {
#if defined(__CUDACC__)
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n@p st.global.v4.b32 [%1], {%2, %3, %4, %5};\n}\n" ::"r"(
                   static_cast<int>(is)),
               "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
#else
  if (is) *reinterpret_cast<uint4*>(to) = v;
#endif
}
template <bool word>
__device__ __forceinline__ void store_if(bool is, uint16_t* to, uint32_t v) {
#if defined(__CUDACC__)
  if constexpr (word)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n@p st.global.b32 [%1], %2;\n}\n" ::"r"(static_cast<int>(is)),
                 "l"(to), "r"(v));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n@p st.global.b16 [%1], %2;\n}\n" ::"r"(static_cast<int>(is)),
                 "l"(to), "h"(static_cast<uint16_t>(v)));
#else
  if (is && word)
    *reinterpret_cast<uint32_t*>(to) = v;
  else if (is)
    *to = static_cast<uint16_t>(v);
#endif
}

// Rows of a pair's results from shared memory to y, a warp of eight a row: whole sectors from the row's first boundary
// on. At the ends of a sequence (from `low` to before `high` its outputs are there) the values up to these as well.
template <int stride, int staged>
struct HeldPairRows {
  static constexpr int own = HeldPairs<stride>::own, many = staged / 8;  // a warp's rows
  const uint16_t* staging;
  int pitch;
  uint16_t* to;  // row 0
  int64_t length;
  int rows;  // that are stored

  template <class Read>
  __device__ __forceinline__ void store(int warp, int lane, Read read) const {
    uint16_t* to_sectors[2];
    const char* from[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {  // rows that are 16 apart are a whole number of sectors apart
      uint16_t* row = to + (warp + 8 * k) * length;
      const int phase = static_cast<int>((reinterpret_cast<uintptr_t>(row) >> 1) & 15), begin = -phase & 15;
      to_sectors[k] = row + begin + 8 * lane;
      from[k] = reinterpret_cast<const char*>(staging) + ((warp + 8 * k) * pitch + phase + begin + 8 * lane) * 2;
    }
    const bool last = 256 * (stride - 1) + 8 * lane < own;
    uint4 v[many][stride];
#pragma unroll
    for (int i = 0; i < many; i++)
#pragma unroll
      for (int part = 0; part < stride; part++)
        v[i][part] = *reinterpret_cast<const uint4*>(from[i % 2] + i / 2 * 32 * pitch + 512 * part);
#pragma unroll
    for (int i = 0; i < many; i++)
#pragma unroll
      for (int part = 0; part < stride; part++) settled(v[i][part]);
    read();
#pragma unroll
    for (int i = 0; i < many; i++) {
      const bool is = warp + 8 * i < rows;
#pragma unroll
      for (int part = 0; part < stride; part++)
        store_if(is && (part + 1 < stride || last), to_sectors[i % 2] + 256 * part, v[i][part]);
      to_sectors[i % 2] += 16 * length;
    }
  }
  // begins, ends: the pair is its sequence's first, its last.
  __device__ __forceinline__ void store(int warp, int lane, int low, int high, bool begins, bool ends) const {
    for (int r = warp; r < rows; r += 8) {
      uint16_t* row = to + r * length;
      const int phase = static_cast<int>((reinterpret_cast<uintptr_t>(row) >> 1) & 15), begin = -phase & 15;
      const uint16_t* from = staging + r * pitch + phase;
      const int until = ends ? high : min(high, begin + own);
#pragma unroll 4
      for (int i = (begins ? low : begin) + lane; i < until; i += 32) row[i] = from[i];
    }
  }
};

// Rows of results from shared memory to y, half a warp a row, every eighth one; each lies as far from a 32-byte
// boundary as it does in y. staged: how many rows lie there.
template <int stride, int staged, int words>
struct HeldRows {
  static constexpr int positions = hopper_positions * stride;  // outputs of a row
  static constexpr int many = (staged + 7) / 8;                // a lane's rows
  // That are read before any of them is stored, in `words` registers.
  static constexpr int together = many < words / (4 * stride) ? many : words / (4 * stride);
  static_assert(together % 2 == 0 && many % together == 0);
  const uint16_t* staging;
  int pitch;
  uint16_t* to;  // row 0
  int64_t length;
  int rows;  // that are stored

  // Whether all rows begin on a word.
  __device__ __forceinline__ bool even() const { return ((reinterpret_cast<uintptr_t>(to) >> 1 | length) & 1) == 0; }
  // Of a tile that is inside its rows: whole sectors, 16 bytes a lane, and the values before the first and behind the
  // last one, 16 together: one a lane, or, where rows begin on words, a word a lane of two rows that are eight apart.
  // When all is read, read() is called.
  template <bool words_end, class Read>
  __device__ __forceinline__ void store(int warp, int lane, Read read) const {
    const int l = lane % 16, mine = warp * 2 + lane / 16;
    uint16_t* row = to + mine * length;
    const int64_t further = 8 * length;
    const char* from = reinterpret_cast<const char*>(staging);
    int at[2], at_end[2];  // values from a row's beginning, of rows that are an even or odd multiple of eight apart
    int there[2], there_end[2];  // and bytes in shared memory
    bool last[2], ends[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {  // two of these are a whole number of sectors apart
      const int phase = static_cast<int>((reinterpret_cast<uintptr_t>(row + k * further) >> 1) & 15);
      const int begin = -phase & 15;
      at[k] = begin + 8 * l, last[k] = at[k] + positions - 128 < positions - phase;
      there[k] = (phase + at[k]) * 2;
      const int end = words_end ? l % 8 * 2 : l;
      at_end[k] = end < begin ? end : positions - 16 + end, ends[k] = phase != 0;
      there_end[k] = (phase + at_end[k]) * 2;
    }
    uint16_t* to_sectors[2] = {row + at[0], row + further + at[1]};
    uint16_t* to_end[2] = {row + at_end[0], row + further + at_end[1]};
    const bool second = words_end && l >= 8;  // of the two rows
    if (second) to_end[0] = to_end[1], ends[0] = ends[1], there_end[0] = there_end[1] + 16 * pitch;
#pragma unroll
    for (int done = 0; done < many; done += together) {
      uint4 v[together][stride];
      uint32_t end[together];
#pragma unroll
      for (int i = 0; i < together; i++) {
        const char* here = from + min(mine + 8 * (done + i), staged - 1) * pitch * 2;
#pragma unroll
        for (int part = 0; part < stride; part++)
          v[i][part] = *reinterpret_cast<const uint4*>(here + there[i % 2] + 256 * part);
        if constexpr (!words_end)
          end[i] = *reinterpret_cast<const uint16_t*>(here + there_end[i % 2]);
        else if (i % 2 == 0)
          end[i] = *reinterpret_cast<const uint32_t*>(here + there_end[0]);
      }
#pragma unroll
      for (int i = 0; i < together; i++) {
#pragma unroll
        for (int part = 0; part < stride; part++) settled(v[i][part]);
        if (!words_end || i % 2 == 0) settled(end[i]);
      }
      if (done + together == many) read();
#pragma unroll
      for (int i = 0; i < together; i++) {
        const bool is = mine + 8 * (done + i) < rows;
#pragma unroll
        for (int part = 0; part < stride; part++)
          store_if(is && (part + 1 < stride || last[i % 2]), to_sectors[i % 2] + 128 * part, v[i][part]);
        if constexpr (!words_end)
          store_if<false>(is && ends[i % 2], to_end[i % 2], end[i]);
        else if (i % 2 == 0)
          store_if<true>(mine + 8 * (done + i + second) < rows && ends[0], to_end[0], end[i]);
        to_sectors[i % 2] += 2 * further, to_end[i % 2] += 2 * further;
      }
    }
  }
  // Of a tile at the end of its rows, [low, high) of each: value by value.
  __device__ __forceinline__ void store(int warp, int lane, int low, int high) const {
    for (int r = warp; r < rows; r += 4) {
      uint16_t* row = to + r * length;
      const uint16_t* from = staging + r * pitch + ((reinterpret_cast<uintptr_t>(row) >> 1) & 15);
#pragma unroll 4
      for (int i = low + lane; i < high; i += 32) row[i] = from[i];
    }
  }
};
#endif
