// A kernel as a file of its own, for one problem: what somebody takes away who has found the best one.
#pragma once
#include <string>

#include "kernels/planner/activation.h"

namespace convscope {

// CUDA C++ with a plain C function:
//   size_t conv_transpose1d_workspace();
//   int conv_transpose1d(const void* x, const void* w, const void* b, void* y, void* workspace, int pack, void*
//   stream);
// x [N, Cin, L], w [Cin, Cout/groups, K], b [Cout] or null, y [N, Cout, Lout], all contiguous on the device, x on 16
// bytes; the workspace has conv_transpose1d_workspace() bytes on 256. pack: whether launches that read nothing but
// weights run (once for each set of weights). Returns a cudaError_t, 0 when all launches are on their way.
// y is what `then` makes of the layer's output, in the same pass. The problem must be legal and one that the kernel
// takes, and the kernel must be able to have the activation. Errors: std::logic_error when a text is not carried along.
std::string exported_cuda(const KernelDefinition& kernel, const ConvProblem& p, const Activation& then = {});

// A Python file with a class ModelNew in the place of torch.nn.ConvTranspose1d, or of the Model of a KernelBench
// problem: the same parameters, drawn in the same order. It compiles the CUDA text above with nvcc when first used.
// For inference: where a gradient is asked for it raises RuntimeError.
std::string exported_pytorch(const KernelDefinition& kernel, const ConvProblem& p, const Activation& then = {});

// A kernel file's text with what it includes put in its place and what only the host compiler sees left out.
std::string flattened(const std::string& file);

}  // namespace convscope
