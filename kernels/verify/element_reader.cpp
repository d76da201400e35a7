#include "kernels/verify/element_reader.h"

#include <algorithm>

namespace convscope {
namespace {

using simt::Access;
using simt::AccessKind;

constexpr size_t most_together = 4096;

bool is_input(char tensor) { return tensor == 'x' || tensor == 'w' || tensor == 'b'; }

}  // namespace

TensorPlaces::TensorPlaces(const ProblemMemory& memory, size_t element) : element_(element) {
  for (const auto& t : memory.extents()) ranges_.push_back({t.name, t.address, t.bytes + t.walked});
}

std::pair<char, int64_t> TensorPlaces::of(uint64_t address) const {
  for (const Range& r : ranges_)
    if (address - r.begin < r.bytes) return {r.name, static_cast<int64_t>((address - r.begin) / element_)};
  constexpr uint64_t zone = GuardedTensor::least_zone;
  for (const Range& r : ranges_) {
    if (address - (r.begin - zone) >= r.bytes + 2 * zone) continue;
    const auto element = static_cast<int64_t>(element_), bytes = static_cast<int64_t>(address - r.begin);
    return {r.name, bytes < 0 ? (bytes - element + 1) / element : bytes / element};
  }
  return {0, 0};
}

ElementReader::ElementReader(const TensorPlaces& places, const CodedInputs& codes, size_t element, uint64_t block,
                             uint32_t thread, int64_t target, int64_t elements)
    : places_(places),
      codes_(codes),
      element_(element),
      block_(block),
      thread_(thread),
      target_(target),
      elements_(elements) {}

void ElementReader::take_before(const Access& a) {
  if (a.kind != AccessKind::read && places_.of(a.address).first == 's')
    for (uint64_t at = a.address; at < a.address + a.size; at += cell) set_[at / cell] = a.pc;
}

void ElementReader::take(const Access& a) {
  if (a.block != block_ || a.kind == AccessKind::release || a.kind == AccessKind::acquire ||
      a.kind == AccessKind::fence)
    return;
  const bool mine = a.thread == thread_ && !done_;
  if (a.kind == AccessKind::exchange) {
    if (mine) (wrote_ ? next_ : current_).exchanges++;
    return;
  }
  // Of copies that arrive later it is known what they bring when they are ordered.
  if (a.kind != AccessKind::ordered && a.kind != AccessKind::arrival) settle(a);
  const auto [tensor, index] = places_.of(a.address);
  if (a.kind == AccessKind::read && is_input(tensor))
    for (size_t e = 0; e * element_ < a.size; e++) fetches_.insert({tensor, index + static_cast<int64_t>(e)});
  if (a.kind == AccessKind::read && (tensor == 's' || (!tensor && !a.shared)) && a.size <= 8)
    for (const auto& candidates : codes_.read(a.round, a.size)) fetches_.insert(candidates.begin(), candidates.end());
  if (a.kind == AccessKind::ordered) {
    for (uint64_t at = a.address; at < a.address + a.size; at += cell) on_their_way_[at / cell] = a.pc;
    if (mine) copies(a), settle(a);
    return;
  }
  if (a.kind != AccessKind::read && (!tensor || tensor == 's')) {
    if (a.kind == AccessKind::arrival)
      for (uint64_t at = a.address; at < a.address + a.size; at += cell) on_their_way_.erase(at / cell);
    engine_ |= a.kind == AccessKind::bulk_write;
    for (uint64_t at = a.address; at < a.address + a.size; at += cell) set_[at / cell] = a.pc;
  }
  if (!mine) return;
  if (a.kind == AccessKind::read)
    read(a, tensor, index);
  else if (tensor == 'y')
    wrote(a, index);
  else if (a.kind != AccessKind::arrival && (a.shared || tensor == 's'))
    copies(a);
}

void ElementReader::read(const Access& a, char tensor, int64_t index) {
  Group& group = wrote_ ? next_ : current_;
  const size_t number = first_ + all_.size();
  Read r{a, tensor, index};
  bool operand = tensor == 'x' || tensor == 'w';
  if (is_input(tensor)) {
    for (size_t e = 0; e * element_ < a.size; e++)
      reads_of_[{tensor, index + static_cast<int64_t>(e)}].push_back(number);
  } else if (tensor != 'y' && a.size <= 8) {
    for (const auto& candidates : codes_.read(a.round, a.size))
      for (const auto& e : candidates) {
        reads_of_[e].push_back(number);
        operand |= e.tensor != 'b';
      }
    if (auto it = on_their_way_.find(a.address / cell); it != on_their_way_.end())
      r.filled_at = it->second, r.awaited = true;
    else if (it = set_.find(a.address / cell); it != set_.end())
      r.filled_at = it->second;
    else
      r.unset = a.shared;
  }
  // What is copied elsewhere is written next; what is read of anything else in between is used. A bias, with which a
  // sum may begin, at once.
  if (!is_input(tensor)) waiting_.clear();
  std::erase_if(waiting_, [&](size_t i) { return i >= first_ && all_[i - first_].tensor == 'b' && tensor != 'b'; });
  if (is_input(tensor)) waiting_.push_back(number);
  all_.push_back(r);
  group.reads.push_back(number);
  group.operands |= operand;
  if (wrote_ && hit_ && operand) done_ = true;  // what comes is for others
}

// Several elements may be written in a row, with biases and the like read in between: what was read before is for all.
void ElementReader::wrote(const Access& a, int64_t index) {
  waiting_.clear();
  if (wrote_) {
    Group next = std::exchange(next_, {});
    if (next.operands) {
      begin_group(std::move(next));
    } else {
      current_.reads.insert(current_.reads.end(), next.reads.begin(), next.reads.end());
      current_.exchanges += next.exchanges;
    }
  }
  wrote_ = true;
  for (size_t e = 0; e * element_ < a.size; e++) {
    const int64_t at = index + static_cast<int64_t>(e);
    hit_ |= at == target_;
    if (at < 0 || at >= elements_) continue;
    together_whole_ &= together_.size() < most_together;
    if (together_whole_) together_.push_back(at);
  }
}

void ElementReader::begin_group(Group&& next) {
  current_ = std::move(next);
  together_.clear(), together_whole_ = true;
  const size_t begin = current_.reads.empty() ? first_ + all_.size() : current_.reads.front();
  for (; first_ < begin; first_++) all_.pop_front();
  for (auto it = reads_of_.begin(); it != reads_of_.end();) {
    std::erase_if(it->second, [&](size_t i) { return i < first_; });
    it = it->second.empty() ? reads_of_.erase(it) : std::next(it);
  }
}

void ElementReader::copies(const Access& a) {
  const unsigned part = std::min<unsigned>(a.size, element_ == 8 ? 8 : a.size >= 4 ? 4 : 2);
  for (unsigned at = 0; at + part <= a.size; at += part)
    copies_[a.address + at] = {part, first_ + all_.size(), std::exchange(waiting_, {})};
}

// Somebody comes to where it has written: what stands there tells which of its reads that was.
void ElementReader::settle(const Access& a) {
  if (copies_.empty() || a.size > 8) return;
  for (auto it = copies_.lower_bound(a.address);
       it != copies_.end() && it->first + it->second.size <= a.address + a.size;) {
    const Copy& copy = it->second;
    const uint64_t value = a.round >> 8 * (it->first - a.address);
    if (!settle(copy.size == 8 ? value : value & ((uint64_t{1} << 8 * copy.size) - 1), copy)) mark(copy.waiting);
    it = copies_.erase(it);
  }
}

bool ElementReader::settle(uint64_t value, const Copy& copy) {
  bool found = false;
  for (const auto& candidates : codes_.read(value, copy.size))
    for (const auto& e : candidates) {
      auto it = reads_of_.find(e);
      if (it == reads_of_.end()) continue;
      auto after = std::lower_bound(it->second.begin(), it->second.end(), copy.before);
      if (after == it->second.begin()) continue;
      mark({*std::prev(after)});
      found = true;
    }
  return found;
}

void ElementReader::mark(const std::vector<size_t>& reads) {
  for (const size_t i : reads)
    if (i >= first_) all_[i - first_].fetched = true;
}

void ElementReader::finish() {
  for (const auto& [address, copy] : copies_) mark(copy.waiting);
  copies_.clear();
}

std::vector<ElementReader::Read> ElementReader::reads() const {
  std::vector<Read> reads;
  for (const size_t i : current_.reads)
    if (i >= first_) reads.push_back(all_[i - first_]);
  return reads;
}

}  // namespace convscope
