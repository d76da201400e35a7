// Sessions for the tests of session files.
#pragma once
#include <string>

#include "app/model/session_file.h"
#include "tests/support.h"

namespace convscope::test {

std::string text_of(const std::string& file);

// Writes a .npy file of float32 and returns its path.
std::string write_npy(const ScratchFolder& folder, const std::string& name, const std::vector<int64_t>& shape);

// Every field away from its default, with files for input and weight in `folder`.
SessionFile unusual_session(const ScratchFolder& folder);

}  // namespace convscope::test
