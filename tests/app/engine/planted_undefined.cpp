// Sizes that do not fit into 64 bits.
#include <cstdio>

#include "kernels/problem/conv_problem.h"

int main(int argc, char**) {
  convscope::ConvProblem p;
  p.batch = p.in_channels = p.length = int64_t{1} << (30 + argc);
  std::printf("%lld\n", static_cast<long long>(p.x_elements()));
}
