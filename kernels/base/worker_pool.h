// One pool of worker threads for everything that computes on the CPU.
//
// Why not a library's pool: the emulator's fibres must never change their OS thread, so the threads must live as long
// as the process and be known by number; and ThreadSanitizer has to see every hand-over (tests run under it).
#pragma once
#include <cstdint>
#include <functional>

namespace convscope {

class WorkerPool {
 public:
  explicit WorkerPool(int workers);  // the caller of run() is worker 0, so workers − 1 threads are started
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // The process's pool: as many workers as the process may use cores (or CONVSCOPE_WORKERS).
  static WorkerPool& shared();

  int size() const { return workers_; }

  // Called once on every pool thread that starts from now on (signal stacks). Set it before shared() is first used.
  static void on_thread_start(void (*hook)());

  // Runs body(worker) once on each of `workers` (capped at size()) and returns when all have ended. The first exception
  // is thrown again here. A call from inside a body runs body(0) alone, on the calling thread.
  void run(int workers, const std::function<void(int)>& body);

  // Calls body(begin, end) for chunks of at most `grain` of [0, count), on all workers; chunks are taken in order.
  // While the pool is busy with another caller's work, the calling thread does it alone rather than wait.
  void for_chunks(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

 private:
  void run_now(int workers, const std::function<void(int)>& body);
  struct State;
  State* state_;
  int workers_;
};

}  // namespace convscope
