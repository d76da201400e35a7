#include "kernels/verify/element_trace.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/problem_memory.h"
#include "kernels/verify/pyramid.h"

namespace convscope {
namespace {

// Lout·K products a pair of channels is what the plainest kernel walks; traced it does some 10^8 of them a second.
constexpr double most_products = 4e8;

struct Range {
  char name;
  uint64_t begin, bytes;
  bool holds(uint64_t a) const { return a - begin < bytes; }
};

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
  activity.phase("tracing who writes the element");
  auto device = open_emulator();
  Inputs in = make_inputs(p, spec, &activity);
  size_t element = size_of(p.dtype);
  ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes(), &activity);
  const Bindings& at = memory.at();
  memory.fill_output(unwritten_word, &activity);
  uint64_t target = at.y + static_cast<size_t>((n * p.out_channels + co) * plan.out_length() + j) * element;

  std::mutex mutex;
  auto hits = [&](const simt::Access& a) {
    return a.kind != simt::AccessKind::read && a.address <= target && target < a.address + a.size;
  };
  {
    simt::Tracing tracing(
        [&](std::span<const simt::Access> part) {
          for (const auto& a : part) {
            if (!hits(a)) continue;
            std::lock_guard lock(mutex);
            out.writes++;
            if (out.writers.size() < 8) {
              auto place = simt::source_line(a.pc);
              out.writers.push_back({0, a.block, a.thread, place.file, place.line});
            }
          }
        },
        {.reads = false});
    device->run(*traced, plan, at, {.activity = &activity});
  }
  if (out.writers.empty()) return out;

  // Again, for what that thread reads. Of a thread that writes several elements in a row, what it read before all of
  // them.
  activity.check();
  const auto& first = out.writers.front();
  std::vector<simt::Access> reads;
  bool done = false, wrote = false;
  std::vector<Range> ranges;
  for (const auto& t : memory.extents()) ranges.push_back({t.name, t.address, t.bytes + t.walked});
  const Range output = *std::find_if(ranges.begin(), ranges.end(), [](const Range& r) { return r.name == 'y'; });
  {
    simt::Tracing tracing(
        [&](std::span<const simt::Access> part) {
          for (const auto& a : part) {
            if (a.block != first.block || a.thread != first.thread) continue;
            std::lock_guard lock(mutex);
            if (done) continue;
            if (hits(a)) {
              done = true;
            } else if (a.kind != simt::AccessKind::read) {
              wrote |= output.holds(a.address);
            } else {
              if (wrote) reads.clear();
              wrote = false;
              reads.push_back(a);
            }
          }
        },
        {.block = static_cast<int64_t>(first.block)});
    device->run(*traced, plan, at, {.activity = &activity});
  }
  // Where blocks take what is next, another one may have it this time.
  if (!done) reads.clear();
  std::map<uint64_t, simt::SourceLine> lines;
  auto line_of = [&](uint64_t pc) -> const simt::SourceLine& {
    auto [it, isnew] = lines.try_emplace(pc);
    if (isnew) it->second = simt::source_line(pc);
    return it->second;
  };
  for (const auto& a : reads) {
    auto r = std::find_if(ranges.begin(), ranges.end(), [&](const Range& range) { return range.holds(a.address); });
    if (r == ranges.end()) {
      out.through_shared = true;
      continue;
    }
    if (r->name == 's') {
      out.through_workspace = true;
      continue;
    }
    out.reads_total++;
    if (out.reads.size() < 4096) {
      const auto& place = line_of(a.pc);
      out.reads.push_back({r->name, static_cast<int64_t>((a.address - r->begin) / element), place.file, place.line});
    }
  }
  return out;
}

}  // namespace convscope
