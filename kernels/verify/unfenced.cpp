#include "kernels/verify/unfenced.h"

namespace convscope {

using simt::AccessKind;

void UnfencedFinder::take(std::span<const simt::Access> part) {
  std::lock_guard lock(mutex_);
  uint64_t of = ~uint64_t{0};
  Block* in_hand = nullptr;
  for (const auto& a : part) {
    if (!in_hand || a.block != of) in_hand = &blocks_[of = a.block];
    Block& block = *in_hand;
    block.now++;
    // A word of memory that is told by a release has the fence in it.
    if (a.kind == AccessKind::fence || (a.kind == AccessKind::release && memory_.has(a.address))) {
      block.fence = block.now;
      if (a.kind == AccessKind::release) block.published = block.now;
    }
    if (!a.size || a.shared) continue;
    if (a.kind == AccessKind::atomic) {
      block.atomic = block.now, block.published = block.fence;
      continue;
    }
    const bool writes = a.kind != AccessKind::read;
    const Side now{a.block, a.pc, block.now, a.thread, writes && block.fence > block.write};
    if (writes && memory_.has(a.address)) block.write = block.now, block.published = block.fence;
    memory_.each(a.address, a.size, [&](uint64_t c) {
      Cell& cell = cells_[c];
      if (a.kind == AccessKind::read) {
        if (!cell.reader.pc || cell.reader.block == a.block)
          cell.reader = now;
        else
          cell.other_reader = now;
      } else {
        cell.several |= cell.writer.pc && cell.writer.block != a.block;
        cell.updated |= (cell.reader.pc && cell.reader.block == a.block) ||
                        (cell.other_reader.pc && cell.other_reader.block == a.block);
        cell.writer = now;
      }
    });
  }
}

bool UnfencedFinder::is_fenced(const Side& write) const {
  const Block& b = blocks_.at(write.block);
  return write.tells || b.published > write.when || b.atomic < write.when;
}

bool UnfencedFinder::nothing_orders(const Side& write, const Side& read) const {
  const Block &writer = blocks_.at(write.block), &reader = blocks_.at(read.block);
  return !writer.atomic && !writer.fence && !reader.atomic && !reader.fence;
}

std::optional<UnfencedFinder::Found> UnfencedFinder::found() const {
  for (uint64_t c = 0; c < cells_.size(); c++) {
    const Cell& cell = cells_[c];
    if (!cell.writer.pc || (cell.several && !cell.updated)) continue;
    const Side* reader = cell.reader.pc && cell.reader.block != cell.writer.block               ? &cell.reader
                         : cell.other_reader.pc && cell.other_reader.block != cell.writer.block ? &cell.other_reader
                                                                                                : nullptr;
    if (!reader) continue;
    const bool told = !cell.several && !is_fenced(cell.writer);
    if (told || nothing_orders(cell.writer, *reader))
      return Found{
          c, cell.writer.pc, reader->pc, cell.writer.block, reader->block, cell.writer.thread, reader->thread, told};
  }
  return {};
}

}  // namespace convscope
