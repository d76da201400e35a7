// Kills the engine of a workbench at random moments while random documents are posted.
#pragma once

namespace convscope::test {

// After each kill the next run's verdict is right; resident memory stays within 5 %.
void kill_behind_a_workbench(int kills, unsigned seed);

}  // namespace convscope::test
