// cuDNN's transposed convolution on a GPU, to compare with. The library is opened when it is first asked for.
#pragma once
#include <memory>

#include "kernels/reference/reference.h"

namespace convscope {

// tf32 false: "cudnn", only engines and algorithms that multiply in full precision. tf32 true: "cudnn-tf32", which may
// multiply float32 in TF32 on tensor cores, as PyTorch lets it. `device` is a GPU of this program and must outlive the
// reference. Opens libcudnn.so.9, or what CONVSCOPE_LIBCUDNN names.
std::unique_ptr<Reference> make_cudnn(Device& device, bool tf32);

}  // namespace convscope
