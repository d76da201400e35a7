// Engines killed with SIGKILL at random moments, again and again.
#pragma once

namespace convscope::test {

// Expects that every request is answered, that the next engine works, and that memory and descriptors stay as they
// were. On a machine that is busy with other things, half the kills will do when the time is over.
void kill_engines(int kills, unsigned seed, double most_seconds);

}  // namespace convscope::test
