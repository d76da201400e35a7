// Of the call that is noted down (recording.cpp): what is to be known beside its verdict.
#pragma once
#include <cstddef>
#include <string>

namespace convscope::host {

void note(std::string words);  // each once
size_t launches_so_far();
bool launches_take(int role);  // whether one of them is given that tensor

}  // namespace convscope::host
