// What the stream rungs are made of: whose work is which part of which tile, the ring of stages with its producer and
// its readers, and sums that several blocks have a part of.
#pragma once
#include "hopper_rows.h"
#include "hopper_split.h"

constexpr int stream_flags = 512;  // one for each warpgroup

struct StreamTiles : HopperTiles {
  int32_t segment, segments;  // positions of a sequence in a tile; sequences in a tile
  int32_t together;           // 1; or 2: a block's warpgroups have two tiles of positions and share the weights
  int32_t lots;               // of `together` tiles of positions
  int32_t units, length;      // lots and column tiles; stages of one
  int32_t whole;              // turns in which a warpgroup has a unit for itself; the units after them are cut
  int32_t by_columns;         // neighbouring units: 1 the column tiles of some positions, 0 the other way round
  int32_t alone;              // one warpgroup of a block works
  int32_t halves;             // both have half the stages of one unit
  int32_t step;               // shifts are u·step; 0: not so, or too far apart for what is read at once
  int32_t share, longer;      // stages of cut units that a warpgroup has; how many have one more
  Divisor by_share, by_longer_share, by_length;
  Divisor by_inner, by_column_tiles;  // by_inner: units that follow each other before the outer one changes
};

#if defined(CONVSCOPE_HAS_HOPPER)

// A warpgroup's work, or where two share their weights a block's, piece by piece: of `unit` the stages from `first` to
// before `last`. In whole turns neighbouring blocks have neighbouring units. Cut units are numbered along the
// warpgroups of a block; a warpgroup goes through its part of them from its end, so that what the next one waits for
// comes first.
struct StreamWork {
  int turn = 0, whole, first_unit, workers, worker, begin, at, unit, first, last;
  int whole_first = 0, whole_last;

  __device__ __forceinline__ StreamWork(const StreamTiles& tiles, int mine)
      : whole(tiles.whole), workers(workers_of(tiles)), whole_last(tiles.length) {
    int block = static_cast<int>(blockIdx.x);
    bool blocks = of_blocks(tiles);
    if (tiles.halves) (mine ? whole_first : whole_last) = tiles.length / 2;
    worker = blocks ? block : block * 2 + mine;
    first_unit = block + (blocks ? 0 : mine * static_cast<int>(gridDim.x));
    begin = begin_of(tiles, worker), at = begin_of(tiles, worker + 1);
    if (tiles.alone && mine) first_unit = tiles.units, at = begin;
    find(tiles);
  }
  static __device__ __forceinline__ bool of_blocks(const StreamTiles& tiles) {
    return tiles.alone || tiles.halves || tiles.together == 2;
  }
  static __device__ __forceinline__ int workers_of(const StreamTiles& tiles) {
    return static_cast<int>(gridDim.x) * (of_blocks(tiles) ? 1 : 2);
  }
  // Of the units that are cut: the stage with which a worker begins, and whose a stage is.
  static __device__ __forceinline__ int begin_of(const StreamTiles& tiles, int worker) {
    return worker * tiles.share + min(worker, tiles.longer);
  }
  static __device__ __forceinline__ int worker_of(const StreamTiles& tiles, int stage) {
    int longer = tiles.longer * (tiles.share + 1);  // stages of those that have one more
    return stage < longer ? tiles.by_longer_share.of(stage) : tiles.longer + tiles.by_share.of(stage - longer);
  }
  __device__ __forceinline__ void find(const StreamTiles& tiles) {
    if (turn < whole) {
      unit = turn * workers + first_unit, first = whole_first, last = whole_last;
    } else {
      int cut = tiles.by_length.of(max(at - 1, 0));
      unit = whole * workers + cut, last = at - cut * tiles.length, first = max(0, begin - cut * tiles.length);
    }
  }
  __device__ __forceinline__ bool there(const StreamTiles& tiles) const {
    return turn < whole ? unit < tiles.units : at > begin;
  }
  __device__ __forceinline__ void next(const StreamTiles& tiles) {
    if (turn < whole)
      turn++;
    else
      at -= last - first;
    find(tiles);
  }
};

// Where a unit is, and a warpgroup's tile of it.
struct StreamPlace {
  int column, group, group_column;  // column tile of all groups; its group, and which of that one's it is
  int n, m;                         // the first of its sequences, and the first position
  bool there;
  __device__ __forceinline__ StreamPlace(const StreamTiles& tiles, int unit, int mine) {
    int outer = tiles.by_inner.of(unit), inner = unit - outer * tiles.by_inner.by;
    column = tiles.by_columns ? inner : outer;
    int item = tiles.by_columns ? outer : inner;
    if (tiles.together == 2) item = item * 2 + mine;
    there = item < tiles.items;
    group = tiles.by_column_tiles.of(column), group_column = column - group * tiles.column_tiles;
    int sequence = tiles.by_tiles.of(item);
    n = sequence * tiles.segments, m = tiles.first + (item - sequence * tiles.tiles) * hopper_positions;
  }
};

template <bool spins>
__device__ __forceinline__ void stream_produce(const StreamTiles& tiles, const TensorMap& map, const uint32_t* packed,
                                               uint32_t weights, uint32_t xs, Ring ring, int mine) {
  uint32_t bytes = static_cast<uint32_t>(tiles.box * tiles.deep * tiles.segments) * 32;
  uint32_t chunk = static_cast<uint32_t>(tiles.chunk);
  for (StreamWork work(tiles, mine); work.there(tiles); work.next(tiles)) {
    StreamPlace at(tiles, work.unit, 0), second(tiles, work.unit, 1);
    bool two = tiles.together == 2 && second.there;
    const uint32_t* from = packed + (static_cast<int64_t>(at.column) * tiles.length + work.first) * (chunk / 4);
    for (int stage = work.first; stage < work.last; stage++, from += chunk / 4) {
      barrier_wait<spins>(ring.empty(), ring.phase ^ 1);
      barrier_expect(ring.full(), chunk + (two ? 2 : 1) * bytes);
      uint32_t to = xs + static_cast<uint32_t>(ring.stage * tiles.together) * bytes;
      copy_box(to, map, at.m - tiles.halo, stage * tiles.deep * 8, at.group, at.n, ring.full());
      if (two)
        copy_box(to + bytes, map, second.m - tiles.halo, stage * tiles.deep * 8, at.group, second.n, ring.full());
      copy_bytes(weights + static_cast<uint32_t>(ring.stage) * chunk, from, chunk, ring.full());
      ring.advance();
    }
  }
}

// The ring as a consumer goes through it: x is loaded one round ahead of the products, which keep their stage.
template <bool spins>
struct StreamReader {
  const StreamTiles& tiles;
  const float* x;    // the lane's place in the first stage
  uint64_t weights;  // descriptor of the first stage's
  Ring ahead, held;
  const float* from;
  int loaded, used;  // rounds of their stages

  __device__ __forceinline__ StreamReader(const StreamTiles& t, const float* at, uint64_t w, const Ring& ring)
      : tiles(t), x(at), weights(w), ahead(ring), held(ring), from(at), loaded(0), used(0) {}
  __device__ __forceinline__ const float* next_round() {
    if (loaded == 0) {
      barrier_wait<spins>(ahead.full(), ahead.phase);
      from = x + ahead.stage * tiles.together * tiles.deep * 8 * tiles.box * tiles.segments;
    }
    const float* now = from;
    from += 8 * tiles.box;
    if (++loaded == tiles.deep) loaded = 0, ahead.advance();
    return now;
  }
  // Where shift 0 of the round whose products are issued now has its weights, in steps of k.
  __device__ __forceinline__ uint64_t stage_weights() const {
    return weights + static_cast<uint32_t>(held.stage * (tiles.chunk / 16));
  }
  // Shift u of that round, in steps of k from there.
  __device__ __forceinline__ int k_of(int u) const { return used * tiles.shifts + u; }
  // The products of a round are ordered: the next one's are in another stage when this was its stage's last. Which one
  // can be given back when they are done; 0: none.
  __device__ __forceinline__ uint32_t leave() {
    if (++used < tiles.deep) return 0;
    uint32_t empty = held.empty();
    used = 0, held.advance();
    return empty;
  }
  static __device__ __forceinline__ void give_back(uint32_t stage) {
    if (!stage) return;
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(stage);
  }
  // The products of a round are done.
  __device__ __forceinline__ void done() { give_back(leave()); }
  // Stages that are the other warpgroup's alone. They are waited for all the same: a barrier counts one turn at a time.
  __device__ __forceinline__ void pass(int stages) {
    for (; stages > 0; stages--) {
      barrier_wait<spins>(held.full(), held.phase);
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(held.empty());
      ahead.advance(), held.advance();
    }
  }
};

// Any shifts, four at a time, which keeps words aligned, and at last those that are left: what a lane reads for some is
// loaded while the products of those before run.
// - Where shifts are 1, 2 or 3 apart a lane reads four words at once, for several shifts.
// - Else each by itself. Four lanes t would want the same bank, their positions being four apart: so lane t begins with
//   position t of its four, and puts them in order afterwards.
template <bool spins>
struct AnyShifts {
  const StreamTiles& tiles;
  const ShiftTable& table;
  StreamReader<spins>& reader;
  const float* x;
  int rounds, u = 0;  // that are not loaded yet; the first shift of those that are
  float v[4][2][4];   // of each shift: of channels t and t + 4 the positions t, t + 1, t + 2, t + 3 modulo 4

  __device__ __forceinline__ AnyShifts(const StreamTiles& of, const ShiftTable& shifts, StreamReader<spins>& from,
                                       int all)
      : tiles(of), table(shifts), reader(from), x(from.next_round()), rounds(all - 1) {
    load();
  }
  __device__ __forceinline__ void load_shift(int i) {
    const float* from = x - table.shift[u + i];
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int h = 0; h < 4; h++) v[i][r][h] = from[r * 4 * tiles.box + static_cast<int>(threadIdx.x + h) % 4];
  }
  template <int step>
  __device__ __forceinline__ void load_near(int left) {
    constexpr int before = (3 * step + 3) / 4 * 4;
    int reach = (min(left, 4) - 1) * step;  // how far before its positions the lane reads
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float near[before + 4];
#pragma unroll
      for (int i = 0; i < before + 4; i += 4) {
        float4 w{};
        if (before - i - 4 < reach) w = *reinterpret_cast<const float4*>(x - u * step + r * 4 * tiles.box - before + i);
        near[i] = w.x, near[i + 1] = w.y, near[i + 2] = w.z, near[i + 3] = w.w;
      }
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int h = 0; h < 4; h++) v[i][r][h] = near[before + h - i * step];
    }
  }
  // As many as each() takes at once.
  __device__ __forceinline__ void load() {
    int left = tiles.shifts - u;
    if (tiles.step == 1) return load_near<1>(left);
    if (tiles.step == 2) return load_near<2>(left);
    if (tiles.step == 3) return load_near<3>(left);
    load_shift(0);
    if (left >= 2) load_shift(1);
    if (left >= 3) load_shift(2);
    if (left >= 4) load_shift(3);
  }
  // Loads what comes after n shifts; nothing at the end.
  __device__ __forceinline__ void next(int n) {
    u += n;
    if (u == tiles.shifts) {
      u = 0;
      if (rounds-- <= 0) return;
      x = reader.next_round();
    }
    load();
  }
  // Puts in order what was loaded.
  template <int n>
  __device__ __forceinline__ void turn() {
    if (tiles.step) return;
    bool one = threadIdx.x & 1, two = threadIdx.x & 2;
#pragma unroll
    for (int i = 0; i < n; i++)
#pragma unroll
      for (int r = 0; r < 2; r++) {
        float(&a)[4] = v[i][r], b[4];
#pragma unroll
        for (int h = 0; h < 4; h++) b[h] = one ? a[(h + 3) % 4] : a[h];
#pragma unroll
        for (int h = 0; h < 4; h++) a[h] = two ? b[(h + 2) % 4] : b[h];
      }
  }
  // As windows have it.
  __device__ __forceinline__ float at(int r, int h, int i) const { return v[i][r][h]; }
  // Calls sum(count, first shift), which calls next(), for all shifts of a round.
  template <class Sum>
  __device__ __forceinline__ void each(Sum sum) {
    int first = 0, left = tiles.shifts & 3;
    for (; first + 4 <= tiles.shifts; first += 4) sum(Count<4>{}, first);
    if (left == 3) sum(Count<3>{}, first);
    if (left == 2) sum(Count<2>{}, first);
    if (left == 1) sum(Count<1>{}, first);
  }
};

// ---- units of which both warpgroups have half the stages

// Each gives the other its sums of half the channels, by way of its own ring, which nothing is copied to any more.
template <int width>
__device__ __forceinline__ void add_halves(const float (&d)[2][width / 2], float (&sum)[2][width / 4], float4* mine,
                                           const float4* others, bool second) {
  constexpr int half = width / 4;
  warpgroup_barrier();  // all four warps have read what was there
#pragma unroll
  for (int i = 0; i < half / 2; i++) {
    float v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float(&of)[width / 2] = d[i * 4 / half];
      const int at = i * 4 % half + k;
      v[k] = second ? of[at] : of[at + half];
      sum[i * 4 / half][at] = second ? of[at + half] : of[at];
    }
    mine[i * 128 + threadIdx.x % 128] = make_float4(v[0], v[1], v[2], v[3]);
  }
  meet<256>(3);
#pragma unroll
  for (int i = 0; i < half / 2; i++) {
    float4 v = others[i * 128 + threadIdx.x % 128];
    float* s = &sum[i * 4 / half][i * 4 % half];
    s[0] += v.x, s[1] += v.y, s[2] += v.z, s[3] += v.w;
  }
}

// ---- units that several blocks have

// Sums that another warpgroup goes on with: of each one unit at most, that with which its part of all stages ends.
// Neighbours in memory are neighbours of the warpgroup.
template <int width>
__device__ __forceinline__ float4* stream_part(float4* sums, int slot) {
  return sums + static_cast<int64_t>(slot) * (32 * width) + threadIdx.x % 128;
}

// The last of a unit's warpgroups adds what the others have left, in their order, and has true; the others leave
// theirs. One waits for lower numbers only, whose blocks were started before its own.
template <int width>
__device__ __forceinline__ bool add_parts(float (&d)[2][width / 2], const StreamTiles& tiles, const StreamWork& work,
                                          float4* sums, int* ready, int mine) {
  constexpr int words = width / 4, together = 8;
  bool leader = threadIdx.x % 128 == 0;
  auto slot = [&](int worker) { return tiles.together == 2 ? worker * 2 + mine : worker; };
  if (work.last < tiles.length) {
    float4* to = stream_part<width>(sums, slot(work.worker));
#pragma unroll
    for (int i = 0; i < words; i++) {
      const float* v = &d[i * 4 / (width / 2)][i * 4 % (width / 2)];
      __stcg(to + i * 128, make_float4(v[0], v[1], v[2], v[3]));
    }
    __threadfence();
    warpgroup_barrier();
    if (leader) tell(ready + slot(work.worker));
    return false;
  }
  int unit = (work.unit - work.whole * work.workers) * tiles.length;
  for (int other = StreamWork::worker_of(tiles, unit); other < work.worker; other++) {
    if (leader) {
      int there = 0;
      while (!there) there = was_told(ready + slot(other));
      ready[slot(other)] = 0;  // for the next run
    }
    warpgroup_barrier();
    const float4* from = stream_part<width>(sums, slot(other));
#pragma unroll
    for (int i0 = 0; i0 < words; i0 += together) {
      float4 v[together];
#pragma unroll
      for (int i = 0; i < together; i++) v[i] = __ldcg(from + (i0 + i) * 128);
#pragma unroll
      for (int i = 0; i < together; i++) {
        float* s = &d[(i0 + i) * 4 / (width / 2)][(i0 + i) * 4 % (width / 2)];
        s[0] += v[i].x, s[1] += v[i].y, s[2] += v[i].z, s[3] += v[i].w;
      }
    }
  }
  return true;
}
#endif
