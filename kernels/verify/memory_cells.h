// The memory that several launches, or blocks of one, share: y, the workspace, and variables of a kernel's file, in
// cells of two bytes, so that neighbouring 16-bit elements are different memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"

namespace convscope {

class MemoryCells {
 public:
  static constexpr uint64_t bytes = 2;

  // Of a plan's memory where it is bound; out_length as the plan has it.
  MemoryCells(const Plan& plan, const ConvProblem& p, const Bindings& at) : element_(size_of(p.dtype)), p_(p) {
    out_length_ = std::max<int64_t>(plan.out_length(), 0);
    add("y", at.y, static_cast<uint64_t>(p.batch * p.out_channels * out_length_) * element_);
    if (at.workspace) add("its workspace", at.workspace, plan.workspace_bytes());
    for (const auto& v : plan.variables())
      add(v.name, reinterpret_cast<uint64_t>(v.on_host), static_cast<uint64_t>(v.bytes));
  }
  uint64_t count() const { return ranges_.empty() ? 0 : ranges_.back().first + ranges_.back().cells; }
  bool has(uint64_t address) const { return range_of(address) != nullptr; }

  // f(cell) for each that so many bytes from an address on touch.
  template <class F>
  void each(uint64_t address, uint64_t size, F f) const {
    const Range* r = range_of(address);
    if (!r || !size) return;
    const uint64_t end = std::min(address + size, r->begin + r->bytes);
    for (uint64_t c = (address - r->begin) / bytes; c <= (end - 1 - r->begin) / bytes; c++) f(r->first + c);
  }

  // "y[0, 1, 5]", "its workspace": what a cell is of.
  std::string name(uint64_t cell) const {
    const Range* r = &ranges_.front();
    for (const Range& each : ranges_)
      if (cell >= each.first) r = &each;
    if (r != &ranges_.front() || !out_length_) return r->name;
    const auto element = static_cast<int64_t>(cell * bytes / element_), row = element / out_length_;
    return "y[" + std::to_string(row / p_.out_channels) + ", " + std::to_string(row % p_.out_channels) + ", " +
           std::to_string(element % out_length_) + "]";
  }

 private:
  struct Range {
    std::string name;
    uint64_t begin, bytes, first, cells;
  };
  void add(std::string name, uint64_t begin, uint64_t size) {
    if (size) ranges_.push_back({std::move(name), begin, size, count(), (size + bytes - 1) / bytes});
  }
  const Range* range_of(uint64_t address) const {
    for (const Range& r : ranges_)
      if (address - r.begin < r.bytes) return &r;
    return nullptr;
  }

  uint64_t element_;
  ConvProblem p_;
  int64_t out_length_ = 0;
  std::vector<Range> ranges_;
};

}  // namespace convscope
