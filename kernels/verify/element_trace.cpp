#include "kernels/verify/element_trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/element_reader.h"
#include "kernels/verify/prober.h"
#include "kernels/verify/problem_memory.h"
#include "kernels/verify/pyramid.h"
#include "kernels/verify/reaching.h"
#include "kernels/verify/stray_reads.h"

namespace convscope {
namespace {

using simt::Access;
using simt::AccessKind;

// Lout·K products a pair of channels is what the plainest kernel walks; traced it does some 10^8 of them a second.
constexpr double most_products_traced = 4e8;
constexpr size_t most_kept = 4096;
// All blocks are run again and again.
constexpr double most_products_reaching = 2e7, most_s_reaching = 1.5;  // seconds: of each tensor

// What was read, in the words of the problem.
void tell(const ElementReader& reader, const CodedInputs& codes, DType type, ElementTrace& out) {
  const size_t element = size_of(type);
  std::map<uint64_t, simt::SourceLine> lines;
  auto line_of = [&](uint64_t pc) -> const simt::SourceLine& {
    auto [it, isnew] = lines.try_emplace(pc);
    if (isnew) it->second = simt::source_line(pc);
    return it->second;
  };
  using Where = ElementRead::Where;
  auto add = [&](const CodedInputs::Element& e, const ElementReader::Read& read, Where where) {
    out.reads_total++;
    if (out.reads.size() >= most_kept) return;
    const auto& place = line_of(read.access.pc);
    ElementRead r{e.tensor, e.index, place.file, place.line, where};
    if ((where == Where::shared || where == Where::workspace) && read.filled_at) {
      const auto& from = line_of(read.filled_at);
      // Copies that a header orders are not told apart by their lines.
      if (from.file.find("convscope/") == std::string::npos) r.from_file = from.file, r.from_line = from.line;
    }
    r.awaited = read.awaited;
    out.reads.push_back(std::move(r));
  };
  out.unknown += reader.exchanges();
  for (const auto& read : reader.reads()) {
    const auto& a = read.access;
    const Where where = read.tensor == 's' ? Where::workspace
                        : read.tensor      ? Where::tensor
                        : a.shared         ? Where::shared
                                           : Where::other;
    out.through_workspace |= where == Where::workspace;
    out.through_shared |= where == Where::shared;
    if (read.fetched) continue;
    if (where == Where::tensor) {
      for (size_t e = 0; e * element < a.size; e++)
        add({read.tensor, read.index + static_cast<int64_t>(e)}, read, where);
      continue;
    }
    if (read.unset || read.awaited) {
      add({'-', 0}, read, where);
      continue;
    }
    if (a.size > 8) {
      out.unknown++;
      continue;
    }
    auto values = codes.read(a.round, a.size);
    // Values of 16 bits are few, and sums look like some of them: they must have been fetched, and two of a pair be of
    // one tensor.
    const bool must_be_fetched = is_half(type) && where == Where::shared && !reader.engine_copies();
    for (auto& candidates : values)
      if (candidates.size() > 1 || must_be_fetched)
        std::erase_if(candidates, [&](const auto& e) { return !reader.fetched_by_block(e); });
    const bool odd = is_half(type) && values.size() == 2 && values[0].size() == 1 && values[1].size() == 1 &&
                     values[0][0].tensor != values[1][0].tensor;
    for (const auto& candidates : values) {
      if (candidates.size() == 1 && !odd)
        add(candidates[0], read, where);
      else
        out.unknown++;
    }
  }
}

// x and w read in turn, a value each, and what they make in turn is what was written: so these are the products.
bool are_products(const ElementTrace& t, const Inputs& in, double wrote) {
  double sum = 0, size = 0;
  const ElementRead* last = nullptr;
  for (const auto& r : t.reads) {
    if (r.tensor == 'b') {
      if (r.index < 0 || r.index >= in.b.elements()) return false;
      sum += in.b.at(r.index), size += std::fabs(in.b.at(r.index));
      continue;
    }
    if (r.tensor != 'x' && r.tensor != 'w') return false;
    const HostTensor& of = r.tensor == 'x' ? in.x : in.w;
    if (r.index < 0 || r.index >= of.elements()) return false;
    if (!last) {
      last = &r;
      continue;
    }
    if (last->tensor == r.tensor) return false;
    const double product = of.at(r.index) * (last->tensor == 'x' ? in.x : in.w).at(last->index);
    sum += product, size += std::fabs(product);
    last = nullptr;
  }
  return !last && size > 0 && std::fabs(wrote - sum) < 1e-5 * size;
}

// Of what was read and does not belong to the element: whether it reaches it. A thread may read more than it uses.
void mark_unused(ElementTrace& out, const ConvProblem& p, int64_t n, int64_t co, int64_t j,
                 const std::function<Changing()>& changing) {
  constexpr size_t most_lines = 4;
  const auto strays = stray_reads(out, p, n, co, j);
  if (strays.empty() || strays.size() > most_lines) return;
  Changing change = changing();
  if (!change.works()) return;
  for (const auto& s : strays) {
    std::vector<CodedInputs::Element> elements;
    for (const int64_t index : s.elements) elements.push_back({s.tensor, index});
    if (elements.empty() ||
        !std::all_of(elements.begin(), elements.end(), [&](const auto& e) { return change.within(e); }) ||
        change.changes(elements))
      continue;
    for (auto& r : out.reads)
      r.unused |= r.tensor == s.tensor && r.line == s.line && r.file == s.file &&
                  std::find(s.elements.begin(), s.elements.end(), r.index) != s.elements.end();
  }
}

// Which places in the source read each element of the inputs.
using Readers = std::map<CodedInputs::Element, std::set<uint64_t>>;

void collect(Readers& readers, const TensorPlaces& places, size_t element, const Access& a) {
  if (a.kind != AccessKind::read) return;
  const auto [tensor, index] = places.of(a.address);
  if (tensor != 'x' && tensor != 'w' && tensor != 'b') return;
  for (size_t e = 0; e * element < a.size; e++) readers[{tensor, index + static_cast<int64_t>(e)}].insert(a.pc);
}

void find_reaching(ElementTrace& out, const ConvProblem& p, int64_t n, int64_t co, int64_t j, const Readers& readers,
                   Changing& change, int runs) {
  constexpr size_t most = 3;  // of a tensor
  if (!change.works()) return;
  out.looked_for_reaching = true;
  for (const char tensor : {'x', 'w', 'b'}) {
    std::vector<CodedInputs::Element> strangers;
    for (const auto& [e, pcs] : readers)
      if (e.tensor == tensor && change.within(e) && !belongs(p, n, co, j, tensor, e.index)) strangers.push_back(e);
    for (const auto& e : change.that_change(strangers, most, runs)) {
      std::set<std::pair<std::string, int>> lines;
      for (const uint64_t pc : readers.at(e)) {
        const auto place = simt::source_line(pc);
        if (lines.insert({place.file, place.line}).second)
          out.reaching.push_back({e.tensor, e.index, place.file, place.line});
      }
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
  if (products > most_products_traced) {
    out.reason =
        fmt::format("{:.2g} products are too many to trace in a few seconds (at most {:.0g}): try a small preset",
                    products, most_products_traced);
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
  // Its block alone, where it does not matter whether the others run.
  const bool alone =
      launch_of_lone_blocks(kernel, plan) == first.launch && out.writes == static_cast<int64_t>(out.writers.size()) &&
      std::all_of(out.writers.begin(), out.writers.end(),
                  [&](const ElementWriter& w) { return w.launch == first.launch && w.block == first.block; });
  auto run_before = [&] {
    memory.fill_output(unwritten_word, &activity);
    for (int64_t launch = 0; launch < first.launch; launch++)
      device->run(*traced, plan, memory.at(), {.activity = &activity, .only_launch = launch});
  };
  auto run_block = [&] {
    device->run(*traced, plan, memory.at(),
                {.activity = &activity,
                 .only_launch = first.launch,
                 .part_of = first.launch,
                 .first_block = first.block,
                 .blocks = alone ? 1u : 0u});
  };
  const TensorPlaces places(memory, element);
  ElementReader reader(places, codes, element, first.block, first.thread, target,
                       p.batch * p.out_channels * plan.out_length());
  std::mutex mutex;
  // Launches that put weights in another order: which line fills the workspace.
  if (plan.workspace_bytes() && first.launch > 0) {
    simt::Tracing tracing(
        [&](std::span<const Access> part) {
          std::lock_guard lock(mutex);
          for (const auto& a : part) reader.take_before(a);
        },
        {.reads = false});
    run_before();
  } else {
    run_before();
  }
  {
    simt::Tracing tracing(
        [&](std::span<const Access> part) {
          std::lock_guard lock(mutex);
          for (const auto& a : part) reader.take(a);
        },
        {.meetings = true, .block = static_cast<int64_t>(first.block)});
    run_block();
  }
  reader.finish();
  // Where blocks take what is next, another one may have it this time.
  if (!reader.found()) return out;
  tell(reader, codes, p.dtype, out);
  out.together = reader.together();
  if (!reader.together_whole()) out.unknown++;
  if (!is_half(p.dtype) && out.together.size() == 1 && !out.unknown &&
      out.reads_total == static_cast<int64_t>(out.reads.size())) {
    const auto* y = reinterpret_cast<const char*>(memory.at().y) + static_cast<size_t>(target) * element;
    out.products = dispatch(p.dtype, [&](auto v) {
      std::memcpy(&v, y, sizeof v);
      return are_products(out, in, static_cast<double>(v));
    });
  }
  const bool all_known = out.unknown == 0 && out.writes == 1;
  std::vector<uint64_t> y;
  for (const int64_t e : all_known ? out.together : std::vector{target})
    y.push_back(memory.at().y + static_cast<size_t>(e) * element);
  auto run_all = [&] {
    run_before(), run_block();
    for (int64_t launch = first.launch + 1; launch < launches && !alone; launch++)
      device->run(*traced, plan, memory.at(), {.activity = &activity, .only_launch = launch});
  };
  auto changing = [&] { return Changing(p, memory.at(), y, run_all); };
  if (all_known) {
    if (alone) mark_unused(out, p, n, co, j, changing);
    return out;
  }
  // What a thread reads tells nothing here: what reaches the element does, whoever reads it.
  if (!alone && products > most_products_reaching) return out;
  Readers readers;
  for (int64_t launch = 0; launch < launches && (!alone || launch <= first.launch); launch++) {
    std::set<uint64_t> blocks;  // that write it, of this launch; none: it prepares something for all
    for (const auto& w : out.writers)
      if (w.launch == launch) blocks.insert(w.block);
    if (out.writes > static_cast<int64_t>(out.writers.size())) blocks.clear();
    simt::Tracing tracing([&](std::span<const Access> part) {
      std::lock_guard lock(mutex);
      for (const auto& a : part)
        if (blocks.empty() || blocks.contains(a.block)) collect(readers, places, element, a);
    });
    if (launch == first.launch)
      run_block();
    else
      device->run(*traced, plan, memory.at(), {.activity = &activity, .only_launch = launch});
  }
  const auto begin = std::chrono::steady_clock::now();
  Changing change = changing();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  find_reaching(out, p, n, co, j, readers, change, static_cast<int>(std::clamp(most_s_reaching / took, 4.0, 40.0)));
  return out;
}

}  // namespace convscope
