// Room between the __shared__ variables of a kernel file, so that an index that leaves one is seen: compilers lay them
// side by side, and what lies behind an array is then the next one, or nothing that matters.
#pragma once
#include <string>
#include <string_view>

namespace convscope {

// Assembly of a traced module, in which each thread-local variable that has no first value (the emulator's __shared__,
// convscope/simt.h) has `room` bytes before and behind it. A table at its end, convscope_declared_shared, says where
// they lie, how long they are and what they are called (kernels/runtime/simt/static_shared.h). Unchanged where there
// are none, and of another architecture than x86-64. table: of a plain module, where room is there only so that what is
// written beside an array spoils nothing, there is none.
std::string with_room_around_shared(std::string_view assembly, size_t room = 1024, bool table = true);

}  // namespace convscope
