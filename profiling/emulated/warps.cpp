#include "profiling/emulated/warps.h"

#include <algorithm>

namespace convscope {
namespace {

constexpr uint64_t sector_bytes = 32, bank_bytes = 4, banks = 32;

// Different values of a short list.
template <size_t N>
int different(std::array<uint64_t, N>& list, size_t n) {
  std::sort(list.begin(), list.begin() + static_cast<ptrdiff_t>(n));
  return static_cast<int>(std::unique(list.begin(), list.begin() + static_cast<ptrdiff_t>(n)) - list.begin());
}

}  // namespace

int sectors_of(const WarpInstruction& w) {
  std::array<uint64_t, 256> list;
  size_t n = 0;
  for (size_t lane = 0; lane < 32; lane++) {
    if (!(w.lanes >> lane & 1)) continue;
    uint64_t first = w.address[lane] / sector_bytes, last = (w.address[lane] + std::max(w.size, 1u) - 1) / sector_bytes;
    for (uint64_t s = first; s <= last && n < list.size(); s++) list[n++] = s;
  }
  return different(list, n);
}

uint64_t bytes_of(const WarpInstruction& w) {
  std::array<uint64_t, 32> at;
  size_t n = 0;
  bool sorted = true;
  for (size_t lane = 0; lane < 32; lane++)
    if (w.lanes >> lane & 1) {
      sorted &= n == 0 || at[n - 1] <= w.address[lane];
      at[n++] = w.address[lane];
    }
  if (!sorted) std::sort(at.begin(), at.begin() + static_cast<ptrdiff_t>(n));
  uint64_t bytes = 0, end = 0;  // end: of what is counted already
  for (size_t i = 0; i < n; i++) {
    uint64_t begin = std::max(at[i], end);
    end = std::max(end, at[i] + std::max(w.size, 1u));
    bytes += end - std::min(begin, end);
  }
  return bytes;
}

// A cycle serves 32 words of 4 bytes: 8-byte accesses go half a warp at a time, 16-byte ones a quarter (CUDA C++
// Programming Guide, "Shared Memory"). Threads that want the same word share it.
Wavefronts wavefronts_of(const WarpInstruction& w) {
  size_t words = std::max<size_t>(1, w.size / bank_bytes), together = std::max<size_t>(1, 32 / words);
  Wavefronts out;
  for (size_t first = 0; first < 32; first += together) {
    std::array<uint64_t, 128> list;
    size_t n = 0;
    for (size_t lane = first; lane < std::min<size_t>(32, first + together); lane++)
      if (w.lanes >> lane & 1)
        for (size_t word = 0; word < words && n < list.size(); word++) list[n++] = w.address[lane] / bank_bytes + word;
    if (n == 0) continue;
    auto unique = static_cast<size_t>(different(list, n));
    std::array<int, banks> load{};
    int most = 0;
    for (size_t i = 0; i < unique; i++) most = std::max(most, ++load[list[i] % banks]);
    out.all += most;
    out.conflicts += most - 1;
  }
  return out;
}

void WarpCounts::add(const WarpCounts& o) {
  load_requests += o.load_requests, load_sectors += o.load_sectors;
  store_requests += o.store_requests, store_sectors += o.store_sectors;
  load_bytes += o.load_bytes, store_bytes += o.store_bytes;
  load_used_bytes += o.load_used_bytes, store_used_bytes += o.store_used_bytes;
  load_lanes += o.load_lanes, store_lanes += o.store_lanes;
  shared_requests += o.shared_requests, shared_lanes += o.shared_lanes;
  shared_wavefronts += o.shared_wavefronts, shared_conflicts += o.shared_conflicts;
  accesses += o.accesses;
}

WarpAssembler::Site& WarpAssembler::site(Open& open, const simt::Access& a) {
  bool global = is_global_(a.address);
  auto is = [&](const Site& s) { return s.pc == a.pc && s.kind == a.kind && s.global == global; };
  if (last_site_ < open.sites.size() && is(open.sites[last_site_])) return open.sites[last_site_];
  for (last_site_ = 0; last_site_ < open.sites.size(); last_site_++)
    if (is(open.sites[last_site_])) return open.sites[last_site_];
  Site s;
  s.pc = a.pc, s.kind = a.kind, s.global = global;
  open.sites.push_back(std::move(s));
  return open.sites.back();
}

void WarpAssembler::take(const simt::Access& a) {
  if (a.kind == simt::AccessKind::bulk_write) return;  // the copy engine's
  if (!last_ || last_->block != a.block) {
    // A block's accesses come one after another: the one before is over.
    if (last_) {
      close(*last_);
      open_.erase(last_->block);
    }
    Open& o = open_[a.block];
    o.block = a.block;
    last_ = &o;
    last_site_ = 0;
  }
  Site& s = site(*last_, a);
  size_t thread = a.thread, warp = thread / 32, lane = thread % 32;
  if (s.threads.size() <= thread) s.threads.resize(thread + 1);
  if (s.warps.size() <= warp) s.warps.resize(warp + 1);
  auto& mine = s.threads[thread];
  mine.times = mine.times && mine.round == a.round ? mine.times + 1 : 1;
  mine.round = a.round;
  auto& own = s.warps[warp];
  size_t at = mine.next;
  // Again where it has been in a round of the same name: a loop that was left and begun anew.
  for (;; mine.times++) {
    const uint64_t key = a.round + mine.times * 0x9e3779b97f4a7c15u;
    // Threads mostly go the same way.
    if (at >= own.keys.size() || own.keys[at] != key) {
      auto [found, is_new] = own.places.try_emplace(key, own.list.size());
      at = found->second;
      if (is_new) own.list.emplace_back(), own.keys.push_back(key);
    }
    if (!(own.list[at].lanes >> lane & 1)) break;
  }
  mine.next = at + 1;
  WarpInstruction& w = own.list[at];
  w.lanes |= uint32_t{1} << lane;
  w.address[lane] = a.address;
  w.size = std::max<uint32_t>(w.size, a.size);
}

void WarpAssembler::close(Open& open) {
  for (const auto& s : open.sites) {
    WarpCounts& c = counts_[s.pc];
    for (const auto& warp : s.warps)
      for (const auto& w : warp.list) {
        auto lanes = static_cast<uint64_t>(__builtin_popcount(w.lanes));
        c.accesses += lanes;
        if (!s.global) {
          Wavefronts f = wavefronts_of(w);
          c.shared_requests++;
          c.shared_lanes += lanes;
          c.shared_wavefronts += static_cast<uint64_t>(f.all);
          c.shared_conflicts += static_cast<uint64_t>(f.conflicts);
        } else if (s.kind == simt::AccessKind::read) {
          c.load_requests++;
          c.load_sectors += static_cast<uint64_t>(sectors_of(w));
          c.load_bytes += lanes * w.size;
          c.load_used_bytes += bytes_of(w);
          c.load_lanes += lanes;
        } else if (s.kind == simt::AccessKind::write) {
          c.store_requests++;
          c.store_sectors += static_cast<uint64_t>(sectors_of(w));
          c.store_bytes += lanes * w.size;
          c.store_used_bytes += bytes_of(w);
          c.store_lanes += lanes;
        }
      }
  }
}

const PlaceCounts& WarpAssembler::finish() {
  for (auto& [block, open] : open_) close(open);
  open_.clear();
  last_ = nullptr;
  return counts_;
}

}  // namespace convscope
