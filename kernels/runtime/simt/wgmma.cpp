// Products of a warpgroup: ordered thread by thread, done when one of them waits and all have closed their groups.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "convscope/half.h"
#include "kernels/runtime/simt/block.h"

namespace convscope::simt {
namespace {

float value_16(Operand type, uint16_t bits) {
  return type == Operand::f16 ? halves::from_f16(bits) : halves::from_bf16(bits);
}
// The hardware takes no notice of the low 13 bits.
float value_tf32(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

// A matrix descriptor: 14 bits each of addresses and distances, in units of 16 bytes; at the top the swizzle.
struct Descriptor {
  uint32_t begin, leading, stride;
  unsigned swizzle;
  explicit Descriptor(uint64_t d)
      : begin(static_cast<uint32_t>(d & 0x3fff) * 16),
        leading(static_cast<uint32_t>(d >> 16 & 0x3fff) * 16),
        stride(static_cast<uint32_t>(d >> 32 & 0x3fff) * 16),
        swizzle(static_cast<unsigned>(d >> 62)) {}
};

// C[i][j] += A[i][k]·B[k][j], sums in f32 one after the other.
template <int columns>
void add_products(float (*c)[160], const float (*a)[16], const float (*b)[160], int depth) {
  for (int i = 0; i < 64; i++)
    for (int k = 0; k < depth; k++) {
      const float v = a[i][k];
      for (int j = 0; j < columns; j++) c[i][j] += v * b[k][j];
    }
}

}  // namespace

void Hopper::fence() { queue().fenced = true; }

void Hopper::order(const Wgmma& product, const Site& at) {
  Queue& q = queue();
  if (!q.fenced) block_.fault("a wgmma product without wgmma.fence since the last wait", at);
  q.products.push_back(product);
  q.at = at;
}

Hopper::Queue& Hopper::queue() {
  if (queues_.empty()) queues_.resize(static_cast<size_t>(max_threads_per_block));
  multiplies_ = true;
  return queues_[block_.current_thread()];
}

void Hopper::commit(const Site&) {
  Queue& q = queue();
  q.groups.push_back(q.products.size());
  // How many of the 128 have closed each of the groups that not all have.
  Warpgroup& w = warpgroups_[block_.current_thread() / 128];
  const auto group = static_cast<size_t>(q.all_groups() - 1 - w.closed);
  if (w.arrived.size() <= group) w.arrived.resize(group + 1);
  if (++w.arrived[group] < 128) return;
  w.arrived.erase(w.arrived.begin());
  w.closed++;
  block_.wake(&w);
}

void Hopper::wait_products(int pending, const Site& at) {
  if (queues_.empty()) return;
  const unsigned warpgroup = block_.current_thread() / 128;
  Warpgroup& w = warpgroups_[warpgroup];
  Queue& q = queues_[block_.current_thread()];
  q.fenced = false;
  const int wanted = q.all_groups() - pending;
  while (w.closed < wanted) block_.park(&w, "wgmma.wait_group for the other warps of its warpgroup", at);
  if (q.done < wanted) multiply(warpgroup, wanted, at);
}

// Does the groups of a warpgroup up to number `groups`.
void Hopper::multiply(unsigned warpgroup, int groups, const Site& at) {
  std::array<Queue*, 128> threads;
  for (unsigned t = 0; t < 128; t++) threads[t] = &queues_[warpgroup * 128 + t];
  const auto ended = static_cast<size_t>(groups - threads[0]->done);
  const size_t products = threads[0]->groups[ended - 1];
  for (Queue* q : threads)
    if (q->done != threads[0]->done || q->groups[ended - 1] != products)
      block_.fault("threads of a warpgroup have ordered different numbers of wgmma products", at);
  for (size_t i = 0; i < products; i++) multiply_one(threads, i, threads[0]->at);
  for (Queue* q : threads) {
    q->products.erase(q->products.begin(), q->products.begin() + static_cast<ptrdiff_t>(products));
    q->groups.erase(q->groups.begin(), q->groups.begin() + static_cast<ptrdiff_t>(ended));
    for (size_t& end : q->groups) end -= products;
    q->done = groups;
  }
}

const Site* Hopper::unfinished(unsigned thread) const {
  return multiplies_ && !queues_[thread].products.empty() ? &queues_[thread].at : nullptr;
}

void Hopper::multiply_one(std::array<Queue*, 128>& threads, size_t product, const Site& at) {
  const Wgmma& p = threads[0]->products[product];
  const bool tf32 = p.type == Operand::tf32;
  const int depth = tf32 ? 8 : 16;
  if (!operands_) operands_ = std::make_unique<Operands>();
  auto& [a, b, c] = *operands_;
  for (int t = 0; t < 128; t++) {
    const Wgmma& mine = threads[static_cast<size_t>(t)]->products[product];
    if (mine.type != p.type || mine.add != p.add || mine.columns != p.columns || mine.b != p.b || mine.from != p.from)
      block_.fault("threads of a warpgroup order different wgmma products: shape, type and descriptor are one", at);
    const int row = t / 32 * 16 + t % 32 / 4, column = t % 4;
    for (int i = 0; i < 4 && !p.from; i++) {
      float(&to)[16] = a[row + i % 2 * 8];
      if (tf32) {
        to[column + i / 2 * 4] = value_tf32(mine.a[i]);
      } else {
        to[2 * column + i / 2 * 8] = value_16(p.type, static_cast<uint16_t>(mine.a[i]));
        to[2 * column + 1 + i / 2 * 8] = value_16(p.type, static_cast<uint16_t>(mine.a[i] >> 16));
      }
    }
    for (int j = 0; j < p.columns / 8; j++)
      for (int i = 0; i < 4; i++) c[row + i / 2 * 8][8 * j + 2 * column + i % 2] = p.add ? mine.d[4 * j + i] : 0.0f;
  }
  if (p.from) {  // PTX ISA 9.0, "Canonical layouts": k as neighbours, no swizzle
    const Descriptor rows(p.from);
    if (rows.swizzle != 0 || tf32)
      block_.fault("the emulator has a wgmma operand A in shared memory with k as neighbours, 16 bits, and no swizzle",
                   at);
    for (uint32_t m = 0; m < 64; m++)
      for (uint32_t k = 0; k < 16; k++) {
        uint16_t bits;
        const uint32_t address = rows.begin + m / 8 * rows.stride + m % 8 * 16 + k / 8 * rows.leading + k % 8 * 2;
        std::memcpy(&bits, shared_at(address, 2, 2, "wgmma", at), 2);
        a[m][k] = value_16(p.type, bits);
      }
  }
  const Descriptor from(p.b);
  const uint32_t size = tf32 ? 4 : 2;
  // PTX ISA 9.0, "Canonical layouts": k as neighbours, with the 128-byte swizzle: rows of 128 bytes, eight of them
  // `stride` apart; or, of 16 bits, without one: rows of 16 bytes, eight of them `stride` apart, `leading` to the next
  // eight k values.
  const bool plain = from.swizzle == 0 && !tf32;
  if (from.swizzle != 1 && !plain)
    block_.fault(
        "the emulator has wgmma operands with k as neighbours, with the 128-byte swizzle or, of 16 bits, with none",
        at);
  for (int n = 0; n < p.columns; n++)
    for (int k = 0; k < depth; k++) {
      const auto un = static_cast<uint32_t>(n), uk = static_cast<uint32_t>(k);
      uint32_t address = from.begin + un / 8 * from.stride;
      if (plain)
        address += un % 8 * 16 + uk / 8 * from.leading + uk % 8 * 2;
      else
        address += un % 8 * 128 + uk * size, address ^= (address >> 7 & 7) << 4;
      const unsigned char* where = shared_at(address, size, size, "wgmma", at);
      if (tf32) {
        uint32_t bits;
        std::memcpy(&bits, where, 4);
        b[k][n] = value_tf32(bits);
      } else {
        uint16_t bits;
        std::memcpy(&bits, where, 2);
        b[k][n] = value_16(p.type, bits);
      }
    }
  if (p.columns == 64)
    add_products<64>(c, a, b, depth);
  else if (p.columns == 80)
    add_products<80>(c, a, b, depth);
  else if (p.columns == 96)
    add_products<96>(c, a, b, depth);
  else if (p.columns == 128)
    add_products<128>(c, a, b, depth);
  else
    add_products<160>(c, a, b, depth);
  for (int t = 0; t < 128; t++) {
    const Wgmma& mine = threads[static_cast<size_t>(t)]->products[product];
    const int row = t / 32 * 16 + t % 32 / 4, column = t % 4;
    for (int j = 0; j < p.columns / 8; j++)
      for (int i = 0; i < 4; i++) mine.d[4 * j + i] = c[row + i / 2 * 8][8 * j + 2 * column + i % 2];
  }
}

void wgmma_fence() { Block::current()->hopper().fence(); }
void wgmma(const Wgmma& product, const Site& at) { Block::current()->hopper().order(product, at); }
void wgmma_commit(const Site& at) { Block::current()->hopper().commit(at); }
void wgmma_wait(int pending, const Site& at) { Block::current()->hopper().wait_products(pending, at); }

}  // namespace convscope::simt
