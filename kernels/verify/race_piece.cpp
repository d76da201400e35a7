// Races of a kernel that runs on a GPU, where none shows by itself: looked for on the emulator, on a short piece.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <thread>

#include "kernels/problem/counts.h"
#include "kernels/problem/host_memory.h"
#include "kernels/verify/problem_memory.h"
#include "kernels/verify/races.h"
#include "kernels/verify/unset_variables.h"

namespace convscope {
namespace {

// Cancels the work in hand when its time is over, or when the whole is cancelled.
class Deadline {
 public:
  Deadline(Activity& work, const Activity& whole, std::chrono::milliseconds most)
      : thread_([this, &work, &whole, end = std::chrono::steady_clock::now() + most] {
          std::unique_lock lock(mutex_);
          while (!over_) {
            if (whole.cancelled() || std::chrono::steady_clock::now() > end) return work.cancel();
            changed_.wait_for(lock, std::chrono::milliseconds(20));
          }
        }) {}
  ~Deadline() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: what it looks at is there before it
};

// Kernels that took too long once: of a hundred problems nobody waits for each.
bool too_slow(const KernelDefinition& kernel, bool now) {
  static std::mutex mutex;
  static std::set<const KernelDefinition*> all;
  std::lock_guard lock(mutex);
  if (now) all.insert(&kernel);
  return all.contains(&kernel);
}

constexpr int64_t lengths_of_pieces[] = {300, 130, 40, 16};

// All channels, since blocks are made by them; a row that is short, and two sequences at most.
std::optional<ConvProblem> short_piece_of(const KernelDefinition& kernel, ConvProblem p) {
  p.batch = std::min<int64_t>(p.batch, 2);
  for (const double most_products : {most_products_fenced, 2e7})  // all that is looked for is, where that is possible
    for (int64_t length : lengths_of_pieces) {
      ConvProblem q = p;
      q.length = std::min(p.length, length);
      if (!check(q) && walked_products(q) <= most_products && kernel.unsupported(q).empty()) return q;
    }
  return {};
}

// The emulator's shared memory is NaN before anything is put into it, and inputs are numbers.
bool has_nan(const HostBytes& output, DType dtype) {
  return dispatch(dtype, [&](auto zero) {
    const auto* all = output.as<decltype(zero)>();
    return std::any_of(all, all + output.size() / sizeof zero,
                       [](auto v) { return std::isnan(static_cast<double>(v)); });
  });
}

}  // namespace

RaceSearch find_races_of_piece(const KernelDefinition& kernel, const ConvProblem& p, Activity& activity) {
  activity.check();
  RaceSearch out;
  const auto piece = short_piece_of(kernel, p);
  if (!piece) {
    out.missing = "no short piece of this problem could be traced on the emulator, and this ran on a GPU";
    return out;
  }
  if (too_slow(kernel, false)) {
    out.missing = "the emulator takes too long for this kernel, and this ran on a GPU";
    return out;
  }
  activity.phase("looking for races on the emulator");
  Activity own;
  constexpr std::chrono::seconds most{4};
  try {
    Deadline deadline(own, activity, most);
    auto emulator = open_emulator();
    const Plan plan = kernel.plan_for(*piece);
    const Inputs in = make_inputs(*piece, {}, &own);
    ProblemMemory memory(*emulator, *piece, in, plan.out_length(), plan.workspace_bytes(), &own);
    out = find_races(*emulator, kernel, *piece, memory.at(), own);
    auto output_of = [&](const KernelDefinition& k) {
      memory.fill_output(result_zone_word, &own);
      emulator->run(k, k.plan_for(*piece), memory.at(), {.activity = &own});
      return memory.output(*piece, plan.out_length());
    };
    if (!out.unset.empty()) {
      memory.fill_output(number_zone_word, &own);
      emulator->run(kernel, plan, memory.at(), {.activity = &own});
      out.unset_shows = has_nan(memory.output(*piece, plan.out_length()), piece->dtype);
    }
    if (may_look_for_unset(kernel, out)) out.variable = unset_variable_used(kernel, piece->dtype, output_of, own);
  } catch (const Cancelled&) {
    out = {};
  } catch (const AccessFault& e) {
    out = {};
    out.leaves = e.what();
  } catch (const KernelFault& e) {
    out = {};
    out.missing = fmt::format("on the emulator, on {}: {}", describe(*piece), e.what());
  } catch (const MissingError& e) {
    out = {};
    out.missing = e.what();
  } catch (const OwnMemoryError&) {
    throw;                         // the engine ends with it
  } catch (const InputError& e) {  // no memory for it, say: what is known of the kernel does not hang on this
    out = {};
    out.missing = fmt::format("on the emulator, on {}: {}", describe(*piece), e.what());
  }
  if (own.cancelled()) {  // it may have been told as a fault of the kernel
    activity.check();
    too_slow(kernel, true);
    out = {};
    out.missing =
        fmt::format("on the emulator the kernel takes longer than {} s for {}", most.count(), describe(*piece));
  }
  const std::string where = fmt::format(" (found by the emulator, on {})", describe(*piece));
  if (!out.race.empty()) out.race += where;
  if (!out.unset.empty()) out.unset += where;
  if (!out.leaves.empty()) out.leaves += where;
  if (!out.variable.empty()) out.variable += where;
  out.piece = describe(*piece);
  return out;
}

std::string unfenced_in_a_piece(const KernelDefinition& kernel, ConvProblem p, Activity& activity) {
  for (int64_t length : lengths_of_pieces) {
    if (length > p.length) continue;
    p.length = length;
    const RaceSearch piece = find_races_of_piece(kernel, p, activity);
    if (!piece.fences_unseen) return piece.race;
  }
  return "";
}

}  // namespace convscope
