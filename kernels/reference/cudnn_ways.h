// The ways cuDNN has of computing one problem: algorithms of its legacy call, and engines of its graph API.
//
// The operator is the gradient of a convolution with respect to its input: x is that convolution's dy, its filter is
// w [Cin, Cout/g, K] as it stands, y is its dx. Tensors are NCHW with H = 1; nothing is copied or flipped.
//
// Nothing of cudnn.h is seen here: it brings CUDA's own float4 and its kin, which the emulator's headers define as
// well.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"

struct cudnnContext;

namespace convscope::cudnn {

struct LibraryState {
  std::string version;       // "9.19.0"; "" when nothing was opened
  std::string missing, how;  // why it cannot be used, and what to do about it; "" when it can
};

// Opens cuDNN at the first call: what CONVSCOPE_LIBCUDNN names, else libcudnn.so.9 of the loader's search path, of
// CUDA_HOME or of /usr/local/cuda. Needs no GPU. All that follows may be called only when nothing is missing; errors
// are DeviceErrors.
const LibraryState& library_state();

// cuDNN on the current context, issuing on a CUstream. The context must be current when it is destroyed, too.
using Handle = std::unique_ptr<cudnnContext, void (*)(cudnnContext*)>;
Handle make_handle(void* stream);

// Device addresses, multiples of 16. b is 0 without a bias.
struct Addresses {
  uint64_t x = 0, w = 0, b = 0, y = 0;
  bool operator==(const Addresses&) const = default;
};

class Way {
 public:
  virtual ~Way() = default;
  virtual std::string what() const = 0;  // "algorithm 1, tensor cores forbidden"
  virtual size_t workspace_bytes() const = 0;
  // Issues its part on the handle's stream and does not wait. `workspace` is 0 or has workspace_bytes().
  // Errors: DeviceError, when nothing useful was issued.
  virtual void issue(cudnnContext* handle, const Addresses& at, uint64_t workspace) = 0;
};

// Ways of y = convtranspose1d(x, w), without the bias, in the order of cuDNN's own heuristics; empty with the reason.
struct Ways {
  std::vector<std::unique_ptr<Way>> list;
  std::string refusal;
};

// What cuDNN's sizes and rules exclude, known without asking it; "" when nothing is. Needs no library.
std::string beyond_limits(const ConvProblem& p);

// cudnnConvolutionBackwardData. tf32 false: with CUDNN_FMA_MATH, which forbids tensor cores for float32.
// It derives L from Lout, so it has output_padding only below stride.
Ways legacy_ways(cudnnContext* handle, const ConvProblem& p, bool tf32);

// The graph API, which takes output_padding as a right padding that is smaller by as much, while it is not negative.
// tf32 false: engines on tensor cores and those that round inputs are left out. At most `most` engines are built.
Ways graph_ways(cudnnContext* handle, const ConvProblem& p, bool tf32, size_t most);

// y += b, for each channel.
std::unique_ptr<Way> bias_way(const ConvProblem& p);

// Whether the descriptors of either API can say p: "" or the refusal in words. Need no GPU, but p within the limits.
std::string legacy_descriptors_refused(const ConvProblem& p);
std::string graph_descriptors_refused(const ConvProblem& p);

}  // namespace convscope::cudnn
