// An engine like the program's own, with kernels linked in that do everything wrong (faulty.cu).
#include "app/engine/server.h"

int main() { return convscope::serve_engine(); }
