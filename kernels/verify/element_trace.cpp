#include "kernels/verify/element_trace.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <unordered_set>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/coded_inputs.h"
#include "kernels/verify/prober.h"
#include "kernels/verify/problem_memory.h"
#include "kernels/verify/pyramid.h"

namespace convscope {
namespace {

using simt::Access;
using simt::AccessKind;

// Lout·K products a pair of channels is what the plainest kernel walks; traced it does some 10^8 of them a second.
constexpr double most_products = 4e8;
constexpr size_t most_kept = 4096;

struct Range {
  char name;
  uint64_t begin, bytes;
  bool holds(uint64_t a) const { return a - begin < bytes; }
};

// Where the tensors lie, and what is read beside them.
class TensorPlaces {
 public:
  TensorPlaces(const ProblemMemory& memory, size_t element) : element_(element) {
    for (const auto& t : memory.extents()) ranges_.push_back({t.name, t.address, t.bytes + t.walked});
  }
  // Of which tensor (0: none) and element an address is; one in a red zone is that of an element beside its tensor.
  std::pair<char, int64_t> of(uint64_t address) const {
    for (const Range& r : ranges_)
      if (r.holds(address)) return {r.name, static_cast<int64_t>((address - r.begin) / element_)};
    constexpr uint64_t zone = GuardedTensor::least_zone;
    for (const Range& r : ranges_)
      if (address - (r.begin - zone) < r.bytes + 2 * zone)
        return {r.name, (static_cast<int64_t>(address - r.begin) - (address < r.begin ? int64_t(element_) - 1 : 0)) /
                            static_cast<int64_t>(element_)};
    return {0, 0};
  }

 private:
  const size_t element_;
  std::vector<Range> ranges_;
};

// What one thread reads before it writes the element, and what its block fetches from x, w and b and puts into shared
// memory.
class ElementReader {
 public:
  ElementReader(const TensorPlaces& places, size_t element, const ElementWriter& writer, int64_t target)
      : places_(places), element_(element), writer_(writer), target_(target) {}

  struct Read {
    Access access;
    char tensor;  // 0: of no tensor
    int64_t index;
    bool fetched;  // copied to shared memory, or to another place
    bool unset;    // shared memory that nobody has written
  };

  void take(const Access& a) {
    if (a.block != writer_.block || a.kind == AccessKind::release || a.kind == AccessKind::acquire) return;
    const auto [tensor, index] = places_.of(a.address);
    const bool input = tensor == 'x' || tensor == 'w' || tensor == 'b';
    if (a.kind == AccessKind::read && input)
      for (size_t e = 0; e * element_ < a.size; e++)
        fetches_.try_emplace({tensor, index + static_cast<int64_t>(e)}, a.pc);
    if (a.kind != AccessKind::read && !tensor)
      for (uint64_t at = a.address; at < a.address + a.size; at += cell) set_.insert(at / cell);
    if (a.thread != writer_.thread || done_) return;
    if (a.kind == AccessKind::read)
      read(a, tensor, index);
    else if (tensor == 'y')
      wrote(a, index);
    else if (a.shared || tensor == 's')
      for (size_t i : std::exchange(waiting_, {})) reads_[i].fetched = true;
    last_is_bias_ = a.kind == AccessKind::read && tensor == 'b';
  }

  bool found() const { return hit_; }
  const std::vector<Read>& reads() const { return reads_; }
  const std::vector<int64_t>& together() const { return together_; }
  // The place in the source that read an element in this block; 0: none.
  uint64_t fetch_of(const CodedInputs::Element& e) const {
    auto it = fetches_.find(e);
    return it == fetches_.end() ? 0 : it->second;
  }

 private:
  // Several elements may be written in a row, with their biases read in between: what was read before is for all.
  void read(const Access& a, char tensor, int64_t index) {
    if (wrote_ && tensor != 'b') {
      if (hit_) {
        done_ = true;
        return;
      }
      reads_.clear(), together_.clear(), waiting_.clear();
      wrote_ = false;
    }
    // What is copied elsewhere is written next; what is read of anything else in between is used. A bias, which sums
    // may begin with, at once.
    if (last_is_bias_) std::erase_if(waiting_, [&](size_t i) { return reads_[i].tensor == 'b'; });
    if (tensor == 'x' || tensor == 'w' || tensor == 'b')
      waiting_.push_back(reads_.size());
    else
      waiting_.clear();
    reads_.push_back({a, tensor, index, false, a.shared && !set_.contains(a.address / cell)});
  }
  void wrote(const Access& a, int64_t index) {
    wrote_ = true;
    waiting_.clear();
    for (size_t e = 0; e * element_ < a.size; e++) {
      hit_ |= index + static_cast<int64_t>(e) == target_;
      if (together_.size() < most_kept) together_.push_back(index + static_cast<int64_t>(e));
    }
  }

  static constexpr uint64_t cell = 2;  // bytes
  const TensorPlaces& places_;
  const size_t element_;
  const ElementWriter writer_;
  const int64_t target_;
  bool wrote_ = false, hit_ = false, done_ = false, last_is_bias_ = false;
  std::vector<Read> reads_;
  std::vector<size_t> waiting_;
  std::vector<int64_t> together_;
  std::map<CodedInputs::Element, uint64_t> fetches_;
  std::unordered_set<uint64_t> set_;  // cells that were written, of no tensor
};

// What was read, in the words of the problem.
void tell(const ElementReader& reader, const CodedInputs& codes, size_t element, ElementTrace& out) {
  std::map<uint64_t, simt::SourceLine> lines;
  auto line_of = [&](uint64_t pc) -> const simt::SourceLine& {
    auto [it, isnew] = lines.try_emplace(pc);
    if (isnew) it->second = simt::source_line(pc);
    return it->second;
  };
  using Where = ElementRead::Where;
  auto add = [&](const CodedInputs::Element& e, const Access& a, Where where) {
    out.reads_total++;
    if (out.reads.size() >= most_kept) return;
    const auto& place = line_of(a.pc);
    ElementRead r{e.tensor, e.index, place.file, place.line, where};
    if (where == Where::shared)
      if (const uint64_t from = reader.fetch_of(e)) r.from_file = line_of(from).file, r.from_line = line_of(from).line;
    out.reads.push_back(std::move(r));
  };
  for (const auto& [a, tensor, index, fetched, unset] : reader.reads()) {
    if (tensor && tensor != 's') {
      if (!fetched)
        for (size_t e = 0; e * element < a.size; e++) add({tensor, index + static_cast<int64_t>(e)}, a, Where::tensor);
      continue;
    }
    const Where where = tensor == 's' ? Where::workspace : a.shared ? Where::shared : Where::constant;
    out.through_workspace |= where == Where::workspace;
    out.through_shared |= where == Where::shared;
    if (unset) {
      add({'-', 0}, a, where);
      continue;
    }
    if (a.size > 8) {
      out.unknown++;
      continue;
    }
    for (auto& candidates : codes.read(a.round, a.size)) {
      // Where a value is that of several: the one that this block has fetched.
      if (candidates.size() > 1) std::erase_if(candidates, [&](const auto& e) { return reader.fetch_of(e) == 0; });
      if (candidates.size() == 1)
        add(candidates[0], a, where);
      else
        out.unknown++;
    }
  }
}

}  // namespace

ElementTrace trace_element(const KernelDefinition& kernel, const ConvProblem& p, const InputSpec& spec, int64_t n,
                           int64_t co, int64_t j, Activity& activity) {
  ElementTrace out;
  auto within = [](const char* field, int64_t v, int64_t limit) {
    if (v < 0 || v >= limit)
      throw InputError(field, std::to_string(v), fmt::format("must be between 0 and {}", limit - 1));
  };
  within("n", n, p.batch), within("co", co, p.out_channels), within("j", j, p.out_length());
  if (auto why = kernel.unsupported(p); !why.empty()) throw InputError("kernel", kernel.name(), why);
  const double products = walked_products(p);
  if (products > most_products) {
    out.reason =
        fmt::format("{:.2g} products are too many to trace in a few seconds (at most {:.0g}): try a small preset",
                    products, most_products);
    return out;
  }
  const KernelDefinition* traced = traced_twin(kernel, out.reason);
  if (!traced) return out;
  Plan plan = traced->plan_for(p);
  if (j >= plan.out_length()) {
    out.reason = fmt::format("the kernel's own output ends at position {}", plan.out_length() - 1);
    return out;
  }
  out.length = plan.out_length();
  activity.phase("tracing who writes the element");
  auto device = open_emulator();
  const size_t element = size_of(p.dtype);
  const int64_t target = (n * p.out_channels + co) * plan.out_length() + j;
  const auto launches = static_cast<int64_t>(plan.launches().size());
  {
    Inputs in = make_inputs(p, spec, &activity);
    ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes(), &activity);
    memory.fill_output(unwritten_word, &activity);
    const uint64_t address = memory.at().y + static_cast<size_t>(target) * element;
    std::mutex mutex;
    for (int64_t launch = 0; launch < launches; launch++) {
      simt::Tracing tracing(
          [&](std::span<const Access> part) {
            for (const auto& a : part) {
              if (a.kind == AccessKind::read || a.address > address || address >= a.address + a.size) continue;
              std::lock_guard lock(mutex);
              out.writes++;
              if (out.writers.size() < 8) {
                auto place = simt::source_line(a.pc);
                out.writers.push_back({static_cast<int>(launch), a.block, a.thread, place.file, place.line});
              }
            }
          },
          {.reads = false});
      device->run(*traced, plan, memory.at(), {.activity = &activity, .only_launch = launch});
    }
  }
  if (out.writers.empty()) return out;

  // Again, for what that thread reads, of inputs that are known by their values.
  activity.check();
  const ElementWriter first = out.writers.front();
  const CodedInputs codes(p);
  const Inputs in = codes.make();
  ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes(), &activity);
  memory.fill_output(unwritten_word, &activity);
  for (int64_t launch = 0; launch < first.launch; launch++)
    device->run(*traced, plan, memory.at(), {.activity = &activity, .only_launch = launch});
  const TensorPlaces places(memory, element);
  ElementReader reader(places, element, first, target);
  {
    std::mutex mutex;
    simt::Tracing tracing(
        [&](std::span<const Access> part) {
          std::lock_guard lock(mutex);
          for (const auto& a : part) reader.take(a);
        },
        {.meetings = true, .block = static_cast<int64_t>(first.block)});
    // Its block alone, where it does not matter whether the others run.
    const bool alone = launch_of_lone_blocks(kernel, plan) == first.launch && out.writers.size() == 1;
    device->run(*traced, plan, memory.at(),
                {.activity = &activity,
                 .only_launch = first.launch,
                 .part_of = first.launch,
                 .first_block = first.block,
                 .blocks = alone ? 1u : 0u});
  }
  // Where blocks take what is next, another one may have it this time.
  if (!reader.found()) return out;
  tell(reader, codes, element, out);
  out.together = reader.together();
  return out;
}

}  // namespace convscope
