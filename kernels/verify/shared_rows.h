// How shared memory that was read before anything was put there is written, and how it is read: rows that are padded
// against bank conflicts have gaps, and an index that leaves the padding out reads them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace convscope {

// Elements that are touched, in order and each once: rows of `length` that begin every `pitch`, or one piece (pitch 0).
// length 0: neither.
struct SharedRows {
  int64_t length = 0, pitch = 0;
};
SharedRows rows_of(const std::vector<int64_t>& elements);

// "what is written at up.cu:22 lies in rows of 32 that begin every 33 elements, and is read as one piece"; "" where
// rows do not differ, or there are none. `at`: " at FILE:LINE" of what writes.
std::string rows_that_differ(const SharedRows& written, const SharedRows& read, const std::string& at);

}  // namespace convscope
