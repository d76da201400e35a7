// What a long job is doing now: read by progress bars, watchdogs and cancel buttons while the job runs elsewhere.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace convscope {

// Thread-safe. `beat` counts finished units, and signs of life of long ones, over the whole life of the job, so a
// watchdog that sees it stand still for long knows that nothing finishes.
class Activity {
 public:
  // A phase that has ended, or the one in hand, and how long it took so far.
  struct Phase {
    std::string name;
    double seconds = 0;
  };
  struct Snapshot {
    std::string phase;
    uint64_t done = 0, total = 0, beat = 0;
    bool of_kernel = false;
  };

  // Starts a phase of `total` units (0: unknown).
  void phase(std::string_view name, uint64_t total = 0) { begin(name, total, false); }
  // The same, of one in which a person's kernel runs: what is not the program's own may never come to an end.
  void phase_of_kernel(std::string_view name, uint64_t total = 0) { begin(name, total, true); }
  void advance(uint64_t units = 1) {
    done_.fetch_add(units, std::memory_order_relaxed);
    beat_.fetch_add(1, std::memory_order_relaxed);
  }
  void cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void check() const {
    if (cancelled()) throw Cancelled();
  }
  Snapshot snapshot() const {
    std::lock_guard lock(mutex_);
    return {phase_, done_.load(std::memory_order_relaxed), total_, beat_.load(std::memory_order_relaxed), of_kernel_};
  }
  // Where the time went, phases of the same name taken together, in the order of their first appearance.
  std::vector<Phase> phases() {
    std::lock_guard lock(mutex_);
    close_phase();
    return ended_;
  }

 private:
  void begin(std::string_view name, uint64_t total, bool of_kernel) {
    std::lock_guard lock(mutex_);
    close_phase();
    phase_ = name;
    of_kernel_ = of_kernel;
    total_ = total;
    done_ = 0;
    beat_.fetch_add(1, std::memory_order_relaxed);
  }
  void close_phase() {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - since_).count();
    since_ = now;
    if (phase_.empty()) return;
    for (auto& p : ended_)
      if (p.name == phase_) {
        p.seconds += seconds;
        return;
      }
    ended_.push_back({phase_, seconds});
  }

  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::vector<Phase> ended_;
  std::string phase_;
  bool of_kernel_ = false;
  uint64_t total_ = 0;
  std::atomic<uint64_t> done_{0}, beat_{0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace convscope
