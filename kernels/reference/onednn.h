// oneDNN's deconvolution on the CPU, to compare with. The library is opened when it is first asked for.
#pragma once
#include <memory>

#include "kernels/reference/reference.h"

namespace convscope {

// "onednn": works at the host addresses of the emulator's memory. Float32 only. Opens libdnnl.so.2, or what
// CONVSCOPE_LIBDNNL names.
std::unique_ptr<Reference> make_onednn();

}  // namespace convscope
