#include "kernels/verify/launch_races.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>

#include "kernels/base/text.h"
#include "kernels/runtime/stand_ins.h"
#include "kernels/verify/source_words.h"

namespace convscope {

using simt::AccessKind;

LaunchRaceFinder::LaunchRaceFinder(const std::vector<Launch>& launches, const MemoryCells& cells)
    : launches_(launches), memory_(cells), cells_(cells.count()) {}

bool LaunchRaceFinder::unordered(size_t before, size_t launch) const {
  const auto& all = launches_[launch].beside;
  return std::find(all.begin(), all.end(), before) != all.end();
}

void LaunchRaceFinder::take(size_t launch, std::span<const simt::Access> part) {
  for (const auto& a : part) {
    if (!a.size) continue;  // a meeting
    const bool writes = a.kind != AccessKind::read, atomic = a.kind == AccessKind::atomic;
    memory_.each(a.address, a.size, [&](uint64_t c) {
      Cell& cell = cells_[c];
      const Side now{launch, a.pc, writes};
      auto beside = [&](const Side& s) { return s.pc && unordered(s.launch, launch); };
      const Side* other = beside(cell.writer)             ? &cell.writer
                          : !atomic && beside(cell.adder) ? &cell.adder
                          : writes && beside(cell.reader) ? &cell.reader
                                                          : nullptr;
      if (other && (!found_ || (found_->second.launch == launch && c < found_->cell))) found_ = Found{c, *other, now};
      (atomic ? cell.adder : writes ? cell.writer : cell.reader) = now;
    });
  }
}

namespace {

// A launch as the file has it: its kernel, or what the host code asks the runtime for.
std::string name_of(const Launch& l) {
  const std::string name = l.entry.name;
  if (name == "convscope_clear" ||
      (name == "convscope_fill" && l.arguments.size() > 1 && l.arguments[1].tensor.tensor == Tensor::none))
    return "the zeroing of memory";
  if (name.starts_with("convscope_product_")) return "the matrix product";
  if (name == "convscope_sum") return "the sum or copy";
  if (name == "convscope_convert") return "the conversion";
  if (name == "convscope_clamp") return "the clamp";
  if (name == "convscope_combine") return "the product of tensors";
  if (is_stand_in(name)) return "the copy";
  return name;
}

std::string side(const Launch& l, const LaunchRaceFinder::Side& s) {
  const simt::SourceLine at = simt::source_line(s.pc);
  const bool own = is_stand_in(l.entry.name);
  return fmt::format("{} {}{}", name_of(l), s.writes ? "writes" : "reads", own ? "" : at_line(at));
}

}  // namespace

std::string race_between_launches(Device& emulator, const KernelDefinition& traced, const Plan& plan,
                                  const ConvProblem& p, const Bindings& at, Activity& activity) {
  const auto& launches = plan.launches();
  std::vector<bool> looked_at(launches.size());
  for (size_t i = 0; i < launches.size(); i++)
    for (const uint32_t other : launches[i].beside) looked_at[i] = looked_at[other] = true;
  if (std::find(looked_at.begin(), looked_at.end(), true) == looked_at.end()) return "";
  const MemoryCells memory(plan, p, at);
  constexpr uint64_t most = 2 << 20;  // of 72 bytes each
  if (memory.count() > most) return "";
  activity.phase("looking for races between launches");
  LaunchRaceFinder finder(launches, memory);
  for (size_t i = 0; i < launches.size() && !finder.found(); i++) {
    std::mutex mutex;
    std::optional<simt::Tracing> tracing;
    if (looked_at[i])
      tracing.emplace([&](std::span<const simt::Access> part) {
        std::lock_guard lock(mutex);
        finder.take(i, part);
      });
    emulator.run(traced, plan, at, {.activity = &activity, .only_launch = static_cast<int64_t>(i)});
  }
  if (!finder.found()) return "";
  const auto& f = *finder.found();
  return fmt::format(
      "a race between launches over {}: {}, and {}, on streams that nothing orders: the second waits for no event of "
      "the first",
      memory.name(f.cell), side(launches[f.first.launch], f.first), side(launches[f.second.launch], f.second));
}

std::string launch_nobody_waits_for(const Plan& plan) {
  const auto& all = plan.launches();
  const auto early =
      std::find_if(all.begin(), all.end(), [](const Launch& l) { return !l.follows_caller && l.is_given(Tensor::x); });
  if (early != all.end())
    return fmt::format(
        "gives x to {} while what makes it may still run: its stream is one of its own, and does not wait for the "
        "caller's",
        name_of(*early));
  const auto it =
      std::find_if(all.rbegin(), all.rend(), [](const Launch& l) { return !l.waited_for && l.is_given(Tensor::y); });
  if (it == all.rend()) return "";
  return fmt::format(
      "returns y while {} may still run: its stream is one of its own, and the caller's does not wait for it",
      name_of(*it));
}

}  // namespace convscope
