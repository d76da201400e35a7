// A data race in what the workers of the pool do.
#include <cstdio>

#include "kernels/base/worker_pool.h"

int main() {
  int count = 0;
  convscope::WorkerPool pool(4);
  for (int i = 0; i < 100; i++) pool.run(4, [&](int) { count++; });
  std::printf("%d\n", count);
}
