// Arrays that a thread has for itself, and the file's own: what indexes them beyond their size.
#pragma once
#include <string>

#include "kernels/runtime/simt/trace.h"

namespace convscope {

// "reaches element 4 of wl, which has 4, at up.cu:9, thread 0 of block 0: …", of a kernel file with this text. "" where
// it may be no fault, or is told otherwise: of shared memory what leaves the whole array is looked for (races.h), and
// rows of an array of several dimensions lie one behind the other.
std::string beyond_words(const simt::Tracing::Beyond& b, const std::string& text);

}  // namespace convscope
