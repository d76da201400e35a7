// Engines killed with SIGKILL at random moments, again and again.
#pragma once

namespace convscope::test {

// Expects that every request is answered, that the next engine works, and that memory and descriptors stay as they were.
void kill_engines(int kills, unsigned seed);

}  // namespace convscope::test
