// What one thread reads before it writes an output element, from a trace of its block on inputs that are known by their
// values (coded_inputs.h).
#pragma once
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/coded_inputs.h"
#include "kernels/verify/problem_memory.h"

namespace convscope {

// Where the tensors lie, and what is read beside them.
class TensorPlaces {
 public:
  TensorPlaces(const ProblemMemory& memory, size_t element);
  // Of which tensor (x, w, b, y; s: the workspace; 0: none) and element an address is; one in a red zone is that of an
  // element beside its tensor.
  std::pair<char, int64_t> of(uint64_t address) const;

 private:
  struct Range {
    char name;
    uint64_t begin, bytes;
  };
  const size_t element_;
  std::vector<Range> ranges_;
};

class ElementReader {
 public:
  // target: the element, flat in the kernel's own output, which has `elements`.
  ElementReader(const TensorPlaces& places, const CodedInputs& codes, size_t element, uint64_t block, uint32_t thread,
                int64_t target, int64_t elements);

  struct Read {
    simt::Access access;
    char tensor = 0;
    int64_t index = 0;
    bool fetched = false;    // and put elsewhere: it is read there
    bool unset = false;      // shared memory that nobody has written
    uint64_t filled_at = 0;  // of shared memory: the place in the source that wrote it
    bool awaited = false;    // or that has ordered a copy to it, which nobody has waited for
  };

  void take_before(const simt::Access& a);  // of launches before its own, whose writes alone matter
  void take(const simt::Access& a);
  void finish();  // no more comes

  bool found() const { return hit_; }
  // Those that all elements have in common which it wrote in a row, the target among them.
  std::vector<Read> reads() const;
  const std::vector<int64_t>& together() const { return together_; }
  bool together_whole() const { return together_whole_; }
  int64_t exchanges() const { return current_.exchanges; }  // values of other lanes
  // From x, w or b, or from a copy beyond shared memory.
  bool fetched_by_block(const CodedInputs::Element& e) const { return fetches_.contains(e); }
  bool engine_copies() const { return engine_; }  // boxes came by the copy engine, which fetches unseen

 private:
  // Reads by number; a number lower than first_ is forgotten.
  struct Group {
    std::vector<size_t> reads;
    int64_t exchanges = 0;
    bool operands = false;  // x or w is among them
  };
  // What it wrote beside y: what that is, is seen when somebody comes there next.
  struct Copy {
    unsigned size;
    size_t before;                // reads with a lower number
    std::vector<size_t> waiting;  // those just before, where nothing better is known
  };
  static constexpr uint64_t cell = 2;  // bytes

  void read(const simt::Access& a, char tensor, int64_t index);
  void wrote(const simt::Access& a, int64_t index);
  void copies(const simt::Access& a);
  void settle(const simt::Access& a);
  bool settle(uint64_t value, const Copy& copy);
  void mark(const std::vector<size_t>& reads);
  void begin_group(Group&& next);

  const TensorPlaces& places_;
  const CodedInputs& codes_;
  const size_t element_;
  const uint64_t block_;
  const uint32_t thread_;
  const int64_t target_, elements_;
  bool wrote_ = false, hit_ = false, done_ = false, engine_ = false, together_whole_ = true;
  std::deque<Read> all_;
  size_t first_ = 0;
  Group current_, next_;  // before what it wrote last, and since then
  std::vector<size_t> waiting_;
  std::map<CodedInputs::Element, std::vector<size_t>> reads_of_;
  std::map<uint64_t, Copy> copies_;  // by address
  std::vector<int64_t> together_;
  std::set<CodedInputs::Element> fetches_;
  std::unordered_map<uint64_t, uint64_t> set_;  // cells of no tensor that were written, and where in the source
  std::unordered_map<uint64_t, uint64_t> on_their_way_;  // the same of copies that are ordered
};

}  // namespace convscope
