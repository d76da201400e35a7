#include "kernels/verify/races.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace_readers.h"
#include "kernels/verify/block_races.h"
#include "kernels/verify/launch_races.h"
#include "kernels/verify/own_arrays.h"
#include "kernels/verify/source_words.h"
#include "kernels/verify/tensor_bounds.h"
#include "kernels/verify/unfenced.h"

namespace convscope {
namespace {

using simt::AccessKind;

// Of a launch: its blocks are alike, and what they do to the memory of others is another layer's.
constexpr int64_t most_blocks = 6;
constexpr double most_products = 4e7;
// Of so few products many blocks take no time.
constexpr double little = 4e5;
constexpr int64_t most_of_little = 256;
// Words that atomics share may order what is around them (a lock, a ticket). So many words are data.
constexpr size_t most_locks = 64;

// Every so many blocks, so that classes of stride, channels or sequences that come in turn are all met.
int64_t step_of(int64_t blocks, int64_t most) {
  if (blocks <= most) return 1;
  int64_t every = (blocks + most - 1) / most;
  while (std::gcd(every, int64_t{2 * 3 * 5 * 7}) != 1) every++;
  return every;
}

std::string words(const Race& r) {
  auto side = [](const Race::Side& s) {
    const simt::SourceLine at = simt::source_line(s.pc);
    // The copy engine's are said where the header orders them.
    const bool engine = at.file.ends_with("convscope/hopper.h");
    return fmt::format("thread {}{} {}{}", s.thread, s.copies ? "'s copy" : "", s.writes ? "writes" : "reads",
                       engine ? std::string() : at_line(at));
  };
  if (r.on_its_way)
    return fmt::format("a race in block {}: {} what {} copy{} brings, which nobody has waited for", r.block,
                       side(r.second),
                       r.first.thread == r.second.thread ? "its own" : fmt::format("thread {}'s", r.first.thread),
                       at_line(simt::source_line(r.first.pc)));
  return fmt::format("a race in block {}: {}, and {} the same memory, with nothing between that orders them", r.block,
                     side(r.first), side(r.second));
}

std::string words(const BlockRaceFinder::Found& r, int64_t out_channels, int64_t out_length) {
  auto side = [](const BlockRaceFinder::Side& s) {
    return fmt::format("thread {} of block {} {}{}", s.thread, s.block, s.atomic ? "adds to it" : "writes it",
                       at_line(simt::source_line(s.pc)));
  };
  const int64_t row = out_length > 0 ? r.element / out_length : 0;
  return fmt::format(
      "a race between blocks over y[{}, {}, {}]: {}, and {}, with nothing that orders them: on a GPU one "
      "of the two may be lost",
      row / out_channels, row % out_channels, out_length > 0 ? r.element % out_length : r.element, side(r.first),
      side(r.second));
}

std::string words(const UnfencedFinder::Found& f, const MemoryCells& memory) {
  return fmt::format(
      "a race between blocks over {}: thread {} of block {} writes it{}, and block {} reads it{}, with {}",
      memory.name(f.cell), f.writer_thread, f.writer_block, at_line(simt::source_line(f.writer_pc)), f.reader_block,
      at_line(simt::source_line(f.reader_pc)),
      f.told ? "no __threadfence() between the write and what tells of it: on a GPU it may not be there yet"
             : "nothing in this launch that orders them: blocks run in any order");
}

std::string words(const UnsetRead& u) {
  const std::string rows = rows_that_differ(u.written, u.read, at_line(simt::source_line(u.writer_pc)));
  return fmt::format("reads shared memory that nobody has written{}, thread {} of block {}{}{}",
                     at_line(simt::source_line(u.pc)), u.thread, u.block, rows.empty() ? "" : ": ", rows);
}

std::string misaligned_words(const simt::Access& a) {
  uint64_t of = 1;
  while (a.address % (2 * of) == 0) of *= 2;
  return fmt::format(
      "{} {} bytes at an address that is a multiple of {} only{}, thread {} of block {}: a GPU ends the "
      "launch there (misaligned address)",
      a.kind == AccessKind::read ? "reads" : "writes", a.size, of, at_line(simt::source_line(a.pc)), a.thread, a.block);
}

std::string leaving_words(const simt::Access& a, const std::string& words, bool shared) {
  const bool reads = a.kind == simt::AccessKind::read;
  return fmt::format("{} {},{}, thread {} of block {}: {}", reads ? "reads" : "writes", words,
                     at_line(simt::source_line(a.pc)), a.thread, a.block,
                     !shared ? "a GPU may end the launch there"
                     : reads ? "a GPU gives it whatever lies there"
                             : "a GPU overwrites whatever lies there");
}

// Of the launch that is traced now.
void note_faults(RaceSearch& out, const KernelDefinition& kernel) {
  if (auto a = simt::Tracing::misaligned(); a && out.misaligned.empty()) out.misaligned = misaligned_words(*a);
  if (auto l = simt::Tracing::leaves_shared(); l && out.leaves.empty())
    out.leaves = leaving_words(l->access, l->words, true);
  if (auto b = simt::Tracing::beyond(); b && out.leaves.empty()) out.leaves = beyond_words(*b, kernel.text());
}

}  // namespace

void RaceFinder::begin(uint64_t block) {
  static const auto nothing = std::make_shared<const Clocks>();
  settle();
  block_ = block;
  threads_.assign(most_threads, {nothing, 1});
  objects_.clear(), locks_.clear(), pages_.clear();
  last_page_ = ~uint64_t{0}, accesses_ = 0, many_atomics_ = false;
}

RaceFinder::Cell& RaceFinder::cell(uint64_t number) {
  if (number / page_cells != last_page_) {
    auto& page = pages_[last_page_ = number / page_cells];
    if (!page) page = std::make_unique<Page>();
    last_ = page.get();
  }
  return (*last_)[number % page_cells];
}

bool RaceFinder::before(const Epoch& e, uint16_t thread) const {
  return e.clock == 0 || e.thread == thread || e.clock <= (*threads_[thread].others)[e.thread];
}

void RaceFinder::release(uint16_t thread, Object& to) {
  Thread& t = threads_[thread];
  // Threads that met before know the same of others: it is joined once.
  if (std::find(to.joined.begin(), to.joined.end(), t.others) == to.joined.end()) {
    for (size_t i = 0; i < most_threads; i++) to.clocks[i] = std::max(to.clocks[i], (*t.others)[i]);
    to.joined.push_back(t.others);
  }
  to.clocks[thread] = t.own++;
  to.snapshot.reset();
}

void RaceFinder::acquire(uint16_t thread, Object& from) {
  Thread& t = threads_[thread];
  if (!from.snapshot) {
    from.snapshot = std::make_shared<const Clocks>(from.clocks);
    // What was joined is part of it. Of those before only this one is still needed.
    if (from.joined.size() > 64) from.joined.clear();
    from.joined.push_back(from.snapshot);
  }
  if (std::find(from.joined.begin(), from.joined.end(), t.others) != from.joined.end()) {
    t.others = from.snapshot;
    return;
  }
  auto both = std::make_shared<Clocks>(*t.others);
  for (size_t i = 0; i < most_threads; i++) (*both)[i] = std::max((*both)[i], from.clocks[i]);
  t.others = std::move(both);
}

bool RaceFinder::copies(const simt::Access& a) {
  return a.kind == AccessKind::bulk_write || a.kind == AccessKind::ordered || a.kind == AccessKind::arrival;
}

void RaceFinder::found(const simt::Access& a, const Epoch& e, bool it_writes) {
  if (race_) return;
  race_ = Race{a.block,
               a.address,
               {it_writes, e.thread, e.pc, e.copies},
               {a.kind != AccessKind::read, a.thread, a.pc, copies(a)}};
}

void RaceFinder::look_again(uint64_t cell, uint16_t value) {
  auto it = suspicions_.find(cell);
  if (it == suspicions_.end()) return;
  if (value != it->second.first_value && !race_) race_ = it->second.race;
  suspicions_.erase(it);
}

void RaceFinder::settle() {
  if (!race_ && !suspicions_.empty())
    race_ = std::min_element(suspicions_.begin(), suspicions_.end(), [](const auto& a, const auto& b) {
              return a.first < b.first;
            })->second.race;
  suspicions_.clear();
  if (unset_ && unset_->block == block_ && !unset_->writer_pc) look_at_rows();
}

// The emulator keeps arrays of shared memory apart: what lies around it is of the same one.
void RaceFinder::look_at_rows() {
  constexpr uint64_t gap = 2048, reach = 65536;  // bytes
  const simt::SourceLine line = simt::source_line(unset_->pc);
  std::map<uint64_t, bool> in_line;  // by place of the program
  auto there = [&](const Epoch& e) {
    if (!e.clock) return false;
    auto [it, is_new] = in_line.try_emplace(e.pc, e.pc == unset_->pc);
    if (is_new && !it->second) {
      const simt::SourceLine other = simt::source_line(e.pc);
      it->second = other.line && other.line == line.line && other.file == line.file;
    }
    return it->second;
  };
  const uint64_t element = std::min<uint64_t>(unset_->size, 4);  // of vectors: f32, or pairs of f16
  struct Touched {
    bool written, read;
    uint64_t writer;
  };
  std::map<uint64_t, Touched> around;  // by address
  for (const auto& [number, page] : pages_) {
    const uint64_t begin = number * page_cells * cell_bytes;
    if (begin + reach < unset_->address || begin > unset_->address + reach) continue;
    for (uint64_t i = 0; i < page_cells; i++) {
      const Cell& c = (*page)[i];
      if (!c.writer.clock && !c.reader.clock && !c.other_reader.clock) continue;
      around[begin + i * cell_bytes] = {c.writer.clock != 0, there(c.reader) || there(c.other_reader), c.writer.pc};
    }
  }
  auto first = around.find(unset_->address / cell_bytes * cell_bytes), end = first;
  if (first == around.end()) return;
  while (first != around.begin() && std::prev(first)->first + gap > first->first) --first;
  for (auto last = end; ++end != around.end() && end->first < last->first + gap;) last = end;
  std::vector<int64_t> written, read;
  for (auto it = first; it != end; ++it) {
    if ((it->first - first->first) % element) continue;
    const auto at = static_cast<int64_t>((it->first - first->first) / element);
    if (it->second.written) written.push_back(at), unset_->writer_pc = it->second.writer;
    if (it->second.read) read.push_back(at);
  }
  unset_->written = rows_of(written), unset_->read = rows_of(read);
}

void RaceFinder::access(const simt::Access& a) {
  const uint16_t t = a.thread;
  const bool writes = a.kind != AccessKind::read, atomic = a.kind == AccessKind::atomic;
  const Epoch now{threads_[t].own, t, copies(a), a.pc};
  for (uint64_t c = a.address / cell_bytes; c <= (a.address + a.size - 1) / cell_bytes; c++) {
    Cell& cell = this->cell(c);
    const bool has_value =
        a.kind != AccessKind::bulk_write && a.kind != AccessKind::ordered && a.size <= 8 && a.address % cell_bytes == 0;
    const auto value = static_cast<uint16_t>(has_value ? a.round >> 8 * (c * cell_bytes - a.address) : 0);
    if (!suspicions_.empty() && has_value) look_again(c, value);
    if (a.kind != AccessKind::ordered && !(atomic && cell.atomic) && !before(cell.writer, t)) {
      if (!writes || atomic || cell.atomic || !has_value) return found(a, cell.writer, true);
      suspicions_.try_emplace(c, Suspicion{{a.block,
                                            a.address,
                                            {true, cell.writer.thread, cell.writer.pc, cell.writer.copies},
                                            {true, t, a.pc, now.copies}},
                                           value});
    }
    if (a.kind == AccessKind::arrival) cell.ordered = {};
    if (cell.ordered.clock && a.kind != AccessKind::ordered) {
      found(a, cell.ordered, true);
      race_->on_its_way = !writes && before(cell.ordered, t);
      return;
    }
    if (!writes) {
      if (a.shared && !cell.writer.clock && !unset_) unset_ = UnsetRead{a.block, a.pc, t, a.address, a.size, 0, {}, {}};
      if (before(cell.reader, t))
        cell.reader = now;
      else
        cell.other_reader = now;
      continue;
    }
    for (const Epoch* reader : {&cell.reader, &cell.other_reader})
      if (!before(*reader, t)) return found(a, *reader, false);
    if (a.kind == AccessKind::ordered)
      cell.ordered = now;
    else
      cell = {now, {}, {}, {}, atomic, atomic ? cell.plain : now};
  }
}

// What a word is cleared with is not ordered by what is added to that word itself: in another order the one is lost.
bool RaceFinder::meets_a_plain_write(const simt::Access& a) {
  for (uint64_t c = a.address / cell_bytes; c <= (a.address + a.size - 1) / cell_bytes; c++)
    if (const Epoch& plain = cell(c).plain; !before(plain, a.thread)) return found(a, plain, true), true;
  return false;
}

void RaceFinder::take(const simt::Access& a) {
  if (race_ || a.kind == AccessKind::exchange || a.kind == AccessKind::fence) return;
  if (a.block != block_) begin(a.block);
  if (a.kind == AccessKind::release) return release(a.thread, objects_[a.address]);
  if (a.kind == AccessKind::acquire) return acquire(a.thread, objects_[a.address]);
  if (a.size < cell_bytes || a.thread >= most_threads) return;
  if (++accesses_ > most_accesses) {
    whole_ = false;
    return;
  }
  // What is published by an atomic and taken by another is ordered, as with fences around them.
  Object* lock = nullptr;
  if (a.kind == AccessKind::atomic && !many_atomics_) {
    lock = &locks_[a.address];
    many_atomics_ = locks_.size() > most_locks;
  }
  if (a.kind == AccessKind::atomic && meets_a_plain_write(a)) return;
  if (lock) acquire(a.thread, *lock);
  access(a);
  if (lock) release(a.thread, *lock);
}

namespace {

// Beyond these it takes a second and more.
constexpr double most_products_between = 6e7;
constexpr int64_t most_outputs_between = 4 << 20;

void fill_with_odd_number(const BlockRaceFinder::Range& y, uint64_t element) {
  const uint64_t odd = element == 2 ? 0x3d9b : element == 4 ? 0x3f9e0651 : 0x3ff3c0ca428c59fb;  // 1.4 (f16), 1.23…
  for (uint64_t at = 0; at + element <= y.bytes; at += element)
    std::memcpy(reinterpret_cast<void*>(y.begin + at), &odd, element);
}

// Of a launch whose blocks tell each other by atomics.
std::string unfenced_read(Device& emulator, const KernelDefinition& traced, const Plan& plan, size_t launch,
                          const ConvProblem& p, const Bindings& at, Activity& activity, RaceSearch& out) {
  const MemoryCells memory(plan, p, at);
  constexpr uint64_t most_cells = 2 << 20;  // of 100 bytes each
  // With all reads it takes ten times as long as without.
  if (memory.count() > most_cells || walked_products(p) > most_products_fenced) {
    out.fences_unseen = true;
    return "";
  }
  UnfencedFinder finder(memory);
  {
    simt::Tracing tracing([&](std::span<const simt::Access> part) { finder.take(part); }, {.meetings = true});
    emulator.run(traced, plan, at, {.activity = &activity, .only_launch = static_cast<int64_t>(launch)});
  }
  const auto found = finder.found();
  return found ? words(*found, memory) : "";
}

void look_between_blocks(Device& emulator, const KernelDefinition& traced, const Plan& plan, const ConvProblem& p,
                         const Bindings& at, Activity& activity, RaceSearch& out) {
  const int64_t outputs = p.batch * p.out_channels * std::max<int64_t>(plan.out_length(), 0);
  if (walked_products(p) > most_products_between || outputs > most_outputs_between || outputs <= 0) return;
  using Range = BlockRaceFinder::Range;
  const uint64_t element = size_of(p.dtype);
  const Range y{at.y, static_cast<uint64_t>(outputs) * element};
  activity.phase("looking for races between blocks");
  // A number that no result is: what was there is what the last run has left, and the first of two writers that leaves
  // the same again would not be seen to differ from the second.
  fill_with_odd_number(y, element);
  for (size_t i = 0; i < plan.launches().size() && out.race.empty(); i++) {
    BlockRaceFinder finder(y, element);
    {
      simt::Tracing tracing([&](std::span<const simt::Access> part) { finder.take(part); },
                            {.reads = false, .meetings = true});
      emulator.run(traced, plan, at, {.activity = &activity, .only_launch = static_cast<int64_t>(i)});
      note_faults(out, traced);
    }
    if (plan.launches()[i].in_order) continue;  // blocks wait for others
    if (auto race = finder.found()) out.race = words(*race, p.out_channels, plan.out_length());
    if (out.race.empty() && (finder.shares_words() || finder.writes_beside())) {
      // Counters as they were before it.
      for (size_t before = 0; before < i; before++)
        emulator.run(traced, plan, at, {.activity = &activity, .only_launch = static_cast<int64_t>(before)});
      out.race = unfenced_read(emulator, traced, plan, i, p, at, activity, out);
    }
  }
  out.between = true;
}

}  // namespace

RaceSearch find_races(Device& emulator, const KernelDefinition& kernel, const ConvProblem& p, const Bindings& at,
                      Activity& activity, bool between) {
  RaceSearch out;
  const KernelDefinition* traced = traced_twin(kernel, out.missing);
  if (!traced) return out;
  const Plan plan = traced->plan_for(p);
  const double products = walked_products(p);
  struct Sample {
    int64_t every, blocks, last;
  };
  std::vector<Sample> samples;
  for (const auto& launch : plan.launches()) {
    // Blocks that wait for others must all be there.
    const int64_t all = launch.grid.count(), most = products <= little ? most_of_little : most_blocks,
                  every = launch.in_order ? 1 : step_of(all, most);
    // And the last one, which is where rows and channels end.
    const bool last = (all - 1) % every != 0;
    samples.push_back({every, (all + every - 1) / every + last, last ? all - 1 : -1});
    if (products / static_cast<double>(every) > most_products) {
      out.missing = fmt::format("a block of {:.2g} products takes long to trace: a smaller problem shows it",
                                products / static_cast<double>(all));
      return out;
    }
  }
  activity.phase("looking for races");
  std::optional<Race> first;
  std::optional<UnsetRead> unset;
  std::atomic<bool> atomics = false;
  for (size_t i = 0; i < samples.size() && !first; i++) {
    TensorBounds bounds(p, at, plan.out_length(), plan.workspace_bytes());
    simt::TraceReaders<RaceFinder> finders([] { return std::make_unique<RaceFinder>(); });
    {
      simt::Tracing tracing(
          [&](std::span<const simt::Access> part) {
            if (std::any_of(part.begin(), part.end(), [](const auto& a) { return a.kind == AccessKind::atomic; }))
              atomics = true;
            finders.take(part);
            bounds.take(part);
          },
          {.meetings = true});
      try {
        emulator.run(*traced, plan, at,
                     {.activity = &activity,
                      .only_launch = static_cast<int64_t>(i),
                      .every = static_cast<uint64_t>(samples[i].every)});
        if (samples[i].last >= 0)
          emulator.run(*traced, plan, at,
                       {.activity = &activity,
                        .only_launch = static_cast<int64_t>(i),
                        .part_of = static_cast<int64_t>(i),
                        .first_block = static_cast<uint64_t>(samples[i].last),
                        .blocks = 1});
      } catch (const KernelFault&) {
        note_faults(out, *traced);
        if (out.leaves.empty()) throw;  // else this is what it comes from
        return out;
      }
      finders.only_rests_follow();
      note_faults(out, *traced);
    }
    if (auto l = bounds.left(); l && out.leaves.empty()) out.leaves = leaving_words(l->access, l->words, false);
    out.blocks += samples[i].blocks;
    for (const auto& finder : finders.all()) out.whole &= finder->whole();
    // The same one, whoever met it first.
    for (const auto& finder : finders.all())
      if (finder->race() && (!first || finder->race()->block < first->block)) first = finder->race();
    for (const auto& finder : finders.all())
      if (finder->unset() && (!unset || finder->unset()->block < unset->block)) unset = finder->unset();
  }
  out.atomics = atomics;
  if (first) out.race = words(*first);
  if (unset) out.unset = words(*unset);
  if (between && out.race.empty() && products <= most_products_between)
    out.race = race_between_launches(emulator, *traced, plan, p, at, activity);
  if (out.race.empty()) out.race = launch_nobody_waits_for(plan);
  if (between && out.race.empty()) look_between_blocks(emulator, *traced, plan, p, at, activity, out);
  return out;
}

std::string where_it_leaves(Device& emulator, const KernelDefinition& kernel, const ConvProblem& p, const Bindings& at,
                            Activity& activity) {
  try {
    return find_races(emulator, kernel, p, at, activity, false).leaves;
  } catch (const KernelFault&) {
    return "";
  }
}

}  // namespace convscope
