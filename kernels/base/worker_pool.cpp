#include "kernels/base/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <sched.h>
#include <thread>
#include <utility>
#include <vector>

namespace convscope {
namespace {

thread_local bool inside_body = false;
std::atomic<void (*)()> thread_hook{nullptr};

int usable_cores() {
  if (const char* text = std::getenv("CONVSCOPE_WORKERS")) {
    int n = std::atoi(text);
    if (n >= 1 && n <= 1024) return n;
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

struct WorkerPool::State {
  std::mutex turn;  // one run at a time
  std::mutex mutex;
  std::condition_variable go, done;
  const std::function<void(int)>* body = nullptr;
  uint64_t round = 0;
  int wanted = 0, busy = 0;
  bool stop = false;
  std::exception_ptr error;
  std::vector<std::thread> threads;

  void call(int worker) {
    inside_body = true;
    try {
      (*body)(worker);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
    inside_body = false;
  }

  void serve(int worker) {
    if (auto hook = thread_hook.load()) hook();
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      go.wait(lock, [&] { return stop || (round != seen && worker < wanted); });
      if (stop) return;
      seen = round;
      lock.unlock();
      call(worker);
      lock.lock();
      if (--busy == 0) done.notify_one();
    }
  }
};

WorkerPool::WorkerPool(int workers) : state_(new State), workers_(std::max(1, workers)) {
  for (int i = 1; i < workers_; i++) state_->threads.emplace_back([this, i] { state_->serve(i); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->go.notify_all();
  for (auto& t : state_->threads) t.join();
  delete state_;
}

void WorkerPool::on_thread_start(void (*hook)()) { thread_hook = hook; }

WorkerPool& WorkerPool::shared() {
  // Never destroyed: the threads own fibres whose stacks must not be torn down while static destructors run.
  static WorkerPool* pool = new WorkerPool(usable_cores());
  return *pool;
}

void WorkerPool::run(int workers, const std::function<void(int)>& body) {
  workers = std::clamp(workers, 1, workers_);
  if (inside_body) return body(0);
  std::lock_guard turn(state_->turn);
  run_now(workers, body);
}

void WorkerPool::run_now(int workers, const std::function<void(int)>& body) {
  State& s = *state_;
  {
    std::lock_guard lock(s.mutex);
    s.body = &body;
    s.error = nullptr;
    s.wanted = workers;
    s.busy = workers - 1;
    s.round++;
  }
  if (workers > 1) s.go.notify_all();
  s.call(0);
  std::unique_lock lock(s.mutex);
  s.done.wait(lock, [&] { return s.busy == 0; });
  s.wanted = 0;
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

void WorkerPool::for_chunks(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  int64_t chunks = (count + grain - 1) / grain;
  std::atomic<int64_t> next{0};
  auto work = [&](int) {
    for (int64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < chunks;)
      body(c * grain, std::min(count, (c + 1) * grain));
  };
  std::unique_lock turn(state_->turn, std::defer_lock);
  if (inside_body || chunks == 1 || !turn.try_lock()) return work(0);
  run_now(static_cast<int>(std::min<int64_t>(chunks, workers_)), work);
}

}  // namespace convscope
